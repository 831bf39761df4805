/*
 * libswiftmqtt: an MQTT client for C daemons. MQTT 3.1, 3.1.1 and 5.0.
 *
 * SPDX-License-Identifier: MIT
 *
 * This header is the contract. Read it from the top: first the conventions that hold for every function,
 * then chapters from simple to advanced.
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
 *    17  Many clients: a group
 *    18  The journal
 *    19  Who looks on: observers, and the trace
 *
 * CONVENTIONS
 *
 * Memory. The library never allocates. smq_client_size() returns how many bytes a client needs for given
 * options. The program provides them, from a heap, on the stack or in a static array that is large enough,
 * and gets them back with smq_client_close(). Everything that the client keeps is copied into that block:
 * options, strings and messages may be released as soon as the call that took them returns. The block must
 * not be moved, copied or used for another client while the client lives. (libc resolves host names:
 * getaddrinfo() runs in a thread of its own, at most one per client, which ends when libc has its answer,
 * and allocates there. A numeric address needs no thread and no allocation. The thread of
 * smq_runner_start() has its stack from libc, too.)
 *
 * Threads. A client has no lock. Only its owner, one thread at a time, may call its functions; other
 * threads may call smq_submit() meanwhile. Chapter 14 also has a thread of the library that runs a client.
 * Different clients are independent. The library has no global state, installs no signal handler and
 * changes no setting of the process. After fork(), only one of the two processes may continue to use a
 * client; the other leaves it alone, or releases its descriptors by calling exec.
 *
 * Time. Every time is measured by the monotonic clock, in whole milliseconds. Names end in the unit: _ms,
 * _s, once _us. Setting the wall clock changes nothing.
 *
 * Errors. Functions return int32_t: 0 means success, a positive value is a count or "yes", and a negative
 * value is one of SMQ_ERR_…. The range of an error says what to do:
 *
 *     -1xx  the call is wrong         fix the program; the call changed nothing
 *     -2xx  there is no room now      the call changed nothing; try again later
 *     -3xx  the server                an event: the connection is over, or a message was not accepted
 *     -4xx  the network               an event: the connection is over
 *     -5xx  the journal               the client was not made, what is new is not stored (an event,
 *                                     smq_sync()), or nothing changed (smq_publish())
 *
 * Only the call at fault returns errors of the ranges -1xx and -2xx. Errors of the ranges -3xx and -4xx
 * appear only in events: once for each attempt to connect, and in the completion of a message or a request.
 *
 * Pointers. A pointer in an event is valid until the next smq_next_event(), smq_wait(), smq_service(),
 * smq_engine_timed_out(), smq_connect() or smq_client_close() on the same client, or the next
 * smq_group_wait(), smq_group_service() or smq_group_next_ready() on its group; until then it may be passed
 * to any other call. A pointer that is passed to the library is used only during the call, unless the
 * function says otherwise, as smq_publish_reference() and smq_receive_into() do. NULL is allowed for the data
 * of a smq_bytes if, and only if, its size is 0. For every other NULL a function returns SMQ_ERR_NULL unless
 * it says otherwise.
 *
 * Structs. A struct that is passed to or from the library begins with its own size, so that it can grow:
 * set it with the SMQ_…_INIT macro or to sizeof. Zero selects the default of a field. An older library
 * accepts a struct of a newer header as long as the fields that it does not know are zero; otherwise the
 * function returns SMQ_ERR_STRUCT_SIZE. Reserved fields must be zero. In a struct that the library fills,
 * it sets the fields that it does not know to zero. No struct is larger than 4,096 bytes.
 *
 * Versioning. The SONAME is libswiftmqtt.so.1 and every function carries the version node SWIFTMQTT_1.
 * Within version 1, functions and fields are added, but never changed or removed.
 *
 * Profiles. The library can be built without some of its features; the small profile leaves out all that
 * docs/size.md lists. Every build exports every function. A function of a feature that was left out returns
 * SMQ_ERR_NOT_SUPPORTED and changes nothing, and so does a call whose options or message ask for the
 * feature. To learn what a build has, a program asks smq_options_check() about options that need it.
 *
 * Terms are those of the specification: https://docs.oasis-open.org/mqtt/mqtt/v5.0/ (section numbers below
 * are of 5.0 where nothing else is said).
 */
#ifndef SWIFTMQTT_H
#define SWIFTMQTT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "swiftmqtt-tls-engine.h"

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
 * A sequence of bytes. Strings are also passed like this, without a terminating zero. What the protocol
 * calls a UTF-8 Encoded String (section 1.5.4: topics, client id, user name) must be well-formed UTF-8
 * without U+0000, at most 65,535 bytes.
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

    /* The call is wrong. It changed nothing. */
    SMQ_ERR_NULL = -101,             /* a pointer is NULL that must not be */
    SMQ_ERR_STRUCT_SIZE = -102,      /* the library does not know this size of the struct, or a field is
                                        set that it does not know */
    SMQ_ERR_MEMORY_SIZE = -103,      /* the block is smaller than smq_client_size() says */
    SMQ_ERR_MEMORY_ALIGNMENT = -104, /* the block is not aligned to SMQ_MEMORY_ALIGNMENT */
    SMQ_ERR_CLIENT = -105,           /* the pointer is not a client, or a group, or it was closed */
    SMQ_ERR_STATE = -106,            /* the call is not possible in the client's state */
    SMQ_ERR_OPTION = -107,           /* an option is out of its range, or two contradict each other */
    SMQ_ERR_URL = -108,              /* the URL is malformed: smq_options_check() returns where */
    SMQ_ERR_NOT_SUPPORTED = -109,    /* the library does not speak this scheme or protocol version, or was
                                        built without the feature */
    SMQ_ERR_CLIENT_ID = -110,        /* these options do not allow this client id */
    SMQ_ERR_QOS = -111,              /* QoS is not 0, 1 or 2 */
    SMQ_ERR_TOPIC_NAME = -112,       /* a Topic Name is empty, too long, or has a wildcard (section 4.7) */
    SMQ_ERR_UTF8 = -113,             /* a string is not well-formed UTF-8, or contains U+0000 (section
                                        1.5.4) */
    SMQ_ERR_TOO_LARGE = -114,        /* the packet can never be sent: it is larger than its buffer, or than
                                        MQTT or the server allows */
    SMQ_ERR_TOPIC_FILTER = -115,     /* a Topic Filter is empty, too long, or has a misplaced wildcard
                                        (section 4.7) */
    SMQ_ERR_PROPERTY = -116,         /* a property is malformed, out of range, repeated, not allowed in
                                        this packet, or set by the library itself (section 2.2.2.2) */
    SMQ_ERR_TOKEN = -117,            /* no message with this token awaits smq_ack() */
    SMQ_ERR_REASON_CODE = -118,      /* this packet must not carry this Reason Code (section 2.4) */

    /* There is no room now. The call changed nothing. */
    SMQ_ERR_FULL = -201,          /* the outbox is full: take events, let it drain, try again */
    SMQ_ERR_NO_DESCRIPTOR = -202, /* the system or the process has no descriptor left */
    SMQ_ERR_OFFLINE = -203,       /* SMQ_OPTION_QOS_0_CONNECTED is set, and there is no connection */
    SMQ_ERR_NO_THREAD = -204,     /* the system cannot create the thread: see smq_runner.os_error */
    SMQ_ERR_INSPECT = -205,       /* the socket of smq_options.inspect cannot be made: see errno */

    /* The server. */
    SMQ_ERR_MALFORMED = -301,         /* it sent a packet that cannot be parsed (section 4.13) */
    SMQ_ERR_PROTOCOL = -302,          /* it sent a packet that is not allowed here (section 4.13) */
    SMQ_ERR_REFUSED = -303,           /* it refused the connection or a message: see the Reason Code */
    SMQ_ERR_SERVER_CLOSED = -304,     /* it sent DISCONNECT: see the Reason Code */
    SMQ_ERR_KEEP_ALIVE = -305,        /* it did not answer PINGREQ in time */
    SMQ_ERR_SESSION_LOST = -306,      /* it lost the session; it is unknown whether it has this QoS 2
                                         message */
    SMQ_ERR_RECEIVE_TOO_LARGE = -307, /* it sent a packet larger than allowed, or a message for whose
                                         necessary parts there is no room: see SMQ_EVENT_MESSAGE */
    SMQ_ERR_SERVER_LIMIT = -308,      /* a queued message or request exceeds a limit of the server that
                                         answered */
    SMQ_ERR_RECEIVE_MAXIMUM = -309,   /* it sent more QoS 1 and 2 messages than there is room for: see
                                         receive_maximum and unreleased_maximum */
    SMQ_ERR_EXPIRED = -310,           /* a message expired before it could be sent or, with QoS 1, before
                                         it could be resent after the server had lost the session */
    SMQ_ERR_DROPPED = -311,           /* a message made room for a later one, as its overflow policy says;
                                         or SMQ_OPTION_QOS_0_CONNECTED is set, and the connection ended
                                         before the message could be sent */
    SMQ_ERR_REPLACED = -312,          /* a later message with the same topic is sent instead:
                                         SMQ_OVERFLOW_LATEST */

    /* The network. */
    SMQ_ERR_RESOLVE = -401,     /* the host name has no address: os_error is getaddrinfo's EAI_… value */
    SMQ_ERR_NETWORK = -402,     /* a system call failed: os_error is its errno */
    SMQ_ERR_CLOSED = -403,      /* the peer closed the connection without giving a reason */
    SMQ_ERR_TIMEOUT = -404,     /* the time of the stage, or of the request, is up */
    SMQ_ERR_STREAM = -405,      /* the pull function of smq_publish_stream() failed in the middle of a
                                  packet */
    SMQ_ERR_CREDENTIALS = -406, /* the program called smq_withhold_credentials() */
    SMQ_ERR_TLS = -407,         /* TLS failed: smq_last_failure() has the cause */
    SMQ_ERR_PROXY = -408,       /* the proxy refused the connection, or the peer is not a proxy of this kind:
                                   smq_last_failure() has its answer */
    SMQ_ERR_WEBSOCKET = -409,   /* the WebSocket could not be opened, or the server broke a rule of RFC 6455:
                                   smq_last_failure() has HTTP's answer, or the close code */

    /* The journal. */
    SMQ_ERR_JOURNAL = -501,         /* it cannot be read or written; in an event, os_error is the errno */
    SMQ_ERR_JOURNAL_LOCKED = -502,  /* another process, or another client, has it open */
    SMQ_ERR_JOURNAL_CORRUPT = -503, /* something in it that was durable is not as it was written, or the
                                       file is no journal. Nothing was changed */
    SMQ_ERR_JOURNAL_OTHER = -504,   /* it is that of another client id, or of a newer library */
    SMQ_ERR_JOURNAL_SIZE = -505     /* it has more than these options have room for */
};

/* Where an attempt to connect, or a connection, ended. */
enum {
    SMQ_STAGE_NONE = 0,        /* nowhere: it ended because the program asked for it */
    SMQ_STAGE_RESOLVE = 1,     /* resolving the host name */
    SMQ_STAGE_CONNECT = 2,     /* opening the network connection */
    SMQ_STAGE_CONNACK = 3,     /* between sending CONNECT and the server's answer */
    SMQ_STAGE_CONNECTED = 4,   /* during an established connection */
    SMQ_STAGE_KEEP_ALIVE = 5,  /* waiting for PINGRESP */
    SMQ_STAGE_DISCONNECT = 6,  /* sending what was left before the DISCONNECT */
    SMQ_STAGE_ANSWER = 7,      /* waiting for the acknowledgement of a PUBLISH, PUBREL, SUBSCRIBE or
                                 UNSUBSCRIBE */
    SMQ_STAGE_WRITE = 8,       /* waiting for the peer to accept what is sent */
    SMQ_STAGE_CREDENTIALS = 9, /* waiting for smq_credentials() */
    SMQ_STAGE_PROXY = 10,      /* asking the proxy for the connection */
    SMQ_STAGE_TLS = 11,        /* the TLS handshake, until the server has accepted the client certificate */
    SMQ_STAGE_WEBSOCKET = 12   /* the WebSocket handshake */
};

/*
 * Which rule the server broke, when a connection ends with SMQ_ERR_MALFORMED, SMQ_ERR_PROTOCOL,
 * SMQ_ERR_RECEIVE_TOO_LARGE or SMQ_ERR_RECEIVE_MAXIMUM. smq_rule_name() returns the statement of the
 * specification.
 */
enum {
    SMQ_RULE_NONE = 0,
    /* The packet cannot be parsed. */
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
    /* The packet is not allowed here. */
    SMQ_RULE_UNEXPECTED_PACKET = 21,        /* only clients send it, or it is not allowed now */
    SMQ_RULE_FIRST_PACKET = 22,             /* the first packet was neither CONNACK nor AUTH */
    SMQ_RULE_UNWANTED_SESSION = 23,         /* Session Present after a Clean Start */
    SMQ_RULE_HANDSHAKE = 24,                /* an acknowledgement does not fit its message's QoS or state */
    SMQ_RULE_REASON_CODE_COUNT = 25,        /* SUBACK or UNSUBACK does not have one Reason Code for each
                                               filter */
    SMQ_RULE_TOPIC_ALIAS = 26,              /* a Topic Alias above the maximum */
    SMQ_RULE_UNKNOWN_TOPIC_ALIAS = 27,      /* a Topic Alias that stands for no topic yet */
    SMQ_RULE_RECEIVE_MAXIMUM = 28,          /* more unacknowledged messages than allowed */
    SMQ_RULE_PACKET_TOO_LARGE = 29,         /* larger than the Maximum Packet Size or the receive buffer */
    SMQ_RULE_UNEXPECTED_AUTHENTICATION = 30 /* AUTH that was not asked for, or with another method than
                                               that of CONNECT */
};

/*
 * Returns the library's version, (major << 16) | (minor << 8) | patch, to compare it with the SMQ_VERSION_…
 * macros of the header with which a program was compiled. Any thread, any time.
 *
 * Returns the version; no errors.
 */
SMQ_API uint32_t smq_version(void);

/*
 * Describes how the structs of this header are laid out in the library. Bindings that do not compile the
 * header compare this with their own declarations before they call anything else. Any thread, any time.
 *
 * Returns numbers that live as long as the library. For each struct, in the order of this header, they are
 * its size, the number of its fields without the reserved ones, and for each of these fields its offset and
 * its size, in bytes. A 0 in place of a size is the end. Later versions 1.x may have fields in place of
 * reserved ones, fields at the end of a struct that has a size field, and structs at the end: compare by
 * offset. Never NULL, no errors.
 */
SMQ_API const uint16_t *smq_abi_layout(void);

/*
 * Returns the name of a status code, such as "SMQ_ERR_FULL". Any thread, any time.
 *
 * status   any value
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown status" for a value that is
 * not defined here. Never NULL, no errors.
 */
SMQ_API const char *smq_status_name(int32_t status);

/*
 * Returns what a status code means, as an English sentence, such as "the host name has no address". It has
 * no capital letter and no full stop, so that it can follow a colon. Any thread, any time.
 *
 * status   any value
 *
 * Returns a zero-terminated string that lives as long as the library; "the status is unknown" for a value
 * that is not defined here. Never NULL, no errors.
 */
SMQ_API const char *smq_status_text(int32_t status);

/*
 * Returns the name of a server's Reason Code as the specification spells it, such as "Not authorized". Any
 * thread, any time.
 *
 * protocol      SMQ_PROTOCOL_5_0: a Reason Code (section 2.4); any other value: a Connect Return code of
 *               3.1.1 (its section 3.2.2.3), or the 0x80 Failure of SUBACK
 * reason_code   0 to 255, or the -1 of an event without one: "none"
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown Reason Code" for a value
 * that the specification does not define. Never NULL, no errors.
 */
SMQ_API const char *smq_reason_code_name(uint32_t protocol, int32_t reason_code);

/*
 * Returns the name of a stage, such as "connack". Any thread, any time.
 *
 * stage   one of SMQ_STAGE_…
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown stage" for other values.
 * Never NULL, no errors.
 */
SMQ_API const char *smq_stage_name(int32_t stage);

/*
 * Returns what a rule says and where it stands, such as "well-formed UTF-8 without U+0000 [MQTT-1.5.4-1]".
 * Any thread, any time.
 *
 * rule   one of SMQ_RULE_…
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown rule" for other values.
 * Never NULL, no errors.
 */
SMQ_API const char *smq_rule_name(int32_t rule);

/* ---------------------------------------------------------------------------------------------
 * 2  Properties
 *
 * MQTT 5.0 lets nearly every packet carry properties (section 2.2.2). In this interface, a list of
 * properties is a smq_bytes: the properties as they are on the wire, one after the other, without the
 * length that precedes them. The list of a received packet can be walked, kept, or passed on as it is. To
 * make a list, append to a buffer:
 *
 *     uint8_t buffer[100];
 *     smq_properties list = { buffer, sizeof(buffer), 0 };
 *     smq_property_put_bytes(&list, SMQ_PROPERTY_CONTENT_TYPE, &json);
 *     smq_property_put_pair(&list, &name, &value);
 *     message.properties = smq_property_list(&list);
 * ------------------------------------------------------------------------------------------- */

/*
 * The properties, in the order of Table 2-4. "number", "bytes" or "pair" says which function appends the
 * value.
 */
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
    SMQ_PROPERTY_USER_PROPERTY = 0x26,                     /* pair; the only one that may be repeated
                                                              freely */
    SMQ_PROPERTY_MAXIMUM_PACKET_SIZE = 0x27,               /* number: bytes */
    SMQ_PROPERTY_WILDCARD_SUBSCRIPTION_AVAILABLE = 0x28,   /* number: 0 or 1 */
    SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER_AVAILABLE = 0x29, /* number: 0 or 1 */
    SMQ_PROPERTY_SHARED_SUBSCRIPTION_AVAILABLE = 0x2A      /* number: 0 or 1 */
};

/* A list of properties that is being built in the program's buffer. */
typedef struct smq_properties {
    void *data;
    size_t capacity; /* bytes at data */
    size_t size;     /* bytes used so far; begins with 0 */
} smq_properties;

/* The list as it is now. */
static inline smq_bytes smq_property_list(const smq_properties *list) {
    smq_bytes bytes;
    bytes.data = list->data;
    bytes.size = list->size;
    return bytes;
}

/*
 * Appends a property whose value is a number. The call that takes the list checks whether the packet may
 * carry the property. Any thread; a list is not locked.
 *
 * list         the list; unchanged if there is an error
 * identifier   SMQ_PROPERTY_…
 * value        in the property's range
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL       list or its data is NULL
 *   SMQ_ERR_PROPERTY   the identifier is unknown, its value is not a number, or value is out of its range
 *   SMQ_ERR_FULL       the buffer has no room
 */
SMQ_API int32_t smq_property_put_number(smq_properties *list, uint32_t identifier, uint32_t value);

/*
 * Appends a property whose value is a string, or any bytes. Any thread; a list is not locked.
 *
 * list         the list; unchanged if there is an error
 * identifier   SMQ_PROPERTY_…
 * value        at most 65,535 bytes
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL       list, its data or value is NULL, or value has a size and no data
 *   SMQ_ERR_PROPERTY   the identifier is unknown, its value is of another kind, or value is too long
 *   SMQ_ERR_UTF8       the property is a string, and value is not well-formed UTF-8
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
    uint32_t number;     /* its value if that is a number, otherwise 0 */
    uint32_t reserved;   /* 0 */
    smq_bytes name;      /* the name of a User Property; otherwise empty */
    smq_bytes value;     /* string or bytes; the value of a User Property */
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
 * position   begins with 0; moved to the next property
 * property   where to put it; property->size must be set. Its pointers point into the list
 *
 * Returns 1 if there was a property; 0 at the end; or SMQ_ERR_NULL, SMQ_ERR_STRUCT_SIZE, or
 * SMQ_ERR_PROPERTY if the list is malformed, which cannot happen with the list of an event.
 */
