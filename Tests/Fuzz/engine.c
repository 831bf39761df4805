/*
 * The whole engine through the C ABI: an input is options, then a list of steps. A step is a byte that says which, one that
 * says how long its data is, and the data. At the end the server does all that is asked of it, and everything that was accepted
 * has to be told.
 */
#include "world.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <string.h>

struct world world;
_Alignas(8) uint8_t block[1 << 17];

/* ---- Calls that fail change nothing */

__attribute__((no_sanitize("address"))) static uint64_t hash_of_block(void) {
    const uint64_t *words = (const uint64_t *)(const void *)block;
    uint64_t hash = 0;
    for (size_t i = 0; i < world.block_size / 8; i++) hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15 + (hash >> 29);
    if (is_traced) { /* which words changed since the last time */
        static uint64_t last[sizeof block / 8];
        for (size_t i = 0; i < world.block_size / 8; i++)
            if (last[i] != words[i]) {
                if (is_traced > 1)
                    trace("    word at %zu: %llx, was %llx", 8 * i, (unsigned long long)words[i],
                          (unsigned long long)last[i]);
                last[i] = words[i];
            }
    }
    return hash;
}

struct before {
    uint64_t hash;
    smq_stats stats;
};

static struct before look(void) {
    struct before before = { hash_of_block(), SMQ_STATS_INIT };
    smq_client_stats(world.client, &before.stats);
    return before;
}

