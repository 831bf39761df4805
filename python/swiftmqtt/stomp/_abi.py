"""include/swiftstomp.h in ctypes: its structs and functions, and nothing else."""

from __future__ import annotations

import ctypes
from typing import Any

from .._abi import BytesIn, BytesOut, Sized, Struct, fields

__all__ = ["BytesIn", "BytesOut", "Event", "Failure", "Frame", "Headers", "Options", "Subscription"]


class Headers(Struct):
    """sst_headers"""

    _fields_ = fields("pointer data", "usize capacity size")


TIMES = ("heart_beat_send_ms", "heart_beat_receive_ms", "connect_timeout_ms", "receipt_timeout_ms")
ROOM = (
    "outbox_bytes outbox_frames receive_bytes control_bytes subscriptions subscription_bytes held_messages held_bytes "
    "transactions credential_bytes"
).split()
OTHERS = (
    "reconnect_min_ms reconnect_max_ms stable_ms jitter write_timeout_ms tcp_user_timeout_ms tcp_keep_alive_s dscp "
    "addresses busy_poll_us"
).split()
WEBSOCKET_NUMBERS = ("websocket_bytes", "websocket_request_bytes")
URGENT = ("urgent_frames", "urgent_bytes")
INSPECT_NUMBERS = ("inspect_mode", "inspect_bytes")
JOURNAL_NUMBERS = ("journal_bytes", "journal_delay_ms", "journal_batch_bytes", "journal_flags")
NUMBERS = (*TIMES, *ROOM, *OTHERS, *WEBSOCKET_NUMBERS, *URGENT, *JOURNAL_NUMBERS, *INSPECT_NUMBERS)


class Options(Sized):
    """sst_options"""

    _fields_ = fields(
        "u32 size flags",
        "in url host",
        "u32 port oldest newest",
        "in virtual_host login passcode headers",
        "u32 " + " ".join((*TIMES, *ROOM, *OTHERS)),
        "pointer tls tls_settings",
        "in tls_name alpn proxy websocket_path websocket_headers websocket_protocol",
        "u32 " + " ".join(WEBSOCKET_NUMBERS),
        "in bind_device bind_address",
        "u32 submit_frames submit_bytes urgent_frames urgent_bytes",
        "in journal",
        "u32 " + " ".join(JOURNAL_NUMBERS),
        "in inspect",
        "u32 " + " ".join(INSPECT_NUMBERS),
    )


class Failure(Sized):
    """sst_failure"""

    _fields_ = fields(
        "u32 size",
        "i32 status stage os_error",
        "u32 attempt",
        "i32 http_status socks_reply close_code tls_cause tls_alert tls_depth reserved",
        "i64 not_before_s not_after_s tls_native",
        "out tls_subject text",
    )


class Frame(Sized):
    """sst_frame"""

    _fields_ = fields(
        "u32 size flags", "in destination body content_type headers", "u64 cookie", "u32 transaction overflow"
    )


class Subscription(Sized):
    """sst_subscription"""

    _fields_ = fields("u32 size ack", "in destination headers", "u64 cookie")


class Event(Sized):
    """sst_event"""

    _fields_ = fields(
        "u32 size",
        "i32 type status stage os_error rule",
        "u32 version completed attempt server port",
        "i32 retry_ms",
        "u64 cookie token",
        "i32 subscription",
        "u32 part heart_beat_send_ms heart_beat_receive_ms",
        "out destination content_type message_id headers body",
        "u32 body_offset body_total",
        "out text",
    )


class Stats(Sized):
    """sst_stats"""

    _fields_ = fields(
        "u32 size connections",
        "u64 frames_sent frames_received bytes_sent bytes_received send_calls receive_calls messages_sent messages_failed "
        "messages_received messages_oversize",
        "u32 outbox_bytes outbox_bytes_peak outbox_frames outbox_frames_peak receipts_due held "
        "submit_waiting submit_peak",
        "u64 submitted submit_full",
        "u32 attempts ended_requested ended_refused ended_server_closed ended_malformed ended_heart_beat ended_resolve "
        "ended_network ended_closed ended_timeout ended_credentials ended_proxy ended_tls ended_websocket urgent_frames",
        "u64 messages_dropped",
        "u32 urgent_frames_peak reserved",
    )


