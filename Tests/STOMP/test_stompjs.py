"""What the tests of stompjs and of the original stomp.js expect, and the bugs of StompKit, stomp.js and stomp.py, as tables
for swiftmqtt.stomp.

Each frame of a server arrives in one piece, byte by byte, and over a WebSocket: in one message, with each byte in a message of
its own, and in fragments. Each row names the test, or the issue, that it stands for. LEFT_OUT has the rest of the tests."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable

import pytest

from Python.stomp_servers import Connection, Gone, Scripted
from Support.waiting import PATIENCE

from . import test_quirks  # noqa: F401 - it says where the package and the library are
from swiftmqtt import stomp
from swiftmqtt.stomp import Client, State, Status, Version

ALL_BYTES = bytes(range(256)) * 4
MESSAGE = b"MESSAGE\nsubscription:0\nmessage-id:456\ndestination:/q\n"
TEN = Version.STOMP_1_0

#: What a server writes, and the messages that come of it: some of their headers, and their bodies.
INCOMING: dict[str, tuple[str, bytes, list[tuple[dict[str, str], bytes]]]] = {
    "a message": ("parser: parses a simple Frame", MESSAGE + b"\n\0", [({"message-id": "456"}, b"")]),
    "a body": ("parser: parses a Frame with body", MESSAGE + b"\nHello World\0", [({}, b"Hello World")]),
    "colons": ("parser: handles header value with :", MESSAGE + b"a:foo:bar:baz\n\n\0", [({"a": "foo:bar:baz"}, b"")]),
    "an empty value": ("parser: handles header with empty value", MESSAGE + b"a:\nb:1\n\n\0", [({"a": "", "b": "1"}, b"")]),
    "two at once": (
        "parser: parses multiple frames in single chunk; stomp.js #10", MESSAGE + b"\none\0" + MESSAGE + b"\ntwo\0",
        [({}, b"one"), ({}, b"two")]),
    "line ends around": (
        "parser: recognizes incoming pings", b"\n" + MESSAGE + b"\none\0\n\n" + MESSAGE + b"\ntwo\0\n", [({}, b"one"), ({}, b"two")]),
    "carriage returns": (
        "parser: ignores CR in incoming pings, ignores CR while parsing a Frame with body",
        b"\r\n" + MESSAGE.replace(b"\n", b"\r\n") + b"\r\nHello\r\nWorld\0\r\n\r\n", [({"destination": "/q"}, b"Hello\r\nWorld")]),
    "a binary body": (
        "parser: handles binary octets in body; stomp.js #83", MESSAGE + b"content-length:1024\n\n" + ALL_BYTES + b"\0",
        [({"content-length": "1024"}, ALL_BYTES)]),
    "three binary ones": (
        "parser: handles multiple binary frames", (MESSAGE + b"content-length:1024\n\n" + ALL_BYTES + b"\0") * 3,
        [({}, ALL_BYTES)] * 3),
    "texts and bytes": (
        "parser: handles text and binary frames with incoming pings",
        MESSAGE + b"\ntext\0\n\n" + MESSAGE + b"content-length:1024\n\n" + ALL_BYTES + b"\0\n", [({}, b"text"), ({}, ALL_BYTES)]),
    "a line end at the end of a body": (
        "frame: unmarshall should not include the null byte in the body", MESSAGE + b"\nAnd the newline\n\0",
        [({}, b"And the newline\n")]),
    "a body of line ends": (
        "stomp.py #94: a line end in a body is no heart-beat", MESSAGE + b"\n\n\n\0" + MESSAGE + b"content-length:2\n\n\n\n\0",
        [({}, b"\n\n"), ({}, b"\n\n")]),
    "zeros at both ends": ("StompKit: it reads up to a zero", MESSAGE + b"content-length:3\n\n\0a\0\0", [({}, b"\0a\0")]),
    "a body that looks like a frame": (
        "StompKit: it ignores content-length", MESSAGE + b"content-length:16\n\nMESSAGE\na:b\n\nx\0\n\0", [({}, b"MESSAGE\na:b\n\nx\0\n")]),
    "repeated headers": (
        "frame: only the 1st value of repeated headers is used; StompKit takes the last", MESSAGE + b"foo:World\nfoo:Hello\n\n\0",
        [({"foo": "World"}, b"")]),
    "escapes": (
        "frame: unmarshall should support \\, \\n and \\r in header values with escaping; StompKit: ID\\c…",
        MESSAGE + b"a:f\\co\\co\\nbar\\rbaz\\\\foo\\\\\nid\\cb:ID\\cx-1\n\n\0",
        [({"a": "f:o:o\nbar\rbaz\\foo\\", "id:b": "ID:x-1"}, b"")]),
    "an escaped backslash before an n": ("frame: escapes and then unescapes", MESSAGE + b"a:\\\\n\n\n\0", [({"a": "\\n"}, b"")]),
    "spaces": ("stomp.js trims values; 1.2 does not", MESSAGE + b"a: b \n c :d\n\n\0", [({"a": " b ", " c ": "d"}, b"")]),
    "not Latin-1": (
        "message: Send and receive non-ASCII UTF8 text; stomp.js takes bytes for Latin-1",
        MESSAGE + "a:φ\n\nÄlä sinä السابق\0".encode(), [({"a": "φ"}, "Älä sinä السابق".encode())]),
    "not UTF-8": ("stomp.js: a body is bytes", MESSAGE + b"\n\xff\xfe\x80\0", [({}, b"\xff\xfe\x80")]),
    "a receipt between": (
        "callbacks: a receipt that nobody has asked for", b"RECEIPT\nreceipt-id:nobody\n\n\0" + MESSAGE + b"\none\0", [({}, b"one")]),
}  # fmt: skip


class WebSocketPipe:
    """A socket to a client, as a WebSocket: what is sent becomes messages, as `way` says."""

    def __init__(self, sock, way: str):
        self.sock, self.way, self.count = sock, way, 0
        head = b""
        while b"\r\n\r\n" not in head:
            head += sock.recv(4096)
        head, _, self.unread = head.partition(b"\r\n\r\n")
        key = next(line.partition(b": ")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Protocol: v12.stomp\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")

    def exactly(self, size: int) -> bytes:
        while len(self.unread) < size:
            more = self.sock.recv(65536)
            if not more:
                raise Gone
            self.unread += more
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken

    def recv(self, _: int) -> bytes:
        """What the next data frame has."""
        while True:
            first, size = self.exactly(2)
            assert size & 128, "a client masks its frames"
            size &= 127
            if size >= 126:
                size = int.from_bytes(self.exactly(2 if size == 126 else 8), "big")
            mask, data = self.exactly(4), self.exactly(size)
            if first & 15 == 8:
                return b""
            if first & 15 in (0, 1, 2) and data:
                return bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))

    def frame(self, first: int, data: bytes) -> None:
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
        self.sock.sendall(bytes([first]) + size + data)

    def sendall(self, data: bytes) -> None:
        if self.way == "one":
            self.frame(0x82, data)
        elif self.way == "bytes":  # texts and bytes mixed
            for byte in data:
                self.count += 1
                self.frame(0x81 if byte < 128 and self.count % 2 else 0x82, bytes([byte]))
        else:
            parts = [data[at : at + 7] for at in range(0, len(data), 7)]
            for index, part in enumerate(parts):
                self.frame((0 if index else 2) | (128 if index == len(parts) - 1 else 0), part)


def deliver(connection: Connection, data: bytes, way: str) -> None:
    if way == "bytes":
        for byte in data:
            connection.raw(bytes([byte]))
    else:
        connection.raw(data)


@pytest.mark.parametrize("way", ["one", "bytes", "WebSocket, one", "WebSocket, bytes", "WebSocket, fragments"])
@pytest.mark.parametrize("name", INCOMING)
def test_what_comes(name, way):
    _, data, wanted = INCOMING[name]
    websocket, _, pieces = way.rpartition(", ")

    def script(connection: Connection) -> None:
        if websocket:
            connection.sock = WebSocketPipe(connection.sock, pieces)
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        deliver(connection, data, "" if websocket else pieces)
        connection.serve()

    with Scripted(script) as server:
        url = f"ws://127.0.0.1:{server.port}" if websocket else server.url
        with Client(url, heart_beat_send_ms=stomp.OFF, heart_beat_receive_ms=stomp.OFF) as client:
            client.subscribe("/q", timeout=PATIENCE)
            for headers, body in wanted:
                message = client.receive(PATIENCE)
                assert (message.body, {key: message.headers.get(key) for key in headers}) == (body, headers)
            assert client.stats["messages_received"] == len(wanted) and client.stats["connections"] == 1


def test_in_1_0_a_space_after_the_colon_is_no_part_of_the_value():
    """frame: unmarshall a CONNECTED frame, unmarshall a RECEIVE frame. Examples of 1.0 have one, and stomp.js trims."""

    def script(connection: Connection) -> None:
        connection.greeted()
        connection.raw(b"CONNECTED\nsession: 1234\n\n\0")
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.raw(b"MESSAGE\ndestination: /q\nmessage-id: 1\nfoo: abc\n\nhello, world!\0")
        connection.serve()

    with Scripted(script) as server, Client(server.url, newest=TEN) as client:
        assert client.version == TEN
        client.subscribe("/q", timeout=PATIENCE)
        message = client.receive(PATIENCE)
        assert (message.destination.strip(), message.headers["foo"].strip()) == ("/q", "abc")
        assert message.body == b"hello, world!"


#: What a program sends, in 1.2, and the bytes of it.
OUTGOING: dict[str, tuple[str, dict, bytes]] = {
    "a text": (
        "frame: marshall a SEND frame", dict(body="hello, world!"),
        b"SEND\ndestination:/q\ncontent-length:13\n\nhello, world!\0"),
    "no length": (
        "frame: marshall a SEND frame without content-length", dict(body="hello, world!", no_length=True),
        b"SEND\ndestination:/q\n\nhello, world!\0"),
    "bytes, not letters": (
        "frame: Content length of UTF-8 strings; StompKit counts UTF-16", dict(body="φ"),
        b"SEND\ndestination:/q\ncontent-length:2\n\n\xcf\x86\0"),
    "many letters": (
        "frame: Content length of UTF-8 strings", dict(body="1 a ф № @ ®"),
        b"SEND\ndestination:/q\ncontent-length:15\n\n" + "1 a ф № @ ®".encode() + b"\0"),
    "a letter beyond 16 bits": ("StompKit", dict(body="😀"), b"SEND\ndestination:/q\ncontent-length:4\n\n" + "😀".encode() + b"\0"),
    "line ends and zeros": (
        "StompKit destroys line ends; message: Should always add content length header for binary messages",
        dict(body=b"a\n\0\r\n\0"), b"SEND\ndestination:/q\ncontent-length:6\n\na\n\0\r\n\0\0"),
    "escapes": (
        "frame: escape header value; StompKit escapes nothing", dict(body=b"", headers={"a:b": "anything\\a\nb\nc\rd\re:f:\\"}),
        b"SEND\ndestination:/q\na\\cb:anything\\\\a\\nb\\nc\\rd\\re\\cf\\c\\\\\ncontent-length:0\n\n\0"),
}  # fmt: skip


def lines_of(frame: bytes) -> tuple[bytes, set[bytes], bytes]:
    """A command, headers in any order, and a body with what follows it."""
    head, _, rest = frame.partition(b"\n\n")
    command, *headers = head.split(b"\n")
    return command, set(headers), rest


@pytest.mark.parametrize("name", OUTGOING)
def test_what_is_sent(name):
    _, arguments, wanted = OUTGOING[name]
    heard: list[bytes] = []

    def script(connection: Connection) -> None:
        connection.accept()
        data = connection.rest
        while b"DISCONNECT\n" not in data or not data.endswith(b"\0"):
            data += connection.sock.recv(65536)
        sent, _, leaving = data.partition(b"DISCONNECT\n")
        heard.append(sent)
        connection.rest = b"DISCONNECT\n" + leaving
        connection.serve()

    with Scripted(script) as server:
        with Client(server.url, heart_beat_send_ms=stomp.OFF, heart_beat_receive_ms=stomp.OFF) as client:
            client.send("/q", **arguments)
    assert lines_of(heard[0].strip(b"\n")) == lines_of(wanted)


def test_an_empty_no_length_body_has_no_zero():
    """message: Should always add content length header for binary messages: a zero needs one."""
    client = Client("stomp://127.0.0.1:1")
    with pytest.raises(stomp.ArgumentError):
        client.send("/q", b"a\0b", no_length=True)
    client.close()


# ---- Heart-beats


@pytest.mark.parametrize("offered, sends, receives", [
    (None, 0, 0),  # heart-beat: Should allow server to not send heartbeat header; stompjs #188
    ("0,0", 0, 0), ("0,7000", 7000, 0), ("8000,0", 0, 8000), ("1,1", 5000, 6000), ("60000,60000", 60000, 60000),
])  # fmt: skip
def test_which_heart_beats_are_agreed(offered, sends, receives):
    def script(connection: Connection) -> None:
        connection.accept(**({"heart_beat": offered} if offered else {}))
        connection.serve()

    with Scripted(script) as server, Client(server.url, heart_beat_send_ms=5000, heart_beat_receive_ms=6000) as client:
        connected = client.connected
        assert (connected.heart_beat_send_ms, connected.heart_beat_receive_ms) == (sends, receives)
    assert server.heard[0].headers["heart-beat"] == "5000,6000"


def test_zeros_of_the_program_are_said():
    """StompKit: 0 is not honoured. stomp.js #84: headers of the program replace it; here they cannot."""

    def script(connection: Connection) -> None:
        connection.accept(heart_beat="100,100")
        connection.serve()

    with Scripted(script) as server, Client(
        server.url, heart_beat_send_ms=stomp.OFF, heart_beat_receive_ms=stomp.OFF
    ) as client:
        connected = client.connected
        assert (connected.heart_beat_send_ms, connected.heart_beat_receive_ms) == (0, 0)
    assert "heart-beat" not in server.heard[0].headers  # which is to say 0,0
    with pytest.raises(stomp.ArgumentError):
        Client("stomp://127.0.0.1", headers={"heart-beat": "1,1"})


