/*
 * What a program has set for TLS becomes an SSL_CTX, with libmosquitto's defaults, in its order, and with its words for
 * what goes wrong. The connection itself is the business of the engine in tls/openssl.
 */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED /* engines, which the program may name, are deprecated in OpenSSL 3 */
#include "tls.h"

#include "shim.h"

#include <stdio.h>

#ifdef SWIFTMQTT_OPENSSL

#include "swiftmqtt-tls.h"

#include <openssl/crypto.h>
#include <openssl/engine.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/ui.h>
#include <stdarg.h>
#include <string.h>

enum {
    LINES = 16, /* as many errors as OpenSSL keeps, at most, and one of our own */
    LINE_BYTES = 512,
    PSK_BYTES = 256,
    ALPN_BYTES = 254,
    PIN_BYTES = 20 /* SHA-1 */
};

/* Of a context whose server proves who it is by a key that both know. It is freed with the context, and so is the one before
   it: in a context of the program's, a handshake of another client may be reading that one. */
struct shared_key {
    struct shared_key *before;
    char *identity;
    size_t size;
    unsigned char bytes[PSK_BYTES];
};

struct shim_tls_attempt {
    struct shim_tls *set; /* a copy */
    bool is_host_named;   /* by a name or address, which a socket in the file system has not */
    void *user;
    SSL_CTX *context;
    ENGINE *engine;
    uint32_t flags; /* SMQ_TLS_… */
    int32_t line_count;
    char lines[LINES + 1][LINE_BYTES];
};

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static int key_index = -1;

static void free_key(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long number, void *argument) {
    (void)parent, (void)data, (void)index, (void)number, (void)argument;
    for (struct shared_key *key = pointer; key;) {
        struct shared_key *before = key->before;
        shim_forget(key->identity, strlen(key->identity));
        shim_forget(key, sizeof(*key));
        key = before;
    }
}

static void prepare(void) {
    key_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_key);
#ifndef OPENSSL_NO_ENGINE
    ENGINE_load_builtin_engines();
#endif
}

/* ---- lines of log ---- */

__attribute__((format(printf, 2, 3))) static void say(struct shim_tls_attempt *a, const char *format, ...) {
    va_list arguments;
    if (a->line_count > LINES) return;
    va_start(arguments, format);
    vsnprintf(a->lines[a->line_count++], LINE_BYTES, format, arguments);
    va_end(arguments);
}

static void say_errors(struct shim_tls_attempt *a) {
    char text[256];
    unsigned long error;
    for (int number = 0; number < LINES && (error = ERR_get_error()) != 0; number++) {
        ERR_error_string_n(error, text, sizeof text);
        say(a, "OpenSSL Error[%d]: %s", number, text);
    }
}

/* What libmosquitto says of a file, and then OpenSSL. */
static int32_t refuse(struct shim_tls_attempt *a, const char *format, const char *text) {
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s%s\".", format, text);
    say(a, "%s", text ? line : format);
    say_errors(a);
    return MOSQ_ERR_TLS;
}

/* ---- the parts of a context ---- */

static const struct {
    const char *name; /* NULL: none was set */
    uint64_t off;
} versions[] = {
    { NULL, SSL_OP_NO_TLSv1 },
    { "tlsv1.3", SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_TLSv1_2 },
    { "tlsv1.2", SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 },
    { "tlsv1.1", SSL_OP_NO_TLSv1 },
};

static int32_t set_version(struct shim_tls_attempt *a) {
    const char *wanted = a->set->texts[SHIM_TLS_VERSION];
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (wanted ? !versions[i].name || strcmp(wanted, versions[i].name) != 0 : versions[i].name != NULL) continue;
        SSL_CTX_set_options(a->context, versions[i].off | SSL_OP_NO_SSLv3);
        return MOSQ_ERR_SUCCESS;
    }
    say(a, "Error: Protocol %s not supported.", wanted);
    return MOSQ_ERR_INVAL;
}

