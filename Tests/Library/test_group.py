"""smq_group_...(): one descriptor and one deadline for many clients."""

from __future__ import annotations

import ctypes
import re
import resource
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from Support import smq
from Support.scripted_broker import Script
from Support.smq import EVENT_CONNECTED, EVENT_DISCONNECTED, library
from Support.waiting import PATIENCE

HERE = Path(__file__).parent


@pytest.fixture
def group():
    with smq.Group() as group:
        yield group


def connect(group: smq.Group, *clients: smq.Client) -> None:
    group.add(*clients)
    for client in clients:
        assert client.connect() == smq.OK
    group.until(lambda: all(client.of(EVENT_CONNECTED) for client in clients))
    for client in clients:
        client.events.clear()


def test_clients_of_a_group(group, clients, mosquitto, subscribe):
    """All that they do alone, they do in a group: here one relays what the other gets."""
    one, two = clients(url=mosquitto.url, client_id="one"), clients(url=mosquitto.url, client_id="two")
    connect(group, one, two)
    witness = subscribe(mosquitto, "b")
    assert one.subscribe("a", qos=1, cookie=1) == smq.OK
    group.until(one.completions)
    mosquitto.publish("a", "relayed")
    group.until(one.messages)
    # Nobody handed it out.
    assert two.publish("b", one.message().payload, qos=1, cookie=2) == smq.OK
    assert group.timeout_ms == 0
    group.until(two.completions)
    witness.until(lambda: sum(witness.counts) == 1)
    for client in (one, two):
        assert client.disconnect(1000) == smq.OK
    group.until(lambda: one.of(EVENT_DISCONNECTED) and two.of(EVENT_DISCONNECTED))


def test_a_loop_of_ones_own(group, clients, mosquitto):
    """The descriptor and the deadline say all: there is no other reason to call."""
    members = [clients(url=mosquitto.url, keep_alive_s=1) for _ in range(3)]
    connect(group, *members)
    assert members[0].subscribe("a", qos=0, cookie=1) == smq.OK
    poll, wakes, end = select.poll(), 0, time.monotonic() + 3.2
    poll.register(group.fd, select.POLLIN)
    while (left := end - time.monotonic()) > 0:
        timeout = group.timeout_ms
        assert -1 <= timeout <= 1000
        poll.poll(min(timeout, left * 1000) if timeout >= 0 else left * 1000)
        wakes += 1
        assert library.smq_group_service(group.handle) in (0, 1)
        group.take()
    assert [event.cookie for event in members[0].completions()] == [1]
    assert all(not client.of(EVENT_DISCONNECTED) for client in members)
    # Three PINGREQ and their answers of each, the SUBSCRIBE, and the end.
    assert wakes <= 3 * 3 * 2 + 6


def test_messages_of_other_threads(group, clients, mosquitto):
    client = clients(url=mosquitto.url, submit_messages=8)
    connect(group, client, clients(url=mosquitto.url))
    group.until(lambda: group.timeout_ms != 0)
    begin = time.monotonic()
    threading.Timer(0.2, client.submit, ["a", "b"], dict(qos=1, cookie=5)).start()
    assert group.wait(int(PATIENCE * 1000)) == 1
    assert 0.2 <= time.monotonic() - begin
    assert group.take() == [client]
    assert [event.cookie for event in client.completions()] == [5]


def test_a_member_reconnects(group, clients, broker):
    """The wait before an attempt is a deadline like any other."""
    broker.scripts = [Script(), Script()]
    client = clients(url=broker.url, reconnect=True, reconnect_min_ms=100, reconnect_max_ms=100)
    connect(group, client)
    broker.last.end(abruptly=True)
    group.until(lambda: client.of(EVENT_DISCONNECTED))
    group.until(lambda: client.of(EVENT_CONNECTED))


