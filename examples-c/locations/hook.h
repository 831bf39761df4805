/* The program of --on-text: it gets a text on its standard input, and its exit status says whether it took it. */
#ifndef HOOK_H
#define HOOK_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOOK_MS 60000 /* one that has not ended by then is killed, and has not taken the text */

struct hook {
    const char *program; /* NULL: there is none */
    pid_t process;       /* 0: it does not run */
    int64_t until_ms;
};

enum hook_end {
    HOOK_RUNS,
    HOOK_TOOK,
    HOOK_REFUSED
};

/* Starts the program. The text has less than 4,096 bytes, for which a new pipe has room: writing it never waits. */
static inline bool hook_start(struct hook *hook, const char *text, size_t size, int64_t now) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    bool written = write(ends[1], text, size) == (ssize_t)size;
    pid_t process = written ? fork() : -1;
    if (process == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* the loop has them blocked, and that would be inherited */
        signal(SIGPIPE, SIG_DFL);
        dup2(ends[0], STDIN_FILENO);
        execlp(hook->program, hook->program, (char *)NULL);
        fprintf(stderr, "locationd: %s: %s\n", hook->program, strerror(errno));
        _exit(127);
    }
    close(ends[0]);
    close(ends[1]);
    if (process < 0) return false;
    hook->process = process;
    hook->until_ms = now + HOOK_MS;
    return true;
}

static inline enum hook_end hook_look(struct hook *hook, int64_t now) {
    int status;
    if (now >= hook->until_ms) kill(hook->process, SIGKILL);
    pid_t ended = waitpid(hook->process, &status, WNOHANG);
    if (ended == 0) return HOOK_RUNS;
    hook->process = 0;
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? HOOK_TOOK : HOOK_REFUSED;
}

/* Ends it, if it runs: nobody wants its answer any more. */
static inline void hook_stop(struct hook *hook) {
    if (hook->process == 0) return;
    kill(hook->process, SIGKILL);
    while (waitpid(hook->process, NULL, 0) < 0 && errno == EINTR) {
    }
    hook->process = 0;
}

#endif
