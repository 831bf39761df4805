"""The journal: what was stored is there in the next process, and a file that cannot be used is refused and left as it is."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

from Support import smq
from Support.journal import Journal, crc32c

V5 = smq.PROTOCOL_5_0
NOWHERE = "mqtt://127.0.0.1:1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def kept(path: Path, **options: object) -> dict[str, object]:
    usual = dict(url=NOWHERE, protocol=V5, journal_delay_ms=1, outbox_bytes=8192, outbox_messages=64)
    return {**usual, **options, "client_id": "keeper", "flags": smq.OPTION_KEEP_SESSION, "journal": str(path)}


def sync(client: smq.Client, timeout_ms: int = 5000) -> int:
    return smq.library.smq_sync(client.handle, timeout_ms)


def info(client: smq.Client) -> smq.JournalInfo:
    found = smq.JournalInfo()
    assert smq.library.smq_journal_state(client.handle, ctypes.byref(found)) == smq.OK
    return found


def news(client: smq.Client) -> list[tuple[int, int, int]]:
    """What has happened to the journal: what, cookie, errno."""
    found = []
    while event := client.take():
        if event.type == smq.EVENT_JOURNAL:
            found.append((event.completed, event.cookie, event.os_error))
    return found


# ---- What was stored


def test_messages_of_an_earlier_process(mosquitto, clients, path):
    with smq.Client(**kept(path)) as client:
        assert client.publish("none", b"0", qos=0) == smq.OK
        for number in range(1, 8):
            assert client.publish("topic", str(number), qos=1 + number % 2, cookie=number) == smq.OK
        assert info(client).accepted == 7 and info(client).stored == 0
        assert sync(client) == 1
        assert info(client).stored == 7
        assert client.publish("topic", b"lost", qos=1) == smq.OK
    listener = clients(url=mosquitto.url)
    listener.connected()
    listener.subscribed("#", qos=2)
    client = clients(**kept(path, url=mosquitto.url))
    assert news(client) == [(smq.JOURNAL_RECOVERED, 7, 0)]
    client.connected()
    client.until(lambda: len([e for e in client.events if e.type == smq.EVENT_COMPLETED]) == 7)
    assert sorted(e.cookie for e in client.events if e.type == smq.EVENT_COMPLETED) == list(range(1, 8))
    listener.until(lambda: len([e for e in listener.events if e.type == smq.EVENT_MESSAGE]) == 7)
    payloads = [e.payload for e in listener.events if e.type == smq.EVENT_MESSAGE]
    assert sorted(payloads) == [b"%d" % number for number in range(1, 8)]
    # In their order, those of each QoS.
    assert [p for p in payloads if int(p) % 2] == [b"1", b"3", b"5", b"7"]
    assert sync(client) == 1
    client.close()
    assert news(clients(**kept(path))) == []


def test_the_file(path):
    """Another program's reading of docs/journal.md finds what was published, and nothing else."""
    with smq.Client(**kept(path, journal_bytes=262_144)) as client:
        assert path.stat().st_size == 262_144 and path.stat().st_mode & 0o777 == 0o600
        assert not path.with_suffix(".new").exists() and [p.name for p in path.parent.iterdir()] == ["journal"]
        client.publish("a/b", b"x" * 5000, qos=1, cookie=5)
        client.publish("c", b"y", qos=2, cookie=1 << 40, expiry_s=60)
        assert sync(client) == 1
        client.publish("a/b", b"z", qos=1, cookie=6)
        assert sync(client) == 1
    journal = Journal(path.read_bytes())
    assert journal.blocks == 62 and [commit.count for commit in journal.commits] == [2, 1]
    messages = journal.messages()
    assert [(m.serial, m.cookie, m.topic, m.payload) for m in messages] == [
        (1, 5, b"a/b", b"x" * 5000), (2, 1 << 40, b"c", b"y"), (3, 6, b"a/b", b"z"),
    ]
    assert [59 <= m.expiry <= 60 for m in messages] == [False, True, False]
    assert all(
        abs(struct.unpack("<I", record.body)[0] - time.time()) < 60
        for commit in journal.commits for record in commit.records if record.kind == 128
    )


