"""A smq_client in memory of its own: how it is created and closed, and what is known of it."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Union

from . import _abi, _options
from ._answers import Connected, ServerLimits
from ._checks import flag, function, number_to
from ._library import LIBRARY, QUICK, WITH_ERRNO
from ._memory import block_of
from ._undelivered import Failures, count_in
from ._websocket import WebSocketRequestHook
from .constants import LogItem, LogLevel, OptionFlag, Protocol, State, Status
from .errors import ArgumentError, ClosedError, Error, UndeliveredWarning, check, error
from .failure import Failure
from .message import Message
from .payload import Adapters
from .tls import TLSInfo, describe
from .tls_context import AnyTLS, chosen
from .trace import Packet, read_trace

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


#: How many events are taken from the library in one call.
BATCH = 64
# What a message may be too large for, or find full.
_LIMITS = "urgent_bytes urgent_messages submit_bytes submit_messages outbox_bytes outbox_messages references".split()


class Core:
    """A client of the library."""

    _tells = False  # of messages that are lost with it

    def __init__(
        self,
        url: str | None = None,
        *,
        reconnect: bool = True,
        manual_ack: bool = False,
        message_maximum: int = 1 << 24,
        adapters: Adapters | None = None,
        tls: AnyTLS = None,
        credentials: CredentialsHook | None = None,
        websocket_request: WebSocketRequestHook | None = None,
        resolve: ResolveHook | None = None,
        authenticate: AuthenticateHook | None = None,
        log: LogHook | None = None,
        log_level: int = LogLevel.INFO,
        **options: Any,
    ):
        flags = OptionFlag.PARTS | OptionFlag.HOLD
        if not flag("reconnect", reconnect):
            flags |= OptionFlag.NO_RECONNECT
        if credentials:
            flags |= OptionFlag.ASK_CREDENTIALS
        if resolve:
            flags |= OptionFlag.ASK_ADDRESSES
        self.adapters = Adapters() if adapters is None else adapters
        if not isinstance(self.adapters, Adapters):
            raise ArgumentError(Status.OPTION, f"adapters is a swiftmqtt.Adapters, not {type(adapters).__name__}")
        hooks = {"credentials": credentials, "resolve": resolve, "authenticate": authenticate}
        for name, hook in {**hooks, "websocket_request": websocket_request}.items():
            function(name, hook)
        self._manual_ack = flag("manual_ack", manual_ack)
        self._message_maximum = number_to("message_maximum", message_maximum, 0xFFFFFFFF, Status.OPTION)
        self._credentials, self._resolve, self._authenticate = credentials, resolve, authenticate
        self._websocket_request, self._own_credentials = websocket_request, (b"", b"")
        if websocket_request:
            flags |= OptionFlag.ASK_CREDENTIALS
            self._own_credentials = _options.asked_for(url, options, bool(credentials))
        settings, alpn = chosen(_options.tls_for(url, tls))
        if alpn:
            options.setdefault("alpn", alpn)
        built = _options.build(url, flags, self.adapters, options, settings._handle if settings else None)

        self._servers, self._proxy = _options.servers(built, url), _options.proxy(built)
        self._guard: Any = self._made_guard()
        self._submitting = threading.RLock()  # close() waits for who is in submit()
        self._events = (_abi.Event * BATCH)()
        self._events[0].size = ctypes.sizeof(_abi.Event)
        self._events_address = ctypes.addressof(self._events)
        self._events_view = memoryview(self._events).cast("B")
        self._completions = (_abi.Completion * BATCH)()
        self._completions_address = ctypes.addressof(self._completions)
        self._completions_view = memoryview(self._completions).cast("B")
        self._pending: dict[int, Finish] = {}
        self._topics: dict[int, str] = {}  # of those of these that are messages
        self._failures = Failures()
        # With a journal, messages of an earlier process end, too, with the cookies that they had.
        self._has_journal = bool(options.get("journal"))
        self._cookies = itertools.count(1 + (int.from_bytes(os.urandom(7), "big") if self._has_journal else 0))
        self._streams: dict[int, Any] = {}
        self._arriving: bytearray | None = None  # a message that comes in parts
        self._waiting_messages: deque[Message] = deque()
        self._unacknowledged = 0  # of these
        self._is_taking = False  # events: what is the program's is called afterwards
        self._due: deque[tuple[Any, ...]] = deque()  # and this is what is called
        self._plain = _abi.Message()  # of messages that have nothing special
        self._plain_reference = ctypes.byref(self._plain)
        self._plain_topic, self._plain_payload, self._plain_last = self._plain.topic, self._plain.payload, b""
        self._told: deque[tuple[int, int, int, int, int]] = deque()  # to the log hook, when it is safe
        self._log: LogHook | None = None
        self._limits = {name: getattr(built, name) for name in _LIMITS}
        self._protocol: int = built.protocol
        self._receive_maximum: int = built.receive_maximum or 64
        self._connected: Connected | None = None
        # To the last connect(), even if a callback has disconnected since.
        self._answer: Connected | None = None
        self._failure: Failure | None = None
        self._ended: Error | None = None  # why the last attempt or connection ended
        self._ends = 0  # attempts and connections that ended
        self._was_begun = False  # connect() was called
        self._was_connected = False
        self._was_up = False  # when it was last asked to disconnect

        size = LIBRARY.smq_client_size(ctypes.byref(built))
        block = block_of(size)
        handle = ctypes.c_void_p()
        status = WITH_ERRNO.smq_client_init(
            block, ctypes.sizeof(block), ctypes.byref(built), ctypes.byref(handle)
        )
        if status in (Status.JOURNAL, Status.INSPECT):
            raise error(status, os_error=ctypes.get_errno())
        check(status)
        assert handle.value  # the library said that all is well
        self._handle: int | None = handle.value
        self._kept: list[Any] = [(block, settings)]  # what the library has pointers to, as long as the client lives
        self._lost = [self._tells]  # whether messages are lost silently if the client is dropped
        # Closes the descriptors of a client that nobody has any more, and keeps its memory until then.
        self._finalizer = weakref.finalize(self, _release, handle.value, os.getpid(), self._kept, self._lost)
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
        """The state of the client."""
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
        return text_of(found)

    @property
    def stats(self) -> dict[str, Any]:
        """The client's statistics: smq_stats, with its names; each is an int, or a tuple of ints for a
        histogram."""
        with self._guard:
            found = _abi.Stats()
            check(LIBRARY.smq_client_stats(self._open(), ctypes.byref(found)))
        values = {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}
        return {name: v if isinstance(v, int) else tuple(v) for name, v in values.items()}

    @property
    def journal(self) -> dict[str, int]:
        """The journal's numbers: smq_journal_info, with its names. Raises ArgumentError without a journal."""
        with self._guard:
            found = _abi.JournalInfo()
            check(LIBRARY.smq_journal_state(self._open(), ctypes.byref(found)))
        return {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}

    def trace(self) -> list[Packet]:
        """The last packets that went over the connections, the oldest first. Raises ArgumentError without the option
        trace_bytes."""
        with self._guard:
            return read_trace(self._open())

    def clear_trace(self) -> None:
        """Empties the trace. Raises ArgumentError without the option trace_bytes."""
        with self._guard:
            check(LIBRARY.smq_trace_clear(self._open()))

    @property
    def server(self) -> ServerLimits:
        """What the server can do. Raises ArgumentError without a connection."""
        with self._guard:
            found = _abi.Server()
            check(LIBRARY.smq_client_server(self._open(), ctypes.byref(found)))
        values = {name: getattr(found, name) for name, *_ in found._fields_ if name != "size"}
        return ServerLimits(**{n: bool(v) if n.endswith("_available") else v for n, v in values.items()})

    @property
    def connected(self) -> Connected | None:
        """The server's answer when it accepted the connection; None without one."""
        return self._connected

    @property
    def error(self) -> Error | None:
        """Why the last attempt to connect, or connection, ended; None: it has not, or the program asked for
        it."""
        return self._ended

    @property
    def failure(self) -> Failure | None:
        """The failure record of the last attempt to connect, or connection, that failed: what proxy, TLS and WebSocket know of
        it. `str()` of it says so in words. None: none has failed since the last that succeeded."""
        return self._failure

    @property
    def tls_info(self) -> TLSInfo | None:
        """Version, cipher and certificates of the connection over TLS; None: there is none."""
        with self._guard:
            return describe(self._open())

    def fileno(self) -> int:
        """Returns the one descriptor, which is readable when there is something to do: for select() and
        similar functions. Never read from it."""
        self._open()
        return self._fd

    # ---- Life

    def set_log(self, log: LogHook | None, level: int = LogLevel.INFO) -> None:
        """Sets or removes the log hook log(level, what, number, other). It may call the client."""
        function("log", log)
        level = number_to("log_level", level, LogLevel.DEBUG, Status.OPTION)
        with self._guard:
            handle = self._open()
            self._log = log
            pointer = _abi.LOG(_appending(self._told)) if log else _abi.LOG()
            check(LIBRARY.smq_set_log(handle, level if log else LogLevel.OFF, pointer, None))
            self._kept[1:] = [pointer]

    def close(self) -> None:
        """Ends the client at once, in any state and without DISCONNECT, so the server publishes the Will.
        Pending operations fail with ClosedError. A second call does nothing; every other call raises
        ClosedError then."""
        if self._handle is None:
            return
        with self._guard:
            with self._submitting:
                self._handle = None
                self._lost[0] = False
                self._finalizer()
                pending, self._pending = self._pending, {}
            self._connected = None
            self._topics.clear()
            self._streams.clear()
            self._waiting_messages.clear()
            for finish in pending.values():
                finish(None, ClosedError("the client was closed before this was completed"))
            self._on_closed()

    def network_changed(self, up: bool = True) -> None:
        """Tells the client that there is a network, perhaps another one than before, or that there is none:
        smq_hint_network()."""
        with self._guard:
            check(LIBRARY.smq_hint_network(self._open(), int(flag("up", up))))
            self._on_called()

    def resumed(self) -> None:
        """Tells the client that the machine was asleep: smq_hint_resume()."""
        with self._guard:
            check(LIBRARY.smq_hint_resume(self._open()))
            self._on_called()

    # ---- For the clients

    def _open(self) -> int:
        if self._handle is None:
            raise ClosedError()
        return self._handle

    def _service(self) -> None:
        """Does everything that is due."""
        check(LIBRARY.smq_service(self._open()))

    def _flush(self) -> None:
        """Sends what is ready to be sent."""
        check(LIBRARY.smq_flush(self._open()))

    def _sync(self, timeout_ms: int) -> bool:
        """Waits for the disk, so long at most. Returns whether the journal has everything."""
        with self._guard:
            stored = check(LIBRARY.smq_sync(self._open(), timeout_ms))
            self._on_called()
        return stored == 1

    def _next_timeout_ms(self) -> int:
        """When _service() is next due: in milliseconds; 0: now, -1: never."""
        timeout_ms: int = _next_timeout_ms(self._open())
        return timeout_ms if timeout_ms >= -1 else check(timeout_ms)

    def _tell(self) -> None:
        """What the log hook has not heard yet."""
        while self._told:
            _user, level, what, number, other = self._told.popleft()
            if self._log:
                known = LogItem(what) if what in LogItem._value2member_map_ else what
                self._log(LogLevel(level), known, number, other)

    # ---- What the clients may want to know

    def _made_guard(self) -> Any:
        """What is entered around the calls on the library."""
        return Guard()

    def _on_accepted(self, cookie: int) -> None:
        """The library has something to be sent; cookies are counted."""
        self._on_called()

    def _on_called(self) -> None:
        """The library was called: when it next needs to run may have changed."""

    def _on_closed(self) -> None:
        """close() was called."""


