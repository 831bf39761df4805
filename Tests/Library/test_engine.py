"""The bare engine (smq_engine_…): the program has the transport and the clock. Here that is Python, a socket to a real
server, and a clock that goes only when a test says so."""

from __future__ import annotations

import ctypes
import errno
import itertools
import select
import socket
import time
from ctypes import byref

import pytest

from Support import smq
from Support.scripted_broker import CONNECT, DISCONNECT, PINGREQ, PUBACK, PUBLISH, Script
from Support.waiting import PATIENCE

library = smq.library
START = 2**32 - 5_000  # the clock wraps five seconds later


class Engine:
    """A client, its socket, and its clock. `piece`: bytes that go in or out at a time."""

    def __init__(self, clients, port: int, piece: int = 1 << 20, start: int = START, **options):
        flags = options.pop("flags", 0) | smq.OPTION_OWN_TRANSPORT
        options = dict(host="server.example", reconnect=True, jitter=smq.JITTER_NONE) | options
        self.client = clients(flags=flags, **options)
        self.handle = self.client.handle
        self.port, self.piece, self.now = port, piece, start
        self.socket: socket.socket | None = None
        self.events: list[smq.Event] = []
        self.is_reading = True
        self.pieces = 0
        self.timed_out()

    def tell(self, name: str, *arguments: object) -> int:
        return getattr(library, f"smq_engine_{name}")(self.handle, *arguments)

    def timed_out(self) -> int:
        got = self.tell("timed_out", self.now)
        assert got in (0, 1), smq.status_name(got)
        return got

    def pass_time(self, milliseconds: int) -> None:
        self.now = (self.now + milliseconds) % 2**32
        self.timed_out()

    @property
    def timeout(self) -> int:
        return self.tell("next_timeout_ms", self.now)

    def output(self) -> bytes:
        data, size = smq.ANY(), smq.SIZE()
        assert self.tell("transmit", self.now, byref(data), byref(size)) == smq.OK
        return ctypes.string_at(data.value, size.value) if size.value else b""

    def space(self) -> tuple[int | None, int]:
        data, size = smq.ANY(), smq.SIZE()
        assert self.tell("receive_buffer", byref(data), byref(size)) == smq.OK
        return data.value, size.value

    def give(self, data: bytes) -> None:
        """What the server says."""
        while data:
            place, size = self.space()
            assert size > 0
            part, data = data[:size], data[size:]
            ctypes.memmove(place, part, len(part))
            assert self.tell("received", len(part), self.now) == smq.OK

    def take(self) -> None:
        while event := self.client.take():
            self.events.append(event)
            if event.type == smq.EVENT_OPEN:
                self.close()
                self.socket = socket.create_connection(("127.0.0.1", self.port))
                assert self.tell("opened", self.now) == smq.OK
            elif event.type == smq.EVENT_DISCONNECTED:
                self.close()

    def send(self) -> None:
        while data := self.output():
            count = self.socket.send(data[: self.piece])
            assert self.tell("transmitted", count, self.now) == smq.OK
            self.pieces += 1

    def receive(self) -> None:
        place, size = self.space()
        if not (self.socket and self.is_reading and size):
            return
        if not select.select([self.socket], [], [], 0.002)[0]:
            return
        try:
            data = self.socket.recv(min(size, self.piece))
        except ConnectionError as error:
            assert self.tell("closed", error.errno, self.now) == smq.OK
            return
        if not data:
            assert self.tell("closed", 0, self.now) == smq.OK
            return
        ctypes.memmove(place, data, len(data))
        assert self.tell("received", len(data), self.now) == smq.OK

    def turn(self) -> None:
        self.take()
        if self.socket:
            self.send()
            self.receive()
        self.timed_out()

    def until(self, condition, timeout: float = PATIENCE) -> object:
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            assert time.monotonic() < deadline, f"events {self.events[-9:]}, {self.client.stats}"
            self.turn()
        return result

    def event(self, type: int, **fields: object) -> smq.Event:
        def found() -> smq.Event | None:
            for event in self.events:
                if event.type == type and all(getattr(event, n) == v for n, v in fields.items()):
                    return event
            return None

        event = self.until(found)
        self.events.remove(event)
        return event

    def connected(self) -> smq.Event:
        assert self.client.connect() == smq.OK
        return self.event(smq.EVENT_CONNECTED)

    def close(self) -> None:
        if self.socket:
            self.socket.close()
            self.socket = None


