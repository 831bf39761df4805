"""TLS with a real Mosquitto: every way to say whom to trust and who one is, and what is said when it fails."""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
import ssl
import subprocess
from datetime import datetime, timezone

import pytest
import swiftmqtt
from Support.certificates import hashed_directory, openssl
from Support.many_listeners import PSK_IDENTITY, PSK_KEY
from swiftmqtt import TLS, Client, Stage, Status, TLSCause, TLSError, TLSVersion, aio, create_default_context

from .conftest import TLS_LIBRARY


@pytest.fixture(autouse=True)
def with_tls_library():
    if not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")


PASSWORD = "secret of the key"


@pytest.fixture
def trusting(certificates):
    return TLS(ca_file=certificates.ca_file)


def echoed(client: Client, level: str) -> str:
    """What is published comes back."""
    client.subscribe(level, qos=1).wait(10)
    client.publish(level, "through TLS", qos=1).wait(10)
    return client.receive(10).text()


def failing(url: str, **options: object) -> swiftmqtt.Error:
    """How connect() fails, or the connection does: an alert may come after CONNECT (RFC 8446, section 4.4.2)."""
    with pytest.raises(swiftmqtt.Error) as told:
        with Client(url, reconnect=False, connect_timeout_ms=20_000, **options) as client:
            client.receive(10)
    return told.value


def spki(certificate) -> bytes:
    public = openssl("x509", "-in", certificate.file, "-noout", "-pubkey")
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=public.encode(), capture_output=True)
    return hashlib.sha256(der.stdout).digest()


# ---- Whom to trust


def test_every_way_to_give_a_ca(listeners, certificates, level, tmp_path):
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    text = certificates.ca_file.read_text()
    for options in (
        {"ca_file": certificates.ca_file},
        {"ca_file": str(certificates.ca_file), "minimum": TLSVersion.TLSv1_3},
        {"ca_directory": directory, "maximum": ssl.TLSVersion.TLSv1_2},
        {"ca_pem": text},
        {"ca_pem": text.encode(), "system_ca": True},
        {"no_verify": True},
        {"ca_pem": text, "pins": [spki(certificates.good)]},
        {"ca_pem": text, "pins": ["00" * 32, spki(certificates.good).hex()]},
    ):
        with Client(listeners["good"].url, tls=TLS(**options)) as client:
            assert echoed(client, level) == "through TLS", options


