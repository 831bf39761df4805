/*
 * libswiftstomp: a STOMP client for C daemons. STOMP 1.0, 1.1 and 1.2.
 *
 * SPDX-License-Identifier: MIT
 *
 * This header is the contract. Read it from the top: first the conventions that hold for every function,
 * then chapters from simple to advanced. If you know swiftmqtt.h, you know most of it.
 *
 *     1  Bytes, status codes and names
 *     2  Headers
 *     3  Options, memory, life of a client
 *     4  Connect and disconnect
 *     5  Send
 *     6  Subscribe and acknowledge
 *     7  Transactions
 *     8  Events
 *     9  Running a client: the simple loop
 *    10  Running a client: inside a loop of your own
 *    11  Running a client: the bare engine
 *    12  Other threads
 *    13  Numbers, the log, and the frames
 *    14  The journal
 *
 * CONVENTIONS
 *
 * Memory. The library never allocates. sst_client_size() returns how many bytes a client needs for given
 * options. The program provides them, from a heap, on the stack or in a static array that is large enough,
 * and gets them back with sst_client_close(). Everything that the client keeps is copied into that block:
 * options, strings and bodies may be released as soon as the call that took them returns. The block must not
 * be moved, copied or used for another client while the client lives. (libc resolves host names:
 * getaddrinfo() runs in a thread of its own, at most one per client, which ends when libc has its answer, and
 * allocates there. A numeric address needs no thread and no allocation.)
 *
 * Threads. A client has no lock. Only its owner, one thread at a time, may call its functions; other threads
 * may call sst_submit() meanwhile. Chapter 12 also has a thread of the library that runs a client. Different
 * clients are independent. The library has no global state, installs no signal handler and changes no
 * setting of the process.
 *
 * Time. Every time is measured by the monotonic clock, in whole milliseconds. Names end in the unit: _ms, _s,
 * once _us.
 *
 * Errors. Functions return int32_t: 0 means success, a positive value is a count, a number or "yes", and a
 * negative value is one of SST_ERR_…. The range of an error says what to do; a number that swiftmqtt.h has,
 * too, means the same there:
 *
 *     -1xx  the call is wrong         fix the program; the call changed nothing
 *     -2xx  there is no room now      the call changed nothing; try again later
 *     -3xx  the server                an event: the connection is over, or a frame was not accepted
 *     -4xx  the network               an event: the connection is over
 *     -5xx  the journal               the client was not made, what is new is not stored (an event), or a
 *                                     frame was not accepted
 *
 * Pointers. A pointer in an event is valid until the next sst_next_event(), sst_wait(), sst_service(),
 * sst_engine_timed_out(), sst_connect() or sst_client_close() on the same client; until then it may be passed
 * to any other call. A pointer that is passed to the library is used only during the call. NULL is allowed
 * for the data of a sst_bytes if, and only if, its size is 0. For every other NULL a function returns
 * SST_ERR_NULL unless it says otherwise.
 *
 * Structs. A struct that is passed to or from the library begins with its own size, so that it can grow: set
 * it with the SST_…_INIT macro or to sizeof. Zero selects the default of a field. An older library accepts a
 * struct of a newer header as long as the fields that it does not know are zero; otherwise the function
 * returns SST_ERR_STRUCT_SIZE. Reserved fields must be zero.
 *
 * Versioning. The SONAME is libswiftstomp.so.1 and every function carries the version node SWIFTSTOMP_1.
 * Within version 1, functions and fields are added, but never changed or removed. libswiftstomp and
 * libswiftmqtt may be in one program.
 *
 * Terms are those of the specification: https://stomp.github.io/stomp-specification-1.2.html
 */
#ifndef SWIFTSTOMP_H
#define SWIFTSTOMP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "swiftmqtt-tls-engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SST_API __attribute__((visibility("default")))
#else
#define SST_API
#endif

#define SST_VERSION_MAJOR 1
#define SST_VERSION_MINOR 0
#define SST_VERSION_PATCH 0

/* ---------------------------------------------------------------------------------------------
 * 1  Bytes, status codes and names
 * ------------------------------------------------------------------------------------------- */

/*
 * A sequence of bytes. Strings are also passed like this, without a terminating zero. Destinations and the
 * names and values of headers must be well-formed UTF-8 without U+0000. What a version has an escape for is
 * escaped ("Value Encoding"): in 1.2 everything; in 1.1 everything but a carriage return. 1.0 and CONNECT
 * have no escapes: no text may have a line feed or a carriage return there, and no name a colon. Such a text
 * is SST_ERR_HEADER, or SST_ERR_DESTINATION as a destination.
 */
typedef struct sst_bytes {
    const void *data; /* may be NULL if size is 0 */
    size_t size;      /* bytes */
} sst_bytes;

/* The sst_bytes of a zero-terminated string, without its zero. NULL gives an empty one. */
static inline sst_bytes sst_string(const char *string) {
    sst_bytes bytes;
    bytes.data = string;
    bytes.size = string ? strlen(string) : 0;
    return bytes;
}

/* What functions return and events carry. Values never change their meaning. */
enum {
    SST_OK = 0,

    /* The call is wrong. It changed nothing. */
    SST_ERR_NULL = -101,             /* a pointer is NULL that must not be */
    SST_ERR_STRUCT_SIZE = -102,      /* the library does not know this size of the struct, or a field is
                                        set that it does not know */
    SST_ERR_MEMORY_SIZE = -103,      /* the block is smaller than sst_client_size() says */
    SST_ERR_MEMORY_ALIGNMENT = -104, /* the block is not aligned to SST_MEMORY_ALIGNMENT */
    SST_ERR_CLIENT = -105,           /* the pointer is not a client, or it was closed */
    SST_ERR_STATE = -106,            /* the call is not possible in the client's state */
    SST_ERR_OPTION = -107,           /* an option is out of its range, or two contradict each other */
    SST_ERR_URL = -108,              /* the URL is malformed: sst_options_check() returns where */
    SST_ERR_NOT_SUPPORTED = -109,    /* the library does not speak this scheme, a scheme with TLS has no
                                        engine for it, the version that is spoken does not have this, or the
                                        options give it no room: submit_frames, urgent_frames */
    SST_ERR_DESTINATION = -112,      /* a destination is empty, or no text that a header may have */
    SST_ERR_TOO_LARGE = -114,        /* the frame can never be sent: it is larger than its room */
    SST_ERR_HEADER = -116,           /* a list of headers is malformed, has a text that no header may have, or
                                        one of the headers that the library writes itself */
    SST_ERR_TOKEN = -117,            /* no message with this token waits for sst_ack(), or an attempt is not
                                        the current one */
    SST_ERR_SUBSCRIPTION = -119,     /* there is no such subscription */
    SST_ERR_TRANSACTION = -120,      /* there is no such transaction, or it was of an earlier connection */
    SST_ERR_BODY = -121,             /* SST_SEND_NO_LENGTH, and the body has a zero */

    /* There is no room now. The call changed nothing. */
    SST_ERR_FULL = -201,          /* take events, let the client send, try again: SST_EVENT_ROOM */
    SST_ERR_NO_DESCRIPTOR = -202, /* the system or the process has no descriptor left */
    SST_ERR_NO_THREAD = -204,     /* the system cannot create the thread: see sst_runner.os_error */
    SST_ERR_INSPECT = -205,       /* the socket of sst_options.inspect cannot be made: see errno */

    /* The server. */
    SST_ERR_MALFORMED = -301,         /* it sent what is no frame, or none that is allowed here: see rule */
    SST_ERR_REFUSED = -303,           /* it answered CONNECT, or this frame, with ERROR */
    SST_ERR_SERVER_CLOSED = -304,     /* it sent ERROR, which ends the connection */
    SST_ERR_HEART_BEAT = -305,        /* nothing came for two and a half times the time that it had agreed
                                         to */
    SST_ERR_UNKNOWN = -306,           /* the connection ended after the frame was sent, and before its receipt
                                         came: the server may have it, or not */
    SST_ERR_RECEIVE_TOO_LARGE = -307, /* it sent a frame whose headers do not fit into receive_bytes, or, with
                                         the event of a message, a body that does not, and had no
                                         content-length: the body was dropped */
    SST_ERR_SERVER_LIMIT = -308,      /* the version that the server has chosen does not have what was queued
                                         before: escapes, an ack mode */
    SST_ERR_DROPPED = -311,           /* the frame was not sent: the connection to which it belonged ended
                                         before, or it made room for a later one, as its overflow policy
                                         says */

    /* The network. */
    SST_ERR_RESOLVE = -401,     /* the host name has no address: os_error is getaddrinfo's EAI_… value */
    SST_ERR_NETWORK = -402,     /* a system call failed: os_error is its errno */
    SST_ERR_CLOSED = -403,      /* the peer closed the connection without giving a reason */
    SST_ERR_TIMEOUT = -404,     /* the time of the stage is up */
    SST_ERR_CREDENTIALS = -406, /* the program called sst_withhold_credentials() */
    SST_ERR_TLS = -407,         /* TLS failed: sst_last_failure() has the cause */
    SST_ERR_PROXY = -408,       /* the proxy refused the connection, or the peer is not a proxy of this kind:
                                   sst_last_failure() has its answer */
    SST_ERR_WEBSOCKET = -409,   /* the WebSocket could not be opened, or the server broke a rule of RFC 6455:
                                   sst_last_failure() has HTTP's answer, or the close code */

    /* The journal. */
    SST_ERR_JOURNAL = -501,         /* it cannot be read or written: in an event, os_error is the errno; or
                                       SST_SEND_STORE, and there is none */
    SST_ERR_JOURNAL_LOCKED = -502,  /* another process, or another client, has it open */
    SST_ERR_JOURNAL_CORRUPT = -503, /* something in it that was durable is not as it was written, or the
                                       file is no journal. Nothing was changed */
    SST_ERR_JOURNAL_OTHER = -504,   /* it is one of libswiftmqtt, or of a newer library */
    SST_ERR_JOURNAL_SIZE = -505     /* it has more than these options have room for, or was written with a
                                       larger outbox_frames */
};

/* Where an attempt to connect, or a connection, ended. */
enum {
    SST_STAGE_NONE = 0,        /* nowhere: it ended because the program asked for it */
    SST_STAGE_RESOLVE = 1,     /* resolving the host name */
    SST_STAGE_CONNECT = 2,     /* opening the network connection */
    SST_STAGE_ACCEPT = 3,      /* between sending CONNECT and CONNECTED */
    SST_STAGE_CONNECTED = 4,   /* during an established connection */
    SST_STAGE_HEART_BEAT = 5,  /* waiting for a heart-beat */
    SST_STAGE_DISCONNECT = 6,  /* sending what was left before DISCONNECT */
    SST_STAGE_RECEIPT = 7,     /* waiting for a receipt */
    SST_STAGE_WRITE = 8,       /* waiting for the peer to accept what is sent */
    SST_STAGE_CREDENTIALS = 9, /* waiting for sst_credentials() */
    SST_STAGE_PROXY = 10,      /* asking the proxy for the connection */
    SST_STAGE_TLS = 11,        /* the TLS handshake */
    SST_STAGE_WEBSOCKET = 12   /* the WebSocket handshake */
};

