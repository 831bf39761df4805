"""The bare engine with TLS, WebSocket and proxies: the program carries bytes that it need not understand, over a socket in
pieces of any size, or over a serial line."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import select
import socket
import threading
import tty

import pytest

from Support import smq, tls as tls_of
from Support.handshakes import TLS, Connect, Peer, Socks5, WebSocket
from Support.pipes import Script
from Support.scripted_broker import publish_packet

from .test_engine import Engine

LOGIN = ("proxy-user", "proxy-password")
STACKS = {
    "TLS": (lambda good: [TLS(good)], "mqtts", ""),
    "WebSocket": (lambda good: [WebSocket()], "ws", ""),
    "WebSocket over TLS": (lambda good: [TLS(good), WebSocket()], "wss", ""),
    "SOCKS5": (lambda good: [Socks5(LOGIN)], "mqtt", "socks5"),
    "all over SOCKS5": (lambda good: [Socks5(LOGIN), TLS(good), WebSocket()], "wss", "socks5"),
    "all over CONNECT": (lambda good: [Connect(LOGIN), TLS(good), WebSocket()], "wss", "http"),
}
# The connection is reset if it is closed before the peer's own close_notify was read.
ENDED = ("closed", "reset")


@pytest.fixture
def layered(clients, certificates, tls, broker):
    """layered("TLS", …) is an engine whose connections go to a peer with these stages, and the peer."""
    made: list[Engine] = []
    with contextlib.ExitStack() as peers:

        def make(name: str, engine: type[Engine] = Engine, **options: object) -> tuple[Engine, Peer]:
            stages, scheme, proxy = STACKS[name]
            peer = peers.enter_context(Peer(*stages(certificates.good), upstream=broker.port))
            options = dict(host=None, url=f"{scheme}://localhost") | options
            if scheme in ("mqtts", "wss"):
                options["tls"] = tls
            if proxy:
                options["proxy"] = f"{proxy}://{':'.join(LOGIN)}@proxy.example"
            options = {k: v for k, v in options.items() if v is not None}
            made.append(engine(WithoutHost(clients), peer.port, **options))
            made[-1].peer = peer
            return made[-1], peer

        yield make
        for engine in made:
            engine.close()
            assert engine.peer.violations == []


class WithoutHost:
    """Engine() names a host where none is given."""

    def __init__(self, clients):
        self.clients = clients

    def __call__(self, **options: object) -> smq.Client:
        if "url" in options:
            del options["host"]
        return self.clients(**options)


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
@pytest.mark.parametrize("name", STACKS)
def test_a_whole_conversation(layered, broker, name, piece):
    engine, peer = layered(name, piece=piece, protocol=smq.PROTOCOL_5_0)
    client = engine.client
    engine.connected()
    assert client.subscribe("own/#", qos=2, cookie=1) == smq.OK
    assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.OK
    for qos in range(3):
        assert client.publish(f"own/{qos}", bytes([65 + qos]) * 300, qos=qos, cookie=10 + qos) == smq.OK
    for qos in range(3):
        assert engine.event(smq.EVENT_COMPLETED, cookie=10 + qos).status == smq.OK
        event = engine.event(smq.EVENT_MESSAGE)
        assert (event.payload, event.qos) == (bytes([65 + qos]) * 300, qos)
    assert client.disconnect(1000) == smq.OK
    assert engine.event(smq.EVENT_DISCONNECTED).status == smq.OK
    seen = peer.until_ended(0)
    assert seen.end in ENDED and seen.tls_error == ""
    if STACKS[name][2]:
        assert seen.target == ("localhost", {"mqtt": 1883, "wss": 443}[STACKS[name][1]]) and seen.login == LOGIN
    if seen.websocket:
        assert seen.websocket.control == [(8, b"\x03\xe8")]
    assert client.failure().status == smq.OK


def test_a_large_message_both_ways(layered, broker):
    engine, peer = layered("all over SOCKS5", receive_bytes=1000, stream_bytes=700, flags=smq.OPTION_PARTS)
    engine.connected()
    payload = random.Random(1).randbytes(100_000)
    assert engine.client.subscribe("a", qos=1, cookie=1) == smq.OK
    engine.event(smq.EVENT_COMPLETED, cookie=1)
    assert engine.client.stream("a", len(payload), lambda at, size: payload[at:at + size], qos=1, cookie=2) == smq.OK
    got = b""
    while len(got) < len(payload):
        part = engine.event(smq.EVENT_MESSAGE)
        assert part.payload_offset == len(got)
        got += part.payload
    assert got == payload
    assert engine.event(smq.EVENT_COMPLETED, cookie=2).status == smq.OK


class SerialLine:
    """A pty in raw mode, whose other end is wired to a server."""

    def __init__(self, port: int):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.far = socket.create_connection(("127.0.0.1", port))
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self.up, self.down)]
        for thread in self.threads:
            thread.start()

    def up(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 4096):
                self.far.sendall(data)

    def down(self) -> None:
        with contextlib.suppress(OSError):
            while data := self.far.recv(100):
                os.write(self.master, data)

    def send(self, data: bytes) -> int:
        return os.write(self.slave, data[:64])

    def recv(self, size: int) -> bytes:
        return os.read(self.slave, size)

    def fileno(self) -> int:
        return self.slave

    def close(self) -> None:
        os.close(self.slave)
        self.far.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        os.close(self.master)
        self.far.close()


class OverSerialLine(Engine):
    def take(self) -> None:
        while event := self.client.take():
            self.events.append(event)
            if event.type == smq.EVENT_OPEN:
                self.close()
                self.socket = SerialLine(self.port)
                assert self.tell("opened", self.now) == smq.OK
            elif event.type == smq.EVENT_DISCONNECTED:
                self.close()


@pytest.mark.parametrize("name", ["TLS", "all over CONNECT"])
def test_a_serial_line(layered, name):
    engine, peer = layered(name, engine=OverSerialLine)
    engine.connected()
    assert engine.client.subscribe("a", qos=1, cookie=1) == smq.OK
    engine.event(smq.EVENT_COMPLETED, cookie=1)
    for number in range(5):
        assert engine.client.publish("a", b"%d" % number + bytes(500), qos=2, cookie=number + 5) == smq.OK
        assert engine.event(smq.EVENT_COMPLETED, cookie=number + 5).status == smq.OK
        assert engine.event(smq.EVENT_MESSAGE).payload == b"%d" % number + bytes(500)
    assert engine.client.disconnect(1000) == smq.OK
    assert engine.event(smq.EVENT_DISCONNECTED).status == smq.OK


# ---- The functions one by one


@pytest.mark.parametrize("name", STACKS)
def test_sizes(layered, name):
    """No room before the connection is open and after its end; some in every stage; what is too much is refused."""
    engine, peer = layered(name)
    client = engine.client
    assert engine.space()[1] == 0 and engine.output() == b""
    assert client.connect() == smq.OK
    assert engine.space()[1] == 0
    engine.take()
    rooms = set()
    while not [event for event in engine.events if event.type == smq.EVENT_CONNECTED]:
        size = engine.space()[1]
        rooms.add(size > 0)
        assert engine.tell("received", size + 1, engine.now) == smq.ERR_OPTION
        offered = len(engine.output())
        assert engine.tell("transmitted", offered + 1, engine.now) == smq.ERR_OPTION
        if offered > 1:
            # Less than was offered: the rest is offered again.
            data = engine.output()
            assert engine.socket.send(data[:1]) == 1
            assert engine.tell("transmitted", 1, engine.now) == smq.OK
            assert engine.output().startswith(data[1:])
        engine.turn()
    assert rooms == {True}
    assert engine.tell("closed", 0, engine.now) == smq.OK
    assert engine.space()[1] == 0 and engine.output() == b""


@pytest.mark.parametrize("os_error", [0, errno.ECONNRESET])
@pytest.mark.parametrize("name", ["TLS", "WebSocket over TLS"])
def test_the_end_with_bytes_inside_tls(layered, broker, name, os_error):
    """All that had come is handed out before the end is told."""
    engine, peer = layered(name, receive_bytes=128)
    engine.connected()
    count = 50
    broker.last.send(b"".join(publish_packet(4, "a", b"%060d" % number, 0) for number in range(count)))
    # Whole records are in TLS, of which the receive buffer takes a small part.
    before = engine.client.stats.bytes_received
    while engine.client.stats.bytes_received - before < 1 or engine.space()[1] > 0 and is_readable(engine.socket):
        engine.receive()
    assert engine.tell("closed", os_error, engine.now) == smq.OK
    engine.close()
    engine.until(lambda: engine.events and engine.events[-1].type == smq.EVENT_DISCONNECTED)
    got = [int(event.payload) for event in engine.events if event.type == smq.EVENT_MESSAGE]
    assert got == list(range(count))
    end = engine.events[-1]
    assert end.type == smq.EVENT_DISCONNECTED
    assert (end.status, end.os_error) == (smq.ERR_NETWORK if os_error else smq.ERR_CLOSED, os_error)


def is_readable(sock: socket.socket) -> bool:
    return bool(select.select([sock], [], [], 0.05)[0])


@pytest.mark.parametrize("name", ["TLS", "WebSocket over TLS"])
def test_leaving_ends_tls_in_order(layered, name):
    """DISCONNECT, Close and close_notify are all handed out before the event."""
    engine, peer = layered(name, piece=3)
    engine.connected()
    assert engine.client.disconnect(1000) == smq.OK
    assert engine.event(smq.EVENT_DISCONNECTED).status == smq.OK
    seen = peer.until_ended(0)
    assert seen.end in ENDED and seen.tls_error == ""
    if seen.websocket:
        assert seen.websocket.below.below.truncated is False


@pytest.mark.parametrize("name", STACKS)
def test_a_stage_that_is_silent(layered, name):
    """On the clock that is told: not a millisecond earlier."""
    engine, peer = layered(name, connect_timeout_ms=5000, flags=smq.OPTION_NO_RECONNECT)
    peer.scripts = [Script(fault="silent")]
    assert engine.client.connect() == smq.OK
    engine.turn()
    assert engine.timeout == 5000
    engine.pass_time(4999)
    engine.turn()
    assert not [event for event in engine.events if event.type == smq.EVENT_DISCONNECTED]
    engine.pass_time(1)
    event = engine.event(smq.EVENT_DISCONNECTED)
    expected = {"T": smq.STAGE_TLS, "W": smq.STAGE_WEBSOCKET}.get(name[0], smq.STAGE_PROXY)
    expected = smq.STAGE_TLS if name == "WebSocket over TLS" else expected
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, expected)


def test_a_certificate_that_is_refused(clients, certificates, tls):
    with Peer(TLS(certificates.expired)) as peer:
        engine = Engine(WithoutHost(clients), peer.port, url="mqtts://localhost", tls=tls, flags=smq.OPTION_NO_RECONNECT)
        assert engine.client.connect() == smq.OK
        event = engine.event(smq.EVENT_DISCONNECTED)
        assert (event.status, event.stage) == (smq.ERR_TLS, smq.STAGE_TLS)
        failure = engine.client.failure()
        assert (tls_of.CAUSES[failure.tls_cause], failure.tls_depth) == ("EXPIRED", 0)
        assert b"expired" in failure.tls_subject.value() and failure.not_after_s > failure.not_before_s > 0
