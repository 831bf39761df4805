"""What the generators of both sections share: text as troff wants it."""

from __future__ import annotations

import re
import textwrap

REVISED = "2026-11-27"


def escaped(text: str) -> str:
    """Each character meant literally; those beyond ASCII by number, which every troff understands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"[^\x00-\x7e]", lambda sign: f"\\[u{ord(sign[0]):04X}]", text)


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"


def literal(line: str) -> str:
    """A line of text that is not a command, whatever it begins with."""
    return "\\&" + line if line.startswith((".", "'")) else line


def wrapped(line: str) -> list[str]:
    """In lines of 80, as troff's people like them. A command is a line."""
    if line.startswith("."):
        return [line]
    return [literal(part) for part in textwrap.wrap(line, 78, break_long_words=False, break_on_hyphens=False)]
