"""What client and server agree on: Topic Aliases, Message Expiry, and what each takes (5.0)."""

from __future__ import annotations

import ctypes
import random
import time

import pytest

from Support import smq
from Support.scripted_broker import (
    DISCONNECT,
    PUBACK,
    PUBLISH,
    PUBREC,
    PUBREL,
    Script,
    close,
)

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


# ---- Topic Aliases of ours ----


def sent(broker, connection: int | None = None) -> list[tuple[str, int | None]]:
    """Of each PUBLISH, the topic as it was on the wire, and the alias."""
    found = []
    for came in broker.of(PUBLISH, connection):
        topic, _, properties, _ = came.publication()
        found.append((topic, properties.get("topic_alias")))
    return found


def publish_all(client: smq.Client, topics: str) -> None:
    """Each message's payload is its topic, which is what the broker must resolve it to. One is
    complete before the next comes: what is in flight holds on to its alias."""
    for number, topic in enumerate(topics):
        status = client.publish(topic * 20, topic * 20, qos=1, cookie=number)
        assert status == smq.OK
        assert client.completed(number).status == smq.OK


def right(broker) -> None:
    broker.wait_for(lambda: all(m.payload == m.topic.encode() for m in broker.messages))


@pytest.mark.parametrize("ours, servers, used", [(2, 10, 2), (10, 2, 2), (3, 3, 3), (1, 1, 1)])
def test_no_more_aliases_than_both_allow(clients, broker, ours, servers, used):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=servers))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=ours)
    client.connected()
    publish_all(client, "abcdabcdaaaa")
    assert [m.topic[0] for m in broker.messages] == list("abcdabcdaaaa")
    right(broker)
    aliases = {alias for _, alias in sent(broker) if alias is not None}
    assert aliases == set(range(1, used + 1))
    assert sent(broker)[-3:] == [("", sent(broker)[-1][1])] * 3


@pytest.mark.parametrize("options, servers", [({}, 10), (dict(topic_aliases_out=10), 0)])
def test_no_aliases(clients, broker, options, servers):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=servers) if servers else {})]
    client = clients(url=broker.url, protocol=V5, **options)
    client.connected()
    publish_all(client, "aabb")
    assert {alias for _, alias in sent(broker)} == {None}


def test_the_least_recently_used_makes_room(clients, broker):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=2))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=2)
    client.connected()
    publish_all(client, "abacbcba")  # c takes b's, as a was used after b; then b takes a's
    right(broker)
    wire = [(topic[:1], alias) for topic, alias in sent(broker)]
    a, b = wire[0][1], wire[1][1]
    assert {a, b} == {1, 2}
    assert wire == [
        ("a", a),
        ("b", b),
        ("", a),
        ("c", b),
        ("b", a),
        ("", b),
        ("", a),
        ("a", b),
    ]


def test_a_long_topic_goes_without(clients, broker):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=5))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=5, topic_alias_bytes=10)
    client.connected()
    for number, topic in enumerate(["x" * 11, "y" * 10] * 3):
        assert client.publish(topic, topic, qos=1, cookie=number) == smq.OK
        client.completed(number)
    right(broker)
    wire = sent(broker)
    assert wire[0::2] == [("x" * 11, None)] * 3
    assert [topic for topic, _ in wire[1::2]] == ["y" * 10, "", ""]


def test_other_properties_go_along(clients, broker):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=5))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=5)
    client.connected()
    users = [("a", "1"), ("b", "2")]
    listed = smq.properties(content_type="x", user_property=users)
    for cookie in range(3):
        assert client.publish("t" * 20, b"", qos=1, cookie=cookie, properties=listed) == smq.OK
        client.completed(cookie)
    for came in broker.of(PUBLISH):
        _, _, found, _ = came.publication()
        assert found == dict(content_type="x", user_property=users, topic_alias=1)


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("servers", [(3, 3), (3, 0), (0, 3), (5, 1)])
def test_aliases_end_with_the_connection(clients, broker, qos, servers):
    """What is sent again, and what was queued before, has the right topic there, too."""
    broker.scripts = [
        Script(connack=dict(topic_alias_maximum=servers[0]), hold={PUBACK, PUBREC}, at={8: close}),
        Script(connack=dict(topic_alias_maximum=servers[1]), session_present=1),
    ]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=3, **KEEP)
    client.connected()
    topics = "aabbcac"
    for number, topic in enumerate(topics):
        assert client.publish(topic * 20, topic * 20, qos=qos, cookie=number) == smq.OK
    client.disconnected()
    for number, topic in enumerate("abca", len(topics)):  # meanwhile
        assert client.publish(topic * 20, topic * 20, qos=qos, cookie=number) == smq.OK
    client.connected()
    for number in range(11):
        assert client.completed(number).status == smq.OK
    right(broker)
    again = [p for p in broker.of(PUBLISH, 2)]
    assert [p.payload[:1].decode() for p in again] == list("aabbcacabca")
    seen = set()
    for topic, alias in sent(broker, 2):
        if topic == "":
            assert alias in seen, "an alias of the connection before"
        seen.add(alias)


