"""The calls with fewer arguments: they do what their twins do, with the same errors. And what a completion is of."""

from __future__ import annotations

import ctypes

import pytest

from Support import smq
from Support.scripted_broker import PUBLISH, SUBSCRIBE, UNSUBSCRIBE, Script, packet
from Support.smq import library

V3, V4, V5 = smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
TOO_LONG = b"a" * 65536


def text(client: smq.Client, topic: object, payload: object, qos: int = 0, retain: int = 0) -> int:
    return library.smq_publish_text(client.handle, topic, payload, qos, retain)


def subscribe_to(client: smq.Client, filter: object, qos: int = 0, cookie: int = 0) -> int:
    return library.smq_subscribe_to(client.handle, filter, qos, cookie)


def unsubscribe_from(client: smq.Client, filter: object, cookie: int = 0) -> int:
    return library.smq_unsubscribe_from(client.handle, filter, cookie)


def without_identifier(raw: bytes) -> bytes:
    """SUBSCRIBE or UNSUBSCRIBE of less than 128 bytes; each has a Packet Identifier of its own (section 2.2.1)."""
    return raw[:2] + raw[4:]


# ---- What they do ----


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [0, 1])
@pytest.mark.parametrize("payload", [b"21.5", b"", "21,5 °C".encode()])
def test_a_text_is_sent_as_its_twin_sends_it(clients, broker, version, qos, retain, payload):
    sent = []
    for short in (True, False):
        client = clients(url=broker.url, **version)
        client.connected()
        if short:
            assert text(client, b"a/b", payload, qos, retain) == smq.OK
        else:
            assert client.publish("a/b", payload, qos=qos, retain=retain) == smq.OK
        event = client.completed(0)
        assert (event.status, event.completed) == (smq.OK, smq.COMPLETED_PUBLISH)
        client.leave()
        sent.append([(p.flags, p.payload) for p in broker.of(PUBLISH)][-1])
    assert sent[0] == sent[1] == (qos << 1 | retain, payload)


def test_an_empty_text_removes_a_retained_message(mosquitto, clients):
    client = clients(url=mosquitto.url)
    client.connected()
    for payload, retained in ((b"on", [b"on"]), (b"", [])):
        assert text(client, b"lamp", payload, 1, 1) == smq.OK
        assert client.completed(0).status == smq.OK
        later = clients(url=mosquitto.url)
        later.connected()
        later.subscribed("lamp")
        assert later.publish("lamp", b"end") == smq.OK  # behind what was retained
        assert [m.payload for m in later.receive(len(retained) + 1)] == [*retained, b"end"]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_one_filter_is_subscribed_to_as_with_the_twins(clients, broker, version, qos):
    sent = []
    for short in (True, False):
        client = clients(url=broker.url, **version)
        client.connected()
        if short:
            assert subscribe_to(client, b"a/+", qos, 1 << 63) == smq.OK
        else:
            assert client.subscribe("a/+", qos=qos, cookie=1 << 63) == smq.OK
        event = client.completed(1 << 63)
        assert (event.status, event.reason_codes) == (smq.OK, bytes([qos]))
        assert event.completed == smq.COMPLETED_SUBSCRIBE
        if short:
            assert unsubscribe_from(client, b"a/+", (1 << 64) - 1) == smq.OK
        else:
            assert client.unsubscribe("a/+", cookie=(1 << 64) - 1) == smq.OK
        event = client.completed((1 << 64) - 1)
        assert (event.status, event.completed) == (smq.OK, smq.COMPLETED_UNSUBSCRIBE)
        client.leave()
        sent.append([without_identifier(broker.of(kind)[-1].raw) for kind in (SUBSCRIBE, UNSUBSCRIBE)])
    assert sent[0] == sent[1]


def test_strings_are_copied(clients, broker):
    client = clients(url=broker.url)
    topic, payload = bytearray(b"topic\0"), bytearray(b"first\0")
    place = (ctypes.c_char * len(topic)).from_buffer(topic)
    other = (ctypes.c_char * len(payload)).from_buffer(payload)
    assert text(client, place, other, 1) == smq.OK
    topic[:5], payload[:5] = b"wrong", b"WRONG"
    assert subscribe_to(client, place, 1) == smq.OK
    topic[:5] = b"TOPIC"
    client.connected()
    client.until(lambda: len(client.completions()) == 2)
    assert [(p.publication()[0], p.payload) for p in broker.of(PUBLISH)] == [("topic", b"first")]
    assert [p.request()[2] for p in broker.of(SUBSCRIBE)] == [[("wrong", 1)]]


