#include "wire.h"

#include <string.h>

/* ---- Properties: Table 2-4 */

enum {
    BYTE = 1,
    TWO,
    FOUR,
    VARIABLE,
    TEXT,
    BINARY,
    PAIR
};

/* Where a property may stand: a bit for each packet type, and bit 0 for the Will. */
#define AT(type) (1u << (type))
#define WILL AT(0)
#define ACKS (AT(PUBACK) | AT(PUBREC) | AT(PUBREL) | AT(PUBCOMP))

static const struct {
    uint8_t kind;
    uint32_t client, server;
} rules[64] = {
    [0x01] = { BYTE, AT(PUBLISH) | WILL, AT(PUBLISH) },
    [0x02] = { FOUR, AT(PUBLISH) | WILL, AT(PUBLISH) },
    [0x03] = { TEXT, AT(PUBLISH) | WILL, AT(PUBLISH) },
    [0x08] = { TEXT, AT(PUBLISH) | WILL, AT(PUBLISH) },
    [0x09] = { BINARY, AT(PUBLISH) | WILL, AT(PUBLISH) },
    [0x0B] = { VARIABLE, AT(SUBSCRIBE), AT(PUBLISH) },
    [0x11] = { FOUR, AT(CONNECT) | AT(DISCONNECT), AT(CONNACK) },
    [0x12] = { TEXT, 0, AT(CONNACK) },
    [0x13] = { TWO, 0, AT(CONNACK) },
    [0x15] = { TEXT, AT(CONNECT) | AT(AUTH), AT(CONNACK) | AT(AUTH) },
    [0x16] = { BINARY, AT(CONNECT) | AT(AUTH), AT(CONNACK) | AT(AUTH) },
    [0x17] = { BYTE, AT(CONNECT), 0 },
    [0x18] = { FOUR, WILL, 0 },
    [0x19] = { BYTE, AT(CONNECT), 0 },
    [0x1A] = { TEXT, 0, AT(CONNACK) },
    [0x1C] = { TEXT, 0, AT(CONNACK) | AT(DISCONNECT) },
    [0x1F] = { TEXT, ACKS | AT(DISCONNECT) | AT(AUTH),
               AT(CONNACK) | ACKS | AT(SUBACK) | AT(UNSUBACK) | AT(DISCONNECT) | AT(AUTH) },
    [0x21] = { TWO, AT(CONNECT), AT(CONNACK) },
    [0x22] = { TWO, AT(CONNECT), AT(CONNACK) },
    [0x23] = { TWO, AT(PUBLISH), AT(PUBLISH) },
    [0x24] = { BYTE, 0, AT(CONNACK) },
    [0x25] = { BYTE, 0, AT(CONNACK) },
    [0x26] = { PAIR,
               AT(CONNECT) | WILL | AT(PUBLISH) | ACKS | AT(SUBSCRIBE) | AT(UNSUBSCRIBE) | AT(DISCONNECT) | AT(AUTH),
               AT(CONNACK) | AT(PUBLISH) | ACKS | AT(SUBACK) | AT(UNSUBACK) | AT(DISCONNECT) | AT(AUTH) },
    [0x27] = { FOUR, AT(CONNECT), AT(CONNACK) },
    [0x28] = { BYTE, 0, AT(CONNACK) },
    [0x29] = { BYTE, 0, AT(CONNACK) },
    [0x2A] = { BYTE, 0, AT(CONNACK) },
};

/* ---- Reason Codes: each packet's table in section 3. Ends with the first 0 behind the first entry. */

#define MANY 40
static const uint8_t client_reasons[16][MANY] = {
    [PUBACK] = { 0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99 },
    [PUBREC] = { 0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99 },
    [PUBREL] = { 0x00, 0x92 },
    [PUBCOMP] = { 0x00, 0x92 },
    [DISCONNECT] = { 0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99 },
    [AUTH] = { 0x00, 0x18, 0x19 },
};
static const uint8_t server_reasons[16][MANY] = {
    [CONNACK] = { 0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
                  0x8A, 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F },
    [PUBACK] = { 0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99 },
    [PUBREC] = { 0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99 },
    [PUBREL] = { 0x00, 0x92 },
    [PUBCOMP] = { 0x00, 0x92 },
    [SUBACK] = { 0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2 },
    [UNSUBACK] = { 0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91 },
    [DISCONNECT] = { 0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, 0x93, 0x94,
                     0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2 },
    [AUTH] = { 0x00, 0x18, 0x19 },
};

