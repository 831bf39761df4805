"""The inspection socket of a client of STOMP: programs of this machine read what goes over its connections, and hold up
nothing. What Tests/Library/test_inspection.py shows of the file and of pauses is the same code."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from Support.inspection import Reader
from Support.waiting import wait_for

from .conftest import BUILD, ROOT
from .peer import PATIENCE

os.environ.setdefault("SWIFTSTOMP_LIBRARY", str(BUILD / "libswiftstomp.so.1"))
os.environ.setdefault("SWIFTMQTT_LIBRARY", str(BUILD / "libswiftmqtt.so.1"))
sys.path.append(str(ROOT / "python"))

from swiftmqtt import stomp  # noqa: E402
from swiftmqtt.stomp import _abi  # noqa: E402


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "client.sock")


@pytest.fixture
def readers():
    """Makes programs that read, and closes them."""
    made: list[Reader] = []

    def make(path: str) -> Reader:
        made.append(Reader(path))
        return made[-1]

    yield make
    for reader in made:
        reader.close()


@pytest.fixture
def clients():
    made: list[stomp.Client] = []

    def make(url: str, **options) -> stomp.Client:
        made.append(stomp.Client(url, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def step(client: stomp.Client, seconds: float = 0.001) -> None:
    """run() does nothing for a client that is disconnected."""
    client.service()
    client.run(seconds)
    client.service()


def until(client: stomp.Client, done) -> None:
    """Lets the client run until something is so."""

    def condition() -> bool:
        step(client)
        return bool(done())

    wait_for(condition, timeout=PATIENCE)


def is_greeted(reader: Reader) -> bool:
    return bool(reader.names)


def commands(reader: Reader) -> list[bytes]:
    return [packet.data.split(b"\n")[0] for packet in reader.packets]


def test_each_frame_is_told_and_the_passcode_is_covered(broker, clients, readers, path, queue):
    version = {"newest": stomp.Version.STOMP_1_1} if type(broker).__name__ == "CoilMQ" else {}
    client = clients(broker.url, virtual_host=broker.virtual_host, inspect=path, **version)
    reader = readers(path)
    until(client, reader.has(is_greeted))
    assert reader.names == [""]
    client.connect(PATIENCE)
    client.subscribe(queue, ack="client", timeout=PATIENCE)
    client.send(queue, "hällo", timeout=PATIENCE)
    message = client.receive(PATIENCE)
    client.ack(message)
    until(client, reader.has(lambda reader: b"ACK" in commands(reader)))
    told = commands(reader)
    assert told[:2] == [b"CONNECT" if b"CONNECT" in told else b"STOMP", b"CONNECTED"]
    assert {b"SUBSCRIBE", b"SEND", b"MESSAGE", b"RECEIPT", b"ACK"} <= set(told)
    sent = {b"CONNECT", b"STOMP", b"SUBSCRIBE", b"SEND", b"ACK"}
    assert all(packet.sent == (command in sent) for packet, command in zip(reader.packets, told))
    assert all(packet.length == len(packet.data) and packet.data[-1] == 0 for packet in reader.packets)
    [message] = [packet for packet in reader.packets if packet.data.startswith(b"MESSAGE")]
    assert message.data.endswith("\n\nhällo\0".encode())
    if broker.login:
        login, passcode = (text.encode() for text in broker.login)
        assert reader.packets[0].data.endswith(b"login:" + login + b"\npasscode:" + b"*" * len(passcode) + b"\n\n\0")
    assert all(packet.comment.startswith("outbox ") for packet in reader.packets)
    times = [packet.microseconds for packet in reader.packets]
    assert times == sorted(times) and reader.lost == 0


def test_the_statistics_have_the_names_and_values_of_sst_stats(rabbitmq, clients, readers, path, queue):
    client = clients(rabbitmq.url, inspect=path)
    reader = readers(path)
    client.connect(PATIENCE)
    for number in range(10):
        client.send(queue, str(number), timeout=PATIENCE)
    step(client)  # takes the completions, whose frames are in the outbox until then
    until(client, reader.ask())
    fields = {name for name, *_ in _abi.Stats._fields_} - {"size", "reserved"}
    assert set(reader.numbers) == fields | {"state", "protocol"}
    stats = {name: value for name, value in client.stats.items() if name in fields}
    assert stats and {name: reader.numbers[name] for name in stats} == stats
    assert (reader.numbers["state"], reader.numbers["protocol"], reader.numbers["messages_sent"]) == (2, 12, 10)


def test_a_reader_that_does_not_read_holds_up_nothing(rabbitmq, clients, readers, path, queue):
    client = clients(rabbitmq.url, inspect=path, inspect_bytes=4096)
    slow, quick = readers(path), readers(path)
    until(client, lambda: slow.has(is_greeted)() and quick.has(is_greeted)())
    client.connect(PATIENCE)
    for number in range(4000):
        client.send(queue, "x" * 200, receipt=number % 100 == 99, timeout=PATIENCE)
        quick.read()
    until(client, quick.has(lambda reader: sum(command == b"SEND" for command in commands(reader)) + reader.lost >= 4000))
    assert quick.lost == 0
    slow.read()
    before = len(slow.packets)
    assert 0 < before < 4000
    step(client, 0.02)
    client.send(queue, "the end", timeout=PATIENCE)
    until(client, slow.has(lambda reader: any(packet.data.endswith(b"the end\0") for packet in reader.packets)))
    until(client, quick.has(lambda reader: any(packet.data.endswith(b"the end\0") for packet in reader.packets)))
    assert slow.lost > 0 and slow.lost + len(slow.packets) in (len(quick.packets), len(quick.packets) - 1)


def test_when_none_reads_frames_are_only_counted(rabbitmq, clients, readers, path, queue):
    client = clients(rabbitmq.url, inspect=path, inspect_bytes=4096)
    slow = readers(path)
    until(client, slow.has(is_greeted))
    client.connect(PATIENCE)
    for number in range(4000):
        client.send(queue, "x" * 200, receipt=number % 100 == 99, timeout=PATIENCE)
    step(client, 0.05)
    slow.read()
    assert len(slow.packets) < 4000
    step(client, 0.05)
    client.send(queue, "again", timeout=PATIENCE)
    until(client, slow.has(lambda reader: any(packet.data.endswith(b"again\0") for packet in reader.packets)))
    until(client, slow.ask())
    stats = client.stats
    assert slow.lost == stats["frames_sent"] + stats["frames_received"] - len(slow.packets) > 0


def test_a_larger_frame_is_told_as_far_as_there_is_room(rabbitmq, clients, readers, path, queue):
    client = clients(rabbitmq.url, inspect=path, inspect_bytes=4096)
    reader = readers(path)
    client.connect(PATIENCE)
    client.send(queue, "y" * 20_000, timeout=PATIENCE)
    client.send(queue, "small", timeout=PATIENCE)
    until(client, reader.has(lambda reader: any(packet.data.endswith(b"small\0") for packet in reader.packets)))
    [large] = [packet for packet in reader.packets if packet.length > 20_000]
    assert 3500 < len(large.data) < 4096 and large.data.endswith(b"yyy")


def test_four_programs_at_a_time(rabbitmq, clients, readers, path):
    client = clients(rabbitmq.url, inspect=path)
    four = [readers(path) for _ in range(4)]
    until(client, lambda: all([reader.has(is_greeted)() for reader in four]))
    fifth = readers(path)
    until(client, fifth.has(lambda reader: not reader.is_open))
    four[2].close()
    step(client, 0.01)
    sixth = readers(path)
    until(client, sixth.has(is_greeted))
    client.connect(PATIENCE)
    for reader in (four[0], four[1], four[3], sixth):
        until(client, reader.has(lambda reader: commands(reader) == [b"CONNECT", b"CONNECTED"]))


@pytest.mark.parametrize("question", [b"?", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"SEND\ndestination:a\n\n\0", b"x" * 60_000],
                         ids=["one byte", "a zero", "HTTP", "STOMP", "60,000 bytes"])
def test_whatever_is_asked_is_answered_with_the_numbers(rabbitmq, clients, readers, path, question):
    client = clients(rabbitmq.url, inspect=path)
    client.connect(PATIENCE)
    reader = readers(path)
    until(client, reader.has(is_greeted))
    for _ in range(20):
        reader.socket.send(question)
        step(client, 0.001)
    until(client, reader.has(lambda reader: reader.answers >= 1))
    client.send("/topic/inspected", "works", timeout=PATIENCE)
    until(client, reader.has(lambda reader: b"SEND" in commands(reader)))


def test_programs_that_come_and_go(rabbitmq, clients, readers, path):
    """Some without a word, some with a question to which nobody waits for the answer."""
    client = clients(rabbitmq.url, inspect=path)
    client.connect(PATIENCE)
    for number in range(100):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect(path)
        if number % 3:
            one.send(b"?")
        step(client, 0 if number % 2 else 0.001)
        one.close()
        client.send("/topic/inspected", str(number), receipt=False, timeout=PATIENCE)
    step(client, 0.01)
    reader = readers(path)
    until(client, reader.ask())
    assert reader.numbers["messages_sent"] == 100


def test_another_connection_has_another_port(rabbitmq, clients, path, tmp_path):
    """In Wireshark, the connections of a client are told apart by made-up ports, and frames are lines of text."""
    client = clients(rabbitmq.url, inspect=path)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.connect(path)
    for _ in range(2):
        client.connect(PATIENCE)
        client.disconnect()
        until(client, lambda: client.state == stomp.State.DISCONNECTED)
    step(client, 0.02)
    one.setblocking(False)
    capture = b""
    while True:
        try:
            capture += one.recv(1 << 18)
        except BlockingIOError:
            break
    one.close()
    (tmp_path / "capture").write_bytes(capture)
    shown = subprocess.run(
        ["tshark", "-r", tmp_path / "capture", "-T", "fields", "-e", "frame.number", "-e", "_ws.expert", "-e", "exported_pdu.prot_name",
         "-e", "exported_pdu.src_port", "-e", "exported_pdu.dst_port", "-e", "text"],
        capture_output=True, text=True, timeout=PATIENCE, check=True)
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert all(row[1].startswith("Expert Info (Comment/Comment): outbox ") and row[2] == "data-text-lines" for row in rows)
    ports = {row[3] if row[3] != "61613" else row[4] for row in rows}
    assert len(ports) == 2
    assert "CONNECT" in rows[0][5] and "accept-version:1.0,1.1,1.2" in rows[0][5] and "guest" in rows[0][5]
    assert "passcode:*****" in rows[0][5]


def test_the_last_frame_arrives_before_the_end(rabbitmq, clients, readers, path):
    client = clients(rabbitmq.url, inspect=path)
    reader = readers(path)
    client.connect(PATIENCE)
    client.disconnect()
    until(client, lambda: client.state == stomp.State.DISCONNECTED)
    client.close()
    reader.read()
    assert not reader.is_open and commands(reader)[-2:] == [b"DISCONNECT", b"RECEIPT"]
    assert not os.path.exists(path)


def test_a_program_of_its_own_beside_it(rabbitmq, clients, readers, path):
    """sst_set_tap() and the inspection do not see each other: here the first is set while the other is read."""
    client = clients(rabbitmq.url, inspect=path)
    reader = readers(path)
    until(client, reader.has(is_greeted))
    seen: list[bytes] = []
    library = ctypes.CDLL(stomp._library.LIBRARY._name, handle=stomp._library.LIBRARY._handle)

    class Observed(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("direction", ctypes.c_uint32), ("time_ms", ctypes.c_uint32),
                    ("length", ctypes.c_uint32), ("data", ctypes.c_void_p), ("data_size", ctypes.c_size_t)]

    tap = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Observed))(
        lambda _, frame: seen.append(ctypes.string_at(frame[0].data, frame[0].data_size)))
    handle = ctypes.c_void_p(client._handle)
    assert library.sst_set_tap(handle, 0, tap, None) == 0
    client.connect(PATIENCE)
    assert library.sst_set_tap(handle, 0, None, None) == 0
    client.send("/topic/inspected", "unseen", timeout=PATIENCE)
    until(client, reader.has(lambda reader: b"SEND" in commands(reader)))
    assert [data.split(b"\n")[0] for data in seen] == [b"CONNECT", b"CONNECTED"]
    assert seen[0].endswith(b"passcode:") and reader.packets[0].data.endswith(b"passcode:*****\n\n\0")


# ---- The file


def test_permissions(clients, path):
    client = clients("stomp://127.0.0.1:1", inspect=path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    client.close()
    clients("stomp://127.0.0.1:1", inspect=Path(path), inspect_mode=0o660)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660


def test_a_socket_that_a_process_left_behind_is_replaced(clients, readers, path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as old:
        old.bind(path)
    client = clients("stomp://127.0.0.1:1", inspect=path)
    until(client, readers(path).has(is_greeted))


@pytest.mark.parametrize("kind", ["in use", "file", "directory", "no directory"])
def test_a_path_that_cannot_be_used(clients, path, kind):
    expected = errno.EADDRINUSE
    if kind == "in use":
        clients("stomp://127.0.0.1:1", inspect=path)
    elif kind == "file":
        Path(path).write_text("content", encoding="utf-8")
    elif kind == "directory":
        os.mkdir(path)
    else:
        path, expected = "/nowhere/at/all", errno.ENOENT
    with pytest.raises(stomp.ArgumentError) as caught:
        stomp.Client("stomp://127.0.0.1:1", inspect=path)
    assert (caught.value.status, caught.value.os_error) == (stomp.Status.INSPECT, expected)
    assert os.strerror(expected) in str(caught.value)
    assert kind != "file" or Path(path).read_text(encoding="utf-8") == "content"


@pytest.mark.parametrize("options, names", [
    ({"inspect": "a" * 108}, "inspect"), ({"inspect": "a\0b"}, "inspect"),
    ({"inspect": "a", "inspect_mode": 0o1000}, "inspect_mode=512"),
    ({"inspect": "a", "inspect_bytes": 4095}, "inspect_bytes=4095"),
    ({"inspect": "a", "inspect_bytes": 131_073}, "inspect_bytes=131073"),
    ({"inspect_mode": 0o600}, "inspect_mode=384"), ({"inspect_bytes": 4096}, "inspect_bytes=4096"),
], ids=str)  # fmt: skip
def test_options_that_cannot_be(options, names):
    with pytest.raises(stomp.ArgumentError) as caught:
        stomp.Client("stomp://127.0.0.1:1", **options)
    assert caught.value.status == stomp.Status.OPTION and f"the option {names} " in str(caught.value)
