"""Fixtures: the session of a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from Support.servers import Mosquitto

from .blocks import ROOT
from .session import Session

BUILD = ROOT / "build" / "native"


@pytest.fixture
def session(tmp_path: Path, mosquitto: Mosquitto) -> Session:
    if not (BUILD / "libswiftmqtt.so").exists():
        pytest.fail(f"{BUILD} has no libswiftmqtt.so: run make")
    return Session(tmp_path, mosquitto, BUILD)
