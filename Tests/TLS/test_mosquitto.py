"""The engine with Mosquitto: what is accepted, what is refused, and why."""

from __future__ import annotations

import pytest

from Support.many_listeners import PSK_IDENTITY, PSK_KEY

from .engine import CONSTANTS, Failed, Settings, leave, mqtt


def address(listener):
    return listener.host, listener.port


@pytest.mark.parametrize("maximum, version", [(0x0303, 0x0303), (0, 0x0304)])
@pytest.mark.parametrize("name", ["good", "rsa", "below", "tls1.3"])
def test_it_connects(certificates, listeners, name, maximum, version):
    if name == "tls1.3" and maximum == 0x0303:
        with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings, pytest.raises(Failed) as failed:
            mqtt(settings, address(listeners[name]))
        assert (failed.value.cause, failed.value.alert) == ("VERSION", 70)
        return
    with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings:
        connection = mqtt(settings, address(listeners[name]))
        info = connection.info()
        assert info.version == version and not info.is_resumed
        assert info.cipher.startswith(b"TLS_") and info.cipher_id
        assert info.certificates == (2 if name == "below" else 1)
        assert info.library.startswith(b"OpenSSL 3.") and info.connection
        leave(connection)


@pytest.mark.parametrize("maximum", [0x0303, 0])
def test_it_connects_byte_by_byte(certificates, listeners, maximum):
    with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings:
        connection = mqtt(settings, address(listeners["good"]), piece=1)
        assert connection.received_bytes > 500
        leave(connection)


REFUSED = {
    "expired": ("EXPIRED", 10, 0),
    "future": ("NOT_YET_VALID", 9, 0),
    "unknown": ("UNKNOWN_CA", 20, 0),
    "self-signed": ("UNKNOWN_CA", 18, 0),
    "wrong-name": ("NAME", 62, 0),
}


@pytest.mark.parametrize("maximum", [0x0303, 0])
@pytest.mark.parametrize("name", REFUSED)
def test_it_says_what_is_wrong_with_a_certificate(certificates, listeners, name, maximum):
    with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings, pytest.raises(Failed) as failed:
        mqtt(settings, address(listeners[name]))
    why = failed.value
    assert (why.cause, why.why.native, why.depth, why.alert) == (*REFUSED[name], -1)
    assert why.subject == f"CN={name}" and why.text
    assert 0 < why.why.not_before_s < why.why.not_after_s


def test_an_address_is_checked(certificates, listeners):
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address(listeners["good"]), "127.0.0.1"))
        leave(mqtt(settings, address(listeners["good"]), "::1"))
        with pytest.raises(Failed) as failed:
            mqtt(settings, address(listeners["good"]), "127.0.0.2")
        assert (failed.value.cause, failed.value.why.native) == ("NAME", 64)


@pytest.mark.parametrize("maximum", [0x0303, 0])
def test_a_client_certificate(certificates, listeners, maximum):
    def attempt(listener, certificate):
        options = {"certificate_file": certificate.file, "key_file": certificate.key} if certificate else {}
        with Settings(ca_file=certificates.ca_file, maximum=maximum, **options) as settings:
            leave(mqtt(settings, address(listeners[listener])))

    attempt("client", certificates.client)
    attempt("client-crl", certificates.client)
    with pytest.raises(Failed) as failed:
        attempt("client", None)
    assert (failed.value.cause, failed.value.alert) == ("CERTIFICATE_WANTED", 40 if maximum else 116)
    with pytest.raises(Failed) as failed:
        attempt("client", certificates.unknown_client)
    assert (failed.value.cause, failed.value.alert) == ("CERTIFICATE_REFUSED", 48)
    with pytest.raises(Failed) as failed:
        attempt("client-crl", certificates.revoked_client)
    assert (failed.value.cause, failed.value.alert) == ("CERTIFICATE_REFUSED", 44)


@pytest.mark.parametrize("maximum", [0x0303, 0])
def test_a_pre_shared_key(certificates, listeners, maximum):
    where, key = address(listeners["psk"]), bytes.fromhex(PSK_KEY)
    with Settings(psk_identity=PSK_IDENTITY, psk=key, maximum=maximum) as settings:
        connection = mqtt(settings, where)
        assert connection.info().certificates == 0
        leave(connection)
    for wrong in {"psk_identity": PSK_IDENTITY, "psk": b"wrong"}, {"psk_identity": "nobody", "psk": key}:
        with Settings(maximum=maximum, **wrong) as settings, pytest.raises(Failed) as failed:
            mqtt(settings, where)
        assert failed.value.cause == "PSK" and failed.value.alert >= 0
    # A client with certificates, and a server with certificates for a client with a key.
    with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings, pytest.raises(Failed) as failed:
        mqtt(settings, where)
    assert (failed.value.cause, failed.value.alert) == ("CIPHER", 40)
    with Settings(psk_identity=PSK_IDENTITY, psk=key, maximum=maximum) as settings, pytest.raises(Failed) as failed:
        mqtt(settings, address(listeners["good"]))
    assert failed.value.cause == "PSK"


def test_a_port_without_tls(certificates, listeners):
    with Settings(ca_file=certificates.ca_file) as settings, pytest.raises(Failed) as failed:
        mqtt(settings, address(listeners["plain"]))
    assert failed.value.cause == "NOT_TLS"


@pytest.mark.parametrize("flags, listener", [("NO_NAME_CHECK", "wrong-name"), ("NO_TIME", "expired"), ("NO_TIME", "future"),
                                             ("NO_VERIFY", "unknown"), ("NO_VERIFY", "self-signed")])
def test_a_flag_lets_through_what_it_says(certificates, listeners, flags, listener):
    with Settings(ca_file=certificates.ca_file, flags=CONSTANTS[f"SMQ_TLS_{flags}"]) as settings:
        leave(mqtt(settings, address(listeners[listener])))
        if flags != "NO_VERIFY":
            with pytest.raises(Failed):
                mqtt(settings, address(listeners["unknown"]))
