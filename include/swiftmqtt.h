/*
 * libswiftmqtt: an MQTT client for C daemons. MQTT 3.1, 3.1.1 and 5.0.
 *
 * SPDX-License-Identifier: MIT
 *
 * This header is the contract. It is written to be read from the top: the conventions that hold
 * for every function, then chapters from simple to advanced.
 *
 *     1  Bytes, status codes and names
 *     2  Properties
 *     3  A message
 *     4  Options, memory, life of a client
 *     5  Connect, authenticate, disconnect
 *     6  Publish
 *     7  Subscribe
 *     8  Events
 *     9  Received messages: acknowledging, handlers
 *    10  Request and response
 *    11  Running a client: the simple loop
 *    12  Running a client: inside a loop of your own
 *    13  Running a client: the bare engine
 *    14  Other threads
 *    15  Numbers
 *    16  Helpers
 *
 * CONVENTIONS
 *
 * Memory. The library never allocates. smq_client_size() tells how many bytes a client needs for
 * given options; the caller provides them, from a heap, on the stack or in a static array that is
 * large enough, and gets them back with smq_client_close(). Everything the client keeps is copied into
 * that block: options, strings and messages may be released as soon as the call that took them
 * returns. The block must not be moved, copied or used for another client while the client lives.
 * (Resolving a host name is libc's work: getaddrinfo() runs in a thread of its own, at most one for a
 * client, that ends when libc has its answer, and allocates there. A numeric address needs neither. The thread of
 * smq_runner_start() has its stack from libc, too.)
 *
 * Threads. A client has no lock: call it from one thread at a time, its owner. Only smq_submit() may be
 * called by others meanwhile; chapter 14 also has a thread of the library's own for a client. Different clients are
 * independent. The library has no global state, installs no signal handler and changes no setting
 * of the process. After fork() only one of the two processes may go on using a client; the other
 * leaves it alone, or gives its descriptors back by calling exec.
 *
 * Time. Everything is measured by the monotonic clock, in whole milliseconds. Units are in the
 * names: _ms, _s. Setting the wall clock changes nothing.
 *
 * Errors. Functions return int32_t: 0 is done, a positive value is a count or "yes", a negative
 * value is one of SMQ_ERR_…. The bands say what to do:
 *
 *     -1xx  the call is wrong         fix the program; nothing was changed
 *     -2xx  there is no room now      nothing was changed; try again later
 *     -3xx  the server                an event: the connection is over, or a message was not taken
 *     -4xx  the network               an event: the connection is over
 *
 * Bands -1xx and -2xx are only ever returned by the call at fault. Bands -3xx and -4xx only ever arrive
 * in events: once for each attempt to connect, and in the completion of a message or a request.
 *
 * Pointers. A pointer that an event hands out is valid until the next smq_next_event(), smq_wait(),
 * smq_service(), smq_engine_timed_out(), smq_connect() or smq_client_close() on the same client; in between it may be handed to any
 * other call. A pointer that the library takes is used only during the call. NULL is allowed for a smq_bytes'
 * data if, and only if, its size is 0. Every other NULL is answered with SMQ_ERR_NULL unless a
 * function says otherwise.
 *
 * Structs. A struct that crosses the border starts with its own size, which lets it grow: set it
 * with the SMQ_…_INIT macro or to sizeof. All fields that are zero mean the default. A struct of a
 * newer header is accepted by an older library as long as the fields it does not know are zero;
 * otherwise the answer is SMQ_ERR_STRUCT_SIZE. Reserved fields must be zero. In a struct that the
 * library fills it sets what it does not know to zero. No struct is larger than 4,096 bytes.
 *
 * Versioning. The SONAME is libswiftmqtt.so.1 and every function carries the version node
 * SWIFTMQTT_1. Within version 1 functions and fields are added, never changed or removed.
 *
 * Words are those of the specification: https://docs.oasis-open.org/mqtt/mqtt/v5.0/ (section numbers
 * below are of 5.0 where nothing else is said).
 */
#ifndef SWIFTMQTT_H
#define SWIFTMQTT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SMQ_API __attribute__((visibility("default")))
#else
#define SMQ_API
#endif

#define SMQ_VERSION_MAJOR 1
#define SMQ_VERSION_MINOR 0
#define SMQ_VERSION_PATCH 0

/* ---------------------------------------------------------------------------------------------
 * 1  Bytes, status codes and names
 * ------------------------------------------------------------------------------------------- */

/*
 * A run of bytes. Strings are passed like this too and are not zero-terminated. Strings that the
 * protocol calls UTF-8 Encoded Strings (section 1.5.4: topics, client id, user name) must be
 * well-formed UTF-8 without U+0000, at most 65,535 bytes.
 */
typedef struct smq_bytes {
    const void *data; /* may be NULL if size is 0 */
    size_t size;      /* bytes */
} smq_bytes;

/* The smq_bytes of a zero-terminated string, without its zero. NULL gives an empty one. */
static inline smq_bytes smq_string(const char *string) {
    smq_bytes bytes;
    bytes.data = string;
    bytes.size = string ? strlen(string) : 0;
    return bytes;
}

/* What functions return and events carry. Values never change their meaning. */
enum {
    SMQ_OK = 0,

    /* The call is wrong. Nothing was changed. */
    SMQ_ERR_NULL = -101,             /* a pointer that may not be NULL is */
    SMQ_ERR_STRUCT_SIZE = -102,      /* a struct's size field is none of ours, or a field this library does not
                                        know is set */
    SMQ_ERR_MEMORY_SIZE = -103,      /* the block is smaller than smq_client_size() says */
    SMQ_ERR_MEMORY_ALIGNMENT = -104, /* the block is not aligned to SMQ_MEMORY_ALIGNMENT */
    SMQ_ERR_CLIENT = -105,           /* not a client, or one that was closed */
    SMQ_ERR_STATE = -106,            /* not possible in the state the client is in */
    SMQ_ERR_OPTION = -107,           /* an option is out of its range, or two contradict each other */
    SMQ_ERR_URL = -108,              /* the URL is malformed: smq_options_check() tells where */
    SMQ_ERR_NOT_SUPPORTED = -109,    /* a scheme or protocol version this library does not speak */
    SMQ_ERR_CLIENT_ID = -110,        /* this client id cannot be used with these options */
    SMQ_ERR_QOS = -111,              /* QoS is not 0, 1 or 2 */
    SMQ_ERR_TOPIC_NAME = -112,       /* a Topic Name is empty, too long, or has a wildcard (section 4.7) */
    SMQ_ERR_UTF8 = -113,             /* a string is not well-formed UTF-8, or has U+0000 (section 1.5.4) */
    SMQ_ERR_TOO_LARGE = -114,        /* the packet can never be sent: larger than the room for it, or than MQTT or
                                        the server allows */
    SMQ_ERR_TOPIC_FILTER = -115,     /* a Topic Filter is empty, too long, or has a misplaced wildcard (section 4.7) */
    SMQ_ERR_PROPERTY = -116,         /* a property is malformed, out of range, repeated, not allowed in this packet, or
                                        one that the library sets itself (section 2.2.2.2) */
    SMQ_ERR_TOKEN = -117,            /* no message with this token waits for smq_ack() */
    SMQ_ERR_REASON_CODE = -118,      /* this packet may not carry this Reason Code (section 2.4) */

    /* There is no room now. Nothing was changed. */
    SMQ_ERR_FULL = -201,          /* the outbox is full: take events, let it drain, try again */
    SMQ_ERR_NO_DESCRIPTOR = -202, /* the system or the process has no descriptor left */
    SMQ_ERR_OFFLINE = -203,       /* SMQ_OPTION_QOS_0_CONNECTED, and there is no connection */
    SMQ_ERR_NO_THREAD = -204,     /* the system gives no thread, or not this one: see smq_runner.os_error */

    /* The server. */
    SMQ_ERR_MALFORMED = -301,         /* it sent a packet that cannot be parsed (section 4.13) */
    SMQ_ERR_PROTOCOL = -302,          /* it sent a packet that is not allowed here (section 4.13) */
    SMQ_ERR_REFUSED = -303,           /* it refused the connection, or a message: see the Reason Code */
    SMQ_ERR_SERVER_CLOSED = -304,     /* it sent DISCONNECT: see the Reason Code */
    SMQ_ERR_KEEP_ALIVE = -305,        /* it did not answer PINGREQ in time */
    SMQ_ERR_SESSION_LOST = -306,      /* it forgot the session; whether it has this QoS 2 message is unknown */
    SMQ_ERR_RECEIVE_TOO_LARGE = -307, /* it sent a packet larger than it may, or a message of which there is no room
                                         for what is needed: see SMQ_EVENT_MESSAGE */
    SMQ_ERR_SERVER_LIMIT = -308,      /* a queued message or request is above a limit of the server that answered */
    SMQ_ERR_RECEIVE_MAXIMUM = -309,   /* it sent more QoS 1 and 2 messages than there is room for: receive_maximum,
                                         unreleased_maximum */
    SMQ_ERR_EXPIRED = -310,  /* a message's expiry came before it could be sent, or, with QoS 1, before it could be
                                         sent again after the server had lost the session */
    SMQ_ERR_DROPPED = -311,  /* a message made room for a later one, as its overflow says; or
                                         SMQ_OPTION_QOS_0_CONNECTED, and the connection ended before it could be sent */
    SMQ_ERR_REPLACED = -312, /* a later message with the same topic is sent instead of it: SMQ_OVERFLOW_LATEST */

    /* The network. */
    SMQ_ERR_RESOLVE = -401,    /* the host name has no address: os_error is getaddrinfo's EAI_… value */
    SMQ_ERR_NETWORK = -402,    /* a system call failed: os_error is its errno */
    SMQ_ERR_CLOSED = -403,     /* the peer closed the connection without a word */
    SMQ_ERR_TIMEOUT = -404,    /* the stage's time, or the request's, was up */
    SMQ_ERR_STREAM = -405,     /* the pull function of smq_publish_stream() gave up in the middle of a packet */
    SMQ_ERR_CREDENTIALS = -406 /* smq_withhold_credentials() was called */
};

/* Where a connection attempt, or a connection, ended. */
enum {
    SMQ_STAGE_NONE = 0,       /* nowhere: it ended because the caller asked for it */
    SMQ_STAGE_RESOLVE = 1,    /* looking up the host name */
    SMQ_STAGE_CONNECT = 2,    /* opening the network connection */
    SMQ_STAGE_CONNACK = 3,    /* between sending CONNECT and the server's answer */
    SMQ_STAGE_CONNECTED = 4,  /* in the middle of an established connection */
    SMQ_STAGE_KEEP_ALIVE = 5, /* waiting for PINGRESP */
    SMQ_STAGE_DISCONNECT = 6, /* sending what was left before the DISCONNECT */
    SMQ_STAGE_ANSWER = 7,     /* waiting for the answer to a PUBLISH, PUBREL, SUBSCRIBE or UNSUBSCRIBE */
    SMQ_STAGE_WRITE = 8,      /* waiting for the peer to take what is sent */
    SMQ_STAGE_CREDENTIALS = 9 /* waiting for smq_credentials() */
};

/*
 * Which rule the server broke, when a connection ends with SMQ_ERR_MALFORMED, SMQ_ERR_PROTOCOL,
 * SMQ_ERR_RECEIVE_TOO_LARGE or SMQ_ERR_RECEIVE_MAXIMUM. smq_rule_name() has the statement of the specification.
 */
enum {
    SMQ_RULE_NONE = 0,
    /* A packet that cannot be parsed. */
    SMQ_RULE_TRUNCATED = 1,
    SMQ_RULE_TRAILING_BYTES = 2,
    SMQ_RULE_REMAINING_LENGTH = 3,
    SMQ_RULE_PACKET_TYPE = 4,
    SMQ_RULE_RESERVED_FLAGS = 5,
    SMQ_RULE_QOS = 6,
    SMQ_RULE_DUPLICATE_FLAG = 7,
    SMQ_RULE_PACKET_IDENTIFIER = 8,
    SMQ_RULE_UTF8 = 9,
    SMQ_RULE_VARIABLE_BYTE_INTEGER = 10,
    SMQ_RULE_TOPIC_NAME = 11,
    SMQ_RULE_EMPTY_TOPIC = 12,
    SMQ_RULE_CONNACK_FLAGS = 13,
    SMQ_RULE_REASON_CODE = 14,
    SMQ_RULE_SESSION_PRESENT = 15,
    SMQ_RULE_UNKNOWN_PROPERTY = 16,
    SMQ_RULE_PROPERTY_NOT_ALLOWED = 17,
    SMQ_RULE_PROPERTY_REPEATED = 18,
    SMQ_RULE_PROPERTY_VALUE = 19,
    SMQ_RULE_AUTHENTICATION_METHOD = 20,
    /* One that is not allowed here. */
    SMQ_RULE_UNEXPECTED_PACKET = 21,        /* only clients send it, or not now */
    SMQ_RULE_FIRST_PACKET = 22,             /* something else than CONNACK, or AUTH, came first */
    SMQ_RULE_UNWANTED_SESSION = 23,         /* Session Present after a Clean Start */
    SMQ_RULE_HANDSHAKE = 24,                /* an acknowledgement that does not fit its message's QoS or state */
    SMQ_RULE_REASON_CODE_COUNT = 25,        /* SUBACK or UNSUBACK with another number of Reason Codes than filters */
    SMQ_RULE_TOPIC_ALIAS = 26,              /* a Topic Alias above the maximum */
    SMQ_RULE_UNKNOWN_TOPIC_ALIAS = 27,      /* one that stands for no topic yet */
    SMQ_RULE_RECEIVE_MAXIMUM = 28,          /* more unacknowledged messages than allowed */
    SMQ_RULE_PACKET_TOO_LARGE = 29,         /* larger than the Maximum Packet Size, or than the receive buffer */
    SMQ_RULE_UNEXPECTED_AUTHENTICATION = 30 /* AUTH that was not asked for, or with another method than CONNECT's */
};

/*
 * The library's version, (major << 16) | (minor << 8) | patch, to compare with the SMQ_VERSION_…
 * macros of the header a program was compiled with. Any thread, any time.
 *
 * Returns the version; no errors.
 */
SMQ_API uint32_t smq_version(void);

/*
 * How the structs of this header are laid out in the library, for bindings that do not compile it:
 * they compare it with their own declarations before anything is called. Any thread, any time.
 *
 * Returns numbers that live as long as the library: for each struct, in the order in which they stand
 * here, its size, the number of its fields without the reserved ones, and for each of these its offset
 * and its size, in bytes. A 0 in place of a size is the end. Later versions 1.x may have fields where
 * reserved ones are now, and at the end of a struct that says its own size, and more structs at the
 * end: compare by offset. Never NULL, no errors.
 */
SMQ_API const uint16_t *smq_abi_layout(void);

