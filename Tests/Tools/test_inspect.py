"""smq inspect: packets of a running client, of a capture, of a broker; on a terminal, whose screens are compared, and in lines."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cbor2
import msgpack
import pytest
from Support.codec import packet
from Support.codec import publish_packet
from Support.servers import Mosquitto, free_port
from Support.waiting import wait_for

from .captures import Capture, block
from .terminal import Terminal, golden
from .tool import smq, start

CONNECT = packet(1, b"\0\4MQTT\4\xc2\0\x3c\0\5board\0\4user\0\6******")
CONNECT_5 = packet(1, b"\0\4MQTT\5\2\0\x3c\0\0\5board")
CONNACK = packet(2, b"\0\0")
SUBSCRIBE = packet(8, b"\0\x09\0\7plant/#\1", 2)
SUBACK = packet(9, b"\0\x09\1")


def publish(topic: str, payload: bytes, **more) -> bytes:
    return publish_packet(4, topic, payload, **more)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    capture = Capture()
    capture.packet(True, CONNECT, comment="outbox 0, in flight 0").packet(False, CONNACK)
    capture.packet(True, SUBSCRIBE).packet(False, SUBACK)
    capture.packet(True, publish("plant/line1/temp", b'{"v":21.5,"unit":"Cel"}', qos=1, identifier=7), after=1_000_000,
                   comment="outbox 1, in flight 0")
    capture.packet(False, packet(4, b"\0\7"))
    capture.packet(False, publish("plant/line2/temp", b"22.0", retain=1), after=60_000_000)
    return capture.write(tmp_path / "session.pcapng")


@pytest.fixture
def daemon(broker: Mosquitto, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Runs smq sub with an inspection socket, and gives its path."""
    started: list[subprocess.Popen] = []

    def run(*options: object) -> str:
        path = str(tmp_path / f"{len(started)}.sock")
        started.append(start("sub", "-p", broker.port, "-t", "plant/#", "-i", f"daemon{len(started)}", "--inspect", path, *options))
        wait_for(lambda: b"state                     connected" in smq("stats", path).stdout)
        return path

    yield run
    for process in started:
        process.kill()
        process.communicate()


# ---- Lines


LINES = """\
2023-11-15T12:00:00.001Z > CONNECT MQTT 3.1.1 'board' clean keep alive 60 s user 'user' password
2023-11-15T12:00:00.002Z < CONNACK Success
2023-11-15T12:00:00.003Z > SUBSCRIBE #9 plant/# q1
2023-11-15T12:00:00.004Z < SUBACK #9 q1
2023-11-15T12:00:01.004Z > PUBLISH q1 #7 plant/line1/temp 23 bytes
2023-11-15T12:00:01.005Z < PUBACK #7
2023-11-15T12:01:01.005Z < PUBLISH q0 retain plant/line2/temp 4 bytes
"""


def test_a_capture_in_lines(session: Path):
    result = smq("inspect", session)
    assert (result.stdout.decode(), result.stderr, result.returncode) == (LINES, b"", 0)


@pytest.mark.parametrize("words, shown", [
    ("PUBLISH", [4, 6]), ("publish sent", [4]), ("received", [1, 3, 5, 6]), ("plant/+/temp", [4, 6]), ("plant/#", [2, 4, 6]),
    ("plant/line1/temp PUBLISH CONNECT", [4]), ("PLANT/#", []), ("CONNECT CONNACK", [0, 1]), ("other/#", []),
])  # fmt: skip
def test_filters(session: Path, words: str, shown: list[int]):
    lines = LINES.splitlines()
    assert smq("inspect", session, "--filter", words).stdout.decode().splitlines() == [lines[index] for index in shown]


@pytest.mark.parametrize("words", ["plant/#/a", "PUBLSH", "sent PUBLISHED"])
def test_a_filter_that_is_none(session: Path, words: str):
    """A word of capital letters is a misspelled packet rather than a topic."""
    result = smq("inspect", session, "--filter", words)
    assert result.returncode == 1 and f'--filter: "{words}" is not names of packets'.encode() in result.stderr


