"""What a run shows, in a form in which two runs can be compared: packets without their Packet Identifiers and their
time, events, what the witness got."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from Support.codec import (
    CONNACK,
    CONNECT,
    NAMES,
    PUBLISH,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    Packet,
    packets,
)
from Support.recording import Recording

LONGEST = 60  # bytes of a payload that are shown
ASSIGNED = re.compile(r"auto-[0-9A-F-]{36}")  # a Client Identifier that the server chose


@dataclass
class Outcome:
    """Each list is compared with the other run's."""

    sent: list[dict] = field(default_factory=list)  # by the client
    received: list[dict] = field(default_factory=list)  # by the client
    events: list[tuple] = field(default_factory=list)  # the client under test and what it tells the program
    calls: list[tuple] = field(default_factory=list)  # what the library answers to a call
    witnessed: list[dict] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # rules of the specification, by this client

    def lines(self) -> dict[str, list[str]]:
        """As text, by which they are compared and shown."""
        return {name: [ASSIGNED.sub("auto-...", shown(item)) for item in value] for name, value in vars(self).items()}

    def packets(self, type: str, direction: str = "sent") -> list[dict]:
        """Those of a type."""
        return [packet for packet in getattr(self, direction) if packet["type"] == type]


def shown(item: object) -> str:
    """One line."""
    if isinstance(item, dict):
        return " ".join(f"{name}={value!r}" for name, value in item.items() if name != "type").join(
            (f"{item['type']} ", "")
        )
    return repr(item)


def brief(data: bytes) -> str | bytes:
    """A payload, or of a long one what tells it from others."""
    if len(data) <= LONGEST:
        return data
    return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()[:12]}"


class Identifiers:
    """Names exchanges for what they are about, whatever their Packet Identifiers; those about the same are numbered."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.names: dict[tuple[bool, int], str] = {}

    def name(self, packet: Packet) -> str | None:
        """What stands for the packet's identifier: who began, and the number of the exchange."""
        if not packet.id:
            return None
        begins = packet.type in (SUBSCRIBE, UNSUBSCRIBE) or (packet.type == PUBLISH and not packet.dup)
        # Of these PUBREL alone goes the same way as the PUBLISH that began.
        same_way = begins or packet.type in (PUBLISH, 6)
        way = (packet.from_client == same_way, packet.id)
        if begins or way not in self.names:
            about = packet.topic or " ".join(filter for filter, _ in packet.filters)
            name = f"{'client' if way[0] else 'server'} {NAMES[packet.type]} {about[:30]}"
            self.count[name] += 1
            self.names[way] = f"{name} {self.count[name]}"
        return self.names[way]


def describe(packet: Packet, names: Identifiers, connection: int) -> dict:
    """Everything a packet says. Its size tells a shorter encoding of the same from a longer one."""
    told: dict = dict(type=NAMES[packet.type], connection=connection, size=len(packet.raw))
    if identifier := names.name(packet):
        told["id"] = identifier
    if packet.type == CONNECT:
        told |= connect(packet)
    elif packet.type == CONNACK:
        told |= dict(code=packet.code, session_present=packet.session_present)
    elif packet.type == PUBLISH:
        told |= message(packet)
        told["dup"] = packet.dup
    elif packet.type in (SUBSCRIBE, UNSUBSCRIBE):
        told["filters"] = packet.filters
    elif packet.type in (SUBACK, UNSUBACK):
        told["codes"] = list(packet.codes)
    elif packet.level == 5:
        told["code"] = packet.code
    if packet.properties:
        told["properties"] = dict(sorted(packet.properties.items()))
    return told


def message(packet: Packet) -> dict:
    """Of a PUBLISH."""
    return dict(topic=packet.topic, qos=packet.qos, retain=packet.retain, payload=brief(packet.payload))


def connect(packet: Packet) -> dict:
    """The fields of a CONNECT (section 3.1)."""
    told = dict(
        name="MQIsdp" if packet.level == 3 else "MQTT",
        level=packet.level,
        keep_alive=packet.keep_alive,
        clean=packet.clean,
        client=packet.client_id,
    )
    if will := packet.will:
        told["will"] = dict(
            properties=dict(sorted(will.properties.items())),
            topic=will.topic,
            payload=brief(will.payload),
            qos=will.qos,
            retain=will.retain,
        )
    if packet.user is not None:
        told["user"] = packet.user
    if packet.password is not None:
        told["password"] = packet.password
    return told


def conversation(recordings: Iterable[Recording], outcome: Outcome) -> None:
    """Adds the packets of one client's connections."""
    names = Identifiers()
    for number, recording in enumerate(recordings, 1):
        for packet in packets(recording):
            told = describe(packet, names, number)
            (outcome.sent if packet.from_client else outcome.received).append(told)


def witnessed(messages: Iterable[Packet]) -> list[dict]:
    """What the witness got."""
    return [
        dict(type="PUBLISH", **message(packet), properties=dict(sorted(packet.properties.items())))
        for packet in messages
    ]
