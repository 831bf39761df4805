"""smq_options_fault(): the names of the options that smq_options_check() refuses."""

from __future__ import annotations

import ctypes

import pytest

from Support import smq
from Support.smq import Options, library

from .test_wrong_calls import WRONG_OPTIONS, options, will

ENOUGH = 300
NAMES = {
    'url without bytes': 'url',
    'host without bytes': 'host',
    'client id without bytes': 'client_id',
    'user name without bytes': 'user_name',
    'password without bytes': 'password',
    "will's topic without bytes": 'will',
    "will's payload without bytes": 'will',
    'size 0': 'size',
    'size 1': 'size',
    'size one less': 'size',
    "will's size": 'will',
    "will's store": 'will',
    "will's reserved": 'will',
    'properties without bytes': 'properties',
    "will's properties without bytes": 'will',
    'neither url nor host': 'url',
    'url and host': 'host, url',
    'url and port': 'port, url',
    'url with a user name, and user name': 'user_name, url',
    'url with a password, and password': 'password',
    'url and only a password': 'password',
    'url of 1025 bytes': 'url',
    'host of 254 bytes': 'host',
    'port 65536': 'port',
    'unknown flag': 'url, SMQ_OPTION_WEBSOCKET',
    'credentials that are asked for and said': 'user_name, SMQ_OPTION_ASK_CREDENTIALS',
    'credential_bytes, and nobody is asked': 'credential_bytes',
    'credential_bytes': 'credential_bytes',
    'urgent_messages': 'urgent_messages',
    'urgent_bytes': 'urgent_bytes',
    'answer_timeout_ms': 'answer_timeout_ms',
    'write_timeout_ms': 'write_timeout_ms',
    'tcp_user_timeout_ms': 'tcp_user_timeout_ms',
    'the last flag': 'flags',
    '3.1.1: new session': 'SMQ_OPTION_NEW_SESSION',
    'new session alone': 'SMQ_OPTION_NEW_SESSION',
    '3.1.1: properties': 'properties',
    "3.1.1: will's properties": 'will',
    "3.1.1: will's expiry": 'will',
    'client id of 65536 bytes': 'client_id',
    'user name of 65536 bytes': 'user_name',
    'password of 65536 bytes': 'password',
    '3.1.1: password without user name': 'password',
    '3.1.1: session expiry': 'session_expiry_s',
    '3.1.1: session expiry of 0': 'SMQ_OPTION_SESSION_EXPIRY',
    'keep alive 65536': 'keep_alive_s',
    'connect timeout': 'connect_timeout_ms',
    'ping timeout': 'ping_timeout_ms',
    'outbox of 63 bytes': 'outbox_bytes',
    'outbox of too many bytes': 'outbox_bytes',
    'outbox of 65280 messages': 'outbox_messages',
    'receive buffer of 63 bytes': 'receive_bytes',
    'receive buffer too large': 'receive_bytes',
    'in flight 65536': 'in_flight_maximum',
    'receive maximum 65536': 'receive_maximum',
    'packets below the receive buffer': 'maximum_packet_bytes',
    "packets above MQTT's": 'maximum_packet_bytes',
    '257 requests': 'requests',
    'requests in 31 bytes': 'request_bytes',
    'requests in too many bytes': 'request_bytes',
    'control packets in 31 bytes': 'control_bytes',
    'control packets in too many bytes': 'control_bytes',
    '65536 handlers': 'handlers',
    '1025 aliases in': 'topic_aliases_in',
    '1025 aliases out': 'topic_aliases_out',
    'aliases of 65536 bytes': 'topic_alias_bytes',
    '1025 replies': 'replies',
    'busy_poll_us 1000001': 'busy_poll_us',
    'busy_poll_us, own transport': 'busy_poll_us, SMQ_OPTION_OWN_TRANSPORT',
    'journal_bytes without journal': 'journal_bytes',
    'journal_delay_ms without journal': 'journal_delay_ms',
    'journal_batch_bytes without journal': 'journal_batch_bytes',
    'inspect, too long': 'inspect',
    'inspect, a zero': 'inspect',
    'inspect_mode, no permissions': 'inspect_mode',
    'inspect_bytes, too few': 'inspect_bytes',
    'inspect_bytes, too many': 'inspect_bytes',
    'inspect_mode without inspect': 'inspect_mode',
    'inspect_bytes without inspect': 'inspect_bytes',
    'inspect with an own transport': 'inspect, SMQ_OPTION_OWN_TRANSPORT',
    'journal_flags without journal': 'journal_flags',
    'journal without a session': 'journal',
    'journal, own transport': 'journal, SMQ_OPTION_OWN_TRANSPORT',
    'journal of 1001 bytes': 'journal',
    'journal with a zero': 'journal',
    'journal, too small': 'journal_bytes',
    'journal, smaller than the outbox needs': 'journal_bytes',
    'journal, too large': 'journal_bytes',
    'journal, an outbox too large': 'outbox_bytes',
    'journal, 60001 ms': 'journal_delay_ms',
    'journal, small batch': 'journal_batch_bytes',
    'journal, large batch': 'journal_batch_bytes',
    'journal, unknown flag': 'journal_flags',
    'journal, too many unreleased': 'journal_batch_bytes',
    '65536 references': 'references',
    'stream of 63 bytes': 'stream_bytes',
    'stream of too many bytes': 'stream_bytes',
    "will's retain 2": 'will',
    "will's quiet 2": 'will',
    'protocol 2': 'protocol',
    'protocol 3 without a client id': 'client_id, protocol',
    'protocol 3, 24 bytes': 'client_id, protocol',
    'protocol 6': 'protocol',
    'no client id to keep a session': 'client_id, SMQ_OPTION_KEEP_SESSION',
    "will's QoS 3": 'will',
    "will's topic empty": 'will',
    "will's topic +": 'will',
    "will's topic #": 'will',
    "will's topic too long": 'will',
    "will's topic not UTF-8": 'will',
    'client id not UTF-8': 'client_id',
    'client id with U+0000': 'client_id',
    'user name not UTF-8': 'user_name',
    "will's payload of 65536 bytes": 'will',
}
TRANSPORTS = {
    "tls_settings": dict(host="h", tls_settings=1),
    "tls_name": dict(host="h", tls_name="h"),
    "alpn": dict(host="h", alpn="mqtt"),
    "proxy": dict(host="h", proxy="socks4://h"),
    "proxy, host": dict(host="/run/mqtt.sock", proxy="http://p"),
    "dscp, host": dict(host="/run/mqtt.sock", dscp=1),
    "dscp": dict(host="h", dscp=64),
    "bind_address": dict(host="h", bind_address="nowhere"),
    "bind_device": dict(host="h", bind_device="a device with blanks"),
    "websocket_path": dict(host="h", websocket_path="/mqtt"),
    "websocket_headers": dict(host="h", websocket_headers="A: b"),
    "websocket_protocol": dict(host="h", websocket_protocol="mqtt"),
    "websocket_bytes": dict(host="h", websocket_bytes=4096),
    "websocket_request_bytes": dict(host="h", websocket_request_bytes=4096),
    "url": dict(url="mqtt://h:0"),
}
# What each needs, to be refused for its own value.
CONTEXT = {
    "urgent_bytes": dict(urgent_messages=1),
    "handler_bytes": dict(handlers=1),
    "trace_packet_bytes": dict(trace_bytes=4096),
    "websocket_bytes": dict(url="ws://h"),
    "websocket_request_bytes": dict(url="ws://h"),
    "submit_bytes": dict(submit_messages=1),
    "port": dict(url="", host="h"),
    "credential_bytes": dict(flags=smq.OPTION_ASK_CREDENTIALS),
    "session_expiry_s": dict(protocol=smq.PROTOCOL_3_1_1),
    **{name: dict(flags=smq.OPTION_KEEP_SESSION, client_id="a", journal="j")
       for name in ("journal_bytes", "journal_delay_ms", "journal_batch_bytes", "journal_flags")},
}
NUMBERS = [name for name, kind in Options._fields_ if kind is ctypes.c_uint32 and name not in ("size", "flags")]


