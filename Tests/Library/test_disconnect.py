"""Leaving, and being asked to leave: DISCONNECT in both directions."""

from __future__ import annotations

import time

import pytest

from Support import smq
from Support.scripted_broker import (
    DISCONNECT,
    PUBACK,
    Script,
    answer_then,
    close,
    disconnect,
    packet,
    refuse,
)

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
# Table 3-10: those that a client may give.
ALLOWED = {0x00, 0x04, *range(0x80, 0x84), 0x90, *range(0x93, 0x9A)}
WILL = dict(topic="will", payload=b"gone", qos=1)


def said(broker) -> tuple[int, dict[str, object]]:
    """Reason Code and properties of the one DISCONNECT."""
    broker.wait_for(lambda: not broker.live)
    (came,) = broker.of(DISCONNECT)
    return came.reason()


# ---- Ours ----


@pytest.mark.parametrize("code", sorted(ALLOWED))
@pytest.mark.parametrize("words", [False, True])
def test_what_disconnect_says(clients, broker, code, words):
    users = [("a", "b"), ("a", "c")]
    found = dict(reason_string="auf Wiedersehen", user_property=users) if words else {}
    listed = smq.properties(**found) if words else None
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.disconnect_with(code, listed) == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.OK, smq.STAGE_NONE)
    assert said(broker) == (code, found)


def test_codes_that_a_client_may_not_give(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    before = client.stats
    for code in {*range(256)} - ALLOWED | {256, 0x104, 0x180, 0xFFFFFFFF}:
        assert client.disconnect_with(code) == smq.ERR_REASON_CODE, hex(code)
        assert client.state == smq.STATE_CONNECTED
    assert client.stats == before
    assert client.disconnect_with(0, drain_ms=86_400_001) == smq.ERR_OPTION
    assert client.state == smq.STATE_CONNECTED
    assert client.leave().status == smq.OK


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, V4])
def test_before_5_0_there_is_nothing_to_say(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    client.connected()
    for code in range(1, 256):
        assert client.disconnect_with(code) == smq.ERR_REASON_CODE
    listed = smq.properties(reason_string="x")
    assert client.disconnect_with(0, listed) == smq.ERR_PROPERTY
    assert client.state == smq.STATE_CONNECTED
    assert client.disconnect_with(0) == smq.OK
    assert client.disconnected().status == smq.OK
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].raw == bytes.fromhex("e000")


@pytest.mark.parametrize("code, published", [(0x00, False), (0x04, True)])
def test_the_will(mosquitto, subscriber, clients, code, published):
    """Section 3.14.2.1: Normal disconnection keeps it back."""
    client = clients(url=mosquitto.url, protocol=V5, will=smq.Message(**WILL))
    client.connected()
    assert client.disconnect_with(code) == smq.OK
    assert client.disconnected().status == smq.OK
    mosquitto.publish("after", "x", "-q", "2")  # which overtakes no handshake before it
    expected = ["will", "after"] if published else ["after"]
    assert [m.topic for m in subscriber.take(len(expected))] == expected


def test_session_expiry(mosquitto, clients):
    """Section 3.14.2.2.2: the last word on how long the session is kept."""
    options = dict(url=mosquitto.url, protocol=V5, client_id="keeper")
    client = clients(**options, flags=smq.OPTION_KEEP_SESSION, session_expiry_s=1000)
    for expiry, kept in ((None, 1), (500, 1), (0, 0)):
        client.connected()
        listed = smq.properties(session_expiry_interval=expiry) if expiry is not None else None
        assert client.disconnect_with(0, listed) == smq.OK
        assert client.disconnected().status == smq.OK
        assert client.connected().session_present == kept
        client.leave()


def test_the_first_call_settles_what_is_said(clients, broker):
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    listed = smq.properties(reason_string="first")
    assert client.disconnect_with(0x04, listed, drain_ms=60_000) == smq.OK
    assert client.state == smq.STATE_DISCONNECTING
    assert client.disconnect_with(0x80, smq.properties(reason_string="second"), 100) == smq.OK
    assert client.disconnect(100) == smq.OK
    assert client.disconnected().status == smq.OK
    assert said(broker) == (0x04, dict(reason_string="first"))
    broker.held.clear()


def test_drained_first(clients, broker, version):
    client = clients(url=broker.url, **version)
    client.connected()
    for cookie in range(50):
        assert client.publish("a", b"%d" % cookie, qos=cookie % 3, cookie=cookie) == smq.OK
    assert client.disconnect_with(0, drain_ms=5000) == smq.OK
    assert client.disconnected().status == smq.OK
    assert len(client.completions()) == len(broker.messages) == 50