static bool is_reason(const uint8_t table[16][MANY], int type, uint8_t reason) {
    if (reason == 0) return true; /* in all of these tables */
    for (int i = 1; i < MANY && table[type][i] != 0; i++)
        if (table[type][i] == reason) return true;
    return false;
}

/* ---- Text */

bool wire_is_utf8(struct view text) {
    for (size_t i = 0; i < text.size;) {
        uint8_t first = text.data[i++];
        if (first == 0) return false;
        if (first < 0x80) continue;
        int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || text.size - i < (size_t)more) return false;
        uint32_t point = first & (0x3F >> more);
        for (int j = 0; j < more; j++, i++) {
            if ((text.data[i] & 0xC0) != 0x80) return false;
            point = point << 6 | (text.data[i] & 0x3F);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && point < 0x10000) || point > 0x10FFFF) return false;
        if (point >= 0xD800 && point <= 0xDFFF) return false;
    }
    return text.size <= 65535;
}

bool wire_is_topic_name(struct view topic) {
    return topic.size > 0 && wire_is_utf8(topic) && !memchr(topic.data, '+', topic.size) &&
           !memchr(topic.data, '#', topic.size);
}

static bool has_whole_levels(struct view filter) {
    if (filter.size == 0) return false;
    for (size_t i = 0; i < filter.size; i++) {
        bool begins = i == 0 || filter.data[i - 1] == '/';
        bool ends = i + 1 == filter.size || filter.data[i + 1] == '/';
        if (filter.data[i] == '+' && !(begins && ends)) return false;
        if (filter.data[i] == '#' && !(begins && i + 1 == filter.size)) return false;
    }
    return true;
}

bool wire_is_topic_filter(struct view filter) {
    if (!wire_is_utf8(filter)) return false;
    if (filter.size < 7 || memcmp(filter.data, "$share/", 7) != 0) return has_whole_levels(filter);
    const uint8_t *name = filter.data + 7, *end = filter.data + filter.size;
    const uint8_t *slash = memchr(name, '/', (size_t)(end - name));
    if (!slash || slash == name) return false;
    for (const uint8_t *byte = name; byte < slash; byte++)
        if (*byte == '+' || *byte == '#') return false;
    return has_whole_levels((struct view){ slash + 1, (size_t)(end - slash - 1) });
}

/* ---- Reading */

struct reader {
    const uint8_t *at, *end;
    bool failed;
    bool takes_long; /* before 5.0 a length may take more bytes than it needs */
};

static size_t left(const struct reader *reader) { return (size_t)(reader->end - reader->at); }

static uint32_t number(struct reader *reader, size_t size) {
    uint32_t value = 0;
    if (left(reader) < size) {
        reader->failed = true;
        return 0;
    }
    while (size-- > 0) value = value << 8 | *reader->at++;
    return value;
}

static uint32_t variable(struct reader *reader) {
    uint32_t value = 0;
    for (int shift = 0; shift < 28; shift += 7) {
        uint32_t next = number(reader, 1);
        value |= (next & 0x7F) << shift;
        if (next & 0x80) continue;
        /* [MQTT-1.5.5-1]: no more bytes than it takes. */
        if (next == 0 && shift > 0 && !reader->takes_long) reader->failed = true;
        return value;
    }
    reader->failed = true;
    return 0;
}

static struct view take(struct reader *reader, size_t size) {
    if (left(reader) < size) {
        reader->failed = true;
        size = 0;
    }
    struct view view = { reader->at, size };
    reader->at += size;
    return view;
}

static struct view binary(struct reader *reader) { return take(reader, number(reader, 2)); }

static struct view text(struct reader *reader) {
    struct view view = binary(reader);
    if (!wire_is_utf8(view)) reader->failed = true;
    return view;
}

bool wire_has(const struct properties *properties, int identifier) { return properties->seen >> identifier & 1; }

uint32_t wire_number(const struct properties *properties, int identifier, uint32_t otherwise) {
    return wire_has(properties, identifier) ? properties->number[identifier] : otherwise;
}