def fault(wrong: Options) -> str:
    text = ctypes.create_string_buffer(ENOUGH)
    size = library.smq_options_fault(ctypes.byref(wrong), text, ENOUGH)
    assert size == len(text.value) and library.smq_options_fault(ctypes.byref(wrong), None, 0) == size
    return text.value.decode()


def test_every_wrong_option_has_its_names():
    """Those of test_wrong_calls.py; and nothing is changed."""
    assert NAMES.keys() == WRONG_OPTIONS.keys()
    for name, (make, _) in WRONG_OPTIONS.items():
        wrong = make()
        before = bytes(wrong)
        assert fault(wrong) == NAMES[name], name
        assert bytes(wrong) == before


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number(name: str):
    wrong = options(**{"protocol": smq.PROTOCOL_5_0, **CONTEXT.get(name, {}), name: 0xFFFF_FFFE})
    assert library.smq_options_check(ctypes.byref(wrong), None) < 0
    assert name in fault(wrong).split(", ")


@pytest.mark.parametrize("names", TRANSPORTS)
def test_transports(names: str):
    assert fault(Options(**TRANSPORTS[names])) == names


def test_every_flag_is_named():
    """Each flag beside one number that is wrong with it, or the flag that needs more than it has."""
    named = set()
    for name, value in smq.CONSTANTS.items():
        if not name.startswith("SMQ_OPTION_"):
            continue
        wrong = options(flags=value | 1 << 31, outbox_bytes=1)
        assert fault(wrong) == "flags", name
        named.add(value)
    assert named == {1 << bit for bit in range(17)}
    for flags, names in (
        (smq.OPTION_KEEP_SESSION, "client_id, SMQ_OPTION_KEEP_SESSION"), (smq.OPTION_NEW_SESSION, "SMQ_OPTION_NEW_SESSION"),
        (smq.OPTION_SESSION_EXPIRY, "SMQ_OPTION_SESSION_EXPIRY"), (smq.OPTION_WEBSOCKET, "url, SMQ_OPTION_WEBSOCKET"),
        (smq.OPTION_PASSWORD, "SMQ_OPTION_PASSWORD"),
        (smq.OPTION_USER_NAME | smq.OPTION_ASK_CREDENTIALS, "SMQ_OPTION_USER_NAME, SMQ_OPTION_ASK_CREDENTIALS"),
    ):  # fmt: skip
        assert fault(options(flags=flags)) == names


def test_several_that_are_wrong():
    """One of them is named, the earliest of the struct, whatever the others are."""
    assert fault(options(outbox_bytes=1, receive_bytes=1, dscp=99, trace_bytes=1)) == "outbox_bytes"


def test_nothing_is_wrong():
    text = ctypes.create_string_buffer(b"before", 7)
    assert library.smq_options_fault(ctypes.byref(options()), text, 7) == 0 and text.value == b""
    assert library.smq_options_fault(None, text, 7) == 0 and text.value == b""


@pytest.mark.parametrize("capacity", range(14))
def test_too_little_room(capacity: int):
    text = ctypes.create_string_buffer(b"#" * 20, 20)
    wrong = options(outbox_bytes=1, will=will())
    assert library.smq_options_fault(ctypes.byref(wrong), text, capacity) == 12
    written = b"outbox_bytes"[: max(capacity - 1, 0)] + (b"\0" if capacity else b"")
    assert text.raw == written + b"#" * (20 - len(written))
