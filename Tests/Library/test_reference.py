"""Payloads that stay in the program's memory (smq_publish_reference)."""

from __future__ import annotations

import ctypes
import random

import pytest

from Support import smq
from Support.handshakes import TLS, Peer, WebSocket
from Support.scripted_broker import PUBACK, PUBLISH, PUBREC, Script, answer_then, close

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
LENDS = dict(references=4, outbox_bytes=1000)
SIZES = (0, 1, 100, 65_536, 1_048_576, 5_000_000)


def lent(size: int) -> ctypes.Array:
    return ctypes.create_string_buffer(random.Random(size).randbytes(size), size)


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_to_a_scripted_server(clients, broker, protocol, qos, size):
    client = clients(url=broker.url, protocol=protocol, **LENDS)
    client.connected()
    payload = lent(size)
    values = dict(properties=smq.properties(content_type="film")) if protocol == V5 else {}
    assert client.publish("before", b"x") == smq.OK
    assert client.lend("film", payload, qos=qos, retain=1, cookie=1, **values) == smq.OK
    assert client.publish("behind", b"x", qos=1, cookie=2) == smq.OK
    assert client.completed(1).status == client.completed(2).status == smq.OK
    broker.wait_for(lambda: len(broker.messages) == 3)
    message = broker.messages[1]
    assert (message.topic, message.qos, message.retain) == ("film", qos, 1)
    assert message.payload == payload.raw
    if values:
        assert message.properties == dict(content_type="film")
    assert [m.topic for m in broker.messages] == ["before", "film", "behind"]
    assert client.stats.outbox_bytes == 0


def test_through_a_real_server(mosquitto, clients, subscriber, version):
    """Three at a time of each QoS. The buffers are written over as soon as they are given back."""
    client = clients(url=mosquitto.url, **version, **LENDS)
    client.connected()
    for qos in range(3):
        payloads = [lent(size + qos) for size in (1_000_000, 65_536, 300)]
        sent = [payload.raw for payload in payloads]
        for number, payload in enumerate(payloads):
            assert client.lend("a", payload, qos=qos, cookie=number) == smq.OK
        for number, payload in enumerate(payloads):
            assert client.completed(number).status == smq.OK
            ctypes.memset(payload, 0xEE, len(payload))
        client.events.clear()
        got = subscriber.take(3)
        assert [m.payload for m in got] == sent
    assert "protocol error" not in mosquitto.log.read_text().lower()


def test_one_system_call(clients, broker):
    """What waits before it, its header and its payload."""
    client = clients(url=broker.url, **LENDS)
    client.connected()
    before = client.stats.send_calls
    for number in range(10):
        assert client.publish("a", b"%d" % number, quiet=1) == smq.OK
    assert client.lend("b", lent(10_000), cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.stats.send_calls == before + 1
    broker.wait_for(lambda: len(broker.messages) == 11)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_cut_in_the_middle(clients, broker, version, qos):
    """On the next connection it begins at its beginning; it is given back once."""
    broker.scripts = [Script(cut_after=300_000), Script(cut_after=500_000)]
    client = clients(url=broker.url, **{**version, **KEEP}, **LENDS)
    # QoS 0 is complete when the kernel has it, and the kernel may take 10 MB.
    payload = lent(1_000_000 if qos else 24_000_000)
    assert client.lend("a", payload, qos=qos, cookie=1) == smq.OK
    for _ in range(2):
        assert client.connect() == smq.OK  # it may be cut before a look is taken at it
        client.disconnected()
        assert not client.completions()
    assert client.connect() == smq.OK
    assert client.completed(1).status == smq.OK
    broker.wait_for(lambda: broker.messages)
    assert [m.payload == payload.raw for m in broker.messages] == [True]
    client.run(0.02)
    assert not client.completions()


@pytest.mark.parametrize("qos, lost", [(1, PUBACK), (2, PUBREC)])
def test_the_answer_is_lost(clients, broker, version, qos, lost):
    """All of it was sent. Without the acknowledgement it is sent again, with DUP, from the same bytes."""
    broker.scripts = [Script(on={PUBLISH: answer_then(close)}, hold={lost})]
    client = clients(url=broker.url, **{**version, **KEEP}, **LENDS)
    client.connected()
    payload = lent(100_000)
    assert client.lend("a", payload, qos=qos, cookie=1) == smq.OK
    client.disconnected()
    assert not client.completions()
    client.connected()
    assert client.completed(1).status == smq.OK
    assert [(p.dup, p.payload == payload.raw) for p in broker.of(PUBLISH)] == [(0, True), (1, True)]


def test_the_table_is_full(clients, broker, version):
    client = clients(url=broker.url, **version, **LENDS)
    payload = lent(10)
    for cookie in range(4):
        assert client.lend("a", payload, qos=1, cookie=cookie) == smq.OK
    before = client.stats
    for overflow in (smq.OVERFLOW_REFUSE, smq.OVERFLOW_DROP_OLDEST, smq.OVERFLOW_DROP_NEWEST):
        assert client.lend("a", payload, qos=1, overflow=overflow) == smq.ERR_FULL
    assert client.stats == before
    assert client.publish("b", b"others have room", qos=1, cookie=9) == smq.OK
    client.connected()
    assert client.completed(3).status == smq.OK
    client.until(lambda: any(event.type == smq.EVENT_ROOM for event in client.events))
    assert client.lend("a", payload, qos=1, cookie=10) == smq.OK
    assert client.completed(10).status == smq.OK


def test_what_it_cannot_be(clients, broker, version):
    client = clients(url=broker.url, urgent_messages=2, **version, **LENDS)
    client.connected()
    payload, before = lent(10), client.stats
    for fields in (dict(quiet=1), dict(urgent=1), dict(overflow=smq.OVERFLOW_LATEST)):
        assert client.lend("a", payload, **fields) == smq.ERR_OPTION
    assert client.lend("a/#", payload) == smq.ERR_TOPIC_NAME
    assert client.stats == before
    without = clients(url=broker.url, **version)
    assert without.lend("a", payload) == smq.ERR_NOT_SUPPORTED


def test_it_expires_unsent(clients, broker, version):
    client = clients(url=broker.url, **version, **LENDS)
    assert client.lend("a", lent(10), qos=1, cookie=1, expiry_s=1) == smq.OK
    assert client.lend("a", lent(10), qos=1, cookie=2) == smq.OK
    client.run(1.2)
    client.connected()
    assert client.completed(1).status == smq.ERR_EXPIRED
    assert client.completed(2).status == smq.OK


@pytest.mark.parametrize("kind", ["ws", "tls", "wss"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_through_layers(clients, certificates, tls, broker, kind, qos):
    """They copy it piece by piece."""
    stages = [TLS(certificates.good)] if kind != "ws" else []
    if kind != "tls":
        stages.append(WebSocket())
    payload = lent(1_000_000)
    with Peer(*stages, upstream=broker.port) as peer:
        scheme = {"tls": "mqtts"}.get(kind, kind)
        more = dict(tls=tls) if kind != "ws" else {}
        client = clients(url=f"{scheme}://localhost:{peer.port}", **LENDS, **more)
        client.connected()
        assert client.publish("before", b"x", quiet=1) == smq.OK
        assert client.lend("a", payload, qos=qos, cookie=1) == smq.OK
        assert client.publish("behind", b"x", qos=1, cookie=2) == smq.OK
        assert client.completed(1).status == client.completed(2).status == smq.OK
        broker.wait_for(lambda: len(broker.messages) == 3)
        assert broker.messages[1].payload == payload.raw
        assert peer.violations == []
