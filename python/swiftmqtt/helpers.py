"""Names and topics: chapters 1 and 16 of the header. Any thread may call these at any time."""

from __future__ import annotations

import ctypes

from . import _abi
from ._checks import encoded_text
from ._library import LIBRARY
from .constants import Protocol, Status
from .errors import ArgumentError, check


def library_version() -> tuple[int, int, int]:
    """The version of the library."""
    version = LIBRARY.smq_version()
    return version >> 16, version >> 8 & 0xFF, version & 0xFF


def status_name(status: int) -> str:
    """The name of a status, such as "SMQ_ERR_FULL"."""
    return _name(LIBRARY.smq_status_name(_number("status", status)))


def status_text(status: int) -> str:
    """What a status means, such as "the host name has no address"."""
    return _name(LIBRARY.smq_status_text(_number("status", status)))


def reason_code_name(reason_code: int, protocol: int = Protocol.MQTT_5_0) -> str:
    """The name of a server's Reason Code as the specification spells it, such as "Not authorized"."""
    return _name(LIBRARY.smq_reason_code_name(_number("protocol", protocol), _number("reason_code", reason_code)))


def stage_name(stage: int) -> str:
    """The name of a stage, such as "connack"."""
    return _name(LIBRARY.smq_stage_name(_number("stage", stage)))


def rule_name(rule: int) -> str:
    """What a rule of the specification says, and where it stands."""
    return _name(LIBRARY.smq_rule_name(_number("rule", rule)))


def topic_name_check(topic: str) -> None:
    """Raises ArgumentError if a message could not be published with this topic."""
    check(LIBRARY.smq_topic_name_check(_packed("topic", topic)))


def topic_filter_check(filter: str) -> None:
    """Raises ArgumentError if a client could not subscribe to this filter."""
    check(LIBRARY.smq_topic_filter_check(_packed("filter", filter)))


def topic_matches(filter: str, topic: str) -> bool:
    """Whether a topic matches a filter. Raises ArgumentError if one of them is invalid."""
    return bool(check(LIBRARY.smq_topic_matches(_packed("filter", filter), _packed("topic", topic))))


def _packed(name: str, value: str) -> object:
    encoded = encoded_text(name, value)
    return ctypes.byref(_abi.BytesIn(encoded, len(encoded)))


def _number(name: str, value: int) -> int:
    if isinstance(value, int):
        return value
    raise ArgumentError(Status.OPTION, f"the {name} is a whole number, not {type(value).__name__}")


def _name(found: bytes) -> str:
    return found.decode("utf-8", "replace")
