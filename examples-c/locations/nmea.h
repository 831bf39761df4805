/*
 * Fixes from NMEA 0183: RMC has a date, time and place; GGA has time and place, and takes the date of the last RMC. Each
 * sentence needs its checksum. From a terminal device the sentences come when they do; a file is a recording.
 */
#ifndef NMEA_H
#define NMEA_H

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>

#include "lines.h"
#include "replay.h"

enum nmea_sentence {
    NMEA_OTHER, /* a sentence of another kind, or nothing that can be used */
    NMEA_FIX,
    NMEA_NO_FIX /* the receiver says that it has none */
};

struct nmea {
    const char *path;
    speed_t speed;   /* of the terminal; B0: it stays as it is */
    int64_t day_ms;  /* the date of the last RMC, since 1970; -1: not known yet */
    int64_t last_ms; /* the time of the last fix: RMC and GGA of one moment are one fix */
    bool was_lost;
    struct lines lines;
    FILE *recording;
};

struct field {
    const char *text;
    size_t size;
};

static inline int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Splits $TTSSS,a,b*hh into its fields. Returns how many there are; 0 if the checksum or anything else is wrong. */
static inline size_t nmea_split(const char *line, size_t size, struct field *fields, size_t most) {
    unsigned sum = 0;
    size_t end, count = 0;
    if (size < 9 || size > 120 || line[0] != '$') return 0;
    for (end = 1; end < size && line[end] != '*'; end++) sum ^= (unsigned char)line[end];
    if (size - end != 3) return 0;
    int high = hex_digit(line[end + 1]), low = hex_digit(line[end + 2]);
    if (high < 0 || low < 0 || (unsigned)(high * 16 + low) != sum) return 0;
    for (size_t from = 1, at = 1; at <= end; at++) {
        if (at < end && line[at] != ',') continue;
        if (count == most) return 0;
        fields[count++] = (struct field){ line + from, at - from };
        from = at + 1;
    }
    return count;
}

/* hhmmss or hhmmss.sss, as milliseconds of the day. */
static inline bool nmea_time(struct field field, int64_t *ms) {
    int hour, minute, second;
    if (field.size < 6 || !read_digits(field.text, 2, &hour) || !read_digits(field.text + 2, 2, &minute) ||
        !read_digits(field.text + 4, 2, &second))
        return false;
    return utc_from(1970, 1, 1, hour, minute, second, ms) && read_fraction(field.text + 6, field.size - 6, ms);
}

/* ddmmyy. GPS began in 1980, so 80 to 99 are of the last century. */
static inline bool nmea_date(struct field field, int64_t *ms) {
    int day, month, year;
    if (field.size != 6 || !read_digits(field.text, 2, &day) || !read_digits(field.text + 2, 2, &month) ||
        !read_digits(field.text + 4, 2, &year))
        return false;
    return utc_from(year + (year < 80 ? 2000 : 1900), month, day, 0, 0, 0, ms);
}

/* ddmm.mmm or dddmm.mmm, and where it is: N, S, E or W. */
static inline bool nmea_angle(struct field field, struct field side, size_t degrees_size, const char *sides,
                              double *angle) {
    int degrees;
    double minutes;
    if (side.size != 1 || (*side.text != sides[0] && *side.text != sides[1])) return false;
    if (field.size < degrees_size + 2 || !read_digits(field.text, degrees_size, &degrees)) return false;
    const char *rest = field.text + degrees_size;
    if (*rest < '0' || *rest > '9') return false;
    if (!read_decimal(rest, field.size - degrees_size, 0, 60, &minutes) || minutes >= 60) return false;
    *angle = degrees + minutes / 60;
    if (*angle > (degrees_size == 2 ? 90 : 180)) return false;
    if (*side.text == sides[1]) *angle = -*angle;
    return true;
}

/* Reads a sentence. nmea keeps the date and the time of the last fix. */
static inline enum nmea_sentence nmea_read(struct nmea *nmea, const char *line, size_t size, struct fix *fix) {
    const int64_t day = INT64_C(86400000);
    struct field fields[32];
    size_t count = nmea_split(line, size, fields, 32);
    if (count == 0 || fields[0].size != 5) return NMEA_OTHER;
    const char *kind = fields[0].text + 2; /* behind the talker: GP, GN, GL, GA, … */
    int64_t time;
    size_t place;
    if (memcmp(kind, "RMC", 3) == 0 && count >= 10) {
        if (fields[2].size == 1 && *fields[2].text == 'V') return NMEA_NO_FIX;
        if (fields[2].size != 1 || *fields[2].text != 'A') return NMEA_OTHER;
        int64_t date;
        if (!nmea_time(fields[1], &time) || !nmea_date(fields[9], &date)) return NMEA_OTHER;
        nmea->day_ms = date;
        time += date;
        place = 3;
    } else if (memcmp(kind, "GGA", 3) == 0 && count >= 10) {
        if (fields[6].size == 1 && *fields[6].text == '0') return NMEA_NO_FIX;
        if (fields[6].size != 1 || *fields[6].text < '1' || *fields[6].text > '8') return NMEA_OTHER;
        if (nmea->day_ms < 0 || !nmea_time(fields[1], &time)) return NMEA_OTHER;
        time += nmea->day_ms;
        if (time < nmea->last_ms - day / 2) time += day; /* it is past midnight, and RMC has not said so yet */
        place = 2;
    } else {
        return NMEA_OTHER;
    }
    if (!nmea_angle(fields[place], fields[place + 1], 2, "NS", &fix->latitude) ||
        !nmea_angle(fields[place + 2], fields[place + 3], 3, "EW", &fix->longitude))
        return NMEA_OTHER;
    if (time == nmea->last_ms) return NMEA_OTHER;
    nmea->last_ms = fix->utc_ms = time;
    return NMEA_FIX;
}

