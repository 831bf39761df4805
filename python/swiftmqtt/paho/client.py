"""paho-mqtt's Client on libswiftmqtt."""

from __future__ import annotations

import select
import socket as _socket
import threading
import time
import uuid
import warnings
from collections import OrderedDict, deque
from typing import Any

from .. import properties as _own
from ..constants import State, Status
from ..errors import ArgumentError, Error, NoRoomError
from ..helpers import topic_filter_check
from ..message import Message, Subscription
from . import _names
from ._link import LARGE, Bell, Link, Socket, Turn, connect_options
from ._names import *  # noqa: F403
from ._names import (
    LOGGING_LEVEL,
    MQTT_CLEAN_START_FIRST_ONLY,
    MQTT_ERR_CONN_LOST,
    MQTT_ERR_INVAL,
    MQTT_ERR_NO_CONN,
    MQTT_ERR_NOMEM,
    MQTT_ERR_PAYLOAD_SIZE,
    MQTT_ERR_PROTOCOL,
    MQTT_ERR_QUEUE_SIZE,
    MQTT_ERR_SUCCESS,
    MQTT_LOG_DEBUG,
    MQTTv5,
    MQTTv311,
    end_code,
)
from ._missing import Missing
from ._settings import Settings
from ._version_1 import or_those_of_version_1
from .enums import CallbackAPIVersion, LogLevel, MQTTErrorCode, MQTTProtocolVersion, PahoClientMode
from .errors import WebsocketConnectionError
from .matcher import MQTTMatcher
from .message import MQTTMessage, MQTTMessageInfo, PayloadType, encode_payload
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

#: How long, in seconds, a loop does what there is to do before it returns.
BUSY_S = 0.1


