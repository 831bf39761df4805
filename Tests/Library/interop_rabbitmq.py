"""Publishing to RabbitMQ 3.10, which knows 3.1 and 3.1.1. Not one of the tests that always run, as it
takes ten seconds to start: `make interop-rabbitmq`, or pytest with the name of this file.

What it answers otherwise than a server should:

- A CONNECT of 5.0, as this library and mosquitto_pub send it: not one byte. It closes the
  connection (FIN) within some milliseconds. It parses what follows Keep Alive as 3.1.1 would, and
  its reader crashes on the properties before it looks at the version; the Connect Return code 1 of
  section 3.2.2.3 never comes. An unknown Protocol Name or Level is met by the same silence.
- A PUBLISH of QoS 2: PUBACK. It takes the message as one of QoS 1.
- A SUBSCRIBE for QoS 2: QoS 1 is granted.
- CONNACK to 3.1.1 with Clean Session 0: Session Present 0 as long as nothing was subscribed.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest

from Support import smq
from Support.servers import RabbitMQ

OLD = [smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1]


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    server = RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=OLD, ids=["3.1", "3.1.1"])
def protocol(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.mark.parametrize("qos", [0, 1])
def test_every_size_arrives_exactly(rabbitmq, subscribe, clients, protocol, level, qos):
    subscriber = subscribe(rabbitmq, f"{level}/#", qos=1)
    client = clients(url=rabbitmq.url, protocol=protocol, client_id=level[:23])
    client.connected()
    for size in (0, 1, 127, 128, 16383, 16384, 60000):
        payload = random.Random(size).randbytes(size)
        assert client.publish(f"{level}/a", payload, qos=qos, cookie=size) == smq.OK
        assert client.completed(size).status == smq.OK
        (received,) = subscriber.take(1)
        assert (received.topic, received.qos, received.retain) == (f"{level}/a", qos, 0)
        assert received.payload == payload
    assert client.leave().status == smq.OK


@pytest.mark.parametrize("qos", [0, 1])
def test_500_messages_stay_in_order(rabbitmq, subscribe, clients, protocol, level, qos):
    subscriber = subscribe(rabbitmq, level, qos=1)
    client = clients(url=rabbitmq.url, protocol=protocol, client_id=level[:23], outbox_messages=500)
    client.connected()
    for cookie in range(500):
        assert client.publish(level, b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(client.completions()) == 500)
    assert [m.payload for m in subscriber.take(500)] == [b"%d" % n for n in range(500)]


def test_qos_2_is_answered_as_qos_1(rabbitmq, clients, protocol, level):
    """By the specification PUBACK is not an answer to QoS 2 (section 4.3.3), and we say so."""
    client = clients(url=rabbitmq.url, protocol=protocol, client_id=level[:23])
    client.connected()
    assert client.publish(level, qos=2) == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_PROTOCOL, smq.STAGE_CONNECTED)


def test_retained(rabbitmq, subscribe, clients, protocol, level):
    client = clients(url=rabbitmq.url, protocol=protocol, client_id=level[:23])
    client.connected()
    assert client.publish(f"{level}/kept", b"1", qos=1, retain=1, cookie=1) == smq.OK
    client.completed(1)
    # It looks retained messages up by their topic: a filter with wildcards gets none.
    late = subscribe(rabbitmq, f"{level}/kept", qos=1)
    assert client.publish(f"{level}/kept", b"2", qos=1, retain=1, cookie=2) == smq.OK
    client.completed(2)
    got = [(m.topic, m.retain, m.payload) for m in late.take(2)]
    assert got == [(f"{level}/kept", 1, b"1"), (f"{level}/kept", 0, b"2")]


def test_the_will_speaks_only_for_who_did_not_leave(rabbitmq, subscribe, clients, protocol, level):
    subscriber = subscribe(rabbitmq, f"{level}/#", qos=1)
    will = dict(topic=f"{level}/status", payload=b"\0gone\xff", qos=1)
    for polite in (True, False):
        client = clients(
            url=rabbitmq.url,
            protocol=protocol,
            client_id=level[:23],
            will=smq.Message(**will),
        )
        client.connected()
        if polite:
            assert client.leave().status == smq.OK
        client.close()
        if not polite:
            (message,) = subscriber.take(1)
            assert (message.topic, message.payload) == (will["topic"], will["payload"])
        rabbitmq.publish(f"{level}/after", "x")
        (message,) = subscriber.take(1)
        assert message.topic == f"{level}/after"


def test_a_session_is_taken_up(rabbitmq, clients, protocol, level):
    client = clients(
        url=rabbitmq.url,
        protocol=protocol,
        client_id=level[:23],
        flags=smq.OPTION_KEEP_SESSION,
    )
    for cookie in (1, 2):
        client.connected()
        assert client.publish(level, qos=1, cookie=cookie) == smq.OK
        assert client.completed(cookie).status == smq.OK
        assert client.leave().status == smq.OK


def test_keep_alive_keeps_an_idle_client_connected(rabbitmq, clients, protocol, level):
    client = clients(url=rabbitmq.url, protocol=protocol, client_id=level[:23], keep_alive_s=1)
    client.connected()
    client.run(2.5)
    assert client.state == smq.STATE_CONNECTED


def test_a_connect_of_5_0_is_met_by_silence(rabbitmq, clients):
    client = clients(url=rabbitmq.url, protocol=smq.PROTOCOL_5_0)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_CLOSED, smq.STAGE_CONNACK)
    assert event.reason_code == -1


@pytest.mark.parametrize(
    "connect",
    [
        "100E 0004 4D515454 05 02 003C 00 0001 61",  # 5.0, no properties
        "1013 0004 4D515454 05 00 003C 05 11FFFFFFFF 0001 61",  # 5.0, Session Expiry Interval
        "100D 0004 4D515454 06 02 003C 0001 61",  # a version that does not exist
        "100F 0006 4D5149736470 04 02 003C 0001 61",  # the name of 3.1 with the level of 3.1.1
    ],
)
def test_what_it_does_not_know_gets_no_byte(rabbitmq, connect):
    with socket.create_connection((rabbitmq.host, rabbitmq.port), timeout=10) as connection:
        connection.sendall(bytes.fromhex(connect))
        assert connection.recv(100) == b""
