/* A recorded or made-up track, played as if it happened now: its fixes come with the pauses that they had. */
#ifndef REPLAY_H
#define REPLAY_H

#include "source.h"
#include "times.h"

struct replay {
    bool (*next)(struct replay *replay,
                 struct fix *fix);         /* the next fix of the track, with the time that it has there */
    void (*rewind)(struct replay *replay); /* to its beginning */
    void *track;
    double speed;     /* times as fast; 0: all at once */
    bool as_recorded; /* fixes keep their times: they are stale unless the recording is new */
    bool loop;        /* begins again at its end */
    bool started, has_next, any;
    struct fix coming;
    int64_t offset_ms; /* of the track that is played, how much of it came before this round */
    int64_t first_ms;  /* the recorded time with which this round began */
    int64_t start_ms;  /* of now_ms() */
    int64_t start_utc_ms;
};

/* How far into the whole play the coming fix is. Recorded times may jump back; the play does not. */
static inline int64_t replay_position(const struct replay *replay) {
    int64_t into = replay->coming.utc_ms - replay->first_ms;
    return replay->offset_ms + (into > 0 ? into : 0);
}

static inline int64_t at_speed(const struct replay *replay, int64_t ms) {
    return replay->speed > 0 ? (int64_t)((double)ms / replay->speed) : 0;
}

static inline bool replay_advance(struct replay *replay) {
    int64_t before = replay->any ? replay_position(replay) : 0;
    replay->has_next = replay->next(replay, &replay->coming);
    if (!replay->has_next && replay->loop && replay->any) {
        replay->rewind(replay);
        replay->has_next = replay->next(replay, &replay->coming);
        replay->first_ms = replay->coming.utc_ms;
        replay->offset_ms = before + 1000; /* from the last fix back to the first one */
    } else if (replay->has_next && !replay->any) {
        replay->first_ms = replay->coming.utc_ms;
    }
    replay->any |= replay->has_next;
    return replay->has_next;
}

static inline enum found replay_step(struct source *source, int64_t now, struct fix *fix) {
    struct replay *replay = source->state;
    if (!replay->started) {
        replay->started = true;
        replay->start_ms = now;
        replay->start_utc_ms = utc_ms();
        replay_advance(replay);
    }
    source->due_ms = -1;
    if (!replay->has_next) return FOUND_END;
    int64_t position = replay_position(replay);
    int64_t due = replay->start_ms + at_speed(replay, position);
    if (due > now) {
        source->due_ms = due;
        return FOUND_NOTHING;
    }
    *fix = replay->coming;
    if (!replay->as_recorded)
        fix->utc_ms = replay->start_utc_ms + (replay->speed > 0 ? at_speed(replay, position) : position);
    replay_advance(replay);
    source->due_ms = now; /* to look at the one after it */
    return FOUND_FIX;
}

static inline void replay_source(struct source *source, struct replay *replay) {
    source->fd = -1;
    source->due_ms = 0;
    source->step = replay_step;
    source->state = replay;
}

#endif
