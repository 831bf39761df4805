"""The library's options for TLS, WebSocket, proxy and socket of a paho client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._settings import Settings

# Of the numbers of PySocks, SOCKS5 and HTTP, with its ports.
PROXIES = {2: ("socks5", 1080), 3: ("http", 8080)}

# What libswiftmqtt writes into the request by itself.
_OWN_HEADERS = ("host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol")


def transport_options(client: Settings) -> dict[str, Any]:
    """The options of the library for these settings."""
    options: dict[str, Any] = {"websocket": client._transport == "websockets"}
    if client._bind_address:
        options["bind_address"] = client._bind_address
    if client._ssl_context is not None:
        options["tls"] = client._ssl_context.settings()
        options["alpn"] = client._ssl_context.alpn or None
    if client._proxy and client._transport != "unix":
        options["proxy"] = _proxy_url(client._proxy)
    return options


def websocket_request(client: Settings) -> tuple[str, dict[str, str]]:
    """Path and headers of the next connection: Origin is sent as paho-mqtt does."""
    port = f":{client._port}" if client._port != (443 if client._ssl_context else 80) else ""
    host = f"{client._host}{port}"
    before = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Origin": f"{'https' if client._ssl_context else 'http'}://{host}",
        "Sec-WebSocket-Key": "(made by libswiftmqtt)",
        "Sec-Websocket-Version": "13",
        "Sec-Websocket-Protocol": "mqtt",
    }
    extra = client._websocket_extra_headers
    headers = extra(dict(before)) if callable(extra) else {**before, **(extra or {})}
    own = {name.lower(): value for name, value in before.items() if name.lower() in _OWN_HEADERS}
    left = {}
    for name, value in headers.items():
        if name.lower() not in own:
            left[name] = value
        elif value != own[name.lower()]:
            raise ValueError(f"the WebSocket's header {name} is libswiftmqtt's, and cannot be another one")
    return client._websocket_path, left


def _proxy_url(given: dict[str, Any]) -> str:
    scheme, port = PROXIES[given["proxy_type"]]
    host = given["proxy_addr"]
    login = ""
    if given.get("proxy_username") is not None:
        login = ":".join(_quoted(str(given.get(f"proxy_{part}") or "")) for part in ("username", "password")) + "@"
    return f"{scheme}://{login}{f'[{host}]' if ':' in host else host}:{given.get('proxy_port') or port}"


def _quoted(text: str) -> str:
    """Percent-encoded (RFC 3986, section 2.1), whatever it is."""
    return "".join(f"%{byte:02X}" for byte in text.encode())
