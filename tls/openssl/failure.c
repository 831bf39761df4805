/* Why TLS failed: tables from what OpenSSL says to SMQ_TLS_…. */
#include "parts.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    int code;
    int32_t cause;
} row;

/* What is wrong with the server's certificates. What is not here breaks their chain. */
static const row verify_causes[] = {
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_CERT_UNTRUSTED, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_CERT_REJECTED, SMQ_TLS_UNKNOWN_CA },
    { X509_V_ERR_CERT_HAS_EXPIRED, SMQ_TLS_EXPIRED },
    { X509_V_ERR_CERT_NOT_YET_VALID, SMQ_TLS_NOT_YET_VALID },
    { X509_V_ERR_HOSTNAME_MISMATCH, SMQ_TLS_NAME },
    { X509_V_ERR_IP_ADDRESS_MISMATCH, SMQ_TLS_NAME },
    { X509_V_ERR_CERT_REVOKED, SMQ_TLS_REVOKED },
    { X509_V_ERR_UNABLE_TO_GET_CRL, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_CRL_SIGNATURE_FAILURE, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_CRL_NOT_YET_VALID, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_CRL_HAS_EXPIRED, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_KEYUSAGE_NO_CRL_SIGN, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_DIFFERENT_CRL_SCOPE, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_CRL_PATH_VALIDATION_ERROR, SMQ_TLS_REVOCATION_UNKNOWN },
    { X509_V_ERR_INVALID_PURPOSE, SMQ_TLS_PURPOSE },
    { X509_V_ERR_INVALID_CA, SMQ_TLS_PURPOSE },
    { X509_V_ERR_INVALID_NON_CA, SMQ_TLS_PURPOSE },
    { X509_V_ERR_KEYUSAGE_NO_CERTSIGN, SMQ_TLS_PURPOSE },
    { X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE, SMQ_TLS_PURPOSE },
    { X509_V_ERR_EE_KEY_TOO_SMALL, SMQ_TLS_WEAK },
    { X509_V_ERR_CA_KEY_TOO_SMALL, SMQ_TLS_WEAK },
    { X509_V_ERR_CA_MD_TOO_WEAK, SMQ_TLS_WEAK },
    { X509_V_ERR_CERT_SIGNATURE_FAILURE, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_SIGNATURE_ALGORITHM_INCONSISTENCY, SMQ_TLS_SIGNATURE },
    { X509_V_ERR_OUT_OF_MEM, SMQ_TLS_MEMORY },
    { X509_V_ERR_UNSPECIFIED, SMQ_TLS_OTHER },
    { X509_V_ERR_INVALID_CALL, SMQ_TLS_OTHER },
    { X509_V_ERR_STORE_LOOKUP, SMQ_TLS_OTHER },
    { X509_V_ERR_APPLICATION_VERIFICATION, SMQ_TLS_OTHER },
};

/* What the peer's alert means (RFC 8446, section 6.2) depends on how the client proves who it is. */
enum {
    PROOF_NONE,
    PROOF_PSK,
    PROOF_CERTIFICATE,
    PROOF_MISSING,
    PROOFS
};

