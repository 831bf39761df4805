"""How the broker is reached: TLS, WebSocket, proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ..constants import TLSVersion
from ..errors import Error
from ..tls_context import TLSContext, create_default_context, is_of_python
from ._failures import os_error
from ._settings import Settings
from ._ways import PROXIES

#: More headers of the WebSocket's request, or a function that gets those there are by default, and returns all.
WebSocketHeaders = Union["dict[str, str]", Callable[["dict[str, str]"], "dict[str, str]"]]

_CERT_NONE = 0  # ssl.CERT_NONE
# ssl.PROTOCOL_TLS, _TLS_CLIENT and _TLSv1_2; those of older versions, and of a server, are no use.
_PROTOCOL_TLS, _PROTOCOL_TLS_CLIENT, _PROTOCOL_TLS_1_2 = 2, 16, 5
_SOCKS4 = 1  # of PySocks
_PROXY_ARGUMENTS = {"proxy_type", "proxy_addr", "proxy_port", "proxy_rdns", "proxy_username", "proxy_password"}


class Transports(Settings):
    """tls_set(), ws_set_options() and proxy_set()."""

    def tls_set(
        self,
        ca_certs: Any = None,
        certfile: Any = None,
        keyfile: Any = None,
        cert_reqs: int | None = None,
        tls_version: int | None = None,
        ciphers: str | None = None,
        keyfile_password: Any = None,
        alpn_protocols: list[str] | None = None,
    ) -> None:
        """Has the next connection be over TLS.

        ca_certs            the file with the CAs to be trusted; None: those of the system
        certfile, keyfile   the client's certificate and its key
        cert_reqs           ssl.CERT_NONE: any certificate will do
        tls_version         ssl.PROTOCOL_TLSv1_2: that and no other
        keyfile_password    a text, bytes, or a function that returns one of them; nobody is asked at a terminal

        OSError if a file cannot be read, or if what it has cannot be used.
        """
        context = create_default_context()
        if tls_version == _PROTOCOL_TLS_1_2:
            context.minimum_version = context.maximum_version = TLSVersion.TLSv1_2
        elif tls_version not in (None, _PROTOCOL_TLS, _PROTOCOL_TLS_CLIENT):
            raise ValueError(f"libswiftmqtt speaks TLS 1.2 and 1.3, not what tls_version={tls_version!r} is")
        if ciphers is not None:
            context.set_ciphers(ciphers)
        if certfile is not None:
            context.load_cert_chain(certfile, keyfile, keyfile_password)
        if cert_reqs == _CERT_NONE:
            context.check_hostname = False
        if cert_reqs is not None:
            context.verify_mode = cert_reqs
        if ca_certs is not None:
            context.load_verify_locations(ca_certs)
        if alpn_protocols is not None:
            context.set_alpn_protocols(alpn_protocols)
        _check(context)
        self.tls_set_context(context)
        self.tls_insecure_set(cert_reqs == _CERT_NONE)

    def tls_set_context(self, context: TLSContext | None = None) -> None:
        """Has the next connection be over TLS, with a context of swiftmqtt.create_default_context(); None: one with the CAs of
        the system. ValueError for an ssl.SSLContext: the keys and the CAs it has loaded cannot be read out of it."""
        if self._ssl_context is not None:
            raise ValueError("SSL/TLS has already been configured.")
        if context is None:
            context = create_default_context()
        if not isinstance(context, TLSContext):
            what = "an ssl.SSLContext" if is_of_python(context) else type(context).__name__
            raise ValueError(
                f"tls_set_context() cannot take {what}: the keys and CAs it has loaded cannot be read out of it. "
                "swiftmqtt.create_default_context() makes a context with the same parameters and methods; or call tls_set()"
            )
        self._ssl_context = context
        self._tls_insecure = not context.check_hostname

    def tls_insecure_set(self, value: bool) -> None:
        """True: the broker's certificate may be for any name. After tls_set() or tls_set_context()."""
        if self._ssl_context is None:
            raise ValueError("Must configure SSL context before using tls_insecure_set.")
        self._tls_insecure = bool(value)
        self._ssl_context.check_hostname = not value

    def ws_set_options(self, path: str = "/mqtt", headers: WebSocketHeaders | None = None) -> None:
        """Sets the WebSocket's path with its query, and more headers, or a function that is called for each connection
        with the headers there are by default, and returns all. Host, Upgrade, Connection and Sec-WebSocket-… are
        libswiftmqtt's: ValueError from connect() if one of them is changed."""
        self._websocket_path = path
        if headers is not None:
            if not isinstance(headers, dict) and not callable(headers):
                raise ValueError("'headers' option to ws_set_options has to be either a dictionary or callable")
            self._websocket_extra_headers = headers

    def proxy_set(self, **proxy_args: Any) -> None:
        """Has the next connection go through a proxy, which looks up the broker's name.

        proxy_type   socks.SOCKS5 (2) or socks.HTTP (3), of PySocks, which is not needed
        proxy_addr, proxy_port, proxy_username, proxy_password
        """
        kind, host = proxy_args.get("proxy_type"), proxy_args.get("proxy_addr")
        if kind not in (*PROXIES, _SOCKS4) or not host:
            raise ValueError("proxy_type and/or proxy_addr are invalid.")
        if kind == _SOCKS4:
            raise ValueError("libswiftmqtt speaks SOCKS5 and HTTP to a proxy, not SOCKS4")
        if not proxy_args.get("proxy_rdns", True):
            raise ValueError("libswiftmqtt has the proxy look up the broker's name: proxy_rdns cannot be False")
        unknown = set(proxy_args) - _PROXY_ARGUMENTS
        if unknown:
            raise ValueError(f"proxy_set() has no argument {sorted(unknown)[0]}")
        self._proxy = dict(proxy_args)


def _check(context: TLSContext) -> None:
    """What cannot be used is said now, as paho-mqtt does."""
    try:
        context.settings()
    except Error as error:
        raise (os_error(error) if isinstance(error, OSError) else ValueError(str(error))) from None
