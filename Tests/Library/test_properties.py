"""Properties (5.0, section 2.2.2): built, walked, sent and received; and those that are refused."""

from __future__ import annotations

import contextlib
import ctypes
import time

import pytest

from Support import codec, scripted_broker, smq
from Support.scripted_broker import (
    AUTH,
    DISCONNECT,
    PUBACK,
    PUBLISH,
    PUBREC,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Script,
    auth,
    packet,
)
from Support.smq import Message, Properties, library

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
byref = ctypes.byref

# identifier: values that are right, values that are not. Section 2.2.2.2 and what it refers to.
FLAG = ([0, 1], [2, 255, 0xFFFFFFFF])
TWO = ([0, 1, 65535], [65536, 0xFFFFFFFF])
TWO_FROM_1 = ([1, 65535], [0, 65536, 0xFFFFFFFF])
FOUR = ([0, 1, 65536, 0xFFFFFFFF], [])
FOUR_FROM_1 = ([1, 0xFFFFFFFF], [0])
TEXT = (["", "x", "ü/€/😀", "x" * 65535], ["x" * 65536])
BINARY = ([b"", b"\0\xff", bytes(65535)], [bytes(65536)])
PAIR = ([("", ""), ("a", "b"), ("ü", "€"), ("n" * 65535, "v" * 65535)], [("n" * 65536, "")])
VALUES = {
    0x01: FLAG,
    0x02: FOUR,
    0x03: TEXT,
    0x08: (["a", "a/b"], []),
    0x09: BINARY,
    0x0B: ([1, 127, 128, 16384, 2097152, 268_435_455], [0, 268_435_456, 0xFFFFFFFF]),
    0x11: FOUR,
    0x12: TEXT,
    0x13: TWO,
    0x15: TEXT,
    0x16: BINARY,
    0x17: FLAG,
    0x18: FOUR,
    0x19: FLAG,
    0x1A: TEXT,
    0x1C: TEXT,
    0x1F: TEXT,
    0x21: TWO_FROM_1,
    0x22: TWO,
    0x23: TWO_FROM_1,
    0x24: FLAG,
    0x25: FLAG,
    0x26: PAIR,
    0x27: FOUR_FROM_1,
    0x28: FLAG,
    0x29: FLAG,
    0x2A: FLAG,
}
TEXTS = {i for i, values in VALUES.items() if values is TEXT} | {0x08}


def encoded(identifier: int, value: object) -> bytes:
    """As the specification says, without the length in front."""
    name = codec.PROPERTIES[identifier].name
    data = codec.properties({name: value})
    return data[next(n for n, byte in enumerate(data) if byte < 0x80) + 1 :]


def as_bytes(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(as_bytes, value))
    return value.encode() if isinstance(value, str) else value


def by_name(**values: object) -> list[tuple[int, object]]:
    """What smq.walk() finds of them; names are the scripted broker's."""
    found = []
    for name, given in values.items():
        identifier = codec.BY_NAME[name]
        for value in given if isinstance(given, list) else [given]:
            found.append((identifier, as_bytes(value)))
    return found


# ---- Putting and walking ----


def test_the_tables_are_complete():
    assert set(VALUES) == set(smq.PROPERTY_KINDS) == set(codec.PROPERTIES)


@pytest.mark.parametrize("identifier", VALUES, ids=hex)
def test_put_and_next(identifier):
    right, wrong = VALUES[identifier]
    for value in right:
        expected = encoded(identifier, value)
        list = Properties(len(expected))  # just enough
        assert smq.status_name(smq.put(list, identifier, value)) == "SMQ_OK", value
        assert list.value() == expected
        assert smq.walk(expected) == [(identifier, as_bytes(value))]
        list = Properties(len(expected) + 16)
        list.capacity = len(expected) - 1  # one byte less is too little
        assert smq.put(list, identifier, value) == smq.ERR_FULL
        assert list.size == 0
        assert set(list.buffer.raw[list.capacity :]) == {0xA5}
    for value in wrong:
        list = Properties(200_000)
        assert smq.status_name(smq.put(list, identifier, value)) == "SMQ_ERR_PROPERTY", value
        assert list.size == 0


