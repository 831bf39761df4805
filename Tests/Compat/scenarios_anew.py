"""What becomes of a session when a connection is made anew: what CONNECT says then, what is sent again, and what is
known of what came."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from ctypes import byref, c_bool, c_void_p


from .calls import Caller, Scripted
from .scenario import CONNACK, Place, scenario

from Support.waiting import wait_for

PRESENT = bytes.fromhex("20020100")


def anew(place: Place, server: Scripted, caller: Caller, **change: object) -> list[str]:
    """A message that waits at the end of the first connection; the CONNECT of the second, and what follows it."""
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.publish(b"a", b"one", 1)
    wait_for(lambda: server.answered == 2)  # else the answer to this might be the one meant for its repetition
    for name, arguments in change.items():
        caller.call(name, *arguments)
    caller.call("reconnect")
    caller.loop_until("on_publish")
    caller.destroy()
    server.close()
    return [*caller.story, *(packet.hex() for packet in server.packets if packet[0] == 0x10),
            f"the message came {sum(packet[0] & 0xF0 == 0x30 for packet in server.packets)} times"]


@scenario
def a_name_while_a_message_waits(place: Place) -> list[str]:
    answers = [b"", b"\x40\2\0\1"]
    server = Scripted({1: CONNACK, 3: lambda packet: answers.pop(0) and b"\x40\2" + packet[5:7]})
    return anew(place, server, place.caller(), username_pw_set=(b"somebody", b"a password"))


@scenario
def a_will_while_a_message_waits(place: Place) -> list[str]:
    answers = [b"", b"\x40\2\0\1"]
    server = Scripted({1: CONNACK, 3: lambda packet: answers.pop(0) and b"\x40\2" + packet[5:7]})
    return anew(place, server, place.caller(), will_set=(b"last/will", 5000, b"x" * 5000, 1, c_bool(True)))


def more(place: Place, change: Callable[[Caller, Scripted], None], packet_size: int = 0) -> list[str]:
    """A message waits, and the program takes more, or larger ones, than when it connected first."""
    server = Scripted({1: bytes.fromhex("2003000000"), 3: b""})
    caller = place.caller(version=5)
    properties = c_void_p()
    if packet_size:
        place.library.mosquitto_property_add_int32(byref(properties), 0x27, packet_size)
    caller.call("connect_bind_v5", b"127.0.0.1", server.port, 60, None, properties)
    caller.loop_until("on_connect")
    caller.publish(b"a", b"one", 1)
    caller.loop_until("on_disconnect")
    server.answers[3] = lambda packet: b"\x40\2" + packet[5:7]
    change(caller, server)
    caller.loop_until("on_publish")
    caller.destroy()
    server.close()
    return caller.story


@scenario
def a_larger_receive_maximum_while_a_message_waits(place: Place) -> list[str]:
    return more(place, lambda caller, server: (caller.call("int_option", 4, 60_000), caller.call("reconnect")))


@scenario
def larger_packets_while_a_message_waits(place: Place) -> list[str]:
    return more(place, lambda caller, server: caller.connect(server.port), packet_size=1000)


@scenario
def exactly_once_known_after_an_option(place: Place) -> list[str]:
    """The message came, PUBREL did not; the program sets a name; the server, which has the session, sends it again."""
    message = bytes.fromhex("340600016100" "0778")
    answers = [CONNACK + message, PRESENT + bytes([message[0] | 8]) + message[1:]]
    server = Scripted({1: lambda packet: answers.pop(0),
                       5: lambda packet: b"\x62\2" + packet[2:4] if not answers else None, 7: None})
    caller = place.caller(clean=False)
    caller.connect(server.port)
    caller.loop_for(0.2)
    caller.call("username_pw_set", b"somebody", None)
    caller.call("reconnect")
    caller.loop_until("on_message")
    caller.loop_for(0.2)
    caller.destroy()
    server.close()
    return sorted(caller.story) + [str(any(packet[0] == 0x70 for packet in server.packets))]


@scenario
def exactly_once_in_a_session_that_is_lost(place: Place) -> list[str]:
    """Nobody knows whether the first PUBLISH arrived: it is sent again."""
    server = Scripted({1: CONNACK, 3: lambda packet: None if len(server.packets) < 3 else b"\x50\2" + packet[5:7],
                       6: lambda packet: b"\x70\2" + packet[2:4]})
    caller = place.caller()
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.publish(b"a", b"once", 2)
    caller.loop_for(0.2)
    caller.call("reconnect")
    caller.loop_until("on_publish")
    caller.destroy()
    server.close()
    return [*caller.story, f"{[packet[0] & 0xF0 for packet in server.packets]}"]


@scenario
def many_subscriptions_at_once(place: Place) -> list[str]:
    """More than the core has Packet Identifiers for; the last one is of other properties."""
    server = Scripted({1: CONNACK, 8: lambda packet: b"\x90\3" + packet[2:4] + b"\1",
                       10: lambda packet: b"\xb0\2" + packet[2:4]})
    caller = place.caller()

    def all_of_them() -> None:
        results = {caller.call("subscribe", None, b"many/%d" % number, 1, quietly=True) for number in range(700)}
        caller.story.append(f"subscribe: {results}")
        caller.call("unsubscribe", None, b"many/0")

    caller.does = {"connect": all_of_them}
    caller.connect(server.port)
    caller.loop_until("on_unsubscribe")
    caller.destroy()
    server.close()
    filters = [packet[6:].decode("latin-1") for packet in server.packets if packet[0] == 0x82]
    return [f"granted {caller.story.count('on_subscribe granted 1')}", caller.story[-1], f"{len(filters)} {filters[-1]}"]


@scenario
def a_subscription_without_an_answer(place: Place) -> list[str]:
    """The program subscribes when it is connected; what was not answered before comes once, not twice."""
    connections: list[bytes] = []
    server = Scripted({1: lambda packet: connections.append(packet) or CONNACK,
                       8: lambda packet: None if len(connections) < 2 else b"\x90\3" + packet[2:4] + b"\1"})
    caller = place.caller()
    caller.does = {"connect": lambda: caller.subscribe(b"a", 1)}
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.loop_for(0.2)
    caller.call("reconnect")
    caller.loop_until("on_subscribe")
    caller.loop_for(0.2)
    caller.destroy()
    server.close()
    return [*caller.story, f"{[packet[0] for packet in server.packets]}"]


@scenario
def a_socket_at_once(place: Place) -> list[str]:
    """A loop of the program's own, of a connection that does not stand yet."""
    caller = place.caller()
    caller.connect(place.port, how="connect_async")
    descriptor = caller.call("socket", quietly=True)
    caller.story.append(f"{descriptor >= 0} {bool(caller.call('want_write', quietly=True))}")
    end = time.monotonic() + 5
    while "on_connect 0" not in caller.story and time.monotonic() < end:
        wants = [descriptor] if caller.call("want_write", quietly=True) else []
        readable, writable, _ = select.select([descriptor], wants, [], 1)
        if readable:
            caller.call("loop_read", 1, quietly=True)
        if writable:
            caller.call("loop_write", 1, quietly=True)
        caller.call("loop_misc", quietly=True)
    caller.story.append(f"{descriptor == caller.call('socket', quietly=True)}")
    caller.destroy()
    return caller.story


