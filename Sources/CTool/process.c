#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int told = -1;

static void on_signal(int number) {
    int before = errno;
    caught = number;
    if (eventfd_write(told, 1) < 0) errno = before;
}

void tool_ignore_broken_pipes(void) { signal(SIGPIPE, SIG_IGN); }

int32_t tool_catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (told < 0) return -errno;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESETHAND; /* and no SA_RESTART: what waits is interrupted */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return told;
}

int32_t tool_caught_signal(void) { return caught; }

const char *tool_error_text(int32_t error) { return strerror(error); }

const char *tool_resolve_text(int32_t error) {
    return error == EAI_INPROGRESS ? "no answer in time" : gai_strerror(error);
}

const char *tool_environment(const void *name) { return getenv(name); }

int32_t tool_process_id(void) { return getpid(); }

void tool_random(void *buffer, size_t size) {
    char *next = buffer;
    while (size > 0) {
        ssize_t count = getrandom(next, size, 0);
        if (count > 0) {
            next += count;
            size -= (size_t)count;
        }
    }
}

int64_t tool_allow_descriptors(int64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
    if (limit.rlim_cur < (rlim_t)wanted) {
        struct rlimit raised = { (rlim_t)wanted, limit.rlim_max < (rlim_t)wanted ? (rlim_t)wanted : limit.rlim_max };
        if (setrlimit(RLIMIT_NOFILE, &raised) < 0) {
            raised.rlim_cur = raised.rlim_max = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &raised);
        }
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur == RLIM_INFINITY ? INT64_MAX : (int64_t)limit.rlim_cur;
}
