"""Settings: where certificates and keys come from, what is wrong with them, and what is told about a connection."""

from __future__ import annotations

import base64
import ctypes
import datetime
import hashlib
import os
import ssl
import subprocess
import sys

import pytest

from Support.certificates import Authority, hashed_directory, openssl
from Support.servers import need

from . import engine
from .engine import CONSTANTS, Connection, Failed, Given, Options, Settings, leave, mqtt
from .memory_peer import MemoryPeer, server_context

OPTION, STRUCT_SIZE, NULL, TLS = (CONSTANTS[f"SMQ_ERR_{name}"] for name in ("OPTION", "STRUCT_SIZE", "NULL", "TLS"))


def spki_digest(certificate):
    key = openssl("x509", "-in", certificate.file, "-noout", "-pubkey").splitlines()[1:-1]
    return hashlib.sha256(base64.b64decode("".join(key))).digest()


def opens(peer, name="localhost", **options):
    with Settings(**options) as settings, Connection(settings, None, name, sock=peer) as connection:
        connection.open()
        return connection.info()


def refused(**options):
    with pytest.raises(Failed) as failed:
        Settings(**options).close()
    return failed.value


# ---- Whom it trusts


def test_where_the_authorities_come_from(certificates, tmp_path):
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    for trust in {"ca_file": certificates.ca_file}, {"ca_pem": certificates.ca_file.read_bytes()}, {"ca_directory": directory}:
        opens(MemoryPeer(server_context(certificates.good)), **trust)
        with pytest.raises(Failed) as failed:
            opens(MemoryPeer(server_context(certificates.unknown)), **trust)
        assert failed.value.cause == "UNKNOWN_CA"
    both = {"ca_file": certificates.ca_file, "ca_pem": certificates.other.certificate.read_bytes()}
    for server in certificates.good, certificates.unknown:
        opens(MemoryPeer(server_context(server)), **both)


def test_those_of_the_system(certificates, tmp_path):
    """A directory, found as OpenSSL finds it."""
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    libc = ctypes.CDLL(None)
    libc.setenv(b"SSL_CERT_DIR", str(directory).encode(), 1)
    try:
        opens(MemoryPeer(server_context(certificates.good)))
        opens(MemoryPeer(server_context(certificates.good)), ca_file=certificates.other.certificate,
              flags=CONSTANTS["SMQ_TLS_SYSTEM_CA"])
        with pytest.raises(Failed):
            opens(MemoryPeer(server_context(certificates.good)), ca_file=certificates.other.certificate)
    finally:
        libc.unsetenv(b"SSL_CERT_DIR")


def test_pins(certificates):
    good, other = spki_digest(certificates.good), spki_digest(certificates.rsa)
    for pins in good, other + good:
        opens(MemoryPeer(server_context(certificates.good)), ca_file=certificates.ca_file, pins=pins)
    with pytest.raises(Failed) as failed:
        opens(MemoryPeer(server_context(certificates.good)), ca_file=certificates.ca_file, pins=other)
    assert (failed.value.cause, failed.value.depth, failed.value.subject) == ("PIN", 0, "CN=good")
    # A pin is no reason to trust, unless nothing else is asked for.
    with pytest.raises(Failed) as failed:
        opens(MemoryPeer(server_context(certificates.unknown)), ca_file=certificates.ca_file, pins=spki_digest(certificates.unknown))
    assert failed.value.cause == "UNKNOWN_CA"
    blind = CONSTANTS["SMQ_TLS_NO_VERIFY"]
    opens(MemoryPeer(server_context(certificates.unknown)), flags=blind, pins=spki_digest(certificates.unknown))
    with pytest.raises(Failed) as failed:
        opens(MemoryPeer(server_context(certificates.unknown)), flags=blind, pins=good)
    assert failed.value.cause == "PIN"


def test_a_common_name_counts_if_it_is_asked_for(certificates, tmp_path):
    common = certificates.root.issue(f"common-{tmp_path.name}", names=None, subject="/CN=localhost")
    with pytest.raises(Failed):
        opens(MemoryPeer(server_context(common)), ca_file=certificates.ca_file)
    opens(MemoryPeer(server_context(common)), ca_file=certificates.ca_file, flags=CONSTANTS["SMQ_TLS_COMMON_NAME"])


def test_strict(certificates, tmp_path):
    """A home-made CA without keyUsage is refused only if that is asked for."""
    home = Authority(tmp_path, "home", extensions={"keyUsage": None})
    server = home.issue("server")
    opens(MemoryPeer(server_context(server)), ca_file=home.certificate)
    with pytest.raises(Failed) as failed:
        opens(MemoryPeer(server_context(server)), ca_file=home.certificate, flags=CONSTANTS["SMQ_TLS_STRICT"])
    assert failed.value.cause == "CHAIN"


