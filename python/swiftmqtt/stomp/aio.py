"""The client for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from .._loop import look_at
from ._core import DRAIN_MS, Core, CredentialsHook, Finish, ResolveHook
from ._headers import HeadersIn
from ._library import LIBRARY
from ._option_texts import documented
from ._options import checked_flag, number_to, seconds
from .constants import Overflow, State, Status
from .errors import ArgumentError, Error, NoRoomError, UndeliveredWarning, check, error
from .events import Connected, Disconnected, Event, Message

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ..tls_context import AnyTLS
    from ._options import Options

__all__ = ["Client", "Events", "Messages", "Transaction"]

T = TypeVar("T")


class Messages(AsyncIterator[Message]):
    """The messages as they come, across reconnects: ``async for message in client.messages``. Ends when the client was
    disconnected or closed; raises as receive() does. Several tasks may take from it; each message goes to one."""

    def __init__(self, client: Client):
        self._client = client

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        client = self._client
        message = await client._received(None)
        if message is None:
            if client._ended and not client.closed:
                raise client._ended
            raise StopAsyncIteration
        return message


class Events(AsyncIterator[Event]):
    """All events as they come, messages among them: ``async for event in client.events``. Ends when the client is
    disconnected, and does not reconnect, or is closed."""

    def __init__(self, client: Client):
        self._client = client

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        client = self._client
        event = None if client.closed else await client.next_event()
        if event is None:
            raise StopAsyncIteration
        return event


class Transaction:
    """A transaction of :meth:`Client.transaction`: what is sent and acknowledged with it takes effect at its COMMIT.

    number   of the transaction, 1 to 65,535
    """

    def __init__(self, client: Client, number: int):
        self._client, self.number = client, number

    async def send(self, destination: str, body: bytes | str = b"", **more: Any) -> None:
        """Sends a message in the transaction: :meth:`Client.send`."""
        await self._client.send(destination, body, transaction=self.number, **more)

    def ack(self, message: Message | int, headers: HeadersIn | None = None) -> None:
        """Acknowledges a message in the transaction."""
        self._client.ack(message, self.number, headers)

    def nack(self, message: Message | int, headers: HeadersIn | None = None) -> None:
        """Refuses a message in the transaction."""
        self._client.nack(message, self.number, headers)


@documented
class Client(Core):
    """A STOMP client for one asyncio loop: the one that runs when it is first awaited.

        async with swiftmqtt.stomp.aio.Client("stomp://guest:guest@127.0.0.1") as client:
            await client.subscribe("/queue/greetings", ack="client-individual")
            await client.send("/queue/greetings", "hello", receipt=True)
            async for message in client.messages:
                print(message.destination, message.text())
                message.ack()

    Has the parameters of :class:`swiftmqtt.stomp.Client`, and:

    inbox_maximum   events that may wait to be taken from `messages` or `events`: at this number the client stops reading,
                    and backpressure makes the server wait, unless something is awaited whose answer is behind them

    The loop sends heart-beats, and receives, whatever the tasks wait for. Every call belongs to the loop's thread.
    Cancelling a call leaves the client as it is: a message is sent all the same. The hooks and on_event are plain
    functions.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        inbox_maximum: int = 1000,
        reconnect: bool = True,
        parts: bool = False,
        message_maximum: int = 1 << 24,
        tls: AnyTLS = None,
        credentials: CredentialsHook | None = None,
        resolve: ResolveHook | None = None,
        **options: Unpack[Options],
    ):
        self._inbox_maximum = max(1, number_to("inbox_maximum", inbox_maximum, 0x7FFFFFFF))
        super().__init__(
            url,
            reconnect=reconnect,
            parts=parts,
            message_maximum=message_maximum,
            tls=tls,
            credentials=credentials,
            resolve=resolve,
            **cast("dict[str, Any]", options),
        )
        self._messages, self._event_iterator = Messages(self), Events(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._held_back = False  # it does not read
        self._takers: deque[asyncio.Future[None]] = deque()  # tasks that wait for an event
        self._changes: list[asyncio.Future[None]] = []  # and for a connection, or its end
        self._room: deque[asyncio.Future[None]] = deque()  # and for room

    @property
    def messages(self) -> Messages:
        """The messages that come."""
        return self._messages

    @property
    def events(self) -> Events:
        """All events, messages among them."""
        return self._event_iterator

    # ---- Connect, disconnect

    if not TYPE_CHECKING:

        def __enter__(self):
            raise TypeError("swiftmqtt.stomp.aio.Client is for async with, not for with")

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
        """Disconnects and closes, as that of :class:`swiftmqtt.stomp.Client` does."""
        if self.closed:
            return False
        orderly = kind is None or issubclass(kind, (SystemExit, GeneratorExit))
        try:
            if orderly:
                await asyncio.sleep(0)  # tasks that were just made begin, and send
            await self.disconnect(DRAIN_MS if orderly else 0)
            left = None if self.closed else self._undelivered()
        finally:
            self.close()
        if left and kind is None:
            raise left
        if left:
            warnings.warn(str(left), UndeliveredWarning, stacklevel=2)
        return False

    async def connect(self, timeout: float | None = None, *, retry: bool = False) -> Connected:
        """Connects, and stays connected.

        timeout   seconds for everything; None: connect_timeout_ms limits each attempt
        retry     whether another attempt follows a failed one; otherwise each server of the URL is tried once, and the
                  last failure is raised

        Returns the server's answer. Raises PeerError or TransportError, or TimeoutError, after which the client is
        disconnected; ArgumentError if it was not disconnected before. With ask_credentials or ask_addresses another task
        has to take events meanwhile.
        """
        retry, limit = checked_flag("retry", retry), seconds("timeout", timeout)
        self._attach()
        ends = self._ends
        self._begin_connect()

        async def come() -> Connected:
            while self._connected is None:
                if self._ends > ends and self._has_failed() and not retry:
                    raise self._ended or error(Status.CLOSED)
                await self._change()
            return self._connected

        try:
            connected = await _within(come(), limit)
        except BaseException:
            if not self.closed and self.state != State.DISCONNECTED:
                ended = self._ended
                self._begin_disconnect(0)
                await asyncio.shield(asyncio.ensure_future(self._gone()))
                self._ended = ended
            if not self.closed:
                self._drop(Connected, Disconnected)
            raise
        self._drop(Connected, Disconnected)
        return connected

    async def disconnect(self, drain_ms: int = DRAIN_MS) -> None:
        """Disconnects gracefully ("DISCONNECT"), and returns when that is complete: see
        :meth:`swiftmqtt.stomp.Client.disconnect`.

        drain_ms   0 to 86,400,000 milliseconds: how long to wait until everything is sent, and every receipt came
        """
        self._attach()
        if self.state == State.DISCONNECTED:
            return
        self._begin_disconnect(drain_ms)
        await self._gone()
        if not self.closed:
            self._drop(Disconnected)

    # ---- Send

    async def send(
        self,
        destination: str,
        body: bytes | str = b"",
        *,
        content_type: str | None = None,
        headers: HeadersIn | None = None,
        receipt: bool = False,
        again: bool = False,
        no_length: bool = False,
        transaction: int | Transaction = 0,
        overflow: str | int = Overflow.REFUSE,
        urgent: bool = False,
        store: bool = False,
    ) -> None:
        """Sends a message ("SEND"), and waits until it is complete: until it was handed to the kernel or, with receipt,
        until the receipt came. If there is no room, it first waits for room. The arguments are those of
        :meth:`swiftmqtt.stomp.Client.send`.

        Without a connection it waits for one: use asyncio.wait_for() to set a timeout. Cancelling it withdraws nothing.
        Raises ArgumentError; JournalError with store; PeerError if the message failed: ``Status.DROPPED``,
        ``Status.UNKNOWN``, ``Status.REFUSED``.
        """
        frame = self._frame(
            destination, body, content_type, headers, receipt, again, False, no_length, transaction, None, overflow,
            urgent, store,
        )
        await (await self._with_room(lambda: self._posted(frame)))

    def send_soon(
        self,
        destination: str,
        body: bytes | str = b"",
        *,
        content_type: str | None = None,
        headers: HeadersIn | None = None,
        receipt: bool = False,
        again: bool = False,
        quiet: bool = False,
        no_length: bool = False,
        transaction: int | Transaction = 0,
        cookie: int | None = None,
        overflow: str | int = Overflow.REFUSE,
        urgent: bool = False,
        store: bool = False,
    ) -> None:
        """Sends a message without waiting: the next turn of the loop sends it, in one batch with what else is ready. There
        is a :class:`Completed` if it fails, and with a cookie in any case. The arguments are those of
        :meth:`swiftmqtt.stomp.Client.send`. Raises NoRoomError if there is no room now."""
        self._attach()
        frame = self._frame(
            destination, body, content_type, headers, receipt, again, quiet, no_length, transaction, cookie, overflow,
            urgent, store,
        )
        try:
            self._post(frame)
        except NoRoomError:
            self._wants_room = True
            raise

    # ---- The journal

    async def sync(self, timeout: float | None = None) -> None:
        """Waits until every message that was sent with `store` is in the journal, and on the disk: see
        :meth:`swiftmqtt.stomp.Client.sync`."""
        loop, limit = self._attach(), seconds("timeout", timeout)
        end = None if limit is None else loop.time() + limit
        while not self._sync(0):
            if end is not None and loop.time() >= end:
                raise TimeoutError("not everything was stored in time")
            await asyncio.sleep(SYNC_PAUSE_S)

    # ---- Subscribe and acknowledge

    async def subscribe(
        self, destination: str, ack: str | int = "auto", headers: HeadersIn | None = None, *, wait: bool = True
    ) -> int:
        """Subscribes ("SUBSCRIBE"), on this connection and on all that follow: see
        :meth:`swiftmqtt.stomp.Client.subscribe`.

        wait   with a connection: waits for the server's receipt. Without a connection it never waits

        Returns the number of the subscription. Raises PeerError if the server refused it, and the error of the connection if
        that ended meanwhile. Then there is no such subscription.
        """
        wait = checked_flag("wait", wait)
        self._attach()
        if not wait or not self.is_connected:
            return self._subscribe(destination, ack, headers, 0)
        found: list[int] = []
        try:
            await self._complete(
                lambda own: found.append(self._subscribe(destination, ack, headers, own)), ends_with_connection=True
            )
        except Error as failed:
            if found and failed.status != Status.REFUSED and self._handle is not None:
                LIBRARY.sst_unsubscribe(self._handle, found[0], self._awaited(lambda _: None))
                self._on_called()
            raise
        return found[0]

    async def unsubscribe(self, subscription: int, headers: HeadersIn | None = None, *, wait: bool = True) -> None:
        """Ends a subscription ("UNSUBSCRIBE"), and waits for the server's receipt, if there is a connection. headers: see
        :meth:`swiftmqtt.stomp.Client.unsubscribe`."""
        self._attach()
        if not checked_flag("wait", wait) or not self.is_connected:
            self._unsubscribe(subscription, headers, 0)
            return
        await self._complete(lambda own: self._unsubscribe(subscription, headers, own), ends_with_connection=True)

    def ack(
        self, message: Message | int, transaction: int | Transaction = 0, headers: HeadersIn | None = None
    ) -> None:
        """Acknowledges a message ("ACK"): see :meth:`swiftmqtt.stomp.Client.ack`. The next turn of the loop sends it. Raises
        NoRoomError if there is no room, which is when the server accepts nothing."""
        self._settle(True, message, transaction, headers)

    def nack(
        self, message: Message | int, transaction: int | Transaction = 0, headers: HeadersIn | None = None
    ) -> None:
        """Refuses a message ("NACK"): see :meth:`swiftmqtt.stomp.Client.nack`. As ack() otherwise."""
        self._settle(False, message, transaction, headers)

    # ---- Transactions

    def begin(self) -> int:
        """Begins a transaction ("BEGIN"): see :meth:`swiftmqtt.stomp.Client.begin`. Returns its number."""
        self._attach()
        return self._begin()

    async def commit(self, transaction: int | Transaction) -> None:
        """Commits a transaction ("COMMIT"), and waits for the receipt: see :meth:`swiftmqtt.stomp.Client.commit`."""
        await self._finish(True, transaction)

    async def abort(self, transaction: int | Transaction) -> None:
        """Aborts a transaction ("ABORT"), and waits for the receipt."""
        await self._finish(False, transaction)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction for a block, ``async with client.transaction() as transaction:``, as
        :meth:`swiftmqtt.stomp.Client.transaction` is."""
        begun = Transaction(self, self.begin())
        try:
            yield begun
        except BaseException:
            self._try_abort(begun.number)
            raise
        try:
            await self.commit(begun)
        except ArgumentError as failed:
            if failed.status not in (Status.TRANSACTION, Status.STATE):
                raise
            said = "the connection ended during the transaction: the server has nothing of it"
            raise error(Status.DROPPED, said) from self._last

    # ---- Receive

    async def receive(self, timeout: float | None = None) -> Message:
        """Returns the next message: see :meth:`swiftmqtt.stomp.Client.receive`. Raises ClosedError if the client is closed
        meanwhile."""
        message = await self._received(seconds("timeout", timeout))
        if message is not None:
            return message
        self._open()
        if self.state == State.DISCONNECTED:
            raise self._nothing_comes()
        raise TimeoutError("no message came in time")

    async def next_event(self, timeout: float | None = None) -> Event | None:
        """Returns the next event, messages among them; None: the time is up, or the client is disconnected or closed, and
        nothing is left.

        timeout   seconds; None: as long as it takes
        """
        self._attach()

        def look() -> Event | None:
            return self._events.popleft() if self._events else None

        return await self._taken(look, seconds("timeout", timeout))

    # ---- The end

    def close(self) -> None:
        """Ends the client at once, in any state and without DISCONNECT. What was not sent is lost, unless the journal has it;
        awaited calls fail with ClosedError. A second call does nothing; every other call raises ClosedError then."""
        super().close()

    def _on_closed(self) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.remove_reader(self._fd)
            for handle in (self._timer, self._soon):
                if handle:
                    handle.cancel()
        self._loop = None
        self._wake_changes()
        _wake_all(self._takers)
        _wake_all(self._room)

    # ---- In the loop

    def _attach(self) -> asyncio.AbstractEventLoop:
        """The loop that runs; from the first time on, it is the client's."""
        self._open()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            loop.add_reader(self._fd, self._ready)
            self._on_called()
        elif self._loop is not loop:
            raise ArgumentError(Status.STATE, "the client belongs to another loop: that in which it was first awaited")
        return loop

    def _on_called(self) -> None:
        """Has the loop run the client: what was sent meanwhile goes out together."""
        if self._loop and not self._soon and self._handle is not None:
            self._soon = self._loop.call_soon(self._ready)

    def _ready(self) -> None:
        """Runs the client: there is something to do."""
        if self._soon:
            self._soon.cancel()
            self._soon = None
        if self._handle is None or self._loop is None:
            return
        try:
            check(LIBRARY.sst_service(self._handle))
            eager = self._waiters or self._changes or self._room
            self._take(1 << 30 if eager else self._inbox_maximum - len(self._events))
        finally:
            self._set_timer()

    def _set_timer(self) -> None:
        """Has _ready() called when the library needs it, and stops reading while the inbox is full: then the descriptor
        would be readable all the time."""
        loop = self._loop
        if loop is None or self._handle is None:
            return
        if self._timer:
            self._timer.cancel()
            self._timer = None
        full = len(self._events) >= self._inbox_maximum and not (self._waiters or self._changes or self._room)
        if full and not self._held_back:
            self._held_back = True
            loop.remove_reader(self._fd)
        elif not full and self._held_back:
            self._held_back = False
            loop.add_reader(self._fd, self._ready)
        timeout_ms = self._next_timeout_ms()
        if full:
            # There may be nothing else to do, and still heart-beats.
            self._timer = loop.call_later(HELD_BACK_S, self._ready)
        elif timeout_ms >= 0:
            self._timer = loop.call_later(timeout_ms / 1000, self._ready)

    def _on_room(self) -> None:
        self._wake_room()

    def _on_ended(self) -> None:
        self._wake_room()

    def _on_event_taken(self, event: Event) -> None:
        _wake_one(self._takers)
        if isinstance(event, (Connected, Disconnected)):
            self._wake_changes()
            if isinstance(event, Disconnected) and self.state == State.DISCONNECTED:
                _wake_all(self._takers)

    def _wake_changes(self) -> None:
        changes, self._changes = self._changes, []
        _wake_all(changes)

    # ---- Waiting

    async def _received(self, limit: float | None) -> Message | None:
        if self.closed:
            return None
        self._attach()
        return await self._taken(self._next_message, limit)

    async def _taken(self, look: Callable[[], T | None], limit: float | None) -> T | None:
        """What look() finds among the events that were taken, as soon as it does; None: the time is up, or nothing comes any
        more."""
        loop = self._attach()
        end = None if limit is None else loop.time() + limit
        while self._handle is not None:
            found = look()
            if self._held_back or found is None and not self._events:
                self._on_called()  # there is room for more
            if found is not None:
                if self._events:
                    _wake_one(self._takers)  # for another task
                return found
            if self._handle is None:
                return None
            if self.state == State.DISCONNECTED:
                self._take()
                if not self._events:
                    return None
                continue
            taker: asyncio.Future[None] = loop.create_future()
            self._takers.append(taker)
            try:
                if end is None:
                    await taker
                else:
                    await asyncio.wait({taker}, timeout=max(0.0, end - loop.time()))
                    if not taker.done():
                        return None
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    _wake_one(self._takers)  # it was told for another one
                raise
            finally:
                with contextlib.suppress(ValueError):
                    self._takers.remove(taker)
        return None

    async def _change(self) -> None:
        """Waits until a connection comes up, or ends, or the client is closed."""
        change: asyncio.Future[None] = self._attach().create_future()
        self._changes.append(change)
        self._on_called()
        try:
            await change
        finally:
            with contextlib.suppress(ValueError):
                self._changes.remove(change)
        self._open()

    async def _gone(self) -> None:
        """Waits until the client is disconnected."""
        while not self.closed and self.state != State.DISCONNECTED:
            await self._change()

    def _posted(self, frame: Any) -> asyncio.Future[None]:
        """Sends a frame; the future of its completion."""
        future: asyncio.Future[None] = self._attach().create_future()
        future.add_done_callback(look_at)
        frame.cookie = self._awaited(_into(future))
        try:
            self._post(frame)
        except BaseException:
            self._waiters.pop(frame.cookie, None)
            raise
        return future

    async def _with_room(self, begin: Callable[[], T]) -> T:
        """Returns the result of begin(), once there is room for it; tasks get room in the order in which they came."""
        loop = self._attach()
        if not self._room:
            try:
                return begin()
            except NoRoomError as full:
                if full.status != Status.FULL:
                    raise
        waiter: asyncio.Future[None] = loop.create_future()
        self._room.append(waiter)
        self._on_called()
        try:
            while True:
                await waiter
                self._open()
                try:
                    return begin()
                except NoRoomError as full:
                    if full.status != Status.FULL:
                        raise
                    woken, waiter = waiter, loop.create_future()
                    self._room[self._room.index(woken)] = waiter
        finally:
            self._room.remove(waiter)
            self._wake_room()  # there may be room for the next one, too

    def _wake_room(self) -> None:
        """Wakes the first of those who wait for room; it wakes the next."""
        if self._room and not self._room[0].done():
            self._room[0].set_result(None)

    async def _complete(self, begin: Callable[[int], object], *, ends_with_connection: bool = False) -> None:
        """Begins something with a cookie, and waits until that is completed. Raises if it failed."""
        future: asyncio.Future[None] = self._attach().create_future()
        future.add_done_callback(look_at)
        own, ends = self._awaited(_into(future)), self._ends
        try:
            begin(own)
            while not future.done():
                if ends_with_connection and self._ends > ends:
                    raise self._ended or error(Status.CLOSED)
                if self.state == State.DISCONNECTED:
                    raise self._nothing_comes()
                change = asyncio.ensure_future(self._change())
                change.add_done_callback(look_at)
                try:
                    await asyncio.wait({future, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
            future.result()
        finally:
            self._waiters.pop(own, None)

    async def _finish(self, commits: bool, transaction: int | Transaction) -> None:
        self._attach()
        await self._complete(lambda own: self._end_transaction(commits, transaction, own))


HELD_BACK_S = 0.5
#: The disk tells nobody when it is done: how often that is asked.
SYNC_PAUSE_S = 0.005


def _into(future: asyncio.Future[None]) -> Finish:
    """Tells a future how it ended, unless nobody waits any more."""

    def finish(failed: Error | None) -> None:
        if future.done():
            return
        if failed:
            future.set_exception(failed)
        else:
            future.set_result(None)

    return finish


def _wake_one(waiters: deque[asyncio.Future[None]]) -> None:
    while waiters:
        waiter = waiters.popleft()
        if not waiter.done():
            waiter.set_result(None)
            return


def _wake_all(waiters: deque[asyncio.Future[None]] | list[asyncio.Future[None]]) -> None:
    for waiter in list(waiters):
        if not waiter.done():
            waiter.set_result(None)


async def _within(what: Awaitable[T], limit: float | None) -> T:
    """As asyncio.wait_for(), with TimeoutError on every version of Python."""
    if limit is None:
        return await what
    task = asyncio.ensure_future(what)
    task.add_done_callback(look_at)
    try:
        await asyncio.wait({task}, timeout=limit)
        if not task.done():
            raise TimeoutError(f"not within {limit} s")
        return task.result()
    finally:
        task.cancel()


