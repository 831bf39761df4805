/* Whether options are possible, before anything is read. */
#include "parts.h"

#include <stddef.h>
#include <string.h>

enum {
    KNOWN_FLAGS = 2047,
    STRUCT_BYTES = 4096 /* the header's limit */
};

/* The fields with bytes, and those in which a zero byte is refused. */
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

static int32_t texts_check(const smq_tls_options *options, smq_tls_failure *why) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const smq_bytes *text = (const smq_bytes *)(const void *)((const char *)options + texts[i].offset);
        if (!text->data && text->size > 0) return SMQ_ERR_NULL;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const smq_bytes *text = (const smq_bytes *)(const void *)((const char *)options + texts[i].offset);
        if (texts[i].is_name && text->size > 0 && memchr(text->data, 0, text->size)) {
            failure_is(why, SMQ_TLS_OTHER, NULL, "a name or a text has a zero byte");
            return SMQ_ERR_OPTION;
        }
    }
    return SMQ_OK;
}

static int is_version(uint32_t version) {
    return version == 0 || version == TLS1_2_VERSION || version == TLS1_3_VERSION;
}

/* What is wrong with the values, in words; NULL: nothing. */
static const char *contradiction(const smq_tls_options *o) {
    int certificates = (o->certificate_file.size > 0) + (o->certificate_pem.size > 0);
    int keys = (o->key_file.size > 0) + (o->key_pem.size > 0) + (o->key_uri.size > 0);
    int trusts = o->ca_file.size + o->ca_directory.size + o->ca_pem.size + o->crl_file.size + o->pins.size > 0;
    int revokes = o->crl_file.size > 0 ||
                  (o->flags & (SMQ_TLS_CRL_CHECK | SMQ_TLS_CRL_ALL | SMQ_TLS_OCSP | SMQ_TLS_OCSP_REQUIRED)) != 0;
    const struct {
        int is_so;
        const char *words;
    } rules[] = {
        { (o->flags & ~(uint32_t)KNOWN_FLAGS) != 0, "flags has a bit that is no SMQ_TLS_... flag" },
        { certificates > 1, "of certificate_file and certificate_pem, one is given" },
        { keys > 1, "of key_file, key_pem and key_uri, one is given" },
        { certificates > keys, "a certificate needs its key: key_file, key_pem or key_uri" },
        { keys > certificates, "a key needs its certificate: certificate_file or certificate_pem" },
        { o->key_engine.size > 0 && o->key_uri.size == 0, "key_engine is for key_uri" },
        { o->pins.size % DIGEST_BYTES != 0, "pins are 32 bytes each" },
        { o->psk.size > 0 && o->psk_identity.size == 0, "psk needs psk_identity" },
        { o->psk_identity.size > 0 && o->psk.size == 0, "psk_identity needs psk" },
        { o->psk.size > PSK_BYTES, "psk has at most 256 bytes" },
        { o->psk_identity.size > PSK_IDENTITY_BYTES, "psk_identity has at most 127 bytes" },
        /* Of a key that both sides know and a certificate, one would not be looked at. */
        { o->psk.size > 0 && (trusts || revokes || certificates > 0),
          "psk takes the place of certificates, CAs, pins and CRLs" },
        { !is_version(o->minimum), "minimum is 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3)" },
        { !is_version(o->maximum), "maximum is 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3)" },
        { o->maximum && o->minimum > o->maximum, "minimum is above maximum" },
        { (o->flags & SMQ_TLS_NO_VERIFY) && revokes, "no_verify is not for a server that is checked for revocation" },
        { o->clock_floor_s < 0, "clock_floor_s is negative" },
        { o->verify_time_s < 0, "verify_time_s is negative" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_so) return rules[i].words;
    return NULL;
}

int32_t options_check(const smq_tls_options *given, smq_tls_options *options, smq_tls_failure *why) {
    static const char zeros[STRUCT_BYTES];
    uint32_t size = given->size;
    if (size < sizeof *options || size > STRUCT_BYTES ||
        memcmp((const char *)given + sizeof *options, zeros, size - sizeof *options) != 0)
        return SMQ_ERR_STRUCT_SIZE;
    memcpy(options, given, sizeof *options);
    int32_t status = texts_check(options, why);
    if (status != SMQ_OK) return status;
    const char *words = contradiction(options);
    if (!words) return SMQ_OK;
    failure_is(why, SMQ_TLS_OTHER, NULL, words);
    return SMQ_ERR_OPTION;
}
