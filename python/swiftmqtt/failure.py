"""Why an attempt to connect, or a connection, ended: what proxy, TLS and WebSocket know besides the status."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from . import _abi
from ._library import LIBRARY
from .constants import Stage, Status, TLSCause

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# What is to be said of a cause: whose fault it is, and what helps.
_CAUSES: dict[int, str] = {
    TLSCause.UNKNOWN_CA: "no trusted CA has signed the server's certificate, or its chain is incomplete: "
    "ca_file names the CA to be trusted",
    TLSCause.EXPIRED: "a certificate of the server's chain has expired",
    TLSCause.NOT_YET_VALID: "a certificate of the server's chain is not valid yet",
    TLSCause.CLOCK: "the clock of this machine is not set: no certificate is valid at the time it shows",
    TLSCause.NAME: "the server's certificate is for another name or address: tls_name is for a server that is reached by "
    "another name",
    TLSCause.REVOKED: "a certificate of the server's chain was revoked",
    TLSCause.REVOCATION_UNKNOWN: "no CRL or OCSP response says whether the server's certificate was revoked",
    TLSCause.PURPOSE: "the server's certificate is not for a TLS server, or that of its CA is not for a CA",
    TLSCause.CHAIN: "the server's certificate chain is too long, or breaks a constraint",
    TLSCause.WEAK: "a key or a digest of the server's chain is too weak",
    TLSCause.SIGNATURE: "a signature of the server's chain is wrong",
    TLSCause.PIN: "the server's key is none of the pins",
    TLSCause.CERTIFICATE_WANTED: "the server requires a client certificate: certificate_file and key_file",
    TLSCause.CERTIFICATE_REFUSED: "the server does not accept the client certificate",
    TLSCause.VERSION: "client and server have no version of TLS in common",
    TLSCause.CIPHER: "client and server have no cipher suite, group or signature algorithm in common",
    TLSCause.PSK: "the server does not know psk_identity, or has another psk",
    TLSCause.NOT_TLS: "the peer does not speak TLS: it may be the port for connections without",
    TLSCause.CLOSED: "the server closed the connection in the middle of the handshake",
    TLSCause.KEY: "the client's own key or certificate cannot be used",
    TLSCause.ALPN: "the server knows none of the application protocols of alpn",
    TLSCause.MEMORY: "there is not enough memory",
    TLSCause.PEER: "the server broke a rule of TLS",
    TLSCause.CA_FILE: "the CA certificates, or a CRL, cannot be read",
}

# RFC 8446, section 6, and those of RFC 5246 that are no longer sent in TLS 1.3.
_ALERTS = {
    0: "close notify", 10: "unexpected message", 20: "bad record MAC", 22: "record overflow", 40: "handshake failure",
    42: "bad certificate", 43: "unsupported certificate", 44: "certificate revoked", 45: "certificate expired",
    46: "certificate unknown", 47: "illegal parameter", 48: "unknown CA", 49: "access denied", 50: "decode error",
    51: "decrypt error", 70: "protocol version", 71: "insufficient security", 80: "internal error",
    86: "inappropriate fallback", 90: "user canceled", 100: "no renegotiation", 109: "missing extension",
    110: "unsupported extension", 112: "unrecognized name", 113: "bad certificate status response",
    115: "unknown PSK identity", 116: "certificate required", 120: "no application protocol",
}  # fmt: skip

# RFC 1928, section 6; from 256 on the library's own.
_SOCKS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
    256: "it accepts none of the ways to authenticate: it may want user and password",
    257: "it refused user and password",
    258: "it does not speak SOCKS5",
}

# RFC 6455, section 7.4.1
_CLOSES = {
    1000: "normal closure", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1005: "no code",
    1007: "invalid data", 1008: "policy violation", 1009: "message too big", 1010: "extension wanted",
    1011: "internal error", 1012: "service restart", 1013: "try again later", 1014: "bad gateway",
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """The failure record: smq_failure, with its names. Fields that do not apply are 0, empty or None.

    status        one of :class:`swiftmqtt.Status`
    stage         one of :class:`swiftmqtt.Stage`: where it ended
    os_error      errno or, with ``Status.RESOLVE``, an EAI_… value
    attempt       how many attempts to connect there had been
    http_status   what a proxy or a web server answered, such as 403
    socks_reply   what a SOCKS5 proxy replied (RFC 1928, section 6); 256: it accepts none of the ways to authenticate;
                  257: it refused user name and password; 258: it does not speak SOCKS5; None: nothing
    close_code    of the WebSocket (RFC 6455, section 7.4)
    tls_cause     one of :class:`swiftmqtt.TLSCause`: why TLS failed
    tls_alert     the alert that the server sent (RFC 8446, section 6); None: none
    tls_depth     which certificate is at fault: 0 is the server's, 1 that of its issuer, …; None: none
    not_before, not_after   the validity of that certificate, in UTC
    tls_native    the TLS library's own error code
    tls_subject   of that certificate
    text          what the TLS library says, or the web server or the proxy, or the reason behind close_code. It may be
                  anything that a server sends
    """

    status: int = 0
    stage: int = 0
    os_error: int = 0
    attempt: int = 0
    http_status: int = 0
    socks_reply: int | None = None
    close_code: int = 0
    tls_cause: int = 0
    tls_alert: int | None = None
    tls_depth: int | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    tls_native: int = 0
    tls_subject: str = ""
    text: str = ""

    @property
    def cause_name(self) -> str:
        """The name of tls_cause, such as "unknown CA"; empty: TLS did not fail."""
        return LIBRARY.smq_tls_cause_name(self.tls_cause).decode() if self.tls_cause else ""

    def __str__(self) -> str:
        """What is known of it, in words."""
        said = []
        if self.tls_cause:
            # Without a stage it is of files and keys: no server had a part in it.
            said.append(self.stage and _CAUSES.get(self.tls_cause) or self.cause_name)
        if self.tls_subject:
            said.append(f"certificate {self.tls_subject!r}{self._validity()}")
        if self.tls_alert is not None:
            said.append(f"the server's alert is {self.tls_alert}, {_ALERTS.get(self.tls_alert, 'unknown')}")
        if self.socks_reply is not None:
            said.append(f"the proxy's reply is {self.socks_reply}, {_SOCKS.get(self.socks_reply, 'unknown')}")
        if self.http_status:
            said.append(f"HTTP status {self.http_status}")
        if self.close_code:
            said.append(f"close code {self.close_code}, {_CLOSES.get(self.close_code, 'of an application')}")
        if self.text:
            said.append(repr(self.text))
        return ", ".join(said)

    def _validity(self) -> str:
        if not self.not_before or not self.not_after:
            return ""
        return f", valid from {self.not_before:%Y-%m-%d} to {self.not_after:%Y-%m-%d}"


def moment(seconds: int) -> datetime | None:
    """A time of the library's; None: it is not known."""
    if not seconds:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:  # a certificate may be valid for longer than Python can count
        return datetime.max.replace(tzinfo=timezone.utc) if seconds > 0 else datetime.min.replace(tzinfo=timezone.utc)