/* Which rule the server broke, when a connection ends with SST_ERR_MALFORMED. */
enum {
    SST_RULE_NONE = 0,
    SST_RULE_COMMAND = 1,        /* the command is none of CONNECTED, MESSAGE, RECEIPT and ERROR */
    SST_RULE_HEADER = 2,         /* a header line has no colon, or nothing before it */
    SST_RULE_NULL = 3,           /* a header has a zero */
    SST_RULE_UTF8 = 4,           /* headers are UTF-8 ("Value Encoding") */
    SST_RULE_ESCAPE = 5,         /* an escape sequence is undefined ("Value Encoding") */
    SST_RULE_CONTENT_LENGTH = 6, /* content-length is no number, or above 2,147,483,647 */
    SST_RULE_BODY_END = 7,       /* there is no zero behind content-length bytes */
    SST_RULE_MISSING_HEADER = 8, /* a header that the frame must have is not there */
    SST_RULE_VERSION = 9,        /* CONNECTED has a version that was not offered ("Protocol Negotiation") */
    SST_RULE_HEART_BEAT = 10,    /* heart-beat is not two numbers with a comma between them */
    SST_RULE_ORDER = 11          /* CONNECTED is not the first frame, or comes twice */
};

/*
 * Returns the library's version, (major << 16) | (minor << 8) | patch, to compare it with the SST_VERSION_…
 * macros of the header with which a program was compiled. Any thread, any time.
 *
 * Returns the version; no errors.
 */
SST_API uint32_t sst_version(void);

/*
 * Describes how the structs of this header are laid out in the library. Bindings that do not compile the
 * header compare this with their own declarations before they call anything else. Any thread, any time.
 *
 * Returns numbers that live as long as the library. For each struct, in the order of this header, they are
 * its size, the number of its fields without the reserved ones, and for each of these fields its offset and
 * its size, in bytes. A 0 in place of a size is the end. Never NULL, no errors.
 */
SST_API const uint16_t *sst_abi_layout(void);

/*
 * Returns the name of a status code, such as "SST_ERR_FULL". Any thread, any time.
 *
 * status   any value
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown status" for a value that is
 * not defined here. Never NULL, no errors.
 */
SST_API const char *sst_status_name(int32_t status);

/*
 * Returns what a status code means, as an English sentence, such as "the host name has no address". It has
 * no capital letter and no full stop, so that it can follow a colon. Any thread, any time.
 *
 * status   any value
 *
 * Returns a zero-terminated string that lives as long as the library; "the status is unknown" for a value
 * that is not defined here. Never NULL, no errors.
 */
SST_API const char *sst_status_text(int32_t status);

/*
 * Returns the name of a stage, such as "receipt". Any thread, any time.
 *
 * stage   one of SST_STAGE_…
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown stage" for other values.
 * Never NULL, no errors.
 */
SST_API const char *sst_stage_name(int32_t stage);

/*
 * Returns what a rule says, such as "headers are UTF-8". Any thread, any time.
 *
 * rule   one of SST_RULE_…
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown rule" for other values.
 * Never NULL, no errors.
 */
SST_API const char *sst_rule_name(int32_t rule);

/*
 * Returns the name of why TLS failed, such as "unknown CA". Any thread, any time.
 *
 * cause   one of SMQ_TLS_… of swiftmqtt-tls-engine.h
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown cause" for other values. Never
 * NULL, no errors.
 */
SST_API const char *sst_tls_cause_name(int32_t cause);

/* ---------------------------------------------------------------------------------------------
 * 2  Headers
 *
 * Every frame may carry headers of the program's and of the server's choice: "selector", "persistent",
 * "priority", "x-queue-name". A list of them is a sst_bytes that a program makes in a buffer of its own:
 *
 *     uint8_t buffer[100];
 *     sst_headers list = { buffer, sizeof(buffer), 0 };
 *     sst_bytes name = sst_string("persistent"), value = sst_string("true");
 *     sst_header_put(&list, &name, &value);
 *     frame.headers = sst_header_list(&list);
 *
 * The headers of a frame that came are walked with sst_header_next().
 * ------------------------------------------------------------------------------------------- */

/* A list of headers that is being built in the program's buffer. */
typedef struct sst_headers {
    void *data;
    size_t capacity; /* bytes at data: 4 for each header, and those of its name and value */
    size_t size;     /* bytes used so far; begins with 0 */
} sst_headers;

/* The list as it is now. */
static inline sst_bytes sst_header_list(const sst_headers *list) {
    sst_bytes bytes;
    bytes.data = list->data;
    bytes.size = list->size;
    return bytes;
}

/*
 * Appends a header. Any thread; a list is not locked.
 *
 * list    the list; unchanged if there is an error
 * name    1 to 65,535 bytes of UTF-8. Not one of those that the library writes itself: accept-version, ack,
 *         content-length, content-type, destination, heart-beat, host, id, login, message-id, passcode,
 *         receipt, subscription, transaction
 * value   0 to 65,535 bytes of UTF-8
 *
 * Returns SST_OK, or
 *   SST_ERR_NULL     list, its data, name or value is NULL, or one has a size and no data
 *   SST_ERR_HEADER   name or value is not such a text
 *   SST_ERR_FULL     the buffer has no room
 */
SST_API int32_t sst_header_put(sst_headers *list, const sst_bytes *name, const sst_bytes *value);

/* ---------------------------------------------------------------------------------------------
 * 3  Options, memory, life of a client
 * ------------------------------------------------------------------------------------------- */

typedef struct sst_client sst_client; /* opaque; lives in the program's memory */

#define SST_MEMORY_ALIGNMENT 8 /* bytes; malloc() aligns at least like this on every target */

/* sst_options.oldest and newest, sst_event.version */
enum {
    SST_STOMP_1_0 = 10,
    SST_STOMP_1_1 = 11,
    SST_STOMP_1_2 = 12
};

/* sst_options.flags, added up */
enum {
    /*
     * After a failed attempt, or when a connection ends, the client does not reconnect by itself: the
     * program calls sst_connect().
     */
    SST_OPTION_NO_RECONNECT = 1,
    /* The order of several servers is random in each round, so that a fleet spreads over them. */
    SST_OPTION_SHUFFLE = 2,
    /*
     * Each attempt begins with SST_EVENT_CREDENTIALS, and continues after sst_credentials(). In this way the
     * next attempt can replace a token that has expired, or that the server refused. login and passcode must
     * be empty.
     */
    SST_OPTION_ASK_CREDENTIALS = 4,
    /*
     * The library does not resolve host names: an attempt to connect to a server whose host is not a numeric
     * address causes an SST_EVENT_ADDRESSES, and continues after sst_addresses().
     */
    SST_OPTION_ASK_ADDRESSES = 8,
    /*
     * The program provides the transport and the clock, and the client is a bare engine: see chapter 11.
     */
    SST_OPTION_OWN_TRANSPORT = 16,
    /* With host instead of url: the connection is a WebSocket, with tls one over TLS. */
    SST_OPTION_WEBSOCKET = 32
};

/* sst_options.jitter: how the waits between attempts to connect are randomized */
enum {
    SST_JITTER_FULL = 1,         /* from half of reconnect_min_ms to a bound that doubles; the default */
    SST_JITTER_DECORRELATED = 2, /* from reconnect_min_ms to three times the last wait */
    SST_JITTER_NONE = 3          /* the bound itself: for tests, and for a single client */
};

#define SST_OFF UINT32_MAX /* switches off what an option says it switches off */

