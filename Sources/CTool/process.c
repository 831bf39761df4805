#include "tool.h"

#include "programs.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int32_t event = -1;

static void on_signal(int number) {
    caught = number;
    platform_wake(event);
}

void tool_ignore_broken_pipes(void) { signal(SIGPIPE, SIG_IGN); }

int32_t tool_catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    event = platform_event_open();
    if (event < 0) return event;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESETHAND; /* without SA_RESTART, so that a signal interrupts what waits */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return event;
}

int32_t tool_caught_signal(void) { return caught; }

const char *tool_resolve_text(int32_t error) {
    return error == EAI_INPROGRESS ? "no answer in time" : gai_strerror(error);
}

int32_t tool_error(void) { return errno; }

int32_t tool_process_id(void) { return getpid(); }

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
