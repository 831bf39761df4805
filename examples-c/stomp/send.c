/*
 * Sends a message, and ends when the server has confirmed it: send [URL [DESTINATION [BODY]]]. Without a BODY each line of
 * standard input is one.
 */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

/* Sends one, and waits until it has ended. Returns its status. */
static int32_t send_one(sst_client *client, const char *destination, sst_bytes body) {
    sst_frame frame = SST_FRAME_INIT;
    sst_event event = SST_EVENT_INIT;
    frame.flags = SST_SEND_RECEIPT;
    frame.destination = sst_string(destination);
    frame.content_type = sst_string("text/plain");
    frame.body = body;
    int32_t status = sst_send(client, &frame);
    while (status >= 0) {
        while (sst_next_event(client, &event) == 1) {
            if (event.type == SST_EVENT_COMPLETED) return event.status;
            if (event.type == SST_EVENT_DISCONNECTED) {
                print_event(stderr, &event);
                return event.status;
            }
        }
        status = sst_wait(client, -1);
    }
    return status;
}

int main(int argc, char **argv) {
    sst_options options = SST_OPTIONS_INIT;
    options.url = sst_string(argc > 1 ? argv[1] : "stomp://guest:guest@127.0.0.1");
    options.flags = SST_OPTION_NO_RECONNECT; /* one attempt, and its result */
    const char *destination = argc > 2 ? argv[2] : "/queue/greetings";

    sst_client *client = NULL;
    sst_event event = SST_EVENT_INIT;
    void *memory = NULL;
    char line[1024];
    int32_t status = start(&client, &memory, &options);
    if (argc > 3) {
        if (status == SST_OK) status = send_one(client, destination, sst_string(argv[3]));
    } else {
        while (status == SST_OK && fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\n")] = '\0';
            status = send_one(client, destination, sst_string(line));
        }
    }
    if (status != SST_OK) failed("send", status);
    if (client && sst_client_state(client) != SST_STATE_DISCONNECTED) {
        sst_disconnect(client, 0);
        while (event.type != SST_EVENT_DISCONNECTED && sst_wait(client, -1) >= 0) sst_next_event(client, &event);
    }
    end(client, memory);
    return status == SST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
