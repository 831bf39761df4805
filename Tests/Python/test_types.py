"""The types of the package and of its examples, as mypy --strict sees them."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import PACKAGE, ROOT


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_mypy_strict(version, with_requirements):
    command = [with_requirements, "-m", "mypy", "--strict", f"--python-version={version}"]
    command += [f"--cache-dir={ROOT / 'build/mypy'}", "swiftmqtt", "examples"]
    done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("Success"), done.stdout + done.stderr
