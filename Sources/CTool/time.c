#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void tool_wall(int64_t *seconds, int32_t *nanoseconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *seconds = (int64_t)now.tv_sec;
    *nanoseconds = (int32_t)now.tv_nsec;
}

size_t tool_time_text(int64_t seconds, uint8_t conversion, void *buffer, size_t capacity) {
    time_t time = (time_t)seconds;
    struct tm local;
    char format[3] = { '%', (char)conversion, 0 };
    if (!localtime_r(&time, &local)) return 0;
    return strftime(buffer, capacity, format, &local);
}

/* Copies the text with a zero behind it. Returns 0 if it is longer than any number that a program writes. */
static int terminated(const void *text, size_t size, char *copy, size_t capacity) {
    if (size == 0 || size >= capacity) return 0;
    memcpy(copy, text, size);
    copy[size] = 0;
    return strlen(copy) == size;
}

size_t tool_json_number(const void *text, size_t size, void *buffer) {
    char copy[64], *end;
    if (!terminated(text, size, copy, sizeof copy)) return 0;
    double value = strtod(copy, &end);
    if (*end) return 0;
    int length;
    if (!isfinite(value))
        length = snprintf(buffer, 32, "null");
    else {
        length = snprintf(buffer, 32, "%1.15g", value);
        if (strtod(buffer, NULL) != value) length = snprintf(buffer, 32, "%1.17g", value);
    }
    return (size_t)length;
}

int32_t tool_decimal(const void *text, size_t size, int64_t scale, int64_t *value) {
    char copy[64], *end;
    if (!terminated(text, size, copy, sizeof copy) || strspn(copy, "+-.0123456789") != size) return 0;
    double number = strtod(copy, &end) * (double)scale;
    if (*end || !(number > -9e18 && number < 9e18)) return 0;
    *value = (int64_t)floor(number + 1e-6);
    return 1;
}

size_t tool_utc_text(int64_t seconds, void *buffer, size_t capacity) {
    time_t time = (time_t)seconds;
    struct tm utc;
    if (!gmtime_r(&time, &utc)) return 0;
    return strftime(buffer, capacity, "%Y-%m-%dT%H:%M:%S", &utc);
}

size_t tool_double_text(double value, void *buffer, size_t capacity) {
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(buffer, capacity, "%.*g", digits, value);
        if (!isfinite(value) || strtod(buffer, NULL) == value) break;
    }
    return length > 0 && (size_t)length < capacity ? (size_t)length : 0;
}
