"""Each scenario with both libraries: equal but for the differences that are listed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from . import (  # noqa: F401
    scenarios_broken,
    scenarios_connect,
    scenarios_login,
    scenarios_properties,
    scenarios_publish,
    scenarios_subscribe,
    scenarios_will,
)
from . import scenarios_slow  # noqa: F401, I001: their tests come last, when they are nearly done
from .differences import EXPLANATIONS, listed
from .outcome import Outcome
from .scenario import SCENARIOS, Scenario


def unlike(theirs: Outcome, ours: Outcome) -> str:
    """What differs, line by line: - libmosquitto's, + ours."""
    found = []
    left, right = theirs.lines(), ours.lines()
    for name in left:
        if left[name] != right[name]:
            found += [f"{name}:", *difflib.ndiff(left[name], right[name])]
    return "\n".join(found)


@pytest.fixture(scope="session", autouse=True)
def slow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future]]:
    """The slow scenarios among those that were asked for, under way."""
    chosen = [item.callspec.params["scenario"] for item in request.session.items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        yield {s.name: pool.submit(s.outcomes, tmp_path_factory.mktemp("slow")) for s in chosen if s.slow}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_both_do_the_same(scenario: Scenario, tmp_path: Path, slow: dict[str, Future]) -> None:
    outcomes = slow[scenario.name].result() if scenario.slow else scenario.outcomes(tmp_path)
    theirs, ours = outcomes["libmosquitto"], outcomes["libswiftmqtt"]
    for identifier in scenario.shows:
        assert EXPLANATIONS[identifier](theirs, ours), f"{identifier}: listed, and not seen here any more"
    difference = unlike(theirs, ours)
    assert not difference, f"a difference that docs/differences.md does not have:\n{difference}"


def test_every_listed_difference_is_shown() -> None:
    shown = {identifier for scenario in SCENARIOS for identifier in scenario.shows}
    assert shown == set(EXPLANATIONS), "a difference that no scenario shows, or that nothing explains"
    assert len(set(listed())) == len(listed())
    assert set(EXPLANATIONS) <= set(listed()), "docs/differences.md has a row for each"