def test_a_message_that_is_not_stored(path):
    with smq.Client(**kept(path, submit_messages=4)) as client:
        assert client.publish("a", b"1", qos=1, store=smq.STORE_NONE, overflow=smq.OVERFLOW_LATEST, quiet=1) == smq.OK
        assert client.publish("a", b"2", qos=1, store=smq.STORE_NONE, overflow=smq.OVERFLOW_LATEST, quiet=1) == smq.OK
        assert client.submit("a", b"3", qos=1, store=smq.STORE_NONE) == smq.OK
        assert client.publish("kept", b"4", qos=1, overflow=smq.OVERFLOW_LATEST) == smq.OK
        for wrong in (dict(qos=2, store=smq.STORE_NONE), dict(qos=1, store=2)):
            assert client.publish("a", b"5", **wrong) == smq.ERR_OPTION
            assert client.submit("a", b"5", **wrong) == smq.ERR_OPTION
        assert sync(client) == 1
        assert client.stats.outbox_messages == 3  # "2" has taken the place of "1"
        assert (info(client).accepted, info(client).stored) == (1, 1)
    assert [m.payload for m in Journal(path.read_bytes()).messages()] == [b"4"]
    # What is stored ends when one that is not takes its place.
    with smq.Client(**kept(path)) as client:
        assert news(client) == [(smq.JOURNAL_RECOVERED, 1, 0)]
        assert client.publish("kept", b"6", qos=1, store=smq.STORE_NONE, overflow=smq.OVERFLOW_LATEST) == smq.OK
        assert sync(client) == 1
    with smq.Client(**kept(path)) as client:
        assert news(client) == []


def test_submitted_messages(path):
    """One that no commit has room for is refused, rather than kept in front of the others for ever."""
    options = kept(path, submit_messages=4, submit_bytes=16384, journal_batch_bytes=4096, outbox_bytes=65536)
    with smq.Client(**options) as client:
        assert client.submit("a", bytes(5000), qos=1) == smq.ERR_TOO_LARGE
        assert client.submit("a", bytes(5000), qos=1, store=smq.STORE_NONE) == smq.OK
        assert client.submit("a", bytes(5000)) == smq.OK
        assert client.submit("a", b"1", qos=1) == smq.OK
        assert sync(client) == 1
        assert info(client).stored == 1 and client.stats.outbox_messages == 3


def test_many_laps(mosquitto, clients, path):
    """The file keeps its size, and what stays in it is written on ahead of what does not."""
    options = kept(path, journal_batch_bytes=4096, outbox_bytes=4096, outbox_messages=16)
    with smq.Client(**options) as client:
        client.publish("stays", b"old", qos=1, cookie=1)
        assert sync(client) == 1
        size, blocks = path.stat().st_size, info(client).blocks
        for number in range(4 * blocks):
            client.publish("a", str(number), qos=1, expiry_s=1, overflow=smq.OVERFLOW_DROP_OLDEST, cookie=2)
            assert sync(client) == 1
            while client.take():
                pass
        assert path.stat().st_size == size and info(client).used <= blocks
    with smq.Client(**options) as client:
        assert news(client)[0][0] == smq.JOURNAL_RECOVERED
        listener = clients(url=mosquitto.url)
        listener.connected()
        listener.subscribed("stays", qos=1)
    client = clients(**{**options, "url": mosquitto.url})
    client.connected()
    assert listener.until(lambda: [e for e in listener.events if e.type == smq.EVENT_MESSAGE])[0].payload == b"old"


@pytest.mark.parametrize("qos", [1, 2])
def test_acknowledged_is_gone(mosquitto, clients, path, qos):
    client = clients(**kept(path, url=mosquitto.url))
    client.connected()
    for number in range(20):
        client.publish("a", str(number), qos=qos, cookie=number)
    client.until(lambda: len([e for e in client.events if e.type == smq.EVENT_COMPLETED]) == 20)
    assert sync(client) == 1
    client.close()
    assert news(clients(**kept(path))) == []


