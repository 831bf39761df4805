"""Request and response (5.0, section 4.10)."""

from __future__ import annotations

import time

import pytest

from Support import smq
from Support.scripted_broker import PUBACK, PUBLISH, PUBREC, Script, close
from Support.waiting import PATIENCE

V5 = smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
MINUTE = 60_000


def reply(client: smq.Client, cookie: int, timeout: float = PATIENCE) -> smq.Event:
    """The one end of a request."""
    event = client.wait_event(smq.EVENT_REPLY, timeout, cookie=cookie)
    client.run(0.02)
    ends = smq.EVENT_REPLY, smq.EVENT_COMPLETED
    assert not [e for e in client.events if e.type in ends and e.cookie == cookie]
    return event


def requests(broker, connection: int | None = None) -> list[dict[str, object]]:
    """The properties of each PUBLISH."""
    return [p.publication()[2] for p in broker.of(PUBLISH, connection)]


@pytest.fixture
def asking(clients, broker):
    """A client that may ask, connected and subscribed to where the replies go."""
    client = clients(url=broker.url, protocol=V5, replies=10)
    client.connected()
    client.subscribed("reply/here", qos=2)
    return client


# ---- Two programs and a real server ----


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_question_and_its_answer(mosquitto, clients, qos):
    asking = clients(url=mosquitto.url, protocol=V5, replies=4)
    answering = clients(url=mosquitto.url, protocol=V5)
    asking.connected(), answering.connected()
    asking.subscribed("reply/here", qos=2)
    answering.subscribed("service/#", qos=2)

    def answer(event: smq.Event) -> None:
        if event.type == smq.EVENT_MESSAGE:
            status = answering.respond(event.payload[::-1], qos=qos, quiet=1)
            assert status == smq.OK

    answering.on_event = answer
    for cookie in range(5):
        question = b"question %d" % cookie
        users = smq.properties(user_property=("a", "b"), content_type="question")
        status = asking.request(
            "service/x", question, "reply/here", MINUTE, qos=qos, cookie=cookie, properties=users
        )
        assert status == smq.OK
        asking.until(lambda: answering.step(5) or asking.of(smq.EVENT_REPLY))
        answering.run(0.02)
        event = reply(asking, cookie)
        assert (event.status, event.payload) == (smq.OK, question[::-1])
        assert (event.topic, event.qos, event.retain) == (b"reply/here", qos, 0)
        assert (event.part, event.payload_total) == (smq.WHOLE, len(question))
        assert (event.token != 0) == (qos > 0)
        asked = dict(smq.walk(answering.message().properties))
        assert asked[smq.PROPERTY_RESPONSE_TOPIC] == b"reply/here"
        assert asked[smq.PROPERTY_CONTENT_TYPE] == b"question"
        assert len(asked[smq.PROPERTY_CORRELATION_DATA]) == 8
    assert not asking.messages()


def test_several_at_a_time_in_any_order(clients, broker, asking):
    for cookie in range(10):
        assert asking.request("q", b"%d" % cookie, "reply/here", MINUTE, cookie=cookie) == smq.OK
    asking.until(lambda: len(broker.of(PUBLISH)) == 10)
    correlations = [r["correlation_data"] for r in requests(broker)]
    assert len(set(correlations)) == 10
    for cookie in (9, 0, 5, 4, 8, 1, 7, 2, 6, 3):
        broker.last.publish("reply/here", b"%d" % cookie, 1, correlation_data=correlations[cookie])
        event = asking.wait_event(smq.EVENT_REPLY)
        assert (event.cookie, event.payload, event.status) == (cookie, b"%d" % cookie, smq.OK)
    asking.until(lambda: not broker.last.session.outgoing)


def test_a_request_on_the_wire(clients, broker, asking):
    listed = smq.properties(content_type="text", user_property=[("a", "b")] * 2)
    more = dict(qos=2, retain=1, expiry_s=9, properties=listed)
    assert asking.request("service", b"?", "reply/here", MINUTE, cookie=1, **more) == smq.OK
    asking.until(lambda: broker.of(PUBLISH))
    came = broker.of(PUBLISH)[0]
    topic, _, found, payload = came.publication()
    assert (topic, payload, came.qos, came.retain) == ("service", b"?", 2, 1)
    assert len(found.pop("correlation_data")) == 8
    assert found == dict(
        content_type="text",
        user_property=[("a", "b")] * 2,
        response_topic="reply/here",
        message_expiry=9,
    )


