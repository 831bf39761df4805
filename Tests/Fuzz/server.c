/*
 * The other end: it judges every packet that leaves the client, and answers as the input says. What the input sends in its own
 * words (raw) is decoded, too, so that it is known what a client may do afterwards.
 */
#include "world.h"

#include <string.h>

const char *const topics[TOPICS] = { "a", "b",           "c/d", "sensors/kitchen/temperature",
                                     "e", "$SYS/uptime", "r",   "sensors/kitchen/humidity/of/the/last/hour" };

enum {
    RELEASED = 5
}; /* the client's PUBREL came */

static void touch(uint16_t id) {
    if (world.touched_count < 4096) world.touched[world.touched_count++] = id;
}

static void forget_identifiers(void) {
    for (int i = 0; i < world.touched_count; i++) {
        uint16_t id = world.touched[i];
        world.state[id] = FREE;
        world.owner[id] = -1;
        world.here[id] = world.pubrec_unknown[id] = 0;
    }
}

void server_reset(void) {
    forget_identifiers();
    for (int i = 0; i < world.touched_count; i++) {
        uint16_t id = world.touched[i];
        world.came[id] = world.releases[id] = world.was_sent[id] = 0;
    }
    world.touched_count = 0;
}

void server_connection_opened(void) {
    world.connections++;
    world.has_connect = world.has_connack = world.has_left = world.has_method = world.was_refused = false;
    world.up_size = world.down_size = world.arrived_size = world.to_skip = 0;
    world.arrived_is_raw = world.is_broken = false;
    world.pending_count = world.arrival_first = world.arrival_count = 0;
    world.in_flight = 0;
    world.last_handed = world.arrival_clock;
    memset(world.alias, 0, sizeof world.alias);
    memset(world.alias_out, 0, sizeof world.alias_out);
    for (int i = 0; i < world.touched_count; i++) {
        world.here[world.touched[i]] = world.came[world.touched[i]] = world.releases[world.touched[i]] = 0;
        world.pubrec_unknown[world.touched[i]] = 0;
    }
    world.is_open = true;
}

void server_connection_closed(void) {
    if (world.up_size > 0) world.was_cut = true;
    world.is_open = false;
    world.up_size = world.down_size = 0;
}

/* ---- What the client sends */

static void wait_for_answer(int type, uint16_t id) {
    if (world.pending_count == PENDING) return;
    world.pending[world.pending_count].type = type;
    world.pending[world.pending_count++].id = id;
}

static void check_content(const struct packet *packet, int index, struct view topic) {
    if (index < 0 || index >= world.asked_count || !world.asked[index].is_accepted)
        broken("PUBLISH of a message that nobody published");
    const struct asked *asked = &world.asked[index];
    uint8_t payload[1 << 12];
    if (asked->kind != A_MESSAGE && asked->kind != A_REQUEST) broken("PUBLISH of what is no message: %d", index);
    /* The time of a request may be up; what was sent of it by then is sent again. */
    bool may_be_told = asked->kind == A_REQUEST && (asked->whole > 0 || world.was_begun);
    if (asked->is_done && !may_be_told) broken("%d is sent after it was told to be over", index);
    ledger_payload(index, payload, asked->payload_size);
    if (packet->payload.size != asked->payload_size || memcmp(payload, packet->payload.data, packet->payload.size) != 0)
        broken("%d is sent with another payload", index);
    if (topic.size != asked->topic_size || memcmp(topic.data, asked->topic, topic.size) != 0)
        broken("%d is sent with another topic", index);
    if (packet->qos != asked->qos || packet->retain != asked->retain)
        broken("%d is sent with another QoS or RETAIN", index);
}

