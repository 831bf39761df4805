#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint32_t platform_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

int64_t platform_wall_clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

void platform_wall_clock_us(uint32_t age_ms, uint32_t halves[2]) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000u + (uint32_t)(now.tv_nsec / 1000) - (uint64_t)age_ms * 1000u;
    halves[0] = (uint32_t)time;
    halves[1] = (uint32_t)(time >> 32);
}

int64_t platform_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * For a process without /dev that may make hardly any system call: it mixes what the kernel gave the process
 * at exec, the time, and the process number.
 */
static uint32_t number_of_last_resort(void) {
    uint32_t seed[4] = { 0 };
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random) {
        memcpy(seed, random, sizeof seed);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint32_t parts[] = { seed[0],
                         seed[1],
                         seed[2],
                         seed[3],
                         (uint32_t)now.tv_sec,
                         (uint32_t)now.tv_nsec,
                         (uint32_t)getpid(),
                         (uint32_t)(uintptr_t)&now };
    uint32_t hash = 2166136261u;
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        hash = (hash ^ parts[part]) * 16777619u;
        hash ^= hash >> 15;
    }
    return hash;
}

#ifndef GRND_INSECURE
#define GRND_INSECURE 4
#endif

/*
 * Ten thousand boards that start at once must not draw the same numbers. While the kernel does not yet trust
 * its entropy, it gives what it has, to which the board's own addresses and interrupts contributed: by
 * getrandom() since Linux 5.6, by /dev/urandom always. Nothing here waits.
 */
void platform_random_bytes(void *bytes, size_t count) {
    if (getrandom(bytes, count, GRND_NONBLOCK) == (ssize_t)count ||
        getrandom(bytes, count, GRND_INSECURE) == (ssize_t)count) {
        return;
    }
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t read_count = 0;
    if (fd >= 0) {
        read_count = read(fd, bytes, count);
        close(fd);
    }
    if (read_count == (ssize_t)count) {
        return;
    }
    uint32_t number = number_of_last_resort();
    for (size_t index = 0; index < count; index++) {
        number = number * 1664525u + 1013904223u;
        ((uint8_t *)bytes)[index] = (uint8_t)(number >> 24);
    }
}

uint32_t platform_random(void) {
    uint32_t number;
    platform_random_bytes(&number, sizeof number);
    return number;
}
