"""Constants, texts and conversions of paho-mqtt's client module."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from ..constants import Status
from ..errors import ArgumentError, Error
from ..helpers import topic_matches
from .enums import ConnackCode, LogLevel, MessageState, MessageType, MQTTErrorCode, MQTTProtocolVersion, PahoClientMode
from .packettypes import PacketTypes
from .reasoncodes import ReasonCode

(
    CONNECT,
    CONNACK,
    PUBLISH,
    PUBACK,
    PUBREC,
    PUBREL,
    PUBCOMP,
    SUBSCRIBE,
    SUBACK,
    UNSUBSCRIBE,
    UNSUBACK,
    PINGREQ,
    PINGRESP,
    DISCONNECT,
    AUTH,
) = MessageType

MQTT_LOG_INFO = LogLevel.MQTT_LOG_INFO
MQTT_LOG_NOTICE = LogLevel.MQTT_LOG_NOTICE
MQTT_LOG_WARNING = LogLevel.MQTT_LOG_WARNING
MQTT_LOG_ERR = LogLevel.MQTT_LOG_ERR
MQTT_LOG_DEBUG = LogLevel.MQTT_LOG_DEBUG
LOGGING_LEVEL = {
    LogLevel.MQTT_LOG_DEBUG: logging.DEBUG,
    LogLevel.MQTT_LOG_INFO: logging.INFO,
    LogLevel.MQTT_LOG_NOTICE: logging.INFO,
    LogLevel.MQTT_LOG_WARNING: logging.WARNING,
    LogLevel.MQTT_LOG_ERR: logging.ERROR,
}

CONNACK_ACCEPTED = ConnackCode.CONNACK_ACCEPTED
CONNACK_REFUSED_PROTOCOL_VERSION = ConnackCode.CONNACK_REFUSED_PROTOCOL_VERSION
CONNACK_REFUSED_IDENTIFIER_REJECTED = ConnackCode.CONNACK_REFUSED_IDENTIFIER_REJECTED
CONNACK_REFUSED_SERVER_UNAVAILABLE = ConnackCode.CONNACK_REFUSED_SERVER_UNAVAILABLE
CONNACK_REFUSED_BAD_USERNAME_PASSWORD = ConnackCode.CONNACK_REFUSED_BAD_USERNAME_PASSWORD
CONNACK_REFUSED_NOT_AUTHORIZED = ConnackCode.CONNACK_REFUSED_NOT_AUTHORIZED

mqtt_ms_invalid = MessageState.MQTT_MS_INVALID
mqtt_ms_publish = MessageState.MQTT_MS_PUBLISH
mqtt_ms_wait_for_puback = MessageState.MQTT_MS_WAIT_FOR_PUBACK
mqtt_ms_wait_for_pubrec = MessageState.MQTT_MS_WAIT_FOR_PUBREC
mqtt_ms_resend_pubrel = MessageState.MQTT_MS_RESEND_PUBREL
mqtt_ms_wait_for_pubrel = MessageState.MQTT_MS_WAIT_FOR_PUBREL
mqtt_ms_resend_pubcomp = MessageState.MQTT_MS_RESEND_PUBCOMP
mqtt_ms_wait_for_pubcomp = MessageState.MQTT_MS_WAIT_FOR_PUBCOMP
mqtt_ms_send_pubrec = MessageState.MQTT_MS_SEND_PUBREC
mqtt_ms_queued = MessageState.MQTT_MS_QUEUED

MQTT_ERR_AGAIN = MQTTErrorCode.MQTT_ERR_AGAIN
MQTT_ERR_SUCCESS = MQTTErrorCode.MQTT_ERR_SUCCESS
MQTT_ERR_NOMEM = MQTTErrorCode.MQTT_ERR_NOMEM
MQTT_ERR_PROTOCOL = MQTTErrorCode.MQTT_ERR_PROTOCOL
MQTT_ERR_INVAL = MQTTErrorCode.MQTT_ERR_INVAL
MQTT_ERR_NO_CONN = MQTTErrorCode.MQTT_ERR_NO_CONN
MQTT_ERR_CONN_REFUSED = MQTTErrorCode.MQTT_ERR_CONN_REFUSED
MQTT_ERR_NOT_FOUND = MQTTErrorCode.MQTT_ERR_NOT_FOUND
MQTT_ERR_CONN_LOST = MQTTErrorCode.MQTT_ERR_CONN_LOST
MQTT_ERR_TLS = MQTTErrorCode.MQTT_ERR_TLS
MQTT_ERR_PAYLOAD_SIZE = MQTTErrorCode.MQTT_ERR_PAYLOAD_SIZE
MQTT_ERR_NOT_SUPPORTED = MQTTErrorCode.MQTT_ERR_NOT_SUPPORTED
MQTT_ERR_AUTH = MQTTErrorCode.MQTT_ERR_AUTH
MQTT_ERR_ACL_DENIED = MQTTErrorCode.MQTT_ERR_ACL_DENIED
MQTT_ERR_UNKNOWN = MQTTErrorCode.MQTT_ERR_UNKNOWN
MQTT_ERR_ERRNO = MQTTErrorCode.MQTT_ERR_ERRNO
MQTT_ERR_QUEUE_SIZE = MQTTErrorCode.MQTT_ERR_QUEUE_SIZE
MQTT_ERR_KEEPALIVE = MQTTErrorCode.MQTT_ERR_KEEPALIVE

MQTTv31 = MQTTProtocolVersion.MQTTv31
MQTTv311 = MQTTProtocolVersion.MQTTv311
MQTTv5 = MQTTProtocolVersion.MQTTv5
MQTT_CLIENT = PahoClientMode.MQTT_CLIENT
MQTT_BRIDGE = PahoClientMode.MQTT_BRIDGE
#: connect(clean_start=…): a new session on the first connection only.
MQTT_CLEAN_START_FIRST_ONLY = 3

__all__ = [
    "AUTH",
    "CONNACK",
    "CONNACK_ACCEPTED",
    "CONNACK_REFUSED_BAD_USERNAME_PASSWORD",
    "CONNACK_REFUSED_IDENTIFIER_REJECTED",
    "CONNACK_REFUSED_NOT_AUTHORIZED",
    "CONNACK_REFUSED_PROTOCOL_VERSION",
    "CONNACK_REFUSED_SERVER_UNAVAILABLE",
    "CONNECT",
    "ConnackCode",
    "ConnectFlags",
    "DISCONNECT",
    "DisconnectFlags",
    "LOGGING_LEVEL",
    "LogLevel",
    "MQTT_BRIDGE",
    "MQTT_CLEAN_START_FIRST_ONLY",
    "MQTT_CLIENT",
    "MQTT_ERR_ACL_DENIED",
    "MQTT_ERR_AGAIN",
    "MQTT_ERR_AUTH",
    "MQTT_ERR_CONN_LOST",
    "MQTT_ERR_CONN_REFUSED",
    "MQTT_ERR_ERRNO",
    "MQTT_ERR_INVAL",
    "MQTT_ERR_KEEPALIVE",
    "MQTT_ERR_NOMEM",
    "MQTT_ERR_NOT_FOUND",
    "MQTT_ERR_NOT_SUPPORTED",
    "MQTT_ERR_NO_CONN",
    "MQTT_ERR_PAYLOAD_SIZE",
    "MQTT_ERR_PROTOCOL",
    "MQTT_ERR_QUEUE_SIZE",
    "MQTT_ERR_SUCCESS",
    "MQTT_ERR_TLS",
    "MQTT_ERR_UNKNOWN",
    "MQTT_LOG_DEBUG",
    "MQTT_LOG_ERR",
    "MQTT_LOG_INFO",
    "MQTT_LOG_NOTICE",
    "MQTT_LOG_WARNING",
    "MQTTv31",
    "MQTTv311",
    "MQTTv5",
    "MessageState",
    "MessageType",
    "PINGREQ",
    "PINGRESP",
    "PUBACK",
    "PUBCOMP",
    "PUBLISH",
    "PUBREC",
    "PUBREL",
    "SUBACK",
    "SUBSCRIBE",
    "UNSUBACK",
    "UNSUBSCRIBE",
    "connack_string",
    "convert_connack_rc_to_reason_code",
    "convert_disconnect_error_code_to_reason_code",
    "error_string",
    "mqtt_ms_invalid",
    "mqtt_ms_publish",
    "mqtt_ms_queued",
    "mqtt_ms_resend_pubcomp",
    "mqtt_ms_resend_pubrel",
    "mqtt_ms_send_pubrec",
    "mqtt_ms_wait_for_puback",
    "mqtt_ms_wait_for_pubcomp",
    "mqtt_ms_wait_for_pubrec",
    "mqtt_ms_wait_for_pubrel",
    "topic_matches_sub",
]


class ConnectFlags(NamedTuple):
    """What on_connect gets beside the reason code."""

    #: The server took up the session it had kept.
    session_present: bool


class DisconnectFlags(NamedTuple):
    """What on_disconnect gets beside the reason code."""

    #: The reason code is the server's, from its DISCONNECT.
    is_disconnect_packet_from_server: bool


_ERRORS = {
    MQTT_ERR_SUCCESS: "No error.",
    MQTT_ERR_NOMEM: "Out of memory.",
    MQTT_ERR_PROTOCOL: "A network protocol error occurred when communicating with the broker.",
    MQTT_ERR_INVAL: "Invalid function arguments provided.",
    MQTT_ERR_NO_CONN: "The client is not currently connected.",
    MQTT_ERR_CONN_REFUSED: "The connection was refused.",
    MQTT_ERR_NOT_FOUND: "Message not found (internal error).",
    MQTT_ERR_CONN_LOST: "The connection was lost.",
    MQTT_ERR_TLS: "A TLS error occurred.",
    MQTT_ERR_PAYLOAD_SIZE: "Payload too large.",
    MQTT_ERR_NOT_SUPPORTED: "This feature is not supported.",
    MQTT_ERR_AUTH: "Authorisation failed.",
    MQTT_ERR_ACL_DENIED: "Access denied by ACL.",
    MQTT_ERR_UNKNOWN: "Unknown error.",
    MQTT_ERR_ERRNO: "Error defined by errno.",
    MQTT_ERR_QUEUE_SIZE: "Message queue full.",
    MQTT_ERR_KEEPALIVE: "Client or broker did not communicate in the keepalive interval.",
}
# Connect Return code: what connack_string() says, and the Reason Code with the same meaning.
_RETURN_CODES = {
    0: ("Connection Accepted.", "Success"),
    1: ("Connection Refused: unacceptable protocol version.", "Unsupported protocol version"),
    2: ("Connection Refused: identifier rejected.", "Client identifier not valid"),
    3: ("Connection Refused: broker unavailable.", "Server unavailable"),
    4: ("Connection Refused: bad user name or password.", "Bad user name or password"),
    5: ("Connection Refused: not authorised.", "Not authorized"),
}
_DISCONNECTED = {
    MQTT_ERR_SUCCESS: "Success",
    MQTT_ERR_KEEPALIVE: "Keep alive timeout",
    MQTT_ERR_PROTOCOL: "Protocol error",
}
# What a connection's end is called here.
_ENDS = {
    Status.REFUSED: MQTT_ERR_CONN_REFUSED,
    Status.MALFORMED: MQTT_ERR_PROTOCOL,
    Status.PROTOCOL: MQTT_ERR_PROTOCOL,
    Status.KEEP_ALIVE: MQTT_ERR_KEEPALIVE,
}


def error_string(mqtt_errno: int) -> str:
    """What a MQTT_ERR_… means."""
    return _ERRORS.get(MQTTErrorCode(mqtt_errno), "Unknown error.") if mqtt_errno in _ERRORS else "Unknown error."


def connack_string(connack_code: int | ReasonCode) -> str:
    """What a Connect Return code, or a Reason Code, means."""
    if isinstance(connack_code, ReasonCode):
        return str(connack_code)
    return _RETURN_CODES.get(connack_code, ("Connection Refused: unknown reason.",))[0]


def convert_connack_rc_to_reason_code(connack_code: int) -> ReasonCode:
    """The Reason Code with the meaning of a Connect Return code."""
    return ReasonCode(PacketTypes.CONNACK, _RETURN_CODES.get(connack_code, ("", "Unspecified error"))[1])


def convert_disconnect_error_code_to_reason_code(rc: int) -> ReasonCode:
    """The Reason Code that comes nearest to a MQTT_ERR_…."""
    return ReasonCode(PacketTypes.DISCONNECT, _DISCONNECTED.get(MQTTErrorCode(rc), "Unspecified error"))


def topic_matches_sub(sub: str, topic: str) -> bool:
    """Whether a topic is one that a subscription asks for."""
    try:
        return topic_matches(sub, topic)
    except ArgumentError:
        return False


def end_code(ended: Error | None) -> MQTTErrorCode:
    """What the end of a connection is called here."""
    if ended is None:
        return MQTT_ERR_SUCCESS
    if ended.status == Status.REFUSED and ended.reason_code > 5:
        return MQTT_ERR_PROTOCOL
    return _ENDS.get(ended.status, MQTT_ERR_CONN_LOST)  # type: ignore[call-overload,no-any-return]


def reason(packet: int, number: int, default: Any = "Success") -> ReasonCode:
    """A Reason Code, if the packet has one with this number."""
    try:
        return ReasonCode(packet, identifier=number) if number >= 0 else ReasonCode(packet, default)
    except KeyError:
        return ReasonCode(packet, "Unspecified error")
