"""The properties of MQTT 5.0 (section 2.2.2), as attributes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Union

from . import _abi
from ._library import LIBRARY
from ._checks import listed
from .constants import PropertyId, Status
from .errors import ArgumentError, error

#: User Properties: pairs of name and value, of which a name may come more than once; or a mapping.
UserProperties = Union[Iterable[tuple[str, str]], Mapping[str, str]]


@dataclass(repr=False)
class Properties:
    """A list of properties. A property that is None is not in the list; the library knows which packet may
    carry which.

    Strings are str, data are bytes. ``user_properties`` and ``subscription_identifiers`` may be repeated, so
    they are lists.
    """

    payload_format_indicator: int | None = None
    message_expiry_interval: int | None = None
    content_type: str | None = None
    response_topic: str | None = None
    correlation_data: bytes | None = None
    subscription_identifiers: list[int] = field(default_factory=list)
    session_expiry_interval: int | None = None
    assigned_client_identifier: str | None = None
    server_keep_alive: int | None = None
    authentication_method: str | None = None
    authentication_data: bytes | None = None
    request_problem_information: int | None = None
    will_delay_interval: int | None = None
    request_response_information: int | None = None
    response_information: str | None = None
    server_reference: str | None = None
    reason_string: str | None = None
    receive_maximum: int | None = None
    topic_alias_maximum: int | None = None
    topic_alias: int | None = None
    maximum_qos: int | None = None
    retain_available: int | None = None
    user_properties: list[tuple[str, str]] = field(default_factory=list)
    maximum_packet_size: int | None = None
    wildcard_subscription_available: int | None = None
    subscription_identifier_available: int | None = None
    shared_subscription_available: int | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) not in (None, []) for name in IDENTIFIERS)

    def __repr__(self) -> str:
        there = [f"{name}={getattr(self, name)!r}" for name in IDENTIFIERS if getattr(self, name) not in (None, [])]
        return f"Properties({', '.join(there)})"

    def encode(self) -> bytes:
        """The bytes of the list. ArgumentError names the property that is wrong."""
        listed = [(name, value) for name in IDENTIFIERS for value in self._values(name)]
        if not listed:
            return b""
        room = 16 * len(listed) + sum(_length(value) for _, value in listed)
        buffer = ctypes.create_string_buffer(room)
        made = _abi.PropertyList()
        made.data, made.capacity, made.size = ctypes.addressof(buffer), room, 0
        for name, value in listed:
            status = _put(made, name, value)
            if status:
                raise error(status, f"the property {name} cannot be {value!r}")
        return buffer.raw[: made.size]

    @staticmethod
    def decode(data: bytes) -> Properties:
        """A list from its bytes."""
        found = Properties()
        if not data:
            return found
        whole = _abi.BytesIn(data, len(data))
        position, item = ctypes.c_size_t(0), _abi.Property()
        while True:
            status = LIBRARY.smq_property_next(ctypes.byref(whole), ctypes.byref(position), ctypes.byref(item))
            if status != 1:
                if status < 0:
                    raise error(status)
                return found
            name, kind = NAMES[item.identifier]
            value = ctypes.string_at(item.value.data, item.value.size) if item.value.size else b""
            if kind == "pair":
                key = ctypes.string_at(item.name.data, item.name.size) if item.name.size else b""
                found.user_properties.append((key.decode("utf-8", "replace"), value.decode("utf-8", "replace")))
            elif name == "subscription_identifiers":
                found.subscription_identifiers.append(item.number)
            elif kind == "number":
                setattr(found, name, item.number)
            else:
                setattr(found, name, value.decode("utf-8", "replace") if kind == "text" else value)

    def _values(self, name: str) -> list[Any]:
        value = getattr(self, name)
        if value is None:
            return []
        if name == "user_properties":
            return listed(name, value.items() if isinstance(value, Mapping) else value)
        if name == "subscription_identifiers":
            return listed(name, value)
        return [value]


# The attributes whose value is no number: a text, bytes or a pair.
TEXTS = {
    "content_type",
    "response_topic",
    "assigned_client_identifier",
    "authentication_method",
    "response_information",
    "server_reference",
    "reason_string",
}
DATA = {"correlation_data", "authentication_data"}
PLURALS = {"subscription_identifiers": "SUBSCRIPTION_IDENTIFIER", "user_properties": "USER_PROPERTY"}
IDENTIFIERS = {f.name: int(PropertyId[PLURALS.get(f.name, f.name.upper())]) for f in fields(Properties)}


def _kind(name: str) -> str:
    if name == "user_properties":
        return "pair"
    return "text" if name in TEXTS else "data" if name in DATA else "number"


NAMES = {identifier: (name, _kind(name)) for name, identifier in IDENTIFIERS.items()}


def _length(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(_length(part) for part in value)
    return 4 * len(value) if isinstance(value, (str, bytes, bytearray, memoryview)) else 4


def _bytes(name: str, value: Any, kind: str) -> Any:
    if kind == "data" and isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    wanted = bytes if kind == "data" else str
    if not isinstance(value, wanted):
        raise ArgumentError(Status.PROPERTY, f"the property {name} is {wanted.__name__}, not {type(value).__name__}")
    try:
        encoded = value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise ArgumentError(Status.UTF8, f"the property {name} has what UTF-8 cannot express") from None
    return ctypes.byref(_abi.BytesIn(encoded, len(encoded)))


def _put(made: _abi.PropertyList, name: str, value: Any) -> int:
    kind, identifier = _kind(name), IDENTIFIERS[name]
    if kind == "pair":
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ArgumentError(Status.PROPERTY, f"user_properties has pairs of str, not {value!r}")
        parts = [_bytes(name, part, "text") for part in value]
        return int(LIBRARY.smq_property_put_pair(ctypes.byref(made), *parts))
    if kind == "number":
        if not isinstance(value, int) or not 0 <= value <= 0xFFFFFFFF:
            raise ArgumentError(Status.PROPERTY, f"the property {name} cannot be {value!r}")
        return int(LIBRARY.smq_property_put_number(ctypes.byref(made), identifier, int(value)))
    return int(LIBRARY.smq_property_put_bytes(ctypes.byref(made), identifier, _bytes(name, value, kind)))


def encode(properties: Properties | None, **named: Any) -> bytes:
    """The bytes of a list, to which what is named and not None is added."""
    if properties is not None and not isinstance(properties, Properties):
        raise ArgumentError(Status.PROPERTY, f"properties is a swiftmqtt.Properties, not {type(properties).__name__}")
    named = {name: value for name, value in named.items() if value is not None}
    if not named:
        return properties.encode() if properties is not None else b""
    made = Properties(**{name: getattr(properties, name) for name in IDENTIFIERS} if properties is not None else {})
    for name, value in named.items():
        setattr(made, name, value)
    return made.encode()
