"""The examples that are not tested elsewhere, as somebody would run them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import smq

EXAMPLES = Path(smq.LIBRARY).parent / "examples"
BRIDGE = """
import os, select, socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    for ready in select.select([0, server], [], [])[0]:
        data = os.read(0, 4096) if ready == 0 else server.recv(4096)
        if not data:
            sys.exit()
        server.sendall(data) if ready == 0 else os.write(1, data)
"""


@pytest.fixture
def run() -> Iterator[Callable[..., subprocess.Popen]]:
    running: list[subprocess.Popen] = []

    def start(name: str, *arguments: str) -> subprocess.Popen:
        pipe = subprocess.PIPE
        running.append(
            subprocess.Popen(
                [EXAMPLES / name, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_gateway(run, mosquitto, clients):
    """While the server is away only the latest value of each topic is kept, and the alarm goes first."""
    witness = clients(
        url=mosquitto.url, client_id="witness", flags=smq.OPTION_KEEP_SESSION, reconnect=True, reconnect_min_ms=20
    )
    witness.connect()
    witness.wait_event(smq.EVENT_CONNECTED)
    assert witness.subscribe("#", qos=1, cookie=1) == smq.OK
    assert witness.completed(1).status == smq.OK
    mosquitto.stop()
    gateway = run("gateway", mosquitto.url)
    for number in range(50):
        gateway.stdin.write(f"t/{number % 5} {number}\n")
    gateway.stdin.write("!alarm fire\n")
    gateway.stdin.flush()
    time.sleep(0.3)
    mosquitto.start()  # which has written down for whom it keeps what
    witness.until(lambda: len(witness.of(smq.EVENT_MESSAGE)) == 6)
    got = [(e.topic, e.payload) for e in witness.of(smq.EVENT_MESSAGE)]
    assert got == [(b"alarm", b"fire"), *((b"t/%d" % n, b"%d" % (45 + n)) for n in range(5))]
    gateway.stdin.close()
    assert gateway.wait(20) == 0
    log = gateway.stderr.read()
    assert "attempt 1 0\n" in log and "connected 4 0\n" in log


def test_gateway_whose_input_ends_at_once(run, mosquitto, clients):
    """What was read before there is a connection arrives all the same, the last line without its end too."""
    witness = clients(url=mosquitto.url)
    witness.connected()
    assert witness.subscribe("#", qos=1, cookie=1) == smq.OK
    assert witness.completed(1).status == smq.OK
    gateway = run("gateway", mosquitto.url)
    gateway.communicate("t/1 a\n!alarm b\nt/2 c", timeout=20)
    assert gateway.returncode == 0
    witness.until(lambda: len(witness.of(smq.EVENT_MESSAGE)) == 3)
    got = [(e.topic, e.payload) for e in witness.of(smq.EVENT_MESSAGE)]
    assert got == [(b"alarm", b"b"), (b"t/1", b"a"), (b"t/2", b"c")]


def test_gateway_with_nobody_there(run, mosquitto):
    """It does not wait for ever, and does not say that all is well."""
    mosquitto.stop()
    start = time.monotonic()
    gateway = run("gateway", mosquitto.url)
    _, log = gateway.communicate("t/1 a\n" + "!alarm b\n" * 17, timeout=20)
    assert gateway.returncode == 1
    assert 5 <= time.monotonic() - start < 10
    assert log.count("alarm lost: alarm: SMQ_ERR_FULL\n") == 1
    assert log.endswith("messages not delivered: 17\n")


def test_uptime(run, mosquitto, clients):
    witness = clients(url=mosquitto.url)
    witness.connected()
    assert witness.subscribe("uptime", cookie=1) == smq.OK
    assert witness.completed(1).status == smq.OK
    uptime = run("uptime", mosquitto.url)
    witness.until(lambda: len(witness.of(smq.EVENT_MESSAGE)) >= 2)
    uptime.send_signal(signal.SIGTERM)
    assert uptime.wait(20) == 0
    values = [int(e.payload) for e in witness.of(smq.EVENT_MESSAGE)]
    assert values == list(range(values[0], values[0] + len(values)))


def test_listen(run, mosquitto, clients):
    listen = run("listen", mosquitto.url, "a/+")
    client = clients(url=mosquitto.url)
    client.connected()
    assert client.publish("a/b", b"c", qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 1)
    assert listen.stdout.readline() == "a/b: c\n"
    assert client.publish("a/c", b"x" * 5000, qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 2)
    assert listen.stderr.readline() == "SMQ_ERR_RECEIVE_TOO_LARGE\n"  # and not as if it were empty
    assert client.publish("a/d", b"e", qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 3)
    assert listen.stdout.readline() == "a/d: e\n"
    listen.send_signal(signal.SIGINT)
    assert listen.wait(20) == 0


def test_through(run, mosquitto, clients, tmp_path):
    """The engine speaks through a command, and starts another one when that has ended."""
    bridge = tmp_path / "bridge.py"
    bridge.write_text(BRIDGE)
    through = run("through", "a/#", sys.executable, str(bridge), str(mosquitto.port))
    client = clients(url=mosquitto.url, reconnect=True, reconnect_min_ms=20)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.publish("a/b", b"1", qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 1)
    assert through.stdout.readline() == "a/b: 1\n"
    mosquitto.kill()
    mosquitto.start()
    client.events.clear()
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.publish("a/c", b"2", qos=1, retain=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 2)
    assert through.stdout.readline() == "a/c: 2\n"
    through.send_signal(signal.SIGTERM)
    assert through.wait(20) == 0


def test_dry(run):
    """A day in no time: a PINGREQ each ten seconds at most, and no more than one in eight."""
    dry = run("dry")
    output, _ = dry.communicate(timeout=20)
    assert dry.returncode == 0
    *sent, last = output.splitlines()
    assert sent[0].endswith("first 0x10")
    assert last.endswith("still connected")
    pings = (int(last.split()[3]) - 20) // 2
    assert 8640 <= pings <= 10800


def test_submit_with_nobody_there(run, mosquitto):
    mosquitto.stop()
    submit = run("submit", mosquitto.url, "3")
    output, _ = submit.communicate(timeout=20)
    assert submit.returncode == 1
    assert output.startswith("3 samples, 0 missed, 3 not sent")


def test_through_a_command_that_ends_at_once(run):
    """It is told as soon as that is seen, whether reading or sending shows it, and tried again."""
    through = run("through", "#", "false")
    for _ in range(2):
        assert through.stderr.readline().startswith(("SMQ_ERR_CLOSED, ", "SMQ_ERR_NETWORK, "))
    through.send_signal(signal.SIGTERM)
    assert through.wait(20) == 0


def test_through_a_command_that_heeds_no_signal(run):
    through = run("through", "#", "sh", "-c", "trap '' TERM; echo ready >&2; while :; do sleep 0.1; done")
    assert through.stderr.readline() == "ready\n"
    through.send_signal(signal.SIGTERM)
    assert through.wait(20) == 0


def test_through_no_command(run):
    through = run("through", "#", "/no such command")
    assert through.stderr.readline() == "/no such command: No such file or directory\n"


@pytest.mark.parametrize("name", ["gateway", "listen", "publish", "request", "runner", "small", "submit", "subscribe", "uptime"])
def test_wrong_url(run, name):
    """It says where, and tells nobody the password."""
    program = run(name, "mqtt://user:secret@host:99999")
    _, errors = program.communicate(timeout=20)
    assert program.returncode == 1
    assert errors.startswith("SMQ_ERR_URL: wrong at byte 24; a URL is mqtt://")
    assert "secret" not in errors
