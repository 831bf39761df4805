"""Fixtures: those of Tests/Broker, and the session of a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from Broker.conftest import mosquitto, start_mosquitto, subscribe  # noqa: F401
from Broker.servers import Mosquitto
from Support.time_limit import not_for_ever  # noqa: F401

from .blocks import ROOT
from .session import Session

BUILD = ROOT / "build" / "native"


@pytest.fixture
def session(tmp_path: Path, mosquitto: Mosquitto) -> Session:  # noqa: F811
    if not (BUILD / "libswiftmqtt.so").exists():
        pytest.fail(f"{BUILD} has no libswiftmqtt.so: run make")
    return Session(tmp_path, mosquitto, BUILD)
