"""The engine on mbedTLS, against Mosquitto. Debian's is 2.28, which has TLS 1.2; with MBEDTLS_DIR the same runs on 3.6."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from Support.certificates import YESTERDAY, Authority, bundle, openssl
from Support.many_listeners import PSK_IDENTITY, PSK_KEY, certified
from Support.servers import Mosquitto, need

from .pumping import INCLUDE, OTHER_MBEDTLS, ROOT, Pump, valgrind

NO_NAME_CHECK, NO_VERIFY, NO_TIME, CRL_CHECK, CRL_ALL, NO_RESUMPTION = 2, 4, 8, 16, 32, 256
OTHER_PIN = "ab" * 32
OPTION, NOT_SUPPORTED, TLS = (int(re.search(rf"SMQ_ERR_{name} = (-\d+)", (INCLUDE / "swiftmqtt.h").read_text())[1])
                              for name in ("OPTION", "NOT_SUPPORTED", "TLS"))

IS_3 = OTHER_MBEDTLS is not None

pytestmark = pytest.mark.skipif(not Path("/usr/include/mbedtls/ssl.h").exists() and not os.environ.get("CI"),
                                reason="libmbedtls-dev is missing: .ci/need tls installs it")


@pytest.fixture(scope="module")
def pump(tmp_path_factory):
    return Pump.build(tmp_path_factory.mktemp("mbedtls"), "mbedtls")


@pytest.fixture
def ca(certificates):
    return certificates.ca_file


# ---- What goes through


@pytest.mark.parametrize("how", [
    dict(count=1000), dict(count=1000, qos=0), dict(count=200, size=60000), dict(count=300, size=16300),
    {"count": 20, "in": 1, "out": 1}, dict(count=200, size=60000, lazy=1),
    {"count": 100, "size": 30000, "lazy": 1, "in": 777, "out": 313}, dict(count=100, as_bytes=1)],
    ids=lambda how: ",".join(f"{key}={value}" for key, value in how.items()))
def test_messages(pump, listeners, ca, how):
    tried = pump.one(listeners["good"], ca=ca, **how)
    assert (tried.connack, tried.echoed, tried.wrong, tried.end) == (0, how["count"], 0, "notify")


@pytest.mark.parametrize("server, key", [("good", "P-256"), ("rsa", "RSA 2048"), ("below", "P-256")])
def test_what_it_says_of_an_open_connection(pump, listeners, certificates, ca, server, key):
    tried = pump.one(listeners[server], ca=ca)
    assert (tried.version, tried.resumed, tried.certificates) == (304 if IS_3 else 303, 0, 2 if server == "below" else 1)
    assert tried.cipher.startswith("TLS1-3-" if IS_3 else "TLS-ECDHE-")
    assert tried.library.startswith("mbedTLS 3." if IS_3 else "mbedTLS 2.28")
    assert tried.peer_subject == f"CN={server}"
    assert tried.peer_issuer == ("CN=intermediate" if server == "below" else "CN=root")
    assert tried.peer_names == "localhost, 127.0.0.1, ::1" and tried.peer_key == key
    assert tried.peer_pin == pin_of(getattr(certificates, server).file)
    assert tried.peer_from < time.time() < tried.peer_to


def pin_of(certificate):
    key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, check=True, capture_output=True).stdout
    return hashlib.sha256(der).hexdigest()


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "::1"])
def test_a_name_or_an_address_of_the_certificate(pump, listeners, ca, name):
    assert pump.one(listeners["good"], ca=ca, name=name).connack == 0


def test_ipv6(pump, listeners, ca):
    if "ipv6" not in listeners.listeners:
        pytest.skip("this machine has no IPv6")
    assert pump.one(listeners["ipv6"], ca=ca, name="::1", ipv6=1).connack == 0


# ---- Whom a certificate is for


@pytest.fixture(scope="module")
def server_for(tmp_path_factory, certificates):
    """A Mosquitto whose certificate has these names."""
    started = []

    def start(name, ciphers="DEFAULT", **how):
        certificate = certificates.root.issue(f"mbed-{name}", **how)
        directory = tmp_path_factory.mktemp("names")
        started.append(Mosquitto(directory, **certified(certificate), ciphers=ciphers))
        started[-1].start()
        return started[-1]

    yield start
    for server in started:
        server.stop()


def test_wildcards(pump, server_for, ca):
    server = server_for("wildcard", names="DNS:*.example.org,DNS:a*.example.net,DNS:*.test,IP:10.0.0.1")
    answers = {name: pump.one(server, ca=ca, name=name).why for name in (
        "a.example.org", "A.EXAMPLE.ORG", "a.b.example.org", "example.org", ".example.org", "ab.example.net", "a.test",
        "10.0.0.1", "10.0.0.2", "a.example.org.evil")}
    good = {"a.example.org", "A.EXAMPLE.ORG", "10.0.0.1"}
    assert answers == {name: "NONE" if name in good else "NAME" for name in answers}


def test_the_common_name_does_not_count(pump, server_for, ca):
    """And an address is no host name, nor the reverse."""
    server = server_for("common", names=None, subject="/CN=localhost")
    assert pump.one(server, ca=ca).why == "NAME"
    server = server_for("text", names="DNS:127.0.0.1")
    assert pump.one(server, ca=ca, name="127.0.0.1").why == "NAME"
    assert pump.one(server, ca=ca, name="127.0.0.1", flags=NO_NAME_CHECK).connack == 0


def test_a_certificate_that_is_not_for_servers(pump, server_for, ca):
    server = server_for("purpose", extensions={"extendedKeyUsage": "clientAuth"})
    assert pump.one(server, ca=ca).why == "PURPOSE"


def test_a_weak_key(pump, server_for, ca):
    usage = {"keyUsage": "critical,digitalSignature,keyEncipherment"}
    # The server's OpenSSL would not use it, either.
    server = server_for("weak", ciphers="DEFAULT:@SECLEVEL=0", key="RSA-1024", extensions=usage)
    assert pump.one(server, ca=ca).why == "WEAK"


def test_an_issuer_that_is_no_ca(pump, certificates, tmp_path, start_mosquitto, ca):
    middle = certificates.root.authority("no-ca", extensions={"basicConstraints": "critical,CA:FALSE", "keyUsage": None})
    server = start_mosquitto(**certified(middle.issue("below-no-ca")))
    assert pump.one(server, ca=ca).why == "PURPOSE"


def test_a_chain_that_is_too_long(pump, certificates, start_mosquitto, ca):
    above = certificates.root.authority("pathlen", extensions={"basicConstraints": "critical,CA:TRUE,pathlen:0"})
    below = above.authority("below-pathlen")
    server = start_mosquitto(**certified(below.issue("too-deep")))
    assert pump.one(server, ca=ca).why == "CHAIN"


def test_a_ca_of_the_same_name(pump, listeners, tmp_path):
    namesake = Authority(tmp_path, "root")
    assert pump.one(listeners["good"], ca=namesake.certificate).why == "SIGNATURE"


# ---- Why not


@pytest.mark.parametrize("server, why, depth", [
    ("wrong-name", "NAME", 0), ("expired", "EXPIRED", 0), ("future", "NOT_YET_VALID", 0), ("unknown", "UNKNOWN_CA", 0),
    ("self-signed", "UNKNOWN_CA", 0), ("tls1.3", "VERSION", -1), ("client", "CERTIFICATE_WANTED", -1),
    ("psk", "CIPHER", -1)])
def test_causes(pump, listeners, certificates, ca, server, why, depth):
    tried = pump.one(listeners[server], ca=ca, maximum=0x0303)
    assert (tried.why, tried.depth, tried.open, tried.end) == (why, depth, 0, "failure")
    assert tried.text and tried.native < 0
    if depth == 0:
        assert tried.subject == f"CN={server}" and tried.alert == -1 and 0 < getattr(tried, "from") < tried.to
    else:
        assert tried.alert > 0


@pytest.mark.skipif(not IS_3, reason="mbedTLS 2.28 has no TLS 1.3")
def test_a_refusal_in_tls_1_3(pump, listeners, certificates, ca):
    """It comes behind the handshake."""
    tried = pump.one(listeners["client"], ca=ca)
    assert (tried.open, tried.why, tried.alert) == (1, "CERTIFICATE_WANTED", 116)
    other = certificates.unknown_client
    tried = pump.one(listeners["client"], ca=ca, certificate=other.file, key=other.key)
    assert (tried.open, tried.why) == (1, "CERTIFICATE_REFUSED")
    assert pump.one(listeners["tls1.3"], ca=ca, minimum=0x0304, count=10).echoed == 10


def test_a_server_without_tls(pump, listeners, ca):
    """It closes, and the engine has seen nothing: the client says what that means."""
    tried = pump.one(listeners["plain"], ca=ca)
    assert (tried.end, tried.open, tried.received) == ("closed", 0, 0)


def test_a_peer_that_speaks_something_else(pump, ca):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def greet():
            peer, _ = server.accept()
            peer.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
            peer.recv(4096)
            peer.close()

        thread = threading.Thread(target=greet)
        thread.start()

        class Listener:
            port = server.getsockname()[1]

        assert pump.one(Listener, ca=ca).why == "NOT_TLS"
        thread.join()


def test_the_clock(pump, listeners, certificates, ca):
    now = int(time.time())
    assert pump.one(listeners["good"], ca=ca, now=1).why == "CLOCK"
    assert pump.one(listeners["good"], ca=ca, now=1, floor=now).connack == 0
    assert pump.one(listeners["good"], ca=ca, now=1, flags=NO_TIME).connack == 0
    assert pump.one(listeners["expired"], ca=ca, now=1, floor=now).why == "EXPIRED"
    assert pump.one(listeners["expired"], ca=ca, now=now - 3 * 86400).connack == 0
    assert pump.one(listeners["expired"], ca=ca, time=now - 3 * 86400).connack == 0
    assert pump.one(listeners["future"], ca=ca, time=now).why == "NOT_YET_VALID"
    assert pump.one(listeners["good"], ca=ca, now=now + 3600 * 86400).why == "EXPIRED"


def test_revocation(pump, listeners, certificates, ca, tmp_path):
    crl = certificates.crl
    assert pump.one(listeners["revoked"], ca=ca).connack == 0  # nobody has told
    assert pump.one(listeners["revoked"], ca=ca, crl=crl).why == "REVOKED"
    assert pump.one(listeners["revoked"], ca=ca, crl=crl, as_bytes=1).why == "REVOKED"
    assert pump.one(listeners["revoked"], ca=ca, crl=crl, now=1, floor=int(time.time()) - 40).why == "REVOKED"
    assert pump.one(listeners["good"], ca=ca, crl=crl, flags=CRL_CHECK).connack == 0
    assert pump.one(listeners["below"], ca=ca, crl=crl, flags=CRL_CHECK).why == "REVOCATION_UNKNOWN"
    both = bundle(tmp_path / "both.pem", crl, certificates.intermediate.crl())
    assert pump.one(listeners["below"], ca=ca, crl=both, flags=CRL_ALL).connack == 0


def test_a_crl_that_is_too_old(pump, listeners, certificates, ca, tmp_path):
    old = certificates.root.crl("mbed-old", ends=YESTERDAY)
    assert pump.one(listeners["good"], ca=ca, crl=old).why == "REVOCATION_UNKNOWN"
    assert pump.one(listeners["good"], ca=ca, crl=old, flags=NO_TIME).connack == 0


def test_pins(pump, listeners, certificates, ca):
    pin = pin_of(certificates.good.file)
    assert pump.one(listeners["good"], ca=ca, pin=OTHER_PIN + pin).connack == 0
    assert pump.one(listeners["good"], ca=ca, pin=OTHER_PIN).why == "PIN"
    # Instead of a CA: the key alone.
    assert pump.one(listeners["unknown"], flags=NO_VERIFY, pin=pin_of(certificates.unknown.file)).connack == 0
    assert pump.one(listeners["unknown"], flags=NO_VERIFY, pin=pin).why == "PIN"


def test_without_verification(pump, listeners):
    for server in ("unknown", "expired", "wrong-name", "self-signed"):
        assert pump.one(listeners[server], flags=NO_VERIFY).connack == 0


# ---- Who the client is


def test_client_certificates(pump, listeners, certificates, ca, tmp_path):
    client, other = certificates.client, certificates.unknown_client
    assert pump.one(listeners["client"], ca=ca, certificate=client.file, key=client.key, count=10).echoed == 10
    assert pump.one(listeners["client"], ca=ca, certificate=client.file, key=client.key, as_bytes=1).connack == 0
    assert pump.one(listeners["client"], ca=ca, certificate=other.file, key=other.key).why == "CERTIFICATE_REFUSED"
    # What openssl makes by itself is PKCS #8 with AES, which 2.28 cannot read: 3.6 can.
    encrypted = tmp_path / "encrypted.key"
    openssl("ec", "-in", client.key, "-aes256", "-passout", "pass:secret", "-out", encrypted)
    assert pump.one(listeners["client"], ca=ca, certificate=client.file, key=encrypted, password="secret").connack == 0
    unreadable = [] if IS_3 else [(client.encrypted_key("secret"), "secret")]
    for key, password in ((encrypted, None), (encrypted, "wrong"), (encrypted, ""), *unreadable):
        tried = pump.one(listeners["client"], ca=ca, certificate=client.file, key=key, password=password)
        assert (tried.opened, tried.why) == (TLS, "KEY")


def test_pre_shared_keys(pump, listeners):
    """Of TLS 1.2 and 1.3."""
    good = dict(identity=PSK_IDENTITY, psk=PSK_KEY)
    assert pump.one(listeners["psk"], **good, count=10).echoed == 10
    assert pump.one(listeners["psk"], **good | {"psk": "ff" * 16}).why == "PSK"
    assert pump.one(listeners["psk"], **good | {"identity": "nobody"}).why == "PSK"
    # A server with a certificate is not taken for one with the key.
    assert pump.one(listeners["good"], **good).why == "PSK"


# ---- Sessions


def test_sessions_are_resumed(pump, listeners, certificates, ca):
    first, second, third = pump.run(listeners["good"], ca=ca, repeat=3, count=5)
    assert (first.resumed, second.resumed, third.resumed) == (0, 1, 1)
    assert second.received < first.received and third.echoed == 5
    client = certificates.client
    first, second = pump.run(listeners["client"], ca=ca, certificate=client.file, key=client.key, repeat=2)
    assert (first.resumed, second.resumed) == (0, 1)


def test_sessions_are_not_resumed_if_nobody_wants_it(pump, listeners, ca):
    assert [tried.resumed for tried in pump.run(listeners["good"], ca=ca, repeat=2, flags=NO_RESUMPTION)] == [0, 0]
    psk = dict(identity=PSK_IDENTITY, psk=PSK_KEY)
    assert [tried.resumed for tried in pump.run(listeners["psk"], **psk, repeat=2)] == [0, 0]


# ---- Memory


def test_the_steady_state_allocates_nothing(pump, listeners, ca):
    for tried in pump.run(listeners["good"], ca=ca, count=2000, size=500, repeat=2, counted=True):
        assert tried.handshake_allocations > 0, "the allocator does not count"
        assert tried.steady_allocations == 0 and tried.echoed == 2000
    assert tried.connection_bytes < 24 * 1024


# 3.6 turns a single miss in its PSA into "the handshake negotiation failed", and by then there is memory again.
@pytest.mark.parametrize("how", [dict(room=1013), dict(short=211)] + ([] if IS_3 else [dict(short=709, misses=1, steps=34)]),
                         ids=lambda how: ",".join(how))
def test_a_lack_of_memory_is_no_bad_certificate(pump, listeners, ca, how):
    """room: as in a block of 1 to so many bytes."""
    tried = pump.run(listeners["good"], ca=ca, **how, flags=NO_RESUMPTION, counted=True)
    assert len(tried) > 30
    assert all(attempt.why == ("NONE" if attempt.open else "MEMORY") for attempt in tried)


def test_valgrind_finds_nothing(pump, listeners, certificates, ca):
    client = certificates.client
    under = valgrind()
    (one, two) = pump.run(listeners["client"], ca=ca, crl=certificates.crl, certificate=client.file, key=client.key, count=10,
                          size=5000, lazy=1, repeat=2, under=under)
    assert (one.echoed, two.echoed, two.resumed) == (10, 10, 1)
    assert [tried.end for tried in pump.run(listeners["good"], ca=ca, cut=700, steps=2, under=under)] == ["closed", "closed"]
    assert pump.one(listeners["expired"], ca=ca, under=under).why == "EXPIRED"
    assert pump.one(listeners["psk"], identity=PSK_IDENTITY, psk=PSK_KEY, count=5, under=under).echoed == 5


# ---- What the network does


def test_an_end_at_every_step(pump, listeners, ca):
    tried = pump.run(listeners["good"], ca=ca, cut=7, count=1)
    assert len(tried) > 100 and tried[-1].echoed == 1
    assert {attempt.end for attempt in tried[:-1]} == {"closed"}
    assert {attempt.open for attempt in tried} == {0, 1}


def test_a_changed_byte_ends_the_handshake(pump, listeners, ca):
    """Whichever it is: the connection is not opened, or the record behind is refused."""
    tried = pump.run(listeners["good"], ca=ca, flip=37)
    assert len(tried) > 20 and tried[-1].connack == 0
    for attempt in tried[:-1]:
        assert attempt.end in ("failure", "silence") and attempt.echoed == 0, attempt
        assert attempt.why not in ("NONE", "OTHER", "MEMORY") or attempt.end == "silence", attempt


# ---- Settings


@pytest.mark.parametrize("options, status", [
    (dict(), OPTION), (dict(flags=1), OPTION), (dict(ca="ca", minimum=0x0301), OPTION), (dict(ca="ca", psk=PSK_KEY), OPTION),
    (dict(psk=PSK_KEY), OPTION), (dict(ca="ca", certificate="ca"), OPTION), (dict(ca="ca", pin="abcd"), OPTION),
    (dict(ca="ca", flags=CRL_CHECK), OPTION), (dict(ca="ca", floor=-1), OPTION),
    (dict(ca="ca", minimum=0x0304, maximum=0x0303), OPTION), (dict(ca="x" * 1024), OPTION),
    *([] if IS_3 else [(dict(ca="ca", minimum=0x0304), NOT_SUPPORTED)])], ids=str)
def test_wrong_options(pump, listeners, options, status):
    assert pump.one(listeners["good"], **options).opened == status


def test_files_that_cannot_be_read(pump, listeners, certificates, ca, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    for options, why in [(dict(ca=tmp_path / "missing"), "CA_FILE"), (dict(ca=empty), "CA_FILE"),
                         (dict(ca=ca, crl=empty), "CA_FILE"),
                         (dict(ca=ca, certificate=certificates.client.file, key=empty), "KEY"),
                         (dict(ca=ca, certificate=certificates.client.file, key=certificates.good.key), "KEY")]:
        tried = pump.one(listeners["good"], **options)
        assert (tried.opened, tried.why) == (TLS, why), options
        assert tried.text


# ---- As a library


@pytest.mark.parametrize("shared", ["ON", "OFF"])
def test_cmake_builds_it(tmp_path, shared):
    """From the sources as they are, in a project that has nothing else."""
    need("cmake", "build")
    (tmp_path / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.25)
project(Alone C)
set(CMAKE_CURRENT_SOURCE_DIR "{ROOT}")
set(include "{INCLUDE}")
set(warnings -Wall -Wextra -Wpedantic -Werror)
function(swiftmqtt_harden)
endfunction()
set(SWIFTMQTT_TLS_MBEDTLS ON)
set(BUILD_SHARED_LIBS {shared})
include("{ROOT}/cmake/MbedTLS.cmake")
""")
    for command in (["cmake", "-S", tmp_path, "-B", tmp_path / "build"], ["cmake", "--build", tmp_path / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    (library,) = (tmp_path / "build").glob("libswiftmqtt_tls_mbedtls.*")
    symbols = subprocess.run(["nm", *(["-D"] if shared == "ON" else []), "--defined-only", "--extern-only", library], check=True,
                             capture_output=True, text=True).stdout
    names = set(re.findall(r" [A-Z] (\w+)$", symbols, re.M))
    assert {"smq_mbedtls", "smq_mbedtls_open", "smq_mbedtls_close"} <= names
    assert all(name.startswith("smq_mbedtls") for name in names)
    if shared == "ON":
        assert names == {"smq_mbedtls", "smq_mbedtls_open", "smq_mbedtls_close"}


@pytest.mark.parametrize("compiler, standard", [("gcc", "c99"), ("g++", "c++17")])
def test_the_header_compiles_alone(tmp_path, compiler, standard):
    source = tmp_path / "alone.c"
    source.write_text("#include <swiftmqtt-tls-mbedtls.h>\nsmq_mbedtls_options options = SMQ_MBEDTLS_OPTIONS_INIT;\n")
    done = subprocess.run([compiler, "-x", "c++" if compiler == "g++" else "c", f"-std={standard}", "-Wall", "-Wextra",
                           "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", source], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
