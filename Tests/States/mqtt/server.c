/* A server that does what the standard says, with a session that it may lose; and, on request, two broken ones. */
#include <string.h>

#include "explore.h"

static void take_connect(const struct packet *packet) {
    const uint8_t *body = packet->body;
    if (packet->size < 12 || memcmp(body, "\0\4MQTT", 6) != 0 || body[6] != (is_v5() ? 5 : 4))
        violation("not the CONNECT of this version");
    int clean = body[7] >> 1 & 1;
    if (clean != scene->clean) violation("CONNECT with another Clean Session than was asked for");
    if (clean) server_forgets();
    uint8_t answer[6] = { !clean && world.has_session, 0, 0 };
    size_t size = 2;
    if (is_v5()) {
        size = 3;
        if (scene->server_takes) {
            answer[2] = 3;
            answer[3] = SMQ_PROPERTY_RECEIVE_MAXIMUM;
            answer[5] = scene->server_takes;
            size = 6;
        }
    }
    world.is_news = !answer[0];
    world.has_session = 1;
    world.is_connected = 1;
    put_down(0x20, answer, size);
}

static void take_publish(const struct packet *packet) {
    struct publish publish = parse_publish(packet, 't', world.published);
    int message = publish.message;
    if (publish.qos == 0) {
        if (++world.delivered[message] > 1) violation("QoS 0 delivered twice");
        return;
    }
    if (publish.qos == 1) {
        if (world.delivered[message] < 255) world.delivered[message]++;
    } else if (!world.known[message] || scene->is_forgetful) {
        world.known[message] = 1;
        if (++world.delivered[message] > 1) violation("QoS 2 delivered twice");
    }
    put_answer(publish.qos == 1 ? 0x40 : 0x50, publish.identifier);
}

static void take_pubrel(const struct packet *packet) {
    uint16_t identifier = identifier_of(packet);
    int is_of_session = 0;
    for (int message = 0; message < sends(); message++) {
        if (world.in_identifier[message] != identifier) continue;
        is_of_session = 1;
        world.known[message] = 0;
    }
    /* A process that ended before its journal knew of the new session left what it had of the old one. */
    if (!is_of_session && !(world.crashes && world.forgets)) violation("PUBREL for what was never sent");
    put_answer(scene->is_endless && world.cuts > 0 ? 0x50 : 0x70, identifier);
}

int message_of(uint16_t identifier) {
    for (int message = 0; message < gets(); message++) {
        uint8_t state = world.out_state[message];
        if ((state == OUT_SENT || state == OUT_RELEASED) && world.out_identifier[message] == identifier) return message;
    }
    return -1;
}

/* PUBACK, PUBREC and PUBCOMP for what the server delivers. */
static void take_answer(const struct packet *packet) {
    int message = message_of(identifier_of(packet));
    if (message < 0 || !world.out_here[message]) violation("an acknowledgement for what was not sent here");
    uint8_t qos = scene->gets[message] & 3, state = world.out_state[message];
    if (packet->type == 7) {
        if (state != OUT_RELEASED) violation("PUBCOMP without PUBREL");
        world.out_state[message] = OUT_DONE;
        return;
    }
    if (state != OUT_SENT || qos != (packet->type == 4 ? 1 : 2)) violation("an acknowledgement that does not fit");
    for (int before = 0; before < message; before++)
        if (world.out_state[before] == OUT_SENT && world.out_here[before] && !scene->may_leave_unanswered)
            violation("not acknowledged in the order of arrival [MQTT-4.6.0-2] [MQTT-4.6.0-3]");
    if (message < world.answered) violation("not acknowledged in the order of arrival [MQTT-4.6.0-2] [MQTT-4.6.0-3]");
    world.answered = (uint8_t)(message + 1);
    if (packet->type == 4) {
        world.out_state[message] = OUT_DONE;
    } else {
        world.out_state[message] = OUT_RELEASED;
        put_answer(0x62, world.out_identifier[message]);
    }
}

