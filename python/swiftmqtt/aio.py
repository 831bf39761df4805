"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast
from uuid import uuid4

from ._answers import Answer, Connected
from ._base import AuthenticateHook, CredentialsHook, Filters, LogHook, ResolveHook, WebSocketRequestHook
from ._calls import NO_PROPERTIES
from ._checks import flag
from ._loop import LoopClient, into, look_at, within
from ._option_texts import documented
from ._reference import Lent
from ._source import Source, size_of
from ._undelivered import DRAIN_S, is_orderly, is_to_be_raised
from .constants import LogLevel, Overflow, State, Status
from .errors import ArgumentError, ClosedError
from .message import Message
from .payload import Adapters
from .properties import Properties, UserProperties

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ._options import Options
    from .tls_context import AnyTLS

__all__ = ["Client", "Messages"]

SYNC_PAUSE_S = 0.005


class Messages(AsyncIterator[Message]):
    """The messages as they arrive, across reconnects: ``async for message in client.messages``. Ends when the
    client was disconnected or closed. Several tasks may take from it; each message goes to one."""

    def __init__(self, client: Client):
        self._client = client

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        client = self._client
        try:
            return client._next_message() if client._is_ready() else await client.receive()
        except ClosedError:
            raise StopAsyncIteration from None

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._client._waiting_messages)


