"""What goes wrong between client and server, and what the client makes of it."""

from __future__ import annotations

import errno
import signal
import socket
import time

import pytest

from Support import smq
from Support.scripted_broker import (
    CONNACK,
    CONNECT,
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    Script,
    answer_then,
    close,
    disconnect,
    nothing,
    packet,
    refuse,
    reset,
    say,
)
from Support.servers import free_port
from Support.waiting import PATIENCE

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


def ends(client: smq.Client, status: int, stage: int, timeout: float = PATIENCE) -> smq.Event:
    """The connection, or the attempt, ends in one event that says so."""
    event = client.disconnected(timeout)
    assert (smq.status_name(event.status), event.stage) == (smq.status_name(status), stage)
    assert client.state == smq.STATE_DISCONNECTED
    client.run(0.05)
    assert not [e for e in client.events if e.type == smq.EVENT_DISCONNECTED]
    return event


# ---- No connection ----


def test_refused_port(clients, protocol):
    client = clients(host="127.0.0.1", port=free_port(), protocol=protocol)
    for attempt in (1, 2):
        assert client.connect() == smq.OK
        event = ends(client, smq.ERR_NETWORK, smq.STAGE_CONNECT)
        assert (event.os_error, event.reason_code, event.attempt) == (
            errno.ECONNREFUSED,
            -1,
            attempt,
        )


def test_unknown_host(clients):
    client = clients(url="mqtt://name.invalid")
    assert client.connect() == smq.OK
    event = ends(client, smq.ERR_RESOLVE, smq.STAGE_RESOLVE, timeout=35)
    assert event.os_error in (
        socket.EAI_NONAME,
        socket.EAI_AGAIN,
        socket.EAI_FAIL,
        socket.EAI_NODATA,
    )


def test_a_name_is_resolved_without_blocking(clients):
    client = clients(url="mqtt://name.invalid")
    start = time.monotonic()
    assert client.connect() == smq.OK
    assert client.disconnect(0) == smq.OK
    assert time.monotonic() - start < 5
    assert client.disconnected().status == smq.OK


