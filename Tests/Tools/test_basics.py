"""A little of each command: what the cross targets try, too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from Support.servers import Mosquitto, free_port
from Support.waiting import wait_for

from .tool import smq, start


def published(broker: Mosquitto, *options: object, stdin: bytes = b"") -> None:
    result = smq("pub", *broker.address, *options, stdin=stdin)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def received(broker: Mosquitto, *options: object) -> bytes:
    """Of what is retained."""
    result = smq("sub", *broker.address, *options)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout


def test_version():
    result = smq("--version")
    assert result.returncode == 0 and result.stdout.startswith(b"smq, an MQTT client")


@pytest.mark.parametrize("version", ["5", "311", "31"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_there_and_back(broker: Mosquitto, version: str, qos: int):
    topic = f"basics/{version}/{qos}"
    published(broker, "-V", version, "-t", topic, "-m", "21.5", "-q", qos, "-r")
    assert received(broker, "-V", version, "-t", topic, "-q", 2, "-C", 1, "-F", "%t %q %r %l %x") == (
        f"{topic} {qos} 1 4 32312e35\n".encode())


def test_a_live_message_of_each_line(broker: Mosquitto):
    published(broker, "-t", "ready/basics", "-m", "ready", "-r")
    process = start("sub", *broker.address, "-t", "ready/basics", "-t", "lines/basics", "-C", 4)
    assert process.stdout.readline() == b"ready\n"
    published(broker, "-t", "lines/basics", "-l", "-q", 1, stdin=b"one\ntwo\nthree")
    assert process.communicate(timeout=20)[0] == b"one\ntwo\nthree\n" and process.returncode == 0


def test_a_large_file(broker: Mosquitto, tmp_path: Path):
    file = tmp_path / "large"
    file.write_bytes(bytes(range(256)) * 4000)  # more than the outbox takes at once
    published(broker, "-t", "large/basics", "-f", file, "-q", 1, "-r")
    assert received(broker, "-t", "large/basics", "-N", "-C", 1) == file.read_bytes()


def test_properties_as_json(broker: Mosquitto):
    published(broker, "-t", "json/basics", "-m", '{"a": 1.5}', "-r", "-D", "publish", "content-type", "text/json",
              "-D", "publish", "user-property", "name", "value")
    found = json.loads(received(broker, "-V", "5", "-t", "json/basics", "-C", 1, "-F", "%J"))
    assert found["payload"] == {"a": 1.5}
    assert found["properties"] == {"content-type": "text/json", "user-properties": {"name": "value"}}


def test_request_and_answer(broker: Mosquitto):
    published(broker, "-t", "answer/basics", "-m", "early", "-r")
    process = start("rr", *broker.address, "-t", "ask/basics", "-e", "answer/basics", "-m", "question", "-R", "-W", 15)

    def is_answered() -> bool:
        published(broker, "-t", "answer/basics", "-m", "answer")
        return process.poll() is not None

    wait_for(is_answered, "an answer")
    assert (process.stdout.read(), process.returncode) == (b"answer\n", 0)


def test_check(broker: Mosquitto):
    result = smq("check", broker.url)
    assert result.returncode == 0 and result.stdout.count(b"\n  ok  ") == 11


def test_bench(broker: Mosquitto):
    result = smq("bench", *broker.address, "--messages", 200, "--publishers", 4, "-q", 2, "--json")
    found = json.loads(result.stdout)
    assert (result.returncode, found["published"], found["received"], found["lost"]) == (0, 200, 200, 0)
    assert 0 < found["delivery_us"]["p50"] <= found["delivery_us"]["max"] < 60_000_000


@pytest.mark.parametrize("options, code, text", [
    (["pub", "-t", "a/+", "-m", "x"], 1, 'smq pub: -t: "a/+" is not a topic'),
    (["pub", "-t", "a", "-f", "/nonexistent"], 1, "smq pub: -f: cannot open /nonexistent: No such file or directory"),
    (["sub", "-t", "a", "-F", "%"], 1, "smq sub: -F: the format ends"),
    (["check", "--json", "mqtt://"], 1, "smq check: the URL: malformed at byte 7"),
])
def test_wrong_options(options: list[str], code: int, text: str):
    result = smq(*options)
    assert (result.returncode, result.stdout) == (code, b"") and result.stderr.decode().startswith(text)


def test_nobody_listens():
    port = free_port()
    result = smq("pub", "-h", "127.0.0.1", "-p", port, "-t", "a", "-m", "x")
    assert result.returncode == 1
    assert result.stderr == b"smq pub: cannot connect to 127.0.0.1 port %d: Connection refused\n" % port


def test_the_time_is_up(broker: Mosquitto):
    result = smq("sub", *broker.address, "-t", "nothing/basics", "-W", 1)
    assert (result.returncode, result.stdout, result.stderr) == (27, b"", b"smq sub: the time of -W is up\n")


def test_a_signal_ends_it(broker: Mosquitto):
    published(broker, "-t", "signal/basics", "-m", "ready", "-r")
    process = start("sub", *broker.address, "-t", "signal/basics", stdin=subprocess.DEVNULL)
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(20) == 0 and process.stderr.read() == b""
