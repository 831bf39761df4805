/* A runner prints received messages while the program sleeps until SIGTERM: listen [URL [FILTER]] */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "why.h"

/* Runs in the runner's thread. */
static void on_event(void *user, smq_client *client, const smq_event *event) {
    (void)user;
    if (event->status) { /* a message may have a status, too: one that is too large has no payload */
        print_why(stderr, client, event);
    } else if (event->type == SMQ_EVENT_MESSAGE) {
        printf("%.*s: %.*s\n", (int)event->topic.size, (const char *)event->topic.data, (int)event->payload.size,
               (const char *)event->payload.data);
        flush_output("listen");
    }
}

int main(int argc, char **argv) {
    if (argc > 3) refuse("listen", argv[3], "is one argument too many");
    /* Before there is a second thread, so that no signal is delivered to it. */
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    smq_runner runner = SMQ_RUNNER_INIT;
    smq_runner_options running = SMQ_RUNNER_OPTIONS_INIT;
    running.on_event = on_event;

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_subscribe_to(client, argc > 2 ? argv[2] : "#", 1, 0);
    if (status == SMQ_OK) status = smq_runner_start(&runner, client, &running); /* this also connects */
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    sigwait(&signals, &signal);
    smq_runner_stop(&runner, 1000);
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
