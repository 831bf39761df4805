"""The server's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .constants import Completed, Protocol
from .properties import Properties


@dataclass(frozen=True)
class Answer:
    """The result of a message, a SUBSCRIBE or an UNSUBSCRIBE that succeeded.

    reason_code    the server's Reason Code; -1: none
    reason_codes   of SUBACK and UNSUBACK: one for each filter; for SUBSCRIBE the granted QoS
    reason_string  MQTT 5.0: the server's own text; usually empty
    properties     MQTT 5.0
    latency_ms     how long the server took to acknowledge a QoS 1 or 2 message; -1: unknown
    completed      which of the three it is the result of
    """

    reason_code: int
    reason_codes: tuple[int, ...]
    reason_string: str
    properties: Properties
    latency_ms: int
    completed: Completed

    def __getattr__(self, name: str) -> Any:
        """The properties of an answer that came without any are made when somebody asks for them."""
        if name != "properties":
            raise AttributeError(name)
        made = self.__dict__["properties"] = Properties()
        return made


def plain(reason_code: int, latency_ms: int) -> Answer:
    """The answer to a message, with which nothing else came."""
    answer = Answer.__new__(Answer)
    answer.__dict__.update(
        reason_code=reason_code, reason_codes=(), reason_string="", latency_ms=latency_ms, completed=Completed.PUBLISH
    )
    return answer


@dataclass(frozen=True)
class Connected:
    """The server accepted the connection.

    session_present  the server resumed the session that it had kept
    protocol         the version that is spoken
    attempt          how many attempts to connect there have been
    server           which server of the URL, counted from 0
    reason_string    MQTT 5.0: the server's own text; usually empty
    properties       MQTT 5.0: of CONNACK
    """

    session_present: bool
    protocol: Protocol
    attempt: int
    server: int
    reason_string: str
    properties: Properties


@dataclass(frozen=True)
class ServerLimits:
    """What the connected server can do (smq_server)."""

    protocol: int
    session_expiry_s: int
    receive_maximum: int
    maximum_packet_bytes: int
    maximum_qos: int
    retain_available: bool
    wildcard_available: bool
    shared_available: bool
    subscription_identifiers_available: bool
    topic_alias_maximum: int
    keep_alive_s: int
