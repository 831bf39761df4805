"""A small MQTT broker (3.1, 3.1.1 and 5.0) that keeps a record, and misbehaves when told to.

As a program it is a plain broker, for machines that have no other:

    cd Tests && python3 -m Support.scripted_broker --port 0 --print

In a test a list of scripts says what each connection, in turn, does otherwise than a good broker:

    with Broker([Script(at={3: reset}), Script(session_present=1, hold={PUBACK})]) as broker:
        ...
        broker.wait_for(lambda: broker.held)
        broker.release(*reversed(broker.held))
        broker.last.publish("a", b"payload", qos=2, content_type="text")

What clients do wrong is collected in `violations`: packets that are malformed, that have properties
they may not have, above a limit, acknowledgements of nothing or out of order.
"""

from __future__ import annotations

import argparse
import queue
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .codec import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    NAMES,
    PINGREQ,
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
    Reading,
    binary,
    by_name,
    first,
    matches,
    packet,
    properties,
    publish_packet,
)
from .codec import Packet as Read
from .waiting import PATIENCE

__all__ = ["binary", "matches", "publish_packet"]  # what tests take from here, too


# ---- What is recorded ----


@dataclass
class Packet(Read):
    """A packet as it came."""

    time: float = 0.0
    connection: int = 0  # 1 is the first

    def publication(self) -> tuple[str, int, dict[str, object], bytes]:
        """Of a PUBLISH: topic, Packet Identifier, properties, payload."""
        return self.topic, self.id, self.named, self.payload

    def acknowledgement(self) -> tuple[int, int, dict[str, object]]:
        """Of PUBACK, PUBREC, PUBREL, PUBCOMP: Packet Identifier, Reason Code, properties."""
        return self.id, self.code, self.named

    def reason(self) -> tuple[int, dict[str, object]]:
        """Of DISCONNECT and AUTH: Reason Code, properties."""
        return self.code, self.named

    def request(self) -> tuple[int, dict[str, object], list[tuple[str, int]]]:
        """Of SUBSCRIBE and UNSUBSCRIBE: Packet Identifier, properties, filters with options."""
        return self.id, self.named, self.filters

    def __repr__(self) -> str:
        more = f" id {self.id}" if self.id else ""
        return f"<{self.connection}: {NAMES[self.type]} flags {self.flags:x}{more}>"

    __str__ = __repr__


@dataclass
class Message:
    """An Application Message that the broker has taken over."""

    topic: str
    payload: bytes
    qos: int
    retain: int
    connection: int
    properties: dict[str, object] = field(default_factory=dict)


@dataclass
class Outgoing:
    """A message for a subscriber, until it is acknowledged."""

    topic: str | bytes
    payload: bytes
    qos: int
    retain: int
    properties: dict[str, object]
    id: int = 0
    released: bool = False  # QoS 2: PUBREC came
    connection: int = 0  # on which it was sent last

    def packet(self, level: int, dup: int) -> bytes:
        return publish_packet(
            level,
            self.topic,
            self.payload,
            self.qos,
            retain=self.retain,
            dup=dup,
            identifier=self.id,
            **self.properties,
        )


@dataclass
class Answer:
    """A PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK or UNSUBACK that is held back."""

    connection: Connection = field(repr=False)
    type: int
    id: int
    code: int
    body: bytes = b""  # of SUBACK and UNSUBACK, behind the Packet Identifier


# ---- Scripts ----

Action = Callable[["Connection", Packet], None]


@dataclass
class Script:
    """What one connection does otherwise than a good broker. All unset: nothing."""

    at: dict[int, Action] = field(default_factory=dict)  # at the n-th packet, instead of an answer
    # The same by type: for the first such packet, the second … (None: the right answer), or all.
    on: dict[int, Action | list[Action | None]] = field(default_factory=dict)
    connack: dict[str, object] = field(default_factory=dict)  # 5.0: properties by name
    session_present: int | None = None  # what CONNACK says; None: the truth
    resend: bool = True  # a session that is taken up: what was not acknowledged comes again
    answer_ping: bool = True
    hold: set[int] = field(default_factory=set)  # answers of these types wait for release()
    reasons: dict[int, int] = field(default_factory=dict)  # 5.0: answer's type -> Reason Code
    reason_string: str = ""  # 5.0: goes with those
    grant: Callable[[str, int], int] | None = None  # filter, options -> SUBACK's or UNSUBACK's code
    suback: dict[str, object] = field(default_factory=dict)  # 5.0: properties, of UNSUBACK too
    one_byte: bool = False  # answers leave one byte at a time
    cut_after: int = 0  # ends the connection with a TCP RST after so many bytes came
    stall: tuple[int, float] = (0, 0.0)  # after so many bytes nothing is read for so many seconds, once
    levels: frozenset[int] = frozenset((3, 4, 5))  # protocol versions; others are refused with 1
    accept: Callable[[dict], int] | None = None  # CONNECT's fields -> CONNACK code


