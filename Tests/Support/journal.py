"""Reads a journal as docs/journal.md describes it. It shares no code with the library."""

from __future__ import annotations

import struct
from dataclasses import dataclass

BLOCK, HEADER = 4096, 48


def crc32c(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@dataclass
class Record:
    kind: int
    flags: int
    subject: int
    body: bytes


@dataclass
class Commit:
    position: tuple[int, int]
    count: int
    failures: int
    records: list[Record]


@dataclass
class Message:
    serial: int
    cookie: int
    identifier: int
    expiry: int
    topic: bytes
    payload: bytes
    version: str = "5.0"
    qos: int = 1
    retain: int = 0
    urgent: bool = False
    state: str = "new"


@dataclass
class Frame:
    """SEND, as libswiftstomp keeps it."""

    serial: int
    cookie: int
    quiet: bool
    dialect: int
    receipt: bytes
    headers: list[bytes]  # lines, but for the receipt
    body: bytes


class Journal:
    """The commits of a file in which none has failed, from the oldest on. `may_be_torn`: power may have failed while the last
    one was written, which is left out then."""

    def __init__(self, data: bytes, may_be_torn: bool = False):
        assert data[:8] == b"SMQJRNL1" and data[:BLOCK] == data[BLOCK : 2 * BLOCK]
        crc, version, self.salt, self.blocks = struct.unpack_from("<II8sI", data, 8)
        assert crc == crc32c(data[:8] + data[12:64]) and version == 1
        assert len(data) == (2 + self.blocks) * BLOCK
        blocks = {}
        for place in range(self.blocks):
            block = data[(2 + place) * BLOCK : (3 + place) * BLOCK]
            if block[:4] != b"SQBK":
                assert not any(block), "what was never written is zero"
                continue
            if may_be_torn and not self.is_whole(block):
                continue
            crc, body_crc, salt, lap, where, head, back, failures, index, count, used, zero = struct.unpack_from(
                "<II8sIIIIIHHHH", block, 4)
            assert crc == crc32c(block[:4] + block[8:HEADER]) and salt == self.salt and where == place and zero == 0
            assert body_crc == crc32c(block[HEADER : HEADER + used]) and not any(block[HEADER + used :])
            assert used == BLOCK - HEADER or index == count - 1
            blocks[lap, place] = (index, count, failures, block[HEADER : HEADER + used])
        self.commits: list[Commit] = []
        order = sorted(blocks)
        for at, position in enumerate(order):
            index, count, failures, _ = blocks[position]
            if index == 0 and not (may_be_torn and len(order) < at + count):
                body = b"".join(blocks[each][3] for each in order[at : at + count])
                self.commits.append(Commit(position, count, failures, list(self.records(body))))

    def messages(self) -> list[Message]:
        """All of which the file has a record, ended or not, in their order, urgent ones first. A record may be there twice,
        because the oldest ones are written again when the ring is nearly full."""
        found = [self.message(record) for commit in self.commits for record in commit.records if record.kind == 1]
        latest = {(not message.urgent, message.serial): message for message in found}
        return [message for _, message in sorted(latest.items())]

    def waiting(self) -> list[Message]:
        """Those that the next process has to deliver, in their order: urgent ones first."""
        found: dict[tuple[int, int], Message] = {}
        for record in (record for commit in self.commits for record in commit.records):
            key = (1 - (record.flags & 1), record.subject)
            if record.kind == 1:
                found[key] = self.message(record)
            elif record.kind in (2, 3) and key in found:
                found[key].identifier = struct.unpack("<H", record.body)[0]
                found[key].state = "released" if record.kind == 3 else "sent" if found[key].identifier else "new"
            elif record.kind == 4:
                found.pop(key, None)
        return [message for _, message in sorted(((key[0], message.serial), message) for key, message in found.items())]

    def frames(self) -> list[Frame]:
        """All of which a journal of libswiftstomp has a record, ended or not, in their order."""
        found = [self.frame(record) for commit in self.commits for record in commit.records if record.kind == 16]
        return [frame for _, frame in sorted({frame.serial: frame for frame in found}.items())]

    def waiting_frames(self) -> list[Frame]:
        """Those that the next process has to send, in their order."""
        found: dict[int, Frame] = {}
        for record in (record for commit in self.commits for record in commit.records):
            assert record.flags == 0
            if record.kind == 16:
                found[record.subject] = self.frame(record)
            else:
                assert record.kind == 17 and not record.body
                found.pop(record.subject, None)
        return sorted(found.values(), key=lambda frame: frame.serial)

    @staticmethod
    def frame(record: Record) -> Frame:
        """That of a record of kind 16."""
        serial, cookie, flags, dialect = struct.unpack_from("<QQBB", record.body)
        head, blank, body = record.body[18:].partition(b"\n\n")
        command, receipt, *headers = head.split(b"\n")
        assert command == b"SEND" and receipt[:8] == b"receipt:" and receipt[8:].isdigit() and len(receipt) == 18
        assert blank and body[-1] == 0 and flags in (0, 1)
        return Frame(serial, cookie, bool(flags), dialect, receipt[8:], headers, body[:-1])

    @staticmethod
    def is_whole(block: bytes) -> bool:
        crc, body_crc = struct.unpack_from("<II", block, 4)
        used = struct.unpack_from("<H", block, 44)[0]
        return crc == crc32c(block[:4] + block[8:HEADER]) and body_crc == crc32c(block[HEADER : HEADER + used])

    @staticmethod
    def records(body: bytes):
        position = 0
        while position < len(body):
            kind, flags, subject, length = struct.unpack_from("<BBHI", body, position)
            yield Record(kind, flags, subject, body[position + 8 : position + 8 + length])
            position += 8 + length
        assert position == len(body)

    @staticmethod
    def message(record: Record) -> Message:
        """That of a record of kind 1."""
        serial, cookie, identifier, flags, expiry, offset = struct.unpack_from("<QQHIII", record.body)
        packet = record.body[30:]
        assert packet[0] >> 4 == 3
        position = 1
        while packet[position] & 0x80:
            position += 1
        position += 1
        size = struct.unpack_from(">H", packet, position)[0]
        topic = packet[position + 2 : position + 2 + size]
        position += 2 + size + 2
        if flags & 128:
            position += 1 + packet[position]  # the properties are less than 128 bytes
        return Message(
            serial, cookie, identifier, expiry, topic, packet[position:], "5.0" if flags & 128 else "3.1.1",
            packet[0] >> 1 & 3, packet[0] & 1, bool(record.flags & 1),
            "released" if record.flags & 2 else "sent" if identifier else "new")
