"""Bytes that lie inside TLS: those that came and that the descriptor does not tell of, and those that wait to be sent. A
program that looks at smq_fd() and smq_next_timeout_ms() neither stalls nor spins."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import threading
import time

import pytest

from Support import smq, tls as tls_of
from Support.handshakes import TLS, Peer, WebSocket
from Support.listener import Listener
from Support.scripted_broker import publish_packet
from Support.servers import free_port, need
from Support.waiting import PATIENCE, wait_for

library = smq.library


class Loop:
    """A program's own: poll(), smq_service(), and one event at a time."""

    def __init__(self, client: smq.Client):
        self.client = client
        self.poll = select.poll()
        self.poll.register(library.smq_fd(client.handle), select.POLLIN)
        self.turns = self.silent = 0

    def turn(self, longest_ms: int = 1000) -> smq.Event | None:
        due = library.smq_next_timeout_ms(self.client.handle)
        ready = self.poll.poll(longest_ms if due < 0 else min(due, longest_ms))
        self.turns += 1
        self.silent += not ready
        assert library.smq_service(self.client.handle) in (0, 1)
        return self.client.take()

    def idle(self, seconds: float) -> int:
        """How often it wakes while nothing happens."""
        begin, end = self.turns, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            assert self.turn(int(left * 1000) + 1) is None
        return self.turns - begin


