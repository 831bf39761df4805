"""smq top, smq stats, smq replay and smq console."""

from __future__ import annotations

import json
import re
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from Support.codec import packet
from Support.servers import Mosquitto, free_port
from Support.waiting import wait_for

from .captures import Capture, block, option
from .terminal import Terminal, golden
from .test_inspect import CONNACK, CONNECT, SUBACK, SUBSCRIBE, daemon, publish  # noqa: F401
from .tool import smq, start

# ---- top


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    capture = Capture().packet(True, CONNECT).packet(False, CONNACK)
    for number in range(6):
        capture.packet(True, publish(f"plant/line{number % 2}/temp", b"x" * 10, qos=1, identifier=number + 1))
        capture.packet(False, packet(4, bytes([0, number + 1])))
    capture.packet(False, publish("cmd", b"y" * 100)).packet(False, publish("/empty//level", b""))
    return capture.lost(3).write(tmp_path / "c")


TOP = """\
 smq top  board
Sent      6.0 msg/s  225 B/s            Received  2.0 msg/s  152 B/s
3 packets were lost on the way here

     MSG/S     BYTES/S    MESSAGES         BYTES  TOPIC
       6.0          60           6            60  plant/
       3.0          30           3            30    line0/
       3.0          30           3            30      temp
       3.0          30           3            30    line1/
       3.0          30           3            30      temp
       1.0           0           1             0  (empty)/
       1.0           0           1             0    empty/
       1.0           0           1             0      (empty)/
       1.0           0           1             0        level
       1.0         100           1           100  cmd
"""


def test_a_client_without_an_id_is_called_by_its_socket(broker: Mosquitto, tmp_path: Path):
    path = tmp_path / "nameless.sock"
    client = start("sub", "-p", broker.port, "-t", "a", "--inspect", path)
    try:
        wait_for(lambda: b"connected" in smq("stats", path).stdout)
        assert smq("top", path, "--once", "--interval", "0.1").stdout.decode().startswith(f" smq top  {path}")
    finally:
        client.kill()
        client.communicate()


def test_top_of_a_capture(traffic: Path):
    result = smq("top", traffic, "--once")
    assert (golden(result.stdout.decode()), result.stderr, result.returncode) == (golden(TOP), b"", 0)


def test_top_as_json(traffic: Path):
    [line] = smq("top", traffic, "--once", "--json").stdout.splitlines()
    found = json.loads(line)
    assert (found["client_id"], found["lost"]) == ("board", 3)
    assert found["sent"]["messages"] == 6 and found["received"] == {
        "packets": 9, "messages": 2, "bytes": 152, "new_packets": 9, "new_messages": 2, "new_bytes": 152}  # fmt: skip
    topics = {topic["topic"]: topic["messages"] for topic in found["topics"]}
    assert topics["plant"] == 6 and topics["plant/line1/temp"] == 3 and topics["/empty//level"] == 1


def test_top_on_a_terminal(broker: Mosquitto, daemon):  # noqa: F811
    path = daemon()
    with Terminal("top", path, "--interval", "0.2") as terminal:
        terminal.until_shown("connected 3.1.1", "MSG/S")
        assert [line.split("[")[0].strip() for line in terminal.lines[1:4]] == ["Outbox", "Bytes", "In flight"]
        assert terminal.lines[1].endswith("] 0/256") and terminal.lines[4] == "Latency   no message of QoS 1 or 2 yet"
        for topic in ("plant/a/b", "plant/a/c", "plant/d"):
            smq("pub", "-p", broker.port, "-t", topic, "-m", "1234")
        terminal.until(lambda terminal: re.search(r" 3 +12  plant/$", terminal.text, re.M))
        terminal.type("n")
        terminal.until(lambda terminal: [line.split("  ")[-1].strip() for line in terminal.lines[9:14]] == [
            "plant/", "a/", "b", "c", "d"])
        terminal.type("Down", " ")
        terminal.until(lambda terminal: [line.split("  ")[-1].strip() for line in terminal.lines[9:13]] == [
            "plant/", "a/...", "d", ""])
        terminal.type("r")
        terminal.until(lambda terminal: "plant" not in terminal.text)
        terminal.type("p")
        terminal.until_shown("paused")
        terminal.type("q")
        assert terminal.end() == 0 and terminal.is_as_before()


