/*
 * Packets of a server, to a client that has all kinds of exchanges under way. Each input begins with the same client: its block
 * is put back as it was. What is no packet has to end the connection, and nothing else may be taken for that.
 */
#include "engine_tools.h"

enum {
    VERSIONS = 3
};
static _Alignas(8) uint8_t blocks[VERSIONS][1 << 14], saved[VERSIONS][1 << 14];
static size_t sizes[VERSIONS];
static smq_client *clients[VERSIONS];
static volatile uint64_t sink;

/* Across the poisoned bytes, too. */
__attribute__((no_sanitize("address"))) static void copy_words(void *target, const void *source, size_t size) {
    volatile uint64_t *to = target;
    const uint64_t *from = source;
    for (size_t i = 0; i < size / 8; i++) to[i] = from[i];
}

static void receive(smq_client *client, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        void *space;
        size_t room;
        if (smq_engine_receive_buffer(client, &space, &room) != SMQ_OK) BROKEN("smq_engine_receive_buffer");
        if (room == 0) return;
        if (room > size) room = size;
        memcpy(space, bytes, room);
        if (smq_engine_received(client, room, 0) != SMQ_OK) BROKEN("smq_engine_received");
        bytes += room;
        size -= room;
    }
}

static void prepare(int which) {
    uint8_t *block = blocks[which];
    static const uint8_t connack_5[] = { 0x20, 6, 0, 0, 3, 0x22, 0, 4 }, connack[] = { 0x20, 2, 0, 0 };
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("h");
    options.client_id = smq_string("z");
    options.flags = SMQ_OPTION_OWN_TRANSPORT | SMQ_OPTION_NO_RECONNECT;
    options.protocol = which == 2 ? SMQ_PROTOCOL_3_1_1 : SMQ_PROTOCOL_5_0;
    options.outbox_bytes = options.receive_bytes = 256;
    options.outbox_messages = 8;
    if (which < 2) options.topic_aliases_in = options.topic_aliases_out = options.replies = 2;
    uint8_t buffer[16];
    smq_properties list = { buffer, sizeof buffer, 0 };
    smq_bytes method = smq_string("m");
    smq_property_put_bytes(&list, SMQ_PROPERTY_AUTHENTICATION_METHOD, &method);
    if (which == 1) options.properties = smq_property_list(&list); /* and CONNACK has not come yet */
    sizes[which] = (smq_client_size(&options) + 7) & ~(size_t)7;
    if (sizes[which] == 0 || sizes[which] > sizeof blocks[0]) BROKEN("the block has %zu bytes", sizes[which]);
    smq_event event;
    smq_client *client = tool_client(block, sizes[which], &options, &event);
    uint8_t sent[1024];
    smq_engine_opened(client, 0);
    tool_sent(client, sent, sizeof sent);
    if (which != 1) receive(client, which == 0 ? connack_5 : connack, which == 0 ? sizeof connack_5 : sizeof connack);
    while (smq_next_event(client, &event) == 1) continue;
    for (uint8_t qos = 0; qos <= 2; qos++) {
        smq_message message = SMQ_MESSAGE_INIT;
        message.topic = smq_string("t");
        message.qos = qos;
        if (smq_publish(client, &message) != SMQ_OK) BROKEN("smq_publish");
    }
    smq_subscription filters[2];
    memset(filters, 0, sizeof filters);
    filters[0].filter = smq_string("a");
    filters[1].filter = smq_string("b/#");
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 2;
    subscriptions.list = filters;
    if (smq_subscribe(client, &subscriptions) != SMQ_OK) BROKEN("smq_subscribe");
    subscriptions.count = 1;
    if (smq_unsubscribe(client, &subscriptions) != SMQ_OK) BROKEN("smq_unsubscribe");
    tool_sent(client, sent, sizeof sent);
    while (smq_next_event(client, &event) == 1) continue;
    copy_words(saved[which], block, sizes[which]);
    clients[which] = client;
}

static uint8_t *block; /* of the client that is in use */

