/* smq_mbedtls_open() and smq_mbedtls_close(): options are checked, then files and certificates are read, once. */
#include <mbedtls/error.h>
#include <mbedtls/platform_util.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "parts.h"

#if IS_MBEDTLS_3
#include <psa/crypto.h>
#endif

enum {
    FILE_NAME_MAXIMUM = 1023,
    PASSWORD_MAXIMUM = 255
};
#define ALL_FLAGS                                                                                                      \
    (SMQ_MBEDTLS_NO_NAME_CHECK | SMQ_MBEDTLS_NO_VERIFY | SMQ_MBEDTLS_NO_TIME | SMQ_MBEDTLS_CRL_CHECK |                 \
     SMQ_MBEDTLS_CRL_ALL | SMQ_MBEDTLS_NO_RESUMPTION)
#define CRL_FLAGS (SMQ_MBEDTLS_CRL_CHECK | SMQ_MBEDTLS_CRL_ALL)

int64_t smq_mbedtls_wall_clock(void) { return (int64_t)time(NULL); }

int smq_mbedtls_random(void *context, unsigned char *to, size_t size) {
    smq_mbedtls_settings *settings = context;
    pthread_mutex_lock(&settings->random_turn);
    int error = mbedtls_ctr_drbg_random(&settings->random, to, size);
    pthread_mutex_unlock(&settings->random_turn);
    return error;
}

/* ---- The options, by themselves */

static int32_t check_bytes(const smq_mbedtls_options *options) {
    const smq_bytes all[] = { options->ca_file,  options->ca,  options->certificate_file, options->certificate,
                              options->key_file, options->key, options->crl_file,         options->crl,
                              options->pins,     options->psk, options->psk_identity };
    const smq_bytes files[] = { options->ca_file, options->certificate_file, options->key_file, options->crl_file };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].size > 0 && !all[i].data) return SMQ_ERR_NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].size > FILE_NAME_MAXIMUM) return SMQ_ERR_OPTION;
        if (files[i].size > 0 && memchr(files[i].data, 0, files[i].size)) return SMQ_ERR_OPTION;
#if !defined(MBEDTLS_FS_IO)
        if (files[i].size > 0) return SMQ_ERR_NOT_SUPPORTED;
#endif
    }
    return SMQ_OK;
}

static bool is_version(uint32_t version) { return version == 0 || version == 0x0303 || version == 0x0304; }

static int32_t check_options(const smq_mbedtls_options *options, smq_tls_failure *why) {
    bool has_ca = options->ca_file.size + options->ca.size > 0;
    bool has_certificate = options->certificate_file.size + options->certificate.size > 0;
    bool has_key = options->key_file.size + options->key.size > 0;
    bool has_crl = options->crl_file.size + options->crl.size > 0;
    bool has_psk = options->psk.size > 0;
    bool no_verify = options->flags & SMQ_MBEDTLS_NO_VERIFY;
    const struct {
        bool is_so;
        const char *words;
    } rules[] = {
        { (options->flags & ~(uint32_t)ALL_FLAGS) != 0, "flags has a bit that is no SMQ_MBEDTLS_... flag" },
        { !is_version(options->minimum), "minimum is 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3)" },
        { !is_version(options->maximum), "maximum is 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3)" },
        { options->maximum && options->minimum > options->maximum, "minimum is above maximum" },
        { options->clock_floor_s < 0, "clock_floor_s is negative" },
        { options->verify_time_s < 0, "verify_time_s is negative" },
        { has_certificate && !has_key, "a certificate needs its key: key_file or key" },
        { has_key && !has_certificate, "a key needs its certificate: certificate_file or certificate" },
        { options->certificate_file.size > 0 && options->certificate.size > 0,
          "of certificate_file and certificate, one is given" },
        { options->key_file.size > 0 && options->key.size > 0, "of key_file and key, one is given" },
        { options->pins.size % 32 != 0, "pins are 32 bytes each" },
        { options->psk.size > MBEDTLS_PSK_MAX_LEN, "psk is longer than MBEDTLS_PSK_MAX_LEN" },
        { options->psk_identity.size > 127, "psk_identity has at most 127 bytes" },
        { has_psk && options->psk_identity.size == 0, "psk needs psk_identity" },
        { !has_psk && options->psk_identity.size > 0, "psk_identity needs psk" },
        { has_psk && (has_ca || has_certificate || has_crl || options->pins.size > 0),
          "psk takes the place of certificates, CAs, pins and CRLs" },
        { !has_psk && !has_ca && !no_verify, "a CA is needed: ca_file or ca" },
        { (options->flags & CRL_FLAGS) && !has_crl, "a CRL is needed: crl_file or crl" },
        { (options->flags & CRL_FLAGS) && no_verify, "NO_VERIFY is not for a server that is checked for revocation" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].is_so) continue;
        why->cause = SMQ_TLS_OTHER;
        snprintf(why->text, sizeof why->text, "%s", rules[i].words);
        return SMQ_ERR_OPTION;
    }
    if (options->minimum == 0x0304 && !HAS_TLS_1_3) return SMQ_ERR_NOT_SUPPORTED;
    return SMQ_OK;
}

