"""Every block of the book is tried, in the order of its page, as blocks.py says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .blocks import ROOT, Wrong, blocks, pages


def matches(expected: str, printed: str) -> bool:
    """… stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.S) is not None


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(session, page):
    tried = blocks(page)
    if any(block.needs_python for block in tried) and not (ROOT / "python" / "swiftmqtt").is_dir():
        pytest.skip("the Python package is not here yet")
    for number, block in enumerate(tried):
        printed = session.try_block(block, f"block{number}")
        if block.expected is not None and printed is not None:
            assert matches(block.expected, printed), f"{block.place} printed:\n{printed}"


def test_there_are_blocks():
    """Of each language; a page that shows none says so by having none."""
    languages = [block.language for page in pages() for block in blocks(page)]
    for language, least in (("c", 10), ("python", 2), ("sh", 8)):
        assert languages.count(language) >= least


# ---- What does not escape


@pytest.mark.parametrize("text, why", [
    ("```\nx\n```\n", "has no language"),
    ("```c\nint x;\n```\n", "no main"),
    ("<!-- frame: none -->\n```c\nint x;\n```\n", "no frame none"),
    ("<!-- frame -->\n```c\nint x;\n```\n", "of what"),
    ("<!-- skip: it -->\n```c\nint x;\n```\n", "is none of"),
    ("<!-- not run: because -->\n```python\nx\n```\n", "only a shell block"),
    ("<!-- not run -->\n```sh\nx\n```\n", "of what"),
    ("<!-- picture -->\n```sh\nx\n```\n", "a picture is text"),
    ("<!-- tried by: test_links.py -->\n```c\nx\n```\n", "does not speak of this page"),
    ("```json\n{}\n```\n", "nobody tries json"),
    ("```text\nx\n```\n", "no block prints this"),
    ("```c\nint main(void) {}\n", "no end"),
    ("words\n\n    indented\n", "merely indented"),
    ("words\n\n\tindented\n", "merely indented"),
])
def test_a_block_that_would_escape(tmp_path, text, why):
    page = tmp_path / "escaping.md"
    page.write_text(text)
    with pytest.raises(Wrong, match=why):
        blocks(page)


def test_what_a_block_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("- item\n\n    goes on\n\n<!-- file: x -->\n```ini\na\n```\n\nprints\n\n```text\nb\n```\n"
                    "<!-- picture -->\n```text\nc\n```\n")
    (block,) = blocks(page)
    assert (block.language, block.directive, block.value, block.text) == ("ini", "file", "x", "a\n")
    assert block.expected == "b\n"


@pytest.mark.parametrize("language, text, status", [
    ("c", "int main(void) { return 0; }", 0), ("c", "int main(void) { return 1; }", 1),
    ("c", "int main(void) { int unused; return 0; }", 1), ("sh", "true", 0),
    ("sh", "false", 1), ("sh", "echo $unset", 1),
    ("python", "pass", 0), ("python", "raise SystemExit(1)", 1)])
def test_a_block_that_fails(session, tmp_path, language, text, status):
    page = tmp_path / "page.md"
    page.write_text(f"```{language}\n{text}\n```\n")
    (block,) = blocks(page)
    if status == 0:
        assert session.try_block(block, "it") == ""
    else:
        with pytest.raises(AssertionError, match="page.md:1"):
            session.try_block(block, "it")


def test_a_session_goes_on(session, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nmkdir a\ncd a\nexport B=c\n```\n```sh\necho $(basename $PWD) $B\n```\n```text\na …\n```\n")
    first, second = blocks(page)
    session.try_block(first, "first")
    assert session.try_block(second, "second") == "a c\n"
    assert matches(second.expected, "a c\n") and not matches(second.expected, "b c\n")
