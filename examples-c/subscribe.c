/* Prints what arrives, however often the server goes away: subscribe [URL [FILTER]]. Ctrl-C leaves. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "why.h"

static volatile sig_atomic_t is_leaving = 0;

static void leave(int signal) {
    (void)signal;
    is_leaving = 1;
}

static void print(const smq_event *event) {
    printf("%.*s", (int)event->topic.size, (const char *)event->topic.data);
    if (event->retain) printf(" (retained)");
    if (event->status) printf(" (%u bytes, too large)", event->payload_total);
    printf(": %.*s\n", (int)event->payload.size, (const char *)event->payload.data);
    fflush(stdout);
}

int main(int argc, char **argv) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.protocol = SMQ_PROTOCOL_5_0;
    options.flags = SMQ_OPTION_FALLBACK; /* to a server that does not speak it */

    smq_subscription wanted = { { NULL, 0 }, 0, 0, 0, 0, 0 };
    wanted.filter = smq_string(argc > 2 ? argv[2] : "#");
    wanted.qos = 2;
    smq_subscriptions request = SMQ_SUBSCRIPTIONS_INIT;
    request.count = 1;
    request.list = &wanted;

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_subscribe(client, &request); /* again by itself, when the server has lost it */
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    signal(SIGINT, leave);
    signal(SIGTERM, leave);
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        if (is_leaving) smq_disconnect(client, 0);
        smq_wait(client, 1000);
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_MESSAGE) print(&event); /* acknowledged by the next call */
            if (event.type == SMQ_EVENT_COMPLETED && event.status) {
                fprintf(stderr, "not subscribed: ");
                print_why(stderr, &event);
                smq_disconnect(client, 0);
            }
            if (event.type == SMQ_EVENT_DISCONNECTED && event.status) print_why(stderr, &event);
        }
    }
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
