"""Subscribing and unsubscribing: what is sent, what is granted, and what becomes of it."""

from __future__ import annotations

import pytest

from Support import smq
from Support.scripted_broker import (
    PUBACK,
    PUBLISH,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    Script,
    close,
    nothing,
)
from Support.smq import Subscription

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


# ---- A real server ----


def test_each_filter_gets_its_messages(mosquitto, clients, version):
    client = clients(url=mosquitto.url, **version)
    client.connected()
    filters = [Subscription(filter=f, qos=q) for f, q in (("a/+", 0), ("b/#", 1), ("ü/€", 2))]
    event = client.subscribed(*filters)
    assert (event.reason_codes, event.reason_code, event.reason_string) == (b"\0\1\2", -1, b"")
    expected = []
    for topic, granted in (("a/1", 0), ("b", 1), ("b/x/y", 1), ("ü/€", 2), ("c", None)):
        for qos in (0, 1, 2):
            assert client.publish(topic, b"%d" % qos, qos=qos, quiet=1) == smq.OK
            if granted is not None:
                expected.append((topic.encode(), min(qos, granted), b"%d" % qos))
    got = [(m.topic, m.qos, m.payload) for m in client.receive(len(expected))]
    assert sorted(got) == sorted(expected)
    client.run(0.05)
    assert not client.messages()


def test_200_filters_in_one_packet(mosquitto, clients, version):
    client = clients(url=mosquitto.url, request_bytes=1 << 14, **version)
    client.connected()
    filters = [Subscription(filter=f"many/{n}/+", qos=n % 3) for n in range(200)]
    event = client.subscribed(*filters)
    assert event.reason_codes == bytes(n % 3 for n in range(200))
    assert client.publish("many/199/x", b"last") == smq.OK
    assert client.message().payload == b"last"


def test_unsubscribe(mosquitto, clients, version):
    client = clients(url=mosquitto.url, **version)
    client.connected()
    client.subscribed("a/#", "b/#")
    assert client.unsubscribe("a/#", "never/was", cookie=5) == smq.OK
    event = client.completed(5)
    assert event.status == smq.OK
    # 0x11: No subscription existed. Before 5.0 UNSUBACK says nothing.
    assert event.reason_codes == (b"\0\x11" if version["protocol"] == V5 else b"")
    for topic in ("a/1", "b/1"):
        assert client.publish(topic) == smq.OK
    assert client.message().topic == b"b/1"
    client.run(0.05)
    assert not client.messages()


@pytest.mark.parametrize("no_local", [0, 1])
def test_no_local(mosquitto, clients, no_local):
    client, other = clients(url=mosquitto.url, protocol=V5), clients(url=mosquitto.url, protocol=V5)
    client.connected(), other.connected()
    client.subscribed(Subscription(filter="a", no_local=no_local))
    assert client.publish("a", b"own", qos=1, cookie=1) == smq.OK
    client.completed(1)
    assert other.publish("a", b"other's", qos=1, cookie=1) == smq.OK
    other.completed(1)
    expected = [b"other's"] if no_local else [b"own", b"other's"]
    assert [m.payload for m in client.receive(len(expected))] == expected


@pytest.mark.parametrize("as_published", [0, 1])
def test_retain_as_published(mosquitto, clients, as_published):
    client = clients(url=mosquitto.url, protocol=V5)
    client.connected()
    client.subscribed(Subscription(filter="a", qos=1, retain_as_published=as_published))
    for retain in (0, 1):
        assert client.publish("a", b"%d" % retain, qos=1, retain=retain) == smq.OK
    assert [m.retain for m in client.receive(2)] == [0, as_published]


