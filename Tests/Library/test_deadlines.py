"""A server that answers nothing, and a peer that takes nothing: in real time. To the millisecond it is tested on a virtual
clock (DeadlineTests.swift)."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest

from Support import smq
from Support.scripted_broker import PINGREQ, PUBACK, PUBCOMP, PUBLISH, PUBREC, SUBACK, UNSUBACK, Script

TCP_USER_TIMEOUT = 18
BIG = 30_000_000  # more than the kernel takes on both sides
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=50)


def ask(client: smq.Client, held: int) -> int:
    if held == SUBACK:
        return client.subscribe("a", cookie=1)
    if held == UNSUBACK:
        return client.unsubscribe("a", cookie=1)
    return client.publish("a", b"x", qos=1 if held == PUBACK else 2, cookie=1)


@pytest.mark.parametrize("held", [PUBACK, PUBREC, PUBCOMP, SUBACK, UNSUBACK])
def test_no_answer(clients, broker, protocol, held):
    """The connection ends, and on the next one it goes on as if nothing had been."""
    broker.scripts = [Script(hold={held})]
    client = clients(
        url=broker.url, protocol=protocol, client_id="c", flags=smq.OPTION_KEEP_SESSION, answer_timeout_ms=300, **QUICK
    )
    client.connected()
    assert ask(client, held) == smq.OK
    begin = time.monotonic()
    event = client.disconnected()
    assert 0.298 <= time.monotonic() - begin < 20  # the clock is read in whole milliseconds
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_ANSWER)
    client.wait_event(smq.EVENT_CONNECTED)
    event = client.completed(1)
    assert event.status == smq.OK
    assert client.stats.ended_timeout == 1


def test_a_program_that_was_away(clients, broker):
    """The answer lies in the kernel when the program comes back, and so does the time."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, answer_timeout_ms=200)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    broker.release()
    time.sleep(0.6)
    assert client.completed(1).status == smq.OK
    assert client.state == smq.STATE_CONNECTED


def test_a_long_message_takes_its_time(clients):
    """A peer that reads slowly: a PUBLISH that is not all sent has no answer to wait for."""
    with SlowPeer(rate=5_000_000) as peer:
        client = clients(
            url=peer.url, answer_timeout_ms=2500, write_timeout_ms=2000, outbox_bytes=BIG + 100, keep_alive_s=smq.OFF
        )
        client.connected()
        assert client.publish("a", bytes(BIG), qos=1, cookie=1) == smq.OK
        client.until(lambda: client.completions() or client.of(smq.EVENT_DISCONNECTED))
        assert client.completed(1).status == smq.OK
        assert not client.events


class SlowPeer:
    """Accepts a connection, and reads so many bytes each second; 0: none behind CONNECT. Acknowledges a QoS 1 message of BIG."""

    def __init__(self, rate: int):
        self.rate = rate
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.url = f"mqtt://127.0.0.1:{self.listener.getsockname()[1]}"
        self.over = threading.Event()
        self.reading = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"\x20\x02\x00\x00")
            count = 0
            while not self.over.is_set():
                if not self.rate and not self.reading.wait(0.01):
                    continue
                data = connection.recv(16_384)
                if not data:
                    return
                count += len(data)
                if count == len(data):
                    # One byte, four of Remaining Length, and "a": the identifier is behind them.
                    identifier, is_answered = data[8:10], data[0] & 6
                if count >= BIG + 10 and is_answered:
                    connection.sendall(b"\x40\x02" + identifier)
                    is_answered = False
                if self.rate:
                    time.sleep(len(data) / self.rate)

    def __enter__(self) -> SlowPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.reading.set()
        self.listener.close()


def test_nothing_is_taken(clients):
    with SlowPeer(rate=0) as peer:
        client = clients(
            url=peer.url, write_timeout_ms=300, answer_timeout_ms=smq.OFF, outbox_bytes=BIG + 100, keep_alive_s=smq.OFF
        )
        client.connected()
        assert client.publish("a", bytes(BIG), qos=1, cookie=1) == smq.OK
        begin = time.monotonic()
        event = client.disconnected()
        assert 0.298 <= time.monotonic() - begin < 20
        assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_WRITE)
        stats = client.stats
        assert stats.ended_timeout == 1 and stats.outbox_messages == 1
        assert 0 < stats.bytes_sent < BIG


