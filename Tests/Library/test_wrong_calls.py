"""Calls that are wrong: each has its own error, and changes nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from Support import smq, tls
from Support.scripted_broker import PUBACK, Script
from Support.smq import (
    Bytes,
    Client,
    Completion,
    Message,
    Options,
    RawEvent,
    Server,
    Stats,
    Subscription,
    Subscriptions,
    library,
    reference,
)

byref = ctypes.byref
NO_PULL = smq.PULL(lambda user, offset, buffer, size: 0)
URL = "mqtt://127.0.0.1:1883"
DANGLING = Bytes(None, 5)
RIGHT = b"\x26\0\1a\0\1b"  # a User Property


def options(**values: object) -> Options:
    return Options(**{"url": URL, **values})


def journal(flags: int = 0, **values: object) -> Options:
    return options(**{"client_id": "a", "journal": "journal", **values}, flags=flags | smq.OPTION_KEEP_SESSION)


def will(**values: object) -> Message:
    return Message(**{"topic": "w", **values})


def sized(struct: object, size: int) -> object:
    struct.size = size
    return struct


# ---- Options ----

WRONG_OPTIONS: dict[str, tuple[Callable[[], Options], int]] = {
    "url without bytes": (lambda: options(url=DANGLING), smq.ERR_NULL),
    "host without bytes": (lambda: Options(host=DANGLING), smq.ERR_NULL),
    "client id without bytes": (lambda: options(client_id=DANGLING), smq.ERR_NULL),
    "user name without bytes": (lambda: Options(host="h", user_name=DANGLING), smq.ERR_NULL),
    "password without bytes": (lambda: Options(host="h", password=DANGLING), smq.ERR_NULL),
    "will's topic without bytes": (lambda: options(will=will(topic=DANGLING)), smq.ERR_NULL),
    "will's payload without bytes": (lambda: options(will=will(payload=DANGLING)), smq.ERR_NULL),
    "size 0": (lambda: sized(options(), 0), smq.ERR_STRUCT_SIZE),
    "size 1": (lambda: sized(options(), 1), smq.ERR_STRUCT_SIZE),
    "size one less": (lambda: sized(options(), ctypes.sizeof(Options) - 1), smq.ERR_STRUCT_SIZE),
    "will's size": (lambda: options(will=sized(will(), 8)), smq.ERR_STRUCT_SIZE),
    "will's store": (lambda: options(will=will(store=2)), smq.ERR_OPTION),
    "will's reserved": (lambda: options(will=will(reserved2=1)), smq.ERR_STRUCT_SIZE),
    "properties without bytes": (lambda: options(protocol=5, properties=DANGLING), smq.ERR_NULL),
    "will's properties without bytes": (
        lambda: options(protocol=5, will=will(properties=DANGLING)),
        smq.ERR_NULL,
    ),
    "neither url nor host": (lambda: Options(), smq.ERR_OPTION),
    "url and host": (lambda: options(host="h"), smq.ERR_OPTION),
    "url and port": (lambda: options(port=1), smq.ERR_OPTION),
    "url with a user name, and user name": (lambda: options(url="mqtt://u@h", user_name="u"), smq.ERR_OPTION),
    "url with a password, and password": (lambda: options(url="mqtt://u:p@h", password="p"), smq.ERR_OPTION),
    "url and only a password": (lambda: options(password="p"), smq.ERR_OPTION),
    "url of 1025 bytes": (lambda: options(url="mqtt://u:" + "p" * 1014 + "@h"), smq.ERR_OPTION),
    "host of 254 bytes": (lambda: Options(host="a" * 254), smq.ERR_OPTION),
    "port 65536": (lambda: Options(host="h", port=65536), smq.ERR_OPTION),
    "unknown flag": (lambda: options(flags=65536), smq.ERR_OPTION),
    "credentials that are asked for and said": (
        lambda: options(flags=smq.OPTION_ASK_CREDENTIALS, user_name="u"),
        smq.ERR_OPTION,
    ),
    "credential_bytes, and nobody is asked": (lambda: options(credential_bytes=1), smq.ERR_OPTION),
    "credential_bytes": (
        lambda: options(flags=smq.OPTION_ASK_CREDENTIALS, credential_bytes=131_071),
        smq.ERR_OPTION,
    ),
    "urgent_messages": (lambda: options(urgent_messages=257), smq.ERR_OPTION),
    "urgent_bytes": (lambda: options(urgent_messages=1, urgent_bytes=63), smq.ERR_OPTION),
    "answer_timeout_ms": (lambda: options(answer_timeout_ms=86_400_001), smq.ERR_OPTION),
    "write_timeout_ms": (lambda: options(write_timeout_ms=86_400_001), smq.ERR_OPTION),
    "tcp_user_timeout_ms": (lambda: options(tcp_user_timeout_ms=86_400_001), smq.ERR_OPTION),
    "the last flag": (lambda: options(flags=1 << 31), smq.ERR_OPTION),
    "3.1.1: new session": (
        lambda: options(flags=smq.OPTION_KEEP_SESSION + smq.OPTION_NEW_SESSION, client_id="a"),
        smq.ERR_OPTION,
    ),
    "new session alone": (
        lambda: options(flags=smq.OPTION_NEW_SESSION, client_id="a", protocol=5),
        smq.ERR_OPTION,
    ),
    "3.1.1: properties": (lambda: options(properties=RIGHT), smq.ERR_OPTION),
    "3.1.1: will's properties": (lambda: options(will=will(properties=RIGHT)), smq.ERR_OPTION),
    "3.1.1: will's expiry": (lambda: options(will=will(expiry_s=1)), smq.ERR_OPTION),
    "client id of 65536 bytes": (lambda: options(client_id="a" * 65536), smq.ERR_OPTION),
    "user name of 65536 bytes": (lambda: Options(host="h", user_name="a" * 65536), smq.ERR_OPTION),
    "password of 65536 bytes": (
        lambda: Options(host="h", user_name="u", password="a" * 65536),
        smq.ERR_OPTION,
    ),
    "3.1.1: password without user name": (lambda: Options(host="h", password="p"), smq.ERR_OPTION),
    "3.1.1: session expiry": (lambda: options(session_expiry_s=1), smq.ERR_OPTION),
    "3.1.1: session expiry of 0": (lambda: options(flags=smq.OPTION_SESSION_EXPIRY), smq.ERR_OPTION),
    "keep alive 65536": (lambda: options(keep_alive_s=65536), smq.ERR_OPTION),
    "connect timeout": (lambda: options(connect_timeout_ms=86_400_001), smq.ERR_OPTION),
    "ping timeout": (lambda: options(ping_timeout_ms=86_400_001), smq.ERR_OPTION),
    "outbox of 63 bytes": (lambda: options(outbox_bytes=63), smq.ERR_OPTION),
    "outbox of too many bytes": (lambda: options(outbox_bytes=268_435_457), smq.ERR_OPTION),
    "outbox of 65280 messages": (lambda: options(outbox_messages=65280), smq.ERR_OPTION),
    "receive buffer of 63 bytes": (lambda: options(receive_bytes=63), smq.ERR_OPTION),
    "receive buffer too large": (lambda: options(receive_bytes=268_435_457), smq.ERR_OPTION),
    "in flight 65536": (lambda: options(in_flight_maximum=65536), smq.ERR_OPTION),
    "receive maximum 65536": (lambda: options(receive_maximum=65536), smq.ERR_OPTION),
    "packets below the receive buffer": (
        lambda: options(protocol=5, maximum_packet_bytes=4095),
        smq.ERR_OPTION,
    ),
    "packets above MQTT's": (
        lambda: options(protocol=5, maximum_packet_bytes=268_435_461),
        smq.ERR_OPTION,
    ),
    "257 requests": (lambda: options(requests=257), smq.ERR_OPTION),
    "requests in 31 bytes": (lambda: options(request_bytes=31), smq.ERR_OPTION),
    "requests in too many bytes": (lambda: options(request_bytes=268_435_457), smq.ERR_OPTION),
    "control packets in 31 bytes": (lambda: options(control_bytes=31), smq.ERR_OPTION),
    "control packets in too many bytes": (
        lambda: options(control_bytes=1_048_577),
        smq.ERR_OPTION,
    ),
    "65536 handlers": (lambda: options(handlers=65536), smq.ERR_OPTION),
    "1025 aliases in": (lambda: options(protocol=5, topic_aliases_in=1025), smq.ERR_OPTION),
    "1025 aliases out": (lambda: options(protocol=5, topic_aliases_out=1025), smq.ERR_OPTION),
    "aliases of 65536 bytes": (
        lambda: options(protocol=5, topic_alias_bytes=65536),
        smq.ERR_OPTION,
    ),
    "1025 replies": (lambda: options(protocol=5, replies=1025), smq.ERR_OPTION),
    "busy_poll_us 1000001": (lambda: options(busy_poll_us=1_000_001), smq.ERR_OPTION),
    "busy_poll_us, own transport": (
        lambda: options(busy_poll_us=1, flags=smq.OPTION_OWN_TRANSPORT),
        smq.ERR_OPTION,
    ),
    "journal_bytes without journal": (lambda: options(journal_bytes=65_536), smq.ERR_OPTION),
    "journal_delay_ms without journal": (lambda: options(journal_delay_ms=1), smq.ERR_OPTION),
    "journal_batch_bytes without journal": (lambda: options(journal_batch_bytes=4096), smq.ERR_OPTION),
    "inspect, too long": (lambda: options(inspect="i" * 108), smq.ERR_OPTION),
    "inspect, a zero": (lambda: options(inspect="i\0"), smq.ERR_OPTION),
    "inspect_mode, no permissions": (lambda: options(inspect="i", inspect_mode=0o1000), smq.ERR_OPTION),
    "inspect_bytes, too few": (lambda: options(inspect="i", inspect_bytes=4095), smq.ERR_OPTION),
    "inspect_bytes, too many": (lambda: options(inspect="i", inspect_bytes=131_073), smq.ERR_OPTION),
    "inspect_mode without inspect": (lambda: options(inspect_mode=0o600), smq.ERR_OPTION),
    "inspect_bytes without inspect": (lambda: options(inspect_bytes=4096), smq.ERR_OPTION),
    "inspect with an own transport": (lambda: options(inspect="i", flags=smq.OPTION_OWN_TRANSPORT), smq.ERR_OPTION),
    "journal_flags without journal": (lambda: options(journal_flags=1), smq.ERR_OPTION),
    "journal without a session": (lambda: options(journal="j", client_id="a"), smq.ERR_OPTION),
    "journal, own transport": (lambda: journal(flags=smq.OPTION_OWN_TRANSPORT), smq.ERR_OPTION),
    "journal of 1001 bytes": (lambda: journal(journal="j" * 1001), smq.ERR_OPTION),
    "journal with a zero": (lambda: journal(journal="j\0k"), smq.ERR_OPTION),
    "journal, too small": (lambda: journal(journal_bytes=65_535), smq.ERR_OPTION),
    "journal, smaller than the outbox needs": (lambda: journal(journal_bytes=131_072), smq.ERR_OPTION),
    "journal, too large": (lambda: journal(journal_bytes=1_073_741_825), smq.ERR_OPTION),
    "journal, an outbox too large": (lambda: journal(outbox_bytes=268_435_456 * 2), smq.ERR_OPTION),
    "journal, 60001 ms": (lambda: journal(journal_delay_ms=60_001), smq.ERR_OPTION),
    "journal, small batch": (lambda: journal(journal_batch_bytes=4095), smq.ERR_OPTION),
    "journal, large batch": (lambda: journal(journal_batch_bytes=1_048_577), smq.ERR_OPTION),
    "journal, unknown flag": (lambda: journal(journal_flags=16), smq.ERR_OPTION),
    "journal, too many unreleased": (
        lambda: journal(unreleased_maximum=2021, journal_batch_bytes=4096),
        smq.ERR_OPTION,
    ),
    "65536 references": (lambda: options(references=65_536), smq.ERR_OPTION),
    "stream of 63 bytes": (lambda: options(stream_bytes=63), smq.ERR_OPTION),
    "stream of too many bytes": (lambda: options(stream_bytes=1_048_577), smq.ERR_OPTION),
    "will's retain 2": (lambda: options(will=will(retain=2)), smq.ERR_OPTION),
    "will's quiet 2": (lambda: options(will=will(quiet=2)), smq.ERR_OPTION),
    "protocol 2": (lambda: options(protocol=2), smq.ERR_NOT_SUPPORTED),
    "protocol 3 without a client id": (lambda: options(protocol=3), smq.ERR_CLIENT_ID),
    "protocol 3, 24 bytes": (lambda: options(protocol=3, client_id="x" * 24), smq.ERR_CLIENT_ID),
    "protocol 6": (lambda: options(protocol=6), smq.ERR_NOT_SUPPORTED),
    "no client id to keep a session": (
        lambda: options(flags=smq.OPTION_KEEP_SESSION),
        smq.ERR_CLIENT_ID,
    ),
    "will's QoS 3": (lambda: options(will=will(qos=3)), smq.ERR_QOS),
    "will's topic empty": (lambda: options(will=will(topic="")), smq.ERR_TOPIC_NAME),
    "will's topic +": (lambda: options(will=will(topic="a/+")), smq.ERR_TOPIC_NAME),
    "will's topic #": (lambda: options(will=will(topic="#")), smq.ERR_TOPIC_NAME),
    "will's topic too long": (lambda: options(will=will(topic="a" * 65536)), smq.ERR_TOPIC_NAME),
    "will's topic not UTF-8": (lambda: options(will=will(topic=b"\xff")), smq.ERR_UTF8),
    "client id not UTF-8": (lambda: options(client_id=b"\xc3("), smq.ERR_UTF8),
    "client id with U+0000": (lambda: options(client_id=b"a\0b"), smq.ERR_UTF8),
    "user name not UTF-8": (lambda: Options(host="h", user_name=b"\xed\xa0\x80"), smq.ERR_UTF8),
    "will's payload of 65536 bytes": (
        lambda: options(will=will(payload=bytes(65536))),
        smq.ERR_TOO_LARGE,
    ),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_wrong_options(name):
    make, expected = WRONG_OPTIONS[name]
    wrong, block = make(), smq.Block(1 << 20)
    block_before = ctypes.string_at(block.address, block.size)
    handle = ctypes.c_void_p(77)
    offset = ctypes.c_size_t(77)
    status = library.smq_options_check(byref(wrong), byref(offset))
    assert smq.status_name(status) == smq.status_name(expected)
    if status != smq.ERR_NOT_SUPPORTED:
        assert offset.value == 77, "only written for a URL"
    assert library.smq_options_check(byref(wrong), None) == expected
    assert library.smq_client_size(byref(wrong)) == 0
    got = library.smq_client_init(block.address, block.size, byref(wrong), byref(handle))
    assert got == expected
    assert handle.value == 77
    assert ctypes.string_at(block.address, block.size) == block_before and block.whole()


@pytest.mark.parametrize(
    "right",
    [
        dict(protocol=smq.PROTOCOL_3_1_1),
        dict(protocol=smq.PROTOCOL_5_0),
        dict(keep_alive_s=65535, connect_timeout_ms=86_400_000, ping_timeout_ms=86_400_000),
        dict(keep_alive_s=smq.OFF, connect_timeout_ms=smq.OFF),
        dict(session_expiry_s=smq.FOREVER, protocol=smq.PROTOCOL_5_0),
        dict(outbox_bytes=64, outbox_messages=1, receive_bytes=64, in_flight_maximum=1),
        dict(outbox_messages=65023, in_flight_maximum=65535),
        dict(receive_maximum=1, requests=1, request_bytes=32, control_bytes=32, stream_bytes=64, addresses=1),
        dict(receive_maximum=65535, requests=256, request_bytes=268_435_456),
        dict(control_bytes=1_048_576, stream_bytes=1_048_576, references=65_535, busy_poll_us=1_000_000),
        dict(handlers=65535, handler_bytes=1 << 20),
        dict(flags=1, client_id="a", journal="j" * 1000, journal_delay_ms=60_000, journal_batch_bytes=1_048_576, journal_flags=7),
        dict(flags=1, client_id="a", journal="j", journal_bytes=1_073_741_824, journal_batch_bytes=4096, unreleased_maximum=2020),
        dict(maximum_packet_bytes=4096, protocol=smq.PROTOCOL_5_0),
        dict(maximum_packet_bytes=268_435_460, protocol=smq.PROTOCOL_5_0),
        dict(maximum_packet_bytes=smq.OFF, protocol=smq.PROTOCOL_5_0),
        dict(topic_aliases_in=1024, topic_aliases_out=1024, protocol=smq.PROTOCOL_5_0),
        dict(topic_alias_bytes=65535, replies=1024, protocol=smq.PROTOCOL_5_0),
        dict(flags=smq.OPTION_FALLBACK + smq.OPTION_CLIENT_ID_AS_IS),
        dict(flags=smq.OPTION_HOLD + smq.OPTION_PARTS),
        dict(flags=3, client_id="a", protocol=smq.PROTOCOL_5_0),
        dict(flags=smq.OPTION_SESSION_EXPIRY, protocol=smq.PROTOCOL_5_0),
        dict(properties=RIGHT, protocol=smq.PROTOCOL_5_0),
        dict(will=Message(topic="a", properties=RIGHT, expiry_s=1), protocol=smq.PROTOCOL_5_0),
        dict(outbox_bytes=268_435_456),
        dict(client_id="a" * 65535),
        dict(client_id="ü€😀"),
        dict(flags=smq.OPTION_KEEP_SESSION, client_id="a"),
        dict(will=Message(topic="a" * 65535, payload=bytes(65535), qos=2, retain=1)),
        dict(url="mqtt://" + "a" * 253 + "/"),
        dict(url="mqtt://u:" + "p" * 1013 + "@h"),
        dict(user_name="u" * 65535, password=bytes(65535)),
        dict(url="mqtt://u@h", password="p"),
        dict(url="", host="h", port=65535),
        dict(url="", host="h", user_name="u" * 65535, password=bytes(65535)),
        dict(url="", host="h", password="p", protocol=smq.PROTOCOL_5_0),
    ],
    ids=lambda right: ",".join(right),
)
def test_the_ends_of_the_ranges_are_right(right):
    assert smq.status_name(library.smq_options_check(byref(options(**right)), None)) == "SMQ_OK"
    assert library.smq_client_size(byref(options(**right))) > 0


def test_a_struct_of_a_newer_header():
    """Fields that this library does not know may be there, as long as they are zero."""

    class Newer(ctypes.Structure):
        _fields_ = [("known", Options), ("unknown", ctypes.c_uint32 * 4)]

    known = options()
    newer = Newer(known)
    newer.known.size = ctypes.sizeof(Newer)
    pointer = ctypes.cast(byref(newer), ctypes.POINTER(Options))
    assert library.smq_options_check(pointer, None) == smq.OK
    for index in range(4):
        newer.unknown[index] = 1 << 31
        assert library.smq_options_check(pointer, None) == smq.ERR_STRUCT_SIZE
        assert library.smq_client_size(pointer) == 0
        newer.unknown[index] = 0


# ---- URLs ----

WRONG_URLS = [  # URL, where parsing stops
    (b"", None),  # an empty url is no url: neither url nor host is set
    (b"mqtt:", 5),
    (b"mqtt:/", 6),
    (b"mqtt:/h", 6),
    (b"mqtt:127.0.0.1", None),  # a host of that name
    (b"unix:run", 5),
    (b"127.0.0.1/a", 10),
    (b"/h", None),
    (b":1883", 0),
    (b"::1", None),
    (b"@h", 0),
    (b"u@", 2),
    (b"h,", 2),
    (b"h:0", 2),
    (b"h:65536", None),
    (b"a b", 1),
    (b"mqtt://", 7),
    (b"mqtt:///", 7),
    (b"mqtt://:1883", 7),
    (b"mqtt://h:", 9),
    (b"mqtt://h:0", 9),
    (b"mqtt://h:65536", None),
    (b"mqtt://h:99999999999999999999", None),
    (b"mqtt://h:18a", 11),
    (b"mqtt://h:-1", 9),
    (b"mqtt://h:1883/topic", 14),
    (b"mqtt://h/a", 9),
    (b"mqtt://h//", 9),
    (b"mqtt://h?x", 9),
    (b"mqtt://h#x", 8),
    (b"mqtt://h h", 8),
    (b"mqtt://h\0", 8),
    (b"mqtt://h\xc3\xa4", 8),
    (b"mqtt://[::1", None),
    (b"mqtt://[]", None),
    (b"mqtt://[::1]x", 12),
    (b"mqtt://[::1]:", 13),
    (b"mqtt://[zz]", None),
    (b"mqtt://u@", 9),
    (b"mqtt://u:p@", 11),
    (b"mqtt://u%@h", 8),
    (b"mqtt://u%4@h", 8),
    (b"mqtt://u%zz@h", 8),
    (b"mqtt://u:%g0@h", 9),
    (b"mqtt://a@b@h", None),
]


@pytest.mark.parametrize("url, offset", WRONG_URLS)
def test_wrong_urls(url, offset):
    """offset None: somewhere in the part that is wrong; which byte of it is a matter of taste."""
    wrong, at = options(url=url), ctypes.c_size_t(9999)
    status = library.smq_options_check(byref(wrong), byref(at))
    if not url:
        assert (status, at.value) == (smq.ERR_OPTION, 9999)
        return
    assert smq.status_name(status) == "SMQ_ERR_URL"
    assert 0 <= at.value <= len(url)
    if offset is not None:
        assert at.value == offset
    assert library.smq_client_size(byref(wrong)) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        dict(host="h", tls_settings=1),  # an engine is missing: nobody wants this in plain
        dict(host="h", tls_name="h"),
        dict(host="h", alpn="mqtt"),
        dict(host="h", proxy="http://a%3Ab@h"),  # Basic has a colon between the two
        dict(host="h", proxy="socks4://h"),
        dict(host="h", proxy="http://a,b"),
        dict(host="/run/mqtt.sock", proxy="http://p"),
        dict(host="/run/mqtt.sock", dscp=1),
        dict(host="h", dscp=64),
        dict(host="h", bind_address="nowhere"),
        dict(host="h", bind_device="a device with blanks"),
        dict(host="h", websocket_path="/mqtt"),
        dict(host="h", flags=smq.OPTION_WEBSOCKET, websocket_path="mqtt"),
        dict(host="h", flags=smq.OPTION_WEBSOCKET, websocket_bytes=255),
        dict(url="ws://h/x", websocket_path="/y"),
    ],
    ids=str,
)
def test_transports_that_contradict(wrong):
    assert smq.status_name(library.smq_options_check(byref(Options(**wrong)), None)) == "SMQ_ERR_OPTION"


@pytest.mark.parametrize(
    "url", ["mqtts://h", "wss://h", "http://h:80", "tcp://h", "unixx:///run/x", "mqttx://h"]
)
def test_schemes_that_are_not_spoken(url):
    at = ctypes.c_size_t(9999)
    assert library.smq_options_check(byref(options(url=url)), byref(at)) == smq.ERR_NOT_SUPPORTED
    assert at.value <= len(url)


@pytest.mark.parametrize(
    "url",
    [
        "mqtt://h",
        "mqtt://h/",
        "mqtt://a-b.example.",
        "mqtt://127.0.0.1:1",
        "mqtt://[::1]:65535/",
        "mqtt://[2001:db8::192.0.2.1]",
        "mqtt://user@h",
        "mqtt://user:pa%3Ass@h:1883",
        "MQTT://h",
    ],
)
def test_right_urls(url):
    at = ctypes.c_size_t(9999)
    status = library.smq_options_check(byref(options(url=url)), byref(at))
    assert (smq.status_name(status), at.value) == ("SMQ_OK", 9999)


# ---- Memory ----


def test_memory():
    right = options()
    size = library.smq_client_size(byref(right))
    handle = ctypes.c_void_p(77)
    block = smq.Block(size, offset=0)

    def init(memory: int | None, size: int, options: object, client: object) -> int:
        return library.smq_client_init(memory, size, options, client)

    assert init(block.address, size - 1, byref(right), byref(handle)) == smq.ERR_MEMORY_SIZE
    assert init(block.address, 0, byref(right), byref(handle)) == smq.ERR_MEMORY_SIZE
    assert init(None, size, byref(right), byref(handle)) == smq.ERR_NULL
    assert init(block.address, size, None, byref(handle)) == smq.ERR_NULL
    assert init(block.address, size, byref(right), None) == smq.ERR_NULL
    for offset in (1, 2, 4, 7):
        odd = smq.Block(size + 16, offset)
        got = init(odd.address, size + 16, byref(right), byref(handle))
        assert got == smq.ERR_MEMORY_ALIGNMENT
    assert handle.value == 77
    assert block.whole()


@pytest.mark.parametrize("offset", [0, 8, 16, 24])
def test_just_enough_memory_anywhere_aligned(offset, broker):
    wanted = Options(url=broker.url, outbox_bytes=64, outbox_messages=1, receive_bytes=64)
    block = smq.Block(library.smq_client_size(byref(wanted)), offset)
    handle = ctypes.c_void_p()
    size = block.size
    assert library.smq_client_init(block.address, size, byref(wanted), byref(handle)) == smq.OK
    assert library.smq_connect(handle) == smq.OK
    assert library.smq_wait(handle, 5000) == 1
    event = RawEvent()
    assert library.smq_next_event(handle, byref(event)) == 1
    assert event.type == smq.EVENT_CONNECTED
    message = Message(topic="a" * 20, payload=bytes(64 - 24), qos=0)
    assert library.smq_publish(handle, byref(message)) == smq.OK
    assert library.smq_wait(handle, 5000) == 1
    assert library.smq_client_close(handle) == smq.OK
    assert block.whole()


def test_smq_client_size_null():
    assert library.smq_client_size(None) == 0
    assert library.smq_options_check(None, None) == smq.ERR_NULL


# ---- NULL and closed clients, in every function ----

EVERY_CALL: dict[str, Callable[[object], int]] = {
    "smq_client_close": library.smq_client_close,
    "smq_client_state": library.smq_client_state,
    "smq_connect": library.smq_connect,
    "smq_hint_network": lambda client: library.smq_hint_network(client, 1),
    "smq_hint_resume": library.smq_hint_resume,
    "smq_publish": lambda client: library.smq_publish(client, byref(Message(topic="a"))),
    "smq_publish_text": lambda client: library.smq_publish_text(client, b"a", b"", 0, 0),
    "smq_submit": lambda client: library.smq_submit(client, byref(Message(topic="a"))),
    "smq_disconnect": lambda client: library.smq_disconnect(client, 0),
    "smq_credentials": lambda client: library.smq_credentials(client, 1, None, None),
    "smq_withhold_credentials": lambda client: library.smq_withhold_credentials(client, 1, 0),
    "smq_addresses": lambda client: library.smq_addresses(client, 1, None, 0),
    "smq_next_event": lambda client: library.smq_next_event(client, byref(RawEvent())),
    "smq_next_events": lambda client: library.smq_next_events(client, byref(RawEvent()), 1),
    "smq_next_completions": lambda client: library.smq_next_completions(client, byref(Completion()), 1),
    "smq_wait": lambda client: library.smq_wait(client, 0),
    "smq_fd": library.smq_fd,
    "smq_next_timeout_ms": library.smq_next_timeout_ms,
    "smq_service": library.smq_service,
    "smq_flush": library.smq_flush,
    "smq_set_log": lambda client: library.smq_set_log(client, 0, None, None),
    "smq_engine_opened": lambda client: library.smq_engine_opened(client, 0),
    "smq_engine_closed": lambda client: library.smq_engine_closed(client, 0, 0),
    "smq_engine_receive_buffer": lambda client: library.smq_engine_receive_buffer(
        client, byref(ctypes.c_void_p()), byref(ctypes.c_size_t())
    ),
    "smq_engine_received": lambda client: library.smq_engine_received(client, 0, 0),
    "smq_engine_transmit": lambda client: library.smq_engine_transmit(
        client, 0, byref(ctypes.c_void_p()), byref(ctypes.c_size_t())
    ),
    "smq_engine_transmitted": lambda client: library.smq_engine_transmitted(client, 0, 0),
    "smq_engine_next_timeout_ms": lambda client: library.smq_engine_next_timeout_ms(client, 0),
    "smq_engine_timed_out": lambda client: library.smq_engine_timed_out(client, 0),
    "smq_delivery_number": lambda client: library.smq_delivery_number(client, 1, byref(ctypes.c_uint64())),
    "smq_engine_storage": lambda client: library.smq_engine_storage(client, 0, 0, byref(smq.Storage())),
    "smq_engine_storage_done": lambda client: library.smq_engine_storage_done(client, 0, 0),
    "smq_client_stats": lambda client: library.smq_client_stats(client, byref(Stats())),
    "smq_client_server": lambda client: library.smq_client_server(client, byref(Server())),
    "smq_client_id": lambda client: library.smq_client_id(client, byref(Bytes())),
    "smq_sync": lambda client: library.smq_sync(client, 0),
    "smq_journal_state": lambda client: library.smq_journal_state(client, byref(smq.JournalInfo())),
    "smq_add_observer": lambda client: library.smq_add_observer(client, byref(smq.Observer())),
    "smq_remove_observer": lambda client: library.smq_remove_observer(client, byref(smq.Observer())),
    "smq_trace_read": lambda client: library.smq_trace_read(client, 1, None),
    "smq_trace_clear": lambda client: library.smq_trace_clear(client),
    "smq_last_failure": lambda client: library.smq_last_failure(client, byref(smq.Failure())),
    "smq_tls_describe": lambda client: library.smq_tls_describe(client, byref(tls.Info())),
    "smq_tls_describe_certificate": lambda client: library.smq_tls_describe_certificate(
        client, 0, byref(tls.Certificate())
    ),
    "smq_websocket_request": lambda client: library.smq_websocket_request(client, None, None),
    "smq_authenticate": lambda client: library.smq_authenticate(client, 0x18, None, None),
    "smq_disconnect_with": lambda client: library.smq_disconnect_with(client, 0, 0, None),
    "smq_publish_reserve": lambda client: library.smq_publish_reserve(
        client, byref(Message(topic="a")), byref(ctypes.c_void_p())
    ),
    "smq_publish_commit": lambda client: library.smq_publish_commit(client, 0),
    "smq_publish_abort": lambda client: library.smq_publish_abort(client),
    "smq_publish_stream": lambda client: library.smq_publish_stream(
        client, byref(Message(topic="a")), NO_PULL, None
    ),
    "smq_publish_reference": lambda client: library.smq_publish_reference(client, byref(Message(topic="a"))),
    "smq_subscribe": lambda client: library.smq_subscribe(client, byref(Subscriptions("a"))),
    "smq_unsubscribe": lambda client: library.smq_unsubscribe(client, byref(Subscriptions("a"))),
    "smq_subscribe_to": lambda client: library.smq_subscribe_to(client, b"a", 0, 1),
    "smq_unsubscribe_from": lambda client: library.smq_unsubscribe_from(client, b"a", 1),
    "smq_hold": lambda client: library.smq_hold(client),
    "smq_receive_into": lambda client: library.smq_receive_into(client, None, 0),
    "smq_ack": lambda client: library.smq_ack(client, 1, 0, None),
    "smq_packet_identifier": lambda client: library.smq_packet_identifier(client, 1),
    "smq_handle": lambda client: library.smq_handle(client, 0, reference("a"), None, None),
    "smq_next_match": lambda client: library.smq_next_match(client, reference("a"), -1),
    "smq_request": lambda client: library.smq_request(
        client, byref(Message(topic="a")), reference("b"), 1000
    ),
    "smq_respond": lambda client: library.smq_respond(
        client, byref(RawEvent()), byref(Message())
    ),
}


EVERY_CALL_OF_A_GROUP: dict[str, Callable[[object], int]] = {
    "smq_group_close": library.smq_group_close,
    "smq_group_add": lambda group: library.smq_group_add(group, None),
    "smq_group_remove": lambda group: library.smq_group_remove(group, None),
    "smq_group_fd": library.smq_group_fd,
    "smq_group_next_timeout_ms": library.smq_group_next_timeout_ms,
    "smq_group_wait": lambda group: library.smq_group_wait(group, 0),
    "smq_group_service": library.smq_group_service,
    "smq_group_next_ready": lambda group: library.smq_group_next_ready(group, byref(ctypes.c_void_p())),
}


@pytest.mark.parametrize("name", EVERY_CALL_OF_A_GROUP)
def test_no_group(name):
    call = EVERY_CALL_OF_A_GROUP[name]
    assert call(None) == smq.ERR_NULL
    assert call(smq.Block(1 << 16).address) == smq.ERR_CLIENT
    assert call(Client(url=URL).handle) == smq.ERR_CLIENT
    group = smq.Group()
    handle = group.handle.value
    with group:
        assert library.smq_group_next_ready(handle, None) == smq.ERR_NULL
    assert call(handle) == smq.ERR_CLIENT


@pytest.mark.parametrize("name", EVERY_CALL)
def test_no_client(name):
    assert EVERY_CALL[name](None) == smq.ERR_NULL


@pytest.mark.parametrize("name", EVERY_CALL)
def test_not_a_client(name):
    assert EVERY_CALL[name](smq.Block(1 << 16).address) == smq.ERR_CLIENT


@pytest.mark.parametrize("name", EVERY_CALL)
def test_closed_client(name):
    client = Client(url=URL)
    handle = client.handle
    client.close()
    assert EVERY_CALL[name](handle) == smq.ERR_CLIENT


def test_the_list_of_calls_is_complete():
    takes_client = {
        n for n, (_, arguments) in smq.FUNCTIONS.items() if arguments[:1] == [ctypes.c_void_p]
    }
    assert takes_client - {"smq_client_init", "smq_group_init"} == {*EVERY_CALL, *EVERY_CALL_OF_A_GROUP}


# ---- Calls on a client, in every state ----


def no_change(client: Client, call: Callable[[], int], expected: int) -> None:
    before, state = client.stats, client.state
    assert smq.status_name(call()) == smq.status_name(expected)
    assert client.stats == before
    assert client.state == state


@pytest.fixture
def leaving(clients, broker):
    """A client in SMQ_STATE_DISCONNECTING, where it stays."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, outbox_bytes=1000)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    assert client.disconnect(60_000) == smq.OK
    assert client.state == smq.STATE_DISCONNECTING
    return client