/*
 * A status code's name, such as "SMQ_ERR_FULL". Any thread, any time.
 *
 * status   any value
 *
 * Returns a zero-terminated text that lives as long as the library; "unknown status" for a value
 * that is none of ours. Never NULL, no errors.
 */
SMQ_API const char *smq_status_name(int32_t status);

/*
 * The name of what a server answered, as the specification spells it, such as "Not authorized". Any
 * thread, any time.
 *
 * protocol      SMQ_PROTOCOL_5_0: a Reason Code (section 2.4); anything else: a Connect Return code of
 *               3.1.1 (its section 3.2.2.3), or the 0x80 Failure of SUBACK
 * reason_code   0 to 255, or the -1 of an event without one: "none"
 *
 * Returns a zero-terminated text that lives as long as the library; "unknown Reason Code" for a
 * value the specification does not define. Never NULL, no errors.
 */
SMQ_API const char *smq_reason_code_name(uint32_t protocol, int32_t reason_code);

/*
 * A stage's name, such as "connack". Any thread, any time.
 *
 * stage   one of SMQ_STAGE_…
 *
 * Returns a zero-terminated text that lives as long as the library; "unknown stage" for other
 * values. Never NULL, no errors.
 */
SMQ_API const char *smq_stage_name(int32_t stage);

/*
 * What a rule says and where it stands, such as "well-formed UTF-8 without U+0000 [MQTT-1.5.4-1]". Any
 * thread, any time.
 *
 * rule   one of SMQ_RULE_…
 *
 * Returns a zero-terminated text that lives as long as the library; "unknown rule" for other values.
 * Never NULL, no errors.
 */
SMQ_API const char *smq_rule_name(int32_t rule);

/* ---------------------------------------------------------------------------------------------
 * 2  Properties
 *
 * MQTT 5.0 lets nearly every packet carry properties (section 2.2.2). Here a list of properties is a
 * smq_bytes: the properties as they are on the wire, one behind the other, without the length in front. The
 * list of a received packet can be walked, kept, or handed on as it is; one's own is built in a buffer:
 *
 *     uint8_t buffer[100];
 *     smq_properties list = { buffer, sizeof(buffer), 0 };
 *     smq_property_put_bytes(&list, SMQ_PROPERTY_CONTENT_TYPE, &json);
 *     smq_property_put_pair(&list, &name, &value);
 *     message.properties = smq_property_list(&list);
 * ------------------------------------------------------------------------------------------- */

/* The properties, in the order of Table 2-4. "number", "bytes" or "pair" says how the value is put and got. */
enum {
    SMQ_PROPERTY_PAYLOAD_FORMAT_INDICATOR = 0x01,          /* number: 1: the payload is UTF-8 */
    SMQ_PROPERTY_MESSAGE_EXPIRY_INTERVAL = 0x02,           /* number: seconds */
    SMQ_PROPERTY_CONTENT_TYPE = 0x03,                      /* bytes: UTF-8 */
    SMQ_PROPERTY_RESPONSE_TOPIC = 0x08,                    /* bytes: a Topic Name */
    SMQ_PROPERTY_CORRELATION_DATA = 0x09,                  /* bytes */
    SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER = 0x0B,           /* number: 1 to 268,435,455 */
    SMQ_PROPERTY_SESSION_EXPIRY_INTERVAL = 0x11,           /* number: seconds */
    SMQ_PROPERTY_ASSIGNED_CLIENT_IDENTIFIER = 0x12,        /* bytes: UTF-8 */
    SMQ_PROPERTY_SERVER_KEEP_ALIVE = 0x13,                 /* number: seconds */
    SMQ_PROPERTY_AUTHENTICATION_METHOD = 0x15,             /* bytes: UTF-8 */
    SMQ_PROPERTY_AUTHENTICATION_DATA = 0x16,               /* bytes */
    SMQ_PROPERTY_REQUEST_PROBLEM_INFORMATION = 0x17,       /* number: 0 or 1 */
    SMQ_PROPERTY_WILL_DELAY_INTERVAL = 0x18,               /* number: seconds */
    SMQ_PROPERTY_REQUEST_RESPONSE_INFORMATION = 0x19,      /* number: 0 or 1 */
    SMQ_PROPERTY_RESPONSE_INFORMATION = 0x1A,              /* bytes: UTF-8 */
    SMQ_PROPERTY_SERVER_REFERENCE = 0x1C,                  /* bytes: UTF-8 */
    SMQ_PROPERTY_REASON_STRING = 0x1F,                     /* bytes: UTF-8 */
    SMQ_PROPERTY_RECEIVE_MAXIMUM = 0x21,                   /* number */
    SMQ_PROPERTY_TOPIC_ALIAS_MAXIMUM = 0x22,               /* number */
    SMQ_PROPERTY_TOPIC_ALIAS = 0x23,                       /* number */
    SMQ_PROPERTY_MAXIMUM_QOS = 0x24,                       /* number: 0 or 1 */
    SMQ_PROPERTY_RETAIN_AVAILABLE = 0x25,                  /* number: 0 or 1 */
    SMQ_PROPERTY_USER_PROPERTY = 0x26,                     /* pair; the only one that may be repeated at will */
    SMQ_PROPERTY_MAXIMUM_PACKET_SIZE = 0x27,               /* number: bytes */
    SMQ_PROPERTY_WILDCARD_SUBSCRIPTION_AVAILABLE = 0x28,   /* number: 0 or 1 */
    SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER_AVAILABLE = 0x29, /* number: 0 or 1 */
    SMQ_PROPERTY_SHARED_SUBSCRIPTION_AVAILABLE = 0x2A      /* number: 0 or 1 */
};

/* A list of properties being built in the caller's buffer. */
typedef struct smq_properties {
    void *data;
    size_t capacity; /* bytes at data */
    size_t size;     /* bytes used so far; begins with 0 */
} smq_properties;

/* The list as it stands. */
static inline smq_bytes smq_property_list(const smq_properties *list) {
    smq_bytes bytes;
    bytes.data = list->data;
    bytes.size = list->size;
    return bytes;
}

/*
 * Appends a property whose value is a number. Which packet it may stand in is checked by the call that takes the
 * list. Any thread; a list is not locked.
 *
 * list         the list; unchanged if there is an error
 * identifier   SMQ_PROPERTY_…
 * value        in the property's range
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL       list or its data is NULL
 *   SMQ_ERR_PROPERTY   the identifier is unknown, its value is no number, or value is out of its range
 *   SMQ_ERR_FULL       the buffer has no room
 */
SMQ_API int32_t smq_property_put_number(smq_properties *list, uint32_t identifier, uint32_t value);

/*
 * Appends a property whose value is a text, or any bytes. Any thread; a list is not locked.
 *
 * list         the list; unchanged if there is an error
 * identifier   SMQ_PROPERTY_…
 * value        at most 65,535 bytes
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL       list, its data or value is NULL, or value has a size and no data
 *   SMQ_ERR_PROPERTY   the identifier is unknown, its value is of another kind, or value is too long
 *   SMQ_ERR_UTF8       the property is a text, and value is not well-formed UTF-8
 *   SMQ_ERR_FULL       the buffer has no room
 */
SMQ_API int32_t smq_property_put_bytes(smq_properties *list, uint32_t identifier, const smq_bytes *value);

/*
 * Appends a User Property. Any thread; a list is not locked.
 *
 * list    the list; unchanged if there is an error
 * name    UTF-8, at most 65,535 bytes; need not be unique
 * value   UTF-8, at most 65,535 bytes
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL       list, its data, name or value is NULL, or one has a size and no data
 *   SMQ_ERR_PROPERTY   name or value is too long
 *   SMQ_ERR_UTF8       name or value is not well-formed UTF-8
 *   SMQ_ERR_FULL       the buffer has no room
 */
SMQ_API int32_t smq_property_put_pair(smq_properties *list, const smq_bytes *name, const smq_bytes *value);

/* One property of a list. */
typedef struct smq_property {
    uint32_t size;       /* in: sizeof(smq_property) */
    uint32_t identifier; /* SMQ_PROPERTY_… */
    uint32_t number;     /* its value if that is a number, else 0 */
    uint32_t reserved;   /* 0 */
    smq_bytes name;      /* of a User Property; else empty */
    smq_bytes value;     /* text or bytes; the value of a User Property */
} smq_property;

/* A smq_property with its size set. */
#define SMQ_PROPERTY_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(smq_property), 0, 0, 0, { NULL, 0 }, { NULL, 0 }                                                        \
    }

/*
 * Walks a list of properties. Any thread.
 *
 * list       the list
 * position   begins with 0; moved on to the next property
 * property   where to put it; property->size must be set. Its pointers are into the list
 *
 * Returns 1 if there was a property; 0 at the end; or SMQ_ERR_NULL, SMQ_ERR_STRUCT_SIZE, or SMQ_ERR_PROPERTY if
 * what is there is no property, which can't happen with the list of an event.
 */
SMQ_API int32_t smq_property_next(const smq_bytes *list, size_t *position, smq_property *property);

/* ---------------------------------------------------------------------------------------------
 * 3  A message
 * ------------------------------------------------------------------------------------------- */

/*
 * smq_message.overflow: what happens to a message for which there is no room in the outbox, because the link is slow or
 * has been gone for long. A message that is published with anything but SMQ_OVERFLOW_REFUSE may be dropped for a later one
 * as long as its first byte was not sent, unless it is a smq_request() or a smq_publish_stream(). Each that is not
 * quiet ends in an SMQ_EVENT_COMPLETED of its own, with SMQ_ERR_DROPPED or SMQ_ERR_REPLACED, which keeps one of
 * outbox_messages until it is taken. So does every value that SMQ_OVERFLOW_LATEST replaces: if no place is free, the
 * newer value gets SMQ_ERR_FULL, and the older one stays. Plan for two places for each topic, and take the events
 * before the next value comes; or set quiet: then a topic needs one, however long the link is away.
 */
enum {
    SMQ_OVERFLOW_REFUSE = 0,      /* SMQ_ERR_FULL, as ever */
    SMQ_OVERFLOW_DROP_OLDEST = 1, /* the oldest of those that may be dropped make room for it; SMQ_ERR_FULL, and nothing
                                     is dropped, if there would be no room without all of these either */
    SMQ_OVERFLOW_DROP_NEWEST = 2, /* it is dropped itself: the call returns SMQ_DROPPED */
    SMQ_OVERFLOW_LATEST = 3 /* only the latest value of its topic is of use: whether there is room or not, one that
                                     waits with the same topic and SMQ_OVERFLOW_LATEST ends with SMQ_ERR_REPLACED, and if
                                     the new one is no larger it takes its turn; otherwise as SMQ_OVERFLOW_DROP_OLDEST.
                                     Goes without Topic Alias */
};

/* What a call that publishes returns instead of SMQ_OK for a message that SMQ_OVERFLOW_DROP_NEWEST dropped: no event follows. */
enum {
    SMQ_DROPPED = 1
};

/*
 * An Application Message (section 3.3), to be published or to be the Will.
 */
typedef struct smq_message {
    uint32_t size;     /* sizeof(smq_message) */
    uint8_t qos;       /* 0 at most once, 1 at least once, 2 exactly once (section 4.3) */
    uint8_t retain;    /* 1: the server keeps it for later subscribers (section 3.3.1.3); else 0 */
    uint8_t quiet;     /* 1: no SMQ_EVENT_COMPLETED if all goes well, or as overflow says, only if not; else 0. Ignored
                          in a Will */
    uint8_t overflow;  /* SMQ_OVERFLOW_…: what happens when there is no room. Ignored in a Will */
    smq_bytes topic;   /* Topic Name: 1 to 65,535 bytes of UTF-8, no wildcard (section 4.7) */
    smq_bytes payload; /* any bytes; may be empty */
    uint64_t cookie;   /* the caller's own value, handed back in the completion. Ignored in a Will */
    /*
     * 5.0 only, else empty: properties of a PUBLISH or of the Will (sections 3.3.2.3 and 3.1.3.2), but Topic Alias,
     * which the library sets. A Message Expiry Interval is counted down while the message is queued.
     */
    smq_bytes properties;
    /*
     * Seconds the message is of use (section 3.3.2.3.3); 0: for ever. What is not sent by then ends with
     * SMQ_ERR_EXPIRED; what is sent carries, in 5.0, what is left. In 3.1 and 3.1.1 the server does not get to know,
     * and a Will cannot have it. Not together with a Message Expiry Interval in properties.
     */
    uint32_t expiry_s;
    uint8_t urgent;     /* 1: it goes ahead of all that is not, and has room of its own: smq_options.urgent_messages.
                             Only for smq_publish(), smq_respond() and smq_submit(); ignored in a Will */
    uint8_t reserved;   /* 0 */
    uint16_t reserved2; /* 0 */
} smq_message;

/* A smq_message with its size set and everything else zero. */
#define SMQ_MESSAGE_INIT                                                                                               \
    { sizeof(smq_message), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, { NULL, 0 }, 0, 0, 0, 0 }

/* ---------------------------------------------------------------------------------------------
 * 4  Options, memory, life of a client
 * ------------------------------------------------------------------------------------------- */

typedef struct smq_client smq_client; /* opaque; lives in the caller's memory */

#define SMQ_MEMORY_ALIGNMENT 8 /* bytes; malloc gives as much on every target */

/* protocol */
enum {
    SMQ_PROTOCOL_3_1 = 3,   /* "MQIsdp", for servers that know nothing newer; needs a client id of 1 to 23 bytes */
    SMQ_PROTOCOL_3_1_1 = 4, /* the default */
    SMQ_PROTOCOL_5_0 = 5
};

