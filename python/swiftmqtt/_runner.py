"""The thread of a client: it runs the client while no call of the program waits, and calls what is the program's.

A thread of the program that waits for the client leads: it runs the client itself, so that a message needs no second
thread to be received. Meanwhile the client's thread sleeps. A program that receives in a loop is back within
microseconds, so the thread takes over again only when nobody has led for a moment.
"""

from __future__ import annotations

import math
import select
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._bell import Bell

if TYPE_CHECKING:
    from ._waiting import Waiting

#: How many events are taken before others may have the client.
EVENTS = 256
#: How often, in milliseconds, deadlines are looked at while messages wait for a program that does not take them.
HELD_BACK_MS = 1000
#: How long, in milliseconds, the thread leaves the client to a program that has just led.
PAUSE_MS = 2
#: How long poll() waits at a time: it takes no more than fits an int.
MAXIMUM_WAIT_MS = 86_400_000
#: How long, in seconds, a call that has waited waits for callbacks of what it waited for.
CALLS_S = 0.05
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

    @contextmanager
    def left(self) -> Iterator[None]:
        """Lets the others in meanwhile, however often this thread has entered: as Condition.wait() does."""
        lock: Any = self.lock
        depth = lock._release_save()
        try:
            yield
        finally:
            lock._acquire_restore(depth)

    def give_way(self) -> None:
        """Lets those in who wait: a lock is not fair."""
        with self.left():
            time.sleep(0.00005)


class Runner:
    """What a client and its thread have in common; all of it belongs to who holds the guard."""

    def __init__(self, client: Waiting):
        self.bell = Bell()
        self.due = 0.0  # when the thread looks again, by time.monotonic(); 0: it is about to
        self.held_back = False  # nothing is read, as the program takes no messages
        self.calls: deque[tuple[Any, ...]] = deque()  # of the program's functions
        self.calling = False  # one of them
        self.told = False  # those who wait in the client, and none of them has come yet
        self.leader: LeadersPoll | None = None  # of the thread that leads
        self._spare: list[LeadersPoll] = []
        self._rounds = self._rounds_seen = 0  # how often somebody has stopped to lead
        self.is_parked = False  # the thread leaves the client to those who lead
        self._sleeps = False  # until they wake it up
        self._is_called = False  # the thread is to take over at once
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

    @property
    def runs_here(self) -> bool:
        """Whether this thread is the one that runs the client now, and so sees by itself what there is to do."""
        return (self.leader.ident if self.leader else self.thread.ident) == threading.get_ident()

    def wake(self) -> None:
        """There is something to do."""
        self.due = 0.0
        self._is_called = True
        (self.leader or self).bell.ring()

    def wake_all(self) -> None:
        """It is over."""
        self.wake()
        self.bell.ring()

    # ---- Leading; all of it with the guard

    def lead(self, fd: int) -> bool:
        """This thread leads from now on. False: it cannot, because the process has no descriptors left."""
        try:
            self.leader = self._spare.pop() if self._spare else LeadersPoll(fd)
        except OSError:
            return False
        self.leader.ident = threading.get_ident()
        return True

    def stop_leading(self) -> None:
        """It does not any more."""
        assert self.leader
        self._spare.append(self.leader)
        self.leader = None
        self._rounds += 1
        if self.is_parked and not self._sleeps and not self._is_called:
            self.due = time.monotonic() + PAUSE_MS / 1000
        else:  # it does not know yet that somebody has led, or waits for this
            self._sleeps, self.due = False, 0.0
            self.bell.ring()

    def takes_over(self) -> None:
        """The thread has called a function of the program's: unless somebody leads, it sees at once what that has left to be
        done."""
        self._is_called = True

    def begins(self) -> None:
        """Somebody looks what there is to do."""
        self.due, self._is_called = 0.0, False

    def parks(self) -> int | None:
        """How long the thread leaves the client to those who lead; -1: until they ring; None: it takes over."""
        was, self._rounds_seen = self._rounds_seen, self._rounds
        self._sleeps = self.leader is not None and was == self._rounds
        self.is_parked = self.leader is not None or was != self._rounds and not self._is_called
        if not self.is_parked:
            return None
        self.due = math.inf if self._sleeps else time.monotonic() + PAUSE_MS / 1000
        return -1 if self._sleeps else PAUSE_MS

    def wake_before(self, timeout_ms: int) -> None:
        """There will be, in so many milliseconds; -1: not by itself."""
        if self.is_parked and not self.leader:
            return  # the thread looks again in a moment
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


class LeadersPoll:
    """How a thread waits that leads."""

    def __init__(self, fd: int):
        self.bell = Bell()
        self.ident = 0
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self.bell.fileno(), select.POLLIN)

    def wait(self, timeout_ms: int) -> None:
        """Until the library has something to do, or somebody rings: a signal handler in this thread, too."""
        ident, self.ident = self.ident, 0
        try:
            self._poll.poll(timeout_ms)
        finally:
            self.ident = ident
        if self.bell.is_rung:
            self.bell.quiet()


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
        if timeout_ms:
            if client._lets_go(runner):
                client = None
            polls[runner.held_back or runner.is_parked].poll(timeout_ms)
            if runner.bell.is_rung:
                runner.bell.quiet()
        if guests or runner.told:
            time.sleep(0.00005)  # a lock is not fair: the others come first now
            runner.told = False
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
            runner.takes_over()
            client._guard.changed.notify_all()