static const char *check_value(int identifier, uint32_t value) {
    switch (identifier) {
    case 0x01:
    case 0x17:
    case 0x19:
    case 0x24:
    case 0x25:
    case 0x28:
    case 0x29:
    case 0x2A:
        return value > 1 ? "a property is neither 0 nor 1" : NULL;
    case 0x0B:
    case 0x21:
    case 0x23:
    case 0x27:
        return value == 0 ? "a property is 0 that may not be" : NULL;
    default:
        return NULL;
    }
}

const char *wire_properties(const uint8_t *bytes, size_t size, int where, bool is_from_client,
                            struct properties *found) {
    memset(found, 0, sizeof *found);
    found->list = (struct view){ bytes, size };
    struct reader list = { bytes, bytes + size, false, false };
    while (left(&list) > 0) {
        uint32_t identifier = variable(&list);
        if (list.failed || identifier >= 64 || rules[identifier].kind == 0) return "an unknown property";
        uint32_t allowed = is_from_client ? rules[identifier].client : rules[identifier].server;
        if (!(allowed >> where & 1)) return "a property that may not stand here";
        bool may_repeat = identifier == 0x26 || (identifier == 0x0B && where == PUBLISH);
        if (wire_has(found, (int)identifier) && !may_repeat) return "a property that stands there twice";
        found->seen |= (uint64_t)1 << identifier;
        uint32_t value = 0;
        switch (rules[identifier].kind) {
        case BYTE:
            value = number(&list, 1);
            break;
        case TWO:
            value = number(&list, 2);
            break;
        case FOUR:
            value = number(&list, 4);
            break;
        case VARIABLE:
            value = variable(&list);
            break;
        case TEXT:
            found->value[identifier] = text(&list);
            break;
        case BINARY:
            found->value[identifier] = binary(&list);
            break;
        case PAIR:
            text(&list);
            text(&list);
            break;
        }
        if (list.failed) return "a property that is no such value";
        const char *wrong = check_value((int)identifier, value);
        if (wrong) return wrong;
        if (identifier == 0x08 && !wire_is_topic_name(found->value[identifier]))
            return "a Response Topic that is no Topic Name";
        found->number[identifier] = value;
    }
    if (wire_has(found, 0x16) && !wire_has(found, 0x15)) return "Authentication Data without a method";
    return NULL;
}

static const char *properties(struct reader *reader, int where, bool is_from_client, struct properties *found) {
    uint32_t size = variable(reader);
    struct view list = take(reader, size);
    if (reader->failed) return "properties that are longer than their packet";
    return wire_properties(list.data, list.size, where, is_from_client, found);
}

/* ---- Packets */

int64_t wire_size(const uint8_t *bytes, size_t size) {
    uint32_t length = 0;
    for (size_t i = 1; i < 5; i++) {
        if (i >= size) return 0;
        length |= (uint32_t)(bytes[i] & 0x7F) << (7 * (i - 1));
        if (!(bytes[i] & 0x80)) return (int64_t)(i + 1 + length);
    }
    return -1;
}

static const char *connect(struct reader *reader, struct packet *packet) {
    struct view name = text(reader);
    packet->version = (int)number(reader, 1);
    if (reader->failed) return "CONNECT is cut short";
    bool is_3_1 = name.size == 6 && memcmp(name.data, "MQIsdp", 6) == 0;
    bool is_mqtt = name.size == 4 && memcmp(name.data, "MQTT", 4) == 0;
    if (!(is_3_1 && packet->version == 3) && !(is_mqtt && (packet->version == 4 || packet->version == 5)))
        return "CONNECT with a wrong protocol name or version";
    uint8_t flags = (uint8_t)number(reader, 1);
    packet->keep_alive = (uint16_t)number(reader, 2);
    packet->clean = flags & 2;
    packet->has_will = flags & 4;
    packet->will_qos = flags >> 3 & 3;
    packet->has_user = flags & 0x80;
    packet->has_password = flags & 0x40;
    if (flags & 1) return "CONNECT with a reserved flag";
    if (packet->will_qos == 3 || (!packet->has_will && flags & 0x38)) return "CONNECT with wrong flags of the Will";
    if (packet->version < 5 && packet->has_password && !packet->has_user) return "a password without a user name";
    const char *wrong = NULL;
    if (packet->version == 5) {
        wrong = properties(reader, CONNECT, true, &packet->properties);
        if (wrong) return wrong;
    }
    packet->client_id = text(reader);
    if (packet->client_id.size == 0 && !packet->clean && packet->version == 4) return "[MQTT-3.1.3-7]";
    if (packet->has_will) {
        if (packet->version == 5) wrong = properties(reader, 0, true, &packet->will);
        if (wrong) return wrong;
        packet->will_topic = text(reader);
        packet->will_payload = binary(reader);
        if (!wire_is_topic_name(packet->will_topic)) return "the Will's topic is none";
    }
    if (packet->has_user) packet->user = text(reader);
    if (packet->has_password) packet->password = binary(reader);
    return NULL;
}