/* smq_options.flags, added up */
enum {
    /*
     * Keep the Session State across connections (Clean Start 0; Clean Session 0 in 3.1.1): what is
     * in flight when a connection ends is taken up again on the next, and QoS 2 stays exactly
     * once. Needs a client id. Without it every connection begins a new session.
     */
    SMQ_OPTION_KEEP_SESSION = 1,
    /*
     * 5.0, together with SMQ_OPTION_KEEP_SESSION: the first connection of this client begins a new session (Clean
     * Start 1), whatever an earlier process left; later ones take it up.
     */
    SMQ_OPTION_NEW_SESSION = 2,
    /*
     * If the server does not speak the protocol version, try the next older one within the same attempt: 5.0, then
     * 3.1.1, then 3.1 (if the client id allows it). A server that answers the first CONNECT by closing the
     * connection counts as one that does not. Once an older version was accepted the client stays with it; with
     * an Authentication Method there is no falling back. Calls that need 5.0 after that are refused. What was queued
     * for 5.0 before goes out without its properties, those of smq_respond() too, and a SUBSCRIBE without Retain As
     * Published and Retain Handling; a smq_request(), and a SUBSCRIBE with no_local or an identifier, would do harm
     * without, and end with SMQ_ERR_SERVER_LIMIT. An older version cannot begin a new session and keep it:
     * SMQ_OPTION_NEW_SESSION counts for 5.0 alone.
     * SMQ_EVENT_CONNECTED says which version is spoken.
     */
    SMQ_OPTION_FALLBACK = 4,
    /*
     * Without it each '%' in client_id stands for a random byte, drawn by smq_client_init() and written as two upper-case
     * hex digits: "gateway-%%%%". smq_client_id() tells what became of it.
     */
    SMQ_OPTION_CLIENT_ID_AS_IS = 8,
    /* Every QoS 1 and 2 message waits for smq_ack(), as if smq_hold() had been called. */
    SMQ_OPTION_HOLD = 16,
    /*
     * A message larger than the receive buffer arrives in parts, each an SMQ_EVENT_MESSAGE, unless topic and properties
     * take more than three quarters of it. Without it such a message is read to its end, acknowledged, and reported
     * with SMQ_ERR_RECEIVE_TOO_LARGE and without payload; but in 5.0 the server is told not to send it, leaves it out, and
     * nobody hears of it, unless maximum_packet_bytes is set.
     */
    SMQ_OPTION_PARTS = 32,
    /*
     * After a failed attempt, or a connection that ended, the client does not try again by itself: the program calls
     * smq_connect() when it likes.
     */
    SMQ_OPTION_NO_RECONNECT = 64,
    /* Of several servers the order is drawn anew for each round, so that a fleet spreads over them. */
    SMQ_OPTION_SHUFFLE = 128,
    /*
     * 5.0: a server that points to another one (0x9C Use another server, 0x9D Server moved; section 4.11) is followed at
     * once, if its Server Reference is a name or an address, with or without a port. If that one fails, the servers of
     * the options follow as ever; one that it was moved to for good comes first as long as connections to it last. No
     * more than four times in a row. Without this, and after that, server_reference of the event is all there is.
     * Credentials go to the server that was pointed to: only for servers that are trusted with that.
     */
    SMQ_OPTION_REDIRECT = 256,
    /*
     * Messages with QoS 0 are for a connection only: without one publishing them is SMQ_ERR_OFFLINE, and those that were
     * not sent when it ends do so with SMQ_ERR_DROPPED. Without this they are queued like the others.
     */
    SMQ_OPTION_QOS_0_CONNECTED = 512,
    /*
     * Each attempt begins with SMQ_EVENT_CREDENTIALS, and goes on when smq_credentials() has been called; so a token that
     * has expired, or that the server refused, is replaced by the next attempt. user_name and password must be empty.
     */
    SMQ_OPTION_ASK_CREDENTIALS = 1024,
    /*
     * Names are not looked up here: an attempt to connect to a server whose host is no numeric address has an
     * SMQ_EVENT_ADDRESSES, and goes on when smq_addresses() has been called. An address with a zone ("fe80::1%eth0") counts
     * as a name, and smq_addresses() takes none: a link-local server is only possible as smq_options.host without this,
     * where libc's resolver finds the zone.
     */
    SMQ_OPTION_ASK_ADDRESSES = 2048,
    /*
     * The program has the transport, and the clock: the client is a mere engine, see chapter 13. smq_client_init() makes no
     * system call but for a random number, and nothing here looks at a clock.
     */
    SMQ_OPTION_OWN_TRANSPORT = 4096,
    /*
     * CONNECT has a user name, or a password, also if user_name or password is empty: one of no bytes, which is something
     * else than none (sections 3.1.3.5 and 3.1.3.6). Not with SMQ_OPTION_ASK_CREDENTIALS.
     */
    SMQ_OPTION_USER_NAME = 8192,
    SMQ_OPTION_PASSWORD = 16384
};

/* smq_options.jitter: what chance does to the waits between attempts to connect */
enum {
    SMQ_JITTER_FULL = 1,         /* anything from half of reconnect_min_ms to a bound that doubles; the default */
    SMQ_JITTER_DECORRELATED = 2, /* anything from reconnect_min_ms to three times the last wait */
    SMQ_JITTER_NONE = 3          /* the bound itself: for tests, and for one client alone */
};

/* smq_options.resubscribe: when to subscribe again */
enum {
    SMQ_RESUBSCRIBE_IF_LOST = 1, /* after CONNACK without Session Present; with 3.1, which cannot say it, always */
    SMQ_RESUBSCRIBE_ALWAYS =
        2, /* on every connection; retained messages come again, unless retain_handling forbids it */
    SMQ_RESUBSCRIBE_NEVER = 3
};

/* Turns a time off where 0 means the default: keep_alive_s, connect_timeout_ms, … */
#define SMQ_OFF UINT32_MAX
/* session_expiry_s: the session never expires (section 3.1.2.11.2). */
#define SMQ_FOREVER UINT32_MAX

/*
 * What a client is to be. Zero means the default everywhere, so only what matters need be set;
 * either url or host must be. What is for 5.0 only is refused for an older protocol where the comment says "else 0" or
 * "else empty"; where it says "5.0:" it is an offer, and an older version goes without.
 */
typedef struct smq_options {
    uint32_t size;  /* sizeof(smq_options) */
    uint32_t flags; /* SMQ_OPTION_…, added up */

    /*
     * mqtt://[user[:password]@]host[:port][,host[:port]]…[/]: the server in one line, or up to 16 of them. host is a
     * name, an IPv4 address or an IPv6 address in brackets; user and password may be percent-encoded. Nothing
     * else is accepted, and nothing is ignored: of a query the first key is where the URL is wrong. host and port must then be empty,
     * and so must user_name and password as far as the URL has them. ASCII, at most 1,024 bytes.
     *
     * Several servers are tried in their order (or see SMQ_OPTION_SHUFFLE), one right after the other; the last that a
     * connection to lasted for stable_ms comes first. When all have been tried, the wait of reconnect_min_ms and so on
     * follows, then the next round. All get the same CONNECT.
     */
    smq_bytes url;
    smq_bytes host;    /* a name or a numeric address, at most 253 bytes. A link-local one has its zone behind it, as in
                          "fe80::1%eth0", which a URL cannot say; not with SMQ_OPTION_ASK_ADDRESSES */
    uint32_t port;     /* 1 to 65,535; 0: 1883 */
    uint32_t protocol; /* SMQ_PROTOCOL_…; 0: 3.1.1 */

    /*
     * Client Identifier (section 3.1.3.1), UTF-8, at most 65,535 bytes; servers must accept 1 to 23
     * letters and digits. Empty: the server assigns one, which is only possible without
     * SMQ_OPTION_KEEP_SESSION.
     */
    smq_bytes client_id;
    smq_bytes user_name; /* UTF-8, at most 65,535 bytes; empty: none, or see SMQ_OPTION_USER_NAME */
    smq_bytes password; /* at most 65,535 bytes; empty: none, or see SMQ_OPTION_PASSWORD. In 3.1.1 only with a user name
                            [MQTT-3.1.2-22] */

    /*
     * The Will: what the server publishes if the connection ends without smq_disconnect()
     * (section 3.1.2.5). NULL: none. Payload at most 65,535 bytes. Its properties may have a Will Delay Interval.
     * Copied by smq_client_init().
     */
    const smq_message *will;
    /*
     * 5.0 only, else empty: what CONNECT carries beside what the fields below ask for (section 3.1.2.11):
     * Request Response Information, Request Problem Information, User Properties, Authentication Method and
     * Data (see smq_authenticate()). Copied by smq_client_init().
     */
    smq_bytes properties;

    uint32_t keep_alive_s;       /* Keep Alive (section 3.1.2.10): 1 to 65,535; 0: 60; SMQ_OFF: none. The server
                                    may set another. PINGREQ is sent when nothing was sent, or nothing was heard,
                                    for that time less an eighth of it, a second at most; and while it is not
                                    answered, again each time that nothing was sent for as long */
    uint32_t session_expiry_s;   /* 5.0 only, else 0: how long the server keeps the session after the connection
                                    (section 3.1.2.11.2). 0: SMQ_FOREVER with SMQ_OPTION_KEEP_SESSION, else it ends
                                    with the connection */
    uint32_t connect_timeout_ms; /* for each attempt, from its beginning to CONNACK, name resolution included: 1 to
                                    86,400,000; 0: 30,000; SMQ_OFF: none. A name's addresses race: each has a
                                    head start of 250 ms, then the next begins beside it (RFC 8305) */
    uint32_t ping_timeout_ms;    /* how long the server may stay silent after PINGREQ: 1 to 86,400,000; 0: 10,000. Any
                                    byte it sends begins this time anew, PINGRESP alone ends it, and a second PINGREQ
                                    does not put it off. On a slow link allow for the bytes that are on their way before
                                    it: outbox_bytes and more */

    /*
     * Capacities. They decide how much memory the client takes.
     *
     * The outbox holds what is published until it is sent (QoS 0) or acknowledged (QoS 1 and 2),
     * as packets: payload + topic + about 8 bytes each. Room is given back in the order of
     * publishing: one message that is not acknowledged keeps what was published after it. One that is complete gives its
     * bytes back at once, and its place among outbox_messages when the event has been taken.
     */
    uint32_t outbox_bytes;      /* 64 to 268,435,456; 0: 65,536 */
    uint32_t outbox_messages;   /* 1 to 65,023, each takes 40 bytes; 0: 256 */
    uint32_t receive_bytes;     /* the receive buffer: 64 to 268,435,456; 0: 4,096. A message that fits arrives whole */
    uint32_t in_flight_maximum; /* QoS 1 and 2 messages sent and not yet acknowledged at any time: 1 to 65,535. The
                                    server's Receive Maximum (section 4.9) holds too. 0: that alone; 20 with 3.1 and 3.1.1,
                                    where a server cannot say what it takes, and Mosquitto, by default, closes the
                                    connection at more */
    uint32_t receive_maximum;   /* QoS 1 and 2 messages received and not yet acknowledged at a time: 1 to 65,535, each
                                    takes 12 bytes; 0: 64. 5.0 tells the server, and one that sends more ends the
                                    connection; before 5.0, and in a session that the server kept, what is more waits.
                                    See unreleased_maximum too */
    uint32_t maximum_packet_bytes; /* 5.0: the Maximum Packet Size the server is told (section 3.1.2.11.4), which then
                                    leaves larger messages out; receive_bytes to 268,435,460; 0: receive_bytes without
                                    SMQ_OPTION_PARTS, else none; SMQ_OFF: none */
    uint32_t requests;             /* SUBSCRIBE and UNSUBSCRIBE packets not yet answered: 1 to 256, each takes 32
                                    bytes; 0: 8 */
    uint32_t request_bytes;        /* the room for these packets: 32 to 268,435,456; 0: 1,024 */
    uint32_t control_bytes;     /* the room for acknowledgements, AUTH and DISCONNECT on their way out: 32 to 1,048,576;
                                    0: an eighth of receive_bytes, but 256 to 4,096. Eight of them are kept for PINGREQ
                                    and DISCONNECT: none of these packets can be larger than control_bytes - 8. Beside
                                    its properties an acknowledgement takes 6 bytes, DISCONNECT 4 (above 120, up to 2
                                    more). An AUTH must fit, too: with enhanced authentication this is to be 8 + 12 + the
                                    length of the method + that of the data at least (above 16,000, 2 more) */
    uint32_t handlers;          /* entries in the table of smq_handle(): 0 to 65,535, each takes 24 bytes */
    uint32_t handler_bytes;     /* the room for their Topic Filters: 1 to 268,435,456; 0: 32 for each */
    uint32_t topic_aliases_in;  /* 5.0: Topic Aliases the server may use (section 3.3.2.3.4): 0 to 1,024 */
    uint32_t topic_aliases_out; /* 5.0: Topic Aliases to use, as far as the server allows; the least recently used
                                    makes room: 0 to 1,024. Topics longer than topic_alias_bytes go without; so do
                                    requests, reserved and streamed messages, and what is published while there is no
                                    connection */
    uint32_t topic_alias_bytes; /* the longest topic kept for an alias, in each direction: 1 to 65,535; 0: 128 */
    uint32_t replies;           /* smq_request() calls waiting for their reply: 0 to 1,024, each takes 24 bytes. Before
                                    5.0 it takes none, like topic_aliases_in and topic_aliases_out */
    uint32_t stream_bytes;      /* the buffer of smq_publish_stream(): 0 (then it is SMQ_ERR_NOT_SUPPORTED), or
                                    64 to 1,048,576 */

    /*
     * How long the client waits until it tries again. The bound of the wait begins at reconnect_min_ms and doubles up to
     * reconnect_max_ms, whatever it was that failed: a name, a refusal, a connection that did not last. Once a
     * connection has lasted for stable_ms, the next wait is the first of a new sequence.
     */
    uint32_t reconnect_min_ms; /* 10 to 86,400,000; 0: 1,000 */
    uint32_t reconnect_max_ms; /* reconnect_min_ms to 86,400,000; 0: 60,000, or reconnect_min_ms if that is longer. The
                                  longest that the client still waits when the network is back, even after a short
                                  outage: set it to the gap that you can bear */
    uint32_t stable_ms;        /* 1 to 86,400,000; 0: 30,000 */
    uint32_t jitter;           /* SMQ_JITTER_…; 0: SMQ_JITTER_FULL */

    /*
     * What was subscribed to is subscribed to again, filter by filter, when a connection comes up and the server has lost the
     * session; without a completion, but see SMQ_EVENT_SUBSCRIPTION_LOST. User Properties are not repeated.
     */
    uint32_t subscriptions; /* Topic Filters kept for that: 1 to 1,024, each takes 16 bytes; 0: 16; SMQ_OFF: none */
    uint32_t subscription_bytes; /* the room for them: 1 to 268,435,456; 0: 32 for each */
    uint32_t resubscribe;        /* SMQ_RESUBSCRIBE_…; 0: SMQ_RESUBSCRIBE_IF_LOST */

    /*
     * A second outbox, for urgent messages only, which go ahead of all others: whatever fills the first, an alarm has its
     * room. What is in flight counts together.
     */
    uint32_t urgent_messages; /* 0: there is none; 1 to 256, each takes 40 bytes, and all together some 500 more */
    uint32_t urgent_bytes;    /* 64 to 268,435,456; 0: 128 for each */

    /*
     * A server that stops answering, or taking what is sent, is given up, though it may still answer PINGREQ. Each ends
     * the connection with SMQ_ERR_TIMEOUT; what was on its way is taken up again on the next.
     */
    uint32_t answer_timeout_ms; /* how long nothing at all may be acknowledged while PUBLISH, PUBREL, SUBSCRIBE or
                                   UNSUBSCRIBE wait for it, at SMQ_STAGE_ANSWER: 1 to 86,400,000; 0: 30,000; SMQ_OFF:
                                   none. On a slow link allow for the bytes that are on their way before it */
    uint32_t write_timeout_ms; /* how long the kernel may take no byte, because the peer takes none, at SMQ_STAGE_WRITE:
                                   1 to 86,400,000; 0: 30,000; SMQ_OFF: none */
    uint32_t
        tcp_user_timeout_ms; /* Linux's TCP_USER_TIMEOUT: how long the kernel repeats what nobody acknowledges, before
                                     the connection ends with ETIMEDOUT: 1 to 86,400,000; 0: as the system has it */
    uint32_t
        credential_bytes; /* with SMQ_OPTION_ASK_CREDENTIALS: the room for user name and password together, once for each
                                  version that may be spoken: 1 to 131,070; 0: 512. Else 0 */
    uint32_t submit_messages;    /* messages of smq_submit() that wait to be taken into the outbox: 0 (then it is
                                 SMQ_ERR_NOT_SUPPORTED), or 1 to 65,536, rounded up to a power of two; each takes 40
                                 bytes and submit_bytes, and all together some 140 more */
    uint32_t submit_bytes;       /* the room for topic, properties and payload of each: 16 to 1,048,576, all together at
                              most 268,435,456; 0: 256 */
    uint32_t unreleased_maximum; /* QoS 2 messages at a time that were handed out and that the server has not released
                                    (PUBREL), those of this connection and of the one before: 1 to 65,535. Up to 512
                                    take 8 to 16 bytes each; from 513 on it is all 65,535 there can be, in 8,192 bytes.
                                    0: all, but receive_maximum in a session that ends with the connection.
                                    A server may send more: Mosquitto sends all that a session has kept, whatever it is
                                    told. Where the session is kept, what is too much is not handed out; when the server
                                    has released the others, the connection ends with SMQ_ERR_RECEIVE_MAXIMUM, and on the
                                    next one the server sends the rest again, so that each of them brings this many
                                    messages at least. Nothing is lost, and the order stays. Else everything is handed
                                    out, as nothing that was can come again */
    uint32_t addresses;          /* of a server's name that are tried, the first: 1 to 8, each takes 20 bytes; 0: 8.
                                    With 1 no other is ever tried, even if the first cannot be reached from here */
} smq_options;

