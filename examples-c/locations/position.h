/* What a message about a position has in it. */
#ifndef POSITION_H
#define POSITION_H

#include "fix.h"
#include "times.h"

#define POSITION_TYPE "application/json;charset=utf-8"
#define POSITION_BYTES 256

/* Writes {"deviceID":"gw1","lat":48.1371000,"lng":11.5754000,"ts":"2026-05-04T12:00:00.000Z"}. The ID needs no escapes:
   is_device_id() knows which characters it may have. Seven places behind the point are a centimetre. */
static inline void write_position(const char *id, const struct fix *fix, char text[POSITION_BYTES]) {
    char time[ISO8601_BYTES];
    write_iso8601(fix->utc_ms, time);
    snprintf(text, POSITION_BYTES, "{\"deviceID\":\"%s\",\"lat\":%.7f,\"lng\":%.7f,\"ts\":\"%s\"}", id, fix->latitude,
             fix->longitude, time);
}

#endif
