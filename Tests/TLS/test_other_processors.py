"""libswiftmqtt-tls and a whole client on the processor that SMQ_TARGET names, under qemu-user, and without it on this one:
the example is linked with Debian's OpenSSL for that processor, and speaks to real servers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import lists
import pytest

from Support import foreign
from Support.handshakes import TLS, Peer, WebSocket

from .pumping import INCLUDE, ROOT, SOURCES, STRICT

BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs examples-c/tls.c."""
    target = lists.chosen()
    compiler, emulator, openssl = "gcc", [], []
    if target:
        root = foreign.unpacked(target, "libssl3", "libssl-dev")
        libraries = root / "usr" / "lib" / target.tools
        compiler, emulator = target.compiler, target.emulator
        openssl = [f"-I{root}/usr/include", f"-I{root}/usr/include/{target.tools}", f"-L{libraries}",
                   f"-Wl,-rpath,{libraries}", f"-Wl,-rpath-link,{libraries}"]
    program = tmp_path_factory.mktemp("other-processor") / "tls"
    command = [compiler, *STRICT, "-D_POSIX_C_SOURCE=200809L", f"-I{INCLUDE}", f"-I{ROOT}/examples-c",
               ROOT / "examples-c" / "tls.c", *SOURCES["openssl"], "-o", program, *openssl, f"-L{BUILD}", f"-Wl,-rpath,{BUILD}",
               "-lswiftmqtt", "-lssl", "-lcrypto", "-pthread"]
    subprocess.run([str(part) for part in command], check=True, timeout=300)
    return [*emulator, str(program)]


def run(example: list[str], *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([*example, *map(str, arguments)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("over", ["TLS", "a WebSocket in TLS"])
def test_publishes(example, listeners, certificates, subscribe, over):
    witness = subscribe(listeners, "greetings/hello")
    before = len(witness.messages)
    if over == "TLS":
        done = run(example, listeners["good"].url_for("localhost"), certificates.ca_file)
    else:
        with Peer(TLS(certificates.good), WebSocket(), upstream=listeners["plain"].port) as peer:
            done = run(example, f"wss://localhost:{peer.port}", certificates.ca_file)
    assert (done.returncode, done.stderr) == (0, "")
    witness.until(lambda: len(witness.messages) > before)
    assert list(witness.messages)[before].payload == b"Hello over TLS"


# What is said of each, among other words.
REFUSALS = {"expired": "expired", "future": "not yet valid", "wrong-name": "name", "unknown": "CA", "self-signed": "self-signed"}


@pytest.mark.parametrize("server", REFUSALS)
def test_says_why_not(example, listeners, certificates, server):
    done = run(example, listeners[server].url_for("localhost"), certificates.ca_file)
    assert done.returncode == 1, done.stderr
    first, second = done.stderr.splitlines()
    assert first.startswith("SMQ_ERR_TLS, stage ") and REFUSALS[server] in second, second


def test_a_server_without_tls(example, listeners, certificates):
    done = run(example, f"mqtts://localhost:{listeners['plain'].port}", certificates.ca_file)
    assert done.returncode == 1 and done.stderr.startswith("SMQ_ERR_TLS, stage "), done.stderr
