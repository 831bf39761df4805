"""Receiving and acknowledging: everything once, in order, and whole."""

from __future__ import annotations

import ctypes
import random
import time
from collections.abc import Callable

import pytest

from Support import smq
from Support.proxy import cut_after
from Support.scripted_broker import (
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Message,
    Script,
    answer_then,
    close,
    nothing,
    packet,
    properties,
    publish_packet,
    reset,
    say,
)

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
HOLD = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION + smq.OPTION_HOLD)
TOPICS = ["a", "a/b/c", "/", "a//b", " ", "ü/€/😀", "x" * 1000]


# ---- A real server ----


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_everything_about_a_message(mosquitto, clients, version, qos):
    client = clients(url=mosquitto.url, **version)
    client.connected()
    client.subscribed("#", qos=2)
    payloads = [b"", b"x", bytes(range(256)), b"y" * 2000]
    for topic in TOPICS:
        for payload in payloads:
            assert client.publish(topic, payload, qos=qos, quiet=1) == smq.OK
            event = client.message()
            assert (event.topic, event.payload) == (topic.encode(), payload)
            assert (event.qos, event.retain, event.duplicate, event.status) == (qos, 0, 0, smq.OK)
            assert (event.part, event.payload_offset) == (smq.WHOLE, 0)
            assert event.payload_total == len(payload)
            assert (event.token != 0) == (qos > 0)
            assert (event.subscription, event.handler, event.user) == (-1, None, None)
            assert (event.properties, event.subscription_identifier) == (b"", 0)
    count = len(TOPICS) * len(payloads)
    client.until(lambda: client.stats.unacknowledged == 0)
    stats = client.stats
    assert (stats.messages_received, stats.messages_duplicate) == (count, 0)
    assert stats.messages_oversize == 0
    assert stats.unacknowledged_peak >= (qos > 0)


def test_retained(mosquitto, clients, version):
    """1 for what was there before; 0 for what comes now (section 3.3.1.3)."""
    mosquitto.publish("kept", "old", "-r", "-q", "1")
    client = clients(url=mosquitto.url, **version)
    client.connected()
    client.subscribed("kept", qos=2)
    assert client.publish("kept", b"new", qos=1, retain=1) == smq.OK
    assert [(m.retain, m.payload) for m in client.receive(2)] == [(1, b"old"), (0, b"new")]


# Mosquitto 2.0 sends more than Receive Maximum, and out of order, when its own limit is reached. So
# these tests have it without one (max_inflight_messages 0), and a client that takes all of it.


def test_3000_messages_in_order(mosquitto, clients, version):
    """QoS 1 and 2, each in its order."""
    receiver = clients(url=mosquitto.url, receive_maximum=3000, **version)
    sender = clients(url=mosquitto.url, **{**version, "client_id": "sender"})
    receiver.connected(), sender.connected()
    receiver.subscribed("q/#", qos=2)
    dice, sent = random.Random(3), {1: [], 2: []}
    for number in range(3000):
        qos, payload = 1 + number % 2, b"%d " % number + dice.randbytes(dice.randrange(300))
        while sender.publish(f"q/{qos}", payload, qos=qos, quiet=1) == smq.ERR_FULL:
            sender.step(5)
            receiver.step(0)
        sent[qos].append(payload)

    def all_there() -> bool:
        sender.step(0)
        return len(receiver.messages()) >= 3000

    receiver.until(all_there)
    got = receiver.messages()
    for qos, payloads in sent.items():
        assert [m.payload for m in got if m.qos == qos] == payloads
    assert len(got) == receiver.stats.messages_received == 3000


def until_all_is_done(
    client: smq.Client, count: int, seconds: float = 20, more: Callable[[], object] = lambda: True
) -> None:
    """Connects as often as it takes, until so many messages are there and acknowledged, and more holds."""
    deadline = time.monotonic() + seconds
    while len(client.messages()) < count or client.stats.unacknowledged or not more():
        assert time.monotonic() < deadline, (client.stats, list(client.events)[-5:])
        if client.state == smq.STATE_DISCONNECTED:
            client.step(0)
            assert client.connect() == smq.OK
        client.step(5)
    client.run(0.02)


def test_qos_2_exactly_once(mosquitto, inject, clients, protocol):
    """The connection is cut between any two bytes, and the next one lasts: Mosquitto 2.0 forgets
    that it has sent PUBREL if it is cut twice before it did again."""
    dice = random.Random(protocol)
    rounds, each = 12, 20
    cuts = [cut for _ in range(rounds) for cut in (None, dice.randrange(4, 400))]
    proxy = inject(mosquitto, cut_after(cuts))
    client = clients(host="127.0.0.1", port=proxy.port, protocol=protocol, **KEEP)
    sender = clients(url=mosquitto.url, protocol=protocol)
    sender.connected()
    client.connected()
    client.subscribed("once", qos=2)
    for number in range(rounds):
        client.leave()  # the next one will be cut, and the one behind it not
        for index in range(each):
            payload = b"%d" % (each * number + index)
            assert sender.publish("once", payload, qos=2, quiet=1) == smq.OK
        sender.until(lambda: sender.stats.outbox_messages == 0)
        until_all_is_done(client, each * (number + 1))
    assert [int(m.payload) for m in client.messages()] == list(range(rounds * each))


