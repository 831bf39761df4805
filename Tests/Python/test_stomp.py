"""swiftmqtt.stomp.Client: with CoilMQ, and with a scripted server for what a real one does not do."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import ssl
import threading
import time
import uuid

import pytest

from swiftmqtt import TLSCause, stomp
import swiftmqtt.stomp.aio
from swiftmqtt.stomp import Client, Completes, Part, State, Status

from .conftest import TLS_LIBRARY, descriptors
from .stomp_servers import Connection, Scripted
from Support.servers import free_port
from Support.waiting import PATIENCE


@pytest.fixture
def queue() -> str:
    """A queue of this test's own."""
    return f"/queue/{uuid.uuid4()}"


@pytest.fixture
def client(coilmq):
    with Client(coilmq.url, virtual_host=coilmq.virtual_host) as client:
        yield client


# ---- With a real server


def test_connected(coilmq):
    client = Client(host="127.0.0.1", port=coilmq.port, virtual_host=coilmq.virtual_host, heart_beat_send_ms=stomp.OFF)
    assert client.state == State.DISCONNECTED and client.connected is None and not client.is_connected
    answer = client.connect()
    assert answer is client.connected and answer.version == client.version == stomp.Version.STOMP_1_2
    assert answer.server == f"127.0.0.1:{coilmq.port}" and answer.attempt == 1 and answer.heart_beat_send_ms == 0
    assert answer.headers["version"] == "1.2"
    with pytest.raises(stomp.ArgumentError):
        client.connect()
    client.disconnect()
    assert client.state == State.DISCONNECTED and client.next_event() is None and client.error is None
    client.close()
    client.close()
    with pytest.raises(stomp.ClosedError):
        client.send("/queue/a")


@pytest.mark.parametrize("version", list(stomp.Version))
def test_each_version(coilmq, queue, version):
    with Client(coilmq.url, virtual_host=coilmq.virtual_host, oldest=version, newest=version) as client:
        assert client.version == version
        client.subscribe(queue)
        client.send(queue, "plain", receipt=True, wait=True)
        assert client.receive(PATIENCE).body == b"plain"


def test_a_message_comes_as_it_was_sent(client, queue):
    number = client.subscribe(queue)
    headers = {"one": "1", "a:b\\c": "x\ny", "flag": True, "count": 5}
    client.send(queue, "hällo", content_type="text/plain", headers=headers, receipt=True, wait=True)
    message = client.receive(PATIENCE)
    assert message.destination == queue and message.body == "hällo".encode() and message.text() == "hällo"
    assert message.content_type == "text/plain" and message.subscription == number and message.token == 0
    assert message.headers["a:b\\c"] == "x\ny" and message.headers["flag"] == "true" and message.headers["count"] == "5"
    assert message.part == Part.FIRST | Part.LAST and message.status == 0 and message.body_total == len(message.body)
    client.send(queue, b'{"a": [1]}')
    assert client.receive(PATIENCE).json() == {"a": [1]}
    with pytest.raises(AttributeError):
        message.body = b""


def test_a_body_with_every_byte(client, queue):
    client.subscribe(queue)
    body = bytes(range(256)) * 4
    client.send(queue, memoryview(body))
    assert client.receive(PATIENCE).body == body


@pytest.mark.parametrize("ack", ["client", "client-individual"])
def test_many_messages(coilmq, queue, ack):
    with Client(coilmq.url, virtual_host=coilmq.virtual_host, newest=stomp.Version.STOMP_1_1) as client:
        client.subscribe(queue, ack)
        for number in range(20):
            client.send(queue, str(number), receipt=True, wait=True)
        for number in range(20):
            message = client.receive(PATIENCE)
            assert message.text() == str(number)
            message.ack()
        with pytest.raises(TimeoutError):
            client.receive(0)
        assert client.unfinished == 0


def test_iteration_ends_after_disconnect(client, queue):
    client.subscribe(queue)
    for number in range(3):
        client.send(queue, str(number), receipt=True, wait=True)
    found = []
    for message in client:
        found.append(message.text())
        if len(found) == 3:
            client.disconnect()
    assert found == ["0", "1", "2"]
    with pytest.raises(stomp.ArgumentError) as caught:
        client.receive()
    assert caught.value.status == Status.STATE