def test_json(session: Path):
    lines = [json.loads(line) for line in smq("inspect", session, "--json").stdout.splitlines()]
    assert [line["packet"] for line in lines] == ["CONNECT", "CONNACK", "SUBSCRIBE", "SUBACK", "PUBLISH", "PUBACK", "PUBLISH"]
    assert lines[0]["client_id"] == "board" and lines[0]["version"] == "3.1.1"
    assert lines[4] == {
        "time": "2023-11-15T12:00:01.004Z", "direction": "sent", "packet": "PUBLISH", "length": 45, "id": 7,
        "topic": "plant/line1/temp", "qos": 1, "retain": False, "dup": False, "payload_bytes": 23, "format": "JSON",
        "payload": {"v": 21.5, "unit": "Cel"},
    }  # fmt: skip


PAYLOADS = {
    "text": (b"22.0", None, "22.0"),
    "empty": (b"", None, ""),
    "JSON": (b'[1, {"a": null}]', "JSON", [1, {"a": None}]),
    "almost JSON": (b'{"a":', None, '{"a":'),
    "CBOR": (cbor2.dumps({"a": [1, -2, 1.5, True, None, b"\1\2"]}), "CBOR", {"a": [1, -2, 1.5, True, None, "h'0102'"]}),
    "CBOR, large": (cbor2.dumps({"n": 2**64 - 1, "m": -(2**64)}), "CBOR", {"n": 2**64 - 1, "m": -(2**64)}),
    "CBOR, endless": (bytes.fromhex("bf61618102ff"), "CBOR", {"a": [2]}),
    "CBOR, halves": (bytes.fromhex("83f93e00f97bfff90001"), "CBOR", [1.5, 65504.0, 5.960464477539063e-08]),
    "CBOR, tagged": (cbor2.dumps({"t": cbor2.CBORTag(1, 1363896240)}), "CBOR", {"t": "1(1363896240)"}),
    "SenML": (cbor2.dumps([{-2: "urn:dev:", 0: "temp", 1: "Cel", 2: 21.5}]), "SenML in CBOR", [{"bn": "urn:dev:", "n": "temp", "u": "Cel", "v": 21.5}]),
    "MessagePack": (msgpack.packb({"a": [1, -200, 1.5, b"\xff", 2**40], "long" * 20: None}), "MessagePack",
                    {"a": [1, -200, 1.5, "h'ff'", 2**40], "long" * 20: None}),
}  # fmt: skip


@pytest.mark.parametrize("payload, format, value", PAYLOADS.values(), ids=PAYLOADS)
def test_payloads(tmp_path: Path, payload: bytes, format: str | None, value: object):
    path = Capture().packet(True, publish("a", payload)).write(tmp_path / "c")
    [line] = [json.loads(line) for line in smq("inspect", path, "--json").stdout.splitlines()]
    assert (line.get("format"), line["payload"]) == (format, value)


def test_sparkplug(tmp_path: Path):
    def field(number: int, kind: int, value: bytes) -> bytes:
        return bytes([number << 3 | kind]) + (bytes([len(value)]) if kind == 2 else b"") + value

    metric = field(1, 2, b"temp") + field(3, 0, b"\x01") + field(4, 0, b"\x0a") + field(13, 1, struct.pack("<d", 21.5))
    payload = field(1, 0, bytes([0x80, 0xD0, 0x95, 0xFF, 0xBC, 0x31])) + field(2, 2, metric) + field(3, 0, b"\x05")
    path = Capture().packet(True, publish("spBv1.0/group/DDATA/node/device", payload)).write(tmp_path / "c")
    line = json.loads(smq("inspect", path, "--json").stdout)
    assert line["format"] == "Sparkplug B"
    assert line["payload"]["seq"] == 5 and line["payload"]["timestamp"].startswith("2023-11-")
    assert line["payload"]["metrics"] == [
        {"name": "temp", "timestamp": "1970-01-01T00:00:00.001Z", "datatype": "Double", "double_value": 21.5}]  # fmt: skip


def test_properties(tmp_path: Path):
    # Topic Alias, Content Type, and a User Property.
    properties = bytes([0x23, 0, 3, 0x03, 0, 10]) + b"text/plain" + bytes([0x26, 0, 1]) + b"a" + b"\0\1b"
    capture = Capture().packet(True, CONNECT_5)
    capture.packet(True, packet(3, b"\0\0" + bytes([len(properties)]) + properties + b"x"))
    capture.packet(False, packet(14, b"\x8b\0"))
    lines = smq("inspect", capture.write(tmp_path / "c")).stdout.decode().splitlines()
    assert lines[1].endswith("> PUBLISH q0 (alias 3) 1 bytes")
    assert lines[2].endswith("< DISCONNECT Server shutting down")


