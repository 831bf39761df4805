/* A made-up track: a walk on a circle, a fix each second. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "replay.h"

#define SIMULATED_RADIUS 400.0 /* metres */
#define SIMULATED_METRES 12.0  /* each second */

struct simulated {
    double latitude, longitude; /* the middle */
    double angle;               /* where it begins, so that two devices are not at one place */
    int64_t seconds;
};

static inline bool simulated_next(struct replay *replay, struct fix *fix) {
    struct simulated *track = replay->track;
    double angle = track->angle + (double)track->seconds * SIMULATED_METRES / SIMULATED_RADIUS;
    double radius = SIMULATED_RADIUS / EARTH_RADIUS / DEGREE;
    fix->latitude = track->latitude + radius * sin(angle);
    fix->longitude = track->longitude + radius * cos(angle) / cos(track->latitude * DEGREE);
    fix->utc_ms = track->seconds++ * 1000;
    return true;
}

/* It never ends, so there is nothing to rewind. Places are at most 85 degrees from the equator: see options.h. */
static inline void simulated_track(struct replay *replay, struct simulated *track, const char *id) {
    track->angle = (double)(hash(HASH_START, id, strlen(id)) % 360) * DEGREE;
    replay->track = track;
    replay->next = simulated_next;
}

#endif
