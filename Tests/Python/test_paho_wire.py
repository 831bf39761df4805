"""What paho-mqtt and this say to a broker for the same calls, byte for byte, and where they differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from Support.recording import Proxy

from .conftest import PACKAGE

CONNECT, PUBLISH, PUBREL, SUBSCRIBE, UNSUBSCRIBE, DISCONNECT = 1, 3, 6, 8, 10, 14
NAMES = {CONNECT: "CONNECT", PUBLISH: "PUBLISH", PUBREL: "PUBREL", SUBSCRIBE: "SUBSCRIBE", UNSUBSCRIBE: "UNSUBSCRIBE"}
NAMES[DISCONNECT] = "DISCONNECT"
VERSIONS = {"3.1": 3, "3.1.1": 4, "5.0": 5}

BEGIN = """
import sys, threading
import paho.mqtt.client as mqtt
from paho.mqtt.properties import Properties
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.subscribeoptions import SubscribeOptions
host, port, version = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def make(**more):
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, "wire", protocol=version, **more)
    client.ready, client.done = threading.Event(), threading.Event()
    client.on_connect = lambda *_: client.ready.set()
    client.on_subscribe = client.on_unsubscribe = lambda *_: client.done.set()
    return client
def start(client, keepalive=60, **more):
    client.connect(host, port, keepalive, **more)
    client.loop_start()
    assert client.ready.wait(20)
def end(client, **more):
    client.disconnect(**more)
    client.loop_stop()
def answered(client, call):
    client.done.clear()
    call()
    assert client.done.wait(20)
"""

#: What a program does, and the versions it is for.
CALLS = {
    "connect": ("client = make(); start(client); end(client)", (3, 4, 5)),
    "kept session": ("client = make(clean_session=False); start(client, 17); end(client)", (3, 4)),
    "user and password": ("client = make(); client.username_pw_set('ü', 'p'); start(client); end(client)", (3, 4, 5)),
    "empty ones": ("client = make(); client.username_pw_set('', ''); start(client); end(client)", (3, 4, 5)),
    "empty user": ("client = make(); client.username_pw_set(''); start(client); end(client)", (3, 4, 5)),
    "a password alone": ("client = make(); client.username_pw_set(None, 'p'); start(client); end(client)", (3, 4, 5)),
    "will": ("client = make(); client.will_set('w', 'gone', 1, True); start(client); end(client)", (3, 4, 5)),
    "empty will": ("client = make(); client.will_set('w'); start(client); end(client)", (3, 4, 5)),
    "subscribe": (
        "client = make(); start(client); answered(client, lambda: client.subscribe([('a/+', 1), ('b', 0)]))\n"
        "answered(client, lambda: client.unsubscribe(['a/+', 'b'])); end(client)",
        (3, 4),
    ),
    "subscribe, 5.0": (
        "client = make(); start(client)\n"
        "p = Properties(PacketTypes.SUBSCRIBE); p.SubscriptionIdentifier = 7; p.UserProperty = ('a', 'b')\n"
        "options = SubscribeOptions(1, True, True, 2)\n"
        "answered(client, lambda: client.subscribe('a/+', options=options, properties=p))\n"
        "p = Properties(PacketTypes.UNSUBSCRIBE); p.UserProperty = ('a', 'b')\n"
        "answered(client, lambda: client.unsubscribe('a/+', p)); end(client)",
        (5,),
    ),
    "publish": (
        "client = make(); start(client)\n"
        "for qos in (0, 1, 2):\n client.publish('t', b'payload', qos, True).wait_for_publish(20)\n"
        "client.publish('t').wait_for_publish(20); end(client)",
        (3, 4, 5),
    ),
    "publish, 5.0": (
        "client = make(); start(client)\n"
        "p = Properties(PacketTypes.PUBLISH); p.MessageExpiryInterval = 99; p.ContentType = 'text/plain'\n"
        "p.PayloadFormatIndicator = 1; p.ResponseTopic = 'r'; p.CorrelationData = b'c'\n"
        "p.UserProperty = [('a', '1'), ('b', '2')]\n"
        "client.publish('t', 'x', 1, properties=p).wait_for_publish(20); end(client)",
        (5,),
    ),
    "connect, 5.0": (
        "client = make(); p = Properties(PacketTypes.CONNECT); p.SessionExpiryInterval = 30; p.ReceiveMaximum = 10\n"
        "p.UserProperty = ('a', 'b'); p.RequestProblemInformation = 0\n"
        "start(client, clean_start=True, properties=p)\n"
        "p = Properties(PacketTypes.DISCONNECT); p.SessionExpiryInterval = 0; end(client, properties=p)",
        (5,),
    ),
    "a session that ends with its connection, 5.0": (
        "client = make(); start(client, clean_start=False); end(client)",
        (5,),
    ),
    "disconnect, 5.0": (
        "from paho.mqtt.reasoncodes import ReasonCode\nclient = make(); start(client)\n"
        "end(client, reasoncode=ReasonCode(PacketTypes.DISCONNECT, 'Disconnect with will message'))",
        (5,),
    ),
}


@pytest.fixture
def said(server, tmp_path):
    """What a script says to the broker: its packets."""

    def run(python: str | Path, source: str, version: int) -> list[bytes]:
        proxy = Proxy(server, tmp_path / "pcap")
        try:
            environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(
                [python, "-c", source, server.host, str(proxy.port), str(version)],
                env=environment, capture_output=True, text=True, timeout=50,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            return [packet for one in proxy.recordings for packet in packets(one.data(True)) if packet[0] >> 4 in NAMES]
        finally:
            proxy.close()

    return run


def packets(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = at = 0
        while True:
            at += 1
            size |= (data[at] & 127) << 7 * (at - 1)
            if data[at] < 128:
                break
        found.append(data[: at + 1 + size])
        data = data[at + 1 + size :]
    return found


def without_identifier(packet: bytes) -> bytes:
    """The identifiers of what is sent are the library's: python/README.md says why."""
    at = next(index for index in range(1, 5) if packet[index] < 128) + 1
    if packet[0] >> 4 == PUBLISH:
        if not packet[0] & 6:
            return packet
        at += 2 + int.from_bytes(packet[at : at + 2], "big")
    elif packet[0] >> 4 not in (PUBREL, SUBSCRIBE, UNSUBSCRIBE):
        return packet
    return packet[:at] + b"##" + packet[at + 2 :]


def with_receive_maximum(connect: bytes) -> bytes:
    """A CONNECT of 5.0 without properties that says what a server takes for granted anyway: Receive Maximum 65,535."""
    assert connect[12] == 0
    return bytes([connect[0], connect[1] + 3]) + connect[2:12] + b"\x03!\xff\xff" + connect[13:]


@pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)
@pytest.mark.parametrize("name", CALLS)
def test_as_paho_says_it(said, with_requirements, name, version):
    text, versions = CALLS[name]
    if version not in versions:
        return
    wanted = said(with_requirements, BEGIN + text, version)
    got = said(sys.executable, (BEGIN + text).replace("paho.mqtt", "swiftmqtt.paho"), version)
    if name == "connect, 5.0":  # the properties of CONNECT come in another order
        assert sorted(got.pop(0)) == sorted(wanted.pop(0))
    elif version == 5:
        wanted[0] = with_receive_maximum(wanted[0])
    assert [without_identifier(p) for p in got] == [without_identifier(p) for p in wanted]
