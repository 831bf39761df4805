"""A client of either library that speaks TLS, and the story of how it came out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_bool, c_char_p, c_int, c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from Support.certificates import Certificates
from Support.many_listeners import ManyListeners

from .calls import KINDS, Caller

LOG_ERR = 8
SSL_CTX, WITH_DEFAULTS, KEYFORM, ENGINE, ENGINE_PIN, OCSP, ALPN, OS_CERTS = 2, 3, 6, 7, 8, 9, 10, 13
PASSWORD = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_void_p)

Value = object  # what a call takes: bytes, numbers, or a function that makes them of the certificates


@dataclass(frozen=True)
class Row:
    """`calls` are made in order, each a name and arguments; then it connects."""

    name: str
    calls: tuple[tuple[Value, ...], ...] = ()
    listener: str = "good"
    host: str = "localhost"
    warm: bool = False
    environment: dict[str, Callable[[Certificates], object]] = field(default_factory=dict)


def openssl() -> ctypes.CDLL:
    library = ctypes.CDLL("libssl.so.3")
    for name in ("TLS_client_method", "SSL_CTX_new", "SSL_CTX_get0_param", "SSL_get1_peer_certificate",
                 "SSL_get_current_cipher", "SSL_get_version", "SSL_CIPHER_get_name"):
        getattr(library, name).restype = c_void_p
    return library


class SecureCaller(Caller):
    def __init__(self, library: ctypes.CDLL, certificates: Certificates, listeners: ManyListeners):
        super().__init__(library)
        library.mosquitto_ssl_get.restype = c_void_p
        self.certificates, self.listeners = certificates, listeners
        self.errors: list[str] = []  # of the log
        self.log = KINDS["log"](self.logged)
        library.mosquitto_log_callback_set(self.handle, self.log)
        self.functions: list[object] = []  # that the library has

    def logged(self, mosq: int, user: int, level: int, text: bytes) -> None:
        if level == LOG_ERR:
            self.errors.append(f"log: {text.decode()}")

    def password(self, text: bytes) -> object:
        """A callback that answers with it, and tells what it was asked."""

        def asked(buffer: int, size: int, is_written: int, user: int) -> int:
            self.story.append(f"asked: {size} {is_written} by the client: {user == self.handle.value}")
            # The program may call functions of the library meanwhile.
            self.story.append(f"user: {self.library.mosquitto_userdata(self.handle) == self.handle.value}")
            ctypes.memmove(buffer, text, len(text))
            return len(text)

        self.functions.append(PASSWORD(asked))
        return self.functions[-1]

    def set(self, name: str, *values: Value) -> None:
        arguments = [value(self) if callable(value) else value for value in values]
        arguments = [str(part).encode() if isinstance(part, Path) else part for part in arguments]
        self.call(name, *arguments)

    def warm_up(self) -> None:
        """Another client has used TLS before. Until one has, libmosquitto verifies nothing in a context of the program's."""
        other = Caller(self.library)
        other.call("tls_set", str(self.certificates.ca_file).encode(), None, None, None, None)
        other.connect(self.listeners["good"].port)
        other.destroy()

    def run(self, row: Row) -> list[str]:
        if row.warm:
            self.warm_up()
        for name, value in row.environment.items():
            os.environ[name] = str(value(self.certificates))
        for name, *values in row.calls:
            self.set(name, *values)
        self.attempt(self.listeners[row.listener].port, row.host)
        self.destroy()
        return self.story

    def connect_to(self, port: int, how: str = "connect") -> int:
        """By name, because certificates are for names."""
        return self.call(how, b"localhost", port, 60)

    def attempt(self, port: int, host: str = "localhost", how: str = "connect") -> int:
        """Connects, and tells how it came out. Whether connect or a loop returns a failure is a matter of time."""
        before = len(self.story)
        code = self.call(how, *([] if how == "reconnect" else [host.encode(), port, 60]), quietly=True)
        while code == 0 and not any(line.startswith("on_") for line in self.story[before:]):
            code = self.call("loop", 50, 1, quietly=True)
        if code == 0:
            self.story += [f"connected {self.agreed()}"]
            self.call("disconnect", quietly=True)
            for _ in range(100):
                if self.call("loop", 20, 1, quietly=True):
                    break
        elif code in (7, 14):
            # There was a connection, and the server has ended it, perhaps with an alert of TLS 1.3 about the client's
            # certificate. Which call finds that out, and whether it reads the alert first, is a matter of time.
            self.story = [line for line in self.story if not line.startswith("on_disconnect")]
            self.story += ["lost"]
            self.errors = []
        else:
            self.story += [f"refused {code}"]
        self.story += self.errors
        self.errors = []
        return code

    def agreed(self) -> str:
        ssl = c_void_p(self.library.mosquitto_ssl_get(self.handle))
        if not ssl:
            return "in plain"
        library = openssl()
        version = ctypes.string_at(library.SSL_get_version(ssl)).decode()
        cipher = ctypes.string_at(library.SSL_CIPHER_get_name(c_void_p(library.SSL_get_current_cipher(ssl)))).decode()
        name, size = c_char_p(), ctypes.c_uint()
        library.SSL_get0_alpn_selected(ssl, ctypes.byref(name), ctypes.byref(size))
        has_certificate = bool(library.SSL_get1_peer_certificate(ssl))
        return f"{version} {cipher} ALPN {size.value} certificate {has_certificate}"


def context(flags: int = 0, verifies: bool = False, trusts: bool = False) -> Callable[[SecureCaller], object]:
    """An SSL_CTX of the program's own."""

    def make(caller: SecureCaller) -> object:
        library = openssl()
        made = c_void_p(library.SSL_CTX_new(c_void_p(library.TLS_client_method())))
        if trusts:
            assert library.SSL_CTX_load_verify_file(made, str(caller.certificates.ca_and_crl).encode()) == 1
        if verifies:
            library.SSL_CTX_set_verify(made, 1, None)
        library.X509_VERIFY_PARAM_set_flags(c_void_p(library.SSL_CTX_get0_param(made)), ctypes.c_ulong(flags))
        return made

    return make


def no(*_: object) -> None:
    """NULL."""


TRUE, FALSE = c_bool(True), c_bool(False)
