"""Subscribing: from the call to what on_subscribe is told."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import properties as _own
from ..constants import Status
from ..errors import ArgumentError, Error, NoRoomError
from ..helpers import topic_filter_check
from ..message import Subscription
from ._loops import Loops
from ._names import MQTT_ERR_NO_CONN, MQTT_ERR_NOMEM, MQTT_ERR_SUCCESS, MQTTv5
from .enums import MQTTErrorCode
from .packettypes import PacketTypes
from .properties import Properties
from .subscribeoptions import SubscribeOptions


class Subscribing(Loops):
    """subscribe() and unsubscribe()."""

    def subscribe(
        self,
        topic: Any,
        qos: int = 0,
        options: SubscribeOptions | None = None,
        properties: Properties | None = None,
    ) -> tuple[MQTTErrorCode, int | None]:
        """Subscribes: to "topic", to ("topic", qos or options), or to a list of these. Returns an error code and the
        mid that on_subscribe gets. ValueError for a wrong topic or QoS."""
        if isinstance(topic, tuple):
            topic, second = topic
            if self._protocol == MQTTv5:
                options = second
                if not isinstance(options, SubscribeOptions):
                    raise ValueError("Subscribe options must be instance of SubscribeOptions class.")
            else:
                qos = second
        if isinstance(topic, (str, bytes)):
            if qos < 0 or qos > 2:
                raise ValueError("Invalid QoS level.")
            if options is not None and qos != 0:
                raise ValueError("Subscribe options and qos parameters cannot be combined.")
            asked = [(topic, options if options is not None else qos)]
        elif isinstance(topic, list):
            if not topic:
                raise ValueError("Empty topic list")
            asked = topic
        else:
            raise ValueError("No topic specified, or incorrect topic type.")
        filters = [self._subscription(name, wanted) for name, wanted in asked]
        found = properties.own() if properties else _own.Properties()
        identifier = (found.subscription_identifiers or [0])[0]
        return self._request(True, filters, identifier, found.user_properties)

    def unsubscribe(
        self, topic: str | list[str], properties: Properties | None = None
    ) -> tuple[MQTTErrorCode, int | None]:
        """Unsubscribes from a topic, or from a list of them. Returns an error code and the mid that on_unsubscribe
        gets."""
        topics = topic if isinstance(topic, list) else [topic]
        if not topics or not all(isinstance(name, (str, bytes)) and name for name in topics):
            raise ValueError("Invalid topic.")
        filters = [Subscription(_text(name)) for name in topics]
        return self._request(False, filters, 0, properties.own().user_properties if properties else [])

    def _subscription(self, name: Any, wanted: Any) -> Subscription:
        if not isinstance(name, (str, bytes)) or not name:
            raise ValueError("Invalid topic.")
        try:
            topic_filter_check(_text(name))
        except ArgumentError:
            raise ValueError("Invalid subscription filter.") from None
        if isinstance(wanted, SubscribeOptions):
            if self._protocol != MQTTv5:
                raise ValueError("Invalid QoS level.")
            return Subscription(
                _text(name), wanted.QoS, wanted.noLocal, wanted.retainAsPublished, wanted.retainHandling
            )
        if not isinstance(wanted, int) or not 0 <= wanted <= 2:
            raise ValueError("Invalid QoS level.")
        return Subscription(_text(name), wanted)

    def _request(
        self, subscribing: bool, filters: list[Subscription], identifier: int, user_properties: list[tuple[str, str]]
    ) -> tuple[MQTTErrorCode, int | None]:
        with self._lock:
            link = self._link
            if link is None or self._sock is None:
                return MQTT_ERR_NO_CONN, None
            mid = self._next_mid()

            def finish(result: Any, error: Error | None) -> None:
                link.calls.append(partial(self._answered, subscribing, mid, result, error))

            try:
                link.subscribe_filters(subscribing, filters, 0, identifier, user_properties or None, finish)
            except NoRoomError:
                return MQTT_ERR_NOMEM, None
            except ArgumentError as wrong:
                if wrong.status == Status.STATE:
                    return MQTT_ERR_NO_CONN, None
                raise ValueError(str(wrong)) from None
        self._debug(f"Sending {'' if subscribing else 'UN'}SUBSCRIBE (m{mid}) {[f.filter for f in filters]}")
        self._kick()
        return MQTT_ERR_SUCCESS, mid

    def _answered(self, subscribing: bool, mid: int, result: Any, error: Error | None) -> None:
        if error and not error.reason_codes:
            self._debug(f"No answer to {'' if subscribing else 'UN'}SUBSCRIBE (m{mid}): {error}")
            return
        self._debug(f"Received {'' if subscribing else 'UN'}SUBACK (Mid: {mid})")
        own = (error.properties if error else result.properties) or _own.Properties()
        numbers = error.reason_codes if error else result.reason_codes
        packet = PacketTypes.SUBACK if subscribing else PacketTypes.UNSUBACK
        properties = Properties(packet).fill(own)
        (self._call_on_subscribe if subscribing else self._call_on_unsubscribe)(mid, numbers, properties)


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode()
