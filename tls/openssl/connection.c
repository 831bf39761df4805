/* The engine: one connection, from begin to end. */
#include "parts.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static size_t connection_bytes(const void *settings) { return settings ? sizeof(connection) : 0; }

/* Fatal alerts, of either side. They say more than the error queue, which has its own words for some of them. */
static void saw(const SSL *ssl, int where, int value) {
    connection *c = connection_of(ssl);
    if (!c || !(where & SSL_CB_ALERT) || (value >> 8) != SSL3_AL_FATAL) return;
    if (where & SSL_CB_WRITE) {
        c->sent_alert = value & 0xff;
    } else {
        c->received_alert = value & 0xff;
    }
}

/* OpenSSL calls it when the server asks for a certificate. */
static int was_asked(SSL *ssl, void *user) {
    (void)ssl;
    ((connection *)user)->was_asked = 1;
    return 1;
}

static void read_clocks(connection *c, const smq_tls_target *target) {
    c->wall_s = target->now_valid ? target->now_s : (int64_t)time(NULL);
    c->check_s = c->wall_s;
    if (c->check_s < c->settings->clock_floor_s) c->check_s = c->settings->clock_floor_s;
    if (c->settings->verify_time_s) c->check_s = c->settings->verify_time_s;
}

static int offer_alpn(connection *c, const smq_tls_target *target) {
    uint8_t list[256];
    if (target->alpn_size == 0) return 1;
    if (target->alpn_size > 255) return 0;
    list[0] = (uint8_t)target->alpn_size;
    memcpy(list + 1, target->alpn, target->alpn_size);
    return SSL_set_alpn_protos(c->ssl, list, (unsigned)target->alpn_size + 1) == 0;
}

static int set_up(connection *c, const smq_tls_target *target) {
    c->ssl = SSL_new(c->settings->context);
    if (!c->ssl) return 0;
    BIO *bio = bio_over(c);
    if (!bio) return 0;
    SSL_set_bio(c->ssl, bio, bio);
    if (!set_connection(c->ssl, c)) return 0;
    SSL_set_connect_state(c->ssl);
    SSL_set_info_callback(c->ssl, saw);
    if (!c->settings->is_foreign) SSL_set_cert_cb(c->ssl, was_asked, c);
    /* A message moves between two attempts to write it; bytes that a record took count as sent. */
    SSL_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION);
    return verify_prepare(c, target) && offer_alpn(c, target) && sessions_offer(c);
}

static void end(void *memory) {
    connection *c = memory;
    /* A session whose handshake came to nothing may be why. */
    if (c->has_offered && !c->is_open) sessions_forget(c->tls, c->session_key);
    ERR_clear_error();
    SSL_free(c->ssl);
    snapshot_release(c->settings);
    OPENSSL_cleanse(c, sizeof *c);
}

static int32_t begin(const void *settings, void *memory, size_t size, const smq_tls_target *target,
                     smq_tls_failure *failure) {
    connection *c = memory;
    if (size < sizeof *c || target->size < sizeof *target)
        return failure_is(failure, SMQ_TLS_OTHER, NULL, "the client and the engine do not fit each other");
    ERR_clear_error();
    if (!prepare()) return failure_is(failure, SMQ_TLS_MEMORY, NULL, "no memory");
    memset(c, 0, offsetof(connection, in));
    c->received_alert = c->sent_alert = c->depth = -1;
    /* The settings count how many use them: only what is behind the pointer is const for the client. */
    c->tls = (smq_tls *)(uintptr_t)settings;
    c->settings = snapshot_take(c->tls);
    read_clocks(c, target);
    sessions_key(target, c->session_key);
    if (set_up(c, target)) return 0;
    /* Nothing came from the network yet: what fails here is memory, or a name that OpenSSL does not take. */
    unsigned long error = ERR_peek_error();
    failure_is(failure, error == 0 || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE ? SMQ_TLS_MEMORY : SMQ_TLS_OTHER,
               NULL, NULL);
    end(c);
    return -1;
}

