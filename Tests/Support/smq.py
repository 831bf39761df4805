"""The library as tests see it: include/swiftmqtt.h through ctypes, and a client with its memory.

Structs and functions are read from the header, so that a new one is here at once. The Python package has declarations
of its own, which its tests compare with the header: an error of one of the two would hide in the other.

SMQ_LIBRARY names the library, or SMQ_BUILD_DIR the directory it is in (build/native).
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from .waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "swiftmqtt.h"


def without_comments(header: Path) -> str:
    return re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)


DECLARATIONS = without_comments(HEADER)
BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
LIBRARY = Path(os.environ.get("SMQ_LIBRARY", BUILD / "libswiftmqtt.so"))

# The header's named constants. Read from it, so that the two cannot differ.
CONSTANTS = {
    name: int(value, 0)
    for name, value in re.findall(
        r"^\s+(SMQ_[A-Z0-9_]+) = (-?\d\w*)", HEADER.read_text(), re.M | re.A
    )
}
globals().update({name.removeprefix("SMQ_"): value for name, value in CONSTANTS.items()})
EVENT_NAMES = {
    value: name.removeprefix("SMQ_EVENT_").lower()
    for name, value in CONSTANTS.items()
    if name.startswith("SMQ_EVENT_")
}
CONNECTION_EVENTS = {CONSTANTS["SMQ_EVENT_CONNECTED"], CONSTANTS["SMQ_EVENT_DISCONNECTED"]}
# identifier -> "number", "bytes" or "pair": how its value is put and got.
PROPERTY_KINDS = {
    int(value, 0): kind
    for value, kind in re.findall(
        r"SMQ_PROPERTY_\w+ = (0x\w+),?\s+/\* (number|bytes|pair)", HEADER.read_text()
    )
}
WHOLE = 3  # SMQ_PART_FIRST + SMQ_PART_LAST
OFF = FOREVER = 0xFFFFFFFF


# ---- What the header declares, so that the two cannot differ ----

TYPES: dict[str, type] = {
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "size_t": ctypes.c_size_t,
}  # and the structs, as they are defined


def type_of(name: str, stars: str) -> type:
    """Of what is declared as this; what has no type here is an address."""
    if name == "char":
        return ctypes.c_char_p
    kind = TYPES.get(name, ctypes.c_void_p)
    if kind is ctypes.c_void_p:
        stars = stars[1:]
    for _ in stars:
        kind = ctypes.POINTER(kind)
    return kind


def declared(name: str, text: str = DECLARATIONS) -> Callable[[type], type]:
    """Gives a class the fields of a struct."""
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.S)[1]
    # A pointer to a function, or anything else, which may be an array.
    members = re.findall(r"\(\*(\w+)\)\([^)]*\);|(\w+)\s+(\**)(\w+)(?:\[(\d+)\])?;", body)

    def decorate(cls: type) -> type:
        cls._fields_ = [
            (function or field, ctypes.c_void_p if function else field_type(kind, stars, count))
            for function, kind, stars, field, count in members
        ]
        if text is DECLARATIONS:
            TYPES[name] = cls
        return cls

    return decorate


def field_type(kind: str, stars: str, count: str) -> type:
    if not count:
        return type_of(kind, stars)
    return (ctypes.c_char if kind == "char" and not stars else type_of(kind, stars)) * int(count)


@declared("smq_bytes")
class Bytes(ctypes.Structure):
    def value(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""


class Struct(ctypes.Structure):
    """Takes str and bytes for smq_bytes; keeps them alive."""

    def __init__(self, **values: object):
        super().__init__()
        self.kept = []
        for name, value in values.items():
            self.set(name, value)

    def set(self, name: str, value: object) -> None:
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, (bytes, bytearray)):
            buffer = ctypes.create_string_buffer(bytes(value), len(value) + 1)
            self.kept.append(buffer)
            value = Bytes(ctypes.addressof(buffer), len(value))
        elif isinstance(value, Message):
            self.kept.append(value)
            value = ctypes.pointer(value)
        elif isinstance(value, Bytes):
            self.kept.append(value)
        setattr(self, name, value)


class Sized(Struct):
    """A struct that starts with its size."""

    def __init__(self, **values: object):
        super().__init__()
        self.size = ctypes.sizeof(self)
        for name, value in values.items():
            self.set(name, value)


@declared("smq_properties")
class Properties(ctypes.Structure):
    """A list being built."""

    def __init__(self, capacity: int = 0):
        self.buffer = ctypes.create_string_buffer(b"\xa5" * capacity, capacity)
        super().__init__(ctypes.addressof(self.buffer), capacity, 0)

    def value(self) -> bytes:
        return self.buffer.raw[: self.size]


@declared("smq_property")
class Property(Sized):
    """smq_property"""


@declared("smq_message")
class Message(Sized):
    """smq_message"""


@declared("smq_options")
class Options(Sized):
    """smq_options"""


@declared("smq_subscription")
class Subscription(Struct):
    """smq_subscription"""


@declared("smq_subscriptions")
class Subscriptions(Sized):
    """`filters`: each a str or bytes, or a Subscription."""

    def __init__(self, *filters: str | bytes | Subscription, qos: int = 0, **values: object):
        entries = [
            f if isinstance(f, Subscription) else Subscription(filter=f, qos=qos) for f in filters
        ]
        array = (Subscription * len(entries))(*entries)
        super().__init__(count=len(entries))
        self.kept += [entries, array]
        self.list = ctypes.cast(array, ctypes.POINTER(Subscription))
        for name, value in values.items():
            self.set(name, value)


@declared("smq_event")
class RawEvent(Sized):
    """smq_event"""


@declared("smq_completion")
class Completion(ctypes.Structure):
    """smq_completion"""


@declared("smq_stats")
class Stats(Sized):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stats) and bytes(self) == bytes(other)

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{n}={getattr(self, n)}" for n, *_ in self._fields_) + ")"


@declared("smq_failure")
class Failure(Sized):
    """smq_failure"""

    def __repr__(self) -> str:
        shown = {n: getattr(self, n) for n, *_ in self._fields_ if n not in ("size", "reserved")}
        return f"Failure({', '.join(f'{n}={v.value() if isinstance(v, Bytes) else v}' for n, v in shown.items())})"


@declared("smq_runner")
class Runner(ctypes.Structure):
    """smq_runner"""


@declared("smq_runner_options")
class RunnerOptions(Sized):
    """smq_runner_options"""


@declared("smq_server")
class Server(Sized):
    """smq_server"""


@declared("smq_journal_info")
class JournalInfo(Sized):
    """smq_journal_info"""


@declared("smq_storage")
class Storage(Sized):
    """smq_storage"""


@declared("smq_packet")
class RawPacket(Sized):
    """smq_packet"""


@declared("smq_observer")
class Observer(Sized):
    """smq_observer"""


I32, U32, SIZE, ANY = ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p
LOG = ctypes.CFUNCTYPE(None, ANY, I32, I32, I32, I32)
TAP = ctypes.CFUNCTYPE(None, ANY, ctypes.POINTER(RawPacket))
PULL = ctypes.CFUNCTYPE(I32, ANY, U32, ANY, SIZE)
HANDLER = ctypes.CFUNCTYPE(None, ANY, ANY, ctypes.POINTER(RawEvent))

FUNCTIONS = {  # name: (result, arguments)
    name: (type_of(*result), [type_of(*each) for each in re.findall(r"(\w+) (\**)\w+(?:,|$)", parameters)])
    for *result, name, parameters in re.findall(
        r"^SMQ_API (?:const )?(\w+) (\**)(smq_\w+)\(([^)]*)\);", DECLARATIONS, re.M
    )
}

library = ctypes.CDLL(str(LIBRARY))
for function_name, (result, arguments) in FUNCTIONS.items():
    function = getattr(library, function_name, None)
    if function:  # else the tests that call it say so
        function.restype, function.argtypes = result, arguments



def status_name(status: int) -> str:
    return library.smq_status_name(status).decode()


def view(data: str | bytes | Bytes | None) -> Bytes | None:
    """A smq_bytes that keeps what it points to alive; None stays NULL."""
    if data is None or isinstance(data, Bytes):
        return data
    data = data.encode() if isinstance(data, str) else bytes(data)
    buffer = ctypes.create_string_buffer(data, len(data) + 1)
    made = Bytes(ctypes.addressof(buffer), len(data))
    made.kept = buffer
    return made


def reference(data: str | bytes | Bytes | None) -> object:
    """For a `const smq_bytes *`."""
    return None if data is None else ctypes.byref(view(data))


# ---- Properties, by smq_property_… ----


def put(list: Properties, identifier: int, value: object) -> int:
    kind = PROPERTY_KINDS[identifier]
    if kind == "number":
        return library.smq_property_put_number(ctypes.byref(list), identifier, value)
    if kind == "bytes":
        return library.smq_property_put_bytes(ctypes.byref(list), identifier, reference(value))
    name, value = value
    return library.smq_property_put_pair(ctypes.byref(list), reference(name), reference(value))


def properties(*pairs: tuple[int, object], **named: object) -> bytes:
    """(identifier, value), or by the header's names in lower case. A list of values: several."""
    made = Properties(70_000 * (len(pairs) + len(named) + 8))
    for name, values in named.items():
        identifier = CONSTANTS[f"SMQ_PROPERTY_{name.upper()}"]
        for value in values if isinstance(values, list) else [values]:
            pairs += ((identifier, value),)
    for identifier, value in pairs:
        status = put(made, identifier, value)
        assert status == 0, (hex(identifier), value, status_name(status))
    return made.value()


