/*
 * Prints what gateways publish (sensord.c), with a handler for each kind of message: subscribe [URL [FILTER]]. The
 * default FILTER is gateway/#; "#" prints everything. It reconnects whenever it loses the server; Ctrl-C ends it.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "daemon.h"
#include "why.h"

#define TEXT(bytes) (int)(bytes).size, (const char *)(bytes).data /* for %.*s */

/* The level of a topic with this number, counted from 0. */
static smq_bytes level(smq_bytes topic, int wanted) {
    const char *start = topic.data, *end = start + topic.size, *slash;
    while ((slash = memchr(start, '/', (size_t)(end - start))) && wanted-- > 0) start = slash + 1;
    smq_bytes found = { start, (size_t)((slash ? slash : end) - start) };
    return found;
}

static void on_status(void *user, smq_client *client, const smq_event *event) {
    (void)user;
    (void)client;
    smq_bytes gateway = level(event->topic, 1);
    printf("%.*s is %.*s%s\n", TEXT(gateway), TEXT(event->payload), event->retain ? ", as it was before" : "");
}

/* The handler owns what user points to: here a count. */
static void on_temperature(void *user, smq_client *client, const smq_event *event) {
    unsigned *count = user;
    (void)client;
    smq_bytes gateway = level(event->topic, 1), sensor = level(event->topic, 3);
    printf("%.*s, temperature %u of %.*s: %.*s\n", TEXT(gateway), ++*count, TEXT(sensor), TEXT(event->payload));
}

static void print(const smq_event *event) {
    printf("%.*s: ", TEXT(event->topic));
    if (event->status) /* a message larger than the receive buffer has only its topic and size */
        printf("%u bytes, too large\n", (unsigned)event->payload_total);
    else
        printf("%.*s\n", TEXT(event->payload));
}

struct handler {
    const char *filter;
    smq_handler function;
    void *user;
};

int main(int argc, char **argv) {
    if (argc > 3) refuse("subscribe", argv[3], "is one argument too many");
    unsigned temperatures = 0;
    /* The first that matches gets the message. */
    const struct handler handlers[] = { { "gateway/+/status", on_status, NULL },
                                        { "gateway/+/temperature/+", on_temperature, &temperatures } };
    const uint32_t count = sizeof handlers / sizeof *handlers;

    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.protocol = SMQ_PROTOCOL_5_0;
    options.flags = SMQ_OPTION_FALLBACK; /* for a server that does not speak 5.0 */
    options.handlers = count;

    /* One subscription: if several match, most servers send the message once for each. */
    const char *wanted = argc > 2 ? argv[2] : "gateway/#";

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client), result = EXIT_SUCCESS;
    for (uint32_t i = 0; i < count && status == SMQ_OK; i++) {
        smq_bytes filter = smq_string(handlers[i].filter);
        status = smq_handle(client, i, &filter, handlers[i].function, handlers[i].user);
    }
    if (status == SMQ_OK) status = smq_subscribe_to(client, wanted, 2, 0); /* resubscribed if the server loses it */
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    stop_on_signals();
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        if (stop) smq_disconnect(client, 0);
        smq_wait(client, 1000);
        while (smq_next_event(client, &event) == 1) {
            /* The next call acknowledges the message that was handled or printed. */
            if (!smq_dispatch(client, &event) && event.type == SMQ_EVENT_MESSAGE) print(&event);
            flush_output("subscribe");
            if (event.type == SMQ_EVENT_COMPLETED && event.status) {
                fprintf(stderr, "not subscribed: ");
                print_why(stderr, client, &event);
                result = EXIT_FAILURE;
                smq_disconnect(client, 0);
            }
            if (event.type == SMQ_EVENT_DISCONNECTED && event.status) print_why(stderr, client, &event);
        }
    }
    smq_client_close(client);
    free(memory);
    return result;
}
