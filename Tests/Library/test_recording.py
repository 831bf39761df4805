"""The means of recording themselves: tshark has to find what is wrong, and the proxy to pass on and
write down what was said, and to cut where it was told to."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from Support.recording import Chunk, Proxy, Recording, dissect, write_pcap
from Support.waiting import wait_for

CONNECT = "100E 0004 4D515454 05 02 003C 00 0001 61"
CONNACK = "2003 00 00 00"
PUBLISH = "3006 0001 61 00 7879"


def seen(directory: Path, *said: str) -> list[dict]:
    """What tshark makes of this, said by a client of 5.0."""
    chunks = [Chunk(1.0, True, bytes.fromhex(CONNECT)), Chunk(1.1, False, bytes.fromhex(CONNACK))]
    chunks += [Chunk(1.2 + n / 10, True, bytes.fromhex(data)) for n, data in enumerate(said)]
    write_pcap(directory / "a.pcap", [Recording(1.0, chunks)], 1883)
    packets = dissect(directory / "a.pcap", 1883)
    assert [packet["type"] for packet in packets[:2]] == ["CONNECT", "CONNACK"]
    return packets[2:]


@pytest.mark.parametrize(
    "said",
    [
        (PUBLISH, "C000"),
        (PUBLISH + "C000",),
        tuple(f"{byte:02X}" for byte in bytes.fromhex(PUBLISH + "C000")),
        ("30", "06 0001 61 00 7879 C0", "00 30"),  # the last one is cut off
    ],
)
def test_packets_are_put_together_and_taken_apart(tmp_path, said):
    publish, ping = seen(tmp_path, *said)
    assert (publish["type"], ping["type"]) == ("PUBLISH", "PINGREQ")
    assert (publish["size"], ping["size"]) == (8, 2)
    assert publish["fields"]["mqtt.qos"] == ["0"]
    assert publish["raw"]["mqtt.topic"] == [b"a"]
    assert publish["raw"]["mqtt.msg"] == [b"xy"]
    assert publish["direction"] == "client"


def test_a_packet_is_larger_than_a_segment(tmp_path):
    payload = bytes(3 << 20)
    header = bytes.fromhex("30 84 80 C0 01 0001 61 00")
    (publish,) = seen(tmp_path, (header + payload).hex())
    assert publish["size"] == len(header + payload)
    assert publish["raw"]["mqtt.msg"] == [payload]


def test_properties_are_listed(tmp_path):
    (publish,) = seen(
        tmp_path, "3019 0001 61 12 23 0002 26 0001 6B 0001 76 26 0001 6B 0000 01 01 C3A4C3"
    )
    assert publish["properties"] == [
        (0x23, b"\0\2"),
        (0x26, b"k", b"v"),
        (0x26, b"k", b""),
        (0x01, b"\1"),
    ]
    assert publish["raw"]["mqtt.msg"] == [b"\xc3\xa4\xc3"]


@pytest.mark.parametrize(
    "said",
    [
        "3004 0005 61 78",  # the topic is longer than the packet
        "3004 0001 61 09",  # the properties are
        "4001 00",  # half a Packet Identifier
        "0000",  # a type that does not exist
        "30FFFFFFFF01 0001 61",  # five bytes of Remaining Length
        "3003 0000 00",  # no topic: well-formed, but an expert warns of it
    ],
)
def test_what_is_wrong_is_found(tmp_path, said):
    with pytest.raises(AssertionError):
        seen(tmp_path, PUBLISH, said)


def test_hold_release_and_cut(tmp_path):
    """Before a server that says what it is told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = SimpleNamespace(host="127.0.0.1", port=listener.getsockname()[1])
        proxy = Proxy(address, tmp_path / "a.pcap")
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)
        server, _ = listener.accept()
        server.settimeout(10)

        def through(data: bytes) -> None:
            client.sendall(data)
            assert server.recv(100) == data
            server.sendall(data.upper())

        through(b"one")
        assert client.recv(100) == b"ONE"
        proxy.hold()
        through(b"two")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(100)
        proxy.release()
        client.settimeout(10)
        assert client.recv(100) == b"TWO"
        proxy.hold()
        through(b"three")
        proxy.cut()
        assert client.recv(100) == b"", "what was held back is lost"
        assert server.recv(100) == b""
        client.sendall(b"four")
        (recording,) = proxy.recordings
        wait_for(lambda: recording.data(True).endswith(b"four"))
        client.close()
        server.close()
        proxy.close()
        said = [(chunk.from_client, chunk.data) for chunk in recording.chunks]
        assert said == [
            (True, b"one"),
            (False, b"ONE"),
            (True, b"two"),
            (False, b"TWO"),
            (True, b"three"),
            (True, b"four"),
        ]
        assert recording.cut
        assert recording.chunks[0].time <= recording.chunks[1].time <= recording.end
