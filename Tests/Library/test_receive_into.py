"""Payloads that are received into the program's memory (smq_receive_into)."""

from __future__ import annotations

import ctypes
import random

import pytest

from Support import smq
from Support.handshakes import TLS, Peer, WebSocket
from Support.scripted_broker import PUBACK, PUBCOMP, PUBREC, publish_packet

from .test_engine import Engine

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper")
PARTS = dict(receive_bytes=4096, flags=smq.OPTION_PARTS)
ANSWERS = {0: (), 1: (PUBACK,), 2: (PUBREC, PUBCOMP)}
UNTOUCHED = 0xEE


def pattern(size: int) -> bytes:
    return random.Random(size).randbytes(size)


class Reader:
    """A program that has memory for a whole payload. It copies the first part, and lends what is behind that, `piece` bytes at a
    time. What it got is in `messages`."""

    def __init__(self, client: smq.Client, piece: int = 1 << 28, room: int = 16 << 20):
        self.client, self.piece = client, piece
        self.memory = (ctypes.c_uint8 * room)()
        self.start = ctypes.addressof(self.memory)
        self.lent: tuple[int, int] | None = None  # where, how many bytes
        self.messages: list[tuple[bytes, bytes]] = []  # topic, payload
        self.parts = 0
        client.on_event = self.on_event

    def on_event(self, event: smq.Event) -> None:
        if event.type == smq.EVENT_DISCONNECTED:
            self.lent = None
        if event.type != smq.EVENT_MESSAGE:
            return
        raw = self.client.raw.payload
        if event.part & smq.PART_FIRST:
            assert self.lent is None
            ctypes.memset(self.memory, UNTOUCHED, min(event.payload_total + 64, len(self.memory)))
            ctypes.memmove(self.start, raw.data, raw.size)
        else:
            assert (raw.data, raw.size) == self.lent
            assert raw.data == self.start + event.payload_offset
            self.parts += 1
        self.lent = None
        assert (event.token != 0) == (event.qos > 0 and event.part & smq.PART_LAST != 0)
        end = event.payload_offset + raw.size
        if event.part & smq.PART_LAST:
            assert end == event.payload_total
            assert bytes(self.memory[end:end + 64]) == bytes([UNTOUCHED]) * 64
            self.messages.append((event.topic, ctypes.string_at(self.start, end)))
            return
        # What it lends may reach far beyond the payload.
        size = min(self.piece, len(self.memory) - end)
        assert smq.library.smq_receive_into(self.client.handle, self.start + end, size) == smq.OK
        self.lent = self.start + end, min(size, event.payload_total - end)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_from_a_real_server(mosquitto, clients, version, qos):
    """64 KiB, 1 MiB and 10 MiB through a receive buffer of 4 KiB, and small ones in between."""
    client = clients(url=mosquitto.url, outbox_bytes=16 << 20, **version, **PARTS)
    reader = Reader(client)
    client.connected()
    client.subscribed("#", qos=2)
    sent = []
    for size in (65_536, 10, 1_048_576, 10_485_760, 4096, 1, 65_536):
        assert client.publish("a", pattern(size), qos=qos, quiet=1) == smq.OK
        sent.append((b"a", pattern(size)))
    client.until(lambda: len(reader.messages) == len(sent))
    assert [len(payload) for _, payload in reader.messages] == [len(payload) for _, payload in sent]
    assert reader.messages == sent
    client.run(0.02)
    stats = client.stats
    assert (stats.receive_bytes_peak, stats.messages_received, stats.unacknowledged) == (4096, len(sent), 0)
    assert "protocol error" not in mosquitto.log.read_text().lower()


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_pieces_of_every_kind(clients, broker, version, qos):
    """Topic, properties and all else are those of every other part; what is behind the message arrives."""
    client = clients(url=broker.url, **version, **PARTS)
    client.connected()
    values = dict(content_type="film") if version["protocol"] == V5 else {}
    for piece in (1000, 4096, 50_000, 1 << 28):
        reader = Reader(client, piece)
        broker.last.publish("film", pattern(200_000), qos, retain=1, **values)
        broker.last.publish("behind", b"small", qos)
        client.until(lambda: len(reader.messages) == 2)
        assert reader.messages == [(b"film", pattern(200_000)), (b"behind", b"small")]
        parts = client.messages()[:-1]
        assert {(p.topic, p.qos, p.retain, p.properties) for p in parts} == {
            (b"film", qos, 1, parts[0].properties)
        }
        assert bool(parts[0].properties) == bool(values)
        assert reader.parts == -(-(200_000 - len(parts[0].payload)) // piece)
        client.events.clear()
    client.until(lambda: not broker.last.session.outgoing)
    for answer in ANSWERS[qos]:
        assert len(broker.of(answer)) == 8


def test_system_calls(clients, broker):
    """Of 8 MiB in memory of the program, and of as many in parts of 4 KiB."""
    calls = []
    for lends in (True, False):
        client = clients(url=broker.url, **PARTS)
        reader = Reader(client) if lends else None
        client.connected()
        before = client.stats.receive_calls
        broker.last.publish("a", pattern(8 << 20), 0)
        client.until(lambda: any(m.part & smq.PART_LAST for m in client.messages()))
        calls.append(client.stats.receive_calls - before)
        assert reader is None or reader.messages == [(b"a", pattern(8 << 20))]
    assert calls[0] < calls[1] / 4


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_cut_in_the_middle(clients, broker, version, qos):
    """What was lent is the program's again with SMQ_EVENT_DISCONNECTED. QoS 1 and 2 begin anew."""
    options = {**version, **KEEP, **PARTS}
    options["flags"] = smq.OPTION_PARTS | smq.OPTION_KEEP_SESSION
    client = clients(url=broker.url, **options)
    reader = Reader(client)
    client.connected()
    client.subscribed("#", qos=2)
    packet = publish_packet(version["protocol"], "a", pattern(300_000), qos, identifier=1)
    broker.last.post(packet[:100_000])
    client.until(lambda: reader.lent)
    client.run(0.05)
    assert not reader.messages
    broker.last.end()
    assert client.disconnected().status == smq.ERR_CLOSED
    assert reader.lent is None
    ctypes.memset(reader.memory, UNTOUCHED, 400_000)
    client.events.clear()
    client.connected()
    broker.last.publish("a", pattern(300_000), qos)
    client.until(lambda: reader.messages)
    assert reader.messages == [(b"a", pattern(300_000))]
    client.until(lambda: not broker.last.session.outgoing)


def test_closed_in_the_middle(clients, broker, version):
    """smq_client_close() gives the memory back."""
    client = clients(url=broker.url, **version, **PARTS)
    reader = Reader(client)
    client.connected()
    broker.last.post(publish_packet(version["protocol"], "a", pattern(300_000), 0)[:100_000])
    client.until(lambda: reader.lent)
    client.run(0.02)
    client.close()


def test_taken_back(clients, broker, version):
    """What was received by then is a part, and the parts that follow are in the receive buffer."""
    client = clients(url=broker.url, **version, **PARTS)
    memory = ctypes.create_string_buffer(bytes([UNTOUCHED]) * 300_000, 300_000)
    lent = []

    def on_event(event: smq.Event) -> None:
        if event.type == smq.EVENT_MESSAGE and event.part == smq.PART_FIRST:
            assert client.receive_into(memory) == smq.OK
            lent.append(event)

    client.on_event = on_event
    client.connected()
    packet = publish_packet(version["protocol"], "a", pattern(300_000), 0)
    broker.last.post(packet[:100_000])
    client.until(lambda: client.stats.bytes_received > 99_999)
    assert [m.part for m in client.messages()] == [smq.PART_FIRST]
    assert client.receive_into(None) == smq.OK
    client.step(0)
    first, second = client.messages()
    at = len(packet) - 300_000
    assert second.part == 0 and second.payload_offset == len(first.payload)
    assert first.payload + second.payload == packet[at:100_000]
    assert memory.raw[:len(second.payload)] == second.payload
    assert set(memory.raw[len(second.payload):]) == {UNTOUCHED}
    assert client.receive_into(None) == smq.OK
    broker.last.post(packet[100_000:])
    client.until(lambda: client.messages()[-1].part == smq.PART_LAST)
    assert b"".join(m.payload for m in client.messages()) == pattern(300_000)
    assert len(lent) == 1 and len(client.messages()) > 10


def test_when_it_is_wrong(clients, broker, version):
    """Nothing changes, and nothing is taken from a message that is whole or has ended."""
    client = clients(url=broker.url, **version, **PARTS)
    memory = ctypes.create_string_buffer(10)
    assert client.receive_into(memory) == smq.ERR_STATE
    assert client.receive_into(None) == smq.OK
    client.connected()
    answers = []
    client.on_event = lambda event: answers.append((event.part, client.receive_into(memory)))
    broker.last.publish("a", b"small", 1)
    broker.last.publish("a", pattern(5000), 1)
    client.until(lambda: len(answers) >= 3 and answers[-1][0] == smq.PART_LAST)
    assert answers[0] == (smq.WHOLE, smq.ERR_STATE)
    assert answers[-1] == (smq.PART_LAST, smq.ERR_STATE)
    assert {status for _, status in answers[1:-1]} == {smq.OK}
    assert client.receive_into(memory) == smq.ERR_STATE
    assert smq.library.smq_receive_into(client.handle, None, 1) == smq.ERR_NULL
    payload = b"".join(m.payload for m in client.messages()[1:])
    assert payload == pattern(5000)
    client.until(lambda: not broker.last.session.outgoing)


def test_a_group(clients, broker):
    """A client that the group has parked takes the call, too."""
    with smq.Group(1) as group:
        client = clients(url=broker.url, **PARTS)
        group.add(client)
        reader = Reader(client)
        client.connect()
        group.until(lambda: client.state == smq.STATE_CONNECTED)
        broker.last.publish("a", pattern(300_000), 1)
        group.until(lambda: reader.messages)
        assert reader.messages == [(b"a", pattern(300_000))]


@pytest.mark.parametrize("size", [100_000, 1 << 20])
def test_the_bare_engine(clients, broker, size):
    """smq_engine_receive_buffer() is the memory then, as far as the payload goes."""
    engine = Engine(clients, broker.port, piece=10_000, **PARTS)
    reader = Reader(engine.client)
    engine.connected()
    broker.last.publish("a", pattern(size), 1)
    spaces = []
    engine.until(lambda: spaces.append(engine.space()) or reader.messages)
    engine.close()
    assert reader.messages == [(b"a", pattern(size))]
    lent = [(place, room) for place, room in spaces if reader.start <= (place or 0) < reader.start + size]
    assert lent and all(place + room == reader.start + size for place, room in lent)


@pytest.mark.parametrize("kind", ["ws", "tls", "wss"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_through_layers(clients, certificates, tls, broker, kind, qos):
    """What they decrypt or unpack goes there."""
    stages = [TLS(certificates.good)] if kind != "ws" else []
    if kind != "tls":
        stages.append(WebSocket())
    with Peer(*stages, upstream=broker.port) as peer:
        scheme = {"tls": "mqtts"}.get(kind, kind)
        more = dict(tls=tls) if kind != "ws" else {}
        client = clients(url=f"{scheme}://localhost:{peer.port}", **PARTS, **more)
        reader = Reader(client)
        client.connected()
        for size in (1_000_000, 10, 65_536):
            broker.last.publish("a", pattern(size), qos)
        client.until(lambda: len(reader.messages) == 3)
        assert [payload for _, payload in reader.messages] == [pattern(n) for n in (1_000_000, 10, 65_536)]
        assert client.stats.receive_bytes_peak == 4096
        assert peer.violations == []