@pytest.fixture(params=["disconnected", "connected"])
def client(request, clients, broker):
    client = clients(url=broker.url, outbox_bytes=1000, stream_bytes=64, references=1)
    if request.param == "connected":
        client.connected()
    return client


def changed(**values: object) -> Message:
    return Message(**{"topic": "a", "payload": b"x", **values})


WRONG_MESSAGES: dict[str, tuple[Callable[[], Message], int]] = {
    "topic without bytes": (lambda: changed(topic=DANGLING), smq.ERR_NULL),
    "payload without bytes": (lambda: changed(payload=DANGLING), smq.ERR_NULL),
    "properties without bytes": (lambda: changed(properties=DANGLING), smq.ERR_NULL),
    "size 0": (lambda: sized(changed(), 0), smq.ERR_STRUCT_SIZE),
    "size one less": (lambda: sized(changed(), ctypes.sizeof(Message) - 1), smq.ERR_STRUCT_SIZE),
    "store": (lambda: changed(store=2), smq.ERR_OPTION),
    "QoS 2 that is not stored": (lambda: changed(store=smq.STORE_NONE, qos=2), smq.ERR_OPTION),
    "reserved": (lambda: changed(reserved2=1), smq.ERR_STRUCT_SIZE),
    "properties before 5.0": (lambda: changed(properties=RIGHT), smq.ERR_OPTION),
    "retain 2": (lambda: changed(retain=2), smq.ERR_OPTION),
    "quiet 2": (lambda: changed(quiet=2), smq.ERR_OPTION),
    "QoS 3": (lambda: changed(qos=3), smq.ERR_QOS),
    "QoS 255": (lambda: changed(qos=255), smq.ERR_QOS),
    "empty topic": (lambda: changed(topic=""), smq.ERR_TOPIC_NAME),
    "no topic": (lambda: changed(topic=Bytes()), smq.ERR_TOPIC_NAME),
    "topic with +": (lambda: changed(topic="a/+/b"), smq.ERR_TOPIC_NAME),
    "topic with #": (lambda: changed(topic="a/#"), smq.ERR_TOPIC_NAME),
    "topic with a + in a word": (lambda: changed(topic="a+b"), smq.ERR_TOPIC_NAME),
    "topic of 65536 bytes": (lambda: changed(topic="a" * 65536), smq.ERR_TOPIC_NAME),
    "topic cut in a character": (lambda: changed(topic=b"a\xc3"), smq.ERR_UTF8),
    "topic overlong": (lambda: changed(topic=b"\xc0\xaf"), smq.ERR_UTF8),
    "topic with a surrogate": (lambda: changed(topic=b"\xed\xa0\x80"), smq.ERR_UTF8),
    "topic above U+10FFFF": (lambda: changed(topic=b"\xf4\x90\x80\x80"), smq.ERR_UTF8),
    "topic with U+0000": (lambda: changed(topic=b"a\0"), smq.ERR_UTF8),
    "payload too large": (lambda: changed(payload=bytes(996)), smq.ERR_TOO_LARGE),
}


