"""The writer of JSON: what it writes is what Python's json reads, and its numbers are as short as Python's repr()."""

from __future__ import annotations

import json
import struct

import pytest

from .payload_script import (
    FULL, ILL_FORMED, NULL, OK, OPTION, QEMU, STATE, TOO_LARGE, UTF8, bits, grows_token_by_token, random_double, sanitized,
    scripts, seeded, text)

__all__ = ["sanitized", "scripts"]
MANY = 2000 if QEMU else 100_000

WRITTEN = [
    ("null", "null"), ("bool:1", "true"), ("bool:0", "false"), ("bool:7", "true"),
    ("int:0", "0"), ("int:-1", "-1"), ("int:9223372036854775807", "9223372036854775807"),
    ("int:-9223372036854775808", "-9223372036854775808"), ("uint:18446744073709551615", "18446744073709551615"),
    (f"double:{bits(0.0)}", "0"), (f"double:{bits(-0.0)}", "-0.0"), (f"double:{bits(21.5)}", "21.5"),
    (f"double:{bits(0.1)}", "0.1"), (f"double:{bits(100.0)}", "100"), (f"double:{bits(-1e15)}", "-1000000000000000"),
    (f"double:{bits(1e16)}", "1e16"), (f"double:{bits(1.25e300)}", "1.25e300"), (f"double:{bits(1e-4)}", "0.0001"),
    (f"double:{bits(1.5e-5)}", "1.5e-5"), (f"double:{bits(5e-324)}", "5e-324"),
    (f"double:{bits(-2.2250738585072014e-308)}", "-2.2250738585072014e-308"),
    (f"double:{bits(2.0 ** -44)}", "5.684341886080802e-14"),  # half as far to the number below it
    (f"double:{bits(9007199254740993.0)}", "9007199254740992"),
    ("float:3dcccccd", "0.1"), ("float:7f7fffff", "3.4028235e38"), ("float:00000001", "1e-45"), ("float:80000000", "-0.0"),
    # 7.038531e-26 reads back as this float, but not where a reader rounds to a double first.
    ("float:15ae43fd", "7.0385307e-26"),
    ("string:", '""'), (f"string:{text('a/é😀')}", '"a/é😀"'), (f"string:{text(chr(127))}", '"\x7f"'),
    (f"string:{text(chr(34) + chr(92))}", r'"\"\\"'),
    (f"string:{text(bytes(range(32)))}", r'"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f'
     r'\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"'),
    # RFC 4648, section 10, without padding.
    ("base64url:", '""'), (f"base64url:{text('f')}", '"Zg"'), (f"base64url:{text('fo')}", '"Zm8"'),
    (f"base64url:{text('foo')}", '"Zm9v"'), (f"base64url:{text('foob')}", '"Zm9vYg"'),
    (f"base64url:{text('foobar')}", '"Zm9vYmFy"'), ("base64url:fbff", '"-_8"'),
    (f"raw:{text('[1, 2]')}", "[1, 2]"),
    ("object end", "{}"), ("array end", "[]"), ("array array end array end end", "[[],[]]"),
    ("object key:61 int:1 key:62 array int:2 null end key: object end end", '{"a":1,"b":[2,null],"":{}}'),
    (f"object key:{text('ü' + chr(10))} bool:1 end", '{"ü\\n":true}'),
]


@pytest.mark.parametrize("calls, expected", WRITTEN)
def test_written(scripts, calls, expected):
    made = scripts.one("json", calls)
    assert made.payload == expected.encode()
    json.loads(made.payload)


WRONG = [
    ("object int:1", STATE), ("object key:61 key:62", STATE), ("object key:61 end", STATE), ("array key:61", STATE),
    ("key:61", STATE), ("end", STATE), ("array end end", STATE), ("int:1 int:2", STATE), ("array end array", STATE),
    (f"double:{bits(float('nan'))}", OPTION), (f"double:{bits(float('inf'))}", OPTION),
    (f"double:{bits(float('-inf'))}", OPTION), ("float:7f800000", OPTION), ("float:7fc00001", OPTION), ("raw:", OPTION),
    ("string:null", NULL), ("base64url:null", NULL), ("raw:null", NULL), ("object key:null", NULL), ("raw:80", UTF8),
    ("array " * 33, TOO_LARGE), ("object key:61 " * 33, TOO_LARGE),
    *((f"string:{hex}", UTF8) for hex in ILL_FORMED), *((f"object key:{hex}", UTF8) for hex in ILL_FORMED),
]


@pytest.mark.parametrize("size", [4096, 0])
@pytest.mark.parametrize("calls, status", WRONG)
def test_a_wrong_call_decides(scripts, calls, status, size):
    """It writes nothing, and neither does what follows, with room or without."""
    before, after = scripts.run([("json", size, calls.strip().rpartition(" ")[0]), ("json", size, f"{calls} null array end end")])
    assert (after.status, after.last) == (status, status)
    assert (after.length, after.buffer) == (before.length, before.buffer)


@pytest.mark.parametrize("calls", ["", "array", "object", "object key:61", "array array end"])
def test_what_is_not_whole_is_not_finished(scripts, calls):
    made = scripts.one("json", calls)
    assert (made.status, made.last) == (STATE, OK)


