"""What goes over the wire while publishing: recorded, taken apart by tshark and compared with what was
asked for, and judged by our own rules when the test is over (see the fixture `recorded`)."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from Support import smq
from Support.servers import Server
from Support.waiting import wait_for

VERSIONS = {
    "Mosquitto, 3.1": ("mosquitto", smq.PROTOCOL_3_1),
    "Mosquitto, 3.1.1": ("mosquitto", smq.PROTOCOL_3_1_1),
    "Mosquitto, 5.0": ("mosquitto", smq.PROTOCOL_5_0),
    "ejabberd, 3.1.1": ("ejabberd", smq.PROTOCOL_3_1_1),
    "ejabberd, 5.0": ("ejabberd", smq.PROTOCOL_5_0),
}


@pytest.fixture(params=VERSIONS.values(), ids=VERSIONS)
def spoken(request: pytest.FixtureRequest) -> tuple[Server, int]:
    """A server, and a version to speak with it."""
    server, protocol = request.param
    return request.getfixturevalue(server), protocol


@pytest.fixture
def server(spoken: tuple[Server, int]) -> Server:
    return spoken[0]


@pytest.fixture
def protocol(spoken: tuple[Server, int]) -> int:
    return spoken[1]


def of(packets: list[dict], direction: str, type: str = "") -> list[dict]:
    return [p for p in packets if p["direction"] == direction and type in ("", p["type"])]


def shown(packet: dict, *names: str) -> list[str | None]:
    """What tshark shows of a packet's fields."""
    return [packet["fields"].get(f"mqtt.{name}", [None])[0] for name in names]


def bytes_of(packet: dict, name: str) -> bytes | None:
    return packet["raw"].get(f"mqtt.{name}", [None])[0]


def test_connect_says_what_was_asked_for(server, recorded, clients, protocol, level):
    proxy = recorded(server)
    will = dict(topic=f"{level}/ä", payload=b"\0gone\xff", qos=2, retain=1)
    client = clients(
        host="127.0.0.1",
        port=proxy.port,
        protocol=protocol,
        client_id=level[:23],
        user_name="käte",
        password="p:w@%",
        will=smq.Message(**will),
        keep_alive_s=1234,
        flags=smq.OPTION_KEEP_SESSION,
    )
    client.connected()
    client.leave()
    connect, disconnect = of(proxy.dissect(), "client")
    assert shown(connect, "protoname", "ver", "kalive") == [
        "MQIsdp" if protocol == smq.PROTOCOL_3_1 else "MQTT",
        str(protocol),
        "1234",
    ]
    flags = ("cleansess", "willflag", "qos", "retain", "uname", "passwd", "reserved")
    expected = ["0", "1", "2", "1", "1", "1", "0"]
    assert shown(connect, *(f"conflag.{flag}" for flag in flags)) == expected
    assert bytes_of(connect, "clientid") == level[:23].encode()
    assert bytes_of(connect, "willtopic") == will["topic"].encode()
    assert bytes_of(connect, "willmsg") == will["payload"]
    assert bytes_of(connect, "username") == "käte".encode()
    assert bytes_of(connect, "passwd") == b"p:w@%"
    if protocol == smq.PROTOCOL_5_0:
        assert (0x11, b"\xff\xff\xff\xff") in connect["properties"], "Session Expiry Interval"
        assert connect["will_properties"] == []
    assert disconnect["type"] == "DISCONNECT"


def test_an_empty_connect(server, recorded, clients, protocol):
    """Nothing that was not asked for is there."""
    proxy = recorded(server)
    options = {} if protocol != smq.PROTOCOL_3_1 else dict(client_id="needed")
    client = clients(url=proxy.url, protocol=protocol, **options)
    client.connected()
    client.leave()
    connect, _ = of(proxy.dissect(), "client")
    login = "1" if server.login else "0"
    flags = ("cleansess", "willflag", "qos", "retain", "uname", "passwd")
    expected = ["1", "0", "0", "0", login, login]
    assert shown(connect, *(f"conflag.{flag}" for flag in flags)) == expected
    assert shown(connect, "kalive", "clientid_len")[0] == "60"
    assert (bytes_of(connect, "clientid") or b"").decode() == options.get("client_id", "")


