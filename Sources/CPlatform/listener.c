#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What a reader has not read takes memory of the kernel only as long as it lies there. */
#define SEND_BUFFER (1 << 20)

static int socket_at(const char *path, struct sockaddr_un *address) {
    size_t length = strlen(path);
    if (length > PLATFORM_MAX_SOCKET_PATH) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int32_t platform_inspect(const char *path) {
    struct sockaddr_un address;
    int fd = socket_at(path, &address);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

/* The path is a socket of a process that is gone: every connection is refused. */
static int is_left_behind(const char *path) {
    struct stat status;
    if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode)) {
        return 0;
    }
    int32_t fd = platform_inspect(path);
    if (fd >= 0) {
        close(fd);
    }
    return fd == -ECONNREFUSED;
}

/*
 * Locks the directory of a path against others who listen there: between bind() and listen() a socket looks like one that
 * was left behind, and of two who find one that was, the second would remove that of the first. Returns a descriptor to
 * close; -1 if there is no lock to be had within a second, which is better than no socket.
 */
static int lock_directory(const char *path) {
    char directory[PLATFORM_MAX_SOCKET_PATH + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash != NULL) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        for (size_t index = 0; index < length; index++) {
            directory[index] = path[index];
        }
        directory[length] = 0;
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int turn = 0; fd >= 0 && turn < 100; turn++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return fd;
        }
        poll(NULL, 0, 10);
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static int bind_to(int fd, const char *path, const struct sockaddr_un *address) {
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
        return 0;
    }
    int error = errno;
    if (error != EADDRINUSE || !is_left_behind(path)) {
        errno = error;
        return -1;
    }
    unlink(path);
    return bind(fd, (const struct sockaddr *)address, sizeof *address);
}

/* The path of a file that a descriptor has open. */
static void name_of(int fd, char name[static 32]) {
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd > 0);
    static const char folder[] = "/proc/self/fd/";
    memcpy(name, folder, sizeof folder);
    char *end = name + sizeof folder - 1;
    while (count > 0) {
        *end++ = digits[--count];
    }
    *end = 0;
}

/*
 * Gives the socket that bind() has made at path the permissions that umask took from it. Who may write to the directory may
 * have put something else there, such as a link to a file that only this process may change. So what is there is
 * opened first, then looked at, and then changed without its path.
 */
static int permit(const char *path, uint32_t permissions, struct platform_file *file) {
    struct stat status;
    char name[32];
    int result = -1;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &status) == 0) {
        if (S_ISSOCK(status.st_mode) && status.st_nlink == 1) {
            file->device = status.st_dev;
            file->inode = status.st_ino;
            name_of(fd, name);
            result = (status.st_mode & 07777) == permissions ? 0 : chmod(name, permissions);
        } else {
            errno = EADDRINUSE;
        }
    }
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static int32_t listen_at(const char *path, uint32_t permissions, struct platform_file *file) {
    struct sockaddr_un address;
    int fd = socket_at(path, &address);
    if (fd < 0) {
        return -errno;
    }
    /* bind() gives the file the permissions of the socket, without those of umask. */
    if (fchmod(fd, permissions) < 0 || bind_to(fd, path, &address) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    file->inode = 0;
    if (permit(path, permissions, file) < 0 || listen(fd, 4) < 0) {
        int error = errno;
        platform_unlink_socket(path, file);
        close(fd);
        return -error;
    }
    return fd;
}

int32_t platform_listen(const char *path, uint32_t permissions, struct platform_file *file) {
    if (strlen(path) > PLATFORM_MAX_SOCKET_PATH) {
        return -ENAMETOOLONG;
    }
    int lock = lock_directory(path);
    int32_t fd = listen_at(path, permissions, file);
    if (lock >= 0) {
        close(lock);
    }
    return fd;
}

void platform_unlink_socket(const char *path, const struct platform_file *file) {
    struct stat status;
    if (lstat(path, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode) {
        unlink(path);
    }
}

int32_t platform_accept(int32_t fd) {
    int size = SEND_BUFFER;
    int reader = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (reader < 0) {
        return -errno;
    }
    setsockopt(reader, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return reader;
}
