"""Finds libswiftmqtt, and checks that this package understands it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _abi

NAME = "libswiftmqtt.so.1"
VARIABLE = "SWIFTMQTT_LIBRARY"
NEEDED = (1, 0)  # the version of the header this was written for

#: The size of a struct, and offset and size of each field.
Layout = tuple[int, list[tuple[int, int]]]


def candidates() -> list[str]:
    """Where the library may be, in order: only SWIFTMQTT_LIBRARY if it is set; otherwise beside the package,
    as in a wheel, and then where the loader looks."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    beside = Path(__file__).with_name(NAME)
    return [str(beside)] if beside.exists() else [NAME]


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
        f"swiftmqtt needs {NAME}, which was not found ({'; '.join(tried)}): install it where the loader looks, or set "
        f"{VARIABLE} to its path"
    )


def quick(library: ctypes.CDLL) -> ctypes.PyDLL:
    """The same functions, called without giving the GIL to another thread: for those that neither wait nor make a system
    call. Giving it away costs more than they take, most of all where another thread wants it."""
    found = ctypes.PyDLL(library._name, handle=library._handle)
    declare(found)
    return found


def with_errno(library: ctypes.CDLL) -> ctypes.CDLL:
    """The same functions, after which ctypes.get_errno() has what they left in errno. That costs every call some time."""
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
    if "smq_version" in missing:
        raise ImportError(f"{path} is not libswiftmqtt: it has no smq_version()")
    library.smq_version.restype = ctypes.c_uint32
    version = library.smq_version()
    found = (version >> 16, version >> 8 & 0xFF)
    if found[0] != NEEDED[0] or found < NEEDED:
        raise ImportError(
            f"{path} is version {found[0]}.{found[1]}.{version & 0xFF} of libswiftmqtt: "
            f"this package needs {NEEDED[0]}, from {NEEDED[0]}.{NEEDED[1]} on"
        )
    if missing:
        raise ImportError(f"{path} is too old a libswiftmqtt: it has no {missing[0]}()")
    declare(library)
    wrong = next(differences(library), None)
    if wrong:
        raise ImportError(f"{path} has another ABI than this package: {wrong}")


def told_layouts(library: Any) -> list[Layout]:
    """How the library lays out the structs of the header, in its order: the result of smq_abi_layout()."""
    return layouts(library.smq_abi_layout())


def layouts(numbers: Any) -> list[Layout]:
    """What these numbers of a library say."""
    at, found = 0, []
    while numbers[at]:
        size, end = numbers[at], at + 2 + 2 * numbers[at + 1]
        found.append((size, list(zip(numbers[at + 2 : end : 2], numbers[at + 3 : end : 2]))))
        at = end
    return found


def differences(library: Any) -> Iterator[str]:
    """How the library's structs and fields differ from those of this package. A newer library may have more
    structs, more fields in place of reserved ones, and more at the end of a struct that has a size field."""
    return compared(_abi.STRUCTS, dict(zip(_abi.ORDER, told_layouts(library))))


def compared(structs: dict[str, Any], told: dict[str, Layout]) -> Iterator[str]:
    """How what is told differs from these structs."""
    for name, struct in structs.items():
        if name not in told:
            yield f"it has no {name}"
            continue
        size_there, there = told[name]
        for field, *_ in struct._fields_:
            at = getattr(struct, field)
            if not field.startswith("reserved") and (at.offset, at.size) not in there:
                yield f"{name}.{field}, {at.size} bytes at {at.offset}, is elsewhere or of another size there"
        size = ctypes.sizeof(struct)
        if size_there < size or size_there > size and not issubclass(struct, _abi.Sized):
            yield f"{name} has {size_there} bytes there, {size} here"


LIBRARY = load()
QUICK = quick(LIBRARY)
WITH_ERRNO = with_errno(LIBRARY)
