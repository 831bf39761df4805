/* See shim.h. */
#define _GNU_SOURCE
#include "shim.h"

#include "programs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

void *shim_allocate(size_t size) { return calloc(1, size ? size : 1); }

void *shim_resize(void *memory, size_t size) { return realloc(memory, size ? size : 1); }

void shim_free(void *memory) { free(memory); }

void shim_forget(void *memory, size_t size) {
    if (memory) explicit_bzero(memory, size);
    free(memory);
}

char *shim_copy(const void *bytes, size_t size) {
    char *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (!copy) return NULL;
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

size_t shim_length(const char *text) { return strlen(text); }

bool shim_is_equal(const char *first, const char *second) { return !strcmp(first, second); }

/* ---- errno ---- */

void shim_set_errno(int32_t number) { errno = number; }

int32_t shim_errno(void) { return errno; }

int32_t shim_protocol_error(void) { return EPROTO; }

uint32_t shim_environment(const char *name, uint32_t minimum, uint32_t maximum, uint32_t fallback) {
    const char *text = platform_environment(name);
    char *end;
    unsigned long long value;
    if (!text || *text < '0' || *text > '9') return fallback;
    errno = 0;
    value = strtoull(text, &end, 10);
    return errno || *end || value < minimum || value > maximum ? fallback : (uint32_t)value;
}

/* ---- the journal ---- */

static bool is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

/* Whoever starts a program with more rights than their own does not choose where it writes. */
static const char *directory_of(const char *variable) {
    const char *directory = secure_getenv(variable);
    return directory && *directory ? directory : NULL;
}

/* DIRECTORY/NAMEsuffix, with %XX for bytes of the name that have a meaning elsewhere. */
static char *path_in(const char *directory, const char *name, const char *suffix) {
    static const char digits[] = "0123456789ABCDEF";
    size_t length = strlen(directory);
    char *path = malloc(length + 1 + 3 * strlen(name) + strlen(suffix) + 1);
    if (!path) return NULL;
    memcpy(path, directory, length);
    char *end = path + length;
    *end++ = '/';
    for (; *name; name++) {
        if (is_plain(*name)) {
            *end++ = *name;
        } else {
            *end++ = '%';
            *end++ = digits[(unsigned char)*name >> 4];
            *end++ = digits[*name & 15];
        }
    }
    strcpy(end, suffix);
    return path;
}

bool shim_has_journals(void) { return directory_of("MOSQUITTO_JOURNAL") != NULL; }

char *shim_journal_path(const char *id) {
    const char *directory = directory_of("MOSQUITTO_JOURNAL");
    return directory ? path_in(directory, id, ".journal") : NULL;
}

char *shim_inspect_path(const char *id) {
    const char *directory = directory_of("MOSQUITTO_INSPECT");
    char suffix[32] = ".sock";
    if (!directory) return NULL;
    if (!id || !*id) {
        id = program_invocation_short_name;
        snprintf(suffix, sizeof suffix, ".%d.sock", (int)getpid());
    }
    return path_in(directory, id, suffix);
}

int32_t shim_journal_errno(int32_t reason, int32_t number) {
    static const int numbers[] = { 0, EWOULDBLOCK, EBADMSG, EPERM, EFBIG, ENAMETOOLONG };
    return reason == SHIM_JOURNAL_SYSTEM ? number : numbers[reason];
}

/* ---- the mutex ---- */

/* The mutex that this thread holds, or waits for. */
static __thread const void *held;

void *shim_mutex(void) {
    pthread_mutex_t *mutex = malloc(sizeof(*mutex));
    if (mutex) pthread_mutex_init(mutex, NULL);
    return mutex;
}

void shim_mutex_free(void *mutex) {
    pthread_mutex_destroy(mutex);
    free(mutex);
}

/*
 * held is set before locking and reset after unlocking: a signal handler may be told that its thread holds
 * the lock when it does not, but never the reverse.
 */
void shim_lock(void *mutex) {
    held = mutex;
    pthread_mutex_lock(mutex);
}

void shim_unlock(void *mutex) {
    pthread_mutex_unlock(mutex);
    held = NULL;
}

bool shim_holds(const void *mutex) { return held == mutex; }
