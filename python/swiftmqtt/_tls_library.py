"""Finds libswiftmqtt-tls when TLS is wanted, and include/swiftmqtt-tls.h in ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from . import _abi
from ._library import LIBRARY
from .constants import Status
from .errors import ArgumentError

NAME = "libswiftmqtt-tls.so.1"
VARIABLE = "SWIFTMQTT_TLS_LIBRARY"

#: Asked for a password: where to put it, and how many bytes there are. Returns how many it has, or -1.
PASSWORD = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

TEXTS = (
    "ca_file ca_directory ca_pem certificate_file certificate_pem key_file key_pem key_uri key_engine crl_file pins "
    "psk_identity psk ciphers cipher_suites groups"
)


class TLSOptions(_abi.Sized):
    """smq_tls_options"""

    _fields_ = [
        *_abi.fields(
            "u32 size flags", f"in {TEXTS}", "u32 minimum maximum", "i64 clock_floor_s verify_time_s"
        ),
        ("password", PASSWORD),
        *_abi.fields("pointer password_user ssl_ctx", "in key_log_file"),
    ]


P, I32, SIZE, TLS = ctypes.POINTER, ctypes.c_int32, ctypes.c_size_t, ctypes.c_void_p
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # name: (result, arguments)
    "smq_tls_openssl": (ctypes.c_void_p, []),
    "smq_tls_open": (I32, [P(TLSOptions), P(TLS), P(_abi.TLSFailure)]),
    "smq_tls_reload": (I32, [TLS, P(TLSOptions), P(_abi.TLSFailure)]),
    "smq_tls_close": (None, [TLS]),
    "smq_tls_sessions": (I32, [TLS, ctypes.c_void_p, P(SIZE)]),
    "smq_tls_resume": (I32, [TLS, ctypes.c_char_p, SIZE]),
}


def candidates() -> list[str]:
    """Where it may be, in order: only SWIFTMQTT_TLS_LIBRARY if that is set; otherwise beside libswiftmqtt, if that was found
    by a path; beside the package, as in a wheel; and where the loader looks."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    beside = [Path(LIBRARY._name).parent] if "/" in LIBRARY._name else []
    found = [str(folder / NAME) for folder in (*beside, Path(__file__).parent) if (folder / NAME).exists()]
    return [*dict.fromkeys(found), NAME]


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library with its functions declared. Raises ArgumentError if there is none that fits; then the next call looks
    again."""
    tried = []
    for candidate in candidates():
        try:
            library = ctypes.CDLL(candidate)
        except OSError as error:
            tried.append(str(error))
            continue
        missing = next((name for name in FUNCTIONS if not hasattr(library, name)), None)
        if missing:
            tried.append(f"{candidate}: it has no {missing}()")
            continue
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise ArgumentError(
        Status.NOT_SUPPORTED,
        f"TLS needs {NAME}, which cannot be loaded ({'; '.join(tried)}). It is in the package libswiftmqtt-tls1; a wheel has "
        f"it, and needs OpenSSL 3 of the system (libssl3); {VARIABLE} names another one",
    )
