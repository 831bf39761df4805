"""The command line smq as it was built, for this machine or, with SMQ_TARGET, for another under qemu-user."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import lists
from Support.servers import need
from Support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
TARGET = lists.chosen()
QEMU = TARGET.emulator if TARGET else []
BUILD = lists.chosen_build()
PROGRAM = BUILD / "tools" / "smq"
SMQ = [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), str(PROGRAM)]


def environment(**more: str) -> dict[str, str]:
    """English, UTC, and nobody's options file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "LC_", "XDG_"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent", **more}


def smq(*arguments: object, stdin: bytes = b"", timeout: float = PATIENCE, **more: str) -> subprocess.CompletedProcess:
    """Runs it to its end, which has to come."""
    return subprocess.run(
        [*SMQ, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, env=environment(**more))


def start(*arguments: object, **more: object) -> subprocess.Popen:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*SMQ, *map(str, arguments)], env=environment(), **pipes | more)
