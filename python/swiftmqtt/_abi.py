"""include/swiftmqtt.h and swiftmqtt-tls-engine.h in ctypes: their structs and functions, and nothing else."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any


class BytesIn(ctypes.Structure):
    """A smq_bytes that is handed over: takes bytes, and keeps them alive."""

    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class BytesOut(ctypes.Structure):
    """A smq_bytes that is received: a view into memory of the client's."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    if TYPE_CHECKING:
        data: int
        size: int


TYPES: dict[str, Any] = {
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "i32": ctypes.c_int32,
    "u64": ctypes.c_uint64,
    "i64": ctypes.c_int64,
    "usize": ctypes.c_size_t,
    "pointer": ctypes.c_void_p,
    "in": BytesIn,
    "out": BytesOut,
    "u32x16": ctypes.c_uint32 * 16,
    "u8x32": ctypes.c_uint8 * 32,
    "char64": ctypes.c_char * 64,
    "char128": ctypes.c_char * 128,
    "char256": ctypes.c_char * 256,
    "char512": ctypes.c_char * 512,
}


def fields(*lines: str) -> list[tuple[str, Any]]:
    """The fields of a struct, from lines of a type and names."""
    return [(name, TYPES[kind]) for kind, *names in map(str.split, lines) for name in names]


class Struct(ctypes.Structure):
    """A struct whose fields mypy does not know."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def put(self, name: str, value: bytes) -> None:
        """Sets a smq_bytes; the struct keeps the bytes alive."""
        view = getattr(self, name)
        view.data = value
        view.size = len(value)


class Sized(Struct):
    """A struct that starts with its size."""

    def __init__(self) -> None:
        super().__init__()
        self.size = ctypes.sizeof(self)


class PropertyList(Struct):
    """smq_properties"""

    _fields_ = fields("pointer data", "usize capacity size")


class Property(Sized):
    """smq_property"""

    _fields_ = fields("u32 size identifier number reserved", "out name value")


class Message(Sized):
    """smq_message"""

    topic_text: str  # for those who read what is said of it

    _fields_ = fields(
        "u32 size",
        "u8 qos retain quiet overflow",
        "in topic payload",
        "u64 cookie",
        "in properties",
        "u32 expiry_s",
        "u8 urgent store",
        "u16 reserved2",
    )


OPTION_NUMBERS = (
    "keep_alive_s session_expiry_s connect_timeout_ms ping_timeout_ms outbox_bytes outbox_messages "
    "receive_bytes in_flight_maximum receive_maximum maximum_packet_bytes requests request_bytes control_bytes "
    "handlers handler_bytes topic_aliases_in topic_aliases_out topic_alias_bytes replies stream_bytes "
    "reconnect_min_ms reconnect_max_ms stable_ms jitter subscriptions subscription_bytes resubscribe "
    "urgent_messages urgent_bytes answer_timeout_ms write_timeout_ms tcp_user_timeout_ms credential_bytes "
    "submit_messages submit_bytes unreleased_maximum addresses"
).split()
WEBSOCKET_NUMBERS = ("websocket_bytes", "websocket_request_bytes")
SOCKET_NUMBERS = ("dscp", "tcp_keep_alive_s")
JOURNAL_NUMBERS = ("journal_bytes", "journal_delay_ms", "journal_batch_bytes", "journal_flags")
TRACE_NUMBERS = ("trace_bytes", "trace_packet_bytes")
INSPECT_NUMBERS = ("inspect_mode", "inspect_bytes")


class Options(Sized):
    """smq_options"""

    _fields_ = fields(
        "u32 size flags",
        "in url host",
        "u32 port protocol",
        "in client_id user_name password",
        "pointer will",
        "in properties",
        "u32 " + " ".join(OPTION_NUMBERS),
        "pointer tls tls_settings",
        "in tls_name alpn proxy websocket_path websocket_headers websocket_protocol",
        "u32 " + " ".join(WEBSOCKET_NUMBERS),
        "in bind_device bind_address",
        "u32 " + " ".join(SOCKET_NUMBERS),
        "u32 references busy_poll_us",
        "in journal",
        "u32 " + " ".join(JOURNAL_NUMBERS),
        "u32 " + " ".join(TRACE_NUMBERS),
        "in inspect",
        "u32 " + " ".join(INSPECT_NUMBERS),
    )


class Failure(Sized):
    """smq_failure"""

    _fields_ = fields(
        "u32 size",
        "i32 status stage os_error",
        "u32 attempt",
        "i32 http_status socks_reply close_code tls_cause tls_alert tls_depth reserved",
        "i64 not_before_s not_after_s tls_native",
        "out tls_subject text",
    )


class Subscription(Struct):
    """smq_subscription"""

    _fields_ = fields("in filter", "u8 qos no_local retain_as_published retain_handling", "u32 reserved")


class Subscriptions(Sized):
    """smq_subscriptions"""

    _fields_ = fields("u32 size count", "pointer list", "u64 cookie", "in properties", "u32 identifier reserved")


class Completion(ctypes.Structure):
    """smq_completion"""

    _fields_ = fields("u64 cookie", "i32 status reason_code latency_ms", "u32 reserved")


class Event(Sized):
    """smq_event"""

    _fields_ = fields(
        "u32 size",
        "i32 type status stage os_error reason_code",
        "u32 attempt session_present protocol",
        "i32 rule",
        "u64 cookie",
        "out reason_string server_reference properties reason_codes topic payload",
        "u32 payload_offset payload_total",
        "u8 qos retain duplicate part",
        "i32 subscription",
        "pointer handler user",
        "u64 token",
        "u32 subscription_identifier",
        "i32 retry_ms",
        "u32 server port",
        "i32 latency_ms",
        "u32 completed",
    )


def unpacker(of: Any, names: str) -> struct.Struct:
    """Takes the fields with these names out of an array of structs, in the order in which they stand there: in one call,
    where ctypes would make an object for each. "topic.size" is a field of a field."""
    format, at = "=", 0
    for name in names.split():
        offset, kind = 0, of
        for part in name.split("."):
            offset += getattr(kind, part).offset
            kind = dict(kind._fields_)[part]
        format += f"{offset - at}x{_FORMATS[ctypes.sizeof(kind), kind in _SIGNED]}"
        at = offset + ctypes.sizeof(kind)
    return struct.Struct(f"{format}{ctypes.sizeof(of) - at}x")


_SIGNED = (ctypes.c_int32, ctypes.c_int64)
_FORMATS = {(1, False): "B", (2, False): "H", (4, False): "I", (8, False): "Q", (4, True): "i", (8, True): "q"}

#: What most events consist of.
EVENT_FIELDS = unpacker(
    Event,
    "type status cookie properties.data properties.size topic.data topic.size payload.data payload.size payload_total qos "
    "retain duplicate part token subscription_identifier",
)
COMPLETION_FIELDS = unpacker(Completion, "cookie status reason_code latency_ms")


class Stats(Sized):
    """smq_stats"""

    _fields_ = fields(
        "u32 size connections",
        "u64 messages_published messages_completed messages_failed packets_sent packets_received bytes_sent "
        "bytes_received send_calls receive_calls",
        "u32 outbox_bytes outbox_bytes_peak outbox_bytes_capacity outbox_messages outbox_messages_peak "
        "outbox_messages_capacity in_flight in_flight_maximum",
        "u64 messages_received messages_duplicate messages_oversize messages_expired",
        "u32 unacknowledged unacknowledged_peak receive_maximum requests requests_peak replies replies_peak "
        "subscriptions receive_bytes_peak control_bytes_peak urgent_bytes urgent_bytes_peak urgent_messages "
        "urgent_messages_peak outbox_age_ms attempts",
        "u64 messages_dropped messages_replaced",
        "u32x16 latency round_trip",
        "u32 ended_requested ended_refused ended_server_closed ended_malformed ended_protocol ended_keep_alive "
        "ended_stream ended_resolve ended_network ended_closed ended_timeout ended_credentials",
        "u64 submitted submit_full",
        "u32 submit_waiting submit_peak",
        "u64 messages_postponed",
        "u32 ended_proxy ended_tls ended_websocket reserved",
    )


class JournalInfo(Sized):
    """smq_journal_info"""

    _fields_ = fields("u32 size", "i32 os_error", "u64 accepted stored", "u32 failures blocks used torn")


class Packet(Sized):
    """smq_packet"""

    _fields_ = fields(
        "u32 size direction time_ms type length outbox_messages in_flight reserved", "out data more"
    )


class Server(Sized):
    """smq_server"""

    _fields_ = fields(
        "u32 size protocol session_expiry_s receive_maximum maximum_packet_bytes maximum_qos retain_available "
        "wildcard_available shared_available subscription_identifiers_available topic_alias_maximum keep_alive_s"
    )


# ---- include/swiftmqtt-tls-engine.h


class TLSFailure(Sized):
    """smq_tls_failure"""

    _fields_ = fields("u32 size", "i32 cause alert depth", "i64 not_before_s not_after_s native", "char128 subject text")


class TLSInfo(Sized):
    """smq_tls_info"""

    _fields_ = fields(
        "u32 size", "u16 version is_resumed", "u32 cipher_id certificates", "char64 cipher alpn library", "pointer connection"
    )


class TLSCertificate(Sized):
    """smq_tls_certificate"""

    _fields_ = fields(
        "u32 size reserved",
        "i64 not_before_s not_after_s",
        "u8x32 spki_sha256",
        "char256 subject issuer",
        "char512 names",
        "char64 key",
    )


STRUCTS: dict[str, Any] = {
    "smq_bytes": BytesIn,
    "smq_properties": PropertyList,
    "smq_property": Property,
    "smq_message": Message,
    "smq_options": Options,
    "smq_failure": Failure,
    "smq_subscription": Subscription,
    "smq_subscriptions": Subscriptions,
    "smq_event": Event,
    "smq_completion": Completion,
    "smq_stats": Stats,
    "smq_server": Server,
    "smq_journal_info": JournalInfo,
    "smq_packet": Packet,
}

# All structs of swiftmqtt.h, in the order in which they stand there: that of smq_abi_layout().
ORDER = (
    "smq_bytes smq_properties smq_property smq_message smq_options smq_failure smq_subscription smq_subscriptions "
    "smq_event smq_completion smq_runner smq_runner_options smq_stats smq_server smq_journal_info "
    "smq_storage smq_packet smq_observer"
).split()

# Those of swiftmqtt-tls-engine.h, of which a library does not tell the layout: only their size field says what it knows.
TLS_STRUCTS: dict[str, Any] = {
    "smq_tls_failure": TLSFailure,
    "smq_tls_info": TLSInfo,
    "smq_tls_certificate": TLSCertificate,
}

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
TAP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Packet))
PULL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t)

P = ctypes.POINTER
CLIENT = ANY = ctypes.c_void_p
I32, U32, U64, SIZE, TEXT = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # name: (result, arguments)
    "smq_version": (U32, []),
    "smq_abi_layout": (P(ctypes.c_uint16), []),
    "smq_status_name": (TEXT, [I32]),
    "smq_status_text": (TEXT, [I32]),
    "smq_reason_code_name": (TEXT, [U32, I32]),
    "smq_stage_name": (TEXT, [I32]),
    "smq_rule_name": (TEXT, [I32]),
    "smq_property_put_number": (I32, [P(PropertyList), U32, U32]),
    "smq_property_put_bytes": (I32, [P(PropertyList), U32, P(BytesIn)]),
    "smq_property_put_pair": (I32, [P(PropertyList), P(BytesIn), P(BytesIn)]),
    "smq_property_next": (I32, [P(BytesIn), P(SIZE), P(Property)]),
    "smq_options_check": (I32, [P(Options), P(SIZE)]),
    "smq_options_fault": (SIZE, [P(Options), ctypes.c_char_p, SIZE]),
    "smq_client_size": (SIZE, [P(Options)]),
    "smq_client_init": (I32, [ANY, SIZE, P(Options), P(CLIENT)]),
    "smq_client_close": (I32, [CLIENT]),
    "smq_client_id": (I32, [CLIENT, P(BytesOut)]),
    "smq_client_state": (I32, [CLIENT]),
    "smq_connect": (I32, [CLIENT]),
    "smq_authenticate": (I32, [CLIENT, U32, P(BytesIn), P(BytesIn)]),
    "smq_credentials": (I32, [CLIENT, U32, P(BytesIn), P(BytesIn)]),
    "smq_withhold_credentials": (I32, [CLIENT, U32, U32]),
    "smq_addresses": (I32, [CLIENT, U32, P(BytesIn), U32]),
    "smq_hint_network": (I32, [CLIENT, U32]),
    "smq_hint_resume": (I32, [CLIENT]),
    "smq_disconnect": (I32, [CLIENT, U32]),
    "smq_disconnect_with": (I32, [CLIENT, U32, U32, P(BytesIn)]),
    "smq_last_failure": (I32, [CLIENT, P(Failure)]),
    "smq_tls_cause_name": (TEXT, [I32]),
    "smq_tls_describe": (I32, [CLIENT, P(TLSInfo)]),
    "smq_tls_describe_certificate": (I32, [CLIENT, U32, P(TLSCertificate)]),
    "smq_websocket_request": (I32, [CLIENT, P(BytesIn), P(BytesIn)]),
    "smq_publish": (I32, [CLIENT, P(Message)]),
    "smq_publish_stream": (I32, [CLIENT, P(Message), PULL, ANY]),
    "smq_publish_reference": (I32, [CLIENT, P(Message)]),
    "smq_subscribe": (I32, [CLIENT, P(Subscriptions)]),
    "smq_unsubscribe": (I32, [CLIENT, P(Subscriptions)]),
    "smq_next_events": (I32, [CLIENT, ANY, U32]),
    "smq_next_completions": (I32, [CLIENT, ANY, U32]),
    "smq_ack": (I32, [CLIENT, U64, U32, P(BytesIn)]),
    "smq_packet_identifier": (I32, [CLIENT, U64]),
    "smq_delivery_number": (I32, [CLIENT, U64, P(U64)]),
    "smq_request": (I32, [CLIENT, P(Message), P(BytesIn), U32]),
    "smq_fd": (I32, [CLIENT]),
    "smq_next_timeout_ms": (I32, [CLIENT]),
    "smq_service": (I32, [CLIENT]),
    "smq_flush": (I32, [CLIENT]),
    "smq_submit": (I32, [CLIENT, P(Message)]),
    "smq_client_stats": (I32, [CLIENT, P(Stats)]),
    "smq_set_log": (I32, [CLIENT, I32, LOG, ANY]),
    "smq_log_name": (TEXT, [I32]),
    "smq_client_server": (I32, [CLIENT, P(Server)]),
    "smq_sync": (I32, [CLIENT, I32]),
    "smq_journal_state": (I32, [CLIENT, P(JournalInfo)]),
    "smq_trace_read": (I32, [CLIENT, TAP, ANY]),
    "smq_trace_clear": (I32, [CLIENT]),
    "smq_topic_name_check": (I32, [P(BytesIn)]),
    "smq_topic_filter_check": (I32, [P(BytesIn)]),
    "smq_topic_matches": (I32, [P(BytesIn), P(BytesIn)]),
}