@pytest.fixture
def engines(clients):
    made: list[Engine] = []

    def make(port: int, **options: object) -> Engine:
        made.append(Engine(clients, port, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def test_a_whole_conversation(engines, mosquitto, subscriber, protocol):
    """In pieces of any size, against a real server, and a clock that stands still."""
    for piece in (1, 2, 7, 1 << 20):
        engine = engines(mosquitto.port, piece=piece, protocol=protocol)
        client = engine.client
        engine.connected()
        assert client.subscribe(f"own/{piece}", qos=2, cookie=1) == smq.OK
        assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.OK
        for qos in range(3):
            payload = bytes([65 + qos]) * 300
            assert client.publish(f"own/{piece}", payload, qos=qos, cookie=10 + qos) == smq.OK
        for qos in range(3):
            event = engine.event(smq.EVENT_COMPLETED, cookie=10 + qos)
            assert (event.status, event.latency_ms) == (smq.OK, 0 if qos else -1)
        got = [engine.event(smq.EVENT_MESSAGE) for _ in range(3)]
        assert [m.payload for m in got] == [bytes([65 + qos]) * 300 for qos in range(3)]
        assert [m.qos for m in got] == [0, 1, 2]
        assert client.disconnect(1000) == smq.OK
        assert engine.event(smq.EVENT_DISCONNECTED).status == smq.OK
        assert client.state == smq.STATE_DISCONNECTED
        assert [m.payload for m in subscriber.take(3)] == [m.payload for m in got]
        stats = client.stats
        assert stats.bytes_sent >= 900 and stats.send_calls == engine.pieces
        if piece == 1:
            assert engine.pieces == stats.bytes_sent
    assert "protocol error" not in mosquitto.log.read_text().lower()


@pytest.mark.parametrize("piece", [1, 60, 1 << 20])
def test_a_stream(engines, mosquitto, subscriber, protocol, piece):
    """Its pieces are pulled when bytes are asked for."""
    engine = engines(mosquitto.port, piece=piece, protocol=protocol, stream_bytes=64)
    engine.connected()
    payload = bytes(range(256)) * 4
    pulled = []

    def pull(offset: int, size: int) -> bytes:
        pulled.append(offset)
        return payload[offset:offset + size]

    assert engine.client.stream("a", len(payload), pull, qos=1, cookie=1) == smq.OK
    assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.OK
    assert subscriber.take(1)[0].payload == payload
    assert pulled == sorted(set(pulled)) and len(pulled) >= len(payload) / 64


@pytest.mark.parametrize("piece", [1, 60, 1 << 20])
def test_a_reference(engines, mosquitto, subscriber, protocol, piece):
    """The program gets its own bytes, behind the header."""
    engine = engines(mosquitto.port, piece=piece, protocol=protocol, references=2)
    engine.connected()
    payload = ctypes.create_string_buffer(bytes(range(256)) * 8, 2048)
    for cookie in (1, 2):
        assert engine.client.lend("a", payload, qos=1, cookie=cookie) == smq.OK
    assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.OK
    assert engine.event(smq.EVENT_COMPLETED, cookie=2).status == smq.OK
    assert [m.payload for m in subscriber.take(2)] == [payload.raw] * 2


def test_a_stream_that_gives_up(engines, mosquitto):
    engine = engines(mosquitto.port, stream_bytes=64)
    engine.connected()
    assert engine.client.stream("a", 100, lambda offset, size: bytes(size) if offset == 0 else -1, cookie=1) == smq.OK
    assert engine.event(smq.EVENT_DISCONNECTED).status == smq.ERR_STREAM
    assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.ERR_STREAM


@pytest.mark.parametrize("start", [0, START])
def test_keep_alive(engines, mosquitto, start):
    """On the clock that is told: PINGREQ in time, and the end to the millisecond if nobody answers."""
    engine = engines(mosquitto.port, start=start, keep_alive_s=10, ping_timeout_ms=3000)
    engine.connected()
    for number in range(3):
        # A second less than Keep Alive, from the last packet on.
        left = engine.timeout
        assert left == 9000 - (700 if number else 0)
        engine.pass_time(left - 1)
        assert engine.output() == b""
        engine.pass_time(1)
        assert engine.output() == b"\xc0\x00"
        engine.send()
        engine.pass_time(700)
        received = engine.client.stats.packets_received
        engine.until(lambda: engine.client.stats.packets_received > received)
    assert list(engine.client.stats.round_trip) == [0] * 10 + [3] + [0] * 5
    engine.is_reading = False
    engine.pass_time(engine.timeout)
    engine.send()
    assert engine.timeout == 3000
    engine.pass_time(2999)
    engine.turn()
    assert not [e for e in engine.events if e.type == smq.EVENT_DISCONNECTED]
    engine.pass_time(1)
    event = engine.event(smq.EVENT_DISCONNECTED)
    assert (event.status, event.stage) == (smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert engine.client.stats.ended_keep_alive == 1


def test_reconnecting(engines, mosquitto, subscriber):
    """The wait is on the clock that is told; what was in flight is sent again."""
    engine = engines(mosquitto.port, client_id="engine", flags=smq.OPTION_KEEP_SESSION, reconnect_min_ms=1000)
    client = engine.client
    engine.connected()
    for number, code in enumerate((errno.ECONNRESET, 0, errno.ETIMEDOUT)):
        assert client.publish("a", b"%d" % number, qos=2, cookie=number) == smq.OK
        engine.is_reading = False
        engine.turn()
        assert engine.tell("closed", code, engine.now) == smq.OK
        event = engine.event(smq.EVENT_DISCONNECTED)
        assert (event.status, event.os_error) == (smq.ERR_NETWORK if code else smq.ERR_CLOSED, code)
        assert event.stage == smq.STAGE_CONNECTED
        assert event.retry_ms == 1000 << number
        assert client.state == smq.STATE_WAITING
        assert engine.timeout == event.retry_ms
        engine.pass_time(event.retry_ms - 1)
        engine.turn()
        assert engine.socket is None
        engine.pass_time(1)
        assert engine.timeout == 0  # an event waits
        engine.is_reading = True
        assert engine.event(smq.EVENT_CONNECTED).session_present == 1
        assert engine.event(smq.EVENT_COMPLETED, cookie=number).status == smq.OK
    assert [m.payload for m in subscriber.take(3)] == [b"0", b"1", b"2"]
    stats = client.stats
    assert (stats.ended_network, stats.ended_closed, stats.attempts) == (2, 1, 4)


def test_a_transport_that_cannot_be_had(engines, mosquitto):
    engine = engines(mosquitto.port, reconnect_min_ms=500)
    client = engine.client
    assert client.connect() == smq.OK
    event = client.take()
    assert (event.type, event.server_reference, event.port) == (smq.EVENT_OPEN, b"server.example", 1883)
    assert (event.attempt, event.server) == (1, 0)
    assert engine.tell("closed", errno.ENODEV, engine.now) == smq.OK
    event = client.take()
    assert (event.type, event.status, event.os_error) == (smq.EVENT_DISCONNECTED, smq.ERR_NETWORK, errno.ENODEV)
    assert event.stage == smq.STAGE_CONNECT
    engine.pass_time(500)
    assert client.take().attempt == 2
    # Nobody answers: the attempt has its time.
    engine.pass_time(29_999)
    assert client.take() is None
    assert engine.timeout == 1
    engine.pass_time(1)
    event = client.take()
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_CONNECT)
    # What comes too late is not wanted.
    assert engine.tell("opened", engine.now) == smq.ERR_STATE
    assert engine.tell("closed", 0, engine.now) == smq.ERR_STATE


@pytest.mark.parametrize("is_answered", [True, False])
def test_draining(engines, broker, is_answered):
    """DISCONNECT after the last acknowledgement, or when the time is up."""
    broker.scripts = [Script(hold={PUBACK})]
    engine = engines(broker.port)
    client = engine.client
    engine.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    engine.until(lambda: broker.of(PUBLISH))
    assert client.disconnect(5000) == smq.OK
    engine.turn()
    assert engine.timeout == 5000
    assert client.publish("a") == smq.ERR_STATE
    engine.pass_time(4999)
    engine.turn()
    assert client.state == smq.STATE_DISCONNECTING and not broker.of(DISCONNECT)
    if is_answered:
        broker.release()
        assert engine.event(smq.EVENT_COMPLETED, cookie=1).status == smq.OK
    else:
        engine.pass_time(1)
    assert engine.event(smq.EVENT_DISCONNECTED).status == smq.OK
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert client.stats.outbox_messages == (0 if is_answered else 1)


def test_a_farewell_that_cannot_be_sent(engines, broker):
    """Nobody takes it: two seconds, and the server publishes the Will."""
    engine = engines(broker.port)
    engine.connected()
    assert engine.client.disconnect(0) == smq.OK
    engine.timed_out()
    assert 0 < engine.timeout <= 2000
    engine.pass_time(2000)
    event = engine.client.take()
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_DISCONNECT)


def test_answer_timeout(engines, broker):
    broker.scripts = [Script(hold={PUBACK})]
    engine = engines(broker.port, answer_timeout_ms=4000, keep_alive_s=smq.OFF)
    engine.connected()
    assert engine.client.publish("a", qos=1) == smq.OK
    engine.until(lambda: broker.of(PUBLISH))
    assert engine.timeout == 4000
    engine.pass_time(3999)
    assert engine.client.take() is None
    engine.pass_time(1)
    event = engine.event(smq.EVENT_DISCONNECTED)
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_ANSWER)


