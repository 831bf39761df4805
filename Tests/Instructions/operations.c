/*
 * operations NAME COUNT: does one operation of the library COUNT times, and then as many times as it takes to end.
 * operations --list: the names, each with what it does.
 *
 * `count` runs it under callgrind with N and with 2 N, and takes the difference of what was executed outside this program.
 * So nothing here may call libc in an operation: copying is done by hand. client.h says what the client is.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) uint8_t properties[128];
static uint32_t unsent;

/* ---- Preparing */

static void prepare_publish(uint32_t protocol, uint8_t qos) {
    prepare(protocol);
    message.qos = qos;
    message.quiet = 1;
    make_client();
}

/* ---- Publishing */

static void publish(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    if (++unsent == BATCH) {
        transmit(0);
        unsent = 0;
    }
}

static void publish_end(uint64_t count) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    expect("packets sent", (long)(stats.packets_sent - stats.send_calls), (long)(count - count / BATCH));
}

static void publish_qos_0_311(void) { prepare_publish(SMQ_PROTOCOL_3_1_1, 0); }
static void publish_qos_1_311(void) { prepare_publish(SMQ_PROTOCOL_3_1_1, 1); }
static void publish_qos_2_311(void) { prepare_publish(SMQ_PROTOCOL_3_1_1, 2); }
static void publish_qos_0_50(void) { prepare_publish(SMQ_PROTOCOL_5_0, 0); }
static void publish_qos_1_50(void) { prepare_publish(SMQ_PROTOCOL_5_0, 1); }
static void publish_qos_2_50(void) { prepare_publish(SMQ_PROTOCOL_5_0, 2); }

static void publish_4096(void) {
    prepare(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    message.payload.size = 4096;
    make_client();
}

static void publish_properties(void) {
    static const char correlation[] = "12345678";
    smq_properties list = { properties, sizeof(properties), 0 };
    smq_bytes type = smq_string("application/json"), reply = smq_string("gateway/01/reply");
    smq_bytes name = smq_string("unit"), value = smq_string("watt"), data = smq_string(correlation);
    smq_property_put_number(&list, SMQ_PROPERTY_PAYLOAD_FORMAT_INDICATOR, 1);
    smq_property_put_bytes(&list, SMQ_PROPERTY_CONTENT_TYPE, &type);
    smq_property_put_bytes(&list, SMQ_PROPERTY_RESPONSE_TOPIC, &reply);
    smq_property_put_bytes(&list, SMQ_PROPERTY_CORRELATION_DATA, &data);
    expect("properties", smq_property_put_pair(&list, &name, &value), SMQ_OK);
    prepare(SMQ_PROTOCOL_5_0);
    message.quiet = 1;
    message.expiry_s = 60;
    message.properties = smq_property_list(&list);
    make_client();
}

static void publish_told_begin(void) {
    prepare(SMQ_PROTOCOL_3_1_1);
    message.retain = 1;
    make_client();
}

static void publish_told(void) {
    publish();
    if (unsent == 0) take_events(SMQ_EVENT_COMPLETED);
}

static void publish_alone(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    transmit(0);
}

static void alone_end(uint64_t count) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    expect("packets sent", (long)stats.packets_sent, (long)count + 1);
}

