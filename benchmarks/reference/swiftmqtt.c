/*
 * libswiftmqtt for the reference harness ("peer benches for MQTT client libraries"), which brings peer.h. See
 * ../README.md for how to use it. The same calls as in ../peer_swiftmqtt.c, for as many clients as are asked for.
 */
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>

#include "peer.h"

struct bench_client {
    smq_client *client;
    void *memory;
    void *user;
    const char *topic; /* the one in message */
    smq_message message;
    int is_connected, is_subscribed, has_failed;
};

static void take_events(struct bench_client *c) {
    static smq_event event = SMQ_EVENT_INIT;
    unsigned done = 0;
    while (smq_next_event(c->client, &event) == 1) {
        switch (event.type) {
        case SMQ_EVENT_CONNECTED:
            c->is_connected = 1;
            break;
        case SMQ_EVENT_DISCONNECTED:
            if (event.status) c->has_failed = 1;
            break;
        case SMQ_EVENT_COMPLETED:
            if (event.status) c->has_failed = 1;
            if (event.reason_codes.size)
                c->is_subscribed = 1;
            else
                done++;
            break;
        case SMQ_EVENT_MESSAGE:
            bench_on_message(c->user, event.topic.data, event.topic.size, event.payload.data, event.payload.size,
                             event.qos);
            break;
        }
    }
    if (done) bench_on_complete(c->user, done);
}

static int turn(void *handle, int timeout_ms) {
    struct bench_client *c = handle;
    if (smq_wait(c->client, timeout_ms) < 0) return PEER_ERR;
    take_events(c);
    return c->has_failed ? PEER_ERR : PEER_OK;
}

static int turn_until(struct bench_client *c, const int *flag) {
    for (int turns = 0; turns < 10000 && !*flag; turns++)
        if (turn(c, 1000) != PEER_OK) return PEER_ERR;
    return *flag ? PEER_OK : PEER_ERR;
}

static void release(struct bench_client *c) {
    if (c->client) smq_client_close(c->client);
    free(c->memory);
    free(c);
}

static void *open_client(const peer_cfg *wanted, void *user) {
    struct bench_client *c = calloc(1, sizeof(*c));
    smq_options options = SMQ_OPTIONS_INIT;
    smq_message message = SMQ_MESSAGE_INIT;
    uint32_t in_flight = 2 * wanted->window * ((uint32_t)wanted->max_payload + 64);
    options.host = smq_string(wanted->host);
    options.port = wanted->port;
    options.protocol = (uint32_t)wanted->proto;
    options.client_id = smq_string(wanted->client_id);
    options.keep_alive_s = wanted->keepalive ? (uint32_t)wanted->keepalive : SMQ_OFF;
    options.flags = SMQ_OPTION_NO_RECONNECT;
    options.outbox_bytes = in_flight < 65536 ? 65536 : in_flight;
    options.outbox_messages = 2 * wanted->window < 256 ? 256 : 2 * wanted->window;
    options.in_flight_maximum = wanted->window;
    options.receive_bytes = 65536;
    options.receive_maximum = wanted->window < 64 ? 64 : wanted->window;
    size_t size = smq_client_size(&options);
    c->user = user;
    c->message = message;
    c->memory = malloc(size);
    if (smq_client_init(c->memory, size, &options, &c->client) != SMQ_OK || smq_connect(c->client) != SMQ_OK ||
        turn_until(c, &c->is_connected) != PEER_OK) {
        release(c);
        return NULL;
    }
    return c;
}

static void close_client(void *handle) {
    struct bench_client *c = handle;
    smq_disconnect(c->client, 0);
    while (smq_client_state(c->client) != SMQ_STATE_DISCONNECTED && turn(c, 100) == PEER_OK) continue;
    release(c);
}

static int publish(void *handle, const char *topic, const void *payload, size_t size, int qos) {
    struct bench_client *c = handle;
    if (topic != c->topic) {
        c->topic = topic;
        c->message.topic = smq_string(topic);
    }
    c->message.qos = (uint8_t)qos;
    c->message.quiet = qos == 0;
    c->message.payload.data = payload;
    c->message.payload.size = size;
    int32_t status = smq_publish(c->client, &c->message);
    return status == SMQ_OK ? PEER_OK : status == SMQ_ERR_FULL ? PEER_AGAIN : PEER_ERR;
}

static int flush(void *handle, int is_final) {
    struct bench_client *c = handle;
    smq_stats stats = SMQ_STATS_INIT;
    if (smq_flush(c->client) < 0) return PEER_ERR;
    if (!is_final) return PEER_OK;
    smq_client_stats(c->client, &stats);
    return stats.outbox_messages > stats.in_flight ? PEER_AGAIN : PEER_OK;
}

static int subscribe(void *handle, const char *filter, int qos) {
    struct bench_client *c = handle;
    smq_subscription wanted = { smq_string(filter), (uint8_t)qos, 0, 0, 0, 0 };
    smq_subscriptions list = SMQ_SUBSCRIPTIONS_INIT;
    list.count = 1;
    list.list = &wanted;
    if (smq_subscribe(c->client, &list) != SMQ_OK) return PEER_ERR;
    return turn_until(c, &c->is_subscribed);
}

static unsigned caps(const char *variant) {
    (void)variant;
    return PEER_V4 | PEER_V5 | PEER_QOS1 | PEER_QOS2 | PEER_SUB | PEER_MANY | PEER_COALESCES;
}

static unsigned max_window(const char *variant) {
    (void)variant;
    return 0;
}

static const char *const variants[] = { "loop", NULL };

const peer_ops peer = { .name = PEER_NAME,
                        .library = "libswiftmqtt.so.1",
                        .variants = variants,
                        .caps = caps,
                        .max_window = max_window,
                        .open = open_client,
                        .close = close_client,
                        .publish = publish,
                        .flush = flush,
                        .loop = turn,
                        .subscribe = subscribe };
