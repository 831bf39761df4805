"""The options of a client: keyword arguments for smq_options."""

from __future__ import annotations

import ctypes
import os
from typing import Any, TypedDict

from . import _abi, _checks, _tls_library, properties
from ._library import LIBRARY
from ._names import meant
from ._websocket import REQUEST_BYTES, Headers, headers_of
from .constants import OptionFlag, Protocol, Status
from .errors import ArgumentError, error
from .message import Will
from .payload import Adapters

# Where this package's default is another than the library's: a process that runs Python has more memory than a board.
DEFAULTS = {
    "outbox_bytes": 1 << 20,
    "outbox_messages": 4096,
    "receive_bytes": 1 << 16,
    "request_bytes": 1 << 13,
    "requests": 64,
    "subscriptions": 256,
    "subscription_bytes": 1 << 14,
    "replies": 64,
    "submit_messages": 256,
    "submit_bytes": 1024,
    "urgent_messages": 16,
    "urgent_bytes": 1 << 14,
    "stream_bytes": 1 << 14,
    "references": 16,
}

FLAGS = {
    "keep_session": OptionFlag.KEEP_SESSION,
    "new_session": OptionFlag.NEW_SESSION,
    "fallback": OptionFlag.FALLBACK,
    "client_id_as_is": OptionFlag.CLIENT_ID_AS_IS,
    "shuffle": OptionFlag.SHUFFLE,
    "redirect": OptionFlag.REDIRECT,
    "qos_0_connected": OptionFlag.QOS_0_CONNECTED,
    "websocket": OptionFlag.WEBSOCKET,
}
# Flags that other arguments set.
OTHER_FLAGS = {
    "ask_credentials": "credentials",
    "ask_addresses": "resolve",
    "hold": "manual_ack",
    "no_reconnect": "reconnect",
    "session_expiry": "session_expiry_s",
}
BELOW_TEXTS = ("tls_name", "alpn", "proxy", "websocket_path", "websocket_protocol", "bind_device", "bind_address", "journal", "inspect")
PATHS = ("journal", "inspect")
TEXTS = ("url", "host", "client_id", "user_name", "password", *BELOW_TEXTS)
BELOW_NUMBERS = (*_abi.WEBSOCKET_NUMBERS, *_abi.SOCKET_NUMBERS, *_abi.JOURNAL_NUMBERS, *_abi.TRACE_NUMBERS, *_abi.INSPECT_NUMBERS, "references",
                 "busy_poll_us")
PROPERTIES = (
    "request_response_information",
    "request_problem_information",
    "user_properties",
    "authentication_method",
    "authentication_data",
)

#: The schemes, with their ports.
PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
OVER_TLS = ("mqtts", "wss")

# What other clients have, and what is said of it.
SCHEMES = {
    "tcp": "the scheme is mqtt://",
    **dict.fromkeys(("tls", "ssl", "mqtt+ssl", "mqtt+tls"), "the scheme is mqtts://"),
    **dict.fromkeys(("http", "https"), "the scheme is mqtt:// or mqtts://, and for a WebSocket ws:// or wss://"),
    **dict.fromkeys(("stomp", "stomps"), "the scheme is STOMP's, which swiftmqtt.stomp.Client speaks"),
    "mqtt+unix": "the scheme is unix:, as in unix:/run/mosquitto.sock",
}
_IN_TLS = "it is a part of tls: tls=swiftmqtt.TLS({})"
ELSEWHERE = {
    **dict.fromkeys(("ssl", "tls_context", "ssl_context", "tls_params"), "did you mean tls?"),
    **dict.fromkeys(("ca_certs", "cafile", "ca_file", "ca"), _IN_TLS.format("ca_file=…")),
    **dict.fromkeys(("capath", "ca_directory"), _IN_TLS.format("ca_directory=…")),
    **dict.fromkeys(("certfile", "certificate_file", "cert"), _IN_TLS.format("certificate_file=…, key_file=…")),
    **dict.fromkeys(("keyfile", "key_file", "key"), _IN_TLS.format("certificate_file=…, key_file=…")),
    **dict.fromkeys(("psk", "psk_identity"), _IN_TLS.format("psk_identity=…, psk=…")),
    **dict.fromkeys(("insecure", "tls_insecure", "verify"), _IN_TLS.format("no_verify=True") + " switches verification off"),
    "server_hostname": "did you mean tls_name?",
    "transport": "the scheme says it: mqtt://, mqtts://, ws://, wss:// or unix:",
    **dict.fromkeys(("websockets", "ws"), "the scheme says it: ws:// or wss://"),
    "headers": "did you mean websocket_headers?",
    **dict.fromkeys(("proxy_url", "proxies", "socks5"), "did you mean proxy?"),
}

