"""Ours only: what libmosquitto has no bound for, or no end."""

from __future__ import annotations

import ctypes
import os
import time
from ctypes import byref, c_bool, c_int

from .test_client import in_a_process
from .wire_calls import CONNECT, Wire, message, packet


def kept_beyond_the_bound(library: ctypes.CDLL) -> list[str]:
    os.environ |= {"MOSQUITTO_RECEIVE_BYTES": "2048"}
    wire = Wire(library, 4)
    wire.connack += b"".join(message(b"a", b"%d" % number + b"." * 100, 2, number, properties=b"")
                             for number in range(1, 26))
    wire.answers[5] = lambda data: packet(0x62, data[2:4]) if data[3] == 25 else None
    wire.open()
    wire.until(7)
    wire.call("destroy", quietly=True)
    return [line.split(".")[0] for line in wire.story if line.startswith("on_message")]


def test_kept_up_to_a_bound(ours: ctypes.CDLL) -> None:
    """Some of 100 bytes fit into 2,048; the others are handed out when they come, PUBREL or not."""
    story = in_a_process(lambda: kept_beyond_the_bound(ours))
    assert story == [f"on_message a {number}" for number in range(26 - len(story), 26)] and 6 <= len(story) <= 18


def lost_before_it_was_released(library: ctypes.CDLL, version: int, session_present: int, clean: bool) -> list[str]:
    """The connection breaks between PUBREC and PUBREL; the next one has the same identifier for another message."""
    wire = Wire(library, version, clean=clean)
    nothing = b"\0" if version == 5 else b""
    answers = [packet(0x20, b"\0\0" + nothing) + message(b"a", b"one", 2, 7, properties=nothing),
               packet(0x20, bytes([session_present, 0]) + nothing)
               + (packet(0x62, b"\0\7") if session_present else message(b"a", b"two", 2, 7, properties=nothing))]
    breaks = [b"", lambda data: packet(0x62, data[2:4])]
    wire.answers = {CONNECT: lambda data: answers.pop(0),
                    5: lambda data: (breaks.pop(0) or b"") if len(breaks) > 1 else breaks[0](data)}
    wire.open()
    wire.loop_until("on_disconnect")
    wire.call("reconnect")
    wire.loop_until("on_message", count=2 - session_present)
    wire.close()
    return [line for line in wire.story if line.startswith(("on_connect", "on_message"))]


def test_a_session_that_is_there_brings_the_release(ours: ctypes.CDLL) -> None:
    for version in (4, 5):
        story = in_a_process(lambda version=version: lost_before_it_was_released(ours, version, 1, False))
        assert story == ["on_connect 0", "on_connect 0", "on_message a one q2 r0"]


def test_what_is_kept_does_not_end_with_its_session(ours: ctypes.CDLL) -> None:
    """PUBREC has said that it is the client's [MQTT-4.3.3-8]."""
    for version in (3, 4, 5):
        story = in_a_process(lambda version=version: lost_before_it_was_released(ours, version, 0, True))
        assert story == ["on_connect 0", "on_connect 0", "on_message a one q2 r0", "on_message a two q2 r0"]


def counted_round(library: ctypes.CDLL) -> list[str]:
    """Two messages wait for their acknowledgement while the message ids come round."""
    os.environ |= {"MOSQUITTO_OUTBOX_MESSAGES": "400"}
    wire, mid = Wire(library, 4), c_int(0)
    wire.answers[3] = lambda data: None

    def count_to(number: int) -> None:
        while mid.value != number:
            library.mosquitto_publish(wire.handle, byref(mid), b"a", 0, None, 0, c_bool(False))
            if mid.value % 50 == 0:
                wire.call("loop", 0, 1, quietly=True)

    wire.open()
    wire.send(b"a", b"waits", 1)
    count_to(149)
    wire.send(b"a", b"waits, too", 1)
    count_to(65_535)
    wire.send(b"a", b"next", 0)
    wire.ask(b"a", 0)
    wire.loop_until("on_subscribe")
    count_to(149)
    wire.send(b"a", b"and next", 0)
    wire.call("destroy", quietly=True)
    return [line for line in wire.story if line != "on_publish"]


def test_what_is_in_use_is_passed_over(ours: ctypes.CDLL) -> None:
    story = in_a_process(lambda: counted_round(ours), 60)
    assert story == ["connect = 0", "on_connect 0", "publish = 0, m1", "publish = 0, m150", "publish = 0, m2",
                     "subscribe = 0, m3", "on_subscribe granted 0", "publish = 0, m151"]


def counted_round_before_a_connection(library: ctypes.CDLL) -> list[str]:
    wire, mid = Wire(library, 4), c_int(0)
    for number in range(3):
        wire.send(b"a", b"waits", 1)
    while mid.value != 65_535:
        library.mosquitto_publish(wire.handle, byref(mid), b"a", 0, None, 0, c_bool(False))
    wire.send(b"a", b"next", 1)
    wire.open()
    wire.until(3, 4)
    wire.call("destroy", quietly=True)
    sent = [data for data in wire.server.packets if data[0] >> 4 == 3]
    return [*wire.story, *(str(int.from_bytes(wire.mid_of(data), "big")) for data in sent)]


def test_what_waits_for_a_first_connection_is_in_use(ours: ctypes.CDLL) -> None:
    story = in_a_process(lambda: counted_round_before_a_connection(ours), 60)
    assert story[:4] == ["publish = 4, m1", "publish = 4, m2", "publish = 4, m3", "publish = 4, m4"]
    assert story[-4:] == ["1", "2", "3", "4"]


def connack_that_nobody_takes(library: ctypes.CDLL) -> list[str]:
    """Between PUBREC and PUBREL the link breaks, and the session is lost; what says so is read while a message is published,
    and the program connects again before a loop could tell. The third connection has the session of the second."""
    wire = Wire(library, 4, clean=False)
    accepted = packet(0x20, b"\0\0")
    answers = [accepted + message(b"a", b"old", 2, 1, properties=b""), accepted,
               packet(0x20, b"\1\0") + message(b"a", b"new", 2, 1, properties=b"")]
    breaks = [b""]
    wire.answers = {CONNECT: lambda data: answers.pop(0),
                    5: lambda data: breaks.pop() if breaks else packet(0x62, data[2:4])}
    wire.open()
    wire.loop_until("on_disconnect")
    wire.call("reconnect", quietly=True)
    time.sleep(0.2)
    wire.send(b"p", b"", 0)
    wire.call("reconnect", quietly=True)
    wire.loop_until("on_message", count=2)
    wire.close()
    return [line for line in wire.story if line.startswith("on_message")]


def test_a_lost_session_that_nobody_was_told_of(ours: ctypes.CDLL) -> None:
    story = in_a_process(lambda: connack_that_nobody_takes(ours))
    assert story == ["on_message a old q2 r0", "on_message a new q2 r0"]
