"""Each scenario with both libraries: equal but for the differences that are listed."""

from __future__ import annotations

import difflib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from . import (  # noqa: F401
    differences_connect,
    differences_messages,
    mosq,
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
from .explaining import EXPLANATIONS, listed
from .outcome import Outcome
from .scenario import SCENARIOS, Scenario
from .test_topics import SHOWN

AT_A_TIME = 5


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
    theirs, ours = both["libmosquitto"], both["libswiftmqtt"]
    for identifier in scenario.shows:
        assert EXPLANATIONS[identifier](theirs, ours), f"{identifier}: listed, and not seen here any more"
    difference = unlike(theirs, ours)
    assert not difference, f"a difference that docs/differences.md does not have:\n{difference}"


def test_every_listed_difference_is_shown() -> None:
    shown = {identifier for scenario in SCENARIOS for identifier in scenario.shows}
    assert shown == set(EXPLANATIONS), "a difference that no scenario shows, or that nothing explains"
    assert sorted(listed()) == sorted([*EXPLANATIONS, *SHOWN]), "docs/differences.md has a row for each, and no other"


def test_it_is_libmosquitto_that_is_compared() -> None:
    """And not a library that only goes by its name."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libmosquitto" in line}
    assert len(loaded) == 1
    assert "swiftmqtt" not in Path(loaded.pop()).relative_to("/usr").as_posix()
    assert mosq.version()[:2] == (2, 0)