def test_a_transaction_takes_effect_at_its_commit(client, queue):
    client.subscribe(queue)
    with client.transaction() as transaction:
        assert 1 <= transaction.number <= 65_535
        transaction.send(queue, "in it")
        client.send(queue, "outside", receipt=True, wait=True)
        assert client.receive(PATIENCE).text() == "outside"
    assert client.receive(PATIENCE).text() == "in it"


def test_a_transaction_is_aborted_after_an_exception(client, queue):
    client.subscribe(queue)
    with pytest.raises(ZeroDivisionError):
        with client.transaction() as transaction:
            transaction.send(queue, "never")
            1 / 0
    number = client.begin()
    client.send(queue, "never", transaction=number)
    client.abort(number)
    client.send(queue, "after", receipt=True, wait=True)
    assert client.receive(PATIENCE).text() == "after"
    with pytest.raises(stomp.ArgumentError) as caught:
        client.commit(number)
    assert caught.value.status == Status.TRANSACTION


def test_unsubscribe(client, queue):
    number = client.subscribe(queue)
    client.unsubscribe(number)
    client.send(queue, "stays", receipt=True, wait=True)
    with pytest.raises(TimeoutError):
        client.receive(0.1)
    with pytest.raises(stomp.ArgumentError) as caught:
        client.unsubscribe(number)
    assert caught.value.status == Status.SUBSCRIPTION


def test_the_events(client, queue):
    client.subscribe(queue, cookie=3)
    client.send(queue, "a", receipt=True, cookie=4)
    left = {3: Completes.SUBSCRIBE, 4: Completes.SEND, None: None}
    for event in client.events():
        if isinstance(event, stomp.Completed):
            assert event.what == left.pop(event.cookie) and event.status == 0 and event.error is None
        else:
            assert isinstance(event, stomp.Message) and not left.pop(None)
        if not left:
            break
    assert client.next_event(0) is None


def test_messages_wait_for_the_next_call(client, queue):
    client.subscribe(queue)
    client.send(queue, "1", receipt=True, wait=True)
    client.run(0.05)
    client.send(queue, "2", receipt=True, wait=True)
    assert [client.receive(PATIENCE).text() for _ in "12"] == ["1", "2"]


def test_a_loop_of_the_program(client, queue):
    client.subscribe(queue)
    client.send(queue, "x")
    while True:
        select.select([client], [], [], client.next_timeout())
        client.service()
        event = client.next_event(0)
        if isinstance(event, stomp.Message):
            break
    assert event.body == b"x"


# ---- With a script


def test_acknowledgements():
    def script(connection: Connection) -> None:
        connection.accept()
        subscribe = connection.expect("SUBSCRIBE")
        assert subscribe.headers["ack"] == "client-individual" and subscribe.headers["selector"] == "a > 1"
        connection.receipt(subscribe)
        for number in range(3):
            connection.write("MESSAGE", b"m", subscription=0, message_id=number, ack=f"a{number}", destination="/q")
        assert connection.expect("ACK").headers["id"] == "a0"
        assert connection.expect("NACK").headers == {"id": "a2", "requeue": "false"}
        begin = connection.expect("BEGIN")
        ack = connection.expect("ACK")
        assert ack.headers["id"] == "a1" and ack.headers["transaction"] == begin.headers["transaction"]
        connection.serve()

    with Scripted(script) as server, Client(server.url) as client:
        client.subscribe("/q", stomp.Ack.CLIENT_INDIVIDUAL, {"selector": "a > 1"})
        first, second, third = (client.receive(PATIENCE) for _ in range(3))
        assert first.token and first.message_id == "0" and first.headers["ack"] == "a0"
        first.ack()
        with pytest.raises(stomp.ArgumentError) as caught:
            client.nack(third.token, headers={"receipt": "1"})
        assert caught.value.status == Status.HEADER
        client.nack(third.token, headers={"requeue": "false"})
        with client.transaction() as transaction:
            transaction.ack(second)
        with pytest.raises(stomp.ArgumentError) as caught:
            first.ack()
        assert caught.value.status == Status.TOKEN