# Arguments of a client that are no options of the library's.
OTHERS = "url run inbox_maximum reconnect manual_ack message_maximum adapters credentials resolve authenticate log log_level"
OTHERS += " tls websocket_request"


class Options(TypedDict, total=False):
    """The options of smq_options, with the names of the header, which describes each with its range. Its
    flags are bool options, and the properties of CONNECT are options, too.

    An option that is given counts even if it is empty or 0 where that says something: `user_name=""` and
    `password=""` are sent, and with `session_expiry_s=0` (MQTT 5.0) a session ends with its connection even
    if `keep_session` resumes it."""

    host: str
    port: int
    protocol: int
    client_id: str
    user_name: str | None
    password: str | bytes | None
    will: Will | None
    # flags
    keep_session: bool
    new_session: bool
    fallback: bool
    client_id_as_is: bool
    shuffle: bool
    redirect: bool
    qos_0_connected: bool
    # CONNECT's properties, 5.0
    request_response_information: int
    request_problem_information: int
    user_properties: properties.UserProperties
    authentication_method: str
    authentication_data: bytes
    # numbers
    keep_alive_s: int
    session_expiry_s: int
    connect_timeout_ms: int
    ping_timeout_ms: int
    outbox_bytes: int
    outbox_messages: int
    receive_bytes: int
    in_flight_maximum: int
    receive_maximum: int
    maximum_packet_bytes: int
    requests: int
    request_bytes: int
    control_bytes: int
    topic_aliases_in: int
    topic_aliases_out: int
    topic_alias_bytes: int
    replies: int
    stream_bytes: int
    references: int
    reconnect_min_ms: int
    reconnect_max_ms: int
    stable_ms: int
    jitter: int
    subscriptions: int
    subscription_bytes: int
    resubscribe: int
    urgent_messages: int
    urgent_bytes: int
    answer_timeout_ms: int
    write_timeout_ms: int
    tcp_user_timeout_ms: int
    credential_bytes: int
    submit_messages: int
    submit_bytes: int
    unreleased_maximum: int
    addresses: int
    # TLS, besides the argument tls
    tls_name: str | None
    alpn: str | None
    # on the way to the server
    proxy: str | None
    websocket: bool
    websocket_path: str | None
    websocket_headers: Headers | None
    websocket_protocol: str | None
    websocket_bytes: int
    websocket_request_bytes: int
    bind_device: str | None
    bind_address: str | None
    dscp: int
    tcp_keep_alive_s: int
    busy_poll_us: int
    # a file that keeps messages over a crash
    journal: str | os.PathLike[str] | None
    journal_bytes: int
    journal_delay_ms: int
    journal_batch_bytes: int
    journal_flags: int
    # the last packets, for trace()
    trace_bytes: int
    trace_packet_bytes: int
    # a socket for smq inspect
    inspect: str | os.PathLike[str] | None
    inspect_mode: int
    inspect_bytes: int


def build(
    url: str | None, flags: int, adapters: Adapters, given: dict[str, Any], tls: int | None = None
) -> _abi.Options:
    """The struct, checked. TypeError and ArgumentError name the option that is wrong. tls: the settings of the engine."""
    unknown = [name for name in given if name not in Options.__annotations__]
    if unknown:
        if unknown[0] in ELSEWHERE:
            raise TypeError(f"there is no option {unknown[0]!r}: {ELSEWHERE[unknown[0]]}")
        raise TypeError(f"there is no option {unknown[0]!r}{meant(unknown[0], [*Options.__annotations__, *OTHERS.split()])}")
    if isinstance(given.get("host"), str) and "://" in given["host"]:
        raise ArgumentError(Status.OPTION, "the option host is a name or an address; a URL is the first argument")
    struct = _abi.Options()
    for name, value in {"url": url, **given}.items():
        if name in TEXTS and value is not None:
            struct.put(name, os.fsencode(value) if name in PATHS and isinstance(value, os.PathLike) else _encoded(name, value))
    # One of no bytes is something else than none.
    flags |= OptionFlag.USER_NAME if given.get("user_name") is not None else 0
    flags |= OptionFlag.PASSWORD if given.get("password") is not None else 0
    protocol = given.get("protocol")
    struct.protocol = _number("protocol", protocol) if protocol else Protocol.MQTT_5_0
    # So is a time of 0.
    if given.get("session_expiry_s") == 0 and struct.protocol == Protocol.MQTT_5_0:
        flags |= OptionFlag.SESSION_EXPIRY
    if not protocol and "authentication_method" not in given and given.get("fallback", True):
        flags |= OptionFlag.FALLBACK
    for name, flag in FLAGS.items():
        if given.get(name) is not None and _checks.flag(f"the option {name}", given[name]):
            flags |= flag
    struct.flags = flags
    struct.port = _number("port", given.get("port", 0))
    for name in (*_abi.OPTION_NUMBERS, *BELOW_NUMBERS):
        value = given.get(name, DEFAULTS.get(name, 0))
        setattr(struct, name, _number(name, value))
    if struct.protocol < Protocol.MQTT_5_0 and "replies" not in given:
        struct.replies = 0
    if given.get("websocket_headers") is not None:
        struct.put("websocket_headers", headers_of("the option websocket_headers", given["websocket_headers"]))
    if tls is not None:
        struct.tls, struct.tls_settings = _tls_library.load().smq_tls_openssl(), tls
    struct.put("properties", properties.encode(None, **{name: given.get(name) for name in PROPERTIES}))
    if given.get("will") is not None:
        struct.kept_will = _will(given["will"], adapters, struct.protocol)  # the struct has only its address
        struct.will = ctypes.addressof(struct.kept_will)
    check(struct, url)
    return struct


