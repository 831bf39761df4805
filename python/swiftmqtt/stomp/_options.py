"""The options of a client: keyword arguments for sst_options."""

from __future__ import annotations

import ctypes
import os
from enum import IntEnum
from typing import Any, TypedDict

from .. import _tls_library
from .. import errors as mqtt_errors
from .._checks import choice, member
from .._names import meant
from .._options import authority_of, scheme_of
from .._websocket import Headers, headers_of
from ..tls_context import AnyTLS, chosen
from . import _abi
from ._headers import HeadersIn, packed
from ._library import LIBRARY
from .constants import OptionFlag, Status, Version
from .errors import ArgumentError, error

# Where this package's default is another than the library's: a process that runs Python has more memory than a board.
DEFAULTS = {
    "outbox_bytes": 1 << 20,
    "outbox_frames": 4096,
    "receive_bytes": 1 << 16,
    "control_bytes": 1 << 14,
    "subscriptions": 64,
    "subscription_bytes": 1024,
    "transactions": 16,
    "urgent_frames": 16,
    "urgent_bytes": 1 << 14,
}
FLAGS = {
    "shuffle": OptionFlag.SHUFFLE,
    "ask_credentials": OptionFlag.ASK_CREDENTIALS,
    "ask_addresses": OptionFlag.ASK_ADDRESSES,
    "websocket": OptionFlag.WEBSOCKET,
}
BELOW_TEXTS = "tls_name proxy websocket_path websocket_protocol bind_device bind_address".split()
PATHS = ("journal", "inspect")
TEXTS = ("url", "host", "virtual_host", "login", "passcode", *BELOW_TEXTS, *PATHS)
NUMBERS = ("port", "oldest", "newest", *_abi.NUMBERS)

#: The schemes, with their ports.
PORTS = {
    "stomp": 61613,
    **dict.fromkeys(("stomps", "stomp+ssl", "stomp+tls"), 61614),
    **dict.fromkeys(("ws", "stomp+ws"), 80),
    **dict.fromkeys(("wss", "stomp+wss"), 443),
}
OVER_TLS = ("stomps", "stomp+ssl", "stomp+tls", "wss", "stomp+wss")

# What other clients call it, and what is to be said of it.
ELSEWHERE = {
    **dict.fromkeys(("username", "user", "user_name"), "did you mean login?"),
    **dict.fromkeys(("password", "passwd"), "did you mean passcode?"),
    **dict.fromkeys(("vhost", "virtualhost"), "did you mean virtual_host?"),
    **dict.fromkeys(("heartbeats", "heart_beat", "heartbeat"), "the options are heart_beat_send_ms and heart_beat_receive_ms"),
    **dict.fromkeys(("ssl", "ssl_context", "tls_context", "use_ssl"), "did you mean tls?"),
    "version": "the options are oldest and newest",
}
# Of schemes that are none of STOMP's; of others the schemes are named.
SCHEMES = {
    **dict.fromkeys(("mqtt", "mqtts"), "which is MQTT: swiftmqtt.Client speaks it"),
    **dict.fromkeys(("tcp", "stomp+tcp"), "which is called stomp:// here"),
    **dict.fromkeys(("ssl", "tls"), "which is called stomps:// here"),
    **dict.fromkeys(("amqp", "amqps"), "which is another protocol of the broker's: STOMP is at a port of its own, usually 61613"),
}
# What a client has no attribute for, and what is there instead.
INSTEAD = {
    "on_message": "messages come from receive(), or a loop: for message in client, and with asyncio in client.messages",
    **dict.fromkeys(
        ("on_connect", "on_connected", "on_disconnect", "on_disconnected", "on_error", "on_receipt"),
        "did you mean on_event, which is told of each event that is no message?",
    ),
    **dict.fromkeys(("set_listener", "get_listener"), "swiftmqtt.stomp.stomppy has listeners; here there is on_event"),
}
OTHERS = "url reconnect parts message_maximum tls credentials resolve"


