/* The engine's functions: mbedTLS between two buffers in the client's memory. */
#include <limits.h>
#include <string.h>

#include "parts.h"

/* The release: a clock that shows an earlier time is not set. 2026-11-01. */
#define RELEASED_S INT64_C(1793491200)

static int32_t is_too_small(smq_tls_failure *failure) {
    failure->cause = SMQ_TLS_MEMORY;
    return -1;
}

static size_t connection_bytes(const void *settings) { return settings ? sizeof(connection) : 0; }

/* ---- Bytes */

/* Whether this record is a Certificate without any (RFC 5246, section 7.4.6). mbedTLS hands records over one at a time. */
static bool is_empty_certificate(const unsigned char *record, size_t size) {
    static const unsigned char empty[] = { 0, 7, MBEDTLS_SSL_HS_CERTIFICATE, 0, 0, 3, 0, 0, 0 };
    return size == 3 + sizeof empty && record[0] == MBEDTLS_SSL_MSG_HANDSHAKE &&
           memcmp(record + 3, empty, sizeof empty) == 0;
}

static int send_bytes(void *context, const unsigned char *data, size_t size) {
    connection *own = context;
    size_t room = sizeof own->transmit - own->transmit_end;
    if (room == 0) return MBEDTLS_ERR_SSL_WANT_WRITE;
    if (is_empty_certificate(data, size)) own->had_no_certificate = true;
    if (size > room) size = room;
    memcpy(own->transmit + own->transmit_end, data, size);
    own->transmit_end += (uint32_t)size;
    return (int)size;
}

static int receive_bytes(void *context, unsigned char *to, size_t size) {
    connection *own = context;
    size_t there = own->receive_end - own->receive_begin;
    if (there == 0) return MBEDTLS_ERR_SSL_WANT_READ;
    if (size > there) size = there;
    memcpy(to, own->receive + own->receive_begin, size);
    own->receive_begin += (uint32_t)size;
    return (int)size;
}

static void receive_buffer(void *context, void **data, size_t *size) {
    connection *own = context;
    if (own->receive_begin == own->receive_end) own->receive_begin = own->receive_end = 0;
    *data = own->receive + own->receive_end;
    *size = sizeof own->receive - own->receive_end;
}

static void received(void *context, size_t size) {
    connection *own = context;
    own->receive_end += (uint32_t)size;
}

static void transmit(void *context, const void **data, size_t *size) {
    connection *own = context;
    *data = own->transmit + own->transmit_begin;
    *size = own->transmit_end - own->transmit_begin;
}

static void transmitted(void *context, size_t size) {
    connection *own = context;
    own->transmit_begin += (uint32_t)size;
    if (own->transmit_begin == own->transmit_end) own->transmit_begin = own->transmit_end = 0;
}

/* ---- From the beginning to the end */

static void set_time(connection *own, const smq_tls_target *target) {
    const smq_mbedtls_settings *settings = own->settings;
    int64_t now = target->now_valid ? target->now_s : smq_mbedtls_wall_clock();
    own->clock_is_set = now >= RELEASED_S && now >= settings->clock_floor_s;
    own->now_s = now < settings->clock_floor_s ? settings->clock_floor_s : now;
    if (settings->verify_time_s) {
        own->now_s = settings->verify_time_s;
        own->clock_is_set = true;
    }
}

static void set_versions(mbedtls_ssl_config *config, const smq_mbedtls_settings *settings) {
#if IS_MBEDTLS_3
    /* The numbers of mbedtls_ssl_protocol_version are those of the protocol. */
    mbedtls_ssl_conf_min_tls_version(config, (mbedtls_ssl_protocol_version)settings->minimum);
    mbedtls_ssl_conf_max_tls_version(config, (mbedtls_ssl_protocol_version)settings->maximum);
#else
    mbedtls_ssl_conf_min_version(config, (int)(settings->minimum >> 8), (int)(settings->minimum & 0xFF));
    mbedtls_ssl_conf_max_version(config, (int)(settings->maximum >> 8), (int)(settings->maximum & 0xFF));
#endif
}