def test_a_program_that_is_busy():
    """stomp.py #346, #159: heart-beats that came while a handler ran count."""
    written = threading.Event()
    busy = threading.Event()

    def script(connection: Connection) -> None:
        connection.accept(heart_beat="200,0")
        connection.receipt(connection.expect("SUBSCRIBE"))
        assert busy.wait(PATIENCE)
        connection.raw(b"\n")
        connection.write("MESSAGE", b"here", subscription=0, message_id=1, destination="/q")
        written.set()
        while True:
            connection.read()

    with Scripted(script) as server:
        client = Client(server.url, heart_beat_receive_ms=200, reconnect=False)
        client.connect(timeout=PATIENCE)
        client.subscribe("/q", timeout=PATIENCE)
        time.sleep(1)  # far longer than the library waits for a heart-beat: the program does something else
        busy.set()
        assert written.wait(PATIENCE)
        assert client.receive(PATIENCE).body == b"here"
        client.close()


def test_no_incoming_heart_beat_closes():
    """heart-beat: Should close connection when no incoming ping."""

    def silent(connection: Connection) -> None:
        connection.accept(heart_beat="20,0")
        while True:
            connection.read()

    with Scripted(silent) as server:
        client = Client(server.url, heart_beat_receive_ms=20, reconnect=False)
        client.connect(timeout=PATIENCE)
        event = client.next_event(timeout=PATIENCE)
        assert isinstance(event, stomp.Disconnected) and event.status == Status.HEART_BEAT
        client.close()