/* A smq_options with its size set and everything else zero. */
#define SMQ_OPTIONS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(smq_options), 0, { NULL, 0 }, { NULL, 0 }, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL,           \
            { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
            0, 0, 0, 0, 0, 0                                                                                           \
    }

/*
 * Checks options the way smq_client_init() does, and says where a URL went wrong. Any thread.
 *
 * options      the options; only read
 * url_offset   NULL, or where to put the byte offset in options->url at which parsing stopped: 0 to
 *              url.size. Only written when the answer is SMQ_ERR_URL or SMQ_ERR_NOT_SUPPORTED
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL            options is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_STRUCT_SIZE     a size field is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION          a number is out of its range, a flag unknown, a text longer than its limit;
 *                           neither url nor host is set, or url together with host or port, or with a
 *                           user_name or password that it has, too; a session_expiry_s, SMQ_OPTION_NEW_SESSION or properties without
 *                           5.0; SMQ_OPTION_NEW_SESSION without SMQ_OPTION_KEEP_SESSION; in 3.1.1 a
 *                           password without a user name; the Will's retain or quiet is neither 0 nor 1;
 *                           a Will with properties or expiry_s before 5.0
 *   SMQ_ERR_PROPERTY        properties, or the Will's, are malformed, not allowed there, or set by another
 *                           field; Authentication Data without an Authentication Method
 *   SMQ_ERR_URL             the URL is malformed, or has a zero byte percent-encoded (a password that
 *                           needs one goes into password)
 *   SMQ_ERR_NOT_SUPPORTED   the URL's scheme or the protocol is unknown
 *   SMQ_ERR_CLIENT_ID       an empty client id together with SMQ_OPTION_KEEP_SESSION, or one that 3.1
 *                           does not allow
 *   SMQ_ERR_QOS             the Will's QoS is above 2
 *   SMQ_ERR_TOPIC_NAME      the Will's topic is not a Topic Name
 *   SMQ_ERR_UTF8            client id, user name or the Will's topic is not UTF-8
 *   SMQ_ERR_TOO_LARGE       the Will's payload is above 65,535 bytes, or CONNECT above MQTT's 268,435,455
 */
SMQ_API int32_t smq_options_check(const smq_options *options, size_t *url_offset);

/*
 * How many bytes a client with these options needs. The answer depends on the library's version:
 * ask at run time. Any thread.
 *
 * options   the options; only read
 *
 * Returns the number of bytes, or 0 if smq_options_check() would return an error.
 */
SMQ_API size_t smq_client_size(const smq_options *options);

/*
 * Enough bytes, known when a program is compiled, for a client of this header's version: for a static array,
 *
 *     static _Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t memory[SMQ_CLIENT_BYTES(8192, 64, 1024, 200)];
 *
 * outbox_bytes, outbox_messages, receive_bytes   as in smq_options, but not 0
 * more   the length of all texts in the options (url or host, client id, user name, password, Will), and what other options
 *        take beyond their defaults
 *
 * Some 2,400 bytes are to spare, 3,100 on 32-bit processors, for a library that is newer than the header;
 * smq_client_init() says if it is not enough. All other options have the room of their defaults, so for a client that
 * asks for less there it is too generous: 16,800 bytes where 2,800 would do. smq_client_size() is exact.
 */
#define SMQ_CLIENT_BYTES(outbox_bytes, outbox_messages, receive_bytes, more)                                           \
    ((size_t)(outbox_bytes) + (size_t)(outbox_messages)*40 + (size_t)(receive_bytes) +                                 \
     ((receive_bytes) < 2048    ? (size_t)256                                                                          \
      : (receive_bytes) > 32768 ? (size_t)4096                                                                         \
                                : (size_t)(receive_bytes) / 8) +                                                       \
     (size_t)(more) + 16384)

/*
 * Makes a client in the caller's memory. No system call is made except one for a descriptor to
 * wait on, and with submit_messages two for one that wakes its owner up.
 *
 * memory    the block: aligned to SMQ_MEMORY_ALIGNMENT, not moved until smq_client_close()
 * size      its size in bytes, at least smq_client_size(options)
 * options   the options; copied, and may be released afterwards
 * client    where to put the client's handle; only written on success
 *
 * Returns SMQ_OK, any error of smq_options_check(), or
 *   SMQ_ERR_NULL               memory or client is NULL
 *   SMQ_ERR_MEMORY_SIZE        size is too small
 *   SMQ_ERR_MEMORY_ALIGNMENT   memory is not aligned
 *   SMQ_ERR_NO_DESCRIPTOR      the process or the system has no descriptor left
 */
SMQ_API int32_t smq_client_init(void *memory, size_t size, const smq_options *options, smq_client **client);

/*
 * Ends a client at once, in any state: closes its descriptors and gives the memory back to the
 * caller. No DISCONNECT is sent, so a server publishes the Will; call smq_disconnect() before, and
 * wait for its event, to leave politely. Messages in the outbox are gone. Same thread rule as all
 * calls on a client; nor may a thread be in smq_submit(), or a runner run.
 *
 * client   the client; the handle is invalid afterwards
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, or SMQ_ERR_CLIENT if it was closed before.
 */
SMQ_API int32_t smq_client_close(smq_client *client);

/*
 * The Client Identifier that CONNECT carries: client_id of the options, each '%' replaced.
 *
 * client   the client
 * id       where to put it; valid as long as the client lives
 *
 * Returns SMQ_OK, or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_client_id(const smq_client *client, smq_bytes *id);

/* ---------------------------------------------------------------------------------------------
 * 5  Connect, authenticate, disconnect
 * ------------------------------------------------------------------------------------------- */

/* What a client is doing. */
enum {
    SMQ_STATE_DISCONNECTED = 0,
    SMQ_STATE_CONNECTING = 1,
    SMQ_STATE_CONNECTED = 2,
    SMQ_STATE_DISCONNECTING = 3,
    SMQ_STATE_WAITING = 4 /* for the time of the next attempt */
};

/*
 * What the client is doing.
 *
 * client   the client
 *
 * Returns one of SMQ_STATE_…, or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_client_state(const smq_client *client);

/*
 * Connects, and stays connected: starts an attempt, and returns at once. Each attempt ends in exactly one event:
 * SMQ_EVENT_CONNECTED after the server's CONNACK, or SMQ_EVENT_DISCONNECTED with the reason, at the
 * latest connect_timeout_ms after it began. After a failed attempt, and when a connection ends, the next attempt follows by
 * itself after a wait, which retry_ms of the event tells (see smq_options.reconnect_min_ms), as soon as that event has
 * been taken; until smq_disconnect(). With SMQ_OPTION_NO_RECONNECT it does not, and this may be called again.
 *
 * client   the client, in SMQ_STATE_DISCONNECTED
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE in any other state, and while the
 * event that ended the last connection has not been taken.
 */
SMQ_API int32_t smq_connect(smq_client *client);

/*
 * Takes the next step of an enhanced authentication (section 4.12): sends AUTH with the Authentication Method
 * that smq_options.properties gave. An exchange begins with CONNECT, or, while connected, with
 * SMQ_REASON_REAUTHENTICATE from this call; each AUTH of the server is an SMQ_EVENT_AUTHENTICATE, to be answered with
 * SMQ_REASON_CONTINUE_AUTHENTICATION as long as its reason_code is that one.
 *
 * client        the client
 * reason_code   SMQ_REASON_CONTINUE_AUTHENTICATION (0x18) or SMQ_REASON_REAUTHENTICATE (0x19)
 * data          Authentication Data; NULL or empty: none
 * properties    more properties (Reason String, User Properties); NULL: none
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_STATE         CONNECT had no Authentication Method; there is no exchange to continue; or one is
 *                         under way, or no connection, when another is to begin
 *   SMQ_ERR_REASON_CODE   reason_code is another one
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed in AUTH
 *   SMQ_ERR_TOO_LARGE     data is above 65,535 bytes, or the packet above what control_bytes allows or the server's
 *                         Maximum Packet Size
 *   SMQ_ERR_FULL          no room behind the acknowledgements that wait to be sent
 */
SMQ_API int32_t smq_authenticate(smq_client *client, uint32_t reason_code, const smq_bytes *data,
                                 const smq_bytes *properties);

/*
 * Answers SMQ_EVENT_CREDENTIALS: what CONNECT is to say, from this attempt on. Copied.
 *
 * client      the client
 * attempt     that of the event; the answer to an attempt that is over is of no use any more
 * user_name   UTF-8; NULL or empty: none
 * password    NULL or empty: none. Only with a user name, unless 5.0 alone may be spoken [MQTT-3.1.2-22]
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_TOKEN      attempt is not this one
 *   SMQ_ERR_STATE      it does not wait for this, or not any more
 *   SMQ_ERR_UTF8       the user name is not well-formed UTF-8
 *   SMQ_ERR_OPTION     a password without a user name
 *   SMQ_ERR_TOO_LARGE  one is above 65,535 bytes, or both are above smq_options.credential_bytes
 */
SMQ_API int32_t smq_credentials(smq_client *client, uint32_t attempt, const smq_bytes *user_name,
                                const smq_bytes *password);

/*
 * Answers SMQ_EVENT_CREDENTIALS: there are none. The attempt ends with SMQ_ERR_CREDENTIALS at SMQ_STAGE_CREDENTIALS, and the
 * next one, which asks again, follows as ever.
 *
 * client    the client
 * attempt   that of the event
 * for_good  1: no attempt follows, until smq_connect(); else 0
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if for_good is neither,
 * SMQ_ERR_TOKEN if attempt is not this one, or SMQ_ERR_STATE if it does not wait for this.
 */
SMQ_API int32_t smq_withhold_credentials(smq_client *client, uint32_t attempt, uint32_t for_good);

/*
 * Answers SMQ_EVENT_ADDRESSES: where the server is. They race as those of a name do (smq_options.connect_timeout_ms).
 *
 * client      the client
 * attempt     that of the event
 * addresses   numeric IPv4 or IPv6 addresses, without brackets and without a zone, so none that is link-local; the
 *             preferred ones first; may be NULL if count is 0
 * count       0 to smq_options.addresses; 0: there is none, and the attempt ends with SMQ_ERR_RESOLVE
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if count is above that or an address is
 * none, SMQ_ERR_TOKEN if attempt is not this one, or SMQ_ERR_STATE if it does not wait for this.
 */
SMQ_API int32_t smq_addresses(smq_client *client, uint32_t attempt, const smq_bytes *addresses, uint32_t count);

/*
 * The network has changed, as the program knows from its modem or from netlink. Up: a wait for the next attempt is cut
 * short, but no attempt begins sooner than reconnect_min_ms after the last one ended. Up and down: a connection is looked
 * at with PINGREQ now, and ends after ping_timeout_ms if nobody answers. Nothing is done here but that.
 *
 * client   the client
 * up       1: there is a network, maybe another one than before; 0: there is none
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if up is neither.
 */
SMQ_API int32_t smq_hint_network(smq_client *client, uint32_t up);

/*
 * The machine was asleep, or its clock has been stopped in another way: the same as smq_hint_network() with 1.
 *
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_hint_resume(smq_client *client);

/* The Reason Codes a client gives (section 2.4). */
enum {
    SMQ_REASON_SUCCESS = 0x00,              /* also: Normal disconnection */
    SMQ_REASON_DISCONNECT_WITH_WILL = 0x04, /* the server is to publish the Will */
    SMQ_REASON_CONTINUE_AUTHENTICATION = 0x18,
    SMQ_REASON_REAUTHENTICATE = 0x19,
    SMQ_REASON_UNSPECIFIED_ERROR = 0x80,
    SMQ_REASON_IMPLEMENTATION_SPECIFIC_ERROR = 0x83,
    SMQ_REASON_NOT_AUTHORIZED = 0x87,
    SMQ_REASON_TOPIC_NAME_INVALID = 0x90,
    SMQ_REASON_QUOTA_EXCEEDED = 0x97,
    SMQ_REASON_ADMINISTRATIVE_ACTION = 0x98,
    SMQ_REASON_PAYLOAD_FORMAT_INVALID = 0x99
};

/*
 * Leaves the server: while connected, waits until every message in the outbox, or submitted before, is complete, at most
 * drain_ms, then sends DISCONNECT and closes the connection once the server has closed its side, or after two more
 * seconds. Without a connection it waits for nothing: an attempt is given up at once, and what is in the outbox, or
 * submitted, stays there (smq_client_stats() tells how many). Returns at once; SMQ_EVENT_DISCONNECTED with status 0 tells
 * when it is over. The server does not publish the Will. (If even DISCONNECT cannot be sent for two seconds, the status is
 * SMQ_ERR_TIMEOUT at SMQ_STAGE_DISCONNECT, and it does.) What is still in the outbox then stays there for the next
 * connection. An attempt whose CONNECT is out is given up with DISCONNECT, so that the server does not publish the Will.
 * Called a second time it only shortens the wait. In SMQ_STATE_DISCONNECTED it does nothing, and no event follows. A message
 * that is reserved and neither committed nor aborted is waited for, too.
 *
 * To leave with everything delivered: call it while connected, take events until
 * SMQ_EVENT_DISCONNECTED, and look at the completions, or at smq_client_stats(): outbox_messages,
 * urgent_messages and submit_waiting are 0 if nothing was left behind.
 *
 * client     the client
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if drain_ms is above its range.
 */