/* One name (RFC 7301); what is too long is cut off. */
static void set_alpn(struct shim_tls_attempt *a) {
    unsigned char list[ALPN_BYTES + 1];
    const char *name = a->set->texts[SHIM_TLS_ALPN];
    if (!name) return;
    size_t size = strnlen(name, ALPN_BYTES);
    list[0] = (unsigned char)size;
    memcpy(list + 1, name, size);
    SSL_CTX_set_alpn_protos(a->context, list, (unsigned)size + 1);
}

static int32_t open_engine(struct shim_tls_attempt *a) {
    const char *name = a->set->texts[SHIM_TLS_ENGINE];
#ifdef OPENSSL_NO_ENGINE
    (void)name;
#else
    if (!name) return MOSQ_ERR_SUCCESS;
    ENGINE *engine = ENGINE_by_id(name);
    if (!engine) {
        say(a, "Error loading %s engine\n", name);
        return MOSQ_ERR_TLS;
    }
    if (!ENGINE_init(engine)) {
        say(a, "Failed engine initialisation\n");
        ENGINE_free(engine);
        return MOSQ_ERR_TLS;
    }
    a->engine = engine;
    ENGINE_free(engine); /* what ENGINE_init() took remains */
    ENGINE_set_default(engine, ENGINE_METHOD_ALL);
#endif
    return MOSQ_ERR_SUCCESS;
}

static int32_t set_ciphers(struct shim_tls_attempt *a) {
    const char *list = a->set->texts[SHIM_TLS_CIPHERS];
    if (!list || SSL_CTX_set_cipher_list(a->context, list) == 1) return MOSQ_ERR_SUCCESS;
    return refuse(a, "Error: Unable to set TLS ciphers. Check cipher list \"", list);
}

static int32_t load_trusted(struct shim_tls_attempt *a) {
    const char *file = a->set->texts[SHIM_TLS_CA_FILE], *directory = a->set->texts[SHIM_TLS_CA_DIRECTORY];
    if (a->set->trusts_system) SSL_CTX_set_default_verify_paths(a->context);
    if (file && SSL_CTX_load_verify_file(a->context, file) != 1)
        return refuse(a, "Error: Unable to load CA certificates, check cafile \"", file);
    if (directory && SSL_CTX_load_verify_dir(a->context, directory) != 1)
        return refuse(a, "Error: Unable to load CA certificates, check capath \"", directory);
    return MOSQ_ERR_SUCCESS;
}

static size_t bytes_of_hex(const char *digits, unsigned char *to, size_t room) {
    size_t size = strlen(digits), count = (size + 1) / 2;
    if (count > room) return 0;
    memset(to, 0, count);
    /* Of an odd number of digits the first one is alone. */
    for (size_t i = 0, place = size % 2; i < size; i++, place++) {
        char digit = digits[i];
        int value = digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
        to[place / 2] = (unsigned char)(to[place / 2] << 4 | value);
    }
    return count;
}

#ifndef OPENSSL_NO_ENGINE
enum {
    SECRET_MODE_SHA1 = 0x1000 /* to the engines that have these two commands */
};

static int32_t use_engine_key(struct shim_tls_attempt *a, const char *name) {
    unsigned char pin[PIN_BYTES + 1] = { 0 };
    UI_METHOD *ui = UI_OpenSSL();
    if (a->set->texts[SHIM_TLS_ENGINE_PIN]) {
        bytes_of_hex(a->set->texts[SHIM_TLS_ENGINE_PIN], pin, PIN_BYTES);
        if (!ENGINE_ctrl_cmd(a->engine, "SECRET_MODE", SECRET_MODE_SHA1, NULL, NULL, 0))
            return refuse(a, "Error: Unable to set engine secret mode sha1", NULL);
        int is_set = ENGINE_ctrl_cmd(a->engine, "PIN", 0, pin, NULL, 0);
        OPENSSL_cleanse(pin, sizeof pin);
        if (!is_set) return refuse(a, "Error: Unable to set engine pin", NULL);
        ui = NULL;
    }
    EVP_PKEY *key = ENGINE_load_private_key(a->engine, name, ui, NULL);
    if (!key) return refuse(a, "Error: Unable to load engine private key file \"", name);
    int is_used = SSL_CTX_use_PrivateKey(a->context, key);
    EVP_PKEY_free(key);
    return is_used > 0 ? MOSQ_ERR_SUCCESS : refuse(a, "Error: Unable to use engine private key file \"", name);
}
#endif

