"""Messages larger than the buffers, in both directions."""

from __future__ import annotations

import ctypes
import itertools
import random
import time

import pytest

from Support import smq
from Support.scripted_broker import (
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    Outgoing,
    Script,
    answer_then,
    close,
    publish_packet,
    say,
)

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
BUFFER = 512
PARTS = dict(receive_bytes=BUFFER, flags=smq.OPTION_PARTS)
ANSWERS = {0: (), 1: (PUBACK,), 2: (PUBREC, PUBCOMP)}


def small(protocol: int) -> dict[str, int]:
    """A small buffer, and a server that was not told to send no more."""
    allowed = dict(maximum_packet_bytes=smq.OFF) if protocol == V5 else {}
    return dict(receive_bytes=BUFFER, **allowed)


def pattern(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def acknowledged(client: smq.Client, broker) -> None:
    client.until(lambda: not broker.last.session.outgoing)


# ---- Larger than the receive buffer: dropped, and said so ----


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("size", [600, 5000, 200_000])
def test_dropped_reported_acknowledged(clients, broker, version, qos, size):
    client = clients(url=broker.url, **version, **small(version["protocol"]))
    client.connected()
    values = dict(content_type="big") if version["protocol"] == V5 else {}
    for number in range(2):
        broker.last.publish("to/large", pattern(size), qos, retain=1, **values)
        event = client.message()
        assert event.status == smq.ERR_RECEIVE_TOO_LARGE
        assert (event.topic, event.payload, event.payload_total) == (b"to/large", b"", size)
        assert (event.qos, event.retain, event.duplicate) == (qos, 1, 0)
        assert (event.token != 0) == (qos > 0)
        if values:
            assert smq.walk(event.properties) == [(smq.PROPERTY_CONTENT_TYPE, b"big")]
        broker.last.publish("small", b"fits", qos)
        event = client.message()
        assert (event.status, event.topic, event.payload) == (smq.OK, b"small", b"fits")
        acknowledged(client, broker)
    assert client.state == smq.STATE_CONNECTED
    assert client.stats.messages_oversize == 2
    assert client.stats.unacknowledged == 0
    assert {p.type for p in broker.packets[1:]} == set(ANSWERS[qos])


def test_what_just_fits_arrives_whole(clients, broker, version):
    """A packet of receive_bytes, Fixed Header and all: that is what the server may send in 5.0."""
    client = clients(url=broker.url, receive_bytes=BUFFER, **version)
    client.connected()
    head = len(publish_packet(version["protocol"], "a", bytes(BUFFER), 1)) - BUFFER
    for size in range(BUFFER - head - 3, BUFFER - head + 1):
        broker.last.publish("a", pattern(size), 1)
        event = client.message()
        assert (event.status, event.part) == (smq.OK, smq.WHOLE)
        assert event.payload == pattern(size)
    assert client.stats.messages_oversize == 0


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("parts", [False, True])
def test_a_topic_larger_than_the_buffer(clients, broker, version, qos, parts):
    """Even then it is acknowledged: the Packet Identifier is behind the topic."""
    client = clients(url=broker.url, **version, **(PARTS if parts else small(version["protocol"])))
    client.connected()
    for size in (600, 65_535):
        topic = "t" * size
        broker.last.publish(topic, pattern(1000), qos)
        event = client.message()
        assert event.status == smq.ERR_RECEIVE_TOO_LARGE
        assert (event.topic, event.payload, event.properties) == (b"", b"", b"")
        assert (event.payload_total, event.qos) == (1000, qos)
        broker.last.publish("small", b"fits", qos)
        assert client.message().payload == b"fits"
        acknowledged(client, broker)
    assert client.stats.messages_oversize == 2


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("parts", [False, True])
def test_properties_larger_than_the_buffer(clients, broker, qos, parts):
    client = clients(url=broker.url, protocol=V5, **(PARTS if parts else small(V5)))
    client.connected()
    users = [(f"name {n}", "x" * 50) for n in range(30)]
    broker.last.publish("a", b"payload", qos, user_property=users)
    event = client.message()
    assert event.status == smq.ERR_RECEIVE_TOO_LARGE
    assert (event.payload, event.properties, event.payload_total) == (b"", b"", 7)
    broker.last.publish("a", b"fits", qos)
    assert client.message().payload == b"fits"
    acknowledged(client, broker)


@pytest.mark.parametrize("qos", [1, 2])
def test_it_does_not_come_again(clients, broker, version, qos):
    """Dropped is dealt with: the next connection does not begin with it."""
    client = clients(url=broker.url, **{**version, **KEEP}, **small(version["protocol"]))
    client.connected()
    broker.last.publish("a", bytes(10_000), qos)
    client.message()
    acknowledged(client, broker)
    for _ in range(2):
        client.leave()
        client.connected()
        client.run(0.05)
        assert not client.messages()


def test_dropped_but_held(clients, broker, version):
    flags = smq.OPTION_HOLD
    client = clients(url=broker.url, **version, **small(version["protocol"]), flags=flags)
    client.connected()
    broker.last.publish("a", bytes(10_000), 1)
    event = client.message()
    client.run(0.05)
    assert broker.of(PUBACK) == []
    assert client.ack(event.token) == smq.OK
    acknowledged(client, broker)


# A Topic Alias stands for a topic in a packet whose properties are larger than the buffer, too (section 3.3.2.3.4).


@pytest.mark.parametrize("parts", [False, True])
def test_an_alias_among_properties_larger_than_the_buffer(clients, broker, parts):
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=4, **(PARTS if parts else small(V5)))
    client.connected()
    broker.last.publish("known", b"first", topic_alias=1)
    assert client.message().topic == b"known"
    users = [("key", "x" * 500)] * 4
    broker.last.publish("", b"second", topic_alias=1, user_property=users)
    event = client.message()
    assert (event.status, event.topic, event.payload_total) == (smq.ERR_RECEIVE_TOO_LARGE, b"known", 6)
    # What an alias stands for is not known any more when it was given where it could not be kept.
    broker.last.publish("other", b"third", topic_alias=1, user_property=users)
    assert client.message().status == smq.ERR_RECEIVE_TOO_LARGE
    for more in ({}, dict(user_property=users)):
        broker.last.publish("", b"fourth", topic_alias=1, **more)
        event = client.message()
        assert (event.status, event.topic) == (smq.ERR_RECEIVE_TOO_LARGE, b"")


