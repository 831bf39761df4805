"""The vehicle feed: examples-c/transit.c and examples/transit.py take a thousand messages a second from a file that
examples/replay.py has made, while the connection is cut again and again."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support.proxy import cut_after
from Support.servers import free_port
from Support.waiting import PATIENCE, wait_for
from .test_sensord import BUILD

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CUTS = 10
TOPIC = "/hfp/v2/journey/ongoing/vp/bus/%s/x"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "python"),
    "PYTHONDONTWRITEBYTECODE": "1",
    "SWIFTMQTT_LIBRARY": str(BUILD / "libswiftmqtt.so.1"),
}
PROGRAMS = {"c": [BUILD / "examples" / "transit"], "python": [sys.executable, EXAMPLES / "transit.py"]}
PACKAGE = ROOT / "python" / "swiftmqtt"
has_python = pytest.mark.skipif(not PACKAGE.is_dir(), reason="the Python package is not here yet")


def replay(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, EXAMPLES / "replay.py", *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=90)


@pytest.fixture(scope="module")
def feed(tmp_path_factory) -> Path:
    """3,000 messages of 200 vehicles."""
    path = tmp_path_factory.mktemp("feed") / "feed"
    result = replay("make", path, "--messages", 3000)
    assert result.returncode == 0, result.stderr
    return path


@pytest.fixture(params=["c", pytest.param("python", marks=has_python)])
def transit(request, tmp_path) -> Iterator[Callable[..., Transit]]:
    started: list[Transit] = []

    def start(*arguments: object, stdout: int | None = None) -> Transit:
        started.append(Transit(PROGRAMS[request.param], tmp_path, arguments, stdout))
        started[-1].growth_kb = 64 if request.param == "c" else 1024  # Python's own heap
        return started[-1]

    yield start
    for program in started:
        program.kill()
        program.wait()


class Transit(subprocess.Popen):
    def __init__(self, command: list[object], directory: Path, arguments: tuple[object, ...], stdout: int | None):
        self.out, self.err = directory / "out", directory / "err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            super().__init__([*map(str, (*command, *arguments))], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                             stdout=out if stdout is None else stdout, stderr=err)

    @property
    def latest(self) -> dict[str, list[str]]:
        """The last line of each vehicle."""
        lines = self.out.read_text().splitlines(keepends=True)
        return {line.split()[0]: line.split()[1:] for line in lines if line.endswith("\n")}

    @property
    def complained(self) -> str:
        return self.err.read_text()

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def kilobytes(self) -> int:
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())[1])


def expected(feed: Path) -> dict[str, list[str]]:
    """The last position of each vehicle, as JSON has it."""
    latest = {}
    for line in feed.read_text().splitlines():
        topic, payload = line.split("\t")
        position = json.loads(payload, parse_float=str, parse_int=str)["VP"]
        cells = (position[name] for name in ("desi", "lat", "long", "dl", "hdg"))
        latest["/".join(topic.split("/")[7:9])] = ["-" if cell is None else cell for cell in cells]
    return latest


@contextlib.contextmanager
def mosquitto_publishing(broker) -> Iterator[Callable[[str, bytes], None]]:
    """Many messages, on one connection: QoS 0 of 3.1.1 takes no more than this."""
    with socket.create_connection((broker.host, broker.port)) as connection:
        connection.sendall(bytes.fromhex("100c00044d5154540402003c0000"))
        assert connection.recv(4) == b"\x20\x02\0\0"

        def publish(topic: str, payload: bytes) -> None:
            body = len(topic.encode()).to_bytes(2, "big") + topic.encode() + payload
            assert len(body) < 128
            connection.sendall(bytes((0x30, len(body))) + body)

        yield publish
        connection.sendall(b"\xe0\0")


class Cuts:
    """How many bytes each connection may bring: so many are cut, the next lasts."""

    def __init__(self, seed: int):
        self.chance, self.count, self.is_over = random.Random(seed), 0, threading.Event()

    def __iter__(self) -> Cuts:
        return self

    def __next__(self) -> int:
        if self.count == CUTS:
            self.is_over.set()
            raise StopIteration
        self.count += 1
        return self.chance.randrange(1, 60_000)


@has_python
def test_a_thousand_a_second_over_a_link_that_is_cut(mosquitto, inject, transit, feed):
    cuts = Cuts(7)
    program = transit(f"mqtt://127.0.0.1:{inject(mosquitto, cut_after(cuts)).port}")
    wait_for(lambda: "SUBSCRIBE" in mosquitto.log.read_text())
    at_first: tuple[int, int] | None = None
    deadline = time.monotonic() + 60
    while not cuts.is_over.is_set():
        assert time.monotonic() < deadline, f"{cuts.count} cuts in a minute: {program.complained}"
        played = replay("play", feed, mosquitto.url)
        assert played.returncode == 0, played.stderr
        if at_first is None:
            at_first = program.descriptors(), program.kilobytes()
    wait_for(lambda: program.latest.keys() >= expected(feed).keys())
    # Now nothing is cut any more. What was missed is missed, but the next round brings the latest of each.
    deadline = time.monotonic() + PATIENCE
    while True:
        assert replay("play", feed, mosquitto.url).returncode == 0
        try:
            wait_for(lambda: program.latest == expected(feed), timeout=5)
            break
        except AssertionError:
            assert time.monotonic() < deadline
    descriptors, kilobytes = program.descriptors(), program.kilobytes()
    assert abs(descriptors - at_first[0]) <= 1  # the connection's own: it may be away
    print(f"{descriptors} descriptors, {kilobytes} kB; at first {at_first}")
    assert kilobytes <= at_first[1] + program.growth_kb
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 0, program.complained
    assert " messages of 200 vehicles, 0 malformed, 0 of vehicles" in program.complained.splitlines()[-1]
    assert program.complained.count("\n") >= CUTS, "each cut is told"


@has_python
def test_the_same_seed_makes_the_same_file(tmp_path):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert replay("make", tmp_path / name, "--messages", 50, "--vehicles", 7, "--seed", seed).returncode == 0
    a, b, c = ((tmp_path / name).read_text() for name in "abc")
    assert a == b != c
    assert a.count("\n") == 50


@has_python
@pytest.mark.parametrize("text, why", [
    (None, "No such file"), ("", "feed: each line"), ("no tab\n", "feed: each line"), ("\xff", "feed: .*decode")])
def test_a_file_that_cannot_be_played(tmp_path, mosquitto, text, why):
    path = tmp_path / "feed"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    result = replay("play", path, mosquitto.url)
    assert result.returncode == 1
    assert re.fullmatch(rf"replay.py: .*{why}.*\n", result.stderr)


@has_python
def test_nobody_to_play_for(feed):
    result = replay("play", feed, f"mqtt://127.0.0.1:{free_port()}")
    assert result.returncode == 1
    assert re.fullmatch(r"replay.py: .*refused.*\n", result.stderr)


def test_a_table_on_a_terminal(mosquitto, transit):
    """Where it can be drawn anew."""
    controller, terminal = pty.openpty()
    program = transit(mosquitto.url, stdout=terminal)
    os.close(terminal)
    wait_for(lambda: "SUBSCRIBE" in mosquitto.log.read_text())
    mosquitto.publish(TOPIC % "0001/2", '{"VP":{"desi":"550","lat":60.5,"long":24.5,"dl":1,"hdg":2}}')
    shown = b""
    deadline = time.monotonic() + 20
    while b"0001/2" not in shown:
        assert time.monotonic() < deadline
        shown += os.read(controller, 65536)
    assert b"\033[H\033[J" in shown and b"1 vehicles, 1 messages" in shown and b"latitude" in shown
    program.send_signal(signal.SIGTERM)
    wait_for(lambda: program.poll() is not None)
    assert program.returncode == 0
    os.close(controller)


def test_what_is_no_position(mosquitto, transit):
    """It is counted, and breaks nothing; nothing reaches a terminal that could command it."""
    program = transit(mosquitto.url)
    wait_for(lambda: "SUBSCRIBE" in mosquitto.log.read_text())
    wrong = ['{"VP":{"desi"', "{}", "[]", '"VP"', "", '{"VP":1}', '{"VP":null}', "{" * 5000, "[" * 5000, "x" * 10_000]
    for payload in wrong:
        mosquitto.publish(TOPIC % "0001/1", payload)
    mosquitto.publish("/hfp/v2/journey/ongoing/vp/bus", '{"VP":{"desi":"1"}}')
    good = ['{"VP":{}}', ' { "VP" : { "desi" : "5 \\" x" , "lat" : 1.5 , "x" : [ { "lat" : 2 } , "}" ] } } ']
    mosquitto.publish(TOPIC % "0002/1", good[0])
    mosquitto.publish(TOPIC % "0002/2", good[1])
    mosquitto.publish(TOPIC % "0002/ä", '{"VP":{"desi":"\\u001b[2J"}}')
    wait_for(lambda: len(program.latest) == 3, program.complained)
    assert program.latest["0002/1"] == ["-"] * 5
    assert program.latest["0002/2"][-4:] == ["1.5", "-", "-", "-"]
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 0
    assert f"{len(wrong) + 4} messages of 3 vehicles, {len(wrong) + 1} malformed" in program.complained
    assert "\x1b" not in program.out.read_text()


def test_more_vehicles_than_there_is_room_for(mosquitto, transit, tmp_path):
    program = transit(mosquitto.url)
    wait_for(lambda: "SUBSCRIBE" in mosquitto.log.read_text())
    with mosquitto_publishing(mosquitto) as publish:
        for number in range(4100):
            publish(TOPIC % f"0001/{number}", b'{"VP":{"desi":"1"}}')
    wait_for(lambda: len(program.latest) == 4096)
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 0
    assert "4100 messages of 4096 vehicles, 0 malformed, 4 of vehicles" in program.complained


def test_nobody_there(transit):
    """It goes on trying, and says so; told to stop, it admits that it has seen nothing."""
    program = transit(f"mqtt://127.0.0.1:{free_port()}")
    wait_for(lambda: program.complained.count("refused") >= 3)
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 1


def test_what_it_prints_goes_nowhere(mosquitto, transit):
    with open("/dev/full", "wb") as full:
        program = transit(mosquitto.url, stdout=full.fileno())
        wait_for(lambda: "SUBSCRIBE" in mosquitto.log.read_text())
        mosquitto.publish(TOPIC % "0001/2", '{"VP":{}}')
        assert program.wait(PATIENCE) in (1, 2)
    assert re.fullmatch(r"transit(\.py)?: cannot print: No space left on device\n", program.complained)


@has_python
@pytest.mark.parametrize("arguments, told", [
    (["transit.py", "--once", "0"], "--once: 0 is no number above 0"),
    (["transit.py", "--once", "x"], "--once: x is no number above 0"),
    (["replay.py", "play", "feed", "--rate", "0"], "--rate: 0 is no number from 1 on"),
    (["replay.py", "make", "feed", "--vehicles", "x"], "--vehicles: x is no number from 1 on"),
])
def test_wrong_numbers(arguments, told):
    program, *rest = arguments
    result = subprocess.run([sys.executable, EXAMPLES / program, *rest], env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.endswith(f"error: argument {told}\n")


@has_python
def test_faster_than_it_can_be_sent(mosquitto, feed):
    """It waits for room."""
    result = replay("play", feed, mosquitto.url, "--rate", 1_000_000)
    assert (result.returncode, result.stderr) == (0, "") and result.stdout.startswith("3000 messages in ")


@pytest.mark.parametrize("arguments", [["http://x"], ["mqtt://127.0.0.1", "a/#/b"]])
def test_wrong_arguments(transit, arguments):
    program = transit(*arguments)
    assert program.wait(PATIENCE) == 2
    # There may be no broker, which is told, too.
    assert "Traceback" not in program.complained and program.complained.count("\n") in (1, 2)


HARNESS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fields.h"

/* For each text, of a length that stands before it, the field "lat" of "VP", from memory that ends with the text. */
int main(void) {
    unsigned size;
    while (scanf("%u", &size) == 1) {
        char *text = malloc(size ? size : 1);
        getchar();
        if (fread(text, 1, size, stdin) != size) return 1;
        smq_bytes object = { text, size }, position, value;
        int found = json_field(object, "VP", &position);
        if (found == 1) found = json_field(position, "lat", &value);
        printf("%d %.*s\\n", found, found == 1 ? (int)value.size : 0, found == 1 ? (const char *)value.data : "");
        free(text);
    }
    return 0;
}
"""


