"""swiftmqtt.stomp.stomppy: the interface of stomp.py. The same program runs on both, and says the same."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading

import pytest

import swiftmqtt.stomp.stomppy as stomp

from .conftest import TLS_LIBRARY
from .stomp_servers import Connection, Scripted
from Support.servers import free_port
from Support.waiting import PATIENCE

PROGRAM = """
import sys, threading
if sys.argv[1] == "theirs":
    import stomp
else:
    import swiftmqtt.stomp.stomppy as stomp
port, vhost, queue = int(sys.argv[2]), sys.argv[3], sys.argv[4]
told, changed = [], threading.Condition()

def tell(*what):
    with changed:
        told.append(what)
        changed.notify_all()

def wait(kind, count=1):
    with changed:
        assert changed.wait_for(lambda: sum(what[0] == kind for what in told) >= count, 30), told

class Listener(stomp.ConnectionListener):
    def on_connecting(self, host_and_port): tell("connecting", host_and_port == ("127.0.0.1", port))
    def on_connected(self, frame): tell("connected", frame.headers["version"])
    def on_message(self, frame):
        tell("message", frame.headers["subscription"], frame.headers["own"], frame.body)
        connection.ack(frame.headers["message-id"], frame.headers["subscription"])
    def on_receipt(self, frame): tell("receipt", frame.headers["receipt-id"])
    def on_error(self, frame): tell("error", frame.headers["message"])
    def on_disconnected(self): tell("disconnected")

connection = stomp.Connection([("127.0.0.1", port)], vhost=vhost)
connection.set_listener("it", Listener())
connection.connect("guest", "guest", wait=True)
print(connection.is_connected(), connection.get_listener("it") is not None)
connection.subscribe(queue, id=7, ack="client-individual")
for number in range(3):
    connection.send(queue, f"number {number}", content_type="text/plain", headers={"own": f"{number}"}, receipt=f"r{number}")
    wait("receipt", number + 1)
    wait("message", number + 1)
