"""Messages, and their results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Union

from ._names import MQTT_ERR_AGAIN, MQTT_ERR_QUEUE_SIZE, MQTT_ERR_SUCCESS, error_string, mqtt_ms_invalid
from .enums import MessageState, MQTTErrorCode
from .properties import Properties

PayloadType = Union[str, bytes, bytearray, int, float, None]


#: Told when a message is published that somebody waits for: one for all, as to make one for each costs more than the
#: message.
_published = threading.Condition()


class MQTTMessageInfo:
    """What publish() returns: rc and mid, also by index, and whether the message was published."""

    __slots__ = ("mid", "rc", "_published", "_is_awaited", "_run")

    def __init__(self, mid: int):
        self.mid = mid
        self.rc: MQTTErrorCode = MQTT_ERR_SUCCESS
        self._published = False
        self._is_awaited = False
        #: Runs the client for at most so many seconds, if nobody else does; False: somebody does.
        self._run: Callable[[float], bool] | None = None

    def wait_for_publish(self, timeout: float | None = None) -> None:
        """Waits until the message was published as its QoS has it, or `timeout` seconds are over. If no loop runs, this
        runs one. ValueError if there was no room; RuntimeError if it cannot be published any more."""
        self._raise_if_failed()
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._published:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            if self._run and self._run(1.0 if left is None else min(left, 1.0)):
                continue
            with _published:
                self._is_awaited = True
                if not self._published:
                    # Not forever: the loop that runs now may end.
                    _published.wait(1.0 if left is None else min(left, 1.0))
        if self.rc > 0:
            raise RuntimeError(f"Message publish failed: {error_string(self.rc)}")

    def is_published(self) -> bool:
        """Whether the message was published; raises as wait_for_publish() does."""
        self._raise_if_failed()
        return self._published

    def _set_as_published(self) -> None:
        self._published = True
        if self._is_awaited:
            with _published:
                _published.notify_all()
        self._run = None

    def _raise_if_failed(self) -> None:
        if self.rc == MQTT_ERR_QUEUE_SIZE:
            raise ValueError("Message is not queued due to ERR_QUEUE_SIZE")
        if self.rc > 0 and self.rc != MQTT_ERR_AGAIN:
            raise RuntimeError(f"Message publish failed: {error_string(self.rc)}")

    def __iter__(self) -> Iterator[MQTTErrorCode | int]:
        return iter((self.rc, self.mid))

    def __getitem__(self, index: int) -> MQTTErrorCode | int:
        if index not in (0, 1):
            raise IndexError("index out of range")
        return self.mid if index else self.rc

    def __str__(self) -> str:
        return str((self.rc, self.mid))


class MQTTMessage:
    """A message that was received, or that is being published.

    topic       str
    payload     bytes
    qos, retain, dup
    mid         of a received message: its Packet Identifier, for ack(); 0 with QoS 0
    properties  MQTT 5.0; otherwise None
    timestamp   when it arrived, by time.monotonic()
    """

    __slots__ = ("timestamp", "state", "dup", "mid", "_topic", "payload", "qos", "retain", "info", "properties")

    def __init__(self, mid: int = 0, topic: bytes = b""):
        self.timestamp = 0.0
        self.state: MessageState = mqtt_ms_invalid
        self.dup = False
        self.mid = mid
        self._topic = topic
        self.payload = b""
        self.qos = 0
        self.retain = False
        self.info = MQTTMessageInfo(mid)
        self.properties: Properties | None = None

    @property
    def topic(self) -> str:
        """The Topic Name."""
        return self._topic.decode()

    @topic.setter
    def topic(self, value: bytes) -> None:
        self._topic = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MQTTMessage) and self.mid == other.mid

    __hash__ = None  # type: ignore[assignment]


def encode_payload(payload: PayloadType) -> bytes:
    """The bytes of a payload, as paho-mqtt makes them: a number becomes its text, None nothing."""
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, (int, float)):
        return str(payload).encode("ascii")
    if payload is None:
        return b""
    if not isinstance(payload, (bytes, bytearray)):
        raise TypeError("payload must be a string, bytearray, int, float or None.")
    return bytes(payload)
