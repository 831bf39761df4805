/*
 * libswiftmqtt: an MQTT client for C daemons. MQTT 3.1, 3.1.1 and 5.0.
 *
 * SPDX-License-Identifier: MIT
 *
 * This header is the contract. It is written to be read from the top: the conventions that hold
 * for every function, then chapters from simple to advanced.
 *
 *     1  Bytes, status codes and names
 *     2  A message
 *     3  Options, memory, life of a client
 *     4  Connect, publish, disconnect
 *     5  Events
 *     6  Running a client: the simple loop
 *     7  Running a client: inside a loop of your own
 *     8  Numbers
 *
 * CONVENTIONS
 *
 * Memory. The library never allocates. smq_client_size() tells how many bytes a client needs for
 * given options; the caller provides them, from a heap, on the stack or in a static array that is
 * large enough, and gets them back with smq_client_close(). Everything the client keeps is copied into
 * that block: options, strings and messages may be released as soon as the call that took them
 * returns. The block must not be moved, copied or used for another client while the client lives.
 * (Resolving a host name is libc's work: getaddrinfo() runs in a thread of its own, at most one for a
 * client, that ends when libc has its answer, and allocates there. A numeric address needs neither.)
 *
 * Threads. A client has no lock: call it from one thread at a time. Different clients are
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
 * in events: once for each attempt to connect, and in the completion of a message.
 *
 * Pointers. A pointer that an event hands out is valid until the next call on the same client. A
 * pointer that the library takes is used only during the call. NULL is allowed for a smq_bytes'
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
    SMQ_ERR_TOO_LARGE = -114,        /* the packet can never be sent: larger than the outbox, or than MQTT or
                                        the server allows */

    /* There is no room now. Nothing was changed. */
    SMQ_ERR_FULL = -201,          /* the outbox is full: take events, let it drain, try again */
    SMQ_ERR_NO_DESCRIPTOR = -202, /* the system or the process has no descriptor left */

    /* The server. */
    SMQ_ERR_MALFORMED = -301,         /* it sent a packet that cannot be parsed (section 4.13) */
    SMQ_ERR_PROTOCOL = -302,          /* it sent a packet that is not allowed here (section 4.13) */
    SMQ_ERR_REFUSED = -303,           /* it refused the connection, or a message: see the Reason Code */
    SMQ_ERR_SERVER_CLOSED = -304,     /* it sent DISCONNECT: see the Reason Code */
    SMQ_ERR_KEEP_ALIVE = -305,        /* it did not answer PINGREQ in time */
    SMQ_ERR_SESSION_LOST = -306,      /* it forgot the session; whether it has this QoS 2 message is unknown */
    SMQ_ERR_RECEIVE_TOO_LARGE = -307, /* it sent a packet larger than the receive buffer */
    SMQ_ERR_SERVER_LIMIT = -308,      /* a queued message is above a limit of the server that answered */

    /* The network. */
    SMQ_ERR_RESOLVE = -401, /* the host name has no address: os_error is getaddrinfo's EAI_… value */
    SMQ_ERR_NETWORK = -402, /* a system call failed: os_error is its errno */
    SMQ_ERR_CLOSED = -403,  /* the peer closed the connection without a word */
    SMQ_ERR_TIMEOUT = -404  /* the stage's time was up */
};

/* Where a connection attempt, or a connection, ended. */
enum {
    SMQ_STAGE_NONE = 0,       /* nowhere: it ended because the caller asked for it */
    SMQ_STAGE_RESOLVE = 1,    /* looking up the host name */
    SMQ_STAGE_CONNECT = 2,    /* opening the network connection */
    SMQ_STAGE_CONNACK = 3,    /* between sending CONNECT and the server's answer */
    SMQ_STAGE_CONNECTED = 4,  /* in the middle of an established connection */
    SMQ_STAGE_KEEP_ALIVE = 5, /* waiting for PINGRESP */
    SMQ_STAGE_DISCONNECT = 6  /* sending what was left before the DISCONNECT */
};