def test_each_is_handed_out_once_a_turn(group, clients, mosquitto):
    """A member whose events the program leaves waits behind the others, and takes no time from them."""
    slow, other = clients(url=mosquitto.url, client_id="slow"), clients(url=mosquitto.url, client_id="other")
    connect(group, slow, other)
    for client, topic in ((slow, "a"), (other, "b")):
        assert client.subscribe(topic, qos=0, cookie=1) == smq.OK
    group.until(lambda: slow.completions() and other.completions())
    for _ in range(3):
        mosquitto.publish("a", "x")
    mosquitto.publish("b", "x")
    turns, taken = 0, []
    deadline = time.monotonic() + PATIENCE
    while len(taken) < 4 and time.monotonic() < deadline:
        assert group.wait(1000) == 1
        seen = []
        while client := group.next_ready():
            seen.append(client)
            taken.append(client.take())
        turns += 1
        assert len(seen) == len({id(client) for client in seen})
    assert len(taken) == 4 and turns >= 3


def test_a_program_that_takes_nothing(group, clients, mosquitto):
    """The event stays, the wait ends at once, and Keep Alive goes on."""
    client = clients(url=mosquitto.url, keep_alive_s=1)
    connect(group, client)
    assert client.subscribe("a", qos=0, cookie=1) == smq.OK
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert group.wait(100) in (0, 1)
        time.sleep(0.005)
    assert group.wait(0) == 1 and group.timeout_ms == 0
    assert group.take() == [client]
    assert client.state == smq.STATE_CONNECTED


def test_members_come_and_go(group, clients, mosquitto):
    one, two, three = (clients(url=mosquitto.url) for _ in range(3))
    connect(group, one, two)
    assert group.remove(one) == smq.OK
    # It is run alone, and the group by itself.
    one.subscribed("a")
    assert two.publish("a", "x", qos=1, cookie=3) == smq.OK
    group.until(two.completions)
    assert one.message().payload == b"x"
    # One that is ready leaves, and so does one that closes.
    connect(group, three)
    assert two.publish("a", "x", qos=1, cookie=4) == three.publish("a", "x", qos=1, cookie=4) == smq.OK
    deadline = time.monotonic() + PATIENCE
    while not library.smq_next_timeout_ms(two.handle) == library.smq_next_timeout_ms(three.handle) == 0:
        assert time.monotonic() < deadline
        group.wait(20)
    assert group.remove(two) == smq.OK
    three.close()
    assert group.next_ready() is None
    assert two.completed(4).status == smq.OK
    group.add(one)
    assert one.disconnect(1000) == smq.OK
    group.until(lambda: one.of(EVENT_DISCONNECTED))


def test_its_capacity(clients, mosquitto):
    with smq.Group(2) as group:
        members = [clients(url=mosquitto.url) for _ in range(3)]
        group.add(*members[:2])
        assert library.smq_group_add(group.handle, members[2].handle) == smq.ERR_FULL
        assert group.remove(members[0]) == smq.OK
        connect(group, members[2])


def test_the_end_of_a_group(clients, mosquitto):
    """Its members live on."""
    client = clients(url=mosquitto.url)
    with smq.Group() as group:
        connect(group, client)
    client.subscribed("a")
    with smq.Group() as group:
        group.add(client)
        assert client.disconnect(1000) == smq.OK
        group.until(lambda: client.of(EVENT_DISCONNECTED))


# ---- Wrong calls ----


def test_memory_of_a_group():
    size = library.smq_group_size
    assert size(0) == size((1 << 20) + 1) == size(0xFFFFFFFF) == 0
    assert 0 < size(1) < size(2) and size(1 << 20) < 40 << 20
    handle, block = ctypes.c_void_p(77), smq.Block(size(4))
    init = library.smq_group_init
    for arguments, expected in [
        ((None, block.size, 4, ctypes.byref(handle)), smq.ERR_NULL),
        ((block.address, block.size, 4, None), smq.ERR_NULL),
        ((block.address + 1, block.size, 4, ctypes.byref(handle)), smq.ERR_MEMORY_ALIGNMENT),
        ((block.address, block.size - 1, 4, ctypes.byref(handle)), smq.ERR_MEMORY_SIZE),
        ((block.address, block.size, 0, ctypes.byref(handle)), smq.ERR_OPTION),
        ((block.address, block.size, (1 << 20) + 1, ctypes.byref(handle)), smq.ERR_OPTION),
    ]:
        assert init(*arguments) == expected
        assert handle.value == 77
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        assert init(block.address, block.size, 4, ctypes.byref(handle)) == smq.ERR_NO_DESCRIPTOR
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert handle.value == 77 and block.whole()