static smq_client *restore(int which) {
    block = blocks[which];
    if (!clients[which]) prepare(which);
    copy_words(block, saved[which], sizes[which]);
    return clients[which];
}

static void read_all(smq_bytes bytes) {
    if (bytes.size > 0 &&
        ((const uint8_t *)bytes.data < block || (const uint8_t *)bytes.data + bytes.size > block + sizeof blocks[0]))
        BROKEN("a view that is not in the block");
    for (size_t i = 0; i < bytes.size; i++) sink += ((const uint8_t *)bytes.data)[i];
}

/* Takes what there is; 1, and the event in *end, if the connection has ended. */
static bool take(smq_client *client, smq_event *end) {
    smq_event event = SMQ_EVENT_INIT;
    for (int i = 0; i < 100; i++) {
        if (smq_next_event(client, &event) != 1) return false;
        read_all(event.topic);
        read_all(event.payload);
        read_all(event.properties);
        read_all(event.reason_string);
        read_all(event.reason_codes);
        read_all(event.server_reference);
        if (event.type != SMQ_EVENT_DISCONNECTED) continue;
        *end = event;
        return true;
    }
    BROKEN("events without end");
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2 || size > 1024) return 0;
    int which = input[0] % VERSIONS, version = which == 2 ? 4 : 5;
    smq_client *client = restore(which);
    const uint8_t *bytes = input + 1;
    size--;
    /* What the packets in front are, up to the first that is none, or too large for the client. */
    bool is_wrong = false, is_too_large = false, is_cut = false;
    for (size_t at = 0; at < size && !is_wrong && !is_too_large;) {
        int64_t whole = wire_size(bytes + at, size - at);
        if (whole == 0 || whole > (int64_t)(size - at)) is_cut = true;
        if (whole == 0) break;
        if (whole > 256) is_too_large = true;
        if (whole < 0 || is_too_large) {
            is_wrong = whole < 0;
            break;
        }
        if (is_cut) break;
        struct packet packet;
        is_wrong = wire_decode(bytes + at, (size_t)whole, version, false, &packet) != NULL;
        at += (size_t)whole;
        if (!is_wrong && (packet.type == DISCONNECT || packet.type == CONNACK)) break; /* nothing behind it counts */
    }
    smq_event end = SMQ_EVENT_INIT;
    bool has_ended = false;
    for (size_t at = 0; at < size && !has_ended;) {
        void *space;
        size_t room;
        if (smq_engine_receive_buffer(client, &space, &room) != SMQ_OK) BROKEN("smq_engine_receive_buffer");
        if (room > size - at) room = size - at;
        memcpy(space, bytes + at, room);
        if (smq_engine_received(client, room, 0) != SMQ_OK) BROKEN("smq_engine_received");
        at += room;
        has_ended = take(client, &end);
        if (room == 0) break;
    }
    uint8_t sent[2048];
    struct packet packet;
    size_t count = has_ended ? 0 : tool_sent(client, sent, sizeof sent);
    for (size_t at = 0; at < count;) {
        int64_t whole = wire_size(sent + at, count - at);
        if (whole <= 0 || (size_t)whole > count - at) BROKEN("a packet that is not sent whole");
        const char *wrong = wire_decode(sent + at, (size_t)whole, version, true, &packet);
        if (wrong) BROKEN("the client sends %s: type %d", wrong, packet.type);
        at += (size_t)whole;
    }
    if (!has_ended) has_ended = take(client, &end);
    if (is_wrong && !has_ended) {
        smq_engine_timed_out(client, 3000); /* what it may take to leave */
        has_ended = take(client, &end);
    }
    if (is_wrong && !has_ended) BROKEN("what is no packet goes unnoticed");
    if (!is_wrong && has_ended && end.status == SMQ_ERR_MALFORMED && !is_too_large && !is_cut)
        BROKEN("a packet that is right is taken for malformed: rule %d, %s", end.rule, smq_rule_name(end.rule));
    return 0;
}
