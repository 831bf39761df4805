/* Resumption: sessions are kept as DER, so that no two connections share an object of OpenSSL's. */
#include "parts.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>
#include <time.h>

/* What smq_tls_sessions() gives: this, the fingerprint of the settings, and for each session its key, its size in two bytes
   with the high one first, and its DER. */
static const uint8_t magic[8] = { 's', 'm', 'q', '-', 't', 'l', 's', 1 };
enum {
    EXPORT_HEAD = sizeof magic + DIGEST_BYTES,
    EXPORT_EACH = DIGEST_BYTES + 2
};

/* A session is for one name, port and protocol of the application. */
void sessions_key(const smq_tls_target *target, uint8_t key[DIGEST_BYTES]) {
    uint8_t all[2 + 256 + 256];
    size_t used = 0;
    memset(key, 0, DIGEST_BYTES);
    all[used++] = (uint8_t)(target->port >> 8);
    all[used++] = (uint8_t)target->port;
    for (size_t i = 0; i < target->name_size && i < 255; i++)
        all[used++] = (uint8_t)tolower((unsigned char)target->name[i]);
    all[used++] = 0;
    for (size_t i = 0; i < target->alpn_size && i < 255; i++) all[used++] = target->alpn[i];
    EVP_Digest(all, used, key, NULL, EVP_sha256(), NULL);
}

static void drop(saved_session *which) {
    OPENSSL_clear_free(which->der, which->size);
    memset(which, 0, sizeof *which);
}

static saved_session *find(smq_tls *tls, const uint8_t key[DIGEST_BYTES]) {
    for (int i = 0; i < SESSIONS; i++)
        if (tls->sessions[i].der && memcmp(tls->sessions[i].key, key, DIGEST_BYTES) == 0) return &tls->sessions[i];
    return NULL;
}

/* The place of this key, a free one, or the oldest. Takes over `der`. */
static void keep(smq_tls *tls, const uint8_t key[DIGEST_BYTES], uint8_t *der, size_t size) {
    saved_session *place = find(tls, key);
    for (int i = 0; !place && i < SESSIONS; i++)
        if (!tls->sessions[i].der) place = &tls->sessions[i];
    if (!place) place = &tls->sessions[0];
    if (place->der && memcmp(place->key, key, DIGEST_BYTES) != 0)
        for (int i = 1; i < SESSIONS; i++)
            if (tls->sessions[i].stamp < place->stamp) place = &tls->sessions[i];
    drop(place);
    memcpy(place->key, key, DIGEST_BYTES);
    place->der = der;
    place->size = size;
    place->stamp = ++tls->last_stamp;
}

/* A resumed connection is not verified again: so not after the ticket's time, and not after the certificate's. */
static int is_usable(const SSL_SESSION *session, const snapshot *settings, int64_t now_s) {
    int64_t age = now_s - (int64_t)SSL_SESSION_get_time(session);
    int64_t limit = (int64_t)SSL_SESSION_get_ticket_lifetime_hint(session);
    if (limit == 0) limit = (int64_t)SSL_SESSION_get_timeout(session);
    if (limit > SESSION_SECONDS) limit = SESSION_SECONDS;
    X509 *server = SSL_SESSION_get0_peer((SSL_SESSION *)(uintptr_t)session);
    int is_expired =
        server && !(settings->flags & (SMQ_TLS_NO_TIME | SMQ_TLS_NO_VERIFY)) &&
        seconds_of(X509_get0_notAfter(server)) < (settings->verify_time_s ? settings->verify_time_s : now_s);
    return age >= -60 && age < limit && !is_expired && SSL_SESSION_is_resumable(session);
}

/* Only a failure of OpenSSL's to take a session that it read itself is an error. */
int sessions_offer(connection *c) {
    smq_tls *tls = c->tls;
    uint8_t *der = NULL;
    size_t size = 0;
    if (c->settings->is_foreign || (c->settings->flags & SMQ_TLS_NO_RESUMPTION)) return 1;
    pthread_mutex_lock(&tls->lock);
    saved_session *saved = tls->current == c->settings ? find(tls, c->session_key) : NULL;
    if (saved && (der = OPENSSL_memdup(saved->der, saved->size)) != NULL) size = saved->size;
    pthread_mutex_unlock(&tls->lock);
    if (!der) return 1;
    const unsigned char *from = der;
    SSL_SESSION *session = d2i_SSL_SESSION(NULL, &from, (long)size);
    OPENSSL_clear_free(der, size);
    if (session && is_usable(session, c->settings, c->wall_s)) {
        c->has_offered = SSL_set_session(c->ssl, session) == 1;
    } else {
        sessions_forget(tls, c->session_key);
    }
    SSL_SESSION_free(session);
    ERR_clear_error();
    return 1;
}

