/* Whether options are possible, before anything is read. */
#include "parts.h"

#include <stddef.h>
#include <string.h>

enum {
    KNOWN_FLAGS = 2047,
    STRUCT_BYTES = 4096 /* the header's limit */
};

/* What may be a text with a zero in it: none. */
static const struct {
    size_t offset;
    int is_name; /* a zero byte would end it */
} texts[] = {
    { offsetof(smq_tls_options, ca_file), 1 },
    { offsetof(smq_tls_options, ca_directory), 1 },
    { offsetof(smq_tls_options, ca_pem), 0 },
    { offsetof(smq_tls_options, certificate_file), 1 },
    { offsetof(smq_tls_options, certificate_pem), 0 },
    { offsetof(smq_tls_options, key_file), 1 },
    { offsetof(smq_tls_options, key_pem), 0 },
    { offsetof(smq_tls_options, key_uri), 1 },
    { offsetof(smq_tls_options, key_engine), 1 },
    { offsetof(smq_tls_options, crl_file), 1 },
    { offsetof(smq_tls_options, pins), 0 },
    { offsetof(smq_tls_options, psk_identity), 1 },
    { offsetof(smq_tls_options, psk), 0 },
    { offsetof(smq_tls_options, ciphers), 1 },
    { offsetof(smq_tls_options, cipher_suites), 1 },
    { offsetof(smq_tls_options, groups), 1 },
    { offsetof(smq_tls_options, key_log_file), 1 },
};

static int32_t texts_check(const smq_tls_options *options) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const smq_bytes *text = (const smq_bytes *)(const void *)((const char *)options + texts[i].offset);
        if (!text->data && text->size > 0) return SMQ_ERR_NULL;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const smq_bytes *text = (const smq_bytes *)(const void *)((const char *)options + texts[i].offset);
        if (texts[i].is_name && text->size > 0 && memchr(text->data, 0, text->size)) return SMQ_ERR_OPTION;
    }
    return SMQ_OK;
}

static int is_version(uint32_t version) {
    return version == 0 || version == TLS1_2_VERSION || version == TLS1_3_VERSION;
}

static int32_t values_check(const smq_tls_options *o) {
    int certificates = (o->certificate_file.size > 0) + (o->certificate_pem.size > 0);
    int keys = (o->key_file.size > 0) + (o->key_pem.size > 0) + (o->key_uri.size > 0);
    int trusts = o->ca_file.size + o->ca_directory.size + o->ca_pem.size + o->crl_file.size + o->pins.size > 0;
    int revokes = o->crl_file.size > 0 ||
                  (o->flags & (SMQ_TLS_CRL_CHECK | SMQ_TLS_CRL_ALL | SMQ_TLS_OCSP | SMQ_TLS_OCSP_REQUIRED)) != 0;
    int is_wrong = (o->flags & ~(uint32_t)KNOWN_FLAGS) != 0 || !is_version(o->minimum) || !is_version(o->maximum) ||
                   (o->maximum && o->minimum > o->maximum) || certificates > 1 || keys != certificates ||
                   (o->key_engine.size > 0 && o->key_uri.size == 0) || o->pins.size % DIGEST_BYTES != 0 ||
                   (o->psk.size > 0) != (o->psk_identity.size > 0) || o->psk.size > PSK_BYTES ||
                   o->psk_identity.size > PSK_IDENTITY_BYTES ||
                   /* A key that both know takes the place of certificates: one of the two would not be looked at. */
                   (o->psk.size > 0 && (trusts || revokes || certificates > 0)) ||
                   ((o->flags & SMQ_TLS_NO_VERIFY) && revokes) || o->clock_floor_s < 0 || o->verify_time_s < 0;
    return is_wrong ? SMQ_ERR_OPTION : SMQ_OK;
}

int32_t options_check(const smq_tls_options *given, smq_tls_options *options) {
    static const char zeros[STRUCT_BYTES];
    uint32_t size = given->size;
    if (size < sizeof *options || size > STRUCT_BYTES ||
        memcmp((const char *)given + sizeof *options, zeros, size - sizeof *options) != 0)
        return SMQ_ERR_STRUCT_SIZE;
    memcpy(options, given, sizeof *options);
    int32_t status = texts_check(options);
    return status == SMQ_OK ? values_check(options) : status;
}
