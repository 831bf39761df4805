"""The manual pages of the headers: they are what generate-3 makes of them, whole, and troff has nothing to say about them."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from Support.servers import need

from .tool import ROOT, TARGET

MANUAL = ROOT / "docs" / "manual"
FOLDERS = ("man3", "man3-tls", "man3-stomp")
PAGES = {path.stem: path for folder in FOLDERS for path in (MANUAL / folder).glob("*.3")}
WRITTEN = {name: path for name, path in PAGES.items() if not path.read_text().startswith(".so ")}
HEADERS = {name: (ROOT / "include" / f"{name}.h").read_text()
           for name in ("swiftmqtt", "swiftmqtt-tls", "swiftmqtt-tls-engine", "swiftstomp")}
CODE = {name: re.sub(r"/\*.*?\*/", "", text, flags=re.S) for name, text in HEADERS.items()}
pytestmark = pytest.mark.skipif(bool(TARGET), reason="the pages are the same for every target")


def generate(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, MANUAL / "generate-3", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def shown(name: str) -> str:
    """What a reader sees, on lines that are wide enough for all that is not to be broken."""
    told = subprocess.run([need("mandoc"), "-Tutf8", "-O", "width=160", WRITTEN[name]], capture_output=True, text=True, timeout=20, check=True)
    return re.sub(r".\x08", "", told.stdout)


def pages_of(header: str) -> list[str]:
    """Its own, and those of its chapters."""
    is_book = header in ("swiftmqtt", "swiftstomp")
    return [name for name in WRITTEN if name == header or is_book and name not in HEADERS and name.startswith(f"{header}-")]


def leads_to(name: str) -> str:
    target = re.fullmatch(r"\.so man3/(\S+)\.3\n", PAGES[name].read_text())
    return target[1] if target else name


def test_the_pages_are_up_to_date(tmp_path: Path):
    assert generate(tmp_path).returncode == 0
    for folder in FOLDERS:
        made = {path.name: path.read_text() for path in (tmp_path / folder).iterdir()}
        assert made == {path.name: path.read_text() for path in (MANUAL / folder).iterdir()}, "make manual writes them anew"


def test_generate_names_what_is_wrong(tmp_path: Path):
    for arguments, text in (([tmp_path, "more"], "usage: generate-3"), ([tmp_path / "nothing"], "No such file")):
        result = generate(*arguments)
        assert result.returncode == 1 and text in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("name", sorted(WRITTEN))
@pytest.mark.parametrize("command", ["mandoc -T lint", "groff -ww -man -Tutf8 -z"])
def test_nothing_to_complain_about(command: str, name: str):
    program, *options = command.split()
    result = subprocess.run([need(program), *options, WRITTEN[name]], capture_output=True, text=True, timeout=20)
    assert (result.stdout, result.stderr) == ("", "")


def test_each_function_and_type_has_a_page_that_names_it():
    for header, code in CODE.items():
        functions = re.findall(r"^(?:SMQ_API|SST_API|static inline) [^;{]*?\b((?:smq|sst)_\w+)\(", code, re.M)
        types = re.findall(r"^(?:\} (\w+);|typedef struct \w+ (\w+);|typedef [^;]*?\(\*(\w+)\)\()", code, re.M)
        names = [*functions, *("".join(found) for found in types)]
        assert names
        for name in names:
            page = leads_to(name)
            assert page in WRITTEN, name
            heading = re.search(r"\.SH NAME\n(.*?)\n\.SH", WRITTEN[page].read_text(), re.S)[1].replace("\\", "")
            assert re.search(rf"\b{name}\b", heading.partition(" - ")[0].replace("\n", " ")), name
        for name in functions:
            assert f" {name}(" in shown(leads_to(name)).replace("*", " "), name


def test_each_page_that_leads_elsewhere_leads_to_one_that_is_there():
    for name in PAGES.keys() - WRITTEN.keys():
        assert leads_to(name) in WRITTEN, name
        assert PAGES[name].parent == WRITTEN[leads_to(name)].parent, f"{name} is in another package"


def test_no_member_and_no_constant_is_left_out():
    for header, code in CODE.items():
        pages = pages_of(header)
        text = "\n".join(shown(name) for name in pages)
        bodies = re.findall(r"^(?:typedef struct \w+|enum) \{(.*?)^\}", code, re.M | re.S)
        names = {name for body in bodies for name in re.findall(r"(\w+)(?:\[\w+\])?(?: = -?\w+)?\s*[;,\n]", body)}
        assert len(names) >= 20
        assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", text)] == []


def prose(text: str) -> str:
    """Words alone, in lower case; references to pages are ours."""
    text = re.sub(r" \(swift(?:mqtt|stomp)-\w+\(3\)\)", "", text)
    return " ".join(re.findall(r"[^\s*]+", text))


def test_no_sentence_is_left_out():
    """Of any comment, wherever it stands."""
    for header, text in HEADERS.items():
        pages = pages_of(header)
        told = prose("\n".join(shown(name) for name in pages))
        for comment in re.findall(r"/\*(.*?)\*/", text, re.S):
            if "---" in comment or "SPDX" in comment or 'extern "C"' in comment or comment.strip() == "SWIFTMQTT_H":
                continue
            for paragraph in re.split(r"\n *\*? *\n", comment):
                if re.search(r"^ *\*? {3}|^ \* +((?:SMQ|SST)_\w+|[a-z]\w+(, \w+)*) {2,}", paragraph, re.M) and "\n *" in paragraph:
                    continue  # a list, or a piece of a program
                assert prose(re.sub(r"^\s*\* ?", "", paragraph, flags=re.M)) in told, paragraph


def test_programs_stand_as_they_are_in_the_header():
    """Every piece of a program, in its own lines."""
    tried = 0
    for header, text in HEADERS.items():
        pages = pages_of(header)
        told = textwrap.dedent("\n".join(shown(name) for name in pages))
        lines = {line.strip() for line in told.splitlines()}
        for line in re.findall(r"^ *\* {5,}(\S.*[;{}])$", text, re.M):
            tried += 1
            assert line in lines
    assert tried >= 25
