"""The journal where things happen in an unusual order: acknowledged before it is written, a session that is lost while it is
written, versions and options that change, calls that come too early."""

from __future__ import annotations

import select
import time
from pathlib import Path

import pytest

from Support import codec, smq
from Support.journal import Journal

from .test_engine_journal import Board, Storage
from .test_journal import info, kept, sync
from .test_journal_pressure import MEGABYTE, board, received

FOREVER = dict(protocol=5, session_expiry_s=0xFFFFFFFF)
LATEST = dict(qos=1, quiet=1, overflow=smq.OVERFLOW_LATEST)


def new(**options: object) -> Board:
    return board(Storage(bytes(MEGABYTE)), **options)


def taken_up(storage: Storage, **options: object) -> tuple[int, Board]:
    """What the next process says, and it."""
    one = Board(Storage(storage.durable), **{"journal_bytes": MEGABYTE, "journal_batch_bytes": 16384, **options})
    while one.state() == smq.ERR_STATE:
        one.storage.carry_out(one.ask())
        if status := one.report():
            return status, one
    return smq.OK, one


def publishes(data: bytes) -> list[codec.Packet]:
    return [codec.parse(raw, 5) for raw in codec.split(data) if raw[0] >> 4 == 3]


def connect_again(one: Board, session_present: int) -> None:
    """From an open connection to the next."""
    smq.library.smq_engine_closed(one.client.handle, 0, one.now)
    for _ in range(50):
        one.client.connect()
        if any(event.type == smq.EVENT_OPEN for event in iter(one.client.take, None)):
            break
        one.now += 1000
        smq.library.smq_engine_timed_out(one.client.handle, one.now)
    assert smq.library.smq_engine_opened(one.client.handle, one.now) == smq.OK and one.sent()[0] == 0x10
    received(one, bytes([0x20, 3, session_present, 0, 0]))


def test_acknowledged_before_it_is_written():
    """Nothing is written then, nothing waits, and what comes next is written in its time."""
    with new() as one:
        one.connect(0)
        for number in range(2000):
            assert one.client.publish("a", b"x", qos=1, quiet=1) == smq.OK
            identifier = publishes(one.sent())[0].id
            assert one.ask() is None
            received(one, b"\x40\x02" + identifier.to_bytes(2, "big"))
            one.now += 25
            smq.library.smq_engine_timed_out(one.client.handle, one.now)
            assert one.ask() is None and one.sync() == 1 and one.info().stored == number + 1
            if 0xC0 in one.sent():
                received(one, b"\xd0\0")
        assert one.client.publish("b", b"x", qos=2) == smq.OK and one.ask() is None
        assert (one.info().accepted, one.info().stored) == (2001, 2000)
        assert smq.library.smq_engine_next_timeout_ms(one.client.handle, one.now) == 20
        one.now += 20
        assert one.ask().operation == smq.STORAGE_WRITE


def test_the_session_is_lost_while_it_is_written():
    """The commit that is on its way has identifiers of the old session: nothing leaves with them before the journal knows."""
    with new(**FOREVER) as one:
        one.connect(0)
        one.store()
        for number in range(3):
            assert one.client.publish("t", b"m%d" % number, qos=2, quiet=1) == smq.OK
        assert one.ask() is None
        one.now += 20
        request = one.ask()
        assert request.operation == smq.STORAGE_WRITE
        connect_again(one, session_present=0)
        assert one.sent() == b""
        for _ in range(2):
            one.storage.carry_out(request)
            one.report()
            request = one.ask()
        left = publishes(one.sent())
        one.store()
        left += publishes(one.sent())
        stored = {message.payload: message.identifier for message in Journal(one.storage.durable).waiting()}
    assert [packet.payload for packet in left] == [b"m0", b"m1", b"m2"][: len(left)]
    for packet in left:
        assert stored[packet.payload] == packet.id
    status, next = taken_up(one.storage, **FOREVER)
    with next:
        assert status == smq.OK and next.client.take().type == smq.EVENT_JOURNAL
        next.connect(1)
        again = publishes(next.sent())
        for packet in left:  # the server has them: once more, as what they are
            assert any(p.payload == packet.payload and p.id == packet.id and p.dup for p in again)


