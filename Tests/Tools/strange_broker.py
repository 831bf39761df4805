"""What listens and is no broker, or one that fails: each connection gets what a way of it has."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

CONNACK = b"\x20\x02\x00\x00"


def silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def closing(connection: socket.socket) -> None:
    connection.recv(4096)


def web(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def refusing(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"\x20\x02\x00\x05")
    connection.recv(4096)


def old(connection: socket.socket) -> None:
    """Knows 3.1 only, and says so (3.1.1, section 3.1.2.2)."""
    packet = connection.recv(4096)
    is_known = packet[2:10] == b"\x00\x06MQIsdp"
    connection.sendall(CONNACK if is_known else b"\x20\x02\x00\x01")
    if is_known:
        connection.recv(4096)


def dying(connection: socket.socket) -> None:
    """Takes CONNECT, and dies of what follows."""
    connection.recv(4096)
    connection.sendall(CONNACK)
    connection.recv(4096)


def frozen(connection: socket.socket) -> None:
    """Takes CONNECT, and answers no more."""
    connection.recv(4096)
    connection.sendall(CONNACK)
    silent(connection)


def tiny(connection: socket.socket) -> None:
    """5.0: a Maximum Packet Size that no SUBSCRIBE fits in (section 3.2.2.3.6)."""
    connection.recv(4096)
    connection.sendall(b"\x20\x08\x00\x00\x05\x27" + (16).to_bytes(4, "big"))
    silent(connection)


def moving(connection: socket.socket) -> None:
    """5.0: leaves with DISCONNECT, Server moved."""
    connection.recv(4096)
    connection.sendall(b"\x20\x03\x00\x00\x00")
    connection.recv(4096)
    connection.sendall(b"\xe0\x01\x9d")


def resetting(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def forgetful(connection: socket.socket) -> None:
    """Hands out what is published, and acknowledges nothing of it."""
    connection.recv(4096)
    connection.sendall(CONNACK)
    subscribe = connection.recv(4096)
    connection.sendall(b"\x90\x03" + subscribe[2:4] + b"\x02")
    while publish := connection.recv(4096):
        topic = publish[2:4 + int.from_bytes(publish[2:4], "big")]
        identifier = 2 if publish[0] & 6 else 0
        body = topic + publish[2 + len(topic) + identifier:]
        connection.sendall(bytes([0x30, len(body)]) + body)


class StrangeBroker:
    def __init__(self, way: Callable[[socket.socket], None]):
        self.way = way
        self.connections: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        try:
            self.way(connection)
        except OSError:
            pass  # it has gone
        connection.close()

    def close(self) -> None:
        # A thread that waits in accept() is not woken by close() alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            connection.close()
