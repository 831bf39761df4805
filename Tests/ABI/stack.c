/*
 * How much stack each function of libswiftmqtt takes. Each is used in an ordinary way and in the deepest that is known.
 *
 * With one argument, or with two, what is done first over the loopback device is something else.
 *
 * With a bare engine this program is the server and answers with all the properties there are; then over the loopback device.
 */
#define _GNU_SOURCE
#include <swiftmqtt.h>
#include <unistd.h>

#include "stack.h"

/* ---- The server */

static uint8_t answer[16384];
static size_t answer_size, packet_begin;
static smq_bytes more_properties; /* Reason String, User Property */
static uint8_t suback_code = 1, connack_code, puback_code;
static int is_authenticated; /* CONNECT had an Authentication Method */

static void put(const void *bytes, size_t size) {
    memcpy(answer + answer_size, bytes, size);
    answer_size += size;
}

static void put_byte(uint8_t byte) { answer[answer_size++] = byte; }

static void put_short(unsigned value) {
    smq_put_uint16(answer + answer_size, (uint16_t)value);
    answer_size += 2;
}

static void put_string(const char *string) {
    put_short((unsigned)strlen(string));
    put(string, strlen(string));
}

/* Packets of 128 to 16,383 bytes and smaller ones alike: a length in two bytes if it has to be. */
static void packet(uint8_t first) {
    put_byte(first);
    packet_begin = answer_size;
}

static void packet_end(void) {
    size_t length = answer_size - packet_begin, bytes = length > 127 ? 2 : 1;
    memmove(answer + packet_begin + bytes, answer + packet_begin, length);
    answer[packet_begin] = (uint8_t)(length % 128 | (bytes == 2 ? 0x80 : 0));
    if (bytes == 2) answer[packet_begin + 1] = (uint8_t)(length / 128);
    answer_size += bytes;
}

static void put_more(void) {
    put_byte((uint8_t)more_properties.size);
    put(more_properties.data, more_properties.size);
}

static void acknowledge(uint8_t first, unsigned identifier, uint8_t code) {
    packet(first);
    put_short(identifier);
    put_byte(code);
    put_more();
    packet_end();
}

static void say_publish(uint8_t first, const char *topic, unsigned identifier, const void *list, size_t list_size,
                        size_t size) {
    static const char text[4096];
    packet(first);
    put_string(topic);
    if (first & 6) put_short(identifier);
    put_byte((uint8_t)list_size);
    put(list, list_size);
    put(text, size);
    packet_end();
}

static void say_connack(int version) {
    static const char limits[] = "\x22\0\x08\x12\0\x04name\x13\0\x3C\x21\0\x20\x25\x01\x27\0\1\0\0\x28\1\x29\1\x2A\1";
    packet(0x20);
    put_byte(0);
    put_byte(connack_code);
    if (version == 5 && connack_code == 0) {
        put_byte((uint8_t)(sizeof(limits) - 1 + more_properties.size + (is_authenticated ? 8 : 0)));
        put(limits, sizeof(limits) - 1);
        put(more_properties.data, more_properties.size);
        if (is_authenticated) put("\x15\0\5PLAIN", 8);
    } else if (version == 5) {
        put_byte(0);
    }
    packet_end();
}

static void say_auth(uint8_t code) {
    packet(0xF0);
    put_byte(code);
    put_byte((uint8_t)(8 + 7 + more_properties.size));
    put("\x15\0\5PLAIN\x16\0\4data", 15);
    put(more_properties.data, more_properties.size);
    packet_end();
}

static int authenticated_once;

static void serve_one(uint8_t first, const uint8_t *body, size_t length) {
    switch (first >> 4) {
    case 1:
        authenticated_once = 0;
        if (is_authenticated)
            say_auth(0x18);
        else
            say_connack(body[6]);
        break;
    case 3: {
        unsigned topic = smq_get_uint16(body), qos = first >> 1 & 3;
        const uint8_t *asked = memmem(body, length, "\x09\0\x08", 3);
        if (qos) acknowledge(qos == 1 ? 0x40 : 0x50, smq_get_uint16(body + 2 + topic), puback_code);
        if (asked && memmem(body, length, "\x08\0\5reply", 8)) say_publish(0x30, "reply", 0, asked, 11, 20);
        break;
    }
    case 5:
        acknowledge(0x62, smq_get_uint16(body), 0);
        break;
    case 6:
        acknowledge(0x70, smq_get_uint16(body), 0);
        break;
    case 8:
    case 10: {
        packet(first >> 4 == 8 ? 0x90 : 0xB0);
        put(body, 2);
        put_more();
        for (size_t at = 3 + body[2]; at < length; at += (first >> 4 == 8)) {
            at += 2 + (size_t)smq_get_uint16(body + at);
            put_byte(first >> 4 == 8 ? suback_code : 0);
        }
        packet_end();
        break;
    }
    case 12:
        packet(0xD0);
        packet_end();
        break;
    case 15:
        if (authenticated_once++)
            say_auth(0);
        else
            say_connack(5);
        break;
    default:
        break;
    }
}