def test_a_new_session_and_a_journal_that_never_had_a_commit():
    """It knows no identifiers, so nothing has to wait for it but QoS 2."""
    with new() as one:
        assert one.client.publish("old", b"1", qos=1, quiet=1) == smq.OK
        one.connect(0)
        assert one.client.publish("new", b"2", qos=1, quiet=1) == smq.OK
        assert one.client.publish("new", b"3", qos=2, quiet=1) == smq.OK
        left = publishes(one.sent())
        for _ in range(20):
            one.now += 1000
            if one.ask():
                one.report(5)
            left += publishes(one.sent())
        assert [packet.payload for packet in left] == [b"1", b"2"]


@pytest.mark.parametrize("before, after", [(dict(protocol=4), dict(protocol=5)), (dict(protocol=3), dict(protocol=5)), (dict(protocol=4), dict(protocol=4))])
def test_a_full_outbox_of_an_older_version(before: dict, after: dict):
    """Each message grows by a byte in 5.0: there is room for that."""
    room = dict(outbox_bytes=8192, outbox_messages=1000)
    with new(**before, **room) as one:
        count = 0
        while (status := one.client.publish("t", bytes(10), qos=1, quiet=1)) == smq.OK:
            count += 1
        assert status == smq.ERR_FULL and count > 300
        one.store()
    status, next = taken_up(one.storage, **after, **room)
    with next:
        assert status == smq.OK and next.client.stats.outbox_messages == count


def test_the_largest_message_of_an_older_version():
    """It still fits into a commit, so cleaning does not get stuck with it."""
    room = dict(outbox_bytes=32768, outbox_messages=64, journal_batch_bytes=4096, journal_bytes=300 << 10)
    with Board(Storage(bytes(300 << 10)), protocol=4, **room).open() as one:
        size = 4096
        while one.client.publish("large", bytes(size), qos=1, quiet=1) != smq.OK:
            size -= 1
        one.store()
    with Board(Storage(one.storage.durable), protocol=5, **room).open() as next:
        for number in range(200):
            assert next.client.publish("t", b"%d" % number, **LATEST) == smq.OK
            next.store()
        assert [message.payload for message in Journal(next.storage.durable).waiting()] == [bytes(size), b"199"]


def test_the_limit_for_submitted_messages():
    """What smq_submit() accepts fits, with the room that stays free."""
    options = dict(url="mqtt://127.0.0.1:1", client_id="k", protocol=4, flags=smq.OPTION_KEEP_SESSION, submit_messages=4, submit_bytes=8192)
    room = dict(outbox_bytes=4096, outbox_messages=100, journal_batch_bytes=4096)
    for size in range(3700, 4097):
        with smq.Client(**options, **room, journal=f"/dev/shm/smq-test-{time.monotonic_ns()}") as client:
            Path(client.options.journal.value().decode()).unlink()
            status = client.submit("t", bytes(size), qos=1, quiet=1)
            assert client.publish("t", bytes(size), qos=1, quiet=1) == status
            if status != smq.OK:
                assert status == smq.ERR_TOO_LARGE
                return
    raise AssertionError("there is a largest one")


def test_what_has_replaced_another_counts():
    with new() as one:
        assert one.client.publish("t", b"v1", **LATEST) == smq.OK
        one.store()
        assert (one.info().accepted, one.info().stored) == (1, 1)
        assert one.client.publish("t", b"v2", **LATEST) == smq.OK
        assert (one.info().accepted, one.info().stored) == (2, 1)
        one.store()
        assert (one.info().accepted, one.info().stored) == (2, 2)
        assert [message.payload for message in Journal(one.storage.durable).waiting()] == [b"v2"]


def test_strict_refuses_what_would_replace_another():
    with new(journal_flags=smq.JOURNAL_STRICT) as one:
        assert one.client.publish("t", b"v1", **LATEST) == smq.OK
        one.store()
        assert one.client.publish("x", b"1", qos=1) == smq.OK and one.sync() == 0
        assert one.ask().operation == smq.STORAGE_WRITE
        one.report(5)
        assert one.client.publish("y", b"1", qos=1) == smq.ERR_JOURNAL
        assert one.client.publish("t", b"v2", **LATEST) == smq.ERR_JOURNAL
        assert one.client.publish("t", b"v2", store=smq.STORE_NONE, **LATEST) == smq.OK


