"""The examples with TLS: examples-c/tls.c on OpenSSL, and tls_bearssl.c, which has an engine of its own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from .pumping import HERE, ROOT, STRICT

BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
EXAMPLES = BUILD / "examples"

needs_bearssl = pytest.mark.skipif(not Path("/usr/include/bearssl.h").exists() and not os.environ.get("CI"),
                                   reason="libbearssl-dev is missing: .ci/need tls installs it")


def run(name, *arguments, preload=None):
    environment = {**os.environ, **({"LD_PRELOAD": str(preload)} if preload else {})}
    return subprocess.run([EXAMPLES / name, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    library = tmp_path_factory.mktemp("phases") / "phases.so"
    command = ["gcc", *STRICT, "-shared", "-fPIC", "-fno-builtin", HERE / "phases.c", "-o", library]
    subprocess.run([str(part) for part in command], check=True, timeout=60)
    return library


# ---- OpenSSL


def test_tls_publishes(listeners, certificates, subscribe):
    witness = subscribe(listeners, "greetings/hello")
    done = run("tls", listeners["good"].url_for("localhost"), certificates.ca_file)
    assert (done.returncode, done.stderr) == (0, "")
    witness.until(lambda: any(message.payload == b"Hello over TLS" for message in list(witness.messages)))


@pytest.mark.parametrize("server, why", [("expired", "expired"), ("wrong-name", "name"), ("unknown", "CA")])
def test_tls_says_why_not(listeners, certificates, server, why):
    done = run("tls", listeners[server].url, certificates.ca_file)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("SMQ_ERR_TLS, stage ")
    assert why in second and f"CN = {server}" in second.replace("CN=", "CN = ")
    assert server != "wrong-name" or '"the certificate is for ' in second


def test_a_url_that_needs_tls(certificates):
    done = run("publish", "mqtts://127.0.0.1")
    assert done.returncode == 1 and "smq_options.tls" in done.stderr and "wrong at byte" not in done.stderr
    done = run("publish", "WSS://127.0.0.1/mqtt")
    assert done.returncode == 1 and "smq_options.tls" in done.stderr
    done = run("tls", "mqtt://127.0.0.1", certificates.ca_file)
    assert (done.returncode, done.stderr) == (1, "SMQ_ERR_OPTION: smq_options.tls is for mqtts:// and wss://\n")


def test_publish_says_what_a_web_server_answered(nginx):
    done = run("publish", nginx.at("ws", "/403").url)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith("HTTP status 403")


def test_tls_with_a_file_that_is_missing(tmp_path):
    done = run("tls", "mqtts://127.0.0.1", tmp_path / "missing")
    assert done.returncode == 2 and "cannot be used" in done.stderr


# ---- BearSSL


@needs_bearssl
def test_bearssl_allocates_nothing_from_connect_to_close(listeners, certificates, subscribe, phases):
    witness = subscribe(listeners, "greetings/hello")
    done = run("tls_bearssl", certificates.ca_file, listeners["good"].url, "localhost", preload=phases)
    assert done.returncode == 0, done.stderr
    before, connected, after = map(int, re.search(r"allocations (\d+) (\d+) (\d+)", done.stderr).groups())
    assert before > 0, "the allocator is not counted"
    assert (connected, after) == (0, 0)
    witness.until(lambda: any(message.payload == b"Hello from BearSSL" for message in list(witness.messages)))


@needs_bearssl
@pytest.mark.parametrize("server", ["expired", "wrong-name", "unknown"])
def test_bearssl_refuses(listeners, certificates, server):
    done = run("tls_bearssl", certificates.ca_file, listeners[server].url, "localhost")
    assert done.returncode == 1 and done.stderr.startswith("SMQ_ERR_TLS, stage ")
    # The cause that the engine has found.
    cause = {"expired": "expired", "wrong-name": "wrong name", "unknown": "unknown CA"}[server]
    assert re.fullmatch(rf'{cause}: "BearSSL error \d+"', done.stderr.splitlines()[1]), done.stderr


@needs_bearssl
def test_bearssl_refuses_an_address(listeners, certificates):
    done = run("tls_bearssl", certificates.ca_file, listeners["good"].url)
    assert done.returncode == 1 and done.stderr.startswith("SMQ_ERR_TLS, stage ")