static void serve(const uint8_t *bytes, size_t size) {
    const uint8_t *end = bytes + size;
    while (bytes < end) {
        uint8_t first = *bytes++;
        size_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (size_t)(*bytes & 0x7F) << shift;
            if (!(*bytes++ & 0x80)) break;
        }
        serve_one(first, bytes, length);
        bytes += length;
    }
}

/* ---- A client that is a bare engine */

static _Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t memory[1 << 20];
static smq_client *client;
static smq_event event = SMQ_EVENT_INIT;
static uint32_t now = 1000;
static unsigned seen; /* which events there have been, a bit each */
static uint64_t token;
static smq_bytes list; /* of a PUBLISH: five properties */
static int holds;

static smq_bytes text(const char *string) { return smq_string(string); }

static void log_it(void *user, int32_t level, int32_t what, int32_t number, int32_t other) {
    (void)user, (void)level, (void)what, (void)number, (void)other;
}

static void tap_it(void *user, const smq_packet *packet) { (void)user, (void)packet; }

static smq_observer observer = { sizeof(observer), 0, tap_it, log_it, SMQ_LOG_DEBUG, 0, NULL, NULL };

static void ignore(void *user, smq_client *it, const smq_event *what) { (void)user, (void)it, (void)what; }

static int32_t pull(void *user, uint32_t offset, void *buffer, size_t size) {
    (void)user, (void)offset;
    *(uint8_t *)buffer = 1;
    return size > 0;
}

static const char *const event_uses[] = { "no event",          "CONNECTED",    "DISCONNECTED", "COMPLETED", "ROOM",
                                          "MESSAGE",           "AUTHENTICATE", "REPLY",        "PUBREC",    "PUBREL",
                                          "SUBSCRIPTION_LOST", "CREDENTIALS",  "ADDRESSES",    "OPEN" };

/* Names the call by what came of it: known only afterwards, so it is noted with the last event's name and mended here. */
static int take_event(void) {
    int64_t result;
    const char *before = use;
    use = NULL;
    static unsigned turn;
    if (turn++ % 2)
        CALL(result, smq_next_event, (client, &event));
    else
        CALL(result, smq_next_events, (client, &event, 1));
    use = before;
    for (size_t i = 0; deepest[i].function; i++)
        if (!deepest[i].use) deepest[i].use = event_uses[event.type];
    seen |= 1u << event.type;
    return result == 1;
}

static void take_events(void) {
    static unsigned turn;
    smq_completion completion;
    int64_t result = 0;
    if (turn++ % 4 == 3) CALL(result, smq_next_completions, (client, &completion, 1));
    if (result < 0) expect("completions", result, 0);
    smq_message reply = SMQ_MESSAGE_INIT;
    smq_bytes name = text("user"), secret = text("secret"), data = text("data");
    while (take_event()) {
        switch (event.type) {
        case SMQ_EVENT_OPEN:
            EXPECT(SMQ_OK, smq_engine_opened, (client, now));
            break;
        case SMQ_EVENT_CREDENTIALS:
            EXPECT(SMQ_OK, smq_credentials, (client, event.attempt, &name, &secret));
            break;
        case SMQ_EVENT_AUTHENTICATE:
            if (event.reason_code == 0x18) EXPECT(SMQ_OK, smq_authenticate, (client, 0x18, &data, &more_properties));
            break;
        case SMQ_EVENT_MESSAGE:
            if (strncmp(event.topic.data, "ask", 3) == 0) {
                reply.payload = text("answer");
                EXPECT(SMQ_OK, smq_respond, (client, &event, &reply));
            }
            if (!(event.part & SMQ_PART_LAST)) {
                static uint8_t space[64];
                EXPECT(SMQ_OK, smq_receive_into, (client, space, sizeof(space)));
            }
            if (holds && event.token) {
                token = event.token;
                EXPECT(SMQ_OK, smq_hold, (client));
            }
            break;
        default:
            break;
        }
    }
}

static size_t transmit(void) {
    size_t total = 0;
    for (;;) {
        const void *bytes;
        size_t size;
        EXPECT(SMQ_OK, smq_engine_transmit, (client, now, &bytes, &size));
        if (size == 0) return total;
        serve(bytes, size);
        EXPECT(SMQ_OK, smq_engine_transmitted, (client, size, now));
        total += size;
    }
}

static void receive(void) {
    static unsigned turn;
    for (size_t given = 0; given < answer_size;) {
        void *space;
        size_t room;
        EXPECT(SMQ_OK, smq_engine_receive_buffer, (client, &space, &room));
        if (room == 0) {
            take_events();
            smq_engine_timed_out(client, now);
            smq_engine_receive_buffer(client, &space, &room);
        }
        if (room == 0) break; /* there is no connection any more */
        if (room > answer_size - given) room = answer_size - given;
        memcpy(space, answer + given, room);
        given += room;
        EXPECT(SMQ_OK, smq_engine_received, (client, room, now));
        /* Taking back what was lent makes an event of what is in it. */
        if (turn++ % 2) EXPECT(SMQ_OK, smq_receive_into, (client, NULL, 0));
    }
    answer_size = 0;
}