def test_nothing_is_taken_for_ever(clients):
    with SlowPeer(rate=0) as peer:
        client = clients(
            url=peer.url,
            write_timeout_ms=smq.OFF,
            answer_timeout_ms=smq.OFF,
            outbox_bytes=BIG + 100,
            keep_alive_s=smq.OFF,
        )
        client.connected()
        assert client.publish("a", bytes(BIG), qos=0, cookie=1) == smq.OK
        client.run(0.7)
        assert client.state == smq.STATE_CONNECTED
        peer.reading.set()
        assert client.completed(1).status == smq.OK


def test_the_program_was_away_while_blocked(clients):
    with SlowPeer(rate=0) as peer:
        client = clients(
            url=peer.url, write_timeout_ms=300, answer_timeout_ms=smq.OFF, outbox_bytes=BIG + 100, keep_alive_s=smq.OFF
        )
        client.connected()
        assert client.publish("a", bytes(BIG), qos=0, cookie=1) == smq.OK
        client.step(50)
        client.step(0)
        peer.reading.set()
        time.sleep(0.6)
        assert client.completed(1).status == smq.OK


# ---- TCP_USER_TIMEOUT ----


def own_sockets(port: int) -> list[socket.socket]:
    """Copies of this process's descriptors that are connected to a port."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            copy = socket.socket(fileno=os.dup(int(name)))
            if copy.getpeername()[1] == port:
                found.append(copy)
            else:
                copy.close()
        except OSError:
            continue
    return found


@pytest.mark.parametrize("asked", [0, 1, 5000, 86_400_000])
def test_tcp_user_timeout(clients, broker, asked):
    client = clients(url=broker.url, tcp_user_timeout_ms=asked)
    client.connected()
    sockets = own_sockets(broker.port)
    assert sockets
    try:
        assert {s.getsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT) for s in sockets} == {asked}
    finally:
        for sock in sockets:
            sock.close()


def test_ends_are_counted(clients, broker):
    """Each by its cause, as the status of its event says."""
    from Support.scripted_broker import close, disconnect, refuse, reset, say

    broker.scripts = [
        Script(at={1: refuse(0x87)}),
        Script(at={1: close}),
        Script(at={2: reset}, on={}),
        Script(on={PUBLISH: disconnect(0x8B)}),
        Script(on={PUBLISH: say(b"\xf1\x00")}),
        Script(on={PUBLISH: say(b"\xd0\x00\x20\x03\x00\x00\x00")}),
        Script(answer_ping=False),
    ]
    client = clients(url=broker.url, protocol=smq.PROTOCOL_5_0, ping_timeout_ms=100, **QUICK)
    assert client.connect() == smq.OK
    statuses = []
    while len(statuses) < 7:
        client.until(lambda: client.events)
        event = client.events.popleft()
        if event.type == smq.EVENT_CONNECTED and len(statuses) == 6:
            assert client.hint_network(0) == smq.OK
        elif event.type == smq.EVENT_CONNECTED:
            assert client.publish("a") == smq.OK
        elif event.type == smq.EVENT_DISCONNECTED:
            statuses.append(event.status)
    client.wait_event(smq.EVENT_CONNECTED)
    client.leave()
    stats = client.stats
    assert statuses[0] == smq.ERR_REFUSED and statuses[3] == smq.ERR_SERVER_CLOSED
    assert statuses[4:] == [smq.ERR_MALFORMED, smq.ERR_PROTOCOL, smq.ERR_KEEP_ALIVE]
    assert statuses.count(smq.ERR_CLOSED) == stats.ended_closed
    assert statuses.count(smq.ERR_NETWORK) == stats.ended_network
    assert stats.ended_closed + stats.ended_network == 2
    for name in ("refused", "server_closed", "malformed", "protocol", "keep_alive", "requested"):
        assert getattr(stats, f"ended_{name}") == 1, name
    total = sum(getattr(stats, n) for n, *_ in smq.Stats._fields_ if n.startswith("ended_"))
    assert total == 8 == stats.attempts


def test_a_keep_alive_of_a_second(clients, broker):
    """PINGREQ goes out about once a second, and one that is not answered ends the connection."""
    broker.scripts = [Script()]
    client = clients(url=broker.url, keep_alive_s=1, ping_timeout_ms=1500)
    client.connected()
    client.run(3)
    assert 2 <= len(broker.of(PINGREQ)) <= 4
    broker.last.script.answer_ping = False
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