# ---- Wrong calls ----

WRONG_TEXTS = {  # topic, text, qos, retain, error
    "no topic": (None, b"", 0, 0, smq.ERR_NULL),
    "no text": (b"a", None, 0, 0, smq.ERR_NULL),
    "no text, to be retained": (b"a", None, 1, 1, smq.ERR_NULL),
    "nothing at all": (None, None, 9, 9, smq.ERR_NULL),
    "retain 2": (b"a", b"x", 0, 2, smq.ERR_OPTION),
    "retain 256": (b"a", b"x", 0, 256, smq.ERR_OPTION),
    "retain 257": (b"a", b"x", 0, 257, smq.ERR_OPTION),
    "retain -1": (b"a", b"x", 0, 0xFFFFFFFF, smq.ERR_OPTION),
    "retain before QoS": (b"a", b"x", 3, 2, smq.ERR_OPTION),
    "QoS 3": (b"a", b"x", 3, 0, smq.ERR_QOS),
    "QoS 256": (b"a", b"x", 256, 0, smq.ERR_QOS),
    "QoS 257": (b"a", b"x", 257, 1, smq.ERR_QOS),
    "QoS -1": (b"a", b"x", 0xFFFFFFFF, 0, smq.ERR_QOS),
    "QoS before the topic": (b"", b"x", 3, 0, smq.ERR_QOS),
    "empty topic": (b"", b"x", 0, 0, smq.ERR_TOPIC_NAME),
    "topic with +": (b"a/+", b"x", 0, 0, smq.ERR_TOPIC_NAME),
    "topic with #": (b"#", b"", 0, 0, smq.ERR_TOPIC_NAME),
    "topic of 65536 bytes": (TOO_LONG, b"", 0, 0, smq.ERR_TOPIC_NAME),
    "topic not UTF-8": (b"a\xc3", b"x", 0, 0, smq.ERR_UTF8),
    "text too large": (b"a", b"x" * 996, 0, 0, smq.ERR_TOO_LARGE),
}


@pytest.mark.parametrize("name", WRONG_TEXTS)
def test_wrong_texts(clients, name):
    client = clients(url="mqtt://127.0.0.1", outbox_bytes=1000)
    topic, payload, qos, retain, expected = WRONG_TEXTS[name]
    before = client.stats
    assert smq.status_name(text(client, topic, payload, qos, retain)) == smq.status_name(expected)
    assert client.stats == before
    if topic is not None and payload is not None and max(qos, retain) < 256:
        assert client.publish(topic, payload, qos=qos, retain=retain) == expected, "the twin"


WRONG_FILTERS = {  # filter, qos, error
    "no filter": (None, 0, smq.ERR_NULL),
    "no filter, and a wrong QoS": (None, 3, smq.ERR_NULL),
    "QoS 3": (b"a", 3, smq.ERR_QOS),
    "QoS 256": (b"a", 256, smq.ERR_QOS),
    "QoS 258": (b"a", 258, smq.ERR_QOS),
    "QoS -1": (b"a", 0xFFFFFFFF, smq.ERR_QOS),
    "QoS before the filter": (b"a/#/b", 3, smq.ERR_QOS),
    "empty filter": (b"", 0, smq.ERR_TOPIC_FILTER),
    "misplaced #": (b"a/#/b", 0, smq.ERR_TOPIC_FILTER),
    "misplaced +": (b"a+", 0, smq.ERR_TOPIC_FILTER),
    "a share without a filter": (b"$share/a", 0, smq.ERR_TOPIC_FILTER),
    "filter of 65536 bytes": (TOO_LONG, 0, smq.ERR_TOPIC_FILTER),
    "filter not UTF-8": (b"\xff", 0, smq.ERR_UTF8),
    "filter too large": (b"a" * 1024, 0, smq.ERR_TOO_LARGE),
}


@pytest.mark.parametrize("name", WRONG_FILTERS)
def test_wrong_filters(clients, name):
    client = clients(url="mqtt://127.0.0.1")
    filter, qos, expected = WRONG_FILTERS[name]
    before = client.stats
    assert smq.status_name(subscribe_to(client, filter, qos, 1)) == smq.status_name(expected)
    assert client.stats == before
    if filter is not None and qos < 256:
        assert client.subscribe(filter, qos=qos, cookie=1) == expected, "the twin"
    if qos == 0:
        assert smq.status_name(unsubscribe_from(client, filter, 1)) == smq.status_name(expected)
        if filter is not None:
            assert client.unsubscribe(filter, cookie=1) == expected, "the twin"
    assert client.stats == before