def test_messages_still_come_while_draining(clients, broker, version):
    """What arrives before DISCONNECT is sent is handed out, and acknowledged."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, **version)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    assert client.disconnect_with(0, drain_ms=5000) == smq.OK
    broker.last.publish("in", b"late", 2)
    assert client.message().payload == b"late"
    client.until(lambda: not broker.last.session.outgoing)
    broker.release()
    assert client.completed(1).status == smq.OK
    assert client.disconnected().status == smq.OK


def test_nothing_to_say_when_disconnected(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    before = client.stats
    assert client.disconnect_with(0x04) == smq.OK
    assert client.disconnect_with(0x05) == smq.ERR_REASON_CODE
    assert client.take() is None
    assert client.stats == before
    client.connected()  # it is not said later
    assert client.leave().status == smq.OK
    assert said(broker)[0] == 0


def test_an_attempt_is_given_up(clients, broker):
    broker.scripts = [Script(at={1: lambda *_: None})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    client.until(lambda: broker.connects)
    assert client.disconnect_with(0x04, drain_ms=1_000_000) == smq.OK  # which it does not wait for
    assert client.disconnected().status == smq.OK
    client.connected()
    assert client.leave().status == smq.OK
    broker.wait_for(lambda: not broker.live)
    assert broker.of(DISCONNECT, 2)[0].reason() == (0, {})


# ---- The server's ----

SERVERS = [0x00, *range(0x80, 0x84), 0x87, 0x89, 0x8B, *range(0x8D, 0x91), *range(0x93, 0xA3)]


@pytest.mark.parametrize("code", SERVERS)
def test_the_server_disconnects(clients, broker, code):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.completed(1)
    words = dict(reason_string="so", user_property=("k", "v"))
    broker.last.disconnect(code, **words)
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_SERVER_CLOSED, smq.STAGE_CONNECTED)
    assert (event.reason_code, event.reason_string, event.rule) == (code, b"so", 0)
    assert len(smq.walk(event.properties)) == 2
    assert broker.of(DISCONNECT) == []  # no answer [MQTT-4.13.2-1]
    client.connected()


@pytest.mark.parametrize("data, code", [("e000", 0), ("e0018b", 0x8B), ("e0028b00", 0x8B)])
def test_short_disconnects(clients, broker, data, code):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    broker.last.post(bytes.fromhex(data), broker.last.end)
    event = client.disconnected()
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_CLOSED, code)
    assert (event.reason_string, event.properties) == (b"", b"")


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, V4])
def test_before_5_0_a_server_sends_none(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    client.connected()
    broker.last.post(packet(DISCONNECT))
    event = client.disconnected()
    assert event.status in (smq.ERR_PROTOCOL, smq.ERR_MALFORMED)


@pytest.mark.parametrize("code", [0x9C, 0x9D])
@pytest.mark.parametrize("reference", [b"", b"other.example:1883", b"[2001:db8::1]:1 b:2"])
@pytest.mark.parametrize("when", ["connecting", "at once", "later"])
def test_another_server(clients, broker, code, reference, when):
    """Section 4.11. Where to go is the program's decision."""
    words = dict(server_reference=reference) if reference else {}
    broker.scripts = {
        "connecting": [Script(at={1: refuse(code, **words)})],
        "at once": [Script(at={1: answer_then(disconnect(code, **words))})],
        "later": [],
    }[when]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    if when != "connecting":
        client.wait_event(smq.EVENT_CONNECTED)
    if when == "later":
        broker.last.disconnect(code, **words)
    event = client.disconnected()
    expected = smq.ERR_REFUSED if when == "connecting" else smq.ERR_SERVER_CLOSED
    assert (event.status, event.reason_code) == (expected, code)
    assert event.server_reference == reference


def test_pending_messages_survive_the_servers_disconnect(clients, broker, protocol):
    """In 5.0 DISCONNECT, before that the bare end."""
    say_no = disconnect(0x8B) if protocol == V5 else close
    broker.scripts = [Script(at={3: say_no}, hold={PUBACK})]
    flags = smq.OPTION_KEEP_SESSION
    client = clients(url=broker.url, protocol=protocol, client_id="keeper", flags=flags)
    client.connected()
    for cookie in (1, 2):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    client.disconnected()
    client.connected()
    for cookie in (1, 2):
        assert client.completed(cookie).status == smq.OK


def test_both_at_the_same_time(clients, broker):
    """The server's DISCONNECT while ours is under way: we asked for the end, and got it."""
    broker.scripts = [Script(on={DISCONNECT: disconnect(0x8B)})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    start = time.monotonic()
    assert client.disconnect(0) == smq.OK
    assert client.disconnected().status == smq.OK
    assert time.monotonic() - start < 20


# ---- Before CONNACK ----


def test_leaving_before_connack(mosquitto, subscriber, clients, protocol):
    """CONNECT is out, so there is a Will: DISCONNECT does not wait for the answer (section 3.1.4)."""
    for number in range(10):
        client = clients(url=mosquitto.url, protocol=protocol, client_id="early", will=smq.Message(**WILL))
        assert client.connect() == smq.OK
        client.until(lambda: client.stats.packets_sent == 1)
        assert client.disconnect(1000) == smq.OK
        assert client.disconnected().status == smq.OK
        client.close()
        mosquitto.publish("after", str(number))
        (message,) = subscriber.take(1)
        assert (message.topic, message.payload) == ("after", b"%d" % number)