static int32_t load_key(struct shim_tls_attempt *a, const char *name) {
#ifndef OPENSSL_NO_ENGINE
    if (a->set->is_key_in_engine) return use_engine_key(a, name);
#endif
    if (SSL_CTX_use_PrivateKey_file(a->context, name, SSL_FILETYPE_PEM) == 1) return MOSQ_ERR_SUCCESS;
    return refuse(a, "Error: Unable to load client key file \"", name);
}

/* The client's own certificate. */
static int32_t load_identity(struct shim_tls_attempt *a) {
    const char *certificate = a->set->texts[SHIM_TLS_CERTIFICATE], *key = a->set->texts[SHIM_TLS_KEY];
    if (a->set->ask_password) {
        SSL_CTX_set_default_passwd_cb(a->context, a->set->ask_password);
        SSL_CTX_set_default_passwd_cb_userdata(a->context, a->user);
    }
    if (certificate && SSL_CTX_use_certificate_chain_file(a->context, certificate) != 1)
        return refuse(a, "Error: Unable to load client certificate \"", certificate);
    if (!key) return MOSQ_ERR_SUCCESS;
    int32_t result = load_key(a, key);
    if (result != MOSQ_ERR_SUCCESS || SSL_CTX_check_private_key(a->context) == 1) return result;
    return refuse(a, "Error: Client certificate/key are inconsistent.", NULL);
}

/* Of TLS 1.2; OpenSSL makes a key of TLS 1.3 with SHA-256 of it, too. */
static unsigned give_key(SSL *ssl, const char *hint, char *identity, unsigned identity_room, unsigned char *psk,
                         unsigned psk_room) {
    const struct shared_key *key = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_index);
    (void)hint;
    if (!key || key->size > psk_room) return 0;
    snprintf(identity, identity_room, "%s", key->identity);
    memcpy(psk, key->bytes, key->size);
    return (unsigned)key->size;
}

static int32_t set_key(struct shim_tls_attempt *a) {
    const char *identity = a->set->texts[SHIM_TLS_IDENTITY];
    struct shared_key *key = shim_allocate(sizeof(*key));
    char *copy = shim_copy(identity, strlen(identity));
    if (!key || !copy) {
        shim_free(key);
        shim_free(copy);
        return MOSQ_ERR_NOMEM;
    }
    key->identity = copy;
    key->size = bytes_of_hex(a->set->texts[SHIM_TLS_PSK], key->bytes, sizeof key->bytes);
    struct shared_key *before = SSL_CTX_get_ex_data(a->context, key_index);
    int is_same = before && before->size == key->size && memcmp(before->bytes, key->bytes, key->size) == 0 &&
                  strcmp(before->identity, key->identity) == 0;
    key->before = is_same ? NULL : before;
    int is_set = !is_same && SSL_CTX_set_ex_data(a->context, key_index, key);
    if (!is_set) {
        key->before = NULL;
        free_key(NULL, key, NULL, 0, 0, NULL);
    }
    if (!is_set && !is_same) return MOSQ_ERR_NOMEM;
    SSL_CTX_set_psk_client_callback(a->context, give_key);
    if (!a->set->texts[SHIM_TLS_CIPHERS]) SSL_CTX_set_cipher_list(a->context, "PSK");
    a->flags |= SMQ_TLS_NO_VERIFY; /* a server without the key may have a certificate, which nobody can check */
    return MOSQ_ERR_SUCCESS;
}

