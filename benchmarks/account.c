/* What a run took, and how it is written. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "parts.h"

extern uint64_t heap_allocations(void) __attribute__((weak)); /* heap.c, if it is there */

struct account account(int who) {
    struct rusage usage;
    struct account now = { .allocations = heap_allocations ? heap_allocations() : 0 };
    getrusage(who, &usage);
    now.cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    now.wake_ups = (uint64_t)usage.ru_nvcsw;
    now.wall_ns = monotonic_ns();
    return now;
}

void report(const struct account *begin, const struct account *end, uint64_t count) {
    char version[100] = "";
    peer.version(version, sizeof(version));
    printf("{\"peer\": \"%s\", \"version\": \"%s\", \"n\": %llu, \"begin_ns\": %llu, \"wall_ns\": %llu, \"cpu_ns\": "
           "%llu, \"wake_ups\": %llu",
           peer.name, version, (unsigned long long)count, (unsigned long long)begin->wall_ns,
           (unsigned long long)(end->wall_ns - begin->wall_ns), (unsigned long long)(end->cpu_ns - begin->cpu_ns),
           (unsigned long long)(end->wake_ups - begin->wake_ups));
    if (heap_allocations)
        printf(", \"allocations\": %llu", (unsigned long long)(end->allocations - begin->allocations));
}

static int order(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

void report_times(uint64_t *times, uint64_t count) {
    qsort(times, count, sizeof(*times), order);
    printf(", \"p50_ns\": %llu, \"p99_ns\": %llu, \"p999_ns\": %llu", (unsigned long long)times[count / 2],
           (unsigned long long)times[count * 99 / 100], (unsigned long long)times[count * 999 / 1000]);
}