def test_outgoing_heart_beats():
    """heart-beat: Should close connection when no outgoing ping: the client sends them."""
    enough = threading.Event()

    def counts(connection: Connection) -> None:
        connection.accept(heart_beat="0,20")
        data = connection.rest
        while data.count(b"\n") < 5:
            data += connection.sock.recv(100)
        assert set(data) == {10}
        enough.set()
        connection.serve()

    with Scripted(counts) as server, Client(server.url, heart_beat_send_ms=20) as client:
        while not enough.is_set():
            client.run(0.02)


# ---- Connections


def subscribes(connection: Connection) -> None:
    connection.accept()
    connection.receipt(connection.expect("SUBSCRIBE"))


def test_subscriptions_survive():
    """stomp.js #81. reconnect: Reconnect."""

    def leaves(connection: Connection) -> None:
        subscribes(connection)
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.reset()

    def stays(connection: Connection) -> None:
        connection.accept()
        for number in (0, 1):
            connection.expect("SUBSCRIBE")
            connection.write("MESSAGE", b"%d" % number, subscription=number, message_id=1, destination="/q", ack=number)
        connection.serve()

    with Scripted(leaves, stays) as server, Client(server.url, reconnect_min_ms=10) as client:
        client.subscribe("/a", ack="client", headers={"selector": "a > 1"}, timeout=PATIENCE)
        client.subscribe("/b", timeout=PATIENCE)
        assert [client.receive(PATIENCE).body for _ in range(2)] == [b"0", b"1"]
    frames = [frame.headers for frame in server.heard if frame.command == "SUBSCRIBE"]
    for frame in frames:
        frame.pop("receipt", None)
    assert frames[:2] == frames[2:] and frames[0]["selector"] == "a > 1" and frames[0]["ack"] == "client"


