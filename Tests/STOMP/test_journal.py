"""The journal of libswiftstomp: what was stored is sent by the next process, and a file that cannot be used is refused and left
as it is. docs/journal.md has the file's format, which Support/journal.py reads without the library."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support import smq, sst
from Support.journal import Journal, crc32c
from Support.preloaded import preloaded
from Support.waiting import wait_for

from .peer import Client as Witness
from .peer import Frame, Peer

NOWHERE = "stomp://127.0.0.1:1"
TESTS = Path(__file__).parents[1]
STORE, QUIET = sst.SEND_STORE, sst.SEND_QUIET


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def clients() -> Iterator[Callable[..., sst.Client]]:
    made: list[sst.Client] = []

    def make(**options: object) -> sst.Client:
        made.append(sst.Client(**options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def kept(path: Path, **options: object) -> dict[str, object]:
    usual = dict(url=NOWHERE, journal_delay_ms=1, outbox_bytes=8192, outbox_frames=64, reconnect_min_ms=10, reconnect_max_ms=10)
    return {**usual, "journal": str(path), **options}


class Server:
    """A server that does what the test says. It has one connection at a time, and nothing happens by itself."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"stomp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.peer: Peer | None = None

    def accept(self, client: sst.Client, version: str = "1.2") -> None:
        """The client is connecting."""
        client.until(lambda: select.select([self.listener], [], [], 0)[0])
        self.end()
        self.peer = Peer(self.listener.accept()[0])
        self.peer.socket.settimeout(0.01)
        assert self.frame(client).command == "CONNECT"
        self.peer.send("CONNECTED", version=version)
        client.wait_event(sst.EVENT_CONNECTED)

    def frame(self, client: sst.Client) -> Frame:
        """The next one that the client sends."""

        def came() -> Frame | None:
            try:
                return self.peer.receive()
            except TimeoutError:
                return None

        return client.until(came)

    def confirm(self, frame: Frame) -> None:
        self.peer.send("RECEIPT", receipt_id=frame.headers["receipt"])

    def silent(self) -> bool:
        """Nothing has come that was not read."""
        return not self.peer.unread.strip(b"\n") and not select.select([self.peer.socket], [], [], 0)[0]

    def end(self) -> None:
        if self.peer:
            self.peer.close()
            self.peer = None


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.end()
    made.listener.close()


def bodies(witness: Witness, count: int) -> list[bytes]:
    return [witness.expect("MESSAGE").body for _ in range(count)]


def stored(path: Path) -> list[bytes]:
    """The bodies that the next process has to send."""
    return [frame.body for frame in Journal(path.read_bytes()).waiting_frames()]


def refused(**options: object) -> str:
    with pytest.raises(ValueError) as caught:
        sst.Client(**options)
    return str(caught.value)


# ---- What was stored


def test_frames_of_an_earlier_process(rabbitmq, queue, clients, path):
    """They come in their order and before new ones, with the cookies that they had, and leave the journal."""
    with sst.Client(**kept(path)) as client:
        assert client.send(queue, b"not stored", cookie=100) == sst.OK
        for number in range(1, 8):
            flags = STORE | (QUIET if number == 4 else 0)
            assert client.send(queue, str(number), flags=flags, cookie=1 << 40 | number) == sst.OK
        assert (client.journal.accepted, client.journal.stored) == (7, 0)
        assert client.sync() == 1
        assert (client.journal.accepted, client.journal.stored) == (7, 7)
    client = clients(**kept(path, url=rabbitmq.url))
    # Before it is connected, and behind what there is already.
    assert client.send(queue, b"new", flags=STORE, cookie=8) == sst.OK
    assert client.send(queue, b"newest", flags=sst.SEND_RECEIPT, cookie=9) == sst.OK
    assert client.journal.accepted == 8
    assert client.news() == [(sst.JOURNAL_RECOVERED, 7, 0)]
    client.connected()
    expected = [*(1 << 40 | number for number in range(1, 8) if number != 4), 8, 9]
    assert sorted(client.completed(8)) == sorted((cookie, sst.OK) for cookie in expected)
    client.until(lambda: client.stats.outbox_frames == 0)
    assert client.sync() == 1 and client.journal.stored == client.journal.accepted == 8
    assert not client.events and client.stats.connections == 1
    client.close()
    witness = Witness(rabbitmq)
    witness.subscribe(queue)
    assert bodies(witness, 9) == [*(b"%d" % number for number in range(1, 8)), b"new", b"newest"]
    witness.close()
    assert stored(path) == [] and clients(**kept(path)).news() == []


def test_each_broker(broker, queue, clients, path):
    options = kept(path, virtual_host=broker.virtual_host)
    with sst.Client(**options) as client:
        for number in range(5):
            assert client.send(queue, str(number), flags=STORE, cookie=number) == sst.OK
        assert client.sync() == 1
    client = clients(**{**options, "url": broker.url})
    client.connected()
    assert sorted(client.completed(5)) == [(number, sst.OK) for number in range(5)]
    assert client.sync() == 1 and stored(path) == []
    witness = Witness(broker)
    witness.subscribe(queue)
    assert bodies(witness, 5) == [b"%d" % number for number in range(5)]
    witness.close()


def test_the_file(clients, path):
    """Another program's reading of docs/journal.md finds what was sent, and nothing else."""
    with sst.Client(**kept(path, journal_bytes=262_144)) as client:
        assert path.stat().st_size == 262_144 and path.stat().st_mode & 0o777 == 0o600
        assert [each.name for each in path.parent.iterdir()] == ["journal"]
        more = sst.headers(colour="a:b")
        assert client.send("/queue/a", bytes(5000), flags=STORE, cookie=5, content_type="text/plain", headers=more) == sst.OK
        assert client.send("/queue/b", b"y", flags=STORE | QUIET | sst.SEND_NO_LENGTH, cookie=(1 << 64) - 1) == sst.OK
        assert client.send("/queue/b", b"lost") == sst.OK
        assert client.sync() == 1
        assert client.send("/queue/a", flags=STORE, cookie=6) == sst.OK
        assert client.sync() == 1
    journal = Journal(path.read_bytes())
    assert journal.blocks == 62 and [commit.count for commit in journal.commits] == [2, 1]
    assert {record.kind for commit in journal.commits for record in commit.records} == {16}
    first, second, third = journal.waiting_frames()
    assert (first.serial, first.cookie, first.quiet, first.body) == (1, 5, False, bytes(5000))
    assert set(first.headers) == {
        b"destination:/queue/a", b"content-type:text/plain", b"content-length:5000", rb"colour:a\cb"}
    assert (second.serial, second.cookie, second.quiet, second.body) == (2, (1 << 64) - 1, True, b"y")
    assert second.headers == [b"destination:/queue/b"]
    assert (third.serial, third.cookie, third.body) == (3, 6, b"") and third.dialect == second.dialect != first.dialect


