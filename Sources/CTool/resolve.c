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
