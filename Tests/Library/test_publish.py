"""Publishing to a real Mosquitto, with mosquitto_sub as the witness."""

from __future__ import annotations

import random
import socket
import subprocess
from collections import Counter

import pytest

from Support import smq
from Support.servers import need

OUTBOX = 65536


def overhead(protocol: int, topic: str, qos: int, payload: int) -> int:
    """What a PUBLISH is longer than its payload (section 3.3)."""
    remaining = 2 + len(topic) + (2 if qos else 0) + (1 if protocol == 5 else 0) + payload
    length_bytes = 1 + (remaining > 127) + (remaining > 16383) + (remaining > 2097151)
    return 1 + length_bytes + remaining - payload


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_size_arrives_exactly(mosquitto, subscriber, clients, protocol, qos):
    topic = "a/b"
    largest = OUTBOX - overhead(protocol, topic, qos, OUTBOX - 100)
    sizes = [0, 1, 127, 128, 16383, 16384, largest]
    client = clients(url=mosquitto.url, protocol=protocol, outbox_bytes=OUTBOX)
    client.connected()
    for cookie, size in enumerate(sizes):
        payload = random.Random(size).randbytes(size)
        status = smq.ERR_FULL
        while status == smq.ERR_FULL:  # the last needs the whole outbox
            status = client.publish(topic, payload, qos=qos, cookie=cookie)
            client.step(0 if status == 0 else 20)
        assert status == smq.OK
        assert client.completed(cookie).status == smq.OK
        (received,) = subscriber.take(1)
        assert (received.topic, received.qos, received.retain) == (topic, qos, 0)
        assert received.payload == payload
    before = client.stats
    assert client.publish(topic, bytes(largest + 1), qos=qos) == smq.ERR_TOO_LARGE
    assert client.stats == before
    assert before.outbox_bytes_peak == OUTBOX
    assert client.leave().status == smq.OK


def test_5000_mixed_messages_stay_in_order(mosquitto, subscriber, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, outbox_messages=1000)
    client.connected()
    dice = random.Random(1)
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for cookie in range(1, 5001):
        qos, payload = dice.randrange(3), b"%d " % cookie + dice.randbytes(dice.randrange(200))
        while (
            status := client.publish(f"q/{qos}", payload, qos=qos, cookie=cookie)
        ) == smq.ERR_FULL:
            client.step(100)
        assert status == smq.OK
        sent[qos].append(payload)
    client.until(lambda: len(client.completions()) == 5000)
    assert Counter(e.cookie for e in client.completions()) == Counter(range(1, 5001))
    assert {e.status for e in client.completions()} == {smq.OK}
    received = subscriber.take(5000)
    for qos, payloads in sent.items():
        assert [m.payload for m in received if m.topic == f"q/{qos}"] == payloads
        assert {m.qos for m in received if m.topic == f"q/{qos}"} == {qos}
    stats = client.stats
    assert (stats.messages_published, stats.messages_completed, stats.messages_failed) == (
        5000,
        5000,
        0,
    )
    assert (stats.outbox_bytes, stats.outbox_messages, stats.in_flight) == (0, 0, 0)


def test_many_messages_share_a_send_call(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, outbox_messages=600)
    client.connected()
    before = client.stats
    for cookie in range(500):
        assert client.publish("a", b"x" * 50, qos=0, cookie=cookie) == smq.OK
    assert client.stats.send_calls == before.send_calls, "publishing makes no system call"
    client.until(lambda: len(client.completions()) == 500)
    after = client.stats
    assert after.packets_sent - before.packets_sent == 500
    assert after.send_calls - before.send_calls <= 10


def test_quiet_messages_complete_without_an_event(mosquitto, subscriber, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol)
    client.connected()
    for qos in (0, 1, 2):
        assert client.publish("quiet", b"%d" % qos, qos=qos, quiet=1) == smq.OK
    assert client.publish("loud", qos=2, cookie=7) == smq.OK
    client.until(lambda: client.stats.messages_completed == 4)
    assert [e.cookie for e in client.events] == [7]
    assert len(subscriber.take(4)) == 4


def test_retained(mosquitto, subscribe, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol)
    client.connected()
    assert client.publish("kept", b"1", qos=1, retain=1, cookie=1) == smq.OK
    assert client.publish("not/kept", b"2", qos=1, cookie=2) == smq.OK
    client.completed(1), client.completed(2)
    late = subscribe(mosquitto)
    assert client.publish("kept", b"3", qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 3)
    got = [(m.topic, m.retain, m.payload) for m in late.take(2)]
    assert got == [("kept", 1, b"1"), ("kept", 0, b"3")]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_will_speaks_only_for_who_did_not_leave(mosquitto, subscriber, clients, protocol, qos):
    will = dict(topic="status", payload=b"\0gone\xff", qos=qos, retain=1)
    for polite in (True, False):
        client = clients(url=mosquitto.url, protocol=protocol, will=smq.Message(**will))
        client.connected()
        if polite:
            event = client.leave()
            assert (event.status, event.stage) == (smq.OK, smq.STAGE_NONE)
        client.close()
        mosquitto.publish("after", "x", "-q", "2")  # which overtakes no handshake before it
        if not polite:
            (message,) = subscriber.take(1)
            assert (message.topic, message.payload, message.qos) == ("status", b"\0gone\xff", qos)
        (message,) = subscriber.take(1)
        assert message.topic == "after"