def test_numbers_of_receipts(server, clients, path):
    """Each process gives its own: whatever the journal and the queue have, the server's answer finds its frame."""
    with sst.Client(**kept(path, url=server.url)) as client:
        client.connect()
        server.accept(client)
        for number in range(5):
            assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
        frames = [server.frame(client) for _ in range(5)]
        assert [frame.body for frame in frames] == [b"0", b"1", b"2", b"3", b"4"]
        for frame in frames[:2]:
            server.confirm(frame)
        assert client.completed(2) == [(0, sst.OK), (1, sst.OK)]
        assert client.sync() == 1
    client = clients(**kept(path, url=server.url))
    assert client.send("a", b"5", flags=sst.SEND_RECEIPT, cookie=5) == sst.OK
    assert client.send("a", b"6", flags=STORE, cookie=6) == sst.OK
    assert client.news() == [(sst.JOURNAL_RECOVERED, 3, 0)]
    client.connect()
    server.accept(client)
    frames = [server.frame(client) for _ in range(5)]
    assert [frame.body for frame in frames] == [b"2", b"3", b"4", b"5", b"6"]
    assert len({int(frame.headers["receipt"]) for frame in frames}) == 5
    for frame in reversed(frames):
        server.confirm(frame)
    assert client.completed(5) == [(cookie, sst.OK) for cookie in (6, 5, 4, 3, 2)]
    assert client.sync() == 1
    client.close()
    assert stored(path) == []


def test_a_connection_that_breaks(server, clients, path):
    """What was stored is sent again, whether SST_SEND_AGAIN is set or not, and needs no second record."""
    client = clients(**kept(path, url=server.url))
    client.connect()
    server.accept(client)
    assert client.send("a", b"1", flags=STORE, cookie=1) == sst.OK
    first = server.frame(client)
    assert client.sync() == 1
    before = path.read_bytes()
    server.end()
    client.wait_event(sst.EVENT_DISCONNECTED)
    server.accept(client)
    again = server.frame(client)
    assert again == first
    assert client.sync() == 1 and path.read_bytes() == before
    server.confirm(again)
    assert client.completed(1) == [(1, sst.OK)]


def test_many_laps(server, clients, path):
    """The file keeps its size, and what stays in it is written on ahead of what does not."""
    client = clients(**kept(path, url=server.url, journal_batch_bytes=4096, outbox_bytes=4096, outbox_frames=16))
    size, blocks = path.stat().st_size, client.journal.blocks
    client.connect()
    server.accept(client)
    for _ in range(10):
        frames = []
        for number in range(16):
            assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
            assert client.sync() == 1
            frames.append(server.frame(client))
        for number in range(15, 0, -1):
            server.confirm(frames[number])
            assert client.completed(1) == [(number, sst.OK)]
            assert client.sync() == 1
        # It is the oldest one, and by now on a place that it has got anew.
        assert stored(path) == [b"0"]
        server.confirm(frames[0])
        assert client.completed(1) == [(0, sst.OK)]
        assert client.journal.used <= blocks and client.journal.failures == 0 and path.stat().st_size == size
    assert 2 * 16 * 10 > 10 * blocks


def test_many_frames_at_once(rabbitmq, queue, clients, path):
    """A full outbox is taken up, in its order, and so is what comes behind it."""
    options = kept(path, outbox_bytes=1 << 18, outbox_frames=2000)
    with sst.Client(**options) as client:
        count = 0
        while (status := client.send(queue, b"%d" % count * (count % 50 + 1), flags=STORE | QUIET)) == sst.OK:
            count += 1
        assert status == sst.ERR_FULL and count > 500
        assert client.sync() == 1
    client = clients(**{**options, "url": rabbitmq.url})
    assert client.news() == [(sst.JOURNAL_RECOVERED, count, 0)]
    client.connected()
    client.until(lambda: client.stats.outbox_frames == 0)
    assert client.sync() == 1 and client.stats.messages_sent == count and client.stats.connections == 1
    client.close()
    witness = Witness(rabbitmq)
    witness.subscribe(queue)
    assert bodies(witness, count) == [b"%d" % number * (number % 50 + 1) for number in range(count)]
    witness.close()
    assert stored(path) == []


def test_tell(clients, path):
    client = clients(**kept(path, journal_flags=sst.JOURNAL_TELL))
    client.send("a", b"1", flags=STORE)
    client.send("a", b"2", flags=STORE)
    assert client.sync() == 1
    assert client.news() == [(sst.JOURNAL_STORED, 2, 0)]


def test_a_loop_of_the_program(clients, path):
    """After sst_send() the timeout is 0, also without a connection: the loop goes on, and stores it."""
    client = clients(**kept(path))
    assert client.send("a", b"x", flags=STORE) == sst.OK and client.timeout_ms == 0

    def is_stored() -> bool:
        timeout = client.timeout_ms
        assert timeout >= 0 or client.journal.stored == 0
        select.select([sst.library.sst_fd(client.handle)], [], [], 5 if timeout < 0 else timeout / 1000)
        assert sst.library.sst_service(client.handle) in (0, 1)
        client.collect()
        return client.journal.stored == 1

    wait_for(is_stored)


