"""A journal on a real file system whose power fails: ext4 in a file, shut down without a flush; and small disks.

POWER_CUTS=100 makes as many for each kind; `make test` makes four, and two with libswiftstomp."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from Support import smq, sst
from Support.journal import Journal

NOWHERE = "mqtt://127.0.0.1:1"
EXT4_IOC_SHUTDOWN, WITHOUT_A_FLUSH = 0x8004587D, 2
CUTS = int(os.environ.get("POWER_CUTS", "4"))

# Publishes 1, 2, 3 … with QoS 1, some together, and says each number when it is stored.
PUBLISHER = """
    import random, sys
    sys.path.insert(0, sys.argv[1])
    from Support import smq
    chance = random.Random(sys.argv[3])
    client = smq.Client(url="mqtt://127.0.0.1:1", protocol=5, client_id="keeper", flags=smq.OPTION_KEEP_SESSION,
        journal=sys.argv[2], journal_delay_ms=1, outbox_messages=2000, outbox_bytes=1 << 20)
    number = 0
    while number < 1900:
        for _ in range(chance.choice([1, 1, 3, 10])):
            number += 1
            assert client.publish("topic", b"%d" % number * chance.choice([1, 1, 100]), qos=1) == smq.OK
        if smq.library.smq_sync(client.handle, 5000) != 1:
            break
        print(number, flush=True)
"""

# The same with libswiftstomp.
SENDER = """
    import random, sys
    sys.path.insert(0, sys.argv[1])
    from Support import sst
    chance = random.Random(sys.argv[3])
    client = sst.Client(url="stomp://127.0.0.1:1", journal=sys.argv[2], journal_delay_ms=1, outbox_frames=2000,
        outbox_bytes=1 << 20)
    number = 0
    while number < 1900:
        for _ in range(chance.choice([1, 1, 3, 10])):
            number += 1
            assert client.send("a", b"%d" % number * chance.choice([1, 1, 100]), flags=sst.SEND_STORE) == sst.OK
        if client.sync(5000) != 1:
            break
        print(number, flush=True)
"""


@contextmanager
def mounted(directory: Path, *options: str) -> Iterator[None]:
    done = subprocess.run(["mount", *options, directory], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


def kept(path: Path, **options: object) -> dict[str, object]:
    usual = dict(url=NOWHERE, protocol=5, journal_delay_ms=1, outbox_messages=2000, outbox_bytes=1 << 20)
    return {**usual, "client_id": "keeper", "flags": smq.OPTION_KEEP_SESSION, "journal": str(path), **options}


def start(path: Path, seed: str, program: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(Path(__file__).parents[1]), path, seed],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def cut_power(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, ctypes.c_uint32(WITHOUT_A_FLUSH))
    finally:
        os.close(descriptor)


def news(client: smq.Client) -> list[tuple[int, int, int]]:
    found = []
    while event := client.take():
        if event.type == smq.EVENT_JOURNAL:
            found.append((event.completed, event.cookie, event.os_error))
    return found


def cut_again_and_again(
    directory: Path, tmp_path: Path, data: str, cuts: int, program: str, check: Callable[[Path, int], None]
) -> None:
    """Has a program store numbers, cuts the power meanwhile, and has `check` compare the file with the last number that it
    said."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("needs mkfs.ext4")
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    stored_of_all = 0
    for number in range(cuts):
        chance = random.Random(f"{data} {number}")
        path = directory / f"journal {number}"
        with mounted(directory, "-o", f"loop,data={data}", str(image)):
            publisher = start(path, f"{data} {number}", program)
            publisher.stdout.readline()
            time.sleep(chance.uniform(0, 0.3))
            cut_power(directory)
            publisher.send_signal(signal.SIGKILL)
            rest = publisher.communicate(timeout=30)[0].split()
            stored = int(rest[-1]) if rest else 1
        with mounted(directory, "-o", f"loop,data={data}", str(image)):
            check(path, stored)
            path.unlink()
            stored_of_all += stored
    assert stored_of_all > 10 * cuts


def check_numbers(payloads: list[bytes], count: int) -> None:
    """They are 1, 2, 3 …, some a hundred times."""
    numbers = [payload[: len(b"%d" % n)] for n, payload in enumerate(payloads, 1)]
    assert numbers[:count] == [b"%d" % n for n in range(1, count + 1)]


