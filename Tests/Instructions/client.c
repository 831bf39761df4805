/*
 * The client of operations.c and growth.c, and its server: see client.h.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

static _Alignas(64) uint8_t memory[64 << 20];
static _Alignas(64) uint8_t to_client[BATCH * 128 + 8192]; /* what the server says next */
_Alignas(64) uint8_t payload[4096];
size_t to_client_size;
const char *operation = "";
smq_options options = SMQ_OPTIONS_INIT;
smq_message message = SMQ_MESSAGE_INIT;
smq_event event = SMQ_EVENT_INIT;
smq_client *client;
uint32_t now = 1000;
uint64_t events;
int32_t subscription;
uint64_t token;
uint16_t server_aliases;
uint8_t server_session;
void (*server_sees_publish)(const uint8_t *body, size_t size);

void fail(const char *what, long value) {
    fprintf(stderr, "%s: %s (%ld)\n", operation, what, value);
    exit(EXIT_FAILURE);
}

void expect(const char *what, long value, long expected) {
    if (value != expected) fail(what, value);
}

/* The library draws its first Packet Identifier, and some numbers take more instructions than others: it gets this one. */
ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < size; i++) ((uint8_t *)buffer)[i] = 0x55;
    return (ssize_t)size;
}

/* ---- The server */

void say(const void *bytes, size_t size) {
    if (size > sizeof(to_client) - to_client_size) fail("the server says too much", (long)size);
    for (size_t i = 0; i < size; i++) to_client[to_client_size++] = ((const uint8_t *)bytes)[i];
}

void say_acknowledgement(uint8_t type, unsigned identifier) {
    uint8_t packet[] = { type, 2, (uint8_t)(identifier >> 8), (uint8_t)identifier };
    say(packet, sizeof(packet));
}

static void say_connack(uint8_t version) {
    uint8_t packet[] = { 0x20, 2, server_session, 0, 0, 0x22, (uint8_t)(server_aliases >> 8), (uint8_t)server_aliases };
    if (version == 5 && server_aliases > 0) {
        packet[1] = 6;
        packet[4] = 3;
    } else if (version == 5) {
        packet[1] = 3;
    }
    say(packet, 2u + packet[1]);
}

/* Reads the packets that the client sends, and answers if it is to. */
static void serve(const uint8_t *bytes, size_t size, int answers) {
    const uint8_t *end = bytes + size;
    while (bytes < end) {
        uint8_t first = *bytes++;
        size_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (size_t)(*bytes & 0x7F) << shift;
            if (!(*bytes++ & 0x80)) break;
        }
        const uint8_t *body = bytes;
        bytes += length;
        if (bytes > end) fail("half a packet", first);
        if (first >> 4 == 3 && server_sees_publish) server_sees_publish(body, length);
        if (!answers) continue;
        switch (first >> 4) {
        case 1: /* CONNECT: CONNACK */
            say_connack(body[6]);
            break;
        case 3: { /* PUBLISH */
            unsigned qos = first >> 1 & 3;
            unsigned topic = smq_get_uint16(body);
            if (qos) say_acknowledgement(qos == 1 ? 0x40 : 0x50, smq_get_uint16(body + 2 + topic));
            break;
        }
        case 5:
            say_acknowledgement(0x62, smq_get_uint16(body));
            break; /* PUBREC: PUBREL */
        case 6:
            say_acknowledgement(0x70, smq_get_uint16(body));
            break; /* PUBREL: PUBCOMP */
        case 8: {  /* SUBSCRIBE with one filter: SUBACK */
            uint8_t packet[] = { 0x90, 3, body[0], body[1], 0 };
            say(packet, sizeof(packet));
            break;
        }
        case 10:
            say_acknowledgement(0xB0, smq_get_uint16(body));
            break; /* UNSUBSCRIBE: UNSUBACK */
        case 12:
            say("\xD0\0", 2);
            break; /* PINGREQ: PINGRESP */
        default:
            break;
        }
    }
}

/* Hands over what is to be sent. Packets always come whole here, as the ring ends where they do. */
void transmit(int answers) {
    for (;;) {
        const void *bytes;
        size_t size;
        expect("transmit", smq_engine_transmit(client, now, &bytes, &size), SMQ_OK);
        if (size == 0) return;
        serve(bytes, size, answers);
        expect("transmitted", smq_engine_transmitted(client, size, now), SMQ_OK);
    }
}

/* What the server has said arrives, in one piece as far as there is room. */
void receive(void) {
    size_t given = 0;
    while (given < to_client_size) {
        void *space;
        size_t room;
        expect("receive buffer", smq_engine_receive_buffer(client, &space, &room), SMQ_OK);
        if (room == 0) fail("no room to receive", (long)given);
        if (room > to_client_size - given) room = to_client_size - given;
        for (size_t i = 0; i < room; i++) ((uint8_t *)space)[i] = to_client[given + i];
        given += room;
        expect("received", smq_engine_received(client, room, now), SMQ_OK);
    }
    to_client_size = 0;
}

/* Takes all events; of how many there are the operation's end is sure. */
void take_events(int32_t type) {
    while (smq_next_event(client, &event) == 1) {
        if (event.type == SMQ_EVENT_OPEN) {
            expect("opened", smq_engine_opened(client, now), SMQ_OK);
            continue;
        }
        if (event.type != type || event.status != SMQ_OK) fail("another event", event.type);
        subscription = event.subscription;
        token = event.token;
        events++;
    }
}

/* Lets both sides say all that they have to say. */
void converse(int32_t type) {
    transmit(1);
    while (to_client_size > 0) {
        receive();
        take_events(type);
        transmit(1);
    }
}

/* ---- A client that is connected */

void make_client(void) {
    expect("init", smq_client_init(memory, sizeof(memory), &options, &client), SMQ_OK);
    expect("time", smq_engine_timed_out(client, now), 0);
    expect("connect", smq_connect(client), SMQ_OK);
    take_events(SMQ_EVENT_NONE);
    converse(SMQ_EVENT_CONNECTED);
    expect("connected", (long)events, 1);
    events = 0;
}

void prepare(uint32_t protocol) {
    for (size_t i = 0; i < sizeof(payload); i++) payload[i] = (uint8_t)('a' + i % 26);
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    options.host = smq_string("192.0.2.1");
    options.client_id = smq_string("instructions");
    options.protocol = protocol;
    options.outbox_bytes = 1 << 20; /* what is never acknowledged has its place, too */
    options.outbox_messages = 8192;
    options.in_flight_maximum = 8192;
    options.receive_bytes = 8192;
    message.topic = smq_string("gateway/01/power"); /* 16 bytes */
    message.payload.data = payload;
    message.payload.size = 64;
}
