"""What the network does to a connection, by a peer that does just what the test says: a plain socket."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from Support import smq
from Support.waiting import PATIENCE

CONNACK_311 = bytes.fromhex("20020000")
CONNACK_5 = bytes.fromhex("2003000000")


class Peer:
    """Listens, and runs a function with the accepted socket in a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received = bytearray()
        self.next = threading.Event()  # the test lets it go on
        self.thread = threading.Thread(target=self.run, args=(serve,), daemon=True)
        self.thread.start()

    def run(self, serve) -> None:
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE)
        with connection:
            serve(self, connection)

    def read(self, connection: socket.socket) -> None:
        """Takes what is there and what comes, until the client closes."""
        while data := connection.recv(65536):
            self.received += data


def test_what_was_sent_arrives_although_the_server_says_more(clients):
    """A socket closed too early answers late bytes with a reset, and throws away what it has not sent."""

    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.recv(1024)
        connection.sendall(CONNACK_311)
        time.sleep(0.5)
        connection.sendall(bytes.fromhex("40020001"))  # about nothing in particular
        time.sleep(0.3)
        peer.read(connection)

    peer = Peer(serve)
    client = clients(host="127.0.0.1", port=peer.port, outbox_bytes=1 << 20)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    for number in range(1, 201):
        assert client.publish("a", bytes(1000), cookie=number) == smq.OK
    assert client.disconnect(int(PATIENCE * 1000)) == smq.OK
    assert client.disconnected().status == smq.OK
    peer.thread.join(PATIENCE)
    assert len(peer.received) == 200 * 1006 + 2
    assert peer.received.endswith(bytes.fromhex("E000"))


@pytest.mark.parametrize("qos", [0, 1])
def test_a_server_that_hangs_is_noticed_while_publishing(clients, qos):
    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(CONNACK_311)
        time.sleep(PATIENCE)

    peer = Peer(serve)
    client = clients(host="127.0.0.1", port=peer.port, keep_alive_s=1, ping_timeout_ms=500)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    begin, event = time.monotonic(), None
    while event is None and time.monotonic() < begin + PATIENCE:
        client.publish("a", qos=qos)
        client.run(0.1)
        event = next((e for e in client.events if e.type == smq.EVENT_DISCONNECTED), None)
    assert event is not None
    assert (event.status, event.stage) == (smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)


def test_the_servers_last_words_are_heard(clients):
    """PUBACK and DISCONNECT were there before the reset that the next send met."""
    said = threading.Event()

    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(CONNACK_5)
        packet = connection.recv(1024)
        identifier = packet[5:7]
        connection.sendall(b"\x40\x02" + identifier + bytes.fromhex("E0018E"))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        said.set()

    peer = Peer(serve)
    client = clients(host="127.0.0.1", port=peer.port, protocol=smq.PROTOCOL_5_0)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.publish("a", qos=1, cookie=7)
    client.step(0)
    assert said.wait(PATIENCE)
    time.sleep(0.1)
    client.publish("a", qos=1, cookie=8)
    event = client.disconnected()
    # Linux keeps what arrived before a reset until it is read.
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_CLOSED, 0x8E)
    assert client.completed(7).status == smq.OK


def test_draining_does_not_put_off_the_end_of_a_broken_connection(clients):
    """Malformed bytes end the connection; that the application also wants to leave, in an hour, does not
    keep it."""

    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.recv(1024)
        connection.sendall(CONNACK_5)
        peer.next.wait(PATIENCE)
        connection.sendall(b"\x00\x00")
        time.sleep(PATIENCE)

    peer = Peer(serve)
    client = clients(
        host="127.0.0.1", port=peer.port, protocol=smq.PROTOCOL_5_0, outbox_bytes=1 << 24, outbox_messages=60_000
    )
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    while client.publish("a", bytes(10_000)) == smq.OK:  # more than the sockets hold
        pass
    client.step(0)
    client.disconnect(3_600_000)
    peer.next.set()
    assert client.disconnected().status == smq.ERR_MALFORMED


def test_a_farewell_that_cannot_be_sent_is_a_failure(clients):
    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.recv(1024)
        connection.sendall(CONNACK_311)
        time.sleep(PATIENCE)

    peer = Peer(serve)
    client = clients(host="127.0.0.1", port=peer.port, outbox_bytes=1 << 24, outbox_messages=60_000)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    while client.publish("a", bytes(10_000)) == smq.OK:  # more than the sockets hold
        pass
    client.step(0)
    client.disconnect(0)
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_DISCONNECT)