static void publish_came(const struct packet *packet) {
    struct view topic = packet->topic;
    if (wire_has(&packet->properties, 0x23)) {
        uint32_t alias = wire_number(&packet->properties, 0x23, 0);
        if (alias > world.server_aliases || alias >= 8) broken("a Topic Alias above the maximum: %u", alias);
        if (topic.size > 0) {
            if (topic.size > 64) broken("a topic that was never published");
            memcpy(world.alias_text[alias], topic.data, topic.size);
            world.alias[alias] = (struct view){ world.alias_text[alias], topic.size };
        }
        topic = world.alias[alias];
        if (topic.size == 0) broken("a Topic Alias that stands for nothing");
    }
    int index = packet->payload.size >= 2 ? packet->payload.data[0] << 8 | packet->payload.data[1] : -1;
    check_content(packet, index, topic);
    struct asked *asked = &world.asked[index];
    if ((uint32_t)packet->qos > world.server_qos) broken("QoS above the server's maximum");
    if (packet->retain && !world.server_retain) broken("RETAIN for a server that has none");
    asked->whole++;
    if (asked->whole == 1 && asked->keeps_order) {
        if (index < world.last_first_sent) broken("%d is sent before %d", world.last_first_sent, index);
        world.last_first_sent = index;
    }
    if (packet->qos == 0) {
        if (asked->whole > 1) broken("QoS 0: %d is sent twice", index);
        return;
    }
    uint16_t id = packet->id;
    uint8_t state = world.state[id];
    touch(id);
    if (!packet->dup && state != FREE) broken("Packet Identifier %u is in use", id);
    if (packet->dup && !world.was_sent[id] && !world.was_cut) broken("DUP for what was not sent before");
    if (state != FREE && world.owner[id] != index) broken("Packet Identifier %u is of another message", id);
    if (state == RELEASED) broken("PUBLISH after PUBREL");
    if (packet->qos == 2 && state == FREE && ++asked->deliveries > 1) broken("QoS 2: %d is delivered twice", index);
    world.owner[id] = (int16_t)index;
    world.was_sent[id] = 1;
    if (state == FREE || state == QOS_1) world.state[id] = packet->qos == 1 ? QOS_1 : QOS_2;
    if (!world.here[id]) {
        world.here[id] = 1;
        world.in_flight++;
    }
    uint32_t own = world.options.in_flight_maximum ? world.options.in_flight_maximum : world.version < 5 ? 20 : 65535;
    if (world.in_flight > world.server_receive_maximum || world.in_flight > own)
        broken("more than Receive Maximum: %u", world.in_flight);
    wait_for_answer(PUBLISH, id);
}

static void request_came(const struct packet *packet) {
    uint16_t id = packet->id;
    touch(id);
    if (world.state[id] != FREE && (world.state[id] != REQUESTED || world.here[id]))
        broken("Packet Identifier %u of a request is in use", id);
    world.state[id] = REQUESTED;
    world.here[id] = 1;
    world.count[id] = (uint8_t)packet->count;
    wait_for_answer(packet->type, id);
}

static void settle(struct down *down, const struct packet *packet) {
    down->state = down->qos == 2 && packet->reason < 0x80 ? D_RECEIVED : D_DONE;
    if (packet->reason >= 0x80) down->is_refused = true;
}

/* PUBACK or PUBREC of the client's. */
static void acknowledged(const struct packet *packet) {
    if (!world.came[packet->id]) broken("an acknowledgement of what has not come: %u", packet->id);
    if (world.is_raw || world.is_broken) {
        for (int i = 0; i < world.down_count; i++)
            if (world.downs[i].id == packet->id && world.downs[i].state == D_SENT) settle(&world.downs[i], packet);
        return;
    }
    /* What had no place is left to a later connection, and not acknowledged on this one. */
    bool may_postpone = world.options.unreleased_maximum > 0 && world.options.flags & SMQ_OPTION_KEEP_SESSION;
    while (may_postpone && world.arrival_first < world.arrival_count) {
        const struct down *first = &world.downs[world.arrivals[world.arrival_first]];
        if (first->id == packet->id || first->qos != 2 || first->handed_out > 0) break;
        world.arrival_first++;
    }
    if (world.arrival_first == world.arrival_count) broken("more acknowledgements than messages");
    int serial = world.arrivals[world.arrival_first++];
    struct down *down = &world.downs[serial];
    if (down->id != packet->id) broken("acknowledgements in another order than the messages came");
    if (down->qos != (packet->type == PUBACK ? 1 : 2)) broken("an acknowledgement of another QoS");
    if (!down->is_released) broken("message %d is acknowledged before it was released", serial);
    settle(down, packet);
}

