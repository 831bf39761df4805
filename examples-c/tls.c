/*
 * Publishes one message over TLS, and says why if the server is not the one that it should be: tls [URL [CA-FILE]]
 *
 * Without CA-FILE, the CAs of the system are trusted. It needs libswiftmqtt-tls: pkg-config swiftmqtt-tls.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt-tls.h>

#include "why.h"

int main(int argc, char **argv) {
    if (argc > 3) refuse("tls", argv[3], "is one argument too many");
    smq_tls_options settings = SMQ_TLS_OPTIONS_INIT;
    smq_tls_failure why = { .size = sizeof why };
    smq_tls *tls = NULL;
    settings.ca_file = smq_string(argc > 2 ? argv[2] : NULL);
    if (smq_tls_open(&settings, &tls, &why) != SMQ_OK) refuse("tls", why.text, "is why the settings cannot be used");

    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtts://127.0.0.1");
    options.flags = SMQ_OPTION_NO_RECONNECT; /* one attempt, and its result */
    options.tls = smq_tls_openssl();
    options.tls_settings = tls;
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status == SMQ_OK) status = smq_publish_text(client, "greetings/hello", "Hello over TLS", 1, 0);
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
    smq_tls_close(tls); /* no client has it any more */
    free(memory);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
