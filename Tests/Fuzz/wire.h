/*
 * A decoder of MQTT packets that shares nothing with the library: written from the specification, for what a client sends and
 * for what a server sends.
 */
#ifndef FUZZ_WIRE_H
#define FUZZ_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packet_type {
    CONNECT = 1,
    CONNACK,
    PUBLISH,
    PUBACK,
    PUBREC,
    PUBREL,
    PUBCOMP,
    SUBSCRIBE,
    SUBACK,
    UNSUBSCRIBE,
    UNSUBACK,
    PINGREQ,
    PINGRESP,
    DISCONNECT,
    AUTH
};

struct view {
    const uint8_t *data;
    size_t size;
};

/* What the properties of a packet say. */
struct properties {
    struct view list;
    uint64_t seen; /* a bit for each identifier */
    uint32_t number[64];
    struct view value[64];
};

struct packet {
    int type;
    int version; /* of CONNECT, else the one that was given */
    uint8_t flags;
    int qos;
    bool dup, retain;
    uint16_t id;
    uint8_t reason; /* 0 where there is none */
    struct view topic, payload;
    struct properties properties;
    /* CONNACK */
    bool session_present;
    /* CONNECT */
    bool clean, has_will, has_user, has_password;
    uint16_t keep_alive;
    struct view client_id, will_topic, will_payload, user, password;
    struct properties will;
    int will_qos;
    /* SUBSCRIBE, SUBACK and their like */
    size_t count;
    struct view list;
};

/* How many bytes the packet in front has; 0: that cannot be told yet; -1: it never can. */
int64_t wire_size(const uint8_t *bytes, size_t size);

/* What is wrong with a whole packet, in words; NULL: nothing. */
const char *wire_decode(const uint8_t *bytes, size_t size, int version, bool is_from_client, struct packet *packet);

/* The same for a list of properties without its length in front; where: a packet type, or 0 for the Will. */
const char *wire_properties(const uint8_t *bytes, size_t size, int where, bool is_from_client,
                            struct properties *found);

/* A property is there. */
bool wire_has(const struct properties *properties, int identifier);
/* Its number, or what holds without it. */
uint32_t wire_number(const struct properties *properties, int identifier, uint32_t otherwise);

bool wire_is_utf8(struct view text);
bool wire_is_topic_name(struct view topic);
bool wire_is_topic_filter(struct view filter);

#endif
