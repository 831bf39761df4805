"""The library as tests see it: include/swiftmqtt.h through ctypes, and a client with its memory.

SMQ_LIBRARY names the library, or SMQ_BUILD_DIR the directory it is in (build/native).
"""

from __future__ import annotations

import ctypes
import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "swiftmqtt.h"
BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
LIBRARY = Path(os.environ.get("SMQ_LIBRARY", BUILD / "libswiftmqtt.so"))

# The header's named constants. Read from it, so that the two cannot differ.
CONSTANTS = {
    name: int(value)
    for name, value in re.findall(r"^\s+(SMQ_[A-Z0-9_]+) = (-?\d+)", HEADER.read_text(), re.M)
}
globals().update({name.removeprefix("SMQ_"): value for name, value in CONSTANTS.items()})
EVENT_NONE, EVENT_CONNECTED, EVENT_DISCONNECTED, EVENT_COMPLETED, EVENT_ROOM = range(5)
CONNECTION_EVENTS = {EVENT_CONNECTED, EVENT_DISCONNECTED}
OFF = FOREVER = 0xFFFFFFFF


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    def value(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""


class Sized(ctypes.Structure):
    """A struct that starts with its size. Takes str and bytes for smq_bytes; keeps them alive."""

    def __init__(self, **values: object):
        super().__init__()
        self.size = ctypes.sizeof(self)
        self.kept = []
        for name, value in values.items():
            self.set(name, value)

    def set(self, name: str, value: object) -> None:
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, (bytes, bytearray)):
            buffer = ctypes.create_string_buffer(bytes(value), len(value) + 1)
            self.kept.append(buffer)
            value = Bytes(ctypes.addressof(buffer), len(value))
        if isinstance(value, Message):
            self.kept.append(value)
            value = ctypes.pointer(value)
        setattr(self, name, value)


class Message(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("qos", ctypes.c_uint8),
        ("retain", ctypes.c_uint8),
        ("quiet", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
        ("topic", Bytes),
        ("payload", Bytes),
        ("cookie", ctypes.c_uint64),
    ]


class Options(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("url", Bytes),
        ("host", Bytes),
        ("port", ctypes.c_uint32),
        ("protocol", ctypes.c_uint32),
        ("client_id", Bytes),
        ("user_name", Bytes),
        ("password", Bytes),
        ("will", ctypes.POINTER(Message)),
        ("keep_alive_s", ctypes.c_uint32),
        ("session_expiry_s", ctypes.c_uint32),
        ("connect_timeout_ms", ctypes.c_uint32),
        ("ping_timeout_ms", ctypes.c_uint32),
        ("outbox_bytes", ctypes.c_uint32),
        ("outbox_messages", ctypes.c_uint32),
        ("receive_bytes", ctypes.c_uint32),
        ("in_flight_maximum", ctypes.c_uint32),
    ]


class RawEvent(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("type", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("stage", ctypes.c_int32),
        ("os_error", ctypes.c_int32),
        ("reason_code", ctypes.c_int32),
        ("attempt", ctypes.c_uint32),
        ("session_present", ctypes.c_uint32),
        ("cookie", ctypes.c_uint64),
        ("reason_string", Bytes),
        ("server_reference", Bytes),
    ]


STATS_COUNTS = (
    "messages_published messages_completed messages_failed packets_sent packets_received "
    "bytes_sent bytes_received send_calls receive_calls"
).split()
STATS_LEVELS = (
    "outbox_bytes outbox_bytes_peak outbox_bytes_capacity outbox_messages outbox_messages_peak "
    "outbox_messages_capacity in_flight in_flight_maximum"
).split()


class Stats(Sized):
    _fields_ = (
        [("size", ctypes.c_uint32), ("connections", ctypes.c_uint32)]
        + [(name, ctypes.c_uint64) for name in STATS_COUNTS]
        + [(name, ctypes.c_uint32) for name in STATS_LEVELS]
    )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stats) and bytes(self) == bytes(other)

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{n}={getattr(self, n)}" for n, *_ in self._fields_) + ")"


P = ctypes.POINTER
FUNCTIONS = {  # name: (result, arguments)
    "smq_version": (ctypes.c_uint32, []),
    "smq_status_name": (ctypes.c_char_p, [ctypes.c_int32]),
    "smq_reason_code_name": (ctypes.c_char_p, [ctypes.c_uint32, ctypes.c_int32]),
    "smq_stage_name": (ctypes.c_char_p, [ctypes.c_int32]),
    "smq_options_check": (ctypes.c_int32, [P(Options), P(ctypes.c_size_t)]),
    "smq_client_size": (ctypes.c_size_t, [P(Options)]),
    "smq_client_init": (
        ctypes.c_int32,
        [ctypes.c_void_p, ctypes.c_size_t, P(Options), P(ctypes.c_void_p)],
    ),
    "smq_client_close": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_client_state": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_connect": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_publish": (ctypes.c_int32, [ctypes.c_void_p, P(Message)]),
    "smq_disconnect": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_uint32]),
    "smq_next_event": (ctypes.c_int32, [ctypes.c_void_p, P(RawEvent)]),
    "smq_wait": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_int32]),
    "smq_fd": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_next_timeout_ms": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_service": (ctypes.c_int32, [ctypes.c_void_p]),
    "smq_client_stats": (ctypes.c_int32, [ctypes.c_void_p, P(Stats)]),
}

library = ctypes.CDLL(str(LIBRARY))
for function_name, (result, arguments) in FUNCTIONS.items():
    function = getattr(library, function_name)
    function.restype, function.argtypes = result, arguments


