"""smq pub and rr with payloads larger than the outbox: what is published, and the memory that it takes."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest
from Support.servers import Mosquitto

from .tool import SMQ, TARGET, environment, smq, start

MB = 1 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 MB, no two pages of which are the same."""
    path = tmp_path_factory.mktemp("large") / "file"
    with open(path, "wb") as file:
        for number in range(64 * MB // 4096):
            file.write(hashlib.sha512(b"%d" % number).digest() * 64)
    return path


def published(broker: Mosquitto, path: Path, *options: str, limit: int | None = None, **pipes: object) -> None:
    """The message that comes is what is in the file, and smq has had no more memory of its own than `limit`."""
    subscriber = start("sub", *broker.address, "-t", "large", "-C", 1, "-N", "-W", 60)
    time.sleep(0.5)

    def bounded() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    result = subprocess.run(
        [*SMQ, "pub", *broker.address, "-t", "large", "-q", "1", *options], env=environment(), capture_output=True,
        timeout=60, preexec_fn=bounded, **pipes)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    digest = hashlib.sha256(subscriber.communicate(timeout=60)[0]).hexdigest()
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.skipif(bool(TARGET), reason="the emulator has memory of its own")
def test_a_file_takes_no_memory(broker: Mosquitto, large: Path):
    published(broker, large, "-f", str(large), limit=16 * MB)


@pytest.mark.skipif(bool(TARGET), reason="the emulator has memory of its own")
def test_a_file_is_never_resident(misbehaving, large: Path):
    """Not even as pages of a map, which the limit of the test above does not count. The reader is slow, so that there is
    time to look; the pages before what it has read would be there."""
    process = start("pub", *misbehaving("slow_reader"), "-t", "a", "-q", "1", "-f", large)
    peak, deadline = 0, time.monotonic() + 3
    while time.monotonic() < deadline and process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 0 < peak < 8_000  # kilobytes


def test_a_file_that_is_too_large(broker: Mosquitto, tmp_path: Path):
    """It has no bytes on the disk; MQTT's limit is for the rest of the packet, too."""
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 268_435_456)
    result = smq("pub", *broker.address, "-t", "a", "-f", path)
    assert (result.returncode, result.stdout) == (1, b"")
    limit = "is larger than a message can be: MQTT allows 268435455 bytes"
    assert result.stderr.decode() == f"smq pub: -f: {path} {limit}\n"
    os.truncate(path, 268_435_455)
    result = smq("pub", *broker.address, "-t", "a", "-f", path)
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"it is larger than the broker, or MQTT, allows" in result.stderr


@pytest.mark.skipif(bool(TARGET), reason="the emulator has memory of its own")
def test_standard_input_is_in_memory_once(broker: Mosquitto, large: Path):
    with open(large, "rb") as file:
        published(broker, large, "-s", limit=(64 + 16) * MB, stdin=file)


def test_a_pipe_as_a_file(broker: Mosquitto, large: Path):
    with open(large, "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        published(broker, large, "-f", "/dev/stdin", stdin=cat.stdout)


@pytest.mark.parametrize("size", [0, 1, 65_536, 524_288, 524_289, 589_824, 655_361])
def test_sizes(broker: Mosquitto, tmp_path: Path, size: int):
    """Around where it goes out in pieces, and where those end."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(size))
    for options, stdin in ((["-f", str(path)], b""), (["-s"], path.read_bytes())):
        if options == ["-s"] and size == 0:
            continue  # an error
        result = smq("pub", *broker.address, "-t", "size/x", "-r", "-q", "2", *options, stdin=stdin)
        assert (result.returncode, result.stderr) == (0, b"")
        if size:
            assert smq("sub", *broker.address, "-t", "size/x", "-C", 1, "-N").stdout == path.read_bytes()


def test_repeated_and_requested(broker: Mosquitto, tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MB))
    subscriber = start("sub", *broker.address, "-t", "again", "-C", 3, "-N", "-W", 30)
    time.sleep(0.5)
    assert smq("pub", *broker.address, "-t", "again", "-f", path, "--repeat", 3).returncode == 0
    assert subscriber.communicate(timeout=40)[0] == path.read_bytes() * 3
    # Who asks on the topic of the answer is answered.
    result = smq("rr", *broker.address, "-t", "echo", "-e", "echo", "-f", path, "-N", "-W", 20)
    assert (result.returncode, result.stdout) == (0, path.read_bytes())


@pytest.mark.parametrize("change", ["write", "truncate"])
@pytest.mark.parametrize("command", [["pub", "-q", "1"], ["rr", "-e", "b", "-V", "311"]])
def test_a_file_that_changes(misbehaving, tmp_path: Path, command: list[str], change: str):
    """Half of one and half of the other would be a message that nobody wrote."""
    path = tmp_path / "file"
    path.write_bytes(bytes(8 * MB))
    name, *options = command
    process = start(name, *misbehaving("slow_reader"), "-t", "a", *options, "-f", path)
    time.sleep(0.5)  # the kernel's buffers are full by now, or it is not yet as far
    with open(path, "r+b") as file:
        if change == "write":
            file.write(b"x")
        else:
            file.truncate(5)
    assert process.wait(30) == 1
    assert process.stderr.read().decode() == f"smq {name}: -f: {path} changed while it was being sent\n"


def test_a_line_of_any_size(broker: Mosquitto):
    line = os.urandom(MB).replace(b"\n", b"x")
    subscriber = start("sub", *broker.address, "-t", "lines", "-C", 3, "-W", 30)
    time.sleep(0.5)
    result = smq("pub", *broker.address, "-t", "lines", "-l", "-q", 1, stdin=line + b"\nshort\n" + line[::-1])
    assert (result.returncode, result.stderr) == (0, b"")
    assert subscriber.communicate(timeout=40)[0] == line + b"\nshort\n" + line[::-1] + b"\n"
