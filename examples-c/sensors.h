/*
 * The sensors of a board, for sensord.c. Each reader passes its sensors' names and readings to a
 * function. Sensors that a board does not have are skipped.
 */
#ifndef SENSORS_H
#define SENSORS_H

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "readings.h"

typedef void sensor_take(const void *context, const char *name, const struct reading *reading);
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

/* Makes the first line suitable as one level of a topic, and as a name in SenML. */
static char *clean(char *text) {
    text[strcspn(text, "\n")] = 0;
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) *c = '_';
    return text;
}

/* Passes a reading on, with its time. */
static void report(sensor_take *take, const void *context, const char *name, struct reading reading) {
    char level[64];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    reading.time_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
    snprintf(level, sizeof level, "%s", name);
    take(context, clean(level), &reading);
}

static void read_load(sensor_take *take, const void *context) {
    double a, b, c;
    if (sscanf(text_of("/proc/loadavg"), "%lf %lf %lf", &a, &b, &c) != 3) return;
    struct reading_value one = measured("minute_1", NULL, a), five = measured("minute_5", NULL, b);
    report(take, context, "average", (struct reading){ 0, NULL, 3, { one, five, measured("minute_15", NULL, c) } });
}

static void read_uptime(sensor_take *take, const void *context) {
    double seconds;
    if (sscanf(text_of("/proc/uptime"), "%lf", &seconds) == 1)
        report(take, context, "system", (struct reading){ 0, NULL, 1, { measured("seconds", "s", seconds) } });
}

static void read_memory(sensor_take *take, const void *context) {
    const char *text = text_of("/proc/meminfo");
    const char *total = strstr(text, "MemTotal:"), *available = strstr(text, "MemAvailable:");
    if (!total || !available) return;
    struct reading_value all = counter("total_kb", "KiB", strtoull(total + strlen("MemTotal:"), NULL, 10));
    struct reading_value left = counter("available_kb", "KiB", strtoull(available + strlen("MemAvailable:"), NULL, 10));
    report(take, context, "ram", (struct reading){ 0, NULL, 2, { all, left } });
}

static void read_network(sensor_take *take, const void *context) {
    static const char *const names[] = { "rx_bytes", "rx_packets", "rx_errors", "tx_bytes", "tx_packets", "tx_errors" };
    char name[64];
    unsigned long long n[6];
    /* A line for each interface; the two lines above them do not match. */
    for (const char *line = text_of("/proc/net/dev"); line; line = strchr(line + 1, '\n')) {
        if (sscanf(line, " %63[^: \n]: %llu %llu %llu %*u %*u %*u %*u %*u %llu %llu %llu", name, &n[0], &n[1], &n[2],
                   &n[3], &n[4], &n[5]) != 7)
            continue;
        struct reading traffic = { .count = 6 };
        for (size_t i = 0; i < 6; i++) traffic.values[i] = counter(names[i], i % 3 ? "count" : "B", n[i]);
        report(take, context, name, traffic);
    }
}

/* in_voltage2_raw counts in units of in_voltage2_scale, or of the in_voltage_scale of all voltages. */
static double iio_scale(const char *path) {
    int own = (int)(strlen(path) - strlen("_raw")), shared = own;
    while (isdigit((unsigned char)path[shared - 1])) shared--;
    const char *text = text_of("%.*s_scale", own, path);
    if (!*text) text = text_of("%.*s_scale", shared, path);
    return *text ? strtod(text, NULL) : 1;
}

/* Sensors that are a file with one number. `label` is the file beside it that says what it is; scale 0: iio_scale(). */
static void read_files(sensor_take *take, const void *context, const char *files, const char *label, double scale,
                       const char *unit) {
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
        if (!(value > -1e12 && value < 1e12)) continue; /* NaN, too */
        while (name[-1] != '/') name--;                 /* hwmon0/temp1_input */
        const char *called = clean(text_of("%.*s%s", (int)(file - path), path, label));
        struct reading_value measurement = measured("value", unit, thousandths(value));
        report(take, context, name, (struct reading){ 0, called, 1, { measurement } });
    }
    globfree(&found);
}

static void read_thermal(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/class/thermal/thermal_zone*/temp", "type", 0.001, "Cel");
}

static void read_hwmon(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/class/hwmon/hwmon*/temp*_input", "name", 0.001, "Cel");
}

static void read_iio(sensor_take *take, const void *context) {
    read_files(take, context, "/sys/bus/iio/devices/iio:device*/in_*_input", "name", 1, NULL);
    read_files(take, context, "/sys/bus/iio/devices/iio:device*/in_*_raw", "name", 0, NULL);
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
