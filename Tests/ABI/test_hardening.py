"""What makes mistakes in C, and jumps to where none should go, harder to use: in all that is built, for every target.
And cmake alone builds with it what Debian's flags would."""

import json
import os
import re
import shlex

import pytest
from conftest import ROOT, functions, run

# What `readelf -n` says of all objects together: the kernel acts on it only if it holds for the whole.
PROPERTIES = {"X86-64": {"IBT", "SHSTK"}, "AArch64": {"BTI", "PAC"}}


def machine(path):
    """One of PROPERTIES, or of those that have nothing of the kind."""
    found = re.search(r"Machine: +(.+)", run("readelf", "-h", path))[1]
    return next(name for name in (*PROPERTIES, "ARM", "RISC-V") if name in found)


def properties(path):
    found = re.search(r"(?:x86|AArch64) feature: (.*)", run("readelf", "-nW", path))
    return set(found[1].split(", ")) if found else set()


def compiled(build):
    """Each object that a part of ours is compiled to."""
    objects = []
    for name in ("swiftmqtt_core", "swiftmqtt_platform", "swiftstomp_core", "swiftstomp_c", "mosquitto_core", "mosquitto_compat",
                 "smq_core", "smq"):
        objects += (build / "CMakeFiles" / f"{name}.dir").rglob("*.o")
    assert len(objects) >= 14
    return objects


def test_every_object_is_made_for_CET_or_BTI(build):
    for path in compiled(build):
        wanted = PROPERTIES.get(machine(path), set())
        assert properties(path) >= wanted, path


def test_the_library_is_made_for_CET_or_BTI(build):
    """Swift's code too, which nothing has to be said for: one object without it would take it from all."""
    drop_in = build / "compat" / "libmosquitto.so.1"
    libraries = [build / name for name in ("libswiftmqtt.so", "swiftmqtt.o", "libswiftstomp.so", "swiftstomp.o")]
    for path in (*libraries, *([drop_in] if drop_in.exists() else [])):
        assert properties(path) >= PROPERTIES.get(machine(path), set()), path


def test_every_exported_function_begins_with_a_landing_pad(build, ours):
    """The property is not just claimed."""
    library = build / f"lib{ours.name}.so"
    # endbr64; bti c and paciasp
    pads = {"X86-64": {"f3 0f 1e fa"}, "AArch64": {"5f 24 03 d5", "3f 23 03 d5"}}.get(machine(library))
    if not pads:
        pytest.skip("this processor has none")
    sections = {}
    for line in run("readelf", "-SW", library).splitlines():
        if found := re.match(r" +\[ *(\d+)\] (\S+) +\S+ +([0-9a-f]+) ([0-9a-f]+)", line):
            sections[found[1]] = (int(found[3], 16), int(found[4], 16))
    data = library.read_bytes()
    symbols = run("readelf", "-W", "--dyn-syms", library)
    found = re.findall(r": ([0-9a-f]+) +\d+ FUNC +GLOBAL +\S+ +(\d+) (\w+)@@", symbols)
    assert {name for _, _, name in found} == {function.name for function in functions(ours)}
    for address, section, name in found:
        start, offset = sections[section]
        at = int(address, 16) - start + offset
        assert data[at:at + 4].hex(" ") in pads, name


def test_the_library_checks_the_stack_of_its_C(build, ours):
    undefined = run("nm", "-D", "--undefined-only", build / f"lib{ours.name}.so")
    assert "__stack_chk_fail" in undefined


def test_the_program_is_hardened(build):
    program = build / "tools" / "smq"
    dynamic, segments = run("readelf", "-dW", program), run("readelf", "-lW", program)
    assert re.search(r"FLAGS_1.*\bNOW\b.*\bPIE\b", dynamic) and "TEXTREL" not in dynamic
    assert "GNU_RELRO" in segments and "RWE" not in segments
    assert "__stack_chk_fail" in run("nm", "-D", "--undefined-only", program)


# ---- cmake alone, and with Debian's flags


HARDENS = re.compile(r"-f(stack|cf|PI)|-mbranch|-D_FORTIFY|-Werror=format-security|-Wformat$|-z,(now|relro)|-pie")


def commands(directory, **environment):
    """What hardens in the compiler's and linker's command lines, by what is made."""
    clean = {name: value for name, value in os.environ.items() if name not in ("CFLAGS", "CPPFLAGS", "LDFLAGS")}
    run("cmake", "-S", ROOT, "-B", directory, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        "-DSWIFTMQTT_EXAMPLES=OFF", "-DSWIFTMQTT_MOSQUITTO=ON", env={**clean, **environment})
    made = {}
    for entry in json.loads((directory / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if entry["file"].endswith(".s"):
            continue  # it was hardened when it was made: see above
        made[entry["file"]] = {word for word in words if HARDENS.match(word)}
    link = r"^build (\S+).*: C_(?:SHARED_LIBRARY|EXECUTABLE)_LINKER.*\n(?:  .*\n)*?  LINK_FLAGS = (.*)$"
    for name, flags in re.findall(link, (directory / "build.ninja").read_text(), re.M):
        made[name] = set(re.findall(r"-z,(?:now|relro)", flags))
    return made


def test_cmake_hardens_as_debian_does(tmp_path):
    flags = dict(line.split("=", 1) for line in run(
        "dpkg-buildflags", "--export=cmdline", env={**os.environ, "DEB_BUILD_MAINT_OPTIONS": "hardening=+all"},
    ).replace('" ', '"\n').replace('"', "").splitlines() if line)
    alone = commands(tmp_path / "alone")
    debian = commands(
        tmp_path / "debian", CFLAGS=f"{flags['CFLAGS']} {flags['CPPFLAGS']}", LDFLAGS=flags["LDFLAGS"])
    assert alone.keys() == debian.keys() and len(alone) >= 12
    for made, hardening in debian.items():
        assert alone[made] >= hardening, f"{made}: Debian has {sorted(hardening - alone[made])}"
        assert hardening >= alone[made], f"{made}: Debian is without {sorted(alone[made] - hardening)}"
    source = next(flags for name, flags in alone.items() if name.endswith("sockets.c"))
    assert {"-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Werror=format-security"} <= source
    linked = {name: flags for name, flags in alone.items() if not name.endswith(".c")}
    # Three libraries, the drop-in, smq and sst.
    assert len(linked) == 6 and all(flags == {"-z,now", "-z,relro"} for flags in linked.values()), linked


def test_what_the_builder_says_goes_before(tmp_path):
    made = commands(tmp_path, CFLAGS="-fno-stack-protector -D_FORTIFY_SOURCE=3 -fcf-protection=none")
    source = next(flags for name, flags in made.items() if name.endswith("sockets.c"))
    assert not any(re.match("-fstack-protector|-fcf-protection=full|-D_FORTIFY_SOURCE=2", flag) for flag in source)
