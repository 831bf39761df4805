"""The examples, and what README.md shows, against a server; and what they say without one."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time

import pytest

import swiftmqtt

from .conftest import PACKAGE, TLS_LIBRARY
from .stomp_servers import Scripted, echo

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


@pytest.mark.parametrize("name", ["publish.py", "subscribe.py", "asyncio_client.py", "paho_client.py"])
def test_without_a_server(name, environment, start_mosquitto):
    broker = start_mosquitto()
    broker.kill()
    away = (broker.host, str(broker.port)) if name.startswith("paho") else (broker.url,)
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
