"""Staying connected: by itself, after every kind of end, and never as a storm. The sequences of waits are tested on a
virtual clock (ReconnectingTests.swift); here are real servers and real time."""

from __future__ import annotations

import select
import time

import pytest

from Support import smq
from Support.scripted_broker import CONNECT, PINGREQ, Script, close, refuse, reset
from Support.servers import free_port

V5 = smq.PROTOCOL_5_0
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=200)


def ends(client: smq.Client) -> list[smq.Event]:
    return client.of(smq.EVENT_DISCONNECTED)


def test_a_server_that_is_not_there_yet(mosquitto, clients, version):
    port = mosquitto.port
    mosquitto.stop()
    client = clients(url=f"mqtt://127.0.0.1:{port}", **QUICK, **version)
    assert client.connect() == smq.OK
    client.until(lambda: len(ends(client)) >= 3)
    for number, event in enumerate(ends(client), 1):
        assert (event.status, event.stage, event.attempt) == (smq.ERR_NETWORK, smq.STAGE_CONNECT, number)
        assert 10 <= event.retry_ms <= 200
    mosquitto.start()
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.state == smq.STATE_CONNECTED


def test_a_server_that_is_restarted_again_and_again(mosquitto, clients, protocol):
    """QoS 1 messages are published all the time: each ends, and none is lost."""
    client = clients(
        url=mosquitto.url, protocol=protocol, client_id="keeper", flags=smq.OPTION_KEEP_SESSION, **QUICK
    )
    assert client.connect() == smq.OK
    count = 0
    for _ in range(4):
        client.wait_event(smq.EVENT_CONNECTED)
        for _ in range(20):
            assert client.publish("a", b"x", qos=1, cookie=count) == smq.OK
            count += 1
            client.step(1)
        mosquitto.kill()
        client.wait_event(smq.EVENT_DISCONNECTED)
        for _ in range(5):
            assert client.publish("a", b"x", qos=1, cookie=count) == smq.OK
            count += 1
        mosquitto.start()
    client.until(lambda: len(client.completions()) == count)
    assert sorted(e.cookie for e in client.completions()) == list(range(count))
    assert {e.status for e in client.completions()} == {smq.OK}


@pytest.mark.parametrize("how", [close, reset, refuse(0x87), refuse(0x88)])
def test_refusals_and_short_connections(clients, broker, how):
    broker.scripts = [Script(at={1: how})] * 5
    client = clients(url=broker.url, protocol=V5, **QUICK)
    start = time.monotonic()
    assert client.connect() == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    waited = sum(e.retry_ms for e in ends(client)) / 1000
    assert len(ends(client)) == 5
    assert [e.attempt for e in ends(client)] == [1, 2, 3, 4, 5]
    assert time.monotonic() - start >= waited


def test_the_next_attempt_is_in_no_haste(clients):
    """Not before its time, and in the loop of the program's own not later than smq_next_timeout_ms() says."""
    client = clients(
        url=f"mqtt://127.0.0.1:{free_port()}", reconnect=True, reconnect_min_ms=150, jitter=smq.JITTER_NONE
    )
    assert client.connect() == smq.OK
    for number in range(2):
        event = client.wait_event(smq.EVENT_DISCONNECTED)
        begin = time.monotonic()
        assert event.retry_ms == 150 << number
        assert client.state == smq.STATE_WAITING
        assert smq.library.smq_connect(client.handle) == smq.ERR_STATE
        while not smq.library.smq_service(client.handle):
            timeout = smq.library.smq_next_timeout_ms(client.handle)
            if client.state == smq.STATE_WAITING:
                assert 0 <= timeout <= event.retry_ms
            select.select([smq.library.smq_fd(client.handle)], [], [], timeout / 1000)
        assert time.monotonic() - begin >= event.retry_ms / 1000 - 0.002


def test_several_servers(mosquitto, clients, version):
    gone = [free_port() for _ in range(2)]
    hosts = ",".join([f"127.0.0.1:{gone[0]}", f"[::1]:{gone[1]}", f"127.0.0.1:{mosquitto.port}"])
    client = clients(url=f"mqtt://{hosts}", reconnect=True, reconnect_min_ms=20, **version)
    for number in range(2):
        if number == 0:
            assert client.connect() == smq.OK
        event = client.wait_event(smq.EVENT_CONNECTED)
        assert event.server == 2
        assert [e.server for e in ends(client)] == [0, 1]
        assert [e.retry_ms for e in ends(client)] == [0, 0]
        client.events.clear()
        mosquitto.kill()
        mosquitto.start()
        lost = client.wait_event(smq.EVENT_DISCONNECTED)
        assert (lost.server, lost.stage) == (2, smq.STAGE_CONNECTED)
        assert lost.retry_ms > 0
        client.events.clear()


