"""The engine on OpenSSL as a C program uses it: what it allocates, what valgrind and the sanitizers find, and what the network
does to it."""

from __future__ import annotations

import os
import subprocess

import pytest

from Support.many_listeners import PSK_IDENTITY

from .pumping import HERE, INCLUDE, SOURCES, STRICT, Pump, valgrind

TLS_1_2 = 0x0303


@pytest.fixture(scope="module")
def pump(tmp_path_factory):
    return Pump.build(tmp_path_factory.mktemp("openssl"), "openssl")


@pytest.fixture
def ca(certificates):
    return certificates.ca_file


@pytest.mark.parametrize("how", [
    dict(count=1000), dict(count=100, size=60000), {"count": 20, "in": 1, "out": 1}, dict(count=200, size=60000, lazy=1),
    {"count": 100, "size": 30000, "lazy": 1, "in": 777, "out": 313}, dict(count=100, maximum=TLS_1_2)],
    ids=lambda how: ",".join(f"{key}={value}" for key, value in how.items()))
def test_messages(pump, listeners, ca, how):
    tried = pump.one(listeners["good"], ca=ca, **how)
    assert (tried.connack, tried.echoed, tried.wrong, tried.end) == (0, how["count"], 0, "notify")


@pytest.mark.parametrize("maximum, most", [(0, 3), (TLS_1_2, 2)])
def test_the_steady_state_allocates_only_what_openssl_does(pump, listeners, ca, maximum, most):
    """Three times for each record with TLS 1.3: none of it is the engine's."""
    tried = pump.one(listeners["good"], ca=ca, count=2000, size=500, qos=0, maximum=maximum, counted=True)
    assert tried.handshake_allocations > 1000, "the allocator does not count"
    # A message is a record in each direction, or less.
    assert 0 < tried.steady_allocations <= 2 * most * tried.echoed and tried.echoed == 2000
    assert tried.connection_bytes < 30 * 1024


@pytest.mark.parametrize("misses", [None, 1], ids=["from-then-on", "once"])
def test_a_lack_of_memory(pump, listeners, ca, misses):
    """It ends the handshake, or does no harm. Each time a process of its own: OpenSSL 3.0 remembers what it could not load. And
    it forgets in places that it was memory, so the cause is not always said to be that."""
    causes = []
    for first in range(1, 2500, 83):
        tried = pump.one(listeners["good"], ca=ca, short=first, misses=misses, steps=1, flags=256, counted=True)
        causes.append(tried.why)
        assert tried.why in ("MEMORY", "OTHER", "WEAK") or (tried.open and misses), (first, tried)
    assert misses or causes.count("MEMORY") >= 5


def test_an_end_at_every_step(pump, listeners, ca):
    tried = pump.run(listeners["good"], ca=ca, cut=11, count=1)
    assert len(tried) > 80 and tried[-1].echoed == 1
    assert {attempt.end for attempt in tried[:-1]} == {"closed"}


def test_valgrind_finds_nothing(pump, listeners, certificates, ca):
    client, under = certificates.client, valgrind()
    (one, two) = pump.run(listeners["client"], ca=ca, crl=certificates.crl, certificate=client.file, key=client.key, count=10,
                          size=5000, repeat=2, under=under)
    assert (one.echoed, two.echoed, two.resumed) == (10, 10, 1)


def test_the_address_sanitizer_finds_nothing(listeners, certificates, ca, tmp_path):
    pump = Pump.build(tmp_path, "openssl", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    for tried in pump.run(listeners["good"], ca=ca, count=200, size=20000, repeat=3):
        assert tried.echoed == 200
    assert pump.run(listeners["good"], ca=ca, cut=97)[-1].connack == 0
    assert pump.run(listeners["good"], ca=ca, flip=67)[-1].connack == 0
    for server in "expired", "wrong-name", "unknown", "self-signed", "client":
        assert pump.one(listeners[server], ca=ca).why != "NONE"
    assert pump.one(listeners["psk"], identity=PSK_IDENTITY, psk="x").why == "PSK"
    # Files that are not there, in settings that were begun.
    done = subprocess.run([pump.program, "port=1", f"ca={ca}", "certificate=none", "key=none"], capture_output=True, text=True,
                          timeout=60)
    assert "AddressSanitizer" not in done.stderr and "LeakSanitizer" not in done.stderr


def test_the_thread_sanitizer_finds_nothing(certificates, ca, tmp_path):
    """OpenSSL is not built for it: of what it does, only its calls of libc would be seen, and not its locks."""
    program, suppressions = tmp_path / "threads", tmp_path / "suppressions"
    suppressions.write_text("called_from_lib:libcrypto.so.3\ncalled_from_lib:libssl.so.3\n")
    command = ["gcc", *STRICT, "-fsanitize=thread", f"-I{INCLUDE}", HERE / "threads.c", *SOURCES["openssl"], "-lssl", "-lcrypto",
               "-pthread", "-o", program]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program, ca, certificates.good.file, certificates.good.key], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TSAN_OPTIONS": f"suppressions={suppressions}"})
    assert done.returncode == 0 and done.stdout == "100 opened\n", done.stderr[-6000:]
