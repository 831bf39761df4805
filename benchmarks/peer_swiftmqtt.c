/*
 * libswiftmqtt, as its header recommends: one thread, static memory, QoS 0 messages quiet, one smq_flush() for each
 * flush, all events taken before anything else. The message is filled in once; only its payload differs. Payloads above
 * 16 KiB are published by reference, which no quiet message can be.
 *
 * Variants "into" and "parts": what is larger than a receive buffer of 4 KiB goes to its place in memory, received there
 * (smq_receive_into), or copied part by part.
 */
#include <stdio.h>
#include <string.h>
#include <swiftmqtt.h>

#include "load.h"

static _Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t memory[16 << 20]; /* what is not touched costs nothing */
static smq_client *client;
static smq_message message = SMQ_MESSAGE_INIT;
static smq_event event = SMQ_EVENT_INIT;
static bool is_connected, is_subscribed, is_lent, is_into, is_parts;
static uint8_t place[1 << 20];

enum {
    LARGE = 16 << 10
};

static void check(int32_t status, const char *what) {
    if (status < 0) load_fail("%s: %s", what, smq_status_name(status));
}

static void take_part(void) {
    if (event.payload.data != place + event.payload_offset)
        memcpy(place + event.payload_offset, event.payload.data, event.payload.size);
    size_t end = event.payload_offset + event.payload.size;
    if (event.part & SMQ_PART_LAST)
        load_arrived(event.topic.size, place, end);
    else if (is_into)
        check(smq_receive_into(client, place + end, sizeof(place) - end), "smq_receive_into");
}

static void take_events(void) {
    unsigned done = 0;
    while (smq_next_event(client, &event) == 1) {
        switch (event.type) {
        case SMQ_EVENT_CONNECTED:
            is_connected = true;
            break;
        case SMQ_EVENT_DISCONNECTED:
            check(event.status, "disconnected");
            break;
        case SMQ_EVENT_MESSAGE:
            if (is_into || is_parts)
                take_part();
            else
                load_arrived(event.topic.size, event.payload.data, event.payload.size);
            break;
        case SMQ_EVENT_COMPLETED:
            check(event.status, "completed");
            if (event.reason_codes.size)
                is_subscribed = true;
            else
                done++;
            break;
        }
    }
    if (done && message.qos) load_completed(done);
}

static void swiftmqtt_turn(int timeout_ms) {
    check(smq_wait(client, timeout_ms), "smq_wait");
    take_events();
}

static void swiftmqtt_flush(void) {
    check(smq_flush(client), "smq_flush");
    if (is_lent) take_events(); /* which give the payloads back */
}

static bool swiftmqtt_is_sent(void) {
    smq_stats stats = SMQ_STATS_INIT;
    check(smq_client_stats(client, &stats), "smq_client_stats");
    return stats.outbox_bytes == 0;
}

static void swiftmqtt_open(const struct settings *settings) {
    smq_options options = SMQ_OPTIONS_INIT;
    is_lent = settings->payload_bytes > LARGE;
    uint32_t packet = is_lent ? 64 : (uint32_t)settings->payload_bytes + 64;
    uint32_t outstanding = settings->qos ? settings->window : settings->flush_every;
    options.host = smq_string("127.0.0.1");
    options.port = settings->port;
    options.protocol = (uint32_t)settings->protocol;
    options.client_id = smq_string(settings->client_id);
    options.keep_alive_s = settings->keep_alive_s;
    options.flags = SMQ_OPTION_NO_RECONNECT; /* a connection that ends is a run that failed */
    /* Twice what is between two flushes, or in flight: what the kernel does not take at once is no reason to wait. */
    options.outbox_messages = 2 * outstanding < 256 ? 256 : 2 * outstanding;
    options.outbox_bytes = 2 * outstanding * packet < 65536 ? 65536 : 2 * outstanding * packet;
    options.in_flight_maximum = settings->window;
    options.references = is_lent ? 2 * outstanding : 0;
    options.receive_bytes = is_lent ? 2 * (uint32_t)settings->payload_bytes : 65536; /* no message comes in parts */
    is_into = !strcmp(settings->variant, "into");
    is_parts = !strcmp(settings->variant, "parts");
    if (is_into || is_parts) {
        options.flags |= SMQ_OPTION_PARTS;
        options.receive_bytes = 4096;
    }
    options.receive_maximum = settings->window < 64 ? 64 : settings->window;
    size_t size = smq_client_size(&options);
    if (size > sizeof(memory)) load_fail("the client takes %zu bytes", size);
    check(smq_client_init(memory, size, &options, &client), "smq_client_init");
    check(smq_connect(client), "smq_connect");
    for (is_connected = false; !is_connected;) swiftmqtt_turn(-1);
}

static void swiftmqtt_subscribe(const char *filter, unsigned qos) {
    smq_subscription wanted = { smq_string(filter), (uint8_t)qos, 0, 0, 0, 0 };
    smq_subscriptions list = SMQ_SUBSCRIPTIONS_INIT;
    list.count = 1;
    list.list = &wanted;
    check(smq_subscribe(client, &list), "smq_subscribe");
    for (is_subscribed = false; !is_subscribed;) swiftmqtt_turn(-1);
}

static void swiftmqtt_prepare(const char *topic, unsigned qos) {
    message.topic = smq_string(topic);
    message.qos = (uint8_t)qos;
    message.quiet = qos == 0 && !is_lent;
}

static bool swiftmqtt_publish(const void *payload, size_t size) {
    message.payload.data = payload;
    message.payload.size = size;
    int32_t status = is_lent ? smq_publish_reference(client, &message) : smq_publish(client, &message);
    if (status != SMQ_ERR_FULL) check(status, "smq_publish");
    return status == SMQ_OK;
}

static void swiftmqtt_close(void) {
    check(smq_disconnect(client, 0), "smq_disconnect");
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) swiftmqtt_turn(100);
    check(smq_client_close(client), "smq_client_close");
}

static void swiftmqtt_version(char *text, size_t size) {
    uint32_t version = smq_version();
    snprintf(text, size, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
}

const struct peer peer = {
    .name = "swiftmqtt",
    .version = swiftmqtt_version,
    .open = swiftmqtt_open,
    .subscribe = swiftmqtt_subscribe,
    .prepare = swiftmqtt_prepare,
    .publish = swiftmqtt_publish,
    .flush = swiftmqtt_flush,
    .is_sent = swiftmqtt_is_sent,
    .turn = swiftmqtt_turn,
    .close = swiftmqtt_close,
};
