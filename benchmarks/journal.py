#!/usr/bin/env python3
"""How fast messages are on the disk, and what that wears: libswiftmqtt's journal beside a bare file, SQLite and LMDB.

journal.py [--dir DIR] [--rounds N]: builds journal.c, which says what each does, and runs the four in turn. Needs libsqlite3-dev
and liblmdb-dev, which `.ci/need bench` installs. DIR is on the disk that is meant: /tmp may be in memory."""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = ROOT / "build" / "native"
WAYS = {"bare": "bare file", "smq": "libswiftmqtt", "sqlite": "SQLite, WAL", "lmdb": "LMDB"}
BATCHES = {1: 300, 64: 200, 1000: 60}
PAYLOAD = 128


def build(program: pathlib.Path) -> None:
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", HERE / "journal.c", "-o", program,
         f"-L{LIBRARY}", "-lswiftmqtt", f"-Wl,-rpath,{LIBRARY}", "-lsqlite3", "-llmdb"],
        check=True,
    )


def measure(program: pathlib.Path, directory: pathlib.Path, way: str, batch: int) -> tuple[float, float]:
    """Messages a second, and bytes written for each byte of payload."""
    with tempfile.TemporaryDirectory(dir=directory) as inside:
        command = [program, way, pathlib.Path(inside) / "file", str(batch), str(BATCHES[batch])]
        ns, written = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    count = batch * BATCHES[batch]
    return count / ns * 1e9, written / (count * PAYLOAD)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as directory:
        program = pathlib.Path(directory) / "journal"
        build(program)
        print("| messages of 128 bytes, durable together | | messages a second | × bare file | bytes written, × payload |")
        print("|--:|---|--:|--:|--:|")
        for batch in BATCHES:
            found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
            for _ in range(arguments.rounds):
                for way in WAYS:
                    found[way].append(measure(program, pathlib.Path(directory), way, batch))
            rates = {way: statistics.median(rate for rate, _ in samples) for way, samples in found.items()}
            for way, title in WAYS.items():
                wear = statistics.median(wear for _, wear in found[way])
                print(f"| {batch:,} | {title} | {rates[way]:,.0f} | {rates[way] / rates['bare']:.2f} | {wear:.2f} |", flush=True)


if __name__ == "__main__":
    main()
