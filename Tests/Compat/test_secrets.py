"""What a client said about who it is, is in nobody's memory once it is destroyed."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_void_p
from pathlib import Path

from Broker.servers import free_port

from .calls import Caller
from .test_client import in_a_process

MASKED, KEY = bytes(byte ^ 0x55 for byte in range(0x61, 0x71)), 0x55
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def copies() -> int:
    """How often the secret is in the memory of this process. It is there as a whole only when that has been read."""
    found = b""
    with open("/proc/self/mem", "rb") as memory:
        for line in Path("/proc/self/maps").read_text().splitlines():
            if " rw-p " in line and line.endswith("[heap]"):
                first, last = (int(number, 16) for number in line.split()[0].split("-"))
                memory.seek(first)
                found += memory.read(last - first)
    return found.count(bytes(byte ^ KEY for byte in MASKED))


def secret() -> ctypes.Array:
    text = ctypes.create_string_buffer(len(MASKED) + 1)
    for index, byte in enumerate(MASKED):
        text[index] = byte ^ KEY
    return text


def destroyed(library: ctypes.CDLL) -> list[str]:
    libc = ctypes.CDLL(None)
    # All of it in one heap that stays, or it would be gone with its pages.
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    os.environ |= {"MOSQUITTO_OUTBOX_BYTES": "65536", "MOSQUITTO_RECEIVE_BYTES": "65536"}
    caller, text, list = Caller(library, version=5), secret(), c_void_p()
    library.mosquitto_property_add_string(byref(list), 0x15, b"method")
    library.mosquitto_property_add_binary(byref(list), 0x16, text, ctypes.c_uint16(len(MASKED)))
    caller.call("username_pw_set", c_char_p(b"me"), text)
    caller.call("connect_bind_v5", b"127.0.0.1", free_port(), 60, None, list)
    before = copies()
    library.mosquitto_property_free_all(byref(list))
    caller.destroy()
    ctypes.memset(text, 0, len(MASKED))
    return [f"{before > 1}", f"{copies()}"]


def test_destroying_wipes_credentials(ours: ctypes.CDLL) -> None:
    assert in_a_process(lambda: destroyed(ours)) == ["True", "0"]
