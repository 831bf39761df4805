"""smq pub --journal: what a script has published is delivered, by that run or by the next one. smq journal: what it says of
the files of real clients is what Support/journal.py reads there, and what a client makes of a file that it refuses."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import signal
import struct
import threading
import time
from pathlib import Path

import pytest
from Support.codec import PUBCOMP, PUBLISH, PUBREL
from Support.hostile import crc32c, mutated
from Support.journal import BLOCK, HEADER, Journal
from Support.scripted_broker import CONNECT, Broker, Script, nothing, refuse
from Support.servers import Mosquitto, free_port

from .test_terminal import on_terminal
from .tool import smq, start


def pub(journal: Path, *arguments: object, **more: object):
    return smq("pub", "-i", "script", "--journal", journal, "-t", "kept", *arguments, **more)


def nowhere() -> list[object]:
    return ["-h", "127.0.0.1", "-p", free_port()]


def subscriber(broker: Mosquitto, count: int):
    process = start("sub", *broker.address, "-t", "kept", "-q", 2, "-C", count, "-W", 20)
    time.sleep(0.5)
    return process


def lines(process) -> list[bytes]:
    return process.communicate(timeout=30)[0].split()


def test_delivered_at_once(broker: Mosquitto, tmp_path: Path):
    listener = subscriber(broker, 3)
    result = pub(tmp_path / "j", *broker.address, "-q", 2, "-l", stdin=b"1\n2\n3\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert lines(listener) == [b"1", b"2", b"3"]


def test_delivered_by_the_next_run(broker: Mosquitto, tmp_path: Path):
    for number in (1, 2):
        result = pub(tmp_path / "j", *nowhere(), "-q", 1, "-m", number)
        assert result.returncode == 0
        assert result.stderr.endswith(b"; what was not delivered is in %s\n" % bytes(tmp_path / "j"))
        assert b"Connection refused" in result.stderr
    result = pub(tmp_path / "j", *nowhere(), "-q", 1, "-l", "--quiet", stdin=b"3\n4\n")
    assert (result.returncode, result.stderr) == (0, b"")
    listener = subscriber(broker, 5)
    result = pub(tmp_path / "j", *broker.address, "-q", 1, "-m", 5)
    assert (result.returncode, result.stderr) == (0, b"")
    assert sorted(lines(listener)) == [b"1", b"2", b"3", b"4", b"5"]


def test_killed(broker: Mosquitto, tmp_path: Path):
    """Lines that were read some time ago are in the file, though their run is gone."""
    process = start("pub", "-i", "script", "--journal", tmp_path / "j", *nowhere(), "-t", "kept", "-q", 2, "-l", stdin=-1)
    process.stdin.write(b"1\n2\n")
    process.stdin.flush()
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    listener = subscriber(broker, 3)
    assert pub(tmp_path / "j", *broker.address, "-q", 2, "-m", 3).returncode == 0
    assert sorted(lines(listener)) == [b"1", b"2", b"3"]


@pytest.mark.parametrize("arguments, said", [
    (["-m", "x"], b"--journal keeps messages of QoS 1 and 2: -q"),
    (["-q", "1", "-m", "x", "-h", "127.0.0.1", "--journal", "/nonexistent/j"], b"--journal /nonexistent/j: No such file or directory"),
    (["-q", "1", "-m", "x", "--journal", "x" * 1001], b"--journal: a path has at most 1000 bytes"),
    (["-q", "1", "-s"], b"--journal keeps messages of at most 120 KiB"),
])
def test_wrong(tmp_path: Path, arguments: list[str], said: bytes):
    result = pub(tmp_path / "j", *arguments, stdin=b"x" * 130_000)
    assert result.returncode != 0
    assert said in result.stderr


def test_without_an_id(tmp_path: Path):
    result = smq("pub", "--journal", tmp_path / "j", "-t", "a", "-m", "x", "-q", 1)
    assert result.returncode != 0
    assert b"--journal needs a Client Identifier: -i" in result.stderr
    assert not (tmp_path / "j").exists()


def test_in_use(tmp_path: Path):
    process = start("pub", "-i", "script", "--journal", tmp_path / "j", *nowhere(), "-t", "kept", "-q", 2, "-l", stdin=-1)
    deadline = time.monotonic() + 10
    while not (tmp_path / "j").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    result = pub(tmp_path / "j", *nowhere(), "-q", 1, "-m", "x")
    assert result.returncode != 0
    assert b"another process, or another client, has the journal open" in result.stderr
    process.kill()
    process.communicate()


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
@pytest.mark.parametrize("version, code", [(311, 5), (5, 135)])
def test_a_broker_that_refuses(tmp_path: Path, version: int, code: int, quiet: list[str]):
    """It is stored; and the exit status says what is wrong, as without a journal."""
    broker = Broker(later=Script(at={CONNECT: refuse(code)}))
    try:
        where = ["-h", "127.0.0.1", "-p", broker.port, "-V", version]
        result = pub(tmp_path / "j", *where, "-t", "a", "-m", "x", "-q", 1, *quiet)
    finally:
        broker.close()
    assert result.returncode == code and bool(result.stderr) == (not quiet)
    assert smq("journal", tmp_path / "j").stdout.count(b" new ") == 1


def test_more_than_there_is_room_for(tmp_path: Path):
    """Without a broker it ends, too, and says so; what was stored stays."""
    lines = b"".join(b"%d\n" % number for number in range(5000))
    result = pub(tmp_path / "j", "-h", "127.0.0.1", "-p", free_port(), "-t", "a", "-l", "-q", 1, stdin=lines)
    assert result.returncode == 1 and b"there is no room for more messages" in result.stderr
    assert len(json.loads(smq("journal", tmp_path / "j", "--json").stdout)["messages"]) == 4096


# ---- smq journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j"


def kept(path: Path, **options: object) -> dict[str, object]:
    """The options of a client with a small journal, which does not connect."""
    from Support import smq as library

    usual: dict[str, object] = dict(url="mqtt://127.0.0.1:1", protocol=5, journal_delay_ms=1, outbox_bytes=8192, outbox_messages=64)
    return {**usual, "client_id": "keeper", "flags": library.OPTION_KEEP_SESSION, "journal": str(path), **options}


def client(path: Path, **options: object):
    from Support import smq as library

    return library.Client(**kept(path, **options))


def sync(client) -> None:
    from Support import smq as library

    assert library.library.smq_sync(client.handle, 5000) == 1


def read(path: Path, *options: object) -> dict:
    """What it says as JSON; --check and the list for people do not contradict it."""
    result = smq("journal", path, "--json", *options)
    assert (result.returncode, result.stderr) == (0, b"")
    found = json.loads(result.stdout)
    check = smq("journal", path, "--check")
    assert (check.returncode, check.stdout, check.stderr) == (0, b"", b"")
    lines = listed(path).splitlines()
    assert lines[0] == str(path) and f"  messages  {len(found['messages'])} to be delivered" in lines
    assert len([line for line in lines if re.match(r" +\d+ +[12] ", line)]) == len(found["messages"])
    return found


def listed(path: Path) -> str:
    result = smq("journal", path)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


def same(path: Path, found: dict, **how: bool) -> None:
    """As another program reads the file."""
    journal = Journal(path.read_bytes(), **how)
    assert found["blocks"] == journal.blocks and found["commits"] <= len(journal.commits)  # from the head of the log on
    wanted = [
        (m.urgent, m.serial, m.cookie, m.state, m.identifier or None, m.version, m.topic.decode(), m.qos, m.retain, m.payload)
        for m in journal.waiting()]
    assert [
        (m["priority"], m["serial"], m["cookie"], m["state"], m["mid"], m["version"], m["topic"], m["qos"], m["retain"],
         bytes.fromhex(m["payload_hex"]) if "payload_hex" in m else m["payload"].encode())
        for m in found["messages"]] == wanted
    assert all(m["payloadlen"] == len(wanted[index][-1]) for index, m in enumerate(found["messages"]))


def refused(path: Path, *options: object) -> str:
    """Nothing but one line on standard error, with every option."""
    for more in ([], ["--json"], ["--check"]):
        result = smq("journal", path, *more)
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.count(b"\n") == 1 and result.stderr.startswith(b"smq journal: ")
    return result.stderr.decode().removeprefix("smq journal: ").rstrip("\n")


def test_what_a_client_has_left(path: Path):
    with client(path, urgent_messages=4, urgent_bytes=1024) as keeper:
        keeper.publish("a/b", b"text \xe2\x82\xac \"quoted\" \0", qos=1, cookie=7)
        keeper.publish("a/b", b"\xff\x00binary", qos=2, cookie=(1 << 64) - 1, retain=1)
        sync(keeper)
        keeper.publish("alarm\x1b[31m/\n", b"first", qos=1, urgent=1)
        keeper.publish("a", b"", qos=1, expiry_s=100)
        keeper.publish("large", b"x" * 6000, qos=2)
        sync(keeper)
    found = read(path)
    same(path, found)
    assert [m["topic"] for m in found["messages"]] == ["alarm\x1b[31m/\n", "a/b", "a/b", "a", "large"]
    assert [m["priority"] for m in found["messages"]] == [True, False, False, False, False]
    assert [m.get("payload_hex") for m in found["messages"]] == [None, None, b"\xff\x00binary".hex(), None, None]
    assert 95 <= found["messages"][3]["expires_in"] <= 100 and found["messages"][0]["expires_in"] is None
    assert found["messages"][3]["properties"]["message-expiry-interval"] == 100
    assert abs(time.time() - time.mktime(time.strptime(found["written"][:19], "%Y-%m-%dT%H:%M:%S")) + time.timezone) < 60
    assert (found["file"], found["failed"], found["torn"], found["awaiting_pubrel"]) == (str(path), 0, 0, [])
    assert 0 < found["used"] < found["blocks"]
    pretty = smq("journal", path, "--json", "--pretty").stdout
    assert pretty.count(b"\n") > 50 and {**json.loads(pretty), "messages": 0} == {**found, "messages": 0}
    text = listed(path)
    assert re.search(r"^ +1 +1  -       new       yes +- +5  alarm\\x1b\[31m/\\x0a$", text, re.M), text
    assert re.search(r"^ +2 +2  yes     new       - +- +8  a/b$", text, re.M), text
    assert re.search(r"^ +3 +1  -       new       - +\d+ s +0  a$", text, re.M), text


def test_of_every_version_with_properties(path: Path):
    nowhere_now = nowhere()
    for version, options in (("31", []), ("311", []), ("5", [
        "-D", "publish", "content-type", "text/\u00e9", "-D", "publish", "user-property", "a", "b",
        "-D", "publish", "user-property", "c", "d", "-D", "publish", "correlation-data", b"\xff\x01".decode("utf-8", "surrogateescape"),
    ])):
        result = smq("pub", "-i", "script", "--journal", path, *nowhere_now, "-V", version, "-t", f"v/{version}", "-q", 1, "-m", "x", *options)
        assert result.returncode == 0, result.stderr
    found = read(path)
    same(path, found)
    assert [(m["topic"], m["version"]) for m in found["messages"]] == [("v/31", "3.1.1"), ("v/311", "3.1.1"), ("v/5", "5.0")]
    assert ["properties" in m for m in found["messages"]] == [False, False, True]
    assert found["messages"][2]["properties"] == {
        "content-type": "text/\u00e9", "user-properties": {"a": "b", "c": "d"}, "correlation-data_hex": "ff01"}


def test_what_is_known_of_the_delivery(path: Path):
    """PUBREC came for one message; of two that were received one waits for PUBREL, and the program has the other's number."""
    from Support import smq as library

    options = kept(path, journal_flags=library.JOURNAL_NUMBERS, receive_maximum=4)
    options["flags"] |= library.OPTION_HOLD
    number = ctypes.c_uint64()
    with Broker([Script(hold={PUBCOMP, PUBREL})]) as broker, client(path, **{**options, "url": broker.url}) as keeper:
        keeper.connected()
        keeper.subscribed("in", qos=2)
        keeper.publish("out", b"released", qos=2)
        keeper.until(lambda: any(packet.type == PUBREL for packet in broker.packets))
        tokens = []
        for payload in (b"1", b"2"):
            broker.last.publish("in", payload, qos=2)
            tokens.append(keeper.wait_event(library.EVENT_MESSAGE, payload=payload).token)
        assert library.library.smq_delivery_number(keeper.handle, tokens[1], ctypes.byref(number)) == library.OK
        assert keeper.ack(tokens[0]) == library.OK
        keeper.until(lambda: len(broker.held) >= 2)
        sync(keeper)
        held = keeper.packet_identifier(tokens[1])
    found = read(path)
    same(path, found)
    message, = found["messages"]
    assert (message["state"], message["payload"], message["qos"]) == ("released", "released", 2) and message["mid"] > 0
    assert len(found["awaiting_pubrel"]) == 1 and held not in found["awaiting_pubrel"]
    assert (found["last_number"], found["numbers"]) == (1, [{"mid": held, "number": 1}]) and number.value == 1
    text = listed(path)
    assert f"received with QoS 2, and waiting for PUBREL: {found['awaiting_pubrel'][0]}\n" in text
    assert text.endswith(f"received with QoS 2, and not acknowledged by the program, with their numbers: {held} (1)\n")


