"""The tables of a run, in Markdown."""

from __future__ import annotations


def number(value: float | None) -> str:
    """Three digits that count, and no more."""
    if value is None:
        return "–"
    if abs(value) < 0.0005 or -0.02 < value < 0:
        value = 0  # a difference of two runs may be a hair below
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.4f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def name_of(results: dict, peer: str) -> str:
    about = results["about"]
    version = about["versions"].get(peer, "")
    return about["titles"][peer] + (f" {version}" if version[:1].isdigit() and peer != "swiftmqtt-5.0" else "")


def outside(peer: str, instructions: dict) -> float | None:
    """What is not of the load itself, whose program the limits are part of."""
    return None if not instructions or peer.startswith("raw") else instructions["all"] - instructions["load"]


def workload(results: dict, entry: dict) -> str:
    rows = []
    for peer, cell in entry["peers"].items():
        calls, instructions = cell.get("system_calls", {}), cell.get("instructions", {})
        spread = cell["cpu_ns_all"]
        rows.append([name_of(results, peer), number(cell["cpu_ns"]), f"{number(min(spread))}–{number(max(spread))}",
                     number(cell.get("ratio")), number(instructions.get("all")), number(outside(peer, instructions)),
                     number(calls.get("all")), number(calls.get("send")), number(calls.get("receive")),
                     number(calls.get("wait")), number(cell.get("allocations"))])
    return f"### {entry['title']}\n\n" + table(
        ["per message", "CPU ns", "least–most", "× raw", "instructions", "without the load's", "system calls", "send",
         "receive", "wait", "allocations"], rows)


def curve(results: dict) -> str:
    peers = [peer for peer in results["about"]["titles"] if any(peer in cells for cells in results["curve"].values())]
    rows = [[name_of(results, peer)] + [number(cells.get(peer, {}).get("cpu_ns")) for cells in results["curve"].values()]
            for peer in peers]
    return "### CPU ns per message, by how many messages share a flush (QoS 0, 64 bytes)\n\n" + table(
        ["flush after", *results["curve"]], rows)


def microseconds(value: float | None) -> str:
    return number(None if value is None else value / 1000)


def latency(results: dict, entry: dict) -> str:
    rows = [[name_of(results, peer), *(microseconds(cell[key]) for key in ("p50_ns", "p99_ns", "p999_ns", "cpu_ns")),
             str(cell["n"])] for peer, cell in entry["peers"].items()]
    return f"### Latency: {entry['title']}\n\n" + table(["µs", "p50", "p99", "p99.9", "CPU", "samples of a run"], rows)


def connect(results: dict) -> str:
    rows = []
    for peer in results["connect"] or results["start"]:
        cell, begun = results["connect"].get(peer, {}), results["start"].get(peer, {})
        rows.append([name_of(results, peer), microseconds(cell.get("cpu_ns")), microseconds(cell.get("wall_ns")),
                     number(cell.get("instructions", {}).get("all")), number(cell.get("allocations")),
                     microseconds(begun.get("p50_ns")), microseconds(begun.get("cpu_ns"))])
    return "### Connecting, and starting\n\n" + table(
        ["", "connect + disconnect: CPU µs", "wall µs", "instructions", "allocations", "exec to first PUBLISH: µs (median)",
         "CPU µs of the process"], rows)


def idle(results: dict) -> str:
    rows = [[name_of(results, peer), str(cell["wake_ups"]), microseconds(cell["cpu_ns"])] for peer, cell in results["idle"].items()]
    seconds = next(iter(results["idle"].values()))["seconds"]
    return f"### Idle for {seconds} s, Keep Alive 60 s\n\n" + table(["", "wake-ups", "CPU µs"], rows)


def markdown(results: dict) -> str:
    about = results["about"]
    parts = [f"# Benchmark of {about['date']}, commit {about['commit']}" + (", quick" if about["quick"] else "") + "\n",
             f"{about['processor']}, {about['cores']} cores, Linux {about['kernel']}, {about['libc']}, {about['compiler']}. "
             f"Load average at the end {about['load_average']:.1f}.\n"
             f"MQTT 3.1.1 where nothing else is said, topic of 16 bytes, payload of 64 bytes. Medians of {about['rounds']} "
             "interleaved runs. [What holds and what does not](../README.md).\n"]
    parts += [workload(results, entry) for entry in results["workloads"].values() if entry["peers"]]
    if results["curve"]:
        parts.append(curve(results))
    parts += [latency(results, entry) for entry in results["latency"].values() if entry["peers"]]
    if results["connect"] or results["start"]:
        parts.append(connect(results))
    if results["idle"]:
        parts.append(idle(results))
    if results["errors"]:
        parts.append("### Failed\n\n" + "".join(f"- {error}\n" for error in results["errors"]))
    return "\n".join(parts)
