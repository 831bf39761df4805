/* MQTT 5.0's request and response in one program, which asks for the time and answers itself: request [URL] */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>

#include "why.h"

/* The responder: a handler for a Topic Filter. */
static void answer(void *user, smq_client *client, const smq_event *request) {
    char text[32];
    time_t now = time(NULL);
    smq_message reply = SMQ_MESSAGE_INIT;
    (void)user;
    strftime(text, sizeof(text), "%H:%M:%S", localtime(&now));
    reply.payload = smq_string(text);
    reply.quiet = 1;
    smq_respond(client, request, &reply);
}

int main(int argc, char **argv) {
    if (argc > 2) refuse("request", argv[2], "is one argument too many");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.protocol = SMQ_PROTOCOL_5_0;
    options.flags = SMQ_OPTION_NO_RECONNECT;
    options.handlers = 1;
    options.replies = 1;

    smq_subscription filters[] = { SMQ_SUBSCRIPTION_INIT, SMQ_SUBSCRIPTION_INIT };
    filters[0].filter = smq_string("example/time");
    filters[1].filter = smq_string("example/time/replies");
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 2;
    subscriptions.list = filters;

    smq_message question = SMQ_MESSAGE_INIT;
    question.topic = filters[0].filter;

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_handle(client, 0, &filters[0].filter, answer, NULL);
    if (status == SMQ_OK) status = smq_subscribe(client, &subscriptions);
    if (status == SMQ_OK) status = smq_connect(client);
    while (status >= 0 && event.type != SMQ_EVENT_DISCONNECTED) {
        status = smq_wait(client, -1);
        if (status < 1 || smq_next_event(client, &event) != 1) continue;
        smq_dispatch(client, &event);
        if (event.type == SMQ_EVENT_COMPLETED) /* subscribed: now ask */
            status = event.status ? event.status : smq_request(client, &question, &filters[1].filter, 5000);
        if (event.type == SMQ_EVENT_REPLY) {
            if (event.status == SMQ_OK) printf("%.*s\n", (int)event.payload.size, (const char *)event.payload.data);
            flush_output("request");
            status = event.status;
            smq_disconnect(client, 0);
        }
        if (event.type == SMQ_EVENT_DISCONNECTED) status = event.status;
    }
    if (event.status)
        print_why(stderr, client, &event);
    else if (status < 0)
        print_options_error(stderr, &options, status);
    smq_client_close(client);
    free(memory);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
