"""Many threads under the sanitizers: Tests/Threads/submitters.c, with what it links built for them.

The Swift of the library as shipped cannot be: the thread sanitizer gets the same sources with the normal runtime, from
Package.swift; the one of addresses, and that of undefined behaviour, the C files beside the object as shipped."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from Support import smq

SUBMITTERS = smq.ROOT / "Tests" / "Threads" / "submitters.c"
PLATFORM = smq.ROOT / "Sources" / "CPlatform"
ARGUMENTS = ["", "-r", "-s", "-r -s", "-r -m 1 -t 8 -n 200"]


def run(program: Path, arguments: str, url: str) -> None:
    settings = {"TSAN_OPTIONS": "exitcode=66", "UBSAN_OPTIONS": "print_stacktrace=1"}
    command = [program, "-n", "1000", *arguments.split(), url]
    result = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, timeout=90
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert " failed 0 " in result.stdout


@pytest.fixture(scope="module")
def for_threads() -> Path:
    command = ["swift", "build", "--sanitize=thread", "--product", "Submitters"]
    command += ["--scratch-path", smq.ROOT / "build" / "thread-sanitizer"]
    result = subprocess.run(command, cwd=smq.ROOT, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return smq.ROOT / "build" / "thread-sanitizer" / "debug" / "Submitters"


@pytest.fixture(scope="module")
def for_addresses(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("addresses") / "submitters"
    command = ["gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-pthread", "-o", program]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wl,--gc-sections"]
    command += ["-I", smq.HEADER.parent, "-I", PLATFORM / "include", SUBMITTERS]
    command += [*PLATFORM.glob("*.c"), smq.BUILD / "swift" / "SwiftMQTT" / "SwiftMQTT.s"]
    subprocess.run(command, check=True, timeout=60)
    return program


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_threads(for_threads, mosquitto, arguments):
    run(for_threads, arguments, mosquitto.url)


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_addresses(for_addresses, mosquitto, arguments):
    # By name: the resolver's thread too.
    run(for_addresses, arguments, mosquitto.url.replace("127.0.0.1", "localhost"))
