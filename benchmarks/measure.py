"""Processes: how a load is run beside a sink or a broker, and how its instructions and system calls are counted."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

TIMEOUT_S = 180
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # where Debian puts mosquitto
CORES = sorted(os.sched_getaffinity(0))
CLIENT_CORE, SERVER_CORE = CORES[0], CORES[-1]
SUBSCRIBER_CORE = CORES[1] if len(CORES) > 2 else CLIENT_CORE  # beside a publisher and a broker

# What a system call is counted as.
CALLS = {
    "send": {"write", "writev", "sendto", "sendmsg", "sendmmsg"},
    "receive": {"read", "readv", "recvfrom", "recvmsg", "recvmmsg"},
    "wait": {"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"},
}


class Failed(Exception):
    """Its text is the one line that says why."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


missing: list[str] = []  # what the report says that it does not have


def left_out(text: str) -> None:
    missing.append(text)
    say(f"left out: {text}")


def start(command: list[str], core: int, **more) -> subprocess.Popen:
    return subprocess.Popen(command, **{"text": True, "stdin": subprocess.DEVNULL, **more},
                            preexec_fn=lambda: os.sched_setaffinity(0, {core}))


def stop(process: subprocess.Popen) -> None:
    """If it still runs: Ctrl-C and SIGTERM too leave nothing behind."""
    if process.poll() is None:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen, timeout: float = TIMEOUT_S) -> tuple[str, str]:
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"took longer than {timeout:.0f} s") from None
    finally:
        stop(process)
    if process.returncode:
        lines = [line for line in errors.splitlines() if line and not line.startswith("==")]
        raise Failed(lines[-1] if lines else f"exit status {process.returncode}")
    return out, errors


class Server:
    """Something that listens on 127.0.0.1, until stop()."""

    process: subprocess.Popen
    port: int

    def stop(self) -> None:
        for _ in range(5):  # Mosquitto loses a SIGTERM that reaches it just before it begins to serve
            self.process.terminate()
            try:
                self.process.wait(2)
                break
            except subprocess.TimeoutExpired:
                pass
        else:
            self.process.kill()
            self.process.wait()
        self.directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.stop()