@pytest.mark.parametrize("name", WRONG_MESSAGES)
def test_wrong_messages(client, name):
    make, expected = WRONG_MESSAGES[name]
    message, place = make(), ctypes.c_void_p(77)
    no_change(client, lambda: library.smq_publish(client.handle, byref(message)), expected)
    lend = lambda: library.smq_publish_reference(client.handle, byref(message))  # noqa: E731
    if name != "payload too large":  # it is not in the outbox
        no_change(client, lend, expected)
    if name.startswith("payload"):  # payload.data is not used
        return
    reserve = lambda: library.smq_publish_reserve(  # noqa: E731
        client.handle, byref(message), byref(place)
    )
    no_change(client, reserve, expected)
    assert place.value == 77
    stream = lambda: library.smq_publish_stream(  # noqa: E731
        client.handle, byref(message), NO_PULL, None
    )
    no_change(client, stream, expected)


@pytest.mark.parametrize("name", [n for n in WRONG_MESSAGES if n != "properties before 5.0"])
def test_wrong_requests(clients, name):
    client = clients(url=URL, protocol=5, outbox_bytes=1000, replies=2)
    make, expected = WRONG_MESSAGES[name]
    message = make()
    request = lambda: library.smq_request(  # noqa: E731
        client.handle, byref(message), reference("b"), 1000
    )
    no_change(client, request, expected)


