"""Threads, signals, memory: what a client does to the process that it is in."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from typing import Any

import pytest
import swiftmqtt
from swiftmqtt import Client, LogItem, LogLevel, Status

from .conftest import descriptors


def test_others_run_while_a_client_waits(server):
    """The GIL is not held: this thread counts while another one waits, all the time."""
    with Client(server.url) as client:
        waits = threading.Event()
        ended: list[BaseException | None] = []

        def wait() -> None:
            waits.set()
            try:
                client.receive(0.5)
            except TimeoutError as error:
                ended.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        waits.wait(5)
        before, turns = time.thread_time(), 0
        while not ended:
            turns += 1
        # Had it been held for half a second there would have been a turn or two, and no processor time.
        assert turns > 10_000 and time.thread_time() - before > 0.05
        thread.join()


def test_another_thread_is_told_that_the_client_is_in_use(server):
    with Client(server.url, run=False) as client:
        waits, seen = threading.Event(), []

        def intrude() -> None:
            waits.wait(5)
            for call in (lambda: client.publish("a"), lambda: client.receive(1), client.close, lambda: client.stats):
                try:
                    call()
                except swiftmqtt.ArgumentError as error:
                    seen.append(error.status)
            client.submit(level, "done")

        level = f"intrusion-{os.getpid()}"
        client.subscribe(level).wait(5)
        thread = threading.Thread(target=intrude)
        thread.start()
        client.on_connected = None
        waits.set()
        assert client.receive(10).text() == "done"
        thread.join()
        assert set(seen) <= {Status.STATE} and len(seen) >= 1
        # One after the other is fine.
        thread = threading.Thread(target=lambda: client.publish(level, "by another").wait(5))
        thread.start()
        thread.join()
        assert client.receive(5).text() == "by another"


def test_submitting_from_many_threads(server, level):
    with Client(server.url, submit_messages=4096, run=False) as client:
        client.subscribe(level, 1).wait(5)
        futures: list[object] = []

        def submit(number: int) -> None:
            for count in range(200):
                futures.append(client.submit(level, [number, count], qos=1))

        threads = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        came = [client.receive(10).json() for _ in range(800)]
        for thread in threads:
            thread.join()
        for number in range(4):
            assert [c for n, c in came if n == number] == list(range(200))
        client.run(0.1)
        assert all(future.result(1).reason_code == 0 for future in futures)
        with pytest.raises(swiftmqtt.ArgumentError) as told:
            client.submit(level, b"x" * 5000)
        assert told.value.status == Status.TOO_LARGE
        for _ in range(4096):
            client.submit(level)
        with pytest.raises(swiftmqtt.NoRoomError):
            client.submit(level)
        future = client.submit
    with pytest.raises(swiftmqtt.ClosedError):
        future(level)


def test_closing_while_others_submit(server, level):
    """Each submit() ends well, or says that the client is closed; and each future ends."""
    for _ in range(10):
        client = Client(server.url)
        client.connect()
        futures: list[Any] = []
        ended: list[str] = []

        def submit() -> None:
            while True:
                try:
                    futures.append(client.submit(level, b"x" * 200, qos=1))
                except swiftmqtt.NoRoomError:
                    pass
                except swiftmqtt.ClosedError:
                    ended.append("closed")
                    return

        threads = [threading.Thread(target=submit) for _ in range(4)]
        for thread in threads:
            thread.start()
        client.run(0.02)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
            client.close()
        for thread in threads:
            thread.join(10)
        assert len(ended) == 4 and futures and all(future.done() for future in futures)


def test_a_submitted_message_wakes_the_client_up(server, level):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        threading.Timer(0.1, client.submit, (level, "wake up")).start()
        assert client.receive(10).text() == "wake up"


@pytest.mark.parametrize("waiting", ["list(client)", "client.subscribe('a').wait(); client.receive()", "client.run()"])
def test_control_c(server, environment, waiting):
    """It ends a client that waits with nothing to do, and the server hears a farewell."""
    code = f"""
import swiftmqtt, sys
with swiftmqtt.Client({server.url!r}, client_id="interrupted", keep_alive_s=1000) as client:
    print("waits", flush=True)
    {waiting}
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.3)  # into the wait; if it is not there yet, the test proves less
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=10)
    assert told.splitlines()[-1] == "KeyboardInterrupt" and process.returncode == -signal.SIGINT


def test_control_c_while_the_library_logs(server):
    """It is not lost in there: whoever called the library gets it, and the hook what was logged."""
    told: list[Any] = []
    with Client(server.url, run=False, log=lambda level, what, *numbers: told.append((what, *numbers))) as client:
        told.clear()
        log = functools.partial(client._kept[1], None, LogLevel.INFO, 14, 1, 0)
        interrupt = functools.partial(ctypes.pythonapi.PyErr_SetInterrupt)
        with pytest.raises(KeyboardInterrupt):
            # One after the other in C: Python looks for signals in between only if a function of its own is called.
            list(map(functools.partial.__call__, [interrupt, log]))
        client.service()
        assert told == [(LogItem.HINT, 1, 0)]