/*
 * The library's version, (major << 16) | (minor << 8) | patch, to compare with the SMQ_VERSION_…
 * macros of the header a program was compiled with. Any thread, any time.
 *
 * Returns the version; no errors.
 */
SMQ_API uint32_t smq_version(void);

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
 *               3.1.1 (its section 3.2.2.3)
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

/* ---------------------------------------------------------------------------------------------
 * 2  A message
 * ------------------------------------------------------------------------------------------- */

/*
 * An Application Message (section 3.3), to be published or to be the Will.
 */
typedef struct smq_message {
    uint32_t size;     /* sizeof(smq_message) */
    uint8_t qos;       /* 0 at most once, 1 at least once, 2 exactly once (section 4.3) */
    uint8_t retain;    /* 1: the server keeps it for later subscribers (section 3.3.1.3); else 0 */
    uint8_t quiet;     /* 1: no SMQ_EVENT_COMPLETED if all goes well, only if not; else 0. Ignored in a Will */
    uint8_t reserved;  /* 0 */
    smq_bytes topic;   /* Topic Name: 1 to 65,535 bytes of UTF-8, no wildcard (section 4.7) */
    smq_bytes payload; /* any bytes; may be empty */
    uint64_t cookie;   /* the caller's own value, handed back in the completion. Ignored in a Will */
} smq_message;

/* A smq_message with its size set and everything else zero. */
#define SMQ_MESSAGE_INIT                                                                                               \
    { sizeof(smq_message), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, 0 }

/* ---------------------------------------------------------------------------------------------
 * 3  Options, memory, life of a client
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
    SMQ_OPTION_KEEP_SESSION = 1
};

/* Turns a time off where 0 means the default: keep_alive_s, connect_timeout_ms, … */
#define SMQ_OFF UINT32_MAX
/* session_expiry_s: the session never expires (section 3.1.2.11.2). */
#define SMQ_FOREVER UINT32_MAX

/*
 * What a client is to be. Zero means the default everywhere, so only what matters need be set;
 * either url or host must be.
 */
typedef struct smq_options {
    uint32_t size;  /* sizeof(smq_options) */
    uint32_t flags; /* SMQ_OPTION_…, added up */

    /*
     * mqtt://[user[:password]@]host[:port][/]: the server in one line. host is a name, an IPv4
     * address or an IPv6 address in brackets; user and password may be percent-encoded. Nothing
     * else is accepted, and nothing is ignored. Sets host, port, user_name and password, which
     * must then be empty. ASCII, at most 1,024 bytes.
     */
    smq_bytes url;
    smq_bytes host;    /* a name or a numeric address, at most 253 bytes */
    uint32_t port;     /* 1 to 65,535; 0: 1883 */
    uint32_t protocol; /* SMQ_PROTOCOL_…; 0: 3.1.1 */

    /*
     * Client Identifier (section 3.1.3.1), UTF-8, at most 65,535 bytes; servers must accept 1 to 23
     * letters and digits. Empty: the server assigns one, which is only possible without
     * SMQ_OPTION_KEEP_SESSION.
     */
    smq_bytes client_id;
    smq_bytes user_name; /* UTF-8, at most 65,535 bytes; empty: none */
    smq_bytes password;  /* at most 65,535 bytes; empty: none. In 3.1.1 only with a user name [MQTT-3.1.2-22] */

    /*
     * The Will: what the server publishes if the connection ends without smq_disconnect()
     * (section 3.1.2.5). NULL: none. Payload at most 65,535 bytes. Copied by smq_client_init().
     */
    const smq_message *will;

    uint32_t keep_alive_s;       /* Keep Alive (section 3.1.2.10): 1 to 65,535; 0: 60; SMQ_OFF: none. The server
                                    may set another */
    uint32_t session_expiry_s;   /* 5.0 only, else 0: how long the server keeps the session after the connection
                                    (section 3.1.2.11.2). 0: SMQ_FOREVER with SMQ_OPTION_KEEP_SESSION, else it ends
                                    with the connection */
    uint32_t connect_timeout_ms; /* from smq_connect() to CONNACK, name resolution included: 1 to 86,400,000; 0:
                                    30,000; SMQ_OFF: none. A name's addresses, 8 at most, are tried in turn, each
                                    for half of the time that is left */
    uint32_t ping_timeout_ms;    /* how long after PINGREQ, which is sent when nothing was sent or nothing was heard for
                                    Keep Alive, the server may stay silent: 1 to 86,400,000; 0: 10,000. On a slow link
                                    allow for the bytes that are on their way before it: outbox_bytes and more */

    /*
     * Capacities. They decide how much memory the client takes.
     *
     * The outbox holds what is published until it is sent (QoS 0) or acknowledged (QoS 1 and 2),
     * as packets: payload + topic + about 8 bytes each. Room is given back in the order of
     * publishing, when the completion has been taken: one message that is not acknowledged, or whose
     * event waits, keeps what was published after it.
     */
    uint32_t outbox_bytes;      /* 64 to 268,435,456; 0: 65,536 */
    uint32_t outbox_messages;   /* 1 to 65,535, each takes 32 bytes; 0: 256 */
    uint32_t receive_bytes;     /* the largest packet that can be received: 64 to 268,435,456; 0: 4,096 */
    uint32_t in_flight_maximum; /* QoS 1 and 2 messages sent and not yet acknowledged at any time: 1 to 65,535;
                                    0: as many as the outbox holds. The server's Receive Maximum (section 4.9)
                                    holds too */
} smq_options;