/* What a call returns; of one that is wrong (-1xx) nothing has changed. */
static int32_t checked(int32_t result, const struct before *before, const char *name) {
    if (result != SMQ_OK) trace("%.30s: %s", name, smq_status_name(result));
    if (result > SMQ_ERR_NULL || result <= -200) return result;
    struct before now = look();
    if (memcmp(&now.stats, &before->stats, sizeof now.stats) != 0)
        broken("%s failed, and the numbers have changed", name);
    /* Not a byte of the block; but what asks for more than a plain message does what is due before. */
    if (!world.is_time_read && now.hash != before->hash)
        broken("%s failed with %s, and has changed something", name, smq_status_name(result));
    return result;
}
#define CHECKED(call)                                                                                                  \
    __extension__({                                                                                                    \
        struct before before = look();                                                                                 \
        checked(call, &before, #call);                                                                                 \
    })

/* ---- Events */

static void released(const struct down *down) { world.downs[down - world.downs].is_released = true; }

static void acknowledge(int which, uint8_t reason, smq_bytes properties) {
    if (world.held_count == 0) return;
    which %= world.held_count;
    int serial = world.held_serials[which];
    int32_t status =
        CHECKED(smq_ack(world.client, world.held_tokens[which], reason, properties.size ? &properties : NULL));
    if (status != SMQ_OK && status != SMQ_ERR_TOKEN) return;
    if (serial >= 0) {
        released(&world.downs[serial]);
        if (reason >= 0x80) world.downs[serial].is_refused = true;
    }
    world.held_count--;
    world.held_tokens[which] = world.held_tokens[world.held_count];
    world.held_serials[which] = world.held_serials[world.held_count];
}

static void hold(void) {
    if (!world.has_event || world.event.token == 0 || world.is_held || world.held_count == 64) return;
    bool always = world.options.flags & SMQ_OPTION_HOLD;
    if (!always && CHECKED(smq_hold(world.client)) != SMQ_OK) return;
    world.is_held = true;
    world.held_tokens[world.held_count] = world.event.token;
    world.held_serials[world.held_count++] = world.event_serial;
}

/* 0: takes it back. */
static void receive_into(uint8_t size) {
    bool has_part = world.has_event && world.event.type == SMQ_EVENT_MESSAGE && !(world.event.part & SMQ_PART_LAST);
    int32_t status = CHECKED(smq_receive_into(world.client, world.into, size * 4u));
    if (status != (has_part || size == 0 ? SMQ_OK : SMQ_ERR_STATE)) broken("smq_receive_into: %d", status);
    if (status == SMQ_OK) world.into_size = size * 4u;
}

/* What an observer was told of this connection, and what was sent: packets one behind the other. */
static struct {
    smq_observer observer;
    uint64_t told, last, sent;
} seen;

static void tapped(void *user, const smq_packet *packet) {
    (void)user;
    uint32_t sum = 0;
    for (size_t i = 0; i < packet->data.size; i++) sum += ((const uint8_t *)packet->data.data)[i];
    for (size_t i = 0; i < packet->more.size; i++) sum += ((const uint8_t *)packet->more.data)[i];
    if (packet->length == 0 || packet->data.size + packet->more.size > packet->length)
        broken("an observer is told more of a packet than there is (%u)", sum);
    if (packet->direction != SMQ_PACKET_SENT) return;
    seen.told += packet->length;
    seen.last = packet->length;
}

static void check_what_was_seen(size_t size) {
    seen.sent += size;
    if (seen.sent == 0) return;
    if (seen.told < seen.sent || seen.told - seen.last >= seen.sent)
        broken("an observer was told %llu bytes of packets, the last of them %llu, of %llu that were sent",
               (unsigned long long)seen.told, (unsigned long long)seen.last, (unsigned long long)seen.sent);
}

static void handle(const smq_event *event) {
    ledger_event(event);
    if (world.options.flags & SMQ_OPTION_HOLD) hold();
    switch (event->type) {
    case SMQ_EVENT_OPEN:
        server_connection_opened();
        seen.told = seen.last = seen.sent = 0;
        if (smq_engine_opened(world.client, world.now) != SMQ_OK) broken("a connection that was wanted is not");
        break;
    case SMQ_EVENT_CREDENTIALS: {
        smq_bytes name = smq_string("user"), password = smq_string("secret");
        if (smq_credentials(world.client, event->attempt, &name, &password) != SMQ_OK)
            broken("credentials were wanted");
        break;
    }
    case SMQ_EVENT_AUTHENTICATE:
        if (event->reason_code == 0x18) smq_authenticate(world.client, SMQ_REASON_CONTINUE_AUTHENTICATION, NULL, NULL);
        break;
    }
}

/* Only completions of messages, without the event. */
static bool take_completions(void) {
    smq_completion completions[4];
    ledger_release();
    int32_t count = smq_next_completions(world.client, completions, 4);
    if (count < 0 || count > 4) broken("smq_next_completions: %d", count);
    for (int32_t i = 0; i < count; i++) {
        smq_event event = SMQ_EVENT_INIT;
        event.type = SMQ_EVENT_COMPLETED;
        event.completed = SMQ_COMPLETED_PUBLISH;
        event.cookie = completions[i].cookie;
        event.status = completions[i].status;
        event.reason_code = completions[i].reason_code;
        event.latency_ms = completions[i].latency_ms;
        handle(&event);
    }
    return count > 0;
}

/* False: there was none. */
static bool take_event(void) {
    smq_event events[8] = { SMQ_EVENT_INIT };
    if (world.batch == 2 && take_completions()) return true;
    ledger_release();
    int32_t count = world.batch == 1 ? smq_next_event(world.client, events)
                                     : smq_next_events(world.client, events, (uint32_t)world.batch);
    if (count < 0 || count > world.batch) broken("smq_next_events: %d", count);
    for (int32_t i = 0; i < count; i++) {
        if (i > 0) ledger_keep();
        char line[64];
        if (smq_describe_event(&events[i], line, sizeof line) < 4) broken("smq_describe_event: %s", line);
        handle(&events[i]);
    }
    return count > 0;
}

static void take_events(void) {
    for (int i = 0; i < 2000; i++)
        if (!take_event()) return;
    broken("events without end");
}

/* ---- The link */

static bool transmit(size_t at_most) {
    const void *bytes;
    size_t size;
    if (smq_engine_transmit(world.client, world.now, &bytes, &size) != SMQ_OK) broken("smq_engine_transmit");
    if (size == 0) return false;
    const uint8_t *start = bytes;
    bool is_lent = start >= world.lent[0] && start + size <= world.lent[MESSAGES - 1] + sizeof world.lent[0];
    if (!is_lent && (start < block || start + size > block + world.block_size))
        broken("bytes to be sent are not in the block");
    if (world.is_over) broken("bytes to be sent, without a connection");
    if (size > at_most) size = at_most;
    if (size > sizeof world.up / 2) size = sizeof world.up / 2;
    static uint8_t copy[LINK_BYTES];
    memcpy(copy, bytes, size);
    if (smq_engine_transmitted(world.client, size, world.now) != SMQ_OK) broken("smq_engine_transmitted");
    check_what_was_seen(size);
    server_received(copy, size);
    return true;
}

static void transmit_all(void) {
    for (int i = 0; i < 2000; i++)
        if (!transmit(SIZE_MAX)) return;
    broken("bytes to be sent without end");
}

/* The client takes what the server has sent, as far as it can. */
static bool receive(size_t at_most) {
    bool moved = false;
    while (world.is_open && world.down_size > 0 && at_most > 0) {
        void *space;
        size_t room;
        if (smq_engine_receive_buffer(world.client, &space, &room) != SMQ_OK) broken("smq_engine_receive_buffer");
        if (room == 0) break;
        uint8_t *start = space;
        bool is_into = start >= world.into && start + room <= world.into + world.into_size;
        if (!is_into && (start < block || start + room > block + world.block_size))
            broken("the receive buffer is not in the block");
        if (room > world.down_size) room = world.down_size;
        if (room > at_most) room = at_most;
        memcpy(space, world.down, room);
        server_delivered(world.down, world.down_raw, room);
        memmove(world.down, world.down + room, world.down_size - room);
        memmove(world.down_raw, world.down_raw + room, world.down_size - room);
        world.down_size -= room;
        at_most -= room;
        moved = true;
        if (smq_engine_received(world.client, room, world.now) != SMQ_OK) broken("smq_engine_received");
    }
    return moved;
}

static void tell_time(uint32_t passed) {
    world.now += passed;
    ledger_release();
    if (smq_engine_timed_out(world.client, world.now) < 0) broken("smq_engine_timed_out");
}

static void close_link(int32_t error) {
    int32_t status = smq_engine_closed(world.client, error, world.now);
    if (status != SMQ_OK && status != SMQ_ERR_STATE) broken("smq_engine_closed: %s", smq_status_name(status));
}

/* ---- What the program asks for */

static struct asked *next_asked(int kind) {
    if (world.asked_count == MESSAGES) return NULL;
    struct asked *asked = &world.asked[world.asked_count++];
    memset(asked, 0, sizeof *asked);
    asked->kind = kind;
    return asked;
}

static uint64_t cookie(const struct asked *asked) { return 0xC00C1E00 + (uint64_t)(asked - world.asked); }

/* data: flags, size, topic, then, with 64 in flags, a topic in its own words, or properties. */
static smq_message make_message(struct asked *asked, const uint8_t *data, size_t size, uint8_t *payload) {
    uint8_t flags = size > 0 ? data[0] : 0, length = size > 1 ? data[1] : 8, topic = size > 2 ? data[2] : 0;
    smq_message message = SMQ_MESSAGE_INIT;
    asked->qos = message.qos = flags % 4 == 3 && !(flags & 128) ? 1 : flags % 4;
    asked->retain = message.retain = flags >> 2 & 1;
    message.quiet = flags >> 3 & 1;
    asked->quiet = message.quiet != 0;
    asked->overflow = message.overflow = flags >> 4 & 3;
    message.urgent = topic >> 6 & 1;
    asked->urgent = message.urgent != 0;
    asked->topic_size = strlen(topics[topic % TOPICS]);
    memcpy(asked->topic, topics[topic % TOPICS], asked->topic_size);
    if (flags & 64 && topic & 32) {
        asked->topic_size = size > 3 ? size - 3 : 0;
        if (asked->topic_size > sizeof asked->topic) asked->topic_size = sizeof asked->topic;
        if (size > 3) memcpy(asked->topic, data + 3, asked->topic_size);
    } else if (flags & 64 && size > 3) {
        message.properties.data = data + 3;
        message.properties.size = size - 3;
    }
    if (topic & 128) message.expiry_s = 1 + length % 8;
    world.is_time_read = message.expiry_s > 0 || message.properties.size > 0 || message.overflow || message.urgent;
    asked->payload_size = 2 + length + (topic & 16 ? 256 : 0);
    ledger_payload((int)(asked - world.asked), payload, asked->payload_size);
    message.topic = (smq_bytes){ asked->topic, asked->topic_size };
    message.payload = (smq_bytes){ payload, asked->payload_size };
    message.cookie = cookie(asked);
    asked->keeps_order = !asked->urgent && asked->overflow != SMQ_OVERFLOW_LATEST;
    return message;
}

static void publish(const uint8_t *data, size_t size, bool submits) {
    uint8_t payload[1024];
    struct asked *asked = next_asked(A_MESSAGE);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, payload);
    asked->submitted = submits;
    if (submits) asked->keeps_order = false;
    asked->is_accepted = (submits ? CHECKED(smq_submit(world.client, &message))
                                  : CHECKED(smq_publish(world.client, &message))) == SMQ_OK;
}

