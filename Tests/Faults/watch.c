/*
 * The library's calls, watched: each is passed on, and what it did to the calling thread is kept. A thread that had to
 * wait gave the processor away of its own accord (ru_nvcsw); one that was only interrupted by others did not (ru_nivcsw).
 * So what is told here of waiting does not depend on how busy the machine is. Processor time does: the clock of a thread
 * runs on while a hypervisor lets the whole machine lie.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include <swiftmqtt.h>

typedef struct watch {
    uint64_t calls;
    uint64_t waits;     /* calls in which the thread gave the processor away */
    int64_t longest_us; /* the longest of these, by the clock on the wall */
    int64_t busiest_us; /* the most processor time that a call took */
    int64_t slowest_us; /* the longest call, whatever the reason: to be printed, not to be judged by */
    int32_t
        waiting_for;   /* the call that longest_us is of: 1 service, 2 publish, 3 next_event, 4 connect, 5 disconnect */
    int32_t busy_with; /* the same of busiest_us */
    uint64_t heavy;    /* calls that took more processor time than limit_us */
    int64_t limit_us;
} watch;

typedef struct moment {
    int64_t wall, thread;
    long waits;
} moment;

static int64_t microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static moment begin(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (moment){ microseconds(CLOCK_MONOTONIC), microseconds(CLOCK_THREAD_CPUTIME_ID), usage.ru_nvcsw };
}

static int32_t end(watch *w, moment then, int32_t which, int32_t result) {
    int64_t thread = microseconds(CLOCK_THREAD_CPUTIME_ID) - then.thread;
    int64_t wall = microseconds(CLOCK_MONOTONIC) - then.wall;
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    w->calls++;
    if (wall > w->slowest_us) w->slowest_us = wall;
    if (thread > w->busiest_us) w->busiest_us = thread, w->busy_with = which;
    if (thread > w->limit_us) w->heavy++;
    if (usage.ru_nvcsw != then.waits) {
        w->waits++;
        if (wall > w->longest_us) w->longest_us = wall, w->waiting_for = which;
    }
    return result;
}

int32_t watched_service(watch *w, smq_client *client) {
    moment then = begin();
    return end(w, then, 1, smq_service(client));
}

int32_t watched_publish(watch *w, smq_client *client, const smq_message *message) {
    moment then = begin();
    return end(w, then, 2, smq_publish(client, message));
}

int32_t watched_next_event(watch *w, smq_client *client, smq_event *event) {
    moment then = begin();
    return end(w, then, 3, smq_next_event(client, event));
}

int32_t watched_connect(watch *w, smq_client *client) {
    moment then = begin();
    return end(w, then, 4, smq_connect(client));
}

int32_t watched_disconnect(watch *w, smq_client *client, uint32_t drain_ms) {
    moment then = begin();
    return end(w, then, 5, smq_disconnect(client, drain_ms));
}

/* To see that the watch sees: a call that waits, and one that works. */
int32_t watched_sleep(watch *w, int64_t nanoseconds) {
    moment then = begin();
    struct timespec time = { nanoseconds / 1000000000, nanoseconds % 1000000000 };
    return end(w, then, 0, nanosleep(&time, 0));
}

int32_t watched_work(watch *w, int64_t until_us) {
    moment then = begin();
    while (microseconds(CLOCK_THREAD_CPUTIME_ID) - then.thread < until_us) {
    }
    return end(w, then, 0, 0);
}
