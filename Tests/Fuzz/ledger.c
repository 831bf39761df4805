/* The promises to the program: each thing that it asked for ends once, and what it is handed is what was sent. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int is_traced;
__attribute__((constructor)) static void look_for_trace(void) {
    is_traced = getenv("FUZZ_TRACE") ? atoi(getenv("FUZZ_TRACE")) : 0;
}

static volatile uint64_t sink; /* every byte that is handed out is read, so that the sanitizer sees a wrong one */

_Noreturn void broken(const char *promise, ...) {
    va_list arguments;
    va_start(arguments, promise);
    fputs("\nBROKEN PROMISE: ", stderr);
    vfprintf(stderr, promise, arguments);
    fputs("\n", stderr);
    abort();
}

void ledger_payload(int index, uint8_t *payload, size_t size) {
    for (size_t i = 0; i < size; i++)
        payload[i] = i == 0 ? (uint8_t)(index >> 8) : i == 1 ? (uint8_t)index : (uint8_t)(index * 7 + (int)i);
}

static void check_view(smq_bytes bytes, const char *name) {
    if (bytes.size == 0) return;
    const uint8_t *start = bytes.data;
    bool is_into = start == world.into && bytes.size <= sizeof world.into;
    if (!is_into && (start < block || start + bytes.size > block + world.block_size))
        broken("%s of an event is not in the block", name);
    for (size_t i = 0; i < bytes.size; i++) sink += start[i];
}

static struct asked *asked_by(uint64_t cookie) {
    uint64_t index = cookie - 0xC00C1E00;
    if (index >= (uint64_t)world.asked_count)
        broken("an event with a cookie that was never given: %llx", (unsigned long long)cookie);
    struct asked *asked = &world.asked[index];
    if (!asked->is_accepted) broken("an event for what was not accepted: %d", (int)index);
    return asked;
}

static void end(struct asked *asked, const smq_event *event) {
    int index = (int)(asked - world.asked);
    if (asked->is_done) broken("%d is told twice", index);
    asked->is_done = true;
    memset(world.lent[index], 0xEE, sizeof world.lent[index]); /* it is the program's again */
    if (world.streamed == index) world.streamed = -1;
    if (event->status > 0) broken("a status above 0");
    if (asked->quiet && event->status == SMQ_OK && asked->kind == A_MESSAGE) broken("a quiet message is told");
    if (event->status == SMQ_OK && asked->kind == A_MESSAGE) {
        if (asked->whole == 0) broken("%d is told as delivered, and was never sent whole", index);
        if (asked->qos > 0 && (!asked->is_answered || asked->answer >= 0x80))
            broken("%d is told as delivered, and the server has not said so", index);
    }
    if (event->status == SMQ_ERR_REFUSED && asked->kind < A_SUBSCRIBE && !asked->is_answered)
        broken("%d is told as refused, and was not", index);
    if ((event->status == SMQ_OK || event->status == SMQ_ERR_REFUSED) &&
        (asked->kind == A_SUBSCRIBE || asked->kind == A_UNSUBSCRIBE) && --world.answers < 0)
        broken("%d is told as answered, and is not", index);
    if (event->status == SMQ_ERR_REPLACED && asked->overflow != SMQ_OVERFLOW_LATEST) broken("%d is replaced", index);
}

/* A message of the server's that is handed out. */
static void handed_out(const smq_event *event) {
    world.event_serial = -1;
    if (event->part != (SMQ_PART_FIRST | SMQ_PART_LAST)) return;
    int serial = server_message((struct view){ event->payload.data, event->payload.size });
    if (serial < 0) return;
    struct down *down = &world.downs[serial];
    world.event_serial = serial;
    /* Of bytes of the input's own it is not always known what the client makes of them. */
    if (world.is_raw || world.is_broken) {
        if (down->handed_out == 0) down->handed_out = down->arrivals = 1;
        return;
    }
    down->handed_out++;
    if (down->handed_out > down->arrivals) broken("message %d is handed out more often than it came", serial);
    if (down->qos == 2 && down->handed_out > 1 && !down->is_refused)
        broken("QoS 2: message %d is handed out twice", serial);
    if (down->last_arrival <= world.last_handed)
        broken("message %d is handed out in another order than it came", serial);
    world.last_handed = down->last_arrival;
    for (int i = 0; i < serial; i++) {
        const struct down *older = &world.downs[i];
        if (older->qos == down->qos && older->state == D_SENT && older->arrivals > 0 && older->handed_out == 0)
            broken("message %d is handed out before %d", serial, i);
    }
    /* An alias may stand for a topic that is longer than those that are kept. */
    if (event->status != SMQ_OK) return;
    const char *topic = down->is_reply ? "r" : topics[down->topic];
    if (event->qos != down->qos || event->retain != down->retain || event->topic.size != strlen(topic) ||
        memcmp(event->topic.data, topic, event->topic.size) != 0)
        broken("a message is handed out with other words than it came with: %d", serial);
    if ((event->token != 0) != (event->qos > 0)) broken("a token of a message with QoS %d", event->qos);
}

