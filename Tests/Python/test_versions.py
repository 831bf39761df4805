"""Each version of Python that is here runs core.py, without a warning. conftest.py says at the end which these were."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from . import pythons


@pytest.mark.parametrize("version", pythons.found())
def test_version(version, server, level, environment):
    core = Path(__file__).with_name("core.py")
    command = [pythons.found()[version], "-W", "error", core, server.url, level]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"all well with {version}\n", "")