def walk(data: bytes) -> list[tuple[int, object]]:
    """(identifier, value) of each, in their order."""
    whole, position, found = view(data), SIZE(0), []
    while True:
        item = Property()
        got = library.smq_property_next(
            ctypes.byref(whole), ctypes.byref(position), ctypes.byref(item)
        )
        assert got in (0, 1), status_name(got)
        if not got:
            return found
        kind = PROPERTY_KINDS[item.identifier]
        value = item.value.value()
        found.append(
            (
                item.identifier,
                {"number": item.number, "bytes": value, "pair": (item.name.value(), value)}[kind],
            )
        )


class Block:
    """Memory at an offset from an alignment of 64, between guards that must stay whole."""

    GUARD = b"\xa5" * 64

    def __init__(self, size: int, offset: int = 0):
        self.size = size
        self.buffer = ctypes.create_string_buffer(size + offset + 3 * 64)
        start = -(-ctypes.addressof(self.buffer) // 64) * 64 + 64
        self.address = start + offset
        ctypes.memmove(self.address - 64, self.GUARD, 64)
        ctypes.memmove(self.address + size, self.GUARD[:32], 32)

    def whole(self) -> bool:
        before = ctypes.string_at(self.address - 64, 64)
        after = ctypes.string_at(self.address + self.size, 32)
        return before == self.GUARD and after == self.GUARD[:32]


class Group:
    """A group, and its memory. Its members are handed out as the clients that they are."""

    def __init__(self, capacity: int = 8):
        self.block = Block(library.smq_group_size(capacity))
        self.handle = ctypes.c_void_p()
        status = library.smq_group_init(self.block.address, self.block.size, capacity, ctypes.byref(self.handle))
        if status:
            raise ValueError(status_name(status))
        self.clients: dict[int, Client] = {}

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_) -> None:
        if self.handle:
            assert library.smq_group_close(self.handle) == 0
        assert self.block.whole(), "the group wrote outside its memory"

    def add(self, *clients: Client) -> None:
        for client in clients:
            status = library.smq_group_add(self.handle, client.handle)
            assert status == 0, status_name(status)
            self.clients[client.handle.value] = client

    def remove(self, client: Client) -> int:
        return library.smq_group_remove(self.handle, client.handle)

    @property
    def fd(self) -> int:
        return library.smq_group_fd(self.handle)

    @property
    def timeout_ms(self) -> int:
        return library.smq_group_next_timeout_ms(self.handle)

    def wait(self, timeout_ms: int) -> int:
        return library.smq_group_wait(self.handle, timeout_ms)

    def next_ready(self) -> Client | None:
        handle = ctypes.c_void_p(77)
        got = library.smq_group_next_ready(self.handle, ctypes.byref(handle))
        assert got in (0, 1), status_name(got)
        assert (handle.value is None) == (got == 0)
        return self.clients[handle.value] if got else None

    def take(self) -> list[Client]:
        """Takes all events of those that are ready, which are returned."""
        ready = []
        while client := self.next_ready():
            ready.append(client)
            count = len(client.events)
            while event := client.take():
                client.events.append(event)
            assert len(client.events) > count, "a client without an event was handed out"
        return ready

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> object:
        """Runs all members until the condition holds."""
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            assert time.monotonic() < deadline, f"not within {timeout} s"
            got = self.wait(20)
            assert got in (0, 1), status_name(got)
            assert bool(self.take()) == bool(got)
        return result


