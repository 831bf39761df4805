"""The journal of the bare engine: the program has the storage, which here is a bytearray that loses power."""

from __future__ import annotations

import ctypes
import random
from ctypes import byref
from pathlib import Path

import pytest

from Support import smq
from Support.journal import Journal

SIZE = 256 << 10
DONE, NOTHING = smq.OK, 0


class Storage:
    """What is durable, and what was written since."""

    def __init__(self, durable: bytes = bytes(SIZE)):
        self.durable, self.content = durable, bytearray(durable)
        self.done: list[int] = []

    def carry_out(self, request: smq.Storage) -> None:
        self.done.append(request.operation)
        begin, end = request.offset, request.offset + request.byte_count
        assert begin % 4096 == end % 4096 == 0 and end <= len(self.content)
        if request.operation == smq.STORAGE_READ:
            ctypes.memmove(request.data, bytes(self.content[begin:end]), end - begin)
        elif request.operation == smq.STORAGE_WRITE:
            self.content[begin:end] = ctypes.string_at(request.data, end - begin)
        else:
            assert request.operation == smq.STORAGE_SYNC and not request.data and begin == end == 0
            self.durable = bytes(self.content)


class Board:
    """A client without a transport, and its storage."""

    def __init__(self, storage: Storage, **options: object):
        usual = dict(
            host="server.example", protocol=5, client_id="keeper", journal_bytes=SIZE, outbox_bytes=8192, outbox_messages=64,
            journal_batch_bytes=8192)
        flags = smq.OPTION_OWN_TRANSPORT | smq.OPTION_KEEP_SESSION
        self.client = smq.Client(flags=flags, **{**usual, **options})
        self.storage, self.now = storage, 0

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_) -> None:
        self.client.close()

    def ask(self, wall: int = 0) -> smq.Storage | None:
        request = smq.Storage()
        got = smq.library.smq_engine_storage(self.client.handle, self.now, wall, byref(request))
        assert got in (0, 1), smq.status_name(got)
        assert got == 1 or request.operation == NOTHING
        return request if got else None

    def report(self, error: int = 0) -> int:
        return smq.library.smq_engine_storage_done(self.client.handle, error, self.now)

    def open(self, wall: int = 0) -> Board:
        while self.state() == smq.ERR_STATE:
            self.storage.carry_out(self.ask(wall))
            assert self.report() == DONE
        return self

    def state(self) -> int:
        return smq.library.smq_journal_state(self.client.handle, byref(smq.JournalInfo()))

    def info(self) -> smq.JournalInfo:
        found = smq.JournalInfo()
        assert smq.library.smq_journal_state(self.client.handle, byref(found)) == smq.OK
        return found

    def store(self, wall: int = 0) -> None:
        """All that is new."""
        while self.sync() == 0:
            self.storage.carry_out(self.ask(wall))
            assert self.report() == DONE

    def sync(self) -> int:
        return smq.library.smq_sync(self.client.handle, 0)

    def connect(self, session_present: int) -> None:
        handle = self.client.handle
        assert self.client.connect() == smq.OK
        assert self.client.take().type == smq.EVENT_OPEN
        assert smq.library.smq_engine_opened(handle, self.now) == smq.OK
        assert self.sent()[0] == 0x10
        data, size = smq.ANY(), smq.SIZE()
        assert smq.library.smq_engine_receive_buffer(handle, byref(data), byref(size)) == smq.OK
        ctypes.memmove(data.value, bytes([0x20, 3, session_present, 0, 0]), 5)
        assert smq.library.smq_engine_received(handle, 5, self.now) == smq.OK
        assert self.client.take().type == smq.EVENT_CONNECTED

    def sent(self) -> bytes:
        data, size, all = smq.ANY(), smq.SIZE(), b""
        while smq.library.smq_engine_transmit(self.client.handle, self.now, byref(data), byref(size)) == smq.OK and size.value:
            all += ctypes.string_at(data.value, size.value)
            assert smq.library.smq_engine_transmitted(self.client.handle, size.value, self.now) == smq.OK
        return all

    def news(self) -> list[tuple[int, int, int]]:
        found = []
        while event := self.client.take():
            if event.type == smq.EVENT_JOURNAL:
                found.append((event.completed, event.cookie, event.os_error))
        return found


