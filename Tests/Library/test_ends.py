"""How a connection, or the attempt at one, ends, and what the program is told of it."""

from __future__ import annotations

import errno
import signal
import socket
import time

import pytest

from Support import smq
from Support.scripted_broker import PINGREQ, Script, answer_then, close, disconnect, nothing, refuse, reset
from Support.servers import free_port

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


# ---- No connection ----


def test_refused_port(clients, protocol):
    client = clients(host="127.0.0.1", port=free_port(), protocol=protocol)
    for attempt in (1, 2):
        assert client.connect() == smq.OK
        event = client.ended_with(smq.ERR_NETWORK, smq.STAGE_CONNECT)
        assert (event.os_error, event.reason_code, event.attempt) == (
            errno.ECONNREFUSED,
            -1,
            attempt,
        )


def test_unknown_host(clients):
    client = clients(url="mqtt://name.invalid")
    assert client.connect() == smq.OK
    event = client.ended_with(smq.ERR_RESOLVE, smq.STAGE_RESOLVE, timeout=35)
    assert event.os_error in (
        socket.EAI_NONAME,
        socket.EAI_AGAIN,
        socket.EAI_FAIL,
        socket.EAI_NODATA,
    )


def test_a_name_is_resolved_without_blocking(clients):
    client = clients(url="mqtt://name.invalid")
    start = time.monotonic()
    assert client.connect() == smq.OK
    assert client.disconnect(0) == smq.OK
    assert time.monotonic() - start < 5
    assert client.disconnected().status == smq.OK


@pytest.mark.parametrize("where", ["CONNECT unanswered", "full backlog"])
def test_a_silent_server(clients, broker, protocol, where):
    broker.scripts = [Script(at={1: nothing})]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as full:
        url = broker.url
        waiting = []
        if where == "full backlog":  # the kernel then leaves SYNs unanswered
            url = f"mqtt://127.0.0.1:{full.getsockname()[1]}"
            for _ in range(4):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex(full.getsockname())
        client = clients(url=url, protocol=protocol, connect_timeout_ms=300)
        start = time.monotonic()
        assert client.connect() == smq.OK
        event = client.disconnected()
        assert 0.298 <= time.monotonic() - start < 20
        assert (event.status, event.os_error, event.reason_code) == (smq.ERR_TIMEOUT, 0, -1)
        assert event.stage in (smq.STAGE_CONNECT, smq.STAGE_CONNACK)
        if where == "CONNECT unanswered":
            assert event.stage == smq.STAGE_CONNACK
        for sock in waiting:
            sock.close()


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_connack_refuses_3_1_1(clients, broker, code):
    broker.scripts = [Script(at={1: refuse(code)})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    assert client.ended_with(smq.ERR_REFUSED, smq.STAGE_CONNACK).reason_code == code


@pytest.mark.parametrize("code", [0x80, 0x84, 0x85, 0x86, 0x87, 0x88, 0x95, 0x9C, 0x9D, 0x9F])
def test_connack_refuses_5_0(clients, broker, code):
    words = dict(reason_string="nicht heute", server_reference="other.example:1883")
    broker.scripts = [Script(at={1: refuse(code, **words)})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    event = client.ended_with(smq.ERR_REFUSED, smq.STAGE_CONNACK)
    assert event.reason_code == code
    assert event.reason_string == b"nicht heute"
    assert event.server_reference == b"other.example:1883"
    assert event.os_error == 0


@pytest.mark.parametrize("how, status", [(close, "ERR_CLOSED"), (reset, "ERR_NETWORK")])
def test_ended_instead_of_connack(clients, broker, protocol, how, status):
    broker.scripts = [Script(at={1: how})]
    client = clients(url=broker.url, protocol=protocol)
    assert client.connect() == smq.OK
    event = client.ended_with(getattr(smq, status), smq.STAGE_CONNACK)
    assert event.os_error == (errno.ECONNRESET if how is reset else 0)


# ---- A connection that ends ----


@pytest.mark.parametrize("how, status", [(close, "ERR_CLOSED"), (reset, "ERR_NETWORK")])
def test_ended_in_the_middle(clients, broker, protocol, how, status):
    broker.scripts = [Script(at={2: how})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    event = client.ended_with(getattr(smq, status), smq.STAGE_CONNECTED)
    assert event.os_error == (errno.ECONNRESET if how is reset else 0)


def test_mosquitto_killed_in_mid_flight(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, **KEEP)
    client.connected()
    mosquitto.send_signal(signal.SIGSTOP)
    for cookie in range(50):
        assert client.publish("a", b"x", qos=cookie % 3, cookie=cookie) == smq.OK
    client.step(0)
    mosquitto.kill()
    event = client.disconnected()
    assert event.stage == smq.STAGE_CONNECTED
    assert (event.status, event.os_error) in (
        (smq.ERR_CLOSED, 0),
        (smq.ERR_NETWORK, errno.ECONNRESET),
        (smq.ERR_NETWORK, errno.EPIPE),
    )
    assert client.connect() == smq.OK
    assert client.disconnected().os_error == errno.ECONNREFUSED
    # With the server back every message ends, each once. The session is lost: so may QoS 2 be.
    mosquitto.start()
    client.connected()
    client.until(lambda: client.stats.messages_completed + client.stats.messages_failed == 50)
    ended = [e for e in client.events if e.type == smq.EVENT_COMPLETED]
    assert sorted(e.cookie for e in ended) == list(range(50))
    assert {e.status for e in ended if e.cookie % 3 != 2} == {smq.OK}
    assert {e.status for e in ended if e.cookie % 3 == 2} <= {smq.OK, smq.ERR_SESSION_LOST}


def test_a_stopped_server_is_noticed_by_keep_alive(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, keep_alive_s=1, ping_timeout_ms=300)
    client.connected()
    mosquitto.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    client.ended_with(smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert time.monotonic() - start < 1.3 + 20


def test_no_pingresp(clients, broker, protocol):
    broker.scripts = [Script(answer_ping=False)]
    client = clients(url=broker.url, protocol=protocol, keep_alive_s=1, ping_timeout_ms=200)
    client.connected()
    start = time.monotonic()
    client.ended_with(smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert 0.7 < time.monotonic() - start < 1.2 + 20
    broker.wait_for(lambda: len(broker.of(PINGREQ)) == 1)


def test_server_keep_alive(clients, broker):
    broker.scripts = [Script(connack=dict(server_keep_alive=1))]
    client = clients(url=broker.url, protocol=V5, keep_alive_s=600)
    client.connected()
    client.until(lambda: broker.of(PINGREQ))


def test_keep_alive_off(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, keep_alive_s=smq.OFF)
    client.connected()
    assert broker.connects[0]["keep_alive"] == 0
    assert smq.library.smq_next_timeout_ms(client.handle) == -1


def test_disconnect_from_the_server(clients, broker):
    words = dict(reason_string="moving", server_reference="there:1")
    broker.scripts = [Script(at={1: answer_then(disconnect(0x9D, **words))})]
    client = clients(url=broker.url, protocol=V5)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    event = client.ended_with(smq.ERR_SERVER_CLOSED, smq.STAGE_CONNECTED)
    assert (event.reason_code, event.reason_string) == (0x9D, b"moving")
    assert event.server_reference == b"there:1"