/* ---- What they name */

/* The bytes as mbedTLS wants them: DER as it is, PEM with a zero that counts. */
static int with_bytes(smq_bytes bytes, void *to, int (*parse)(void *to, const unsigned char *data, size_t size)) {
    const unsigned char *data = bytes.data;
    if (data[0] == 0x30) return parse(to, data, bytes.size); /* the SEQUENCE that every DER is here */
    unsigned char *text = mbedtls_calloc(1, bytes.size + 1);
    if (!text) return MBEDTLS_ERR_SSL_ALLOC_FAILED;
    memcpy(text, data, bytes.size);
    int error = parse(to, text, bytes.size + 1);
    mbedtls_platform_zeroize(text, bytes.size);
    mbedtls_free(text);
    return error;
}

static int parse_certificates(void *to, const unsigned char *data, size_t size) {
    return mbedtls_x509_crt_parse(to, data, size);
}

static int parse_crls(void *to, const unsigned char *data, size_t size) {
    return mbedtls_x509_crl_parse(to, data, size);
}

/* A key and what reading it takes. */
typedef struct {
    smq_mbedtls_settings *settings;
    const char *password;
} key_reader;

static int parse_key(void *to, const unsigned char *data, size_t size) {
    key_reader *reader = to;
    const unsigned char *password = (const unsigned char *)reader->password;
    size_t length = password ? strlen(reader->password) : 0;
#if IS_MBEDTLS_3
    return mbedtls_pk_parse_key(&reader->settings->key, data, size, password, length, smq_mbedtls_random,
                                reader->settings);
#else
    return mbedtls_pk_parse_key(&reader->settings->key, data, size, password, length);
#endif
}

#if defined(MBEDTLS_FS_IO)
static int certificate_file(void *to, const char *path) { return mbedtls_x509_crt_parse_file(to, path); }

static int crl_file(void *to, const char *path) { return mbedtls_x509_crl_parse_file(to, path); }

static int key_file(void *to, const char *path) {
    key_reader *reader = to;
#if IS_MBEDTLS_3
    return mbedtls_pk_parse_keyfile(&reader->settings->key, path, reader->password, smq_mbedtls_random,
                                    reader->settings);
#else
    return mbedtls_pk_parse_keyfile(&reader->settings->key, path, reader->password);
#endif
}
#endif

typedef int file_parser(void *to, const char *path);

static int with_file(smq_bytes name, void *to, file_parser *parse) {
    char path[FILE_NAME_MAXIMUM + 1];
    memcpy(path, name.data, name.size);
    path[name.size] = 0;
    return parse(to, path);
}

static int read_both(smq_bytes file, smq_bytes bytes, void *to, file_parser *from_file,
                     int (*from_bytes)(void *to, const unsigned char *data, size_t size)) {
    int error = file.size > 0 ? with_file(file, to, from_file) : 0;
    return error < 0 || bytes.size == 0 ? error : with_bytes(bytes, to, from_bytes);
}