@pytest.mark.parametrize("seed", range(4))
def test_qos_2_exactly_once_whatever_the_network_does(broker, inject, clients, version, seed):
    """Cut again and again, in the middle of what is sent again, too."""
    dice = random.Random(seed)
    proxy = inject(broker, cut_after([dice.randrange(4, 600) for _ in range(60)]))
    options = {**version, **KEEP}
    client = clients(host="127.0.0.1", port=proxy.port, receive_maximum=150, **options)
    assert client.subscribe("once", qos=2, cookie=1) == smq.OK
    deadline = time.monotonic() + 10
    while not client.completions():
        assert time.monotonic() < deadline
        if client.state == smq.STATE_DISCONNECTED:
            assert client.connect() == smq.OK
        client.step(5)
    for number in range(150):
        with broker.changed:
            broker.publish(Message("once", b"%d" % number, 2, 0, 0))
    # The last PUBCOMP may have been cut off: then PUBREL comes again.
    until_all_is_done(client, 150, more=lambda: not broker.sessions["keeper"].outgoing)
    assert [int(m.payload) for m in client.messages()] == list(range(150))
    assert client.stats.connections > 3


def test_messages_wait_for_a_persistent_session(mosquitto, clients, version):
    options = {**version, **KEEP}
    client = clients(url=mosquitto.url, **options)
    client.connected()
    client.subscribed("later/#", qos=2)
    assert client.leave().status == smq.OK
    for number in range(10):
        mosquitto.publish("later/on", str(number), "-q", str(1 + number % 2))
    event = client.connected()
    if version["protocol"] > 3:  # which does not say
        assert event.session_present == 1
    got = client.receive(10)
    for parity in (0, 1):
        numbers = [int(m.payload) for m in got if m.qos == 1 + parity]
        assert numbers == list(range(parity, 10, 2))


def test_a_later_process_takes_up_the_session(mosquitto, clients, protocol):
    for process in range(3):
        client = clients(url=mosquitto.url, protocol=protocol, **KEEP)
        if process == 0:
            client.connected()
            client.subscribed("later", qos=2)
        else:
            assert client.connected().session_present == 1
            assert client.message().payload == b"%d" % (process - 1)
        client.leave(), client.close()
        mosquitto.publish("later", str(process), "-q", "2")


def test_a_new_session_on_demand(mosquitto, clients):
    """SMQ_OPTION_NEW_SESSION: what an earlier process left is gone; then the session is kept."""
    old = clients(url=mosquitto.url, protocol=V5, **KEEP)
    old.connected()
    old.subscribed("later", qos=2)
    old.leave(), old.close()
    mosquitto.publish("later", "lost", "-q", "2")
    flags = smq.OPTION_KEEP_SESSION + smq.OPTION_NEW_SESSION
    client = clients(url=mosquitto.url, protocol=V5, client_id="keeper", flags=flags)
    assert client.connected().session_present == 0
    client.subscribed("later", qos=2)
    client.leave()
    mosquitto.publish("later", "kept", "-q", "2")
    assert client.connected().session_present == 1
    assert [m.payload for m in client.receive(1)] == [b"kept"]
    client.run(0.05)
    assert not client.messages()


# ---- Views ----


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_views_may_be_published_as_they_are(mosquitto, subscriber, clients, version, qos):
    """What an event points to is there until the next is asked for, and may go into any call."""
    client = clients(url=mosquitto.url, **version)
    sender = clients(url=mosquitto.url)
    client.connected(), sender.connected()
    client.subscribed("in/#", qos=2)

    def echo(event: smq.Event) -> None:
        if event.type != smq.EVENT_MESSAGE:
            return
        # Other calls in between do not take it away.
        assert client.stats.messages_received and client.state == smq.STATE_CONNECTED
        smq.library.smq_next_timeout_ms(client.handle)
        assert client.subscribe("something/else") in (smq.OK, smq.ERR_FULL)
        message = smq.Message(topic="echo", payload=client.raw.payload, qos=qos, quiet=1)
        assert smq.library.smq_publish(client.handle, ctypes.byref(message)) == smq.OK
        assert client.raw.topic.value() == event.topic
        assert client.raw.payload.value() == event.payload

    client.on_event = echo
    payloads = [random.Random(n).randbytes(n * 97) for n in range(20)]
    for cookie, payload in enumerate(payloads):
        assert sender.publish("in/x", payload, qos=qos, cookie=cookie) == smq.OK
        sender.completed(cookie)
        client.message()
    client.run(0.1)
    echoes = [m.payload for m in subscriber.take(40) if m.topic == "echo"]
    assert echoes == payloads