static int set_up(connection *own) {
    smq_mbedtls_settings *settings = own->settings;
    mbedtls_ssl_config *config = &own->config;
    int error = mbedtls_ssl_config_defaults(config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                            MBEDTLS_SSL_PRESET_DEFAULT);
    if (error) return error;
    set_versions(config, settings);
    mbedtls_ssl_conf_rng(config, smq_mbedtls_random, settings);
    /* Without verification mbedTLS still checks, so that the callback sees the pin; it then refuses by itself. */
    mbedtls_ssl_conf_authmode(config, settings->flags & SMQ_MBEDTLS_NO_VERIFY ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                                                              : MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(config, &settings->ca, settings->has_crl ? &settings->crl : NULL);
    mbedtls_ssl_conf_verify(config, smq_mbedtls_check, own);
    if (settings->has_certificate) error = mbedtls_ssl_conf_own_cert(config, &settings->certificate, &settings->key);
    if (!error && settings->psk_size > 0) {
        error = mbedtls_ssl_conf_psk(config, settings->psk, settings->psk_size, settings->psk_identity,
                                     settings->psk_identity_size);
        mbedtls_ssl_conf_ciphersuites(config, settings->suites);
#if HAS_TLS_1_3
        mbedtls_ssl_conf_tls13_key_exchange_modes(config, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_ALL);
#endif
    }
#if HAS_TLS_1_3 && defined(MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED)
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(config,
                                                             MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#endif
    if (!error && own->alpn[0]) error = mbedtls_ssl_conf_alpn_protocols(config, own->protocols);
    if (!error) error = mbedtls_ssl_setup(&own->ssl, config);
    /* RFC 6066, section 3: SNI has no addresses. 3.6 wants to be told that there is no name. */
    if (!error) error = mbedtls_ssl_set_hostname(&own->ssl, own->address_size ? NULL : own->name);
    if (!error) mbedtls_ssl_set_bio(&own->ssl, own, send_bytes, receive_bytes, NULL);
    return error;
}

static int32_t begin(const void *settings, void *memory, size_t size, const smq_tls_target *target,
                     smq_tls_failure *failure) {
    if (size < sizeof(connection)) return is_too_small(failure);
    connection *own = memory;
    /* The settings are the program's to share, and the engine's to lock: so they are not const inside. */
    own->settings = (smq_mbedtls_settings *)settings;
    own->fault.depth = own->fault.alert = -1;
    own->port = target->port;
    bool fits = target->name_size <= NAME_MAXIMUM && target->alpn_size < sizeof own->alpn &&
                target->address_size <= sizeof own->address && !memchr(target->name, 0, target->name_size) &&
                (target->alpn_size == 0 || !memchr(target->alpn, 0, target->alpn_size));
    if (!fits) {
        failure->cause = SMQ_TLS_OTHER;
        return -1;
    }
    memcpy(own->name, target->name, target->name_size);
    own->address_size = target->address_size;
    memcpy(own->address, target->address, target->address_size);
    if (target->alpn_size > 0) memcpy(own->alpn, target->alpn, target->alpn_size);
    own->protocols[0] = own->alpn;
    set_time(own, target);
    mbedtls_ssl_init(&own->ssl);
    mbedtls_ssl_config_init(&own->config);
    pthread_mutex_lock(&own->settings->turn);
    int error = set_up(own);
    if (!error) smq_mbedtls_offer_session(own);
    pthread_mutex_unlock(&own->settings->turn);
    if (!error) return 0;
    smq_mbedtls_fail(own, error, failure);
    mbedtls_ssl_free(&own->ssl);
    mbedtls_ssl_config_free(&own->config);
    return -1;
}

/* mbedTLS may stop to read between messages of which all the bytes are there. */
static bool has_more(const connection *own) {
    return own->receive_begin < own->receive_end || mbedtls_ssl_check_pending(&own->ssl);
}

static int32_t handshake(void *context, smq_tls_failure *failure) {
    connection *own = context;
    if (own->is_open) return 1;
    pthread_mutex_lock(&own->settings->turn);
    int error = MBEDTLS_ERR_SSL_WANT_READ;
    /* Each turn but the last takes bytes. */
    for (int turn = 0; turn < RECEIVE_BYTES && error == MBEDTLS_ERR_SSL_WANT_READ; turn++) {
        error = mbedtls_ssl_handshake(&own->ssl);
        if (!has_more(own)) break;
    }
    if (error == 0) {
        own->is_open = true;
        smq_mbedtls_keep_session(own);
    } else if (error != MBEDTLS_ERR_SSL_WANT_READ && error != MBEDTLS_ERR_SSL_WANT_WRITE) {
        if (own->was_offered) smq_mbedtls_forget_session(own);
        smq_mbedtls_fail(own, error, failure);
    } else {
        error = 0;
    }
    pthread_mutex_unlock(&own->settings->turn);
    return error ? -1 : own->is_open;
}

/* Whether what mbedTLS returned only means that it is to be called again: it took a ticket, or another message. */
static bool is_to_go_on(connection *own, int result) {
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    if (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
        pthread_mutex_lock(&own->settings->turn);
        smq_mbedtls_keep_session(own);
        pthread_mutex_unlock(&own->settings->turn);
        return true;
    }
#endif
    return result == MBEDTLS_ERR_SSL_WANT_READ && has_more(own);
}

/* Bytes, 0, SMQ_TLS_END or a failure, from what mbedTLS returned. */
static int32_t told(connection *own, int result, smq_tls_failure *failure) {
    if (result > 0) return result;
    if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE) return 0;
    if (result == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) return SMQ_TLS_END;
    return smq_mbedtls_fail(own, result, failure);
}

static int32_t read_data(void *context, void *data, size_t size, smq_tls_failure *failure) {
    connection *own = context;
    if (size > INT_MAX) size = INT_MAX;
    int result = mbedtls_ssl_read(&own->ssl, data, size);
    for (int turn = 0; turn < RECEIVE_BYTES && is_to_go_on(own, result); turn++)
        result = mbedtls_ssl_read(&own->ssl, data, size);
    return told(own, result, failure);
}

/* mbedTLS writes whole records, and there is room for one: so it never stops half way and wants the same bytes again. */
static int32_t write_data(void *context, const void *data, size_t size, smq_tls_failure *failure) {
    connection *own = context;
    int most = mbedtls_ssl_get_max_out_record_payload(&own->ssl);
    if (most < 0) return smq_mbedtls_fail(own, most, failure);
    if (size > (size_t)most) size = (size_t)most;
    if (sizeof own->transmit - own->transmit_end < size + RECORD_OVERHEAD + ALERT_BYTES) return 0;
    int result = mbedtls_ssl_write(&own->ssl, data, size);
    /* A ticket of TLS 1.3 that has begun to come is read first. */
    for (int turn = 0; turn < RECEIVE_BYTES && is_to_go_on(own, result); turn++)
        result = mbedtls_ssl_write(&own->ssl, data, size);
    return told(own, result, failure);
}

static void finish(void *context) {
    connection *own = context;
    mbedtls_ssl_close_notify(&own->ssl);
}

static void end(void *context) {
    connection *own = context;
    mbedtls_ssl_free(&own->ssl);
    mbedtls_ssl_config_free(&own->config);
}

const smq_tls_engine *smq_mbedtls(void) {
    static const smq_tls_engine engine = {
        .size = sizeof engine,
        .name = "mbedTLS " MBEDTLS_VERSION_STRING,
        .connection_bytes = connection_bytes,
        .begin = begin,
        .receive_buffer = receive_buffer,
        .received = received,
        .handshake = handshake,
        .read = read_data,
        .write = write_data,
        .transmit = transmit,
        .transmitted = transmitted,
        .finish = finish,
        .end = end,
        .info = smq_mbedtls_info,
        .certificate = smq_mbedtls_certificate,
    };
    return &engine;
}
