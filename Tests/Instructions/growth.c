/*
 * growth NAME SIZE COUNT: fills a table of the client with SIZE entries, then does one operation COUNT times.
 * growth --list: the names, each with its sizes, its COUNT and what it does.
 *
 * `growth` runs it under callgrind, which counts the operations alone: what fills the table is not counted. An operation
 * leaves as many entries as there were, and is done once before it is counted. client.h says what the client is.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

enum {
    LARGEST = 60000
};

static uint32_t entries; /* SIZE */
static uint32_t done;    /* operations */
static uint32_t seed = 1;
static uint64_t tokens[LARGEST + 64];
static uint8_t correlations[LARGEST + 64][8];

/* An entry, any one of them, and others each time. */
static uint32_t any_entry(void) {
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % entries;
}

/* Another entry for each operation, never the first: no SIZE is a multiple of 7. */
static uint32_t middle_entry(void) { return (done * 7 + entries / 2) % entries; }

/* ---- Topics and messages, by hand */

static char topic[] = "gateway/00000/power";

static void number_topic(char *text, uint32_t number) {
    for (unsigned digit = 12; digit >= 8; digit--, number /= 10) text[digit] = (char)('0' + number % 10);
}

static void set_topic(uint32_t number) {
    number_topic(topic, number);
    message.topic.data = topic;
    message.topic.size = sizeof(topic) - 1;
}

static void publish(uint32_t number) {
    set_topic(number);
    expect("publish", smq_publish(client, &message), SMQ_OK);
}

static void begin(uint32_t protocol) {
    prepare(protocol);
    options.keep_alive_s = SMQ_OFF;
    options.answer_timeout_ms = SMQ_OFF;
    options.outbox_bytes = 16 << 20;
    options.outbox_messages = 65023;
    options.in_flight_maximum = 65023;
    message.payload.size = 8;
    message.qos = 1;
}

/* A PUBLISH of the server, with DUP if 4 is added to its QoS. With 5.0 it has `size` bytes of properties. */
static void say_publish(unsigned qos, unsigned identifier, const char *name, const void *list, int size) {
    uint8_t packet[128];
    size_t at = 2, length = strlen(name);
    packet[0] = (uint8_t)(0x30 | qos << 1);
    packet[at++] = 0;
    packet[at++] = (uint8_t)length;
    for (size_t i = 0; i < length; i++) packet[at++] = (uint8_t)name[i];
    if (qos & 3) packet[at++] = (uint8_t)(identifier >> 8);
    if (qos & 3) packet[at++] = (uint8_t)identifier;
    if (size >= 0) packet[at++] = (uint8_t)size;
    for (int i = 0; i < size; i++) packet[at++] = ((const uint8_t *)list)[i];
    packet[at++] = 'x';
    packet[1] = (uint8_t)(at - 2);
    say(packet, at);
}

/* What the server says arrives, and its events are taken. */
static void arrive(int32_t type) {
    receive();
    take_events(type);
}

static void turn(void) {
    if (smq_engine_timed_out(client, now) < 0) fail("timed out", 0);
}

static void reconnect(void) {
    expect("closed", smq_engine_closed(client, 104, now), SMQ_OK);
    while (smq_next_event(client, &event) == 1) {
    }
    now += 120000;
    turn();
    take_events(SMQ_EVENT_NONE);
    transmit(1);
    receive();
    take_events(SMQ_EVENT_CONNECTED);
}

/* ---- The outbox. Nothing is sent unless it says so. */

static void latest_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    message.overflow = SMQ_OVERFLOW_LATEST;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void latest_once(void) { publish(any_entry()); }
static void latest_new(void) { publish(entries + done); }

static void latest_told_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.overflow = SMQ_OVERFLOW_LATEST;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void latest_told(void) {
    publish(any_entry());
    expect("an event", smq_next_event(client, &event), 1);
    expect("replaced", event.status, SMQ_ERR_REPLACED);
    expect("no event", smq_next_event(client, &event), 0);
}

