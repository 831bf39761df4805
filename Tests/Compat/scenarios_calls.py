"""Calls, and callbacks that call, in one thread."""

from __future__ import annotations

import ctypes
import time
from ctypes import byref, c_bool, c_char_p, c_void_p
from itertools import product

from .calls import Scripted
from .scenario import CONNACK, Place, scenario


@scenario
def new_and_destroy(place: Place) -> list[str]:
    story = []
    for id, clean in ((None, True), (None, False), (b"", True), (b"", False), (b"a", False), (b"\xff", True)):
        place.library.mosquitto_new.restype = c_void_p
        ctypes.set_errno(0)
        handle = place.library.mosquitto_new(id, c_bool(clean), None)
        story.append(f"new {id} {clean} = {bool(handle)}, {0 if handle else ctypes.get_errno()}")
        if handle:
            place.library.mosquitto_destroy(c_void_p(handle))
    place.library.mosquitto_destroy(None)
    return story


@scenario
def reinitialise(place: Place) -> list[str]:
    caller = place.caller()
    for id, clean in ((None, False), (b"b", True), (None, True)):
        caller.call("reinitialise", id, c_bool(clean), None)
    caller.call("loop", 10, 1)
    caller.destroy()
    return caller.story


@scenario
def wrong_arguments(place: Place) -> list[str]:
    caller = place.caller()
    for host, port, keepalive in ((None, 1883, 60), (b"a", -1, 60), (b"a", 65536, 60), (b"a", 1883, 4),
                                  (b"a", 1883, 1), (b"a", 1883, -1), (b"a", 1883, 65536)):
        caller.call("connect", host, port, keepalive)
        caller.call("connect_async", host, port, keepalive)
    for topic, payload, qos in ((None, b"x", 0), (b"", b"x", 0), (b"a/+", b"x", 0), (b"a/#", b"x", 0), (b"a", b"x", 3),
                                (b"a", b"x", -1), (b"\xff", b"x", 0)):
        caller.call("publish", None, topic, 1, payload, qos, c_bool(False))
    caller.call("publish", None, b"a", -1, b"x", 0, c_bool(False))
    caller.call("publish", None, b"a", 268435456, b"x", 0, c_bool(False))
    for filter, qos in ((b"a", 3), (b"a", -1), (b"", 0)):
        caller.call("subscribe", None, filter, qos)
    caller.call("unsubscribe", None, b"")
    caller.call("loop", 0, 0)
    for name in ("reconnect", "reconnect_async", "loop_misc", "socket", "disconnect"):
        caller.call(name)
    for name, arguments in (("loop_start", ()), ("disconnect", ()), ("reconnect", ()), ("loop_stop", (c_bool(True),)),
                            ("publish", (None, b"a", 0, None, 0, c_bool(False)))):
        caller.story.append(f"{name} NULL = {getattr(place.library, f'mosquitto_{name}')(None, *arguments)}")
    caller.destroy()
    return caller.story


@scenario
def wrong_filters_without_a_connection(place: Place) -> list[str]:
    caller = place.caller()
    caller.call("subscribe", None, b"a#", 0)
    caller.call("unsubscribe", None, b"a#")
    caller.destroy()
    return caller.story


@scenario
def which_fault_is_found_first(place: Place) -> list[str]:
    """Calls with several faults: properties that do not belong there, another version, and what else there is."""
    story = []
    for version in (4, 5):
        caller = place.caller(version=version)
        for count in (0, 1, 2):
            list = c_void_p()
            for _ in range(count):  # only 5.0, only in CONNECT, and only once
                place.library.mosquitto_property_add_int16(byref(list), 0x21, 10)
            caller.story.append(f"{version}, {count} properties")
            for topic, size, payload, qos in product((None, b"a/+", b"\xff", b"a"), (-1, 0, 1), (None, b"x"), (0, 3)):
                if (qos, topic is None) == (3, False):  # see will_with_a_wrong_qos
                    continue
                caller.call("will_set_v5", topic, size, payload, qos, c_bool(False), list if topic != b"a" else None)
            for filter, qos, options in product((None, b"a#", b"\xff", b"a"), (0, 3), (0, 1, 4, 0x30, 0x40)):
                caller.call("subscribe_v5", None, filter, qos, options, list)
                caller.call("unsubscribe_v5", None, filter, list)
            filters = (c_char_p * 1)(b"a#")
            for number, qos in product((-1, 0, 1), (0, 3)):
                caller.call("subscribe_multiple", None, number, filters, qos, 0, list)
                caller.call("unsubscribe_multiple", None, number, filters, list)
            for reason in (-1, 0, 256):
                caller.call("disconnect_v5", reason, list)
            if count != 1:  # that is no fault
                caller.call("connect_bind_v5", b"127.0.0.1", place.closed_port, 60, None, list)
            place.library.mosquitto_property_free_all(byref(list))
        story += caller.story
        caller.destroy()
    return story


