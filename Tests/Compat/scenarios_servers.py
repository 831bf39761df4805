"""What the server sees, and how it can end."""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from ctypes import byref, c_bool

from .calls import Scripted
from .scenario import CONNACK, Place, scenario
from .test_messages import Message


@scenario
def acknowledged_before_the_callback_returns(place: Place) -> list[str]:
    message = bytes.fromhex("320600016100" "0178")
    server = Scripted({1: CONNACK, 8: lambda packet: b"\x90\x03" + packet[2:4] + b"\1" + message})
    caller = place.caller()
    found: list[str] = []

    def look() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end and not any(packet[0] == 0x40 for packet in server.packets):
            time.sleep(0.01)
        found.append(f"PUBACK in time: {any(packet[0] == 0x40 for packet in server.packets)}")

    caller.does = {"connect": lambda: caller.subscribe(b"a", 1), "message": look}
    caller.connect(server.port)
    caller.loop_until("on_message")
    caller.destroy()
    server.close()
    return caller.story + found


@scenario
def messages_before_a_reconnect(place: Place) -> list[str]:
    """The second is there, and nobody was told of it, when the program connects anew; it comes again, and another."""
    one, two, three = (bytes.fromhex(text) for text in ("32060001610001" "31", "32060001610002" "32",
                                                        "32060001610003" "33"))
    answers = [CONNACK + one + two, bytes.fromhex("20020100") + b"\x3a" + two[1:] + three]
    server = Scripted({1: lambda packet: answers.pop(0)})
    caller = place.caller(clean=False)
    caller.does = {"message": lambda: caller.does.pop("message") and caller.call("reconnect")}
    caller.connect(server.port)
    time.sleep(0.2)
    end = time.monotonic() + 5
    while not any(packet == bytes.fromhex("40020003") for packet in server.packets) and time.monotonic() < end:
        caller.call("loop", 50, 1, quietly=True)
    caller.destroy()
    server.close()
    return sorted([*caller.story, *sorted({packet.hex() for packet in server.packets if packet[0] == 0x40})])


def ends(place: Place, server: Scripted, keepalive: int, seconds: float, version: int = 4) -> list[str]:
    """How the end of a connection is told, in a thread's loop that is not to connect again."""
    caller = place.caller(version=version)
    caller.call("reconnect_delay_set", 100, 100, c_bool(False))
    caller.connect(server.port, keepalive)
    caller.call("loop_start")
    begin = time.monotonic()
    caller.wait_for("on_disconnect", seconds)
    took = time.monotonic() - begin
    time.sleep(0.3)
    caller.call("loop_stop", c_bool(True))
    caller.destroy()
    server.close()
    # Seldom, libmosquitto connects again long before the delay is over: how that goes on is another story.
    ended = next((index for index, line in enumerate(caller.story) if line.startswith("on_disconnect")), 0)
    story = [line for index, line in enumerate(caller.story) if index < ended or not line.startswith("on_connect")]
    return [*sorted(story), f"in time: {7 < took < 18 if keepalive == 5 else took < 8}"]


@scenario
def the_server_hangs_up(place: Place) -> list[str]:
    return ends(place, Scripted({1: CONNACK + bytes.fromhex("3004000161" "78"), 12: b""}), 60, 1)


@scenario
def the_server_does_not_answer(place: Place) -> list[str]:
    """After 7 to 12 seconds, and once."""
    return ends(place, Scripted({1: CONNACK}), 5, 15)


@scenario
def the_server_says_why_it_leaves(place: Place) -> list[str]:
    return ends(place, Scripted({1: bytes.fromhex("2003000000" "e0028b00")}), 60, 8, version=5)


@scenario
def the_server_breaks_a_rule(place: Place) -> list[str]:
    return ends(place, Scripted({1: CONNACK + bytes.fromhex("f000")}), 60, 8)


@scenario
def garbage_and_the_loop(place: Place) -> list[str]:
    """It ends: to connect again would bring the same."""
    server = Scripted({1: CONNACK + bytes.fromhex("f000")})
    caller = place.caller()
    caller.connect(server.port)
    caller.call("loop_forever", 100, 1)
    caller.destroy()
    server.close()
    return caller.story