static void pubcomp_came(const struct packet *packet) {
    if (world.releases[packet->id] == 0) broken("PUBCOMP for what was not released: %u", packet->id);
    world.releases[packet->id]--;
    for (int i = 0; i < world.down_count; i++)
        if (world.downs[i].id == packet->id && world.downs[i].state == D_RECEIVED) world.downs[i].state = D_DONE;
}

static void connect_came(const struct packet *packet) {
    if (world.has_connect) broken("CONNECT twice");
    world.has_connect = true;
    world.version = packet->version;
    bool may_fall_back = world.options.flags & SMQ_OPTION_FALLBACK;
    int wanted = world.options.protocol ? (int)world.options.protocol : 4;
    if (packet->version > wanted || (packet->version < wanted && !may_fall_back))
        broken("CONNECT with another version");
    world.asked_clean = packet->clean;
    world.has_method = wire_has(&packet->properties, 0x15);
    world.client_receive_maximum = wire_number(&packet->properties, 0x21, 65535);
    world.client_packet = wire_number(&packet->properties, 0x27, UINT32_MAX);
    world.client_aliases = wire_number(&packet->properties, 0x22, 0);
    wait_for_answer(CONNECT, 0);
}

static void packet_came(const uint8_t *bytes, size_t size) {
    struct packet packet;
    const char *wrong = wire_decode(bytes, size, world.version, true, &packet);
    trace("  client: type %d flags %d, %zu bytes, id %d, reason %d", packet.type, packet.flags, size, packet.id,
          packet.reason);
    if (wrong) broken("the client sends %s: type %d, %zu bytes", wrong, bytes[0] >> 4, size);
    if (world.has_left) broken("a packet after DISCONNECT: %d", packet.type);
    if (!world.has_connect && packet.type != CONNECT) broken("the first packet is no CONNECT: %d", packet.type);
    if (packet.type == CONNECT) {
        connect_came(&packet);
        return;
    }
    if (!world.has_connack && packet.type != AUTH && packet.type != DISCONNECT)
        broken("packet %d before CONNACK", packet.type);
    if (size > world.server_packet && world.has_connack)
        broken("a packet above the Maximum Packet Size: %d, %zu", packet.type, size);
    switch (packet.type) {
    case PUBLISH:
        publish_came(&packet);
        if (wire_has(&packet.properties, 0x09) && packet.properties.value[0x09].size == 8) {
            memcpy(world.request_correlation, packet.properties.value[0x09].data, 8);
            world.has_request = true;
        }
        break;
    case PUBACK:
    case PUBREC:
        acknowledged(&packet);
        break;
    case PUBREL: {
        uint8_t state = world.state[packet.id];
        bool is_unknown = state == FREE && (world.was_sent[packet.id] || world.pubrec_unknown[packet.id]);
        if (state != QOS_2_RECEIVED && state != RELEASED && !is_unknown) broken("PUBREL without PUBREC: %u", packet.id);
        if (state != FREE) world.state[packet.id] = RELEASED;
        touch(packet.id);
        wait_for_answer(PUBREL, packet.id);
        break;
    }
    case PUBCOMP:
        pubcomp_came(&packet);
        break;
    case SUBSCRIBE:
    case UNSUBSCRIBE:
        request_came(&packet);
        break;
    case PINGREQ:
        wait_for_answer(PINGREQ, 0);
        break;
    case AUTH:
        if (!world.has_method) broken("AUTH without a method");
        wait_for_answer(AUTH, 0);
        break;
    case DISCONNECT:
        world.has_left = true;
        break;
    }
}

void server_received(const uint8_t *bytes, size_t size) {
    if (!world.is_open || world.is_over) broken("bytes without a connection");
    if (size > sizeof world.up - world.up_size) broken("a packet that is too large");
    world.was_begun = world.up_size > 0;
    memcpy(world.up + world.up_size, bytes, size);
    world.up_size += size;
    size_t at = 0;
    while (at < world.up_size) {
        int64_t whole = wire_size(world.up + at, world.up_size - at);
        if (whole < 0) broken("the client sends a Remaining Length that is none");
        if (whole == 0 || (size_t)whole > world.up_size - at) break;
        packet_came(world.up + at, (size_t)whole);
        world.was_begun = false;
        at += (size_t)whole;
    }
    memmove(world.up, world.up + at, world.up_size - at);
    world.up_size -= at;
}

