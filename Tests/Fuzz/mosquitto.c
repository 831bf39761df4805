/*
 * The drop-in for libmosquitto, as far as it needs no connection: lists of properties against a model of them, topics, text,
 * names, and what is done with properties where they are taken.
 */
#include "fuzz.h"

#include "mosquitto_abi.h"

int mosquitto_property_add_byte(mosquitto_property **list, int identifier, uint8_t value);
int mosquitto_property_add_int16(mosquitto_property **list, int identifier, uint16_t value);
int mosquitto_property_add_int32(mosquitto_property **list, int identifier, uint32_t value);
int mosquitto_property_add_varint(mosquitto_property **list, int identifier, uint32_t value);
int mosquitto_property_add_binary(mosquitto_property **list, int identifier, const void *value, uint16_t size);
int mosquitto_property_add_string(mosquitto_property **list, int identifier, const char *value);
int mosquitto_property_add_string_pair(mosquitto_property **list, int identifier, const char *name, const char *value);
const mosquitto_property *mosquitto_property_read_byte(const mosquitto_property *, int, uint8_t *, bool);
const mosquitto_property *mosquitto_property_read_int16(const mosquitto_property *, int, uint16_t *, bool);
const mosquitto_property *mosquitto_property_read_int32(const mosquitto_property *, int, uint32_t *, bool);
const mosquitto_property *mosquitto_property_read_varint(const mosquitto_property *, int, uint32_t *, bool);
const mosquitto_property *mosquitto_property_read_binary(const mosquitto_property *, int, void **, uint16_t *, bool);
const mosquitto_property *mosquitto_property_read_string(const mosquitto_property *, int, char **, bool);
const mosquitto_property *mosquitto_property_read_string_pair(const mosquitto_property *, int, char **, char **, bool);
int mosquitto_property_identifier(const mosquitto_property *property);
const mosquitto_property *mosquitto_property_next(const mosquitto_property *property);
void mosquitto_property_free_all(mosquitto_property **list);
int mosquitto_property_copy_all(mosquitto_property **target, const mosquitto_property *list);
int mosquitto_property_check_all(int command, const mosquitto_property *list);
int mosquitto_property_check_command(int command, int identifier);
const char *mosquitto_property_identifier_to_string(int identifier);
int mosquitto_string_to_property_info(const char *name, int *identifier, int *type);
int mosquitto_string_to_command(const char *name, int *command);
int mosquitto_validate_utf8(const char *text, int size);
int mosquitto_pub_topic_check2(const char *topic, size_t size);
int mosquitto_sub_topic_check2(const char *topic, size_t size);
int mosquitto_topic_matches_sub(const char *filter, const char *topic, bool *result);
int mosquitto_sub_topic_tokenise(const char *topic, char ***levels, int *count);
int mosquitto_sub_topic_tokens_free(char ***levels, int count);
const char *mosquitto_strerror(int error);
const char *mosquitto_connack_string(int code);
const char *mosquitto_reason_string(int code);
struct mosquitto *mosquitto_new(const char *id, bool clean_session, void *object);
void mosquitto_destroy(struct mosquitto *client);
int mosquitto_int_option(struct mosquitto *client, int option, int value);
int mosquitto_will_set_v5(struct mosquitto *client, const char *topic, int size, const void *payload, int qos,
                          bool retain, mosquitto_property *properties);
int mosquitto_publish_v5(struct mosquitto *client, int *mid, const char *topic, int size, const void *payload, int qos,
                         bool retain, const mosquitto_property *properties);

enum {
    MANY = 32
};

struct entry {
    int identifier, type;
    uint32_t number;
    char text[66], value[66];
    size_t size;
};

static struct entry entries[MANY];
static int entry_count;
static volatile uint64_t sink;

static void read_text(const char *text) {
    if (text) sink += strlen(text);
}

