"""The client of the library behind a paho Client: it lasts as long as the options do not change."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from .._answers import Answer, Connected
from .._base import BaseClient
from .._core import BATCH
from .._library import QUICK
from ..constants import OFF, LogItem, LogLevel, Protocol
from ..errors import Error
from ..message import Message, Will
from ..payload import Adapters, Raw
from ._ways import transport_options
from .enums import MQTTProtocolVersion
from .message import MQTTMessage
from .properties import Properties

if TYPE_CHECKING:
    from ._connection import Connection
    from ._settings import Settings

# What a Python program that publishes faster than the network takes may have waiting in the library; more waits in
# Python.
OUTBOX_BYTES = 1 << 22
OUTBOX_MESSAGES = 8192
# Payloads that are larger than this go in pieces.
LARGE = 1 << 20


class Link(BaseClient):
    """What happens is put into `calls`, to be called by the loop once nothing of the library is held any more."""

    def __init__(self, options: dict[str, Any], manual_ack: bool):
        self.calls: deque[Callable[[], object]] = deque()
        self.owner: Connection | None = None
        self.opened = False  # the network connection
        self.failed: Error | None = None  # why it could not be opened
        self.request: Any = None  # path and headers of its WebSocket
        super().__init__(
            adapters=Adapters(Raw()),
            reconnect=False,
            manual_ack=True,
            message_maximum=268_435_455,
            log=self._logged,
            log_level=LogLevel.DEBUG,
            websocket_request=(lambda attempt: self.request) if options["websocket"] else None,
            **options,
        )
        self.acknowledges = not manual_ack

    def begin(self) -> None:
        """smq_connect()"""
        self.opened, self.failed = False, None
        self._connect()

    def publish_plain(self, message: MQTTMessage) -> bool:
        """Publishes a message without properties; the owner's _published() is called when it is. False: the library did not
        take it."""
        if message.properties is not None:
            return False
        finish = partial(self._plain_ended, message)
        return self._publish_bytes(message._topic, message.payload, message.qos, message.retain, finish) > 0

    def _plain_ended(self, message: MQTTMessage, result: Any, error: Error | None) -> None:
        """A message of publish_plain() has ended."""
        if self.owner:
            self.calls.append(partial(self.owner._finished, message, result, error))

    def _complete(self, ended: Iterator[tuple[int, ...]]) -> None:
        """The success of a message of publish_plain() needs no Answer."""
        pending, calls, owner = self._pending, self.calls, self.owner
        for one in ended:
            finish = pending.get(one[0])
            if owner and one[1] == 0 and type(finish) is partial:
                del pending[one[0]]
                calls.append(partial(owner._published, finish.args[0], one[2]))
            else:
                super()._complete(iter((one,)))

    # BaseClient's hooks, and its private methods under names for the paho client.

    _tells_at_once = True

    service = BaseClient._service
    flush = BaseClient._flush
    next_timeout_ms = BaseClient._next_timeout_ms
    leave = BaseClient._leave
    message_struct = BaseClient._message
    publish_struct = BaseClient._publish
    stream_struct = BaseClient._stream
    subscribe_filters = BaseClient._subscribe
    acknowledge = BaseClient._ack

    def take(self) -> int:
        """Takes a batch of events; returns how many there were."""
        return self._take(BATCH)

    def identifier_of(self, message: Message) -> int:
        """The Packet Identifier of a message that is not acknowledged; 0: it has none."""
        return max(0, QUICK.smq_packet_identifier(self._open(), message._token)) if message._token else 0

    def _logged(self, level: LogLevel, what: LogItem | int, number: int, other: int) -> None:
        if what == LogItem.OPENED:
            self.opened = True
        owner = self.owner
        if owner and what in (LogItem.PING, LogItem.PONG):
            text = "Sending PINGREQ" if what == LogItem.PING else "Received PINGRESP"
            self.calls.append(partial(owner._debug, text))

    def _on_messages(self, count: int) -> None:
        owner = self.owner
        for _ in range(count):
            message = self._waiting_messages.popleft()
            if owner:
                self.calls.append(partial(owner._arrived, self, message, self.identifier_of(message)))

    def _on_connected(self, connected: Connected) -> None:
        owner = self.owner
        if owner:
            owner._established(self)
            self.calls.append(partial(owner._accepted, self, connected))

    def _on_disconnected(self, ended: Error | None) -> None:
        owner = self.owner
        if not self.opened and ended:
            self.failed = ended
        elif owner:
            self.calls.append(partial(owner._ended, self, ended))

    def _on_room(self) -> None:
        owner = self.owner
        if owner:
            self.calls.append(owner._feed)


class Socket:
    """What socket() returns: something to wait for until it is readable. It is no socket: nothing is to be read from
    it, and it has no options."""

    def __init__(self, fd: int):
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def setsockopt(self, *option: Any) -> None:
        """Nothing: programs ask for smaller buffers, or for TCP_NODELAY, which the library sets by itself."""


class Turn:
    """Who runs the loop: one thread at a time, which may take it several times. A thread that waits for its turn is
    preferred to one that has just had it."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.holder: int | None = None
        self.depth = 0
        self.guests = 0

    def take(self, wake: Callable[[], None], wait: bool = True) -> bool:
        """Waits for the turn; `wake` interrupts who has it. False, if it is another thread's and `wait` is False."""
        me = threading.get_ident()
        with self.condition:
            if self.holder == me:
                self.depth += 1
                return True
            if self.holder is not None and not wait:
                return False
            self.guests += 1
            try:
                while self.holder is not None:
                    wake()
                    self.condition.wait()
            finally:
                self.guests -= 1
            self.holder, self.depth = me, 1
            return True

    def give(self) -> None:
        """Gives it back."""
        with self.condition:
            self.depth -= 1
            if self.depth == 0:
                self.holder = None
                self.condition.notify_all()

    def let_pass(self) -> None:
        """Before a loop takes it again: lets those who wait have it."""
        with self.condition:
            while self.guests and self.holder != threading.get_ident():
                self.condition.notify_all()
                self.condition.wait(0.05)

    @property
    def is_mine(self) -> bool:
        """Whether this thread runs the loop, and so is in a callback of it."""
        return self.holder == threading.get_ident()


