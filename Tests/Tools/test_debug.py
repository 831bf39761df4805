"""-d: each step and each packet as a line on standard error, with nothing secret and nothing that controls a terminal."""

from __future__ import annotations

import re

import pytest
from Support.codec import SUBSCRIBE
from Support.scripted_broker import Broker, Script, answer_then, disconnect, publish, refuse, say
from Support.servers import free_port

from .tool import smq

PASSWORD = "very secret"
GOOD = Script(on={SUBSCRIBE: answer_then(publish("a", b"x"))})


def lines(result, port: int) -> list[str]:
    """Of standard error; the port of the broker and the Packet Identifiers of the client differ from run to run."""
    stderr = result.stderr.decode()
    assert PASSWORD not in stderr and "*" not in stderr
    known: dict[str, str] = {}
    text = re.sub(r"\bid (\d{3,})", lambda match: "id " + known.setdefault(match[1], chr(65 + len(known))), stderr)
    return text.replace(str(port), "PORT").splitlines()


def opening(name: str) -> list[str]:
    return [
        f"Client {name} connects to 127.0.0.1 port PORT, attempt 1",
        f"Client {name} has 1 address to try",
        f"Client {name} tries address 1",
        f"Client {name} has an open network connection to 127.0.0.1 port PORT",
    ]


ENDING = [
    "Client me sends DISCONNECT (2 bytes in all)",
    "Client me is disconnected: it was asked to disconnect",
]
CONNECTED = {
    "311": [
        'Client me sends CONNECT (MQTT 3.1.1, Clean Session, Keep Alive of 60 s, Client Identifier "me", 16 bytes in all)',
        "Client me receives CONNACK (reason 0: Connection Accepted, 4 bytes in all)",
        "Client me is connected, with MQTT 3.1.1",
    ],
    "5": [
        'Client me sends CONNECT (MQTT 5.0, Clean Start, Keep Alive of 60 s, receive-maximum 20, Client Identifier "me", '
        "20 bytes in all)",
        "Client me receives CONNACK (reason 0: Success, 5 bytes in all)",
        "Client me is connected, with MQTT 5.0",
    ],
}
# By QoS, as 3.1.1 has it: an acknowledgement of 5.0 also has a Reason Code.
EXCHANGES = {
    0: ['sends PUBLISH (QoS 0, RETAIN, topic "a/b", payload of 5 bytes, {size} bytes in all)'],
    1: ['sends PUBLISH (id A, QoS 1, RETAIN, topic "a/b", payload of 5 bytes, {size} bytes in all)',
        "receives PUBACK (id A, {reason}4 bytes in all)"],
    2: ['sends PUBLISH (id A, QoS 2, RETAIN, topic "a/b", payload of 5 bytes, {size} bytes in all)',
        "receives PUBREC (id A, {reason}4 bytes in all)", "sends PUBREL (id A, {reason}4 bytes in all)",
        "receives PUBCOMP (id A, {reason}4 bytes in all)"],
}


@pytest.mark.parametrize("qos", EXCHANGES)
@pytest.mark.parametrize("version", CONNECTED)
def test_publishing(version: str, qos: int):
    with Broker() as broker:
        result = smq("pub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-V", version, "-i", "me", "-t", "a/b", "-m", "hello", "-r", "-q", qos)
    assert result.returncode == 0 and result.stdout == b""
    is_5 = version == "5"
    size = 12 + (2 if qos else 0) + is_5
    expected = [f"Client me {line.format(size=size, reason='reason 0: Success, ' if is_5 else '')}" for line in EXCHANGES[qos]]
    assert lines(result, broker.port) == [*opening("me"), *CONNECTED[version], *expected, *ENDING]


@pytest.mark.parametrize("version", CONNECTED)
def test_subscribing(version: str):
    """A topic and properties that would control the terminal, and a filter that the server refuses."""
    script = Script(grant=lambda filter, options: 128 if filter == "no" else options & 3)
    topic = "a/\x1b[31m\x7f"
    script.on = {SUBSCRIBE: lambda connection, packet: (
        connection.answer(packet), connection.publish(topic, b"12345", qos=1, now=True, **(
            {"content_type": "te\x1bxt", "user_property": [("k", "v\x1b")]} if version == "5" else {})))}
    with Broker(later=script) as broker:
        result = smq("sub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-V", version, "-i", "me", "-t", "a/#", "-t", "no", "-q", 1, "-C", 1)
    assert result.returncode == 0, result.stderr
    found = lines(result, broker.port)
    begin = found.index(f"Client me is connected, with MQTT {'5.0' if version == '5' else '3.1.1'}") + 1
    size = 16 if version == "5" else 15
    assert found[begin] == f'Client me sends SUBSCRIBE (id A, "a/#" with QoS 1, "no" with QoS 1, {size} bytes in all)'
    refusal = "reason 128: Unspecified error" if version == "5" else "reason 128: Failure"
    assert found[begin + 1] == f"Client me receives SUBACK (id A, granted QoS 1, {refusal}, {7 if version == '5' else 6} bytes in all)"
    (received,) = [line for line in found if "receives PUBLISH" in line]
    properties = 'content-type "te\\x1bxt", user-property "k" "v\\x1b", ' if version == "5" else ""
    assert re.fullmatch(
        r'Client me receives PUBLISH \(id 1, QoS 1, topic "a/\\x1b\[31m\\x7f", ' + re.escape(properties) +
        r"payload of 5 bytes, \d+ bytes in all\)", received)
    assert "\x1b" not in "".join(found) and "\x7f" not in "".join(found)


