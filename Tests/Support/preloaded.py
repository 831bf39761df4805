"""Programs under a library that stands in for some of libc's functions."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from . import smq


def preloaded(tmp_path: Path, source: str, program: str, *arguments: str) -> str:
    """Runs a program under a library that stands in for some of libc's functions."""
    (tmp_path / "stand_in.c").write_text(textwrap.dedent(source))
    library = tmp_path / "stand_in.so"
    command = ["cc", "-shared", "-fPIC", "-o", library, tmp_path / "stand_in.c"]
    subprocess.run(command, check=True, timeout=60)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        cwd=Path(__file__).resolve().parent.parent,
        env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin", "SMQ_LIBRARY": str(smq.LIBRARY)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