def test_an_alias_of_nothing_among_properties_larger_than_the_buffer(clients, broker):
    client = clients(url=broker.url, protocol=V5, topic_aliases_in=4, **small(V5))
    client.connected()
    broker.last.publish("", b"x", topic_alias=2, user_property=[("key", "x" * 500)] * 4)
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_PROTOCOL, smq.RULE_UNKNOWN_TOPIC_ALIAS)


def test_an_unknown_property_behind_ones_larger_than_the_buffer(clients, broker):
    client = clients(url=broker.url, protocol=V5, **small(V5))
    client.connected()
    packet = publish_packet(V5, "a", b"x", user_property=[("key", "x" * 500)] * 4)
    end = len(packet) - 1  # the payload
    at = packet.rindex(b"\x26\x00\x03key")
    broker.last.post(packet[:at] + b"\x7f" + packet[at + 1:end] + b"x")
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_MALFORMED, smq.RULE_UNKNOWN_PROPERTY)


# ---- In parts ----


def collect(client: smq.Client, size: int) -> list[smq.Event]:
    """The parts of one message, which say what they should."""
    client.until(lambda: any(m.part & smq.PART_LAST for m in client.messages()))
    parts = []
    while not parts or not parts[-1].part & smq.PART_LAST:
        parts.append(client.message())
    at = 0
    for number, part in enumerate(parts):
        assert (part.status, part.payload_offset, part.payload_total) == (smq.OK, at, size)
        assert bool(part.part & smq.PART_FIRST) == (number == 0)
        assert part.payload or size == 0, "a part without bytes"
        assert (part.token != 0) == (part.qos > 0 and part is parts[-1])
        at += len(part.payload)
        first = parts[0]
        same = "topic qos retain duplicate properties subscription subscription_identifier"
        for name in same.split():
            assert getattr(part, name) == getattr(first, name), name
    assert b"".join(part.payload for part in parts) == pattern(size)
    return parts


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_parts(clients, broker, version, qos):
    client = clients(url=broker.url, **version, **PARTS)
    client.connected()
    values = dict(user_property=[("a", "b")], content_type="big")
    if version["protocol"] < V5:
        values = {}
    sizes = [0, 1, *range(BUFFER - 30, BUFFER + 2), 2 * BUFFER, 10 * BUFFER + 7, 300_000]
    for size in sizes:
        broker.last.publish("a/large/one", pattern(size), qos, retain=1, **values)
        parts = collect(client, size)
        assert (parts[0].topic, parts[0].qos, parts[0].retain) == (b"a/large/one", qos, 1)
        if size < BUFFER - 60:
            assert len(parts) == 1
        if size >= BUFFER:
            assert len(parts) >= 2
        if values:
            assert len(smq.walk(parts[0].properties)) == 2
    acknowledged(client, broker)
    stats = client.stats
    assert (stats.messages_received, stats.messages_oversize) == (len(sizes), 0)
    for answer in ANSWERS[qos]:
        assert len(broker.of(answer)) == len(sizes)


