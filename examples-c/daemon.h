/* What a daemon needs beside MQTT: SIGTERM and SIGINT ask it to stop, its clock only goes forward, its flags are numbers. */
#ifndef DAEMON_H
#define DAEMON_H

#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t stop = 0;

static inline void on_signal(int signal) { stop = signal; }

static inline void stop_on_signals(void) {
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static inline void refuse(const char *program, const char *flag, const char *why) {
    fprintf(stderr, "%s: %s %s\n", program, flag, why);
    exit(2);
}

/* What a flag or an argument says; it ends the program if that is not a number from least to most. */
static inline uint32_t number(const char *program, const char *flag, const char *text, uint32_t least, uint32_t most) {
    char *end, why[64];
    unsigned long long value = strtoull(text, &end, 10);
    snprintf(why, sizeof why, "takes a number from %lu to %lu", (unsigned long)least, (unsigned long)most);
    if (!isdigit((unsigned char)*text) || *end || value < least || value > most) refuse(program, flag, why);
    return (uint32_t)value;
}

#endif