def large(connection: Connection, size: int = 100_000, **headers: object) -> None:
    connection.accept()
    connection.receipt(connection.expect("SUBSCRIBE"))
    body = bytes(index % 251 for index in range(size))
    connection.write("MESSAGE", body, subscription=0, message_id=1, destination="/q", content_length=size, **headers)
    connection.serve()


def test_parts_are_joined():
    with Scripted(lambda connection: large(connection, one=1)) as server, Client(server.url, receive_bytes=1000) as client:
        client.subscribe("/q")
        message = client.receive(PATIENCE)
        assert message.body == bytes(index % 251 for index in range(100_000)) and message.headers["one"] == "1"
        assert message.part == Part.FIRST | Part.LAST and message.body_total == 100_000


def test_parts_as_they_come():
    with Scripted(large) as server, Client(server.url, receive_bytes=1000, parts=True) as client:
        client.subscribe("/q")
        at, part = 0, Part.MIDDLE
        while not part & Part.LAST:
            message = client.receive(PATIENCE)
            part = message.part
            assert bool(part & Part.FIRST) == (at == 0) and message.body_offset == at and message.body_total == 100_000
            at += len(message.body)
        assert at == 100_000


def test_a_body_that_is_too_large_is_dropped():
    with Scripted(large) as server:
        with Client(server.url, receive_bytes=1000, message_maximum=99_999) as client:
            client.subscribe("/q")
            message = client.receive(PATIENCE)
            assert message.body == b"" and message.status == Status.RECEIVE_TOO_LARGE and message.body_total == 100_000


def test_the_first_of_repeated_headers_wins():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.raw(b"MESSAGE\nsubscription:0\nmessage-id:1\ndestination:/q\nfoo:World\nfoo:Hello\n\n\0")
        connection.serve()

    with Scripted(script) as server, Client(server.url) as client:
        client.subscribe("/q")
        assert client.receive(PATIENCE).headers["foo"] == "World"