SMQ_API int32_t smq_property_next(const smq_bytes *list, size_t *position, smq_property *property);

/* ---------------------------------------------------------------------------------------------
 * 3  A message
 * ------------------------------------------------------------------------------------------- */

/*
 * smq_message.overflow, the overflow policy: what happens to a message when the outbox is full, because the
 * link is slow or has been down for long. A message that is published with any policy but
 * SMQ_OVERFLOW_REFUSE may be dropped for a later one as long as its first byte was not sent, unless it
 * belongs to smq_request() or smq_publish_stream(). Each dropped message that is not quiet ends in an
 * SMQ_EVENT_COMPLETED of its own, with SMQ_ERR_DROPPED or SMQ_ERR_REPLACED, which keeps one of
 * outbox_messages until it is taken. So does every value that SMQ_OVERFLOW_LATEST replaces: if no place is
 * free, the newer value gets SMQ_ERR_FULL, and the older one stays. Plan for two places for each topic, and
 * take the events before the next value comes; or set quiet: then a topic needs one place, however long the
 * link is down.
 */
enum {
    SMQ_OVERFLOW_REFUSE = 0,      /* the call returns SMQ_ERR_FULL */
    SMQ_OVERFLOW_DROP_OLDEST = 1, /* the oldest messages that may be dropped make room for it;
                                     SMQ_ERR_FULL, and nothing is dropped, if dropping all of these would
                                     not make enough room */
    SMQ_OVERFLOW_DROP_NEWEST = 2, /* it is dropped itself: the call returns SMQ_DROPPED */
    SMQ_OVERFLOW_LATEST = 3       /* only the latest value of its topic is of use. Whether there is room or
                                     not, a waiting message with the same topic and SMQ_OVERFLOW_LATEST
                                     ends with SMQ_ERR_REPLACED, and the new one takes its place in the
                                     queue if it is no larger; otherwise as with SMQ_OVERFLOW_DROP_OLDEST.
                                     Sent without Topic Alias */
};

/*
 * What a call that publishes returns instead of SMQ_OK for a message that SMQ_OVERFLOW_DROP_NEWEST dropped.
 * No event follows.
 */
enum {
    SMQ_DROPPED = 1
};

/*
 * smq_message.store: whether a message of QoS 1 is written to the journal. One of QoS 2 always is
 * (SMQ_ERR_OPTION with SMQ_STORE_NONE), one of QoS 0 never; without a journal it makes no other difference.
 */
enum {
    SMQ_STORE_DEFAULT = 0, /* it is, unless it is acknowledged within journal_delay_ms */
    SMQ_STORE_NONE = 1     /* it is not, and ends with the process: for what is soon out of date */
};

/* An Application Message (section 3.3), to be published or to be used as the Will. */
typedef struct smq_message {
    uint32_t size;     /* sizeof(smq_message) */
    uint8_t qos;       /* 0 at most once, 1 at least once, 2 exactly once (section 4.3) */
    uint8_t retain;    /* 1: the server retains it for later subscribers (section 3.3.1.3); otherwise 0 */
    uint8_t quiet;     /* 1: no SMQ_EVENT_COMPLETED if it succeeds, or is dropped as overflow says, only if
                          it fails; otherwise 0. Ignored in a Will */
    uint8_t overflow;  /* SMQ_OVERFLOW_…: what happens when there is no room. Ignored in a Will */
    smq_bytes topic;   /* Topic Name: 1 to 65,535 bytes of UTF-8, no wildcard (section 4.7) */
    smq_bytes payload; /* any bytes; may be empty */
    uint64_t cookie;   /* the program's own value, returned in the completion. Ignored in a Will */
    /*
     * 5.0 only, else empty: properties of a PUBLISH or of the Will (sections 3.3.2.3 and 3.1.3.2), except
     * Topic Alias, which the library sets. A Message Expiry Interval is counted down while the message is
     * queued.
     */
    smq_bytes properties;
    /*
     * After how many seconds the message is of no use any more (section 3.3.2.3.3); 0: never. A message
     * that was not sent by then ends with SMQ_ERR_EXPIRED. In 5.0 a message that is sent carries the
     * remaining time; in 3.1 and 3.1.1 the server does not learn it, and a Will cannot have it. Not
     * together with a Message Expiry Interval in properties.
     */
    uint32_t expiry_s;
    uint8_t urgent;     /* 1: it is sent before all messages that are not urgent, and has room of its own:
                           smq_options.urgent_messages. Only for smq_publish(), smq_respond() and
                           smq_submit(); ignored in a Will */
    uint8_t store;      /* SMQ_STORE_…: whether the journal gets it, if there is one. Ignored in a Will */
    uint16_t reserved2; /* 0 */
} smq_message;

/* A smq_message with its size set and everything else zero. */
#define SMQ_MESSAGE_INIT                                                                                               \
    { sizeof(smq_message), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, { NULL, 0 }, 0, 0, 0, 0 }

/* ---------------------------------------------------------------------------------------------
 * 4  Options, memory, life of a client
 * ------------------------------------------------------------------------------------------- */

typedef struct smq_client smq_client; /* opaque; lives in the program's memory */

#define SMQ_MEMORY_ALIGNMENT 8 /* bytes; malloc() aligns at least like this on every target */

/* protocol */
enum {
    SMQ_PROTOCOL_3_1 = 3,   /* "MQIsdp", for servers that know nothing newer; needs a client id of 1 to 23
                               bytes */
    SMQ_PROTOCOL_3_1_1 = 4, /* the default */
    SMQ_PROTOCOL_5_0 = 5
};

/* smq_options.flags, added up */
enum {
    /*
     * Keep the Session State across connections (Clean Start 0; Clean Session 0 in 3.1.1): messages that
     * are in flight when a connection ends are resent on the next one, and QoS 2 stays exactly once. Needs
     * a client id. Without this option every connection begins a new session.
     */
    SMQ_OPTION_KEEP_SESSION = 1,
    /*
     * 5.0, together with SMQ_OPTION_KEEP_SESSION: the first connection of this client begins a new session
     * (Clean Start 1), whatever an earlier process left; later connections resume it.
     */
    SMQ_OPTION_NEW_SESSION = 2,
    /*
     * If the server does not speak the protocol version, try the next older one within the same attempt:
     * 5.0, then 3.1.1, then 3.1 (if the client id allows it). A server that answers the first CONNECT by
     * closing the connection is taken for one that does not speak it. Once an older version was accepted,
     * the client stays with it. With an Authentication Method there is no fallback. SMQ_EVENT_CONNECTED
     * says which version is spoken.
     *
     * After a fallback, calls that need 5.0 are refused. Messages that were queued for 5.0 before, those of
     * smq_respond() included, are sent without their properties, and a SUBSCRIBE without Retain As
     * Published and Retain Handling. A smq_request(), and a SUBSCRIBE with no_local or an identifier, would
     * do harm without them, and end with SMQ_ERR_SERVER_LIMIT. An older version cannot begin a new session
     * and keep it: SMQ_OPTION_NEW_SESSION applies to 5.0 alone.
     */
    SMQ_OPTION_FALLBACK = 4,
    /*
     * Without this option, each '%' in client_id stands for a random byte, which smq_client_init() draws
     * and writes as two upper-case hex digits: "gateway-%%%%". smq_client_id() returns the result.
     */
    SMQ_OPTION_CLIENT_ID_AS_IS = 8,
    /* Every QoS 1 and 2 message waits for smq_ack(), as if smq_hold() had been called. */
    SMQ_OPTION_HOLD = 16,
    /*
     * A message larger than the receive buffer arrives in parts, each an SMQ_EVENT_MESSAGE, unless its
     * topic and properties take more than three quarters of the buffer. Without this option such a message
     * is read to its end, acknowledged, and reported with SMQ_ERR_RECEIVE_TOO_LARGE and without its
     * payload. In 5.0, however, the server is told not to send it and omits it without a report, unless
     * maximum_packet_bytes is set.
     */
    SMQ_OPTION_PARTS = 32,
    /*
     * After a failed attempt, or when a connection ends, the client does not reconnect by itself: the
     * program calls smq_connect().
     */
    SMQ_OPTION_NO_RECONNECT = 64,
    /* The order of several servers is random in each round, so that a fleet spreads over them. */
    SMQ_OPTION_SHUFFLE = 128,
    /*
     * 5.0: follow a server that refers to another one (0x9C Use another server, 0x9D Server moved; section
     * 4.11) at once, if its Server Reference is a host name or an address, with or without a port. If that
     * server fails, the servers of the options follow as before. After Server moved, the new server stays
     * the first to be tried as long as connections to it last. The client follows at most four times in a
     * row; after that, and without this option, the program only gets server_reference in the event. The
     * credentials are sent to the server that was referred to: set this only for servers that are trusted
     * with that.
     */
    SMQ_OPTION_REDIRECT = 256,
    /*
     * QoS 0 messages are for the current connection only: without a connection publishing one returns
     * SMQ_ERR_OFFLINE, and messages that were not sent when the connection ends end with SMQ_ERR_DROPPED.
     * Without this option they are queued like the others.
     */
    SMQ_OPTION_QOS_0_CONNECTED = 512,
    /*
     * Each attempt begins with SMQ_EVENT_CREDENTIALS, and continues after smq_credentials(). In this way
     * the next attempt can replace a token that has expired, or that the server refused. user_name and
     * password must be empty.
     */
    SMQ_OPTION_ASK_CREDENTIALS = 1024,
    /*
     * The library does not resolve host names: an attempt to connect to a server whose host is not a
     * numeric address causes an SMQ_EVENT_ADDRESSES, and continues after smq_addresses(). An address with a
     * zone ("fe80::1%eth0") counts as a host name, and smq_addresses() accepts none: a link-local server is
     * only possible in smq_options.host without this option, where libc's resolver finds the zone.
     */
    SMQ_OPTION_ASK_ADDRESSES = 2048,
    /*
     * The program provides the transport and the clock, and the client is a bare engine: see chapter 13.
     * smq_client_init() makes no system call except for a random number, and the library reads no clock.
     */
    SMQ_OPTION_OWN_TRANSPORT = 4096,
    /*
     * CONNECT has a user name, or a password, even if user_name or password is empty: an empty one, which
     * differs from none (sections 3.1.3.5 and 3.1.3.6). Not with SMQ_OPTION_ASK_CREDENTIALS.
     */
    SMQ_OPTION_USER_NAME = 8192,
    SMQ_OPTION_PASSWORD = 16384,
    /*
     * 5.0: session_expiry_s counts even if it is 0. CONNECT then has no Session Expiry Interval, which means
     * 0: the session ends with the connection (section 3.1.2.11.2). Together with SMQ_OPTION_KEEP_SESSION a
     * connection resumes the session that an earlier process left, takes what waits there, and leaves no
     * session behind. To decide that at the end of a connection instead, pass a Session Expiry Interval of 0
     * to smq_disconnect_with(). After a fallback to 3.1 or 3.1.1 this option has no effect: these versions
     * keep a session without a limit.
     */
    SMQ_OPTION_SESSION_EXPIRY = 32768,
    /* With host instead of url: the connection is a WebSocket, with tls one over TLS. */
    SMQ_OPTION_WEBSOCKET = 65536
};

/* smq_options.jitter: how the waits between attempts to connect are randomized */
enum {
    SMQ_JITTER_FULL = 1,         /* from half of reconnect_min_ms to a bound that doubles; the default */
    SMQ_JITTER_DECORRELATED = 2, /* from reconnect_min_ms to three times the last wait */
    SMQ_JITTER_NONE = 3          /* the bound itself: for tests, and for a single client */
};

/* smq_options.resubscribe: when to resubscribe */
enum {
    SMQ_RESUBSCRIBE_IF_LOST = 1, /* after CONNACK without Session Present; always with 3.1, which does not
                                    have it */
    SMQ_RESUBSCRIBE_ALWAYS =
        2, /* on every connection; retained messages arrive again, unless retain_handling prevents it */
    SMQ_RESUBSCRIBE_NEVER = 3
};

/* Turns off a time for which 0 means the default: keep_alive_s, connect_timeout_ms, … */
#define SMQ_OFF UINT32_MAX
/* session_expiry_s: the session never expires (section 3.1.2.11.2). */
#define SMQ_FOREVER UINT32_MAX

/*
 * The options of a client. Zero means the default everywhere, so set only what matters; either url or host
 * is required. A field for 5.0 only is an error with an older protocol where its comment says "else 0" or
 * "else empty"; where it says "5.0:", an older version ignores it.
 */
