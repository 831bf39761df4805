"""What the tests of STOMP share: brokers, one of each kind for all of them, and the programs of examples-c/stomp."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Python import pythons
from Support.waiting import wait_for

from .brokers import ActiveMQ, Broker, CoilMQ, RabbitMQ
from .peer import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
KINDS: dict[str, type[Broker]] = {"RabbitMQ": RabbitMQ, "ActiveMQ": ActiveMQ, "CoilMQ": CoilMQ}


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Broker]]:
    """Started when a test asks first."""
    running: dict[str, Broker] = {}

    def start(kind: str) -> Broker:
        if kind not in running:
            server = KINDS[kind](tmp_path_factory.mktemp(kind.lower()))
            try:
                server.start()
            except pythons.Unavailable as why:
                pytest.skip(f"{kind} cannot be had from PyPI: {why}")
            running[kind] = server
        return running[kind]

    yield start
    for server in running.values():
        server.stop()


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest, brokers: Callable[[str], Broker]) -> Broker:
    return brokers(request.param)


@pytest.fixture
def rabbitmq(brokers: Callable[[str], Broker]) -> RabbitMQ:
    return brokers("RabbitMQ")


@pytest.fixture
def queue() -> str:
    """A destination of the test's own."""
    return f"/queue/{uuid.uuid4()}"


class Program(subprocess.Popen):
    """A program of examples-c; what it says can be read while it runs."""

    def __init__(self, directory: Path, name: str, *arguments: str, environment: dict[str, str] | None = None,
                 folder: str = "stomp"):
        number = len(list(directory.glob(f"{name}*.out")))
        self.out, self.err = directory / f"{name}{number}.out", directory / f"{name}{number}.err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            super().__init__([str(BUILD / "examples" / folder / name), *arguments], stdin=subprocess.PIPE, stdout=out,
                             stderr=err, text=True, env={**os.environ, **(environment or {})})

    @property
    def said(self) -> str:
        return self.out.read_text()

    @property
    def complained(self) -> str:
        return self.err.read_text()

    def says(self, text: str, times: int = 1) -> None:
        wait_for(lambda: self.said.count(text) >= times, f"{text!r} in {self.said!r}, {self.complained!r}", PATIENCE)

    def complains(self, text: str, times: int = 1) -> None:
        wait_for(lambda: self.complained.count(text) >= times, f"{text!r} in {self.complained!r}", PATIENCE)

    def end(self) -> int:
        """Asks it to end, and returns its status."""
        self.send_signal(signal.SIGTERM)
        return self.wait(PATIENCE)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    running: list[Program] = []

    def start(name: str, *arguments: str, host: str | None = None, folder: str = "stomp") -> Program:
        environment = {"STOMP_HOST": host} if host else None
        running.append(Program(tmp_path, name, *arguments, environment=environment, folder=folder))
        return running[-1]

    yield start
    for program in running:
        program.kill()
        program.wait()
        program.stdin.close()
