"""Packets of a server that cannot be read or are not allowed: the connection ends, and both sides are told why."""

from __future__ import annotations

import pytest

from Support import smq
from Support.scripted_broker import CONNACK, DISCONNECT, PUBACK, Script, packet, say

V5 = smq.PROTOCOL_5_0


MALFORMED, PROTOCOL = smq.ERR_MALFORMED, smq.ERR_PROTOCOL
WRONG_CONNACKS = [  # 3.1.1 bytes, 5.0 bytes, statuses that are right
    (b"\x20\xff\xff\xff\xff\x01", None, {MALFORMED}),  # Remaining Length of five bytes
    (b"\x20\x01\x00", None, {MALFORMED}),  # too short
    (b"\x20\x03\x00\x00\x00", b"\x20\x04\x00\x00\x00\x00", {MALFORMED}),  # too long
    (b"\x21\x02\x00\x00", b"\x21\x03\x00\x00\x00", {MALFORMED}),  # flags in the fixed header
    (b"\x20\x02\x02\x00", b"\x20\x03\x02\x00\x00", {MALFORMED, PROTOCOL}),  # Acknowledge Flags
    (
        b"\x20\x02\x01\x05",
        b"\x20\x03\x01\x87\x00",
        {MALFORMED, PROTOCOL},
    ),  # refused, yet session present
    (b"\x40\x02\x00\x01", None, {PROTOCOL}),  # PUBACK
    (b"\xd0\x00", None, {PROTOCOL}),  # PINGRESP
    (b"\x00\x00", None, {MALFORMED, PROTOCOL}),  # type 0
    (b"\x10\x00", None, {MALFORMED, PROTOCOL}),  # CONNECT: servers send none
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", None, {MALFORMED, PROTOCOL}),
]


@pytest.mark.parametrize("index", range(len(WRONG_CONNACKS)))
@pytest.mark.parametrize("one_byte", [False, True])
def test_wrong_connack(clients, broker, protocol, index, one_byte):
    wrong_4, wrong_5, right = WRONG_CONNACKS[index]
    wrong = wrong_5 if wrong_5 and protocol == V5 else wrong_4
    broker.scripts = [Script(at={1: say(wrong)}, one_byte=one_byte)]
    client = clients(url=broker.url, protocol=protocol, connect_timeout_ms=3000)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.status in right, event
    assert event.stage == smq.STAGE_CONNACK


WRONG_PROPERTIES = [
    b"\x01\x7f",  # unknown
    b"\x03\x21\x00\x00",  # Receive Maximum 0
    b"\x06\x21\x00\x05\x21\x00\x05",  # twice
    b"\x02\x24\x02",  # Maximum QoS 2
    b"\x02\x25\x02",  # Retain Available 2
    b"\x05\x27\x00\x00\x00\x00",  # Maximum Packet Size 0
    b"\x05\x1f\x00\x02\xc3\x28",  # Reason String that is not UTF-8
    b"\x03\x1f\x00\x09",  # ends inside the string
    b"\x02\x13\x00",  # ends inside the number
    b"\x09\x21\x00\x05",  # longer than the packet
    b"\xff\xff\xff\xff\x01",  # Property Length of five bytes
    b"\x03\x23\x00\x01",  # Topic Alias: not in a CONNACK
]


@pytest.mark.parametrize("wrong", WRONG_PROPERTIES, ids=lambda wrong: wrong.hex())
def test_wrong_connack_properties(clients, broker, wrong):
    broker.scripts = [Script(at={1: say(packet(CONNACK, b"\0\0" + wrong))})]
    client = clients(url=broker.url, protocol=V5, connect_timeout_ms=3000)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.status in (MALFORMED, PROTOCOL), event
    assert event.stage == smq.STAGE_CONNACK


WRONG_LATER = [
    (b"\x20\x02\x00\x00", b"\x20\x03\x00\x00\x00", {PROTOCOL}),  # a second CONNACK
    (b"\x50\x02\x00\x00", None, {MALFORMED, PROTOCOL}),  # PUBREC with Packet Identifier 0
    (b"\x40\x01\x00", None, {MALFORMED}),  # PUBACK of one byte
    (b"\x42\x02\x00\x01", None, {MALFORMED}),  # PUBACK with flags
    (b"\xd0\x01\x00", None, {MALFORMED}),  # PINGRESP with a body
    (b"\xc0\x00", None, {MALFORMED, PROTOCOL}),  # PINGREQ: servers send none
    (b"\x40\x80\x80\x80\x80\x01", None, {MALFORMED}),  # Remaining Length of five bytes
    (b"\xf0\x00", None, {MALFORMED, PROTOCOL}),  # AUTH, unasked
    (b"\x00\x00", None, {MALFORMED, PROTOCOL}),
    (bytes(range(1, 256)), None, {MALFORMED, PROTOCOL}),
]


@pytest.mark.parametrize("index", range(len(WRONG_LATER)))
def test_wrong_packet_on_a_connection(clients, broker, protocol, index):
    wrong_4, wrong_5, right = WRONG_LATER[index]
    wrong = wrong_5 if wrong_5 and protocol == V5 else wrong_4
    broker.scripts = [Script(at={2: say(wrong)}, hold={PUBACK})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    event = client.disconnected()
    assert event.status in right, event
    assert event.stage == smq.STAGE_CONNECTED


def test_the_client_says_what_it_did_not_understand(clients, broker):
    """5.0: DISCONNECT with the reason goes out before the connection is closed (section 4.13)."""
    broker.scripts = [Script(at={2: say(b"\x40\x01\x00")})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    assert client.disconnected().status == MALFORMED
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].body[:1] == b"\x81"  # Malformed Packet