def test_subscriptions_survive(mosquitto, clients, version):
    """A server that is killed has lost its sessions."""
    client = clients(url=mosquitto.url, **QUICK, subscriptions=3, subscription_bytes=100, **version)
    assert client.connect() == smq.OK
    assert client.subscribe("a/+", "b/#", "c", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.subscribe("d", cookie=2) == smq.ERR_FULL
    assert client.unsubscribe("c", cookie=3) == smq.OK
    assert client.completed(3).status == smq.OK
    for number in range(3):
        mosquitto.kill()
        mosquitto.start()
        client.wait_event(smq.EVENT_DISCONNECTED)
        client.wait_event(smq.EVENT_CONNECTED)
        for topic in ("c", "a/x", "b"):  # retained: they come whether that is before the SUBSCRIBEs or after
            mosquitto.publish(topic, str(number), "-r")
        got = [client.message(), client.message()]
        assert sorted((m.topic, m.payload) for m in got) == [(b"a/x", b"%d" % number), (b"b", b"%d" % number)]
    assert not client.completions()


def test_a_subscription_that_is_refused_later(clients, broker):
    broker.scripts = [Script(), Script(grant=lambda filter, options: 0x87 if filter == "a" else 0)]
    client = clients(url=broker.url, protocol=V5, **QUICK, subscriptions=4)
    assert client.connect() == smq.OK
    assert client.subscribe("a", "b", cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    broker.last.end()
    event = client.wait_event(smq.EVENT_SUBSCRIPTION_LOST)
    assert (event.topic, event.reason_code, event.status) == (b"a", 0x87, smq.ERR_REFUSED)


def test_a_redirect(clients, broker, mosquitto):
    broker.scripts = [Script(at={1: refuse(0x9C, server_reference=f"127.0.0.1:{mosquitto.port}")})]
    client = clients(url=broker.url, protocol=V5, flags=smq.OPTION_REDIRECT, **QUICK)
    assert client.connect() == smq.OK
    event = client.wait_event(smq.EVENT_CONNECTED)
    assert event.server == 1  # behind the only one of the URL
    assert [(e.reason_code, e.retry_ms) for e in ends(client)] == [(0x9C, 0)]


def test_leaving_is_not_undone(mosquitto, clients):
    client = clients(url=mosquitto.url, **QUICK)
    assert client.connect() == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.disconnect() == smq.OK
    assert client.wait_event(smq.EVENT_DISCONNECTED).retry_ms == -1
    client.run(0.3)
    assert (client.state, client.stats.connections) == (smq.STATE_DISCONNECTED, 1)


def test_without_reconnecting(clients):
    client = clients(url=f"mqtt://127.0.0.1:{free_port()}")
    assert client.connect() == smq.OK
    assert client.wait_event(smq.EVENT_DISCONNECTED).retry_ms == -1
    assert client.state == smq.STATE_DISCONNECTED


def test_hints(clients, broker):
    """A wait becomes as short as reconnect_min_ms, and a connection is looked at."""
    broker.scripts = [Script(at={1: close})] * 4
    client = clients(
        url=broker.url, reconnect=True, reconnect_min_ms=500, reconnect_max_ms=60_000, jitter=smq.JITTER_NONE
    )
    assert client.connect() == smq.OK
    start = time.monotonic()
    for _ in range(4):
        client.wait_event(smq.EVENT_DISCONNECTED)
        assert client.hint_network(1) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)  # without hints after 7.5 s
    assert 1.99 <= time.monotonic() - start < 2 + 20
    for up in (0, 1):
        assert client.hint_network(up) == smq.OK
        client.until(lambda: len(broker.of(PINGREQ)) == 1 + up)
        client.run(0.05)
    assert client.hint_resume() == smq.OK
    client.until(lambda: len(broker.of(PINGREQ)) == 3)
    assert client.hint_network(2) == smq.ERR_OPTION
    assert len(broker.of(CONNECT)) == 5


@pytest.mark.parametrize(
    "numbers",
    [
        dict(reconnect_min_ms=9),
        dict(reconnect_min_ms=86_400_001),
        dict(reconnect_min_ms=100, reconnect_max_ms=99),
        dict(reconnect_max_ms=999),
        dict(reconnect_max_ms=86_400_001),
        dict(stable_ms=86_400_001),
        dict(jitter=4),
        dict(flags=65536),
        dict(subscriptions=1025),
        dict(subscription_bytes=268_435_457),
        dict(resubscribe=4),
    ],
)
def test_wrong_numbers(numbers):
    assert smq.library.smq_options_check(smq.Options(url="mqtt://h", **numbers), None) == smq.ERR_OPTION


@pytest.mark.parametrize(
    "numbers",
    [
        dict(reconnect_min_ms=10, reconnect_max_ms=10),
        dict(reconnect_min_ms=86_400_000),
        dict(reconnect_max_ms=1000),
        dict(stable_ms=1, jitter=3),
    ],
)
def test_right_numbers(numbers):
    assert smq.library.smq_options_check(smq.Options(url="mqtt://h", **numbers), None) == smq.OK
