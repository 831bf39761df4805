"""Threads, and loops of the program's own."""

from __future__ import annotations

import select
import threading
import time
from ctypes import byref, c_bool, c_int

from .calls import Scripted
from .scenario import CONNACK, Place, scenario


@scenario
def another_thread_publishes(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.port)
    caller.call("loop_start")
    caller.wait_for("on_connect")
    results = []
    threads = [threading.Thread(target=lambda: results.extend(
        place.library.mosquitto_publish(caller.handle, None, b"t", 1, b"x", 1, c_bool(False)) for _ in range(50)))
        for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    caller.wait_for("on_publish", count=150)
    caller.call("disconnect")
    caller.call("loop_stop", c_bool(False))
    caller.call("loop_stop", c_bool(False))
    caller.destroy()
    return [*map(str, results), *sorted(caller.story)]


@scenario
def threads_begin_and_end(place: Place) -> list[str]:
    caller = place.caller()
    caller.call("loop_stop", c_bool(True))
    caller.call("loop_start")
    caller.call("loop_start")
    caller.connect(place.port)
    caller.wait_for("on_connect")
    caller.call("loop_stop", c_bool(True))
    caller.call("loop_start")
    caller.publish(b"a", b"x", 1)
    caller.wait_for("on_publish")
    caller.call("disconnect")
    caller.call("loop_stop", c_bool(False))
    caller.call("threaded_set", c_bool(True))
    caller.call("loop_start")
    caller.call("loop_stop", c_bool(True))
    caller.destroy()
    return sorted(caller.story)


@scenario
def a_thread_and_no_server(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.closed_port, how="connect_async")
    caller.call("loop_start")
    time.sleep(0.2)
    caller.publish(b"a", b"x", 1)
    caller.call("disconnect")
    caller.call("loop_stop", c_bool(False))
    caller.destroy()
    return sorted(caller.story)


@scenario
def destroyed_while_it_runs(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.port)
    caller.call("loop_start")
    caller.wait_for("on_connect")
    caller.destroy()
    return sorted(caller.story)


@scenario
def own_poll(place: Place) -> list[str]:
    caller = place.caller()
    caller.connect(place.port)
    caller.does = {"connect": lambda: caller.subscribe(b"poll", 1)}
    poll = select.poll()
    end = time.monotonic() + 5
    while not any(line.startswith("on_message") for line in caller.story) and time.monotonic() < end:
        descriptor = place.library.mosquitto_socket(caller.handle)
        wants = place.library.mosquitto_want_write(caller.handle)
        poll.register(descriptor, select.POLLIN | (select.POLLOUT if wants else 0))
        for _, event in poll.poll(100):
            if event & select.POLLIN:
                caller.call("loop_read", 1, quietly=True)
            if event & select.POLLOUT:
                caller.call("loop_write", 1, quietly=True)
        caller.call("loop_misc", quietly=True)
        poll.unregister(descriptor)
        if caller.story[-1].startswith("on_subscribe"):
            caller.publish(b"poll", b"x", 0)
    caller.call("want_write")
    caller.call("disconnect")
    caller.call("socket")
    caller.destroy()
    return [line for line in caller.story if line != "on_publish"]


@scenario
def own_poll_and_nothing_comes(place: Place) -> list[str]:
    """What there is to be told does not wait for the server, nor for the next mosquitto_loop_misc()."""
    server = Scripted({1: CONNACK})
    caller = place.caller()
    caller.connect(server.port)
    caller.loop_until("on_connect")
    caller.publish(b"a", b"x", 0)
    end = time.monotonic() + 5
    while place.library.mosquitto_want_write(caller.handle) and time.monotonic() < end:
        caller.call("loop_write", 1, quietly=True)
    caller.story.sort()
    caller.destroy()
    server.close()
    return caller.story


@scenario
def pieces_without_a_connection(place: Place) -> list[str]:
    """Before the first, after one that nobody took, and after the last: on_disconnect is told each time."""
    caller = place.caller()
    calls = [("loop_read", 1), ("loop_write", 1), ("loop_misc",), ("loop", 0, 1)]
    steps = [lambda: None, lambda: caller.connect(place.closed_port),
             lambda: (caller.connect(place.port), caller.loop_until("on_connect"), caller.call("disconnect"))]
    for step in steps:
        step()
        for name, *arguments in calls:
            caller.call(name, *arguments)
    for name in ("loop_read", "loop_write"):
        caller.call(name, 0)
    caller.destroy()
    return caller.story


def mid_is_known(place: Place, qos: int) -> list[str]:
    """What mosquitto_publish() wrote is there when on_publish comes, also of another thread."""
    caller = place.caller()
    known: list[bool] = []
    mid = c_int(0)
    caller.does = {"publish": lambda: known.append(mid.value > 0)}
    caller.connect(place.port)
    caller.call("loop_start")
    caller.wait_for("on_connect")
    for number in range(20):
        mid.value = 0
        place.library.mosquitto_publish(caller.handle, byref(mid), b"mid", 1, b"x", qos, c_bool(False))
        caller.wait_for("on_publish", count=number + 1)
    caller.call("disconnect")
    caller.call("loop_stop", c_bool(False))
    caller.destroy()
    return [str(all(known)), str(len(known))]


@scenario
def mid_is_known_qos1(place: Place) -> list[str]:
    return mid_is_known(place, 1)


@scenario
def mid_is_known_qos2(place: Place) -> list[str]:
    return mid_is_known(place, 2)


@scenario
def leaving_without_acknowledgements(place: Place) -> list[str]:
    """More messages than may be in flight, and none is acknowledged: nobody waits long for that."""
    server = Scripted({1: CONNACK})
    caller = place.caller()
    caller.connect(server.port)
    caller.loop_until("on_connect")
    for _ in range(50):
        caller.call("publish", None, b"a", 1, b"x", 1, c_bool(False), quietly=True)
    begin = time.monotonic()
    caller.call("disconnect")
    took = time.monotonic() - begin
    caller.destroy()
    server.close()
    return [*caller.story, f"in time: {took < 10}"]


@scenario
def leaving_while_the_server_takes_nothing(place: Place) -> list[str]:
    """It all goes out later, in the program's loop, and DISCONNECT behind it."""
    has_left = threading.Event()
    server = Scripted({1: CONNACK, 3: lambda packet: len(server.packets) == 2 and has_left.wait(30) and None})
    caller = place.caller()
    caller.connect(server.port)
    caller.loop_until("on_connect")
    for _ in range(16):  # more than the kernel takes of both ends (tcp_wmem, tcp_rmem)
        caller.call("publish", None, b"a", 1_000_000, b"x" * 1_000_000, 0, c_bool(False), quietly=True)
    begin = time.monotonic()
    caller.call("disconnect")
    took = time.monotonic() - begin
    has_left.set()
    caller.loop_until("on_disconnect", timeout=10)
    caller.destroy()
    end = time.monotonic() + 5
    while server.packets[-1][0] != 0xE0 and time.monotonic() < end:
        time.sleep(0.01)
    server.close()
    story = [line for line in caller.story if line != "on_publish"]
    return [*story, f"in time: {took < 10}", f"{[hex(packet[0]) for packet in server.packets]}"]