static void converse(void) {
    for (int i = 0; i < 20; i++) {
        if (transmit() == 0 && answer_size == 0 && i > 0) return;
        receive();
        take_events();
    }
}

/* Time passes until something is due. */
static void wait_for_it(void) {
    int64_t wait;
    CALL(wait, smq_engine_next_timeout_ms, (client, now));
    if (wait > 0) now += (uint32_t)wait;
    RUN(smq_engine_timed_out, (client, now));
    take_events();
    converse();
}

static smq_message told(uint8_t qos, const char *topic) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = qos;
    message.topic = text(topic);
    message.payload = text("21.5");
    return message;
}

static void try_publishing(void) {
    for (uint8_t qos = 0; qos <= 2; qos++) {
        for (unsigned kind = 0; kind < 8; kind++) {
            smq_message message = told(qos, "gateway/01/power");
            use = kind & 4 ? "urgent, properties" : kind & 1 ? "properties, expiry" : kind & 2 ? "overflow" : "plain";
            if (kind & 5) message.properties = list;
            if (kind & 1) message.expiry_s = 9;
            if (kind & 2) message.overflow = kind & 1 ? SMQ_OVERFLOW_DROP_OLDEST : SMQ_OVERFLOW_LATEST;
            if (kind & 4) message.urgent = 1;
            int64_t result = SMQ_OK;
            for (unsigned n = 0; n < 40 && result == SMQ_OK; n++) CALL(result, smq_publish, (client, &message));
            take_events();
            converse();
        }
    }
    puback_code = 0x87;
    smq_message message = told(1, "gateway/01/power"), two = told(2, "gateway/01/power");
    use = "refused";
    EXPECT(SMQ_OK, smq_publish, (client, &message));
    EXPECT(SMQ_OK, smq_publish, (client, &two));
    converse();
    puback_code = 0;

    use = "properties, expiry";
    void *space;
    message.properties = two.properties = list;
    message.expiry_s = two.expiry_s = 9;
    EXPECT(SMQ_OK, smq_publish_reserve, (client, &message, &space));
    EXPECT(SMQ_OK, smq_publish_abort, (client));
    EXPECT(SMQ_OK, smq_publish_reserve, (client, &two, &space));
    EXPECT(SMQ_OK, smq_publish_commit, (client, 2));
    converse();
    message.payload.size = 700;
    message.payload.data = NULL;
    EXPECT(SMQ_OK, smq_publish_stream, (client, &message, pull, NULL));
    converse();
    static const char lent[700];
    message.payload.data = lent;
    EXPECT(SMQ_OK, smq_publish_reference, (client, &message));
    converse();
    message = told(1, "gateway/01/power");
    message.properties = list;
    message.expiry_s = 9;
    int64_t result = SMQ_OK;
    for (unsigned n = 0; n < 20 && result == SMQ_OK; n++) CALL(result, smq_submit, (client, &message));
    smq_engine_timed_out(client, now);
    converse();
    smq_bytes reply_topic = text("reply");
    message = told(1, "ask");
    EXPECT(SMQ_OK, smq_request, (client, &message, &reply_topic, 5000));
    converse();
    EXPECT(SMQ_OK, smq_request, (client, &message, &reply_topic, 1));
    answer_size = 0;
    wait_for_it();
}

static void try_subscribing(void) {
    static const char *const filters[] = { "a", "b/+", "c/#", "$share/group/d/+/e", "#", "+/+/+", "reply", "f" };
    smq_subscription each[8];
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    memset(each, 0, sizeof(each));
    for (unsigned i = 0; i < 8; i++) {
        each[i].filter = text(filters[i]);
        each[i].qos = 2;
        each[i].retain_as_published = 1;
    }
    subscriptions.list = each;
    subscriptions.identifier = 300000;
    static uint8_t buffer[64];
    smq_properties own = { buffer, sizeof(buffer), 0 };
    smq_bytes name = text("name"), value = text("value");
    EXPECT(SMQ_OK, smq_property_put_pair, (&own, &name, &value));
    subscriptions.properties = smq_property_list(&own);
    for (unsigned count = 1; count <= 8; count += 7) {
        use = count == 1 ? "one filter" : "eight filters, properties";
        subscriptions.count = count;
        EXPECT(SMQ_OK, smq_subscribe, (client, &subscriptions));
        converse();
    }
    use = "eight filters, refused";
    suback_code = 0x87;
    EXPECT(SMQ_OK, smq_subscribe, (client, &subscriptions));
    converse();
    suback_code = 1;
    use = "four filters, properties";
    subscriptions.identifier = 0;
    subscriptions.count = 4;
    EXPECT(SMQ_OK, smq_unsubscribe, (client, &subscriptions));
    converse();
    subscriptions.count = 8;
    EXPECT(SMQ_OK, smq_subscribe, (client, &subscriptions));
    converse();
    use = "one filter";
    EXPECT(SMQ_OK, smq_subscribe_to, (client, "gateway/+/text", 1, 1));
    converse();
    EXPECT(SMQ_OK, smq_unsubscribe_from, (client, "gateway/+/text", 2));
    converse();
    for (unsigned qos = 0; qos <= 2; qos++) {
        int64_t result = SMQ_OK;
        use = "until the outbox is full";
        while (result == SMQ_OK) CALL(result, smq_publish_text, (client, "gateway/01/power", "on", qos, 1));
        converse();
    }
}