def nothing(connection: Connection, packet: Packet) -> None:
    """No answer."""


def close(connection: Connection, packet: Packet) -> None:
    connection.end()


def reset(connection: Connection, packet: Packet) -> None:
    """Ends the connection with a TCP RST."""
    connection.end(abruptly=True)


def say(data: bytes) -> Action:
    """These bytes instead of an answer."""
    return lambda connection, packet: connection.send(data)


def refuse(code: int, **values: object) -> Action:
    """At 1: CONNACK with this code and, in 5.0, properties."""

    def action(connection: Connection, received: Packet) -> None:
        body = bytes([0, code]) + (properties(values) if received.level == 5 else b"")
        connection.send(packet(CONNACK, body))
        connection.end()

    return action


def disconnect(code: int, **values: object) -> Action:
    """5.0: DISCONNECT with this Reason Code and properties."""

    def action(connection: Connection, received: Packet) -> None:
        connection.send(packet(DISCONNECT, bytes([code]) + properties(values)))
        connection.end()

    return action


def auth(code: int, **values: object) -> Action:
    """5.0: AUTH with this Reason Code and properties."""
    return say(packet(AUTH, bytes([code]) + properties(values)))


def accept(connection: Connection, received: Packet) -> None:
    """The answer to CONNECT, which had to wait for AUTH."""
    connection.answer(connection.connect)


def publish(topic: str, payload: bytes = b"", qos: int = 0, **more: object) -> Action:
    """A PUBLISH instead of an answer, or with answer_then behind it."""
    return lambda connection, packet: connection.publish(topic, payload, qos, now=True, **more)


def answer_then(*actions: Action) -> Action:
    """The right answer first, then these."""

    def action(connection: Connection, received: Packet) -> None:
        connection.answer(received)
        for each in actions:
            each(connection, received)

    return action


# ---- The broker ----


@dataclass
class Session:
    # filter -> options, Subscription Identifier
    subscriptions: dict[str, tuple[int, int]] = field(default_factory=dict)
    received: set[int] = field(default_factory=set)  # QoS 2 ids whose PUBREL has not come
    in_use: set[int] = field(default_factory=set)  # ids that we owe a last acknowledgement
    outgoing: dict[int, Outgoing] = field(default_factory=dict)  # sent and not acknowledged
    waiting: deque[Outgoing] = field(default_factory=deque)  # the client's Receive Maximum
    connection: Connection | None = None
    last_id: int = 0

    def next_id(self) -> int:
        while True:
            self.last_id = self.last_id % 65535 + 1
            if self.last_id not in self.outgoing:
                return self.last_id

    def offer(self, message: Message, sender: Session | None) -> None:
        """Forwards a message if it is subscribed to."""
        hits = [entry for f, entry in self.subscriptions.items() if matches(f, message.topic)]
        hits = [entry for entry in hits if not (entry[0] & 4 and sender is self)]  # No Local
        if hits:
            retain = message.retain if any(options & 8 for options, _ in hits) else 0
            self.forward(message, max(options & 3 for options, _ in hits), retain, hits)

    def forward(
        self, message: Message, maximum: int, retain: int, hits: list[tuple[int, int]]
    ) -> None:
        values = {n: v for n, v in message.properties.items() if n != "topic_alias"}
        if identifiers := [identifier for _, identifier in hits if identifier]:
            values["subscription_identifier"] = identifiers
        qos = min(message.qos, maximum)
        outgoing = Outgoing(message.topic, message.payload, qos, retain, values)
        if qos:
            self.waiting.append(outgoing)
            self.pump()
        elif self.connection:
            self.connection.transmit(outgoing)

    def pump(self) -> None:
        """Sends what waits, as far as the client's Receive Maximum allows."""
        while (
            self.waiting
            and self.connection
            and len(self.outgoing) < self.connection.receive_maximum
        ):
            outgoing = self.waiting.popleft()
            outgoing.id = self.next_id()
            self.outgoing[outgoing.id] = outgoing
            self.connection.transmit(outgoing)