# ---- One message at a time, and acknowledging ----


def subscribed(client: smq.Client, broker) -> object:
    """Connected, and the broker's end of the connection."""
    client.connected()
    return broker.last


@pytest.mark.parametrize("qos", [1, 2])
def test_acknowledged_when_released(clients, broker, version, qos):
    """Not before the program has seen it."""
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    server.publish("a", b"1", qos)
    server.publish("a", b"2", qos)
    assert smq.library.smq_wait(client.handle, 5000) == 1
    first = client.take()
    assert (first.payload, first.qos) == (b"1", qos)
    answer = PUBACK if qos == 1 else PUBREC
    time.sleep(0.05)
    assert broker.of(answer) == []
    assert client.stats.unacknowledged == 1
    client.until(lambda: len(broker.of(answer)) == 2)
    client.until(lambda: client.stats.unacknowledged == 0)
    broker.wait_for(lambda: not server.session.outgoing)


def test_a_message_that_waits_keeps_what_is_behind_it(clients, broker, version):
    """Events come in order, none overtakes, and the end of the connection is the last of them."""
    last = [publish_packet(version["protocol"], "a", b"%d" % n) for n in range(20)]
    broker.scripts = [Script(at={2: answer_then(say(b"".join(last)), close)})]
    client = clients(url=broker.url, **version)
    client.connected()
    assert client.subscribe("a", cookie=1) == smq.OK
    smq.library.smq_service(client.handle)
    broker.wait_for(lambda: broker.last.over)
    time.sleep(0.05)
    seen = []
    while not seen or seen[-1].type != smq.EVENT_DISCONNECTED:
        assert smq.library.smq_wait(client.handle, 1000) == 1
        assert smq.library.smq_wait(client.handle, 1000) == 1, "the event still waits"
        seen.append(client.take())
    assert seen[0].type == smq.EVENT_COMPLETED
    assert [e.payload for e in seen[1:-1]] == [b"%d" % n for n in range(20)]
    assert (seen[-1].type, seen[-1].status) == (smq.EVENT_DISCONNECTED, smq.ERR_CLOSED)


def test_messages_right_behind_connack_and_before_disconnect(clients, broker):
    words = packet(DISCONNECT, b"\x8b")
    inner = b"".join(publish_packet(V5, "a", b"%d" % n) for n in range(5))
    broker.scripts = [Script(at={1: answer_then(say(inner + words), close)})]
    client = clients(url=broker.url, protocol=V5)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_CLOSED, 0x8B)
    assert [e.type for e in client.events] == [smq.EVENT_CONNECTED] + [smq.EVENT_MESSAGE] * 5
    assert [m.payload for m in client.messages()] == [b"%d" % n for n in range(5)]


def test_in_one_byte_pieces(clients, broker, version):
    broker.scripts = [Script(one_byte=True)]
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    for number in range(15):
        values = dict(content_type="text") if version["protocol"] == V5 else {}
        server.publish("topic", b"payload %d" % number, number % 3, **values)
    assert [m.payload for m in client.receive(15)] == [b"payload %d" % n for n in range(15)]
    client.until(lambda: not server.session.outgoing)


def test_a_slow_consumer_loses_nothing(clients, broker, version):
    """What is not taken stays in the socket, and then with the server; memory does not grow."""
    client = clients(url=broker.url, receive_bytes=2048, **version)
    server = subscribed(client, broker)
    total, size = 3000, 1500  # more than the kernel's buffers hold
    for number in range(total):
        server.post(publish_packet(server.level, "a", b"%06d" % number + bytes(size)))
    time.sleep(0.3)
    for number in range(total):
        while not (event := client.take()):
            assert smq.library.smq_wait(client.handle, 5000) == 1
        assert int(event.payload[:6]) == number
        if number % 1000 == 0:
            time.sleep(0.05)
    assert client.stats.messages_received == total
    assert client.state == smq.STATE_CONNECTED


def test_a_slow_consumer_of_a_real_server(mosquitto, clients, protocol):
    client = clients(url=mosquitto.url, protocol=protocol, receive_maximum=1000)
    sender = clients(url=mosquitto.url, outbox_bytes=1 << 22, outbox_messages=1000)
    client.connected(), sender.connected()
    client.subscribed("#", qos=2)
    for number in range(1000):
        assert sender.publish("a", b"%d" % number + bytes(1000), qos=1 + number % 2, quiet=1) == 0
    sender.until(lambda: sender.stats.outbox_messages == 0)
    time.sleep(0.3)  # Mosquitto has what it may not send yet
    got = client.receive(1000)
    for parity in (0, 1):
        numbers = [int(m.payload.rstrip(b"\0")) for m in got if m.qos == 1 + parity]
        assert numbers == list(range(parity, 1000, 2))


