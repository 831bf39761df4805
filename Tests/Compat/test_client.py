"""The same calls on both libraries: what they return, whom they call, and in which order."""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from ctypes import byref, c_bool, c_void_p
from pathlib import Path

import pytest
from Support.servers import Mosquitto, free_port

from . import scenarios_anew, scenarios_calls, scenarios_loops, scenarios_servers  # noqa: F401
from .calls import Caller, Scripted
from .scenario import CONNACK, SCENARIOS, Place

# What differs on purpose: why, and our lines in the place of libmosquitto's.
DIFFERENCES: dict[str, tuple[str, dict[str, str]]] = {
    "new_and_destroy": (
        "libmosquitto leaves errno as it happens to be",
        {"new b'\\xff' True = False, 9": "new b'\\xff' True = False, 22"}),
    "the_server_sends_the_loop_away": (
        "a loop whose server says DISCONNECT goes on, as after every other end",
        {"loop_forever = 0 after 1 connections": "loop_forever = 0 after 2 connections"}),
    "will_with_a_wrong_qos": (
        "libmosquitto takes it, and the server hangs up",
        {"will_set = 0": "will_set = 3"}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """It knows one user, and lets in those without a name."""
    folder = tmp_path_factory.mktemp("server")
    users: Path = folder / "users"
    subprocess.run(["mosquitto_passwd", "-c", "-b", users, "me", "right"], check=True, timeout=10)
    server = Mosquitto(folder, password_file=users)
    server.start()
    yield server
    server.stop()


def in_a_process(body: Callable[[], list[str]], seconds: float = 30) -> list[str]:
    """In a process of its own: what crashes or hangs is a story, too."""
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe()
    process = context.Process(target=lambda: its.send(body()), daemon=True)
    process.start()
    its.close()
    try:
        return mine.recv() if mine.poll(seconds) else ["hangs"]
    except EOFError:
        process.join(5)
        return [f"ended with {process.exitcode}"]
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same(name: str, real: ctypes.CDLL, ours: ctypes.CDLL, server: Mosquitto) -> None:
    closed = free_port()
    places = [Place(library, server.port, closed) for library in (real, ours)]
    stories = [in_a_process(lambda place=place: SCENARIOS[name](place)) for place in places]
    _, other = DIFFERENCES.get(name, ("", {}))
    assert stories[1] == [part for line in stories[0] for part in other.get(line, line).split("\n")]
    assert set(other) <= set(stories[0]), "what is in the table is no difference"


def limited(library: ctypes.CDLL, port: int) -> list[str]:
    os.environ |= {"MOSQUITTO_OUTBOX_BYTES": "2048", "MOSQUITTO_OUTBOX_MESSAGES": "3"}
    caller = Caller(library)
    caller.publish(b"limited", b"x" * (2048 - len(b"limited")), 1)
    caller.connect(port)
    for size in (4000, 1000, 100, 100, 100):
        caller.publish(b"limited", b"x" * size, 1)
    caller.loop_until("on_publish", count=3)
    caller.publish(b"limited", b"x" * 1000, 1)
    caller.destroy()
    return caller.story


def test_limits(ours: ctypes.CDLL, server: Mosquitto) -> None:
    """Ours only: MOSQ_ERR_OVERSIZE_PACKET for what never fits, MOSQ_ERR_NOMEM for what does not now."""
    story = in_a_process(lambda: limited(ours, server.port))
    assert story == ["publish = 25", "connect = 0", "publish = 25", *["publish = 0"] * 3, "publish = 1", "on_connect 0",
                     *["on_publish"] * 3, "publish = 0"]


def left_with_a_wrong_reason(library: ctypes.CDLL) -> list[str]:
    server = Scripted({1: bytes.fromhex("2003000000"), 3: lambda packet: b"\x40\2" + packet[5:7]})
    caller = Caller(library, version=5)
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.call("disconnect_v5", 3, None)
    caller.publish(b"a", b"x", 1)
    caller.loop_until("on_publish")
    caller.destroy()
    return caller.story


def test_a_wrong_reason(ours: ctypes.CDLL) -> None:
    """Ours only, libmosquitto sends it: what is refused changes nothing."""
    story = in_a_process(lambda: left_with_a_wrong_reason(ours))
    assert story == ["connect = 0", "on_connect 0", "disconnect_v5 = 3", "publish = 0", "on_publish"]


def refused_late(library: ctypes.CDLL) -> list[str]:
    """There is no room for the last one until the server has said that it has no Shared Subscriptions."""
    server = Scripted({1: lambda packet: time.sleep(0.3) or bytes.fromhex("2005000002" "2a00"),
                       8: lambda packet: b"\x90\4" + packet[2:4] + b"\0\1"})
    caller = Caller(library, version=5)
    caller.connect(server.port)
    results = {caller.call("subscribe", None, b"a/%d" % number, 1, quietly=True) for number in range(256)}
    results.add(caller.call("subscribe", None, b"$share/group/a", 1, quietly=True))
    caller.loop_until("on_subscribe", count=257)
    caller.destroy()
    server.close()
    return [str(results), *(f"{caller.story.count(f'on_subscribe granted {code}')} {code}" for code in (1, 128))]


def test_a_subscription_that_waits_and_is_refused(ours: ctypes.CDLL) -> None:
    """Ours only, libmosquitto sends it: each call has its on_subscribe."""
    assert in_a_process(lambda: refused_late(ours)) == ["{0}", "256 1", "1 128"]


def with_long_topics(library: ctypes.CDLL) -> list[str]:
    topic, alias = b"t" * 10_000, b"\3\x23\0\1"
    body = struct.pack(">H", len(topic)) + topic + alias + b"one"
    named = b"\x30" + bytes([len(body) & 127 | 128, len(body) >> 7]) + body
    server = Scripted({1: bytes.fromhex("2003000000") + named + b"\x30\x09\0\0" + alias + b"two"})
    caller = Caller(library, version=5)
    properties = c_void_p()
    library.mosquitto_property_add_int16(byref(properties), 0x22, 10)
    caller.call("connect_bind_v5", b"127.0.0.1", server.port, 60, None, properties)
    caller.loop_until("on_message", count=2)
    caller.destroy()
    server.close()
    return [line.replace(topic.decode(), "TOPIC") for line in caller.story]


def test_a_long_topic_with_an_alias(ours: ctypes.CDLL) -> None:
    """Ours only: for libmosquitto the second message is MOSQ_ERR_PROTOCOL."""
    story = in_a_process(lambda: with_long_topics(ours))
    assert story == ["connect_bind_v5 = 0", "on_connect 0", "on_message TOPIC one q0 r0", "on_message TOPIC two q0 r0"]


# Functions that log, and which loops run then. A thread's loop would log the answer to CONNECT meanwhile.
LOGGED = [("connect", "loop"), *((name, "loop", "loop_start") for name in ("publish", "subscribe", "unsubscribe",
                                                                           "disconnect"))]


def destroyed_in_on_log(library: ctypes.CDLL, port: int) -> list[str]:
    before, story = len(os.listdir("/proc/self/fd")), []
    for function, *ways in LOGGED:
        for how in ways:
            caller = Caller(library)
            caller.connect(port)
            if how == "loop_start":
                caller.call("loop_start")
                caller.wait_for("on_connect")
            else:
                caller.loop_until("on_connect")
            caller.does = {"log": caller.destroy}
            caller.kept.append(caller.callback("log"))
            arguments = {"connect": (b"127.0.0.1", port, 60), "publish": (None, b"a", 1, b"x", 1, c_bool(False)),
                         "subscribe": (None, b"a", 0), "unsubscribe": (None, b"a")}.get(function, ())
            caller.call(function, *arguments)
            story += [line for line in caller.story if line.startswith(("on_log", function))][-2:]
    return [*story, f"{len(os.listdir('/proc/self/fd')) - before} descriptors more"]


def test_destroyed_in_on_log(ours: ctypes.CDLL, server: Mosquitto) -> None:
    """Ours only, libmosquitto goes on with what it has freed: nothing of it is left, and its thread has ended."""
    story = in_a_process(lambda: destroyed_in_on_log(ours, server.port))
    told = [line for name, *ways in LOGGED for _ in ways for line in ("on_log 16", f"{name} = 0")]
    assert story == [*told, "0 descriptors more"]


def destroyed_at(library: ctypes.CDLL, port: int, place: int) -> list[str]:
    """A client that is destroyed when so much has been told: all of that."""
    told: list[str] = []
    caller = Caller(library)

    def note(name: str) -> None:
        told.append(name)
        if len(told) == place:
            caller.destroy()

    names = ("log", "connect", "connect_with_flags", "connect_v5", "subscribe", "publish", "message", "unsubscribe",
             "disconnect", "disconnect_v5")
    caller.does = {name: functools.partial(note, name) for name in names}
    caller.kept += [caller.callback(name) for name in names]
    steps = [lambda: caller.connect(port), "connect_v5", lambda: caller.subscribe(b"destroyed", 2), "subscribe",
             lambda: caller.publish(b"destroyed", b"x", 2), "publish", "message",
             lambda: caller.call("unsubscribe", None, b"destroyed"), "unsubscribe",
             lambda: caller.call("disconnect"), caller.destroy]
    for step in steps:
        if callable(step):
            step()
        while isinstance(step, str) and step not in told and len(told) < place:
            caller.call("loop", 1000, 1, quietly=True)
        if len(told) >= place:
            break
    return told


def test_destroyed_in_any_callback(ours: ctypes.CDLL, server: Mosquitto) -> None:
    """Ours only: nothing is told any more, as what the callbacks use may have gone, too."""
    place, told = 0, []
    while len(told) == place:
        place += 1
        told = in_a_process(functools.partial(destroyed_at, ours, server.port, place))
        assert len(told) <= place, f"destroyed in {told[place - 1]}, then {told[place:]}"
    assert told[-1] == "disconnect_v5" and {"message", "publish", "subscribe", "unsubscribe"} <= set(told)


def slow(library: ctypes.CDLL) -> list[str]:
    """A client each for a CONNACK and a PUBACK that come after the core's own 30 seconds, and for none that comes."""
    def late(answer: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        return lambda packet: time.sleep(31) or answer(packet)

    servers = [Scripted({1: late(lambda packet: CONNACK)}),
               Scripted({1: CONNACK, 3: late(lambda packet: b"\x40\2" + packet[5:7])}), Scripted({})]
    callers = [Caller(library) for _ in servers]
    for caller, server, keepalive in zip(callers, servers, (60, 60, 10), strict=True):
        caller.connect(server.port, keepalive)
        caller.publish(b"a", b"x", 1)
        caller.call("loop_start")
    for caller, word in zip(callers, ("on_connect", "on_publish", "on_disconnect"), strict=True):
        caller.wait_for(word, 40)
        caller.call("loop_stop", c_bool(True))
        caller.destroy()
    return [caller.story[3] if index != 1 else caller.story[4] for index, caller in enumerate(callers)]


def test_a_slow_server(ours: ctypes.CDLL) -> None:
    """Ours only, as libmosquitto does not wait so long for CONNACK with a Keep Alive of 10 s: who is gone is for Keep
    Alive to tell."""
    assert in_a_process(lambda: slow(ours), 60) == ["on_connect 0", "on_publish", "on_disconnect 19"]
