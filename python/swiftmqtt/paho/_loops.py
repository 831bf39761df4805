"""What runs a client: a loop, in this thread, in one of its own, or the program's."""

from __future__ import annotations

import threading
import time

from .._undelivered import count_in
from ._connection import Connection
from ._link import Link
from ._names import MQTT_ERR_INVAL, MQTT_ERR_NO_CONN, MQTT_ERR_SUCCESS
from .enums import MQTTErrorCode

#: How long, in seconds, a loop does what there is to do before it returns.
BUSY_S = 0.1


class Left:
    """What was not delivered."""

    def __init__(self, count: int):
        self.count = count
        self.text = f"{count} message{'' if count == 1 else 's'} {'was' if count == 1 else 'were'} not delivered"


class Loops(Connection):
    """loop_start(), loop_forever(), loop() and those it is made of."""

    def loop(self, timeout: float = 1.0) -> MQTTErrorCode:
        """Waits for at most `timeout` seconds until there is something to do, and does it. Returns why the connection
        ended, if it did; connecting again is the caller's affair."""
        if timeout < 0.0:
            raise ValueError("Invalid timeout.")
        self._is_looped = True
        if self._sock is None:
            return MQTT_ERR_NO_CONN
        self._rc = MQTT_ERR_SUCCESS
        self._step(timeout)
        return self._rc

    def loop_forever(self, timeout: float = 1.0, retry_first_connection: bool = False) -> MQTTErrorCode:
        """Runs until disconnect() was called, and connects again when a connection is lost. OSError if connect_async()
        was called and the first connection cannot be opened, unless retry_first_connection is true."""
        self._loops += 1
        self._is_looped = True
        try:
            while self._wanted and not self._stopping:
                if self._connect_again(retry_first_connection):
                    break
                self._wait_to_reconnect()
            rc = MQTT_ERR_SUCCESS
            while not self._is_over():
                self._turn.let_pass()
                rc = self.loop(timeout)
                if rc != MQTT_ERR_SUCCESS and not self._is_over():
                    if not self._reconnect_on_failure:
                        break
                    self._wait_to_reconnect()
                    if not self._is_over() and self._sock is None and (self._host or self._wanted):
                        self._connect_again(True)
            return MQTT_ERR_SUCCESS if self._leaving else rc
        finally:
            self._loops -= 1

    def loop_start(self) -> MQTTErrorCode:
        """Runs loop_forever() in a thread."""
        if self._thread is not None:
            return MQTT_ERR_INVAL
        self._stopping, self._is_looped = False, True
        name = f"swiftmqtt-paho-{self._client_id.decode()}"
        self._thread = threading.Thread(target=self._run_thread, name=name, daemon=True)
        self._thread.start()
        return MQTT_ERR_SUCCESS

    def loop_stop(self) -> MQTTErrorCode:
        """Ends that thread, and waits for it; what has QoS 1 or 2 and is not delivered is waited for, too, while there
        is a connection."""
        thread = self._thread
        if thread is None:
            return MQTT_ERR_INVAL
        self._stopping = True
        self._wake()
        if threading.current_thread() is not thread:
            thread.join()
            self._thread = None
        return MQTT_ERR_SUCCESS

    def loop_read(self, max_packets: int = 1) -> MQTTErrorCode:
        """Does what there is to do. See socket()."""
        return self.loop(0)

    def loop_write(self) -> MQTTErrorCode:
        """Sends what there is to be sent; nobody needs to call this."""
        if self._sock is None:
            return MQTT_ERR_NO_CONN
        self._send()
        return MQTT_ERR_SUCCESS

    def loop_misc(self) -> MQTTErrorCode:
        """Keeps the connection alive. See socket()."""
        return self.loop(0)

    def want_write(self) -> bool:
        """False: there is nothing to be waited for but reading."""
        return False

    # ---- When it ends, and when it connects again

    def _run_thread(self) -> None:
        try:
            self.loop_forever(retry_first_connection=True)
        finally:
            self._thread = None

    def _is_over(self) -> bool:
        if self._leaving:
            return self._sock is None
        if self._stopping:
            # What is on its way is waited for, as long as there is a connection.
            return self._sock is None or not (self._unfinished or self._queue)
        return False

    def _connect_again(self, may_fail: bool) -> bool:
        try:
            self.reconnect()
            return True
        except OSError as error:
            self._wanted = not self._leaving
            self._log_call("on_connect_fail")
            if not may_fail:
                self._wanted = False
                raise
            self._debug(f"Connection failed, retrying: {error}")
            return False

    def _log_call(self, name: str) -> None:
        """A callback whose exceptions go no further."""
        try:
            self._call(name)
        except Exception:  # noqa: S110
            pass  # it was logged

    def _wait_to_reconnect(self) -> None:
        if self._sock is not None:
            return
        self._delay = min(self._delay * 2, self._max_delay) if self._delay else self._min_delay
        deadline = time.monotonic() + self._delay
        while not self._leaving and not self._stopping and self._sock is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._sleep(None, left)

    # ---- The end of the process

    closed = False

    def _left_at_exit(self, timeout: float) -> Left:
        """The process ends: sends what was published, and a DISCONNECT that was begun. Returns what is not delivered."""
        if self._is_parents:
            return Left(0)
        deadline = time.monotonic() + timeout
        while self._is_on_its_way() and (left := deadline - time.monotonic()) > 0:
            if self._has_loop() or self._turn.holder is not None:
                time.sleep(min(left, 0.01))
            else:
                self._step(min(left, 0.5))
        return Left(self._undelivered_messages())

    def _is_on_its_way(self) -> bool:
        """Whether it is of use to wait."""
        if self._sock is None and (self._leaving or not self._has_loop()):
            return False
        return self._leaving or self._undelivered_messages() > 0

    def _undelivered_messages(self) -> int:
        with self._lock:
            waiting = len({id(message) for message in (*self._queue, *self._unfinished.values())})
            return max(waiting, count_in(self._link._handle) if self._link else 0)

    def _left_to_parent(self) -> None:
        """A child after fork() may go on with it, if the parent does not."""
        self._is_parents = True

    # ---- A step of it

    def _run_for(self, seconds: float) -> bool:
        """Runs the loop if nobody does: for wait_for_publish()."""
        if self._has_loop() or self._turn.is_mine or self._sock is None:
            return False
        self._step(seconds)
        return True

    def _step(self, timeout: float) -> None:
        """Does what there is to do, or waits for it for a time, and does it then."""
        if not self._turn.take(self._wake, wait=timeout > 0):
            return
        try:
            if self._dispatch():
                timeout = 0
            with self._lock:
                link = self._link
                wait_ms = link.next_timeout_ms() if link and not link.closed else -1
            if link is None or link.closed:
                self._sleep(None, timeout)
                return
            self._sleep(link, timeout if wait_ms < 0 else min(timeout, wait_ms / 1000))
            # What is left for "at once" would else wait for loop_misc(), in a loop of the program's own.
            enough = time.monotonic() + BUSY_S
            while self._serve(link) and time.monotonic() < enough:
                pass
        finally:
            self._turn.give()

    def _serve(self, link: Link) -> bool:
        """Does what there is to do; whether there is more."""
        with self._lock:
            if not link.closed:
                link.service()
        self._dispatch()
        with self._lock:
            return not link.closed and link.next_timeout_ms() == 0

    def _dispatch(self) -> bool:
        """Takes the events, and has the callbacks called that they mean; without the lock, so that these may wait for
        other threads."""
        did = False
        while True:
            with self._lock:
                link = self._link
                if link is None or link.closed:
                    return did
                if not link.calls and not link.take() and not link.calls:
                    return did
            did = True
            while link.calls:
                link.calls.popleft()()