@pytest.mark.parametrize("seed", range(3))
def test_aliases_at_random(clients, broker, seed):
    """Topics, QoS, lost connections: the broker resolves what was meant."""
    dice = random.Random(seed)
    for _ in range(8):
        said = dict(topic_alias_maximum=dice.randrange(6))
        broker.scripts.append(Script(connack=said, at={dice.randrange(9, 60): close}))
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=4, **KEEP)
    for number in range(200):
        if client.state == smq.STATE_DISCONNECTED:
            client.connect()
        topic = f"topic/{dice.randrange(8)}" * 3
        assert client.publish(topic, topic, qos=dice.randrange(1, 3), quiet=1) == smq.OK
        client.step(dice.choice([0, 0, 0, 2]))
    deadline = time.monotonic() + 20
    while client.stats.outbox_messages:
        assert time.monotonic() < deadline, client.stats
        if client.state == smq.STATE_DISCONNECTED:
            client.connect()
        client.step(10)
    assert client.stats.messages_failed == 0
    right(broker)
    assert any(topic == "" for topic, _ in sent(broker))


def test_aliases_of_streams_and_reservations(clients, broker):
    """They are messages like others."""
    broker.scripts = [Script(connack=dict(topic_alias_maximum=5))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=5, stream_bytes=64)
    client.connected()
    topic = "t" * 20
    data = topic.encode()
    assert client.publish(topic, data, qos=1, cookie=1) == smq.OK
    client.completed(1)
    pull = lambda offset, size: data[offset : offset + size]  # noqa: E731
    assert client.stream(topic, len(data), pull, qos=1, cookie=2) == smq.OK
    client.completed(2)
    status, place = client.reserve(topic, len(data), qos=1, cookie=3)
    assert status == smq.OK
    ctypes.memmove(place, data, len(data))
    assert client.commit(len(data)) == smq.OK
    client.completed(3)
    right(broker)
    assert len(broker.messages) == 3


# ---- Topic Aliases of the server ----


def test_a_topic_alias_is_resolved(clients, broker):
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=3)
    client.connected()
    assert broker.connects[0]["properties"]["topic_alias_maximum"] == 3
    for topic, alias, expected in (
        ("a", 1, "a"),
        ("", 1, "a"),
        ("ü/€", 3, "ü/€"),
        ("", 3, "ü/€"),
        ("", 1, "a"),
        ("b", 1, "b"),  # from now on another one
        ("", 1, "b"),
        ("", 3, "ü/€"),
        ("c", None, "c"),
        ("x" * 128, 2, "x" * 128),  # topic_alias_bytes' default
        ("", 2, "x" * 128),
    ):
        values = {} if alias is None else dict(topic_alias=alias)
        broker.last.publish(topic, b"payload", 1, **values)
        event = client.message()
        assert (event.topic, event.payload) == (expected.encode(), b"payload")
        assert event.status == smq.OK


def test_no_alias_is_announced_without_room(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert broker.connects[0]["properties"].get("topic_alias_maximum", 0) == 0


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_topic_too_long_to_be_kept(clients, broker, qos):
    """What stands for it later comes without a topic, but it comes, and is acknowledged."""
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=2, topic_alias_bytes=10)
    client.connected()
    broker.last.publish("x" * 11, b"1", qos, topic_alias=1)
    event = client.message()
    assert (event.status, event.topic, event.payload) == (smq.OK, b"x" * 11, b"1")
    broker.last.publish("", b"2", qos, topic_alias=1)
    event = client.message()
    assert event.status == smq.ERR_RECEIVE_TOO_LARGE
    assert (event.topic, event.payload, event.payload_total) == (b"", b"2", 1)
    broker.last.publish("y" * 10, b"3", qos, topic_alias=1)
    broker.last.publish("", b"4", qos, topic_alias=1)
    assert [m.topic for m in client.receive(2)] == [b"y" * 10] * 2
    client.until(lambda: not broker.last.session.outgoing)


