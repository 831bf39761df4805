"""The named numbers of include/swiftmqtt.h."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Status(IntEnum):
    """What a call returns, or an event reports: SMQ_OK and SMQ_ERR_…. The band says what to do."""

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
    CLIENT_ID = -110
    QOS = -111
    TOPIC_NAME = -112
    UTF8 = -113
    TOO_LARGE = -114
    TOPIC_FILTER = -115
    PROPERTY = -116
    TOKEN = -117
    REASON_CODE = -118
    FULL = -201
    NO_DESCRIPTOR = -202
    OFFLINE = -203
    NO_THREAD = -204
    INSPECT = -205
    MALFORMED = -301
    PROTOCOL = -302
    REFUSED = -303
    SERVER_CLOSED = -304
    KEEP_ALIVE = -305
    SESSION_LOST = -306
    RECEIVE_TOO_LARGE = -307
    SERVER_LIMIT = -308
    RECEIVE_MAXIMUM = -309
    EXPIRED = -310
    DROPPED = -311
    REPLACED = -312
    RESOLVE = -401
    NETWORK = -402
    CLOSED = -403
    TIMEOUT = -404
    STREAM = -405
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
    CONNACK = 3
    CONNECTED = 4
    KEEP_ALIVE = 5
    DISCONNECT = 6
    ANSWER = 7
    WRITE = 8
    CREDENTIALS = 9
    PROXY = 10
    TLS = 11
    WEBSOCKET = 12


class TLSCause(IntEnum):
    """Why TLS failed: SMQ_TLS_… of swiftmqtt-tls-engine.h."""

    NONE = 0
    UNKNOWN_CA = 1
    EXPIRED = 2
    NOT_YET_VALID = 3
    CLOCK = 4
    NAME = 5
    REVOKED = 6
    REVOCATION_UNKNOWN = 7
    PURPOSE = 8
    CHAIN = 9
    WEAK = 10
    SIGNATURE = 11
    PIN = 12
    CERTIFICATE_WANTED = 13
    CERTIFICATE_REFUSED = 14
    VERSION = 15
    CIPHER = 16
    PSK = 17
    NOT_TLS = 18
    CLOSED = 19
    KEY = 20
    ALPN = 21
    MEMORY = 22
    PEER = 23
    OTHER = 24
    CA_FILE = 25


class TLSVersion(IntEnum):
    """A version of TLS, with the numbers of ssl.TLSVersion."""

    TLSv1_2 = 0x0303
    TLSv1_3 = 0x0304


class Rule(IntEnum):
    """The rule that the server broke; :func:`rule_name` returns the statement of the specification."""

    NONE = 0
    TRUNCATED = 1
    TRAILING_BYTES = 2
    REMAINING_LENGTH = 3
    PACKET_TYPE = 4
    RESERVED_FLAGS = 5
    QOS = 6
    DUPLICATE_FLAG = 7
    PACKET_IDENTIFIER = 8
    UTF8 = 9
    VARIABLE_BYTE_INTEGER = 10
    TOPIC_NAME = 11
    EMPTY_TOPIC = 12
    CONNACK_FLAGS = 13
    REASON_CODE = 14
    SESSION_PRESENT = 15
    UNKNOWN_PROPERTY = 16
    PROPERTY_NOT_ALLOWED = 17
    PROPERTY_REPEATED = 18
    PROPERTY_VALUE = 19
    AUTHENTICATION_METHOD = 20
    UNEXPECTED_PACKET = 21
    FIRST_PACKET = 22
    UNWANTED_SESSION = 23
    HANDSHAKE = 24
    REASON_CODE_COUNT = 25
    TOPIC_ALIAS = 26
    UNKNOWN_TOPIC_ALIAS = 27
    RECEIVE_MAXIMUM = 28
    PACKET_TOO_LARGE = 29
    UNEXPECTED_AUTHENTICATION = 30


class PropertyId(IntEnum):
    """The identifiers of MQTT 5.0's properties (Table 2-4)."""

    PAYLOAD_FORMAT_INDICATOR = 0x01
    MESSAGE_EXPIRY_INTERVAL = 0x02
    CONTENT_TYPE = 0x03
    RESPONSE_TOPIC = 0x08
    CORRELATION_DATA = 0x09
    SUBSCRIPTION_IDENTIFIER = 0x0B
    SESSION_EXPIRY_INTERVAL = 0x11
    ASSIGNED_CLIENT_IDENTIFIER = 0x12
    SERVER_KEEP_ALIVE = 0x13
    AUTHENTICATION_METHOD = 0x15
    AUTHENTICATION_DATA = 0x16
    REQUEST_PROBLEM_INFORMATION = 0x17
    WILL_DELAY_INTERVAL = 0x18
    REQUEST_RESPONSE_INFORMATION = 0x19
    RESPONSE_INFORMATION = 0x1A
    SERVER_REFERENCE = 0x1C
    REASON_STRING = 0x1F
    RECEIVE_MAXIMUM = 0x21
    TOPIC_ALIAS_MAXIMUM = 0x22
    TOPIC_ALIAS = 0x23
    MAXIMUM_QOS = 0x24
    RETAIN_AVAILABLE = 0x25
    USER_PROPERTY = 0x26
    MAXIMUM_PACKET_SIZE = 0x27
    WILDCARD_SUBSCRIPTION_AVAILABLE = 0x28
    SUBSCRIPTION_IDENTIFIER_AVAILABLE = 0x29
    SHARED_SUBSCRIPTION_AVAILABLE = 0x2A