/* What the list has of a kind, in its order, is what the model has. */
static void compare(const mosquitto_property *list) {
    const mosquitto_property *next = list;
    for (int i = 0; i < entry_count; i++, next = mosquitto_property_next(next)) {
        const struct entry *entry = &entries[i];
        if (!next || mosquitto_property_identifier(next) != entry->identifier) BROKEN("property %d is another one", i);
        uint8_t byte;
        uint16_t two, size;
        uint32_t four;
        char *text, *value;
        void *bytes;
        bool is_right = false;
        switch (entry->type) {
        case MQTT_PROP_TYPE_BYTE:
            is_right =
                mosquitto_property_read_byte(next, entry->identifier, &byte, false) == next && byte == entry->number;
            break;
        case MQTT_PROP_TYPE_INT16:
            is_right =
                mosquitto_property_read_int16(next, entry->identifier, &two, false) == next && two == entry->number;
            break;
        case MQTT_PROP_TYPE_INT32:
            is_right =
                mosquitto_property_read_int32(next, entry->identifier, &four, false) == next && four == entry->number;
            break;
        case MQTT_PROP_TYPE_VARINT:
            is_right =
                mosquitto_property_read_varint(next, entry->identifier, &four, false) == next && four == entry->number;
            break;
        case MQTT_PROP_TYPE_BINARY:
            is_right = mosquitto_property_read_binary(next, entry->identifier, &bytes, &size, false) == next &&
                       size == entry->size && (size == 0 || memcmp(bytes, entry->text, size) == 0);
            free(bytes);
            break;
        case MQTT_PROP_TYPE_STRING:
            is_right = mosquitto_property_read_string(next, entry->identifier, &text, false) == next &&
                       strcmp(text, entry->text) == 0;
            free(text);
            break;
        case MQTT_PROP_TYPE_STRING_PAIR:
            is_right = mosquitto_property_read_string_pair(next, entry->identifier, &text, &value, false) == next &&
                       strcmp(text, entry->text) == 0 && strcmp(value, entry->value) == 0;
            free(text);
            free(value);
            break;
        }
        if (!is_right) BROKEN("property %d is read in another way than it was added", i);
        /* Of another kind there is nothing to be read. */
        if (entry->type != MQTT_PROP_TYPE_BYTE && mosquitto_property_read_byte(next, entry->identifier, &byte, false))
            BROKEN("a byte of what is none");
    }
    if (next) BROKEN("there are more properties than were added");
}

static bool is_expected_right(int command) {
    for (int i = 0; i < entry_count; i++) {
        if (mosquitto_property_check_command(command, entries[i].identifier) != MOSQ_ERR_SUCCESS) return false;
        for (int j = i + 1; j < entry_count; j++)
            if (entries[j].identifier == entries[i].identifier && entries[i].identifier != 38) return false;
        bool is_switch = strchr("\x17\x19\x24\x25\x28\x29\x2A", entries[i].identifier);
        bool is_never_0 = strchr("\x21\x23\x27", entries[i].identifier);
        if ((is_switch && entries[i].number > 1) || (is_never_0 && entries[i].number == 0)) return false;
    }
    return true;
}

static bool add(mosquitto_property **list, struct entry *entry, const uint8_t *data, size_t size) {
    size_t half = size / 2;
    memcpy(entry->text, data, size);
    entry->text[size] = 0;
    entry->size = size;
    for (size_t i = 0; i < size && i < 4; i++) entry->number = entry->number << 8 | data[i];
    int identifier = entry->identifier, status = MOSQ_ERR_INVAL;
    switch (entry->type) {
    case MQTT_PROP_TYPE_BYTE:
        status = mosquitto_property_add_byte(list, identifier, (uint8_t)(entry->number &= 0xFF));
        break;
    case MQTT_PROP_TYPE_INT16:
        status = mosquitto_property_add_int16(list, identifier, (uint16_t)(entry->number &= 0xFFFF));
        break;
    case MQTT_PROP_TYPE_INT32:
        status = mosquitto_property_add_int32(list, identifier, entry->number);
        break;
    case MQTT_PROP_TYPE_VARINT:
        status = mosquitto_property_add_varint(list, identifier, entry->number);
        break;
    case MQTT_PROP_TYPE_BINARY:
        status = mosquitto_property_add_binary(list, identifier, entry->text, (uint16_t)size);
        break;
    case MQTT_PROP_TYPE_STRING:
        status = mosquitto_property_add_string(list, identifier, entry->text);
        break;
    case MQTT_PROP_TYPE_STRING_PAIR:
        memcpy(entry->value, data + half, size - half);
        entry->value[size - half] = 0;
        entry->text[half] = 0;
        status = mosquitto_property_add_string_pair(list, identifier, entry->text, entry->value);
        break;
    }
    return status == MOSQ_ERR_SUCCESS;
}