class Options(TypedDict, total=False):
    """The options of sst_options, with the names of the header, which describes each with its range. Its flags are bool
    options. None, and 0, are the default."""

    host: str | None
    port: int | None
    oldest: int | None
    newest: int | None
    virtual_host: str | None
    login: str | None
    passcode: str | bytes | None
    headers: HeadersIn | None
    # flags
    shuffle: bool
    ask_credentials: bool
    ask_addresses: bool
    websocket: bool
    # numbers
    heart_beat_send_ms: int | None
    heart_beat_receive_ms: int | None
    connect_timeout_ms: int | None
    receipt_timeout_ms: int | None
    outbox_bytes: int | None
    outbox_frames: int | None
    receive_bytes: int | None
    control_bytes: int | None
    subscriptions: int | None
    subscription_bytes: int | None
    held_messages: int | None
    held_bytes: int | None
    transactions: int | None
    urgent_frames: int | None
    urgent_bytes: int | None
    credential_bytes: int | None
    reconnect_min_ms: int | None
    reconnect_max_ms: int | None
    stable_ms: int | None
    jitter: int | None
    write_timeout_ms: int | None
    tcp_user_timeout_ms: int | None
    tcp_keep_alive_s: int | None
    dscp: int | None
    addresses: int | None
    busy_poll_us: int | None
    # TLS, besides the argument tls
    tls_name: str | None
    alpn: str | None
    # on the way to the server
    proxy: str | None
    websocket_path: str | None
    websocket_headers: Headers | None
    websocket_protocol: str | None
    websocket_bytes: int | None
    websocket_request_bytes: int | None
    bind_device: str | None
    bind_address: str | None
    # a socket for sst inspect
    inspect: str | os.PathLike[str] | None
    inspect_mode: int | None
    inspect_bytes: int | None
    # the journal
    journal: str | os.PathLike[str] | None
    journal_bytes: int | None
    journal_delay_ms: int | None
    journal_batch_bytes: int | None
    journal_flags: int | None


def build(url: str | None, flags: int, given: dict[str, Any], tls: AnyTLS) -> tuple[_abi.Options, Any]:
    """The struct, checked, and the settings of TLS, which have to outlive the client. TypeError and ArgumentError name the
    option that is wrong."""
    unknown = [name for name in given if name not in Options.__annotations__]
    if unknown:
        if unknown[0] in ELSEWHERE:
            raise TypeError(f"there is no option {unknown[0]!r}: {ELSEWHERE[unknown[0]]}")
        known = [*Options.__annotations__, *OTHERS.split()]
        raise TypeError(f"there is no option {unknown[0]!r}{meant(unknown[0], known)}")
    if isinstance(given.get("host"), str) and "://" in given["host"]:
        raise ArgumentError(Status.OPTION, "the option host is a name or an address; a URL is the first argument")
    struct = _abi.Options()
    for name, value in {"url": url, **given}.items():
        if name in TEXTS and value is not None:
            struct.put(name, os.fsencode(value) if name in PATHS and isinstance(value, os.PathLike) else encoded(name, value))
    for name, flag in FLAGS.items():
        if given.get(name) is not None and checked_flag(f"the option {name}", given[name]):
            flags |= flag
    struct.flags = flags
    for name in NUMBERS:
        setattr(struct, name, _number(name, given.get(name) or DEFAULTS.get(name, 0)))
    for name in ("oldest", "newest"):
        value = getattr(struct, name)
        if value and value not in Version._value2member_map_:
            raise ArgumentError(Status.OPTION, f"the option {name}={value} is out of its range: it is a swiftmqtt.stomp.Version")
    struct.put("headers", packed("the option headers", given.get("headers")))
    settings = _below(struct, url, given, tls)
    check(struct, url)
    return struct, settings


def _below(struct: _abi.Options, url: str | None, given: dict[str, Any], tls: AnyTLS) -> Any:
    """TLS and WebSocket; returns the settings of TLS."""
    if tls is None and scheme_of(url) in OVER_TLS:
        tls = True
    try:
        if given.get("websocket_headers") is not None:
            struct.put("websocket_headers", headers_of("the option websocket_headers", given["websocket_headers"]))
        settings, alpn = chosen(tls)
        if settings:
            struct.tls, struct.tls_settings = _tls_library.load().smq_tls_openssl(), settings._handle
    except mqtt_errors.Error as why:  # TLS and the headers of HTTP are those of MQTT
        raise error(int(why.status), why.detail, failure=why.failure) from None
    wanted = given.get("alpn") or alpn
    if wanted:
        struct.put("alpn", encoded("alpn", wanted))
    return settings


def check(struct: _abi.Options, url: str | None) -> None:
    """Calls sst_options_check(), and finds out which option is wrong."""
    offset = ctypes.c_size_t()
    status = LIBRARY.sst_options_check(ctypes.byref(struct), ctypes.byref(offset))
    if not status:
        return
    if url and status in (Status.URL, Status.NOT_SUPPORTED):
        if said := _about_scheme(url):
            raise error(status, said)
        at = offset.value
        raise error(status, f"the URL {_hidden(url)!r} is wrong at byte {at}: {_hidden(url[at : at + 20])!r}")
    if not struct.url.size and not struct.host.size:
        raise error(status, "neither a URL nor the option host is given")
    raise error(status, _blame(struct) if status == Status.OPTION else "")