static void latest_begin(void) {
    prepare(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    message.overflow = SMQ_OVERFLOW_LATEST;
    make_client();
}

static void events_end(uint64_t count) { expect("events", (long)events, (long)count); }

/* ---- Publishing with its acknowledgement */

static void prepare_delivery(uint32_t protocol, uint8_t qos) {
    prepare(protocol);
    message.qos = qos;
    make_client();
}

static void deliver_qos_1_311(void) { prepare_delivery(SMQ_PROTOCOL_3_1_1, 1); }
static void deliver_qos_1_50(void) { prepare_delivery(SMQ_PROTOCOL_5_0, 1); }
static void deliver_qos_2_311(void) { prepare_delivery(SMQ_PROTOCOL_3_1_1, 2); }
static void deliver_qos_2_50(void) { prepare_delivery(SMQ_PROTOCOL_5_0, 2); }

static void deliver(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    converse(SMQ_EVENT_COMPLETED);
}

static void deliver_many(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    if (++unsent == BATCH) {
        converse(SMQ_EVENT_COMPLETED);
        unsent = 0;
    }
}

/* ---- Events in batches */

static smq_event batch[BATCH];

static void take_batches(int32_t type) {
    batch[0].size = sizeof(*batch);
    for (;;) {
        int32_t count = smq_next_events(client, batch, BATCH);
        if (count == 0) return;
        if (count < 0) fail("next events", count);
        for (int32_t i = 0; i < count; i++)
            if (batch[i].type == type) events++;
    }
}

static void deliver_batch(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    if (++unsent == BATCH) {
        transmit(1);
        receive();
        take_batches(SMQ_EVENT_COMPLETED);
        unsent = 0;
    }
}

static void take_completions(void) {
    smq_completion completions[BATCH];
    transmit(1);
    receive();
    for (;;) {
        int32_t count = smq_next_completions(client, completions, BATCH);
        if (count < 0) fail("next completions", count);
        if (count == 0) break;
        events += (uint64_t)count;
    }
    take_events(SMQ_EVENT_NONE);
}

static void deliver_completions(void) {
    expect("publish", smq_publish(client, &message), SMQ_OK);
    if (++unsent == BATCH) {
        take_completions();
        unsent = 0;
    }
}

/* ---- Receiving */

static uint8_t arriving[4200];
static size_t arriving_size, arriving_identifier;
static uint16_t identifier;

static void arrive_byte(uint8_t byte) { arriving[arriving_size++] = byte; }

static void prepare_arriving(uint32_t protocol, uint8_t qos, size_t size, const char *list, size_t list_size) {
    static const char topic[] = "gateway/01/power";
    size_t topic_size = sizeof(topic) - 1;
    size_t length = 2 + topic_size + (qos ? 2 : 0) + (protocol == SMQ_PROTOCOL_5_0 ? 1 + list_size : 0) + size;
    prepare(protocol);
    arrive_byte((uint8_t)(0x30 | qos << 1));
    if (length > 127) arrive_byte((uint8_t)(length % 128 | 0x80));
    arrive_byte((uint8_t)(length > 127 ? length / 128 : length));
    arrive_byte(0);
    arrive_byte((uint8_t)topic_size);
    for (size_t i = 0; i < topic_size; i++) arrive_byte((uint8_t)topic[i]);
    arriving_identifier = arriving_size;
    if (qos) arriving_size += 2;
    if (protocol == SMQ_PROTOCOL_5_0) arrive_byte((uint8_t)list_size);
    if (protocol == SMQ_PROTOCOL_5_0)
        for (size_t i = 0; i < list_size; i++) arrive_byte((uint8_t)list[i]);
    for (size_t i = 0; i < size; i++) arrive_byte(payload[i]);
}

static void say_message(int with_identifier) {
    if (with_identifier) {
        identifier = identifier == 65535 ? 1 : (uint16_t)(identifier + 1);
        smq_put_uint16(arriving + arriving_identifier, identifier);
    }
    say(arriving, arriving_size);
}

static void arrive(void) {
    say_message(0);
    receive();
    take_events(SMQ_EVENT_MESSAGE);
}

static void arrive_many(void) {
    say_message(0);
    if (++unsent == BATCH) {
        receive();
        take_events(SMQ_EVENT_MESSAGE);
        unsent = 0;
    }
}

static void arrive_batch(void) {
    say_message(0);
    if (++unsent == BATCH) {
        receive();
        take_batches(SMQ_EVENT_MESSAGE);
        unsent = 0;
    }
}

static void arrive_acknowledged(void) {
    say_message(1);
    receive();
    take_events(SMQ_EVENT_MESSAGE);
    converse(SMQ_EVENT_NONE);
}

static void arrive_64(void) {
    prepare_arriving(SMQ_PROTOCOL_3_1_1, 0, 64, "", 0);
    make_client();
}

static void arrive_4096(void) {
    prepare_arriving(SMQ_PROTOCOL_3_1_1, 0, 4096, "", 0);
    make_client();
}

static void arrive_properties(void) {
    static const char list[] = "\x01\x01\x03\0\x10"
                               "application/json"
                               "\x26\0\x04"
                               "unit\0\x04watt";
    prepare_arriving(SMQ_PROTOCOL_5_0, 0, 64, list, sizeof(list) - 1);
    make_client();
}

static void arrive_qos_1_311(void) {
    prepare_arriving(SMQ_PROTOCOL_3_1_1, 1, 64, "", 0);
    make_client();
}

static void arrive_qos_1_50(void) {
    prepare_arriving(SMQ_PROTOCOL_5_0, 1, 64, "", 0);
    make_client();
}

static void arrive_qos_2_311(void) {
    prepare_arriving(SMQ_PROTOCOL_3_1_1, 2, 64, "", 0);
    make_client();
}

static void arrive_qos_2_50(void) {
    prepare_arriving(SMQ_PROTOCOL_5_0, 2, 64, "", 0);
    make_client();
}

static void arrive_handled(void) {
    static char filters[16][16];
    prepare_arriving(SMQ_PROTOCOL_3_1_1, 0, 64, "", 0);
    options.handlers = 16;
    make_client();
    for (unsigned i = 0; i < 16; i++) {
        snprintf(filters[i], sizeof(filters[i]), "gateway/%02u/+", 16 - i); /* the last one matches */
        smq_bytes filter = smq_string(filters[i]);
        expect("handle", smq_handle(client, i, &filter, NULL, NULL), SMQ_OK);
    }
}

static void handled(void) {
    arrive();
    expect("the filter that matches", subscription, 15);
}

/* ---- The rest */

static const char topic_text[] = "site/7/gateway/01/power";
static const char filter_text[] = "site/+/gateway/01/#";
static smq_bytes topic_bytes = { topic_text, sizeof(topic_text) - 1 };
static smq_bytes filter_bytes = { filter_text, sizeof(filter_text) - 1 };

static void nothing(void) {}
static void nothing_end(uint64_t count) { (void)count; }
static void match(void) { expect("matches", smq_topic_matches(&filter_bytes, &topic_bytes), 1); }

static void submit_begin(void) {
    prepare(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    options.submit_messages = BATCH;
    make_client();
}

static void submit(void) {
    expect("submit", smq_submit(client, &message), SMQ_OK);
    if (++unsent == BATCH) {
        smq_engine_timed_out(client, now);
        transmit(0);
        unsent = 0;
    }
}

static void prepare_connect(uint32_t protocol) {
    static smq_message testament = SMQ_MESSAGE_INIT;
    prepare(protocol);
    options.outbox_bytes = options.outbox_messages = options.receive_bytes = options.in_flight_maximum = 0;
    options.user_name = smq_string("gateway");
    options.password = smq_string("secret");
    testament.topic = smq_string("gateway/01/state");
    testament.payload = smq_string("gone");
    options.will = &testament;
}

static void connect_311(void) { prepare_connect(SMQ_PROTOCOL_3_1_1); }
static void connect_50(void) { prepare_connect(SMQ_PROTOCOL_5_0); }

static void connect(void) {
    make_client();
    expect("disconnect", smq_disconnect(client, 0), SMQ_OK);
    transmit(1);
    take_events(SMQ_EVENT_DISCONNECTED); /* a bare engine waits for nobody to close */
    expect("disconnected", (long)events, 1);
    expect("state", smq_client_state(client), SMQ_STATE_DISCONNECTED);
    expect("close", smq_client_close(client), SMQ_OK);
    events = 0;
}

static void client_begin(void) {
    prepare(SMQ_PROTOCOL_3_1_1);
    make_client();
}

static void idle(void) {
    expect("timed out", smq_engine_timed_out(client, now), 0);
    transmit(0);
    if (smq_engine_next_timeout_ms(client, now) < 1) fail("it is not idle", now);
}

static void keep_alive(void) {
    int32_t wait = smq_engine_next_timeout_ms(client, now);
    if (wait < 1) fail("no keep alive", wait);
    now += (uint32_t)wait;
    expect("timed out", smq_engine_timed_out(client, now), 0);
    converse(SMQ_EVENT_NONE);
}

static void keep_alive_end(uint64_t count) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    expect("pings", (long)stats.packets_received, (long)count + 1);
}

static void subscribe(void) {
    static const smq_subscription list = { { filter_text, sizeof(filter_text) - 1 }, 0, 0, 0, 0, 0 };
    static smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 1;
    subscriptions.list = &list;
    expect("subscribe", smq_subscribe(client, &subscriptions), SMQ_OK);
    converse(SMQ_EVENT_COMPLETED);
    expect("unsubscribe", smq_unsubscribe(client, &subscriptions), SMQ_OK);
    converse(SMQ_EVENT_COMPLETED);
}

static void subscribe_end(uint64_t count) { events_end(2 * count); }

/* ---- The table. N is a multiple of BATCH where it is not said otherwise. */

static const struct operation {
    const char *name;
    unsigned count; /* N */
    void (*begin)(void);
    void (*once)(void);
    void (*end)(uint64_t count);
    const char *what;
} operations[] = {
    { "publish-qos0", 1024, publish_qos_0_311, publish, publish_end, "publish, quiet, 64 handed out at a time" },
    { "publish-qos1", 1024, publish_qos_1_311, publish, publish_end, "the same, never acknowledged" },
    { "publish-qos2", 1024, publish_qos_2_311, publish, publish_end, "the same, never acknowledged" },
    { "publish-qos0-5.0", 1024, publish_qos_0_50, publish, publish_end, "publish, quiet, 64 handed out at a time" },
    { "publish-qos1-5.0", 1024, publish_qos_1_50, publish, publish_end, "the same, never acknowledged" },
    { "publish-qos2-5.0", 1024, publish_qos_2_50, publish, publish_end, "the same, never acknowledged" },
    { "publish-4k", 1024, publish_4096, publish, nothing_end, "publish 4,096 bytes, quiet, 64 handed out at a time" },
    { "publish-properties-5.0", 1024, publish_properties, publish, publish_end, "with five properties and an expiry" },
    { "publish-retained-told", 1024, publish_told_begin, publish_told, events_end, "retained, with its COMPLETED" },
    { "publish-latest", 1024, latest_begin, publish_alone, alone_end, "SMQ_OVERFLOW_LATEST, each handed out" },
    { "publish-alone", 1024, publish_qos_0_311, publish_alone, alone_end, "publish, quiet, each handed out" },
    { "deliver-qos1", 1024, deliver_qos_1_311, deliver, events_end, "publish, PUBACK, COMPLETED" },
    { "deliver-qos1-5.0", 1024, deliver_qos_1_50, deliver, events_end, "publish, PUBACK, COMPLETED" },
    { "deliver-qos1-many", 1024, deliver_qos_1_311, deliver_many, events_end, "the same, 64 in flight" },
    { "deliver-qos1-batch", 1024, deliver_qos_1_311, deliver_batch, events_end, "the same, with smq_next_events()" },
    { "deliver-qos1-bare", 1024, deliver_qos_1_311, deliver_completions, events_end,
      "the same, with smq_next_completions()" },
    { "deliver-qos2", 512, deliver_qos_2_311, deliver, events_end, "publish, PUBREC, PUBREL, PUBCOMP, COMPLETED" },
    { "deliver-qos2-5.0", 512, deliver_qos_2_50, deliver, events_end, "publish, PUBREC, PUBREL, PUBCOMP, COMPLETED" },
    { "receive-64", 1024, arrive_64, arrive, events_end, "a PUBLISH with 64 bytes, MESSAGE" },
    { "receive-64-many", 1024, arrive_64, arrive_many, events_end, "the same, 64 at once" },
    { "receive-64-batch", 1024, arrive_64, arrive_batch, events_end, "the same, with smq_next_events()" },
    { "receive-4k", 1024, arrive_4096, arrive, events_end, "a PUBLISH with 4,096 bytes, MESSAGE" },
    { "receive-properties-5.0", 1024, arrive_properties, arrive, events_end, "with three properties, MESSAGE" },
    { "receive-handler-16", 1024, arrive_handled, handled, events_end, "the last of 16 filters matches" },
    { "receive-qos1", 1024, arrive_qos_1_311, arrive_acknowledged, events_end, "MESSAGE, PUBACK" },
    { "receive-qos1-5.0", 1024, arrive_qos_1_50, arrive_acknowledged, events_end, "MESSAGE, PUBACK" },
    { "receive-qos2", 512, arrive_qos_2_311, arrive_acknowledged, events_end, "MESSAGE, PUBREC, PUBREL, PUBCOMP" },
    { "receive-qos2-5.0", 512, arrive_qos_2_50, arrive_acknowledged, events_end, "MESSAGE, PUBREC, PUBREL, PUBCOMP" },
    { "submit", 1024, submit_begin, submit, alone_end, "smq_submit(), 64 taken and handed out at a time" },
    { "subscribe", 256, client_begin, subscribe, subscribe_end, "SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, COMPLETED" },
    { "connect", 64, connect_311, connect, nothing_end, "init, CONNECT with a Will, CONNACK, DISCONNECT, close" },
    { "connect-5.0", 64, connect_50, connect, nothing_end, "init, CONNECT with a Will, CONNACK, DISCONNECT, close" },
    { "keep-alive", 256, client_begin, keep_alive, keep_alive_end, "a timeout, PINGREQ, PINGRESP" },
    { "idle", 1024, client_begin, idle, nothing_end, "timed out, nothing to transmit, next timeout" },
    { "topic-matches", 1024, nothing, match, nothing_end, "smq_topic_matches(), five levels" },
};

int main(int argument_count, char **arguments) {
    size_t known = sizeof(operations) / sizeof(*operations);
    if (argument_count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < known; i++)
            printf("%s\t%u\t%s\n", operations[i].name, operations[i].count, operations[i].what);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; argument_count == 3 && i < known; i++) {
        const struct operation *it = &operations[i];
        if (strcmp(arguments[1], it->name) != 0) continue;
        operation = it->name;
        uint64_t count = strtoull(arguments[2], NULL, 10);
        it->begin();
        for (uint64_t done = 0; done < count; done++) it->once();
        it->end(count);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "usage: operations --list | NAME COUNT\n");
    return 2;
}