def test_top_without_a_terminal(traffic: Path):
    result = smq("top", traffic)
    assert result.returncode == 1 and b"no terminal: use --once, or --json" in result.stderr


def test_top_of_a_broker(broker: Mosquitto):
    viewer = start("top", "-p", broker.port, "-t", "of/#", "--json", "--interval", "0.3")
    try:
        smq_pub = lambda: smq("pub", "-p", broker.port, "-t", "of/top", "-m", "x").returncode  # noqa: E731
        while True:
            assert smq_pub() == 0
            if found := json.loads(viewer.stdout.readline())["topics"]:
                assert [topic["topic"] for topic in found] == ["of", "of/top"]
                break
    finally:
        viewer.kill()
        viewer.communicate()


# ---- stats


def test_stats(daemon):  # noqa: F811
    path = daemon()
    lines = dict(line.split() for line in smq("stats", path).stdout.decode().splitlines()[1:])
    assert lines["state"] == "connected" and lines["connections"] == "1" and lines["subscriptions"] == "1"


def test_stats_as_json(daemon):  # noqa: F811
    paths = [daemon(), daemon()]
    found = json.loads(smq("stats", *paths, "--json").stdout)
    assert [(client["client_id"], client["socket"], client["state"]) for client in found] == [
        ("daemon0", paths[0], "connected"), ("daemon1", paths[1], "connected")]  # fmt: skip
    assert len(found[0]["latency"]) == 16


def test_stats_for_prometheus(daemon):  # noqa: F811
    """Each metric has a type and a sample for each client; counters end with _total, and buckets rise."""
    paths = [daemon(), daemon()]
    lines = smq("stats", *paths, "--prometheus").stdout.decode().splitlines()
    types, samples, helps = {}, {}, {}
    current = ""
    for line in lines:
        if line.startswith("# HELP "):
            name, text = line.removeprefix("# HELP ").split(" ", 1)
            helps[name] = text
        elif line.startswith("# TYPE "):
            _, _, current, types[line.split()[2]] = line.split()
            assert current not in samples
            samples[current] = []
        else:
            name, labels, value = re.fullmatch(r'(\w+)\{client_id="(daemon[01])",socket="[^"]+"(?:,le="[^"]+")?\} (\d+)', line).groups()
            assert name == current or types[current] == "histogram" and re.fullmatch(current + "_(bucket|count)", name)
            samples[current].append((labels, int(value)))
    assert types["swiftmqtt_outbox_messages"] == "gauge" and samples["swiftmqtt_state"] == [("daemon0", 2), ("daemon1", 2)]
    assert types["swiftmqtt_packets_sent_total"] == "counter"
    # Each says what it counts, before its type.
    assert list(helps) == list(types) and all(len(text) > 10 for text in helps.values())
    assert helps["swiftmqtt_ended_tls_total"] == "Ends of connections, and of attempts to connect: tls"
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in types.items())
    assert len(samples["swiftmqtt_latency_seconds"]) == 2 * 17


def test_a_label_that_has_to_be_escaped(broker: Mosquitto, tmp_path: Path):
    path = tmp_path / "s"
    process = start("sub", "-p", broker.port, "-t", "a", "-i", 'quo"te\\', "--inspect", path)
    try:
        wait_for(lambda: smq("stats", path).returncode == 0)
        assert b'swiftmqtt_state{client_id="quo\\"te\\\\",' in smq("stats", path, "--prometheus").stdout
    finally:
        process.kill()
        process.communicate()