static void oldest_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    options.outbox_messages = entries;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void oldest_bytes_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    options.outbox_bytes = entries * 33 + 16; /* 33 each */
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void oldest_mixed_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    options.outbox_messages = entries;
    make_client();
    for (uint32_t i = 0; i < entries / 2; i++) publish(i);
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    for (uint32_t i = entries / 2; i < entries; i++) publish(i);
}

static void oldest_mixed_bytes_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    options.outbox_bytes = entries * 33 + 16;
    make_client();
    for (uint32_t i = 0; i < entries / 2; i++) publish(i);
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    for (uint32_t i = entries / 2; i < entries; i++) publish(i);
}

static void oldest_once(void) { publish(done); }

/* The completions are taken, so that each has its place again. */
static void oldest_told_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    options.outbox_bytes = entries * 33 + 16;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void oldest_told(void) {
    publish(done);
    expect("an event", smq_next_event(client, &event), 1);
    expect("dropped", event.status, SMQ_ERR_DROPPED);
    expect("no event", smq_next_event(client, &event), 0);
}

/* Half of them are sent and wait for PUBACK. */
static void oldest_in_flight_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    options.in_flight_maximum = entries / 2;
    options.outbox_messages = entries;
    make_client();
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    for (uint32_t i = 0; i < entries; i++) publish(i);
    transmit(0);
}

/* Those that are in flight are in front of it, and there are no bytes left. */
static void oldest_flight_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    options.in_flight_maximum = 8;
    message.overflow = SMQ_OVERFLOW_DROP_OLDEST;
    options.outbox_bytes = entries * 33 + 16;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
    transmit(0);
}

static void refused_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.outbox_messages = entries;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
}

static void refused(void) { expect("full", smq_publish(client, &message), SMQ_ERR_FULL); }

/* One expires each second. */
static void expiry_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        message.expiry_s = i + 2;
        publish(i);
    }
    message.expiry_s = entries + 1;
}

static void expiry_once(void) {
    now += 1000;
    turn();
    while (smq_next_event(client, &event) == 1) expect("expired", event.status, SMQ_ERR_EXPIRED);
    publish(done);
    if (smq_engine_next_timeout_ms(client, now) < 1) fail("a timeout", 0);
}

/* The last of them expires: all others have an hour. */
static void expiry_last_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    message.quiet = 1;
    make_client();
    message.expiry_s = 36000;
    for (uint32_t i = 0; i < entries; i++) publish(i);
    message.expiry_s = 1;
}

static void expiry_last(void) {
    publish(done);
    now += 2000;
    turn();
    expect("an event", smq_next_event(client, &event), 1);
    expect("expired", event.status, SMQ_ERR_EXPIRED);
    expect("no event", smq_next_event(client, &event), 0);
}

static uint16_t identifiers[LARGEST + 64];
static uint32_t seen;

static void see_identifier(const uint8_t *body, size_t size) {
    (void)size;
    identifiers[seen++ % (LARGEST + 64)] = smq_get_uint16(body + 2 + smq_get_uint16(body));
}

static void in_flight_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    server_sees_publish = see_identifier;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        publish(i);
        if (i % BATCH == 0) transmit(0);
    }
    transmit(0);
}

/* The completions leave gaps behind the first message. */
static void puback_any(void) {
    say_acknowledgement(0x40, identifiers[middle_entry()]);
    arrive(SMQ_EVENT_COMPLETED);
}

static void puback_newest(void) {
    publish(done);
    converse(SMQ_EVENT_COMPLETED);
}

static void pubrec_any(void) {
    say_acknowledgement(0x50, identifiers[middle_entry()]);
    receive();
    transmit(1);
    arrive(SMQ_EVENT_COMPLETED);
}