def test_ended_messages_are_not_listed(broker: Mosquitto, path: Path):
    assert pub(path, *broker.address, "-q", 2, "-l", stdin=b"1\n2\n3\n").returncode == 0
    found = read(path)
    same(path, found)
    assert found["messages"] == [] and found["commits"] > 0
    assert listed(path).endswith("  messages  0 to be delivered\n")


def test_of_two_messages_one_has_ended(path: Path):
    """The head of the log cannot pass over the first one, so what is known of it is that it has ended."""
    from Support import smq as library

    with Broker([Script(on={PUBLISH: [None, nothing]})]) as broker, client(path, url=broker.url) as keeper:
        for cookie in (1, 2):
            keeper.publish("a", b"x", qos=1, cookie=cookie)
        sync(keeper)
        keeper.connected()
        assert keeper.wait_event(library.EVENT_COMPLETED).cookie == 1
        sync(keeper)
    found = read(path)
    same(path, found)
    assert [(m["cookie"], m["state"]) for m in found["messages"]] == [(2, "sent")] and found["commits"] > 1


def test_an_empty_journal(path: Path):
    client(path).close()
    found = read(path)
    assert (found["commits"], found["used"], found["written"], found["messages"]) == (0, 0, None, [])


def test_an_expired_message(path: Path):
    with client(path) as keeper:
        keeper.publish("a", b"x", qos=1, expiry_s=1)
        sync(keeper)
    time.sleep(2.1)
    assert read(path)["messages"][0]["expires_in"] == 0
    assert " expired " in listed(path)


