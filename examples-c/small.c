/*
 * A whole client in 2,272 bytes, 3 KiB on a 64-bit processor: small [URL] [COUNT]. It sends numbers to itself, with QoS 1
 * in both directions.
 *
 * Every buffer is as small as it can be: topic and payload of a message have about 50 bytes together.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "why.h"

static alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[sizeof(void *) == 4 ? 2272 : 3080];

static int32_t publish(smq_client *client, unsigned number) {
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1;
    message.quiet = 1; /* no event for a success */
    message.topic = smq_string("small/number");
    message.payload = smq_string(text);
    return smq_publish(client, &message);
}

int main(int argc, char **argv) {
    if (argc > 3) refuse("small", argv[3], "is one argument too many");
    unsigned count = argc > 2 ? number("small", "COUNT", argv[2], 1, UINT32_MAX) : 3;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.flags = SMQ_OPTION_NO_RECONNECT;
    options.outbox_bytes = 64;
    options.outbox_messages = 1;
    options.receive_bytes = 64;
    options.receive_maximum = 1;
    options.unreleased_maximum = 1;
    options.requests = 1;
    options.request_bytes = 32;
    options.control_bytes = 32;
    options.subscriptions = SMQ_OFF;
    options.addresses = 1;

    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, sizeof memory, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    unsigned number = 0;
    while (status >= 0 && event.type != SMQ_EVENT_DISCONNECTED) {
        status = smq_wait(client, -1);
        if (smq_next_event(client, &event) != 1) continue;
        if (event.type == SMQ_EVENT_MESSAGE && event.status) { /* another client's, too large here */
            print_why(stderr, client, &event);
            continue;
        }
        status = event.status;
        switch (event.type) {
        case SMQ_EVENT_CONNECTED:
            status = smq_subscribe_to(client, "small/number", 1, 0);
            break;
        case SMQ_EVENT_MESSAGE:
            printf("%.*s\n", (int)event.payload.size, (const char *)event.payload.data);
            if (++number == count) smq_disconnect(client, 1000);
            break;
        case SMQ_EVENT_DISCONNECTED:
            continue;
        default:
            break;
        }
        /* COMPLETED: subscribed; ROOM: the last number's PUBACK arrived after the number itself */
        if (status == SMQ_OK && event.type != SMQ_EVENT_CONNECTED && number < count) status = publish(client, number);
        if (status == SMQ_ERR_FULL) status = SMQ_OK; /* SMQ_EVENT_ROOM says when to try again */
    }
    if (event.status)
        print_why(stderr, client, &event);
    else if (status < 0)
        print_options_error(stderr, &options, status);
    if (status == SMQ_OK) printf("in %zu bytes\n", smq_client_size(&options));
    flush_output("small");
    smq_client_close(client);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
