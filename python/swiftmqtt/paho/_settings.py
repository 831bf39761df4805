"""The settings of a client: those that are set before it connects, or between two connections."""

from __future__ import annotations

import logging
import uuid
import warnings
from typing import Any, TypeVar

from ..message import Will
from ..tls_context import TLSContext
from ._callbacks import Callbacks
from ._link import Socket, will_of
from ._names import MQTT_CLEAN_START_FIRST_ONLY, MQTTv5, MQTTv31
from .enums import CallbackAPIVersion, MQTTProtocolVersion
from .errors import WrongType
from .message import PayloadType, encode_payload
from .properties import Properties

Self = TypeVar("Self", bound="Settings")

TRANSPORTS = ("websockets", "tcp", "unix")


class Settings(Callbacks):
    """Attributes, and the setters that paho-mqtt had before it had these."""

    def __init__(
        self,
        callback_api_version: CallbackAPIVersion,
        client_id: str | None,
        clean_session: bool | None,
        userdata: Any,
        protocol: MQTTProtocolVersion,
        transport: str,
        reconnect_on_failure: bool,
        manual_ack: bool,
    ):
        super().__init__()
        if not isinstance(callback_api_version, CallbackAPIVersion):
            raise WrongType("Unsupported callback API version")
        if callback_api_version is CallbackAPIVersion.VERSION1:
            warnings.warn("Callback API version 1 is deprecated, update to latest version", DeprecationWarning, 5)
        transport = transport.lower()
        if transport not in TRANSPORTS:
            raise ValueError(f'transport must be "websockets", "tcp" or "unix", not {transport}')
        if protocol == MQTTv5:
            if clean_session is not None:
                raise ValueError("Clean session is not used for MQTT 5.0")
        elif clean_session is False and not client_id:
            raise ValueError("A client id must be provided if clean session is False.")
        self._callback_api_version = callback_api_version
        self._client_id = (client_id or (uuid.uuid4().hex[:22] if protocol == MQTTv31 else "")).encode()
        self._clean_session = clean_session is not False
        self._clean_start: bool | int = MQTT_CLEAN_START_FIRST_ONLY
        self._connect_properties: Properties | None = None
        self._userdata = userdata
        self._protocol = MQTTProtocolVersion(protocol)
        self._reconnect_on_failure, self._manual_ack = reconnect_on_failure, manual_ack
        self._host, self._port, self._keepalive, self._connect_timeout = "", 1883, 60, 5.0
        self._transport, self._bind_address = transport, ""
        self._ssl_context: TLSContext | None = None
        self._tls_insecure = False
        self._websocket_path = "/mqtt"
        self._websocket_extra_headers: Any = None
        self._proxy: dict[str, Any] = {}
        self._username: str | None = None
        self._password: str | bytes | None = None
        self._will: Will | None = None
        self._max_inflight_messages, self._max_queued_messages = 20, 0
        self._min_delay, self._max_delay, self._delay = 1.0, 120.0, 0.0
        self._logger: logging.Logger | None = None
        self._is_begun = False  # connect() or connect_async() was called,
        self._leaving = False  # and disconnect()
        self._sock: Socket | None = None  # while the network connection is open

    @property
    def callback_api_version(self) -> CallbackAPIVersion:
        """Which arguments callbacks get."""
        return self._callback_api_version

    @property
    def host(self) -> str:
        """Of the broker."""
        return self._host

    @host.setter
    def host(self, value: str) -> None:
        self._check_closed("host")
        if not value:
            raise ValueError("Invalid host.")
        self._host = value

    @property
    def port(self) -> int:
        """Of the broker."""
        return self._port

    @port.setter
    def port(self, value: int) -> None:
        self._check_closed("port")
        if value <= 0:
            raise ValueError("Invalid port number.")
        self._port = value

    @property
    def keepalive(self) -> int:
        """Seconds."""
        return self._keepalive

    @keepalive.setter
    def keepalive(self, value: int) -> None:
        self._check_closed("keepalive")
        if value < 0:
            raise ValueError("Keepalive must be >=0.")
        self._keepalive = value

    @property
    def transport(self) -> str:
        """ "tcp", "websockets" or "unix" """
        return self._transport

    @transport.setter
    def transport(self, value: str) -> None:
        self._check_closed("transport")
        if value not in TRANSPORTS:
            raise ValueError(f'transport must be "websockets", "tcp" or "unix", not {value}')
        self._transport = value

    @property
    def protocol(self) -> MQTTProtocolVersion:
        """Which version of MQTT is spoken."""
        return self._protocol

    @property
    def connect_timeout(self) -> float:
        """How many seconds opening the network connection may take."""
        return self._connect_timeout

    @connect_timeout.setter
    def connect_timeout(self, value: float) -> None:
        self._check_closed("connect_timeout")
        if value <= 0.0:
            raise ValueError("timeout must be a positive number")
        self._connect_timeout = value

    @property
    def username(self) -> str | None:
        """User name."""
        return self._username

    @username.setter
    def username(self, value: str | None) -> None:
        self._check_closed("username")
        self._username = value

    @property
    def password(self) -> str | bytes | None:
        """Password."""
        return self._password

    @password.setter
    def password(self, value: str | bytes | None) -> None:
        self._check_closed("password")
        self._password = value

    @property
    def max_inflight_messages(self) -> int:
        """QoS 1 and 2 messages that may be in flight at a time; 0: as many as the broker accepts."""
        return self._max_inflight_messages

    @max_inflight_messages.setter
    def max_inflight_messages(self, value: int) -> None:
        self._check_closed("max_inflight_messages")
        if value < 0:
            raise ValueError("Invalid inflight.")
        self._max_inflight_messages = value

    @property
    def max_queued_messages(self) -> int:
        """QoS 1 and 2 messages that may wait to be delivered; 0: any number."""
        return self._max_queued_messages

    @max_queued_messages.setter
    def max_queued_messages(self, value: int) -> None:
        self._check_closed("max_queued_messages")
        if value < 0:
            raise ValueError("Invalid queue size.")
        self._max_queued_messages = value

    @property
    def will_topic(self) -> str:
        """The Will's topic; empty without one."""
        return self._will.topic if self._will else ""

    @property
    def will_payload(self) -> bytes:
        """The Will's payload; empty without one."""
        return self._will.payload if self._will else b""  # type: ignore[return-value]

    @property
    def logger(self) -> logging.Logger | None:
        """The logger that is told what the client does."""
        return self._logger

    @logger.setter
    def logger(self, value: logging.Logger | None) -> None:
        self._logger = value

    def max_inflight_messages_set(self, inflight: int) -> None:
        """Sets max_inflight_messages."""
        self.max_inflight_messages = inflight

    def max_queued_messages_set(self: Self, queue_size: int) -> Self:
        """Sets max_queued_messages."""
        if not isinstance(queue_size, int):
            raise WrongType("Invalid type of queue size.")
        self.max_queued_messages = queue_size
        return self

    def message_retry_set(self, retry: int) -> None:
        """Does nothing, as in paho-mqtt 1.6: a message is resent on the next connection, and at no other
        time."""

    def reconnect_delay_set(self, min_delay: int = 1, max_delay: int = 120) -> None:
        """Sets how many seconds the loop waits before it reconnects: the first time, and at most; the wait
        doubles each time."""
        self._min_delay, self._max_delay, self._delay = float(min_delay), float(max_delay), 0.0

    def username_pw_set(self, username: str | None, password: str | None = None) -> None:
        """Sets user name and password for the next connection; None: none."""
        if username is not None and not isinstance(username, str):
            raise ValueError("username is a str")
        self._username, self._password = username, password

    def will_set(
        self,
        topic: str,
        payload: PayloadType = None,
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> None:
        """Sets the Will for the next connection: what the broker publishes if this client disappears."""
        if not topic:
            raise ValueError("Invalid topic.")
        if qos not in (0, 1, 2):
            raise ValueError("Invalid QoS level.")
        if properties and not isinstance(properties, Properties):
            raise ValueError("The properties argument must be an instance of the Properties class.")
        self._will = will_of(topic, encode_payload(payload), qos, retain, properties)

    def will_clear(self) -> None:
        """Removes the Will."""
        self._will = None

    def user_data_set(self, userdata: Any) -> None:
        """Sets what every callback gets."""
        self._userdata = userdata

    def user_data_get(self) -> Any:
        """Returns what every callback gets."""
        return self._userdata

    def enable_logger(self, logger: logging.Logger | None = None) -> None:
        """Logs what the client does to `logger`, or to a logger of its own."""
        self._logger = logger or self._logger or logging.getLogger("swiftmqtt.paho.client")

    def disable_logger(self) -> None:
        """Ends logging."""
        self._logger = None

    def _check_closed(self, name: str) -> None:
        """From connect() on until disconnect() is over, also while there is no connection between two."""
        if self._is_begun and not (self._leaving and self._sock is None):
            raise RuntimeError(f"updating {name} on established connection is not supported")