/* ---- the context ---- */

static bool trusts_any(const struct shim_tls *set) {
    return set->texts[SHIM_TLS_CA_FILE] || set->texts[SHIM_TLS_CA_DIRECTORY] || set->trusts_system;
}

static int32_t fill(struct shim_tls_attempt *a) {
    const struct shim_tls *set = a->set;
    int32_t result = set_version(a);
    if (result != MOSQ_ERR_SUCCESS) return result;
    SSL_CTX_set_options(a->context, SSL_OP_NO_COMPRESSION);
    set_alpn(a);
    if ((result = open_engine(a)) != MOSQ_ERR_SUCCESS || (result = set_ciphers(a)) != MOSQ_ERR_SUCCESS) return result;
    if (!trusts_any(set)) return set_key(a);
    if ((result = load_trusted(a)) != MOSQ_ERR_SUCCESS) return result;
    SSL_CTX_set_verify(a->context, set->verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    if (!set->verifies) a->flags |= SMQ_TLS_NO_VERIFY;
    return load_identity(a);
}

static void use_as_it_is(struct shim_tls_attempt *a) {
    a->flags |= SMQ_TLS_NO_NAME_CHECK;
    if (SSL_CTX_get_verify_mode(a->context) == SSL_VERIFY_NONE) a->flags |= SMQ_TLS_NO_VERIFY;
}

int32_t shim_tls_read(struct shim_tls_attempt *a) {
    const struct shim_tls *set = a->set;
    int32_t result = MOSQ_ERR_SUCCESS;
    ERR_clear_error();
    a->flags = SMQ_TLS_COMMON_NAME;
    if (set->is_any_name_fine || !a->is_host_named) a->flags |= SMQ_TLS_NO_NAME_CHECK;
    if (!CRYPTO_THREAD_run_once(&once, prepare) || key_index < 0) return MOSQ_ERR_NOMEM;
    a->context = set->ssl_ctx;
    if (a->context) {
        SSL_CTX_up_ref(a->context);
    } else if (!(a->context = SSL_CTX_new(TLS_client_method()))) {
        return refuse(a, "Error: Unable to create TLS context.", NULL);
    }
    if (set->ssl_ctx && set->keeps_context) {
        use_as_it_is(a);
    } else if (set->ssl_ctx && !set->texts[SHIM_TLS_CA_FILE] && !set->texts[SHIM_TLS_CA_DIRECTORY] &&
               !set->texts[SHIM_TLS_PSK]) {
        say(a, "Error: MOSQ_OPT_SSL_CTX_WITH_DEFAULTS used without specifying cafile, capath or psk.");
        result = MOSQ_ERR_INVAL;
    } else {
        result = fill(a);
    }
    /* A certificate that nobody verifies cannot be one that has not been revoked: what is stricter counts. */
    if (set->wants_ocsp) a->flags = (a->flags | SMQ_TLS_OCSP_REQUIRED) & ~(uint32_t)SMQ_TLS_NO_VERIFY;
    ERR_clear_error();
    return result;
}

/* ---- an attempt ---- */

struct shim_tls_attempt *shim_tls_begin(const struct shim_tls *tls, bool is_host_named, void *user) {
    struct shim_tls_attempt *a = shim_allocate(sizeof(*a));
    bool is_copied = a && (a->set = shim_tls_new()) != NULL;
    for (int32_t which = 0; is_copied && which < SHIM_TLS_TEXTS; which++)
        is_copied = shim_tls_set_text(a->set, which, tls->texts[which]);
    if (!is_copied) {
        shim_tls_end(a);
        return NULL;
    }
    shim_tls_set_context(a->set, tls->ssl_ctx);
    a->set->ask_password = tls->ask_password;
    a->set->keeps_context = tls->keeps_context;
    a->set->verifies = tls->verifies;
    a->set->is_any_name_fine = tls->is_any_name_fine;
    a->set->trusts_system = tls->trusts_system;
    a->set->wants_ocsp = tls->wants_ocsp;
    a->set->is_key_in_engine = tls->is_key_in_engine;
    a->is_host_named = is_host_named;
    a->user = user;
    return a;
}

void shim_tls_end(struct shim_tls_attempt *a) {
    if (!a) return;
    SSL_CTX_free(a->context);
#ifndef OPENSSL_NO_ENGINE
    if (a->engine) ENGINE_finish(a->engine);
#endif
    shim_tls_free(a->set);
    shim_free(a);
}

const char *shim_tls_said(const struct shim_tls_attempt *a, int32_t index) {
    return index < a->line_count ? a->lines[index] : NULL;
}

int32_t shim_tls_apply(struct shim_tls *tls, const struct shim_tls_attempt *a) {
    smq_tls_options options = SMQ_TLS_OPTIONS_INIT;
    smq_tls *settings = tls->settings;
    options.ssl_ctx = a->context;
    options.flags = a->flags;
    int32_t status = settings ? smq_tls_reload(settings, &options, NULL) : smq_tls_open(&options, &settings, NULL);
    tls->settings = settings;
    return status == SMQ_OK ? MOSQ_ERR_SUCCESS : MOSQ_ERR_TLS;
}

const void *shim_tls_engine(void) { return smq_tls_openssl(); }

/* ---- failures ---- */

const char *shim_tls_failed(char *line, size_t size, int32_t index, int32_t cause, int32_t depth, int64_t native) {
    char text[256];
    unsigned long error = (unsigned long)native;
    bool is_name = cause == SMQ_TLS_NAME && depth >= 0;
    if (is_name && index == 0) {
        snprintf(line, size, "Error: host name verification failed.");
        return line;
    }
    if (index != is_name) return NULL;
    if (depth >= 0 && native >= X509_V_ERR_OCSP_VERIFY_NEEDED && native <= X509_V_ERR_OCSP_CERT_UNKNOWN) {
        error = ERR_PACK(ERR_LIB_SSL, 0, SSL_R_INVALID_STATUS_RESPONSE);
    } else if (depth >= 0) {
        error = ERR_PACK(ERR_LIB_SSL, 0, SSL_R_CERTIFICATE_VERIFY_FAILED);
    } else if (cause == SMQ_TLS_NOT_TLS || cause == SMQ_TLS_CLOSED) {
        if (error == 0) error = ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_EOF_WHILE_READING);
    }
    if (error == 0) return NULL;
    ERR_error_string_n(error, text, sizeof text);
    snprintf(line, size, "OpenSSL Error[0]: %s", text);
    return line;
}

#else

/* Nobody calls these: without OpenSSL the program can set nothing. */

struct shim_tls_attempt *shim_tls_begin(const struct shim_tls *tls, bool is_host_named, void *user) {
    (void)tls, (void)is_host_named, (void)user;
    return NULL;
}

int32_t shim_tls_read(struct shim_tls_attempt *attempt) {
    (void)attempt;
    return MOSQ_ERR_NOT_SUPPORTED;
}

const char *shim_tls_said(const struct shim_tls_attempt *attempt, int32_t index) {
    (void)attempt, (void)index;
    return NULL;
}

int32_t shim_tls_apply(struct shim_tls *tls, const struct shim_tls_attempt *attempt) {
    (void)tls, (void)attempt;
    return MOSQ_ERR_NOT_SUPPORTED;
}

void shim_tls_end(struct shim_tls_attempt *attempt) { (void)attempt; }

const void *shim_tls_engine(void) { return NULL; }

const char *shim_tls_failed(char *line, size_t size, int32_t index, int32_t cause, int32_t depth, int64_t native) {
    (void)line, (void)size, (void)index, (void)cause, (void)depth, (void)native;
    return NULL;
}

#endif
