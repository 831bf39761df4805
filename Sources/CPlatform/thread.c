#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

static int set_up(pthread_attr_t *attributes, const struct platform_thread *wanted) {
    int error = 0;
    if (wanted->is_detached) {
        pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
    }
    if (wanted->stack_bytes != 0) {
        error = pthread_attr_setstacksize(attributes, wanted->stack_bytes);
    }
    if (error == 0 && wanted->priority > 0) {
        struct sched_param parameters = { .sched_priority = wanted->priority };
        pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(attributes, SCHED_FIFO);
        error = pthread_attr_setschedparam(attributes, &parameters);
    }
    return error;
}

int32_t platform_thread_start(const struct platform_thread *wanted, void *(*body)(void *), void *argument,
                              uintptr_t *thread) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t started;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = set_up(&attributes, wanted);
    if (error == 0) {
        /* A thread inherits the signal mask of its creator. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, wanted->takes_signals ? NULL : &all, &before);
        error = pthread_create(&started, &attributes, body, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (error == 0 && !wanted->is_detached) {
        if (wanted->name[0] != 0) {
            pthread_setname_np(started, wanted->name);
        }
        *thread = (uintptr_t)started;
    }
    return error;
}

void platform_thread_join(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }

void platform_thread_detach(uintptr_t thread) { pthread_detach((pthread_t)thread); }

uintptr_t platform_thread_self(void) { return (uintptr_t)pthread_self(); }
