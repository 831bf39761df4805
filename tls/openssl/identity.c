/* The client's own certificate and key. */
#include "parts.h"

#include <openssl/err.h>
#include <openssl/pem.h>

/* OpenSSL asks for a password; without a callback of the program's the answer is none, never the terminal. */
static int ask_password(char *to, int size, int is_written, void *user) {
    const smq_tls_options *options = user;
    (void)is_written;
    if (!options->password || size <= 0) return -1;
    int32_t count = options->password(options->password_user, to, (size_t)size);
    return count <= size ? count : -1;
}

static int is_end_of_pem(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/* The first is the client's, the others are sent with it. */
static int use_certificates(SSL_CTX *context, const smq_tls_options *options, BIO *from) {
    /* Nobody encrypts a certificate, but a file can say that it is one of RFC 1421. */
    void *user = (void *)(uintptr_t)options;
    X509 *each = PEM_read_bio_X509_AUX(from, NULL, ask_password, user);
    int is_used = each && SSL_CTX_use_certificate(context, each) == 1;
    X509_free(each);
    while (is_used && (each = PEM_read_bio_X509(from, NULL, ask_password, user)) != NULL) { /* as long as the file */
        if (SSL_CTX_add0_chain_cert(context, each) == 1) continue;
        X509_free(each);
        is_used = 0;
    }
    return is_used && is_end_of_pem();
}

static EVP_PKEY *read_key(snapshot *to, const smq_tls_options *options, smq_tls_failure *why) {
    if (options->key_uri.size > 0) {
        EVP_PKEY *key = hardware_key(to, options, ask_password);
        if (!key) failure_is(why, SMQ_TLS_KEY, "key_uri", NULL);
        return key;
    }
    const char *what = options->key_file.size > 0 ? "key_file" : "key_pem";
    BIO *from = source_open(&options->key_file, &options->key_pem, what, SMQ_TLS_KEY, why);
    if (!from) return NULL;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, ask_password, (void *)(uintptr_t)options);
    BIO_free(from);
    if (!key) failure_is(why, SMQ_TLS_KEY, what, is_end_of_pem() ? "there is no key" : NULL);
    return key;
}

static int certificate_load(SSL_CTX *context, const smq_tls_options *options, smq_tls_failure *why) {
    const char *what = options->certificate_file.size > 0 ? "certificate_file" : "certificate_pem";
    BIO *from = source_open(&options->certificate_file, &options->certificate_pem, what, SMQ_TLS_KEY, why);
    if (!from) return 0;
    int is_used = use_certificates(context, options, from);
    BIO_free(from);
    if (!is_used) failure_is(why, SMQ_TLS_KEY, what, is_end_of_pem() ? "there is no certificate" : NULL);
    ERR_clear_error();
    return is_used;
}

int identity_load(snapshot *to, const smq_tls_options *options, smq_tls_failure *why) {
    if (options->certificate_file.size + options->certificate_pem.size == 0) return 1;
    if (!certificate_load(to->context, options, why)) return 0;
    EVP_PKEY *key = read_key(to, options, why);
    if (!key) return 0;
    /* It compares the key with the certificate, too. */
    int is_used = SSL_CTX_use_PrivateKey(to->context, key) == 1 && SSL_CTX_check_private_key(to->context) == 1;
    EVP_PKEY_free(key);
    if (!is_used) failure_is(why, SMQ_TLS_KEY, "key", NULL);
    to->has_certificate = is_used;
    return is_used;
}
