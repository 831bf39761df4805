"""Statements of the standards that show on the network only. Tests/Conformance/statements.tsv says which."""

from __future__ import annotations

import socket
import time

import pytest

from Support import smq
from Support.scripted_broker import AUTH, CONNECT, PUBACK, PUBLISH, PUBREC, SUBSCRIBE, Script, accept, auth, binary, close
from Support.waiting import wait_for
from .test_link import CONNACK_5, CONNACK_311, Peer

V311, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


class Talk(Peer):
    """Accepts, says what it is told to, and hears the client out. It never closes by itself."""

    def __init__(self, connack: bytes, *then: bytes):
        self.connack, self.then = connack, then
        self.heard_end = self.is_closed = False
        super().__init__(self.serve)

    def serve(self, _: Peer, connection: socket.socket) -> None:
        connection.recv(65536)  # CONNECT: it comes in one piece
        connection.sendall(self.connack)
        for data in self.then:
            time.sleep(0.05)
            connection.sendall(data)
        self.read(connection)
        self.heard_end = True
        # Closed, and not only shut down for sending: then the kernel refuses what we say.
        try:
            while True:
                connection.sendall(b"\xd0\x00")
                time.sleep(0.02)
        except TimeoutError:
            pass
        except OSError:
            self.is_closed = True


def say_goodbye(client: smq.Client) -> None:
    assert client.publish("a", b"last", qos=1) == smq.OK
    client.step(0)
    assert client.disconnect(0) == smq.OK


