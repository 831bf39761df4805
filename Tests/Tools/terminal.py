"""smq on a terminal of 80 by 24, which an emulator shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from types import TracebackType

import pyte
from Support.waiting import PATIENCE

from .tool import SMQ, environment

#: What a terminal sends for a key.
KEYS = {"Up": "\x1bOA", "Down": "\x1b[B", "Page Up": "\x1b[5~", "Page Down": "\x1b[6~", "Home": "\x1b[H", "End": "\x1b[F",
        "Enter": "\r", "Escape": "\x1b", "Backspace": "\x7f"}


class Terminal:
    def __init__(self, *arguments: object, rows: int = 24, columns: int = 80, **more: str):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # With colours, unless a test wants none.
        variables = {name: value for name, value in environment(TERM="xterm").items() if name != "NO_COLOR"} | more
        self.process = subprocess.Popen(
            [*SMQ, *map(str, arguments)], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=variables,
            start_new_session=True)
        self.slave = slave

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self.master)
        os.close(self.slave)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()

    def type(self, *keys: str) -> None:
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            piece = os.read(self.master, 65_536)
            self.raw += piece
            self.stream.feed(piece)

    def until(self, shows: Callable[[Terminal], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not shows(self):
            assert time.monotonic() < end, self.text
            assert self.process.poll() is None, self.process.stderr.read()
            self.read(0.2)

    def until_shown(self, *texts: str) -> None:
        self.until(lambda terminal: all(text in terminal.text for text in texts))

    def end(self) -> int:
        """Waits for the end of the program. Returns its exit status."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            self.read(0.1)
        self.read(0)
        return self.process.returncode

    def is_as_before(self) -> bool:
        """The terminal has the modes that it had."""
        return termios.tcgetattr(self.slave) == self.before


def golden(text: str) -> str:
    """Times of day, rates and sizes that depend on the moment are not compared."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "hh:mm:ss.mmm", text)
    return "\n".join(line.rstrip() for line in text.splitlines())
