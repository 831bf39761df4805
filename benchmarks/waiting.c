/* Waits for what the peer tells, be it in a turn of its loop or from a thread of its own. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

struct counter completed = { 0, UINT64_MAX }, arrived = { 0, UINT64_MAX };
static atomic_bool is_asleep;
static sem_t wake_up;

static void add(struct counter *counter, uint64_t count) {
    if (!peer.has_threads) { /* nobody to be atomic for */
        uint64_t value = atomic_load_explicit(&counter->value, memory_order_relaxed);
        atomic_store_explicit(&counter->value, value + count, memory_order_relaxed);
        return;
    }
    uint64_t sum = atomic_fetch_add(&counter->value, count) + count;
    if (sum >= counter->wanted && atomic_exchange(&is_asleep, false)) sem_post(&wake_up);
}

void load_completed(unsigned count) { add(&completed, count); }

void load_arrived(size_t topic_size, const void *bytes, size_t size) {
    const uint8_t *byte = bytes;
    if (topic_size != sizeof(topic) - 1 || size != settings.payload_bytes) load_fail("a message that was not sent");
    if (byte[0] != 'x' || byte[size - 1] != 'x') load_fail("a message with other bytes than were sent");
    add(&arrived, 1);
}

void load_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", peer.name);
    vfprintf(stderr, format, list);
    fprintf(stderr, " (%llu completed, %llu arrived)\n", (unsigned long long)value(&completed),
            (unsigned long long)value(&arrived));
    va_end(list);
    _exit(1);
}

static void sleep_for(int milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    sem_timedwait(&wake_up, &until);
}

void turn(int milliseconds) {
    if (!peer.has_threads) {
        peer.turn(milliseconds);
        return;
    }
    atomic_store(&is_asleep, true);
    if (completed.value < completed.wanted && arrived.value < arrived.wanted) sleep_for(milliseconds);
    atomic_store(&is_asleep, false);
}

void await(struct counter *counter, uint64_t target) {
    uint64_t since = 0, last = value(counter);
    atomic_store(&counter->wanted, target);
    while (value(counter) < target) {
        turn(1000);
        if (value(counter) != last) {
            last = value(counter);
            since = 0;
        } else if (!since) {
            since = monotonic_ns();
        } else if (monotonic_ns() - since > PATIENCE_S * 1000000000ull) {
            load_fail("waited in vain for %llu", (unsigned long long)target);
        }
    }
    atomic_store(&counter->wanted, UINT64_MAX);
}
