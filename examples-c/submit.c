/*
 * A thread that must not be late measures every 10 ms how late it is, and submits the result; the main thread runs the
 * client: submit [URL [SAMPLES]]. With CAP_SYS_NICE the measuring thread is SCHED_FIFO. SIGTERM ends it early. It
 * fails if not all samples were sent.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>

#include "daemon.h"
#include "why.h"

enum {
    PERIOD_NS = 10000000,
    LAST = 1 /* the cookie of the last sample */
};

static smq_client *client;
static uint32_t samples = 1000, taken, missed;

static void *measure(void *unused) {
    const struct timespec moment = { 0, 1000000 };
    char text[16];
    struct timespec due, now;
    smq_message sample = SMQ_MESSAGE_INIT;
    sample.topic = smq_string("example/lateness-us");
    sample.expiry_s = 5; /* older samples are of no use */
    sample.quiet = 1;
    clock_gettime(CLOCK_MONOTONIC, &due);
    do {
        due.tv_nsec += PERIOD_NS;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(text, sizeof(text), "%ld",
                 (long)(now.tv_sec - due.tv_sec) * 1000000 + (now.tv_nsec - due.tv_nsec) / 1000);
        sample.payload = smq_string(text);
        if (++taken == samples || stop) {
            sample.quiet = 0;
            sample.cookie = LAST;
            while (smq_submit(client, &sample) == SMQ_ERR_FULL) nanosleep(&moment, NULL);
        } else if (smq_submit(client, &sample) != SMQ_OK) { /* it never waits: without room the sample is lost */
            missed++;
        }
    } while (sample.cookie != LAST);
    return unused;
}

static pthread_t start(void) {
    pthread_t thread;
    pthread_attr_t urgent;
    struct sched_param priority = { 10 };
    pthread_attr_init(&urgent);
    pthread_attr_setinheritsched(&urgent, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&urgent, SCHED_FIFO);
    pthread_attr_setschedparam(&urgent, &priority);
    if (pthread_create(&thread, &urgent, measure, NULL) != 0 && pthread_create(&thread, NULL, measure, NULL) != 0)
        refuse("submit", "cannot start", "its thread");
    pthread_attr_destroy(&urgent);
    return thread;
}

int main(int argc, char **argv) {
    if (argc > 3) refuse("submit", argv[3], "is one argument too many");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.submit_messages = 256;
    options.submit_bytes = 64; /* topic and payload */
    if (argc > 2) samples = number("submit", "SAMPLES", argv[2], 1, UINT32_MAX);

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    stop_on_signals();
    pthread_t thread = start();
    int is_done = 0;
    while (!is_done) {
        smq_wait(client, 1000); /* ends expired samples, sends the others */
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_DISCONNECTED) print_why(stderr, client, &event);
            if (event.type == SMQ_EVENT_COMPLETED && event.cookie == LAST) is_done = 1;
        }
    }
    pthread_join(thread, NULL);
    smq_disconnect(client, 1000);
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED)
        if (smq_wait(client, 100) == 1) smq_next_event(client, &event);
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    printf("%u samples, %u missed, %llu not sent, at most %u waiting\n", (unsigned)taken, (unsigned)missed,
           (unsigned long long)stats.messages_failed, (unsigned)stats.submit_peak);
    flush_output("submit");
    smq_client_close(client);
    free(memory);
    return missed || stats.messages_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
