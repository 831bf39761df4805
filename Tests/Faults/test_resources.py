"""What a client takes, and what it gives back: descriptors, memory, wake-ups. In C programs, that Python's own memory
and wake-ups do not count."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from Support.servers import need

CYCLES = 10_000
CLIENTS = 1_000


def numbers(line: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"(\w+) (-?[\d.]+)", line)}


def run(*command: object, timeout: float = 150) -> str:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_ten_thousand_connections(start_mosquitto, programs):
    """Rows L13: descriptors and memory stay as they are after the first thousand."""
    broker = start_mosquitto(log_type="error")
    lines = run(programs("cycles.c"), broker.url, CYCLES, CYCLES // 10).splitlines()
    rounds = [numbers(line) for line in lines[:-1]]
    assert [r["cycle"] for r in rounds] == [CYCLES // 10 * n for n in range(1, 11)]
    assert len({r["descriptors"] for r in rounds}) == 1
    assert numbers(lines[-1])["descriptors"] == rounds[0]["descriptors"] - 1  # the client's own
    assert 0 < rounds[-1]["kilobytes"] <= rounds[0]["kilobytes"] + 16


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """For this process's children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CLIENTS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the system allows {hard} descriptors, and {wanted} are needed")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_clients_in_one_loop(many_descriptors, start_mosquitto, programs):
    """Each takes what smq_client_size() says, not a byte more, and nothing of the heap."""
    broker = start_mosquitto(log_type="error")
    first, second = run(programs("many.c"), broker.url, CLIENTS).splitlines()
    counts = numbers(first)
    assert counts.pop("failed") == 0
    assert set(counts.values()) == {CLIENTS}, counts
    memory = numbers(second)
    assert (memory["heap"], memory["mapped"], memory["touched"]) == (0, 0, 0)
    assert memory["bytes"] < 9216


def system_calls(program: Path, url: str, keep_alive_s: int, milliseconds: int, trace: Path) -> list[str]:
    """Those of idle.c, from CONNACK on."""
    strace = need("strace", "faults")
    if subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, timeout=20).returncode:
        pytest.skip("strace is not permitted here")
    run(strace, "-f", "-qq", "-o", trace, "-s", "16", program, url, keep_alive_s, milliseconds)
    text = trace.read_text()
    between = text[text.index('"connected\\n"') : text.index('"over\\n"')].splitlines()[1:-1]
    print("\n".join(between))
    return [match.group(1) for line in between if (match := re.match(r"\d+ +(\w+)\(", line))]


def test_an_idle_client_wakes_for_keep_alive_alone(mosquitto, programs, tmp_path):
    """A PINGREQ leaves after seven eighths of the Keep Alive. Two and a half of these times, so as to be far from the
    next: two PINGREQs. For each it wakes twice: to send it, and for the answer. The last two calls are the program's,
    which wants to leave."""
    calls = system_calls(programs("idle.c"), mosquitto.url, 2, 4375, tmp_path / "trace")
    assert calls == ["poll", "epoll_wait", "sendto", "poll", "epoll_wait", "recvfrom"] * 2 + ["poll", "epoll_wait"]


def test_an_idle_client_without_keep_alive_does_not_wake(mosquitto, programs, tmp_path):
    calls = system_calls(programs("idle.c"), mosquitto.url, 0, 3000, tmp_path / "trace")
    assert calls == ["poll", "epoll_wait"]


def test_a_fast_feed(start_mosquitto, clients):
    """A feed of JSON objects, as fast as mosquitto_pub is (row L16): none is missing, none is out of order."""
    broker = start_mosquitto(log_type="error")
    client = clients(url=broker.url)
    client.connected()
    client.subscribed("feed/#")
    vehicle = {name: 24.937 for name in "lat long hdg spd acc dl odo drst oday jrn line start loc".split()}
    lines = "".join(json.dumps({"number": number, **vehicle}) + "\n" for number in range(10_000))
    with tempfile.TemporaryFile("w+") as feed:
        feed.write(lines)
        feed.seek(0)
        command = [need("mosquitto_pub"), *broker.address, "-l", "-t", "feed/hfp/1"]
        begin = time.monotonic()
        with subprocess.Popen(command, stdin=feed) as process:
            got = client.receive(10_000, 60)
            print(f"{10_000 / (time.monotonic() - begin):.0f} messages a second")
            assert process.wait(10) == 0
    assert [json.loads(message.payload)["number"] for message in got] == list(range(10_000))