# ---- Duplicates ----


def test_qos_1_again_is_handed_out_again(clients, broker, version):
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    identifier = server.publish("a", b"x", 1)
    client.until(lambda: broker.of(PUBACK))
    server.publish("a", b"x", 1, dup=1, identifier=identifier)
    assert [m.duplicate for m in client.receive(2)] == [0, 1]
    client.until(lambda: len(broker.of(PUBACK)) == 2)


@pytest.mark.parametrize("released", [False, True])
def test_qos_2_again_is_not(clients, broker, version, released):
    """[MQTT-4.3.3-10]: before PUBREL it is the same message, after PUBCOMP another one."""
    broker.scripts = [Script(hold=set() if released else {PUBREL})]
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    identifier = server.publish("a", b"x", 2)
    client.until(lambda: broker.of(PUBCOMP) if released else broker.held)
    server.publish("a", b"x", 2, dup=1, identifier=identifier)
    client.until(lambda: len(broker.of(PUBREC)) == 2)
    client.run(0.02)
    assert len(client.messages()) == (2 if released else 1)
    assert client.stats.messages_duplicate == (0 if released else 1)
    if not released:
        broker.release(broker.held[0])
        broker.held.clear()
    client.until(lambda: client.stats.unacknowledged == 0)


def test_pubrel_for_nothing_is_answered(clients, broker, version):
    """The client that forgot the message must not keep the server waiting (section 4.3.3)."""
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    server.post(packet(PUBREL, b"\x12\x34"))
    client.until(lambda: broker.of(PUBCOMP))
    (came,) = broker.of(PUBCOMP)
    identifier, code, _ = came.acknowledgement()
    assert identifier == 0x1234
    assert code in ((0, 0x92) if version["protocol"] == V5 else (0,))
    assert client.state == smq.STATE_CONNECTED
    broker.violations.clear()  # that PUBCOMP is what was asked for


def test_qos_2_across_a_lost_connection(clients, broker, version):
    """PUBREC was lost: the server sends the message again, and it is not handed out again."""
    broker.scripts = [Script(at={2: close})]  # PUBREC is not understood
    client = clients(url=broker.url, **{**version, **KEEP})
    server = subscribed(client, broker)
    server.publish("a", b"x", 2)
    client.message()
    client.disconnected()
    client.connected()
    client.until(lambda: broker.of(PUBCOMP))
    client.run(0.02)
    assert not client.messages()
    assert client.stats.messages_duplicate == 1
    again = broker.of(PUBREC, 2)
    assert [p.id for p in again] == [broker.of(PUBREC, 1)[0].id]


def test_qos_2_after_a_session_was_lost(clients, broker, version):
    """The same Packet Identifier in another session is another message."""
    broker.scripts = [Script(hold={PUBREL}, at={3: close}), Script(session_present=0)]
    client = clients(url=broker.url, **{**version, **(KEEP if version["protocol"] > 3 else {})})
    server = subscribed(client, broker)
    server.publish("a", b"old", 2, identifier=7)
    client.until(lambda: broker.held)
    assert client.publish("x") == smq.OK  # the third packet
    client.disconnected()
    client.connected()
    broker.last.publish("a", b"new", 2, identifier=7)
    assert [m.payload for m in client.receive(2)] == [b"old", b"new"]
    client.until(lambda: broker.of(PUBCOMP, 2))
    assert client.stats.messages_duplicate == 0


# ---- Holding ----


@pytest.mark.parametrize("how", ["hold", "option"])
def test_acknowledged_in_any_order(clients, broker, version, how):
    """On the wire they leave in the order in which the messages came [MQTT-4.6.0-2]."""
    order, levels = (2, 0, 4, 1, 3), (1, 2, 1, 2, 2)
    options = dict(flags=smq.OPTION_HOLD) if how == "option" else {}
    client = clients(url=broker.url, **version, **options)
    if how == "hold":
        client.on_event = lambda e: e.type == smq.EVENT_MESSAGE and client.hold()
    server = subscribed(client, broker)
    for number, qos in enumerate(levels):
        server.publish("a", b"%d" % number, qos)
    got = client.receive(5)
    tokens = [m.token for m in got]
    assert 0 not in tokens and len(set(tokens)) == 5
    client.run(0.02)
    assert client.stats.unacknowledged == 5
    sent = lambda: [p.id for p in broker.packets if p.type in (PUBACK, PUBREC)]  # noqa: E731
    assert sent() == []
    done = set()
    for index in order:
        assert client.ack(tokens[index]) == smq.OK
        done.add(index)
        ready = next((n for n in range(5) if n not in done), 5)  # what nothing stands before
        client.until(lambda: len(sent()) == ready)
        client.run(0.01)
        assert sent() == list(range(1, ready + 1))
        assert client.ack(tokens[index]) == smq.ERR_TOKEN
    client.until(lambda: client.stats.unacknowledged == 0)
    client.until(lambda: not server.session.outgoing)


