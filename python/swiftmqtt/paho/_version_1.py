"""The arguments of paho-mqtt 1."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

from .enums import CallbackAPIVersion

Init = TypeVar("Init", bound=Callable[..., None])


def or_those_of_version_1(init: Init) -> Init:
    """Client("client id", …) is Client(CallbackAPIVersion.VERSION1, "client id", …): paho-mqtt 1 had no other version."""

    @functools.wraps(init)
    def either(self: Any, *arguments: Any, **named: Any) -> None:
        if arguments and (arguments[0] is None or isinstance(arguments[0], str)):
            arguments = (CallbackAPIVersion.VERSION1, *arguments)
        init(self, *arguments, **named)

    return cast(Init, either)
