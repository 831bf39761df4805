"""A program that reads a client's inspection socket, written from docs/looking-inside.md."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6


@dataclass
class Seen:
    """A packet of a capture."""

    sent: bool
    length: int
    data: bytes
    comment: str
    microseconds: int


@dataclass
class Reader:
    path: str
    packets: list[Seen] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lost: int = 0
    seen: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    latencies: dict[str, dict[int, int]] = field(default_factory=dict)
    datagrams: int = 0
    answers: int = 0

    def __post_init__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(self.path)
        self.socket.setblocking(False)
        self.is_open = True

    def close(self) -> None:
        self.socket.close()

    def read(self) -> None:
        """Reads what is there."""
        while self.is_open:
            try:
                data = self.socket.recv(1 << 18)
            except BlockingIOError:
                return
            self.is_open = bool(data)
            self.datagrams += self.is_open
            for kind, body in blocks(data):
                self.take(kind, body)

    def has(self, done) -> Callable[[], bool]:
        """A condition that reads first."""

        def condition() -> bool:
            self.read()
            return bool(done(self))

        return condition

    def ask(self) -> Callable[[], bool]:
        """Asks; a condition: the answer is here."""
        before = self.answers
        self.socket.send(b"?")
        return self.has(lambda reader: reader.answers > before)

    def take(self, kind: int, body: bytes) -> None:
        if kind == SECTION:
            assert body[:16] == struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        elif kind == INTERFACE:
            assert body[:8] == struct.pack("<HHI", 252, 0, 0)
            found = options(body[8:])
            assert found[9] == b"\x06"
            self.names.append(found.get(2, b"").decode())
        elif kind == STATISTICS:
            found = options(body[12:])
            self.seen, self.lost = struct.unpack("<Q", found[4])[0], struct.unpack("<Q", found[5])[0]
            if 1 in found:
                self.answers += 1
                self.numbers, self.latencies = {}, {}
                for line in found[1].decode().splitlines():
                    name, *values = line.split(" ")
                    if len(values) == 2:
                        self.latencies.setdefault(name, {})[int(values[0])] = int(values[1])
                    else:
                        assert name not in self.numbers
                        self.numbers[name] = int(values[0])
        else:
            assert kind == PACKET
            interface, high, low, captured, length = struct.unpack_from("<IIIII", body)
            assert interface < len(self.names)
            data = body[20 : 20 + captured]
            tags = tags_size(data)
            found = options(body[20 + (captured + 3) // 4 * 4 :])
            flags = struct.unpack("<I", found[2])[0]
            assert flags in (1, 2)
            self.packets.append(Seen(flags == 2, length - tags, data[tags:], found.get(1, b"").decode(), high << 32 | low))


def blocks(data: bytes):
    while data:
        kind, size = struct.unpack_from("<II", data)
        assert size % 4 == 0 and 12 <= size <= len(data) and data[size - 4 : size] == data[4:8]
        yield kind, data[8 : size - 4]
        data = data[size:]


def tags_size(data: bytes) -> int:
    """How many bytes there are before a packet (link type 252): tags, the last of which is 0."""
    at = 0
    while True:
        tag, size = struct.unpack_from(">HH", data, at)
        at += 4 + size
        if tag == 0:
            return at


def options(data: bytes) -> dict[int, bytes]:
    found = {}
    while True:
        code, size = struct.unpack_from("<HH", data)
        if code == 0:
            assert size == 0 and len(data) == 4
            return found
        found[code] = data[4 : 4 + size]
        data = data[4 + (size + 3) // 4 * 4 :]
