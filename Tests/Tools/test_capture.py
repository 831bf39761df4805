"""--capture: what Wireshark and tshark read, field by field what went over the connection."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from Support.recording import Proxy, dissect
from Support.servers import Mosquitto, need

from .tool import smq, start

FIELDS = ("frame.packet_flags_direction", "mqtt.msgtype", "mqtt.topic", "mqtt.msg", "mqtt.msgid", "mqtt.username", "mqtt.clientid", "mqtt.qos")
BOTH = FIELDS[1:]


def tshark(capture: Path, *fields: str) -> list[tuple[str, ...]]:
    command = [need("tshark", "interop"), "-n", "-r", str(capture), "-T", "fields", "-E", "separator=/t"]
    result = subprocess.run(
        [*command, *[word for field in fields for word in ("-e", field)]],
        env={"PATH": "/usr/bin:/bin", "HOME": str(capture.parent)}, capture_output=True, text=True, timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return [tuple(line.split("\t")) for line in result.stdout.splitlines()]


def blocks(data: bytes) -> list[tuple[int, bytes]]:
    """Of a pcapng file: types and bodies. Each is padded, and says its length twice."""
    found = []
    while data:
        kind, size = struct.unpack_from("<II", data)
        assert size % 4 == 0 and 12 <= size <= len(data) and data[size - 4 : size] == data[4:8]
        found.append((kind, data[8 : size - 4]))
        data = data[size:]
    return found


@pytest.fixture
def proxy(broker: Mosquitto, tmp_path: Path):
    proxy = Proxy(broker, tmp_path / "recorded.pcap")
    yield proxy
    proxy.close()


@pytest.mark.parametrize("version", [31, 311, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_same_as_on_the_wire(proxy: Proxy, tmp_path: Path, qos: int, version: int):
    capture = tmp_path / "c.pcapng"
    more = ["-D", "publish", "user-property", "name", "value"] if version == 5 else []
    result = smq(
        "pub", "-h", "127.0.0.1", "-p", proxy.port, "-V", version, "-i", "captured", "-u", "user", "-t", "a/b", "-m", "payload", "-q", qos,
        "--will-topic", "gone", "--will-payload", "gone", "--capture", capture, *more)
    assert (result.returncode, result.stderr) == (0, b"")
    recorded = dissect_in_order(proxy)
    captured = tshark(capture, *FIELDS)
    for way, direction in (("0x00000002", "client"), ("0x00000001", "server")):
        ours = [fields[1:] for fields in captured if fields[0] == way]
        assert ours == [fields for who, fields in recorded if who == direction]
    assert len(captured) == (4, 5, 7)[qos]
    if version == 5:
        assert ("name", "value") in tshark(capture, "mqtt.prop_key", "mqtt.prop_value")


def dissect_in_order(proxy: Proxy) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (packet["direction"], tuple(",".join(shown(packet, name)) for name in BOTH)) for packet in proxy.dissect()
    ]


def shown(packet: dict, name: str) -> list[str]:
    """PDML has colons between the bytes of a payload."""
    return [value.replace(":", "") for value in packet["fields"].get(name, [])]


def test_comments_times_and_secrets(broker: Mosquitto, tmp_path: Path):
    capture = tmp_path / "c.pcapng"
    smq("pub", *broker.address, "-i", "me", "-u", "user", "-P", "very secret", "-t", "a", "-m", "x", "-q", 1, "--capture", capture)
    assert b"very secret" not in capture.read_bytes() and b"*" * 11 in capture.read_bytes()
    found = tshark(capture, "frame.interface_id", "frame.comment", "mqtt.msgtype", "frame.time_epoch")
    full, none = "outbox 1, in flight 1", "outbox 0, in flight 0"
    assert [fields[:3] for fields in found] == [
        ("0", none, "1"), ("0", none, "2"), ("0", full, "3"), ("0", full, "4"), ("0", none, "14")
    ]
    times = [float(fields[3]) for fields in found]
    assert times == sorted(times) and abs(times[0] - capture.stat().st_mtime) < 60
    (header, _), (interface, named), *packets = blocks(capture.read_bytes())
    assert (header, interface) == (0x0A0D0D0A, 1) and b"\x02\x00\x02\x00me\0\0" in named
    assert {kind for kind, _ in packets} == {6} and oct(capture.stat().st_mode)[-3:] == "600"


def test_several_connections(broker: Mosquitto, tmp_path: Path):
    """smq check has one after the other, with several versions, each of which tshark has to know apart."""
    capture = tmp_path / "c.pcapng"
    assert smq("check", *broker.address, "--capture", capture).returncode == 0
    found = tshark(capture, "frame.interface_id", "mqtt.msgtype", "mqtt.ver", "_ws.malformed")
    connects = [fields for fields in found if fields[1] == "1"]
    assert {fields[2] for fields in connects} >= {"3", "4", "5"} and len({fields[0] for fields in found}) == len(connects)
    assert not any(fields[3] for fields in found)


def test_a_size(broker: Mosquitto, tmp_path: Path):
    """Two files, of which both together are no larger; each is whole in itself."""
    capture, old = tmp_path / "c.pcapng", tmp_path / "c.pcapng.1"
    lines = b"".join(b"line %d %s\n" % (number, b"x" * 200) for number in range(1000))
    assert smq("pub", *broker.address, "-t", "a", "-l", "-q", 1, "--capture", capture, "--capture-size", 40_000, stdin=lines).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.pcapng", "c.pcapng.1"]
    both = [fields for path in (old, capture) for fields in tshark(path, "mqtt.msgtype", "mqtt.msg")]
    assert both[-1][0] == "14" and len(both) > 40
    numbers = [int(bytes.fromhex(text).split()[1]) if " " not in text else int(text.split()[1]) for kind, text in both if kind == "3"]
    assert numbers == list(range(numbers[0], 1000))
    assert old.stat().st_size + capture.stat().st_size < 40_000 + 2 * 66_000  # what one turn of the loop writes at most


def test_each_of_two_files_says_which_version_it_is_of(broker: Mosquitto, tmp_path: Path):
    """The CONNECT is in the older one; without it nobody reads packets of 5.0."""
    capture = tmp_path / "turning.pcapng"
    lines = b"".join(b"%0200d\n" % number for number in range(2000))
    options = ["-V", 5, "-D", "publish", "content-type", "text/plain", "-l", "-q", 1, "--capture", capture, "--capture-size", 8192]
    assert smq("pub", *broker.address, "-t", "a", *options, stdin=lines).returncode == 0
    for path in (capture, tmp_path / "turning.pcapng.1"):
        found = [json.loads(line) for line in smq("inspect", path, "--json").stdout.splitlines()]
        assert found[0]["packet"] == "CONNECT" and [one for one in found if one.get("malformed")] == []
        published = [one for one in found if one["packet"] == "PUBLISH"]
        assert all(one["payload_bytes"] == 200 and one["properties"] == {"content-type": "text/plain"} for one in published)


def test_a_pipe(broker: Mosquitto, tmp_path: Path):
    fifo, found = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    more = ["-l", "--capture", fifo, "--capture-size", 4096]  # a pipe has no size to keep to
    assert smq("pub", *broker.address, "-t", "a", *more, stdin=b"x" * 4000 + b"\nx\n").returncode == 0
    reader.join(10)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]
    assert [kind for kind, _ in blocks(found[0])] == [0x0A0D0D0A, 1, 6, 6, 6, 6, 6]


def test_each_packet_is_there_at_once(broker: Mosquitto, tmp_path: Path):
    """Whoever looks while smq sub waits sees all that has come."""
    from Support.waiting import wait_for

    capture = tmp_path / "c.pcapng"
    process = start("sub", *broker.address, "-t", "live", "--capture", capture)
    try:
        wait_for(lambda: capture.exists() and len(blocks(capture.read_bytes())) == 6)  # CONNECT, CONNACK, SUBSCRIBE, SUBACK
    finally:
        process.terminate()
        process.communicate(timeout=10)
    assert len(blocks(capture.read_bytes())) == 7


def test_what_cannot_be_written(broker: Mosquitto, tmp_path: Path):
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "none" / "c", "No such file or directory")):
        result = smq("pub", *broker.address, "-t", "a", "-m", "x", "--capture", path)
        assert result.returncode == 1 and result.stderr.decode() == f"smq pub: --capture {path}: {why}\n"
    result = smq("pub", *broker.address, "-t", "a", "-m", "x", "--capture", "/dev/full")
    assert result.returncode == 1 and b"--capture /dev/full: No space left on device" in result.stderr
    result = smq("pub", *broker.address, "-t", "a", "-m", "x", "--capture-size", 5000)
    assert result.returncode == 1 and b"--capture-size needs --capture" in result.stderr