def test_parts_from_a_real_server(mosquitto, clients, version):
    client = clients(url=mosquitto.url, outbox_bytes=1 << 21, **version, **PARTS)
    client.connected()
    client.subscribed("#", qos=2)
    for qos, size in ((0, 100_000), (1, 1_000_000), (2, 1_000_000)):
        assert client.publish("a", pattern(size), qos=qos, quiet=1) == smq.OK
        assert collect(client, size)[0].qos == qos


@pytest.mark.parametrize("parts", [False, True])
def test_a_large_one_of_qos_2_again(clients, broker, parts):
    """PUBREC was lost. What is known is read to its end and not handed out."""
    broker.scripts = [Script(on={PUBREC: close})]
    options = dict(protocol=V5) | KEEP | (PARTS if parts else small(V5))
    options["flags"] = KEEP["flags"] + (smq.OPTION_PARTS if parts else 0)
    client = clients(url=broker.url, **options)
    client.connected()
    broker.last.publish("a", pattern(5000), 2)
    collect(client, 5000) if parts else client.message()
    client.disconnected()
    client.connected()
    acknowledged(client, broker)
    broker.last.publish("a", pattern(100), 2)
    assert client.message().payload == pattern(100)
    assert not client.messages()
    assert client.stats.messages_duplicate == 1


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("qos", [0, 2])
def test_cut_in_the_middle(clients, broker, parts, qos):
    """What came of it is no message: it comes again, from its beginning."""
    options = dict(protocol=V5) | KEEP | (PARTS if parts else small(V5))
    options["flags"] = KEEP["flags"] + (smq.OPTION_PARTS if parts else 0)
    client = clients(url=broker.url, **options)
    client.connected()
    server, size = broker.last, 5000
    if qos:  # the session remembers it as sent
        server.session.outgoing[1] = outgoing = Outgoing("a", pattern(size), qos, 0, {}, id=1)
        data = outgoing.packet(server.level, 0)
    else:
        data = publish_packet(server.level, "a", pattern(size))
    server.post(data[:3000], server.end)
    client.disconnected()
    assert all(not m.part & smq.PART_LAST for m in client.messages())
    assert all(m.token == 0 for m in client.messages())
    if parts:
        assert client.messages()[0].part == smq.PART_FIRST
    else:
        assert not client.messages()
    client.events.clear()
    client.connected()
    if qos and parts:
        assert {m.duplicate for m in collect(client, size)} == {1}
    elif qos:
        assert client.message().payload_total == size
    broker.last.publish("b", b"next", qos)
    assert client.message().payload == b"next"
    acknowledged(client, broker)