@pytest.mark.parametrize("where", ["CONNECT unanswered", "full backlog"])
def test_a_silent_server(clients, broker, protocol, where):
    broker.scripts = [Script(at={1: nothing})]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as full:
        url = broker.url
        waiting = []
        if where == "full backlog":  # the kernel then leaves SYNs unanswered
            url = f"mqtt://127.0.0.1:{full.getsockname()[1]}"
            for _ in range(4):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex(full.getsockname())
        client = clients(url=url, protocol=protocol, connect_timeout_ms=300)
        start = time.monotonic()
        assert client.connect() == smq.OK
        event = client.disconnected()
        assert 0.298 <= time.monotonic() - start < 20
        assert (event.status, event.os_error, event.reason_code) == (smq.ERR_TIMEOUT, 0, -1)
        assert event.stage in (smq.STAGE_CONNECT, smq.STAGE_CONNACK)
        if where == "CONNECT unanswered":
            assert event.stage == smq.STAGE_CONNACK
        for sock in waiting:
            sock.close()


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_connack_refuses_3_1_1(clients, broker, code):
    broker.scripts = [Script(at={1: refuse(code)})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    assert ends(client, smq.ERR_REFUSED, smq.STAGE_CONNACK).reason_code == code


@pytest.mark.parametrize("code", [0x80, 0x84, 0x85, 0x86, 0x87, 0x88, 0x95, 0x9C, 0x9D, 0x9F])
def test_connack_refuses_5_0(clients, broker, code):
    words = dict(reason_string="nicht heute", server_reference="other.example:1883")
    broker.scripts = [Script(at={1: refuse(code, **words)})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    event = ends(client, smq.ERR_REFUSED, smq.STAGE_CONNACK)
    assert event.reason_code == code
    assert event.reason_string == b"nicht heute"
    assert event.server_reference == b"other.example:1883"
    assert event.os_error == 0


@pytest.mark.parametrize("how, status", [(close, "ERR_CLOSED"), (reset, "ERR_NETWORK")])
def test_ended_instead_of_connack(clients, broker, protocol, how, status):
    broker.scripts = [Script(at={1: how})]
    client = clients(url=broker.url, protocol=protocol)
    assert client.connect() == smq.OK
    event = ends(client, getattr(smq, status), smq.STAGE_CONNACK)
    assert event.os_error == (errno.ECONNRESET if how is reset else 0)


# ---- A connection that ends ----


@pytest.mark.parametrize("how, status", [(close, "ERR_CLOSED"), (reset, "ERR_NETWORK")])
def test_ended_in_the_middle(clients, broker, protocol, how, status):
    broker.scripts = [Script(at={2: how})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    event = ends(client, getattr(smq, status), smq.STAGE_CONNECTED)
    assert event.os_error == (errno.ECONNRESET if how is reset else 0)


def test_mosquitto_killed_in_mid_flight(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, **KEEP)
    client.connected()
    mosquitto.send_signal(signal.SIGSTOP)
    for cookie in range(50):
        assert client.publish("a", b"x", qos=cookie % 3, cookie=cookie) == smq.OK
    client.step(0)
    mosquitto.kill()
    event = client.disconnected()
    assert event.stage == smq.STAGE_CONNECTED
    assert (event.status, event.os_error) in (
        (smq.ERR_CLOSED, 0),
        (smq.ERR_NETWORK, errno.ECONNRESET),
        (smq.ERR_NETWORK, errno.EPIPE),
    )
    assert client.connect() == smq.OK
    assert client.disconnected().os_error == errno.ECONNREFUSED
    # With the server back every message ends, each once. The session is lost: so may QoS 2 be.
    mosquitto.start()
    client.connected()
    client.until(lambda: client.stats.messages_completed + client.stats.messages_failed == 50)
    ended = [e for e in client.events if e.type == smq.EVENT_COMPLETED]
    assert sorted(e.cookie for e in ended) == list(range(50))
    assert {e.status for e in ended if e.cookie % 3 != 2} == {smq.OK}
    assert {e.status for e in ended if e.cookie % 3 == 2} <= {smq.OK, smq.ERR_SESSION_LOST}


def test_a_stopped_server_is_noticed_by_keep_alive(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, keep_alive_s=1, ping_timeout_ms=300)
    client.connected()
    mosquitto.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    ends(client, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert time.monotonic() - start < 1.3 + 20


def test_no_pingresp(clients, broker, protocol):
    broker.scripts = [Script(answer_ping=False)]
    client = clients(url=broker.url, protocol=protocol, keep_alive_s=1, ping_timeout_ms=200)
    client.connected()
    start = time.monotonic()
    ends(client, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert 0.7 < time.monotonic() - start < 1.2 + 20
    broker.wait_for(lambda: len(broker.of(PINGREQ)) == 1)


def test_server_keep_alive(clients, broker):
    broker.scripts = [Script(connack=dict(server_keep_alive=1))]
    client = clients(url=broker.url, protocol=V5, keep_alive_s=600)
    client.connected()
    client.until(lambda: broker.of(PINGREQ))


def test_keep_alive_off(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, keep_alive_s=smq.OFF)
    client.connected()
    assert broker.connects[0]["keep_alive"] == 0
    assert smq.library.smq_next_timeout_ms(client.handle) == -1


def test_disconnect_from_the_server(clients, broker):
    words = dict(reason_string="moving", server_reference="there:1")
    broker.scripts = [Script(at={1: answer_then(disconnect(0x9D, **words))})]
    client = clients(url=broker.url, protocol=V5)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    event = ends(client, smq.ERR_SERVER_CLOSED, smq.STAGE_CONNECTED)
    assert (event.reason_code, event.reason_string) == (0x9D, b"moving")
    assert event.server_reference == b"there:1"


# ---- Packets that are wrong ----

MALFORMED, PROTOCOL = smq.ERR_MALFORMED, smq.ERR_PROTOCOL
WRONG_CONNACKS = [  # 3.1.1 bytes, 5.0 bytes, statuses that are right
    (b"\x20\xff\xff\xff\xff\x01", None, {MALFORMED}),  # Remaining Length of five bytes
    (b"\x20\x01\x00", None, {MALFORMED}),  # too short
    (b"\x20\x03\x00\x00\x00", b"\x20\x04\x00\x00\x00\x00", {MALFORMED}),  # too long
    (b"\x21\x02\x00\x00", b"\x21\x03\x00\x00\x00", {MALFORMED}),  # flags in the fixed header
    (b"\x20\x02\x02\x00", b"\x20\x03\x02\x00\x00", {MALFORMED, PROTOCOL}),  # Acknowledge Flags
    (
        b"\x20\x02\x01\x05",
        b"\x20\x03\x01\x87\x00",
        {MALFORMED, PROTOCOL},
    ),  # refused, yet session present
    (b"\x40\x02\x00\x01", None, {PROTOCOL}),  # PUBACK
    (b"\xd0\x00", None, {PROTOCOL}),  # PINGRESP
    (b"\x00\x00", None, {MALFORMED, PROTOCOL}),  # type 0
    (b"\x10\x00", None, {MALFORMED, PROTOCOL}),  # CONNECT: servers send none
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", None, {MALFORMED, PROTOCOL}),
]


@pytest.mark.parametrize("index", range(len(WRONG_CONNACKS)))
@pytest.mark.parametrize("one_byte", [False, True])
def test_wrong_connack(clients, broker, protocol, index, one_byte):
    wrong_4, wrong_5, right = WRONG_CONNACKS[index]
    wrong = wrong_5 if wrong_5 and protocol == V5 else wrong_4
    broker.scripts = [Script(at={1: say(wrong)}, one_byte=one_byte)]
    client = clients(url=broker.url, protocol=protocol, connect_timeout_ms=3000)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.status in right, event
    assert event.stage == smq.STAGE_CONNACK


WRONG_PROPERTIES = [
    b"\x01\x7f",  # unknown
    b"\x03\x21\x00\x00",  # Receive Maximum 0
    b"\x06\x21\x00\x05\x21\x00\x05",  # twice
    b"\x02\x24\x02",  # Maximum QoS 2
    b"\x02\x25\x02",  # Retain Available 2
    b"\x05\x27\x00\x00\x00\x00",  # Maximum Packet Size 0
    b"\x05\x1f\x00\x02\xc3\x28",  # Reason String that is not UTF-8
    b"\x03\x1f\x00\x09",  # ends inside the string
    b"\x02\x13\x00",  # ends inside the number
    b"\x09\x21\x00\x05",  # longer than the packet
    b"\xff\xff\xff\xff\x01",  # Property Length of five bytes
    b"\x03\x23\x00\x01",  # Topic Alias: not in a CONNACK
]


@pytest.mark.parametrize("wrong", WRONG_PROPERTIES, ids=lambda wrong: wrong.hex())
def test_wrong_connack_properties(clients, broker, wrong):
    broker.scripts = [Script(at={1: say(packet(CONNACK, b"\0\0" + wrong))})]
    client = clients(url=broker.url, protocol=V5, connect_timeout_ms=3000)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert event.status in (MALFORMED, PROTOCOL), event
    assert event.stage == smq.STAGE_CONNACK


WRONG_LATER = [
    (b"\x20\x02\x00\x00", b"\x20\x03\x00\x00\x00", {PROTOCOL}),  # a second CONNACK
    (b"\x50\x02\x00\x00", None, {MALFORMED, PROTOCOL}),  # PUBREC with Packet Identifier 0
    (b"\x40\x01\x00", None, {MALFORMED}),  # PUBACK of one byte
    (b"\x42\x02\x00\x01", None, {MALFORMED}),  # PUBACK with flags
    (b"\xd0\x01\x00", None, {MALFORMED}),  # PINGRESP with a body
    (b"\xc0\x00", None, {MALFORMED, PROTOCOL}),  # PINGREQ: servers send none
    (b"\x40\x80\x80\x80\x80\x01", None, {MALFORMED}),  # Remaining Length of five bytes
    (b"\xf0\x00", None, {MALFORMED, PROTOCOL}),  # AUTH, unasked
    (b"\x00\x00", None, {MALFORMED, PROTOCOL}),
    (bytes(range(1, 256)), None, {MALFORMED, PROTOCOL}),
]


@pytest.mark.parametrize("index", range(len(WRONG_LATER)))
def test_wrong_packet_on_a_connection(clients, broker, protocol, index):
    wrong_4, wrong_5, right = WRONG_LATER[index]
    wrong = wrong_5 if wrong_5 and protocol == V5 else wrong_4
    broker.scripts = [Script(at={2: say(wrong)}, hold={PUBACK})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    event = client.disconnected()
    assert event.status in right, event
    assert event.stage == smq.STAGE_CONNECTED


def test_the_client_says_what_it_did_not_understand(clients, broker):
    """5.0: DISCONNECT with the reason goes out before the connection is closed (section 4.13)."""
    broker.scripts = [Script(at={2: say(b"\x40\x01\x00")})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1) == smq.OK
    assert client.disconnected().status == MALFORMED
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].body[:1] == b"\x81"  # Malformed Packet


# ---- Acknowledgements ----


@pytest.mark.parametrize("qos", [1, 2])
def test_one_byte_at_a_time(clients, broker, protocol, qos):
    broker.scripts = [Script(one_byte=True, connack=dict(reason_string="x" * 200))]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in range(20):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    for cookie in range(20):
        assert client.completed(cookie).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"%d" % n for n in range(20)]
    assert list(client.events) == []


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
@pytest.mark.parametrize("held", [PUBACK, PUBREC, PUBCOMP])
def test_acknowledgements_in_any_order(clients, broker, protocol, order, held):
    broker.scripts = [Script(hold={held})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in range(5):
        qos = 1 if held == PUBACK else 2
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 5)
    assert client.stats.in_flight == 5
    assert not client.events
    broker.release(*[broker.held[index] for index in order])
    client.until(lambda: len(client.events) == 5)
    assert sorted(e.cookie for e in client.events) == [0, 1, 2, 3, 4]
    if held != PUBREC:  # after PUBREC there is one more step
        assert [e.cookie for e in client.events] == list(order)
    assert (client.stats.in_flight, client.stats.outbox_bytes) == (0, 0)


@pytest.mark.parametrize("answer, qos", [(PUBACK, 1), (PUBREC, 2), (PUBCOMP, 2)])
def test_acknowledgements_that_nobody_waits_for(clients, broker, protocol, answer, qos):
    """The same one twice, and one for an id that is not in use: the message completes, once."""

    def too_much(connection, came):
        connection.answer(came)
        identifier = came.id.to_bytes(2, "big")
        connection.send(packet(answer, identifier) + packet(answer, bytes([came.id >> 8 ^ 1, 1])))

    broker.scripts = [Script(at={3 if answer == PUBCOMP else 2: too_much})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie in (1, 2):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
        assert client.completed(cookie).status == smq.OK
    client.run(0.05)
    assert (list(client.events), client.state) == ([], smq.STATE_CONNECTED)
    assert [m.payload for m in broker.messages] == [b"1", b"2"]
    broker.violations.clear()  # a PUBREL for each PUBREC is what was asked for


@pytest.mark.parametrize("answer, qos", [(PUBACK, 1), (PUBREC, 2)])
@pytest.mark.parametrize("code", [0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])
@pytest.mark.parametrize("words", ["", "no thanks"])
def test_a_message_refused(clients, broker, answer, qos, code, words):
    broker.scripts = [Script(reasons={answer: code}, reason_string=words)]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=qos, cookie=5) == smq.OK
    event = client.completed(5)
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, code)
    assert client.state == smq.STATE_CONNECTED
    assert (client.stats.messages_failed, client.stats.in_flight) == (1, 0)
    assert broker.of(PUBREL) == []
    broker.connections[0].script.reasons = {}
    assert client.publish("a", qos=qos, cookie=6) == smq.OK
    assert client.completed(6).status == smq.OK


def test_no_matching_subscribers_is_no_refusal(clients, broker):
    broker.scripts = [Script(reasons={PUBACK: 0x10, PUBREC: 0x10})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    for qos in (1, 2):
        assert client.publish("a", qos=qos, cookie=qos) == smq.OK
        event = client.completed(qos)
        assert event.status == smq.OK


# ---- What the server allows (5.0) ----


@pytest.mark.parametrize("maximum", [1, 3, 20])
def test_receive_maximum(clients, broker, maximum):
    broker.scripts = [Script(connack=dict(receive_maximum=maximum), hold={PUBACK, PUBCOMP})]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.stats.in_flight_maximum == maximum
    for cookie in range(50):
        assert client.publish("a", b"%d" % cookie, qos=1 + cookie % 2, cookie=cookie) == smq.OK
    while len(broker.messages) < 50:
        client.until(lambda: len(broker.held) == min(maximum, 50 - client.stats.messages_completed))
        client.run(0.01)
        assert client.stats.in_flight <= maximum
        broker.release()
    client.until(lambda: client.stats.messages_completed + len(broker.held) == 50)
    broker.release()
    client.until(lambda: client.stats.messages_completed == 50)
    assert [m.payload for m in broker.messages] == [b"%d" % n for n in range(50)]


def test_in_flight_maximum_of_our_own(clients, broker, protocol):
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, protocol=protocol, in_flight_maximum=4)
    client.connected()
    for cookie in range(10):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 4)
    client.run(0.05)
    assert (len(broker.held), client.stats.in_flight, client.stats.in_flight_maximum) == (4, 4, 4)
    broker.connections[0].script.hold = set()
    broker.release()
    client.until(lambda: client.stats.messages_completed == 10)


def test_maximum_packet_size(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_packet_size=100))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", bytes(200), qos=1, cookie=1) == smq.OK  # not known yet
    assert client.publish("a", bytes(92), qos=1, cookie=2) == smq.OK  # 2 + 3 + 2 + 1 + 92
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x95)
    assert client.completed(2).status == smq.OK
    before = client.stats
    assert client.publish("a", bytes(93), qos=1) == smq.ERR_TOO_LARGE
    assert client.stats == before
    assert client.publish("a", bytes(92), qos=1, cookie=3) == smq.OK
    assert client.completed(3).status == smq.OK
    assert [len(p.raw) for p in broker.of(PUBLISH)] == [100, 100]