STACKS = {
    "mqtts": lambda good, size: [TLS(good, record=size)],
    "wss, a frame in each record": lambda good, size: [TLS(good), WebSocket(frame=size)],
    "wss, a record for each part": lambda good, size: [TLS(good, record=size // 2), WebSocket()],
    "ws": lambda good, size: [WebSocket(frame=size)],
}


@pytest.fixture(params=STACKS)
def peer(request, certificates, broker):
    """In front of the scripted broker. Its records, or frames, are of the size of a packet."""
    with Peer(*STACKS[request.param](certificates.good, len(packet(0))), upstream=broker.port) as peer:
        peer.url = f"{request.param.partition(',')[0]}://localhost:{peer.port}"
        yield peer
        assert peer.violations == []


def packet(number: int) -> bytes:
    return publish_packet(4, "a", b"%040d" % number, 0)


@pytest.mark.parametrize("room", [64, 4096])
def test_twenty_records_at_once(clients, peer, tls, broker, room):
    """They are read from the socket together, and taken one by one while the descriptor is silent."""
    client = clients(url=peer.url, receive_bytes=room, **({"tls": tls} if not peer.url.startswith("ws:") else {}))
    client.connected()
    loop = Loop(client)
    count = 200
    before = peer.seen[0].sent
    data = b"".join(packet(number) for number in range(count))
    broker.last.send(data)
    wait_for(lambda: peer.seen[0].sent >= before + len(data), "all of it was sent")
    got = []
    while len(got) < count:
        event = loop.turn(longest_ms=int(PATIENCE * 1000))
        if event and event.type == smq.EVENT_MESSAGE:
            got.append(int(event.payload))
    assert got == list(range(count))
    # Each message has a turn or two, and not one of them waited for the descriptor.
    assert loop.turns < 4 * count
    assert loop.idle(0.2) <= 3


@pytest.mark.parametrize("kept", [1, 7, 30])
def test_a_peer_that_stalls_within_a_record(clients, peer, tls, kept):
    """Nothing is to be had of a part of a record, or of a frame: the client sleeps until the rest is there."""
    client = clients(url=peer.url, **({"tls": tls} if not peer.url.startswith("ws:") else {}))
    client.connected()
    pipe = peer.seen[0].pipe
    loop = Loop(client)
    loop.turn(0)
    lowest = pipe
    while hasattr(lowest.below, "below"):
        lowest = lowest.below
    caught: list[bytes] = []
    real, lowest.below.send = lowest.below.send, caught.append
    pipe.send(packet(7))
    lowest.below.send = real
    data = b"".join(caught)
    real(data[:kept])
    assert loop.idle(0.3) <= 4
    real(data[kept:])
    while not (event := loop.turn()):
        pass
    assert int(event.payload) == 7
    assert loop.idle(0.1) <= 3


# ---- What waits to be sent


def deaf(connection: socket.socket) -> None:
    """Answers CONNECT, and reads nothing more."""
    connection.recv(1000)
    connection.sendall(b"\x20\x02\x00\x00")
    threading.Event().wait(PATIENCE)


@pytest.mark.parametrize("scheme", ["mqtts", "wss"])
def test_a_peer_that_reads_nothing(clients, certificates, tls, scheme):
    """Ciphertext that the kernel does not take counts for write_timeout_ms, and costs no turns meanwhile."""
    stages = [TLS(certificates.good), WebSocket()][: 1 + (scheme == "wss")]
    server = Listener(deaf)
    with contextlib.closing(server), Peer(*stages, upstream=server.port) as peer:
        client = clients(url=f"{scheme}://localhost:{peer.port}", tls=tls, outbox_bytes=1 << 20, write_timeout_ms=700,
                         websocket_bytes=65_536 if scheme == "wss" else 0)
        client.connected()
        loop = Loop(client)
        payload = bytes(200_000)
        events = []
        begin, turns = time.monotonic(), 0
        while not [event for event in events if event.type == smq.EVENT_DISCONNECTED]:
            assert time.monotonic() < begin + PATIENCE
            full = client.publish("a", payload) == smq.ERR_FULL
            before = client.stats.bytes_sent
            if event := loop.turn(1000 if full else 0):
                events.append(event)
            turns = turns + 1 if client.stats.bytes_sent == before else 0
        end = events[-1]
        assert (end.status, end.stage) == (smq.ERR_TIMEOUT, smq.STAGE_WRITE)
        assert turns < 20, "it spins while the peer takes nothing"


def test_an_alert_behind_a_connection_is_told(clients, certificates, tls, broker):
    """The peer refuses the client in the middle of it: the alert is in the record."""
    with Peer(TLS(certificates.good), upstream=broker.port) as peer:
        client = clients(url=f"mqtts://localhost:{peer.port}", tls=tls)
        client.connected()
        # A record that TLS cannot decrypt.
        peer.seen[0].pipe.below.below.send(bytes.fromhex("17 03 03 0020") + bytes(32))
        event = client.disconnected()
        assert (event.status, event.stage) == (smq.ERR_TLS, smq.STAGE_CONNECTED)
        assert tls_of.CAUSES[client.failure().tls_cause] in ("PEER", "OTHER")
        # The peer learns it, by an alert of its own.
        peer.until_ended(0)
        assert "BAD_RECORD_MAC" in peer.seen[0].tls_error


class KeyUpdates:
    """openssl s_server, which sends what its standard input has, and KeyUpdate for a line `K`."""

    def __init__(self, certificate, directory):
        self.port = free_port()
        command = [need("openssl"), "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", certificate.chain, "-key",
                   certificate.key, "-tls1_3"]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=directory)
        self.output = b""
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait_for(lambda: b"ACCEPT" in self.output, "s_server listens")

    def read(self) -> None:
        while data := self.process.stdout.read1(65536):
            self.output += data

    def say(self, data: bytes) -> None:
        """In one piece, which it reads by itself."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self.thread.join(10)
        self.process.stdin.close()
        self.process.stdout.close()


def test_key_updates_while_sending(clients, certificates, tls, tmp_path):
    """Each asks for one of the client's, too (RFC 8446 section 4.6.3)."""
    with contextlib.closing(KeyUpdates(certificates.good, tmp_path)) as server:
        client = clients(url=f"mqtts://localhost:{server.port}", tls=tls, outbox_bytes=500_000, keep_alive_s=smq.OFF)
        assert client.connect() == smq.OK
        client.until(lambda: b"MQTT" in server.output)
        server.say(b"\x20\x02\x00\x00")
        client.wait_event(smq.EVENT_CONNECTED)
        updates = 20
        for number in range(1, updates + 1):
            for _ in range(4):
                assert client.publish("a", b"x" * 50_000) == smq.OK
            assert client.publish("a", b"end of %04d" % number) == smq.OK
            server.say(b"K\n")
            client.until(lambda: b"end of %04d" % number in server.output)
        assert client.state == smq.STATE_CONNECTED
        # It tells at its end how often it has done it: commands that it reads together are one.
        server.say(b"Q\n")
        client.disconnected()
        server.process.wait(PATIENCE)
        server.thread.join(PATIENCE)
        assert server.output.count(b"SSL_do_handshake -> 1") >= 5
