"""Reads a header of ours: its chapters, and in each of them the declarations with the comments that speak of them.

A comment above a declaration speaks of it, and of those that follow without one. Within a struct or an enum, a comment in
the line of a member speaks of that member, and one above a member of that and of what follows without a comment; but above
a member that has its own, it is a text about what follows. docs/doxygen-filter says what else their shapes mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

CHAPTER = re.compile(r"/\* -{9,}\n \* (\d+)  (.*)((?:\n \*(?! -).*)*)\n \* -{9,} \*/\n")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
KINDS = {
    "function": re.compile(r"(?:SMQ|SST)_API [^;]*?\b(?P<name>(?:smq|sst)_\w+)\("),
    "inline": re.compile(r"static inline [^;]*?\b(?P<name>(?:smq|sst)_\w+)\("),
    "struct": re.compile(r"(?:typedef )?struct (?P<name>\w+) \{.*\}", re.S),
    "enum": re.compile(r"(?P<name>)enum \{.*\}", re.S),
    "callback": re.compile(r"typedef [^;]*?\(\*(?P<name>\w+)\)\("),
    "opaque": re.compile(r"typedef struct \w+ (?P<name>\w+);"),
    "macro": re.compile(r"#define (?P<name>\w+)"),
}


class Wrong(Exception):
    """Its text is the line that says what."""


@dataclass
class Member:
    """Of a struct or an enum: its declarations with what is told of them. Without any, it is a text among them."""

    declarations: list[str]
    comment: list[str]


@dataclass
class Declaration:
    kind: str  # one of KINDS, or text: a comment that is of no declaration
    name: str  # empty: an enum or a text
    code: str  # without comments
    comment: list[str]
    members: list[Member] = field(default_factory=list)


@dataclass
class Chapter:
    title: str
    comment: list[str]
    declarations: list[Declaration]


def chapters(text: str) -> list[Chapter]:
    """What the header begins with, which has no title and no declarations if chapters follow, and each chapter."""
    _, *parts = CHAPTER.split(text)
    begin = Chapter("", lines_of(re.sub(r" \* SPDX.*\n \*\n", "", COMMENT.match(text)[0])), [])
    if not parts:
        begin.declarations = declarations(text[COMMENT.match(text).end():])
        return [begin]
    found = [begin]
    for number, title, comment, body in zip(*[iter(parts)] * 4):
        if int(number) != len(found):
            raise Wrong(f"chapter {number} stands where {len(found)} should")
        found.append(Chapter(title, lines_of(comment), declarations(body)))
    return found


def lines_of(comment: str) -> list[str]:
    """What it says, without its stars and slashes, and without empty lines around it."""
    text = comment.removeprefix("/*").removesuffix("*/").strip(" ")
    lines = [re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in text.split("\n")]
    if not re.search(r"^\s*\*", text, re.M):
        lines = [line.strip() for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def declarations(text: str) -> list[Declaration]:
    found, comment = [], []
    for part in parts_of(text):
        if part.startswith("/*"):
            if comment:
                found.append(Declaration("text", "", "", comment))
            comment = lines_of(part)
            continue
        code = COMMENT.sub("", part).strip()
        if re.fullmatch(r"struct \w+;", code):
            continue
        kind, name = kind_of(code)
        behind = COMMENT.findall(part) if kind in ("macro", "opaque") else []
        told = comment or [line for text in behind for line in lines_of(text)]
        members = list(members_of(part)) if kind in ("struct", "enum") else []
        found.append(Declaration(kind, name, code, told, members))
        comment = []
    if comment:
        found.append(Declaration("text", "", "", comment))
    return found


def kind_of(code: str) -> tuple[str, str]:
    for kind, pattern in KINDS.items():
        if match := pattern.match(code):
            return kind, match["name"]
    raise Wrong(f"what is this? {code.splitlines()[0]}")


def parts_of(text: str) -> Iterator[str]:
    """Comments and declarations, each whole. What only the preprocessor and C++ want is left out."""
    lines = iter(text.splitlines())
    for line in lines:
        part = line
        if line.startswith("#define"):
            while part.endswith("\\") or part.count("/*") > part.count("*/"):
                part = f"{part.removesuffix(chr(92)).rstrip()}\n{next(lines)}"
            if not re.match(r"#define (SMQ_API|SWIFTMQTT_\w+_H)\b", part):
                yield part
        elif line.startswith("/*"):
            while "*/" not in part:
                part += "\n" + next(lines)
            yield part
        elif line and not line.startswith(("#", 'extern "C"')) and line != "}":
            while not is_whole(part):
                part += "\n" + next(lines)
            yield part


def is_whole(part: str) -> bool:
    code = COMMENT.sub("", part).rstrip()
    return "/*" not in code and code.count("{") == code.count("}") and code.endswith((";", "}"))


def members_of(declaration: str) -> Iterator[Member]:
    body = declaration[declaration.index("{") + 1:declaration.rindex("}")]
    last = None
    above: list[str] = []  # a comment that waits for what follows
    for match in re.finditer(r"(/\*.*?\*/)|([^\s;,(/{][^;,(/{]*(?:\([^;]*\))?[^;,/]*[;,]?)( */\*.*?\*/)?", body, re.S):
        comment, code, behind = match.groups()
        if comment:
            if above:
                yield Member([], above)
            above = lines_of(comment)
        elif (code := " ".join(code.split()).rstrip(";,")) and behind:
            if above:
                yield Member([], above)
            last = None
            yield Member([code], lines_of(behind.strip()))
            above = []
        elif code:
            if above or not last:
                last = Member([code], above)
                yield last
            else:
                last.declarations.append(code)
            above = []
    if above:
        yield Member([], above)
