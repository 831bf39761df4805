"""What a client reports: an immutable object for each event of chapter 8 of include/swiftstomp.h."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Union

from ._headers import HeadersIn
from .constants import Completes, Part, Version
from .errors import Error

__all__ = [
    "AddressesWanted",
    "Completed",
    "Connected",
    "CredentialsWanted",
    "Disconnected",
    "Event",
    "JournalEvent",
    "Message",
    "Room",
    "TransactionsLost",
]


@dataclass(frozen=True)
class Connected:
    """The server has accepted the connection ("CONNECTED").

    version                 the version that is spoken
    headers                 of CONNECTED, such as "session" and "server"; of a name that is there twice, the first counts
    heart_beat_send_ms      milliseconds between two heart-beats that the client sends, as agreed; 0: none
    heart_beat_receive_ms   milliseconds in which one of the server is due, as agreed; 0: none
    attempt                 how many attempts to connect there have been, this one included
    server                  the server, "host:port"
    """

    version: Version
    headers: dict[str, str]
    heart_beat_send_ms: int
    heart_beat_receive_ms: int
    attempt: int
    server: str

    @property
    def session(self) -> str:
        """The header "session"; empty: there is none."""
        return self.headers.get("session", "")


@dataclass(frozen=True)
class Disconnected:
    """An attempt to connect, or a connection, has ended.

    status     one of :class:`Status`; 0: the program asked for it
    stage      one of :class:`Stage`: where it ended
    text       what the server said: the header "message" of its ERROR. It may be anything: quote it in a log
    headers    all headers of that ERROR
    body       its body, as far as it came and has room in receive_bytes
    os_error   errno or, with ``Status.RESOLVE``, an EAI_… value; 0: none
    rule       one of :class:`Rule`: the rule that the server broke
    retry_ms   milliseconds until the client reconnects by itself; -1: it will not
    attempt    how many attempts to connect there have been, this one included
    server     the server, "host:port"
    error      the exception for it, which a call raises that waited meanwhile; None with the status 0
    """

    status: int
    stage: int
    text: str
    headers: dict[str, str]
    body: bytes
    os_error: int
    rule: int
    retry_ms: int
    attempt: int
    server: str
    error: Error | None = field(repr=False, compare=False)


@dataclass(frozen=True)
class Completed:
    """What a call began has ended.

    what           what it was: one of :class:`Completes`
    status         0, or why it failed: one of :class:`Status`
    cookie         of the call
    subscription   the number of the subscription, with ``Completes.SUBSCRIBE`` and ``UNSUBSCRIBE``; otherwise -1
    error          the exception for the status; None: it did not fail
    """

    what: Completes
    status: int
    cookie: int
    subscription: int
    error: Error | None = field(repr=False, compare=False)


@dataclass(frozen=True)
class Room:
    """After ``Status.FULL``: there is room again."""


@dataclass(frozen=True)
class TransactionsLost:
    """The connection has ended, and with it transactions, of which the server has nothing.

    count   how many
    """

    count: int


@dataclass(frozen=True)
class JournalEvent:
    """Something happened to the journal.

    news     what it was: one of :class:`JournalNews`
    number   RECOVERED: how many messages of an earlier process were found; STORED: the position up to which all are stored,
             or have ended: that of :attr:`swiftmqtt.stomp.Client.journal`
    error    why the disk failed (FAILED); otherwise None
    """

    news: int
    number: int
    error: Error | None = field(repr=False, compare=False)


@dataclass(frozen=True)
class CredentialsWanted:
    """With `ask_credentials`: an attempt waits for credentials() or withhold_credentials(), for as long as
    connect_timeout_ms allows.

    attempt   to be given to that call
    server    the server, "host:port"
    """

    attempt: int
    server: str


@dataclass(frozen=True)
class AddressesWanted:
    """With `ask_addresses`: an attempt waits for addresses().

    attempt    to be given to that call
    host       the host name to resolve
    port       the port to connect to
    """

    attempt: int
    host: str
    port: int


@dataclass(frozen=True)
class Message:
    """A message, or a part of one ("MESSAGE").

    destination    where it was sent to
    body           its bytes; without the option `parts` all of them
    headers        all headers, without escapes; of a name that is there twice, the first counts
    content_type   its MIME type; empty: none
    message_id     what the server calls it
    subscription   the number of the subscription; -1: none of this client's
    token          for ack(); 0: nothing to acknowledge, or it is not the last part
    part           :class:`Part`, added up: which part it is. A whole message has both
    body_offset    bytes: where this part of the body begins
    body_total     bytes: the size of the whole body
    status         0, or ``Status.RECEIVE_TOO_LARGE``: the body is larger than the client accepts, and was dropped
    """

    destination: str
    body: bytes
    headers: dict[str, str]
    content_type: str = ""
    message_id: str = ""
    subscription: int = -1
    token: int = 0
    part: Part = Part.FIRST | Part.LAST
    body_offset: int = 0
    body_total: int = 0
    status: int = 0
    _client: Any = field(default=None, repr=False, compare=False)

    def text(self) -> str:
        """The body as text. ValueError if it is not UTF-8."""
        return self.body.decode()

    def json(self) -> Any:
        """The body as JSON. ValueError if it is not JSON."""
        return json.loads(self.body)

    def ack(self, transaction: Any = 0, headers: HeadersIn | None = None) -> None:
        """Acknowledges the message: the ack() of its client. Does nothing if there is nothing to acknowledge."""
        if self.token:
            self._client.ack(self.token, transaction, headers)

    def nack(self, transaction: Any = 0, headers: HeadersIn | None = None) -> None:
        """Refuses the message: the nack() of its client. Does nothing if there is nothing to refuse."""
        if self.token:
            self._client.nack(self.token, transaction, headers)


#: What next_event() returns.
Event = Union[
    Connected,
    Disconnected,
    Completed,
    Message,
    Room,
    TransactionsLost,
    JournalEvent,
    CredentialsWanted,
    AddressesWanted,
]