def test_urgent_and_latest(path, clients):
    options = kept(path, urgent_messages=4, urgent_bytes=1024)
    with smq.Client(**options) as client:
        client.publish("a", b"1", qos=1)
        client.publish("alarm", b"2", qos=2, urgent=1)
        client.publish("state", b"3", qos=1, overflow=smq.OVERFLOW_LATEST)
        client.publish("state", b"4", qos=1, overflow=smq.OVERFLOW_LATEST)
        assert sync(client) == 1
    assert news(clients(**options)) == [(smq.JOURNAL_RECOVERED, 3, 0)]


def test_expiry_goes_on(path, clients, mosquitto):
    with smq.Client(**kept(path)) as client:
        client.publish("a", b"short", qos=1, cookie=1, expiry_s=1)
        client.publish("a", b"long", qos=1, cookie=2, expiry_s=3600)
        assert sync(client) == 1
    time.sleep(2.1)
    client = clients(**kept(path, url=mosquitto.url))
    client.connected()
    done = client.until(lambda: len(found := [e for e in client.events if e.type == smq.EVENT_COMPLETED]) == 2 and found)
    assert {e.cookie: e.status for e in done} == {1: smq.ERR_EXPIRED, 2: smq.OK}


def test_tell(path, clients):
    client = clients(**kept(path, journal_flags=smq.JOURNAL_TELL))
    client.publish("a", b"1", qos=1)
    client.publish("a", b"2", qos=1)
    assert sync(client) == 1
    assert news(client) == [(smq.JOURNAL_STORED, 2, 0)]


def test_qos_0_and_nothing(path, clients):
    client = clients(**kept(path))
    before = path.read_bytes()
    client.publish("a", b"1", qos=0)
    assert sync(client, 0) == 1
    assert path.read_bytes() == before


def test_a_loop_sleeps_while_a_message_waits_for_the_disk(path, clients, mosquitto):
    """Nothing can be sent before the delay is over, so the next timeout is that, and not 0."""
    client = clients(**kept(path, url=mosquitto.url, journal_delay_ms=5000, journal_flags=smq.JOURNAL_INLINE))
    client.connected()
    client.publish("a", b"1", qos=2)
    smq.library.smq_service(client.handle)
    assert 1000 < smq.library.smq_next_timeout_ms(client.handle) <= 5000
    assert sync(client) == 1


# ---- A file that cannot be used


def refused(**options: object) -> str:
    with pytest.raises(ValueError) as caught:
        smq.Client(**options)
    return str(caught.value)


def test_locked(path, clients):
    clients(**kept(path))
    before = path.read_bytes()
    assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_LOCKED"
    assert path.read_bytes() == before


def test_locked_by_another_process(path, clients):
    clients(**kept(path)).close()
    held = subprocess.Popen(["flock", str(path), "sleep", "60"])
    try:
        deadline = time.monotonic() + 10
        while subprocess.run(["flock", "-n", str(path), "true"]).returncode == 0:
            assert time.monotonic() < deadline
        assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_LOCKED"
    finally:
        held.kill()
        held.wait()


def test_of_another_client(path, clients):
    clients(**kept(path)).close()
    assert refused(**{**kept(path), "client_id": "someone"}) == "SMQ_ERR_JOURNAL_OTHER"


def test_a_newer_version(path, clients):
    clients(**kept(path)).close()
    data = bytearray(path.read_bytes())
    for start in (0, 4096):
        data[start + 12] = 2
        data[start + 8:start + 12] = struct.pack("<I", crc32c(data[start:start + 8] + data[start + 12:start + 64]))
    path.write_bytes(data)
    assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_OTHER"
    assert path.read_bytes() == data


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"x" * 100_000, bytes(100_000)], ids=["empty", "short", "text", "zeros"])
def test_no_journal(path, content):
    path.write_bytes(content)
    assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_CORRUPT"
    assert path.read_bytes() == content