def test_fields_of_whatever_comes(tmp_path, feed):
    """fields.h never looks beyond the text, and finds in what is JSON what JSON has."""
    chance = random.Random(11)
    lines = [line.split("\t")[1] for line in feed.read_text().splitlines()[:200]]
    texts = [text.encode() for text in lines]
    for text in lines:
        for _ in range(50):
            broken = bytearray(text.encode())
            for _ in range(chance.randint(1, 3)):
                broken[chance.randrange(len(broken))] = chance.choice(b'{}[]",:\\ 0a\x00\xff')
            texts.append(bytes(broken[: chance.randint(0, len(broken))] if chance.random() < 0.3 else broken))
    (tmp_path / "harness.c").write_text(HARNESS)
    program = tmp_path / "harness"
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"]
    flags += [f"-I{ROOT}/include", f"-I{ROOT}/examples-c"]
    subprocess.run(["gcc", *flags, tmp_path / "harness.c", "-o", program], check=True, timeout=60)
    data = b"".join(b"%d %s" % (len(text), text) for text in texts)
    result = subprocess.run([program], input=data, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode(errors="replace")
    answers = [line for line in re.findall(rb"^-?\d .*$", result.stdout, re.M)]
    assert len(answers) >= len(lines)
    for text, answer in zip(texts[: len(lines)], answers):
        lat = json.loads(text, parse_float=str)["VP"]["lat"]
        assert answer.decode() == f"1 {'null' if lat is None else lat}"