# ---- What is no reply ----


def test_what_is_not_a_reply_is_a_message(clients, broker, asking):
    assert asking.request("q", b"", "reply/here", MINUTE, cookie=1) == smq.OK
    asking.until(lambda: broker.of(PUBLISH))
    right = requests(broker)[0]["correlation_data"]
    others = [None, b"", right[:7], right + b"\0", bytes(8), bytes([right[0] ^ 1]) + right[1:]]
    for number, other in enumerate(others):
        values = {} if other is None else dict(correlation_data=other)
        broker.last.publish("reply/here", b"%d" % number, **values)
    assert [m.payload for m in asking.receive(6)] == [b"%d" % n for n in range(6)]
    broker.last.publish("reply/here", b"!", correlation_data=right)
    assert reply(asking, 1).payload == b"!"
    broker.last.publish("reply/here", b"again", 1, correlation_data=right)
    assert asking.message().payload == b"again"  # the first was the reply


def test_a_message_to_another_topic_is_no_reply(clients, broker, asking):
    """Such as the request itself, when it comes back to its sender."""
    asking.subscribed("q", qos=1)
    assert asking.request("q", b"?", "reply/here", MINUTE, cookie=1) == smq.OK
    assert asking.message().payload == b"?"
    right = requests(broker)[0]["correlation_data"]
    broker.last.publish("reply/her", b"!", correlation_data=right)
    assert asking.message().payload == b"!"
    broker.last.publish("reply/here", b"!", correlation_data=right)
    assert reply(asking, 1).payload == b"!"


@pytest.mark.parametrize("qos, held", [(1, PUBACK), (2, PUBREC)])
def test_the_reply_is_faster_than_the_acknowledgement(clients, broker, qos, held):
    broker.scripts = [Script(hold={held})]
    client = clients(url=broker.url, protocol=V5, replies=1)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, qos=qos, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    broker.last.publish("r", b"!", correlation_data=requests(broker)[0]["correlation_data"])
    assert reply(client, 1).payload == b"!"
    broker.release()
    client.until(lambda: client.stats.outbox_messages == 0)
    client.run(0.02)
    assert not client.events


# ---- Deadlines ----


@pytest.mark.parametrize("connected", [False, True])
def test_the_deadline(clients, broker, connected):
    client = clients(url=broker.url, protocol=V5, replies=3, keep_alive_s=600)
    if connected:
        client.connected()
    start = time.monotonic()
    for cookie, timeout_ms in ((1, 1500), (2, 100), (3, MINUTE)):
        assert client.request("q", b"", "r", timeout_ms, qos=1, cookie=cookie) == smq.OK
    left = smq.library.smq_next_timeout_ms(client.handle)
    assert 0 <= left <= 100
    for cookie, seconds in ((2, 0.1), (1, 1.5)):
        assert smq.library.smq_wait(client.handle, -1) == 1
        event = client.take()
        assert (event.type, event.cookie, event.status) == (
            smq.EVENT_REPLY,
            cookie,
            smq.ERR_TIMEOUT,
        )
        assert seconds - 0.01 <= time.monotonic() - start < seconds + 20
        assert client.take() is None
    assert client.request("q", b"", "r", MINUTE, cookie=4) == smq.OK  # there is room again


def test_a_late_reply_is_a_message(clients, broker, asking):
    assert asking.request("q", b"", "reply/here", 50, cookie=1) == smq.OK
    event = reply(asking, 1)
    assert (event.status, event.payload, event.token) == (smq.ERR_TIMEOUT, b"", 0)
    right = requests(broker)[0]["correlation_data"]
    broker.last.publish("reply/here", b"late", 1, correlation_data=right)
    assert asking.message().payload == b"late"


