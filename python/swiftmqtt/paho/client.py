"""paho-mqtt's Client on libswiftmqtt."""

from __future__ import annotations

import time
import warnings
from typing import Any

from ..constants import State, Status
from ..errors import Error
from ..message import Message
from . import _names
from ._link import Link, connect_options
from ._missing import Missing
from ._names import *  # noqa: F403
from ._names import MQTT_ERR_NO_CONN, MQTT_ERR_SUCCESS, MQTTv5, MQTTv311, end_code
from ._publishing import Publishing
from ._subscribing import Subscribing
from ._version_1 import or_those_of_version_1
from .enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion, PahoClientMode
from .errors import WebsocketConnectionError
from .matcher import MQTTMatcher
from .message import MQTTMessage, MQTTMessageInfo, PayloadType
from .packettypes import PacketTypes
from .properties import Properties
from .reasoncodes import ReasonCode, ReasonCodes
from .subscribeoptions import SubscribeOptions

__all__ = [
    "CallbackAPIVersion",
    "Client",
    "MQTTErrorCode",
    "MQTTMatcher",
    "MQTTMessage",
    "MQTTMessageInfo",
    "MQTTProtocolVersion",
    "PahoClientMode",
    "PacketTypes",
    "PayloadType",
    "Properties",
    "ReasonCode",
    "ReasonCodes",
    "SubscribeOptions",
    "WebsocketConnectionError",
]
__all__ += _names.__all__