static void reserve(const uint8_t *data, size_t size) {
    uint8_t payload[1024];
    if (world.reserved >= 0) return;
    struct asked *asked = next_asked(A_MESSAGE);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, payload);
    message.payload.data = NULL;
    world.is_time_read = true;
    void *place = NULL;
    if (CHECKED(smq_publish_reserve(world.client, &message, &place)) != SMQ_OK) return;
    uint8_t *start = place;
    if (start < block || start + message.payload.size > block + world.block_size)
        broken("a reserved payload is not in the block");
    world.reserved = (int)(asked - world.asked);
    world.reserved_payload = place;
    memset(place, 0xAA, message.payload.size); /* all of it is the program's */
}

static void commit(size_t size, bool aborts) {
    if (world.reserved < 0) {
        CHECKED(aborts ? smq_publish_abort(world.client) : smq_publish_commit(world.client, size));
        return;
    }
    struct asked *asked = &world.asked[world.reserved];
    if (aborts) {
        if (smq_publish_abort(world.client) != SMQ_OK) broken("smq_publish_abort");
    } else {
        if (size > asked->payload_size) {
            if (CHECKED(smq_publish_commit(world.client, size)) != SMQ_ERR_OPTION)
                broken("more is committed than was reserved");
            return;
        }
        if (size < 2) size = 2;
        ledger_payload(world.reserved, world.reserved_payload, size);
        asked->payload_size = size;
        asked->is_accepted = true;
        if (smq_publish_commit(world.client, size) != SMQ_OK) broken("smq_publish_commit");
    }
    world.reserved = -1;
}

