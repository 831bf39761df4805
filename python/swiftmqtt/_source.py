"""Where the pieces of a payload come from that is larger than the outbox."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from . import _abi
from ._checks import buffer
from .constants import Status
from .errors import ArgumentError

#: Supplies a payload: of at most `size` bytes from `offset` on.
Source = Callable[[int, int], bytes]


def size_of(source: Any) -> int:
    """How many bytes a source has: bytes, or a file that can seek."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return memoryview(source).nbytes
    if hasattr(source, "seek"):
        try:
            return int(source.seek(0, os.SEEK_END))
        except (OSError, ValueError) as why:
            raise ArgumentError(Status.OPTION, f"publish_stream() cannot read from this source: {why}") from None
    raise ArgumentError(Status.OPTION, "publish_stream() cannot know the size of this source: it has to be given")


def puller(source: Any) -> tuple[Any, Any, list[BaseException]]:
    """A smq_pull that reads from bytes, from a file that can seek, or asks a function; what has to live as long; and a
    list that gets what was raised when it gave up."""
    if callable(source):
        read = source
    elif hasattr(source, "readinto"):

        def read(offset: int, size: int) -> bytes:
            source.seek(offset)
            return bytes(source.read(size))

    elif isinstance(source, (bytes, bytearray, memoryview)):
        whole = memoryview(source)
        view = whole.cast("B") if whole.c_contiguous else memoryview(bytes(whole))

        def read(offset: int, size: int) -> bytes:
            return bytes(view[offset : offset + size])

    else:
        kinds = "bytes, a file that was opened for binary reading, or a function"
        raise ArgumentError(Status.OPTION, f"the source of a stream is {kinds}, not {type(source).__name__}")

    raised: list[BaseException] = []

    def pull(user: int, offset: int, memory: int, size: int) -> int:
        try:
            data = buffer("what a source returns", read(offset, size))
            if not 0 < len(data) <= size:
                raise ArgumentError(Status.OPTION, f"a source returned {len(data)} bytes, asked for 1 to {size}")
        except BaseException as why:
            raised.append(why)
            return -1
        ctypes.memmove(memory, data, len(data))
        return len(data)

    return source, _abi.PULL(pull), raised