#if !defined(MBEDTLS_FS_IO)
#define certificate_file NULL
#define crl_file NULL
#define key_file NULL
#endif

static int read_key(smq_mbedtls_settings *settings, const smq_mbedtls_options *options) {
    char password[PASSWORD_MAXIMUM + 1] = "";
    key_reader reader = { settings, NULL };
    int error = read_both(options->key_file, options->key, &reader, key_file, parse_key);
    if (error == MBEDTLS_ERR_PK_PASSWORD_REQUIRED && options->password) {
        int32_t size = options->password(options->password_user, password, PASSWORD_MAXIMUM);
        if (size >= 0 && size <= PASSWORD_MAXIMUM) {
            password[size] = 0;
            reader.password = password;
            error = read_both(options->key_file, options->key, &reader, key_file, parse_key);
        }
        mbedtls_platform_zeroize(password, sizeof password);
    }
    if (error) return error;
#if IS_MBEDTLS_3
    return mbedtls_pk_check_pair(&settings->certificate.pk, &settings->key, smq_mbedtls_random, settings);
#else
    return mbedtls_pk_check_pair(&settings->certificate.pk, &settings->key);
#endif
}

/* Without a certificate: those that have one beside the pre-shared key need a CA, and are left out. */
static bool keep_suite(const char *name) {
    bool has_psk = strstr(name, "-PSK-WITH-") && !strstr(name, "-RSA-PSK-");
    return has_psk || strncmp(name, "TLS1-3-", 7) == 0;
}

static int set_psk(smq_mbedtls_settings *settings, const smq_mbedtls_options *options) {
    memcpy(settings->psk, options->psk.data, options->psk.size);
    memcpy(settings->psk_identity, options->psk_identity.data, options->psk_identity.size);
    settings->psk_size = options->psk.size;
    settings->psk_identity_size = options->psk_identity.size;
    const int *all = mbedtls_ssl_list_ciphersuites();
    size_t count = 0;
    while (all[count]) count++;
    settings->suites = mbedtls_calloc(count + 1, sizeof *settings->suites);
    if (!settings->suites) return MBEDTLS_ERR_SSL_ALLOC_FAILED;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (keep_suite(mbedtls_ssl_get_ciphersuite_name(all[i]))) settings->suites[kept++] = all[i];
    return 0;
}

static int set_pins(smq_mbedtls_settings *settings, smq_bytes pins) {
    settings->pins = mbedtls_calloc(1, pins.size);
    if (!settings->pins) return MBEDTLS_ERR_SSL_ALLOC_FAILED;
    memcpy(settings->pins, pins.data, pins.size);
    settings->pin_count = pins.size / 32;
    return 0;
}

/* ---- Both */

static void init(smq_mbedtls_settings *settings, const smq_mbedtls_options *options) {
    settings->flags = options->flags;
    settings->minimum = options->minimum ? options->minimum : 0x0303;
    settings->maximum = options->maximum && !(options->maximum == 0x0304 && !HAS_TLS_1_3) ? options->maximum
                        : HAS_TLS_1_3                                                     ? 0x0304
                                                                                          : 0x0303;
    settings->clock_floor_s = options->clock_floor_s;
    settings->verify_time_s = options->verify_time_s;
    mbedtls_x509_crt_init(&settings->ca);
    mbedtls_x509_crt_init(&settings->certificate);
    mbedtls_x509_crl_init(&settings->crl);
    mbedtls_pk_init(&settings->key);
    for (int i = 0; i < SESSIONS; i++) mbedtls_ssl_session_init(&settings->sessions[i].session);
    pthread_mutex_init(&settings->turn, NULL);
    pthread_mutex_init(&settings->random_turn, NULL);
    mbedtls_entropy_init(&settings->entropy);
    mbedtls_ctr_drbg_init(&settings->random);
}

