"""Lists of properties: both libraries take, refuse, find and tell the same."""

from __future__ import annotations

import ctypes
import random
from ctypes import byref, c_int, c_void_p

import pytest

from .property_lists import COMMANDS, KINDS, NUMBERS, UNTOUCHED, PropertyList

STRINGS = (
    None, b"", b"a", b"\xc3\xa9", b"\x01", b"\x1f", b"\x7f", b"\xc2\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xb7\x90",
    b"\xef\xbf\xbe", b"\xf0\x9f\xbf\xbf", b"\xf0\x9f\x98\x80", b"\xff", b"x" * 65_534, b"x" * 65_535, b"x" * 65_536,
    b"x" * 65_537, b"x" * 140_000)
SOME = {
    "byte": (1,), "int16": (1,), "int32": (1,), "varint": (1,), "binary": (b"ab", 2), "string": (b"x",),
    "string_pair": (b"n", b"v")}
IDENTIFIERS = {
    "byte": (1, 23, 25, 36, 37, 40, 41, 42), "int16": (19, 33, 34, 35), "int32": (2, 17, 24, 39), "varint": (11,),
    "binary": (9, 22), "string": (3, 8, 18, 21, 26, 28, 31), "string_pair": (38,)}


@pytest.fixture
def lists(real, ours):
    pair = PropertyList(real), PropertyList(ours)
    yield pair
    for one in pair:
        one.free()


def add(lists, kind, identifier, *values, nowhere=False):
    expected, got = (one.add(kind, identifier, *values, nowhere=nowhere) for one in lists)
    assert got == expected, (kind, identifier, [value if value is None else str(value)[:20] for value in values])
    return got


@pytest.mark.parametrize("kind", KINDS)
def test_add_takes_the_identifiers_of_its_kind(lists, kind):
    taken = [identifier for identifier in range(-5, 300) if add(lists, kind, identifier, *SOME[kind]) == 0]
    assert tuple(taken) == IDENTIFIERS[kind]
    assert lists[1].identifiers() == lists[0].identifiers() == taken
    assert add(lists, kind, IDENTIFIERS[kind][0], *SOME[kind], nowhere=True) != 0


def test_add_varint_has_a_limit(lists):
    results = [add(lists, "varint", 11, value) for value in (0, 268_435_455, 268_435_456, 0xFFFF_FFFF)]
    assert results == [0, 0, 3, 3]


@pytest.mark.parametrize(
    "string", STRINGS, ids=lambda string: "NULL" if string is None else f"{string[:4]}{len(string)}")
def test_add_strings(lists, string):
    add(lists, "string", 3, string)
    add(lists, "string", 1, string)
    add(lists, "string", 3, string, nowhere=True)
    add(lists, "string_pair", 38, string, b"v")
    add(lists, "string_pair", 38, b"n", string)
    add(lists, "string_pair", 1, string, b"v")
    add(lists, "string_pair", 38, string, b"v", nowhere=True)
    expected, got = (one.content() for one in lists)
    assert got == expected


def test_add_binary(lists):
    for value, size in ((None, 0), (b"x", 0), (b"a\0b", 3), (b"x" * 65_535, 65_535)):
        assert add(lists, "binary", 9, value, size) == 0
    expected, got = (one.content() for one in lists)
    assert got == expected


def test_add_binary_that_is_not_there(ours):
    """libmosquitto crashes."""
    assert PropertyList(ours).add("binary", 9, None, 3) == 3


def test_values(lists):
    for kind in NUMBERS:
        for identifier in IDENTIFIERS[kind]:
            for value in (0, 1, 2, 255, 65_535, 0x0FFF_FFFF, 0xFFFF_FFFF):
                value &= (1 << 8 * ctypes.sizeof(NUMBERS[kind])) - 1
                add(lists, kind, identifier, value)
                expected, got = (one.content() for one in lists)
                assert got == expected
                for one in lists:
                    one.free()


def test_random_lists(real, ours):
    draw = random.Random(20)
    for _ in range(150):
        lists = PropertyList(real), PropertyList(ours)
        copyable = True
        for _ in range(draw.choice((1, 2, 3, 5, 9))):
            kind = draw.choice(KINDS)
            identifier = draw.choice(IDENTIFIERS[kind])
            if kind in NUMBERS:
                values = (draw.choice((0, 1, 2, 200)),)
            elif kind == "binary":
                size = draw.randrange(20)
                values = (draw.randbytes(size), size)
            else:
                count = 1 + (kind == "string_pair")
                values = tuple(draw.choice((b"a", b"c", b"", None, b"\xff", b"b" * 300)) for _ in range(count))
                copyable = copyable and all(values)
            add(lists, kind, identifier, *values)
        expected, got = (one.content() for one in lists)
        assert got == expected
        # libmosquitto crashes where it copies an empty string or none.
        for one in lists[0 if copyable else 1:]:
            status, copy = one.copy()
            assert status == 0 and copy.content() == expected
            copy.free()
        for one in lists:
            one.free()


def test_what_is_not_asked_for(lists):
    for kind, identifiers in IDENTIFIERS.items():
        add(lists, kind, identifiers[0], *SOME[kind])
    for wanted in ("", "n", "v"):
        for kind in KINDS:
            for identifier in (IDENTIFIERS[kind][0], IDENTIFIERS[kind][-1], 1, 9, 0, -1):
                for start in (0, 99):  # 99: NULL for a list
                    expected, got = (one.read(kind, identifier, start=start, wanted=wanted) for one in lists)
                    assert got == expected, (kind, identifier, wanted, start)


def test_no_list(real, ours):
    results = []
    for library in (real, ours):
        one = PropertyList(library)
        untouched = c_void_p(UNTOUCHED)
        add_one = PropertyList(library)
        add_one.add("byte", 1, 1)
        one.function("free_all")(None)
        results.append((
            one.function("next")(None), one.function("identifier")(None), one.check(),
            one.function("copy_all")(None, None), one.function("copy_all")(byref(untouched), None), untouched.value,
            one.function("copy_all")(None, add_one.first)))
        add_one.free()
        add_one.free()
    assert results[1] == results[0]


def test_check_command(real, ours):
    for command in (*COMMANDS, *range(-2, 0x130)):
        for identifier in (*range(-2, 60), 256 + 38):
            expected = real.mosquitto_property_check_command(command, identifier)
            assert ours.mosquitto_property_check_command(command, identifier) == expected, (command, identifier)


def test_identifier_to_string(real, ours):
    for identifier in (*range(-10, 300), -(2**31), 2**31 - 1):
        expected = real.mosquitto_property_identifier_to_string(identifier)
        assert ours.mosquitto_property_identifier_to_string(identifier) == expected, identifier


def test_string_to_property_info(real, ours):
    def info(library, name):
        identifier, kind = c_int(UNTOUCHED), c_int(UNTOUCHED)
        status = library.mosquitto_string_to_property_info(name, byref(identifier), byref(kind))
        return status, identifier.value, kind.value

    names = [name for identifier in range(43) if (name := real.mosquitto_property_identifier_to_string(identifier))]
    assert len(names) == 27
    for name in names:
        for text in (name, name.upper(), name.title(), name[:-1], name + b"s", name.replace(b"-", b"\r"), b" " + name):
            assert info(ours, text) == info(real, text), text
    for text in (None, b"", b"-", b"\xff"):
        assert info(ours, text) == info(real, text), text