def _about_scheme(url: str) -> str:
    """What is to be said if that is what is wrong."""
    scheme = scheme_of(url)
    if scheme == "unix":
        return "" if url.startswith("unix:/") else f"{url!r} is no URL: unix:/path, with a path from the root on"
    # What has other characters is no scheme, and may be a passcode.
    if scheme in PORTS or not scheme.replace("+", "").isalnum():
        return ""
    known = ", ".join(f"{name}://" for name in PORTS)
    return f"the URL begins with {scheme}://, {SCHEMES.get(scheme, f'and STOMP has {known} and unix:/')}"


def _blame(struct: _abi.Options) -> str:
    """Names the option at fault, or those that contradict each other."""
    text = ctypes.create_string_buffer(300)
    LIBRARY.sst_options_fault(ctypes.byref(struct), text, len(text))
    names = [_own_name(struct, name) for name in text.value.decode().split(", ") if name]
    if len(names) > 1:
        return f"the options {', '.join(names[:-1])} and {names[-1]} contradict each other"
    return f"the option {names[0]} is out of its range, or needs another one" if names else ""


def _own_name(struct: _abi.Options, name: str) -> str:
    """As this package calls it; a number with its value."""
    if name.startswith("SST_OPTION_"):
        return name.removeprefix("SST_OPTION_").lower()
    value = getattr(struct, name)
    return f"{name}={value}" if isinstance(value, int) else name


def servers(struct: _abi.Options, url: str | None) -> list[str]:
    """Host and port of each server, as the library counts them; the path of a socket in the file system."""
    host, scheme = struct.host.data.decode() if struct.host.size else "", scheme_of(url)
    if scheme == "unix" or host.startswith("/"):
        return [f"unix:{host}" if host else str(url)]
    if not scheme:
        kinds = ("ws", "wss") if struct.flags & OptionFlag.WEBSOCKET else ("stomp", "stomps")
        scheme = kinds[bool(struct.tls)]
    port = struct.port or PORTS[scheme]
    given = authority_of(url).rpartition("@")[2] if url else host
    parts = given.split(",") if url else [given if ":" not in given else f"[{given}]"]
    return [part if part.rpartition("]")[2].rpartition(":")[1] else f"{part}:{port}" for part in parts]


def encoded(name: str, value: Any) -> bytes:
    """A text of an option, or of a call."""
    if isinstance(value, (bytes, bytearray)) and name == "passcode":
        return bytes(value)
    if name == "journal" and isinstance(value, (str, os.PathLike)):
        return os.fsencode(value)
    if not isinstance(value, str):
        raise ArgumentError(Status.OPTION, f"{name} is a text, not {type(value).__name__}")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(Status.OPTION, f"{name} has what UTF-8 cannot express") from None


def checked_flag(name: str, value: Any) -> bool:
    """Yes or no: a text that says "false" would be a yes."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ArgumentError(Status.OPTION, f"{name} is True or False, not {value!r}")


def number_to(name: str, value: Any, maximum: int, status: int = Status.OPTION) -> int:
    """A number that fits its field: ctypes would cut it off."""
    if not isinstance(value, int) or not 0 <= value <= maximum:
        raise ArgumentError(status, f"{name} is a whole number from 0 to {maximum}, not {value!r}")
    return int(value)


def one_of(name: str, value: Any, known: type[IntEnum]) -> int:
    """A member of an enumeration, its number, or its name in small letters."""
    found = member(value, known)
    if found is None:
        raise ArgumentError(Status.OPTION, f"{name} is {choice(known)}, not {value!r}")
    return found


def function(name: str, value: Any) -> None:
    """A function, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(Status.OPTION, f"{name} is a function, not {type(value).__name__}")


def seconds(name: str, value: Any) -> float | None:
    """A time, a year at most; what is below 0 has passed. None: without a limit."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and value == value:  # which a NaN is not
        return float(min(max(value, 0), 31_536_000))
    raise ArgumentError(Status.OPTION, f"{name} is a number of seconds, not {value!r}")


def _number(name: str, value: Any) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise ArgumentError(Status.OPTION, f"the option {name} is a whole number, not {value!r}") from None
    if not 0 <= number <= 0xFFFFFFFF:
        raise ArgumentError(Status.OPTION, f"the option {name}={number} is out of its range")
    return int(number)


def _hidden(url: str) -> str:
    """Without a passcode; and without the query, which may be a signature."""
    scheme, separator, rest = url.rpartition("@")
    shown = f"…@{rest}" if separator else url
    path, question, _ = shown.partition("?")
    return f"{path}?…" if question else shown
