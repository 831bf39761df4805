"""--decode: payloads readably, and JSON that is always valid."""

from __future__ import annotations

import json
import re
import subprocess

import cbor2
import msgpack
import pytest
from Support.servers import Mosquitto, need

from .tool import smq, start

SENML = [{"n": "cellar", "v": 21.5}]
# What is published, and what it is: its format, and its value; or the line that is printed.
PAYLOADS = [
    (b'{ "a":  [1, true] }', "JSON", {"a": [1, True]}),
    (cbor2.dumps({"a": [1, None], "b": b"\xff"}), "CBOR", {"a": [1, None], "b": "h'ff'"}),
    (cbor2.dumps([{0: "cellar", 2: 21.5}]), "SenML in CBOR", SENML),
    (msgpack.packb({"a": -1}), "MessagePack", {"a": -1}),
    (b'{"a":18446744073709551615,"b":1.10,"c":-0,"d":1E5,"e":0.5e-1}', "JSON", {"a": 2**64 - 1, "b": 1.1, "c": 0, "d": 1e5, "e": 0.05}),
    (b'{"a":007}', "JSON", {"a": 7}),  # cJSON takes that, too
    (b"[1]x", None, "[1]x"),
    (b"21.5", None, "21.5"),
    (b"words", None, "words"),
    (b"\xff\x00\x1b[2J", None, "ff001b5b324a"),
]


def published(broker: Mosquitto, topic: str, payload: bytes, *options: str) -> None:
    subprocess.run([need("mosquitto_pub"), *broker.address, "-t", topic, "-s" if payload else "-n", "-r", *options], input=payload, check=True, timeout=60)


def received(broker: Mosquitto, topic: str, *options: object) -> bytes:
    result = smq("sub", *broker.address, "-t", topic, "-C", 1, "--decode", *options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_payloads(broker: Mosquitto, number: int):
    payload, form, value = PAYLOADS[number]
    topic = f"decode/{number}"
    published(broker, topic, payload)
    line = received(broker, topic).decode()
    assert (json.loads(line) if form else line.rstrip("\n")) == value and line.count("\n") == 1
    assert received(broker, topic, "-v").decode() == f"{topic} {line}"
    assert received(broker, topic, "-F", "<%p>").decode() == f"<{line[:-1]}>\n"
    for letter in ("%j", "%J"):
        found = json.loads(received(broker, topic, "-F", letter))
        is_hexadecimal = form is None and payload[0] == 0xFF
        assert found["payload_hex" if is_hexadecimal else "payload"] == value and found.get("format") == form
        assert found["payloadlen"] == len(payload)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["tst"])


def nested(start: bytes, before: bytes, after: bytes = b"") -> bytes:
    for _ in range(60):
        start = before + start + after
    return start


@pytest.mark.parametrize("payload", [
    b"\x81" + nested(b"\x61\x22", b"\xc1"), nested(b"\xa1\x01\x01", b"\xa1", b"\x01"), nested(b"\x81\x01\x01", b"\x81", b"\x01")],
    ids=["tags around a quotation mark", "maps as keys, CBOR", "maps as keys, MessagePack"])
def test_what_is_printed_grows_with_what_was_received(broker: Mosquitto, payload: bytes):
    published(broker, "decode/deep", payload)
    found = received(broker, "decode/deep", "-F", "%j")
    assert json.loads(found) and len(found) < 2000


@pytest.mark.parametrize("payload", [
    *(bytes([first]) + b"\xff\xff\xff\xff" + b"x" * 3 for first in (0xC6, 0xC9, 0xDB, 0xDD, 0xDF)), b"\x9b" + b"\xff" * 8, b"\x5b" + b"\x7f" + b"\xff" * 7])
def test_counts_that_no_payload_has(broker: Mosquitto, payload: bytes):
    """On a processor of 32 bits they are no numbers of things, either."""
    published(broker, "decode/count", payload)
    assert json.loads(received(broker, "decode/count", "-F", "%j"))["payload_hex"] == payload.hex()


@pytest.mark.parametrize("datatype, field, bits, value", [
    (1, 10, 0xFB, -5), (2, 10, 0xFFFB, -5), (3, 10, 0xFFFFFFFB, -5), (4, 11, 2**64 - 5, -5), (4, 11, 5, 5), (7, 10, 0xFFFFFFFB, 0xFFFFFFFB)])
def test_negative_numbers_of_sparkplug(broker: Mosquitto, datatype: int, field: int, bits: int, value: int):
    number = b""
    while bits > 127:
        number += bytes([bits & 127 | 128])
        bits >>= 7
    metric = b"\x20" + bytes([datatype, field << 3]) + number + bytes([bits])
    published(broker, "spBv1.0/g/NDATA/negative", b"\x12" + bytes([len(metric)]) + metric)
    (found,) = json.loads(received(broker, "spBv1.0/g/NDATA/negative"))["metrics"]
    assert found["int_value" if field == 10 else "long_value"] == value


def test_deep_json_on_several_lines(broker: Mosquitto):
    payload = b"[" * 900 + b"{},{},{}" + b"]" * 900
    published(broker, "decode/deep", payload)
    assert len(received(broker, "decode/deep", "--pretty")) < 20 * len(payload)


def test_sparkplug(broker: Mosquitto):
    """A DDATA of examples-c/sparkplug."""
    published(broker, "spBv1.0/plant/DDATA/gateway/board", bytes.fromhex("08a6a4a5f6a134120f100218a6a4a5f6a1345880a0f0935b1802"))
    found = json.loads(received(broker, "spBv1.0/plant/#"))
    assert found["seq"] == 2 and found["metrics"][0]["alias"] == 2 and found["metrics"][0]["long_value"] == 24469311488


def test_on_several_lines(broker: Mosquitto):
    published(broker, "decode/pretty", b'{"a":{"b":1}}')
    lines = received(broker, "decode/pretty", "--pretty")
    assert lines.count(b"\n") > 4 and json.loads(lines) == {"a": {"b": 1}}
    found = received(broker, "decode/pretty", "--pretty", "-F", "%j")
    assert found.count(b"\n") > 8 and json.loads(found)["payload"] == {"a": {"b": 1}}


def test_an_empty_payload_and_properties(broker: Mosquitto):
    process = start("sub", *broker.address, "-V", "5", "-t", "decode/empty", "-C", 1, "--decode", "-F", "%j")
    while process.poll() is None:
        published(broker, "decode/empty", b"", "-V", "5", "-D", "publish", "correlation-data", "c", "-D", "publish", "user-property", "a", "b")
    found = json.loads(process.stdout.read())
    assert found["payload"] is None and found["properties"]["user-properties"] == {"a": "b"}


def test_answers(broker: Mosquitto):
    process = start("rr", *broker.address, "-t", "decode/ask", "-e", "decode/answer", "-m", "?", "--decode", "-W", 60)
    while process.poll() is None:
        published(broker, "decode/answer", cbor2.dumps({"b": 1, "a": 2}))
    assert process.stdout.read() == b'{"b":1,"a":2}\n'
