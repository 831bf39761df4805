#!/usr/bin/env python3
"""Measures libswiftmqtt, other client libraries and the bare socket side by side, in one run. README.md says what holds.

    bench.py [--quick] [--peers REGEX] [--only REGEX] [--rounds N] [--out FOLDER]
    bench.py --render FILE.json     writes the table and the picture of a run again

A full run writes <date>-<commit>.json and .md, and its pictures, to benchmarks/results, where it replaces the one that
was there unless it is of a part; a quick one goes to build/bench.
Exit status 1: something failed, and is missing in the table."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import time

import command_line
import measure
import picture
import python_peers
import report
import scale
from build import build
from measure import Failed, left_out, say
from plan import BUILD, CURVE, HERE, PEERS, ROOT, ROUTES, WORKLOADS, Peer, Workload, payload_bytes


# ---- The run


class Run:
    """What is measured, and what failed."""

    def __init__(self, peers: list[Peer], only: str, rounds: int, is_quick: bool):
        self.peers, self.only, self.rounds, self.is_quick = peers, re.compile(only), rounds, is_quick
        self.results: dict = {"workloads": {}, "curve": {}, "latency": {}, "connect": {}, "start": {}, "idle": {},
                              "broker": {}, "growth": {}, "clients": [], "python": {}, "lines": {}}
        self.errors: list[str] = []
        self.versions: dict[str, str] = {}

    def wants(self, name: str) -> bool:
        return bool(self.only.search(name))

    def libraries(self) -> list[Peer]:
        """Without the limit that only publishing with QoS 0 has."""
        return [peer for peer in self.peers if peer.name != "raw-prepared"]

    def failed(self, name: str, what: str, error: Failed) -> None:
        self.errors.append(f"{name}: {what}: {error}")
        say(f"  FAILED {self.errors[-1]}")

    def load(self, peer: Peer, server: measure.Server, options: list[str], **more) -> dict:
        result = measure.load(peer.command(server, options), **more)
        self.versions[peer.name] = result["version"]
        return result

    def interleave(self, peers: list[Peer], what: str, measure_once) -> dict[str, list]:
        by_name = {peer.name: peer for peer in peers}
        return measure.interleave(by_name, self.rounds, lambda name: measure_once(by_name[name]),
                                  lambda name, error: self.failed(name, what, error))

    # -- CPU time

    def messages_for(self, peer: Peer, server: measure.Server, options: list[str]) -> int:
        """So many that a run takes a fixed time; also warms up."""
        budget_ns = 15e6 if self.is_quick else 40e6
        least = max(20, min(1000, (8 << 20) // payload_bytes(options)))
        n = least // 2
        while True:
            used = self.load(peer, server, [*options, "-n", str(n)])["cpu_ns"]
            if used > budget_ns / 8 or n >= 1_000_000:
                break
            n = min(n * 5, 1_000_000)
        most = 30_000 if "-s4096" in options else 2_000_000
        return int(min(max(budget_ns * n / max(used, 1000), least), most))

    def cpu(self, server: measure.Server, peers: list[Peer], what: str, options: list[str]) -> dict[str, dict]:
        counts, able = {}, []
        for peer in peers:
            try:
                counts[peer.name] = self.messages_for(peer, server, options)
                able.append(peer)
            except Failed as error:
                self.failed(peer.name, what, error)
        samples = self.interleave(able, what,
                                  lambda peer: self.load(peer, server, [*options, "-n", str(counts[peer.name])]))
        return {name: {"n": runs[0]["n"], "cpu_ns": statistics.median(run["cpu_ns"] / run["n"] for run in runs),
                       "cpu_ns_all": [round(run["cpu_ns"] / run["n"], 2) for run in runs],
                       "wall_ns": statistics.median(run["wall_ns"] / run["n"] for run in runs)}
                for name, runs in samples.items()}

    def throughput(self) -> None:
        with measure.Sink(BUILD / "sink") as sink:
            for workload in WORKLOADS:
                if not self.wants(workload.name):
                    continue
                peers = self.peers if workload.has_prepared else self.libraries()
                cells = self.cpu(sink, peers, workload.name, workload.options)
                if "raw" in cells:
                    for cell in cells.values():
                        cell["ratio"] = cell["cpu_ns"] / cells["raw"]["cpu_ns"]
                self.results["workloads"][workload.name] = {"title": workload.title, "peers": cells}
                say(f"  {workload.title}: " + ", ".join(f"{name} {cell['cpu_ns']:.0f}" for name, cell in cells.items()))

    def curve(self) -> None:
        if not self.wants("curve"):
            return
        peers = [peer for peer in self.peers if peer.name in ("raw", "swiftmqtt")]
        with measure.Sink(BUILD / "sink") as sink:
            for every in CURVE:
                cells = self.cpu(sink, peers, f"curve {every}", ["publish", "-q0", f"-f{every}"])
                self.results["curve"][str(every)] = cells
                say(f"  flush after {every}: " + ", ".join(f"{name} {cell['cpu_ns']:.0f}" for name, cell in cells.items()))

    # -- Counts

    def counts(self) -> None:
        tools = {"instructions": measure.works(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "true"]),
                 "system_calls": measure.works(["strace", "-f", "-c", "-o", "/dev/null", "true"])}
        for what, is_there in tools.items():
            if not is_there:
                left_out(f"{what}: {'valgrind' if what == 'instructions' else 'strace'} does not work here")
        with measure.Sink(BUILD / "sink") as sink:
            for workload in WORKLOADS:
                cells = self.results["workloads"].get(workload.name, {"peers": {}})["peers"]
                for peer in self.peers:
                    if peer.name in cells and not (self.is_quick and peer.name in ("raw-prepared", "swiftmqtt-5.0")):
                        self.count(peer, sink, workload, cells[peer.name], tools)
                if cells:
                    say(f"  {workload.title}: " + ", ".join(
                        f"{name} {cell['instructions']['all']:.0f}" for name, cell in cells.items() if "instructions" in cell))

    def count(self, peer: Peer, sink: measure.Sink, workload: Workload, cell: dict, tools: dict[str, bool]) -> None:
        n = workload.counted_for(peer, self.is_quick)
        command = peer.command(sink, workload.options)
        try:
            cell["allocations"] = measure.load([*command, "-n", str(n)], heap=BUILD / "heap.so")["allocations"] / n
            if tools["system_calls"]:
                cell["system_calls"] = measure.system_calls_per_message(command, n)
            if tools["instructions"] and (workload.is_counted_quick or not self.is_quick):
                cell["instructions"] = measure.instructions_per_message(command, n)
        except Failed as error:
            self.failed(peer.name, f"counts of {workload.name}", error)

    # -- Time

    def times(self, peers: list[Peer], server: measure.Server, what: str, options: list[str]) -> dict[str, dict]:
        samples = self.interleave(peers, what, lambda peer: self.load(peer, server, options))
        keys = ["p50_ns", "p99_ns", "p999_ns"]
        return {name: {"n": runs[0]["n"], "cpu_ns": statistics.median(run["cpu_ns"] / run["n"] for run in runs),
                       **{key: statistics.median(run[key] for run in runs) for key in keys}}
                for name, runs in samples.items()}

    def latency(self) -> None:
        n, seconds = ("1000", "1") if self.is_quick else ("5000", "3")
        if self.wants("ack"):
            with measure.Sink(BUILD / "sink") as sink:
                cells = self.times(self.libraries(), sink, "ack", ["ack", "-q1", "-n", n, "-t", seconds])
                self.results["latency"]["ack"] = {"title": "publish() to PUBACK", "peers": cells}
        if self.wants("echo"):
            with measure.Broker() as broker:
                cells = self.times(self.libraries(), broker, "echo", ["echo", "-q1", "-n", n, "-t", seconds])
                self.results["latency"]["echo"] = {"title": "own message back through Mosquitto, QoS 1", "peers": cells}

    def connect(self) -> None:
        with measure.Sink(BUILD / "sink") as sink:
            if self.wants("connect"):
                # Paho waits for 250 ms in each.
                samples = self.interleave(self.libraries(), "connect", lambda peer: self.load(
                    peer, sink, ["connect", "-n", "3" if peer.source == "paho" else "200"]))
                self.results["connect"] = {
                    name: {key: statistics.median(run[key] / run["n"] for run in runs) for key in ("cpu_ns", "wall_ns")}
                    for name, runs in samples.items()}
                for peer in self.libraries():
                    if peer.name in self.results["connect"]:
                        self.count_connect(peer, sink, self.results["connect"][peer.name])
            if self.wants("start"):
                self.results["start"] = self.times(self.libraries(), sink, "start", ["start", "-n", "5" if self.is_quick else "15"])

    def count_connect(self, peer: Peer, sink: measure.Sink, cell: dict) -> None:
        command = peer.command(sink, ["connect"])
        try:
            cell["allocations"] = measure.load([*command, "-n", "3"], heap=BUILD / "heap.so")["allocations"] / 3
            if not self.is_quick:
                cell["instructions"] = measure.instructions_per_message(command, 3)
        except Failed as error:
            self.failed(peer.name, "counts of connect", error)

    # -- Idle

    def idle(self, seconds: int = 65, keep_alive: int = 60) -> None:
        """All at once: they do nothing, that is the point."""
        if not self.wants("idle"):
            return
        peers = [peer for peer in self.peers if not peer.is_limit]
        with contextlib.ExitStack() as sinks:  # one for each, as one tells only one load what it has
            running = []
            for peer in peers:
                sink = sinks.enter_context(measure.Sink(BUILD / "sink"))
                command = peer.command(sink, ["idle", f"-t{seconds}", f"-k{keep_alive}"])
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                running.append((peer, measure.start(command, measure.CLIENT_CORE, **pipes)))
            for peer, process in running:
                try:
                    cell = json.loads(measure.finish(process, seconds + 30)[0])
                    if cell["pings"] < seconds // keep_alive:
                        raise Failed(f"only {cell['pings']} PINGREQ")
                    self.results["idle"][peer.name] = {
                        "seconds": seconds, "wake_ups": cell["wake_ups"], "cpu_ns": cell["cpu_ns"]}
                except Failed as error:
                    self.failed(peer.name, "idle", error)


    # -- Through a broker

    def broker(self) -> None:
        """Both ends are of one library. As many as are published have to arrive."""
        for route in ROUTES:
            if not self.wants(route.name) or (self.is_quick and not route.is_quick):
                continue
            n = str(route.messages // (10 if self.is_quick else 1))
            peers = [peer for peer in self.libraries() if not (self.is_quick and peer.name == "swiftmqtt-5.0")]
            with measure.Broker() as broker:
                ends = [[way, *route.options, "-n", n] for way in ("publish", "take")]
                samples = self.interleave(peers, route.name, lambda peer, broker=broker, ends=ends: measure.load_through(
                    *(peer.command(broker, options) for options in ends)))
            self.versions.update((name, runs[0][0]["version"]) for name, runs in samples.items())
            cells = {name: self.through(runs) for name, runs in samples.items()}
            self.results["broker"][route.name] = {"title": route.title, "peers": cells}
            say(f"  {route.title}: " + ", ".join(f"{name} {cell['per_s']:,.0f}" for name, cell in cells.items()))

    @staticmethod
    def through(runs: list[tuple[dict, dict]]) -> dict:
        def median(what) -> float:
            return statistics.median(what(sent, taken) / sent["n"] for sent, taken in runs)

        return {"n": runs[0][0]["n"], "per_s": 1e9 / median(lambda sent, _: sent["wall_ns"]),
                "publisher_ns": median(lambda sent, _: sent["cpu_ns"]),
                "subscriber_ns": median(lambda _, taken: taken["cpu_ns"]),
                "publisher_wake_ups": median(lambda sent, _: sent["wake_ups"]),
                "subscriber_wake_ups": median(lambda _, taken: taken["wake_ups"])}

    # -- Scale

    def scale(self) -> None:
        if self.wants("growth") and not self.is_quick:
            try:
                self.results["growth"] = scale.growth()
            except Failed as error:
                self.failed("growth", "instructions", error)
        if self.wants("clients"):
            with measure.Broker() as broker:
                for count, is_small in [(200, False)] if self.is_quick else [
                        (count, is_small) for is_small in (False, True) for count in (1000, 9000)]:
                    try:
                        self.results["clients"].append(scale.idle_clients(broker, count, is_small, 1 if self.is_quick else 4))
                    except Failed as error:
                        self.failed("idle clients", f"{count}", error)

    # -- Python, and the command line

    def python(self) -> None:
        if self.wants("python"):
            messages, rounds = (1000, 1) if self.is_quick else (20_000, min(self.rounds, 3))
            self.results["python"] = python_peers.compare(python_peers.PEERS, "", messages, rounds, self.failed)

    def lines(self) -> None:
        if self.wants("lines"):
            count, rounds = (5000, 1) if self.is_quick else (60_000, min(self.rounds, 5))
            self.results["lines"] = command_line.compare(count, rounds, self.failed)


# ---- What is known about the run


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()


def about(run: Run) -> dict:
    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    if git("status", "--porcelain", "--untracked-files=no", "--", "Sources", "include", "cmake", "benchmarks/*.c"):
        commit += "-changed"
    model = re.search(r"^(?:model name|Model)\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    compiler = subprocess.run([os.environ.get("CC", "cc"), "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    return {"date": datetime.date.today().isoformat(), "commit": commit, "quick": run.is_quick, "rounds": run.rounds,
            "processor": model[1] if model else platform.machine(), "cores": len(measure.CORES), "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()), "compiler": compiler, "versions": run.versions,
            "titles": {peer.name: peer.title for peer in PEERS}, "missing": measure.missing,
            "load_average": os.getloadavg()[0]}


def write(results: dict, folder: pathlib.Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    pictures = picture.pictures(results)
    (folder / f"{name}.md").write_text(report.markdown(results, pictures), encoding="utf-8")
    for file, drawn in pictures.items():
        (folder / file).write_text(drawn, encoding="utf-8")
    say(f"written: {folder / name}.json, .md" + "".join(f", {file}" for file in pictures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two minutes: fewer rounds and messages, no tables that grow, nothing idle for long")
    parser.add_argument("--peers", default="", metavar="REGEX", help="only these: " + ", ".join(peer.name for peer in PEERS))
    parser.add_argument("--only", default="", metavar="REGEX", help="only these: curve, ack, echo, connect, start, idle, growth, "
                        "clients, python, lines, " + ", ".join(part.name for part in [*WORKLOADS, *ROUTES]))
    parser.add_argument("--rounds", type=int, help="runs of each (7; quick: 3)")
    parser.add_argument("--out", type=pathlib.Path, help="where the results go")
    parser.add_argument("--render", type=pathlib.Path, metavar="FILE.json", help="measure nothing, write its table and picture again")
    options = parser.parse_args()
    if options.render:
        write(json.loads(options.render.read_text(encoding="utf-8")), options.out or options.render.parent, options.render.stem)
        return 0

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    try:
        peers = build([peer for peer in PEERS if re.search(options.peers, peer.name)])
        if not peers:
            raise Failed("no peer is left")
        run = Run(peers, options.only, options.rounds or (3 if options.quick else 7), options.quick)
        if len(measure.CORES) < 2:
            say("only one core: the sink takes time from the clients")
        phases = [("CPU ns per message", run.throughput), ("flushes: CPU ns per message", run.curve),
                  ("instructions per message, system calls, allocations", run.counts),
                  ("latency", run.latency), ("connecting, starting", run.connect),
                  ("through a broker: messages a second", run.broker), ("scale", run.scale),
                  ("Python: thousand messages a second", run.python), ("smq beside mosquitto_pub and _sub", run.lines)]
        if not options.quick:
            phases.append(("idle", run.idle))
        for title, phase in phases:
            begin = time.monotonic()
            say(title)
            try:
                phase()
            except Failed as error:  # such as: no Mosquitto
                run.failed(title, "left out", error)
            say(f"  ({time.monotonic() - begin:.0f} s)")
        results = {"about": about(run), **run.results, "errors": run.errors}
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    folder = options.out or (BUILD if options.quick else HERE / "results")
    known, is_whole = results["about"], not (options.only or options.peers or options.quick or options.out)
    for file in [file for file in folder.glob("20*") if is_whole]:
        file.unlink()  # the run of record is the only one there
    print(report.markdown(results, []))
    write(results, folder, "quick" if options.quick else f"{known['date']}-{known['commit']}")
    return 1 if run.errors else 0


if __name__ == "__main__":
    sys.exit(main())
