"""For programs for stomp.py: its Connection, listeners and exceptions, on libswiftstomp.

    import swiftmqtt.stomp.stomppy as stomp

    class Printer(stomp.ConnectionListener):
        def on_message(self, frame):
            print(frame.headers["destination"], frame.body)

    connection = stomp.Connection([("127.0.0.1", 61613)])
    connection.set_listener("printer", Printer())
    connection.connect("guest", "guest", wait=True)
    connection.subscribe("/queue/greetings", id=1, ack="auto")
    connection.send("/queue/greetings", "hello")
    connection.disconnect()

A connection has a thread, which receives, keeps it alive, and calls the listeners. Any thread may call the other
functions, listeners too. What differs from stomp.py:

- An id of a subscription is the program's; what goes over the wire is the library's number. In headers of a message
  "subscription" is the program's.
- ack() and nack() take the header "ack" of a message (1.2) or its "message-id"; a message is of its connection.
- Times of `heartbeats` are milliseconds, as there; (0, 0) turns them off, and that is the default.
- `reconnect_attempts_max` attempts are made to connect, as there; after that nothing reconnects by itself.
- An exception of a listener is printed, and the connection goes on.
- There is no SSL through set_ssl(): the argument `tls` is that of :class:`swiftmqtt.stomp.Client`.
"""

from __future__ import annotations

import select
import threading
import time
import traceback
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Union

from .._bell import Bell
from ..tls_context import AnyTLS
from . import _core, constants, errors, events
from ._library import LIBRARY, QUICK
from .constants import OFF, Completes, State, Version

__all__ = [
    "Connection",
    "Connection10",
    "Connection11",
    "Connection12",
    "ConnectionListener",
    "Frame",
    "exception",
]


class exception:  # noqa: N801 - it is a module there
    """The exceptions of stomp.exception."""

    class StompException(Exception):
        """The base class."""

    class ConnectionClosedException(StompException):
        """The server closed the connection."""

    class NotConnectedException(StompException):
        """There is no connection."""

    class ConnectFailedException(StompException):
        """No connection came up."""


@dataclass
class Frame:
    """What a listener gets: stomp.utils.Frame."""

    cmd: str
    headers: dict[str, str]
    body: Any = None


class ConnectionListener:
    """A listener: a program overrides what it wants to be told. All run in the connection's thread."""

    def on_connecting(self, host_and_port: tuple[str, int]) -> None:
        """A connection is being opened."""

    def on_connected(self, frame: Frame) -> None:
        """The server accepted the connection: CONNECTED."""

    def on_disconnected(self) -> None:
        """The connection has ended."""

    def on_heartbeat_timeout(self) -> None:
        """Nothing came for two and a half times the time that the server had agreed to."""

    def on_message(self, frame: Frame) -> None:
        """A message came: MESSAGE. Its body is a str, or bytes with auto_decode=False."""

    def on_receipt(self, frame: Frame) -> None:
        """The server has confirmed a frame: the header "receipt-id" is that of send() or disconnect()."""

    def on_error(self, frame: Frame) -> None:
        """The server sent ERROR."""


#: Seconds between two attempts of connect().
RETRY_S = 0.1
Headers = Union["dict[str, Any]", None]