/* ---- From a terminal device */

static inline enum found nmea_lost(struct source *source, const char *what, int error, int64_t now) {
    struct nmea *nmea = source->state;
    snprintf(source->why, sizeof source->why, "%s: %s%s%s", nmea->path, what, error ? ": " : "",
             error ? strerror(error) : "");
    if (source->fd >= 0) close(source->fd);
    source->fd = -1;
    source->due_ms = now + RETRY_MS;
    nmea->lines.size = nmea->lines.taken = 0;
    bool told = nmea->was_lost;
    nmea->was_lost = true;
    return told ? FOUND_NOTHING : FOUND_LOST;
}

/* Opens the device: the sentences as they are, without echo, at the speed of the receiver. */
static inline bool nmea_open(struct source *source) {
    struct nmea *nmea = source->state;
    struct termios settings;
    source->fd = open(nmea->path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (source->fd < 0) return false;
    source->events = POLLIN;
    source->due_ms = -1;
    if (tcgetattr(source->fd, &settings) != 0) return true; /* a pipe */
    settings.c_iflag &= ~(tcflag_t)(BRKINT | INPCK | ISTRIP | ICRNL | INLCR | IGNCR | IXON | IXOFF);
    settings.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    settings.c_cflag |= CLOCAL | CREAD;
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    if (nmea->speed != B0) cfsetspeed(&settings, nmea->speed);
    return tcsetattr(source->fd, TCSANOW, &settings) == 0;
}

static inline enum found nmea_step(struct source *source, int64_t now, struct fix *fix) {
    struct nmea *nmea = source->state;
    const char *line;
    size_t size;
    if (source->fd < 0) {
        if (now < source->due_ms) return FOUND_NOTHING;
        if (!nmea_open(source)) return nmea_lost(source, "cannot be opened", errno, now);
    }
    for (;;) {
        while ((line = next_line(&nmea->lines, &size))) {
            enum nmea_sentence sentence = nmea_read(nmea, line, size, fix);
            if (sentence == NMEA_OTHER) continue;
            bool was_lost = nmea->was_lost;
            nmea->was_lost = sentence == NMEA_NO_FIX;
            if (sentence == NMEA_FIX) return FOUND_FIX;
            snprintf(source->why, sizeof source->why, "%s: the receiver has no fix", nmea->path);
            if (!was_lost) return FOUND_LOST;
        }
        enum reading reading = read_lines(source->fd, &nmea->lines);
        if (reading == READ_LATER) return FOUND_NOTHING;
        if (reading == READ_END) return nmea_lost(source, "it was closed", errno, now);
    }
}

/* ---- From a file */

static inline bool nmea_next(struct replay *replay, struct fix *fix) {
    struct nmea *nmea = replay->track;
    char line[256];
    while (fgets(line, sizeof line, nmea->recording))
        if (nmea_read(nmea, line, strcspn(line, "\r\n"), fix) == NMEA_FIX) return true;
    return false;
}

static inline void nmea_rewind(struct replay *replay) {
    struct nmea *nmea = replay->track;
    rewind(nmea->recording);
    nmea->day_ms = nmea->last_ms = -1;
}

/* Prepares the source of --nmea. Returns false if the file cannot be read; a device may still come. */
static inline bool nmea_source(struct source *source, struct nmea *nmea, struct replay *replay) {
    struct stat is;
    nmea->day_ms = nmea->last_ms = -1;
    if (stat(nmea->path, &is) == 0 && S_ISREG(is.st_mode)) {
        nmea->recording = fopen(nmea->path, "re");
        replay->track = nmea;
        replay->next = nmea_next;
        replay->rewind = nmea_rewind;
        replay_source(source, replay);
        return nmea->recording != NULL;
    }
    source->fd = -1;
    source->due_ms = 0;
    source->step = nmea_step;
    source->state = nmea;
    return true;
}

#endif