def test_inline(clients, path):
    """Without a thread the loop sleeps until the delay is over, and sst_sync() does not wait for it."""
    begin, descriptors = threads(), len(os.listdir("/proc/self/fd"))
    client = clients(**kept(path, journal_delay_ms=60_000, journal_flags=sst.JOURNAL_INLINE))
    assert threads() == begin
    assert client.send("a", b"1", flags=STORE) == sst.OK
    assert sst.library.sst_service(client.handle) == 0
    assert 10_000 < client.timeout_ms <= 60_000
    assert client.sync() == 1
    client.close()
    other = clients(**kept(path))
    assert threads() == begin + 1 and other.news() == [(sst.JOURNAL_RECOVERED, 1, 0)]
    other.close()
    assert threads() == begin and len(os.listdir("/proc/self/fd")) == descriptors


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


# ---- Submitted by other threads


def test_submitted(clients, path):
    options = kept(path, submit_frames=64, submit_bytes=8000, outbox_bytes=65536, journal_batch_bytes=4096)
    client = clients(**options)

    def submit() -> None:
        for number in range(20):
            assert client.submit("a", str(number), flags=STORE, cookie=number) == sst.OK

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join()
    # One that no commit has room for is refused, rather than kept in front of the others for ever.
    assert client.submit("a", bytes(5000), flags=STORE) == sst.ERR_TOO_LARGE
    assert client.submit("a", bytes(5000), cookie=20) == sst.OK
    client.until(lambda: client.stats.submit_waiting == 0)
    assert client.sync() == 1
    assert (client.journal.accepted, client.journal.stored, client.stats.outbox_frames) == (20, 20, 21)
    client.close()
    assert stored(path) == [b"%d" % number for number in range(20)]
    next_one = clients(**options)
    assert next_one.news() == [(sst.JOURNAL_RECOVERED, 20, 0)]


@pytest.mark.parametrize("flags", [0, sst.JOURNAL_INLINE], ids=["two threads", "one thread"])
def test_a_runner(rabbitmq, queue, clients, path, flags):
    """A thread of the library owns the client; others submit, and what they submitted is stored and confirmed."""
    client = clients(**kept(path, url=rabbitmq.url, submit_frames=256, submit_bytes=64, journal_flags=flags))
    runner, options = sst.Runner(), sst.RunnerOptions()
    witness = Witness(rabbitmq)
    witness.subscribe(queue)
    assert sst.library.sst_runner_start(ctypes.byref(runner), client.handle, ctypes.byref(options)) == sst.OK
    for number in range(200):
        assert client.submit(queue, str(number), flags=STORE | QUIET) == sst.OK
    assert bodies(witness, 200) == [b"%d" % number for number in range(200)]
    witness.close()
    assert sst.library.sst_runner_stop(ctypes.byref(runner), 60_000) == sst.OK
    assert client.sync() == 1 and client.journal.stored == client.journal.accepted == client.stats.messages_sent == 200
    client.close()
    assert stored(path) == []


def test_submitted_without_a_journal(clients):
    client = clients(url=NOWHERE, submit_frames=4)
    assert client.submit("a", flags=STORE) == sst.ERR_JOURNAL
    assert client.send("a", flags=STORE) == sst.ERR_JOURNAL
    assert client.stats.submit_waiting == client.stats.outbox_frames == 0


# ---- What a server refuses, or does not have


def test_a_refused_frame_leaves_the_journal(server, clients, path):
    """ERROR says which frame it refuses; the others are sent again."""
    client = clients(**kept(path, url=server.url))
    for number in range(3):
        assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
    assert client.sync() == 1
    client.connect()
    server.accept(client)
    frames = [server.frame(client) for _ in range(3)]
    server.confirm(frames[0])
    server.peer.send("ERROR", receipt_id=frames[1].headers["receipt"], message="no")
    assert client.completed(2) == [(0, sst.OK), (1, sst.ERR_REFUSED)]
    server.accept(client)
    again = server.frame(client)
    assert again.body == b"2"
    assert client.sync() == 1 and stored(path) == [b"2"]
    server.confirm(again)
    assert client.completed(1) == [(2, sst.OK)]


def test_an_error_that_names_no_frame(server, clients, path):
    """Those that may have been at fault go one by one then, and the one with which it happens twice is refused."""
    client = clients(**kept(path, url=server.url))
    again = sst.SEND_RECEIPT | sst.SEND_AGAIN
    for number, flags in enumerate([STORE, again, STORE | QUIET, STORE]):
        assert client.send("a", str(number), flags=flags, cookie=number) == sst.OK
    assert client.sync() == 1 and client.subscribe("b", cookie=100) == 0
    client.connect()
    server.accept(client)
    frames = [server.frame(client) for _ in range(5)]
    assert [frame.body for frame in frames] == [b"", b"0", b"1", b"2", b"3"]
    server.confirm(frames[0])
    server.peer.send("ERROR", message="no")

    def alone(body: bytes) -> Frame:
        frame = server.frame(client)
        for _ in range(5):
            client.step(0)
        assert frame.body == body and server.silent()
        return frame

    server.accept(client)
    server.confirm(alone(b""))  # SUBSCRIBE goes alone as well
    server.confirm(alone(b"0"))
    for _ in range(2):
        alone(b"1")
        server.peer.send("ERROR", message="no")
        server.accept(client)
        server.confirm(alone(b""))
    server.confirm(alone(b"2"))
    last = alone(b"3")
    assert client.send("a", b"4", flags=STORE, cookie=4) == client.send("a", b"5", flags=STORE, cookie=5) == sst.OK
    server.confirm(last)
    for frame in [server.frame(client) for _ in range(2)]:  # as ever
        server.confirm(frame)
    assert client.completed(6) == [
        (100, sst.OK), (0, sst.OK), (1, sst.ERR_REFUSED), (3, sst.OK), (4, sst.OK), (5, sst.OK)]
    assert client.sync() == 1 and stored(path) == []


