/* See shim.h. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
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

const char *shim_error_text(int32_t number) { return strerror(number); }

uint32_t shim_environment(const char *name, uint32_t minimum, uint32_t maximum, uint32_t fallback) {
    const char *text = getenv(name);
    char *end;
    unsigned long long value;
    if (!text || *text < '0' || *text > '9') return fallback;
    errno = 0;
    value = strtoull(text, &end, 10);
    return errno || *end || value < minimum || value > maximum ? fallback : (uint32_t)value;
}

/* ---- threads ---- */

/* The one that this thread holds, or waits for. */
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

/* held is set before and reset afterwards: a signal handler is to be told too often rather than once too seldom. */
void shim_lock(void *mutex) {
    held = mutex;
    pthread_mutex_lock(mutex);
}

void shim_unlock(void *mutex) {
    pthread_mutex_unlock(mutex);
    held = NULL;
}

bool shim_holds(const void *mutex) { return held == mutex; }

uintptr_t shim_self(void) { return (uintptr_t)pthread_self(); }

struct thread {
    pthread_t id;
    void (*body)(void *);
    void *argument;
};

static void *run(void *argument) {
    struct thread *thread = argument;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    thread->body(thread->argument);
    return NULL;
}

void *shim_thread(void (*body)(void *), void *argument) {
    struct thread *thread = malloc(sizeof(*thread));
    int error;
    if (!thread) return NULL;
    thread->body = body;
    thread->argument = argument;
    error = pthread_create(&thread->id, NULL, run, thread);
    if (!error) return thread;
    free(thread);
    errno = error;
    return NULL;
}

void shim_join(void *handle) {
    struct thread *thread = handle;
    pthread_join(thread->id, NULL);
    free(thread);
}

void shim_leave(void *handle) {
    struct thread *thread = handle;
    pthread_detach(thread->id);
    free(thread);
}

bool shim_is_self(const void *handle) {
    const struct thread *thread = handle;
    return pthread_equal(thread->id, pthread_self());
}

/* None of these three changes errno: it says what ended a connection. */

int32_t shim_poll(int32_t first, int32_t second, int32_t timeout_ms) {
    struct pollfd ready[2] = { { first, POLLIN, 0 }, { second, POLLIN, 0 } };
    int before = errno;
    int count = poll(ready, 2, timeout_ms);
    errno = before;
    if (count < 0) return 0; /* a signal */
    return (ready[0].revents ? 1 : 0) | (ready[1].revents ? 2 : 0);
}

int32_t shim_event(void) {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event < 0 ? -errno : event;
}

void shim_wake(int32_t event) {
    const uint64_t one = 1;
    int before = errno;
    (void)!write(event, &one, sizeof(one)); /* it fails if it is readable already */
    errno = before;
}

void shim_calm(int32_t event) {
    uint64_t count;
    int before = errno;
    (void)!read(event, &count, sizeof(count)); /* it fails if it was not readable */
    errno = before;
}

void shim_close(int32_t fd) { close(fd); }

void shim_sleep_ms(uint32_t milliseconds) {
    struct timespec time = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };
    nanosleep(&time, NULL);
}