@pytest.mark.parametrize(
    "topic, timeout_ms, expected",
    [
        (None, 1000, smq.ERR_NULL),
        (DANGLING, 1000, smq.ERR_NULL),
        ("", 1000, smq.ERR_TOPIC_NAME),
        ("a/+", 1000, smq.ERR_TOPIC_NAME),
        ("#", 1000, smq.ERR_TOPIC_NAME),
        ("a" * 65536, 1000, smq.ERR_TOPIC_NAME),
        (b"\xff", 1000, smq.ERR_UTF8),
        (b"a\0", 1000, smq.ERR_UTF8),
        ("b", 0, smq.ERR_OPTION),
        ("b", 86_400_001, smq.ERR_OPTION),
        ("b", 0xFFFFFFFF, smq.ERR_OPTION),
    ],
)
def test_wrong_response_topics_and_times(clients, topic, timeout_ms, expected):
    client = clients(url=URL, protocol=5, replies=2)
    message = changed()
    given = None if topic is None else byref(smq.view(topic))
    request = lambda: library.smq_request(  # noqa: E731
        client.handle, byref(message), given, timeout_ms
    )
    no_change(client, request, expected)
    null = lambda: library.smq_request(client.handle, None, reference("b"), 1000)  # noqa: E731
    no_change(client, null, smq.ERR_NULL)


