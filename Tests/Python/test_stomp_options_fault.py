"""sst_options_fault(): the names of the options that sst_options_check() refuses."""

from __future__ import annotations

import ctypes
import re

import pytest

from swiftmqtt.stomp import _abi
from swiftmqtt.stomp._library import LIBRARY

from .conftest import ROOT

HEADER = (ROOT / "include/swiftstomp.h").read_text()
FLAGS = {name: int(value) for name, value in re.findall(r"(SST_OPTION_\w+) = (\d+)", HEADER)}
NUMBERS = [name for name, kind in _abi.Options._fields_ if kind is ctypes.c_uint32 and name not in ("size", "flags")]
ENOUGH = 300
LONG = b"x" * 65_536
# What a number needs beside it, to be wrong by itself.
CONTEXT = {
    "port": dict(url=b"", host=b"h"),
    "credential_bytes": dict(flags=FLAGS["SST_OPTION_ASK_CREDENTIALS"]),
    "websocket_bytes": dict(url=b"ws://h"),
    "websocket_request_bytes": dict(url=b"ws://h"),
    "submit_bytes": dict(submit_frames=1),
    **{f"journal_{name}": dict(journal=b"/j") for name in ("bytes", "delay_ms", "batch_bytes", "flags")},
}
CASES: dict[str, tuple[dict, str]] = {
    "neither url nor host": (dict(url=b""), "url"),
    "both": (dict(host=b"h"), "host, url"),
    "url and port": (dict(port=1), "port, url"),
    "no URL": (dict(url=b"stomp://h:x"), "url"),
    "another protocol": (dict(url=b"mqtt://h"), "url"),
    "TLS without an engine": (dict(url=b"stomps://h"), "url"),
    "a login beside that of the URL": (dict(url=b"stomp://a:b@h", login=b"c"), "login, url"),
    "a login that is asked for": (
        dict(login=b"a", flags=FLAGS["SST_OPTION_ASK_CREDENTIALS"]), "login, SST_OPTION_ASK_CREDENTIALS"),
    "room for credentials, and nobody is asked": (dict(credential_bytes=100), "credential_bytes"),
    "a login with the end of a line": (dict(login=b"a\nb"), "login"),
    "a passcode that is too long": (dict(passcode=LONG), "passcode"),
    "a virtual host with a zero": (dict(virtual_host=b"a\0"), "virtual_host"),
    "headers that are no list": (dict(headers=b"abc"), "headers"),
    "versions the wrong way round": (dict(oldest=12, newest=10), "newest, oldest"),
    "a wait that ends before it begins": (dict(reconnect_min_ms=500, reconnect_max_ms=100), "reconnect_max_ms"),
    "settings without an engine": (dict(tls_settings=8), "tls_settings"),
    "a proxy that is none": (dict(proxy=b"ftp://h"), "proxy"),
    "a path without a WebSocket": (dict(websocket_path=b"/a"), "websocket_path"),
    "a flag that nobody knows": (dict(flags=64), "flags"),
    "numbers of a journal, and none": (dict(journal_delay_ms=5), "journal_delay_ms"),
    "a journal with a zero": (dict(journal=b"a\0"), "journal"),
    "a journal that is too long": (dict(journal=b"x" * 1001), "journal"),
    "a flag of a journal that nobody knows": (dict(journal=b"/j", journal_flags=8), "journal_flags"),
    "a journal with a transport of the program's": (
        dict(journal=b"/j", flags=FLAGS["SST_OPTION_OWN_TRANSPORT"]),
        "journal, SST_OPTION_OWN_TRANSPORT"),
    "held messages with all the room there is": (dict(held_messages=65_535, held_bytes=65_535), "held_bytes, held_messages"),
}


def options(**fields) -> _abi.Options:
    struct = _abi.Options()
    for name, value in {"url": b"stomp://h", **fields}.items():
        if isinstance(value, bytes):
            struct.put(name, value)
        else:
            setattr(struct, name, value)
    return struct


def fault(struct: _abi.Options) -> str:
    before = bytes(struct)
    text = ctypes.create_string_buffer(ENOUGH)
    size = LIBRARY.sst_options_fault(ctypes.byref(struct), text, ENOUGH)
    assert size == len(text.value) and LIBRARY.sst_options_fault(ctypes.byref(struct), None, 0) == size
    assert bytes(struct) == before
    return text.value.decode()


@pytest.mark.parametrize("name", CASES)
def test_what_is_named(name: str):
    fields, names = CASES[name]
    wrong = options(**fields)
    assert LIBRARY.sst_options_check(ctypes.byref(wrong), None) < 0
    assert fault(wrong) == names


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number(name: str):
    wrong = options(**{**CONTEXT.get(name, {}), name: 0xFFFF_FFFE})
    assert LIBRARY.sst_options_check(ctypes.byref(wrong), None) < 0
    assert name in fault(wrong).split(", ")


def test_every_flag_is_known():
    """Beside one that is not."""
    assert sorted(FLAGS.values()) == [1 << bit for bit in range(len(FLAGS))]
    for value in FLAGS.values():
        assert fault(options(flags=value | 1 << 31)) == "flags"


def test_the_size():
    wrong = options()
    wrong.size = 8
    assert fault(wrong) == "size"


def test_nothing_is_wrong():
    text = ctypes.create_string_buffer(b"before", 7)
    assert LIBRARY.sst_options_fault(ctypes.byref(options()), text, 7) == 0 and text.value == b""
    assert LIBRARY.sst_options_fault(None, text, 7) == 0 and text.value == b""


@pytest.mark.parametrize("capacity", range(14))
def test_too_little_room(capacity: int):
    text = ctypes.create_string_buffer(b"#" * 20, 20)
    assert LIBRARY.sst_options_fault(ctypes.byref(options(outbox_bytes=1)), text, capacity) == 12
    written = b"outbox_bytes"[: max(capacity - 1, 0)] + (b"\0" if capacity else b"")
    assert text.raw == written + b"#" * (20 - len(written))
