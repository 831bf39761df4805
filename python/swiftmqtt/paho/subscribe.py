"""Subscribing in one line: for a callback, or for a number of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .client import Client, MQTTMessage, MQTTProtocolVersion, MQTTv5, MQTTv311, connack_string
from .errors import MQTTException
from .publish import make_client


def callback(
    callback: Callable[[Client, Any, MQTTMessage], None],
    topics: str | list[str],
    qos: int = 0,
    userdata: Any = None,
    hostname: str = "localhost",
    port: int = 1883,
    client_id: str = "",
    keepalive: int = 60,
    will: Mapping[str, Any] | None = None,
    auth: Mapping[str, str] | None = None,
    tls: Any = None,
    protocol: MQTTProtocolVersion = MQTTv311,
    transport: str = "tcp",
    clean_session: bool | None = True,
    proxy_args: Any = None,
) -> None:
    """Connects, subscribes, and calls callback(client, userdata, message) for each message, until that calls
    client.disconnect()."""
    if qos < 0 or qos > 2:
        raise ValueError("qos must be in the range 0-2")

    def on_connect(client: Client, _: Any, flags: Any, reason_code: Any, properties: Any) -> None:
        if reason_code != 0:
            raise MQTTException(connack_string(reason_code))
        for topic in topics if isinstance(topics, list) else [topics]:
            client.subscribe(topic, qos)

    def on_message(client: Client, _: Any, message: MQTTMessage) -> None:
        callback(client, userdata, message)

    client = make_client(client_id, userdata, protocol, transport, clean_session, will, auth, tls, proxy_args)
    client.on_connect, client.on_message = on_connect, on_message
    client.connect(hostname, port, keepalive)
    client.loop_forever()


def simple(
    topics: str | list[str],
    qos: int = 0,
    msg_count: int = 1,
    retained: bool = True,
    hostname: str = "localhost",
    port: int = 1883,
    client_id: str = "",
    keepalive: int = 60,
    will: Mapping[str, Any] | None = None,
    auth: Mapping[str, str] | None = None,
    tls: Any = None,
    protocol: MQTTProtocolVersion = MQTTv311,
    transport: str = "tcp",
    clean_session: bool | None = True,
    proxy_args: Any = None,
) -> MQTTMessage | list[MQTTMessage]:
    """Connects, subscribes, and returns the first message, or a list of the first `msg_count`.

    retained   False: retained messages do not count
    """
    if msg_count < 1:
        raise ValueError("msg_count must be > 0")
    messages: list[MQTTMessage] = []

    def collect(client: Client, _: Any, message: MQTTMessage) -> None:
        if len(messages) == msg_count or message.retain and not retained:
            return
        messages.append(message)
        if len(messages) == msg_count:
            client.disconnect()

    callback(
        collect,
        topics,
        qos,
        None,
        hostname,
        port,
        client_id,
        keepalive,
        will,
        auth,
        tls,
        protocol,
        transport,
        None if protocol == MQTTv5 else clean_session,
        proxy_args,
    )
    return messages[0] if msg_count == 1 else messages
