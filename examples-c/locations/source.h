/*
 * Where fixes come from: gpsd.h, nmea.h, gpx.h and simulated.h, each behind this.
 *
 * The loop waits until `fd` is ready for `events`, or until it is `due_ms`, and then calls step() until that has nothing
 * more. A source never waits by itself. One that loses its sensor says so once, and tries again when it is due.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "fix.h"

enum found {
    FOUND_NOTHING, /* not now */
    FOUND_FIX,
    FOUND_LOST, /* there is no position: `why` */
    FOUND_END   /* a recording has ended */
};

struct source {
    int fd;         /* to wait for; -1: none */
    short events;   /* of poll() */
    int64_t due_ms; /* of now_ms(); -1: only fd counts */
    char why[160];
    enum found (*step)(struct source *source, int64_t now_ms, struct fix *fix);
    void *state; /* of the source's own */
};

#define RETRY_MS 2000 /* how long until a sensor that is lost is tried again */

#endif
