#!/usr/bin/env python3
"""The figures of README.md and the book, from what is committed: nothing is measured.

    figures.py --check      lists the figures that differ; exit status 1 if there are some
    figures.py --write      renews them

In Markdown, `74<!--=publish-0/swiftmqtt/cpu_ns-->` marks a figure: the comment says where it comes from. Between two of
these may be one of + - * / with a space on each side. Where figures come from:

    count/OPERATION, count@TARGET/OPERATION    Tests/Instructions/instructions.tsv, instructions-TARGET.tsv
    size/BUILD                                 cmake/sizes.tsv
    WORKLOAD/PEER/KEY, clients/0/bytes         the run of record, the one .json in benchmarks/results, by its keys

`<!--=table NAME-->` in a line of its own is followed by a table, which is replaced as a whole; TABLES below has them. A link
to a run in benchmarks/results leads to that of record. A section that the run of record does not have leaves what is there:
a line says what waits for it."""

from __future__ import annotations

import argparse
import json
import operator
import pathlib
import re
import sys

import report
from plan import ROOT

FIGURE = re.compile(r"([\d.,]*\d|–)<!--=(?!table )(.*?)-->")
TABLE = re.compile(r"^<!--=table (\w+)-->\n((?:\|.*\n)*)", re.M)
RUN = re.compile(r"(?<=benchmarks/results/)\d{4}-\d\d-\d\d-[\w-]+(?=\.(?:md|json)\b)")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
# What a run of record may lack: runs from before these sections, and builds that were not measured.
MAY_WAIT = ("broker", "growth", "clients", "python", "lines", "size")


class Waits(Exception):
    """Its text is what is waited for."""


class Wrong(Exception):
    """Its text is the key."""


def rows(file: pathlib.Path) -> dict[str, int]:
    """{name: number} of a table with tabs."""
    lines = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {name: int(value) for name, value, *_ in lines}


class Sources:
    def __init__(self, root: pathlib.Path = ROOT):
        runs = sorted((root / "benchmarks" / "results").glob("*.json"))
        if len(runs) != 1:
            raise Wrong(f"benchmarks/results has {len(runs)} runs; the run of record is the only one")
        self.run = runs[0].stem
        self.record = json.loads(runs[0].read_text(encoding="utf-8"))
        instructions = root / "Tests" / "Instructions"
        self.counts = {file.stem.partition("-")[2]: rows(file) for file in sorted(instructions.glob("instructions*.tsv"))}
        tables = {f"count@{target}" if target else "count": counts for target, counts in self.counts.items()}
        compared = {workload: entry["peers"] for section in ("workloads", "latency", "broker")
                    for workload, entry in self.record.get(section, {}).items()}
        self.tree = {**self.record, **compared, **tables, "size": rows(root / "cmake" / "sizes.tsv")}

    def need(self, section: str) -> None:
        if not self.tree.get(section) and section in MAY_WAIT:
            raise Waits(section)

    def value(self, path: str):
        found, section = self.tree, path.split("/")[0]
        self.need(section)
        for key in path.split("/"):
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            elif section == "size":
                raise Waits(path)
            else:
                raise Wrong(path)
        return found

    def figure(self, key: str) -> str:
        """Whole numbers as they are, others with three digits that count."""
        first, *rest = re.split(r" (\S) ", key)
        found = self.term(first)
        for sign, term in zip(rest[::2], rest[1::2], strict=True):
            if sign not in OPERATORS:
                raise Wrong(key)
            found = OPERATORS[sign](found, self.term(term))
        return f"{found:,}" if isinstance(found, int) else report.number(found)

    def term(self, text: str):
        found = float(text) if re.fullmatch(r"[\d.]+", text) else self.value(text)
        if not isinstance(found, (int, float)):
            raise Wrong(text)
        return found


# ---- The tables


PEERS = {"raw": "bare socket", "swiftmqtt": "libswiftmqtt", "mosquitto": "libmosquitto", "paho": "Paho C"}


def name(record: dict, peer: str) -> str:
    version = record["about"]["versions"].get(peer, "")
    return f"{PEERS[peer]} {version}" if peer in ("mosquitto", "paho") else PEERS[peer]


def body(section: str) -> str:
    """Of what the report has: without the heading."""
    return section.partition("\n\n")[2]


def cpu(sources: Sources) -> str:
    """CPU ns per message of the best known workloads."""
    shown = ("publish-0", "publish-1-20", "receive-0", "receive-1-20")
    entries = [sources.record["workloads"][workload] for workload in shown]
    return report.table(["", *(name(sources.record, peer) for peer in PEERS)],
                        [[entry["title"], *(report.number(entry["peers"].get(peer, {}).get("cpu_ns")) for peer in PEERS)]
                         for entry in entries])


def curve(sources: Sources) -> str:
    columns = sources.record["curve"]
    return report.table(["CPU ns for each message of 64 bytes, flushed after", *columns], [
        [PEERS[peer], *(report.number(cells.get(peer, {}).get("cpu_ns")) for cells in columns.values())]
        for peer in ("raw", "swiftmqtt")])


def latency(sources: Sources) -> str:
    titles = {"ack": "publish → PUBACK", "echo": "own message back through Mosquitto"}
    found = sources.record["latency"]
    return report.table(["µs, QoS 1, one at a time", "p50", "p99", "p99.9"], [
        [f"{title}, {PEERS[peer]}",
         *(report.microseconds(found[what]["peers"][peer][key]) for key in ("p50_ns", "p99_ns", "p999_ns"))]
        for what, title in titles.items() for peer in ("raw", "swiftmqtt")])


