"""Reason Codes, by number and by name."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from .packettypes import PacketTypes

# Number, name, and the packets that may have it under this name: MQTT 5.0, Table 2-6.
TABLE = [
    (0x00, "Success", "CONNACK PUBACK PUBREC PUBREL PUBCOMP UNSUBACK AUTH"),
    (0x00, "Normal disconnection", "DISCONNECT"),
    (0x00, "Granted QoS 0", "SUBACK"),
    (0x01, "Granted QoS 1", "SUBACK"),
    (0x02, "Granted QoS 2", "SUBACK"),
    (0x04, "Disconnect with will message", "DISCONNECT"),
    (0x10, "No matching subscribers", "PUBACK PUBREC"),
    (0x11, "No subscription found", "UNSUBACK"),
    (0x18, "Continue authentication", "AUTH"),
    (0x19, "Re-authenticate", "AUTH"),
    (0x80, "Unspecified error", "CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT"),
    (0x81, "Malformed packet", "CONNACK DISCONNECT"),
    (0x82, "Protocol error", "CONNACK DISCONNECT"),
    (0x83, "Implementation specific error", "CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT"),
    (0x84, "Unsupported protocol version", "CONNACK"),
    (0x85, "Client identifier not valid", "CONNACK"),
    (0x86, "Bad user name or password", "CONNACK"),
    (0x87, "Not authorized", "CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT"),
    (0x88, "Server unavailable", "CONNACK"),
    (0x89, "Server busy", "CONNACK DISCONNECT"),
    (0x8A, "Banned", "CONNACK"),
    (0x8B, "Server shutting down", "DISCONNECT"),
    (0x8C, "Bad authentication method", "CONNACK DISCONNECT"),
    (0x8D, "Keep alive timeout", "DISCONNECT"),
    (0x8E, "Session taken over", "DISCONNECT"),
    (0x8F, "Topic filter invalid", "SUBACK UNSUBACK DISCONNECT"),
    (0x90, "Topic name invalid", "CONNACK PUBACK PUBREC DISCONNECT"),
    (0x91, "Packet identifier in use", "PUBACK PUBREC SUBACK UNSUBACK"),
    (0x92, "Packet identifier not found", "PUBREL PUBCOMP"),
    (0x93, "Receive maximum exceeded", "DISCONNECT"),
    (0x94, "Topic alias invalid", "DISCONNECT"),
    (0x95, "Packet too large", "CONNACK DISCONNECT"),
    (0x96, "Message rate too high", "DISCONNECT"),
    (0x97, "Quota exceeded", "CONNACK PUBACK PUBREC SUBACK DISCONNECT"),
    (0x98, "Administrative action", "DISCONNECT"),
    (0x99, "Payload format invalid", "PUBACK PUBREC DISCONNECT"),
    (0x9A, "Retain not supported", "CONNACK DISCONNECT"),
    (0x9B, "QoS not supported", "CONNACK DISCONNECT"),
    (0x9C, "Use another server", "CONNACK DISCONNECT"),
    (0x9D, "Server moved", "CONNACK DISCONNECT"),
    (0x9E, "Shared subscription not supported", "SUBACK DISCONNECT"),
    (0x9F, "Connection rate exceeded", "CONNACK DISCONNECT"),
    (0xA0, "Maximum connect time", "DISCONNECT"),
    (0xA1, "Subscription identifiers not supported", "SUBACK DISCONNECT"),
    (0xA2, "Wildcard subscription not supported", "SUBACK DISCONNECT"),
]
NAMES: dict[tuple[int, int], str] = {}  # of packet and number
NUMBERS: dict[tuple[int, str], int] = {}  # of packet and name
for _number, _name, _packets in TABLE:
    for _packet in _packets.split():
        NAMES[getattr(PacketTypes, _packet), _number] = _name
        NUMBERS[getattr(PacketTypes, _packet), _name] = _number


@functools.total_ordering
class ReasonCode:
    """A Reason Code of a packet. Compares with another one, with a number, and with a name.

    packetType   such as PacketTypes.CONNACK: a number may have another name in another packet
    aName        the name, unless identifier is given
    identifier   the number

    KeyError if the packet has no such Reason Code.
    """

    #: number: {name: [packets]}
    names: dict[int, dict[str, list[int]]] = {}

    def __init__(self, packetType: int, aName: str = "Success", identifier: int = -1):
        self.packetType = packetType
        self.value = identifier
        if identifier == -1:
            if packetType == PacketTypes.DISCONNECT and aName == "Success":
                aName = "Normal disconnection"
            self.set(aName)
        else:
            self.getName()

    def set(self, name: str) -> None:
        """Becomes the one with this name."""
        self.value = self.getId(name)

    def getId(self, name: str) -> int:
        """The number of a name."""
        if (self.packetType, name) not in NUMBERS:
            raise KeyError(f"Reason code name not found: {name}")
        return NUMBERS[self.packetType, name]

    def getName(self) -> str:
        """The name."""
        return NAMES[self.packetType, self.value]

    def unpack(self, buffer: bytes) -> int:
        """Becomes the one of a byte; returns how many were used."""
        self.value = buffer[0]
        self.getName()
        return 1

    def pack(self) -> bytearray:
        """The byte."""
        return bytearray([self.value])

    def json(self) -> str:
        """The name."""
        return self.getName()

    @property
    def is_failure(self) -> bool:
        """Whether it is from 0x80 on."""
        return self.value >= 0x80

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.value == other
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, ReasonCode) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> bool:
        if isinstance(other, ReasonCode):
            return self.value < other.value
        return self.value < other if isinstance(other, int) else NotImplemented

    def __str__(self) -> str:
        return self.getName()

    def __repr__(self) -> str:
        return f"ReasonCode({PacketTypes.Names[self.packetType]}, {self.getName()!r})"


for _number, _name, _packets in TABLE:
    ReasonCode.names.setdefault(_number, {})[_name] = [getattr(PacketTypes, _packet) for _packet in _packets.split()]


class _AnyReasonCode(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ReasonCode)


class ReasonCodes(ReasonCode, metaclass=_AnyReasonCode):
    """The name of before."""

    def __init__(self, *arguments: Any, **named: Any):
        warnings.warn("ReasonCodes is ReasonCode now", DeprecationWarning, stacklevel=2)
        super().__init__(*arguments, **named)
