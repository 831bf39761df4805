"""The adapters of CBOR and SenML."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from decimal import Decimal

import pytest
from swiftmqtt import Adapters, ArgumentError, Client
from swiftmqtt.payload import CBOR, JSON, SenML

TYPES = {"json": "application/senml+json", "cbor": "application/senml+cbor"}
DEVICE = "urn:dev:ow:10e2073a01080063"

# RFC 8428, section 6, and what it says in JSON (section 5.1.2; its last record has a time of 0 here).
SECTION_6 = bytes.fromhex(
    "87a721781b75726e3a6465763a6f773a3130653230373361303130383030363a22fb41d303a15b00106223614120050067766f6c7461676501615602"
    "fb405e066666666666a3006763757272656e74062402fb3ff3333333333333a3006763757272656e74062302fb3ff4cccccccccccda3006763757272"
    "656e74062202fb3ff6666666666666a3006763757272656e74062102f93e00a3006763757272656e74062002fb3ff999999999999aa3006763757272"
    "656e74060002fb3ffb333333333333")
READ_6 = [{"bn": "urn:dev:ow:10e2073a0108006:", "bt": 1.276020076001e9, "bu": "A", "bver": 5, "n": "voltage", "u": "V", "v": 120.1},
          *({"n": "current", "t": t, "v": v} for t, v in zip(range(-5, 1), (1.2, 1.3, 1.4, 1.5, 1.6, 1.7)))]

# Section 5.1.5.
KINDS = [{"bn": f"{DEVICE}:", "n": "temp", "u": "Cel", "v": 23.1}, {"n": "label", "vs": "Machine Room"},
         {"n": "open", "vb": False}, {"n": "nfc-reader", "vd": b"hi \n"}]


@pytest.fixture(scope="module", params=["debian", "newest"])
def python_with_cbor2(request):
    """A Python that has cbor2: Debian's, which is the oldest that the package takes, and that of requirements.txt."""
    if request.param == "newest":
        return request.getfixturevalue("with_requirements")
    if subprocess.run(["/usr/bin/python3", "-c", "import cbor2"], capture_output=True).returncode:
        pytest.skip("python3-cbor2 is not installed")
    return "/usr/bin/python3"


