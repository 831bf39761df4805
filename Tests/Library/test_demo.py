"""`make demo`, whole and in trouble."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support.servers import MOSQUITTO, need
from Support.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what demo looks at, where `need` and `make` do as the test says."""
    root = tmp_path / "tree"
    for directory in ("examples-c", ".ci", "Tests", "build"):
        (root / directory).mkdir(parents=True)
    for name in ("demo", "processes.py"):
        shutil.copy(ROOT / "examples-c" / name, root / "examples-c")
    (root / "build" / "native").symlink_to(ROOT / "build" / "native")
    (root / "Tests" / "Support").symlink_to(ROOT / "Tests" / "Support")
    (root / "Makefile").write_text("all:\n")
    needs(root, "exit 0")
    return root


def needs(root: Path, script: str) -> None:
    path = root / ".ci" / "need"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Demo:
    def __init__(self, root: Path, **environment: str):
        self.mark = f"DEMO_TEST={uuid.uuid4()}"  # inherited by all that it starts
        name, value = self.mark.split("=")
        fixed = {"NO_APT": "1", "DEMO_SECONDS": "1", name: value}
        self.process = subprocess.Popen(
            [root / "examples-c" / "demo"],
            env={**os.environ, **fixed, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def processes(self) -> dict[int, str]:
        """Every process of this demo, and its command line."""
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (directory / "environ").read_bytes().split(b"\0"):
                    command = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(directory.name)] = command.decode()
            except OSError:
                pass  # it has just ended, or is not ours
        return found

    def finish(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.processes() == {}, "left behind"
        return self.process.returncode, out, err

    def runs(self, what: str) -> bool:
        return any(what in command for command in self.processes().values())


@pytest.fixture
def start() -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def make(*arguments: Path, **environment: str) -> Demo:
        started.append(Demo(*arguments, **environment))
        return started[-1]

    yield make
    for each in started:
        for number in each.processes():
            os.kill(number, signal.SIGKILL)
        each.process.wait(10)


def check_figures(out: str) -> None:
    received, *per_qos = map(
        int,
        re.search(r"(\d+) messages by .*QoS 0: (\d+), QoS 1: (\d+), QoS 2: (\d+)", out).groups(),
    )
    assert received == sum(per_qos) and per_qos[0] == per_qos[2] == 5
    assert f"figures    {received} messages, {received} acknowledged, 0 failed, 0 dropped" in out
    saved, packets = map(int, re.search(r"(\d+) of (\d+) system calls saved", out).groups())
    assert received < packets and packets / 3 < saved < packets
    text, size = re.search(r"text ([\d,]+) bytes, data .* file ([\d,]+) bytes", out).groups()
    assert 10_000 < int(text.replace(",", "")) < int(size.replace(",", ""))
    for kind in ("load/average", "memory/ram", "network/lo", "uptime/system", "status"):
        assert f" gateway/demo/{kind}  " in out


def test_with_mosquitto(tree, start):
    need(MOSQUITTO)
    status, out, err = start(tree).finish()
    assert (status, err) == (0, "")
    assert "a private Mosquitto on 127.0.0.1" in out
    assert "by mosquitto_sub (" in out
    check_figures(out)


def test_without_mosquitto(tree, start):
    needs(tree, '[ "$*" = build ] || { echo "need: missing: mosquitto" >&2; exit 3; }')
    status, out, err = start(tree).finish()
    assert (status, err) == (0, "")
    assert "need: missing: mosquitto" in out
    assert "the scripted broker of the tests stands in" in out
    check_figures(out)


def test_something_to_build_with_is_missing(tree, start):
    needs(tree, 'echo "need: missing: cmake" >&2; exit 3')
    assert start(tree).finish()[::2] == (3, "demo: need: missing: cmake\n")


def test_the_build_fails(tree, start):
    (tree / "Makefile").write_text("all:\n\t@echo wrong >&2; false\n")
    status, _, err = start(tree).finish()
    assert status == 1
    assert err.startswith("wrong\n") and err.endswith("demo: the build failed\n")


def test_a_port_that_is_taken(tree, start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, _, err = start(tree, DEMO_PORT=port).finish()
    assert status == 1
    assert err == f"demo: port {port} cannot be used: Address already in use (DEMO_PORT=0: any)\n"


@pytest.mark.parametrize("name, value", [("DEMO_PORT", "65536"), ("DEMO_SECONDS", "soon")])
def test_a_wrong_variable(tree, start, name, value):
    status, _, err = start(tree, **{name: value}).finish()
    assert status == 2
    assert err.startswith(f"demo: {name}={value}: not a number") and err.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_halfway(tree, start, number):
    need(MOSQUITTO)
    demo = start(tree, DEMO_SECONDS="60")
    wait_for(lambda: demo.runs("sensord --url"), "sensord runs")
    begin = time.monotonic()
    demo.process.send_signal(number)
    status, _, err = demo.finish()
    assert time.monotonic() - begin < 40
    assert (status, err) == (128 + number, f"demo: stopped by {number.name}\n")


def test_stopped_while_building(tree, start):
    (tree / "Makefile").write_text("all:\n\t@sleep 60\n")
    demo = start(tree)
    wait_for(lambda: demo.runs("sleep 60"), "make runs")
    demo.process.send_signal(signal.SIGINT)
    assert demo.finish()[0] == 128 + signal.SIGINT


def test_the_library_is_missing(tree, start):
    (tree / "build" / "native").unlink()
    status, _, err = start(tree).finish()
    assert status == 1
    assert err.count("\n") == 1 and "sensord" in err
