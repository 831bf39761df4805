#!/usr/bin/env python3
"""A small MQTT broker (3.1.1 and 5.0) that keeps a record, and misbehaves when told to.

As a program it is a plain broker, for machines that have no other:

    python3 scripted_broker.py --port 0 --print

In a test a list of scripts says what each connection, in turn, does otherwise than a good broker:

    with Broker([Script(at={3: reset}), Script(session_present=1, hold={PUBACK})]) as broker:
        ...
        broker.wait_for(lambda: broker.held)
        broker.release(*reversed(broker.held))

What clients do wrong is collected in `violations`. Subscribers are served at QoS 0.
"""

from __future__ import annotations

import argparse
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = range(1, 8)
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = range(8, 16)
NAMES = (
    "0 CONNECT CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK "
    "PINGREQ PINGRESP DISCONNECT AUTH"
).split()
FLAGS_2 = {PUBREL, SUBSCRIBE, UNSUBSCRIBE}  # the fixed header's flags are 0010 (section 2.1.3)

# Section 2.2.2.2: identifier -> (name, kind)
PROPERTIES = {
    0x01: ("payload_format", "byte"),
    0x02: ("message_expiry", "four"),
    0x03: ("content_type", "text"),
    0x08: ("response_topic", "text"),
    0x09: ("correlation_data", "binary"),
    0x0B: ("subscription_identifier", "variable"),
    0x11: ("session_expiry", "four"),
    0x12: ("assigned_client_id", "text"),
    0x13: ("server_keep_alive", "two"),
    0x15: ("authentication_method", "text"),
    0x16: ("authentication_data", "binary"),
    0x17: ("request_problem_information", "byte"),
    0x18: ("will_delay", "four"),
    0x19: ("request_response_information", "byte"),
    0x1A: ("response_information", "text"),
    0x1C: ("server_reference", "text"),
    0x1F: ("reason_string", "text"),
    0x21: ("receive_maximum", "two"),
    0x22: ("topic_alias_maximum", "two"),
    0x23: ("topic_alias", "two"),
    0x24: ("maximum_qos", "byte"),
    0x25: ("retain_available", "byte"),
    0x26: ("user_property", "pair"),
    0x27: ("maximum_packet_size", "four"),
    0x28: ("wildcard_subscription_available", "byte"),
    0x29: ("subscription_identifier_available", "byte"),
    0x2A: ("shared_subscription_available", "byte"),
}
IDENTIFIERS = {name: (identifier, kind) for identifier, (name, kind) in PROPERTIES.items()}


class Malformed(Exception):
    pass


# ---- Bytes ----


def variable(number: int) -> bytes:
    out = bytearray()
    while True:
        number, digit = divmod(number, 128)
        out.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(out)


def binary(data: bytes | str) -> bytes:
    if isinstance(data, str):
        data = data.encode()
    return struct.pack(">H", len(data)) + data


def packet(type: int, body: bytes = b"", flags: int | None = None) -> bytes:
    if flags is None:
        flags = 2 if type in FLAGS_2 else 0
    return bytes([type << 4 | flags]) + variable(len(body)) + body


def properties(values: dict[str, object]) -> bytes:
    """Properties by name, with their length in front."""
    out = b""
    for name, value in values.items():
        identifier, kind = IDENTIFIERS[name]
        out += bytes([identifier])
        if kind in ("byte", "two", "four"):
            out += value.to_bytes({"byte": 1, "two": 2, "four": 4}[kind], "big")
        elif kind == "variable":
            out += variable(value)
        elif kind == "pair":
            out += binary(value[0]) + binary(value[1])
        else:
            out += binary(value)
    return variable(len(out)) + out