def test_pubrel_does_not_overtake_the_publish(clients):
    """A server may repeat PUBREC right behind the CONNACK of a resumed session."""
    connections = []

    def heard(connection: socket.socket) -> bytes:
        """All that comes until nothing does: a PUBREL for each PUBREC."""
        data = connection.recv(1024)
        connection.settimeout(0.2)
        try:
            while more := connection.recv(1024):
                data += more
        except TimeoutError:
            pass
        connection.settimeout(10)
        return data

    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(CONNACK_311)
        identifier = connection.recv(1024)[5:7]
        connection.close()
        again, _ = peer.listener.accept()
        again.settimeout(10)
        again.recv(1024)
        again.sendall(bytes.fromhex("20020100") + b"\x50\x02" + identifier)
        connections.append(heard(again))
        again.sendall(b"\x50\x02" + identifier)
        connections.append(heard(again))
        again.sendall(b"\x70\x02" + identifier)
        connections.append(heard(again))

    peer = Peer(serve)
    client = clients(
        host="127.0.0.1", port=peer.port, client_id="keeper", flags=smq.OPTION_KEEP_SESSION
    )
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.publish("a", qos=2, cookie=1)
    client.disconnected()
    client.connect()
    assert client.completed(1).status == smq.OK
    client.leave()
    peer.thread.join(PATIENCE)
    assert [first[0] for first in connections] == [0x3C, 0x62, 0xE0]


def test_room_is_told_to_whoever_was_refused(clients):
    def serve(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(CONNACK_311)
        peer.read(connection)

    peer = Peer(serve)
    client = clients(host="127.0.0.1", port=peer.port, outbox_bytes=1000)
    assert client.publish("a", bytes(500), quiet=1) == smq.OK
    assert client.publish("a", bytes(700), quiet=1) == smq.ERR_FULL
    assert client.publish("a", bytes(10), quiet=1) == smq.OK
    client.connect()
    client.wait_event(smq.EVENT_ROOM)
    assert client.publish("a", bytes(700), quiet=1) == smq.OK


TWO_ADDRESSES = """
    #include <arpa/inet.h>
    #include <netdb.h>
    #include <stdlib.h>
    #include <string.h>

    static struct addrinfo *one(const char *address, struct addrinfo *next) {
        struct addrinfo *info = calloc(1, sizeof *info + sizeof(struct sockaddr_in));
        struct sockaddr_in *in = (struct sockaddr_in *)(info + 1);
        in->sin_family = AF_INET;
        inet_pton(AF_INET, address, &in->sin_addr);
        info->ai_addr = (struct sockaddr *)in;
        info->ai_addrlen = sizeof *in;
        info->ai_next = next;
        return info;
    }
    int getaddrinfo(const char *n, const char *s, const struct addrinfo *h, struct addrinfo **list) {
        (void)n, (void)s, (void)h;
        *list = one("127.0.0.2", one("127.0.0.1", NULL));
        return 0;
    }
    void freeaddrinfo(struct addrinfo *list) {
        for (struct addrinfo *next; list; list = next) next = list->ai_next, free(list);
    }
"""

FIRST_IS_SILENT = """
    import socket, sys, threading
    from Support import smq

    silent = socket.socket()
    silent.bind(("127.0.0.2", 0))
    silent.listen(0)
    port = silent.getsockname()[1]
    fill = []
    for _ in range(4):  # a full backlog swallows what comes
        fill.append(socket.socket())
        fill[-1].setblocking(False)
        fill[-1].connect_ex(("127.0.0.2", port))
    server = socket.create_server(("127.0.0.1", port))

    def serve():
        connection, _ = server.accept()
        connection.recv(1024)
        connection.sendall(bytes.fromhex("20020000"))
        connection.recv(1024)

    threading.Thread(target=serve, daemon=True).start()
    client = smq.Client(host="two.example", port=port, connect_timeout_ms=3000)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.leave()
    print("reached")
"""


def test_the_second_address_has_its_turn(tmp_path):
    """The first swallows everything; half of the time is the second's."""
    source, library = tmp_path / "two.c", tmp_path / "two.so"
    source.write_text(textwrap.dedent(TWO_ADDRESSES))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FIRST_IS_SILENT)],
        cwd=Path(__file__).resolve().parent.parent,
        env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin", "SMQ_LIBRARY": str(smq.LIBRARY)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert result.stdout == "reached\n", result.stderr


FORKED = """
    import os, signal, socket, sys, threading, time
    from Support import smq

    server = socket.create_server(("127.0.0.1", 0))
    client = smq.Client(host="127.0.0.1", port=server.getsockname()[1])
    client.connect()
    client.step(0)
    connection, _ = server.accept()
    connection.recv(1024)
    connection.sendall(bytes.fromhex("20020000"))
    client.wait_event(smq.EVENT_CONNECTED)
    child = os.fork()
    if child == 0:
        time.sleep(20)  # holds a copy of the client's socket
        os._exit(0)
    connection.shutdown(socket.SHUT_RDWR)
    client.disconnected()
    begin = time.process_time()
    client.run(0.5)
    print("spun" if time.process_time() - begin > 0.3 else "slept")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_a_forked_child_does_not_make_it_spin():
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORKED)],
        cwd=Path(__file__).resolve().parent.parent,
        env={"PATH": "/usr/bin:/bin", "SMQ_LIBRARY": str(smq.LIBRARY)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert result.stdout == "slept\n", result.stderr
