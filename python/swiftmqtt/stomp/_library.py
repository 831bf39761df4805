"""Finds libswiftstomp, and checks that this package understands it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import _library as _mqtt
from . import _abi

NAME = "libswiftstomp.so.1"
VARIABLE = "SWIFTSTOMP_LIBRARY"
NEEDED = (1, 0)  # the version of the header this was written for


def candidates() -> list[str]:
    """Where the library may be, in order: only SWIFTSTOMP_LIBRARY if it is set; otherwise beside libswiftmqtt, if that was
    found by a path; beside the package, as in a wheel; and where the loader looks."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    there = _mqtt.LIBRARY._name
    beside = [Path(there).parent] if "/" in there else []
    found = [str(folder / NAME) for folder in (*beside, Path(__file__).parents[1]) if (folder / NAME).exists()]
    return [*dict.fromkeys(found), NAME]


def load() -> ctypes.CDLL:
    """The library with its functions declared. Raises ImportError if there is none, or none that fits."""
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
        f"swiftmqtt.stomp needs {NAME}, which was not found ({'; '.join(tried)}): install it where the loader looks, or set "
        f"{VARIABLE} to its path"
    )


def quick(library: ctypes.CDLL) -> ctypes.PyDLL:
    """The same functions, called without giving the GIL to another thread: for those that neither wait nor make a system
    call."""
    found = ctypes.PyDLL(library._name, handle=library._handle)
    declare(found)
    return found


def with_errno(library: ctypes.CDLL) -> ctypes.CDLL:
    """The same functions, after which ctypes.get_errno() has what they left in errno."""
    found = ctypes.CDLL(library._name, handle=library._handle, use_errno=True)
    declare(found)
    return found


def declare(library: ctypes.CDLL) -> None:
    """The types of the functions."""
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def check(library: ctypes.CDLL, path: str) -> None:
    """Declares the functions, and compares version and struct layouts."""
    missing = [name for name in _abi.FUNCTIONS if not hasattr(library, name)]
    if "sst_version" in missing:
        raise ImportError(f"{path} is not libswiftstomp: it has no sst_version()")
    library.sst_version.restype = ctypes.c_uint32
    version = library.sst_version()
    found = (version >> 16, version >> 8 & 0xFF)
    if found[0] != NEEDED[0] or found < NEEDED:
        raise ImportError(
            f"{path} is version {found[0]}.{found[1]}.{version & 0xFF} of libswiftstomp: "
            f"this package needs {NEEDED[0]}, from {NEEDED[0]}.{NEEDED[1]} on"
        )
    if missing:
        raise ImportError(f"{path} is too old a libswiftstomp: it has no {missing[0]}()")
    declare(library)
    wrong = next(differences(library), None)
    if wrong:
        raise ImportError(f"{path} has another ABI than this package: {wrong}")


def differences(library: Any) -> Iterator[str]:
    """How the library's structs and fields differ from those of this package. A newer library may have more
    structs, more fields in place of reserved ones, and more at the end of a struct that has a size field."""
    told = dict(zip(_abi.ORDER, _mqtt.layouts(library.sst_abi_layout())))
    return _mqtt.compared(_abi.STRUCTS, told)


LIBRARY = load()
QUICK = quick(LIBRARY)
WITH_ERRNO = with_errno(LIBRARY)
