/* What is told about an open connection, and the certificates that came with it. */
#include "parts.h"

#include <openssl/err.h>
#include <string.h>

/* How much of a struct that the client made may be filled. */
static size_t usable(uint32_t theirs, size_t ours) { return theirs < ours ? theirs : ours; }

static X509 *certificate_at(const SSL *ssl, uint32_t depth) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    /* A session that was resumed has the server's own alone. */
    if (!chain) return depth == 0 ? SSL_get0_peer_certificate(ssl) : NULL;
    return depth < (uint32_t)sk_X509_num(chain) ? sk_X509_value(chain, (int)depth) : NULL;
}

void peer_info(void *memory, smq_tls_info *info) {
    connection *c = memory;
    smq_tls_info known = { .size = info->size };
    const SSL_CIPHER *cipher = SSL_get_current_cipher(c->ssl);
    const unsigned char *alpn = NULL;
    unsigned alpn_size = 0;
    known.version = (uint16_t)SSL_version(c->ssl);
    /* In TLS 1.3 a PSK of the settings is a session to OpenSSL, too. */
    known.is_resumed = SSL_session_reused(c->ssl) && (c->has_offered || c->settings->is_foreign);
    if (cipher) {
        known.cipher_id = SSL_CIPHER_get_protocol_id(cipher);
        text_copy(known.cipher, sizeof known.cipher, SSL_CIPHER_standard_name(cipher));
    }
    while (certificate_at(c->ssl, known.certificates)) known.certificates++;
    SSL_get0_alpn_selected(c->ssl, &alpn, &alpn_size);
    if (alpn_size >= sizeof known.alpn) alpn_size = sizeof known.alpn - 1;
    if (alpn_size > 0) memcpy(known.alpn, alpn, alpn_size);
    text_copy(known.library, sizeof known.library, smq_tls_openssl()->name);
    known.connection = c->ssl;
    memcpy(info, &known, usable(info->size, sizeof known));
}

int32_t peer_certificate(void *memory, uint32_t depth, smq_tls_certificate *certificate) {
    connection *c = memory;
    X509 *x509 = certificate_at(c->ssl, depth);
    if (!x509) return 0;
    smq_tls_certificate known = { .size = certificate->size };
    ERR_clear_error();
    known.not_before_s = seconds_of(X509_get0_notBefore(x509));
    known.not_after_s = seconds_of(X509_get0_notAfter(x509));
    if (!spki_digest(x509, known.spki_sha256)) memset(known.spki_sha256, 0, sizeof known.spki_sha256);
    text_of_name(X509_get_subject_name(x509), known.subject, sizeof known.subject);
    text_of_name(X509_get_issuer_name(x509), known.issuer, sizeof known.issuer);
    text_of_names(x509, known.names, sizeof known.names);
    text_of_key(x509, known.key, sizeof known.key);
    memcpy(certificate, &known, usable(certificate->size, sizeof known));
    ERR_clear_error();
    return 1;
}
