"""The ways to set TLS that test_tls.py tries on both libraries."""

from __future__ import annotations

from Support.certificates import hashed_directory
from Support.many_listeners import PSK_IDENTITY, PSK_KEY

from .tls_caller import (
    ALPN,
    ENGINE,
    ENGINE_PIN,
    FALSE,
    KEYFORM,
    OCSP,
    OS_CERTS,
    SSL_CTX,
    TRUE,
    WITH_DEFAULTS,
    Row,
    SecureCaller,
    context,
    no,
)

CRL_CHECK = 4  # X509_V_FLAG_CRL_CHECK


def root(caller: SecureCaller) -> object:
    return caller.certificates.ca_file


def other(caller: SecureCaller) -> object:
    return caller.certificates.other.certificate


def hashed(caller: SecureCaller) -> object:
    directory = caller.certificates.directory / "hashed"
    return directory if directory.exists() else hashed_directory(directory, caller.certificates.ca_file)


def key_of(name: str) -> object:
    return lambda caller: getattr(caller.certificates, name).key


def file_of(name: str) -> object:
    return lambda caller: getattr(caller.certificates, name).file


def encrypted(caller: SecureCaller) -> object:
    return caller.certificates.client.encrypted_key("password")


def trusts(ca: object = root, path: object = no, certificate: object = no, key: object = no, ask: object = no) -> tuple:
    return ("tls_set", ca, path, certificate, key, ask)


def says(text: bytes) -> object:
    return lambda caller: caller.password(text)


CLIENT = trusts(root, no, file_of("client"), key_of("client"))
INSECURE = ("tls_insecure_set", TRUE)
PSK = ("tls_psk_set", PSK_KEY.encode(), PSK_IDENTITY.encode(), None)


def version(text: bytes | None, requirements: int = 1, ciphers: bytes | None = None) -> tuple:
    return ("tls_opts_set", requirements, text, ciphers)


def each(name: str, listeners: tuple[str, ...], *calls: tuple, **more: object) -> tuple[Row, ...]:
    return tuple(Row(f"{name}: {listener}", calls, listener, **more) for listener in listeners)


BAD = ("wrong-name", "expired", "future", "unknown", "self-signed")
ALL = ("good", "tls1.3", "rsa", "below", "revoked", *BAD, "client", "psk", "plain")

