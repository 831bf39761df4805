#include "tool.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>

static int at_most(int64_t timeout_ms) {
    return timeout_ms < 0 ? -1 : timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
}

int32_t tool_poll(tool_watch *list, int32_t count, int64_t timeout_ms) {
    struct pollfd fds[8];
    if (count > 8) count = 8;
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){ list[i].fd,
                                  (list[i].wanted & TOOL_READABLE ? POLLIN : 0) |
                                      (list[i].wanted & TOOL_WRITABLE ? POLLOUT : 0),
                                  0 };
    int found = poll(fds, (nfds_t)count, at_most(timeout_ms));
    for (int i = 0; i < count; i++) {
        short what = found > 0 ? fds[i].revents : 0;
        int gone = what & (POLLERR | POLLNVAL) || (what & POLLHUP && !list[i].wanted);
        list[i].found = (what & (POLLIN | POLLHUP) && list[i].wanted & TOOL_READABLE ? TOOL_READABLE : 0) |
                        (what & POLLOUT ? TOOL_WRITABLE : 0) | (gone ? TOOL_BROKEN : 0);
    }
    return found < 0 ? 0 : found;
}

int32_t tool_set_open(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : set;
}

int32_t tool_set_add(int32_t set, int32_t fd, uint32_t number) {
    struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = number } };
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0 ? errno : 0;
}

int32_t tool_set_wait(int32_t set, uint32_t *numbers, int32_t capacity, int64_t timeout_ms) {
    struct epoll_event events[256];
    int count = epoll_wait(set, events, capacity < 256 ? capacity : 256, at_most(timeout_ms));
    for (int i = 0; i < count; i++) numbers[i] = events[i].data.u32;
    return count < 0 ? 0 : count;
}
