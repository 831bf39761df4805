"""What a client writes and reads, byte by byte."""

from __future__ import annotations

import ctypes

import pytest
from Support import smq
from Support.scripted_broker import CONNECT, SUBSCRIBE, Script, answer_then, publish_packet, say

V5 = smq.PROTOCOL_5_0


def test_no_reserved_bits(clients, broker):
    """CONNECT and SUBSCRIBE of 3.1.1, byte by byte; a QoS above 2 and a property are refused."""
    client = clients(url=broker.url, client_id="abc", protocol=4, keep_alive_s=10)
    client.connected()
    client.subscribed("a", qos=2)
    name = b"\x00\x04MQTT\x04\x02\x00\x0a\x00\x03abc"
    assert broker.of(CONNECT)[0].raw == bytes([0x10, len(name)]) + name
    identifier = broker.of(SUBSCRIBE)[0].body[:2]
    assert broker.of(SUBSCRIBE)[0].raw == b"\x82\x06" + identifier + b"\x00\x01a\x02"
    for qos in (3, 4):
        assert client.subscribe("a", qos=qos) == smq.ERR_QOS
        assert client.publish("a", qos=qos) == smq.ERR_QOS
    user = smq.properties(user_property=("a", "b"))
    options = smq.Options(url=broker.url, protocol=4, properties=user)
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION


def test_a_message_without_payload(clients, broker):
    """It arrives, with every QoS."""
    client = clients(url=broker.url)
    client.connected()
    for qos in (0, 1, 2):
        broker.last.publish("a", b"", qos=qos)
        event = client.message()
        assert (event.payload, event.payload_total, event.qos, event.part) == (b"", 0, qos, smq.WHOLE)


def test_a_length_without_end(clients, broker):
    """A Remaining Length may have four bytes [section 2.1.4]."""
    broker.scripts = [Script(at={1: answer_then(say(bytes.fromhex("30FFFFFFFF01")))})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_MALFORMED, smq.RULE_REMAINING_LENGTH)


def test_packets_and_segments_are_two_things(clients, broker):
    """Several packets come in one piece, and one packet in several."""
    client = clients(url=broker.url)
    client.connected()
    messages = b"".join(publish_packet(4, "a", b"%d" % number, 0) for number in range(10))
    broker.last.send(messages)
    assert [m.payload for m in client.receive(10)] == [b"%d" % number for number in range(10)]
    for at in range(len(messages)):
        broker.last.send(messages[at : at + 1])
        client.step(0)
    assert [m.payload for m in client.receive(10)] == [b"%d" % number for number in range(10)]


def test_a_will_of_any_bytes(clients, broker):
    """A Will Message is binary data."""
    payload = bytes(range(256))
    client = clients(url=broker.url, will=smq.Message(topic="will", payload=payload, qos=1))
    client.connected()
    client.close()
    broker.wait_for(lambda: broker.messages)
    assert (broker.messages[0].topic, broker.messages[0].payload) == ("will", payload)


@pytest.mark.parametrize("protocol", [3, 4])
def test_an_expiry_of_the_session_is_for_5_0(protocol):
    options = smq.Options(url="mqtt://h", client_id="a", protocol=protocol, session_expiry_s=60)
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION
    assert smq.library.smq_client_size(ctypes.byref(options)) == 0
    options.protocol = V5
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.OK
