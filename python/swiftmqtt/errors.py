"""The errors: a class for each band of status codes in include/swiftmqtt.h, and one for each layer below MQTT."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from ._library import LIBRARY
from .constants import Rule, Stage, Status

if TYPE_CHECKING:
    from .failure import Failure
    from .properties import Properties


class Error(Exception):
    """The base class: what failed, and all that is known about why.

    status            one of :class:`Status`; a plain number for a status of a newer library
    reason_code       the server's Reason Code, 0 to 255; -1: none
    reason_string     MQTT 5.0: the server's own text; usually empty
    stage             one of :class:`Stage`: where a connection attempt, or a connection, ended
    os_error          errno; with ``Status.RESOLVE`` an EAI_… value; 0: none
    attempt           how many attempts to connect there had been; 0: none
    rule              one of :class:`Rule`: the rule that the server broke
    properties        MQTT 5.0: those of the packet that reported the error; None: none
    server_reference  MQTT 5.0: another server to use; usually empty
    reason_codes      of SUBACK and UNSUBACK: one for each filter
    retry_ms          how long until the client reconnects by itself; -1: it will not
    server            the server, "host:port"; empty: the error is not about one
    proxy             the proxy on the way to it, a URL without user name and password; empty: none
    failure           the :class:`Failure`: what is known besides of the end of an attempt, or of a connection; None: the
                      error is of something else
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        *,
        reason_code: int = -1,
        reason_string: str = "",
        protocol: int = 0,
        stage: int = 0,
        os_error: int = 0,
        attempt: int = 0,
        rule: int = 0,
        properties: Properties | None = None,
        server_reference: str = "",
        reason_codes: tuple[int, ...] = (),
        retry_ms: int = -1,
        server: str = "",
        proxy: str = "",
        failure: Failure | None = None,
    ):
        super().__init__(status, detail)
        self.status = Status(status) if status in Status._value2member_map_ else status
        self.detail = detail
        self.reason_code, self.reason_string, self.protocol = reason_code, reason_string, protocol
        self.stage = Stage(stage) if stage in Stage._value2member_map_ else stage
        self.os_error, self.attempt = os_error, attempt
        self.rule = Rule(rule) if rule in Rule._value2member_map_ else rule
        self.properties, self.server_reference = properties, server_reference
        self.reason_codes, self.retry_ms, self.server = reason_codes, retry_ms, server
        self.proxy, self.failure = proxy, failure

    @property
    def status_name(self) -> str:
        """The name of the status, such as "SMQ_ERR_FULL"."""
        return text(LIBRARY.smq_status_name(int(self.status)))

    def __str__(self) -> str:
        said = [self.detail or text(LIBRARY.smq_status_text(int(self.status)))]
        if self.failure:
            said.append(str(self.failure))
        if self.server:
            said.append(f"{self.server} through {self.proxy}" if self.proxy else self.server)
        if self.reason_code >= 0:
            name = text(LIBRARY.smq_reason_code_name(self.protocol, self.reason_code))
            said.append(f"{name} (0x{self.reason_code:02X})")
        if self.reason_string:
            said.append(repr(self.reason_string))
        if self.os_error:
            said.append(os_error_text(int(self.status), self.os_error))
        if self.rule:
            said.append(text(LIBRARY.smq_rule_name(int(self.rule))))
        if self.stage:
            said.append("stage " + text(LIBRARY.smq_stage_name(int(self.stage))))
        return f"{self.status_name}: " + ", ".join(part for part in said if part)


class ArgumentError(Error, ValueError):
    """-1xx: the call is wrong. It changed nothing. Also -205 (``Status.INSPECT``): the path of the option `inspect` cannot be
    used, and ``os_error`` says why."""


class ClosedError(ArgumentError):
    """The client was closed."""

    def __init__(self, detail: str = ""):
        super().__init__(Status.CLIENT, detail)


class NoRoomError(Error):
    """-2xx: there is no room now. The call changed nothing; try again later."""


class PeerError(Error):
    """-3xx: the server refused, closed the connection, or broke a rule."""


class TransportError(Error, ConnectionError):
    """-4xx: the network: there is no address, no route, or no answer in time."""

    def __init__(self, status: int, detail: str = "", **more: Any):
        Error.__init__(self, status, detail, **more)
        self.errno = self.os_error or None


class TLSError(TransportError):
    """TLS failed: :attr:`Error.failure` has the cause, the server's alert, and the certificate at fault. Also for a file, a
    key or a certificate of :class:`swiftmqtt.TLS` that cannot be used."""


class ProxyError(TransportError):
    """The proxy refused, or is not a proxy: :attr:`Error.failure` has its HTTP status, or its SOCKS reply."""


class WebSocketError(TransportError):
    """The WebSocket could not be opened, or the server broke a rule of RFC 6455: :attr:`Error.failure` has the HTTP status,
    or the close code."""


class JournalError(Error):
    """-5xx: the journal cannot be used, or what is new in it is not stored. ``os_error`` says why, if the system does."""


class UndeliveredError(Error):
    """A block ended before all messages that were published in it were delivered as their QoS promises, or
    some of them failed and nothing looked at their tokens. The last error of the connection, or the first of
    a message, is its ``__cause__``.

    count    how many messages
    topics   their topics, without repetition; if there are very many, not all
    """

    def __init__(self, count: int, topics: tuple[str, ...], detail: str):
        super().__init__(Status.TIMEOUT, detail)
        self.count, self.topics = count, topics

    def __str__(self) -> str:
        return self.detail


class UndeliveredWarning(RuntimeWarning):
    """The same, where nothing can be raised: close() was called, another exception is being raised, or the
    client is no longer referenced."""


BANDS: dict[int, type[Error]] = {
    1: ArgumentError,
    2: NoRoomError,
    3: PeerError,
    4: TransportError,
    5: JournalError,
}
OWN: dict[int, type[Error]] = {
    Status.INSPECT: ArgumentError,
    Status.TLS: TLSError,
    Status.PROXY: ProxyError,
    Status.WEBSOCKET: WebSocketError,
}


def error(status: int, detail: str = "", **more: Any) -> Error:
    """The exception for a status."""
    if status == Status.CLIENT:
        return ClosedError(detail)
    return (OWN.get(status) or BANDS.get(-status // 100, Error))(status, detail, **more)


def check(status: int, detail: str = "") -> int:
    """Returns the result of a call, or raises the error."""
    if status < 0:
        raise error(status, detail)
    return status


def text(name: bytes) -> str:
    """A string of the library."""
    return name.decode("utf-8", "replace")


def os_error_text(status: int, number: int) -> str:
    """The meaning of errno or, with ``Status.RESOLVE``, of an EAI_… value."""
    if status == Status.RESOLVE:
        for name in dir(socket):
            if name.startswith("EAI_") and getattr(socket, name) == number:
                return name
        return f"EAI {number}"
    return os.strerror(number)