@dataclass(frozen=True)
class Event:
    """A smq_event, its views copied."""

    type: int
    status: int
    stage: int
    os_error: int
    reason_code: int
    attempt: int
    session_present: int
    protocol: int
    rule: int
    cookie: int
    reason_string: bytes
    server_reference: bytes
    properties: bytes
    reason_codes: bytes
    topic: bytes
    payload: bytes
    payload_offset: int
    payload_total: int
    qos: int
    retain: int
    duplicate: int
    part: int
    subscription: int
    handler: int | None
    user: int | None
    token: int
    subscription_identifier: int
    retry_ms: int
    server: int
    port: int
    latency_ms: int
    completed: int

    def __repr__(self) -> str:
        kind, status = EVENT_NAMES[self.type], status_name(self.status)
        if self.type in (CONSTANTS["SMQ_EVENT_MESSAGE"], CONSTANTS["SMQ_EVENT_REPLY"]):
            return (
                f"<{kind} {status} {self.topic!r} {self.payload[:20]!r} {self.payload_offset}+"
                f"{len(self.payload)}/{self.payload_total} qos {self.qos} retain {self.retain} "
                f"dup {self.duplicate} part {self.part} token {self.token} cookie {self.cookie}>"
            )
        stage = library.smq_stage_name(self.stage).decode()
        return (
            f"<{kind} {status} stage {stage} os_error {self.os_error} rule {self.rule} "
            f"reason {self.reason_code:#x} cookie {self.cookie}>"
        )


