"""SMQ_OPTION_FALLBACK: a server that does not speak the version is spoken to in an older one."""

from __future__ import annotations

import pytest

from Support import smq
from Support.scripted_broker import (
    CONNACK,
    PUBLISH,
    Script,
    close,
    nothing,
    packet,
    refuse,
    say,
)
from Support.servers import free_port

V3, V4, V5 = smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
FALLBACK = smq.OPTION_FALLBACK


def return_code_1(connection, came) -> None:
    """As a server answers that knows no 5.0."""
    connection.send(packet(CONNACK, b"\0\1"))
    connection.end()


# How a server says that it does not speak a version.
IN_5_0 = {"0x84 of 5.0": refuse(0x84), "return code 1 of 3.1.1": return_code_1, "no word": close}
BEFORE = {"return code 1": refuse(1), "no word": close}


def levels(broker) -> list[int]:
    return [fields["level"] for fields in broker.connects]


def connected(client: smq.Client) -> smq.Event:
    """In one attempt: not a word of the versions that did not do."""
    event = client.connected()
    assert not client.events
    return event


@pytest.mark.parametrize("how", IN_5_0)
def test_from_5_0_to_3_1_1(clients, broker, how):
    broker.scripts = [Script(at={1: IN_5_0[how]})]
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK)
    event = connected(client)
    assert (event.protocol, event.attempt, event.status) == (V4, 1, smq.OK)
    assert levels(broker) == [5, 4]
    assert client.server.protocol == V4
    for qos in (0, 1, 2):
        assert client.publish("a", b"%d" % qos, qos=qos, cookie=qos) == smq.OK
        assert client.completed(qos).status == smq.OK
    client.subscribed("a", qos=2)
    broker.last.publish("a", b"in", 2)
    assert client.message().payload == b"in"
    assert client.stats.connections == 1


@pytest.mark.parametrize("first", IN_5_0)
@pytest.mark.parametrize("second", BEFORE)
def test_from_5_0_to_3_1(clients, broker, first, second):
    broker.scripts = [Script(at={1: IN_5_0[first]}), Script(at={1: BEFORE[second]})]
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK)
    assert connected(client).protocol == V3
    assert levels(broker) == [5, 4, 3]
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


@pytest.mark.parametrize("how", BEFORE)
def test_from_3_1_1_to_3_1(clients, broker, how):
    broker.scripts = [Script(at={1: BEFORE[how]})]
    client = clients(url=broker.url, client_id="x", flags=FALLBACK)
    assert connected(client).protocol == V3
    assert levels(broker) == [4, 3]


def test_return_code_1_without_the_option(clients, broker):
    """Refused in the words of 3.1.1: the Reason Code that means the same."""
    broker.scripts = [Script(levels=frozenset((3, 4)))]
    client = clients(url=broker.url, protocol=V5, client_id="x")
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, 0x84)


def test_nothing_does(clients, broker):
    """One event at the end, and the next attempt begins at the top."""
    broker.scripts = [Script(at={1: refuse(0x84)}), *[Script(at={1: refuse(1)})] * 2]
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage, event.attempt) == (smq.ERR_REFUSED, smq.STAGE_CONNACK, 1)
    assert event.reason_code in (1, 0x84)
    client.run(0.02)
    assert not client.events
    assert levels(broker) == [5, 4, 3]
    assert connected(client).protocol == V5
    assert levels(broker) == [5, 4, 3, 5]


@pytest.mark.parametrize("code", [0x87, 0x9C])
def test_other_refusals_are_none_of_the_version(clients, broker, code):
    broker.scripts = [Script(at={1: refuse(code)})]
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, code)
    client.run(0.02)
    assert levels(broker) == [5]


def test_a_server_that_is_not_there(clients):
    """Nobody was asked about a version."""
    client = clients(host="127.0.0.1", port=free_port(), protocol=V5, flags=FALLBACK)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_NETWORK, smq.STAGE_CONNECT)
    assert not client.events


def test_a_server_that_is_silent(clients, broker):
    """Time is no answer, and the time is that of the whole attempt."""
    broker.scripts = [Script(at={1: refuse(0x84)}), Script(at={1: nothing})]
    client = clients(
        url=broker.url, protocol=V5, client_id="x", flags=FALLBACK, connect_timeout_ms=300
    )
    assert client.connect() == smq.OK
    assert client.disconnected().status == smq.ERR_TIMEOUT
    assert levels(broker) == [5, 4]


def test_a_connack_that_is_nonsense(clients, broker):
    broker.scripts = [Script(at={1: say(b"\x20\x01\0")})]
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK)
    assert client.connect() == smq.OK
    assert client.disconnected().status == smq.ERR_MALFORMED
    assert levels(broker) == [5]


