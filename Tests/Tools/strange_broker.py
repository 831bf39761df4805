"""What listens and is no broker, or one that fails: each connection gets what a way of it has."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

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


def talking(connection: socket.socket) -> None:
    """5.0: refuses, with a Reason String and a Server Reference that have control characters in them."""
    connection.recv(4096)
    properties = b""
    for identifier, text in ((0x1F, "no\x1b[2J\x7f\u009b1m\nsmq pub: all is well \u00e4"), (0x1C, "else\u009bwhere")):
        properties += bytes([identifier]) + struct.pack("!H", len(text.encode())) + text.encode()
    connection.sendall(bytes([0x20, 3 + len(properties), 0, 0x9D, len(properties)]) + properties)
    connection.recv(4096)


# C0, DEL, C1 (U+009B is CSI: what follows is obeyed as behind ESC and a bracket), and what is none of them.
TOPIC = "shown/\x1b[31m\x7f\u009b1m/\u00e4\u20ac\U0001f600"
PAYLOAD = b"one\ttwo\nthree\x07\x1b]0;title\x07\xc2\x9b2J\x9b3J\xff" + "\u00e4".encode()
TEXT = "text \x1b \x7f \u009b \u00e4"
PROPERTIES = (b"\x03\x00\x06type\x1bc" b"\x26\x00\x06na\xc2\x9bme\x00\x07value\x1bc")  # Content Type, User Property


def sending(connection: socket.socket) -> None:
    """Sends a message that has control characters everywhere, to who subscribes or, in 3.1.1, publishes."""
    send_message(connection, PAYLOAD)


def sending_text(connection: socket.socket) -> None:
    """The same, of UTF-8 alone."""
    send_message(connection, TEXT.encode())


def send_message(connection: socket.socket, payload: bytes) -> None:
    connect = connection.recv(4096)
    is_new = connect[8] == 5
    connection.sendall(b"\x20\x03\x00\x00\x00" if is_new else CONNACK)
    topic = TOPIC.encode()
    properties = bytes([len(PROPERTIES)]) + PROPERTIES if is_new else b""
    message = len(topic).to_bytes(2, "big") + topic + properties + payload
    for packet in packets(connection):
        kind = packet[0] >> 4
        if kind == 8:
            suback = packet[2:4] + (b"\x00\x00" if is_new else b"\x00")
            connection.sendall(bytes([0x90, len(suback)]) + suback)
        if kind == (8 if is_new else 3):
            connection.sendall(bytes([0x30, len(message)]) + message)


def unwilling(connection: socket.socket) -> None:
    """Refuses the first of two filters."""
    connection.recv(4096)
    connection.sendall(CONNACK)
    subscribe = connection.recv(4096)
    connection.sendall(b"\x90\x04" + subscribe[2:4] + b"\x80\x00")
    connection.recv(4096)


def packets(connection: socket.socket) -> Iterator[bytes]:
    """One after the other, each of less than 128 bytes."""
    data = b""
    while piece := connection.recv(4096):
        data += piece
        while len(data) >= 2 and len(data) >= 2 + data[1]:
            yield data[:2 + data[1]]
            data = data[2 + data[1]:]


def eager(connection: socket.socket) -> None:
    """Sends a retained message before SUBACK, as [MQTT-3.8.4] allows; else all that a broker of 3.1.1 does."""
    small_broker(connection, answered=2)


def keeping_quiet(connection: socket.socket) -> None:
    """As eager, but the second SUBSCRIBE is not answered: what was kept comes, and no SUBACK."""
    small_broker(connection, answered=1)


def oblivious(connection: socket.socket) -> None:
    """Keeps no message, and says nothing of it."""
    small_broker(connection, answered=2, keeps=False)


def dawdling(connection: socket.socket) -> None:
    """Takes its time over what is retained."""
    small_broker(connection, answered=2, delay=0.9)


def small_broker(connection: socket.socket, answered: int, keeps: bool = True, delay: float = 0) -> None:
    """Sends back what is published, and keeps what is retained; for one client, which has one subscription at least."""
    kept: dict[bytes, bytes] = {}
    for packet in packets(connection):
        kind, rest = packet[0] >> 4, packet[2:]
        if kind == 1:
            connection.sendall(CONNACK)
        elif kind == 3:
            topic = rest[:2 + int.from_bytes(rest[:2], "big")]
            qos = packet[0] >> 1 & 3
            identifier = rest[len(topic):len(topic) + 2] if qos else b""
            payload = rest[len(topic) + len(identifier):]
            if packet[0] & 1:
                time.sleep(delay)
                kept[topic] = payload if keeps else b""
            else:
                connection.sendall(bytes([0x30, len(topic + payload)]) + topic + payload)
            if qos:
                connection.sendall(bytes([0x40 if qos == 1 else 0x50, 2]) + identifier)
        elif kind == 6:
            connection.sendall(b"\x70\x02" + rest[:2])
        elif kind == 8:
            topic = rest[2:-1]
            if kept.get(topic):
                time.sleep(delay)
                connection.sendall(bytes([0x31, len(topic + kept[topic])]) + topic + kept[topic])
            if topic in kept:
                time.sleep(delay)
            if answered > 0:
                connection.sendall(b"\x90\x03" + rest[:2] + rest[-1:])
            answered -= 1
        elif kind == 12:
            connection.sendall(b"\xd0\x00")


def resetting(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def slow_reader(connection: socket.socket) -> None:
    """Takes what is small at once, what is large after two seconds."""
    connection.recv(4096)
    connection.sendall(CONNACK)
    begin = connection.recv(4096)
    if begin[0] >> 4 == 8:
        connection.sendall(b"\x90\x03" + begin[2:4] + b"\x00")
        connection.recv(4096)
    time.sleep(2)
    silent(connection)


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