def test_parts_not_taken_hold_everything_back(clients, broker, version):
    """The middle of a message waits for the program; TCP slows the server down."""
    client = clients(url=broker.url, **version, **PARTS)
    client.connected()
    size = 4_000_000
    broker.last.publish("a", pattern(size), 1)
    broker.last.publish("b", b"behind", 1)
    assert smq.library.smq_wait(client.handle, 5000) == 1
    for _ in range(20):
        smq.library.smq_service(client.handle)
    assert client.stats.bytes_received < size / 4
    assert client.take().part == smq.PART_FIRST
    deadline, parts = time.monotonic() + 20, 1
    while not any(m.topic == b"b" for m in client.messages()):
        assert time.monotonic() < deadline
        parts += len(client.messages())
        client.events.clear()
        client.step(100)
    assert parts >= size / BUFFER
    acknowledged(client, broker)


# ---- What the server is told ----


@pytest.mark.parametrize(
    "options, told",
    [
        ({}, 4096),
        (dict(receive_bytes=1000), 1000),
        (dict(receive_bytes=1000, maximum_packet_bytes=2000), 2000),
        (dict(receive_bytes=1000, maximum_packet_bytes=1000), 1000),
        (dict(maximum_packet_bytes=268_435_460), 268_435_460),
        (dict(maximum_packet_bytes=smq.OFF), None),
        (dict(flags=smq.OPTION_PARTS), None),
        (dict(flags=smq.OPTION_PARTS, maximum_packet_bytes=100_000), 100_000),
    ],
    ids=str,
)
def test_maximum_packet_size_is_announced(clients, broker, options, told):
    client = clients(url=broker.url, protocol=V5, **options)
    client.connected()
    assert broker.connects[0]["properties"].get("maximum_packet_size") == told


@pytest.mark.parametrize("options", [{}, dict(flags=smq.OPTION_PARTS)], ids=["whole", "parts"])
def test_above_what_the_server_was_told(clients, broker, options):
    """[MQTT-3.1.2-24] broken."""
    limit = dict(receive_bytes=BUFFER, maximum_packet_bytes=1000)
    client = clients(url=broker.url, protocol=V5, **limit, **options)
    client.connected()
    head = len(publish_packet(V5, "a", bytes(990))) - 990
    broker.last.publish("a", bytes(1000 - head))  # just right
    client.message()
    broker.last.publish("a", bytes(1001 - head))
    event = client.disconnected()
    assert event.status == smq.ERR_RECEIVE_TOO_LARGE
    assert (event.rule, event.reason_code) == (smq.RULE_PACKET_TOO_LARGE, 0x95)
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].reason()[0] == 0x95


def test_another_packet_larger_than_the_buffer(clients, broker):
    """Only messages can be drained: what a SUBACK says has to be known."""
    broker.scripts = [Script(suback=dict(reason_string="x" * 1000))]
    client = clients(url=broker.url, protocol=V5, **small(V5))
    client.connected()
    assert client.subscribe("a", cookie=1) == smq.OK
    event = client.disconnected()
    assert event.status == smq.ERR_RECEIVE_TOO_LARGE
    assert (event.rule, event.reason_code) == (smq.RULE_PACKET_TOO_LARGE, 0x95)
    assert client.completed(1).status == smq.ERR_PROTOCOL  # it would be answered in the same way again
    client.connected()


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("left", [1, 2, 100, 127, 128, 129, 400])
def test_a_long_topic_does_not_make_small_pieces(clients, broker, parts, left):
    """Who chooses the topic must not choose how many system calls a payload takes."""
    message = publish_packet(4, "t" * (BUFFER - left - 6), bytes(100_000))
    broker.scripts = [Script(at={1: answer_then(say(message), say(publish_packet(4, "end")))})]
    client = clients(url=broker.url, receive_bytes=BUFFER, flags=smq.OPTION_PARTS * parts)
    client.connected()
    client.until(lambda: any(m.topic == b"end" for m in client.messages()))
    assert client.stats.receive_calls < 4 * 100_000 / (BUFFER / 4) + 20
    assert len(client.messages()) < 100_000 / (BUFFER / 4) + 3