def test_a_destination_that_rabbitmq_does_not_know(rabbitmq, queue, clients, path):
    """Its ERROR names no frame. The others arrive, and that one is not sent for ever."""
    with sst.Client(**kept(path)) as client:
        for number, destination in enumerate([queue, "/nowhere/a", queue, queue]):
            assert client.send(destination, str(number), flags=STORE, cookie=number) == sst.OK
        assert client.sync() == 1
    client = clients(**kept(path, url=rabbitmq.url))
    client.connected()
    client.until(lambda: len(client.of(sst.EVENT_COMPLETED)) == 4 or client.stats.connections == 20)
    assert client.stats.connections < 20
    assert sorted(client.completed(4)) == [(0, sst.OK), (1, sst.ERR_REFUSED), (2, sst.OK), (3, sst.OK)]
    assert client.sync() == 1 and stored(path) == []


@pytest.mark.parametrize("sent", [False, True], ids=["new", "of an earlier process"])
def test_a_version_that_does_not_have_it(server, clients, path, sent):
    """An escape of 1.2, and the server speaks 1.0: the frame is never sent, and leaves the journal."""
    client = clients(**kept(path, url=server.url))
    assert client.send("a", b"1", flags=STORE, cookie=1, headers=sst.headers(colour="a:b")) == sst.OK
    assert client.send("a", b"2", flags=STORE, cookie=2) == sst.OK
    assert client.sync() == 1
    if sent:
        client.close()
        client = clients(**kept(path, url=server.url, newest=sst.STOMP_1_0))
        assert client.news() == [(sst.JOURNAL_RECOVERED, 2, 0)]
    client.connect()
    server.accept(client, "1.0")
    frame = server.frame(client)
    assert frame.body == b"2"
    # It may have been sent before, by a process of which nobody knows.
    assert client.completed(1) == [(1, sst.ERR_UNKNOWN if sent else sst.ERR_SERVER_LIMIT)]
    server.confirm(frame)
    assert client.completed(1) == [(2, sst.OK)]
    assert server.silent() and client.sync() == 1 and stored(path) == []


# ---- A file that cannot be used


def test_locked(clients, path):
    clients(**kept(path))
    before = path.read_bytes()
    assert refused(**kept(path)) == "SST_ERR_JOURNAL_LOCKED"
    assert path.read_bytes() == before


def test_locked_by_another_process(clients, path):
    clients(**kept(path)).close()
    code = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"
    held = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert held.stdout.readline() == b"1\n"
        assert refused(**kept(path)) == "SST_ERR_JOURNAL_LOCKED"
    finally:
        held.communicate()
    assert clients(**kept(path)).news() == []


def test_the_other_library(clients, path):
    """Neither takes up what the other has left, and neither changes it."""
    flags = smq.OPTION_KEEP_SESSION
    mqtt = dict(url="mqtt://127.0.0.1:1", client_id="STOMP", flags=flags, outbox_bytes=8192, outbox_messages=64)
    smq.Client(**mqtt, journal=str(path)).close()
    before = path.read_bytes()
    assert refused(**kept(path)) == "SST_ERR_JOURNAL_OTHER"
    assert path.read_bytes() == before
    other = path.with_name("other")
    clients(**kept(other)).close()
    before = other.read_bytes()
    with pytest.raises(ValueError, match="^SMQ_ERR_JOURNAL_OTHER$"):
        smq.Client(**mqtt, journal=str(other))
    assert other.read_bytes() == before


def test_a_newer_version(clients, path):
    clients(**kept(path)).close()
    data = bytearray(path.read_bytes())
    for start in (0, 4096):
        data[start + 12] = 2
        data[start + 8:start + 12] = struct.pack("<I", crc32c(data[start:start + 8] + data[start + 12:start + 64]))
    path.write_bytes(data)
    assert refused(**kept(path)) == "SST_ERR_JOURNAL_OTHER"
    assert path.read_bytes() == data


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"x" * 100_000, bytes(100_000)], ids=["empty", "short", "text", "zeros"])
def test_no_journal(path, content):
    path.write_bytes(content)
    assert refused(**kept(path)) == "SST_ERR_JOURNAL_CORRUPT"
    assert path.read_bytes() == content


def test_cut_short(path):
    with sst.Client(**kept(path)) as client:
        client.send("a", flags=STORE)
        client.sync()
    os.truncate(path, 8192)
    assert refused(**kept(path)) == "SST_ERR_JOURNAL_CORRUPT"


def test_corruption(clients, path):
    with sst.Client(**kept(path)) as client:
        for _ in range(3):
            client.send("a", b"x" * 100, flags=STORE)
            client.sync()
    data = bytearray(path.read_bytes())
    for offset in random.Random(1).sample(range(8192, 8192 + 200), 20):
        damaged = bytearray(data)
        damaged[offset] ^= 1
        path.write_bytes(damaged)
        assert refused(**kept(path)) == "SST_ERR_JOURNAL_CORRUPT"
        assert path.read_bytes() == damaged
    # The last commit may be one that was being written.
    data[8192 + 2 * 4096 + 100] ^= 1
    path.write_bytes(data)
    client = clients(**kept(path))
    assert client.news() == [(sst.JOURNAL_RECOVERED, 2, 0)] and client.journal.torn == 1


def test_no_such_directory(tmp_path):
    descriptors = os.listdir("/proc/self/fd")
    ctypes.set_errno(0)
    assert refused(**kept(tmp_path / "nowhere" / "journal")) == "SST_ERR_JOURNAL"
    assert ctypes.get_errno() == errno.ENOENT and os.listdir("/proc/self/fd") == descriptors
    assert refused(**kept(tmp_path)) == "SST_ERR_JOURNAL" and ctypes.get_errno() == errno.EISDIR


