/* Options become a snapshot, with OpenSSL's context in it. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* For TLS 1.2; OpenSSL makes a PSK of TLS 1.3 with SHA-256 of it, too. */
static unsigned give_psk(SSL *ssl, const char *hint, char *identity, unsigned identity_room, unsigned char *psk,
                         unsigned psk_room) {
    const snapshot *settings = connection_of(ssl)->settings;
    (void)hint;
    if (strlen(settings->psk_identity) >= identity_room || settings->psk_size > psk_room) return 0;
    memcpy(identity, settings->psk_identity, strlen(settings->psk_identity) + 1);
    memcpy(psk, settings->psk, settings->psk_size);
    return (unsigned)settings->psk_size;
}

/* One write() for each line: lines of several threads do not mix. */
static void log_key(const SSL *ssl, const char *line) {
    char whole[512];
    int size = snprintf(whole, sizeof whole, "%s\n", line);
    const connection *c = connection_of(ssl);
    if (c && size > 0 && (size_t)size < sizeof whole) {
        ssize_t written = write(c->settings->key_log, whole, (size_t)size);
        (void)written; /* a disk that is full does not end a connection */
    }
    OPENSSL_cleanse(whole, sizeof whole);
}

static int key_log_open(snapshot *to, const smq_bytes *file, smq_tls_failure *why) {
    char name[PATH_MAX];
    if (file->size == 0) return 1;
    errno = ENAMETOOLONG;
    if (file_name(file, name, sizeof name)) to->key_log = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (to->key_log < 0) return failure_is(why, SMQ_TLS_OTHER, "key_log_file", strerror(errno)) == 0;
    SSL_CTX_set_keylog_callback(to->context, log_key);
    return 1;
}

/* Calls one of OpenSSL's setters with a list in its notation, which it wants to end in a zero. */
static int set_list(SSL_CTX *context, int (*setter)(SSL_CTX *, const char *), const smq_bytes *list, const char *after,
                    const char *what, smq_tls_failure *why) {
    char text[1024];
    if (list->size == 0) return 1;
    if (list->size + strlen(after) >= sizeof text) return failure_is(why, SMQ_TLS_CIPHER, what, "too long") == 0;
    memcpy(text, list->data, list->size);
    memcpy(text + list->size, after, strlen(after) + 1);
    return setter(context, text) == 1 || failure_is(why, SMQ_TLS_CIPHER, what, NULL) == 0;
}

static int set_groups(SSL_CTX *context, const char *list) { return (int)SSL_CTX_set1_groups_list(context, list); }

static int set_ciphers(SSL_CTX *context, const smq_tls_options *options, smq_tls_failure *why) {
    /* With a PSK, only where both sides show that they know it. */
    static const smq_bytes of_psk = { "kECDHEPSK:kDHEPSK:kPSK", 22 };
    int is_psk = options->psk.size > 0 && options->ciphers.size == 0;
    /* Never a connection that is not encrypted, or whose server says nothing about itself. */
    return set_list(context, SSL_CTX_set_cipher_list, is_psk ? &of_psk : &options->ciphers, ":!aNULL:!eNULL", "ciphers",
                    why) &&
           set_list(context, SSL_CTX_set_ciphersuites, &options->cipher_suites, "", "cipher_suites", why) &&
           set_list(context, set_groups, &options->groups, "", "groups", why);
}

static int set_versions(SSL_CTX *context, const smq_tls_options *options, smq_tls_failure *why) {
    int minimum = options->minimum ? (int)options->minimum : TLS1_2_VERSION;
    return (SSL_CTX_set_min_proto_version(context, minimum) == 1 &&
            SSL_CTX_set_max_proto_version(context, (int)options->maximum) == 1) ||
           failure_is(why, SMQ_TLS_OTHER, "versions", NULL) == 0;
}

static int make_context(snapshot *to, const smq_tls_options *options, smq_tls_failure *why) {
    to->context = SSL_CTX_new(TLS_client_method());
    if (!to->context) return failure_is(why, SMQ_TLS_MEMORY, NULL, NULL) == 0;
    SSL_CTX_set_cert_verify_callback(to->context, verify_all, NULL);
    if (to->psk) SSL_CTX_set_psk_client_callback(to->context, give_psk);
    if (to->flags & SMQ_TLS_NO_RESUMPTION) {
        SSL_CTX_set_session_cache_mode(to->context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(to->context, SSL_OP_NO_TICKET);
    } else {
        SSL_CTX_set_session_cache_mode(to->context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(to->context, sessions_new);
    }
    return set_versions(to->context, options, why) && set_ciphers(to->context, options, why) &&
           key_log_open(to, &options->key_log_file, why) && (to->psk || trust_load(to->context, options, why)) &&
           identity_load(to, options, why);
}

static int copy_values(snapshot *to, const smq_tls_options *options) {
    to->flags = options->flags;
    if (options->crl_file.size > 0 && !(to->flags & SMQ_TLS_CRL_ALL)) to->flags |= SMQ_TLS_CRL_CHECK;
    to->clock_floor_s = options->clock_floor_s;
    to->verify_time_s = options->verify_time_s;
    if (options->pins.size > 0) {
        to->pins = OPENSSL_memdup(options->pins.data, options->pins.size);
        if (!to->pins) return 0;
        to->pin_count = options->pins.size / DIGEST_BYTES;
    }
    if (options->psk.size > 0) {
        to->psk = OPENSSL_memdup(options->psk.data, options->psk.size);
        if (!to->psk) return 0;
        to->psk_size = options->psk.size;
        memcpy(to->psk_identity, options->psk_identity.data, options->psk_identity.size);
    }
    return 1;
}

/* The program's own context is used as it is; of ours there are the flags, and the callback that OCSP needs. */
static void take_context(snapshot *to, SSL_CTX *context) {
    SSL_CTX_up_ref(context);
    to->context = context;
    to->is_foreign = 1;
}

int32_t snapshot_fill(snapshot *to, const smq_tls_options *options, smq_tls_failure *why) {
    static const smq_tls_options empty = SMQ_TLS_OPTIONS_INIT;
    ERR_clear_error();
    to->key_log = -1;
    if (options->ssl_ctx) {
        to->flags = options->flags;
        take_context(to, options->ssl_ctx);
        options = &empty;
    } else if (!copy_values(to, options)) {
        failure_is(why, SMQ_TLS_MEMORY, NULL, NULL);
        return SMQ_ERR_TLS;
    } else if (!make_context(to, options, why)) {
        return SMQ_ERR_TLS;
    }
    int is_checked = !(to->flags & (SMQ_TLS_OCSP | SMQ_TLS_OCSP_REQUIRED)) || ocsp_watch(to->context);
    if (is_checked && fingerprint_take(to, options)) return SMQ_OK;
    failure_is(why, SMQ_TLS_MEMORY, NULL, NULL);
    return SMQ_ERR_TLS;
}