# ---- Captures that are none


@pytest.mark.parametrize("change, said", [
    (lambda data: b"", b""),
    (lambda data: b"no capture at all", b"it is no capture (pcapng)"),
    (lambda data: data[:8] + data[8:12][::-1] + data[12:], b"it is a capture of a machine with the other byte order"),
    (lambda data: data + struct.pack("<III", 6, 13, 0), b"the capture is damaged at byte "),
    (lambda data: data + struct.pack("<II", 6, 0x7FFFFFFC), b"the capture is damaged at byte "),
    (lambda data: data + block(6, struct.pack("<IIIII", 9, 0, 0, 0, 0)), b"the capture is damaged at byte "),
    (lambda data: data + block(6, struct.pack("<IIIII", 0, 0, 0, 0xFFFFFFF0, 0)), b"the capture is damaged at byte "),
    (lambda data: data + block(6, b""), b"the capture is damaged at byte "),
])  # fmt: skip
def test_files_that_are_no_captures(session: Path, change: Callable[[bytes], bytes], said: bytes):
    session.write_bytes(change(session.read_bytes()))
    result = smq("inspect", session)
    assert said in result.stderr and result.returncode == (1 if said else 0)


def test_a_capture_that_is_cut_short(session: Path):
    """What is there is shown; it may be of a program that still runs."""
    whole = smq("inspect", session)
    session.write_bytes(session.read_bytes()[:-4])
    result = smq("inspect", session)
    assert result.returncode == 0 and result.stderr == b"smq inspect: the capture ends in the middle of a block\n"
    assert result.stdout == b"".join(whole.stdout.splitlines(keepends=True)[:-1])


def test_times_that_are_none(session: Path):
    """Before 1970, or in a thousand centuries."""
    for high in (0xFFFFFFFF, 0x80000000, 1 << 26):
        capture = Capture()
        capture.time = high << 32
        capture.packet(True, CONNECT).write(session)
        for command in (["inspect"], ["inspect", "--json"], ["replay", "-p", str(free_port())]):
            result = smq(*command[:1], session, *command[1:])
            assert result.returncode == 1 and b"the capture is damaged at byte " in result.stderr


def test_lost_packets_are_told(session: Path):
    capture = Capture().packet(True, CONNECT).lost(500).packet(False, CONNACK)
    lines = smq("inspect", capture.write(session)).stdout.decode().splitlines()
    assert len(lines) == 3 and "500 packets were lost: this program was too slow" in lines
    assert {"lost": 500} in [json.loads(line) for line in smq("inspect", session, "--json").stdout.splitlines()]


def test_a_bridge_connects(tmp_path: Path):
    """The highest bit of its version says so."""
    capture = Capture().packet(True, packet(1, b"\0\4MQTT\x84\2\0\x3c\0\6bridge"))
    (line,) = smq("inspect", capture.write(tmp_path / "c"), "--json").stdout.splitlines()
    assert json.loads(line)["client_id"] == "bridge" and "malformed" not in json.loads(line)


def test_what_other_programs_write_is_passed_over(session: Path):
    capture = Capture()
    capture.interface("eth0", link=1)
    capture.data += block(0x80000042, b"anything") + block(10, b"secrets!")
    capture.packet(True, b"\x45ethernet", interface=1).packet(True, b"GET /", dissector=b"http").packet(True, CONNECT)
    assert smq("inspect", capture.write(session)).stdout.decode().endswith("password\n")


