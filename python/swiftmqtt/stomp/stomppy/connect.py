"""The connections of stomp.connect: they are made of a client of the library, and of a thread."""

from __future__ import annotations

import math
import random
import select
import threading
import time
import traceback
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Union

from ..._bell import Bell
from ...tls import TLS
from ...tls_context import AnyTLS
from .. import _core, constants, errors, events
from .._library import LIBRARY
from ..constants import OFF, Completes, State, Version
from . import exception, listener
from .utils import Frame

__all__ = ["Connection", "Connection10", "Connection11", "Connection12", "WSConnection"]

Headers = Union["dict[str, Any]", None]
Host = tuple[str, int]
# The headers of UNSUBSCRIBE, ACK and NACK that the library writes itself, or has no use for.
_WRITTEN_BY_THE_LIBRARY = (
    "id", "destination", "receipt", "ack", "transaction", "content-length", "message-id", "subscription"
)


@dataclass
class Held:
    """A message that waits for ack() or nack()."""

    token: int
    subscription: int
    names: tuple[str, ...]  # what the server calls it


@dataclass
class Attempt:
    """What became of a connect(). It is its thread's, and outlives the connection: a listener may connect again."""

    core: _core.Core
    reached: bool = False  # the server; CONNECT was sent
    came: bool = False  # CONNECTED
    failed: BaseException | None = None


