"""How the client for asyncio waits: in the loop's own thread, with the library's one descriptor. There is no
other thread and no polling."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from . import _undelivered
from ._answers import Answer, Connected
from ._base import BaseClient
from ._checks import number_to, seconds
from ._names import Named
from ._undelivered import Undelivered
from .constants import State, Status
from .errors import ArgumentError, ClosedError, Error, NoRoomError

T = TypeVar("T")

#: How many messages wait at most for the loop's next turn to be sent.
FLUSHED = 64
#: How often, in seconds, deadlines are looked at while messages wait for a program that does not take them.
HELD_BACK_S = 1.0


class LoopClient(Named, BaseClient):
    """A client that one asyncio loop runs: the one in which it is first awaited."""

    #: Called with what the server said, when a connection comes up.
    on_connected: Callable[[Connected], None] | None = None
    #: Called with the reason when an attempt or a connection ends; None: disconnect() was called.
    on_disconnected: Callable[[Error | None], None] | None = None
    #: Called with the Topic Filter and the reason when a subscription could not be made again.
    on_subscription_lost: Callable[[str, Error], None] | None = None
    #: Called with what happened to the journal, a JournalNews; with a number: how many messages were recovered, or up to
    #: which position all are stored; and with the error of JournalNews.FAILED, else None.
    on_journal: Callable[[int, int, Error | None], None] | None = None

    #: How payloads are made.
    adapters: Any = None
    _tells = True
    _waits_for_room = "await publish(…) waits for room"

    def __init__(self, url: str | None, inbox_maximum: int, **named: Any):
        # First what close() looks at, should the options be wrong.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None  # what the loop does in its next turn
        self._owes = False  # acknowledgements are to be sent in that turn, and maybe nothing else
        self._held_back = False
        self._takers: deque[asyncio.Future[None]] = deque()  # those who wait for a message,
        self._room: deque[asyncio.Future[None]] = deque()  # for room in the outbox,
        self._changes: list[asyncio.Future[None]] = []  # or for a connection to come or to go
        self._inbox_maximum = max(1, number_to("inbox_maximum", inbox_maximum, 0xFFFFFFFF, Status.OPTION))
        super().__init__(url, **named)
        self._failures.are_seen = True
        _undelivered.watch(self)

    # ---- The loop

    def _attach(self) -> asyncio.AbstractEventLoop:
        """The loop that runs; from the first time on, it is the client's."""
        self._open()
        if self._loop and self._is_in_loop():
            return self._loop
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop, self._loop_thread = loop, threading.get_ident()
            loop.add_reader(self._fd, self._ready)
            self._on_called()
        elif self._loop is not loop:
            raise ArgumentError(Status.STATE, "the client belongs to another loop: that in which it was first awaited")
        return loop

    def _is_ready(self) -> bool:
        """Whether a message can be taken without waiting, and without anything else to be done."""
        return bool(self._waiting_messages) and not self._held_back and self._is_in_loop()

    def _is_in_loop(self) -> bool:
        """Whether the client's loop is the one that runs here. asyncio.get_running_loop() makes a system call each time, up to
        Python 3.11."""
        return self._loop is not None and self._loop_thread == threading.get_ident() and self._loop.is_running()

    def _future(self) -> asyncio.Future[Any]:
        return self._attach().create_future()

    def _on_called(self) -> None:
        """Has the loop call _ready() when the library needs it: what was published meanwhile goes out together."""
        loop = self._loop
        if loop is None or self._handle is None or self._soon:
            return
        timeout_ms = 0 if self._due else self._next_timeout_ms()
        if timeout_ms == 0 and not self._held_back:
            self._soon = loop.call_soon(self._ready)
        elif self._held_back:
            if timeout_ms == 0:
                self._flush()
            self._set_timer(HELD_BACK_S)
        elif timeout_ms > 0:
            self._set_timer(timeout_ms / 1000)

    def _set_timer(self, seconds: float) -> None:
        """Has _ready() called in so many seconds, or earlier: a timer that is due earlier stays. Most of the time the deadline
        moves on with each message, and to look once in vain costs less than to set it each time."""
        if self._loop:
            due = self._loop.time() + seconds
            if self._timer:
                if self._timer.when() <= due:
                    return
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._by_timer)

    def _by_timer(self) -> None:
        self._timer = None
        self._ready()

    def _on_accepted(self, cookie: int) -> None:
        """The next turn of the loop sends it. What publishes much without giving the loop a turn is sent meanwhile."""
        if not cookie % FLUSHED:
            self._flush()
        self._on_called()

    def _on_acknowledged(self) -> None:
        if self._held_back:
            self._on_called()
        elif not self._soon and self._loop:
            self._owes = True
            self._soon = self._loop.call_soon(self._ready)

    def _pay(self) -> None:
        """Sends acknowledgements before a task waits for messages: at once, and without another turn of the loop."""
        if self._owes and self._soon:
            self._soon.cancel()
            self._soon, self._owes = None, False
            self._flush()
            self._on_called()

    def _ready(self) -> None:
        """Runs the client: there is something to do."""
        self._soon, self._owes = None, False
        if self._handle is None:
            return
        with self._guard:
            try:
                self._service()
                while self._handle is not None:
                    most = self._most(self._pending or self._changes)
                    if not most:
                        self._hold_back()
                        break
                    if not self._take(most):
                        break
            finally:
                if self._handle is not None:
                    self._on_called()

    def _hold_back(self) -> None:
        """Stops reading until a task takes messages, or waits for an answer."""
        if not self._held_back and self._loop:
            self._held_back = True
            self._loop.remove_reader(self._fd)

    def _go_on(self) -> None:
        if self._held_back and self._loop and self._handle is not None:
            self._held_back = False
            self._loop.add_reader(self._fd, self._ready)
            self._on_called()

    def _expect(self, struct: Any, finish: Any) -> int:
        """Makes the client continue to read, because a task waits for an answer."""
        if finish and self._held_back:
            self._go_on()
        return super()._expect(struct, finish)

    # ---- Waiting

    def _publishing(self, struct: Any, is_quiet: bool = False) -> asyncio.Future[Answer]:
        future: asyncio.Future[Answer] = self._future()
        self._publish(struct, None if is_quiet else into(future))
        return future

    def _publishing_plain(
        self, topic: str, payload: object, qos: int = 0, retain: bool = False
    ) -> asyncio.Future[Answer] | None:
        """None: it was not accepted; _publishing() knows why."""
        future: asyncio.Future[Answer] = self._attach().create_future()
        if self._held_back:
            self._go_on()
        return future if self._publish_plain(topic, payload, qos, retain, into(future)) else None

    async def _with_room(self, begin: Callable[[], asyncio.Future[T]]) -> asyncio.Future[T]:
        """Returns the result of begin(), once there is room; tasks get room in the order in which they came."""
        loop = self._attach()
        if not self._room:
            try:
                return begin()
            except NoRoomError as full:
                if full.status != Status.FULL:
                    raise
        waiter = loop.create_future()
        self._room.append(waiter)
        self._go_on()
        try:
            while True:
                await waiter
                try:
                    return begin()
                except NoRoomError as full:
                    if full.status != Status.FULL:
                        raise
                    woken, waiter = waiter, loop.create_future()
                    self._room[self._room.index(woken)] = waiter
        finally:
            self._room.remove(waiter)
            self._on_room()  # there may be room for the next one, too

    async def _change(self) -> None:
        """Waits until a connection comes up, or ends, or the client is closed."""
        self._open()
        change: asyncio.Future[None] = self._future()
        self._changes.append(change)
        self._go_on()
        await change
        self._open()

    async def _gone(self) -> None:
        """Waits until the client is disconnected."""
        while not self.closed and self.state != State.DISCONNECTED:
            await self._change()

    # ---- The end

    def close(self) -> None:
        """Ends the client at once, in any state and without DISCONNECT, so the server publishes the Will.
        Awaited calls fail with ClosedError, and an UndeliveredWarning says how many messages were not
        delivered. A second call does nothing; every other call raises ClosedError then."""
        if not self.closed:
            self._end().warn(2)

    def _end(self) -> Undelivered:
        """Closes; what was not delivered."""
        with self._guard:
            left = Undelivered(self)
            super().close()
        return left

    def _left_at_exit(self, timeout: float) -> Undelivered:
        """The process ends, and its loop has: what is not delivered."""
        return Undelivered(self)

    def _left_to_parent(self) -> None:
        """A child after fork() may go on with it, if the parent does not."""

    # ---- What happens

    def _on_messages(self, count: int) -> None:
        while count and self._takers:
            self._wake_taker()
            count -= 1

    def _wake_taker(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _on_room(self) -> None:
        """Wakes the first of those who wait for room; it wakes the next."""
        if self._room and not self._room[0].done():
            self._room[0].set_result(None)

    def _on_connected(self, connected: Connected) -> None:
        self._wake_changes()
        if self.on_connected:
            self._later(self.on_connected, connected)

    def _on_disconnected(self, ended: Error | None) -> None:
        self._wake_changes()
        if self.state == State.DISCONNECTED:
            self._wake_all_takers()
        if self.on_disconnected:
            self._later(self.on_disconnected, ended)

    def _on_subscription_lost(self, filter: str, ended: Error) -> None:
        if self.on_subscription_lost:
            self._later(self.on_subscription_lost, filter, ended)

    def _on_journal(self, news: int, number: int, failed: Error | None) -> None:
        if self.on_journal:
            self._later(self.on_journal, news, number, failed)

    def _on_closed(self) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.remove_reader(self._fd)
            for handle in (self._timer, self._soon):
                if handle:
                    handle.cancel()
        self._loop = None
        self._wake_changes()
        self._wake_all_takers()
        for waiter in self._room:
            if not waiter.done():
                waiter.set_exception(ClosedError())

    def _wake_changes(self) -> None:
        changes, self._changes = self._changes, []
        for change in changes:
            if not change.done():
                change.set_result(None)

    def _wake_all_takers(self) -> None:
        while self._takers:
            self._wake_taker()


def into(future: asyncio.Future[Any]) -> Callable[[Any, Error | None], None]:
    """Tells a future how it ended, unless nobody waits any more."""

    def finish(result: Any, error: Error | None) -> None:
        if future.done():
            return
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)

    return finish


async def within(begin: Callable[[], Awaitable[T]], timeout: float | None) -> T:
    """As asyncio.wait_for(), with TimeoutError on every version of Python, and without forgetting before Python 3.12 that
    it was cancelled when what it waits for is done at the same time."""
    if timeout is None:
        return await begin()
    limit = seconds("timeout", timeout)
    task: asyncio.Future[T] = asyncio.ensure_future(begin())
    task.add_done_callback(look_at)
    try:
        await asyncio.wait({task}, timeout=limit)
        if not task.done():
            raise TimeoutError(f"not within {timeout} s")
        return task.result()
    finally:
        task.cancel()


def look_at(done: asyncio.Future[Any]) -> None:
    """The task that waited may be gone by then: marks the exception as retrieved, so that nothing complains."""
    if not done.cancelled():
        done.exception()
