"""What the tests of the packages share. Whoever takes the library another way than `make install` is tried here:
CMake, Debian's packages, what the recipes of other distributions say."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "Tests" / "Python"))

import pythons  # noqa: E402
HEADER = ROOT / "include" / "swiftmqtt.h"

PROGRAM = """
#include <stdio.h>
#include <swiftmqtt.h>
int main(void) {
    printf("%u %s\\n", (unsigned)smq_version(), smq_status_name(SMQ_OK));
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH);
}
"""


def clean_environment(**more):
    """Ours, without what a make that runs the tests hands to another."""
    names = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")
    return {**{name: value for name, value in os.environ.items() if name not in names}, **more}


def attempt(*command, **options):
    options = {"env": clean_environment(), "timeout": 600, **options}
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", **options)


def run(*command, **options):
    """Runs a command and returns its output; what it said is in the test's failure if it failed."""
    result = attempt(*command, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}"
    return result.stdout


def version():
    return ".".join(re.findall(r"^#define SMQ_VERSION_\w+ (\d+)$", HEADER.read_text(), re.M))


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture(scope="session")
def build():
    directory = ROOT / "build" / "native"
    if not (directory / "libswiftmqtt.so").exists():
        pytest.fail(f"{directory} has no libswiftmqtt.so: run make")
    return directory


@pytest.fixture(scope="session")
def tools():
    """The programs of a Python that has requirements.txt."""
    try:
        return pythons.with_requirements(pathlib.Path(__file__).with_name("requirements.txt"), "recipes").parent
    except pythons.Unavailable as why:
        pytest.skip(f"requirements.txt cannot be installed here: {why}")


@pytest.fixture(scope="session")
def swiftc():
    return shutil.which("swiftc") or pytest.fail("there is no swiftc")


QEMU = {
    "aarch64": ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    "armv7": ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"],
    "riscv64": ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"],
}


def runs_on_the_board(image, target, compiler, directory):
    """A program is built with what lies below `image`, /usr of a board, and runs there; and so does smq."""
    (directory / "app.c").write_text(PROGRAM)
    library = image / "usr" / "lib"
    run(compiler, directory / "app.c", f"-I{image}/usr/include", f"-L{library}", "-lswiftmqtt",
        f"-Wl,-rpath,{library}", "-o", directory / "app")
    run(*QEMU[target], directory / "app")
    found = ("-E", f"LD_LIBRARY_PATH={library}")
    assert run(QEMU[target][0], *found, *QEMU[target][1:], image / "usr" / "bin" / "smq", "--version").strip()
