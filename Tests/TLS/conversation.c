/*
 * A whole client over TLS, for valgrind and the sanitizers: conversation URL CA-FILE. It connects, subscribes, publishes with QoS 0,
 * 1 and 2 and gets each message back, and disconnects; it does so three times, and has to resume its session of TLS each time after
 * the first. The last connection it closes as it is. Exit status 0: all of that came about.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt-tls.h>

enum {
    ROUNDS = 3,
    SIZE = 1000,
    WAIT_MS = 60000
};

#define must(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static unsigned messages;

/* Waits for an event of this type. A message that comes meanwhile is counted. */
static void until(smq_client *client, smq_event *event, int32_t type) {
    static char expected[SIZE];
    memset(expected, 'x', SIZE);
    do {
        while (smq_next_event(client, event) != 1) must(smq_wait(client, WAIT_MS) == 1);
        must(event->type == type || event->type == SMQ_EVENT_MESSAGE || event->type == SMQ_EVENT_COMPLETED);
        if (event->type != SMQ_EVENT_MESSAGE) continue;
        must(event->payload.size == SIZE && memcmp(event->payload.data, expected, SIZE) == 0);
        messages++;
    } while (event->type != type);
}

static void talk(smq_client *client, smq_event *event, const char *payload) {
    must(smq_subscribe_to(client, "conversation", 2, 10) == SMQ_OK);
    until(client, event, SMQ_EVENT_COMPLETED);
    must(event->cookie == 10 && event->status == SMQ_OK);
    messages = 0;
    for (uint32_t qos = 0; qos < 3; qos++) must(smq_publish_text(client, "conversation", payload, qos, 0) == SMQ_OK);
    for (unsigned completed = 0; completed < 3; completed++) {
        until(client, event, SMQ_EVENT_COMPLETED);
        must(event->status == SMQ_OK);
    }
    while (messages < 3) until(client, event, SMQ_EVENT_MESSAGE);
}

int main(int argc, char **argv) {
    must(argc == 3);
    static char payload[SIZE + 1];
    memset(payload, 'x', SIZE);
    smq_tls_options settings = SMQ_TLS_OPTIONS_INIT;
    smq_tls *tls = NULL;
    settings.ca_file = smq_string(argv[2]);
    must(smq_tls_open(&settings, &tls, NULL) == SMQ_OK);

    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[1]);
    options.flags = SMQ_OPTION_NO_RECONNECT;
    options.tls = smq_tls_openssl();
    options.tls_settings = tls;
    size_t size = smq_client_size(&options);
    must(size > 0);
    void *memory = malloc(size);
    smq_client *client = NULL;
    must(smq_client_init(memory, size, &options, &client) == SMQ_OK);
    smq_event event = SMQ_EVENT_INIT;
    for (int round = 0; round < ROUNDS; round++) {
        must(smq_connect(client) == SMQ_OK);
        until(client, &event, SMQ_EVENT_CONNECTED);
        talk(client, &event, payload);
        smq_tls_info info = { .size = sizeof info };
        must(smq_tls_describe(client, &info) == SMQ_OK);
        must(info.is_resumed == (round > 0));
        if (round == ROUNDS - 1) break;
        must(smq_disconnect(client, WAIT_MS) == SMQ_OK);
        until(client, &event, SMQ_EVENT_DISCONNECTED);
        must(event.status == SMQ_OK);
    }
    smq_client_close(client);
    smq_tls_close(tls);
    free(memory);
    return 0;
}
