"""docs/troubleshooting.md: symptoms that it names, as a Mosquitto causes them."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest
from Support.servers import Mosquitto
from Support.waiting import wait_for

from .blocks import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
# Publishes to argv[3], in the version argv[2], and says how that ended.
CLIENT = """
import sys, swiftmqtt
try:
    with swiftmqtt.Client(sys.argv[1], protocol=int(sys.argv[2]), client_id="one", reconnect=False) as client:
        client.publish(sys.argv[3], "b", qos=1).wait(60)
    print("well")
except swiftmqtt.Error as error:
    print(error.status.name, error.stage.name, hex(error.reason_code))
"""
# Stays connected until something ends the connection.
STAYS = """
import sys, threading, swiftmqtt
over = threading.Event()
with swiftmqtt.Client(sys.argv[1], protocol=5, client_id="one", reconnect=False) as client:
    def ended(error):
        print(error.status.name)
        over.set()
    client.on_disconnected = ended
    print("connected", flush=True)
    over.wait(60)
"""


def said(session, url: str, protocol: int, topic: str = "a") -> str:
    done = subprocess.run([sys.executable, "-c", CLIENT, url, str(protocol), topic], env=session.environment,
                          capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_client_id_is_taken_over(session):
    process = subprocess.Popen([sys.executable, "-c", STAYS, session.broker.url], env=session.environment,
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "connected\n"
        assert said(session, session.broker.url, 5) == "well"
        assert process.stdout.readline() in ("SERVER_CLOSED\n", "CLOSED\n")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    text = "already connected, closing old connection"
    assert text in PAGE
    wait_for(lambda: text in session.broker.log.read_text(), "the server's log")


def test_a_port_speaks_something_else(session):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(100)

        thread = threading.Thread(target=serve)
        thread.start()
        assert said(session, f"mqtt://127.0.0.1:{listener.getsockname()[1]}", 5).startswith("MALFORMED CONNACK")
        thread.join(60)


@pytest.mark.parametrize("protocol, code", [(5, "0x87"), (4, "0x5")])
def test_the_server_says_no(session, tmp_path, protocol, code):
    (tmp_path / "strict").mkdir()
    with Mosquitto(tmp_path / "strict", allow_anonymous="false") as strict:
        assert said(session, strict.url, protocol) == f"REFUSED CONNACK {code}"


@pytest.mark.parametrize("protocol, ended", [(5, "REFUSED NONE 0x87"), (4, "well")])
def test_a_topic_without_permission(session, tmp_path, protocol, ended):
    """Before 5.0 no packet says so, but the server's log does."""
    (tmp_path / "strict").mkdir()
    (tmp_path / "acl").write_text("topic write allowed\n")
    (tmp_path / "acl").chmod(0o600)
    with Mosquitto(tmp_path / "strict", acl_file=tmp_path / "acl") as strict:
        assert said(session, strict.url, protocol, "allowed") == "well"
        assert said(session, strict.url, protocol, "forbidden") == ended
        wait_for(lambda: "Denied PUBLISH" in strict.log.read_text(), "the server's log")
