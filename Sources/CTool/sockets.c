#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int32_t tool_listen(uint16_t port, uint16_t *bound) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    *bound = ntohs(address.sin_port);
    return fd;
}

int32_t tool_accept(int32_t fd) {
    int connection = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return connection < 0 ? -errno : connection;
}

int32_t tool_connect(const void *host, uint16_t port) {
    char service[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &list) != 0) {
        return -EADDRNOTAVAIL;
    }
    int result = -EADDRNOTAVAIL;
    for (struct addrinfo *address = list; address && result < 0; address = address->ai_next) {
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int on = 1;
        if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            fcntl(fd, F_SETFL, O_NONBLOCK);
            result = fd;
        } else {
            result = -errno;
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    freeaddrinfo(list);
    return result;
}