class Guard:
    """Ensures that two threads are never in a client at once: the second gets an error, and does not wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            raise ArgumentError(
                Status.STATE, "another thread is using the client: only submit() is for any thread at any time"
            )

    def __exit__(self, *_: object) -> None:
        self.lock.release()


_next_timeout_ms = QUICK.smq_next_timeout_ms


def _appending(told: deque[Any]) -> Callable[..., object]:
    """A log function for the library that keeps what it is told. All of it is C: in a function of Python's, Ctrl-C would
    raise KeyboardInterrupt inside the library, where ctypes drops it, and the program would go on."""
    call = ctypes.PyDLL(None).PyObject_CallFunction
    arguments: list[Any] = [ctypes.py_object, ctypes.c_char_p, *_abi.LOG._argtypes_]
    call.argtypes = arguments
    call.restype = ctypes.py_object
    return functools.partial(call, told.append, b"((niiii))")


def _release(handle: int, process: int, kept: list[Any], lost: list[bool]) -> None:
    """Gives the descriptors back. In a child after fork() the client is the parent's."""
    if os.getpid() == process:
        left = count_in(handle) if lost[0] else 0
        if left:
            were = "was" if left == 1 else "were"
            told = f"a client was forgotten before {left} of its messages {were} delivered"
            warnings.warn(told, UndeliveredWarning, stacklevel=2)
        LIBRARY.smq_client_close(handle)
    kept.clear()


def text_of(view: _abi.BytesOut) -> str:
    size = view.size
    return ctypes.string_at(view.data, size).decode("utf-8", "replace") if size else ""
