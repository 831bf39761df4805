"""The compiler refuses an allocation, on every target, in the modules that ship. A test of the proof: what CMake builds, of a
copy of the sources, with and without one line that allocates."""

import contextlib
import functools
import os
import re
import shutil
import subprocess

import lists
import pytest
from conftest import ROOT, run

MODULES = [*lists.CORE, lists.LIBRARY, lists.STOMP]
TARGETS = ["native", *lists.CROSS]
ALLOCATES = """
public func addsToAnArray(_ count: Int) -> Int {
  var numbers: [Int] = []
  numbers.append(count)
  return numbers.count
}
"""
IS_UNSAFE = """
public func peek(_ p: UnsafePointer<UInt8>) -> UInt8 { p.pointee }
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    directory = tmp_path_factory.mktemp("copy")
    for folder in ("Sources", "include", "cmake", "tls", "payload"):
        shutil.copytree(ROOT / folder, directory / folder)
    shutil.copy(ROOT / "CMakeLists.txt", directory)
    return directory


@pytest.fixture(scope="module")
def configured(sources, tmp_path_factory):
    """configured(target): where the copy is built for it."""
    @functools.lru_cache(maxsize=None)
    def configured(target):
        directory = tmp_path_factory.mktemp(target)
        toolchain = [] if target == "native" else [
            f"-DCMAKE_TOOLCHAIN_FILE={sources}/cmake/toolchains/{target}-linux.cmake"]
        run("cmake", "-S", sources, "-B", directory, "-G", "Ninja", "--no-warn-unused-cli", *toolchain,
            *(f"-DSWIFTMQTT_{what}=OFF" for what in ("EXAMPLES", "TOOLS", "INSTALL")))
        return directory
    return configured


def compile_module(directory, module):
    """It and those below it; returns what the compiler said if it refused it."""
    output = re.search(rf"^swift/{module}/{module}\.\w+(?=: )", run("ninja", "-C", directory, "-t", "targets", "all"), re.M)[0]
    result = subprocess.run(["ninja", "-C", directory, output], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            stdin=subprocess.DEVNULL, text=True, timeout=600)
    if result.returncode == 0:
        return None
    assert f"FAILED: {output}" in result.stdout, result.stdout
    return result.stdout


@contextlib.contextmanager
def added(sources, module, text):
    """In one of its files. Afterwards that is as it was, and as old: nothing is compiled anew that was compiled before."""
    file = sorted((sources / "Sources" / module).rglob("*.swift"))[0]
    before, age = file.read_text(), file.stat()
    file.write_text(before + text)
    yield
    file.write_text(before)
    os.utime(file, ns=(age.st_atime_ns, age.st_mtime_ns))


@pytest.mark.parametrize("target", TARGETS)
def test_sources_are_accepted(configured, target):
    for module in (lists.LIBRARY, lists.STOMP):
        assert compile_module(configured(target), module) is None


# Every module here, and one module for every other target.
@pytest.mark.parametrize("target, module", [("native", module) for module in MODULES] + [
    (target, "MQTTSession") for target in TARGETS if target != "native"])
def test_an_allocation_is_refused(sources, configured, target, module):
    with added(sources, module, ALLOCATES):
        said = compile_module(configured(target), module)
    assert said is not None, "the line that allocates was accepted"
    assert "-no-allocations mode" in said


@pytest.mark.parametrize("target", TARGETS)
def test_unmarked_unsafe_code_is_refused(sources, configured, target):
    with added(sources, "MQTTSession", IS_UNSAFE):
        said = compile_module(configured(target), "MQTTSession")
    assert said is not None and "StrictMemorySafety" in said
