/* A key that stays where it is: in a smart card, a secure element, a TPM. OpenSSL 3.0 reaches PKCS#11 by an engine: a provider
   for it came later. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "parts.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ui.h>

#ifdef OPENSSL_NO_ENGINE
EVP_PKEY *hardware_key(snapshot *to, const smq_tls_options *options, pem_password_cb *password) {
    (void)to, (void)options, (void)password;
    ERR_raise(ERR_LIB_USER, ERR_R_DISABLED);
    return NULL;
}

void hardware_release(ENGINE *hardware) { (void)hardware; }
#else
static ENGINE *open_engine(const smq_bytes *name) {
    char id[128] = "pkcs11";
    if (name->size > 0 && !file_name(name, id, sizeof id)) return NULL;
    ENGINE *engine = ENGINE_by_id(id);
    if (!engine) {
        ENGINE_load_dynamic(); /* only now does OpenSSL look for files */
        ERR_clear_error();
        engine = ENGINE_by_id(id);
    }
    if (engine && !ENGINE_init(engine)) {
        ENGINE_free(engine);
        engine = NULL;
    }
    return engine;
}

/* The engine stays open as long as the key: what a connection signs goes through it. */
EVP_PKEY *hardware_key(snapshot *to, const smq_tls_options *options, pem_password_cb *password) {
    char *uri = OPENSSL_zalloc(options->key_uri.size + 1); /* may have a PIN */
    UI_METHOD *asks = UI_UTIL_wrap_read_pem_callback(password, 0);
    EVP_PKEY *key = NULL;
    if (uri && asks && file_name(&options->key_uri, uri, options->key_uri.size + 1) &&
        (to->hardware = open_engine(&options->key_engine)) != NULL)
        key = ENGINE_load_private_key(to->hardware, uri, asks, (void *)(uintptr_t)options);
    UI_destroy_method(asks);
    OPENSSL_clear_free(uri, options->key_uri.size + 1);
    return key;
}

void hardware_release(ENGINE *hardware) {
    if (!hardware) return;
    ENGINE_finish(hardware);
    ENGINE_free(hardware);
}
#endif
