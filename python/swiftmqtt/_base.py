"""What both clients have in common: a smq_client in memory of its own, whose events are taken one by one.

Nothing here waits. Client waits with poll(), aio.Client has the loop wait; both call _service() when it is time, and
take events with _take() as long as there are any.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Union

from . import _abi, _options, errors, properties
from ._answers import Answer, Connected, ServerLimits
from ._checks import buffer, encoded_text, function, listed, number_to, seconds
from ._library import LIBRARY
from ._source import puller
from .constants import EventType, LogItem, LogLevel, OptionFlag, Protocol, State, Status
from .errors import ArgumentError, ClosedError, Error, check, error
from .message import Message, Subscription
from .payload import Adapters
from .properties import Properties, UserProperties

#: What is told to a log hook: level, what, and its two numbers, as chapter 15 of the header says.
LogHook = Callable[[LogLevel, Union[LogItem, int], int, int], None]
#: Asked for user name and password before each attempt; None: there are none now.
CredentialsHook = Callable[[int], Union["tuple[str, str | bytes]", None]]
#: Asked for the numeric addresses of a name.
ResolveHook = Callable[[str, int], Iterable[str]]
#: Given the server's Authentication Data, returns the next.
AuthenticateHook = Callable[[bytes], bytes]
#: What a completion is told to.
Finish = Callable[[Any, "Error | None"], None]
#: Filters: one, several, or with their options.
Filters = Union[str, Subscription, Iterable[Union[str, Subscription]]]

_PART_FIRST, _PART_LAST = 1, 2
_string_at = ctypes.string_at


class Guard:
    """Sees that two threads are never in a client at once: the second gets an error, and does not wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            raise ArgumentError(
                Status.STATE, "another thread is using the client: only submit() is for any thread at any time"
            )

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class BaseClient:
    """A client of the library, and what its events do."""

    def __init__(
        self,
        url: str | None = None,
        *,
        reconnect: bool = True,
        manual_ack: bool = False,
        message_maximum: int = 1 << 24,
        adapters: Adapters | None = None,
        credentials: CredentialsHook | None = None,
        resolve: ResolveHook | None = None,
        authenticate: AuthenticateHook | None = None,
        log: LogHook | None = None,
        log_level: int = LogLevel.INFO,
        **options: Any,
    ):
        flags = OptionFlag.PARTS
        if not reconnect:
            flags |= OptionFlag.NO_RECONNECT
        if credentials:
            flags |= OptionFlag.ASK_CREDENTIALS
        if resolve:
            flags |= OptionFlag.ASK_ADDRESSES
        self.adapters = Adapters() if adapters is None else adapters
        if not isinstance(self.adapters, Adapters):
            raise ArgumentError(Status.OPTION, f"adapters is a swiftmqtt.Adapters, not {type(adapters).__name__}")
        for name, hook in (("credentials", credentials), ("resolve", resolve), ("authenticate", authenticate)):
            function(name, hook)
        self._manual_ack = manual_ack
        self._message_maximum = number_to("message_maximum", message_maximum, 0xFFFFFFFF, Status.OPTION)
        self._credentials, self._resolve, self._authenticate = credentials, resolve, authenticate
        built = _options.build(url, flags, self.adapters, options)

        self._guard = Guard()
        self._submitting = threading.RLock()  # close() waits for who is in submit()
        self._event = _abi.Event()
        self._event_reference = ctypes.byref(self._event)
        self._pending: dict[int, Finish] = {}
        self._cookies = itertools.count(1)
        self._streams: dict[int, Any] = {}
        self._arriving: bytearray | None = None  # a message that comes in parts
        self._waiting_messages: deque[Message] = deque()
        self._unacknowledged = 0  # of these
        self._told: deque[tuple[int, int, int, int, int]] = deque()  # to the log hook, when it is safe
        self._log: LogHook | None = None
        self._protocol: int = built.protocol
        self._receive_maximum: int = built.receive_maximum or 64
        self._connected: Connected | None = None
        self._ended: Error | None = None  # why the last attempt or connection ended
        self._ends = 0  # attempts and connections that ended

        size = LIBRARY.smq_client_size(ctypes.byref(built))
        block = (ctypes.c_uint64 * ((size + 7) // 8))()
        handle = ctypes.c_void_p()
        check(LIBRARY.smq_client_init(block, ctypes.sizeof(block), ctypes.byref(built), ctypes.byref(handle)))
        assert handle.value  # the library said that all is well
        self._handle: int | None = handle.value
        self._kept: list[Any] = [block]  # what the library has pointers to, as long as the client lives
        # Closes the descriptors of a client that nobody has any more, and keeps its memory until then.
        self._finalizer = weakref.finalize(self, _release, handle.value, os.getpid(), self._kept)
        self._finalizer.atexit = False  # type: ignore[misc, unused-ignore]
        self._fd = check(LIBRARY.smq_fd(self._handle))
        if log:
            self.set_log(log, log_level)

    # ---- Facts

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    @property
    def state(self) -> State:
        """What the client is doing."""
        return State(LIBRARY.smq_client_state(self._open()))

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now."""
        return self._handle is not None and LIBRARY.smq_client_state(self._handle) == State.CONNECTED

    @property
    def protocol(self) -> Protocol:
        """The version of MQTT that is spoken, or will be."""
        return Protocol(self._protocol)

    @property
    def client_id(self) -> str:
        """The Client Identifier that CONNECT carries; empty: the server assigns one."""
        found = _abi.BytesOut()
        check(LIBRARY.smq_client_id(self._open(), ctypes.byref(found)))
        return _text(found)

    @property
    def stats(self) -> dict[str, int | tuple[int, ...]]:
        """The client's numbers: smq_stats, by its names."""
        with self._guard:
            found = _abi.Stats()
            check(LIBRARY.smq_client_stats(self._open(), ctypes.byref(found)))
        values = {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}
        return {name: v if isinstance(v, int) else tuple(v) for name, v in values.items()}

    @property
    def server(self) -> ServerLimits:
        """What the server can do. ArgumentError without a connection."""
        with self._guard:
            found = _abi.Server()
            check(LIBRARY.smq_client_server(self._open(), ctypes.byref(found)))
        values = {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}
        return ServerLimits(**{n: bool(v) if n.endswith("_available") else v for n, v in values.items()})

    @property
    def connected(self) -> Connected | None:
        """What the server said when it accepted the connection; None without one."""
        return self._connected

    @property
    def error(self) -> Error | None:
        """Why the last attempt to connect, or connection, ended; None: it has not, or somebody asked for it."""
        return self._ended

    def fileno(self) -> int:
        """The one descriptor, readable when there is something to do: for select() and the like. Not to be read
        from."""
        self._open()
        return self._fd

    # ---- Life

    def set_log(self, log: LogHook | None, level: int = LogLevel.INFO) -> None:
        """Has what the client does told to log(level, what, number, other), or not any more. It may call the client."""
        function("log", log)
        level = number_to("log_level", level, LogLevel.DEBUG, Status.OPTION)
        with self._guard:
            handle = self._open()
            self._log = log
            pointer = _abi.LOG(_appending(self._told)) if log else _abi.LOG()
            check(LIBRARY.smq_set_log(handle, level if log else LogLevel.OFF, pointer, None))
            self._kept[1:] = [pointer]

    def close(self) -> None:
        """Ends the client at once, without a farewell, in any state: the server publishes the Will. What waits to be
        completed fails with ClosedError. A second time it does nothing; every other call raises ClosedError then."""
        if self._handle is None:
            return
        with self._guard:
            with self._submitting:
                self._handle = None
                self._finalizer()
                pending, self._pending = self._pending, {}
            self._connected = None
            self._streams.clear()
            self._waiting_messages.clear()
            for finish in pending.values():
                finish(None, ClosedError("the client was closed before this was completed"))
            self._on_closed()

    def network_changed(self, up: bool = True) -> None:
        """There is a network, maybe another one than before, or there is none: smq_hint_network()."""
        with self._guard:
            check(LIBRARY.smq_hint_network(self._open(), int(bool(up))))
            self._on_called()

    def resumed(self) -> None:
        """The machine was asleep: smq_hint_resume()."""
        with self._guard:
            check(LIBRARY.smq_hint_resume(self._open()))
            self._on_called()

    def reauthenticate(self, data: bytes = b"") -> None:
        """Begins an exchange of enhanced authentication anew (MQTT 5.0), which goes on with the `authenticate` hook."""
        self._send_auth(0x19, data)

    # ---- For the clients

    def _open(self) -> int:
        if self._handle is None:
            raise ClosedError()
        return self._handle

    def _on_called(self) -> None:
        """The library was called: when it next needs to run may have changed."""

    def _on_closed(self) -> None:
        """close() was called."""

    def _on_room(self) -> None:
        """There is room in the outbox again."""

    def _on_message(self) -> None:
        """_waiting_messages has one more."""

    def _on_connected(self, connected: Connected) -> None:
        """A connection came up."""

    def _on_disconnected(self, ended: Error | None) -> None:
        """An attempt, or a connection, ended."""

    def _on_subscription_lost(self, filter: str, ended: Error) -> None:
        """A subscription could not be made again."""

    def _service(self) -> None:
        """Does everything that is due."""
        check(LIBRARY.smq_service(self._open()))

    def _flush(self) -> None:
        """Sends what is ready to be sent."""
        check(LIBRARY.smq_flush(self._open()))

    def _next_timeout_ms(self) -> int:
        """When _service() is next due: in milliseconds; 0: now, -1: never."""
        timeout_ms: int = LIBRARY.smq_next_timeout_ms(self._open())
        return timeout_ms if timeout_ms >= -1 else check(timeout_ms)

    def _tell(self) -> None:
        """What the log hook has not heard yet."""
        while self._told:
            _user, level, what, number, other = self._told.popleft()
            if self._log:
                known = LogItem(what) if what in LogItem._value2member_map_ else what
                self._log(LogLevel(level), known, number, other)

    def _take(self) -> bool:
        """Takes an event, and does what it says; False if there is none."""
        got = LIBRARY.smq_next_event(self._open(), self._event_reference)
        if self._told:
            self._tell()
        if got != 1:
            check(got)
            return False
        take = _TAKES.get(self._event.type)
        if take:
            take(self, self._event)
        return True

    def _connect(self) -> None:
        check(LIBRARY.smq_connect(self._open()), "connect() is for a client that is not connected")

    def _has_failed(self) -> bool:
        """Whether the last attempt failed, and no other server is tried at once."""
        return self._ended is not None and self._ended.retry_ms != 0

    def _leave(self, drain_s: float, reason_code: int, **named: Any) -> None:
        """smq_disconnect_with()"""
        drain_ms = min(int(seconds("drain_s", drain_s) * 1000), 86_400_000)
        encoded = properties.encode(None, **named)
        packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded))) if encoded else None
        code = number_to("reason_code", reason_code, 0xFF, Status.REASON_CODE)
        check(LIBRARY.smq_disconnect_with(self._open(), drain_ms, code, packed))

    def _message(
        self,
        topic: str,
        payload: object,
        *,
        qos: int = 0,
        retain: bool = False,
        expiry_s: int = 0,
        overflow: int = 0,
        urgent: bool = False,
        quiet: bool = False,
        content_type: str | None = None,
        payload_format_indicator: int | None = None,
        response_topic: str | None = None,
        correlation_data: bytes | None = None,
        user_properties: UserProperties | None = None,
        properties: Properties | None = None,
    ) -> _abi.Message:
        """The struct of a message."""
        if type(payload) is not bytes:
            payload, found, utf8 = self.adapters.encode(payload, content_type)
            if self._protocol >= Protocol.MQTT_5_0:
                if content_type is None and (properties is None or properties.content_type is None):
                    content_type = found
                if payload_format_indicator is None and utf8 and properties is None:
                    payload_format_indicator = 1
        struct = _abi.Message()
        struct.put("topic", encoded_text("topic", topic))
        struct.put("payload", payload)
        if qos:
            struct.qos = number_to("qos", qos, 2, Status.QOS)
        if retain:
            struct.retain = 1
        if quiet:
            struct.quiet = 1
        if urgent:
            struct.urgent = 1
        if overflow:
            struct.overflow = number_to("overflow", overflow, 3, Status.OPTION)
        if expiry_s:
            struct.expiry_s = number_to("expiry_s", expiry_s, 0xFFFFFFFF, Status.OPTION)
        if (
            content_type is not None
            or payload_format_indicator is not None
            or response_topic is not None
            or correlation_data is not None
            or user_properties is not None
            or properties is not None
        ):
            struct.put(
                "properties",
                _encode_properties(
                    properties,
                    content_type=content_type,
                    payload_format_indicator=payload_format_indicator,
                    response_topic=response_topic,
                    correlation_data=correlation_data,
                    user_properties=user_properties,
                ),
            )
        return struct

    def _publish(self, struct: _abi.Message, finish: Finish | None) -> None:
        """smq_publish(). `finish` is told how it ended, unless the message is quiet."""
        cookie = self._expect(struct, finish)
        status = LIBRARY.smq_publish(self._open(), ctypes.byref(struct))
        self._accepted(status, cookie, struct)

    def _stream(self, struct: _abi.Message, size: int, source: Any, finish: Finish) -> None:
        """smq_publish_stream()"""
        view, pull, raised = puller(source)
        struct.payload.data, struct.payload.size = None, number_to("size", size, 0xFFFFFFFF, Status.TOO_LARGE)
        cookie = self._expect(struct, finish)
        status = LIBRARY.smq_publish_stream(self._open(), ctypes.byref(struct), pull, None)
        if status == Status.OK:
            self._streams[cookie] = (view, pull, raised)
        self._accepted(status, cookie, struct)

    def _request(self, struct: _abi.Message, response_topic: str, timeout_s: float, finish: Finish) -> None:
        """smq_request()"""
        encoded = encoded_text("response_topic", response_topic)
        timeout_ms = min(max(int(seconds("timeout", timeout_s) * 1000), 1), 86_400_000)
        cookie = self._expect(struct, finish)
        status = LIBRARY.smq_request(
            self._open(), ctypes.byref(struct), ctypes.byref(_abi.BytesIn(encoded, len(encoded))), timeout_ms
        )
        self._accepted(status, cookie, struct)

    def _submit(self, struct: _abi.Message, finish: Finish | None) -> None:
        """smq_submit()"""
        with self._submitting:
            cookie = self._expect(struct, finish)
            status = LIBRARY.smq_submit(self._open(), ctypes.byref(struct))
        if status:
            self._accepted(status, cookie, struct)

    def _subscribe(
        self,
        subscribing: bool,
        filters: Filters,
        qos: int,
        identifier: int,
        user_properties: UserProperties | None,
        finish: Finish,
        **more: Any,
    ) -> None:
        """smq_subscribe() or smq_unsubscribe()"""
        chosen = [filters] if isinstance(filters, (str, Subscription)) else listed("filters", filters)
        entries = (_abi.Subscription * len(chosen))()
        for entry, wanted in zip(entries, chosen):
            item = wanted if isinstance(wanted, Subscription) else Subscription(wanted, qos, **more)
            entry.put("filter", encoded_text("filter", item.filter))
            entry.qos = number_to("qos", item.qos, 2, Status.QOS)
            entry.no_local, entry.retain_as_published = bool(item.no_local), bool(item.retain_as_published)
            entry.retain_handling = number_to("retain_handling", item.retain_handling, 2, Status.OPTION)
        struct = _abi.Subscriptions()
        struct.count, struct.list = len(chosen), ctypes.addressof(entries)
        struct.identifier = number_to("identifier", identifier, 0xFFFFFFFF, Status.OPTION)
        struct.put("properties", _encode_properties(None, user_properties=user_properties))
        cookie = self._expect(struct, finish)
        call = LIBRARY.smq_subscribe if subscribing else LIBRARY.smq_unsubscribe
        status = call(self._open(), ctypes.byref(struct))
        names = ", ".join(repr(getattr(f, "filter", f)) for f in chosen[:3]) if status == Status.TOPIC_FILTER else ""
        self._accepted(status, cookie, struct, names)

    def _expect(self, struct: Any, finish: Finish | None) -> int:
        self._open()
        cookie = next(self._cookies)
        struct.cookie = cookie
        if finish:
            self._pending[cookie] = finish
        return cookie

    def _accepted(self, status: int, cookie: int, struct: Any, what: str = "") -> None:
        """What a call that publishes or subscribes answered."""
        if status == Status.OK:
            self._on_called()
            return
        finish = self._pending.pop(cookie, None)
        if status < 0:
            if status == Status.TOPIC_NAME:
                what = f"{struct.topic.data.decode()!r} is no Topic Name: it is empty, too long, or has a wildcard"
            elif what:
                what = f"{what} is no Topic Filter: it is empty, too long, or has a misplaced wildcard"
            raise error(status, what)
        if finish:
            finish(None, error(Status.DROPPED))

    def _ack(self, token: int, reason_code: int, reason_string: str | None) -> None:
        """smq_ack()"""
        with self._guard:
            packed = None
            if reason_string is not None:
                encoded = _encode_properties(None, reason_string=reason_string)
                packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded)))
            code = number_to("reason_code", reason_code, 0xFF, Status.REASON_CODE)
            status = LIBRARY.smq_ack(self._open(), token, code, packed)
            if status != Status.TOKEN:  # its session is gone, and with it what was to be acknowledged
                check(status)
            self._on_called()

    def _next_message(self) -> Message:
        """The next of those that wait; from now on it is the program's, and unless that said otherwise acknowledged."""
        message = self._waiting_messages.popleft()
        if not self._manual_ack and message._token:
            self._unacknowledged -= 1
            message.ack()
        return message

    def _relieve(self) -> None:
        """Somebody waits for what may be behind more messages than may be unacknowledged: acknowledges those that wait
        here. They are in memory already."""
        if self._unacknowledged >= self._receive_maximum // 2 and not self._manual_ack:
            for message in self._waiting_messages:
                message.ack()
            self._unacknowledged = 0

    # ---- Events

    def _take_connected(self, event: _abi.Event) -> None:
        self._protocol = event.protocol
        self._ended = None
        self._arriving = None
        self._connected = Connected(
            bool(event.session_present),
            Protocol(event.protocol),
            event.attempt,
            event.server,
            _text(event.reason_string),
            Properties.decode(_bytes(event.properties)),
        )
        self._on_connected(self._connected)

    def _take_disconnected(self, event: _abi.Event) -> None:
        self._connected = None
        self._ended = _event_error(event) if event.status else None
        self._ends += 1
        self._on_disconnected(self._ended)

    def _take_completed(self, event: _abi.Event) -> None:
        finish = self._pending.pop(event.cookie, None)
        stream = self._streams.pop(event.cookie, None) if self._streams else None
        if stream:
            self._on_room()  # for the next stream; the library does not tell
        if event.status:
            self._failed(_event_error(event), finish, stream[-1] if stream else [])
            return
        if not finish:
            return
        raw = _bytes(event.properties)
        finish(
            Answer(
                event.reason_code,
                tuple(_bytes(event.reason_codes)),
                _text(event.reason_string),
                Properties.decode(raw) if raw else Properties(),
                event.latency_ms,
            ),
            None,
        )

    def _failed(self, failed: Error, finish: Finish | None, raised: list[BaseException]) -> None:
        """A message has, as its source has, if it raised something."""
        failed.__cause__ = raised[0] if raised else None
        if finish:
            finish(None, failed)
        if raised and not isinstance(raised[0], Exception):
            raise raised[0]  # KeyboardInterrupt: for whoever runs the client

    def _take_room(self, event: _abi.Event) -> None:
        self._on_room()

    def _take_message(self, event: _abi.Event) -> None:
        message = self._received(event)
        if message:
            self._waiting_messages.append(message)
            self._on_message()

    def _take_reply(self, event: _abi.Event) -> None:
        finish = self._pending.pop(event.cookie, None)
        if event.status not in (Status.OK, Status.RECEIVE_TOO_LARGE):
            self._on_room()  # for the next request; the library does not tell
            if finish:
                finish(None, _event_error(event))
            return
        message = self._received(event)
        if not message:
            return
        self._on_room()
        if not self._manual_ack and message._token:
            self._unacknowledged -= 1
            message.ack()
        if finish:
            finish(message, None)

    def _received(self, event: _abi.Event) -> Message | None:
        """The message of an event, once all its parts are there."""
        payload, status = _bytes(event.payload), event.status
        if event.part != _PART_FIRST | _PART_LAST:
            if event.part & _PART_FIRST:
                self._arriving = bytearray()
            joined = self._arriving
            if joined is None or event.payload_total > self._message_maximum:
                status, joined = Status.RECEIVE_TOO_LARGE, bytearray()
            else:
                joined += payload
            if not event.part & _PART_LAST:
                return None
            payload, self._arriving = bytes(joined), None
        elif len(payload) > self._message_maximum:
            payload, status = b"", Status.RECEIVE_TOO_LARGE
        message = Message.__new__(Message)
        message._client, message.topic, message.payload = self, _text(event.topic), payload
        message.qos, message.retain, message.duplicate = event.qos, bool(event.retain), bool(event.duplicate)
        message.status, message.payload_total = status, event.payload_total
        message.subscription_identifier = event.subscription_identifier
        message._raw_properties, message._properties = _bytes(event.properties), None
        message._token = event.token
        if message._token:
            LIBRARY.smq_hold(self._handle)
            self._unacknowledged += 1
        return message

    def _take_authenticate(self, event: _abi.Event) -> None:
        if event.reason_code == 0x18 and self._authenticate:
            self._send_auth(0x18, self._authenticate(_bytes(event.payload)))

    def _send_auth(self, reason_code: int, answer: bytes) -> None:
        encoded = buffer("Authentication Data", answer)
        with self._guard:
            packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded)))
            check(LIBRARY.smq_authenticate(self._open(), reason_code, packed, None))
            self._on_called()

    def _take_subscription_lost(self, event: _abi.Event) -> None:
        filter = _text(event.topic)
        lost = errors.PeerError(
            Status.REFUSED,
            f"the subscription to {filter!r} could not be made again",
            reason_code=event.reason_code,
            protocol=event.protocol,
        )
        self._on_subscription_lost(filter, lost)

    def _take_credentials(self, event: _abi.Event) -> None:
        handle, attempt, given = self._open(), event.attempt, False
        try:
            answer = self._credentials(attempt) if self._credentials else None
            if answer is not None:
                name, password = (_encoded_credential(part) for part in answer)
                status = LIBRARY.smq_credentials(
                    handle,
                    attempt,
                    ctypes.byref(_abi.BytesIn(name, len(name))),
                    ctypes.byref(_abi.BytesIn(password, len(password))),
                )
                if status < 0:
                    raise error(status, f"what the credentials hook returned: {errors.MEANING.get(Status(status), '')}")
                given = True
        finally:
            if not given:
                LIBRARY.smq_withhold_credentials(handle, attempt, 0)

    def _take_addresses(self, event: _abi.Event) -> None:
        handle, attempt, found = self._open(), event.attempt, []
        try:
            if self._resolve:
                found = [encoded_text("resolve", a) for a in self._resolve(_text(event.server_reference), event.port)]
        finally:
            array = (_abi.BytesIn * len(found))(*(_abi.BytesIn(a, len(a)) for a in found[:8]))
            status = LIBRARY.smq_addresses(handle, attempt, array, min(len(found), 8))
            if status < 0:
                LIBRARY.smq_addresses(handle, attempt, None, 0)
        check(status, "what the resolve hook returned are no numeric addresses")


