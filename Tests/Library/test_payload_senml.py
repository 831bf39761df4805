"""The writer of SenML: the examples of RFC 8428, its rules, and the same records in JSON and in CBOR."""

from __future__ import annotations

import base64
import json

import pytest

from Support.cbor import decoded
from .payload_script import (
    ILL_FORMED, NULL, OK, OPTION, QEMU, STATE, STRUCT_SIZE, UTF8, bits, grows_token_by_token, random_double, sanitized, scripts,
    seeded, text)

__all__ = ["sanitized", "scripts"]
NUMBERS, STRINGS = {"bt", "bv", "bs", "v", "s", "t", "ut"}, {"bn", "bu", "n", "u", "vs"}
LABELS = {"bver": -1, "bn": -2, "bt": -3, "bu": -4, "bv": -5, "bs": -6, "n": 0, "u": 1, "v": 2, "vs": 3, "vb": 4, "s": 5, "t": 6,
          "ut": 7, "vd": 8}  # table 4
DEVICE = "urn:dev:ow:10e2073a01080063"


def call(record: dict[str, object]) -> str:
    """The call that writes it; data is bytes."""
    def argument(name: str, value: object) -> str:
        if name in NUMBERS:
            return bits(float(value))
        return text(value) if name in STRINGS else value.hex() if name == "vd" else str(int(value))
    return "record:" + ",".join(f"{name}={argument(name, value)}" for name, value in record.items())


def add(scripts, format: str, records: list[dict[str, object]], size: int = 4096):
    return scripts.one(f"senml-{format}:{len(records)}", " ".join(map(call, records)), size)


# RFC 8428, section 5.1: those that are whole packs. vd is what "aGkgCg" says.
EXAMPLES = {
    "5.1.1": [{"n": DEVICE, "u": "Cel", "v": 23.1}],
    "5.1.2 voltage": [{"bn": f"{DEVICE}:", "n": "voltage", "u": "V", "v": 120.1}, {"n": "current", "u": "A", "v": 1.2}],
    "5.1.2 time": [
        {"bn": "urn:dev:ow:10e2073a0108006:", "bt": 1.276020076001e9, "bu": "A", "bver": 5, "n": "voltage", "u": "V", "v": 120.1},
        *({"n": "current", "t": t, "v": v} for t, v in zip(range(-5, 0), (1.2, 1.3, 1.4, 1.5, 1.6))), {"n": "current", "v": 1.7}],
    "5.1.3": [
        {"bn": DEVICE, "bt": 1.320067464e9, "bu": "%RH", "v": 20}, {"u": "lon", "v": 24.30621}, {"u": "lat", "v": 60.07965},
        {"t": 60, "v": 20.3}, {"u": "lon", "t": 60, "v": 24.30622}, {"u": "lat", "t": 60, "v": 60.07965}, {"t": 120, "v": 20.7},
        {"u": "lon", "t": 120, "v": 24.30623}, {"u": "lat", "t": 120, "v": 60.07966}, {"u": "%EL", "t": 150, "v": 98},
        {"t": 180, "v": 21.2}, {"u": "lon", "t": 180, "v": 24.30628}, {"u": "lat", "t": 180, "v": 60.07967}],
    "5.1.5": [{"bn": f"{DEVICE}:", "n": "temp", "u": "Cel", "v": 23.1}, {"n": "label", "vs": "Machine Room"},
              {"n": "open", "vb": False}, {"n": "nfc-reader", "vd": b"hi \n"}],
    "5.1.6": [{"bn": "2001:db8::2/", "bt": 1.320078429e9, "n": "temperature", "u": "Cel", "v": 25.2},
              {"n": "humidity", "u": "%RH", "v": 30}, {"bn": "2001:db8::1/", "n": "temperature", "u": "Cel", "v": 12.3},
              {"n": "humidity", "u": "%RH", "v": 67}],
    "5.1.7 set point": [{"bn": f"{DEVICE}:"}, {"n": "temp", "u": "Cel", "v": 23.1}, {"n": "heat", "u": "/", "v": 1},
                        {"n": "fan", "u": "/", "v": 0}],
    "5.1.7 lights": [{"bt": 1.320078429e9, "bu": "/", "n": "2001:db8::3", "v": 0.5}, {"n": "2001:db8::4", "v": 0.5},
                     {"n": "2001:db8::3", "t": 0.1, "v": 0}, {"n": "2001:db8::4", "t": 0.1, "v": 0}],
}

