"""The errors: a class for each band of status codes in include/swiftstomp.h, and one for each layer below STOMP."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from ._library import LIBRARY
from .constants import Rule, Stage, Status

if TYPE_CHECKING:
    from ..failure import Failure


class Error(Exception):
    """The base class: what failed, and all that is known about why. It is no swiftmqtt.Error: that is of MQTT.

    status      one of :class:`Status`; a plain number for a status of a newer library
    text        what the server said: the header "message" of its ERROR; usually empty
    headers     all headers of that ERROR
    body        its body
    stage       one of :class:`Stage`: where a connection attempt, or a connection, ended
    os_error    errno; with ``Status.RESOLVE`` an EAI_… value; 0: none
    attempt     how many attempts to connect there had been; 0: none
    rule        one of :class:`Rule`: the rule that the server broke
    retry_ms    milliseconds until the client reconnects by itself; -1: it will not
    server      the server, "host:port"; empty: the error is not about one
    failure     the :class:`swiftmqtt.Failure`: what is known besides of the end of an attempt, or of a connection; None:
                the error is of something else
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        *,
        text: str = "",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        stage: int = 0,
        os_error: int = 0,
        attempt: int = 0,
        rule: int = 0,
        retry_ms: int = -1,
        server: str = "",
        failure: Failure | None = None,
    ):
        super().__init__(status, detail)
        self.status = Status(status) if status in Status._value2member_map_ else status
        self.detail = detail
        self.text, self.headers, self.body = text, headers or {}, body
        self.stage = Stage(stage) if stage in Stage._value2member_map_ else stage
        self.os_error, self.attempt = os_error, attempt
        self.rule = Rule(rule) if rule in Rule._value2member_map_ else rule
        self.retry_ms, self.server, self.failure = retry_ms, server, failure

    @property
    def status_name(self) -> str:
        """The name of the status, such as "SST_ERR_FULL"."""
        return text_of(LIBRARY.sst_status_name(int(self.status)))

    def __str__(self) -> str:
        said = [self.detail or text_of(LIBRARY.sst_status_text(int(self.status)))]
        if self.failure:
            said.append(str(self.failure))
        if self.server:
            said.append(self.server)
        if self.text:
            said.append(repr(self.text))
        # RabbitMQ says there what is wrong, ActiveMQ the same as in its text, and where in its sources.
        if (first := self.body.partition(b"\n")[0][:120].decode("utf-8", "replace").strip()) and first != self.text:
            said.append(repr(first))
        if self.os_error:
            said.append(os_error_text(int(self.status), self.os_error))
        if self.rule:
            said.append(text_of(LIBRARY.sst_rule_name(int(self.rule))))
        if self.stage:
            said.append("stage " + text_of(LIBRARY.sst_stage_name(int(self.stage))))
        return f"{self.status_name}: " + ", ".join(part for part in said if part)


class ArgumentError(Error, ValueError):
    """-1xx: the call is wrong. It changed nothing. Also -205 (``Status.INSPECT``): the path of the option `inspect` cannot be
    used, and ``os_error`` says why."""


class ArgumentTypeError(ArgumentError, TypeError):
    """What was given has a type of which nothing can be made."""


class ClosedError(ArgumentError):
    """The client was closed."""

    def __init__(self, detail: str = ""):
        super().__init__(Status.CLIENT, detail)


class NoRoomError(Error):
    """-2xx: there is no room now. The call changed nothing; try again later."""


class PeerError(Error):
    """-3xx: the server refused, closed the connection, or broke a rule; or it is not known whether it has a message."""


class TransportError(Error, ConnectionError):
    """-4xx: the network: there is no address, no route, or no answer in time."""

    def __init__(self, status: int, detail: str = "", **more: Any):
        Error.__init__(self, status, detail, **more)
        self.errno = self.os_error or None


class TLSError(TransportError):
    """TLS failed: :attr:`Error.failure` has the cause, the server's alert, and the certificate at fault."""


class ProxyError(TransportError):
    """The proxy refused, or is not a proxy: :attr:`Error.failure` has its HTTP status, or its SOCKS reply."""


class WebSocketError(TransportError):
    """The WebSocket could not be opened, or the server broke a rule of RFC 6455: :attr:`Error.failure` has the HTTP status,
    or the close code."""


class JournalError(Error):
    """-5xx: the journal cannot be used, or what is new in it is not stored. ``os_error`` says why, if the system does."""


class UndeliveredError(Error):
    """A block ended before all messages that were sent in it had left, or had their receipts; or some of them failed, and
    nothing took the events that said so. The last error of the connection, or of a message, is its ``__cause__``.

    count   how many messages
    """

    def __init__(self, count: int, detail: str):
        super().__init__(Status.TIMEOUT, detail)
        self.count = count

    def __str__(self) -> str:
        return self.detail


class UndeliveredWarning(RuntimeWarning):
    """The same, where nothing can be raised, because another exception is."""


BANDS: dict[int, type[Error]] = {1: ArgumentError, 2: NoRoomError, 3: PeerError, 4: TransportError, 5: JournalError}
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


def text_of(name: bytes) -> str:
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
