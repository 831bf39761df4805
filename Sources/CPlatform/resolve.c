#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * getaddrinfo() may take as long as it likes, can't be interrupted, and a client may be closed
 * meanwhile. So it runs in a thread that nobody waits for and that owns everything it touches: the
 * question reaches it through a socket, its answer goes back the same way, and if nobody reads
 * there any more, the answer is dropped by the kernel.
 */

struct question {
    uint16_t port;
    char host[254];
};

struct answer {
    int32_t result; /* as platform_resolved() returns it */
    int32_t error;
    struct platform_addresses addresses;
};

/* libc's resolver and its plug-ins want room; it is address space only. */
#define STACK_SIZE ((size_t)512 * 1024)

static int32_t look_up(const struct question *question, struct platform_addresses *addresses) {
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    int error = getaddrinfo(question->host, NULL, &hints, &list);
    if (error != 0) {
        return error;
    }
    for (struct addrinfo *item = list; item && addresses->count < PLATFORM_MAX_ADDRESSES; item = item->ai_next) {
        struct platform_address *address = &addresses->list[addresses->count];
        if (item->ai_addr->sa_family == AF_INET) {
            struct sockaddr_in v4;
            memcpy(&v4, item->ai_addr, sizeof v4);
            platform_map_address(&v4.sin_addr.s_addr, address);
        } else if (item->ai_addr->sa_family == AF_INET6) {
            struct sockaddr_in6 v6;
            memcpy(&v6, item->ai_addr, sizeof v6);
            memcpy(address->bytes, &v6.sin6_addr, sizeof address->bytes);
            address->scope = v6.sin6_scope_id;
        } else {
            continue;
        }
        addresses->count++;
    }
    addresses->port = question->port;
    freeaddrinfo(list);
    return addresses->count > 0 ? 0 : EAI_NONAME;
}

static void *answer_one(void *argument) {
    int fd = (int)(intptr_t)argument;
    struct question question;
    struct answer answer = { 0 };
    if (recv(fd, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        answer.error = look_up(&question, &answer.addresses);
        answer.result = answer.error == 0 ? 1 : PLATFORM_NO_ADDRESS;
        if (answer.error == EAI_SYSTEM) {
            answer.error = errno;
            answer.result = PLATFORM_NO_LOOK_UP;
        }
        (void)send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

/* The thread takes no signal: those are for the program's own. */
static int start(int fd) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, answer_one, (void *)(intptr_t)fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

int32_t platform_resolve(const char *host, uint16_t port) {
    struct question question = { .port = port };
    size_t length = strlen(host);
    if (length >= sizeof question.host) {
        return -ENAMETOOLONG;
    }
    memcpy(question.host, host, length + 1);

    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return -errno;
    }
    int error = 0;
    if (send(ends[0], &question, sizeof question, MSG_NOSIGNAL) != (ssize_t)sizeof question) {
        error = errno;
    } else {
        error = start(ends[1]);
    }
    if (error != 0) {
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    return ends[0];
}

int32_t platform_resolved(int32_t fd, struct platform_addresses *addresses, int32_t *error) {
    struct answer answer;
    ssize_t count;
    do {
        count = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    if (count != (ssize_t)sizeof answer) {
        *error = count < 0 ? errno : EIO;
        return PLATFORM_NO_LOOK_UP;
    }
    *error = answer.error;
    *addresses = answer.addresses;
    return answer.result;
}
