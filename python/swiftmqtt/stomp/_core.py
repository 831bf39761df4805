"""A sst_client in memory of its own: how it is created and closed, what is called on it, and what it reports."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Union

from .. import errors as mqtt_errors
from .._memory import block_of
from .._names import Named
from .._websocket import Headers as WebSocketHeaders
from .._websocket import headers_of
from ..constants import TLSCause
from ..failure import Failure, moment
from ..tls_context import AnyTLS
from . import _abi, _options
from ._headers import HeadersIn, bytes_of, packed, pairs_of, text_of
from ._library import LIBRARY, QUICK, WITH_ERRNO
from ._options import encoded, number_to, one_of
from .constants import (
    Ack,
    Completes,
    EventType,
    JournalNews,
    OptionFlag,
    Part,
    Overflow,
    SendFlag,
    Stage,
    State,
    Status,
    Version,
)
from .errors import ArgumentError, ArgumentTypeError, ClosedError, Error, NoRoomError, UndeliveredError, check, error
from .events import (
    AddressesWanted,
    Completed,
    Connected,
    CredentialsWanted,
    Disconnected,
    Event,
    JournalEvent,
    Message,
    Room,
    TransactionsLost,
)

#: Asked for login and passcode before each attempt; None: there are none now.
CredentialsHook = Callable[[int], Union["tuple[str, str | bytes]", None]]
#: Asked for the numeric addresses of a host name.
ResolveHook = Callable[[str, int], Iterable[str]]
#: Told how something ended.
Finish = Callable[[Union[Error, None]], None]

#: Cookies from here on are those of calls that wait.
OWN_COOKIES = 1 << 63
#: As plain numbers: an operation of an IntFlag takes a microsecond.
_STORE, _QUIET = int(SendFlag.STORE), int(SendFlag.QUIET)
#: How long leaving a block waits for what was sent, in milliseconds.
DRAIN_MS = 5000
#: How long it then waits for the disk, which takes some milliseconds as a rule.
STORE_MS = 1000

_ACKS = {"auto": Ack.AUTO, "client": Ack.CLIENT, "client-individual": Ack.CLIENT_INDIVIDUAL}


class Core(Named):
    """A client of the library."""

    _instead = _options.INSTEAD
    _checked_function = staticmethod(_options.function)

    #: Told of each event that is no message while messages are taken: on_event(event), in the thread that takes them.
    on_event: Callable[[Event], object] | None = None

    def __init__(
        self,
        url: str | None = None,
        *,
        reconnect: bool = True,
        parts: bool = False,
        message_maximum: int = 1 << 24,
        tls: AnyTLS = None,
        credentials: CredentialsHook | None = None,
        resolve: ResolveHook | None = None,
        **options: Any,
    ):
        flags = 0
        if not _options.checked_flag("reconnect", reconnect):
            flags |= OptionFlag.NO_RECONNECT
        for name, hook in (("credentials", credentials), ("resolve", resolve)):
            _options.function(name, hook)
        if credentials:
            flags |= OptionFlag.ASK_CREDENTIALS
        if resolve:
            flags |= OptionFlag.ASK_ADDRESSES
        self._parts = _options.checked_flag("parts", parts)
        self._message_maximum = number_to("message_maximum", message_maximum, 0x7FFFFFFF)
        self._credentials_hook, self._resolve_hook = credentials, resolve
        built, settings = _options.build(url, flags, options, tls)
        self._asks = bool(
            built.flags & OptionFlag.ASK_CREDENTIALS and not credentials
            or built.flags & OptionFlag.ASK_ADDRESSES and not resolve
        )
        self._servers = _options.servers(built, url)
        self._guard = Guard()
        self._event = _abi.Event()
        self._event_reference = ctypes.byref(self._event)
        self._events: deque[Event] = deque()  # that nobody has taken yet
        self._waiters: dict[int, Finish] = {}
        self._has_journal = built.journal.size > 0
        # With a journal, messages of an earlier process end, too, with the cookies that they had.
        self._next_cookie = OWN_COOKIES + (int.from_bytes(os.urandom(7), "big") if self._has_journal else 0)
        self._unfinished = 0  # messages that have not ended yet, without those that are quiet, and those that are stored
        self._unfinished_stored = 0  # these
        self._cookies: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}  # with a journal: of both
        self._ended_messages = 0
        self._arriving: bytearray | None = None  # a message that comes in parts
        self._first: Message | None = None  # and its first part
        self._connected: Connected | None = None
        self._ended: Error | None = None  # why the last attempt or connection ended
        self._last: Error | None = None  # the last of these, also if a connection came up since
        self._ends = 0  # attempts and connections that ended
        self._wants_room = False  # the program was told that there is none
        self._lost: Error | None = None  # the first message that failed, of which nobody took the event
        self._lost_count = 0

        size = LIBRARY.sst_client_size(ctypes.byref(built))
        block = block_of(size)
        handle = ctypes.c_void_p()
        status = WITH_ERRNO.sst_client_init(block, ctypes.sizeof(block), ctypes.byref(built), ctypes.byref(handle))
        if status in (Status.INSPECT, Status.JOURNAL):
            raise error(status, os_error=ctypes.get_errno())
        check(status)
        assert handle.value  # the library said that all is well
        self._handle: int | None = handle.value
        kept: list[Any] = [block, settings]  # what the library has pointers to, as long as the client lives
        # Closes the descriptors of a client that nobody has any more, and keeps its memory until then.
        self._finalizer = weakref.finalize(self, _release, handle.value, os.getpid(), kept)
        self._finalizer.atexit = False  # type: ignore[misc, unused-ignore]
        self._fd = check(LIBRARY.sst_fd(self._handle))

    # ---- Facts

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    @property
    def state(self) -> State:
        """The state of the client. Raises ClosedError after close()."""
        return State(check(QUICK.sst_client_state(self._open())))

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now, as far as the client has noticed."""
        return self._handle is not None and bool(QUICK.sst_client_state(self._handle) == State.CONNECTED)

    @property
    def connected(self) -> Connected | None:
        """The server's answer when it accepted the connection; None without one."""
        return self._connected

    @property
    def version(self) -> Version | None:
        """The version that is spoken; None without a connection."""
        return self._connected.version if self._connected else None

    @property
    def error(self) -> Error | None:
        """Why the last attempt to connect, or connection, ended; None: it has not, or the program asked for it."""
        return self._ended

    @property
    def failure(self) -> Failure | None:
        """What proxy, TLS and WebSocket know of the end of the last attempt, or connection; None: none has failed."""
        with self._guard:
            return _last_failure(self._open())

    @property
    def stats(self) -> dict[str, int]:
        """The client's numbers: sst_stats, with its names. Without those of sst_submit(), which the package does not use."""
        with self._guard:
            found = _abi.Stats()
            check(LIBRARY.sst_client_stats(self._open(), ctypes.byref(found)))
        names = [name for name, *_ in found._fields_ if name != "size" and not name.startswith("submit")]
        return {name: getattr(found, name) for name in names}

    @property
    def journal(self) -> dict[str, int]:
        """The journal's numbers: sst_journal_info, with its names. Raises ArgumentError without a journal."""
        with self._guard:
            found = _abi.JournalInfo()
            check(LIBRARY.sst_journal_state(self._open(), ctypes.byref(found)))
        return {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}

    @property
    def unfinished(self) -> int:
        """How many messages were sent by send() and have not ended: they wait to leave, or for their receipts. Messages that
        are quiet are not counted."""
        return self._unfinished + self._unfinished_stored

    def fileno(self) -> int:
        """Returns the one descriptor, which is readable when there is something to do: for select() and similar functions.
        Never read from it."""
        self._open()
        return self._fd

    # ---- Life

    def close(self) -> None:
        """Ends the client at once, in any state and without DISCONNECT. What was not sent is lost, unless the journal has it;
        calls that wait fail with ClosedError. A second call does nothing; every other call raises ClosedError then."""
        if self._handle is None:
            return
        with self._guard:
            self._handle = None
            self._finalizer()
            self._connected = None
            self._events.clear()
            waiters, self._waiters = self._waiters, {}
            for finish in waiters.values():
                finish(ClosedError("the client was closed before this was completed"))
            self._on_closed()

    def network_changed(self) -> None:
        """Tells the client that there is a network, perhaps another one than before, or that the machine was asleep: it cuts
        a wait for the next attempt short."""
        with self._guard:
            check(LIBRARY.sst_hint_network(self._open()))
            self._on_called()

    # ---- Answers

    def credentials(self, attempt: int, login: str = "", passcode: str | bytes = "") -> None:
        """Answers :class:`CredentialsWanted`: login and passcode of CONNECT, from this attempt on.

        attempt           that of the event
        login, passcode   together at most credential_bytes

        Raises ArgumentError if the attempt is over, or does not wait for this.
        """
        one, other = encoded("login", login), encoded("passcode", passcode)
        with self._guard:
            check(
                LIBRARY.sst_credentials(
                    self._open(), number_to("attempt", attempt, 0xFFFFFFFF), _lent(one), _lent(other)
                )
            )
            self._on_called()

    def withhold_credentials(self, attempt: int, for_good: bool = False) -> None:
        """Answers :class:`CredentialsWanted`: there are none. The attempt ends with ``Status.CREDENTIALS``.

        for_good   no attempt follows, until connect()
        """
        ends = int(_options.checked_flag("for_good", for_good))
        with self._guard:
            attempt = number_to("attempt", attempt, 0xFFFFFFFF)
            check(LIBRARY.sst_withhold_credentials(self._open(), attempt, ends))
            self._on_called()

    def addresses(self, attempt: int, addresses: Iterable[str]) -> None:
        """Answers :class:`AddressesWanted`: the server's numeric addresses, the preferred ones first; none: the attempt ends
        with ``Status.RESOLVE``. Those above the option `addresses` are an ArgumentError."""
        if isinstance(addresses, str):
            raise ArgumentError(Status.OPTION, "addresses is a list of texts, not a text")
        found = [encoded("an address", address) for address in addresses]
        array = (_abi.BytesIn * max(1, len(found)))(*[_abi.BytesIn(each, len(each)) for each in found])
        with self._guard:
            attempt = number_to("attempt", attempt, 0xFFFFFFFF)
            check(LIBRARY.sst_addresses(self._open(), attempt, array, len(found)))
            self._on_called()

    def websocket_request(self, path: str = "", headers: WebSocketHeaders | None = None) -> None:
        """Gives the WebSocket request another path and other headers, from the next request on. They need room:
        websocket_request_bytes, or no more than the options had. Raises ArgumentError."""
        try:
            lines = headers_of("headers", headers) if headers is not None else b""
        except mqtt_errors.Error as why:
            raise error(int(why.status), why.detail) from None
        one = encoded("path", path)
        with self._guard:
            check(LIBRARY.sst_websocket_request(self._open(), _lent(one), _lent(lines)))

    # ---- For the clients

    def _open(self) -> int:
        if self._handle is None:
            raise ClosedError()
        return self._handle

    def _begin_connect(self) -> None:
        self._take()  # the event that ended the last connection
        check(LIBRARY.sst_connect(self._open()))
        self._ended = None
        self._on_called()

    def _begin_disconnect(self, drain_ms: int) -> None:
        check(LIBRARY.sst_disconnect(self._open(), number_to("drain_ms", drain_ms, 86_400_000)))
        self._on_called()

    def _frame(
        self,
        destination: str,
        body: Any,
        content_type: str | None,
        headers: HeadersIn | None,
        receipt: bool,
        again: bool,
        quiet: bool,
        no_length: bool,
        transaction: Any,
        cookie: int | None,
        overflow: str | int = Overflow.REFUSE,
        urgent: bool = False,
        store: bool = False,
    ) -> _abi.Frame:
        struct = _abi.Frame()
        struct.put("destination", encoded("the destination", destination))
        struct.put("body", _body(body))
        if content_type:
            struct.put("content_type", encoded("the content_type", content_type))
        if headers:
            struct.put("headers", packed("the headers", headers))
        flags = 0
        for name, value, bit in (
            ("receipt", receipt, SendFlag.RECEIPT),
            ("again", again, SendFlag.AGAIN),
            ("quiet", quiet, SendFlag.QUIET),
            ("no_length", no_length, SendFlag.NO_LENGTH),
            ("urgent", urgent, SendFlag.URGENT),
            ("store", store, SendFlag.STORE),
        ):
            if value is not False and _options.checked_flag(name, value):
                flags |= bit
        struct.flags = flags
        if overflow is not Overflow.REFUSE:
            struct.overflow = one_of("overflow", overflow, Overflow)
        struct.transaction = _transaction(transaction)
        struct.cookie = _cookie(cookie)
        return struct

    def _post(self, frame: _abi.Frame) -> None:
        """sst_send(). Raises NoRoomError if there is no room."""
        flags = frame.flags
        stored, quiet = flags & _STORE != 0, flags & _QUIET != 0
        if self._has_journal and not quiet and not frame.cookie:
            frame.cookie = self._own_cookie()
        status = QUICK.sst_send(self._open(), ctypes.byref(frame))
        if status < 0:
            if status == Status.JOURNAL and not self._has_journal:
                raise error(status, "store needs the option journal")
            raise error(status, _wrong_send(frame) if status == Status.OPTION else "")
        if status:
            raise error(Status.DROPPED, "there is no room, and overflow says that this message is dropped then")
        if not quiet:
            if self._has_journal:
                self._cookies[stored][frame.cookie] += 1
            self._unfinished += not stored
            self._unfinished_stored += stored
        self._on_called()

    def _subscribe(self, destination: str, ack: str | int, headers: HeadersIn | None, cookie: int) -> int:
        struct = _abi.Subscription()
        struct.put("destination", encoded("the destination", destination))
        struct.ack = _ack_mode(ack)
        struct.put("headers", packed("the headers", headers))
        struct.cookie = cookie
        number = check(LIBRARY.sst_subscribe(self._open(), ctypes.byref(struct)))
        self._on_called()
        return number

    def _unsubscribe(self, subscription: int, headers: HeadersIn | None, cookie: int) -> None:
        number = number_to("subscription", subscription, 0x7FFFFFFF, Status.SUBSCRIPTION)
        more = packed("the headers", headers)
        check(LIBRARY.sst_unsubscribe_with(self._open(), number, ctypes.byref(_abi.BytesIn(more, len(more))), cookie))
        self._on_called()

    def _settle(self, is_accepted: bool, message: Any, transaction: Any, headers: HeadersIn | None = None) -> None:
        """Acknowledges or refuses a message; what waits is sent if that makes room."""
        handle = self._open()
        token = message.token if isinstance(message, Message) else number_to("token", message, 2**64 - 1, Status.TOKEN)
        number = _transaction(transaction)
        more = packed("the headers", headers)
        arguments: tuple[Any, ...]
        if more:
            function = QUICK.sst_ack_with if is_accepted else QUICK.sst_nack_with
            arguments = (handle, token, ctypes.byref(_abi.BytesIn(more, len(more))), number)
        else:
            function = QUICK.sst_ack if is_accepted else QUICK.sst_nack
            arguments = (handle, token, number)
        status = function(*arguments)
        if status == Status.FULL:
            LIBRARY.sst_flush(handle)
            status = function(*arguments)
        check(status)
        self._on_called()

    def _begin(self) -> int:
        number = check(LIBRARY.sst_begin(self._open()))
        self._on_called()
        return number

    def _end_transaction(self, commits: bool, transaction: Any, cookie: int) -> None:
        function = LIBRARY.sst_commit if commits else LIBRARY.sst_abort
        check(function(self._open(), _transaction(transaction), cookie))
        self._on_called()

    def _awaited(self, finish: Finish) -> int:
        """A cookie whose completion is told to finish(), and is no event."""
        cookie = self._own_cookie()
        self._waiters[cookie] = finish
        return cookie

    def _own_cookie(self) -> int:
        cookie = self._next_cookie
        self._next_cookie = cookie + 1 if cookie + 1 < 1 << 64 else OWN_COOKIES
        return cookie

    def _sync(self, timeout_ms: int) -> bool:
        """Waits for the disk, so long at most. Returns whether the journal has everything."""
        with self._guard:
            stored = check(LIBRARY.sst_sync(self._open(), timeout_ms))
            self._on_called()
        return stored == 1

    def _next_timeout_ms(self) -> int:
        """When _service() is next due: in milliseconds; 0: now, -1: never."""
        timeout_ms: int = QUICK.sst_next_timeout_ms(self._open())
        return timeout_ms if timeout_ms >= -1 else check(timeout_ms)

    # ---- What it reports

    def _take(self, most: int = 1 << 30) -> None:
        """Takes the events of the library: those that a call waits for, and those that hooks answer, are gone then, and the
        others are in _events, at most so many more."""
        while most > 0 and self._handle is not None:
            if check(QUICK.sst_next_event(self._handle, self._event_reference)) != 1:
                return
            taken = self._converted(self._event)
            if taken is not None:
                self._events.append(taken)
                most -= 1
                self._on_event_taken(taken)

    def _converted(self, event: _abi.Event) -> Event | None:
        """An event, or None if nobody is to see it. What the library lends is copied first: a hook may call the client."""
        kind = event.type
        if kind == EventType.MESSAGE:
            return self._message(event)
        if kind == EventType.COMPLETED:
            return self._completed(event)
        if kind == EventType.CONNECTED:
            self._connected = Connected(
                Version(event.version),
                pairs_of(event),
                event.heart_beat_send_ms,
                event.heart_beat_receive_ms,
                event.attempt,
                self._server(event),
            )
            self._ended = None
            return self._connected
        if kind == EventType.DISCONNECTED:
            return self._disconnected(event)
        if kind == EventType.TRANSACTIONS_LOST:
            return TransactionsLost(event.cookie)
        if kind == EventType.ROOM:
            self._on_room()
            told, self._wants_room = self._wants_room, False
            return Room() if told else None
        if kind == EventType.JOURNAL:
            return self._journal_event(event)
        if kind == EventType.CREDENTIALS:
            wanted = CredentialsWanted(event.attempt, self._server(event))
            if self._credentials_hook is None:
                return wanted
            self._answer_credentials(self._credentials_hook, wanted)
            return None
        if kind == EventType.ADDRESSES:
            asked = AddressesWanted(event.attempt, text_of(event.text), event.port)
            if self._resolve_hook is None:
                return asked
            self._answer_addresses(self._resolve_hook, asked)
            return None
        return None  # of a newer library

    def _completed(self, event: _abi.Event) -> Completed | None:
        cookie, status, what = event.cookie, event.status, event.completed
        if what == Completes.SEND:
            self._count_out(cookie)
            self._on_ended()
        failed = error(status) if status else None
        if cookie >= OWN_COOKIES:
            finish = self._waiters.pop(cookie, None)
            if finish:
                finish(failed)
            # Afterwards the subscription may still be refused, on another connection.
            if finish or failed is None:
                return None
            cookie = 0
        if failed is None and not cookie:
            return None
        return Completed(Completes(what), _known(Status, status), cookie, event.subscription, failed)

    def _count_out(self, cookie: int) -> None:
        """A message has ended. With a journal it may be one of an earlier process, which was not counted."""
        self._ended_messages += 1
        if not self._has_journal:
            self._unfinished -= self._unfinished > 0
            return
        for stored, cookies in self._cookies.items():
            if cookies[cookie] > 0:
                cookies[cookie] -= 1
                if not cookies[cookie]:
                    del cookies[cookie]
                self._unfinished -= not stored
                self._unfinished_stored -= stored
                return

    def _journal_event(self, event: _abi.Event) -> JournalEvent:
        last = self._events[-1] if self._events else None
        # The last one says what those before it do, which nobody has taken: a program that never does keeps one.
        if event.completed == JournalNews.STORED and isinstance(last, JournalEvent) and last.news == JournalNews.STORED:
            self._events.pop()
        failed = error(event.status, os_error=event.os_error) if event.status else None
        return JournalEvent(_known(JournalNews, event.completed), event.cookie, failed)

    def _message(self, event: _abi.Event) -> Message | None:
        part = Part(event.part)
        if self._parts or part == Part.FIRST | Part.LAST:
            return self._new_message(event, bytes_of(event.body), part)
        if part & Part.FIRST:
            self._first = self._new_message(event, b"", Part.FIRST | Part.LAST)
            self._arriving = bytearray() if event.body_total <= self._message_maximum else None
        first, arriving = self._first, self._arriving
        if first is None:
            return None
        if arriving is not None:
            arriving += bytes_of(event.body)
        if not part & Part.LAST:
            return None
        self._first = self._arriving = None
        status = first.status if arriving is not None and not event.status else Status.RECEIVE_TOO_LARGE
        body = bytes(arriving) if arriving is not None else b""
        return Message(
            first.destination, body, first.headers, first.content_type, first.message_id, first.subscription,
            event.token, first.part, 0, first.body_total, status, self,
        )  # fmt: skip

    def _new_message(self, event: _abi.Event, body: bytes, part: Part) -> Message:
        return Message(
            text_of(event.destination), body, pairs_of(event), text_of(event.content_type), text_of(event.message_id),
            event.subscription, event.token, part, event.body_offset, event.body_total, _known(Status, event.status), self,
        )  # fmt: skip

    def _disconnected(self, event: _abi.Event) -> Disconnected:
        self._first = self._arriving = None
        self._connected = None
        self._ends += 1
        status = event.status
        said: dict[str, Any] = dict(
            text=text_of(event.text),
            headers=pairs_of(event),
            body=bytes_of(event.body),
            stage=_known(Stage, event.stage),
            os_error=event.os_error,
            rule=event.rule,
            retry_ms=event.retry_ms,
            attempt=event.attempt,
            server=self._server(event),
        )
        self._ended = error(status, failure=_last_failure(self._open()), **said) if status else None
        self._last = self._ended or self._last
        return Disconnected(status=_known(Status, status), error=self._ended, **said)

    def _server(self, event: _abi.Event) -> str:
        return self._servers[event.server] if event.server < len(self._servers) else ""

    def _answer_credentials(self, hook: CredentialsHook, wanted: CredentialsWanted) -> None:
        answered = False
        try:
            found = hook(wanted.attempt)
            if found is not None:
                login, passcode = found
                self.credentials(wanted.attempt, login, passcode)
                answered = True
        finally:
            if not answered and self._handle is not None:
                LIBRARY.sst_withhold_credentials(self._handle, wanted.attempt, 0)

    def _answer_addresses(self, hook: ResolveHook, wanted: AddressesWanted) -> None:
        answered = False
        try:
            self.addresses(wanted.attempt, hook(wanted.host, wanted.port))
            answered = True
        finally:
            if not answered and self._handle is not None:
                LIBRARY.sst_addresses(self._handle, wanted.attempt, None, 0)

    # ---- Taking

    def _next_message(self) -> Message | None:
        """The first message of those that were taken, if there is one. Events in front of it are told to on_event; without
        that, a subscription that was refused is raised."""
        while self._events:
            event = self._events.popleft()
            if isinstance(event, Message):
                return event
            if self.on_event:
                self.on_event(event)
                continue
            self._unseen(event)
            if isinstance(event, Completed) and event.error and event.what == Completes.SUBSCRIBE:
                raise event.error
        return None

    def _drop(self, *kinds: type) -> None:
        """Drops events of these kinds: a call says what they say."""
        self._events = deque(event for event in self._events if not isinstance(event, kinds))

    def _has_failed(self) -> bool:
        """Whether the last attempt failed, and no other server is tried at once."""
        return self._ended is not None and self._ended.retry_ms != 0

    def _nothing_comes(self) -> Error:
        """The client is disconnected: why."""
        return self._ended or ArgumentError(Status.STATE, "the client is not connected")

    def _try_abort(self, number: int) -> None:
        """Aborts a transaction, if it is still there; nobody is told how that ends."""
        if self._handle is not None and LIBRARY.sst_abort(self._handle, number, self._awaited(_ignore)) == 0:
            self._on_called()

    # ---- At the end

    def _unseen(self, event: Event) -> None:
        """An event is dropped; a message that failed is remembered."""
        # One that was dropped made room, as it was asked to, or belongs to a transaction whose end is told.
        if isinstance(event, Completed) and event.what in (Completes.SEND, Completes.COMMIT) and event.status not in (
            Status.OK,
            Status.DROPPED,
        ):
            self._lost = self._lost or event.error
            self._lost_count += 1

    def _undelivered(self) -> UndeliveredError | None:
        """What is to be raised at the end of a block."""
        for event in self._events:
            self._unseen(event)
        count = self._unfinished + self._lost_count + (0 if self._is_stored() else self._unfinished_stored)
        if not count:
            return None
        cause = self._lost or self._last
        said = f"{count} message{' was' if count == 1 else 's were'} not delivered" + (f"; {cause}" if cause else "")
        raised = UndeliveredError(count, said)
        raised.__cause__ = cause
        return raised

    def _is_stored(self) -> bool:
        """Whether the next client with the same journal has every message with `store`."""
        return bool(self._handle is not None and LIBRARY.sst_sync(self._handle, STORE_MS) == 1)

    # ---- What the clients may want to know

    def _on_called(self) -> None:
        """The library was called: when it next needs to run may have changed."""

    def _on_event_taken(self, event: Event) -> None:
        """An event is in _events."""

    def _on_ended(self) -> None:
        """A message has ended: there may be room."""

    def _on_room(self) -> None:
        """There is room again."""

    def _on_closed(self) -> None:
        """close() was called."""


