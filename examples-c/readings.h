/* A reading of a sensor, and the message of it: JSON, SenML in JSON, or SenML in CBOR (docs/payloads.md). */
#ifndef READINGS_H
#define READINGS_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <swiftmqtt-payload.h>

#include "why.h"

#define MOST_VALUES 6

struct reading {
    int64_t time_ms;   /* since 1970 */
    const char *label; /* what the sensor is called; NULL: nothing */
    size_t count;
    struct reading_value {
        const char *name, *unit; /* the unit as SenML has it (RFC 8428, section 12.1); NULL: none */
        double number;
        uint64_t whole; /* a counter, which a double may not hold; number is it, too */
        int is_whole;
    } values[MOST_VALUES];
};

static inline struct reading_value measured(const char *name, const char *unit, double number) {
    return (struct reading_value){ name, unit, number, 0, 0 };
}

static inline struct reading_value counter(const char *name, const char *unit, unsigned long long count) {
    return (struct reading_value){ name, unit, (double)count, count, 1 };
}

/* Without the noise of a multiplication behind the third place; below 10^12. */
static inline double thousandths(double number) {
    return (double)(int64_t)(number * 1000 + (number < 0 ? -0.5 : 0.5)) / 1000;
}

enum reading_format {
    READING_JSON,
    READING_SENML_JSON,
    READING_SENML_CBOR,
    READING_FORMATS
};
static const char *const reading_formats[] = { "json", "senml", "senml-cbor" };
static const char *const reading_content_types[] = { "application/json", "application/senml+json",
                                                     "application/senml+cbor" };

/* {"time":1764252000.123,"sensor":"cpu-thermal","value":41.5} */
static int32_t reading_as_json(const struct reading *reading, void *buffer, size_t size, smq_bytes *payload) {
    smq_json json;
    smq_json_init(&json, buffer, size);
    smq_json_object(&json);
    smq_json_key(&json, "time");
    smq_json_double(&json, (double)reading->time_ms / 1000);
    if (reading->label) {
        smq_json_key(&json, "sensor");
        smq_json_string(&json, smq_string(reading->label));
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct reading_value *value = &reading->values[i];
        smq_json_key(&json, value->name);
        if (value->is_whole)
            smq_json_uint(&json, value->whole);
        else
            smq_json_double(&json, value->number);
    }
    smq_json_end(&json);
    return smq_json_finish(&json, payload);
}

/* A record for each value, and one for the label:
 * [{"bn":"gateway/7/temperature/cpu/","bt":1764252000.123,"n":"value","u":"Cel","v":41.5},{"n":"sensor","vs":"cpu"}] */
static int32_t reading_as_senml(const struct reading *reading, uint32_t format, const char *base, void *buffer,
                                size_t size, smq_bytes *payload) {
    smq_senml senml;
    smq_senml_init(&senml, format, buffer, size, (uint32_t)reading->count + (reading->label != NULL));
    for (size_t i = 0; i < reading->count; i++) {
        const struct reading_value *value = &reading->values[i];
        smq_senml_record record = SMQ_SENML_RECORD_INIT;
        record.fields = SMQ_SENML_NAME | SMQ_SENML_VALUE;
        if (i == 0) record.fields |= SMQ_SENML_BASE_NAME | SMQ_SENML_BASE_TIME;
        if (value->unit) record.fields |= SMQ_SENML_UNIT;
        record.base_name = smq_string(base);
        record.base_time = (double)reading->time_ms / 1000;
        record.name = smq_string(value->name);
        record.unit = smq_string(value->unit);
        record.value = value->number;
        smq_senml_add(&senml, &record);
    }
    if (reading->label) {
        smq_senml_record record = SMQ_SENML_RECORD_INIT;
        record.fields = SMQ_SENML_NAME | SMQ_SENML_STRING;
        record.name = smq_string("sensor");
        record.string = smq_string(reading->label);
        smq_senml_add(&senml, &record);
    }
    return smq_senml_finish(&senml, payload);
}

/* Where what a message points to lies, until it is published. */
struct reading_space {
    char topic[256], base[sizeof "/" + 256];
    uint8_t payload[1024], properties[32];
};

/* Sets topic, payload and content type of a message; the topic is in the space already, and is the base name in SenML. */
static inline int32_t reading_message(const struct reading *reading, enum reading_format format,
                                      struct reading_space *space, smq_message *message) {
    smq_properties properties = { space->properties, sizeof space->properties, 0 };
    smq_bytes type = smq_string(reading_content_types[format]);
    smq_property_put_bytes(&properties, SMQ_PROPERTY_CONTENT_TYPE, &type);
    message->properties = smq_property_list(&properties);
    message->topic = smq_string(space->topic);
    if (format == READING_JSON)
        return reading_as_json(reading, space->payload, sizeof space->payload, &message->payload);
    snprintf(space->base, sizeof space->base, "%s/", space->topic);
    return reading_as_senml(reading, format == READING_SENML_CBOR ? SMQ_SENML_CBOR : SMQ_SENML_JSON, space->base,
                            space->payload, sizeof space->payload, &message->payload);
}

/* The format of an argument; ends the program with a line that says what is wrong with it. */
static inline enum reading_format reading_format(const char *program, const char *flag, const char *text) {
    int format = 0;
    while (format < READING_FORMATS && strcmp(text, reading_formats[format]) != 0) format++;
    if (format == READING_FORMATS) refuse(program, flag, "is json, senml or senml-cbor");
    return (enum reading_format)format;
}

/* Whether this may be within a name of SenML (RFC 8428, section 4.5.1). */
static inline int is_senml_name(const char *text) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-:./_";
    return text[strspn(text, allowed)] == 0;
}

/* A line of a log. The topic ends with a zero. */
static inline void print_published(const smq_message *message, int in_hex) {
    const uint8_t *bytes = message->payload.data;
    printf("published %" PRIu64 " %d %s ", message->cookie, message->qos, (const char *)message->topic.data);
    for (size_t i = 0; i < message->payload.size; i++) printf(in_hex ? "%02x" : "%c", bytes[i]);
    putchar('\n');
}

#endif