def test_no_room_for_the_file(path):
    """Nothing is left behind, and no file that is not whole has the name."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        assert refused(**kept(path)) == "SST_ERR_JOURNAL"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ctypes.get_errno() in (errno.EFBIG, errno.ENOSPC) and list(path.parent.iterdir()) == []


@pytest.mark.parametrize("less", [dict(outbox_frames=16), dict(outbox_bytes=1024)], ids=["frames", "bytes"])
def test_more_than_there_is_room_for(clients, path, less):
    with sst.Client(**kept(path)) as client:
        for _ in range(60):
            assert client.send("a", b"x" * 20, flags=STORE) == sst.OK
        client.sync()
    before = path.read_bytes()
    assert refused(**kept(path, **less)) == "SST_ERR_JOURNAL_SIZE"
    assert path.read_bytes() == before and [each.name for each in path.parent.iterdir()] == ["journal"]
    assert clients(**kept(path)).news() == [(sst.JOURNAL_RECOVERED, 60, 0)]


def test_another_size(clients, path):
    """A larger outbox needs a larger file, so it gets one with the same frames; a size that is asked for is made as well."""
    with sst.Client(**kept(path)) as client:
        for number in range(50):
            assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
            assert client.sync() == 1
    before = path.stat()
    for options in (dict(outbox_bytes=1 << 20), dict(journal_bytes=1 << 19), dict(journal_bytes=1 << 21)):
        with sst.Client(**kept(path, **options)) as client:
            assert client.news() == [(sst.JOURNAL_RECOVERED, 50, 0)]
        assert [each.name for each in path.parent.iterdir()] == ["journal"]
        assert path.stat().st_ino != before.st_ino and path.stat().st_size != before.st_size
        assert path.stat().st_mode & 0o777 == 0o600
        before = path.stat()
        assert stored(path) == [b"%d" % number for number in range(50)]


HOSTILE = """
    import pathlib, random, socket, sys
    sys.path.insert(0, sys.argv[1])
    from Support import sst
    from Support.hostile import mutated
    path, first, count = pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    whole, found = path.read_bytes(), {}
    listener = socket.create_server(("127.0.0.1", 0))
    url = "stomp://127.0.0.1:%d" % listener.getsockname()[1]

    def use(client):
        # All that was taken up is sent, as bytes that the server can make of what it likes.
        taken_up = client.take()
        assert (client.stats.outbox_frames or taken_up is None) and client.sync(2000) == 1
        client.connect()
        client.until(lambda: client.stats.attempts)
        server = listener.accept()[0]
        server.sendall(b"CONNECTED\\nversion:1.2\\n\\n\\0")
        client.wait_event(sst.EVENT_CONNECTED)
        client.until(lambda: client.stats.receipts_due >= client.stats.outbox_frames - len(client.of(sst.EVENT_COMPLETED)))
        server.close()

    for seed in range(first, first + count):
        print(seed, flush=True)
        path.write_bytes(mutated(whole, random.Random(seed)))
        try:
            with sst.Client(url=url, flags=sst.OPTION_NO_RECONNECT, journal_delay_ms=1, outbox_bytes=8192, outbox_frames=64,
                            journal=str(path)) as client:
                use(client)
            status = "SST_OK"
        except ValueError as error:
            status = str(error)
        found[status] = found.get(status, 0) + 1
    print(found)
"""


def test_hostile_content(path):
    """A file whose checksums are right and whose content no library wrote: it is taken up or refused, and nothing stops."""
    with sst.Client(**kept(path)) as client:
        for number in range(12):
            more = sst.headers(colour="a:b" if number % 3 else "plain")
            client.send("/queue/a", b"body %d" % number, flags=STORE | QUIET * (number % 2), headers=more)
        client.sync()
        for number in range(8):
            client.send("/topic/b", b"x" * 500, flags=STORE)
        client.sync()
    count = int(os.environ.get("HOSTILE", "300"))
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HOSTILE), str(TESTS), path, "0", str(count)],
        capture_output=True, text=True, timeout=200 + count / 5)
    assert run.returncode == 0, (run.stdout.splitlines()[-1:], run.stderr)
    found = eval(run.stdout.splitlines()[-1])
    refusals = {f"SST_ERR_JOURNAL_{name}" for name in ("CORRUPT", "OTHER", "SIZE")}
    assert set(found) == {"SST_OK", *refusals}, found


# ---- The disk fails


@pytest.mark.parametrize("flags", [0, sst.JOURNAL_STRICT, sst.JOURNAL_INLINE], ids=["thread", "strict", "inline"])
def test_failed_and_healed(clients, path, flags):
    client = clients(**kept(path, journal_flags=flags, submit_frames=4))
    assert client.send("a", b"1", flags=STORE, cookie=1) == sst.OK
    assert client.sync() == 1
    strict = flags == sst.JOURNAL_STRICT
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))  # what is behind it cannot be written
    try:
        assert client.send("a", b"2", flags=STORE, cookie=2) == sst.OK
        assert client.sync() == sst.ERR_JOURNAL
        assert client.sync() == sst.ERR_JOURNAL
        assert client.news() == [(sst.JOURNAL_FAILED, 0, errno.EFBIG)]
        assert client.journal.os_error == errno.EFBIG and client.journal.failures >= 1 and client.journal.stored == 1
        # An alarm must still leave; without a journal it may be that none is wanted.
        assert client.send("a", b"3", flags=STORE, cookie=3) == (sst.ERR_JOURNAL if strict else sst.OK)
        assert client.send("a", b"0") == sst.OK
        assert client.submit("a", b"4", flags=STORE, cookie=4) == sst.OK
        client.until(lambda: client.stats.submit_waiting == 0)
        if strict:
            assert client.completed(1) == [(4, sst.ERR_JOURNAL)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert client.until(client.news) == [(sst.JOURNAL_HEALED, 0, 0)]
    assert client.sync() == 1 and client.journal.stored == client.journal.accepted
    assert client.send("a", b"5", flags=STORE, cookie=5) == sst.OK
    assert client.sync() == 1
    client.close()
    assert stored(path) == ([b"1", b"2", b"5"] if strict else [b"1", b"2", b"3", b"4", b"5"])


def test_frames_go_on_while_the_disk_fails(server, clients, path):
    """Without SST_JOURNAL_STRICT they are accepted, sent and confirmed: many more than the journal has entries for."""
    client = clients(**kept(path, url=server.url, outbox_frames=4))
    client.connect()
    server.accept(client)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        assert client.send("a", b"0", flags=STORE, cookie=0) == sst.OK
        assert client.sync() == sst.ERR_JOURNAL
        server.confirm(server.frame(client))
        assert client.completed(1) == [(0, sst.OK)]
        for number in range(1, 100):
            assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
            server.confirm(server.frame(client))
            assert client.completed(1) == [(number, sst.OK)]
        assert client.send("a", b"last", flags=STORE) == sst.OK
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    client.until(lambda: client.journal.stored == client.journal.accepted)
    client.close()
    assert stored(path) == [b"last"]


# ---- Pressure


def test_a_full_outbox(server, clients, path):
    client = clients(**kept(path, url=server.url, outbox_bytes=1024))
    client.connect()
    server.accept(client)
    count = 0
    while (status := client.send("a", b"x" * 50, flags=STORE, cookie=count)) == sst.OK:
        count += 1
    assert status == sst.ERR_FULL and count < 64
    frames = [server.frame(client) for _ in range(count)]
    assert client.sync() == 1 and not client.of(sst.EVENT_ROOM)
    for frame in frames:
        server.confirm(frame)
    assert client.completed(count) == [(cookie, sst.OK) for cookie in range(count)]
    client.wait_event(sst.EVENT_ROOM)
    assert client.send("a", b"x" * 50, flags=STORE) == sst.OK


def test_frames_that_have_ended_wait_for_the_disk(server, clients, path):
    """The journal has entries for half as many more frames as the outbox. Those that find none are accepted, are sent, and get
    one when the ends of others are written."""
    client = clients(**kept(path, url=server.url, outbox_frames=8, journal_delay_ms=60_000))
    client.connect()
    server.accept(client)
    accepted = 0

    def send(count: int) -> list[Frame]:
        nonlocal accepted
        for number in range(count):
            assert client.send("a", f"{accepted + number}", flags=STORE, cookie=accepted + number) == sst.OK
        accepted += count
        assert client.journal.accepted == accepted
        return [server.frame(client) for _ in range(count)]

    def confirm(frames: list[Frame]) -> None:
        for frame in frames:
            server.confirm(frame)
        assert client.completed(len(frames)) == [(int(frame.body), sst.OK) for frame in frames]

    for _ in range(3):
        first = send(8)
        assert client.sync() == 1
        confirm(first)
        second = send(8)  # four of them find no entry
        assert client.journal.stored < accepted
        confirm([second[0], second[5], second[6]])  # and two of these are done without one
        third = send(1)
        assert client.sync() == 1 and client.journal.stored == accepted
        left = [second[at] for at in (1, 2, 3, 4, 7)] + third
        assert stored(path) == [frame.body for frame in left]
        confirm(left)


def test_confirmed_before_it_is_written(server, clients, path):
    """Nothing is written then, and nothing waits."""
    client = clients(**kept(path, url=server.url, journal_delay_ms=60_000, outbox_frames=8))
    client.connect()
    server.accept(client)
    before, done = path.read_bytes(), 0
    for number in range(200):
        assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
        server.confirm(server.frame(client))
        assert client.completed(1) == [(number, sst.OK)]
        assert client.journal.accepted == number + 1 and done <= client.journal.stored <= number + 1
        done = client.journal.stored
        if number % 30 == 29:
            assert client.sync(0) == 1 and client.journal.stored == number + 1
    assert client.sync(0) == 1 and client.journal.stored == 200
    client.close()
    assert path.read_bytes() == before


SLOW = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <semaphore.h>
    #include <unistd.h>
    static volatile int slow;
    static sem_t gate, arrived;
    __attribute__((constructor)) static void begin(void) { sem_init(&gate, 0, 0), sem_init(&arrived, 0, 0); }
    int fdatasync(int descriptor) {
        if (slow) { sem_post(&arrived); sem_wait(&gate); }
        return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(descriptor);
    }
    void hold(void) { slow = 1; }
    void let(void) { sem_post(&gate); }
    int came(void) { return sem_trywait(&arrived) == 0; }
    void let_all(void) { slow = 0; sem_post(&gate); }
"""

