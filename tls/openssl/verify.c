/* Whether a server is the right one: chain, name, time, pins. */
#include "parts.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

void verify_fault(connection *c, X509 *certificate, int depth) {
    c->depth = depth;
    if (!certificate) return;
    c->not_before_s = seconds_of(X509_get0_notBefore(certificate));
    c->not_after_s = seconds_of(X509_get0_notAfter(certificate));
    text_of_name(X509_get_subject_name(certificate), c->subject, sizeof c->subject);
}

/* Which names would do. */
static void tell_names(connection *c, const X509 *certificate) {
    static const char beginning[] = "the certificate is for ", more[] = ", ...";
    char names[sizeof c->fault - sizeof beginning - sizeof more + 2];
    int is_whole = text_of_names(certificate, names, sizeof names);
    if (names[0])
        snprintf(c->fault, sizeof c->fault, "%s%s%s", beginning, names, is_whole ? "" : more);
    else if (is_whole)
        text_copy(c->fault, sizeof c->fault, "the certificate has no host and no address in subjectAltName");
}

static connection *connection_in(X509_STORE_CTX *store) {
    return connection_of(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
}

/* The address that the certificate has to be for is its name (SMQ_TLS_COMMON_NAME): home-made ones have it there. */
static int is_named_by_address(X509_STORE_CTX *store) {
    char *address = X509_VERIFY_PARAM_get1_ip_asc(X509_STORE_CTX_get0_param(store));
    int is_same = address && X509_check_host(X509_STORE_CTX_get0_cert(store), address, strlen(address),
                                             X509_CHECK_FLAG_NO_WILDCARDS, NULL) == 1;
    OPENSSL_free(address);
    return is_same;
}

/* OpenSSL calls it for each certificate, and for each error: the first one that stays is why the handshake fails. */
static int verified(int is_fine, X509_STORE_CTX *store) {
    connection *c = connection_in(store);
    if (!is_fine && (c->settings->flags & SMQ_TLS_COMMON_NAME) &&
        X509_STORE_CTX_get_error(store) == X509_V_ERR_IP_ADDRESS_MISMATCH && is_named_by_address(store)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        is_fine = 1;
    }
    SSL_verify_cb theirs = c->settings->is_foreign ? SSL_CTX_get_verify_callback(c->settings->context) : NULL;
    if (theirs) is_fine = theirs(is_fine, store);
    if (!is_fine && c->verify_error == X509_V_OK) {
        int error = X509_STORE_CTX_get_error(store);
        c->verify_error = error == X509_V_OK ? X509_V_ERR_APPLICATION_VERIFICATION : error;
        verify_fault(c, X509_STORE_CTX_get_current_cert(store), X509_STORE_CTX_get_error_depth(store));
        if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH)
            tell_names(c, X509_STORE_CTX_get0_cert(store));
    }
    return is_fine;
}

static int is_pinned(const snapshot *settings, const X509 *certificate) {
    uint8_t digest[DIGEST_BYTES];
    if (!certificate || !spki_digest(certificate, digest)) return 0;
    for (size_t i = 0; i < settings->pin_count; i++)
        if (memcmp(settings->pins + i * DIGEST_BYTES, digest, DIGEST_BYTES) == 0) return 1;
    return 0;
}

static int refuse(connection *c, X509_STORE_CTX *store, int32_t cause) {
    c->cause = cause;
    c->verify_error = X509_V_ERR_APPLICATION_VERIFICATION;
    verify_fault(c, X509_STORE_CTX_get0_cert(store), 0);
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

/* In place of OpenSSL's own: what it does, and then the pins. */
int verify_all(X509_STORE_CTX *store, void *unused) {
    (void)unused;
    connection *c = connection_in(store);
    const snapshot *settings = c->settings;
    /* A server that does not take the key falls back to a certificate; there is nothing to check it with. */
    if (settings->psk) return refuse(c, store, SMQ_TLS_PSK);
    if (!(settings->flags & SMQ_TLS_NO_VERIFY) && X509_verify_cert(store) <= 0) {
        /* Without an error in the callback it was memory. */
        if (c->verify_error == X509_V_OK) c->verify_error = X509_STORE_CTX_get_error(store);
        if (c->verify_error == X509_V_OK) c->verify_error = X509_V_ERR_UNSPECIFIED;
        return 0;
    }
    if (settings->pin_count > 0 && !is_pinned(settings, X509_STORE_CTX_get0_cert(store)))
        return refuse(c, store, SMQ_TLS_PIN);
    return 1;
}

static const struct {
    uint32_t ours;
    unsigned long openssl;
} flags[] = {
    { SMQ_TLS_CRL_CHECK, X509_V_FLAG_CRL_CHECK },
    { SMQ_TLS_CRL_ALL, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL },
    { SMQ_TLS_STRICT, X509_V_FLAG_X509_STRICT },
    { SMQ_TLS_NO_TIME, X509_V_FLAG_NO_CHECK_TIME },
};

static time_t as_time(int64_t seconds) {
    time_t time = (time_t)seconds;
    return (int64_t)time == seconds ? time : (time_t)INT32_MAX; /* of 32 bits: its end */
}

int verify_prepare(connection *c, const smq_tls_target *target) {
    const snapshot *settings = c->settings;
    /* With a context of ours, verify_all() decides, also that anything will do. */
    if (settings->is_foreign && (settings->flags & SMQ_TLS_NO_VERIFY)) {
        SSL_set_verify(c->ssl, SSL_VERIFY_NONE, SSL_CTX_get_verify_callback(settings->context));
    } else {
        SSL_set_verify(c->ssl, SSL_VERIFY_PEER, verified);
    }
    X509_VERIFY_PARAM *check = SSL_get0_param(c->ssl);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (settings->flags & flags[i].ours && !X509_VERIFY_PARAM_set_flags(check, flags[i].openssl)) return 0;
    /* A time that is set counts, even where none is to. */
    if (!settings->is_foreign && !(settings->flags & SMQ_TLS_NO_TIME))
        X509_VERIFY_PARAM_set_time(check, as_time(c->check_s));
    X509_VERIFY_PARAM_set_hostflags(
        check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                   (settings->flags & SMQ_TLS_COMMON_NAME ? 0 : X509_CHECK_FLAG_NEVER_CHECK_SUBJECT));
    if (settings->flags & (SMQ_TLS_OCSP | SMQ_TLS_OCSP_REQUIRED) &&
        SSL_set_tlsext_status_type(c->ssl, TLSEXT_STATUSTYPE_ocsp) != 1)
        return 0;
    /* Server Name Indication has no addresses (RFC 6066, section 3). */
    if (target->address_size == 0 && SSL_set_tlsext_host_name(c->ssl, target->name) != 1) return 0;
    if (settings->flags & SMQ_TLS_NO_NAME_CHECK) return 1;
    return target->address_size ? X509_VERIFY_PARAM_set1_ip(check, target->address, target->address_size)
                                : X509_VERIFY_PARAM_set1_host(check, target->name, target->name_size);
}
