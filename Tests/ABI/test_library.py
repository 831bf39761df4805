"""What the built library shows to the dynamic linker. Holds for every target: SMQ_BUILD_DIR chooses."""

import re

import pytest

from conftest import ROOT, functions, run

NODE = "SWIFTMQTT_1"


def dynamic_symbols(library, *options):
    """(name, version) of each dynamic symbol."""
    pairs = []
    for line in run("nm", "-D", *options, library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        pairs.append((name, version.lstrip("@")))
    return pairs


def allowed_symbols():
    lines = (ROOT / "Tests" / "ABI" / "allowed-symbols.txt").read_text().splitlines()
    return {line.split("#")[0].strip() for line in lines} - {""}


def test_exports_are_the_headers_functions(library):
    exported = {name for name, _ in dynamic_symbols(library, "--defined-only")} - {NODE}
    declared = {function.name for function in functions()}
    assert declared, "no SMQ_API prototype was found in the header"
    assert exported == declared


def test_exports_carry_the_version_node(library):
    versions = {version for name, version in dynamic_symbols(library, "--defined-only") if name != NODE}
    assert versions == {NODE}


def test_imports_are_allowed(library):
    imported = {name for name, _ in dynamic_symbols(library, "--undefined-only")}
    assert imported - allowed_symbols() == set()


def test_imports_are_libcs(library):
    versions = {version for _, version in dynamic_symbols(library, "--undefined-only")}
    assert all(version.startswith("GLIBC_") for version in versions), versions


def test_needs_libc_only(library):
    """And the loader, which is libc's, where the guard of the stack protector is in it: all but x86-64."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library))
    assert needed[0] == "libc.so.6"
    assert all(re.fullmatch(r"ld-linux-\S+\.so\.\d", name) for name in needed[1:])
    if "X86-64" in run("readelf", "-h", library):
        assert len(needed) == 1


def test_soname(library):
    assert "[libswiftmqtt.so.1]" in run("readelf", "-dW", library)


def test_is_hardened(library):
    dynamic = run("readelf", "-dW", library)
    segments = run("readelf", "-lW", library)
    assert "TEXTREL" not in dynamic
    assert "NOW" in dynamic
    assert "GNU_RELRO" in segments
    stack = re.search(r"GNU_STACK.*", segments).group(0)
    assert "RWE" not in stack


def test_no_segment_is_writable_and_executable(library):
    loads = re.findall(r"^\s+LOAD\s+.*$", run("readelf", "-lW", library), re.M)
    assert loads and not any("RWE" in load for load in loads)


def test_passes_floats_as_linux_does(library):
    header = run("readelf", "-h", library)
    if "Machine:                           ARM\n" in header:
        assert "Version5 EABI, hard-float ABI" in header
        attributes = run("readelf", "-A", library)
        assert "Tag_ABI_enum_size: int" in attributes
    elif "RISC-V" in header:
        assert "double-float ABI" in header


def test_archive_is_one_object_with_only_the_headers_functions(build):
    archive = build / "libswiftmqtt.a"
    assert run("ar", "t", archive).split() == ["swiftmqtt.o"]
    defined = {line.split()[-1] for line in run("nm", "-g", "--defined-only", archive).splitlines() if " " in line}
    assert defined == {function.name for function in functions()}


def test_archive_mentions_no_allocator(build):
    undefined = {line.split()[-1] for line in run("nm", "-u", build / "libswiftmqtt.a").splitlines() if " " in line}
    # On 32-bit Arm: __aeabi_*, the compiler's own helpers from libgcc or libc; and the table that the linker makes.
    foreign = {name for name in undefined if not name.startswith("__aeabi_") and name != "_GLOBAL_OFFSET_TABLE_"}
    assert foreign - allowed_symbols() == set()
    assert not any(re.search(r"alloc|free$|^swift_", name) for name in undefined)


def test_armv7_needs_no_neon(library):
    """Debian's armhf does without it, and there are boards without it."""
    attributes = run("readelf", "-A", library)
    if "Tag_CPU_arch: v7" not in attributes:
        pytest.skip("only armv7 can be without")
    assert "Tag_FP_arch: VFPv3-D16" in attributes
    assert "Advanced_SIMD" not in attributes


def test_abi_is_as_committed(build):
    """make abi-check. Tests/Packages/test_abi_check.py has what it finds."""
    run(ROOT / "Tests" / "ABI" / "check", "--target", build.name)
