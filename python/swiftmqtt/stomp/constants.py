"""The named numbers of include/swiftstomp.h."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Version(IntEnum):
    """The versions of STOMP: SST_STOMP_…."""

    STOMP_1_0 = 10
    STOMP_1_1 = 11
    STOMP_1_2 = 12


class Status(IntEnum):
    """What a call returns, or an event reports: SST_OK and SST_ERR_…. The band says what to do. A number that
    swiftmqtt.Status has, too, means the same there."""

    OK = 0
    NULL = -101
    STRUCT_SIZE = -102
    MEMORY_SIZE = -103
    MEMORY_ALIGNMENT = -104
    CLIENT = -105
    STATE = -106
    OPTION = -107
    URL = -108
    NOT_SUPPORTED = -109
    DESTINATION = -112
    TOO_LARGE = -114
    HEADER = -116
    TOKEN = -117
    SUBSCRIPTION = -119
    TRANSACTION = -120
    BODY = -121
    FULL = -201
    NO_DESCRIPTOR = -202
    NO_THREAD = -204
    INSPECT = -205
    MALFORMED = -301
    REFUSED = -303
    SERVER_CLOSED = -304
    HEART_BEAT = -305
    UNKNOWN = -306
    RECEIVE_TOO_LARGE = -307
    SERVER_LIMIT = -308
    DROPPED = -311
    RESOLVE = -401
    NETWORK = -402
    CLOSED = -403
    TIMEOUT = -404
    CREDENTIALS = -406
    TLS = -407
    PROXY = -408
    WEBSOCKET = -409
    JOURNAL = -501
    JOURNAL_LOCKED = -502
    JOURNAL_CORRUPT = -503
    JOURNAL_OTHER = -504
    JOURNAL_SIZE = -505


class Stage(IntEnum):
    """Where a connection attempt, or a connection, ended."""

    NONE = 0
    RESOLVE = 1
    CONNECT = 2
    ACCEPT = 3
    CONNECTED = 4
    HEART_BEAT = 5
    DISCONNECT = 6
    RECEIPT = 7
    WRITE = 8
    CREDENTIALS = 9
    PROXY = 10
    TLS = 11
    WEBSOCKET = 12


class Rule(IntEnum):
    """Which rule the server broke, when a connection ends with ``Status.MALFORMED``."""

    NONE = 0
    COMMAND = 1
    HEADER = 2
    NULL = 3
    UTF8 = 4
    ESCAPE = 5
    CONTENT_LENGTH = 6
    BODY_END = 7
    MISSING_HEADER = 8
    VERSION = 9
    HEART_BEAT = 10
    ORDER = 11


class OptionFlag(IntFlag):
    """sst_options.flags: most have an argument of the client that sets them."""

    NO_RECONNECT = 1
    SHUFFLE = 2
    ASK_CREDENTIALS = 4
    ASK_ADDRESSES = 8
    OWN_TRANSPORT = 16
    WEBSOCKET = 32


class Jitter(IntEnum):
    """How the waits between attempts to connect are made random."""

    FULL = 1  # from half of reconnect_min_ms to a bound that doubles
    DECORRELATED = 2  # from reconnect_min_ms to three times the last wait
    NONE = 3  # the bound itself: for tests, and for a single client


class State(IntEnum):
    """The state of a client."""

    DISCONNECTED = 0
    CONNECTING = 1
    CONNECTED = 2
    DISCONNECTING = 3
    WAITING = 4


class SendFlag(IntFlag):
    """sst_frame.flags: send() has an argument for each."""

    RECEIPT = 1
    AGAIN = 2
    QUIET = 4
    NO_LENGTH = 8
    URGENT = 16
    STORE = 32


class Overflow(IntEnum):
    """What happens to a message when there is no room in the outbox."""

    REFUSE = 0
    DROP_OLDEST = 1  # the oldest messages that may be dropped make room for it
    DROP_NEWEST = 2  # it is dropped itself


class Ack(IntEnum):
    """When the server takes a message for consumed ("SUBSCRIBE ack Header")."""

    AUTO = 0  # when it has sent it
    CLIENT = 1  # at ack(), which acknowledges the message and all before it of this subscription
    CLIENT_INDIVIDUAL = 2  # at ack(), each for itself; from 1.1 on


class EventType(IntEnum):
    """sst_event.type: there is a class for each."""

    NONE = 0
    CONNECTED = 1
    DISCONNECTED = 2
    COMPLETED = 3
    ROOM = 4
    MESSAGE = 5
    TRANSACTIONS_LOST = 6
    CREDENTIALS = 11
    ADDRESSES = 12
    OPEN = 13
    JOURNAL = 14


class Completes(IntEnum):
    """What a :class:`Completed` completes: SST_COMPLETED_…."""

    SEND = 1
    SUBSCRIBE = 2
    UNSUBSCRIBE = 3
    COMMIT = 4
    ABORT = 5


class JournalFlag(IntFlag):
    """``journal_flags``, joined with ``|``."""

    STRICT = 1  # while the disk fails, store=True is refused; otherwise such a message is sent, and stored when it works again
    INLINE = 2  # no thread: the calls that run the client wait for the disk
    TELL = 4  # JournalNews.STORED is reported


class JournalNews(IntEnum):
    """What a :class:`JournalEvent` reports: SST_JOURNAL_…."""

    RECOVERED = 101
    FAILED = 102
    HEALED = 103
    STORED = 104


class Part(IntFlag):
    """Which part of a message this is. A message that is whole has both."""

    MIDDLE = 0
    FIRST = 1
    LAST = 2


OFF = 0xFFFFFFFF
"""Switches off what an option says it switches off."""
