"""Who acknowledges what, when, and how often; and what the program is told of it."""

from __future__ import annotations

import time

import pytest
from Support import smq
from Support.scripted_broker import PINGREQ, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, Script, close, packet

KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
V5 = smq.PROTOCOL_5_0
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=200)


def test_a_message_that_nobody_takes_is_not_acknowledged(clients, broker):
    """It comes again, to the program's next client."""
    client = clients(url=broker.url, **KEEP)
    client.connected()
    client.subscribed("a", qos=1)
    broker.last.publish("a", b"for later", qos=1)
    deadline = time.monotonic() + 10
    while not smq.library.smq_service(client.handle):  # it has come, and waits to be taken
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for _ in range(20):
        smq.library.smq_service(client.handle)
    assert broker.of(PUBACK) == []
    client.close()  # the program ends without it
    broker.wait_for(lambda: not broker.live)
    client = clients(url=broker.url, **KEEP)
    client.connected()
    assert client.message().payload == b"for later"
    client.run(0.05)
    broker.wait_for(lambda: len(broker.of(PUBACK)) == 1)


def test_every_kind_of_message_completes_once(clients, broker):
    """With a status whose number no other has."""
    for kind in ("ERR", "EVENT", "STAGE", "STATE", "RULE"):
        values = [value for name, value in smq.CONSTANTS.items() if name.startswith(f"SMQ_{kind}_")]
        assert len(values) == len(set(values)) > 4
    for name, value in smq.CONSTANTS.items():
        if name.startswith("SMQ_ERR_"):
            assert smq.status_name(value) == name
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    for number in range(6):
        assert client.publish("a", qos=number % 3, cookie=number, retain=number // 3) == smq.OK
    client.until(lambda: len(client.completions()) == 6)
    client.run(0.05)
    assert sorted((e.cookie, e.status) for e in client.completions()) == [(number, smq.OK) for number in range(6)]


@pytest.mark.parametrize("qos", [1, 2])
def test_nothing_is_sent_again_on_one_connection(clients, broker, qos):
    """Only another connection is a reason to send again [MQTT-4.4.0-1]."""
    broker.scripts = [Script(hold={PUBACK, PUBREC})]
    client = clients(url=broker.url, keep_alive_s=1, **KEEP)
    client.connected()
    for cookie in range(3):
        assert client.publish("a", qos=qos, cookie=cookie) == smq.OK
    client.run(4)
    assert len(broker.of(PINGREQ)) >= 2
    assert [p.dup for p in broker.of(PUBLISH)] == [0, 0, 0]
    broker.release()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK


def test_every_request_ends_once(clients, broker):
    """Also over connections that break in between."""
    broker.scripts = [Script(at={5: close}), Script(at={2: close}, session_present=1), Script(session_present=1)]
    client = clients(url=broker.url, **QUICK, **KEEP)
    assert client.connect() == smq.OK
    for number in range(0, 30, 3):
        assert client.publish("a", qos=1 + number % 2, cookie=number) == smq.OK
        client.step(0)
        if number < 6:
            assert client.subscribe(f"b/{number}", cookie=number + 1) == smq.OK
            assert client.unsubscribe(f"c/{number}", cookie=number + 2) == smq.OK
    expected = sorted([*range(0, 30, 3), 1, 2, 4, 5])
    client.until(lambda: len(client.completions()) >= len(expected))
    client.run(0.2)
    assert sorted(event.cookie for event in client.completions()) == expected
    assert {event.status for event in client.completions()} == {smq.OK}
    assert client.stats.connections == 3


@pytest.mark.parametrize("qos, type", [(1, PUBACK), (2, PUBCOMP)])
def test_an_acknowledgement_that_comes_twice(clients, broker, qos, type):
    """The second one changes nothing."""
    client = clients(url=broker.url)
    client.connected()
    assert client.publish("a", qos=qos, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    broker.last.send(packet(type, broker.of(PUBLISH)[0].id.to_bytes(2, "big")))
    assert client.publish("a", qos=qos, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert not client.completions()


@pytest.mark.parametrize("protocol, code", [(4, 0x80), (5, 0x87)])
def test_a_refused_subscription_is_no_success(clients, broker, protocol, code):
    """SUBACK's 0x80 is no granted QoS."""
    broker.scripts = [Script(grant=lambda filter, options: code if filter == "b" else options & 3)]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.subscribe("a", "b", qos=1, cookie=1) == smq.OK
    event = client.completed(1)
    assert (event.status, event.reason_code, event.reason_codes) == (smq.ERR_REFUSED, code, bytes([1, code]))


def test_each_qos_has_its_own_acknowledgement(clients, broker):
    """QoS 0 has none."""
    client = clients(url=broker.url)
    client.connected()
    for qos in (0, 1, 2):
        broker.last.publish("a", b"%d" % qos, qos=qos)
    client.receive(3)
    client.run(0.1)
    broker.wait_for(lambda: broker.of(PUBCOMP))
    assert [len(broker.of(type)) for type in (PUBACK, PUBREC, PUBCOMP)] == [1, 1, 1]


def test_delivered_is_what_pubcomp_says(clients, broker):
    """PUBREC completes nothing."""
    broker.scripts = [Script(hold={PUBCOMP})]
    client = clients(url=broker.url)
    client.connected()
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    client.run(0.05)
    assert len(broker.of(PUBREL)) == 1
    assert not client.completions()
    broker.release()
    assert client.completed(1).status == smq.OK
