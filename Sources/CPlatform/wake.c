#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Edge-triggered: each write is told once, so nobody has to read the counter, which would overflow in 500,000 years. */
int32_t platform_wake_open(int32_t poller, uint32_t channel) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = channel };
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

void platform_wake(int32_t fd) {
    const uint64_t one = 1;
    int before = errno;
    /* It cannot fail but on a descriptor that the program has closed. */
    (void)!write(fd, &one, sizeof one);
    errno = before;
}
