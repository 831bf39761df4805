"""Payloads and their adapters."""

from __future__ import annotations

import datetime
import subprocess
import sys
import types

import pytest
import swiftmqtt
from swiftmqtt import Adapter, Adapters, ArgumentError, Client
from swiftmqtt.payload import JSON, PropertyList


class Reading:
    """What protobuf makes of a message, as far as it matters here; test_the_real_protobuf() has the real one."""

    DESCRIPTOR = object()

    def __init__(self, text: str = ""):
        self.text = text

    def SerializeToString(self) -> bytes:
        return b"P" + self.text.encode()

    @staticmethod
    def FromString(data: bytes) -> Reading:
        if data[:1] != b"P":
            raise sys.modules["google.protobuf.message"].DecodeError("no P")
        return Reading(data[1:].decode())


@pytest.fixture
def protobuf(monkeypatch):
    module = types.ModuleType("google.protobuf.message")
    module.DecodeError = type("DecodeError", (Exception,), {})
    monkeypatch.setitem(sys.modules, "google.protobuf.message", module)


WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5)
ENCODED = [
    (b"\0\xff", b"\0\xff", None, None),
    (bytearray(b"ab"), b"ab", None, None),
    (memoryview(b"abcd")[::2], b"ac", None, None),
    ("grün", "grün".encode(), "text/plain", 1),
    ("", b"", "text/plain", 1),
    ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode(), "application/json", 1),
    ([], b"[]", "application/json", 1),
    ((1, 2), b"[1,2]", "application/json", 1),
    (21.5, b"21.5", "application/json", 1),
    (7, b"7", "application/json", 1),
    (True, b"true", "application/json", 1),
    (None, b"null", "application/json", 1),
    (Reading("x"), b"Px", "application/x-protobuf", None),
]


@pytest.mark.parametrize("value, payload, content_type, utf8", ENCODED)
def test_by_type(server, level, value, payload, content_type, utf8):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        client.publish(level, value)
        message = client.receive(5)
        assert (message.payload, message.properties.content_type) == (payload, content_type)
        assert message.properties.payload_format_indicator == utf8
        if not isinstance(value, Reading):
            expected = {bytearray: bytes, memoryview: bytes, tuple: list}.get(type(value), lambda same: same)(value)
            assert message.decode() == expected


@pytest.mark.parametrize("value", [value for value, *_ in ENCODED])
def test_before_5_0_there_is_no_content_type(server, level, value):
    with Client(server.url, protocol=4) as client:
        client.subscribe(level).wait(5)
        client.publish(level, value).wait(5)
        message = client.receive(5)
        assert not message.properties and message.decode() == message.payload


def test_what_json_cannot_express_goes_as_a_property_list(server, level):
    value = {"when": WHEN, "raw": b"\0", "list": [1, "x"]}
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        client.publish(level, value)
        message = client.receive(5)
        assert message.properties.content_type == "application/x-plist"
        assert message.decode() == message.decode("plist") == value
        client.publish(level, {"a": 1}, content_type="application/x-plist")
        assert b"<plist" in client.receive(5).payload
    with Client(server.url, adapters=Adapters(PropertyList(binary=True))) as client:
        client.subscribe(level).wait(5)
        client.publish(level, value)
        message = client.receive(5)
        assert message.payload.startswith(b"bplist") and message.decode() == value


def test_what_nobody_takes():
    client = Client("mqtt://127.0.0.1")
    for value in (object(), {1, 2}, float("nan"), {"a": object()}, "\ud800", 1 + 2j):
        with pytest.raises(ArgumentError, match=type(value).__name__):
            client.publish("a", value)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ArgumentError):
        client.publish("a", deep)
    with pytest.raises(ArgumentError, match="JSON"):
        client.publish("a", {1, 2}, content_type="application/json")
    client.close()


def test_asking_for_a_type(server, level, protobuf):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)

        def sent(payload: bytes, **more: object) -> swiftmqtt.Message:
            client.publish(level, payload, **more)
            return client.receive(5)

        message = sent(b'{"a": 1}')
        assert message.decode() == message.decode(bytes) == b'{"a": 1}'
        assert message.json() == message.decode(dict) == message.decode("application/json; charset=utf-8") == {"a": 1}
        assert message.text() == message.decode(str) == message.decode("text") == '{"a": 1}'
        assert message.decode(memoryview)[1:3] == b'"a' and message.decode(bytearray) == bytearray(b'{"a": 1}')
        assert message.decode(JSON()) == {"a": 1}
        assert sent(b"Px").decode(Reading).text == "x"
        assert sent(b"x", payload_format_indicator=1).decode() == "x"
        assert sent(b"\xff", content_type="image/png").decode() == b"\xff"
        for wrong in ("json", "text", "plist", Reading):
            with pytest.raises(ValueError):
                sent(b"\xff{").decode(wrong)
        with pytest.raises(ValueError, match="does not say which"):
            sent(b"P", content_type="application/x-protobuf").decode()
        for unknown in ("image/png", set):
            with pytest.raises(ArgumentError):
                message.decode(unknown)


def test_ones_own_adapter(server, level):
    class Celsius(Adapter):
        content_types = ("application/x-celsius",)
        text = True
        types = (complex,)

        def encode(self, value):
            return f"{value.real}°".encode()

        def decode(self, data, as_=None):
            return complex(float(data.decode().rstrip("°")))

    with Client(server.url, adapters=Adapters(Celsius(), *Adapters())) as client:
        client.subscribe(level).wait(5)
        client.publish(level, 21 + 0j)
        message = client.receive(5)
        assert message.text() == "21.0°" and message.decode() == 21 + 0j == message.decode(complex)
        assert message.properties.content_type == "application/x-celsius"
        client.publish(level, {"still": "there"})
        assert client.receive(5).decode() == {"still": "there"}


def test_the_real_protobuf(server, level, with_requirements, environment):
    code = f"""
from google.protobuf.wrappers_pb2 import StringValue
from swiftmqtt import Client
with Client({server.url!r}) as client:
    client.subscribe({level!r}).wait(5)
    client.publish({level!r}, StringValue(value="x"))
    message = client.receive(5)
    print(message.properties.content_type, message.decode(StringValue).value)
    client.publish({level!r}, b"\\xff\\xff")
    try:
        client.receive(5).decode(StringValue)
    except ValueError as error:
        print(str(error).startswith("no StringValue: "))
"""
    done = subprocess.run([with_requirements, "-c", code], env=environment, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("application/x-protobuf x\nTrue\n", "")
