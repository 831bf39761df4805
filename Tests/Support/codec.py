"""MQTT 3.1, 3.1.1 and 5.0 in Python: fields and packets to bytes, and a strict reader of bytes, with a complaint about
everything in them that the specification does not allow whoever sent them, whatever came before.

It shares nothing with the library. The reader judges what the writer here writes, too: the two were written apart.
Statements are numbered as in 5.0 also where an older version is spoken; "3.1.1:" and "3.1:" stand before what only
these say, and what has no number goes by its section.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .recording import Recording

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE = range(1, 9)
SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = range(9, 16)
NAMES = (
    "0 CONNECT CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK "
    "PINGREQ PINGRESP DISCONNECT AUTH"
).split()
OF_SERVERS = {CONNACK, SUBACK, UNSUBACK, PINGRESP}
OF_CLIENTS = {CONNECT, SUBSCRIBE, UNSUBSCRIBE, PINGREQ}
FLAGS_2 = {PUBREL, SUBSCRIBE, UNSUBSCRIBE}

SESSION_EXPIRY, SERVER_KEEP_ALIVE, AUTHENTICATION_METHOD = 0x11, 0x13, 0x15
RECEIVE_MAXIMUM, TOPIC_ALIAS_MAXIMUM, TOPIC_ALIAS = 0x21, 0x22, 0x23
MAXIMUM_QOS, RETAIN_AVAILABLE, MAXIMUM_PACKET_SIZE = 0x24, 0x25, 0x27
WILDCARDS, IDENTIFIERS, SHARED = 0x28, 0x29, 0x2A  # of Subscriptions: available
MESSAGE_EXPIRY, SUBSCRIPTION_IDENTIFIER, USER_PROPERTY = 0x02, 0x0B, 0x26

EVERYWHERE = (
    "CONNECT CONNACK WILL PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE"
)
EVERYWHERE += " UNSUBACK DISCONNECT AUTH"
ANSWERS = "CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT AUTH"

class Property(NamedTuple):
    name: str
    kind: str
    places: str


# Section 2.2.2.2
PROPERTIES = {
    0x01: Property("payload_format", "flag", "PUBLISH WILL"),
    MESSAGE_EXPIRY: Property("message_expiry", "four", "PUBLISH WILL"),
    0x03: Property("content_type", "string", "PUBLISH WILL"),
    0x08: Property("response_topic", "topic", "PUBLISH WILL"),
    0x09: Property("correlation_data", "binary", "PUBLISH WILL"),
    SUBSCRIPTION_IDENTIFIER: Property("subscription_identifier", "variable", "PUBLISH SUBSCRIBE"),
    SESSION_EXPIRY: Property("session_expiry", "four", "CONNECT CONNACK DISCONNECT"),
    0x12: Property("assigned_client_id", "string", "CONNACK"),
    SERVER_KEEP_ALIVE: Property("server_keep_alive", "two", "CONNACK"),
    AUTHENTICATION_METHOD: Property("authentication_method", "string", "CONNECT CONNACK AUTH"),
    0x16: Property("authentication_data", "binary", "CONNECT CONNACK AUTH"),
    0x17: Property("request_problem_information", "flag", "CONNECT"),
    0x18: Property("will_delay", "four", "WILL"),
    0x19: Property("request_response_information", "flag", "CONNECT"),
    0x1A: Property("response_information", "string", "CONNACK"),
    0x1C: Property("server_reference", "string", "CONNACK DISCONNECT"),
    0x1F: Property("reason_string", "string", ANSWERS),
    RECEIVE_MAXIMUM: Property("receive_maximum", "two", "CONNECT CONNACK"),
    TOPIC_ALIAS_MAXIMUM: Property("topic_alias_maximum", "two", "CONNECT CONNACK"),
    TOPIC_ALIAS: Property("topic_alias", "two", "PUBLISH"),
    MAXIMUM_QOS: Property("maximum_qos", "flag", "CONNACK"),
    RETAIN_AVAILABLE: Property("retain_available", "flag", "CONNACK"),
    USER_PROPERTY: Property("user_property", "pair", EVERYWHERE),
    MAXIMUM_PACKET_SIZE: Property("maximum_packet_size", "four", "CONNECT CONNACK"),
    WILDCARDS: Property("wildcard_subscription_available", "flag", "CONNACK"),
    IDENTIFIERS: Property("subscription_identifier_available", "flag", "CONNACK"),
    SHARED: Property("shared_subscription_available", "flag", "CONNACK"),
}
BY_NAME = {property.name: identifier for identifier, property in PROPERTIES.items()}
SIZES = {"flag": 1, "two": 2, "four": 4}
NOT_ZERO = {SUBSCRIPTION_IDENTIFIER, RECEIVE_MAXIMUM, TOPIC_ALIAS, MAXIMUM_PACKET_SIZE}

# Section 2.4
FAILURES = {0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99}
CODES = {
    PUBACK: {0, 0x10} | FAILURES,
    PUBREC: {0, 0x10} | FAILURES,
    PUBREL: {0, 0x92},
    PUBCOMP: {0, 0x92},
    SUBACK: {0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2},
    UNSUBACK: {0, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91},
    CONNACK: {0, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F},
}
DISCONNECT_CODES = {
    True: {0, 4, 0x80, 0x81, 0x82, 0x83, 0x90, *range(0x93, 0x9A)},  # a client's
    False: {0, *range(0x80, 0x84), 0x87, 0x89, *range(0x8B, 0x91), *range(0x93, 0xA3)},
}
AUTH_CODES = {True: {0x18, 0x19}, False: {0, 0x18}}

Complain = Callable[[str, str], None]  # the rule, what is wrong


def allowed(place: str) -> set[str]:
    """The names of the properties that a client may have there."""
    found = {property.name for property in PROPERTIES.values() if place in property.places.split()}
    return found - {"subscription_identifier"} if place == "PUBLISH" else found


# ---- Writing ----


def variable(number: int) -> bytes:
    """A Variable Byte Integer (section 1.5.5)."""
    high, low = divmod(number, 128)
    return bytes([low | 128]) + variable(high) if high else bytes([low])


def binary(data: bytes | str) -> bytes:
    """With its length in front, as strings and binary data have it."""
    if isinstance(data, str):
        data = data.encode()
    return struct.pack(">H", len(data)) + data


def packet(type: int, body: bytes = b"", flags: int | None = None) -> bytes:
    if flags is None:
        flags = 2 if type in FLAGS_2 else 0
    return bytes([type << 4 | flags]) + variable(len(body)) + body


def properties(values: Mapping[str | int, object] | Iterable[tuple[str | int, object]]) -> bytes:
    """Properties by name or identifier, with their length in front. A list of values stands for several."""
    out = b""
    for key, given in values.items() if isinstance(values, Mapping) else values:
        identifier = BY_NAME.get(key, key)
        kind = PROPERTIES[identifier].kind
        for value in given if isinstance(given, list) else [given]:
            out += bytes([identifier])
            if kind in SIZES:
                out += value.to_bytes(SIZES[kind], "big")
            elif kind == "variable":
                out += variable(value)
            elif kind == "pair":
                out += binary(value[0]) + binary(value[1])
            else:
                out += binary(value)
    return variable(len(out)) + out


def publish_packet(
    level: int,
    topic: str | bytes,
    payload: bytes = b"",
    qos: int = 0,
    *,
    retain: int = 0,
    dup: int = 0,
    identifier: int = 0,
    **values: object,
) -> bytes:
    body = binary(topic) + (identifier.to_bytes(2, "big") if qos else b"")
    if level == 5:
        body += properties(values)
    return packet(PUBLISH, body + payload, dup << 3 | qos << 1 | retain)


def matches(filter: str, topic: str) -> bool:
    """Section 4.7; of a Shared Subscription the filter counts."""
    if filter.startswith("$share/"):
        filter = filter.split("/", 2)[2]
    if topic.startswith("$") and filter[:1] in ("+", "#"):
        return False
    filters, levels = filter.split("/"), topic.split("/")
    for index, part in enumerate(filters):
        if part == "#":
            return True
        if index == len(levels) or part not in ("+", levels[index]):
            return False
    return len(filters) == len(levels)


# ---- Reading ----


class Unreadable(Exception):
    """What follows cannot be found: the rule, what is wrong."""


@dataclass
class Will:
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: dict[int, list]


@dataclass
class Packet:
    raw: bytes
    level: int  # 3, 4 or 5 for 3.1, 3.1.1 and 5.0
    header: int = 0  # bytes of it that are the fixed header
    number: int = 0  # in its connection, from 1
    from_client: bool = True
    begin: float = 0.0  # when its first byte was sent
    end: float = 0.0  # and its last
    complaints: list[tuple[str, str]] = field(default_factory=list)
    readable: bool = True

    # What was read. Only what this type of packet has means anything.
    id: int = 0
    code: int = 0
    properties: dict[int, list] = field(default_factory=dict)
    topic: str = ""
    payload: bytes = b""
    filters: list[tuple[str, int]] = field(default_factory=list)  # and their options
    codes: bytes = b""
    clean: bool = False
    keep_alive: int = 0
    session_present: bool = False
    client_id: str = ""
    will: Will | None = None
    user: str | None = None
    password: bytes | None = None

    @property
    def type(self) -> int:
        return self.raw[0] >> 4

    @property
    def flags(self) -> int:
        return self.raw[0] & 15

    @property
    def body(self) -> bytes:
        """All behind the fixed header."""
        return self.raw[self.header :]

    @property
    def dup(self) -> bool:
        return bool(self.raw[0] & 8)

    @property
    def qos(self) -> int:
        return self.raw[0] >> 1 & 3

    @property
    def retain(self) -> bool:
        return bool(self.raw[0] & 1)

    @property
    def named(self) -> dict[str, object]:
        """Its properties by name: lists of the pairs, and the one value of all others."""
        return by_name(self.properties)

    def complain(self, rule: str, what: str) -> None:
        self.complaints.append((rule, what))

    def property(self, identifier: int, default: object = None) -> object:
        return self.properties.get(identifier, [default])[0]

    def __str__(self) -> str:
        who = "client" if self.from_client else "server"
        return f"packet {self.number}, the {who}'s {NAMES[self.type]}"


Kind = TypeVar("Kind", bound=Packet)


def by_name(properties: dict[int, list]) -> dict[str, object]:
    kinds = {identifier: PROPERTIES[identifier] for identifier in properties}
    return {kinds[i].name: found if kinds[i].kind == "pair" else found[0] for i, found in properties.items()}


def parse(raw: bytes, level: int, from_client: bool = True) -> Packet:
    """One whole packet."""
    packet = first(bytearray(raw), level)
    packet.from_client = from_client
    if packet.readable:
        Reading(packet).read()
    return packet


def split(data: bytes) -> list[bytes]:
    """Whole packets, unread."""
    waiting, found = bytearray(data), []
    while packet := first(waiting, 5):
        found.append(packet.raw)
    return found


def packets(recording: Recording) -> Iterator[Packet]:
    """Of both directions, in the order in which they were complete. What is left at the end is left
    out."""
    number, level = 0, 5
    waiting = {True: bytearray(), False: bytearray()}
    begins = {True: 0.0, False: 0.0}
    lost: set[bool] = set()  # directions in which no packet can be told from the next
    for chunk in recording.chunks:
        who = chunk.from_client
        if not waiting[who]:
            begins[who] = chunk.time
        waiting[who] += chunk.data
        while who not in lost and (packet := first(waiting[who], level)):
            number += 1
            packet.number, packet.from_client = number, who
            packet.begin, packet.end = begins[who], chunk.time
            begins[who] = chunk.time
            if packet.readable:
                Reading(packet).read()
            else:
                lost.add(who)
            if packet.type == CONNECT and who:
                level = packet.level
            yield packet


def first(data: bytearray, level: int, kind: type[Kind] = Packet) -> Kind | None:
    """Takes the first packet off, if it is complete."""
    if not data:
        return None
    packet = kind(b"", level=level)
    try:
        packet.header, size = fixed_header(data, packet.complain)
    except Unreadable as why:
        packet.complain(*why.args)
        packet.readable, size = False, len(data)
    if size > len(data):
        return None
    packet.raw = bytes(data[:size])
    del data[:size]
    return packet


def fixed_header(data: bytes | bytearray, complain: Complain) -> tuple[int, int]:
    """Its size and the packet's, as far as they are there: the second is too large if not."""
    length = 0
    for index, byte in enumerate(data[1:5]):
        length |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if index and not byte:
                complain("[MQTT-1.5.5-1]", "Remaining Length in more bytes than it needs")
            return 2 + index, 2 + index + length
    if len(data) >= 5:
        raise Unreadable("[1.5.5]", "Remaining Length in more than four bytes")
    return 0, len(data) + 1