name = connection.begin(transaction="t1")
connection.send(queue, "in it", transaction="t1", own="t")
connection.commit("t1")
wait("message", 4)
name = connection.begin()
connection.send(queue, "never", transaction=name, own="t")
connection.abort(name)
connection.disconnect(receipt="bye")
wait("disconnected")
print(connection.is_connected())
print(sorted(told))
"""


def test_the_same_program_on_both(coilmq, with_stomp_requirements, environment, level):
    said = []
    for python, which in ((with_stomp_requirements, "theirs"), (sys.executable, "ours")):
        command = [python, "-c", PROGRAM, which, str(coilmq.port), coilmq.virtual_host, f"/queue/{level}-{which}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]


class Listener(stomp.ConnectionListener):
    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.ended = threading.Event()

    def on_error(self, frame: stomp.Frame) -> None:
        self.told.append((frame.headers["message"], frame.body))

    def on_heartbeat_timeout(self) -> None:
        self.told.append(("heart-beat", None))

    def on_disconnected(self) -> None:
        self.ended.set()


def test_an_error_of_the_server():
    def script(connection: Connection) -> None:
        connection.accept("1.2")
        connection.expect("SEND")
        connection.write("ERROR", b"why", message="no")

    listener = Listener()
    with Scripted(script) as server:
        connection = stomp.Connection12([("127.0.0.1", server.port)])
        connection.set_listener("", listener)
        connection.connect(wait=True)
        connection.send("/q", b"x")
        assert listener.ended.wait(PATIENCE)
    assert listener.told == [("no", "why")]
    with pytest.raises(stomp.exception.NotConnectedException):
        while True:
            connection.send("/q", "x")
    connection.disconnect()  # nothing is left to do


def test_a_heart_beat_that_does_not_come():
    def script(connection: Connection) -> None:
        connection.accept("1.1", heart_beat="50,0")
        while True:
            connection.read()

    listener = Listener()
    with Scripted(script) as server:
        connection = stomp.Connection([("127.0.0.1", server.port)], heartbeats=(0, 50))
        connection.set_listener("", listener)
        connection.connect(wait=True)
        assert listener.ended.wait(PATIENCE)
    assert listener.told == [("heart-beat", None)]


def test_nobody_is_there():
    connection = stomp.Connection([("127.0.0.1", free_port())], reconnect_attempts_max=2)
    with pytest.raises(stomp.exception.ConnectFailedException):
        connection.connect(wait=True)
    assert not connection.is_connected()


def test_it_tries_again_and_connects_again(monkeypatch):
    """Nothing listens at first: the server begins to while the client waits for its second attempt."""

    def accepts(connection: Connection) -> None:
        connection.accept("1.1")
        connection.serve()

    waited: list[int] = []
    with Scripted(accepts, accepts, listens=False) as server:

        def pause(self: stomp.Connection, attempts: int) -> float:
            waited.append(attempts)
            server.listen()
            return 0.0

        monkeypatch.setattr(stomp.Connection, "_pause_s", pause)
        connection = stomp.Connection([("127.0.0.1", server.port)])
        for _ in range(2):
            connection.connect(wait=True)
            assert connection.is_connected()
            connection.disconnect()
            assert not connection.is_connected()
    assert waited == [1]


def accepts(connection: Connection) -> None:
    connection.accept("1.1")
    connection.serve()


def test_ipv6():
    """stomp.py, test_ipv6.py."""
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    with Scripted(accepts, host="::1") as server:
        connection = stomp.Connection([("::1", server.port)])
        connection.connect(wait=True)
        connection.send("/q", "x", receipt="r")
        connection.disconnect()
    assert [frame.command for frame in server.heard] == ["CONNECT", "SEND", "DISCONNECT"]


@pytest.mark.parametrize("has_certificate", [False, True])
def test_tls(certificates, has_certificate):
    """stomp.py, test_ssl.py: a connection, one with a certificate of its own, and a CA that is not the server's."""
    if not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.good.chain, certificates.good.key)
    own = {}
    if has_certificate:
        context.load_verify_locations(certificates.ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
        own = {"key_file": str(certificates.client.key), "cert_file": str(certificates.client.file)}
    with Scripted(accepts, tls=context) as server:
        hosts = [("localhost", server.port)]
        connection = stomp.Connection(hosts, resolve=lambda *_: ["127.0.0.1"])
        assert connection.get_ssl() is None
        connection.set_ssl(hosts, ca_certs=str(certificates.ca_file), **own)
        connection.connect(wait=True)
        assert connection.get_ssl() is not None
        connection.send("/q", "x", receipt="r")
        connection.disconnect()
    assert [frame.command for frame in server.heard] == ["CONNECT", "SEND", "DISCONNECT"]


def test_tls_with_a_server_that_nobody_has_signed(certificates):
    if not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.good.chain, certificates.good.key)
    told = stomp.listener.TestListener(print_to_log=True)
    with Scripted(accepts, tls=context) as server:
        hosts = [("localhost", server.port)]
        connection = stomp.Connection(hosts, reconnect_attempts_max=1, resolve=lambda *_: ["127.0.0.1"])
        connection.set_listener("it", told)
        connection.set_ssl(hosts)  # the CAs of the system
        with pytest.raises(stomp.exception.ConnectFailedException):
            connection.connect(wait=True)
        server.listener.close()
        assert (told.connections, told.messages, told.errors) == (0, 0, 0)


def test_wrong_arguments_of_set_ssl():
    connection = stomp.Connection([("127.0.0.1", 1), ("127.0.0.1", 2)])
    with pytest.raises(ValueError, match="all hosts"):
        connection.set_ssl([("127.0.0.1", 1)])
    with pytest.raises(ValueError, match="not supported"):
        connection.set_ssl([("127.0.0.1", 1), ("127.0.0.1", 2)], cert_validator=lambda *_: (True, ""))
