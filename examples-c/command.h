/* Uses a command as the transport: a socket is its standard input and output. */
#ifndef COMMAND_H
#define COMMAND_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Starts the command, with a socket for its input and output. Returns our end of it, or -1 with errno set. */
static inline int start_command(char **command, pid_t *child) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return -1;
    pid_t process = fork();
    if (process < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    if (process == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    close(ends[1]);
    *child = process;
    return ends[0];
}

/* Ends the command: with SIGKILL if it ignores SIGTERM for a second. */
static inline void end_command(int *fd, pid_t *child) {
    const struct timespec moment = { 0, 10000000 };
    if (*fd >= 0) close(*fd);
    *fd = -1;
    if (*child <= 0) return;
    kill(*child, SIGTERM);
    for (int i = 0; i < 100; i++) {
        if (waitpid(*child, NULL, WNOHANG) != 0) {
            *child = 0;
            return;
        }
        nanosleep(&moment, NULL);
    }
    kill(*child, SIGKILL);
    while (waitpid(*child, NULL, 0) < 0 && errno == EINTR) {
    }
    *child = 0;
}

#endif