def test_hold_some(clients, broker, version):
    """What is not held behind one that is goes when that goes."""
    client = clients(url=broker.url, **version)
    client.on_event = lambda e: e.payload == b"0" and client.hold()
    server = subscribed(client, broker)
    for number in range(4):
        server.publish("a", b"%d" % number, 1)
    got = client.receive(4)
    client.run(0.05)
    assert broker.of(PUBACK) == []
    assert client.ack(got[1].token) == smq.ERR_TOKEN  # that was done when it was released
    assert client.ack(got[0].token) == smq.OK
    client.until(lambda: len(broker.of(PUBACK)) == 4)


def test_qos_0_is_never_held(clients, broker, version):
    client = clients(url=broker.url, flags=smq.OPTION_HOLD, **version)
    statuses = []
    client.on_event = lambda e: e.type == smq.EVENT_MESSAGE and statuses.append(client.hold())
    subscribed(client, broker).publish("a")
    assert client.message().token == 0
    assert statuses == [smq.ERR_STATE]


def test_hold_needs_a_message(clients, broker, version):
    client = clients(url=broker.url, **version)
    assert client.hold() == smq.ERR_STATE  # no event yet
    server = subscribed(client, broker)
    assert client.hold() == smq.ERR_STATE  # not a message
    server.publish("a", b"", 1)
    client.message()
    client.run(0.02)
    assert client.hold() == smq.ERR_STATE  # released
    broker.wait_for(lambda: broker.of(PUBACK))


@pytest.mark.parametrize("qos", [1, 2])
def test_acknowledged_before_it_is_released(clients, broker, version, qos):
    client = clients(url=broker.url, **version)
    statuses = []
    client.on_event = lambda e: e.token and statuses.append(client.ack(e.token))
    server = subscribed(client, broker)
    server.publish("a", b"x", qos)
    event = client.message()
    client.until(lambda: not server.session.outgoing)
    client.run(0.02)
    assert statuses == [smq.OK]
    assert client.ack(event.token) == smq.ERR_TOKEN
    assert len(broker.of(PUBACK if qos == 1 else PUBREC)) == 1


@pytest.mark.parametrize("token", [0, 1, 65535, 1 << 16, 1 << 32, (1 << 64) - 1])
def test_no_such_token(clients, broker, token):
    client = clients(url=broker.url, **HOLD)
    server = subscribed(client, broker)
    assert client.ack(token) == smq.ERR_TOKEN
    server.publish("a", b"x", 1)
    event = client.message()
    if token != event.token:
        before = client.stats
        assert client.ack(token) == smq.ERR_TOKEN
        assert client.stats == before
    assert client.ack(event.token) == smq.OK


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("when", ["connected again", "in between"])
def test_a_token_outlives_the_connection(clients, broker, version, qos, when):
    """The message is not handed out again; its acknowledgement goes where the server asks again."""
    broker.scripts = [Script(at={2: close})]
    client = clients(url=broker.url, **{**version, **HOLD})
    server = subscribed(client, broker)
    server.publish("a", b"x", qos)
    event = client.message()
    assert client.publish("y") == smq.OK  # the second packet
    client.disconnected()
    answer = PUBACK if qos == 1 else PUBREC
    if when == "in between":
        assert client.ack(event.token) == smq.OK
    client.connected()
    if when == "connected again":
        client.run(0.05)
        assert broker.of(answer) == []
        assert client.stats.unacknowledged == 1
        assert client.ack(event.token) == smq.OK
    client.until(lambda: broker.of(answer))
    client.until(lambda: not broker.last.session.outgoing)
    client.run(0.02)
    assert not client.messages(), "it came again"
    assert (client.stats.messages_received, client.stats.messages_duplicate) == (1, 1)
    assert client.ack(event.token) == smq.ERR_TOKEN
    assert client.stats.unacknowledged == 0


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("keep", [False, True])
def test_a_token_ends_with_its_session(clients, broker, protocol, qos, keep):
    broker.scripts = [Script(at={2: close}), Script(session_present=0)]
    flags = smq.OPTION_HOLD + (smq.OPTION_KEEP_SESSION if keep else 0)
    client = clients(url=broker.url, protocol=protocol, client_id="keeper", flags=flags)
    server = subscribed(client, broker)
    server.publish("a", b"old", qos)
    event = client.message()
    assert client.publish("y") == smq.OK
    client.disconnected()
    client.connected()
    before = client.stats
    assert before.unacknowledged == 0
    assert client.ack(event.token) == smq.ERR_TOKEN
    assert client.stats == before
    broker.last.publish("a", b"new", qos)  # with the same Packet Identifier
    new = client.message()
    assert (new.payload, new.token != event.token) == (b"new", True)
    assert client.ack(event.token) == smq.ERR_TOKEN
    assert client.ack(new.token) == smq.OK
    client.until(lambda: not broker.last.session.outgoing)