static int32_t pull(void *user, uint32_t offset, void *buffer, size_t size) {
    struct asked *asked = user;
    if (size == 0 || asked->payload_size - offset < size) broken("a stream is asked for more than it has");
    if (!world.is_finishing && world.pull_mode == 1) return 0;
    if (!world.is_finishing && world.pull_mode == 2) return -1;
    if (!world.is_finishing && world.pull_mode == 3) size = 1;
    uint8_t payload[1024];
    ledger_payload((int)(asked - world.asked), payload, asked->payload_size);
    memcpy(buffer, payload + offset, size);
    return (int32_t)size;
}

static void lend(const uint8_t *data, size_t size) {
    struct asked *asked = next_asked(A_MESSAGE);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, world.lent[asked - world.asked]);
    world.is_time_read = true;
    asked->is_accepted = CHECKED(smq_publish_reference(world.client, &message)) == SMQ_OK;
}

static void stream(const uint8_t *data, size_t size) {
    uint8_t payload[1024];
    struct asked *asked = next_asked(A_MESSAGE);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, payload);
    message.payload.data = NULL;
    world.is_time_read = true;
    asked->is_accepted = CHECKED(smq_publish_stream(world.client, &message, pull, asked)) == SMQ_OK;
}

static void request(const uint8_t *data, size_t size) {
    uint8_t payload[1024];
    struct asked *asked = next_asked(A_REQUEST);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, payload);
    smq_bytes response = smq_string("r");
    world.is_time_read = true;
    asked->is_accepted =
        CHECKED(smq_request(world.client, &message, &response, size > 1 ? data[1] * 100u : 1000)) == SMQ_OK;
}