static void qos2_in_flight_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    server_sees_publish = see_identifier;
    message.qos = 2;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        publish(i);
        if (i % BATCH == 0) transmit(0);
    }
    transmit(0);
}

static void statistics(void) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    if (stats.outbox_messages != entries) fail("messages", stats.outbox_messages);
}

static void idle(void) {
    turn();
    transmit(0);
    (void)smq_engine_next_timeout_ms(client, now);
}

/* ---- Topic Aliases */

static void aliases_out_begin(void) {
    begin(SMQ_PROTOCOL_5_0);
    message.qos = 0;
    message.quiet = 1;
    options.topic_aliases_out = entries;
    server_aliases = (uint16_t)entries;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        publish(i);
        transmit(0);
    }
}

static void alias_out_hit(void) {
    publish(any_entry());
    transmit(0);
}

/* A round of topics that is larger than the table by one. */
static void alias_out_miss(void) {
    publish((entries + done) % (entries + 1));
    transmit(0);
}

static void say_aliased(uint32_t index, const char *name) {
    uint8_t list[] = { 0x23, (uint8_t)((index + 1) >> 8), (uint8_t)(index + 1) };
    say_publish(0, 0, name, list, sizeof(list));
    arrive(SMQ_EVENT_MESSAGE);
}

static void aliases_in_begin(void) {
    begin(SMQ_PROTOCOL_5_0);
    options.topic_aliases_in = entries;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        number_topic(topic, i);
        say_aliased(i, topic);
    }
}

static void alias_in(void) {
    say_aliased(any_entry(), "");
    if (event.type != SMQ_EVENT_NONE) fail("event", event.type);
}

/* ---- Handlers */

static uint32_t matching; /* the index of the first that matches */

static void set_handler(uint32_t index, const char *text) {
    smq_bytes filter = { text, strlen(text) };
    expect("handle", smq_handle(client, index, &filter, NULL, NULL), SMQ_OK);
}

static void handlers_begin(const char *pattern, const char *arriving, uint32_t last) {
    char text[32];
    begin(SMQ_PROTOCOL_3_1_1);
    options.handlers = entries + 64;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        strcpy(text, pattern);
        number_topic(text, i);
        set_handler(i, text);
    }
    strcpy(topic, arriving);
    if (last) number_topic(topic, entries - 1);
    matching = last ? entries - 1 : UINT32_MAX;
}

static void handlers_exact(void) { handlers_begin("gateway/00000/power", "gateway/00000/power", 1); }
static void handlers_none(void) { handlers_begin("gateway/00000/power", "gateway/power/99999", 0); }
static void handlers_none_deep(void) { handlers_begin("gateway/00000/power", "gateway/99999/power", 0); }
static void handlers_plus(void) { handlers_begin("gateway/00000/+", "gateway/00000/power", 1); }
static void handlers_hash(void) { handlers_begin("gateway/00000/#", "gateway/00000/power", 1); }
static void handlers_plus_first(void) { handlers_begin("+/p_r/_/00000/+/#", "x/p_r/_/00000/y/z", 1); }

/* Three filters more match: two of them with wildcards. */
static void handlers_several(void) {
    handlers_begin("gateway/00000/power", "gateway/00000/power", 1);
    set_handler(entries, "#");
    set_handler(entries + 1, "gateway/+/power");
    set_handler(entries + 2, "+/+/+");
}

static void handled(void) {
    say_publish(0, 0, topic, NULL, -1);
    arrive(SMQ_EVENT_MESSAGE);
    expect("the filter that matches", subscription, (int32_t)matching);
}

static void next_matches(void) {
    smq_bytes name = { topic, sizeof(topic) - 1 };
    int32_t at = -1;
    for (uint32_t i = 0; i < 4; i++) {
        at = smq_next_match(client, &name, at);
        expect("match", at, (int32_t)(entries - 1 + i));
    }
    expect("no match", smq_next_match(client, &name, at), -1);
}