@dataclass(frozen=True)
class Packet:
    """What an observer was told."""

    sent: bool
    type: int
    time_ms: int
    length: int
    data: bytes

    @classmethod
    def of(cls, raw: RawPacket) -> Packet:
        assert raw.size == ctypes.sizeof(RawPacket) and raw.reserved == 0 and raw.direction in (1, 2)
        return cls(raw.direction == 1, raw.type, raw.time_ms, raw.length, raw.data.value() + raw.more.value())


class Client:
    """A client, its memory, and the events that were taken but not yet asked for."""

    def __init__(self, *, reconnect: bool = False, tls: object = None, **options: object):
        """Unless it is asked for, a client neither connects nor subscribes again by itself: the tests want to see it. `tls` is a
        Tls of Support/tls.py."""
        if tls is not None:
            options |= tls.options
        if not reconnect:
            options["flags"] = options.get("flags", 0) | CONSTANTS["SMQ_OPTION_NO_RECONNECT"]
            options.setdefault("subscriptions", OFF)
        self.options = Options(**options)
        size = library.smq_client_size(ctypes.byref(self.options))
        self.block = Block(size)
        self.handle = ctypes.c_void_p()
        status = library.smq_client_init(
            self.block.address, size, ctypes.byref(self.options), ctypes.byref(self.handle)
        )
        if status:
            raise ValueError(status_name(status))
        self.events: deque[Event] = deque()
        self.raw = RawEvent()  # the last one taken, as the library filled it
        self.on_event: Callable[[Event], None] | None = None  # before it is released
        self.kept: list[object] = []  # callbacks
        self.cookies = itertools.count(1 << 40)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        if self.handle:
            library.smq_client_close(self.handle)
            self.handle = ctypes.c_void_p()
            assert self.block.whole(), "the client wrote outside its memory"

    # -- calls, as they are --

    def connect(self) -> int:
        return library.smq_connect(self.handle)

    def credentials(
        self, attempt: int, user_name: str | bytes | None, password: str | bytes | None
    ) -> int:
        return library.smq_credentials(
            self.handle, attempt, reference(user_name), reference(password)
        )

    def withhold_credentials(self, attempt: int, for_good: int = 0) -> int:
        return library.smq_withhold_credentials(self.handle, attempt, for_good)

    def addresses(self, attempt: int, *addresses: str) -> int:
        views = [view(address) for address in addresses]
        list = (Bytes * len(views))(*views)
        return library.smq_addresses(self.handle, attempt, list, len(views))

    def hint_network(self, up: int) -> int:
        return library.smq_hint_network(self.handle, up)

    def hint_resume(self) -> int:
        return library.smq_hint_resume(self.handle)

    def publish(self, topic: str | bytes, payload: str | bytes = b"", **fields: int) -> int:
        message = Message(topic=topic, payload=payload, **fields)
        return library.smq_publish(self.handle, ctypes.byref(message))

    def submit(self, topic: str | bytes, payload: str | bytes = b"", **fields: object) -> int:
        message = Message(topic=topic, payload=payload, **fields)
        return library.smq_submit(self.handle, ctypes.byref(message))

    def reserve(self, topic: str, size: int, **fields: object) -> tuple[int, int | None]:
        """Status, and where the payload goes."""
        message = Message(topic=topic, payload=Bytes(None, size), **fields)
        place = ANY()
        status = library.smq_publish_reserve(
            self.handle, ctypes.byref(message), ctypes.byref(place)
        )
        return status, place.value

    def commit(self, size: int) -> int:
        return library.smq_publish_commit(self.handle, size)

    def abort(self) -> int:
        return library.smq_publish_abort(self.handle)

    def stream(
        self, topic: str, size: int, pull: Callable[[int, int], bytes | int], **fields: object
    ) -> int:
        """`pull` takes offset and size, and returns bytes, or the number that stands for none."""

        def called(user: int, offset: int, buffer: int, size: int) -> int:
            data = pull(offset, size)
            if isinstance(data, int):
                return data
            ctypes.memmove(buffer, data, len(data))
            return len(data)

        function = PULL(called)
        self.kept.append(function)
        message = Message(topic=topic, payload=Bytes(None, size), **fields)
        return library.smq_publish_stream(self.handle, ctypes.byref(message), function, None)

    def lend(self, topic: str, payload: ctypes.Array, **fields: object) -> int:
        """The bytes of `payload` stay where they are."""
        message = Message(topic=topic, payload=Bytes(ctypes.cast(payload, ctypes.c_void_p), len(payload)), **fields)
        return library.smq_publish_reference(self.handle, ctypes.byref(message))

    def subscribe(self, *filters: str | bytes | Subscription, **values: object) -> int:
        """`qos` is for the filters that are text."""
        request = Subscriptions(*filters, **values)
        return library.smq_subscribe(self.handle, ctypes.byref(request))

    def unsubscribe(self, *filters: str | bytes, **values: object) -> int:
        request = Subscriptions(*filters, **values)
        return library.smq_unsubscribe(self.handle, ctypes.byref(request))

    def hold(self) -> int:
        return library.smq_hold(self.handle)

    def ack(self, token: int, reason_code: int = 0, properties: bytes | None = None) -> int:
        return library.smq_ack(self.handle, token, reason_code, reference(properties))

    def receive_into(self, space: ctypes.Array | None) -> int:
        """What follows of the last event's message goes there; None: takes back what was lent."""
        return library.smq_receive_into(self.handle, space, len(space) if space else 0)

    def packet_identifier(self, token: int) -> int:
        return library.smq_packet_identifier(self.handle, token)

    def request(
        self, topic: str, payload: bytes, response_topic: str, timeout_ms: int, **fields: object
    ) -> int:
        message = Message(topic=topic, payload=payload, **fields)
        return library.smq_request(
            self.handle, ctypes.byref(message), reference(response_topic), timeout_ms
        )

    def respond(self, payload: bytes, **fields: object) -> int:
        """To the last event, which must not be released yet."""
        message = Message(payload=payload, **fields)
        return library.smq_respond(self.handle, ctypes.byref(self.raw), ctypes.byref(message))

    def authenticate(
        self, reason_code: int, data: bytes | None = None, properties: bytes | None = None
    ) -> int:
        return library.smq_authenticate(
            self.handle, reason_code, reference(data), reference(properties)
        )

    def handle_filter(
        self, index: int, filter: str | bytes, handler: object = None, user: int | None = None
    ) -> int:
        """smq_handle()."""
        self.kept.append(handler)
        return library.smq_handle(self.handle, index, reference(filter), handler, user)

    def next_match(self, topic: str | bytes, after: int = -1) -> int:
        return library.smq_next_match(self.handle, reference(topic), after)

    def disconnect(self, drain_ms: int = 0) -> int:
        return library.smq_disconnect(self.handle, drain_ms)

    def disconnect_with(
        self, reason_code: int, properties: bytes | None = None, drain_ms: int = 0
    ) -> int:
        return library.smq_disconnect_with(
            self.handle, drain_ms, reason_code, reference(properties)
        )

    def observe(self, **fields: object) -> tuple[list[Packet], Observer]:
        """Adds an observer; what it is told of packets is in the list."""
        told: list[Packet] = []
        tap = TAP(lambda user, raw: told.append(Packet.of(raw.contents)))
        observer = Observer(packet=ctypes.cast(tap, ANY), **fields)
        self.kept += [tap, observer]
        status = library.smq_add_observer(self.handle, ctypes.byref(observer))
        assert status == 0, status_name(status)
        return told, observer

    def trace(self) -> list[Packet]:
        """smq_trace_read()."""
        told: list[Packet] = []
        tap = TAP(lambda user, raw: told.append(Packet.of(raw.contents)))
        count = library.smq_trace_read(self.handle, ctypes.cast(tap, ANY), None)
        assert count == len(told), status_name(count)
        return told

    @property
    def id(self) -> bytes:
        """smq_client_id()."""
        id = Bytes()
        status = library.smq_client_id(self.handle, ctypes.byref(id))
        assert status == 0, status_name(status)
        return id.value()

    @property
    def server(self) -> Server:
        server = Server()
        status = library.smq_client_server(self.handle, ctypes.byref(server))
        assert status == 0, status_name(status)
        return server

    def failure(self) -> Failure:
        """smq_last_failure(), its texts copied."""
        raw = Failure()
        status = library.smq_last_failure(self.handle, ctypes.byref(raw))
        assert status == 0, status_name(status)
        values = {n: getattr(raw, n) for n, *_ in Failure._fields_}
        return Failure(**{n: v.value() if isinstance(v, Bytes) else v for n, v in values.items()})

    def websocket_request(self, path: str | bytes | None, headers: str | bytes | None = None) -> int:
        return library.smq_websocket_request(self.handle, reference(path), reference(headers))

    @property
    def state(self) -> int:
        return library.smq_client_state(self.handle)

    @property
    def stats(self) -> Stats:
        stats = Stats()
        status = library.smq_client_stats(self.handle, ctypes.byref(stats))
        assert status == 0, status_name(status)
        return stats

    # -- running --

    def take(self) -> Event | None:
        """smq_next_event(), which releases the one before."""
        self.raw = raw = RawEvent()
        got = library.smq_next_event(self.handle, ctypes.byref(raw))
        assert got in (0, 1), status_name(got)
        if not got:
            assert raw.type == EVENT_NONE
            return None
        values = {f.name: getattr(raw, f.name) for f in fields(Event)}
        event = Event(**{n: v.value() if isinstance(v, Bytes) else v for n, v in values.items()})
        if self.on_event:
            self.on_event(event)
        return event

    def step(self, timeout_ms: int) -> None:
        """Waits for events, and keeps them."""
        got = library.smq_wait(self.handle, timeout_ms)
        assert got in (0, 1), status_name(got)
        count = len(self.events)
        while event := self.take():
            self.events.append(event)
        assert not got or len(self.events) > count, "smq_wait() promised an event"

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> object:
        """Runs the client until the condition holds. Looks at it at least every 20 ms."""
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            left = deadline - time.monotonic()
            assert (
                left > 0
            ), f"not within {timeout} s; events {list(self.events)[-9:]}, {self.stats}"
            self.step(min(20, int(left * 1000) + 1))
        return result

    def run(self, seconds: float) -> None:
        """Runs the client for a time in which nothing is to happen."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.step(int(left * 1000) + 1)

    def wait_event(self, type: int, timeout: float = PATIENCE, **fields: object) -> Event:
        """The next event of a type, and with these fields; others stay for later."""

        def found() -> Event | None:
            for event in self.events:
                if event.type == type and all(getattr(event, n) == v for n, v in fields.items()):
                    return event
            return None

        event = self.until(found, timeout)
        self.events.remove(event)
        return event

    def connected(self, timeout: float = PATIENCE) -> Event:
        """Connects, and fails if that fails."""
        status = self.connect()
        assert status == 0, status_name(status)
        self.until(lambda: any(e.type in CONNECTION_EVENTS for e in self.events), timeout)
        assert not [e for e in self.events if e.type == EVENT_DISCONNECTED], self.events
        return self.wait_event(EVENT_CONNECTED)

    def disconnected(self, timeout: float = PATIENCE) -> Event:
        return self.wait_event(EVENT_DISCONNECTED, timeout)

    def ended_with(self, status: int, stage: int, timeout: float = PATIENCE) -> Event:
        """The connection, or the attempt, ends in one event that says so."""
        event = self.disconnected(timeout)
        assert (status_name(event.status), event.stage) == (status_name(status), stage)
        assert self.state == CONSTANTS["SMQ_STATE_DISCONNECTED"]
        self.run(0.05)
        assert not self.of(EVENT_DISCONNECTED)
        return event

    def completed(self, cookie: int, timeout: float = PATIENCE) -> Event:
        return self.wait_event(EVENT_COMPLETED, timeout, cookie=cookie)

    def of(self, type: int) -> list[Event]:
        """Those that wait to be asked for."""
        return [event for event in self.events if event.type == type]

    def completions(self) -> list[Event]:
        return self.of(EVENT_COMPLETED)

    def messages(self) -> list[Event]:
        return self.of(EVENT_MESSAGE)

    def message(self, timeout: float = PATIENCE, **fields: object) -> Event:
        """The next message that arrived."""
        return self.wait_event(EVENT_MESSAGE, timeout, **fields)

    def receive(self, count: int, timeout: float = PATIENCE) -> list[Event]:
        """The next messages, as many as `count`."""
        self.until(lambda: len(self.messages()) >= count, timeout)
        return [self.message() for _ in range(count)]

    def subscribed(self, *filters: str | bytes | Subscription, **values: object) -> Event:
        """Subscribes, and fails if that fails."""
        cookie = next(self.cookies)
        status = self.subscribe(*filters, cookie=cookie, **values)
        assert status == 0, status_name(status)
        event = self.completed(cookie)
        assert event.status == 0, event
        return event

    def leave(self, drain_ms: int = 5000) -> Event:
        """smq_disconnect(), and its event."""
        assert self.disconnect(drain_ms) == 0
        return self.disconnected(timeout=drain_ms / 1000 + PATIENCE)
