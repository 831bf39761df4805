#!/usr/bin/env python3
"""What a message costs its sender and its receiver in STOMP: with libswiftstomp, with a bare socket, and in Python with this
package and with stomp.py, side by side. README.md says what holds.

    stomp_bench.py [--quick] [--rounds N] [--out FILE.json] [--write]

--write puts the table into docs/stomp.md. Each run is a process of its own on the first core; the sink, which counts the
messages, is on the last. stomp.py comes from PyPI into build/python-peers. What is missing is left out, and a line says so. Exit
status 1: something failed."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
from build import compile_c
from measure import Failed, left_out, say
from plan import BUILD, HERE, LIBRARY, ROOT

C_PEERS = {"raw": "bare socket, C", "swiftstomp": "libswiftstomp, C"}
PYTHON_PEERS = {
    "swiftmqtt.stomp": "`swiftmqtt.stomp`", "swiftmqtt.stomp.aio": "`swiftmqtt.stomp.aio`",
    "swiftmqtt.stomp.stomppy": "`swiftmqtt.stomp.stomppy`", "stomp.py": "stomp.py 8.2"}
PEERS = {**C_PEERS, **PYTHON_PEERS}
WAYS = ("send", "receive")
MESSAGES = {"C": 400_000, "Python": 20_000}
CLIENTS = {"swiftstomp": 50, "swiftmqtt.stomp": 50, "swiftmqtt.stomp.stomppy": 50, "stomp.py": 50}
BODY = 64
OTHERS_FOLDER = ROOT / "build" / "python-peers"
PAGE = ROOT / "docs" / "stomp.md"
TABLE = re.compile(r"(?<=<!-- stomp_bench -->\n)(?:\|.*\n)*")


class Sink(measure.Server):
    """stomp_sink.c: its port, and what it says of each connection that has ended."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="sink-")
        self.process = measure.start([str(BUILD / "stomp_sink")], measure.SERVER_CORE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def counted(self) -> tuple[int, int]:
        messages, size = self.process.stdout.readline().split()
        return int(messages), int(size)


def command_of(peer: str, way: str, n: int, port: int) -> list[str]:
    if peer in C_PEERS:
        return [str(BUILD / "stomp_load"), peer, way, str(n), str(port)]
    return [sys.executable, str(HERE / "stomp_python_load.py"), peer, way, str(n), str(port)]


ENVIRONMENT = {
    **os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join((str(ROOT / "python"), str(OTHERS_FOLDER))),
    "SWIFTMQTT_LIBRARY": str(LIBRARY / "libswiftmqtt.so.1"), "SWIFTSTOMP_LIBRARY": str(LIBRARY / "libswiftstomp.so.1")}


def run(sink: Sink, peer: str, way: str, n: int) -> dict:
    """One run. The sink must have counted what was sent."""
    process = measure.start(command_of(peer, way, n, sink.port), measure.CLIENT_CORE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=ENVIRONMENT)
    found = json.loads(measure.finish(process)[0])
    if way != "clients":
        wanted = (n, n * BODY) if way == "send" else (0, 0)
        if (counted := sink.counted()) != wanted:
            raise Failed(f"{peer}, {way}: the sink counted {counted}, not {wanted}")
    return found


def instructions(sink: Sink, peer: str, way: str, n: int) -> float:
    """(2N - N) / N of all that the process executes in user space."""
    totals = []
    for count in (n, 2 * n):
        totals.append(sum(measure.instructions(command_of(peer, way, count, sink.port)).values()))
        sink.counted()
    return (totals[1] - totals[0]) / n


def has_stomp_py() -> bool:
    if (OTHERS_FOLDER / "stomp").exists():
        return True
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(OTHERS_FOLDER)]
    return subprocess.run([*pip, "stomp.py==8.2.0"], stderr=subprocess.DEVNULL).returncode == 0


