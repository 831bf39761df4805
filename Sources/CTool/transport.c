#include "lookup.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connects a socket that does not block, and waits for it. Returns 0 or an errno. */
static int connect_within(int fd, const struct sockaddr *address, socklen_t size, int64_t deadline_ns) {
    if (connect(fd, address, size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    int64_t left = (deadline_ns - tool_now_ns()) / 1000000;
    struct pollfd waiting = { fd, POLLOUT, 0 };
    int found = poll(&waiting, 1, left > 0 ? (int)left : 0);
    if (found < 0) return errno;
    if (found == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

static int32_t connect_path(const char *path, int64_t deadline_ns) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    int error = connect_within(fd, (struct sockaddr *)&address, sizeof address, deadline_ns);
    if (error == 0) return fd;
    close(fd);
    return -error;
}

/* A socket of the address' family that is bound to one of those; or -errno. */
static int bound_socket(const struct addrinfo *address, const struct addrinfo *local) {
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    if (local) {
        int error = EADDRNOTAVAIL;
        for (; local && error; local = local->ai_next)
            if (local->ai_family == address->ai_family)
                error = bind(fd, local->ai_addr, local->ai_addrlen) < 0 ? errno : 0;
        if (error) {
            close(fd);
            return -error;
        }
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int32_t tool_connect(const void *host, uint32_t port, const void *bound_to, const void *path, int64_t timeout_ms) {
    int64_t deadline_ns = tool_now_ns() + timeout_ms * 1000000;
    if (*(const char *)path) return connect_path(path, deadline_ns);
    struct addrinfo *remote, *local = NULL;
    char service[12];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int error = tool_lookup(host, service, deadline_ns, &remote);
    if (error) return -1000 + error;
    if (*(const char *)bound_to && (error = tool_lookup(bound_to, NULL, deadline_ns, &local))) {
        freeaddrinfo(remote);
        return -1000 + error;
    }
    int32_t result = -EADDRNOTAVAIL;
    for (const struct addrinfo *address = remote; address; address = address->ai_next) {
        result = bound_socket(address, local);
        if (result < 0) continue;
        error = connect_within(result, address->ai_addr, address->ai_addrlen, deadline_ns);
        if (error == 0) break;
        close(result);
        result = -error;
        if (error == EINTR) break;
    }
    freeaddrinfo(remote);
    if (local) freeaddrinfo(local);
    return result;
}

int32_t tool_resolve(const void *host, void *buffer, size_t capacity, int64_t timeout_ms) {
    struct addrinfo *found;
    int error = tool_lookup(host, NULL, tool_now_ns() + timeout_ms * 1000000, &found);
    if (error) return error;
    size_t size = 0;
    for (const struct addrinfo *address = found; address; address = address->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST)) continue;
        size_t length = strlen(text);
        if (size + length + 1 > capacity) break;
        if (size > 0) ((char *)buffer)[size++] = ' ';
        memcpy((char *)buffer + size, text, length);
        size += length;
    }
    freeaddrinfo(found);
    return (int32_t)size;
}

int64_t tool_send(int32_t fd, const void *data, size_t size) {
    ssize_t count;
    do count = send(fd, data, size, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    if (count >= 0) return count;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}

int64_t tool_receive(int32_t fd, void *buffer, size_t size) {
    ssize_t count;
    do count = recv(fd, buffer, size, 0);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}
