"""The library as tests see it: include/swiftmqtt.h through ctypes, and a client with its memory.

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

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "swiftmqtt.h"
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


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

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


class Properties(ctypes.Structure):
    """A list being built."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("capacity", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
    ]

    def __init__(self, capacity: int = 0):
        self.buffer = ctypes.create_string_buffer(b"\xa5" * capacity, capacity)
        super().__init__(ctypes.addressof(self.buffer), capacity, 0)

    def value(self) -> bytes:
        return self.buffer.raw[: self.size]


class Property(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("identifier", ctypes.c_uint32),
        ("number", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", Bytes),
        ("value", Bytes),
    ]


class Message(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("qos", ctypes.c_uint8),
        ("retain", ctypes.c_uint8),
        ("quiet", ctypes.c_uint8),
        ("overflow", ctypes.c_uint8),
        ("topic", Bytes),
        ("payload", Bytes),
        ("cookie", ctypes.c_uint64),
        ("properties", Bytes),
        ("expiry_s", ctypes.c_uint32),
        ("urgent", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
        ("reserved2", ctypes.c_uint16),
    ]


OPTIONS_NUMBERS = (
    "keep_alive_s session_expiry_s connect_timeout_ms ping_timeout_ms outbox_bytes outbox_messages "
    "receive_bytes in_flight_maximum receive_maximum maximum_packet_bytes requests request_bytes "
    "control_bytes handlers handler_bytes topic_aliases_in topic_aliases_out topic_alias_bytes "
    "replies stream_bytes reconnect_min_ms reconnect_max_ms stable_ms jitter "
    "subscriptions subscription_bytes resubscribe urgent_messages urgent_bytes "
    "answer_timeout_ms write_timeout_ms tcp_user_timeout_ms credential_bytes "
    "submit_messages submit_bytes unreleased_maximum addresses"
).split()


class Options(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("url", Bytes),
        ("host", Bytes),
        ("port", ctypes.c_uint32),
        ("protocol", ctypes.c_uint32),
        ("client_id", Bytes),
        ("user_name", Bytes),
        ("password", Bytes),
        ("will", ctypes.POINTER(Message)),
        ("properties", Bytes),
    ] + [(name, ctypes.c_uint32) for name in OPTIONS_NUMBERS]


class Subscription(Struct):
    _fields_ = [
        ("filter", Bytes),
        ("qos", ctypes.c_uint8),
        ("no_local", ctypes.c_uint8),
        ("retain_as_published", ctypes.c_uint8),
        ("retain_handling", ctypes.c_uint8),
        ("reserved", ctypes.c_uint32),
    ]


class Subscriptions(Sized):
    """`filters`: each a str or bytes, or a Subscription."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("list", ctypes.POINTER(Subscription)),
        ("cookie", ctypes.c_uint64),
        ("properties", Bytes),
        ("identifier", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]

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


class RawEvent(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("type", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("stage", ctypes.c_int32),
        ("os_error", ctypes.c_int32),
        ("reason_code", ctypes.c_int32),
        ("attempt", ctypes.c_uint32),
        ("session_present", ctypes.c_uint32),
        ("protocol", ctypes.c_uint32),
        ("rule", ctypes.c_int32),
        ("cookie", ctypes.c_uint64),
        ("reason_string", Bytes),
        ("server_reference", Bytes),
        ("properties", Bytes),
        ("reason_codes", Bytes),
        ("topic", Bytes),
        ("payload", Bytes),
        ("payload_offset", ctypes.c_uint32),
        ("payload_total", ctypes.c_uint32),
        ("qos", ctypes.c_uint8),
        ("retain", ctypes.c_uint8),
        ("duplicate", ctypes.c_uint8),
        ("part", ctypes.c_uint8),
        ("subscription", ctypes.c_int32),
        ("handler", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("token", ctypes.c_uint64),
        ("subscription_identifier", ctypes.c_uint32),
        ("retry_ms", ctypes.c_int32),
        ("server", ctypes.c_uint32),
        ("port", ctypes.c_uint32),
        ("latency_ms", ctypes.c_int32),
        ("completed", ctypes.c_uint32),
    ]


class Stats(Sized):
    _fields_ = (
        [("size", ctypes.c_uint32), ("connections", ctypes.c_uint32)]
        + [
            (name, ctypes.c_uint64)
            for name in (
                "messages_published messages_completed messages_failed packets_sent "
                "packets_received bytes_sent bytes_received send_calls receive_calls"
            ).split()
        ]
        + [
            (name, ctypes.c_uint32)
            for name in (
                "outbox_bytes outbox_bytes_peak outbox_bytes_capacity outbox_messages "
                "outbox_messages_peak outbox_messages_capacity in_flight in_flight_maximum"
            ).split()
        ]
        + [
            (name, ctypes.c_uint64)
            for name in (
                "messages_received messages_duplicate messages_oversize messages_expired"
            ).split()
        ]
        + [
            (name, ctypes.c_uint32)
            for name in (
                "unacknowledged unacknowledged_peak receive_maximum requests requests_peak "
                "replies replies_peak subscriptions receive_bytes_peak control_bytes_peak "
                "urgent_bytes urgent_bytes_peak urgent_messages urgent_messages_peak "
                "outbox_age_ms attempts"
            ).split()
        ]
        + [(name, ctypes.c_uint64) for name in ("messages_dropped", "messages_replaced")]
        + [(name, ctypes.c_uint32 * 16) for name in ("latency", "round_trip")]
        + [
            (f"ended_{name}", ctypes.c_uint32)
            for name in (
                "requested refused server_closed malformed protocol keep_alive stream resolve "
                "network closed timeout credentials"
            ).split()
        ]
        + [(name, ctypes.c_uint64) for name in ("submitted", "submit_full")]
        + [(name, ctypes.c_uint32) for name in ("submit_waiting", "submit_peak")]
        + [("messages_postponed", ctypes.c_uint64)]
    )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stats) and bytes(self) == bytes(other)

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{n}={getattr(self, n)}" for n, *_ in self._fields_) + ")"


class Runner(ctypes.Structure):
    _fields_ = [
        ("os_error", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("reserved2", ctypes.c_uint64 * 11),
    ]


class RunnerOptions(Sized):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("priority", ctypes.c_int32),
        ("stack_bytes", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", Bytes),
        ("on_event", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    ]


class Server(Sized):
    _fields_ = [
        (name, ctypes.c_uint32)
        for name in (
            "size protocol session_expiry_s receive_maximum maximum_packet_bytes maximum_qos "
            "retain_available wildcard_available shared_available "
            "subscription_identifiers_available topic_alias_maximum keep_alive_s"
        ).split()
    ]


P = ctypes.POINTER
C = ctypes.c_void_p  # a smq_client *
I32, U32, SIZE, ANY = ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p
LOG = ctypes.CFUNCTYPE(None, ANY, I32, I32, I32, I32)
PULL = ctypes.CFUNCTYPE(I32, ANY, U32, ANY, SIZE)
HANDLER = ctypes.CFUNCTYPE(None, ANY, C, P(RawEvent))
FUNCTIONS = {  # name: (result, arguments)
    "smq_version": (U32, []),
    "smq_abi_layout": (P(ctypes.c_uint16), []),
    "smq_status_name": (ctypes.c_char_p, [I32]),
    "smq_status_text": (ctypes.c_char_p, [I32]),
    "smq_reason_code_name": (ctypes.c_char_p, [U32, I32]),
    "smq_stage_name": (ctypes.c_char_p, [I32]),
    "smq_rule_name": (ctypes.c_char_p, [I32]),
    "smq_property_put_number": (I32, [P(Properties), U32, U32]),
    "smq_property_put_bytes": (I32, [P(Properties), U32, P(Bytes)]),
    "smq_property_put_pair": (I32, [P(Properties), P(Bytes), P(Bytes)]),
    "smq_property_next": (I32, [P(Bytes), P(SIZE), P(Property)]),
    "smq_options_check": (I32, [P(Options), P(SIZE)]),
    "smq_client_size": (SIZE, [P(Options)]),
    "smq_client_init": (I32, [ANY, SIZE, P(Options), P(C)]),
    "smq_client_close": (I32, [C]),
    "smq_client_id": (I32, [C, P(Bytes)]),
    "smq_client_state": (I32, [C]),
    "smq_connect": (I32, [C]),
    "smq_credentials": (I32, [C, U32, P(Bytes), P(Bytes)]),
    "smq_withhold_credentials": (I32, [C, U32, U32]),
    "smq_addresses": (I32, [C, U32, P(Bytes), U32]),
    "smq_hint_network": (I32, [C, U32]),
    "smq_hint_resume": (I32, [C]),
    "smq_authenticate": (I32, [C, U32, P(Bytes), P(Bytes)]),
    "smq_disconnect": (I32, [C, U32]),
    "smq_disconnect_with": (I32, [C, U32, U32, P(Bytes)]),
    "smq_publish": (I32, [C, P(Message)]),
    "smq_publish_text": (I32, [C, ctypes.c_char_p, ctypes.c_char_p, U32, U32]),
    "smq_publish_reserve": (I32, [C, P(Message), P(ANY)]),
    "smq_publish_commit": (I32, [C, SIZE]),
    "smq_publish_abort": (I32, [C]),
    "smq_publish_stream": (I32, [C, P(Message), ANY, ANY]),
    "smq_subscribe": (I32, [C, P(Subscriptions)]),
    "smq_unsubscribe": (I32, [C, P(Subscriptions)]),
    "smq_subscribe_to": (I32, [C, ctypes.c_char_p, U32, ctypes.c_uint64]),
    "smq_unsubscribe_from": (I32, [C, ctypes.c_char_p, ctypes.c_uint64]),
    "smq_next_event": (I32, [C, P(RawEvent)]),
    "smq_hold": (I32, [C]),
    "smq_ack": (I32, [C, ctypes.c_uint64, U32, P(Bytes)]),
    "smq_packet_identifier": (I32, [C, ctypes.c_uint64]),
    "smq_handle": (I32, [C, U32, P(Bytes), ANY, ANY]),
    "smq_next_match": (I32, [C, P(Bytes), I32]),
    "smq_request": (I32, [C, P(Message), P(Bytes), U32]),
    "smq_respond": (I32, [C, P(RawEvent), P(Message)]),
    "smq_wait": (I32, [C, I32]),
    "smq_fd": (I32, [C]),
    "smq_next_timeout_ms": (I32, [C]),
    "smq_service": (I32, [C]),
    "smq_flush": (I32, [C]),
    "smq_set_log": (I32, [C, I32, ANY, ANY]),
    "smq_log_name": (ctypes.c_char_p, [I32]),
    "smq_engine_opened": (I32, [C, U32]),
    "smq_engine_closed": (I32, [C, I32, U32]),
    "smq_engine_receive_buffer": (I32, [C, P(ANY), P(SIZE)]),
    "smq_engine_received": (I32, [C, SIZE, U32]),
    "smq_engine_transmit": (I32, [C, U32, P(ANY), P(SIZE)]),
    "smq_engine_transmitted": (I32, [C, SIZE, U32]),
    "smq_engine_next_timeout_ms": (I32, [C, U32]),
    "smq_engine_timed_out": (I32, [C, U32]),
    "smq_submit": (I32, [C, P(Message)]),
    "smq_runner_start": (I32, [P(Runner), C, P(RunnerOptions)]),
    "smq_runner_stop": (I32, [P(Runner), U32]),
    "smq_client_stats": (I32, [C, P(Stats)]),
    "smq_client_server": (I32, [C, P(Server)]),
    "smq_topic_name_check": (I32, [P(Bytes)]),
    "smq_topic_filter_check": (I32, [P(Bytes)]),
    "smq_topic_matches": (I32, [P(Bytes), P(Bytes)]),
    "smq_expand_template": (I32, [P(Bytes), ANY, SIZE]),
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


class Client:
    """A client, its memory, and the events that were taken but not yet asked for."""

    def __init__(self, *, reconnect: bool = False, **options: object):
        """Unless it is asked for, a client neither connects nor subscribes again by itself: the tests want to see it."""
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

    def until(self, condition: Callable[[], object], timeout: float = 30) -> object:
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

    def wait_event(self, type: int, timeout: float = 30, **fields: object) -> Event:
        """The next event of a type, and with these fields; others stay for later."""

        def found() -> Event | None:
            for event in self.events:
                if event.type == type and all(getattr(event, n) == v for n, v in fields.items()):
                    return event
            return None

        event = self.until(found, timeout)
        self.events.remove(event)
        return event

    def connected(self, timeout: float = 30) -> Event:
        """Connects, and fails if that fails."""
        status = self.connect()
        assert status == 0, status_name(status)
        self.until(lambda: any(e.type in CONNECTION_EVENTS for e in self.events), timeout)
        assert not [e for e in self.events if e.type == EVENT_DISCONNECTED], self.events
        return self.wait_event(EVENT_CONNECTED)

    def disconnected(self, timeout: float = 30) -> Event:
        return self.wait_event(EVENT_DISCONNECTED, timeout)

    def completed(self, cookie: int, timeout: float = 30) -> Event:
        return self.wait_event(EVENT_COMPLETED, timeout, cookie=cookie)

    def of(self, type: int) -> list[Event]:
        """Those that wait to be asked for."""
        return [event for event in self.events if event.type == type]

    def completions(self) -> list[Event]:
        return self.of(EVENT_COMPLETED)

    def messages(self) -> list[Event]:
        return self.of(EVENT_MESSAGE)

    def message(self, timeout: float = 30, **fields: object) -> Event:
        """The next message that arrived."""
        return self.wait_event(EVENT_MESSAGE, timeout, **fields)

    def receive(self, count: int, timeout: float = 30) -> list[Event]:
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
        return self.disconnected(timeout=drain_ms / 1000 + 5)