def scheme_of(url: Any) -> str:
    """Of a URL, in small letters; empty: there is none."""
    if not isinstance(url, str):
        return ""
    return "unix" if url.startswith("unix:") else url.partition("://")[0].lower() if "://" in url else ""


def authority_of(url: str) -> str:
    """Of a URL that names servers, what precedes its path: user and password, and the servers."""
    return (url.partition("://")[2] if "://" in url else url).partition("/")[0]


def tls_for(url: str | None, tls: Any) -> Any:
    """The argument `tls`, or what the scheme says without one."""
    over_tls = scheme_of(url) in OVER_TLS
    if over_tls and tls is False:
        raise ArgumentError(Status.OPTION, f"tls is False, and {scheme_of(url)}:// is with TLS")
    return True if over_tls and tls is None else tls


def asked_for(url: str | None, given: dict[str, Any], has_hook: bool) -> tuple[bytes, bytes]:
    """Makes the options those of a client that is asked for its WebSocket request before each attempt: with the credentials,
    which the library then does not have. Returns them."""
    if not is_websocket(url, given):
        raise ArgumentError(Status.OPTION, "websocket_request is for a WebSocket: the scheme is ws:// or wss://")
    if isinstance(url, str) and "@" in authority_of(url):
        said = "with websocket_request, user and password are not in the URL, but in the options user_name and password"
        raise ArgumentError(Status.OPTION, said)
    given.setdefault("websocket_request_bytes", REQUEST_BYTES)
    if has_hook:
        return b"", b""
    own = tuple(_encoded(n, v) if (v := given.pop(n, None)) is not None else b"" for n in ("user_name", "password"))
    given.setdefault("credential_bytes", max(512, len(own[0]) + len(own[1])))
    return own[0], own[1]


def is_websocket(url: str | None, given: dict[str, Any]) -> bool:
    return scheme_of(url) in ("ws", "wss") or given.get("websocket") is True


def check(struct: _abi.Options, url: str | None) -> None:
    """Calls smq_options_check(), and finds out which option is wrong."""
    offset = ctypes.c_size_t()
    status = LIBRARY.smq_options_check(ctypes.byref(struct), ctypes.byref(offset))
    if not status:
        return
    if url and status in (Status.URL, Status.NOT_SUPPORTED):
        if said := _about_scheme(url):
            raise error(status, said)
        at = offset.value
        raise error(status, f"the URL {_hidden(url)!r} is wrong at byte {at}: {_hidden(url[at : at + 20])!r}")
    raise error(status, _blame(struct, status, scheme_of(url)))


def _about_scheme(url: str) -> str:
    """What is to be said if that is what is wrong."""
    if scheme_of(url) == "unix":
        return "" if url.startswith("unix:/") else f"{url!r} is no URL: unix:/path, with a path from the root on"
    scheme = scheme_of(url)
    # What has other characters is no scheme, and may be a password.
    if scheme in PORTS or not scheme.replace("+", "").isalnum():
        return ""
    known = ", ".join(f"{name}://" for name in PORTS)
    return SCHEMES.get(scheme, f"the URL begins with {scheme}://, and MQTT has {known} and unix:/")


def servers(struct: _abi.Options, url: str | None) -> list[str]:
    """Host and port of each server, as the library counts them; the path of a socket in the file system."""
    host, scheme = struct.host.data.decode() if struct.host.size else "", scheme_of(url)
    if scheme == "unix" or host.startswith("/"):
        return [f"unix:{host}" if host else str(url)]
    if not scheme:
        scheme = ("wss" if struct.tls else "ws") if struct.flags & OptionFlag.WEBSOCKET else "mqtts" if struct.tls else "mqtt"
    port = struct.port or PORTS[scheme]
    given = authority_of(url).rpartition("@")[2] if url else host
    parts = given.split(",") if url else [given if ":" not in given else f"[{given}]"]
    return [part if part.rpartition("]")[2].rpartition(":")[1] else f"{part}:{port}" for part in parts]


