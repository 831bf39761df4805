"""Messages that a program keeps: the copy is the same, and either library can free what the other allocated."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_void_p, sizeof

import pytest

libc = ctypes.CDLL(None)
libc.calloc.restype = c_void_p
libc.strdup.restype = c_void_p


class Message(Structure):
    _fields_ = [("mid", c_int), ("topic", c_void_p), ("payload", c_void_p), ("payloadlen", c_int), ("qos", c_int),
                ("retain", c_bool)]


def copied(library, topic, payload, size=None, **fields):
    kept = [text if text is None else ctypes.create_string_buffer(text) for text in (topic, payload)]
    source = Message(payloadlen=len(payload or b"") if size is None else size, **fields)
    source.topic, source.payload = (None if text is None else ctypes.addressof(text) for text in kept)
    target = Message(-1, None, None, -1, -1, False)
    status = library.mosquitto_message_copy(byref(target), byref(source))
    assert target.topic is None or target.topic != source.topic
    assert target.payload is None or target.payload != source.payload
    return status, target


def content(message):
    payload = message.payload and ctypes.string_at(message.payload, message.payloadlen + 1)
    topic = message.topic and ctypes.string_at(message.topic)
    return message.mid, topic, payload, message.payloadlen, message.qos, message.retain


@pytest.mark.parametrize("topic, payload, size", [
    (b"a", b"xyz", None), (b"a", b"x\0y", None), (b"", b"x", None), (b"a", b"", None), (b"a", None, None),
    (b"a", b"xyz", 0), (b"a", b"xyz", 2), (b"t" * 65_535, b"p" * 100_000, None)])
def test_copy(real, ours, topic, payload, size):
    results = []
    for library, other in ((real, ours), (ours, real)):
        status, copy = copied(library, topic, payload, size, mid=3, qos=2, retain=True)
        results.append((status, content(copy)))
        other.mosquitto_message_free_contents(byref(copy))
    assert results[1] == results[0]
    assert results[0][0] == 0


def test_copy_of_nothing(real, ours):
    for library in (real, ours):
        assert library.mosquitto_message_copy(None, byref(Message())) == 3
        assert library.mosquitto_message_copy(byref(Message()), None) == 3


@pytest.mark.parametrize("topic, payload, size", [(None, b"x", 1), (b"a", None, 3), (b"a", b"xyz", -1)])
def test_copy_of_what_is_not_there(ours, topic, payload, size):
    """libmosquitto crashes."""
    status, copy = copied(ours, topic, payload, size)
    assert status == 3
    assert content(copy) == (-1, None, None, -1, -1, False)


def test_free(real, ours):
    for library in (real, ours):
        for topic, payload in ((b"a", b"b"), (None, None)):
            message = ctypes.cast(libc.calloc(1, sizeof(Message)), POINTER(Message))
            message.contents.topic = topic and libc.strdup(c_char_p(topic))
            message.contents.payload = payload and libc.strdup(c_char_p(payload))
            library.mosquitto_message_free(byref(message))
        library.mosquitto_message_free(None)
        library.mosquitto_message_free(byref(c_void_p()))
        library.mosquitto_message_free_contents(None)
