/* What a packet says, of those few that come here; and those of the server. */
#include <string.h>

#include "explore.h"

int is_v5(void) { return scene->protocol == SMQ_PROTOCOL_5_0; }

int parse_packet(const uint8_t *bytes, size_t size, struct packet *packet) {
    if (size < 2) return 0;
    if (bytes[1] >= 128) violation("a packet of more than 127 bytes");
    if (size < bytes[1] + 2u) return 0;
    packet->type = bytes[0] >> 4;
    packet->flags = bytes[0] & 15;
    packet->body = bytes + 2;
    packet->size = bytes[1];
    packet->whole = (uint8_t)(bytes[1] + 2);
    return 1;
}

uint16_t identifier_of(const struct packet *packet) {
    if (packet->size < 2) violation("a packet without Packet Identifier");
    uint16_t identifier = smq_get_uint16(packet->body);
    if (identifier == 0) violation("Packet Identifier 0 [MQTT-2.2.1-3]");
    return identifier;
}

/* A topic of one letter, and two bytes: the message's number, and the same in disguise. */
struct publish parse_publish(const struct packet *packet, char topic, int count) {
    struct publish publish = { 0, packet->flags >> 1 & 3, packet->flags >> 3, 0 };
    const uint8_t *at = packet->body, *end = at + packet->size;
    if (publish.qos == 3) violation("QoS 3 [MQTT-3.3.1-4]");
    if (packet->flags & 1) violation("RETAIN that nobody asked for");
    if (end - at < 3 || smq_get_uint16(at) != 1 || at[2] != topic) violation("another topic than was published");
    at += 3;
    if (publish.qos > 0) {
        if (end - at < 2 || (publish.identifier = smq_get_uint16(at)) == 0) violation("no Packet Identifier");
        at += 2;
    }
    if (is_v5()) {
        if (end - at < 1) violation("no length of the properties");
        if (*at > 0 && (*at != 5 || end - at < 6 || at[1] != SMQ_PROPERTY_MESSAGE_EXPIRY_INTERVAL))
            violation("a property that nobody asked for");
        at += 1 + *at;
    }
    if (end - at != 2 || at[1] != (at[0] ^ 0x5A) || at[0] >= count) violation("another payload than was published");
    publish.message = at[0];
    return publish;
}

int has_room_down(void) { return world.down_size <= LINK_BYTES - 24; }

void put_down(uint8_t type, const uint8_t *body, size_t size) {
    if (world.down_size + 2 + size > LINK_BYTES) violation("the link is too small: LINK_BYTES");
    uint8_t *at = world.down + world.down_size;
    at[0] = type;
    at[1] = (uint8_t)size;
    if (size > 0) memcpy(at + 2, body, size);
    world.down_size += (uint8_t)(2 + size);
}

void put_answer(uint8_t type, uint16_t identifier) {
    uint8_t body[2];
    smq_put_uint16(body, identifier);
    put_down(type, body, sizeof body);
}
