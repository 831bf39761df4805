"""Topics: both libraries let the same pass, and take the same for a match."""

from __future__ import annotations

import itertools
import random
from ctypes import POINTER, byref, c_byte, c_char_p, c_int, c_size_t, c_void_p

import pytest

TOPICS = (
    None, b"", b"a", b"/", b"//", b"a/", b"/a", b"a/b", b"a//b", b"#", b"+", b"a/#", b"a/+", b"a#", b"#a", b"a+", b"+a",
    b"a/+/b", b"+/+", b"+/#", b"a/+/#", b"++", b"#/", b"a/#/", b"a/#/b", b"a//#", b"$", b"$SYS", b"$SYS/#", b"$SYS/+",
    b"$SYS/a", b"/$a", b"$share", b"$share/g", b"$share//a", b"$share/g/", b"$share/g/a", b"$share/g/#", b"$share/+/a",
    b"\x01", b"\x7f", b" ", b"\xff", b"\xff+", b"+\xff", b"\xc2\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbf\xbe",
    b"a" * 65_535, b"a" * 65_536, b"a/" * 32_767 + b"+", b"a/" * 32_767 + b"+b", b"a" * 70_000)


@pytest.fixture(params=["pub_topic_check", "sub_topic_check"])
def check(request):
    return f"mosquitto_{request.param}"


def test_checks(real, ours, check):
    for topic in TOPICS:
        expected = getattr(real, check)(topic)
        assert getattr(ours, check)(topic) == expected, topic and topic[:20]


def test_checks_with_a_size(real, ours, check):
    def status(library, topic, size):
        function = getattr(library, f"{check}2")
        function.argtypes = [c_char_p, c_size_t]
        return function(topic, size)

    cases = [(topic, size) for topic in TOPICS for size in ({0, 1, len(topic)} if topic else {0, 1})]
    cases += [(b"a", 2**64 - 1), (b"\0+", 2), (b"+\0", 2), (b"\0#", 2), (b"#\0", 2), (b"a\0+/#", 5), (b"a/+a", 3)]
    draw = random.Random(21)
    for _ in range(20_000):
        topic = bytes(draw.choices(b"a/+#$\0\xff", k=draw.randrange(7)))
        cases.append((topic, draw.randint(0, len(topic))))
    for topic, size in cases:
        assert status(ours, topic, size) == status(real, topic, size), (topic and topic[:20], size)


def match(library, topic_filter, topic):
    result = c_byte(7)
    return library.mosquitto_topic_matches_sub(topic_filter, topic, byref(result)), result.value


def test_matches(real, ours):
    for topic_filter, topic in itertools.product(TOPICS, TOPICS):
        assert match(ours, topic_filter, topic) == match(real, topic_filter, topic), (topic_filter, topic)
    for library in (real, ours):
        assert library.mosquitto_topic_matches_sub(b"a", b"a", None) == 3


def test_matches_whatever_they_are(real, ours):
    draw = random.Random(22)
    matched = 0
    for _ in range(100_000):
        topic_filter = b"".join(
            draw.choices((b"a", b"b", b"/", b"+", b"#", b"$", b"/+/", b"/#"), (2, 1, 2, 1, 1, 0.3, 2, 1),
                         k=draw.randint(1, 7)))
        topic = b"".join(
            draw.choices((b"a", b"b", b"/", b"+", b"#", b"$"), (4, 1, 4, 0.2, 0.2, 0.3), k=draw.randint(1, 7)))
        expected = match(real, topic_filter, topic)
        assert match(ours, topic_filter, topic) == expected, (topic_filter, topic)
        matched += expected[1]
    assert matched > 1000


def test_matches_with_sizes(real, ours):
    def sized(library, *arguments):
        result = c_byte(7)
        function = library.mosquitto_topic_matches_sub2
        function.argtypes = [c_char_p, c_size_t, c_char_p, c_size_t, c_void_p]
        return function(*arguments, byref(result)), result.value

    for topic_filter, topic in itertools.product((None, b"", b"a", b"a/#", b"a/#x", b"a\0b", b"abc", b"+"), repeat=2):
        for one, other in itertools.product((0, 1, 2, 3, 5), repeat=2):
            arguments = topic_filter, one, topic, other
            assert sized(ours, *arguments) == sized(real, *arguments), arguments


def test_utf8(real, ours):
    def same(text, size=None):
        size = len(text) if size is None else size
        expected = real.mosquitto_validate_utf8(text, size)
        assert ours.mosquitto_validate_utf8(text, size) == expected, (text[:20], size)
        return expected

    for code in range(0x110000):
        same(chr(code).encode("utf-8", "surrogatepass"))
    for pair in itertools.product(range(256), repeat=2):
        same(bytes(pair))
    # Where the size ends within a character and its rest follows, libmosquitto reads on; we do not.
    edges = (0x1F, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xB7, 0xBE, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
             0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF)
    for text in itertools.product(edges, repeat=3):
        same(bytes(text))
    draw = random.Random(23)
    good = sum(same(bytes(draw.choices(edges, k=4))) == 0 for _ in range(100_000))
    assert good > 50
    for size in (-2**31, -1, 0, 1, 65_535, 65_536, 65_537, 2**31 - 1):
        same(b"a" * 70_000, size)
    for size in (-1, 0, 1):
        assert ours.mosquitto_validate_utf8(None, size) == real.mosquitto_validate_utf8(None, size)


def test_levels(real, ours):
    def levels(library, topic):
        array, count = POINTER(c_char_p)(), c_int(-9)
        status = library.mosquitto_sub_topic_tokenise(topic, byref(array), byref(count))
        if status != 0:
            return status, bool(array), count.value
        found = [array[index] for index in range(count.value)]
        return status, found, library.mosquitto_sub_topic_tokens_free(byref(array), count)

    draw = random.Random(24)
    for topic in (*TOPICS, *(bytes(draw.choices(b"ab//+#", k=draw.randrange(12))) for _ in range(2000))):
        assert levels(ours, topic) == levels(real, topic), topic and topic[:20]


def test_levels_that_have_no_place(real, ours):
    results = []
    for library in (real, ours):
        nothing, some, count = c_void_p(), POINTER(c_char_p)(), c_int()
        tokenise, free = library.mosquitto_sub_topic_tokenise, library.mosquitto_sub_topic_tokens_free
        assert tokenise(b"a/b", byref(some), byref(count)) == 0
        results.append((
            tokenise(b"a", None, byref(count)), tokenise(b"a", byref(nothing), None), free(None, 1),
            free(byref(nothing), 1), free(byref(nothing), 0), free(byref(some), 0), free(byref(some), -1), bool(some),
            free(byref(some), 2)))
    assert results[1] == results[0]
