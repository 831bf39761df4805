"""An MQTT client for MQTT 3.1, 3.1.1 and 5.0, which uses libswiftmqtt through ctypes.

:class:`Client` is the synchronous client, :class:`swiftmqtt.aio.Client` the one for asyncio, and
:mod:`swiftmqtt.paho` has the interface of paho-mqtt. The contract is include/swiftmqtt.h of libswiftmqtt, and
the names are the same.
"""

from ._answers import Answer, Connected, ServerLimits
from ._library import LIBRARY as _LIBRARY
from ._options import Options
from .client import Client, Token
from .constants import (
    FOREVER,
    OFF,
    Completed,
    Jitter,
    JournalFlag,
    JournalNews,
    LogItem,
    LogLevel,
    Overflow,
    PropertyId,
    Protocol,
    ReasonCode,
    Resubscribe,
    Rule,
    Stage,
    State,
    Status,
    TLSCause,
    TLSVersion,
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
from .failure import Failure
from .helpers import (
    library_version,
    reason_code_name,
    rule_name,
    stage_name,
    status_name,
    status_text,
    topic_filter_check,
    topic_matches,
    topic_name_check,
)
from .message import Message, Subscription, Will
from .payload import Adapter, Adapters
from .properties import Properties
from .tls import TLS, Certificate, TLSInfo, TLSOptions
from .tls_context import TLSContext, create_default_context
from .trace import Packet

__version__ = "1.0.0"

__all__ = [
    "FOREVER",
    "OFF",
    "TLS",
    "Adapter",
    "Adapters",
    "Answer",
    "ArgumentError",
    "Certificate",
    "Client",
    "ClosedError",
    "Completed",
    "Connected",
    "Error",
    "Failure",
    "Jitter",
    "JournalError",
    "JournalFlag",
    "JournalNews",
    "LogItem",
    "LogLevel",
    "Message",
    "NoRoomError",
    "Options",
    "Overflow",
    "Packet",
    "PeerError",
    "Properties",
    "PropertyId",
    "Protocol",
    "ProxyError",
    "ReasonCode",
    "Resubscribe",
    "Rule",
    "ServerLimits",
    "Stage",
    "State",
    "Status",
    "Subscription",
    "TLSCause",
    "TLSContext",
    "TLSError",
    "TLSInfo",
    "TLSOptions",
    "TLSVersion",
    "Token",
    "TransportError",
    "UndeliveredError",
    "UndeliveredWarning",
    "WebSocketError",
    "Will",
    "create_default_context",
    "library_version",
    "reason_code_name",
    "rule_name",
    "stage_name",
    "status_name",
    "status_text",
    "topic_filter_check",
    "topic_matches",
    "topic_name_check",
]
del _LIBRARY