/* OpenSSL calls it for each ticket: with TLS 1.3 in the first reads after the handshake. Returns 0: the object stays its. */
int sessions_new(SSL *ssl, SSL_SESSION *session) {
    connection *c = connection_of(ssl);
    if (!c || c->is_over || !SSL_SESSION_is_resumable(session)) return 0;
    int size = i2d_SSL_SESSION(session, NULL);
    if (size <= 0 || size > SESSION_BYTES) return 0;
    uint8_t *der = OPENSSL_malloc((size_t)size), *to = der;
    if (!der) return 0;
    i2d_SSL_SESSION(session, &to);
    pthread_mutex_lock(&c->tls->lock);
    if (c->tls->current == c->settings) {
        keep(c->tls, c->session_key, der, (size_t)size);
        der = NULL;
    }
    pthread_mutex_unlock(&c->tls->lock);
    OPENSSL_clear_free(der, (size_t)size);
    return 0;
}

void sessions_forget(smq_tls *tls, const uint8_t key[DIGEST_BYTES]) {
    pthread_mutex_lock(&tls->lock);
    saved_session *saved = find(tls, key);
    if (saved) drop(saved);
    pthread_mutex_unlock(&tls->lock);
}

void sessions_clear(smq_tls *tls) {
    for (int i = 0; i < SESSIONS; i++) drop(&tls->sessions[i]);
}

static uint8_t *put(uint8_t *to, const void *from, size_t size) {
    memcpy(to, from, size);
    return to + size;
}

/* The newest that was not taken yet and has room; NULL at the end. */
static const saved_session *next(const smq_tls *tls, const saved_session *before, size_t room) {
    const saved_session *newest = NULL;
    for (int i = 0; i < SESSIONS; i++) {
        const saved_session *each = &tls->sessions[i];
        if (!each->der || each->size + EXPORT_EACH > room || (before && each->stamp >= before->stamp)) continue;
        if (!newest || each->stamp > newest->stamp) newest = each;
    }
    return newest;
}

static size_t export_all(const smq_tls *tls, uint8_t *to) {
    size_t used = EXPORT_HEAD;
    if (to) put(put(to, magic, sizeof magic), tls->current->fingerprint, DIGEST_BYTES);
    const saved_session *each = NULL;
    for (int i = 0; i < SESSIONS && (each = next(tls, each, SESSION_EXPORT_BYTES - used)) != NULL; i++) {
        uint8_t size[2] = { (uint8_t)(each->size >> 8), (uint8_t)each->size };
        if (to) put(put(put(to + used, each->key, DIGEST_BYTES), size, 2), each->der, each->size);
        used += EXPORT_EACH + each->size;
    }
    return used == EXPORT_HEAD ? 0 : used;
}

int32_t smq_tls_sessions(smq_tls *tls, void *to, size_t *size) {
    if (!tls || !size) return SMQ_ERR_NULL;
    int32_t status = SMQ_OK;
    pthread_mutex_lock(&tls->lock);
    size_t needed = export_all(tls, NULL);
    if (to && needed > *size) {
        status = SMQ_ERR_FULL;
    } else if (to && needed > 0) {
        export_all(tls, to);
    }
    *size = needed;
    pthread_mutex_unlock(&tls->lock);
    return status;
}

static int take(smq_tls *tls, const uint8_t *key, const uint8_t *der, size_t size) {
    const unsigned char *from = der;
    SSL_SESSION *session = d2i_SSL_SESSION(NULL, &from, (long)size);
    int is_good = session && from == der + size && is_usable(session, tls->current, (int64_t)time(NULL));
    SSL_SESSION_free(session);
    uint8_t *copy = is_good ? OPENSSL_memdup(der, size) : NULL;
    if (copy) keep(tls, key, copy, size);
    return copy != NULL;
}

int32_t smq_tls_resume(smq_tls *tls, const void *sessions, size_t size) {
    if (!tls || (!sessions && size > 0)) return SMQ_ERR_NULL;
    const uint8_t *at = sessions, *end = at + size;
    int32_t taken = 0;
    if (size < EXPORT_HEAD || size > SESSION_EXPORT_BYTES || memcmp(at, magic, sizeof magic) != 0) return 0;
    ERR_clear_error();
    pthread_mutex_lock(&tls->lock);
    int is_ours = CRYPTO_memcmp(at + sizeof magic, tls->current->fingerprint, DIGEST_BYTES) == 0 &&
                  !tls->current->is_foreign && !(tls->current->flags & SMQ_TLS_NO_RESUMPTION);
    at += EXPORT_HEAD;
    while (is_ours && end - at > EXPORT_EACH) { /* at most SESSION_EXPORT_BYTES / EXPORT_EACH times */
        size_t length = (size_t)at[DIGEST_BYTES] << 8 | at[DIGEST_BYTES + 1];
        const uint8_t *der = at + EXPORT_EACH;
        if (length > (size_t)(end - der) || length > SESSION_BYTES) break;
        taken += take(tls, at, der, length);
        at = der + length;
    }
    pthread_mutex_unlock(&tls->lock);
    ERR_clear_error();
    return taken;
}