SLOWLY = """
    import ctypes, sys
    from pathlib import Path
    from STOMP.test_journal import Server, kept, stored, STORE
    from Support import sst
    disk, path, server = ctypes.CDLL(None), Path(sys.argv[1]), Server()
    client = sst.Client(**kept(path, url=server.url, outbox_frames=2000, outbox_bytes=1 << 18))
    client.connect()
    server.accept(client)
    disk.hold()
    frames = []

    def send(count):
        begin = len(frames)
        for number in range(begin, begin + count):
            assert client.send("a", str(number), flags=STORE, cookie=number) == sst.OK
        frames.extend(server.frame(client) for _ in range(count))

    def confirm(some):
        for frame in some:
            server.confirm(frame)
        assert client.completed(len(some)) == [(int(frame.body), sst.OK) for frame in some]

    for round in range(4):
        send(500)
        client.until(disk.came)  # a commit is in the disk's hands, and stays there
        begin = 500 * round
        confirm(frames[begin:begin + 250])  # which end while they are written, or before
        assert client.sync(0) == 0
        confirm(frames[begin + 250:begin + 490])
        disk.let()
        while client.journal.stored <= begin:
            client.step(5)
            if disk.came():
                disk.let()
    disk.let_all()
    assert client.sync() == 1 and client.journal.stored == client.journal.accepted == 2000
    client.close()
    expected = [b"%d" % number for number in range(2000) if number % 500 >= 490]
    assert stored(path) == expected, stored(path)
    with sst.Client(**kept(path, outbox_frames=2000, outbox_bytes=1 << 18)) as client:
        assert client.news() == [(sst.JOURNAL_RECOVERED, 40, 0)]
"""


def test_a_slow_disk(tmp_path, path):
    """Frames end before they are written, while they are, and after it; the journal has those that have not."""
    preloaded(tmp_path, SLOW, SLOWLY, str(path))


@pytest.mark.parametrize("batch, size", [(4096, 2000), (8192, 4030), (16384, 8060)])
def test_commits_that_have_room_for_one_frame(clients, path, batch, size):
    """The whole outbox gets into the smallest ring."""
    options = kept(path, outbox_bytes=256 << 10, outbox_frames=1024, journal_batch_bytes=batch)
    client, count = clients(**options), 0
    while client.send("a", bytes(size), flags=STORE | QUIET) == sst.OK:
        count += 1
    assert count > 30 and client.sync() == 1
    assert client.journal.stored == count and client.journal.used <= client.journal.blocks and client.journal.failures == 0
    client.close()
    assert clients(**options).news() == [(sst.JOURNAL_RECOVERED, count, 0)]


