"""The small scenes, on the build that SMQ_TARGET names: as many worlds as on every other."""

import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def test_small_scenes():
    target = os.environ.get("SMQ_TARGET")
    result = subprocess.run(
        [HERE / "run", "--size", "small", *(["--target", target] if target else [])], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
