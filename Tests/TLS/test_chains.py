"""Certificate chains that are wrong in one way each, as handshakes. Beside them, what OpenSSL by itself says of the same chain:
none that it refuses is accepted."""

from __future__ import annotations

import ctypes
import json
import ssl
import subprocess
from pathlib import Path

import pytest

from .engine import Connection, Failed, Settings
from .memory_peer import MemoryPeer, server_context


@pytest.fixture(scope="module")
def cases(tmp_path_factory, python_with_requirements):
    directory = tmp_path_factory.mktemp("chains")
    subprocess.run([python_with_requirements, "-W", "ignore", Path(__file__).with_name("chains.py"), directory], check=True,
                   timeout=120)
    return json.loads((directory / "cases.json").read_text())


class OpenSSL:
    """X509_verify_cert(), with OpenSSL's defaults for a TLS client."""

    LEVEL = 2  # of security: Debian's

    def __init__(self):
        self.crypto = ctypes.CDLL("libcrypto.so.3")
        for name in ("BIO_new_file", "PEM_read_bio_X509", "X509_STORE_new", "X509_STORE_CTX_new", "X509_STORE_CTX_get0_param",
                     "OPENSSL_sk_new_null", "X509_verify_cert_error_string"):
            getattr(self.crypto, name).restype = ctypes.c_char_p if name.endswith("string") else ctypes.c_void_p

    def call(self, name, *arguments):
        return getattr(self.crypto, name)(*(ctypes.c_void_p(value) if isinstance(value, int) and value > 2**31 else value
                                            for value in arguments))

    def certificates(self, path):
        bio = self.call("BIO_new_file", path.encode(), b"r")
        stack = self.call("OPENSSL_sk_new_null")
        while certificate := self.call("PEM_read_bio_X509", bio, None, None, None):
            self.call("OPENSSL_sk_push", stack, certificate)
        self.call("BIO_free", bio)
        return stack

    def judge(self, case):
        """What it says of the chain: "" or the error."""
        store, context = self.call("X509_STORE_new"), self.call("X509_STORE_CTX_new")
        self.call("X509_STORE_load_file", store, f"{case['file']}.roots.pem".encode())
        between = self.certificates(f"{case['file']}.between.pem")
        bio = self.call("BIO_new_file", f"{case['file']}.leaf.pem".encode(), b"r")
        leaf = self.call("PEM_read_bio_X509", bio, None, None, None)
        assert leaf and self.call("X509_STORE_CTX_init", context, store, leaf, between) == 1
        self.call("X509_STORE_CTX_set_default", context, b"ssl_server")
        check = self.call("X509_STORE_CTX_get0_param", context)
        self.call("X509_VERIFY_PARAM_set_time", check, ctypes.c_int64(case["time"]))
        self.call("X509_VERIFY_PARAM_set_auth_level", check, self.LEVEL)
        host = case["host"].encode()
        if self.call("X509_VERIFY_PARAM_set1_ip_asc", check, host) != 1:
            assert self.call("X509_VERIFY_PARAM_set1_host", check, host, 0) == 1
        good = self.call("X509_verify_cert", context) == 1
        error = self.call("X509_STORE_CTX_get_error", context)
        self.call("ERR_clear_error")
        return "" if good else self.call("X509_verify_cert_error_string", ctypes.c_long(error)).decode()


def peer_of(case, tlslite):
    """Python's own server, unless it does not take the certificate."""
    try:
        return MemoryPeer(server_context(f"{case['file']}.server.pem"))
    except ssl.SSLError:
        return tlslite(f"{case['file']}.server.pem", "chain", 4)


def judged_by_the_library(case, tlslite):
    """The cause: "" if the handshake succeeds."""
    try:
        with Settings(ca_file=f"{case['file']}.roots.pem", verify_time_s=case["time"]) as settings:
            with Connection(settings, None, case["host"], sock=peer_of(case, tlslite)) as connection:
                connection.open()
                return ""
    except Failed as failed:
        return failed.cause


def test_no_chain_is_accepted_that_openssl_refuses(cases, tlslite):
    assert len(cases) >= 100
    openssl, wrong = OpenSSL(), []
    for case in cases:
        error = openssl.judge(case)
        cause = judged_by_the_library(case, tlslite)
        if cause != case["cause"]:
            wrong.append(f"{case['name']}: {cause or 'accepted'}, not {case['cause'] or 'accepted'}; OpenSSL: {error}")
        # What the library alone refuses is said, and nothing else is.
        elif bool(cause) != (bool(error) or case["stricter"]) or (case["stricter"] and error):
            wrong.append(f"{case['name']}: {cause or 'accepted'}; OpenSSL: {error or 'accepted'}")
    assert not wrong, "\n".join(wrong)