def test_wrong_members(group, clients):
    client = clients(url="mqtt://127.0.0.1:1")
    own = clients(host="h", flags=smq.OPTION_OWN_TRANSPORT)
    assert library.smq_group_add(group.handle, own.handle) == smq.ERR_STATE
    assert library.smq_group_add(group.handle, None) == smq.ERR_NULL
    assert group.remove(client) == smq.ERR_STATE
    group.add(client)
    with smq.Group() as other:
        assert library.smq_group_add(other.handle, client.handle) == smq.ERR_STATE
        assert other.remove(client) == smq.ERR_STATE
    assert library.smq_group_add(group.handle, client.handle) == smq.ERR_STATE
    options = smq.RunnerOptions()
    assert library.smq_runner_start(ctypes.byref(smq.Runner()), client.handle, ctypes.byref(options)) == smq.ERR_STATE
    assert group.remove(client) == smq.OK
    assert group.remove(client) == smq.ERR_STATE


def test_nothing_would_ever_happen(group, clients):
    assert group.wait(-1) == smq.ERR_STATE
    assert group.wait(-2) == smq.ERR_OPTION
    assert group.wait(0) == 0 and group.next_ready() is None and group.timeout_ms == -1
    client = clients(url="mqtt://127.0.0.1:1")
    group.add(client)
    assert group.wait(10) == 0 and group.timeout_ms == -1
    assert group.remove(client) == smq.OK
    assert group.wait(-1) == smq.ERR_STATE


# ---- Thousands ----


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("many") / "many_clients"
    command = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I", smq.HEADER.parent, "-o", program]
    command += [HERE / "many_clients.c", "-L", smq.LIBRARY.parent, "-lswiftmqtt"]
    subprocess.run([*command, f"-Wl,-rpath,{smq.LIBRARY.parent}"], check=True, timeout=60)
    return program


def run(program: Path, count: int, seconds: float, keep_alive_s: int) -> dict[str, int]:
    """What many_clients says, and what its server says."""

    def raise_limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    server = subprocess.Popen(
        [sys.executable, HERE / "bare_server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        port = server.stdout.readline().strip()
        arguments = [program, port, str(count), str(seconds), str(keep_alive_s)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=200, preexec_fn=raise_limit)
        assert done.returncode == 0, done.stderr
        counts = server.communicate("end\n", timeout=PATIENCE)[0]
    finally:
        server.kill()
        server.wait()
    return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", done.stdout + counts)}


def test_ten_thousand_clients(program):
    """Or as many as the limit of descriptors has room for, at two for each."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, (hard - 20) // 2)
    if count < 1000:
        pytest.skip(f"the limit of descriptors is {hard}")
    said = run(program, count, 0.1, 60)
    for name in ("connected", "completed", "disconnected", "connects", "publishes", "disconnects"):
        assert said[name] == count, name
    assert said["wrong"] == said["handed_out"] == 0
    assert said["group_bytes"] < 40 * count


def test_an_idle_client_costs_its_keep_alive(program):
    """It sleeps until PINGREQ is due, and once more until the answer is there."""
    said = run(program, 1, 4.5, 1)
    assert 3 <= said["pings"] <= 5
    assert said["sleeps"] <= 2 * said["pings"] + 2
    # The clock counts whole milliseconds, so a wait may end a fraction of one too early; then there is a second.
    assert said["waits"] <= 2 and said["handed_out"] == 0
