"""How the synchronous client waits: with poll(), while it does what is due."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any

from ._answers import Connected
from ._base import BaseClient
from ._checks import seconds
from .constants import State, Status
from .errors import ArgumentError, Error, NoRoomError

#: How long poll() waits at a time: it takes no more than fits an int.
MAXIMUM_WAIT_MS = 86_400_000


class Waiting(BaseClient):
    """A client that runs while one of its calls waits."""

    def __init__(self, url: str | None, **named: Any):
        super().__init__(url, **named)
        #: Called with what the server said, when a connection comes up.
        self.on_connected: Callable[[Connected], None] | None = None
        #: Called with the reason when an attempt or a connection ends; None: disconnect() was called.
        self.on_disconnected: Callable[[Error | None], None] | None = None
        #: Called with the Topic Filter and the reason when a subscription could not be made again.
        self.on_subscription_lost: Callable[[str, Error], None] | None = None
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._room = False

    # ---- For a loop of one's own

    def run(self, timeout: float | None = None) -> None:
        """Runs the client for `timeout` seconds, or until it is disconnected; messages wait for receive()."""
        try:
            self._run_until(lambda: False, timeout, "")
        except TimeoutError:
            pass
        except ArgumentError:
            if self.closed or self.state != State.DISCONNECTED:
                raise

    def service(self) -> bool:
        """Does everything that is due, without waiting: for a loop of one's own, with fileno() and next_timeout().
        Returns whether messages wait for receive()."""
        with self._guard:
            self._service()
            while self._take():
                pass
            return bool(self._waiting_messages)

    def next_timeout(self) -> float | None:
        """In how many seconds service() needs to be called even if fileno() stays silent; None: never."""
        timeout_ms = self._next_timeout_ms()
        return None if timeout_ms < 0 else timeout_ms / 1000

    # ---- For the client

    def _run_until(
        self, condition: Callable[[], object], timeout: float | None, what: str, relieve: bool = True
    ) -> None:
        """Runs until the condition holds. TimeoutError, or ArgumentError if nothing would ever happen."""
        deadline = None if timeout is None else time.monotonic() + seconds("timeout", timeout)
        with self._guard:
            while not condition():
                if self._take():
                    if relieve and self._unacknowledged:
                        self._relieve()
                    continue
                timeout_ms = self._next_timeout_ms()
                if timeout_ms:
                    if timeout_ms < 0 and self.state == State.DISCONNECTED:
                        raise ArgumentError(Status.STATE, "the client is disconnected: nothing would ever happen")
                    if deadline is not None:
                        left_ms = max(0, int((deadline - time.monotonic()) * 1000) + 1)
                        if timeout_ms < 0 or left_ms < timeout_ms:
                            timeout_ms = left_ms
                    # Here the thread waits, without the GIL, and signals interrupt it as Python has them.
                    self._poll.poll(min(timeout_ms, MAXIMUM_WAIT_MS))
                self._service()
                if deadline is not None and time.monotonic() >= deadline:
                    while self._take():
                        pass
                    if condition():
                        return
                    raise TimeoutError(f"{what} did not come within {timeout} s")

    def _with_room(self, publish: Callable[[], None], timeout: float | None) -> None:
        """Publishes, when there is room."""
        deadline = None if timeout is None else time.monotonic() + seconds("timeout", timeout)
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

    def _run_to_the_end(self) -> None:
        """Runs until the client is disconnected, and all that it has to tell of it is told."""
        self._run_until(lambda: self.state == State.DISCONNECTED, None, "the end")
        while not self.closed and self._take():
            pass

    # ---- What happens

    def _on_room(self) -> None:
        self._room = True

    def _on_connected(self, connected: Connected) -> None:
        if self.on_connected:
            self.on_connected(connected)

    def _on_disconnected(self, ended: Error | None) -> None:
        if self.on_disconnected:
            self.on_disconnected(ended)

    def _on_subscription_lost(self, filter: str, ended: Error) -> None:
        if self.on_subscription_lost:
            self.on_subscription_lost(filter, ended)
