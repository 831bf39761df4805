/* The board: its load, which is the node's, and a device with its memory and a light that can be switched. */
#ifndef BOARD_H
#define BOARD_H

#include <inttypes.h>
#include <limits.h>

#include "payload.h"

enum {
    NODE_LOAD,
    NODE_METRICS
};
enum {
    DEVICE_MEMORY,
    DEVICE_LIGHT,
    DEVICE_METRICS
};

/* What can change. */
struct metrics {
    spb_Metric list[DEVICE_METRICS];
    bool changed[DEVICE_METRICS];
    int count;
};

static const char *board_root = ""; /* where /proc is */

static inline void board_init(struct metrics *node, struct metrics *device) {
    *node = (struct metrics){ .list = { real_metric("load/minute_1", 1, 0) }, .count = NODE_METRICS };
    *device = (struct metrics){ .list = { number_metric("memory/available", 2, TYPE_UINT64, 0),
                                          boolean_metric("output/light", 3, false) },
                                .count = DEVICE_METRICS };
}

/* Takes the value of a metric, at this time, if it is a new one. */
static inline void set_value(struct metrics *metrics, int index, const spb_Metric *value) {
    spb_Metric *metric = &metrics->list[index];
    if (memcmp(&metric->value, &value->value, sizeof metric->value) == 0) return;
    metric->value = value->value;
    metric->timestamp = utc_ms();
    metrics->changed[index] = true;
}

/* Reads the first line of a file that begins so; false if it has none. */
static inline bool line_of(const char *path, const char *beginning, char *line, int size) {
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", board_root, path);
    FILE *file = fopen(whole, "r");
    bool is_found = false;
    while (file && !is_found && fgets(line, size, file)) is_found = strncmp(line, beginning, strlen(beginning)) == 0;
    if (file) fclose(file);
    return is_found;
}

static inline void read_node(struct metrics *node) {
    char line[256];
    spb_Metric load = node->list[NODE_LOAD];
    if (!line_of("/proc/loadavg", "", line, sizeof line)) return;
    if (sscanf(line, "%lf", &load.value.double_value) == 1) set_value(node, NODE_LOAD, &load);
}

/* Returns false if the device is not there. */
static inline bool read_device(struct metrics *device) {
    char line[256];
    spb_Metric memory = device->list[DEVICE_MEMORY];
    if (!line_of("/proc/meminfo", "MemAvailable:", line, sizeof line)) return false;
    if (sscanf(line, "MemAvailable: %" SCNu64, &memory.value.long_value) != 1) return false;
    memory.value.long_value *= 1024;
    set_value(device, DEVICE_MEMORY, &memory);
    return true;
}

/* Does what a command asks for. Returns false if it is none for this device, or of another type. */
static inline bool write_device(struct metrics *device, const spb_Metric *command) {
    spb_Metric light = device->list[DEVICE_LIGHT];
    if (!means(command, &light) || command->which_value != spb_Metric_boolean_value_tag) return false;
    light.value.boolean_value = command->value.boolean_value;
    set_value(device, DEVICE_LIGHT, &light);
    return true;
}

#endif