class Guard:
    """Ensures that two threads are never in a client at once: the second gets an error, and does not wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            raise ArgumentError(Status.STATE, "another thread is using the client: it belongs to one at a time")

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def _release(handle: int, process: int, kept: list[Any]) -> None:
    """Gives the descriptors back. In a child after fork() the client is the parent's."""
    if os.getpid() == process:
        LIBRARY.sst_client_close(handle)
    kept.clear()


def _last_failure(handle: int) -> Failure | None:
    """sst_last_failure(); None: nothing has failed."""
    found = _abi.Failure()
    if LIBRARY.sst_last_failure(handle, ctypes.byref(found)) or not found.status:
        return None
    return Failure(
        status=_known(Status, found.status),
        stage=_known(Stage, found.stage),
        os_error=found.os_error,
        attempt=found.attempt,
        http_status=found.http_status,
        socks_reply=None if found.socks_reply < 0 else found.socks_reply,
        close_code=found.close_code,
        tls_cause=_known(TLSCause, found.tls_cause),
        tls_alert=None if found.tls_alert < 0 else found.tls_alert,
        tls_depth=None if found.tls_depth < 0 else found.tls_depth,
        not_before=moment(found.not_before_s),
        not_after=moment(found.not_after_s),
        tls_native=found.tls_native,
        tls_subject=text_of(found.tls_subject),
        text=text_of(found.text),
    )


