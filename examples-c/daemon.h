/* What a daemon needs besides MQTT: it stops on SIGTERM and SIGINT, and its clock only goes forward. */
#ifndef DAEMON_H
#define DAEMON_H

#include <signal.h>
#include <stdint.h>
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

#endif