def test_no_room(clients):
    client = clients(url="mqtt://127.0.0.1", outbox_messages=1, requests=1, flags=smq.OPTION_QOS_0_CONNECTED)
    assert text(client, b"a", b"x", 0) == client.publish("a", b"x") == smq.ERR_OFFLINE
    assert text(client, b"a", b"x", 1) == smq.OK
    assert text(client, b"a", b"x", 1) == client.publish("a", b"x", qos=1) == smq.ERR_FULL
    assert subscribe_to(client, b"a") == smq.OK
    before = client.stats
    assert subscribe_to(client, b"b") == client.subscribe("b") == smq.ERR_FULL
    assert unsubscribe_from(client, b"b") == client.unsubscribe("b") == smq.ERR_FULL
    assert client.stats == before


# ---- smq_event.completed ----


def completed(client: smq.Client, count: int) -> dict[int, tuple[int, int]]:
    """Cookie: what is completed, and how."""
    client.until(lambda: len(client.completions()) == count)
    return {event.cookie: (event.completed, event.status) for event in client.completions()}


def test_what_is_complete(clients, broker, version):
    client = clients(url=broker.url, stream_bytes=64, submit_messages=1, urgent_messages=1, **version)
    client.connected()
    for cookie in (1, 2, 3):
        assert client.publish("a", b"x", qos=cookie - 1, cookie=cookie) == smq.OK
    assert client.publish("a", b"x", qos=1, cookie=4, urgent=1) == smq.OK
    assert client.submit("a", b"x", qos=1, cookie=5) == smq.OK
    assert client.reserve("a", 1, qos=2, cookie=6)[0] == smq.OK
    assert client.commit(0) == smq.OK
    assert client.stream("a", 3, lambda offset, size: b"abc"[offset : offset + size], cookie=7) == smq.OK
    assert client.subscribe("b", "c", cookie=8) == smq.OK
    assert client.unsubscribe("b", cookie=9) == smq.OK
    kinds = {**dict.fromkeys(range(1, 8), smq.COMPLETED_PUBLISH), 8: smq.COMPLETED_SUBSCRIBE,
             9: smq.COMPLETED_UNSUBSCRIBE}  # fmt: skip
    assert completed(client, 9) == {cookie: (kind, smq.OK) for cookie, kind in kinds.items()}
    assert all(event.completed == 0 for event in client.events if event.type != smq.EVENT_COMPLETED)


def test_the_numbers_are_those_of_the_packets():
    """Section 2.1.2."""
    kinds = (smq.COMPLETED_PUBLISH, smq.COMPLETED_SUBSCRIBE, smq.COMPLETED_UNSUBSCRIBE)
    assert kinds == (PUBLISH, SUBSCRIBE, UNSUBSCRIBE) == (3, 8, 10)


def test_what_failed(clients, broker):
    """Whether the server refused it, cannot do it, or answered what cannot be read; or the message made room."""
    limits = dict(wildcard_subscription_available=0, retain_available=0)
    broker.scripts = [Script(connack=limits, grant=lambda filter, options: 0x87 if filter == "refused" else 0)]
    client = clients(url=broker.url, protocol=V5, outbox_messages=3)
    assert client.publish("a", b"x", qos=1, cookie=1, overflow=smq.OVERFLOW_LATEST) == smq.OK
    assert client.publish("a", b"x", qos=1, cookie=2, overflow=smq.OVERFLOW_LATEST) == smq.OK
    assert client.publish("a", b"x", qos=1, cookie=3, retain=1) == smq.OK
    assert client.subscribe("#", cookie=4) == smq.OK
    assert client.unsubscribe("#", cookie=5) == smq.OK
    assert client.subscribe("refused", cookie=6) == smq.OK
    client.connected()
    publish, subscribe, unsubscribe = smq.COMPLETED_PUBLISH, smq.COMPLETED_SUBSCRIBE, smq.COMPLETED_UNSUBSCRIBE
    assert completed(client, 6) == {
        1: (publish, smq.ERR_REPLACED), 2: (publish, smq.OK), 3: (publish, smq.ERR_SERVER_LIMIT),
        4: (subscribe, smq.ERR_SERVER_LIMIT), 5: (unsubscribe, smq.OK), 6: (subscribe, smq.ERR_REFUSED),
    }  # fmt: skip


