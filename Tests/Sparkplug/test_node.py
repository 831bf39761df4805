"""What sparkplugd does besides the numbered assertions: other decoders, its file, wrong arguments."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from Support.servers import Mosquitto, Subscriber, free_port
from Support.waiting import PATIENCE, wait_for

from .conftest import Node, Run


def test_tshark_reads_the_same(run: Run):
    """Wireshark has a dissector for Sparkplug, and one for protobuf: the same topics, and a sequence number where there is one."""
    assert Counter(topic for topics, _, _ in run.protobuf for topic in topics) == Counter(m.topic for m in run.messages)
    numbered = {message.topic: message.payload["seq"] is not None for message in run.messages}
    alone = [(topics[0], numbers) for topics, numbers, _ in run.protobuf if len(topics) == 1]
    assert len(alone) > 200 and all(("3" in numbers) == numbered[topic] for topic, numbers in alone)
    assert {device for _, _, devices in run.protobuf for device in devices} >= {"board"}


def test_everything_arrives(run: Run):
    sent = [(message.topic, message.qos) for message in run.messages]
    lost = [(run.wills[1].topic, 1)]  # published by the server
    came = [(message.topic, message.qos) for message in run.heard if "/STATE/" not in message.topic and "CMD/" not in message.topic]
    assert sorted(came) == sorted(sent + lost)


def test_it_complains_of_commands_that_are_none(run: Run):
    lines = run.complaints.splitlines()
    assert lines.count("sparkplugd: a command cannot be read, or is too large") == 1
    assert lines.count("sparkplugd: a command is not for a metric that can be written, or of another type") == 4


@pytest.fixture
def broker(tmp_path: Path):
    with Mosquitto(tmp_path, persistence="false") as broker:
        yield broker


def test_bdseq_outlives_the_program_and_wraps(program: Path, payloads, broker: Mosquitto, tmp_path: Path):
    (tmp_path / "bdseq").write_text("255\n")
    subscriber = Subscriber(broker, "spBv1.0/#")
    for expected in (255, 0):
        node = Node(program, tmp_path, broker.url)
        births = [message for message in subscriber.messages if "/NBIRTH/" in message.topic]
        wait_for(lambda: len([m for m in subscriber.messages if "/NBIRTH/" in m.topic]) > len(births), node.err.read_text)
        node.terminate()
        assert node.wait(PATIENCE) == 0
        birth = [message for message in subscriber.messages if "/NBIRTH/" in message.topic][-1]
        assert payloads.decode(birth.payload)["metrics"][0]["value"] == expected
    assert (tmp_path / "bdseq").read_text() == "1\n"
    subscriber.close()


def test_attempts_that_send_no_connect_keep_their_bdseq(program: Path, tmp_path: Path):
    node = Node(program, tmp_path, f"mqtt://127.0.0.1:{free_port()}")
    wait_for(lambda: node.err.read_text().count("Connection refused") >= 2, node.err.read_text)
    assert (tmp_path / "bdseq").read_text() == "1\n"
    node.terminate()
    assert node.wait(PATIENCE) == 0


def test_a_killed_program_uses_no_bdseq_twice(program: Path, payloads, broker: Mosquitto, tmp_path: Path):
    subscriber = Subscriber(broker, "spBv1.0/#")

    def births() -> list[int]:
        return [payloads.decode(message.payload)["metrics"][0]["value"] for message in subscriber.messages if "/NBIRTH/" in message.topic]

    for number in range(3):
        node = Node(program, tmp_path, broker.url)
        wait_for(lambda: len(births()) > number, node.err.read_text)
        node.kill()
        node.wait()
    assert births() == [0, 1, 2]
    subscriber.close()


@pytest.mark.parametrize("answer", [b"\x20\x02\0\0", b"\x20\x02\0\5", b""], ids=["the subscriptions", "the client", "the connection"])
def test_who_is_refused_waits_longer_and_longer(program: Path, tmp_path: Path, answer: bytes):
    """Mosquitto refuses no subscription. This server answers CONNECT so, and SUBSCRIBE with refusals."""
    came: list[float] = []

    def serve() -> None:
        for _ in range(5):
            peer, _ = listener.accept()
            came.append(time.monotonic())
            with peer:
                peer.recv(1000)
                peer.sendall(answer)
                if answer[-1:] == b"\0":
                    identifier = peer.recv(1000)[2:4]
                    peer.sendall(b"\x90\x04" + identifier + b"\x80\x80")
                    while peer.recv(1000):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        node = Node(program, tmp_path, f"mqtt://127.0.0.1:{listener.getsockname()[1]}")
        thread.join(PATIENCE)
        node.terminate()
        assert node.wait(PATIENCE) == 0 and node.births == 0
    waits = [after - before for before, after in zip(came, came[1:])]
    # From 0, or the library's own 250 ms, on.
    assert len(waits) == 4 and all(wait > shortest for wait, shortest in zip(waits, (-1, 0.24, 0.49, 0.99)))


@pytest.mark.parametrize("url", ["{}", "mqtt://u:p@{}/"])
def test_it_goes_to_the_server_where_its_host_is(program: Path, tmp_path: Path, url: str):
    """tck-id-operational-behavior-primary-application-state-with-multiple-servers-walk"""
    for name in "abc":
        (tmp_path / name).mkdir()
    with Mosquitto(tmp_path / "a", persistence="false") as first, Mosquitto(tmp_path / "b", persistence="false") as second:
        state = '{"online":%s,"timestamp":1700000000000}'
        first.publish("spBv1.0/STATE/scada", state % "false", "-r")
        second.publish("spBv1.0/STATE/scada", state % "true", "-r")
        places = ",".join(server.url.removeprefix("mqtt://") for server in (first, second))
        node = Node(program, tmp_path / "c", url.format(places), "--host", "scada")
        wait_for(lambda: node.births == 1, node.err.read_text)
        # It changes its place, and the node follows.
        first.publish("spBv1.0/STATE/scada", '{"online":true,"timestamp":1700000000001}', "-r")
        second.publish("spBv1.0/STATE/scada", '{"online":false,"timestamp":1700000000001}', "-r")
        wait_for(lambda: node.births == 2, node.err.read_text)
        assert "New client connected" in first.log.read_text()
        node.terminate()
        assert node.wait(PATIENCE) == 0


@pytest.mark.parametrize("arguments, said", [
    (["--group", "a/b"], "sparkplugd: --group takes 1 to 64 bytes without /, + and #\n"),
    (["--node", ""], "sparkplugd: --node takes 1 to 64 bytes without /, + and #\n"),
    (["--host", "+"], "sparkplugd: --host takes 1 to 64 bytes without /, + and #\n"),
    (["--node", "n" * 65], "sparkplugd: --node takes 1 to 64 bytes without /, + and #\n"),
    (["--period-ms", "0"], "sparkplugd: --period-ms takes a number from 1 to 86400000\n"),
    (["surplus"], "sparkplugd: surplus is not a flag\n"),
    (["--url", "mqtt://a:0"], "SMQ_ERR_URL: wrong at byte 9; a URL is mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...\n"),
])
def test_wrong_arguments(program: Path, tmp_path: Path, arguments: list[str], said: str):
    node = Node(program, tmp_path, "mqtt://127.0.0.1", *arguments)
    assert node.wait(PATIENCE) == 2 and node.err.read_text() == said


def test_a_file_that_cannot_be_written(program: Path, tmp_path: Path):
    node = Node(program, tmp_path, "mqtt://127.0.0.1", "--bdseq", str(tmp_path / "none" / "bdseq"))
    assert node.wait(PATIENCE) == 2 and "none/bdseq: No such file or directory" in node.err.read_text()


@pytest.mark.parametrize("text", ["256", "-1", "x", ""])
def test_a_file_without_a_bdseq(program: Path, tmp_path: Path, text: str):
    (tmp_path / "bdseq").write_text(text)
    node = Node(program, tmp_path, "mqtt://127.0.0.1")
    assert node.wait(PATIENCE) == 2 and "bdseq has no number from 0 to 255" in node.err.read_text()