def subscriptions(*filters: object, qos: int = 0, **values: object) -> Subscriptions:
    return Subscriptions(*(filters or ("a",)), qos=qos, **values)


def one(**values: object) -> Subscriptions:
    """The second of two: all of them are looked at."""
    return Subscriptions("fine", Subscription(**{"filter": "a", **values}))


def without(name: str) -> Subscriptions:
    made = subscriptions()
    setattr(made, name, None)
    return made


def counted(count: int, entries: int = 1) -> Subscriptions:
    made = subscriptions(*[Subscription(filter="a")] * entries)
    made.count = count
    return made


BOTH, SUBSCRIBING = ("smq_subscribe", "smq_unsubscribe"), ("smq_subscribe",)
WRONG_SUBSCRIPTIONS: dict[str, tuple[Callable[[], Subscriptions], int, int, tuple[str, ...]]] = {
    # what, error, protocol, for which calls
    "no list": (lambda: without("list"), smq.ERR_NULL, 5, BOTH),
    "filter without bytes": (lambda: one(filter=DANGLING), smq.ERR_NULL, 5, BOTH),
    "properties without bytes": (
        lambda: subscriptions(properties=DANGLING),
        smq.ERR_NULL,
        5,
        BOTH,
    ),
    "size 0": (lambda: sized(subscriptions(), 0), smq.ERR_STRUCT_SIZE, 5, BOTH),
    "size one less": (
        lambda: sized(subscriptions(), ctypes.sizeof(Subscriptions) - 1),
        smq.ERR_STRUCT_SIZE,
        5,
        BOTH,
    ),
    "reserved": (lambda: subscriptions(reserved=1), smq.ERR_STRUCT_SIZE, 5, BOTH),
    "its reserved": (lambda: one(reserved=1), smq.ERR_STRUCT_SIZE, 5, SUBSCRIBING),
    "count 0": (lambda: counted(0), smq.ERR_OPTION, 5, BOTH),
    "count 65536": (lambda: counted(65536, 65536), smq.ERR_OPTION, 5, BOTH),
    "no_local 2": (lambda: one(no_local=2), smq.ERR_OPTION, 5, SUBSCRIBING),
    "as published 2": (lambda: one(retain_as_published=2), smq.ERR_OPTION, 5, SUBSCRIBING),
    "retain handling 3": (lambda: one(retain_handling=3), smq.ERR_OPTION, 5, SUBSCRIBING),
    "identifier": (lambda: subscriptions(identifier=268_435_456), smq.ERR_OPTION, 5, SUBSCRIBING),
    "3.1.1: no_local": (lambda: one(no_local=1), smq.ERR_OPTION, 4, SUBSCRIBING),
    "3.1.1: as published": (lambda: one(retain_as_published=1), smq.ERR_OPTION, 4, SUBSCRIBING),
    "3.1.1: retain handling": (lambda: one(retain_handling=1), smq.ERR_OPTION, 4, SUBSCRIBING),
    "3.1.1: identifier": (lambda: subscriptions(identifier=1), smq.ERR_OPTION, 4, SUBSCRIBING),
    "3.1.1: properties": (lambda: subscriptions(properties=RIGHT), smq.ERR_OPTION, 4, BOTH),
    "QoS 3": (lambda: one(qos=3), smq.ERR_QOS, 5, SUBSCRIBING),
    "QoS 128": (lambda: one(qos=128), smq.ERR_QOS, 5, SUBSCRIBING),
    "no filter": (lambda: one(filter=""), smq.ERR_TOPIC_FILTER, 5, BOTH),
    "a wrong filter": (lambda: one(filter="a/#/b"), smq.ERR_TOPIC_FILTER, 5, BOTH),
    "no_local and shared": (
        lambda: one(filter="$share/g/a", no_local=1),
        smq.ERR_TOPIC_FILTER,
        5,
        SUBSCRIBING,
    ),
    "not UTF-8": (lambda: one(filter=b"a\xff"), smq.ERR_UTF8, 5, BOTH),
    "too large": (lambda: subscriptions("a" * 200, "b" * 200), smq.ERR_TOO_LARGE, 5, BOTH),
}


