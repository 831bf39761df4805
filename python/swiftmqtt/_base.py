"""What both clients have in common: what the events of a smq_client do, which are taken in batches.

Nothing here waits. Client waits with poll(), aio.Client has the loop wait; both call _service() when it is time, and
take events with _take() as long as there are any.

A batch of events, and what their pointers point to, is valid until the library is called again in one of a few ways. So
nothing of the program's is called before all of a batch is taken: it might make such a call, or close the client.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from . import _abi, errors
from ._answers import Answer, Connected, plain
from ._calls import Calls, Filters
from ._checks import buffer, encoded_text, listed
from ._core import BATCH, AuthenticateHook, CredentialsHook, Finish, LogHook, ResolveHook, text_of
from ._library import LIBRARY, QUICK
from ._websocket import WebSocketRequestHook, request_of
from .constants import Completed, EventType, JournalNews, Protocol, Status
from .errors import ArgumentError, Error, check, error
from .failure import Failure, last_failure
from .message import Message
from .properties import Properties

__all__ = [
    "AuthenticateHook",
    "BaseClient",
    "CredentialsHook",
    "Filters",
    "LogHook",
    "ResolveHook",
    "WebSocketRequestHook",
]

_PART_FIRST, _PART_LAST = 1, 2
# How messages end that are not delivered because the program wanted it so: expiry_s, overflow, qos_0_connected.
_AS_ASKED = (Status.EXPIRED, Status.DROPPED, Status.REPLACED)
# What an answer to an attempt gets that is over, or whose time was up, before a hook had the answer.
_LATE = (Status.STATE, Status.TOKEN)
_string_at = ctypes.string_at
_EVENT_BYTES, _COMPLETION_BYTES = ctypes.sizeof(_abi.Event), ctypes.sizeof(_abi.Completion)
_MESSAGE, _WHOLE = int(EventType.MESSAGE), _PART_FIRST | _PART_LAST
_next_events, _next_completions, _smq_ack = QUICK.smq_next_events, QUICK.smq_next_completions, QUICK.smq_ack


class BaseClient(Calls):
    """A client of the library, and what its events do."""

    _inbox_maximum = 0xFFFFFFFF  # messages that may wait for the program
    _tells_at_once = False  # the log hook is not the program's, and calls nothing

    # ---- What the clients may want to know

    def _on_room(self) -> None:
        """There is room in the outbox again."""

    def _on_messages(self, count: int) -> None:
        """_waiting_messages has so many more."""

    def _on_acknowledged(self) -> None:
        """The library has an acknowledgement to be sent."""
        self._on_called()

    def _on_connected(self, connected: Connected) -> None:
        """A connection came up."""

    def _on_disconnected(self, ended: Error | None) -> None:
        """An attempt, or a connection, ended."""

    def _on_subscription_lost(self, filter: str, ended: Error) -> None:
        """A subscription could not be made again."""

    def _on_journal(self, news: int, number: int, failed: Error | None) -> None:
        """Something happened to the journal."""

    def _later(self, function: Callable[..., object], *arguments: Any) -> None:
        """Calls what is the program's, now, or when the client is not in use."""
        if self._is_taking:
            self._due.append((function, *arguments))
        else:
            function(*arguments)

    # ---- For the clients

    def _take(self, most: int) -> int:
        """Takes at most so many events, in one batch, and does what they say. Returns how many there were."""
        handle, memory = self._open(), self._kept[0]  # which a signal handler that calls close() would else give back
        if self._is_taking:
            return 0  # such a handler again
        self._is_taking = True
        try:
            taken = self._take_completions(handle, most) if self._pending else 0
            if taken < most:
                count = _next_events(handle, self._events_address, most - taken)
                if self._told and self._tells_at_once:
                    self._tell()
                if count > 0:
                    taken += count
                    _whole_batch(self._take_batch, enumerate(_events(self._events_view[: count * _EVENT_BYTES])))
                elif count < 0:
                    check(count)
        finally:
            self._is_taking = False
            del memory
        if self._told:
            self._tell()
        if self._due:
            return self._call_due() + taken
        return taken

    def _take_all(self) -> None:
        """Takes what there is."""
        while self._handle is not None and self._take(max(1, self._most(False))):
            pass

    def _call_due(self) -> int:
        """Calls what is the program's, and was put off; returns how many calls that were. After an exception the rest
        waits for the next time."""
        called = 0
        while self._due:
            function, *arguments = self._due.popleft()
            function(*arguments)
            called += 1
        return called

    def _has_failed(self) -> bool:
        """Whether the last attempt failed, and no other server is tried at once."""
        return self._ended is not None and self._ended.retry_ms != 0

    def _delivery_number(self, token: int) -> int:
        number = ctypes.c_uint64()
        check(LIBRARY.smq_delivery_number(self._open(), token, ctypes.byref(number)))
        return number.value

    def _next_message(self) -> Message:
        """The next of those that wait; from now on it is the program's, and unless that said otherwise acknowledged."""
        message = self._waiting_messages.popleft()
        token = message._token
        if token and not self._manual_ack:
            message._token = 0
            self._unacknowledged -= 1
            status = _smq_ack(self._handle, token, 0, None)
            if status < 0 and status != Status.TOKEN:  # its session is gone, and with it what was to be acknowledged
                check(status)
            self._on_acknowledged()
        return message

    def _most(self, is_awaited: object) -> int:
        """How many events to take in one batch, so that there are never more messages than _has_many() knows; 0: so many are
        there. is_awaited: something that may be behind more messages than that is; then it is at least 1."""
        if is_awaited and self._unacknowledged:
            self._relieve()
        most = BATCH
        if self._receive_maximum > 1 and not self._manual_ack:
            most = min(most, self._receive_maximum - 1 - self._unacknowledged)
        if is_awaited:
            return max(1, most)
        return max(0, min(most, self._inbox_maximum - len(self._waiting_messages)))

    def _has_many(self) -> bool:
        """So many messages wait for the program that the server is to wait, too. With one more in the library, that nobody
        takes, they are as many as may be unacknowledged, and it looks at nothing behind that one: not every server
        counts (Mosquitto 2.0.11 does not, and before MQTT 5.0 none can)."""
        return (
            len(self._waiting_messages) >= self._inbox_maximum
            or 1 < self._receive_maximum <= self._unacknowledged + 1
            and not self._manual_ack
        )

    def _has_few(self) -> bool:
        """So few that it need not any more."""
        return (
            len(self._waiting_messages) <= self._inbox_maximum // 2
            and self._unacknowledged <= self._receive_maximum // 2
        )

    def _relieve(self) -> None:
        """Somebody waits for what may be behind more messages than may be unacknowledged: acknowledges those that wait
        here. They are in memory already."""
        if self._unacknowledged >= self._receive_maximum // 2 and not self._manual_ack:
            for message in self._waiting_messages:
                message.ack()
            self._unacknowledged = 0

    # ---- Events

    def _take_completions(self, handle: int, most: int) -> int:
        """Takes the ends of messages that say no more than that; returns how many there were."""
        count: int = _next_completions(handle, self._completions_address, most)
        if count > 0:
            _whole_batch(self._complete, _ended(self._completions_view[: count * _COMPLETION_BYTES]))
        return count if count >= 0 else check(count)

    def _complete(self, ended: Iterator[tuple[int, ...]]) -> None:
        pending, topics, streams = self._pending, self._topics, self._streams
        for cookie, status, reason_code, latency_ms in ended:
            finish, topic = pending.pop(cookie, None), topics.pop(cookie, None)
            if streams and cookie in streams or status:
                stream = self._end_stream(cookie)
                if status:
                    failed = error(status, reason_code=reason_code, protocol=self._protocol)
                    self._failed(failed, finish, stream, topic)
                    continue
            if finish:
                finish(plain(reason_code, latency_ms), None)

    def _end_stream(self, cookie: int) -> list[BaseException]:
        """What the source of a stream raised that has ended, if the message was one."""
        stream = self._streams.pop(cookie, None)
        if not stream:
            return []
        self._on_room()  # for the next stream; the library does not tell
        raised: list[BaseException] = stream[-1]
        return raised

    def _take_batch(self, events: Iterator[tuple[int, tuple[int, ...]]]) -> None:
        """Does what the events of a batch say; the pointers are valid as long as it lasts."""
        put, string_at, new, maximum = self._waiting_messages.append, _string_at, Message.__new__, self._message_maximum
        count = unacknowledged = 0
        try:
            for index, fields in events:
                kind, status, cookie, raw_at, raw, topic_at, topic, at, size, total, qos, retain, again, part, token, of = fields
                if kind != _MESSAGE:
                    take = _TAKES.get(kind)
                    if take:
                        take(self, self._events[index])
                    continue
                if part == _WHOLE and size <= maximum:
                    message = new(Message)
                    message._client = self
                    message.topic = string_at(topic_at, topic).decode("utf-8", "replace") if topic else ""
                    message.payload = string_at(at, size) if size else b""
                    message.qos, message.retain, message.duplicate = qos, bool(retain), bool(again)
                    message.status, message.payload_total, message.subscription_identifier = status, total, of
                    message._raw_properties, message._properties = string_at(raw_at, raw) if raw else b"", None
                    message._token = token
                    if token:
                        unacknowledged += 1
                else:
                    arrived = self._received(self._events[index])
                    if not arrived:
                        continue
                    message = arrived
                put(message)
                count += 1
        finally:
            if unacknowledged:
                self._unacknowledged += unacknowledged
            if count:
                self._on_messages(count)

    def _take_connected(self, event: _abi.Event) -> None:
        self._protocol = event.protocol
        self._ended = self._failure = None
        self._arriving = None
        self._was_connected = True
        self._connected = Connected(
            bool(event.session_present),
            Protocol(event.protocol),
            event.attempt,
            event.server,
            text_of(event.reason_string),
            Properties.decode(_bytes(event.properties)),
        )
        self._answer = self._connected
        self._on_connected(self._connected)

    def _take_disconnected(self, event: _abi.Event) -> None:
        self._connected = None
        server = self._servers[event.server] if event.server < len(self._servers) else ""
        if event.status:
            self._failure = last_failure(self._open())
        self._ended = _event_error(event, server, self._proxy, self._failure) if event.status else None
        self._ends += 1
        self._on_disconnected(self._ended)

    def _take_completed(self, event: _abi.Event) -> None:
        finish, topic = self._pending.pop(event.cookie, None), self._topics.pop(event.cookie, None)
        raised = self._end_stream(event.cookie)
        if event.status:
            self._failed(_event_error(event), finish, raised, topic)
            return
        if not finish:
            return
        raw = _bytes(event.properties)
        finish(
            Answer(
                event.reason_code,
                tuple(_bytes(event.reason_codes)),
                text_of(event.reason_string),
                Properties.decode(raw) if raw else Properties(),
                event.latency_ms,
                Completed(event.completed),
            ),
            None,
        )

    def _failed(
        self, failed: Error, finish: Finish | None, raised: list[BaseException], topic: str | None
    ) -> None:
        """A message has, as its source has, if it raised something."""
        failed.__cause__ = raised[0] if raised else None
        if topic is None and finish is None and self._has_journal:
            topic = "(of an earlier process)"
        if topic is not None and failed.status not in _AS_ASKED:
            self._failures.note(failed, topic)
        if finish:
            finish(None, failed)
        if raised and not isinstance(raised[0], Exception):
            raise raised[0]  # KeyboardInterrupt: for the thread that runs the client

    def _take_room(self, event: _abi.Event) -> None:
        self._on_room()

    def _take_reply(self, event: _abi.Event) -> None:
        finish, topic = self._pending.pop(event.cookie, None), self._topics.pop(event.cookie, None)
        if event.status not in (Status.OK, Status.RECEIVE_TOO_LARGE):
            self._on_room()  # for the next request; the library does not tell
            self._failed(_event_error(event), finish, [], topic)
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
        message._client, message.topic, message.payload = self, text_of(event.topic), payload
        message.qos, message.retain, message.duplicate = event.qos, bool(event.retain), bool(event.duplicate)
        message.status, message.payload_total = status, event.payload_total
        message.subscription_identifier = event.subscription_identifier
        message._raw_properties, message._properties = _bytes(event.properties), None
        message._token = event.token
        if message._token:
            self._unacknowledged += 1
        return message

    def _take_authenticate(self, event: _abi.Event) -> None:
        if event.reason_code == 0x18 and self._authenticate:
            self._later(self._answer_authenticate, _bytes(event.payload))

    def _answer_authenticate(self, data: bytes) -> None:
        if self._authenticate:
            self._send_auth(0x18, self._authenticate(data))

    def _take_subscription_lost(self, event: _abi.Event) -> None:
        filter = text_of(event.topic)
        lost = errors.PeerError(
            Status.REFUSED,
            f"the subscription to {filter!r} could not be made again",
            reason_code=event.reason_code,
            protocol=event.protocol,
        )
        self._on_subscription_lost(filter, lost)

    def _take_journal(self, event: _abi.Event) -> None:
        known = event.completed in JournalNews._value2member_map_
        news = JournalNews(event.completed) if known else event.completed
        self._on_journal(news, event.cookie, _event_error(event) if event.status else None)

    def _take_credentials(self, event: _abi.Event) -> None:
        self._later(self._answer_credentials, event.attempt)

    def _answer_credentials(self, attempt: int) -> None:
        given = False
        try:
            asked = self._credentials(attempt) if self._credentials else self._own_credentials
            answer = asked if asked is not None and self._has_request(attempt) else None
            if answer is not None:
                if not isinstance(answer, (tuple, list)) or len(answer) != 2:
                    wrong = f"the credentials hook returns (user_name, password), not {_shape(answer)}"
                    raise ArgumentError(Status.OPTION, wrong)
                name, password = (_encoded_credential(part) for part in answer)
                with self._guard:
                    status = LIBRARY.smq_credentials(
                        self._open(),
                        attempt,
                        ctypes.byref(_abi.BytesIn(name, len(name))),
                        ctypes.byref(_abi.BytesIn(password, len(password))),
                    )
                if status < 0 and status not in _LATE:
                    raise error(status, f"what the credentials hook returned: {errors.text(LIBRARY.smq_status_text(status))}")
                given = True
        finally:
            with self._guard:
                if not given and self._handle is not None:
                    LIBRARY.smq_withhold_credentials(self._handle, attempt, 0)
                self._on_called()

    def _has_request(self, attempt: int) -> bool:
        """Asks the program for the attempt's WebSocket request, and whether there is one."""
        if not self._websocket_request:
            return True
        answer = self._websocket_request(attempt)
        if answer is None:
            return False
        path, headers = request_of(answer, self._servers)
        with self._guard:
            status = LIBRARY.smq_websocket_request(
                self._open(),
                ctypes.byref(_abi.BytesIn(path, len(path))),
                ctypes.byref(_abi.BytesIn(headers, len(headers))),
            )
        if status < 0:
            said = f"what the websocket_request hook returned: {errors.text(LIBRARY.smq_status_text(status))}"
            raise error(status, said)
        return True

    def _take_addresses(self, event: _abi.Event) -> None:
        self._later(self._answer_addresses, event.attempt, text_of(event.server_reference), event.port)

    def _answer_addresses(self, attempt: int, host: str, port: int) -> None:
        found: list[bytes] = []
        try:
            if self._resolve:
                answer = self._resolve(host, port)
                addresses = [answer] if isinstance(answer, str) else listed("what the resolve hook returns", answer)
                found = [encoded_text("resolve", address) for address in addresses]
        finally:
            status = Status.OK
            array = (_abi.BytesIn * len(found))(*(_abi.BytesIn(a, len(a)) for a in found[:8]))
            with self._guard:
                if self._handle is not None:
                    status = LIBRARY.smq_addresses(self._handle, attempt, array, min(len(found), 8))
                    if status < 0:
                        LIBRARY.smq_addresses(self._handle, attempt, None, 0)
                self._on_called()
        if status not in _LATE:
            check(status, "what the resolve hook returned are no numeric addresses")