def test_publish_says_what_was_asked_for(server, recorded, clients, protocol, level):
    proxy = recorded(server)
    client = clients(url=proxy.url, protocol=protocol, client_id=level[:23])
    client.connected()
    asked = []
    for qos in (0, 1, 2):
        for retain in (0, 1):
            for size in (0, 1, 127, 128, 16384, 65000):
                payload = random.Random(size).randbytes(size)
                topic = f"{level}/{qos}/{'ä' * retain}"
                while client.publish(topic, payload, qos=qos, retain=retain) == smq.ERR_FULL:
                    client.step(20)
                asked.append((topic.encode(), payload, str(qos), str(retain)))
    client.until(lambda: client.stats.messages_completed == len(asked))
    client.leave()
    packets = proxy.dissect()
    publishes = of(packets, "client", "PUBLISH")
    for packet, (topic, payload, qos, retain) in zip(publishes, asked, strict=True):
        assert bytes_of(packet, "topic") == topic
        assert (bytes_of(packet, "msg") or b"") == payload
        assert shown(packet, "dupflag", "qos", "retain") == ["0", qos, retain]
        assert packet["properties"] == []
    said = Counter(packet["type"] for packet in of(packets, "client"))
    assert said == {"CONNECT": 1, "PUBLISH": 36, "PUBREL": 12, "DISCONNECT": 1}
    assert client.stats.packets_sent == sum(said.values())
    assert client.stats.bytes_sent == sum(packet["size"] for packet in of(packets, "client"))


def test_what_was_in_flight_is_sent_again(server, recorded, subscribe, clients, protocol, level):
    """Each stage in which a connection can find a message when it breaks."""
    subscriber = subscribe(server, f"{level}/#")
    proxy = recorded(server)
    client = clients(
        url=proxy.url, protocol=protocol, client_id=level[:23], flags=smq.OPTION_KEEP_SESSION
    )
    client.connected()
    recording = proxy.recordings[0]

    def is_told(more: bytes) -> None:
        before = len(recording.data(False))
        proxy.release()
        wait_for(lambda: more in recording.data(False)[before:], what="the server's answer")
        proxy.hold()

    proxy.hold()
    assert client.publish(f"{level}/released", b"1", qos=2, cookie=1) == smq.OK
    client.step(0)
    is_told(b"\x50")  # PUBREC
    client.step(0)  # answered with PUBREL, and PUBCOMP is held back
    assert client.publish(f"{level}/published", b"2", qos=2, cookie=2) == smq.OK
    assert client.publish(f"{level}/published", b"3", qos=1, cookie=3) == smq.OK
    client.run(0.1)  # both reach the server, and its answers nobody
    proxy.cut()
    assert client.disconnected().status == smq.ERR_CLOSED
    assert client.publish(f"{level}/queued", b"4", qos=1, cookie=4) == smq.OK
    assert client.connected().session_present == (protocol > smq.PROTOCOL_3_1)  # 3.1 cannot say it
    client.until(lambda: len(client.completions()) == 4)
    assert {event.status for event in client.completions()} == {smq.OK}
    client.leave()
    again = [p for p in of(proxy.dissect(), "client") if p["connection"] == 1][1:-1]
    payloads = {bytes_of(p, "msg"): shown(p, "dupflag")[0] for p in again if p["type"] == "PUBLISH"}
    assert payloads == {b"2": "1", b"3": "1", b"4": "0"}
    assert [p["type"] for p in again].count("PUBREL") == 2
    received = Counter(message.payload for message in subscriber.take(5))
    assert received == {b"1": 1, b"2": 1, b"3": 2, b"4": 1}


def test_cut_again_and_again(server, recorded, subscribe, clients, protocol, level):
    """At any moment. Not one message is lost, and those of QoS 2 arrive once and in order."""
    subscriber = subscribe(server, f"{level}/#")
    proxy = recorded(server)
    client = clients(
        url=proxy.url, protocol=protocol, client_id=level[:23], flags=smq.OPTION_KEEP_SESSION
    )
    dice = random.Random(1)
    queue = [(dice.choice((1, 2)), b"%d" % number) for number in range(300)]
    sent = {qos: [payload for q, payload in queue if q == qos] for qos in (1, 2)}
    while client.stats.messages_completed < 300:
        if client.state == smq.STATE_DISCONNECTED:
            client.events.clear()
            assert client.connect() == smq.OK
        for qos, payload in queue[: dice.randrange(5)]:
            assert client.publish(f"{level}/{qos}", payload, qos=qos) == smq.OK
            del queue[0]
        client.step(dice.randrange(3))
        if client.state == smq.STATE_CONNECTED and dice.random() < 0.1:
            proxy.cut()
    assert client.stats.messages_failed == 0
    assert len(proxy.recordings) > 5
    subscriber.until(lambda: len({m.payload for m in subscriber.messages}) == 300)
    received = {qos: [m.payload for m in subscriber.messages if m.qos == qos] for qos in (1, 2)}
    assert received[2] == sent[2]
    assert list(dict.fromkeys(received[1])) == sent[1], "in the order of their first arrival"