/* ---- What the server sends, when it arrives */

static void complete(uint16_t id, uint8_t reason) {
    if (world.owner[id] >= 0) {
        world.asked[world.owner[id]].is_answered = true;
        world.asked[world.owner[id]].answer = reason;
        if (reason >= 0x80 && world.asked[world.owner[id]].deliveries > 0) world.asked[world.owner[id]].deliveries--;
    }
    if (world.here[id] && world.in_flight > 0) world.in_flight--;
    world.here[id] = 0;
    world.state[id] = FREE;
}

static void connack_arrived(const struct packet *packet) {
    if (world.has_connack || !world.has_connect || world.was_refused) {
        world.is_broken = true;
        return;
    }
    if (packet->reason != 0) {
        world.was_refused = true;
        return;
    }
    if (packet->session_present && world.asked_clean) {
        world.is_broken = true;
        return;
    }
    world.has_connack = true;
    if (!packet->session_present) {
        /* What has its PUBREC is complete: the server has it (docs/decisions/0004). */
        for (int i = 0; i < world.touched_count; i++) {
            uint16_t id = world.touched[i];
            if (world.state[id] == QOS_2_RECEIVED || world.state[id] == RELEASED) complete(id, 0);
        }
        forget_identifiers();
        world.is_raw = false;
        for (int i = 0; i < world.down_count; i++)
            if (world.downs[i].state != D_NONE && world.downs[i].state != D_DONE &&
                world.downs[i].connection != world.connections) {
                world.downs[i].state = D_DONE;
                world.downs[i].is_dropped = true;
            }
    }
    const struct properties *properties = &packet->properties;
    bool is_5 = world.version == 5;
    world.server_receive_maximum = is_5 ? wire_number(properties, 0x21, 65535) : 65535;
    world.server_packet = is_5 ? wire_number(properties, 0x27, UINT32_MAX) : UINT32_MAX;
    world.server_aliases = is_5 ? wire_number(properties, 0x22, 0) : 0;
    world.server_qos = is_5 ? wire_number(properties, 0x24, 2) : 2;
    world.server_retain = !is_5 || wire_number(properties, 0x25, 1);
}

static void publish_arrived(const struct packet *packet, bool is_raw) {
    if (packet->qos > 0) {
        touch(packet->id);
        world.came[packet->id] = 1;
    }
    if (is_raw && (packet->qos > 0 || wire_has(&packet->properties, 0x23))) world.is_raw = true;
    int serial = is_raw ? -1 : server_message(packet->payload);
    if (serial < 0) return;
    struct down *down = &world.downs[serial];
    down->arrivals++;
    down->last_arrival = ++world.arrival_clock;
    if (packet->qos > 0 && world.arrival_count < ARRIVALS) world.arrivals[world.arrival_count++] = serial;
    if (world.arrival_count == ARRIVALS) world.is_raw = true;
}

static void packet_arrived(const uint8_t *bytes, size_t size, bool is_raw) {
    struct packet packet;
    const char *wrong = wire_decode(bytes, size, world.version, false, &packet);
    trace("  server: type %d flags %d, %zu bytes, id %d, reason %d%s %s", packet.type, packet.flags, size, packet.id,
          packet.reason, is_raw ? ", raw" : "", wrong ? wrong : "");
    if (wrong) {
        world.is_broken = true;
        if (packet.type == PUBLISH) world.is_raw = true;
        /* One that is larger than the client's buffer is not looked at so closely, and taken for a message. */
        if (packet.type == PUBLISH && size > world.options.receive_bytes) world.came[packet.id] = 1;
        return;
    }
    uint16_t id = packet.id;
    if (packet.type != CONNACK && !world.has_connack) return;
    switch (packet.type) {
    case CONNACK:
        connack_arrived(&packet);
        break;
    case PUBLISH:
        publish_arrived(&packet, is_raw);
        break;
    case PUBACK:
        if (world.state[id] == QOS_1) complete(id, packet.reason);
        break;
    case PUBREC:
        touch(id);
        if (world.state[id] == FREE) world.pubrec_unknown[id] = 1;
        if (world.state[id] == QOS_2 && packet.reason < 0x80)
            world.state[id] = QOS_2_RECEIVED;
        else if ((world.state[id] == QOS_2 || world.state[id] == QOS_2_RECEIVED) && packet.reason >= 0x80)
            complete(id, packet.reason);
        break;
    case PUBREL:
        touch(id);
        if (world.releases[id] < 255) world.releases[id]++;
        if (is_raw) world.is_raw = true;
        break;
    case PUBCOMP:
        if (world.state[id] == RELEASED) complete(id, 0);
        break;
    case SUBACK:
    case UNSUBACK:
        if (world.state[id] == REQUESTED) {
            world.answers++;
            world.state[id] = FREE;
        }
        break;
    }
}