@scenario
def the_server_sends_the_loop_away(place: Place) -> list[str]:
    server = Scripted({1: bytes.fromhex("2003000000" "e0018b")})
    caller = place.caller(version=5)
    caller.does = {"connect": lambda: caller.story.count("on_connect 0") > 1 and caller.call("disconnect")}
    caller.connect(server.port)
    result = caller.call("loop_forever", 100, 1, quietly=True)
    caller.destroy()
    server.close()
    return [f"loop_forever = {result} after {caller.story.count('on_connect 0')} connections"]


def names(place: Place, id: bytes | None, version: int) -> list[str]:
    server = Scripted({1: CONNACK if version < 5 else bytes.fromhex("2003000000")})
    caller = place.caller(id, version=version)
    caller.connect(server.port)
    caller.loop_until("on_connect")
    name = server.client_id()
    first = server.packets[0]
    caller.call("disconnect")
    caller.destroy()
    server.close()
    if version == 3 and id is None:
        return [f"{name[:5]!r} {len(name)} {name[5:].isalnum()}"]
    return [repr(name), *([first.hex()] if version < 5 else []), *caller.story]


@scenario
def client_ids(place: Place) -> list[str]:
    return [line for id in (None, b"me") for version in (3, 4, 5) for line in names(place, id, version)]


@scenario
def disconnect_in_callbacks(place: Place) -> list[str]:
    story = []
    for where in ("connect", "subscribe", "message", "publish"):
        caller = place.caller()
        steps = {"connect": lambda caller=caller: caller.subscribe(b"bye", 0),
                 "subscribe": lambda caller=caller: caller.publish(b"bye", b"x", 1)}
        caller.does = steps | {where: lambda caller=caller: caller.call("disconnect")}
        if where == "publish":
            caller.does["subscribe"] = lambda caller=caller: caller.publish(b"other", b"x", 1)
        caller.connect(place.port)
        caller.call("loop_forever", 100, 1)
        caller.destroy()
        story += [line for line in caller.story if where != "message" or line != "on_publish"]
    return story


@scenario
def will_and_login(place: Place) -> list[str]:
    server = Scripted({1: CONNACK})
    caller = place.caller()
    for arguments in ((None, 0, None, 0), (b"w/#", 0, None, 0), (b"w", -1, None, 0), (b"w", 3, b"bye", 1)):
        caller.call("will_set", *arguments, c_bool(True))
    caller.call("username_pw_set", None, b"secret")
    caller.call("username_pw_set", b"me", None)
    caller.call("username_pw_set", b"me", b"secret")
    caller.connect(server.port, 5)
    caller.loop_until("on_connect")
    caller.call("will_clear")
    caller.call("username_pw_set", None, None)
    caller.call("reconnect")
    caller.loop_until("on_connect", count=2)
    caller.destroy()
    server.close()
    return [*(packet.hex() for packet in server.packets if packet[0] == 0x10), *caller.story]


def login(place: Place, version: int, name: bytes | None, password: bytes | None) -> list[str]:
    """Connect Flags and payload of CONNECT."""
    server = Scripted({1: CONNACK if version < 5 else bytes.fromhex("2003000000")})
    caller = place.caller(b"id", version=version)
    caller.call("username_pw_set", name, password)
    if caller.connect(server.port) == 0:
        caller.loop_until("on_connect")
    caller.destroy()
    server.close()
    sent = [packet[9 if version > 3 else 11:] for packet in server.packets]
    return [*caller.story, *(f"{packet[0]:x} {packet[packet.index(b'id'):].hex()}" for packet in sent)]


@scenario
def names_and_passwords_of_no_bytes(place: Place) -> list[str]:
    return [line for version in (3, 4, 5) for name in (None, b"", b"n") for password in (None, b"", b"p")
            for line in login(place, version, name, password)]


