"""The way to a connection: what smq_connect() does, how long it may take, and why it fails."""

from __future__ import annotations

import contextlib
import select
import socket
import time

import pytest
from Support import smq
from Support.scripted_broker import CONNECT, Script, nothing, refuse

ENDED = smq.EVENT_DISCONNECTED
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=200)


def test_the_connect_timeout_is_exact(clients, broker):
    """The client tells its caller when the time is up."""
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, connect_timeout_ms=333)
    begin = time.monotonic()
    assert client.connect() == smq.OK
    rounds = 0
    while not client.of(ENDED):
        due = smq.library.smq_next_timeout_ms(client.handle)
        assert 0 <= due <= 333
        select.select([smq.library.smq_fd(client.handle)], [], [], due / 1000)
        client.step(0)
        rounds += 1
    assert rounds <= 8  # connected, CONNECT sent, the time is up
    assert 0.332 <= time.monotonic() - begin < 20
    assert client.disconnected().status == smq.ERR_TIMEOUT


def test_subscribed_before_connected(clients, mosquitto):
    """What is subscribed to before the first connection is subscribed to on it, and on the next."""
    client = clients(url=mosquitto.url, **QUICK)
    assert client.subscribe("a", qos=1, cookie=1) == smq.OK
    assert client.connect() == smq.OK
    assert client.completed(1).status == smq.OK
    mosquitto.publish("a", "first")
    assert client.message().payload == b"first"
    mosquitto.kill()
    mosquitto.start()
    client.disconnected()
    client.wait_event(smq.EVENT_CONNECTED)
    client.wait_event(smq.EVENT_CONNECTED)
    mosquitto.publish("a", "second", "-r")  # retained: in time in any case
    assert client.message().payload == b"second"


def test_connected_means_accepted(clients, broker):
    """Before CONNACK the client is connecting."""
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, connect_timeout_ms=500)
    assert client.connect() == smq.OK
    client.until(lambda: broker.of(CONNECT))
    client.run(0.1)
    assert (client.state, list(client.events)) == (smq.STATE_CONNECTING, [])
    assert client.disconnected().status == smq.ERR_TIMEOUT


def test_connecting_does_not_wait(clients):
    """Here is a server whose queue is full: the kernel leaves SYNs unanswered."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        client = clients(host="127.0.0.1", port=full.getsockname()[1], connect_timeout_ms=1000)
        assert client.connect() == smq.OK
        assert smq.library.smq_service(client.handle) == 0  # back, and it is still trying
        assert client.state == smq.STATE_CONNECTING
        event = client.disconnected()
        assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_CONNECT)


@pytest.mark.parametrize("code", [4, 5])
def test_why_it_was_refused(clients, broker, code):
    """Connect Return codes 4 and 5 have names of their own."""
    broker.scripts = [Script(at={1: refuse(code)})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code, event.protocol) == (smq.ERR_REFUSED, code, 4)
    name = smq.library.smq_reason_code_name(4, code).decode().lower()
    assert ("user name" if code == 4 else "authorized") in name


def test_a_server_that_is_not_there_at_first(clients, mosquitto):
    """The client tries again after its first attempt has failed."""
    mosquitto.stop()
    client = clients(url=mosquitto.url, **QUICK)
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) >= 2)
    mosquitto.start()
    client.wait_event(smq.EVENT_CONNECTED)