class Client(Settings, Missing):
    """A client with the interface of paho-mqtt's.

    callback_api_version   which arguments callbacks get; without it, the client_id comes first, as with paho-mqtt 1
    client_id              empty: one is drawn by the server, with 3.1 here
    clean_session          3.1 and 3.1.1: False keeps the session, which needs a client_id. Not for 5.0: see connect()
    userdata               anything; every callback gets it
    protocol               MQTTv31, MQTTv311 or MQTTv5
    transport              "tcp"
    reconnect_on_failure   whether loop_forever() and loop_start() connect again
    manual_ack             messages with QoS 1 and 2 wait for ack()

    All calls are for any thread; callbacks come from the thread that runs the loop.
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
        self._lock = threading.RLock()  # around every call on the link
        self._turn = Turn()  # of the loop
        self._link: Link | None = None
        self._link_options: dict[str, Any] = {}
        self._wanted = False  # connect_async() was called, and reconnect() is to follow
        self._leaving = False  # disconnect() was called
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
        """Has messages with QoS 1 and 2 wait for ack()."""
        self._manual_ack = on
        if self._link:
            self._link.acknowledges = not on

    # ---- Connect, disconnect

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
        if bind_address or bind_port:
            raise ValueError("libswiftmqtt binds to no address: bind_address and bind_port have to be empty")
        self._close_connection()
        self.host, self.port, self.keepalive = host, port, keepalive
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
        self._turn.take(self._wake)
        try:
            self._close_connection()
            self._wanted, self._leaving, self._rc = False, False, MQTT_ERR_SUCCESS
            self._call("on_pre_connect")
            link = self._make_link()
            self._debug(f"Sending CONNECT to {self._host}:{self._port}, keepalive {self._keepalive}")
            self._open(link)
            self._sock = Socket(link.fileno())
        finally:
            self._turn.give()
        self._call("on_socket_open", self._sock)
        return MQTT_ERR_SUCCESS

    def disconnect(self, reasoncode: ReasonCode | None = None, properties: Properties | None = None) -> MQTTErrorCode:
        """Leaves the broker, once what was published is on its way: two seconds at most are taken for its
        acknowledgements. on_disconnect tells when it is over; without a loop it is when this returns."""
        self._leaving, self._wanted = True, False
        if self._sock is None:
            self._wake()
            return MQTT_ERR_NO_CONN
        self._debug("Sending DISCONNECT")
        self._farewell = (reasoncode.value if reasoncode else 0, properties.own() if properties else None)
        with self._lock:
            link = self._link
            # What was published before CONNACK came goes out first.
            if link and (self._ready or not self._queue):
                self._say_farewell(link)
        self._kick()
        if not self._has_loop() and not self._turn.is_mine:
            deadline = time.monotonic() + 10
            while self._sock is not None and time.monotonic() < deadline:
                self._step(0.5)
        return MQTT_ERR_SUCCESS

    def is_connected(self) -> bool:
        """Whether the broker has accepted the connection, and it lasts."""
        link = self._link
        return link is not None and self._sock is not None and link.is_connected and not self._leaving

    # ---- Publish, subscribe

    def publish(
        self,
        topic: str,
        payload: PayloadType = None,
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> MQTTMessageInfo:
        """Publishes a message. What has QoS 1 or 2 is kept until it is delivered, across connections; QoS 0 is for a
        connection only. ValueError for a wrong topic, QoS or payload."""
        if self._protocol != MQTTv5 and (topic is None or len(topic) == 0):
            raise ValueError("Invalid topic.")
        if "+" in topic or "#" in topic:
            raise ValueError("Publish topic cannot contain wildcards.")
        if len(topic.encode()) > 65_535:
            raise ValueError("Publish topic is too long.")
        if qos < 0 or qos > 2:
            raise ValueError("Invalid QoS level.")
        data = encode_payload(payload)
        if len(data) > 268_435_455:
            raise ValueError("Payload too large.")
        with self._lock:
            message = MQTTMessage(self._next_mid(), topic.encode())
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
            info._run = self._run_for
            self._queue.append(message)
            self._feed()
        self._kick()
        return info

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

    # ---- Loops

    def loop(self, timeout: float = 1.0) -> MQTTErrorCode:
        """Waits for at most `timeout` seconds until there is something to do, and does it. Returns why the connection
        ended, if it did; connecting again is the caller's affair."""
        if timeout < 0.0:
            raise ValueError("Invalid timeout.")
        if self._sock is None:
            return MQTT_ERR_NO_CONN
        self._rc = MQTT_ERR_SUCCESS
        self._step(timeout)
        return self._rc

    def loop_forever(self, timeout: float = 1.0, retry_first_connection: bool = False) -> MQTTErrorCode:
        """Runs until disconnect() was called, and connects again when a connection is lost. OSError if connect_async()
        was called and the first connection cannot be opened, unless retry_first_connection is true."""
        self._loops += 1
        try:
            while self._wanted and not self._stopping:
                if self._connect_again(retry_first_connection):
                    break
                self._wait_to_reconnect()
            rc = MQTT_ERR_SUCCESS
            while not self._is_over():
                self._turn.let_pass()
                rc = self.loop(timeout)
                if rc != MQTT_ERR_SUCCESS and not self._is_over():
                    if not self._reconnect_on_failure:
                        break
                    self._wait_to_reconnect()
                    if not self._is_over() and self._sock is None and (self._host or self._wanted):
                        self._connect_again(True)
            return MQTT_ERR_SUCCESS if self._leaving else rc
        finally:
            self._loops -= 1

    def loop_start(self) -> MQTTErrorCode:
        """Runs loop_forever() in a thread."""
        if self._thread is not None:
            return MQTT_ERR_INVAL
        self._stopping = False
        name = f"swiftmqtt-paho-{self._client_id.decode()}"
        self._thread = threading.Thread(target=self._run_thread, name=name, daemon=True)
        self._thread.start()
        return MQTT_ERR_SUCCESS

    def loop_stop(self) -> MQTTErrorCode:
        """Ends that thread, and waits for it; what has QoS 1 or 2 and is not delivered is waited for, too, while there
        is a connection."""
        thread = self._thread
        if thread is None:
            return MQTT_ERR_INVAL
        self._stopping = True
        self._wake()
        if threading.current_thread() is not thread:
            thread.join()
            self._thread = None
        return MQTT_ERR_SUCCESS

    def socket(self) -> Socket | None:
        """For a loop of one's own: what to wait for until it is readable, and then to call loop_read(); call
        loop_misc() every second or so. None without a connection."""
        return self._sock

    def loop_read(self, max_packets: int = 1) -> MQTTErrorCode:
        """Does what there is to do. See socket()."""
        return self.loop(0)

    def loop_write(self) -> MQTTErrorCode:
        """Sends what there is to be sent; nobody needs to call this."""
        if self._sock is None:
            return MQTT_ERR_NO_CONN
        self._send()
        return MQTT_ERR_SUCCESS

    def loop_misc(self) -> MQTTErrorCode:
        """Keeps the connection alive. See socket()."""
        return self.loop(0)

    def want_write(self) -> bool:
        """False: there is nothing to be waited for but reading."""
        return False

    # ---- The loop

    def _run_thread(self) -> None:
        try:
            self.loop_forever(retry_first_connection=True)
        finally:
            self._thread = None

    def _is_over(self) -> bool:
        if self._leaving:
            return self._sock is None
        if self._stopping:
            # What is on its way is waited for, as long as there is a connection.
            return self._sock is None or not (self._unfinished or self._queue)
        return False

    def _connect_again(self, may_fail: bool) -> bool:
        try:
            self.reconnect()
            return True
        except OSError as error:
            self._wanted = not self._leaving
            self._log_call("on_connect_fail")
            if not may_fail:
                self._wanted = False
                raise
            self._debug(f"Connection failed, retrying: {error}")
            return False

    def _log_call(self, name: str) -> None:
        """A callback whose exceptions go no further."""
        try:
            self._call(name)
        except Exception:  # noqa: S110
            pass  # it was logged

    def _wait_to_reconnect(self) -> None:
        if self._sock is not None:
            return
        self._delay = min(self._delay * 2, self._max_delay) if self._delay else self._min_delay
        deadline = time.monotonic() + self._delay
        while not self._leaving and not self._stopping and self._sock is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._sleep(None, left)

    def _has_loop(self) -> bool:
        return self._loops > 0 or self._thread is not None

    def _run_for(self, seconds: float) -> bool:
        """Runs the loop if nobody does: for wait_for_publish()."""
        if self._has_loop() or self._turn.is_mine or self._sock is None:
            return False
        self._step(seconds)
        return True

    def _step(self, timeout: float) -> None:
        """Does what there is to do, or waits for it for a time, and does it then."""
        if not self._turn.take(self._wake, wait=timeout > 0):
            return
        try:
            if self._dispatch():
                timeout = 0
            with self._lock:
                link = self._link
                wait_ms = link.next_timeout_ms() if link and not link.closed else -1
            if link is None or link.closed:
                self._sleep(None, timeout)
                return
            self._sleep(link, timeout if wait_ms < 0 else min(timeout, wait_ms / 1000))
            # What is left for "at once" would else wait for loop_misc(), in a loop of the program's own.
            enough = time.monotonic() + BUSY_S
            while self._serve(link) and time.monotonic() < enough:
                pass
        finally:
            self._turn.give()

    def _serve(self, link: Link) -> bool:
        """Does what there is to do; whether there is more."""
        with self._lock:
            if not link.closed:
                link.service()
        self._dispatch()
        with self._lock:
            return not link.closed and link.next_timeout_ms() == 0

    def _dispatch(self) -> bool:
        """Takes the events, and has the callbacks called that they mean; without the lock, so that these may wait for
        other threads."""
        did = False
        while True:
            with self._lock:
                link = self._link
                if link is None or link.closed:
                    return did
                if not link.calls and not link.take() and not link.calls:
                    return did
            did = True
            while link.calls:
                link.calls.popleft()()

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

    def _send(self) -> None:
        with self._lock:
            link = self._link
            if link and not link.closed and self._sock is not None:
                link.flush()

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
                raise _os_error(failed)
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
                if not link.take():
                    if link.state == State.DISCONNECTED:
                        break
                    wait_ms = link.next_timeout_ms()
                    link.service()
                else:
                    continue
            self._sleep(link, 1.0 if wait_ms < 0 else min(1.0, wait_ms / 1000))
        link.calls.clear()
        self._lose_qos_0()

    def _close(self) -> None:
        self.loop_stop()
        self._close_connection()
        if self._link:
            self._link.close()

    def _lose_qos_0(self) -> None:
        """What had QoS 0 and was not sent is lost with its connection."""
        with self._lock:
            kept = [message for message in self._queue if message.qos > 0]
            for message in self._queue:
                if message.qos == 0:
                    message.info.rc = MQTT_ERR_CONN_LOST
                    message.info._set_as_published()
            self._queue = deque(kept)

    def _say_farewell(self, link: Link) -> None:
        code, properties = getattr(self, "_farewell", (0, None))
        named: dict[str, Any] = {}
        if properties:
            named = {
                "reason_string": properties.reason_string,
                "session_expiry_interval": properties.session_expiry_interval,
                "user_properties": properties.user_properties or None,
            }
        link.flush()
        link.leave(2, code, **named)

    # ---- Publishing

    def _next_mid(self) -> int:
        self._last_mid = self._last_mid % 65_535 + 1
        return self._last_mid

    def _feed(self) -> None:
        """Gives the link what waits, as far as it has room."""
        with self._lock:
            link = self._link
            while self._queue and self._ready and link and not link.closed:
                message = self._queue[0]
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
            link.calls.append(lambda: self._finished(message, result, error))

        if len(message.payload) > LARGE:
            link.stream_struct(struct, len(message.payload), message.payload, finish)
        else:
            struct.put("payload", message.payload)
            link.publish_struct(struct, finish)
        message.info.rc = MQTT_ERR_SUCCESS
        size = len(message.payload)
        self._debug(f"Sending PUBLISH (q{message.qos}, m{message.mid}), {message.topic!r} ({size} bytes)")

    def _fail(self, message: MQTTMessage, rc: MQTTErrorCode) -> None:
        self._unfinished.pop(message.mid, None)
        message.info.rc = rc
        message.info._set_as_published()

    def _finished(self, message: MQTTMessage, result: Any, error: Error | None) -> None:
        """A message has ended."""
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

    # ---- Subscribing

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
                link.calls.append(lambda: self._answered(subscribing, mid, result, error))

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

    # ---- What happens: called by the loop, without the lock but for _established()

    def _established(self, link: Link) -> None:
        self._delay = 0.0

    def _accepted(self, link: Link, connected: Any) -> None:
        """CONNACK."""
        self._debug("Received CONNACK")
        properties = Properties(PacketTypes.CONNACK).fill(connected.properties) if self._protocol == MQTTv5 else None
        self._call_on_connect(connected.session_present, 0, properties)
        with self._lock:
            if link is not self._link or link.closed:
                return
            if connected.properties.server_keep_alive is not None:
                self._keepalive = connected.properties.server_keep_alive
                self._link_options = connect_options(self)  # no reason for another link
            self._ready = True
            self._feed()
            if self._leaving and self._sock is not None and link.state == State.CONNECTED:
                self._say_farewell(link)

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

    def _arrived(self, link: Link, own: Message) -> None:
        """A message."""
        if own.status:
            self._debug(f"Received PUBLISH that is too large: {own.topic!r} ({own.payload_total} bytes)")
        message = MQTTMessage(0, own.topic.encode())
        message.timestamp = time.monotonic()
        message.payload, message.qos = own.payload, own.qos
        message.retain, message.dup = own.retain, own.duplicate
        token, own._token = own._token, 0
        if token:
            message.mid = token % 65_535 + 1
            if not link.acknowledges:
                self._tokens[message.mid] = token
        if self._protocol == MQTTv5:
            message.properties = Properties(PacketTypes.PUBLISH).fill(own.properties)
        self._debug(f"Received PUBLISH (q{own.qos}, m{message.mid}), {own.topic!r} ({len(own.payload)} bytes)")
        self._call_on_message(message)
        if token and link.acknowledges:
            with self._lock:
                if not link.closed:
                    link.acknowledge(token, 0, None)

    # ---- Helpers

    def _debug(self, text: str) -> None:
        if self._logger is not None or self.on_log is not None:
            self._log(MQTT_LOG_DEBUG, text)

    def _log(self, level: LogLevel, text: str) -> None:
        if self.on_log is not None:
            try:
                self.on_log(self, self._userdata, level, text)
            except Exception:  # noqa: S110
                pass  # nobody is left to be told
        if self._logger is not None:
            self._logger.log(LOGGING_LEVEL[level], "%s", text)


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode()


def _os_error(failed: Error) -> OSError:
    """What Python's own sockets would have raised."""
    if failed.status == Status.RESOLVE:
        return _socket.gaierror(failed.os_error, str(failed))
    if failed.status == Status.TIMEOUT:
        return _socket.timeout("timed out")
    if failed.os_error:
        import os

        return OSError(failed.os_error, os.strerror(failed.os_error))
    return ConnectionError(str(failed))

