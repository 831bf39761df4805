"""A whole client over TLS as a C program uses it (conversation.c), with what valgrind and the sanitizers find. Blocks that OpenSSL
keeps for the life of the process, and can still reach, count as no leaks; so there is nothing to suppress."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .pumping import HERE, INCLUDE, ROOT, SOURCES, STRICT, valgrind

BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
PLATFORM = ROOT / "Sources" / "CPlatform"
# TLS 1.3, with 1.3 alone; an engine with WebSocket above it.
SERVERS = ["good", "tls1.3", "rsa", "wss"]


def build(program: Path, *more: object) -> Path:
    command = ["gcc", *STRICT, f"-I{INCLUDE}", HERE / "conversation.c", *more, "-pthread", "-o", program]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return program


def converse(*command: object, **environment: str) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, env=os.environ | environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr[-6000:]


@pytest.fixture(scope="module")
def as_shipped(tmp_path_factory):
    program = tmp_path_factory.mktemp("shipped") / "conversation"
    return build(program, f"-L{BUILD}", "-lswiftmqtt-tls", "-lswiftmqtt", f"-Wl,-rpath,{BUILD}")


@pytest.fixture(scope="module")
def for_addresses(tmp_path_factory):
    """The C files beside the object as shipped."""
    program = tmp_path_factory.mktemp("addresses") / "conversation"
    return build(program, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wl,--gc-sections",
                 f"-I{PLATFORM / 'include'}", *sorted(PLATFORM.glob("*.c")), *SOURCES["openssl"],
                 BUILD / "swift" / "SwiftMQTT" / "SwiftMQTT.s", "-lssl", "-lcrypto")


@pytest.mark.parametrize("server", SERVERS)
def test_valgrind_finds_nothing(as_shipped, listeners, certificates, server):
    converse(*valgrind(), as_shipped, listeners[server].url_for("localhost"), certificates.ca_file)


@pytest.mark.parametrize("server", SERVERS)
def test_the_sanitizers_find_nothing(for_addresses, listeners, certificates, server):
    converse(for_addresses, listeners[server].url_for("localhost"), certificates.ca_file, ASAN_OPTIONS="detect_leaks=1",
             UBSAN_OPTIONS="print_stacktrace=1")
