/* What a program has set for TLS. It is looked at when the program connects; see tls_context.c. */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED /* engines */
#include "tls.h"

#include "shim.h"

#include <stdio.h>
#include <string.h>

#ifdef SWIFTMQTT_OPENSSL
#include "swiftmqtt-tls.h"

#include <openssl/engine.h>
#include <openssl/ssl.h>
#endif

struct shim_tls *shim_tls_new(void) {
    struct shim_tls *tls = shim_allocate(sizeof(*tls));
    if (!tls) return NULL;
    tls->verifies = true;
    return tls;
}

void shim_tls_free(struct shim_tls *tls) {
    if (!tls) return;
    for (int32_t which = 0; which < SHIM_TLS_TEXTS; which++) shim_tls_set_text(tls, which, NULL);
    shim_tls_set_context(tls, NULL);
#ifdef SWIFTMQTT_OPENSSL
    smq_tls_close(tls->settings);
#endif
    shim_free(tls);
}

bool shim_tls_set_text(struct shim_tls *tls, int32_t which, const char *text) {
    char *copy = text ? shim_copy(text, strlen(text)) : NULL;
    if (text && !copy) return false;
    if (tls->texts[which]) shim_forget(tls->texts[which], strlen(tls->texts[which]));
    tls->texts[which] = copy;
    return true;
}

bool shim_tls_has_text(const struct shim_tls *tls, int32_t which) { return tls->texts[which] != NULL; }

bool shim_tls_is_wanted(const struct shim_tls *tls) {
    return tls && (tls->ssl_ctx || tls->trusts_system || tls->texts[SHIM_TLS_CA_FILE] ||
                   tls->texts[SHIM_TLS_CA_DIRECTORY] || tls->texts[SHIM_TLS_PSK]);
}

bool shim_can_read(const char *path) {
    FILE *file = fopen(path, "re");
    if (file) fclose(file);
    return file != NULL;
}

bool shim_is_hex(const char *text, size_t count) {
    size_t size = strlen(text);
    return strspn(text, "0123456789abcdefABCDEF") == size && (count == 0 || size == count);
}

#ifdef SWIFTMQTT_OPENSSL

bool shim_has_tls(void) { return true; }

void shim_tls_set_context(struct shim_tls *tls, void *context) {
    if (context) SSL_CTX_up_ref(context);
    SSL_CTX_free(tls->ssl_ctx);
    tls->ssl_ctx = context;
}

bool shim_has_engine(const char *name) {
#ifdef OPENSSL_NO_ENGINE
    (void)name;
    return false;
#else
    ENGINE *engine = ENGINE_by_id(name);
    ENGINE_free(engine);
    return engine != NULL;
#endif
}

#else

bool shim_has_tls(void) { return false; }

void shim_tls_set_context(struct shim_tls *tls, void *context) { (void)tls, (void)context; }

bool shim_has_engine(const char *name) {
    (void)name;
    return false;
}

#endif