/* How a client is made. Zero is the default of every field but url or host. */
typedef struct sst_options {
    uint32_t size;  /* sizeof(sst_options) */
    uint32_t flags; /* SST_OPTION_…, added up */

    /*
     * The server in one line, or up to 16 of them:
     *
     *     stomp://[login[:passcode]@]host[:port][,host[:port]]…[/]         TCP; port 61613
     *     stomps://…, stomp+ssl://…, stomp+tls://…                         TLS; port 61614
     *     ws://[login[:passcode]@]host[:port][,…][/path[?query]]           WebSocket; port 80; also
     *                                                                      stomp+ws://
     *     wss://…                                                          WebSocket over TLS; port 443; also
     *                                                                      stomp+wss://
     *     unix:/path                                                       a socket in the file system
     *     [login[:passcode]@]host[:port][,…]                               as with host: TCP; TLS with tls
     *
     * host is a host name, an IPv4 address or an IPv6 address in brackets; login and passcode may be
     * percent-encoded. With a url, host and port must be empty, and so must login and passcode as far as the
     * URL has them. ASCII, at most 1,024 bytes; with a WebSocket 4,096, of which at most 1,024 before the
     * path. The schemes of TLS need tls; those without are an error with tls.
     *
     * Several servers are tried in their order (but see SST_OPTION_SHUFFLE), without a wait in between. The
     * last server to which a connection lasted for stable_ms is tried first.
     */
    sst_bytes url;
    sst_bytes host;  /* a host name or a numeric address, at most 253 bytes; beginning with a slash: a socket
                        in the file system. With tls it is TLS */
    uint32_t port;   /* 1 to 65,535; 0: 61613, 61614 with tls, and 80 or 443 with SST_OPTION_WEBSOCKET */
    uint32_t oldest; /* the oldest version that is offered, SST_STOMP_…; 0: 1.0 */
    uint32_t newest; /* and the newest; 0: 1.2. Between the two, the server chooses ("Protocol
                        Negotiation") */

    /*
     * The host header of CONNECT: the virtual host. Empty: "/", which is RabbitMQ's default virtual host;
     * ActiveMQ ignores it, CoilMQ wants its own host name.
     */
    sst_bytes virtual_host;
    sst_bytes login;    /* at most 65,535 bytes; empty: none */
    sst_bytes passcode; /* at most 65,535 bytes; empty: none */
    sst_bytes headers;  /* more headers of CONNECT, such as ActiveMQ's client-id: a list of chapter 2 */

    /*
     * Heart-beats, from 1.1 on ("Heart-beating"): each side says what it can send and what it wants, and the
     * slower of the two counts. The client sends one when it has sent nothing for four fifths of the agreed
     * time, and takes the server for dead when nothing came for two and a half times the agreed time.
     */
    uint32_t heart_beat_send_ms;    /* the least time between two that this client sends: 1 to 86,400,000; 0:
                                       10,000; SST_OFF: it sends none */
    uint32_t heart_beat_receive_ms; /* the time in which it wants one: 1 to 86,400,000; 0: 10,000; SST_OFF: it
                                       wants none */
    uint32_t connect_timeout_ms;    /* for each attempt, from its beginning to CONNECTED, name resolution
                                       included: 1 to 86,400,000; 0: 30,000; SST_OFF: none */
    uint32_t receipt_timeout_ms;    /* how long no receipt at all may arrive while some are due: 1 to
                                       86,400,000; 0: 30,000; SST_OFF: none. The connection then ends with
                                       SST_ERR_TIMEOUT at SST_STAGE_RECEIPT */

    /*
     * Capacities. They decide how much memory the client takes.
     *
     * The outbox holds frames until they are sent or, with a receipt, confirmed. Bytes are freed in the order
     * of the frames, so one that waits for its receipt keeps those after it.
     */
    uint32_t outbox_bytes;       /* 64 to 268,435,456; 0: 65,536 */
    uint32_t outbox_frames;      /* 1 to 65,535, each takes 32 bytes; 0: 256 */
    uint32_t receive_bytes;      /* the receive buffer: 64 to 268,435,456; 0: 4,096. A frame that fits arrives
                                    whole; the headers of every frame have to fit. A larger message with a
                                    content-length arrives in parts */
    uint32_t control_bytes;      /* the room for ACK and NACK that wait to be sent, of which 64 bytes are kept
                                    for DISCONNECT and heart-beats: 128 to 1,048,576; 0: 1,024 */
    uint32_t subscriptions;      /* 1 to 1,024; 0: 8 */
    uint32_t subscription_bytes; /* the room for the SUBSCRIBE of each: 64 to 65,535; 0: 256 */
    uint32_t held_messages;      /* messages that wait for sst_ack() or sst_nack(): 1 to 65,535; 0: 64. When
                                    as many wait, the client reads no further message, and nothing that is
                                    behind it, such as receipts */
    uint32_t held_bytes;         /* the room for what the server calls each of them: 16 to 65,535; 0: 128. A
                                    message with a longer name has the token 0 */
    uint32_t transactions;       /* open at a time: 1 to 256; 0: 4 */
    uint32_t credential_bytes;   /* with SST_OPTION_ASK_CREDENTIALS: the room for login and passcode together:
                                    1 to 131,070; 0: 512. Otherwise 0 */

    /* How long the client waits before it reconnects: exponential backoff with jitter. */
    uint32_t reconnect_min_ms; /* 10 to 86,400,000; 0: 1,000 */
    uint32_t reconnect_max_ms; /* reconnect_min_ms to 86,400,000; 0: 60,000, or reconnect_min_ms if that is
                                  longer */
    uint32_t stable_ms;        /* how long a connection has to last until the next wait begins a new sequence:
                                  1 to 86,400,000; 0: 30,000 */
    uint32_t jitter;           /* SST_JITTER_…; 0: SST_JITTER_FULL */

    uint32_t write_timeout_ms;    /* how long the kernel may accept no byte, because the peer accepts none, at
                                     SST_STAGE_WRITE: 1 to 86,400,000; 0: 30,000; SST_OFF: none */
    uint32_t tcp_user_timeout_ms; /* Linux's TCP_USER_TIMEOUT: 1 to 86,400,000; 0: the system's default */
    uint32_t tcp_keep_alive_s;    /* TCP keep-alive: probes after so many seconds without traffic: 1 to
                                     32,767; 0: none */
    uint32_t dscp;                /* the DSCP of the packets (RFC 2474): 1 to 63; 0: none */
    uint32_t addresses;           /* addresses of a server that are tried, 1 to 8; 0: 8 */
    uint32_t busy_poll_us;        /* how long sst_wait() looks for something before it sleeps: 0 to
                                     1,000,000 */

    /* What carries the connection; swiftmqtt.h, smq_options, says more of each. */
    const struct smq_tls_engine *tls; /* NULL: no TLS. The engine of libswiftmqtt-tls, or one of the
                                         program's */
    const void *tls_settings;         /* for the engine, which has to outlive the client */
    sst_bytes tls_name;               /* whom the server's certificate has to be for; empty: host */
    sst_bytes alpn;                   /* one name of an application protocol (RFC 7301), at most 255 bytes;
                                         empty: none */
    sst_bytes proxy;                  /* socks5://[user[:password]@]host[:port] or http://…; empty: none */
    sst_bytes websocket_path;         /* path and query, if the URL has none; empty: "/ws", which is
                                         RabbitMQ's */
    sst_bytes websocket_headers;      /* more headers of the request: whole lines, each with its CR LF */
    sst_bytes websocket_protocol;     /* the sub-protocols that are offered; empty: those of the versions,
                                         such as "v12.stomp, v11.stomp, v10.stomp" */
    uint32_t websocket_bytes;         /* the largest WebSocket frame that is sent: 256 to 65,536; 0: 4,096 */
    uint32_t websocket_request_bytes; /* room for sst_websocket_request(): 0 to 16,384 */
    sst_bytes bind_device;            /* the network interface, such as "eth0"; empty: any */
    sst_bytes bind_address;           /* the numeric address to connect from; empty: any */
    uint32_t submit_frames;           /* frames of sst_submit() that wait to be moved into the outbox: 0 (then
                                         it returns SST_ERR_NOT_SUPPORTED), or 1 to 65,536, rounded up to a
                                         power of two */
    uint32_t submit_bytes;            /* the room for destination, content type, headers and body of each: 16
                                         to 1,048,576; 0: 256 */

    /*
     * A second outbox, for SST_SEND_URGENT only: what is in it is sent before all that waits in the first
     * one, however full that is.
     */
    uint32_t urgent_frames; /* 0: there is none; 1 to 256 */
    uint32_t urgent_bytes;  /* 64 to 268,435,456; 0: 128 for each */

    /*
     * The journal: a file that keeps frames with SST_SEND_STORE until the server has confirmed them, over the
     * end of the process and over a power cut. The next client with the same file takes them up in
     * sst_client_init(), and sends them when it is connected, before all others of the outbox: what was
     * stored arrives at least once, or ends with an event that says why not. sst_sync() waits until
     * everything is stored. Sending does not wait for the disk, and a frame leaves at once. docs/journal.md
     * has the file's format. Without a path the others have to be 0. Not with SST_OPTION_OWN_TRANSPORT.
     */
    sst_bytes journal;            /* the file's path, 1 to 1,000 bytes; empty: no journal. The file is made
                                     with mode 0600 if it is not there, as PATH.new until it is whole */
    uint32_t journal_bytes;       /* the file's size: 65,536 to 1,073,741,824, which has to be what these
                                     options need at least: twice what the outbox has room for, and some. 0:
                                     that much, or what the file has already. A file of another size is
                                     replaced by one of this size with the same frames, as PATH.new until it
                                     is whole; unless that fails, and the old one is enough */
    uint32_t journal_delay_ms;    /* how long a frame waits for others that are written with it: 1 to 60,000;
                                     0: 20. One that is confirmed meanwhile is never written */
    uint32_t journal_batch_bytes; /* how much is written at once at most: 4,096 to 1,048,576, rounded up to
                                     whole blocks of 4,096; 0: 16,384. The client has a buffer of this size. A
                                     frame that is stored must fit into it, with 48 bytes for each 4,096 and
                                     26 more, and is refused otherwise (SST_ERR_TOO_LARGE) */
    uint32_t journal_flags;       /* SST_JOURNAL_STRICT and the like, added up */

    /*
     * The inspection socket: programs such as sst inspect connect to it, and read what goes over the client's
     * connections, and its statistics. It is a socket of datagrams in order (SOCK_SEQPACKET); each datagram
     * consists of whole blocks of a capture file (pcapng). A program that sends a datagram of any kind is
     * sent the statistics: lines of the names of sst_stats and their values, as the comment of an Interface
     * Statistics Block. The passcode is covered.
     *
     * Up to four programs may be connected; further ones are turned away. A program that has not read what it
     * was sent before loses frames, is told how many, and never holds up the client. While none is connected,
     * nothing is done. sst_client_init() makes the socket, and takes the place of one that a process has left
     * behind; sst_client_close() removes it. Not with SST_OPTION_OWN_TRANSPORT.
     */
    sst_bytes inspect;      /* its path: 1 to 107 bytes, no zero among them; size 0: there is none */
    uint32_t inspect_mode;  /* its permissions: up to 0777; 0: 0600, for the user of the process alone */
    uint32_t inspect_bytes; /* the room for frames on their way to these programs: 4,096 to 131,072;
                               0: 65,536. Of a larger frame they are told the beginning */
} sst_options;

/* A sst_options with its size set and everything else zero. */
#define SST_OPTIONS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(sst_options), 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, { NULL, 0 },           \
            { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0,  \
            0, { NULL, 0 }, 0, 0, 0, 0, { NULL, 0 }, 0, 0                                                              \
    }

/* sst_options.journal_flags */
enum {
    SST_JOURNAL_STRICT = 1, /* from SST_JOURNAL_FAILED to SST_JOURNAL_HEALED, frames with SST_SEND_STORE are
                               refused (SST_ERR_JOURNAL); without this flag they are accepted and sent, and
                               stored when the journal works again */
    SST_JOURNAL_INLINE = 2, /* no thread: the calls that drive the client write themselves, and wait for the
                               disk */
    SST_JOURNAL_TELL = 4    /* SST_JOURNAL_STORED is reported */
};

/*
 * Checks options. Any thread, any time.
 *
 * options      the options
 * url_offset   where the URL is malformed, counted from 0: set with SST_ERR_URL, and with
 *              SST_ERR_NOT_SUPPORTED if that is because of the URL's scheme; NULL: nobody wants to know
 *
 * Returns SST_OK, or SST_ERR_NULL, SST_ERR_STRUCT_SIZE, SST_ERR_OPTION, SST_ERR_URL, SST_ERR_NOT_SUPPORTED or
 * SST_ERR_HEADER.
 */
SST_API int32_t sst_options_check(const sst_options *options, size_t *url_offset);

/*
 * Names the options because of which sst_options_check() returns an error: a field of sst_options, as in
 * "outbox_bytes", or a flag, as in "SST_OPTION_ASK_CREDENTIALS". Of options that contradict each other it
 * names each, as in "login, SST_OPTION_ASK_CREDENTIALS", and of one that needs another, at least that one. If
 * several are wrong for themselves, it names one of those; without url and host it names "url". It finds them
 * by leaving out one option after the other, some microseconds for each that is set. Any thread.
 *
 * options    the options; only read
 * text       where to put the names, with a zero behind them, as far as there is room; NULL: nowhere
 * capacity   the bytes that are free there; 300 are enough for any names
 *
 * Returns how many bytes the names have, without the zero, however many of them there is room for; 0 if the
 * options are right, or NULL.
 */
SST_API size_t sst_options_fault(const sst_options *options, char *text, size_t capacity);

/*
 * Returns how much memory a client needs. Any thread, any time.
 *
 * options   the options
 *
 * Returns bytes; 0 if sst_options_check() returns an error.
 */
SST_API size_t sst_client_size(const sst_options *options);

/*
 * Makes a client. It does not connect: sst_connect() does.
 *
 * memory    the block, aligned to SST_MEMORY_ALIGNMENT. It belongs to the client until sst_client_close()
 * size      its bytes: at least sst_client_size()
 * options   the options; they may be released afterwards, but not tls and tls_settings
 * client    where to put the client: unchanged if there is an error
 *
 * Returns SST_OK, or what sst_options_check() does, SST_ERR_MEMORY_SIZE, SST_ERR_MEMORY_ALIGNMENT,
 * SST_ERR_NO_DESCRIPTOR, or SST_ERR_INSPECT if the inspection socket cannot be made; errno says why:
 * EADDRINUSE if a process listens at the path, or if there is something that is no socket; and with a journal
 *   SST_ERR_JOURNAL            the journal cannot be opened, made or read: errno says why
 *   SST_ERR_JOURNAL_LOCKED, SST_ERR_JOURNAL_CORRUPT, SST_ERR_JOURNAL_OTHER, SST_ERR_JOURNAL_SIZE
 */
SST_API int32_t sst_client_init(void *memory, size_t size, const sst_options *options, sst_client **client);

/*
 * Closes a client at once, without DISCONNECT, and gives the block back. What was not sent is lost, unless a
 * journal has it; a commit that is being written is waited for. What has ended since the last commit is
 * still in the journal, and is sent again by the next process, unless sst_sync() comes before. Passcodes are
 * overwritten.
 *
 * client   the client; no other call may follow
 *
 * Returns SST_OK, or SST_ERR_NULL or SST_ERR_CLIENT.
 */
