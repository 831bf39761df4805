/* Why it failed: from mbedTLS's errors and the peer's alerts to SMQ_TLS_…, by table. */
#include <mbedtls/error.h>
#include <mbedtls/pem.h>
#include <mbedtls/rsa.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

#if IS_MBEDTLS_3
#define BAD_VERSION MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
#else
#define BAD_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#endif

typedef struct {
    int32_t from, cause;
} row;

static int32_t find(const row *rows, size_t count, int32_t from) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].from == from) return rows[i].cause;
    return SMQ_TLS_NONE;
}

/* RFC 8446, section 6, and for 115 RFC 4279, section 2. */
static const row by_alert[] = {
    { 10, SMQ_TLS_PEER },
    { 22, SMQ_TLS_PEER },
    { 40, SMQ_TLS_CIPHER },
    { 41, SMQ_TLS_CERTIFICATE_WANTED },
    { 42, SMQ_TLS_CERTIFICATE_REFUSED },
    { 43, SMQ_TLS_CERTIFICATE_REFUSED },
    { 44, SMQ_TLS_CERTIFICATE_REFUSED },
    { 45, SMQ_TLS_CERTIFICATE_REFUSED },
    { 46, SMQ_TLS_CERTIFICATE_REFUSED },
    { 47, SMQ_TLS_PEER },
    { 48, SMQ_TLS_CERTIFICATE_REFUSED },
    { 49, SMQ_TLS_CERTIFICATE_REFUSED },
    { 50, SMQ_TLS_PEER },
    { 51, SMQ_TLS_CERTIFICATE_REFUSED },
    { 70, SMQ_TLS_VERSION },
    { 71, SMQ_TLS_CIPHER },
    { 86, SMQ_TLS_VERSION },
    { 109, SMQ_TLS_CIPHER },
    { 112, SMQ_TLS_NAME },
    { 115, SMQ_TLS_PSK },
    { 116, SMQ_TLS_CERTIFICATE_WANTED },
    { 120, SMQ_TLS_ALPN },
};

/* With a pre-shared key these say that it is another one. */
static const row by_alert_with_psk[] = {
    { 20, SMQ_TLS_PSK }, { 40, SMQ_TLS_PSK }, { 47, SMQ_TLS_PSK }, { 51, SMQ_TLS_PSK }
};

static const row by_error[] = {
    { BAD_VERSION, SMQ_TLS_VERSION },
    { MBEDTLS_ERR_SSL_FEATURE_UNAVAILABLE, SMQ_TLS_CIPHER },
    { MBEDTLS_ERR_SSL_PRIVATE_KEY_REQUIRED, SMQ_TLS_KEY },
    { MBEDTLS_ERR_SSL_PK_TYPE_MISMATCH, SMQ_TLS_KEY },
    { MBEDTLS_ERR_SSL_CA_CHAIN_REQUIRED, SMQ_TLS_UNKNOWN_CA },
    { MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY, SMQ_TLS_CLOSED },
    { MBEDTLS_ERR_SSL_CONN_EOF, SMQ_TLS_CLOSED },
    { MBEDTLS_ERR_SSL_INVALID_MAC, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_INVALID_RECORD, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_UNEXPECTED_RECORD, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_INTERNAL_ERROR, SMQ_TLS_OTHER },
    { MBEDTLS_ERR_ECP_VERIFY_FAILED, SMQ_TLS_PEER },
    { MBEDTLS_ERR_ECP_INVALID_KEY, SMQ_TLS_PEER },
    { MBEDTLS_ERR_ECP_BAD_INPUT_DATA, SMQ_TLS_PEER },
    { MBEDTLS_ERR_RSA_VERIFY_FAILED, SMQ_TLS_PEER },
    { MBEDTLS_ERR_PK_INVALID_PUBKEY, SMQ_TLS_PEER },
    { MBEDTLS_ERR_PK_INVALID_ALG, SMQ_TLS_PEER },
    { MBEDTLS_ERR_PK_UNKNOWN_PK_ALG, SMQ_TLS_WEAK },
    { MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE, SMQ_TLS_WEAK },
    { MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG, SMQ_TLS_WEAK },
    { MBEDTLS_ERR_X509_FATAL_ERROR, SMQ_TLS_CHAIN }, /* longer than MBEDTLS_X509_MAX_INTERMEDIATE_CA */
#if IS_MBEDTLS_3
    { MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE, SMQ_TLS_CIPHER },
    { MBEDTLS_ERR_SSL_BAD_CERTIFICATE, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_DECODE_ERROR, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_ILLEGAL_PARAMETER, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_UNSUPPORTED_EXTENSION, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL, SMQ_TLS_ALPN },
#else
    { MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN, SMQ_TLS_CIPHER },
    { MBEDTLS_ERR_SSL_NO_USABLE_CIPHERSUITE, SMQ_TLS_CIPHER },
    { MBEDTLS_ERR_SSL_BAD_HS_SERVER_HELLO, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE_REQUEST, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_SERVER_KEY_EXCHANGE, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_SERVER_HELLO_DONE, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_CHANGE_CIPHER_SPEC, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_FINISHED, SMQ_TLS_PEER },
    { MBEDTLS_ERR_SSL_BAD_HS_NEW_SESSION_TICKET, SMQ_TLS_PEER },
#endif
};