# ---- Reason Codes and properties of acknowledgements (5.0) ----

ALLOWED = {0, 0x80, 0x83, 0x87, 0x90, 0x97, 0x99}


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("code", [0, 0x80, 0x99])
def test_a_message_is_refused(clients, broker, qos, code):
    client = clients(url=broker.url, protocol=V5, **HOLD)
    server = subscribed(client, broker)
    users = [("why", "not"), ("why", "so")]
    listed = smq.properties(reason_string="so nicht", user_property=users)
    for number, properties in enumerate((None, listed)):
        server.publish("a", b"x", qos)
        event = client.message()
        assert client.ack(event.token, code, properties) == smq.OK
        answer = PUBACK if qos == 1 else PUBREC
        client.until(lambda: len(broker.of(answer)) == number + 1)
        _, got, found = broker.of(answer)[-1].acknowledgement()
        assert got == code
        assert found == (dict(reason_string="so nicht", user_property=users) if properties else {})
        client.until(lambda: not server.session.outgoing)
        client.until(lambda: client.stats.unacknowledged == 0)
    assert len(broker.of(PUBCOMP)) == (2 if qos == 2 and code == 0 else 0)


@pytest.mark.parametrize("protocol", [V4, V5])
def test_codes_that_an_acknowledgement_may_not_carry(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, **HOLD)
    server = subscribed(client, broker)
    server.publish("a", b"x", 1)
    event = client.message()
    allowed = ALLOWED if protocol == V5 else {0}
    before = client.stats
    for code in {*range(256)} - allowed | {256, 0x180, 0x100 + 0x80, 0xFFFFFFFF}:
        assert client.ack(event.token, code) == smq.ERR_REASON_CODE, hex(code)
    if protocol == V4:
        listed = smq.properties(reason_string="x")
        assert client.ack(event.token, 0, listed) == smq.ERR_PROPERTY
    assert client.stats == before
    assert client.ack(event.token, max(allowed)) == smq.OK
    client.until(lambda: broker.of(PUBACK))


def test_the_code_of_a_later_message_is_kept(clients, broker):
    client = clients(url=broker.url, protocol=V5, **HOLD)
    server = subscribed(client, broker)
    for _ in range(3):
        server.publish("a", b"x", 1)
    tokens = [m.token for m in client.receive(3)]
    assert client.ack(tokens[2], 0x99) == smq.OK
    assert client.ack(tokens[1], 0x87) == smq.OK
    assert client.ack(tokens[0]) == smq.OK
    client.until(lambda: len(broker.of(PUBACK)) == 3)
    assert [p.acknowledgement()[1] for p in broker.of(PUBACK)] == [0, 0x87, 0x99]


# ---- Receive Maximum ----


@pytest.mark.parametrize("given, told", [(0, 64), (1, 1), (20, 20), (65535, 65535)])
def test_receive_maximum_is_announced(clients, broker, given, told):
    client = clients(url=broker.url, protocol=V5, receive_maximum=given)
    client.connected()
    properties = broker.connects[0]["properties"]
    assert properties.get("receive_maximum", 65535) == told
    assert client.stats.receive_maximum == told


@pytest.mark.parametrize("qos", [1, 2])
def test_above_receive_maximum(clients, broker, qos):
    """[MQTT-3.3.4-9]"""
    client = clients(url=broker.url, receive_maximum=5, protocol=V5, **HOLD)
    server = subscribed(client, broker)
    for number in range(5):
        server.publish("a", b"%d" % number, qos)
    assert len(client.receive(5)) == 5
    assert client.stats.unacknowledged == client.stats.unacknowledged_peak == 5
    server.publish("a", b"0")  # QoS 0 does not count
    client.message()
    server.publish("a", b"5", qos)
    event = client.disconnected()
    assert event.status == smq.ERR_RECEIVE_MAXIMUM
    assert (event.rule, event.reason_code) == (smq.RULE_RECEIVE_MAXIMUM, 0x93)
    assert not client.messages()
    broker.wait_for(lambda: broker.of(DISCONNECT))
    assert broker.of(DISCONNECT)[0].reason()[0] == 0x93


