"""The properties of MQTT 5.0, as paho-mqtt names them."""

from __future__ import annotations

from typing import Any

from .. import properties as _own
from ..errors import Error
from .errors import MalformedPacket, MQTTException
from .packettypes import PacketTypes

_P = PacketTypes
_MESSAGE = [_P.PUBLISH, _P.WILLMESSAGE]
_CONNECTING = [_P.CONNECT, _P.CONNACK]
_ACKNOWLEDGING = [_P.PUBACK, _P.PUBREC, _P.PUBREL, _P.PUBCOMP, _P.SUBACK, _P.UNSUBACK]
_TYPES = [
    "Byte",
    "Two Byte Integer",
    "Four Byte Integer",
    "Variable Byte Integer",
    "Binary Data",
    "UTF-8 Encoded String",
    "UTF-8 String Pair",
]
# Name, index in _TYPES, packets: MQTT 5.0, Table 2-4.
_TABLE: list[tuple[str, int, list[int]]] = [
    ("Payload Format Indicator", 0, _MESSAGE),
    ("Message Expiry Interval", 2, _MESSAGE),
    ("Content Type", 5, _MESSAGE),
    ("Response Topic", 5, _MESSAGE),
    ("Correlation Data", 4, _MESSAGE),
    ("Subscription Identifier", 3, [_P.PUBLISH, _P.SUBSCRIBE]),
    ("Session Expiry Interval", 2, [*_CONNECTING, _P.DISCONNECT]),
    ("Assigned Client Identifier", 5, [_P.CONNACK]),
    ("Server Keep Alive", 1, [_P.CONNACK]),
    ("Authentication Method", 5, [*_CONNECTING, _P.AUTH]),
    ("Authentication Data", 4, [*_CONNECTING, _P.AUTH]),
    ("Request Problem Information", 0, [_P.CONNECT]),
    ("Will Delay Interval", 2, [_P.WILLMESSAGE]),
    ("Request Response Information", 0, [_P.CONNECT]),
    ("Response Information", 5, [_P.CONNACK]),
    ("Server Reference", 5, [_P.CONNACK, _P.DISCONNECT]),
    ("Reason String", 5, [_P.CONNACK, *_ACKNOWLEDGING, _P.DISCONNECT, _P.AUTH]),
    ("Receive Maximum", 1, _CONNECTING),
    ("Topic Alias Maximum", 1, _CONNECTING),
    ("Topic Alias", 1, [_P.PUBLISH]),
    ("Maximum QoS", 0, [_P.CONNACK]),
    ("Retain Available", 0, [_P.CONNACK]),
    (
        "User Property",
        6,
        [*_CONNECTING, _P.PUBLISH, *_ACKNOWLEDGING, _P.SUBSCRIBE, _P.UNSUBSCRIBE, _P.DISCONNECT, _P.AUTH]
        + [_P.WILLMESSAGE],
    ),
    ("Maximum Packet Size", 2, _CONNECTING),
    ("Wildcard Subscription Available", 0, [_P.CONNACK]),
    ("Subscription Identifier Available", 0, [_P.CONNACK]),
    ("Shared Subscription Available", 0, [_P.CONNACK]),
]
# The attribute here, and the one of swiftmqtt.Properties.
_OWN_NAMES = dict(zip((name.replace(" ", "") for name, *_ in _TABLE), _own.IDENTIFIERS))
_MULTIPLE = {"SubscriptionIdentifier", "UserProperty"}
_RANGES = {
    "ReceiveMaximum": (1, 65_535),
    "TopicAlias": (1, 65_535),
    "TopicAliasMaximum": (0, 65_535),
    "MaximumPacketSize": (1, 268_435_455),
    "SubscriptionIdentifier": (1, 268_435_455),
    "RequestResponseInformation": (0, 1),
    "RequestProblemInformation": (0, 1),
    "PayloadFormatIndicator": (0, 1),
}