static void take_subscribe(const struct packet *packet) {
    uint8_t answer[4] = { 0 };
    size_t size = 2;
    smq_put_uint16(answer, identifier_of(packet));
    if (is_v5()) size = 3;
    if (packet->size != size + 4 || memcmp(packet->body + size, "\0\1s\1", 4) != 0)
        violation("another SUBSCRIBE than was asked for");
    answer[size] = 1; /* granted */
    world.is_subscribed = 1;
    put_down(0x90, answer, size + 1);
}

void serve(void) {
    struct packet packet;
    if (!parse_packet(world.up, world.up_whole, &packet)) return;
    if ((packet.type == 1) == world.is_connected) violation("CONNECT is not the first packet, or not the only one");
    switch (packet.type) {
    case 1:
        take_connect(&packet);
        break;
    case 3:
        take_publish(&packet);
        break;
    case 4:
    case 5:
    case 7:
        take_answer(&packet);
        break;
    case 6:
        take_pubrel(&packet);
        break;
    case 8:
        take_subscribe(&packet);
        break;
    case 12:
        put_down(0xD0, NULL, 0); /* PINGRESP */
        break;
    default:
        break; /* DISCONNECT, as the ledger lets nothing else through */
    }
    size_t rest = (size_t)(world.up_size - packet.whole);
    memmove(world.up, world.up + packet.whole, rest);
    memset(world.up + rest, 0, LINK_BYTES - rest);
    world.up_size = (uint8_t)rest;
    world.up_whole -= packet.whole;
}

static uint16_t free_identifier(void) {
    for (uint16_t identifier = 1;; identifier++)
        if (message_of(identifier) < 0) return identifier;
}

static void send_publish(int message, int duplicate) {
    uint8_t body[16] = { 0, 1, 'r' }, qos = scene->gets[message] & 3;
    size_t size = 3;
    if (qos > 0) {
        smq_put_uint16(body + size, world.out_identifier[message]);
        size += 2;
    }
    if (is_v5()) body[size++] = 0;
    body[size++] = (uint8_t)message;
    body[size++] = (uint8_t)(message ^ 0x5A);
    put_down((uint8_t)(0x30 | qos << 1 | duplicate << 3), body, size);
    if (world.out_times[message] < 255) world.out_times[message]++;
}

/* First what is to be sent again, in its order [MQTT-4.4.0-1] [MQTT-4.6.0-1], then what is new. */
int server_delivers(void) {
    int on_their_way = 0;
    if (!world.is_connected || !has_room_down()) return 0;
    for (int message = 0; message < gets(); message++) {
        uint8_t state = world.out_state[message];
        if (state != OUT_SENT && state != OUT_RELEASED) continue;
        on_their_way++;
        if (world.out_here[message]) continue;
        world.out_here[message] = 1;
        if (state == OUT_SENT)
            send_publish(message, 1);
        else
            put_answer(0x62, world.out_identifier[message]);
        return 1;
    }
    int window = is_v5() && !scene->server_sends ? (scene->receive_maximum ? scene->receive_maximum : gets())
                                                 : scene->server_sends;
    for (int message = 0; message < gets(); message++) {
        if (world.out_state[message] != OUT_NEW) continue;
        uint8_t qos = scene->gets[message] & 3;
        if (qos > 0 && window > 0 && on_their_way >= window) return 0;
        if (qos > 0) world.out_identifier[message] = free_identifier();
        world.out_state[message] = qos > 0 ? OUT_SENT : OUT_DONE;
        world.out_here[message] = 1;
        send_publish(message, 0);
        return 1;
    }
    return 0;
}

void server_forgets(void) {
    world.has_session = 0;
    world.is_subscribed = 0;
    memset(world.known, 0, sizeof world.known);
    memset(world.in_identifier, 0, sizeof world.in_identifier);
    for (int message = 0; message < gets(); message++)
        if (world.out_state[message] == OUT_SENT || world.out_state[message] == OUT_RELEASED)
            world.out_state[message] = OUT_LOST;
}
