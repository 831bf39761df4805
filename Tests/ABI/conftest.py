"""What the tests of the ABI share: where the libraries are, what their headers say, and how to run a command.

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


@dataclass(frozen=True)
class Library:
    """One that a program links with."""
    name: str  # of its header, and with lib before it of its files
    prefix: str  # of the names of its functions
    node: str  # the version that they carry
    table: str  # of its ABI, with {} for the bits of a pointer

    @property
    def header(self):
        return HEADER.with_name(f"{self.name}.h")


MQTT = Library("swiftmqtt", "smq", "SWIFTMQTT_1", "abi-{}.tsv")
STOMP = Library("swiftstomp", "sst", "SWIFTSTOMP_1", "abi-stomp-{}.tsv")
LIBRARIES = [MQTT, STOMP]


def run_c(build, directory, source, ours=MQTT):
    """What a program on a library prints, on the processor the library is for: under qemu-user where that is another."""
    program = directory / source.stem
    compiler, emulator = "gcc", []
    if target := lists.chosen():
        compiler, emulator = target.compiler, target.emulator
    run(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", source, "-o", program, f"-L{build}",
        f"-l{ours.name}", f"-Wl,-rpath,{build}", f"-DLIBRARY_{ours.prefix}")
    return run(*emulator, program)


@dataclass
class Function:
    name: str
    parameters: list
    comment: str  # the block directly above, without its stars; empty if there is none


def functions(ours=MQTT):
    """Every SMQ_API prototype of the header, or SST_API, with the comment above it."""
    found = []
    pattern = rf"(?:/\*((?:(?!\*/).)*)\*/\n)?{ours.prefix.upper()}_API\s+[^;(]*?\b({ours.prefix}_\w+)\(([^;]*)\);"
    for comment, name, parameters in re.findall(pattern, ours.header.read_text(), re.S):
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


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def ours(request, build):
    """Each library of the build."""
    if request.param is STOMP and build.name.endswith("-small"):
        pytest.skip("the small profile is one of MQTT")
    return request.param