def broken(place: Place, how: str, *calls: tuple[object, ...]) -> list[str]:
    """Calls on a connection that the server has closed, or reset, before a loop could notice; and afterwards."""
    listener = socket.create_server(("127.0.0.1", 0))
    caller = place.caller()
    caller.connect(listener.getsockname()[1])
    peer, _ = listener.accept()
    with listener, peer:
        peer.recv(4096)
        peer.sendall(CONNACK)
        caller.loop_until("on_connect")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", how == "reset", 0))
    for name, *arguments in calls:
        if getattr(caller, name, None):
            getattr(caller, name)(*arguments)
        else:
            caller.call(name, *arguments)
        if caller.story[-1].endswith("= 14"):
            caller.story.append(f"errno {ctypes.get_errno()}")
        time.sleep(0.1)  # what was sent is refused by now
    caller.destroy()
    return [line for line in caller.story if line != "on_publish"]


PUBLISH, SUBSCRIBE = [("publish", b"a", b"x", qos) for qos in (0, 1)], [("subscribe", b"a")]
UNTIL_TOLD = [("loop", 10, 1), *PUBLISH, *SUBSCRIBE, ("disconnect",), ("loop", 10, 1)]


@scenario
def closed_and_not_noticed(place: Place) -> list[str]:
    return broken(place, "closed", *PUBLISH, *PUBLISH, *SUBSCRIBE, *UNTIL_TOLD)


@scenario
def reset_and_not_noticed(place: Place) -> list[str]:
    return broken(place, "reset", *PUBLISH, *SUBSCRIBE, ("unsubscribe", None, b"a"), *UNTIL_TOLD)


@scenario
def reset_and_subscribed(place: Place) -> list[str]:
    return broken(place, "reset", *SUBSCRIBE, *SUBSCRIBE, *PUBLISH, *UNTIL_TOLD)


@scenario
def reset_and_left(place: Place) -> list[str]:
    """To a program that has said that it leaves, the end is none that it has to care for."""
    return broken(place, "reset", *PUBLISH, ("disconnect",), ("loop", 10, 1), ("loop", 10, 1))


@scenario
def will_with_a_wrong_qos(place: Place) -> list[str]:
    caller = place.caller()
    caller.call("will_set", b"w", 3, b"bye", 3, c_bool(True))
    caller.destroy()
    return caller.story


@scenario
def a_long_life_in_one_call(place: Place) -> list[str]:
    """mosquitto_subscribe_simple(), whose topic has retained messages."""
    caller = place.caller()
    caller.connect(place.port)
    caller.loop_until("on_connect")
    caller.publish(b"simple/a", b"one", 1, True)
    caller.publish(b"simple/b", b"two", 1, True)
    caller.loop_until("on_publish", count=2)
    caller.call("disconnect")
    caller.destroy()
    story = []
    for count, retained in ((1, True), (2, True)):
        messages = ctypes.POINTER(Message)()
        result = place.library.mosquitto_subscribe_simple(
            byref(messages), count, c_bool(retained), b"simple/#", 1, b"127.0.0.1", place.port, None, 60, c_bool(True),
            None, None, None, None)
        story.append(f"{result} " + " ".join(sorted(
            f"{ctypes.string_at(messages[index].topic)} {ctypes.string_at(messages[index].payload)}"
            f" {messages[index].qos} {messages[index].retain}" for index in range(count) if result == 0)) if count > 1
            else str(result))
    story.append(str(place.library.mosquitto_subscribe_simple(
        byref(messages), 1, c_bool(True), b"simple/#", 0, b"127.0.0.1", place.port, None, 60, c_bool(True),
        b"me", b"right", None, None)))
    for id in (None, b"", b"\xff"):
        story.append(str(place.library.mosquitto_subscribe_simple(
            byref(messages), 1, c_bool(True), b"simple/#", 0, b"127.0.0.1", place.port, id, 60, c_bool(id is not None),
            None, None, None, None)))
    story.append(str(place.library.mosquitto_subscribe_simple(
        byref(messages), 1, c_bool(True), b"simple/#", 0, b"127.0.0.1", place.closed_port, None, 60, c_bool(True),
        None, None, None, None)))
    return story
