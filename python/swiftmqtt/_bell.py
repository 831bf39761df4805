"""Wakes up a thread that waits in poll()."""

from __future__ import annotations

import os
import weakref


class Bell:
    """Any thread may ring it; the waiting thread quiets it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._rung = False
        weakref.finalize(self, _close, self._read, self._write).atexit = False  # type: ignore[misc, unused-ignore]

    def fileno(self) -> int:
        """Readable while it rings."""
        return self._read

    @property
    def is_rung(self) -> bool:
        """Whether somebody has rung it since it was last quieted."""
        return self._rung

    def ring(self) -> None:
        """Until somebody calls quiet()."""
        if not self._rung:
            self._rung = True
            try:
                os.write(self._write, b"\0")
            except BlockingIOError:
                pass  # it is full: the waiting thread is awake

    def quiet(self) -> None:
        """Ends the ringing. Only for the waiting thread, when the bell is readable."""
        try:
            os.read(self._read, 64)
        except BlockingIOError:
            pass  # another thread waited, too, and was faster
        # Last: a ring in between would be read with the others, and no later one would write.
        self._rung = False


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
