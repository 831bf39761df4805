"""Calls to the library: connecting and disconnecting, publishing and subscribing."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _abi, properties
from ._checks import buffer, encoded_text, flag, number_to, one_of, seconds
from ._core import Core, Finish
from ._library import LIBRARY, QUICK
from ._reference import Lent
from ._source import puller
from .constants import Overflow, Protocol, Status
from .errors import ArgumentError, check, error
from .message import Subscription
from .properties import Properties, UserProperties

#: Payloads that are not larger than this, in bytes, are copied without giving the GIL away meanwhile.
COPIED = 1 << 16
#: The largest payload that a message may have, if the rest of it had no bytes.
MAXIMUM_BYTES = 268_435_455
#: What the arguments of publish() say of a message's properties, from content_type on, if there are none.
NO_PROPERTIES = (None, None, None, None, None, None)
_smq_publish, _smq_ack = QUICK.smq_publish, QUICK.smq_ack

#: Filters: one, several, or with their options.
Filters = Union[str, Subscription, Iterable[Union[str, Subscription]]]


class Calls(Core):
    """The calls of a client; each converts its arguments for the library."""

    _waits_for_room = ""  # how the program can

    def reauthenticate(self, data: bytes = b"") -> None:
        """Begins enhanced authentication anew (MQTT 5.0); the `authenticate` hook continues it."""
        self._send_auth(0x19, data)

    # ---- For the clients

    def _connect(self) -> None:
        check(LIBRARY.smq_connect(self._open()), "connect() is for a client that is not connected")
        self._was_begun = True

    def _leave(self, drain_s: float, reason_code: int, **named: Any) -> None:
        """smq_disconnect_with()"""
        drain_ms = min(int(seconds("drain_s", drain_s) * 1000), 86_400_000)
        encoded = properties.encode(None, **named)
        packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded))) if encoded else None
        code = number_to("reason_code", reason_code, 0xFF, Status.REASON_CODE)
        check(LIBRARY.smq_disconnect_with(self._open(), drain_ms, code, packed))

    def _message(
        self,
        topic: str,
        payload: object,
        *,
        qos: int = 0,
        retain: bool = False,
        expiry_s: int = 0,
        overflow: str | int = 0,
        urgent: bool = False,
        quiet: bool = False,
        stored: bool = True,
        content_type: str | None = None,
        payload_format_indicator: int | None = None,
        response_topic: str | None = None,
        correlation_data: bytes | None = None,
        user_properties: UserProperties | None = None,
        properties: Properties | None = None,
    ) -> _abi.Message:
        """The struct of a message."""
        if properties is not None and not isinstance(properties, Properties):
            wrong = f"properties is a swiftmqtt.Properties, not {type(properties).__name__}"
            raise ArgumentError(Status.PROPERTY, wrong)
        if type(payload) is not bytes:
            payload, found, utf8 = self.adapters.encode(payload, content_type)
            if self._protocol >= Protocol.MQTT_5_0:
                if content_type is None and (properties is None or properties.content_type is None):
                    content_type = found
                if payload_format_indicator is None and utf8 and properties is None:
                    payload_format_indicator = 1
        struct = _abi.Message()
        struct.topic_text = topic
        struct.put("topic", encoded_text("topic", topic))
        struct.put("payload", payload)
        if qos:
            struct.qos = number_to("qos", qos, 2, Status.QOS)
        if retain is not False:
            struct.retain = flag("retain", retain)
        if quiet is not False:
            struct.quiet = flag("quiet", quiet)
        if urgent is not False:
            struct.urgent = flag("urgent", urgent)
        if stored is not True:
            struct.store = not flag("stored", stored)
        if overflow:
            struct.overflow = one_of("overflow", overflow, Overflow)
        if expiry_s:
            struct.expiry_s = number_to("expiry_s", expiry_s, 0xFFFFFFFF, Status.OPTION)
        if (
            content_type is not None
            or payload_format_indicator is not None
            or response_topic is not None
            or correlation_data is not None
            or user_properties is not None
            or properties is not None
        ):
            struct.put(
                "properties",
                _encode_properties(
                    properties,
                    content_type=content_type,
                    payload_format_indicator=payload_format_indicator,
                    response_topic=response_topic,
                    correlation_data=correlation_data,
                    user_properties=user_properties,
                ),
            )
        return struct

    def _publish_plain(self, topic: str, payload: object, qos: int, retain: bool, finish: Finish | None) -> bool:
        """Publishes a message that has nothing special. False: it was not accepted; _message() and _publish() know why."""
        if type(topic) is not str or type(payload) is not bytes or type(qos) is not int or type(retain) is not bool:
            return False
        try:
            encoded = topic.encode()
        except UnicodeEncodeError:
            return False
        cookie = self._publish_bytes(encoded, payload, qos, retain, finish)
        if not cookie:
            return False
        if finish:
            self._topics[cookie] = topic
        self._on_accepted(cookie)
        return True

    def _publish_bytes(self, topic: bytes, payload: bytes, qos: int, retain: bool, finish: Finish | None) -> int:
        """smq_publish(), with a struct that is made once. Returns the cookie; 0: it was not accepted."""
        if len(payload) > COPIED or not 0 <= qos <= 2:
            return 0
        struct = self._plain
        if topic != self._plain_last:
            view = self._plain_topic
            view.data, view.size = topic, len(topic)
            self._plain_last = topic
        view = self._plain_payload
        view.data, view.size = payload, len(payload)
        struct.qos, struct.retain = qos, retain
        struct.cookie = cookie = next(self._cookies)
        if finish:
            self._pending[cookie] = finish
        if _smq_publish(self._open(), self._plain_reference):
            self._pending.pop(cookie, None)
            return 0
        return cookie

    def _publish(self, struct: _abi.Message, finish: Finish | None) -> None:
        """smq_publish(). `finish` is told how it ended, unless the message is quiet."""
        cookie = self._expect(struct, finish)
        status = LIBRARY.smq_publish(self._open(), ctypes.byref(struct))
        self._accepted(status, cookie, struct, room="urgent" if struct.urgent else "outbox")

    def _reference(self, struct: _abi.Message, lent: Lent, finish: Finish) -> None:
        """smq_publish_reference()"""

        def ended(result: Any, error: Any) -> None:
            lent.release()
            finish(result, error)

        if lent.size > MAXIMUM_BYTES:
            limit = f"and a message of MQTT has at most {MAXIMUM_BYTES:,} (section 2.1.4)"
            raise ArgumentError(Status.TOO_LARGE, f"the payload has {lent.size:,} bytes, {limit}")
        # The struct has a pointer to bytes there, and this is one to anything.
        at = ctypes.addressof(struct) + _abi.Message.payload.offset
        ctypes.c_void_p.from_address(at).value = lent.address if lent.size else None
        struct.payload.size = lent.size
        cookie = self._expect(struct, ended)
        lent.is_out = True  # first: Ctrl-C may come before the status is looked at
        status = LIBRARY.smq_publish_reference(self._open(), ctypes.byref(struct))
        lent.is_out = status == Status.OK
        what = ""
        if status == Status.NOT_SUPPORTED and not self._limits["references"]:
            what = "publish_reference() needs the option references, which is 0"
        self._accepted(status, cookie, struct, what, "outbox" if status == Status.FULL else "")

    def _stream(self, struct: _abi.Message, size: int, source: Any, finish: Finish) -> None:
        """smq_publish_stream()"""
        view, pull, raised = puller(source)
        struct.payload.data, struct.payload.size = None, number_to("size", size, 0xFFFFFFFF, Status.TOO_LARGE)
        cookie = self._expect(struct, finish)
        status = LIBRARY.smq_publish_stream(self._open(), ctypes.byref(struct), pull, None)
        if status == Status.OK:
            self._streams[cookie] = (view, pull, raised)
        self._accepted(status, cookie, struct)

    def _request(self, struct: _abi.Message, response_topic: str, timeout_s: float, finish: Finish) -> None:
        """smq_request()"""
        encoded = encoded_text("response_topic", response_topic)
        timeout_ms = min(max(int(seconds("timeout", timeout_s) * 1000), 1), 86_400_000)
        cookie = self._expect(struct, finish)
        self._topics.pop(cookie, None)  # it is delivered, or not, long before it ends
        status = LIBRARY.smq_request(
            self._open(), ctypes.byref(struct), ctypes.byref(_abi.BytesIn(encoded, len(encoded))), timeout_ms
        )
        self._accepted(status, cookie, struct)

    def _submit(self, struct: _abi.Message, finish: Finish | None) -> None:
        """smq_submit()"""
        with self._submitting:
            cookie = self._expect(struct, finish)
            status = LIBRARY.smq_submit(self._open(), ctypes.byref(struct))
        if status:
            self._accepted(status, cookie, struct, room="submit")

    def _subscribe(
        self,
        subscribing: bool,
        filters: Filters,
        qos: int,
        identifier: int,
        user_properties: UserProperties | None,
        finish: Finish,
        **more: Any,
    ) -> None:
        """smq_subscribe() or smq_unsubscribe()"""
        chosen = _chosen(filters)
        entries = (_abi.Subscription * len(chosen))()
        for entry, wanted in zip(entries, chosen):
            item = wanted if isinstance(wanted, Subscription) else Subscription(wanted, qos, **more)
            entry.put("filter", encoded_text("filter", item.filter))
            entry.qos = number_to("qos", item.qos, 2, Status.QOS)
            entry.no_local = flag("no_local", item.no_local)
            entry.retain_as_published = flag("retain_as_published", item.retain_as_published)
            entry.retain_handling = number_to("retain_handling", item.retain_handling, 2, Status.OPTION)
        struct = _abi.Subscriptions()
        struct.count, struct.list = len(chosen), ctypes.addressof(entries)
        struct.identifier = number_to("identifier", identifier, 0xFFFFFFFF, Status.OPTION)
        struct.put("properties", _encode_properties(None, user_properties=user_properties))
        cookie = self._expect(struct, finish)
        call = LIBRARY.smq_subscribe if subscribing else LIBRARY.smq_unsubscribe
        status = call(self._open(), ctypes.byref(struct))
        names = ", ".join(repr(getattr(f, "filter", f)) for f in chosen[:3]) if status == Status.TOPIC_FILTER else ""
        self._accepted(status, cookie, struct, names)

    def _ack(self, token: int, reason_code: int, reason_string: str | None) -> None:
        """smq_ack()"""
        with self._guard:
            packed = None
            if reason_string is not None:
                encoded = _encode_properties(None, reason_string=reason_string)
                packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded)))
            code = number_to("reason_code", reason_code, 0xFF, Status.REASON_CODE)
            status = _smq_ack(self._open(), token, code, packed)
            if status != Status.TOKEN:  # its session is gone, and with it what was to be acknowledged
                check(status)
            self._on_called()

    def _send_auth(self, reason_code: int, answer: bytes) -> None:
        encoded = buffer("Authentication Data", answer)
        with self._guard:
            packed = ctypes.byref(_abi.BytesIn(encoded, len(encoded)))
            check(LIBRARY.smq_authenticate(self._open(), reason_code, packed, None))
            self._on_called()

    def _expect(self, struct: Any, finish: Finish | None) -> int:
        self._open()
        cookie = next(self._cookies)
        struct.cookie = cookie
        if finish:
            self._pending[cookie] = finish
            if isinstance(struct, _abi.Message):
                self._topics[cookie] = struct.topic_text
        return cookie

    def _accepted(self, status: int, cookie: int, struct: Any, what: str = "", room: str = "") -> None:
        """Checks the result of a call that publishes or subscribes. room: the part of the library that may be
        too small, or full."""
        if status == Status.OK:
            self._on_accepted(cookie)
            return
        finish = self._pending.pop(cookie, None)
        self._topics.pop(cookie, None)
        if status < 0:
            if status == Status.STATE:
                what = "the client is leaving the server"
            elif room and status == Status.TOO_LARGE:
                what = self._too_large(struct, room)
            elif room and status == Status.FULL and self._waits_for_room:
                what = self._full(room)
            elif status == Status.TOPIC_NAME:
                what = f"{struct.topic.data.decode()!r} is no Topic Name: it is empty, too long, or has a wildcard"
            elif what:
                what = f"{what} is no Topic Filter: it is empty, too long, or has a misplaced wildcard"
            raise error(status, what)
        if finish:
            finish(None, error(Status.DROPPED))
            self._on_called()

    def _too_large(self, struct: _abi.Message, room: str) -> str:
        size = sum(part.size for part in (struct.topic, struct.payload, struct.properties))
        limit = self._limits[f"{room}_bytes"]
        said = f"topic, properties and payload have {size} bytes"
        found = _abi.Server()
        if LIBRARY.smq_client_server(self._open(), ctypes.byref(found)) == Status.OK:
            if 0 < found.maximum_packet_bytes < size + 8:
                return f"{said}, and the server takes packets of up to {found.maximum_packet_bytes} bytes"
        other = "publish() takes larger ones" if room == "submit" else "publish_stream() has no such limit"
        return f"{said}, and {room}_bytes is {limit}: {other}, or make it larger"

    def _full(self, room: str) -> str:
        messages, size = self._limits[f"{room}_messages"], self._limits[f"{room}_bytes"]
        if room == "submit":
            return f"there is no room now: submit_messages is {messages}; try again later, or make it larger"
        limits = f"{room}_messages is {messages} and {room}_bytes {size}"
        return f"there is no room now: {limits}; {self._waits_for_room}, and overflow says what may be dropped"


def _chosen(filters: Any) -> list[str | Subscription]:
    """The filters, as a list."""
    if isinstance(filters, (str, Subscription)):
        return [filters]
    if isinstance(filters, Mapping):
        name = type(filters).__name__
        raise ArgumentError(Status.OPTION, f'filters is a list of Subscription("a/b", qos=2), not {name}')
    if isinstance(filters, (bytes, bytearray, memoryview)) or not isinstance(filters, Iterable):
        name = type(filters).__name__
        raise ArgumentError(Status.OPTION, f"filters is a text, a Subscription, or a list of these, not {name}")
    chosen = list(filters)
    for one in chosen:
        if not isinstance(one, (str, Subscription)):
            wrong = f'a filter is a text, or Subscription("a/b", qos=1), not {one!r}'
            raise ArgumentError(Status.OPTION, wrong)
    if not chosen:
        raise ArgumentError(Status.OPTION, "filters is empty")
    return chosen


_encode_properties = properties.encode  # where a parameter is called properties, too
