/*
 * What mbedTLS found in a certificate of the chain, and what it does not look at: names and addresses, pins, the time of the
 * connection instead of the system's, CRLs that are missing.
 */
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

/* Days since 1970-01-01 in the Gregorian calendar; years from 0 on. */
static int64_t days(int64_t year, int month, int day) {
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int64_t last = month > 2 ? year : year - 1; /* the last year whose February has passed */
    return year * 365 + last / 4 - last / 100 + last / 400 + before[month - 1] + day - 1 - 719527;
}

int64_t smq_mbedtls_seconds(const mbedtls_x509_time *time) {
    if (time->mon < 1 || time->mon > 12) return 0;
    return ((days(time->year, time->mon, time->day) * 24 + time->hour) * 60 + time->min) * 60 + time->sec;
}

/* ---- What counts, from the worst: of a certificate that nobody has signed, neither time nor name say anything. */

typedef struct {
    uint32_t flag;
    int32_t cause;
    const char *text; /* where mbedTLS has no words for it */
} fault;

/* Bits of our own, which mbedTLS does not use: only whether there is any counts for it. */
enum {
    NO_MEMORY = 0x100000,
    WRONG_SIGNATURE = 0x200000,
    UNFIT_ISSUER = 0x400000,
    CHAIN_TOO_LONG = 0x800000,
    NO_CRL = 0x1000000,
    NO_PIN = 0x2000000,
    CLOCK_NOT_SET = 0x4000000,
};

static const fault faults[] = {
    { NO_MEMORY, SMQ_TLS_MEMORY, "not enough memory to check the certificate" },
    { WRONG_SIGNATURE, SMQ_TLS_SIGNATURE, "the signature is not the issuer's" },
    { UNFIT_ISSUER, SMQ_TLS_PURPOSE, "the issuer is not a CA" },
    { CHAIN_TOO_LONG, SMQ_TLS_CHAIN, "more certificates than the issuer allows" },
    { MBEDTLS_X509_BADCERT_NOT_TRUSTED, SMQ_TLS_UNKNOWN_CA, NULL },
    { MBEDTLS_X509_BADCERT_MISSING, SMQ_TLS_UNKNOWN_CA, NULL },
    { MBEDTLS_X509_BADCERT_BAD_MD | MBEDTLS_X509_BADCERT_BAD_PK | MBEDTLS_X509_BADCERT_BAD_KEY, SMQ_TLS_WEAK, NULL },
    { MBEDTLS_X509_BADCERT_REVOKED, SMQ_TLS_REVOKED, NULL },
    { MBEDTLS_X509_BADCERT_EXPIRED, SMQ_TLS_EXPIRED, NULL },
    { CLOCK_NOT_SET, SMQ_TLS_CLOCK, "not valid yet, and the clock is not set" },
    { MBEDTLS_X509_BADCERT_FUTURE, SMQ_TLS_NOT_YET_VALID, NULL },
    { MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE | MBEDTLS_X509_BADCERT_NS_CERT_TYPE,
      SMQ_TLS_PURPOSE, NULL },
    { MBEDTLS_X509_BADCRL_NOT_TRUSTED | MBEDTLS_X509_BADCRL_EXPIRED | MBEDTLS_X509_BADCRL_FUTURE |
          MBEDTLS_X509_BADCRL_BAD_MD | MBEDTLS_X509_BADCRL_BAD_PK | MBEDTLS_X509_BADCRL_BAD_KEY,
      SMQ_TLS_REVOCATION_UNKNOWN, NULL },
    { NO_CRL, SMQ_TLS_REVOCATION_UNKNOWN, "there is no CRL of the issuer" },
    { MBEDTLS_X509_BADCERT_CN_MISMATCH, SMQ_TLS_NAME, "the certificate is for another name" },
    { NO_PIN, SMQ_TLS_PIN, "the key is none of those that are pinned" },
    { UINT32_MAX, SMQ_TLS_OTHER, NULL },
};

static size_t rank(uint32_t flags) {
    size_t at = 0;
    while (!(faults[at].flag & flags)) at++; /* the last row has every flag */
    return at;
}

static size_t rank_of_cause(int32_t cause) {
    size_t at = 0;
    while (at < sizeof faults / sizeof *faults && faults[at].cause != cause) at++;
    return at;
}

