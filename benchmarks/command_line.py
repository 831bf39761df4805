"""smq pub -l and smq sub beside mosquitto_pub -l and mosquitto_sub: lines through a broker, counted where they arrive.

mosquitto_pub -l may leave before all lines are acknowledged: then not all arrive, and its time is none."""

from __future__ import annotations

import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import measure
from measure import Failed
from plan import LIBRARY

TOPIC, READY = "bench/lines", "bench/ready"
PATIENCE_S = 10  # for the rest, after the publisher has left
SMQ = str(LIBRARY / "tools" / "smq")
TOOLS = {"smq": ([SMQ, "pub"], [SMQ, "sub"]), "mosquitto": (["mosquitto_pub"], ["mosquitto_sub"])}


def version(command: list[str]) -> str:
    said = subprocess.run([command[0], "--version"], capture_output=True, text=True)
    return re.search(r"\d+\.\d+\S*", said.stdout + said.stderr)[0]


def find() -> dict[str, str]:
    """The tools that are there, and their versions."""
    found = {}
    for name, commands in TOOLS.items():
        lacking = [command[0] for command in commands if not shutil.which(command[0])]
        if lacking:
            measure.left_out(f"{' '.join(commands[0])}: {lacking[0]} is missing")
        else:
            found[name] = version(commands[0])
    return found


def children_s() -> float:
    """CPU time of the processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def await_ready(file: pathlib.Path) -> None:
    """The subscriber has written what is retained, so it has subscribed."""
    for _ in range(2000):
        if file.read_bytes().startswith(b"ready\n"):
            return
        time.sleep(0.005)
    raise Failed("the subscriber does not subscribe")


def run(broker: measure.Broker, tool: str, qos: int, lines: pathlib.Path, count: int) -> dict:
    publish, subscribe = ([*command, "-h", "127.0.0.1", "-p", str(broker.port), "-q", str(qos)] for command in TOOLS[tool])
    taken = lines.with_name("taken")
    with taken.open("wb") as out, lines.open("rb") as text:
        subscriber = measure.start([*subscribe, "-t", TOPIC, "-t", READY, "-C", str(count + 1)], measure.SUBSCRIBER_CORE,
                                   stdout=out)
        try:
            await_ready(taken)
            begin, cpu = time.monotonic(), children_s()
            publisher = measure.start([*publish, "-t", TOPIC, "-l"], measure.CLIENT_CORE, stdin=text)
            measure.finish(publisher)
            publisher_s, left_s = children_s() - cpu, time.monotonic() - begin
            try:
                subscriber.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                subscriber.kill()
                subscriber.wait()
            wall, subscriber_s = time.monotonic() - begin, children_s() - cpu - publisher_s
        finally:
            measure.stop(subscriber)
    arrived = taken.read_bytes().count(b"\n") - 1
    return {"arrived": arrived, "wall_s": wall if arrived == count else None, "left_s": left_s,
            "publisher_s": publisher_s, "subscriber_s": subscriber_s}


def compare(count: int, rounds: int, failed) -> dict[str, dict]:
    """{QoS: {tool: medians}}; what fails is told to failed(tool, what, error)."""
    results: dict[str, dict] = {}
    with measure.Broker() as broker, tempfile.TemporaryDirectory(prefix="lines-") as folder:
        measure.finish(measure.start([SMQ, "pub", "-h", "127.0.0.1", "-p", str(broker.port), "-t", READY, "-m", "ready", "-r"],
                                     measure.CLIENT_CORE, stderr=subprocess.PIPE))
        lines = pathlib.Path(folder, "lines")
        lines.write_text("".join(f"{number:063}\n" for number in range(count)), encoding="ascii")
        tools = find()
        for qos in (0, 1, 2):
            samples = measure.interleave(tools, rounds, lambda tool, qos=qos: run(broker, tool, qos, lines, count),
                                         lambda tool, error, qos=qos: failed(tool, f"lines, QoS {qos}", error))
            results[str(qos)] = {tool: medians(runs) for tool, runs in samples.items()}
    return {"lines": count, "versions": tools, "qos": results}


def medians(runs: list[dict]) -> dict:
    keys = ("left_s", "publisher_s", "subscriber_s")
    whole = all(run["wall_s"] is not None for run in runs)
    return {"arrived": min(run["arrived"] for run in runs),
            "wall_s": statistics.median(run["wall_s"] for run in runs) if whole else None,
            **{key: statistics.median(run[key] for run in runs) for key in keys}}
