#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int32_t platform_event_open(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/*
 * Edge-triggered: the poller reports each write once, so the counter need not be read. It would overflow in
 * 500,000 years.
 */
int32_t platform_wake_open(int32_t poller, uint32_t channel) {
    int32_t fd = platform_event_open();
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = channel };
    if (fd >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

void platform_wake(int32_t fd) {
    const uint64_t one = 1;
    int before = errno;
    /* It cannot fail, except on a descriptor that the program has closed. */
    (void)!write(fd, &one, sizeof one);
    errno = before;
}

void platform_event_clear(int32_t fd) {
    uint64_t count;
    int before = errno;
    (void)!read(fd, &count, sizeof count); /* It fails if the event is clear already. */
    errno = before;
}
