"""smq pub --journal: what a script has published is delivered, by that run or by the next one."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from Support.servers import Mosquitto, free_port

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