@pytest.mark.parametrize("name", WRONG_SUBSCRIPTIONS)
@pytest.mark.parametrize("connected", [False, True])
def test_wrong_subscriptions(clients, broker, name, connected):
    make, expected, protocol, calls = WRONG_SUBSCRIPTIONS[name]
    client = clients(url=broker.url, protocol=protocol, request_bytes=300)
    if connected:
        client.connected()
    for call in calls:
        function, wrong = getattr(library, call), make()
        no_change(client, lambda: function(client.handle, byref(wrong)), expected)
        no_change(client, lambda: function(client.handle, None), smq.ERR_NULL)
    if connected:
        client.run(0.01)
        assert len(broker.packets) == 1


def test_the_ends_of_the_ranges_of_subscriptions(clients):
    client = clients(url=URL, protocol=5, requests=10, request_bytes=1 << 20, receive_bytes=1 << 17)
    for right in (
        subscriptions(identifier=1),
        subscriptions(identifier=268_435_455),
        one(qos=2, no_local=1, retain_as_published=1, retain_handling=2),
        one(filter="$share/g/a", qos=2, retain_as_published=1),
        subscriptions("a" * 65535),
        counted(65535, 65535),
    ):
        assert library.smq_subscribe(client.handle, byref(right)) == smq.OK
    # Only the filters count.
    odd = one(qos=3, no_local=2, retain_as_published=2, retain_handling=9)
    assert library.smq_unsubscribe(client.handle, byref(odd)) == smq.OK