def test_a_signal_handler_runs_while_a_client_waits(server, level):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        before = signal.signal(signal.SIGUSR1, lambda *_: client.submit(level, "from the handler"))
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        try:
            assert client.receive(10).text() == "from the handler"
        finally:
            signal.signal(signal.SIGUSR1, before)


def test_closing():
    client = Client("mqtt://127.0.0.1")
    token = client.publish("a")
    with pytest.warns(swiftmqtt.UndeliveredWarning, match="1 message was not delivered: 'a'; connect.. was never called"):
        client.close()
    client.close()
    assert client.closed and token.done and isinstance(token.error, swiftmqtt.ClosedError)
    for call in (
        client.connect,
        client.disconnect,
        client.receive,
        client.flush,
        client.service,
        client.fileno,
        client.next_timeout,
        client.run,
        client.resumed,
        client.network_changed,
        client.reauthenticate,
        lambda: client.publish("a"),
        lambda: client.submit("a"),
        lambda: client.subscribe("a"),
        lambda: client.request("a", response_topic="b"),
        lambda: client.state,
        lambda: client.client_id,
        lambda: client.__enter__(),
        lambda: client.set_log(None),
    ):
        with pytest.raises(swiftmqtt.ClosedError):
            call()


def test_nothing_is_left_of_clients_that_come_and_go(server):
    def once(number: int) -> None:
        with Client(server.url, log=lambda *_: None) as client:
            client.subscribe("a/+").wait(5)
            client.publish("a/b", {"n": number}, qos=1).wait(5)
            client.receive(5)

    for number in range(20):
        once(number)
    before, memory = descriptors(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(200):
        once(number)
    assert descriptors() == before
    # A client takes more than a megabyte: were they kept, it would be 200 of them.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 8_000


@pytest.mark.parametrize("package, scheme", [("swiftmqtt", "mqtt"), ("swiftmqtt.stomp", "stomp")])
def test_memory_that_a_client_does_not_use_is_not_there(environment, package, scheme):
    """More than a megabyte each; two clients are made before, and what libc kept of those that were closed is used again."""
    text = f"""
import resource, {package}
from {package} import Client

def made(count):
    return [Client("{scheme}://127.0.0.1:1") for _ in range(count)]

for client in made(2):
    client.close()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clients = made(20)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 20)
"""
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env=environment)
    assert float(found.stdout) < 200, found.stderr


def test_nothing_is_left_of_a_client_that_is_used_for_long(server, level):
    with Client(server.url) as client:
        client.subscribe(level, 1).wait(5)

        def some() -> None:
            for _ in range(2000):
                token = client.publish(level, b"x" * 500, qos=1, timeout=5)
            for _ in range(2000):
                client.receive(5)
            token.wait(5)  # the last message may come before its PUBACK

        some()
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(5):
            some()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4_000
        assert not client._pending and not client._waiting_messages


@pytest.mark.parametrize("run", [True, False])
def test_a_client_that_is_forgotten_gives_its_descriptors_back(server, run, recwarn):
    """With a thread: once what it has is delivered. Without one it never will be, which is told."""
    before = descriptors()
    warnings.simplefilter("always")
    for _ in range(5):
        client = Client(server.url, log=lambda *_: None, run=run)
        client.connect()
        client.publish("a", qos=1)
        gone = weakref.ref(client)
        del client
        deadline = time.monotonic() + 10
        while gone() and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.01)
        assert gone() is None
    while descriptors() != before and time.monotonic() < deadline:
        time.sleep(0.01)  # the thread has closed its own at last
    assert descriptors() == before
    told = [str(w.message) for w in recwarn if w.category is swiftmqtt.UndeliveredWarning]
    assert told == ([] if run else ["a client was forgotten before 1 of its messages was delivered"] * 5)


def test_a_client_that_could_not_be_made_leaves_nothing():
    before = descriptors()
    for _ in range(5):
        with pytest.raises(swiftmqtt.ArgumentError):
            Client("mqtt://127.0.0.1", log=print, log_level=9)
    assert descriptors() == before


def test_no_descriptor_left():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(swiftmqtt.NoRoomError) as told:
            Client("mqtt://127.0.0.1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert told.value.status == Status.NO_DESCRIPTOR


def test_a_child_leaves_its_parents_client_alone(server, level):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        child = os.fork()
        if child == 0:
            del client
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        client.publish(level, "still there").wait(5)
        assert client.receive(5).text() == "still there"


def test_in_a_loop_of_ones_own(server, level):
    import select

    client = Client(server.url, run=False)
    client.connect(wait=False)
    client.subscribe(level)
    client.publish(level, "mine", qos=1)
    poll = select.poll()
    poll.register(client, select.POLLIN)
    deadline = time.monotonic() + 10
    while not client.service():
        left = client.next_timeout()
        poll.poll(1000 if left is None else min(left, 1) * 1000)
        assert time.monotonic() < deadline
    assert client.receive(0).text() == "mine"
    client.disconnect()
    client.close()