_TAKES: dict[int, Callable[[BaseClient, _abi.Event], None]] = {
    EventType.CONNECTED: BaseClient._take_connected,
    EventType.DISCONNECTED: BaseClient._take_disconnected,
    EventType.COMPLETED: BaseClient._take_completed,
    EventType.ROOM: BaseClient._take_room,
    EventType.AUTHENTICATE: BaseClient._take_authenticate,
    EventType.REPLY: BaseClient._take_reply,
    EventType.SUBSCRIPTION_LOST: BaseClient._take_subscription_lost,
    EventType.CREDENTIALS: BaseClient._take_credentials,
    EventType.ADDRESSES: BaseClient._take_addresses,
    EventType.JOURNAL: BaseClient._take_journal,
}


_events, _ended = _abi.EVENT_FIELDS.iter_unpack, _abi.COMPLETION_FIELDS.iter_unpack


def _whole_batch(do: Callable[[Iterator[Any]], None], batch: Iterator[Any]) -> None:
    """Does all of a batch, even if Ctrl-C or the source of a stream raises something in the middle: what the library has
    handed out would be lost. Raises the first of it at the end."""
    raised: BaseException | None = None
    while True:
        try:
            do(batch)
            break
        except BaseException as why:
            raised = raised or why
    if raised:
        raise raised


def _bytes(view: _abi.BytesOut) -> bytes:
    size = view.size
    return _string_at(view.data, size) if size else b""


def _shape(answer: Any) -> str:
    """What it is, without what it says, which may be a password."""
    name = type(answer).__name__
    return f"{name} of {len(answer)}" if isinstance(answer, (tuple, list)) else name


def _encoded_credential(part: str | bytes) -> bytes:
    return encoded_text("credentials", part) if isinstance(part, str) else buffer("the credentials hook's answer", part)


def _event_error(event: _abi.Event, server: str = "", proxy: str = "", failure: Failure | None = None) -> Error:
    raw = _bytes(event.properties)
    return error(
        event.status,
        reason_code=event.reason_code,
        reason_string=text_of(event.reason_string),
        protocol=event.protocol,
        stage=event.stage,
        os_error=event.os_error,
        attempt=event.attempt,
        rule=event.rule,
        properties=Properties.decode(raw) if raw else None,
        server_reference=text_of(event.server_reference),
        reason_codes=tuple(_bytes(event.reason_codes)),
        retry_ms=event.retry_ms,
        server=server,
        proxy=proxy,
        failure=failure,
    )