def test_subscriptions_of_a_newer_header(clients):
    class Newer(ctypes.Structure):
        _fields_ = [("known", Subscriptions), ("unknown", ctypes.c_uint64)]

    client = clients(url=URL)
    known = subscriptions()
    newer = Newer(known, 1)
    newer.known.size = ctypes.sizeof(Newer)
    pointer = ctypes.cast(byref(newer), ctypes.POINTER(Subscriptions))
    subscribe = lambda: library.smq_subscribe(client.handle, pointer)  # noqa: E731
    no_change(client, subscribe, smq.ERR_STRUCT_SIZE)
    newer.unknown = 0
    assert subscribe() == smq.OK


def test_null_and_dangling_arguments(client):
    """What the tables above have no place for."""
    handle, message, place = client.handle, changed(), ctypes.c_void_p(77)
    dangling = byref(DANGLING)
    for call, expected in (
        (lambda: library.smq_publish_reserve(handle, None, byref(place)), smq.ERR_NULL),
        (lambda: library.smq_publish_reserve(handle, byref(message), None), smq.ERR_NULL),
        (lambda: library.smq_publish_commit(handle, 0), smq.ERR_STATE),
        (lambda: library.smq_publish_abort(handle), smq.ERR_STATE),
        (lambda: library.smq_publish_reference(handle, None), smq.ERR_NULL),
        (lambda: library.smq_publish_stream(handle, None, NO_PULL, None), smq.ERR_NULL),
        (lambda: library.smq_publish_stream(handle, byref(message), None, None), smq.ERR_NULL),
        (lambda: library.smq_client_id(handle, None), smq.ERR_NULL),
        (lambda: library.smq_hold(handle), smq.ERR_STATE),
        (lambda: library.smq_receive_into(handle, None, 1), smq.ERR_NULL),
        (lambda: library.smq_receive_into(handle, byref(place), 8), smq.ERR_STATE),
        (lambda: library.smq_ack(handle, 1, 0, dangling), smq.ERR_NULL),
        (lambda: library.smq_disconnect_with(handle, 0, 0, dangling), smq.ERR_NULL),
        (lambda: library.smq_authenticate(handle, 0x18, dangling, None), smq.ERR_NULL),
        (lambda: library.smq_authenticate(handle, 0x18, None, dangling), smq.ERR_NULL),
        (lambda: library.smq_handle(handle, 0, None, None, None), smq.ERR_NULL),
        (lambda: library.smq_handle(handle, 0, dangling, None, None), smq.ERR_NULL),
        (lambda: library.smq_next_match(handle, None, -1), smq.ERR_NULL),
        (lambda: library.smq_next_match(handle, dangling, -1), smq.ERR_NULL),
        (lambda: library.smq_respond(handle, None, byref(Message())), smq.ERR_NULL),
        (lambda: library.smq_respond(handle, byref(RawEvent()), None), smq.ERR_NULL),
        (
            lambda: library.smq_respond(handle, byref(sized(RawEvent(), 8)), byref(Message())),
            smq.ERR_STRUCT_SIZE,
        ),
    ):
        no_change(client, call, expected)
    assert place.value == 77


def test_a_message_of_a_newer_header(clients):
    class Newer(ctypes.Structure):
        _fields_ = [("known", Message), ("unknown", ctypes.c_uint64)]

    client = clients(url=URL)
    known = changed()
    newer = Newer(known, 1)
    newer.known.size = ctypes.sizeof(Newer)
    pointer = ctypes.cast(byref(newer), ctypes.POINTER(Message))
    publish = lambda: library.smq_publish(client.handle, pointer)  # noqa: E731
    no_change(client, publish, smq.ERR_STRUCT_SIZE)
    newer.unknown = 0
    assert publish() == smq.OK