static void respond(const uint8_t *data, size_t size) {
    uint8_t payload[1024];
    if (!world.has_event || world.event.type != SMQ_EVENT_MESSAGE) return;
    struct asked *asked = next_asked(A_MESSAGE);
    if (!asked) return;
    smq_message message = make_message(asked, data, size, payload);
    message.topic.size = 0;
    world.is_time_read = true;
    size_t position = 0;
    smq_property property = SMQ_PROPERTY_INIT;
    while (smq_property_next(&world.event.properties, &position, &property) == 1)
        if (property.identifier == SMQ_PROPERTY_RESPONSE_TOPIC && property.value.size <= sizeof asked->topic) {
            memcpy(asked->topic, property.value.data, property.value.size);
            asked->topic_size = property.value.size;
        }
    asked->is_accepted = CHECKED(smq_respond(world.client, &world.event, &message)) == SMQ_OK;
}

static void subscribe(const uint8_t *data, size_t size, bool off) {
    struct asked *asked = next_asked(off ? A_UNSUBSCRIBE : A_SUBSCRIBE);
    if (!asked) return;
    uint8_t flags = size > 0 ? data[0] : 0;
    smq_subscription list[4];
    memset(list, 0, sizeof list);
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 1 + (flags >> 6);
    subscriptions.list = list;
    subscriptions.cookie = cookie(asked);
    for (uint32_t i = 0; i < subscriptions.count; i++) {
        list[i].filter = smq_string(topics[(flags + i) % TOPICS]);
        list[i].qos = flags >> 3 & 3;
        if (size > 1) {
            list[i].no_local = data[1] & 1;
            list[i].retain_as_published = data[1] >> 1 & 1;
            list[i].retain_handling = data[1] >> 2 & 3;
        }
    }
    if (size > 2 && data[2] & 1) subscriptions.identifier = data[2];
    if (size > 3 && data[2] & 2)
        subscriptions.properties = (smq_bytes){ data + 3, size - 3 };
    else if (size > 3)
        list[0].filter = (smq_bytes){ data + 3, size - 3 };
    asked->is_accepted = (off ? CHECKED(smq_unsubscribe(world.client, &subscriptions))
                              : CHECKED(smq_subscribe(world.client, &subscriptions))) == SMQ_OK;
}

static void wrong_calls(uint8_t which) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_server server = SMQ_SERVER_INIT;
    smq_bytes id, topic = smq_string("a");
    smq_message message = SMQ_MESSAGE_INIT;
    switch (which % 16) {
    case 0:
        smq_client_stats(world.client, &stats);
        break;
    case 1:
        smq_client_server(world.client, &server);
        break;
    case 2:
        smq_client_id(world.client, &id);
        break;
    case 3:
        smq_client_state(world.client);
        break;
    case 4:
        smq_engine_next_timeout_ms(world.client, world.now);
        break;
    case 5:
        smq_next_timeout_ms(world.client);
        break;
    case 6:
        smq_next_match(world.client, &topic, which >> 4);
        break;
    case 7:
        CHECKED(smq_publish(world.client, &message));
        break;
    case 8:
        CHECKED(smq_ack(world.client, which, 0, NULL));
        break;
    case 9:
        CHECKED(smq_wait(world.client, 0));
        break;
    case 10:
        if (!world.has_event || world.event.token == 0) CHECKED(smq_hold(world.client));
        break;
    case 11:
        CHECKED(smq_credentials(world.client, which, NULL, NULL));
        break;
    case 12:
        CHECKED(smq_withhold_credentials(world.client, which, 0));
        break;
    case 13:
        if (smq_client_state(world.client) != SMQ_STATE_CONNECTING) CHECKED(smq_engine_opened(world.client, world.now));
        break;
    case 14:
        CHECKED(smq_addresses(world.client, which, NULL, 0));
        break;
    case 15:
        CHECKED(smq_flush(world.client));
        break;
    }
}