/* Returns mbedTLS's error, and says what it was about. A file of CAs may have some that mbedTLS does not know, as the curves
   of others: those are left out, and counted by a positive number. */
static int fill(smq_mbedtls_settings *settings, const smq_mbedtls_options *options, int32_t *about) {
    *about = SMQ_TLS_OTHER;
    int error = mbedtls_ctr_drbg_seed(&settings->random, mbedtls_entropy_func, &settings->entropy, NULL, 0);
    if (error) return error;
#if HAS_TLS_1_3 || (IS_MBEDTLS_3 && defined(MBEDTLS_USE_PSA_CRYPTO))
    psa_status_t status = psa_crypto_init();
    if (status != PSA_SUCCESS)
        return status == PSA_ERROR_INSUFFICIENT_MEMORY ? MBEDTLS_ERR_SSL_ALLOC_FAILED : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
#endif
    *about = SMQ_TLS_CA_FILE;
    error = read_both(options->ca_file, options->ca, &settings->ca, certificate_file, parse_certificates);
    if (error < 0) return error;
    error = read_both(options->crl_file, options->crl, &settings->crl, crl_file, parse_crls);
    if (error) return error;
    settings->has_crl = options->crl_file.size + options->crl.size > 0;
    *about = SMQ_TLS_KEY;
    settings->has_certificate = options->certificate_file.size + options->certificate.size > 0;
    if (settings->has_certificate) {
        error = read_both(options->certificate_file, options->certificate, &settings->certificate, certificate_file,
                          parse_certificates);
        if (!error) error = read_key(settings, options);
        if (error) return error < 0 ? error : MBEDTLS_ERR_X509_INVALID_FORMAT;
    }
    *about = SMQ_TLS_OTHER;
    if (options->psk.size > 0) error = set_psk(settings, options);
    if (!error && options->pins.size > 0) error = set_pins(settings, options->pins);
    return error;
}

int32_t smq_mbedtls_open(const smq_mbedtls_options *options, smq_mbedtls_settings **to, smq_tls_failure *why) {
    if (!options || !to) return SMQ_ERR_NULL;
    if (options->size != sizeof *options || (why && why->size != sizeof *why)) return SMQ_ERR_STRUCT_SIZE;
    int32_t status = check_bytes(options);
    smq_tls_failure failure = { .size = sizeof failure, .alert = -1, .depth = -1 };
    if (status == SMQ_OK) status = check_options(options, &failure);
    if (status != SMQ_OK) {
        if (why) *why = failure;
        return status;
    }
    smq_mbedtls_settings *settings = mbedtls_calloc(1, sizeof *settings);
    int32_t about = SMQ_TLS_MEMORY;
    int error = MBEDTLS_ERR_SSL_ALLOC_FAILED;
    if (settings) {
        init(settings, options);
        error = fill(settings, options, &about);
        if (error < 0) smq_mbedtls_close(settings);
    }
    if (error >= 0) {
        *to = settings;
        return SMQ_OK;
    }
    smq_mbedtls_describe_error(error, smq_mbedtls_is_lack_of_memory(error) ? SMQ_TLS_MEMORY : about, &failure);
    if (why) *why = failure;
    return SMQ_ERR_TLS;
}

void smq_mbedtls_close(smq_mbedtls_settings *settings) {
    if (!settings) return;
    for (int i = 0; i < SESSIONS; i++) mbedtls_ssl_session_free(&settings->sessions[i].session);
    mbedtls_x509_crt_free(&settings->ca);
    mbedtls_x509_crt_free(&settings->certificate);
    mbedtls_x509_crl_free(&settings->crl);
    mbedtls_pk_free(&settings->key);
    mbedtls_ctr_drbg_free(&settings->random);
    mbedtls_entropy_free(&settings->entropy);
    mbedtls_free(settings->pins);
    mbedtls_free(settings->suites);
    pthread_mutex_destroy(&settings->turn);
    pthread_mutex_destroy(&settings->random_turn);
    mbedtls_platform_zeroize(settings, sizeof *settings);
    mbedtls_free(settings);
}