ALIAS_FAULTS = {  # alias, maximum, rule, what the server is told
    "0": (0, 3, {smq.RULE_TOPIC_ALIAS, smq.RULE_PROPERTY_VALUE}, {0x82, 0x94}),
    "above the maximum": (4, 3, {smq.RULE_TOPIC_ALIAS}, {0x94}),
    "none allowed": (1, 0, {smq.RULE_TOPIC_ALIAS}, {0x94}),
    "65535": (65535, 3, {smq.RULE_TOPIC_ALIAS}, {0x94}),
    "stands for nothing": (2, 3, {smq.RULE_UNKNOWN_TOPIC_ALIAS}, {0x82}),
}


@pytest.mark.parametrize(
    "name, topic",
    [
        (name, topic)
        for name in ALIAS_FAULTS
        for topic in ("", "topic")
        if not topic or name != "stands for nothing"  # with a topic it does
    ],
)
def test_wrong_aliases(clients, broker, name, topic):
    alias, maximum, rules, codes = ALIAS_FAULTS[name]
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=maximum)
    client.connected()
    broker.last.publish(topic, b"x", topic_alias=alias)
    event = client.disconnected()
    assert event.status in (smq.ERR_PROTOCOL, smq.ERR_MALFORMED)
    assert event.rule in rules and event.reason_code in codes
    assert not client.messages()
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].reason()[0] == event.reason_code


def test_a_servers_alias_ends_with_the_connection(clients, broker):
    """[MQTT-3.3.2-7]"""
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=3, **KEEP)
    client.connected()
    broker.last.publish("a", b"x", topic_alias=1)
    client.message()
    client.leave()
    client.connected()
    broker.last.publish("", b"x", topic_alias=1)
    event = client.disconnected()
    assert (event.rule, event.reason_code) == (smq.RULE_UNKNOWN_TOPIC_ALIAS, 0x82)


def test_an_alias_in_a_message_that_is_not_handed_out_counts(clients, broker):
    """A duplicate of QoS 2, and one too large: both may define an alias."""
    broker.scripts = [Script(hold={PUBREL})]
    small = dict(receive_bytes=128, maximum_packet_bytes=smq.OFF)
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=3, **small)
    client.connected()
    identifier = broker.last.publish("a", b"x", 2)
    client.message()
    client.until(lambda: broker.held)
    broker.last.publish("a", b"x", 2, dup=1, identifier=identifier, topic_alias=1)
    broker.last.publish("", b"1", topic_alias=1)
    event = client.message()
    assert (event.topic, event.payload) == (b"a", b"1")
    broker.last.publish("c", bytes(1000), topic_alias=1)
    assert client.message().status == smq.ERR_RECEIVE_TOO_LARGE
    broker.last.publish("", b"2", topic_alias=1)
    assert client.message().topic == b"c"


# ---- Message Expiry ----


def expiring(protocol: int, how: str, seconds: int) -> dict[str, object]:
    if how == "property":
        return dict(properties=smq.properties(message_expiry_interval=seconds))
    return dict(expiry_s=seconds)


WAYS = [(smq.PROTOCOL_3_1, "field"), (V4, "field"), (V5, "field"), (V5, "property")]


@pytest.mark.parametrize("protocol, how", WAYS)
def test_expired_while_offline(clients, broker, protocol, how):
    """Said when it happens, not when there is a connection again."""
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    start = time.monotonic()
    for qos in (0, 1, 2):
        more = expiring(protocol, how, 1)
        assert client.publish("a", b"%d" % qos, qos=qos, cookie=qos, **more) == smq.OK
        assert client.publish("b", b"lasts", qos=qos, cookie=10 + qos) == smq.OK
    left = smq.library.smq_next_timeout_ms(client.handle)
    assert 0 <= left <= 1000
    assert smq.library.smq_wait(client.handle, -1) == 1  # there is something to wait for
    assert 0.9 < time.monotonic() - start < 20
    for qos in (0, 1, 2):
        event = client.completed(qos)
        assert (event.status, event.reason_code) == (smq.ERR_EXPIRED, -1)
    assert client.stats.messages_expired == client.stats.messages_failed == 3
    client.connected()
    for qos in (0, 1, 2):
        assert client.completed(10 + qos).status == smq.OK
    assert {m.topic for m in broker.messages} == {"b"}


