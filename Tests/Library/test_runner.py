"""smq_runner_start(): a thread of the library's that owns a client."""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from Support import smq
from Support.scripted_broker import CONNECT, Script, nothing
from Support.servers import free_port
from Support.waiting import PATIENCE


@dataclass
class Told:
    type: int
    status: int
    cookie: int
    topic: bytes
    thread: int


class Running:
    """A runner with a client, and what its callback was told."""

    def __init__(self, client: smq.Client, react: Callable[[Told], None] = lambda told: None):
        self.client, self.react = client, react
        self.runner = smq.Runner()
        self.told: list[Told] = []
        self.failures: list[BaseException] = []
        self.callback = smq.HANDLER(self.called)

    def called(self, user: int, handle: int, event: object) -> None:
        raw = event.contents
        told = Told(raw.type, raw.status, raw.cookie, raw.topic.value(), threading.get_native_id())
        self.told.append(told)
        try:
            assert handle == self.client.handle.value and user == 42
            self.react(told)
        except BaseException as failure:  # it would be printed and forgotten
            self.failures.append(failure)

    def start(self, **options: object) -> int:
        on_event = ctypes.cast(self.callback, ctypes.c_void_p).value
        how = smq.RunnerOptions(**{"on_event": on_event, "user": 42, **options})
        return smq.library.smq_runner_start(self.runner, self.client.handle, how)

    def stop(self, drain_ms: int = 5000) -> int:
        status = smq.library.smq_runner_stop(self.runner, drain_ms)
        assert self.failures == []
        return status

    def of(self, type: int) -> list[Told]:
        return [told for told in self.told if told.type == type]

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, self.told
            time.sleep(0.005)

    @property
    def task(self) -> Path:
        """Of the runner's thread, which must have told something."""
        return Path(f"/proc/self/task/{self.told[0].thread}")


@pytest.fixture
def run(clients):
    """Makes clients that are run; what still runs in the end is stopped."""
    made: list[Running] = []

    def make(react: Callable[[Told], None] = lambda told: None, **options: object) -> Running:
        made.append(Running(clients(**options), react))
        return made[-1]

    yield make
    for running in made:
        smq.library.smq_runner_stop(running.runner, 0)


@pytest.mark.parametrize("submit_messages", [0, 16])
def test_connects_and_leaves(run, broker, submit_messages):
    running = run(url=broker.url, submit_messages=submit_messages)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_CONNECTED))
    begin = time.monotonic()
    assert running.stop() == smq.OK
    assert time.monotonic() - begin < 25
    assert [told.type for told in running.told] == [smq.EVENT_CONNECTED, smq.EVENT_DISCONNECTED]
    assert running.told[-1].status == smq.OK
    assert {told.thread for told in running.told} != {threading.get_native_id()}
    # The client is ours again.
    assert running.client.state == smq.STATE_DISCONNECTED
    running.client.connected()
    assert running.client.leave().status == smq.OK


def test_delivers_what_was_submitted(run, mosquitto, subscriber):
    running = run(url=mosquitto.url, submit_messages=64, outbox_messages=2)
    assert running.start() == smq.OK
    for cookie in range(50):
        assert running.client.submit("a", str(cookie), qos=2, cookie=cookie) == smq.OK
    running.until(lambda: len(running.told) > 10)
    for cookie in range(50, 60):
        while running.client.submit("a", str(cookie), qos=2, cookie=cookie) == smq.ERR_FULL:
            time.sleep(0.001)
    assert running.stop() == smq.OK
    completed = running.of(smq.EVENT_COMPLETED)
    assert [(told.cookie, told.status) for told in completed] == [(n, smq.OK) for n in range(60)]
    subscriber.until(lambda: len(subscriber.messages) == 60)
    assert [int(m.payload) for m in subscriber.messages] == list(range(60))
    assert running.client.stats.submit_waiting == 0