def test_before_5_0_what_is_too_much_waits(clients, broker):
    """The server was not told how many; TCP slows it down until the program acknowledges."""
    options = dict(keep_alive_s=1, ping_timeout_ms=300, protocol=V4)
    client = clients(url=broker.url, receive_maximum=5, **options, **HOLD)
    server = subscribed(client, broker)
    for number in range(12):
        server.publish("a", b"%d" % number, 1)
    got = client.receive(5)
    client.run(2)  # longer than a server may be silent: it is the program that makes it so
    assert not client.messages() and client.state == smq.STATE_CONNECTED
    while got:
        assert client.ack(got.pop(0).token) == smq.OK
        client.run(0.02)
        got += client.receive(len(client.messages()))
        assert client.stats.unacknowledged <= 5
    assert client.stats.messages_received == 12
    client.until(lambda: not server.session.outgoing)


@pytest.mark.parametrize("qos", [1, 2])
def test_above_receive_maximum_in_a_session_that_was_kept(clients, broker, qos):
    """Mosquitto 2.0 sends all it has kept at once: what is too much waits, or each connection would end there."""
    client = clients(url=broker.url, receive_maximum=5, protocol=V5, **HOLD)
    subscribed(client, broker)
    client.leave()
    client.connected()
    server = broker.last
    for number in range(12):
        server.publish("a", b"%d" % number, qos)
    held = client.receive(5)
    client.run(0.3)
    assert not client.messages() and client.state == smq.STATE_CONNECTED
    payloads = []
    while len(payloads) < 12:
        held = held or client.receive(1)
        payloads.append(held[0].payload)
        assert client.ack(held.pop(0).token) == smq.OK
    assert payloads == [b"%d" % n for n in range(12)]
    client.until(lambda: client.stats.unacknowledged == 0)
    assert client.stats.connections == 2


def test_a_burst_of_qos_2(clients, broker, version):
    """More than it was told, all at once, as Mosquitto 2.0 does it: there is room for them."""
    client = clients(url=broker.url, receive_maximum=5, **version)
    server = subscribed(client, broker)
    for number in range(400):
        server.publish("a", b"%d" % number, 2)
    assert [m.payload for m in client.receive(400)] == [b"%d" % n for n in range(400)]
    client.until(lambda: client.stats.unacknowledged == 0)
    assert client.stats.connections == 1


def test_a_server_that_sends_too_many_of_qos_2(clients, broker, version):
    """More than there are places for, and no PUBREL: each connection brings the session on; it does not end in the same
    place again and again."""
    broker.scripts = [Script(hold={PUBREL})]
    client = clients(url=broker.url, receive_maximum=5, unreleased_maximum=256, **{**version, **KEEP})
    server = subscribed(client, broker)
    for number in range(700):
        server.publish("a", b"%d" % number, 2)
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_RECEIVE_MAXIMUM, 0)
    assert event.reason_code == (0x97 if version["protocol"] == V5 else -1)
    # Of those that the server had sent by then.
    assert 1 <= client.stats.messages_postponed <= 700 - 256
    until_all_is_done(client, 700, seconds=20)
    assert [m.payload for m in client.messages()] == [b"%d" % n for n in range(700)]
    assert client.stats.connections < 20


def test_unreleased_messages_count(clients, broker, version):
    """QoS 2 is not done with until PUBREL came."""
    broker.scripts = [Script(hold={PUBREL})]
    client = clients(url=broker.url, receive_maximum=3, **version)
    server = subscribed(client, broker)
    for number in range(3):
        server.publish("a", b"%d" % number, 2)
    client.until(lambda: len(broker.held) == 3)
    assert client.stats.unacknowledged == 3
    broker.release(broker.held[0])
    client.until(lambda: client.stats.unacknowledged == 2)


def test_receive_maximum_lets_any_number_through_in_turn(clients, broker, version):
    """A server that keeps to it: 500 messages through a window of one."""
    client = clients(url=broker.url, receive_maximum=1, **version)
    server = subscribed(client, broker)
    server.receive_maximum = 1
    client.subscribed("a", qos=2)
    for number in range(500):
        while client.publish("a", b"%d" % number, qos=1 + number % 2, quiet=1) == smq.ERR_FULL:
            client.step(20)
    got = client.receive(500)
    assert [m.payload for m in got] == [b"%d" % n for n in range(500)]
    assert client.stats.unacknowledged_peak == 1


# ---- While other things go on ----


