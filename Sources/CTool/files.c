#include "tool.h"

#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t tool_open(const void *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int32_t tool_create(const void *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

int32_t tool_create_new(const void *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

int32_t tool_rename(const void *old, const void *name) { return rename(old, name) < 0 ? errno : 0; }

_Static_assert(TOOL_ELOOP == ELOOP, "tool.h has Linux's number");

int32_t tool_open_itself(const void *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Waits until a descriptor is ready. Returns -errno if a signal comes first. */
static int32_t wait_for(int32_t fd, int32_t wanted) {
    struct platform_watch watch = { .fd = fd, .wanted = wanted };
    return platform_poll(&watch, 1, -1);
}

int64_t tool_read(int32_t fd, void *buffer, size_t size) {
    for (;;) {
        ssize_t count = read(fd, buffer, size);
        if (count >= 0) return count;
        if (errno != EAGAIN) return -errno;
        /* Another process that shares the descriptor has made it one that does not block. */
        int32_t ready = wait_for(fd, PLATFORM_READABLE);
        if (ready < 0) return ready;
    }
}

tool_file tool_file_state(int32_t fd) {
    struct stat now;
    if (fstat(fd, &now) < 0 || !S_ISREG(now.st_mode)) return (tool_file){ -1, 0, 0 };
    return (tool_file){ now.st_size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec };
}

int32_t tool_read_at(int32_t fd, const tool_file *was, int64_t offset, void *buffer, size_t size) {
    char *next = buffer;
    while (size > 0) {
        ssize_t count = pread(fd, next, size, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        next += count;
        offset += count;
        size -= (size_t)count;
    }
    tool_file now = tool_file_state(fd);
    return now.size == was->size && now.changed_s == was->changed_s && now.changed_ns == was->changed_ns ? 0 : -1;
}

int64_t tool_read_part(int32_t fd, int64_t offset, void *buffer, size_t size) {
    char *next = buffer;
    size_t left = size;
    while (left > 0) {
        ssize_t count = pread(fd, next, left, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -errno;
        if (count == 0) break;
        next += count;
        offset += count;
        left -= (size_t)count;
    }
    return (int64_t)(size - left);
}

int32_t tool_write(int32_t fd, const void *data, size_t size) {
    const char *next = data;
    int32_t signal_before = tool_caught_signal();
    while (size > 0) {
        ssize_t count = write(fd, next, size);
        if (count >= 0) {
            next += count;
            size -= (size_t)count;
            /* A signal may end a write in the middle, too. */
            if (size > 0 && tool_caught_signal() != signal_before) return EINTR;
        } else if (errno == EAGAIN) {
            int32_t ready = wait_for(fd, PLATFORM_WRITABLE);
            if (ready < 0) return -ready;
        } else {
            return errno;
        }
    }
    return 0;
}

int32_t tool_is_terminal(int32_t fd) { return isatty(fd); }

int32_t tool_standard_descriptors(void) {
    int32_t open_before = 1;
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) {
            open_before = 0;
            /* A use of the missing descriptor must fail, so it is opened for the other direction. */
            if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return 0;
        }
    return open_before;
}
