"""Enhanced authentication (5.0, section 4.12): AUTH in both directions."""

from __future__ import annotations

import time

import pytest

from Support import smq
from Support.scripted_broker import (
    AUTH,
    CONNECT,
    DISCONNECT,
    PUBACK,
    Script,
    accept,
    auth,
    nothing,
    packet,
    refuse,
)

V5 = smq.PROTOCOL_5_0
METHOD = dict(authentication_method="SCRAM-SHA-256")
CONTINUE, AGAIN = smq.REASON_CONTINUE_AUTHENTICATION, smq.REASON_REAUTHENTICATE


def challenge(data: bytes, **more: object):
    return auth(CONTINUE, **METHOD, authentication_data=data, **more)


def authenticating(clients, broker, **options: object) -> smq.Client:
    listed = smq.properties(**METHOD, authentication_data=b"first")
    return clients(url=broker.url, protocol=V5, properties=listed, **options)


def asked(client: smq.Client, reason_code: int = CONTINUE) -> smq.Event:
    event = client.wait_event(smq.EVENT_AUTHENTICATE)
    assert (event.reason_code, event.status) == (reason_code, smq.OK)
    return event


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_connecting(clients, broker, rounds):
    done = dict(**METHOD, authentication_data=b"done")
    actions = [challenge(b"%d" % n) for n in range(1, rounds)] + [accept]
    broker.scripts = [Script(at={1: challenge(b"0")}, on={AUTH: actions}, connack=done)]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    for number in range(rounds):
        assert asked(client).payload == b"%d" % number
        assert client.state == smq.STATE_CONNECTING
        assert client.authenticate(CONTINUE, b"\0answer %d" % number) == smq.OK
    event = client.wait_event(smq.EVENT_CONNECTED)
    assert (smq.PROPERTY_AUTHENTICATION_DATA, b"done") in smq.walk(event.properties)
    sent = [p.reason() for p in broker.of(AUTH)]
    assert sent == [
        (CONTINUE, dict(**METHOD, authentication_data=b"\0answer %d" % n)) for n in range(rounds)
    ]
    assert broker.connects[0]["properties"]["authentication_data"] == b"first"
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


def test_more_properties_and_no_data(clients, broker):
    broker.scripts = [Script(at={1: challenge(b"?")}, on={AUTH: accept}, connack=METHOD)]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    asked(client)
    users = [("a", "b"), ("a", "c")]
    listed = smq.properties(reason_string="so", user_property=users)
    assert client.authenticate(CONTINUE, None, listed) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    _, found = broker.of(AUTH)[0].reason()
    assert found == dict(**METHOD, reason_string="so", user_property=users)


@pytest.mark.parametrize("data", [b"", b"\0", b"x" * 300])
def test_authentication_data_as_it_is(clients, broker, data):
    broker.scripts = [Script(at={1: challenge(data)}, on={AUTH: accept}, connack=METHOD)]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    assert asked(client).payload == data
    assert client.authenticate(CONTINUE, data) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert broker.of(AUTH)[0].reason()[1].get("authentication_data", b"") == data


@pytest.mark.parametrize("code", [0x87, 0x8C])
def test_refused(clients, broker, code):
    broker.scripts = [Script(at={1: challenge(b"?")}, on={AUTH: refuse(code)})]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    asked(client)
    assert client.authenticate(CONTINUE, b"wrong") == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_REFUSED, smq.STAGE_CONNACK)
    assert event.reason_code == code
    # The next attempt begins a new exchange.
    client.connect()
    client.until(lambda: len(broker.of(CONNECT)) == 2)


def test_the_exchange_has_to_be_over_in_time(clients, broker):
    broker.scripts = [Script(at={1: challenge(b"?")}, on={AUTH: nothing})]
    client = authenticating(clients, broker, connect_timeout_ms=300)
    start = time.monotonic()
    assert client.connect() == smq.OK
    asked(client)
    assert client.authenticate(CONTINUE, b"!") == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
    assert 0.298 <= time.monotonic() - start < 20


