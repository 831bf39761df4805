/* What an open connection is: versions, ciphers, certificates. */
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

void smq_mbedtls_info(void *context, smq_tls_info *info) {
    connection *own = context;
    const char *version = mbedtls_ssl_get_version(&own->ssl), *suite = mbedtls_ssl_get_ciphersuite(&own->ssl);
    const char *alpn = mbedtls_ssl_get_alpn_protocol(&own->ssl);
    info->version = strcmp(version, "TLSv1.3") == 0 ? 0x0304 : 0x0303;
    info->is_resumed = own->was_offered && !own->was_checked;
    info->cipher_id = suite ? (uint32_t)mbedtls_ssl_get_ciphersuite_id(suite) : 0;
    for (const mbedtls_x509_crt *at = mbedtls_ssl_get_peer_cert(&own->ssl); at; at = at->next) info->certificates++;
    snprintf(info->cipher, sizeof info->cipher, "%s", suite ? suite : "");
    snprintf(info->alpn, sizeof info->alpn, "%s", alpn ? alpn : "");
    snprintf(info->library, sizeof info->library, "mbedTLS %s", MBEDTLS_VERSION_STRING);
    info->connection = &own->ssl;
}

/* The curves that certificates have. */
static const char *curve(const mbedtls_pk_context *key) {
    static const struct {
        size_t bits;
        const char *name;
    } curves[] = { { 256, "P-256" }, { 384, "P-384" }, { 521, "P-521" } };
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (mbedtls_pk_get_bitlen(key) == curves[i].bits) return curves[i].name;
    return NULL;
}

static void name_of(const mbedtls_x509_name *name, char *to, size_t size) {
    if (mbedtls_x509_dn_gets(to, size, name) < 0) to[0] = 0;
}

int32_t smq_mbedtls_certificate(void *context, uint32_t depth, smq_tls_certificate *to) {
    connection *own = context;
    const mbedtls_x509_crt *at = mbedtls_ssl_get_peer_cert(&own->ssl);
    while (at && depth > 0) {
        at = at->next;
        depth--;
    }
    if (!at) return 0;
    to->not_before_s = smq_mbedtls_seconds(&at->valid_from);
    to->not_after_s = smq_mbedtls_seconds(&at->valid_to);
#if IS_MBEDTLS_3
    mbedtls_sha256(at->pk_raw.p, at->pk_raw.len, to->spki_sha256, 0);
#else
    mbedtls_sha256_ret(at->pk_raw.p, at->pk_raw.len, to->spki_sha256, 0);
#endif
    name_of(&at->subject, to->subject, sizeof to->subject);
    name_of(&at->issuer, to->issuer, sizeof to->issuer);
    smq_mbedtls_list_names(at, to->names, sizeof to->names);
    const char *known = mbedtls_pk_can_do(&at->pk, MBEDTLS_PK_ECKEY) ? curve(&at->pk) : NULL;
    if (known)
        snprintf(to->key, sizeof to->key, "%s", known);
    else
        snprintf(to->key, sizeof to->key, "%s %zu", mbedtls_pk_get_name(&at->pk), mbedtls_pk_get_bitlen(&at->pk));
    return 1;
}
