"""The library calls no allocator: 100,000 messages under an interposed one that counts."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from Support import smq

COUNT = 100_000
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("no-malloc")
    interposer, program = directory / "count_malloc.so", directory / "publish_many"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    # -fno-builtin: else the compiler makes calloc out of malloc, and calls itself.
    shared = ["-shared", "-fPIC", "-fno-builtin", "-o", interposer, HERE / "count_malloc.c"]
    linked = ["-I", smq.HEADER.parent, "-o", program, HERE / "publish_many.c"]
    linked += ["-L", smq.LIBRARY.parent, "-lswiftmqtt", f"-Wl,-rpath,{smq.LIBRARY.parent}"]
    for arguments in (shared, linked):
        subprocess.run(["cc", *flags, *arguments], check=True, timeout=60)
    return interposer, program


def test_no_call_of_an_allocator(programs, start_mosquitto, subscribe):
    interposer, program = programs
    mosquitto = start_mosquitto(log_type="error")  # each line about a packet would cost as much as the packet
    subscriber = subscribe(mosquitto)
    result = subprocess.run(
        [program, mosquitto.url, str(COUNT)],
        env={**os.environ, "LD_PRELOAD": str(interposer)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    figures = {n: int(v) for n, v in re.findall(r"(\w+) (\d+)", result.stdout)}
    assert figures["before"] == 2, "the interposer does not count"
    assert figures["completed"] == COUNT
    assert figures["during"] == 0
    assert figures["packets"] > COUNT * 4 / 3
    # QoS 0 may be dropped by the server if the witness is too slow.
    subscriber.until(lambda: subscriber.counts[1] + subscriber.counts[2] >= COUNT // 3 * 2, timeout=150)
    assert (subscriber.counts[1], subscriber.counts[2]) == (COUNT // 3, COUNT // 3)


def test_without_the_interposer_there_is_no_answer(programs, mosquitto):
    """The count is the interposer's, not one the program makes up."""
    result = subprocess.run([programs[1], mosquitto.url, "1"], capture_output=True, timeout=10)
    assert result.returncode == 1
