"""What the tests of stomp.py expect, on stomp.py itself and on swiftmqtt.stomp.stomppy.

stomp.py's own tests are in no release of it, so their expectations are written down here, each with the names of the tests
that it stands for ("file:test"). Both libraries run each: that shows that an expectation is that of stomp.py. LEFT_OUT has the
rest of its tests, with reasons."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable

import pytest

from Python import pythons
from Python.stomp_servers import REQUIREMENTS, Connection, Scripted
from Support.servers import free_port
from Support.waiting import PATIENCE, wait_for

from .conftest import ROOT
from . import test_quirks  # noqa: F401 - it says where the package and the library are

CASES: dict[str, tuple[Callable, str, tuple[str, ...]]] = {}
ROWS: list[tuple[str, str, str]] = []  # which library, case, server


def case(*originals: str, servers: str = "RabbitMQ ActiveMQ", ours_alone: bool = False) -> Callable:
    """servers: brokers, or "scripted", for one that does what the case says."""

    def keep(function: Callable) -> Callable:
        CASES[function.__name__] = function, servers, originals
        for which in ("ours",) if ours_alone else ("theirs", "ours"):
            ROWS.extend((which, function.__name__, server) for server in servers.split())
        return function

    return keep


class Context:
    """What a case works with: the library, a broker, and connections that end with it."""

    def __init__(self, stomp: types.ModuleType, broker=None, queue: str = ""):
        self.stomp, self.broker, self.queue = stomp, broker, queue
        self.made: list = []

    def connection(self, version: str = "1.1", listener=None, connects: bool = True, port: int = 0, **options):
        """A connection with a TestListener, whose receipt is "123"."""
        kind = getattr(self.stomp, f"Connection{version.replace('.', '')}")
        where = ("127.0.0.1", port) if port else (self.broker.host, self.broker.port)
        if version != "1.0" and self.broker:
            options.setdefault("vhost", self.broker.virtual_host)
        made = kind([where], **options)
        made.set_listener("testlistener", listener or self.stomp.listener.TestListener("123", print_to_log=True))
        if connects:
            self.connect(made)
            self.made.append(made)
        return made

    def connect(self, connection) -> None:
        connection.connect(*(self.broker.login if self.broker and self.broker.login else ()), wait=True)

    def end(self) -> None:
        for connection in self.made:
            connection.disconnect(receipt="the end")


def heard(connection):
    return connection.get_listener("testlistener")


def received(connection, count: int = 1) -> list[tuple[dict, object]]:
    """So many messages have come, one connection is up, and there was no ERROR."""
    listener = heard(connection)
    wait_for(lambda: len(listener.message_list) >= count, "the messages", PATIENCE)
    assert (listener.connections, listener.messages, listener.errors) == (1, count, 0)
    return listener.message_list


def accepts(version: str = "1.1", **headers: object) -> Callable[[Connection], None]:
    def script(connection: Connection) -> None:
        connection.accept(version, **headers)
        connection.serve()

    return script


# ---- Messages


@case("test_s10.py:testsend10", "test_stompserver.py:test_send")
def send_in_1_0(it: Context) -> None:
    connection = it.connection("1.0")
    connection.subscribe(destination=it.queue, ack="auto")
    connection.send(body="this is 1.0", destination=it.queue, receipt="123")
    heard(connection).wait_on_receipt()
    assert received(connection)[0][1] == "this is 1.0"


@case("test_s11.py:test11", "test_rabbitmq.py:test_send", "test_activemq.py:test_send_to_activemq")
def send_in_1_1_and_leave_with_a_receipt(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, ack="auto", id=1)
    connection.send(body="this is 1.1", destination=it.queue, receipt="123")
    received(connection)
    connection.unsubscribe(destination=it.queue, id=1)
    waiting = it.stomp.WaitingListener("the end of it")
    connection.set_listener("waiting", waiting)
    connection.disconnect(receipt="the end of it")
    waiting.wait_on_receipt()
    waiting.wait_on_disconnected()
    assert heard(connection).disconnects == 1 and not connection.is_connected()


@case("test_s12.py:test_send")
def send_in_1_2(it: Context) -> None:
    connection = it.connection("1.2")
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    connection.send(body="this is 1.2", destination=it.queue, receipt="123")
    heard(connection).wait_on_receipt()
    assert received(connection)[0][1] == "this is 1.2"


@case("test_basic.py:test_subscribe_and_send")
def a_content_type(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    connection.send(body='{"val": 1}', destination=it.queue, content_type="application/json", receipt="123")
    headers, body = received(connection)[0]
    assert headers["content-type"] == "application/json" and headers["subscription"] == "1" and body == '{"val": 1}'


@case("test_basic.py:test_specialchars")
def headers_with_escapes_in_1_1(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="client")
    special = {"special-1": "a colon : here", "special-2": "a backslash \\ here", "special-3": "a newline \n"}
    connection.send(body="x", headers=special, destination=it.queue, receipt="123")
    headers, _ = received(connection)[0]
    assert {name: headers[name] for name in special} == special
    assert headers["message-id"] and headers["subscription"] == "1"


@case("test_s12.py:test_specialchars")
def headers_with_escapes_in_1_2(it: Context) -> None:
    connection = it.connection("1.2")
    connection.subscribe(destination=it.queue, id=1, ack="client")
    special = {"special-1": "a : b", "special-2": "a \\ b", "special-3": "a \n b \n", "special-4": "a return \r"}
    connection.send(body="x", headers=special, destination=it.queue, receipt="123")
    headers, _ = received(connection)[0]
    # ActiveMQ leaves the escape of a carriage return as it is.
    assert {name: headers[name].replace("\\r", "\r") for name in special} == special


@case("test_nonascii.py:test_send_nonascii")
def letters_of_other_scripts_as_bytes(it: Context) -> None:
    connection = it.connection(auto_decode=False)
    connection.subscribe(destination=it.queue, ack="auto", id="1")
    connection.send(body="марко", destination=it.queue, receipt="123")
    assert received(connection)[0][1] == "марко".encode()


@case("test_nonascii.py:test_send_nonascii_auto_decoding")
def letters_of_other_scripts_as_text(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, ack="auto", id="1")
    connection.send(body="марко φ", destination=it.queue, receipt="123")
    assert received(connection)[0][1] == "марко φ"


@case("test_nonascii.py:test_send_nonascii_auto_encoding")
def another_encoding(it: Context) -> None:
    connection = it.connection(encoding="utf-16")
    connection.subscribe(destination=it.queue, ack="auto", id="1")
    connection.send(body="ǰ捁楴敶免", destination=it.queue, receipt="123")
    assert received(connection)[0][1] == "ǰ捁楴敶免"


@case("test_nonascii.py:test_image_send")
def bytes_of_any_kind(it: Context) -> None:
    connection = it.connection(auto_decode=False)
    connection.subscribe(destination=it.queue, ack="auto", id="1")
    body = bytes(range(256)) * 20
    connection.send(body=body, destination=it.queue, receipt="123")
    assert received(connection)[0][1] == body


@case("test_misc.py:test_transform")
def a_listener_that_transforms(it: Context) -> None:
    class Transforms(it.stomp.listener.TestListener):
        def on_before_message(self, frame) -> None:
            if frame.headers.get("transformation") == "pairs":
                frame.body = dict(part.split("=") for part in frame.body.split(","))

    connection = it.connection(listener=Transforms("123", print_to_log=True))
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    connection.send(body="name=Ada,city=London", destination=it.queue, headers={"transformation": "pairs"}, receipt="123")
    assert received(connection)[0][1] == {"name": "Ada", "city": "London"}


@case("test_misc.py:test_original_headers")
def headers_that_a_listener_changes(it: Context) -> None:
    frames = []

    class Changes(it.stomp.listener.TestListener):
        def on_before_message(self, frame) -> None:
            frame.headers["own"] = "changed"

        def on_message(self, frame) -> None:
            frames.append(frame)
            super().on_message(frame)

    connection = it.connection(listener=Changes("123", print_to_log=True))
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    connection.send(body="x", destination=it.queue, headers={"own": "original"}, receipt="123")
    received(connection)
    assert (frames[0].headers["own"], frames[0].original_headers["own"]) == ("changed", "original")


# ---- Acknowledgements and transactions


def settled(it: Context, version: str, mode: str, command: str = "ack") -> None:
    """What was acknowledged does not come to the next one."""
    connection = it.connection(version)
    connection.subscribe(destination=it.queue, id=1, ack=mode)
    connection.send(body="first", destination=it.queue, receipt="123")
    headers, _ = received(connection)[0]
    arguments = {"1.0": ["message-id"], "1.1": ["message-id", "subscription"], "1.2": ["ack"]}[version]
    getattr(connection, command)(*[headers[name] for name in arguments])
    if command == "nack" and type(it.broker).__name__ == "RabbitMQ":
        # It is delivered again at once.
        wait_for(lambda: heard(connection).messages == 2, "the same message", PATIENCE)
        headers, _ = heard(connection).message_list[1]
        connection.ack(*[headers[name] for name in arguments])
    connection.disconnect(receipt="done")
    wait_for(lambda: heard(connection).disconnects == 1, "the end", PATIENCE)
    assert heard(connection).errors == 0
    other = it.connection(version)
    other.subscribe(destination=it.queue, id=1, ack="auto")
    other.send(body="second", destination=it.queue)
    assert received(other)[0][1] == "second"


@case("test_s10.py:testclientack10")
def an_ack_in_1_0(it: Context) -> None:
    settled(it, "1.0", "client")


@case("test_basic.py:test_clientack")
def an_ack_in_1_1(it: Context) -> None:
    settled(it, "1.1", "client")


@case("test_basic.py:test_clientnack")
def a_nack_in_1_1(it: Context) -> None:
    settled(it, "1.1", "client", "nack")


@case("test_s12.py:test_clientack")
def an_ack_in_1_2(it: Context) -> None:
    settled(it, "1.2", "client-individual")


@case("test_s12.py:test_clientnack")
def a_nack_in_1_2(it: Context) -> None:
    settled(it, "1.2", "client-individual", "nack")


@case("test_s12.py:test_should_send_extra_header_clientnack", servers="RabbitMQ")
def a_nack_with_a_header(it: Context) -> None:
    """What is refused for good does not come again."""
    connection = it.connection("1.2")
    connection.subscribe(destination=it.queue, id=1, ack="client-individual")
    connection.send(body="first", destination=it.queue)
    headers, _ = received(connection)[0]
    connection.nack(headers["ack"], requeue="false")
    connection.send(body="second", destination=it.queue)
    headers, body = received(connection, 2)[1]
    assert (body, headers["redelivered"]) == ("second", "false")
    connection.ack(headers["ack"])


@case()
def an_ack_with_a_receipt(it: Context) -> None:
    """No test of stomp.py's, but an argument of its ack()."""
    connection = it.connection("1.2")
    connection.subscribe(destination=it.queue, id=1, ack="client-individual")
    connection.send(body="x", destination=it.queue)
    headers, _ = received(connection)[0]
    connection.ack(headers["ack"], receipt="123")
    heard(connection).wait_on_receipt()
    assert heard(connection).errors == 0


