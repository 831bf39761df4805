/* Settings that any number of connections share: opened, replaced, closed. */
#include "parts.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <string.h>
#include <unistd.h>

snapshot *snapshot_take(smq_tls *tls) {
    pthread_mutex_lock(&tls->lock);
    snapshot *current = tls->current;
    atomic_fetch_add_explicit(&current->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(&tls->lock);
    return current;
}

void snapshot_release(snapshot *which) {
    if (!which || atomic_fetch_sub_explicit(&which->references, 1, memory_order_acq_rel) != 1) return;
    SSL_CTX_free(which->context);
    hardware_release(which->hardware);
    if (which->key_log >= 0) close(which->key_log);
    OPENSSL_free(which->pins);
    OPENSSL_clear_free(which->psk, which->psk_size);
    OPENSSL_clear_free(which, sizeof *which);
}

static int32_t make_snapshot(const smq_tls_options *options, snapshot **made, smq_tls_failure *why) {
    if (!prepare() || !(*made = OPENSSL_zalloc(sizeof **made))) {
        failure_is(why, SMQ_TLS_MEMORY, NULL, "no memory");
        return SMQ_ERR_TLS;
    }
    atomic_init(&(*made)->references, 1);
    int32_t status = snapshot_fill(*made, options, why);
    ERR_clear_error();
    if (status != SMQ_OK) snapshot_release(*made);
    return status;
}

/* Checks the options, and makes the snapshot of them. *why is only written here. */
static int32_t read_options(const smq_tls_options *given, snapshot **made, smq_tls_failure *why) {
    enum {
        STRUCT_BYTES = 4096
    };
    smq_tls_options options;
    smq_tls_failure known = { .size = sizeof known, .alert = -1, .depth = -1 };
    uint32_t why_size = why ? why->size : 0;
    if (why && (why_size < sizeof known || why_size > STRUCT_BYTES)) return SMQ_ERR_STRUCT_SIZE;
    int32_t status = options_check(given, &options, &known);
    if (status == SMQ_OK) status = make_snapshot(&options, made, &known);
    if (why) {
        memset(why, 0, why_size);
        memcpy(why, &known, sizeof known);
        why->size = why_size;
    }
    return status;
}

int32_t smq_tls_open(const smq_tls_options *options, smq_tls **tls, smq_tls_failure *why) {
    snapshot *first;
    if (!options || !tls) return SMQ_ERR_NULL;
    int32_t status = read_options(options, &first, why);
    if (status != SMQ_OK) return status;
    smq_tls *made = OPENSSL_zalloc(sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        OPENSSL_free(made);
        snapshot_release(first);
        ERR_clear_error();
        if (why) why->cause = SMQ_TLS_MEMORY;
        return SMQ_ERR_TLS;
    }
    made->current = first;
    *tls = made;
    return SMQ_OK;
}

int32_t smq_tls_reload(smq_tls *tls, const smq_tls_options *options, smq_tls_failure *why) {
    snapshot *next;
    if (!tls || !options) return SMQ_ERR_NULL;
    int32_t status = read_options(options, &next, why);
    if (status != SMQ_OK) return status;
    pthread_mutex_lock(&tls->lock);
    snapshot *before = tls->current;
    tls->current = next;
    sessions_clear(tls);
    pthread_mutex_unlock(&tls->lock);
    snapshot_release(before);
    return SMQ_OK;
}

void smq_tls_close(smq_tls *tls) {
    if (!tls) return;
    sessions_clear(tls);
    snapshot_release(tls->current);
    pthread_mutex_destroy(&tls->lock);
    OPENSSL_free(tls);
}
