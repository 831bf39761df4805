/* What a fix is: where the device was, and when. */
#ifndef FIX_H
#define FIX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define DEGREE (3.14159265358979323846 / 180)
#define EARTH_RADIUS 6371008.8 /* metres: the mean radius of WGS 84 */

struct fix {
    double latitude;  /* degrees, north is positive */
    double longitude; /* degrees, east is positive */
    int64_t utc_ms;   /* when it was measured, since 1970 */
};

/* Metres between two fixes, over the ground. The haversine formula is exact enough also for fixes that are close. */
static inline double distance_between(const struct fix *one, const struct fix *other) {
    double north = sin((other->latitude - one->latitude) * DEGREE / 2);
    double east = sin((other->longitude - one->longitude) * DEGREE / 2);
    double half = north * north + cos(one->latitude * DEGREE) * cos(other->latitude * DEGREE) * east * east;
    return 2 * EARTH_RADIUS * asin(sqrt(half < 1 ? half : 1));
}

#endif