def _known(names: Any, number: int) -> int:
    """A plain number is that of a newer library."""
    return names(number) if number in names._value2member_map_ else number


def _lent(value: bytes) -> Any:
    return ctypes.byref(_abi.BytesIn(value, len(value)))


def _body(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return encoded("the body", body)
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    hint = ": json.dumps() makes a str of it" if isinstance(body, (dict, list)) else ""
    raise ArgumentTypeError(Status.OPTION, f"the body is bytes or str, not {type(body).__name__}{hint}")


def _transaction(transaction: Any) -> int:
    """A number of begin(), or what transaction() gave."""
    number = getattr(transaction, "number", transaction)
    return number_to("transaction", number, 0xFFFFFFFF, Status.TRANSACTION)


def _cookie(cookie: int | None) -> int:
    return 0 if cookie is None else number_to("cookie", cookie, OWN_COOKIES - 1)


def _ack_mode(ack: str | int) -> int:
    if isinstance(ack, str):
        if ack not in _ACKS:
            raise ArgumentError(Status.OPTION, f'ack is "auto", "client" or "client-individual", not {ack!r}')
        return _ACKS[ack]
    return number_to("ack", ack, 0xFFFFFFFF)


def _ignore(failed: Error | None) -> None:
    """Of what nobody waits for any more."""


def _wrong_send(frame: _abi.Frame) -> str:
    if frame.flags & SendFlag.STORE:
        return "store is not for a transaction, not for an urgent message, and not with an overflow that drops messages"
    if frame.transaction:
        return "again, urgent and overflow are not for a transaction"
    return "again needs receipt=True" if frame.flags & SendFlag.AGAIN else "urgent needs urgent_frames"


__all__ = ["Core", "CredentialsHook", "NoRoomError", "ResolveHook"]
