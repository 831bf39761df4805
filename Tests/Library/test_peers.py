"""Certificates and the servers that have them do what is said of them, as programs of other people see it. No test here
uses the library: where one of them fails, the fault is the peer's."""

from __future__ import annotations

import socket
import ssl
import subprocess

import pytest

from Support.certificates import Authority, hashed_directory, openssl
from Support.many_listeners import PSK_IDENTITY, PSK_KEY
from Support.servers import need
from Support.waiting import PATIENCE

# X509_V_ERR_… by which OpenSSL refuses each certificate for localhost; 0: it accepts it.
VERDICTS = {
    "good": 0,
    "rsa": 0,
    "below": 0,
    "unknown": 20,
    "self-signed": 18,
    "expired": 10,
    "future": 9,
    "wrong-name": 62,
    "revoked": 23,
}




def handshake(listener, context: ssl.SSLContext, name: str = "localhost") -> ssl.SSLSocket:
    raw = socket.create_connection((listener.host, listener.port), timeout=PATIENCE)
    try:
        return context.wrap_socket(raw, server_hostname=name)
    except BaseException:
        raw.close()
        raise


def verdict(listener, context: ssl.SSLContext, name: str = "localhost") -> int:
    try:
        handshake(listener, context, name).close()
    except ssl.SSLCertVerificationError as error:
        return error.verify_code
    return 0


# ---- Certificates


@pytest.mark.parametrize("name", VERDICTS)
def test_openssl_accepts_and_refuses_what_it_should(certificates, listeners, name):
    context = ssl.create_default_context(cafile=str(certificates.ca_and_crl))
    if name != "below":  # there is no CRL of the intermediate authority
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    assert verdict(listeners[name], context) == VERDICTS[name]


def test_the_good_certificate_is_good_for_addresses_and_in_the_strictest_mode(certificates, listeners):
    context = ssl.create_default_context(cafile=str(certificates.ca_file))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in ("localhost", "127.0.0.1", "::1"):
        assert verdict(listeners["good"], context, name) == 0
    assert verdict(listeners["good"], context, "127.0.0.2") == 64  # X509_V_ERR_IP_ADDRESS_MISMATCH


def test_an_authority_makes_what_a_test_asks_for(tmp_path):
    root = Authority(tmp_path, "root", key="EC-384")
    below = root.authority("below", extensions={"basicConstraints": "critical,CA:TRUE,pathlen:0"})
    deeper = below.authority("deeper")
    # X509_V_ERR_PATH_LENGTH_EXCEEDED
    too_deep = deeper.issue("too-deep")
    assert verify(root, too_deep).splitlines()[1].startswith("error 25 at 2 depth")
    for key in ("Ed25519", "RSA-3072"):
        assert verify(root, below.issue(key, key=key)) == ""
    again = below.issue("again", key=too_deep)
    assert again.key.read_bytes() == too_deep.key.read_bytes() and verify(root, again) == ""
    directory = hashed_directory(tmp_path / "hashed", root.certificate)
    openssl("verify", "-CApath", directory, "-no-CAfile", "-untrusted", again.chain, again.file)
    encrypted = again.encrypted_key("password")
    assert "ENCRYPTED" in encrypted.read_text()
    assert openssl("pkey", "-in", encrypted, "-passin", "pass:password") == again.key.read_text()


def verify(root: Authority, certificate) -> str:
    command = ["openssl", "verify", "-CAfile", root.certificate, "-untrusted", certificate.chain, certificate.file]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stderr


# ---- Mosquitto's listeners


def test_a_message_comes_through_each_listener(certificates, listeners, subscribe, level):
    subscriber = subscribe(listeners, level)
    trust = ["--cafile", certificates.ca_file]
    ours = ["--cert", certificates.client.file, "--key", certificates.client.key]
    options = {
        "plain": [],
        "unix": [],
        "psk": ["--psk-identity", PSK_IDENTITY, "--psk", PSK_KEY],
        "client": trust + ours,
        "client-crl": trust + ours,
        "client-name": trust + ours,
    }
    names = ["plain", "unix", "psk", "good", "tls1.3", "rsa", "below", "client", "client-crl", "client-name"]
    for name in names + ["ipv6"] * ("ipv6" in listeners.listeners):
        publish(listeners[name], level, name, *options.get(name, trust))
        (message,) = subscriber.take(1)
        assert message.payload == name.encode()


@pytest.mark.parametrize("identity, key", [("nobody", PSK_KEY), (PSK_IDENTITY, "00")])
def test_a_wrong_pre_shared_key_is_refused(listeners, level, identity, key):
    with pytest.raises(subprocess.CalledProcessError):
        publish(listeners["psk"], level, "x", "--psk-identity", identity, "--psk", key)


@pytest.mark.parametrize("who, name", [("", "client"), ("unknown_client", "client"), ("revoked_client", "client-crl")])
@pytest.mark.parametrize("version", ["tlsv1.2", "tlsv1.3"])
def test_a_wrong_client_certificate_is_refused(certificates, listeners, level, who, name, version):
    options = ["--cafile", certificates.ca_file, "--tls-version", version]
    if who:
        options += ["--cert", getattr(certificates, who).file, "--key", getattr(certificates, who).key]
    with pytest.raises(subprocess.CalledProcessError):
        publish(listeners[name], level, "x", *options)


def test_a_revoked_client_is_let_in_without_a_list(certificates, listeners, subscribe, level):
    subscriber = subscribe(listeners, level)
    revoked = certificates.revoked_client
    options = ["--cafile", certificates.ca_file, "--cert", revoked.file, "--key", revoked.key]
    publish(listeners["client"], level, "here", *options)
    assert subscriber.take(1)[0].payload == b"here"


def test_one_listener_knows_only_tls_1_3(certificates, listeners):
    context = ssl.create_default_context(cafile=str(certificates.ca_file))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
        handshake(listeners["tls1.3"], context)
    with handshake(listeners["good"], context) as connection:
        assert connection.version() == "TLSv1.2"


def test_ejabberd_takes_mqtts(certificates, ejabberd, subscribe, level):
    subscriber = subscribe(ejabberd, level)
    login = ["-u", ejabberd.login[0], "-P", ejabberd.login[1]]
    publish(ejabberd.listeners["mqtts"], level, "here", "--cafile", certificates.ca_file, *login)
    assert subscriber.take(1)[0].payload == b"here"


def publish(listener, topic: str, payload: str, *options: object) -> None:
    command = [need("mosquitto_pub"), *listener.options, "-q", "1", "-t", topic, "-m", payload, *map(str, options)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
