"""Fixtures: a broker for all tests of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from Support.scripted_broker import Broker
from Support.servers import Mosquitto

from .misbehaving import WAYS
from .tool import PROGRAM


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    assert PROGRAM.exists(), f"{PROGRAM} is not there: run make all"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path_factory.mktemp("broker"), persistence="false")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def misbehaving() -> Iterator[Callable[[str], list[str]]]:
    """Begins a broker each of whose connections misbehaves in this way, and gives its address."""
    begun: list[Broker] = []

    def begin(way: str) -> list[str]:
        begun.append(Broker(later=WAYS[way]))
        return ["-h", "127.0.0.1", "-p", str(begun[-1].port)]

    yield begin
    for broker in begun:
        broker.close()
        assert broker.violations == []