static void replace_handler(void) {
    char text[] = "gateway/00000/level";
    if (done % 2) memcpy(text + 14, "power", 5);
    uint32_t index = any_entry();
    number_topic(text, index);
    smq_bytes filter = { text, sizeof(text) - 1 };
    expect("handle", smq_handle(client, index, &filter, NULL, NULL), SMQ_OK);
}

static void clear_and_set_handler(void) {
    char text[] = "gateway/00000/power";
    uint32_t index = any_entry();
    number_topic(text, index);
    smq_bytes filter = { text, 0 };
    expect("handle", smq_handle(client, index, &filter, NULL, NULL), SMQ_OK);
    filter.size = sizeof(text) - 1;
    expect("handle", smq_handle(client, index, &filter, NULL, NULL), SMQ_OK);
}

/* ---- Subscriptions */

static void subscribe(uint32_t number, int unsubscribe) {
    static smq_subscription list = SMQ_SUBSCRIPTION_INIT;
    static smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    number_topic(topic, number);
    list.filter.data = topic;
    list.filter.size = sizeof(topic) - 1;
    subscriptions.count = 1;
    subscriptions.list = &list;
    if (unsubscribe) {
        expect("unsubscribe", smq_unsubscribe(client, &subscriptions), SMQ_OK);
    } else {
        expect("subscribe", smq_subscribe(client, &subscriptions), SMQ_OK);
    }
}

static void subscriptions_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.subscriptions = entries + 1;
    options.requests = 1;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        subscribe(i, 0);
        converse(SMQ_EVENT_COMPLETED);
    }
}

static void subscribe_new(void) {
    subscribe(entries + done, 0);
    converse(SMQ_EVENT_COMPLETED);
    subscribe(entries + done, 1);
    converse(SMQ_EVENT_COMPLETED);
}

static void subscribe_kept(void) {
    subscribe(any_entry(), 0);
    converse(SMQ_EVENT_COMPLETED);
}

/* One is given up, and another one is added. */
static void subscribe_other(void) {
    uint32_t number = any_entry();
    subscribe(number, 1);
    converse(SMQ_EVENT_COMPLETED);
    subscribe(number, 0);
    converse(SMQ_EVENT_COMPLETED);
}

/* One at a time: SUBACK, and the next SUBSCRIBE. */
static void resubscribe(void) {
    transmit(1);
    arrive(SMQ_EVENT_NONE);
}

static void resubscribe_begin(void) {
    subscriptions_begin();
    reconnect();
    for (uint32_t i = 0; i < entries / 2; i++) resubscribe();
}

/* SUBSCRIBE packets that the server does not acknowledge. */
static void subscribes_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.subscriptions = SMQ_OFF;
    options.requests = entries + 6;
    options.request_bytes = (entries + 6) * 32;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        subscribe(i, 0);
        transmit(0);
    }
}

static void subscribe_sent(void) {
    subscribe(entries + done, 0);
    transmit(0);
}

/* ---- Requests */

static smq_bytes reply_topic = { "gateway/reply", 13 };

/* The payload has the number of the request; the Correlation Data is the property in front of it, or behind the topic. */
static void see_request(const uint8_t *body, size_t size) {
    uint32_t number = 0;
    memcpy(&number, body + size - 8, 4);
    for (size_t i = 2u + smq_get_uint16(body); i + 11 <= size; i++) {
        if (body[i] != 9 || body[i + 1] != 0 || body[i + 2] != 8) continue;
        memcpy(correlations[number], body + i + 3, 8);
        return;
    }
    fail("no Correlation Data", (long)number);
}

static void request(uint32_t number, uint32_t timeout) {
    memcpy(payload, &number, 4);
    set_topic(0);
    message.cookie = number;
    expect("request", smq_request(client, &message, &reply_topic, timeout), SMQ_OK);
    transmit(0);
}

