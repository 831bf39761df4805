#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* A single system call transfers at most this much, so that the count fits the result. */
#define TRANSFER_MAX ((size_t)1 << 30)

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
    /* A connect() that EINTR interrupts goes on in the background, like any other that takes its time. */
    if (connect(fd, address, length) < 0 && errno != EINPROGRESS && errno != EINTR) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Inlined everywhere, so that what only the programs need costs the library nothing. */
#define INLINED static inline __attribute__((always_inline))

INLINED socklen_t socket_address(const struct platform_address *from, uint16_t port, union socket_address *address) {
    memset(address, 0, sizeof *address);
    if (memcmp(from->bytes, mapped, sizeof mapped) == 0) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        memcpy(&address->v4.sin_addr, from->bytes + sizeof mapped, sizeof address->v4.sin_addr);
        return sizeof address->v4;
    }
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(port);
    address->v6.sin6_scope_id = from->scope;
    memcpy(&address->v6.sin6_addr, from->bytes, sizeof address->v6.sin6_addr);
    return sizeof address->v6;
}

INLINED int tcp_socket(const union socket_address *address) {
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fd;
}

/* Returns 0 or errno. What only makes packets faster, or better known on their way, such as DSCP, may fail. */
static int apply(const struct platform_socket_options *options, int fd, const union socket_address *address) {
    int is_v6 = address->any.sa_family == AF_INET6;
    if (options->user_timeout_ms > 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &options->user_timeout_ms, sizeof options->user_timeout_ms);
    }
    if (options->keep_alive_s > 0) {
        int on = 1, idle = (int)options->keep_alive_s, interval = idle < 75 ? idle : 75;
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    }
    if (options->dscp > 0) {
        int traffic_class = (int)options->dscp << 2;
        setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_TCLASS : IP_TOS, &traffic_class,
                   sizeof traffic_class);
    }
    if (options->busy_poll_us > 0) {
        setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &options->busy_poll_us, sizeof options->busy_poll_us);
    }
    if (options->device[0] &&
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options->device, (socklen_t)strlen(options->device)) < 0) {
        return errno;
    }
    if (options->has_source) {
        union socket_address source;
        socklen_t length = socket_address(&options->source, 0, &source);
        if (source.any.sa_family != address->any.sa_family) {
            return EADDRNOTAVAIL;
        }
        return bind(fd, &source.any, length) < 0 ? errno : 0;
    }
    return 0;
}

int32_t platform_tcp_connect(const struct platform_address *wanted, uint16_t port,
                             const struct platform_socket_options *options) {
    union socket_address address;
    socklen_t length = socket_address(wanted, port, &address);
    int fd = tcp_socket(&address);
    if (fd < 0) {
        return -errno;
    }
    int error = options ? apply(options, fd, &address) : 0;
    if (error != 0) {
        close(fd);
        return -error;
    }
    return start_to_connect(fd, &address.any, length);
}

size_t platform_address_text(const struct platform_address *address, char *text, size_t capacity) {
    union socket_address socket;
    socklen_t length = socket_address(address, 0, &socket);
    return getnameinfo(&socket.any, length, text, (socklen_t)capacity, NULL, 0, NI_NUMERICHOST) == 0 ? strlen(text) : 0;
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

int32_t platform_send_both(int32_t fd, const uint8_t *bytes, size_t count, const uint8_t *payload, size_t size) {
    count = count < TRANSFER_MAX ? count : TRANSFER_MAX;
    size = size < TRANSFER_MAX - count ? size : TRANSFER_MAX - count;
    /* The kernel only reads what an iovec of sendmsg() points to. */
    struct iovec parts[2] = { { (void *)(uintptr_t)bytes, count }, { (void *)(uintptr_t)payload, size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
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
    /* Only TCP discards what it would have copied if it is asked to truncate; others return EFAULT. */
    int truncates = 1;
    /* A peer that sends without end must not hold the caller. The poller reports the rest again. */
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
