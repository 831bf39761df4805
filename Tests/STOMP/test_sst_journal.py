"""sst send --journal: what a script has sent is delivered, by that run or by the next one. sst journal: what it says of the
files of real clients."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from Python.stomp_servers import Connection, Scripted
from Support.servers import free_port
from Support.waiting import wait_for

from .conftest import BUILD, ROOT
from .peer import PATIENCE
from .test_sst import SMQ, SST, environment, fine, sst


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j"


def nowhere() -> list[object]:
    return ["-h", "127.0.0.1", "-p", free_port()]


def send(path: Path, where: list, *arguments: object, **more: str) -> subprocess.CompletedProcess:
    return sst("send", *where, "-t", "/queue/kept", "--journal", path, *arguments, **more)


def serve(connection: Connection) -> None:
    connection.accept()
    connection.serve()


def bodies(server: Scripted) -> list[bytes]:
    return [frame.body for frame in server.heard if frame.command == "SEND"]


def listed(path: Path, program: Path = SST) -> dict:
    """What it says as JSON; --check and the list for people do not contradict it."""
    found = json.loads(fine("journal", path, "--json", program=program))
    assert fine("journal", path, "--check", program=program) == ""
    lines = fine("journal", path, program=program).splitlines()
    assert lines[0] == str(path) and f"  messages  {len(found['messages'])} to be delivered" in lines
    assert len([line for line in lines if re.match(r" +\d+ +\d+  /", line)]) == len(found["messages"])
    return found


def has(path: Path, count: int) -> None:
    """Waits until so many messages are in the file of a client that runs."""
    wait_for(lambda: path.exists() and len(json.loads(fine("journal", path, "--json"))["messages"]) == count)


# ---- sst send --journal


def test_delivered_at_once(path):
    with Scripted(serve) as server:
        result = send(path, ["-L", server.url], "-l", stdin="1\n2\n3\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert bodies(server) == [b"1", b"2", b"3"] and listed(path)["messages"] == []


def test_delivered_by_the_next_run(path, tmp_path):
    for number in (1, 2):
        result = send(path, nowhere(), "-m", number)
        assert result.returncode == 0 and "Connection refused" in result.stderr
        assert result.stderr.endswith(f"; what was not delivered is in {path}\n")
    (tmp_path / "file").write_text("4")
    for arguments, stdin in ((["-l"], "3\n"), (["-f", tmp_path / "file"], ""), (["-s"], "5"), (["-n"], ""),
                             (["-m", "6", "--repeat", "2", "--repeat-delay", "0.01"], "")):
        result = send(path, nowhere(), *arguments, "--quiet", stdin=stdin)
        assert (result.returncode, result.stderr) == (0, "")
    with Scripted(serve) as server:
        result = send(path, ["-L", server.url], "-m", "7", "-H", "a: b:c", "--no-content-length")
    assert (result.returncode, result.stderr) == (0, "")
    assert bodies(server) == [b"1", b"2", b"3", b"4", b"5", b"", b"6", b"6", b"7"]
    last = [frame for frame in server.heard if frame.command == "SEND"][-1]
    assert last.headers["a"] == r"b\cc" and "content-length" not in last.headers


def test_with_a_real_broker(rabbitmq, queue, path):
    assert sst("send", *nowhere(), "-t", queue, "--journal", path, "-m", "1").returncode == 0
    result = sst("send", "-L", rabbitmq.url, "-t", queue, "--journal", path, "-m", "2")
    assert (result.returncode, result.stderr) == (0, "")
    assert fine("receive", "-L", rabbitmq.url, "-t", queue, "-C", 2) == "1\n2\n"


def test_killed(path):
    """Lines that were read some time ago are in the file, though their run is gone."""
    process = subprocess.Popen([SST, "send", *map(str, nowhere()), "-t", "/queue/kept", "--journal", path, "-l"],
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
    process.stdin.write("1\n2\n")
    process.stdin.flush()
    has(path, 2)
    refused = send(path, nowhere(), "-m", "x")
    assert refused.returncode == 1 and "another client, has" in refused.stderr, refused
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Scripted(serve) as server:
        assert send(path, ["-L", server.url], "-m", "3").returncode == 0
    assert bodies(server) == [b"1", b"2", b"3"]


def test_a_connection_that_breaks(path):
    def cut(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.reset()

    with Scripted(cut, serve) as server:
        result = send(path, ["-L", server.url], "-m", "1")
        assert result.returncode == 0 and "was lost" in result.stderr and str(path) in result.stderr
        assert send(path, ["-L", server.url], "-m", "2").returncode == 0
    assert bodies(server) == [b"1", b"1", b"2"]


def test_of_two_messages_one_has_ended(path):
    """The head of the log cannot pass over the first one, so what is known of the second is that it has ended."""

    def confirm_second(connection: Connection) -> None:
        connection.accept()
        frames = [connection.expect("SEND"), connection.expect("SEND")]
        has(path, 2)
        connection.receipt(frames[1])
        has(path, 1)
        connection.reset()

    with Scripted(confirm_second) as server:
        assert send(path, ["-L", server.url], "-m", "x", "--repeat", "2").returncode == 0
    assert [message["serial"] for message in listed(path)["messages"]] == [1]


QUIET = """
from swiftmqtt import stomp
client = stomp.Client("stomp://127.0.0.1:1", journal={path!r})
client.send("/queue/kept", "quiet", store=True, quiet=True)
client.sync(10)
client.close()
"""


def test_messages_of_another_program_that_nothing_is_told_of(path):
    found = environment(PYTHONPATH=str(ROOT / "python"), PYTHONDONTWRITEBYTECODE="1",
                        SWIFTMQTT_LIBRARY=str(BUILD / "libswiftmqtt.so.1"))
    subprocess.run([sys.executable, "-c", QUIET.format(path=str(path))], env=found, check=True, timeout=PATIENCE)
    assert [message["quiet"] for message in listed(path)["messages"]] == [True]
    with Scripted(serve) as server:
        assert send(path, ["-L", server.url], "-m", "1").returncode == 0
    assert bodies(server) == [b"quiet", b"1"] and listed(path)["messages"] == []


def test_a_broker_that_refuses(path):
    """It is stored; and the exit status says what is wrong, as without a journal."""

    def refuse(connection: Connection) -> None:
        connection.greeted()
        connection.write("ERROR", message="no")

    def refuse_later(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.write("ERROR", message="no")

    with Scripted(refuse, refuse, refuse_later) as server:
        for status, quiet in ((5, []), (5, ["--quiet"]), (7, [])):
            result = send(path, ["-L", server.url], "-m", "x", *quiet)
            assert result.returncode == status and bool(result.stderr) == (not quiet), result
    assert len(listed(path)["messages"]) == 3


def test_the_broker_refuses_one(path):
    """It says which: that one is not kept."""

    def refuse(connection: Connection) -> None:
        connection.accept()
        frame = connection.expect("SEND")
        connection.write("ERROR", receipt_id=frame.headers["receipt"], message="no")

    with Scripted(refuse) as server:
        result = send(path, ["-L", server.url], "-m", "x")
    assert result.returncode == 1 and "was not delivered" in result.stderr
    assert listed(path)["messages"] == []


def test_more_than_there_is_room_for(path):
    """Without a broker it ends, too, and says so; what was stored stays."""
    result = send(path, nowhere(), "-l", stdin="".join(f"{number}\n" for number in range(5000)))
    assert result.returncode == 1 and "there is no room for more messages" in result.stderr
    assert len(listed(path)["messages"]) == 4096


@pytest.mark.parametrize("arguments, said", [
    (["-m", "x", "--transaction"], "a transaction ends with its connection"),
    (["-m", "x", "--no-receipt"], "it keeps a message until its receipt comes"),
    (["-m", "x", "--journal", "/nonexistent/j"], "--journal /nonexistent/j: No such file or directory"),
    (["-m", "x", "--journal", "x" * 1001], "--journal: a path has at most 1000 bytes"),
    (["-s"], "the message cannot be sent: --journal keeps messages of at most 120 KiB"),
])
def test_wrong(path, arguments, said):
    result = send(path, nowhere(), *arguments, stdin="x" * 130_000)
    assert result.returncode == 1 and said in result.stderr, result


def test_large(path):
    body = "x" * 122_000
    assert send(path, nowhere(), "-s", stdin=body).returncode == 0
    assert listed(path)["messages"][0]["body"] == body
    with Scripted(serve) as server:
        assert send(path, ["-L", server.url], "-n").returncode == 0
    assert bodies(server) == [body.encode(), b""]


# ---- sst journal


def test_what_it_lists(path, tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\0binary")
    send(path, nowhere(), "-m", "text \u20ac", "--content-type", "text/plain", "-H", "a: b:c\\", "-H", "a: second")
    send(path, nowhere(), "-t", "/queue/\x1b[31m", "-f", tmp_path / "file")
    found = listed(path)
    assert (found["file"], found["failed"], found["torn"], found["written"]) == (str(path), 0, 0, None)
    assert 0 < found["used"] < found["blocks"] and found["commits"] == 2
    first, second = found["messages"]
    assert (first["serial"], first["cookie"], first["quiet"], first["destination"]) == (1, 0, False, "/queue/kept")
    assert first["headers"] == {
        "destination": "/queue/kept", "content-type": "text/plain", "content-length": "8", "a": "b:c\\"}
    assert (first["length"], first["body"]) == (8, "text \u20ac") and "receipt" not in first["headers"]
    assert (second["serial"], second["length"], second["body_hex"]) == (2, 8, "ff0062696e617279")
    text = fine("journal", path)
    assert re.search(r"^ +1 +8  /queue/kept$", text, re.M) and re.search(r"^ +2 +8  /queue/\\x1b\[31m$", text, re.M), text


def test_escapes_are_those_of_the_version(path):
    for version in ("1.0", "1.1", "1.2"):
        assert send(path, nowhere(), "-V", version, "-m", "x", "-H", "a: b\\nc").returncode == 0
    assert [message["headers"]["a"] for message in listed(path)["messages"]] == ["b\\nc"] * 3


def test_nothing_is_written_and_no_lock_is_taken(path):
    process = subprocess.Popen([SST, "send", *map(str, nowhere()), "-t", "/queue/kept", "--journal", path, "-l"],
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
    try:
        process.stdin.write("1\n")
        process.stdin.flush()
        has(path, 1)  # it has the file locked
        time.sleep(0.1)
        before, content = path.stat(), path.read_bytes()
        listed(path)
        assert path.stat().st_mtime_ns == before.st_mtime_ns and path.read_bytes() == content
    finally:
        process.kill()
        process.communicate()


def test_whose_it_is(path, tmp_path):
    """Each names the other's command."""
    assert send(path, nowhere(), "-m", "x").returncode == 0
    result = sst("journal", path, program=SMQ)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"smq journal: {path} is a journal of libswiftstomp: use sst journal\n"
    other = tmp_path / "mqtt"
    assert sst("pub", "-i", "a", "--journal", other, *nowhere(), "-t", "a", "-q", 1, "-m", "x", program=SMQ).returncode == 0
    result = sst("journal", other)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"sst journal: {other} is a journal of libswiftmqtt: use smq journal\n"
    result = send(other, nowhere(), "-m", "x")
    assert result.returncode == 1 and f"--journal {other}: " in result.stderr


def test_damage(path):
    assert send(path, nowhere(), "-m", "x").returncode == 0
    data = bytearray(path.read_bytes())
    data[2 * 4096 + 60] ^= 1
    path.write_bytes(data)
    result = sst("journal", path, "--check")
    # The only commit there is: it may have been torn.
    assert result.returncode == 0 and listed(path)["torn"] == 1
    os.truncate(path, 3 * 4096)
    result = sst("journal", path, "--check")
    assert result.returncode == 1 and "it ends before its ring" in result.stderr


@pytest.mark.parametrize("arguments, said", [
    ([], "a journal is required: sst journal FILE"),
    (["a", "b"], '"b" is unexpected: there is a FILE already'),
    (["a", "-h", "localhost"], "-h is not an option of sst journal"),
    (["/nonexistent"], "cannot open /nonexistent: No such file or directory"),
    ([__file__], f"{__file__} is not a journal"),
])
def test_wrong_words(arguments, said):
    result = sst("journal", *arguments)
    assert result.returncode == 1 and result.stderr.startswith(f"sst journal: {said}"), result.stderr