class Connection(listener.Publisher):
    """stomp.Connection: STOMP 1.1, or the version of its subclass.

    host_and_ports   the servers, (host, port) each, which are tried in their order; None: localhost:61613
    heartbeats       milliseconds between two heart-beats that the client sends, and in which it wants one of the server's;
                     0: none
    vhost            the host header of CONNECT; None: the host
    auto_decode      bodies of messages are str; False: bytes
    encoding         of bodies that are str
    auto_content_length      False: SEND has no content-length, and its body no zero
    reconnect_attempts_max   how many attempts connect() makes to reach a server; -1: as many as it takes
    reconnect_sleep_…        seconds between two of them: the first pause, by how much of itself each one grows, how much of
                     itself is added at random at most, and the longest
    timeout          seconds for each attempt
    keepalive        True, or a tuple whose second value is seconds: TCP's own keep-alive
    bind_host_port   (numeric address, 0): what connections come from
    tls              True, or a swiftmqtt.TLS; set_ssl() does the same
    prefer_localhost, try_loopback_connect, heart_beat_receive_scale   have no effect

    options are those of :class:`swiftmqtt.stomp.Client`.
    """

    _version = Version.STOMP_1_1
    _schemes = ("stomp", "stomps")
    _path = ""

    def __init__(
        self,
        host_and_ports: Iterable[Host] | None = None,
        *,
        prefer_localhost: bool = True,
        try_loopback_connect: bool = True,
        reconnect_sleep_initial: float = 0.1,
        reconnect_sleep_increase: float = 0.5,
        reconnect_sleep_jitter: float = 0.1,
        reconnect_sleep_max: float = 60.0,
        reconnect_attempts_max: int = 3,
        timeout: float | None = None,
        heartbeats: tuple[int, int] = (0, 0),
        keepalive: Any = None,
        vhost: str | None = None,
        auto_decode: bool = True,
        encoding: str = "utf-8",
        auto_content_length: bool = True,
        heart_beat_receive_scale: float = 1.5,
        bind_host_port: Host | None = None,
        tls: AnyTLS = None,
        **options: Any,
    ):
        self._hosts = [(host, int(port)) for host, port in host_and_ports or [("localhost", 61613)]]
        self._options: dict[str, Any] = dict(
            reconnect=False,
            # CONNECT of 1.0 and 1.1 has no host in stomp.py unless it is given, and RabbitMQ takes "/" then, as it does here.
            virtual_host=vhost or (self._hosts[0][0] if self._version == Version.STOMP_1_2 else "/"),
            heart_beat_send_ms=heartbeats[0] or OFF,
            heart_beat_receive_ms=heartbeats[1] or OFF,
            connect_timeout_ms=round(timeout * 1000) if timeout else 0,
            oldest=self._version,
            newest=self._version,
        )
        if keepalive:
            self._options["tcp_keep_alive_s"] = round(keepalive[1]) if isinstance(keepalive, tuple) else 20
        if bind_host_port:
            if bind_host_port[1]:
                raise ValueError(f"bind_host_port has the port {bind_host_port[1]}: only 0 is possible, the kernel's choice")
            self._options["bind_address"] = bind_host_port[0]
        self._options.update(options)
        self.version = f"1.{int(self._version) % 10}"
        self._tls: Any = tls
        self._heartbeats = (int(heartbeats[0]), int(heartbeats[1]))
        self._auto_decode, self._encoding, self._no_length = auto_decode, encoding, not auto_content_length
        self._attempts = reconnect_attempts_max
        self._pauses = (reconnect_sleep_initial, reconnect_sleep_increase, reconnect_sleep_jitter, reconnect_sleep_max)
        self._listeners: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._core: _core.Core | None = None
        self._bell = Bell()
        self._thread: threading.Thread | None = None
        self._numbers: dict[str, int] = {}  # of subscriptions, by their ids
        self._ids: dict[int, str | None] = {}
        self._cumulative: set[int] = set()  # subscriptions in which an ack is for all messages before it, too
        self._held: dict[tuple[int, str], Held] = {}
        self._transactions: dict[str, int] = {}
        self._receipts: dict[int, str] = {}  # by the cookie
        self._next_cookie = 1
        self._leaving: str | None = None  # the receipt of disconnect()
        self._wakes_at = 0.0  # when the thread runs again by itself, in seconds of time.monotonic()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @property
    def heartbeats(self) -> tuple[int, int]:
        """Milliseconds, as the constructor was told; while there is a connection, as agreed with the server."""
        core = self._core
        agreed = core.connected if core is not None else None
        return (agreed.heart_beat_send_ms, agreed.heart_beat_receive_ms) if agreed else self._heartbeats

    def set_ssl(
        self,
        for_hosts: Iterable[Host] = (),
        key_file: str | None = None,
        cert_file: str | None = None,
        ca_certs: str | None = None,
        cert_validator: Any = None,
        ssl_version: Any = None,
        password: str | None = None,
    ) -> None:
        """Connects with TLS from now on. for_hosts are all hosts of the connection."""
        if cert_validator is not None or ssl_version is not None:
            raise ValueError("cert_validator and ssl_version are not supported: give the argument tls a swiftmqtt.TLS")
        if {(host, int(port)) for host, port in for_hosts} != set(self._hosts):
            raise ValueError(f"for_hosts are all hosts of the connection, or none: {self._hosts}")
        self._tls = TLS(key_file=key_file, certificate_file=cert_file, ca_file=ca_certs, password=password)

    def get_ssl(self, host_and_port: Host | None = None) -> Any:
        """Returns the settings of TLS, or None."""
        return self._tls or None

    # ---- Listeners

    def set_listener(self, name: str, listener: Any) -> None:
        """Sets the listener of this name. Listeners are told in the order of their names."""
        assert listener is not None, "remove_listener() removes a listener"
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
        """Connects. It returns when CONNECT was sent; with wait, when the server has accepted the connection. Raises
        ConnectFailedException."""
        more = _merged(headers, keyword_headers)
        self._tell("on_send", Frame("CONNECT", {**more, "login": username, "passcode": passcode}, ""))
        with self._lock:
            if self._core is not None and _lives(self._core):
                return
            self._forget()
            servers = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self._hosts)
            url = f"{self._schemes[bool(self._tls)]}://{servers}{self._path}"
            options = {**self._options, "login": username, "passcode": passcode}
            options["virtual_host"] = more.pop("host", options["virtual_host"])
            core = _core.Core(url, tls=self._tls, headers=more, **options)
            self._core, self._leaving, attempt = core, None, Attempt(core)
            core._begin_connect()
            self._thread = threading.Thread(target=self._run, args=(attempt,), daemon=True, name="stomp-receiver")
            self._thread.start()
            self._changed.wait_for(lambda: attempt.came or attempt.failed or attempt.reached and not wait)
            if not attempt.came and (wait or not attempt.reached):
                raise exception.ConnectFailedException(str(attempt.failed)) from attempt.failed

    def disconnect(self, receipt: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Disconnects, once everything is sent; then on_receipt and on_disconnected are told. Without a connection it does
        nothing."""
        with self._lock:
            core, thread = self._core, self._thread
            if core is None or not _lives(core):
                return
            self._leaving = receipt or str(uuid.uuid4())
            leaving = self._leaving
        self._tell("on_disconnecting")
        self._tell("on_send", Frame("DISCONNECT", {"receipt": leaving}, ""))
        with self._lock:
            if _lives(core):
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
        assert destination is not None, "'destination' is required"
        assert body is not None, "'body' is required"
        frame = Frame("SEND", {**_merged(headers, keyword_headers), "destination": destination}, body)
        if content_type:
            frame.headers["content-type"] = content_type
        self._connected()
        self._tell("on_send", frame)
        more = dict(frame.headers)
        receipt, name = more.pop("receipt", None), more.pop("transaction", None)
        destination, content_type = more.pop("destination", ""), more.pop("content-type", None)
        more.pop("content-length", None)
        sent = frame.body.encode(self._encoding) if isinstance(frame.body, str) else frame.body
        with self._lock:
            core = self._connected()
            transaction = self._transaction(name)
            cookie = self._cookie_of(receipt)
            made = core._frame(
                destination, sent, content_type, more, bool(receipt), False, not receipt, self._no_length, transaction,
                cookie or None,
            )  # fmt: skip
            self._with_room(core, lambda: core._post(made))

    def subscribe(
        self, destination: str, id: Any = None, ack: str = "auto", headers: Headers = None, **keyword_headers: Any
    ) -> None:
        """Subscribes; id is the program's."""
        assert destination is not None, "'destination' is required"
        assert id is not None or self._version == Version.STOMP_1_0, "'id' is required"
        more = _merged(headers, keyword_headers)
        shown = {**more, "destination": destination, "ack": ack, **({} if id is None else {"id": id})}
        self._connected()
        self._tell("on_send", Frame("SUBSCRIBE", shown, ""))
        receipt = more.pop("receipt", None)
        with self._lock:
            core = self._connected()
            number = core._subscribe(destination, ack, more, self._cookie_of(receipt))
            self._numbers[destination if id is None else str(id)] = number
            self._ids[number] = None if id is None else str(id)
            if ack == "client":
                self._cumulative.add(number)
            self._bell.ring()

    def unsubscribe(self, id: Any, headers: Headers = None, **keyword_headers: Any) -> None:
        """Ends the subscription with this id; headers end a durable one at the server. "receipt" is understood."""
        self._unsubscribe(id, _merged(headers, keyword_headers))

    def ack(
        self,
        id: str,
        subscription: Any,
        transaction: str | None = None,
        receipt: str | None = None,
        **keyword_headers: Any,
    ) -> None:
        """Acknowledges a message: id is its header "message-id", and subscription its header "subscription"."""
        self._settle("ACK", id, subscription, transaction, receipt, keyword_headers)

    def nack(
        self,
        id: str,
        subscription: Any,
        transaction: str | None = None,
        receipt: str | None = None,
        **keyword_headers: Any,
    ) -> None:
        """Refuses a message, as ack() does otherwise."""
        self._settle("NACK", id, subscription, transaction, receipt, keyword_headers)

    def begin(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> str:
        """Begins a transaction, and returns its name."""
        name = transaction or str(uuid.uuid4())
        self._connected()
        self._tell("on_send", Frame("BEGIN", {**_merged(headers, keyword_headers), "transaction": name}, ""))
        with self._lock:
            core = self._connected()
            self._transactions[name] = core._begin()
            self._bell.ring()
            return name

    def commit(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Commits a transaction. The header "receipt" is understood."""
        self._finish("COMMIT", transaction, _merged(headers, keyword_headers))

    def abort(self, transaction: str | None = None, headers: Headers = None, **keyword_headers: Any) -> None:
        """Aborts a transaction. The header "receipt" is understood."""
        self._finish("ABORT", transaction, _merged(headers, keyword_headers))

    # ---- For these

    def _connected(self) -> _core.Core:
        """While CONNECTED has not come yet, what is sent waits for it."""
        core = self._core
        if core is None or core.closed or core.state in (State.DISCONNECTED, State.DISCONNECTING):
            raise exception.NotConnectedException()
        return core

    def _transaction(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self._transactions:
            raise ValueError(f"there is no transaction {name!r}")
        return self._transactions[name]

    def _cookie_of(self, receipt: Any) -> int:
        """0: no receipt is wanted."""
        if not receipt:
            return 0
        cookie, self._next_cookie = self._next_cookie, self._next_cookie + 1
        self._receipts[cookie] = str(receipt)
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
        self._flush(core)

    def _flush(self, core: _core.Core) -> None:
        """Sends what waits. The thread is woken up only if there is something for it, or if it would sleep for too long."""
        has_event = LIBRARY.sst_flush(core._open()) == 1
        timeout_ms = core._next_timeout_ms()
        if has_event or 0 <= timeout_ms and time.monotonic() + timeout_ms / 1000 < self._wakes_at:
            self._bell.ring()

    def _unsubscribe(self, id: Any, more: dict[str, Any]) -> None:
        self._connected()
        self._tell("on_send", Frame("UNSUBSCRIBE", {**more, "id": id}, ""))
        with self._lock:
            core = self._connected()
            number = self._numbers.pop(str(id), None)
            if number is None:
                raise ValueError(f"there is no subscription {id!r}")
            receipt = more.get("receipt")
            more = {name: value for name, value in more.items() if name not in _WRITTEN_BY_THE_LIBRARY}
            # With headers, which end a durable subscription, SUBSCRIBE would not be sent before.
            LIBRARY.sst_flush(core._open())
            core._unsubscribe(number, more, self._cookie_of(receipt))
            self._bell.ring()

    def _settle(
        self,
        command: str,
        id: str,
        subscription: Any,
        transaction: str | None,
        receipt: str | None,
        more: dict[str, Any],
    ) -> None:
        assert id is not None, "'id' is required"
        if transaction and receipt:
            raise ValueError("an acknowledgement in a transaction has no receipt: COMMIT has one")
        shown = {"id": id, "subscription": subscription, "transaction": transaction, "receipt": receipt, **more}
        self._connected()
        self._tell("on_send", Frame(command, {name: value for name, value in shown.items() if value is not None}, ""))
        with self._lock:
            core = self._connected()
            number = None if subscription is None else self._numbers.get(str(subscription))
            found = [held for (of, name), held in self._held.items() if name == str(id) and number in (None, of)]
            if not found:
                raise ValueError(f"no message {id!r} waits for an acknowledgement")
            held = found[0]
            more = {name: value for name, value in more.items() if name not in _WRITTEN_BY_THE_LIBRARY}
            inside = core._begin() if receipt else self._transaction(transaction)
            try:
                core._settle(command == "ACK", held.token, inside, more)
            except errors.Error:
                if receipt:
                    core._end_transaction(False, inside, 0)
                raise
            if receipt:
                core._end_transaction(True, inside, self._cookie_of(receipt))
            self._release(held)
            self._flush(core)

    def _release(self, held: Held) -> None:
        """It waits no longer, nor do those before it of a subscription whose acks are cumulative."""
        done = [held]
        if held.subscription in self._cumulative:
            before = [each for each in self._held.values() if each.subscription == held.subscription]
            done += before[: before.index(held)]
        for each in done:
            for name in each.names:
                self._held.pop((each.subscription, name), None)

    def _finish(self, command: str, transaction: str | None, headers: dict[str, Any]) -> None:
        assert transaction is not None, "'transaction' is required"
        self._connected()
        self._tell("on_send", Frame(command, {**headers, "transaction": transaction}, ""))
        with self._lock:
            core = self._connected()
            number = self._transactions.pop(transaction, None)
            if number is None:
                raise ValueError(f"there is no transaction {transaction!r}")
            core._end_transaction(command == "COMMIT", number, self._cookie_of(headers.get("receipt")))
            LIBRARY.sst_flush(core._open())
            self._bell.ring()

    def _forget(self) -> None:
        for names in (self._numbers, self._ids, self._cumulative, self._held, self._transactions, self._receipts):
            names.clear()

    # ---- The thread

    def _run(self, attempt: Attempt) -> None:
        core, attempts = attempt.core, 1
        poll = select.poll()
        poll.register(core.fileno(), select.POLLIN)
        poll.register(self._bell.fileno(), select.POLLIN)
        while True:
            with self._lock:
                timeout_ms = core._next_timeout_ms()
                self._wakes_at = time.monotonic() + timeout_ms / 1000 if timeout_ms >= 0 else math.inf
            poll.poll(timeout_ms if timeout_ms >= 0 else None)
            if self._bell.is_rung:
                self._bell.quiet()
            with self._lock:
                LIBRARY.sst_service(core._open())
                core._take()
                taken = list(core._events)
                core._events.clear()
                has_ended = core.state == State.DISCONNECTED
                begins = not attempt.reached and core.stats["bytes_sent"] > 0
            if begins:
                # Before anybody knows of it: on_connecting comes first.
                server = next((event.server for event in taken if isinstance(event, events.Connected)), "")
                self._tell("on_connecting", _host_of(server) if server else self._hosts[0])
            with self._lock:
                attempt.reached = attempt.reached or begins
                attempt.came = attempt.came or any(isinstance(event, events.Connected) for event in taken)
                self._changed.notify_all()
            for event in taken:
                self._dispatch(event)
            if not has_ended:
                continue
            with self._lock:
                # A server that was reached and did not accept is not asked again, as in stomp.py.
                if not attempt.reached and self._leaving is None and not 0 <= self._attempts <= attempts:
                    self._changed.wait_for(lambda: self._leaving is not None, self._pause_s(attempts))
                    attempts += 1
                    if self._leaving is None:
                        core._begin_connect()
                        continue
                attempt.failed = core._ended or errors.error(constants.Status.CLOSED)
                core.close()
                self._changed.notify_all()
            # A listener may connect again from here.
            if attempt.reached:
                self._tell("on_receiver_loop_completed", None)
            if attempt.came:
                self._tell("on_disconnected")
            return

    def _pause_s(self, attempts: int) -> float:
        """Seconds until the next attempt to reach a server."""
        initial, increase, jitter, longest = self._pauses
        wait: float = min(longest, initial * (1 + increase) ** (attempts - 1))
        return wait * (1 + random.random() * jitter)

    def _dispatch(self, event: events.Event) -> None:
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

    def _message(self, message: events.Message) -> None:
        headers = dict(message.headers)
        if message.subscription in self._ids:
            headers.pop("subscription", None)
            given = self._ids[message.subscription]
            if given is not None:
                headers["subscription"] = given
        if message.token:
            held = Held(message.token, message.subscription, tuple(headers[n] for n in ("ack", "message-id") if n in headers))
            with self._lock:
                for name in held.names:
                    self._held[message.subscription, name] = held
        frame = Frame("MESSAGE", headers, self._decoded(message.body))
        self._tell("on_before_message", frame)
        self._tell("on_message", frame)

    def _decoded(self, body: bytes) -> Any:
        return body.decode(self._encoding, "replace") if self._auto_decode else body

    def _tell(self, what: str, *arguments: Any) -> None:
        for _, each in sorted(self._listeners.items()):
            function = getattr(each, what, None)
            if function:
                try:
                    function(*arguments)
                except Exception:  # the others are still to be told
                    traceback.print_exc()


class Connection10(Connection):
    """STOMP 1.0. A subscription needs no id, and an acknowledgement no subscription."""

    _version = Version.STOMP_1_0

    def unsubscribe(  # type: ignore[override]
        self, destination: str | None = None, id: Any = None, headers: Headers = None, **keyword_headers: Any
    ) -> None:
        """Ends the subscription with this id, or the one of this destination that has none."""
        assert id is not None or destination is not None, "'id' or 'destination' is required"
        self._unsubscribe(destination if id is None else id, _merged(headers, keyword_headers))

    def ack(  # type: ignore[override]
        self, id: str, transaction: str | None = None, receipt: str | None = None, **keyword_headers: Any
    ) -> None:
        """Acknowledges a message: id is its header "message-id"."""
        self._settle("ACK", id, None, transaction, receipt, keyword_headers)

    def nack(self, *_: object, **__: object) -> None:
        """There is none in 1.0."""
        raise AttributeError("STOMP 1.0 has no NACK")


class Connection11(Connection):
    """STOMP 1.1."""


class Connection12(Connection):
    """STOMP 1.2. An acknowledgement needs no subscription."""

    _version = Version.STOMP_1_2

    def ack(  # type: ignore[override]
        self, id: str, transaction: str | None = None, receipt: str | None = None, **keyword_headers: Any
    ) -> None:
        """Acknowledges a message: id is its header "ack"; without that, its "message-id"."""
        self._settle("ACK", id, None, transaction, receipt, keyword_headers)

    def nack(  # type: ignore[override]
        self, id: str, transaction: str | None = None, receipt: str | None = None, **keyword_headers: Any
    ) -> None:
        """Refuses a message, as ack() does otherwise."""
        self._settle("NACK", id, None, transaction, receipt, keyword_headers)


class WSConnection(Connection12):
    """STOMP 1.2 over a WebSocket.

    ws_path       of its request
    header        more header fields of the request: a dict
    binary_mode   has no effect: frames are binary ones
    """

    _schemes = ("ws", "wss")

    def __init__(
        self,
        host_and_ports: Iterable[Host] | None = None,
        *,
        ws_path: str | None = None,
        header: dict[str, str] | None = None,
        binary_mode: bool = False,
        **options: Any,
    ):
        super().__init__(host_and_ports, **options)
        self._path = ws_path or "/"
        if header:
            self._options["websocket_headers"] = header


def _merged(headers: Headers, keyword_headers: dict[str, Any]) -> dict[str, Any]:
    """Headers whose value is None are left out."""
    return {name: value for name, value in {**(headers or {}), **keyword_headers}.items() if value is not None}


def _lives(core: _core.Core) -> bool:
    """There is a connection, or an attempt."""
    return not core.closed and core.state != State.DISCONNECTED


def _host_of(server: str) -> Host:
    host, _, port = server.rpartition(":")
    return host.strip("[]"), int(port)