typedef struct smq_options {
    uint32_t size;  /* sizeof(smq_options) */
    uint32_t flags; /* SMQ_OPTION_…, added up */

    /*
     * The server in one line, or up to 16 of them:
     *
     *     mqtt://[user[:password]@]host[:port][,host[:port]]…[/]           TCP; port 1883
     *     mqtts://…                                                        TLS; port 8883
     *     ws://[user[:password]@]host[:port][,…][/path[?query]]            WebSocket; port 80
     *     wss://…                                                          WebSocket over TLS; port 443
     *     unix:/path                                                       a socket in the file system
     *     [user[:password]@]host[:port][,…]                                as with host: TCP; TLS with tls
     *
     * host is a host name, an IPv4 address or an IPv6 address in brackets; user and password, those of MQTT,
     * may be percent-encoded. Nothing else is accepted, and nothing is ignored: in a query of mqtt://, the
     * first key is where the URL is wrong. With a url, host and port must be empty, and so must user_name and
     * password as far as the URL has them. ASCII, at most 1,024 bytes; with ws:// and wss:// 4,096, of which
     * at most 1,024 before the path, which is sent as it is. A path in the file system has at most 107.
     *
     * mqtts:// and wss:// need tls; mqtt:// and ws:// with tls are an error, because nobody meant to send in
     * plain what tls was to protect.
     *
     * Several servers are tried in their order (but see SMQ_OPTION_SHUFFLE), without a wait in between. The
     * last server to which a connection lasted for stable_ms is tried first. When all have been tried, the
     * client waits (see reconnect_min_ms) before the next round. All servers get the same CONNECT.
     */
    smq_bytes url;
    smq_bytes host;    /* a host name or a numeric address, at most 253 bytes; beginning with a slash: a
                          socket in the file system. With tls it is TLS, without it is not. A zone follows
                          a link-local address, as in "fe80::1%eth0", which a URL cannot express; not with
                          SMQ_OPTION_ASK_ADDRESSES */
    uint32_t port;     /* 1 to 65,535; 0: 1883, 8883 with tls, and 80 or 443 with SMQ_OPTION_WEBSOCKET */
    uint32_t protocol; /* SMQ_PROTOCOL_…; 0: 3.1.1 */

    /*
     * Client Identifier (section 3.1.3.1), UTF-8, at most 65,535 bytes; servers must accept 1 to 23 letters
     * and digits. Empty: the server assigns one, which is only possible without SMQ_OPTION_KEEP_SESSION.
     */
    smq_bytes client_id;
    smq_bytes user_name; /* UTF-8, at most 65,535 bytes; empty: none, or see SMQ_OPTION_USER_NAME */
    smq_bytes password;  /* at most 65,535 bytes; empty: none, or see SMQ_OPTION_PASSWORD. In 3.1.1 only
                            with a user name [MQTT-3.1.2-22] */

    /*
     * The Will: the message that the server publishes if the connection ends without smq_disconnect()
     * (section 3.1.2.5). NULL: none. Its payload has at most 65,535 bytes, and its properties may have a
     * Will Delay Interval. smq_client_init() copies it.
     */
    const smq_message *will;
    /*
     * 5.0 only, else empty: properties of CONNECT in addition to those that other fields set (section
     * 3.1.2.11): Request Response Information, Request Problem Information, User Properties, Authentication
     * Method and Data (see smq_authenticate()). smq_client_init() copies them.
     */
    smq_bytes properties;

    uint32_t keep_alive_s;       /* Keep Alive (section 3.1.2.10): 1 to 65,535; 0: 60; SMQ_OFF: none. The
                                    server may set another. PINGREQ is sent when nothing was sent, or
                                    nothing was received, for that time less an eighth of it, at most a
                                    second less; and while it is unanswered, again whenever nothing was
                                    sent for as long */
    uint32_t session_expiry_s;   /* 5.0 only, else 0: how long the server keeps the session after the
                                    connection (section 3.1.2.11.2). 0: SMQ_FOREVER with
                                    SMQ_OPTION_KEEP_SESSION, otherwise it ends with the connection; with
                                    SMQ_OPTION_SESSION_EXPIRY it always does */
    uint32_t connect_timeout_ms; /* for each attempt, from its beginning to CONNACK, name resolution
                                    included: 1 to 86,400,000; 0: 30,000; SMQ_OFF: none. The addresses of a
                                    host name race: each has a head start of 250 ms, then the next one
                                    begins, too (RFC 8305) */
    uint32_t ping_timeout_ms;    /* how long the server may stay silent after PINGREQ: 1 to 86,400,000; 0:
                                    10,000. Any byte that it sends restarts this time, only PINGRESP ends
                                    it, and a second PINGREQ does not extend it. On a slow link, allow for
                                    the bytes that are sent before it: outbox_bytes and more */

    /*
     * Capacities. They decide how much memory the client takes.
     *
     * The outbox holds published messages until they are sent (QoS 0) or acknowledged (QoS 1 and 2), as
     * packets: payload + topic + about 8 bytes each. Space is freed in the order of publishing, so an
     * unacknowledged message keeps the messages after it. A message that is complete frees its bytes at
     * once, and its place among outbox_messages when its event has been taken.
     */
    uint32_t outbox_bytes;         /* 64 to 268,435,456; 0: 65,536 */
    uint32_t outbox_messages;      /* 1 to 65,023, each takes 41 bytes, from 512 on 46; 0: 256 */
    uint32_t receive_bytes;        /* the receive buffer: 64 to 268,435,456; 0: 4,096. A message that fits
                                      arrives whole */
    uint32_t in_flight_maximum;    /* QoS 1 and 2 messages sent and not yet acknowledged at any time: 1 to
                                      65,535. The server's Receive Maximum (section 4.9) also applies. 0:
                                      that alone; 20 with 3.1 and 3.1.1, where a server cannot announce its
                                      limit, and Mosquitto, by default, closes the connection when there
                                      are more */
    uint32_t receive_maximum;      /* QoS 1 and 2 messages received and not yet acknowledged at a time: 1
                                      to 65,535, each takes 12 bytes, above 64 up to 18; 0: 64. In 5.0 the
                                      server is told, and the connection ends if it sends more; before 5.0,
                                      and in a session that the server kept, further messages wait. See
                                      also unreleased_maximum */
    uint32_t maximum_packet_bytes; /* 5.0: the Maximum Packet Size that the server is told (section
                                      3.1.2.11.4), which then omits larger messages: receive_bytes to
                                      268,435,460; 0: receive_bytes without SMQ_OPTION_PARTS, otherwise
                                      none; SMQ_OFF: none */
    uint32_t requests;             /* SUBSCRIBE and UNSUBSCRIBE packets not yet acknowledged: 1 to 256,
                                      each takes 32 bytes; 0: 8 */
    uint32_t request_bytes;        /* the room for these packets: 32 to 268,435,456; 0: 1,024 */
    uint32_t control_bytes;        /* the room for acknowledgements, AUTH and DISCONNECT that wait to be
                                      sent: 32 to 1,048,576; 0: an eighth of receive_bytes, but 256 to
                                      4,096. Eight of them are reserved for PINGREQ and DISCONNECT: none of
                                      these packets can be larger than control_bytes - 8. In addition to
                                      its properties an acknowledgement takes 6 bytes, DISCONNECT 4 (above
                                      120, up to 2 more). An AUTH must fit, too: enhanced authentication
                                      needs at least 8 + 12 + the length of the method + that of the data
                                      (above 16,000, 2 more) */
    uint32_t handlers;             /* entries in the table of smq_handle(): 0 to 65,535, each takes 24
                                      bytes, above 16 up to 34; then the table has an index, and
                                      handler_bytes a quarter more */
    uint32_t handler_bytes;        /* the room for their Topic Filters: 1 to 268,435,456; 0: 32 for each */
    uint32_t topic_aliases_in;     /* 5.0: Topic Aliases the server may use (section 3.3.2.3.4): 0 to 1,024 */
    uint32_t topic_aliases_out;    /* 5.0: Topic Aliases to use, as far as the server allows: 0 to 1,024;
                                      the least recently used one makes room (one that a message in the
                                      outbox relies on is in use). Topics longer than
                                      topic_alias_bytes have none, nor have requests, reserved and streamed
                                      messages, and messages that are published while there is no
                                      connection */
    uint32_t topic_alias_bytes;    /* the longest topic kept for an alias, in each direction: 1 to 65,535;
                                      0: 128 */
    uint32_t replies;              /* smq_request() calls that wait for their reply: 0 to 1,024, each takes
                                      24 bytes. Before 5.0 it takes no memory, like topic_aliases_in and
                                      topic_aliases_out */
    uint32_t stream_bytes;         /* the buffer of smq_publish_stream(): 0 (then it returns
                                      SMQ_ERR_NOT_SUPPORTED), or 64 to 1,048,576 */

    /*
     * How long the client waits before it reconnects: exponential backoff with jitter. The bound of the
     * wait begins at reconnect_min_ms and doubles up to reconnect_max_ms, whatever failed: name resolution,
     * a refusal, a connection that did not last. Once a connection has lasted for stable_ms, the next wait
     * begins a new sequence.
     */
    uint32_t reconnect_min_ms; /* 10 to 86,400,000; 0: 1,000 */
    uint32_t reconnect_max_ms; /* reconnect_min_ms to 86,400,000; 0: 60,000, or reconnect_min_ms if that is
                                  longer. The longest time that the client may still wait when the network
                                  is back, even after a short outage: set it to the gap that is acceptable */
    uint32_t stable_ms;        /* 1 to 86,400,000; 0: 30,000 */
    uint32_t jitter;           /* SMQ_JITTER_…; 0: SMQ_JITTER_FULL */

    /*
     * When a connection is established and the server has lost the session, the client resubscribes, filter
     * by filter. There is no completion for that, but see SMQ_EVENT_SUBSCRIPTION_LOST. User Properties are
     * not repeated.
     */
    uint32_t subscriptions;      /* Topic Filters kept for that: 1 to 1,024, each takes 16 bytes, above 16
                                    up to 26, and a quarter of subscription_bytes; 0: 16; SMQ_OFF: none */
    uint32_t subscription_bytes; /* the room for them: 1 to 268,435,456; 0: 32 for each */
    uint32_t resubscribe;        /* SMQ_RESUBSCRIBE_…; 0: SMQ_RESUBSCRIBE_IF_LOST */

    /*
     * A second outbox, the priority queue: it is for urgent messages only, which are sent before all
     * others. Whatever fills the first outbox, an alarm has its room. Messages in flight count together.
     */
    uint32_t urgent_messages; /* 0: there is none; 1 to 256, each takes 41 bytes, and all together some 700
                                 more */
    uint32_t urgent_bytes;    /* 64 to 268,435,456; 0: 128 for each */

    /*
     * A server that no longer acknowledges, or accepts no bytes, is given up even if it still answers
     * PINGREQ. Each of these timeouts ends the connection with SMQ_ERR_TIMEOUT; what was in flight is
     * resent on the next one.
     */
    uint32_t answer_timeout_ms;   /* the acknowledgement timeout: how long no acknowledgement at all may
                                     arrive while PUBLISH, PUBREL, SUBSCRIBE or UNSUBSCRIBE wait for one,
                                     at SMQ_STAGE_ANSWER: 1 to 86,400,000; 0: 30,000; SMQ_OFF: none. On a
                                     slow link, allow for the bytes that are sent before it */
    uint32_t write_timeout_ms;    /* how long the kernel may accept no byte, because the peer accepts none,
                                     at SMQ_STAGE_WRITE: 1 to 86,400,000; 0: 30,000; SMQ_OFF: none */
    uint32_t tcp_user_timeout_ms; /* Linux's TCP_USER_TIMEOUT: how long the kernel resends unacknowledged
                                     data before the connection ends with ETIMEDOUT: 1 to 86,400,000; 0:
                                     the system's default */
    uint32_t credential_bytes;    /* with SMQ_OPTION_ASK_CREDENTIALS: the room for user name and password
                                     together, once for each version that may be spoken: 1 to 131,070; 0:
                                     512. Otherwise 0 */
    uint32_t submit_messages;     /* messages of smq_submit() that wait to be moved into the outbox: 0
                                     (then it returns SMQ_ERR_NOT_SUPPORTED), or 1 to 65,536, rounded up to
                                     a power of two; each takes 40 bytes and submit_bytes, and all together
                                     some 140 more */
    uint32_t submit_bytes;        /* the room for topic, properties and payload of each: 16 to 1,048,576,
                                     all together at most 268,435,456; 0: 256 */
    uint32_t unreleased_maximum;  /* QoS 2 messages at a time that were delivered to the program and that
                                     the server has not released (PUBREL), those of this connection and of
                                     the one before: 1 to 65,535. Up to 512 take 8 to 16 bytes each; from
                                     513 on there is room for all 65,535, in 8,192 bytes. 0: all, but
                                     receive_maximum in a session that ends with the connection. A server
                                     may send more: Mosquitto sends everything that a session has kept,
                                     whatever limit it is told. If the session is kept, the excess is not
                                     delivered. When the server has released the others, the connection
                                     ends with SMQ_ERR_RECEIVE_MAXIMUM, and on the next one the server
                                     sends the rest again, so that each connection brings at least this
                                     many messages. Nothing is lost, and the order stays. If the session is
                                     not kept, everything is delivered, because nothing can arrive again */
    uint32_t addresses;           /* how many addresses of a host name are tried, from the first: 1 to 8,
                                     each takes 20 bytes; 0: 8. With 1 no other is ever tried, even if the
                                     first cannot be reached from here */

    /*
     * TLS. The library knows no TLS itself: an engine does it, such as smq_tls_openssl() of
     * <swiftmqtt-tls.h>. Verification is the engine's, and on unless its settings switch it off.
     * <swiftmqtt-tls-engine.h> says how to write one. The engine and its settings must live as long as the
     * client. With SMQ_OPTION_OWN_TRANSPORT it works as well: over a serial line, for example.
     */
    const smq_tls_engine *tls; /* NULL: none */
    const void *tls_settings;  /* what the engine makes of them: a smq_tls * for OpenSSL's */
    smq_bytes tls_name;        /* the name that is sent to the server (SNI) and that its certificate must
                                  be for, at most 253 bytes; empty: host. Needed for a socket in the file
                                  system */
    smq_bytes alpn;            /* the application protocol to ask for (RFC 7301), at most 255 bytes, such
                                  as "mqtt" or "x-amzn-mqtt-ca"; empty: none. A server that knows none of
                                  it may refuse, or ignore it */

    /*
     * A proxy, which connects to the server: socks5://[user[:password]@]host[:port][/] (RFC 1928; port 1080),
     * which may be written socks5h://, too, or http://… (CONNECT, RFC 9110 section 9.3.6; port 80; user and
     * password as Basic). The proxy looks the server's name up; nobody here does. All servers are reached
     * through it. A password that is not given is sent as an empty one. user and password are
     * percent-encoded, and at most 255 bytes each. Not with a socket in the file system, and with
     * SMQ_OPTION_ASK_ADDRESSES only with a numeric address. With SMQ_OPTION_OWN_TRANSPORT the program opens
     * the connection to the proxy.
     */
    smq_bytes proxy; /* at most 1,024 bytes; empty: none */

    /*
     * WebSocket (section 6, RFC 6455): with ws://, wss:// or SMQ_OPTION_WEBSOCKET; otherwise all empty and 0.
     */
    smq_bytes websocket_path;         /* with host: the path and query of the request, from its slash on,
                                         at most 4,096 bytes; empty, and for a URL without a path: "/mqtt" */
    smq_bytes websocket_headers;      /* more lines of the request, each with "\r\n" at its end, at most
                                         8,192 bytes. Not those that the library writes itself: Upgrade,
                                         Connection, Sec-WebSocket-…, and none that announces a body. A
                                         Host field replaces the one made from the URL */
    smq_bytes websocket_protocol;     /* the subprotocols to offer, separated by ", ", at most 255 bytes;
                                         empty: "mqtt", for 3.1 "mqttv3.1, mqtt" */
    uint32_t websocket_bytes;         /* the largest frame to send, with its header of up to 14 bytes: 256
                                         to 65,536; 0: 4,096. Larger is faster, up to some 16,384 */
    uint32_t websocket_request_bytes; /* the room for path and headers together, for
                                         smq_websocket_request(): 0 (those of the options), or up to 16,384 */

    /* Sockets. Not with SMQ_OPTION_OWN_TRANSPORT, and not for a socket in the file system. */
    smq_bytes bind_device;     /* SO_BINDTODEVICE: the name of the network interface that connections use,
                                  at most 15 bytes; empty: as the routes say. Before Linux 5.7 it needs a
                                  capability */
    smq_bytes bind_address;    /* the numeric address that connections come from; empty: as the routes say.
                                  Addresses of servers of the other family fail then */
    uint32_t dscp;             /* the Differentiated Services Codepoint (RFC 2474) of all packets: 1 to 63;
                                  0: the system's */
    uint32_t tcp_keep_alive_s; /* TCP's own keep-alive: the kernel probes a connection that was idle for so
                                  long, and gives it up after the system's number of probes: 1 to 32,767;
                                  0: none. MQTT's is keep_alive_s */

    uint32_t references; /* messages of smq_publish_reference() that are not complete: 0 (then it returns
                            SMQ_ERR_NOT_SUPPORTED), or 1 to 65,535, each takes 24 bytes, on 32 bits 12 */

    /*
     * How long smq_wait(), and the thread of smq_runner_start(), look for what arrives before they sleep, as
     * long as there is a connection: 1 to 1,000,000 microseconds; 0: they sleep at once. A wake-up costs the
     * processor more than to look for some ten microseconds, and answers of a server on the same machine or
     * network come in that time; for longer it only heats. SO_BUSY_POLL is set to the same time, if the
     * system allows it (CAP_NET_ADMIN); it also works in a loop of the program's own. docs/performance.md
     * says where it helps. A signal that comes while they look does not end the wait. Not with
     * SMQ_OPTION_OWN_TRANSPORT.
     */
    uint32_t busy_poll_us;

    /*
     * The journal: a file that keeps messages of QoS 1 and 2, and the state of QoS 2 in both directions,
     * over the end of the process and over a power cut. The next client with the same file and client id
     * takes them up in smq_client_init(): what was stored arrives at least once, with QoS 2 exactly once.
     * smq_sync() waits until everything is stored. Publishing does not wait for the disk, and a message of
     * QoS 1 leaves at once; PUBLISH of QoS 2, PUBREL and PUBCOMP leave when what they rely on is durable.
     * docs/journal.md has the file's format.
     *
     * Needs SMQ_OPTION_KEEP_SESSION. Without a path the others have to be 0, unless the program has the
     * storage. Not stored, so not possible with QoS 2 (SMQ_ERR_NOT_SUPPORTED): smq_publish_stream(),
     * smq_publish_reference() and smq_request(). Not stored either: QoS 0, subscriptions, and the payloads
     * of received messages, for which there is smq_hold(). Topic Aliases are used for QoS 0 alone. Unless the
     * client speaks nothing but 5.0, two bytes for each of outbox_messages stay free in the outbox, at most
     * two ninths of it, because a message of an older version grows when the next process speaks 5.0.
     */
    smq_bytes journal;            /* the file's path, 1 to 1,000 bytes; empty: no journal. The file is made
                                     with mode 0600 if it is not there, as PATH.new until it is whole. With
                                     SMQ_OPTION_OWN_TRANSPORT it is empty, and journal_bytes says that there
                                     is a journal: the program has the storage (smq_engine_storage()) */
    uint32_t journal_bytes;       /* the file's size: 65,536 to 1,073,741,824, which has to be what these
                                     options need at least: twice what the outbox has room for, and some. 0:
                                     that much, or what the file has already. A file of another size is
                                     replaced by one of this size with the same messages, as PATH.new until
                                     it is whole; unless that fails, and the old one is enough */
    uint32_t journal_delay_ms;    /* how long a message waits for others that are written with it: 1 to
                                     60,000; 0: 20. One that is acknowledged meanwhile is never written */
    uint32_t journal_batch_bytes; /* how much is written at once at most: 4,096 to 1,048,576, rounded up to
                                     whole blocks of 4,096; 0: 16,384. The client has a buffer of this size. A
                                     message of QoS 1 or 2 must fit into it, and is refused otherwise
                                     (SMQ_ERR_TOO_LARGE) */
    uint32_t journal_flags;       /* SMQ_JOURNAL_STRICT and the like, added up */

    /*
     * The trace: the client keeps the last packets that went over its connections, in both directions, for
     * smq_trace_read(): what came before a failure can be looked at afterwards.
     */
    uint32_t trace_bytes;        /* the room for them: 256 to 16,777,216; 0: no trace. Each packet takes 16
                                    bytes and what is kept of it */
    uint32_t trace_packet_bytes; /* how much is kept of a packet, from its beginning: 1 to a quarter of
                                    trace_bytes; 0: 256, or that quarter if it is less. Without a trace 0 */

    /*
     * The inspection socket: programs such as smq inspect connect to it, and read what goes over the client's
     * connections, and its statistics. It is a socket of datagrams in order (SOCK_SEQPACKET); each datagram
     * consists of whole blocks of a capture file (pcapng). A program that sends a datagram of any kind is
     * sent the statistics: lines of the names of smq_stats and their values, as the comment of an Interface
     * Statistics Block. Passwords and Authentication Data are covered.
     *
     * Up to four programs may be connected; further ones are turned away. A program that has not read what it
     * was sent before loses packets, is told how many, and never holds up the client. While none is
     * connected, nothing is done. smq_client_init() makes the socket, and takes the place of one that a
     * process has left behind; smq_client_close() removes it. Not with SMQ_OPTION_OWN_TRANSPORT.
     */
    smq_bytes inspect;      /* its path: 1 to 107 bytes, no zero among them; size 0: there is none */
    uint32_t inspect_mode;  /* its permissions: up to 0777; 0: 0600, for the user of the process alone */
    uint32_t inspect_bytes; /* the room for packets on their way to these programs: 4,096 to 131,072;
                               0: 65,536. Of a larger packet they are told the beginning */
} smq_options;

/* smq_options.journal_flags */
enum {
    SMQ_JOURNAL_STRICT = 1, /* from SMQ_JOURNAL_FAILED to SMQ_JOURNAL_HEALED, messages of QoS 1 and 2 are
                               refused (SMQ_ERR_JOURNAL); without this flag they are accepted, not stored, and
                               those of QoS 1 are sent. QoS 2 waits for the journal in any case, and so does
                               everything after a CONNACK that has no session any more */
    SMQ_JOURNAL_INLINE = 2, /* no thread: the calls that drive the client write themselves, and wait for the
                               disk */
    SMQ_JOURNAL_TELL = 4,   /* SMQ_JOURNAL_STORED is reported */
    SMQ_JOURNAL_NUMBERS = 8 /* smq_delivery_number(): 10 bytes of journal_batch_bytes, and 24 of memory, for
                               each of receive_maximum */
};

/* A smq_options with its size set and everything else zero. */
#define SMQ_OPTIONS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(smq_options), 0, { NULL, 0 }, { NULL, 0 }, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL,           \
            { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
            0, 0, 0, 0, 0, 0, NULL, NULL, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },             \
            { NULL, 0 }, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, 0, { NULL, 0 }, 0, 0, 0, 0, 0, 0, { NULL, 0 }, 0, 0  \
    }

/*
 * Checks options as smq_client_init() does, and returns where a URL is malformed. Any thread.
 *
 * options      the options; only read
 * url_offset   NULL, or where to put the byte offset in options->url at which parsing stopped: 0 to
 *              url.size. Only written when the answer is SMQ_ERR_URL or SMQ_ERR_NOT_SUPPORTED
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL            options is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_STRUCT_SIZE     a size field is wrong, or unknown or reserved fields are set; tls is not whole
 *   SMQ_ERR_OPTION          the proxy's URL is malformed, or an option of TLS, WebSocket or sockets is set
 *                           without them; mqtt:// or ws:// with tls; a number is out of its range, a flag
 *                           is unknown, or a string is longer than its limit; neither url nor host is set,
 *                           or url together with host or port, or with a user_name or password that the URL
 *                           has, too; session_expiry_s, SMQ_OPTION_SESSION_EXPIRY, SMQ_OPTION_NEW_SESSION
 *                           or properties without 5.0; SMQ_OPTION_NEW_SESSION without
 *                           SMQ_OPTION_KEEP_SESSION; in 3.1.1 a password without a user name; the Will's
 *                           retain or quiet is neither 0 nor 1; a Will with properties or expiry_s before
 *                           5.0; an option of the journal without journal; journal without
 *                           SMQ_OPTION_KEEP_SESSION, with a '%' in client_id that is replaced, with a path
 *                           and SMQ_OPTION_OWN_TRANSPORT, with a zero
 *                           byte, or with an unreleased_maximum that does not fit into journal_batch_bytes
 *   SMQ_ERR_PROPERTY        properties, or the Will's, are malformed, not allowed there, or set by another
 *                           field; Authentication Data without an Authentication Method
 *   SMQ_ERR_URL             the URL is malformed, or has a percent-encoded zero byte (a password that needs
 *                           one goes into password)
 *   SMQ_ERR_NOT_SUPPORTED   the URL's scheme or the protocol is unknown; mqtts:// or wss:// without tls; or
 *                           the library was built without a feature that the options ask for. The offset is 0
 *   SMQ_ERR_CLIENT_ID       the client id is empty with SMQ_OPTION_KEEP_SESSION, or 3.1 does not allow it
 *   SMQ_ERR_QOS             the Will's QoS is above 2
 *   SMQ_ERR_TOPIC_NAME      the Will's topic is not a Topic Name
 *   SMQ_ERR_UTF8            client id, user name or the Will's topic is not UTF-8
 *   SMQ_ERR_TOO_LARGE       the Will's payload is above 65,535 bytes, or CONNECT above MQTT's 268,435,455
 */
SMQ_API int32_t smq_options_check(const smq_options *options, size_t *url_offset);

/*
 * Names the options because of which smq_options_check() returns an error: a field of smq_options, as in
 * "outbox_bytes", or a flag, as in "SMQ_OPTION_KEEP_SESSION". Of options that contradict each other it
 * names each, as in "user_name, SMQ_OPTION_ASK_CREDENTIALS", and of one that needs another, at least that
 * one. If several are wrong for themselves, it names one of those; without url and host it names "url". It
 * finds them by leaving out one option after the other, some microseconds for each that is set. Any thread.
 *
 * options    the options; only read
 * text       where to put the names, with a zero behind them, as far as there is room; NULL: nowhere
 * capacity   the bytes that are free there; 300 are enough for any names
 *
 * Returns how many bytes the names have, without the zero, however many of them there is room for; 0 if the
 * options are right, or NULL, or if the library was built without texts (the small profile).
 */
SMQ_API size_t smq_options_fault(const smq_options *options, char *text, size_t capacity);