def test_a_request_outlives_the_connection(clients, broker):
    broker.scripts = [Script(at={3: close})]
    client = clients(url=broker.url, protocol=V5, replies=1, **KEEP)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, qos=1, cookie=1) == smq.OK
    client.until(lambda: client.stats.messages_completed == 1)
    assert client.publish("x") == smq.OK
    client.disconnected()
    assert not client.of(smq.EVENT_REPLY)
    client.connected()
    right = requests(broker)[0]["correlation_data"]
    broker.last.publish("r", b"!", 2, correlation_data=right)
    assert reply(client, 1).payload == b"!"
    client.until(lambda: not broker.last.session.outgoing)


# ---- What becomes of the request itself ----


@pytest.mark.parametrize("answer, qos", [(PUBACK, 1), (PUBREC, 2)])
def test_the_request_is_refused(clients, broker, answer, qos):
    broker.scripts = [Script(reasons={answer: 0x87})]
    client = clients(url=broker.url, protocol=V5, replies=1)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, qos=qos, cookie=1) == smq.OK
    event = reply(client, 1)
    assert (event.status, event.reason_code) == (smq.ERR_REFUSED, 0x87)
    assert client.request("q", b"", "r", MINUTE, qos=0, cookie=2) == smq.OK


def test_nobody_is_there_to_answer(clients, broker):
    """0x10 No matching subscribers is no refusal; the deadline decides."""
    broker.scripts = [Script(reasons={PUBACK: 0x10})]
    client = clients(url=broker.url, protocol=V5, replies=1)
    client.connected()
    assert client.request("q", b"", "r", 200, qos=1, cookie=1) == smq.OK
    assert reply(client, 1).status == smq.ERR_TIMEOUT


def test_the_request_expires(clients, broker):
    client = clients(url=broker.url, protocol=V5, replies=1)
    assert client.request("q", b"", "r", MINUTE, qos=1, cookie=1, expiry_s=1) == smq.OK
    assert reply(client, 1).status == smq.ERR_EXPIRED
    assert client.request("q", b"", "r", MINUTE, cookie=2) == smq.OK


def test_the_request_is_above_a_limit(clients, broker):
    broker.scripts = [Script(connack=dict(maximum_qos=0))]
    client = clients(url=broker.url, protocol=V5, replies=1)
    assert client.request("q", b"", "r", MINUTE, qos=1, cookie=1) == smq.OK
    client.connected()
    event = reply(client, 1)
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, 0x9B)


def test_the_session_of_the_request_is_lost(clients, broker):
    broker.scripts = [Script(hold={PUBREC}, at={3: close}), Script(session_present=0)]
    client = clients(url=broker.url, protocol=V5, replies=1, **KEEP)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, qos=2, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    assert client.publish("x") == smq.OK
    client.disconnected()
    client.connected()
    assert reply(client, 1).status == smq.ERR_SESSION_LOST


# ---- The reply is a message, too ----


@pytest.mark.parametrize("qos", [1, 2])
def test_a_reply_may_be_held(clients, broker, qos):
    client = clients(url=broker.url, protocol=V5, replies=1, flags=smq.OPTION_HOLD)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, cookie=1) == smq.OK
    client.until(lambda: broker.of(PUBLISH))
    right = requests(broker)[0]["correlation_data"]
    broker.last.publish("r", b"!", qos, correlation_data=right)
    event = reply(client, 1)
    assert event.token
    answer = PUBACK if qos == 1 else PUBREC
    assert broker.of(answer) == []
    assert client.ack(event.token) == smq.OK
    client.until(lambda: not broker.last.session.outgoing)


def test_a_reply_larger_than_the_buffer(clients, broker):
    small = dict(receive_bytes=128, maximum_packet_bytes=smq.OFF)
    client = clients(url=broker.url, protocol=V5, replies=1, **small)
    client.connected()
    assert client.request("q", b"", "r", MINUTE, cookie=1) == smq.OK
    client.until(lambda: broker.of(PUBLISH))
    right = requests(broker)[0]["correlation_data"]
    broker.last.publish("r", bytes(1000), 1, correlation_data=right)
    event = reply(client, 1)
    assert (event.status, event.payload_total) == (smq.ERR_RECEIVE_TOO_LARGE, 1000)
    client.until(lambda: not broker.last.session.outgoing)


