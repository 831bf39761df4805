"""The thread of a client: it owns what waits, and calls what is the program's."""

from __future__ import annotations

import math
import select
import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ._bell import Bell

if TYPE_CHECKING:
    from ._waiting import Waiting

#: How many events are taken before others may have the client.
EVENTS = 256
#: How often, in milliseconds, deadlines are looked at while messages wait for a program that does not take them.
HELD_BACK_MS = 1000
#: How long poll() waits at a time: it takes no more than fits an int.
MAXIMUM_WAIT_MS = 86_400_000
#: How long, in seconds, close() waits for a callback that has not returned.
PATIENCE_S = 5.0


class Turns:
    """The guard of a client that several threads use: they wait for each other."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.guests: deque[None] = deque()  # those who wait to get in

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            self.guests.append(None)
            try:
                self.lock.acquire()
            finally:
                self.guests.pop()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Runner:
    """What a client and its thread have in common; all of it belongs to who holds the guard."""

    def __init__(self, client: Waiting):
        self.bell = Bell()
        self.due = 0.0  # when the thread looks again, by time.monotonic(); 0: it is about to
        self.held_back = False  # nothing is read, as the program takes no messages
        self.calls: deque[tuple[Any, ...]] = deque()  # of the program's functions
        self.calling = False  # one of them
        self.needed: Waiting | None = None  # it has something to do; the thread may not have seen that yet
        self.thread = threading.Thread(
            target=_run, args=(weakref.ref(client, self._forgotten), self), name="swiftmqtt", daemon=True
        )

    def _forgotten(self, _: object) -> None:
        self.bell.ring()

    def start(self) -> None:
        """RuntimeError if the system gives no thread."""
        self.thread.start()

    @property
    def is_mine(self) -> bool:
        """Whether this thread is it, so that it cannot wait for itself."""
        return self.thread.ident == threading.get_ident()

    def wake(self) -> None:
        """There is something to do."""
        self.due = 0.0
        self.bell.ring()

    def wake_before(self, timeout_ms: int) -> None:
        """There will be, in so many milliseconds; -1: not by itself."""
        if timeout_ms >= 0 and self.due and (timeout_ms == 0 or time.monotonic() + timeout_ms / 1000 < self.due):
            self.wake()

    def sleeps_for(self, timeout_ms: int) -> int:
        """What poll() is to wait."""
        if timeout_ms < 0:
            self.due = math.inf
        else:
            timeout_ms = min(timeout_ms, MAXIMUM_WAIT_MS)
            self.due = time.monotonic() + timeout_ms / 1000
        return timeout_ms


def _run(of: weakref.ref[Waiting], runner: Runner) -> None:
    """The thread. It keeps a client only while that has something to do: one that nobody has any more is closed."""
    client = of()
    if client is None:
        return
    polls = select.poll(), select.poll()  # of the bell, and the library; of the bell
    polls[0].register(client._fd, select.POLLIN)
    for poll in polls:
        poll.register(runner.bell.fileno(), select.POLLIN)
    guests = client._guard.guests
    while True:
        timeout_ms = client._turn(runner)
        while runner.calls:
            _call(client, runner)
        if timeout_ms is None:
            return
        if guests or client._waiters:
            time.sleep(0.00005)  # a lock is not fair: the others come first now
        if timeout_ms:
            if client._lets_go(runner):
                client = None
            polls[runner.held_back].poll(timeout_ms)
            runner.bell.quiet()
        client = client or of()
        if client is None:
            return


def _call(client: Waiting, runner: Runner) -> None:
    """Calls a function of the program's."""
    runner.calling = True
    try:
        function, *arguments = runner.calls.popleft()
        function(*arguments)
    except Exception:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), runner.thread)))
    except BaseException as ends:
        client._throw(ends)
    finally:
        with client._guard:
            runner.calling = False
            client._guard.changed.notify_all()