static bool releases_message(void) {
    return world.has_event && world.event.token != 0 && !world.is_held && world.event_serial >= 0;
}

void ledger_release(void) {
    for (int i = 0; i < world.batch_count; i++) world.downs[world.batch_serials[i]].is_released = true;
    world.batch_count = 0;
    if (releases_message()) world.downs[world.event_serial].is_released = true;
    world.has_event = false;
}

/* Another event follows in the same call: the last one is released with it. */
void ledger_keep(void) {
    if (releases_message()) world.batch_serials[world.batch_count++] = world.event_serial;
}

void ledger_event(const smq_event *event) {
    trace("event %d: %s, cookie %d, reason %d, rule %d, retry %d, token %llx", event->type,
          smq_status_name(event->status), (int)(event->cookie - 0xC00C1E00), event->reason_code, event->rule,
          event->retry_ms, (unsigned long long)event->token);
    world.event = *event;
    world.has_event = true;
    world.event_serial = -1;
    world.is_held = false;
    check_view(event->reason_string, "reason_string");
    check_view(event->server_reference, "server_reference");
    check_view(event->properties, "properties");
    check_view(event->reason_codes, "reason_codes");
    check_view(event->topic, "topic");
    check_view(event->payload, "payload");
    if (event->type == SMQ_EVENT_DISCONNECTED || event->payload.data == world.into) world.into_size = 0;
    size_t position = 0;
    smq_property property = SMQ_PROPERTY_INIT;
    int32_t more;
    while ((more = smq_property_next(&event->properties, &position, &property)) == 1) sink += property.number;
    if (more != 0) broken("an event whose properties are none");
    switch (event->type) {
    case SMQ_EVENT_COMPLETED: {
        struct asked *asked = asked_by(event->cookie);
        if (asked->kind == A_REQUEST) broken("a request that ends in COMPLETED");
        end(asked, event);
        break;
    }
    case SMQ_EVENT_REPLY: {
        struct asked *asked = asked_by(event->cookie);
        if (asked->kind != A_REQUEST) broken("a reply to what was no request");
        end(asked, event);
        if (event->status == SMQ_OK) handed_out(event);
        break;
    }
    case SMQ_EVENT_PUBREC: {
        struct asked *asked = asked_by(event->cookie);
        if (asked->qos != 2 || asked->is_done) broken("PUBREC of a message that is told, or not of QoS 2");
        break;
    }
    case SMQ_EVENT_MESSAGE:
        handed_out(event);
        break;
    case SMQ_EVENT_OPEN:
        world.is_wanted = true;
        world.is_over = false;
        world.is_attempt_told = false;
        break;
    case SMQ_EVENT_CONNECTED:
        if (world.is_connected_told) broken("CONNECTED twice");
        if (!world.has_connack) broken("CONNECTED without CONNACK");
        world.is_connected_told = world.is_attempt_told = true;
        break;
    case SMQ_EVENT_DISCONNECTED:
        if (event->status > 0) broken("a status above 0");
        world.is_connected_told = false;
        world.is_wanted = false;
        world.is_over = true;
        server_connection_closed();
        break;
    default:
        if (event->type < SMQ_EVENT_CONNECTED || event->type > SMQ_EVENT_OPEN)
            broken("an unknown event: %d", event->type);
    }
}

void ledger_finished(void) {
    for (int i = 0; i < world.asked_count; i++) {
        struct asked *asked = &world.asked[i];
        bool has_to_be_told = asked->is_accepted && !(asked->quiet && asked->kind == A_MESSAGE);
        if (has_to_be_told && !asked->is_done) broken("%d is never told: kind %d, QoS %d", i, asked->kind, asked->qos);
        if (asked->kind == A_MESSAGE && asked->is_accepted && asked->quiet && !asked->is_done && asked->whole == 0 &&
            asked->overflow == SMQ_OVERFLOW_REFUSE)
            broken("%d is lost in silence: QoS %d", i, asked->qos);
    }
    for (int i = 0; i < world.down_count && !world.is_raw; i++) {
        const struct down *down = &world.downs[i];
        if (down->qos == 0 || down->is_dropped) continue;
        if (down->handed_out == 0) broken("message %d of the server is never handed out: QoS %d", i, down->qos);
        if (down->state != D_DONE) broken("message %d of the server is never done with: QoS %d", i, down->qos);
    }
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(world.client, &stats);
    if (stats.outbox_messages + stats.urgent_messages + stats.submit_waiting + stats.in_flight + stats.requests +
            stats.replies !=
        0)
        broken("numbers at the end: outbox %u, urgent %u, submitted %u, in flight %u, requests %u, replies %u",
               stats.outbox_messages, stats.urgent_messages, stats.submit_waiting, stats.in_flight, stats.requests,
               stats.replies);
    if (stats.messages_published != stats.messages_completed + stats.messages_failed)
        broken("published %llu, completed %llu, failed %llu", (unsigned long long)stats.messages_published,
               (unsigned long long)stats.messages_completed, (unsigned long long)stats.messages_failed);
}
