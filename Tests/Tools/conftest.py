"""Fixtures: a broker for all tests of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from Support.servers import Mosquitto

from . import strange_broker
from .strange_broker import StrangeBroker
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
def strange() -> Iterator[Callable[[str], list[str]]]:
    """Begins a StrangeBroker, and gives its address."""
    begun: list[StrangeBroker] = []

    def begin(way: str) -> list[str]:
        begun.append(StrangeBroker(getattr(strange_broker, way)))
        return ["-h", "127.0.0.1", "-p", str(begun[-1].port)]

    yield begin
    for broker in begun:
        broker.close()
