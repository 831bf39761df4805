/* Publishes one message, and disconnects when the server has it: publish [URL] */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "why.h"

int main(int argc, char **argv) {
    if (argc > 2) refuse("publish", argv[2], "is one argument too many");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.flags = SMQ_OPTION_NO_RECONNECT; /* one attempt, and its result */

    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status == SMQ_OK) status = smq_publish_text(client, "greetings/hello", "Hello from C", 1, 0);
    while (status >= 0 && event.type != SMQ_EVENT_DISCONNECTED) {
        status = smq_wait(client, -1);
        if (smq_next_event(client, &event) == 1) status = event.status;
        if (event.type == SMQ_EVENT_COMPLETED) smq_disconnect(client, 0);
    }
    if (event.status)
        print_why(stderr, client, &event);
    else if (status < 0)
        print_options_error(stderr, &options, status);
    smq_client_close(client);
    free(memory);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