/* Names and topics, of a text of its own. */
static void text_functions(const char *text, size_t size) {
    int number, type, count;
    char **levels;
    bool matches;
    const char *rest = text + strlen(text) / 2;
    if (mosquitto_string_to_property_info(text, &number, &type) == MOSQ_ERR_SUCCESS &&
        strcmp(mosquitto_property_identifier_to_string(number), text) != 0)
        BROKEN("the name of a property is another one");
    mosquitto_string_to_command(text, &number);
    if (mosquitto_validate_utf8(text, (int)size) == MOSQ_ERR_SUCCESS &&
        !wire_is_utf8((struct view){ (const uint8_t *)text, size }))
        BROKEN("what is no UTF-8 is taken for it");
    bool has_wildcard = memchr(text, '+', size) || memchr(text, '#', size);
    if ((mosquitto_pub_topic_check2(text, size) == MOSQ_ERR_SUCCESS) == has_wildcard)
        BROKEN("mosquitto_pub_topic_check2");
    mosquitto_sub_topic_check2(text, size);
    mosquitto_topic_matches_sub(text, rest, &matches);
    mosquitto_topic_matches_sub(rest, text, &matches);
    if (mosquitto_sub_topic_tokenise(text, &levels, &count) == MOSQ_ERR_SUCCESS) {
        for (int i = 0; i < count; i++) read_text(levels[i]);
        mosquitto_sub_topic_tokens_free(&levels, count);
    }
    int code = size > 0 ? (int8_t)text[0] : 0;
    read_text(mosquitto_strerror(code));
    read_text(mosquitto_connack_string(code));
    read_text(mosquitto_reason_string((uint8_t)code));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2 || size > 1024) return 0;
    static const int commands[] = { 0x10, 0x20, 0x30, 0x40,  0x62, 0x82, 0x90, 0xA2,
                                    0xB0, 0xE0, 0xF0, 0x100, 0x80, 0,    0x60, -1 };
    int command = commands[input[0] % 16];
    bool has_client = input[0] & 16, sets_will = input[0] & 32;
    mosquitto_property *list = NULL, *copy = NULL;
    entry_count = 0;
    size_t at = 1;
    while (at + 2 <= size && entry_count < MANY) {
        struct entry *entry = &entries[entry_count];
        memset(entry, 0, sizeof *entry);
        entry->identifier = input[at] % 48;
        entry->type = input[at + 1] >> 6 == 3 ? 1 + input[at] % 7 : -1;
        size_t length = input[at + 1] & 63;
        /* Mostly of the kind that it is of. */
        const char *name = mosquitto_property_identifier_to_string(entry->identifier);
        int identifier;
        if (entry->type < 0 && name) mosquitto_string_to_property_info(name, &identifier, &entry->type);
        at += 2;
        if (length > size - at) length = size - at;
        if (add(&list, entry, input + at, length)) {
            if (!name) BROKEN("a property that there is not: %d", entry->identifier);
            if (entry->type == MQTT_PROP_TYPE_STRING) entry->size = strlen(entry->text);
            entry_count++;
        }
        at += length;
    }
    compare(list);
    int status = mosquitto_property_check_all(command, list);
    if ((status == MOSQ_ERR_SUCCESS) != is_expected_right(command)) BROKEN("mosquitto_property_check_all: %d", status);
    if (mosquitto_property_copy_all(&copy, list) != MOSQ_ERR_SUCCESS) BROKEN("mosquitto_property_copy_all");
    if (has_client) {
        struct mosquitto *client = mosquitto_new("z", true, NULL);
        mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
        if (!sets_will)
            mosquitto_publish_v5(client, NULL, "t", 1, "p", 1, false, list);
        else if (mosquitto_will_set_v5(client, "t", 1, "p", 1, false, list) == MOSQ_ERR_SUCCESS)
            list = NULL; /* it is the client's now */
        mosquitto_destroy(client);
    }
    mosquitto_property_free_all(&list);
    compare(copy);
    mosquitto_property_free_all(&copy);
    if (list || copy) BROKEN("a list that was freed is still there");
    char *text = malloc(size);
    memcpy(text, input + 1, size - 1);
    text[size - 1] = 0;
    text_functions(text, size - 1);
    free(text);
    return 0;
}