_TAKES: dict[int, Callable[[BaseClient, _abi.Event], None]] = {
    EventType.CONNECTED: BaseClient._take_connected,
    EventType.DISCONNECTED: BaseClient._take_disconnected,
    EventType.COMPLETED: BaseClient._take_completed,
    EventType.ROOM: BaseClient._take_room,
    EventType.MESSAGE: BaseClient._take_message,
    EventType.AUTHENTICATE: BaseClient._take_authenticate,
    EventType.REPLY: BaseClient._take_reply,
    EventType.SUBSCRIPTION_LOST: BaseClient._take_subscription_lost,
    EventType.CREDENTIALS: BaseClient._take_credentials,
    EventType.ADDRESSES: BaseClient._take_addresses,
}


_encode_properties = properties.encode


def _appending(told: deque[Any]) -> Callable[..., object]:
    """A log function for the library that keeps what it is told. All of it is C: in a function of Python's, Ctrl-C would
    raise KeyboardInterrupt inside the library, where ctypes drops it, and the program would go on."""
    call = ctypes.PyDLL(None).PyObject_CallFunction
    call.argtypes = [ctypes.py_object, ctypes.c_char_p, *_abi.LOG._argtypes_]
    call.restype = ctypes.py_object
    return functools.partial(call, told.append, b"((niiii))")


def _bytes(view: _abi.BytesOut) -> bytes:
    size = view.size
    return _string_at(view.data, size) if size else b""


def _text(view: _abi.BytesOut) -> str:
    size = view.size
    return _string_at(view.data, size).decode("utf-8", "replace") if size else ""


def _encoded_credential(part: str | bytes) -> bytes:
    return encoded_text("credentials", part) if isinstance(part, str) else buffer("the credentials hook's answer", part)


def _event_error(event: _abi.Event) -> Error:
    raw = _bytes(event.properties)
    return error(
        event.status,
        reason_code=event.reason_code,
        reason_string=_text(event.reason_string),
        protocol=event.protocol,
        stage=event.stage,
        os_error=event.os_error,
        attempt=event.attempt,
        rule=event.rule,
        properties=Properties.decode(raw) if raw else None,
        server_reference=_text(event.server_reference),
        reason_codes=tuple(_bytes(event.reason_codes)),
        retry_ms=event.retry_ms,
    )


def _release(handle: int, process: int, kept: list[Any]) -> None:
    """Gives the descriptors back. In a child after fork() the client is the parent's."""
    if os.getpid() == process:
        LIBRARY.smq_client_close(handle)
    kept.clear()
