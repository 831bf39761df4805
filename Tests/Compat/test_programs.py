"""mosquitto_pub, mosquitto_sub and mosquitto_rr as Debian built them, on libmosquitto and on the drop-in: what they print,
how they end, what arrives and what the server saw of them is the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest

from .program_rows import ROWS
from .programs import Bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, real_path: Path, our_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("programs"), our_path)
    yield bench
    bench.close()


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.name for row in ROWS])
def test_command_line(bench: Bench, number: int):
    row = ROWS[number]
    real = bench.run(row, "real", number)
    assert real.code == row.code, real
    assert len(real.received) == row.arrives + len(row.retained) + len(row.live), real.received
    ours = bench.run(row, "ours", number)
    assert [p for p in ours.loaded if 'libmosquitto' in p] == [str(bench.our_library)]
    assert min(real.seconds, ours.seconds) >= row.lasts
    assert not differences(real.lines(), ours.lines())


def differences(real: list[str], ours: list[str]) -> str:
    return "\n".join(line for line in difflib.unified_diff(real, ours, "libmosquitto", "ours", n=3, lineterm=""))
