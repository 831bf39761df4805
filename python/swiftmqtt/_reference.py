"""A payload that stays where it is, in an object of the program's, until the library gives it back."""

from __future__ import annotations

import ctypes
from typing import Any

from .constants import Status
from .errors import ArgumentError


class _View(ctypes.Structure):
    """Py_buffer, as Python's C API has it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("of", ctypes.c_void_p),
        ("size", ctypes.c_ssize_t),
        ("item_size", ctypes.c_ssize_t),
        ("is_read_only", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_C_CONTIGUOUS = 0  # PyBUF_SIMPLE: bytes, one behind the other
_get, _release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
_get.argtypes, _get.restype = [ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int], ctypes.c_int
_release.argtypes, _release.restype = [ctypes.POINTER(_View)], None


class Lent:
    """The bytes of an object with a buffer, which neither moves them nor gives their memory back meanwhile: a bytearray cannot
    be resized, and a mmap cannot be closed, until release()."""

    def __init__(self, buffer: Any):
        self._view = _View()
        self._is_held = False
        #: Whether the library has them, so that only it gives them back.
        self.is_out = False
        try:
            _get(buffer, self._view, _C_CONTIGUOUS)
        except (TypeError, BufferError, ValueError) as why:
            kinds = "bytes, a bytearray, a memoryview, a mmap, or another object with one buffer"
            raise ArgumentError(Status.OPTION, f"a payload by reference is {kinds}: {why}") from None
        self._is_held = True
        self.address, self.size = self._view.data or 0, int(self._view.size)

    def release(self) -> None:
        """They are the program's again. A second call does nothing."""
        if self._is_held:
            self._is_held = False
            _release(self._view)

    def __del__(self) -> None:
        self.release()