/*
 * Returns how many bytes a client with these options needs. The answer depends on the library's version, so
 * ask at run time. Any thread.
 *
 * options   the options; only read
 *
 * Returns the number of bytes, or 0 if smq_options_check() would return an error.
 */
SMQ_API size_t smq_client_size(const smq_options *options);

/*
 * Enough bytes for a client of this header's version, as a constant expression, for a static array:
 *
 *     static _Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t memory[SMQ_CLIENT_BYTES(8192, 64, 1024, 200)];
 *
 * outbox_bytes, outbox_messages, receive_bytes   as in smq_options, but not 0
 * more   the length of all strings in the options (url or host, client id, user name, password, Will), and
 *        what other options take beyond their defaults
 *
 * It has some 2,400 bytes to spare, 3,100 on 32-bit processors, for a library that is newer than the
 * header; smq_client_init() reports if that is not enough. All other options have the room of their
 * defaults, so it is too generous for a client that needs less there: 16,800 bytes where 2,900 would do.
 * smq_client_size() is exact.
 */
#define SMQ_CLIENT_BYTES(outbox_bytes, outbox_messages, receive_bytes, more)                                           \
    ((size_t)(outbox_bytes) + (size_t)(outbox_messages) * ((outbox_messages) < 512 ? 328 : 365) / 8 +                  \
     (size_t)(receive_bytes) +                                                                                         \
     ((receive_bytes) < 2048    ? (size_t)256                                                                          \
      : (receive_bytes) > 32768 ? (size_t)4096                                                                         \
                                : (size_t)(receive_bytes) / 8) +                                                       \
     (size_t)(more) + 16384)

/*
 * Creates a client in the program's memory. It makes no system call except one for a descriptor to wait on
 * and, with submit_messages, two for the descriptor that wakes up the owner. With a journal it opens, locks
 * and reads that, or makes it, and waits for the disk meanwhile.
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
 *   SMQ_ERR_INSPECT            the inspection socket cannot be made; errno says why: EADDRINUSE if a process
 *                              listens at the path, or if there is something that is no socket
 *   SMQ_ERR_JOURNAL            the journal cannot be opened, made or read; errno says why
 *   SMQ_ERR_JOURNAL_LOCKED, SMQ_ERR_JOURNAL_CORRUPT, SMQ_ERR_JOURNAL_OTHER, SMQ_ERR_JOURNAL_SIZE
 */
SMQ_API int32_t smq_client_init(void *memory, size_t size, const smq_options *options, smq_client **client);

/*
 * Ends a client at once, in any state: closes its descriptors and gives the memory back to the program. It
 * sends no DISCONNECT, so the server publishes the Will; for a graceful disconnect, call smq_disconnect()
 * before and wait for its event. Messages in the outbox are lost, unless a journal has them; a commit that
 * is being written is waited for, and no other is begun: smq_sync() comes before. The thread rule of all
 * calls on a client applies; also, no thread may be in smq_submit(), and no runner may run. A client in a
 * group leaves it.
 *
 * client   the client; the handle is invalid afterwards
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, or SMQ_ERR_CLIENT if it was closed before.
 */
SMQ_API int32_t smq_client_close(smq_client *client);

/*
 * Returns the Client Identifier that CONNECT carries: client_id of the options, with each '%' replaced.
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

/* The states of a client. */
enum {
    SMQ_STATE_DISCONNECTED = 0,
    SMQ_STATE_CONNECTING = 1,
    SMQ_STATE_CONNECTED = 2,
    SMQ_STATE_DISCONNECTING = 3,
    SMQ_STATE_WAITING = 4 /* until the next attempt is due */
};

/*
 * Returns the client's state.
 *
 * client   the client
 *
 * Returns one of SMQ_STATE_…, or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_client_state(const smq_client *client);

/*
 * Connects and stays connected: starts an attempt and returns at once. Each attempt ends in exactly one
 * event: SMQ_EVENT_CONNECTED after the server's CONNACK, or SMQ_EVENT_DISCONNECTED with the reason, at the
 * latest connect_timeout_ms after it began. After a failed attempt, or when a connection ends, the client
 * reconnects by itself. Once the event has been taken, the next attempt follows after the wait in retry_ms
 * of the event (see smq_options.reconnect_min_ms), until smq_disconnect() is called. With
 * SMQ_OPTION_NO_RECONNECT it does not, and the program may call this again.
 *
 * client   the client, in SMQ_STATE_DISCONNECTED
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE in any other state, and while the event
 * that ended the last connection has not been taken.
 */
SMQ_API int32_t smq_connect(smq_client *client);

/*
 * Takes the next step of an enhanced authentication (section 4.12): sends AUTH with the Authentication
 * Method of smq_options.properties. An exchange begins with CONNECT or, while connected, with this call and
 * SMQ_REASON_REAUTHENTICATE. Each AUTH of the server is an SMQ_EVENT_AUTHENTICATE; answer it with
 * SMQ_REASON_CONTINUE_AUTHENTICATION as long as its reason_code is that one.
 *
 * client        the client
 * reason_code   SMQ_REASON_CONTINUE_AUTHENTICATION (0x18) or SMQ_REASON_REAUTHENTICATE (0x19)
 * data          Authentication Data; NULL or empty: none
 * properties    more properties (Reason String, User Properties); NULL: none
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_STATE         CONNECT had no Authentication Method; there is no exchange to continue; or a new
 *                         one cannot begin, because one is under way or there is no connection
 *   SMQ_ERR_REASON_CODE   reason_code is another one
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed in AUTH
 *   SMQ_ERR_TOO_LARGE     data is above 65,535 bytes, or the packet exceeds what control_bytes allows or
 *                         the server's Maximum Packet Size
 *   SMQ_ERR_FULL          there is no room behind the acknowledgements that wait to be sent
 */
SMQ_API int32_t smq_authenticate(smq_client *client, uint32_t reason_code, const smq_bytes *data,
                                 const smq_bytes *properties);

/*
 * Answers SMQ_EVENT_CREDENTIALS: sets the user name and password of CONNECT, from this attempt on. They are
 * copied.
 *
 * client      the client
 * attempt     that of the event; an answer to an attempt that is over has no effect
 * user_name   UTF-8; NULL or empty: none
 * password    NULL or empty: none. Only with a user name, unless only 5.0 may be spoken [MQTT-3.1.2-22]
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_TOKEN      attempt is not the current one
 *   SMQ_ERR_STATE      the attempt does not wait for this, or no longer does
 *   SMQ_ERR_UTF8       the user name is not well-formed UTF-8
 *   SMQ_ERR_OPTION     there is a password without a user name
 *   SMQ_ERR_TOO_LARGE  one of them is above 65,535 bytes, or both exceed smq_options.credential_bytes
 */
SMQ_API int32_t smq_credentials(smq_client *client, uint32_t attempt, const smq_bytes *user_name,
                                const smq_bytes *password);

/*
 * Answers SMQ_EVENT_CREDENTIALS: there are no credentials. The attempt ends with SMQ_ERR_CREDENTIALS at
 * SMQ_STAGE_CREDENTIALS. The next one follows as usual, and asks again.
 *
 * client    the client
 * attempt   that of the event
 * for_good  1: no attempt follows, until smq_connect(); otherwise 0
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if for_good is
 * neither, SMQ_ERR_TOKEN if attempt is not the current one, or SMQ_ERR_STATE if the attempt does not wait
 * for this.
 */
SMQ_API int32_t smq_withhold_credentials(smq_client *client, uint32_t attempt, uint32_t for_good);

/*
 * Answers SMQ_EVENT_ADDRESSES: sets the server's addresses. They race as those of a host name do
 * (smq_options.connect_timeout_ms).
 *
 * client      the client
 * attempt     that of the event
 * addresses   numeric IPv4 or IPv6 addresses, without brackets and without a zone, and so none that is
 *             link-local; the preferred ones first; may be NULL if count is 0
 * count       0 to smq_options.addresses; 0: there is none, and the attempt ends with SMQ_ERR_RESOLVE
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if count is above
 * that or an address is malformed, SMQ_ERR_TOKEN if attempt is not the current one, or SMQ_ERR_STATE if the
 * attempt does not wait for this.
 */
SMQ_API int32_t smq_addresses(smq_client *client, uint32_t attempt, const smq_bytes *addresses, uint32_t count);

/*
 * Tells the client that the network has changed, as the program knows from its modem or from netlink. Up:
 * the client cuts a wait for the next attempt short, but begins no attempt sooner than reconnect_min_ms
 * after the last one ended. Up and down: the client tests a connection with PINGREQ now, which ends after
 * ping_timeout_ms without an answer. It does nothing else.
 *
 * client   the client
 * up       1: there is a network, perhaps another one than before; 0: there is none
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if up is neither.
 */
SMQ_API int32_t smq_hint_network(smq_client *client, uint32_t up);

/*
 * Tells the client that the machine was asleep, or that its clock stood still for another reason: the same
 * as smq_hint_network() with 1.
 *
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_hint_resume(smq_client *client);

/* The Reason Codes that a client sends (section 2.4). */
enum {
    SMQ_REASON_SUCCESS = 0x00,              /* also: Normal disconnection */
    SMQ_REASON_DISCONNECT_WITH_WILL = 0x04, /* the server publishes the Will */
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
 * Disconnects gracefully: while connected, waits until every message in the outbox, or submitted before, is
 * complete, at most drain_ms. Then it sends DISCONNECT, and closes the connection once the server has
 * closed its side, or after two more seconds. The server does not publish the Will. The call returns at
 * once; SMQ_EVENT_DISCONNECTED with status 0 reports the end. (If even DISCONNECT cannot be sent for two
 * seconds, the status is SMQ_ERR_TIMEOUT at SMQ_STAGE_DISCONNECT, and the server publishes the Will.)
 * Messages that are still in the outbox then stay there for the next connection.
 *
 * Without a connection it waits for nothing: an attempt is given up at once, and messages in the outbox, or
 * submitted, stay there (smq_client_stats() returns how many). An attempt whose CONNECT was sent is given
 * up with DISCONNECT, so that the server does not publish the Will. A second call only shortens the wait.
 * In SMQ_STATE_DISCONNECTED the call does nothing, and no event follows. A message that is reserved and
 * neither committed nor aborted is waited for, too.
 *
 * To disconnect with everything delivered, call it while connected, take events until
 * SMQ_EVENT_DISCONNECTED, and look at the completions, or at smq_client_stats(): outbox_messages,
 * urgent_messages and submit_waiting are 0 if nothing was left.
 *
 * client     the client
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if drain_ms is above its range.
 */
SMQ_API int32_t smq_disconnect(smq_client *client, uint32_t drain_ms);

/*
 * Disconnects like smq_disconnect(), with a Reason Code and properties (section 3.14.2). The first of the
 * two calls decides what DISCONNECT contains.
 *
 * client        the client
 * drain_ms      as for smq_disconnect()
 * reason_code   SMQ_REASON_SUCCESS, SMQ_REASON_DISCONNECT_WITH_WILL, or one from 0x80 on that a client may
 *               send (Table 3-10): 0x80 to 0x83, 0x90, 0x93 to 0x99. Before 5.0 only SMQ_REASON_SUCCESS
 * properties    Session Expiry Interval, Reason String, User Properties; NULL: none. 5.0 only. At most 256
 *               bytes
 *
 * Returns what smq_disconnect() does, or
 *   SMQ_ERR_REASON_CODE   DISCONNECT of this protocol version must not carry this one
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed; before 5.0; a Session Expiry Interval
 *                         other than 0 where CONNECT had none, or 0 (section 3.14.2.2.2)
 *   SMQ_ERR_TOO_LARGE     properties are above 256 bytes, or the packet exceeds what control_bytes allows
 */
SMQ_API int32_t smq_disconnect_with(smq_client *client, uint32_t drain_ms, uint32_t reason_code,
                                    const smq_bytes *properties);

/*
 * Why the last attempt, or the last connection, ended: what SMQ_EVENT_DISCONNECTED says, and what proxy, TLS
 * and WebSocket know besides. Fields that do not apply are 0, or -1 where that means none.
 */
typedef struct smq_failure {
    uint32_t size;        /* in: sizeof(smq_failure) */
    int32_t status;       /* SMQ_ERR_…; 0: nothing has ended, or the program wanted it */
    int32_t stage;        /* SMQ_STAGE_… */
    int32_t os_error;     /* errno, or an EAI_… value if status is SMQ_ERR_RESOLVE; 0: none */
    uint32_t attempt;     /* as in smq_event */
    int32_t http_status;  /* what a proxy or a web server answered, such as 403; 0: nothing */
    int32_t socks_reply;  /* what a SOCKS5 proxy replied (RFC 1928, section 6): 1 to 255; 256: it accepts
                             none of the ways to authenticate; 257: it refused user name and password;
                             258: it does not speak SOCKS5; -1: nothing */
    int32_t close_code;   /* of the WebSocket (RFC 6455, section 7.4): the server's, or what its mistake
                             was answered with; 0: none */
    int32_t tls_cause;    /* SMQ_TLS_… of <swiftmqtt-tls-engine.h>: why TLS failed */
    int32_t tls_alert;    /* the alert that the server sent (RFC 8446, section 6); -1: none */
    int32_t tls_depth;    /* which certificate is at fault: 0 is the server's, 1 that of its issuer, …; -1:
                             none */
    int32_t reserved;     /* 0 */
    int64_t not_before_s; /* the validity of that certificate, in seconds since 1970; 0: unknown */
    int64_t not_after_s;
    int64_t tls_native;    /* the TLS library's own error code; 0: none */
    smq_bytes tls_subject; /* of that certificate, as text */
    smq_bytes text;        /* what the TLS library says; or the reason behind http_status or close_code, or
                              where a redirection leads, which is not followed. It may be anything: quote
                              it before it is logged */
} smq_failure;

/* A smq_failure with its size set. */
#define SMQ_FAILURE_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(smq_failure), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }                        \
    }

/*
 * Returns why the last attempt or connection ended. After SMQ_EVENT_DISCONNECTED it explains that event. Once
 * the next attempt has begun, it says only status, stage, os_error and the number of the attempt that failed.
 *
 * client    the client
 * failure   where to put it; failure->size must be set. Its pointers are valid until the next call on the
 *           client that may begin an attempt: smq_wait(), smq_service(), smq_flush(), smq_connect(),
 *           smq_engine_…(), smq_client_close()
 *
 * Returns SMQ_OK, or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE.
 */
SMQ_API int32_t smq_last_failure(const smq_client *client, smq_failure *failure);

/*
 * Returns the name of a cause, such as "unknown CA". Any thread, any time.
 *
 * cause   one of SMQ_TLS_…
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown cause" for other values. Never
 * NULL, no errors.
 */
SMQ_API const char *smq_tls_cause_name(int32_t cause);

/*
 * Tells about the TLS connection: version, cipher, whether it was resumed.
 *
 * client   the client, with an open connection over TLS
 * info     where to put it; info->size must be set. info->connection is the TLS library's own object, valid
 *          until the connection ends
 *
 * Returns SMQ_OK, or SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE, or SMQ_ERR_STATE without such a
 * connection, or if the engine does not tell.
 */
SMQ_API int32_t smq_tls_describe(const smq_client *client, smq_tls_info *info);

/*
 * Tells about a certificate that the server has sent.
 *
 * client        the client, with an open connection over TLS
 * depth         0: the server's own, 1: that of its issuer, …
 * certificate   where to put it; certificate->size must be set
 *
 * Returns SMQ_OK, or SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE, SMQ_ERR_OPTION if there is no such
 * certificate, or SMQ_ERR_STATE as smq_tls_describe() does.
 */
SMQ_API int32_t smq_tls_describe_certificate(const smq_client *client, uint32_t depth,
                                             smq_tls_certificate *certificate);

/*
 * Gives the WebSocket request another path and other headers: a URL that is signed for some minutes, a token.
 * They are for all requests that have not been sent yet, that of an attempt under way included. Together with
 * SMQ_OPTION_ASK_CREDENTIALS each attempt can have its own: call this at SMQ_EVENT_CREDENTIALS, before
 * smq_credentials().
 *
 * client    the client, of a WebSocket
 * path      path and query, from its slash on; NULL or empty: "/mqtt"
 * headers   whole lines, as in smq_options.websocket_headers; NULL or empty: none
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_NOT_SUPPORTED   the client has no WebSocket
 *   SMQ_ERR_OPTION          path or headers have what they must not have
 *   SMQ_ERR_TOO_LARGE       they are larger than websocket_request_bytes, or, without it, than those of the
 *                           options
 */
SMQ_API int32_t smq_websocket_request(smq_client *client, const smq_bytes *path, const smq_bytes *headers);

/* ---------------------------------------------------------------------------------------------
 * 6  Publish
 * ------------------------------------------------------------------------------------------- */

/*
 * Publishes a message: encodes it into the outbox and returns. This costs one copy and no system call;
 * smq_wait() and smq_service() send batches of up to hundreds of messages with one system call. A message
 * may be published in every state, but not between smq_disconnect() and the end of the connection. It is
 * sent when there is a connection.
 *
 * Every message ends in exactly one SMQ_EVENT_COMPLETED with its cookie (unless it is quiet and succeeds,
 * or the client is closed before): when it was handed to the kernel (QoS 0), when the server's PUBACK (QoS
 * 1) or PUBCOMP (QoS 2) arrived, or with the reason of its failure.
 *
 * When a connection ends, the outbox stays. On the next connection the client sends what was not sent, and
 * resends QoS 1 messages that were not acknowledged, so they may arrive twice. QoS 2 continues where it was
 * if the server kept the session (SMQ_OPTION_KEEP_SESSION), and arrives once. If the server did not keep
 * it, a message whose fate is unknown ends with SMQ_ERR_SESSION_LOST, and the program decides whether to
 * publish it again.
 *
 * client    the client
 * message   the message; copied, and may be released afterwards
 *
 * Returns SMQ_OK, or SMQ_DROPPED, or, with nothing changed,
 *   SMQ_ERR_NULL          client or message is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT        not a client
 *   SMQ_ERR_STRUCT_SIZE   message->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION        retain, quiet or urgent is neither 0 nor 1; overflow or store is unknown;
 *                         SMQ_STORE_NONE with QoS 2; properties before 5.0
 *   SMQ_ERR_PROPERTY      properties are malformed, not allowed in PUBLISH, or set by the library: Topic
 *                         Alias; a Message Expiry Interval beside expiry_s; a Response Topic with wildcards
 *   SMQ_ERR_QOS           qos is above 2, or above the server's Maximum QoS (section 3.2.2.3.4)
 *   SMQ_ERR_NOT_SUPPORTED retain is 1 and the server said that it has no retained messages (section
 *                         3.2.2.3.5); urgent is 1 without smq_options.urgent_messages
 *   SMQ_ERR_TOPIC_NAME    the topic is empty, longer than 65,535 bytes or has '+' or '#'
 *   SMQ_ERR_UTF8          the topic is not well-formed UTF-8
 *   SMQ_ERR_TOO_LARGE     the packet is larger than the whole outbox, than the 268,435,455 bytes that MQTT
 *                         allows, than the server's Maximum Packet Size, or than what a journal writes at
 *                         once (journal_batch_bytes, less some 90 bytes)
 *   SMQ_ERR_JOURNAL       SMQ_JOURNAL_STRICT, and the journal has failed
 *   SMQ_ERR_STATE         the client is disconnecting, or a smq_publish_reserve() is open
 *   SMQ_ERR_FULL          there is no room in the outbox now. SMQ_EVENT_ROOM reports when there is some
 *                         again; smq_client_stats() has the numbers
 *   SMQ_ERR_OFFLINE       SMQ_OPTION_QOS_0_CONNECTED, QoS 0, and no connection
 */
SMQ_API int32_t smq_publish(smq_client *client, const smq_message *message);

