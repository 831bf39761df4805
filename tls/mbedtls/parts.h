/* What the files of the mbedTLS engine share. Not installed. */
#ifndef SMQ_MBEDTLS_PARTS_H
#define SMQ_MBEDTLS_PARTS_H

#include <mbedtls/version.h>

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/platform.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crl.h>
#include <mbedtls/x509_crt.h>
#include <pthread.h>
#include <stdbool.h>

#include "swiftmqtt-tls-mbedtls.h"

/* mbedTLS 3 declares fields private for which it has no function: the alert that was received, the signature of a certificate,
   the lifetime of a session. In 2.28 they have the same names. */
#if !defined(MBEDTLS_PRIVATE)
#define MBEDTLS_PRIVATE(member) member
#endif

#if MBEDTLS_VERSION_NUMBER < 0x021C0000 || MBEDTLS_VERSION_NUMBER >= 0x04000000
#error "mbedTLS 2.28 or 3.x is needed"
#endif
#define IS_MBEDTLS_3 (MBEDTLS_VERSION_NUMBER >= 0x03000000)
#if IS_MBEDTLS_3 && defined(MBEDTLS_SSL_PROTO_TLS1_3)
#define HAS_TLS_1_3 1
#else
#define HAS_TLS_1_3 0
#endif

enum {
    SESSIONS = 4,       /* servers whose session is kept */
    NAME_MAXIMUM = 253, /* of a host; smq_tls_target.name_size */
    /* A record is taken in parts: mbedTLS puts it together in a buffer of its own. */
    RECEIVE_BYTES = 4096,
    /* A full record with what encryption adds, and room for an alert behind it, so that finish always finds some. */
    RECORD_OVERHEAD = 512,
    ALERT_BYTES = 128,
    TRANSMIT_BYTES = MBEDTLS_SSL_OUT_CONTENT_LEN + RECORD_OVERHEAD + ALERT_BYTES,
};

/* A session that may be resumed. */
typedef struct {
    bool used;
    uint16_t port;
    char name[NAME_MAXIMUM + 1];
    int64_t kept_s;  /* the wall clock then */
    int64_t until_s; /* the server's certificate is valid so long; a resumed connection does not look at it again */
    mbedtls_ssl_session session;
} kept_session;

struct smq_mbedtls_settings {
    uint32_t flags, minimum, maximum;
    int64_t clock_floor_s, verify_time_s;
    bool has_certificate, has_crl;
    mbedtls_x509_crt ca, certificate;
    mbedtls_x509_crl crl;
    mbedtls_pk_context key;
    uint8_t *pins; /* 32 bytes each */
    size_t pin_count;
    uint8_t psk[MBEDTLS_PSK_MAX_LEN], psk_identity[128];
    size_t psk_size, psk_identity_size;
    int *suites; /* with a pre-shared key: those that need no certificate, then 0 */
    /* Handshakes of several threads take turns: keys and certificates keep what they computed, without a lock of their own,
       and so do the sessions. */
    pthread_mutex_t turn;
    kept_session sessions[SESSIONS];
    unsigned next_session; /* to be replaced if all are used */
    pthread_mutex_t random_turn;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
};

/* A connection, in the client's block. The config is its own, because ALPN, the verify callback and the trusted time are. */
typedef struct {
    smq_mbedtls_settings *settings;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    uint16_t port;
    bool is_open;            /* the handshake is done */
    bool was_offered;        /* a session to be resumed */
    int64_t until_s;         /* the certificate behind that session is valid so long */
    bool was_checked;        /* a certificate came: the session was not resumed */
    bool had_no_certificate; /* the server asked for one */
    uint32_t address_size;
    uint8_t address[16];
    int64_t now_s;     /* for checks: not before the clock floor */
    bool clock_is_set; /* the wall clock shows a time that can be */
    char name[NAME_MAXIMUM + 1];
    char alpn[256];
    const char *protocols[2];
    smq_tls_failure fault; /* what the check of the certificates found, if its cause is not SMQ_TLS_NONE */
    uint32_t receive_begin, receive_end, transmit_begin, transmit_end;
    uint8_t receive[RECEIVE_BYTES];
    uint8_t transmit[TRANSMIT_BYTES];
} connection;

/* causes.c */
bool smq_mbedtls_is_lack_of_memory(int error);
int32_t smq_mbedtls_fail(connection *own, int error, smq_tls_failure *failure);
void smq_mbedtls_describe_error(int error, int32_t cause, smq_tls_failure *failure);

/* names.c */
bool smq_mbedtls_is_for(const mbedtls_x509_crt *certificate, const connection *own);
void smq_mbedtls_list_names(const mbedtls_x509_crt *certificate, char *to, size_t size);

/* verify.c: mbedTLS calls it for each certificate of the chain, the root first. */
int smq_mbedtls_check(void *own, mbedtls_x509_crt *certificate, int depth, uint32_t *flags);
int64_t smq_mbedtls_seconds(const mbedtls_x509_time *time);

/* sessions.c: under settings->turn. */
void smq_mbedtls_offer_session(connection *own);
void smq_mbedtls_keep_session(connection *own);
void smq_mbedtls_forget_session(connection *own);

/* settings.c */
int smq_mbedtls_random(void *settings, unsigned char *to, size_t size);
int64_t smq_mbedtls_wall_clock(void);

/* describe.c */
void smq_mbedtls_info(void *connection, smq_tls_info *info);
int32_t smq_mbedtls_certificate(void *connection, uint32_t depth, smq_tls_certificate *certificate);

#endif
