"""Packets that a server may not send (section 4.13): what it is told, what the program is told, and
that nothing is lost by it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from Support import smq
from Support.scripted_broker import (
    CONNECT,
    DISCONNECT,
    PINGRESP,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    Packet,
    Script,
    packet,
    publish_packet,
    say,
)

V3, V4, V5 = smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
OLD, ALL, NEW = (V3, V4), (V3, V4, V5), (V5,)
BAD_UTF8 = {
    "0xff": b"\xff",
    "U+0000": b"a\0b",
    "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80",
}


@dataclass
class Row:
    """What the server sends instead of the answer to a PUBLISH of QoS 1, `came`."""

    rule: int | set[int]
    code: int | set[int]  # in our DISCONNECT
    data: bytes | Callable[[Packet], bytes]
    versions: tuple[int, ...] = ALL


def rule(name: str) -> int:
    return smq.CONSTANTS[f"SMQ_RULE_{name}"]


def message(flags: int, body: bytes) -> bytes:
    return packet(PUBLISH, body, flags)


def of(type: int) -> Callable[[Packet], bytes]:
    """An acknowledgement of the message in flight."""
    return lambda came: packet(type, came.id.to_bytes(2, "big"))


hexadecimal = bytes.fromhex
NOT_A_SERVERS = {rule("UNEXPECTED_PACKET"), rule("PACKET_TYPE")}
ROWS: dict[str, Row] = {
    # -- It cannot be parsed --
    "PUBACK of one byte": Row(rule("TRUNCATED"), 0x81, hexadecimal("400100")),
    "SUBACK of one byte": Row(rule("TRUNCATED"), 0x81, hexadecimal("900100")),
    "PUBLISH: topic beyond the end": Row(rule("TRUNCATED"), 0x81, message(0, b"\0\5a")),
    "PUBLISH: no identifier": Row(rule("TRUNCATED"), 0x81, message(2, b"\0\1a\0")),
    "PUBLISH: no Property Length": Row(rule("TRUNCATED"), 0x81, message(0, b"\0\1a"), NEW),
    "PUBLISH: properties beyond the end": Row(
        rule("TRUNCATED"), 0x81, message(0, b"\0\1a\x09\x01\0"), NEW
    ),
    "SUBACK without a code": Row(rule("TRUNCATED"), 0x81, hexadecimal("9003ffff00"), NEW),
    "PINGRESP with a body": Row(rule("TRAILING_BYTES"), 0x81, packet(PINGRESP, b"x")),
    "PUBACK with a tail": Row(rule("TRAILING_BYTES"), 0x81, hexadecimal("4003000100"), OLD),
    "PUBACK of 5.0 with a tail": Row(
        rule("TRAILING_BYTES"), 0x81, hexadecimal("400500010000ff"), NEW
    ),
    "UNSUBACK with codes": Row(rule("TRAILING_BYTES"), 0x81, hexadecimal("b003000100"), OLD),
    "Remaining Length of five bytes": Row(
        rule("REMAINING_LENGTH"), 0x81, hexadecimal("408080808001")
    ),
    "type 0": Row(rule("PACKET_TYPE"), 0x81, hexadecimal("0000")),
    "PUBACK with flags": Row(rule("RESERVED_FLAGS"), 0x81, hexadecimal("42020001"), (V4, V5)),
    "PUBREL without flags": Row(rule("RESERVED_FLAGS"), 0x81, hexadecimal("60020001"), (V4, V5)),
    "SUBACK with flags": Row(rule("RESERVED_FLAGS"), 0x81, hexadecimal("910300010000"), (V4, V5)),
    "QoS 3": Row(rule("QOS"), 0x81, message(6, b"\0\1a\0\1\0")),
    "DUP with QoS 0": Row(rule("DUPLICATE_FLAG"), 0x81, message(8, b"\0\1a\0")),
    "PUBLISH of identifier 0": Row(
        rule("PACKET_IDENTIFIER"), {0x81, 0x82}, message(2, b"\0\1a\0\0\0")
    ),
    "PUBACK of identifier 0": Row(
        rule("PACKET_IDENTIFIER"), {0x81, 0x82}, hexadecimal("40020000")
    ),
    "PUBREL of identifier 0": Row(
        rule("PACKET_IDENTIFIER"), {0x81, 0x82}, hexadecimal("62020000")
    ),
    "SUBACK of identifier 0": Row(
        rule("PACKET_IDENTIFIER"), {0x81, 0x82}, hexadecimal("9003000000"), OLD
    ),
    "Property Length of five bytes": Row(
        rule("VARIABLE_BYTE_INTEGER"), 0x81, message(0, b"\0\1a\xff\xff\xff\xff\1"), NEW
    ),
    "topic with +": Row(rule("TOPIC_NAME"), {0x81, 0x90}, message(0, b"\0\3a/+\0")),
    "topic with #": Row(rule("TOPIC_NAME"), {0x81, 0x90}, message(0, b"\0\1#\0")),
    "no topic": Row(rule("EMPTY_TOPIC"), {0x81, 0x82}, message(0, b"\0\0\0")),
    "a Response Topic with #": Row(
        rule("TOPIC_NAME"), {0x81, 0x82, 0x90}, message(0, b"\0\1a\4\x08\0\1#"), NEW
    ),
    "PUBACK: a code of another packet": Row(
        rule("REASON_CODE"), 0x81, lambda came: hexadecimal(f"4003{came.id:04x}8e"), NEW
    ),
    "PUBREL: a code of another packet": Row(
        rule("REASON_CODE"), 0x81, hexadecimal("6203000180"), NEW
    ),
    "DISCONNECT: 0x04": Row(rule("REASON_CODE"), 0x81, hexadecimal("e00104"), NEW),
    "PUBLISH: unknown property": Row(
        rule("UNKNOWN_PROPERTY"), 0x81, message(0, b"\0\1a\2\x7f\0"), NEW
    ),
    "PUBLISH: a property of CONNACK": Row(
        rule("PROPERTY_NOT_ALLOWED"), {0x81, 0x82}, message(0, b"\0\1a\3\x21\0\1"), NEW
    ),
    "PUBLISH: Content Type twice": Row(
        rule("PROPERTY_REPEATED"), 0x82, message(0, b"\0\1a\6\3\0\0\3\0\0"), NEW
    ),
    "PUBLISH: Payload Format Indicator 2": Row(
        rule("PROPERTY_VALUE"), {0x81, 0x82}, message(0, b"\0\1a\2\1\2"), NEW
    ),
    "PUBLISH: Subscription Identifier 0": Row(
        rule("PROPERTY_VALUE"), 0x82, message(0, b"\0\1a\2\x0b\0"), NEW
    ),
    # -- It is not allowed here --
    "CONNECT": Row(NOT_A_SERVERS, {0x81, 0x82}, packet(CONNECT)),
    "SUBSCRIBE": Row(NOT_A_SERVERS, {0x81, 0x82}, hexadecimal("8206000100016100")),
    "UNSUBSCRIBE": Row(NOT_A_SERVERS, {0x81, 0x82}, hexadecimal("a2050001000161")),
    "PINGREQ": Row(NOT_A_SERVERS, {0x81, 0x82}, hexadecimal("c000")),
    "a second CONNACK": Row(rule("UNEXPECTED_PACKET"), 0x82, hexadecimal("20020000"), OLD),
    "a second CONNACK of 5.0": Row(rule("UNEXPECTED_PACKET"), 0x82, hexadecimal("2003000000"), NEW),
    "PUBREC for QoS 1": Row(rule("HANDSHAKE"), 0x82, of(PUBREC)),
    "PUBCOMP for QoS 1": Row(rule("HANDSHAKE"), 0x82, of(PUBCOMP)),
    "a Topic Alias": Row(rule("TOPIC_ALIAS"), 0x94, publish_packet(V5, "a", topic_alias=1), NEW),
    "AUTH": Row(rule("UNEXPECTED_AUTHENTICATION"), 0x82, hexadecimal("f000"), NEW),
}
for how, text in BAD_UTF8.items():
    size = len(text).to_bytes(2, "big")
    ROWS[f"topic: {how}"] = Row(rule("UTF8"), 0x81, message(0, size + text + b"\0"))
    listed = b"\x03" + size + text
    body = b"\0\1a" + bytes([len(listed)]) + listed
    ROWS[f"Content Type: {how}"] = Row(rule("UTF8"), 0x81, message(0, body), NEW)


def cases() -> list[tuple[str, int]]:
    return [(name, version) for name, row in ROWS.items() for version in row.versions]


@pytest.mark.parametrize("name, version", cases())
def test_a_wrong_packet(clients, broker, name, version):
    """The event names the rule, 5.0 tells the server; the message in flight is completed later."""
    row = ROWS[name]

    def misbehave(connection, came) -> None:
        connection.send(row.data(came) if callable(row.data) else row.data)

    broker.scripts = [Script(on={PUBLISH: misbehave}), Script(session_present=1)]
    client = clients(url=broker.url, protocol=version, **KEEP)
    client.connected()
    assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
    event = client.disconnected()
    rules = row.rule if isinstance(row.rule, set) else {row.rule}
    codes = row.code if isinstance(row.code, set) else {row.code}
    assert event.rule in rules, smq.library.smq_rule_name(event.rule)
    # The rules up to 20 are about packets that cannot be parsed.
    parsed = event.rule > smq.RULE_AUTHENTICATION_METHOD
    assert event.status == (smq.ERR_PROTOCOL if parsed else smq.ERR_MALFORMED)
    assert event.stage == smq.STAGE_CONNECTED
    broker.wait_for(lambda: not broker.live)
    if version == V5:
        assert event.reason_code in codes, hex(event.reason_code)
        (came,) = broker.of(DISCONNECT)
        assert came.reason()[0] == event.reason_code
    else:
        assert broker.of(DISCONNECT) == []
    assert not client.events
    client.connected()
    assert client.completed(1).status == smq.OK
    assert [p.dup for p in broker.of(PUBLISH)] == [0, 1]


# ---- What needs more than a packet ----


def told(client: smq.Client, broker, rule: int, code: int, status: int = smq.ERR_PROTOCOL) -> None:
    event = client.disconnected()
    assert (event.rule, event.status) == (rule, status), event
    broker.wait_for(lambda: not broker.live)
    if broker.connections[0].level == V5:
        assert event.reason_code == code
        assert broker.of(DISCONNECT)[0].reason()[0] == code


@pytest.mark.parametrize("codes", [b"", b"\0", b"\0\0\0"])
@pytest.mark.parametrize(
    "protocol, call",
    [(V3, "subscribe"), (V4, "subscribe"), (V5, "subscribe"), (V5, "unsubscribe")],
)
def test_as_many_codes_as_filters(clients, broker, protocol, call, codes):
    """Before 5.0 UNSUBACK has none."""
    type = SUBACK if call == "subscribe" else UNSUBACK

    def answer(connection, came) -> None:
        head = came.id.to_bytes(2, "big") + (b"\0" if protocol == V5 else b"")
        connection.send(packet(type, head + codes))

    broker.scripts = [Script(at={2: answer})]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert getattr(client, call)("a", "b", cookie=1) == smq.OK
    event = client.disconnected()
    if codes:
        assert (event.rule, event.status) == (smq.RULE_REASON_CODE_COUNT, smq.ERR_PROTOCOL)
    else:
        assert event.rule in (smq.RULE_REASON_CODE_COUNT, smq.RULE_TRUNCATED)
    if protocol == V5:
        assert event.reason_code in (0x81, 0x82)
    # Sent again, it would be answered in the same way.
    assert client.completed(1).status == smq.ERR_PROTOCOL
    client.connected()
    client.run(0.02)
    assert len(broker.of(SUBSCRIBE if call == "subscribe" else UNSUBSCRIBE)) == 1


@pytest.mark.parametrize("code", [3, 4, 0x7F, 0x81, 0xFF])
def test_codes_of_suback(clients, broker, version, code):
    broker.scripts = [Script(grant=lambda filter, options: code)]
    client = clients(url=broker.url, **version)
    client.connected()
    assert client.subscribe("a") == smq.OK
    event = client.disconnected()
    assert (event.rule, event.status) == (smq.RULE_REASON_CODE, smq.ERR_MALFORMED)


def test_puback_for_qos_2(clients, broker, version):
    broker.scripts = [Script(on={PUBLISH: lambda c, came: c.send(of(PUBACK)(came))})]
    client = clients(url=broker.url, **version)
    client.connected()
    assert client.publish("a", qos=2) == smq.OK
    told(client, broker, smq.RULE_HANDSHAKE, 0x82)


def test_suback_for_unsubscribe(clients, broker, version):
    """Whatever it is taken for, it is no answer."""

    def answer(connection, came) -> None:
        head = came.id.to_bytes(2, "big") + (b"\0" if came.level == V5 else b"")
        connection.send(packet(SUBACK, head + b"\0"))

    broker.scripts = [Script(at={2: answer})]
    client = clients(url=broker.url, **version)
    client.connected()
    assert client.unsubscribe("a", cookie=1) == smq.OK
    client.run(0.1)
    assert not client.completions()


def test_a_session_nobody_asked_for(clients, broker, protocol):
    """[MQTT-3.2.2-2]: Session Present after a Clean Start."""
    broker.scripts = [Script(session_present=1)]
    client = clients(url=broker.url, protocol=protocol, client_id="x")
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.rule, event.status) == (smq.RULE_UNWANTED_SESSION, smq.ERR_PROTOCOL)
    assert event.stage == smq.STAGE_CONNACK


def test_a_new_session_that_is_an_old_one(clients, broker):
    """SMQ_OPTION_NEW_SESSION is a Clean Start, too."""
    broker.scripts = [Script(session_present=1)]
    flags = smq.OPTION_KEEP_SESSION + smq.OPTION_NEW_SESSION
    client = clients(url=broker.url, protocol=V5, client_id="x", flags=flags)
    assert client.connect() == smq.OK
    assert client.disconnected().rule == smq.RULE_UNWANTED_SESSION
    assert client.connected().session_present == 0  # the clean start is still owed
    assert [c["clean"] for c in broker.connects] == [1, 1]


FIRST = {
    "PUBACK": ("40020001", smq.RULE_FIRST_PACKET),
    "PUBLISH": ("300400016100", smq.RULE_FIRST_PACKET),
    "PINGRESP": ("d000", smq.RULE_FIRST_PACKET),
    "type 0": ("0000", smq.RULE_PACKET_TYPE),
    "flags": ("21020000", smq.RULE_RESERVED_FLAGS),
    "acknowledge flags": ("2003020000", smq.RULE_CONNACK_FLAGS),
    "refused with a session": ("2003018700", smq.RULE_SESSION_PRESENT),
    "too short": ("200100", smq.RULE_TRUNCATED),
    "too long": ("200400000000", smq.RULE_TRAILING_BYTES),
    "Receive Maximum 0": ("20060000032100 00", smq.RULE_PROPERTY_VALUE),
    "Maximum QoS 2": ("20050000022402", smq.RULE_PROPERTY_VALUE),
    "Maximum QoS twice": ("2007000004 24002400", smq.RULE_PROPERTY_REPEATED),
    "a Topic Alias": ("2006000003230001", smq.RULE_PROPERTY_NOT_ALLOWED),
    "a code of another packet": ("2003001000", smq.RULE_REASON_CODE),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_packet(clients, broker, name):
    data, expected = FIRST[name]
    broker.scripts = [Script(at={1: say(bytes.fromhex(data))})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.rule == expected, smq.library.smq_rule_name(event.rule)
    assert event.stage == smq.STAGE_CONNACK
    client.connected()


def test_a_message_that_changes_its_qos(clients, broker, version):
    """The same Packet Identifier, first QoS 2, then QoS 1: two messages, or a rule broken; never a
    PUBACK for a message that was not handed out."""
    broker.scripts = [Script(hold={PUBREL})]
    client = clients(url=broker.url, **version)
    client.connected()
    broker.last.publish("a", b"2", 2, identifier=9)
    client.until(lambda: broker.held)
    broker.last.post(publish_packet(broker.last.level, "a", b"1", 1, identifier=9))
    client.run(0.1)
    if client.state == smq.STATE_CONNECTED:
        assert len(broker.of(PUBACK)) <= len(client.messages()) - 1
    broker.violations.clear()


def test_a_rule_broken_while_messages_are_held(clients, broker, version):
    """Tokens and sessions do not suffer from a connection that ended badly."""
    options = {**version, **KEEP, "flags": KEEP["flags"] + smq.OPTION_HOLD}
    client = clients(url=broker.url, **options)
    client.connected()
    for number in range(3):
        broker.last.publish("a", b"%d" % number, 1 + number % 2)
    tokens = [m.token for m in client.receive(3)]
    broker.last.post(b"\0\0")
    assert client.disconnected().rule == smq.RULE_PACKET_TYPE
    client.connected()
    for token in tokens:
        assert client.ack(token) == smq.OK
    client.until(lambda: not broker.last.session.outgoing)
    assert not client.messages()


def test_messages_before_the_wrong_packet_are_handed_out(clients, broker, version):
    client = clients(url=broker.url, **version)
    client.connected()
    level = broker.last.level
    right = b"".join(publish_packet(level, "a", b"%d" % n) for n in range(10))
    broker.last.post(right + b"\0\0" + right)
    client.disconnected()
    assert [m.payload for m in client.messages()] == [b"%d" % n for n in range(10)]


# ---- Names ----


def test_rule_names():
    rules = {v: n for n, v in smq.CONSTANTS.items() if n.startswith("SMQ_RULE_")}
    assert sorted(rules) == list(range(len(rules)))
    names = {value: smq.library.smq_rule_name(value).decode() for value in rules}
    assert len(set(names.values())) == len(names)
    assert "[MQTT-1.5.4-1]" in names[smq.RULE_UTF8]
    assert not {"", "unknown rule"} & set(names.values())
    nowhere = [name for name in names.values() if not re.search(r"\[MQTT-|section|Table", name)]
    assert len(nowhere) <= 4, "where it stands"  # of four there is no statement
    for value in (-1, len(rules), 1000, 2**31 - 1, -(2**31)):
        assert smq.library.smq_rule_name(value) == b"unknown rule"