def run(python, environment, code: str, *arguments: str) -> str:
    done = subprocess.run([python, "-c", code, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


CONVERSATION = """
import sys
from swiftmqtt import Client
url, level = sys.argv[1:]
value = {"celsius": 21.5, "raw": b"\\0", 7: [None, True, -(1 << 63)]}
kinds = [{"bn": "urn:dev:x:", "n": "t", "v": 23.1}, {"n": "d", "vd": b"\\0\\xff"}]
with Client(url) as client:
    client.subscribe(level).wait(5)
    for payload, content_type in ((value, "application/cbor"), ([1], "application/cbor; x=y"), (kinds, "application/senml+cbor"),
                                  (kinds, "application/senml+json")):
        client.publish(level, payload, content_type=content_type)
        message = client.receive(5)
        properties = message.properties
        print(properties.content_type, properties.payload_format_indicator, message.decode() == payload)
    client.publish(level, b"\\x81\\x01")
    print(client.receive(5).decode("cbor"))
"""


def test_a_conversation(python_with_cbor2, environment, server, level):
    assert run(python_with_cbor2, environment, CONVERSATION, server.url, level).splitlines() == [
        "application/cbor None True", "application/cbor; x=y None True", "application/senml+cbor None True",
        "application/senml+json 1 True", "[1]"]


WRONG_CBOR = """
from swiftmqtt import ArgumentError, Client
from swiftmqtt.payload import CBOR, SenML
for wrong in (b"", b"\\x18", b"\\xff", b"\\x61\\xff", b"\\x01\\x02", b"\\x01\\x18", b"\\x82\\x01", b"\\x1c", b"\\x81" * 100_000):
    try:
        print("read", wrong[:9], CBOR().decode(wrong))
    except ValueError as error:
        assert str(error).startswith("no CBOR: "), error
client = Client("mqtt://127.0.0.1")
for value in ({"a": object()}, object()):
    try:
        client.publish("a", value, content_type="application/cbor")
        print("published", value)
    except ArgumentError as error:
        assert "CBOR: cannot be encoded as CBOR" in str(error), error
client.close()
for wrong in ("a0", "80", "01", "81a0", "81a1616e6161", "81a2616e6161617601", "81a200616102f97e00", "81a2006161026131",
              "81a200616103f5", "81a1f501", "8101", "81a20061610441ff", "82a200616102012001"):
    try:
        print("read", wrong, SenML(cbor=True).decode(bytes.fromhex(wrong)))
    except ValueError:
        pass
# A decimal fraction (section 6 allows it), and a label of the future.
print(SenML.resolved(SenML(cbor=True).decode(bytes.fromhex("81a4006161221a6553f10002c4822019011119010c1864")), now=0))
"""


def test_what_is_wrong_in_cbor(python_with_cbor2, environment):
    assert run(python_with_cbor2, environment, WRONG_CBOR).splitlines() == [
        "[{'n': 'a', 'v': Decimal('27.3'), 268: 100, 't': 1700000000}]"]


VECTORS = """
import sys
from swiftmqtt.payload import SenML
print(SenML(cbor=True).decode(bytes.fromhex(sys.argv[1])))
pack = eval(sys.argv[2])
print(SenML(cbor=True).decode(SenML(cbor=True).encode(pack)) == pack)
"""


def test_section_6(python_with_cbor2, environment):
    said = run(python_with_cbor2, environment, VECTORS, SECTION_6.hex(), repr(KINDS)).splitlines()
    assert said == [repr(READ_6), "True"]


# ---- Without cbor2


def test_without_cbor2_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "cbor2", None)
    client = Client("mqtt://127.0.0.1")
    for content_type in ("application/cbor", "application/senml+cbor"):
        with pytest.raises(ArgumentError, match="pip install cbor2"):
            client.publish("a", [{"n": "a", "v": 1}], content_type=content_type)
    client.close()
    for adapter in (CBOR(), SenML(cbor=True)):
        with pytest.raises(ArgumentError, match="pip install cbor2"):
            adapter.decode(b"\x01")
    assert SenML().decode(SenML().encode(KINDS)) == KINDS


def test_nothing_is_encoded_unasked():
    for adapter in (CBOR(), SenML(), SenML(cbor=True)):
        assert not adapter.encodes([{"n": "a", "v": 1}])
    assert Adapters().encode([{"n": "a", "v": 1}]) == (b'[{"n":"a","v":1}]', "application/json", True)


# ---- SenML


@pytest.mark.parametrize("pack", [
    KINDS, READ_6, [{"n": DEVICE, "u": "Cel", "v": 23.1}], [{"n": "a", "s": 1}], [{"n": "a", "vd": b"", "s": 0.5}],
    [{"bn": f"{DEVICE}:"}, {"n": "heat", "u": "/", "v": 1}], [{"bv": 1, "bs": 2, "bt": -5, "n": "a", "v": 0, "ut": 3}]])
def test_a_pack_that_keeps_the_rules(pack):
    payload = SenML().encode(pack)
    assert SenML().decode(payload) == pack
    read = json.loads(payload)
    assert [list(record) for record in read] == [list(record) for record in pack]
    assert all(isinstance(record.get("vd", ""), str) and "=" not in record.get("vd", "") for record in read)


def test_the_data_of_section_5_1_5():
    assert json.loads(SenML().encode(KINDS))[3] == {"n": "nfc-reader", "vd": "aGkgCg"}


@pytest.mark.parametrize("pack, why", [
    ([], "a list with records"), ({}, "a list with records"), ("x", "a list with records"), ([1], "record 0 is no dict"),
    ([{}], "record 0 is no dict with fields"), ([{"n": "a"}], "0 values"), ([{"n": "a", "t": 1}], "0 values"),
    ([{"n": "a", "v": 1, "vs": "x"}], "2 values"), ([{"v": 1}], "'' is no name"), ([{"n": "a b", "v": 1}], "'a b' is no name"),
    ([{"bn": "_", "n": "a", "v": 1}], "'_a' is no name"), ([{"bn": "a"}, {"bn": "", "v": 1}], "record 1: '' is no name"),
    ([{"n": "a\n", "v": 1}], "is no name"), ([{"n": "a", "v": "1"}], "v cannot be '1'"), ([{"n": "a", "v": True}], "v cannot be True"),
    ([{"n": "a", "v": float("nan")}], "v cannot be nan"), ([{"n": "a", "t": float("inf"), "v": 1}], "t cannot be inf"),
    ([{"n": "a", "vb": 1}], "vb cannot be 1"), ([{"n": 1, "v": 1}], "n cannot be 1"), ([{"bver": 0}], "bver cannot be 0"),
    ([{"bver": 11}], "another version than 10"), ([{"bu": "A"}, {"bver": 5}], "another version"),
])
def test_a_pack_that_breaks_a_rule(pack, why):
    with pytest.raises(ValueError, match=why):
        SenML().encode(pack)
    with pytest.raises(ValueError, match=why):
        SenML().decode(JSON().encode(pack) if "nan" not in why and "inf" not in why else json.dumps(pack).encode())


@pytest.mark.parametrize("payload", ["", "[", '[{"n":"a","vd":"a"}]', '[{"n":"a","vd":"+/=="}]', '[{"n":"a","vd":1}]',
                                     '[{"n":"a","v":1,"new_":1}]'])
def test_what_cannot_be_read(payload):
    with pytest.raises(ValueError):
        SenML().decode(payload.encode())


def test_fields_of_the_future():
    """Section 4.4: those that do not end in "_" are tolerated when reading, and not written."""
    pack = [{"n": "a", "v": 1, "new": 2}]
    assert SenML().decode(b'[{"n":"a","v":1,"new":2}]') == pack
    with pytest.raises(ValueError, match="unknown field 'new'"):
        SenML().encode(pack)
    with pytest.raises(ValueError, match="unknown field 7"):
        SenML().encode([{7: 1}])


def test_resolved():
    """Section 5.1.4 is what section 5.1.3 says, resolved."""
    base = {"bn": DEVICE, "bt": 1320067464, "bu": "%RH"}
    pack = [{**base, "v": 20}, {"u": "lon", "v": 24.30621}, {"t": 60, "v": 20.3}, {"u": "%EL", "t": 150, "v": 98}]
    assert SenML.resolved(pack) == [
        {"n": DEVICE, "u": "%RH", "t": 1320067464, "v": 20}, {"n": DEVICE, "u": "lon", "t": 1320067464, "v": 24.30621},
        {"n": DEVICE, "u": "%RH", "t": 1320067524, "v": 20.3}, {"n": DEVICE, "u": "%EL", "t": 1320067614, "v": 98}]
    # Relative times, sums, and the order of time.
    pack = [{"bn": "a:", "bv": 1, "bs": 10, "n": "x", "v": 2, "s": 1}, {"n": "y", "t": -5, "v": 0.5}, {"bn": "b:"},
            {"n": "z", "t": -1, "vs": "on"}]
    assert SenML.resolved(pack, now=1000) == [
        {"n": "a:y", "t": 995, "v": 1.5, "s": 10}, {"n": "b:z", "t": 999, "vs": "on", "s": 10}, {"n": "a:x", "t": 1000, "v": 3, "s": 11}]
    assert SenML.resolved([{"bver": 5, "n": "a", "v": Decimal("1.5")}], now=0) == [{"n": "a", "t": 0, "v": Decimal("1.5"), "bver": 5}]


def test_any_data_is_what_the_standard_library_makes_of_it():
    for data in (bytes(range(256)), b"\xfb\xff", b"\xfb\xff\xbf", b""):
        payload = SenML().encode([{"n": "a", "vd": data}])
        assert json.loads(payload)[0]["vd"] == base64.urlsafe_b64encode(data).decode().rstrip("=")
        assert SenML().decode(payload)[0]["vd"] == data