def test_publishing_from_a_message(clients, broker, version):
    """Messages beget messages: in and out at the same time, both full."""
    client = clients(url=broker.url, outbox_messages=8, receive_maximum=300, **version)
    server = subscribed(client, broker)
    waiting = []
    client.on_event = lambda e: e.type == smq.EVENT_MESSAGE and waiting.append(e.payload)
    for number in range(300):
        server.publish("in", b"%d" % number, 1 + number % 2)
    sent = 0
    deadline = time.monotonic() + 20
    while len(broker.messages) < 300:
        assert time.monotonic() < deadline
        client.step(10)
        while sent < len(waiting) and client.publish("out", waiting[sent], qos=2, quiet=1) == 0:
            sent += 1
    assert [m.payload for m in broker.messages] == [b"%d" % n for n in range(300)]


def test_keep_alive_goes_on_while_messages_come(clients, broker):
    """Messages heard are no reason to leave PINGREQ out: the server wants to hear, too."""
    client = clients(url=broker.url, keep_alive_s=1)
    server = subscribed(client, broker)
    deadline = time.monotonic() + 2.5
    while time.monotonic() < deadline:
        server.publish("a", b"x")  # QoS 0: nothing to answer
        client.run(0.1)
    assert client.state == smq.STATE_CONNECTED
    assert broker.of(PINGREQ), "Keep Alive is about what the client sends [MQTT-3.1.2-20]"


def test_leaving_with_messages_held(clients, broker, version):
    """smq_disconnect() does not wait for them; on the next connection they come again."""
    client = clients(url=broker.url, **{**version, **HOLD})
    server = subscribed(client, broker)
    server.publish("a", b"x", 1)
    event = client.message()
    assert client.leave().status == smq.OK
    client.connected()
    client.run(0.05)
    assert client.ack(event.token) == smq.OK
    client.until(lambda: not broker.last.session.outgoing)
    assert not client.messages()


def test_the_last_acknowledgements_leave_before_disconnect(clients, broker, version):
    client = clients(url=broker.url, **{**version, **KEEP})
    server = subscribed(client, broker)
    for number in range(10):
        server.publish("a", b"%d" % number, 1)
    client.receive(10)
    assert client.leave().status == smq.OK
    broker.wait_for(lambda: not broker.live)
    assert len(broker.of(PUBACK)) == 10


# ---- Behind what ended the connection ----


@pytest.mark.parametrize("how", [close, reset])
def test_what_came_before_the_end(clients, broker, how):
    """The server said much, and went: everything it said arrives, though sending fails long before the last of it."""
    told = b"".join(publish_packet(4, "a", b"%03d" % n + bytes(200)) for n in range(40))
    broker.scripts = [Script(at={1: answer_then(say(told), how)})]
    client = clients(url=broker.url, protocol=V4, receive_bytes=512)
    client.connected()
    time.sleep(0.05)  # the end is on its way; nothing depends on whether it has come
    for n in range(40):
        assert client.publish("b", bytes(100), qos=0, quiet=1) in (smq.OK, smq.ERR_FULL)
        assert client.message().payload[:3] == b"%03d" % n
    client.disconnected()


# ---- In the middle of a QoS 2 delivery ----


def test_properties_of_pubrec(clients, broker):
    broker.scripts = [Script(reasons={PUBREC: 0x10}, reason_string="nobody listens")]
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.publish("a", qos=2, cookie=9) == smq.OK
    event = client.wait_event(smq.EVENT_PUBREC)
    assert (event.cookie, event.reason_code, event.reason_string) == (9, 0x10, b"nobody listens")
    assert event.properties
    assert client.completed(9).reason_code == 0x10


def test_properties_of_pubrel(clients, broker):
    words = packet(PUBREL, b"\0\7\0" + properties({"reason_string": "go on"}), flags=2)
    message = publish_packet(5, "a", b"x", qos=2, identifier=7)
    broker.scripts = [Script(at={1: answer_then(say(message)), 2: say(words), 3: nothing})]  # PUBREC, PUBCOMP
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    assert client.message().payload == b"x"
    event = client.wait_event(smq.EVENT_PUBREL)
    assert (event.reason_code, event.reason_string) == (0, b"go on")
    client.until(lambda: broker.of(PUBCOMP))


@pytest.mark.parametrize("qos", [1, 2])
def test_the_packet_identifier_of_a_message(clients, broker, protocol, qos):
    """As long as the message is not acknowledged, held or not; nothing else has one."""
    client = clients(url=broker.url, protocol=protocol, **HOLD)
    client.connected()
    tokens = []
    for identifier in (7, 65_535, 1):
        broker.last.publish("a", b"x", qos, identifier=identifier)
        event = client.message()
        assert client.packet_identifier(event.token) == identifier
        tokens.append((event.token, identifier))
        client.hold()
    for token, identifier in tokens:
        assert client.packet_identifier(token) == identifier
        assert client.ack(token) == smq.OK
        assert client.packet_identifier(token) == smq.ERR_TOKEN
    for token in (0, 99, 1 << 40, (1 << 64) - 1):
        assert client.packet_identifier(token) == smq.ERR_TOKEN
