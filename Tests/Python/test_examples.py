"""The examples, and what README.md shows, against a server; and what they say without one."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time

import pytest

import swiftmqtt

from .conftest import PACKAGE, TLS_LIBRARY
from .stomp_servers import Connection, Scripted, echo
from Support.waiting import wait_for

EXAMPLES = PACKAGE / "examples"
README = (PACKAGE / "README.md").read_text()


@pytest.fixture
def begin(start_mosquitto, environment):
    """Starts an example with a server of its own."""
    broker, begun = start_mosquitto(), []

    def start(name: str, *arguments: str) -> subprocess.Popen[str]:
        where = (broker.host, str(broker.port)) if name.startswith("paho") else (broker.url,)
        begun.append(
            subprocess.Popen(
                [sys.executable, EXAMPLES / name, *where, *arguments],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        )
        begun[-1].broker = broker
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def test_publish_and_subscribe(begin):
    listener = begin("subscribe.py", "greenhouse/#")
    assert listener.stdout.readline() == "subscribed, granted QoS 1\n"
    status, out, err = ended(begin("publish.py", "2"))
    assert (status, err) == (0, "") and re.fullmatch(r"(delivered|on its way) \{.*\}\n" * 2, out)
    came = [listener.stdout.readline() for _ in range(4)]
    assert came[0] == "greenhouse/state 'here'\n" and came[3] == "greenhouse/state 'gone'\n"
    assert all(re.match(r"greenhouse/temperature \{'celsius': [\d.]+, 'at': [\d.]+\}\n", line) for line in came[1:3])
    listener.send_signal(signal.SIGINT)
    assert ended(listener) == (130, "", "")


@pytest.mark.parametrize(
    "number, state, status", [(signal.SIGINT, b"gone", 130), (signal.SIGKILL, b"vanished", -signal.SIGKILL)]
)
def test_publish_that_is_interrupted(begin, number, state, status):
    publisher = begin("publish.py", "1000")
    with swiftmqtt.Client(publisher.broker.url) as client:
        client.subscribe("greenhouse/#").wait(10)
        while client.receive(10).topic != "greenhouse/temperature":
            pass
        publisher.send_signal(number)
        assert next(m.payload for m in client.messages(10) if m.topic == "greenhouse/state") == state
    assert publisher.wait(10) == status


def test_asyncio(begin):
    thermostat = begin("asyncio_client.py")
    assert thermostat.stdout.readline() == "ready\n"
    with swiftmqtt.Client(thermostat.broker.url) as client:
        client.subscribe("thermostat/temperature").wait(10)
        assert 10 < client.receive(10).json() < 30
        for command in ("warmer", "off"):
            client.publish("thermostat/set", command, qos=1).wait(10)
    assert ended(thermostat) == (0, "command: warmer\ncommand: off\n", "")


def test_paho(begin):
    assert ended(begin("paho_client.py")) == (0, "connected: Success\ngreenhouse/door open\n", "")


# ---- Those of STOMP


@pytest.fixture
def begin_stomp(environment):
    """Starts an example of STOMP with a scripted server, or with a URL."""
    begun = []

    def start(name: str, url: str, *arguments: str) -> subprocess.Popen[str]:
        begun.append(
            subprocess.Popen(
                [sys.executable, EXAMPLES / name, url, *arguments],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        )
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_stomp_send(begin_stomp):
    def script(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(script) as server:
        status, out, err = ended(begin_stomp("stomp_send.py", server.url, "/queue/a", "2"))
    assert (status, err) == (0, "")
    assert re.fullmatch(r"confirmed \{'number': 0, 'celsius': [\d.]+\}\nconfirmed \{'number': 1, .*\}\n", out)
    sent = [frame for frame in server.heard if frame.command == "SEND"]
    assert [json.loads(frame.body)["number"] for frame in sent] == [0, 1]
    headers = {"destination": "/queue/a", "content-type": "application/json", "persistent": "true"}
    assert all(headers.items() <= frame.headers.items() for frame in sent)


def test_stomp_consume(begin_stomp):
    def script(connection: Connection) -> None:
        connection.accept()
        subscribe = connection.expect("SUBSCRIBE")
        assert subscribe.headers["prefetch-count"] == "10" and subscribe.headers["ack"] == "client-individual"
        connection.receipt(subscribe)
        for number, body in enumerate((b'{"a": 1}', b"no JSON")):
            connection.write("MESSAGE", body, subscription=0, message_id=number, ack=f"a{number}", destination="/queue/a")
        assert connection.expect("ACK").headers["id"] == "a0" and connection.expect("NACK").headers["id"] == "a1"
        connection.serve()

    with Scripted(script) as server:
        consumer = begin_stomp("stomp_consume.py", server.url, "/queue/a")
        lines = [consumer.stdout.readline() for _ in range(3)]
        assert lines == ["subscribed\n", "/queue/a {'a': 1}\n", "refused b'no JSON'\n"]
        wait_for(lambda: any(frame.command == "NACK" for frame in server.heard), "NACK")
        consumer.send_signal(signal.SIGINT)
        assert ended(consumer) == (130, "", "")


def test_stomp_transaction(begin_stomp):
    """The connection breaks before COMMIT is confirmed: the request comes again."""

    def request(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        for number, more in ((0, {}), (1, {"reply_to": "/queue/replies", "correlation_id": "c7"})):
            connection.write("MESSAGE", b"text", subscription=0, message_id=number, ack=f"a{number}", destination="/q", **more)
        # Nobody waits for an answer to the first one.
        assert connection.expect("ACK").headers["id"] == "a0"

    def breaks(connection: Connection) -> None:
        request(connection)
        while connection.read().command != "COMMIT":
            pass
        connection.reset()

    def answers(connection: Connection) -> None:
        request(connection)
        name = connection.expect("BEGIN").headers["transaction"]
        answer, ack, commit = (connection.expect(command) for command in ("SEND", "ACK", "COMMIT"))
        assert answer.headers["destination"] == "/queue/replies" and answer.headers["correlation-id"] == "c7"
        assert answer.body == b"TEXT" and ack.headers["id"] == "a1"
        assert all(frame.headers["transaction"] == name for frame in (answer, ack, commit))
        connection.receipt(commit)
        connection.serve()

    with Scripted(breaks, answers) as server:
        status, out, err = ended(begin_stomp("stomp_transaction.py", server.url))
    assert (status, err) == (0, "") and re.fullmatch(r"ready\nnot answered: .*\nanswered text\n", out), (status, out, err)


def test_stomp_asyncio(begin_stomp):
    with Scripted(echo) as server:
        assert ended(begin_stomp("stomp_asyncio.py", server.url)) == (0, "number 0\nnumber 1\nnumber 2\n", "")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_without_a_server(name, environment, start_mosquitto):
    broker = start_mosquitto()
    broker.kill()
    away = (broker.host, str(broker.port)) if name.startswith("paho") else (broker.url,)
    if name.startswith("stomp"):
        away = (f"stomp://{broker.host}:{broker.port}",)
    wrong = (broker.host, "0") if name.startswith("paho") else ("ftp://here",)
    for arguments, said in ((away, "refused"), (wrong, "Invalid port|URL")):
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, EXAMPLES / name, *arguments], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 1 and re.fullmatch(rf"{name}: .*({said}).*\n", done.stderr), done
        assert time.monotonic() - begin < 20


@pytest.mark.parametrize("number, code", list(enumerate(re.findall(r"```python\n(.*?)```", README, re.S))))
def test_what_the_readme_shows(number, code, environment, start_mosquitto, tmp_path, request):
    """Each block is a program, which ends."""
    if "mqtts://" in code and not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")
    script = tmp_path / f"block{number}.py"
    code = code.replace("mqtt://127.0.0.1", start_mosquitto().url).replace("/var/lib/board", str(tmp_path))
    if "broker.example" in code:
        listeners, made = request.getfixturevalue("listeners"), request.getfixturevalue("certificates")
        for written, meant in {
            "mqtts://broker.example": listeners["client"].url,
            "ws://broker.example/mqtt": listeners["ws"].url,
            "/etc/greenhouse/ca.pem": made.ca_file,
            "/etc/greenhouse/client.pem": made.client.file,
            "/etc/greenhouse/client.key": made.client.key,
        }.items():
            code = code.replace(written, str(meant))
    with Scripted(echo) if "stomp://" in code else contextlib.nullcontext() as stomp:
        script.write_text(code.replace("stomp://guest:guest@127.0.0.1", stomp.url) if stomp else code)
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stderr) == (0, "")
    shown = re.findall(r"# prints: (.*)", code)
    assert shown and done.stdout.splitlines() == shown


def test_what_the_readme_says_of_files():
    names = re.findall(r"\]\(((?:examples|\.\.)/[^)]+)\)", README)
    assert names and all((PACKAGE / name.partition("#")[0]).exists() for name in names)
    assert {f"examples/{path.name}" for path in EXAMPLES.glob("*.py")} <= set(names)