def test_publish_null(client):
    no_change(client, lambda: library.smq_publish(client.handle, None), smq.ERR_NULL)


def test_while_disconnecting(leaving):
    no_change(leaving, lambda: leaving.publish("a"), smq.ERR_STATE)
    no_change(leaving, lambda: leaving.reserve("a", 1)[0], smq.ERR_STATE)
    no_change(leaving, lambda: leaving.subscribe("a"), smq.ERR_STATE)
    no_change(leaving, lambda: leaving.unsubscribe("a"), smq.ERR_STATE)
    no_change(leaving, leaving.connect, smq.ERR_STATE)
    no_change(leaving, lambda: leaving.disconnect(86_400_001), smq.ERR_OPTION)
    no_change(leaving, lambda: library.smq_publish(leaving.handle, None), smq.ERR_NULL)


def test_full(clients):
    """Full in messages, and full in bytes."""
    client = clients(url=URL, outbox_messages=3, outbox_bytes=1000)
    for _ in range(3):
        assert client.publish("a", qos=1) == smq.OK
    no_change(client, lambda: client.publish("a", qos=1), smq.ERR_FULL)
    stats = client.stats
    assert stats.outbox_messages == stats.outbox_messages_capacity == 3
    client = clients(url=URL, outbox_messages=100, outbox_bytes=1000)
    assert client.publish("a", bytes(994)) == smq.OK  # 1 + 2 + 3 + 994: all of it
    no_change(client, lambda: client.publish("a"), smq.ERR_FULL)
    assert client.stats.outbox_bytes == client.stats.outbox_bytes_capacity == 1000


def test_too_large_is_told_before_full(clients):
    client = clients(url=URL, outbox_messages=1, outbox_bytes=1000)
    assert client.publish("a") == smq.OK
    no_change(client, lambda: client.publish("a", bytes(1000)), smq.ERR_TOO_LARGE)


def test_connect_in_every_other_state(client):
    if client.state == smq.STATE_DISCONNECTED:
        assert client.connect() == smq.OK
        assert client.state == smq.STATE_CONNECTING
    no_change(client, client.connect, smq.ERR_STATE)


def test_connect_before_the_last_end_was_taken(clients):
    client = clients(url="mqtt://127.0.0.1:1")
    assert client.connect() == smq.OK
    assert library.smq_wait(client.handle, 5000) == 1
    no_change(client, client.connect, smq.ERR_STATE)
    assert client.take().type == smq.EVENT_DISCONNECTED
    assert client.connect() == smq.OK


@pytest.mark.parametrize("drain_ms", [86_400_001, 0xFFFFFFFF])
def test_disconnect_out_of_range(client, drain_ms):
    no_change(client, lambda: client.disconnect(drain_ms), smq.ERR_OPTION)


def test_disconnect_when_disconnected_does_nothing(clients):
    client = clients(url=URL)
    no_change(client, lambda: client.disconnect(0), smq.OK)
    assert client.take() is None


@pytest.mark.parametrize("timeout_ms", [-2, -(2**31)])
def test_wait_out_of_range(client, timeout_ms):
    no_change(client, lambda: library.smq_wait(client.handle, timeout_ms), smq.ERR_OPTION)


def test_wait_for_ever_for_nothing(clients):
    client = clients(url=URL)
    no_change(client, lambda: library.smq_wait(client.handle, -1), smq.ERR_STATE)
    assert library.smq_next_timeout_ms(client.handle) == -1


@pytest.mark.parametrize(
    "make, call",
    [
        (RawEvent, "smq_next_event"),
        (Stats, "smq_client_stats"),
        (Server, "smq_client_server"),
    ],
)
def test_structs_to_fill(client, make, call):
    function = getattr(library, call)
    no_change(client, lambda: function(client.handle, None), smq.ERR_NULL)
    for size in (0, 4, ctypes.sizeof(make) - 1):
        struct = sized(make(), size)
        before = bytes(struct)
        no_change(client, lambda: function(client.handle, byref(struct)), smq.ERR_STRUCT_SIZE)
        assert bytes(struct) == before


def test_several_events(client):
    events = (RawEvent * 2)()
    completions = (Completion * 2)()
    no_change(client, lambda: library.smq_next_events(client.handle, None, 2), smq.ERR_NULL)
    no_change(client, lambda: library.smq_next_completions(client.handle, None, 2), smq.ERR_NULL)
    for count in (0, 1 << 31, 0xFFFFFFFF):
        events[0].size = ctypes.sizeof(RawEvent)
        no_change(client, lambda: library.smq_next_events(client.handle, events, count), smq.ERR_OPTION)
        no_change(client, lambda: library.smq_next_completions(client.handle, completions, count), smq.ERR_OPTION)
    for size in (0, 4, ctypes.sizeof(RawEvent) - 1):
        events[0].size = size
        no_change(client, lambda: library.smq_next_events(client.handle, events, 2), smq.ERR_STRUCT_SIZE)


def test_larger_structs_to_fill(clients):
    """A newer program's struct: what this library knows is filled in."""

    class NewerStats(ctypes.Structure):
        _fields_ = [("known", Stats), ("unknown", ctypes.c_uint64)]

    client = clients(url=URL)
    newer = NewerStats()
    newer.known.size = ctypes.sizeof(NewerStats)
    newer.unknown = 77
    pointer = ctypes.cast(byref(newer), ctypes.POINTER(Stats))
    assert library.smq_client_stats(client.handle, pointer) == smq.OK
    assert newer.known.outbox_messages_capacity == 256
    assert newer.unknown == 0


# ---- Names ----


def test_names():
    for name, value in smq.CONSTANTS.items():
        if name == "SMQ_OK" or name.startswith("SMQ_ERR_"):
            assert library.smq_status_name(value).decode() == name
    for value in (1, -1, -100, -119, -200, -206, -300, -313, -400, -410, 2**31 - 1, -(2**31)):
        assert library.smq_status_name(value) == b"unknown status"
    stages = {
        library.smq_stage_name(value) for name, value in smq.CONSTANTS.items() if "_STAGE_" in name
    }
    assert len(stages) == 13 and b"connack" in stages and b"unknown stage" not in stages
    for value in (-1, 13, 2**31 - 1):
        assert library.smq_stage_name(value) == b"unknown stage"
    assert library.smq_reason_code_name(smq.PROTOCOL_5_0, 0) == b"Success"
    assert library.smq_reason_code_name(smq.PROTOCOL_5_0, 0x87) == b"Not authorized"
    known = {
        smq.PROTOCOL_3_1_1: {*range(6), 0x80},
        smq.PROTOCOL_5_0: {0, 1, 2, 4, 0x10, 0x11, 0x18, 0x19},
    }
    known[smq.PROTOCOL_5_0] |= set(range(0x80, 0xA3))
    for protocol, codes in known.items():
        for value in (-2, *range(257), 2**31 - 1):
            name = library.smq_reason_code_name(protocol, value)
            assert (name != b"unknown Reason Code") == (value in codes), (protocol, value)
    assert library.smq_version() == 0x010000
