/*
 * What becomes of a violation: the way to it, made as short as can be. A call that does not return is one, and a trap too.
 *
 * A call may take five seconds of the process's own processor time: a million times what it takes. That is the only bound that
 * is one of time, it does not depend on what else the machine does, and no call that returns comes near it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "explore.h"

enum {
    TICKS = 5,
    TICK_US = 1000000,
    SHORT_TICK_US = 5000
};

static volatile uint64_t step_number;
static sigjmp_buf way_out;
static const char *volatile found;
static volatile sig_atomic_t is_in_step;

void violation(const char *what) {
    found = what;
    siglongjmp(way_out, 1);
}

const char *take_action(int action, int *possible) {
    step_number++;
    if (sigsetjmp(way_out, 0) == 0) {
        is_in_step = 1;
        *possible = actions[action].take(actions[action].argument);
        is_in_step = 0;
        return NULL;
    }
    is_in_step = 0;
    return found;
}

/* ---- Signals */

static void ticked(int signal_number) {
    static volatile uint64_t last;
    static volatile int ticks;
    (void)signal_number;
    if (!is_in_step || last != step_number) {
        last = step_number;
        ticks = 0;
    } else if (++ticks >= TICKS) {
        ticks = 0;
        violation("a call that does not return");
    }
}

static void trapped(int signal_number) {
    if (is_in_step) violation("a trap in the library");
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void tick_every(long microseconds) {
    struct itimerval timer = { { microseconds / 1000000, microseconds % 1000000 },
                               { microseconds / 1000000, microseconds % 1000000 } };
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

void watch(void) {
    static const int traps[] = { SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT };
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_NODEFER; /* the handlers do not return */
    action.sa_handler = ticked;
    sigaction(SIGVTALRM, &action, NULL);
    action.sa_handler = trapped;
    for (size_t i = 0; i < sizeof traps / sizeof traps[0]; i++) sigaction(traps[i], &action, NULL);
    tick_every(TICK_US);
}

/* ---- Paths */

/* From the beginning; what is not possible is left out. Returns what is violated, and *length is where. */
const char *try_path(int *path, int *length) {
    static uint8_t saved[BLOCK_BYTES];
    static struct world saved_world;
    int done = 0;
    begin_again();
    for (int i = 0; i < *length; i++) {
        int possible = 0;
        memcpy(saved, block, block_size);
        saved_world = world;
        const char *what = take_action(path[i], &possible);
        if (what || possible) path[done++] = path[i];
        if (what) {
            *length = done;
            return what;
        }
        if (possible) continue;
        memcpy(block, saved, block_size);
        world = saved_world;
    }
    *length = done;
    return NULL;
}

/* Leaves out what can be left out. */
void shorten(int *path, int *length, const char *what) {
    static int shorter[LONGEST];
    tick_every(SHORT_TICK_US);
    for (int count = *length / 2; count > 0; count = count > 1 ? count / 2 : 0) {
        for (int from = 0; from + count <= *length;) {
            int left = *length - count;
            memcpy(shorter, path, (size_t)from * sizeof *path);
            memcpy(shorter + from, path + from + count, (size_t)(left - from) * sizeof *path);
            if (try_path(shorter, &left) == what) {
                memcpy(path, shorter, (size_t)left * sizeof *path);
                *length = left;
            } else {
                from += count;
            }
        }
    }
    tick_every(TICK_US);
}

void print_path(const int *path, int length) {
    for (int i = 0; i < length; i++) printf("  %3d  %s\n", i + 1, actions[path[i]].name);
}
