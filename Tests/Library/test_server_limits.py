"""What the server allows (5.0): the limits in its CONNACK."""

from __future__ import annotations

import pytest

from Support import smq
from Support.scripted_broker import PUBACK, PUBCOMP, PUBLISH, Script

V5 = smq.PROTOCOL_5_0


@pytest.mark.parametrize("maximum", [1, 3, 20])
def test_receive_maximum(clients, broker, maximum):
    broker.scripts = [Script(connack=dict(receive_maximum=maximum), hold={PUBACK, PUBCOMP})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.stats.in_flight_maximum == maximum
    for cookie in range(50):
        assert client.publish("a", b"%d" % cookie, qos=1 + cookie % 2, cookie=cookie) == smq.OK
    while len(broker.messages) < 50:
        client.until(lambda: len(broker.held) == min(maximum, 50 - client.stats.messages_completed))
        client.run(0.01)
        assert client.stats.in_flight <= maximum
        broker.release()
    client.until(lambda: client.stats.messages_completed + len(broker.held) == 50)
    broker.release()
    client.until(lambda: client.stats.messages_completed == 50)
    assert [m.payload for m in broker.messages] == [b"%d" % n for n in range(50)]


def test_in_flight_maximum_of_our_own(clients, broker, protocol):
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, protocol=protocol, in_flight_maximum=4)
    client.connected()
    for cookie in range(10):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 4)
    client.run(0.05)
    assert (len(broker.held), client.stats.in_flight, client.stats.in_flight_maximum) == (4, 4, 4)
    broker.connections[0].script.hold = set()
    broker.release()
    client.until(lambda: client.stats.messages_completed == 10)


def test_maximum_packet_size(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_packet_size=100))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", bytes(200), qos=1, cookie=1) == smq.OK  # not known yet
    assert client.publish("a", bytes(92), qos=1, cookie=2) == smq.OK  # 2 + 3 + 2 + 1 + 92
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x95)
    assert client.completed(2).status == smq.OK
    before = client.stats
    assert client.publish("a", bytes(93), qos=1) == smq.ERR_TOO_LARGE
    assert client.stats == before
    assert client.publish("a", bytes(92), qos=1, cookie=3) == smq.OK
    assert client.completed(3).status == smq.OK
    assert [len(p.raw) for p in broker.of(PUBLISH)] == [100, 100]


def test_maximum_qos(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_qos=1))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x9B)
    before = client.stats
    assert client.publish("a", qos=2) == smq.ERR_QOS
    assert client.stats == before
    assert client.publish("a", qos=1, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert [p.qos for p in broker.of(PUBLISH)] == [1]


def test_retain_not_available(clients, broker):
    broker.scripts = [Script(connack=dict(retain_available=0))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", retain=1, qos=1, cookie=1) == smq.OK
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x9A)
    before = client.stats
    assert client.publish("a", retain=1) == smq.ERR_NOT_SUPPORTED
    assert client.stats == before
    assert client.publish("a", qos=1, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert [p.retain for p in broker.of(PUBLISH)] == [0]


def test_limits_end_with_their_connection(clients, broker):
    """The next server may allow more."""
    broker.scripts = [Script(connack=dict(maximum_qos=0, retain_available=0, receive_maximum=1))]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1) == smq.ERR_QOS
    client.leave()
    client.connected()
    assert client.publish("a", qos=2, retain=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.stats.in_flight_maximum > 1


def test_all_connack_properties_are_taken(clients, broker):
    broker.scripts = [
        Script(
            connack=dict(
                session_expiry=5,
                receive_maximum=10,
                maximum_qos=1,
                retain_available=1,
                maximum_packet_size=1000,
                assigned_client_id="you",
                topic_alias_maximum=3,
                reason_string="welcome",
                user_property=("a", "b"),
                wildcard_subscription_available=1,
                subscription_identifier_available=0,
                shared_subscription_available=0,
                server_keep_alive=30,
                response_information="r",
                server_reference="s",
            )
        )
    ]
    client = clients(url=broker.url, protocol=V5)
    event = client.connected()
    assert event.reason_string == b"welcome"
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
