"""Debian's packages for other processors, unpacked in build/foreign: what a board would have, to link with and to run."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import lists
import pytest

ROOT = Path(__file__).resolve().parents[2]


def unpacked(target: lists.Target, *packages: str) -> Path:
    """A root directory with these packages, without what they depend on, and without installing anything."""
    place = ROOT / "build" / "foreign" / target.debian
    place.mkdir(parents=True, exist_ok=True)
    done = place / ".complete"
    # Test processes that run side by side want the same root, and apt-get's own lock makes the second one fail.
    with open(place / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_text().split() != list(packages):
            unpack(place, target, packages)
            done.write_text(" ".join(packages))
    return place


def unpack(place: Path, target: lists.Target, packages: tuple[str, ...]) -> None:
    state = place / "apt"
    for directory in ("state/lists/partial", "cache/archives/partial"):
        (state / directory).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    apt = ["apt-get", "-q", *(part for setting in (
        f"Dir::State={state}/state", f"Dir::State::status={state}/status", f"Dir::Cache={state}/cache",
        f"APT::Architecture={target.debian}", f"APT::Architectures={target.debian}", "APT::Sandbox::User=root",
        "Acquire::Retries=3",
    ) for part in ("-o", setting))]
    # A mirror that is not Debian's own may have no list for this processor: the download says what is missing.
    subprocess.run([*apt, "update"], capture_output=True, timeout=300)
    got = subprocess.run([*apt, "download", *packages], cwd=state, capture_output=True, text=True, timeout=300)
    if got.returncode:
        reason = f"Debian's {' '.join(packages)} for {target.debian} cannot be had: {got.stderr.strip()}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    for package in state.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, place], check=True, timeout=60)
