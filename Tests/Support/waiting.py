"""How tests wait: for what happens, and never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds until what was to happen is a failure: a sixth of the time limit of a test. It decides how soon a test that fails
# does so, and nothing else: a machine that has much else to do is no fault.
PATIENCE = 100.0


def wait_for(condition: Callable[[], object], what: str = "", timeout: float = PATIENCE) -> object:
    """For what happens in other processes and tells nobody."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.01)
    return result