def test_done_before_anything_was_asked():
    """It is nothing: neither is a journal begun anew that was not read, nor a sync taken for granted."""
    with new() as one:
        assert one.client.publish("t", b"v", qos=1) == smq.OK
        one.store()
    next = Board(Storage(one.storage.durable), journal_bytes=MEGABYTE, journal_batch_bytes=16384)
    with next:
        assert next.report() == next.report() == smq.OK
        assert next.open().client.stats.outbox_messages == 1
        assert next.client.publish("t", b"w", qos=1) == smq.OK and next.sync() == 0
        next.storage.carry_out(next.ask())
        assert next.report() == next.report() == smq.OK
        assert next.sync() == 0 and next.info().stored == 1
        assert next.ask().operation == smq.STORAGE_SYNC


@pytest.mark.parametrize("less", [dict(outbox_messages=64), dict(outbox_messages=1)])
def test_ends_of_messages_that_have_no_place_any_more(less: dict):
    with new(outbox_messages=200, outbox_bytes=65536) as one:
        one.connect(1)
        for _ in range(150):
            assert one.client.publish("t", b"x", qos=1, quiet=1, overflow=smq.OVERFLOW_DROP_OLDEST) == smq.OK
        one.store()
        for packet in publishes(one.sent()):
            received(one, b"\x40\x02" + packet.id.to_bytes(2, "big"))
        one.store()
    status, next = taken_up(one.storage, outbox_bytes=65536, **less)
    with next:
        assert (status, next.client.stats.outbox_messages) == (smq.OK, 0)


def test_ends_of_urgent_messages_without_a_priority_queue():
    with new(urgent_messages=4, urgent_bytes=4096) as one:
        one.connect(1)
        assert one.client.publish("t", b"x", qos=1, quiet=1, urgent=1) == smq.OK
        one.store()
        received(one, b"\x40\x02" + publishes(one.sent())[0].id.to_bytes(2, "big"))
        one.store()
    status, next = taken_up(one.storage)
    with next:
        assert status == smq.OK


def test_sync_has_what_was_submitted(tmp_path: Path):
    submitted = dict(submit_messages=1024, submit_bytes=64, outbox_bytes=MEGABYTE, outbox_messages=4000)
    with smq.Client(**kept(tmp_path / "j", **submitted)) as client:
        for _ in range(1000):
            assert client.submit("a", b"x", qos=1, quiet=1) == smq.OK
        assert sync(client) == 1
        assert (info(client).accepted, info(client).stored) == (1000, 1000)


@pytest.mark.parametrize("qos", [1, 2])
def test_a_loop_of_the_program(tmp_path: Path, qos: int):
    """After smq_publish() the timeout is 0, also without a connection: the loop goes on, and stores it."""
    with smq.Client(**kept(tmp_path / "j")) as client:
        assert client.publish("a", b"x", qos=qos) == smq.OK
        assert smq.library.smq_next_timeout_ms(client.handle) == 0
        end = time.monotonic() + 10
        while info(client).stored == 0:
            timeout = smq.library.smq_next_timeout_ms(client.handle)
            assert 0 <= timeout or time.monotonic() < end
            select.select([smq.library.smq_fd(client.handle)], [], [], 5 if timeout < 0 else timeout / 1000)
            smq.library.smq_service(client.handle)
            while client.take():
                pass
            assert time.monotonic() < end


def test_a_client_id_that_differs_each_time(tmp_path: Path):
    with pytest.raises(ValueError, match="SMQ_ERR_OPTION"):
        smq.Client(**{**kept(tmp_path / "j"), "client_id": "board-%"})
    flags = smq.OPTION_KEEP_SESSION | smq.OPTION_CLIENT_ID_AS_IS
    smq.Client(**{**kept(tmp_path / "j"), "client_id": "board-%", "flags": flags}).close()
