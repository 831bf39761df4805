/* Which fixes are sent. A pure function: what it answers depends on nothing but its arguments. */
#ifndef FILTER_H
#define FILTER_H

#include "fix.h"

struct filter {
    double distance;     /* metres: a fix is sent that is at least so far from the last one that was sent */
    int64_t interval_ms; /* and one that is at least so much later */
    int64_t max_age_ms;  /* an older one is stale, and never sent; 0: none is */
};

enum verdict {
    FIX_SEND,
    FIX_NEAR, /* in place and time: it says nothing new */
    FIX_STALE
};

/* A fix that is as far in the future is stale, too: the clock of the sensor or that of the machine is wrong. */
static inline bool is_stale(const struct filter *filter, const struct fix *fix, int64_t utc_ms) {
    int64_t age = utc_ms > fix->utc_ms ? utc_ms - fix->utc_ms : fix->utc_ms - utc_ms;
    return filter->max_age_ms > 0 && age > filter->max_age_ms;
}

/* last: the last one that was sent; NULL: none was. */
static inline enum verdict judge(const struct filter *filter, const struct fix *last, const struct fix *fix,
                                 int64_t utc_ms) {
    if (is_stale(filter, fix, utc_ms)) return FIX_STALE;
    if (!last || distance_between(last, fix) >= filter->distance) return FIX_SEND;
    int64_t later = fix->utc_ms - last->utc_ms;
    return later >= filter->interval_ms || later < 0 ? FIX_SEND : FIX_NEAR; /* < 0: the clock was set back */
}

#endif
