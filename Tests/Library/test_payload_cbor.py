"""The writer of CBOR: the examples of RFC 8949 byte for byte, and any item as another implementation reads it."""

from __future__ import annotations

import struct

import pytest

from Support.cbor import decoded
from .payload_script import (
    FULL, ILL_FORMED, NULL, OK, OPTION, QEMU, STATE, TOO_LARGE, UTF8, bits, double_of, grows_token_by_token, random_double,
    sanitized, scripts, seeded, text)

__all__ = ["sanitized", "scripts"]
INFINITY = float("inf")

# RFC 8949, appendix A: all but those with indefinite lengths, and those in which a number is not in its shortest form.
APPENDIX_A = [
    ("uint:0", "00"), ("uint:1", "01"), ("uint:10", "0a"), ("uint:23", "17"), ("uint:24", "1818"), ("uint:25", "1819"),
    ("uint:100", "1864"), ("uint:1000", "1903e8"), ("uint:1000000", "1a000f4240"), ("int:1000000000000", "1b000000e8d4a51000"),
    ("uint:18446744073709551615", "1bffffffffffffffff"), ("tag:2 bytes:010000000000000000", "c249010000000000000000"),
    ("negative:18446744073709551615", "3bffffffffffffffff"), ("tag:3 bytes:010000000000000000", "c349010000000000000000"),
    ("int:-1", "20"), ("int:-10", "29"), ("int:-100", "3863"), ("int:-1000", "3903e7"),
    (f"double:{bits(0.0)}", "f90000"), (f"double:{bits(-0.0)}", "f98000"), (f"double:{bits(1.0)}", "f93c00"),
    (f"double:{bits(1.1)}", "fb3ff199999999999a"), (f"double:{bits(1.5)}", "f93e00"), (f"double:{bits(65504.0)}", "f97bff"),
    (f"double:{bits(100000.0)}", "fa47c35000"), (f"double:{bits(3.4028234663852886e38)}", "fa7f7fffff"),
    (f"double:{bits(1.0e300)}", "fb7e37e43c8800759c"), (f"double:{bits(5.960464477539063e-8)}", "f90001"),
    (f"double:{bits(0.00006103515625)}", "f90400"), (f"double:{bits(-4.0)}", "f9c400"),
    (f"double:{bits(-4.1)}", "fbc010666666666666"), (f"double:{bits(INFINITY)}", "f97c00"),
    ("double:7ff8000000000000", "f97e00"), (f"double:{bits(-INFINITY)}", "f9fc00"),
    ("bool:0", "f4"), ("bool:1", "f5"), ("null", "f6"), ("undefined", "f7"), ("simple:16", "f0"), ("simple:255", "f8ff"),
    (f"tag:0 text:{text('2013-03-21T20:04:00Z')}", "c074323031332d30332d32315432303a30343a30305a"),
    ("tag:1 uint:1363896240", "c11a514b67b0"), (f"tag:1 double:{bits(1363896240.5)}", "c1fb41d452d9ec200000"),
    ("tag:23 bytes:01020304", "d74401020304"), ("tag:24 bytes:6449455446", "d818456449455446"),
    (f"tag:32 text:{text('http://www.example.com')}", "d82076687474703a2f2f7777772e6578616d706c652e636f6d"),
    ("bytes:", "40"), ("bytes:01020304", "4401020304"), ("text:", "60"), (f"text:{text('a')}", "6161"),
    (f"text:{text('IETF')}", "6449455446"), ("text:225c", "62225c"), (f"text:{text(chr(0xFC))}", "62c3bc"),
    (f"text:{text(chr(0x6C34))}", "63e6b0b4"), (f"text:{text(chr(0x10151))}", "64f0908591"),
    ("array:0 end", "80"), ("array:3 uint:1 uint:2 uint:3 end", "83010203"),
    ("array:3 uint:1 array:2 uint:2 uint:3 end array:2 uint:4 uint:5 end end", "8301820203820405"),
    (f"array:25 {' '.join(f'uint:{n}' for n in range(1, 26))} end", "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
    ("map:0 end", "a0"), ("map:2 uint:1 uint:2 uint:3 uint:4 end", "a201020304"),
    ("map:2 text:61 uint:1 text:62 array:2 uint:2 uint:3 end end", "a26161016162820203"),
    ("array:2 text:61 map:1 text:62 text:63 end end", "826161a161626163"),
    ("map:5 text:61 text:41 text:62 text:42 text:63 text:43 text:64 text:44 text:65 text:45 end",
     "a56161614161626142616361436164614461656145"),
]

# Where a head or a number becomes longer, and NaNs, whose payload stays (section 4.1).
MORE = [
    ("uint:255", "18ff"), ("uint:256", "190100"), ("uint:65535", "19ffff"), ("uint:65536", "1a00010000"),
    ("uint:4294967295", "1affffffff"), ("uint:4294967296", "1b0000000100000000"), ("int:-24", "37"), ("int:-25", "3818"),
    ("int:-9223372036854775808", "3b7fffffffffffffff"), ("simple:0", "e0"), ("simple:23", "f7"), ("simple:32", "f820"),
    (f"bytes:{'00' * 24}", "5818" + "00" * 24), ("float:3dcccccd", "fa3dcccccd"), ("float:3f800000", "f93c00"),
    (f"double:{bits(2.0 ** -14 - 2.0 ** -24)}", "f903ff"), (f"double:{bits(2.0 ** -25)}", "fa33000000"),
    (f"double:{bits(65520.0)}", "fa477ff000"), (f"double:{bits(65536.0)}", "fa47800000"), (f"double:{bits(2.0 ** -149)}", "fa00000001"),
    (f"double:{bits(2.0 ** -126 - 2.0 ** -149)}", "fa007fffff"), (f"double:{bits(2.0 ** -150)}", "fb3690000000000000"),
    (f"double:{bits(2.0 ** 128)}", "fb47f0000000000000"), (f"double:{bits(5e-324)}", "fb0000000000000001"),
    ("double:fff8000000000000", "f9fe00"), ("double:7ff0040000000000", "f97c01"), ("double:7ff8000020000000", "fa7fc00001"),
    ("double:7ff8000000000001", "fb7ff8000000000001"), ("tag:55799 tag:1 uint:0", "d9d9f7c100"),
]


@pytest.mark.parametrize("calls, expected", APPENDIX_A + MORE)
def test_written(scripts, calls, expected):
    assert scripts.one("cbor", calls).payload.hex() == expected


WRONG = [
    ("end", STATE), ("array:1 end", STATE), ("array:1 uint:1 uint:2", STATE), ("map:1 uint:1 end", STATE),
    ("map:1 uint:1 uint:2 uint:3", STATE), ("array:0 end end", STATE), ("uint:1 uint:2", STATE), ("array:1 tag:1 end", STATE),
    ("array:0 tag:1", STATE), ("simple:24", OPTION), ("simple:31", OPTION), ("simple:256", OPTION), ("text:null", NULL),
    ("bytes:null", NULL), ("array:1 " * 17, TOO_LARGE), *((f"text:{hex}", UTF8) for hex in ILL_FORMED),
]


@pytest.mark.parametrize("size", [4096, 0])
@pytest.mark.parametrize("calls, status", WRONG)
def test_a_wrong_call_decides(scripts, calls, status, size):
    """It writes nothing, and neither does what follows, with room or without."""
    before, after = scripts.run([("cbor", size, calls.strip().rpartition(" ")[0]), ("cbor", size, f"{calls} null end end")])
    assert (after.status, after.last) == (status, status)
    assert (after.length, after.buffer) == (before.length, before.buffer)


@pytest.mark.parametrize("calls", ["", "array:0", "array:1", "map:1 uint:1", "tag:1", "array:1 array:0 end"])
def test_what_is_not_whole_is_not_finished(scripts, calls):
    made = scripts.one("cbor", calls)
    assert (made.status, made.last) == (STATE, OK)


def test_as_deep_as_it_says(scripts):
    assert scripts.one("cbor", "array:1 " * 15 + "array:0 " + "end " * 16).payload == b"\x81" * 15 + b"\x80"


CALLS = ["map:3", "text:6162", f"double:{bits(-12.1)}", "int:-1000", "array:3", "uint:24", "tag:1", f"double:{bits(1.5)}", "null",
         "end", "bytes:0102030405", "text:c3a9", "end"]


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
def test_a_buffer_of_every_size(request, which):
    grows_token_by_token(request.getfixturevalue(which), "cbor", CALLS)


def test_a_full_buffer_is_said_at_once(scripts):
    made = scripts.one("cbor", "array:2 text:6161 uint:1", 3)
    assert (made.last, made.length, made.buffer) == (FULL, 5, b"\x82\xa5\xa5")


# ---- Floating-point numbers: the shortest that has the value, which is what struct says


def shortest(value: float) -> str:
    for letter, head in (("e", "f9"), ("f", "fa")):
        try:
            packed = struct.pack(f">{letter}", value)
        except OverflowError:
            continue
        if bits(struct.unpack(f">{letter}", packed)[0]) == bits(value):
            return head + packed.hex()
    return "fb" + bits(value)


def candidates(source, count: int) -> list[float]:
    """Those of each length, and of one bit more."""
    values = [random_double(source) for _ in range(count)]
    for _ in range(count):
        half = struct.unpack(">e", source.getrandbits(16).to_bytes(2, "big"))[0]
        single = struct.unpack(">f", source.getrandbits(32).to_bytes(4, "big"))[0]
        for value in (half, single):
            if value - value == 0:
                values += [value, double_of(int(bits(value), 16) ^ 1 << source.randrange(52))]
    return values


@pytest.mark.parametrize("which, count", [("scripts", 1000 if QEMU else 30_000), ("sanitized", 5000)])
def test_numbers_are_as_short_as_they_can_be(request, which, count):
    values = candidates(seeded(), count)
    made = request.getfixturevalue(which).run(("cbor", 9, f"double:{bits(value)}") for value in values)
    for value, result in zip(values, made):
        assert result.payload.hex() == shortest(value), value


def test_every_half(scripts):
    """NaNs, too: the 65,536 patterns of half precision, widened, come back."""
    def widened(pattern: int) -> str:
        if pattern & 0x7C00 == 0x7C00:
            return f"{(pattern >> 15 << 63) | 0x7FF << 52 | (pattern & 0x3FF) << 42:016x}"
        return bits(struct.unpack(">e", pattern.to_bytes(2, "big"))[0])

    made = scripts.run(("cbor", 3, f"double:{widened(pattern)}") for pattern in range(1 << 16))
    assert [result.payload.hex() for result in made] == [f"f9{pattern:04x}" for pattern in range(1 << 16)]


# ---- Any item, as Debian's cbor2 reads it


def random_item(source, depth: int = 0) -> tuple[list[str], object]:
    """The calls, and what Python reads."""
    kind = source.randrange(8 if depth < 5 else 6)
    if kind == 0:
        return source.choice(((["null"], None), (["bool:1"], True), (["bool:0"], False)))
    if kind == 1:
        number = source.randrange(-(1 << 63), 1 << 63) >> source.randrange(64)
        return [f"int:{number}"], number
    if kind == 2:
        number = source.getrandbits(64) >> source.randrange(64)
        return [f"negative:{number}"], -1 - number
    if kind == 3:
        number = random_double(source)
        return [f"double:{bits(number)}"], number
    if kind == 4:
        data = source.randbytes(source.randrange(30))
        return [f"bytes:{data.hex()}"], data
    if kind == 5:
        string = "".join(source.choice("a\0\"é\u0800\U0010ffff") for _ in range(source.randrange(12)))
        return [f"text:{text(string)}"], string
    members = [random_item(source, depth + 1) for _ in range(source.randrange(30 if depth > 3 else 5))]
    inner = [calls for calls, _ in members]
    if kind == 6:
        return [f"array:{len(members)}", *(call for calls in inner for call in calls), "end"], [value for _, value in members]
    keyed = [call for index, calls in enumerate(inner) for call in (f"uint:{index}", *calls)]
    return [f"map:{len(members)}", *keyed, "end"], dict(enumerate(value for _, value in members))


@pytest.mark.parametrize("which", ["scripts", "sanitized"])
def test_cbor2_reads_any_item(request, which):
    source = seeded()
    items = [random_item(source) for _ in range(300 if QEMU else 3000)]
    made = request.getfixturevalue(which).run(("cbor", 8000, " ".join(calls)) for calls, _ in items)
    read = decoded(result.payload for result in made)
    # repr(), because 1 == 1.0 == True.
    assert list(map(repr, read)) == [repr(value) for _, value in items]