#define FIND(rows, from) find(rows, sizeof rows / sizeof *rows, from)

/* An error is the sum of one of a module, in steps of 0x80, and perhaps one of what that module called. */
static int module_of(int error) { return -(-error & ~0x7F); }

bool smq_mbedtls_is_lack_of_memory(int error) {
    static const int modules[] = { MBEDTLS_ERR_SSL_ALLOC_FAILED,   MBEDTLS_ERR_X509_ALLOC_FAILED,
                                   MBEDTLS_ERR_PK_ALLOC_FAILED,    MBEDTLS_ERR_ECP_ALLOC_FAILED,
                                   MBEDTLS_ERR_MD_ALLOC_FAILED,    MBEDTLS_ERR_PEM_ALLOC_FAILED,
                                   MBEDTLS_ERR_CIPHER_ALLOC_FAILED };
    int module = module_of(error), called = error - module;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (module == modules[i]) return true;
    return called == MBEDTLS_ERR_MPI_ALLOC_FAILED || called == MBEDTLS_ERR_ASN1_ALLOC_FAILED;
}

/* mbedTLS says of some steps of the handshake only that they failed, also where memory was lacking. */
static bool is_memory_short(void) {
    void *probe = mbedtls_calloc(1, 2048);
    mbedtls_free(probe);
    return probe == NULL;
}

static int32_t cause_of_alert(const connection *own, int32_t alert) {
    int32_t cause = own->settings->psk_size > 0 ? FIND(by_alert_with_psk, alert) : SMQ_TLS_NONE;
    if (cause) return cause;
    /* What servers with TLS 1.2 say that want a certificate and got none (RFC 5246, section 7.4.6). */
    if (alert == MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE && own->had_no_certificate) return SMQ_TLS_CERTIFICATE_WANTED;
    /* What OpenSSL says that has no version in common, instead of 70. */
    if (alert == MBEDTLS_SSL_ALERT_MSG_INTERNAL_ERROR && own->ssl.MBEDTLS_PRIVATE(state) <= MBEDTLS_SSL_SERVER_HELLO)
        return SMQ_TLS_VERSION;
    cause = FIND(by_alert, alert);
    return cause ? cause : SMQ_TLS_OTHER;
}

static int32_t cause_of(const connection *own, int error) {
    if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) return cause_of_alert(own, own->ssl.MBEDTLS_PRIVATE(in_msg)[1]);
    if (smq_mbedtls_is_lack_of_memory(error) || is_memory_short()) return SMQ_TLS_MEMORY;
    if (error == MBEDTLS_ERR_SSL_INVALID_RECORD && own->ssl.MBEDTLS_PRIVATE(state) <= MBEDTLS_SSL_SERVER_HELLO)
        return SMQ_TLS_NOT_TLS;
    if (error == MBEDTLS_ERR_SSL_INVALID_MAC && own->settings->psk_size > 0 && !own->is_open) return SMQ_TLS_PSK;
#if IS_MBEDTLS_3
    if (error == MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE && own->settings->psk_size > 0) return SMQ_TLS_PSK;
#endif
    /* What mbedTLS finds behind the callback. All bits mean that it has not looked yet. */
    uint32_t verified = mbedtls_ssl_get_verify_result(&own->ssl);
    if (verified != UINT32_MAX && verified & (MBEDTLS_X509_BADCERT_EXT_KEY_USAGE | MBEDTLS_X509_BADCERT_KEY_USAGE))
        return SMQ_TLS_PURPOSE;
    int32_t cause = FIND(by_error, module_of(error));
    if (cause) return cause;
    /* A certificate that cannot be read: the errors of x509.h. */
    if (error <= MBEDTLS_ERR_X509_FEATURE_UNAVAILABLE && error > MBEDTLS_ERR_X509_FATAL_ERROR) return SMQ_TLS_PEER;
    return SMQ_TLS_OTHER;
}

void smq_mbedtls_describe_error(int error, int32_t cause, smq_tls_failure *failure) {
    failure->cause = cause;
    failure->native = error;
    mbedtls_strerror(error, failure->text, sizeof failure->text);
    if (failure->text[0] == 0) snprintf(failure->text, sizeof failure->text, "mbedTLS: -0x%04x", (unsigned)-error);
}

int32_t smq_mbedtls_fail(connection *own, int error, smq_tls_failure *failure) {
    if (own->fault.cause && error != MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        uint32_t size = failure->size;
        *failure = own->fault;
        failure->size = size;
        failure->native = error;
        return -1;
    }
    smq_mbedtls_describe_error(error, cause_of(own, error), failure);
    if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) failure->alert = own->ssl.MBEDTLS_PRIVATE(in_msg)[1];
    return -1;
}