static void requests_begin(void) {
    begin(SMQ_PROTOCOL_5_0);
    message.qos = 0;
    options.replies = entries;
    server_sees_publish = see_request;
    make_client();
    for (uint32_t i = 0; i < entries; i++) request(i, 10000 + 1000 * i);
}

static void respond(uint32_t number) {
    uint8_t list[11] = { 9, 0, 8 };
    memcpy(list + 3, correlations[number], 8);
    say_publish(0, 0, "gateway/reply", list, sizeof(list));
    arrive(SMQ_EVENT_REPLY);
}

static void reply(void) {
    uint32_t number = any_entry();
    respond(number);
    request(number, 10000 + 1000 * number);
}

/* The entries are messages in front of the request's, which is sent, and gone before its response comes. */
static void requests_among_begin(void) {
    begin(SMQ_PROTOCOL_5_0);
    options.replies = 1;
    make_client();
    for (uint32_t i = 0; i < entries; i++) publish(i);
    transmit(0);
    message.qos = 0;
    server_sees_publish = see_request;
}

static void request_among(void) {
    request(0, 10000);
    respond(0);
}

static void requests_due_begin(void) {
    requests_begin();
    now += 10000 - 1000;
}

static void request_timeout(void) {
    now += 1000;
    turn();
    expect("an event", smq_next_event(client, &event), 1);
    expect("timeout", event.status, SMQ_ERR_TIMEOUT);
    request((uint32_t)event.cookie, 1000 * entries);
}

/* ---- Receiving QoS 1 and 2 */

static uint32_t arrived;

static void arrive_publish(unsigned qos) {
    say_publish(qos, arrived % 65535 + 1, "gateway/power", NULL, -1);
    arrive(SMQ_EVENT_MESSAGE);
    tokens[arrived++ % (LARGEST + 64)] = token;
}

static void held_begin(unsigned qos) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.flags |= SMQ_OPTION_HOLD;
    options.receive_maximum = entries + 64;
    make_client();
    for (uint32_t i = 0; i < entries; i++) arrive_publish(qos);
}

static void held_qos1_begin(void) { held_begin(1); }
static void held_qos2_begin(void) { held_begin(2); }

static void acknowledge(uint32_t number) {
    expect("ack", smq_ack(client, tokens[number % (LARGEST + 64)], SMQ_REASON_SUCCESS, NULL), SMQ_OK);
}

static void ack_any(void) { acknowledge(middle_entry()); }

/* The oldest is acknowledged, and another one comes. */
static void held_qos1(void) {
    acknowledge(arrived - entries);
    arrive_publish(1);
    transmit(0);
}

static void held_qos2(void) {
    acknowledge(arrived - entries);
    converse(SMQ_EVENT_NONE);
    arrive_publish(2);
}

static void unreleased_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.receive_maximum = entries + 64;
    make_client();
    for (uint32_t i = 0; i < entries; i++) {
        arrive_publish(2);
        transmit(0);
    }
}

static void unreleased(void) {
    say_acknowledgement(0x62, (arrived - entries) % 65535 + 1);
    arrive(SMQ_EVENT_NONE);
    arrive_publish(2);
    transmit(0);
}

/* QoS 2 messages whose PUBREL has not come, in front of those that are held. */
static void pubrel_held_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.flags |= SMQ_OPTION_HOLD;
    options.receive_maximum = entries + 64;
    make_client();
    for (uint32_t i = 0; i < 32; i++) {
        arrive_publish(2);
        acknowledge(i);
        transmit(0);
    }
    for (uint32_t i = 0; i < entries; i++) arrive_publish(1);
}

static void pubrel_held(void) {
    say_acknowledgement(0x62, done + 1);
    arrive(SMQ_EVENT_NONE);
    transmit(0);
}

