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


@pytest.mark.parametrize("qos", [1, 2])
def test_one_byte_at_a_time(clients, broker, protocol, qos):
    broker.scripts = [Script(one_byte=True, connack=dict(reason_string="x" * 200))]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in range(20):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    for cookie in range(20):
        assert client.completed(cookie).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"%d" % n for n in range(20)]
    assert list(client.events) == []


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
@pytest.mark.parametrize("held", [PUBACK, PUBREC, PUBCOMP])
def test_acknowledgements_in_any_order(clients, broker, protocol, order, held):
    broker.scripts = [Script(hold={held})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in range(5):
        qos = 1 if held == PUBACK else 2
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 5)
    assert client.stats.in_flight == 5
    assert not client.events
    broker.release(*[broker.held[index] for index in order])
    client.until(lambda: len(client.events) == 5)
    assert sorted(e.cookie for e in client.events) == [0, 1, 2, 3, 4]
    if held != PUBREC:  # after PUBREC there is one more step
        assert [e.cookie for e in client.events] == list(order)
    assert (client.stats.in_flight, client.stats.outbox_bytes) == (0, 0)


@pytest.mark.parametrize("answer, qos", [(PUBACK, 1), (PUBREC, 2), (PUBCOMP, 2)])
def test_acknowledgements_that_nobody_waits_for(clients, broker, protocol, answer, qos):
    """The same one twice, and one for an id that is not in use: the message completes, once."""

    def too_much(connection, came):
        connection.answer(came)
        identifier = came.id.to_bytes(2, "big")
        connection.send(packet(answer, identifier) + packet(answer, bytes([came.id >> 8 ^ 1, 1])))

    broker.scripts = [Script(at={3 if answer == PUBCOMP else 2: too_much})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in (1, 2):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
        assert client.completed(cookie).status == smq.OK
    client.run(0.05)
    assert (list(client.events), client.state) == ([], smq.STATE_CONNECTED)
    assert [m.payload for m in broker.messages] == [b"1", b"2"]
    broker.violations.clear()  # a PUBREL for each PUBREC is what was asked for


@pytest.mark.parametrize("answer, qos", [(PUBACK, 1), (PUBREC, 2)])
@pytest.mark.parametrize("code", [0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])
@pytest.mark.parametrize("words", ["", "no thanks"])
def test_a_message_refused(clients, broker, answer, qos, code, words):
    broker.scripts = [Script(reasons={answer: code}, reason_string=words)]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=qos, cookie=5) == smq.OK
    event = client.completed(5)
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, code)
    assert client.state == smq.STATE_CONNECTED
    assert (client.stats.messages_failed, client.stats.in_flight) == (1, 0)
    assert broker.of(PUBREL) == []
    broker.connections[0].script.reasons = {}
    assert client.publish("a", qos=qos, cookie=6) == smq.OK
    assert client.completed(6).status == smq.OK


def test_no_matching_subscribers_is_no_refusal(clients, broker):
    broker.scripts = [Script(reasons={PUBACK: 0x10, PUBREC: 0x10})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    for qos in (1, 2):
        assert client.publish("a", qos=qos, cookie=qos) == smq.OK
        event = client.completed(qos)
        assert event.status == smq.OK
