"""mosquitto_pub, mosquitto_sub and mosquitto_rr as Debian built them, on libmosquitto and on the drop-in: what they
print, how they end, what arrives and what the server saw of them is the same."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from Support.certificates import Certificates

from .program_rows import ROWS
from .programs import Bench, Outcome


@dataclass(frozen=True)
class Deviation:
    """Where ours differs from libmosquitto on purpose, or as far as it can: whole lines, as regular expressions."""

    rows: str  # their names
    reason: str
    theirs: tuple[str, ...]  # lines that only libmosquitto has
    ours: tuple[str, ...] = ()


NO_WAY = "the drop-in has no {}, and says so"
UNDONE = (r"exit status: 0", r"arrives: .*", r"wire: .*")  # what a program does that gets as far as connecting
DEVIATIONS = (
    Deviation(
        "pub from an address", NO_WAY.format("address to come from"), UNDONE,
        ("exit status: 1", "stderr: Unable to connect .This feature is not supported.*")),
)
# Two threads write what they log, so libmosquitto itself has several orders.
ANY_ORDER = ("pub lines debugged",)


@pytest.fixture(scope="module")
def bench(
    tmp_path_factory: pytest.TempPathFactory, real_path: Path, our_path: Path, certificates: Certificates
) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("programs"), our_path, certificates)
    yield bench
    bench.close()


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.name for row in ROWS])
def test_command_line(bench: Bench, number: int):
    row = ROWS[number]
    real = bench.run(row, "real", number)
    assert real.code in ((1, 8) if row.handshake else (row.code,)), real
    assert len(real.received) == row.arrives + len(row.retained) + len(row.live), real.received
    ours = bench.run(row, "ours", number)
    assert [p for p in ours.loaded if 'libmosquitto' in p] == [str(bench.our_library)]
    assert min(real.seconds, ours.seconds) >= row.lasts
    if row.handshake:
        assert ours.code in (1, 8)
        assert said_of_tls(ours) == said_of_tls(real)
        return
    told = [sorted(run.lines()) if row.name in ANY_ORDER else run.lines() for run in (real, ours)]
    if difference := differences(row.name, *told):
        pytest.fail(difference, pytrace=False)


def said_of_tls(outcome: Outcome) -> list[str]:
    """Which call has failed is a matter of time, and why is not."""
    return [line for line in outcome.lines() if "OpenSSL" in line or "Error: host" in line or line.startswith("arrives")]


def differences(name: str, real: list[str], ours: list[str]) -> str:
    """But for those on purpose, of which there has to be one if there may be."""
    found = [line.rstrip("\n") for line in difflib.unified_diff(real, ours, "libmosquitto", "ours", n=3)][2:]
    known = [deviation for deviation in DEVIATIONS if re.fullmatch(deviation.rows, name)]
    if known and not found:
        return f"there is no difference: {known[0].reason}"
    allowed = {"-": [p for d in known for p in d.theirs], "+": [p for d in known for p in d.ours]}
    unknown = [
        line for line in found if line[:1] in allowed and line[1:]
        and not any(re.fullmatch(pattern, line[1:]) for pattern in allowed[line[0]])]
    return "\n".join(found) if unknown else ""


def test_the_deviations_are_of_rows():
    for deviation in DEVIATIONS:
        assert any(re.fullmatch(deviation.rows, row.name) for row in ROWS), deviation