ROWS = (
    Row("nothing set"),
    *each("CA file", ALL, trusts()),
    *each("insecure", BAD, trusts(), INSECURE),
    *each("not verified", BAD, trusts(), version(None, 0)),
    *each("another CA", ("good", "unknown"), trusts(other)),
    *(Row(f"to {host}", (trusts(),), host=host) for host in ("127.0.0.1", "LOCALHOST", "localhost.")),
    Row("an address that is not in the certificate", (trusts(),), "wrong-name", "127.0.0.1"),
    Row("insecure and secure again", (trusts(), INSECURE, ("tls_insecure_set", FALSE)), "wrong-name"),
    # CAs
    Row("CA directory", (trusts(no, hashed),)),
    Row("CA directory that is not there", (trusts(no, b"/nowhere"),)),
    Row("CA directory without the CA", (trusts(no, b"/tmp"),)),
    Row("CA file and directory", (trusts(other, hashed),)),
    Row("CA file that is not there", (trusts(b"/nowhere"),)),
    Row("CA file that was there before", (trusts(), trusts(b"/nowhere"))),
    Row("CA file without a certificate", (trusts(key_of("good")),)),
    Row("CA file that is a directory", (trusts(b"/tmp"),)),
    Row("CA file that is empty", (trusts(b"/dev/null"),)),
    Row("CA file with CRLs", (trusts(lambda caller: caller.certificates.ca_and_crl),), "revoked"),
    Row("neither file nor directory", (trusts(no),)),
    Row("no CA after one", (trusts(), trusts(no))),
    # The client's own certificate
    *each("client certificate", ("good", "client", "client-crl", "client-name", "plain"), CLIENT),
    Row("client certificate of another CA", (trusts(root, no, file_of("unknown_client"), key_of("unknown_client")),),
        "client"),
    Row("client certificate that was revoked", (trusts(root, no, file_of("revoked_client"), key_of("revoked_client")),),
        "client-crl"),
    Row("client certificate, TLS 1.2", (CLIENT, version(b"tlsv1.2")), "client"),
    Row("no client certificate, TLS 1.3", (trusts(), version(b"tlsv1.3")), "client"),
    Row("certificate without a key", (trusts(root, no, file_of("client")),)),
    Row("key without a certificate", (trusts(root, no, no, key_of("client")),)),
    Row("certificate that is not there", (trusts(), trusts(root, no, b"/nowhere", key_of("client")))),
    Row("key that is not there", (trusts(), trusts(root, no, file_of("client"), b"/nowhere"))),
    Row("key of another certificate", (trusts(root, no, file_of("client"), key_of("good")),), "client"),
    Row("key that is none", (trusts(root, no, file_of("client"), root),), "client"),
    Row("certificate that is none", (trusts(root, no, key_of("client"), key_of("client")),), "client"),
    Row("encrypted key", (trusts(root, no, file_of("client"), encrypted, says(b"password")),), "client"),
    Row("encrypted key, wrong password", (trusts(root, no, file_of("client"), encrypted, says(b"wrong")),), "client"),
    Row("encrypted key, no password", (trusts(root, no, file_of("client"), encrypted, says(b"")),), "client"),
    Row("a password nobody asks for", (trusts(root, no, file_of("client"), key_of("client"), says(b"x")),), "client"),
    # Versions and ciphers
    *(Row(f"version {text!r}: {listener}", (trusts(), version(text)), listener)
      for text in (None, b"tlsv1.1", b"tlsv1.2", b"tlsv1.3") for listener in ("good", "tls1.3")),
    *(Row(f"version {text!r}", (trusts(), version(text))) for text in (b"TLSv1.2", b"tlsv1", b"", b"sslv3")),
    Row("ciphers of 1.2", (trusts(), version(b"tlsv1.2", 1, b"ECDHE-ECDSA-CHACHA20-POLY1305"))),
    Row("ciphers that are none", (trusts(), version(None, 1, b"NONE-SUCH"))),
    Row("ciphers, and then none", (trusts(), version(None, 1, b"NONE-SUCH"), version(None))),
    Row("ciphers that no server has", (trusts(), version(None, 1, b"ECDHE-RSA-AES128-SHA"))),
    # PSK
    *each("PSK", ("psk", "good", "plain"), PSK),
    Row("PSK of another key", (("tls_psk_set", b"aabbccdd", PSK_IDENTITY.encode(), None),), "psk"),
    Row("PSK of nobody", (("tls_psk_set", PSK_KEY.encode(), b"nobody", None),), "psk"),
    Row("PSK of an odd number of digits", (("tls_psk_set", b"abc", PSK_IDENTITY.encode(), None),), "psk"),
    Row("PSK in capitals", (("tls_psk_set", PSK_KEY.upper().encode(), PSK_IDENTITY.encode(), None),), "psk"),
    Row("PSK that is no number", (("tls_psk_set", b"xyz", b"identity", None),), "psk"),
    Row("PSK without an identity", (("tls_psk_set", b"ab", None, None),), "psk"),
    Row("PSK without a key", (("tls_psk_set", None, b"identity", None),), "psk"),
    Row("PSK with a cipher", (("tls_psk_set", PSK_KEY.encode(), PSK_IDENTITY.encode(), b"PSK-AES128-GCM-SHA256"),),
        "psk"),
    Row("PSK with a cipher that is none", (("tls_psk_set", PSK_KEY.encode(), b"identity", b"NONE-SUCH"),), "psk"),
    Row("PSK in TLS 1.3", (PSK, version(b"tlsv1.3")), "psk"),
    *each("PSK and a CA", ("psk", "good"), PSK, trusts()),
    # Options
    *each("ALPN", ("good", "tls1.3"), trusts(), ("string_option", ALPN, b"mqtt")),
    Row("ALPN too long", (trusts(), ("string_option", ALPN, b"m" * 300))),
    Row("ALPN alone", (("string_option", ALPN, b"mqtt"),), "plain"),
    Row("the system's CAs", (("int_option", OS_CERTS, 1),),
        environment={"SSL_CERT_FILE": lambda certificates: certificates.ca_file}),
    Row("the system's CAs, without this one", (("int_option", OS_CERTS, 1),),
        environment={"SSL_CERT_FILE": lambda certificates: certificates.other.certificate}),
    Row("the system's CAs, and off again", (("int_option", OS_CERTS, 1), ("int_option", OS_CERTS, 0)), "plain"),
    Row("the system's CAs and one more", (trusts(), ("int_option", OS_CERTS, 1)),
        environment={"SSL_CERT_FILE": lambda certificates: certificates.other.certificate}),
    Row("OCSP without an answer", (trusts(), ("int_option", OCSP, 1))),
    Row("OCSP, and off again", (trusts(), ("int_option", OCSP, 1), ("int_option", OCSP, 0))),
    Row("engine of no such name", (trusts(), ("string_option", ENGINE, b"none-such"))),
    Row("engine", (trusts(), ("string_option", ENGINE, b"rdrand"))),
    Row("key in an engine that has none", (CLIENT, ("string_option", ENGINE, b"rdrand"),
                                           ("string_option", KEYFORM, b"engine")), "client"),
    Row("key in no engine", (CLIENT, ("string_option", KEYFORM, b"ENGINE")), "client"),
    Row("key in an engine, and not", (CLIENT, ("string_option", KEYFORM, b"engine"),
                                      ("string_option", KEYFORM, b"pem")), "client"),
    Row("key in an engine with a PIN", (CLIENT, ("string_option", ENGINE, b"rdrand"),
                                        ("string_option", KEYFORM, b"engine"),
                                        ("string_option", ENGINE_PIN, b"0123456789" * 4)), "client"),
    *(Row(f"wrong option {option} {value!r}", (trusts(), ("string_option", option, value)))
      for option, value in ((KEYFORM, b"x"), (KEYFORM, None), (ENGINE_PIN, b"ab"), (ENGINE_PIN, b"x" * 40))),
    # The program's own context
    *each("own context, as it is", ("good", "expired", "wrong-name", "unknown"),
          ("void_option", SSL_CTX, context()), ("int_option", WITH_DEFAULTS, 0)),
    *each("own context, as it is, verifying", ("good", "expired", "wrong-name", "unknown"),
          ("void_option", SSL_CTX, context(verifies=True, trusts=True)), ("int_option", WITH_DEFAULTS, 0)),
    *each("own context, as it is, with CRLs", ("good", "revoked"),
          ("void_option", SSL_CTX, context(CRL_CHECK, verifies=True, trusts=True)), ("int_option", WITH_DEFAULTS, 0)),
    *each("own context and a CA", ("good", "expired", "wrong-name", "unknown"),
          ("void_option", SSL_CTX, context()), trusts(), warm=True),
    *each("own context, a CA and CRLs", ("good", "revoked"),
          ("opts_set", SSL_CTX, context(CRL_CHECK, trusts=True)), trusts(), warm=True),
    Row("own context without a CA", (("void_option", SSL_CTX, context()),)),
    Row("own context and the system's CAs", (("void_option", SSL_CTX, context()), ("int_option", OS_CERTS, 1))),
    Row("own context and a PSK", (("void_option", SSL_CTX, context()), PSK), "psk", warm=True),
    Row("own context, as it is, without verifying, and a CA",
        (("void_option", SSL_CTX, context()), trusts(), ("int_option", WITH_DEFAULTS, 0)), "unknown"),
    Row("own context, and none", (("void_option", SSL_CTX, context()), ("void_option", SSL_CTX, None)), "plain"),
    Row("NULL by mosquitto_opts_set", (("opts_set", SSL_CTX, None),), "plain"),
    Row("defaults for no context", (("int_option", WITH_DEFAULTS, 1),), "plain"),
)
