"""The fenced blocks of a page, and what becomes of each.

    ```c       a program (it has main): compiled as C99 with every warning an error, and run to its end: status 0
    ```python  a program: run to its end: status 0
    ```sh      a piece of one shell session that a page is: `set -eu`, from the top of the page to its end
    ```text    what the block before it prints, exactly, but that … stands for anything

    In C, Python and the shell, mqtt://127.0.0.1 is a Mosquitto of the test, and so is what mosquitto_pub, _sub, _rr and smq
    find without -p; stomp://guest:guest@127.0.0.1 is a RabbitMQ. What else becomes of a block says a comment in the line
    above it:

    <!-- file: NAME -->        it is that file, in the directory of the page's session; C and Python are compiled, not run
    <!-- frame: NAME -->       it is a piece, and compiled within frames/NAME.c, where that says BLOCK
    <!-- until: TEXT -->       a program that ends when it is told to: SIGTERM once it has printed TEXT; then status 0.
                               With ", with LIBRARIES" behind TEXT it is compiled with these of pkg-config
    <!-- tried by: test_X.py --> another test of this directory runs it
    <!-- not run: REASON -->   only its syntax is checked: shell only
    <!-- picture -->           text that nothing prints

A block of another language has to be a file. One without a language, and one that is merely indented, is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMES = Path(__file__).parent / "frames"
LANGUAGES = ("c", "python", "sh")
DIRECTIVES = ("file", "frame", "until", "tried by", "not run", "picture")


class Wrong(Exception):
    """Its text is the line that says where, and what."""


@dataclass
class Block:
    page: Path
    line: int  # of the fence
    language: str
    text: str
    directive: str = ""
    value: str = ""
    expected: str | None = None  # of the ```text that follows

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def needs_python(self) -> bool:
        return self.language == "python" or "libswiftmqtt/examples/" in self.text

    @property
    def is_program(self) -> bool:
        return self.language == "python" or re.search(r"^int main\(", self.text, re.M) is not None


def pages() -> list[Path]:
    """The book, the front door and the other doors. Decisions are told, not tried."""
    doors = (ROOT / name / "README.md" for name in ("", "examples", "examples-c", "packaging", "python"))
    book = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "recipes").glob("*.md")]
    return sorted([*book, *(door for door in doors if door.exists())])


def blocks(page: Path) -> list[Block]:
    """Those that are tried, in order. Raises Wrong for one that would not be."""
    found: list[Block] = []
    lines = page.read_text().splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"( *)(```+|~~~+)(.*)$", lines[at])
        if not fence:
            if is_indented_block(lines, at):
                raise Wrong(f"{name_of(page)}:{at + 1}: a block that is merely indented is not tried: give it a fence")
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence[2]), None)
        if end is None:
            raise Wrong(f"{name_of(page)}:{at + 1}: the fence has no end")
        text = "".join(line[len(fence[1]) :] + "\n" for line in lines[at + 1 : end])
        made = Block(page, at + 1, fence[3].strip(), text)
        if above := re.match(r"<!-- ([a-z ]+)(?:: (.*))? -->$", lines[at - 1].strip() if at else ""):
            made.directive, made.value = above[1], above[2] or ""
        check(made)
        if made.language != "text":
            found.append(made)
        elif made.directive != "picture":
            if not found or found[-1].expected is not None:
                raise Wrong(f"{made.place}: no block prints this: is it a picture?")
            found[-1].expected = made.text
        at = end + 1
    return found


def check(block: Block) -> None:
    """Whether it is known what is to become of it."""
    if not block.language:
        raise Wrong(f"{block.place}: the block has no language")
    if block.directive and block.directive not in DIRECTIVES:
        raise Wrong(f"{block.place}: {block.directive}: is none of {', '.join(DIRECTIVES)}")
    if block.directive in ("file", "frame", "until", "not run", "tried by") and not block.value:
        raise Wrong(f"{block.place}: {block.directive}: of what?")
    if block.directive == "frame" and not (FRAMES / f"{block.value}.c").exists():
        raise Wrong(f"{block.place}: there is no frame {block.value}")
    if block.directive == "tried by" and name_of(block.page) not in tried_by(block.value):
        raise Wrong(f"{block.place}: {block.value} does not speak of this page")
    if (block.directive == "picture") and block.language != "text":
        raise Wrong(f"{block.place}: a picture is text")
    if block.directive == "not run" and block.language != "sh":
        raise Wrong(f"{block.place}: only a shell block may be left out")
    if block.language not in (*LANGUAGES, "text") and block.directive not in ("file", "tried by"):
        raise Wrong(f"{block.place}: nobody tries {block.language}: is it a file?")
    if block.language == "c" and not block.directive and not block.is_program:
        raise Wrong(f"{block.place}: it has no main, and no frame is named")


def tried_by(name: str) -> str:
    path = Path(__file__).parent / name
    return path.read_text() if path.exists() else ""


def is_indented_block(lines: list[str], at: int) -> bool:
    """Whether this line begins one: behind an empty line, and not in an item of a list."""
    if not lines[at].startswith(("    ", "\t")) or (at and lines[at - 1].strip()):
        return False
    for line in reversed(lines[:at]):
        if re.match(r"\s*([-*]|\d+\.) ", line):
            return False
        if line.strip() and not line.startswith(" "):
            return True
    return True


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name
