"""The block of memory in which a client of the library lives."""

from __future__ import annotations

import ctypes
import mmap


def block_of(size: int) -> ctypes.Array[ctypes.c_char]:
    """Zeros, in pages of their own: the kernel gives only those that are used, and most of an outbox never is. Memory of
    ctypes is cleared when it is made, and then all of it is there. After fork() a child has its own."""
    pages = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return (ctypes.c_char * len(pages)).from_buffer(pages)