def test_one_superblock_is_enough(path, clients):
    with smq.Client(**kept(path)) as client:
        client.publish("a", qos=1)
        sync(client)
    data = bytearray(path.read_bytes())
    data[0:4096] = bytes(4096)
    path.write_bytes(data)
    assert news(clients(**kept(path))) == [(smq.JOURNAL_RECOVERED, 1, 0)]


def test_cut_short(path):
    with smq.Client(**kept(path)) as client:
        client.publish("a", qos=1)
        sync(client)
    os.truncate(path, 8192)
    assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_CORRUPT"


def test_corruption(path, clients):
    with smq.Client(**kept(path)) as client:
        for _ in range(3):
            client.publish("a", b"x" * 100, qos=1)
            sync(client)
    data = bytearray(path.read_bytes())
    for offset in random.Random(1).sample(range(8192, 8192 + 200), 20):
        damaged = bytearray(data)
        damaged[offset] ^= 1
        path.write_bytes(damaged)
        assert refused(**kept(path)) == "SMQ_ERR_JOURNAL_CORRUPT"
        assert path.read_bytes() == damaged
    # The last commit may be one that was being written.
    damaged = bytearray(data)
    damaged[8192 + 2 * 4096 + 100] ^= 1
    path.write_bytes(damaged)
    client = clients(**kept(path))
    assert news(client) == [(smq.JOURNAL_RECOVERED, 2, 0)] and info(client).torn == 1


HOSTILE = """
    import pathlib, random, sys
    sys.path.insert(0, sys.argv[1])
    from Support import smq
    from Support.hostile import mutated
    path, first, count = pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    whole, found = path.read_bytes(), {}
    for seed in range(first, first + count):
        print(seed, flush=True)
        path.write_bytes(mutated(whole, random.Random(seed)))
        options = smq.Options(url="mqtt://127.0.0.1:1", protocol=5, journal_delay_ms=1, outbox_bytes=8192,
            outbox_messages=64, client_id="keeper", flags=smq.OPTION_KEEP_SESSION, journal=str(path))
        size = smq.library.smq_client_size(smq.ctypes.byref(options))
        block = smq.Block(size)
        handle = smq.ctypes.c_void_p()
        status = smq.library.smq_client_init(block.address, size, smq.ctypes.byref(options), smq.ctypes.byref(handle))
        found[status] = found.get(status, 0) + 1
        if status == 0:
            assert smq.library.smq_sync(handle, 2000) == 1
            smq.library.smq_client_close(handle)
    print(found)
"""


def test_hostile_content(path):
    """A file whose checksums are right and whose content no library wrote: it is taken up or refused, and nothing stops."""
    with smq.Client(**kept(path)) as client:
        for number in range(12):
            client.publish("topic", b"payload %d" % number, qos=1 + number % 2, expiry_s=100 * (number % 3))
        sync(client)
        for number in range(12):
            client.publish("other", b"x" * 500, qos=1 + number % 2)
        sync(client)
    count = int(os.environ.get("HOSTILE", "1500"))
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HOSTILE), str(Path(__file__).parents[1]), path, "0", str(count)],
        capture_output=True, text=True, timeout=100 + count / 10)
    assert run.returncode == 0, (run.stdout.splitlines()[-1], run.stderr)
    found = eval(run.stdout.splitlines()[-1])
    assert set(found) == {0, -503, -504, -505} and min(found.values()) >= count / 100, found


def test_more_than_there_is_room_for(path, clients):
    with smq.Client(**kept(path, outbox_messages=64)) as client:
        for _ in range(60):
            assert client.publish("a", qos=1) == smq.OK
        sync(client)
    assert refused(**{**kept(path), "outbox_messages": 16}) == "SMQ_ERR_JOURNAL_SIZE"