void server_delivered(const uint8_t *bytes, const uint8_t *raw, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (world.is_broken) return;
        if (world.to_skip > 0) {
            world.to_skip--;
            continue;
        }
        if (world.arrived_size == 0) world.arrived_is_raw = false;
        world.arrived[world.arrived_size++] = bytes[i];
        world.arrived_is_raw |= raw[i];
        int64_t whole = wire_size(world.arrived, world.arrived_size);
        if (whole < 0) world.is_broken = true;
        if (whole > (int64_t)sizeof world.arrived) {
            world.to_skip = (size_t)whole - world.arrived_size;
            world.arrived_size = 0;
            world.is_raw = world.is_broken = true;
        } else if (whole > 0 && (size_t)whole == world.arrived_size) {
            packet_arrived(world.arrived, world.arrived_size, world.arrived_is_raw);
            world.arrived_size = 0;
        }
    }
}

void server_send(const void *bytes, size_t size, bool is_raw) {
    if (size > sizeof world.down - world.down_size) return;
    memcpy(world.down + world.down_size, bytes, size);
    memset(world.down_raw + world.down_size, is_raw, size);
    world.down_size += size;
}

/* ---- What the server does */

int server_message(struct view payload) {
    if (payload.size < 6 || payload.data[0] != 0xD5 || payload.data[1] != 0xEE) return -1;
    int serial = payload.data[2] << 8 | payload.data[3];
    uint16_t check = (uint16_t)(serial * 40503) ^ 0x5A5A;
    if (serial >= world.down_count || payload.data[4] != check >> 8 || payload.data[5] != (check & 255)) return -1;
    return world.downs[serial].payload_size == payload.size ? serial : -1;
}

static void send_message(int serial, bool is_again, int alias) {
    struct down *down = &world.downs[serial];
    uint8_t packet[256], payload[64];
    const char *topic = down->is_reply ? "r" : topics[down->topic];
    size_t topic_size = strlen(topic);
    memset(payload, serial, sizeof payload);
    uint16_t check = (uint16_t)(serial * 40503) ^ 0x5A5A;
    payload[0] = 0xD5;
    payload[1] = 0xEE;
    payload[2] = (uint8_t)(serial >> 8);
    payload[3] = (uint8_t)serial;
    payload[4] = (uint8_t)(check >> 8);
    payload[5] = (uint8_t)check;
    if (alias > 0 && world.alias_out[alias] == down->topic + 1) topic_size = 0;
    if (alias > 0) world.alias_out[alias] = down->topic + 1;
    size_t at = 2;
    packet[at++] = 0;
    packet[at++] = (uint8_t)topic_size;
    memcpy(packet + at, topic, topic_size);
    at += topic_size;
    if (down->qos > 0) {
        packet[at++] = (uint8_t)(down->id >> 8);
        packet[at++] = (uint8_t)down->id;
    }
    if (world.version == 5) {
        packet[at++] = (uint8_t)((alias > 0 ? 3 : 0) + (down->is_reply ? 11 : 0));
        if (alias > 0) {
            packet[at++] = 0x23;
            packet[at++] = 0;
            packet[at++] = (uint8_t)alias;
        }
        if (down->is_reply) {
            packet[at++] = 0x09;
            packet[at++] = 0;
            packet[at++] = 8;
            memcpy(packet + at, down->correlation, 8);
            at += 8;
        }
    }
    memcpy(packet + at, payload, down->payload_size);
    at += down->payload_size;
    packet[0] = (uint8_t)(PUBLISH << 4 | (is_again ? 8 : 0) | down->qos << 1 | down->retain);
    packet[1] = (uint8_t)(at - 2);
    server_send(packet, at, false);
}