def test_every_beginning_of_a_packet(tmp_path: Path):
    """None is taken for more than it is, and nothing breaks."""
    whole = [CONNECT, CONNECT_5, SUBSCRIBE, SUBACK, publish("a/b", b"payload", qos=1, identifier=1), packet(14, b"\x8b\x02\x1f\0")]
    capture = Capture()
    for one in whole:
        for size in range(len(one) + 1):
            capture.packet(True, one[:size], length=len(one))
            capture.packet(True, one[:size])
    result = smq("inspect", capture.write(tmp_path / "c"), "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0 and len(lines) == 2 * sum(len(one) + 1 for one in whole)


# ---- A running client


def test_a_running_client(broker: Mosquitto, daemon):
    path = daemon()
    viewer = start("inspect", path, "--filter", "PUBLISH", "-C", 2, "-W", 60)
    wait_for(lambda: b"" == smq("pub", "-p", broker.port, "-t", "plant/a", "-m", "one").stderr and viewer.poll() is not None)
    lines = viewer.communicate()[0].decode().splitlines()
    assert viewer.returncode == 0 and [line.split(" ", 1)[1] for line in lines] == ["< PUBLISH q0 plant/a 3 bytes"] * 2


def test_several_clients(broker: Mosquitto, daemon):
    paths = [daemon(), daemon()]
    lines, viewers = set(), []
    for options in ([], ["--json"]):
        viewers.append(start("inspect", *paths, "--filter", "PUBLISH", "-C", 2, "-W", 60, *options))
    wait_for(lambda: smq("pub", "-p", broker.port, "-t", "plant/a", "-m", "one").returncode == 0
             and all(viewer.poll() is not None for viewer in viewers))  # fmt: skip
    lines = {line.split(" ", 1)[1] for line in viewers[0].communicate()[0].decode().splitlines()}
    assert lines == {f"daemon{number} < PUBLISH q0 plant/a 3 bytes" for number in (0, 1)}
    assert {json.loads(line)["client_id"] for line in viewers[1].communicate()[0].splitlines()} == {"daemon0", "daemon1"}


def test_clients_of_a_capture(tmp_path: Path):
    """Those of a second section are the same, if they have the same names; another program's interface is none."""
    def section() -> Capture:
        capture = Capture("one")
        capture.interface("eth0", link=1)
        capture.interface("")
        return capture.packet(True, CONNECT).packet(True, CONNECT, interface=2)

    path = section().write(tmp_path / "c")
    path.write_bytes(path.read_bytes() * 2)
    words = [line.split()[1:4] for line in smq("inspect", path).stdout.decode().splitlines()]
    assert words == [["one", ">", "CONNECT"], ["client", "2", ">"]] * 2
    clients = [json.loads(line)["client_id"] for line in smq("inspect", path, "--json").stdout.splitlines()]
    assert clients == ["one", "client 2"] * 2
    with Terminal("inspect", path) as terminal:
        terminal.until_shown("4 packets")
        assert [golden(line)[:61].rstrip() for line in terminal.lines[1:4]] == [
            " TIME         CLIENT     PACKET", " hh:mm:ss.mmm client 2 > CONNECT     MQTT 3.1.1 'board' clean",
            " hh:mm:ss.mmm one      > CONNECT     MQTT 3.1.1 'board' clean"]  # fmt: skip
        terminal.type("Enter")
        terminal.until_shown("client                      client 2")


def test_a_client_that_ends(daemon):
    path = daemon("-W", "1")
    assert smq("inspect", path).returncode == 0


def test_nothing_there(tmp_path: Path):
    result = smq("inspect", tmp_path / "none")
    assert result.returncode == 1 and b"No such file or directory" in result.stderr


def test_too_many_at_once():
    result = smq("inspect", *["a"] * 7)
    assert result.returncode == 1 and b"at most 6 clients" in result.stderr


def test_nothing_at_all():
    result = smq("inspect")
    assert result.returncode == 1 and b"what to look at is required" in result.stderr


def test_topics_of_a_broker(broker: Mosquitto):
    viewer = start("inspect", "-p", broker.port, "-t", "of/broker", "--filter", "PUBLISH", "-C", 1, "-W", 60)
    wait_for(lambda: smq("pub", "-p", broker.port, "-t", "of/broker", "-m", "x").returncode == 0 and viewer.poll() is not None)
    assert viewer.communicate()[0].decode().endswith("< PUBLISH q0 of/broker 1 bytes\n")


def test_the_time_of_w(broker: Mosquitto):
    result = smq("inspect", "-p", broker.port, "-t", "never/a", "--filter", "PUBLISH", "-W", 1, "--json")
    assert (result.returncode, result.stdout) == (27, b"")


# ---- On a terminal


LIST = """\
 smq inspect  board                            7 packets  the capture ends here
 TIME           PACKET
 hh:mm:ss.mmm < PUBLISH     q0 retain plant/line2/temp 4 bytes
 hh:mm:ss.mmm < PUBACK      #7
 hh:mm:ss.mmm > PUBLISH     q1 #7 plant/line1/temp 23 bytes
 hh:mm:ss.mmm < SUBACK      #9 q1
 hh:mm:ss.mmm > SUBSCRIBE   #9 plant/# q1
 hh:mm:ss.mmm < CONNACK     Success
 hh:mm:ss.mmm > CONNECT     MQTT 3.1.1 'board' clean keep alive 60 s user 'user'"""

KEYS = " Enter Detail  / Search  n Next  f Filter  p Pause  i Numbers  c Clear  s Save"


def test_the_list(session: Path):
    with Terminal("inspect", session) as terminal:
        terminal.until_shown("CONNACK", "the capture ends here")
        assert golden("\n".join(terminal.lines[:9])) == LIST
        assert terminal.lines[9:23] == [""] * 14
        assert terminal.lines[23] == KEYS
        terminal.type("q")
        assert terminal.end() == 0 and terminal.is_as_before()
        assert terminal.raw.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l")


DETAIL = """\
PUBLISH sent at hh:mm:ss.mmm
  before it                   outbox 1, in flight 0
  length                      45 bytes
  Packet Identifier           7
  topic                       plant/line1/temp
  QoS                         1
  retain                      no
  DUP                         no

payload: JSON, 23 bytes
  {
    "v":  21.5,
    "unit":  "Cel"
  }"""


def test_what_a_packet_says(session: Path):
    with Terminal("inspect", session) as terminal:
        terminal.until_shown("CONNACK")
        terminal.type("Down", "Down", "Enter")
        terminal.until_shown("payload: JSON")
        assert golden("\n".join(terminal.lines[1:15])) == DETAIL
        terminal.type("q")
        terminal.until_shown("CONNACK")
        terminal.type("End", "Enter")
        terminal.until_shown("Client Identifier", "password                    not shown")
        terminal.type("Escape", "q")
        assert terminal.end() == 0


def test_search(session: Path):
    with Terminal("inspect", session) as terminal:
        terminal.until_shown("CONNACK")
        terminal.type("/")
        terminal.until_shown(" search: _")
        terminal.type("LINEX", "Backspace", "1", "Enter")
        terminal.until_shown(KEYS)
        terminal.type("Enter")
        terminal.until_shown("plant/line1/temp", "payload: JSON")
        terminal.type("n")
        terminal.until_shown("no older packet has 'line1'")
        terminal.type("q", "q")
        assert terminal.end() == 0


def test_filter_and_pause(broker: Mosquitto, daemon):
    path = daemon()
    with Terminal("inspect", path) as terminal:
        terminal.until_shown("connected 3.1.1")
        terminal.type("f")
        terminal.until_shown(" filter: _")
        terminal.type("plant/#/b", "Enter")
        terminal.until_shown("a filter is Topic Filters")
        terminal.type(*["Backspace"] * 9, "plant/one", "Enter")
        terminal.until_shown(KEYS)
        for topic in ("plant/two", "plant/one"):
            smq("pub", "-p", broker.port, "-t", topic, "-m", "x")
        terminal.until_shown("plant/one")
        assert "plant/two" not in terminal.text
        terminal.type("p")
        terminal.until_shown("paused, 0 new")
        smq("pub", "-p", broker.port, "-t", "plant/one", "-m", "longer")
        terminal.until_shown("paused, 1 new")
        assert "6 bytes" not in terminal.text
        terminal.type("p")
        terminal.until_shown("6 bytes")
        terminal.type("i")
        terminal.until_shown("packets_sent")
        terminal.type("Page Down")
        terminal.until_shown("messages_received           3")
        terminal.type("q", "c")
        terminal.until_shown("0 packets")
        terminal.type("q")
        assert terminal.end() == 0


def test_saving(session: Path, tmp_path: Path):
    saved = save_from_terminal(tmp_path / "saved", session, "--filter", "PUBLISH")
    lines = LINES.splitlines()
    # CONNECT says which version of MQTT the others are of.
    assert smq("inspect", saved).stdout.decode().splitlines() == [lines[0], lines[4], lines[6]]
    assert b"outbox 1, in flight 0" in saved.read_bytes()


def save_from_terminal(folder: Path, *arguments: object) -> Path:
    folder.mkdir()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with Terminal("inspect", *arguments) as terminal:
            terminal.until_shown("packets", "the capture ends here")
            terminal.type("s")
            terminal.until_shown("packets are in smq-")
            terminal.type("q")
            assert terminal.end() == 0
    finally:
        os.chdir(before)
    [saved] = folder.iterdir()
    return saved


def test_what_is_saved_is_what_a_capture_has(broker: Mosquitto, tmp_path: Path):
    """Comments, names of clients, and the ports that tell connections apart."""
    path = tmp_path / "c"
    capture = smq("sub", "-p", broker.port, "-i", "saver", "-t", "saved", "-W", 1, "-V", 5, "--capture", path)
    assert capture.returncode == 27
    saved, captured = save_from_terminal(tmp_path / "saved", path).read_bytes(), path.read_bytes()
    # The first block has the name of the program, and its own size.
    assert saved[saved[4]:] == captured[captured[4]:]  # fmt: skip


def test_a_small_terminal_and_a_large_one(session: Path):
    with Terminal("inspect", session, rows=4, columns=30) as terminal:
        terminal.until_shown("PUBLISH")
        assert len(terminal.lines) == 4
        terminal.resize(40, 132)
        terminal.until_shown("CONNECT     MQTT 3.1.1 'board' clean keep alive 60 s user 'user' password")
        terminal.type("q")
        assert terminal.end() == 0


def test_a_signal_leaves_the_terminal_as_it_was(session: Path):
    with Terminal("inspect", session) as terminal:
        terminal.until_shown("CONNACK")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 0 and terminal.is_as_before()


def test_colours(session: Path):
    with Terminal("inspect", session) as terminal:
        terminal.until_shown("CONNACK")
        assert b"\x1b[0;32m" in terminal.raw
    with Terminal("inspect", session, NO_COLOR="1") as terminal:
        terminal.until_shown("CONNACK")
        assert b"\x1b[0;32m" not in terminal.raw


HOSTILE = {
    "escapes": b"\x1b[2J\x1b]0;title\x07\x9b31m\r\n\x08",
    "invalid UTF-8": b"\xff\xfe\xc0\x80\xed\xa0\x80",
    "C1 as UTF-8": "\u009b31m\u0085".encode(),
    "deep CBOR": b"\x81" * 5000 + b"\x00",
    "wide CBOR": b"\x9b" + b"\xff" * 8,
    "text in CBOR": cbor2.dumps({"\x1b[31m": "\x1b]0;x\x07"}),
    "deep JSON": b"[" * 100_000,
    "JSON": json.dumps({"\x1b[31m": "\x07\u009b"}, ensure_ascii=False).encode(),
    "deep MessagePack": b"\x91" * 5000 + b"\x00",
    "a megabyte": b"\x1b[31m" * 200_000,
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_payload_never_reaches_the_terminal(tmp_path: Path, payload: bytes):
    """Of what is not of smq, nothing controls the terminal."""
    topic = "hostile/\x1b[31m\u009b".encode()
    raw = struct.pack(">H", len(topic)) + topic + payload
    path = Capture().packet(False, packet(3, raw)).write(tmp_path / "c")
    with Terminal("inspect", path) as terminal:
        terminal.until_shown("PUBLISH")
        terminal.type("Enter")
        terminal.until_shown("payload:")
        terminal.type("End", "/", "x", "Enter", "f", "a", "Enter", "Escape", "i", "q", "q")
        time.sleep(0.3)
        terminal.read(0)
        seen = terminal.raw.rpartition(b"\x1b")[0]  # the last sequence may have come in part
        terminal.type("Escape", "q", "q")
    allowed = b"[H", b"[K", b"[0m", b"[0;7m", b"[0;1m", b"[0;2m", b"[0;31m", b"[0;32m", b"[0;33m", b"[0;36m", b"[?"
    for part in seen.split(b"\x1b")[1:]:
        assert part.startswith(allowed), part[:20]
    assert b"\x9b" not in seen.replace("\u009b".encode(), b"") and "\u009b".encode() not in seen
    assert b"\x07" not in seen and b"\x08" not in seen
    seen.decode()
    for options in (["--json"], []):
        result = smq("inspect", path, *options)
        assert result.returncode == 0 and b"\x1b" not in result.stdout and b"\x07" not in result.stdout
