"""docs/porting.md says what is in the tree."""

from __future__ import annotations

import re

import lists

from .blocks import ROOT, blocks

PAGE = ROOT / "docs" / "porting.md"
PLATFORM = ROOT / "Sources" / "CPlatform"


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_the_toolchain_file():
    shown = next(block for block in blocks(PAGE) if block.language == "cmake")
    there = (ROOT / "cmake" / "toolchains" / "debian.cmake").read_text()
    # What the list says of the target stands for itself.
    there = "".join(line for line in there.splitlines(keepends=True) if not line.startswith(("include", "swiftmqtt_target")))
    target = lists.CROSS["aarch64"]
    for variable, value in (("target", target.name), ("_tools", target.tools), ("_qemu", target.qemu)):
        there = there.replace(f"${{{variable}}}", value)
    assert without_comments(shown.text) == without_comments(there)


def test_the_sizes():
    text = " ".join(PAGE.read_text().split())
    pattern = r"It has (\d+) lines of prototypes\. For Linux, (.*?) implement them in (\d+) lines\."
    prototypes, files, code = re.search(pattern, text).groups()
    assert int(prototypes) == len((PLATFORM / "include" / "platform.h").read_text().splitlines())
    assert int(code) == sum(len(path.read_text().splitlines()) for path in map(PLATFORM.joinpath, re.findall(r"`(\w+\.c)`", files)))