/* The session is resumed, and half of the messages are resent: they are behind the others now. */
static void resent_begin(void) {
    begin(SMQ_PROTOCOL_3_1_1);
    options.flags |= SMQ_OPTION_HOLD | SMQ_OPTION_KEEP_SESSION;
    options.receive_maximum = entries + 64;
    make_client();
    for (uint32_t i = 0; i < entries; i++) arrive_publish(1 + i % 2);
    server_session = 1;
    reconnect();
    for (uint32_t i = 0; i < entries / 2; i++) {
        say_publish(4 | (1 + i % 2), i + 1, "gateway/power", NULL, -1);
        arrive(SMQ_EVENT_NONE);
    }
}

static void ack_resent(void) { acknowledge(1 + done * 3 % (entries / 2 - 1)); }

static void resend(void) {
    uint32_t number = entries / 2 + done;
    say_publish(4 | (1 + number % 2), number + 1, "gateway/power", NULL, -1);
    arrive(SMQ_EVENT_NONE);
}

/* ---- The table */

static const struct operation {
    const char *name;
    uint32_t largest; /* SIZE */
    unsigned count;   /* COUNT */
    void (*begin)(void);
    void (*once)(void);
    const char *what;
} operations[] = {
    { "latest", LARGEST, 16, latest_begin, latest_once, "a value of SMQ_OVERFLOW_LATEST is replaced" },
    { "latest-told", LARGEST, 8192, latest_told_begin, latest_told, "the same, and its completion is taken" },
    { "latest-new", LARGEST, 16, latest_begin, latest_new, "the first value of a topic" },
    { "drop-oldest", LARGEST, 16, oldest_begin, oldest_once, "SMQ_OVERFLOW_DROP_OLDEST, no descriptor left" },
    { "drop-oldest-bytes", LARGEST, 16, oldest_bytes_begin, oldest_once, "the same, no bytes left" },
    { "drop-oldest-told", LARGEST, 16, oldest_told_begin, oldest_told, "the same, and its completion is taken" },
    { "drop-oldest-mixed", LARGEST, 8192, oldest_mixed_begin, oldest_once, "the first half may not be dropped" },
    { "drop-oldest-packed", LARGEST, 4, oldest_mixed_bytes_begin, oldest_once, "the same, no bytes left" },
    { "drop-oldest-sent", LARGEST, 8192, oldest_in_flight_begin, oldest_once, "the first half is in flight" },
    { "drop-oldest-flight", LARGEST, 16, oldest_flight_begin, oldest_once, "no bytes left, and some are in flight" },
    { "refused", LARGEST, 16, refused_begin, refused, "SMQ_ERR_FULL" },
    { "expiry", LARGEST, 16, expiry_begin, expiry_once, "a message expires, another one is published" },
    { "expiry-last", LARGEST, 16, expiry_last_begin, expiry_last, "the newest message expires" },
    { "puback", LARGEST, 16, in_flight_begin, puback_newest, "QoS 1, with others in flight" },
    { "puback-any", LARGEST, 4, in_flight_begin, puback_any, "PUBACK of one in the middle" },
    { "pubrec-any", LARGEST, 4, qos2_in_flight_begin, pubrec_any, "PUBREC and PUBCOMP of one in the middle" },
    { "stats", LARGEST, 16, in_flight_begin, statistics, "smq_client_stats(), messages in the outbox" },
    { "turn", LARGEST, 16, in_flight_begin, idle, "a turn without anything to do" },
    { "alias-out", 1000, 16, aliases_out_begin, alias_out_hit, "a message under its Topic Alias" },
    { "alias-out-round", 1000, 16, aliases_out_begin, alias_out_miss, "one topic more than there are aliases" },
    { "alias-in", 1000, 16, aliases_in_begin, alias_in, "a message under the server's alias" },
    { "handler", LARGEST, 16, handlers_exact, handled, "the last filter matches" },
    { "handler-none", LARGEST, 16, handlers_none, handled, "no filter matches" },
    { "handler-none-deep", LARGEST, 16, handlers_none_deep, handled, "no filter matches, in the second level" },
    { "handler-plus", LARGEST, 16, handlers_plus, handled, "the last filter matches, with +" },
    { "handler-hash", LARGEST, 16, handlers_hash, handled, "the last filter matches, with #" },
    { "handler-plus-first", LARGEST, 16, handlers_plus_first, handled, "the same, with + in the first level" },
    { "handler-several", LARGEST, 16, handlers_several, handled, "the last four match" },
    { "next-match", LARGEST, 16, handlers_several, next_matches, "smq_next_match() for each of them" },
    { "handle", LARGEST, 16, handlers_exact, replace_handler, "smq_handle() replaces a filter" },
    { "handle-cleared", LARGEST, 16, handlers_exact, clear_and_set_handler, "it clears a filter and sets it" },
    { "subscribe", 1000, 16, subscriptions_begin, subscribe_new, "a filter more, and given up again" },
    { "subscribe-kept", 1000, 16, subscriptions_begin, subscribe_kept, "a filter that is kept" },
    { "subscribe-other", 1000, 16, subscriptions_begin, subscribe_other, "one of them given up, and added again" },
    { "resubscribe", 1000, 4, resubscribe_begin, resubscribe, "SUBSCRIBE and SUBACK of one of them" },
    { "subscribe-waiting", 250, 4, subscribes_begin, subscribe_sent, "SUBSCRIBE, with others unacknowledged" },
    { "request-turn", 1000, 16, requests_begin, idle, "a turn, with requests that wait" },
    { "request-reply", 1000, 16, requests_begin, reply, "the response to one of them, and a new one" },
    { "request-among", LARGEST, 16, requests_among_begin, request_among,
      "a request and its response, with messages in flight" },
    { "request-timeout", 1000, 16, requests_due_begin, request_timeout, "one is overdue, and a new one" },
    { "held-qos1", LARGEST, 16, held_qos1_begin, held_qos1, "QoS 1, with others held" },
    { "held-qos2", LARGEST, 16, held_qos2_begin, held_qos2, "QoS 2, with others held" },
    { "unreleased", LARGEST, 16, unreleased_begin, unreleased, "QoS 2, with others whose PUBREL has not come" },
    { "pubrel-held", LARGEST, 16, pubrel_held_begin, pubrel_held, "PUBREL, with messages held" },
    { "ack-any", LARGEST, 4, held_qos1_begin, ack_any, "smq_ack() of one in the middle" },
    { "ack-resent", LARGEST, 3, resent_begin, ack_resent, "the same, of one that was resent" },
    { "resent", LARGEST, 4, resent_begin, resend, "a message that is held is resent" },
};

static const uint32_t sizes[] = { 10, 1000, 10000, LARGEST };

int main(int argument_count, char **arguments) {
    size_t known = sizeof(operations) / sizeof(*operations);
    if (argument_count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < known; i++) {
            const struct operation *it = &operations[i];
            printf("%s\t%u\t%s\t", it->name, it->count, it->what);
            for (size_t size = 0; size < sizeof(sizes) / sizeof(*sizes); size++)
                if (sizes[size] < it->largest) printf("%u ", sizes[size]);
            printf("%u\n", it->largest);
        }
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; argument_count == 4 && i < known; i++) {
        const struct operation *it = &operations[i];
        if (strcmp(arguments[1], it->name) != 0) continue;
        operation = it->name;
        entries = (uint32_t)strtoul(arguments[2], NULL, 10);
        uint32_t count = (uint32_t)strtoul(arguments[3], NULL, 10);
        it->begin();
        it->once();
        CALLGRIND_START_INSTRUMENTATION;
        for (done = 1; done <= count; done++) it->once();
        CALLGRIND_STOP_INSTRUMENTATION;
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "usage: growth --list | NAME SIZE COUNT\n");
    return 2;
}