/* ---- Steps */

static void run(void) {
    take_events();
    transmit_all();
    for (int i = 0; i < 100 && (server_answer(0, 0) || receive(SIZE_MAX)); i++) {
        receive(SIZE_MAX);
        take_events();
        transmit_all();
    }
}

static void step(uint8_t which, const uint8_t *data, size_t size) {
    uint8_t first = size > 0 ? data[0] : 0, second = size > 1 ? data[1] : 0, third = size > 2 ? data[2] : 0;
    trace("step %d: %d %d %d, %zu bytes", which % 32, first, second, third, size);
    world.is_time_read = false;
    switch (which % 32) {
    case 0:
        if (world.is_open) server_send(data, size, true);
        receive(SIZE_MAX);
        break;
    case 1:
        server_answer(0, 0);
        break;
    case 2:
        server_answer(first, second);
        break;
    case 3:
        server_publish(first, second, third);
        break;
    case 4:
        server_release(first);
        break;
    case 5:
        receive(first ? first : SIZE_MAX);
        break;
    case 6:
        if (world.has_connect) server_connack(data, size);
        break;
    case 7:
        if (world.is_open && world.version == 5) server_send((uint8_t[]){ 0xE0, 1, first | 0x80 }, 3, false);
        receive(SIZE_MAX);
        break;
    case 8:
    case 9:
        publish(data, size, false);
        break;
    case 10:
        reserve(data, size);
        break;
    case 11:
        commit(first, second & 1);
        break;
    case 12:
        if (size > 1 && data[1] & 1)
            lend(data, size);
        else
            stream(data, size);
        break;
    case 13:
        request(data, size);
        break;
    case 14:
        respond(data, size);
        break;
    case 15:
        publish(data, size, true);
        break;
    case 16:
        subscribe(data, size, false);
        break;
    case 17:
        subscribe(data, size, true);
        break;
    case 18:
        if (second & 1)
            receive_into(first);
        else
            hold();
        break;
    case 19:
        acknowledge(first, second, (smq_bytes){ data + 2, size > 2 ? size - 2 : 0 });
        break;
    case 20:
        take_event();
        break;
    case 21:
        take_events();
        break;
    case 22:
        transmit(first);
        break;
    case 23:
        transmit_all();
        break;
    case 24:
        tell_time((uint32_t)first << (second % 24));
        break;
    case 25:
        close_link(first & 127);
        break;
    case 26:
        if (second & 1)
            CHECKED(smq_disconnect_with(world.client, first * 64u, third,
                                        &(smq_bytes){ data + 3, size > 3 ? size - 3 : 0 }));
        else
            smq_disconnect(world.client, first * 64u);
        break;
    case 27:
        ledger_release();
        smq_connect(world.client);
        break;
    case 28:
        world.pull_mode = first & 3;
        world.batch = 1 << (first >> 6);
        if (first & 4) smq_hint_network(world.client, first >> 3 & 1);
        if (first & 16) CHECKED(smq_authenticate(world.client, first & 32 ? 0x18 : 0x19, NULL, NULL));
        break;
    case 29:
        smq_handle(world.client, first & 3, &(smq_bytes){ data + 1, size > 1 ? size - 1 : 0 }, NULL, NULL);
        break;
    case 30:
        wrong_calls(first);
        break;
    case 31:
        run();
        break;
    }
}

