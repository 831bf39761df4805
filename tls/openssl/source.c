/* PEM from a file, or from memory. */
#include "parts.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>

int file_name(const smq_bytes *from, char *to, size_t size) {
    if (from->size >= size) return 0;
    memcpy(to, from->data, from->size);
    to[from->size] = 0;
    return 1;
}

BIO *source_open(const smq_bytes *file, const smq_bytes *text, const char *what, int32_t cause, smq_tls_failure *why) {
    BIO *bio = NULL;
    char name[PATH_MAX];
    if (file->size == 0) {
        bio = text->size <= INT_MAX ? BIO_new_mem_buf(text->data, (int)text->size) : NULL;
        if (!bio) failure_is(why, SMQ_TLS_MEMORY, what, NULL);
    } else if (!file_name(file, name, sizeof name)) {
        failure_is(why, cause, what, strerror(ENAMETOOLONG));
    } else {
        errno = 0;
        bio = BIO_new_file(name, "re"); /* e: closed on exec */
        if (!bio) failure_is(why, cause, what, errno ? strerror(errno) : NULL);
    }
    return bio;
}