def test_given_up_in_the_middle(clients, broker):
    broker.scripts = [Script(at={1: challenge(b"?")}), Script(connack=METHOD)]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    asked(client)
    assert client.disconnect(0) == smq.OK
    assert client.disconnected().status == smq.OK
    client.connected()


# ---- Again, while connected ----


@pytest.fixture
def connected(clients, broker):
    """A client with an Authentication Method, connected. Scripts may be added to its connection."""
    broker.scripts = [Script(connack=METHOD)]
    client = authenticating(clients, broker)
    client.connected()
    return client


def test_again(broker, connected):
    done = auth(0, **METHOD, authentication_data=b"done")
    broker.last.script.on = {AUTH: [challenge(b"again?"), done, challenge(b"3"), done]}
    for number in range(2):
        assert connected.authenticate(AGAIN, b"hello") == smq.OK
        assert connected.publish("a", qos=1, cookie=number) == smq.OK  # goes on meanwhile
        asked(connected)
        assert connected.authenticate(CONTINUE, b"answer") == smq.OK
        assert asked(connected, smq.REASON_SUCCESS).payload == b"done"
        assert connected.completed(number).status == smq.OK
    codes = [p.reason()[0] for p in broker.of(AUTH)]
    assert codes == [AGAIN, CONTINUE] * 2
    assert connected.state == smq.STATE_CONNECTED


def test_again_without_questions(broker, connected):
    broker.last.script.on = {AUTH: auth(0, **METHOD)}
    for _ in range(3):
        assert connected.authenticate(AGAIN) == smq.OK
        asked(connected, smq.REASON_SUCCESS)


def test_again_refused(broker, connected):
    """The server says so with DISCONNECT (section 4.12.1)."""
    connection = broker.last
    connection.script.on = {AUTH: lambda *_: connection.disconnect(0x87)}
    assert connected.authenticate(AGAIN, b"x") == smq.OK
    event = connected.disconnected()
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_CLOSED, 0x87)


def test_an_exchange_ends_with_the_connection(broker, connected):
    broker.last.script.on = {AUTH: challenge(b"?")}
    assert connected.authenticate(AGAIN) == smq.OK
    asked(connected)
    broker.last.post(broker.last.end)
    connected.disconnected()
    assert connected.authenticate(CONTINUE, b"!") == smq.ERR_STATE
    broker.scripts.append(Script(connack=METHOD))
    connected.connected()
    assert connected.authenticate(CONTINUE, b"!") == smq.ERR_STATE
    broker.last.script.on = {AUTH: auth(0, **METHOD)}
    assert connected.authenticate(AGAIN) == smq.OK
    asked(connected, smq.REASON_SUCCESS)


# ---- The server's mistakes ----


WRONG = {  # Reason Code, properties
    "another method": (CONTINUE, dict(authentication_method="PLAIN")),
    "no method": (CONTINUE, dict(authentication_data=b"x")),
    "a method that only begins the same": (CONTINUE, dict(authentication_method="SCRAM-SHA")),
}


def told(client: smq.Client, broker, codes: set[int], rules: set[int]) -> smq.Event:
    event = client.disconnected()
    assert event.status in (smq.ERR_PROTOCOL, smq.ERR_MALFORMED)
    assert event.reason_code in codes and event.rule in rules, event
    broker.wait_for(lambda: not broker.live)
    for came in broker.of(DISCONNECT):
        assert came.reason()[0] == event.reason_code
    return event


UNEXPECTED = {smq.RULE_UNEXPECTED_AUTHENTICATION, smq.RULE_AUTHENTICATION_METHOD}


@pytest.mark.parametrize("name", WRONG)
def test_another_method(broker, connected, name):
    """[MQTT-4.12.0-5] broken: Protocol Error."""
    code, values = WRONG[name]
    broker.last.script.on = {AUTH: auth(code, **values)}
    assert connected.authenticate(AGAIN) == smq.OK
    event = told(connected, broker, {0x82}, UNEXPECTED)
    assert event.stage == smq.STAGE_CONNECTED
    assert not connected.of(smq.EVENT_AUTHENTICATE)