class Reader:
    """Takes fields off a packet's body."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise Malformed("the packet ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def binary(self) -> bytes:
        return self.take(self.number(2))

    def text(self) -> str:
        try:
            text = self.binary().decode()
        except UnicodeDecodeError:
            raise Malformed("a string is not UTF-8") from None
        if "\0" in text:
            raise Malformed("a string has U+0000")
        return text

    def variable(self) -> int:
        number = 0
        for shift in (0, 7, 14, 21):
            digit = self.number(1)
            number |= (digit & 0x7F) << shift
            if digit < 0x80:
                return number
        raise Malformed("a Variable Byte Integer is too long")

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.at)

    def properties(self) -> dict[str, object]:
        inner, found = Reader(self.take(self.variable())), {}
        while inner.at < len(inner.data):
            try:
                name, kind = PROPERTIES[inner.variable()]
            except KeyError:
                raise Malformed("an unknown property") from None
            if name in found and kind != "pair":
                raise Malformed(f"property {name} twice")
            if kind in ("byte", "two", "four"):
                found[name] = inner.number({"byte": 1, "two": 2, "four": 4}[kind])
            elif kind == "variable":
                found[name] = inner.variable()
            elif kind == "pair":
                found.setdefault(name, []).append((inner.text(), inner.text()))
            else:
                found[name] = inner.text() if kind == "text" else inner.binary()
        return found


def matches(filter: str, topic: str) -> bool:
    """Section 4.7."""
    if topic.startswith("$") and filter[:1] in ("+", "#"):
        return False
    filters, levels = filter.split("/"), topic.split("/")
    for index, part in enumerate(filters):
        if part == "#":
            return True
        if index == len(levels) or part not in ("+", levels[index]):
            return False
    return len(filters) == len(levels)


# ---- What is recorded ----


@dataclass(slots=True)
class Packet:
    """A packet as it came. PUBLISH and the acknowledgements are read further on demand."""

    type: int
    flags: int
    raw: bytes
    body: bytes
    time: float
    connection: int  # 1 is the first
    level: int  # 4: 3.1.1, 5: 5.0

    @property
    def dup(self) -> int:
        return self.flags >> 3

    @property
    def qos(self) -> int:
        return self.flags >> 1 & 3

    @property
    def retain(self) -> int:
        return self.flags & 1

    @property
    def id(self) -> int:
        """The Packet Identifier; 0 if this packet has none."""
        at = 0
        if self.type == PUBLISH:
            if not self.qos:
                return 0
            at = 2 + int.from_bytes(self.body[:2], "big")
        return int.from_bytes(self.body[at : at + 2], "big")

    def publication(self) -> tuple[str, int, dict[str, object], bytes]:
        """Of a PUBLISH: topic, Packet Identifier, properties, payload."""
        reader = Reader(self.body)
        topic = reader.text()
        identifier = reader.number(2) if self.qos else 0
        found = reader.properties() if self.level == 5 else {}
        return topic, identifier, found, reader.rest()

    @property
    def topic(self) -> str:
        return self.publication()[0]

    @property
    def payload(self) -> bytes:
        return self.publication()[3]

    def __repr__(self) -> str:
        more = f" id {self.id}" if self.type in range(PUBLISH, UNSUBACK) else ""
        return f"<{self.connection}: {NAMES[self.type]} flags {self.flags:x}{more}>"


@dataclass(slots=True)
class Message:
    """An Application Message that the broker has taken over."""

    topic: str
    payload: bytes
    qos: int
    retain: int
    connection: int


@dataclass(slots=True)
class Answer:
    """A PUBACK, PUBREC or PUBCOMP that is held back."""

    connection: Connection = field(repr=False)
    type: int
    id: int
    code: int


# ---- Scripts ----

Action = Callable[["Connection", Packet], None]


@dataclass
class Script:
    """What one connection does otherwise than a good broker. All unset: nothing."""

    at: dict[int, Action] = field(default_factory=dict)  # at the n-th packet, instead of an answer
    connack: dict[str, object] = field(default_factory=dict)  # 5.0: properties by name
    session_present: int | None = None  # what CONNACK says; None: the truth
    answer_ping: bool = True
    hold: set[int] = field(default_factory=set)  # answers of these types wait for release()
    reasons: dict[int, int] = field(default_factory=dict)  # 5.0: answer's type -> Reason Code
    reason_string: str = ""  # 5.0: goes with those
    one_byte: bool = False  # answers leave one byte at a time
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
    subscriptions: dict[str, int] = field(default_factory=dict)
    received: set[int] = field(default_factory=set)  # QoS 2 ids whose PUBREL has not come
    in_use: set[int] = field(default_factory=set)  # ids that we owe a last acknowledgement


class Connection:
    """One client's connection, served by a thread of its own."""

    def __init__(self, broker: Broker, sock: socket.socket, number: int, script: Script):
        self.broker, self.socket, self.number, self.script = broker, sock, number, script
        self.level = 4
        self.client_id = ""
        self.session: Session | None = None
        self.keep_session = False
        self.will: Message | None = None
        self.count = 0
        self.sending = threading.Lock()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.outgoing: bytearray | None = None  # answers to what came in one piece leave in one
        self.over = self.abruptly = False

    def run(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray()
        try:
            while not self.over and (data := self.socket.recv(65536)):
                buffer += data
                self.outgoing = bytearray()
                self.receive(buffer)
                self.flush()
        except OSError:
            pass
        except Malformed as error:
            self.broker.violation(self, str(error))
        self.over = True
        self.close()
        self.broker.ended(self)

    def flush(self) -> None:
        waiting, self.outgoing = self.outgoing, None
        if waiting:
            self.send(bytes(waiting))

    def receive(self, buffer: bytearray) -> None:
        """Takes the whole packets off the buffer."""
        at = 0
        while len(buffer) - at >= 2 and not self.over:
            size, start = 0, at + 1
            for shift in (0, 7, 14, 21):
                if start >= len(buffer):
                    break
                size |= (buffer[start] & 0x7F) << shift
                start += 1
                if buffer[start - 1] < 0x80:
                    break
            else:
                raise Malformed("a Remaining Length of more than four bytes")
            if buffer[start - 1] >= 0x80 or len(buffer) < start + size:
                break
            raw, body = bytes(buffer[at : start + size]), bytes(buffer[start : start + size])
            at = start + size
            self.handle(raw, body)
        del buffer[:at]

    def handle(self, raw: bytes, body: bytes) -> None:
        type, flags = raw[0] >> 4, raw[0] & 15
        if type == CONNECT and len(body) > 6:
            self.level = body[6]
        came = Packet(type, flags, raw, body, time.monotonic(), self.number, self.level)
        self.count += 1
        self.check(came)
        with self.broker.changed:
            action = self.script.at.get(self.count)
            (action or Connection.answer)(self, came)
            self.broker.packets.append(came)
            self.broker.changed.notify_all()

    def check(self, came: Packet) -> None:
        if (came.type == CONNECT) != (self.count == 1):
            self.broker.violation(self, f"{came} as packet number {self.count}")
        if came.type != PUBLISH and came.flags != (2 if came.type in FLAGS_2 else 0):
            self.broker.violation(self, f"wrong flags: {came}")
        limit = self.script.connack.get("maximum_packet_size", 1 << 28)
        if came.type != CONNECT and len(came.raw) > limit:
            self.broker.violation(self, f"{len(came.raw)} bytes: {came}")

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

    def end(self, *, abruptly: bool = False) -> None:
        """Ends the connection, as soon as its thread sees it."""
        self.over, self.abruptly = True, abruptly
        if threading.current_thread() is not self.thread:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
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

    def acknowledge(self, type: int, identifier: int) -> None:
        code = self.script.reasons.get(type, 0) if self.level == 5 else 0
        answer = Answer(self, type, identifier, code)
        if type in self.script.hold:
            self.broker.held.append(answer)
        else:
            self.broker.deliver(answer)

    # -- answering --

    def answer(self, came: Packet) -> None:
        if came.type == CONNECT:
            self.answer_connect(Reader(came.body))
        elif self.session is None:
            return  # not accepted: what comes is recorded, no more
        elif came.type == PUBLISH:
            self.answer_publish(came)
        elif came.type == PUBREL:
            if came.id not in self.session.in_use:
                self.broker.violation(self, f"nothing to release: {came}")
            self.session.received.discard(came.id)
            self.acknowledge(PUBCOMP, came.id)
        elif came.type == SUBSCRIBE:
            self.answer_subscribe(Reader(came.body))
        elif came.type == UNSUBSCRIBE:
            self.answer_unsubscribe(Reader(came.body))
        elif came.type == PINGREQ:
            if self.script.answer_ping:
                self.send(packet(PINGRESP))
        elif came.type == DISCONNECT:
            if not came.body[:1] == b"\x04":  # Disconnect with Will Message
                self.will = None
            self.end()
        elif came.type not in (PUBACK, PUBREC, PUBCOMP):
            raise Malformed(f"a client may not send {came}")

    def answer_connect(self, reader: Reader) -> None:
        name, level, flags, keep_alive = (
            reader.text(),
            reader.number(1),
            reader.number(1),
            reader.number(2),
        )
        if name != "MQTT" or level not in (4, 5):
            self.send(packet(CONNACK, b"\0\x01"))
            return self.end()
        found = reader.properties() if level == 5 else {}
        self.client_id = reader.text()
        if flags & 1 or flags >> 3 & 3 == 3 or (not flags & 4 and flags & 0x38):
            raise Malformed("reserved or contradicting CONNECT flags")
        if flags & 4:
            if level == 5:
                reader.properties()
            topic, payload = reader.text(), reader.binary()
            self.will = Message(topic, payload, flags >> 3 & 3, flags >> 5 & 1, self.number)
        user = reader.text() if flags & 0x80 else None
        password = reader.binary() if flags & 0x40 else None
        if reader.rest():
            raise Malformed("bytes after the end of CONNECT")
        self.broker.connects.append(
            fields := dict(
                connection=self.number,
                level=level,
                clean=flags >> 1 & 1,
                keep_alive=keep_alive,
                client_id=self.client_id,
                user=user,
                password=password,
                will=self.will,
                properties=found,
            )
        )
        code = self.script.accept(fields) if self.script.accept else 0
        if code:
            return refuse(code)(self, Packet(CONNECT, 0, b"", b"", 0, self.number, level))
        present = self.broker.begin(self, clean=bool(flags & 2))
        if self.script.session_present is not None:
            present = self.script.session_present
            if not present:
                self.session = self.broker.sessions[self.client_id] = Session()
        self.keep_session = found.get("session_expiry", 0) > 0 if level == 5 else not flags & 2
        keep_alive = self.script.connack.get("server_keep_alive", keep_alive)
        self.socket.settimeout(keep_alive * 1.5 or None)
        tail = properties(self.script.connack) if level == 5 else b""
        self.send(packet(CONNACK, bytes([present, 0]) + tail))

    def answer_publish(self, came: Packet) -> None:
        topic, identifier, _, payload = came.publication()
        session, qos = self.session, came.qos
        if qos == 3 or not topic or set(topic) & set("+#"):
            raise Malformed(f"QoS {qos}, topic {topic!r}")
        if qos:
            if not identifier:
                raise Malformed("Packet Identifier 0")
            if identifier in session.in_use and not came.dup:
                self.broker.violation(self, f"Packet Identifier in use: {came}")
            session.in_use.add(identifier)
            limit = self.script.connack.get("receive_maximum", 65535)
            if len(session.in_use) > limit:
                self.broker.violation(self, f"above the Receive Maximum of {limit}: {came}")
        answer_type = (0, PUBACK, PUBREC)[qos]
        refused = self.level == 5 and self.script.reasons.get(answer_type, 0) >= 0x80
        known = qos == 2 and identifier in session.received
        if not refused and not known:
            self.broker.publish(Message(topic, payload, qos, came.retain, self.number))
        if qos == 2 and not refused:
            session.received.add(identifier)
        if qos:
            self.acknowledge(answer_type, identifier)

    def answer_subscribe(self, reader: Reader) -> None:
        head = reader.take(2) + (b"\0" if self.level == 5 else b"")
        if self.level == 5:
            reader.properties()
        filters = []
        while reader.at < len(reader.data):
            filters.append((reader.text(), reader.number(1)))
        for filter, options in filters:
            self.session.subscriptions[filter] = options
        self.send(packet(SUBACK, head + bytes(len(filters))))
        for filter, options in filters:
            for topic, message in self.broker.retained.items():
                if matches(filter, topic) and options >> 4 & 3 != 2:
                    self.forward(message, retain=1)

    def answer_unsubscribe(self, reader: Reader) -> None:
        head, codes = reader.take(2), b""
        if self.level == 5:
            reader.properties()
        while reader.at < len(reader.data):
            known = self.session.subscriptions.pop(reader.text(), None)
            codes += b"\x11" if known is None else b"\0"
        self.send(packet(UNSUBACK, head + (b"\0" + codes if self.level == 5 else b"")))

    def forward(self, message: Message, retain: int) -> None:
        none = b"\0" if self.level == 5 else b""
        self.send(packet(PUBLISH, binary(message.topic) + none + message.payload, retain))


class Broker:
    """Listens from the start; `with` or close() ends it."""

    def __init__(self, scripts: list[Script] = (), host: str = "127.0.0.1", port: int = 0):
        self.scripts = list(scripts)  # of the first connections; later ones are well served
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
                script = self.scripts[number - 1] if number <= len(self.scripts) else Script()
                connection = Connection(self, sock, number, script)
                self.connections.append(connection)
                self.live.add(connection)
                self.changed.notify_all()
            connection.thread.start()

    # -- for tests --

    def wait_for(self, condition: Callable[[], object], timeout: float = 10) -> object:
        """Waits until the condition holds; fails with the last packets if it does not in time."""
        with self.changed:
            result = self.changed.wait_for(condition, timeout)
            last = f"violations {self.violations}; last packets: {self.packets[-9:]}"
            assert result, f"not within {timeout} s; {last}"
            return result

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
        if answer.type in (PUBACK, PUBCOMP) or answer.code >= 0x80:
            session.in_use.discard(answer.id)
        body = answer.id.to_bytes(2, "big")
        if answer.code:
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
            if connection.session and not connection.keep_session:
                if self.sessions.get(connection.client_id) is connection.session:
                    del self.sessions[connection.client_id]
            if connection.will and connection.session:
                self.publish(connection.will)
            self.changed.notify_all()

    def publish(self, message: Message) -> None:
        self.messages.append(message)
        if message.retain and message.payload:
            self.retained[message.topic] = message
        elif message.retain:
            self.retained.pop(message.topic, None)
        for connection in self.live:
            session = connection.session
            if session and any(matches(f, message.topic) for f in session.subscriptions):
                try:
                    connection.forward(message, retain=0)
                except OSError:
                    pass
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
