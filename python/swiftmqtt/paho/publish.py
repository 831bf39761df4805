"""Publishing in one line: connect, publish, disconnect."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sized
from typing import Any, Union

from .client import CallbackAPIVersion, Client, MQTTProtocolVersion, MQTTv311, PayloadType, connack_string
from .errors import MQTTException

#: A message: a dict with topic, payload, qos and retain, of which only topic is needed; or a tuple of these.
MessageType = Union[Mapping[str, Any], "tuple[Any, ...]"]


def multiple(
    msgs: Iterable[MessageType],
    hostname: str = "localhost",
    port: int = 1883,
    client_id: str = "",
    keepalive: int = 60,
    will: Mapping[str, Any] | None = None,
    auth: Mapping[str, str] | None = None,
    tls: Any = None,
    protocol: MQTTProtocolVersion = MQTTv311,
    transport: str = "tcp",
    proxy_args: Any = None,
) -> None:
    """Connects, publishes messages one after the other, and disconnects.

    msgs   dicts with topic, payload, qos and retain, or tuples of these
    will   a dict with the same keys
    auth   a dict with username and, optionally, password
    tls    a dict with the arguments of tls_set() and, optionally, insecure; or a context for tls_set_context()
    proxy_args   the arguments of proxy_set()
    """
    if not isinstance(msgs, Iterable):
        raise TypeError("msgs must be an iterable")
    if isinstance(msgs, Sized) and len(msgs) == 0:
        raise ValueError("msgs is empty")
    client = make_client(client_id, deque(msgs), protocol, transport, None, will, auth, tls, proxy_args)
    client.on_connect, client.on_publish = _on_connect, _on_publish
    client.connect(hostname, port, keepalive)
    client.loop_forever()


def single(
    topic: str,
    payload: PayloadType = None,
    qos: int = 0,
    retain: bool = False,
    hostname: str = "localhost",
    port: int = 1883,
    client_id: str = "",
    keepalive: int = 60,
    will: Mapping[str, Any] | None = None,
    auth: Mapping[str, str] | None = None,
    tls: Any = None,
    protocol: MQTTProtocolVersion = MQTTv311,
    transport: str = "tcp",
    proxy_args: Any = None,
) -> None:
    """Connects, publishes one message, and disconnects. See multiple()."""
    message = {"topic": topic, "payload": payload, "qos": qos, "retain": retain}
    multiple([message], hostname, port, client_id, keepalive, will, auth, tls, protocol, transport, proxy_args)


def make_client(
    client_id: str,
    userdata: Any,
    protocol: MQTTProtocolVersion,
    transport: str,
    clean_session: bool | None,
    will: Mapping[str, Any] | None,
    auth: Mapping[str, str] | None,
    tls: Any,
    proxy_args: Any,
) -> Client:
    """A client according to the helpers' arguments."""
    client = Client(CallbackAPIVersion.VERSION2, client_id, clean_session, userdata, protocol, transport)
    client.enable_logger()
    if proxy_args is not None:
        client.proxy_set(**proxy_args)
    if auth:
        if not auth.get("username"):
            raise KeyError("The 'username' key was not found, this is required for auth")
        client.username_pw_set(auth["username"], auth.get("password"))
    if will is not None:
        client.will_set(**will)
    if isinstance(tls, Mapping):
        client.tls_set(**{name: value for name, value in tls.items() if name != "insecure"})
        if tls.get("insecure"):
            client.tls_insecure_set(True)
    elif tls is not None:
        client.tls_set_context(tls)
    return client


def _on_connect(client: Client, messages: deque[MessageType], flags: Any, reason_code: Any, properties: Any) -> None:
    if reason_code != 0:
        raise MQTTException(connack_string(reason_code))
    _publish_next(client, messages)


def _on_publish(client: Client, messages: deque[MessageType], mid: int, reason_code: Any, properties: Any) -> None:
    _publish_next(client, messages)


def _publish_next(client: Client, messages: deque[MessageType]) -> None:
    if not messages:
        client.disconnect()
        return
    message = messages.popleft()
    if isinstance(message, Mapping):
        client.publish(**message)
    elif isinstance(message, (tuple, list)):
        client.publish(*message)
    else:
        raise TypeError("message must be a dict, tuple, or list")