class Client(Publishing, Subscribing, Missing):
    """A client with the interface of paho-mqtt's.

    callback_api_version   which arguments callbacks get; without it, the client_id comes first, as with
                           paho-mqtt 1
    client_id              empty: the server assigns one; with 3.1 a random one is used
    clean_session          3.1 and 3.1.1: False keeps the session, which needs a client_id. Not for 5.0: see
                           connect()
    userdata               anything; every callback gets it
    protocol               MQTTv31, MQTTv311 or MQTTv5
    transport              "tcp", "websockets" or "unix"; with "unix" the host of connect() is the socket's path
    reconnect_on_failure   whether loop_forever() and loop_start() reconnect
    manual_ack             QoS 1 and 2 messages wait for ack()

    Any thread may call any method; callbacks run in the thread that runs the loop.
    """

    @or_those_of_version_1
    def __init__(
        self,
        callback_api_version: CallbackAPIVersion = CallbackAPIVersion.VERSION1,
        client_id: str | None = "",
        clean_session: bool | None = None,
        userdata: Any = None,
        protocol: MQTTProtocolVersion = MQTTv311,
        transport: str = "tcp",
        reconnect_on_failure: bool = True,
        manual_ack: bool = False,
    ):
        super().__init__(
            callback_api_version,
            client_id,
            clean_session,
            userdata,
            protocol,
            transport,
            reconnect_on_failure,
            manual_ack,
        )

    # ---- More settings

    def reinitialise(self, client_id: str = "", clean_session: bool = True, userdata: Any = None) -> None:
        """Begins anew."""
        self._close()
        version = self._callback_api_version
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.__dict__.clear()
            Client.__init__(self, version, client_id, clean_session, userdata)

    def manual_ack_set(self, on: bool) -> None:
        """Makes QoS 1 and 2 messages wait for ack()."""
        self._manual_ack = on
        if self._link:
            self._link.acknowledges = not on

    # ---- Disconnect, acknowledge

    def disconnect(self, reasoncode: ReasonCode | None = None, properties: Properties | None = None) -> MQTTErrorCode:
        """Disconnects once published messages are sent, and waits at most two seconds for their
        acknowledgements. on_disconnect reports the end; without a loop it has ended when this returns."""
        self._leaving, self._wanted = True, False
        if self._sock is None:
            self._wake()
            return MQTT_ERR_NO_CONN
        self._debug("Sending DISCONNECT")
        self._pending_disconnect = (reasoncode.value if reasoncode else 0, properties.own() if properties else None)
        with self._lock:
            link = self._link
            # What was published before CONNACK came goes out first.
            if link and (self._ready or not self._queue):
                self._send_disconnect(link)
        self._kick()
        if not self._has_loop() and not self._turn.is_mine:
            deadline = time.monotonic() + 10
            while self._sock is not None and time.monotonic() < deadline:
                self._step(0.5)
        return MQTT_ERR_SUCCESS

    def ack(self, mid: int, qos: int) -> MQTTErrorCode:
        """Acknowledges a message, with manual_ack."""
        with self._lock:
            token, link = self._tokens.pop(mid, 0), self._link
            if not link or self._sock is None:
                return MQTT_ERR_NO_CONN
            if token:
                link.acknowledge(token, 0, None)
        self._kick()
        return MQTT_ERR_SUCCESS

    def _close(self) -> None:
        self.loop_stop()
        self._close_connection()
        if self._link:
            self._link.close()

    def _send_disconnect(self, link: Link) -> None:
        code, properties = getattr(self, "_pending_disconnect", (0, None))
        named: dict[str, Any] = {}
        if properties:
            named = {
                "reason_string": properties.reason_string,
                "session_expiry_interval": properties.session_expiry_interval,
                "user_properties": properties.user_properties or None,
            }
        link.flush()
        link.leave(2, code, **named)

    # ---- What happens: called by the loop, without the lock but for _established()

    def _established(self, link: Link) -> None:
        self._delay = 0.0

    def _accepted(self, link: Link, connected: Any) -> None:
        """CONNACK."""
        self._debug("Received CONNACK")
        properties = Properties(PacketTypes.CONNACK).fill(connected.properties) if self._protocol == MQTTv5 else None
        try:
            self._call_on_connect(connected.session_present, 0, properties)
        finally:  # also if it raises: the connection is up, and what was published goes out
            self._go_ahead(link, connected)

    def _go_ahead(self, link: Link, connected: Any) -> None:
        """on_connect was called: sends what was published before."""
        with self._lock:
            if link is not self._link or link.closed:
                return
            if connected.properties.server_keep_alive is not None:
                self._keepalive = connected.properties.server_keep_alive
                self._link_options = connect_options(self)  # no reason for another link
            self._ready = True
            self._feed()
            if self._leaving and self._sock is not None and link.state == State.CONNECTED:
                self._send_disconnect(link)

    def _ended(self, link: Link, ended: Error | None) -> None:
        """The connection is over."""
        refused = ended is not None and ended.status == Status.REFUSED
        if refused and ended:
            own = ended.properties
            properties = Properties(PacketTypes.CONNACK).fill(own) if own and self._protocol == MQTTv5 else None
            self._debug(f"Received CONNACK: {ended}")
            self._call_on_connect(False, ended.reason_code, properties)
        rc = end_code(None if self._leaving else ended)
        by_server = ended if ended and ended.status == Status.SERVER_CLOSED else None
        properties = None
        if by_server:
            self._debug(f"Received DISCONNECT: {ended}")
            rc = MQTT_ERR_SUCCESS
            if by_server.properties:
                properties = Properties(PacketTypes.DISCONNECT).fill(by_server.properties)
        if link is not self._link:
            return
        self._rc = rc if rc != MQTT_ERR_SUCCESS or self._leaving else MQTT_ERR_NO_CONN
        self._ready = False
        closing, self._sock = self._sock, None
        self._lose_qos_0()
        if self._leaving and not by_server:
            self._call_on_disconnect(MQTT_ERR_SUCCESS, None, None)
            if closing:
                self._call("on_socket_close", closing)
        else:
            if closing:
                self._call("on_socket_close", closing)
            self._call_on_disconnect(rc, by_server, properties)

    def _arrived(self, link: Link, own: Message, identifier: int) -> None:
        """A message."""
        if own.status:
            self._debug(f"Received PUBLISH that is too large: {own.topic!r} ({own.payload_total} bytes)")
        message = MQTTMessage(identifier, own.topic.encode())
        message.timestamp = time.monotonic()
        message.payload, message.qos = own.payload, own.qos
        message.retain, message.dup = own.retain, own.duplicate
        token, own._token = own._token, 0
        if token and not link.acknowledges:
            self._tokens[identifier] = token
        if self._protocol == MQTTv5:
            message.properties = Properties(PacketTypes.PUBLISH).fill(own.properties)
        self._debug(f"Received PUBLISH (q{own.qos}, m{message.mid}), {own.topic!r} ({len(own.payload)} bytes)")
        self._call_on_message(message)
        if token and link.acknowledges:
            with self._lock:
                if not link.closed:
                    link.acknowledge(token, 0, None)