@pytest.mark.parametrize("handling, at_first, again", [(0, 1, 1), (1, 1, 0), (2, 0, 0)])
def test_retain_handling(mosquitto, clients, handling, at_first, again):
    mosquitto.publish("kept", "1", "-r", "-q", "1")
    client = clients(url=mosquitto.url, protocol=V5)
    client.connected()
    for expected in (at_first, again):
        client.subscribed(Subscription(filter="kept", retain_handling=handling))
        client.run(0.1)
        got = client.messages()
        assert [(m.retain, m.payload) for m in got] == [(1, b"1")] * expected
        client.events.clear()


def test_subscription_identifier(mosquitto, clients):
    client = clients(url=mosquitto.url, protocol=V5)
    client.connected()
    for filter, identifier in (("a", 1), ("b", 268_435_455), ("c", 0)):
        client.subscribed(filter, identifier=identifier)
    for topic in "abc":
        assert client.publish(topic) == smq.OK
    got = {m.topic: m.subscription_identifier for m in client.receive(3)}
    assert got == {b"a": 1, b"b": 268_435_455, b"c": 0}


def test_more_than_one_subscription_identifier(clients, broker):
    """The event has the first one; all of them are in its properties (section 3.3.2.3.8)."""
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    client.subscribed("a/#", identifier=300)
    client.subscribed("a/b", identifier=7)
    assert client.publish("a/b") == smq.OK
    event = client.message()
    assert event.subscription_identifier == 300
    assert smq.walk(event.properties) == [
        (smq.PROPERTY_SUBSCRIPTION_IDENTIFIER, 300),
        (smq.PROPERTY_SUBSCRIPTION_IDENTIFIER, 7),
    ]


def test_shared_subscription(mosquitto, clients, protocol):
    """Each message goes to one of the group."""
    group = [clients(url=mosquitto.url, protocol=protocol) for _ in range(2)]
    for client in group:
        client.connected()
        client.subscribed("$share/group/jobs/#", qos=1)
    for number in range(40):
        assert group[0].publish("jobs/x", b"%d" % number, qos=1, quiet=1) == smq.OK

    def everything() -> bool:
        for client in group:
            client.step(5)
        return sum(len(client.messages()) for client in group) == 40

    group[0].until(everything)
    got = [[int(m.payload) for m in client.messages()] for client in group]
    assert all(got), "one of them got nothing"
    assert sorted(got[0] + got[1]) == list(range(40))


def test_the_session_keeps_the_subscription(mosquitto, clients, version):
    options = {**version, **KEEP}
    client = clients(url=mosquitto.url, **options)
    client.connected()
    client.subscribed("a", qos=1)
    assert client.leave().status == smq.OK
    client.connected()
    assert client.publish("a", b"still", qos=1) == smq.OK
    assert client.message().payload == b"still"


# ---- What is sent ----