/* Which names would do; as many as fit. */
static void tell_names(const mbedtls_x509_crt *certificate, char *to, size_t size) {
    static const char beginning[] = "the certificate is for ";
    size_t used = sizeof beginning - 1;
    char *names = to + used;
    smq_mbedtls_list_names(certificate, names, size - used);
    if (!names[0]) return;
    memcpy(to, beginning, used);
    /* The text goes to logs. */
    for (; *names; names++)
        if (*names < 0x20 || *names > 0x7E) *names = '?';
}

/* Keeps the worst fault of the chain; of two alike, that nearer to the root, which is seen first. */
static void note(connection *own, const mbedtls_x509_crt *certificate, int depth, uint32_t flags) {
    size_t at = rank(flags);
    if (own->fault.cause && rank_of_cause(own->fault.cause) <= at) return;
    smq_tls_failure *noted = &own->fault;
    noted->cause = faults[at].cause;
    noted->depth = depth;
    noted->not_before_s = smq_mbedtls_seconds(&certificate->valid_from);
    noted->not_after_s = smq_mbedtls_seconds(&certificate->valid_to);
    if (mbedtls_x509_dn_gets(noted->subject, sizeof noted->subject, &certificate->subject) < 0) noted->subject[0] = 0;
    if (faults[at].text)
        snprintf(noted->text, sizeof noted->text, "%s", faults[at].text);
    else if (mbedtls_x509_crt_verify_info(noted->text, sizeof noted->text, "", flags & faults[at].flag) < 0)
        noted->text[0] = 0;
    noted->text[strcspn(noted->text, "\n")] = 0; /* mbedTLS has a line for each flag */
    if (noted->cause == SMQ_TLS_NAME) tell_names(certificate, noted->text, sizeof noted->text);
}

/* ---- Time */

static uint32_t time_flags(const connection *own, const mbedtls_x509_time *from, const mbedtls_x509_time *to,
                           uint32_t past, uint32_t future) {
    if (own->settings->flags & SMQ_MBEDTLS_NO_TIME) return 0;
    uint32_t flags = 0;
    if (own->now_s > smq_mbedtls_seconds(to)) flags |= past;
    if (own->now_s < smq_mbedtls_seconds(from)) flags |= future;
    return flags;
}

/* ---- Revocation */

static uint32_t revocation_flags(const connection *own, const mbedtls_x509_crt *certificate, int depth) {
    bool is_root = certificate->subject_raw.len == certificate->issuer_raw.len &&
                   memcmp(certificate->subject_raw.p, certificate->issuer_raw.p, certificate->subject_raw.len) == 0;
    if (is_root && depth > 0) return 0;
    uint32_t flags = 0;
    bool has_one = false;
    for (const mbedtls_x509_crl *list = &own->settings->crl; own->settings->has_crl && list; list = list->next) {
        if (list->issuer_raw.len != certificate->issuer_raw.len ||
            memcmp(list->issuer_raw.p, certificate->issuer_raw.p, list->issuer_raw.len) != 0)
            continue;
        has_one = true;
        if (list->next_update.year > 0) /* optional (RFC 5280, section 5.1.2.5) */
            flags |= time_flags(own, &list->this_update, &list->next_update, MBEDTLS_X509_BADCRL_EXPIRED,
                                MBEDTLS_X509_BADCRL_FUTURE);
        /* mbedTLS 2.28 overlooks an entry whose date has not come yet, as with a clock that is not set. */
        for (const mbedtls_x509_crl_entry *at = &list->entry; at && at->raw.len > 0; at = at->next)
            if (at->serial.len == certificate->serial.len &&
                memcmp(at->serial.p, certificate->serial.p, at->serial.len) == 0)
                flags |= MBEDTLS_X509_BADCERT_REVOKED;
    }
    bool is_needed =
        own->settings->flags & (depth == 0 ? SMQ_MBEDTLS_CRL_CHECK | SMQ_MBEDTLS_CRL_ALL : SMQ_MBEDTLS_CRL_ALL);
    return is_needed && !has_one ? flags | NO_CRL : flags;
}

/* ---- Why nobody is found who has signed: mbedTLS says no more than that, also where memory was lacking */

static int check_signature(const mbedtls_x509_crt *certificate, mbedtls_x509_crt *issuer) {
    unsigned char hash[MBEDTLS_MD_MAX_SIZE];
    const mbedtls_md_info_t *digest = mbedtls_md_info_from_type(certificate->MBEDTLS_PRIVATE(sig_md));
    if (!digest) return MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG;
    int error = mbedtls_md(digest, certificate->tbs.p, certificate->tbs.len, hash);
    if (error) return error;
    return mbedtls_pk_verify_ext(certificate->MBEDTLS_PRIVATE(sig_pk), certificate->MBEDTLS_PRIVATE(sig_opts),
                                 &issuer->pk, certificate->MBEDTLS_PRIVATE(sig_md), hash, mbedtls_md_get_size(digest),
                                 certificate->MBEDTLS_PRIVATE(sig).p, certificate->MBEDTLS_PRIVATE(sig).len);
}

