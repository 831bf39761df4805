/* What a session depends on. One of other settings must not be resumed: the server was checked in another way, or the client
   was another one. What was read from files counts, and not their names: a CA may be trusted no more. */
#define _GNU_SOURCE /* secure_getenv() */
#include "parts.h"

#include <dirent.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int put_text(EVP_MD_CTX *digest, const smq_bytes *text) {
    uint64_t size = text->size;
    return EVP_DigestUpdate(digest, &size, sizeof size) &&
           (text->size == 0 || EVP_DigestUpdate(digest, text->data, text->size));
}

static int put_certificate(EVP_MD_CTX *digest, const X509 *certificate) {
    uint8_t bytes[EVP_MAX_MD_SIZE] = { 0 };
    return (!certificate || X509_digest(certificate, EVP_sha256(), bytes, NULL)) &&
           EVP_DigestUpdate(digest, bytes, DIGEST_BYTES);
}

static int put_crl(EVP_MD_CTX *digest, const X509_CRL *crl) {
    uint8_t bytes[EVP_MAX_MD_SIZE];
    return X509_CRL_digest(crl, EVP_sha256(), bytes, NULL) && EVP_DigestUpdate(digest, bytes, DIGEST_BYTES);
}

/* The CAs and CRLs that were loaded, in OpenSSL's order. */
static int put_store(EVP_MD_CTX *digest, X509_STORE *store) {
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);
    int done = 1;
    for (int i = 0; done && i < sk_X509_OBJECT_num(all); i++) {
        const X509_OBJECT *each = sk_X509_OBJECT_value(all, i);
        const X509_CRL *crl = X509_OBJECT_get0_X509_CRL((X509_OBJECT *)(uintptr_t)each);
        done = crl ? put_crl(digest, crl) : put_certificate(digest, X509_OBJECT_get0_X509(each));
    }
    return done;
}

/* A directory is read when a certificate is checked. So of each file that OpenSSL may look for there (eight digits, a dot, a
   number) the name, time and size count; added up, because they come in any order. */
static int put_directory(EVP_MD_CTX *digest, const char *name) {
    uint8_t sum[DIGEST_BYTES] = { 0 }, one[EVP_MAX_MD_SIZE];
    DIR *directory = opendir(name);
    const struct dirent *entry;
    int done = 1;
    while (done && directory && (entry = readdir(directory)) != NULL) {
        struct {
            int64_t seconds, nanoseconds, size;
            char name[NAME_MAX + 1];
        } file = { 0 };
        struct stat status;
        if (strlen(entry->d_name) < 10 || entry->d_name[8] != '.') continue;
        if (fstatat(dirfd(directory), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode)) continue;
        file.seconds = status.st_mtim.tv_sec;
        file.nanoseconds = status.st_mtim.tv_nsec;
        file.size = status.st_size;
        strncpy(file.name, entry->d_name, NAME_MAX);
        done = EVP_Digest(&file, sizeof file, one, NULL, EVP_sha256(), NULL);
        for (int i = 0; i < DIGEST_BYTES; i++) sum[i] ^= one[i];
    }
    if (directory) closedir(directory);
    return done && EVP_DigestUpdate(digest, sum, sizeof sum);
}

/* Those that OpenSSL looks into if none is named. */
static int put_system(EVP_MD_CTX *digest) {
    const char *given = secure_getenv(X509_get_default_cert_dir_env());
    char *names = OPENSSL_strdup(given ? given : X509_get_default_cert_dir()), *rest = names;
    int done = names != NULL;
    while (done && rest) done = put_directory(digest, strsep(&rest, ":"));
    OPENSSL_free(names);
    return done;
}

static int put_all(EVP_MD_CTX *digest, const snapshot *settings, const smq_tls_options *options) {
    const smq_bytes *texts[] = { &options->ca_directory, &options->pins, &options->psk_identity, &options->psk };
    char name[PATH_MAX];
    int done = EVP_DigestUpdate(digest, &settings->flags, sizeof settings->flags) &&
               put_certificate(digest, SSL_CTX_get0_certificate(settings->context)) &&
               put_store(digest, SSL_CTX_get_cert_store(settings->context));
    for (size_t i = 0; done && i < sizeof texts / sizeof *texts; i++) done = put_text(digest, texts[i]);
    if (done && options->ca_directory.size > 0)
        done = file_name(&options->ca_directory, name, sizeof name) && put_directory(digest, name);
    return done && (settings->psk || !trusts_system(options) || put_system(digest));
}

/* Sessions of the program's own context are its own business. */
int fingerprint_take(snapshot *to, const smq_tls_options *options) {
    if (to->is_foreign) return 1;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    int done = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) && put_all(digest, to, options) &&
               EVP_DigestFinal_ex(digest, to->fingerprint, NULL);
    EVP_MD_CTX_free(digest);
    return done;
}