def test_no_such_directory(tmp_path):
    options = smq.Options(**kept(tmp_path / "nowhere" / "journal"))
    size = smq.library.smq_client_size(ctypes.byref(options))
    block, handle = smq.Block(size), ctypes.c_void_p()
    init = ctypes.CDLL(str(smq.LIBRARY), use_errno=True).smq_client_init
    init.argtypes = smq.library.smq_client_init.argtypes
    descriptors = os.listdir("/proc/self/fd")
    assert init(block.address, size, ctypes.byref(options), ctypes.byref(handle)) == smq.ERR_JOURNAL
    assert ctypes.get_errno() == errno.ENOENT and not handle
    assert os.listdir("/proc/self/fd") == descriptors and block.whole()


def test_a_directory(tmp_path):
    (tmp_path / "journal").mkdir()
    assert refused(**kept(tmp_path / "journal")) == "SMQ_ERR_JOURNAL"


def test_no_room_for_the_file(path):
    """Nothing is left behind, and no file that is not whole has the name."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        assert refused(**kept(path)) == "SMQ_ERR_JOURNAL"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(path.parent.iterdir()) == []


# ---- The disk fails


@pytest.mark.parametrize("flags", [0, smq.JOURNAL_STRICT, smq.JOURNAL_INLINE], ids=["thread", "strict", "inline"])
def test_failed_and_healed(path, clients, flags):
    client = clients(**kept(path, journal_flags=flags))
    assert client.publish("a", b"1", qos=1, cookie=1) == smq.OK
    assert sync(client) == 1
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))  # what is behind it cannot be written
    try:
        assert client.publish("a", b"2", qos=1, cookie=2) == smq.OK
        assert sync(client) == smq.ERR_JOURNAL
        assert sync(client) == smq.ERR_JOURNAL
        assert news(client) == [(smq.JOURNAL_FAILED, 0, errno.EFBIG)]
        assert info(client).os_error == errno.EFBIG and info(client).failures >= 1
        # An alarm must still leave; without a journal it may be that none is wanted.
        strict = flags == smq.JOURNAL_STRICT
        assert client.publish("a", b"3", qos=2, cookie=3) == (smq.ERR_JOURNAL if strict else smq.OK)
        assert client.publish("a", b"0", qos=0) == smq.OK
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    found = []
    deadline = time.monotonic() + 20
    while not found:
        assert time.monotonic() < deadline
        smq.library.smq_service(client.handle)
        found += news(client)
        time.sleep(0.01)
    assert found == [(smq.JOURNAL_HEALED, 0, 0)]
    assert sync(client) == 1
    assert client.publish("a", b"4", qos=1, cookie=4) == smq.OK
    assert sync(client) == 1
    client.close()
    assert news(clients(**kept(path))) == [(smq.JOURNAL_RECOVERED, 3 if strict else 4, 0)]


# ---- Calls


def test_wrong_calls(path, clients):
    client = clients(**kept(path))
    assert sync(client, -2) == smq.ERR_OPTION
    small = smq.JournalInfo()
    small.size -= 1
    assert smq.library.smq_journal_state(client.handle, ctypes.byref(small)) == smq.ERR_STRUCT_SIZE
    assert smq.library.smq_journal_state(client.handle, None) == smq.ERR_NULL
    without = clients(url=NOWHERE)
    assert sync(without) == smq.ERR_NOT_SUPPORTED
    state = smq.JournalInfo()
    assert smq.library.smq_journal_state(without.handle, ctypes.byref(state)) == smq.ERR_NOT_SUPPORTED


def test_what_cannot_be_stored(path, clients):
    client = clients(**kept(path, outbox_bytes=65_536, journal_batch_bytes=4096, stream_bytes=64, references=4, replies=4))
    overhead = 8 + 30 + 3 + 3 + 2 + 1  # record, header of the message; Fixed Header, topic, identifier, properties
    largest = 4096 - 48 - overhead
    assert client.publish("a", b"x" * (largest + 1), qos=1) == smq.ERR_TOO_LARGE
    assert client.publish("a", b"x" * (largest + 1), qos=2) == smq.ERR_TOO_LARGE
    assert client.publish("a", b"x" * largest, qos=1) == smq.OK
    assert client.publish("a", b"x" * (largest + 1), qos=0) == smq.OK
    assert sync(client) == 1
    message = smq.Message(topic="a", payload=b"x", qos=2)
    assert smq.library.smq_publish_reference(client.handle, ctypes.byref(message)) == smq.ERR_NOT_SUPPORTED
    message.qos = 1
    assert smq.library.smq_publish_reference(client.handle, ctypes.byref(message)) == smq.OK


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_forked(path, clients):
    """The child goes on with the client, without the thread; what it stores is there."""
    client = smq.Client(**kept(path))
    client.publish("a", b"1", qos=1)
    assert sync(client) == 1
    client.publish("a", b"2", qos=1)
    child = os.fork()
    if child == 0:
        stored = client.publish("a", b"3", qos=1) == smq.OK and sync(client) == 1
        client.close()
        os._exit(0 if stored else 1)
    assert os.waitpid(child, 0)[1] == 0
    os.close(os.open(path, os.O_RDONLY))
    messages = Journal(path.read_bytes()).messages()
    assert [message.payload for message in messages] == [b"1", b"2", b"3"]
    # The parent's own copy is not to be used, and can be closed.
    client.close()
    assert news(clients(**kept(path))) == [(smq.JOURNAL_RECOVERED, 3, 0)]


def test_threads_and_descriptors(path, clients):
    begin, descriptors = threads(), len(os.listdir("/proc/self/fd"))
    inline = clients(**kept(path, journal_flags=smq.JOURNAL_INLINE))
    assert threads() == begin
    inline.publish("a", qos=2)
    assert sync(inline) == 1
    inline.close()
    client = clients(**kept(path))
    assert threads() == begin + 1
    client.close()
    assert threads() == begin and len(os.listdir("/proc/self/fd")) == descriptors


# ---- Numbers of received messages


def number_of(client: smq.Client, token: int) -> int:
    number = ctypes.c_uint64()
    status = smq.library.smq_delivery_number(client.handle, token, ctypes.byref(number))
    return number.value if status == smq.OK else status


def test_a_message_keeps_its_number(mosquitto, clients, path):
    options = kept(path, url=mosquitto.url, journal_flags=smq.JOURNAL_NUMBERS, receive_maximum=4, session_expiry_s=60)
    options["flags"] |= smq.OPTION_HOLD
    sender = clients(url=mosquitto.url)
    sender.connected()

    def send(payload: bytes, qos: int = 2) -> None:
        assert sender.publish("n", payload, qos=qos) == smq.OK
        sender.wait_event(smq.EVENT_COMPLETED)

    def begin() -> smq.Client:
        client = clients(**options)
        client.connected()
        return client

    client = begin()
    client.subscribed("n", qos=2)
    send(b"1")
    send(b"2")
    tokens = [client.wait_event(smq.EVENT_MESSAGE, payload=payload).token for payload in (b"1", b"2")]
    numbers = [number_of(client, token) for token in tokens]
    assert numbers == [1, 2] and [number_of(client, token) for token in tokens] == numbers
    assert sync(client) == 1
    # What has a number cannot be refused.
    assert client.ack(tokens[0], 0x83) == smq.ERR_REASON_CODE
    client.close()  # as if it were killed: the journal does not hear of it

    client = begin()
    again = {payload: client.wait_event(smq.EVENT_MESSAGE, payload=payload).token for payload in (b"1", b"2")}
    assert [number_of(client, again[payload]) for payload in (b"1", b"2")] == numbers
    assert client.ack(again[b"1"]) == smq.OK
    assert number_of(client, again[b"1"]) == smq.ERR_TOKEN
    send(b"3")
    third = client.wait_event(smq.EVENT_MESSAGE, payload=b"3").token
    assert number_of(client, third) == 3
    send(b"4", qos=1)
    assert number_of(client, client.wait_event(smq.EVENT_MESSAGE, payload=b"4").token) == smq.ERR_QOS
    assert sync(client) == 1
    client.close()

    # Without the flag there are none, and those that follow with it are new.
    plain = clients(**{**options, "journal_flags": 0})
    plain.connected()
    assert number_of(plain, plain.wait_event(smq.EVENT_MESSAGE, payload=b"2").token) == smq.ERR_NOT_SUPPORTED
    send(b"5")
    assert sync(plain) == 1
    plain.close()
    client = begin()
    fifth = client.wait_event(smq.EVENT_MESSAGE, payload=b"5").token
    assert number_of(client, fifth) > 3


# ---- Another size


def filled(path: Path, **options: object) -> list[tuple[str, int]]:
    """Fills a journal by several commits, some of which have ended, until the ring has begun a second lap. Returns what is
    left, with its cookies."""
    left = []
    with smq.Client(**kept(path, **options)) as client:
        for number in range(3 * info(client).blocks // 2):
            stays = number % 9 == 0 and number < 90
            topic = f"t/{number}" if stays else "latest"
            assert client.publish(
                topic, b"x" * (number % 50), qos=1 + (stays and number % 2), cookie=number, quiet=1,
                overflow=smq.OVERFLOW_REFUSE if stays else smq.OVERFLOW_LATEST) == smq.OK
            assert sync(client) == 1
            if stays:
                left.append((topic, number))
    return [*left, ("latest", number)]


def messages_of(path: Path, mosquitto, clients, **options: object) -> list[tuple[str, int]]:
    listener = clients(url=mosquitto.url)
    listener.connected()
    listener.subscribed("#", qos=2)
    client = clients(**kept(path, url=mosquitto.url, **options))
    client.connected()
    client.until(lambda: client.stats.outbox_messages == 0)
    assert client.publish("end", qos=2) == smq.OK
    client.step(0)
    got = []

    def came() -> bool:
        client.step(1)
        got.extend(e.topic.decode() for e in listener.events if e.type == smq.EVENT_MESSAGE)
        listener.events.clear()
        return "end" in got

    listener.until(came)
    client.close()
    return got[:-1]


@pytest.mark.parametrize("size", [256 << 10, 120 << 10, 1 << 20])
def test_another_size(mosquitto, clients, path, size):
    options = dict(journal_batch_bytes=4096, outbox_bytes=4096, outbox_messages=32)
    left = filled(path, **options, journal_bytes=128 << 10)
    before = path.stat()
    with smq.Client(**kept(path, **options)) as client:  # no size: it stays as it is
        assert news(client) == [(smq.JOURNAL_RECOVERED, len(left), 0)]
    assert path.stat().st_ino == before.st_ino
    with smq.Client(**kept(path, **options, journal_bytes=size)) as client:
        assert news(client) == [(smq.JOURNAL_RECOVERED, len(left), 0)]
        assert info(client).blocks == size // 4096 - 2
        assert client.publish("new", qos=1) == smq.OK and sync(client) == 1
    assert not path.with_suffix(".new").exists()
    assert path.stat().st_size == size and path.stat().st_ino != before.st_ino
    # Another program's reading, and the server's.
    assert [m.topic for m in Journal(path.read_bytes()).messages()][-1] == b"new"
    assert sorted(messages_of(path, mosquitto, clients, **options)) == sorted(topic for topic, _ in [*left, ("new", 0)])


def test_a_client_that_needs_more(path):
    """A larger outbox needs a larger file, so it gets one, unless the disk is full; then nothing has changed."""
    with smq.Client(**kept(path)) as client:
        client.publish("a", b"1", qos=1)
        assert sync(client) == 1
    before, large = path.read_bytes(), kept(path, outbox_bytes=1 << 20)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), limits[1]))
    try:
        with pytest.raises(ValueError, match="SMQ_ERR_JOURNAL"):
            smq.Client(**large)
        # This one asks for more than it needs, and does without.
        with smq.Client(**kept(path, journal_bytes=1 << 20)) as client:
            assert news(client) == [(smq.JOURNAL_RECOVERED, 1, 0)] and info(client).blocks == len(before) // 4096 - 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == ["journal"]
    with smq.Client(**large) as client:
        assert news(client) == [(smq.JOURNAL_RECOVERED, 1, 0)]
        assert path.stat().st_size > 2 << 20


def test_less_than_what_is_in_use(path):
    """A ring that has no room for what the old one has leaves it as it is."""
    options = dict(journal_batch_bytes=4096, outbox_bytes=4096, outbox_messages=16)
    with smq.Client(**kept(path, **options, journal_bytes=1 << 20)) as client:
        assert client.publish("old", qos=1) == smq.OK and sync(client) == 1
        for number in range(150):
            client.publish("a", str(number), qos=1, overflow=smq.OVERFLOW_LATEST, quiet=1)
            assert sync(client) == 1
    with smq.Client(**kept(path, **options, journal_bytes=120 << 10)) as client:
        assert news(client) == [(smq.JOURNAL_RECOVERED, 2, 0)] and info(client).blocks == 254


# ---- Killed


CHILD = """
    import ctypes, itertools, os, sys
    from Support import smq
    url, path, begin, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    client = smq.Client(
        url=url, protocol=smq.PROTOCOL_5_0, client_id="killed", flags=smq.OPTION_KEEP_SESSION, reconnect=True,
        session_expiry_s=3600, journal=path, journal_delay_ms=1, outbox_bytes=16384, outbox_messages=64)
    client.connect()
    for number in itertools.count(begin):
        while client.publish("t", str(number), qos=1 + number % 2, quiet=1) != smq.OK:
            smq.library.smq_wait(client.handle, 5)
            while client.take(): pass
        os.write(1, b"p%d\\n" % number)
        if number % 3 == 0:
            if smq.library.smq_sync(client.handle, 1000) == 1:
                os.write(1, b"s%d\\n" % number)
        smq.library.smq_service(client.handle)
        while client.take(): pass
