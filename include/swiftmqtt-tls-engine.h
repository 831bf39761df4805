/*
 * How TLS plugs into libswiftmqtt: what the client needs of a TLS library.
 *
 * SPDX-License-Identifier: MIT
 *
 * libswiftmqtt depends on libc alone, and knows TLS as a struct of functions: the engine. A program hands one
 * over in smq_options.tls. libswiftmqtt-tls has one for OpenSSL (<swiftmqtt-tls.h>), and examples-c shows one
 * of a program's own. If you only use an engine, you need no more of this header than the causes of a
 * failure.
 *
 * An engine does no input and no output. The client brings the bytes that came from the network, and takes
 * those that are to be sent, whatever carries them: a socket, a proxy, a serial line, a simulation. So an
 * engine never waits, makes no system call for the network, and never sees a descriptor.
 *
 * For each connection the client provides memory, in which the engine keeps its state. The calls on it come
 * from the client's owner, one at a time, in this order:
 *
 *     begin      once; if it fails, nothing else follows
 *     handshake  until it says that it is done, with receive_buffer, received, transmit and transmitted in
 *                between
 *     read, write, info, certificate, with the same in between
 *     finish     at most once, if the connection ends in order; then transmit and transmitted
 *     end        once, in any state; the memory is then the client's again, which overwrites it
 *
 * After a failure, what waits is an alert, which tells the peer why: transmit it if the network takes it. And after a failure of
 * the network to send, what has come is still to be received: the peer's alert may be in it.
 *
 * At the end of what the peer sends, the engine is not asked: if the handshake is not done, the client takes SMQ_TLS_NOT_TLS if
 * nothing was received, and SMQ_TLS_CLOSED otherwise.
 *
 * The settings may be shared by any number of clients and threads: an engine reads them, or locks.
 */
#ifndef SWIFTMQTT_TLS_ENGINE_H
#define SWIFTMQTT_TLS_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why TLS failed: smq_tls_failure.cause, and smq_failure.tls_cause. Values never change their meaning. */
enum {
    SMQ_TLS_NONE = 0,                /* it did not */
    SMQ_TLS_UNKNOWN_CA = 1,          /* no trusted CA has signed the server's certificate, or its chain is incomplete */
    SMQ_TLS_EXPIRED = 2,             /* a certificate of the chain has expired */
    SMQ_TLS_NOT_YET_VALID = 3,       /* a certificate of the chain is not valid yet */
    SMQ_TLS_CLOCK = 4,               /* the same, and the wall clock is not set: it shows a time before the library was
                                         released, or before the clock floor */
    SMQ_TLS_NAME = 5,                /* the server's certificate is for another name or address, or the server says that
                                         it is not the one of this name */
    SMQ_TLS_REVOKED = 6,             /* a certificate of the chain was revoked */
    SMQ_TLS_REVOCATION_UNKNOWN = 7,  /* no CRL or OCSP response says whether it was, and one is required */
    SMQ_TLS_PURPOSE = 8,             /* the certificate is not for a TLS server, or that of a CA not for a CA */
    SMQ_TLS_CHAIN = 9,               /* the chain is too long, or breaks a constraint */
    SMQ_TLS_WEAK = 10,               /* a key or a digest of the chain is too weak */
    SMQ_TLS_SIGNATURE = 11,          /* a signature is wrong */
    SMQ_TLS_PIN = 12,                /* the server's key is none of those that are pinned */
    SMQ_TLS_CERTIFICATE_WANTED = 13, /* the server requires a client certificate, and there is none */
    SMQ_TLS_CERTIFICATE_REFUSED = 14, /* the server does not accept the client certificate */
    SMQ_TLS_VERSION = 15,             /* no version of TLS is common */
    SMQ_TLS_CIPHER = 16,              /* no cipher suite, group or signature algorithm is common */
    SMQ_TLS_PSK = 17,                 /* the server does not know the PSK identity, or has another key */
    SMQ_TLS_NOT_TLS = 18,             /* the peer does not speak TLS, or closed before it said anything */
    SMQ_TLS_CLOSED = 19,              /* the peer closed in the middle of the handshake */
    SMQ_TLS_KEY = 20,                 /* the client's own key or certificate cannot be used */
    SMQ_TLS_ALPN = 21,                /* no application protocol is common */
    SMQ_TLS_MEMORY = 22,              /* there is not enough memory for the engine */
    SMQ_TLS_PEER = 23,                /* the peer broke a rule of TLS */
    SMQ_TLS_OTHER = 24,               /* anything else: native and text say more */
    SMQ_TLS_CA_FILE = 25              /* the CA certificates, or a CRL, cannot be read */
};