SMQ_API int32_t smq_disconnect(smq_client *client, uint32_t drain_ms);

/*
 * Leaves the server like smq_disconnect(), with more to say (section 3.14.2). What DISCONNECT says is settled by the
 * first of the two that is called.
 *
 * client        the client
 * drain_ms      as for smq_disconnect()
 * reason_code   SMQ_REASON_SUCCESS, SMQ_REASON_DISCONNECT_WITH_WILL, or from 0x80 on one that a client may give
 *               (Table 3-10): 0x80 to 0x83, 0x90, 0x93 to 0x99. Before 5.0 only SMQ_REASON_SUCCESS
 * properties    Session Expiry Interval, Reason String, User Properties; NULL: none. 5.0 only. At most 256 bytes
 *
 * Returns what smq_disconnect() does, or
 *   SMQ_ERR_REASON_CODE   DISCONNECT of this protocol version may not carry this one
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed; before 5.0; a Session Expiry Interval where
 *                         CONNECT had none (section 3.14.2.2.2)
 *   SMQ_ERR_TOO_LARGE     properties are above 256 bytes, or the packet above what control_bytes allows
 */
SMQ_API int32_t smq_disconnect_with(smq_client *client, uint32_t drain_ms, uint32_t reason_code,
                                    const smq_bytes *properties);

/* ---------------------------------------------------------------------------------------------
 * 6  Publish
 * ------------------------------------------------------------------------------------------- */

/*
 * Publishes a message: encodes it into the outbox and returns. It costs one copy and no system
 * call; smq_wait() and smq_service() send what is there, hundreds of messages in one system call.
 * A message may be published in every state, but not after smq_disconnect() until that is over: it is
 * sent when there is a connection.
 *
 * Every message ends in exactly one SMQ_EVENT_COMPLETED with its cookie (unless it is quiet and
 * all goes well, or the client is closed before): when it was handed to the kernel (QoS 0), when the
 * server's PUBACK (QoS 1) or PUBCOMP (QoS 2) came, or with the reason why not.
 *
 * When a connection ends, the outbox stays. On the next one, what was not sent is sent; what was
 * sent with QoS 1 and not acknowledged is sent again, so it may arrive twice. QoS 2 is taken up where
 * it was if the server kept the session (SMQ_OPTION_KEEP_SESSION), and arrives once; if it did not, a
 * message whose fate is unknown ends with SMQ_ERR_SESSION_LOST, and sending it again is up to the caller.
 *
 * client    the client
 * message   the message; copied, and may be released afterwards
 *
 * Returns SMQ_OK, or SMQ_DROPPED, or, with nothing changed,
 *   SMQ_ERR_NULL          client or message is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT        not a client
 *   SMQ_ERR_STRUCT_SIZE   message->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION        retain, quiet or urgent is neither 0 nor 1; overflow is unknown; properties before 5.0
 *   SMQ_ERR_PROPERTY      properties are malformed, not allowed in PUBLISH, or set by the library: Topic Alias; a Message
 *                         Expiry Interval beside expiry_s; a Response Topic with wildcards
 *   SMQ_ERR_QOS           qos is above 2, or above the server's Maximum QoS (section 3.2.2.3.4)
 *   SMQ_ERR_NOT_SUPPORTED retain is 1 and the server said it has no retained messages (section 3.2.2.3.5); urgent is 1
 *                         without smq_options.urgent_messages
 *   SMQ_ERR_TOPIC_NAME    the topic is empty, longer than 65,535 bytes or has '+' or '#'
 *   SMQ_ERR_UTF8          the topic is not well-formed UTF-8
 *   SMQ_ERR_TOO_LARGE     the packet is larger than the whole outbox, than the 268,435,455 bytes MQTT
 *                         allows, or than the server's Maximum Packet Size
 *   SMQ_ERR_STATE         the client is disconnecting, or a smq_publish_reserve() is open
 *   SMQ_ERR_FULL          no room in the outbox now. SMQ_EVENT_ROOM tells when there is some again;
 *                         smq_client_stats() has the numbers
 *   SMQ_ERR_OFFLINE       SMQ_OPTION_QOS_0_CONNECTED, QoS 0, and no connection
 */
SMQ_API int32_t smq_publish(smq_client *client, const smq_message *message);

/*
 * Publishes without a copy: the outbox takes the message but its payload, and tells where that goes. The caller
 * writes it there and calls smq_publish_commit(). One message at a time; while one is open, smq_publish() and its
 * like answer SMQ_ERR_STATE. Everything else, receiving too, goes on.
 *
 * client    the client
 * message   as for smq_publish(); payload.size is the most the payload may have, payload.data is not used
 * payload   where to put the pointer; valid until smq_publish_commit() or smq_publish_abort(); NULL with SMQ_DROPPED
 *
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if message is urgent or SMQ_OVERFLOW_LATEST.
 */
SMQ_API int32_t smq_publish_reserve(smq_client *client, const smq_message *message, void **payload);

/*
 * Publishes what smq_publish_reserve() made room for, also after smq_disconnect(). It may end at once: with
 * SMQ_ERR_EXPIRED, or with SMQ_ERR_SERVER_LIMIT if the server is another one by now.
 *
 * client         the client
 * payload_size   how many bytes were written: 0 to the size reserved
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if payload_size is larger than what was reserved, or
 * SMQ_ERR_STATE if nothing was.
 */
SMQ_API int32_t smq_publish_commit(smq_client *client, size_t payload_size);

/*
 * Gives the room back. There is no completion.
 *
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if nothing was reserved.
 */
SMQ_API int32_t smq_publish_abort(smq_client *client);

/*
 * Supplies bytes of a payload: called from smq_wait() and smq_service(), and must not call the client. May be asked
 * for the same bytes again: if the connection is lost, the message is sent once more from its beginning.
 *
 * user     what smq_publish_stream() was given
 * offset   of the first byte wanted, in the payload
 * buffer   where to put them
 * size     how many at most; at least 1
 *
 * Returns how many bytes were put: 1 to size; 0: none now, it is asked again after 10 ms (nothing else can be sent
 * meanwhile, not even PINGREQ, so not for long); negative: it gives up. Then the connection ends
 * with SMQ_ERR_STREAM, as a packet once begun cannot be taken back, and so does the message.
 */
typedef int32_t (*smq_pull)(void *user, uint32_t offset, void *buffer, size_t size);

/*
 * Publishes a payload of any size, piece by piece, through a buffer of stream_bytes: the outbox keeps only topic and
 * properties. One such message at a time.
 *
 * client    the client
 * message   as for smq_publish(); payload.size is the size of the payload, payload.data is not used
 * pull      supplies the bytes; may be called until the message's SMQ_EVENT_COMPLETED or smq_client_close(), so what
 *           it needs must last as long. Of a quiet message that succeeds nobody hears
 * user      for pull
 *
 * Returns what smq_publish() does; SMQ_ERR_OPTION too if message is urgent or
 * SMQ_OVERFLOW_LATEST; SMQ_ERR_NOT_SUPPORTED too if stream_bytes is 0; SMQ_ERR_FULL too while another one
 * is not complete: its completion makes room, and there is no SMQ_EVENT_ROOM.
 */
SMQ_API int32_t smq_publish_stream(smq_client *client, const smq_message *message, smq_pull pull, void *user);

/* ---------------------------------------------------------------------------------------------
 * 7  Subscribe
 * ------------------------------------------------------------------------------------------- */

/* A Topic Filter and what is asked for it (section 3.8.3.1). */
typedef struct smq_subscription {
    smq_bytes filter; /* Topic Filter: 1 to 65,535 bytes of UTF-8; "$share/name/filter" shares (section 4.8.2) */
    uint8_t qos;      /* the highest QoS to be sent with: 0 to 2 */
    uint8_t no_local; /* 5.0: 1: not what this client itself publishes; not for a shared one */
    uint8_t retain_as_published; /* 5.0: 1: the RETAIN flag as the publisher set it */
    uint8_t retain_handling;     /* 5.0: retained messages: 0 at every subscribe, 1 if it is new, 2 never */
    uint32_t reserved;           /* 0 */
} smq_subscription;

/* One SUBSCRIBE or UNSUBSCRIBE (sections 3.8, 3.10). */
typedef struct smq_subscriptions {
    uint32_t size;                /* sizeof(smq_subscriptions) */
    uint32_t count;               /* 1 to 65,535 */
    const smq_subscription *list; /* count of them. For smq_unsubscribe() only the filters count */
    uint64_t cookie;              /* the caller's own value, handed back in the completion */
    smq_bytes properties;         /* 5.0 only, else empty: User Properties */
    uint32_t identifier;          /* 5.0: Subscription Identifier: 1 to 268,435,455, comes with each message;
                                     0: none. Not for smq_unsubscribe() */
    uint32_t reserved;            /* 0 */
} smq_subscriptions;

/* A smq_subscriptions with its size set and everything else zero. */
#define SMQ_SUBSCRIPTIONS_INIT                                                                                         \
    { sizeof(smq_subscriptions), 0, NULL, 0, { NULL, 0 }, 0, 0 }

/*
 * Subscribes to Topic Filters: encodes one packet and returns. It goes ahead of what is
 * published, and is not held back by messages in flight. It may be called in every state, but not after
 * smq_disconnect() until that is over: it is sent when there is a connection, and again on the next one whenever that
 * ended before the answer.
 *
 * What was granted is subscribed to again when the server has lost it (smq_options.subscriptions). Without that table:
 * an answered subscription lives in the server's session, so after an SMQ_EVENT_CONNECTED with session_present 0 there is
 * none.
 *
 * The answer is one SMQ_EVENT_COMPLETED with the cookie: status 0 if every filter was accepted, else
 * SMQ_ERR_REFUSED with the first refusal in reason_code; or SMQ_ERR_SERVER_LIMIT if the server that answered cannot do it.
 * reason_codes has one byte for each filter, in their order: for SUBSCRIBE the granted QoS 0, 1 or 2, or from
 * 0x80 on why not; for UNSUBSCRIBE 0x00, or 0x11 No subscription existed (3.1 and 3.1.1 have none for UNSUBSCRIBE).
 *
 * client          the client
 * subscriptions   copied, and may be released afterwards
 *
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL           client, subscriptions or list is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT         not a client
 *   SMQ_ERR_STRUCT_SIZE    a size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION         count is 0 or too large; a flag is neither 0 nor 1, or retain_handling above 2;
 *                          identifier is out of range; before 5.0 anything that came with it
 *   SMQ_ERR_QOS            a qos is above 2
 *   SMQ_ERR_TOPIC_FILTER   a filter is not one, or no_local is set for a shared one [MQTT-3.8.3-4]
 *   SMQ_ERR_UTF8           a filter is not well-formed UTF-8
 *   SMQ_ERR_PROPERTY       properties are malformed or not allowed here
 *   SMQ_ERR_NOT_SUPPORTED  the server said that it has no wildcard or shared subscriptions, or no Subscription
 *                          Identifiers (section 3.2.2.3)
 *   SMQ_ERR_TOO_LARGE      the packet is larger than request_bytes, or than MQTT or the server allows; or its answer,
 *                          count bytes and seven more at most, than receive_bytes
 *   SMQ_ERR_STATE          the client is disconnecting
 *   SMQ_ERR_FULL           subscriptions or subscription_bytes are used up, and smq_unsubscribe() makes room; or
 *                          requests or request_bytes are. The completion of the oldest request makes room; that
 *                          of a younger one does when those before it are complete
 */
SMQ_API int32_t smq_subscribe(smq_client *client, const smq_subscriptions *subscriptions);

/*
 * Unsubscribes from Topic Filters (section 3.10), in every respect like smq_subscribe().
 *
 * client          the client
 * subscriptions   copied, and may be released afterwards; of each only the filter counts
 *
 * Returns what smq_subscribe() does; SMQ_ERR_OPTION too if there is an identifier.
 */
SMQ_API int32_t smq_unsubscribe(smq_client *client, const smq_subscriptions *subscriptions);

/* ---------------------------------------------------------------------------------------------
 * 8  Events
 * ------------------------------------------------------------------------------------------- */

