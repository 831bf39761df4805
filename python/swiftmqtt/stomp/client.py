"""The synchronous client."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ._core import DRAIN_MS, Core, CredentialsHook, ResolveHook
from ._headers import HeadersIn
from ._library import LIBRARY
from ._option_texts import documented
from ._options import checked_flag, seconds
from .constants import Overflow, State, Status
from .errors import ArgumentError, Error, NoRoomError, UndeliveredWarning, check, error
from .events import Connected, Disconnected, Event, Message

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ..tls_context import AnyTLS
    from ._options import Options

__all__ = ["Client", "Transaction"]

T = TypeVar("T")
# Python looks for signals at least as often, in milliseconds: one that came just before a wait does not end it.
STEP_MS = 1000


class Transaction:
    """A transaction of :meth:`Client.transaction`: what is sent and acknowledged with it takes effect at its COMMIT.

    number   of the transaction, 1 to 65,535
    """

    def __init__(self, client: Client, number: int):
        self._client, self.number = client, number

    def send(self, destination: str, body: bytes | str = b"", **more: Any) -> None:
        """Sends a message in the transaction: :meth:`Client.send`."""
        self._client.send(destination, body, transaction=self.number, **more)

    def ack(self, message: Message | int, headers: HeadersIn | None = None) -> None:
        """Acknowledges a message in the transaction."""
        self._client.ack(message, self.number, headers)

    def nack(self, message: Message | int, headers: HeadersIn | None = None) -> None:
        """Refuses a message in the transaction."""
        self._client.nack(message, self.number, headers)


@documented
class Client(Core):
    """A STOMP client without a thread of its own: it runs while one of its calls waits.

        with swiftmqtt.stomp.Client("stomp://guest:guest@127.0.0.1") as client:
            client.subscribe("/queue/greetings", ack="client-individual")
            client.send("/queue/greetings", "hello", receipt=True, wait=True)
            for message in client:
                print(message.destination, message.text())
                message.ack()

    url           stomp://[login[:passcode]@]host[:port][,host[:port]]…, stomps:// with TLS, ws:// and wss:// for a
                  WebSocket, unix:/path; the option host can be used instead
    reconnect     False: after a failed attempt, or when a connection ended, connect() has to be called again. Otherwise
                  the client reconnects, and subscribes again, by itself
    parts         True: a body that is larger than receive_bytes arrives as several messages, each with a part of it.
                  Otherwise the package joins them
    message_maximum   bytes: of a message that arrives in parts, a larger body is dropped, and the message has the status
                  RECEIVE_TOO_LARGE
    tls           True, or a swiftmqtt.TLS with CAs, certificate and key of the program's; stomps:// and wss:// mean True
    credentials   credentials(attempt) returns login and passcode before each attempt, or None: there are none now
    resolve       resolve(host, port) returns the numeric addresses of a host name, in place of libc
    options       the options of sst_options, with the header's names: see swiftmqtt.stomp.Options

    Nothing happens between calls: no heart-beat is sent. A program that does something else for longer than the server
    waits (as a rule twice heart_beat_send_ms) calls run() meanwhile, turns heart-beats off
    (``heart_beat_send_ms=OFF``), or uses :class:`swiftmqtt.stomp.aio.Client`.

    The client belongs to one thread at a time: while one is in a call, each call of another raises ArgumentError. While
    a call waits, the GIL is free, and Ctrl-C interrupts it. After fork() one of the two processes continues to use it.
    Assign a function to on_event to be told of what is no message while messages are taken.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        reconnect: bool = True,
        parts: bool = False,
        message_maximum: int = 1 << 24,
        tls: AnyTLS = None,
        credentials: CredentialsHook | None = None,
        resolve: ResolveHook | None = None,
        **options: Unpack[Options],
    ):
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

    # ---- Connect, disconnect

    if not TYPE_CHECKING:

        async def __aenter__(self):
            raise TypeError("swiftmqtt.stomp.Client is for with, not for async with: that is swiftmqtt.stomp.aio.Client")

        async def __aexit__(self, *_):
            pass

        def __aiter__(self):
            raise TypeError("swiftmqtt.stomp.Client is for for, not for async for: that is swiftmqtt.stomp.aio.Client")

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
        """Disconnects and closes. Waits up to five seconds until everything is sent and every receipt came; after an
        exception it does not wait, unless that is sys.exit()'s or a generator's end. Then it waits for the journal, a second
        at most. Raises UndeliveredError if a message did not leave, got no receipt, or failed and nothing took its event;
        after an exception, which continues, this is an UndeliveredWarning. What the journal has is not lost: the next client
        delivers it."""
        if self.closed:
            return False
        orderly = kind is None or issubclass(kind, (SystemExit, GeneratorExit))
        try:
            self.disconnect(DRAIN_MS if orderly else 0)
            left = self._undelivered()
        finally:
            self.close()
        if left and kind is None:
            raise left
        if left:
            warnings.warn(str(left), UndeliveredWarning, stacklevel=2)
        return False

    def connect(self, timeout: float | None = None, *, retry: bool = False, wait: bool = True) -> Connected | None:
        """Connects, and stays connected.

        timeout   seconds for everything; None: connect_timeout_ms limits each attempt
        retry     whether another attempt follows a failed one while there is time; otherwise each server of the URL is
                  tried once, and the last failure is raised
        wait      False: begins, and returns None at once; connecting continues in later calls that wait

        Returns the server's answer. Raises PeerError or TransportError, or TimeoutError, after which the client is
        disconnected; ArgumentError if it was not disconnected before.
        """
        retry, wait, end = checked_flag("retry", retry), checked_flag("wait", wait), _end(timeout)
        if wait and self._asks:
            raise ArgumentError(
                Status.OPTION,
                "with ask_credentials or ask_addresses, connect(wait=False) begins, and next_event() has what is asked; the "
                "arguments credentials and resolve take functions instead",
            )
        with self._guard:
            ends = self._ends
            self._begin_connect()
            if not wait:
                return None
            try:
                came = self._run_until(
                    lambda: self._connected or (self._ends > ends and self._has_failed() and not retry), end
                )
                if self._connected is None and not came:
                    raise TimeoutError("the client was not connected in time")
                if self._connected is None:
                    raise self._ended or error(Status.CLOSED)
            except BaseException:
                self._give_up()
                raise
            self._drop(Connected, Disconnected)
            return self._connected

    def disconnect(self, drain_ms: int = DRAIN_MS) -> None:
        """Disconnects gracefully ("DISCONNECT"), and returns when that is complete. Without a connection it stops trying
        to connect. Messages that came before are still there for receive().

        drain_ms   0 to 86,400,000 milliseconds: how long to wait until everything is sent, and every receipt came. The
                   receipt of DISCONNECT may take five more seconds

        Frames that are left then wait for the next connection.
        """
        with self._guard:
            self._begin_disconnect(drain_ms)
            # In that state there is no event of an end to come.
            self._run_until(lambda: self.state == State.DISCONNECTED, None)
            self._drop(Disconnected)

    # ---- Send

    def send(
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
        wait: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sends a message ("SEND"): when this returns, it was handed to the kernel, as far as that took it at once, or
        waits in the outbox for the next call that waits, or for a connection. It is copied.

        destination    such as "/queue/a"; what it means is up to the server
        body           bytes, or a str as UTF-8
        content_type   a MIME type, such as "text/plain"
        headers        more headers: a dict, or a list of pairs
        receipt        the server is asked for a receipt, and the message is complete when that came ("Header receipt")
        again          with receipt: if the connection ends before, it is sent again on the next one, and the server may get
                       it twice; otherwise it ends with ``Status.UNKNOWN``. Not in a transaction
        quiet          nothing tells that it succeeded, and the end of a block does not ask whether it did
        no_length      without content-length: ActiveMQ makes a text of it. The body must have no zero
        transaction    of begin() or transaction()
        cookie         1 to 2^63 - 1: comes back in :class:`Completed`. Without one, there is that event only if it fails
        overflow       what happens to it when there is no room: :class:`Overflow`, or its name, such as "drop_oldest". Not
                       in a transaction
        urgent         it is sent before all messages that are not urgent, and has room of its own (urgent_frames). Not in a
                       transaction
        store          the journal keeps it until its receipt came (option journal): if the process ends before, or power
                       fails, the next client with the same file sends it. It has receipt and again, whether they are set
                       or not, so the server may get it twice. Not in a transaction, not urgent; sync() waits for the disk
        wait           waits until it is complete, and raises if it failed; there is no event then
        timeout        seconds for all waiting: for room in the outbox, too. None: as long as it takes; 0: NoRoomError at
                       once if there is no room

        Raises ArgumentError; NoRoomError; JournalError with store, if there is no journal, or its disk fails and it is
        STRICT; PeerError (``Status.DROPPED``, ``Status.UNKNOWN``) and TimeoutError with wait. A message whose time is up is
        still on its way.
        """
        wait, end = checked_flag("wait", wait), _end(timeout)
        with self._guard:
            frame = self._frame(
                destination, body, content_type, headers, receipt, again, quiet, no_length, transaction, cookie, overflow,
                urgent, store,
            )
            if not wait:
                self._with_room(lambda: self._post(frame), end)
                if not frame.transaction:
                    LIBRARY.sst_flush(self._open())
                return

            def post(cookie: int) -> None:
                frame.cookie = cookie
                self._with_room(lambda: self._post(frame), end)

            self._complete(post, end, "the message")

    # ---- The journal

    def sync(self, timeout: float | None = None) -> None:
        """Waits until every message that was sent with `store` is in the journal, and on the disk, or has ended. The
        connection goes on meanwhile.

        timeout   seconds; None: as long as it takes

        Raises JournalError if it could not be written, TimeoutError, and ArgumentError without a journal.
        """
        end = _end(timeout)
        while True:
            left_ms = STEP_MS if end is None else math.ceil((end - time.monotonic()) * 1000)
            if self._sync(max(0, min(left_ms, STEP_MS))):
                return
            if left_ms <= 0:
                raise TimeoutError("not everything was stored in time")

    # ---- Subscribe and acknowledge

    def subscribe(
        self,
        destination: str,
        ack: str | int = "auto",
        headers: HeadersIn | None = None,
        *,
        cookie: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> int:
        """Subscribes ("SUBSCRIBE"), on this connection and on all that follow, until unsubscribe().

        destination   such as "/queue/a"
        ack           "auto", "client" (an acknowledgement is for all messages before it, too) or "client-individual" (from
                      1.1 on), or an :class:`Ack`: when the server takes a message for consumed ("SUBSCRIBE ack Header")
        headers       more headers, such as selector
        cookie        comes back in :class:`Completed`; without one, there is that event only if the server refuses
        wait          with a connection: waits for the server's receipt. Without a connection it never waits
        timeout       seconds for that; None: receipt_timeout_ms limits it

        Returns the number of the subscription, from 0 on. Raises ArgumentError; NoRoomError if there are as many as
        `subscriptions`; with wait, PeerError if the server refused it, and the error of the connection if that ended: many
        servers refuse by closing it. Then there is no such subscription.
        """
        wait, end = checked_flag("wait", wait), _end(timeout)
        with self._guard:
            if cookie is not None or not wait or not self.is_connected:
                number = self._subscribe(destination, ack, headers, 0 if cookie is None else cookie)
                LIBRARY.sst_flush(self._open())
                return number
            found: list[int] = []
            try:
                self._complete(
                    lambda own: found.append(self._subscribe(destination, ack, headers, own)),
                    end,
                    "the subscription",
                    ends_with_connection=True,
                )
            except Error as failed:
                if found and failed.status != Status.REFUSED and self._handle is not None:
                    LIBRARY.sst_unsubscribe(self._handle, found[0], self._awaited(lambda _: None))
                raise
            return found[0]

    def unsubscribe(
        self,
        subscription: int,
        headers: HeadersIn | None = None,
        *,
        cookie: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Ends a subscription ("UNSUBSCRIBE").

        subscription   the number that subscribe() returned
        headers        more headers, which end a durable subscription at the server. With them UNSUBSCRIBE is sent even if
                       SUBSCRIBE was not. RabbitMQ wants "durable" and "auto-delete" as they were in SUBSCRIBE, and the
                       client subscribed; ActiveMQ "activemq.subscriptionName", and nobody subscribed
        cookie         comes back in :class:`Completed`; there is no waiting then
        wait           with a connection: waits for the server's receipt; messages may come until then
        timeout        seconds for that
        """
        wait, end = checked_flag("wait", wait), _end(timeout)
        with self._guard:
            if cookie is not None or not wait or not self.is_connected:
                self._unsubscribe(subscription, headers, 0 if cookie is None else cookie)
                LIBRARY.sst_flush(self._open())
                return
            self._complete(
                lambda own: self._unsubscribe(subscription, headers, own), end, "unsubscribing", ends_with_connection=True
            )

    def ack(
        self, message: Message | int, transaction: int | Transaction = 0, headers: HeadersIn | None = None
    ) -> None:
        """Acknowledges a message ("ACK") of a subscription whose ack is not "auto".

        message       the message, or its token
        transaction   with which it takes effect; 0: at once
        headers       more headers, as the server knows them

        Waits for room, if there is none. Raises ArgumentError if there is no connection, or no message with this token
        waits: a token is of its connection, and after that the server delivers the message again.
        """
        with self._guard:
            self._with_room(lambda: self._settle(True, message, transaction, headers), None)
            self._flush_unless(transaction)

    def nack(
        self, message: Message | int, transaction: int | Transaction = 0, headers: HeadersIn | None = None
    ) -> None:
        """Refuses a message ("NACK"; from 1.1 on): what happens to it is up to the server. RabbitMQ delivers it again at
        once, and with the header "requeue" as "false" moves it to the dead letter exchange of its queue, or drops it.
        ActiveMQ moves it to its dead letter queue. As ack() otherwise."""
        with self._guard:
            self._with_room(lambda: self._settle(False, message, transaction, headers), None)
            self._flush_unless(transaction)

    # ---- Transactions

    def begin(self) -> int:
        """Begins a transaction ("BEGIN"), which lasts until commit() or abort(), or until the connection ends: then there is
        :class:`TransactionsLost`.

        Returns its number, 1 to 65,535. Raises ArgumentError without a connection; NoRoomError if there are as many as
        `transactions`.
        """
        with self._guard:
            return self._begin()

    def commit(
        self,
        transaction: int | Transaction,
        *,
        cookie: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Commits a transaction ("COMMIT"), with a receipt.

        cookie    comes back in :class:`Completed`; there is no waiting then
        wait      waits for the receipt; otherwise there is a :class:`Completed` only if it fails
        timeout   seconds for that; None: receipt_timeout_ms limits it

        Raises ArgumentError if there is no such transaction, also because it was of an earlier connection; PeerError if the
        server refused it, or if the connection ended meanwhile (``Status.UNKNOWN``).
        """
        self._end_with(True, transaction, cookie, wait, timeout)

    def abort(
        self,
        transaction: int | Transaction,
        *,
        cookie: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Aborts a transaction ("ABORT"), as commit() otherwise."""
        self._end_with(False, transaction, cookie, wait, timeout)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction for a block: it commits at the end of it, and waits for the receipt; after an exception it aborts.

            with client.transaction() as transaction:
                transaction.send("/queue/b", message.body)
                transaction.ack(message)

        Raises what commit() does; PeerError (``Status.DROPPED``) if the connection ended in the block, so that the server
        has nothing.
        """
        begun = Transaction(self, self.begin())
        try:
            yield begun
        except BaseException:
            with self._guard:
                self._try_abort(begun.number)
            raise
        try:
            self.commit(begun)
        except ArgumentError as failed:
            if failed.status not in (Status.TRANSACTION, Status.STATE):
                raise
            said = "the connection ended during the transaction: the server has nothing of it"
            raise error(Status.DROPPED, said) from self._ended

    # ---- Receive

    def receive(self, timeout: float | None = None) -> Message:
        """Returns the next message. Other events are told to on_event, and then dropped.

        timeout   seconds; None: as long as it takes

        Raises TimeoutError when the time is up; PeerError if a subscription was refused (unless on_event is set); the error
        of the connection if that ended, and the client does not reconnect; ArgumentError if it was disconnected.
        """
        message = self._received(_end(timeout))
        if message is not None:
            return message
        if self._handle is not None and self.state == State.DISCONNECTED:
            raise self._nothing_comes()
        raise TimeoutError("no message came in time")

    def __iter__(self) -> Iterator[Message]:
        """The messages as they come, across reconnects. Ends when the client was disconnected; raises as receive() does."""
        while not self.closed:
            message = self._received(None)
            if message is None:
                if self._ended:
                    raise self._ended
                return
            yield message

    def next_event(self, timeout: float | None = None) -> Event | None:
        """Returns the next event, messages among them.

        timeout   seconds; None: as long as it takes; 0: only what is there

        Returns None if the time is up, or if the client is disconnected, and nothing is left.
        """
        end = _end(timeout)
        with self._guard:
            self._open()
            self._run_until(lambda: bool(self._events), end, most=1)
            return self._events.popleft() if self._events else None

    def events(self) -> Iterator[Event]:
        """All events as they come, messages among them. Ends when the client is disconnected, and does not reconnect."""
        while not self.closed:
            event = self.next_event()
            if event is None:
                return
            yield event

    # ---- Running

    def run(self, seconds: float) -> None:
        """Runs the client for so long, in place of time.sleep(): sends what waits, and heart-beats. Events are kept for
        later; a message that waits to be taken keeps the client from reading on."""
        end = _end(seconds)
        with self._guard:
            self._open()
            if not self._run_until(lambda: self.state == State.DISCONNECTED, end) or end is None:
                return
        time.sleep(max(0.0, end - time.monotonic()))

    def service(self) -> None:
        """Does what is to be done, and never waits: for a loop that waits for fileno() and next_timeout(). Then
        next_event(0) has what came."""
        with self._guard:
            check(LIBRARY.sst_service(self._open()))

    def next_timeout(self) -> float | None:
        """In how many seconds service() is to be called even if fileno() stays silent; None: never."""
        with self._guard:
            timeout_ms = self._next_timeout_ms()
        return None if timeout_ms < 0 else timeout_ms / 1000

    # ---- Waiting

    def _run_until(self, condition: Callable[[], object], end: float | None, *, most: int = 1 << 30) -> bool:
        """Runs the client until the condition is met, and returns True; False: the time is up, or the client is
        disconnected, so that nothing comes any more."""
        looked = False
        while True:
            handle = self._open()
            self._take(most)
            if condition():
                return True
            if self._handle is None or self.state == State.DISCONNECTED:
                return False
            left_ms = STEP_MS if end is None else math.ceil((end - time.monotonic()) * 1000)
            if left_ms <= 0 and looked:
                return False
            looked = True
            status = LIBRARY.sst_wait(handle, max(0, min(left_ms, STEP_MS)))
            if status == Status.STATE:
                return False
            check(status)

    def _with_room(self, call: Callable[[], T], end: float | None) -> T:
        """Returns the result of call(), once there is room for it."""
        while True:
            self._wants_room = False
            try:
                return call()
            except NoRoomError as full:
                if full.status != Status.FULL:
                    raise
                if self.state == State.DISCONNECTED or end is not None and time.monotonic() >= end:
                    self._take()
                    try:
                        return call()
                    except NoRoomError:
                        self._wants_room = True
                        raise
            before = self._ended_messages
            self._take()
            if self._ended_messages > before:
                continue
            left_ms = STEP_MS if end is None else math.ceil((end - time.monotonic()) * 1000)
            check(LIBRARY.sst_wait(self._open(), max(0, min(left_ms, STEP_MS))))
            self._take()

    def _complete(
        self,
        begin: Callable[[int], object],
        end: float | None,
        what: str,
        *,
        ends_with_connection: bool = False,
    ) -> None:
        """Begins something with a cookie, and waits until that is completed. Raises if it failed."""
        outcome: list[Error | None] = []
        own, ends = self._awaited(outcome.append), self._ends
        try:
            begin(own)
            LIBRARY.sst_flush(self._open())
            self._run_until(lambda: outcome or ends_with_connection and self._ends > ends, end)
            if not outcome and ends_with_connection and self._ends > ends:
                raise self._ended or error(Status.CLOSED)
            if not outcome and self.state == State.DISCONNECTED:
                raise self._nothing_comes()
        finally:
            self._waiters.pop(own, None)
        if not outcome:
            raise TimeoutError(f"{what} was not completed in time")
        if outcome[0]:
            raise outcome[0] from (self._last if self._ends > ends else None)

    def _end_with(
        self, commits: bool, transaction: int | Transaction, cookie: int | None, wait: bool, timeout: float | None
    ) -> None:
        wait, end = checked_flag("wait", wait), _end(timeout)
        with self._guard:

            def finish(cookie: int) -> None:
                self._with_room(lambda: self._end_transaction(commits, transaction, cookie), end)

            if cookie is not None or not wait:
                finish(0 if cookie is None else cookie)
                LIBRARY.sst_flush(self._open())
            else:
                self._complete(finish, end, "COMMIT" if commits else "ABORT")

    def _received(self, end: float | None) -> Message | None:
        with self._guard:
            self._open()
            found: list[Message] = []

            def look() -> bool:
                message = self._next_message()
                if message is not None:
                    found.append(message)
                return bool(found)

            self._run_until(look, end, most=1)
            return found[0] if found else None

    def _flush_unless(self, transaction: int | Transaction) -> None:
        if not transaction:
            LIBRARY.sst_flush(self._open())

    def _give_up(self) -> None:
        """connect() failed: ends the attempts, and keeps why."""
        if self._handle is None:
            return
        ended = self._ended
        self._begin_disconnect(0)
        self._run_until(lambda: self.state == State.DISCONNECTED, None)
        self._drop(Connected, Disconnected)
        self._ended = ended


def _end(timeout: float | None) -> float | None:
    """When the time is up."""
    limit = seconds("timeout", timeout)
    return None if limit is None else time.monotonic() + limit