def test_every_option_on_the_wire(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    combinations = [
        Subscription(
            filter=f"f/{qos}{no_local}{published}{handling}",
            qos=qos,
            no_local=no_local,
            retain_as_published=published,
            retain_handling=handling,
        )
        for qos in (0, 1, 2)
        for no_local in (0, 1)
        for published in (0, 1)
        for handling in (0, 1, 2)
    ]
    users = [("a", "1"), ("b", "2"), ("a", "1")]
    listed = smq.properties(user_property=users)
    client.subscribed(*combinations, identifier=268_435_455, properties=listed)
    (came,) = broker.of(SUBSCRIBE)
    _, found, filters = came.request()
    assert found == dict(subscription_identifier=268_435_455, user_property=users)
    expected = [
        (
            s.filter.value().decode(),
            s.qos | s.no_local << 2 | s.retain_as_published << 3 | s.retain_handling << 4,
        )
        for s in combinations
    ]
    assert filters == expected
    assert client.unsubscribe("f/0000", "x", cookie=1, properties=listed) == smq.OK
    client.completed(1)
    (came,) = broker.of(UNSUBSCRIBE)
    _, found, filters = came.request()
    assert (found, filters) == (dict(user_property=users), [("f/0000", 0), ("x", 0)])


def test_identifiers_are_not_those_of_messages(clients, broker, version):
    """Requests have a range of their own, so that a full outbox can't be in their way."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, requests=256, request_bytes=1 << 14, **version)
    client.connected()
    for cookie in range(50):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    for cookie in range(300):
        assert client.subscribe(f"s/{cookie}", cookie=cookie + 1000) == smq.OK
        client.completed(cookie + 1000)
    requests = [p.id for p in broker.of(SUBSCRIBE)]
    assert set(requests) <= set(range(65_280, 65_536))
    assert max(p.id for p in broker.of(PUBLISH)) < 65_280
    broker.release()


def test_requests_go_ahead_of_messages(clients, broker, version):
    client = clients(url=broker.url, **version)
    for cookie in range(100):
        assert client.publish("a", b"x" * 100, qos=cookie % 3, cookie=cookie) == smq.OK
    assert client.subscribe("b", cookie=1000) == smq.OK
    assert client.unsubscribe("c", cookie=1001) == smq.OK
    assert client.stats.requests == 2
    client.connected()
    assert client.completed(1000).status == client.completed(1001).status == smq.OK
    client.until(lambda: client.stats.messages_completed == 100)
    assert [p.type for p in broker.packets[1:3]] == [SUBSCRIBE, UNSUBSCRIBE]
    assert client.stats.requests == 0


def test_messages_in_flight_do_not_hold_them_back(clients, broker):
    """[MQTT-3.3.4-8]"""
    broker.scripts = [Script(connack=dict(receive_maximum=1), hold={PUBACK})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    for cookie in range(5):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    client.until(lambda: broker.held)
    client.subscribed("b")
    assert client.unsubscribe("b", cookie=77) == smq.OK
    assert client.completed(77).status == smq.OK
    assert len(broker.of(PUBLISH)) == 1
    broker.connections[0].script.hold = set()
    broker.release()
    client.until(lambda: client.stats.messages_completed == 5)


# ---- What is answered ----

REFUSALS = [(V4, 0x80)] + [
    (V5, code) for code in (0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2)
]


@pytest.mark.parametrize("protocol, code", REFUSALS)
def test_some_filters_are_refused(clients, broker, protocol, code):
    """The completion has a code for each, and the first refusal."""
    codes = {"a": 1, "b": code, "c": 0x80, "d": 0}
    broker.scripts = [Script(grant=lambda filter, _: codes[filter])]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.subscribe(*codes, qos=2, cookie=3) == smq.OK
    event = client.completed(3)
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, code)
    assert event.reason_codes == bytes(codes.values())
    assert client.state == smq.STATE_CONNECTED
    assert client.publish("a", b"x", qos=2) == smq.OK
    assert client.message().qos == 1


@pytest.mark.parametrize("code", [0x80, 0x83, 0x87, 0x8F, 0x91])
def test_unsubscribe_refused(clients, broker, code):
    codes = {"a": 0, "b": 0x11, "c": code}
    broker.scripts = [Script(grant=lambda filter, _: codes[filter])]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.unsubscribe(*codes, cookie=3) == smq.OK
    event = client.completed(3)
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, code)
    assert event.reason_codes == bytes(codes.values())


@pytest.mark.parametrize("call", ["subscribe", "unsubscribe"])
def test_the_servers_words(clients, broker, call):
    users = [("k", "v"), ("k", "w")]
    broker.scripts = [Script(suback=dict(reason_string="so sei es", user_property=users))]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert getattr(client, call)("a", cookie=1) == smq.OK
    event = client.completed(1)
    assert event.reason_string == b"so sei es"
    assert smq.walk(event.properties) == [
        (smq.PROPERTY_REASON_STRING, b"so sei es"),
        (smq.PROPERTY_USER_PROPERTY, (b"k", b"v")),
        (smq.PROPERTY_USER_PROPERTY, (b"k", b"w")),
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_answers_in_any_order(clients, broker, version, order):
    broker.scripts = [Script(hold={SUBACK, UNSUBACK})]
    client = clients(url=broker.url, **version)
    client.connected()
    for cookie in range(4):
        call = client.unsubscribe if cookie == 2 else client.subscribe
        assert call(f"f/{cookie}", cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 4)
    broker.release(*[broker.held[index] for index in order])
    client.until(lambda: len(client.events) == 4)
    assert [e.cookie for e in client.events] == list(order)
    assert {e.status for e in client.events} == {smq.OK}


# ---- Before, between and after connections ----


def test_subscribed_before_connecting(mosquitto, clients, version):
    client = clients(url=mosquitto.url, **version)
    assert client.subscribe("early/#", qos=2, cookie=1) == smq.OK
    assert client.publish("early/bird", b"worm", qos=2, cookie=2) == smq.OK
    client.connected()
    event = client.completed(1)
    assert (event.status, event.reason_codes) == (smq.OK, b"\2")
    assert client.message().payload == b"worm"


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("call", ["subscribe", "unsubscribe"])
def test_the_connection_is_lost_before_the_answer(clients, broker, version, call, keep):
    """Sent once more on the next connection, and answered once."""
    type = {"subscribe": SUBSCRIBE, "unsubscribe": UNSUBSCRIBE}[call]
    broker.scripts = [Script(on={type: nothing}, at={3: close}), Script(at={2: close})]
    client = clients(url=broker.url, **{**version, **(KEEP if keep else {})})
    client.connected()
    assert getattr(client, call)("a/+", "b", cookie=9) == smq.OK
    client.until(lambda: broker.of(type, 1))
    assert client.publish("x") == smq.OK  # the third packet
    client.disconnected()
    assert client.stats.requests == 1
    client.connected()
    client.disconnected()
    assert not [e for e in client.completions() if e.cookie == 9]
    client.connected()
    assert client.completed(9).status == smq.OK
    client.run(0.05)
    assert not [e for e in client.completions() if e.cookie == 9]
    assert client.stats.requests == 0
    came = [broker.of(type, connection)[0] for connection in (1, 2, 3)]
    assert len(broker.of(type)) == 3
    assert came[0].request()[1:] == came[1].request()[1:] == came[2].request()[1:]


def test_an_answered_request_is_not_sent_again(clients, broker, version):
    broker.scripts = [Script(at={3: close})]
    client = clients(url=broker.url, **{**version, **KEEP})
    client.connected()
    client.subscribed("a")
    assert client.publish("x", qos=1) == smq.OK
    client.disconnected()
    client.connected()
    client.run(0.05)
    assert len(broker.of(SUBSCRIBE)) == 1


# ---- Limits ----

CANNOT = {  # what CONNACK says, what is asked for, the Reason Code that names it
    "wildcards": ("wildcard_subscription_available", dict(filters=["a", "b/+"]), 0xA2),
    "multi-level wildcards": ("wildcard_subscription_available", dict(filters=["#"]), 0xA2),
    "shared": ("shared_subscription_available", dict(filters=["a", "$share/g/a"]), 0x9E),
    "identifiers": (
        "subscription_identifier_available",
        dict(filters=["a"], identifier=5),
        0xA1,
    ),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_the_server_can_not_do(clients, broker, name):
    said, asked, code = CANNOT[name]
    asked = dict(asked)
    filters = asked.pop("filters")
    broker.scripts = [Script(connack={said: 0})]
    client = clients(url=broker.url, protocol=V5)
    assert client.subscribe(*filters, cookie=1, **asked) == smq.OK  # not known yet
    assert client.subscribe("plain", cookie=2) == smq.OK
    client.connected()
    event = client.completed(1)
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, code)
    assert client.completed(2).status == smq.OK
    before = client.stats
    assert client.subscribe(*filters, cookie=3, **asked) == smq.ERR_NOT_SUPPORTED
    assert client.stats == before
    client.run(0.05)
    assert [p.request()[2] for p in broker.of(SUBSCRIBE)] == [[("plain", 0)]]


def test_what_the_server_can_do_ends_with_its_connection(clients, broker):
    broker.scripts = [Script(connack=dict(wildcard_subscription_available=0))]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.subscribe("#") == smq.ERR_NOT_SUPPORTED
    client.leave()
    assert client.subscribe("#", cookie=1) == smq.OK
    client.connected()
    assert client.completed(1).status == smq.OK


def test_the_servers_maximum_packet_size(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_packet_size=40))]
    client = clients(url=broker.url, protocol=V5)
    fits = "x" * 32  # 2 + 2 + 1 + 2 + 32 + 1 bytes
    assert client.subscribe(fits + "x", cookie=1) == smq.OK
    assert client.subscribe(fits, cookie=2) == smq.OK
    client.connected()
    event = client.completed(1)
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, 0x95)
    assert client.completed(2).status == smq.OK
    before = client.stats
    assert client.subscribe(fits + "x") == smq.ERR_TOO_LARGE
    assert client.unsubscribe(fits + "xx") == smq.ERR_TOO_LARGE
    assert client.stats == before
    assert client.unsubscribe(fits + "x", cookie=3) == smq.OK
    assert client.completed(3).status == smq.OK
    assert [len(p.raw) for p in (*broker.of(SUBSCRIBE), *broker.of(UNSUBSCRIBE))] == [40, 40]


def test_the_table_is_full(clients, broker, version):
    broker.scripts = [Script(hold={SUBACK})]
    client = clients(url=broker.url, requests=3, **version)
    for cookie in range(3):
        assert client.subscribe("a", cookie=cookie) == smq.OK
    before = client.stats
    assert before.requests == 3
    assert client.subscribe("a") == client.unsubscribe("a") == smq.ERR_FULL
    assert client.stats == before
    client.connected()
    client.until(lambda: len(broker.held) == 3)
    assert client.subscribe("a") == smq.ERR_FULL
    broker.release(broker.held[0])
    assert client.completed(0).status == smq.OK
    assert client.subscribe("a", cookie=3) == smq.OK
    client.until(lambda: len(broker.held) == 3)
    broker.release()
    client.until(lambda: len(client.completions()) == 3)
    assert {e.cookie for e in client.completions()} == {1, 2, 3}


def test_their_room_is_full(clients, broker, version):
    """Too large for all of the room is another thing than too large for what is left."""
    client = clients(url=broker.url, request_bytes=100, requests=256, **version)
    before = client.stats
    assert client.subscribe("x" * 100) == client.unsubscribe("x" * 100) == smq.ERR_TOO_LARGE
    assert client.stats == before
    cookies = []
    while (status := client.subscribe("x" * 30, cookie=len(cookies))) == smq.OK:
        cookies.append(len(cookies))
    assert status == smq.ERR_FULL
    assert 1 <= len(cookies) <= 3
    client.connected()
    for cookie in cookies:
        assert client.completed(cookie).status == smq.OK
    for cookie in range(100, 130):  # round and round
        assert client.subscribe("y" * (cookie - 90), cookie=cookie) == smq.OK
        assert client.completed(cookie).status == smq.OK


def test_256_at_a_time(clients, broker, version):
    broker.scripts = [Script(hold={SUBACK})]
    client = clients(url=broker.url, requests=256, request_bytes=1 << 14, **version)
    client.connected()
    for cookie in range(256):
        assert client.subscribe("a", cookie=cookie) == smq.OK
    assert client.subscribe("a") == smq.ERR_FULL
    client.until(lambda: len(broker.held) == 256)
    assert len({p.id for p in broker.of(SUBSCRIBE)}) == 256
    broker.release(*reversed(broker.held))
    client.until(lambda: len(client.events) == 256)
    assert [e.cookie for e in client.events] == list(reversed(range(256)))