# ---- Full, and wrong ----


def test_as_many_as_there_is_room_for(clients, broker):
    client = clients(url=broker.url, protocol=V5, replies=2)
    client.connected()
    for cookie in (1, 2):
        assert client.request("q", b"", "r", MINUTE, cookie=cookie) == smq.OK
    before = client.stats
    assert client.request("q", b"", "r", MINUTE) == smq.ERR_FULL
    assert client.stats == before
    client.until(lambda: len(broker.of(PUBLISH)) == 2)
    right = requests(broker)[1]["correlation_data"]
    broker.last.publish("r", b"!", correlation_data=right)
    assert reply(client, 2).status == smq.OK
    assert client.request("q", b"", "r", MINUTE, cookie=3) == smq.OK


def test_a_full_outbox_takes_no_reply(clients):
    """A request that could not be published waits for nothing."""
    client = clients(url="mqtt://127.0.0.1:1", protocol=V5, replies=1, outbox_messages=1)
    assert client.publish("a", qos=1, expiry_s=1, cookie=9) == smq.OK
    assert client.request("q", b"", "r", MINUTE) == smq.ERR_FULL
    client.completed(9)
    assert client.request("q", b"", "r", MINUTE) == smq.OK


@pytest.mark.parametrize("protocol", [smq.PROTOCOL_3_1, smq.PROTOCOL_3_1_1])
def test_before_5_0(clients, broker, protocol):
    client = clients(url=broker.url, protocol=protocol, client_id="x", replies=1)
    before = client.stats
    assert client.request("q", b"", "r", MINUTE) == smq.ERR_NOT_SUPPORTED
    client.connected()
    assert client.request("q", b"", "r", MINUTE) == smq.ERR_NOT_SUPPORTED
    assert client.stats.messages_published == before.messages_published


# ---- Responding ----


def respond_to(client: smq.Client, broker, values: dict, **message: object) -> list[int]:
    """What smq_respond() says about a message with these properties."""
    statuses = []

    def respond(event: smq.Event) -> None:
        if event.type == smq.EVENT_MESSAGE:
            statuses.append(client.respond(b"!", **message))

    client.on_event = respond
    broker.last.publish("service", b"?", 1, **values)
    client.message()
    client.on_event = None
    return statuses


@pytest.mark.parametrize("correlation", [None, b"", b"\0", b"x" * 300])
def test_a_response_on_the_wire(clients, broker, correlation):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    values = dict(response_topic="back/to", user_property=("not", "copied"))
    if correlation is not None:
        values["correlation_data"] = correlation
    listed = smq.properties(content_type="answer")
    more = dict(qos=1, cookie=1, properties=listed)
    assert respond_to(client, broker, values, **more) == [smq.OK]
    assert client.completed(1).status == smq.OK
    topic, _, found, payload = broker.of(PUBLISH)[0].publication()
    assert (topic, payload) == ("back/to", b"!")
    expected = {} if correlation is None else dict(correlation_data=correlation)
    assert found == dict(content_type="answer", **expected)


def test_responses_that_can_not_be(clients, broker):
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    right = dict(response_topic="back", correlation_data=b"x")
    extra = smq.properties(correlation_data=b"y")
    for values, message, expected in (
        ({}, {}, smq.ERR_OPTION),  # nobody wants an answer
        (dict(correlation_data=b"x"), {}, smq.ERR_OPTION),
        (right, dict(topic="a"), smq.ERR_OPTION),
        (right, dict(properties=extra), smq.ERR_PROPERTY),
        (right, dict(qos=3), smq.ERR_QOS),
        (right, dict(retain=2), smq.ERR_OPTION),
        (right, dict(reserved2=1), smq.ERR_STRUCT_SIZE),
    ):
        (status,) = respond_to(client, broker, values, **message)
        assert smq.status_name(status) == smq.status_name(expected)
    assert client.stats.messages_published == 0
    assert broker.of(PUBLISH) == []
