"""Judges what a client said in one connection after the other, and in passing what it was told:

    check([recording, …]) -> ["[MQTT-3.3.1-2] connection 1, packet 4, the client's PUBLISH: …", …]

The connections are of one client, in order. The bytes are read by codec, which has its own
complaints; this file knows what a packet may be after all that came before it: the life of Packet
Identifiers, what is sent again, who may answer what and in which order, the limits in CONNACK, and
Keep Alive.
"""

from __future__ import annotations

from dataclasses import dataclass

from .recording import Recording
from .codec import (
    AUTH,
    AUTHENTICATION_METHOD,
    CONNACK,
    CONNECT,
    DISCONNECT,
    IDENTIFIERS,
    MAXIMUM_PACKET_SIZE,
    MAXIMUM_QOS,
    MESSAGE_EXPIRY,
    NAMES,
    RECEIVE_MAXIMUM,
    RETAIN_AVAILABLE,
    SERVER_KEEP_ALIVE,
    SESSION_EXPIRY,
    SHARED,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
    TOPIC_ALIAS_MAXIMUM,
    WILDCARDS,
    Packet,
    packets,
)

SLACK = 0.5  # seconds by which a busy machine may miss Keep Alive
ANSWER_WITHIN = 2.0  # seconds for PUBACK, PUBREC, PUBREL, PUBCOMP, and for sending again
UNREAD = 0.5  # what comes so shortly before a client hangs up it may not have read


def check(connections: list[Recording]) -> list[str]:
    client = Client()
    for number, recording in enumerate(connections, 1):
        Conversation(client, number, recording).judge()
    return client.violations


@dataclass
class Sent:
    """A PUBLISH of the client's with QoS 1 or 2 that is not completely acknowledged."""

    id: int
    qos: int
    message: tuple  # what must not change when it is sent again
    order: int  # of its first sending
    connection: int  # on which it was sent last
    received: int = 0  # of its PUBREC the order; 0: none came
    released: bool = False  # PUBREL was sent
    unsure: bool = False  # a PUBREC came that the client may not have read