def test_old_frames_and_a_burst(clients, path):
    """Frames that stay, each in a commit of its own, would take more blocks than there are."""
    options = kept(path, outbox_bytes=256 << 10, outbox_frames=512, journal_batch_bytes=16384)
    client, count = clients(**options), 0
    for _ in range(400):
        assert client.send("a", b"%d" % count, flags=STORE | QUIET) == sst.OK and client.sync() == 1
        count += 1
    assert client.journal.blocks < 400
    while client.send("a", b"%d" % count * 300, flags=STORE | QUIET) == sst.OK:
        count += 1
    assert client.sync() == 1 and client.journal.stored == count > 410 and client.journal.used <= client.journal.blocks
    client.close()
    assert [int(body[:3]) for body in stored(path)] == list(range(count))


class Turns:
    """A client, a server and a disk that do things in a random order, and what has to be in the journal by then."""

    def __init__(self, server: Server, path: Path, seed: int):
        self.chance, self.server, self.path = random.Random(seed), server, path
        self.options = kept(
            path, url=server.url, outbox_frames=6, outbox_bytes=2048, journal_batch_bytes=4096,
            journal_delay_ms=self.chance.choice([1, 20, 60_000]), journal_flags=self.chance.choice([0, sst.JOURNAL_INLINE]))
        self.number = 0
        self.live: dict[int, int] = {}  # which were accepted and have not ended: their positions
        self.gone: set[int] = set()  # which have ended, and the journal knew it
        self.ended: set[int] = set()
        self.failed = False
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.client = sst.Client(**self.options)
        self.client.connect()
        self.accept()

    def accept(self) -> None:
        self.server.accept(self.client)
        self.pending: list[Frame] = []

    def take(self) -> None:
        """Has the server read what has come, and the program what has ended."""
        self.client.step(0)
        while len(self.pending) < self.client.stats.receipts_due:
            self.pending.append(self.server.frame(self.client))
        for event in self.client.of(sst.EVENT_COMPLETED):
            assert event.status == sst.OK
            del self.live[event.cookie]
            self.ended.add(event.cookie)
        self.client.events.clear()

    def send(self) -> None:
        for _ in range(self.chance.choice([1, 1, 2, 6])):
            body = b"%d " % self.number + bytes(self.chance.choice([0, 0, 100, 700]))
            status = self.client.send("a", body, flags=STORE, cookie=self.number)
            assert status in (sst.OK, sst.ERR_FULL)
            if status == sst.OK:
                self.live[self.number] = self.client.journal.accepted
            self.number += 1
        self.take()

    def confirm(self) -> None:
        self.take()
        for frame in self.chance.sample(self.pending, self.chance.randint(0, len(self.pending))):
            self.server.confirm(frame)
            self.pending.remove(frame)
        due = len(self.pending)
        self.client.until(lambda: self.client.stats.receipts_due == due)
        self.take()

    def sync(self) -> None:
        if self.client.sync() == 1:
            assert self.client.journal.stored == self.client.journal.accepted
            self.gone |= self.ended
            if not self.failed:  # which the reader in Python does not understand
                assert [numbered(body) for body in stored(self.path)] == list(self.live)

    def connection(self) -> None:
        self.server.end()
        self.client.wait_event(sst.EVENT_DISCONNECTED)
        self.take()
        self.accept()

    def disk(self) -> None:
        """It fails from some block on, until it is mended."""
        self.failed = True
        blocks = self.client.journal.blocks
        resource.setrlimit(resource.RLIMIT_FSIZE, ((2 + self.chance.randrange(blocks)) * 4096, self.limits[1]))

    def mend(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)

    def process(self) -> None:
        """It ends, and the next one begins, and sends what it has taken up."""
        self.mend()
        durable, before = self.client.journal.stored, self.live
        self.client.close()
        self.server.end()
        self.client = sst.Client(**self.options)
        news = self.client.news()
        count = news[0][1] if news else 0
        assert news == ([(sst.JOURNAL_RECOVERED, count, 0)] if count else [])
        self.client.connect()
        self.accept()
        self.pending = [self.server.frame(self.client) for _ in range(count)]
        found = [numbered(frame.body) for frame in self.pending]
        assert found == sorted(set(found)) and self.server.silent()
        assert {number for number, position in before.items() if position <= durable} <= set(found)
        assert set(found) <= self.ended - self.gone | before.keys()
        self.live = dict.fromkeys(found, 0)
        self.ended -= set(found)


def numbered(body: bytes) -> int:
    return int(body.split(b" ")[0])


@pytest.mark.parametrize("seed", range(int(os.environ.get("TURNS", "6"))))
def test_turns(server, path, seed):
    """In any order: frames are sent and confirmed, connections break, the disk fails, processes end. TURNS says how many."""
    turns = Turns(server, path, seed)
    kinds = [turns.send] * 6 + [turns.confirm] * 6 + [turns.take] * 3 + [turns.sync] * 3
    kinds += [turns.connection, turns.process, turns.disk, turns.mend, turns.mend]
    try:
        for _ in range(120):
            turns.chance.choice(kinds)()
        turns.mend()
        turns.client.until(lambda: turns.client.sync() == 1)
        turns.take()
        left = list(turns.live)
        turns.process()
        assert list(turns.live) == left
    finally:
        turns.mend()
        turns.client.close()



# ---- Calls