static void try_receiving(void) {
    static const char alias[] = "\x23\0\1\x0B\2\x03\0\4text\x26\0\1a\0\1b";
    static const char ask[] = "\x08\0\5reply\x09\0\4abcd";
    smq_bytes topic = text("gateway/01/power");
    int64_t result;
    for (unsigned i = 0; i < 16; i++) {
        char name[32];
        snprintf(name, sizeof(name), "+/%02u/#", 16 - i);
        smq_bytes filter = text(name);
        use = "a filter with wildcards";
        EXPECT(SMQ_OK, smq_handle, (client, i, &filter, ignore, NULL));
    }
    CALL(result, smq_next_match, (client, &topic, -1));
    expect("match", result, 15);
    use = "packets of every kind";
    for (unsigned round = 0; round < 3; round++) {
        holds = round == 2;
        for (unsigned i = 0; i < 12; i++) {
            uint8_t first = (uint8_t)(0x30 | (i % 3) << 1);
            unsigned identifier = 100 * (round + 1) + i;
            say_publish(first, "gateway/01/power", identifier, alias, sizeof(alias) - 1, i * 10);
            if (first & 6) say_publish(first | 8, "", identifier, alias, sizeof(alias) - 1, i * 10);
            if (round == 1) receive();
        }
        say_publish(0x34, "ask/me", 98, ask, sizeof(ask) - 1, 10);
        say_publish(0x32, "large", 99, NULL, 0, 3000); /* in parts */
        receive();
        take_events();
        converse();
        if (holds && token) {
            use = "properties";
            RUN(smq_packet_identifier, (client, token));
            uint64_t delivery_number;
            RUN(smq_delivery_number, (client, token, &delivery_number));
            RUN(smq_ack, (client, token, 0x80, &more_properties));
            RUN(smq_ack, (client, token, 0, NULL));
            use = "packets of every kind";
            converse();
        }
    }
}

/* The connection comes and goes, in every way. */
static void try_ends(void) {
    smq_message message = told(2, "gateway/01/power");
    use = "keep alive";
    for (unsigned i = 0; i < 3; i++) wait_for_it();
    use = "something in flight";
    EXPECT(SMQ_OK, smq_publish, (client, &message));
    message.qos = 1;
    EXPECT(SMQ_OK, smq_publish, (client, &message));
    transmit();
    answer_size = 0;
    suback_code = 0x87;
    EXPECT(SMQ_OK, smq_engine_closed, (client, 104, now));
    take_events();
    use = "the next attempt";
    for (unsigned i = 0; i < 4; i++) wait_for_it();
    suback_code = 1;
    expect("connected again", smq_client_state(client), SMQ_STATE_CONNECTED);
    use = "moved to another server";
    packet(0xE0);
    put_byte(0x9C);
    put_byte((uint8_t)(17 + more_properties.size));
    put("\x1C\0\x0E"
        "192.0.2.9:1884",
        17);
    put(more_properties.data, more_properties.size);
    packet_end();
    receive();
    take_events();
    for (unsigned i = 0; i < 4; i++) wait_for_it();
    use = "malformed";
    put("\x30\x03\0\5a", 5);
    receive();
    take_events();
    transmit();
    answer_size = 0;
    for (unsigned i = 0; i < 6; i++) wait_for_it();
    use = "nothing is answered";
    message.qos = 1;
    smq_publish(client, &message);
    transmit();
    answer_size = 0;
    now += 40000;
    RUN(smq_engine_timed_out, (client, now));
    take_events();
    now += 120000;
    EXPECT(1, smq_engine_timed_out, (client, now));
    use = "the next attempt";
    take_event();
    use = "no credentials";
    if (event.type == SMQ_EVENT_CREDENTIALS)
        EXPECT(SMQ_OK, smq_withhold_credentials, (client, event.attempt, 0));
    else
        expect("credentials", event.type, SMQ_EVENT_CREDENTIALS);
    take_events();
    now += 120000;
    for (unsigned i = 0; i < 4; i++) wait_for_it();
    use = "while connected";
    EXPECT(SMQ_OK, smq_authenticate, (client, 0x19, &message.payload, &more_properties));
    converse();
}

