#define _GNU_SOURCE
#include "platform.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A single system call transfers at most this much, so that the count fits the result. */
#define TRANSFER_MAX ((size_t)1 << 30)

uint32_t platform_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/* Without /dev, in a process that may make hardly any system call: what the kernel gave it at exec, time, and process. */
static uint32_t number_of_last_resort(void) {
    uint32_t seed[4] = { 0 };
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random) {
        memcpy(seed, random, sizeof seed);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint32_t parts[] = { seed[0],
                         seed[1],
                         seed[2],
                         seed[3],
                         (uint32_t)now.tv_sec,
                         (uint32_t)now.tv_nsec,
                         (uint32_t)getpid(),
                         (uint32_t)(uintptr_t)&now };
    uint32_t hash = 2166136261u;
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        hash = (hash ^ parts[part]) * 16777619u;
        hash ^= hash >> 15;
    }
    return hash;
}

#ifndef GRND_INSECURE
#define GRND_INSECURE 4
#endif

/*
 * Ten thousand boards that start at once must not draw the same numbers. While the kernel is not yet sure of its
 * randomness it gives what it has, which the board's own addresses and interrupts went into: by getrandom() since Linux 5.6,
 * by /dev/urandom always. Nothing here waits.
 */
uint32_t platform_random(void) {
    uint32_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == (ssize_t)sizeof number ||
        getrandom(&number, sizeof number, GRND_INSECURE) == (ssize_t)sizeof number) {
        return number;
    }
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t count = read(fd, &number, sizeof number);
        close(fd);
        if (count == (ssize_t)sizeof number) {
            return number;
        }
    }
    return number_of_last_resort();
}

int32_t platform_poller_open(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int32_t platform_poller_set(int32_t poller, int32_t fd, uint32_t channel, int32_t ready_for, int32_t add) {
    struct epoll_event event = { .data.u32 = channel };
    if (ready_for & PLATFORM_READABLE) {
        event.events |= EPOLLIN | EPOLLRDHUP;
    }
    if (ready_for & PLATFORM_WRITABLE) {
        event.events |= EPOLLOUT;
    }
    return epoll_ctl(poller, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

void platform_poller_remove(int32_t poller, int32_t fd) { epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL); }

int32_t platform_wait(int32_t poller, int32_t timeout_ms, uint32_t *ready) {
    struct epoll_event events[PLATFORM_MAX_CHANNELS];
    int count = epoll_wait(poller, events, PLATFORM_MAX_CHANNELS, timeout_ms);
    if (count < 0) {
        return errno == EINTR ? PLATFORM_INTERRUPTED : -errno;
    }
    for (int index = 0; index < count; index++) {
        uint32_t is = 0;
        if (events[index].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
            is |= PLATFORM_READABLE;
        }
        if (events[index].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) {
            is |= PLATFORM_WRITABLE;
        }
        *ready |= is << 2 * events[index].data.u32;
    }
    return 0;
}

void platform_close(int32_t fd) { close(fd); /* Linux has closed it even if it says EINTR */ }

static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };

void platform_map_address(const void *v4, struct platform_address *address) {
    memcpy(address->bytes, mapped, sizeof mapped);
    memcpy(address->bytes + sizeof mapped, v4, sizeof address->bytes - sizeof mapped);
    address->scope = 0;
}

int32_t platform_parse_address(const char *host, uint16_t port, struct platform_addresses *addresses) {
    struct in_addr v4;
    if (addresses->count >= PLATFORM_MAX_ADDRESSES) {
        return 0;
    }
    struct platform_address *address = &addresses->list[addresses->count];
    if (inet_pton(AF_INET, host, &v4) == 1) {
        platform_map_address(&v4, address);
    } else if (inet_pton(AF_INET6, host, address->bytes) == 1) {
        address->scope = 0;
    } else {
        return 0;
    }
    addresses->port = port;
    addresses->count++;
    return 1;
}

static int32_t start_to_connect(int fd, const struct sockaddr *address, socklen_t length) {
    /* A connect that EINTR breaks into goes on in the background, like any other that takes its time. */
    if (connect(fd, address, length) < 0 && errno != EINPROGRESS && errno != EINTR) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int32_t platform_tcp_connect(const struct platform_address *wanted, uint16_t port, uint32_t user_timeout_ms) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length;
    memset(&address, 0, sizeof address);
    if (memcmp(wanted->bytes, mapped, sizeof mapped) == 0) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
        memcpy(&address.v4.sin_addr, wanted->bytes + sizeof mapped, sizeof address.v4.sin_addr);
        length = sizeof address.v4;
    } else {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        address.v6.sin6_scope_id = wanted->scope;
        memcpy(&address.v6.sin6_addr, wanted->bytes, sizeof address.v6.sin6_addr);
        length = sizeof address.v6;
    }

    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (user_timeout_ms > 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
    }
    return start_to_connect(fd, &address.any, length);
}

int32_t platform_unix_connect(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : start_to_connect(fd, (const struct sockaddr *)&address, sizeof address);
}

int32_t platform_connect_error(int32_t fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

static int32_t transferred(ssize_t count) {
    if (count > 0) {
        return (int32_t)count;
    }
    if (count == 0) {
        return PLATFORM_CLOSED;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK ? PLATFORM_WOULD_BLOCK : -errno;
}

int32_t platform_send(int32_t fd, const uint8_t *bytes, size_t count) {
    ssize_t sent;
    do {
        sent = send(fd, bytes, count < TRANSFER_MAX ? count : TRANSFER_MAX, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return transferred(sent);
}

int32_t platform_receive(int32_t fd, uint8_t *bytes, size_t count) {
    ssize_t received;
    do {
        received = recv(fd, bytes, count < TRANSFER_MAX ? count : TRANSFER_MAX, 0);
    } while (received < 0 && errno == EINTR);
    return transferred(received);
}

void platform_shutdown_write(int32_t fd) { shutdown(fd, SHUT_WR); }

int32_t platform_discard(int32_t fd) {
    uint8_t few[256]; /* Mostly there is no more, and valgrind reports a receive into NULL. */
    /* TCP alone discards what it would have copied, when it is asked to truncate; others answer with EFAULT. */
    int truncates = 1;
    /* A peer that sends without end must not hold the caller: the poller will tell again. */
    ssize_t count = 0;
    for (int round = 0; round < 8; round++) {
        count = count < (ssize_t)sizeof few || !truncates ? recv(fd, few, sizeof few, 0)
                                                          : recv(fd, NULL, TRANSFER_MAX, MSG_TRUNC);
        if (count < 0 && errno == EFAULT && truncates) {
            truncates = 0;
        } else if (count == 0 || (count < 0 && errno != EINTR)) {
            return transferred(count);
        }
    }
    return PLATFORM_WOULD_BLOCK;
}
