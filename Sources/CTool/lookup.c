#include "lookup.h"

#include "tool.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Of two: who waits, and the thread in which getaddrinfo() takes its time. The last to leave frees it. */
struct lookup {
    char *host, *service;
    struct addrinfo *found;
    int error;
    int finished; /* an eventfd */
    atomic_int users;
};

static void leave(struct lookup *lookup) {
    if (atomic_fetch_sub(&lookup->users, 1) > 1) return;
    if (lookup->found) freeaddrinfo(lookup->found);
    close(lookup->finished);
    free(lookup->host);
    free(lookup->service);
    free(lookup);
}

static void *look_up(void *argument) {
    struct lookup *lookup = argument;
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    lookup->error = getaddrinfo(lookup->host, lookup->service, &hints, &lookup->found);
    if (lookup->error) lookup->found = NULL;
    eventfd_write(lookup->finished, 1);
    leave(lookup);
    return NULL;
}

/* Signals are for the thread that waits. */
static int start(struct lookup *lookup) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, look_up, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

int tool_lookup(const char *host, const char *service, int64_t deadline_ns, struct addrinfo **found) {
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup) return EAI_MEMORY;
    lookup->users = 1;
    lookup->host = strdup(host);
    lookup->service = service ? strdup(service) : NULL;
    lookup->finished = eventfd(0, EFD_CLOEXEC);
    int error = EAI_MEMORY;
    if (lookup->finished >= 0 && lookup->host && (lookup->service || !service)) {
        lookup->users = 2;
        if (start(lookup)) look_up(lookup); /* without a thread it takes the time it takes */
        int64_t left = (deadline_ns - tool_now_ns()) / 1000000;
        struct pollfd waiting = { lookup->finished, POLLIN, 0 };
        int ready = poll(&waiting, 1, left > 0 ? (int)left : 0);
        error = ready > 0 ? lookup->error : ready < 0 ? EAI_INTR : EAI_INPROGRESS;
        if (ready > 0) {
            *found = lookup->found;
            lookup->found = NULL;
        }
    }
    leave(lookup);
    return error;
}