def test_falling_back(engines, broker):
    """The older version gets a transport of its own, within the attempt."""
    broker.scripts = [Script(levels=frozenset({4}))] * 2
    engine = engines(
        broker.port, protocol=smq.PROTOCOL_5_0, flags=smq.OPTION_FALLBACK | smq.OPTION_ASK_CREDENTIALS, client_id="c"
    )
    assert engine.client.connect() == smq.OK
    engine.turn()
    assert [e.type for e in engine.events] == [smq.EVENT_CREDENTIALS]
    assert engine.client.credentials(1, "me", "secret") == smq.OK
    assert engine.event(smq.EVENT_CONNECTED).protocol == smq.PROTOCOL_3_1_1
    opened = [e for e in engine.events if e.type == smq.EVENT_OPEN]
    assert [e.attempt for e in opened] == [1, 1]
    assert [c["user"] for c in broker.connects] == ["me", "me"]


def test_what_came_before_the_end(engines, broker):
    """Messages that were received are handed out first, then the end."""
    engine = engines(broker.port)
    engine.connected()
    message = b"\x30\x04\x00\x01ax"
    engine.give(message * 3)
    assert engine.tell("closed", 0, engine.now) == smq.OK
    types = [e.type for e in iter(engine.client.take, None)]
    assert types == [smq.EVENT_MESSAGE] * 3 + [smq.EVENT_DISCONNECTED]


