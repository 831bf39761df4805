"""The result of an operation, which may be pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._waiting import Waiting
from .errors import Error

#: What wait() of a token may return.
Result = Any


class Token:
    """The result of an operation. It is set as soon as the client knows it: at once or, without a thread, in
    the next call that waits."""

    __slots__ = ("_client", "_result", "_error", "_done", "_callbacks")

    def __init__(self, client: Waiting):
        self._client = client
        self._result: Result = None
        self._error: Error | None = None
        self._done = False
        self._callbacks: list[Callable[[Token], None]] = []

    @property
    def done(self) -> bool:
        """Whether the operation has ended, successfully or not."""
        return self._done

    @property
    def error(self) -> Error | None:
        """Why the operation failed; None: it has not failed, or has not ended."""
        self._client._failures.seen(self._error)
        return self._error

    def wait(self, timeout: float | None = None) -> Result:
        """Waits until the operation has ended.

        timeout   seconds; None: as long as it takes

        Returns an :class:`Answer`; for a request, the :class:`Message` that answers it. Raises the error of a
        failed operation; TimeoutError, after which it may be waited for again; or ArgumentError if nothing
        would ever happen, and in a callback of a client with a thread, which cannot wait for itself.
        """
        self._client._run_until(lambda: self._done, timeout, "the answer")
        if self._error:
            self._client._failures.seen(self._error)
            raise self._error
        return self._result

    def add_done_callback(self, function: Callable[[Token], None]) -> None:
        """Makes the client's thread call function(token) when the operation has ended; if it has ended, calls
        it at once in this thread."""
        with self._client._guard:
            if not self._done:
                self._callbacks.append(function)
                return
        self._client._failures.seen(self._error)
        function(self)

    def _finish(self, result: Result, error: Error | None) -> None:
        self._result, self._error, self._done = result, error, True
        callbacks, self._callbacks = self._callbacks, []
        if callbacks:
            self._client._failures.seen(error)
        for function in callbacks:
            self._client._later(function, self)