SST_API int32_t sst_client_close(sst_client *client);

/* sst_client_state() */
enum {
    SST_STATE_DISCONNECTED = 0,  /* there is no connection, and none is wanted */
    SST_STATE_CONNECTING = 1,    /* an attempt is under way */
    SST_STATE_CONNECTED = 2,     /* CONNECTED came */
    SST_STATE_DISCONNECTING = 3, /* sst_disconnect() was called, or the connection is about to end */
    SST_STATE_WAITING = 4        /* the next attempt follows by itself */
};

/*
 * Returns the state of a client.
 *
 * client   the client
 *
 * Returns SST_STATE_…, or SST_ERR_NULL or SST_ERR_CLIENT.
 */
SST_API int32_t sst_client_state(const sst_client *client);

/* ---------------------------------------------------------------------------------------------
 * 4  Connect and disconnect
 * ------------------------------------------------------------------------------------------- */

/*
 * Begins to connect, and returns at once. From then on the client stays connected: when an attempt fails or a
 * connection ends, the next attempt follows. SST_EVENT_CONNECTED and SST_EVENT_DISCONNECTED tell.
 *
 * client   the client
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE if it is about to connect already, is
 * connected, or the event that ended the last connection has not been taken.
 */
SST_API int32_t sst_connect(sst_client *client);

/*
 * Disconnects gracefully ("DISCONNECT"): waits until every frame in the outbox is sent and every receipt
 * came, at most drain_ms, sends DISCONNECT with a receipt behind the frame that is being sent, and closes the
 * connection when that came, or after 5 seconds. The call returns at once; SST_EVENT_DISCONNECTED with status
 * 0 reports the end, or with SST_ERR_TIMEOUT if the server did not even take DISCONNECT. Until then
 * sst_send() and the like return SST_ERR_STATE. Frames that are still in the outbox stay there for the next
 * connection.
 *
 * Without a connection an attempt is given up at once. In SST_STATE_DISCONNECTED the call does nothing.
 *
 * client     the client
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_OPTION if drain_ms is above its range.
 */
SST_API int32_t sst_disconnect(sst_client *client, uint32_t drain_ms);

/*
 * Answers SST_EVENT_CREDENTIALS: sets login and passcode of CONNECT, from this attempt on. They are copied.
 *
 * client     the client
 * attempt    that of the event; an answer to an attempt that is over has no effect
 * login      NULL or empty: none
 * passcode   NULL or empty: none
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT,
 *   SST_ERR_TOKEN      attempt is not the current one
 *   SST_ERR_STATE      the attempt does not wait for this, or no longer does
 *   SST_ERR_HEADER     one of them is not UTF-8, or has a zero or an end of a line
 *   SST_ERR_TOO_LARGE  both exceed sst_options.credential_bytes
 */
SST_API int32_t sst_credentials(sst_client *client, uint32_t attempt, const sst_bytes *login,
                                const sst_bytes *passcode);

/*
 * Answers SST_EVENT_CREDENTIALS: there are no credentials. The attempt ends with SST_ERR_CREDENTIALS at
 * SST_STAGE_CREDENTIALS. The next one follows as usual, and asks again.
 *
 * client    the client
 * attempt   that of the event
 * for_good  1: no attempt follows, until sst_connect(); otherwise 0
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_OPTION if for_good is
 * neither, SST_ERR_TOKEN if attempt is not the current one, or SST_ERR_STATE if the attempt does not wait
 * for this.
 */
SST_API int32_t sst_withhold_credentials(sst_client *client, uint32_t attempt, uint32_t for_good);

/*
 * Answers SST_EVENT_ADDRESSES: sets the server's addresses. They race as those of a host name do.
 *
 * client      the client
 * attempt     that of the event
 * addresses   numeric IPv4 or IPv6 addresses, without brackets and without a zone; the preferred ones first;
 *             may be NULL if count is 0
 * count       0 to sst_options.addresses; 0: there is none, and the attempt ends with SST_ERR_RESOLVE
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_OPTION if count is above
 * that or an address is malformed, SST_ERR_TOKEN if attempt is not the current one, or SST_ERR_STATE if the
 * attempt does not wait for this.
 */
SST_API int32_t sst_addresses(sst_client *client, uint32_t attempt, const sst_bytes *addresses, uint32_t count);

/*
 * Tells the client that there is a network, perhaps another one than before, or that the machine was asleep:
 * it cuts a wait for the next attempt short, but begins no attempt sooner than reconnect_min_ms after the
 * last one ended. It does nothing else: whether a connection is alive is for the heart-beats to find out.
 *
 * client   the client
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT.
 */
SST_API int32_t sst_hint_network(sst_client *client);

/*
 * Why the last attempt, or the last connection, ended: what SST_EVENT_DISCONNECTED says, and what proxy, TLS
 * and WebSocket know besides. Fields that do not apply are 0, or -1 where that means none. The fields are
 * those of smq_failure.
 */
typedef struct sst_failure {
    uint32_t size;        /* in: sizeof(sst_failure) */
    int32_t status;       /* SST_ERR_…; 0: nothing has ended, or the program wanted it */
    int32_t stage;        /* SST_STAGE_… */
    int32_t os_error;     /* errno, or an EAI_… value if status is SST_ERR_RESOLVE; 0: none */
    uint32_t attempt;     /* as in sst_event */
    int32_t http_status;  /* what a proxy or a web server answered, such as 403; 0: nothing */
    int32_t socks_reply;  /* what a SOCKS5 proxy replied: smq_failure says more; -1: nothing */
    int32_t close_code;   /* of the WebSocket (RFC 6455, section 7.4); 0: none */
    int32_t tls_cause;    /* SMQ_TLS_… of <swiftmqtt-tls-engine.h>: why TLS failed */
    int32_t tls_alert;    /* the alert that the server sent (RFC 8446, section 6); -1: none */
    int32_t tls_depth;    /* which certificate is at fault: 0 is the server's, 1 that of its issuer, …; -1:
                             none */
    int32_t reserved;     /* 0 */
    int64_t not_before_s; /* the validity of that certificate, in seconds since 1970; 0: unknown */
    int64_t not_after_s;
    int64_t tls_native;    /* the TLS library's own error code; 0: none */
    sst_bytes tls_subject; /* of that certificate, as text */
    sst_bytes text;        /* what the TLS library says; or the reason behind http_status or close_code. It
                              may be anything: quote it before it is logged */
} sst_failure;

/* A sst_failure with its size set. */
#define SST_FAILURE_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(sst_failure), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }                        \
    }

/*
 * Returns why the last attempt or connection ended. After SST_EVENT_DISCONNECTED it explains that event. Once
 * the next attempt has begun, it says only status, stage, os_error and the number of the attempt that failed.
 *
 * client    the client
 * failure   where to put it; failure->size must be set. Its pointers are valid until the next call on the
 *           client that may begin an attempt
 *
 * Returns SST_OK, or SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STRUCT_SIZE.
 */
SST_API int32_t sst_last_failure(const sst_client *client, sst_failure *failure);

/*
 * Tells about the TLS connection: version, cipher, whether it was resumed.
 *
 * client   the client, with an open connection over TLS
 * info     where to put it; info->size must be set. info->connection is the TLS library's own object, valid
 *          until the connection ends
 *
 * Returns SST_OK, or SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STRUCT_SIZE, or SST_ERR_STATE without such a
 * connection, or if the engine does not tell.
 */
SST_API int32_t sst_tls_describe(const sst_client *client, smq_tls_info *info);

/*
 * Tells about a certificate that the server has sent.
 *
 * client        the client, with an open connection over TLS
 * depth         0: the server's own, 1: that of its issuer, …
 * certificate   where to put it; certificate->size must be set
 *
 * Returns SST_OK, or SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STRUCT_SIZE, SST_ERR_OPTION if there is no such
 * certificate, or SST_ERR_STATE as sst_tls_describe() does.
 */
SST_API int32_t sst_tls_describe_certificate(const sst_client *client, uint32_t depth,
                                             smq_tls_certificate *certificate);

/*
 * Gives the WebSocket request another path and other headers: a URL that is signed for some minutes, a token.
 * They are for all requests that have not been sent yet, that of an attempt under way included.
 *
 * client    the client, of a WebSocket
 * path      path and query, from its slash on; NULL or empty: "/ws"
 * headers   whole lines, as in sst_options.websocket_headers; NULL or empty: none
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT,
 *   SST_ERR_NOT_SUPPORTED   the client has no WebSocket
 *   SST_ERR_OPTION          path or headers have what they must not have
 *   SST_ERR_TOO_LARGE       they are larger than websocket_request_bytes, or, without it, than those of the
 *                           options
 */
SST_API int32_t sst_websocket_request(sst_client *client, const sst_bytes *path, const sst_bytes *headers);

/* ---------------------------------------------------------------------------------------------
 * 5  Send
 * ------------------------------------------------------------------------------------------- */

/* sst_frame.flags, added up */
enum {
    /*
     * The server is asked for a receipt, and the frame is complete when that came, and not when it was handed
     * to the kernel ("Header receipt").
     */
    SST_SEND_RECEIPT = 1,
    /*
     * With SST_SEND_RECEIPT: if the connection ends before the receipt came, the frame is sent again on the
     * next one. The server may get it twice. Without this flag it ends with SST_ERR_UNKNOWN. Not in a
     * transaction. After an ERROR that names no frame, all frames go one by one, until those that it may
     * have meant have ended; one that was alone when that happened twice ends with SST_ERR_REFUSED.
     */
    SST_SEND_AGAIN = 2,
    /*
     * There is no SST_EVENT_COMPLETED if it succeeds, only if it fails. One that makes room for a later one
     * has not failed: sst_stats.messages_dropped counts it.
     */
    SST_SEND_QUIET = 4,
    /*
     * Without a content-length. ActiveMQ makes a text of a message without one, and bytes of others. The body
     * must have no zero.
     */
    SST_SEND_NO_LENGTH = 8,
    /*
     * An urgent message: it is sent before all messages that are not urgent, and has room of its own
     * (sst_options.urgent_frames).
     */
    SST_SEND_URGENT = 16,
    /*
     * The journal keeps the frame until its receipt came (sst_options.journal): if the process ends before,
     * or power fails, the next one sends it. It has SST_SEND_RECEIPT and SST_SEND_AGAIN, whether they are set
     * or not, so the server may get it twice: add an id header of your own, by which consumers drop
     * duplicates. Not in a transaction, not urgent, and with SST_OVERFLOW_REFUSE. Without a journal it is
     * SST_ERR_JOURNAL.
     */
    SST_SEND_STORE = 32
};

/*
 * sst_frame.overflow, the overflow policy: what happens to a message when the outbox is full, because the
 * link is slow or has been down for long. A message with any policy but SST_OVERFLOW_REFUSE may be dropped
 * for a later one as long as its first byte was not sent, on this connection or an earlier one. Each message
 * that was dropped for a later one, and is not quiet, ends in an SST_EVENT_COMPLETED of its own with
 * SST_ERR_DROPPED. That completion keeps one of outbox_frames, or of urgent_frames, until it is taken: where
 * these are what is used up, and not the bytes, only quiet messages make room.
 */