class JournalInfo(Sized):
    """sst_journal_info"""

    _fields_ = fields("u32 size", "i32 os_error", "u64 accepted stored", "u32 failures blocks used torn")


STRUCTS: dict[str, Any] = {
    "sst_bytes": BytesIn,
    "sst_headers": Headers,
    "sst_options": Options,
    "sst_failure": Failure,
    "sst_frame": Frame,
    "sst_subscription": Subscription,
    "sst_event": Event,
    "sst_stats": Stats,
    "sst_journal_info": JournalInfo,
}

# All structs of swiftstomp.h, in the order in which they stand there: that of sst_abi_layout().
ORDER = (
    "sst_bytes sst_headers sst_options sst_failure sst_frame sst_subscription sst_event sst_runner sst_runner_options "
    "sst_stats sst_observed sst_journal_info"
).split()

P = ctypes.POINTER
CLIENT = ANY = ctypes.c_void_p
I32, U32, U64, SIZE, TEXT = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # name: (result, arguments)
    "sst_version": (U32, []),
    "sst_abi_layout": (P(ctypes.c_uint16), []),
    "sst_status_name": (TEXT, [I32]),
    "sst_status_text": (TEXT, [I32]),
    "sst_stage_name": (TEXT, [I32]),
    "sst_rule_name": (TEXT, [I32]),
    "sst_header_put": (I32, [P(Headers), P(BytesIn), P(BytesIn)]),
    "sst_options_check": (I32, [P(Options), P(SIZE)]),
    "sst_options_fault": (SIZE, [P(Options), ctypes.c_char_p, SIZE]),
    "sst_client_size": (SIZE, [P(Options)]),
    "sst_client_init": (I32, [ANY, SIZE, P(Options), P(CLIENT)]),
    "sst_client_close": (I32, [CLIENT]),
    "sst_client_state": (I32, [CLIENT]),
    "sst_connect": (I32, [CLIENT]),
    "sst_disconnect": (I32, [CLIENT, U32]),
    "sst_credentials": (I32, [CLIENT, U32, P(BytesIn), P(BytesIn)]),
    "sst_withhold_credentials": (I32, [CLIENT, U32, U32]),
    "sst_addresses": (I32, [CLIENT, U32, P(BytesIn), U32]),
    "sst_hint_network": (I32, [CLIENT]),
    "sst_last_failure": (I32, [CLIENT, P(Failure)]),
    "sst_websocket_request": (I32, [CLIENT, P(BytesIn), P(BytesIn)]),
    "sst_send": (I32, [CLIENT, P(Frame)]),
    "sst_subscribe": (I32, [CLIENT, P(Subscription)]),
    "sst_unsubscribe": (I32, [CLIENT, U32, U64]),
    "sst_unsubscribe_with": (I32, [CLIENT, U32, P(BytesIn), U64]),
    "sst_ack": (I32, [CLIENT, U64, U32]),
    "sst_ack_with": (I32, [CLIENT, U64, P(BytesIn), U32]),
    "sst_nack": (I32, [CLIENT, U64, U32]),
    "sst_nack_with": (I32, [CLIENT, U64, P(BytesIn), U32]),
    "sst_begin": (I32, [CLIENT]),
    "sst_commit": (I32, [CLIENT, U32, U64]),
    "sst_abort": (I32, [CLIENT, U32, U64]),
    "sst_next_event": (I32, [CLIENT, P(Event)]),
    "sst_header_next": (I32, [P(Event), P(SIZE), P(BytesOut), P(BytesOut)]),
    "sst_wait": (I32, [CLIENT, I32]),
    "sst_fd": (I32, [CLIENT]),
    "sst_next_timeout_ms": (I32, [CLIENT]),
    "sst_service": (I32, [CLIENT]),
    "sst_flush": (I32, [CLIENT]),
    "sst_client_stats": (I32, [CLIENT, P(Stats)]),
    "sst_sync": (I32, [CLIENT, I32]),
    "sst_journal_state": (I32, [CLIENT, P(JournalInfo)]),
}