/*
 * Publishes a text: smq_publish() for a message that has no more than a topic, a payload, a QoS and the
 * RETAIN flag. Both strings are copied. The message's SMQ_EVENT_COMPLETED has the cookie 0.
 *
 * client   the client
 * topic    Topic Name (section 4.7), zero-terminated
 * text     the payload, zero-terminated; the zero is not sent. "" is an empty payload, which removes a
 *          retained message if retain is 1 (section 3.3.1.3). NULL is an error, so that a text that is
 *          missing removes nothing
 * qos      0, 1 or 2 (section 4.3)
 * retain   1: the server retains it for later subscribers; otherwise 0
 *
 * Returns what smq_publish() does for such a message, and SMQ_ERR_NULL if client, topic or text is NULL.
 */
SMQ_API int32_t smq_publish_text(smq_client *client, const char *topic, const char *text, uint32_t qos,
                                 uint32_t retain);

/*
 * Publishes without a copy: puts the message without its payload into the outbox, and returns where the
 * payload goes. The program writes it there and calls smq_publish_commit(). Only one message can be open at
 * a time; meanwhile smq_publish() and its variants return SMQ_ERR_STATE. Everything else continues,
 * receiving included.
 *
 * client    the client
 * message   as for smq_publish(); payload.size is the most that the payload may have, payload.data is not
 *           used
 * payload   where to put the pointer; valid until smq_publish_commit() or smq_publish_abort(); NULL with
 *           SMQ_DROPPED
 *
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if message is urgent or SMQ_OVERFLOW_LATEST.
 */
SMQ_API int32_t smq_publish_reserve(smq_client *client, const smq_message *message, void **payload);

/*
 * Publishes the message that smq_publish_reserve() made room for, even after smq_disconnect(). It may end
 * at once: with SMQ_ERR_EXPIRED, or with SMQ_ERR_SERVER_LIMIT if the server has changed meanwhile.
 *
 * client         the client
 * payload_size   how many bytes were written: 0 to the size reserved
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if payload_size is larger than what was
 * reserved, or SMQ_ERR_STATE if nothing was.
 */
SMQ_API int32_t smq_publish_commit(smq_client *client, size_t payload_size);

/*
 * Gives the reserved room back. There is no completion.
 *
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if nothing was reserved.
 */
SMQ_API int32_t smq_publish_abort(smq_client *client);

/*
 * Supplies bytes of a payload. smq_wait() and smq_service() call it; it must not call the client or its
 * group. It may be asked for the same bytes again: if the connection is lost, the message is resent from its
 * beginning.
 *
 * user     what smq_publish_stream() was given
 * offset   of the first byte wanted, in the payload
 * buffer   where to put them
 * size     how many at most; at least 1
 *
 * Returns how many bytes were put: 1 to size. 0: there are none now, and it is asked again after 10 ms
 * (nothing else can be sent meanwhile, not even PINGREQ, so only for a short time). Negative: it gives up;
 * then the connection ends with SMQ_ERR_STREAM, because a packet once begun cannot be withdrawn, and so
 * does the message.
 */
typedef int32_t (*smq_pull)(void *user, uint32_t offset, void *buffer, size_t size);

/*
 * Publishes a payload of any size, piece by piece, through a buffer of stream_bytes: the outbox keeps only
 * topic and properties. Only one such message can exist at a time.
 *
 * client    the client
 * message   as for smq_publish(); payload.size is the size of the payload, payload.data is not used
 * pull      supplies the bytes; may be called until the message's SMQ_EVENT_COMPLETED or
 *           smq_client_close(), so what it needs must last as long. The success of a quiet message is not
 *           reported
 * user      for pull
 *
 * Returns what smq_publish() does; also SMQ_ERR_OPTION if message is urgent or SMQ_OVERFLOW_LATEST;
 * SMQ_ERR_NOT_SUPPORTED if stream_bytes is 0; SMQ_ERR_FULL while another one is not complete: its
 * completion makes room, and there is no SMQ_EVENT_ROOM.
 */
SMQ_API int32_t smq_publish_stream(smq_client *client, const smq_message *message, smq_pull pull, void *user);

/*
 * Publishes a payload that stays where it is: the outbox keeps only topic and properties, and the kernel
 * reads the payload from the program's memory, together with what waits before it, in one system call. This
 * is for large payloads, also for those that are larger than the outbox: up to MQTT's 268,435,455 bytes of
 * Remaining Length (section 2.1.4). TLS and WebSocket copy it piece by piece through their buffers.
 *
 * client    the client
 * message   as for smq_publish(). The bytes of payload must stay as they are until the message's
 *           SMQ_EVENT_COMPLETED is handed out, or smq_client_close() returns; from then on they are the
 *           program's again. topic and properties are copied. The event comes exactly once for each message
 *           that was accepted, whatever becomes of it: for QoS 0 when the last byte was handed to the kernel,
 *           for QoS 1 and 2 when the server has acknowledged it, because after a reconnect it is resent from
 *           the same bytes
 *
 * With SMQ_OPTION_OWN_TRANSPORT, smq_engine_transmit() hands out topic and properties first, and then the
 * program's own bytes. As long as a packet is on its way no other can be sent, not even PINGREQ or an urgent
 * message: on a slow link a large payload keeps all others waiting.
 *
 * Returns what smq_publish() does; with SMQ_DROPPED the message was not accepted. Also SMQ_ERR_OPTION if
 * message is quiet, urgent or SMQ_OVERFLOW_LATEST; SMQ_ERR_NOT_SUPPORTED if references is 0; SMQ_ERR_FULL
 * while as many as that are not complete, whatever message.overflow says: SMQ_EVENT_ROOM follows.
 */
SMQ_API int32_t smq_publish_reference(smq_client *client, const smq_message *message);

/* ---------------------------------------------------------------------------------------------
 * 7  Subscribe
 * ------------------------------------------------------------------------------------------- */

/* A Topic Filter and its subscription options (section 3.8.3.1). */
typedef struct smq_subscription {
    smq_bytes filter;            /* Topic Filter: 1 to 65,535 bytes of UTF-8; "$share/name/filter" is a
                                    Shared Subscription (section 4.8.2) */
    uint8_t qos;                 /* the highest QoS that the server may send with: 0 to 2 */
    uint8_t no_local;            /* 5.0: 1: omit what this client itself publishes; not for a Shared
                                    Subscription */
    uint8_t retain_as_published; /* 5.0: 1: receive the RETAIN flag as the publisher set it */
    uint8_t retain_handling;     /* 5.0: retained messages: 0 send at every subscribe, 1 only if it is new,
                                    2 never */
    uint32_t reserved;           /* 0 */
} smq_subscription;

/* A smq_subscription without a filter, with QoS 0 and everything else zero. */
#define SMQ_SUBSCRIPTION_INIT                                                                                          \
    { { NULL, 0 }, 0, 0, 0, 0, 0 }

/* One SUBSCRIBE or UNSUBSCRIBE (sections 3.8, 3.10). */
typedef struct smq_subscriptions {
    uint32_t size;                /* sizeof(smq_subscriptions) */
    uint32_t count;               /* 1 to 65,535 */
    const smq_subscription *list; /* count of them. smq_unsubscribe() reads only the filters */
    uint64_t cookie;              /* the program's own value, returned in the completion */
    smq_bytes properties;         /* 5.0 only, else empty: User Properties */
    uint32_t identifier;          /* 5.0: Subscription Identifier: 1 to 268,435,455, which arrives with
                                     each message; 0: none. Not for smq_unsubscribe() */
    uint32_t reserved;            /* 0 */
} smq_subscriptions;

/* A smq_subscriptions with its size set and everything else zero. */
#define SMQ_SUBSCRIPTIONS_INIT                                                                                         \
    { sizeof(smq_subscriptions), 0, NULL, 0, { NULL, 0 }, 0, 0 }

/*
 * Subscribes to Topic Filters: encodes one packet and returns. The packet is sent before published
 * messages, and messages in flight do not hold it back. The call is possible in every state, but not
 * between smq_disconnect() and the end of the connection. The packet is sent when there is a connection,
 * and again on the next one whenever a connection ended before the acknowledgement.
 *
 * If the server has lost the session, the client resubscribes to what was granted
 * (smq_options.subscriptions). Without that table, an acknowledged subscription lives in the server's
 * session only, so after an SMQ_EVENT_CONNECTED with session_present 0 there is none.
 *
 * The result is one SMQ_EVENT_COMPLETED with the cookie. Its status is 0 if every filter was accepted;
 * otherwise SMQ_ERR_REFUSED with the first refusal in reason_code, or SMQ_ERR_SERVER_LIMIT if the server
 * that answered does not support it. reason_codes has one byte for each filter, in their order: for
 * SUBSCRIBE the granted QoS 0, 1 or 2, or from 0x80 on the reason of a refusal; for UNSUBSCRIBE 0x00, or
 * 0x11 No subscription existed (3.1 and 3.1.1 have none for UNSUBSCRIBE).
 *
 * client          the client
 * subscriptions   copied, and may be released afterwards
 *
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL           client, subscriptions or list is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT         not a client
 *   SMQ_ERR_STRUCT_SIZE    a size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION         count is 0 or too large; a flag is neither 0 nor 1, or retain_handling is above
 *                          2; identifier is out of range; anything that 5.0 introduced is set before 5.0
 *   SMQ_ERR_QOS            a qos is above 2
 *   SMQ_ERR_TOPIC_FILTER   a filter is not one, or no_local is set for a Shared Subscription [MQTT-3.8.3-4]
 *   SMQ_ERR_UTF8           a filter is not well-formed UTF-8
 *   SMQ_ERR_PROPERTY       properties are malformed or not allowed here
 *   SMQ_ERR_NOT_SUPPORTED  the server said that it has no wildcard or shared subscriptions, or no
 *                          Subscription Identifiers (section 3.2.2.3)
 *   SMQ_ERR_TOO_LARGE      the packet is larger than request_bytes, or than MQTT or the server allows; or
 *                          its acknowledgement, count bytes and at most seven more, is larger than
 *                          receive_bytes
 *   SMQ_ERR_STATE          the client is disconnecting
 *   SMQ_ERR_FULL           subscriptions or subscription_bytes are used up, and smq_unsubscribe() makes
 *                          room; or requests or request_bytes are. The completion of the oldest request
 *                          makes room; that of a younger one does when those before it are complete
 */
SMQ_API int32_t smq_subscribe(smq_client *client, const smq_subscriptions *subscriptions);

/*
 * Unsubscribes from Topic Filters (section 3.10), in every respect like smq_subscribe().
 *
 * client          the client
 * subscriptions   copied, and may be released afterwards; only the filters are read
 *
 * Returns what smq_subscribe() does; also SMQ_ERR_OPTION if there is an identifier.
 */
SMQ_API int32_t smq_unsubscribe(smq_client *client, const smq_subscriptions *subscriptions);

/*
 * Subscribes to one Topic Filter: smq_subscribe() without other options than the QoS.
 *
 * client   the client
 * filter   the Topic Filter (section 4.7.1), zero-terminated; copied
 * qos      the highest QoS that the server may send with: 0 to 2
 * cookie   the program's own value, returned in the completion
 *
 * Returns what smq_subscribe() does for one filter, and SMQ_ERR_NULL if client or filter is NULL.
 */
SMQ_API int32_t smq_subscribe_to(smq_client *client, const char *filter, uint32_t qos, uint64_t cookie);

/*
 * Unsubscribes from one Topic Filter: smq_unsubscribe() for what smq_subscribe_to() has asked for.
 *
 * client   the client
 * filter   the Topic Filter (section 4.7.1), zero-terminated; copied
 * cookie   the program's own value, returned in the completion
 *
 * Returns what smq_unsubscribe() does for one filter, and SMQ_ERR_NULL if client or filter is NULL.
 */
SMQ_API int32_t smq_unsubscribe_from(smq_client *client, const char *filter, uint64_t cookie);

/* ---------------------------------------------------------------------------------------------
 * 8  Events
 * ------------------------------------------------------------------------------------------- */

enum {
    SMQ_EVENT_NONE = 0,
    /*
     * The server accepted the connection (CONNACK). session_present, attempt, server, protocol and, in 5.0,
     * reason_string and properties are set; smq_client_server() returns what the server can do. See
     * smq_subscribe() for what happens to subscriptions.
     */
    SMQ_EVENT_CONNECTED = 1,
    /*
     * An attempt to connect, or a connection, ended. status is 0 if the program asked for it, otherwise the
     * reason; stage, os_error, reason_code, reason_string, server_reference, properties, rule, attempt,
     * server and retry_ms say more. reason_code is the server's; with SMQ_ERR_MALFORMED and similar errors
     * it is the one that the server was told. With 0x9C Use another server and 0x9D Server moved,
     * server_reference names that server (section 4.11).
     */
    SMQ_EVENT_DISCONNECTED = 2,
    /*
     * A published message, a SUBSCRIBE or an UNSUBSCRIBE is complete: completed says which of these, and
     * cookie is its own. status is 0 for success: the message was delivered as its QoS promises, or every
     * filter was accepted. Otherwise it is SMQ_ERR_REFUSED, SMQ_ERR_SESSION_LOST, SMQ_ERR_EXPIRED,
     * SMQ_ERR_DROPPED, SMQ_ERR_REPLACED, SMQ_ERR_STREAM, SMQ_ERR_SERVER_LIMIT or, for a request whose
     * acknowledgement broke a rule or was larger than receive_bytes, SMQ_ERR_PROTOCOL.
     *
     * reason_code is the server's, or -1; with SMQ_ERR_SERVER_LIMIT it names the limit: 0x95 Packet too
     * large, 0x9B QoS not supported, 0x9A Retain not supported, 0x9E, 0xA1 and 0xA2 for subscriptions, 0x84
     * if the connection is not 5.0. After a SUBSCRIBE or UNSUBSCRIBE, reason_codes, reason_string and
     * properties are set, too; after a message, reason_string and properties are set if the packet that
     * ended it has any.
     */
    SMQ_EVENT_COMPLETED = 3,
    /*
     * There is room in the outbox again after SMQ_ERR_FULL, so publishing may succeed. A program that first
     * takes all events, and then publishes until the outbox is full again, lets many messages share a
     * system call.
     */
    SMQ_EVENT_ROOM = 4,
    /*
     * A message arrived, or a part of one: topic, payload, qos, retain, duplicate, part, payload_offset,
     * payload_total, token, subscription and, in 5.0, properties and subscription_identifier are set. The
     * message is acknowledged when the event is released by the next smq_next_event(), smq_wait(),
     * smq_service() or smq_engine_timed_out(), or later: see smq_hold().
     *
     * status is 0 or SMQ_ERR_RECEIVE_TOO_LARGE: the message is larger than the receive buffer, and its
     * payload was read and dropped; payload_total says how many bytes it had, and part is both first and
     * last. topic and properties are empty if they would leave less than a quarter of the buffer to the
     * payload, or if the topic was a Topic Alias whose topic is longer than topic_alias_bytes (then the
     * payload is there).
     *
     * If the connection ends, parts stop without a last one. A message of QoS 1 or 2 then begins again on
     * the next connection, at payload_offset 0.
     */
    SMQ_EVENT_MESSAGE = 5,
    /*
     * The server sent AUTH (section 4.12). reason_code is 0x18 Continue authentication, to be answered with
     * smq_authenticate(), or 0x00 at the end of a re-authentication. payload is the Authentication Data;
     * reason_string and properties are set.
     */
    SMQ_EVENT_AUTHENTICATE = 6,
    /*
     * The end of a smq_request(), with its cookie. With status 0 or SMQ_ERR_RECEIVE_TOO_LARGE it has
     * everything that SMQ_EVENT_MESSAGE has, for the reply (for a reply in parts, it is the last part;
     * those before it are SMQ_EVENT_MESSAGE), which is acknowledged like any other message. Otherwise the
     * status is SMQ_ERR_TIMEOUT, or what happened to the request's own message (as in SMQ_EVENT_COMPLETED).
     */
    SMQ_EVENT_REPLY = 7,
    /*
     * 5.0: a PUBREC (section 3.5) with properties arrived for a QoS 2 message that is not quiet. cookie is
     * the message's; reason_code, reason_string and properties are set. This is for the program's log: the
     * delivery continues by itself, and ends in SMQ_EVENT_COMPLETED.
     */
    SMQ_EVENT_PUBREC = 8,
    /*
     * 5.0: a PUBREL (section 3.6) with properties arrived for a QoS 2 message that was received and
     * acknowledged before. reason_code, reason_string and properties are set. This is for the program's
     * log.
     */
    SMQ_EVENT_PUBREL = 9,
    /*
     * The server had lost a granted subscription, and resubscribing failed: topic is the Topic Filter,
     * reason_code the server's, or 0x83 if the server does not support it. The client has removed it from
     * its table.
     */
    SMQ_EVENT_SUBSCRIPTION_LOST = 10,
    /*
     * SMQ_OPTION_ASK_CREDENTIALS: an attempt has begun, and waits for smq_credentials() or
     * smq_withhold_credentials(), now or later, for as long as connect_timeout_ms allows. attempt and
     * server are set. The SMQ_EVENT_DISCONNECTED of the last attempt said whether it was refused.
     */
    SMQ_EVENT_CREDENTIALS = 11,
    /*
     * SMQ_OPTION_ASK_ADDRESSES: an attempt waits for smq_addresses(), in the same way. server_reference is
     * the host name to resolve, port the port to connect to; attempt and server are set.
     */
    SMQ_EVENT_ADDRESSES = 12,
    /*
     * SMQ_OPTION_OWN_TRANSPORT: the client needs a connection to the server with the name server_reference,
     * at port. Close the last one, open a new one, and call smq_engine_opened(), or smq_engine_closed() if
     * that fails. attempt and server are set.
     */
    SMQ_EVENT_OPEN = 13,
    /*
     * Something happened to the journal: completed says what, and which other fields are set.
     */
    SMQ_EVENT_JOURNAL = 14
};

/* smq_event.completed: what an SMQ_EVENT_JOURNAL reports. */
enum {
    SMQ_JOURNAL_RECOVERED = 101, /* the first event of a client that has found messages of an earlier process:
                                    cookie is how many. They have the cookies that they had */
    SMQ_JOURNAL_FAILED = 102,    /* status is SMQ_ERR_JOURNAL and os_error the errno: a commit could not be
                                    written. The client tries again in other blocks, after 0.1 seconds and
                                    then ever more seldom, up to 51 seconds. Reported once, until it is
                                    healed */
    SMQ_JOURNAL_HEALED = 103,    /* after that: everything is durable again */
    SMQ_JOURNAL_STORED = 104     /* SMQ_JOURNAL_TELL: cookie is the position up to which all messages are
                                    durable, or have ended; see smq_journal_info. One event may stand for
                                    several commits */
};

/*
 * smq_event.completed: what an SMQ_EVENT_COMPLETED completes. The numbers are those of the Control Packets
 * (section 2.1.2).
 */
enum {
    SMQ_COMPLETED_PUBLISH = 3,     /* a message, whichever call published it */
    SMQ_COMPLETED_SUBSCRIBE = 8,   /* smq_subscribe() or smq_subscribe_to() */
    SMQ_COMPLETED_UNSUBSCRIBE = 10 /* smq_unsubscribe() or smq_unsubscribe_from() */
};

/* smq_event.part, added up. A message that arrives whole has both. */
enum {
    SMQ_PART_FIRST = 1,
    SMQ_PART_LAST = 2
};

struct smq_event;

/* A function of smq_handle(), which smq_dispatch() calls. */
typedef void (*smq_handler)(void *user, smq_client *client, const struct smq_event *event);

