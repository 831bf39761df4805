#include "tool.h"

#include "programs.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

/* Waits until a descriptor is ready, or this time of platform_now_ns(). Returns 0, or an errno. */
static int wait_for(int32_t fd, int32_t wanted, int64_t deadline_ns) {
    int64_t left = (deadline_ns - platform_now_ns()) / 1000000;
    struct platform_watch watch = { .fd = fd, .wanted = wanted };
    int32_t ready = platform_poll(&watch, 1, left > 0 ? (int32_t)left : 0);
    return ready > 0 ? 0 : ready < 0 ? -ready : ETIMEDOUT;
}

/* Returns 0, or an EAI_… value: EAI_INPROGRESS if the time was up, EAI_INTR if a signal was caught. */
static int look_up(const char *host, uint16_t port, int64_t deadline_ns, struct platform_addresses *found) {
    int32_t fd = platform_resolve(host, port), reason = 0, result = PLATFORM_NO_LOOK_UP;
    if (fd < 0) return fd == -ENAMETOOLONG ? EAI_NONAME : EAI_AGAIN;
    int error = wait_for(fd, PLATFORM_READABLE, deadline_ns);
    if (error == 0) result = platform_resolved(fd, found, &reason);
    platform_close(fd);
    if (error != 0) return error == ETIMEDOUT ? EAI_INPROGRESS : EAI_INTR;
    if (result == 1) return 0;
    return result == PLATFORM_NO_ADDRESS ? reason : EAI_SYSTEM;
}

/* Waits for a socket that connects. Returns it, or closes it and returns -errno. */
static int32_t connected(int32_t fd, int64_t deadline_ns) {
    if (fd < 0) return fd;
    int error = wait_for(fd, PLATFORM_WRITABLE, deadline_ns);
    if (error == 0) error = platform_connect_error(fd);
    if (error == 0) return fd;
    platform_close(fd);
    return -error;
}

int32_t tool_connect(const void *host, uint32_t port, const void *bound_to, const void *path, int64_t timeout_ms) {
    int64_t deadline_ns = platform_now_ns() + timeout_ms * 1000000;
    if (*(const char *)path) return connected(platform_unix_connect(path), deadline_ns);
    struct platform_addresses remote = { 0 }, local = { 0 };
    int error = look_up(host, (uint16_t)port, deadline_ns, &remote);
    if (error == 0 && *(const char *)bound_to) error = look_up(bound_to, 0, deadline_ns, &local);
    if (error != 0) return -1000 + error;
    int32_t result = -EADDRNOTAVAIL;
    for (int index = 0; index < remote.count && result < 0 && result != -EINTR; index++) {
        const struct platform_address *address = &remote.list[index];
        int32_t fd = local.count > 0 ? platform_tcp_connect_from(&local, address, remote.port)
                                     : platform_tcp_connect(address, remote.port, 0);
        result = connected(fd, deadline_ns);
    }
    return result;
}

int32_t tool_resolve(const void *host, void *buffer, size_t capacity, int64_t timeout_ms) {
    struct platform_addresses found = { 0 };
    int error = look_up(host, 0, platform_now_ns() + timeout_ms * 1000000, &found);
    if (error) return error;
    size_t size = 0;
    for (int index = 0; index < found.count; index++) {
        char text[NI_MAXHOST];
        size_t length = platform_address_text(&found.list[index], text, sizeof text);
        if (length == 0) continue;
        if (size + length + 1 > capacity) break;
        if (size > 0) ((char *)buffer)[size++] = ' ';
        memcpy((char *)buffer + size, text, length);
        size += length;
    }
    return (int32_t)size;
}