def status_name(status: int) -> str:
    return library.smq_status_name(status).decode()


class Block:
    """Memory at an offset from an alignment of 64, between guards that must stay whole."""

    GUARD = b"\xa5" * 64

    def __init__(self, size: int, offset: int = 0):
        self.size = size
        self.buffer = ctypes.create_string_buffer(size + offset + 3 * 64)
        start = -(-ctypes.addressof(self.buffer) // 64) * 64 + 64
        self.address = start + offset
        ctypes.memmove(self.address - 64, self.GUARD, 64)
        ctypes.memmove(self.address + size, self.GUARD[:32], 32)

    def whole(self) -> bool:
        before = ctypes.string_at(self.address - 64, 64)
        after = ctypes.string_at(self.address + self.size, 32)
        return before == self.GUARD and after == self.GUARD[:32]


@dataclass(frozen=True)
class Event:
    type: int
    status: int
    stage: int
    os_error: int
    reason_code: int
    attempt: int
    session_present: int
    cookie: int
    reason_string: bytes
    server_reference: bytes

    def __repr__(self) -> str:
        kind = ("none", "connected", "disconnected", "completed", "room")[self.type]
        stage = library.smq_stage_name(self.stage).decode()
        return (
            f"<{kind} {status_name(self.status)} stage {stage} os_error {self.os_error} "
            f"reason {self.reason_code:#x} cookie {self.cookie}>"
        )


class Client:
    """A client, its memory, and the events that were taken but not yet asked for."""

    def __init__(self, **options: object):
        self.options = Options(**options)
        size = library.smq_client_size(ctypes.byref(self.options))
        self.block = Block(size)
        self.handle = ctypes.c_void_p()
        status = library.smq_client_init(
            self.block.address, size, ctypes.byref(self.options), ctypes.byref(self.handle)
        )
        if status:
            raise ValueError(status_name(status))
        self.events: deque[Event] = deque()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        if self.handle:
            library.smq_client_close(self.handle)
            self.handle = ctypes.c_void_p()
            assert self.block.whole(), "the client wrote outside its memory"

    # -- calls, as they are --

    def connect(self) -> int:
        return library.smq_connect(self.handle)

    def publish(self, topic: str | bytes, payload: str | bytes = b"", **fields: int) -> int:
        message = Message(topic=topic, payload=payload, **fields)
        return library.smq_publish(self.handle, ctypes.byref(message))

    def disconnect(self, drain_ms: int = 0) -> int:
        return library.smq_disconnect(self.handle, drain_ms)

    @property
    def state(self) -> int:
        return library.smq_client_state(self.handle)

    @property
    def stats(self) -> Stats:
        stats = Stats()
        status = library.smq_client_stats(self.handle, ctypes.byref(stats))
        assert status == 0, status_name(status)
        return stats

    # -- running --

    def take(self) -> Event | None:
        """smq_next_event()."""
        raw = RawEvent()
        got = library.smq_next_event(self.handle, ctypes.byref(raw))
        assert got in (0, 1), status_name(got)
        if not got:
            assert raw.type == EVENT_NONE
            return None
        names = [name for name, *_ in RawEvent._fields_][1:-2]
        values = [getattr(raw, name) for name in names]
        return Event(*values, raw.reason_string.value(), raw.server_reference.value())

    def step(self, timeout_ms: int) -> None:
        """Waits for events, and keeps them."""
        got = library.smq_wait(self.handle, timeout_ms)
        assert got in (0, 1), status_name(got)
        while event := self.take():
            self.events.append(event)

    def until(self, condition: Callable[[], object], timeout: float = 10) -> object:
        """Runs the client until the condition holds. Looks at it at least every 20 ms."""
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            left = deadline - time.monotonic()
            assert (
                left > 0
            ), f"not within {timeout} s; events {list(self.events)[-9:]}, {self.stats}"
            self.step(min(20, int(left * 1000) + 1))
        return result

    def run(self, seconds: float) -> None:
        """Runs the client for a time in which nothing is to happen."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.step(int(left * 1000) + 1)

    def wait_event(self, type: int, timeout: float = 10, **fields: object) -> Event:
        """The next event of a type, and with these fields; others stay for later."""

        def found() -> Event | None:
            for event in self.events:
                if event.type == type and all(getattr(event, n) == v for n, v in fields.items()):
                    return event
            return None

        event = self.until(found, timeout)
        self.events.remove(event)
        return event

    def connected(self, timeout: float = 10) -> Event:
        """Connects, and fails if that fails."""
        status = self.connect()
        assert status == 0, status_name(status)
        self.until(lambda: any(e.type in CONNECTION_EVENTS for e in self.events), timeout)
        assert not [e for e in self.events if e.type == EVENT_DISCONNECTED], self.events
        return self.wait_event(EVENT_CONNECTED)

    def disconnected(self, timeout: float = 10) -> Event:
        return self.wait_event(EVENT_DISCONNECTED, timeout)

    def completed(self, cookie: int, timeout: float = 10) -> Event:
        return self.wait_event(EVENT_COMPLETED, timeout, cookie=cookie)

    def completions(self) -> list[Event]:
        """Those that wait to be asked for."""
        return [event for event in self.events if event.type == EVENT_COMPLETED]

    def leave(self, drain_ms: int = 5000) -> Event:
        """smq_disconnect(), and its event."""
        assert self.disconnect(drain_ms) == 0
        return self.disconnected(timeout=drain_ms / 1000 + 5)
