"""What paho-mqtt has and libswiftmqtt does not have."""

from __future__ import annotations

from typing import Any

from .enums import MQTTErrorCode


class Missing:
    """Methods that raise NotImplementedError."""

    def tls_set(self, *arguments: Any, **named: Any) -> None:
        """NotImplementedError: libswiftmqtt has no TLS yet."""
        raise NotImplementedError("libswiftmqtt has no TLS yet: use a TLS proxy on this machine, such as stunnel")

    def tls_set_context(self, context: Any = None) -> None:
        """NotImplementedError: see tls_set()."""
        self.tls_set()

    def tls_insecure_set(self, value: bool) -> None:
        """NotImplementedError: see tls_set()."""
        self.tls_set()

    def ws_set_options(self, *arguments: Any, **named: Any) -> None:
        """NotImplementedError: libswiftmqtt has no WebSockets yet."""
        raise NotImplementedError("libswiftmqtt has no WebSockets yet")

    def proxy_set(self, **proxy_args: Any) -> None:
        """NotImplementedError: libswiftmqtt supports no proxy."""
        raise NotImplementedError("libswiftmqtt goes through no SOCKS or HTTP proxy")

    def enable_bridge_mode(self) -> None:
        """NotImplementedError: libswiftmqtt is a client and not a bridge."""
        raise NotImplementedError("libswiftmqtt is a client, no bridge")

    def connect_srv(self, *arguments: Any, **named: Any) -> MQTTErrorCode:
        """NotImplementedError: look up the SRV record, and pass the result to connect()."""
        raise NotImplementedError("libswiftmqtt looks up no SRV records: look it up, and connect() to what it says")
