"""make book: the pages as HTML, in which each link leads somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from Support.html_links import broken_links
from Support.servers import need

from .blocks import ROOT
from .test_links import anchors, links

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "recipes").glob("*.md"))]


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    need("cmark-gfm")
    directory = tmp_path_factory.mktemp("book")
    made = subprocess.run([ROOT / "docs" / "html", directory], capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    # What make book lays there of Doxygen's.
    (directory / "reference").mkdir()
    for name in ("index", "swiftmqtt_8h"):
        (directory / "reference" / f"{name}.html").write_text("<p>")
    return directory


def made_of(book: Path, page: Path) -> Path:
    return (book / page.relative_to(ROOT)).with_name("index.html" if page.name == "README.md" else f"{page.stem}.html")


def test_each_link_leads_somewhere(book):
    assert broken_links(book) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_page_is_there_with_its_headings_and_its_links_to_pages(book, page):
    text = made_of(book, page).read_text()
    assert set(re.findall(r'<h\d id="([^"]*)"', text)) == anchors(page)
    wanted = [link for link in links(page.read_text()) if re.search(r"^(?!https?:)[^#]*\.md(#|$)", link)
              and not re.search(r"(^|/)(Tests|benchmarks)/", link)]
    found = re.findall(r'<a href="(?!https?:)([^"]*\.html(?:#[^"]*)?)"', text.partition("</nav>")[2])
    assert len(found) >= len(wanted)
    assert not re.search(r'href="[^":]*\.md\b', text)


def test_what_is_wrong_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="here"></h1><a href="#here"></a><a href="#there"></a><a href="b.html"></a>'
                                     '<img src="c.svg"/><a href="https://example.org/d"></a><a href="../a.html"></a>')
    assert broken_links(tmp_path) == [
        "a.html: #there: has no such anchor", "a.html: b.html: is not there", "a.html: c.svg: is not there", "a.html: ../a.html: is not there"]


def test_it_says_how_it_is_called():
    made = subprocess.run([ROOT / "docs" / "html"], capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stderr) == (1, "usage: html DIRECTORY\n")