@case("test_basic.py:test_commit")
def a_transaction_that_is_committed(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    name = connection.begin()
    for number in range(3):
        connection.send(body=f"test{number}", destination=it.queue, transaction=name)
    # What is sent outside of it overtakes it.
    connection.send(body="first", destination=it.queue)
    assert received(connection)[0][1] == "first"
    connection.commit(transaction=name)
    assert [body for _, body in received(connection, 4)] == ["first", "test0", "test1", "test2"]


@case("test_basic.py:test_abort")
def a_transaction_that_is_aborted(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    name = connection.begin()
    connection.send(body="never", destination=it.queue, transaction=name)
    connection.abort(transaction=name)
    connection.send(body="last", destination=it.queue)
    assert [body for _, body in received(connection)] == ["last"]


# ---- Connections


@case("test_context.py:test_with_context_stomp10", "test_context.py:test_with_context_stomp11",
      "test_context.py:test_with_context_stomp12")
def a_with_block_disconnects(it: Context) -> None:
    for version in ("1.0", "1.1", "1.2"):
        with it.connection(version, connects=False) as connection:
            it.connect(connection)
            connection.subscribe(destination=it.queue, id=1, ack="auto")
            connection.send(body="x", destination=it.queue, receipt="123")
            heard(connection).wait_for_message()
        assert heard(connection).connections == 1 and heard(connection).disconnects >= 1
        connection.remove_listener("testlistener")
        assert heard(connection) is None


@case("test_override_threading.py:test_threading")
def it_connects_again_after_disconnect(it: Context) -> None:
    connection = it.connection(connects=False)
    for count in (1, 2):
        it.connect(connection)
        assert connection.is_connected()
        connection.disconnect(receipt=f"number {count}")
        wait_for(lambda count=count: heard(connection).disconnects == count, "the end", PATIENCE)
    assert heard(connection).connections == 2


@case("test_basic.py:test_connect_wait_error", "test_basic.py:test_connect_nowait_error", servers="RabbitMQ")
def credentials_that_are_refused(it: Context) -> None:
    connection = it.connection(connects=False)
    with pytest.raises(it.stomp.exception.ConnectFailedException):
        connection.connect("nobody", "wrong", wait=True)
    assert not connection.is_connected()
    other = it.connection(connects=False)
    other.connect("nobody", "wrong", wait=False)
    wait_for(lambda: heard(other).errors == 1, "ERROR", PATIENCE)
    assert not other.is_connected()


@case("test_basic.py:test_childinterrupt")
def a_signal_changes_nothing(it: Context) -> None:
    seen: list[int] = []
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="auto", receipt="123")
    heard(connection).wait_on_receipt()
    before = signal.signal(signal.SIGCHLD, lambda number, _: seen.append(number))
    try:
        connection.send(body="one", destination=it.queue)
        subprocess.run(["true"], check=True, timeout=PATIENCE)
        wait_for(lambda: bool(seen), "the signal", PATIENCE)
    finally:
        signal.signal(signal.SIGCHLD, before)
    connection.send(body="two", destination=it.queue, receipt="123")
    assert [body for _, body in received(connection, 2)] == ["one", "two"] and connection.is_connected()


@case("test_threading.py:test_threads_dont_wedge")
def threads_that_send(it: Context) -> None:
    connection = it.connection()
    connection.subscribe(destination=it.queue, id=1, ack="auto")

    def send(thread: int) -> None:
        for number in range(50):
            connection.send(destination=it.queue, body=f"{thread} {number}", persistent="false")

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    found = [tuple(map(int, body.split())) for _, body in received(connection, 400)]
    assert all([n for thread, n in found if thread == one] == list(range(50)) for one in range(8))


@case("test_rabbitmq_ws.py:test_send", servers="RabbitMQ")
def over_a_websocket(it: Context) -> None:
    connection = it.stomp.WSConnection([(it.broker.host, it.broker.web_port)], vhost="/", ws_path="/ws", header={})
    connection.set_listener("testlistener", it.stomp.listener.TestListener("123", print_to_log=True))
    connection.connect(*it.broker.login, wait=True)
    connection.subscribe(destination=it.queue, id=1, ack="auto")
    connection.send(body="this is a test", destination=it.queue, receipt="123")
    heard(connection).wait_on_receipt()
    assert received(connection)[0][1] == "this is a test"
    connection.disconnect(receipt="456")
    heard(connection).wait_on_disconnected()
    assert heard(connection).disconnects == 1


@case("test_s11.py:testheartbeat")
def heart_beats_that_are_agreed(it: Context) -> None:
    connection = it.connection(heartbeats=(2000, 3000))
    assert connection.heartbeats[0] > 0
    connection.subscribe(destination=it.queue, ack="auto", id=1)
    connection.send(body="x", destination=it.queue, receipt="123")
    received(connection)
    assert heard(connection).heartbeat_timeouts == 0


# ---- With a server that does what it should not


@case("test_s11.py:testheartbeat_timeout", "test_heartbeat_timeout.py:test_heartbeat_timeout",
      "test_heartbeat_timeout.py:test_heartbeat_timeout_reconnect",
      "test_heartbeat_timeout.py:test_heartbeat_timeout_reconnect_loop", servers="scripted")
def a_heart_beat_that_does_not_come(it: Context) -> None:
    def silent(connection: Connection) -> None:
        connection.accept("1.1", session=1, server="test", heart_beat="50,50")
        while True:
            connection.read()

    rounds = 1 if it.stomp.__name__ == "stomp" else 3
    with Scripted(*[silent] * rounds) as server:
        connection = it.connection(connects=False, port=server.port, heartbeats=(1000, 50))
        # stomp.py 8.2 does not tell of the end then, and the second connect() does not always come back.
        for count in range(1, rounds + 1):
            connection.connect(wait=True)
            wait_for(lambda count=count: heard(connection).heartbeat_timeouts == count, "the time-out", PATIENCE)
            if rounds > 1:
                wait_for(lambda count=count: heard(connection).disconnects == count, "the end", PATIENCE)
        assert heard(connection).connections == rounds


def ended(connection) -> bool:
    """stomp.py cleans a connection up after it has told of its end."""
    return not getattr(getattr(connection, "transport", None), "socket", None)


@case("test_s11.py:testheartbeat_shutdown", "test_ss.py:test_disconnect", servers="scripted")
def a_server_that_goes_and_comes_back(it: Context) -> None:
    """The end is noticed at once, not by a heart-beat."""
    goes = threading.Event()

    def leaves(connection: Connection) -> None:
        connection.accept("1.1", session=1, server="test", heart_beat="100000,100000")
        assert goes.wait(PATIENCE)

    with Scripted(leaves, accepts()) as server:
        connection = it.connection(connects=False, port=server.port, heartbeats=(100000, 100000))
        connection.connect(wait=True)
        goes.set()
        wait_for(lambda: heard(connection).disconnects == 1 and ended(connection), "the end", PATIENCE)
        assert heard(connection).heartbeat_timeouts == 0 and not connection.is_connected()
        with pytest.raises(it.stomp.exception.NotConnectedException):
            connection.send(body="lost", destination="/q")
        connection.disconnect(receipt=None)  # nothing is left to do
        connection.connect(wait=True)
        assert heard(connection).connections == 2
        connection.disconnect(receipt="bye")


@case("test_misc.py:test_noresponse", "test_s12.py:test_timeout", servers="scripted")
def a_server_that_does_not_accept(it: Context) -> None:
    def closes(connection: Connection) -> None:
        connection.greeted()

    def refuses(connection: Connection) -> None:
        connection.greeted()
        connection.write("ERROR", message="connection failed")

    for script in (closes, refuses):
        with Scripted(script) as server:
            connection = it.connection(connects=False, port=server.port)
            with pytest.raises(it.stomp.exception.ConnectFailedException):
                connection.connect(wait=True)
            assert not connection.is_connected()


@case("test_basic.py:test_timeout", servers="scripted")
def nobody_is_there(it: Context) -> None:
    connection = it.connection(connects=False, port=free_port(), timeout=5, reconnect_attempts_max=1)
    with pytest.raises(it.stomp.exception.ConnectFailedException):
        connection.connect("test", "test")
    assert heard(connection).connections == 0 and not connection.is_connected()


@case("test_ss.py:test_parsing", "test_utils.py:test_parse_frame", servers="scripted")
def frames_in_pieces_and_line_ends_between_them(it: Context) -> None:
    body = "Hello\n...world!"
    text = f"MESSAGE\nsubscription:1\nmessage-id:1\ndestination:/q\ncontent-type:text/plain\n\n{body}\0"
    zeros = f"{body}\0\0{body}"
    sized = f"MESSAGE\nsubscription:1\nmessage-id:1\ndestination:/q\ncontent-length:{len(zeros)}\n\n{zeros}\0"

    def script(connection: Connection) -> None:
        connection.greeted()
        connection.raw(b"CONNECTED\nversion:1.1\nsession:1\nserver:test\nheart-beat:1000,1000\n\n\0\n\n\n")
        connection.expect("SUBSCRIBE")
        for whole in (text, "\n", text + "\n", "\n", text + "\n"):
            connection.raw(whole.encode())
        for torn in ("\n" + text + "\n", "\n\n" + sized + "\n"):
            for byte in torn.encode():
                connection.raw(bytes([byte]))
        connection.serve()

    with Scripted(script) as server:
        connection = it.connection(port=server.port)
        connection.subscribe("/q", id=1, ack="auto")
        found = received(connection, 5)
        assert [got for _, got in found] == [body] * 4 + [zeros]
        assert found[0][0]["content-type"] == "text/plain" and found[4][0]["content-length"] == str(len(zeros))
        it.end()


@case("test_utils.py:test_convert_frame", "test_s12.py:test_suppress_content_length", servers="scripted")
def what_is_sent(it: Context) -> None:
    with Scripted(accepts("1.2")) as server:
        connection = it.connection("1.2", port=server.port, auto_content_length=False)
        connection.send("/q", "this is the body", headers={"header1": "value1", "none": None, " no ": " trimming "})
        it.end()
        sent = next(frame for frame in server.heard if frame.command == "SEND")
        assert sent.body == b"this is the body"
        assert sent.headers == {"destination": "/q", "header1": "value1", " no ": " trimming "}


@case("test_utils.py:test_parse_headers", servers="scripted")
def headers_that_come(it: Context) -> None:
    def script(connection: Connection) -> None:
        connection.accept("1.2")
        connection.expect("SUBSCRIBE")
        head = "MESSAGE\nsubscription:1\nmessage-id:1\nack:1\ndestination:/q\n"
        lines = "h1:foo\\c\\\\bar  \nh1:the second one is ignored\nh\\c2:baz\\r\\nquux\nh3:\\\\n\\\\c\n foo : bar\n"
        connection.raw(f"{head}{lines}\nx\0".encode())
        connection.serve()

    with Scripted(script) as server:
        connection = it.connection("1.2", port=server.port)
        connection.subscribe("/q", id=1, ack="auto")
        headers, _ = received(connection)[0]
        wanted = {"h1": "foo:\\bar  ", "h:2": "baz\r\nquux", "h3": "\\n\\c", " foo ": " bar"}
        assert {name: headers[name] for name in wanted} == wanted
        it.end()


@case("test_utils.py:test_calculate_heartbeats", servers="scripted")
def which_heart_beats_are_agreed(it: Context) -> None:
    table = {  # server: those of a client that offers 3000,5000
        "5000,3000": (3000, 5000), "6000,2000": (3000, 6000), "0,0": (0, 0), "10000,0": (0, 10000)}
    for offered, agreed in table.items():
        with Scripted(accepts(heart_beat=offered)) as server:
            connection = it.connection(port=server.port, connects=False, heartbeats=(3000, 5000))
            connection.connect(wait=True)
            asked = getattr(connection, "heartbeats")
            if it.stomp.__name__ == "stomp":  # stomp.py keeps what was agreed in its own listener
                asked = connection.get_listener("protocol-listener").heartbeats
            assert asked == agreed, offered
            connection.disconnect(receipt="bye")


@case("test_transport.py:test_should_reject_null_listener", "test_misc.py:test_publisher",
      "test_misc.py:test_on_heartbeat", servers="scripted")
def listeners(it: Context) -> None:
    connection = it.connection(connects=False, port=1)
    with pytest.raises(AssertionError):
        connection.set_listener("null", None)
    assert connection.get_listener("null") is None
    connection.remove_listener("testlistener")
    assert heard(connection) is None
    it.stomp.ConnectionListener().on_heartbeat()
    publisher = it.stomp.listener.Publisher()
    publisher.set_listener("it", None)
    publisher.remove_listener("it")
    assert publisher.get_listener("it") is None


@case("test_utils.py:test_clean_default_headers", servers="scripted")
def a_new_frame_has_no_headers(it: Context) -> None:
    it.stomp.utils.Frame("SEND").headers["foo"] = "bar"
    assert it.stomp.utils.Frame("SEND").headers == {}


@case(servers="scripted", ours_alone=True)
def a_listener_that_connects_again(it: Context) -> None:
    """What stomp.py's documentation recommends for reconnecting. With wait=True its 8.2 waits forever."""

    class Again(it.stomp.listener.TestListener):
        def on_disconnected(self) -> None:
            super().on_disconnected()
            if self.disconnects == 1:
                connection.connect(wait=True)

    def leaves(connection: Connection) -> None:
        connection.accept("1.1")

    with Scripted(leaves, accepts()) as server:
        connection = it.connection(connects=False, port=server.port, listener=Again("123", print_to_log=True))
        connection.connect(wait=True)
        wait_for(lambda: heard(connection).connections == 2 and connection.is_connected(), "the second one", PATIENCE)
        connection.send("/q", "x", receipt="123")
        heard(connection).wait_on_receipt()
        connection.disconnect(receipt="bye")


@case(servers="scripted")
def what_is_sent_before_connected_comes(it: Context) -> None:
    """After connect() without wait; stomp.py sends it at once, and the library once CONNECTED came."""
    with Scripted(accepts()) as server:
        connection = it.connection(connects=False, port=server.port)
        connection.connect()
        connection.send("/q", "early", receipt="123")
        heard(connection).wait_on_receipt()
        wait_for(connection.is_connected, "CONNECTED", PATIENCE)
        connection.disconnect(receipt="bye")
        assert [frame.command for frame in server.heard][1:] == ["SEND", "DISCONNECT"]


# What is left of stomp.py's tests.
INTERNAL = "it is about functions inside stomp.py"
LEFT_OUT = {
    "test_artemis.py:test_send_to_artemis": "ActiveMQ Artemis is not in Debian",
    "test_artemis.py:test_prefetchsize": "ActiveMQ Artemis is not in Debian",
    "test_basic.py:test_default_to_localhost": "it needs the port 61613 of the machine",
    "test_basic.py:test_host_bind_port": "a connection cannot choose its local port; test_what_does_not_apply",
    "test_cli.py": "there is no command line",
    "test_cli_ssl.py": "there is no command line",
    "test_disconnect_wait.py": "disconnect(wait=…) is in no release",
    "test_ipv6.py:test_ipv6_send": "test_ipv6, on the loopback device",
    "test_local.py:test_ipv6_send": "test_ipv6, on the loopback device",
    "test_misc.py:test_windows_colours": "there is no command line",
    "test_misc.py:test_heartbeatlistener": INTERNAL,
    "test_multicast.py": "there is no multicast",
    "test_ssl.py:test_set_ssl": INTERNAL,
    "test_ssl.py:test_init_ssl_params": INTERNAL,
    "test_ssl.py:test_ssl_failure": "it is about a Python without TLS",
    "test_ssl.py:test_socket_failure": INTERNAL,
    "test_ssl.py:test_ssl_connection": "Tests/Python/test_stomp_stomppy.py: test_tls",
    "test_ssl.py:test_ssl_client_cert_connection": "Tests/Python/test_stomp_stomppy.py: test_tls",
    "test_ssl.py:test_ssl_invalid_broker_cert_connection": "Tests/Python/test_stomp_stomppy.py: test_tls",
    "test_ssl_failure.py": "it is about a Python without TLS",
    "test_ssl_sni.py": "SNI is the option tls_name of the library, which test_stomp.py tests",
    "test_transport.py:test_process_frame": INTERNAL,
    "test_transport.py:test_process_frame_empty_body": INTERNAL,
    "test_transport.py:test_process_frame_unknown_command": INTERNAL,
    "test_transport.py:test_process_frame_unknown_command_empty_body": INTERNAL,
    "test_transport.py:test_methods_for_coverage": INTERNAL,
    "test_utils.py:test_decode": INTERNAL,
    "test_utils.py:test_encode": INTERNAL,
    "test_utils.py:test_get_errno": INTERNAL,
    "test_utils.py:test_join": INTERNAL,
    "test_utils.py:test_mask_passcodes": INTERNAL,
    "test_utils.py:test_pack": INTERNAL,
    "test_utils.py:test_returns_true_when_localhost": INTERNAL,
    "test_utils.py:test_should_skip_hostname_scan": INTERNAL,
}


# ---- Running them


@pytest.fixture(scope="module")
def theirs() -> types.ModuleType:
    """stomp.py, from the environment that has it."""
    try:
        python = pythons.with_requirements(REQUIREMENTS, "stomp")
    except pythons.Unavailable as why:
        pytest.skip(f"stomp.py cannot be had from PyPI: {why}")
    place = next(python.parents[1].glob("lib/python3.*/site-packages"))
    sys.path.append(str(place))
    try:
        return importlib.import_module("stomp")
    finally:
        sys.path.remove(str(place))


@pytest.mark.parametrize("which, name, server", ROWS)
def test_as_stomp_py_expects(which, name, server, queue, request):
    stomp = request.getfixturevalue("theirs") if which == "theirs" else importlib.import_module("swiftmqtt.stomp.stomppy")
    broker = None if server == "scripted" else request.getfixturevalue("brokers")(server)
    it = Context(stomp, broker, queue)
    CASES[name][0](it)
    it.end()


def test_each_of_their_tests_is_in_one_list():
    stood_for = [original for _, _, originals in CASES.values() for original in originals]
    assert len(stood_for) == len(set(stood_for)) == 52
    assert not set(stood_for) & set(LEFT_OUT) and all(LEFT_OUT.values())
    whole_files = {name for name in LEFT_OUT if ":" not in name}
    assert not whole_files & {name.partition(":")[0] for name in stood_for}


def test_what_does_not_apply():
    from swiftmqtt.stomp import stomppy

    with pytest.raises(ValueError, match="only 0 is possible"):
        stomppy.Connection(bind_host_port=("127.0.0.1", 1234))
    assert stomppy.Connection()._hosts == [("localhost", 61613)]
    assert not hasattr(stomppy.Connection(), "transport")


def test_replace_stomp():
    """A program that is not changed, in a process of its own: in this one, stomp is stomp.py."""
    program = """
import swiftmqtt.stomp.stomppy
swiftmqtt.stomp.stomppy.replace_stomp()
import stomp
import stomp.exception
from stomp.listener import TestListener
from stomp import utils
assert issubclass(TestListener, stomp.ConnectionListener) and utils.Frame is stomp.Frame
assert issubclass(stomp.exception.NotConnectedException, stomp.exception.StompException)
print(stomp.Connection12.__module__, stomp.__version__)
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("swiftmqtt.stomp.stomppy.connect 8.2.0\n", "")
