"""The compiler refuses an allocation, on every target, in the modules that ship. A test of the proof: the
same flags as the build's, on a copy of the sources, with and without one line that allocates."""

import platform
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import ROOT

# From the ground up: a module imports only what stands before it.
MODULES = ["FixedMemory", "MQTTWire", "MQTTSession", "Platform", "Transports", "Driver", "MQTTClient", "SwiftMQTT"]
TARGETS = ["native", "aarch64", "armv7", "riscv64"]
ALLOCATES = """
public func addsToAnArray(_ count: Int) -> Int {
  var numbers: [Int] = []
  numbers.append(count)
  return numbers.count
}
"""


def flags(target):
    lines = (ROOT / "cmake" / "swift-flags.txt").read_text().splitlines()
    common = shlex.split(" ".join(line for line in lines if line.startswith("-")))
    if target == "native":
        return [*common, "-target", f"{platform.machine()}-unknown-linux-gnu"]
    triples = (ROOT / "cmake" / "SwiftTarget.cmake").read_text()
    own = re.search(rf"set\(_{target} (.*)\)", triples).group(1)
    return [*common, *own.split(), "-I", str(ROOT / "cmake" / "freestanding")]


def compile_until_refused(sources, target, directory):
    """Compiles every module; returns (the module that was refused, what the compiler said) or None."""
    for module in MODULES:
        emit = ["-c", "-o", directory / f"{module}.o"] if module == MODULES[-1] else [
            "-emit-module", "-emit-module-path", directory / f"{module}.swiftmodule"]
        command = [
            "swiftc", *flags(target), "-I", directory, "-I", sources / "CPlatform" / "include", "-I", ROOT / "include",
            "-module-name", module, *emit, *sorted((sources / module).rglob("*.swift"))]
        result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, text=True, timeout=600)
        if result.returncode != 0:
            return module, result.stdout
    return None


@pytest.fixture
def sources(tmp_path):
    return shutil.copytree(ROOT / "Sources", tmp_path / "Sources")


@pytest.mark.parametrize("target", TARGETS)
def test_sources_are_accepted(sources, tmp_path, target):
    assert compile_until_refused(sources, target, tmp_path) is None


# Every module here, and one module for every other target.
@pytest.mark.parametrize("target, module", [("native", module) for module in MODULES] + [
    (target, "MQTTSession") for target in TARGETS if target != "native"])
def test_an_allocation_is_refused(sources, tmp_path, target, module):
    file = sorted((sources / module).rglob("*.swift"))[0]
    file.write_text(file.read_text() + ALLOCATES)
    refused = compile_until_refused(sources, target, tmp_path)
    assert refused is not None, "the line that allocates was accepted"
    assert refused[0] == module
    assert "-no-allocations mode" in refused[1]


@pytest.mark.parametrize("target", TARGETS)
def test_unmarked_unsafe_code_is_refused(sources, tmp_path, target):
    file = sorted((sources / "MQTTSession").rglob("*.swift"))[0]
    file.write_text(file.read_text() + "\npublic func peek(_ p: UnsafePointer<UInt8>) -> UInt8 { p.pointee }\n")
    refused = compile_until_refused(sources, target, tmp_path)
    assert refused is not None and refused[0] == "MQTTSession"
    assert "StrictMemorySafety" in refused[1]