class Reading:
    """Takes a packet's body apart, and puts into the packet what it finds."""

    def __init__(self, packet: Packet):
        self.packet, self.complain = packet, packet.complain
        self.data, self.at, self.end = packet.raw, packet.header, len(packet.raw)

    def read(self) -> None:
        packet = self.packet
        try:
            self.check_type_and_flags()
            getattr(self, "read_" + NAMES[packet.type].lower())()
            if self.at < self.end:
                raise Unreadable("[2.1.4]", f"{self.end - self.at} bytes too many")
        except Unreadable as why:
            self.complain(*why.args)
            packet.readable = False

    def check_type_and_flags(self) -> None:
        packet, flags = self.packet, self.data[0] & 15
        foreign = OF_SERVERS if packet.from_client else OF_CLIENTS
        if packet.level < 5:
            foreign = foreign | {AUTH} | (set() if packet.from_client else {DISCONNECT})
        if packet.type == 0 or packet.type in foreign:
            raise Unreadable("[2.1.2]", "a packet that this side does not send in this version")
        if packet.type != PUBLISH and flags != (2 if packet.type in FLAGS_2 else 0):
            # 3.1 sends these again, too, with DUP.
            if not (packet.level == 3 and packet.type in FLAGS_2 and flags == 10):
                self.complain("[MQTT-2.1.3-1]", f"flags {flags:04b}")

    # -- fields --

    def take(self, size: int) -> bytes:
        if self.at + size > self.end:
            raise Unreadable("[2.1.4]", "it ends in the middle of a field")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def variable(self) -> int:
        number = 0
        for index in range(4):
            byte = self.number(1)
            number |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                if index and not byte:
                    self.complain("[MQTT-1.5.5-1]", "an integer in more bytes than it needs")
                return number
        raise Unreadable("[1.5.5]", "a Variable Byte Integer in more than four bytes")

    def binary(self) -> bytes:
        return self.take(self.number(2))

    def string(self) -> str:
        data = self.binary()
        if b"\0" in data:
            self.complain("[MQTT-1.5.4-2]", "U+0000 in a string")
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.complain("[MQTT-1.5.4-1]", "a string that is not UTF-8")
            return data.decode(errors="replace")

    def topic(self, rule: str) -> str:
        topic = self.string()
        if "+" in topic or "#" in topic:
            self.complain(rule, "a wildcard in a Topic Name")
        return topic

    def identifier(self) -> None:
        self.packet.id = self.number(2)
        if not self.packet.id:
            rule = "[MQTT-2.2.1-3]" if self.packet.from_client else "[MQTT-2.2.1-4]"
            self.complain(rule, "Packet Identifier 0")

    def properties(self, place: str) -> dict[int, list]:
        found: dict[int, list] = {}
        if self.packet.level < 5:
            return found
        end = self.variable() + self.at
        if end > self.end:
            raise Unreadable("[2.2.2.1]", "Property Length reaches beyond the packet")
        whole, self.end = self.end, end
        while self.at < end:
            identifier = self.variable()
            if identifier not in PROPERTIES:
                raise Unreadable("[2.2.2.2]", f"a property 0x{identifier:02X} does not exist")
            _, kind, places = PROPERTIES[identifier]
            value = self.value(kind)
            self.check_property(identifier, kind, value, place, places)
            again = identifier == USER_PROPERTY or (
                identifier == SUBSCRIPTION_IDENTIFIER and place == "PUBLISH"
            )
            if identifier in found and not again:
                self.complain("[2.2.2.2]", f"property 0x{identifier:02X} twice")
            found.setdefault(identifier, []).append(value)
        self.end = whole
        return found

    def value(self, kind: str) -> object:
        if kind in SIZES:
            return self.number(SIZES[kind])
        if kind == "pair":
            return self.string(), self.string()
        if kind == "topic":
            return self.topic("[MQTT-3.3.2-14]")
        return getattr(self, kind)()

    def check_property(
        self, identifier: int, kind: str, value: object, place: str, places: str
    ) -> None:
        name = f"property 0x{identifier:02X}"
        from_client = self.packet.from_client
        if place not in places.split():
            self.complain("[2.2.2.2]", f"{name} in {place}")
        elif (identifier, place, from_client) == (SUBSCRIPTION_IDENTIFIER, "PUBLISH", True):
            self.complain("[MQTT-3.3.4-6]", "a client's PUBLISH with a Subscription Identifier")
        elif (identifier, place, from_client) == (SESSION_EXPIRY, "DISCONNECT", False):
            self.complain("[MQTT-3.14.2-2]", "a server's DISCONNECT with Session Expiry Interval")
        if identifier in NOT_ZERO and value == 0:
            rule = "[MQTT-3.3.2-8]" if identifier == TOPIC_ALIAS else "[2.2.2.2]"
            self.complain(rule, f"{name} is 0")
        if kind == "flag" and value > 1:
            self.complain("[2.2.2.2]", f"{name} is {value}")

    def reason(self, allowed: set[int], rule: str) -> None:
        """Reason Code and properties, which may both be left out."""
        packet = self.packet
        if packet.level < 5 or self.at == self.end:
            return
        packet.code = self.number(1)
        if packet.code not in allowed:
            self.complain(rule, f"Reason Code 0x{packet.code:02X}")
        if self.at < self.end:
            packet.properties = self.properties(NAMES[packet.type])

    # -- packets --

    def read_connect(self) -> None:
        packet = self.packet
        name, packet.level = self.string(), self.number(1)
        if name not in ("MQTT", "MQIsdp"):
            raise Unreadable("[MQTT-3.1.2-1]", f"Protocol Name {name!r}")
        if packet.level not in ((4, 5) if name == "MQTT" else (3,)):
            raise Unreadable("[3.1.2.2]", f"{name} with Protocol Version {packet.level}")
        flags, packet.keep_alive = self.number(1), self.number(2)
        user, password, retain, will = (bool(flags & bit) for bit in (0x80, 0x40, 0x20, 4))
        qos, packet.clean = flags >> 3 & 3, bool(flags & 2)
        if flags & 1:
            self.complain("[MQTT-3.1.2-3]", "the reserved flag is set")
        if qos and not will:
            self.complain("[MQTT-3.1.2-11]", "Will QoS without a Will")
        if qos == 3:
            self.complain("[MQTT-3.1.2-12]", "Will QoS 3")
        if retain and not will:
            self.complain("[MQTT-3.1.2-13]", "Will Retain without a Will")
        if password and not user and packet.level < 5:
            self.complain("[3.1.1:MQTT-3.1.2-22]", "a password without a user name")
        packet.properties = self.properties("CONNECT")
        if 0x16 in packet.properties and AUTHENTICATION_METHOD not in packet.properties:
            self.complain("[3.1.2.11.10]", "Authentication Data without a method")
        packet.client_id = client = self.string()
        if packet.level == 3 and not 1 <= len(client.encode()) <= 23:
            self.complain("[3.1:3.1]", f"a Client Identifier of {len(client.encode())} bytes")
        if packet.level == 4 and not client and not packet.clean:
            self.complain("[3.1.1:MQTT-3.1.3-7]", "a kept session without a Client Identifier")
        if will:
            found = self.properties("WILL")
            if not (topic := self.topic("[MQTT-4.7.0-1]")):
                self.complain("[MQTT-4.7.3-1]", "an empty Will Topic")
            packet.will = Will(topic, self.binary(), qos, retain, found)
        if user:
            packet.user = self.string()
        if password:
            packet.password = self.binary()

    def read_connack(self) -> None:
        packet = self.packet
        flags, packet.code = self.number(1), self.number(1)
        if flags & 0xFE and packet.level > 3:
            self.complain("[MQTT-3.2.2-1]", "reserved flags are set")
        packet.session_present = bool(flags & 1) and packet.level > 3
        if packet.code and packet.session_present:
            self.complain("[MQTT-3.2.2-6]", "Session Present in a refusal")
        older = packet.code and self.at == self.end  # a server that knows no 5.0 answers like this
        if packet.code not in (CODES[CONNACK] if packet.level == 5 and not older else range(6)):
            self.complain("[MQTT-3.2.2-8]", f"Reason Code 0x{packet.code:02X}")
        if not older:
            packet.properties = self.properties("CONNACK")

    def read_publish(self) -> None:
        packet = self.packet
        if packet.qos == 3:
            raise Unreadable("[MQTT-3.3.1-4]", "QoS 3")
        if packet.dup and not packet.qos:
            self.complain("[MQTT-3.3.1-2]", "DUP with QoS 0")
        packet.topic = self.topic("[MQTT-3.3.2-2]")
        if packet.qos:
            self.identifier()
        packet.properties = self.properties("PUBLISH")
        if not packet.topic and TOPIC_ALIAS not in packet.properties:
            self.complain("[MQTT-4.7.3-1]", "an empty Topic Name")
        packet.payload = self.take(self.end - self.at)
        if packet.property(0x01) == 1:
            try:
                packet.payload.decode()
            except UnicodeDecodeError:
                self.complain("[3.3.2.3.2]", "a payload that is not UTF-8 but says so")

    def read_puback(self) -> None:
        self.identifier()
        self.reason(CODES[PUBACK], "[MQTT-3.4.2-1]")

    def read_pubrec(self) -> None:
        self.identifier()
        self.reason(CODES[PUBREC], "[MQTT-3.5.2-1]")

    def read_pubrel(self) -> None:
        self.identifier()
        self.reason(CODES[PUBREL], "[MQTT-3.6.2-1]")

    def read_pubcomp(self) -> None:
        self.identifier()
        self.reason(CODES[PUBCOMP], "[MQTT-3.7.2-1]")

    def read_subscribe(self) -> None:
        packet = self.packet
        self.identifier()
        packet.properties = self.properties("SUBSCRIBE")
        while self.at < self.end:
            filter, options = self.filter(), self.number(1)
            packet.filters.append((filter, options))
            if options & (0xC0 if packet.level == 5 else 0xFC):
                self.complain("[MQTT-3.8.3-5]", f"reserved Subscription Options: {options:08b}")
            if options & 3 == 3 or options >> 4 & 3 == 3:
                self.complain("[3.8.3.1]", f"Subscription Options {options:08b}")
            if options & 4 and filter.startswith("$share/"):
                self.complain("[MQTT-3.8.3-4]", "No Local on a Shared Subscription")
        if not packet.filters:
            self.complain("[MQTT-3.8.3-2]", "no Topic Filter")

    def read_suback(self) -> None:
        packet = self.packet
        self.identifier()
        packet.properties = self.properties("SUBACK")
        packet.codes = self.take(self.end - self.at)
        if set(packet.codes) - (CODES[SUBACK] if packet.level == 5 else {0, 1, 2, 0x80}):
            self.complain("[MQTT-3.9.3-2]", f"Reason Codes {packet.codes.hex(' ')}")

    def read_unsubscribe(self) -> None:
        packet = self.packet
        self.identifier()
        packet.properties = self.properties("UNSUBSCRIBE")
        while self.at < self.end:
            packet.filters.append((self.filter(), 0))
        if not packet.filters:
            self.complain("[MQTT-3.10.3-2]", "no Topic Filter")

    def read_unsuback(self) -> None:
        packet = self.packet
        self.identifier()
        if packet.level == 5:
            packet.properties = self.properties("UNSUBACK")
            packet.codes = self.take(self.end - self.at)
            if set(packet.codes) - CODES[UNSUBACK]:
                self.complain("[MQTT-3.11.3-2]", f"Reason Codes {packet.codes.hex(' ')}")

    def read_pingreq(self) -> None:
        pass

    def read_pingresp(self) -> None:
        pass

    def read_disconnect(self) -> None:
        self.reason(DISCONNECT_CODES[self.packet.from_client], "[MQTT-3.14.2-1]")

    def read_auth(self) -> None:
        self.reason(AUTH_CODES[self.packet.from_client], "[MQTT-3.15.2-1]")
        if AUTHENTICATION_METHOD not in self.packet.properties:
            self.complain("[3.15.2.2.2]", "no Authentication Method")

    def filter(self) -> str:
        """Section 4.7.1, and 4.8.2 of Shared Subscriptions."""
        filter = whole = self.string()
        if self.packet.level == 5 and whole.startswith("$share/"):
            share, slash, filter = whole.removeprefix("$share/").partition("/")
            if not share:
                self.complain("[MQTT-4.8.2-1]", f"no ShareName in {whole!r}")
            if set(share) & set("+#") or not slash or not filter:
                self.complain("[MQTT-4.8.2-2]", f"no ShareName and filter in {whole!r}")
        elif not filter:
            self.complain("[MQTT-4.7.3-1]", "an empty Topic Filter")
        *levels, last = filter.split("/")
        if any("#" in level for level in levels) or ("#" in last and last != "#"):
            self.complain("[MQTT-4.7.1-1]", f"# in {whole!r}")
        if any("+" in level and level != "+" for level in (*levels, last)):
            self.complain("[MQTT-4.7.1-2]", f"+ in {whole!r}")
        return whole