void server_publish(uint8_t how, uint8_t topic, uint8_t size) {
    if (!world.has_connack || world.down_count == DOWN_MESSAGES || world.down_size > LINK_BYTES / 2) return;
    struct down down = { 0 };
    down.connection = world.connections;
    down.qos = how % 3;
    down.retain = how >> 2 & 1;
    down.topic = topic % TOPICS;
    down.payload_size = (uint8_t)(6 + size % 8);
    down.is_reply = how & 8 && world.has_request && world.version == 5;
    memcpy(down.correlation, world.request_correlation, 8);
    int alias = how & 16 && world.version == 5 && !down.is_reply ? 1 + (how >> 5) % 4 : 0;
    if ((uint32_t)alias > world.client_aliases) alias = 0;
    /* What fits its smallest buffer: else it comes without its payload. */
    if (strlen(topics[down.topic]) + down.payload_size > 48) down.topic = 0;
    if (down.qos > 0) {
        uint32_t in_flight = 0;
        for (int i = 0; i < world.down_count; i++) {
            if (world.downs[i].state == D_SENT || world.downs[i].state == D_RECEIVED) in_flight++;
        }
        if (in_flight >= (world.version == 5 ? world.client_receive_maximum : 32)) return;
        down.id = world.next_id = world.next_id % 200 + 1;
        for (int i = 0; i < world.down_count; i++)
            if (world.downs[i].id == down.id && world.downs[i].state != D_DONE) return;
        down.state = D_SENT;
    } else {
        down.state = D_DONE;
    }
    world.downs[world.down_count++] = down;
    send_message(world.down_count - 1, false, alias);
}

/* PUBREL for a message that the client has acknowledged. */
void server_release(int which) {
    int count = 0;
    for (int i = 0; i < world.down_count; i++) count += world.downs[i].state == D_RECEIVED;
    if (count == 0 || !world.has_connack) return;
    int left = which % count;
    for (int i = 0; i < world.down_count; i++) {
        if (world.downs[i].state != D_RECEIVED || left-- > 0) continue;
        server_send((uint8_t[]){ 0x62, 2, (uint8_t)(world.downs[i].id >> 8), (uint8_t)world.downs[i].id }, 4, false);
        return;
    }
}

/* [MQTT-4.4.0-1]: what is not finished, in its order. */
static void send_again(void) {
    for (int i = 0; i < world.down_count; i++) {
        if (world.downs[i].state == D_SENT) send_message(i, true, 0);
        if (world.downs[i].state == D_RECEIVED)
            server_send((uint8_t[]){ 0x62, 2, (uint8_t)(world.downs[i].id >> 8), (uint8_t)world.downs[i].id }, 4,
                        false);
    }
}