class Overflow(IntEnum):
    """What happens to a message when there is no room in the outbox."""

    REFUSE = 0
    DROP_OLDEST = 1
    DROP_NEWEST = 2
    LATEST = 3


class Protocol(IntEnum):
    """A version of MQTT."""

    MQTT_3_1 = 3
    MQTT_3_1_1 = 4
    MQTT_5_0 = 5


class OptionFlag(IntFlag):
    """smq_options.flags: each is an option of its own here."""

    KEEP_SESSION = 1
    NEW_SESSION = 2
    FALLBACK = 4
    CLIENT_ID_AS_IS = 8
    HOLD = 16
    PARTS = 32
    NO_RECONNECT = 64
    SHUFFLE = 128
    REDIRECT = 256
    QOS_0_CONNECTED = 512
    ASK_CREDENTIALS = 1024
    ASK_ADDRESSES = 2048
    OWN_TRANSPORT = 4096
    USER_NAME = 8192
    PASSWORD = 16384
    SESSION_EXPIRY = 32768
    WEBSOCKET = 65536


class TLSFlag(IntFlag):
    """smq_tls_options.flags: each is an option of its own here."""

    SYSTEM_CA = 1
    NO_NAME_CHECK = 2
    NO_VERIFY = 4
    NO_TIME = 8
    CRL_CHECK = 16
    CRL_ALL = 32
    OCSP = 64
    OCSP_REQUIRED = 128
    NO_RESUMPTION = 256
    STRICT = 512
    COMMON_NAME = 1024


class Jitter(IntEnum):
    """How the waits between attempts to connect are randomized."""

    FULL = 1
    DECORRELATED = 2
    NONE = 3


class Resubscribe(IntEnum):
    """When to resubscribe."""

    IF_LOST = 1
    ALWAYS = 2
    NEVER = 3


class State(IntEnum):
    """The state of a client."""

    DISCONNECTED = 0
    CONNECTING = 1
    CONNECTED = 2
    DISCONNECTING = 3
    WAITING = 4


class ReasonCode(IntEnum):
    """The Reason Codes that a client sends (section 2.4)."""

    SUCCESS = 0x00
    DISCONNECT_WITH_WILL = 0x04
    CONTINUE_AUTHENTICATION = 0x18
    REAUTHENTICATE = 0x19
    UNSPECIFIED_ERROR = 0x80
    IMPLEMENTATION_SPECIFIC_ERROR = 0x83
    NOT_AUTHORIZED = 0x87
    TOPIC_NAME_INVALID = 0x90
    QUOTA_EXCEEDED = 0x97
    ADMINISTRATIVE_ACTION = 0x98
    PAYLOAD_FORMAT_INVALID = 0x99


class EventType(IntEnum):
    """The events of the library."""

    NONE = 0
    CONNECTED = 1
    DISCONNECTED = 2
    COMPLETED = 3
    ROOM = 4
    MESSAGE = 5
    AUTHENTICATE = 6
    REPLY = 7
    PUBREC = 8
    PUBREL = 9
    SUBSCRIPTION_LOST = 10
    CREDENTIALS = 11
    ADDRESSES = 12
    OPEN = 13
    JOURNAL = 14


class JournalFlag(IntFlag):
    """``journal_flags``, joined with ``|``."""

    STRICT = 1
    INLINE = 2
    TELL = 4
    NUMBERS = 8


class JournalNews(IntEnum):
    """What happened to the journal: the first argument of ``on_journal``."""

    RECOVERED = 101
    FAILED = 102
    HEALED = 103
    STORED = 104


class Completed(IntEnum):
    """What a completion, an :class:`Answer`, is of."""

    PUBLISH = 3
    SUBSCRIBE = 8
    UNSUBSCRIBE = 10


class LogLevel(IntEnum):
    """How much is told to a log hook; each level includes those before it."""

    OFF = 0
    WARNING = 1
    INFO = 2
    DEBUG = 3


class LogItem(IntEnum):
    """The entries of a log hook; the header describes the two numbers of each."""

    ATTEMPT = 1
    LOOK_UP = 2
    ADDRESSES = 3
    ADDRESS = 4
    ADDRESS_FAILED = 5
    OPENED = 6
    CONNECTED = 7
    ENDED = 8
    WAITING = 9
    PING = 10
    PONG = 11
    BLOCKED = 12
    UNBLOCKED = 13
    HINT = 14
    FALLBACK = 15
    REDIRECTED = 16


#: Turns a time or a table off where 0 means the default: ``keep_alive_s=OFF``.
OFF = 0xFFFFFFFF
#: ``session_expiry_s``: the session never expires.
FOREVER = 0xFFFFFFFF
