"""What servers and the way to them do wrong: the right event, in time; a caller that is never held up; and no message
of QoS 1 or 2 lost, none of QoS 2 twice, as long as the server keeps its state."""

from __future__ import annotations

import ctypes
import signal
import socket
import time

import pytest
from Support import smq
from Support.servers import free_port
from Support.waiting import wait_for
from Support.proxy import DOWN, UP, Plan, always, first

from .audit import Ended, Publisher, Witness, nothing_lost
from .watched import LIMIT_US, STALLS, Watch

QUICK = dict(reconnect_min_ms=20, reconnect_max_ms=100)
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION, outbox_messages=1000, **QUICK)
NERVOUS = dict(keep_alive_s=1, ping_timeout_ms=500, connect_timeout_ms=700)  # of a second and a half in all
SLACK = 5.0  # what a busy machine may add


def in_time(ended: Ended, begin: float, at_least: float, at_most: float) -> None:
    assert at_least - 0.01 <= ended.at - begin <= at_most + SLACK, ended.at - begin


@pytest.fixture
def keeper(watched_clients, protocol):
    """Makes publishers whose session is kept."""
    return lambda url, **more: Publisher(watched_clients(url=url, protocol=protocol, **{**KEEP, **more}))


@pytest.fixture(params=[4, 5], ids=["3.1.1", "5.0"])
def protocol(request: pytest.FixtureRequest) -> int:
    return request.param


of_one_version = pytest.mark.parametrize("protocol", [5], ids=["5.0"], indirect=True)  # where it takes long


def test_the_watch_sees(functions):
    """A call that waits is seen, and one that works, and they are told apart."""
    watch = Watch()
    functions.watched_sleep(ctypes.byref(watch), ctypes.c_int64(30_000_000))
    assert watch.waits == 1 and watch.longest_us >= 30_000
    assert not watch.good()
    watch = Watch()
    for heavy in range(1, STALLS + 2):
        assert watch.good()
        functions.watched_work(ctypes.byref(watch), ctypes.c_int64(LIMIT_US + 5000))
        assert watch.heavy == heavy and watch.busiest_us > LIMIT_US
    assert not watch.good()


# ---- The server ----


def test_a_broker_that_is_stopped(mosquitto, keeper):
    """SIGSTOP: its kernel still answers, it does not."""
    witness = Witness(mosquitto)
    publisher = keeper(mosquitto.url, **NERVOUS)
    publisher.connect()
    publisher.publish(10)
    publisher.step(0)
    mosquitto.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    publisher.publish(10)
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    in_time(ended, begin, 0.5, 1.5)
    begin = ended.at
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
    in_time(ended, begin, 0.7, 0.8)
    publisher.publish(10)
    mosquitto.send_signal(signal.SIGCONT)
    publisher.connected_again()
    assert publisher.sessions[-1] == 1
    publisher.finish()
    nothing_lost(publisher, witness)


def test_a_broker_that_restarts_with_its_state(mosquitto, keeper):
    """SIGTERM: Mosquitto writes down what it knows."""
    witness = Witness(mosquitto)
    publisher = keeper(mosquitto.url)
    publisher.connect()
    for _ in range(3):
        publisher.publish(50)
        publisher.step(0)
        begin = time.monotonic()
        mosquitto.stop()
        ended = publisher.ended()
        in_time(ended, begin, 0, 0)
        assert ended.stage == smq.STAGE_CONNECTED
        assert ended.status in (smq.ERR_CLOSED, smq.ERR_NETWORK, smq.ERR_SERVER_CLOSED)
        ended = publisher.ended()
        publisher.assert_ends(ended, smq.ERR_NETWORK, smq.STAGE_CONNECT)
        publisher.publish(50)
        mosquitto.start()
        publisher.connected_again()
        assert publisher.sessions[-1] == 1
    publisher.finish()
    nothing_lost(publisher, witness)


@pytest.mark.parametrize("how", ["killed", "not persistent"])
def test_a_broker_that_restarts_without_its_state(start_mosquitto, keeper, how):
    """Each message still has its one end. Only of QoS 2, and only of what was in flight, the fate may be unknown."""
    broker = start_mosquitto(**({"persistence": "false"} if how == "not persistent" else {}))
    publisher = keeper(broker.url)
    publisher.connect()
    for _ in range(3):
        publisher.publish(20)
        publisher.step(0)
        in_flight = range(publisher.published)
        broker.kill() if how == "killed" else broker.stop()
        publisher.ended()
        publisher.assert_ends(publisher.ended(), smq.ERR_NETWORK, smq.STAGE_CONNECT)
        publisher.publish(20)
        broker.start()
        publisher.connected_again()
        assert publisher.sessions[-1] == 0
        publisher.finish()
        lost = [number for number, status in publisher.completed.items() if status]
        assert {publisher.completed[n] for n in lost} <= {smq.ERR_SESSION_LOST}
        assert all(publisher.qos[n] == 2 and n in in_flight for n in lost)
    assert len(publisher.completed) == publisher.published == 120


def test_a_server_that_accepts_and_says_nothing(keeper):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        publisher = keeper(f"mqtt://127.0.0.1:{silent.getsockname()[1]}", connect_timeout_ms=400)
        publisher.publish(4)
        begin = time.monotonic()
        assert publisher.client.connect() == smq.OK
        for _ in range(3):
            ended = publisher.ended()
            publisher.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
            in_time(ended, begin, 0.4, 0.5)
            begin = ended.at  # the next attempt begins after this event was taken
    publisher.assert_ends(publisher.ended(), smq.ERR_NETWORK, smq.STAGE_CONNECT)


def test_no_server(keeper):
    publisher = keeper(f"mqtt://127.0.0.1:{free_port()}")
    begin = time.monotonic()
    assert publisher.client.connect() == smq.OK
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_NETWORK, smq.STAGE_CONNECT)
    in_time(ended, begin, 0, 0)


