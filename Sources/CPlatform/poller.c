#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

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
    if (ready_for & PLATFORM_ONCE) {
        event.events |= EPOLLET;
    }
    return epoll_ctl(poller, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

void platform_poller_remove(int32_t poller, int32_t fd) { epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL); }

static int32_t wait_once(int32_t poller, int32_t timeout_ms, uint32_t *ready) {
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

int32_t platform_wait(int32_t poller, int32_t timeout_ms, uint32_t busy_us, uint32_t *ready) {
    if (busy_us == 0) {
        return wait_once(poller, timeout_ms, ready);
    }
    /* A deadline is one of platform_now_ms(), so what is left of the time is counted in steps of that clock. */
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        int32_t result = wait_once(poller, 0, ready);
        if (result != 0 || *ready != 0) {
            return result;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint32_t seconds = (uint32_t)(now.tv_sec - begin.tv_sec);
        uint32_t passed_us = seconds * 1000000u + (uint32_t)(now.tv_nsec / 1000) - (uint32_t)(begin.tv_nsec / 1000);
        uint32_t passed_ms = seconds * 1000u + (uint32_t)(now.tv_nsec / 1000000) - (uint32_t)(begin.tv_nsec / 1000000);
        if (timeout_ms >= 0 && passed_ms >= (uint32_t)timeout_ms) {
            return 0;
        }
        if (passed_us >= busy_us) {
            return wait_once(poller, timeout_ms < 0 ? -1 : timeout_ms - (int32_t)passed_ms, ready);
        }
    }
}

int32_t platform_wait_many(int32_t poller, int32_t timeout_ms, uint32_t *channels, int32_t capacity) {
    struct epoll_event events[PLATFORM_MAX_READY];
    int count = epoll_wait(poller, events, capacity < PLATFORM_MAX_READY ? capacity : PLATFORM_MAX_READY, timeout_ms);
    for (int index = 0; index < count; index++) {
        channels[index] = events[index].data.u32;
    }
    return count < 0 ? -errno : count;
}

int32_t platform_poll(struct platform_watch *list, int32_t count, int32_t timeout_ms) {
    struct pollfd fds[PLATFORM_MAX_WATCHES];
    int before = errno;
    if (count > PLATFORM_MAX_WATCHES) {
        count = PLATFORM_MAX_WATCHES;
    }
    for (int index = 0; index < count; index++) {
        fds[index] = (struct pollfd){ .fd = list[index].fd,
                                      .events = (list[index].wanted & PLATFORM_READABLE ? POLLIN : 0) |
                                                (list[index].wanted & PLATFORM_WRITABLE ? POLLOUT : 0) };
    }
    int ready = poll(fds, (nfds_t)count, timeout_ms);
    int32_t result = ready < 0 ? -errno : ready;
    for (int index = 0; index < count; index++) {
        short is = ready > 0 ? fds[index].revents : 0;
        int broken = is & (POLLERR | POLLNVAL) || (is & POLLHUP && !list[index].wanted);
        list[index].found =
            (is & (POLLIN | POLLHUP) && list[index].wanted & PLATFORM_READABLE ? PLATFORM_READABLE : 0) |
            (is & POLLOUT ? PLATFORM_WRITABLE : 0) | (broken ? PLATFORM_BROKEN : 0);
    }
    errno = before;
    return result;
}

void platform_close(int32_t fd) { close(fd); /* Linux has closed it even if it reports EINTR. */ }