class Connection:
    """One client's connection, served by a thread of its own."""

    def __init__(self, broker: Broker, sock: socket.socket, number: int, script: Script):
        self.broker, self.socket, self.number, self.script = broker, sock, number, script
        self.level = 4
        self.client_id = ""
        self.connect: Packet | None = None
        self.fields: dict[str, object] = {}  # CONNECT's
        self.session: Session | None = None
        self.keep_session = False
        self.receive_maximum = 65535  # the client's
        self.aliases: dict[int, str] = {}  # the client's
        self.requests: set[int] = set()  # ids of SUBSCRIBE and UNSUBSCRIBE to be answered
        self.will: Message | None = None
        self.count = self.bytes = 0
        self.counts: dict[int, int] = {}
        self.sending = threading.Lock()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.outgoing: bytearray | None = None  # answers to what came in one piece leave in one
        self.posted: queue.SimpleQueue | None = None
        self.over = self.abruptly = self.has_stalled = False

    def run(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray()
        try:
            while not self.over and (data := self.socket.recv(65536)):
                buffer += data
                self.bytes += len(data)
                self.outgoing = bytearray()
                self.receive(buffer)
                self.flush()
                if 0 < self.script.cut_after <= self.bytes:
                    self.end(abruptly=True)
                if 0 < self.script.stall[0] <= self.bytes and not self.has_stalled:
                    self.has_stalled = True
                    time.sleep(self.script.stall[1])
        except OSError:
            pass
        except Exception as error:  # a script's mistake: the test is to hear of it
            self.broker.violation(self, f"{type(error).__name__}: {error}")
            raise
        finally:
            self.over = True
            self.close()
            self.broker.ended(self)

    def flush(self) -> None:
        waiting, self.outgoing = self.outgoing, None
        if waiting:
            self.send(bytes(waiting))

    def receive(self, buffer: bytearray) -> None:
        """Takes the whole packets off the buffer."""
        while not self.over and (came := first(buffer, self.level, Packet)):
            self.count += 1
            came.number, came.connection, came.time = self.count, self.number, time.monotonic()
            self.handle(came)

    def handle(self, came: Packet) -> None:
        if came.readable:
            Reading(came).read()
        for rule, what in came.complaints:
            self.broker.violation(self, f"{rule} {came}: {what}: {came.raw[:40].hex(' ')}")
        if not came.readable:
            self.end()
            return
        if came.type == CONNECT:
            self.level = came.level
        self.check(came)
        with self.broker.changed:
            if came.type == CONNECT:
                self.connect = came
                self.note(came)
            (self.action(came) or Connection.answer)(self, came)
            self.broker.packets.append(came)
            self.broker.changed.notify_all()

    def action(self, came: Packet) -> Action | None:
        self.counts[came.type] = number = self.counts.get(came.type, 0) + 1
        if self.count in self.script.at:
            return self.script.at[self.count]
        actions = self.script.on.get(came.type, [])
        if callable(actions):
            return actions
        return actions[number - 1] if number <= len(actions) else None

    def check(self, came: Packet) -> None:
        if (came.type == CONNECT) != (self.count == 1):
            self.broker.violation(self, f"{came} as packet number {self.count}")
        limit = self.script.connack.get("maximum_packet_size", 1 << 28)
        if came.type != CONNECT and len(came.raw) > limit:
            self.broker.violation(self, f"{len(came.raw)} bytes: {came}")
        if came.type == DISCONNECT:
            own = self.fields.get("properties", {}).get("session_expiry", 0)
            if came.named.get("session_expiry", 0) and not own:  # section 3.14.2.2.2
                self.broker.violation(self, f"a Session Expiry Interval out of nothing: {came}")
        if came.type == AUTH:
            own = self.fields.get("properties", {}).get("authentication_method")
            if came.named.get("authentication_method") != own or own is None:  # [MQTT-4.12.0-5]
                self.broker.violation(self, f"another Authentication Method: {came} {came.named}")

    # -- sending --

    def send(self, data: bytes) -> None:
        if self.outgoing is not None and threading.current_thread() is self.thread:
            self.outgoing += data
            return
        with self.sending:
            if not self.script.one_byte:
                self.socket.sendall(data)
                return
            for byte in data:
                self.socket.sendall(bytes([byte]))
                time.sleep(0.0005)  # else the kernel would put them together again

    def post(self, *what: bytes | Callable[[], None]) -> None:
        """Sends, or calls, in this order and behind what was posted before. A client that is slow
        to read does not hold up the caller."""
        with self.broker.changed:
            if self.posted is None:
                self.posted = queue.SimpleQueue()
                threading.Thread(target=self.send_posted, daemon=True).start()
        for item in what:
            self.posted.put(item)

    def send_posted(self) -> None:
        while item := self.posted.get():
            try:
                item() if callable(item) else self.send(item)
            except OSError:
                return

    def post_pieces(self, data: bytes, size: int, pause: float = 0.001) -> None:
        """Posts bytes so that they arrive in pieces."""
        for at in range(0, len(data), size):
            self.post(data[at : at + size], lambda: time.sleep(pause))

    def publish(
        self,
        topic: str | bytes,
        payload: bytes = b"",
        qos: int = 0,
        *,
        retain: int = 0,
        dup: int = 0,
        identifier: int = 0,
        now: bool = False,
        **values: object,
    ) -> int:
        """Sends a PUBLISH, allowed or not. The session keeps it until it is acknowledged."""
        with self.broker.changed:
            outgoing = Outgoing(topic, payload, qos, retain, values, identifier)
            outgoing.connection = self.number
            if qos:
                outgoing.id = identifier or self.session.next_id()
                self.session.outgoing.setdefault(outgoing.id, outgoing)
        data = outgoing.packet(self.level, dup)
        self.send(data) if now else self.post(data)
        return outgoing.id

    def transmit(self, outgoing: Outgoing, dup: int = 0) -> None:
        outgoing.connection = self.number
        if self.level < 5:
            outgoing.properties = {}
        try:
            self.send(outgoing.packet(self.level, dup))
        except OSError:
            pass  # its own thread sees that too

    def disconnect(self, code: int = 0, **values: object) -> None:
        """5.0: DISCONNECT, behind what was posted."""
        data = packet(DISCONNECT, bytes([code]) + properties(values))
        self.post(data, self.end)

    def end(self, *, abruptly: bool = False) -> None:
        """Ends the connection, as soon as its thread sees it."""
        self.over, self.abruptly = True, abruptly
        if threading.current_thread() is not self.thread:
            try:
                self.socket.shutdown(socket.SHUT_RD if abruptly else socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        if self.posted:
            self.posted.put(None)
        try:
            self.flush()
            if self.abruptly:
                linger = struct.pack("ii", 1, 0)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:  # bytes left unread would turn the FIN into a RST
                self.socket.shutdown(socket.SHUT_WR)
                self.socket.settimeout(1)
                while self.socket.recv(65536):
                    pass
        except OSError:
            pass
        self.socket.close()

    def acknowledge(self, type: int, identifier: int, body: bytes = b"") -> None:
        code = self.script.reasons.get(type, 0) if self.level == 5 else 0
        answer = Answer(self, type, identifier, code, body)
        if type in self.script.hold:
            self.broker.held.append(answer)
        else:
            self.broker.deliver(answer)

    # -- answering --

    def answer(self, came: Packet) -> None:
        if came.type == CONNECT:
            self.answer_connect()
        elif self.session is None:
            return  # not accepted: what comes is recorded, no more
        elif came.type == PUBLISH:
            self.answer_publish(came)
        elif came.type == PUBREL:
            if came.id not in self.session.in_use:
                self.broker.violation(self, f"nothing to release: {came}")
            self.session.received.discard(came.id)
            self.acknowledge(PUBCOMP, came.id)
        elif came.type in (PUBACK, PUBREC, PUBCOMP):
            self.acknowledged(came)
        elif came.type == SUBSCRIBE:
            self.answer_subscribe(came)
        elif came.type == UNSUBSCRIBE:
            self.answer_unsubscribe(came)
        elif came.type == PINGREQ:
            if self.script.answer_ping:
                self.send(packet(PINGRESP))
        elif came.type == DISCONNECT:
            if came.code == 0:  # with all others the Will is published (section 3.14.2.1)
                self.will = None
            self.end()

    def note(self, connect: Packet) -> None:
        self.client_id = connect.client_id
        if will := connect.will:
            values = by_name(will.properties)
            self.will = Message(will.topic, will.payload, will.qos, int(will.retain), self.number, values)
        self.fields = dict(
            connection=self.number,
            level=connect.level,
            clean=int(connect.clean),
            keep_alive=connect.keep_alive,
            client_id=connect.client_id,
            user=connect.user,
            password=connect.password,
            will=self.will,
            properties=connect.named,
        )
        self.broker.connects.append(self.fields)

    def answer_connect(self) -> None:
        level, found = self.level, self.fields["properties"]
        if level not in self.script.levels:
            self.send(packet(CONNACK, b"\0\x01"))
            return self.end()
        code = self.script.accept(self.fields) if self.script.accept else 0
        if code:
            return refuse(code)(self, self.connect)
        present = self.broker.begin(self, clean=bool(self.fields["clean"]))
        if self.script.session_present is not None:
            present = self.script.session_present
            if not present:
                self.session = self.broker.sessions[self.client_id] = Session()
        self.session.connection = self
        self.receive_maximum = found.get("receive_maximum", 65535)
        kept = found.get("session_expiry", 0) if level == 5 else not self.fields["clean"]
        self.keep_session = bool(kept)
        keep_alive = self.script.connack.get("server_keep_alive", self.fields["keep_alive"])
        self.socket.settimeout(keep_alive * 1.5 or None)
        tail = properties(self.script.connack) if level == 5 else b""
        self.send(packet(CONNACK, bytes([present if level > 3 else 0, 0]) + tail))
        if present and self.script.resend:
            self.resend()
        self.session.pump()

    def resend(self) -> None:
        """What the client has not acknowledged, in its order [MQTT-4.4.0-1]."""
        for outgoing in list(self.session.outgoing.values()):
            if outgoing.released:
                outgoing.connection = self.number
                self.acknowledge(PUBREL, outgoing.id)
            else:
                self.transmit(outgoing, dup=1)

    def resolve(self, came: Packet, topic: str, values: dict[str, object]) -> str:
        """The topic that a Topic Alias stands for (section 3.3.2.3.4)."""
        alias = values.get("topic_alias")
        if alias is None:
            return topic
        limit = self.script.connack.get("topic_alias_maximum", 0)
        if not 0 < alias <= limit:
            self.broker.violation(self, f"Topic Alias {alias} of {limit}: {came}")
        if topic:
            self.aliases[alias] = topic
        if alias not in self.aliases:
            self.broker.violation(self, f"Topic Alias {alias} stands for nothing: {came}")
            return ""
        return self.aliases[alias]

    def answer_publish(self, came: Packet) -> None:
        topic, identifier, values, payload = came.publication()
        session, qos = self.session, came.qos
        topic = self.resolve(came, topic, values)
        if qos > self.script.connack.get("maximum_qos", 2):
            self.broker.violation(self, f"above the Maximum QoS: {came}")
        if came.retain and not self.script.connack.get("retain_available", 1):
            self.broker.violation(self, f"RETAIN is not available: {came}")
        if qos:
            if identifier in self.requests or (identifier in session.in_use and not came.dup):
                self.broker.violation(self, f"Packet Identifier in use: {came}")
            session.in_use.add(identifier)
            limit = self.script.connack.get("receive_maximum", 65535)
            if len(session.in_use) > limit:
                self.broker.violation(self, f"above the Receive Maximum of {limit}: {came}")
        answer_type = (0, PUBACK, PUBREC)[qos]
        refused = self.level == 5 and self.script.reasons.get(answer_type, 0) >= 0x80
        known = qos == 2 and identifier in session.received
        if not refused and not known:
            message = Message(topic, payload, qos, came.retain, self.number, values)
            self.broker.publish(message, session)
        if qos == 2 and not refused:
            session.received.add(identifier)
        if qos:
            self.acknowledge(answer_type, identifier)

    def acknowledged(self, came: Packet) -> None:
        """PUBACK, PUBREC or PUBCOMP for what was sent."""
        if self.session.connection is not self:
            return  # another one has taken the session over
        identifier, code = came.id, came.code
        outgoing = self.session.outgoing.get(identifier)
        step = (outgoing.qos, outgoing.released) if outgoing else None
        right = {PUBACK: [(1, False)], PUBREC: [(2, False), (2, True)], PUBCOMP: [(2, True)]}
        if step not in right[came.type]:
            self.broker.violation(self, f"acknowledges nothing: {came}")
            return
        if came.type != PUBCOMP and not outgoing.released:  # [MQTT-4.6.0-2], [MQTT-4.6.0-3]
            first = next(
                o
                for o in self.session.outgoing.values()
                if o.qos == outgoing.qos and not o.released and o.connection == self.number
            )
            if first is not outgoing:
                self.broker.violation(self, f"before {first.id}: {came}")
        if came.type == PUBREC and code < 0x80:
            outgoing.released = True
            self.acknowledge(PUBREL, identifier)
        else:
            del self.session.outgoing[identifier]
        self.session.pump()

    def begin_request(self, came: Packet, identifier: int) -> None:
        if identifier in self.requests or identifier in self.session.in_use:
            self.broker.violation(self, f"Packet Identifier in use: {came}")
        self.requests.add(identifier)

    def answer_subscribe(self, came: Packet) -> None:
        identifier, values, filters = came.request()
        self.begin_request(came, identifier)
        number, session = values.get("subscription_identifier", 0), self.session
        codes, retained = b"", []
        for filter, options in filters:
            code = self.script.grant(filter, options) if self.script.grant else options & 3
            codes += bytes([code])
            if code >= 0x80:
                continue
            handling, new = options >> 4 & 3, filter not in session.subscriptions
            session.subscriptions[filter] = (options & ~3 | code, number)
            if handling == 0 or (handling == 1 and new):
                retained.append((filter, (options & ~3 | code, number)))
        head = properties(self.script.suback) if self.level == 5 else b""
        self.acknowledge(SUBACK, identifier, head + codes)
        for filter, entry in retained:
            for topic, message in self.broker.retained.items():
                if matches(filter, topic) and not filter.startswith("$share/"):
                    session.forward(message, entry[0] & 3, 1, [entry])

    def answer_unsubscribe(self, came: Packet) -> None:
        identifier, _, filters = came.request()
        self.begin_request(came, identifier)
        codes = b""
        for filter, _ in filters:
            known = self.session.subscriptions.pop(filter, None)
            code = 0x11 if known is None else 0
            codes += bytes([self.script.grant(filter, 0) if self.script.grant else code])
        head = properties(self.script.suback) if self.level == 5 else b""
        self.acknowledge(UNSUBACK, identifier, head + codes if self.level == 5 else b"")


class Broker:
    """Listens from the start; `with` or close() ends it."""

    def __init__(
        self, scripts: list[Script] = (), host: str = "127.0.0.1", port: int = 0, later: Script | None = None
    ):
        self.scripts = list(scripts)  # of the first connections
        self.later = later or Script()  # of all others: well served, unless it says something else
        self.changed = threading.Condition(threading.RLock())  # guards all that follows
        self.packets: list[Packet] = []
        self.connects: list[dict] = []  # CONNECT's fields, by name
        self.messages: list[Message] = []
        self.violations: list[str] = []
        self.held: list[Answer] = []
        self.retained: dict[str, Message] = {}
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []
        self.live: set[Connection] = set()
        self.on_message: Callable[[Message], None] | None = None
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, port), family=family, backlog=64)
        self.host, self.port = self.listener.getsockname()[:2]
        threading.Thread(target=self.listen, daemon=True).start()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"mqtt://{host}:{self.port}"

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.stop_listening()
        for connection in list(self.live):
            connection.end()

    def stop_listening(self) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def listen(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.changed:
                number = len(self.connections) + 1
                script = self.scripts[number - 1] if number <= len(self.scripts) else replace(self.later)
                connection = Connection(self, sock, number, script)
                self.connections.append(connection)
                self.live.add(connection)
                self.changed.notify_all()
            connection.thread.start()

    # -- for tests --

    def wait_for(self, condition: Callable[[], object], timeout: float = PATIENCE) -> object:
        """Waits until the condition holds; fails with the last packets if it does not in time."""
        with self.changed:
            result = self.changed.wait_for(condition, timeout)
            last = f"violations {self.violations}; last packets: {self.packets[-9:]}"
            assert result, f"not within {timeout} s; {last}"
            return result

    @property
    def last(self) -> Connection:
        """The connection that was made last."""
        return self.connections[-1]

    def of(self, type: int, connection: int | None = None) -> list[Packet]:
        with self.changed:
            return [
                p for p in self.packets if p.type == type and connection in (None, p.connection)
            ]

    def release(self, *answers: Answer) -> None:
        """Sends answers that were held back, in this order; without any, all of them."""
        with self.changed:
            for answer in answers or tuple(self.held):
                self.held.remove(answer)
                self.deliver(answer)

    # -- for connections --

    def deliver(self, answer: Answer) -> None:
        connection, session = answer.connection, answer.connection.session
        if answer.type in (PUBACK, PUBCOMP) or (answer.type == PUBREC and answer.code >= 0x80):
            session.in_use.discard(answer.id)
        body = answer.id.to_bytes(2, "big") + answer.body
        if answer.type in (SUBACK, UNSUBACK):
            connection.requests.discard(answer.id)
        elif answer.code:
            text = connection.script.reason_string
            body += bytes([answer.code]) + (properties({"reason_string": text}) if text else b"")
        connection.send(packet(answer.type, body))

    def violation(self, connection: Connection, what: str) -> None:
        with self.changed:
            self.violations.append(f"connection {connection.number}: {what}")
            self.changed.notify_all()

    def begin(self, connection: Connection, clean: bool) -> int:
        """Gives a connection its session; ends an older connection of that client."""
        for other in list(self.live):
            if other is not connection and other.client_id == connection.client_id != "":
                other.end()
        known = connection.client_id in self.sessions and connection.client_id != ""
        if clean or not known:
            self.sessions[connection.client_id] = Session()
        connection.session = self.sessions[connection.client_id]
        return int(known and not clean)

    def ended(self, connection: Connection) -> None:
        with self.changed:
            self.live.discard(connection)
            if connection.session and connection.session.connection is connection:
                connection.session.connection = None
            if connection.session and not connection.keep_session:
                if self.sessions.get(connection.client_id) is connection.session:
                    del self.sessions[connection.client_id]
            if connection.will and connection.session:
                self.publish(connection.will)
            self.changed.notify_all()

    def publish(self, message: Message, sender: Session | None = None) -> None:
        self.messages.append(message)
        if message.retain and message.payload:
            self.retained[message.topic] = message
        elif message.retain:
            self.retained.pop(message.topic, None)
        connected = [c.session for c in self.live if c.session]
        for session in connected + [s for s in self.sessions.values() if not s.connection]:
            session.offer(message, sender)
        if self.on_message:
            self.on_message(message)


# ---- The program ----


def formatted(format: str, message: Message) -> str:
    """mosquitto_sub's -F, as far as it is needed."""
    fields = {
        "%t": message.topic,
        "%q": str(message.qos),
        "%r": str(message.retain),
        "%p": message.payload.decode(errors="replace"),
        "%x": message.payload.hex(),
    }
    parts = format.split("%")
    return parts[0] + "".join(fields.get("%" + p[:1], "%" + p[:1]) + p[1:] for p in parts[1:])


def main() -> int:
    parser = argparse.ArgumentParser(
        description="A small MQTT broker, for tests and demonstrations."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=1883, help="0: any free port")
    parser.add_argument(
        "--print",
        nargs="?",
        const="%t %p",
        metavar="FORMAT",
        help="a line for each message: %%t topic, %%q QoS, %%r retain, %%p payload, %%x in hex",
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        broker = Broker(host=arguments.host, port=arguments.port)
    except OSError as error:
        print(f"cannot listen on {arguments.host} port {arguments.port}: {error}", file=sys.stderr)
        return 1
    with broker:
        if arguments.print:
            broker.on_message = lambda message: print(
                formatted(arguments.print, message), flush=True
            )
        print(f"listening on {broker.port}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