enum {
    SMQ_EVENT_NONE = 0,
    /*
     * The server accepted the connection (CONNACK). session_present, attempt, server, protocol and, in 5.0,
     * reason_string and properties are set; smq_client_server() has what the server can do. See smq_subscribe() for
     * what becomes of subscriptions.
     */
    SMQ_EVENT_CONNECTED = 1,
    /*
     * An attempt to connect, or a connection, ended. status is 0 if the caller asked for it, else the
     * reason; stage, os_error, reason_code, reason_string, server_reference, properties, rule, attempt, server and
     * retry_ms say more.
     * reason_code is the server's; with SMQ_ERR_MALFORMED and the like it is the one the server was told. With 0x9C Use
     * another server and 0x9D Server moved, server_reference says which (section 4.11).
     */
    SMQ_EVENT_DISCONNECTED = 2,
    /*
     * A published message, a SUBSCRIBE or an UNSUBSCRIBE is done with. cookie is its own: messages and requests share
     * one space of cookies, and keeping them apart there is the program's affair. status is 0 if all is well:
     * delivered as its QoS promises, every filter accepted; else SMQ_ERR_REFUSED, SMQ_ERR_SESSION_LOST,
     * SMQ_ERR_EXPIRED, SMQ_ERR_DROPPED, SMQ_ERR_REPLACED, SMQ_ERR_STREAM, SMQ_ERR_SERVER_LIMIT, or for a request whose answer broke a rule or was larger
     * than receive_bytes SMQ_ERR_PROTOCOL. reason_code is the server's, or -1; with SMQ_ERR_SERVER_LIMIT it names the
     * limit: 0x95 Packet too large, 0x9B QoS not supported, 0x9A Retain not supported, 0x9E, 0xA1 and 0xA2 for
     * subscriptions, 0x84 if the connection is not 5.0. After a SUBSCRIBE or UNSUBSCRIBE reason_codes, reason_string and
     * properties are set too; after a message reason_string and properties, if the packet that ended it has any.
     */
    SMQ_EVENT_COMPLETED = 3,
    /*
     * There is room in the outbox again after SMQ_ERR_FULL: a good moment to try once more. Whoever takes
     * all events first, and then publishes until it is full again, lets many messages share a system call.
     */
    SMQ_EVENT_ROOM = 4,
    /*
     * A message arrived, or a part of one: topic, payload, qos, retain, duplicate, part, payload_offset, payload_total,
     * token, subscription and, in 5.0, properties and subscription_identifier are set. It is acknowledged when the
     * event is released, by the next smq_next_event(), smq_wait(), smq_service() or smq_engine_timed_out(); or later,
     * see smq_hold().
     *
     * status is 0, or SMQ_ERR_RECEIVE_TOO_LARGE: the message is larger than the receive buffer, its payload was read and
     * dropped, payload_total says how many bytes; part is both first and last. topic and properties are empty if they
     * would leave less than a quarter of the buffer to the payload, or if the topic was a Topic Alias whose topic is
     * longer than topic_alias_bytes (then the payload is there).
     *
     * Parts may stop without the last one: if the connection ends. A message of QoS 1 or 2 then begins again, at
     * payload_offset 0, on the next.
     */
    SMQ_EVENT_MESSAGE = 5,
    /*
     * The server sent AUTH (section 4.12): reason_code is 0x18 Continue authentication, to be answered with
     * smq_authenticate(), or 0x00 at the end of a re-authentication. payload is the Authentication Data; reason_string
     * and properties are set.
     */
    SMQ_EVENT_AUTHENTICATE = 6,
    /*
     * The one end of a smq_request(), with its cookie: status 0 or SMQ_ERR_RECEIVE_TOO_LARGE, and everything
     * SMQ_EVENT_MESSAGE has, of the reply (of a reply in parts, the last one; those before it are SMQ_EVENT_MESSAGE),
     * which is acknowledged like any other message; or SMQ_ERR_TIMEOUT; or what became of the request's own message
     * (as in SMQ_EVENT_COMPLETED).
     */
    SMQ_EVENT_REPLY = 7,
    /*
     * 5.0: a PUBREC (section 3.5) with properties came for a message with QoS 2 that is not quiet. cookie is the
     * message's; reason_code, reason_string and properties are set. For the program's log: the delivery goes on by
     * itself, and ends in SMQ_EVENT_COMPLETED.
     */
    SMQ_EVENT_PUBREC = 8,
    /*
     * 5.0: a PUBREL (section 3.6) with properties came for a message with QoS 2 that was received and acknowledged
     * before. reason_code, reason_string and properties are set. For the program's log.
     */
    SMQ_EVENT_PUBREL = 9,
    /*
     * A subscription that was granted once could not be made again after the server had lost it: topic is the Topic
     * Filter, reason_code the server's, or 0x83 if it cannot do it. The client has forgotten it.
     */
    SMQ_EVENT_SUBSCRIPTION_LOST = 10,
    /*
     * SMQ_OPTION_ASK_CREDENTIALS: an attempt has begun, and waits for smq_credentials() or smq_withhold_credentials(), now or
     * later, for as long as connect_timeout_ms allows. attempt and server are set; whether the last attempt was refused,
     * its SMQ_EVENT_DISCONNECTED has said.
     */
    SMQ_EVENT_CREDENTIALS = 11,
    /*
     * SMQ_OPTION_ASK_ADDRESSES: an attempt waits for smq_addresses(), in the same way. server_reference is the name that is to
     * be looked up, port the port to connect to; attempt and server are set.
     */
    SMQ_EVENT_ADDRESSES = 12,
    /*
     * SMQ_OPTION_OWN_TRANSPORT: a connection is wanted, to the server with the name server_reference, at port: open one,
     * closing the last one first, and call smq_engine_opened(), or smq_engine_closed() if it cannot be had. attempt and
     * server are set.
     */
    SMQ_EVENT_OPEN = 13
};

/* smq_event.part, added up. A message that arrives whole is both. */
enum {
    SMQ_PART_FIRST = 1,
    SMQ_PART_LAST = 2
};

struct smq_event;

/* What smq_handle() may have called through smq_dispatch(). */
typedef void (*smq_handler)(void *user, smq_client *client, const struct smq_event *event);

/*
 * One event. smq_next_event() fills it; pointers in it are valid until the next smq_next_event(), smq_wait(),
 * smq_service(), smq_engine_timed_out(), smq_connect() or smq_client_close() on the client. What a type does not set is
 * 0, or -1 where that means none.
 */
typedef struct smq_event {
    uint32_t size;              /* in: sizeof(smq_event) */
    int32_t type;               /* SMQ_EVENT_… */
    int32_t status;             /* 0 or SMQ_ERR_… */
    int32_t stage;              /* SMQ_STAGE_… */
    int32_t os_error;           /* errno, or an EAI_… value if status is SMQ_ERR_RESOLVE; 0: none */
    int32_t reason_code;        /* 0 to 255 as the server sent it (section 2.4; 3.1.1: the CONNACK return code);
                                   -1: none */
    uint32_t attempt;           /* how many attempts to connect there have been, this one included; wraps */
    uint32_t session_present;   /* 1: the server took up the session it had kept (section 3.2.2.1.1). 3.1 cannot say it:
                                   there it is always 0 */
    uint32_t protocol;          /* SMQ_PROTOCOL_…: the version that is spoken, in which reason_code is to be read */
    int32_t rule;               /* SMQ_RULE_…, in SMQ_EVENT_DISCONNECTED: the one the server broke */
    uint64_t cookie;            /* of the message or request */
    smq_bytes reason_string;    /* 5.0: the server's own words, UTF-8; usually empty */
    smq_bytes server_reference; /* 5.0: another server to use (section 4.11); usually empty. In SMQ_EVENT_ADDRESSES and
                                   SMQ_EVENT_OPEN: the server's name */
    smq_bytes properties;   /* 5.0: all properties of the packet behind the event, to walk with smq_property_next() */
    smq_bytes reason_codes; /* of SUBACK and UNSUBACK: a byte for each filter */

    /* The message. */
    smq_bytes topic;         /* Topic Name; a Topic Alias is resolved */
    smq_bytes payload;       /* or the part of it that this event brings */
    uint32_t payload_offset; /* where this part begins */
    uint32_t payload_total;  /* the size of the whole payload */
    uint8_t qos;             /* with which it was sent: 0 to 2 */
    uint8_t retain;       /* 1: retained by the server from before, or as the publisher set it if that was asked for */
    uint8_t duplicate;    /* DUP: the server has sent it before (section 3.3.1.1) */
    uint8_t part;         /* SMQ_PART_FIRST, SMQ_PART_LAST, added up; 0: in the middle */
    int32_t subscription; /* the first entry of smq_handle()'s table that matches the topic; -1: none */
    smq_handler handler;  /* of that entry, or NULL */
    void *user;           /* of that entry, or NULL */
    uint64_t token;       /* for smq_ack(); 0: nothing to acknowledge: QoS 0, or not the last part */
    uint32_t subscription_identifier; /* 5.0: the first one the message has; 0: none. There may be more in properties */
    int32_t retry_ms; /* in SMQ_EVENT_DISCONNECTED: how long until the client tries again by itself; -1: it will not */
    uint32_t
        server; /* in SMQ_EVENT_CONNECTED, _DISCONNECTED, _CREDENTIALS, _ADDRESSES and _OPEN: which server of the URL,
                        counted from 0; behind the last: the one that another pointed to */
    uint32_t port; /* in SMQ_EVENT_ADDRESSES and SMQ_EVENT_OPEN: the server's */
    int32_t
        latency_ms; /* in SMQ_EVENT_COMPLETED of a message with QoS 1 or 2 that the server answered: from when it was
                           handed to the kernel, on this connection, to PUBACK or PUBCOMP; -1: none */
    uint32_t reserved;
} smq_event;

/* A smq_event with its size set. */
#define SMQ_EVENT_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(smq_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },           \
            { NULL, 0 }, { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0                             \
    }

/*
 * Takes the next event, if there is one, and releases the last one. Events come in the order in which things
 * happened. While a message waits to be taken, nothing behind it is looked at. Never waits, makes no system call.
 *
 * client   the client
 * event    where to put it; event->size must be set. See smq_event for how long its
 *          pointers are valid
 *
 * Returns 1 if there was an event; 0 if not, and then event->type is SMQ_EVENT_NONE; or SMQ_ERR_NULL,
 * SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE if event->size is smaller than version 1's.
 */
SMQ_API int32_t smq_next_event(smq_client *client, smq_event *event);

/* ---------------------------------------------------------------------------------------------
 * 9  Received messages: acknowledging, handlers
 * ------------------------------------------------------------------------------------------- */

/*
 * Keeps the message of the last event from being acknowledged when it is released: smq_ack() will do it, in any order
 * and any time later. Acknowledgements leave in the order in which the messages came [MQTT-4.6.0-2], so one that is
 * held holds those behind it; and no more than receive_maximum can be held. Copy what is needed of the message.
 *
 * A token outlives the connection. If the server sends the message again on the next one, as it must if the session is
 * still there, it is not handed out a second time, but waits for the same smq_ack(); if the session is gone, the
 * token is too.
 *
 * client   the client; the last event was an SMQ_EVENT_MESSAGE or SMQ_EVENT_REPLY with a token
 *
 * Returns SMQ_OK, also if it is held already; SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if the last event had no
 * token, was acknowledged or was released.
 */
SMQ_API int32_t smq_hold(smq_client *client);

/*
 * Acknowledges a message: PUBACK or PUBREC (sections 3.4, 3.5). Also before the event is released.
 *
 * client        the client
 * token         of the message's event
 * reason_code   SMQ_REASON_SUCCESS; in 5.0 also, to refuse the message: 0x80, 0x83, 0x87, 0x90, 0x97, 0x99. With a
 *               refusal a QoS 2 exchange ends [MQTT-4.3.3-9]: if it is lost with the connection, the message comes again
 * properties    5.0: Reason String, User Properties; NULL: none. They are sent only if no earlier message is
 *               unacknowledged, and left out if the packet would be above the server's Maximum Packet Size
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_TOKEN         no message with this token waits: acknowledged before, or its session is gone
 *   SMQ_ERR_REASON_CODE   reason_code is none that an acknowledgement of this protocol version may carry
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed; before 5.0
 *   SMQ_ERR_TOO_LARGE     the packet is above what control_bytes allows
 *   SMQ_ERR_FULL          properties, and an earlier message is unacknowledged, or no room now
 */
SMQ_API int32_t smq_ack(smq_client *client, uint64_t token, uint32_t reason_code, const smq_bytes *properties);

/*
 * The Packet Identifier that a message came with: for a log, or a program's own bookkeeping. The library goes by tokens.
 *
 * client   the client
 * token    of the message's event
 *
 * Returns 1 to 65,535; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_TOKEN if no message with this token waits to be
 * acknowledged.
 */
SMQ_API int32_t smq_packet_identifier(smq_client *client, uint64_t token);

/*
 * Puts a Topic Filter into the table that each message is matched with: its event tells the first entry that
 * matches. It subscribes to nothing. What it replaces is gone; the others keep their index. Wildcards match as the
 * server's do; of "$share/name/filter" the filter counts.
 *
 * client    the client
 * index     0 to smq_options.handlers - 1
 * filter    the Topic Filter, copied; an empty one clears the entry
 * handler   NULL, or what smq_dispatch() is to call
 * user      for the handler and the event
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if index is out of range,
 * SMQ_ERR_TOPIC_FILTER, SMQ_ERR_UTF8, SMQ_ERR_TOO_LARGE if the filter is longer than handler_bytes, or SMQ_ERR_FULL if
 * they are used up: clearing an entry makes room.
 */
SMQ_API int32_t smq_handle(smq_client *client, uint32_t index, const smq_bytes *filter, smq_handler handler,
                           void *user);

/*
 * The next entry that matches a topic, for a message that several are to get.
 *
 * client   the client
 * topic    a Topic Name, such as that of an event
 * after    the entry after which to look; -1: from the first
 *
 * Returns its index, 0 to smq_options.handlers - 1; -1 if there is none; or SMQ_ERR_NULL, SMQ_ERR_CLIENT (which are
 * below -1).
 */
SMQ_API int32_t smq_next_match(const smq_client *client, const smq_bytes *topic, int32_t after);

/*
 * Hands a message to its handler, if it has one. The library itself never calls a handler, so the handler may call
 * anything; but smq_next_event(), smq_wait(), smq_service() and smq_engine_timed_out() release the event, and after
 * smq_client_close() there is neither client nor event.
 *
 * Returns 1 if there was a handler, else 0.
 */
static inline int32_t smq_dispatch(smq_client *client, const smq_event *event) {
    if (!event->handler) return 0;
    event->handler(event->user, client, event);
    return 1;
}

/* ---------------------------------------------------------------------------------------------
 * 10  Request and response (section 4.10; 5.0 only)
 * ------------------------------------------------------------------------------------------- */

/*
 * Publishes a request, with a Response Topic and Correlation Data of 8 bytes, and waits for the reply: the first message
 * on the response topic with the same Correlation Data. The response topic must be subscribed to. The request ends in
 * exactly one SMQ_EVENT_REPLY with message->cookie. If its time is up before it was sent, it is not sent any more.
 *
 * client           the client, with smq_options.replies
 * message          the request; quiet is not looked at, and properties must have neither Response Topic nor
 *                  Correlation Data
 * response_topic   Topic Name: where the reply is to be sent
 * timeout_ms       how long to wait for it: 1 to 86,400,000
 *
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if timeout_ms is out of range or message is urgent or
 * SMQ_OVERFLOW_LATEST, SMQ_ERR_NOT_SUPPORTED before 5.0
 * and without smq_options.replies, SMQ_ERR_FULL if so many are waiting: an SMQ_EVENT_REPLY makes room, and there is no
 * SMQ_EVENT_ROOM.
 */
SMQ_API int32_t smq_request(smq_client *client, const smq_message *message, const smq_bytes *response_topic,
                            uint32_t timeout_ms);

/*
 * Publishes the reply to a request: to its Response Topic, with its Correlation Data.
 *
 * client    the client
 * request   the SMQ_EVENT_MESSAGE, before it is released
 * message   the reply; its topic must be empty, and its properties must not have Correlation Data
 *
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if the request has no Response Topic, which is how one asks
 * whether a message is a request, or if message has a topic. SMQ_ERR_STRUCT_SIZE also speaks of request.
 */
SMQ_API int32_t smq_respond(smq_client *client, const smq_event *request, const smq_message *message);

/* ---------------------------------------------------------------------------------------------
 * 11  Running a client: the simple loop
 * ------------------------------------------------------------------------------------------- */

