/* What the files of a load have in common: load.c runs the workloads, waiting.c waits, account.c measures, asking.c asks the sink. */
#ifndef PARTS_H
#define PARTS_H

#include <stdatomic.h>

#include "load.h"
#include "sink.h"

enum {
    PATIENCE_S = 30 /* nothing happens for so long: it never will */
};

extern struct settings settings;
extern char topic[sizeof(SINK_TOPIC)];

/* ---- waiting.c: what the peer has told, and turns of its loop until it has told enough */

struct counter {
    atomic_uint_fast64_t value;
    atomic_uint_fast64_t wanted; /* from when on a thread of the peer wakes up who sleeps in turn() */
};

extern struct counter completed, arrived;

static inline uint64_t value(struct counter *counter) {
    return atomic_load_explicit(&counter->value, memory_order_acquire);
}

void turn(int milliseconds);
/* Until a counter has come so far. */
void await(struct counter *counter, uint64_t target);

/* ---- asking.c: the sink */

void open_control(const char *path);
bool has_sink(void); /* or it is a broker, which tells nothing */
void request(uint32_t what, uint64_t messages, uint64_t acknowledged);
/* The answer, and whether it is there: only with MSG_DONTWAIT may it not be. */
bool take_counts(struct sink_counts *counts, int flags);
struct sink_counts ask(uint32_t what, uint64_t messages);
/* Ends the run unless the sink has so many messages, each of them whole. */
void compare(const struct sink_counts *counts, uint64_t expected);

/* ---- account.c: what a run took, as JSON */

struct account {
    uint64_t wall_ns, cpu_ns, wake_ups, allocations;
};

struct account account(int who); /* RUSAGE_SELF, RUSAGE_CHILDREN */
void report(const struct account *begin, const struct account *end, uint64_t count);
void report_times(uint64_t *times, uint64_t count); /* sorts them */

#endif