@documented
class Client(LoopClient):
    """A client for one asyncio loop: the one that runs when it is first awaited.

        async with swiftmqtt.aio.Client("mqtt://127.0.0.1") as client:
            await client.subscribe("greenhouse/+/set", qos=1)
            await client.publish("greenhouse/temperature", 21.5, qos=1)
            async for message in client.messages:
                print(message.topic, message.json())

    Has the parameters of :class:`swiftmqtt.Client`, and:

    inbox_maximum   messages that may wait to be taken from `messages`: at this number the client stops
                    reading, and backpressure makes the server wait, unless something is awaited whose answer
                    is behind them

    Every call belongs to the loop's thread, except submit(), which any thread may call. Cancelling a call
    leaves the client as it is: a published message is delivered all the same. The hooks are plain functions,
    which the loop calls.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
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
        self._messages = Messages(self)
        self._replies: asyncio.Task[Answer] | None = None  # subscribes to
        self._replies_to = f"replies/{uuid4().hex}"

    @property
    def messages(self) -> Messages:
        """The messages that arrive."""
        return self._messages

    # ---- Connect, disconnect

    if not TYPE_CHECKING:

        def __enter__(self):
            raise TypeError("swiftmqtt.aio.Client is for async with, not for with")

        def __exit__(self, *_):
            pass

        def __aiter__(self):
            raise TypeError("messages come from async for message in client.messages")

        def __iter__(self):
            raise TypeError("messages come from async for message in client.messages")

    async def __aenter__(self) -> Client:
        """Connects, as connect() does, unless the client is connected or connecting."""
        try:
            if self.state == State.DISCONNECTED:
                await self.connect()
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        """Disconnects and closes. Waits up to five seconds for deliveries; after an exception it does not
        wait, unless that is sys.exit()'s or a generator's end. Raises UndeliveredError if a message was not
        delivered that nothing awaits; after an exception, which continues, this is an UndeliveredWarning."""
        if self.closed:
            return False
        try:
            if is_to_be_raised(kind):
                await asyncio.sleep(0)  # tasks that were just made begin, and publish
            self._was_up = self._connected is not None
            await self._disconnect(DRAIN_S if is_orderly(kind) else 0)
        except BaseException:
            self.close()
            raise
        left = self._end()
        if left.count and is_to_be_raised(kind):
            raise left.error()
        left.warn(2)
        return False

    async def connect(self, timeout: float | None = None, *, retry: bool = False) -> Connected:
        """Connects, and stays connected.

        timeout   seconds for everything; None: connect_timeout_ms limits each attempt
        retry     whether another attempt follows a failed one; otherwise each server of the URL is tried
                  once, and the last failure is raised

        Returns the server's answer. Raises PeerError or TransportError, or TimeoutError, after which the
        client is disconnected.
        """
        retry = flag("retry", retry)
        self._attach()
        ends = self._ends
        self._connect()
        self._on_called()

        async def come() -> Connected:
            while self._connected is None:
                if self._ended and self._has_failed() and self._ends > ends and not retry:
                    raise self._ended
                await self._change()
            return self._connected

        try:
            return await within(come, timeout)
        except BaseException:
            if not self.closed and self.state != State.DISCONNECTED:
                ended = self._ended
                self._leave(0, 0)
                self._on_called()
                await asyncio.shield(asyncio.ensure_future(self._gone()))
                self._ended = ended
            raise

    async def sync(self) -> None:
        """Waits until every message that was published is in the journal, and on the disk. The option `journal` is the
        file's path. Raises JournalError if it could not be written, and ArgumentError without a journal."""
        while not self._sync(0):
            await asyncio.sleep(SYNC_PAUSE_S)

    async def disconnect(
        self,
        drain_s: float = 5,
        *,
        reason_code: int = 0,
        reason_string: str | None = None,
        session_expiry_interval: int | None = None,
        user_properties: UserProperties | None = None,
    ) -> None:
        """Disconnects gracefully, and returns when that is complete, as :meth:`swiftmqtt.Client.disconnect`
        does."""
        await asyncio.sleep(0)  # tasks that were just made begin, and publish
        await self._disconnect(
            drain_s,
            reason_code,
            reason_string=reason_string,
            session_expiry_interval=session_expiry_interval,
            user_properties=user_properties,
        )

    async def _disconnect(self, drain_s: float, reason_code: int = 0, **named: Any) -> None:
        if self.state == State.DISCONNECTED:
            return
        self._attach()
        self._leave(drain_s, reason_code, **named)
        self._on_called()
        await self._gone()

    # ---- Publish

    async def publish(
        self,
        topic: str,
        payload: object = b"",
        *,
        qos: int = 0,
        retain: bool = False,
        expiry_s: int = 0,
        overflow: str | int = Overflow.REFUSE,
        urgent: bool = False,
        stored: bool = True,
        content_type: str | None = None,
        payload_format_indicator: int | None = None,
        response_topic: str | None = None,
        correlation_data: bytes | None = None,
        user_properties: UserProperties | None = None,
        properties: Properties | None = None,
    ) -> Answer:
        """Publishes a message, and waits until it is delivered as its QoS promises. If there is no room, it
        first waits for room. The arguments are those of :meth:`swiftmqtt.Client.publish`. Without a
        connection it waits for one: use asyncio.wait_for() to set a timeout. Cancelling it withdraws nothing."""
        said = (content_type, payload_format_indicator, response_topic, correlation_data, user_properties, properties)
        is_plain = said == NO_PROPERTIES and urgent is False and stored is True and not (expiry_s or overflow)
        future = self._publishing_plain(topic, payload, qos, retain) if is_plain and not self._room else None
        if future is None:
            struct = self._message(
                topic,
                payload,
                qos=qos,
                retain=retain,
                expiry_s=expiry_s,
                overflow=overflow,
                urgent=urgent,
                stored=stored,
                content_type=content_type,
                payload_format_indicator=payload_format_indicator,
                response_topic=response_topic,
                correlation_data=correlation_data,
                user_properties=user_properties,
                properties=properties,
            )
            future = await self._with_room(lambda: self._publishing(struct))
        return await future

    def publish_soon(self, topic: str, payload: object = b"", **more: Any) -> asyncio.Future[Answer]:
        """Publishes a message without waiting: the next iteration of the loop sends it in one batch with what
        else is ready. Has the parameters of publish(), and `quiet`. Returns a future with the result of the
        message. Raises NoRoomError if there is no room now."""
        if more.keys() <= {"qos", "retain"}:
            future = self._publishing_plain(topic, payload, **more)
            if future:
                return future
        else:
            self._attach()
        struct = self._message(topic, payload, **more)
        return self._publishing(struct, bool(more.get("quiet")))

    async def publish_stream(
        self, topic: str, source: bytes | BinaryIO | Source, size: int | None = None, **more: Any
    ) -> Answer:
        """Publishes a payload larger than the outbox, piece by piece: see :meth:`swiftmqtt.Client.publish_stream`."""
        struct = self._message(topic, b"", **more)
        total = size_of(source) if size is None else size

        def begin() -> asyncio.Future[Answer]:
            future: asyncio.Future[Answer] = self._future()
            self._stream(struct, total, source, into(future))
            return future

        return await (await self._with_room(begin))

    async def publish_reference(self, topic: str, buffer: Any, **more: Any) -> Answer:
        """Publishes a payload that stays where it is: see :meth:`swiftmqtt.Client.publish_reference`. Cancelling it withdraws
        nothing: the client keeps the buffer until the message is complete."""
        struct, lent = self._message(topic, b"", **more), Lent(buffer)

        def begin() -> asyncio.Future[Answer]:
            future: asyncio.Future[Answer] = self._future()
            self._reference(struct, lent, into(future))
            return future

        try:
            future = await self._with_room(begin)
        finally:
            if not lent.is_out:
                lent.release()
        return await future

    def submit(self, topic: str, payload: object = b"", **more: Any) -> None:
        """Publishes from any thread. Has the parameters of publish(). Raises NoRoomError if `submit_messages`
        are waiting. Nothing waits for the result here; stats counts it."""
        self._submit(self._message(topic, payload, **more), None)

    # ---- Subscribe

    async def subscribe(
        self,
        filters: Filters,
        qos: int = 0,
        *,
        no_local: bool = False,
        retain_as_published: bool = False,
        retain_handling: int = 0,
        identifier: int = 0,
        user_properties: UserProperties | None = None,
    ) -> Answer:
        """Subscribes to one Topic Filter, or to several: see :meth:`swiftmqtt.Client.subscribe`. Returns the
        answer, with the granted QoS of each filter in reason_codes. Raises PeerError if one was refused."""
        self._attach()
        future: asyncio.Future[Answer] = self._future()
        more = {"no_local": no_local, "retain_as_published": retain_as_published, "retain_handling": retain_handling}
        self._subscribe(True, filters, qos, identifier, user_properties, into(future), **more)
        return await future

    async def unsubscribe(self, filters: Filters, *, user_properties: UserProperties | None = None) -> Answer:
        """Unsubscribes from one Topic Filter, or from several."""
        self._attach()
        future: asyncio.Future[Answer] = self._future()
        self._subscribe(False, filters, 0, 0, user_properties, into(future))
        return await future

    # ---- Request and response

    async def request(
        self, topic: str, payload: object = b"", *, timeout: float = 10, response_topic: str | None = None, **more: Any
    ) -> Message:
        """Publishes a request (MQTT 5.0) and returns the Message that answers it: see
        :meth:`swiftmqtt.Client.request`."""
        if response_topic is None:
            response_topic = await within(self._own_replies, timeout)
        struct, replies_to = self._message(topic, payload, **more), response_topic

        def begin() -> asyncio.Future[Message]:
            future: asyncio.Future[Message] = self._future()
            self._request(struct, replies_to, timeout, into(future))
            return future

        return await (await self._with_room(begin))

    async def _own_replies(self) -> str:
        """The topic of this client for replies; the first request subscribes to it for all."""
        subscribing = self._replies
        if subscribing is None or subscribing.done() and (subscribing.cancelled() or subscribing.exception()):
            subscribing = self._replies = asyncio.ensure_future(self.subscribe(self._replies_to, 1))
            subscribing.add_done_callback(look_at)
        await asyncio.shield(subscribing)
        return self._replies_to

    # ---- Receive

    async def receive(self) -> Message:
        """Returns the next message. Raises ClosedError if none can arrive because the client was disconnected
        or closed; ArgumentError if connect() was never called; the error of the connection, if the client
        does not reconnect by itself. Cancelling it loses no message."""
        self._attach()
        while not self._waiting_messages:
            if self.closed:
                raise ClosedError()
            if self.state == State.DISCONNECTED and not self._take(max(1, self._most(False))):
                if not self._was_begun:
                    raise ArgumentError(Status.STATE, "connect() was never called")
                raise self._ended or ClosedError("the client is disconnected")
            self._pay()
            taker: asyncio.Future[None] = self._future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker in self._takers:
                    self._takers.remove(taker)
                elif self._waiting_messages:
                    self._wake_taker()
                raise
        message = self._next_message()
        if self._held_back and self._has_few():
            self._go_on()
        return message