static void ask(void) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_server server = SMQ_SERVER_INIT;
    smq_bytes id;
    use = "connected";
    EXPECT(SMQ_OK, smq_client_stats, (client, &stats));
    EXPECT(SMQ_OK, smq_client_server, (client, &server));
    EXPECT(SMQ_OK, smq_client_id, (client, &id));
    smq_failure failure = SMQ_FAILURE_INIT;
    EXPECT(SMQ_OK, smq_last_failure, (client, &failure));
    smq_tls_info info = { .size = sizeof info };
    EXPECT(SMQ_ERR_STATE, smq_tls_describe, (client, &info));
    smq_tls_certificate certificate = { .size = sizeof certificate };
    EXPECT(SMQ_ERR_STATE, smq_tls_describe_certificate, (client, 0, &certificate));
    EXPECT(SMQ_ERR_NOT_SUPPORTED, smq_websocket_request, (client, &id, NULL));
    EXPECT(SMQ_STATE_CONNECTED, smq_client_state, (client));
    EXPECT(SMQ_OK, smq_hint_network, (client, 1));
    converse();
    EXPECT(SMQ_OK, smq_hint_network, (client, 0));
    EXPECT(SMQ_OK, smq_hint_resume, (client));
    converse();
}

static const char *full_url =
    "mqtt://us%65r:p%61ss@[2001:db8::1]:1883,a.example:1,b.example,192.0.2.7:3,c.example,d.example";

/* Everything that options can have. */
static smq_options full(void) {
    static smq_message will = SMQ_MESSAGE_INIT;
    static uint8_t buffer[128];
    smq_properties own = { buffer, sizeof(buffer), 0 };
    smq_bytes name = text("name"), value = text("value"), method = text("PLAIN");
    smq_options options = SMQ_OPTIONS_INIT;
    use = "";
    EXPECT(SMQ_OK, smq_property_put_bytes, (&own, SMQ_PROPERTY_AUTHENTICATION_METHOD, &method));
    EXPECT(SMQ_OK, smq_property_put_number, (&own, SMQ_PROPERTY_REQUEST_PROBLEM_INFORMATION, 1));
    EXPECT(SMQ_OK, smq_property_put_pair, (&own, &name, &value));
    options.properties = smq_property_list(&own);
    will = told(2, "gateway/01/state");
    will.properties = list;
    will.retain = 1;
    options.will = &will;
    options.protocol = SMQ_PROTOCOL_5_0;
    options.client_id = text("gateway-%%%%");
    options.outbox_bytes = 4096;
    options.outbox_messages = 16;
    options.receive_bytes = 1024;
    options.handlers = options.topic_aliases_in = 16;
    options.topic_aliases_out = options.replies = options.submit_messages = 8;
    options.urgent_messages = 4;
    options.urgent_bytes = 1024;
    options.stream_bytes = 256;
    options.references = 4;
    options.trace_bytes = 1024;
    options.flags = SMQ_OPTION_KEEP_SESSION | SMQ_OPTION_PARTS | SMQ_OPTION_REDIRECT | SMQ_OPTION_SHUFFLE;
    return options;
}

static void make(const smq_options *options) {
    size_t size;
    CALL(size, smq_client_size, (options));
    if (size == 0) expect("options", smq_options_check(options, NULL), SMQ_OK);
    EXPECT(SMQ_OK, smq_client_init, (memory, sizeof(memory), options, &client));
    EXPECT(SMQ_OK, smq_set_log, (client, SMQ_LOG_DEBUG, log_it, NULL));
    observer.next = NULL;
    EXPECT(SMQ_OK, smq_add_observer, (client, &observer));
    EXPECT(SMQ_OK, smq_trace_clear, (client));
    EXPECT(0, smq_trace_read, (client, tap_it, NULL));
    EXPECT(SMQ_OK, smq_remove_observer, (client, &observer));
    EXPECT(SMQ_OK, smq_add_observer, (client, &observer));
}

static void try_engine(void) {
    smq_options options = full();
    size_t offset;
    options.url = text(full_url);
    use = "URL with six servers, Will, properties";
    EXPECT(SMQ_OK, smq_options_check, (&options, &offset));
    options.outbox_bytes = 1;
    size_t named;
    char names[32];
    CALL(named, smq_options_fault, (&options, names, sizeof(names)));
    expect("names", (int64_t)named, 12);
    options.outbox_bytes = 4096;
    make(&options);
    EXPECT(SMQ_OK, smq_client_close, (client));
    options.url = text("");
    options.host = text("192.0.2.1");
    options.flags |= SMQ_OPTION_ASK_CREDENTIALS | SMQ_OPTION_OWN_TRANSPORT;
    make(&options);
    use = "credentials, authentication";
    is_authenticated = 1;
    smq_engine_timed_out(client, now);
    EXPECT(SMQ_OK, smq_connect, (client));
    take_events();
    converse();
    ask();
    try_publishing();
    try_subscribing();
    try_receiving();
    try_ends();
    ask();
    use = "something in flight";
    smq_message message = told(2, "gateway/01/power");
    smq_publish(client, &message);
    EXPECT(SMQ_OK, smq_disconnect, (client, 500));
    EXPECT(SMQ_OK, smq_disconnect_with, (client, 0, 4, &more_properties));
    converse();
    for (unsigned i = 0; i < 3; i++) wait_for_it();
    EXPECT(SMQ_OK, smq_client_close, (client));

    use = "falls back to 3.1.1";
    is_authenticated = 0;
    options = full();
    options.properties = text("");
    options.host = text("192.0.2.1");
    options.flags |= SMQ_OPTION_OWN_TRANSPORT | SMQ_OPTION_FALLBACK;
    make(&options);
    smq_engine_timed_out(client, now);
    connack_code = 0x84;
    EXPECT(SMQ_OK, smq_connect, (client));
    take_events();
    transmit();
    receive();
    connack_code = 0;
    take_events();
    converse();
    expect("connected", smq_client_state(client), SMQ_STATE_CONNECTED);
    EXPECT(SMQ_OK, smq_disconnect_with, (client, 0, 0, NULL));
    converse();
    EXPECT(SMQ_OK, smq_client_close, (client));
    /* Every event there is, but ROOM, which depends on sizes, and the one for programs that look names up themselves. */
    expect("events", seen & ~(1u << SMQ_EVENT_NONE | 1u << SMQ_EVENT_ROOM),
           0x3FFE & ~(1u << SMQ_EVENT_ADDRESSES | 1u << SMQ_EVENT_ROOM));
}

