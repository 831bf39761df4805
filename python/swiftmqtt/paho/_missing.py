"""What paho-mqtt has and libswiftmqtt does not have."""

from __future__ import annotations

from typing import Any

from .enums import MQTTErrorCode


class Missing:
    """Methods that raise NotImplementedError."""

    def enable_bridge_mode(self) -> None:
        """NotImplementedError: libswiftmqtt is a client and not a bridge."""
        raise NotImplementedError("libswiftmqtt is a client, no bridge")

    def connect_srv(self, *arguments: Any, **named: Any) -> MQTTErrorCode:
        """NotImplementedError: look up the SRV record, and pass the result to connect()."""
        raise NotImplementedError("libswiftmqtt looks up no SRV records: look it up, and connect() to what it says")
