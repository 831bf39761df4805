"""The synchronous client."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from ._answers import Answer, Connected
from ._base import AuthenticateHook, CredentialsHook, Filters, LogHook, ResolveHook
from ._checks import flag
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

__all__ = ["Client", "Token"]


class Client(Waiting):
    """A client with a thread of its own, from connect() on: what is published is sent at once, and what arrives waits for
    receive().

        with swiftmqtt.Client("mqtt://127.0.0.1", client_id="greenhouse") as client:
            client.subscribe("greenhouse/+/set", qos=1).wait()
            client.publish("greenhouse/temperature", 21.5, qos=1).wait()
            for message in client:
                print(message.topic, message.json())

    url           mqtt://[user[:password]@]host[:port][,host[:port]]…, or else the option host
    run           False: no thread. The client then runs while one of its calls waits, and nothing happens between them
    inbox_maximum   messages that wait for receive(): with so many the client stops to read, and the server has to wait,
                  unless somebody waits for an answer that comes behind them. Without a thread nothing is read between
                  two calls, and this is not needed
    reconnect     False: after a failed attempt, or a connection that ended, connect() has to be called again
    manual_ack    messages with QoS 1 and 2 wait for Message.ack(); otherwise one is acknowledged when the program gets
                  it
    message_maximum   bytes: larger payloads that arrive are dropped, and told with status RECEIVE_TOO_LARGE
    adapters      how payloads are made: see swiftmqtt.payload
    credentials   credentials(attempt) gives user name and password before each attempt, or None: there are none now
    resolve       resolve(host, port) gives the numeric addresses of a name, instead of libc
    authenticate  authenticate(data) answers the server's Authentication Data (enhanced authentication, MQTT 5.0)
    log, log_level   see set_log()
    options       the options of smq_options, by the header's names: see swiftmqtt.Options. MQTT 5.0 is spoken, or what
                  the server speaks, unless `protocol` says otherwise

    Every call is for any thread, but with run=False: then the client belongs to one thread at a time, another one gets
    ArgumentError meanwhile, and only submit() is for any. Assign functions to on_connected, on_disconnected and
    on_subscription_lost to hear of these. They, the hooks, and the callbacks of tokens run in the client's thread: they
    may call the client, but what would wait raises ArgumentError there (disconnect() begins to leave, and returns).
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
        credentials: CredentialsHook | None = None,
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
            credentials=credentials,
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
        """Connects, as connect() does, unless the client is connected or about to."""
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
        """Leaves the server, with up to five seconds for what is not yet delivered, none after an exception but that of
        sys.exit() and of a generator's end, and closes. UndeliveredError if something was not delivered, or failed and
        nobody looked; after an exception, which goes on, an UndeliveredWarning."""
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

        timeout   seconds for all of it; None: connect_timeout_ms for each attempt is enough. A server that is silent
                  gets two more, to see that the client leaves
        retry     whether a failed attempt is followed by the next, as long as the time allows; otherwise each server of
                  the URL is tried once, and the last failure raised
        wait      False: begins, and returns None at once; it goes on in the next calls that wait

        Returns what the server said. Raises PeerError or TransportError, and TimeoutError, after which the client is
        disconnected; ArgumentError if it was not.
        """
        retry, wait = flag("retry", retry), flag("wait", wait)
        with self._guard:
            self._begin()
            if wait:
                self._may_wait()
            ends = self._ends
            self._connect()
            self._on_called()
            if not wait:
                return None
            try:
                self._run_until(
                    lambda: self._connected or (self._has_failed() and not retry and self._ends > ends),
                    timeout,
                    "CONNACK",
                )
            except BaseException:
                self._give_up()
                raise
            if self._connected is None:
                ended = self._ended
                self._give_up()
                raise ended or error(Status.CLOSED)
            connected = self._connected
            self._until_heard()
            return connected

    def disconnect(
        self,
        drain_s: float = 5,
        *,
        reason_code: int = 0,
        reason_string: str | None = None,
        session_expiry_interval: int | None = None,
        user_properties: UserProperties | None = None,
    ) -> None:
        """Leaves the server, and returns when it is over; in a callback, at once. Without a connection it gives up
        trying.

        drain_s       how long to wait for what was published to be delivered
        reason_code   MQTT 5.0: 0x04 has the server publish the Will; see smq_disconnect_with() for others
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

    # ---- Publish

    def publish(
        self,
        topic: str,
        payload: object = b"",
        *,
        qos: int = 0,
        retain: bool = False,
        expiry_s: int = 0,
        overflow: int = Overflow.REFUSE,
        urgent: bool = False,
        quiet: bool = False,
        content_type: str | None = None,
        payload_format_indicator: int | None = None,
        response_topic: str | None = None,
        correlation_data: bytes | None = None,
        user_properties: UserProperties | None = None,
        properties: Properties | None = None,
        timeout: float | None = 0,
    ) -> Token:
        """Publishes a message: when this returns it is on its way, or, without a connection, in the outbox. (With
        run=False it is in the outbox, and sent by the next call that waits, or flush().)

        payload        bytes, str, dict, …: the adapters make bytes of it; in MQTT 5.0 its content type goes along
        qos, retain    as ever
        expiry_s       how many seconds the message is of use; 0: for ever
        overflow       what happens to it when there is no room: Overflow
        urgent         it goes ahead of all that is not, and has room of its own
        quiet          nobody is told when all goes well: the token never ends, unless it fails
        timeout        how many seconds to wait for room; None: as long as it takes; 0: NoRoomError at once
        the others     MQTT 5.0; `properties` is for what has no name here

        Returns a token; wait() raises if the message was not delivered as its QoS promises.
        """
        with self._guard:
            struct = self._message(
                topic,
                payload,
                qos=qos,
                retain=retain,
                expiry_s=expiry_s,
                overflow=overflow,
                urgent=urgent,
                quiet=quiet,
                content_type=content_type,
                payload_format_indicator=payload_format_indicator,
                response_topic=response_topic,
                correlation_data=correlation_data,
                user_properties=user_properties,
                properties=properties,
            )
            token = Token(self)
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
        """Publishes a payload larger than the outbox, piece by piece. One at a time.

        source   bytes; a file that can seek, opened for binary reading; or source(offset, size), which returns at most
                 `size` bytes from `offset` on and must not call the client. It may be asked for the same bytes again,
                 until the token has ended
        size     how many bytes the payload has; not needed for bytes and files
        more     as for publish()
        """
        with self._guard:
            struct = self._message(topic, b"", **more)
            token = Token(self)
            total = size_of(source) if size is None else size
            self._with_room(lambda: self._stream(struct, total, source, token._finish), timeout)
            return token

    def submit(self, topic: str, payload: object = b"", **more: Any) -> Future[Answer]:
        """Publishes from a signal handler, or, with run=False, from another thread than the one that runs the client.
        Takes what publish() does, but `timeout`. Never waits, also not for a lock.

        Returns a future that knows how the message ended; NoRoomError if `submit_messages` are waiting, ArgumentError
        if it is above `submit_bytes`, ClosedError after close().
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
        """Hands what is ready to be sent to the kernel, now and without waiting."""
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
        """Subscribes to a Topic Filter, or to several. What was granted is subscribed to again when the server has lost
        it.

        filters      "a/+", Subscription("a/+", qos=1), or several of either
        qos          the highest to be sent with; with the three that follow (MQTT 5.0): for filters that are just text
        identifier   MQTT 5.0: the Subscription Identifier that comes with each message; 0: none

        Returns a token, whose answer has the granted QoS of each filter in reason_codes; PeerError if one was refused.
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
        response_topic   where the reply is to go: subscribed to already. None: a topic of this client's own, which is
                         subscribed to with the first request
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
        """The messages, as they come, across reconnects; ends when the client is disconnected."""
        return self.messages()

    def messages(self, timeout: float | None = None) -> Iterator[Message]:
        """The messages as they come; ends too when none has come for `timeout` seconds."""
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
        """The next message. TimeoutError when the time is up; ArgumentError if none can come, as the client is
        disconnected."""
        with self._guard:
            self._run_until(lambda: self._waiting_messages, timeout, "a message", relieve=False)
            message = self._next_message()
            runner = self._runner
            if runner and runner.held_back and self._has_few():
                runner.wake()
            return message