/* ---- Over the loopback device */

static void attend(void) {
    uint8_t bytes[4096];
    if (peer < 0) peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (peer < 0) return;
    ssize_t size = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size > 0) serve(bytes, (size_t)size);
    if (size == 0) {
        close(peer);
        peer = -1;
    }
    if (answer_size && peer >= 0) size = send(peer, answer, answer_size, MSG_NOSIGNAL);
    answer_size = 0;
}

static void run_until(int32_t state) {
    smq_bytes address = text("127.0.0.1");
    for (unsigned i = 0; i < 500; i++) {
        if (has_loop) {
            struct pollfd readable = { .fd = smq_fd(client), .events = POLLIN };
            poll(&readable, 1, 10);
            RUN(smq_service, (client));
        } else {
            RUN(smq_wait, (client, 10));
        }
        RUN(smq_next_timeout_ms, (client));
        while (take_event())
            if (event.type == SMQ_EVENT_ADDRESSES) EXPECT(SMQ_OK, smq_addresses, (client, event.attempt, &address, 1));
        attend();
        if (smq_client_state(client) == state) return;
    }
    expect("state", smq_client_state(client), state);
}

static void try_socket(const char *host, uint32_t flags, const char *what) {
    smq_options options = full();
    options.properties = text("");
    if (strchr(host, '/')) {
        options.url = text(host);
    } else {
        options.host = text(host);
        options.port = port;
    }
    options.reconnect_min_ms = options.reconnect_max_ms = 10;
    options.flags = (options.flags & ~(uint32_t)SMQ_OPTION_SHUFFLE) | flags;
    use = what;
    make(&options);
    RUN(smq_fd, (client));
    EXPECT(SMQ_OK, smq_connect, (client));
    run_until(SMQ_STATE_CONNECTED);
    smq_message message = told(1, "gateway/01/power");
    message.properties = list;
    for (unsigned i = 0; i < 10; i++) {
        smq_publish(client, &message);
        smq_submit(client, &message);
        RUN(smq_submit, (client, &message));
        RUN(smq_flush, (client));
        run_until(SMQ_STATE_CONNECTED);
    }
    say_publish(0x34, "gateway/01/power", 7, NULL, 0, 300);
    run_until(SMQ_STATE_CONNECTED);
    for (unsigned i = 0; i < 2;
         i++) { /* the connection breaks, and is noticed by one that sends or by one that receives */
        close(peer);
        peer = -1;
        if (i == 0) smq_publish(client, &message);
        if (i == 0) RUN(smq_flush, (client));
        run_until(SMQ_STATE_WAITING);
        run_until(SMQ_STATE_CONNECTED);
    }
    EXPECT(SMQ_OK, smq_disconnect, (client, 100));
    run_until(SMQ_STATE_DISCONNECTED);
    EXPECT(SMQ_OK, smq_client_close, (client));
}

static void on_event(void *user, smq_client *it, const smq_event *what) {
    (void)user, (void)what;
    if (look_at_thread() == 4) smq_disconnect(it, 0);
}

static void try_runner(void) {
    static smq_runner runner = SMQ_RUNNER_INIT;
    smq_runner_options how = SMQ_RUNNER_OPTIONS_INIT;
    smq_options options = full();
    options.properties = text("");
    options.host = text("localhost");
    options.port = port;
    options.reconnect_min_ms = options.reconnect_max_ms = 10;
    use = "a runner";
    make(&options);
    how.on_event = on_event;
    how.stack_bytes = 4 * AREA;
    EXPECT(SMQ_OK, smq_runner_start, (&runner, client, &how));
    attend_until(1); /* CONNECTED */
    smq_message message = told(1, "gateway/01/power");
    message.properties = list;
    message.expiry_s = 9;
    EXPECT(SMQ_OK, smq_submit, (client, &message));
    attend_until(2); /* COMPLETED */
    close(peer);
    peer = -1;
    attend_until(5); /* DISCONNECTED, CONNECTED, and DISCONNECTED as it was asked for */
    EXPECT(SMQ_OK, smq_runner_stop, (&runner, 100));
    EXPECT(SMQ_OK, smq_client_close, (client));
    use = "a name, a connection that breaks";
    note("(the runner's thread)", (size_t)runner_deepest);
}

