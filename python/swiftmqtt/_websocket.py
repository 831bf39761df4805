"""Path and headers of a WebSocket's request, made fit for the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from .constants import Status
from .errors import ArgumentError

#: More headers of a request: a mapping, pairs, or whole lines, each with "\r\n" at its end.
Headers = Union[str, bytes, "Mapping[str, str]", "Iterable[tuple[str, str]]"]
#: Asked for path, or path and headers, before each attempt; None: there are none now. The path may be that of a whole URL.
WebSocketRequestHook = Callable[[int], Union[str, "tuple[str, Headers]", None]]

#: The room for what the hook returns: a URL that is signed for AWS has up to 1.8 KB, its headers may have as much.
REQUEST_BYTES = 8192


# What the library writes by itself. A Host replaces its own.
_OWN = ("upgrade", "connection")


def headers_of(name: str, headers: Any) -> bytes:
    """The lines."""
    lines = _lines(name, headers)
    for line in lines.split(b"\r\n"):
        field = line.partition(b":")[0].strip().decode("latin-1")
        if field.lower() in _OWN or field.lower().startswith("sec-websocket-"):
            raise ArgumentError(Status.OPTION, f"{name} cannot have {field}, which the library writes itself")
    return lines


def _lines(name: str, headers: Any) -> bytes:
    if isinstance(headers, (bytes, bytearray)):
        return bytes(headers)
    if isinstance(headers, str):
        return _encoded(name, headers)
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = []
    if not isinstance(pairs, Iterable):
        raise _wrong(name)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise _wrong(name)
        # A line end inside would begin another header, or another request.
        if any(character in part for part in pair for character in "\r\n\0"):
            raise ArgumentError(Status.OPTION, f"{name} has a header with a line end inside")
        lines.append(_encoded(name, f"{pair[0]}: {pair[1]}\r\n"))
    return b"".join(lines)


def request_of(answer: Any, servers: list[str]) -> tuple[bytes, bytes]:
    """Path and headers that the hook returned."""
    name = "what the websocket_request hook returns"
    path, headers = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (answer, b"")
    if not isinstance(path, str):
        raise ArgumentError(Status.OPTION, f"{name} is a path, or (path, headers), not {type(answer).__name__}")
    scheme, separator, rest = path.partition("://")
    if separator and scheme.lower() in ("ws", "wss"):
        host, slash, path = rest.partition("/")
        path = slash + path
        # One that is signed for another server would be refused by this one, which would see it besides.
        if host.lower() not in {form for server in servers for form in _forms(server)}:
            said = f"{name} is a URL of {host.rpartition('@')[2]!r}, which is no server of this client"
            raise ArgumentError(Status.OPTION, said)
    return _encoded(name, path), headers_of(name, headers)


def _forms(server: str) -> tuple[str, ...]:
    """A server as it may stand in a URL: without the port that its scheme has anyway."""
    server = server.lower()
    host, _, port = server.rpartition(":")
    return (server, host) if port in ("80", "443") else (server,)


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(Status.UTF8, f"{name} has what UTF-8 cannot express") from None


def _wrong(name: str) -> ArgumentError:  # without the value: it may be a password
    return ArgumentError(Status.OPTION, f'{name} is a dict of headers, such as {{"X-Token": "…"}}, pairs, or whole lines')
