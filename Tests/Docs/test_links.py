"""Every link of every page leads somewhere in this tree: to a file that is there, and a heading it has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .blocks import ROOT

PAGES = [
    ROOT / name
    for name in subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                               capture_output=True, text=True, check=True).stdout.splitlines()
    if (ROOT / name).exists()
]


def prose(text: str) -> str:
    """Without fenced blocks and code in the line."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^( *)(```+|~~~+).*?^\1\2", "", text, flags=re.M | re.S))


def anchors(page: Path) -> set[str]:
    """What a heading is called in a link, as the usual renderers make it."""
    found: set[str] = set()
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2", "", page.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(text)) + re.findall(r"^\[[^\]]+\]: (\S+)", prose(text), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    wrong = []
    for link in links(page.read_text()):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(ROOT):
            wrong.append(f"{link}: is not there")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            wrong.append(f"{link}: has no such heading")
    assert wrong == []


def test_every_page_is_in_the_table_of_contents():
    """Of the book; each page can be found from its first."""
    book = ROOT / "docs"
    listed = {(book / link.partition("#")[0]).resolve() for link in links((book / "README.md").read_text())}
    pages = {*book.glob("*.md"), *(book / "recipes").glob("*.md")} - {book / "README.md"}
    assert sorted(str(page) for page in pages - listed) == []


def test_what_a_heading_is_called(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b`, c & [d](e)\n```sh\n# no\n```\n## Twice\n## Twice\n")
    assert anchors(page) == {"a-b-c--d", "twice", "twice-1"}


def test_links_are_found():
    assert links("[a](b) ![c](d.svg)\n`[no](no)`\n```c\n[no](no)\n```\n[e]: f#g\n") == ["b", "d.svg", "f#g"]