/* A smq_options with its size set and everything else zero. */
#define SMQ_OPTIONS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(smq_options), 0, { NULL, 0 }, { NULL, 0 }, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL, 0, 0, 0,  \
            0, 0, 0, 0, 0                                                                                              \
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
 *                           neither url nor host is set, or url together with host, port, user_name
 *                           or password; a session_expiry_s without 5.0; in 3.1.1 a password without a
 *                           user name; the Will's retain or quiet is neither 0 nor 1
 *   SMQ_ERR_URL             the URL is malformed, or has a zero byte percent-encoded (a password that
 *                           needs one goes into password)
 *   SMQ_ERR_NOT_SUPPORTED   the URL's scheme or the protocol is unknown
 *   SMQ_ERR_CLIENT_ID       an empty client id together with SMQ_OPTION_KEEP_SESSION, or one that 3.1
 *                           does not allow
 *   SMQ_ERR_QOS             the Will's QoS is above 2
 *   SMQ_ERR_TOPIC_NAME      the Will's topic is not a Topic Name
 *   SMQ_ERR_UTF8            client id, user name or the Will's topic is not UTF-8
 *   SMQ_ERR_TOO_LARGE       the Will's payload is above 65,535 bytes
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
 * Makes a client in the caller's memory. No system call is made except one for a descriptor to
 * wait on.
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
 * calls on a client.
 *
 * client   the client; the handle is invalid afterwards
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, or SMQ_ERR_CLIENT if it was closed before.
 */
SMQ_API int32_t smq_client_close(smq_client *client);

/* ---------------------------------------------------------------------------------------------
 * 4  Connect, publish, disconnect
 * ------------------------------------------------------------------------------------------- */