/*
 * Does everything that is due, and waits until there is an event: sends what was published,
 * receives, keeps the connection alive. Returns early when a signal handler has run, so that a
 * loop can look at its flags. A signal that comes just before the call is not seen by it: a loop that
 * looks at flags does not wait with -1. This and smq_runner_stop() are the only calls that wait.
 *
 * client       the client
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if an event is waiting; 0 if the time is up or a signal came; SMQ_ERR_NULL,
 * SMQ_ERR_CLIENT; SMQ_ERR_OPTION if timeout_ms is below -1; SMQ_ERR_STATE with timeout_ms -1 in
 * SMQ_STATE_DISCONNECTED if nothing would ever happen: no message expires, no request times out, and with
 * smq_options.submit_messages 0 no other thread can submit one. SMQ_ERR_CLIENT is also
 * the answer if the program has closed smq_fd().
 */
SMQ_API int32_t smq_wait(smq_client *client, int32_t timeout_ms);

/* ---------------------------------------------------------------------------------------------
 * 12  Running a client: inside a loop of your own
 *
 *     for (;;) {
 *         struct pollfd fds[] = { { smq_fd(client), POLLIN, 0 }, … };
 *         poll(fds, n, smq_next_timeout_ms(client));
 *         smq_service(client);
 *         while (smq_next_event(client, &event) == 1) …
 *     }
 * ------------------------------------------------------------------------------------------- */

/*
 * One descriptor, the same as long as the client lives, that turns readable when smq_service()
 * has something to do. For poll, epoll, glib, libuv, asyncio: wait for reading only; never read from
 * it, and do not close it.
 *
 * client   the client
 *
 * Returns the descriptor, or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE with SMQ_OPTION_OWN_TRANSPORT.
 */
SMQ_API int32_t smq_fd(const smq_client *client);

/*
 * When smq_service() next needs to be called even if smq_fd() stays silent. Ask after every call on
 * the client: publishing makes it 0, and so does an event that waits to be taken.
 *
 * client   the client
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SMQ_ERR_NULL, SMQ_ERR_CLIENT (which
 * are below -1).
 */
SMQ_API int32_t smq_next_timeout_ms(const smq_client *client);

/*
 * Does everything that is due, without waiting: sends, receives, checks the deadlines. Calling it
 * too often does no harm.
 *
 * client   the client
 *
 * Returns 1 if an event is waiting, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT. Trouble with the
 * connection is not an error of this call: it arrives as SMQ_EVENT_DISCONNECTED.
 */
SMQ_API int32_t smq_service(smq_client *client);

/*
 * Hands to the kernel what is ready to be sent, as far as it takes it, without waiting and without a look at what has come:
 * one system call for all of it, none if there is nothing. For who publishes much between two calls of smq_service() or
 * smq_wait(), which do so as well. The event that was taken last is not released.
 *
 * client   the client
 *
 * Returns 1 if an event is waiting, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE with
 * SMQ_OPTION_OWN_TRANSPORT. Trouble with the connection arrives as SMQ_EVENT_DISCONNECTED.
 */
SMQ_API int32_t smq_flush(smq_client *client);

/* ---------------------------------------------------------------------------------------------
 * 13  Running a client: the bare engine
 *
 * With SMQ_OPTION_OWN_TRANSPORT the program brings its own IO: a serial line, TLS of its own, a simulation. What it got
 * goes in, what is to be sent comes out, and time is a number it tells, in milliseconds, from any clock that only goes
 * forward; it may wrap. Everything else, reconnecting included, is as ever: messages are published and events are taken
 * between these calls, and after any of them there may be something to be sent: ask smq_engine_transmit(), as nothing
 * else tells. smq_wait() and smq_fd() are SMQ_ERR_STATE, and write_timeout_ms is the program's affair. Calls that take
 * no time happen at the one told last, so it is to be told before smq_connect(). smq_service() and
 * smq_next_timeout_ms() answer for that time too, with no regard to what is to be sent (0 and, without a deadline, -1):
 * the calls of this chapter take their place.
 *
 *     smq_engine_timed_out(client, now);
 *     smq_connect(client);
 *     for (;;) {
 *         while (smq_next_event(client, &event) == 1)
 *             if (event.type == SMQ_EVENT_OPEN) …                           open; smq_engine_opened(client, now)
 *             else if (event.type == SMQ_EVENT_DISCONNECTED) …              close
 *         is_blocked = 0;
 *         while (!is_blocked && (smq_engine_transmit(client, now, &out, &size), size > 0)) {
 *             …                                   send; smq_engine_transmitted(client, how many were taken, now), or,
 *                                                 if the connection takes none any more, smq_engine_closed(client,
 *                                                 errno, now): reading does not always tell
 *             is_blocked = fewer than size were taken;
 *         }
 *         …                                       wait for bytes, and, if is_blocked, until more can be sent, at most
 *                                                 smq_engine_next_timeout_ms(client, now); now = …
 *         smq_engine_receive_buffer(client, &in, &size);
 *         …                                       smq_engine_received(client, how many came, now), or, at the end of
 *                                                 the stream, smq_engine_closed(client, 0, now)
 *         smq_engine_timed_out(client, now);
 *     }
 *
 * Each of these calls is SMQ_ERR_STATE for a client without SMQ_OPTION_OWN_TRANSPORT.
 * ------------------------------------------------------------------------------------------- */

/*
 * The connection that SMQ_EVENT_OPEN asked for is open: CONNECT is the first thing to be sent.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if none is wanted.
 */
SMQ_API int32_t smq_engine_opened(smq_client *client, uint32_t now_ms);

/*
 * The connection that was opened last is gone, or none can be opened. What it brought before goes through smq_engine_received() first.
 *
 * client     the client
 * os_error   0: the peer closed it; else an errno, for the event
 * now_ms     the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if os_error is negative, or SMQ_ERR_STATE if there is none,
 * and none is wanted.
 */
SMQ_API int32_t smq_engine_closed(smq_client *client, int32_t os_error, uint32_t now_ms);

/*
 * Where the next bytes from the server go.
 *
 * client   the client
 * data     where to put the pointer; valid until the next call on the client
 * size     where to put how many there may be; 0: none now, as an event has to be taken first, or there is no connection
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE.
 */
SMQ_API int32_t smq_engine_receive_buffer(smq_client *client, void **data, size_t *size);

/*
 * Bytes came, and are where smq_engine_receive_buffer() said.
 *
 * client   the client
 * size     how many: 0 to what it said
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE, or SMQ_ERR_OPTION if size is larger than that.
 */
SMQ_API int32_t smq_engine_received(smq_client *client, size_t size, uint32_t now_ms);

/*
 * What is to be sent next, in one piece. To be asked again after each smq_engine_transmitted(), until there is nothing;
 * or, if fewer bytes were taken than it gave, when the transport takes more.
 *
 * client   the client
 * now_ms   the time
 * data     where to put the pointer; valid until the next call on the client. If that is not smq_engine_transmitted(), the
 *          bytes are not taken as sent
 * size     where to put how many bytes; 0: nothing
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE.
 */
SMQ_API int32_t smq_engine_transmit(smq_client *client, uint32_t now_ms, const void **data, size_t *size);

/*
 * Bytes that smq_engine_transmit() gave were sent, from the front.
 *
 * client   the client
 * size     how many: 0 to what it gave
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE, or SMQ_ERR_OPTION if size is larger than that, or another
 * call came in between.
 */
SMQ_API int32_t smq_engine_transmitted(smq_client *client, size_t size, uint32_t now_ms);

/*
 * When smq_engine_timed_out() needs to be called if nothing else happens. It does not tell that bytes wait to be sent.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE (which are below
 * -1).
 */
SMQ_API int32_t smq_engine_next_timeout_ms(smq_client *client, uint32_t now_ms);

/*
 * Time has passed: does what is due, and releases the event that was taken last. Calling it too often does no harm.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns 1 if an event is waiting, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE.
 */
SMQ_API int32_t smq_engine_timed_out(smq_client *client, uint32_t now_ms);

/* ---------------------------------------------------------------------------------------------
 * 14  Other threads
 *
 * A client belongs to one thread, its owner. smq_submit() is the door for all others. The owner may be one of the
 * program's own threads, or one that smq_runner_start() makes.
 * ------------------------------------------------------------------------------------------- */

/*
 * Publishes a message from any thread, while another one owns the client: copies it into a queue of
 * smq_options.submit_messages, from which the owner takes it into the outbox, in the next turn of smq_wait() or
 * smq_service(), as smq_publish() would. From then on everything is as said there. What a thread submits is published in
 * its order; of several threads, in the order in which the calls came to their end.
 *
 * It takes no lock and waits for nobody: a thread that is interrupted in the middle of it, for however long, keeps one of
 * the places, and no other thread waiting. So it is fit for a thread of SCHED_FIFO, for a signal handler, and for the owner.
 * At the most it makes one system call, which wakes the owner up: if nothing else is waiting to be taken. (With an
 * expiry it also reads the clock, which is one where the kernel has no vDSO.)
 *
 * As long as the outbox has no room, or a smq_publish_reserve() is open, messages wait here, and in the end the answer is
 * SMQ_ERR_FULL; there is no event when there is room again. overflow counts when a message's turn comes to be taken into the
 * outbox (SMQ_OVERFLOW_DROP_NEWEST waits), and so does urgent: up to there messages keep their order. A message that came before smq_disconnect() is waited for
 * there like one in the outbox; one that comes later waits for the next connection. What only the owner can know ends the
 * message with SMQ_EVENT_COMPLETED and its cookie: SMQ_ERR_SERVER_LIMIT if it is above a limit of the server, or has
 * properties and the connection is not 5.0 (reason_code 0x84); SMQ_ERR_EXPIRED if it waited for too long; SMQ_ERR_DROPPED with
 * SMQ_OPTION_QOS_0_CONNECTED, QoS 0 and no connection. With SMQ_OPTION_OWN_TRANSPORT nobody is woken up.
 *
 * The client must live until the call returns: end the threads that submit, or keep them from it, before
 * smq_client_close().
 *
 * client    the client
 * message   the message; copied, and may be released afterwards. expiry_s and a Message Expiry Interval count from this
 *           call
 *
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL            client or message is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT          not a client
 *   SMQ_ERR_STRUCT_SIZE     message->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION          retain, quiet or urgent is neither 0 nor 1; overflow is unknown; properties, and
 *                           smq_options.protocol is not 5.0
 *   SMQ_ERR_PROPERTY        properties are malformed, not allowed in PUBLISH, or set by the library, as in smq_publish()
 *   SMQ_ERR_QOS             qos is above 2
 *   SMQ_ERR_TOPIC_NAME      the topic is empty, longer than 65,535 bytes or has '+' or '#'
 *   SMQ_ERR_UTF8            the topic is not well-formed UTF-8
 *   SMQ_ERR_TOO_LARGE       topic, properties and payload are together larger than submit_bytes, or the packet is larger
 *                           than the whole outbox
 *   SMQ_ERR_NOT_SUPPORTED   submit_messages is 0, or urgent_messages and the message is urgent
 *   SMQ_ERR_FULL            submit_messages are waiting
 */
SMQ_API int32_t smq_submit(smq_client *client, const smq_message *message);

/*
 * A thread that owns a client, in the caller's memory: aligned to SMQ_MEMORY_ALIGNMENT, and all zero before the first
 * smq_runner_start(). It must not be moved or copied while it runs.
 */
typedef struct smq_runner {
    int32_t os_error; /* why smq_runner_start() answered SMQ_ERR_NO_THREAD: an errno */
    uint32_t reserved;
    uint64_t reserved2[11];
} smq_runner;

/* A smq_runner that does not run. */
#define SMQ_RUNNER_INIT                                                                                                \
    {                                                                                                                  \
        0, 0, { 0 }                                                                                                    \
    }

/* How a client is to be run. */
typedef struct smq_runner_options {
    uint32_t size; /* sizeof(smq_runner_options) */
    /*
     * 1 to 99: SCHED_FIFO with this one, which needs CAP_SYS_NICE or RLIMIT_RTPRIO; 0: scheduled like the thread that
     * starts it.
     */
    int32_t priority;
    /* 131,072 to 268,435,456; 0: what libc gives. The library needs less than 32,768 of it, the rest is for on_event. */
    uint32_t stack_bytes;
    uint32_t reserved; /* 0 */
    smq_bytes name;    /* what ps and gdb show: at most 15 bytes, none of them zero; empty: smq-runner */
    /*
     * Gets each event, in the runner's thread, which owns the client: it may call anything on it, as after
     * smq_next_event(), but smq_client_close(). NULL: nobody wants them.
     */
    smq_handler on_event;
    void *user; /* for on_event */
} smq_runner_options;

/* A smq_runner_options with its size set. */
#define SMQ_RUNNER_OPTIONS_INIT                                                                                        \
    { sizeof(smq_runner_options), 0, 0, 0, { NULL, 0 }, NULL, NULL }

/*
 * Starts a thread that owns the client until smq_runner_stop(): connects it unless it is connected or about to, serves it,
 * and gives its events to on_event, those first that wait already. Meanwhile other threads may only call smq_submit() and
 * smq_runner_stop(). So subscribing is done before, or by on_event. The thread ends with smq_runner_stop() only: after
 * smq_disconnect() by on_event the client is disconnected until on_event calls smq_connect(), or for good. All signals are
 * blocked in the thread.
 *
 * runner    a runner that does not run
 * client    a client that no other runner has; the calling thread is its owner
 * options   copied, and may be released afterwards
 *
 * Returns SMQ_OK, or, with nothing changed but os_error,
 *   SMQ_ERR_NULL            runner, client or options is NULL, or name has a size and no data
 *   SMQ_ERR_CLIENT          not a client
 *   SMQ_ERR_STRUCT_SIZE     options->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION          priority, stack_bytes or name is out of range
 *   SMQ_ERR_STATE           the runner runs; SMQ_OPTION_OWN_TRANSPORT
 *   SMQ_ERR_NO_DESCRIPTOR   the process or the system has none left to wake the thread up with
 *   SMQ_ERR_NO_THREAD       os_error is EAGAIN: there are too many threads; EPERM: the process may not have this
 *                           priority; EINVAL: the stack is too small for this system
 */
SMQ_API int32_t smq_runner_start(smq_runner *runner, smq_client *client, const smq_runner_options *options);

/*
 * Has the runner leave the server with smq_disconnect(), and waits until its thread has ended: not longer than drain_ms
 * and the two times two seconds that a farewell may take, beside what on_event takes. While connected, what came before this
 * call, by smq_submit() too, is delivered first, if there is the time; without a connection it stays where it is, and
 * smq_client_stats() tells how many: outbox_messages, urgent_messages and submit_waiting. The last event that on_event
 * gets is SMQ_EVENT_DISCONNECTED, if there was a connection or an attempt: an attempt that it begins then is given up.
 * Afterwards the calling thread owns the client; smq_runner_start() may be called again. This and smq_wait() are the
 * only calls that wait.
 *
 * runner     the runner; if it does not run, nothing is done
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait for what is not yet delivered
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_OPTION if drain_ms is above its range, or SMQ_ERR_STATE from on_event, which cannot
 * wait for its own thread, and while another thread starts or stops the runner.
 */
