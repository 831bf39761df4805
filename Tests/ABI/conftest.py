"""What the tests of the ABI share: where the library is, what the header says, and how to run a command.

Nothing is built here. SMQ_BUILD_DIR names the build to look at (default: build/native)."""

import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include" / "swiftmqtt.h"
sys.path.append(str(ROOT / "Tests"))

import lists  # noqa: E402


def run(*command, **options):
    """Runs a command and returns its output; what it said is in the test's failure if it failed."""
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=600, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}"
    return result.stdout


def run_c(build, directory, source):
    """What a program on the library prints, on the processor the library is for: under qemu-user where that is another."""
    program = directory / source.stem
    compiler, emulator = "gcc", []
    if target := lists.chosen():
        compiler, emulator = target.compiler, target.emulator
    run(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", source, "-o", program, f"-L{build}",
        "-lswiftmqtt", f"-Wl,-rpath,{build}")
    return run(*emulator, program)


@dataclass
class Function:
    name: str
    parameters: list
    comment: str  # the block directly above, without its stars; empty if there is none


def functions():
    """Every SMQ_API prototype of the header, with the comment above it."""
    found = []
    pattern = r"(?:/\*((?:(?!\*/).)*)\*/\n)?SMQ_API\s+[^;(]*?\b(smq_\w+)\(([^;]*)\);"
    for comment, name, parameters in re.findall(pattern, HEADER.read_text(), re.S):
        lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.splitlines()]
        names = [] if parameters.strip() == "void" else [
            re.search(r"(\w+)\s*$", parameter).group(1) for parameter in parameters.split(",")]
        found.append(Function(name, names, "\n".join(lines).strip()))
    return found


@pytest.fixture(scope="session")
def build():
    directory = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
    if not (directory / "libswiftmqtt.so").exists():
        pytest.fail(f"{directory} has no libswiftmqtt.so: run make, or make cross TARGET=...")
    return directory


@pytest.fixture(scope="session")
def library(build):
    return build / "libswiftmqtt.so"
