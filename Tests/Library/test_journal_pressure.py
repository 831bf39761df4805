"""A journal that has more to write than room, fails in between, or is taken up by another client: on the bare engine, where a
test says what the storage does."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref

import pytest

from Support import smq
from Support.journal import Journal

from .test_engine_journal import DONE, Board, Storage

MEGABYTE = 1 << 20


def board(storage: Storage, **options: object) -> Board:
    return Board(storage, **{"journal_bytes": len(storage.durable), "journal_batch_bytes": 16384, **options}).open()


def trickle(one: Board, count: int) -> None:
    """Messages that stay, each in a block of its own."""
    for _ in range(count):
        assert one.client.publish("trickle", bytes(50), qos=2, quiet=1) == smq.OK
        one.store()


def burst(one: Board, size: int = 1000) -> int:
    count = 0
    while one.client.publish("burst", bytes(size), qos=2, quiet=1) == smq.OK:
        count += 1
    return count


def commits(one: Board, most: int = 2000) -> Iterator[None]:
    """Writes commit after commit, as long as there is something; a bound, because there has to be an end."""
    for _ in range(most):
        if one.sync() == 1:
            return
        request = one.ask()
        if request is None:
            one.now += 100
            continue
        one.storage.carry_out(request)
        assert one.report() == DONE
        if request.operation == smq.STORAGE_SYNC:
            yield
    raise AssertionError(f"it never ends: {one.info().stored} of {one.info().accepted}, {one.info().used} blocks in use")


def received(one: Board, data: bytes) -> None:
    place, size = smq.ANY(), smq.SIZE()
    assert smq.library.smq_engine_receive_buffer(one.client.handle, byref(place), byref(size)) == smq.OK
    ctypes.memmove(place.value, data, len(data))
    assert smq.library.smq_engine_received(one.client.handle, len(data), one.now) == smq.OK
    while one.client.take():
        pass


LARGE = dict(outbox_bytes=MEGABYTE, outbox_messages=4096)


def test_old_messages_that_wait_behind_news():
    """They are sent next, so they get Packet Identifiers behind a burst; and they keep most of the ring."""
    with board(Storage(bytes(642 * 4096)), **LARGE) as one:
        trickle(one, 460)
        assert burst(one) > 900
        one.connect(0)
        assert sum(1 for _ in commits(one)) < 400
        assert one.info().stored == one.info().accepted and one.info().used < 490
        assert one.sent().count(b"trickle") > 0


def test_one_failure_with_a_backlog():
    storage = Storage(bytes(642 * 4096))
    with board(storage, **LARGE) as one:
        trickle(one, 460)
        accepted = 460 + burst(one)
        one.sync()
        assert one.ask().operation == smq.STORAGE_WRITE and one.report(5) == DONE
        assert sum(1 for _ in commits(one)) < 400
        assert one.info().failures == 1 and one.info().stored == one.info().accepted == accepted
        assert [what for what, *_ in one.news()] == [smq.JOURNAL_FAILED, smq.JOURNAL_HEALED]
    with board(Storage(storage.durable), **LARGE) as one:
        assert one.news() == [(smq.JOURNAL_RECOVERED, accepted, 0)]


def test_the_first_commit_fails():
    """The next one has not all that is new, and then power fails."""
    storage = Storage(bytes(MEGABYTE))
    options = dict(journal_batch_bytes=4096, outbox_bytes=65536)
    with board(storage, **options) as one:
        for _ in range(20):
            assert one.client.publish("a", bytes(1000), qos=1) == smq.OK
        one.sync()
        assert one.ask() and one.report(5) == DONE
        for _ in commits(one):
            break
        assert 0 < one.info().accepted - len(Journal(storage.durable).messages()) < 20
    with board(Storage(storage.durable), **options) as one:
        assert one.news()[0][1] == len(Journal(storage.durable).messages())


def test_ends_come_before_what_takes_their_room():
    """Messages that end while they are written: at no moment the journal has more than the outbox has room for."""
    storage, taken_up = Storage(bytes(MEGABYTE)), []
    options = dict(outbox_bytes=60 * 1046 + 200, outbox_messages=60)
    with board(storage, **options) as one:
        one.connect(0)
        received(one, b"\x34\x06\0\1a\0\7\0")  # its identifier keeps the head of the log where it is
        one.store()

        def publish() -> bool:
            return one.client.publish("t", bytes(1032), qos=1, quiet=1) == smq.OK

        assert all(publish() for _ in range(15)) and one.sync() == 0
        one.storage.carry_out(one.ask())
        assert one.report() == DONE
        request = one.ask()
        assert request.operation == smq.STORAGE_SYNC
        sent = one.sent()
        at = [place for place in range(len(sent)) if sent.startswith(b"\0\1t", place)]
        assert len(at) == 15
        while publish():
            pass
        for place in at:
            received(one, b"\x40\x02" + sent[place + 3 : place + 5])
        while publish():
            pass
        one.sync()  # the new ones are looked at
        while request:
            one.storage.carry_out(request)
            assert one.report() == DONE
            if request.operation == smq.STORAGE_SYNC:
                with board(Storage(storage.durable), **options) as next_one:
                    taken_up.append(next_one.client.stats.outbox_messages)
            one.sync()
            request = one.ask()
        assert one.info().stored == one.info().accepted
    assert len(taken_up) > 4 and max(taken_up) == 60


@pytest.mark.parametrize("qos", [1, 2])
def test_nothing_is_passed_over(qos: int):
    """There is no entry for a message until the ends of others are written, and one behind it is replaced meanwhile."""
    storage, options = Storage(bytes(MEGABYTE)), dict(outbox_messages=4)
    with board(storage, **options) as one:
        for number in range(6):
            assert one.client.publish("old", str(number), qos=1, quiet=1, overflow=smq.OVERFLOW_DROP_OLDEST) == smq.OK
            if number == 3:
                one.store()
        assert one.client.publish("important", qos=qos, overflow=smq.OVERFLOW_DROP_OLDEST) == smq.OK
        for payload in "12":
            assert one.client.publish(
                "latest", payload, qos=1, quiet=1, overflow=smq.OVERFLOW_LATEST, store=smq.STORE_NONE) == smq.OK
        one.store()
        assert one.info().stored == one.info().accepted
    assert b"important" in [message.topic for message in Journal(storage.durable).messages()]


def test_a_new_session_waits_for_a_commit_that_knows_it():
    """One that is on its way when CONNACK comes does not."""
    storage = Storage(bytes(MEGABYTE))
    with board(storage) as one:
        one.connect(1)
        assert one.client.publish("a", qos=2) == smq.OK
        one.store()
        assert one.sent()[0] == 0x34
    with board(Storage(storage.durable)) as one:
        assert one.client.publish("b", qos=1) == smq.OK
        one.sync()
        request = one.ask()
        assert request.operation == smq.STORAGE_WRITE
        one.news()
        one.connect(0)
        assert one.client.subscribe("#") == smq.OK
        one.storage.carry_out(request)
        assert one.sent() == b"" and one.report() == DONE
        one.storage.carry_out(one.ask())
        assert one.report() == DONE and one.sent() == b""
        one.store()
        assert b"\x82" in one.sent()


@pytest.mark.parametrize("batch, size", [(4096, 2000), (8192, 4030), (16384, 8060)])
def test_commits_that_have_room_for_one_message(batch: int, size: int):
    """The whole outbox gets into the ring, and the storage is left alone then."""
    options = dict(outbox_bytes=256 << 10, outbox_messages=1024, journal_batch_bytes=batch, journal_bytes=least(batch))
    with Board(Storage(bytes(4 * MEGABYTE)), **options).open() as one:
        count = burst(one, size)
        assert count > 30 and sum(1 for _ in commits(one)) < 4 * count
        assert one.info().stored == count and one.ask() is None


def least(batch: int) -> int:
    """The smallest journal that these options allow."""
    size = 64 << 10
    while True:
        options = smq.Options(
            host="a", client_id="a", flags=smq.OPTION_OWN_TRANSPORT | smq.OPTION_KEEP_SESSION, outbox_bytes=256 << 10,
            outbox_messages=1024, journal_batch_bytes=batch, journal_bytes=size)
        if smq.library.smq_options_check(byref(options), None) == smq.OK:
            return size
        size += 4096


def test_a_large_message_beside_received_ones():
    """The list of their identifiers is in each commit, and leaves no room for it."""
    with board(Storage(bytes(MEGABYTE)), journal_batch_bytes=4096, outbox_bytes=65536) as one:
        one.connect(1)
        size = 4096
        while one.client.publish("t", bytes(size), qos=2) != smq.OK:
            size -= 1
        for number in range(20):
            received(one, b"\x34\x06\0\1a" + bytes([0, number + 1]) + b"\0")
            one.sent()
            received(one, b"\x62\x02" + bytes([0, number + 1]))
            one.sync()
            for _ in range(2):
                if request := one.ask():
                    one.storage.carry_out(request)
                    assert one.report() == DONE
        assert one.info().stored == 1


def test_urgent_messages_first():
    with board(Storage(bytes(MEGABYTE)), outbox_bytes=65536, urgent_messages=4, urgent_bytes=4096, journal_batch_bytes=4096) as one:
        burst(one)
        assert one.client.publish("alarm", qos=1, urgent=1) == smq.OK
        for _ in commits(one):
            break
        assert b"alarm" in [message.topic for message in Journal(one.storage.durable).messages()]
        one.store()


def test_the_delay_comes_back_after_a_sync():
    with board(Storage(bytes(MEGABYTE)), journal_delay_ms=1000) as one:
        assert one.client.publish("a", qos=1) == smq.OK and one.sync() == 0
        request = one.ask()
        assert one.client.publish("b", qos=1) == smq.OK
        for _ in range(2):
            one.storage.carry_out(request)
            assert one.report() == DONE
            request = one.ask()
        assert request is None and 900 < smq.library.smq_engine_next_timeout_ms(one.client.handle, one.now) <= 1000


@pytest.mark.parametrize("payload", [b"", b"\x00hello", b"\x05hello", bytes(120)])
def test_messages_of_an_older_version(payload: bytes):
    """5.0 has a list of properties in PUBLISH (3.3.2.3), which 3.1.1 has not."""
    storage = Storage(bytes(MEGABYTE))
    with board(storage, protocol=4) as one:
        assert one.client.publish("a", payload, qos=1) == smq.OK
        one.store()
    with board(Storage(storage.durable), protocol=5) as one:
        one.news()
        one.connect(1)
        sent = one.sent()
        assert sent[:1] == b"\x32" and sent[-len(payload) - 1 :] == b"\0" + payload and sent.count(b"\0\1a") == 1
        assert sent[1] == len(sent) - 2 or sent[1] & 0x80
        one.store()
    # And again, as it is now.
    with board(Storage(one.storage.durable), protocol=5) as again:
        assert again.client.stats.outbox_messages == 1


def test_expiry_goes_on_while_it_is_written_again():
    storage = Storage(bytes(MEGABYTE))
    with board(storage, outbox_messages=16, outbox_bytes=4096, journal_batch_bytes=4096, journal_bytes=120 << 10) as one:
        assert one.client.publish("expires", qos=1, expiry_s=3600) == smq.OK
        one.store()
        one.now += 3_000_000
        for number in range(40):
            one.client.publish("latest", str(number), qos=1, quiet=1, overflow=smq.OVERFLOW_LATEST)
            one.store()
    found = [m.expiry for m in Journal(storage.durable[: 120 << 10]).messages() if m.topic == b"expires"]
    assert found and found[-1] <= 600
