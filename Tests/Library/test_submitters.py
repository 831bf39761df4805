"""Many threads submit to one client: Tests/Threads/submitters.c with the library as shipped, and a real Mosquitto.

With SMQ_TARGET that target's program runs under qemu-user. The broker is native.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from Support.servers import need
from .test_sensord import BUILD, QEMU, TARGET

ROOT = Path(__file__).resolve().parents[2]
COMPILER = TARGET.compiler if TARGET else "cc"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a program of Tests/Threads: the command, without its arguments."""

    def compiled(name: str) -> list[object]:
        program = tmp_path_factory.mktemp(name) / name
        command = [COMPILER, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program]
        command += ["-I", ROOT / "include", ROOT / "Tests" / "Threads" / f"{name}.c"]
        subprocess.run([*command, BUILD / "libswiftmqtt.a"], check=True, timeout=60)
        return [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), program]

    return compiled


@pytest.fixture(scope="module")
def submitters(build) -> list[object]:
    return build("submitters")


@pytest.mark.parametrize(
    "arguments",
    ["", "-r", "-s", "-r -s", "-r -m 1 -t 8 -n 500", "-m 8192 -t 8 -n 2000", "-r -p 10"],
)
def test_all_arrive_once_and_each_threads_in_order(submitters, mosquitto, subscriber, arguments):
    command = [*submitters, *arguments.split(), mosquitto.url]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 77:
        pytest.skip("SCHED_FIFO is not permitted")
    assert result.returncode == 0, result.stderr
    figures = {n: int(v) for n, v in re.findall(r"(\w+) (\d+)", result.stdout)}
    options = dict(re.findall(r"-([tn]) (\d+)", arguments))
    threads, count = int(options.get("t", 4)), int(options.get("n", 1000))
    qos = {str(thread): thread % 3 for thread in range(threads)} | {"last": 1}
    numbers = {level: list(range(count)) for level in qos} | {"last": list(range(10))}
    if "-s" in arguments:
        qos["signal"], numbers["signal"] = 1, list(range(count))
    assert figures["completed"] == figures["submitted"] == sum(map(len, numbers.values()))
    assert figures["failed"] == figures["waiting"] == figures["outbox"] == 0
    assert 0 < figures["peak"] <= 8192

    sure = sum(len(numbers[level]) for level in qos if qos[level])
    subscriber.until(lambda: subscriber.counts[1] + subscriber.counts[2] == sure)
    arrived = defaultdict(list)
    for message in subscriber.messages:
        arrived[message.topic.removeprefix("submit/")].append(int(message.payload))
    for level in qos:
        if qos[level]:
            assert arrived[level] == numbers[level]
        else:  # which the server may drop
            assert arrived[level] == sorted(set(arrived[level])) != []


@pytest.mark.parametrize("owner", ["", "-r"])
def test_no_message_is_forgotten(build, mosquitto, owner):
    """Nothing but the wake-up of the message itself ever wakes the owner: there is no Keep Alive. What was forgotten, the
    program says after half a minute. The protocol that forgot some did so within 735 to 13,752 rounds."""
    rounds = 2_000 if QEMU else 30_000
    command = [*build("rounds"), "-n", str(rounds), *owner.split(), mosquitto.url]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{rounds} rounds\n", "")