class Properties:
    """The properties of a packet: attributes with the names of the specification, without the spaces.

        properties = Properties(PacketTypes.PUBLISH)
        properties.ContentType = "application/json"
        properties.UserProperty = ("name", "value")   # each assignment adds one

    packetType   such as PacketTypes.PUBLISH; MQTTException for a property that this packet cannot have
    """

    types = _TYPES
    names = {name: _own.IDENTIFIERS[_OWN_NAMES[name.replace(" ", "")]] for name, *_ in _TABLE}
    properties = {
        _own.IDENTIFIERS[_OWN_NAMES[name.replace(" ", "")]]: (kind, packets) for name, kind, packets in _TABLE
    }

    packetType: int

    def __init__(self, packetType: int):
        object.__setattr__(self, "packetType", packetType)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "packetType":
            object.__setattr__(self, name, value)
            return
        name = name.replace(" ", "")
        if name not in _OWN_NAMES:
            raise MQTTException(f"Property name must be one of {list(self.names)}")
        if self.packetType not in self.properties[self.getIdentFromName(name)][1]:
            raise MQTTException(f"Property {name} does not apply to packet type {self._packet()}")
        if name in _RANGES and not isinstance(value, list):
            low, high = _RANGES[name]
            if not low <= value <= high:
                wanted = "0 or 1" if high == 1 else f"in the range {low}-{high}"
                raise MQTTException(f"{name} property value must be {wanted}")
        if name in _MULTIPLE:
            value = [*self.__dict__.get(name, []), *(value if isinstance(value, list) else [value])]
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._packet()} has no property {name}")

    def getIdentFromName(self, compressedName: str) -> int:
        """The number of a property; -1: there is none with this name."""
        return _own.IDENTIFIERS[_OWN_NAMES[compressedName]] if compressedName in _OWN_NAMES else -1

    def getNameFromIdent(self, identifier: int) -> str | None:
        """The name of a number."""
        return next((name for name, number in self.names.items() if number == identifier), None)

    def allowsMultiple(self, compressedName: str) -> bool:
        """Whether a property may come more than once."""
        return compressedName in _MULTIPLE

    def isEmpty(self) -> bool:
        """Whether there is no property."""
        return not self._there()

    def clear(self) -> None:
        """Removes all."""
        for name in self._there():
            delattr(self, name)

    def json(self) -> dict[str, Any]:
        """The properties by their names; Correlation Data in hex."""
        return {n: v.hex() if n == "CorrelationData" and isinstance(v, bytes) else v for n, v in self._there().items()}

    def pack(self) -> bytes:
        """The bytes, with their length before them."""
        try:
            encoded = self.own().encode()
        except Error as error:
            raise MQTTException(str(error)) from None
        length, prefix = len(encoded), bytearray()
        while length >= 128:
            prefix.append(length & 127 | 128)
            length >>= 7
        return bytes(prefix) + bytes([length]) + encoded

    def unpack(self, buffer: bytes) -> tuple[Properties, int]:
        """Becomes what bytes with their length before them say; returns itself, and how many were used."""
        size, used = 0, 0
        for used, byte in enumerate(buffer[:4], 1):
            size |= (byte & 127) << 7 * (used - 1)
            if byte < 128:
                break
        data = bytes(buffer[used : used + size])
        if len(data) < size:
            raise MalformedPacket("the properties end too early")
        try:
            found = _own.Properties.decode(data)
        except Error as error:
            raise MalformedPacket(str(error)) from None
        self.clear()
        self.fill(found)
        return self, used + size

    def own(self) -> _own.Properties:
        """The same for this library."""
        return _own.Properties(**{_OWN_NAMES[name]: value for name, value in self._there().items()})

    def fill(self, found: _own.Properties) -> Properties:
        """Takes over those that this library found in a packet."""
        for name, own in _OWN_NAMES.items():
            value = getattr(found, own)
            if value is not None and value != []:
                object.__setattr__(self, name, value)
        return self

    def _there(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in _OWN_NAMES if name in self.__dict__}

    def _packet(self) -> str:
        return "Will" if self.packetType == _P.WILLMESSAGE else _P.Names[self.packetType]

    def __str__(self) -> str:
        return "[" + ", ".join(f"{name} : {value}" for name, value in self._there().items()) + "]"