static const char *connack(struct reader *reader, struct packet *packet) {
    uint8_t flags = (uint8_t)number(reader, 1);
    packet->reason = (uint8_t)number(reader, 1);
    if (packet->version > 3 && flags > 1) return "CONNACK with reserved flags";
    packet->session_present = packet->version > 3 && flags & 1;
    if (packet->session_present && packet->reason != 0) return "a refusal with Session Present";
    if (packet->version < 5) return packet->reason > 5 ? "an unknown return code" : NULL;
    if (!is_reason(server_reasons, CONNACK, packet->reason)) return "an unknown Reason Code";
    return properties(reader, CONNACK, false, &packet->properties);
}

static const char *publish(struct reader *reader, struct packet *packet, bool is_from_client) {
    if (packet->qos == 3) return "PUBLISH with QoS 3";
    if (packet->dup && packet->qos == 0) return "PUBLISH with DUP and QoS 0";
    packet->topic = text(reader);
    if (packet->qos > 0) {
        packet->id = (uint16_t)number(reader, 2);
        if (packet->id == 0) return "PUBLISH without a Packet Identifier";
    }
    if (packet->version == 5) {
        const char *wrong = properties(reader, PUBLISH, is_from_client, &packet->properties);
        if (wrong) return wrong;
    }
    if (reader->failed) return "PUBLISH is cut short";
    if (packet->topic.size == 0 ? !wire_has(&packet->properties, 0x23) : !wire_is_topic_name(packet->topic))
        return "PUBLISH without a Topic Name";
    packet->payload = take(reader, left(reader));
    return NULL;
}

static const char *acknowledgement(struct reader *reader, struct packet *packet, bool is_from_client) {
    packet->id = (uint16_t)number(reader, 2);
    if (packet->id == 0) return "an acknowledgement without a Packet Identifier";
    if (packet->version < 5 || left(reader) == 0) return NULL;
    packet->reason = (uint8_t)number(reader, 1);
    if (!is_reason(is_from_client ? client_reasons : server_reasons, packet->type, packet->reason))
        return "an unknown Reason Code";
    return left(reader) == 0 ? NULL : properties(reader, packet->type, is_from_client, &packet->properties);
}

static const char *request(struct reader *reader, struct packet *packet) {
    packet->id = (uint16_t)number(reader, 2);
    if (packet->id == 0) return "a request without a Packet Identifier";
    if (packet->version == 5) {
        const char *wrong = properties(reader, packet->type, true, &packet->properties);
        if (wrong) return wrong;
    }
    packet->list = (struct view){ reader->at, left(reader) };
    while (left(reader) > 0) {
        struct view filter = text(reader);
        if (!wire_is_topic_filter(filter)) return "a Topic Filter that is none";
        packet->count++;
        if (packet->type == UNSUBSCRIBE) continue;
        uint8_t options = (uint8_t)number(reader, 1);
        if ((options & 3) == 3 || options & 0xC0 || (packet->version < 5 && options > 2) || (options & 0x30) == 0x30)
            return "SUBSCRIBE with wrong options";
        bool is_shared = filter.size >= 7 && memcmp(filter.data, "$share/", 7) == 0;
        if (is_shared && options & 4) return "No Local for a Shared Subscription";
    }
    return packet->count == 0 ? "a request without a Topic Filter" : NULL;
}

