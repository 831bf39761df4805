"""A STOMP client for STOMP 1.0, 1.1 and 1.2, which uses libswiftstomp through ctypes.

:class:`Client` is the synchronous client, :class:`swiftmqtt.stomp.aio.Client` the one for asyncio, and
:mod:`swiftmqtt.stomp.stomppy` has the interface of stomp.py. The contract is include/swiftstomp.h of libswiftstomp, and
the names are the same. Terms are those of https://stomp.github.io/stomp-specification-1.2.html.
"""

from ..failure import Failure
from ..tls import TLS
from ._library import LIBRARY as _LIBRARY
from ._options import Options
from .client import Client, Transaction
from .constants import (
    OFF,
    Ack,
    Completes,
    Jitter,
    JournalFlag,
    JournalNews,
    Overflow,
    Part,
    Rule,
    Stage,
    State,
    Status,
    Version,
)
from .errors import (
    ArgumentError,
    ClosedError,
    Error,
    JournalError,
    NoRoomError,
    PeerError,
    ProxyError,
    TLSError,
    TransportError,
    UndeliveredError,
    UndeliveredWarning,
    WebSocketError,
)
from .events import (
    AddressesWanted,
    Completed,
    Connected,
    CredentialsWanted,
    Disconnected,
    Event,
    JournalEvent,
    Message,
    Room,
    TransactionsLost,
)
from .helpers import library_version, rule_name, stage_name, status_name, status_text

__all__ = [
    "OFF",
    "TLS",
    "Ack",
    "AddressesWanted",
    "ArgumentError",
    "Client",
    "ClosedError",
    "Completed",
    "Completes",
    "Connected",
    "CredentialsWanted",
    "Disconnected",
    "Error",
    "Event",
    "Failure",
    "Jitter",
    "JournalError",
    "JournalEvent",
    "JournalFlag",
    "JournalNews",
    "Message",
    "NoRoomError",
    "Options",
    "Overflow",
    "Part",
    "PeerError",
    "ProxyError",
    "Room",
    "Rule",
    "Stage",
    "State",
    "Status",
    "TLSError",
    "Transaction",
    "TransactionsLost",
    "TransportError",
    "UndeliveredError",
    "UndeliveredWarning",
    "Version",
    "WebSocketError",
    "library_version",
    "rule_name",
    "stage_name",
    "status_name",
    "status_text",
]
del _LIBRARY
