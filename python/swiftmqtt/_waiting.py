"""How the synchronous client waits: for its thread or, without one, with poll(), while it does what is due."""

from __future__ import annotations

import select
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from . import _undelivered
from ._answers import Connected
from ._base import BaseClient
from ._checks import flag, number_to, seconds
from ._core import Guard
from ._names import Named
from ._runner import CALLS_S, EVENTS, HELD_BACK_MS, MAXIMUM_WAIT_MS, PATIENCE_S, Runner, Turns
from ._undelivered import DRAIN_S, Undelivered
from .constants import State, Status
from .errors import ArgumentError, ClosedError, Error, NoRoomError


class Waiting(Named, BaseClient):
    """A client that is run by its thread, or that runs while one of its calls waits."""

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
    _runner: Runner | None = None
    _tells = True
    _waits_for_room = "publish(…, timeout=None) waits for room"

    def __init__(self, url: str | None, run: bool, inbox_maximum: int, **named: Any):
        self._runs = flag("run", run)
        self._inbox_maximum = max(1, number_to("inbox_maximum", inbox_maximum, 0xFFFFFFFF, Status.OPTION))
        self._room = False
        self._waiters = 0  # threads that wait for something to happen,
        self._askers = 0  # and of these those for whom messages are not to be in the way
        self._all_told = True  # nothing waits in the library to be taken
        self._news = False  # the thread has taken something since it last looked at who waits
        self._thrown: BaseException | None = None  # by a callback: it ends the program
        self._broken: Error | None = None  # why there is no thread any more
        self._ends_in = 0  # the thread in which the process ends
        self._is_parents = False  # this process came out of fork()
        super().__init__(url, **named)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        _undelivered.watch(self)

    def _made_guard(self) -> Any:
        return Turns() if self._runs else Guard()

    # ---- For a loop of the program

    def run(self, timeout: float | None = None) -> None:
        """Returns after `timeout` seconds, or when the client is disconnected; messages wait for receive(). A client
        without a thread runs meanwhile."""
        try:
            self._run_until(lambda: False, timeout, "", relieve=not self._runs)
        except TimeoutError:
            pass
        except ArgumentError:
            if self.closed or self.state != State.DISCONNECTED or not self._was_begun:
                raise

    def service(self) -> bool:
        """Does everything that is due, without waiting: for a loop of your own, with fileno() and
        next_timeout(), and run=False. Returns whether messages wait for receive()."""
        self._without_thread("service()")
        with self._guard:
            self._service()
            self._take_all()
            return bool(self._waiting_messages)

    def next_timeout(self) -> float | None:
        """Returns in how many seconds service() needs to be called even if fileno() stays silent; None:
        never."""
        self._without_thread("next_timeout()")
        timeout_ms = 0 if self._due else self._next_timeout_ms()
        return None if timeout_ms < 0 else timeout_ms / 1000

    def fileno(self) -> int:
        """Returns the one descriptor, which is readable when there is something to do: for select() and
        similar functions. Never read from it."""
        self._without_thread("fileno()")
        return super().fileno()

    def _without_thread(self, name: str) -> None:
        self._open()
        if self._runs:
            raise ArgumentError(Status.STATE, f"{name} is for a client without a thread of its own: give it run=False")

    # ---- Life

    @property
    def state(self) -> State:
        """The state of the client."""
        with self._guard if self._runs else _NOTHING:
            return super().state

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now."""
        with self._guard if self._runs else _NOTHING:
            return super().is_connected

    def close(self) -> None:
        """Ends the client at once, in any state and without DISCONNECT, so the server publishes the Will.
        Pending operations fail with ClosedError, and an UndeliveredWarning says how many messages were not
        delivered. A second call does nothing; every other call raises ClosedError then."""
        if not self.closed:
            self._end().warn(2)

    def _end(self) -> Undelivered:
        """Closes; returns what was not delivered."""
        with self._guard:
            left = Undelivered(self)
            super().close()
        runner = self._runner
        if runner and not runner.is_mine:
            runner.thread.join(PATIENCE_S)
            if runner.thread.is_alive():
                warnings.warn(
                    f"a callback of a client that was closed has not returned for {PATIENCE_S:g} s: its thread goes on",
                    RuntimeWarning,
                    stacklevel=4,
                )
        return left

    def _drain(self, timeout: float) -> None:
        """Waits until everything is delivered, or the time is up, or nothing more can be delivered."""
        try:
            self._run_until(lambda: not (_undelivered.count_in(self._handle) or self._topics), timeout, "")
        except (TimeoutError, ArgumentError):
            pass

    def _left(self, drain_s: float, timeout: float | None) -> Undelivered:
        """Disconnects once everything is delivered, and closes; returns what was not delivered."""
        try:
            if drain_s and not self._broken and self.state != State.DISCONNECTED:
                self._drain(drain_s)
            if not self._broken and self.state != State.DISCONNECTED:
                ended, self._was_up = self._ended, self._connected is not None
                self._leave(0, 0)
                self._run_to_the_end(timeout)
                self._ended = self._ended or ended
        except TimeoutError:
            pass
        except BaseException:
            self._end().warn(3)
            raise
        return self._end()

    def _left_at_exit(self, timeout: float) -> Undelivered:
        """At the end of the process: disconnects once everything is delivered; returns what was not."""
        if self._runner is None:
            return Undelivered(self)  # nobody runs it any more
        self._ends_in = threading.get_ident()
        with self._guard:
            self._runner.wake()  # so that nobody else leads
        return self._left(timeout, 1.0)

    def _left_to_parent(self) -> None:
        """In the child after fork(): a client with a thread belongs to the parent, where the thread is."""
        if self._runner:
            self._is_parents = True
            self._handle = None
            self._runner = None
            self._guard = Turns()

    def _open(self) -> int:
        if self._handle is None:
            raise ClosedError(
                "after fork() the client is the parent's: this process has to make one of its own"
                if self._is_parents
                else ""
            )
        return self._handle

    # ---- The thread

    def _begin(self) -> None:
        """There is going to be something to do: starts the thread, if the client has one."""
        if not self._runs:
            return
        if self._thrown:
            thrown, self._thrown = self._thrown, None
            raise thrown
        if self._broken:
            raise self._broken
        if self._runner is None:
            self._open()
            runner = Runner(self)
            try:
                runner.start()
            except RuntimeError as why:
                raise NoRoomError(Status.NO_THREAD, f"no thread can be started: {why}") from None
            self._runner = runner

    def _turn(self, runner: Runner) -> int | None:
        """One iteration of the thread; returns how long it may wait then, or None at the end."""
        with self._guard.lock:
            if self._handle is None:
                return None
            pause_ms = runner.parks()
            if pause_ms is not None:
                return 0 if runner.calls else pause_ms
            timeout_ms = self._serve(runner)
            if self._waiters and self._news:
                runner.told = True
            return 0 if runner.calls else timeout_ms

    def _serve(self, runner: Runner) -> int | None:
        """Does what is due. Returns how long nothing will be, or None at the end."""
        runner.begins()
        was_told, self._news = self._all_told, False
        try:
            self._service()
            self._all_told = self._taken()
            timeout_ms = self._next_timeout_ms()
        except Error as broken:
            self._broken, self._all_told = broken, True
            self._guard.changed.notify_all()
            return None
        except BaseException as ends:  # of the source of a stream
            self._throw(ends)
            return 0
        self._news = self._news or was_told != self._all_told
        if self._waiters and self._news:
            self._guard.changed.notify_all()
        self._hear(runner)
        runner.held_back = self._is_full()
        if runner.held_back:
            timeout_ms = HELD_BACK_MS if timeout_ms < 0 else min(timeout_ms or HELD_BACK_MS, HELD_BACK_MS)
        return runner.sleeps_for(timeout_ms)

    def _lead(self, runner: Runner, left_s: float) -> None:
        """Runs the client in this thread, until there is something new, or the time is up."""
        self._open()
        timeout_ms = self._serve(runner)
        if runner.calls:
            runner.bell.ring()  # they are called in the client's thread
        if self._news or not timeout_ms or runner.leader is None:
            return
        left_ms = min(int(left_s * 1000) + 1, MAXIMUM_WAIT_MS)
        with self._guard.left():
            runner.leader.wait(left_ms if timeout_ms < 0 else min(timeout_ms, left_ms))

    def _taken(self) -> bool:
        """Takes events; returns whether there are no more."""
        left = EVENTS
        while left > 0 and self._handle is not None:
            most = self._most(self._pending or self._askers)
            if not most:
                return False
            taken = self._take(most)
            if not taken:
                return True
            self._news = True
            left -= taken
        return False

    def _is_full(self) -> bool:
        """Whether the client reads nothing more, because the program does not keep up and nothing behind the
        waiting messages is awaited."""
        return self._has_many() and not self._pending and not self._askers

    def _is_busy(self) -> bool:
        """Whether the client is needed even if the program has dropped it."""
        return bool(self._pending or self._waiters or _undelivered.count_in(self._handle))

    def _lets_go(self, runner: Runner) -> bool:
        """Whether the thread may drop the client, too, once the program has done so."""
        with self._guard:
            if self._is_busy():
                return False
            runner.needed = None
            return True

    def _throw(self, ends: BaseException) -> None:
        """A callback ends the program: the next call on the client raises the exception, in its own thread."""
        with self._guard:
            self._thrown = ends
            if not self._waiters and sys.stderr is not None:
                print(
                    f"swiftmqtt: {type(ends).__name__} in a callback, which runs in the client's thread: the next call "
                    "on the client raises it",
                    file=sys.stderr,
                )
            self._guard.changed.notify_all()

    def _later(self, function: Callable[..., object], *arguments: Any) -> None:
        if self._runner:
            self._runner.calls.append((function, *arguments))
        else:
            super()._later(function, *arguments)

    def _tell(self) -> None:
        """Calls the log hook with new entries; with a thread, _hear() does so."""
        if not self._runs:
            super()._tell()

    def _hear(self, runner: Runner) -> None:
        if self._told and self._log:
            runner.calls.append((super()._tell,))

    def _on_called(self) -> None:
        runner = self._runner
        if runner and self._handle is not None and not runner.runs_here:
            if self._told or runner.calls:
                runner.wake()
            else:
                runner.wake_before(self._next_timeout_ms())

    def _on_accepted(self, cookie: int) -> None:
        """Sends at once; what a callback publishes is sent when the callback has returned."""
        runner = self._runner
        if runner and not runner.runs_here:
            if runner.thread.is_alive():
                runner.needed = self
            self._flush()
            if runner.held_back:
                runner.wake()
            self._on_called()

    def _on_closed(self) -> None:
        if self._runner:
            self._runner.wake_all()
            self._guard.changed.notify_all()

    # ---- For the client

    def _run_until(
        self, condition: Callable[[], object], timeout: float | None, what: str, relieve: bool = True
    ) -> None:
        """Returns when the condition holds. TimeoutError, or ArgumentError if nothing would ever happen."""
        deadline = None if timeout is None else time.monotonic() + seconds("timeout", timeout)
        with self._guard:
            if self._runs:
                self._await(condition, timeout, deadline, what, relieve)
            else:
                self._run_here(condition, timeout, deadline, what, relieve)

    def _await(
        self, condition: Callable[[], object], timeout: float | None, deadline: float | None, what: str, relieve: bool
    ) -> None:
        """Waits for the client's thread."""
        self._begin()
        if condition():
            return
        runner = self._runner
        if runner is None or deadline is not None and deadline <= time.monotonic():
            raise TimeoutError(f"{what} did not come within {timeout} s")
        self._may_wait()
        self._waiters += 1
        self._askers += relieve
        leads = has_led = False
        try:
            if runner.leader and relieve and self._unacknowledged:
                runner.wake()
            while True:
                if self._ends_in not in (0, threading.get_ident()):
                    if leads:
                        leads = False
                        self._stop_leading(runner)
                    self._guard.changed.wait()  # with the process: that needs no telling
                    continue
                if condition():
                    break
                if self._thrown or self._broken:
                    self._begin()
                if self._all_told and self._next_timeout_ms() < 0 and self.state == State.DISCONNECTED:
                    raise self._nothing_comes()
                left = MAXIMUM_WAIT_MS / 1000 if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{what} did not come within {timeout} s")
                if not leads and runner.leader is None:
                    leads = runner.lead(self._fd)
                if leads:
                    if has_led and (self._guard.guests or self._waiters > 1):
                        self._guard.give_way()
                    self._lead(runner, left)
                    has_led = True
                else:
                    self._guard.changed.wait(min(left, MAXIMUM_WAIT_MS / 1000))
                runner.told = False
            if self._thrown:
                self._begin()
        finally:
            self._waiters -= 1
            self._askers -= relieve
            if leads:
                self._stop_leading(runner)
        if leads and runner.calls:
            # A program that waited for a token may expect that its callbacks were called. Not forever: they may wait, too.
            self._guard.changed.wait_for(lambda: not (runner.calls or runner.calling), CALLS_S)

    def _stop_leading(self, runner: Runner) -> None:
        """Another thread that waits leads from now on; if there is none, the client's thread soon does."""
        runner.stop_leading()
        if self._waiters:
            self._guard.changed.notify_all()

    def _nothing_comes(self) -> ArgumentError:
        why = "the client is disconnected: nothing would ever happen" if self._was_begun else "connect() was never called"
        return ArgumentError(Status.STATE, why)

    def _may_wait(self) -> None:
        """Raises ArgumentError in a callback: the thread that would have to end the wait is the one that it
        runs in."""
        if self._runner and self._runner.is_mine:
            raise ArgumentError(
                Status.STATE,
                "a callback cannot wait: it runs in the client's own thread, which would wait for itself. Use "
                "add_done_callback() of what is to be waited for, or wait in another thread",
            )

    def _run_here(
        self, condition: Callable[[], object], timeout: float | None, deadline: float | None, what: str, relieve: bool
    ) -> None:
        """Runs the client in this thread."""
        while not condition():
            if self._take(max(1, self._most(relieve))):
                continue
            timeout_ms = self._next_timeout_ms()
            if timeout_ms:
                if timeout_ms < 0 and self.state == State.DISCONNECTED:
                    raise self._nothing_comes()
                if deadline is not None:
                    left_ms = max(0, int((deadline - time.monotonic()) * 1000) + 1)
                    if timeout_ms < 0 or left_ms < timeout_ms:
                        timeout_ms = left_ms
                # Here the thread waits, without the GIL, and signals interrupt it as Python has them.
                self._poll.poll(min(timeout_ms, MAXIMUM_WAIT_MS))
            self._service()
            if deadline is not None and time.monotonic() >= deadline:
                self._take_all()
                if condition():
                    return
                raise TimeoutError(f"{what} did not come within {timeout} s")

    def _with_room(self, publish: Callable[[], None], timeout: float | None) -> None:
        """Publishes, as soon as there is room."""
        deadline = None if timeout is None else time.monotonic() + seconds("timeout", timeout)
        self._begin()
        while True:
            try:
                return publish()
            except NoRoomError as full:
                left = None if deadline is None else deadline - time.monotonic()
                if full.status != Status.FULL or left is not None and left <= 0:
                    raise
                self._room = False
                try:
                    self._run_until(lambda: self._room, left, "room")
                except TimeoutError:
                    raise full from None

    def _give_up(self) -> None:
        """After a failed connect(): no other attempt follows."""
        if self.closed or self.state == State.DISCONNECTED:
            return
        self._leave(0, 0)
        ended = self._ended
        self._run_to_the_end()
        self._ended = ended

    def _run_to_the_end(self, timeout: float | None = None) -> None:
        """Runs until the client is disconnected and has reported everything."""
        if self._runs:
            self._begin()
            self._all_told = False
            if self._runner:
                self._runner.wake()
            self._run_until(lambda: self._all_told and self.state == State.DISCONNECTED, timeout, "the end")
            self._until_heard()
            return
        self._run_until(lambda: self.state == State.DISCONNECTED, timeout, "the end")
        self._take_all()

    def _until_heard(self) -> None:
        """Waits for callbacks that are due, unless this is one; not for those that do not return."""
        runner = self._runner
        if runner and not runner.is_mine:
            deadline = time.monotonic() + PATIENCE_S
            with self._guard:
                while (runner.calls or runner.calling) and time.monotonic() < deadline and not self._thrown:
                    self._guard.changed.wait(PATIENCE_S)
                self._begin()

    # ---- What happens

    def _on_acknowledged(self) -> None:
        """Wakes the thread up, once for all that is acknowledged until it has seen that; unless it is going to look."""
        runner = self._runner
        if runner and runner.due and (runner.leader or not runner.is_parked) and not runner.runs_here:
            runner.wake()

    def _on_room(self) -> None:
        self._room = True

    def _on_connected(self, connected: Connected) -> None:
        if self.on_connected:
            self._later(self.on_connected, connected)

    def _on_disconnected(self, ended: Error | None) -> None:
        if self.on_disconnected:
            self._later(self.on_disconnected, ended)

    def _on_subscription_lost(self, filter: str, ended: Error) -> None:
        if self.on_subscription_lost:
            self._later(self.on_subscription_lost, filter, ended)

    def _on_journal(self, news: int, number: int, failed: Error | None) -> None:
        if self.on_journal:
            self._later(self.on_journal, news, number, failed)


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


_NOTHING = _Nothing()