/* The fields are as many as there are bytes. */
void server_connack(const uint8_t *data, size_t size) {
    uint8_t field[8] = { 0 };
    memcpy(field, data, size < sizeof field ? size : sizeof field);
    uint8_t packet[64] = { 0x20 };
    size_t at = 2;
    bool is_kept = field[0] & 1 && (!world.asked_clean || field[0] & 0x40) && world.version > 3;
    static const uint8_t reasons_5[] = { 0x80, 0x84, 0x87, 0x88, 0x9C, 0x9D, 0x95, 0x8C };
    uint8_t reason = 0;
    if (field[0] & 2) reason = world.version == 5 ? reasons_5[field[1] % 8] : 1 + field[1] % 5;
    packet[at++] = is_kept && reason == 0;
    packet[at++] = reason;
    if (world.version == 5) {
        size_t length = at++;
        if (field[0] & 2 && field[2] & 1) {
            static const uint8_t reference[] = { 0x1C, 0, 11, 'o', 't', 'h', 'e', 'r', ':', '1', '8', '8', '4', ' ' };
            memcpy(packet + at, reference, 14);
            packet[at + 2] = 10;
            at += 13;
        } else if (reason == 0) {
            if (field[1] > 0) at += (size_t)(packet[at] = 0x21, packet[at + 1] = 0, packet[at + 2] = field[1], 3);
            if (field[2] > 0) {
                packet[at] = 0x27;
                packet[at + 1] = packet[at + 2] = 0;
                packet[at + 3] = field[3];
                packet[at + 4] = field[2];
                at += 5;
            }
            if (field[4] & 3) at += (size_t)(packet[at] = 0x22, packet[at + 1] = 0, packet[at + 2] = field[4] & 3, 3);
            if (field[4] & 4) at += (size_t)(packet[at] = 0x24, packet[at + 1] = field[4] >> 3 & 1, 2);
            if (field[4] & 16) at += (size_t)(packet[at] = 0x25, packet[at + 1] = 0, 2);
            if (field[4] & 32) at += (size_t)(packet[at] = 0x28, packet[at + 1] = 0, 2);
            if (field[4] & 64) at += (size_t)(packet[at] = 0x29, packet[at + 1] = 0, 2);
            if (field[4] & 128) at += (size_t)(packet[at] = 0x2A, packet[at + 1] = 0, 2);
            if (field[5] > 0) at += (size_t)(packet[at] = 0x13, packet[at + 1] = 0, packet[at + 2] = field[5], 3);
            if (field[6] & 1) at += (size_t)(packet[at] = 0x11, memset(packet + at + 1, 0, 4), 5);
            if (world.has_method) {
                static const uint8_t method[] = { 0x15, 0, 1, 'm' };
                memcpy(packet + at, method, 4);
                at += 4;
            }
        }
        packet[length] = (uint8_t)(at - length - 1);
    }
    packet[1] = (uint8_t)(at - 2);
    server_send(packet, at, false);
    if (reason != 0) return;
    if (is_kept) send_again();
}

/* Answers one of the packets that wait for it; false: there is none. */
bool server_answer(int which, uint8_t reason) {
    if (world.pending_count == 0) return false;
    int place = which % world.pending_count;
    int type = world.pending[place].type;
    uint16_t id = world.pending[place].id;
    memmove(&world.pending[place], &world.pending[place + 1],
            sizeof world.pending[0] * (size_t)(world.pending_count - place - 1));
    world.pending_count--;
    uint8_t high = (uint8_t)(id >> 8), low = (uint8_t)id;
    bool is_5 = world.version == 5;
    switch (type) {
    case CONNECT:
        server_connack((uint8_t[]){ reason }, 1);
        break;
    case PUBLISH: {
        uint8_t answer = world.state[id] == QOS_1 ? PUBACK : PUBREC;
        static const uint8_t reasons[] = { 0x10, 0x80, 0x87, 0x97 };
        if (reason == 0 || !is_5)
            server_send((uint8_t[]){ (uint8_t)(answer << 4), 2, high, low }, 4, false);
        else if (reason & 8)
            server_send((uint8_t[]){ (uint8_t)(answer << 4), 8, high, low, reasons[reason % 4], 4, 0x1F, 0, 1, 'w' },
                        10, false);
        else
            server_send((uint8_t[]){ (uint8_t)(answer << 4), 3, high, low, reasons[reason % 4] }, 5, false);
        break;
    }
    case PUBREL:
        server_send((uint8_t[]){ 0x70, 2, high, low }, 4, false);
        break;
    case PINGREQ:
        server_send((uint8_t[]){ 0xD0, 0 }, 2, false);
        break;
    case AUTH:
        server_send((uint8_t[]){ 0xF0, 6, (uint8_t)(world.has_connack ? 0 : 0x18), 4, 0x15, 0, 1, 'm' }, 8, false);
        break;
    case SUBSCRIBE:
    case UNSUBSCRIBE: {
        uint8_t packet[64] = { type == SUBSCRIBE ? 0x90 : 0xB0, 0, high, low };
        size_t at = 4;
        if (is_5) packet[at++] = 0;
        if (type == SUBSCRIBE || is_5)
            for (int i = 0; i < world.count[id] && at < sizeof packet; i++)
                packet[at++] = reason == 0 ? 0 : reason & 1 ? 0x80 : type == SUBSCRIBE ? reason >> 1 & 1 : 0x11;
        packet[1] = (uint8_t)(at - 2);
        server_send(packet, at, false);
        break;
    }
    }
    return true;
}