def last_failure(handle: int) -> Failure | None:
    """smq_last_failure(); None: nothing has failed."""
    found = _abi.Failure()
    if LIBRARY.smq_last_failure(handle, ctypes.byref(found)) or not found.status:
        return None
    return Failure(
        status=_known(Status, found.status),
        stage=_known(Stage, found.stage),
        os_error=found.os_error,
        attempt=found.attempt,
        http_status=found.http_status,
        socks_reply=_or_none(found.socks_reply),
        close_code=found.close_code,
        tls_cause=_known(TLSCause, found.tls_cause),
        tls_alert=_or_none(found.tls_alert),
        tls_depth=_or_none(found.tls_depth),
        not_before=moment(found.not_before_s),
        not_after=moment(found.not_after_s),
        tls_native=found.tls_native,
        tls_subject=_text(found.tls_subject),
        text=_text(found.text),
    )


def tls_failure(status: int, found: _abi.TLSFailure) -> Failure:
    """What libswiftmqtt-tls says of files and keys."""
    return Failure(
        status=status,
        tls_cause=_known(TLSCause, found.cause),
        tls_native=found.native,
        tls_subject=found.subject.decode("utf-8", "replace"),
        text=found.text.decode("utf-8", "replace"),
    )


def _known(names: Any, number: int) -> int:
    """A plain number is that of a newer library."""
    return names(number) if number in names._value2member_map_ else number


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


def _text(view: _abi.BytesOut) -> str:
    return ctypes.string_at(view.data, view.size).decode("utf-8", "replace") if view.size else ""