def test_maximum_qos(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_qos=1))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x9B)
    before = client.stats
    assert client.publish("a", qos=2) == smq.ERR_QOS
    assert client.stats == before
    assert client.publish("a", qos=1, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert [p.qos for p in broker.of(PUBLISH)] == [1]


def test_retain_not_available(clients, broker):
    broker.scripts = [Script(connack=dict(retain_available=0))]
    client = clients(url=broker.url, protocol=V5)
    assert client.publish("a", retain=1, qos=1, cookie=1) == smq.OK
    client.connected()
    completed = client.completed(1)
    assert (completed.status, completed.reason_code) == (smq.ERR_SERVER_LIMIT, 0x9A)
    before = client.stats
    assert client.publish("a", retain=1) == smq.ERR_NOT_SUPPORTED
    assert client.stats == before
    assert client.publish("a", qos=1, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert [p.retain for p in broker.of(PUBLISH)] == [0]


def test_limits_end_with_their_connection(clients, broker):
    """The next server may allow more."""
    broker.scripts = [Script(connack=dict(maximum_qos=0, retain_available=0, receive_maximum=1))]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=1) == smq.ERR_QOS
    client.leave()
    client.connected()
    assert client.publish("a", qos=2, retain=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.stats.in_flight_maximum > 1


def test_all_connack_properties_are_taken(clients, broker):
    broker.scripts = [
        Script(
            connack=dict(
                session_expiry=5,
                receive_maximum=10,
                maximum_qos=1,
                retain_available=1,
                maximum_packet_size=1000,
                assigned_client_id="you",
                topic_alias_maximum=3,
                reason_string="welcome",
                user_property=("a", "b"),
                wildcard_subscription_available=1,
                subscription_identifier_available=0,
                shared_subscription_available=0,
                server_keep_alive=30,
                response_information="r",
                server_reference="s",
            )
        )
    ]
    client = clients(url=broker.url, protocol=V5)
    event = client.connected()
    assert event.reason_string == b"welcome"
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


# ---- Reconnecting ----


def test_sent_again_in_order_with_dup(clients, broker, protocol):
    """Session present: PUBLISH again with DUP and its id, in order; after PUBREC only PUBREL."""
    broker.scripts = [
        Script(hold={PUBACK, PUBREC, PUBCOMP}, at={8: close}),
        Script(session_present=1),
    ]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    for cookie, qos in enumerate([1, 2, 2, 1, 2]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 5)
    ids = {p.payload: p.id for p in broker.of(PUBLISH, 1)}
    assert len(set(ids.values())) == 5
    broker.release(broker.held[2])  # PUBREC for message 2
    client.until(lambda: len(broker.of(PUBREL, 1)) == 1)
    assert broker.of(PUBREL, 1)[0].id == ids[b"2"]
    assert client.publish("a", b"5", qos=1, cookie=5) == smq.OK  # the 8th packet
    client.disconnected()
    broker.held.clear()
    assert client.publish("a", b"6", qos=1, cookie=6) == smq.OK  # meanwhile
    assert client.connected().session_present == 1
    for cookie in range(7):
        assert client.completed(cookie).status == smq.OK
    again = [
        (p.type, p.dup, p.id, p.payload if p.type == PUBLISH else None)
        for p in broker.packets
        if p.connection == 2 and p.type in (PUBLISH, PUBREL)
    ]
    publishes = [p for p in again if p[0] == PUBLISH]
    assert [p[3] for p in publishes] == [b"0", b"1", b"3", b"4", b"5", b"6"]
    assert [p[1] for p in publishes] == [1, 1, 1, 1, 1, 0]
    assert [p[2] for p in publishes][:4] == [ids[m] for m in (b"0", b"1", b"3", b"4")]
    assert (PUBREL, 0, ids[b"2"], None) in again
    assert list(client.events) == []
    assert broker.connects[1]["clean"] == 0


def test_again_and_again(clients, broker, protocol):
    """A message survives any number of lost connections."""
    scripts = [Script(hold={PUBACK, PUBREC}, at={4: close}) for _ in range(5)]
    for script in scripts[1:]:
        script.session_present = 1
    broker.scripts = [*scripts, Script(session_present=1)]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    for cookie, qos in enumerate([1, 2, 1]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    for _ in scripts:
        client.connected()
        client.disconnected()
    client.connected()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK
    assert [p.dup for p in broker.of(PUBLISH)] == [0] * 3 + [1] * 15
    assert {(p.id, p.payload) for p in broker.of(PUBLISH)} == {
        (p.id, p.payload) for p in broker.of(PUBLISH, 1)
    }


def test_session_lost(clients, broker, protocol):
    """QoS 1 goes again as new. Of QoS 2 the fate is unknown, unless PUBREC had come."""
    broker.scripts = [
        Script(hold={PUBACK, PUBREC, PUBCOMP}, at={6: close}),
        Script(session_present=0),
    ]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    for cookie, qos in enumerate([1, 2, 2]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.until(lambda: len(broker.held) == 3)
    broker.release(broker.held[2])
    client.until(lambda: len(broker.of(PUBREL, 1)) == 1)
    assert client.publish("a", b"3", qos=1, cookie=3) == smq.OK
    client.disconnected()
    broker.held.clear()
    assert client.connected().session_present == 0
    statuses = {cookie: client.completed(cookie).status for cookie in range(4)}
    assert statuses == {0: smq.OK, 1: smq.ERR_SESSION_LOST, 2: smq.OK, 3: smq.OK}
    again = [(p.payload, p.dup) for p in broker.of(PUBLISH, 2)]
    assert again == [(b"0", 0), (b"3", 0)]
    assert broker.of(PUBREL, 2) == []
    assert (client.stats.messages_completed, client.stats.messages_failed) == (3, 1)


def test_no_session_kept(clients, broker, protocol):
    """Without SMQ_OPTION_KEEP_SESSION every connection begins a new session."""
    broker.scripts = [Script(hold={PUBACK, PUBREC}, at={4: close})]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    for cookie, qos in enumerate([1, 2, 0]):
        assert client.publish("a", b"%d" % cookie, qos=qos, cookie=cookie) == smq.OK
    client.disconnected()
    client.connected()
    client.completed(0)
    assert client.completed(1).status == smq.ERR_SESSION_LOST
    assert [c["clean"] for c in broker.connects] == [1, 1]
    assert [(p.payload, p.dup) for p in broker.of(PUBLISH, 2) if p.qos] == [(b"0", 0)]


def test_the_first_connection_of_a_client_has_no_session(clients, broker):
    """5.0: a client without Session State must not take up one (sections 3.1.2.4, 3.2.2.1.1)."""
    client = clients(url=broker.url, protocol=V5, **KEEP)
    client.connected()
    client.close()  # as if the program had died; the server keeps the session
    broker.wait_for(lambda: not broker.live)
    client = clients(url=broker.url, protocol=V5, **KEEP)
    client.connected()
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK


def test_a_new_program_is_not_taken_for_the_old_one(clients, broker, protocol):
    """The old one left a QoS 2 message half done. The new one's messages must all arrive."""
    broker.scripts = [Script(hold={PUBREC})]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", b"old", qos=2) == smq.OK
    client.until(lambda: broker.held)
    client.close()
    broker.wait_for(lambda: not broker.live)
    broker.held.clear()
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", b"new", qos=2, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert [m.payload for m in broker.messages] == [b"old", b"new"]
    broker.violations.clear()  # in 3.1.1 the id may well be one that is in use


def test_an_attempt_given_up(clients, broker, protocol):
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, protocol=protocol)
    assert client.connect() == smq.OK
    client.until(lambda: broker.of(CONNECT))
    assert client.disconnect(1_000_000) == smq.OK  # which it does not wait for
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.OK, smq.STAGE_NONE)
    client.connected()


def test_drain_has_a_limit(clients, broker, protocol):
    broker.scripts = [Script(hold={PUBACK}), Script(session_present=1)]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    start = time.monotonic()
    assert client.disconnect(200) == smq.OK
    assert client.state == smq.STATE_DISCONNECTING
    event = client.disconnected()
    assert 0.198 <= time.monotonic() - start < 20
    assert event.status == smq.OK
    broker.wait_for(lambda: broker.of(DISCONNECT))
    broker.held.clear()
    client.connected()
    assert client.completed(1).status == smq.OK
    assert [p.dup for p in broker.of(PUBLISH)] == [0, 1]


# ---- Many ----


@pytest.mark.parametrize("held_back", [0, 1])
def test_more_messages_than_packet_identifiers(clients, broker, protocol, held_back):
    """Past 65,023 the ids begin again, around one that is still in use. The broker checks."""
    total = 70000
    broker.scripts = [Script(hold={PUBACK} if held_back else set())]
    client = clients(url=broker.url, protocol=protocol, outbox_messages=65023, outbox_bytes=1 << 20)
    client.connected()
    if held_back:  # a QoS 1 message that is not acknowledged, between QoS 2 messages that are
        assert client.publish("a", qos=1, cookie=1) == smq.OK
        client.until(lambda: broker.held)

    def publish_all(count: int) -> int:
        """Stops when the outbox is full for good: with the first message in the way."""
        for sent in range(count):
            while (status := client.publish("a", qos=2 - (not held_back), quiet=1)) == smq.ERR_FULL:
                if held_back and client.stats.in_flight == 1:
                    return sent
                client.step(1000)
            assert status == smq.OK
        return count

    sent = publish_all(total)
    client.until(lambda: len(broker.messages) == sent + held_back, timeout=150)
    client.until(lambda: client.stats.in_flight == held_back)
    if held_back:
        assert sent == 65022
        broker.release()
        assert client.completed(1).status == smq.OK
        sent += 1 + publish_all(total - sent - 1)
        client.until(lambda: len(broker.messages) == sent, timeout=150)
        client.until(lambda: client.stats.in_flight == 0)
    assert sent == len(broker.messages) == total
    assert broker.violations == []
