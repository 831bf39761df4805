"""Captures that tests make, with packets of any kind: written from the description of pcapng, not with the library."""

from __future__ import annotations

import struct
from pathlib import Path

NOON = 1_700_049_600_000_000  # 2023-11-15 12:00:00 UTC, in microseconds


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


END = struct.pack("<HH", 0, 0)


class Capture:
    def __init__(self, name: str = "board", order: str = "<"):
        self.data = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + END)
        self.interface(name)
        self.time = NOON

    def interface(self, name: str, link: int = 252, resolution: int = 6) -> None:
        self.data += block(1, struct.pack("<HHI", link, 0, 0) + option(2, name.encode()) + option(9, bytes([resolution])) + END)

    def packet(self, sent: bool, data: bytes, *, after: int = 1000, interface: int = 0, length: int | None = None,
               comment: str = "", dissector: bytes = b"mqtt") -> Capture:
        """`after` so many microseconds."""
        self.time += after
        tags = struct.pack(">HH", 12, 4) + dissector + struct.pack(">HH", 0, 0)
        options = (option(1, comment.encode()) if comment else b"") + option(2, struct.pack("<I", 2 if sent else 1)) + END
        captured = tags + data
        self.data += block(6, struct.pack(
            "<IIIII", interface, self.time >> 32, self.time & 0xFFFFFFFF, len(captured),
            len(tags) + (len(data) if length is None else length)) + captured + bytes(-len(captured) % 4) + options)
        return self

    def lost(self, count: int) -> Capture:
        self.data += block(5, struct.pack("<III", 0, 0, 0) + option(5, struct.pack("<Q", count)) + END)
        return self

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data)
        return path
