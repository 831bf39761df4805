#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Zeros that a new file is filled with, so many at a time. */
enum {
    ZERO_BLOCKS = 16
};

static int32_t fail(int fd) {
    int error = errno;
    close(fd);
    return -error;
}

/* The lock belongs to the open file, so it ends with the process, whatever else the process closes. */
static int lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

static int is_at(int fd, const char *path) {
    struct stat ours, theirs;
    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

int32_t platform_store_open(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0) {
        return -errno;
    }
    if (lock(fd) < 0) {
        return fail(fd);
    }
    /* Another process may have put another file in its place between these two calls. */
    if (!is_at(fd, path)) {
        errno = EWOULDBLOCK;
        return fail(fd);
    }
    /* What a process that was killed has left is written first, and then forgotten: after a sync that failed, the
       kernel has pages in memory that are on no disk. */
    if (fdatasync(fd) < 0) {
        return fail(fd);
    }
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return fd;
}

/* All of it, in as many calls as it takes. */
static int write_all(int fd, const uint8_t *bytes, size_t count, off_t offset) {
    while (count > 0) {
        ssize_t written = pwrite(fd, bytes, count, offset);
        if (written <= 0) {
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written == 0) {
                errno = ENOSPC;
            }
            return -1;
        }
        bytes += written;
        count -= (size_t)written;
        offset += written;
    }
    return 0;
}

static int write_zeros(int fd, const uint8_t *zeros, uint32_t blocks, off_t offset) {
    struct iovec parts[ZERO_BLOCKS];
    for (int index = 0; index < ZERO_BLOCKS; index++) {
        parts[index] = (struct iovec){ .iov_base = (void *)zeros, .iov_len = PLATFORM_BLOCK };
    }
    while (blocks > 0) {
        int count = blocks < ZERO_BLOCKS ? (int)blocks : ZERO_BLOCKS;
        ssize_t written = pwritev(fd, parts, count, offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < PLATFORM_BLOCK) {
            if (written >= 0) {
                errno = ENOSPC;
            }
            return -1;
        }
        blocks -= (uint32_t)written / PLATFORM_BLOCK;
        offset += written - written % PLATFORM_BLOCK;
    }
    return 0;
}

static int fill(int fd, uint8_t *block, uint32_t blocks) {
    if (ftruncate(fd, 0) < 0) {
        return -1;
    }
    for (int index = 0; index < 2; index++) {
        if (write_all(fd, block, PLATFORM_BLOCK, index * PLATFORM_BLOCK) < 0) {
            return -1;
        }
    }
    memset(block, 0, PLATFORM_BLOCK);
    return write_zeros(fd, block, blocks, 2 * PLATFORM_BLOCK);
}

/* A name is durable when its directory is. The path's text is changed and put back. */
static int sync_directory(char *path) {
    char *slash = strrchr(path, '/');
    const char *directory = slash == NULL ? "." : slash == path ? "/" : path;
    char after = 0;
    if (slash != NULL && slash != path) {
        after = *slash;
        *slash = 0;
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (after != 0) {
        *slash = after;
    }
    if (fd < 0) {
        return -1;
    }
    int result = fsync(fd);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

int32_t platform_store_create(const char *path, const char *name, int32_t replaces, uint8_t *block, uint32_t blocks) {
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0) {
        return -errno;
    }
    if (lock(fd) < 0) {
        return fail(fd);
    }
    /* Another process may have given it its name between these two calls, or made one since there was none. */
    struct stat other;
    if (is_at(fd, path)) {
        errno = EWOULDBLOCK;
        return fail(fd);
    }
    if (!replaces && stat(path, &other) == 0) {
        unlink(name);
        errno = EWOULDBLOCK;
        return fail(fd);
    }
    if (fill(fd, block, blocks) < 0) {
        int32_t error = fail(fd);
        unlink(name);
        return error;
    }
    return fd;
}

int32_t platform_store_put(int32_t fd, uint32_t block, uint32_t count, const uint8_t *bytes) {
    return write_all(fd, bytes, (size_t)count * PLATFORM_BLOCK, (off_t)block * PLATFORM_BLOCK) < 0 ? errno : 0;
}

int32_t platform_store_name(int32_t fd, const char *path, char *name) {
    return fsync(fd) < 0 || rename(name, path) < 0 || sync_directory(name) < 0 ? errno : 0;
}

void platform_store_discard(const char *name) { unlink(name); }

int32_t platform_store_read(int32_t fd, uint32_t block, uint32_t count, uint8_t *bytes) {
    size_t left = (size_t)count * PLATFORM_BLOCK;
    off_t offset = (off_t)block * PLATFORM_BLOCK;
    while (left > 0) {
        ssize_t size = pread(fd, bytes, left, offset);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return size < 0 ? errno : PLATFORM_END_OF_FILE;
        }
        bytes += size;
        left -= (size_t)size;
        offset += size;
    }
    return 0;
}