def processors(sources: Sources) -> str:
    """The counts of x86-64, and those of each target that has some, with the ratio."""
    ours, others = sources.counts[""], {target: counts for target, counts in sources.counts.items() if target}
    shown = ("publish-qos0", "publish-qos1", "publish-4k", "publish-properties-5.0", "publish-alone", "deliver-qos1",
             "deliver-qos1-many", "receive-64-many", "receive-64", "receive-properties-5.0", "receive-qos1", "subscribe",
             "connect-5.0", "idle")
    return report.table(
        ["instructions of one operation", "x86-64", *(head for target in others for head in (target, f"{target}, × x86-64"))],
        [[f"`{operation}`", f"{ours[operation]:,}",
          *(cell for counts in others.values()
            for cell in (f"{counts[operation]:,}", f"{counts[operation] / ours[operation]:.2f}"))] for operation in shown])


# What was wanted: CPU time as a multiple of the bare socket, and instructions (None: nothing was said).
WANTED = {
    "publish-0": (1.25, 260), "publish-0-4k": (1.15, None), "publish-1-20": (1.3, 560), "publish-1-1000": (2, 480),
    "publish-2-20": (1.3, 850), "receive-0": (4.5, 260), "receive-1-20": (1.3, 420), "receive-1-1000": (4, 420),
    "receive-2-20": (1.3, 750),
}


def targets(sources: Sources) -> str:
    lines = []
    for workload, (ratio, instructions) in WANTED.items():
        entry = sources.record["workloads"][workload]
        cell, limit = entry["peers"]["swiftmqtt"], entry["peers"]["raw"]
        lines.append([entry["title"], report.number(cell["ratio"]), f"{ratio:g}",
                      report.number(report.outside("swiftmqtt", cell.get("instructions", {}))),
                      report.number(instructions), report.number(cell["system_calls"]["all"]),
                      report.number(limit["system_calls"]["all"])])
    return report.table(["work, 64 B", "CPU, × limit", "wanted", "instructions", "wanted", "system calls", "limit"], lines)


def size(sources: Sources) -> str:
    builds = sources.tree["size"]
    names = {target: target.replace("x86_64", "x86-64") for target in builds if f"{target}-small client" in builds}
    columns = ("", "-small", "-small client")
    return report.table(["", "`libswiftmqtt.so`, default", "`libswiftmqtt.so`, small", "the smallest client, small"], [
        [title, *(f"{builds[target + column]:,}" for column in columns)] for target, title in sorted(names.items(), reverse=True)])


def broker(sources: Sources) -> str:
    """Of 64 bytes: the report has all."""
    shown = [entry for key, entry in sources.record["broker"].items() if not key.endswith("-4k")]
    return report.table(["messages a second; CPU ns of publisher and subscriber", *(name(sources.record, peer) for peer in PEERS)],
                        [[entry["title"], *(route(entry["peers"].get(peer)) for peer in PEERS)] for entry in shown])


def route(cell: dict | None) -> str:
    keys = ("publisher_ns", "subscriber_ns")
    return f"{report.number(cell['per_s'])}; {', '.join(report.number(cell[key]) for key in keys)}" if cell else "–"


# The section of the record that each needs, and the table.
TABLES = {
    "cpu": ("workloads", cpu),
    "curve": ("curve", curve),
    "latency": ("latency", latency),
    "processors": ("count", processors),
    "targets": ("workloads", targets),
    "size": ("size", size),
    "broker": ("broker", broker),
    "growth": ("growth", lambda sources: body(report.growth(sources.record))),
    "clients": ("clients", lambda sources: body(report.clients(sources.record))),
    "python": ("python", lambda sources: body(report.python(sources.record["python"]))),
    "lines": ("lines", lambda sources: body(report.lines(sources.record))),
}


def table(sources: Sources, wanted: str) -> str:
    if wanted not in TABLES:
        raise Wrong(f"table {wanted}")
    section, write = TABLES[wanted]
    sources.need(section)
    return write(sources)


# ---- The pages


def renew(text: str, sources: Sources, waiting: set[str]) -> str:
    """The page with the figures as they are. What waits is added to the set; Wrong: a key that nothing has."""

    def replace(found: re.Match[str], is_table: bool) -> str:
        try:
            if is_table:
                return f"<!--=table {found[1]}-->\n{table(sources, found[1])}"
            return f"{sources.figure(found[2])}<!--={found[2]}-->"
        except Waits as what:
            waiting.add(str(what))
            return found[0]

    text = TABLE.sub(lambda found: replace(found, True), text)
    return RUN.sub(sources.run, FIGURE.sub(lambda found: replace(found, False), text))


def differences(page: str, before: str, after: str) -> list[str]:
    """A figure has no line breaks; a table may have got other rows, so its lines are those that are new."""
    known = set(before.splitlines())
    return [f"{page}: not as committed: {line}" for line in after.splitlines() if line not in known] or [f"{page}: stale"]


def pages(root: pathlib.Path) -> list[pathlib.Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md")), root / "benchmarks" / "README.md"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--check", action="store_true", help="list what differs")
    way.add_argument("--write", action="store_true", help="renew it")
    options = parser.parse_args()
    wrong, waiting = [], set()
    try:
        sources = Sources()
    except Wrong as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    for page in pages(ROOT):
        place, before = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
        try:
            after = renew(before, sources, waiting)
        except Wrong as error:
            wrong.append(f"{place}: nothing committed has {error}")
            continue
        if after != before and options.write:
            page.write_text(after, encoding="utf-8")
        elif after != before:
            wrong += [*differences(place, before, after), f"{place}: benchmarks/figures.py --write renews it"]
    if waiting:
        print(f"figures: not in the run of record, or in cmake/sizes.tsv: {', '.join(sorted(waiting))}; these stay as they are")
    print("".join(f"figures: {line}\n" for line in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