/* What a client is doing. */
enum {
    SMQ_STATE_DISCONNECTED = 0,
    SMQ_STATE_CONNECTING = 1,
    SMQ_STATE_CONNECTED = 2,
    SMQ_STATE_DISCONNECTING = 3
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
 * Starts one attempt to connect, and returns at once. The attempt ends in exactly one event:
 * SMQ_EVENT_CONNECTED after the server's CONNACK, or SMQ_EVENT_DISCONNECTED with the reason, at the
 * latest connect_timeout_ms from now. After SMQ_EVENT_DISCONNECTED it may be called again; how long
 * to wait before that is the caller's decision.
 *
 * This version cannot receive messages yet: if the server sends one, because an earlier program with
 * this client id has subscribed and the session is kept, the connection ends with SMQ_ERR_PROTOCOL.
 *
 * client   the client, in SMQ_STATE_DISCONNECTED
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_STATE in any other state, and while the
 * event that ended the last connection has not been taken.
 */
SMQ_API int32_t smq_connect(smq_client *client);

/*
 * Publishes a message: encodes it into the outbox and returns. It costs one copy and no system
 * call; smq_wait() and smq_service() send what is there, hundreds of messages in one system call.
 * A message may be published in every state but SMQ_STATE_DISCONNECTING: it is sent when there is a
 * connection.
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
 * Returns SMQ_OK, or, with nothing changed,
 *   SMQ_ERR_NULL          client or message is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_CLIENT        not a client
 *   SMQ_ERR_STRUCT_SIZE   message->size is wrong, or unknown or reserved fields are set
 *   SMQ_ERR_OPTION        retain or quiet is neither 0 nor 1
 *   SMQ_ERR_QOS           qos is above 2, or above the server's Maximum QoS (section 3.2.2.3.4)
 *   SMQ_ERR_NOT_SUPPORTED retain is 1 and the server said it has no retained messages (section 3.2.2.3.5)
 *   SMQ_ERR_TOPIC_NAME    the topic is empty, longer than 65,535 bytes or has '+' or '#'
 *   SMQ_ERR_UTF8          the topic is not well-formed UTF-8
 *   SMQ_ERR_TOO_LARGE     the packet is larger than the whole outbox, than the 268,435,455 bytes MQTT
 *                         allows, or than the server's Maximum Packet Size
 *   SMQ_ERR_STATE         the client is disconnecting
 *   SMQ_ERR_FULL          no room in the outbox now. SMQ_EVENT_ROOM tells when there is some again;
 *                         smq_client_stats() has the numbers
 */
SMQ_API int32_t smq_publish(smq_client *client, const smq_message *message);

/*
 * Leaves the server: waits until every message in the outbox is complete, at most drain_ms, then
 * sends DISCONNECT and closes the connection once the server has closed its side, or after two more
 * seconds. Returns at once; SMQ_EVENT_DISCONNECTED with status 0 tells when it is over. The server does
 * not publish the Will. (If even DISCONNECT cannot be sent for two seconds, the status is
 * SMQ_ERR_TIMEOUT at SMQ_STAGE_DISCONNECT, and it does.) What is still in the outbox then
 * stays there for the next connection. An attempt to connect is given up at once. Called a second
 * time it only shortens the wait. In SMQ_STATE_DISCONNECTED it does nothing, and no event follows.
 *
 * To leave with everything delivered: call it while connected, take events until
 * SMQ_EVENT_DISCONNECTED, and look at the completions, or at smq_client_stats(): outbox_messages is 0
 * if nothing was left behind.
 *
 * client     the client
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, SMQ_ERR_CLIENT, or SMQ_ERR_OPTION if drain_ms is above its range.
 */
SMQ_API int32_t smq_disconnect(smq_client *client, uint32_t drain_ms);

/* ---------------------------------------------------------------------------------------------
 * 5  Events
 * ------------------------------------------------------------------------------------------- */

enum {
    SMQ_EVENT_NONE = 0,
    /*
     * The server accepted the connection (CONNACK). session_present, attempt and, in 5.0, reason_string are set.
     */
    SMQ_EVENT_CONNECTED = 1,
    /*
     * An attempt to connect, or a connection, ended. status is 0 if the caller asked for it, else the
     * reason; stage, os_error, reason_code, reason_string, server_reference and attempt say more.
     */
    SMQ_EVENT_DISCONNECTED = 2,
    /*
     * A published message is done with. cookie is the message's. status is 0 if it was delivered as its
     * QoS promises, else SMQ_ERR_REFUSED, SMQ_ERR_SESSION_LOST or SMQ_ERR_SERVER_LIMIT. reason_code is the
     * server's, or -1; with SMQ_ERR_SERVER_LIMIT it names the limit: 0x95 Packet too large, 0x9B QoS not
     * supported, 0x9A Retain not supported.
     */
    SMQ_EVENT_COMPLETED = 3,
    /*
     * There is room in the outbox again after SMQ_ERR_FULL: a good moment to try once more. Whoever takes
     * all events first, and then publishes until it is full again, lets many messages share a system call.
     */
    SMQ_EVENT_ROOM = 4
};

/* One event. smq_next_event() fills it; pointers in it are valid until the next call on the client. */
typedef struct smq_event {
    uint32_t size;              /* in: sizeof(smq_event) */
    int32_t type;               /* SMQ_EVENT_… */
    int32_t status;             /* 0 or SMQ_ERR_… */
    int32_t stage;              /* SMQ_STAGE_… */
    int32_t os_error;           /* errno, or an EAI_… value if status is SMQ_ERR_RESOLVE; 0: none */
    int32_t reason_code;        /* 0 to 255 as the server sent it (section 2.4; 3.1.1: the CONNACK return code);
                                   -1: none */
    uint32_t attempt;           /* how many attempts to connect there have been, this one included; wraps */
    uint32_t session_present;   /* 1: the server took up the session it had kept (section 3.2.2.1.1) */
    uint64_t cookie;            /* of the message, in SMQ_EVENT_COMPLETED */
    smq_bytes reason_string;    /* 5.0: the server's own words, UTF-8; usually empty */
    smq_bytes server_reference; /* 5.0: another server to use (section 4.11); usually empty */
} smq_event;

/* A smq_event with its size set. */
#define SMQ_EVENT_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(smq_event), 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }                                            \
    }