def test_leaving_drains_the_outbox_first(mosquitto, subscriber, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol)
    client.connected()
    for cookie in range(100):
        assert client.publish("drain", b"%d" % cookie, qos=2, cookie=cookie) == smq.OK
    event = client.leave()
    assert (event.status, client.state) == (smq.OK, smq.STATE_DISCONNECTED)
    assert client.stats.messages_completed == 100
    assert [m.payload for m in subscriber.take(100)] == [b"%d" % n for n in range(100)]


def test_room_is_told_once(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, outbox_messages=10)
    for cookie in range(10):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    for _ in range(3):
        assert client.publish("a", qos=1) == smq.ERR_FULL
    assert not client.events
    client.connected()
    client.wait_event(smq.EVENT_ROOM)
    assert client.publish("a", qos=1, cookie=10) == smq.OK
    client.until(lambda: len(client.completions()) == 11)
    client.run(0.05)
    assert smq.EVENT_ROOM not in {e.type for e in client.events}


def test_published_before_connecting(mosquitto, subscriber, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol)
    for qos in (0, 1, 2):
        assert client.publish("early", b"%d" % qos, qos=qos, cookie=qos) == smq.OK
    client.connected()
    for qos in (0, 1, 2):
        assert client.completed(qos).status == smq.OK
    assert sorted(m.payload for m in subscriber.take(3)) == [b"0", b"1", b"2"]


@pytest.fixture
def guarded(start_mosquitto, tmp_path):
    """A Mosquitto that lets in käte with the password p:w@%, and nobody else."""
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    command = [need("mosquitto_passwd"), "-b", str(passwords), "käte", "p:w@%"]
    subprocess.run(command, check=True, timeout=10, capture_output=True)
    return start_mosquitto(allow_anonymous="false", password_file=passwords)


def test_password(guarded, clients, protocol):
    address = dict(host="127.0.0.1", port=guarded.port)
    client = clients(**address, protocol=protocol, user_name="käte", password="p:w@%")
    client.connected()


def test_password_in_the_url(guarded, clients, protocol):
    url = f"mqtt://k%C3%A4te:p%3Aw%40%25@127.0.0.1:{guarded.port}/"
    clients(url=url, protocol=protocol).connected()


def test_password_beside_the_url(guarded, clients, protocol):
    for user, more in (("", {"user_name": "käte"}), ("k%C3%A4te@", {})):
        url = f"mqtt://{user}127.0.0.1:{guarded.port}/"
        clients(url=url, protocol=protocol, password="p:w@%", **more).connected()


@pytest.mark.parametrize("login", [dict(user_name="käte", password="wrong"), {}])
def test_wrong_password(guarded, clients, protocol, login):
    client = clients(host="127.0.0.1", port=guarded.port, protocol=protocol, **login)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.status == smq.ERR_REFUSED
    assert event.stage == smq.STAGE_CONNACK
    assert event.reason_code == {4: 5, 5: 0x87}[protocol]
    assert client.state == smq.STATE_DISCONNECTED


@pytest.mark.parametrize("how", ["host and port", "numeric", "name", "IPv6"])
def test_addresses(start_mosquitto, clients, protocol, how):
    if how == "IPv6":
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
    broker = start_mosquitto(host="::1" if how == "IPv6" else "127.0.0.1")
    address = {
        "host and port": dict(host="127.0.0.1", port=broker.port),
        "numeric": dict(url=f"mqtt://127.0.0.1:{broker.port}"),
        "name": dict(url=f"mqtt://localhost:{broker.port}"),
        "IPv6": dict(url=f"mqtt://[::1]:{broker.port}"),
    }[how]
    client = clients(protocol=protocol, **address)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


def test_connects_again_and_again(mosquitto, clients, protocol):
    client = clients(
        url=mosquitto.url, protocol=protocol, client_id="again", flags=smq.OPTION_KEEP_SESSION
    )
    for attempt in range(1, 6):
        event = client.connected()
        assert event.attempt == attempt
        assert client.publish("a", qos=2, cookie=attempt) == smq.OK
        assert client.completed(attempt).status == smq.OK
        assert client.leave().status == smq.OK
    assert client.stats.connections == 5


def test_keep_alive_keeps_an_idle_client_connected(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, keep_alive_s=1)
    client.connected()
    client.run(2.5)  # Mosquitto looks too rarely to mind; ejabberd does not (test_ejabberd.py)
    assert client.state == smq.STATE_CONNECTED
    assert list(client.events) == []
    assert 2 <= client.stats.packets_sent - 1 <= 3, "one PINGREQ a second"



def test_3_1(mosquitto, subscriber, clients):
    """The oldest version: another name, no empty client id, no Session Present."""
    client = clients(
        url=mosquitto.url,
        protocol=smq.PROTOCOL_3_1,
        client_id="x" * 23,
        flags=smq.OPTION_KEEP_SESSION,
    )
    for _ in range(2):  # the second time there is a session to take up
        client.connected()
        for qos in (0, 1, 2):
            assert client.publish("old", b"%d" % qos, qos=qos, cookie=qos) == smq.OK
            assert client.completed(qos).status == smq.OK
        assert [(m.qos, m.payload) for m in subscriber.take(3)] == [(0, b"0"), (1, b"1"), (2, b"2")]
        assert client.leave().status == smq.OK