static uint32_t judge(const mbedtls_x509_crt *certificate, mbedtls_x509_crt *issuer, int depth) {
    int error = check_signature(certificate, issuer);
    if (smq_mbedtls_is_lack_of_memory(error)) return NO_MEMORY;
    if (error) return WRONG_SIGNATURE;
    if (!issuer->MBEDTLS_PRIVATE(ca_istrue) || mbedtls_x509_crt_check_key_usage(issuer, MBEDTLS_X509_KU_KEY_CERT_SIGN))
        return UNFIT_ISSUER;
    /* mbedTLS counts one more than RFC 5280, so that 0 can mean that there is no limit. */
    if (issuer->MBEDTLS_PRIVATE(max_pathlen) > 0 && issuer->MBEDTLS_PRIVATE(max_pathlen) < 1 + depth)
        return CHAIN_TOO_LONG;
    return NO_MEMORY; /* nothing is wrong with it any more: there was too little memory a moment ago */
}

static uint32_t why_not_trusted(const connection *own, const mbedtls_x509_crt *certificate, int depth) {
    uint32_t found = 0;
    mbedtls_x509_crt *const lists[] = { &own->settings->ca, certificate->next };
    for (size_t i = 0; i < 2; i++)
        for (mbedtls_x509_crt *issuer = lists[i]; issuer && issuer->raw.p; issuer = issuer->next)
            if (issuer->subject_raw.len == certificate->issuer_raw.len &&
                memcmp(issuer->subject_raw.p, certificate->issuer_raw.p, issuer->subject_raw.len) == 0)
                found |= judge(certificate, issuer, depth);
    return found;
}

/* ---- Pins */

static bool has_pinned_key(const connection *own, const mbedtls_x509_crt *certificate) {
    uint8_t digest[32];
#if IS_MBEDTLS_3
    int error = mbedtls_sha256(certificate->pk_raw.p, certificate->pk_raw.len, digest, 0);
#else
    int error = mbedtls_sha256_ret(certificate->pk_raw.p, certificate->pk_raw.len, digest, 0);
#endif
    if (error) return false;
    for (size_t i = 0; i < own->settings->pin_count; i++)
        if (memcmp(own->settings->pins + i * sizeof digest, digest, sizeof digest) == 0) return true;
    return false;
}

int smq_mbedtls_check(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags) {
    connection *own = context;
    const smq_mbedtls_settings *settings = own->settings;
    own->was_checked = true;
    uint32_t found = 0;
    if (!(settings->flags & SMQ_MBEDTLS_NO_VERIFY)) {
        /* Ours instead of mbedTLS's, which takes the system's time, and whose name is the Common Name, too. */
        found = *flags &
                ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE | MBEDTLS_X509_BADCRL_EXPIRED |
                            MBEDTLS_X509_BADCRL_FUTURE | MBEDTLS_X509_BADCERT_CN_MISMATCH);
        if (found & MBEDTLS_X509_BADCERT_NOT_TRUSTED) found |= why_not_trusted(own, certificate, depth);
        found |= time_flags(own, &certificate->valid_from, &certificate->valid_to, MBEDTLS_X509_BADCERT_EXPIRED,
                            MBEDTLS_X509_BADCERT_FUTURE);
        if (found & MBEDTLS_X509_BADCERT_FUTURE && !own->clock_is_set) found |= CLOCK_NOT_SET;
        found |= revocation_flags(own, certificate, depth);
        if (depth == 0 && !(settings->flags & SMQ_MBEDTLS_NO_NAME_CHECK) && !smq_mbedtls_is_for(certificate, own))
            found |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    }
    if (depth == 0 && settings->pin_count > 0 && !has_pinned_key(own, certificate)) found |= NO_PIN;
    if (found) note(own, certificate, depth, found);
    *flags = found;
    /* Without verification, flags alone would not end the handshake. */
    return found & NO_PIN && settings->flags & SMQ_MBEDTLS_NO_VERIFY ? MBEDTLS_ERR_X509_FATAL_ERROR : 0;
}
