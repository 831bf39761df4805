"""What the tests of TLS share: a Python with requirements.txt, and servers that only it runs."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support.servers import free_port, need
from Support.waiting import wait_for

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "Python"))

import pythons  # noqa: E402


@pytest.fixture(scope="session")
def python_with_requirements() -> Path:
    try:
        return pythons.with_requirements(HERE / "requirements.txt", "tls")
    except pythons.Unavailable as why:
        pytest.skip(f"requirements.txt cannot be installed here: {why}")


@pytest.fixture
def s_server(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """s_server(arguments…) starts OpenSSL's server, which sends back what it gets in reverse, line by line; returns its port."""
    started: list[subprocess.Popen] = []

    def start(*arguments: object) -> int:
        port = free_port()
        command = [need("openssl", "tls"), "s_server", "-accept", f"127.0.0.1:{port}", "-quiet", "-rev", *map(str, arguments)]
        log = (tmp_path / f"s_server-{len(started)}.log").open("w+")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        started.append(process)
        wait_for(lambda: process.poll() is not None or is_open(port), "s_server listens")
        assert process.poll() is None, Path(log.name).read_text()
        return port

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=20)


def is_open(port: int) -> bool:
    """Whether somebody listens, without a connection, which s_server would take for a client."""
    wanted = f"0100007F:{port:04X} 00000000:0000 0A"
    return any(wanted in line for line in Path("/proc/net/tcp").read_text().splitlines())


@pytest.fixture
def tlslite(python_with_requirements: Path) -> Iterator[Callable[..., socket.socket]]:
    """tlslite(file, how, version) is a socket that is connected to tlslite_server.py."""
    started: list[subprocess.Popen] = []

    def start(file: object, how: str, version: int) -> socket.socket:
        process = subprocess.Popen(
            [python_with_requirements, "-W", "ignore", HERE / "tlslite_server.py", str(file), how, str(version)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return socket.create_connection(("127.0.0.1", int(process.stdout.readline())), timeout=20)

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=20)
