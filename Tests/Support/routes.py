"""The ways from a client to a server: what each needs of the options, and the servers and proxies on it.

    def test_it(clients, routes):
        client = clients(**routes("wss through Squid, password"), protocol=5)
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from .forward_proxies import Dante, ForwardProxy, Microsocks, Squid, Tinyproxy

LOGIN = ("the:user@name", "a%20 pass/word")  # which has to be encoded in a URL
PLAIN_LOGIN = ("user", "password")  # for proxies whose configuration takes no other

# Listener, and the proxy in front of it with its password.
ROUTES: dict[str, tuple[str, type[ForwardProxy] | None, tuple[str, str] | None]] = {
    "mqtts": ("good", None, None),
    "mqtts 1.3, RSA below an intermediate": ("below", None, None),
    "ws": ("ws", None, None),
    "wss": ("wss", None, None),
    "unix": ("unix", None, None),
    "ws through nginx": ("nginx ws", None, None),
    "wss through nginx": ("nginx wss", None, None),
    "mqtt through Microsocks": ("plain", Microsocks, None),
    "mqtts through Microsocks, password": ("good", Microsocks, LOGIN),
    "wss through Dante": ("wss", Dante, None),
    "ws through Tinyproxy, password": ("ws", Tinyproxy, PLAIN_LOGIN),
    "mqtts through Squid": ("good", Squid, None),
    "wss through nginx and Squid, password": ("nginx wss", Squid, PLAIN_LOGIN),
    "ejabberd mqtts": ("ejabberd mqtts", None, None),
    "ejabberd ws": ("ejabberd ws", None, None),
    "ejabberd wss": ("ejabberd wss", None, None),
    "ejabberd wss through Dante": ("ejabberd wss", Dante, None),
}


class Routes:
    """Calling it gives the options. Proxies start when they are first needed, and serve all tests."""

    def __init__(self, request: pytest.FixtureRequest, tls: object, directory: Path):
        self.request, self.tls, self.directory = request, tls, directory
        self.stack, self.proxies = ExitStack(), {}

    def __call__(self, name: str) -> dict[str, object]:
        listener, kind, login = ROUTES[name]
        url = self.url(listener)
        options: dict[str, object] = {"url": url}
        if url.startswith(("mqtts", "wss")):
            options["tls"] = self.tls
        if kind:
            options["proxy"] = self.proxy(kind, login).url
        return options

    def server(self, name: str):
        """That mosquitto_sub can reach in plain."""
        return self.request.getfixturevalue("ejabberd" if name.startswith("ejabberd") else "listeners")

    def url(self, listener: str) -> str:
        first, _, scheme = listener.partition(" ")
        if first == "nginx":
            address = self.request.getfixturevalue("nginx").at(scheme, "/mqtt")
        elif first == "ejabberd":
            server = self.request.getfixturevalue("ejabberd")
            address = server.listeners[scheme]
            return address.url_for("localhost").replace("//", f"//{':'.join(server.login)}@")
        else:
            address = self.request.getfixturevalue("listeners")[listener]
        return address.url_for("localhost") if address.port else address.url

    def proxy(self, kind: type[ForwardProxy], login: tuple[str, str] | None) -> ForwardProxy:
        key = (kind, login)
        if key not in self.proxies:
            directory = self.directory / f"{kind.__name__.lower()}-{len(self.proxies)}"
            self.proxies[key] = self.stack.enter_context(kind(directory, login=login) if login else kind(directory))
        return self.proxies[key]
