"""Types, numbers, names and versions are those of libmosquitto: a program that was linked to one runs on the other."""

from __future__ import annotations

import ctypes
import pathlib
import re
import subprocess

import pytest

from .conftest import ROOT

HEADER = ROOT / "Sources" / "CMosquitto" / "include" / "mosquitto_abi.h"
MAP = ROOT / "cmake" / "mosquitto.map"
STRUCTS = {
    "struct mosquitto_message": ("mid", "topic", "payload", "payloadlen", "qos", "retain"),
    "struct libmosquitto_will": ("topic", "payload", "payloadlen", "qos", "retain"),
    "struct libmosquitto_tls": (
        "cafile", "capath", "certfile", "keyfile", "ciphers", "tls_version", "pw_callback", "cert_reqs")}
INVALID = 3


def lines(*command: object) -> list[str]:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def told(folder: pathlib.Path, *includes: str) -> list[str]:
    """What a C program sees of the structs and of every constant of our header."""
    constants = re.findall(r"^#define (M\w+) [-(0-9]", HEADER.read_text(), re.M)
    assert len(constants) > 50
    wanted = [f"(long)sizeof({struct})" for struct in STRUCTS]
    for struct, fields in STRUCTS.items():
        wanted += [f"(long)offsetof({struct}, {field})" for field in fields]
        wanted += [f"(long)sizeof((({struct} *)0)->{field})" for field in fields]
    source = folder / "told.c"
    source.write_text(
        "#include <stdio.h>\n#include <stddef.h>\n" + "".join(f"#include <{name}>\n" for name in includes)
        + "int main(void) {\n"
        + "".join(f'    printf("{value} %ld\\n", (long){value});\n' for value in (*wanted, *constants))
        + "    return 0;\n}\n")
    program = folder / "told"
    lines("gcc", "-Wall", "-Werror", f"-I{HEADER.parent}", source, "-o", program)
    return lines(program)


def test_types_and_numbers(tmp_path):
    if not pathlib.Path("/usr/include/mosquitto.h").exists():
        pytest.skip("libmosquitto-dev is not installed")
    assert told(tmp_path, "mosquitto_abi.h") == told(tmp_path, "mosquitto.h", "mqtt_protocol.h")


def exported(library: pathlib.Path) -> set[tuple[str, str]]:
    """Names and their versions."""
    found = {
        tuple(re.split("@+", line.split()[-1])) for line in lines("nm", "-D", "--defined-only", library)
        if line.split()[-2] != "A"}
    assert found
    return found


def mapped() -> set[tuple[str, str]]:
    found = set()
    for version, body in re.findall(r"^(MOSQ_\S+) \{(.*?)^\}", MAP.read_text(), re.M | re.S):
        found |= {(name, version) for name in re.findall(r"^\s+(mosquitto_\w+);", body, re.M)}
    return found


def test_the_map_has_every_name_and_its_version(real_path):
    assert mapped() == exported(real_path)


def test_what_is_exported_is_in_the_map(our_path):
    assert exported(our_path) <= mapped()


def test_the_versions_depend_on_each_other_as_theirs_do(real_path, our_path):
    """The dynamic loader compares the names of versions; a program may need any of them."""
    def versions(library):
        return [name for name in re.findall(r"\bMOSQ_[\d.]+", "\n".join(lines("objdump", "-p", library)))]

    assert set(versions(our_path)) == set(versions(real_path))


def test_the_name_that_programs_ask_for(real_path, our_path):
    def soname(library):
        return [line.split()[-1] for line in lines("objdump", "-p", library) if "SONAME" in line]

    assert soname(our_path) == soname(real_path) == ["libmosquitto.so.1"]


def test_lib_version(real, ours):
    def version(library):
        parts = [ctypes.c_int() for _ in range(3)]
        number = library.mosquitto_lib_version(*map(ctypes.byref, parts))
        return number, [part.value for part in parts], library.mosquitto_lib_version(None, None, None)

    assert version(ours) == version(real)


def test_no_client(ours, real):
    for library in (ours, real):
        assert library.mosquitto_tls_set(None, b"ca", None, None, None, None) == INVALID
        assert library.mosquitto_tls_insecure_set(None, True) == INVALID
        assert library.mosquitto_tls_opts_set(None, 1, None, None) == INVALID
        assert library.mosquitto_tls_psk_set(None, b"00", b"me", None) == INVALID
        assert library.mosquitto_socks5_set(None, b"localhost", 1080, None, None) == INVALID
        assert library.mosquitto_string_option(None, 10, b"mqtt") == INVALID
        assert library.mosquitto_void_option(None, 2, None) == INVALID
