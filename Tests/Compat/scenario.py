"""Where calls are made, and the list of what to do there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from .calls import Caller

CONNACK = bytes.fromhex("20020000")
SCENARIOS: dict[str, Callable[["Place"], list[str]]] = {}


class Place:
    """Where a scenario takes place."""

    def __init__(self, library: ctypes.CDLL, port: int, closed_port: int):
        self.library, self.port, self.closed_port = library, port, closed_port

    def caller(self, *arguments: object, **settings: object) -> Caller:
        return Caller(self.library, *arguments, **settings)


def scenario(function: Callable[[Place], list[str]]) -> Callable[[Place], list[str]]:
    SCENARIOS[function.__name__] = function
    return function
