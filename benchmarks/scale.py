"""What grows with a table (Tests/Instructions/growth), and what many idle clients take."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

import measure
from measure import Failed
from plan import BUILD, LIBRARY, ROOT

KEEP_ALIVE_S = 5


def growth() -> dict[str, dict]:
    """{operation: {"what", "counts": {entries: instructions}}}. It fails where something grows; here that is a result."""
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        file = pathlib.Path(folder, "growth.json")
        done = subprocess.run([sys.executable, ROOT / "Tests" / "Instructions" / "growth", "--build", LIBRARY, "--out", file],
                              capture_output=True, text=True)
        if not file.exists():
            raise Failed(((done.stderr or done.stdout).splitlines() or ["growth printed nothing"])[-1])
        return json.loads(file.read_text(encoding="utf-8"))


def idle_clients(broker: measure.Broker, count: int, is_small: bool, periods: int) -> dict:
    """Idle for so many Keep Alives: half a second more, so that the last PINGRESP is there."""
    command = [str(BUILD / "idle_clients"), str(broker.port), str(count), str(periods * KEEP_ALIVE_S), str(KEEP_ALIVE_S)]
    found = measure.load([*command, *(["small"] if is_small else [])], timeout=400)
    if not found["pings"]:
        raise Failed("no PINGREQ was sent")
    return {"title": "small" if is_small else "default options", **found}