def test_what_is_said_of_the_connection(listeners, certificates):
    wanted = dict(maximum=TLSVersion.TLSv1_2, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256")
    with Client(listeners["good"].url, tls=TLS(ca_file=certificates.ca_file, **wanted)) as client:
        info = client.tls_info
        assert (info.version, info.cipher) == ("TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
        own, *_ = info.certificates
        assert own.pin == spki(certificates.good) and "127.0.0.1" in own.names and "CN=good" in own.subject.replace(" ", "")
        assert own.not_before < datetime.now(timezone.utc) < own.not_after
        assert own.key == "P-256" and info.library.startswith("OpenSSL 3")
    with Client(listeners["plain"].url) as client:
        assert client.tls_info is None and client.failure is None


def test_sessions_are_resumed(listeners, trusting, level, certificates):
    url = listeners["good"].url
    with Client(url, tls=trusting) as client:
        assert not client.tls_info.is_resumed and echoed(client, level)
    with Client(url, tls=trusting) as client:
        assert client.tls_info.is_resumed and echoed(client, level)
    # Over a restart.
    kept, after = trusting.sessions(), TLS(ca_file=certificates.ca_file)
    assert kept and after.resume(kept) > 0
    with Client(url, tls=after) as client:
        assert client.tls_info.is_resumed
    assert TLS(ca_file=certificates.ca_file).resume(b"garbage") == 0


# ---- Who one is


def test_a_client_certificate(listeners, certificates, level):
    mine, text = certificates.client, pathlib.Path.read_text
    locked = mine.encrypted_key(PASSWORD)
    asked = []

    def password() -> str:
        asked.append(1)
        return PASSWORD

    for own in (
        {"certificate_file": mine.file, "key_file": mine.key},
        {"certificate_pem": text(mine.file), "key_pem": text(mine.key).encode()},
        {"certificate_file": mine.file, "key_file": locked, "password": PASSWORD},
        {"certificate_file": mine.file, "key_file": locked, "password": password},
    ):
        with Client(listeners["client"].url, tls=TLS(ca_file=certificates.ca_file, **own)) as client:
            assert echoed(client, level) == "through TLS"
    assert asked == [1]


def test_a_password_that_is_wrong_or_fails(certificates):
    own = {"certificate_file": certificates.client.file, "key_file": certificates.client.encrypted_key(PASSWORD)}
    for password in ("wrong", b"wrong", lambda: "wrong"):
        with pytest.raises(TLSError) as told:
            TLS(**own, password=password)
        assert told.value.failure.tls_cause == TLSCause.KEY and "wrong" not in str(told.value)
    with pytest.raises(ZeroDivisionError):
        TLS(**own, password=lambda: 1 // 0)
    with pytest.raises(swiftmqtt.ArgumentError, match="returns a text or bytes, not int"):
        TLS(**own, password=lambda: 1)


def test_reload(listeners, certificates, tmp_path, level):
    """Another certificate in the same file, and one that cannot be used: then all stays as it was."""
    file, key = tmp_path / "own.pem", tmp_path / "own.key"
    stranger, mine = certificates.unknown_client, certificates.client
    file.write_bytes(stranger.file.read_bytes())
    key.write_bytes(stranger.key.read_bytes())
    settings = TLS(ca_file=certificates.ca_file, certificate_file=file, key_file=key)
    assert failing(listeners["client"].url, tls=settings).status == Status.TLS
    file.write_bytes(mine.file.read_bytes())
    key.write_bytes(mine.key.read_bytes())
    settings.reload()
    file.write_text("garbage")
    with pytest.raises(TLSError):
        settings.reload()
    with Client(listeners["client"].url, tls=settings) as client:
        assert echoed(client, level)
    settings.reload(certificate_file=None, key_file=None, certificate_pem=mine.file.read_text(), key_pem=mine.key.read_text())
    with Client(listeners["client"].url, tls=settings) as client:
        assert echoed(client, level)


def test_a_pre_shared_key(listeners, level):
    for key in (PSK_KEY, bytes.fromhex(PSK_KEY)):
        with Client(listeners["psk"].url, tls=TLS(psk_identity=PSK_IDENTITY, psk=key)) as client:
            assert echoed(client, level) and client.tls_info.certificates == ()
    told = failing(listeners["psk"].url, tls=TLS(psk_identity=PSK_IDENTITY, psk="00" * 16))
    assert told.failure.tls_cause == TLSCause.PSK and "0000" not in str(told)


# ---- What is said when it fails

FAILURES = {  # listener: cause, words of print(error), subject
    "expired": (TLSCause.EXPIRED, "has expired", "expired"),
    "future": (TLSCause.NOT_YET_VALID, "not valid yet", "future"),
    "wrong-name": (TLSCause.NAME, "for another name or address", "wrong-name"),
    "unknown": (TLSCause.UNKNOWN_CA, "ca_file names the CA to be trusted", ""),
    "self-signed": (TLSCause.UNKNOWN_CA, "no trusted CA", "self-signed"),
    "client": (TLSCause.CERTIFICATE_WANTED, "requires a client certificate: certificate_file and key_file", ""),
    "plain": (TLSCause.NOT_TLS, "does not speak TLS", ""),
}


@pytest.mark.parametrize("listener", FAILURES)
def test_a_failure_in_words(listeners, trusting, listener):
    cause, words, subject = FAILURES[listener]
    address = listeners[listener]
    told = failing(address.url.replace("mqtt://", "mqtts://"), tls=trusting)
    assert isinstance(told, TLSError) and isinstance(told, ConnectionError) and told.status == Status.TLS
    failure = told.failure
    assert failure.tls_cause == cause and (told.stage, failure.stage) == (Stage.TLS, Stage.TLS)
    assert words in str(told) and f"127.0.0.1:{address.port}" in str(told) and "stage tls" in str(told)
    assert failure.cause_name and failure.cause_name == swiftmqtt.Failure(tls_cause=cause).cause_name
    if subject:
        assert subject in failure.tls_subject and failure.tls_depth == 0
    if listener == "expired":
        assert failure.not_after < datetime.now(timezone.utc)
        assert f"to {failure.not_after:%Y-%m-%d}" in str(told)
    if listener == "client":
        assert failure.tls_alert == 116 and "alert is 116, certificate required" in str(told)


def test_more_failures(listeners, certificates):
    url, trusted = listeners["good"].url, certificates.ca_file
    crl = TLS(ca_file=trusted, crl_file=certificates.crl)
    own = {"certificate_file": certificates.revoked_client.file, "key_file": certificates.revoked_client.key}
    for address, settings, causes in (
        (url, TLS(ca_file=trusted, pins=["ab" * 32]), {TLSCause.PIN}),
        (listeners["revoked"].url, crl, {TLSCause.REVOKED}),
        (listeners["tls1.3"].url, TLS(ca_file=trusted, maximum=TLSVersion.TLSv1_2), {TLSCause.VERSION}),
        (listeners["client-crl"].url, TLS(ca_file=trusted, **own), {TLSCause.CERTIFICATE_REFUSED}),
        (url, TLS(), {TLSCause.UNKNOWN_CA}),
    ):
        assert failing(address, tls=settings).failure.tls_cause in causes
    with Client(listeners["revoked"].url, tls=TLS(ca_file=trusted)) as client:
        assert client.is_connected


def test_the_record_stays_until_a_connection_succeeds(listeners, trusting):
    client = Client(listeners["expired"].url, tls=trusting)
    with pytest.raises(TLSError) as told:
        client.connect()
    assert client.failure is told.value.failure and client.failure.tls_cause == TLSCause.EXPIRED
    assert "expired" in str(client.failure) and client.stats["ended_tls"] == 1
    client.close()


def test_the_name_to_check(listeners, trusting, level):
    with Client(listeners["wrong-name"].url, tls=trusting, tls_name="other.example") as client:
        assert echoed(client, level)
    for settings in (TLS(ca_file=listeners.certificates.ca_file, no_name_check=True), TLS(no_verify=True)):
        with Client(listeners["wrong-name"].url, tls=settings) as client:
            assert echoed(client, level)


def test_host_and_port_as_options(listeners, trusting, level):
    address = listeners["good"]
    with Client(host=address.host, port=address.port, tls=trusting) as client:
        assert echoed(client, level)
    with Client(f"{address.host}:{address.port}", tls=trusting) as client:  # the same
        assert echoed(client, level)


# ---- As with ssl.SSLContext


def test_a_context(listeners, certificates, level, tmp_path):
    text = certificates.ca_file.read_text()
    der = ssl.PEM_cert_to_DER_cert(text)
    other = ssl.PEM_cert_to_DER_cert(certificates.other.certificate.read_text())
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    url = listeners["client"].url
    for ca in ({"cafile": certificates.ca_file}, {"capath": directory}, {"cadata": text}, {"cadata": other + der}):
        context = create_default_context(ssl.Purpose.SERVER_AUTH, **ca)
        context.load_cert_chain(certificates.client.file, certificates.client.key)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["mqtt"])
        with Client(url, tls=context) as client:
            assert echoed(client, level) and client.tls_info.version == "TLSv1.3"
    both = tmp_path / "both.pem"
    both.write_text(certificates.client.file.read_text() + certificates.client.encrypted_key(PASSWORD).read_text())
    context = create_default_context(cafile=certificates.ca_file)
    context.load_cert_chain(both, password=lambda: PASSWORD.encode())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Client(url, tls=context) as client:
        assert client.tls_info.version == "TLSv1.2"


def test_a_context_as_python_has_it():
    """Attributes have the values that ssl's has, and refuse what it refuses."""
    for make in (create_default_context, ssl.create_default_context):
        context = make()
        assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
        with pytest.raises(ValueError, match="check_hostname"):
            context.verify_mode = ssl.CERT_NONE
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.check_hostname = True
        assert context.verify_mode == ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        with pytest.raises(TypeError, match="omitted"):
            context.load_verify_locations()
        with pytest.raises(FileNotFoundError):
            context.load_cert_chain("/nowhere/at/all.pem")
        with pytest.raises(FileNotFoundError):
            context.load_verify_locations("/nowhere/at/all.pem")
    ours = create_default_context()
    for name, wrong in (("verify_mode", 7), ("verify_flags", 0x80000000), ("maximum_version", ssl.TLSVersion.TLSv1)):
        with pytest.raises(ValueError):
            setattr(ours, name, wrong)
    for wrong in ("mqtt", ["a", "b"], [1]):
        with pytest.raises(swiftmqtt.ArgumentError, match="list of one text"):
            ours.set_alpn_protocols(wrong)
    with pytest.raises(ValueError, match="no certificates in DER"):
        ours.load_verify_locations(cadata=b"\x30\x82\xff\xff\x00")


def test_an_unverified_context(listeners, level):
    context = create_default_context()
    context.check_hostname = False
    with pytest.raises(TLSError):
        Client(listeners["wrong-name"].url, tls=context).connect()
    context.verify_mode = ssl.CERT_NONE
    with Client(listeners["wrong-name"].url, tls=context) as client:
        assert echoed(client, level)


def test_a_context_of_python_is_refused(certificates):
    context = ssl.create_default_context(cafile=str(certificates.ca_file))
    with pytest.raises(swiftmqtt.ArgumentError, match=r"cannot be an ssl.SSLContext.*swiftmqtt.create_default_context\(\)"):
        Client("mqtts://localhost", tls=context)


# ---- asyncio


def test_asyncio(listeners, trusting, level):
    async def main() -> None:
        async with aio.Client(listeners["good"].url, tls=trusting) as client:
            await client.subscribe(level, qos=1)
            await client.publish(level, "through TLS", qos=1)
            assert (await client.receive()).text() == "through TLS"
            assert client.tls_info.version == "TLSv1.3"
        with pytest.raises(TLSError, match="has expired"):
            client = aio.Client(listeners["expired"].url, tls=trusting)
            async with client:
                pass
        assert client.failure.tls_cause == TLSCause.EXPIRED

    asyncio.run(asyncio.wait_for(main(), 50))


# ---- What is wrong before a connection


WRONG = [
    ({"certificate_file": "x"}, "a certificate needs its key"),
    ({"key_file": "x"}, "a key needs its certificate"),
    ({"key_file": "x", "key_pem": "x", "certificate_file": "x"}, "of key_file, key_pem and key_uri, one is given"),
    ({"certificate_file": "x", "certificate_pem": "x", "key_file": "x"}, "of certificate_file and certificate_pem"),
    ({"key_engine": "x"}, "key_engine is for key_uri"),
    ({"psk": "00"}, "psk needs psk_identity"),
    ({"psk_identity": "x"}, "psk_identity needs psk"),
    ({"psk": bytes(257), "psk_identity": "x"}, "at most 256 bytes"),
    ({"psk": "not hex", "psk_identity": "x"}, "bytes, or a text of hex digits"),
    ({"psk": "00", "psk_identity": "x" * 128}, "at most 127 bytes"),
    ({"psk": "00", "psk_identity": "x", "ca_file": "x"}, "takes the place of"),
    ({"minimum": 0x0302}, "minimum is"),
    ({"maximum": 3}, "maximum is"),
    ({"minimum": 0x0304, "maximum": 0x0303}, "minimum is above maximum"),
    ({"no_verify": True, "ocsp": True}, "no_verify is not for"),
    ({"no_verify": "false"}, "True or False"),
    ({"clock_floor_s": -1}, "out of range"),
    ({"clock_floor_s": 1 << 63}, "out of range"),
    ({"minimum": "TLSv1.3"}, "a whole number"),
    ({"ca_file": 5}, "the name of a file"),
    ({"ca_file": "a\0b"}, "zero byte"),
    ({"ca_pem": 5}, "a text"),
    ({"ciphers": b"x"}, "a text"),
    ({"groups": "\ud800"}, "UTF-8"),
    ({"pins": ["sha256//?"]}, "32 bytes"),
    ({"pins": 5}, "a list"),
    ({"password": 5}, "password is a text, bytes or a function"),
]  # fmt: skip


EMPTY = [
    *({name: ""} for name in (
        "ca_file", "ca_directory", "ca_pem", "certificate_file", "certificate_pem", "key_file", "key_pem", "key_uri", "key_engine",
        "crl_file", "psk", "psk_identity", "ciphers", "cipher_suites", "groups", "key_log_file")),
    {"ca_pem": b""}, {"psk": b""}, {"pins": []},
]  # fmt: skip


@pytest.mark.parametrize("options", EMPTY, ids=repr)
def test_what_is_empty_is_no_default(options):
    """A variable of the environment without a value, a file without anything: they do not mean that all CAs of the system are
    trusted, or any key."""
    with pytest.raises(swiftmqtt.ArgumentError, match=f"{next(iter(options))} is empty"):
        TLS(**options)


def test_no_data_is_no_ca():
    """ssl.SSLContext refuses it, too."""
    for nothing in "", b"":
        with pytest.raises(ValueError):
            swiftmqtt.create_default_context(cadata=nothing).settings()


@pytest.mark.parametrize("options, said", WRONG, ids=lambda value: "-".join(value) if isinstance(value, dict) else "")
def test_wrong_options(options, said):
    with pytest.raises(swiftmqtt.ArgumentError, match=said):
        TLS(**options)


def test_files_that_cannot_be_used(tmp_path, certificates):
    (tmp_path / "garbage").write_text("garbage")
    mine = certificates.client
    for options, cause, said in (
        ({"ca_file": "/nowhere/ca.pem"}, TLSCause.CA_FILE, "No such file"),
        ({"ca_file": tmp_path / "garbage"}, TLSCause.CA_FILE, "ca_file"),
        ({"ca_pem": "garbage"}, TLSCause.CA_FILE, "ca_pem"),
        ({"crl_file": tmp_path / "garbage"}, TLSCause.CA_FILE, "crl_file"),
        ({"certificate_file": mine.file, "key_file": tmp_path / "garbage"}, TLSCause.KEY, "key"),
        ({"certificate_file": mine.file, "key_file": certificates.good.key}, TLSCause.KEY, "key"),
        ({"ciphers": "garbage"}, TLSCause.CIPHER, "ciphers"),
    ):
        with pytest.raises(TLSError) as told:
            TLS(**options)
        assert told.value.failure.tls_cause == cause and said in str(told.value), str(told.value)


def test_an_option_that_there_is_not():
    with pytest.raises(TypeError, match="no option 'cafile' of TLS: did you mean ca_file?"):
        TLS(cafile="x")
    with pytest.raises(TypeError, match=r"no option 'ca_certs': it is a part of tls: tls=swiftmqtt.TLS\(ca_file"):
        Client("mqtts://localhost", ca_certs="x")
    for url, tls, said in (
        ("mqtt://localhost", True, "tls is for mqtts://"),
        ("ws://localhost", True, "tls is for wss://"),
        ("mqtts://localhost", False, "is with TLS"),
        ("unix:/tmp/socket", True, "needs tls_name"),
        ("mqtts://localhost", "yes", "tls is True, a swiftmqtt.TLS"),
    ):
        with pytest.raises(swiftmqtt.ArgumentError, match=said):
            Client(url, tls=tls)


def test_no_secret_is_shown(certificates):
    settings = TLS(psk_identity="me", psk="5ec4e7")
    assert repr(settings) == "<swiftmqtt.TLS of psk_identity, psk>"


def test_the_library_is_missing(environment, tmp_path):
    """The import works, and what needs no TLS; who wants TLS is told the package."""
    code = """
import swiftmqtt
swiftmqtt.Client("mqtt://localhost").close()
for make in (swiftmqtt.TLS, lambda: swiftmqtt.Client("mqtts://localhost")):
    try:
        make()
    except swiftmqtt.ArgumentError as error:
        print(error.status_name, error)
"""
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "SWIFTMQTT_TLS_LIBRARY": str(tmp_path / "nowhere.so")},
        capture_output=True,
        text=True,
        timeout=30,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all(line.startswith("SMQ_ERR_NOT_SUPPORTED") for line in lines), done
    assert "libswiftmqtt-tls1" in lines[1] and "libssl3" in lines[1] and "nowhere.so" in lines[1]
    environment["SWIFTMQTT_TLS_LIBRARY"] = "libc.so.6"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=30)
    assert "libc.so.6: it has no smq_tls_openssl()" in done.stdout