/*
 * Takes the next event, if there is one. Events come in the order in which things happened. Never
 * waits, makes no system call.
 *
 * client   the client
 * event    where to put it; event->size must be set. Its pointers are valid until the next call on this
 *          client
 *
 * Returns 1 if there was an event; 0 if not, and then event->type is SMQ_EVENT_NONE; or SMQ_ERR_NULL,
 * SMQ_ERR_CLIENT, or SMQ_ERR_STRUCT_SIZE if event->size is smaller than version 1's.
 */
SMQ_API int32_t smq_next_event(smq_client *client, smq_event *event);

/* ---------------------------------------------------------------------------------------------
 * 6  Running a client: the simple loop
 * ------------------------------------------------------------------------------------------- */

/*
 * Does everything that is due, and waits until there is an event: sends what was published,
 * receives, keeps the connection alive. Returns early when a signal handler has run, so that a
 * loop can look at its flags. A signal that comes just before the call is not seen by it: a loop that
 * looks at flags does not wait with -1. This is the only call that waits.
 *
 * client       the client
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if an event is waiting; 0 if the time is up or a signal came; SMQ_ERR_NULL,
 * SMQ_ERR_CLIENT; SMQ_ERR_OPTION if timeout_ms is below -1; SMQ_ERR_STATE with timeout_ms -1 in
 * SMQ_STATE_DISCONNECTED, as nothing would ever happen. SMQ_ERR_CLIENT is also the answer if the
 * program has closed smq_fd().
 */
SMQ_API int32_t smq_wait(smq_client *client, int32_t timeout_ms);

/* ---------------------------------------------------------------------------------------------
 * 7  Running a client: inside a loop of your own
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
 * Returns the descriptor, or SMQ_ERR_NULL, SMQ_ERR_CLIENT.
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

/* ---------------------------------------------------------------------------------------------
 * 8  Numbers
 * ------------------------------------------------------------------------------------------- */

/* What a client has done since smq_client_init(), and how full it is. */
typedef struct smq_stats {
    uint32_t size;               /* in: sizeof(smq_stats) */
    uint32_t connections;        /* CONNACKs that accepted */
    uint64_t messages_published; /* smq_publish() calls that returned SMQ_OK */
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
    uint32_t outbox_messages;       /* the same in messages */
    uint32_t outbox_messages_peak;
    uint32_t outbox_messages_capacity;
    uint32_t in_flight;         /* QoS 1 and 2 messages handed over for sending on this connection and not yet
                                   acknowledged; 0 without one */
    uint32_t in_flight_maximum; /* how many the server and the options allow; 0 without a connection */
} smq_stats;

/* A smq_stats with its size set. */
#define SMQ_STATS_INIT                                                                                                 \
    { sizeof(smq_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

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

#ifdef __cplusplus
}
#endif

#endif /* SWIFTMQTT_H */
