"""Messages that were published and not delivered: each loss is reported."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
import warnings
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from . import _abi
from ._library import LIBRARY
from .errors import Error, UndeliveredError, UndeliveredWarning

if TYPE_CHECKING:
    from ._core import Core

#: How long, in seconds, leaving a block waits for what is not yet delivered, and how long the end of a script does.
DRAIN_S = 5.0
#: How many failed messages are remembered; the others are counted.
REMEMBERED = 100


def is_orderly(kind: type[BaseException] | None) -> bool:
    """Whether the program ends a block on purpose, so that published messages are to be delivered."""
    return kind is None or issubclass(kind, (SystemExit, GeneratorExit))


def is_to_be_raised(kind: type[BaseException] | None) -> bool:
    """Whether the end of a block may raise what was not delivered: instead of sys.exit(), whose status may be 0, too."""
    return kind is None or issubclass(kind, SystemExit)


class Failures:
    """Messages that failed, and whose tokens nothing has looked at yet."""

    def __init__(self) -> None:
        self.by_error: dict[int, tuple[Error, str]] = {}
        self.more = 0
        self.are_seen = False  # each by somebody who awaits it

    def note(self, failed: Error, topic: str) -> None:
        """A message failed."""
        if self.are_seen:
            return
        if len(self.by_error) < REMEMBERED:
            self.by_error[id(failed)] = (failed, topic)
        else:
            self.more += 1

    def seen(self, failed: Error | None) -> None:
        """Somebody looked."""
        if failed is not None:
            self.by_error.pop(id(failed), None)


class Undelivered:
    """What a client has not delivered so far."""

    def __init__(self, client: Core):
        failures = list(client._failures.by_error.values())
        topics: Counter[str] = Counter()
        waiting = 0
        if not is_stored(client._handle):
            topics.update(list(client._topics.values()))
            waiting = max(count_in(client._handle), sum(topics.values()))
        self.count = waiting + len(failures) + client._failures.more
        topics.update(topic for _, topic in failures)
        self.topics = tuple(topics)
        self.cause = client._ended or (failures[0][0] if failures else None)
        self.text = self._described(client, topics, waiting) if self.count else ""

    def _described(self, client: Core, topics: Counter[str], waiting: int) -> str:
        one = self.count == 1
        named = [repr(topic) + (f" ({count})" if count > 1 else "") for topic, count in topics.most_common(3)]
        left = self.count - sum(count for _, count in topics.most_common(3))
        if left:
            named.append(f"{left} more" if named else f"{left} whose topics are not known")
        said = f"{self.count} message{'' if one else 's'} {'was' if one else 'were'} not delivered: "
        said += ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
        if self.cause:
            return f"{said}; {self.cause}"
        if not waiting:
            return said
        if client._was_up or client._connected:
            return f"{said}; the server has not taken all in time"
        if client._was_connected:
            return f"{said}; the client was disconnected"
        return f"{said}; " + ("no connection came up in time" if client._was_begun else "connect() was never called")

    def error(self) -> UndeliveredError:
        """To be raised."""
        raised = UndeliveredError(self.count, self.topics, self.text)
        raised.__cause__ = self.cause
        return raised

    def warn(self, level: int) -> None:
        """Where it cannot be."""
        if self.count:
            warnings.warn(self.text, UndeliveredWarning, stacklevel=level + 1)


def count_in(handle: int | None) -> int:
    """How many undelivered messages the library has."""
    if handle is None:
        return 0
    found = _abi.Stats()
    if LIBRARY.smq_client_stats(handle, ctypes.byref(found)) < 0:
        return 0
    return int(found.outbox_messages + found.urgent_messages + found.submit_waiting)


def is_stored(handle: int | None) -> bool:
    """Whether the next client with the same journal has all messages of QoS 1 and 2."""
    if handle is None:
        return False
    found = _abi.JournalInfo()
    return bool(LIBRARY.smq_journal_state(handle, ctypes.byref(found)) == 0 and found.stored == found.accepted)


# ---- At the end of the process

_clients: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(client: Any) -> None:
    """Registers the client for the end of the process, and for fork()."""
    _clients.add(client)
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing and not _Child.is_watched:
        # A process of multiprocessing ends without what atexit has.
        _Child.is_watched = True
        _Child.watch(multiprocessing)
        # A child begins without the finalizers of its parent.
        multiprocessing.register_after_fork(multiprocessing, _Child.begins)


class _Child:
    is_watched = False

    @staticmethod
    def watch(multiprocessing: Any) -> None:
        multiprocessing.Finalize(None, _at_exit_of_a_child, exitpriority=-1000)

    @staticmethod
    def begins(multiprocessing: Any) -> None:
        _clients.clear()  # of the parent, which is told itself
        _Child.watch(multiprocessing)


def _leave() -> int:
    """Has all clients leave, once what they have is delivered, and tells what is not. Returns how many that are."""
    deadline, count = time.monotonic() + DRAIN_S, 0
    for client in list(_clients):
        _clients.discard(client)
        try:
            if client.closed:
                continue
            left = client._left_at_exit(max(0.0, deadline - time.monotonic()))
            if left.count:
                count += left.count
                _say(f"swiftmqtt: {left.text}")
        except BaseException as error:  # noqa: BLE001 - the others are still to be asked
            count += 1
            _say(f"swiftmqtt: at the end of the program: {error!r}")
    return count


@atexit.register
def _at_exit() -> None:
    if _leave():
        _fail()


def _at_exit_of_a_child() -> None:
    if _leave():
        raise SystemExit(1)


def _say(text: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody is left to be told


def _fail() -> None:
    """Has the interpreter end with status 120: that of one that could not write all it had to, which is the only one
    that Python allows from here."""
    if sys.stderr is not None:
        sys.stderr = _Unflushable(sys.stderr)


class _Unflushable:
    """A stderr on which flush() fails, as it would had the disk been full."""

    closed = False

    def __init__(self, real: Any):
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def flush(self) -> None:
        self._real.flush()
        raise OSError("messages were not delivered")


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._left_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
