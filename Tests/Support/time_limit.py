"""A test that hangs fails, and the others run."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Far beyond what the longest takes, 35 s: a machine that has ten times as much to do is no fault.
SECONDS = 600
# Folders and files whose tests compile the library for every target, or take as long as they are told to.
LONGER = {"ABI": 1200, "Packages": 3600, "test_stress.py": 3600}


@pytest.fixture(autouse=True)
def time_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    seconds = LONGER.get(request.path.name) or LONGER.get(request.path.parent.name, SECONDS)

    def expired(number: int, frame: object) -> None:
        pytest.fail(f"a test may take {seconds} s")  # which no `except Exception` takes

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