enum {
    SST_OVERFLOW_REFUSE = 0,      /* the call returns SST_ERR_FULL */
    SST_OVERFLOW_DROP_OLDEST = 1, /* the oldest messages that may be dropped make room for it, as far as
                                     nothing else lies between them that has to stay: a message that waits for
                                     its receipt. SST_ERR_FULL, and nothing is dropped, if that would not make
                                     enough room */
    SST_OVERFLOW_DROP_NEWEST = 2  /* it is dropped itself: the call returns SST_DROPPED */
};

/* What sst_send() returns instead of SST_OK for a message that SST_OVERFLOW_DROP_NEWEST dropped. No event
   follows. */
enum {
    SST_DROPPED = 1
};

/* A message to be sent ("SEND"). */
typedef struct sst_frame {
    uint32_t size;          /* sizeof(sst_frame) */
    uint32_t flags;         /* SST_SEND_…, added up */
    sst_bytes destination;  /* such as "/queue/a"; what it means is up to the server. Not empty */
    sst_bytes body;         /* any bytes; may be empty */
    sst_bytes content_type; /* a MIME type, such as "text/plain"; empty: none */
    sst_bytes headers;      /* more headers: a list of chapter 2 */
    uint64_t cookie;        /* the program's own value, returned in the completion */
    uint32_t transaction;   /* of sst_begin(); 0: none */
    uint32_t overflow;      /* SST_OVERFLOW_… */
} sst_frame;

/* A sst_frame with its size set and everything else zero. */
#define SST_FRAME_INIT                                                                                                 \
    { sizeof(sst_frame), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0, 0, 0 }

/*
 * Sends a message: writes it into the outbox and returns. This costs one copy and no system call; sst_wait()
 * and sst_service() send batches with one system call. A message may be sent in every state, but not between
 * sst_disconnect() and the end of the connection; it leaves when there is a connection.
 *
 * Every message ends in exactly one SST_EVENT_COMPLETED with its cookie (unless it is quiet and succeeds, or
 * the client is closed before): when it was handed to the kernel; with SST_SEND_RECEIPT, when the receipt
 * came; or with the reason of its failure. When a connection ends, what was not sent stays for the next one,
 * but for frames of a transaction, which end with SST_ERR_DROPPED.
 *
 * client   the client
 * frame    the message
 *
 * Returns SST_OK or SST_DROPPED, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STRUCT_SIZE,
 *   SST_ERR_OPTION        flags or overflow are unknown, SST_SEND_AGAIN is without SST_SEND_RECEIPT,
 *                         SST_SEND_URGENT without urgent_frames, or one of these or an overflow policy
 *                         is in a transaction; or SST_SEND_STORE is with SST_SEND_URGENT, an overflow policy
 *                         or a transaction
 *   SST_ERR_STATE         the client is disconnecting
 *   SST_ERR_DESTINATION   the destination is empty, or no text that a header may have
 *   SST_ERR_HEADER        content_type or headers are not what they have to be
 *   SST_ERR_BODY          SST_SEND_NO_LENGTH, and the body has a zero
 *   SST_ERR_TRANSACTION   there is no such transaction
 *   SST_ERR_TOO_LARGE     the frame is larger than outbox_bytes, or urgent_bytes, or, with SST_SEND_STORE,
 *                         than journal_batch_bytes allows
 *   SST_ERR_FULL          there is no room now
 *   SST_ERR_JOURNAL       SST_SEND_STORE, and there is no journal; or SST_JOURNAL_STRICT, and it has failed
 */
SST_API int32_t sst_send(sst_client *client, const sst_frame *frame);

/* ---------------------------------------------------------------------------------------------
 * 6  Subscribe and acknowledge
 * ------------------------------------------------------------------------------------------- */

/* sst_subscription.ack: when the server takes a message for consumed ("SUBSCRIBE ack Header") */
enum {
    SST_ACK_AUTO = 0,             /* when it has sent it */
    SST_ACK_CLIENT = 1,           /* at sst_ack(), which acknowledges the message and all before it of this
                                     subscription */
    SST_ACK_CLIENT_INDIVIDUAL = 2 /* at sst_ack(), each for itself; from 1.1 on */
};

/* What to subscribe to ("SUBSCRIBE"). */
typedef struct sst_subscription {
    uint32_t size;         /* sizeof(sst_subscription) */
    uint32_t ack;          /* SST_ACK_… */
    sst_bytes destination; /* not empty */
    sst_bytes headers;     /* more headers, such as selector: a list of chapter 2 */
    uint64_t cookie;       /* returned in the completion */
} sst_subscription;

/* A sst_subscription with its size set and everything else zero. */
#define SST_SUBSCRIPTION_INIT                                                                                          \
    { sizeof(sst_subscription), 0, { NULL, 0 }, { NULL, 0 }, 0 }

/*
 * Subscribes, on this connection and on all that follow, until sst_unsubscribe(). Possible in every state but
 * while the client is disconnecting. The first receipt of the server is an SST_EVENT_COMPLETED. If the server
 * refuses it, on whichever connection, that is an SST_EVENT_COMPLETED with SST_ERR_REFUSED, and the
 * subscription is gone; servers that do not say which frame they refuse leave it to the program to find out.
 *
 * client         the client
 * subscription   what to subscribe to
 *
 * Returns the number of the subscription, from 0 on, which is also its id header; or, with nothing changed,
 *   SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STRUCT_SIZE, SST_ERR_STATE, SST_ERR_DESTINATION, SST_ERR_HEADER,
 *   SST_ERR_OPTION          ack is none of SST_ACK_…
 *   SST_ERR_NOT_SUPPORTED   SST_ACK_CLIENT_INDIVIDUAL, and 1.0 is spoken or, without a connection, is the
 *                           newest version that is offered
 *   SST_ERR_TOO_LARGE       the frame is larger than subscription_bytes
 *   SST_ERR_FULL            there are as many as sst_options.subscriptions
 */
SST_API int32_t sst_subscribe(sst_client *client, const sst_subscription *subscription);

/*
 * Ends a subscription. The receipt of the server is an SST_EVENT_COMPLETED; messages may come until then,
 * with the token 0. If the completion of sst_subscribe() has not been taken, there is none any more. The
 * tokens of its messages end as well: what was not acknowledged before, the server gives to another
 * subscriber, ActiveMQ at once, RabbitMQ when the connection ends.
 *
 * client         the client
 * subscription   of sst_subscribe()
 * cookie         returned in the completion
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_SUBSCRIPTION, or
 * SST_ERR_STATE if the client is disconnecting, or is just sending SUBSCRIBE.
 */
SST_API int32_t sst_unsubscribe(sst_client *client, uint32_t subscription, uint64_t cookie);

/*
 * Ends a subscription with more headers: for a durable one, which outlives the connection at the server until
 * UNSUBSCRIBE says that it is to end. The server has to have this frame, so it waits for a connection if
 * there is none, and is sent even if SUBSCRIBE was not. If the connection ends after that, and before the
 * receipt, the SST_EVENT_COMPLETED has SST_ERR_UNKNOWN, and the subscription has ended here: subscribe and
 * unsubscribe again.
 *
 * RabbitMQ wants "durable" and "auto-delete" as they were in SUBSCRIBE, and that the client is subscribed on
 * this connection. ActiveMQ wants "activemq.subscriptionName", the same as the client-id from 1.1 on, and
 * that nobody is subscribed: call this before sst_connect(), after a sst_subscribe() to the same destination.
 *
 * client         the client
 * subscription   of sst_subscribe()
 * headers        a list of chapter 2; empty: as sst_unsubscribe()
 * cookie         returned in the completion
 *
 * Returns SST_OK, or, with nothing changed, what sst_unsubscribe() does, and
 *   SST_ERR_NULL        headers is NULL
 *   SST_ERR_HEADER      headers is not what it has to be
 *   SST_ERR_TOO_LARGE   the frame is larger than subscription_bytes
 */
SST_API int32_t sst_unsubscribe_with(sst_client *client, uint32_t subscription, const sst_bytes *headers,
                                     uint64_t cookie);

/*
 * Acknowledges a message of a subscription with SST_ACK_CLIENT or SST_ACK_CLIENT_INDIVIDUAL ("ACK"), in any
 * order, also before its event is released. A token lasts as long as its connection and its subscription, and
 * ends with sst_disconnect(): after that the server delivers the message again, with another token.
 *
 * Outside of a transaction ACK goes out before frames that wait in the outbox, also those of an earlier
 * sst_send(). A program that acknowledges a request with its answer sends both in one transaction, or waits
 * for the answer's receipt.
 *
 * client        the client
 * token         of the message's event
 * transaction   of sst_begin(), with which the acknowledgement takes effect; 0: none
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT,
 *   SST_ERR_STATE         there is no connection, or the client is disconnecting
 *   SST_ERR_TOKEN         no message with this token waits
 *   SST_ERR_TRANSACTION   there is no such transaction
 *   SST_ERR_TOO_LARGE     the frame is larger than control_bytes without the 64 bytes that are kept, or, in a
 *                         transaction, than outbox_bytes
 *   SST_ERR_FULL          there is no room now
 */
SST_API int32_t sst_ack(sst_client *client, uint64_t token, uint32_t transaction);

/*
 * Acknowledges a message, and sends headers with ACK that the server understands. The receipt header is the
 * library's: COMMIT has one. The frame goes into control_bytes, or, in a transaction, into the outbox, so
 * these have to have room for the headers as well.
 *
 * client        the client
 * token         as for sst_ack()
 * headers       a list of chapter 2; empty: as sst_ack()
 * transaction   as for sst_ack()
 *
 * Returns SST_OK, or, with nothing changed, what sst_ack() does, and
 *   SST_ERR_NULL     headers is NULL
 *   SST_ERR_HEADER   headers is not what it has to be
 */
SST_API int32_t sst_ack_with(sst_client *client, uint64_t token, const sst_bytes *headers, uint32_t transaction);

/*
 * Refuses a message ("NACK"): what happens to it is up to the server. RabbitMQ delivers it again at once,
 * also to this client; ActiveMQ moves it to its dead letter queue.
 *
 * client        the client
 * token         as for sst_ack()
 * transaction   as for sst_ack()
 *
 * Returns what sst_ack() does, or SST_ERR_NOT_SUPPORTED in 1.0.
 */
SST_API int32_t sst_nack(sst_client *client, uint64_t token, uint32_t transaction);

/*
 * Refuses a message, and sends headers with NACK. With "requeue" and the value "false" RabbitMQ does not
 * deliver it again: it goes to the dead letter exchange of its queue, or, if that has none, nowhere.
 *
 * client        the client
 * token         as for sst_ack()
 * headers       as for sst_ack_with()
 * transaction   as for sst_ack()
 *
 * Returns what sst_ack_with() does, or SST_ERR_NOT_SUPPORTED in 1.0.
 */
SST_API int32_t sst_nack_with(sst_client *client, uint64_t token, const sst_bytes *headers, uint32_t transaction);

/* ---------------------------------------------------------------------------------------------
 * 7  Transactions
 * ------------------------------------------------------------------------------------------- */