# Protocol, what the server says, what the client says last, and how it ends.
ENDINGS = {
    "3.1.1: smq_disconnect": (V311, CONNACK_311, b"", b"\xe0\x00", "OK"),
    "5.0: smq_disconnect": (V5, CONNACK_5, b"", b"\xe0\x00", "OK"),
    "3.1.1: CONNACK refuses": (V311, b"\x20\x02\x00\x05", b"", b"", "ERR_REFUSED"),
    "5.0: CONNACK refuses": (V5, b"\x20\x03\x00\x87\x00", b"", b"", "ERR_REFUSED"),
    "5.0: DISCONNECT 0x8B": (V5, CONNACK_5, b"\xe0\x01\x8b", b"", "ERR_SERVER_CLOSED"),
    "5.0: DISCONNECT 0x00": (V5, CONNACK_5, b"\xe0\x00", b"", "ERR_SERVER_CLOSED"),
    "3.1.1: type 0": (V311, CONNACK_311, b"\x00\x00", b"", "ERR_MALFORMED"),
    "5.0: type 0": (V5, CONNACK_5, b"\x00\x00", b"\xe0\x01\x81", "ERR_MALFORMED"),
    "3.1.1: flags of PUBACK": (V311, CONNACK_311, b"\x42\x02\x00\x01", b"", "ERR_MALFORMED"),
    "5.0: flags of PUBACK": (V5, CONNACK_5, b"\x42\x02\x00\x01", b"\xe0\x01\x81", "ERR_MALFORMED"),
    "5.0: flags of DISCONNECT": (V5, CONNACK_5, b"\xe1\x00", b"\xe0\x01\x81", "ERR_MALFORMED"),
    "5.0: flags of AUTH": (V5, CONNACK_5, b"\xf1\x00", b"\xe0\x01\x81", "ERR_MALFORMED"),
    "5.0: AUTH unasked": (V5, CONNACK_5, b"\xf0\x00", b"\xe0\x01\x82", "ERR_PROTOCOL"),
    "3.1.1: a second CONNACK": (V311, CONNACK_311, CONNACK_311, b"", "ERR_PROTOCOL"),
    "5.0: a second CONNACK": (V5, CONNACK_5, CONNACK_5, b"\xe0\x01\x82", "ERR_PROTOCOL"),
    "3.1.1: a session unasked": (V311, b"\x20\x02\x01\x00", b"", b"", "ERR_PROTOCOL"),
    "5.0: a session unasked": (V5, b"\x20\x03\x01\x00\x00", b"", b"\xe0\x01\x82", "ERR_PROTOCOL"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_the_client_closes(clients, name):
    """It says what it has to say, nothing after that, and closes without waiting for the server to."""
    protocol, connack, then, last, status = ENDINGS[name]
    peer = Talk(connack, *([then] if then else []))
    client = clients(host="127.0.0.1", port=peer.port, protocol=protocol)
    client.connect()
    if status == "OK":
        client.wait_event(smq.EVENT_CONNECTED)
        say_goodbye(client)
        assert client.publish("a") == smq.ERR_STATE
    event = client.disconnected()
    assert smq.status_name(event.status) == "SMQ_" + status
    wait_for(lambda: peer.is_closed, "the client closes")
    assert peer.heard_end
    assert bytes(peer.received[-len(last) :] if last else peer.received) == last


def test_every_connection_is_the_same_clients(clients, broker, protocol):
    """One client id for the session, on each connection that takes it up."""
    broker.scripts = [Script(at={2: close}), Script(at={2: close})]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    for _ in range(2):
        client.connected()
        assert client.publish("a") == smq.OK
        client.disconnected()
    client.connected()
    assert [connect["client_id"] for connect in broker.connects] == ["keeper"] * 3


def test_strings_arrive_as_they_are(clients, broker, protocol):
    """U+FEFF stays, wherever it stands; so does everything else that is well-formed."""
    text = "\ufeffa\ufeff\uffff\U0010ffff"
    will = smq.Message(topic=text, payload=text)
    client = clients(
        host=broker.host, port=broker.port, protocol=protocol, client_id=text, user_name=text, will=will
    )
    client.connected()
    for qos in (0, 1, 2):
        assert client.publish(text, text, qos=qos, cookie=qos) == smq.OK
        client.completed(qos)
    (connect,) = broker.connects
    assert (connect["client_id"], connect["user"], connect["will"].topic) == (text, text, text)
    assert [message.topic for message in broker.messages] == [text] * 3
    values = dict(content_type=text, response_topic=text, user_property=(text, text)) if protocol == V5 else {}
    for qos in (0, 1, 2):
        broker.last.publish(text, text.encode(), qos, **values)
        event = client.message()
        assert (event.topic, event.payload) == (text.encode(), text.encode())
        found = dict(smq.walk(event.properties))
        assert len(found) == len(values)
        if values:
            assert found[smq.PROPERTY_CONTENT_TYPE] == found[smq.PROPERTY_RESPONSE_TOPIC] == text.encode()
            assert found[smq.PROPERTY_USER_PROPERTY] == (text.encode(), text.encode())


@pytest.mark.parametrize("version", [smq.PROTOCOL_3_1, V311, V5], ids=["3.1", "3.1.1", "5.0"])
@pytest.mark.parametrize(
    "text", [b"\xed\xa0\x80", b"\xc0\xaf", b"a\xe2\x82", b"\x80", b"\xf4\x90\x80\x80", b"\0", b"a\0b"], ids=repr
)
def test_strings_that_are_not_sent(clients, version, text):
    """Ill-formed UTF-8, surrogates and U+0000 are refused, wherever a string can be handed in."""
    good = dict(host="h", protocol=version, client_id="c")
    for field in ("client_id", "user_name"):
        options = smq.Options(**good | {field: text})
        assert smq.library.smq_options_check(options, None) == smq.ERR_UTF8, field
    will = smq.Options(**good, will=smq.Message(topic=text))
    assert smq.library.smq_options_check(will, None) == smq.ERR_UTF8
    client = clients(**good)
    before = client.stats
    for qos in (0, 1, 2):
        assert client.publish(text, qos=qos) == smq.ERR_UTF8
    assert client.subscribe(text) == client.subscribe("a", text) == client.unsubscribe(text) == smq.ERR_UTF8
    assert client.stats == before


def strings(text: bytes) -> dict[str, bytes]:
    """Each property that is a string or two, by the name of a packet it may stand in."""
    size = binary(text)
    pairs = {"first half": b"\x26" + size + b"\0\0", "second half": b"\x26\0\0" + size}
    single = {"content type": b"\x03", "response topic": b"\x08", "reason string": b"\x1f", "method": b"\x15"}
    return pairs | {name: identifier + size for name, identifier in single.items()}


@pytest.mark.parametrize("text", [b"\xed\xa0\x80", b"\xc0\xaf", b"a\xe2\x82", b"\x80", b"\0", b"a\0b"], ids=repr)
def test_property_strings_that_are_not_sent(clients, broker, text):
    """The same in every struct and call that takes properties."""
    good = dict(host=broker.host, port=broker.port, protocol=V5)
    wrong = strings(text)
    method = smq.properties(authentication_method="m")
    broker.scripts = [Script(connack=dict(authentication_method="m"))]
    client = clients(**good, properties=method, flags=smq.OPTION_HOLD, replies=1)
    client.connected()
    broker.last.publish("a", b"x", 1)
    token = client.message().token

    def check(**options: object) -> int:
        return smq.library.smq_options_check(smq.Options(**good, **options), None)

    message, said, pair = {"content type", "response topic"}, {"reason string"}, {"first half", "second half"}
    calls = {
        "message": (message | pair, lambda list: client.publish("a", properties=list)),
        "request": (message - {"response topic"} | pair, lambda list: client.request("a", b"", "b", 9, properties=list)),
        "will": (message | pair, lambda list: check(will=smq.Message(topic="w", properties=list))),
        "connect": ({"method"} | pair, lambda list: check(properties=list)),
        "subscribe": (pair, lambda list: client.subscribe("a", properties=list)),
        "unsubscribe": (pair, lambda list: client.unsubscribe("a", properties=list)),
        "ack": (said | pair, lambda list: client.ack(token, 0, list)),
        "authenticate": (said | pair, lambda list: client.authenticate(0x19, b"", list)),
        "disconnect": (said | pair, lambda list: client.disconnect_with(0, list)),
    }
    before = client.stats
    for call, (names, function) in calls.items():
        for name in names:
            assert smq.status_name(function(wrong[name])) == "SMQ_ERR_PROPERTY", (call, name)
    assert client.stats == before
    assert client.state == smq.STATE_CONNECTED
    assert [p.type for p in broker.packets] == [CONNECT]
    assert client.ack(token) == smq.OK


@pytest.mark.parametrize("topic", ["", "+", "#", "a/#"])
def test_response_topics_that_are_not_sent(clients, topic):
    list = b"\x08" + binary(topic)
    will = smq.Options(host="h", protocol=V5, will=smq.Message(topic="w", properties=list))
    assert smq.library.smq_options_check(will, None) == smq.ERR_PROPERTY
    assert clients(host="h", protocol=V5).publish("a", properties=list) == smq.ERR_PROPERTY


@pytest.mark.parametrize("identifier", [0x17, 0x19], ids=["problem", "response"])
@pytest.mark.parametrize("value, status", [(0, "OK"), (1, "OK"), (2, "ERR_PROPERTY"), (255, "ERR_PROPERTY")])
def test_requests_for_information_are_0_or_1(identifier, value, status):
    options = smq.Options(host="h", protocol=V5, properties=bytes([identifier, value]))
    assert smq.status_name(smq.library.smq_options_check(options, None)) == "SMQ_" + status


@pytest.mark.parametrize("wish", ["publish", "subscribe", "disconnect"])
def test_only_auth_before_connack(clients, broker, wish):
    """With an Authentication Method, whatever is queued waits for CONNACK; three rounds, with the method of CONNECT."""
    method = dict(authentication_method="m")
    question = auth(0x18, **method, authentication_data=b"?")
    last = question if wish == "disconnect" else accept
    broker.scripts = [Script(at={1: question}, on={AUTH: [question, question, last]}, connack=method)]
    client = clients(url=broker.url, protocol=V5, properties=smq.properties(**method))
    assert client.connect() == smq.OK
    for _ in range(3):
        assert client.wait_event(smq.EVENT_AUTHENTICATE).payload == b"?"
        if wish != "disconnect":
            assert getattr(client, wish)("a", cookie=7) == smq.OK
        client.run(0.02)
        assert client.authenticate(0x18, b"!") == smq.OK
    if wish == "disconnect":
        client.wait_event(smq.EVENT_AUTHENTICATE)
        assert client.disconnect(0) == smq.OK
        client.disconnected()
        broker.wait_for(lambda: not broker.live)
        assert {p.type for p in broker.packets[4:]} <= {14}
    else:
        client.wait_event(smq.EVENT_CONNECTED)
        assert all(client.completed(7).status == smq.OK for _ in range(3))
        broker.wait_for(lambda: len(broker.packets) == 7)  # QoS 0 is complete before it has arrived
        assert {p.type for p in broker.packets[4:]} == {PUBLISH if wish == "publish" else SUBSCRIBE}
    assert [p.type for p in broker.packets[:4]] == [CONNECT, AUTH, AUTH, AUTH]
    assert [p.reason() for p in broker.of(AUTH)] == [(0x18, dict(**method, authentication_data=b"!"))] * 3


def test_authenticating_again(clients, broker):
    """AUTH 0x19 has the method of CONNECT; when the application gives the exchange up, the connection is closed."""
    method = dict(authentication_method="m")
    broker.scripts = [Script(connack=method, on={AUTH: auth(0x18, **method)})]
    client = clients(url=broker.url, protocol=V5, properties=smq.properties(**method))
    client.connected()
    assert client.authenticate(0x19) == smq.OK
    client.wait_event(smq.EVENT_AUTHENTICATE)
    assert client.authenticate(0x18) == smq.OK
    client.wait_event(smq.EVENT_AUTHENTICATE)
    assert client.disconnect_with(0x83) == smq.OK
    assert client.disconnected().status == smq.OK
    broker.wait_for(lambda: not broker.live)
    assert [p.reason() for p in broker.of(AUTH)] == [(0x19, method), (0x18, method)]
    assert broker.packets[-1].reason() == (0x83, {})


def test_an_assigned_client_identifier(clients, broker):
    """The application is told; each CONNECT says what the options say, as smq_client_id does."""
    broker.scripts = [Script(connack=dict(assigned_client_id="x"))] * 2
    client = clients(url=broker.url, protocol=V5)
    for _ in range(2):
        found = dict(smq.walk(client.connected().properties))
        assert found[smq.PROPERTY_ASSIGNED_CLIENT_IDENTIFIER] == b"x"
        assert client.id == b""
        client.leave()
    assert [connect["client_id"] for connect in broker.connects] == ["", ""]


@pytest.mark.parametrize("version", [smq.PROTOCOL_3_1, V311, V5], ids=["3.1", "3.1.1", "5.0"])
@pytest.mark.parametrize("topic", ["", "+", "#", "a/+/b", "a/#", "a+", "#a", "a" * 65536], ids=lambda t: t[:5])
def test_topics_that_are_not_sent(clients, version, topic):
    """A Topic Name has 1 to 65,535 bytes and no wildcard; QoS 3 does not exist, for a Will neither."""
    good = dict(host="h", protocol=version, client_id="c")
    will = smq.Options(**good, will=smq.Message(topic=topic))
    assert smq.library.smq_options_check(will, None) == smq.ERR_TOPIC_NAME
    will = smq.Options(**good, will=smq.Message(topic="a", qos=3))
    assert smq.library.smq_options_check(will, None) == smq.ERR_QOS
    client = clients(**good, outbox_bytes=1 << 17)
    before = client.stats
    for qos in (0, 1, 2):
        assert client.publish(topic, qos=qos) == smq.ERR_TOPIC_NAME
    assert client.publish("a", qos=3) == smq.ERR_QOS
    assert client.stats == before


def test_a_session_that_is_lost_is_forgotten(clients, broker, protocol):
    """Session Present 0 once: what it took away does not come back when a later session is present."""
    broker.scripts = [
        Script(hold={PUBREC, PUBACK}, at={4: close}),
        Script(session_present=0, hold={PUBACK}, at={3: close}),
        Script(session_present=1),
    ]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", b"1", qos=1, cookie=1) == smq.OK
    assert client.publish("a", b"2", qos=2, cookie=2) == smq.OK
    client.until(lambda: len(broker.held) == 2)
    assert client.publish("a", b"0") == smq.OK  # the fourth packet
    client.disconnected()
    client.connected()
    assert client.completed(2).status == smq.ERR_SESSION_LOST
    client.until(lambda: len(broker.of(PUBLISH, 2)) == 1)
    assert client.publish("a", b"0") == smq.OK  # the third
    client.disconnected()
    broker.held.clear()
    client.connected()
    assert client.completed(1).status == smq.OK
    again = [[(p.payload, p.dup) for p in broker.of(PUBLISH, n) if p.qos] for n in (1, 2, 3)]
    assert again == [[(b"1", 0), (b"2", 0)], [(b"1", 0)], [(b"1", 1)]]


@pytest.mark.parametrize("flags, sent", [
    (0, (None, None)),
    (smq.OPTION_USER_NAME, ("", None)),
    (smq.OPTION_USER_NAME + smq.OPTION_PASSWORD, ("", b"")),
    (smq.OPTION_PASSWORD, (None, b"")),
])  # fmt: skip
def test_credentials_of_no_bytes(clients, broker, protocol, flags, sent):
    """A user name that is empty is something else than none (sections 3.1.3.5 and 3.1.3.6)."""
    options = dict(host=broker.host, port=broker.port, protocol=protocol, flags=flags)
    if flags == smq.OPTION_PASSWORD and protocol != V5:
        with pytest.raises(ValueError, match="SMQ_ERR_OPTION"):  # [MQTT-3.1.2-22]
            clients(**options)
        return
    clients(**options).connected()
    (connect,) = broker.connects
    assert (connect["user"], connect["password"]) == sent
