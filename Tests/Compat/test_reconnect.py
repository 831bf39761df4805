"""A server that goes away and comes back, under mosquitto_sub and mosquitto_pub: the same lines on both libraries."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from Support.servers import need
from Support.waiting import wait_for

from .programs import Broker, environment


class Watched:
    """A program whose stdout can be looked at while it runs."""

    def __init__(self, command: list[object], variables: dict[str, str], said: Path):
        self.said = said
        with said.open("wb") as stdout:
            self.process = subprocess.Popen(
                ["stdbuf", "-oL", *map(str, command)], env=variables, stdin=subprocess.PIPE, stdout=stdout,
                stderr=subprocess.STDOUT)

    def lines(self) -> list[str]:
        return re.sub(r"\bauto-[0-9A-F-]{36}", "CLIENT", self.said.read_text()).splitlines()

    def await_line(self, pattern: str, count: int = 1) -> None:
        wait_for(
            lambda: sum(bool(re.search(pattern, line)) for line in self.lines()) >= count,
            f"{count} times {pattern!r} in {self.lines()}")

    def say(self, text: str) -> None:
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()


@pytest.fixture
def on_both(tmp_path: Path, our_path: Path) -> Callable[[Callable[..., None], list[str]], None]:
    def run(scene: Callable[[Broker, Watched], None], command: list[str], unsaid: str = "$^") -> None:
        """`unsaid`: lines that ours leaves out."""
        told = []
        for library in ("real", "ours"):
            directory = tmp_path / library
            directory.mkdir()
            with running(directory) as broker:
                program = Watched(
                    [need(command[0]), *broker.address, *command[1:]], environment(library, our_path),
                    directory / "said")
                try:
                    scene(broker, program)
                    program.process.stdin.close()
                    program.process.wait(10)
                finally:
                    program.process.kill()
                    program.process.wait()
                told.append((program.process.returncode, program.lines()))
        real = [line for line in told[0][1] if not re.search(unsaid, line)]
        assert told[1] == (told[0][0], real)

    return run


@contextmanager
def running(directory: Path) -> Iterator[Broker]:
    broker = Broker(directory)
    try:
        yield broker
    finally:
        broker.stop()


@pytest.mark.parametrize("version, how", [("mqttv311", "kill"), ("mqttv5", "stop")])
def test_sub(on_both, version: str, how: str):
    """It subscribes again, and gets what comes then."""

    def scene(broker: Broker, program: Watched) -> None:
        program.await_line("received SUBACK")
        broker.send(["-t", "some/topic", "-m", "before", "-q", "1"])
        program.await_line("^before")
        getattr(broker, how)()
        broker.start()
        program.await_line("received SUBACK", 2)
        broker.send(["-t", "some/topic", "-m", "after", "-q", "1"])

    on_both(scene, ["mosquitto_sub", "-V", version, "-t", "some/topic", "-q", "1", "-C", "2", "-d", "-i", "subscriber"])


def test_sub_that_waits(on_both):
    """Several attempts fail."""

    def scene(broker: Broker, program: Watched) -> None:
        program.await_line("received SUBACK")
        broker.kill()
        time.sleep(2.5)
        broker.start()
        program.await_line("received SUBACK", 2)
        broker.send(["-t", "some/topic", "-m", "after", "-q", "1"])

    on_both(scene, ["mosquitto_sub", "-t", "some/topic", "-q", "1", "-C", "1", "-d", "-i", "subscriber"])


def test_pub_while_there_is_no_server(on_both):
    """The message waits. That it is sent then is not logged: the core sends it, and tells how it ended."""

    def scene(broker: Broker, program: Watched) -> None:
        program.await_line("received CONNACK")
        program.say("one\n")
        program.await_line("received PUBACK")
        broker.kill()
        time.sleep(0.3)
        program.say("two\n")
        time.sleep(0.3)
        broker.start()
        program.await_line("received CONNACK", 2)
        program.await_line("received PUBACK", 2)

    command = ["mosquitto_pub", "-t", "some/topic", "-q", "1", "-l", "-d", "-i", "publisher"]
    on_both(scene, command, r"sending PUBLISH .* m2,")


def test_pub(on_both):
    """It goes on when there is a server again."""

    def scene(broker: Broker, program: Watched) -> None:
        program.await_line("received CONNACK")
        program.say("one\n")
        program.await_line("received PUBACK")
        broker.kill()
        broker.start()
        program.await_line("received CONNACK", 2)
        program.say("two\n")
        program.await_line("received PUBACK", 2)

    on_both(scene, ["mosquitto_pub", "-t", "some/topic", "-q", "1", "-l", "-d", "-i", "publisher"])
