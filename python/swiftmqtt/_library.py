"""Finds libswiftmqtt, and sees that it is one that this package understands."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from . import _abi

NAME = "libswiftmqtt.so.1"
VARIABLE = "SWIFTMQTT_LIBRARY"
NEEDED = (1, 0)  # the version of the header this was written for


def candidates() -> list[str]:
    """Where the library may be, the first one first: SWIFTMQTT_LIBRARY alone if it is set, else beside the package,
    as in a wheel, else where the loader looks."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    beside = Path(__file__).with_name(NAME)
    return [str(beside)] if beside.exists() else [NAME]


def load() -> ctypes.CDLL:
    """The library, its functions declared. ImportError if there is none, or one that is not fit."""
    tried = []
    for candidate in candidates():
        try:
            library = ctypes.CDLL(candidate)
        except OSError as error:
            tried.append(str(error))
            continue
        check(library, candidate)
        return library
    raise ImportError(
        f"swiftmqtt needs {NAME}, which was not found ({'; '.join(tried)}): install it where the loader looks, or set "
        f"{VARIABLE} to its path"
    )


def check(library: ctypes.CDLL, path: str) -> None:
    """Declares the functions, and compares version and struct layouts."""
    missing = [name for name in _abi.FUNCTIONS if not hasattr(library, name)]
    if "smq_version" in missing:
        raise ImportError(f"{path} is not libswiftmqtt: it has no smq_version()")
    library.smq_version.restype = ctypes.c_uint32
    version = library.smq_version()
    found = (version >> 16, version >> 8 & 0xFF)
    if found[0] != NEEDED[0] or found < NEEDED:
        raise ImportError(
            f"{path} is version {found[0]}.{found[1]}.{version & 0xFF} of libswiftmqtt: this package needs {NEEDED[0]}, "
            f"from {NEEDED[0]}.{NEEDED[1]} on"
        )
    if missing:
        raise ImportError(f"{path} is too old a libswiftmqtt: it has no {missing[0]}()")
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    wrong = differences(library)
    if wrong:
        raise ImportError(f"{path} has another ABI than this package: {wrong[0]}")


def layouts() -> dict[str, int]:
    """The offset of each field, and the size of each struct, as ctypes lays them out here."""
    found: dict[str, int] = {}
    for name, struct in _abi.STRUCTS.items():
        found[name] = ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            found[f"{name}.{field}"] = getattr(struct, field).offset
    return found


def differences(library: Any) -> list[str]:
    """What the library's smq_abi_layout() says otherwise about structs and fields that both know."""
    return []


LIBRARY = load()
