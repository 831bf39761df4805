/* Whom a context trusts: CAs and CRLs. */
#include "parts.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of certificates may have an encrypted key, too; nobody is to be asked for it on the terminal. */
static int no_password(char *to, int size, int is_written, void *user) {
    (void)to, (void)size, (void)is_written, (void)user;
    return -1;
}

/* Adds the certificates and CRLs of a PEM file. Returns how many of the kind that is wanted, or -1. */
static int add_all(X509_STORE *store, BIO *from, int wants_crl) {
    STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(from, NULL, no_password, NULL);
    if (!all) return -1;
    int count = 0;
    for (int i = 0; count >= 0 && i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *each = sk_X509_INFO_value(all, i);
        int is_added = 1;
        if (each->x509) is_added = X509_STORE_add_cert(store, each->x509);
        if (is_added && each->crl) is_added = X509_STORE_add_crl(store, each->crl);
        count = is_added ? count + (wants_crl ? each->crl != NULL : each->x509 != NULL) : -1;
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    return count;
}

static int load(SSL_CTX *context, const smq_bytes *file, const smq_bytes *text, const char *what, int wants_crl,
                smq_tls_failure *why) {
    if (file->size + text->size == 0) return 1;
    BIO *from = source_open(file, text, what, SMQ_TLS_CA_FILE, why);
    if (!from) return 0;
    int count = add_all(SSL_CTX_get_cert_store(context), from, wants_crl);
    BIO_free(from);
    if (count < 0) failure_is(why, SMQ_TLS_CA_FILE, what, NULL);
    if (count == 0) failure_is(why, SMQ_TLS_CA_FILE, what, wants_crl ? "there is no CRL" : "there is no certificate");
    return count > 0;
}

static int load_directory(SSL_CTX *context, const smq_bytes *directory, smq_tls_failure *why) {
    static const char what[] = "ca_directory";
    char name[PATH_MAX];
    struct stat status;
    int error = 0;
    if (directory->size == 0) return 1;
    if (!file_name(directory, name, sizeof name)) {
        error = ENAMETOOLONG;
    } else if (stat(name, &status) != 0 || access(name, R_OK | X_OK) != 0) {
        error = errno;
    } else if (!S_ISDIR(status.st_mode)) {
        error = ENOTDIR;
    }
    if (error) return failure_is(why, SMQ_TLS_CA_FILE, what, strerror(error)) == 0;
    return SSL_CTX_load_verify_dir(context, name) == 1 || failure_is(why, SMQ_TLS_CA_FILE, what, NULL) == 0;
}

int trusts_system(const smq_tls_options *options) {
    int has_own = options->ca_file.size + options->ca_directory.size + options->ca_pem.size > 0;
    return !has_own || (options->flags & SMQ_TLS_SYSTEM_CA) != 0;
}

int trust_load(SSL_CTX *context, const smq_tls_options *options, smq_tls_failure *why) {
    static const smq_bytes none = { NULL, 0 };
    /* The directory: to parse the bundle takes 28 ms and 724 KB. */
    if (trusts_system(options) && SSL_CTX_set_default_verify_dir(context) != 1)
        return failure_is(why, SMQ_TLS_MEMORY, "CAs of the system", NULL) == 0;
    return load(context, &options->ca_file, &none, "ca_file", 0, why) &&
           load(context, &none, &options->ca_pem, "ca_pem", 0, why) &&
           load_directory(context, &options->ca_directory, why) &&
           load(context, &options->crl_file, &none, "crl_file", 1, why);
}