/* Runs a group until its client has had so many events of a type. */
static void run_group(smq_group *group, int32_t type, int count, int waits) {
    smq_event event = SMQ_EVENT_INIT;
    smq_client *ready;
    int64_t result;
    for (unsigned i = 0; i < 500 && count > 0; i++) {
        if (waits)
            RUN(smq_group_wait, (group, 10));
        else
            RUN(smq_group_service, (group));
        RUN(smq_group_next_timeout_ms, (group));
        attend();
        do {
            CALL(result, smq_group_next_ready, (group, &ready));
            while (result == 1 && smq_next_event(ready, &event) == 1) count -= event.type == type;
        } while (result == 1);
        if (!waits) poll(NULL, 0, 1);
    }
    expect("the group's events", count, 0);
}

static void try_group(int waits) {
    static _Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t block[4096];
    smq_group *group;
    size_t size;
    smq_options options = full();
    options.properties = text("");
    options.host = text("localhost");
    options.port = port;
    options.reconnect_min_ms = options.reconnect_max_ms = 10;
    use = "a group, a name";
    CALL(size, smq_group_size, (4));
    EXPECT(SMQ_OK, smq_group_init, (block, size, 4, &group));
    RUN(smq_group_fd, (group));
    make(&options);
    EXPECT(SMQ_OK, smq_group_add, (group, client));
    smq_connect(client);
    run_group(group, SMQ_EVENT_CONNECTED, 1, waits);
    smq_message message = told(1, "gateway/01/power");
    message.properties = list;
    smq_publish(client, &message);
    run_group(group, SMQ_EVENT_COMPLETED, 1, waits);
    close(peer);
    peer = -1;
    run_group(group, SMQ_EVENT_CONNECTED, 1, waits);
    EXPECT(SMQ_OK, smq_group_remove, (group, client));
    EXPECT(SMQ_OK, smq_group_add, (group, client));
    EXPECT(SMQ_OK, smq_group_close, (group));
    EXPECT(SMQ_OK, smq_client_close, (client));
    close(peer);
    peer = -1;
}

static void try_network(int first) {
    listen_at_loopback();
    /* The first thread that a program makes takes more than the others: once the call that does it is another. */
    if (first > 0) {
        char url[80];
        snprintf(url, sizeof(url), "mqtt://127.0.0.1:1,localhost:%u", port);
        has_loop = first - 1;
        try_socket(url, 0, "the second server, a name");
    }
    for (has_loop = 0; has_loop <= 1; has_loop++) {
        try_socket("127.0.0.1", 0, "a numeric address");
        try_socket("localhost", 0, "a name");
        try_socket("server.example", SMQ_OPTION_ASK_ADDRESSES, "addresses are asked for");
    }
    try_group(0);
    try_group(1);
    try_runner();
}

/* ---- Calls without a client */

static void try_helpers(void) {
    const char *name;
    char room[64];
    size_t position = 0;
    smq_property property = SMQ_PROPERTY_INIT;
    smq_bytes topic = text("a/\xC3\xA4/c/d/e/f/g"), filter = text("$share/group/a/+/c/+/e/#"),
              template = text("id-%%%%%%%%");
    uint32_t version;
    int64_t result;
    CALL(version, smq_version, ());
    const uint16_t *layout;
    CALL(layout, smq_abi_layout, ());
    expect("layout", layout[0] == sizeof(smq_bytes), 1);
    CALL(name, smq_status_name, (SMQ_ERR_CREDENTIALS));
    CALL(name, smq_status_text, (SMQ_ERR_CREDENTIALS));
    CALL(name, smq_stage_name, (SMQ_STAGE_CREDENTIALS));
    CALL(name, smq_rule_name, (SMQ_RULE_UNEXPECTED_AUTHENTICATION));
    CALL(name, smq_tls_cause_name, (SMQ_TLS_CA_FILE));
    CALL(name, smq_log_name, (SMQ_LOG_REDIRECTED));
    CALL(name, smq_reason_code_name, (SMQ_PROTOCOL_5_0, 0xA2));
    expect("names", version > 0 && name, 1);
    smq_event event = SMQ_EVENT_INIT;
    event.type = SMQ_EVENT_DISCONNECTED;
    event.status = SMQ_ERR_PROTOCOL;
    event.rule = SMQ_RULE_UNEXPECTED_AUTHENTICATION;
    event.topic = text("a\x1b/\xC2\x80");
    size_t described;
    CALL(described, smq_describe_event, (&event, room, sizeof(room)));
    expect("line", described > sizeof(room), 1);
    do CALL(result, smq_property_next, (&list, &position, &property));
    while (result == 1);
    expect("properties", result, 0);
    EXPECT(SMQ_OK, smq_topic_name_check, (&topic));
    EXPECT(SMQ_OK, smq_topic_filter_check, (&filter));
    EXPECT(1, smq_topic_matches, (&filter, &topic));
    EXPECT(19, smq_expand_template, (&template, room, sizeof(room)));
}