@pytest.mark.parametrize("subscribing", [True, False])
def test_an_acknowledgement_that_cannot_be_read(clients, broker, subscribing):
    kind = SUBSCRIBE if subscribing else UNSUBSCRIBE

    def broken(connection, came) -> None:
        connection.send(packet(kind + 1, came.id.to_bytes(2, "big") + b"\0\xff\xff"))  # of 5.0

    broker.scripts = [Script(on={kind: [broken]})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert (client.subscribe if subscribing else client.unsubscribe)("a", cookie=1) == smq.OK
    event = client.completed(1)
    assert event.status == smq.ERR_PROTOCOL
    assert event.completed == (smq.COMPLETED_SUBSCRIBE if subscribing else smq.COMPLETED_UNSUBSCRIBE)


def test_a_request_is_no_completion(clients, broker):
    """It ends in an event of its own, which says so, even if its message came to nothing."""
    broker.scripts = [Script(connack=dict(maximum_qos=0))]
    client = clients(url=broker.url, protocol=V5, replies=2)
    assert client.request("a", b"x", "b", 60_000, qos=1, cookie=1) == smq.OK
    client.connected()
    event = client.wait_event(smq.EVENT_REPLY)
    assert (event.cookie, event.status, event.completed) == (1, smq.ERR_SERVER_LIMIT, 0)


# ---- A Session Expiry Interval of 0 ----


@pytest.mark.parametrize(
    "flags, seconds, clean, said",
    [
        (0, 0, 1, None),
        (smq.OPTION_SESSION_EXPIRY, 0, 1, None),
        (smq.OPTION_SESSION_EXPIRY, 60, 1, 60),
        (smq.OPTION_KEEP_SESSION, 0, 0, smq.FOREVER),
        (smq.OPTION_KEEP_SESSION, 60, 0, 60),
        (smq.OPTION_KEEP_SESSION + smq.OPTION_SESSION_EXPIRY, 0, 0, None),
        (smq.OPTION_KEEP_SESSION + smq.OPTION_SESSION_EXPIRY, 60, 0, 60),
    ],
)
def test_what_connect_says_of_the_session(clients, broker, flags, seconds, clean, said):
    """Section 3.1.2.11.2: an interval that is absent is 0."""
    client = clients(url=broker.url, protocol=V5, client_id="a", flags=flags, session_expiry_s=seconds)
    client.connected()
    (connect,) = broker.connects
    assert (connect["clean"], connect["properties"].get("session_expiry")) == (clean, said)
    assert client.server.session_expiry_s == (said or 0)


@pytest.mark.parametrize("protocol", [V3, V4])
def test_expiry_is_of_5(clients, protocol):
    with pytest.raises(ValueError, match="SMQ_ERR_OPTION"):
        clients(url="mqtt://127.0.0.1", protocol=protocol, client_id="a", flags=smq.OPTION_SESSION_EXPIRY)


def test_a_fallback_keeps_the_session(clients, broker):
    broker.scripts = [Script(levels=frozenset({4})), Script(levels=frozenset({4}))]
    flags = smq.OPTION_KEEP_SESSION + smq.OPTION_SESSION_EXPIRY + smq.OPTION_FALLBACK
    client = clients(url=broker.url, protocol=V5, client_id="a", flags=flags)
    client.connected()
    assert [(c["level"], c["clean"]) for c in broker.connects] == [(5, 0), (4, 0)]


def test_a_last_visit(mosquitto, clients):
    """The session that an earlier client left is resumed, what waits there is taken, and none is left."""
    options = dict(url=mosquitto.url, protocol=V5, client_id="visitor")
    first = clients(**options, flags=smq.OPTION_KEEP_SESSION)
    first.connected()
    first.subscribed("a", qos=1)
    first.leave()
    mosquitto.publish("a", "waits", "-q", "1")
    last = clients(**options, flags=smq.OPTION_KEEP_SESSION + smq.OPTION_SESSION_EXPIRY)
    assert last.connected().session_present == 1
    assert last.message().payload == b"waits"
    assert last.disconnect_with(0, smq.properties(session_expiry_interval=60)) == smq.ERR_PROPERTY  # 3.14.2.2.2
    assert last.disconnect_with(0, smq.properties(session_expiry_interval=0)) == smq.OK
    last.disconnected()
    assert last.connected().session_present == 0
    last.leave()
    assert first.connected().session_present == 0
