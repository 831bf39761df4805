"""Fixtures: the package as it is in the tree, on the library that was built."""

from __future__ import annotations

import gc
import os
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
LIBRARY = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native") / "libswiftmqtt.so.1"
TLS_LIBRARY = LIBRARY.with_name("libswiftmqtt-tls.so.1")
os.environ.setdefault("SWIFTMQTT_LIBRARY", str(LIBRARY))
sys.path.insert(0, str(PACKAGE))

from . import pythons  # noqa: E402
from .stomp_servers import REQUIREMENTS as STOMP_REQUIREMENTS  # noqa: E402
from .stomp_servers import CoilMQ  # noqa: E402
from Support.servers import Mosquitto  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A Mosquitto for all tests that do not stop it: each keeps to topics below its `level`."""
    server = Mosquitto(tmp_path_factory.mktemp("mosquitto"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def level() -> str:
    """A topic level of this test's own."""
    return f"test-{uuid.uuid4()}"


@pytest.fixture
def environment() -> dict[str, str]:
    """For a Python of its own that is to find the package."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="session")
def with_pip() -> None:
    """pythons.installed() works; this is for its first time, which may take longer than a test."""
    try:
        pythons.with_pip()
    except pythons.Unavailable as why:
        pytest.skip(f"no virtual environment can be made here: {why}")


@pytest.fixture(scope="session")
def with_requirements() -> Path:
    """A Python that has what is in requirements.txt."""
    try:
        return pythons.with_requirements()
    except pythons.Unavailable as why:
        pytest.skip(f"requirements.txt cannot be installed here: {why}")


@pytest.fixture(scope="session")
def with_stomp_requirements() -> Path:
    """A Python that has what is in requirements-stomp.txt."""
    try:
        return pythons.with_requirements(STOMP_REQUIREMENTS, "stomp")
    except pythons.Unavailable as why:
        pytest.skip(f"requirements-stomp.txt cannot be installed here: {why}")


@pytest.fixture(scope="session")
def coilmq(with_stomp_requirements: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CoilMQ]:
    """A CoilMQ for all tests that do not stop it: each keeps to queues of its own."""
    with CoilMQ(tmp_path_factory.mktemp("coilmq"), with_stomp_requirements) as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which versions of Python test_versions.py ran: Tests/run shows the line."""
    passed = (report.nodeid for report in terminalreporter.stats.get("passed", ()))
    ran = [found[1] for found in (re.search(r"test_version\[(.*)\]$", name) for name in passed) if found]
    if ran:
        terminalreporter.write_line(f"Tests/Python/test_versions.py ran under Python {', '.join(ran)}")


def descriptors() -> int:
    """How many this process has, once what nobody needs is gone."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