@pytest.mark.parametrize("identifier", VALUES, ids=hex)
def test_put_a_value_of_another_kind(identifier):
    list, text = Properties(100), smq.view("1")
    kind = smq.PROPERTY_KINDS[identifier]
    if kind != "number":
        got = library.smq_property_put_number(byref(list), identifier, 1)
        assert got == smq.ERR_PROPERTY
    if kind != "bytes":
        got = library.smq_property_put_bytes(byref(list), identifier, byref(text))
        assert got == smq.ERR_PROPERTY
    assert list.size == 0


UNKNOWN = [0, 4, 0x0A, 0x10, 0x14, 0x20, 0x2B, 0x7F, 0x80, 0x101, 1 << 31]


@pytest.mark.parametrize("identifier", UNKNOWN, ids=hex)
def test_put_an_unknown_identifier(identifier):
    list, text = Properties(100), smq.view("1")
    assert library.smq_property_put_number(byref(list), identifier, 1) == smq.ERR_PROPERTY
    got = library.smq_property_put_bytes(byref(list), identifier, byref(text))
    assert got == smq.ERR_PROPERTY
    assert list.size == 0


BAD_TEXTS = [b"\xff", b"a\0b", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xc3"]


@pytest.mark.parametrize("bad", BAD_TEXTS, ids=bytes.hex)
def test_put_a_text_that_is_not_utf_8(bad):
    list = Properties(100)
    for identifier in TEXTS:
        assert smq.put(list, identifier, bad) == smq.ERR_UTF8
    for pair in ((bad, b"x"), (b"x", bad)):
        assert smq.put(list, smq.PROPERTY_USER_PROPERTY, pair) == smq.ERR_UTF8
    assert list.size == 0
    assert smq.put(list, smq.PROPERTY_CORRELATION_DATA, bad) == smq.OK  # bytes are bytes


def test_put_null():
    list, text, dangling = Properties(100), smq.view("x"), smq.Bytes(None, 5)
    put_bytes, put_pair = library.smq_property_put_bytes, library.smq_property_put_pair
    assert library.smq_property_put_number(None, 1, 1) == smq.ERR_NULL
    assert put_bytes(None, 3, byref(text)) == smq.ERR_NULL
    assert put_pair(None, byref(text), byref(text)) == smq.ERR_NULL
    for wrong in (None, byref(dangling)):
        assert put_bytes(byref(list), 3, wrong) == smq.ERR_NULL
        assert put_pair(byref(list), wrong, byref(text)) == smq.ERR_NULL
        assert put_pair(byref(list), byref(text), wrong) == smq.ERR_NULL
    assert list.size == 0
    assert smq.put(list, 3, smq.Bytes()) == smq.OK  # NULL and 0: an empty text


def test_a_list_fills_up():
    list, count = Properties(100), 0
    while (status := smq.put(list, smq.PROPERTY_USER_PROPERTY, ("ab", "c"))) == smq.OK:
        count += 1
    assert (status, count, list.size) == (smq.ERR_FULL, 12, 96)  # 1 + 2 + 2 + 2 + 1 each
    assert smq.put(list, smq.PROPERTY_RECEIVE_MAXIMUM, 7) == smq.OK
    assert smq.walk(list.value())[-1] == (smq.PROPERTY_RECEIVE_MAXIMUM, 7)


def test_all_of_them_in_one_list():
    pairs = [(i, values[0][-1]) for i, values in VALUES.items() if i not in (0x26, *TEXTS)]
    pairs += [(0x26, ("a", "1")), (0x26, ("b", "2")), (0x26, ("a", "1"))]
    assert smq.walk(smq.properties(*pairs)) == [(i, as_bytes(v)) for i, v in pairs]


NO_PROPERTY = [
    "00",  # unknown identifiers
    "04",
    "7f00",
    "8001",  # one of two bytes
    "01",  # cut off
    "02000000",
    "0300",
    "030005616263",
    "0b",
    "0bff",
    "0bffffffff01",  # a Variable Byte Integer of five bytes
    "2100",
    "26000161",
    "2600016100",
    "26000161000262",
]


@pytest.mark.parametrize("text", NO_PROPERTY)
def test_next_of_what_is_no_property(text):
    data = smq.view(bytes.fromhex(text))
    position, item = ctypes.c_size_t(0), smq.Property()
    for _ in range(2):  # it stays there
        got = library.smq_property_next(byref(data), byref(position), byref(item))
        assert smq.status_name(got) == "SMQ_ERR_PROPERTY"
    assert position.value == 0


def test_next_null_and_sizes():
    list, item, position = smq.view(encoded(0x01, 1)), smq.Property(), ctypes.c_size_t(0)
    step = library.smq_property_next
    assert step(None, byref(position), byref(item)) == smq.ERR_NULL
    assert step(byref(list), None, byref(item)) == smq.ERR_NULL
    assert step(byref(list), byref(position), None) == smq.ERR_NULL
    assert step(byref(smq.Bytes(None, 2)), byref(position), byref(item)) == smq.ERR_NULL
    for size in (0, 4, ctypes.sizeof(smq.Property) - 1):
        item.size = size
        assert step(byref(list), byref(position), byref(item)) == smq.ERR_STRUCT_SIZE
    assert position.value == 0
    item.size = ctypes.sizeof(smq.Property)
    assert step(byref(list), byref(position), byref(item)) == 1
    assert position.value == 2
    assert step(byref(list), byref(position), byref(item)) == 0
    assert step(byref(smq.Bytes()), byref(ctypes.c_size_t(0)), byref(item)) == 0
    beyond = ctypes.c_size_t(1 << 40)  # a mistake, but not one that reads what is not there
    assert step(byref(list), byref(beyond), byref(item)) in (0, smq.ERR_PROPERTY)


def test_next_points_into_the_list():
    list = smq.view(smq.properties(content_type="abc", user_property=("k", "vv")))
    position, item = ctypes.c_size_t(0), smq.Property()
    assert library.smq_property_next(byref(list), byref(position), byref(item)) == 1
    assert (item.value.data - list.data, item.value.size, item.name.size) == (3, 3, 0)
    assert library.smq_property_next(byref(list), byref(position), byref(item)) == 1
    assert (item.name.data - list.data, item.value.data - list.data) == (9, 12)


# ---- Out and in ----

MESSAGE = dict(
    payload_format=1,
    message_expiry=1000,
    content_type="text/plain; charset=utf-8",
    response_topic="answer/here",
    correlation_data=b"\0\1\xff",
    user_property=[("b", "2"), ("a", "1"), ("b", "2"), ("", ""), ("ü", "€")],
)


def message_list() -> bytes:
    return smq.properties(
        payload_format_indicator=1,
        message_expiry_interval=1000,
        content_type=MESSAGE["content_type"],
        response_topic="answer/here",
        correlation_data=b"\0\1\xff",
        user_property=MESSAGE["user_property"],
    )


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_property_of_a_message_out_and_in(clients, broker, qos):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    client.subscribed("a", qos=2, identifier=77)
    assert client.publish("a", b"x", qos=qos, cookie=1, properties=message_list()) == smq.OK
    assert client.completed(1).status == smq.OK
    event = client.message()
    _, _, found, _ = broker.of(PUBLISH)[0].publication()
    assert found == MESSAGE
    assert smq.walk(event.properties) == by_name(**MESSAGE, subscription_identifier=77)
    assert event.subscription_identifier == 77


def test_every_property_through_a_real_server(mosquitto, clients):
    client = clients(url=mosquitto.url, protocol=V5)
    client.connected()
    client.subscribed("a", identifier=77)
    assert client.publish("a", b"x", properties=message_list()) == smq.OK
    event = client.message()
    found = dict(smq.walk(event.properties))
    assert 990 <= found.pop(smq.PROPERTY_MESSAGE_EXPIRY_INTERVAL) <= 1000
    users = [v for i, v in smq.walk(event.properties) if i == smq.PROPERTY_USER_PROPERTY]
    assert users == [as_bytes(pair) for pair in MESSAGE["user_property"]]
    found.pop(smq.PROPERTY_USER_PROPERTY)
    assert found == {
        smq.PROPERTY_PAYLOAD_FORMAT_INDICATOR: 1,
        smq.PROPERTY_CONTENT_TYPE: MESSAGE["content_type"].encode(),
        smq.PROPERTY_RESPONSE_TOPIC: b"answer/here",
        smq.PROPERTY_CORRELATION_DATA: b"\0\1\xff",
        smq.PROPERTY_SUBSCRIPTION_IDENTIFIER: 77,
    }


def test_a_received_list_can_be_handed_on(clients, broker):
    """It is in the form that smq_publish() takes; what the library sets has to be left out."""
    client = clients(url=broker.url, protocol=V5)
    client.connected()

    def forward(event: smq.Event) -> None:
        if event.type == smq.EVENT_MESSAGE:
            message = Message(topic="out", qos=1, properties=client.raw.properties, cookie=1)
            assert library.smq_publish(client.handle, byref(message)) == smq.OK

    client.on_event = forward
    broker.last.publish("in", b"", **MESSAGE)
    client.completed(1)
    assert broker.of(PUBLISH)[0].publication()[2] == MESSAGE


def test_a_resent_message_has_its_properties(clients, broker):
    broker.scripts = [Script(at={2: scripted_broker.close}), Script(session_present=1)]
    flags = smq.OPTION_KEEP_SESSION
    client = clients(url=broker.url, protocol=V5, client_id="keeper", flags=flags)
    client.connected()
    listed = smq.properties(content_type="x", user_property=[("a", "b")] * 3)
    assert client.publish("a", b"x", qos=1, cookie=1, properties=listed) == smq.OK
    client.disconnected()
    client.connected()
    assert client.completed(1).status == smq.OK
    first, second = broker.of(PUBLISH)
    assert first.publication() == second.publication()


def test_the_will(clients, broker):
    will = Message(
        topic="gone",
        payload=b"\0",
        qos=2,
        retain=1,
        properties=message_list() + smq.properties(will_delay_interval=0xFFFFFFFF),
    )
    client = clients(url=broker.url, protocol=V5, will=will)
    client.connected()
    came = broker.connects[0]["will"]
    assert (came.topic, came.payload, came.qos, came.retain) == ("gone", b"\0", 2, 1)
    assert came.properties == dict(**MESSAGE, will_delay=0xFFFFFFFF)


def test_the_wills_expiry(clients, broker):
    """smq_message.expiry_s is another way to say it."""
    client = clients(url=broker.url, protocol=V5, will=Message(topic="gone", expiry_s=60))
    client.connected()
    assert broker.connects[0]["will"].properties == dict(message_expiry=60)


def test_a_real_server_delays_the_will(mosquitto, subscriber, clients):
    listed = smq.properties(will_delay_interval=1)
    will = Message(topic="gone", payload=b"x", qos=1, properties=listed)
    options = dict(protocol=V5, client_id="mortal", session_expiry_s=60)
    client = clients(url=mosquitto.url, will=will, **options)
    client.connected()
    client.close()
    start = time.monotonic()
    (message,) = subscriber.take(1)
    assert message.topic == "gone"
    assert 0.5 < time.monotonic() - start < 20


def test_connect(clients, broker):
    """Properties, and fields that are properties too: each once."""
    users = [("a", "1"), ("a", "1"), ("b", "")]
    listed = smq.properties(
        request_response_information=1,
        request_problem_information=0,
        user_property=users,
        authentication_method="none",
        authentication_data=b"\0",
    )
    broker.scripts = [Script(connack=dict(authentication_method="none"))]
    client = clients(
        url=broker.url,
        protocol=V5,
        properties=listed,
        session_expiry_s=77,
        receive_maximum=10,
        maximum_packet_bytes=10_000,
        topic_aliases_in=5,
    )
    client.connected()
    assert broker.connects[0]["properties"] == dict(
        request_response_information=1,
        request_problem_information=0,
        user_property=users,
        authentication_method="none",
        authentication_data=b"\0",
        session_expiry=77,
        receive_maximum=10,
        maximum_packet_size=10_000,
        topic_alias_maximum=5,
    )


CONNACK_VALUES = dict(
    session_expiry=5,
    receive_maximum=10,
    maximum_qos=1,
    retain_available=0,
    maximum_packet_size=1000,
    assigned_client_id="you",
    topic_alias_maximum=3,
    reason_string="welcome",
    user_property=[("a", "b"), ("a", "c")],
    wildcard_subscription_available=0,
    subscription_identifier_available=0,
    shared_subscription_available=0,
    server_keep_alive=30,
    response_information="r/",
    server_reference="other:1",
)


def test_connack(clients, broker):
    broker.scripts = [Script(connack=CONNACK_VALUES)]
    client = clients(url=broker.url, protocol=V5)
    event = client.connected()
    assert smq.walk(event.properties) == by_name(**CONNACK_VALUES)
    assert (event.reason_string, event.protocol) == (b"welcome", V5)
    server = client.server
    got = {name: getattr(server, name) for name, *_ in smq.Server._fields_[1:]}
    assert got == dict(
        protocol=V5,
        session_expiry_s=5,
        receive_maximum=10,
        maximum_packet_bytes=1000,
        maximum_qos=1,
        retain_available=0,
        wildcard_available=0,
        shared_available=0,
        subscription_identifiers_available=0,
        topic_alias_maximum=3,
        keep_alive_s=30,
    )


def test_connack_that_refuses(clients, broker):
    words = dict(reason_string="no", user_property=[("a", "b")] * 2)
    broker.scripts = [Script(at={1: scripted_broker.refuse(0x87, **words)})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert smq.walk(event.properties) == by_name(**words)


def test_the_words_of_a_disconnect(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    words = dict(reason_string="no", user_property=[("a", "b")] * 2, server_reference="x")
    broker.last.disconnect(0x9D, **words)
    event = client.disconnected()
    assert smq.walk(event.properties) == by_name(**words)


# ---- Lists that are refused ----


def raw(name: str, value: object) -> bytes:
    """Without the library's own checks."""
    identifier = codec.BY_NAME[name]
    return encoded(identifier, value)


MALFORMED = {
    "cut off": b"\x03\x00",
    "unknown": b"\x7f",
    "an identifier of two bytes": b"\x80\x01",
    "not UTF-8": b"\x26\x00\x01\xff\x00\x00",
    "U+0000": b"\x26\x00\x01\0\x00\x00",
}
ALL = {name: raw(name, VALUES[i][0][1]) for i, (name, *_) in codec.PROPERTIES.items()}


def wrong_for(place: object, *set_by_the_library: str) -> dict[str, bytes]:
    """All that may not stand there, and what is wrong anywhere."""
    allowed = codec.allowed("WILL" if place == "will" else codec.NAMES[place])
    wrong = {name: ALL[name] for name in ALL if name not in allowed}
    wrong |= {f"{name}, which the library sets": ALL[name] for name in set_by_the_library}
    for name in sorted(allowed - {"user_property", *set_by_the_library}):  # in the same order in every process
        wrong[f"{name} twice"] = ALL[name] + ALL[name]
    return wrong | MALFORMED


def refused(
    client: smq.Client, call: object, wrong: dict[str, bytes], expected: int = smq.ERR_PROPERTY
) -> None:
    before, state = client.stats, client.state
    for name, list in wrong.items():
        assert smq.status_name(call(list)) == smq.status_name(expected), name
        assert client.stats == before, name
        assert client.state == state, name


@pytest.fixture(params=["disconnected", "connected"])
def client(request, clients, broker):
    client = clients(url=broker.url, protocol=V5)
    if request.param == "connected":
        client.connected()
    return client


PUBLISHED = wrong_for(PUBLISH, "topic_alias") | {
    "Response Topic with +": raw("response_topic", "a/+"),
    "Response Topic with #": raw("response_topic", "#"),
    "empty Response Topic": raw("response_topic", ""),
    "Payload Format Indicator 2": b"\x01\x02",
}


def test_wrong_for_publish(client):
    refused(client, lambda list: client.publish("a", properties=list), PUBLISHED)
    refused(client, lambda list: client.reserve("a", 5, properties=list)[0], PUBLISHED)
    twice = {"expiry twice": raw("message_expiry", 5)}
    refused(client, lambda list: client.publish("a", properties=list, expiry_s=5), twice)


def test_wrong_for_subscribe(client):
    wrong = wrong_for(SUBSCRIBE, "subscription_identifier")
    refused(client, lambda list: client.subscribe("a", properties=list), wrong)
    wrong = wrong_for(UNSUBSCRIBE)
    refused(client, lambda list: client.unsubscribe("a", properties=list), wrong)


@pytest.mark.parametrize("qos", [1, 2])
def test_wrong_for_ack(clients, broker, qos):
    flags = smq.OPTION_HOLD
    client = clients(url=broker.url, protocol=V5, flags=flags)
    client.connected()
    broker.last.publish("a", b"x", qos)
    token = client.message().token
    wrong = wrong_for((0, PUBACK, PUBREC)[qos])
    refused(client, lambda list: client.ack(token, 0, list), wrong)
    assert client.ack(token) == smq.OK


def test_wrong_for_disconnect(clients, broker):
    """A Session Expiry Interval only if CONNECT had one (section 3.14.2.2.2)."""
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    wrong = wrong_for(DISCONNECT)
    wrong["Session Expiry Interval out of nothing"] = raw("session_expiry", 5)
    refused(client, lambda list: client.disconnect_with(0, list), wrong)
    long = {"257 bytes": raw("reason_string", "x" * 254)}
    refused(client, lambda list: client.disconnect_with(0, list), long, smq.ERR_TOO_LARGE)
    assert client.disconnect_with(0, raw("reason_string", "x" * 253)) == smq.OK
    client.disconnected()


def test_wrong_for_authenticate(clients, broker):
    broker.scripts = [Script(connack=dict(authentication_method="m"))]
    listed = smq.properties(authentication_method="m")
    client = clients(url=broker.url, protocol=V5, properties=listed)
    client.connected()
    wrong = wrong_for(AUTH, "authentication_method", "authentication_data")
    refused(client, lambda list: client.authenticate(0x19, b"x", list), wrong)
    assert broker.of(AUTH) == []


def test_wrong_for_a_request(clients, broker):
    client = clients(url=broker.url, protocol=V5, replies=2)
    wrong = PUBLISHED | {
        "Response Topic": raw("response_topic", "a"),
        "Correlation Data": raw("correlation_data", b"x"),
    }
    request = lambda list: client.request("a", b"", "b", 1000, properties=list)  # noqa: E731
    refused(client, request, wrong)
    client.connected()
    refused(client, request, wrong)


WRONG_CONNECT = wrong_for(
    scripted_broker.CONNECT,
    "session_expiry",
    "receive_maximum",
    "maximum_packet_size",
    "topic_alias_maximum",
) | {"Authentication Data without a method": raw("authentication_data", b"x")}
WRONG_WILL = wrong_for("will") | {
    "Response Topic with +": raw("response_topic", "a/+"),
}


@pytest.mark.parametrize("name", WRONG_CONNECT)
def test_wrong_for_connect(name):
    options = smq.Options(host="h", protocol=V5, properties=WRONG_CONNECT[name])
    got = library.smq_options_check(byref(options), None)
    assert smq.status_name(got) == "SMQ_ERR_PROPERTY"
    assert library.smq_client_size(byref(options)) == 0


@pytest.mark.parametrize("name", WRONG_WILL)
def test_wrong_for_the_will(name):
    will = Message(topic="w", properties=WRONG_WILL[name])
    options = smq.Options(host="h", protocol=V5, will=will)
    got = library.smq_options_check(byref(options), None)
    assert smq.status_name(got) == "SMQ_ERR_PROPERTY"
    assert library.smq_client_size(byref(options)) == 0


def test_the_wills_expiry_twice():
    will = Message(topic="w", expiry_s=5, properties=raw("message_expiry", 5))
    options = smq.Options(host="h", protocol=V5, will=will)
    assert library.smq_options_check(byref(options), None) == smq.ERR_PROPERTY


def test_the_broker_would_not_take_them():
    """The tables are those of the broker that all these tests trust."""
    for place in (PUBLISH, SUBSCRIBE, DISCONNECT):
        for name, list in MALFORMED.items():
            packet = codec.Packet(codec.variable(len(list)) + list, level=5)
            with contextlib.suppress(codec.Unreadable):
                codec.Reading(packet).properties(codec.NAMES[place])
                assert packet.complaints, name


# ---- Before 5.0 ----


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, V4])
def test_before_5_0_there_are_none(clients, broker, protocol):
    options = dict(url=broker.url, protocol=protocol, client_id="x", flags=smq.OPTION_HOLD)
    client = clients(**options)
    right = raw("user_property", ("a", "b"))
    some = {"a right one": right}
    refused(client, lambda x: client.publish("a", properties=x), some, smq.ERR_OPTION)
    refused(client, lambda x: client.subscribe("a", properties=x), some, smq.ERR_OPTION)
    refused(client, lambda x: client.unsubscribe("a", properties=x), some, smq.ERR_OPTION)
    client.connected()
    refused(client, lambda x: client.publish("a", properties=x), some, smq.ERR_OPTION)
    refused(client, lambda x: client.disconnect_with(0, x), some)
    broker.last.publish("a", b"x", 1)
    token = client.message().token
    refused(client, lambda x: client.ack(token, 0, x), some)
    for wrong in (dict(properties=right), dict(will=Message(topic="w", properties=right))):
        given = smq.Options(**options, **wrong)
        assert library.smq_options_check(byref(given), None) == smq.ERR_OPTION


# ---- AUTH and the properties in its event ----


def test_the_words_of_an_auth(clients, broker):
    words = dict(
        authentication_method="m",
        authentication_data=b"\0data",
        reason_string="go on",
        user_property=[("a", "b")] * 2,
    )
    broker.scripts = [Script(at={1: auth(0x18, **words)})]
    client = clients(
        url=broker.url, protocol=V5, properties=smq.properties(authentication_method="m")
    )
    assert client.connect() == smq.OK
    event = client.wait_event(smq.EVENT_AUTHENTICATE)
    assert smq.walk(event.properties) == by_name(**words)
    assert (event.payload, event.reason_string) == (b"\0data", b"go on")


def test_unknown_properties_of_a_server_are_malformed(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    broker.last.post(packet(PUBLISH, b"\0\1a\2\x7f\0"))
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_MALFORMED, smq.RULE_UNKNOWN_PROPERTY)