def test_a_violation_says_why(engines, broker):
    """DISCONNECT of 5.0 goes out before the end."""
    engine = engines(broker.port, protocol=smq.PROTOCOL_5_0)
    engine.connected()
    engine.give(b"\xf1\x00")
    engine.until(lambda: [e for e in engine.events if e.type == smq.EVENT_DISCONNECTED])
    assert engine.events[-1].status == smq.ERR_MALFORMED
    assert broker.wait_for(lambda: broker.of(DISCONNECT))[0].reason()[0] == 0x81
    assert engine.client.stats.ended_malformed == 1


# ---- Wrong calls ----


def no_change(client: smq.Client, call, status: int) -> None:
    before, state = client.stats, client.state
    assert call() == status, smq.status_name(status)
    assert (client.stats, client.state) == (before, state)


def test_without_the_option(clients, mosquitto):
    client = clients(url=mosquitto.url)
    client.connected()
    data, size = smq.ANY(), smq.SIZE()
    for name, arguments in {
        "opened": (0,),
        "closed": (0, 0),
        "receive_buffer": (byref(data), byref(size)),
        "received": (0, 0),
        "transmit": (0, byref(data), byref(size)),
        "transmitted": (0, 0),
        "next_timeout_ms": (0,),
        "timed_out": (0,),
    }.items():
        function = getattr(library, f"smq_engine_{name}")
        no_change(client, lambda: function(client.handle, *arguments), smq.ERR_STATE)
        assert function(None, *arguments) == smq.ERR_NULL
    client.leave()


