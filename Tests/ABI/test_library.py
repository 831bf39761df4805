"""What the built libraries show to the dynamic linker. Holds for every target: SMQ_BUILD_DIR chooses."""

import re

import pytest

from conftest import MQTT, ROOT, functions, run


@pytest.fixture
def library(ours, build):
    return build / f"lib{ours.name}.so"


def dynamic_symbols(library, *options):
    """(name, version) of each dynamic symbol."""
    pairs = []
    for line in run("nm", "-D", *options, library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        pairs.append((name, version.lstrip("@")))
    return pairs


def allowed_symbols(ours):
    """A block of lines may be for libswiftmqtt alone: its first line says so."""
    blocks = (ROOT / "Tests" / "ABI" / "allowed-symbols.txt").read_text().split("\n\n")
    lines = [line for block in blocks if ours is MQTT or "libswiftmqtt alone" not in block.partition("\n")[0]
             for line in block.splitlines()]
    return {line.split("#")[0].strip() for line in lines} - {""}


def test_exports_are_the_headers_functions(library, ours):
    exported = {name for name, _ in dynamic_symbols(library, "--defined-only")} - {ours.node}
    declared = {function.name for function in functions(ours)}
    assert declared, "no prototype was found in the header"
    assert exported == declared


def test_exports_carry_the_version_node(library, ours):
    versions = {version for name, version in dynamic_symbols(library, "--defined-only") if name != ours.node}
    assert versions == {ours.node}


def test_imports_are_allowed(library, ours):
    imported = {name for name, _ in dynamic_symbols(library, "--undefined-only")}
    assert imported - allowed_symbols(ours) == set()


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


def test_soname(library, ours):
    assert f"Library soname: [lib{ours.name}.so.1]" in run("readelf", "-dW", library)


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


def test_has_no_global_variable(library):
    """What is written to is the loader's alone, and read-only once the program runs (RELRO)."""
    sections = re.findall(r"^ +\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ +\S+ +\w*W\w* ", run("readelf", "-SW", library), re.M)
    assert ".dynamic" in sections and set(sections) <= {".dynamic", ".got", ".data.rel.ro"}


def test_passes_floats_as_linux_does(library):
    header = run("readelf", "-h", library)
    if "Machine:                           ARM\n" in header:
        assert "Version5 EABI, hard-float ABI" in header
        attributes = run("readelf", "-A", library)
        assert "Tag_ABI_enum_size: int" in attributes
    elif "RISC-V" in header:
        assert "double-float ABI" in header


def test_archive_is_one_object_with_only_the_headers_functions(build, ours):
    archive = build / f"lib{ours.name}.a"
    assert run("ar", "t", archive).split() == [f"{ours.name}.o"]
    defined = {line.split()[-1] for line in run("nm", "-g", "--defined-only", archive).splitlines() if " " in line}
    assert defined == {function.name for function in functions(ours)}


def test_archive_mentions_no_allocator(build, ours):
    undefined = {line.split()[-1] for line in run("nm", "-u", build / f"lib{ours.name}.a").splitlines() if " " in line}
    # On 32-bit Arm: __aeabi_*, the compiler's own helpers from libgcc or libc; and the table that the linker makes.
    foreign = {name for name in undefined if not name.startswith("__aeabi_") and name != "_GLOBAL_OFFSET_TABLE_"}
    assert foreign - allowed_symbols(ours) == set()
    assert not any(re.search(r"alloc|free$|^swift_", name) for name in undefined)


def test_armv7_needs_no_neon(library):
    """Debian's armhf does without it, and there are boards without it."""
    attributes = run("readelf", "-A", library)
    if "Tag_CPU_arch: v7" not in attributes:
        pytest.skip("only armv7 can be without")
    assert "Tag_FP_arch: VFPv3-D16" in attributes
    assert "Advanced_SIMD" not in attributes


def test_abi_is_as_committed(build, ours):
    """make abi-check. Tests/Packages/test_abi_check.py has what it finds."""
    run(ROOT / "Tests" / "ABI" / "check", ours.name, "--target", build.name)
