"""The README of each directory of examples has them all, once."""

from __future__ import annotations

import re

import pytest

from .blocks import ROOT


@pytest.mark.parametrize("directory, pattern", [("examples-c", "*.[ch]"), ("examples", "*.py")])
def test_each_is_told(directory, pattern):
    told = re.findall(r"\]\((\w+\.\w+)\)", (ROOT / directory / "README.md").read_text())
    assert sorted(told) == sorted(path.name for path in (ROOT / directory).glob(pattern))
