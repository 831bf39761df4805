"""What outlives a connection: what is sent again, and what is lost with a session."""

from __future__ import annotations

from Support import smq
from Support.scripted_broker import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, Script, close

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


def test_sent_again_in_order_with_dup(clients, broker, protocol):
    """Session present: PUBLISH again with DUP and its id, in order; after PUBREC only PUBREL."""
    broker.scripts = [
        Script(hold={PUBACK, PUBREC, PUBCOMP}, at={8: close}),
        Script(session_present=1),
    ]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    for cookie, qos in enumerate([1, 2, 2, 1, 2]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 5)
    ids = {p.payload: p.id for p in broker.of(PUBLISH, 1)}
    assert len(set(ids.values())) == 5
    broker.release(broker.held[2])  # PUBREC for message 2
    client.until(lambda: len(broker.of(PUBREL, 1)) == 1)
    assert broker.of(PUBREL, 1)[0].id == ids[b"2"]
    assert client.publish("a", b"5", qos=1, cookie=5) == smq.OK  # the 8th packet
    client.disconnected()
    broker.held.clear()
    assert client.publish("a", b"6", qos=1, cookie=6) == smq.OK  # meanwhile
    assert client.connected().session_present == 1
    for cookie in range(7):
        assert client.completed(cookie).status == smq.OK
    again = [
        (p.type, p.dup, p.id, p.payload if p.type == PUBLISH else None)
        for p in broker.packets
        if p.connection == 2 and p.type in (PUBLISH, PUBREL)
    ]
    publishes = [p for p in again if p[0] == PUBLISH]
    assert [p[3] for p in publishes] == [b"0", b"1", b"3", b"4", b"5", b"6"]
    assert [p[1] for p in publishes] == [1, 1, 1, 1, 1, 0]
    assert [p[2] for p in publishes][:4] == [ids[m] for m in (b"0", b"1", b"3", b"4")]
    assert (PUBREL, 0, ids[b"2"], None) in again
    assert list(client.events) == []
    assert broker.connects[1]["clean"] == 0


def test_again_and_again(clients, broker, protocol):
    """A message survives any number of lost connections."""
    scripts = [Script(hold={PUBACK, PUBREC}, at={4: close}) for _ in range(5)]
    for script in scripts[1:]:
        script.session_present = 1
    broker.scripts = [*scripts, Script(session_present=1)]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    for cookie, qos in enumerate([1, 2, 1]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    for _ in scripts:
        client.connected()
        client.disconnected()
    client.connected()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK
    assert [p.dup for p in broker.of(PUBLISH)] == [0] * 3 + [1] * 15
    assert {(p.id, p.payload) for p in broker.of(PUBLISH)} == {
        (p.id, p.payload) for p in broker.of(PUBLISH, 1)
    }


def test_session_lost(clients, broker, protocol):
    """QoS 1 goes again as new. Of QoS 2 the fate is unknown, unless PUBREC had come."""
    broker.scripts = [
        Script(hold={PUBACK, PUBREC, PUBCOMP}, at={6: close}),
        Script(session_present=0),
    ]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    for cookie, qos in enumerate([1, 2, 2]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 3)
    broker.release(broker.held[2])
    client.until(lambda: len(broker.of(PUBREL, 1)) == 1)
    assert client.publish("a", b"3", qos=1, cookie=3) == smq.OK
    client.disconnected()
    broker.held.clear()
    assert client.connected().session_present == 0
    statuses = {cookie: client.completed(cookie).status for cookie in range(4)}
    assert statuses == {0: smq.OK, 1: smq.ERR_SESSION_LOST, 2: smq.OK, 3: smq.OK}
    again = [(p.payload, p.dup) for p in broker.of(PUBLISH, 2)]
    assert again == [(b"0", 0), (b"3", 0)]
    assert broker.of(PUBREL, 2) == []
    assert (client.stats.messages_completed, client.stats.messages_failed) == (3, 1)


def test_no_session_kept(clients, broker, protocol):
    """Without SMQ_OPTION_KEEP_SESSION every connection begins a new session."""
    broker.scripts = [Script(hold={PUBACK, PUBREC}, at={4: close})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie, qos in enumerate([1, 2, 0]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.disconnected()
    client.connected()
    client.completed(0)
    assert client.completed(1).status == smq.ERR_SESSION_LOST
    assert [c["clean"] for c in broker.connects] == [1, 1]
    assert [(p.payload, p.dup) for p in broker.of(PUBLISH, 2) if p.qos] == [(b"0", 0)]


def test_the_first_connection_of_a_client_has_no_session(clients, broker):
    """5.0: a client without Session State must not take up one (sections 3.1.2.4, 3.2.2.1.1)."""
    client = clients(url=broker.url, protocol=V5, **KEEP)
    client.connected()
    client.close()  # as if the program had died; the server keeps the session
    broker.wait_for(lambda: not broker.live)
    client = clients(url=broker.url, protocol=V5, **KEEP)
    client.connected()
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


def test_a_new_program_is_not_taken_for_the_old_one(clients, broker, protocol):
    """The old one left a QoS 2 message half done. The new one's messages must all arrive."""
    broker.scripts = [Script(hold={PUBREC})]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", b"old", qos=2) == smq.OK
    client.until(lambda: broker.held)
    client.close()
    broker.wait_for(lambda: not broker.live)
    broker.held.clear()
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", b"new", qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"old", b"new"]
    broker.violations.clear()  # in 3.1.1 the id may well be one that is in use