def test_unasked(broker, connected):
    """AUTH on a connection where no exchange is under way."""
    auth(CONTINUE, **METHOD)(broker.last, None)
    told(connected, broker, {0x82}, UNEXPECTED)
    broker.wait_for(lambda: broker.of(DISCONNECT))


@pytest.mark.parametrize("code", [AGAIN, 0x80, 0x01])
def test_a_code_that_only_the_client_may_send(broker, connected, code):
    broker.last.script.on = {AUTH: auth(code, **METHOD)}
    assert connected.authenticate(AGAIN) == smq.OK
    event = connected.disconnected()
    assert (event.rule, event.reason_code) == (smq.RULE_REASON_CODE, 0x81)


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1])
def test_before_5_0_there_is_no_auth(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    client.connected()
    assert client.authenticate(AGAIN) == smq.ERR_STATE
    broker.last.post(packet(AUTH))
    assert client.disconnected().status in (smq.ERR_PROTOCOL, smq.ERR_MALFORMED)


# ---- Calls that are wrong ----


def test_no_exchange_to_continue(clients, broker):
    client = authenticating(clients, broker)
    before = client.stats
    for code in (CONTINUE, AGAIN):
        assert client.authenticate(code, b"x") == smq.ERR_STATE  # no connection
    broker.scripts = [Script(at={1: nothing}, connack=METHOD)]
    assert client.connect() == smq.OK
    client.until(lambda: broker.of(CONNECT))
    for code in (CONTINUE, AGAIN):
        assert client.authenticate(code, b"x") == smq.ERR_STATE  # nobody has asked yet
    with broker.changed:
        accept(broker.last, None)
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.authenticate(CONTINUE, b"x") == smq.ERR_STATE
    assert broker.of(AUTH) == []
    assert client.stats.messages_published == before.messages_published


def test_reason_codes(connected):
    before = connected.stats
    for code in {*range(256)} - {CONTINUE, AGAIN} | {0x118, 0x119, 0xFFFFFFFF}:
        got = connected.authenticate(code, b"x")
        assert got == smq.ERR_REASON_CODE, hex(code)
    assert connected.stats == before


def test_too_large(clients, broker):
    broker.scripts = [Script(connack=dict(**METHOD, maximum_packet_size=100), on={AUTH: nothing})]
    client = authenticating(clients, broker, control_bytes=1000)
    client.connected()
    before = client.stats
    assert client.authenticate(AGAIN, bytes(1000)) == smq.ERR_TOO_LARGE  # than the room for it
    assert client.authenticate(AGAIN, bytes(100)) == smq.ERR_TOO_LARGE  # than the server takes
    assert client.stats == before
    # 2 + 1 + 1 bytes, the method with 3 + 13, the data with 3 + 77
    assert client.authenticate(AGAIN, bytes(77)) == smq.OK
    client.until(lambda: broker.of(AUTH))
    assert len(broker.of(AUTH)[0].raw) == 100


def test_keep_alive_and_messages_go_on(broker, connected):
    """An exchange that the server never ends is no reason to stop."""
    broker.last.script.on = {AUTH: nothing}
    assert connected.authenticate(AGAIN) == smq.OK
    broker.last.publish("a", b"x", 1)
    assert connected.message().payload == b"x"
    connected.until(lambda: broker.of(PUBACK))
    connected.subscribed("b")


def test_messages_right_behind_the_last_auth(clients, broker):
    def accept_and_publish(connection, came) -> None:
        accept(connection, came)
        connection.publish("a", b"first", now=True)

    at_once = {AUTH: accept_and_publish}
    broker.scripts = [Script(at={1: challenge(b"?")}, on=at_once, connack=METHOD)]
    client = authenticating(clients, broker)
    assert client.connect() == smq.OK
    asked(client)
    assert client.authenticate(CONTINUE) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.message().payload == b"first"