"""


def kill_again_and_again(mosquitto, clients, path, times: int, seed: int = 1) -> None:
    """A process publishes and is killed, over and over. What it had reported stored arrives; QoS 2 once."""
    chance = random.Random(seed)
    listener = clients(url=mosquitto.url, receive_bytes=1 << 16)
    listener.connected()
    listener.subscribed("t", qos=2)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    begin, stored = 1, set()
    got: Counter[bytes] = Counter()

    def listen() -> None:
        while listener.events:
            event = listener.events.popleft()
            if event.type == smq.EVENT_MESSAGE:
                got[event.payload] += 1

    for _ in range(times):
        # The broker has no identifier for a message while 65,535 wait for their listener.
        listener.run(0.01)
        listen()
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), mosquitto.url, str(path), str(begin), str(seed)],
            stdout=subprocess.PIPE, env=environment)
        assert process.stdout.read(1) == b"p", "it published nothing"
        time.sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        said = b"p" + process.stdout.read()
        process.wait()
        published: set[int] = set()
        # What is written last may be cut off.
        for line in said[: said.rfind(b"\n") + 1].splitlines():
            published.add(int(line[1:]))
            if line[:1] == b"s":
                stored |= published
        begin = max(published) + 2  # one more may have been published, and not said
    last = clients(
        url=mosquitto.url, protocol=V5, client_id="killed", flags=smq.OPTION_KEEP_SESSION, session_expiry_s=3600,
        journal=str(path), journal_delay_ms=1, outbox_bytes=16384, outbox_messages=64)
    last.connected()
    last.until(lambda: last.stats.outbox_messages == 0, 30)
    # The broker has passed all on by now, so this comes last.
    assert last.publish("t", b"end", qos=2) == smq.OK

    def came() -> bool:
        last.step(1)
        listen()
        return got[b"end"] == 1

    listener.until(came, 30)
    numbers = {int(payload): times for payload, times in got.items() if payload != b"end"}
    missing = stored - numbers.keys()
    assert len(stored) > times and not missing, sorted(missing)[:20]
    twice = [number for number, times in numbers.items() if number % 2 and times > 1]
    assert not twice, sorted(twice)[:20]


def test_killed(mosquitto, clients, path):
    kill_again_and_again(mosquitto, clients, path, int(os.environ.get("KILLS", "15")))
