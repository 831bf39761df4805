"""What a reader does with a page: compiles what is a program, types what is for the shell, in one directory."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from Support.servers import MOSQUITTO, Mosquitto, Server, need
from Support.waiting import wait_for

from .blocks import FRAMES, ROOT, Block

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# mosquitto_pub and its like, and smq, with the port of the test, unless they are told another one, or need none.
WRAPPER = """#!/bin/sh
case " $* " in *" -p "*|*mqtt://*|" journal "*|" inspect "*|" stats "*) exec {program} "$@" ;; *) exec {program} "$@" -p {port} ;; esac
"""
# A block of the shell goes on where the last one was: in its directory, with its variables.
SHELL = """set -eu
cd {directory}
if [ -e {state} ]; then . {state}; fi
{text}
declare -px >{state}.new 2>/dev/null; echo "cd $(printf %q "$PWD")" >>{state}.new; mv {state}.new {state}
"""


class Session:
    def __init__(self, base: Path, broker: Mosquitto, stomp: Callable[[], Server], build: Path):
        self.directory, self.broker, self.stomp, self.build = base / "page", broker, stomp, build
        self.state = base / "state"
        tools = base / "tools"
        for directory in (self.directory, tools):
            directory.mkdir()
        programs = {name: need(name) for name in ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr")}
        for name, program in {**programs, "smq": build / "tools" / "smq"}.items():
            wrapper = tools / name
            wrapper.write_text(WRAPPER.format(program=program, port=broker.port))
            wrapper.chmod(0o755)
        (tools / "sst").symlink_to(build / "tools" / "sst")
        (self.directory / "libswiftmqtt").symlink_to(ROOT)
        self.environment = {
            **os.environ,
            "HOME": str(self.directory),
            "PATH": f"{tools}:{os.environ['PATH']}:{Path(MOSQUITTO).parent}",
            "LD_LIBRARY_PATH": str(build),
            "PYTHONPATH": str(ROOT / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SWIFTMQTT_LIBRARY": str(build / "libswiftmqtt.so.1"),
            "NO_APT": "1",
        }

    def here(self, text: str, runs: bool = True) -> str:
        """The same text, for the servers of the test. That of STOMP is started for what runs only."""
        text = re.sub(r"mqtt://127\.0\.0\.1(?![\w:.])", self.broker.url, text)
        if not runs:
            return text
        return re.sub(r"(stomp://\w+:\w+@127\.0\.0\.1)(?![\w:.])", lambda at: f"{at[1]}:{self.stomp().port}", text)

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def call(self, command: list[object], block: Block, timeout: float = 60) -> str:
        result = subprocess.run(
            [str(part) for part in command], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=timeout)
        assert result.returncode == 0, f"{block.place}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    def compile(self, block: Block, name: str, libraries: str = "") -> Path:
        """A program, or a piece of one in its frame."""
        text = block.text
        if block.directive == "frame":
            frame = (FRAMES / f"{block.value}.c").read_text()
            piece = f'#line {block.line + 1} "{block.page}"\n{text}'
            text = re.sub(r"^.*\bBLOCK\b.*\n", lambda _: piece, frame, flags=re.M)
        source = self.write(f"{name}.c", self.here(text, runs=block.directive not in ("file", "frame")))
        told = self.call(["pkg-config", "--cflags", "--libs", *libraries.split()], block) if libraries else ""
        flags = [flag.replace("-I", "-isystem", 1) for flag in shlex.split(told)]  # others' headers are not judged
        tls = ["-lswiftmqtt-tls"] if "<swiftmqtt-tls.h>" in text else []
        payload = ["-lswiftmqtt-payload"] if "<swiftmqtt-payload.h>" in text else []
        stomp = ["-lswiftstomp"] if "<swiftstomp.h>" in text else []
        self.call(["gcc", *STRICT, "-pthread", f"-I{ROOT}/include", source, f"-L{self.build}", *tls, *payload, *stomp,
                   "-lswiftmqtt", *flags,
                   "-o", self.directory / name], block)
        return self.directory / name

    def run_until(self, command: list[object], block: Block, wanted: str) -> str:
        """A program that goes on until it is told to stop."""
        out, err = self.directory / "until.out", self.directory / "until.err"
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen([str(part) for part in command], cwd=self.directory, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        try:
            wait_for(lambda: wanted in out.read_text() or process.poll() is not None, block.place)
            assert wanted in out.read_text(), f"{block.place}: {out.read_text()}{err.read_text()}"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0, f"{block.place}: {process.returncode}\n{err.read_text()}"
        finally:
            process.kill()
            process.wait()
        return out.read_text()

    def shell(self, block: Block) -> str:
        text = SHELL.format(directory=self.directory, state=self.state, text=self.here(block.text))
        return self.call(["bash", "-c", text], block, timeout=90)

    def try_block(self, block: Block, name: str) -> str | None:
        """What it printed; None if it was not to print anything."""
        if block.directive == "frame":
            self.compile(block, name)
            return None
        if block.directive == "not run":
            self.call(["bash", "-n", "-c", block.text], block)
            return None
        if block.directive == "tried by":
            return None
        if block.directive == "file":
            path = self.write(block.value, self.here(block.text, runs=False))
            if block.language == "c":
                self.compile(block, f"{name}-{path.stem}")
            elif block.language == "python":
                self.call([sys.executable, "-c", f"compile(open({str(path)!r}).read(), {str(path)!r}, 'exec')"], block)
            return None
        if block.language == "sh":
            return self.shell(block)
        wanted, _, libraries = block.value.partition(", with ")
        if block.language == "c":
            command = [self.compile(block, name, libraries)]
        else:
            command = [sys.executable, self.write(f"{name}.py", self.here(block.text))]
        return self.run_until(command, block, wanted) if block.directive == "until" else self.call(command, block)