def test_a_password_a_will_and_a_name_that_the_server_assigns():
    script = Script(connack={"assigned_client_id": "given", "server_keep_alive": 30})
    with Broker(later=script) as broker:
        result = smq(
            "pub", "-d", "-L", f"mqtt://user:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{broker.port}", "-V", 5, "-t", "a", "-m", "x",
            "--will-topic", "gone", "--will-payload", "lost", "--will-qos", 1, "--will-retain", "-D", "will", "will-delay-interval", 7)
    assert result.returncode == 0, result.stderr
    found = lines(result, broker.port)
    assert found[0] == "Client connects to 127.0.0.1 port PORT, attempt 1"
    (connect,) = [line for line in found if "CONNECT (MQTT" in line]
    assert connect.startswith("Client sends CONNECT (MQTT 5.0, Clean Start, Keep Alive of 60 s, ")
    assert ', no Client Identifier, will-delay-interval 7, Will for "gone" of 4 bytes, QoS 1, retained, ' \
        'user name "user", a password, ' in connect
    assert any(re.fullmatch(
        r'Client given receives CONNACK \(reason 0: Success, assigned-client-identifier "given", server-keep-alive 30, '
        r"\d+ bytes in all\)", line) for line in found)


def test_the_server_disconnects_with_a_reason():
    script = Script(on={SUBSCRIBE: disconnect(0x98, reason_string="closing\x1btime")})
    with Broker([script], later=GOOD) as broker:
        result = smq("sub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-V", 5, "-i", "me", "-t", "a", "-C", 1)
    found = lines(result, broker.port)
    end = next(index for index, line in enumerate(found) if "receives DISCONNECT" in line)
    assert re.fullmatch(
        r'Client me receives DISCONNECT \(reason 152: Administrative action, reason-string "closing\\x1btime", \d+ bytes in all\)', found[end])
    assert found[end + 1] == "Client me is disconnected: the server sent DISCONNECT (connected)"


def test_the_server_refuses():
    with Broker(later=Script(at={1: refuse(5)})) as broker:
        result = smq("pub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-i", "me", "-t", "a", "-m", "x")
    found = lines(result, broker.port)
    assert "Client me receives CONNACK (reason 5: Not authorized, 4 bytes in all)" in found
    assert "Client me is disconnected: the server refused CONNECT (connack)" in found


def test_nobody_listens():
    port = free_port()
    found = lines(smq("pub", "-d", "-h", "127.0.0.1", "-p", port, "-i", "me", "-t", "a", "-m", "x"), port)
    at = found.index("Client me could not use an address: Connection refused")
    assert found[at + 1] == "Client me is disconnected: the network failed (connect)"
    assert found[-1].startswith("smq pub: cannot connect to 127.0.0.1 port PORT")


def test_bytes_that_are_no_packet():
    wrong = Script(on={SUBSCRIBE: say(b"\x30\xff\xff\xff\xff\xff")})
    with Broker([wrong], later=GOOD) as broker:
        result = smq("sub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-i", "me", "-t", "a", "-C", 1)
    found = lines(result, broker.port)
    at = next(index for index, line in enumerate(found) if "that are no packet" in line)
    assert re.fullmatch(r"Client me receives \d+ bytes that are no packet", found[at])
    assert found[at + 1] == "Client me is disconnected: a packet could not be parsed (connected)"
    (waiting,) = [line for line in found if "waits" in line]
    assert re.fullmatch(r"Client me waits \d+ ms before the next attempt", waiting)
    assert "Client me connects to 127.0.0.1 port PORT, attempt 2" in found


def test_check_has_it_beside_its_findings():
    with Broker() as broker:
        result = smq("check", "-d", "-h", "127.0.0.1", "-p", broker.port, "-V", 5)
    found = lines(result, broker.port)
    assert result.returncode == 0 and b"MQTT 5.0 is accepted" in result.stdout
    assert any("sends CONNECT (MQTT 5.0, " in line for line in found) and any("sends SUBSCRIBE (" in line for line in found)


def test_a_payload_that_is_not_in_memory(tmp_path):
    """Its packet is told with its beginning alone."""
    file = tmp_path / "large"
    file.write_bytes(b"x" * 3_000_000)
    with Broker() as broker:
        result = smq("pub", "-d", "-h", "127.0.0.1", "-p", broker.port, "-i", "me", "-t", "a", "-f", file, "-q", 1)
    assert result.returncode == 0, result.stderr
    assert "Client me sends PUBLISH (id A, QoS 1, topic \"a\", payload of 3000000 bytes, 3000010 bytes in all)" in lines(result, broker.port)