@of_one_version
def test_a_server_that_answers_one_byte_a_second(mosquitto, keeper, inject):
    """What comes too late is late, though something comes all the time."""
    witness = Witness(mosquitto)
    slow = Plan(rate_down=1)
    proxy = inject(mosquitto, first(slow, slow))
    publisher = keeper(proxy.url, keep_alive_s=1, ping_timeout_ms=900, connect_timeout_ms=2000)
    begin = time.monotonic()
    assert publisher.client.connect() == smq.OK
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
    in_time(ended, begin, 2, 2)
    publisher.ended()
    publisher.publish(10)
    publisher.connected_again()
    publisher.finish()
    nothing_lost(publisher, witness)


@of_one_version
def test_a_connection_of_five_bytes_a_second(mosquitto, keeper, inject):
    """Who waits long enough gets through."""
    witness = Witness(mosquitto)
    proxy = inject(mosquitto, always(Plan(rate_down=5)))
    publisher = keeper(proxy.url, keep_alive_s=60, connect_timeout_ms=60_000)
    publisher.connect()
    publisher.publish(1, 2)
    publisher.finish()
    assert publisher.ends == []
    nothing_lost(publisher, witness)


# ---- The way ----


@pytest.mark.parametrize("fault, status", [("reset", "ERR_NETWORK"), ("close", "ERR_CLOSED")])
def test_a_connection_that_is_cut(mosquitto, keeper, inject, fault, status):
    """While it is made and in its midst; also in the middle of a packet."""
    witness = Witness(mosquitto)
    places = [(UP, 0), (UP, 7), (DOWN, 1), (DOWN, 2), (UP, 200), (DOWN, 30), (UP, 333), (DOWN, 61)]
    proxy = inject(mosquitto, first(*(Plan(fault=fault, direction=way, at=at) for way, at in places)))
    publisher = keeper(proxy.url)
    assert publisher.client.connect() == smq.OK
    publisher.publish(200)
    publisher.finish()
    assert len(publisher.ends) == proxy.struck == len(places)
    for (_, at), ended in zip(places, publisher.ends, strict=True):
        if at == 0 and ended.stage == smq.STAGE_CONNECT:
            ended.stage = smq.STAGE_CONNACK  # it came before the client had seen that it was connected
        publisher.assert_ends(ended, getattr(smq, status), smq.STAGE_CONNACK if at < 10 else smq.STAGE_CONNECTED)
    nothing_lost(publisher, witness)


@pytest.mark.parametrize("fault", ["black hole", "half-open"])
def test_a_server_that_is_cut_off(mosquitto, keeper, inject, fault):
    """Nothing comes any more, and nobody says so: while it is made, in the middle of CONNACK, and later."""
    witness = Witness(mosquitto)
    proxy = inject(mosquitto, first(*(Plan(fault=fault, at=at) for at in (0, 2))))
    publisher = keeper(proxy.url, outbox_bytes=1 << 20, **NERVOUS)
    begin = time.monotonic()
    assert publisher.client.connect() == smq.OK
    for _ in range(2):
        ended = publisher.ended()
        publisher.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
        in_time(ended, begin, 0.7, 0.8)
        begin = ended.at
    publisher.connected_again()
    publisher.publish(20)
    publisher.step(0)
    begin = time.monotonic()
    proxy.strike(fault)
    wait_for(lambda: proxy.struck == 3)
    publisher.publish(20)
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    in_time(ended, begin, 0.5, 1.5)
    publisher.finish()
    nothing_lost(publisher, witness)


@pytest.mark.parametrize("fault", ["black hole", "half-open"])
def test_more_than_the_kernel_takes(mosquitto, watched_clients, inject, fault):
    """Sending does not wait for a peer that does not read."""
    proxy = inject(mosquitto, first(Plan(fault=fault, at=4)))
    client = watched_clients(url=proxy.url, outbox_bytes=1 << 24, **NERVOUS, **KEEP)
    assert client.connect() == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    payload = bytes(16_000)
    while client.publish("a", payload, quiet=1) == smq.OK:
        pass
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    client.wait_event(smq.EVENT_CONNECTED)
    client.until(lambda: client.stats.outbox_messages == 0, 60)


@of_one_version
def test_answers_that_take_longer_than_the_keep_alive(mosquitto, keeper, inject):
    """Who is patient stays connected; the others' attempts end when they said they would."""
    witness = Witness(mosquitto)
    proxy = inject(mosquitto, always(Plan(delay=0.6)))
    hasty = keeper(proxy.url, client_id="hasty", connect_timeout_ms=500)
    begin = time.monotonic()
    assert hasty.client.connect() == smq.OK
    ended = hasty.ended()
    hasty.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNACK)
    in_time(ended, begin, 0.5, 0.5)
    hasty.client.disconnect()
    publisher = keeper(proxy.url, keep_alive_s=1, ping_timeout_ms=10_000, connect_timeout_ms=20_000)
    publisher.publish(10)
    publisher.connect()
    publisher.publish(10)
    publisher.finish()
    assert publisher.ends == []
    nothing_lost(publisher, witness)


@pytest.mark.parametrize("plan", [Plan(pieces=5), Plan(rate_up=3000, rate_down=1500)], ids=["pieces", "bandwidth"])
def test_a_way_that_is_hard_to_go(mosquitto, keeper, inject, seed, plan):
    witness = Witness(mosquitto)
    proxy = inject(mosquitto, always(plan), seed=seed)
    publisher = keeper(proxy.url)
    publisher.connect()
    publisher.publish(100)
    publisher.finish()
    assert publisher.ends == []
    nothing_lost(publisher, witness)
