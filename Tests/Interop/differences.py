"""The differences between the two libraries that we know of, as far as a test can tell them: docs/differences.md says of
each which of the two follows the specification, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from .outcome import Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"

# Finds a difference in (libmosquitto's, ours), takes it out of both, and says whether it was there.
Explanation = Callable[[Outcome, Outcome], bool]
EXPLANATIONS: dict[str, Explanation] = {}


def listed() -> list[str]:
    """The identifiers of the tables in the document, in their order."""
    return re.findall(r"^\| `([a-z0-9-]+)` \|", DOCUMENT.read_text(), re.M)


def explains(identifier: str) -> Callable[[Explanation], Explanation]:
    """Enters a function into the table."""

    def enter(explanation: Explanation) -> Explanation:
        EXPLANATIONS[identifier] = explanation
        return explanation

    return enter