class Client:
    """What outlives a connection: the Session State (section 4.1)."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.sent: dict[int, Sent] = {}
        self.perhaps: dict[int, Sent] = {}  # acknowledged, which the client may not have read
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count

    def forget(self) -> None:
        self.sent.clear()
        self.perhaps.clear()


class Conversation:
    """One connection."""

    def __init__(self, client: Client, number: int, recording: Recording):
        self.client, self.number, self.recording = client, number, recording
        self.packet: Packet | None = None  # the one that is looked at
        self.connect: Packet | None = None
        self.connack: Packet | None = None
        self.left = False  # DISCONNECT was sent
        self.last = 0.0  # when the client last spoke
        self.requests: dict[int, Packet] = {}  # SUBSCRIBE and UNSUBSCRIBE, not yet answered
        self.aliases: dict[bool, dict[int, str]] = {True: {}, False: {}}
        self.unacknowledged: set[int] = set()  # counted against the server's Receive Maximum
        self.delivered: set[int] = set()  # the same of what the client receives
        self.again: set[int] = set()  # what has to be sent again
        self.last_again = 0
        # What the client has to answer, and since when. Each must be answered once.
        self.pubacks: list[tuple[int, float]] = []
        self.pubrecs: list[tuple[int, float]] = []
        self.pubrels: list[tuple[int, float]] = []
        self.pubcomps: list[tuple[int, float]] = []
        self.answers: list[tuple[float, bool, Sent]] = []  # that it got: whether the last

    def judge(self) -> None:
        for packet in packets(self.recording):
            self.packet = packet
            for rule, what in packet.complaints:
                self.report(rule, what)
            if packet.from_client:
                self.see_client()
            else:
                self.see_server()
        self.see_end()

    def report(self, rule: str, what: str) -> None:
        packet = self.packet
        where = f"connection {self.number}, {packet}" if packet else f"connection {self.number}"
        shown = packet.raw[:40].hex(" ") + (" …" if len(packet.raw) > 40 else "") if packet else ""
        self.client.violations.append(f"{rule} {where}: {what}: {shown}")

    def limit(self, identifier: int, default: object) -> object:
        """What CONNACK says, or else is the case."""
        return self.connack.property(identifier, default) if self.connack else default

    def announced(self, identifier: int, default: object) -> object:
        """The same of CONNECT."""
        return self.connect.property(identifier, default) if self.connect else default

    # -- the client --

    def see_client(self) -> None:
        packet = self.packet
        if self.left:
            self.report("[MQTT-3.14.4-1]", "after DISCONNECT")
        if not self.connect and packet.type != CONNECT:
            self.report("[MQTT-3.1.0-1]", "the first is not CONNECT")
        self.see_pause(packet.begin)
        self.last = packet.end
        if len(packet.raw) > self.limit(MAXIMUM_PACKET_SIZE, 1 << 32):
            self.report("[MQTT-3.2.2-15]", f"{len(packet.raw)} bytes: too large for the server")
        if self.announced(AUTHENTICATION_METHOD, None) is not None and not self.connack:
            if packet.type not in (AUTH, DISCONNECT, CONNECT):
                self.report("[MQTT-3.1.2-30]", "before the authentication was over")
        if packet.readable:
            handle = getattr(self, "client_" + NAMES[packet.type].lower(), None)
            if handle:
                handle(packet)

    def see_pause(self, until: float) -> None:
        """Since the client last spoke. Waiting for CONNACK does not count."""
        if self.left or not self.connect or not self.connack or self.connack.code:
            return
        given = self.connack.property(SERVER_KEEP_ALIVE)
        allowed = self.connect.keep_alive if given is None else given
        pause = until - max(self.last, self.connack.end)
        if allowed and pause > allowed + SLACK:
            rule = "[MQTT-3.1.2-20]" if given is None else "[MQTT-3.1.2-21]"
            self.report(rule, f"silent for {pause:.1f} s with a Keep Alive of {allowed} s")

    def client_connect(self, packet: Packet) -> None:
        if self.connect:
            self.report("[MQTT-3.1.0-2]", "a second CONNECT")
        self.connect = self.connect or packet

    def client_publish(self, packet: Packet) -> None:
        if packet.qos > self.limit(MAXIMUM_QOS, 2):
            self.report("[MQTT-3.2.2-11]", f"QoS {packet.qos} is above the server's Maximum QoS")
        if packet.retain and not self.limit(RETAIN_AVAILABLE, 1):
            self.report("[MQTT-3.2.2-14]", "the server does not retain")
        topic = self.resolve(packet, self.limit(TOPIC_ALIAS_MAXIMUM, 0))
        if not packet.qos:
            return
        passing = {TOPIC_ALIAS, MESSAGE_EXPIRY}  # may be others when it is sent again
        properties = tuple((i, tuple(v)) for i, v in packet.properties.items() if i not in passing)
        message = (topic, packet.payload, packet.qos, packet.retain, properties)
        known = self.client.sent.get(packet.id)
        perhaps = self.client.perhaps.pop(packet.id, None)
        if perhaps and not known and packet.dup:
            known = self.client.sent[packet.id] = perhaps
        if packet.id in self.requests:
            self.report("[MQTT-2.2.1-3]", "Packet Identifier of a pending SUBSCRIBE or UNSUBSCRIBE")
        if known is None:
            self.see_first(packet)
        elif known.connection == self.number:
            self.see_twice(packet, known, message)
        else:
            self.see_again(packet, known, message)
        if known is None or known.message != message:
            known = Sent(packet.id, packet.qos, message, self.client.next(), self.number)
            self.client.sent[packet.id] = known
        known.connection = self.number
        self.again.discard(packet.id)
        self.unacknowledged.add(packet.id)
        if len(self.unacknowledged) > (maximum := self.limit(RECEIVE_MAXIMUM, 65535)):
            self.report("[MQTT-3.3.4-7]", f"above the server's Receive Maximum of {maximum}")

    def see_first(self, packet: Packet) -> None:
        if packet.dup:
            rule = "[MQTT-4.3.2-2]" if packet.qos == 1 else "[MQTT-4.3.3-2]"
            self.report(rule, "DUP, but it was never sent before")
        if self.again:
            self.report("[MQTT-4.4.0-1]", f"new before {sorted(self.again)} were sent again")
            self.again.clear()  # once is enough

    def see_twice(self, packet: Packet, known: Sent, message: tuple) -> None:
        if not packet.dup or known.message != message:
            self.report("[MQTT-2.2.1-3]", "Packet Identifier in use")
        elif packet.level == 5:
            self.report("[4.4]", "sent again on the same connection")

    def see_again(self, packet: Packet, known: Sent, message: tuple) -> None:
        if known.message != message and not packet.dup:
            return self.report("[MQTT-2.2.1-3]", "Packet Identifier in use since before")
        if known.message != message:
            self.report("[MQTT-3.3.1-1]", f"sent again, but not what it was: {known.message}")
        if not packet.dup:
            self.report("[MQTT-3.3.1-1]", "sent again without DUP")
        if known.released:
            self.report("[MQTT-4.3.3-6]", "sent again after PUBREL")
        elif known.received and not known.unsure:
            self.report("[MQTT-4.3.3-4]", "sent again after PUBREC, in place of PUBREL")
        if known.order < self.last_again:
            self.report("[MQTT-4.6.0-1]", "sent again in another order")
        self.last_again = known.order

    def resolve(self, packet: Packet, maximum: int) -> str:
        """The topic, by its alias if it is not there (section 3.3.2.3.4)."""
        aliases, alias = self.aliases[packet.from_client], packet.property(TOPIC_ALIAS)
        if alias is None:
            return packet.topic
        if alias > maximum:
            if packet.from_client:
                rule = "[MQTT-3.2.2-17]" if maximum else "[MQTT-3.2.2-18]"
            else:
                rule = "[MQTT-3.1.2-26]" if maximum else "[MQTT-3.1.2-27]"
            self.report(rule, f"Topic Alias {alias}, allowed are {maximum}")
        if packet.topic:
            aliases[alias] = packet.topic
        elif alias not in aliases:
            self.report("[3.3.2.3.4]", f"Topic Alias {alias} stands for nothing on this connection")
        return aliases.get(alias, "")

    def client_puback(self, packet: Packet) -> None:
        self.take(self.pubacks, "[MQTT-2.2.1-5]", "[MQTT-4.6.0-2]")
        self.delivered.discard(packet.id)

    def client_pubrec(self, packet: Packet) -> None:
        self.take(self.pubrecs, "[MQTT-2.2.1-5]", "[MQTT-4.6.0-3]")
        if packet.code >= 0x80:
            self.delivered.discard(packet.id)

    def client_pubrel(self, packet: Packet) -> None:
        sent = self.client.sent.get(packet.id) or self.client.perhaps.get(packet.id)
        unsure = sent and (sent.unsure or packet.id in self.client.perhaps)
        if not (unsure and all(packet.id != id for id, _ in self.pubrels)):
            self.take(self.pubrels, "[4.3.3]", "[MQTT-4.6.0-4]")
        if sent:
            sent.released = True
            self.client.sent[packet.id] = sent
            self.client.perhaps.pop(packet.id, None)
        self.again.discard(packet.id)

    def client_pubcomp(self, packet: Packet) -> None:
        self.take(self.pubcomps, "[MQTT-2.2.1-5]", "")
        self.delivered.discard(packet.id)

    def take(self, owed: list[tuple[int, float]], unknown: str, disorder: str) -> None:
        """An answer is given: to something that was said, and, unless disorder is empty, the first
        that waits for one."""
        for index, (id, _) in enumerate(owed):
            if id == self.packet.id:
                if index and disorder:
                    self.report(disorder, f"Packet Identifier {owed[0][0]} is before it")
                del owed[index]
                return
        self.report(unknown, "an answer to nothing")

    def client_subscribe(self, packet: Packet) -> None:
        self.see_request(packet)
        shared = any(filter.startswith("$share/") for filter, _ in packet.filters)
        if shared and packet.level == 5 and not self.limit(SHARED, 1):
            self.report("[3.2.2.3.13]", "the server has no Shared Subscriptions")
        wild = any(set(filter) & set("+#") for filter, _ in packet.filters)
        if wild and not self.limit(WILDCARDS, 1):
            self.report("[3.2.2.3.11]", "the server has no wildcards")
        if SUBSCRIPTION_IDENTIFIER in packet.properties and not self.limit(IDENTIFIERS, 1):
            self.report("[3.2.2.3.12]", "the server has no Subscription Identifiers")

    def client_unsubscribe(self, packet: Packet) -> None:
        self.see_request(packet)

    def see_request(self, packet: Packet) -> None:
        self.client.perhaps.pop(packet.id, None)
        if packet.id in self.requests or packet.id in self.client.sent:
            self.report("[MQTT-2.2.1-3]", "Packet Identifier in use")
        self.requests[packet.id] = packet

    def client_disconnect(self, packet: Packet) -> None:
        self.left = True
        if packet.property(SESSION_EXPIRY, 0) and not self.announced(SESSION_EXPIRY, 0):
            self.report("[3.14.2.2.2]", "Session Expiry Interval, where CONNECT had none")

    def client_auth(self, packet: Packet) -> None:
        method = self.announced(AUTHENTICATION_METHOD, None)
        if method is None:
            self.report("[MQTT-4.12.0-7]", "CONNECT had no Authentication Method")
        elif packet.property(AUTHENTICATION_METHOD) != method:
            self.report("[MQTT-4.12.0-5]", "another Authentication Method than CONNECT's")

    # -- the server --

    def see_server(self) -> None:
        packet = self.packet
        if not self.connack and packet.type not in (CONNACK, AUTH):
            self.report("[MQTT-3.2.0-1]", "the first is not CONNACK")
        if len(packet.raw) > self.announced(MAXIMUM_PACKET_SIZE, 1 << 32):
            self.report("[MQTT-3.1.2-24]", f"{len(packet.raw)} bytes: too large for the client")
        if packet.readable:
            handle = getattr(self, "server_" + NAMES[packet.type].lower(), None)
            if handle:
                handle(packet)

    def server_connack(self, packet: Packet) -> None:
        if self.connack:
            return self.report("[MQTT-3.2.0-2]", "a second CONNACK")
        self.connack = packet
        if packet.code or not self.connect:
            return
        clean = self.connect.clean
        if clean and packet.session_present:
            self.report("[MQTT-3.2.2-2]", "Session Present after Clean Start")
        # 3.1 does not say: a session that is not clean is taken for the one before.
        if clean or not (packet.session_present or packet.level == 3):
            self.client.forget()
        received = [sent for sent in self.client.sent.values() if sent.received and not sent.unsure]
        received.sort(key=lambda sent: sent.received)
        self.pubrels = [(sent.id, packet.end) for sent in received]
        self.again = set(self.client.sent)

    def server_publish(self, packet: Packet) -> None:
        self.resolve(packet, self.announced(TOPIC_ALIAS_MAXIMUM, 0))
        if not packet.qos:
            return
        (self.pubacks if packet.qos == 1 else self.pubrecs).append((packet.id, packet.end))
        self.delivered.add(packet.id)
        if len(self.delivered) > (maximum := self.announced(RECEIVE_MAXIMUM, 65535)):
            self.report("[MQTT-3.3.4-9]", f"above the client's Receive Maximum of {maximum}")

    def server_puback(self, packet: Packet) -> None:
        self.see_answer(packet, qos=1, last=True)

    def server_pubrec(self, packet: Packet) -> None:
        sent = self.client.sent.get(packet.id)
        if packet.code < 0x80 and (not sent or sent.qos == 2):
            self.pubrels.append((packet.id, packet.end))
        self.see_answer(packet, qos=2, last=packet.code >= 0x80)

    def server_pubcomp(self, packet: Packet) -> None:
        self.see_answer(packet, qos=2, last=True)

    def see_answer(self, packet: Packet, qos: int, last: bool) -> None:
        """Of the server, to a PUBLISH or PUBREL of the client's."""
        sent = self.client.sent.get(packet.id)
        if not sent:
            if packet.id not in self.client.perhaps and packet.code != 0x92:
                self.report("[MQTT-2.2.1-5]", "an answer to nothing")
            return
        if sent.qos != qos:
            return self.report("[4.3]", f"not an answer to QoS {sent.qos}")
        self.answers.append((packet.end, last, sent))
        if last:
            del self.client.sent[packet.id]
            self.unacknowledged.discard(packet.id)
            self.again.discard(packet.id)
        elif not sent.received or sent.unsure:
            sent.received, sent.unsure = self.client.next(), False

    def server_pubrel(self, packet: Packet) -> None:
        self.pubcomps.append((packet.id, packet.end))

    def server_suback(self, packet: Packet) -> None:
        self.see_reply(packet, "SUBSCRIBE")

    def server_unsuback(self, packet: Packet) -> None:
        self.see_reply(packet, "UNSUBSCRIBE")

    def see_reply(self, packet: Packet, name: str) -> None:
        request = self.requests.pop(packet.id, None)
        if not request or NAMES[request.type] != name:
            self.report("[MQTT-2.2.1-6]", f"no {name} has this Packet Identifier")
        elif packet.level == 5 or name == "SUBSCRIBE":
            if len(packet.codes) != (count := len(request.filters)):
                self.report("[MQTT-3.8.4-6]", f"{len(packet.codes)} codes for {count} filters")

    # -- the end --

    def see_end(self) -> None:
        self.packet = None
        end = self.recording.end
        if end is None:
            end = self.recording.chunks[-1].time if self.recording.chunks else 0.0
        self.see_pause(end)
        if not self.left and self.connack and not self.connack.code:
            self.see_unanswered(end)
        if not self.recording.cut:
            self.doubt(end)

    def see_unanswered(self, end: float) -> None:
        due = end - ANSWER_WITHIN
        pending = self.client.sent
        for name, rule, owed in (
            ("PUBACK", "[MQTT-4.5.0-2]", self.pubacks),
            ("PUBREC", "[MQTT-4.5.0-2]", self.pubrecs),
            ("PUBREL", "[MQTT-4.3.3-4]", [entry for entry in self.pubrels if entry[0] in pending]),
            ("PUBCOMP", "[MQTT-4.3.3-11]", self.pubcomps),
        ):
            late = [id for id, since in owed if since < due]
            if late:
                self.report(rule, f"no {name} came for {late}")
        free = len(self.unacknowledged) < self.limit(RECEIVE_MAXIMUM, 65535)
        if self.again and free and self.connack.end < due:
            self.report("[MQTT-4.4.0-1]", f"{sorted(self.again)} were not sent again")

    def doubt(self, end: float) -> None:
        """Who hangs up does not read what comes at the same time: what it then sends again is
        acknowledged already, and that is nobody's fault."""
        for moment, last, sent in self.answers:
            if moment < end - UNREAD:
                continue
            if not last:
                sent.unsure = True
            elif sent.id not in self.client.sent:
                self.client.perhaps[sent.id] = sent
