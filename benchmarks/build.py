"""Compiles the sink, the heap counter, and a load for each peer whose library is there."""

from __future__ import annotations

import os
import pathlib
import subprocess

from measure import Failed, left_out
from plan import BUILD, HERE, OURS, PARTS, Peer


def compile_c(output: pathlib.Path, arguments: list[str]) -> str:
    """Returns the first line of what is wrong, or nothing."""
    done = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-o", str(output), *arguments],
                          capture_output=True, text=True)
    wrong = [line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line]
    return "" if done.returncode == 0 else (wrong or done.stderr.splitlines() or ["the compiler failed"])[0]


def build(peers: list[Peer]) -> list[Peer]:
    """Returns the peers that can be built; a line says which can't."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for output, arguments in [("sink", [HERE / "sink.c"]), ("heap.so", ["-shared", "-fPIC", HERE / "heap.c"]),
                              ("idle_clients", [HERE / "idle_clients.c", *OURS])]:
        if wrong := compile_c(BUILD / output, [str(argument) for argument in arguments]):
            raise Failed(wrong)
    missing = {}
    for source in {peer.source: peer for peer in peers}.values():
        wrong = compile_c(source.program, [*(str(HERE / part) for part in PARTS), str(HERE / f"peer_{source.source}.c"),
                                       *source.links])
        if wrong:
            missing[source.source] = wrong
            left_out(f"{source.title}: {wrong}")
    return [peer for peer in peers if peer.source not in missing]
