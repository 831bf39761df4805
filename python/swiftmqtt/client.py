"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from ._answers import Answer, Connected
from ._base import AuthenticateHook, CredentialsHook, Filters, LogHook, ResolveHook, WebSocketRequestHook
from ._calls import NO_PROPERTIES
from ._checks import flag
from ._option_texts import documented
from ._reference import Lent
from ._source import Source, size_of
from ._token import Token
from ._undelivered import DRAIN_S, is_orderly, is_to_be_raised
from ._waiting import Waiting
from .constants import LogLevel, Overflow, State, Status
from .errors import ArgumentError, Error, error
from .message import Message
from .payload import Adapters
from .properties import Properties, UserProperties

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ._options import Options
    from .tls_context import AnyTLS

__all__ = ["Client", "Token"]

SYNC_STEP_MS = 20


@documented
class Client(Waiting):
    """A client with a thread of its own, from connect() on: the thread sends messages at once, and received
    messages wait for receive().

        with swiftmqtt.Client("mqtt://127.0.0.1", client_id="greenhouse") as client:
            client.subscribe("greenhouse/+/set", qos=1).wait()
            client.publish("greenhouse/temperature", 21.5, qos=1).wait()
            for message in client:
                print(message.topic, message.json())

    url           mqtt://[user[:password]@]host[:port][,host[:port]]…, mqtts:// with TLS, ws:// and wss:// for a
                  WebSocket, unix:/path; the option host can be used instead
    run           False: no thread. The client then runs while one of its calls waits, and nothing happens
                  between calls
    inbox_maximum   messages that may wait for receive(): at this number the client stops reading, and
                    backpressure makes the server wait, unless a call waits for an answer behind them. Without
                    a thread nothing is read between two calls, and this has no effect
    reconnect     False: after a failed attempt, or when a connection ended, connect() has to be called again
    manual_ack    QoS 1 and 2 messages wait for Message.ack(); otherwise a message is acknowledged when the
                  program gets it
    message_maximum   bytes: larger payloads are dropped, and reported with status RECEIVE_TOO_LARGE
    adapters      how payloads are encoded: see swiftmqtt.payload
    tls           True, or a swiftmqtt.TLS with CAs, certificate and key of the program's; mqtts:// and wss://
                  mean True
    credentials   credentials(attempt) returns user name and password before each attempt, or None: there are
                  none now
    websocket_request   websocket_request(attempt) returns path and query of the WebSocket's request before each
                  attempt, or (path, headers), or None: there is none now. For URLs that are signed for some
                  minutes; a whole URL is taken, too
    resolve       resolve(host, port) returns the numeric addresses of a host name, in place of libc
    authenticate  authenticate(data) answers the server's Authentication Data (enhanced authentication, MQTT
                  5.0)
    log, log_level   see set_log()
    options       the options of smq_options, with the header's names: see swiftmqtt.Options. The client
                  speaks MQTT 5.0, or what the server speaks, unless `protocol` says otherwise

    Any thread may call any method. With run=False the client belongs to one thread at a time: another thread
    gets ArgumentError meanwhile, and may only call submit(). Assign functions to on_connected,
    on_disconnected and on_subscription_lost to be notified. These functions, the hooks, and the callbacks of
    tokens run in the client's thread. They may call the client, but a call that would wait raises
    ArgumentError there (disconnect() begins to disconnect, and returns).
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        run: bool = True,
        inbox_maximum: int = 1000,
        reconnect: bool = True,
        manual_ack: bool = False,
        message_maximum: int = 1 << 24,
        adapters: Adapters | None = None,
        tls: AnyTLS = None,
        credentials: CredentialsHook | None = None,
        websocket_request: WebSocketRequestHook | None = None,
        resolve: ResolveHook | None = None,
        authenticate: AuthenticateHook | None = None,
        log: LogHook | None = None,
        log_level: int = LogLevel.INFO,
        **options: Unpack[Options],
    ):
        super().__init__(
            url,
            run,
            inbox_maximum,
            reconnect=reconnect,
            manual_ack=manual_ack,
            message_maximum=message_maximum,
            adapters=adapters,
            tls=tls,
            credentials=credentials,
            websocket_request=websocket_request,
            resolve=resolve,
            authenticate=authenticate,
            log=log,
            log_level=log_level,
            **cast("dict[str, Any]", options),
        )
        self._replies_to: str | None = None

    # ---- Connect, disconnect

    if not TYPE_CHECKING:

        async def __aenter__(self):
            raise TypeError("swiftmqtt.Client is for with, not for async with: that is swiftmqtt.aio.Client")

        async def __aexit__(self, *_):
            pass

        def __aiter__(self):
            raise TypeError("swiftmqtt.Client is for for, not for async for: that is swiftmqtt.aio.Client")

    def __enter__(self) -> Client:
        """Connects, as connect() does, unless the client is connected or connecting."""
        try:
            if self.state == State.DISCONNECTED:
                self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        """Disconnects and closes. Waits up to five seconds for deliveries; after an exception it does not
        wait, unless that is sys.exit()'s or a generator's end. Raises UndeliveredError if a message was not
        delivered, or failed and nothing looked at its token; after an exception, which continues, this is an
        UndeliveredWarning."""
        if not self.closed:
            if kind:
                self._thrown = None  # the first one goes on
            left = self._left(DRAIN_S if is_orderly(kind) else 0, None)
            if left.count and is_to_be_raised(kind):
                raise left.error()
            left.warn(2)
        return False

    def connect(self, timeout: float | None = None, *, retry: bool = False, wait: bool = True) -> Connected | None:
        """Connects, and stays connected.

        timeout   seconds for everything; None: connect_timeout_ms limits each attempt. A silent server gets
                  two more seconds to receive the DISCONNECT
        retry     whether another attempt follows a failed one while there is time; otherwise each server of
                  the URL is tried once, and the last failure is raised
        wait      False: begins, and returns None at once; connecting continues in later calls that wait

        Returns the server's answer. Raises PeerError or TransportError, or TimeoutError, after which the
        client is disconnected; ArgumentError if it was not disconnected before.
        """
        retry, wait = flag("retry", retry), flag("wait", wait)
        with self._guard:
            self._begin()
            if wait:
                self._may_wait()
            ends = self._ends
            self._answer = None
            self._connect()
            self._on_called()
            if not wait:
                return None
            try:
                self._run_until(
                    lambda: self._answer or (self._has_failed() and not retry and self._ends > ends),
                    timeout,
                    "CONNACK",
                )
            except BaseException:
                self._give_up()
                raise
            if self._answer is None:
                ended = self._ended
                self._give_up()
                raise ended or error(Status.CLOSED)
            answer = self._answer
            if self._connected:
                self._until_heard()
            return answer

    def disconnect(
        self,
        drain_s: float = 5,
        *,
        reason_code: int = 0,
        reason_string: str | None = None,
        session_expiry_interval: int | None = None,
        user_properties: UserProperties | None = None,
    ) -> None:
        """Disconnects gracefully, and returns when that is complete; in a callback, at once. Without a
        connection it stops trying to connect.

        drain_s       how long to wait until published messages are delivered
        reason_code   MQTT 5.0: 0x04 makes the server publish the Will; see smq_disconnect_with() for others
        """
        with self._guard:
            if self.state == State.DISCONNECTED:
                return
            self._leave(
                drain_s,
                reason_code,
                reason_string=reason_string,
                session_expiry_interval=session_expiry_interval,
                user_properties=user_properties,
            )
            if self._runner and self._runner.is_mine:
                return
            self._run_to_the_end()

    # ---- The journal

    def sync(self, timeout: float | None = None) -> None:
        """Waits until every message that was published is in the journal, and on the disk. The option `journal` is the
        file's path.

        timeout   seconds; None: as long as it takes

        Raises JournalError if it could not be written, TimeoutError, and ArgumentError without a journal.
        """
        with self._guard:
            self._may_wait()
        end = None if timeout is None else time.monotonic() + timeout
        # In steps, so that the client's thread, and other threads, get their turn meanwhile.
        while not self._sync(SYNC_STEP_MS if end is None else max(0, min(SYNC_STEP_MS, round((end - time.monotonic()) * 1000)))):
            if end is not None and time.monotonic() >= end:
                raise TimeoutError("not everything was stored in time")

    # ---- Publish

    def publish(
        self,
        topic: str,
        payload: object = b"",
        *,
        qos: int = 0,
        retain: bool = False,
        expiry_s: int = 0,
        overflow: str | int = Overflow.REFUSE,
        urgent: bool = False,
        quiet: bool = False,
        stored: bool = True,
        content_type: str | None = None,
        payload_format_indicator: int | None = None,
        response_topic: str | None = None,
        correlation_data: bytes | None = None,
        user_properties: UserProperties | None = None,
        properties: Properties | None = None,
        timeout: float | None = 0,
    ) -> Token:
        """Publishes a message: when this returns, the message was sent or, without a connection, is in the
        outbox. (With run=False it is in the outbox; the next call that waits, or flush(), sends it.)

        payload        bytes, str, dict, …: the adapters encode it; MQTT 5.0 also sends its content type
        qos, retain    as in the specification
        expiry_s       after how many seconds the message is of no use any more; 0: never
        overflow       what happens to it when there is no room: Overflow, or its name, such as "drop_oldest"
        urgent         it is sent before all messages that are not urgent, and has room of its own
        quiet          success is not reported: the token only ends if the message fails
        stored         False: the journal does not get it, and it ends with the process; QoS 1 only
        timeout        how many seconds to wait for room; None: as long as it takes; 0: NoRoomError at once
        the others MQTT 5.0; `properties` is for those without a parameter here

        Returns a token; its wait() raises if the message was not delivered as its QoS promises.
        """
        with self._guard:
            token = Token(self)
            said = (content_type, payload_format_indicator, response_topic, correlation_data, user_properties, properties)
            if said == NO_PROPERTIES and urgent is quiet is False and stored is True and not (expiry_s or overflow):
                self._begin()
                if self._publish_plain(topic, payload, qos, retain, token._finish):
                    return token
            struct = self._message(
                topic,
                payload,
                qos=qos,
                retain=retain,
                expiry_s=expiry_s,
                overflow=overflow,
                urgent=urgent,
                quiet=quiet,
                stored=stored,
                content_type=content_type,
                payload_format_indicator=payload_format_indicator,
                response_topic=response_topic,
                correlation_data=correlation_data,
                user_properties=user_properties,
                properties=properties,
            )
            finish = None if quiet else token._finish
            self._with_room(lambda: self._publish(struct, finish), timeout)
            return token

    def publish_stream(
        self,
        topic: str,
        source: bytes | BinaryIO | Source,
        size: int | None = None,
        *,
        timeout: float | None = 0,
        **more: Any,
    ) -> Token:
        """Publishes a payload larger than the outbox, piece by piece. Only one such message can exist at a
        time.

        source   bytes; a seekable file, opened for binary reading; or source(offset, size), which returns at
                 most `size` bytes from `offset` on and must not call the client. It may be asked for the same
                 bytes again, until the token has ended
        size     how many bytes the payload has; not needed for bytes and files
        more     as for publish()
        """
        with self._guard:
            struct = self._message(topic, b"", **more)
            token = Token(self)
            total = size_of(source) if size is None else size
            self._with_room(lambda: self._stream(struct, total, source, token._finish), timeout)
            return token

    def publish_reference(self, topic: str, buffer: Any, *, timeout: float | None = 0, **more: Any) -> Token:
        """Publishes a payload that stays where it is: the kernel reads it from the program's memory. For large payloads, of
        which no copy is to be made; up to MQTT's 268,435,455 bytes, also where they are larger than the outbox.

        buffer   bytes, a bytearray, a memoryview, a mmap, an array, … with its bytes one behind the other. The client
                 keeps it until the token has ended, and until then its bytes must not change: after a reconnect they
                 are sent again. A bytearray cannot be resized meanwhile, and a mmap cannot be closed
        more     as for publish(), but for `quiet` and `urgent`

        `references` such messages may be incomplete at a time.
        """
        with self._guard:
            struct = self._message(topic, b"", **more)
            token, lent = Token(self), Lent(buffer)
            try:
                self._with_room(lambda: self._reference(struct, lent, token._finish), timeout)
            finally:
                if not lent.is_out:
                    lent.release()
            return token

    def submit(self, topic: str, payload: object = b"", **more: Any) -> Future[Answer]:
        """Publishes from a signal handler or, with run=False, from another thread than the one that runs the
        client. Has the parameters of publish() except `timeout`. Never waits, not even for a lock.

        Returns a future with the result of the message. Raises NoRoomError if `submit_messages` are waiting,
        ArgumentError if the message is larger than `submit_bytes`, ClosedError after close().
        """
        struct = self._message(topic, payload, **more)
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()

        def finish(result: Any, error: Error | None) -> None:
            if error:
                self._later(future.set_exception, error)
            else:
                self._later(future.set_result, result)

        self._submit(struct, None if more.get("quiet") else finish)
        return future

    def flush(self) -> None:
        """Passes what is ready to be sent to the kernel, now and without waiting."""
        with self._guard:
            if self.state != State.DISCONNECTED:
                self._flush()

    # ---- Subscribe

    def subscribe(
        self,
        filters: Filters,
        qos: int = 0,
        *,
        no_local: bool = False,
        retain_as_published: bool = False,
        retain_handling: int = 0,
        identifier: int = 0,
        user_properties: UserProperties | None = None,
    ) -> Token:
        """Subscribes to one Topic Filter, or to several. The client resubscribes to granted filters if the
        server has lost the session.

        filters      "a/+", Subscription("a/+", qos=1), or several of either
        qos          the highest QoS that the server may send with; this and the next three (MQTT 5.0) are for
                     filters that are plain strings
        identifier   MQTT 5.0: the Subscription Identifier that arrives with each message; 0: none

        Returns a token, whose answer has the granted QoS of each filter in reason_codes. Raises PeerError if
        one was refused.
        """
        with self._guard:
            self._begin()
            token = Token(self)
            self._subscribe(
                True,
                filters,
                qos,
                identifier,
                user_properties,
                token._finish,
                no_local=no_local,
                retain_as_published=retain_as_published,
                retain_handling=retain_handling,
            )
            return token

    def unsubscribe(self, filters: Filters, *, user_properties: UserProperties | None = None) -> Token:
        """Unsubscribes from one Topic Filter, or from several."""
        with self._guard:
            self._begin()
            token = Token(self)
            self._subscribe(False, filters, 0, 0, user_properties, token._finish)
            return token

    # ---- Request and response

    def request(
        self,
        topic: str,
        payload: object = b"",
        *,
        timeout: float = 10,
        response_topic: str | None = None,
        **more: Any,
    ) -> Token:
        """Publishes a request (MQTT 5.0); the token's answer is the Message that answers it.

        timeout          how many seconds to wait for the reply; then the token fails with SMQ_ERR_TIMEOUT
        response_topic   where the reply is to be sent: a topic that is already subscribed to. None: a topic
                         of this client, to which the first request subscribes
        more             as for publish()
        """
        with self._guard:
            self._begin()
            if response_topic is None:
                if self._replies_to is None:
                    self._may_wait()
                    from uuid import uuid4

                    topic_of_replies = f"replies/{uuid4().hex}"
                    self.subscribe(topic_of_replies, 1).wait(timeout)
                    self._replies_to = topic_of_replies
                response_topic = self._replies_to
            struct = self._message(topic, payload, **more)
            token = Token(self)
            self._request(struct, response_topic, timeout, token._finish)
            return token

    # ---- Receive

    def __iter__(self) -> Iterator[Message]:
        """Yields the messages as they arrive, across reconnects; ends when the client is disconnected."""
        return self.messages()

    def messages(self, timeout: float | None = None) -> Iterator[Message]:
        """Yields the messages as they arrive; also ends when none has arrived for `timeout` seconds."""
        while not self.closed:
            try:
                message = self.receive(timeout)
            except TimeoutError:
                return
            except ArgumentError as wrong:
                if wrong.status in (Status.STATE, Status.CLIENT) and (self.closed or self.state == State.DISCONNECTED):
                    if self._ended:
                        raise self._ended from None
                    if self._was_begun or self.closed:
                        return
                raise
            yield message

    def receive(self, timeout: float | None = None) -> Message:
        """Returns the next message. Raises TimeoutError when the time is up; ArgumentError if none can arrive
        because the client is disconnected."""
        with self._guard:
            if not self._waiting_messages or self._runner is None or self._thrown or self._broken:
                self._run_until(lambda: self._waiting_messages, timeout, "a message", relieve=False)
            message = self._next_message()
            runner = self._runner
            if runner and runner.held_back and self._has_few():
                runner.wake()
            return message
