"""Statements of the standards that show on the network only. Tests/Conformance/statements.tsv says which."""

from __future__ import annotations

import socket
import time

import pytest

from . import smq
from .servers import await_condition
from .scripted_broker import PUBACK, PUBLISH, PUBREC, Script, close
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
    event = client.disconnected(5)
    assert smq.status_name(event.status) == "SMQ_" + status
    await_condition(lambda: peer.is_closed, 5, "the client closes")
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
    assert client.stats == before


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