/* Whom a connection is to. The client fills it for begin; nothing of it is valid afterwards. */
typedef struct smq_tls_target {
    uint32_t size;         /* sizeof(smq_tls_target) */
    uint16_t port;         /* 1 to 65,535; 0: a socket of the file system */
    uint16_t now_valid;    /* 1: now_s is set */
    int64_t now_s;         /* the wall clock, in seconds since 1970-01-01 00:00 UTC. Not set with
                            SMQ_OPTION_OWN_TRANSPORT, where the client reads no clock: use your own */
    const char *name;      /* smq_options.tls_name, or the host: a host name or a numeric address, for the check of the
                            certificate, and for SNI unless address_size is set (RFC 6066, section 3);
                            zero-terminated, without brackets, zone and trailing dot */
    size_t name_size;      /* without the zero: 1 to 253 */
    const uint8_t *alpn;   /* smq_options.alpn: the name of one application protocol (RFC 7301), or NULL */
    size_t alpn_size;      /* 0 to 255 */
    uint32_t address_size; /* 0: name is a host name; 4 or 16: it is an IPv4 or IPv6 address */
    uint32_t reserved;     /* 0 */
    uint8_t address[16];   /* that address, in network order, from the front */
} smq_tls_target;

/* What went wrong. The client sets size, and everything else to zero, alert and depth to -1; the engine fills in what it
   knows. */
typedef struct smq_tls_failure {
    uint32_t size;        /* sizeof(smq_tls_failure) */
    int32_t cause;        /* SMQ_TLS_… */
    int32_t alert;        /* the peer's alert (RFC 8446, section 6): 0 to 255; -1: none */
    int32_t depth;        /* which certificate is at fault: 0 is the server's, 1 that of its issuer, …; -1: none */
    int64_t not_before_s; /* the validity of that certificate, in seconds since 1970; 0: unknown */
    int64_t not_after_s;
    int64_t native;    /* the TLS library's own error code */
    char subject[128]; /* of that certificate, as text, shortened if need be; zero-terminated */
    char text[128];    /* the TLS library's own words; zero-terminated. Never a secret */
} smq_tls_failure;

#define SMQ_TLS_FAILURE_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(smq_tls_failure), 0, -1, -1, 0, 0, 0, { 0 }, { 0 }                                                      \
    }

/* An open connection. The client sets size, and everything else to zero. */
typedef struct smq_tls_info {
    uint32_t size;         /* sizeof(smq_tls_info) */
    uint16_t version;      /* 0x0303: TLS 1.2; 0x0304: TLS 1.3 */
    uint16_t is_resumed;   /* 1: a session was resumed */
    uint32_t cipher_id;    /* the cipher suite's number (IANA) */
    uint32_t certificates; /* how many certificates the server sent, as far as they are known; 0 with a PSK */
    char cipher[64];       /* its name; zero-terminated */
    char alpn[64];         /* the application protocol that was agreed on; empty: none */
    char library[64];      /* the TLS library and its version */
    void *connection; /* the library's own object for it, such as an SSL *, or NULL; valid until the connection ends */
} smq_tls_info;

#define SMQ_TLS_INFO_INIT                                                                                              \
    { sizeof(smq_tls_info), 0, 0, 0, 0, { 0 }, { 0 }, { 0 }, NULL }

/* A certificate that the server sent. The client sets size, and everything else to zero. */
typedef struct smq_tls_certificate {
    uint32_t size;        /* sizeof(smq_tls_certificate) */
    uint32_t reserved;    /* 0 */
    int64_t not_before_s; /* its validity, in seconds since 1970 */
    int64_t not_after_s;
    uint8_t spki_sha256[32]; /* SHA-256 of its SubjectPublicKeyInfo: a pin */
    char subject[256];       /* as text, shortened if need be; zero-terminated */
    char issuer[256];
    char names[512]; /* the names and addresses it is for, separated by ", ", shortened if need be */
    char key[64];    /* the kind and size of its key, such as "P-256" or "RSA 2048" */
} smq_tls_certificate;