# ---- What needs 5.0 ----


def test_connect_leaves_out_what_needs_5_0(clients, broker):
    will = smq.Message(
        topic="will",
        payload=b"\0",
        qos=2,
        retain=1,
        properties=smq.properties(content_type="x", will_delay_interval=5),
    )
    broker.scripts = [Script(at={1: refuse(0x84)})]
    client = clients(
        host="127.0.0.1",
        port=broker.port,
        protocol=V5,
        client_id="keeper",
        flags=FALLBACK + smq.OPTION_KEEP_SESSION,
        user_name="ü",
        password=b"\0p",
        keep_alive_s=99,
        session_expiry_s=1000,
        will=will,
        properties=smq.properties(user_property=("a", "b"), request_response_information=1),
        receive_maximum=5,
        topic_aliases_in=5,
    )
    connected(client)
    first, second = broker.connects
    for name in ("client_id", "user", "password", "keep_alive", "clean"):
        assert first[name] == second[name], name
    assert second["properties"] == {}
    for fields in (first, second):
        will = fields["will"]
        assert (will.topic, will.payload, will.qos, will.retain) == ("will", b"\0", 2, 1)
    assert second["will"].properties == {}


@pytest.mark.parametrize("to", [V4, V3])
def test_queued_messages_leave_out_what_needs_5_0(clients, broker, to):
    broker.scripts = [Script(at={1: refuse(0x84)})]
    if to == V3:
        broker.scripts.append(Script(at={1: refuse(1)}))
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=FALLBACK, stream_bytes=64)
    listed = smq.properties(content_type="x" * 200, user_property=[("a", "b")] * 3)
    for qos in (0, 1, 2):
        status = client.publish("a", b"%d" % qos, qos=qos, cookie=qos, properties=listed)
        assert status == smq.OK
    pull = lambda offset, size: b"streamed"[offset : offset + size]  # noqa: E731
    assert client.stream("s", 8, pull, qos=1, cookie=3, properties=listed) == smq.OK
    assert client.publish("a", b"expires", qos=1, cookie=4, expiry_s=100) == smq.OK
    options = smq.Subscription(filter="b", qos=1, no_local=1, retain_handling=2)
    given = dict(identifier=5, properties=smq.properties(user_property=("a", "b")))
    assert client.subscribe(options, cookie=5, **given) == smq.OK
    assert client.connected().protocol == to
    for cookie in range(5):
        assert client.completed(cookie).status == smq.OK
    # A Subscription Identifier is asked for in vain, or left out: the header does not say.
    assert client.completed(5).status in (smq.OK, smq.ERR_SERVER_LIMIT)
    assert [m.payload for m in broker.messages] == [b"0", b"1", b"2", b"streamed", b"expires"]
    for came in broker.of(PUBLISH):
        assert len(came.raw) < 30


def test_calls_that_need_5_0_after_a_fall(clients, broker):
    broker.scripts = [Script(at={1: refuse(0x84)})]
    flags = FALLBACK + smq.OPTION_HOLD
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=flags, replies=1)
    connected(client)
    assert client.request("a", b"", "b", 1000) == smq.ERR_NOT_SUPPORTED
    assert client.authenticate(smq.REASON_REAUTHENTICATE) == smq.ERR_STATE
    assert client.disconnect_with(0x98) == smq.ERR_REASON_CODE
    broker.last.publish("a", b"x", 1)
    token = client.message().token
    assert client.ack(token, 0x80) == smq.ERR_REASON_CODE
    assert client.ack(token) == smq.OK
    # Properties are left out, or refused.
    listed = smq.properties(content_type="x")
    assert client.publish("a", properties=listed) in (smq.OK, smq.ERR_OPTION)
    assert client.leave().status == smq.OK


def test_mqtt_3_1_1_of_a_real_server(mosquitto, clients):
    """Mosquitto speaks them all: no fall."""
    client = clients(url=mosquitto.url, protocol=V5, client_id="x", flags=FALLBACK)
    assert connected(client).protocol == V5


def test_the_version_of_a_refusal(clients, broker):
    """Its Reason Code means one thing in 5.0 and another in 3.1.1: the event says which it is."""
    broker.scripts = [Script(at={1: close}), Script(at={1: refuse(5)})]
    client = clients(url=broker.url, protocol=V5, flags=FALLBACK)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code, event.protocol) == (smq.ERR_REFUSED, 5, V4)
    assert smq.library.smq_reason_code_name(event.protocol, 5) == b"Not authorized"