static smq_client *make_client(const uint8_t *choice) {
    static const uint32_t outbox[] = { 64, 128, 256, 512, 1024, 4096, 300, 96 };
    static uint8_t properties[32];
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("h");
    options.client_id = smq_string("z");
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    if (choice[0] & 2) options.flags |= SMQ_OPTION_KEEP_SESSION;
    if (choice[0] & 4) options.flags |= SMQ_OPTION_PARTS;
    if (choice[0] & 8) options.flags |= SMQ_OPTION_HOLD;
    options.protocol = choice[0] & 16 ? SMQ_PROTOCOL_3_1_1 : SMQ_PROTOCOL_5_0;
    bool is_5 = options.protocol == SMQ_PROTOCOL_5_0;
    options.receive_bytes = choice[0] & 32 ? 64 : 512; /* small: packets that do not fit are where it is hard */
    if (choice[0] & 64) options.flags |= SMQ_OPTION_FALLBACK;
    if (choice[1] & 1) options.flags |= SMQ_OPTION_QOS_0_CONNECTED;
    if (choice[1] & 2) options.flags |= SMQ_OPTION_NO_RECONNECT;
    if (choice[1] & 4) options.flags |= SMQ_OPTION_ASK_CREDENTIALS;
    if (choice[1] & 8) options.flags |= SMQ_OPTION_REDIRECT;
    if (choice[1] & 16 && is_5 && choice[0] & 2) options.flags |= SMQ_OPTION_NEW_SESSION;
    if (choice[1] & 32 && is_5) options.topic_aliases_in = options.topic_aliases_out = 2;
    if (choice[1] & 64 && is_5) options.replies = 2;
    if (choice[1] & 128) options.stream_bytes = 64;
    options.references = choice[4] & 3;
    options.outbox_bytes = outbox[choice[2] & 7];
    options.outbox_messages = 1 + (choice[2] >> 3 & 15);
    if (choice[2] & 128) options.resubscribe = SMQ_RESUBSCRIBE_ALWAYS;
    options.receive_maximum = 1 + (choice[3] & 7);
    options.unreleased_maximum = choice[3] >> 3 & 7;
    options.in_flight_maximum = choice[3] >> 6;
    options.urgent_messages = choice[4] & 3;
    options.submit_messages = choice[4] >> 2 & 3;
    options.submit_bytes = choice[4] & 16 ? 64 : 0;
    options.subscriptions = choice[4] & 32 ? 2 : 0;
    options.requests = 1 + (choice[4] >> 6);
    options.control_bytes = choice[5] & 1 ? 64 : 0;
    options.keep_alive_s = choice[5] & 2 ? 5 : 0;
    options.answer_timeout_ms = choice[5] & 4 ? 2000 : choice[5] & 8 ? SMQ_OFF : 0;
    options.handlers = 4;
    if (choice[5] & 16 && is_5) {
        smq_properties list = { properties, sizeof properties, 0 };
        smq_bytes method = smq_string("m");
        smq_property_put_bytes(&list, SMQ_PROPERTY_AUTHENTICATION_METHOD, &method);
        options.properties = smq_property_list(&list);
    }
    if (choice[5] & 32) options.maximum_packet_bytes = SMQ_OFF;
    options.topic_alias_bytes = choice[5] & 64 ? 16 : 0;
    options.request_bytes = choice[5] & 128 ? 64 : 0;
    options.trace_bytes = 512;
    world.options = options;
    world.block_size = smq_client_size(&options);
    if (world.block_size == 0 || world.block_size > sizeof block) return NULL;
    smq_client *client;
    /* Memory that is not 0 to begin with. */
    memset(block, 0xA5, world.block_size);
    if (smq_client_init(block, world.block_size, &options, &client) != SMQ_OK)
        broken("a client that has a size cannot be made");
    seen.observer = (smq_observer)SMQ_OBSERVER_INIT;
    seen.observer.packet = tapped;
    if (smq_add_observer(client, &seen.observer) != SMQ_OK) broken("smq_add_observer");
    return client;
}