def test_an_end_while_it_waits_to_reconnect():
    """reconnect: Should allow deactivating while waiting to reconnect."""

    def leaves(connection: Connection) -> None:
        connection.accept()
        connection.reset()

    with Scripted(leaves) as server:
        client = Client(server.url, reconnect_min_ms=3_600_000, reconnect_max_ms=3_600_000)
        client.connect(timeout=PATIENCE)
        while client.state != State.WAITING:
            client.run(0.01)
        client.disconnect()
        assert client.state == State.DISCONNECTED and client.stats["connections"] == client.stats["attempts"] == 1
        client.close()


@pytest.mark.parametrize("times", [1, 2])
def test_leaving_again_and_coming_back(times):
    """connection: Deactivates, Allows multiple deactivate calls, Activates following a deactivate."""

    def accepts(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(accepts, accepts) as server:
        client = Client(server.url)
        for _ in range(2):
            client.connect(timeout=PATIENCE)
            assert client.is_connected
            for _ in range(times):
                client.disconnect()
                assert client.state == State.DISCONNECTED
        client.close()


def test_connected_that_does_not_come():
    """connection: CONNECTED frame eaten, handles connect timeout."""

    def eats(connection: Connection) -> None:
        connection.greeted()
        while True:
            connection.read()

    def accepts(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(eats, accepts) as server:
        client = Client(server.url, connect_timeout_ms=200, reconnect_min_ms=10)
        client.connect(timeout=PATIENCE, retry=True)
        assert client.stats["ended_timeout"] >= 1 and client.is_connected
        client.disconnect()
        client.close()


def test_receipts_and_their_order():
    """receipts: Should confirm subscription using receipt, Should confirm send using receipt."""

    def script(connection: Connection) -> None:
        subscribes(connection)
        sends = [connection.expect("SEND") for _ in range(3)]
        for frame in reversed(sends):
            connection.receipt(frame)
        connection.serve()

    with Scripted(script) as server, Client(server.url) as client:
        client.subscribe("/q", timeout=PATIENCE)
        for cookie in (1, 2, 3):
            client.send("/q", b"x", receipt=True, cookie=cookie)
        ended = [client.next_event(timeout=PATIENCE) for _ in range(3)]
        assert [event.cookie for event in ended] == [3, 2, 1] and not any(event.error for event in ended)


def test_two_clients_share_nothing():
    """StompKit: one generator of names, and one clock of the server, for all clients."""
    with Scripted(lambda one: (subscribes(one), one.serve())) as first:
        with Scripted(lambda one: (subscribes(one), one.serve())) as second:
            with Client(first.url) as one, Client(second.url) as other:
                assert one.subscribe("/q", timeout=PATIENCE) == other.subscribe("/q", timeout=PATIENCE) == 0
    ids = [next(f.headers["id"] for f in server.heard if f.command == "SUBSCRIBE") for server in (first, second)]
    assert ids == ["0", "0"]


# ---- With RabbitMQ, which is what stompjs uses


@pytest.fixture
def clients(rabbitmq):
    made: list[Client] = []

    def make(**options: object) -> Client:
        made.append(Client(rabbitmq.url, virtual_host="/", **options))
        made[-1].connect(timeout=PATIENCE)
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_a_nack_goes_to_the_other(clients, queue):
    """ack: Should deliver to other client if nacked from one, Should not redeliver after ack."""
    both = [clients(), clients()]
    for client in both:
        client.subscribe(queue, ack="client", timeout=PATIENCE)
    both[0].send(queue, "x")
    count = 0
    while count < 3:
        for client in both:
            message = next_message(client)
            if message is None:
                continue
            count += 1
            message.ack() if count == 3 else message.nack()
    for client in both:
        client.disconnect(drain_ms=5000)
    last = clients()
    last.subscribe(queue, timeout=PATIENCE)
    last.send(queue, "last")
    assert last.receive(PATIENCE).body == b"last"


def next_message(client: Client) -> stomp.Message | None:
    try:
        return client.receive(0.05)
    except TimeoutError:
        return None


def test_a_connection_that_drops_before_the_ack(clients, queue):
    """ack: Should deliver to other client if connection drops before ack."""
    one, other = clients(), clients()
    one.subscribe(queue, ack="client", timeout=PATIENCE)
    other.send(queue, "x")
    assert one.receive(PATIENCE).body == b"x"
    other.subscribe(queue, ack="client", timeout=PATIENCE)
    one.close()
    message = other.receive(PATIENCE)
    assert message.body == b"x" and message.headers["redelivered"] == "true"
    message.ack()


def test_a_message_outside_of_a_transaction_that_is_aborted(clients, queue):
    """transaction: Send a message outside a transaction and abort."""
    client = clients()
    client.subscribe(queue, timeout=PATIENCE)
    transaction = client.begin()
    client.send(queue, "outside")
    client.send(queue, "inside", transaction=transaction)
    client.abort(transaction, timeout=PATIENCE)
    client.send(queue, "last")
    assert [client.receive(PATIENCE).body for _ in range(2)] == [b"outside", b"last"]


def test_a_subscription_that_has_ended(clients, queue):
    """subscription: Should no longer receive messages after unsubscribing to destination."""
    client = clients()
    ended, kept = (client.subscribe(f"/topic/{queue[7:]}", timeout=PATIENCE) for _ in range(2))
    client.unsubscribe(ended, timeout=PATIENCE)
    for number in range(3):
        client.send(f"/topic/{queue[7:]}", str(number))
    came = [client.receive(PATIENCE) for _ in range(3)]
    assert [(message.subscription, message.body) for message in came] == [(kept, b"0"), (kept, b"1"), (kept, b"2")]


#: The rest of their tests, with reasons, and where else it is tested.
LEFT_OUT: dict[str, str] = {
    "append-missing-null-on-incoming": "it is about React Native, which cuts a zero off",
    "callbacks: invokes in sequence": "callbacks; the order of events is in Tests/Python/test_stomp.py, test_the_events",
    "compatibility": "an older interface of theirs",
    "config": "objects of JavaScript",
    "connection: Connect with a webSocketFactory": "objects of JavaScript",
    "connection: Should not connect with invalid credentials": "test_brokers.py, test_a_wrong_passcode",
    "connection: Should trigger WebSocket error while connecting to an invalid Stomp server": "Tests/Python/test_stomp.py, test_nobody_is_there",
    "connection: deactivate with `force`": "close(), in every test",
    "force-binary-ws-frames": "frames are binary ones, always",
    "message: Large data": "test_quirks.py, test_bodies_of_any_size",
    "message: Logs raw communication": "sst_set_log() and the tap are the library's",
    "parser: parses a Frame without headers": "MESSAGE needs three headers: STOMPSessionTests, whatAServerMayNotSay",
    "reconnect: Reconnection delays": "Tests/Unit has the waits, with a clock of its own",
    "subscription: Should receive messages with special chars in headers": "test_stomppy.py, headers_with_escapes_in_1_2",
    "subscription: Should tolerate exceptions thrown in a message handler": "test_stomppy.py prints them; the client has no handlers",
    "ticker, web-socket-state": "objects of JavaScript",
    "transaction: Send a message in a transaction and commit": "test_quirks.py, test_a_transaction_that_is_aborted",
}  # fmt: skip


def test_each_row_says_what_it_stands_for():
    rows: list[Callable | str] = [row[0] for table in (INCOMING, OUTGOING) for row in table.values()]
    assert all(rows) and all(LEFT_OUT.values())
