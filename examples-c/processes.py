"""Starting programs and stopping them again: for the commands that show the examples at work."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "native"
os.environ["PATH"] += ":/usr/sbin:/sbin"  # where Debian puts servers


class Failed(Exception):
    """Its text is the one line that is printed."""

    def __init__(self, why: str, status: int = 1):
        super().__init__(why)
        self.status = status


def number(name: str, default: int, least: int, most: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise Failed(f"{name}={text}: not a number from {least} to {most}", 2)
    return int(text)


class Processes:
    """The processes to stop at the end. A signal that arrives while one is being started takes effect
    afterwards; otherwise that process would be forgotten."""

    def __init__(self):
        self.started: list[subprocess.Popen[str]] = []
        self.starting = False
        self.signal = 0

    def interrupted(self, number: int, frame: object) -> None:
        self.signal = number
        if not self.starting:
            self.check()

    def check(self) -> None:
        if self.signal:
            raise Failed(f"stopped by {signal.Signals(self.signal).name}", 128 + self.signal)

    def start(
        self,
        command: list[object],
        stderr: int,
        cwd: pathlib.Path = ROOT,
        environment: dict[str, object] | None = None,
    ) -> subprocess.Popen[str]:
        self.starting = True
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env={**os.environ, **{name: str(value) for name, value in (environment or {}).items()}},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                errors="replace",
                start_new_session=True,  # stopped with its children; Ctrl-C comes by way of us
            )
            self.started.append(process)
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from None
        finally:
            self.starting = False
        self.check()
        return process

    def stop(self) -> None:
        for process in reversed(self.started):
            self.end(process)

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(3)
                except subprocess.TimeoutExpired:
                    pass


processes = Processes()


def run(command: list[object], seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end without showing its output. A command that takes longer fails."""
    process = processes.start(command, subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took longer than {seconds:.0f} s") from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it printed nothing"])[-1]


class Background:
    """A program that runs until it is stopped. Its lines are collected as they come, and told to `each`."""

    def __init__(
        self,
        command: list[object],
        cwd: pathlib.Path = ROOT,
        environment: dict[str, object] | None = None,
        each: Callable[[str], None] | None = None,
    ):
        self.name = pathlib.Path(str(command[0])).name
        self.lines: list[str] = []
        self.changed = threading.Condition()
        self.ended = False
        self.each = each
        self.process = processes.start(command, subprocess.STDOUT, cwd, environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
            if self.each:
                self.each(self.lines[-1])
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, count: int, seconds: float) -> bool:
        """Waits until it has printed that many lines or has ended; False if there are fewer lines."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.lines) >= count or self.ended, seconds)
            return len(self.lines) >= count


def await_port(port: int, broker: Background, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not broker.ended:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > deadline:
            raise Failed(f"{broker.name} did not open port {port} within {seconds:.0f} s")
        time.sleep(0.02)
    raise Failed(f"{broker.name} ended at once: {last_line(chr(10).join(broker.lines))}")