/*
 * One event. smq_next_event() fills it. Pointers in it are valid until the next smq_next_event(),
 * smq_next_events(), smq_next_completions(), smq_wait(), smq_service(), smq_engine_timed_out(),
 * smq_connect() or smq_client_close() on the client. Fields that a type does not set are 0, or -1 where that
 * means none.
 */
typedef struct smq_event {
    uint32_t size;              /* in: sizeof(smq_event) */
    int32_t type;               /* SMQ_EVENT_… */
    int32_t status;             /* 0 or SMQ_ERR_… */
    int32_t stage;              /* SMQ_STAGE_… */
    int32_t os_error;           /* errno, or an EAI_… value if status is SMQ_ERR_RESOLVE; 0: none */
    int32_t reason_code;        /* 0 to 255 as the server sent it (section 2.4; 3.1.1: the CONNACK return
                                   code); -1: none */
    uint32_t attempt;           /* how many attempts to connect there have been, this one included; wraps */
    uint32_t session_present;   /* 1: the server resumed the session that it had kept (section 3.2.2.1.1).
                                   3.1 does not have it: there it is always 0 */
    uint32_t protocol;          /* SMQ_PROTOCOL_…: the version that is spoken, which also says how to read
                                   reason_code */
    int32_t rule;               /* SMQ_RULE_…, in SMQ_EVENT_DISCONNECTED: the rule that the server broke */
    uint64_t cookie;            /* of the message or request */
    smq_bytes reason_string;    /* 5.0: the server's own text, UTF-8; usually empty */
    smq_bytes server_reference; /* 5.0: another server to use (section 4.11); usually empty. In
                                   SMQ_EVENT_ADDRESSES and SMQ_EVENT_OPEN: the server's name */
    smq_bytes properties;       /* 5.0: all properties of the packet that caused the event, for
                                   smq_property_next() */
    smq_bytes reason_codes;     /* of SUBACK and UNSUBACK: a byte for each filter */

    /* The message. */
    smq_bytes topic;                  /* Topic Name; a Topic Alias is resolved */
    smq_bytes payload;                /* or the part of it in this event */
    uint32_t payload_offset;          /* where this part begins */
    uint32_t payload_total;           /* the size of the whole payload */
    uint8_t qos;                      /* the QoS with which it was sent: 0 to 2 */
    uint8_t retain;                   /* 1: the server had retained it, or, if that was asked for, the flag
                                         as the publisher set it */
    uint8_t duplicate;                /* DUP: the server has sent it before (section 3.3.1.1) */
    uint8_t part;                     /* SMQ_PART_FIRST, SMQ_PART_LAST, added up; 0: in the middle */
    int32_t subscription;             /* the first entry of smq_handle()'s table that matches the topic;
                                         -1: none */
    smq_handler handler;              /* of that entry, or NULL */
    void *user;                       /* of that entry, or NULL */
    uint64_t token;                   /* for smq_ack(); 0: nothing to acknowledge, because of QoS 0 or
                                         because it is not the last part */
    uint32_t subscription_identifier; /* 5.0: the first one of the message; 0: none. There may be more in
                                         properties */
    int32_t retry_ms;                 /* in SMQ_EVENT_DISCONNECTED: how long until the client reconnects by
                                         itself; -1: it will not */
    uint32_t server;    /* in SMQ_EVENT_CONNECTED, _DISCONNECTED, _CREDENTIALS, _ADDRESSES and _OPEN: which
                           server of the URL, counted from 0; one above the last: the server that another
                           one referred to */
    uint32_t port;      /* in SMQ_EVENT_ADDRESSES and SMQ_EVENT_OPEN: the server's port */
    int32_t latency_ms; /* in SMQ_EVENT_COMPLETED of a QoS 1 or 2 message that the server acknowledged: the
                           time from handing it to the kernel, on this connection, to PUBACK or PUBCOMP;
                           -1: none */
    uint32_t completed; /* SMQ_COMPLETED_…, in SMQ_EVENT_COMPLETED; SMQ_JOURNAL_…, in SMQ_EVENT_JOURNAL;
                           otherwise 0 */
} smq_event;

/* A smq_event with its size set. */
#define SMQ_EVENT_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(smq_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },           \
            { NULL, 0 }, { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0                             \
    }

/*
 * Describes an event in one line, for a log: its type, and what was completed; its status with name and
 * sentence; stage, os_error with the words of common ones, reason_code with its name, reason_string,
 * server_reference, rule, topic, token, cookie, attempt and retry_ms, as far as it has them. Of a message
 * that is the size of its payload, and never the payload. A
 * text of the server is in quotation marks, and what would control a terminal becomes \xNN. Later versions
 * may say more, or in other words. Any thread.
 *
 * event      the event, as long as its pointers are valid
 * text       where to put the line, with a zero behind it and no line end, as far as there is room; NULL:
 *            nowhere
 * capacity   the bytes that are free there
 *
 * Returns how many bytes the line has, without the zero, however many of them there is room for; 0 if event
 * is NULL, or its size is smaller than version 1's, or if the library was built without texts (the small
 * profile).
 */
SMQ_API size_t smq_describe_event(const smq_event *event, char *text, size_t capacity);

/*
 * Takes the next event, if there is one, and releases the last one. Events come in the order in which
 * things happened. While a message waits to be taken, the client parses nothing behind it. The call never
 * waits and makes no system call.
 *
 * client   the client
 * event    where to put it; event->size must be set. See smq_event for how long its pointers are valid
 *
 * Returns 1 if there was an event; 0 if not, and then event->type is SMQ_EVENT_NONE; or SMQ_ERR_NULL,
 * SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE if event->size is smaller than version 1's.
 */
SMQ_API int32_t smq_next_event(smq_client *client, smq_event *event);

/*
 * Takes several events in one call, and releases those that the call before has taken. They are those that
 * as many calls of smq_next_event() would take, in the same order. The call goes on as long as completions
 * follow, or messages that arrived whole, without properties and without a Topic Alias; an event of another
 * kind is the last that it takes. So fewer than count does not mean that there are no more: call again until
 * it returns 0. The call never waits and makes no system call.
 *
 * All these events are released together, by the next smq_next_events() or whatever else releases an event.
 * Their pointers are valid until then, and their messages are acknowledged then, except for those that the
 * program has acknowledged with smq_ack(). smq_hold() concerns the last of them; with SMQ_OPTION_HOLD each is
 * held. Until they are released, QoS 1 and 2 messages count against receive_maximum, so a call takes no more
 * of them than that.
 *
 * client   the client
 * events   where to put them: an array of count elements. events[0].size must be set; the call sets size in
 *          each element that it fills
 * count    1 to 2,147,483,647
 *
 * Returns how many events there were: 0 to count (with 0, events[0].type is SMQ_EVENT_NONE); or
 * SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE if events[0].size is smaller than version 1's, or
 * SMQ_ERR_OPTION for a count out of range. If events[0].size is larger than this version's, the call takes
 * one event.
 */
SMQ_API int32_t smq_next_events(smq_client *client, smq_event *events, uint32_t count);

/* How a message ended, for smq_next_completions(). Later versions of the library do not change it. */
typedef struct smq_completion {
    uint64_t cookie;     /* the message's */
    int32_t status;      /* 0 or SMQ_ERR_…, as in SMQ_EVENT_COMPLETED */
    int32_t reason_code; /* the server's; -1: none */
    int32_t latency_ms;  /* as in smq_event */
    uint32_t reserved;   /* 0 */
} smq_completion;

/*
 * Takes the completions of messages that come next, in less time than smq_next_events() takes, and releases
 * the last event. It stops in front of whatever only an event can say: another kind of event, a completion
 * that came with a reason string or properties, or the end of a smq_request(). A program that publishes much
 * calls it first, and then smq_next_event() until that returns 0. The call never waits and makes no system
 * call.
 *
 * client        the client
 * completions   where to put them: an array of count elements
 * count         1 to 2,147,483,647
 *
 * Returns how many there were: 0 to count; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION for a count
 * out of range.
 */
SMQ_API int32_t smq_next_completions(smq_client *client, smq_completion *completions, uint32_t count);

/* ---------------------------------------------------------------------------------------------
 * 9  Received messages: acknowledging, handlers
 * ------------------------------------------------------------------------------------------- */

/*
 * Prevents the message of the last event from being acknowledged when the event is released: smq_ack()
 * acknowledges it, in any order and at any later time. Acknowledgements are sent in the order in which the
 * messages arrived [MQTT-4.6.0-2], so a held message delays those after it; and no more than
 * receive_maximum can be held. Copy what you need of the message.
 *
 * A token outlives the connection. If the server resends the message on the next one, as it must if the
 * session is still there, the message is not delivered a second time, but waits for the same smq_ack(). If
 * the session is gone, so is the token.
 *
 * client   the client; the last event was an SMQ_EVENT_MESSAGE or SMQ_EVENT_REPLY with a token
 *
 * Returns SMQ_OK, also if it is held already; SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if the last
 * event had no token, was acknowledged or was released.
 */
SMQ_API int32_t smq_hold(smq_client *client);

/*
 * Acknowledges a message: PUBACK or PUBREC (sections 3.4, 3.5). This is possible before the event is
 * released, too.
 *
 * client        the client
 * token         of the message's event
 * reason_code   SMQ_REASON_SUCCESS; in 5.0 also, to refuse the message: 0x80, 0x83, 0x87, 0x90, 0x97, 0x99.
 *               A refusal ends a QoS 2 exchange [MQTT-4.3.3-9]: if it is lost with the connection, the
 *               message arrives again
 * properties    5.0: Reason String, User Properties; NULL: none. They are sent only if no earlier message
 *               is unacknowledged, and omitted if the packet would exceed the server's Maximum Packet Size
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 *   SMQ_ERR_TOKEN         no message with this token waits: it was acknowledged before, or its session is
 *                         gone
 *   SMQ_ERR_REASON_CODE   an acknowledgement of this protocol version must not carry reason_code
 *   SMQ_ERR_PROPERTY      properties are malformed or not allowed; before 5.0
 *   SMQ_ERR_TOO_LARGE     the packet exceeds what control_bytes allows
 *   SMQ_ERR_FULL          there are properties, and an earlier message is unacknowledged, or there is no
 *                         room now
 */
SMQ_API int32_t smq_ack(smq_client *client, uint64_t token, uint32_t reason_code, const smq_bytes *properties);

/*
 * Returns the Packet Identifier with which a message arrived, for a log or for the program's own records.
 * The library itself uses tokens.
 *
 * client   the client
 * token    of the message's event
 *
 * Returns 1 to 65,535; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_TOKEN if no message with this token
 * awaits acknowledgement.
 */
SMQ_API int32_t smq_packet_identifier(smq_client *client, uint64_t token);

/*
 * Returns the number of a received message of QoS 2: the next one that is free, or, if the message has one
 * already, that. As soon as smq_sync() has returned 1, the message keeps it: when the server sends the
 * message again, to this process or to a later one with the same journal, it has the same number, and no
 * other message ever has. So each message takes effect exactly once, wherever the process ends, if the
 * program does this:
 *
 *     1. asks for the number of a message, or of several, and calls smq_sync();
 *     2. leaves out a message whose number it has stored before;
 *     3. stores what it makes of the message, and the number, in one transaction;
 *     4. calls smq_ack().
 *
 * client   a client with SMQ_JOURNAL_NUMBERS
 * token    of the message's event, which is the last one, or held
 * number   where to put the number, which is never 0
 *
 * A message whose number was asked for cannot be refused: smq_ack() returns SMQ_ERR_REASON_CODE.
 *
 * Returns SMQ_OK, or SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_NOT_SUPPORTED without SMQ_JOURNAL_NUMBERS, or in
 * 3.1; SMQ_ERR_TOKEN if no message with this token awaits smq_ack(); SMQ_ERR_QOS with QoS 1.
 */
SMQ_API int32_t smq_delivery_number(smq_client *client, uint64_t token, uint64_t *number);

/*
 * Receives what follows of a message that arrives in parts (SMQ_OPTION_PARTS) into the program's memory:
 * the kernel, TLS or WebSocket writes it there, and the receive buffer is not in between. That may be small
 * then: it takes only what had arrived by the first part, with topic and properties.
 *
 * Call it while the last event is a part that others follow. The next event of the message comes when buffer
 * is full, or when the payload ends, and is a part like any other: payload.data is buffer, and payload.size
 * is size, or what was left of the payload. Called again then, with the same memory or other, it receives the
 * next piece; if the program does not call it, further parts are in the receive buffer. Called again before
 * the program has released the event, it replaces the memory. The message is acknowledged with its last part.
 *
 * client   the client
 * buffer   the program's memory. The library writes to it, and nothing else may use it, until the next event
 *          of the message or SMQ_EVENT_DISCONNECTED is handed out, until smq_client_close() returns, or until
 *          this function has taken it back. A connection that ends may leave some bytes there; see
 *          SMQ_EVENT_MESSAGE for what becomes of the message
 * size     of buffer, in bytes. Nothing is written beyond the payload, so it may be larger. 0: takes back
 *          what was lent, if anything was, and buffer is ignored: what had arrived by then is at the
 *          beginning of that memory, and is the next part. Nothing is written to it any more
 *
 * With SMQ_OPTION_OWN_TRANSPORT, smq_engine_receive_buffer() returns the program's own memory then, unless
 * there are layers.
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if the last event
 * is no part that others follow, or was released.
 */
SMQ_API int32_t smq_receive_into(smq_client *client, void *buffer, size_t size);

/*
 * Puts a Topic Filter into the table with which each message is matched: its event contains the first entry
 * that matches. This does not subscribe. The entry replaces the one at this index; the others keep theirs.
 * Wildcards match as the server's do; of "$share/name/filter" the filter counts.
 *
 * client    the client
 * index     0 to smq_options.handlers - 1
 * filter    the Topic Filter, copied; an empty one clears the entry
 * handler   NULL, or what smq_dispatch() calls
 * user      for the handler and the event
 *
 * Returns SMQ_OK, or, with nothing changed, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if index is out of
 * range, SMQ_ERR_TOPIC_FILTER, SMQ_ERR_UTF8, SMQ_ERR_TOO_LARGE if the filter is longer than handler_bytes,
 * or SMQ_ERR_FULL if they are used up: clearing an entry makes room.
 */
SMQ_API int32_t smq_handle(smq_client *client, uint32_t index, const smq_bytes *filter, smq_handler handler,
                           void *user);

/*
 * Returns the next entry that matches a topic, for a message that several handlers are to get.
 *
 * client   the client
 * topic    a Topic Name, such as that of an event
 * after    the entry after which to search; -1: from the first
 *
 * Returns its index, 0 to smq_options.handlers - 1; -1 if there is none; or SMQ_ERR_NULL, SMQ_ERR_CLIENT
 * (which are below -1).
 */
SMQ_API int32_t smq_next_match(const smq_client *client, const smq_bytes *topic, int32_t after);

/*
 * Passes a message to its handler, if it has one. The library itself never calls a handler, so the handler
 * may call anything. But smq_next_event(), smq_wait(), smq_service() and smq_engine_timed_out() release the
 * event, and after smq_client_close() neither client nor event exists.
 *
 * Returns 1 if there was a handler, otherwise 0.
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
 * Publishes a request, with a Response Topic and Correlation Data of 8 bytes, and waits for the reply: the
 * first message on the response topic with the same Correlation Data. The response topic must be subscribed
 * to. The request ends in exactly one SMQ_EVENT_REPLY with message->cookie. If its time is up before it was
 * sent, it is not sent any more.
 *
 * client           the client, with smq_options.replies
 * message          the request; quiet is ignored, and properties must have neither Response Topic nor
 *                  Correlation Data
 * response_topic   Topic Name: where the reply is to be sent
 * timeout_ms       how long to wait for it: 1 to 86,400,000
 *
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if timeout_ms is out of range or message is urgent or
 * SMQ_OVERFLOW_LATEST, SMQ_ERR_NOT_SUPPORTED before 5.0 and without smq_options.replies, SMQ_ERR_FULL if
 * that many are waiting: an SMQ_EVENT_REPLY makes room, and there is no SMQ_EVENT_ROOM.
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
 * Returns what smq_publish() does, and SMQ_ERR_OPTION if message has a topic, or if the request has no
 * Response Topic; the latter tells a program that a message is not a request. SMQ_ERR_STRUCT_SIZE may also
 * be about request.
 */
SMQ_API int32_t smq_respond(smq_client *client, const smq_event *request, const smq_message *message);

/* ---------------------------------------------------------------------------------------------
 * 11  Running a client: the simple loop
 * ------------------------------------------------------------------------------------------- */

/*
 * Does everything that is due, and waits until there is an event: sends what was published, receives, keeps
 * the connection alive. Returns early when a signal handler has run, so that a loop can check its flags.
 * The call does not notice a signal that comes just before it, so a loop that checks flags must not wait
 * with -1. This, smq_group_wait() and smq_runner_stop() are the only calls that wait.
 *
 * client       the client
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if an event is waiting; 0 if the time is up or a signal came; SMQ_ERR_NULL; SMQ_ERR_CLIENT,
 * also if the program has closed smq_fd(); SMQ_ERR_OPTION if timeout_ms is below -1; SMQ_ERR_STATE with
 * timeout_ms -1 in SMQ_STATE_DISCONNECTED if nothing would ever happen: no message expires, no request
 * times out, and with smq_options.submit_messages 0 no other thread can submit one.
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
 * Returns one descriptor, the same as long as the client lives, that becomes readable when smq_service()
 * has something to do. It is for poll, epoll, glib, libuv, asyncio: wait for reading only; never read from
 * it, and do not close it.
 *
 * client   the client
 *
 * Returns the descriptor, or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE with SMQ_OPTION_OWN_TRANSPORT.
 */
SMQ_API int32_t smq_fd(const smq_client *client);

/*
 * Returns when smq_service() next needs to be called even if smq_fd() stays silent. Ask after every call on
 * the client: publishing makes it 0, and so does an event that waits to be taken.
 *
 * client   the client
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SMQ_ERR_NULL, SMQ_ERR_CLIENT (which are
 * below -1).
 */
SMQ_API int32_t smq_next_timeout_ms(const smq_client *client);

/*
 * Does everything that is due, without waiting: sends, receives, checks the deadlines. Calling it too often
 * does no harm.
 *
 * client   the client
 *
 * Returns 1 if an event is waiting, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT. A failure of the connection
 * is not an error of this call: it arrives as SMQ_EVENT_DISCONNECTED.
 */
SMQ_API int32_t smq_service(smq_client *client);

/*
 * Hands to the kernel what is ready to be sent, as far as the kernel accepts it, without waiting and
 * without receiving: one system call for everything, none if there is nothing. It is for programs that
 * publish much between two calls of smq_service() or smq_wait(), which do so as well. It does not release
 * the event that was taken last.
 *
 * client   the client
 *
 * Returns 1 if an event is waiting, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE with
 * SMQ_OPTION_OWN_TRANSPORT. A failure of the connection arrives as SMQ_EVENT_DISCONNECTED.
 */
SMQ_API int32_t smq_flush(smq_client *client);