static const struct {
    int alert;
    int32_t causes[PROOFS]; /* never asked; with a PSK; with a certificate; asked, and has none */
} alert_causes[] = {
    { SSL3_AD_HANDSHAKE_FAILURE,
      { SMQ_TLS_CIPHER, SMQ_TLS_PSK, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { SSL3_AD_BAD_CERTIFICATE,
      { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { SSL3_AD_UNSUPPORTED_CERTIFICATE,
      { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { SSL3_AD_CERTIFICATE_REVOKED,
      { SMQ_TLS_OTHER, SMQ_TLS_OTHER, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { SSL3_AD_CERTIFICATE_EXPIRED,
      { SMQ_TLS_OTHER, SMQ_TLS_OTHER, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { SSL3_AD_CERTIFICATE_UNKNOWN,
      { SMQ_TLS_OTHER, SMQ_TLS_OTHER, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { TLS1_AD_UNKNOWN_CA, { SMQ_TLS_OTHER, SMQ_TLS_OTHER, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { TLS1_AD_ACCESS_DENIED, { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_CERTIFICATE_WANTED } },
    { TLS1_AD_DECRYPT_ERROR, { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_CERTIFICATE_REFUSED, SMQ_TLS_OTHER } },
    { SSL3_AD_BAD_RECORD_MAC, { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_OTHER, SMQ_TLS_OTHER } },
    /* OpenSSL's server says this of a binder that is wrong (RFC 8446, section 4.2.11.2). */
    { SSL3_AD_ILLEGAL_PARAMETER, { SMQ_TLS_OTHER, SMQ_TLS_PSK, SMQ_TLS_OTHER, SMQ_TLS_OTHER } },
    { TLS1_AD_UNKNOWN_PSK_IDENTITY, { SMQ_TLS_PSK, SMQ_TLS_PSK, SMQ_TLS_PSK, SMQ_TLS_PSK } },
    { TLS13_AD_CERTIFICATE_REQUIRED,
      { SMQ_TLS_CERTIFICATE_WANTED, SMQ_TLS_CERTIFICATE_WANTED, SMQ_TLS_CERTIFICATE_WANTED,
        SMQ_TLS_CERTIFICATE_WANTED } },
    { TLS1_AD_PROTOCOL_VERSION, { SMQ_TLS_VERSION, SMQ_TLS_VERSION, SMQ_TLS_VERSION, SMQ_TLS_VERSION } },
    { TLS1_AD_INAPPROPRIATE_FALLBACK, { SMQ_TLS_VERSION, SMQ_TLS_VERSION, SMQ_TLS_VERSION, SMQ_TLS_VERSION } },
    { TLS1_AD_INSUFFICIENT_SECURITY, { SMQ_TLS_CIPHER, SMQ_TLS_CIPHER, SMQ_TLS_CIPHER, SMQ_TLS_CIPHER } },
    { TLS1_AD_UNRECOGNIZED_NAME, { SMQ_TLS_NAME, SMQ_TLS_NAME, SMQ_TLS_NAME, SMQ_TLS_NAME } },
    { TLS1_AD_NO_APPLICATION_PROTOCOL, { SMQ_TLS_ALPN, SMQ_TLS_ALPN, SMQ_TLS_ALPN, SMQ_TLS_ALPN } },
};

/* What OpenSSL itself did not like (ERR_LIB_SSL). What is not here breaks a rule of TLS. */
static const row reason_causes[] = {
    { SSL_R_WRONG_VERSION_NUMBER, SMQ_TLS_NOT_TLS },   { SSL_R_HTTP_REQUEST, SMQ_TLS_NOT_TLS },
    { SSL_R_UNSUPPORTED_PROTOCOL, SMQ_TLS_VERSION },   { SSL_R_UNSUPPORTED_SSL_VERSION, SMQ_TLS_VERSION },
    { SSL_R_VERSION_TOO_LOW, SMQ_TLS_VERSION },        { SSL_R_VERSION_TOO_HIGH, SMQ_TLS_VERSION },
    { SSL_R_NO_PROTOCOLS_AVAILABLE, SMQ_TLS_VERSION }, { SSL_R_WRONG_SSL_VERSION, SMQ_TLS_VERSION },
    { SSL_R_NO_CIPHERS_AVAILABLE, SMQ_TLS_CIPHER },    { SSL_R_WRONG_CIPHER_RETURNED, SMQ_TLS_CIPHER },
    { SSL_R_UNKNOWN_CIPHER_RETURNED, SMQ_TLS_CIPHER }, { SSL_R_NO_SUITABLE_KEY_SHARE, SMQ_TLS_CIPHER },
    { SSL_R_NO_SUITABLE_GROUPS, SMQ_TLS_CIPHER },      { SSL_R_WRONG_CURVE, SMQ_TLS_CIPHER },
    { SSL_R_DH_KEY_TOO_SMALL, SMQ_TLS_CIPHER },        { SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SMQ_TLS_CIPHER },
    { SSL_R_WRONG_SIGNATURE_TYPE, SMQ_TLS_CIPHER },    { SSL_R_BAD_SIGNATURE, SMQ_TLS_SIGNATURE },
    { SSL_R_PSK_IDENTITY_NOT_FOUND, SMQ_TLS_PSK },
};

static int32_t find(const row *rows, size_t count, int code, int32_t otherwise) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].code == code) return rows[i].cause;
    return otherwise;
}

#define FIND(rows, code, otherwise) find(rows, sizeof(rows) / sizeof *(rows), code, otherwise)

static int32_t cause_of_alert(const connection *c) {
    int proof = c->settings->psk               ? PROOF_PSK
                : !c->was_asked                ? PROOF_NONE
                : c->settings->has_certificate ? PROOF_CERTIFICATE
                                               : PROOF_MISSING;
    for (size_t i = 0; i < sizeof alert_causes / sizeof *alert_causes; i++)
        if (alert_causes[i].alert == c->received_alert) return alert_causes[i].causes[proof];
    return SMQ_TLS_OTHER;
}

/* The wall clock cannot be right: it shows a time before this release, or before the program's own floor. */
static const int64_t released_s = 1793491200; /* 2026-11-01 */

static int is_clock_unset(const connection *c) {
    return !c->settings->verify_time_s && (c->wall_s < released_s || c->wall_s < c->settings->clock_floor_s);
}

static int32_t cause_of_verify(const connection *c) {
    int32_t cause = FIND(verify_causes, c->verify_error, SMQ_TLS_CHAIN);
    return cause == SMQ_TLS_NOT_YET_VALID && is_clock_unset(c) ? SMQ_TLS_CLOCK : cause;
}

static int32_t cause_of_error(const connection *c, unsigned long error) {
    if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return SMQ_TLS_MEMORY;
    /* The server's certificate is fine by now: it is the own key that cannot sign. */
    if (SSL_get_state(c->ssl) == TLS_ST_CW_CERT_VRFY) return SMQ_TLS_KEY;
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        int32_t cause = FIND(reason_causes, ERR_GET_REASON(error), SMQ_TLS_NONE);
        /* Whoever said ServerHello speaks TLS. */
        if (cause == SMQ_TLS_NOT_TLS && SSL_get_state(c->ssl) != TLS_ST_CW_CLNT_HELLO) return SMQ_TLS_PEER;
        if (cause) return cause;
    }
    /* OpenSSL tells the peer what it did wrong; internal_error is our fault. */
    return c->sent_alert >= 0 && c->sent_alert != SSL_AD_INTERNAL_ERROR ? SMQ_TLS_PEER : SMQ_TLS_OTHER;
}

/* The error that says most: one that a table knows, or the first. The queue has at most 16. */
static unsigned long take_error(void) {
    unsigned long chosen = 0;
    for (int i = 0; i < 16; i++) {
        unsigned long error = ERR_get_error();
        if (error == 0) break;
        int is_known = ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE ||
                       (ERR_GET_LIB(error) == ERR_LIB_SSL && FIND(reason_causes, ERR_GET_REASON(error), SMQ_TLS_NONE));
        if (chosen == 0 || is_known) chosen = error;
        if (is_known) break;
    }
    ERR_clear_error();
    return chosen;
}

static const char *words_of(unsigned long error) {
    const char *words = error ? ERR_reason_error_string(error) : NULL;
    return words ? words : "no reason is known";
}

int32_t failure_of(connection *c, smq_tls_failure *why) {
    /* An issuer whose extensions cannot be read counts as none to OpenSSL, but it is there. */
    int is_unreadable = ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509V3;
    unsigned long error = take_error();
    why->alert = c->received_alert;
    why->native = (int64_t)error;
    if (c->verify_error != X509_V_OK) {
        why->cause = c->cause ? c->cause : cause_of_verify(c);
        if (why->cause == SMQ_TLS_UNKNOWN_CA && is_unreadable) why->cause = SMQ_TLS_CHAIN;
        /* Without memory a certificate looks bad in many ways. */
        if (error && ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) why->cause = SMQ_TLS_MEMORY;
        why->depth = c->depth;
        why->not_before_s = c->not_before_s;
        why->not_after_s = c->not_after_s;
        why->native = c->verify_error;
        text_copy(why->subject, sizeof why->subject, c->subject);
        text_copy(why->text, sizeof why->text,
                  c->cause == SMQ_TLS_PIN ? "the key is not pinned"
                  : c->fault[0]           ? c->fault
                                          : X509_verify_cert_error_string(c->verify_error));
    } else if (c->received_alert >= 0) {
        why->cause = cause_of_alert(c);
        snprintf(why->text, sizeof why->text, "alert %d: %s", c->received_alert,
                 SSL_alert_desc_string_long(c->received_alert));
    } else {
        why->cause = c->cause ? c->cause : cause_of_error(c, error);
        text_copy(why->text, sizeof why->text, words_of(error));
    }
    return -1;
}

int32_t failure_is(smq_tls_failure *why, int32_t cause, const char *what, const char *text) {
    unsigned long error = ERR_peek_last_error();
    why->cause = ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE && error ? SMQ_TLS_MEMORY : cause;
    why->native = (int64_t)error;
    snprintf(why->text, sizeof why->text, "%s%s%s", what ? what : "", what ? ": " : "", text ? text : words_of(error));
    ERR_clear_error();
    return -1;
}