def test_a_new_journal():
    with Board(Storage()) as board:
        assert board.state() == smq.ERR_STATE
        for call in (board.client.publish, board.client.connect, board.sync):
            assert call(*(["a"] if call == board.client.publish else [])) == smq.ERR_STATE
        board.open()
        assert board.storage.done == [smq.STORAGE_READ] * 2 + [smq.STORAGE_WRITE, smq.STORAGE_SYNC] * 2
        assert board.news() == [] and board.ask() is None
        assert board.info().blocks == SIZE // 4096 - 2
        assert board.report() == DONE  # nothing was asked for


@pytest.mark.parametrize("arrives", ["nothing", "half", "garbage", "all"])
@pytest.mark.parametrize("number", range(6))
def test_power_fails_while_it_is_begun(number: int, arrives: str):
    """Whatever of what was not synced arrives: the next process has a journal."""
    storage = Storage()
    with Board(storage) as board:
        for _ in range(number):
            storage.carry_out(board.ask())
            assert board.report() == DONE
    for block in (0, 4096):
        if storage.durable[block : block + 4096] != storage.content[block : block + 4096]:
            written = storage.content[block : block + 4096]
            parts = {"nothing": bytes(4096), "half": written[:40] + bytes(4056), "garbage": bytes(range(256)) * 16, "all": written}
            storage.durable = storage.durable[:block] + bytes(parts[arrives]) + storage.durable[block + 4096 :]
    with Board(Storage(storage.durable)).open() as board:
        assert board.client.publish("a", qos=1) == smq.OK
        board.store()
        assert board.info().stored == 1


def test_what_was_stored_comes_back(tmp_path: Path):
    storage = Storage()
    with Board(storage).open() as board:
        for number in range(5):
            assert board.client.publish("a", str(number), qos=1 + number % 2, cookie=number) == smq.OK
        assert board.ask() is None  # it waits for others
        assert 0 < smq.library.smq_engine_next_timeout_ms(board.client.handle, 0) <= 20
        board.now = 20
        request = board.ask()
        assert request.operation == smq.STORAGE_WRITE
        again = board.ask()
        assert bytes(again) == bytes(request), "the same until it is done"
        storage.carry_out(request)
        assert board.report() == DONE and board.ask().operation == smq.STORAGE_SYNC and board.info().stored == 0
        storage.carry_out(board.ask())
        assert board.report() == DONE and board.info().stored == 5 and board.sync() == 1
        assert board.client.publish("a", "lost", qos=1) == smq.OK
    with Board(Storage(storage.durable)).open() as board:
        assert board.news() == [(smq.JOURNAL_RECOVERED, 5, 0)]
    # The format is that of a file.
    assert [m.payload for m in Journal(storage.durable).messages()] == [b"0", b"1", b"2", b"3", b"4"]
    path = tmp_path / "journal"
    path.write_bytes(storage.durable)
    with smq.Client(
        url="mqtt://127.0.0.1:1", protocol=5, client_id="keeper", flags=smq.OPTION_KEEP_SESSION, journal=str(path),
        outbox_bytes=8192, outbox_messages=64, journal_batch_bytes=8192) as client:
        assert client.stats.outbox_messages == 5


def test_laps_and_power_cuts():
    """At any request the power may fail: what was promised is there, and at most what was being written."""
    chance = random.Random(7)
    durable, promised, published, runs = bytes(SIZE), 0, 0, 0
    for _ in range(150):
        with Board(Storage(durable)).open() as board:
            runs += board.storage.done.count(smq.STORAGE_READ)
            found = sum(count for what, count, _ in board.news() if what == smq.JOURNAL_RECOVERED)
            # Each replaces the one before.
            assert found == (1 if promised else board.client.stats.outbox_messages)
            stored = Journal(durable, may_be_torn=True).messages() if published else []
            assert not promised or int(stored[-1].payload.strip(b".")) >= promised
            for _ in range(chance.randint(1, 8)):
                published += 1
                payload = b"%d" % published + b"." * chance.choice([0, 0, 5000])
                assert board.client.publish(
                    "a", payload, qos=1, overflow=smq.OVERFLOW_LATEST, quiet=1) == smq.OK
                while board.sync() == 0 and chance.random() < 0.97:
                    request = board.ask()
                    board.storage.carry_out(request)
                    assert board.report() == DONE
                if board.sync() != 1:
                    break
                promised = published
            durable = board.storage.durable if chance.random() < 0.5 else bytes(board.storage.content)
    assert promised > 200 and runs > 300