@scenario
def nobody_there_asynchronously(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.closed_port, how="connect_async")
    caller.call("socket")
    caller.destroy()
    return caller.story


@scenario
def a_session_that_ends_with_the_connection(place: Place) -> list[str]:
    """5.0, not clean, and no Session Expiry Interval."""
    server = Scripted({1: bytes.fromhex("2003000000")})
    caller = place.caller(clean=False, version=5)
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.destroy()
    server.close()
    connect = server.packets[0]
    properties, said = connect[13:13 + connect[12]], []
    while properties:
        said.append(properties[0])
        properties = properties[{0x11: 5, 0x21: 3, 0x27: 5}[properties[0]]:]
    return [*caller.story, f"Clean Start {connect[9] >> 1 & 1}, expiry said: {0x11 in said}"]


@scenario
def a_long_name_in_3_1(place: Place) -> list[str]:
    server = Scripted({1: CONNACK})
    caller = place.caller(id=b"a-name-of-more-than-23-characters", version=3)
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.destroy()
    server.close()
    return [*caller.story, server.packets[0].hex()]


@scenario
def destroyed_in_on_disconnect(place: Place) -> list[str]:
    """Nothing of it is left."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        caller = place.caller()
        caller.does = {"disconnect": caller.destroy}
        caller.connect(place.port)
        caller.loop_until("on_connect")
        caller.call("disconnect")
    return [*caller.story, f"{len(os.listdir('/proc/self/fd')) - before} descriptors more"]