# Section 6: the second example of 5.1.2 in CBOR.
SECTION_6 = (
    "87a721781b75726e3a6465763a6f773a3130653230373361303130383030363a22fb41d303a15b00106223614120050067766f6c7461676501615602"
    "fb405e066666666666a3006763757272656e74062402fb3ff3333333333333a3006763757272656e74062302fb3ff4cccccccccccda3006763757272"
    "656e74062202fb3ff6666666666666a3006763757272656e74062102f93e00a3006763757272656e74062002fb3ff999999999999aa3006763757272"
    "656e74060002fb3ffb333333333333")


def as_json(record: dict[str, object]) -> dict[str, object]:
    return {name: base64.urlsafe_b64encode(value).decode().rstrip("=") if isinstance(value, bytes) else value
            for name, value in record.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples(scripts, name):
    records = EXAMPLES[name]
    assert json.loads(add(scripts, "json", records).payload) == [as_json(record) for record in records]
    assert repr(decoded([add(scripts, "cbor", records).payload])[0]) == repr(list(map(as_cbor, records)))


def test_byte_for_byte(scripts):
    assert add(scripts, "json", EXAMPLES["5.1.1"]).payload == f'[{{"n":"{DEVICE}","u":"Cel","v":23.1}}]'.encode()
    assert add(scripts, "json", EXAMPLES["5.1.5"][:2]).payload == (
        f'[{{"bn":"{DEVICE}:","n":"temp","u":"Cel","v":23.1}},{{"n":"label","vs":"Machine Room"}}]'.encode())
    # The example of section 6 has a time of 0 in its last record, which that of section 5.1.2 does not have.
    records = EXAMPLES["5.1.2 time"]
    assert add(scripts, "cbor", [*records[:-1], {**records[-1], "t": 0}]).payload.hex() == SECTION_6


# ---- Rules: each breaks one

BREAKS = [
    ("no fields", {}, OPTION), ("no value", {"n": "a"}, OPTION), ("no value, a time", {"bn": "a", "t": 1}, OPTION),
    ("two values", {"n": "a", "v": 1, "vs": "x"}, OPTION), ("two values, a sum", {"n": "a", "vb": 1, "vd": b"", "s": 1}, OPTION),
    ("no name", {"v": 1}, OPTION), ("empty names", {"bn": "", "n": "", "v": 1}, OPTION), ("a space", {"n": "a b", "v": 1}, OPTION),
    ("an umlaut", {"n": "ä", "v": 1}, OPTION), ("U+0000", {"n": "a\0", "v": 1}, OPTION), ("begins with /", {"n": "/a", "v": 1}, OPTION),
    ("base begins with _", {"bn": "_a", "n": "b", "v": 1}, OPTION), ("a base alone", {"bn": "a b"}, OPTION),
    ("NaN", {"n": "a", "v": float("nan")}, OPTION), ("an infinity", {"bt": float("inf")}, OPTION),
    ("version 0", {"bver": 0}, OPTION), ("an unknown field", {"n": "a", "v": 1, "flag": 1 << 15}, OPTION),
    ("another size", {"n": "a", "v": 1, "size": 8}, STRUCT_SIZE),
]


@pytest.mark.parametrize("format", ["json", "cbor"])
@pytest.mark.parametrize("record, status", [row[1:] for row in BREAKS], ids=[row[0] for row in BREAKS])
def test_a_record_that_breaks_a_rule(scripts, format, record, status):
    """Nothing of it is written, and nothing behind it."""
    before, after = scripts.run((f"senml-{format}:2", 4096, calls)
                                for calls in ("", f"{call(record)} {call({'n': 'a', 'v': 1})}"))
    assert (after.status, after.last) == (status, status)
    assert (after.length, after.buffer) == (before.length, before.buffer)


@pytest.mark.parametrize("format", ["json", "cbor"])
@pytest.mark.parametrize("records, calls, status", [
    (1, "nothing", NULL), (1, "record:n=null,v=0", NULL), (1, "record:n=61,vd=null", NULL), (0, "", OPTION),
    (1, call({"bver": 5}) + " " + call({"bver": 5}), STATE), (2, call({"bver": 5}) + " " + call({"bver": 6}), OPTION),
    (1, f"{call({'n': 'a', 'v': 1})} {call({'n': 'a', 'v': 1})}", STATE), (2, call({"n": "a", "v": 1}), STATE),
    # The base name of an earlier record is over.
    (3, f"{call({'bn': 'a'})} {call({'bn': ''})} {call({'v': 1})}", OPTION),
    (3, f"{call({'bn': 'a'})} {call({'bn': ''})} {call({'n': ':b', 'v': 1})}", OPTION),
    *((1, f"record:n=61,vs={hex}", UTF8) for hex in ILL_FORMED),
])
def test_other_wrong_calls(scripts, format, records, calls, status):
    assert scripts.one(f"senml-{format}:{records}", calls).status == status


GOOD = [
    {"n": "a", "s": 1.5}, {"n": "a", "v": 1, "s": 2}, {"n": "a", "vd": b""}, {"n": "a", "vs": ""}, {"bn": "a:", "n": "/b", "v": 1},
    {"n": "0aZ-:./_", "v": 1}, {"bn": "b", "v": 2, "ut": 60}, {"bv": 1.5, "bs": -2, "n": "a", "v": 0},
    {"bver": 11, "n": "a", "v": 1}, {"bt": 1e9, "bu": "Cel"},
]


def as_cbor(record: dict[str, object]) -> dict[int, object]:
    """As the writer orders the fields; whole numbers are integers."""
    order = ["bn", "bt", "bu", "bv", "bs", "bver", "n", "u", "t", "ut", "v", "vs", "vb", "vd", "s"]
    whole = {name: int(value) if name in NUMBERS and float(value).is_integer() and abs(value) < 1 << 53
             and bits(float(value)) != bits(-0.0) else value for name, value in record.items()}
    return {LABELS[name]: whole[name] for name in order if name in whole}


@pytest.mark.parametrize("record", GOOD)
def test_a_record_that_breaks_none(scripts, record):
    assert json.loads(add(scripts, "json", [record]).payload) == [as_json(record)]
    assert repr(decoded([add(scripts, "cbor", [record]).payload])[0]) == repr([as_cbor(record)])


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
@pytest.mark.parametrize("format", ["json", "cbor"])
def test_a_buffer_of_every_size(request, which, format):
    records = [EXAMPLES["5.1.5"][0], *EXAMPLES["5.1.5"][2:]]
    grows_token_by_token(request.getfixturevalue(which), f"senml-{format}:{len(records)}", list(map(call, records)))


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
def test_any_pack_says_the_same_in_both(request, which):
    source = seeded()

    def record(first: bool) -> dict[str, object]:
        made: dict[str, object] = {"bn": "urn:dev:x:"} if first else {}
        for name in ("bt", "bv", "bs", "t", "ut", "s"):
            if source.randrange(3) == 0:
                made[name] = random_double(source)
        for name, value in (("bu", "Cel"), ("n", f"sensor-{source.randrange(99)}"), ("u", "°\n")):
            if source.randrange(2):
                made[name] = value
        value = source.choice(("v", "vs", "vb", "vd"))
        made[value] = {"v": random_double(source), "vs": "é\0\"", "vb": bool(source.randrange(2)),
                       "vd": source.randbytes(source.randrange(9))}[value]
        return made

    packs = [[record(number == 0) for number in range(source.randrange(1, 6))] for _ in range(100 if QEMU else 1000)]
    made = {format: request.getfixturevalue(which).run((f"senml-{format}:{len(pack)}", 8000, " ".join(map(call, pack)))
                                                       for pack in packs) for format in ("json", "cbor")}
    for pack, result in zip(packs, made["json"]):
        assert json.loads(result.payload) == [as_json(record) for record in pack]
    read = decoded(result.payload for result in made["cbor"])
    # repr(), because 1 == 1.0 == True.
    assert list(map(repr, read)) == [repr(list(map(as_cbor, pack))) for pack in packs]
