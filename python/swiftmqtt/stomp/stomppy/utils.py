"""What programs take from stomp.utils."""

from __future__ import annotations

import uuid
from typing import Any

__all__ = ["Frame", "get_uuid"]


class Frame:
    """What a listener gets: a command, headers and a body. `original_headers` are those that came, whatever
    on_before_message() made of `headers`."""

    def __init__(self, cmd: str | None = None, headers: dict[str, Any] | None = None, body: Any = None):
        self.cmd = cmd
        self.headers = {} if headers is None else headers
        self.original_headers = dict(self.headers)
        self.body = body

    def __str__(self) -> str:
        return f"{{cmd={self.cmd},headers=[{self.headers}],body={self.body}}}"


def get_uuid() -> str:
    """Returns a name that nothing else has."""
    return str(uuid.uuid4())
