/*
 * The sensors of a board, for sensord.c. Each reader passes its sensors' names and readings, as
 * JSON, to a function. Sensors that a board does not have are skipped.
 */
#ifndef SENSORS_H
#define SENSORS_H

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void sensor_take(const void *context, const char *name, const char *json);
typedef void sensor_reader(sensor_take *take, const void *context);

static const char *sensor_root = ""; /* where /sys and /proc are */

/* The start of a file under the root, its path printf-like; empty if it cannot be read. Valid until the next call. */
static char *text_of(const char *format, ...) {
    static char text[16384];
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s", sensor_root);
    va_list parts;
    va_start(parts, format);
    vsnprintf(path + length, sizeof path - (size_t)length, format, parts);
    va_end(parts);
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = 0;
    if (file) fclose(file);
    return text;
}

/* Makes the first line suitable as one level of a topic, and as a string in JSON. */
static char *clean(char *text) {
    text[strcspn(text, "\n")] = 0;
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) *c = '_';
    return text;
}

/* Passes a reading on: its time, and what `format` says. */
static void report(sensor_take *take, const void *context, const char *name, const char *format, ...) {
    char level[64], json[320];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int length = snprintf(json, sizeof json, "{\"time\":%lld.%03ld,", (long long)now.tv_sec, now.tv_nsec / 1000000);
    va_list values;
    va_start(values, format);
    vsnprintf(json + length, sizeof json - (size_t)length, format, values);
    va_end(values);
    snprintf(level, sizeof level, "%s", name);
    take(context, clean(level), json);
}

static void read_load(sensor_take *take, const void *context) {
    double a, b, c;
    if (sscanf(text_of("/proc/loadavg"), "%lf %lf %lf", &a, &b, &c) == 3)
        report(take, context, "average", "\"minute_1\":%.2f,\"minute_5\":%.2f,\"minute_15\":%.2f}", a, b, c);
}

static void read_uptime(sensor_take *take, const void *context) {
    double seconds;
    if (sscanf(text_of("/proc/uptime"), "%lf", &seconds) == 1)
        report(take, context, "system", "\"seconds\":%.2f}", seconds);
}

static void read_memory(sensor_take *take, const void *context) {
    const char *text = text_of("/proc/meminfo");
    const char *total = strstr(text, "MemTotal:"), *available = strstr(text, "MemAvailable:");
    if (total && available)
        report(take, context, "ram", "\"total_kb\":%llu,\"available_kb\":%llu}",
               strtoull(total + strlen("MemTotal:"), NULL, 10),
               strtoull(available + strlen("MemAvailable:"), NULL, 10));
}

static void read_network(sensor_take *take, const void *context) {
    char name[64];
    unsigned long long in[3], out[3];
    /* A line for each interface; the two lines above them do not match. */
    for (const char *line = text_of("/proc/net/dev"); line; line = strchr(line + 1, '\n'))
        if (sscanf(line, " %63[^: \n]: %llu %llu %llu %*u %*u %*u %*u %*u %llu %llu %llu", name, &in[0], &in[1], &in[2],
                   &out[0], &out[1], &out[2]) == 7)
            report(take, context, name,
                   "\"rx_bytes\":%llu,\"rx_packets\":%llu,\"rx_errors\":%llu,"
                   "\"tx_bytes\":%llu,\"tx_packets\":%llu,\"tx_errors\":%llu}",
                   in[0], in[1], in[2], out[0], out[1], out[2]);
}

/* in_voltage2_raw counts in units of in_voltage2_scale, or of the in_voltage_scale of all voltages. */
static double iio_scale(const char *path) {
    int own = (int)(strlen(path) - strlen("_raw")), shared = own;
    while (isdigit((unsigned char)path[shared - 1])) shared--;
    const char *text = text_of("%.*s_scale", own, path);
    if (!*text) text = text_of("%.*s_scale", shared, path);
    return *text ? strtod(text, NULL) : 1;
}

/*
 * Sensors that are a file with one number. `label` is the file beside it that says what it is; scale 0 stands for
 * iio_scale().
 */
static void read_files(sensor_take *take, const void *context, const char *files, const char *label, double scale) {
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s%s", sensor_root, files);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i] + strlen(sensor_root), *file = strrchr(path, '/') + 1, *name = file - 1;
        char *text = text_of("%s", path), *end;
        double value = strtod(text, &end);
        if (end == text) continue; /* the sensor is asleep, or gone */
        value *= scale != 0 ? scale : iio_scale(path);
        while (name[-1] != '/') name--; /* hwmon0/temp1_input */
        report(take, context, name, "\"sensor\":\"%.64s\",\"value\":%.3f}",
               clean(text_of("%.*s%s", (int)(file - path), path, label)), value);
    }
    globfree(&found);
}

static void read_thermal(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/class/thermal/thermal_zone*/temp", "type", 0.001);
}

static void read_hwmon(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/class/hwmon/hwmon*/temp*_input", "name", 0.001);
}

static void read_iio(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/bus/iio/devices/iio:device*/in_*_input", "name", 1);
    read_files(take, context, "/sys/bus/iio/devices/iio:device*/in_*_raw", "name", 0);
}

/* All readers, and the QoS with which to send each reading. */
static const struct sensor_kind {
    const char *name;
    int qos;
    sensor_reader *read;
} sensor_kinds[] = {
    { "load", 0, read_load },         { "temperature", 1, read_thermal },
    { "temperature", 1, read_hwmon }, { "memory", 1, read_memory },
    { "network", 1, read_network },   { "iio", 1, read_iio },
    { "uptime", 2, read_uptime },     { NULL, 0, NULL },
};

#endif
