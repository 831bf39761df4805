"""Revocation: CRLs, and OCSP responses that come with the handshake."""

from __future__ import annotations

import ctypes
import socket
import time

import pytest

from Support.certificates import YEAR_AGO, YESTERDAY, bundle, hashed_directory, openssl

from .engine import CONSTANTS, Connection, Failed, Settings
from .memory_peer import MemoryPeer, server_context

CRL_CHECK, CRL_ALL, OCSP, OCSP_REQUIRED = (
    CONSTANTS[f"SMQ_TLS_{name}"] for name in ("CRL_CHECK", "CRL_ALL", "OCSP", "OCSP_REQUIRED"))

# Numbers of OpenSSL's <openssl/tls1.h>: SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB and so on.
SET_STATUS_CALLBACK, SET_STATUS_ARGUMENT, SET_STATUS_TYPE = 63, 64, 65


def outcome(sock, **options):
    with Settings(**options) as settings:
        try:
            with Connection(settings, None, sock=sock) as connection:
                connection.open()
                return ""
        except Failed as failed:
            return failed.cause


# ---- CRLs


@pytest.mark.parametrize("server, flags, cause", [
    ("good", 0, ""), ("revoked", 0, "REVOKED"), ("good", CRL_ALL, ""), ("revoked", CRL_ALL, "REVOKED"),
    ("below", 0, "REVOCATION_UNKNOWN"), ("below", CRL_ALL, "REVOCATION_UNKNOWN")])
def test_a_crl(certificates, server, flags, cause):
    peer = MemoryPeer(server_context(getattr(certificates, server)))
    assert outcome(peer, ca_file=certificates.ca_file, crl_file=certificates.crl, flags=flags) == cause


def test_a_crl_for_all_of_the_chain(certificates, tmp_path):
    below = certificates.root.authority(f"crl-{tmp_path.name}")
    server, of_below = below.issue("server"), below.crl()
    lists = bundle(tmp_path / "crls.pem", certificates.crl, of_below)
    for file, flags, cause in ((of_below, CRL_CHECK, ""), (of_below, CRL_ALL, "REVOCATION_UNKNOWN"), (lists, CRL_ALL, "")):
        peer = MemoryPeer(server_context(server))
        assert outcome(peer, ca_file=certificates.ca_file, crl_file=file, flags=flags) == cause


def test_crls_in_files_of_certificates_and_in_a_directory(certificates, tmp_path):
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file, certificates.crl)
    for trust in {"ca_file": certificates.ca_and_crl}, {"ca_directory": directory}, {
            "ca_pem": certificates.ca_and_crl.read_bytes()}:
        for server, cause in ("revoked", "REVOKED"), ("good", ""):
            peer = MemoryPeer(server_context(getattr(certificates, server)))
            assert outcome(peer, flags=CRL_CHECK, **trust) == cause
    peer = MemoryPeer(server_context(certificates.good))
    assert outcome(peer, flags=CRL_CHECK, ca_file=certificates.ca_file) == "REVOCATION_UNKNOWN"


def test_a_crl_that_is_too_old(certificates, tmp_path):
    old = certificates.root.authority(f"old-{tmp_path.name}")
    server, crl = old.issue("server"), old.crl(ends=YESTERDAY)
    assert outcome(MemoryPeer(server_context(server)), ca_file=certificates.ca_file, crl_file=crl) == "REVOCATION_UNKNOWN"


# ---- OCSP


@pytest.fixture(scope="module")
def responses(certificates, tmp_path_factory):
    """Responses as files, about the certificates of an authority below the root."""
    directory = tmp_path_factory.mktemp("ocsp")
    below = certificates.root.authority("responding")
    responder = {"extendedKeyUsage": "OCSPSigning"}

    class Responses:
        good, revoked, unknown, other = (below.issue(name) for name in ("fine", "gone", "unlisted", "another"))
        delegate, impostor = below.issue("delegate", extensions=responder), below.issue("impostor")
        too_late = below.issue("too-late", extensions=responder, begins=YEAR_AGO, ends=YESTERDAY)
        made = 0

        def respond(self, certificate, signer=below, *more):
            self.made += 1
            index, out = directory / f"{self.made}.txt", directory / f"{self.made}.der"
            index.write_text("".join(line for line in below.index.read_text().splitlines(True) if "unlisted" not in line))
            request = directory / "request.der"
            digest = more[:1] if more and more[0] == "-sha256" else ()
            openssl("ocsp", *digest, "-issuer", below.certificate, "-cert", certificate.file, "-reqout", request)
            signer_file = getattr(signer, "file", None) or signer.certificate
            openssl("ocsp", "-index", index, "-rsigner", signer_file, "-rkey", signer.key, "-CA", below.certificate, "-reqin",
                    request, "-respout", out, *(more[1:] if digest else more or ("-ndays", "7")))
            return out

    below.revoke(Responses.revoked)
    return Responses()