def connect_options(client: Settings) -> dict[str, Any]:
    """The options of the library for what was set on a paho client."""
    version = client._protocol
    is_unix = client._transport == "unix"
    options: dict[str, Any] = {
        "host": os.path.abspath(client._host) if is_unix else client._host,
        "port": 0 if is_unix else client._port,
        "protocol": {
            MQTTProtocolVersion.MQTTv31: Protocol.MQTT_3_1,
            MQTTProtocolVersion.MQTTv311: Protocol.MQTT_3_1_1,
            MQTTProtocolVersion.MQTTv5: Protocol.MQTT_5_0,
        }[version],
        "client_id": client._client_id.decode(),
        "client_id_as_is": True,
        "keep_alive_s": client._keepalive or OFF,
        "connect_timeout_ms": int(client._connect_timeout * 1000) + 30_000,
        "user_name": client._username,
        "password": client._password if client._username is not None else None,
        "outbox_bytes": OUTBOX_BYTES,
        "outbox_messages": OUTBOX_MESSAGES,
        "receive_bytes": 1 << 16,
        "in_flight_maximum": min(client._max_inflight_messages, 65_535) or 65_535,
        "receive_maximum": 65_535,  # paho-mqtt has no limit
        "requests": 256,
        "request_bytes": 1 << 17,
        "subscriptions": OFF,
        "subscription_bytes": 0,
        "submit_messages": 0,
        "submit_bytes": 0,
        "urgent_messages": 0,
        "urgent_bytes": 0,
        "replies": 0,
        "stream_bytes": 1 << 16,
        "answer_timeout_ms": OFF,
        "unreleased_maximum": 65_535,
        "will": client._will,
        **transport_options(client),
    }
    if options["websocket"]:
        options["websocket_request_bytes"] = 16_384
    if version == MQTTProtocolVersion.MQTTv5:
        _add_properties(options, client)
    else:
        options["keep_session"] = not client._clean_session
    return options


def _add_properties(options: dict[str, Any], client: Settings) -> None:
    found = client._connect_properties.own() if client._connect_properties else Properties(1).own()
    expiry = found.session_expiry_interval or 0
    options.update(
        session_expiry_s=expiry,
        topic_aliases_in=min(found.topic_alias_maximum or 0, 1024),
        user_properties=found.user_properties,
    )
    for option, value in {
        "receive_maximum": found.receive_maximum,
        "maximum_packet_bytes": found.maximum_packet_size and max(found.maximum_packet_size, options["receive_bytes"]),
        "request_response_information": found.request_response_information,
        "request_problem_information": found.request_problem_information,
        "authentication_method": found.authentication_method,
        "authentication_data": found.authentication_data,
    }.items():
        if value is not None:
            options[option] = value
    first_only = client._clean_start == 3
    if client._clean_start is False or first_only and expiry:
        options["keep_session"] = True
        options["new_session"] = first_only


def will_of(topic: str, payload: bytes, qos: int, retain: bool, properties: Properties | None) -> Will:
    """The Will."""
    found = properties.own() if properties else Properties(1).own()
    return Will(
        topic,
        payload,
        qos,
        retain,
        delay_s=found.will_delay_interval,
        expiry_s=found.message_expiry_interval or 0,
        content_type=found.content_type,
        payload_format_indicator=found.payload_format_indicator,
        response_topic=found.response_topic,
        correlation_data=found.correlation_data,
        user_properties=found.user_properties or None,
    )


__all__ = ["LARGE", "Answer", "Link", "Message", "Turn", "connect_options", "will_of"]
