"""Publishing to ejabberd, a server that has nothing in common with Mosquitto but the specification.

One server serves all tests, so each speaks below a topic level of its own.
"""

from __future__ import annotations

import random

import pytest

from Support import smq


def test_every_size_arrives_exactly(ejabberd, subscribe, clients, protocol, level):
    subscriber = subscribe(ejabberd, f"{level}/#")
    client = clients(url=ejabberd.url, protocol=protocol)
    client.connected()
    for qos in (0, 1, 2):
        for size in (0, 1, 127, 128, 16383, 16384, 60000):
            payload = random.Random(size).randbytes(size)
            topic = f"{level}/{qos}"
            assert client.publish(topic, payload, qos=qos, cookie=size) == smq.OK
            assert client.completed(size).status == smq.OK
            (received,) = subscriber.take(1)
            assert (received.topic, received.qos, received.retain) == (topic, qos, 0)
            assert received.payload == payload
    assert client.leave().status == smq.OK


def test_500_mixed_messages_stay_in_order(ejabberd, subscribe, clients, protocol, level):
    subscriber = subscribe(ejabberd, f"{level}/#")
    client = clients(url=ejabberd.url, protocol=protocol, outbox_messages=500)
    client.connected()
    dice = random.Random(1)
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for cookie in range(500):
        qos, payload = dice.randrange(3), b"%d " % cookie + dice.randbytes(dice.randrange(200))
        sent[qos].append(payload)
        while (
            status := client.publish(f"{level}/{qos}", payload, qos=qos, cookie=cookie)
        ) == smq.ERR_FULL:
            client.step(100)
        assert status == smq.OK
    client.until(lambda: len(client.completions()) == 500)
    assert {event.status for event in client.completions()} == {smq.OK}
    received = subscriber.take(500)
    for qos, payloads in sent.items():
        assert [m.payload for m in received if m.topic == f"{level}/{qos}"] == payloads
        assert {m.qos for m in received if m.topic == f"{level}/{qos}"} == {qos}


@pytest.mark.parametrize("qos", [1, 2])
def test_who_listens(ejabberd, subscribe, clients, level, qos):
    """5.0 tells by the Reason Code whether anybody has subscribed (section 3.4.2.1)."""
    client = clients(url=ejabberd.url, protocol=smq.PROTOCOL_5_0)
    client.connected()
    codes = []
    for topic in ("nobody", "somebody"):
        if topic == "somebody":
            subscribe(ejabberd, f"{level}/somebody")
        assert client.publish(f"{level}/{topic}", qos=qos, cookie=1) == smq.OK
        event = client.completed(1)
        assert event.status == smq.OK
        codes.append(event.reason_code)
    assert codes == [0x10, 0x00]


def test_retained(ejabberd, subscribe, clients, protocol, level):
    client = clients(url=ejabberd.url, protocol=protocol)
    client.connected()
    assert client.publish(f"{level}/kept", b"1", qos=1, retain=1, cookie=1) == smq.OK
    assert client.publish(f"{level}/not/kept", b"2", qos=1, cookie=2) == smq.OK
    client.completed(1), client.completed(2)
    late = subscribe(ejabberd, f"{level}/#")
    assert client.publish(f"{level}/kept", b"3", qos=1, retain=1, cookie=3) == smq.OK
    client.completed(3)
    got = [(m.topic, m.retain, m.payload) for m in late.take(2)]
    assert got == [(f"{level}/kept", 1, b"1"), (f"{level}/kept", 0, b"3")]
    assert client.publish(f"{level}/kept", qos=1, retain=1, cookie=4) == smq.OK
    client.completed(4)  # an empty payload removes it (section 3.3.1.3)
    assert subscribe(ejabberd, f"{level}/#").messages == []


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_will_speaks_only_for_who_did_not_leave(
    ejabberd, subscribe, clients, protocol, level, qos
):
    subscriber = subscribe(ejabberd, f"{level}/#")
    will = dict(topic=f"{level}/status", payload=b"\0gone\xff", qos=qos, retain=1)
    for polite in (True, False):
        client = clients(url=ejabberd.url, protocol=protocol, will=smq.Message(**will))
        client.connected()
        if polite:
            event = client.leave()
            assert (event.status, event.stage) == (smq.OK, smq.STAGE_NONE)
        client.close()
        if not polite:
            (message,) = subscriber.take(1)
            assert (message.topic, message.payload) == (will["topic"], will["payload"])
            assert message.qos == qos
        ejabberd.publish(f"{level}/after", "x")
        (message,) = subscriber.take(1)
        assert message.topic == f"{level}/after"


def test_a_session_is_taken_up(ejabberd, clients, protocol, level):
    client = clients(
        url=ejabberd.url, protocol=protocol, client_id=level, flags=smq.OPTION_KEEP_SESSION
    )
    for attempt in range(1, 4):
        assert client.connected().session_present == (attempt > 1)
        assert client.publish(level, qos=2, cookie=attempt) == smq.OK
        assert client.completed(attempt).status == smq.OK
        assert client.leave().status == smq.OK


def test_keep_alive_keeps_an_idle_client_connected(ejabberd, recorded, clients, protocol):
    client = clients(url=recorded(ejabberd).url, protocol=protocol, keep_alive_s=1)
    client.connected()
    client.run(2.5)  # ejabberd would end a silent connection after 2 s
    assert client.state == smq.STATE_CONNECTED
    assert list(client.events) == []
    assert 2 <= client.stats.packets_sent - 1 <= 3, "one PINGREQ a second"


def test_no_password(ejabberd, clients, protocol):
    client = clients(host="127.0.0.1", port=ejabberd.port, protocol=protocol)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_REFUSED, smq.STAGE_CONNACK)
    assert event.reason_code == {4: 5, 5: 0x87}[protocol]


def test_3_1_is_too_old(ejabberd, clients):
    """Refused by its name, with Connect Return code 1 of 3.1.1 (section 3.2.2.3)."""
    client = clients(url=ejabberd.url, protocol=smq.PROTOCOL_3_1, client_id="old")
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_REFUSED, smq.STAGE_CONNACK)
    assert event.reason_code == 1
