"""Messages: those that are received, and the Will."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .constants import Status
from .errors import error
from .properties import Properties, UserProperties

if TYPE_CHECKING:
    from .payload import Adapter


class Message:
    """A received message.

    topic                    the Topic Name
    payload                  its bytes
    qos, retain, duplicate   as the server sent it; retain: the message is older than the subscription
    subscription_identifier  MQTT 5.0: the first one; 0: none. All are in `properties`
    status                   0, or ``Status.RECEIVE_TOO_LARGE``: the payload is larger than the client
                             accepts, and was dropped
    payload_total            how many bytes the payload has
    """

    __slots__ = (
        "topic",
        "payload",
        "qos",
        "retain",
        "duplicate",
        "subscription_identifier",
        "status",
        "payload_total",
        "_raw_properties",
        "_properties",
        "_token",
        "_client",
        "__weakref__",
    )

    topic: str
    payload: bytes
    qos: int
    retain: bool
    duplicate: bool
    subscription_identifier: int
    status: int
    payload_total: int
    _raw_properties: bytes
    _properties: Properties | None
    _token: int
    _client: Any

    @property
    def properties(self) -> Properties:
        """MQTT 5.0: all properties; with older versions, none."""
        if self._properties is None:
            self._properties = Properties.decode(self._raw_properties)
        return self._properties

    @property
    def view(self) -> memoryview:
        """The payload as a memoryview: slices of it copy nothing."""
        return memoryview(self.payload)

    def text(self) -> str:
        """The payload as text. ValueError if it is not UTF-8."""
        return self.payload.decode()

    def json(self) -> Any:
        """The payload as JSON. ValueError if it is not JSON."""
        return self.decode("json")

    def decode(self, as_: type | str | Adapter | None = None) -> Any:
        """The payload as a value.

        as_   the desired kind: ``"json"``, ``"text"``, ``"plist"``, ``"cbor"``, ``"senml"`` or another content
              type; a type, such as str, dict, bytes or a protobuf message; or an adapter. None: what the
              message's content type says (5.0), otherwise str if it is marked as UTF-8, otherwise bytes

        Raises ValueError if the payload cannot be decoded like that; ArgumentError if there is no adapter for
        it.
        """
        known = self.properties if self._raw_properties else Properties()
        return self._client.adapters.decode(self.payload, known.content_type, as_, known.payload_format_indicator == 1)

    def delivery_number(self) -> int:
        """With ``manual_ack=True`` and ``JournalFlag.NUMBERS``: the number of a message of QoS 2. As soon as sync()
        has returned, the message has it whenever the server sends it again, also to a later process, and no other
        message has. A program that stores it with what it makes of the message, before ack(), can leave out a message
        whose number it has stored. Raises ArgumentError if the message has none."""
        number: int = self._client._delivery_number(self._token)
        return number

    def ack(self, reason_code: int = 0, *, reason_string: str | None = None) -> None:
        """Acknowledges the message now, with ``manual_ack=True``; a reason_code other than 0 (MQTT 5.0)
        refuses it. Does nothing for a message that needs no acknowledgement, or already has it."""
        token, self._token = self._token, 0
        if token:
            self._client._ack(token, reason_code, reason_string)

    def reply(self, payload: object = b"", **more: Any) -> Any:
        """Publishes the reply to a request (MQTT 5.0): to its Response Topic, with its Correlation Data. Has
        the parameters and the result of the client's publish(). Raises ArgumentError if the message is not a
        request."""
        response_topic = self.properties.response_topic
        if response_topic is None:
            raise error(Status.OPTION, "the message has no Response Topic: it is no request")
        more.setdefault("correlation_data", self.properties.correlation_data)
        return self._client.publish(response_topic, payload, **more)

    def __repr__(self) -> str:
        shown = repr(self.payload[:40]) + ("…" if len(self.payload) > 40 else "")
        return f"<Message {self.topic!r} {shown} qos {self.qos}{' retained' if self.retain else ''}>"


@dataclass
class Will:
    """What the server publishes if the connection ends without DISCONNECT (section 3.1.2.5). The fields from
    delay_s on are for MQTT 5.0."""

    topic: str
    payload: object = b""
    qos: int = 0
    retain: bool = False
    delay_s: int | None = None
    expiry_s: int = 0
    content_type: str | None = None
    payload_format_indicator: int | None = None
    response_topic: str | None = None
    correlation_data: bytes | None = None
    user_properties: UserProperties | None = None


@dataclass
class Subscription:
    """A Topic Filter and its subscription options. The last three are for MQTT 5.0.

    retain_handling   retained messages: 0 send at every subscribe, 1 only if the subscription is new, 2 never
    """

    filter: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0