def test_the_storage_fails():
    with Board(Storage(), journal_flags=smq.JOURNAL_STRICT).open() as board:
        assert board.client.publish("a", qos=1) == smq.OK and board.sync() == 0
        assert board.ask() and board.report(77) == DONE
        assert board.sync() == 0 and board.ask() is None
        assert board.news() == [(smq.JOURNAL_FAILED, 0, 77)] and board.info().os_error == 77
        assert board.client.publish("a", qos=1) == smq.ERR_JOURNAL
        board.now = 1000
        board.store()
        assert board.news() == [(smq.JOURNAL_HEALED, 0, 0)]
        assert board.client.publish("a", qos=1) == smq.OK


def refusal(durable: bytes, **options: object) -> str:
    with Board(Storage(durable), **options) as board:
        for _ in range(1000):
            board.storage.carry_out(board.ask())
            if (status := board.report()) != DONE:
                assert board.state() == smq.ERR_STATE
                return smq.status_name(status)
    raise AssertionError("it never ends")


def test_what_is_refused():
    storage = Storage()
    with Board(storage).open() as board:
        board.client.publish("a", bytes(5000), qos=1)
        board.store()
    durable = bytearray(storage.durable)
    assert refusal(bytes(durable), client_id="other") == "SMQ_ERR_JOURNAL_OTHER"
    assert refusal(bytes(durable), outbox_bytes=1 << 20, journal_bytes=8 << 20) == "SMQ_ERR_JOURNAL_SIZE"
    assert refusal(b"text" + bytes(SIZE - 4)) == "SMQ_ERR_JOURNAL_CORRUPT"
    durable[0] ^= 1  # its copy is enough
    with Board(Storage(bytes(durable))).open() as board:
        assert board.client.stats.outbox_messages == 1
    with Board(Storage(bytes(durable))) as board:
        assert board.ask() and board.report(5) == smq.ERR_JOURNAL


@pytest.mark.parametrize("options", [dict(journal="a"), dict(journal_bytes=0), dict(journal_bytes=1)])
def test_options(options: dict[str, object]):
    """Without journal_bytes there is no journal; with a path it is not the program's."""
    if options == dict(journal_bytes=0):
        with pytest.raises(ValueError, match="SMQ_ERR_OPTION"):
            Board(Storage(), **options)  # journal_batch_bytes is of no use
        with Board(Storage(), **options, journal_batch_bytes=0) as board:
            request = smq.Storage()
            call = smq.library.smq_engine_storage
            assert call(board.client.handle, 0, 0, byref(request)) == smq.ERR_NOT_SUPPORTED
    else:
        with pytest.raises(ValueError, match="SMQ_ERR_OPTION"):
            Board(Storage(), **options)


def test_expiry():
    storage = Storage()
    with Board(storage).open(wall=1000) as board:
        board.client.publish("a", qos=1, expiry_s=60)
        board.client.publish("b", qos=1, expiry_s=600)
        board.store(wall=1000)
    with Board(Storage(storage.durable)).open(wall=1100) as board:
        smq.library.smq_engine_timed_out(board.client.handle, 1)
        assert [e.status for e in iter(board.client.take, None) if e.type == smq.EVENT_COMPLETED] == [smq.ERR_EXPIRED]


def test_both_queues():
    """Messages of both that may have been sent are sent again: no queue waits for the other."""
    storage, options = Storage(), dict(urgent_messages=4, urgent_bytes=1024)
    with Board(storage, **options).open() as board:
        board.connect(0)
        for number in range(2):
            assert board.client.publish("n", str(number), qos=2) == smq.OK
            assert board.client.publish("u", str(number), qos=2, urgent=1) == smq.OK
        assert board.sent() == b""  # their Packet Identifiers are not stored
        board.store()
        assert board.sent().count(b"\x34") == 4
    with Board(Storage(storage.durable), **options).open() as board:
        assert board.news() == [(smq.JOURNAL_RECOVERED, 4, 0)]
        board.connect(1)
        again = board.sent()
        assert again.count(b"\x3c") == 4 and again.index(b"u") < again.index(b"n")