def test_a_terminal_is_not_told_what_to_do(path: Path):
    with client(path) as keeper:
        keeper.publish("a\x1b]0;title\x07\u009b2J", b"x\x7f", qos=1)
        sync(keeper)
    for options in ([], ["--json"]):
        shown, code, _, _ = on_terminal("journal", path, *options)
        assert code == 0 and not set(shown.replace(b"\n", b"")) & {*range(32), 127} and b"\xc2\x9b" not in shown
    assert rb"a\x1b]0;title\x07\xc2\x9b2J" in smq("journal", path).stdout


def test_nothing_is_written_and_no_lock_is_taken(path: Path):
    with client(path) as keeper:
        keeper.publish("a", b"x", qos=1)
        sync(keeper)
        assert len(read(path)["messages"]) == 1  # it has the file locked
    path.chmod(0o400)
    before, content = path.stat(), path.read_bytes()
    read(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.read_bytes() == content


def test_no_journals(path: Path):
    path.mkdir()
    assert "is not a file" in refused(path)
    assert refused(path / "nothing") == f"cannot open {path}/nothing: No such file or directory"
    assert "is not a file" in refused(Path("/dev/null"))
    fifo = path / "fifo"
    os.mkfifo(fifo)
    assert "is not a file" in refused(fifo)
    client(path / "real").close()
    (path / "link").symlink_to(path / "real")
    assert "is a symbolic link, which no client follows" in refused(path / "link")
    for content in (b"", b"x" * 100, b"x" * 100_000, bytes(100_000)):
        (path / "other").write_bytes(content)
        assert "is not a journal" in refused(path / "other")
    if os.geteuid() != 0:
        (path / "real").chmod(0)
        assert "Permission denied" in refused(path / "real")


@pytest.mark.parametrize("arguments, said", [
    ([], "a journal is required: smq journal FILE"),
    (["a", "b"], '"b" is unexpected: there is a FILE already'),
    (["a", "-h", "localhost"], "-h is not an option of smq journal"),
    (["a", "--check=1"], "--check takes no value"),
])
def test_wrong_words(arguments: list[str], said: str):
    result = smq("journal", *arguments)
    assert result.returncode == 1 and result.stderr.decode().startswith(f"smq journal: {said}\n"), result.stderr


def test_its_help_has_its_options_alone():
    assert re.findall(r"--[a-z]+(?= )", smq("journal", "--help").stdout.decode().split("\n\n", 2)[2]) == [
        "--json", "--pretty", "--check", "--help", "--version"]


def commits(path: Path, count: int = 3) -> bytearray:
    with client(path) as keeper:
        for number in range(count):
            keeper.publish("a", b"x" * 100, qos=1, cookie=number)
            sync(keeper)
    return bytearray(path.read_bytes())


def test_of_a_newer_version(path: Path):
    data = commits(path)
    for start in (0, BLOCK):
        data[start + 12] = 2
        struct.pack_into("<I", data, start + 8, crc32c(bytes(data[start : start + 8] + data[start + 12 : start + 64])))
    path.write_bytes(data)
    assert "was made by a newer version of libswiftmqtt" in refused(path)


def test_one_superblock_is_enough(path: Path):
    data = commits(path)
    data[:BLOCK] = bytes(BLOCK)
    path.write_bytes(data)
    assert len(read(path)["messages"]) == 3


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_cut_short(path: Path, size: int):
    commits(path)
    os.truncate(path, size * BLOCK)
    assert "it ends before its ring" in refused(path) or size == 1


def test_damage(path: Path):
    data = commits(path)
    for offset in random.Random(1).sample(range(2 * BLOCK, 2 * BLOCK + 200), 10):
        damaged = bytearray(data)
        damaged[offset] ^= 1
        path.write_bytes(damaged)
        assert "is damaged, and a client refuses it: a block that was written completely is not as it was written" in refused(path)


def test_a_torn_commit(path: Path):
    """Power failed while the last commit was written: the file is whole, and that is said."""
    data = commits(path)
    data[4 * BLOCK + 100] ^= 1
    path.write_bytes(data)
    found = read(path)
    assert found["torn"] == 1 and [m["cookie"] for m in found["messages"]] == [0, 1]
    same(path, found, may_be_torn=True)
    assert "  torn      a commit that was being written is left out; blocks of it: 1\n" in listed(path)


def put_record(path: Path, kind: int) -> None:
    """The last commit has a record of another kind than that of the clock, its last one."""
    data = commits(path, 1)
    used = struct.unpack_from("<H", data, 2 * BLOCK + 44)[0]
    start = 2 * BLOCK + HEADER + used - 12
    assert data[start] == 128
    data[start] = kind
    block = data[2 * BLOCK : 3 * BLOCK]
    struct.pack_into("<I", block, 8, crc32c(bytes(block[HEADER : HEADER + used])))
    struct.pack_into("<I", block, 4, crc32c(bytes(block[:4] + block[8:HEADER])))
    data[2 * BLOCK : 3 * BLOCK] = block
    path.write_bytes(data)


def test_kinds_of_a_newer_library(path: Path):
    put_record(path, 129)  # one that may be passed over
    assert len(read(path)["messages"]) == 1 and read(path)["written"] is None
    path.unlink()
    put_record(path, 99)
    assert "has a record of the unknown kind 99: use the smq of the libswiftmqtt that wrote it" in refused(path)


def test_while_a_client_writes(broker: Mosquitto, path: Path):
    """Each time a state that was there: never damage, whatever is written meanwhile."""
    from Support import smq as library

    stop = threading.Event()
    delivered = []

    def write() -> None:
        with client(path, url=broker.url, journal_bytes=163_840, journal_batch_bytes=4096, outbox_messages=16) as keeper:
            keeper.connected()
            while not stop.is_set():
                for _ in range(5):
                    assert keeper.publish("kept/while", b"x" * 300, qos=2) == library.OK
                for _ in range(5):
                    keeper.wait_event(library.EVENT_COMPLETED)
                delivered.append(5)
                keeper.events.clear()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while len(delivered) < 3:
            time.sleep(0.01)
            assert thread.is_alive()
        for number in range(200):
            result = smq("journal", path, *[["--check"], ["--json"], []][number % 3])
            assert (result.returncode, result.stderr) == (0, b"")
    finally:
        stop.set()
        thread.join()
    assert sum(delivered) > 200  # some laps around the ring


def test_hostile_content(path: Path):
    """A file whose checksums are right and whose content no library wrote: it ends, and says what a client would."""
    from Support import smq as library

    with client(path, journal_flags=library.JOURNAL_NUMBERS) as keeper:
        for batch in range(2):
            for number in range(12):
                keeper.publish("topic", b"payload %d" % number, qos=1 + number % 2, expiry_s=100 * (number % 3))
            sync(keeper)
    whole, results = path.read_bytes(), {}
    for seed in range(int(os.environ.get("HOSTILE", "400"))):
        path.write_bytes(mutated(whole, random.Random(seed)))
        started = time.monotonic()
        result = smq("journal", path, "--json")
        assert result.returncode in (0, 1) and time.monotonic() - started < 5, (seed, result)
        if result.returncode == 0:
            json.loads(result.stdout)
        else:
            assert result.stdout == b"" and result.stderr.count(b"\n") == 1, (seed, result)
        try:
            client(path).close()
            status = "OK"
        except ValueError as error:
            status = str(error).removeprefix("SMQ_ERR_JOURNAL_")
        # Another client's journal can be read as well, and there is room for all that there is.
        wanted = {"OK": {0}, "CORRUPT": {1}}.get(status, {0, 1})
        assert result.returncode in wanted, (seed, status, result)
        results[status, result.returncode] = results.get((status, result.returncode), 0) + 1
    assert results["OK", 0] > 10 and results["CORRUPT", 1] > 10, results