def test_options(path):
    """Those of the journal without a path, those that contradict each other, and their names."""
    wrong = {
        "journal_delay_ms": kept(path, journal_delay_ms=60_001),
        "journal_batch_bytes": kept(path, journal_batch_bytes=4095),
        "journal_bytes": kept(path, journal_bytes=65_535),
        "journal_flags": kept(path, journal_flags=8),
        "journal, SST_OPTION_OWN_TRANSPORT": kept(path, flags=sst.OPTION_OWN_TRANSPORT),
        "journal": kept(path) | {"journal": "a\0b"},
    }
    for name in ("journal_bytes", "journal_delay_ms", "journal_batch_bytes", "journal_flags"):
        alone = sst.Options(url=NOWHERE, **{name: 1 << 20 if name == "journal_bytes" else 4096 if "batch" in name else 1})
        assert sst.library.sst_options_check(ctypes.byref(alone), None) == sst.ERR_OPTION
        assert name in fault(alone)
    for name, options in wrong.items():
        assert refused(**options) == "SST_ERR_OPTION"
        assert set(name.split(", ")) <= set(fault(sst.Options(**options)).split(", "))
    # Not what these options need.
    assert refused(**kept(path, journal_bytes=65_536, outbox_bytes=1 << 20)) == "SST_ERR_OPTION"
    assert refused(**kept(path) | {"journal": "x" * 1001}) == "SST_ERR_OPTION"
    assert list(path.parent.iterdir()) == []


def fault(options: sst.Options) -> str:
    text = ctypes.create_string_buffer(300)
    sst.library.sst_options_fault(ctypes.byref(options), text, 300)
    return text.value.decode()


def test_what_is_not_stored(server, clients, path):
    client = clients(**kept(path, url=server.url, urgent_frames=4, submit_frames=4))
    client.connect()
    server.accept(client)
    transaction = client.begin()
    assert transaction > 0
    assert client.send("a", flags=STORE, transaction=transaction) == sst.ERR_OPTION
    for wrong in (dict(flags=STORE | sst.SEND_URGENT), dict(flags=STORE, overflow=sst.OVERFLOW_DROP_OLDEST),
                  dict(flags=STORE, overflow=sst.OVERFLOW_DROP_NEWEST), dict(flags=2 * STORE)):
        assert client.send("a", **wrong) == sst.ERR_OPTION
        assert client.submit("a", **wrong) == sst.ERR_OPTION
    assert client.sync() == 1 and client.journal.accepted == 0


def test_the_largest_frame(clients, path):
    """It fits into a commit, with 74 bytes for each 4,096: a larger one could never be stored."""
    client = clients(**kept(path, outbox_bytes=65_536, journal_batch_bytes=8192))
    frame = len("SEND\nreceipt:0000000000\ndestination:a\ncontent-length:8000\n\n\0")
    size = 2 * 4096 - 2 * 48 - 8 - 18 - frame
    assert size + frame >= 2 * (4096 - 74)
    assert client.send("a", bytes(size + 1), flags=STORE) == sst.ERR_TOO_LARGE
    assert client.send("a", bytes(size + 1), flags=sst.SEND_RECEIPT) == sst.OK
    assert client.send("a", bytes(size), flags=STORE) == sst.OK
    assert client.sync() == 1
    client.close()
    assert stored(path) == [bytes(size)]


def test_wrong_calls(clients, path):
    client = clients(**kept(path))
    assert client.sync(-2) == sst.ERR_OPTION
    small = sst.JournalInfo()
    small.size -= 1
    assert sst.library.sst_journal_state(client.handle, ctypes.byref(small)) == sst.ERR_STRUCT_SIZE
    assert sst.library.sst_journal_state(client.handle, None) == sst.ERR_NULL
    assert sst.library.sst_sync(None, 0) == sst.ERR_NULL
    without = clients(url=NOWHERE)
    assert without.sync() == sst.ERR_NOT_SUPPORTED
    info = sst.JournalInfo()
    assert sst.library.sst_journal_state(without.handle, ctypes.byref(info)) == sst.ERR_NOT_SUPPORTED


def test_events_in_words(clients, path):
    with sst.Client(**kept(path)) as client:
        client.send("a", flags=STORE)
        client.sync()
    client = clients(**kept(path))
    raw, text = sst.RawEvent(), ctypes.create_string_buffer(200)
    assert sst.library.sst_next_event(client.handle, ctypes.byref(raw)) == 1
    sst.library.sst_describe_event(ctypes.byref(raw), text, 200)
    assert text.value.startswith(b"JOURNAL RECOVERED")


# ---- Killed


CHILD = """
    import itertools, os, sys
    from Support import sst
    url, path, queue, begin = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    client = sst.Client(url=url, journal=path, journal_delay_ms=1, outbox_bytes=16384, outbox_frames=64)
    client.connect()
    for number in itertools.count(begin):
        while client.send(queue, str(number), flags=sst.SEND_STORE | sst.SEND_QUIET) != sst.OK:
            client.step(5)
        os.write(1, b"p%d\\n" % number)
        if number % 3 == 0 and client.sync(1000) == 1:
            os.write(1, b"s%d\\n" % number)
        client.step(0)
        client.events.clear()
"""


def test_killed(rabbitmq, queue, path):
    """A process sends and is killed at any moment, over and over. What it had reported stored arrives; KILLS says how often."""
    times, chance = int(os.environ.get("KILLS", "6")), random.Random(1)
    begin, safe = 1, set()
    for number in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), rabbitmq.url, str(path), queue, str(begin)],
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(TESTS)})
        said = b""
        while (b"s" if number % 2 else b"p") not in said:  # something is stored, or perhaps nothing
            more = process.stdout.read1()
            assert more, "it has ended by itself"
            said += more
        time.sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        said += process.stdout.read()
        process.wait()
        process.stdout.close()
        sent: set[int] = set()
        # What is written last may be cut off.
        for line in said[: said.rfind(b"\n") + 1].splitlines():
            sent.add(int(line[1:]))
            if line[:1] == b"s":
                safe |= sent
        begin = max(sent, default=begin) + 2  # one more may have been sent, and not said
    with sst.Client(url=rabbitmq.url, journal=str(path), journal_delay_ms=1, outbox_bytes=16384, outbox_frames=64) as last:
        last.connected()
        last.until(lambda: last.stats.outbox_frames == 0)
        assert last.send(queue, b"end", flags=STORE, cookie=7) == sst.OK
        assert last.completed(1) == [(7, sst.OK)] and last.sync() == 1
    assert stored(path) == []
    witness = Witness(rabbitmq)
    witness.subscribe(queue)
    numbers = set()
    while (body := witness.expect("MESSAGE").body) != b"end":
        numbers.add(int(body))
    witness.close()
    assert len(safe) >= times // 2 and not safe - numbers, sorted(safe - numbers)[:20]