@scenario
def a_host_without_a_name(place: Place) -> list[str]:
    caller = place.caller()
    for host in (b"", b" ", b"\xff"):
        for how in ("connect", "connect_async"):
            caller.call(how, host, 1883, 60)
        caller.call("reconnect")
    caller.destroy()
    return caller.story


@scenario
def in_flight_before_connack(place: Place) -> list[str]:
    server = Scripted({1: CONNACK})
    caller = place.caller()
    caller.connect(server.port)
    caller.call("max_inflight_messages_set", 5)
    caller.loop_until("on_connect")
    for _ in range(30):
        caller.call("publish", None, b"a", 1, b"x", 1, c_bool(False), quietly=True)
    caller.loop_for(0.2)
    caller.destroy()
    server.close()
    return [*caller.story, f"{sum(packet[0] & 0xF0 == 0x30 for packet in server.packets)} in flight"]


@scenario
def nobody_listens(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.closed_port)
    caller.story.append(f"errno {ctypes.get_errno()}")
    caller.call("reconnect")
    caller.call("loop", 100, 1)
    caller.call("socket")
    caller.call("publish", None, b"a", 1, b"x", 1, c_bool(False))
    caller.destroy()
    return caller.story


def refused(place: Place, version: int) -> list[str]:
    caller = place.caller(version=version)
    caller.call("username_pw_set", b"me", b"wrong")
    caller.connect(place.port)
    caller.loop_until("loop")
    caller.call("loop", 10, 1)
    caller.call("username_pw_set", b"me", b"right")
    caller.call("reconnect")
    caller.loop_until("on_connect 0")
    caller.call("disconnect")
    caller.destroy()
    return caller.story


@scenario
def wrong_password(place: Place) -> list[str]:
    return refused(place, 4)


@scenario
def wrong_password_v5(place: Place) -> list[str]:
    return refused(place, 5)


@scenario
def one_life(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.port)
    caller.loop_until("on_connect")
    caller.subscribe(b"life/#", 2)
    caller.loop_until("on_subscribe")
    for qos in (0, 1, 2):
        caller.publish(b"life/a", b"one", qos)
        caller.loop_until("on_message", count=qos + 1)
        caller.loop_until("on_publish", count=qos + 1)
    caller.call("unsubscribe", None, b"life/#")
    caller.loop_until("on_unsubscribe")
    caller.call("disconnect")
    caller.call("loop", 10, 1)
    caller.call("disconnect")
    caller.destroy()
    return sorted(caller.story[:-4]) + caller.story[-4:]


@scenario
def before_and_after_connect(place: Place) -> list[str]:
    caller = place.caller()
    caller.subscribe(b"a")
    for qos in (0, 1, 2):
        caller.publish(b"early", b"x", qos)
    caller.connect(place.port)
    caller.loop_until("on_publish", count=2)
    caller.call("disconnect")
    for qos in (0, 1):
        caller.publish(b"late", b"x", qos)
    caller.subscribe(b"a")
    caller.destroy()
    return caller.story


@scenario
def in_callbacks(place: Place) -> list[str]:
    caller = place.caller()
    caller.does = {"connect": lambda: caller.subscribe(b"calls", 1),
                   "subscribe": lambda: caller.publish(b"calls", b"x", 1),
                   "message": lambda: caller.call("unsubscribe", None, b"calls"),
                   "unsubscribe": lambda: caller.call("disconnect")}
    caller.connect(place.port)
    caller.call("loop_forever", -1, 1)
    caller.destroy()
    story = caller.story
    # When PUBACK comes the message may have come already, or not yet.
    story.insert(0, story.pop(story.index("on_publish")))
    return story


@scenario
def reconnect_in_on_disconnect(place: Place) -> list[str]:
    caller = place.caller()
    left = [0]

    def again() -> None:
        left[0] += 1
        if left[0] == 1:
            caller.call("reconnect")

    caller.does = {"disconnect": again}
    caller.connect(place.port)
    caller.loop_until("on_connect")
    other = place.caller()  # of the same name
    other.connect(place.port)
    other.loop_until("on_connect")
    end = time.monotonic() + 5
    while sum(line == "on_connect 0" for line in caller.story) < 2 and time.monotonic() < end:
        caller.call("loop", 50, 1, quietly=True)
    other.destroy()
    caller.call("disconnect")
    caller.destroy()
    return caller.story
