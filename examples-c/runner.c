/* Two threads submit the numbers that they count; a thread of the library owns the client: runner [URL] */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>

#include "why.h"

enum {
    COUNT = 100
};

static smq_client *client;

/* Runs in the runner's thread, which may call anything on the client. */
static void on_event(void *user, smq_client *owned, const smq_event *event) {
    unsigned *delivered = user;
    if (event->type == SMQ_EVENT_COMPLETED && event->status == SMQ_OK) ++*delivered;
    if (event->type == SMQ_EVENT_DISCONNECTED && event->status != SMQ_OK) print_why(stderr, owned, event);
}

/* Runs in threads of the program, which may only call smq_submit() on the client. */
static void *count(void *topic) {
    const struct timespec moment = { 0, 1000000 };
    char text[16];
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1;
    message.topic = smq_string(topic);
    for (int number = 1; number <= COUNT; number++) {
        int32_t status;
        snprintf(text, sizeof(text), "%d", number);
        message.payload = smq_string(text);
        while ((status = smq_submit(client, &message)) == SMQ_ERR_FULL) nanosleep(&moment, NULL);
        if (status != SMQ_OK) fprintf(stderr, "%s\n", smq_status_name(status));
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 2) refuse("runner", argv[2], "is one argument too many");
    static char *topics[] = { "count/one", "count/two" };
    pthread_t threads[2];
    unsigned delivered = 0;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.submit_messages = 64;
    smq_runner runner = SMQ_RUNNER_INIT;
    smq_runner_options how = SMQ_RUNNER_OPTIONS_INIT;
    how.on_event = on_event;
    how.user = &delivered;

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_runner_start(&runner, client, &how); /* it connects */
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, count, topics[i]) != 0) refuse("runner", "cannot start", "its threads");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    smq_runner_stop(&runner, 5000); /* delivers what was submitted, if connected; now this thread owns the client */
    printf("%u of %d delivered\n", delivered, 2 * COUNT);
    flush_output("runner");
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    if (stats.outbox_messages + stats.submit_waiting > 0)
        fprintf(stderr, "messages left: %u\n", stats.outbox_messages + stats.submit_waiting);
    smq_client_close(client);
    free(memory);
    return delivered == 2 * COUNT ? EXIT_SUCCESS : EXIT_FAILURE;
}
