"""Headers: a dict, or pairs, made a list for the library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _abi
from ._library import QUICK
from .constants import Status
from .errors import ArgumentError, error

#: More headers of a frame: a mapping, or pairs. A value that is no text is made one: True is "true", 5 is "5".
HeadersIn = Union["Mapping[str, object]", "Iterable[tuple[str, object]]"]

# Where a caller that gives one of them finds it instead.
_OWN = {
    "content-type": "it is the argument content_type",
    "transaction": "it is the argument transaction",
    "receipt": "it is the argument receipt",
    "destination": "it is the argument destination",
    "ack": "it is the argument ack",
    "login": "it is the option login",
    "passcode": "it is the option passcode",
    "host": "it is the option virtual_host",
    "heart-beat": "the options are heart_beat_send_ms and heart_beat_receive_ms",
    "accept-version": "the options are oldest and newest",
    "content-length": "the library writes it itself; no_length=True leaves it out",
}


def packed(name: str, headers: HeadersIn | None) -> bytes:
    """The list of chapter 2 of the header. name: what an ArgumentError calls them."""
    if headers is None or headers == ():
        return b""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    if isinstance(headers, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ArgumentError(Status.HEADER, f'{name} is a dict of headers, such as {{"persistent": "true"}}, or pairs')
    encoded = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ArgumentError(Status.HEADER, f"{name} is a dict of headers, or a list of pairs, each with a str as name")
        encoded.append((_encoded(name, pair[0]), _encoded(name, value_text(name, pair[1]))))
    room = ctypes.create_string_buffer(sum(4 + len(key) + len(value) for key, value in encoded) or 1)
    made = _abi.Headers()
    made.data, made.capacity, made.size = ctypes.addressof(room), len(room), 0
    for key, value in encoded:
        status = QUICK.sst_header_put(
            ctypes.byref(made),
            ctypes.byref(_abi.BytesIn(key, len(key))),
            ctypes.byref(_abi.BytesIn(value, len(value))),
        )
        if status:
            shown = key.decode()
            said = _OWN.get(shown, "it is empty, too long, has a zero, or is one that the library writes itself")
            raise error(status, f"{name} cannot have {shown!r}: {said}")
    return room.raw[: made.size]


def value_text(name: str, value: object) -> str:
    """A value as STOMP has it: a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise ArgumentError(Status.HEADER, f"{name} has a value that is a {type(value).__name__}, not a str")


def pairs_of(event: _abi.Event) -> dict[str, str]:
    """The headers of a frame that came; the first of a name counts ("Repeated Header Entries")."""
    found: dict[str, str] = {}
    headers = event.headers
    size = headers.size
    if not size:
        return found
    # Copied once: what sst_header_next() points to is in there, as a rule.
    begin, whole = headers.data, ctypes.string_at(headers.data, size)
    position, name, value = ctypes.c_size_t(), _abi.BytesOut(), _abi.BytesOut()
    at, into, of = ctypes.byref(position), (ctypes.byref(name), ctypes.byref(value)), ctypes.byref(event)
    while QUICK.sst_header_next(of, at, *into) == 1:
        texts = []
        for view in (name, value):
            length = view.size
            start = (view.data or 0) - begin
            if 0 <= start <= size - length:
                texts.append(whole[start : start + length].decode("utf-8", "replace"))
            else:
                texts.append(text_of(view))
        found.setdefault(texts[0], texts[1])
    return found


def text_of(view: _abi.BytesOut) -> str:
    """A text that the library lends."""
    size = view.size
    return ctypes.string_at(view.data, size).decode("utf-8", "replace") if size else ""


def bytes_of(view: _abi.BytesOut) -> bytes:
    """Bytes that the library lends."""
    size = view.size
    return ctypes.string_at(view.data, size) if size else b""


def _encoded(name: str, value: Any) -> bytes:
    try:
        encoded: bytes = value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(Status.HEADER, f"{name} has what UTF-8 cannot express") from None
    return encoded
