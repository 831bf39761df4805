"""The settings of TLS: what many connections have in common."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _abi, _tls_library
from ._library import LIBRARY
from ._tls_options import TLSOptions, checked, fill, with_zero_byte
from .constants import Status, TLSVersion
from .errors import ArgumentError, TLSError, error
from .failure import moment, tls_failure

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["TLS", "Certificate", "TLSInfo", "TLSOptions"]

_SESSIONS_BYTES = 16_384  # at most, says the header

class TLS:
    """What TLS needs: certificates, keys, limits, and the sessions to be resumed.

        settings = swiftmqtt.TLS(ca_file="/etc/greenhouse/ca.pem")
        with swiftmqtt.Client("mqtts://broker.example", tls=settings) as client: …

    Without any option, the server's certificate is checked against the CAs of the system, and for the name of the host.
    Files are read now, and by reload(). Any number of clients may share one, in any threads. They then share the
    sessions that are resumed, too, and with them who they are for the server: clients with different users have each one
    of their own.

    options   those of :class:`TLSOptions`. Names of files are str or Path, what is in them (…_pem) is str or bytes.
              `password` is a text, bytes, or a function without arguments that returns one of them. `pins` has bytes, or hex
              digits, or what curl takes ("sha256//…"), for each key. `psk` is bytes, or hex digits

    Raises TLSError if a file cannot be read, or if what it has cannot be used; ArgumentError if an option is wrong, or if there
    is no libswiftmqtt-tls.
    """

    def __init__(self, **options: Unpack[TLSOptions]):
        self._options: dict[str, Any] = checked(dict(options))
        self._library = _tls_library.load()
        handle = ctypes.c_void_p()
        self._call(
            self._options, lambda options, why: self._library.smq_tls_open(options, ctypes.byref(handle), why)
        )
        self._handle = handle.value
        # Clients keep this object: none has the settings when it goes.
        finalizer = weakref.finalize(self, self._library.smq_tls_close, self._handle)
        finalizer.atexit = False  # type: ignore[misc, unused-ignore]

    def reload(self, **options: Unpack[TLSOptions]) -> None:
        """Reads the files again, with other options if some are given (None: without that one): connections that begin from now on use what they have.
        If it fails, nothing changes. Sessions to be resumed are forgotten."""
        left = {name: value for name, value in self._options.items() if name not in options}
        changed = {**left, **checked(dict(options))}
        self._call(changed, lambda *given: self._library.smq_tls_reload(self._handle, *given))
        self._options = changed

    def sessions(self) -> bytes:
        """Returns the sessions to be resumed, for a program that keeps them until its next start. They are secrets: keep them
        where only the program can read and write them. Empty: there is none."""
        size = ctypes.c_size_t(_SESSIONS_BYTES)
        room = ctypes.create_string_buffer(size.value)
        status = self._library.smq_tls_sessions(self._handle, room, ctypes.byref(size))
        if status:
            raise error(status)
        return room.raw[: size.value]

    def resume(self, sessions: bytes) -> int:
        """Takes what sessions() of the same settings returned, and returns how many sessions that were. Those that are too old,
        or cannot be read, are left out: the next handshake is a full one."""
        if not isinstance(sessions, (bytes, bytearray)):
            raise ArgumentError(Status.OPTION, f"sessions is bytes, not {type(sessions).__name__}")
        took: int = self._library.smq_tls_resume(self._handle, bytes(sessions), len(sessions))
        if took < 0:
            raise error(took)
        return took

    def __repr__(self) -> str:
        given = [name for name, value in self._options.items() if value]
        return f"<swiftmqtt.TLS of {', '.join(given) or 'the system'}>"  # names alone: values may be secrets

    def _call(self, options: dict[str, Any], call: Callable[..., int]) -> None:
        struct, why = _tls_library.TLSOptions(), _abi.TLSFailure()
        raised: list[BaseException] = []
        fill(struct, options, raised)
        status = call(ctypes.byref(struct), ctypes.byref(why))
        if raised:
            raise raised[0]
        if status == Status.TLS:
            raise TLSError(status, "TLS cannot be set up", failure=tls_failure(status, why))
        if status:
            name = with_zero_byte(options)
            raise error(status, f"the option {name} has a zero byte" if name else tls_failure(status, why).text)


@dataclass(frozen=True)
class Certificate:
    """A certificate that the server sent. Texts may be shortened.

    pin      SHA-256 of its SubjectPublicKeyInfo, for :attr:`TLSOptions.pins`
    names    the names and addresses it is for
    key      the kind and size of its key, such as "P-256" or "RSA 2048"
    """

    subject: str
    issuer: str
    names: tuple[str, ...]
    key: str
    not_before: datetime | None
    not_after: datetime | None
    pin: bytes


@dataclass(frozen=True)
class TLSInfo:
    """A connection over TLS.

    version        such as "TLSv1.3"
    is_resumed     whether a session was resumed; the server then sent no certificate
    cipher_id      the number of the cipher suite (IANA)
    alpn           the application protocol that was agreed on; empty: none
    library        the TLS library and its version
    certificates   those that the server sent, its own first, as far as they are known
    """

    version: str
    is_resumed: bool
    cipher: str
    cipher_id: int
    alpn: str
    library: str
    certificates: tuple[Certificate, ...]


def describe(handle: int) -> TLSInfo | None:
    """smq_tls_describe() and smq_tls_describe_certificate(); None: it is no connection over TLS."""
    found = _abi.TLSInfo()
    if LIBRARY.smq_tls_describe(handle, ctypes.byref(found)):
        return None
    certificates = []
    for depth in range(found.certificates):
        one = _abi.TLSCertificate()
        if LIBRARY.smq_tls_describe_certificate(handle, depth, ctypes.byref(one)):
            break
        certificates.append(_certificate(one))
    version = found.version
    names = {number.value: number.name.replace("_", ".") for number in TLSVersion}
    return TLSInfo(
        version=names.get(version, f"0x{version:04x}"),
        is_resumed=bool(found.is_resumed),
        cipher=_text(found.cipher),
        cipher_id=found.cipher_id,
        alpn=_text(found.alpn),
        library=_text(found.library),
        certificates=tuple(certificates),
    )


def _certificate(found: _abi.TLSCertificate) -> Certificate:
    return Certificate(
        subject=_text(found.subject),
        issuer=_text(found.issuer),
        names=tuple(name for name in _text(found.names).split(", ") if name),
        key=_text(found.key),
        not_before=moment(found.not_before_s),
        not_after=moment(found.not_after_s),
        pin=bytes(found.spki_sha256),
    )


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