def test_it_reconnects_and_subscribes_again():
    def first(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.reset()

    def second(connection: Connection) -> None:
        connection.accept()
        subscribe = connection.expect("SUBSCRIBE")
        assert subscribe.headers["destination"] == "/q"
        connection.write("MESSAGE", b"here", subscription=0, message_id=1, destination="/q")
        connection.serve()

    told = []
    with Scripted(first, second) as server, Client(server.url, reconnect_min_ms=10) as client:
        client.on_event = told.append
        client.subscribe("/q")
        assert client.receive(PATIENCE).body == b"here"
    ended, connected = told[:2]
    assert isinstance(ended, stomp.Disconnected) and isinstance(ended.error, stomp.TransportError) and ended.retry_ms >= 0
    assert ended.stage == stomp.Stage.CONNECTED and isinstance(connected, stomp.Connected) and connected.attempt == 2


def test_each_attempt_begins_anew():
    """What the last connection was says nothing about an attempt: the second server is tried, too."""

    def leaves(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.reset()

    def stays(connection: Connection) -> None:
        connection.accept()
        connection.expect("SUBSCRIBE")
        connection.write("MESSAGE", b"here", subscription=0, message_id=1, destination="/q")
        connection.serve()

    with Scripted(leaves, stays) as server:
        client = Client(f"stomp://127.0.0.1:{free_port()},127.0.0.1:{server.port}", reconnect_min_ms=10, reconnect_max_ms=10)
        client.connect(PATIENCE)
        client.subscribe("/q", timeout=PATIENCE)
        assert client.receive(20).body == b"here"
        assert client.stats["attempts"] == 4
        client.close()


def test_without_reconnecting_the_end_is_raised():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.write("ERROR", b"details\n", message="out of order", reason_code=7)

    with Scripted(script) as server:
        client = Client(server.url, reconnect=False)
        client.connect()
        client.subscribe("/q")
        for take in (client.receive, lambda: next(iter(client))):
            with pytest.raises(stomp.PeerError) as caught:
                take()
            assert caught.value.status == Status.SERVER_CLOSED and caught.value.text == "out of order"
            assert caught.value.headers["reason-code"] == "7" and caught.value.body == b"details\n"
            assert "out of order" in str(caught.value)
        client.close()


def test_a_send_whose_receipt_does_not_come():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.reset()

    with Scripted(script) as server:
        client = Client(server.url, reconnect=False)
        client.connect()
        with pytest.raises(stomp.PeerError) as caught:
            client.send("/q", "x", receipt=True, wait=True, timeout=PATIENCE)
        assert caught.value.status == Status.UNKNOWN and isinstance(caught.value.__cause__, stomp.TransportError)
        client.close()


def test_a_send_again():
    def first(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.reset()

    def second(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(first, second) as server, Client(server.url, reconnect_min_ms=10) as client:
        client.send("/q", "x", receipt=True, again=True, wait=True, timeout=PATIENCE)
        assert [frame.command for frame in server.heard][:4] == ["CONNECT", "SEND", "CONNECT", "SEND"]


def test_a_send_that_takes_too_long():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.receipt_of = connection.expect("SEND")  # type: ignore[attr-defined]
        connection.expect("SEND")
        connection.receipt(connection.receipt_of)  # type: ignore[attr-defined]
        connection.serve()

    with Scripted(script) as server, Client(server.url) as client:
        with pytest.raises(TimeoutError):
            client.send("/q", "x", receipt=True, wait=True, timeout=0.05)
        assert client.unfinished == 1
        client.send("/q", "y")


def test_a_subscription_that_is_refused():
    def script(connection: Connection) -> None:
        connection.accept()
        frame = connection.expect("SUBSCRIBE")
        connection.write("ERROR", message="no such queue", receipt_id=frame.headers["receipt"])

    with Scripted(script) as server:
        client = Client(server.url, reconnect=False)
        client.connect()
        with pytest.raises(stomp.PeerError):
            client.subscribe("/q")
        client.close()


def test_a_subscription_that_is_refused_later():
    def script(connection: Connection) -> None:
        connection.accept()
        frame = connection.expect("SUBSCRIBE")
        connection.write("ERROR", message="no such queue", receipt_id=frame.headers["receipt"])

    with Scripted(script) as server:
        client = Client(server.url, reconnect=False)
        client.subscribe("/q")
        client.connect()
        with pytest.raises(stomp.PeerError) as caught:
            client.receive(PATIENCE)
        assert caught.value.status in (Status.REFUSED, Status.SERVER_CLOSED)
        client.close()


def test_a_connection_that_is_refused():
    def script(connection: Connection) -> None:
        connection.expect("CONNECT")
        connection.write("ERROR", b"body", message="go away")

    with Scripted(script) as server:
        client = Client(server.url, login="me", passcode="secret")
        with pytest.raises(stomp.PeerError) as caught:
            client.connect()
        assert caught.value.status == Status.REFUSED and caught.value.text == "go away" and caught.value.body == b"body"
        assert caught.value.server == f"127.0.0.1:{server.port}" and client.state == State.DISCONNECTED
        assert client.error is caught.value
        client.close()
    assert server.heard[0].headers["login"] == "me" and server.heard[0].headers["passcode"] == "secret"


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_error_that_is_large_or_not_whole(is_whole):
    """In two pieces: its body is there as far as the buffer has room for it, and as far as it came."""
    head = b"ERROR\nmessage:no\ncontent-length:5000\n\n"
    body = bytes(97 + index % 26 for index in range(5000))

    def script(connection: Connection) -> None:
        connection.expect("CONNECT")
        connection.raw(head + body[:10])
        time.sleep(0.1)  # so that it most likely comes in two pieces
        connection.raw(body[10:] + b"\0" if is_whole else body[10:20])

    with Scripted(script) as server:
        client = Client(server.url, receive_bytes=1024)
        with pytest.raises(stomp.PeerError) as caught:
            client.connect()
        assert caught.value.status == Status.REFUSED and caught.value.text == "no"
        assert caught.value.body == body[: 1024 - len(head) if is_whole else 20]
        client.close()


def test_a_rule_that_is_broken():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.raw(b"NONSENSE\n\n\0")

    with Scripted(script) as server:
        client = Client(server.url, reconnect=False)
        client.connect()
        event = client.next_event(PATIENCE)
        assert isinstance(event, stomp.Disconnected) and event.rule == stomp.Rule.COMMAND
        assert event.status == Status.MALFORMED and stomp.rule_name(event.rule) in str(event.error)
        client.close()


def test_nobody_is_there():
    port = free_port()
    with pytest.raises(stomp.TransportError) as caught:
        Client(f"stomp://127.0.0.1:{port}").connect(PATIENCE)
    assert isinstance(caught.value, ConnectionError) and f"127.0.0.1:{port}" in str(caught.value) and caught.value.errno


def test_a_server_that_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(f"stomp://127.0.0.1:{listener.getsockname()[1]}", connect_timeout_ms=50)
        with pytest.raises(stomp.TransportError) as caught:
            client.connect()
        assert caught.value.status == Status.TIMEOUT and caught.value.stage == stomp.Stage.ACCEPT
        with pytest.raises(TimeoutError):
            client.connect(0.2, retry=True)
        assert client.state == State.DISCONNECTED
        client.close()


def test_with_retry_another_attempt_follows():
    def refuses(connection: Connection) -> None:
        connection.expect("CONNECT")
        connection.write("ERROR", message="later")

    def accepts(connection: Connection) -> None:
        connection.accept(heart_beat="100,200")
        connection.serve()

    with Scripted(refuses, accepts) as server:
        client = Client(server.url, reconnect_min_ms=10, heart_beat_send_ms=150)
        answer = client.connect(PATIENCE, retry=True)
        assert answer.attempt == 2 and answer.heart_beat_send_ms == 200 and answer.heart_beat_receive_ms == 10_000
        assert client.next_event(0) is None
        client.disconnect()
        client.close()


def test_credentials_of_a_hook():
    asked = []

    def hook(attempt: int):
        asked.append(attempt)
        return ("me", f"secret {attempt}") if attempt > 1 else None

    def script(connection: Connection) -> None:
        frame = connection.accept()
        assert frame.headers["login"] == "me" and frame.headers["passcode"] == "secret 2"
        connection.serve()

    with Scripted(script) as server:
        client = Client(server.url, credentials=hook, reconnect_min_ms=10)
        client.connect(PATIENCE, retry=True)
        assert asked == [1, 2]
        client.disconnect()
        client.close()


def test_credentials_and_addresses_by_events():
    def script(connection: Connection) -> None:
        assert connection.accept().headers["login"] == "me"
        connection.serve()

    with Scripted(script) as server:
        client = Client(f"stomp://broker.invalid:{server.port}", ask_credentials=True, ask_addresses=True)
        with pytest.raises(stomp.ArgumentError):
            client.connect()
        client.connect(wait=False)
        seen = []
        for event in client.events():
            seen.append(type(event))
            if isinstance(event, stomp.CredentialsWanted):
                client.credentials(event.attempt, "me", "secret")
            elif isinstance(event, stomp.AddressesWanted):
                assert event.host == "broker.invalid" and event.port == server.port
                client.addresses(event.attempt, ["127.0.0.1"])
            elif isinstance(event, stomp.Connected):
                break
        assert set(seen) == {stomp.CredentialsWanted, stomp.AddressesWanted, stomp.Connected}
        client.disconnect()
        client.close()


def test_addresses_of_a_hook():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(script) as server:
        with Client(f"stomp://broker.invalid:{server.port}", resolve=lambda host, port: ["127.0.0.1"]) as client:
            assert client.is_connected


def test_transactions_are_lost_with_the_connection():
    def first(connection: Connection) -> None:
        connection.accept()
        assert {connection.read().command for _ in range(2)} == {"BEGIN", "SUBSCRIBE"}
        connection.reset()

    def second(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(first, second) as server:
        client = Client(server.url, reconnect_min_ms=10)
        client.connect()
        told = []
        with pytest.raises(stomp.PeerError) as caught:
            with client.transaction():
                client.subscribe("/q", wait=False)
                while not any(isinstance(event, stomp.Connected) for event in told):
                    told.append(client.next_event(PATIENCE))
        assert caught.value.status == Status.DROPPED
        assert [event.count for event in told if isinstance(event, stomp.TransactionsLost)] == [1]
        client.disconnect()
        client.close()


# ---- TLS


def test_tls(certificates):
    if not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.good.chain, certificates.good.key)
    context.set_alpn_protocols(["stomp"])
    spoken = []

    def script(connection: Connection) -> None:
        spoken.append(connection.sock.selected_alpn_protocol())
        connection.accept()
        connection.serve()

    trusting = stomp.TLS(ca_file=certificates.ca_file)
    with Scripted(lambda connection: None, script, tls=context) as server:
        client = Client(server.url, reconnect=False, tls_name="localhost")
        with pytest.raises(stomp.TLSError) as caught:
            client.connect()
        assert caught.value.failure.tls_cause == TLSCause.UNKNOWN_CA and client.failure.tls_cause == TLSCause.UNKNOWN_CA
        assert "no trusted CA has signed the server's certificate" in str(caught.value)
        client.close()
        with Client(server.url, tls=trusting, tls_name="localhost", alpn="stomp") as client:
            client.send("/q", "x", receipt=True, wait=True)
    assert spoken == ["stomp"]
    with pytest.raises(stomp.ArgumentError):
        Client("stomp://127.0.0.1", tls=True)
    with pytest.raises(stomp.ArgumentError):
        Client("stomps://127.0.0.1", tls=ssl.create_default_context())


# ---- What is not sent


def test_a_full_outbox():
    client = Client("stomp://127.0.0.1:1", outbox_bytes=2000)
    client.send("/q", b"x" * 1500)
    with pytest.raises(stomp.NoRoomError) as caught:
        client.send("/q", b"x" * 1500)
    assert caught.value.status == Status.FULL and client.unfinished == 1
    with pytest.raises(stomp.ArgumentError) as caught:
        client.send("/q", b"x" * 3000)
    assert caught.value.status == Status.TOO_LARGE
    client.close()


def test_send_waits_for_room():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    with Scripted(script) as server, Client(server.url, outbox_bytes=2000) as client:
        for number in range(200):
            client.send("/q", b"x" * 1500, receipt=number % 2 == 0)
    assert [len(frame.body) for frame in server.heard if frame.command == "SEND"] == [1500] * 200


def test_no_waiting_for_room():
    def script(connection: Connection) -> None:
        connection.accept()
        frames = [connection.expect("SEND")]
        connection.receipt(frames[0])
        connection.serve()

    with Scripted(script) as server, Client(server.url, outbox_bytes=2000) as client:
        while True:
            try:
                client.send("/q", b"x" * 1500, receipt=True, timeout=0)
            except stomp.NoRoomError:
                break
        assert isinstance(client.next_event(PATIENCE), stomp.Room)


def test_overflow_and_urgent():
    """While there is no server, the latest readings are kept; an alarm has room of its own, and goes first."""
    with Scripted(lambda connection: (connection.accept(), connection.serve())) as server:
        client = Client(server.url, outbox_frames=3)
        for number in range(10):
            client.send("/q", str(number), quiet=number < 8, overflow=stomp.Overflow.DROP_OLDEST)
        with pytest.raises(stomp.PeerError) as caught:
            client.send("/q", "too late", overflow="drop_newest")
        assert caught.value.status == Status.DROPPED
        client.send("/q", "alarm", urgent=True, receipt=True)
        client.connect(timeout=PATIENCE)
        client.send("/q", "now", receipt=True, wait=True, timeout=PATIENCE)
        client.close()
    assert [frame.body for frame in server.heard if frame.command == "SEND"] == [b"alarm", b"7", b"8", b"9", b"now"]


def test_one_that_made_room_is_told():
    client = Client("stomp://127.0.0.1:1", outbox_bytes=2500)
    for number in (1, 2):
        client.send("/q", b"x" * 1500, cookie=number, overflow=stomp.Overflow.DROP_OLDEST)
    told = client.next_event(0)
    assert isinstance(told, stomp.Completed) and (told.cookie, told.status) == (1, Status.DROPPED)
    assert client.unfinished == 1
    client.close()


def test_what_was_not_sent_is_raised():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.reset()

    with Scripted(script) as server:
        with pytest.raises(stomp.UndeliveredError) as caught:
            with Client(server.url, reconnect=False) as client:
                client.send("/q", "x", receipt=True)
                while client.state == State.CONNECTED:
                    client.run(0.01)
        assert caught.value.count == 1 and str(caught.value).startswith("1 message was not delivered; SST_ERR_")
    with Scripted(lambda connection: (connection.accept(), connection.serve())) as server:
        with pytest.raises(KeyError), pytest.warns(stomp.UndeliveredWarning, match="1 message was not"):
            with Client(server.url) as client:
                client.disconnect()
                client.send("/q", "x")
                raise KeyError


# ---- Threads, processes, signals


def test_another_thread_gets_an_error(client):
    waits = threading.Event()
    raised = []

    def take() -> None:
        waits.set()
        with pytest.raises(TimeoutError):
            client.receive(0.5)

    thread = threading.Thread(target=take)
    thread.start()
    waits.wait()
    while not raised and thread.is_alive():
        try:
            client.next_timeout()
        except stomp.ArgumentError as error:
            raised.append(error)
    thread.join()
    assert raised[0].status == Status.STATE and "another thread" in str(raised[0])


def test_a_signal_interrupts_a_call(client):
    class Interrupted(Exception):
        pass

    def handler(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(Interrupted):
            client.receive(PATIENCE)
        assert time.monotonic() - begun < PATIENCE / 2
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_child_leaves_the_connection_to_its_parent(client, queue):
    child = os.fork()
    if not child:
        try:
            client._finalizer()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    client.send(queue, "still here", receipt=True, wait=True)


def test_a_forgotten_client_gives_its_descriptors_back(coilmq):
    before = descriptors()
    client = Client(coilmq.url, virtual_host=coilmq.virtual_host)
    client.connect()
    assert descriptors() > before
    del client
    gc.collect()
    assert descriptors() == before


# ---- Wrong input


@pytest.mark.parametrize(
    "call, status",
    [
        (lambda c: c.send(""), Status.DESTINATION),
        (lambda c: c.send(b"/q"), Status.OPTION),
        (lambda c: c.send("/q", 5), Status.OPTION),
        (lambda c: c.send("/q", "a", headers={"receipt": "1"}), Status.HEADER),
        (lambda c: c.send("/q", "a", headers={"": "1"}), Status.HEADER),
        (lambda c: c.send("/q", "a", headers={"a": None}), Status.HEADER),
        (lambda c: c.send("/q", "a", headers="a:b"), Status.HEADER),
        (lambda c: c.send("/q", "a\0b", no_length=True), Status.BODY),
        (lambda c: c.send("/q", "a", again=True), Status.OPTION),
        (lambda c: c.send("/q", "a", receipt="yes"), Status.OPTION),
        (lambda c: c.send("/q", "a", transaction=9), Status.TRANSACTION),
        (lambda c: c.send("/q", "a", transaction=65_536), Status.TRANSACTION),
        (lambda c: c.send("/q", "a", cookie=-1), Status.OPTION),
        (lambda c: c.send("/q", "a", overflow=3), Status.OPTION),
        (lambda c: c.send("/q", "a", overflow="oldest"), Status.OPTION),
        (lambda c: c.send("/q", "a", urgent=2), Status.OPTION),
        (lambda c: c.send("/q", "\ud800"), Status.OPTION),
        (lambda c: c.subscribe("/q", "sometimes"), Status.OPTION),
        (lambda c: c.subscribe("/q", 9), Status.OPTION),
        (lambda c: c.unsubscribe(3), Status.SUBSCRIPTION),
        (lambda c: c.ack(3), Status.STATE),
        (lambda c: c.begin(), Status.STATE),
        (lambda c: c.disconnect(-1), Status.OPTION),
        (lambda c: c.receive(), Status.STATE),
        (lambda c: c.receive("soon"), Status.OPTION),
        (lambda c: c.credentials(1, "a", "b"), Status.TOKEN),
        (lambda c: c.websocket_request("/x"), Status.NOT_SUPPORTED),
    ],
)
def test_wrong_calls(call, status):
    client = Client("stomp://127.0.0.1:1")
    with pytest.raises(stomp.ArgumentError) as caught:
        call(client)
    assert caught.value.status == status, caught.value
    client.close()


@pytest.mark.parametrize(
    "options, said",
    [
        (dict(url="stomp://127.0.0.1:1", outbox_bytes=1), "the option outbox_bytes=1 is out of its range"),
        (dict(url="stomp://127.0.0.1:1", oldest=9), "the option oldest=9 is out of its range"),
        (dict(url="stomp://127.0.0.1:1", bind_address="nowhere"), "the option bind_address is out of its range"),
        (dict(url="stomp://127.0.0.1:x"), "the URL 'stomp://127.0.0.1:x' is wrong at byte 18"),
        (dict(url="mqtt://127.0.0.1"), "the URL begins with mqtt://, which is MQTT: swiftmqtt.Client speaks it"),
        (dict(url="TCP://127.0.0.1"), "the URL begins with tcp://, which is called stomp:// here"),
        (dict(url="http://127.0.0.1"), "the URL begins with http://, and STOMP has stomp://, stomps://, "),
        (dict(url="me:secret@a://b"), "is wrong at byte"),
        (dict(url="unix:socket"), "'unix:socket' is no URL: unix:/path, with a path from the root on"),
        (dict(url="stomp://me:secret@a:x"), "the URL '…@a:x' is wrong"),
        (dict(), "neither a URL nor the option host is given"),
        (dict(host="stomp://a"), "a URL is the first argument"),
        (dict(host="a", port="b"), "the option port is a whole number"),
        (dict(host="a", headers={"login": "x"}), "it is the option login"),
        (dict(host="a", reconnect="no"), "reconnect is True or False"),
        (dict(host="a", login=5), "login is a text"),
    ],
)
def test_wrong_options(options, said):
    with pytest.raises(stomp.ArgumentError) as caught:
        Client(**options)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "name, said",
    [
        ("on_evnt", "a swiftmqtt client has no attribute 'on_evnt': did you mean on_event?"),
        ("on_message", "messages come from receive(), or a loop: for message in client"),
        ("on_error", "did you mean on_event, which is told of each event that is no message?"),
        ("recieve", "did you mean receive?"),
    ],
)
@pytest.mark.parametrize("kind", [Client, stomp.aio.Client])
def test_unknown_attributes(kind, name, said):
    client = kind("stomp://127.0.0.1:1")
    for wrong in (lambda: setattr(client, name, print), lambda: getattr(client, name)):
        with pytest.raises(AttributeError) as caught:
            wrong()
        assert said in str(caught.value)
    client.on_event = print
    with pytest.raises(stomp.ArgumentError, match="on_event is a function, not int"):
        client.on_event = 5
    client.close()


def test_a_class_of_the_programs_has_its_own_attributes():
    class Mine(Client):
        def on_event(self, event):
            self.told = event

    with pytest.raises(TypeError, match=r"a method on_message\(\) would never be called"):
        type("Wrong", (Client,), {"on_message": print})
    client = Mine("stomp://127.0.0.1:1", reconnect=False)
    client.connect(wait=False)
    with pytest.raises(stomp.TransportError):
        client.receive()
    assert isinstance(client.told, stomp.Disconnected)
    client.close()


def test_a_body_that_has_to_be_encoded_first():
    client = Client("stomp://127.0.0.1:1")
    for body in ({"celsius": 21.5}, [21.5]):
        with pytest.raises(TypeError, match=r"the body is bytes or str, not (dict|list): json.dumps\(\) makes a str of it"):
            client.send("/q", body)
    client.close()


def test_unknown_options():
    with pytest.raises(TypeError, match="there is no option 'outbox_byte': did you mean outbox_bytes?"):
        Client("stomp://a", outbox_byte=5)
    with pytest.raises(TypeError, match="did you mean passcode?"):
        Client("stomp://a", password="x")


def test_zero_and_none_are_the_default():
    Client("stomp://a", outbox_bytes=0, receive_bytes=None, login=None, heart_beat_send_ms=0, headers=None).close()