/*
 * Begins a transaction ("BEGIN"), which lasts until sst_commit() or sst_abort(), or until the connection
 * ends: SST_EVENT_TRANSACTIONS_LOST.
 *
 * client   the client
 *
 * Returns its number, 1 to 65,535, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT,
 *   SST_ERR_STATE       there is no connection, or the client is disconnecting
 *   SST_ERR_FULL        there are as many as sst_options.transactions, or there is no room in the outbox
 *   SST_ERR_TOO_LARGE   the outbox is too small for BEGIN
 */
SST_API int32_t sst_begin(sst_client *client);

/*
 * Commits a transaction ("COMMIT"), with a receipt: its SST_EVENT_COMPLETED says whether the server has it,
 * or that this is unknown (SST_ERR_UNKNOWN).
 *
 * client        the client
 * transaction   of sst_begin()
 * cookie        returned in the completion
 *
 * Returns SST_OK, or, with nothing changed, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STATE, SST_ERR_TRANSACTION,
 * SST_ERR_FULL or SST_ERR_TOO_LARGE.
 */
SST_API int32_t sst_commit(sst_client *client, uint32_t transaction, uint64_t cookie);

/*
 * Aborts a transaction ("ABORT"). The messages that were acknowledged in it are not, and the server delivers
 * them again: at the latest when the connection ends. Their tokens have ended.
 *
 * client        the client
 * transaction   of sst_begin()
 * cookie        returned in the completion
 *
 * Returns what sst_commit() does.
 */
SST_API int32_t sst_abort(sst_client *client, uint32_t transaction, uint64_t cookie);

/* ---------------------------------------------------------------------------------------------
 * 8  Events
 * ------------------------------------------------------------------------------------------- */

/*
 * sst_event.type. Every type but SST_EVENT_NONE has version. Other fields that a type does not name are 0,
 * empty, or -1 where that means none.
 */
enum {
    SST_EVENT_NONE = 0,
    /*
     * The server has accepted the connection: attempt and server, heart_beat_send_ms and
     * heart_beat_receive_ms as they were agreed, and headers, among them "session" and "server".
     */
    SST_EVENT_CONNECTED = 1,
    /*
     * An attempt, or a connection, has ended: status, stage, os_error, rule, attempt and server; retry_ms. If
     * the server said why in ERROR, text is its message header, headers are all of them, and body is its
     * body: if it is larger than the receive buffer, as much of its beginning as fits there behind the
     * headers; and if it did not come to its end on an established connection, because that ended or the
     * server fell silent, what came. body_total is the server's content-length, or, without one, the size of
     * body. sst_last_failure() says more.
     */
    SST_EVENT_DISCONNECTED = 2,
    /*
     * What completed names has ended: status, cookie, and subscription with SST_COMPLETED_SUBSCRIBE and
     * SST_COMPLETED_UNSUBSCRIBE.
     */
    SST_EVENT_COMPLETED = 3,
    /*
     * After SST_ERR_FULL for lack of room in an outbox or for ACK: there is room again. No event follows when
     * there were as many subscriptions or transactions as the options allow.
     */
    SST_EVENT_ROOM = 4,
    /*
     * A message came: subscription, token, destination, content_type, message_id, headers, body, body_offset,
     * body_total and part. status is SST_ERR_RECEIVE_TOO_LARGE if the body was dropped, because it had no
     * content-length and no room.
     */
    SST_EVENT_MESSAGE = 5,
    /* The connection has ended, and with it cookie transactions, of which the server has nothing. */
    SST_EVENT_TRANSACTIONS_LOST = 6,
    /*
     * SST_OPTION_ASK_CREDENTIALS: an attempt waits for sst_credentials() or sst_withhold_credentials(), for
     * as long as connect_timeout_ms allows. attempt and server are set.
     */
    SST_EVENT_CREDENTIALS = 11,
    /*
     * SST_OPTION_ASK_ADDRESSES: an attempt waits for sst_addresses(). text is the host name to resolve, port
     * the port to connect to; attempt and server are set.
     */
    SST_EVENT_ADDRESSES = 12,
    /*
     * SST_OPTION_OWN_TRANSPORT: the client needs a connection to the server with the name text, at port.
     * Close the last one, open a new one, and call sst_engine_opened(), or sst_engine_closed() if that fails.
     * attempt and server are set.
     */
    SST_EVENT_OPEN = 13,
    /* Something happened to the journal: completed says what, and which other fields are set. */
    SST_EVENT_JOURNAL = 14
};

/* sst_event.completed: what an SST_EVENT_JOURNAL reports */
enum {
    SST_JOURNAL_RECOVERED = 101, /* the first event of a client that has found frames of an earlier process:
                                    cookie is how many. They have the cookies that they had */
    SST_JOURNAL_FAILED = 102,    /* status is SST_ERR_JOURNAL and os_error the errno: a commit could not be
                                    written. The client tries again in other blocks, after 0.1 seconds and
                                    then ever more seldom, up to 51 seconds. Reported once, until it is
                                    healed */
    SST_JOURNAL_HEALED = 103,    /* after that: everything is durable again */
    SST_JOURNAL_STORED = 104     /* SST_JOURNAL_TELL: cookie is the position up to which all frames are
                                    durable, or have ended; see sst_journal_info. One event may stand for
                                    several commits */
};

/* sst_event.completed: what an SST_EVENT_COMPLETED completes */
enum {
    SST_COMPLETED_SEND = 1,        /* sst_send() */
    SST_COMPLETED_SUBSCRIBE = 2,   /* sst_subscribe() */
    SST_COMPLETED_UNSUBSCRIBE = 3, /* sst_unsubscribe(), sst_unsubscribe_with() */
    SST_COMPLETED_COMMIT = 4,      /* sst_commit() */
    SST_COMPLETED_ABORT = 5        /* sst_abort() */
};

/* sst_event.part, added up. A message that arrives whole has both. */
enum {
    SST_PART_FIRST = 1,
    SST_PART_LAST = 2
};

/* One event. sst_next_event() fills it. */
typedef struct sst_event {
    uint32_t size;                  /* in: sizeof(sst_event) */
    int32_t type;                   /* SST_EVENT_… */
    int32_t status;                 /* 0 or SST_ERR_… */
    int32_t stage;                  /* SST_STAGE_… */
    int32_t os_error;               /* errno, or an EAI_… value if status is SST_ERR_RESOLVE; 0: none */
    int32_t rule;                   /* SST_RULE_… */
    uint32_t version;               /* SST_STOMP_…: of this connection, or of the last one; before the first
                                       one, the newest that is offered */
    uint32_t completed;             /* SST_COMPLETED_…, in SST_EVENT_COMPLETED; SST_JOURNAL_…, in
                                       SST_EVENT_JOURNAL; otherwise 0 */
    uint32_t attempt;               /* how many attempts to connect there have been, this one included;
                                       wraps */
    uint32_t server;                /* which server of the URL, counted from 0 */
    uint32_t port;                  /* the server's port */
    int32_t retry_ms;               /* how long until the client reconnects by itself; -1: it will not */
    uint64_t cookie;                /* of the frame; with SST_EVENT_TRANSACTIONS_LOST, how many there were;
                                       with SST_EVENT_JOURNAL as described there */
    uint64_t token;                 /* for sst_ack(); 0: nothing to acknowledge, or it is not the last part */
    int32_t subscription;           /* of sst_subscribe(); -1: none of this client's */
    uint32_t part;                  /* SST_PART_FIRST, SST_PART_LAST, added up; 0: in the middle */
    uint32_t heart_beat_send_ms;    /* 0: none */
    uint32_t heart_beat_receive_ms; /* 0: none */
    sst_bytes destination;
    sst_bytes content_type;
    sst_bytes message_id;
    sst_bytes headers;    /* all of them, for sst_header_next() */
    sst_bytes body;       /* or the part of it in this event */
    uint32_t body_offset; /* where this part begins */
    uint32_t body_total;  /* the size of the whole body, as far as it is known */
    sst_bytes text;       /* what the server says, or its name. What a server says may be anything: quote it
                             before it is logged */
} sst_event;

