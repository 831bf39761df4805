"""Publishing: from the call to what on_publish is told."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from ..constants import State, Status
from ..errors import ArgumentError, Error, NoRoomError
from ._link import LARGE, Link
from ._loops import Loops
from ._names import (
    MQTT_ERR_CONN_LOST,
    MQTT_ERR_NO_CONN,
    MQTT_ERR_PAYLOAD_SIZE,
    MQTT_ERR_PROTOCOL,
    MQTT_ERR_QUEUE_SIZE,
    MQTT_ERR_SUCCESS,
    MQTTv5,
)
from .enums import MQTTErrorCode
from .message import MQTTMessage, MQTTMessageInfo, PayloadType, encode_payload
from .packettypes import PacketTypes
from .properties import Properties


class Publishing(Loops):
    """publish(): what waits here until the link has room, and what became of it."""

    def publish(
        self,
        topic: str,
        payload: PayloadType = None,
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> MQTTMessageInfo:
        """Publishes a message. A QoS 1 or 2 message is kept until it is delivered, across connections; QoS 0
        is for the current connection only. ValueError for a wrong topic, QoS or payload."""
        if self._protocol != MQTTv5 and (topic is None or len(topic) == 0):
            raise ValueError("Invalid topic.")
        if "+" in topic or "#" in topic:
            raise ValueError("Publish topic cannot contain wildcards.")
        encoded = topic.encode()
        if len(encoded) > 65_535:
            raise ValueError("Publish topic is too long.")
        if qos < 0 or qos > 2:
            raise ValueError("Invalid QoS level.")
        data = encode_payload(payload)
        if len(data) > 268_435_455:
            raise ValueError("Payload too large.")
        with self._lock:
            message = MQTTMessage(self._next_mid(), encoded)
            message.payload, message.qos, message.retain, message.properties = data, qos, bool(retain), properties
            message.timestamp = time.monotonic()
            info = message.info
            connected = self._sock is not None
            if not connected:
                info.rc = MQTT_ERR_NO_CONN
            if qos == 0 and not connected:
                return info
            if qos > 0:
                if 0 < self._max_queued_messages <= len(self._unfinished) or message.mid in self._unfinished:
                    info.rc = MQTT_ERR_QUEUE_SIZE
                    return info
                self._unfinished[message.mid] = message
            self._is_parents = False
            info._run = self._run_for
            # Most messages need not wait here.
            link = self._link
            if self._queue or not self._ready or link is None or link.closed or not link.publish_plain(message):
                self._queue.append(message)
                self._feed()
            elif self._logs:
                self._log_publish(message)
        self._kick()
        if not self._is_looped:
            self._send_without_loop()
        return info

    def _send_without_loop(self) -> None:
        """Nobody has run a loop yet, and maybe nobody will: what was published goes out, once CONNACK came. Callbacks wait
        for a loop."""
        with self._lock:
            link = self._link
            if self._is_looped or self.on_socket_open or self._turn.holder is not None:
                return
            if self._sock is None or link is None or link.closed:
                return
            link.service()
            while link.take():
                pass
            if link.state == State.CONNECTED:
                self._ready = True
                self._feed()
                link.flush()

    def _feed(self) -> None:
        """Gives the link what waits, as far as it has room."""
        with self._lock:
            link = self._link
            while self._queue and self._ready and link and not link.closed:
                message = self._queue[0]
                if link.publish_plain(message):
                    self._queue.popleft()
                    message.info.rc = MQTT_ERR_SUCCESS
                    if self._logs:
                        self._log_publish(message)
                    continue
                try:
                    self._hand_over(link, message)
                except NoRoomError as full:
                    if full.status == Status.FULL:
                        return
                    self._queue.popleft()
                    self._fail(message, MQTT_ERR_CONN_LOST)
                    continue
                except ArgumentError as wrong:
                    if wrong.status == Status.STATE:
                        return
                    self._queue.popleft()
                    large = wrong.status == Status.TOO_LARGE
                    self._fail(message, MQTT_ERR_PAYLOAD_SIZE if large else MQTT_ERR_PROTOCOL)
                    self._debug(f"Cannot publish to {message.topic!r}: {wrong}")
                    continue
                self._queue.popleft()

    def _hand_over(self, link: Link, message: MQTTMessage) -> None:
        found = message.properties.own() if message.properties else None
        if found:
            found.topic_alias = None  # the library has its own
        struct = link.message_struct(message.topic, b"", qos=message.qos, retain=message.retain, properties=found)

        def finish(result: Any, error: Error | None) -> None:
            link.calls.append(partial(self._finished, message, result, error))

        if len(message.payload) > LARGE:
            link.stream_struct(struct, len(message.payload), message.payload, finish)
        else:
            struct.put("payload", message.payload)
            link.publish_struct(struct, finish)
        message.info.rc = MQTT_ERR_SUCCESS
        self._log_publish(message)

    def _log_publish(self, message: MQTTMessage) -> None:
        size = len(message.payload)
        self._debug(f"Sending PUBLISH (q{message.qos}, m{message.mid}), {message.topic!r} ({size} bytes)")

    def _fail(self, message: MQTTMessage, rc: MQTTErrorCode) -> None:
        self._unfinished.pop(message.mid, None)
        message.info.rc = rc
        message.info._set_as_published()

    def _published(self, message: MQTTMessage, reason_code: int) -> None:
        """A message is, as its QoS promises, and nothing came with the acknowledgement."""
        if self.on_publish is not None:
            packet = PacketTypes.PUBACK if message.qos < 2 else PacketTypes.PUBCOMP
            self._call_on_publish(message.mid, packet, max(reason_code, 0), None)
        with self._lock:
            if message.qos:
                self._unfinished.pop(message.mid, None)
            message.info._set_as_published()

    def _finished(self, message: MQTTMessage, result: Any, error: Error | None) -> None:
        """A message has ended, in another way."""
        if error and error.status in (Status.SESSION_LOST, Status.DROPPED, Status.CLIENT) and message.qos > 0:
            # The broker forgot whether it has it: it gets it again.
            with self._lock:
                if message.mid in self._unfinished and error.status != Status.CLIENT:
                    self._queue.append(message)
                    self._feed()
            return
        answered = error is None or error.status == Status.REFUSED
        if answered:
            packet = PacketTypes.PUBACK if message.qos < 2 else PacketTypes.PUBCOMP
            number = error.reason_code if error else getattr(result, "reason_code", 0)
            own = error.properties if error else getattr(result, "properties", None)
            properties = Properties(packet).fill(own) if own else None
            if error and message.qos == 2:
                packet = PacketTypes.PUBREC
            self._call_on_publish(message.mid, packet, max(number, 0), properties)
        with self._lock:
            self._unfinished.pop(message.mid, None)
            if not answered:
                message.info.rc = MQTT_ERR_CONN_LOST
            message.info._set_as_published()
            if self._queue:
                self._feed()
