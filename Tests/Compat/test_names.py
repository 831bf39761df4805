"""Texts and the names of commands are the same to the letter."""

from __future__ import annotations

import ctypes
import errno
from ctypes import byref, c_int

import pytest

NUMBERS = (*range(-300, 1000), -(2**31), 2**31 - 1)
ERRNO = 14


@pytest.mark.parametrize("name", ["strerror", "connack_string", "reason_string"])
def test_texts(real, ours, name):
    function = f"mosquitto_{name}"
    known = set()
    for number in NUMBERS:
        ctypes.set_errno(errno.ENOENT)  # MOSQ_ERR_ERRNO asks for it
        expected = getattr(real, function)(number)
        ctypes.set_errno(errno.ENOENT)
        assert getattr(ours, function)(number) == expected, number
        known.add(expected)
    assert len(known) > 6


def test_strerror_tells_what_libc_says(real, ours):
    for number in (0, errno.ECONNREFUSED, errno.ETIMEDOUT, 9999):
        texts = []
        for library in (real, ours):
            ctypes.set_errno(number)
            texts.append(library.mosquitto_strerror(ERRNO))
        assert texts[1] == texts[0]


def test_commands(real, ours):
    def command(library, name):
        number = c_int(-7)
        return library.mosquitto_string_to_command(name, byref(number)), number.value

    names = (b"connect", b"connack", b"publish", b"puback", b"pubrec", b"pubrel", b"pubcomp", b"subscribe", b"suback",
             b"unsubscribe", b"unsuback", b"pingreq", b"pingresp", b"disconnect", b"auth", b"will")
    results = []
    for name in names:
        for text in (name, name.upper(), name.title(), name[:-1], name + b"x", b" " + name):
            expected = command(real, text)
            assert command(ours, text) == expected, text
            results.append(expected[1])
    assert len(set(results)) == 13
    for text in (b"", b"reserved", b"\xff"):
        assert command(ours, text) == command(real, text), text


def test_commands_that_are_not_there(ours):
    """libmosquitto crashes."""
    assert ours.mosquitto_string_to_command(None, byref(c_int())) == 3
    assert ours.mosquitto_string_to_command(b"connect", None) == 3
