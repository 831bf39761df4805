"""libswiftmqtt behind the interface of `clients`, run with smq_wait() in the thread of the test."""

from __future__ import annotations

import time
from collections.abc import Sequence

from Support import smq

from .clients import Client, Pairs, Settings

WORDS = {0: "ok", smq.ERR_OFFLINE: "no connection"}
ROOM = 1 << 20  # bytes, for what the largest scenario sends or receives


def word(status: int) -> str:
    """What a call returned."""
    if -200 < status <= -100:  # the call is wrong
        return "refused"
    return WORDS.get(status) or smq.status_name(status)


class SmqClient(Client):
    """A `smq_client`."""

    def __init__(self, settings: Settings):
        super().__init__(settings)
        self.client = smq.Client(reconnect=settings.reconnect, **self.options(settings))
        self.client.on_event = self.on_event
        self.subscribing: set[int] = set()  # cookies; those of other requests are of UNSUBSCRIBE

    @staticmethod
    def options(s: Settings) -> dict[str, object]:
        chosen: dict[str, object] = dict(
            host="127.0.0.1", port=s.port, protocol=s.protocol, client_id=s.client_id or ""
        )
        chosen |= dict(keep_alive_s=s.keep_alive or smq.OFF, flags=0 if s.clean else smq.OPTION_KEEP_SESSION)
        chosen |= dict(reconnect_min_ms=20, reconnect_max_ms=40)
        if not s.own_defaults:
            chosen |= dict(receive_maximum=s.receive_maximum, in_flight_maximum=s.in_flight, receive_bytes=ROOM)
            chosen |= dict(maximum_packet_bytes=smq.OFF, outbox_bytes=ROOM)
        if s.session_expiry is not None:
            chosen["session_expiry_s"] = s.session_expiry
            if s.clean and s.session_expiry:
                chosen["flags"] |= smq.OPTION_KEEP_SESSION | smq.OPTION_NEW_SESSION
        if not s.subscribe_again:
            chosen["resubscribe"] = smq.RESUBSCRIBE_NEVER
        chosen |= dict(topic_aliases_in=s.aliases_in, topic_aliases_out=s.aliases_out)
        if s.user is not None:
            chosen["user_name"] = s.user
        if s.password is not None:
            chosen["password"] = s.password
        if s.properties:
            chosen["properties"] = smq.properties(*s.properties)
        if w := s.will:
            fields = dict(topic=w.topic, payload=w.payload, qos=w.qos, retain=int(w.retain))
            if w.properties:
                fields["properties"] = smq.properties(*w.properties)
            chosen["will"] = smq.Message(**fields)
        return chosen

    # -- calls --

    def begin(self) -> None:
        status = self.client.connect()
        assert status == 0, smq.status_name(status)

    def send(self, number: int, topic: str, payload: bytes, qos: int, retain: bool, properties: Pairs) -> str:
        fields: dict[str, object] = dict(qos=qos, retain=int(retain), cookie=number)
        if properties:
            fields["properties"] = smq.properties(*properties)
        return word(self.client.publish(topic, payload, **fields))

    def ask(self, number: int, filters: Sequence[str], qos: int, options: int, properties: Pairs) -> str:
        flags = dict(no_local=options >> 2 & 1, retain_as_published=options >> 3 & 1, retain_handling=options >> 4 & 3)
        entries = [smq.Subscription(filter=filter, qos=qos, **flags) for filter in filters]
        self.subscribing.add(number << 32)
        return word(self.client.subscribe(*entries, cookie=number << 32, **self.request_fields(properties)))

    def take_back(self, number: int, filters: Sequence[str], properties: Pairs) -> str:
        fields = self.request_fields(properties)
        return word(self.client.unsubscribe(*filters, cookie=number << 32, **fields))

    @staticmethod
    def request_fields(properties: Pairs) -> dict[str, object]:
        """The Subscription Identifier is an argument of its own, the others are a list."""
        fields: dict[str, object] = {}
        if rest := [pair for pair in properties if pair[0] != smq.PROPERTY_SUBSCRIPTION_IDENTIFIER]:
            fields["properties"] = smq.properties(*rest)
        for identifier, value in properties:
            if identifier == smq.PROPERTY_SUBSCRIPTION_IDENTIFIER:
                fields["identifier"] = value
        return fields

    def leave(self, reason_code: int, properties: Pairs) -> str:
        if not reason_code and not properties:
            return word(self.client.disconnect())
        return word(self.client.disconnect_with(reason_code, smq.properties(*properties) if properties else None))

    def step(self, timeout_ms: int) -> None:
        if self.client.state == smq.STATE_DISCONNECTED:
            time.sleep(timeout_ms / 1000)
        self.client.step(timeout_ms)

    def close(self) -> None:
        self.client.close()

    # -- events --

    def on_event(self, event: smq.Event) -> None:
        """In the words of both. Called while the event is not released."""
        code = max(event.reason_code, 0)
        pairs = sorted(smq.walk(event.properties), key=lambda pair: pair[0])
        if event.type == smq.EVENT_CONNECTED:
            self.tell("connected", event.session_present, pairs)
        elif event.type == smq.EVENT_DISCONNECTED:
            self.ended(event, pairs)
        elif event.type == smq.EVENT_MESSAGE:
            assert event.part == smq.WHOLE, event
            if event.status:
                self.tell("no room", event.topic.decode(), event.payload_total)
                return
            self.tell("message", event.topic.decode(), event.payload, event.qos, event.retain, pairs)
        elif event.type == smq.EVENT_COMPLETED and event.cookie >> 32:
            kind = "subscribed" if event.cookie in self.subscribing else "unsubscribed"
            self.tell(kind, event.cookie >> 32, list(event.reason_codes) or None, pairs)
        elif event.type == smq.EVENT_COMPLETED and event.status in (smq.OK, smq.ERR_REFUSED):
            self.tell("published", event.cookie, code, pairs)
        elif event.type == smq.EVENT_COMPLETED:
            self.tell("failed", event.cookie, smq.status_name(event.status))
        else:
            self.tell(smq.EVENT_NAMES[event.type], event.topic, code)

    def ended(self, event: smq.Event, pairs: Pairs) -> None:
        """The one event that ends an attempt or a connection."""
        if event.status == 0:
            self.tell("disconnected")
        elif event.status == smq.ERR_REFUSED:
            self.tell("refused", event.reason_code)
        elif event.status == smq.ERR_SERVER_CLOSED:
            self.tell("down", "server", event.reason_code, pairs)
        elif event.status == smq.ERR_KEEP_ALIVE:
            self.tell("down", "keep alive")
        elif event.status in (smq.ERR_CLOSED, smq.ERR_NETWORK):
            self.tell("down")
        else:
            self.tell("down", smq.status_name(event.status))
