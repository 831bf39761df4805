"""docs/troubleshooting.md, STOMP: symptoms that it names, as a RabbitMQ causes them."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from .blocks import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text().split("\n## STOMP\n")[1]
# What each script begins with: a client that does not reconnect, and how one ends.
BEGIN = """
import sys, time
from swiftmqtt import stomp
url, queue = sys.argv[1:]

def client(url=url, **options):
    return stomp.Client(url, reconnect=False, **options)

def end(client):
    for event in client.events():
        if isinstance(event, stomp.Disconnected):
            return event.error.status.name, event.error.stage.name

def refused(url=url, **options):
    try:
        client(url, **options).connect(timeout=60)
    except stomp.Error as error:
        return f"{error.status.name} {error.stage.name}: {error.body.decode()}"
"""


@pytest.fixture
def said(session, stomp, request):
    """What a script prints; it has a queue of its test's own."""

    def run(script: str) -> str:
        broker = stomp()
        queue = f"/queue/{request.node.name}".replace("[", "-").replace("]", "")
        done = subprocess.run([sys.executable, "-c", BEGIN + textwrap.dedent(script), broker.url, queue],
                              env=session.environment, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.mark.parametrize("how, told", [
    ("url.replace(':guest@', ':wrong@')", "Access refused for user"),
    ("virtual_host='nowhere'", "Virtual host … access denied"),
])
def test_the_server_refuses_the_connection(said, how, told):
    answer = said(f"print(refused({how}))")
    first, _, last = told.partition(" … ")
    assert answer.startswith("REFUSED ACCEPT: ") and first in answer and last in answer and told in PAGE


@pytest.mark.parametrize("how, ended", [
    ("url.replace('stomp:', 'ws:'), connect_timeout_ms=2000", "TIMEOUT WEBSOCKET: "),
    ("url.replace('stomp:', 'stomps:'), tls=True", "TLS TLS: "),
])
def test_the_port_speaks_plain_stomp(said, how, ended):
    assert said(f"print(refused({how}))") == ended.strip()


def test_a_frame_is_refused_on_each_connection(said):
    assert said("""
        one = stomp.Client(url, reconnect_min_ms=10)
        one.subscribe("/exchange/none/a", wait=False)
        one.connect(timeout=60)
        for _ in range(2):
            print(*end(one))
        one.close()
    """) == "SERVER_CLOSED CONNECTED\nSERVER_CLOSED CONNECTED"


def test_a_program_that_sleeps(said):
    """Three or four seconds, and not much sooner than the page says."""
    status, waited = said("""
        import select
        with client(heart_beat_send_ms=1000, heart_beat_receive_ms=stomp.OFF) as one:
            begin = time.monotonic()
            select.select([one], [], [], 60)
            waited = time.monotonic() - begin
            print(end(one)[0], waited)
    """).split()
    assert status == "CLOSED" and float(waited) > 2


def test_headers_that_do_not_fit(said):
    assert said("""
        with client() as one:
            one.send(queue, "x", headers={"long": "x" * 2000}, receipt=True, wait=True)
        for _ in range(2):
            one = client(receive_bytes=1024)
            one.connect(timeout=60)
            one.subscribe(queue, ack="client", wait=False)
            print(*end(one))
            one.close()
    """) == "RECEIVE_TOO_LARGE CONNECTED\nRECEIVE_TOO_LARGE CONNECTED"


def test_a_topic_keeps_nothing(said):
    assert said("""
        topic = queue.replace("/queue/", "/topic/")
        with client() as one:
            one.send(topic, "early", receipt=True, wait=True)
            one.subscribe(topic)
            one.send(topic, "late", receipt=True, wait=True)
            print(one.receive(60).text())
    """) == "late"


def test_messages_that_wait_for_their_ack(said):
    """No further one comes, and no receipt; an ack lets both come."""
    assert said("""
        with client(held_messages=2, receipt_timeout_ms=1000) as one:
            for number in range(3):
                one.send(queue, str(number), receipt=True, wait=True)
            one.subscribe(queue, ack="client-individual")
            first, second = one.receive(60), one.receive(60)
            for call in (lambda: one.receive(2), lambda: one.send(queue, "3", receipt=True, wait=True, timeout=2)):
                try:
                    call()
                except TimeoutError:
                    print("nothing", one.is_connected)
            for message in (first, second):
                message.ack()
            for _ in range(2):
                message = one.receive(60)
                message.ack()
                print(message.text())
            one.send(queue, "4", receipt=True, wait=True, timeout=60)
    """).split("\n") == ["nothing True", "nothing True", "2", "3"]


def test_what_nobody_has_acknowledged(said):
    assert "`redelivered:true`" in PAGE
    assert said("""
        with client() as one:
            one.send(queue, "x", receipt=True, wait=True)
        for _ in range(2):
            with client() as one:
                one.subscribe(queue, ack="client-individual")
                print(one.receive(60).headers["redelivered"])
    """) == "false\ntrue"


def test_a_nack_brings_the_message_back(said):
    assert int(said("""
        with client() as one:
            one.send(queue, "x", receipt=True, wait=True)
            one.subscribe(queue, ack="client-individual")
            for count in range(100):
                one.receive(60).nack()
            one.receive(60).ack()
            print(count)
    """)) == 99