/* ---------------------------------------------------------------------------------------------
 * 13  Running a client: the bare engine
 *
 * With SMQ_OPTION_OWN_TRANSPORT the program brings its own input and output: a serial line, its own TLS, a
 * simulation. It passes in what it received, sends what comes out, and passes the time as a number of
 * milliseconds, from any clock that only goes forward; the number may wrap. Everything else works as usual,
 * reconnecting included. The program publishes messages and takes events between these calls. After any of
 * them there may be something to be sent: ask smq_engine_transmit(), as nothing else reports it. smq_wait()
 * and smq_fd() return SMQ_ERR_STATE, and write_timeout_ms is left to the program. Calls without a time
 * happen at the last one given, so pass the time before smq_connect(). smq_service() and
 * smq_next_timeout_ms() answer for that time, too, and ignore what is to be sent (0 and, without a
 * deadline, -1): the calls of this chapter replace them.
 *
 *     smq_engine_timed_out(client, now);
 *     smq_connect(client);
 *     for (;;) {
 *         while (smq_next_event(client, &event) == 1)
 *             if (event.type == SMQ_EVENT_OPEN) …                      open; smq_engine_opened(client, now)
 *             else if (event.type == SMQ_EVENT_DISCONNECTED) …         close
 *         is_blocked = 0;
 *         while (!is_blocked && (smq_engine_transmit(client, now, &out, &size), size > 0)) {
 *             …                                   send; smq_engine_transmitted(client, how many bytes were
 *                                                 accepted, now) or, if the connection accepts none any more,
 *                                                 smq_engine_closed(client, errno, now): reading does not
 *                                                 always report it
 *             is_blocked = fewer than size were accepted;
 *         }
 *         …                                       wait for bytes and, if is_blocked, until more can be sent,
 *                                                 at most smq_engine_next_timeout_ms(client, now); now = …
 *         smq_engine_receive_buffer(client, &in, &size);
 *         …                                       smq_engine_received(client, how many came, now) or, at the
 *                                                 end of the stream, smq_engine_closed(client, 0, now)
 *         smq_engine_timed_out(client, now);
 *     }
 *
 * Each of these calls returns SMQ_ERR_STATE for a client without SMQ_OPTION_OWN_TRANSPORT.
 * ------------------------------------------------------------------------------------------- */

/*
 * Reports that the connection that SMQ_EVENT_OPEN asked for is open: the handshakes of proxy, TLS
 * and WebSocket begin, if there are any, and then CONNECT is sent.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if no connection was asked for.
 */
SMQ_API int32_t smq_engine_opened(smq_client *client, uint32_t now_ms);

/*
 * Reports that the connection that was opened last is gone, or that none can be opened. Pass what it
 * received before through smq_engine_received() first.
 *
 * client     the client
 * os_error   0: the peer closed it; otherwise an errno, for the event
 * now_ms     the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_OPTION if os_error is negative, or SMQ_ERR_STATE if
 * there is no connection, and none was asked for.
 */
SMQ_API int32_t smq_engine_closed(smq_client *client, int32_t os_error, uint32_t now_ms);

/*
 * Returns where the next bytes from the server go.
 *
 * client   the client
 * data     where to put the pointer; valid until the next call on the client
 * size     where to put how many there may be; 0: none now, because an event has to be taken first, because
 *          acknowledgements have to be transmitted first, or because there is no connection
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE.
 */
SMQ_API int32_t smq_engine_receive_buffer(smq_client *client, void **data, size_t *size);

/*
 * Reports that bytes arrived, which are where smq_engine_receive_buffer() said.
 *
 * client   the client
 * size     how many: 0 to what it said
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE, or SMQ_ERR_OPTION if size is larger than
 * that.
 */
SMQ_API int32_t smq_engine_received(smq_client *client, size_t size, uint32_t now_ms);

/*
 * Returns what is to be sent next, in one piece. Ask again after each smq_engine_transmitted() until there
 * is nothing; or, if fewer bytes were accepted than it returned, when the transport accepts more.
 *
 * client   the client
 * now_ms   the time
 * data     where to put the pointer; valid until the next call on the client. If that is not
 *          smq_engine_transmitted(), the bytes do not count as sent
 * size     where to put how many bytes; 0: nothing
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE.
 */
SMQ_API int32_t smq_engine_transmit(smq_client *client, uint32_t now_ms, const void **data, size_t *size);

/*
 * Reports that bytes of smq_engine_transmit() were sent, from the front.
 *
 * client   the client
 * size     how many: 0 to what it returned
 * now_ms   the time
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STATE, or SMQ_ERR_OPTION if size is larger than
 * that, or another call came in between.
 */
SMQ_API int32_t smq_engine_transmitted(smq_client *client, size_t size, uint32_t now_ms);

/*
 * Returns when smq_engine_timed_out() needs to be called if nothing else happens. It does not report that
 * bytes wait to be sent.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 * SMQ_ERR_STATE (which are below -1).
 */
SMQ_API int32_t smq_engine_next_timeout_ms(smq_client *client, uint32_t now_ms);

/*
 * Reports that time has passed: does what is due, and releases the event that was taken last. Calling it
 * too often does no harm.
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
 * A client belongs to one thread, its owner. All other threads may only call smq_submit(). The owner may be
 * one of the program's own threads, or one that smq_runner_start() creates.
 * ------------------------------------------------------------------------------------------- */

/*
 * Publishes a message from any thread while another one owns the client: copies it into a queue of
 * smq_options.submit_messages. From there the owner moves it into the outbox, in its next smq_wait() or
 * smq_service(), as smq_publish() would. After that everything holds that is said there. The messages of
 * one thread are published in its order, those of several threads in the order in which the calls ended.
 *
 * The call takes no lock and never waits: a thread that is interrupted in the middle of it, for however
 * long, occupies one of the places and delays no other thread. So it is fit for a SCHED_FIFO thread, for a
 * signal handler, and for the owner. It makes at most one system call, which wakes up the owner if nothing
 * else is waiting to be moved. (With an expiry it also reads the clock, which is a system call where the
 * kernel has no vDSO.)
 *
 * While the outbox has no room, or a smq_publish_reserve() is open, messages wait here, and in the end the
 * answer is SMQ_ERR_FULL; no event reports that there is room again. overflow applies when a message is
 * about to be moved into the outbox (SMQ_OVERFLOW_DROP_NEWEST waits), and so does urgent: until then
 * messages keep their order. smq_disconnect() waits for a message that was submitted before it like for one
 * in the outbox; a later one waits for the next connection.
 *
 * What only the owner can find out ends the message with SMQ_EVENT_COMPLETED and its cookie:
 * SMQ_ERR_SERVER_LIMIT if it exceeds a limit of the server, or has properties and the connection is not 5.0
 * (reason_code 0x84); SMQ_ERR_EXPIRED if it waited for too long; SMQ_ERR_DROPPED with
 * SMQ_OPTION_QOS_0_CONNECTED, QoS 0 and no connection. With SMQ_OPTION_OWN_TRANSPORT it wakes up nobody.
 *
 * The client must live until the call returns: end the threads that submit, or keep them from submitting,
 * before smq_client_close().
 *
 * client    the client
 * message   the message; copied, and may be released afterwards. expiry_s and a Message Expiry Interval
 *           count from this call
 *
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL            client or message is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT          not a client
 *   SMQ_ERR_STRUCT_SIZE     message->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION          retain, quiet or urgent is neither 0 nor 1; overflow or store is unknown;
 *                           SMQ_STORE_NONE with QoS 2; there are properties, and smq_options.protocol is
 *                           not 5.0
 *   SMQ_ERR_PROPERTY        properties are malformed, not allowed in PUBLISH, or set by the library, as in
 *                           smq_publish()
 *   SMQ_ERR_QOS             qos is above 2
 *   SMQ_ERR_TOPIC_NAME      the topic is empty, longer than 65,535 bytes or has '+' or '#'
 *   SMQ_ERR_UTF8            the topic is not well-formed UTF-8
 *   SMQ_ERR_TOO_LARGE       topic, properties and payload are together larger than submit_bytes, or the
 *                           packet is larger than the whole outbox
 *   SMQ_ERR_NOT_SUPPORTED   submit_messages is 0; or urgent_messages is 0, and the message is urgent
 *   SMQ_ERR_FULL            submit_messages are waiting
 */
SMQ_API int32_t smq_submit(smq_client *client, const smq_message *message);

/*
 * A thread that owns a client, in the program's memory: aligned to SMQ_MEMORY_ALIGNMENT, and all zero
 * before the first smq_runner_start(). It must not be moved or copied while it runs.
 */
typedef struct smq_runner {
    int32_t os_error; /* why smq_runner_start() returned SMQ_ERR_NO_THREAD: an errno */
    uint32_t reserved;
    uint64_t reserved2[11];
} smq_runner;

/* A smq_runner that does not run. */
#define SMQ_RUNNER_INIT                                                                                                \
    {                                                                                                                  \
        0, 0, { 0 }                                                                                                    \
    }

/* How a runner runs a client. */
typedef struct smq_runner_options {
    uint32_t size; /* sizeof(smq_runner_options) */
    /*
     * 1 to 99: SCHED_FIFO with this priority, which needs CAP_SYS_NICE or RLIMIT_RTPRIO; 0: scheduled like
     * the thread that starts it.
     */
    int32_t priority;
    /*
     * 131,072 to 268,435,456; 0: libc's default. The library needs less than 32,768 of it, the rest is for
     * on_event.
     */
    uint32_t stack_bytes;
    uint32_t reserved; /* 0 */
    smq_bytes name;    /* shown by ps and gdb: at most 15 bytes, none of them zero; empty: smq-runner */
    /*
     * Gets each event, in the runner's thread, which owns the client. It may call anything on the client,
     * as after smq_next_event(), except smq_client_close(). NULL: events are discarded.
     */
    smq_handler on_event;
    void *user; /* for on_event */
} smq_runner_options;

/* A smq_runner_options with its size set. */
#define SMQ_RUNNER_OPTIONS_INIT                                                                                        \
    { sizeof(smq_runner_options), 0, 0, 0, { NULL, 0 }, NULL, NULL }

/*
 * Starts a thread that owns the client until smq_runner_stop(). It connects the client unless it is
 * connected or connecting, runs it, and passes its events to on_event, beginning with those that wait
 * already. Meanwhile other threads may only call smq_submit() and smq_runner_stop(); so subscribe before,
 * or in on_event. The thread ends with smq_runner_stop() only: after smq_disconnect() in on_event, the
 * client stays disconnected until on_event calls smq_connect(). All signals are blocked in the thread.
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
 *   SMQ_ERR_STATE           the runner runs; SMQ_OPTION_OWN_TRANSPORT; the client is in a group
 *   SMQ_ERR_NO_DESCRIPTOR   the process or the system has none left with which to wake up the thread
 *   SMQ_ERR_NO_THREAD       os_error is EAGAIN: there are too many threads; EPERM: the process may not have
 *                           this priority; EINVAL: the stack is too small for this system
 */
SMQ_API int32_t smq_runner_start(smq_runner *runner, smq_client *client, const smq_runner_options *options);

/*
 * Makes the runner disconnect with smq_disconnect(), and waits until its thread has ended: not longer than
 * drain_ms and the two times two seconds that a graceful disconnect may take, plus the time of on_event.
 * While connected, messages from before this call, those of smq_submit() included, are delivered first if
 * there is time. Without a connection they stay where they are, and smq_client_stats() returns how many:
 * outbox_messages, urgent_messages and submit_waiting. The last event that on_event gets is
 * SMQ_EVENT_DISCONNECTED, if there was a connection or an attempt; an attempt that it begins then is given
 * up. Afterwards the calling thread owns the client, and smq_runner_start() may be called again. This,
 * smq_wait() and smq_group_wait() are the only calls that wait.
 *
 * runner     the runner; if it does not run, nothing is done
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait for undelivered messages
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_OPTION if drain_ms is above its range, or SMQ_ERR_STATE from
 * on_event, which cannot wait for its own thread, and while another thread starts or stops the runner.
 */
SMQ_API int32_t smq_runner_stop(smq_runner *runner, uint32_t drain_ms);

/* ---------------------------------------------------------------------------------------------
 * 15  Numbers
 * ------------------------------------------------------------------------------------------- */

/* What a client has done since smq_client_init(), and how full its buffers are. */
typedef struct smq_stats {
    uint32_t size;               /* in: sizeof(smq_stats) */
    uint32_t connections;        /* CONNACKs that accepted */
    uint64_t messages_published; /* smq_publish() calls, and those of its variants, that returned SMQ_OK */
    uint64_t messages_completed; /* messages that ended as their QoS promises */
    uint64_t messages_failed;    /* messages that ended in another way */
    uint64_t packets_sent;       /* Control Packets handed to the kernel completely */
    uint64_t packets_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t send_calls;            /* system calls that sent something: batching saved packets_sent -
                                       send_calls */
    uint64_t receive_calls;         /* system calls that received something */
    uint32_t outbox_bytes;          /* in use now */
    uint32_t outbox_bytes_peak;     /* the highest value so far */
    uint32_t outbox_bytes_capacity; /* the limit */
    /*
     * outbox_messages: messages that are not complete, or whose SMQ_EVENT_COMPLETED was not taken. The peak
     * counts places in the table: a message that is completely reported keeps its place while an older one
     * is not complete. If there is no other place, it gives it up, but not if it or one behind it was sent:
     * so SMQ_ERR_FULL may come with outbox_messages below the capacity.
     */
    uint32_t outbox_messages;
    uint32_t outbox_messages_peak;
    uint32_t outbox_messages_capacity;
    uint32_t in_flight;           /* QoS 1 and 2 messages handed over for sending on this connection and
                                     not yet acknowledged; 0 without a connection */
    uint32_t in_flight_maximum;   /* how many the server and the options allow; 0 without a connection */
    uint64_t messages_received;   /* delivered to the program, each counted once however many parts it had */
    uint64_t messages_duplicate;  /* QoS 2 messages, and held ones, that arrived again and were not
                                     delivered again */
    uint64_t messages_oversize;   /* messages whose payload was dropped for lack of room */
    uint64_t messages_expired;    /* published messages that were not sent in time */
    uint32_t unacknowledged;      /* QoS 1 and 2 messages received and not yet acknowledged or released,
                                     now */
    uint32_t unacknowledged_peak; /* the highest value so far */
    uint32_t receive_maximum;     /* the limit */
    uint32_t requests;            /* SUBSCRIBE and UNSUBSCRIBE packets not yet acknowledged, now */
    uint32_t requests_peak;       /* the highest value so far, including those that had to wait for an
                                     older one */
    uint32_t replies;             /* smq_request() calls that wait for their reply, now */
    uint32_t replies_peak;        /* the highest value so far */
    uint32_t subscriptions;       /* Topic Filters kept for resubscribing */
    uint32_t receive_bytes_peak;  /* the highest fill level of the receive buffer */
    uint32_t control_bytes_peak;  /* and of the room for acknowledgements that wait to be sent */
    uint32_t urgent_bytes;        /* in use now, by urgent messages */
    uint32_t urgent_bytes_peak;   /* the highest value so far */
    uint32_t urgent_messages;     /* the same in messages, counted like outbox_messages */
    uint32_t urgent_messages_peak;
    uint32_t outbox_age_ms;     /* the age, at the last smq_wait() or smq_service(), of the oldest message
                                   that waits to be sent; urgent ones first; 0: none waits */
    uint32_t attempts;          /* attempts to connect so far; wraps */
    uint64_t messages_dropped;  /* messages that made room, SMQ_DROPPED included */
    uint64_t messages_replaced; /* messages that a later one with the same topic replaced */
    /*
     * How long the server took, counted in classes: [0] below 1 ms, [1] below 2 ms, [2] below 4 ms and so
     * on; [15] everything from 16,384 ms on.
     */
    uint32_t latency[16];    /* from handing a QoS 1 or 2 message to the kernel to its PUBACK or PUBCOMP */
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
    uint64_t submitted;           /* smq_submit() calls that accepted a message */
    uint64_t submit_full;         /* and those that returned SMQ_ERR_FULL */
    uint32_t submit_waiting;      /* messages that are submitted, or being submitted, and not yet in the
                                     outbox, now */
    uint32_t submit_peak;         /* the highest value so far */
    uint64_t messages_postponed;  /* QoS 2 messages that had no place (unreleased_maximum) and were left to
                                     a later connection, each counted on every connection on which it
                                     arrived in vain */
    uint32_t ended_proxy;         /* SMQ_ERR_PROXY */
    uint32_t ended_tls;           /* SMQ_ERR_TLS */
    uint32_t ended_websocket;     /* SMQ_ERR_WEBSOCKET */
    uint32_t reserved;            /* 0 */
} smq_stats;

/* A smq_stats with its size set. */
#define SMQ_STATS_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(smq_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0  \
    }

/*
 * Reads a client's statistics.
 *
 * client   the client
 * stats    where to put them; stats->size must be set
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE if stats->size is smaller than
 * version 1's.
 */
SMQ_API int32_t smq_client_stats(const smq_client *client, smq_stats *stats);

/* How much a smq_log is told; each level includes those before it. */
enum {
    SMQ_LOG_OFF = 0,
    SMQ_LOG_WARNING = 1,
    SMQ_LOG_INFO = 2,
    SMQ_LOG_DEBUG = 3 /* steps and pings; no level traces packets */
};

/*
 * The log entries, with the two numbers that go with each. smq_log_name() returns a name for each.
 *
 * The first number of SMQ_LOG_ENDED, as in the ended_… of smq_stats: 0 requested, 1 refused, 2
 * server_closed, 3 malformed, 4 protocol, 5 keep_alive, 6 stream, 7 resolve, 8 network, 9 closed, 10
 * timeout, 11 credentials, 12 tls, 13 proxy, 14 websocket.
 */
enum {
    SMQ_LOG_ATTEMPT = 1,        /* info: an attempt to connect begins: its number; server as in smq_event */
    SMQ_LOG_LOOK_UP = 2,        /* debug: a host name is being resolved: server */
    SMQ_LOG_ADDRESSES = 3,      /* debug: the addresses are known: how many */
    SMQ_LOG_ADDRESS = 4,        /* debug: an address is tried: which, counted from 0 */
    SMQ_LOG_ADDRESS_FAILED = 5, /* warning: an address failed: which of the four parallel attempts of the
                                   race; errno */
    SMQ_LOG_OPENED = 6,         /* debug: the network connection is open, with proxy, TLS and WebSocket */
    SMQ_LOG_CONNECTED = 7,      /* info: CONNACK accepted the connection: SMQ_PROTOCOL_…, and nothing else */
    SMQ_LOG_ENDED = 8,          /* info: an attempt or a connection ended: why, see above; SMQ_STAGE_… */
    SMQ_LOG_WAITING = 9,        /* info: waiting until the next attempt is due: milliseconds */
    SMQ_LOG_PING = 10,          /* debug: PINGREQ */
    SMQ_LOG_PONG = 11,          /* debug: PINGRESP: milliseconds it took */
    SMQ_LOG_BLOCKED = 12,       /* debug: the kernel accepts no more bytes */
    SMQ_LOG_UNBLOCKED = 13,     /* debug: the kernel accepts bytes again */
    SMQ_LOG_HINT = 14,          /* info: smq_hint_network() or smq_hint_resume(): up */
    SMQ_LOG_FALLBACK = 15,      /* warning: the server does not speak the version: the SMQ_PROTOCOL_… that
                                   is tried now */
    SMQ_LOG_REDIRECTED = 16     /* info: another server is tried, to which this one referred: server */
};

/*
 * Is told what a client does. The call that does it calls this function, in its own thread; the function
 * must not call the client or its group. It is told no secrets: no user name, password, topic or payload.
 *
 * user     what smq_set_log() was given
 * level    SMQ_LOG_WARNING to SMQ_LOG_DEBUG
 * what     SMQ_LOG_ATTEMPT and so on; later versions may have more
 * number   as described there, otherwise 0
 * other    the second number, otherwise 0
 */
typedef void (*smq_log)(void *user, int32_t level, int32_t what, int32_t number, int32_t other);

/*
 * Sets or removes the log function of a client. It is for the program's log: everything that a program has
 * to act on is an event.
 *
 * client   the client
 * level    SMQ_LOG_OFF to SMQ_LOG_DEBUG
 * log      the function, until the next call of this or smq_client_close(); NULL: none
 * user     for log
 *
 * Returns SMQ_OK, SMQ_ERR_NULL if client is NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if level is unknown.
 */
SMQ_API int32_t smq_set_log(smq_client *client, int32_t level, smq_log log, void *user);