# ---- The client's own


@pytest.fixture
def asking(certificates):
    def make():
        context = server_context(certificates.good, verify_mode=ssl.CERT_REQUIRED)
        context.load_verify_locations(certificates.ca_file)
        return MemoryPeer(context, b"welcome")

    return make


def welcomed(peer, **options):
    with Settings(**options) as settings, Connection(settings, None, sock=peer) as connection:
        connection.open()
        assert connection.receive(7) == b"welcome"
    assert peer.tls.getpeercert()["subject"] == ((("commonName", "client"),),)


def test_certificate_and_key(certificates, asking):
    client, trust = certificates.client, {"ca_file": certificates.ca_file}
    encrypted = client.encrypted_key("a password")
    files = {"certificate_file": client.chain, "key_file": client.key}
    texts = {"certificate_pem": client.chain.read_bytes(), "key_pem": client.key.read_bytes()}
    welcomed(asking(), **trust, **files)
    welcomed(asking(), **trust, **texts)
    welcomed(asking(), **trust, certificate_file=client.file, key_file=encrypted, password=b"a password")
    welcomed(asking(), **trust, certificate_file=client.file, key_pem=encrypted.read_bytes(), password=b"a password")
    for wrong in {}, {"password": b"wrong"}, {"password": b""}:
        why = refused(**trust, certificate_file=client.file, key_file=encrypted, **wrong)
        assert why.cause == "KEY" and why.status == TLS and "password" not in why.text.lower().replace("bad password read", "")
    assert refused(**trust, certificate_file=client.file, key_file=certificates.good.key).cause == "KEY"