# ---- Out: reserve, write, commit ----


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_reserve_and_commit(clients, broker, version, qos):
    client = clients(url=broker.url, outbox_bytes=4000, **version)
    client.connected()
    for cookie, (reserved, written) in enumerate(
        [(10, 10), (3000, 3000), (1000, 0), (1000, 999), (200, 100), (130, 120), (0, 0), (3000, 1)]
    ):
        status, place = client.reserve("a", reserved, qos=qos, cookie=cookie)
        assert status == smq.OK
        ctypes.memmove(place, pattern(written), written)
        before = client.stats
        assert client.commit(reserved + 1) == smq.ERR_OPTION
        assert client.stats == before
        assert client.commit(written) == smq.OK
        assert client.completed(cookie).status == smq.OK
        broker.wait_for(lambda: len(broker.messages) == cookie + 1)
        message = broker.messages[-1]
        assert (message.topic, message.payload, message.qos) == ("a", pattern(written), qos)
    assert client.stats.outbox_bytes == 0
    assert client.stats.messages_published == 8


def test_everything_goes_on_while_one_is_reserved(clients, broker, version):
    client = clients(url=broker.url, **version)
    client.connected()
    client.subscribed("in")
    assert client.publish("before", b"x", qos=2, cookie=1) == smq.OK
    status, place = client.reserve("a", 100, qos=1, cookie=2)
    assert status == smq.OK
    before = client.stats
    assert client.publish("b") == smq.ERR_STATE
    assert client.reserve("b", 1)[0] == smq.ERR_STATE
    assert client.stream("b", 1, lambda *_: 0) in (smq.ERR_STATE, smq.ERR_NOT_SUPPORTED)
    assert client.stats == before
    assert client.completed(1).status == smq.OK
    broker.last.publish("in", b"y", 2)
    assert client.message().payload == b"y"
    client.run(0.05)
    assert [m.topic for m in broker.messages] == ["before"]
    ctypes.memset(place, 0x61, 100)
    assert client.commit(50) == smq.OK
    assert client.publish("after", b"z", qos=1, cookie=3) == smq.OK
    assert client.completed(2).status == client.completed(3).status == smq.OK
    assert [m.topic for m in broker.messages] == ["before", "a", "after"]
    assert broker.messages[1].payload == b"a" * 50


@pytest.mark.parametrize("qos", [0, 1])
def test_abort(clients, broker, version, qos):
    client = clients(url=broker.url, outbox_messages=2, **version)
    for _ in range(10):
        status, _ = client.reserve("a", 1000, qos=qos)
        assert status == smq.OK
        assert client.abort() == smq.OK
    after = client.stats
    assert (after.outbox_bytes, after.outbox_messages) == (0, 0)
    assert client.abort() == client.commit(0) == smq.ERR_STATE
    assert client.publish("b", b"x", qos=1, cookie=1) == smq.OK
    client.connected()
    assert client.completed(1).status == smq.OK
    client.run(0.02)
    assert [m.topic for m in broker.messages] == ["b"]
    assert not client.events


