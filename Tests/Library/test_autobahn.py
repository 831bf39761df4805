"""Autobahn's cases of RFC 6455 (see autobahn.py), gone through by the WebSocket of Transports: every one but those of section
6, which are about the UTF-8 of text, that MQTT forbids."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from Support import smq

from . import autobahn
from .autobahn import GOOD, Autobahn

TEXT = "6."  # cases


@pytest.fixture(scope="module")
def echo() -> Path:
    """Tests/Autobahn, built; only where there is a server."""
    autobahn.packages(autobahn.python())
    folder = smq.ROOT / "build" / "websocket-echo"
    command = ["swift", "build", "--product", "WebSocketEcho", "--scratch-path", folder]
    built = subprocess.run(command, cwd=smq.ROOT, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "debug" / "WebSocketEcho"


def test_every_case_but_those_of_text(echo, tmp_path):
    with Autobahn(tmp_path) as server:
        count = int(server.get("/getCaseCount"))
        assert count > 200

        def run(case: int) -> None:
            command = [echo, str(server.port), f"/runCase?case={case}&agent=smq"]
            subprocess.run(command, check=True, timeout=100)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, range(1, count + 1)))
        server.get("/updateReports?agent=smq")
        results = server.results("smq")
    assert len(results) == count
    failed = {case: (each["behavior"], each["behaviorClose"]) for case, each in results.items()
              if each["behavior"] not in GOOD or each["behaviorClose"] not in GOOD}
    assert {case: why for case, why in failed.items() if not case.startswith(TEXT)} == {}