def test_the_callback_owns_the_client(run, mosquitto):
    """It subscribes, publishes and submits."""

    def react(told: Told) -> None:
        client = running.client
        if told.type == smq.EVENT_CONNECTED:
            assert client.subscribe("in/#", cookie=1, qos=1) == smq.OK
        elif told.type == smq.EVENT_COMPLETED and told.cookie == 1:
            assert client.publish("in/published", qos=1, cookie=2) == smq.OK
            assert client.submit("in/submitted", qos=1, cookie=3) == smq.OK

    running = run(react, url=mosquitto.url, submit_messages=4)
    assert running.start() == smq.OK
    running.until(lambda: len(running.of(smq.EVENT_MESSAGE)) == 2)
    assert running.stop() == smq.OK
    assert {told.topic for told in running.of(smq.EVENT_MESSAGE)} == {b"in/published", b"in/submitted"}
    assert {told.cookie for told in running.of(smq.EVENT_COMPLETED)} == {1, 2, 3}


def test_takes_over_a_client_that_is_connected(run, broker):
    running = run(url=broker.url)
    assert running.client.connect() == smq.OK
    running.client.until(lambda: running.client.state == smq.STATE_CONNECTED)
    client = running.client
    assert client.publish("a", qos=1, cookie=7) == smq.OK
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_COMPLETED))
    assert running.stop() == smq.OK
    assert len(broker.of(CONNECT)) == 1


def test_starts_again(run, broker):
    running = run(url=broker.url, submit_messages=4)
    for round in range(1, 4):
        assert running.start() == smq.OK
        assert running.start() == smq.ERR_STATE
        assert running.client.submit("a", qos=1, cookie=round) == smq.OK
        running.until(lambda: len(running.of(smq.EVENT_COMPLETED)) == round)
        assert running.stop() == smq.OK
        assert running.stop() == smq.OK
        assert len(running.of(smq.EVENT_DISCONNECTED)) == round
    assert len(list(Path("/proc/self/task").iterdir())) < 10


def test_what_comes_after_it_left_waits(run, broker):
    running = run(url=broker.url, submit_messages=4)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_CONNECTED))
    assert running.stop() == smq.OK
    assert running.client.submit("a", cookie=9) == smq.OK
    assert running.start() == smq.OK
    running.until(lambda: [told.cookie for told in running.of(smq.EVENT_COMPLETED)] == [9])
    assert running.stop() == smq.OK


# ---- Stopping ----


def test_not_from_its_own_thread(run, broker):
    answers = []

    def react(told: Told) -> None:
        answers.append(smq.library.smq_runner_stop(running.runner, 0))

    running = run(react, url=broker.url)
    assert running.start() == smq.OK
    running.until(lambda: answers)
    assert running.stop() == smq.OK
    assert set(answers) == {smq.ERR_STATE}


def test_while_nobody_answers(run, broker):
    """CONNACK never comes: there is nothing to drain, and DISCONNECT goes out."""
    broker.scripts = [Script(on={CONNECT: nothing})]
    running = run(url=broker.url, submit_messages=4)
    assert running.start() == smq.OK
    assert running.client.submit("a", qos=1) == smq.OK
    time.sleep(0.1)
    begin = time.monotonic()
    assert running.stop(30_000) == smq.OK
    assert time.monotonic() - begin < 25
    assert [told.type for told in running.told] == [smq.EVENT_DISCONNECTED]


def test_drains_no_longer_than_it_may(run, broker):
    broker.scripts = [Script(hold={4})]  # PUBACK
    running = run(url=broker.url, submit_messages=4)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_CONNECTED))
    assert running.client.submit("a", qos=1) == smq.OK
    begin = time.monotonic()
    assert running.stop(300) == smq.OK
    assert 0.29 < time.monotonic() - begin < 20
    assert running.told[-1].type == smq.EVENT_DISCONNECTED
    assert running.client.stats.outbox_messages == 1


def test_while_it_waits_for_the_next_attempt(run):
    client = dict(url=f"mqtt://127.0.0.1:{free_port()}", reconnect_min_ms=60_000)
    running = run(**client, reconnect=True)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_DISCONNECTED))
    assert running.client.submit("a") == smq.ERR_NOT_SUPPORTED
    begin = time.monotonic()
    assert running.stop() == smq.OK
    assert time.monotonic() - begin < 25


def test_a_callback_that_connects_again_does_not_keep_it(run, broker):
    def react(told: Told) -> None:
        if told.type == smq.EVENT_DISCONNECTED:
            assert running.client.connect() == smq.OK

    running = run(react, url=broker.url)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_CONNECTED))
    assert running.stop() == smq.OK
    assert running.client.state == smq.STATE_DISCONNECTED


