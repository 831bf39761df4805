/* Payloads of Sparkplug B, encoded and decoded by nanopb. */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <pb_decode.h>
#include <pb_encode.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sparkplug_b.pb.h"

enum {
    TYPE_INT64 = 4,
    TYPE_UINT64 = 8,
    TYPE_DOUBLE = 10,
    TYPE_BOOLEAN = 11,
    TYPE_STRING = 12
};

/* More than any payload of this node has. */
#define PAYLOAD_SIZE 1024

static inline uint64_t utc_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A metric without a value. An alias of 0 is none. */
static inline spb_Metric metric(const char *name, uint64_t alias, uint32_t type) {
    spb_Metric metric = spb_Metric_init_zero;
    metric.has_name = metric.has_timestamp = metric.has_datatype = true;
    snprintf(metric.name, sizeof metric.name, "%s", name);
    metric.has_alias = alias != 0;
    metric.alias = alias;
    metric.timestamp = utc_ms();
    metric.datatype = type;
    return metric;
}

static inline spb_Metric number_metric(const char *name, uint64_t alias, uint32_t type, uint64_t value) {
    spb_Metric made = metric(name, alias, type);
    made.which_value = spb_Metric_long_value_tag;
    made.value.long_value = value;
    return made;
}

static inline spb_Metric real_metric(const char *name, uint64_t alias, double value) {
    spb_Metric made = metric(name, alias, TYPE_DOUBLE);
    made.which_value = spb_Metric_double_value_tag;
    made.value.double_value = value;
    return made;
}

static inline spb_Metric boolean_metric(const char *name, uint64_t alias, bool value) {
    spb_Metric made = metric(name, alias, TYPE_BOOLEAN);
    made.which_value = spb_Metric_boolean_value_tag;
    made.value.boolean_value = value;
    return made;
}

static inline spb_Metric text_metric(const char *name, const char *value) {
    spb_Metric made = metric(name, 0, TYPE_STRING);
    made.which_value = spb_Metric_string_value_tag;
    snprintf(made.value.string_value, sizeof made.value.string_value, "%s", value);
    return made;
}

/* A payload of this moment, without metrics and without a sequence number. */
static inline spb_Payload payload_of_now(void) {
    spb_Payload payload = spb_Payload_init_zero;
    payload.has_timestamp = true;
    payload.timestamp = utc_ms();
    return payload;
}

static inline void add_metric(spb_Payload *payload, const spb_Metric *metric) {
    payload->metrics[payload->metrics_count++] = *metric;
}

/* Adds what changed: data have the alias in place of name and type, which the birth has told. */
static inline void add_change(spb_Payload *payload, const spb_Metric *metric) {
    add_metric(payload, metric);
    spb_Metric *added = &payload->metrics[payload->metrics_count - 1];
    added->has_name = added->has_datatype = false;
}

/* Returns how many bytes of PAYLOAD_SIZE the payload takes; 0 if it does not fit. */
static inline size_t encode_payload(const spb_Payload *payload, void *bytes) {
    pb_ostream_t stream = pb_ostream_from_buffer(bytes, PAYLOAD_SIZE);
    return pb_encode(&stream, spb_Payload_fields, payload) ? stream.bytes_written : 0;
}

/* Returns false if the bytes are no payload, or one that is larger than this node takes. */
static inline bool decode_payload(const void *bytes, size_t size, spb_Payload *payload) {
    pb_istream_t stream = pb_istream_from_buffer(bytes, size);
    *payload = (spb_Payload)spb_Payload_init_zero;
    return pb_decode(&stream, spb_Payload_fields, payload);
}

/* Whether a command means this metric: by its alias or, if it has none, by its name. */
static inline bool means(const spb_Metric *command, const spb_Metric *metric) {
    if (command->has_alias) return metric->has_alias && command->alias == metric->alias;
    return command->has_name && strcmp(command->name, metric->name) == 0;
}

#endif