def test_a_key_that_stays_in_its_hardware(certificates, asking, tmp_path):
    need("softhsm2-util", "tls"), need("pkcs11-tool", "tls")
    (tmp_path / "tokens").mkdir()
    config = tmp_path / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {tmp_path}/tokens\n")
    module = "/usr/lib/softhsm/libsofthsm2.so"
    environment = {**os.environ, "SOFTHSM2_CONF": str(config), "PKCS11_MODULE_PATH": module}
    run = {"env": environment, "check": True, "capture_output": True, "timeout": 60}
    subprocess.run(["softhsm2-util", "--init-token", "--free", "--label", "smq", "--pin", "9753", "--so-pin", "1234"], **run)
    pkcs8 = tmp_path / "client.pkcs8"
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", certificates.client.key, "-out", pkcs8)
    subprocess.run(["softhsm2-util", "--import", pkcs8, "--token", "smq", "--label", "client", "--id", "01", "--pin", "9753"], **run)
    # In a process of its own: the engine reads the environment, and stays in the process.
    program = f"""
import sys
sys.path.insert(0, {str(engine.ROOT / "Tests")!r})
import ssl
from TLS.engine import Settings, Connection, Failed
from TLS.memory_peer import MemoryPeer, server_context
context = server_context(verify_mode=ssl.CERT_REQUIRED)
context.load_cert_chain({str(certificates.good.chain)!r}, {str(certificates.good.key)!r})
context.load_verify_locations({str(certificates.ca_file)!r})
trust = dict(ca_file={str(certificates.ca_file)!r}, certificate_file={str(certificates.client.file)!r})
def connect(**more):
    peer = MemoryPeer(context, b"welcome")
    with Settings(**trust, **more) as settings, Connection(settings, None, sock=peer) as connection:
        connection.open()
        assert connection.receive(7) == b"welcome"
for more in dict(key_uri="pkcs11:token=smq;object=client;pin-value=9753"), dict(key_uri="pkcs11:token=smq;object=client", password=b"9753"):
    connect(**more)
for more in (dict(key_uri="pkcs11:token=smq;object=nothing;pin-value=9753"), dict(key_uri="pkcs11:token=none;object=client"),
             dict(key_uri="pkcs11:token=smq;object=client;pin-value=9753", key_engine="none-of-this-name")):
    try:
        connect(**more)
    except Failed as failed:
        assert failed.cause == "KEY" and "9753" not in failed.text, failed
    else:
        raise SystemExit("it was opened")
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


# ---- Wrong options


def test_files_that_cannot_be_read(certificates, tmp_path):
    empty, garbage, nothing = tmp_path / "empty", tmp_path / "garbage", tmp_path / "nothing"
    empty.touch()
    garbage.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    client = certificates.client
    for file, text in (nothing, "No such file"), (empty, "there is no certificate"), (garbage, ""), (tmp_path, ""):
        why = refused(ca_file=file)
        assert why.cause == "CA_FILE" and why.status == TLS and why.text.startswith("ca_file: ") and text in why.text
        why = refused(certificate_file=file, key_file=client.key)
        assert why.cause == "KEY" and why.text.startswith("certificate_file: ")
        why = refused(certificate_file=client.file, key_file=file)
        assert why.cause == "KEY" and why.text.startswith("key_file: ")
    for file, text in (nothing, "No such file"), (certificates.ca_file, "there is no CRL"):
        why = refused(ca_file=certificates.ca_file, crl_file=file)
        assert why.cause == "CA_FILE" and why.text == f"crl_file: {text}{' or directory' * (file == nothing)}"
    for directory in nothing, certificates.ca_file:
        assert refused(ca_directory=directory).cause == "CA_FILE"
    assert refused(ca_file="x" * 5000).cause == "CA_FILE"
    assert refused(key_log_file=tmp_path / "no" / "file").text == "key_log_file: No such file or directory"


def test_certificates_that_claim_to_be_encrypted(certificates, tmp_path):
    """RFC 1421, section 4.6: no program encrypts a certificate so, but a file can say that one is. Then there is a password to
    be asked for, or none."""
    client = certificates.client
    mark = "-----BEGIN CERTIFICATE-----\n"
    head = f"{mark}Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{'00' * 16}\n\n"
    plain, file = client.file.read_text(), tmp_path / "encrypted.pem"
    for text in plain.replace(mark, head), plain + certificates.ca_file.read_text().replace(mark, head):
        file.write_text(text)
        for more in {}, {"password": b"a password"}:
            why = refused(certificate_file=file, key_file=client.key, **more)
            assert why.cause == "KEY" and why.text.startswith("certificate_file: ")
            assert refused(ca_file=file, **more).cause == "CA_FILE"


def test_lists_that_openssl_does_not_take():
    for name in "ciphers", "cipher_suites", "groups":
        why = refused(**{name: "nonsense"})
        assert why.cause == "CIPHER" and why.text.startswith(f"{name}: ")
        assert refused(**{name: "x" * 2000}).cause == "CIPHER"
    assert refused(ciphers="aNULL").cause == "CIPHER"


@pytest.mark.parametrize("options", [
    {"flags": 4096}, {"minimum": 0x0302}, {"maximum": 0x0305}, {"minimum": 0x0304, "maximum": 0x0303}, {"certificate_file": "a"},
    {"key_file": "a"}, {"certificate_file": "a", "certificate_pem": "a", "key_file": "a"},
    {"certificate_file": "a", "key_file": "a", "key_pem": "a"}, {"key_engine": "a"}, {"pins": bytes(31)}, {"psk": b"a"},
    {"psk_identity": "a"}, {"psk": bytes(257), "psk_identity": "a"}, {"psk": b"a", "psk_identity": "a" * 128},
    {"psk": b"a", "psk_identity": "a", "ca_file": "a"}, {"psk": b"a", "psk_identity": "a", "pins": bytes(32)},
    {"psk": b"a", "psk_identity": "a", "certificate_file": "a", "key_file": "a"}, {"ca_file": b"a\0b"}, {"clock_floor_s": -1},
    {"verify_time_s": -1}, {"flags": CONSTANTS["SMQ_TLS_NO_VERIFY"] | CONSTANTS["SMQ_TLS_OCSP"]},
    {"psk": b"a", "psk_identity": "a\0b"}])
def test_options_out_of_their_range(options):
    """The words name an option that is at fault."""
    why = refused(**options)
    assert (why.status, why.cause) == (OPTION, "OTHER")
    assert any(name.partition("_")[0] in why.text for name in options) or "zero byte" in why.text or "no_verify" in why.text


def test_contradictions_are_told(certificates):
    client = certificates.client
    for options, text in (
        ({"certificate_file": client.file}, "a certificate needs its key: key_file, key_pem or key_uri"),
        ({"key_file": client.key}, "a key needs its certificate: certificate_file or certificate_pem"),
        ({"psk": b"a"}, "psk needs psk_identity"),
        ({"psk": b"a", "psk_identity": "a", "crl_file": certificates.crl}, "psk takes the place of certificates, CAs, pins and CRLs"),
        ({"minimum": 0x0304, "maximum": 0x0303}, "minimum is above maximum"),
    ):
        assert refused(**options).text == text


def test_structs(certificates):
    given = Given(ca_file=certificates.ca_file)
    whole = bytes(ctypes.string_at(ctypes.addressof(given.options), ctypes.sizeof(Options)))
    made, why = engine.P(), engine.failure()

    def status(data, size, tls=ctypes.byref(made), failure=ctypes.byref(why)):
        buffer = ctypes.create_string_buffer(size.to_bytes(4, "little") + data[4:])
        return engine.library.smq_tls_open(buffer, tls, failure)

    assert status(whole + bytes(64), len(whole) + 64) == 0  # of a newer header
    engine.library.smq_tls_close(made)
    for data, size in (whole, len(whole) - 1), (whole, 0), (whole + b"\1" + bytes(63), len(whole) + 64), (whole + bytes(5000), 4097):
        assert status(data, size) == STRUCT_SIZE
    assert engine.library.smq_tls_open(None, ctypes.byref(made), None) == NULL
    assert engine.library.smq_tls_open(ctypes.byref(given.options), None, None) == NULL
    given.options.ca_pem.size = 1
    assert engine.library.smq_tls_open(ctypes.byref(given.options), ctypes.byref(made), None) == NULL
    why.size = 8
    assert status(whole, len(whole)) == STRUCT_SIZE
    engine.library.smq_tls_close(None)
    assert engine.library.smq_tls_resume(None, None, 0) == NULL


# ---- What is told


def test_what_is_known_of_a_certificate(certificates, listeners):
    with Settings(ca_file=certificates.ca_file) as settings:
        connection = mqtt(settings, (listeners["below"].host, listeners["below"].port))
        server, issuer = connection.certificate(), connection.certificate(1)
        assert connection.certificate(2) is None
        assert (server.subject, server.issuer, server.key) == (b"CN=below", b"CN=intermediate", b"P-256")
        assert server.names == b"localhost, 127.0.0.1, 0:0:0:0:0:0:0:1"
        assert bytes(server.spki_sha256) == spki_digest(certificates.below)
        assert issuer.subject == b"CN=intermediate" and issuer.names == b""
        dates = openssl("x509", "-in", certificates.below.file, "-noout", "-dates", "-dateopt", "iso_8601")
        for line, seconds in zip(dates.splitlines(), (server.not_before_s, server.not_after_s)):
            assert datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ") in line
        leave(connection)


@pytest.mark.parametrize("kind, text", [("RSA-3072", b"RSA 3072"), ("EC-384", b"P-384"), ("Ed25519", b"Ed25519")])
def test_kinds_of_keys(certificates, kind, text, tmp_path):
    server = certificates.root.issue(f"{kind}-{tmp_path.name}", key=kind, subject="/CN=Zoë, Ελλάδα/O=" + "ü" * 30)
    with Settings(ca_file=certificates.ca_file) as settings:
        with Connection(settings, None, sock=MemoryPeer(server_context(server))) as connection:
            connection.open()
            certificate = connection.certificate()
            assert certificate.key == text and certificate.subject.decode()
        with Connection(settings, None, "wrong", sock=MemoryPeer(server_context(server))) as connection:
            with pytest.raises(Failed) as failed:
                connection.open()
            assert len(failed.value.why.subject) <= 127 and failed.value.subject  # cut between two characters


def test_the_key_log(certificates, tmp_path):
    log = tmp_path / "keys.log"
    for _ in range(2):
        opens(MemoryPeer(server_context(certificates.good)), ca_file=certificates.ca_file, key_log_file=log)
    lines = log.read_text().splitlines()
    assert sum(line.startswith("CLIENT_TRAFFIC_SECRET_0 ") for line in lines) == 2
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_context_of_the_program(certificates):
    """It is used as it is, but verified."""
    library = ctypes.CDLL("libssl.so.3")
    library.SSL_CTX_new.restype = library.TLS_client_method.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.SSL_CTX_new(ctypes.c_void_p(library.TLS_client_method())))
    address = context.value
    with pytest.raises(Failed) as failed:
        opens(MemoryPeer(server_context(certificates.good)), ssl_ctx=address)
    assert failed.value.cause == "UNKNOWN_CA"
    blind = CONSTANTS["SMQ_TLS_NO_VERIFY"]
    opens(MemoryPeer(server_context(certificates.good)), ssl_ctx=address, flags=blind | CONSTANTS["SMQ_TLS_NO_NAME_CHECK"])
    assert library.SSL_CTX_load_verify_file(context, str(certificates.ca_file).encode()) == 1
    assert opens(MemoryPeer(server_context(certificates.good)), ssl_ctx=address).version == 0x0304
    for server, cause in (certificates.wrong_name, "NAME"), (certificates.expired, "EXPIRED"):
        with pytest.raises(Failed) as failed:
            opens(MemoryPeer(server_context(server)), ssl_ctx=address)
        assert failed.value.cause == cause
    library.SSL_CTX_free(context)
