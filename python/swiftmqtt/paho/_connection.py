"""The network connection of a client: opening it, and closing it."""

from __future__ import annotations

import select
import socket as _socket
import threading
import time
import uuid
from collections import OrderedDict, deque
from typing import Any

from .. import _undelivered
from .._answers import Connected
from .._bell import Bell
from ..constants import State
from ..errors import ArgumentError, Error
from ..message import Message
from ._failures import os_error
from ._link import Link, Socket, Turn, connect_options
from ._names import (
    LOGGING_LEVEL,
    MQTT_CLEAN_START_FIRST_ONLY,
    MQTT_ERR_CONN_LOST,
    MQTT_ERR_SUCCESS,
    MQTT_LOG_DEBUG,
    MQTTv5,
)
from ._transports import Transports
from ._ways import websocket_request
from .enums import LogLevel, MQTTErrorCode
from .message import MQTTMessage
from .properties import Properties


class Connection(Transports):
    """Connecting, and what a client has of the library."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._lock = threading.RLock()  # around every call on the link
        self._turn = Turn()  # of the loop
        self._link: Link | None = None
        self._link_options: dict[str, Any] = {}
        self._wanted = False  # connect_async() was called, and reconnect() is to follow
        self._ready = False  # connected, and on_connect was called
        self._rc = MQTT_ERR_SUCCESS  # why the connection ended
        self._last_mid = 0
        self._unfinished: OrderedDict[int, MQTTMessage] = OrderedDict()  # with QoS 1 and 2
        self._queue: deque[MQTTMessage] = deque()  # what the link has not got yet
        self._tokens: dict[int, int] = {}  # mid: token, for ack()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._loops = 0  # loop_forever() calls that run
        self._bell = Bell()  # interrupts a loop that waits
        self._is_looped = False  # somebody ran a loop, or is about to
        self._is_parents = False  # this process came out of fork(), and does nothing with it
        _undelivered.watch(self)

    def connect(
        self,
        host: str,
        port: int = 1883,
        keepalive: int = 60,
        bind_address: str = "",
        bind_port: int = 0,
        clean_start: bool | int = MQTT_CLEAN_START_FIRST_ONLY,
        properties: Properties | None = None,
    ) -> MQTTErrorCode:
        """Opens the network connection, and returns when it is open; on_connect tells the broker's answer.

        clean_start, properties   5.0: of CONNECT. A session is kept with clean_start False, or with a
                                  SessionExpiryInterval

        OSError if it cannot be opened.
        """
        if self._protocol != MQTTv5:
            if clean_start != MQTT_CLEAN_START_FIRST_ONLY:
                raise ValueError("Clean start only applies to MQTT V5")
            if properties:
                raise ValueError("Properties only apply to MQTT V5")
        self.connect_async(host, port, keepalive, bind_address, bind_port, clean_start, properties)
        return self.reconnect()

    def connect_async(
        self,
        host: str,
        port: int = 1883,
        keepalive: int = 60,
        bind_address: str = "",
        bind_port: int = 0,
        clean_start: bool | int = MQTT_CLEAN_START_FIRST_ONLY,
        properties: Properties | None = None,
    ) -> None:
        """As connect(), but the loop does it, when it runs."""
        if bind_port:
            raise ValueError("libswiftmqtt binds to an address, and lets the system choose the port: bind_port has to be 0")
        self._close_connection()
        self._is_begun = False
        self.host, self.port, self.keepalive = host, port, keepalive
        self._bind_address = bind_address
        self._is_begun = True
        self._clean_start, self._connect_properties = clean_start, properties
        if not self._client_id and self._protocol == MQTTv5 and clean_start is not True:
            expires = getattr(properties, "SessionExpiryInterval", 0) if properties else 0
            if clean_start is False or expires:
                self._client_id = uuid.uuid4().hex.encode()
        self._leaving, self._wanted = False, True
        self._wake()

    def reconnect(self) -> MQTTErrorCode:
        """Opens the network connection anew. OSError if it cannot be opened."""
        if not self._host:
            raise ValueError("Invalid host.")
        self._is_parents = False
        _undelivered.watch(self)
        self._turn.take(self._wake)
        try:
            self._close_connection()
            self._wanted, self._leaving, self._rc = False, False, MQTT_ERR_SUCCESS
            self._call("on_pre_connect")
            link = self._make_link()
            if self._transport == "websockets":
                link.request = websocket_request(self)
            self._debug(f"Sending CONNECT to {self._host}:{self._port}, keepalive {self._keepalive}")
            self._open(link)
            self._sock = Socket(link.fileno())
        finally:
            self._turn.give()
        self._call("on_socket_open", self._sock)
        return MQTT_ERR_SUCCESS

    def is_connected(self) -> bool:
        """Whether the broker has accepted the connection, and it lasts."""
        link = self._link
        return link is not None and self._sock is not None and link.is_connected and not self._leaving

    def socket(self) -> Socket | None:
        """For a loop of your own: wait until this object is readable, then call loop_read(); call
        loop_misc() every second or so. None without a connection."""
        self._is_looped = True
        return self._sock

    # ---- The link

    def _make_link(self) -> Link:
        """The link, or a new one if options have changed: it gets what the old one had not delivered."""
        options = connect_options(self)
        with self._lock:
            if self._link and not self._link.closed and self._link_options == options:
                return self._link
            old = self._link
            try:
                link = Link(options, self._manual_ack)
            except ArgumentError as error:
                raise ValueError(str(error)) from None
            if old:
                old.owner = None
                old.close()
                waiting = {id(message) for message in self._queue}
                self._queue.extendleft(m for m in reversed(self._unfinished.values()) if id(m) not in waiting)
            link.owner = self
            self._link, self._link_options = link, options
            return link

    def _open(self, link: Link) -> None:
        """Begins an attempt, and waits until the network connection is open."""
        deadline = time.monotonic() + self._connect_timeout
        with self._lock:
            self._ready = False
            link.begin()
        while True:
            with self._lock:
                link.service()
                if not link.opened:
                    link.take()
                if link.opened:
                    return
                failed, wait_ms = link.failed, link.next_timeout_ms()
            left = deadline - time.monotonic()
            if failed is None and left <= 0:
                self._close_connection()
                raise _socket.timeout("timed out")
            if failed is not None:
                raise os_error(failed)
            self._sleep(link, left if wait_ms < 0 else min(left, wait_ms / 1000))

    def _close_connection(self) -> None:
        """Ends a connection, or an attempt, without on_disconnect."""
        with self._lock:
            link = self._link
            if link is None or link.closed:
                return
        link_socket, self._sock = self._sock, None
        if link_socket:
            self._call("on_socket_close", link_socket)
        self._ready = False
        with self._lock:
            if link.state != State.DISCONNECTED:
                link.leave(0, 0)
        while True:
            with self._lock:
                link.service()
                while link.take():
                    pass
                if link.state == State.DISCONNECTED:
                    break
                wait_ms = link.next_timeout_ms()
            self._sleep(link, 1.0 if wait_ms < 0 else min(1.0, wait_ms / 1000))
        link.calls.clear()
        self._lose_qos_0()

    def _lose_qos_0(self) -> None:
        """What had QoS 0 and was not sent is lost with its connection."""
        with self._lock:
            kept = [message for message in self._queue if message.qos > 0]
            for message in self._queue:
                if message.qos == 0:
                    message.info.rc = MQTT_ERR_CONN_LOST
                    message.info._set_as_published()
            self._queue = deque(kept)

    def _next_mid(self) -> int:
        self._last_mid = self._last_mid % 65_535 + 1
        return self._last_mid

    # ---- Waiting for it, and waking up who waits

    def _sleep(self, link: Link | None, seconds: float) -> None:
        """Waits until the link has something to do, or another thread calls _wake()."""
        if seconds <= 0:
            return
        poll = select.poll()
        poll.register(self._bell.fileno(), select.POLLIN)
        if link:
            poll.register(link.fileno(), select.POLLIN)
        ready = dict(poll.poll(int(seconds * 1000) + 1))
        if self._bell.fileno() in ready:
            self._bell.quiet()

    def _wake(self) -> None:
        self._bell.ring()

    def _kick(self) -> None:
        """Something is to be sent: by the loop if one runs, else now."""
        if self._turn.is_mine:
            return
        if self._turn.holder is not None or self._has_loop():
            self._wake()
        else:
            self._send()

    def _has_loop(self) -> bool:
        return self._loops > 0 or self._thread is not None

    def _send(self) -> None:
        with self._lock:
            link = self._link
            if link and not link.closed and self._sock is not None:
                link.flush()

    # ---- What the link tells

    def _established(self, link: Link) -> None:
        """There is a session; on_connect is still to be called."""

    def _accepted(self, link: Link, connected: Connected) -> None:
        """CONNACK."""

    def _ended(self, link: Link, ended: Error | None) -> None:
        """The connection is over."""

    def _arrived(self, link: Link, own: Message, identifier: int) -> None:
        """A message."""

    def _published(self, message: MQTTMessage, reason_code: int) -> None:
        """A message is published."""

    def _finished(self, message: MQTTMessage, result: Any, error: Error | None) -> None:
        """It ended in another way."""

    def _feed(self) -> None:
        """There is room for what waits."""

    # ---- Logging

    @property
    def _logs(self) -> bool:
        """Whether anything is logged, so that what is to be logged is worth to be written."""
        return self._logger is not None or self.on_log is not None

    def _debug(self, text: str) -> None:
        if self._logs:
            self._log(MQTT_LOG_DEBUG, text)

    def _log(self, level: LogLevel, text: str) -> None:
        if self.on_log is not None:
            try:
                self.on_log(self, self._userdata, level, text)
            except Exception:  # noqa: S110
                pass  # nobody is left to be told
        if self._logger is not None:
            self._logger.log(LOGGING_LEVEL[level], "%s", text)