/* A sst_event with its size set. */
#define SST_EVENT_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(sst_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },   \
            { NULL, 0 }, { NULL, 0 }, 0, 0, {                                                                          \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

/*
 * Takes the next event, if there is one, and releases the last one. While a message waits to be taken, the
 * client parses nothing behind it. The call never waits and makes no system call.
 *
 * client   the client
 * event    where to put it; event->size must be set
 *
 * Returns 1 if there was an event; 0 if not, and then event->type is SST_EVENT_NONE; or SST_ERR_NULL,
 * SST_ERR_CLIENT, or SST_ERR_STRUCT_SIZE if event->size is smaller than version 1's.
 */
SST_API int32_t sst_next_event(sst_client *client, sst_event *event);

/*
 * Walks the headers of a frame that came. Names and values are without escapes; of a name that is there
 * twice, the first one counts ("Repeated Header Entries").
 *
 * event      of SST_EVENT_CONNECTED, _DISCONNECTED or _MESSAGE, as long as its pointers are valid
 * position   begins with 0; moved to the next header
 * name       where to put its name
 * value      where to put its value. Both point into the client's memory
 *
 * Returns 1 if there was a header; 0 at the end; or SST_ERR_NULL, or SST_ERR_STRUCT_SIZE.
 */
SST_API int32_t sst_header_next(const sst_event *event, size_t *position, sst_bytes *name, sst_bytes *value);

/*
 * Finds a header of a frame that came: the first one with this name.
 *
 * event   as for sst_header_next()
 * name    compared byte by byte
 * value   where to put its value: empty if there is none
 *
 * Returns 1 if there was one, 0 if not; or SST_ERR_NULL, or SST_ERR_STRUCT_SIZE.
 */
SST_API int32_t sst_header_find(const sst_event *event, const sst_bytes *name, sst_bytes *value);

/*
 * Describes an event in one line, for a log, without the body of a message. A text of the server is in
 * quotation marks, and what would control a terminal becomes \xNN. Later versions may say more, or in other
 * words. Any thread.
 *
 * event      the event, as long as its pointers are valid
 * text       where to put the line, with a zero behind it and no line end, as far as there is room; NULL:
 *            nowhere
 * capacity   the bytes that are free there
 *
 * Returns how many bytes the line has, without the zero, however many of them there is room for; 0 if event
 * is NULL, or its size is smaller than version 1's.
 */
SST_API size_t sst_describe_event(const sst_event *event, char *text, size_t capacity);

/* ---------------------------------------------------------------------------------------------
 * 9  Running a client: the simple loop
 *
 *     for (;;) {
 *         while (sst_next_event(client, &event) == 1) {
 *             ...
 *         }
 *         sst_wait(client, -1);
 *     }
 * ------------------------------------------------------------------------------------------- */

/*
 * Sends what is to be sent, receives what has arrived, and waits until there is an event, until the time is
 * up, or until a signal handler has run. The call does not notice a signal that comes just before it, so a
 * loop that checks flags must not wait with -1. Releases the last event.
 *
 * client       the client
 * timeout_ms   0 to 2,147,483,647; 0: only look; -1: without a limit
 *
 * Returns 1 if there is an event; 0 if the time is up or a signal came; SST_ERR_NULL; SST_ERR_CLIENT, also if
 * the program has closed sst_fd(); SST_ERR_OPTION if timeout_ms is below -1; or SST_ERR_STATE if the client
 * is a bare engine, or timeout_ms is -1 and nothing could end the wait: the client is in
 * SST_STATE_DISCONNECTED, and with submit_frames 0 no other thread can submit a message.
 */
SST_API int32_t sst_wait(sst_client *client, int32_t timeout_ms);

/* ---------------------------------------------------------------------------------------------
 * 10  Running a client: inside a loop of your own
 *
 * Wait until sst_fd() is readable or sst_next_timeout_ms() is over, call sst_service(), and take the events.
 * ------------------------------------------------------------------------------------------- */

/*
 * Returns the descriptor to wait for, for as long as the client lives: it is readable when sst_service() has
 * something to do. It is an epoll descriptor.
 *
 * client   the client
 *
 * Returns the descriptor, or SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE with SST_OPTION_OWN_TRANSPORT.
 */
SST_API int32_t sst_fd(const sst_client *client);

/*
 * Returns when sst_service() has something to do even if the descriptor stays silent. Ask after every call on
 * the client: sst_send() makes it 0, and so does an event that waits to be taken.
 *
 * client   the client
 *
 * Returns milliseconds from now, 0 for at once, -1 for never; or SST_ERR_NULL or SST_ERR_CLIENT (which are
 * below -1).
 */
SST_API int32_t sst_next_timeout_ms(sst_client *client);

/*
 * Does what is to be done, and never waits: sends, receives, looks at the time. Releases the last event.
 *
 * client   the client
 *
 * Returns 1 if there is an event, 0 if not; or SST_ERR_NULL or SST_ERR_CLIENT.
 */
SST_API int32_t sst_service(sst_client *client);

/*
 * Sends what is to be sent, as far as the kernel takes it at once, and does nothing else: it neither receives
 * nor releases the event that was taken last.
 *
 * client   the client
 *
 * Returns 1 if there is an event, 0 if not; or SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE with
 * SST_OPTION_OWN_TRANSPORT.
 */
SST_API int32_t sst_flush(sst_client *client);

/* ---------------------------------------------------------------------------------------------
 * 11  Running a client: the bare engine
 *
 * With SST_OPTION_OWN_TRANSPORT the program has the transport and the clock: a serial line, a TLS library
 * with its own sockets, a simulation. Bytes and times go in, bytes and events come out. now_ms is any clock
 * that does not go back; it may wrap. The functions do what smq_engine_…() do.
 * ------------------------------------------------------------------------------------------- */

/*
 * Tells the client that the transport is open that SST_EVENT_OPEN asked for.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE if none is wanted.
 */
SST_API int32_t sst_engine_opened(sst_client *client, uint32_t now_ms);

/*
 * Tells the client that the transport is gone, or could not be opened.
 *
 * client     the client
 * os_error   an errno; 0: the peer closed it
 * now_ms     the time
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_OPTION if os_error is negative, or SST_ERR_STATE if
 * there was none.
 */
SST_API int32_t sst_engine_closed(sst_client *client, int32_t os_error, uint32_t now_ms);

/*
 * Returns where the next bytes go.
 *
 * client   the client
 * data     where to put the pointer
 * size     where to put how many bytes there are: 0 if they have to wait, until events were taken
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE without SST_OPTION_OWN_TRANSPORT.
 */
SST_API int32_t sst_engine_receive_buffer(sst_client *client, void **data, size_t *size);

/*
 * Tells the client that bytes were put there. Releases no event.
 *
 * client   the client
 * size     how many, at most what sst_engine_receive_buffer() said
 * now_ms   the time
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STATE, or SST_ERR_OPTION if size is larger.
 */
SST_API int32_t sst_engine_received(sst_client *client, size_t size, uint32_t now_ms);

/*
 * Returns what is to be sent.
 *
 * client   the client
 * now_ms   the time
 * data     where to put the pointer, valid until the next call on the client
 * size     where to put how many bytes there are: 0 if there are none
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STATE without SST_OPTION_OWN_TRANSPORT.
 */
SST_API int32_t sst_engine_transmit(sst_client *client, uint32_t now_ms, const void **data, size_t *size);

/*
 * Tells the client that the transport has taken bytes.
 *
 * client   the client
 * size     how many, at most what sst_engine_transmit() said
 * now_ms   the time
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STATE, or SST_ERR_OPTION if size is larger.
 */
SST_API int32_t sst_engine_transmitted(sst_client *client, size_t size, uint32_t now_ms);

/*
 * Returns when sst_engine_timed_out() is to be called.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns milliseconds, 0 for at once, -1 for never; or SST_ERR_NULL, SST_ERR_CLIENT or SST_ERR_STATE.
 */
SST_API int32_t sst_engine_next_timeout_ms(sst_client *client, uint32_t now_ms);

/*
 * Lets the client look at the time. Releases the last event.
 *
 * client   the client
 * now_ms   the time
 *
 * Returns 1 if there is an event, 0 if not; or SST_ERR_NULL, SST_ERR_CLIENT or SST_ERR_STATE.
 */
SST_API int32_t sst_engine_timed_out(sst_client *client, uint32_t now_ms);

/* ---------------------------------------------------------------------------------------------
 * 12  Other threads
 *
 * A client belongs to one thread, its owner. All other threads may only call sst_submit(). The owner may be
 * one of the program's own threads, or one that sst_runner_start() creates.
 * ------------------------------------------------------------------------------------------- */

/*
 * Sends a message from any thread while another one owns the client: copies it into a queue of
 * sst_options.submit_frames. From there the owner moves it into the outbox, in its next sst_wait() or
 * sst_service(), as sst_send() would. The messages of one thread are sent in its order, those of several
 * threads in the order in which the calls ended.
 *
 * The call takes no lock and never waits, so it is fit for a SCHED_FIFO thread, for a signal handler, and for
 * the owner. It makes at most one system call, which wakes up the owner if nothing else is waiting to be
 * moved. While the outbox has no room messages wait here, and in the end the answer is SST_ERR_FULL; no event
 * reports that there is room again. overflow applies when a message is about to be moved into the outbox
 * (SST_OVERFLOW_DROP_NEWEST waits), and so does SST_SEND_URGENT: until then messages stay in their order.
 * sst_disconnect() waits for a message that was submitted before it as it does for one in the outbox; a later
 * one waits for the next connection. With SST_OPTION_OWN_TRANSPORT the call wakes up nobody.
 *
 * What only the owner can find out ends the message with SST_EVENT_COMPLETED and its cookie:
 * SST_ERR_SERVER_LIMIT if the version that the server has chosen does not have what is in it, SST_ERR_JOURNAL
 * if it is to be stored, and SST_JOURNAL_STRICT refuses it.
 *
 * The client must live until the call returns: end the threads that submit, or keep them from submitting,
 * before sst_client_close().
 *
 * client   the client
 * frame    the message, in no transaction; copied, and may be released afterwards
 *
 * Returns SST_OK, or, with nothing changed, an error of sst_send() but SST_ERR_STATE, and
 *   SST_ERR_TRANSACTION     frame->transaction is not 0
 *   SST_ERR_TOO_LARGE       the parts are together larger than submit_bytes, or the frame is larger than its
 *                           outbox
 *   SST_ERR_NOT_SUPPORTED   submit_frames is 0; or urgent_frames is 0, and the message is urgent
 *   SST_ERR_FULL            submit_frames are waiting
 */
SST_API int32_t sst_submit(sst_client *client, const sst_frame *frame);

/* A function that gets events: of sst_runner_options. */
typedef void (*sst_handler)(void *user, sst_client *client, const sst_event *event);

/*
 * A thread that owns a client, in the program's memory: aligned to SST_MEMORY_ALIGNMENT, and all zero before
 * the first sst_runner_start(). It must not be moved or copied while it runs.
 */
typedef struct sst_runner {
    int32_t os_error; /* why sst_runner_start() returned SST_ERR_NO_THREAD: an errno */
    uint32_t reserved;
    uint64_t reserved2[11];
} sst_runner;

/* A sst_runner that does not run. */
#define SST_RUNNER_INIT                                                                                                \
    {                                                                                                                  \
        0, 0, { 0 }                                                                                                    \
    }

/* How a runner runs a client. */
typedef struct sst_runner_options {
    uint32_t size;        /* sizeof(sst_runner_options) */
    int32_t priority;     /* 1 to 99: SCHED_FIFO with this priority, which needs CAP_SYS_NICE or
                             RLIMIT_RTPRIO; 0: scheduled like the thread that starts it */
    uint32_t stack_bytes; /* 131,072 to 268,435,456; 0: libc's default. The library needs less than 32,768 of
                             it, the rest is for on_event */
    uint32_t reserved;    /* 0 */
    sst_bytes name;       /* shown by ps and gdb: at most 15 bytes, none of them zero; empty: sst-runner */
    sst_handler on_event; /* gets each event, in the runner's thread, which owns the client. It may call
                             anything on the client, as after sst_next_event(), except sst_client_close().
                             NULL: events are discarded */
    void *user;           /* for on_event */
} sst_runner_options;

/* A sst_runner_options with its size set. */
#define SST_RUNNER_OPTIONS_INIT                                                                                        \
    { sizeof(sst_runner_options), 0, 0, 0, { NULL, 0 }, NULL, NULL }

/*
 * Starts a thread that owns the client until sst_runner_stop(). It connects the client unless it is connected
 * or connecting, runs it, and passes its events to on_event, beginning with those that wait already.
 * Meanwhile other threads may only call sst_submit() and sst_runner_stop(); so subscribe before, or in
 * on_event. All signals are blocked in the thread.
 *
 * runner    a runner that does not run
 * client    a client that no other runner has; the calling thread is its owner
 * options   copied, and may be released afterwards
 *
 * Returns SST_OK, or, with nothing changed but os_error,
 *   SST_ERR_NULL            runner, client or options is NULL, or name has a size and no data
 *   SST_ERR_CLIENT          not a client
 *   SST_ERR_STRUCT_SIZE     options->size is wrong, or unknown or reserved fields are set
 *   SST_ERR_OPTION          priority, stack_bytes or name is out of range
 *   SST_ERR_STATE           the runner runs; SST_OPTION_OWN_TRANSPORT
 *   SST_ERR_NO_DESCRIPTOR   the process or the system has none left with which to wake up the thread
 *   SST_ERR_NO_THREAD       os_error is EAGAIN: there are too many threads; EPERM: the process may not have
 *                           this priority; EINVAL: the stack is too small for this system
 */
SST_API int32_t sst_runner_start(sst_runner *runner, sst_client *client, const sst_runner_options *options);

/*
 * Makes the runner disconnect with sst_disconnect(), and waits until its thread has ended: not longer than
 * drain_ms and the seven seconds that a graceful disconnect may take, plus the time of on_event. The last
 * event that on_event gets is SST_EVENT_DISCONNECTED, if there was a connection or an attempt. Afterwards the
 * calling thread owns the client, and sst_runner_start() may be called again. This and sst_wait() are the
 * only calls that wait.
 *
 * runner     the runner; if it does not run, nothing is done
 * drain_ms   0 to 86,400,000 milliseconds; 0: do not wait for frames that wait to be sent or confirmed
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_OPTION if drain_ms is above its range, or SST_ERR_STATE from
 * on_event, which cannot wait for its own thread, and while another thread starts or stops the runner.
 */
SST_API int32_t sst_runner_stop(sst_runner *runner, uint32_t drain_ms);

/* ---------------------------------------------------------------------------------------------
 * 13  Numbers, the log, and the frames
 * ------------------------------------------------------------------------------------------- */

/* What a client has done since it was made, and what it still has to do. */
typedef struct sst_stats {
    uint32_t size;        /* in: sizeof(sst_stats) */
    uint32_t connections; /* CONNECTED */
    uint64_t frames_sent; /* handed to the kernel completely, or to the program with its own transport */
    uint64_t frames_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t send_calls; /* how often something was handed over: batching saved frames_sent - send_calls */
    uint64_t receive_calls;
    uint64_t messages_sent;     /* sst_send() and sst_submit() that were completed with SST_OK */
    uint64_t messages_failed;   /* and with anything else, but for those that made room */
    uint64_t messages_received; /* each counted once however many parts it had */
    uint64_t messages_oversize; /* whose body was dropped for lack of room */
    uint32_t outbox_bytes;      /* in use now */
    uint32_t outbox_bytes_peak; /* the highest value so far */
    uint32_t outbox_frames;     /* that have not ended, or whose completion was not taken */
    uint32_t outbox_frames_peak;
    uint32_t receipts_due;   /* that the server owes now */
    uint32_t held;           /* messages that wait for sst_ack() or sst_nack() */
    uint32_t submit_waiting; /* frames that are submitted and not yet in the outbox */
    uint32_t submit_peak;    /* the highest value so far */
    uint64_t submitted;      /* sst_submit() calls that accepted a frame */
    uint64_t submit_full;    /* and those that returned SST_ERR_FULL */
    uint32_t attempts;       /* attempts to connect so far; wraps */
    /* Ends of attempts to connect and of connections, by the status of their SST_EVENT_DISCONNECTED. */
    uint32_t ended_requested;     /* 0 */
    uint32_t ended_refused;       /* SST_ERR_REFUSED */
    uint32_t ended_server_closed; /* SST_ERR_SERVER_CLOSED */
    uint32_t ended_malformed;     /* SST_ERR_MALFORMED, SST_ERR_RECEIVE_TOO_LARGE */
    uint32_t ended_heart_beat;    /* SST_ERR_HEART_BEAT */
    uint32_t ended_resolve;       /* SST_ERR_RESOLVE */
    uint32_t ended_network;       /* SST_ERR_NETWORK */
    uint32_t ended_closed;        /* SST_ERR_CLOSED */
    uint32_t ended_timeout;       /* SST_ERR_TIMEOUT */
    uint32_t ended_credentials;   /* SST_ERR_CREDENTIALS */
    uint32_t ended_proxy;         /* SST_ERR_PROXY */
    uint32_t ended_tls;           /* SST_ERR_TLS */
    uint32_t ended_websocket;     /* SST_ERR_WEBSOCKET */
    uint32_t urgent_frames;       /* as outbox_frames, of urgent messages, which are not among those */
    uint64_t messages_dropped;    /* that made room for others, SST_DROPPED included */
    uint32_t urgent_frames_peak;  /* the highest value so far */
    uint32_t reserved;            /* 0 */
} sst_stats;

/* A sst_stats with its size set. */
#define SST_STATS_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(sst_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, 0, 0, 0, 0, 0                                                                                  \
    }

