/*
 * The smallest useful client: client HOST PORT PROTOCOL QOS COUNT. It subscribes, publishes the numbers below COUNT to itself,
 * and prints what arrives, a line each, until the last of them. When the connection is lost, it connects again and goes on.
 *
 * cmake/size measures what it takes of libswiftmqtt.a.
 */
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

static alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[24576];

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string(argv[1]);
    options.port = (uint32_t)atoi(argv[2]);
    options.protocol = (uint32_t)atoi(argv[3]);
    uint32_t qos = (uint32_t)atoi(argv[4]);
    int count = atoi(argv[5]);
    options.flags = SMQ_OPTION_KEEP_SESSION;
    options.client_id = smq_string("smallest");
    options.outbox_bytes = 4096;
    options.outbox_messages = 64;
    options.unreleased_maximum = 64;
    options.reconnect_min_ms = 100;
    options.reconnect_max_ms = 500;

    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, sizeof memory, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    int published = 0, is_subscribed = 0;
    char text[16];
    while (status >= 0) {
        while (is_subscribed && published < count) {
            snprintf(text, sizeof text, "%d", published);
            if (smq_publish_text(client, "smallest/number", text, qos, 0) != SMQ_OK) break;
            published++;
        }
        status = smq_wait(client, -1);
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_CONNECTED) {
                fprintf(stderr, "connected\n");
                if (!is_subscribed) status = smq_subscribe_to(client, "smallest/#", qos, 1);
            } else if (event.type == SMQ_EVENT_COMPLETED && event.cookie == 1) {
                is_subscribed = 1;
            } else if (event.type == SMQ_EVENT_COMPLETED && event.status < 0) {
                fprintf(stderr, "%d\n", (int)event.status);
            } else if (event.type == SMQ_EVENT_MESSAGE) {
                printf("%.*s\n", (int)event.payload.size, (const char *)event.payload.data);
                snprintf(text, sizeof text, "%.*s", (int)event.payload.size, (const char *)event.payload.data);
                if (atoi(text) == count - 1) status = smq_disconnect(client, 5000);
            } else if (event.type == SMQ_EVENT_DISCONNECTED && event.status == SMQ_OK) {
                return smq_client_close(client);
            }
        }
    }
    fprintf(stderr, "%d\n", (int)status);
    return 1;
}
