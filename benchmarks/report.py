"""The tables of a run, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


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


def broker(results: dict, entry: dict) -> str:
    raw, rows = entry["peers"].get("raw", {}), []
    for peer, cell in entry["peers"].items():
        ratios = {key: number(cell[key] / raw[key] if raw.get(key) else None)
                  for key in ("per_s", "publisher_ns", "subscriber_ns")}
        rows.append([name_of(results, peer), number(cell["per_s"]), ratios["per_s"],
                     number(cell["publisher_ns"]), ratios["publisher_ns"], number(cell["publisher_wake_ups"]),
                     number(cell["subscriber_ns"]), ratios["subscriber_ns"], number(cell["subscriber_wake_ups"])])
    return f"### Through Mosquitto: {entry['title']}\n\n" + table(
        ["per message", "messages a second", "× raw", "publisher: CPU ns", "× raw", "wake-ups", "subscriber: CPU ns", "× raw",
         "wake-ups"], rows)


SIZES = (10, 1000, 10000, 60000)


def growth_row(counts: dict[str, int | None]) -> list[str]:
    """The largest size of a smaller table is in the column of the next one."""
    sizes = sorted(counts, key=int)
    cells = [number(counts[size]) for size in sizes] + ["–"] * (len(SIZES) - len(sizes))
    known = [count for count in counts.values() if count is not None]
    return [*cells, "–" if len(known) < len(counts) else number(max(known) / counts[sizes[0]])]


def growth(results: dict) -> str:
    return "### Instructions of an operation, by the entries of its table\n\n" + table(
        ["", *(f"{size:,}" for size in SIZES), "times"],
        [[f"{name}: {entry['what']}", *growth_row(entry["counts"])] for name, entry in results["growth"].items()])


def clients(results: dict) -> str:
    """Each line: what idle_clients.c has found."""
    rows = [[f"{cell['clients']:,}, {cell['title']}", f"{cell['bytes']:,}", f"{cell['resident']:,.0f}",
             number(cell["served"] / cell["pings"]), number(cell["turns"] / cell["pings"]), number(cell["cpu_us"] / cell["pings"])]
            for cell in results["clients"]]
    return "### Many idle clients in one thread, each with a connection and one QoS 1 message\n\n" + table(
        ["clients", "`smq_client_size`, each", "RSS, each", "calls of `smq_service` for each PINGREQ",
         "wake-ups of the thread for each", "CPU µs for each"], rows)


def python(cells_of: dict[str, dict]) -> str:
    peers = list(dict.fromkeys(peer for cells in cells_of.values() for peer in cells))
    rows = [[workload, *(f"{number(cells[peer]['k_per_s'])} ({number(cells[peer]['cpu_us'])})" if peer in cells else "–"
                         for peer in peers)] for workload, cells in cells_of.items()]
    return "### Python: thousand messages a second (CPU µs each)\n\n" + table(["64 bytes", *peers], rows)


COMMANDS = {"smq": "smq pub -l, smq sub", "mosquitto": "mosquitto_pub -l, mosquitto_sub"}


def lines(results: dict) -> str:
    """Without a time where not all lines arrived: it would be that of something else."""
    told, rows = results["lines"], []
    for qos, cells in told["qos"].items():
        other = cells.get("mosquitto", {}).get("wall_s")
        for tool, cell in cells.items():
            wall = cell["wall_s"]
            rows.append([f"QoS {qos}: {COMMANDS[tool]} {told['versions'][tool]}", f"{cell['arrived']:,}", number(wall),
                         number(wall / other if wall and other else None), number(cell["publisher_s"]),
                         number(cell["subscriber_s"])])
    return f"### {told['lines']:,} lines of 63 characters through Mosquitto\n\n" + table(
        ["", "arrived", "wall s, until the last is printed", "× mosquitto", "publisher: CPU s", "subscriber: CPU s"], rows)


def markdown(results: dict, pictures: Iterable[str]) -> str:
    about = results["about"]
    parts = [f"# Benchmark of {about['date']}, commit {about['commit']}" + (", quick" if about["quick"] else "") + "\n",
             f"{about['processor']}, {about['cores']} cores, Linux {about['kernel']}, {about['libc']}, {about['compiler']}. "
             f"Load average at the end {about['load_average']:.1f}.\n"
             f"MQTT 3.1.1 where nothing else is said, topic of 16 bytes, payload of 64 bytes. Medians of {about['rounds']} "
             "interleaved runs. [What holds and what does not](../README.md).\n"]
    parts += [f"![{file.removesuffix('.svg')}]({file})\n" for file in pictures]
    if about.get("missing"):
        parts.append("### Missing here\n\n" + "".join(f"- {line}\n" for line in about["missing"]))
    parts += [workload(results, entry) for entry in results["workloads"].values() if entry["peers"]]
    if results["curve"]:
        parts.append(curve(results))
    parts += [latency(results, entry) for entry in results["latency"].values() if entry["peers"]]
    if results["connect"] or results["start"]:
        parts.append(connect(results))
    if results["idle"]:
        parts.append(idle(results))
    parts += [broker(results, entry) for entry in results.get("broker", {}).values() if entry["peers"]]
    parts += [section(results) for name, section in (("growth", growth), ("clients", clients)) if results.get(name)]
    if results.get("python"):
        parts.append(python(results["python"]))
    if results.get("lines"):
        parts.append(lines(results))
    if results["errors"]:
        parts.append("### Failed\n\n" + "".join(f"- {error}\n" for error in results["errors"]))
    return "\n".join(parts)
