"""Which Pythons this machine has, and virtual environments of them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
OLDEST, SOUGHT = 9, 30  # minor versions
PIP = ("-q", "--disable-pip-version-check", "--retries=1", "--timeout=20")


@functools.lru_cache(maxsize=None)
def found() -> dict[str, str]:
    """A Python of each minor version from 3.9 on: "3.9.18": its path. The one that runs this, those on PATH, and those
    that pyenv built, whether it has them chosen or not."""
    candidates = [sys.executable]
    candidates += [path for minor in range(OLDEST, SOUGHT) if (path := shutil.which(f"python3.{minor}"))]
    candidates += ["/usr/bin/python3"]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates += [str(path) for path in sorted(pyenv.glob("versions/3.*/bin/python3"))]
    versions: dict[tuple[int, int], tuple[str, str]] = {}
    for candidate in candidates:
        minor, version = version_of(candidate)
        if minor >= (3, OLDEST):
            versions.setdefault(minor, (version, candidate))
    return {version: path for _, (version, path) in sorted(versions.items())}


def version_of(python: str) -> tuple[tuple[int, int], str]:
    """(3, 9), "3.9.18"; (0, 0) for what does not run, such as a shim of pyenv's for a version that is not chosen."""
    code = "import platform; print(platform.python_version())"
    try:
        said = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL
        )
    except OSError:
        return (0, 0), ""
    numbers = said.stdout.strip().split(".")
    if said.returncode or len(numbers) < 3:
        return (0, 0), ""
    return (int(numbers[0]), int(numbers[1])), said.stdout.strip()


class Unavailable(Exception):
    """It cannot be had here; the message says why."""


def run(*command: object, seconds: int = 300) -> None:
    """Unavailable, with the last line of what the command said, if it fails."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise Unavailable(f"{' '.join(map(str, command[:4]))}: {said[-1] if said else done.returncode}")


def environment_path(name: str) -> Path:
    return ROOT / f"build/{name}-{sys.version_info.major}.{sys.version_info.minor}/bin/python"


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Tests that run at the same time, in processes of their own, make an environment once."""
    place = environment_path(name).parents[1]
    place.parent.mkdir(exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_with_pip(name: str) -> Path:
    python = environment_path(name)
    if not (python.parent / "pip").exists():
        run(sys.executable, "-m", "venv", "--clear", python.parent.parent)
    return python


def with_pip(name: str = "python") -> Path:
    """A Python, of the version that runs this, in an environment of its own below build/, which has pip."""
    with one_at_a_time(name):
        return make_with_pip(name)


def with_requirements(requirements: Path = REQUIREMENTS, name: str = "python") -> Path:
    """The same, once it has what is in the file."""
    with one_at_a_time(name):
        python = make_with_pip(name)
        mark, wanted = python.parents[1] / "requirements", requirements.read_text()
        if not mark.exists() or mark.read_text() != wanted:
            run(python, "-m", "pip", "install", *PIP, "-r", requirements)
            mark.write_text(wanted)
    return python


def installed(what: Path, directory: Path) -> Path:
    """The Python of a new environment, in which this wheel is, and nothing else."""
    python = directory / "bin/python"
    run(sys.executable, "-m", "venv", "--without-pip", directory)
    run(with_pip(), "-m", "pip", "--python", python, "install", *PIP, "--no-index", what)
    return python