def test_reserved_across_connections(clients, broker, version):
    """What is reserved is not sent, however often the client connects; then it is, once."""
    client = clients(url=broker.url, **{**version, **KEEP})
    status, place = client.reserve("a", 10, qos=2, cookie=1)
    assert status == smq.OK
    client.connected()
    client.run(0.02)
    assert client.leave(100).status == smq.OK
    client.connected()
    ctypes.memmove(place, b"0123456789", 10)
    assert client.commit(10) == smq.OK
    assert client.completed(1).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"0123456789"]


def test_reserve_refuses_what_publish_refuses(clients, broker):
    client = clients(url=broker.url, outbox_bytes=1000, outbox_messages=1)
    before = client.stats
    for expected, arguments in (
        (smq.ERR_TOO_LARGE, dict(topic="a", size=996)),
        (smq.ERR_TOO_LARGE, dict(topic="a", size=1 << 40)),
        (smq.ERR_TOPIC_NAME, dict(topic="#", size=1)),
        (smq.ERR_QOS, dict(topic="a", size=1, qos=3)),
    ):
        status, place = client.reserve(**arguments)
        assert smq.status_name(status) == smq.status_name(expected)
        assert place is None
    assert client.publish("a", qos=1) == smq.OK
    assert client.reserve("a", 1)[0] == smq.ERR_FULL
    assert client.commit(0) == smq.ERR_STATE
    assert client.stats.messages_published == before.messages_published + 1


# ---- Out: streams ----


class Source:
    """Supplies a pattern and keeps a record."""

    def __init__(self, size: int, most: int = 1 << 30):
        self.data, self.most, self.calls = pattern(size), most, []

    def __call__(self, offset: int, size: int) -> bytes:
        assert size >= 1 and offset < len(self.data)
        piece = self.data[offset : offset + min(size, self.most)]
        self.calls.append((offset, len(piece)))
        return piece

    def restarts(self) -> int:
        return sum(offset == 0 for offset, _ in self.calls) - 1


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 5_000_000])
def test_stream(clients, broker, protocol, qos, size):
    client = clients(url=broker.url, protocol=protocol, stream_bytes=4096, outbox_bytes=1000)
    client.connected()
    source = Source(size)
    values = dict(properties=smq.properties(content_type="film")) if protocol == V5 else {}
    assert client.stream("film", size, source, qos=qos, retain=1, cookie=1, **values) == smq.OK
    assert client.publish("behind", b"x", qos=1, cookie=2) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.completed(2).status == smq.OK
    broker.wait_for(lambda: len(broker.messages) == 2)
    first, second = broker.messages
    assert (first.topic, first.qos, first.retain) == ("film", qos, 1)
    assert first.payload == source.data
    assert second.topic == "behind"
    if values:
        assert first.properties == dict(content_type="film")
    at = 0
    for offset, got in source.calls:  # each byte once, in order
        assert offset == at
        at += got
    assert at == size
    assert client.stats.outbox_bytes == 0


