"""What the explanations of differences are made of, and the table of them. docs/differences.md says of each which of
the two libraries follows the specification, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .outcome import Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
ACKNOWLEDGEMENTS = ("PUBACK", "PUBREC", "PUBCOMP", "SUBACK", "UNSUBACK")

# Finds a difference in (libmosquitto's, ours), takes it out of both, and says whether it was there.
Explanation = Callable[[Outcome, Outcome], bool]
EXPLANATIONS: dict[str, Explanation] = {}


def listed() -> list[str]:
    """The identifiers of the tables in the document, in their order."""
    return re.findall(r"^\| `([a-z0-9-]+)` \|", DOCUMENT.read_text(), re.M)


def explains(*identifiers: str) -> Callable[[Explanation], Explanation]:
    """Enters a function into the table."""

    def enter(explanation: Explanation) -> Explanation:
        EXPLANATIONS.update(dict.fromkeys(identifiers, explanation))
        return explanation

    return enter


# ---- What explanations are made of. Each changes the outcomes, and says whether there was something to change. ----


def take(items: list, wanted: Callable[[object], object]) -> bool:
    """Takes out of a list what is wanted."""
    count = len(items)
    items[:] = [item for item in items if not wanted(item)]
    return len(items) < count


def surplus(more: list, less: list, types: Iterable[str] = ()) -> bool:
    """Takes out of a list what another one does not have: packets of these types, or anything."""
    left = list(less)

    def extra(item: object) -> bool:
        if item in left:
            left.remove(item)
            return False
        return not types or item["type"] in types

    return take(more, extra)


def breaks(outcome: Outcome, *statements: str) -> bool:
    """Takes out the rules that were broken, each as often as it stands here."""
    there = all(outcome.broken.count(statement) >= statements.count(statement) for statement in statements)
    for statement in statements if there else ():
        outcome.broken.remove(statement)
    return there


def answers(theirs: Outcome, ours: Outcome, call: str, their_word: str, our_word: str) -> list[int]:
    """Makes calls equal that were answered in two ways; the numbers of those calls."""
    numbers = []
    for index, (left, right) in enumerate(zip(theirs.calls, ours.calls, strict=False)):
        if left[1] == call and left[:-1] == right[:-1] and (left[-1], right[-1]) == (their_word, our_word):
            theirs.calls[index] = right
            numbers.append(left[2] if len(left) > 3 else 0)
    return numbers


def only_they_send(theirs: Outcome, ours: Outcome, call: str, *types: str, our_word: str = "refused") -> bool:
    """What we refuse, and they send: out with it, and all that follows from it."""
    numbers = answers(theirs, ours, call, "ok", our_word)
    surplus(theirs.sent, ours.sent, types)
    surplus(theirs.received, ours.received, ACKNOWLEDGEMENTS)
    surplus(theirs.witnessed, ours.witnessed)
    take(theirs.events, lambda event: event[1] in ("published", "subscribed", "unsubscribed") and event[2] in numbers)
    return bool(numbers)


def only_we_send(theirs: Outcome, ours: Outcome, types: Iterable[str]) -> bool:
    """Packets of ours, and their answers, that they do not have."""
    surplus(ours.received, theirs.received, ACKNOWLEDGEMENTS)
    return surplus(ours.sent, theirs.sent, types)


def no_client(theirs: Outcome, ours: Outcome) -> bool:
    """We make no client of settings that theirs connects with."""
    if not take(ours.events, lambda event: event == ("no such client",)):
        return False
    there = bool(theirs.packets("CONNECT"))
    for items in (theirs.sent, theirs.received, theirs.events, theirs.calls):
        items.clear()
    return there
