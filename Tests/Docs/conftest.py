"""Fixtures: the session of a page, and a broker of STOMP for what needs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from STOMP.brokers import RabbitMQ
from Support.servers import Mosquitto

from .blocks import ROOT
from .session import Session

BUILD = ROOT / "build" / "native"


@pytest.fixture(scope="session")
def stomp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], RabbitMQ]]:
    """Started when a block asks first: it takes seconds."""
    running: list[RabbitMQ] = []

    def start() -> RabbitMQ:
        if not running:
            broker = RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))
            broker.start()
            running.append(broker)
        return running[0]

    yield start
    for broker in running:
        broker.stop()


@pytest.fixture
def session(tmp_path: Path, mosquitto: Mosquitto, stomp: Callable[[], RabbitMQ]) -> Session:
    if not (BUILD / "libswiftmqtt.so").exists():
        pytest.fail(f"{BUILD} has no libswiftmqtt.so: run make")
    return Session(tmp_path, mosquitto, stomp, BUILD)
