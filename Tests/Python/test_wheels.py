"""The wheel of SMQ_TARGET, or of this machine: what is in it, and for which machines it says it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import lists
import pytest

from .conftest import PACKAGE, ROOT

TARGET = os.environ.get("SMQ_TARGET") or "native"
BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
# What each needs besides libc.
NEEDS = {
    "libswiftmqtt.so.1": set(),
    "libswiftmqtt-tls.so.1": {"libssl.so.3", "libcrypto.so.3"},
    "libswiftstomp.so.1": set(),
}
LIBRARIES = [name for name in NEEDS if (BUILD / name).exists()]


def packed(tree: Path, output: Path, target: str, **more: str) -> Path:
    """What packaging/wheels makes in a tree."""
    command = [tree / "packaging/wheels", "--output", output, target]
    subprocess.run(command, env={**os.environ, **more}, check=True, timeout=50, stdin=subprocess.DEVNULL)
    (wheel,) = output.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return packed(ROOT, tmp_path_factory.mktemp("wheels"), TARGET)


@pytest.fixture(scope="module")
def content(wheel) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def readelf(content, tmp_path):
    for name in LIBRARIES:
        (tmp_path / name).write_bytes(content[f"swiftmqtt/{name}"])

    def run(what: str, name: str = LIBRARIES[0]) -> str:
        command = ["readelf", "-W", what, tmp_path / name]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout

    return run


def test_it_says_for_which_machines_it_is(wheel, content, readelf):
    target = lists.chosen() or lists.this_machine()
    platform, elf = target.wheel, target.elf
    version = re.search(r'__version__ = "(.*)"', (PACKAGE / "swiftmqtt/__init__.py").read_text())[1]
    name = re.fullmatch(r"swiftmqtt-(.*)-(py3-none-manylinux_2_(\d+)_(.*))\.whl", wheel.name)
    assert (name[1], name[4]) == (version, platform)
    told = content[f"swiftmqtt-{version}.dist-info/WHEEL"].decode()
    assert f"Tag: {name[2]}\n" in told and "Root-Is-Purelib: false\n" in told
    # No function of a library needs a newer glibc than the name says, and nothing else is needed but the system's OpenSSL: the
    # loader has the guard of the stack, where the processor's ABI has no register for it.
    minors = []
    for library in LIBRARIES:
        assert f"Machine: {elf}" in " ".join(readelf("--file-header", library).split())
        minors += [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", readelf("--version-info", library))]
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", readelf("--dynamic", library))) - NEEDS[library]
        assert all(name == "libc.so.6" or name.startswith("ld-linux-") for name in needed)
    assert max(minors) == int(name[3])


def test_what_is_in_it(content, readelf):
    inside = {name for name in content if "dist-info" not in name}
    files = [path for path in (PACKAGE / "swiftmqtt").rglob("*") if path.suffix in (".py", ".typed")]
    assert inside == {str(path.relative_to(PACKAGE)) for path in files} | {f"swiftmqtt/{name}" for name in LIBRARIES}
    for path in files:
        assert content[str(path.relative_to(PACKAGE))] == path.read_bytes()
    (licence,) = (data for name, data in content.items() if name.endswith("/LICENSE"))
    assert licence == (ROOT / "LICENSE").read_bytes()
    for name in LIBRARIES:
        assert "SONAME" in readelf("--dynamic", name) and ".symtab" not in readelf("--sections", name)
    assert all(f" {name}@@SWIFTMQTT_1" in readelf("--dyn-syms") for name in ("smq_connect", "smq_abi_layout"))


def test_the_same_tree_gives_the_same_bytes(wheel, tmp_path):
    """Elsewhere, with files of another time, by another user's umask."""
    tree = tmp_path / "elsewhere"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tree / "python", ignore=ignored, copy_function=shutil.copyfile)
    (tree / "packaging").mkdir()
    shutil.copy(ROOT / "packaging/wheels", tree / "packaging")
    shutil.copytree(ROOT / "cmake/targets", tree / "cmake/targets")
    (tree / "build" / TARGET).mkdir(parents=True)
    for name in LIBRARIES:
        shutil.copyfile(BUILD / name, tree / "build" / TARGET / name)
    command = ["git", "log", "-1", "--format=%ct"]
    committed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    before = os.umask(0o077)
    try:
        again = packed(tree, tmp_path / "out", TARGET, SOURCE_DATE_EPOCH=committed.stdout.strip())
    finally:
        os.umask(before)
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()


def test_wrong_words():
    def complaint(*words: str) -> str:
        done = subprocess.run(
            [ROOT / "packaging/wheels", *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL
        )
        assert done.returncode != 0
        return done.stderr

    assert complaint("mips") == f"wheels: 'mips' is not one of native {' '.join(lists.CROSS)}\n"
    assert "--output wants a directory" in complaint("--output")
