"""Calls whose packets are compared byte by byte, each with every version of the protocol that it is for."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable
from ctypes import byref, c_bool, c_char_p, c_int, c_uint16, c_uint32, c_void_p

from Support.codec import parse
from Support.waiting import PATIENCE

from .calls import KINDS, Caller, Scripted

TYPES = ("", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK",
         "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH")
CONNECT, PUBLISH, PUBREL, SUBSCRIBE, UNSUBSCRIBE = 1, 3, 6, 8, 10
ALL, BEFORE_5, ONLY_5 = (3, 4, 5), (3, 4), (5,)
CALLS: dict[str, tuple[Callable[["Wire"], None], int]] = {}

# Properties: the number, how it is added, and what.
EXPIRY = (0x02, "int32", c_uint32(3600))
CONTENT_TYPE = (0x03, "string", b"text/plain")
RESPONSE_TOPIC = (0x08, "string", b"answers/here")
CORRELATION = (0x09, "binary", b"\0\1\2")
SUBSCRIPTION_ID = (0x0B, "varint", c_uint32(300))
SESSION_EXPIRY = (0x11, "int32", c_uint32(120))
WILL_DELAY = (0x18, "int32", c_uint32(7))
REQUEST_PROBLEM = (0x17, "byte", ctypes.c_uint8(0))
REASON = (0x1F, "string", b"enough")
RECEIVE_MAXIMUM = (0x21, "int16", c_uint16(33))
ALIAS_MAXIMUM = (0x22, "int16", c_uint16(12))
FORMAT = (0x01, "byte", ctypes.c_uint8(1))
MAXIMUM_PACKET = (0x27, "int32", c_uint32(100_000))
USER = (0x26, "string_pair", b"who", b"me")
USER_AGAIN = (0x26, "string_pair", b"who", b"me too")


def alias(number: int) -> tuple:
    return (0x23, "int16", c_uint16(number))


def packet(type: int, body: bytes) -> bytes:
    """Of less than 128 bytes."""
    return bytes([type, len(body)]) + body


def message(topic: bytes, payload: bytes, qos: int = 0, mid: int = 0, flags: int = 0, properties: bytes = b"\0") -> bytes:
    """PUBLISH of 5.0, from the server; before it, with `properties` of no bytes."""
    head = struct.pack(">H", len(topic)) + topic + (struct.pack(">H", mid) if qos else b"")
    return packet(0x30 | qos << 1 | flags, head + properties + payload)


class Wire(Caller):
    """A client, and the server that records it."""

    def __init__(self, library: ctypes.CDLL, version: int, id: bytes | None = b"wire", clean: bool = True):
        super().__init__(library, id, clean, version)
        self.version, self.lists = version, []
        self.answers: dict[int, Callable[[bytes], bytes]] = {}
        self.connack = packet(0x20, b"\0\0\0" if version == 5 else b"\0\0")
        self.server = Scripted({type: lambda data, type=type: self.answer(type, data) for type in range(1, 15)})
        self.logged: list[str] = []
        self.does["log"] = lambda: None
        self.kept.append(self.log_callback())

    def log_callback(self) -> object:
        def call(mosq: int, user: int, level: int, line: bytes) -> None:
            self.logged.append(line.decode())

        function = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_char_p)(call)
        self.library.mosquitto_log_callback_set(self.handle, function)
        return function

    @property
    def is5(self) -> bool:
        return self.version == 5

    # What the server says, unless a call has something else in `answers`.

    def answer(self, type: int, data: bytes) -> bytes | None:
        if type in self.answers:
            return self.answers[type](data)
        if type == CONNECT:
            return self.connack
        if type == PUBLISH and data[0] >> 1 & 3:
            return packet(0x40 if data[0] >> 1 & 3 == 1 else 0x50, self.mid_of(data))
        if type == PUBREL:
            return packet(0x70, data[2:4])
        if type == SUBSCRIBE:
            return packet(0x90, data[2:4] + (b"\0" if self.is5 else b"") + b"\0" * self.filters_of(data))
        if type == UNSUBSCRIBE:
            return packet(0xB0, data[2:4] + (b"\0" + b"\0" * self.filters_of(data) if self.is5 else b""))
        return None

    def mid_of(self, publish: bytes) -> bytes:
        return struct.pack(">H", parse(publish, self.version).id)

    def filters_of(self, request: bytes) -> int:
        return len(parse(request, self.version).filters)

    # What the program calls.

    def list(self, *properties: tuple) -> c_void_p:
        made = c_void_p()
        for number, kind, *value in properties:
            size = [c_uint16(len(value[0]))] if kind == "binary" else []
            assert getattr(self.library, f"mosquitto_property_add_{kind}")(byref(made), number, *value, *size) == 0
        return made

    def open(self, *properties: tuple, keepalive: int = 60) -> None:
        connected = sum(line.startswith("on_connect") for line in self.story)
        if properties:
            arguments = (b"127.0.0.1", self.server.port, keepalive, None, self.list(*properties))
            self.call("connect_bind_v5", *arguments)
        else:
            self.connect(self.server.port, keepalive)
        self.loop_until("on_connect", count=connected + 1)

    def send(self, topic: bytes | None, payload: bytes, qos: int, *properties: tuple, retain: bool = False,
             list: c_void_p | None = None) -> int:
        mid = c_int(-1)
        result = self.library.mosquitto_publish_v5(
            self.handle, byref(mid), topic, len(payload), payload, qos, c_bool(retain),
            list or (self.list(*properties) if properties else None))
        self.story.append(f"publish = {result}, m{mid.value}")
        return mid.value

    def ask(self, filter: bytes, qos: int, options: int = 0, *properties: tuple) -> None:
        mid = c_int(-1)
        result = self.library.mosquitto_subscribe_v5(
            self.handle, byref(mid), filter, qos, options, self.list(*properties) if properties else None)
        self.story.append(f"subscribe = {result}, m{mid.value}")

    def revoke(self, filter: bytes, *properties: tuple) -> None:
        mid = c_int(-1)
        result = self.library.mosquitto_unsubscribe_v5(
            self.handle, byref(mid), filter, self.list(*properties) if properties else None)
        self.story.append(f"unsubscribe = {result}, m{mid.value}")

    def until(self, type: int, count: int = 1) -> None:
        """The server has so many packets of a type."""
        end = time.monotonic() + PATIENCE
        while sum(data[0] >> 4 == type for data in self.server.packets) < count and time.monotonic() < end:
            self.call("loop", 20, 1, quietly=True)

    def close(self) -> None:
        farewells = sum(data[0] >> 4 == 14 for data in self.server.packets)
        if self.call("disconnect") == 0:  # else there is no connection any more
            self.until(14, farewells + 1)

    def lines(self) -> list[str]:
        """What calls returned, what the program was told, what went over the wire, each in its own order, and which lines
        were logged. (When QoS 0 and a handshake are told, is a matter of who runs the loop.)"""
        sent = [f"{TYPES[data[0] >> 4]} {data.hex()}" for data in self.server.packets]
        told = [line for line in self.story if line.startswith("on_")]
        return [*(line for line in self.story if line not in told), *told, *sent, *sorted(set(self.logged))]


def call(*versions: int) -> Callable[[Callable[[Wire], None]], None]:
    def add(function: Callable[[Wire], None]) -> None:
        for version in versions:
            name = {3: "3.1", 4: "3.1.1", 5: "5.0"}[version]
            CALLS[f"{function.__name__} {name}"] = (function, version)

    return add


# ---- CONNECT ----


@call(*ALL)
def plain(wire: Wire) -> None:
    wire.open()
    wire.close()


@call(*ALL)
def credentials_and_a_will(wire: Wire) -> None:
    wire.call("username_pw_set", b"me", b"secret")
    wire.call("will_set", b"gone", 3, b"bye", 1, c_bool(True))
    wire.open(keepalive=17)
    wire.close()


@call(*ALL)
def a_name_without_a_password(wire: Wire) -> None:
    wire.call("username_pw_set", b"me", None)
    wire.call("will_set", b"gone", 0, None, 2, c_bool(False))
    wire.open(keepalive=0)
    wire.close()


@call(*ONLY_5)
def a_password_without_a_name(wire: Wire) -> None:
    wire.call("username_pw_set", None, b"secret")
    wire.open()
    wire.close()


@call(*ONLY_5)
def connect_properties(wire: Wire) -> None:
    """In whatever order: it stays."""
    wire.open(USER, ALIAS_MAXIMUM, SESSION_EXPIRY, USER_AGAIN, MAXIMUM_PACKET, RECEIVE_MAXIMUM, REQUEST_PROBLEM)
    wire.close()


@call(*ONLY_5)
def receive_maximum_is_said_last(wire: Wire) -> None:
    wire.call("int_option", 4, 50)
    wire.open(SESSION_EXPIRY, USER)
    wire.close()


@call(*ONLY_5)
def connect_anew_with_other_properties(wire: Wire) -> None:
    wire.open(USER, SESSION_EXPIRY)
    wire.close()
    wire.story.append("again")
    wire.open(ALIAS_MAXIMUM, USER_AGAIN)
    wire.close()


@call(*ONLY_5)
def limits_of_all_sizes(wire: Wire) -> None:
    for size in (1, 63, 1000, 268_435_460, 0xFFFF_FFFF):
        wire.open((0x27, "int32", c_uint32(size)), (0x21, "int16", c_uint16(65535)))
        wire.close()


@call(*ONLY_5)
def session_expiries(wire: Wire) -> None:
    for seconds in (0, 1, 0xFFFF_FFFF):
        wire.open((0x11, "int32", c_uint32(seconds)))
        wire.close()


@call(*ONLY_5)
def more_aliases_than_there_are_places(wire: Wire) -> None:
    wire.open((0x22, "int16", c_uint16(65535)), USER)
    wire.close()


@call(*ONLY_5)
def will_properties(wire: Wire) -> None:
    list = wire.list(USER, WILL_DELAY, EXPIRY, CORRELATION, RESPONSE_TOPIC, CONTENT_TYPE, FORMAT, USER_AGAIN)
    wire.call("will_set_v5", b"gone", 3, b"bye", 1, c_bool(False), list)
    wire.open()
    wire.close()


# ---- SUBSCRIBE and UNSUBSCRIBE ----


@call(*ALL)
def subscribe_and_unsubscribe(wire: Wire) -> None:
    wire.open()
    for qos in (0, 1, 2):
        wire.ask(b"a/%d" % qos, qos)
    wire.loop_until("on_subscribe", count=3)
    wire.revoke(b"a/+")
    wire.loop_until("on_unsubscribe")
    wire.close()


@call(*ALL)
def several_at_once(wire: Wire) -> None:
    wire.open()
    filters = (c_char_p * 3)(b"a", b"b/#", b"c/+/d")
    mid = c_int(0)
    wire.call("subscribe_multiple", byref(mid), 3, filters, 1, 0, None)
    wire.loop_until("on_subscribe")
    wire.call("unsubscribe_multiple", byref(mid), 3, filters, None)
    wire.loop_until("on_unsubscribe")
    wire.close()


@call(*ALL)
def subscription_options(wire: Wire) -> None:
    wire.open()
    for options in (0x04, 0x08, 0x10, 0x2C):
        wire.ask(b"a", 1, options)
    wire.loop_until("on_subscribe", count=4)
    wire.close()


@call(*ONLY_5)
def subscription_properties(wire: Wire) -> None:
    wire.open()
    wire.ask(b"a", 2, 0, USER, SUBSCRIPTION_ID, USER_AGAIN)
    wire.ask(b"b", 0, 0, SUBSCRIPTION_ID)
    wire.loop_until("on_subscribe", count=2)
    wire.revoke(b"a", USER_AGAIN, USER)
    wire.loop_until("on_unsubscribe")
    wire.close()


# ---- PUBLISH ----


@call(*ALL)
def publish(wire: Wire) -> None:
    wire.open()
    for qos in (0, 1, 2):
        wire.send(b"a", b"payload", qos)
        wire.send(b"a/b", b"", qos, retain=True)
    wire.loop_until("on_publish", count=6)
    wire.close()


@call(*ALL)
def one_count_for_all(wire: Wire) -> None:
    wire.open()
    wire.send(b"a", b"x", 0)
    wire.ask(b"a", 1)
    wire.send(b"a", b"x", 1)
    wire.loop_until("on_publish", count=2)
    wire.revoke(b"a")
    wire.send(b"a", b"x", 2)
    wire.loop_until("on_publish", count=3)
    wire.until(UNSUBSCRIBE)
    wire.ask(b"b", 0)
    wire.loop_until("on_subscribe", count=2)
    wire.close()


@call(*ALL)
def acknowledged_with_a_gap_before(wire: Wire) -> None:
    """A SUBSCRIBE has the number between, and the first message waits for its acknowledgement longest."""
    waiting: list[bytes] = []

    def answer(data: bytes) -> bytes | None:
        waiting.append(packet(0x40, wire.mid_of(data)))
        return waiting[1] + waiting[2] + waiting[0] if len(waiting) == 3 else None

    wire.answers[PUBLISH] = answer
    wire.open()
    wire.send(b"a", b"1", 1)
    wire.ask(b"a", 0)
    wire.send(b"a", b"2", 1)
    wire.send(b"a", b"3", 1)
    wire.loop_until("on_publish", count=3)
    wire.close()


@call(*ALL)
def a_refused_message_has_no_mid(wire: Wire) -> None:
    wire.send(b"a", b"x", 0)
    wire.open()
    wire.send(b"a/#", b"x", 0)
    wire.send(b"a", b"x", 1)
    wire.send(b"", b"x", 1)
    wire.send(b"\xff", b"x", 2)
    wire.send(b"a", b"x", 2)
    wire.loop_until("on_publish", count=2)
    wire.close()


@call(*ONLY_5)
def a_message_the_server_does_not_take_has_no_mid(wire: Wire) -> None:
    """Maximum QoS 1, Maximum Packet Size 60."""
    wire.connack = packet(0x20, b"\0\0\x07\x24\1\x27\0\0\0\x3c")
    wire.open()
    wire.send(b"a", b"x", 2)
    wire.send(b"a", b"x" * 60, 1)
    wire.send(b"a", b"x", 1)
    wire.loop_until("on_publish")
    wire.close()


@call(*ONLY_5)
def publish_properties(wire: Wire) -> None:
    wire.open()
    for qos in (0, 1, 2):
        wire.send(b"a", b"x", qos, USER, FORMAT, CORRELATION, RESPONSE_TOPIC, USER_AGAIN, CONTENT_TYPE)
    wire.loop_until("on_publish", count=3)
    wire.close()


@call(*ONLY_5)
def message_expiry(wire: Wire) -> None:
    """As it was given, however long it waits for CONNACK."""
    wire.answers[CONNECT] = lambda data: time.sleep(2.2) or wire.connack
    wire.connect(wire.server.port)
    wire.send(b"a", b"x", 1, EXPIRY)
    wire.send(b"a", b"x", 1, USER, EXPIRY)
    wire.send(b"a", b"x", 1, (0x02, "int32", c_uint32(1)))
    wire.loop_until("on_publish", count=3)
    wire.close()


@call(*ONLY_5)
def topic_aliases(wire: Wire) -> None:
    wire.connack = packet(0x20, b"\0\0\3\x22\0\x0a")
    wire.open()
    wire.send(b"a/long/topic", b"x", 0, alias(3))
    wire.send(None, b"y", 0, alias(3))
    wire.send(b"a/long/topic", b"z", 1, USER, alias(3))
    wire.send(b"another", b"z", 0, alias(3), USER)
    wire.send(b"", b"z", 0, USER, alias(3))
    wire.loop_until("on_publish", count=5)
    wire.close()


@call(*ONLY_5)
def an_alias_that_stands_for_nothing(wire: Wire) -> None:
    wire.open()
    wire.send(None, b"x", 0, alias(1))
    wire.loop_for(0.1)
    wire.close()


@call(*ONLY_5)
def an_alias_instead_of_the_topic_and_qos_1(wire: Wire) -> None:
    wire.connack = packet(0x20, b"\0\0\3\x22\0\x0a")
    wire.open()
    wire.send(b"topic", b"x", 1, alias(1))
    wire.send(None, b"y", 1, alias(1))
    wire.loop_until("on_publish", count=2)
    wire.close()


# ---- A message's properties, handed on ----


PAIR = b"\x26\0\1a\0\1b"  # a User Property


def asked(wire: Wire, properties: bytes, answer: Callable[[c_void_p], object]) -> None:
    """A message comes with these properties, and the program does something with the list."""
    function = KINDS["message_v5"](lambda mosq, user, message, list: answer(c_void_p(list)))
    wire.kept.append(function)
    wire.library.mosquitto_message_v5_callback_set(wire.handle, function)
    wire.connack += message(b"question", b"x", properties=bytes([len(properties)]) + properties)
    wire.open()
    wire.loop_for(0.1)
    wire.close()


@call(*ONLY_5)
def a_received_property_handed_on(wire: Wire) -> None:
    """It goes alone, without those behind it: the requester's are none of the answer's."""
    asked(wire, PAIR * 3, lambda list: wire.send(b"answer", b"x", 0, list=list))


@call(*ONLY_5)
def a_received_list_whose_first_may_not_be_sent(wire: Wire) -> None:
    asked(wire, b"\x0b\1" + PAIR, lambda list: wire.send(b"answer", b"x", 0, list=list))


@call(*ONLY_5)
def a_copy_of_a_received_list_handed_on(wire: Wire) -> None:
    """It is as received as the list is."""
    def answer(list: c_void_p) -> None:
        copy = c_void_p()
        wire.library.mosquitto_property_copy_all(byref(copy), list)
        wire.send(b"answer", b"x", 0, list=copy)

    asked(wire, PAIR * 2, answer)


@call(*ONLY_5)
def a_received_list_with_one_more(wire: Wire) -> None:
    """A program may not change it; whoever does finds it sent as before."""
    def answer(list: c_void_p) -> None:
        copy = c_void_p()
        wire.library.mosquitto_property_copy_all(byref(copy), list)
        wire.library.mosquitto_property_add_string_pair(byref(copy), 0x26, b"c", b"d")
        wire.send(b"answer", b"x", 0, list=copy)

    asked(wire, PAIR, answer)


@call(*ONLY_5)
def received_properties_in_other_packets(wire: Wire) -> None:
    # Who hangs up with an answer unread makes a reset of it, and what was still to be sent is lost.
    wire.answers[SUBSCRIBE] = wire.answers[UNSUBSCRIBE] = lambda data: None

    def answer(list: c_void_p) -> None:
        wire.call("subscribe_v5", None, b"a", 0, 0, list)
        wire.call("unsubscribe_v5", None, b"a", list)
        wire.call("disconnect_v5", 0, list)

    asked(wire, PAIR * 2, answer)
    wire.until(14)


# ---- What answers a message, or its acknowledgement ----


@call(*ALL)
def acknowledgements(wire: Wire) -> None:
    nothing = b"\0" if wire.is5 else b""
    wire.connack += b"".join(message(b"a", b"%d" % qos, qos, 0x1234 + qos, properties=nothing) for qos in (0, 1, 2))
    wire.open()
    wire.until(5)
    wire.close()


@call(*ALL)
def exactly_once(wire: Wire) -> None:
    """It is handed out when PUBREL has come, behind what came meanwhile."""
    nothing = b"\0" if wire.is5 else b""
    wire.connack += message(b"a", b"first", 2, 7, properties=nothing) + message(b"a", b"second", 0, properties=nothing)
    wire.answers[5] = lambda data: packet(0x62, data[2:4])
    wire.open()
    wire.loop_until("on_message", count=2)
    wire.until(7)
    wire.close()


@call(*ALL)
def a_release_of_nothing(wire: Wire) -> None:
    wire.connack += packet(0x62, b"\0\7")
    wire.open()
    wire.until(7)
    wire.close()


@call(*ALL)
def a_receipt_of_nothing(wire: Wire) -> None:
    wire.connack += packet(0x50, b"\0\7")
    wire.open()
    wire.until(PUBREL)
    wire.close()


# ---- DISCONNECT ----


@call(*ALL)
def disconnect_with_a_reason(wire: Wire) -> None:
    wire.open()
    wire.call("disconnect_v5", 4, None)
    wire.until(14)


@call(*ONLY_5)
def disconnect_properties(wire: Wire) -> None:
    wire.open(SESSION_EXPIRY)
    wire.call("disconnect_v5", 0, wire.list(USER, REASON, SESSION_EXPIRY, USER_AGAIN))
    wire.until(14)


@call(*ONLY_5)
def disconnect_with_reason_and_properties(wire: Wire) -> None:
    wire.open()
    wire.call("disconnect_v5", 0x98, wire.list(USER))
    wire.until(14)


@call(*ONLY_5)
def a_session_that_was_to_end_is_to_stay(wire: Wire) -> None:
    wire.open()
    if wire.call("disconnect_v5", 0, wire.list(SESSION_EXPIRY)) == 0:
        wire.until(14)
    else:
        wire.close()


# ---- Another connection ----


@call(*ALL)
def published_before_connecting(wire: Wire) -> None:
    wire.send(b"a", b"x", 1)
    wire.send(b"a", b"x", 0)
    wire.send(b"a", b"x", 2)
    wire.open()
    wire.loop_until("on_publish", count=2)
    wire.close()


def lost(wire: Wire, at: int, session_present: int) -> None:
    """The connection breaks when the first packet of a type has come, and the session is lost or not."""
    wire.call("destroy", quietly=True)
    nothing = b"\0" if wire.is5 else b""
    super(Wire, wire).__init__(wire.library, b"wire", False, wire.version)
    wire.kept.append(wire.log_callback())
    answers = [packet(0x20, b"\0\0" + nothing), packet(0x20, bytes([session_present, 0]) + nothing)]
    wire.answers = {CONNECT: lambda data: answers.pop(0)}

    def hang_up(data: bytes) -> bytes:
        del wire.answers[at]
        return b""

    wire.open()
    wire.answers[at] = hang_up
    wire.send(b"a", b"one", 1 if at == PUBLISH else 2)
    wire.send(b"a", b"two", 2)
    wire.loop_until("on_disconnect")
    wire.story.append("again")
    wire.call("reconnect")
    wire.loop_until("on_publish", count=2)
    wire.close()


@call(*ALL)
def publish_again(wire: Wire) -> None:
    lost(wire, PUBLISH, 1)


@call(*ALL)
def publish_again_in_a_new_session(wire: Wire) -> None:
    lost(wire, PUBLISH, 0)


@call(*ALL)
def release_again(wire: Wire) -> None:
    lost(wire, PUBREL, 1)


@call(*ALL)
def release_again_in_a_new_session(wire: Wire) -> None:
    lost(wire, PUBREL, 0)
