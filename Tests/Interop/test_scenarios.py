"""Each scenario with both libraries, and with the drop-in: equal but for the differences that are listed."""

from __future__ import annotations

import difflib
import re
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import pytest

from . import (  # noqa: F401
    differences_connect,
    differences_messages,
    scenarios_broken,
    scenarios_connect,
    scenarios_limits,
    scenarios_login,
    scenarios_properties,
    scenarios_publish,
    scenarios_random,
    scenarios_slow,
    scenarios_subscribe,
    scenarios_will,
)
from .explaining import DOCUMENT, EXPLANATIONS, listed
from .outcome import Outcome
from .scenario import DROP_IN_PATH, SCENARIOS, THEIRS, Scenario
from .test_topics import SHOWN

AT_A_TIME = 5
MADE_UP = re.compile(r"^mosq-[0-9A-Za-z]{18}$")
# Where the drop-in is not like libmosquitto, but like us; most are rules of the specification.
DROP_IN = {
    "dup-at-first",
    "empty-filter",
    "handed-out-before-it-was-lost",
    "ping-again",
    "ping-at-once",
    "qos-0-overtakes",
    "response-topic-with-wildcards",
    "share-no-local",
    "share-without-name",
    "subscription-identifier-in-publish",
    "will-qos-3",
    "will-without-topic",
}


def unlike(theirs: Outcome, ours: Outcome) -> str:
    """What differs, line by line: - libmosquitto's, + ours."""
    found = []
    left, right = theirs.lines(), ours.lines()
    for name in left:
        if left[name] != right[name]:
            found += [f"{name}:", *list(difflib.unified_diff(left[name], right[name], lineterm="", n=2))[2:]]
    return "\n".join(found)


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future]:
    """Of the scenarios that were asked for, a few at a time: they spend their time waiting. The slow ones beside them.

    All of them before the first test: from test to test pytest changes the environment that processes are started with.
    """
    chosen = [item.callspec.params["scenario"] for item in request.session.items if hasattr(item, "callspec")]
    found: dict[str, Future] = {}
    with ThreadPoolExecutor(AT_A_TIME) as pool, ThreadPoolExecutor(AT_A_TIME) as slow_pool:
        for scenario in chosen:
            directory = tmp_path_factory.mktemp(scenario.script.__name__)
            found[scenario.name] = (slow_pool if scenario.slow else pool).submit(scenario.outcomes, directory)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_both_do_the_same(scenario: Scenario, outcomes: dict[str, Future]) -> None:
    both = outcomes[scenario.name].result()
    theirs, ours = deepcopy(both["libmosquitto"]), both["libswiftmqtt"]  # explanations change what they explain
    for identifier in scenario.shows:
        assert EXPLANATIONS[identifier](theirs, ours), f"{identifier}: listed, and not seen here any more"
    difference = unlike(theirs, ours)
    assert not difference, f"a difference that docs/differences.md does not have:\n{difference}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_drop_in_does_as_libmosquitto(scenario: Scenario, outcomes: dict[str, Future]) -> None:
    found = outcomes[scenario.name].result()
    theirs, ours = deepcopy(found["libmosquitto"]), deepcopy(found["drop-in"])
    for outcome in (theirs, ours):
        leave_out(outcome, in_order=not scenario.name.startswith("walk"))
    for identifier in DROP_IN.intersection(scenario.shows):
        assert EXPLANATIONS[identifier](theirs, ours), f"{identifier}: listed, and not seen with the drop-in"
    difference = unlike(theirs, ours)
    assert not difference, difference


def test_the_guide_lists_what_the_drop_in_shares() -> None:
    guide = (DOCUMENT.parent / "migrating-from-libmosquitto.md").read_text()
    paragraph = guide[guide.index("](differences.md) also apply"):].split("\n\n")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", paragraph)) == DROP_IN


def leave_out(outcome: Outcome, in_order: bool) -> None:
    """What docs/migrating-from-libmosquitto.md has and docs/differences.md has not; of random walks, when acknowledgements
    come, as with QoS 2 that is a matter of time."""
    for packet in outcome.sent:
        if packet["type"] == "CONNECT":
            packet["client"] = MADE_UP.sub("mosq-...", packet["client"])
    if not in_order:
        outcome.sent.sort(key=repr)
        outcome.received.sort(key=repr)


def test_every_listed_difference_is_shown() -> None:
    shown = {identifier for scenario in SCENARIOS for identifier in scenario.shows}
    assert shown == set(EXPLANATIONS), "a difference that no scenario shows, or that nothing explains"
    assert sorted(listed()) == sorted([*EXPLANATIONS, *SHOWN]), "docs/differences.md has a row for each, and no other"


def test_it_is_libmosquitto_that_is_compared() -> None:
    """And not a library that only goes by its name."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libmosquitto" in line}
    loaded.remove(DROP_IN_PATH)
    assert len(loaded) == 1
    assert "swiftmqtt" not in Path(loaded.pop()).relative_to("/usr").as_posix()
    assert THEIRS.version()[:2] == (2, 0)