static void try_journal(void) {
    char directory[] = "/tmp/smq-stack-XXXXXX", path[64];
    smq_options options = SMQ_OPTIONS_INIT;
    smq_journal_info info = SMQ_JOURNAL_INFO_INIT;
    if (!mkdtemp(directory)) exit(EXIT_FAILURE);
    snprintf(path, sizeof(path), "%s/journal", directory);
    options.url = text("mqtt://127.0.0.1:1");
    options.client_id = text("a");
    options.flags = SMQ_OPTION_KEEP_SESSION;
    options.outbox_bytes = 8192;
    options.outbox_messages = 16;
    options.journal = text(path);
    for (int turn = 0; turn < 2; turn++) {
        use = turn ? "a journal with messages" : "a new journal";
        EXPECT(SMQ_OK, smq_client_init, (memory, sizeof(memory), &options, &client));
        smq_message message = told(1 + turn, "gateway/01/state");
        EXPECT(SMQ_OK, smq_publish, (client, &message));
        EXPECT(1, smq_sync, (client, 5000));
        EXPECT(SMQ_OK, smq_journal_state, (client, &info));
        EXPECT(SMQ_OK, smq_client_close, (client));
    }
    unlink(path);
    rmdir(directory);
}

/* The same with a storage of the program's own. */
static void try_storage(void) {
    enum {
        BYTES = 262144
    };
    uint8_t *bytes = calloc(1, BYTES);
    smq_options options = SMQ_OPTIONS_INIT;
    if (!bytes) exit(EXIT_FAILURE);
    options.host = text("server.example");
    options.client_id = text("a");
    options.flags = SMQ_OPTION_KEEP_SESSION | SMQ_OPTION_OWN_TRANSPORT;
    options.outbox_bytes = 8192;
    options.outbox_messages = 16;
    options.journal_bytes = BYTES;
    for (int turn = 0; turn < 2; turn++) {
        smq_storage storage = SMQ_STORAGE_INIT;
        use = turn ? "a storage with messages" : "a new storage";
        EXPECT(SMQ_OK, smq_client_init, (memory, sizeof(memory), &options, &client));
        for (int is_open = 0;;) {
            int result;
            CALL(result, smq_engine_storage, (client, 0, 0, &storage));
            if (result != 1 && is_open) break;
            if (storage.operation == SMQ_STORAGE_READ) memcpy(storage.data, bytes + storage.offset, storage.byte_count);
            if (storage.operation == SMQ_STORAGE_WRITE)
                memcpy(bytes + storage.offset, storage.data, storage.byte_count);
            EXPECT(SMQ_OK, smq_engine_storage_done, (client, 0, 0));
            smq_journal_info info = SMQ_JOURNAL_INFO_INIT;
            if (is_open || smq_journal_state(client, &info) != SMQ_OK) continue;
            is_open = 1;
            smq_message message = told(1 + turn, "gateway/01/state");
            EXPECT(SMQ_OK, smq_publish, (client, &message));
            EXPECT(0, smq_sync, (client, 0));
        }
        EXPECT(SMQ_OK, smq_client_close, (client));
    }
    free(bytes);
}

int main(int argument_count, char **arguments) {
    (void)arguments;
    static uint8_t publish[128], reasons[64];
    smq_properties properties = { publish, sizeof(publish), 0 }, more = { reasons, sizeof(reasons), 0 };
    smq_bytes type = text("application/json"), reply = text("gateway/01/reply"), data = text("12345678");
    smq_bytes name = text("unit"), value = text("watt"), reason = text("because");
    EXPECT(SMQ_OK, smq_property_put_number, (&properties, SMQ_PROPERTY_PAYLOAD_FORMAT_INDICATOR, 1));
    EXPECT(SMQ_OK, smq_property_put_bytes, (&properties, SMQ_PROPERTY_CONTENT_TYPE, &type));
    EXPECT(SMQ_OK, smq_property_put_bytes, (&properties, SMQ_PROPERTY_RESPONSE_TOPIC, &reply));
    EXPECT(SMQ_OK, smq_property_put_bytes, (&properties, SMQ_PROPERTY_CORRELATION_DATA, &data));
    EXPECT(SMQ_OK, smq_property_put_pair, (&properties, &name, &value));
    list = smq_property_list(&properties);
    EXPECT(SMQ_OK, smq_property_put_bytes, (&more, SMQ_PROPERTY_REASON_STRING, &reason));
    EXPECT(SMQ_OK, smq_property_put_pair, (&more, &name, &value));
    more_properties = smq_property_list(&more);
    try_helpers();
    try_engine();
    try_network(argument_count - 1);
    try_storage();
    try_journal();
    try_storage();
    print_deepest();
    return EXIT_SUCCESS;
}
