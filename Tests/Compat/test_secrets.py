"""What a client said about who it is, is in nobody's memory once it is destroyed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_char_p, c_void_p

from Support.servers import free_port

from .calls import Caller
from .test_client import in_a_process

MASKED, KEY = bytes(byte ^ 0x55 for byte in range(0x61, 0x71)), 0x55
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


#: Another process looks: to read a heap into itself writes over what was freed there.
LOOK = f"""
import sys
found = b""
with open(f"/proc/{{sys.argv[1]}}/mem", "rb") as memory, open(f"/proc/{{sys.argv[1]}}/maps") as maps:
    for line in maps:
        if " rw-p " in line and line.rstrip().endswith("[heap]"):
            first, last = (int(number, 16) for number in line.split()[0].split("-"))
            memory.seek(first)
            found += memory.read(last - first)
print(found.count(bytes(byte ^ {KEY} for byte in {MASKED!r})))
"""
PR_SET_PTRACER, ANYBODY = 0x59616D61, ctypes.c_ulong(-1)


def copies() -> int:
    """How often the secret is in the memory of this process."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYBODY, 0, 0, 0)
    return int(subprocess.run([sys.executable, "-c", LOOK, str(os.getpid())], capture_output=True, check=True).stdout)


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