static void receive_buffer(void *memory, void **data, size_t *size) {
    connection *c = memory;
    if (c->in_first > 0) {
        c->in_end -= c->in_first;
        memmove(c->in, c->in + c->in_first, c->in_end);
        c->in_first = 0;
    }
    *data = c->in + c->in_end;
    *size = IN_BYTES - c->in_end;
}

static void received(void *memory, size_t size) {
    connection *c = memory;
    if (size > IN_BYTES - c->in_end) size = IN_BYTES - c->in_end;
    c->in_end += (uint32_t)size;
}

/* What a call of OpenSSL means for the client. */
static int32_t outcome(connection *c, int result, smq_tls_failure *failure) {
    if (result > 0) return result;
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        c->is_over = 1;
        return SMQ_TLS_END;
    default:
        c->is_over = 1;
        return failure_of(c, failure);
    }
}

static int32_t handshake(void *memory, smq_tls_failure *failure) {
    connection *c = memory;
    if (c->is_open) return 1;
    ERR_clear_error();
    int32_t result = outcome(c, SSL_do_handshake(c->ssl), failure);
    /* close_notify is no failure to OpenSSL; in a handshake it is one. */
    if (result == SMQ_TLS_END) return failure_is(failure, SMQ_TLS_CLOSED, NULL, "close_notify in the handshake");
    if (result == 1) c->is_open = 1;
    return result;
}

static int32_t read_some(void *memory, void *data, size_t size, smq_tls_failure *failure) {
    connection *c = memory;
    ERR_clear_error();
    return outcome(c, SSL_read(c->ssl, data, size > INT_MAX ? INT_MAX : (int)size), failure);
}

/* There is room for the whole record before SSL_write begins, so it never stops in the middle of one: what the client offers
   next may be something else. */
static int32_t write_some(void *memory, const void *data, size_t size, smq_tls_failure *failure) {
    connection *c = memory;
    if (c->is_over) return 0;
    if (size > RECORD_BYTES) size = RECORD_BYTES;
    if (OUT_BYTES - (c->out_end - c->out_first) < size + RECORD_OVERHEAD) return 0;
    ERR_clear_error();
    return outcome(c, SSL_write(c->ssl, data, (int)size), failure);
}

static void say_goodbye(connection *c) {
    ERR_clear_error();
    int result = SSL_shutdown(c->ssl);
    c->wants_goodbye = result < 0 && SSL_get_error(c->ssl, result) == SSL_ERROR_WANT_WRITE;
    ERR_clear_error();
}

static void transmit(void *memory, const void **data, size_t *size) {
    connection *c = memory;
    if (c->wants_goodbye) say_goodbye(c);
    *data = c->out + c->out_first;
    *size = c->out_end - c->out_first;
}

static void transmitted(void *memory, size_t size) {
    connection *c = memory;
    if (size > c->out_end - c->out_first) size = c->out_end - c->out_first;
    c->out_first += (uint32_t)size;
    if (c->out_first == c->out_end) c->out_first = c->out_end = 0;
}

static void finish(void *memory) {
    connection *c = memory;
    if (!c->is_open || c->is_over) return;
    c->is_over = 1;
    say_goodbye(c);
}

static char name[64] = "OpenSSL";
static const smq_tls_engine engine = {
    .size = sizeof engine,
    .name = name,
    .connection_bytes = connection_bytes,
    .begin = begin,
    .receive_buffer = receive_buffer,
    .received = received,
    .handshake = handshake,
    .read = read_some,
    .write = write_some,
    .transmit = transmit,
    .transmitted = transmitted,
    .finish = finish,
    .end = end,
    .info = peer_info,
    .certificate = peer_certificate,
};

static CRYPTO_ONCE named = CRYPTO_ONCE_STATIC_INIT;

static void find_name(void) { snprintf(name, sizeof name, "OpenSSL %s", OpenSSL_version(OPENSSL_VERSION_STRING)); }

const smq_tls_engine *smq_tls_openssl(void) {
    (void)CRYPTO_THREAD_run_once(&named, find_name);
    return &engine;
}