@pytest.mark.parametrize("data", ["ordered", "writeback"])
def test_what_was_stored_is_there(directory: Path, tmp_path: Path, data: str):
    def check(path: Path, stored: int) -> None:
        with smq.Client(**kept(path)) as client:
            (what, count, _), *more = news(client)
            assert (what, more) == (smq.JOURNAL_RECOVERED, [])
            assert stored <= count <= stored + 20
        messages = Journal(path.read_bytes(), may_be_torn=True).messages()
        check_numbers([message.payload for message in messages], count)

    cut_again_and_again(directory, tmp_path, data, CUTS, PUBLISHER, check)


@pytest.mark.parametrize("data", ["ordered", "writeback"])
def test_frames_that_were_stored_are_there(directory: Path, tmp_path: Path, data: str):
    def check(path: Path, stored: int) -> None:
        options = dict(url="stomp://127.0.0.1:1", journal=str(path), outbox_frames=2000, outbox_bytes=1 << 20)
        with sst.Client(**options) as client:
            (what, count, _), *more = client.news()
            assert (what, more) == (sst.JOURNAL_RECOVERED, [])
            assert stored <= count <= stored + 20
        frames = Journal(path.read_bytes(), may_be_torn=True).frames()
        check_numbers([frame.body for frame in frames], count)

    cut_again_and_again(directory, tmp_path, data, max(CUTS // 2, 1), SENDER, check)


def test_the_disk_fails_and_comes_back(directory: Path, tmp_path: Path):
    """The client tells it, goes on, and refuses nothing unless it is to; the next process has what was stored."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("needs mkfs.ext4")
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    with mounted(directory, "-o", "loop", str(image)):
        with smq.Client(**kept(directory / "journal")) as client:
            client.publish("a", b"1", qos=1)
            assert smq.library.smq_sync(client.handle, 5000) == 1
            cut_power(directory)
            assert client.publish("a", b"2", qos=1) == smq.OK
            assert smq.library.smq_sync(client.handle, 5000) == smq.ERR_JOURNAL
            assert news(client) == [(smq.JOURNAL_FAILED, 0, errno.EIO)]
    with mounted(directory, "-o", "loop", str(image)):
        with smq.Client(**kept(directory / "journal")) as client:
            assert news(client) == [(smq.JOURNAL_RECOVERED, 1, 0)]


def test_a_small_disk(directory: Path):
    with mounted(directory, "-t", "tmpfs", "-o", "size=1m", "none"):
        init = ctypes.CDLL(str(smq.LIBRARY), use_errno=True).smq_client_init
        init.argtypes = smq.library.smq_client_init.argtypes
        options = smq.Options(**kept(directory / "journal"))
        size = smq.library.smq_client_size(ctypes.byref(options))
        block, handle = smq.Block(size), ctypes.c_void_p()
        assert init(block.address, size, ctypes.byref(options), ctypes.byref(handle)) == smq.ERR_JOURNAL
        assert ctypes.get_errno() == errno.ENOSPC
        assert list(directory.iterdir()) == []
        small = kept(directory / "journal", outbox_messages=64, outbox_bytes=8192, journal_batch_bytes=4096)
        with smq.Client(**small) as client:
            with open(directory / "filler", "wb", buffering=0) as file:
                with pytest.raises(OSError):
                    while file.write(bytes(4096)) == 4096:
                        pass
            # All of the file is there since it was made, so a full disk does not concern it.
            for _ in range(60):
                client.publish("a", bytes(100), qos=1)
                assert smq.library.smq_sync(client.handle, 5000) == 1
            assert news(client) == []


def test_a_disk_that_cannot_be_written_to(directory: Path):
    with mounted(directory, "-t", "tmpfs", "-o", "size=2m", "none"):
        small = kept(directory / "journal", outbox_messages=64, outbox_bytes=8192, journal_batch_bytes=4096)
        with smq.Client(**small) as client:
            client.publish("a", b"1", qos=1)
            assert smq.library.smq_sync(client.handle, 5000) == 1
        subprocess.run(["mount", "-o", "remount,ro", directory], check=True)
        before = (directory / "journal").read_bytes()
        with pytest.raises(ValueError, match="SMQ_ERR_JOURNAL"):
            smq.Client(**small)
        assert (directory / "journal").read_bytes() == before