def test_wrong_calls(engines, broker):
    engine = engines(broker.port)
    client = engine.client
    data, size = smq.ANY(), smq.SIZE()
    anything = (0, 1, 4096, 2**31, 2**63, 2**64 - 1)

    def wrong_sizes(room: int, output: int) -> None:
        for count in anything:
            if count > room:
                no_change(client, lambda: engine.tell("received", count, engine.now), smq.ERR_OPTION)
            if count > output:
                no_change(client, lambda: engine.tell("transmitted", count, engine.now), smq.ERR_OPTION)

    def everywhere() -> None:
        for code in (-1, -(2**31)):
            no_change(client, lambda: engine.tell("closed", code, engine.now), smq.ERR_OPTION)
        for name in ("receive_buffer", "transmit"):
            time = () if name == "receive_buffer" else (engine.now,)
            no_change(client, lambda: engine.tell(name, *time, None, byref(size)), smq.ERR_NULL)
            no_change(client, lambda: engine.tell(name, *time, byref(data), None), smq.ERR_NULL)
        no_change(client, lambda: library.smq_wait(client.handle, 0), smq.ERR_STATE)
        no_change(client, lambda: library.smq_flush(client.handle), smq.ERR_STATE)
        no_change(client, lambda: library.smq_fd(client.handle), smq.ERR_STATE)

    def opened(status: int) -> None:
        no_change(client, lambda: engine.tell("opened", engine.now), status)

    # Disconnected.
    everywhere()
    opened(smq.ERR_STATE)
    no_change(client, lambda: engine.tell("closed", 0, engine.now), smq.ERR_STATE)
    wrong_sizes(0, 0)
    assert engine.space() == (None, 0) and engine.output() == b"" and engine.timeout == -1
    # A transport is wanted.
    assert client.connect() == smq.OK
    everywhere()
    wrong_sizes(0, 0)
    assert engine.space()[1] == 0 and engine.output() == b""
    # CONNECT is to be sent: nothing can be received yet.
    engine.take()
    opened(smq.ERR_STATE)
    everywhere()
    assert engine.space()[1] == 0
    size_of_connect = len(engine.output())
    wrong_sizes(0, size_of_connect)
    assert engine.output() and engine.tell("transmitted", 0, engine.now) == smq.OK
    # Said twice.
    engine.socket.send(engine.output()[:1])
    assert engine.tell("transmitted", 1, engine.now) == smq.OK
    wrong_sizes(0, 0)
    engine.event(smq.EVENT_CONNECTED)
    # Connected.
    everywhere()
    opened(smq.ERR_STATE)
    room = engine.space()[1]
    no_change(client, lambda: engine.tell("received", room + 1, engine.now), smq.ERR_OPTION)
    wrong_sizes(room, 0)
    no_change(client, client.connect, smq.ERR_STATE)


def test_transmitted_after_the_end(engines, broker):
    """The program learns of the end between smq_engine_transmit() and smq_engine_transmitted()."""
    engine = engines(broker.port, reconnect_min_ms=100)
    client = engine.client
    assert client.connect() == smq.OK
    count = 0
    for number in range(3):
        engine.take()
        if count:  # of the last one
            no_change(client, lambda: engine.tell("transmitted", count, engine.now), smq.ERR_OPTION)
        count = len(engine.output())
        assert count > 0
        if number < 2:
            assert engine.tell("closed", errno.EPIPE, engine.now) == smq.OK
            no_change(client, lambda: engine.tell("transmitted", count, engine.now), smq.ERR_OPTION)
            engine.take()
            engine.pass_time(200 << number)
    engine.take()
    engine.event(smq.EVENT_CONNECTED)
    # On a connection that is new, what the last one would have sent does not count.
    assert client.publish("a", b"x", qos=1) == smq.OK
    assert len(engine.output()) > 0
    assert engine.tell("closed", 0, engine.now) == smq.OK
    engine.take()
    engine.pass_time(1000)
    engine.take()
    no_change(client, lambda: engine.tell("transmitted", 5, engine.now), smq.ERR_OPTION)
    engine.event(smq.EVENT_CONNECTED)
    assert engine.event(smq.EVENT_COMPLETED).status == smq.OK