def test_as_deep_as_it_says(scripts):
    assert scripts.one("json", "array " * 32 + "end " * 32).payload == b"[" * 32 + b"]" * 32
    # Objects within arrays, each with its own rules.
    mixed = "object key:61 array " * 16 + "end end " * 16
    assert scripts.one("json", mixed).payload == b'{"a":[' * 16 + b"]}" * 16


CALLS = ["object", "key:6122", f"double:{bits(-12.25)}", "key:62", "array", "int:-170", "string:c3a90a22", "null", "end",
         "key:63", "base64url:0102030405", "key:64", "object", "key:65", "raw:5b5d", "end", "end"]


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
def test_a_buffer_of_every_size(request, which):
    grows_token_by_token(request.getfixturevalue(which), "json", CALLS)


def test_a_full_buffer_is_said_at_once(scripts):
    made = scripts.one("json", "array int:1 int:22", 3)
    assert (made.last, made.length, made.buffer) == (FULL, 5, b"[1\xa5")
    # Nothing smaller is written behind what did not fit.
    assert scripts.one("json", "array int:22 int:1 end", 3).buffer == b"[22"
    assert scripts.one("json", "array int:222 int:1 end", 3).buffer == b"[\xa5\xa5"


# ---- Numbers


def digits(number: str) -> str:
    return number.lstrip("-").partition("e")[0].replace(".", "").strip("0")


@pytest.mark.parametrize("which, count", [("scripts", MANY), ("sanitized", 10_000)])
def test_doubles_are_exact_and_shortest(request, which, count):
    source = seeded()
    values = [random_double(source) for _ in range(count)]
    made = request.getfixturevalue(which).run(("json", 24, f"double:{bits(value)}") for value in values)
    for value, result in zip(values, made):
        written = result.payload.decode()
        assert bits(float(written)) == bits(value), written
        assert digits(written) == digits(repr(value)), written
        assert len(written) <= len(repr(value)), written
        if value != 0 and abs(value) < 1 << 53 or "e" in written or "." in written:
            assert json.loads(written) == value


@pytest.mark.parametrize("which, count", [("scripts", MANY), ("sanitized", 10_000)])
def test_floats_are_exact_by_way_of_a_double(request, which, count):
    source = seeded()
    patterns = [source.choice((source.getrandbits(32), source.randrange(255) << 23 | source.choice((0, 1, (1 << 23) - 1))))
                for _ in range(count)]
    patterns = [pattern for pattern in patterns if pattern >> 23 & 255 != 255]
    made = request.getfixturevalue(which).run(("json", 24, f"float:{pattern:08x}") for pattern in patterns)
    for pattern, result in zip(patterns, made):
        written = result.payload.decode()
        assert struct.pack(">f", float(written)).hex() == f"{pattern:08x}", written
        assert len(digits(written)) <= 9
        # No decimal with one digit less reads back as it.
        value = struct.unpack(">f", pattern.to_bytes(4, "big"))[0]
        if len(digits(written)) > 1:
            shorter = f"{value:.{len(digits(written)) - 2}e}"
            if abs(float(shorter)) < 3.4e38:
                assert struct.pack(">f", float(shorter)).hex() != f"{pattern:08x}", (written, shorter)


# ---- Any value


def random_string(source) -> str:
    letters = [*map(chr, range(128)), "é", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffe", "\uffff", "\U00010000", "\U0010ffff",
               "\u2028"]
    return "".join(source.choice(letters) for _ in range(source.randrange(12)))


def random_value(source, depth: int = 0) -> tuple[list[str], object]:
    """The calls, and what Python reads."""
    kind = source.randrange(8 if depth < 5 else 6)
    if kind == 0:
        return source.choice(((["null"], None), (["bool:1"], True), (["bool:0"], False)))
    if kind == 1:
        number = source.randrange(-(1 << 63), 1 << 63) >> source.randrange(64)
        return [f"int:{number}"], number
    if kind == 2:
        number = source.getrandbits(64)
        return [f"uint:{number}"], number
    if kind == 3:
        number = random_double(source)
        return [f"double:{bits(number)}"], number
    if kind in (4, 5):
        string = random_string(source)
        return [f"string:{text(string)}"], string
    members = [random_value(source, depth + 1) for _ in range(source.randrange(5))]
    if kind == 6:
        return ["array", *(call for calls, _ in members for call in calls), "end"], [value for _, value in members]
    # A name has no U+0000 in C; a number makes it unique.
    names = [f"{index}{random_string(source)}".replace("\0", "") for index in range(len(members))]
    calls = [call for name, (inner, _) in zip(names, members) for call in (f"key:{text(name)}", *inner)]
    return ["object", *calls, "end"], {name: value for name, (_, value) in zip(names, members)}


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
def test_python_reads_any_value(request, which):
    source = seeded()
    values = [random_value(source) for _ in range(500 if QEMU else 5000)]
    made = request.getfixturevalue(which).run(("json", 8000, " ".join(calls)) for calls, _ in values)
    for (_, value), result in zip(values, made):
        assert json.loads(result.payload) == value