def test_expired_behind_a_full_window(clients, broker):
    """Connected, but not sent in time; what is behind it is."""
    broker.scripts = [Script(connack=dict(receive_maximum=1), hold={PUBACK})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", b"first", qos=1, cookie=1) == smq.OK
    assert client.publish("a", b"late", qos=1, cookie=2, expiry_s=1) == smq.OK
    assert client.publish("a", b"behind", qos=1, cookie=3, expiry_s=100) == smq.OK
    assert client.completed(2).status == smq.ERR_EXPIRED
    broker.connections[0].script.hold = set()
    broker.release()
    assert client.completed(1).status == client.completed(3).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"first", b"behind"]
    assert client.stats.outbox_bytes == 0


@pytest.mark.parametrize("how", ["field", "property"])
def test_what_is_left_is_carried(clients, broker, how):
    client = clients(url=broker.url, protocol=V5)
    for cookie, seconds in enumerate((3, 100, 1_000_000)):
        more = expiring(V5, how, seconds)
        assert client.publish("a", b"", qos=1, cookie=cookie, **more) == smq.OK
    time.sleep(2.1)
    client.connected()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK
    got = [p.publication()[2]["message_expiry"] for p in broker.of(PUBLISH)]
    for left, given in zip(got, (3, 100, 1_000_000)):
        assert given - 3 <= left <= given - 1  # seconds that have begun count as whole ones