/*
 * Returns the name of a log entry, such as "connected". Any thread, any time.
 *
 * what   one of SMQ_LOG_ATTEMPT to SMQ_LOG_REDIRECTED
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown" for other values. Never
 * NULL, no errors.
 */
SMQ_API const char *smq_log_name(int32_t what);

/* What the connected server can do (section 3.2.2.3); before 5.0, what holds when a server does not say. */
typedef struct smq_server {
    uint32_t size;                 /* in: sizeof(smq_server) */
    uint32_t protocol;             /* SMQ_PROTOCOL_…: the version that is spoken */
    uint32_t session_expiry_s;     /* how long the server keeps the session after the connection */
    uint32_t receive_maximum;      /* QoS 1 and 2 messages that it accepts at a time */
    uint32_t maximum_packet_bytes; /* the largest packet that it accepts; 0: MQTT's own limit */
    uint32_t maximum_qos;          /* 0 to 2 */
    uint32_t retain_available;     /* 0 or 1, like the following */
    uint32_t wildcard_available;   /* subscriptions with wildcards */
    uint32_t shared_available;     /* Shared Subscriptions */
    uint32_t subscription_identifiers_available;
    uint32_t topic_alias_maximum; /* Topic Aliases that it accepts */
    uint32_t keep_alive_s;        /* the Keep Alive in effect; 0: none */
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
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE if server->size is smaller than version
 * 1's, or SMQ_ERR_STATE without a connection.
 */
SMQ_API int32_t smq_client_server(const smq_client *client, smq_server *server);

/* ---------------------------------------------------------------------------------------------
 * 16  Helpers. Any thread, any time.
 * ------------------------------------------------------------------------------------------- */

/*
 * Checks whether a message could be published with this topic (section 4.7). The topic may be longer than a
 * server accepts.
 *
 * topic   the Topic Name
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_UTF8, or SMQ_ERR_TOPIC_NAME if it is empty, longer than 65,535
 * bytes, or has '+' or '#'.
 */
SMQ_API int32_t smq_topic_name_check(const smq_bytes *topic);

/*
 * Checks whether a client could subscribe to this filter (sections 4.7.1, 4.8.2).
 *
 * filter   the Topic Filter
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_UTF8, or SMQ_ERR_TOPIC_FILTER if it is empty, longer than 65,535
 * bytes, has a misplaced wildcard, or is "$share/" without a share name and a filter.
 */
SMQ_API int32_t smq_topic_filter_check(const smq_bytes *filter);

/*
 * Checks whether a topic matches a filter: '#' also matches the level above it, a wildcard at the beginning
 * matches no topic that begins with '$' (section 4.7.2), and of "$share/name/filter" the filter counts.
 *
 * filter   the Topic Filter
 * topic    the Topic Name
 *
 * Returns 1 or 0; SMQ_ERR_NULL; or what is wrong with the filter or the topic: SMQ_ERR_TOPIC_FILTER,
 * SMQ_ERR_TOPIC_NAME, SMQ_ERR_UTF8.
 */
SMQ_API int32_t smq_topic_matches(const smq_bytes *filter, const smq_bytes *topic);

/*
 * Writes a template in which each '%' is replaced by a random byte from getrandom(), as two upper-case hex
 * digits.
 *
 * template_text   any string
 * buffer          where to put it; not zero-terminated
 * capacity        bytes at buffer; every '%' needs two
 *
 * Returns how many bytes were written; or SMQ_ERR_NULL, or SMQ_ERR_FULL if capacity is too small: then
 * nothing was written.
 */
SMQ_API int32_t smq_expand_template(const smq_bytes *template_text, void *buffer, size_t capacity);

/* Numbers of fixed width in a payload, in network byte order (big-endian); they need no alignment. */
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

/* ---------------------------------------------------------------------------------------------
 * 17  Many clients: a group
 *
 * One descriptor and one deadline for up to 1,048,576 clients of one thread. The group asks only those of
 * which there is something to say, so that a client that is idle costs what its Keep Alive costs.
 *
 *     for (;;) {
 *         smq_group_wait(group, -1);
 *         while (smq_group_next_ready(group, &client) == 1)
 *             while (smq_next_event(client, &event) == 1) …
 *     }
 *
 * Everything else works as usual, at any time and on any member: what the program publishes is sent by the
 * next call of smq_group_wait() or smq_group_service(), or by the call of smq_group_next_ready() that
 * returns 0; of a member that has an event, once it was handed out. A group and its members belong to one
 * thread, and smq_submit() to all, as without a group. Two descriptors for each member are usual, three with
 * submit_messages: raise RLIMIT_NOFILE.
 * ------------------------------------------------------------------------------------------- */

typedef struct smq_group smq_group; /* opaque; lives in the program's memory */

/*
 * Returns how many bytes a group of so many clients needs, some 30 for each, without the clients. Any thread.
 *
 * capacity   how many clients it can have at a time: 1 to 1,048,576
 *
 * Returns the number of bytes, or 0 if capacity is out of its range, or the library was built without groups.
 */
SMQ_API size_t smq_group_size(uint32_t capacity);

/*
 * Makes an empty group in the program's memory. It makes one system call, for the descriptor.
 *
 * memory     the block: aligned to SMQ_MEMORY_ALIGNMENT, not moved until smq_group_close()
 * size       its size in bytes, at least smq_group_size(capacity)
 * capacity   as above
 * group      where to put the group's handle; only written on success
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL               memory or group is NULL
 *   SMQ_ERR_OPTION             capacity is out of its range
 *   SMQ_ERR_MEMORY_SIZE        size is too small
 *   SMQ_ERR_MEMORY_ALIGNMENT   memory is not aligned
 *   SMQ_ERR_NO_DESCRIPTOR      the process or the system has no descriptor left
 */
SMQ_API int32_t smq_group_init(void *memory, size_t size, uint32_t capacity, smq_group **group);

/*
 * Ends a group and gives its memory back to the program. The members leave it and live on, as they are.
 *
 * group   the group; the handle is invalid afterwards
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, or SMQ_ERR_CLIENT if it was closed before.
 */
SMQ_API int32_t smq_group_close(smq_group *group);

/*
 * Adds a client, in any state. It stays in the group until smq_group_remove(), smq_client_close() or
 * smq_group_close(). Nothing else changes for it: smq_connect() and all others are called as before.
 *
 * group    the group
 * client   the client; the thread that calls is its owner, and no runner has it
 *
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL            group or client is NULL
 *   SMQ_ERR_CLIENT          not a group, or not a client
 *   SMQ_ERR_STATE           the client is in a group; SMQ_OPTION_OWN_TRANSPORT
 *   SMQ_ERR_FULL            the group has as many clients as it can have
 *   SMQ_ERR_NO_DESCRIPTOR   the system watches no further descriptor
 */
SMQ_API int32_t smq_group_add(smq_group *group, smq_client *client);

/*
 * Takes a client out of the group, in any state. The program runs it itself from then on.
 *
 * group    the group
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE if the client is not in this group.
 */
SMQ_API int32_t smq_group_remove(smq_group *group, smq_client *client);

/*
 * Returns one descriptor for all members, the same as long as the group lives, as smq_fd() does for a client.
 *
 * group   the group
 *
 * Returns the descriptor, or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_group_fd(const smq_group *group);

/*
 * Returns when smq_group_service() next needs to be called even if smq_group_fd() stays silent. Ask after all
 * calls on the group and its members, as of smq_next_timeout_ms().
 *
 * group   the group
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SMQ_ERR_NULL, SMQ_ERR_CLIENT (which are
 * below -1).
 */
SMQ_API int32_t smq_group_next_timeout_ms(const smq_group *group);

/*
 * Does everything that is due for the members, and waits until one of them has an event; or a signal handler
 * has run, as smq_wait() does.
 *
 * group        the group
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if a member has an event; 0 if the time is up or a signal came; SMQ_ERR_NULL; SMQ_ERR_CLIENT,
 * also if the program has closed smq_group_fd(); SMQ_ERR_OPTION if timeout_ms is below -1; SMQ_ERR_STATE
 * with timeout_ms -1 if there is no member. (Unlike smq_wait(), it waits for members that never connect.)
 */
SMQ_API int32_t smq_group_wait(smq_group *group, int32_t timeout_ms);

/*
 * Does everything that is due for the members, without waiting, as smq_service() does for one.
 *
 * group   the group
 *
 * Returns 1 if a member has an event, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_group_service(smq_group *group);

/*
 * Hands out the next member that has an event, each at most once after a call of smq_group_wait() or
 * smq_group_service(): call it until it returns 0. A member whose events the program does not all take is
 * handed out again next time, behind the others.
 *
 * group    the group
 * client   where to put the client; NULL if there is none
 *
 * Returns 1 if there was one, 0 if not; or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
 */
SMQ_API int32_t smq_group_next_ready(smq_group *group, smq_client **client);

/* ---------------------------------------------------------------------------------------------
 * 18  The journal
 * ------------------------------------------------------------------------------------------- */

/*
 * Waits until every message that was published before is in the journal, and on the disk, or has ended; not
 * for those of smq_submit() that are still in its queue (smq_stats.submit_waiting). The connection goes on
 * meanwhile, and no event is released. Without it, a message is stored journal_delay_ms and a write later.
 * With SMQ_OPTION_OWN_TRANSPORT it does not wait, but the next smq_engine_storage() does not either.
 *
 * client       a client with smq_options.journal
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if everything is stored; 0 if the time is up, or the program has closed smq_fd();
 * SMQ_ERR_JOURNAL if a commit has failed, or has failed before and is not tried again yet
 * (smq_journal_info.os_error says why); SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_NOT_SUPPORTED without a
 * journal; SMQ_ERR_OPTION if timeout_ms is below -1.
 */
SMQ_API int32_t smq_sync(smq_client *client, int32_t timeout_ms);

/* Numbers of the journal, for smq_journal_state(). */
typedef struct smq_journal_info {
    uint32_t size;     /* in: sizeof(smq_journal_info) */
    int32_t os_error;  /* why the last commit that failed did: an errno; 0: none has failed */
    uint64_t accepted; /* the position of the message of QoS 1 or 2 that was accepted for it last: after
                          smq_publish(), of that message. Each has the next one; a process goes on behind the
                          messages that it has taken up */
    uint64_t stored;   /* up to which position all messages are durable, or have ended. With urgent messages
                          it moves on when everything is stored */
    uint32_t failures; /* commits that have failed */
    uint32_t blocks;   /* of 4,096 bytes, in its ring */
    uint32_t used;     /* blocks that the next process would need now */
    uint32_t torn;     /* blocks that the process before this one was writing when it ended */
} smq_journal_info;

/* A smq_journal_info with its size set. */
#define SMQ_JOURNAL_INFO_INIT                                                                                          \
    { sizeof(smq_journal_info), 0, 0, 0, 0, 0, 0, 0 }

/*
 * Reads the numbers of the journal. It makes no system call.
 *
 * client   a client with smq_options.journal
 * state    where to put them; state->size must be set
 *
 * Returns SMQ_OK; SMQ_ERR_NULL, SMQ_ERR_CLIENT, SMQ_ERR_STRUCT_SIZE; SMQ_ERR_NOT_SUPPORTED without a journal.
 */
SMQ_API int32_t smq_journal_state(smq_client *client, smq_journal_info *state);

/* What the bare engine wants of the storage of its journal: see smq_engine_storage(). */
enum {
    SMQ_STORAGE_READ = 1,  /* read byte_count bytes at offset to data; what is not there reads as zeros */
    SMQ_STORAGE_WRITE = 2, /* write the byte_count bytes at data to offset */
    SMQ_STORAGE_SYNC = 3   /* make durable all that was written; data is NULL */
};

typedef struct smq_storage {
    uint32_t size;      /* in: sizeof(smq_storage) */
    uint32_t operation; /* SMQ_STORAGE_…; 0: nothing */
    uint64_t offset;    /* a multiple of 4,096 */
    void *data;         /* in the client's block */
    size_t byte_count;  /* a multiple of 4,096, at most smq_options.journal_batch_bytes */
} smq_storage;

/* A smq_storage with its size set. */
#define SMQ_STORAGE_INIT                                                                                               \
    { sizeof(smq_storage), 0, 0, NULL, 0 }

/*
 * The journal of the bare engine (smq_options.journal_bytes without a path): the program has the storage, a
 * partition of flash, say, and the client says what it is to do, one thing after the other. Carry out what
 * this call says, now or in the background, and report that with smq_engine_storage_done(); until then this
 * call says the same again, and the bytes at data belong to the program. Nothing else waits for it but what
 * docs/journal.md says.
 *
 * It begins after smq_client_init(), by reading what an earlier process has left, or with a new journal if
 * all that is read are zeros. Until smq_journal_state() returns SMQ_OK, every other call but
 * smq_client_close() returns SMQ_ERR_STATE, and no other thread may use the client. Afterwards ask after
 * each of the other calls, as with smq_engine_transmit(), and when smq_engine_next_timeout_ms() says so;
 * smq_sync() with a timeout of 0 has the next request come at once. A storage must not report a sync as
 * done before a power cut can no longer undo it, and needs room for journal_bytes bytes, rounded down to
 * blocks of 4,096.
 *
 * client    a client with SMQ_OPTION_OWN_TRANSPORT and a journal
 * now_ms    the time
 * unix_s    seconds since 1970, or 0 if that is not known: by them messages expire while no process runs
 * storage   where to put what is to be done; storage->size must be set
 *
 * Returns 1 if there is something to be done, 0 if not now; or SMQ_ERR_NULL, SMQ_ERR_CLIENT,
 * SMQ_ERR_STRUCT_SIZE; SMQ_ERR_STATE without SMQ_OPTION_OWN_TRANSPORT; SMQ_ERR_NOT_SUPPORTED without a
 * journal.
 */
SMQ_API int32_t smq_engine_storage(smq_client *client, uint32_t now_ms, uint32_t unix_s, smq_storage *storage);

/*
 * Reports that what smq_engine_storage() said was done, or why not. Without a request it does nothing.
 *
 * client     the client
 * os_error   0; or why it was not: a number of the program's own, which smq_journal_info.os_error and
 *            SMQ_EVENT_JOURNAL show
 * now_ms     the time
 *
 * Returns SMQ_OK. While the journal is taken up, SMQ_ERR_JOURNAL if it cannot be read or begun,
 * SMQ_ERR_JOURNAL_CORRUPT, SMQ_ERR_JOURNAL_OTHER, SMQ_ERR_JOURNAL_SIZE: then smq_client_close() is all that
 * can be done with the client. SMQ_ERR_OPTION if os_error is negative; otherwise as smq_engine_storage().
 */
SMQ_API int32_t smq_engine_storage_done(smq_client *client, int32_t os_error, uint32_t now_ms);

/* ---------------------------------------------------------------------------------------------
 * 19  Who looks on: observers, and the trace
 *
 * An observer is told each packet that goes over the connection, and each log entry. It is for those who look
 * for a fault, and for what a program wants to count; nothing that a program has to act on is told here
 * alone. Packets are told as MQTT has them, before TLS and WebSocket. A client that nobody observes tests
 * one bit for each piece that it sends or receives.
 *
 * Passwords and Authentication Data are covered: every byte of them is a '*', so that all lengths are true.
 * User names, topics and payloads are not.
 * ------------------------------------------------------------------------------------------- */

/* Which way a packet went. */
enum {
    SMQ_PACKET_SENT = 1,
    SMQ_PACKET_RECEIVED = 2
};

/*
 * A packet that went over the connection. It is whole in data and more, one behind the other, except for
 * these, of which the beginning is there: one that is larger than the receive buffer, or of
 * smq_publish_stream(); one of more than 1,024 bytes with something covered, of which these 1,024 are there;
 * and what a trace has.
 *
 * One that is sent is told when its first byte was handed to the system, one that is received when its last
 * one has come, before the client does anything about it.
 */
typedef struct smq_packet {
    uint32_t size;            /* sizeof(smq_packet) of the library */
    uint32_t direction;       /* SMQ_PACKET_SENT or SMQ_PACKET_RECEIVED */
    uint32_t time_ms;         /* the monotonic clock, wrapping; with SMQ_OPTION_OWN_TRANSPORT the program's */
    uint32_t type;            /* the MQTT Control Packet type (section 2.1.2): 1 CONNECT to 15 AUTH; 0: these
                                 bytes are no packet, and the connection ends because of them */
    uint32_t length;          /* how many bytes the whole packet has */
    uint32_t outbox_messages; /* messages in the outbox just before, urgent ones included; 0 in a trace */
    uint32_t in_flight;       /* those of them that were sent and are not acknowledged; 0 in a trace */
    uint32_t reserved;        /* 0 */
    smq_bytes data;           /* the beginning, at least the Fixed Header */
    smq_bytes more;           /* what follows: the payload of smq_publish_reference(); otherwise empty */
} smq_packet;

/*
 * Is told a packet. The call that sends or receives it calls this function, in its own thread; the function
 * must not call the client or its group, and what it is given is valid until it returns.
 *
 * user     smq_observer.user, or what smq_trace_read() was given
 * packet   the packet
 */
typedef void (*smq_tap)(void *user, const smq_packet *packet);

/* smq_observer.flags */
enum {
    SMQ_OBSERVE_SECRETS = 1 /* passwords and Authentication Data are not covered, and packets with them are
                               whole */
};

/* Functions of the program that are told what a client does. */
typedef struct smq_observer {
    uint32_t size;     /* sizeof(smq_observer) */
    uint32_t flags;    /* SMQ_OBSERVE_…, added up */
    smq_tap packet;    /* NULL: no packets */
    smq_log log;       /* NULL: no log entries. See smq_set_log(), which this does not change */
    int32_t log_level; /* SMQ_LOG_OFF to SMQ_LOG_DEBUG, for log */
    uint32_t reserved; /* 0 */
    void *user;        /* any pointer of the program's: packet and log are given it */
    void *next;        /* the library's own; NULL before */
} smq_observer;

/* A smq_observer with its size set. */
#define SMQ_OBSERVER_INIT                                                                                              \
    { sizeof(smq_observer), 0, NULL, NULL, 0, 0, NULL, NULL }

/*
 * Adds an observer to a client, which may have any number of them; each is told in the order in which they
 * were added. One that is added while a connection is open is told the packets that begin from now on, and
 * those that came in and were not read yet.
 *
 * client     the client
 * observer   the observer. It belongs to the library, and stays where it is, until smq_remove_observer() or
 *            smq_client_close()
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_STRUCT_SIZE if size is wrong or reserved is not 0;
 * SMQ_ERR_OPTION if flags or log_level are unknown, or next is not NULL; SMQ_ERR_STATE if the client has this
 * observer already.
 */
SMQ_API int32_t smq_add_observer(smq_client *client, smq_observer *observer);

/*
 * Removes an observer. Not from one of its own functions.
 *
 * client     the client
 * observer   the observer, which is the program's again; next is NULL
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_STATE if the client does not have it.
 */
SMQ_API int32_t smq_remove_observer(smq_client *client, smq_observer *observer);

/*
 * Tells the packets that are in the trace (smq_options.trace_bytes), the oldest first, those of earlier
 * connections, too. Secrets are covered, and each has at most trace_packet_bytes bytes in data.
 *
 * client   the client
 * tap      is told them, before this returns
 * user     any pointer of the program's: tap is given it
 *
 * Returns how many packets there were; SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_NOT_SUPPORTED without a trace.
 */
SMQ_API int32_t smq_trace_read(const smq_client *client, smq_tap tap, void *user);

/*
 * Empties the trace.
 *
 * client   the client
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT; SMQ_ERR_NOT_SUPPORTED without a trace.
 */
SMQ_API int32_t smq_trace_clear(smq_client *client);

#ifdef __cplusplus
}
#endif

#endif /* SWIFTMQTT_H */