static const char *answer(struct reader *reader, struct packet *packet) {
    packet->id = (uint16_t)number(reader, 2);
    if (packet->id == 0) return "an answer without a Packet Identifier";
    if (packet->version == 5) {
        const char *wrong = properties(reader, packet->type, false, &packet->properties);
        if (wrong) return wrong;
    }
    if (packet->type == UNSUBACK && packet->version < 5) return NULL;
    packet->count = left(reader);
    packet->list = take(reader, packet->count);
    for (size_t i = 0; i < packet->count; i++) {
        uint8_t reason = packet->list.data[i];
        bool is_known =
            packet->version == 5 ? is_reason(server_reasons, packet->type, reason) : reason <= 2 || reason == 0x80;
        if (!is_known) return "an unknown Reason Code";
    }
    return packet->count == 0 ? "an answer to nothing" : NULL;
}

static const char *end(struct reader *reader, struct packet *packet, bool is_from_client) {
    if (packet->version < 5) return packet->type == AUTH || !is_from_client ? "a packet of 5.0" : NULL;
    if (left(reader) == 0) return NULL;
    packet->reason = (uint8_t)number(reader, 1);
    if (!is_reason(is_from_client ? client_reasons : server_reasons, packet->type, packet->reason))
        return "an unknown Reason Code";
    /* Section 3.14.2.2.1: DISCONNECT may end here; of AUTH nothing says so. */
    if (left(reader) == 0) return packet->type == AUTH ? "AUTH without Property Length" : NULL;
    const char *wrong = properties(reader, packet->type, is_from_client, &packet->properties);
    /* Section 3.15.2.2.2. */
    return !wrong && packet->type == AUTH && !wire_has(&packet->properties, 0x15) ? "AUTH without a method" : wrong;
}

const char *wire_decode(const uint8_t *bytes, size_t size, int version, bool is_from_client, struct packet *packet) {
    memset(packet, 0, sizeof *packet);
    packet->type = bytes[0] >> 4;
    packet->flags = bytes[0] & 15;
    packet->version = version;
    struct reader reader = { bytes + 1, bytes + size, .takes_long = version < 5 && !is_from_client };
    uint32_t length = variable(&reader);
    if (reader.failed || length != left(&reader)) return "a Remaining Length that is none";
    static const uint32_t clients =
        AT(CONNECT) | AT(PUBLISH) | ACKS | AT(SUBSCRIBE) | AT(UNSUBSCRIBE) | AT(PINGREQ) | AT(DISCONNECT) | AT(AUTH);
    static const uint32_t servers =
        AT(CONNACK) | AT(PUBLISH) | ACKS | AT(SUBACK) | AT(UNSUBACK) | AT(PINGRESP) | AT(DISCONNECT) | AT(AUTH);
    if (!((is_from_client ? clients : servers) >> packet->type & 1))
        return "a packet type that does not come from here";
    int fixed = packet->type == PUBREL || packet->type == SUBSCRIBE || packet->type == UNSUBSCRIBE ? 2 : 0;
    if (packet->type != PUBLISH && packet->flags != fixed) return "reserved flags of the Fixed Header";
    const char *wrong = NULL;
    switch (packet->type) {
    case CONNECT:
        wrong = connect(&reader, packet);
        break;
    case CONNACK:
        wrong = connack(&reader, packet);
        break;
    case PUBLISH:
        packet->qos = packet->flags >> 1 & 3;
        packet->dup = packet->flags & 8;
        packet->retain = packet->flags & 1;
        wrong = publish(&reader, packet, is_from_client);
        break;
    case PUBACK:
    case PUBREC:
    case PUBREL:
    case PUBCOMP:
        wrong = acknowledgement(&reader, packet, is_from_client);
        break;
    case SUBSCRIBE:
    case UNSUBSCRIBE:
        wrong = request(&reader, packet);
        break;
    case SUBACK:
    case UNSUBACK:
        wrong = answer(&reader, packet);
        break;
    case DISCONNECT:
    case AUTH:
        wrong = end(&reader, packet, is_from_client);
        break;
    default:
        break;
    }
    if (wrong) return wrong;
    if (reader.failed) return "a packet that is cut short";
    return left(&reader) > 0 ? "bytes behind the end of a packet" : NULL;
}
