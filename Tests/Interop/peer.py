"""A third client, of neither library: MQTT 5.0 over a bare socket, to publish to the client under test and to witness
what the server delivers."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence

from Support.codec import (
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    Packet,
    Reading,
    binary,
    first,
    properties,
    variable,
)
from Support.waiting import PATIENCE

RETAIN_AS_PUBLISHED = 8
END = "end of the run"


class Peer:
    """It is connected when the constructor returns. A thread reads and acknowledges."""

    def __init__(self, port: int, client_id: str, login: tuple[str, str] | None = None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.changed = threading.Condition()
        self.messages: list[Packet] = []
        self.answers: list[Packet] = []  # all else
        self.held: set[int] = set()  # Packet Identifiers of QoS 2 that came and were not released
        self.identifier = 0
        self.ended = False
        body = binary("MQTT") + bytes([5, 0xC2 if login else 2]) + struct.pack(">H", 0) + properties([]) + binary(client_id)
        self.send(0x10, body + b"".join(binary(part) for part in login or ()))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.until(lambda: self.answers)
        assert self.answers[0].code == 0, f"the third client is refused: {self.answers[0].code:#x}"

    def send(self, first_byte: int, body: bytes) -> None:
        self.socket.sendall(bytes([first_byte]) + variable(len(body)) + body)

    def read(self) -> None:
        waiting = bytearray()
        try:
            while data := self.socket.recv(1 << 18):
                waiting += data
                while packet := first(waiting, 5):
                    packet.from_client = False
                    Reading(packet).read()
                    self.take(packet)
        except OSError:
            pass  # closed, here or there
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def take(self, packet: Packet) -> None:
        identifier = struct.pack(">H", packet.id)
        if packet.type == PUBREL:
            self.held.discard(packet.id)
            self.send(0x70, identifier)
        elif packet.type == PUBREC:
            self.send(0x62, identifier)
        again = packet.type == PUBLISH and packet.qos == 2 and packet.id in self.held
        if packet.type == PUBLISH and packet.qos:
            self.send(0x40 if packet.qos == 1 else 0x50, identifier)
            if packet.qos == 2:
                self.held.add(packet.id)
        with self.changed:
            if not again:
                (self.messages if packet.type == PUBLISH else self.answers).append(packet)
            self.changed.notify_all()

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        """Returns when it holds."""
        with self.changed:
            met = self.changed.wait_for(lambda: condition() or self.ended, timeout)
            assert met and condition(), f"the third client waits in vain; it has {len(self.messages)} messages"

    def answered(self, type: int, identifier: int) -> None:
        self.until(lambda: any(a.type == type and a.id == identifier for a in self.answers))

    def subscribe(self, filter: str = "#", qos: int = 2) -> None:
        """Returns when it is granted."""
        self.identifier += 1
        body = struct.pack(">H", self.identifier) + properties([]) + binary(filter)
        self.send(0x82, body + bytes([qos | RETAIN_AS_PUBLISHED]))
        self.answered(SUBACK, self.identifier)

    def publish(
        self,
        topic: str,
        payload: bytes = b"",
        qos: int = 0,
        retain: bool = False,
        with_properties: Sequence[tuple[int, object]] = (),
        await_answer: bool = True,
    ) -> None:
        """Returns when the server has it, of QoS 0 when it was sent."""
        body = binary(topic)
        if qos:
            self.identifier += 1
            body += struct.pack(">H", self.identifier)
        self.send(0x30 | qos << 1 | retain, body + properties(with_properties) + payload)
        if qos and await_answer:
            self.answered(PUBACK if qos == 1 else PUBCOMP, self.identifier)

    def received(self, count: int, timeout: float = PATIENCE) -> None:
        """Returns when so many messages have come since the beginning."""
        self.until(lambda: len(self.messages) >= count, timeout)

    def settle(self) -> None:
        """Returns when all that the server had for it has come: of what it subscribed to with '#', a message of its own
        is the last."""
        self.publish(END, qos=1)
        self.until(lambda: any(message.topic == END for message in self.messages))
        self.messages = [message for message in self.messages if message.topic != END]

    def close(self) -> None:
        """Without a DISCONNECT: it has no Will."""
        with contextlib.suppress(OSError):  # the server was first
            self.socket.shutdown(socket.SHUT_RDWR)
        self.reader.join(10)
        self.socket.close()