def proxy(struct: _abi.Options) -> str:
    """The proxy, without user name and password; empty: none."""
    if not struct.proxy.size:
        return ""
    scheme, _, rest = struct.proxy.data.decode().partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _blame(struct: _abi.Options, status: int, scheme: str) -> str:
    """Names the option at fault, or those that contradict each other."""
    if status == Status.TOPIC_NAME:
        return "the Will's topic is no Topic Name: it is empty, too long, or has a wildcard"
    if status not in (Status.OPTION, Status.UTF8, Status.PROPERTY, Status.CLIENT_ID):
        return ""
    if not struct.url.size and not struct.host.size:
        return "neither a URL nor the option host is given"
    if struct.tls and scheme in ("mqtt", "ws"):
        return f"tls is for {scheme}s://, and {scheme}:// is without TLS"
    if struct.tls and not struct.tls_name.size and (scheme == "unix" or struct.host.data and struct.host.data.startswith(b"/")):
        return "TLS over a socket in the file system needs tls_name: the name that the certificate must be for"
    if struct.proxy.size and not _is_proxy(struct.proxy.data):
        return "the option proxy is a URL, socks5://[user:password@]host[:port] or http://…"
    names = _fault(struct)
    if len(names) > 1:
        return f"the options {', '.join(names[:-1])} and {names[-1]} contradict each other"
    return f"the option {names[0]} is out of its range, or needs another one" if names else ""


def _fault(struct: _abi.Options) -> list[str]:
    """The options at fault, as this package names them, and the numbers with their values."""
    text = ctypes.create_string_buffer(300)
    LIBRARY.smq_options_fault(ctypes.byref(struct), text, len(text))
    return [_own_name(struct, name) for name in text.value.decode().split(", ") if name]


def _own_name(struct: _abi.Options, name: str) -> str:
    if name.startswith("SMQ_OPTION_"):
        name = name[len("SMQ_OPTION_") :].lower()
        return OTHER_FLAGS.get(name, name)
    value = getattr(struct, name)
    return f"{name}={value}" if isinstance(value, int) and value and name not in ("will", "tls", "tls_settings") else name


def _is_proxy(url: bytes) -> bool:
    return url.lower().startswith((b"socks5://", b"http://"))


def _hidden(url: str) -> str:
    """Without a password; and without the query, which may be a signature."""
    scheme, separator, rest = url.rpartition("@")
    shown = f"…@{rest}" if separator else url
    path, question, _ = shown.partition("?")
    return f"{path}?…" if question else shown


def _number(name: str, value: Any) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise ArgumentError(Status.OPTION, f"the option {name} is a whole number, not {value!r}") from None
    if not 0 <= number <= 0xFFFFFFFF:
        raise ArgumentError(Status.OPTION, f"the option {name}={number} is out of range")
    return int(number)


def _encoded(name: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)) and name == "password":
        return bytes(value)
    if not isinstance(value, str):
        raise ArgumentError(Status.OPTION, f"the option {name} is a text, not {type(value).__name__}")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(Status.UTF8, f"the option {name} has what UTF-8 cannot express") from None


def _will(will: Will, adapters: Adapters, protocol: int) -> _abi.Message:
    struct = _abi.Message()
    if not isinstance(will, Will):
        raise ArgumentError(Status.OPTION, f"the option will is a swiftmqtt.Will, not {type(will).__name__}")
    if will.qos not in (0, 1, 2):
        raise ArgumentError(Status.QOS, f"the Will's qos is 0, 1 or 2, not {will.qos!r}")
    payload, content_type, utf8 = adapters.encode(will.payload, will.content_type)
    more: dict[str, Any] = dict(
        will_delay_interval=will.delay_s,
        content_type=content_type,
        payload_format_indicator=will.payload_format_indicator,
        response_topic=will.response_topic,
        correlation_data=will.correlation_data,
        user_properties=will.user_properties,
    )
    if protocol < Protocol.MQTT_5_0:
        more["content_type"] = will.content_type
    elif utf8 and more["payload_format_indicator"] is None:
        more["payload_format_indicator"] = 1
    struct.put("topic", _encoded("will.topic", will.topic))
    struct.put("payload", payload)
    struct.put("properties", properties.encode(None, **more))
    struct.qos, struct.retain = will.qos, _checks.flag("the Will's retain", will.retain)
    struct.expiry_s = _number("will.expiry_s", will.expiry_s)
    return struct