SMQ_API int32_t smq_runner_stop(smq_runner *runner, uint32_t drain_ms);

/* ---------------------------------------------------------------------------------------------
 * 15  Numbers
 * ------------------------------------------------------------------------------------------- */

/* What a client has done since smq_client_init(), and how full it is. */
typedef struct smq_stats {
    uint32_t size;               /* in: sizeof(smq_stats) */
    uint32_t connections;        /* CONNACKs that accepted */
    uint64_t messages_published; /* smq_publish() calls, and those of its like, that returned SMQ_OK */
    uint64_t messages_completed; /* messages that ended as their QoS promises */
    uint64_t messages_failed;    /* messages that ended in another way */
    uint64_t packets_sent;       /* Control Packets handed to the kernel whole */
    uint64_t packets_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t send_calls;            /* system calls that sent something: packets_sent - send_calls were saved */
    uint64_t receive_calls;         /* system calls that received something */
    uint32_t outbox_bytes;          /* in use now; */
    uint32_t outbox_bytes_peak;     /* at most so far; */
    uint32_t outbox_bytes_capacity; /* and at all */
    /*
     * outbox_messages: those that are not complete, or whose SMQ_EVENT_COMPLETED was not taken. The peak counts places in the
     * table: a message of which all is told keeps its place while an older one is not complete. If there is no other place,
     * it gives it up, but not if it or one behind it was sent: so SMQ_ERR_FULL may come with outbox_messages below the
     * capacity.
     */
    uint32_t outbox_messages;
    uint32_t outbox_messages_peak;
    uint32_t outbox_messages_capacity;
    uint32_t in_flight;           /* QoS 1 and 2 messages handed over for sending on this connection and not yet
                                   acknowledged; 0 without one */
    uint32_t in_flight_maximum;   /* how many the server and the options allow; 0 without a connection */
    uint64_t messages_received;   /* handed out, each counted once however many parts it had */
    uint64_t messages_duplicate;  /* QoS 2, and held ones, that came again and were not handed out again */
    uint64_t messages_oversize;   /* whose payload was dropped for want of room */
    uint64_t messages_expired;    /* of one's own that were not sent in time */
    uint32_t unacknowledged;      /* QoS 1 and 2 messages received and not yet acknowledged or released, now; */
    uint32_t unacknowledged_peak; /* at most so far; */
    uint32_t receive_maximum;     /* and at all */
    uint32_t requests;            /* SUBSCRIBE and UNSUBSCRIBE packets not yet answered, now; */
    uint32_t requests_peak;       /* and at most so far, those included that had to wait for an older one */
    uint32_t replies;             /* smq_request() calls waiting for their reply, now; */
    uint32_t replies_peak;        /* and at most so far */
    uint32_t subscriptions;       /* Topic Filters kept to be subscribed to again */
    uint32_t receive_bytes_peak;  /* how full the receive buffer was at most */
    uint32_t control_bytes_peak;  /* and the room for acknowledgements on their way out */
    uint32_t urgent_bytes;        /* in use now, by urgent messages; */
    uint32_t urgent_bytes_peak;   /* at most so far */
    uint32_t urgent_messages;     /* the same in messages, counted like outbox_messages */
    uint32_t urgent_messages_peak;
    uint32_t
        outbox_age_ms; /* how long ago, as of the last smq_wait() or smq_service(), the oldest message was published
                                   that waits to be sent; urgent ones first; 0: none waits */
    uint32_t attempts; /* to connect, so far; wraps */
    uint64_t messages_dropped;  /* that made room, SMQ_DROPPED included */
    uint64_t messages_replaced; /* by a later one with the same topic */
    /*
     * How long the server took, counted in classes: [0] below 1 ms, [1] below 2 ms, [2] below 4 ms and so on; [15] all from
     * 16,384 ms on.
     */
    uint32_t latency[16];    /* from a message with QoS 1 or 2 that is handed to the kernel to its PUBACK or PUBCOMP */
    uint32_t round_trip[16]; /* from PINGREQ to PINGRESP */
    /* Ends of attempts to connect and of connections, by the status of their SMQ_EVENT_DISCONNECTED. */
    uint32_t ended_requested;     /* 0 */
    uint32_t ended_refused;       /* SMQ_ERR_REFUSED */
    uint32_t ended_server_closed; /* SMQ_ERR_SERVER_CLOSED */
    uint32_t ended_malformed;     /* SMQ_ERR_MALFORMED */
    uint32_t ended_protocol;      /* SMQ_ERR_PROTOCOL, SMQ_ERR_RECEIVE_TOO_LARGE, SMQ_ERR_RECEIVE_MAXIMUM */
    uint32_t ended_keep_alive;    /* SMQ_ERR_KEEP_ALIVE */
    uint32_t ended_stream;        /* SMQ_ERR_STREAM */
    uint32_t ended_resolve;       /* SMQ_ERR_RESOLVE */
    uint32_t ended_network;       /* SMQ_ERR_NETWORK */
    uint32_t ended_closed;        /* SMQ_ERR_CLOSED */
    uint32_t ended_timeout;       /* SMQ_ERR_TIMEOUT */
    uint32_t ended_credentials;   /* SMQ_ERR_CREDENTIALS */
    uint64_t submitted;           /* smq_submit() calls that took a message */
    uint64_t submit_full;         /* and those that answered SMQ_ERR_FULL */
    uint32_t submit_waiting;      /* submitted messages, or such as are being submitted, not yet in the outbox, now; */
    uint32_t submit_peak;         /* and at most so far */
    uint64_t messages_postponed;  /* QoS 2 messages that had no place (unreleased_maximum) and were left to a later
                                   connection, each counted on every connection on which it came in vain */
} smq_stats;

/* A smq_stats with its size set. */
#define SMQ_STATS_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(smq_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0              \
    }

/*
 * Reads a client's numbers.
 *
 * client   the client
 * stats    where to put them; stats->size must be set
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE if stats->size is smaller than
 * version 1's.
 */
SMQ_API int32_t smq_client_stats(const smq_client *client, smq_stats *stats);

/* How much is told to a smq_log; each level includes those before it. */
enum {
    SMQ_LOG_OFF = 0,
    SMQ_LOG_WARNING = 1,
    SMQ_LOG_INFO = 2,
    SMQ_LOG_DEBUG = 3 /* steps and pings; no level traces packets */
};

/*
 * What is told, with the two numbers that go with it. smq_log_name() has a name for each.
 *
 * The first number of SMQ_LOG_ENDED, as of the ended_… in smq_stats: 0 requested, 1 refused, 2 server_closed, 3 malformed,
 * 4 protocol, 5 keep_alive, 6 stream, 7 resolve, 8 network, 9 closed, 10 timeout, 11 credentials.
 */
enum {
    SMQ_LOG_ATTEMPT = 1,        /* info: an attempt to connect begins: its number; server as in smq_event */
    SMQ_LOG_LOOK_UP = 2,        /* debug: a name is looked up: server */
    SMQ_LOG_ADDRESSES = 3,      /* debug: there are addresses: how many */
    SMQ_LOG_ADDRESS = 4,        /* debug: one is tried: which, counted from 0 */
    SMQ_LOG_ADDRESS_FAILED = 5, /* warning: one failed: in which of the four lanes of the race; errno */
    SMQ_LOG_OPENED = 6,         /* debug: the network connection is open, CONNECT is sent */
    SMQ_LOG_CONNECTED = 7,      /* info: CONNACK accepted: SMQ_PROTOCOL_…, and nothing else */
    SMQ_LOG_ENDED = 8,          /* info: an attempt or a connection ended: why, see above; SMQ_STAGE_… */
    SMQ_LOG_WAITING = 9,        /* info: for the time of the next attempt: milliseconds */
    SMQ_LOG_PING = 10,          /* debug: PINGREQ */
    SMQ_LOG_PONG = 11,          /* debug: PINGRESP: milliseconds it took */
    SMQ_LOG_BLOCKED = 12,       /* debug: the kernel takes no more bytes */
    SMQ_LOG_UNBLOCKED = 13,     /* debug: it does again */
    SMQ_LOG_HINT = 14,          /* info: smq_hint_network() or smq_hint_resume(): up */
    SMQ_LOG_FALLBACK = 15,  /* warning: the server does not speak the version: the SMQ_PROTOCOL_… that is tried now */
    SMQ_LOG_REDIRECTED = 16 /* info: another server is tried, as this one said: server */
};

/*
 * Is told what a client does: called from the call that does it, in its thread, and must not call the client. It is told
 * nothing secret: no user name, password, topic or payload.
 *
 * user     what smq_set_log() was given
 * level    SMQ_LOG_WARNING to SMQ_LOG_DEBUG
 * what     SMQ_LOG_ATTEMPT and so on; new ones may come
 * number   as said there, else 0
 * other    the second number, else 0
 */
typedef void (*smq_log)(void *user, int32_t level, int32_t what, int32_t number, int32_t other);

/*
 * Has what the client does told, or not any more. For a program's log: all that it has to act on are events.
 *
 * client   the client
 * level    SMQ_LOG_OFF to SMQ_LOG_DEBUG
 * log      who is told, until the next call of this or smq_client_close(); NULL: nobody
 * user     for log
 *
 * Returns SMQ_OK, SMQ_ERR_NULL if client is NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if level is none.
 */
SMQ_API int32_t smq_set_log(smq_client *client, int32_t level, smq_log log, void *user);

/*
 * The name of what a smq_log is told, such as "connected". Any thread, any time.
 *
 * what   one of SMQ_LOG_ATTEMPT to SMQ_LOG_REDIRECTED
 *
 * Returns a zero-terminated text that lives as long as the library; "unknown" for other values. Never NULL, no errors.
 */
SMQ_API const char *smq_log_name(int32_t what);

/* What the server that is connected can do (section 3.2.2.3); before 5.0 what holds when it does not say. */
typedef struct smq_server {
    uint32_t size;                 /* in: sizeof(smq_server) */
    uint32_t protocol;             /* SMQ_PROTOCOL_…: the version that is spoken */
    uint32_t session_expiry_s;     /* how long it keeps the session after the connection */
    uint32_t receive_maximum;      /* QoS 1 and 2 messages it takes at a time */
    uint32_t maximum_packet_bytes; /* the largest packet it takes; 0: MQTT's own limit */
    uint32_t maximum_qos;          /* 0 to 2 */
    uint32_t retain_available;     /* 0 or 1, like the following */
    uint32_t wildcard_available;   /* subscriptions with wildcards */
    uint32_t shared_available;     /* Shared Subscriptions */
    uint32_t subscription_identifiers_available;
    uint32_t topic_alias_maximum; /* Topic Aliases that may be used towards it */
    uint32_t keep_alive_s;        /* the Keep Alive that holds; 0: none */
} smq_server;

/* A smq_server with its size set. */
#define SMQ_SERVER_INIT                                                                                                \
    { sizeof(smq_server), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Reads what the server can do.
 *
 * client   the client, connected
 * server   where to put it; server->size must be set
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE if server->size is smaller than version 1's, or
 * SMQ_ERR_STATE without a connection.
 */
SMQ_API int32_t smq_client_server(const smq_client *client, smq_server *server);

/* ---------------------------------------------------------------------------------------------
 * 16  Helpers. Any thread, any time.
 * ------------------------------------------------------------------------------------------- */

/*
 * Whether a message could be published with this topic (section 4.7). It may be longer than a server takes.
 *
 * topic   the Topic Name
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_UTF8, or SMQ_ERR_TOPIC_NAME if it is empty, longer than 65,535 bytes, or has
 * '+' or '#'.
 */
SMQ_API int32_t smq_topic_name_check(const smq_bytes *topic);

/*
 * Whether this could be subscribed to (sections 4.7.1, 4.8.2).
 *
 * filter   the Topic Filter
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_UTF8, or SMQ_ERR_TOPIC_FILTER if it is empty, longer than 65,535 bytes, has a
 * misplaced wildcard, or is "$share/" without a share name and a filter.
 */
SMQ_API int32_t smq_topic_filter_check(const smq_bytes *filter);

/*
 * Whether a topic is one that a filter asks for: '#' matches the level above it too, a wildcard in front matches no
 * topic that begins with '$' (section 4.7.2), and of "$share/name/filter" the filter counts.
 *
 * filter   the Topic Filter
 * topic    the Topic Name
 *
 * Returns 1 or 0; SMQ_ERR_NULL; or what is wrong with the filter or the topic: SMQ_ERR_TOPIC_FILTER,
 * SMQ_ERR_TOPIC_NAME, SMQ_ERR_UTF8.
 */
SMQ_API int32_t smq_topic_matches(const smq_bytes *filter, const smq_bytes *topic);

/*
 * Writes a template with each '%' replaced by a random byte, as two upper-case hex digits, from getrandom().
 *
 * template_text   any text
 * buffer          where to put it; not zero-terminated
 * capacity        bytes at buffer; every '%' needs two
 *
 * Returns how many bytes were written; or SMQ_ERR_NULL, or SMQ_ERR_FULL if capacity is too small: nothing was written.
 */
SMQ_API int32_t smq_expand_template(const smq_bytes *template_text, void *buffer, size_t capacity);

/* Fixed-width numbers in a payload, in network byte order (big-endian); no alignment is needed. */
static inline void smq_put_uint16(void *target, uint16_t value) {
    uint8_t *bytes = (uint8_t *)target;
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static inline void smq_put_uint32(void *target, uint32_t value) {
    smq_put_uint16(target, (uint16_t)(value >> 16));
    smq_put_uint16((uint8_t *)target + 2, (uint16_t)value);
}

static inline void smq_put_uint64(void *target, uint64_t value) {
    smq_put_uint32(target, (uint32_t)(value >> 32));
    smq_put_uint32((uint8_t *)target + 4, (uint32_t)value);
}

static inline uint16_t smq_get_uint16(const void *source) {
    const uint8_t *bytes = (const uint8_t *)source;
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t smq_get_uint32(const void *source) {
    return (uint32_t)smq_get_uint16(source) << 16 | smq_get_uint16((const uint8_t *)source + 2);
}

static inline uint64_t smq_get_uint64(const void *source) {
    return (uint64_t)smq_get_uint32(source) << 32 | smq_get_uint32((const uint8_t *)source + 4);
}

/* The same for floating-point numbers, in the format of IEEE 754, which every target has. */
static inline void smq_put_float(void *target, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    smq_put_uint32(target, bits);
}

static inline void smq_put_double(void *target, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    smq_put_uint64(target, bits);
}

static inline float smq_get_float(const void *source) {
    uint32_t bits = smq_get_uint32(source);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline double smq_get_double(const void *source) {
    uint64_t bits = smq_get_uint64(source);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#ifdef __cplusplus
}
#endif

#endif /* SWIFTMQTT_H */