static bool is_all_told(void) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(world.client, &stats);
    for (int i = 0; i < world.asked_count; i++) {
        const struct asked *asked = &world.asked[i];
        if (asked->is_accepted && !asked->is_done && !asked->quiet) return false;
    }
    for (int i = 0; i < world.down_count && !world.is_raw; i++)
        if (world.downs[i].state == D_SENT || world.downs[i].state == D_RECEIVED) return false;
    return stats.outbox_messages + stats.urgent_messages + stats.submit_waiting + stats.requests + stats.replies == 0;
}

/* A server that does all that it is asked for: then all is told, in a bounded number of rounds. */
static void finish(void) {
    trace("finish");
    world.is_finishing = true;
    if (world.reserved >= 0) commit(world.asked[world.reserved].payload_size, false);
    close_link(0);
    for (int round = 0; round < 1000; round++) {
        bool moved = false;
        while (take_event()) moved = true;
        while (world.held_count > 0) acknowledge(0, 0, (smq_bytes){ NULL, 0 });
        if (smq_client_state(world.client) == SMQ_STATE_DISCONNECTED) smq_connect(world.client);
        while (transmit(SIZE_MAX)) moved = true;
        /* A session that is to be kept is. */
        bool keeps = world.options.flags & SMQ_OPTION_KEEP_SESSION && !world.has_connack && !world.is_raw;
        while (server_answer(0, keeps && world.pending[0].type == CONNECT)) moved = true;
        server_release(0);
        if (receive(SIZE_MAX)) moved = true;
        int32_t wait = smq_engine_next_timeout_ms(world.client, world.now);
        if (!moved && is_all_told() && smq_client_state(world.client) == SMQ_STATE_CONNECTED) break;
        tell_time(moved ? 10 : wait < 0 ? 100 : (uint32_t)wait < 60000 ? (uint32_t)wait : 60000);
    }
    ledger_finished();
}

static void close_client(void) {
    ledger_release();
    if (smq_client_close(world.client) != SMQ_OK) broken("smq_client_close");
    __asan_unpoison_memory_region(block, world.block_size);
    /* A handle that was closed is none. */
    if (smq_client_state(world.client) != SMQ_ERR_CLIENT) broken("a client lives on");
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    enum {
        CHOICES = 6
    };
    if (size < CHOICES || size > 4096) return 0;
    server_reset();
    memset(&world, 0, offsetof(struct world, asked));
    world.asked_count = world.down_count = world.held_count = 0;
    world.last_first_sent = -1;
    world.reserved = world.streamed = world.event_serial = -1;
    world.pull_mode = 0;
    world.into_size = 0;
    world.batch = 1;
    world.batch_count = 0;
    world.has_event = world.is_held = world.is_open = world.is_wanted = world.is_attempt_told =
        world.is_connected_told = false;
    world.is_over = true;
    world.was_cut = world.is_raw = world.has_request = false;
    world.has_connect = world.has_connack = false;
    world.up_size = world.down_size = world.pending_count = world.arrival_first = world.arrival_count = 0;
    world.arrival_clock = world.last_handed = 0;
    world.next_id = 0;
    world.answers = world.connections = 0;
    world.version = 5;
    world.now = input[0] & 1 ? 0xFFFFFF00 : 0; /* the clock wraps in the middle */
    world.client = make_client(input);
    if (!world.client) return 0;
    smq_engine_timed_out(world.client, world.now);
    smq_connect(world.client);
    if (!(input[0] & 128)) { /* CONNACK, so that most inputs begin where it gets interesting */
        take_events();
        transmit_all();
        server_answer(0, 0);
        receive(SIZE_MAX);
        take_events();
    }
    for (size_t at = CHOICES; at + 2 <= size;) {
        uint8_t which = input[at];
        size_t length = input[at + 1] & 63;
        bool is_run = input[at + 1] & 128;
        at += 2;
        if (length > size - at) length = size - at;
        /* A copy of its own size: who reads behind it is seen. */
        uint8_t copy[64], *data = copy + (sizeof copy - length);
        memcpy(data, input + at, length);
        step(which, data, length);
        at += length;
        if (is_run) run();
    }
    finish();
    close_client();
    return 0;
}