def test_a_message_is_dropped_between(engines, broker):
    """smq_publish() between smq_engine_transmit() and smq_engine_transmitted() takes back what was to be sent."""
    engine = engines(broker.port, outbox_bytes=64)
    client = engine.client
    engine.connected()
    for cookie in range(4):
        overflow = smq.OVERFLOW_DROP_OLDEST
        assert client.publish("a", b"123456789", qos=1, overflow=overflow, cookie=cookie) == smq.OK
    count = len(engine.output())
    assert count == 64
    assert client.publish("b", b"123456789", qos=1, overflow=overflow, cookie=9) == smq.OK
    no_change(client, lambda: engine.tell("transmitted", count, engine.now), smq.ERR_OPTION)
    for cookie in (1, 2, 3, 9):
        assert engine.event(smq.EVENT_COMPLETED, cookie=cookie).status == smq.OK
    assert engine.event(smq.EVENT_COMPLETED, cookie=0).status == smq.ERR_DROPPED


def test_no_time_but_what_is_told(engines, broker):
    """The clock stands still while real time passes: nothing is due."""
    engine = engines(broker.port, keep_alive_s=1, connect_timeout_ms=1, answer_timeout_ms=1, start=0)
    assert engine.client.connect() == smq.OK
    time.sleep(0.01)
    engine.event(smq.EVENT_CONNECTED)
    assert engine.client.publish("a", qos=1, cookie=1) == smq.OK
    time.sleep(0.01)
    assert engine.event(smq.EVENT_COMPLETED, cookie=1).latency_ms == 0
    assert not broker.of(PINGREQ) and len(broker.of(CONNECT)) == 1


def test_asked_twice(engines, broker):
    """What was given first does not count any more."""
    engine = engines(broker.port)
    engine.connected()
    assert engine.client.disconnect(0) == smq.OK
    count = len(engine.output())
    engine.now = (engine.now + 2000) % 2**32
    assert engine.output() == b""  # the farewell's time was up
    no_change(engine.client, lambda: engine.tell("transmitted", count, engine.now), smq.ERR_OPTION)


def test_init_makes_no_descriptor(clients):
    import os

    before = set(os.listdir("/proc/self/fd"))
    for _ in range(5):
        clients(host="h", flags=smq.OPTION_OWN_TRANSPORT)
    # A thread of an earlier test may still close one of its own.
    assert set(os.listdir("/proc/self/fd")) <= before


def test_chopped_by_chance(engines, mosquitto, subscriber):
    """Bytes in pieces of any size, in both directions, over many reconnects: QoS 2 arrives once, in order."""
    import random

    chance = random.Random(7)
    engine = engines(
        mosquitto.port, client_id="chopped", flags=smq.OPTION_KEEP_SESSION, reconnect_min_ms=10, reconnect_max_ms=10
    )
    client = engine.client
    assert client.connect() == smq.OK
    numbers = itertools.count()
    published = 0
    done: set[int] = set()
    deadline = time.monotonic() + 60
    while len(done) < 200:
        assert time.monotonic() < deadline
        if published < 200 and chance.random() < 0.3:
            assert client.publish("a", b"%d" % published, qos=2, cookie=next(numbers)) == smq.OK
            published += 1
        engine.piece = chance.choice((1, 2, 3, 50, 1 << 16))
        engine.turn()
        done |= {e.cookie for e in engine.events if e.type == smq.EVENT_COMPLETED and e.status == smq.OK}
        if engine.socket and chance.random() < 0.02:
            engine.tell("closed", errno.ECONNRESET, engine.now)
        engine.pass_time(1)
    assert [m.payload for m in subscriber.take(200)] == [b"%d" % n for n in range(200)]
    assert client.stats.connections > 2