class Connection:
    """stomp.Connection: STOMP 1.1, or the version of its subclass.

    host_and_ports   the servers, (host, port) each, which are tried in their order; None: localhost:61613
    heartbeats       milliseconds between two heart-beats that the client sends, and in which it wants one of the server's;
                     0: none
    vhost            the host header of CONNECT; None: the host
    auto_decode      bodies of messages are str; False: bytes
    reconnect_attempts_max   how many attempts connect() makes; -1: as many as it takes
    timeout          seconds for each attempt
    tls              True, or a swiftmqtt.TLS

    options are those of :class:`swiftmqtt.stomp.Client`.
    """

    _version = Version.STOMP_1_1

    def __init__(
        self,
        host_and_ports: Iterable[tuple[str, int]] | None = None,
        *,
        heartbeats: tuple[int, int] = (0, 0),
        vhost: str | None = None,
        auto_decode: bool = True,
        reconnect_attempts_max: int = 3,
        timeout: float | None = None,
        tls: AnyTLS = None,
        **options: Any,
    ):
        self._hosts = list(host_and_ports or [("localhost", 61613)])
        servers = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self._hosts)
        self._options: dict[str, Any] = dict(
            url=f"stomp{'s' if tls else ''}://{servers}",
            tls=tls,
            reconnect=False,
            virtual_host=vhost or self._hosts[0][0],
            heart_beat_send_ms=heartbeats[0] or OFF,
            heart_beat_receive_ms=heartbeats[1] or OFF,
            connect_timeout_ms=round(timeout * 1000) if timeout else 0,
            oldest=self._version,
            newest=self._version,
            **options,
        )
        self._auto_decode, self._attempts = auto_decode, reconnect_attempts_max
        self._listeners: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._core: _core.Core | None = None
        self._bell = Bell()
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._numbers: dict[Any, int] = {}  # of subscriptions, by their ids
        self._ids: dict[int, Any] = {}
        self._tokens: dict[str, int] = {}  # of messages that wait for ack(), by what the server calls them
        self._transactions: dict[str, int] = {}
        self._receipts: dict[int, str] = {}  # by the cookie
        self._next_cookie = 1
        self._leaving: str | None = None  # the receipt of disconnect()

    # ---- Listeners

    def set_listener(self, name: str, listener: Any) -> None:
        """Sets the listener of this name."""
        with self._lock:
            self._listeners[name] = listener

    def get_listener(self, name: str) -> Any:
        """The listener of this name, or None."""
        return self._listeners.get(name)

    def remove_listener(self, name: str) -> None:
        """Removes the listener of this name."""
        with self._lock:
            self._listeners.pop(name, None)

    # ---- Life

    def is_connected(self) -> bool:
        """Whether there is a connection now."""
        with self._lock:
            return self._core is not None and self._core.is_connected

    def connect(
        self,
        username: str | None = None,
        passcode: str | None = None,
        wait: bool = False,
        headers: Headers = None,
        **keyword_headers: Any,
    ) -> None:
        """Connects. With wait it returns when the server has accepted the connection. Raises ConnectFailedException."""
        with self._lock:
            if self._core is not None and not self._core.closed and self._core.state != State.DISCONNECTED:
                return
            self._forget()
            more = {**(headers or {}), **keyword_headers}
            self._core = _core.Core(**self._options, login=username, passcode=passcode, headers=more)
            self._failed = self._leaving = None
            self._tell("on_connecting", self._hosts[0])
            self._core._begin_connect()
            self._thread = threading.Thread(target=self._run, args=(self._core,), daemon=True, name="stomp-receiver")
            self._thread.start()
            if not wait:
                return
            core = self._core
            while core.connected is None and self._failed is None:
                self._changed.wait()
            if core.connected is None:
                raise exception.ConnectFailedException(str(self._failed)) from self._failed

    def disconnect(self, receipt: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Disconnects, once everything is sent; then on_receipt and on_disconnected are told."""
        with self._lock:
            core, thread = self._core, self._thread
            if core is None or core.closed or core.state == State.DISCONNECTED:
                raise exception.NotConnectedException()
            self._leaving = receipt or str(uuid.uuid4())
            core._begin_disconnect(_core.DRAIN_MS)
            self._bell.ring()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    # ---- Frames

    def send(
        self,
        destination: str,
        body: str | bytes = "",
        content_type: str | None = None,
        headers: Headers = None,
        **keyword_headers: Any,
    ) -> None:
        """Sends a message. The headers "receipt" and "transaction" are understood."""
        more = {**(headers or {}), **keyword_headers}
        receipt = more.pop("receipt", None)
        transaction = self._transaction(more.pop("transaction", None))
        for name in ("destination", "content-length"):
            more.pop(name, None)
        content_type = more.pop("content-type", content_type)
        with self._lock:
            core = self._connected()
            cookie = self._cookie_of(str(receipt)) if receipt else None
            frame = core._frame(
                destination, body, content_type, more, bool(receipt), False, not receipt, False, transaction, cookie
            )
            self._with_room(core, lambda: core._post(frame))

    def subscribe(
        self, destination: str, id: Any = None, ack: str = "auto", headers: Headers = None, **keyword_headers: Any
    ) -> None:
        """Subscribes; id is the program's."""
        more = {**(headers or {}), **keyword_headers}
        receipt = more.pop("receipt", None)
        with self._lock:
            core = self._connected()
            number = core._subscribe(destination, ack, more, self._cookie_of(str(receipt)) if receipt else 0)
            self._numbers[id if id is None else str(id)] = number
            self._ids[number] = id
            self._bell.ring()

    def unsubscribe(self, id: Any = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Ends the subscription with this id; headers end a durable one at the server."""
        more = {**(headers or {}), **keyword_headers}
        with self._lock:
            core = self._connected()
            number = self._numbers.pop(id if id is None else str(id), None)
            if number is None:
                raise ValueError(f"there is no subscription {id!r}")
            # With headers SUBSCRIBE would not be sent before.
            LIBRARY.sst_flush(core._open())
            core._unsubscribe(number, more, 0)
            self._bell.ring()

    def ack(self, id: str, subscription: Any = None, transaction: str | None = None, receipt: str | None = None) -> None:
        """Acknowledges a message: id is its header "ack" or "message-id"."""
        self._settle(QUICK.sst_ack, id, transaction)

    def nack(self, id: str, subscription: Any = None, transaction: str | None = None, receipt: str | None = None) -> None:
        """Refuses a message, as ack() does otherwise."""
        self._settle(QUICK.sst_nack, id, transaction)

    def begin(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> str:
        """Begins a transaction, and returns its name."""
        with self._lock:
            core, name = self._connected(), transaction or str(uuid.uuid4())
            self._transactions[name] = core._begin()
            self._bell.ring()
            return name

    def commit(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Commits a transaction."""
        self._finish(True, transaction, {**(headers or {}), **keyword_headers})

    def abort(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Aborts a transaction."""
        self._finish(False, transaction, {**(headers or {}), **keyword_headers})

    # ---- For these

    def _connected(self) -> _core.Core:
        core = self._core
        if core is None or not core.is_connected:
            raise exception.NotConnectedException()
        return core

    def _transaction(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self._transactions:
            raise ValueError(f"there is no transaction {name!r}")
        return self._transactions[name]

    def _cookie_of(self, receipt: str) -> int:
        cookie, self._next_cookie = self._next_cookie, self._next_cookie + 1
        self._receipts[cookie] = receipt
        return cookie

    def _with_room(self, core: _core.Core, call: Any) -> None:
        while True:
            try:
                call()
                break
            except errors.NoRoomError:
                if threading.current_thread() is self._thread:
                    raise
                self._bell.ring()
                self._changed.wait(0.05)
                self._connected()
        LIBRARY.sst_flush(core._open())
        self._bell.ring()

    def _settle(self, function: Any, id: str, transaction: str | None) -> None:
        with self._lock:
            core = self._connected()
            token = self._tokens.pop(str(id), None)
            if token is None:
                raise ValueError(f"no message {id!r} waits for an acknowledgement")
            core._settle(function, token, self._transaction(transaction))
            LIBRARY.sst_flush(core._open())
            self._bell.ring()

    def _finish(self, commits: bool, transaction: str | None, headers: dict[str, Any]) -> None:
        with self._lock:
            core = self._connected()
            number = self._transactions.pop(transaction or "", None)
            if number is None:
                raise ValueError(f"there is no transaction {transaction!r}")
            receipt = headers.get("receipt")
            core._end_transaction(commits, number, self._cookie_of(str(receipt)) if receipt else 0)
            LIBRARY.sst_flush(core._open())
            self._bell.ring()

    def _forget(self) -> None:
        for names in (self._numbers, self._ids, self._tokens, self._transactions, self._receipts):
            names.clear()

    # ---- The thread

    def _run(self, core: _core.Core) -> None:
        attempts, came = 1, False
        poll = select.poll()
        poll.register(core.fileno(), select.POLLIN)
        poll.register(self._bell.fileno(), select.POLLIN)
        while True:
            with self._lock:
                timeout_ms = core._next_timeout_ms()
            poll.poll(timeout_ms if timeout_ms >= 0 else None)
            if self._bell.is_rung:
                self._bell.quiet()
            with self._lock:
                LIBRARY.sst_service(core._open())
                core._take()
                taken = list(core._events)
                core._events.clear()
                has_ended = core.state == State.DISCONNECTED
                self._changed.notify_all()
            for event in taken:
                came = came or isinstance(event, events.Connected)
                self._dispatch(event, came)
            if not has_ended:
                continue
            with self._lock:
                if not came and self._leaving is None and not 0 <= self._attempts <= attempts:
                    attempts += 1
                    time.sleep(RETRY_S)
                    core._begin_connect()
                    continue
                self._failed = core._ended or errors.error(constants.Status.CLOSED)
                core.close()
                self._changed.notify_all()
            return

    def _dispatch(self, event: events.Event, came: bool) -> None:
        """Tells the listeners."""
        if isinstance(event, events.Connected):
            self._tell("on_connected", Frame("CONNECTED", event.headers, ""))
        elif isinstance(event, events.Message):
            self._message(event)
        elif isinstance(event, events.Completed):
            receipt = self._receipts.pop(event.cookie, None)
            if receipt is not None and event.error is None:
                self._tell("on_receipt", Frame("RECEIPT", {"receipt-id": receipt}, ""))
            elif event.error is not None and event.what == Completes.SUBSCRIBE:
                self._tell("on_error", Frame("ERROR", {"message": str(event.error)}, ""))
        elif isinstance(event, events.Disconnected):
            if event.headers or event.text:
                self._tell("on_error", Frame("ERROR", event.headers, self._decoded(event.body)))
            if event.status == constants.Status.HEART_BEAT:
                self._tell("on_heartbeat_timeout")
            if self._leaving is not None and event.status == 0:
                self._tell("on_receipt", Frame("RECEIPT", {"receipt-id": self._leaving}, ""))
            if came:
                self._tell("on_disconnected")

    def _message(self, message: events.Message) -> None:
        headers = dict(message.headers)
        given = self._ids.get(message.subscription)
        if given is not None:
            headers["subscription"] = str(given)
        if message.token:
            with self._lock:
                for name in ("ack", "message-id"):
                    if name in headers:
                        self._tokens[headers[name]] = message.token
        self._tell("on_message", Frame("MESSAGE", headers, self._decoded(message.body)))

    def _decoded(self, body: bytes) -> Any:
        return body.decode("utf-8", "replace") if self._auto_decode else body

    def _tell(self, what: str, *arguments: Any) -> None:
        for listener in list(self._listeners.values()):
            function = getattr(listener, what, None)
            if function:
                try:
                    function(*arguments)
                except Exception:  # the others are still to be told
                    traceback.print_exc()


class Connection10(Connection):
    """STOMP 1.0."""

    _version = Version.STOMP_1_0


class Connection11(Connection):
    """STOMP 1.1."""

    _version = Version.STOMP_1_1


class Connection12(Connection):
    """STOMP 1.2."""

    _version = Version.STOMP_1_2
