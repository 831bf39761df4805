"""Journals that no library wrote, though their checksums are right."""

from __future__ import annotations

import random
import struct

from .journal import BLOCK, HEADER

TABLE = []
for _number in range(256):
    for _ in range(8):
        _number = _number >> 1 ^ (0x82F63B78 if _number & 1 else 0)
    TABLE.append(_number)


def crc32c(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register = register >> 8 ^ TABLE[(register ^ byte) & 255]
    return register ^ 0xFFFFFFFF


def changed(data: bytearray, start: int, end: int, chance: random.Random) -> None:
    """Changes a number, or a few bytes."""
    size = chance.choice([1, 1, 2, 4])
    offset = chance.randrange(start, max(start + 1, end - size + 1))
    old = int.from_bytes(data[offset : offset + size], "little")
    bits = 8 * size
    new = chance.choice([0, 1, (1 << bits) - 1, 1 << bits - 1, old + 1, old - 1, old ^ 1 << chance.randrange(bits), chance.getrandbits(bits)])
    data[offset : offset + size] = (new % (1 << bits)).to_bytes(size, "little")


def mutated(whole: bytes, chance: random.Random) -> bytes:
    """The file with some of its numbers changed, and its checksums made anew."""
    data = bytearray(whole)
    if chance.random() < 0.1:
        for start in (0, BLOCK):
            again = random.Random(chance.random())
            changed(data, start + 12, start + 48, again)
            struct.pack_into("<I", data, start + 8, crc32c(bytes(data[start : start + 8] + data[start + 12 : start + 64])))
        return bytes(data)
    used = [start for start in range(2 * BLOCK, len(data), BLOCK) if data[start : start + 4] == b"SQBK"]
    for start in chance.sample(used, chance.randint(1, len(used))):
        for _ in range(chance.randint(1, 3)):
            size = struct.unpack_from("<H", data, start + 44)[0]
            if chance.random() < 0.5:
                changed(data, start + 20, start + HEADER, chance)
            elif 0 < size <= BLOCK - HEADER:
                changed(data, start + HEADER, start + HEADER + min(size, chance.choice([60, 200, size])), chance)
        size = min(struct.unpack_from("<H", data, start + 44)[0], BLOCK - HEADER)
        struct.pack_into("<I", data, start + 8, crc32c(bytes(data[start + HEADER : start + HEADER + size])))
        struct.pack_into("<I", data, start + 4, crc32c(bytes(data[start : start + 4] + data[start + 8 : start + HEADER])))
    return bytes(data)
