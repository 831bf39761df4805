"""A client whose every call is watched: see watch.c."""

from __future__ import annotations

import ctypes
import select
import subprocess
from pathlib import Path

from Support import smq

HERE = Path(__file__).parent
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I", str(smq.HEADER.parent)]
LINK = ["-L", str(smq.LIBRARY.parent), "-lswiftmqtt", f"-Wl,-rpath,{smq.LIBRARY.parent}"]
LIMIT_US = 20_000
STALLS = 2  # A machine may lie still for half a second, and count it as a call's work. A library that works so long
# does it whenever the same happens again.


def compile_c(source: str, target: Path, *more: str) -> Path:
    """A file of this directory; with the library."""
    command = ["cc", *FLAGS, *more, "-o", str(target), str(HERE / source), *LINK]
    subprocess.run(command, check=True, timeout=60)
    return target


class Watch(ctypes.Structure):
    _fields_ = [
        ("calls", ctypes.c_uint64),
        ("waits", ctypes.c_uint64),
        ("longest_us", ctypes.c_int64),
        ("busiest_us", ctypes.c_int64),
        ("slowest_us", ctypes.c_int64),
        ("waiting_for", ctypes.c_int32),
        ("busy_with", ctypes.c_int32),
        ("heavy", ctypes.c_uint64),
        ("limit_us", ctypes.c_int64),
    ]

    def __init__(self) -> None:
        super().__init__(limit_us=LIMIT_US)

    def __repr__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name, _ in self._fields_)

    def good(self) -> bool:
        """No call waited, and none worked, for longer than the limit. That the machine let it lie does not count."""
        return self.longest_us <= LIMIT_US and self.heavy <= STALLS


class WatchedClient(smq.Client):
    """Runs in a loop of the program's own: poll, smq_service(), smq_next_event()."""

    all: list[Watch] = []

    def __init__(self, functions: ctypes.CDLL, **options: object):
        self.watch, self.functions = Watch(), functions
        self.all.append(self.watch)
        super().__init__(reconnect=True, **options)

    def watched(self, name: str, *arguments: object) -> int:
        return getattr(self.functions, f"watched_{name}")(ctypes.byref(self.watch), self.handle, *arguments)

    def connect(self) -> int:
        return self.watched("connect")

    def disconnect(self, drain_ms: int = 0) -> int:
        return self.watched("disconnect", ctypes.c_uint32(drain_ms))

    def publish(self, topic: str | bytes, payload: str | bytes = b"", **fields: int) -> int:
        message = smq.Message(topic=topic, payload=payload, **fields)
        return self.watched("publish", ctypes.byref(message))

    def take(self) -> smq.Event | None:
        self.raw = raw = smq.RawEvent()
        got = self.watched("next_event", ctypes.byref(raw))
        assert got in (0, 1), smq.status_name(got)
        if not got:
            return None
        values = {name: getattr(raw, name) for name in smq.Event.__dataclass_fields__}
        event = smq.Event(**{n: v.value() if isinstance(v, smq.Bytes) else v for n, v in values.items()})
        if self.on_event:
            self.on_event(event)
        return event

    def step(self, timeout_ms: int) -> None:
        due = smq.library.smq_next_timeout_ms(self.handle)
        poll = select.poll()
        poll.register(smq.library.smq_fd(self.handle), select.POLLIN)
        poll.poll(timeout_ms if due < 0 else min(due, timeout_ms))
        got = self.watched("service")
        assert got in (0, 1), smq.status_name(got)
        while event := self.take():
            self.events.append(event)

    def close(self) -> None:
        was_open = bool(self.handle)
        super().close()
        if was_open:
            print(f"watched: {self.watch}")
            assert self.watch.good(), f"the library held its caller up: {self.watch}"