def test_disconnected_it_waits_to_be_stopped(run, broker):
    """With a wait for ever that would be pointless in a loop of one's own."""

    def react(told: Told) -> None:
        if told.type == smq.EVENT_CONNECTED:
            assert running.client.disconnect() == smq.OK

    running = run(react, url=broker.url)
    assert running.start() == smq.OK
    running.until(lambda: running.of(smq.EVENT_DISCONNECTED))
    before = (running.task / "schedstat").read_text().split()[2]
    time.sleep(0.2)
    assert int((running.task / "schedstat").read_text().split()[2]) - int(before) < 5, "it spins"
    assert running.stop() == smq.OK


# ---- The thread ----


def test_the_thread(run, broker):
    running = run(url=broker.url)
    assert running.start(name="fifteen bytes.", stack_bytes=262_144) == smq.OK
    running.until(lambda: running.told)
    assert (running.task / "comm").read_text() == "fifteen bytes.\n"
    status = (running.task / "status").read_text()
    blocked = int(status.split("SigBlk:")[1].split()[0], 16)
    for number in range(1, 65):
        # KILL and STOP cannot be, and glibc keeps 32 and 33 to itself.
        assert bool(blocked >> (number - 1) & 1) == (number not in (9, 19, 32, 33))
    assert os.sched_getscheduler(int(running.task.name)) == os.sched_getscheduler(0)
    assert running.stop() == smq.OK

    assert running.start() == smq.OK
    running.told.clear()
    running.until(lambda: running.told)
    assert (running.task / "comm").read_text() == "smq-runner\n"
    assert running.stop() == smq.OK


def test_priority(run, broker):
    running = run(url=broker.url)
    status = running.start(priority=7)
    if status == smq.ERR_NO_THREAD and running.runner.os_error == 1:
        pytest.skip("SCHED_FIFO is not permitted")
    assert status == smq.OK
    running.until(lambda: running.told)
    thread = int(running.task.name)
    assert os.sched_getscheduler(thread) == os.SCHED_FIFO
    assert os.sched_getparam(thread).sched_priority == 7
    assert running.stop() == smq.OK


def test_without_a_thread(run, broker):
    running = run(url=broker.url)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20, before[1]))
    try:
        assert running.start(stack_bytes=268_435_456) == smq.ERR_NO_THREAD
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert running.runner.os_error == 11  # EAGAIN
    assert running.stop() == smq.OK
    # It is as if nothing had been.
    assert running.start() == smq.OK
    running.until(lambda: running.told)
    assert running.stop() == smq.OK


def test_wrong_calls(run, broker):
    running = run(url=broker.url)
    library, handle = smq.library, running.client.handle
    good = smq.RunnerOptions()
    assert library.smq_runner_start(None, handle, good) == smq.ERR_NULL
    assert library.smq_runner_start(running.runner, None, good) == smq.ERR_NULL
    assert library.smq_runner_start(running.runner, handle, None) == smq.ERR_NULL
    for expected, options in [
        (smq.ERR_STRUCT_SIZE, dict(size=8)),
        (smq.ERR_STRUCT_SIZE, dict(reserved=1)),
        (smq.ERR_OPTION, dict(priority=-1)),
        (smq.ERR_OPTION, dict(priority=100)),
        (smq.ERR_OPTION, dict(stack_bytes=131_071)),
        (smq.ERR_OPTION, dict(stack_bytes=268_435_457)),
        (smq.ERR_OPTION, dict(name="sixteen bytes...")),
        (smq.ERR_OPTION, dict(name=b"a\0")),
        (smq.ERR_NULL, dict(name=smq.Bytes(None, 1))),
    ]:
        assert running.start(**options) == expected, options
    assert library.smq_runner_stop(None, 0) == smq.ERR_NULL
    assert library.smq_runner_stop(running.runner, 86_400_001) == smq.ERR_OPTION
    assert library.smq_runner_stop(running.runner, 86_400_000) == smq.OK  # it does not run
    assert bytes(running.runner) == bytes(ctypes.sizeof(smq.Runner))
    nobody = smq.RunnerOptions()  # on_event may be NULL
    assert library.smq_runner_start(running.runner, handle, nobody) == smq.OK
    broker.wait_for(lambda: broker.of(CONNECT))
    assert running.stop() == smq.OK
    library.smq_client_close(handle)
    assert library.smq_runner_start(running.runner, handle, good) == smq.ERR_CLIENT
    running.client.handle = None
