"""make reference: what Doxygen makes of the header, which is all that the header has, and without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

from .blocks import ROOT

HEADER = ROOT / "include" / "swiftmqtt.h"
CODE = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)


def reference(tree: Path) -> subprocess.CompletedProcess:
    return subprocess.run(["make", "-C", tree, "--no-print-directory", "reference"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, env={**os.environ, "NO_APT": "1"})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What it takes, where nothing else is."""
    base = tmp_path_factory.mktemp("reference")
    for name in ("Makefile", ".ci/need", "docs/Doxyfile", "docs/doxygen-filter", "include/swiftmqtt.h"):
        (base / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, base / name)
    return base


@pytest.fixture(scope="module")
def made(tree):
    result = reference(tree)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    return tree / "build" / "reference"


def members(made: Path) -> dict[str, set[str]]:
    """By kind: the names of everything that has a place of its own."""
    found: dict[str, set[str]] = {}
    for entry in xml.etree.ElementTree.parse(made / "swiftmqtt.tag").iter():
        if entry.tag in ("compound", "member") and (name := entry.findtext("name")):
            found.setdefault(entry.get("kind", ""), set()).add(name)
    return found


def test_everything_is_there(made):
    found = members(made)
    assert found["function"] == set(re.findall(r"\b(smq_\w+)\([^;{]*[;{]", re.sub(r"\(\*smq_\w+\)\([^;]*;", "", CODE)))
    assert found["struct"] == set(re.findall(r"^typedef struct (smq_\w+) \{", CODE, re.M))
    assert found["define"] - {"SMQ_API"} == set(re.findall(r"^#define (SMQ_\w+)", CODE, re.M)) - {"SMQ_API"}
    enums = re.findall(r"\benum \{(.*?)\}", CODE, re.S)
    assert found["enumvalue"] == set(re.findall(r"\bSMQ_\w+", " ".join(enums)))
    structs = re.findall(r"^typedef struct smq_\w+ \{(.*?)^\}", CODE, re.S | re.M)
    assert found["variable"] == set(re.findall(r"\b(\w+)(?:\[\d+\])?;", " ".join(structs)))
    assert set(re.findall(r"^typedef .*\(\*(\w+)\)", CODE, re.M)) <= found["typedef"]


def test_chapters(made):
    chapters = re.findall(r"^ \* +(\d+)  (.*)", HEADER.read_text().split("CONVENTIONS")[0], re.M)
    for number, title in chapters:
        page = (made / f"group__chapter{number}.html").read_text()
        assert f"{number} {title}" in re.sub(r"&#160;|\s+", " ", page)
        assert f'href="group__chapter{number}.html' in (made / "index.html").read_text()


def test_links_and_tables(made):
    """Names are links, parameters and statuses are tables, and what means something to Doxygen means nothing."""
    publish = (made / "group__chapter6.html").read_text()
    assert re.search(r'<a class="el" href="group__chapter8.html#[^>]+>SMQ_EVENT_COMPLETED</a>', publish)
    assert '<td class="paramname">payload_size</td>' in publish and "Return values" in publish
    assert "SWIFTMQTT_H" not in (made / "group__chapter16.html").read_text()
    assert "has '+' or '#'" in publish.replace("&#39;", "'")
    assert '"gateway-%%%%"' in (made / "group__chapter4.html").read_text().replace("&quot;", '"')


def without_comments(header: str) -> list[str]:
    """Line by line."""
    return re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), header, flags=re.S).splitlines()


def test_code_stays(tree):
    """The filter touches comments only, so that a warning names the line of the header."""
    filtered = subprocess.run([ROOT / "docs" / "doxygen-filter", HEADER], capture_output=True, text=True, check=True)
    code, there = without_comments(filtered.stdout), without_comments(HEADER.read_text())
    assert [line.split() for line in code[: len(there)]] == [line.split() for line in there]


@pytest.mark.parametrize("right, wrong, told", [
    (" * payload_size   how many", " * payload_bytes  how many", "payload_bytes"),
    (" * response_topic   Topic Name: where the reply is to be sent\n", "", "response_topic"),
])
def test_warnings_are_errors(tree, right, wrong, told):
    header = tree / "include" / "swiftmqtt.h"
    text = HEADER.read_text()
    assert text.count(right) == 1
    header.write_text(text.replace(right, wrong))
    try:
        result = reference(tree)
    finally:
        header.write_text(text)
    assert result.returncode != 0
    assert re.search(rf"swiftmqtt\.h:\d+: .*{told}", result.stderr)


@pytest.mark.parametrize("arguments, told", [([], "usage"), (["nothing.h"], "nothing.h: ")])
def test_wrong_arguments(arguments, told):
    result = subprocess.run([ROOT / "docs" / "doxygen-filter", *arguments], capture_output=True, text=True)
    assert result.returncode == 1 and told in result.stderr and "Traceback" not in result.stderr
