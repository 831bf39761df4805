"""libswiftstomp as tests see it: include/swiftstomp.h through ctypes, as Support/smq.py has libswiftmqtt.

SMQ_BUILD_DIR names the directory that the library is in (build/native).
"""

from __future__ import annotations

import ctypes
import re
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace

from . import smq
from .smq import Block, Bytes, reference
from .waiting import PATIENCE

HEADER = smq.ROOT / "include" / "swiftstomp.h"
LIBRARY = smq.BUILD / "libswiftstomp.so"
DECLARATIONS = smq.without_comments(HEADER)
CONSTANTS = {
    name: int(value) for name, value in re.findall(r"^\s+SST_([A-Z0-9_]+) = (-?\d+)", DECLARATIONS, re.M)
}
globals().update(CONSTANTS)
smq.TYPES["sst_bytes"] = Bytes


def declared(name: str) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        smq.TYPES[name] = cls
        return smq.declared(name, DECLARATIONS)(cls)

    return decorate


@declared("sst_headers")
class Headers(ctypes.Structure):
    """sst_headers"""


@declared("sst_options")
class Options(smq.Sized):
    """sst_options"""


@declared("sst_frame")
class Frame(smq.Sized):
    """sst_frame"""


@declared("sst_subscription")
class Subscription(smq.Sized):
    """sst_subscription"""


@declared("sst_event")
class RawEvent(smq.Sized):
    """sst_event"""


@declared("sst_runner")
class Runner(ctypes.Structure):
    """sst_runner"""


@declared("sst_runner_options")
class RunnerOptions(smq.Sized):
    """sst_runner_options"""


@declared("sst_stats")
class Stats(smq.Sized):
    """sst_stats"""


@declared("sst_journal_info")
class JournalInfo(smq.Sized):
    """sst_journal_info"""


library = ctypes.CDLL(str(LIBRARY), use_errno=True)
for *result, name, parameters in re.findall(
    r"^SST_API (?:const )?(\w+) (\**)(sst_\w+)\(([^)]*)\);", DECLARATIONS, re.M
):
    function = getattr(library, name)
    function.restype = smq.type_of(*result)
    function.argtypes = [smq.type_of(*each) for each in re.findall(r"(\w+) (\**)\w+(?:,|$)", parameters)]


def status_name(status: int) -> str:
    return library.sst_status_name(status).decode()


def headers(**pairs: str) -> bytes:
    """A list of headers; an underscore stands for a hyphen."""
    buffer = ctypes.create_string_buffer(sum(4 + len(name) + len(value.encode()) for name, value in pairs.items()))
    made = Headers(ctypes.addressof(buffer), len(buffer), 0)
    for name, value in pairs.items():
        status = library.sst_header_put(ctypes.byref(made), reference(name.replace("_", "-")), reference(value))
        assert status == 0, status_name(status)
    return buffer.raw[: made.size]


class Client:
    """A client, its memory, and the events that were taken but not yet asked for."""

    def __init__(self, **options: object):
        self.options = Options(**options)
        size = library.sst_client_size(ctypes.byref(self.options))
        self.block, self.handle = Block(size), ctypes.c_void_p()
        status = library.sst_client_init(self.block.address, size, ctypes.byref(self.options), ctypes.byref(self.handle))
        if status:
            assert not self.handle and self.block.whole()
            raise ValueError(status_name(status))
        self.events: deque[SimpleNamespace] = deque()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.handle:
            assert library.sst_client_close(self.handle) == 0
            self.handle = ctypes.c_void_p()
            assert self.block.whole(), "the client wrote outside its memory"

    # -- calls, as they are --

    def connect(self) -> int:
        return library.sst_connect(self.handle)

    def disconnect(self, drain_ms: int = 0) -> int:
        return library.sst_disconnect(self.handle, drain_ms)

    def send(self, destination: str, body: str | bytes = b"", **fields: object) -> int:
        return library.sst_send(self.handle, ctypes.byref(Frame(destination=destination, body=body, **fields)))

    def submit(self, destination: str, body: str | bytes = b"", **fields: object) -> int:
        return library.sst_submit(self.handle, ctypes.byref(Frame(destination=destination, body=body, **fields)))

    def subscribe(self, destination: str, **values: object) -> int:
        return library.sst_subscribe(self.handle, ctypes.byref(Subscription(destination=destination, **values)))

    def begin(self) -> int:
        return library.sst_begin(self.handle)

    def sync(self, timeout_ms: int = -1) -> int:
        return library.sst_sync(self.handle, timeout_ms)

    @property
    def timeout_ms(self) -> int:
        return library.sst_next_timeout_ms(self.handle)

    @property
    def journal(self) -> JournalInfo:
        info = JournalInfo()
        status = library.sst_journal_state(self.handle, ctypes.byref(info))
        assert status == 0, status_name(status)
        return info

    @property
    def stats(self) -> Stats:
        stats = Stats()
        status = library.sst_client_stats(self.handle, ctypes.byref(stats))
        assert status == 0, status_name(status)
        return stats

    # -- running --

    def take(self) -> SimpleNamespace | None:
        """sst_next_event(), its views copied."""
        raw = RawEvent()
        got = library.sst_next_event(self.handle, ctypes.byref(raw))
        assert got in (0, 1), status_name(got)
        if not got:
            return None
        values = {name: getattr(raw, name) for name, _ in RawEvent._fields_}
        return SimpleNamespace(**{n: v.value() if isinstance(v, Bytes) else v for n, v in values.items()})

    def collect(self) -> None:
        """Takes all events there are, and keeps them."""
        while event := self.take():
            self.events.append(event)

    def step(self, timeout_ms: int) -> None:
        """Waits for events, and keeps them."""
        got = library.sst_wait(self.handle, timeout_ms)
        assert got in (0, 1), status_name(got)
        self.collect()

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> object:
        """Runs the client until the condition holds. Looks at it at least every 20 ms."""
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            assert time.monotonic() < deadline, f"not within {timeout} s; events {list(self.events)[-9:]}"
            self.step(20)
        return result

    def of(self, type: int, **fields: object) -> list[SimpleNamespace]:
        """Those that wait to be asked for, in their order."""
        return [
            event for event in self.events
            if event.type == type and all(getattr(event, name) == value for name, value in fields.items())]

    def wait_event(self, type: int, **fields: object) -> SimpleNamespace:
        """The next event of a type, and with these fields; others stay for later."""
        event = self.until(lambda: self.of(type, **fields))[0]
        self.events.remove(event)
        return event

    def connected(self) -> SimpleNamespace:
        """Connects, and fails if that fails."""
        status = self.connect()
        assert status == 0, status_name(status)
        return self.wait_event(CONSTANTS["EVENT_CONNECTED"])

    def completed(self, count: int) -> list[tuple[int, int]]:
        """The next completions of messages: the cookie and the status of each, in their order."""
        kind = CONSTANTS["EVENT_COMPLETED"]
        found = self.until(lambda: len(found := self.of(kind)) >= count and found)[:count]
        for event in found:
            self.events.remove(event)
        return [(event.cookie, event.status) for event in found]

    def news(self) -> list[tuple[int, int, int]]:
        """What has happened to the journal so far: what, cookie, errno."""
        self.collect()
        found = self.of(CONSTANTS["EVENT_JOURNAL"])
        for event in found:
            self.events.remove(event)
        return [(event.completed, event.cookie, event.os_error) for event in found]
