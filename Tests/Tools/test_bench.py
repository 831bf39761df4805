"""smq bench: what it counts, what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from Support.servers import Mosquitto

from .tool import SMQ, environment, smq, start

LATENCIES = r"p50 {0}, p90 {0}, p99 {0}, p99\.9 {0}, max {0}".format(r"\d+(?:\.\d\d)? (?:us|ms|s)")
PROGRESS = rf"[\d,]+ published, [\d,]+ received, [\d,]+ a second, {LATENCIES}"
PERCENTILES = ("min", "p50", "p90", "p99", "p99.9", "max")


def bench(broker: Mosquitto, *options: object, code: int = 0) -> dict:
    result = smq("bench", *broker.address, "--json", *options, timeout=60)
    assert (result.returncode, result.stderr) == (code, b""), result
    assert result.stdout.count(b"\n") == 1
    return json.loads(result.stdout)


def adds_up(found: dict) -> None:
    """What has to be so whatever was measured."""
    assert found["received"] + found["lost"] >= found["published"] * found["subscribers"]
    assert found["failed"] == 0 and found["disconnections"] == 0
    for name in ("delivery_us", "acknowledgement_us"):
        if times := found[name]:
            classes = times["classes"]
            wanted = found["received"] if name == "delivery_us" else found["published"]
            assert sum(line["messages"] for line in classes) == wanted and classes[0]["messages"] > 0 and classes[-1]["messages"] > 0
            bounds = [line["below"] for line in classes]
            assert bounds == [bounds[0] << index for index in range(len(bounds))]
            assert bounds[0] > times["min"] >= bounds[0] // 2 and bounds[-1] > times["max"] >= bounds[-1] // 2
            ordered = [times[percentile] for percentile in PERCENTILES]
            assert ordered == sorted(ordered) and times["min"] <= times["mean"] <= times["max"]
    if found["published"]:
        rate = found["published"] * 1e6 / found["publishing_us"]
        assert found["published_per_s"] == pytest.approx(rate, rel=0.01, abs=1)


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("publishers, subscribers", [(1, 1), (10, 3), (3, 10)])
def test_everything_arrives(broker: Mosquitto, publishers: int, subscribers: int, qos: int):
    found = bench(broker, "--publishers", publishers, "--subscribers", subscribers, "-q", qos, "--messages", 1000)
    adds_up(found)
    assert (found["publishers"], found["subscribers"], found["qos"]) == (publishers, subscribers, qos)
    assert (found["published"], found["received"], found["lost"]) == (1000, 1000 * subscribers, 0)
    assert (found["acknowledgement_us"] is None) == (qos == 0)


@pytest.mark.parametrize("options", [["-V", "5"], ["-V", "31"], ["-V", "5", "-I", "bench"], ["--size", 16],
                                     ["--size", 100_000], ["-t", "another/topic"], ["--subscribers", 0, "-q", 1]])
def test_options(broker: Mosquitto, options: list):
    found = bench(broker, "--messages", 100, *options)
    adds_up(found)
    assert found["published"] == 100 and found["lost"] == 0
    assert found["payload_bytes"] == (options[1] if options[0] == "--size" else 64)
    assert (found["delivery_us"] is None) == (found["subscribers"] == 0)


def test_the_broker_has_as_many(tmp_path: Path):
    """What it says it sent is what the broker says it got."""
    broker = Mosquitto(tmp_path, persistence="false")
    broker.start()
    try:
        bench(broker, "--publishers", 5, "--messages", 200, "-q", 1)
    finally:
        broker.stop()
    log = broker.log.read_text()
    assert len(re.findall(r"Received PUBLISH from ", log)) == 200
    assert len(re.findall(r"Received DISCONNECT from ", log)) == len(re.findall(r"New client connected", log)) == 6


def test_a_rate_is_kept(broker: Mosquitto):
    found = bench(broker, "--publishers", 4, "--rate", 200, "--seconds", 2.5, "-q", 1)
    adds_up(found)
    assert 2_400_000 <= found["publishing_us"] <= 4_500_000
    assert 400 <= found["published"] <= 501  # fewer on a machine that is busy


def test_the_time_is_kept(broker: Mosquitto):
    begin = time.monotonic()
    found = bench(broker, "--seconds", 1)
    adds_up(found)
    assert 1 <= time.monotonic() - begin < 10 and found["published"] > 100


def test_the_time_ends_with_the_last_message(broker: Mosquitto):
    """Though no event tells of it."""
    found = bench(broker, "--subscribers", 0, "--messages", 100)
    adds_up(found)
    assert found["published"] == 100 and found["publishing_us"] < 300_000


def test_for_people(broker: Mosquitto):
    result = smq("bench", broker.url, "-q", 1, "--messages", 1000)
    number = r"[\d,]+"
    lines = [
        "publishers 1, subscribers 1, QoS 1, payloads of 64 bytes", r"connected   in \d+\.\d\d s",
        rf"published   1,000 messages in \d+\.\d\d s: {number} a second, \d+\.\d\d MB/s",
        rf"received    1,000 messages in \d+\.\d\d s: {number} a second, \d+\.\d\d MB/s",
        f"delivery    {LATENCIES}", f"acknowledged after {LATENCIES}"]
    assert result.returncode == 0 and result.stderr == b""
    printed = result.stdout.decode().splitlines()
    bars = [line for line in printed if line.startswith(" ")]
    for line, wanted in zip([line for line in printed if line not in bars], lines, strict=True):
        assert re.fullmatch(wanted, line)
    shares = [re.fullmatch(r" *< (\d+ us|\d+\.\d\d m?s)  (#*) +(\d+\.\d\d) %", line) for line in bars]
    assert all(shares) and {len(line.index("#") * "x") for line in bars if "#" in line} == {14}
    assert max(len(share[2]) for share in shares) == 40
    # Of the two histograms together.
    assert 199 < sum(float(share[3]) for share in shares) < 200.1


# ---- Progress


def test_progress_is_asked_for(broker: Mosquitto):
    result = smq("bench", *broker.address, "--seconds", 3, "--rate", 100, "--progress", timeout=30)
    lines = result.stderr.decode().splitlines()
    assert result.returncode == 0 and 2 <= len(lines) <= 4
    assert all(re.fullmatch(PROGRESS, line) for line in lines)


def test_progress_on_a_terminal(broker: Mosquitto):
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        with open(theirs, "wb", buffering=0) as stderr:
            result = subprocess.run(
                [*SMQ, "bench", *broker.address, "--seconds", "2.5", "--rate", "100"], stdout=subprocess.PIPE,
                stderr=stderr, stdin=subprocess.DEVNULL, env=environment(), timeout=30)
        shown = ""
        with contextlib.suppress(OSError):  # EIO: nobody has the other side any more
            while part := terminal.read(10_000):
                shown += part.decode()
    assert result.returncode == 0
    # The line is written over, and removed in the end.
    assert re.fullmatch(rf"(\r{PROGRESS}\x1b\[K){{2,3}}\r\x1b\[K", shown)


def test_no_progress_else(broker: Mosquitto):
    assert smq("bench", *broker.address, "--seconds", 2.5, "--rate", 100, timeout=30).stderr == b""


# ---- How it ends


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_prints_what_it_has(broker: Mosquitto, number: int):
    process = start("bench", *broker.address, "--rate", 100, "--seconds", 600, "--progress", "--json")
    process.stderr.readline()
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=20)
    found = json.loads(stdout)
    assert process.returncode == 128 + number
    assert 50 <= found["published"] < 1000 and found["received"] > 0
    adds_up(found)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path, persistence="false")
    broker.start()
    yield broker
    broker.stop()


def test_the_broker_dies(own_broker: Mosquitto):
    """It goes on until its time is over, and tells of it."""
    process = start("bench", *own_broker.address, "--rate", 100, "--seconds", 3, "--progress", "-q", 1)
    process.stderr.readline()
    own_broker.kill()
    stdout, _ = process.communicate(timeout=40)
    assert process.returncode == 1
    assert re.search(r"^broken      \d+ connections; the last of a (publisher|subscriber): \w", stdout.decode(), re.M)


def test_the_broker_dies_before_all_messages_are_out(own_broker: Mosquitto):
    """Not even --messages makes it wait for ever."""
    process = start("bench", *own_broker.address, "--messages", 100_000_000, "--progress", "--json")
    process.stderr.readline()
    own_broker.kill()
    stdout, _ = process.communicate(timeout=60)
    found = json.loads(stdout)
    assert process.returncode == 1 and found["disconnections"] > 0 and found["published"] < 100_000_000


def test_the_broker_lets_nobody_in(tmp_path: Path):
    broker = Mosquitto(tmp_path, allow_anonymous="false")
    broker.start()
    try:
        result = smq("bench", *broker.address, "--seconds", 1)
    finally:
        broker.stop()
    assert result.returncode == 5
    assert re.fullmatch(rb"smq bench: client \d cannot connect to .*: refused: Not authorized\n", result.stderr)


def test_too_many_clients():
    # Root might raise the limit: without its capabilities it may not.
    unable = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
    result = subprocess.run(
        ["sh", "-c", 'ulimit -S -n 64; ulimit -H -n 64; exec "$@"', "sh", *unable, *SMQ, "bench", "--publishers", "60"],
        capture_output=True, env=environment(), timeout=20)
    assert result.returncode == 1
    assert result.stderr == b"smq bench: 61 clients need 138 descriptors, but only 64 are allowed: see ulimit -n\n"


def test_many_clients(broker: Mosquitto):
    """More than a queue of connections holds, and more than a turn of the loop serves."""
    found = bench(broker, "--publishers", 300, "--subscribers", 2, "--messages", 900)
    adds_up(found)
    assert (found["published"], found["received"]) == (900, 1800)
