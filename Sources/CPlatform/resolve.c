#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * getaddrinfo() may take as long as it likes and cannot be interrupted, and a client may be closed meanwhile.
 * So it runs in a detached thread that owns everything it touches: a socket carries the question to it and
 * the answer back. If nobody reads there any more, the kernel drops the answer.
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

/* libc's resolver and its plug-ins need room. It costs address space only. */
#define STACK_SIZE (512u * 1024)

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
        const struct platform_thread wanted = { .stack_bytes = STACK_SIZE, .is_detached = 1 };
        error = platform_thread_start(&wanted, answer_one, (void *)(intptr_t)ends[1], NULL);
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
