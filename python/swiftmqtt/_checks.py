"""What a caller hands over, made fit for the library; an ArgumentError that names it, if it cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from .constants import Status
from .errors import ArgumentError


def encoded_text(name: str, value: Any) -> bytes:
    """A text, in UTF-8."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(Status.UTF8, f"the {name} has what UTF-8 cannot express") from None
    raise ArgumentError(Status.OPTION, f"the {name} is a text, not {type(value).__name__}")


def buffer(name: str, value: Any) -> bytes:
    """Bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise ArgumentError(Status.OPTION, f"{name} is bytes, not {type(value).__name__}")


def number_to(name: str, value: Any, maximum: int, status: Status) -> int:
    """A number that fits its field: ctypes would cut it off."""
    if not isinstance(value, int) or not 0 <= value <= maximum:
        raise ArgumentError(status, f"{name} is a whole number from 0 to {maximum}, not {value!r}")
    return int(value)


def seconds(name: str, value: Any) -> float:
    """A time, a year at most; what is below 0 has passed."""
    if isinstance(value, (int, float)) and value == value:  # which a NaN is not
        return float(min(max(value, 0), 31_536_000))
    raise ArgumentError(Status.OPTION, f"{name} is a number of seconds, not {value!r}")


def listed(name: str, value: Any) -> list[Any]:
    """What can be iterated over."""
    if isinstance(value, Iterable):
        return list(value)
    raise ArgumentError(Status.OPTION, f"{name} is a list, not {type(value).__name__}")


def flag(name: str, value: Any) -> bool:
    """Yes or no: a text that says "false" would be a yes."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ArgumentError(Status.OPTION, f"{name} is True or False, not {value!r}")


def function(name: str, value: Any) -> None:
    """A function, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(Status.OPTION, f"{name} is a function, not {type(value).__name__}")


def one_of(name: str, value: Any, known: type[IntEnum]) -> int:
    """A member of an enumeration, its number, or its name in small letters."""
    found = member(value, known)
    if found is None:
        raise ArgumentError(Status.OPTION, f"{name} is {choice(known)}, not {value!r}")
    return found


def member(value: Any, known: type[IntEnum]) -> IntEnum | None:
    """That member, if there is one."""
    if isinstance(value, str):
        return next((one for one in known if one.name.lower() == value), None)
    return next((one for one in known if isinstance(value, int) and one == value), None)


def choice(known: type[IntEnum]) -> str:
    """The names, for an error: '"refuse" or "drop_oldest"'."""
    return " or ".join(f'"{one.name.lower()}"' for one in known)
