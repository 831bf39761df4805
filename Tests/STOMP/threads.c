/* threads URL DESTINATION THREADS COUNT: a runner owns the client, and threads submit messages with receipts to it. Prints
   what the client counted. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftstomp.h>
#include <time.h>

static sst_client *client;
static const char *destination;
static long count;
static atomic_long delivered, failed, logged, pauses;

static void on_event(void *user, sst_client *owner, const sst_event *event) {
    (void)user;
    (void)owner;
    if (event->type != SST_EVENT_COMPLETED) return;
    atomic_fetch_add(event->status == SST_OK ? &delivered : &failed, 1);
}

static void on_log(void *user, int32_t level, int32_t what, int32_t number, int32_t other) {
    (void)user;
    (void)number;
    (void)other;
    if (level == SST_LOG_INFO && what == SST_LOG_CONNECTED) atomic_fetch_add(&logged, 1);
}

static void *submit(void *argument) {
    const struct timespec moment = { 0, 1000000 };
    char body[40];
    for (long number = 0; number < count; number++) {
        sst_frame frame = SST_FRAME_INIT;
        snprintf(body, sizeof body, "%ld %ld", (long)(size_t)argument, number);
        frame.destination = sst_string(destination);
        frame.body = sst_string(body);
        frame.flags = SST_SEND_RECEIPT;
        int32_t status;
        while ((status = sst_submit(client, &frame)) == SST_ERR_FULL) {
            atomic_fetch_add(&pauses, 1);
            nanosleep(&moment, NULL);
        }
        if (status != SST_OK) {
            fprintf(stderr, "sst_submit: %s\n", sst_status_name(status));
            exit(1);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    pthread_t threads[16];
    sst_options options = SST_OPTIONS_INIT;
    sst_runner runner = SST_RUNNER_INIT;
    sst_runner_options run = SST_RUNNER_OPTIONS_INIT;
    options.url = sst_string(argv[1]);
    options.virtual_host = sst_string(getenv("STOMP_HOST"));
    options.submit_frames = 8;
    options.submit_bytes = 128;
    options.outbox_bytes = 4096;
    options.outbox_frames = 16;
    destination = argv[2];
    long many = strtol(argv[3], NULL, 10);
    count = strtol(argv[4], NULL, 10);
    size_t size = sst_client_size(&options);
    void *memory = malloc(size);
    int32_t status = sst_client_init(memory, size, &options, &client);
    sst_set_log(client, SST_LOG_INFO, on_log, NULL);
    run.on_event = on_event;
    if (status == SST_OK) status = sst_runner_start(&runner, client, &run);
    if (status != SST_OK) return 1;
    if (sst_runner_start(&runner, client, &run) != SST_ERR_STATE) return 3;
    for (long i = 0; i < many; i++) pthread_create(&threads[i], NULL, submit, (void *)(size_t)i);
    for (long i = 0; i < many; i++) pthread_join(threads[i], NULL);
    if (sst_runner_stop(&runner, 30000) != SST_OK) return 4;
    sst_stats stats = SST_STATS_INIT;
    if (sst_client_stats(client, &stats) != SST_OK) return 5;
    printf("delivered %ld failed %ld logged %ld\n", delivered, failed, logged);
    printf("sent %llu submitted %llu full %s waiting %u outbox %u connections %u\n",
           (unsigned long long)stats.messages_sent, (unsigned long long)stats.submitted,
           (long)stats.submit_full == pauses ? "as counted" : "wrong", stats.submit_waiting, stats.outbox_frames,
           stats.connections);
    sst_client_close(client);
    free(memory);
    return 0;
}
