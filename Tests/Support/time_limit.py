"""A test that hangs fails, and the others run."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Far beyond what the longest takes: a machine that has much else to do is no fault.
SECONDS = 200


@pytest.fixture(autouse=True)
def not_for_ever() -> Iterator[None]:
    def expired(number: int, frame: object) -> None:
        pytest.fail(f"a test may take {SECONDS} s")  # which no `except Exception` takes

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