def build() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    ours = [f"-I{ROOT}/include", f"-L{LIBRARY}", "-lswiftstomp", f"-Wl,-rpath,{LIBRARY}"]
    for name, more in (("stomp_sink", []), ("stomp_load", ours)):
        if wrong := compile_c(BUILD / name, [str(HERE / f"{name}.c"), *more]):
            raise Failed(wrong)


def compare(rounds: int, share: int, failed) -> dict[str, dict]:
    """{peer: {"send": {…}, "receive": {…}, "client_bytes": …}}: medians of rounds that alternate between the peers."""
    peers = [peer for peer in PEERS if peer != "stomp.py" or has_stomp_py()]
    if len(peers) < len(PEERS):
        left_out("stomp.py: PyPI does not have it here")
    results: dict[str, dict] = {peer: {} for peer in peers}
    has_valgrind = shutil.which("valgrind")
    if not has_valgrind:
        left_out("instructions: valgrind is missing")
    with Sink() as sink:
        for way in WAYS:
            def once(peer: str, way: str = way) -> dict:
                return run(sink, peer, way, MESSAGES["C" if peer in C_PEERS else "Python"] // share)

            samples = measure.interleave(peers, rounds, once, lambda peer, error, way=way: failed(peer, way, error))
            for peer, runs in samples.items():
                cpu = sorted(one["cpu_ns"] / one["n"] for one in runs)
                results[peer][way] = {
                    "cpu_ns": statistics.median(cpu), "least_ns": cpu[0], "most_ns": cpu[-1],
                    "per_s": 1e9 / statistics.median(one["wall_ns"] / one["n"] for one in runs)}
                if has_valgrind and peer in C_PEERS:
                    results[peer][way]["instructions"] = instructions(sink, peer, way, 5000)
                say(f"  {way} {peer}: {results[peer][way]}")
        for peer, count in CLIENTS.items():
            if peer in peers:
                found = run(sink, peer, "clients", count)
                results[peer]["rss_bytes"] = found["rss_bytes"] / count
                results[peer]["client_bytes"] = found["client_bytes"]
    return results


def table(results: dict[str, dict]) -> str:
    """In Markdown. Ratios are to the first peer of the same language."""
    lines = ["| client | way | messages a second | CPU time of a message | ratio | instructions | memory of a client |",
             "|---|---|--:|--:|--:|--:|--:|"]
    for peer, title in PEERS.items():
        for way in WAYS:
            cell = results.get(peer, {}).get(way)
            if not cell:
                continue
            base = results.get("raw" if peer in C_PEERS else "stomp.py", {}).get(way)
            ratio = f"{cell['cpu_ns'] / base['cpu_ns']:.2f}" if base else "–"
            time = f"{cell['cpu_ns']:,.0f} ns" if cell["cpu_ns"] < 1000 else f"{cell['cpu_ns'] / 1000:.1f} µs"
            counted = f"{cell['instructions']:,.0f}" if "instructions" in cell else "–"
            memory = results[peer].get("rss_bytes")
            kilobytes = f"{memory / 1000:,.0f} KB" if memory and way == "send" else ""
            rate = float(f"{cell['per_s']:.2g}")
            lines.append(f"| {title} | {way} | {rate:,.0f} | {time} | {ratio} | {counted} | {kilobytes} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages, one round")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (5)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.json", help="where the results go")
    parser.add_argument("--write", action="store_true", help="puts the table into docs/stomp.md")
    arguments = parser.parse_args()
    failures = []

    def failed(peer: str, what: str, error: object) -> None:
        failures.append(peer)
        say(f"failed: {peer}, {what}: {error}")

    build()
    results = compare(1 if arguments.quick else arguments.rounds, 10 if arguments.quick else 1, failed)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    made = table(results)
    print(made, end="")
    if arguments.write and not failures:
        PAGE.write_text(TABLE.sub(lambda _: made, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"stomp_bench.py: {error}")