#define SMQ_TLS_CERTIFICATE_INIT                                                                                       \
    {                                                                                                                  \
        sizeof(smq_tls_certificate), 0, 0, 0, { 0 }, { 0 }, { 0 }, { 0 }, { 0 }                                        \
    }

/* smq_tls_engine.flags */
enum {
    SMQ_TLS_ENGINE_NO_HEAP = 1 /* it promises to allocate nothing */
};

/* What read returns at the peer's close_notify. */
#define SMQ_TLS_END (-1000)

/*
 * The functions. The struct lives as long as a client has it; usually it is static and const. smq_client_init() checks its
 * size and that no function is NULL but those that may be.
 */
typedef struct smq_tls_engine {
    uint32_t size;    /* sizeof(smq_tls_engine) */
    uint32_t flags;   /* SMQ_TLS_ENGINE_… */
    const char *name; /* of the library, for logs: "OpenSSL 3.0.19" */

    /* Returns how many bytes a connection with these settings (smq_options.tls_settings) needs; the same each time. They are a
       part of the client's block. 0: the settings are none of this engine's; the client then returns SMQ_ERR_OPTION. */
    size_t (*connection_bytes)(const void *settings);

    /* Begins a connection in `memory`: zeroed, aligned to SMQ_MEMORY_ALIGNMENT, `size` is what connection_bytes said. Returns
       0, or -1 with *failure filled in and all that it had allocated released: `end` is not called then. */
    int32_t (*begin)(const void *settings, void *memory, size_t size, const smq_tls_target *target,
                     smq_tls_failure *failure);

    /* Says where bytes from the network go. A size of 0: no room before handshake or read have taken some. If neither wants
       more bytes, there is room. */
    void (*receive_buffer)(void *connection, void **data, size_t *size);

    /* `size` bytes are there, from the front: 1 to what receive_buffer said. */
    void (*received)(void *connection, size_t size);

    /* Goes on with the handshake. Returns 1 if it is done, 0 if it needs more bytes, or needs those sent that wait, and -1
       with *failure filled in. */
    int32_t (*handshake)(void *connection, smq_tls_failure *failure);

    /* Reads up to `size` bytes, at least 1, of what the peer sent. Returns how many, 0 if it needs more bytes, or needs those
       sent that wait, SMQ_TLS_END at the peer's close_notify, or -1 with *failure filled in; after one of the two it is not called
       again. A refusal of the client certificate comes here in TLS 1.3. */
    int32_t (*read)(void *connection, void *data, size_t size, smq_tls_failure *failure);

    /* Encrypts up to `size` bytes, at least 1, from the front. Returns how many it took, which then count as sent; 0 if it
       takes none before more is transmitted; or -1 with *failure filled in. It takes as many as fit a record, or none while
       bytes wait that, once transmitted, would make room for more: short records are slow. */
    int32_t (*write)(void *connection, const void *data, size_t size, smq_tls_failure *failure);

    /* Says which bytes wait to be sent. A size of 0: none. */
    void (*transmit)(void *connection, const void **data, size_t *size);

    /* `size` bytes of them were sent, from the front: 1 to what transmit said. */
    void (*transmitted)(void *connection, size_t size);

    /* Ends the connection in order: close_notify waits to be sent. Nothing is written any more. */
    void (*finish)(void *connection);

    /* Gives back what the engine holds outside the memory. */
    void (*end)(void *connection);

    /* Tells about an open connection. May be NULL. */
    void (*info)(void *connection, smq_tls_info *info);

    /* Tells about certificate `depth` of those that the server sent: 0 is its own. Returns 1, or 0 if there is none. May be
       NULL. */
    int32_t (*certificate)(void *connection, uint32_t depth, smq_tls_certificate *certificate);
} smq_tls_engine;

#ifdef __cplusplus
}
#endif

#endif