def test_an_empty_stream(clients, broker, version):
    client = clients(url=broker.url, stream_bytes=64, **version)
    client.connected()
    assert client.stream("a", 0, lambda *_: -1, qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert broker.messages[0].payload == b""


def test_stream_to_a_real_server(mosquitto, clients, version):
    """Out of a small buffer and into a small one."""
    options = {**version, "client_id": "receiver"}
    receiver = clients(url=mosquitto.url, **options, **PARTS)
    client = clients(url=mosquitto.url, stream_bytes=1000, **version)
    receiver.connected(), client.connected()
    receiver.subscribed("#", qos=2)
    size = 1_000_000
    assert client.stream("a", size, Source(size), qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    collect(receiver, size)


@pytest.mark.parametrize("most", [1, 3, 64])
def test_stream_in_small_pieces(clients, broker, version, most):
    """The pull function gives as few bytes as it likes."""
    client = clients(url=broker.url, stream_bytes=64, **version)
    client.connected()
    source = Source(2000, most)
    assert client.stream("a", 2000, source, qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert broker.messages[0].payload == source.data


def test_stream_with_pauses(clients, broker, version):
    """0: none now. Nothing else is sent meanwhile, but received it is."""
    client = clients(url=broker.url, stream_bytes=256, **version)
    client.connected()
    source, allowed = Source(3000), 0

    def pull(offset: int, size: int) -> bytes | int:
        size = min(size, allowed - offset)
        return source(offset, size) if size > 0 else 0

    assert client.stream("a", 3000, pull, qos=1, cookie=1) == smq.OK
    assert client.publish("b", qos=1, cookie=2) == smq.OK
    client.run(0.02)
    for allowed in (1, 500, 1000, 2999, 3000):
        broker.last.publish("in", b"%d" % allowed)
        assert client.message().payload == b"%d" % allowed
        client.run(0.02)
    assert client.completed(1).status == client.completed(2).status == smq.OK
    assert broker.messages[0].payload == source.data


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_stream_is_cut(clients, broker, version, qos):
    """On the next connection it begins at its beginning."""
    broker.scripts = [Script(cut_after=300_000), Script(cut_after=500_000)]
    client = clients(url=broker.url, stream_bytes=4096, **{**version, **KEEP})
    # QoS 0 is complete when the kernel has it, and the kernel may take 10 MB.
    size = 1_000_000 if qos else 24_000_000
    source = Source(size)
    assert client.stream("a", size, source, qos=qos, cookie=1) == smq.OK
    for _ in range(2):
        assert client.connect() == smq.OK  # it may be cut before a look is taken at it
        client.disconnected()
        assert not client.completions()
    assert client.connect() == smq.OK
    assert client.completed(1).status == smq.OK
    broker.wait_for(lambda: broker.messages)
    assert [m.payload for m in broker.messages] == [source.data]
    assert source.restarts() == 2


@pytest.mark.parametrize("qos, lost", [(1, PUBACK), (2, PUBREC)])
def test_a_stream_whose_answer_is_lost(clients, broker, version, qos, lost):
    """All of it was sent. Without the acknowledgement it is sent again, with DUP."""
    broker.scripts = [Script(on={PUBLISH: answer_then(close)}, hold={lost})]
    client = clients(url=broker.url, stream_bytes=4096, **{**version, **KEEP})
    client.connected()
    source = Source(100_000)
    assert client.stream("a", 100_000, source, qos=qos, cookie=1) == smq.OK
    client.disconnected()
    client.connected()
    assert client.completed(1).status == smq.OK
    assert source.restarts() == 1
    assert [(p.dup, p.payload == source.data) for p in broker.of(PUBLISH)] == [(0, True), (1, True)]
    assert len(broker.messages) == (2 if qos == 1 else 1)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_stream_gives_up(clients, broker, version, qos):
    """A packet that has begun can't be taken back: the connection ends, and so does the message."""
    client = clients(url=broker.url, stream_bytes=1024, **{**version, **KEEP})
    client.connected()
    source = Source(100_000)
    pull = lambda offset, size: source(offset, size) if offset < 50_000 else -1  # noqa: E731
    assert client.stream("a", 100_000, pull, qos=qos, cookie=1) == smq.OK
    assert client.publish("b", b"behind", qos=1, cookie=2) == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_STREAM, smq.STAGE_CONNECTED)
    assert client.completed(1).status == smq.ERR_STREAM
    assert client.stats.messages_failed == 1
    client.connected()
    assert client.completed(2).status == smq.OK
    assert [m.topic for m in broker.messages] == ["b"]
    # The next one has nothing to do with it.
    assert client.stream("c", 2000, Source(2000), qos=qos, cookie=3) == smq.OK
    assert client.completed(3).status == smq.OK
    broker.wait_for(lambda: len(broker.messages) == 2)
    assert broker.messages[-1].payload == pattern(2000)


def test_one_stream_at_a_time(clients, broker, version):
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, stream_bytes=1024, **version)
    assert client.stream("a", 3000, Source(3000), qos=1, cookie=1) == smq.OK
    before = client.stats
    assert client.stream("b", 10, Source(10)) == smq.ERR_FULL
    assert client.stats == before
    client.connected()
    client.until(lambda: broker.held)
    assert client.stream("b", 10, Source(10)) == smq.ERR_FULL  # not complete yet
    broker.release()
    client.completed(1)
    assert client.stream("b", 10, Source(10), cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK


def test_requests_and_acknowledgements_wait_for_a_stream(clients, broker, version):
    """They may not come between its bytes; the broker would not understand them."""
    client = clients(url=broker.url, stream_bytes=512, **version)
    client.connected()
    source, step = Source(6000), itertools.count()

    def pull(offset: int, size: int) -> bytes | int:
        return source(offset, size) if next(step) % 3 == 0 else 0

    assert client.stream("a", 6000, pull, qos=1, cookie=1) == smq.OK
    for number in range(5):
        client.run(0.005)
        broker.last.publish("in", b"%d" % number, 1 + number % 2)
        assert client.subscribe(f"s/{number}", cookie=10 + number) == smq.OK
    assert len(client.receive(5)) == 5
    for number in range(5):
        assert client.completed(10 + number).status == smq.OK
    assert client.completed(1).status == smq.OK
    assert broker.messages[0].payload == source.data
    acknowledged(client, broker)


def test_streams_that_can_not_be(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_packet_size=1000))]
    client = clients(url=broker.url, protocol=V5)
    assert client.stream("a", 1, Source(1)) == smq.ERR_NOT_SUPPORTED  # stream_bytes is 0
    client = clients(url=broker.url, protocol=V5, stream_bytes=64)
    before = client.stats
    assert client.stream("a", 268_435_456, Source(1)) == smq.ERR_TOO_LARGE
    assert client.stream("a", 1 << 40, Source(1)) == smq.ERR_TOO_LARGE
    assert client.stats == before
    assert client.stream("a", 1001, Source(1001), qos=1, cookie=1) == smq.OK  # not known yet
    client.connected()
    event = client.completed(1)
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, 0x95)
    assert client.stream("a", 1001, Source(1001)) == smq.ERR_TOO_LARGE
    assert client.stream("a", 900, Source(900), qos=1, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK


def test_leaving_waits_for_a_stream(clients, broker, version):
    client = clients(url=broker.url, stream_bytes=1024, **version)
    client.connected()
    source = Source(1_000_000)
    assert client.stream("a", 1_000_000, source, qos=2, cookie=1) == smq.OK
    assert client.leave().status == smq.OK
    assert client.completed(1).status == smq.OK
    assert broker.messages[0].payload == source.data


def test_whole_messages_need_no_parts_option(clients, broker, version):
    """The last words, larger than the buffer, and the end: all of it is reported."""
    data = publish_packet(version["protocol"], "a", pattern(5000))
    broker.scripts = [Script(on={PUBLISH: answer_then(say(data), close)})]
    client = clients(url=broker.url, **version, **small(version["protocol"]))
    client.connected()
    assert client.publish("x") == smq.OK
    event = client.disconnected()
    assert event.status == smq.ERR_CLOSED
    assert [m.payload_total for m in client.messages()] == [5000]


def test_a_server_that_falls_silent_in_the_middle(clients, broker):
    """Keep Alive finds it."""
    broker.scripts = [Script(answer_ping=False)]
    options = dict(keep_alive_s=1, ping_timeout_ms=300)
    client = clients(url=broker.url, protocol=V5, **PARTS, **options)
    client.connected()
    data = publish_packet(V5, "a", pattern(5000))
    broker.last.post(data[:2000])
    event = client.disconnected()
    assert event.status == smq.ERR_KEEP_ALIVE
    assert not any(m.part & smq.PART_LAST for m in client.messages())
