/*
 * What the files of libswiftmqtt-tls share. Each says in its first lines which question it answers.
 */
#ifndef SWIFTMQTT_TLS_PARTS_H
#define SWIFTMQTT_TLS_PARTS_H

#include "swiftmqtt-tls.h"

#include <openssl/engine.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    /* More than a page is rarely there at once; OpenSSL gathers records in buffers of its own. */
    IN_BYTES = 8192,
    /* The longest record (RFC 8446, section 5.1), what TLS adds to it, and room for a few small ones. */
    RECORD_BYTES = 16384,
    RECORD_OVERHEAD = 512,
    OUT_BYTES = 20480,
    DIGEST_BYTES = 32, /* SHA-256 */
    PSK_IDENTITY_BYTES = 127,
    PSK_BYTES = 256
};

/* What one smq_tls_options became. It never changes, and lives as long as a connection uses it. */
typedef struct snapshot {
    atomic_uint references;
    uint32_t flags;
    SSL_CTX *context;
    int is_foreign; /* the context is the program's */
    int has_certificate;
    ENGINE *hardware; /* in which the key is; or NULL */
    uint8_t *pins;    /* pin_count times DIGEST_BYTES; or NULL */
    size_t pin_count;
    uint8_t *psk; /* or NULL */
    size_t psk_size;
    char psk_identity[PSK_IDENTITY_BYTES + 1];
    int64_t clock_floor_s;
    int64_t verify_time_s;
    int key_log;                       /* a descriptor; -1: none */
    uint8_t fingerprint[DIGEST_BYTES]; /* of what a session depends on */
} snapshot;

/* A session to be resumed, as DER. */
typedef struct saved_session {
    uint8_t key[DIGEST_BYTES];
    uint8_t *der; /* NULL: the place is free */
    size_t size;
    uint64_t stamp; /* the larger, the newer */
} saved_session;

enum {
    SESSIONS = 8,
    SESSION_BYTES = 8192,         /* larger ones are not kept */
    SESSION_EXPORT_BYTES = 16384, /* of smq_tls_sessions() */
    SESSION_SECONDS = 604800      /* RFC 8446, section 4.6.1: no ticket lives longer than a week */
};

struct smq_tls {
    pthread_mutex_t lock; /* over all below */
    snapshot *current;
    saved_session sessions[SESSIONS];
    uint64_t last_stamp;
};

/* What the client's memory has. */
typedef struct connection {
    SSL *ssl;
    smq_tls *tls;
    snapshot *settings;
    int32_t cause;          /* decided by a check of ours, or SMQ_TLS_NONE */
    int32_t received_alert; /* a fatal one, or -1 */
    int32_t sent_alert;
    int32_t verify_error; /* X509_V_ERR_…, and the certificate that it is about */
    int32_t depth;
    int64_t not_before_s;
    int64_t not_after_s;
    int64_t wall_s;  /* what the wall clock shows */
    int64_t check_s; /* the time as of which certificates are checked */
    uint8_t session_key[DIGEST_BYTES];
    uint8_t is_open;       /* the handshake is done */
    uint8_t is_over;       /* after a failure, or finish */
    uint8_t wants_goodbye; /* close_notify had no room yet */
    uint8_t has_offered;   /* a session */
    uint8_t was_asked;     /* for a client certificate */
    uint8_t reserved[3];
    uint32_t in_first, in_end, out_first, out_end;
    char subject[128];
    char fault[128]; /* what is to be said of it; empty: OpenSSL's own words */
    uint8_t in[IN_BYTES];
    uint8_t out[OUT_BYTES];
} connection;

/* bio.c: how OpenSSL reads and writes, and how a connection is found from an SSL. prepare() is 0 if there is no memory;
   program_check_index() is where ocsp.c keeps the callback that a program's context had. */
int prepare(void);
int program_check_index(void);
BIO *bio_over(connection *c);
int set_connection(SSL *ssl, connection *c);
connection *connection_of(const SSL *ssl);

/* options.c: whether options are possible. */
int32_t options_check(const smq_tls_options *given, smq_tls_options *options, smq_tls_failure *why);

/* context.c: options become a snapshot. Returns SMQ_OK or SMQ_ERR_TLS. */
int32_t snapshot_fill(snapshot *to, const smq_tls_options *options, smq_tls_failure *why);

/* settings.c: snapshots, and who uses them. */
snapshot *snapshot_take(smq_tls *tls);
void snapshot_release(snapshot *which);

/* trust.c: whom a context trusts. Returns 1, or 0 with *why filled in. */
int trust_load(SSL_CTX *context, const smq_tls_options *options, smq_tls_failure *why);
int trusts_system(const smq_tls_options *options);

/* identity.c: the client's own certificate and key. The same. */
int identity_load(snapshot *to, const smq_tls_options *options, smq_tls_failure *why);

/* hardware.c: a key that stays where it is. NULL with the error queue filled. */
EVP_PKEY *hardware_key(snapshot *to, const smq_tls_options *options, pem_password_cb *password);
void hardware_release(ENGINE *hardware);

/* source.c: PEM from a file or from memory. NULL with *why filled in. */
BIO *source_open(const smq_bytes *file, const smq_bytes *text, const char *what, int32_t cause, smq_tls_failure *why);
int file_name(const smq_bytes *from, char *to, size_t size);

/* verify.c: whether a server is the right one. */
int verify_prepare(connection *c, const smq_tls_target *target);
int verify_all(X509_STORE_CTX *store, void *unused);
void verify_fault(connection *c, X509 *certificate, int depth);

/* fingerprint.c: what a session depends on. Returns 0 if there is no memory. */
int fingerprint_take(snapshot *to, const smq_tls_options *options);

/* ocsp.c: the stapled response, which is checked on connections with this context. Returns 0 if there is no memory. */
int ocsp_watch(SSL_CTX *context);

/* sessions.c: resumption. */
void sessions_key(const smq_tls_target *target, uint8_t key[DIGEST_BYTES]);
int sessions_offer(connection *c);
int sessions_new(SSL *ssl, SSL_SESSION *session);
void sessions_forget(smq_tls *tls, const uint8_t key[DIGEST_BYTES]);
void sessions_clear(smq_tls *tls);

/* peer.c: what is told about an open connection. */
void peer_info(void *connection, smq_tls_info *info);
int32_t peer_certificate(void *connection, uint32_t depth, smq_tls_certificate *certificate);

/* text.c: certificates as text and numbers. */
void text_copy(char *to, size_t size, const char *from);
void text_of_name(const X509_NAME *name, char *to, size_t size);
int text_of_names(const X509 *certificate, char *to, size_t size); /* 1: they are all there */
void text_of_key(const X509 *certificate, char *to, size_t size);
int64_t seconds_of(const ASN1_TIME *time);
int spki_digest(const X509 *certificate, uint8_t digest[DIGEST_BYTES]);

/* failure.c: why it failed. Both return -1, and take the errors from OpenSSL's queue. */
int32_t failure_of(connection *c, smq_tls_failure *why);
int32_t failure_is(smq_tls_failure *why, int32_t cause, const char *what, const char *text);

#endif