/*
 * Reads the numbers of a client.
 *
 * client   the client
 * stats    where to put them; stats->size must be set
 *
 * Returns SST_OK, SST_ERR_NULL, SST_ERR_CLIENT, or SST_ERR_STRUCT_SIZE if stats->size is smaller than version
 * 1's.
 */
SST_API int32_t sst_client_stats(const sst_client *client, sst_stats *stats);

/* How much a sst_log is told; each level includes those before it. */
enum {
    SST_LOG_OFF = 0,
    SST_LOG_WARNING = 1,
    SST_LOG_INFO = 2,
    SST_LOG_DEBUG = 3
};

/*
 * The log entries, with the two numbers that go with each. sst_log_name() returns a name for each.
 *
 * The first number of SST_LOG_ENDED: 0 requested, 1 refused, 2 server_closed, 3 malformed, 4 headers that are
 * too large, 5 heart-beat, 7 resolve, 8 network, 9 closed, 10 timeout, 11 credentials, 12 tls, 13 proxy, 14
 * websocket.
 */
enum {
    SST_LOG_ATTEMPT = 1,        /* info: an attempt to connect begins: its number; server as in sst_event */
    SST_LOG_LOOK_UP = 2,        /* debug: a host name is being resolved: server */
    SST_LOG_ADDRESSES = 3,      /* debug: the addresses are known: how many */
    SST_LOG_ADDRESS = 4,        /* debug: an address is tried: which, counted from 0 */
    SST_LOG_ADDRESS_FAILED = 5, /* warning: an address failed: which of those that race; errno */
    SST_LOG_OPENED = 6,         /* debug: the network connection is open, with proxy, TLS and WebSocket */
    SST_LOG_CONNECTED = 7,      /* info: CONNECTED: SST_STOMP_…, and nothing else */
    SST_LOG_ENDED = 8,          /* info: an attempt or a connection ended: why, see above; SST_STAGE_… */
    SST_LOG_WAITING = 9,        /* info: waiting until the next attempt is due: milliseconds */
    SST_LOG_BLOCKED = 12,       /* debug: the kernel accepts no more bytes */
    SST_LOG_UNBLOCKED = 13,     /* debug: the kernel accepts bytes again */
    SST_LOG_HINT = 14           /* info: sst_hint_network(): 1 */
};

/*
 * Is told what a client does. The call that does it calls this function, in its own thread; the function must
 * not call the client. It is told no secrets: no login, passcode, destination or body.
 *
 * user     what sst_set_log() was given
 * level    SST_LOG_WARNING to SST_LOG_DEBUG
 * what     SST_LOG_ATTEMPT and so on; later versions may have more
 * number   as described there, otherwise 0
 * other    the second number, otherwise 0
 */
typedef void (*sst_log)(void *user, int32_t level, int32_t what, int32_t number, int32_t other);

/*
 * Sets or removes the log function of a client. It is for the program's log: everything that a program has to
 * act on is an event.
 *
 * client   the client
 * level    SST_LOG_OFF to SST_LOG_DEBUG
 * log      the function, until the next call of this or sst_client_close(); NULL: none
 * user     for log
 *
 * Returns SST_OK, SST_ERR_NULL if client is NULL, SST_ERR_CLIENT, or SST_ERR_OPTION if level is unknown.
 */
SST_API int32_t sst_set_log(sst_client *client, int32_t level, sst_log log, void *user);

/*
 * Returns the name of a log entry, such as "connected". Any thread, any time.
 *
 * what   one of SST_LOG_ATTEMPT to SST_LOG_HINT
 *
 * Returns a zero-terminated string that lives as long as the library; "unknown" for other values. Never
 * NULL, no errors.
 */
SST_API const char *sst_log_name(int32_t what);

/* Which way a frame went. */
enum {
    SST_FRAME_SENT = 1,
    SST_FRAME_RECEIVED = 2
};

/*
 * A frame that went over the connection, as it is before TLS and WebSocket. data has all of it, from the
 * first byte of its command to the zero at its end. Of these data has the beginning only: CONNECT with a
 * passcode, up to the passcode; a frame that is larger than the receive buffer; and bytes that are no frame,
 * because of which the connection ends.
 *
 * The function is told a frame that is sent when the first byte was handed to the system, and one that is
 * received when the last byte has come, before the client acts on it. Headers have their escapes. Heart-beats
 * are not told.
 */
typedef struct sst_observed {
    uint32_t size;      /* sizeof(sst_observed) of the library */
    uint32_t direction; /* SST_FRAME_SENT or SST_FRAME_RECEIVED */
    uint32_t time_ms;   /* the monotonic clock, wrapping; with SST_OPTION_OWN_TRANSPORT the program's */
    uint32_t length;    /* how many bytes the whole frame has; 0: that is not known */
    sst_bytes data;
} sst_observed;

/*
 * Is told a frame. The call that sends or receives it calls this function, in its own thread; the function
 * must not call the client, and what it is given is valid until it returns.
 *
 * user    what sst_set_tap() was given
 * frame   the frame
 */
typedef void (*sst_tap)(void *user, const sst_observed *frame);

/* sst_set_tap(), flags */
enum {
    SST_TAP_SECRETS = 1 /* the passcode of CONNECT is told as well */
};

/*
 * Sets or removes the function of a client that is told each frame, as stomp.js' debug and tcpdump are.
 * Without one nothing is done for it. One that is set while a connection is open is told the frames that
 * begin from then on.
 *
 * client   the client
 * flags    SST_TAP_…, added up
 * tap      the function, until the next call of this or sst_client_close(); NULL: none
 * user     for tap
 *
 * Returns SST_OK, SST_ERR_NULL if client is NULL, SST_ERR_CLIENT, or SST_ERR_OPTION if flags are unknown.
 */
SST_API int32_t sst_set_tap(sst_client *client, uint32_t flags, sst_tap tap, void *user);

/* ---------------------------------------------------------------------------------------------
 * 14  The journal
 * ------------------------------------------------------------------------------------------- */

/*
 * Waits until every frame with SST_SEND_STORE that was sent before is in the journal, and on the disk, or has
 * ended; not for those of sst_submit() that are still in its queue (sst_stats.submit_waiting). The connection
 * goes on meanwhile, and no event is released. Without it, a frame is stored journal_delay_ms and a write
 * later.
 *
 * client       a client with sst_options.journal
 * timeout_ms   how long to wait at most; 0: not at all; -1: as long as it takes
 *
 * Returns 1 if everything is stored; 0 if the time is up, or the program has closed sst_fd(); SST_ERR_JOURNAL
 * if a commit has failed, or has failed before and is not tried again yet (sst_journal_info.os_error says
 * why); SST_ERR_NULL, SST_ERR_CLIENT; SST_ERR_NOT_SUPPORTED without a journal; SST_ERR_OPTION if timeout_ms
 * is below -1.
 */
SST_API int32_t sst_sync(sst_client *client, int32_t timeout_ms);

/* Numbers of the journal, for sst_journal_state(). */
typedef struct sst_journal_info {
    uint32_t size;     /* in: sizeof(sst_journal_info) */
    int32_t os_error;  /* why the last commit that failed did: an errno; 0: none has failed */
    uint64_t accepted; /* the position of the frame that was accepted for it last: after sst_send(), of that
                          frame. Each has the next one; a process goes on behind the frames that it has taken
                          up */
    uint64_t stored;   /* up to which position all frames are durable, or have ended */
    uint32_t failures; /* commits that have failed */
    uint32_t blocks;   /* of 4,096 bytes, in its ring */
    uint32_t used;     /* blocks that the next process would need now */
    uint32_t torn;     /* blocks that the process before this one was writing when it ended */
} sst_journal_info;

/* A sst_journal_info with its size set. */
#define SST_JOURNAL_INFO_INIT                                                                                          \
    { sizeof(sst_journal_info), 0, 0, 0, 0, 0, 0, 0 }

/*
 * Reads the numbers of the journal. It makes no system call.
 *
 * client   a client with sst_options.journal
 * state    where to put them; state->size must be set
 *
 * Returns SST_OK; SST_ERR_NULL, SST_ERR_CLIENT, SST_ERR_STRUCT_SIZE; SST_ERR_NOT_SUPPORTED without a journal.
 */
SST_API int32_t sst_journal_state(const sst_client *client, sst_journal_info *state);

#ifdef __cplusplus
}
#endif

#endif
