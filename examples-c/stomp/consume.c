/*
 * Consumes messages, each acknowledged for itself: consume [URL [DESTINATION [SELECTOR]]]. A message whose body begins with
 * "bad" is refused: ActiveMQ then moves it to its dead letter queue, but RabbitMQ delivers it again at once, without end. A
 * program for RabbitMQ acknowledges what it cannot use. The client reconnects, and subscribes again, whenever it loses the
 * server; Ctrl-C ends the program.
 */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

static void take(sst_client *client, const sst_event *message) {
    sst_bytes name, value;
    size_t position = 0;
    if (message->part & SST_PART_FIRST) {
        printf("%.*s\n", (int)message->destination.size, (const char *)message->destination.data);
        while (sst_header_next(message, &position, &name, &value) == 1)
            printf("  %.*s: %.*s\n", (int)name.size, (const char *)name.data, (int)value.size,
                   (const char *)value.data);
    }
    printf("  [%.*s]\n", (int)message->body.size, (const char *)message->body.data);
    fflush(stdout);
    if (!message->token) return; /* not the last part, or nothing to acknowledge */
    int is_bad = message->body.size >= 3 && memcmp(message->body.data, "bad", 3) == 0;
    int32_t status = is_bad ? sst_nack(client, message->token, 0) : sst_ack(client, message->token, 0);
    if (status != SST_OK) failed("acknowledging", status);
}

int main(int argc, char **argv) {
    uint8_t buffer[512];
    sst_headers headers = { buffer, sizeof buffer, 0 };
    sst_options options = SST_OPTIONS_INIT;
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    options.url = sst_string(argc > 1 ? argv[1] : "stomp://guest:guest@127.0.0.1");
    options.subscription_bytes = 1024;
    subscription.destination = sst_string(argc > 2 ? argv[2] : "/queue/greetings");
    subscription.ack = SST_ACK_CLIENT_INDIVIDUAL;
    if (argc > 3) {
        sst_bytes name = sst_string("selector"), value = sst_string(argv[3]);
        if (sst_header_put(&headers, &name, &value) != SST_OK) return failed("selector", SST_ERR_HEADER);
        subscription.headers = sst_header_list(&headers);
    }

    sst_client *client = NULL;
    void *memory = NULL;
    sst_event event = SST_EVENT_INIT;
    int32_t status = start(&client, &memory, &options), result = EXIT_SUCCESS;
    if (status == SST_OK) status = sst_subscribe(client, &subscription);
    if (status < 0) return failed("consume", status);
    stop_on_signals();
    while (sst_client_state(client) != SST_STATE_DISCONNECTED) {
        if (stop) sst_disconnect(client, 0);
        sst_wait(client, 1000);
        while (sst_next_event(client, &event) == 1) {
            switch (event.type) {
            case SST_EVENT_MESSAGE:
                take(client, &event);
                break;
            case SST_EVENT_COMPLETED:
                if (event.status == SST_OK) break;
                print_event(stderr, &event); /* the server does not want this subscription */
                result = EXIT_FAILURE;
                sst_disconnect(client, 0);
                break;
            default:
                print_event(stderr, &event);
                break;
            }
        }
    }
    end(client, memory);
    return result;
}
