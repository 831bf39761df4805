"""Fixtures: watched clients, and the seed of the faults."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import watched


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a program of this directory, once."""
    made: dict[str, Path] = {}
    directory = tmp_path_factory.mktemp("programs")

    def program(source: str, *more: str) -> Path:
        if source not in made:
            made[source] = watched.compile_c(source, directory / source.removesuffix(".c"), *more)
        return made[source]

    return program


@pytest.fixture(scope="session")
def functions(programs: Callable[..., Path]) -> ctypes.CDLL:
    """watch.c. The calls must not let go of Python's lock: to get it back a thread has to wait."""
    return ctypes.PyDLL(str(programs("watch.c", "-shared", "-fPIC")))


def seen() -> list[tuple[int, int, int, int]]:
    """Of each client that was watched here: calls, those in which it waited, the longest wait and the most work in one."""
    return [(watch.calls, watch.waits, watch.longest_us, watch.busiest_us) for watch in watched.WatchedClient.all]


seen_by_workers: list[tuple[int, int, int, int]] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["watched"] = seen()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """pytest-xdist's, when one of its workers has ended."""
    seen_by_workers.extend(getattr(node, "workeroutput", {}).get("watched", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if all := seen() + seen_by_workers:
        calls, waits, longest_us, busiest_us = zip(*all, strict=True)
        terminalreporter.write_line(
            f"watched: {sum(calls)} calls; in {sum(waits)} the thread gave the processor away, for "
            f"{max(longest_us)} us at most; the busiest took {max(busiest_us)} us"
        )


@pytest.fixture
def watched_clients(functions: ctypes.CDLL) -> Iterator[Callable[..., watched.WatchedClient]]:
    """Makes clients that stay connected and whose calls are watched. In the end none may have waited."""
    with contextlib.ExitStack() as stack:

        def make(**options: object) -> watched.WatchedClient:
            return stack.enter_context(watched.WatchedClient(functions, **options))

        yield make


@pytest.fixture
def seed() -> int:
    """SMQ_FAULT_SEED. The same each time unless another is asked for; "new" draws one."""
    wanted = os.environ.get("SMQ_FAULT_SEED", "2026")
    seed = random.SystemRandom().randrange(1 << 32) if wanted == "new" else int(wanted)
    print(f"SMQ_FAULT_SEED={seed}")
    return seed