def test_a_client_that_does_not_answer(tmp_path: Path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        result = smq("stats", tmp_path / "s", "-W", 1)
        assert result.returncode == 27 and b"does not answer" in result.stderr


@pytest.mark.parametrize("answer", [b"x", b"\n\r\r\n", bytes(100), b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a" + bytes(16)])
def test_a_socket_of_something_else(tmp_path: Path, answer: bytes):
    """What it sends is an error, or it does not come in time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            connection.send(answer)
            connection.recv(100)
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        result = smq("stats", tmp_path / "s", "-W", 1)
        thread.join()
        assert result.returncode in (1, 27) and result.stderr and result.stdout == b""


@pytest.mark.parametrize("numbers", [
    "protocol 999999999999999999\n", "\n".join(f"latency {index} 999999999999999999" for index in range(16)),
    "outbox_messages 1000000000000000000\noutbox_messages_capacity 1000000000000000000\n", "\x1b[31mname 1\n\xff 2\n",
    f"outbox_messages {2**53}\noutbox_messages_capacity {2**53}\n" + "\n".join(f"latency {index} {2**53}" for index in range(16))])
@pytest.mark.parametrize("command", [["stats"], ["stats", "--prometheus"], ["stats", "--json"], ["top", "--once"], ["top", "--once", "--json"],
                                     ["inspect", "--once"]], ids=" ".join)
def test_numbers_that_no_client_has(tmp_path: Path, numbers: str, command: list[str]):
    """They are passed over, or shown; nothing else comes of them."""
    capture = Capture()
    capture.data += block(5, struct.pack("<III", 0, 0, 0) + option(1, numbers.encode("latin-1")) + struct.pack("<HH", 0, 0))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.send(capture.data)
                while connection.recv(100):
                    connection.send(capture.data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        result = smq(command[0], tmp_path / "s", *command[1:], "-W", 5)
        assert result.returncode in (0, 1) and b"\x1b" not in result.stdout and b"\xff" not in result.stdout, result


def test_one_of_several_does_not_run(daemon, tmp_path: Path):  # noqa: F811
    """The others are told."""
    path = daemon()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(tmp_path / "stale"))
    result = smq("stats", tmp_path / "stale", path, path, "--prometheus")
    assert result.returncode == 1 and b"stale: Connection refused" in result.stderr
    samples = [line.partition(b"} ")[0] for line in result.stdout.splitlines() if line.startswith(b"swiftmqtt_state")]
    assert len(samples) == 2 and all(f'socket="{path}"'.encode() in sample for sample in samples)


@pytest.mark.parametrize("command", [["top", "--once"], ["inspect"]])
def test_a_broker_that_is_not_there(command: list[str]):
    result = smq(*command, "-p", free_port(), "-t", "#")
    assert result.returncode == 1 and b"cannot connect to localhost port" in result.stderr and b"Connection refused" in result.stderr


def test_a_stream_socket(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        result = smq("stats", tmp_path / "s")
        assert result.returncode == 1 and b"it is no inspection socket of a client" in result.stderr


@pytest.mark.parametrize("options, said", [([], b"an inspection socket is required"), (["a", "--json", "--prometheus"], b"cannot be used together")])
def test_stats_that_cannot_be(options: list[str], said: bytes):
    result = smq("stats", *options)
    assert result.returncode == 1 and said in result.stderr


def test_an_inspection_socket_that_cannot_be_made(broker: Mosquitto, tmp_path: Path):
    result = smq("sub", "-p", broker.port, "-t", "a", "--inspect", tmp_path / "none" / "s")
    assert result.returncode == 1 and b"--inspect" in result.stderr and b"No such file or directory" in result.stderr
    result = smq("sub", "-p", broker.port, "-t", "a", "--inspect", "a" * 108)
    assert result.returncode == 1 and b"--inspect: a path has at most 107 bytes" in result.stderr


# ---- replay


@pytest.mark.parametrize("version", [311, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_replay_gives_the_same_messages(broker: Mosquitto, tmp_path: Path, qos: int, version: int):
    """A capture of a subscriber, played as its broker, makes the subscriber print the same."""
    path, topic = tmp_path / "c", f"replayed/{qos}/{version}"
    for number in range(3):
        assert smq("pub", "-p", broker.port, "-t", f"{topic}/{number}", "-m", f"message {number}", "-q", qos, "-r").returncode == 0
    options = ["-t", f"{topic}/#", "-q", qos, "-V", version, "-C", 3, "-v", "-i", "replayed"]
    then = smq("sub", "-p", broker.port, *options, "--capture", path)
    assert then.returncode == 0 and len(then.stdout.splitlines()) == 3
    port = free_port()
    server = start("replay", path, "--server", "-p", port, "--speed", 0)
    assert server.stdout.readline() == b"listening on 127.0.0.1 port %d\n" % port
    now = smq("sub", "-p", port, *options)
    assert (now.stdout, now.stderr, now.returncode) == (then.stdout, b"", 0)
    said = server.communicate()[0].decode()
    # It leaves with the third message, whatever became of the first one's handshake.
    differences = [line for line in said.splitlines() if line.startswith("!")]
    assert [line for line in differences if "before PUBCOMP" not in line] == [] and server.returncode == (1 if differences else 0), said
    # And as its client, against the broker.
    client = smq("replay", path, "-p", broker.port, "--speed", 0)
    assert client.returncode == 0 and b"!" not in client.stdout


def test_another_identifier_is_acknowledged(tmp_path: Path):
    """The client publishes with 7 in the capture, and with another one now: the PUBACK is for that."""
    capture = Capture().packet(True, CONNECT).packet(False, CONNACK)
    capture.packet(True, publish("a", b"x", qos=1, identifier=7)).packet(False, packet(4, b"\0\7")).packet(True, packet(14))
    port = free_port()
    server = start("replay", capture.write(tmp_path / "c"), "--server", "-p", port)
    server.stdout.readline()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(CONNECT + publish("a", b"x", qos=1, identifier=99) + packet(14))
        received = b""
        while piece := client.recv(100):
            received += piece
    assert received == CONNACK + packet(4, b"\0\x63")
    assert server.wait(20) == 0
    server.communicate()


def test_what_is_different_is_told(tmp_path: Path):
    capture = Capture().packet(True, CONNECT).packet(False, CONNACK).packet(True, SUBSCRIBE).packet(False, SUBACK)
    port = free_port()
    server = start("replay", capture.write(tmp_path / "c"), "--server", "-p", port, "-W", 1)
    server.stdout.readline()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(CONNECT + publish("a", b"x"))
        client.recv(100)
        said = server.stdout.read().decode()
    assert server.wait(20) == 1
    server.communicate()
    assert "! < PUBLISH q0 a 1 bytes\n  instead of SUBSCRIBE #9 plant/# q1\n" in said
    assert said.endswith("1 packets are not what they were\n")


def test_pauses(tmp_path: Path):
    """As long as they were, or shorter by the factor; a lower bound is what can be tested."""
    capture = Capture().packet(True, CONNECT).packet(False, CONNACK, after=800_000)
    for speed, least in (("1", 0.8), ("4", 0.2)):
        port = free_port()
        server = start("replay", capture.write(tmp_path / "c"), "--server", "-p", port, "--speed", speed)
        server.stdout.readline()
        with socket.create_connection(("127.0.0.1", port)) as client:
            begun = time.monotonic()
            client.sendall(CONNECT)
            assert client.recv(100) == CONNACK
            assert time.monotonic() - begun >= least
        server.communicate()


@pytest.mark.parametrize("capture, said", [
    (Capture(), b"it has no CONNECT"),
    (Capture().packet(True, CONNECT[:10], length=len(CONNECT)), b"it has only the beginning of a packet"),
])  # fmt: skip
def test_captures_that_cannot_be_played(tmp_path: Path, capture: Capture, said: bytes):
    result = smq("replay", capture.write(tmp_path / "c"))
    assert result.returncode == 1 and said in result.stderr


def test_a_capture_that_is_cut_short_is_played_as_far_as_it_goes(broker: Mosquitto, tmp_path: Path):
    path = Capture().packet(True, packet(1, b"\0\4MQTT\4\2\0\x3c\0\0")).packet(False, CONNACK).packet(True, SUBSCRIBE).write(tmp_path / "c")
    path.write_bytes(path.read_bytes()[:-4])
    result = smq("replay", path, "-p", broker.port)
    assert (result.returncode, result.stderr) == (0, b"") and b"SUBSCRIBE" not in result.stdout
    assert [line.split()[0] for line in result.stdout.decode().splitlines()] == [">", "<"]


def test_each_side_has_its_own_identifiers(tmp_path: Path):
    """A PUBACK of the other side says nothing of its PUBLISH with the same Packet Identifier."""
    publish = [packet(3, b"\0\1a" + bytes([0, 1]) + text, 2) for text in (b"theirs", b"ours")]
    capture = Capture().packet(True, CONNECT).packet(False, CONNACK).packet(False, publish[0]).packet(True, publish[1])
    capture.packet(False, packet(4, b"\0\1")).packet(True, packet(4, b"\0\1"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = start("replay", capture.write(tmp_path / "c"), "-h", "127.0.0.1", "-p", listener.getsockname()[1], "--speed", 0)
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(100) == CONNECT
            peer.sendall(CONNACK + packet(3, b"\0\1a\0\x09theirs", 2))
            assert peer.recv(100) == publish[1]
            peer.sendall(packet(4, b"\0\1"))
            assert peer.recv(100) == packet(4, b"\0\x09")
    assert process.wait(30) == 0


def test_nobody_listens(tmp_path: Path):
    result = smq("replay", Capture().packet(True, CONNECT).write(tmp_path / "c"), "-p", free_port(), "-h", "127.0.0.1")
    assert result.returncode == 1 and b"Connection refused" in result.stderr


# ---- console


@pytest.fixture
def console(broker: Mosquitto) -> Iterator[Callable[..., subprocess.Popen]]:
    started: list[subprocess.Popen] = []

    def run(*options: object) -> subprocess.Popen:
        started.append(start("console", "-p", broker.port, *options, stdin=subprocess.PIPE))
        assert started[-1].stdout.readline().startswith(b"connected to ")
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen, *lines: str) -> None:
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.flush()


def test_console(console):
    process = console("-V", 5)
    say(process, "qos 1", "sub con/#")
    assert process.stdout.readline() == b"subscribed with QoS 1\n"
    say(process, "pub con/a hello  there")
    assert sorted(process.stdout.readline() for _ in range(2)) == [b"con/a (q1): hello  there\n", b"delivered\n"]
    say(process, "unsub con/#")
    assert process.stdout.readline() == b"Success\n"
    say(process, "disconnect")
    assert process.stdout.readline() == b"disconnected: as asked for\n"
    say(process, "connect")
    assert process.stdout.readline().startswith(b"connected to ")
    say(process, "nonsense", "qos 3", "pub", "pub con/#")
    assert process.stdout.readline() == b'"nonsense" is unknown: help lists the commands\n'
    assert process.stdout.readline() == b"usage: qos 0|1|2\n"
    assert process.stdout.readline() == b"usage: pub TOPIC [TEXT...]\n"
    assert process.stdout.readline().startswith(b"not done: ")
    say(process, "quit")
    assert process.wait(20) == 0


def test_console_reads_a_script_when_it_is_connected(broker: Mosquitto):
    """Nothing of it is lost, however early it is there."""
    result = smq("console", "-p", broker.port, "-q", 1, stdin=b"pub script/a early\nsub script/a\nretain script/a kept")
    assert result.returncode == 0 and result.stdout.count(b"delivered\n") == 2 and b"subscribed with QoS 1\n" in result.stdout
    assert smq("sub", "-p", broker.port, "-t", "script/a", "-C", 1).stdout == b"kept\n"
    result = smq("console", "-p", free_port(), stdin=b"pub script/a early\n")
    assert result.returncode == 1 and b"disconnected: Connection refused" in result.stdout


def test_console_to_the_end_of_input(console, broker: Mosquitto):
    """What was published is delivered before the end, the last line without an end, too."""
    process = console("-q", "1")
    say(process, "retain end/a one")
    process.stdin.write(b"retain end/b two")
    process.communicate()
    assert process.returncode == 0
    assert sorted(smq("sub", "-p", broker.port, "-t", "end/#", "-C", 2).stdout.splitlines()) == [b"one", b"two"]


def test_console_on_a_terminal(broker: Mosquitto):
    with Terminal("console", "-p", broker.port, "-t", "term/#") as terminal:
        terminal.until_shown("connected to ", "subscribed with QoS 0")
        smq("pub", "-p", broker.port, "-t", "term/a", "-m", "\x1b[2Jtext")
        terminal.until_shown(r"term/a (q0): \x1b[2Jtext")
        terminal.type("help\n")
        terminal.until_shown("publish with the QoS of 'qos'")
        terminal.type("quit\n")
        assert terminal.end() == 0
