/* What time it is, and times as text: ISO 8601 with a zone. */
#ifndef TIMES_H
#define TIMES_H

#include <stdio.h>
#include <time.h>

#include "numbers.h"

static inline int64_t clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* For waiting: it goes only forward. */
static inline int64_t now_ms(void) { return clock_ms(CLOCK_MONOTONIC); }

/* For comparing with the time of a fix: since 1970, and only as right as the machine's clock. */
static inline int64_t utc_ms(void) { return clock_ms(CLOCK_REALTIME); }

static inline int days_of_month(int year, int month) {
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* The time of a date, if there is such a date. A second of 60 is a leap second, which UTC has now and then. */
static inline bool utc_from(int year, int month, int day, int hour, int minute, int second, int64_t *ms) {
    if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
    int64_t days =
        365 * (int64_t)(year - 1970) + (year - 1969) / 4 - (year - 1901) / 100 + (year - 1601) / 400 + day - 1;
    for (int earlier = 1; earlier < month; earlier++) days += days_of_month(year, earlier);
    *ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    return true;
}

/* The digits behind the second, with their point; none are 0. */
static inline bool read_fraction(const char *text, size_t size, int64_t *ms) {
    double fraction = 0;
    if (size == 0 || *text != '.') return size == 0;
    if (size > 1 && (text[1] < '0' || text[1] > '9')) return false;
    if (size > 1 && !read_decimal(text, size, 0, 1, &fraction)) return false;
    *ms += (int64_t)(fraction * 1000);
    return true;
}

/* Reads 2026-05-04T12:00:00.250Z, or with +02:00 in place of Z. A time without a zone may mean anything: it is refused. */
static inline bool read_iso8601(const char *text, size_t size, int64_t *ms) {
    int part[6], zone_hour, zone_minute;
    static const struct {
        size_t at, digits;
        char before;
    } places[] = { { 0, 4, 0 }, { 5, 2, '-' }, { 8, 2, '-' }, { 11, 2, 'T' }, { 14, 2, ':' }, { 17, 2, ':' } };
    if (size < 20 || size > 40) return false;
    for (size_t i = 0; i < 6; i++) {
        if (!read_digits(text + places[i].at, places[i].digits, &part[i])) return false;
        if (places[i].before && text[places[i].at - 1] != places[i].before) return false;
    }
    if (!utc_from(part[0], part[1], part[2], part[3], part[4], part[5], ms)) return false;
    if (text[size - 1] == 'Z') return read_fraction(text + 19, size - 20, ms);
    const char *zone = text + size - 6;
    if (size < 25 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return false;
    if (!read_digits(zone + 1, 2, &zone_hour) || !read_digits(zone + 4, 2, &zone_minute)) return false;
    if (zone_hour > 23 || zone_minute > 59) return false;
    int64_t offset = (zone_hour * 60 + zone_minute) * INT64_C(60000);
    *ms -= zone[0] == '+' ? offset : -offset;
    return read_fraction(text + 19, size - 25, ms);
}

#define ISO8601_BYTES 32

/* Writes 2026-05-04T12:00:00.250Z. */
static inline void write_iso8601(int64_t ms, char text[ISO8601_BYTES]) {
    struct tm utc = { 0 };
    time_t seconds = (time_t)(ms / 1000);
    gmtime_r(&seconds, &utc);
    size_t size = strftime(text, ISO8601_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + size, ISO8601_BYTES - size, ".%03dZ", (int)(ms % 1000));
}

#endif