def test_sent_at_once_it_carries_all(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1, cookie=1, expiry_s=7) == smq.OK
    client.completed(1)
    assert broker.of(PUBLISH)[0].publication()[2] == dict(message_expiry=7)


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, V4])
def test_before_5_0_the_server_does_not_know(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    client.connected()
    assert client.publish("a", b"x", qos=1, cookie=1, expiry_s=7) == smq.OK
    client.completed(1)
    assert broker.of(PUBLISH)[0].body == b"\0\1a" + broker.of(PUBLISH)[0].body[3:5] + b"x"


@pytest.mark.parametrize("qos", [1, 2])
def test_what_was_sent_does_not_expire(clients, broker, qos):
    """The server may have it: only its answer can end it."""
    broker.scripts = [Script(hold={PUBACK, PUBREC})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=qos, cookie=1, expiry_s=1) == smq.OK
    client.until(lambda: broker.held)
    client.run(1.3)
    assert not client.completions()
    broker.release()
    assert client.completed(1).status == smq.OK


def test_an_expired_message_makes_room(clients, broker):
    client = clients(url=broker.url, outbox_messages=3)
    for cookie in range(3):
        assert client.publish("a", qos=1, cookie=cookie, expiry_s=1) == smq.OK
    assert client.publish("a", qos=1) == smq.ERR_FULL
    for cookie in range(3):
        assert client.completed(cookie).status == smq.ERR_EXPIRED
    client.wait_event(smq.EVENT_ROOM)
    assert client.stats.outbox_messages == client.stats.outbox_bytes == 0
    assert client.publish("a", qos=1, cookie=5) == smq.OK
    client.connected()
    assert client.completed(5).status == smq.OK


def test_an_expired_quiet_message_is_reported(clients):
    client = clients(url="mqtt://127.0.0.1:1")
    assert client.publish("a", quiet=1, cookie=1, expiry_s=1) == smq.OK
    assert client.completed(1).status == smq.ERR_EXPIRED


@pytest.mark.parametrize("how", ["field", "property"])
def test_an_expiry_may_be_as_long_as_it_likes(clients, broker, how):
    client = clients(url=broker.url, protocol=V5)
    lengths = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    for cookie, seconds in enumerate(lengths):
        more = expiring(V5, how, seconds)
        assert client.publish("a", qos=1, cookie=cookie, **more) == smq.OK
    client.run(0.05)
    assert not client.events
    client.connected()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK
    got = [p.publication()[2]["message_expiry"] for p in broker.of(PUBLISH)]
    for left, given in zip(got, lengths):
        assert given - 1 <= left <= given


def test_a_streams_expiry(clients, broker):
    client = clients(url=broker.url, protocol=V5, stream_bytes=64)
    pull = lambda offset, size: bytes(size)  # noqa: E731
    assert client.stream("a", 100, pull, qos=1, cookie=1, expiry_s=1) == smq.OK
    assert client.completed(1).status == smq.ERR_EXPIRED
    assert client.stream("a", 100, pull, qos=1, cookie=2, expiry_s=9) == smq.OK
    client.connected()
    assert client.completed(2).status == smq.OK
    assert broker.of(PUBLISH)[0].publication()[2]["message_expiry"] in (8, 9)


# ---- What the server takes ----


def test_what_holds_if_the_server_does_not_say(clients, broker, version):
    client = clients(url=broker.url, keep_alive_s=77, **version)
    client.connected()
    server = client.server
    got = {name: getattr(server, name) for name, *_ in smq.Server._fields_[1:]}
    assert got.pop("session_expiry_s") == 0
    if version["protocol"] < V5:
        got.pop("subscription_identifiers_available")  # no such thing
    else:
        assert got.pop("subscription_identifiers_available") == 1
    assert got == dict(
        protocol=version["protocol"],
        receive_maximum=65535,
        maximum_packet_bytes=0,
        maximum_qos=2,
        retain_available=1,
        wildcard_available=1,
        shared_available=1,
        topic_alias_maximum=0,
        keep_alive_s=77,
    )


def test_the_server_is_known_while_connected(clients, broker):
    client = clients(url=broker.url)
    server = smq.Server()
    ask = lambda: smq.library.smq_client_server(client.handle, ctypes.byref(server))  # noqa: E731
    assert ask() == smq.ERR_STATE
    client.connected()
    assert ask() == smq.OK
    client.leave()
    assert ask() == smq.ERR_STATE


def test_session_expiry_as_the_server_sets_it(clients, broker):
    broker.scripts = [Script(connack=dict(session_expiry=11)), Script()]
    client = clients(url=broker.url, protocol=V5, session_expiry_s=100, client_id="x")
    client.connected()
    assert client.server.session_expiry_s == 11
    client.leave()
    client.connected()
    assert client.server.session_expiry_s == 100


@pytest.mark.parametrize("maximum", [0, 1])
def test_requests_and_streams_keep_to_maximum_qos(clients, broker, maximum):
    broker.scripts = [Script(connack=dict(maximum_qos=maximum))]
    client = clients(url=broker.url, protocol=V5, stream_bytes=64, replies=2)
    client.connected()
    before = client.stats
    for qos in range(maximum + 1, 3):
        assert client.stream("a", 1, lambda *_: 0, qos=qos) == smq.ERR_QOS
        assert client.reserve("a", 1, qos=qos)[0] == smq.ERR_QOS
        assert client.request("a", b"", "b", 1000, qos=qos) == smq.ERR_QOS
    assert client.stats == before


def test_receive_maximum_with_everything_in_flight(clients, broker):
    """Messages, streams, reservations and requests count alike; the broker checks."""
    broker.scripts = [Script(connack=dict(receive_maximum=2))]
    client = clients(url=broker.url, protocol=V5, stream_bytes=64, replies=10)
    client.connected()
    cookies = iter(range(1000))
    for _ in range(10):
        while (status := client.stream("s", 100, lambda o, n: bytes(n), qos=2)) == smq.ERR_FULL:
            client.step(10)
        assert status == smq.OK
        assert client.publish("p", qos=1, cookie=next(cookies)) == smq.OK
        assert client.reserve("r", 5, qos=2)[0] == smq.OK
        assert client.commit(5) == smq.OK
    client.until(lambda: client.stats.outbox_messages == 0)
    assert len(broker.messages) == 30


def test_a_server_that_takes_no_properties_of_ours(clients, broker):
    """A small Maximum Packet Size leaves room for a message but not for its alias."""
    broker.scripts = [Script(connack=dict(maximum_packet_size=20, topic_alias_maximum=5))]
    client = clients(url=broker.url, protocol=V5, topic_aliases_out=5)
    client.connected()
    # 2 + 2 + 12 + 2 + 1 + 1 bytes: just right, without an alias.
    for cookie in range(3):
        assert client.publish("t" * 12, b"x", qos=1, cookie=cookie) == smq.OK
        assert client.completed(cookie).status == smq.OK
    assert [m.topic for m in broker.messages] == ["t" * 12] * 3


# ---- What we take ----


def test_many_messages_one_after_the_other_are_no_fault(clients, broker):
    """Receive Maximum counts what is not acknowledged, not what has come."""
    client = clients(url=broker.url, protocol=V5, receive_maximum=2, topic_aliases_in=1)
    client.connected()
    for number in range(100):
        broker.last.publish("a" if number == 0 else "", b"%d" % number, 1, topic_alias=1)
    got = client.receive(100)
    assert [(m.topic, int(m.payload)) for m in got] == [(b"a", n) for n in range(100)]