@pytest.fixture
def stapled(certificates, s_server):
    def answer(certificate, response, flags, **options):
        port = s_server("-cert", certificate.file, "-key", certificate.key, "-cert_chain", certificate.issuer.certificate,
                        *(("-status_file", response) if response else ()), "-tls1_2" if options.pop("old", 0) else "-tls1_3")
        options = {"ca_file": certificates.ca_file, "flags": flags, **options}
        options = {name: value for name, value in options.items() if value is not None}
        return outcome(socket.create_connection(("127.0.0.1", port)), **options)

    return answer


@pytest.mark.parametrize("old", [0, 1])
def test_a_stapled_response(responses, stapled, old):
    good, revoked = responses.respond(responses.good), responses.respond(responses.revoked)
    for flags in OCSP, OCSP_REQUIRED:
        assert stapled(responses.good, good, flags, old=old) == ""
        assert stapled(responses.revoked, revoked, flags, old=old) == "REVOKED"
    assert stapled(responses.good, None, OCSP, old=old) == ""
    assert stapled(responses.good, None, OCSP_REQUIRED, old=old) == "REVOCATION_UNKNOWN"
    assert stapled(responses.revoked, revoked, 0, old=old) == ""


def test_what_a_response_is_worth(responses, stapled, tmp_path):
    """Required: only what says that this certificate is good, signed by who may, now."""
    respond = responses.respond
    week = 7 * 86400
    garbage = tmp_path / "garbage.der"
    garbage.write_bytes(b"\x30\x03\x0a\x01\x00")  # "successful", and nothing in it
    for name, certificate, response, cause, more in (
            ("delegated", responses.good, respond(responses.good, responses.delegate), "", {}),
            ("SHA-256", responses.good, respond(responses.good, responses.delegate, "-sha256", "-ndays", "7"), "", {}),
            ("a server as responder", responses.good, respond(responses.good, responses.impostor), "REVOCATION_UNKNOWN", {}),
            ("a responder too late", responses.good, respond(responses.good, responses.too_late), "REVOCATION_UNKNOWN", {}),
            ("about another", responses.good, respond(responses.other), "REVOCATION_UNKNOWN", {}),
            ("about an unknown one", responses.unknown, respond(responses.unknown), "REVOCATION_UNKNOWN", {}),
            ("nothing", responses.good, garbage, "REVOCATION_UNKNOWN", {}),
            ("too old", responses.good, respond(responses.good), "REVOCATION_UNKNOWN",
             {"verify_time_s": int(time.time()) + week + 3600}),
            ("too new", responses.good, respond(responses.good), "REVOCATION_UNKNOWN", {"verify_time_s": int(time.time()) - 3600})):
        assert stapled(certificate, response, OCSP_REQUIRED, **more) == cause, name
        assert stapled(certificate, response, OCSP, **more) == "", name


def test_the_programs_own_connections_with_its_context(responses, stapled, certificates, s_server):
    """A program may share its SSL_CTX with a client. Whether a response will do for its other connections, its own callback
    says, if it has one; ours is for ours."""
    library = ctypes.CDLL("libssl.so.3")
    for name in "TLS_client_method", "SSL_CTX_new", "SSL_new":
        getattr(library, name).restype = ctypes.c_void_p
    for with_callback in False, True:
        asked = []
        context = ctypes.c_void_p(library.SSL_CTX_new(ctypes.c_void_p(library.TLS_client_method())))
        assert library.SSL_CTX_load_verify_file(context, str(certificates.ca_file).encode()) == 1
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda ssl, user: asked.append(user) or 0)
        if with_callback:
            library.SSL_CTX_callback_ctrl(context, SET_STATUS_CALLBACK, callback)
            library.SSL_CTX_ctrl(context, SET_STATUS_ARGUMENT, ctypes.c_long(0), ctypes.c_void_p(7))
        good, revoked = responses.respond(responses.good), responses.respond(responses.revoked)
        for _ in range(2):  # what the context had is not forgotten when it is used again
            assert stapled(responses.good, good, OCSP_REQUIRED, ca_file=None, ssl_ctx=context.value) == ""
            assert stapled(responses.revoked, revoked, OCSP_REQUIRED, ca_file=None, ssl_ctx=context.value) == "REVOKED"
        port = s_server("-cert", certificates.good.file, "-key", certificates.good.key)
        ssl = ctypes.c_void_p(library.SSL_new(context))
        assert library.SSL_ctrl(ssl, SET_STATUS_TYPE, ctypes.c_long(1), None) == 1
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            sock.setblocking(True)
            assert library.SSL_set_fd(ssl, sock.fileno()) == 1
            assert (library.SSL_connect(ssl) == 1) == (not with_callback)
        assert asked == [7] * with_callback
        library.SSL_free(ssl)
        library.SSL_CTX_free(context)
