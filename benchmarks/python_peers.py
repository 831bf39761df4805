#!/usr/bin/env python3
"""Messages a second of the Python clients of this library, of paho-mqtt and of aiomqtt, side by side. README.md says what holds.

    python_peers.py [--peers REGEX] [--only REGEX] [--messages N] [--rounds N] [--out FILE.json]

Each run is a process of its own on the first core; the sink, which counts the messages, is on the last. The others come
from PyPI into build/python-peers. Without PyPI they are left out. Exit status 1: something failed."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import measure
import report
from build import compile_c
from measure import Failed, left_out, say
from plan import BUILD, HERE, LIBRARY, ROOT

PEERS = ["swiftmqtt", "swiftmqtt.aio", "swiftmqtt.paho", "paho-mqtt", "aiomqtt"]
WORKLOADS = [(way, qos) for way in ("publish", "receive") for qos in (0, 1, 2)]
# Of PyPI, with the folder that pip makes.
OTHERS = {"paho-mqtt": ("paho-mqtt==2.1.0", "paho"), "aiomqtt": ("aiomqtt==2.5.1", "aiomqtt")}
OTHERS_FOLDER = ROOT / "build" / "python-peers"


def is_there(peer: str) -> bool:
    """Ours, and what pip has installed, or installs now, with paho-mqtt, on which aiomqtt is built."""
    if peer not in OTHERS:
        return True
    package, folder = OTHERS[peer]
    if (OTHERS_FOLDER / folder).exists():
        return True
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(OTHERS_FOLDER)]
    return subprocess.run([*pip, package, OTHERS["paho-mqtt"][0]], stderr=subprocess.DEVNULL).returncode == 0


def run(sink: measure.Sink, peer: str, way: str, qos: int, n: int) -> dict:
    command = [sys.executable, str(HERE / "python_load.py"), peer, way, str(qos), str(n), str(sink.port), sink.control]
    environment = {**os.environ, "PYTHONPATH": str(OTHERS_FOLDER), "PYTHONDONTWRITEBYTECODE": "1",
                   "SWIFTMQTT_LIBRARY": str(LIBRARY / "libswiftmqtt.so.1")}
    process = measure.start(command, measure.CLIENT_CORE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    return json.loads(measure.finish(process)[0])


def compare(peers: list[str], only: str, messages: int, rounds: int, failed) -> dict[str, dict]:
    """{workload: {peer: {"k_per_s", "cpu_us"}}}; what fails is told to failed(peer, what, error)."""
    absent = [peer for peer in peers if not is_there(peer)]
    for peer in absent:
        left_out(f"{peer}: PyPI does not have it here")
    peers = [peer for peer in peers if peer not in absent]
    results: dict[str, dict] = {}
    with measure.Sink(BUILD / "sink") as sink:
        for way, qos in WORKLOADS:
            if not re.search(only, f"{way}-{qos}"):
                continue
            what = f"{way} QoS {qos}"
            samples = measure.interleave(peers, rounds, lambda peer, way=way, qos=qos: run(sink, peer, way, qos, messages),
                                         lambda peer, error, what=what: failed(peer, what, error))
            results[what] = cells = {
                peer: {"k_per_s": 1e6 / statistics.median(one["wall_ns"] / one["n"] for one in runs),
                       "cpu_us": statistics.median(one["cpu_ns"] / one["n"] for one in runs) / 1e3}
                for peer, runs in samples.items()}
            say(f"  {what}: " + ", ".join(f"{peer} {cell['k_per_s']:.1f}" for peer, cell in cells.items()))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default="", metavar="REGEX", help="only these: " + ", ".join(PEERS))
    parser.add_argument("--only", default="", metavar="REGEX", help="only these: publish-0 to receive-2")
    parser.add_argument("--messages", type=int, default=20_000, help="of each run (20,000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.json", help="where the results go")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    if wrong := compile_c(BUILD / "sink", [str(HERE / "sink.c")]):
        print(f"python_peers: {wrong}", file=sys.stderr)
        return 1
    peers, failures = [peer for peer in PEERS if re.search(options.peers, peer)], []

    def failed(peer: str, what: str, error: Failed) -> None:
        failures.append(peer)
        say(f"  FAILED {peer}: {what}: {error}")

    results = compare(peers, options.only, options.messages, options.rounds, failed)
    print(report.python(results))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
