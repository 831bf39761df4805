"""The manual pages are made of what smq says of itself, and troff has nothing to say about them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from Support.servers import need

from .tool import PROGRAM, ROOT, TARGET, smq

MANUAL = ROOT / "docs" / "manual"
PAGES = ["smq.1", *(f"smq-{command}.1" for command in (
    "bench", "check", "console", "inspect", "journal", "pub", "replay", "rr", "stats", "sub", "top"))]
pytestmark = pytest.mark.skipif(bool(TARGET), reason="the pages are the same for every target")


def test_the_pages_are_up_to_date(tmp_path: Path):
    subprocess.run([sys.executable, MANUAL / "generate", PROGRAM, tmp_path], check=True, timeout=20)
    assert sorted(page.name for page in tmp_path.iterdir()) == sorted(PAGES)
    for page in PAGES:
        assert (MANUAL / page).read_text() == (tmp_path / page).read_text(), f"{page}: make manual writes it anew"


def test_generate_names_what_is_wrong(tmp_path: Path):
    for arguments, text in (
        ([], "usage: generate"), (["/nonexistent/smq"], "No such file"), (["false"], "non-zero exit status"),
        ([PROGRAM, tmp_path / "nothing"], "No such file"),
    ):
        result = subprocess.run(
            [sys.executable, MANUAL / "generate", *arguments], capture_output=True, text=True, timeout=20)
        assert result.returncode == 1 and text in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("command", ["mandoc -T lint", "groff -ww -man -Tutf8 -z"])
def test_nothing_to_complain_about(command: str, page: str):
    program, *options = command.split()
    result = subprocess.run([need(program), *options, MANUAL / page], capture_output=True, text=True, timeout=20)
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_its_sections(page: str):
    found = re.findall(r"^\.SH (.*)$", (MANUAL / page).read_text(), re.M)
    wanted = {
        "smq.1": ["COMMANDS", "OPTIONS", "EXIT STATUS", "EXAMPLES"],
        "smq-pub.1": ["OPTIONS", "PROPERTIES", "EXIT STATUS", "FILES", "DIFFERENCES", "EXAMPLES"],
        "smq-bench.1": ["OPTIONS", "OUTPUT FORMAT", "EXIT STATUS", "FILES", "EXAMPLES"],
        "smq-check.1": ["OPTIONS", "OUTPUT FORMAT", "EXIT STATUS", "FILES", "EXAMPLES"],
        "smq-journal.1": ["OPTIONS", "OUTPUT FORMAT", "EXIT STATUS", "EXAMPLES"],
        "smq-replay.1": ["OPTIONS", "OUTPUT FORMAT", "EXIT STATUS", "EXAMPLES"],
        "smq-stats.1": ["OPTIONS", "OUTPUT FORMAT", "EXIT STATUS", "EXAMPLES"],
        "smq-top.1": ["OPTIONS", "KEYS", "OUTPUT FORMAT", "EXIT STATUS", "EXAMPLES"],
        "smq-inspect.1": ["OPTIONS", "FILTERS", "KEYS", "EXIT STATUS", "EXAMPLES"],
        "smq-console.1": ["OPTIONS", "PROPERTIES", "EXIT STATUS", "EXAMPLES", "FILES"],
    }.get(page, ["OPTIONS", "PROPERTIES", "OUTPUT FORMAT", "EXIT STATUS", "FILES", "DIFFERENCES", "EXAMPLES"])
    assert found == ["NAME", "SYNOPSIS", "DESCRIPTION", *wanted, "SEE ALSO"]


def test_a_page_refers_to_all_others():
    for page in PAGES:
        references = (MANUAL / page).read_text().split(".SH SEE ALSO\n")[1].replace("\\", "")
        assert sorted(re.findall(r"^\.BR (\S+) \(1\)", references, re.M)) == sorted(
            other.removesuffix(".1") for other in PAGES if other != page)
        assert not references.endswith(",\n")


def test_what_a_command_does_comes_before_how_it_connects():
    for command, own in {"pub": "--message", "sub": "--filter-out", "inspect": "--filter", "replay": "--speed"}.items():
        shown = smq(command, "--help").stdout.decode()
        assert shown.index(own) < shown.index("--host") < shown.index("--help"), command


def test_help_fits_a_terminal():
    for command in ("pub", "sub", "rr", "bench", "check", "journal"):
        shown, asked = smq(command, "--help"), smq("help", command)
        assert shown.returncode == 0 and shown.stdout == asked.stdout and not shown.stderr
        assert max(len(line) for line in shown.stdout.decode().splitlines()) <= 100