class Sink(Server):
    def __init__(self, program: pathlib.Path):
        self.directory = tempfile.TemporaryDirectory(prefix="sink-")
        self.control = os.path.join(self.directory.name, "control")
        self.process = start([str(program), self.control], SERVER_CORE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line.strip().isdecimal():
            raise Failed("the sink does not start")
        self.port = int(line)
        self.options = ["-p", str(self.port), "-c", self.control]


class Broker(Server):
    """A Mosquitto of its own, which drops nothing for who is slow."""

    def __init__(self):
        program = shutil.which("mosquitto", path=PATH)
        if not program:
            raise Failed("mosquitto is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.directory = tempfile.TemporaryDirectory(prefix="broker-")
        configuration = pathlib.Path(self.directory.name, "mosquitto.conf")
        configuration.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
                                 "log_type error\nset_tcp_nodelay true\nmax_queued_messages 0\n", encoding="utf-8")
        self.process = start([program, "-c", str(configuration)], SERVER_CORE, stderr=subprocess.DEVNULL)
        self.options = ["-p", str(self.port)]
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        self.stop()
        raise Failed("mosquitto does not start")


def load(command: list[str], heap: pathlib.Path | None = None, timeout: float = TIMEOUT_S) -> dict:
    """One run, and what it measured."""
    environment = dict(os.environ, LD_PRELOAD=str(heap)) if heap else None
    process = start(command, CLIENT_CORE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, _ = finish(process, timeout)
    return json.loads(out)


def interleave(names: Iterable[str], rounds: int, measure_once: Callable[[str], dict],
               failed: Callable[[str, Failed], None]) -> dict[str, list[dict]]:
    """Round after round of all; who fails is out, and failed() is told."""
    samples: dict[str, list[dict]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in list(samples):
            try:
                samples[name].append(measure_once(name))
            except Failed as error:
                del samples[name]
                failed(name, error)
    return samples


def load_through(publisher: list[str], subscriber: list[str]) -> tuple[dict, dict]:
    """One run of both ends of a broker: what each measured. The time of the first ends when the second has all messages."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    taking = start(subscriber, SUBSCRIBER_CORE, **pipes)
    try:
        if taking.stdout.readline() == "subscribed\n":
            sent = load(publisher)
        taken = json.loads(finish(taking)[0])
    finally:
        stop(taking)
    sent["wall_ns"] = taken["begin_ns"] + taken["wall_ns"] - sent["begin_ns"]
    return sent, taken


# ---- Instructions


def instructions(command: list[str]) -> dict[str, int]:
    """All that a run executed in user space, by the file the code is in."""
    with tempfile.TemporaryDirectory(prefix="callgrind-") as directory:
        output = pathlib.Path(directory, "out")
        process = start(["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={output}", *command],
                        CLIENT_CORE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        finish(process)
        return by_object(output.read_text(encoding="utf-8", errors="replace"))


def by_object(profile: str) -> dict[str, int]:
    """Sums callgrind's format: lines of costs belong to the object (ob=) before them, but the one after calls=."""
    names: dict[str, str] = {}
    sums: dict[str, int] = {}
    current, is_inclusive = "?", False
    for line in profile.splitlines():
        if line.startswith("ob="):
            match = re.match(r"ob=(\(\d+\))(?: (.*))?", line)
            if match and match[2]:
                names[match[1]] = match[2]
            current = names.get(match[1], "?") if match else line[3:]
        elif line.startswith("cob="):
            match = re.match(r"cob=(\(\d+\)) (.*)", line)
            if match:
                names[match[1]] = match[2]
        elif line.startswith("calls="):
            is_inclusive = True
        elif line[:1] in "0123456789+-*" and line[:1]:
            if not is_inclusive:
                sums[current] = sums.get(current, 0) + int(line.split()[1])
            is_inclusive = False
    if not sums:
        raise Failed("callgrind counted nothing")
    return sums


def instructions_per_message(command: list[str], n: int) -> dict[str, float]:
    """(2N - N) / N: in all, in the load's own program, in the C library, and elsewhere: in the library that is measured."""
    once = instructions([*command, "-n", str(n)])
    twice = instructions([*command, "-n", str(2 * n)])
    difference = {name: (twice.get(name, 0) - once.get(name, 0)) / n for name in once.keys() | twice.keys()}
    own = sum(count for name, count in difference.items() if name == command[0])
    libc = sum(count for name, count in difference.items() if re.search(r"/(libc|libpthread|ld-linux)\b", name))
    total = sum(difference.values())
    return {"all": total, "load": own, "libc": libc, "library": total - own - libc}


# ---- System calls


def system_calls(command: list[str]) -> dict[str, int]:
    with tempfile.TemporaryDirectory(prefix="strace-") as directory:
        output = pathlib.Path(directory, "out")
        process = start(["strace", "-f", "-c", "-o", str(output), *command], CLIENT_CORE, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE)
        finish(process)
        rows = [line.split() for line in output.read_text(encoding="utf-8").splitlines()]
    calls = {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdecimal() and row[-1] != "total"}
    if not calls:
        raise Failed("strace counted nothing")
    return calls


def system_calls_per_message(command: list[str], n: int) -> dict[str, float]:
    once = system_calls([*command, "-n", str(n)])
    twice = system_calls([*command, "-n", str(2 * n)])
    difference = {name: (twice.get(name, 0) - once.get(name, 0)) / n for name in once.keys() | twice.keys()}
    sums = {kind: sum(difference.get(name, 0) for name in names) for kind, names in CALLS.items()}
    return {"all": sum(difference.values()), **sums}


def works(command: list[str]) -> bool:
    """Whether a tool is there and may be used here."""
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