int32_t platform_store_write(int32_t fd, const struct platform_commit *commit) {
    size_t first = (size_t)commit->first_count * PLATFORM_BLOCK;
    if (write_all(fd, commit->bytes, first, (off_t)commit->first_block * PLATFORM_BLOCK) < 0 ||
        write_all(fd, commit->bytes + first, (size_t)commit->second_count * PLATFORM_BLOCK,
                  (off_t)commit->second_block * PLATFORM_BLOCK) < 0 ||
        fdatasync(fd) < 0) {
        return errno;
    }
    return 0;
}

/* ---- the thread ---- */

enum {
    IDLE,
    WORKING,
    DONE
};

static void do_write(struct platform_writer *writer) {
    writer->finish(writer->commit.bytes, writer->commit.first_count + writer->commit.second_count);
    writer->error = platform_store_write(writer->file, &writer->commit);
}

/* A forked child has the client, and not its thread: it writes by itself, also what its parent's was writing. */
static int has_thread(const struct platform_writer *writer) {
    return writer->request >= 0 && writer->process == getpid();
}

static void *run(void *argument) {
    struct platform_writer *writer = argument;
    for (;;) {
        uint64_t count;
        if (read(writer->request, &count, sizeof count) < 0 && errno != EINTR) {
            return NULL; /* the program has closed the descriptor */
        }
        /* In this order: what was handed over before the end is written. */
        int is_last = __atomic_load_n(&writer->is_stopping, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&writer->state, __ATOMIC_ACQUIRE) == WORKING) {
            do_write(writer);
            __atomic_store_n(&writer->state, DONE, __ATOMIC_RELEASE);
            platform_wake(writer->answer);
        }
        if (is_last) {
            return NULL;
        }
    }
}

int32_t platform_writer_start(struct platform_writer *writer, int32_t poller, uint32_t channel) {
    static const struct platform_thread wanted = { .name = "smq-journal", .stack_bytes = 131072 };
    int error = 0;
    writer->state = IDLE;
    writer->is_stopping = 0;
    writer->process = getpid();
    writer->request = -1;
    if (poller < 0) {
        return 0;
    }
    writer->request = eventfd(0, EFD_CLOEXEC);
    if (writer->request < 0) {
        return errno;
    }
    writer->answer = platform_wake_open(poller, channel);
    if (writer->answer < 0) {
        error = -writer->answer;
        close(writer->request);
        return error;
    }
    error = platform_thread_start(&wanted, run, writer, &writer->thread);
    if (error != 0) {
        close(writer->request);
        close(writer->answer);
    }
    return error;
}

void platform_writer_write(struct platform_writer *writer) {
    if (!has_thread(writer)) {
        do_write(writer);
        writer->state = DONE;
        return;
    }
    __atomic_store_n(&writer->state, WORKING, __ATOMIC_RELEASE);
    platform_wake(writer->request);
}

int32_t platform_writer_result(struct platform_writer *writer) {
    int32_t state = __atomic_load_n(&writer->state, __ATOMIC_ACQUIRE);
    if (state == WORKING && !has_thread(writer)) {
        platform_writer_write(writer);
    } else if (state != DONE) {
        return -1;
    }
    writer->state = IDLE;
    return writer->error;
}

void platform_writer_stop(struct platform_writer *writer) {
    if (has_thread(writer)) {
        __atomic_store_n(&writer->is_stopping, 1, __ATOMIC_RELEASE);
        platform_wake(writer->request);
        platform_thread_join(writer->thread);
    }
    if (writer->request >= 0) {
        close(writer->request);
        close(writer->answer);
    }
    close(writer->file);
}
