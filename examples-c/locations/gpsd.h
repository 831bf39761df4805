/*
 * Fixes from gpsd: its JSON over TCP. The objects of the class TPV have time, latitude and longitude once there is a fix.
 * The host name is resolved before the loop begins; a connection that ends is opened again.
 */
#ifndef GPSD_H
#define GPSD_H

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "lines.h"
#include "source.h"
#include "times.h"

#define GPSD_WATCH "?WATCH={\"enable\":true,\"json\":true};\n"

struct gpsd {
    const char *name; /* HOST:PORT, as it was given */
    struct addrinfo *addresses, *address;
    bool is_open, was_lost;
    struct lines lines;
};

/* ---- Fields of a JSON object */

static inline const char *json_string_end(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++;
    }
    return NULL;
}

/* Finds the value of a field of the object itself, not of one inside it: its text, of a string what is in the quotes. */
static inline bool json_find(const char *json, size_t size, const char *name, const char **value, size_t *value_size) {
    const char *end = json + size, *key = NULL;
    size_t key_size = 0, name_size = strlen(name);
    int depth = 0;
    for (const char *at = json; at < end;) {
        const char *token = at, *after;
        if (*at == '"') {
            if (!(after = json_string_end(at, end))) return false;
        } else if (strchr("{}[]:, \t\r", *at) || !*at) {
            if (*at == '{' || *at == '[') depth++;
            if (*at == '}' || *at == ']') depth--;
            if (*at == ',' && depth == 1) key = NULL;
            at++;
            continue;
        } else {
            for (after = at; after < end && !strchr("{}[]:, \t\r", *after);) after++;
        }
        at = after;
        if (depth != 1) continue;
        bool quoted = *token == '"';
        const char *text = token + (quoted ? 1 : 0);
        size_t text_size = (size_t)(after - token) - (quoted ? 2 : 0);
        if (!key) {
            key = text;
            key_size = text_size;
        } else if (key_size == name_size && memcmp(key, name, name_size) == 0) {
            *value = text;
            *value_size = text_size;
            return true;
        }
    }
    return false;
}

static inline bool json_number(const char *json, size_t size, const char *name, double most, double *number) {
    const char *value;
    size_t value_size;
    return json_find(json, size, name, &value, &value_size) && read_decimal(value, value_size, -most, most, number);
}

/* ---- What gpsd says */

enum gpsd_report {
    GPSD_OTHER,
    GPSD_FIX,
    GPSD_NO_FIX
};

/* mode 0 and 1: no fix, 2: without and 3: with a height. The first reports of a fix may have no time: they are skipped. */
static inline enum gpsd_report gpsd_read(const char *json, size_t size, struct fix *fix) {
    const char *value;
    size_t value_size;
    double mode;
    if (!json_find(json, size, "class", &value, &value_size) || value_size != 3 || memcmp(value, "TPV", 3) != 0)
        return GPSD_OTHER;
    if (!json_number(json, size, "mode", 9, &mode) || mode < 2) return GPSD_NO_FIX;
    if (!json_find(json, size, "time", &value, &value_size) || !read_iso8601(value, value_size, &fix->utc_ms))
        return GPSD_OTHER;
    if (!json_number(json, size, "lat", 90, &fix->latitude) || !json_number(json, size, "lon", 180, &fix->longitude))
        return GPSD_OTHER;
    return GPSD_FIX;
}

static inline enum found gpsd_lost(struct source *source, const char *what, int error, int64_t now) {
    struct gpsd *gpsd = source->state;
    snprintf(source->why, sizeof source->why, "gpsd at %s: %s%s%s", gpsd->name, what, error ? ": " : "",
             error ? strerror(error) : "");
    if (source->fd >= 0) close(source->fd);
    source->fd = -1;
    source->due_ms = now + RETRY_MS;
    gpsd->is_open = false;
    gpsd->lines.size = gpsd->lines.taken = 0;
    gpsd->address = gpsd->address->ai_next ? gpsd->address->ai_next : gpsd->addresses;
    bool told = gpsd->was_lost;
    gpsd->was_lost = true;
    return told ? FOUND_NOTHING : FOUND_LOST;
}

/* Returns false when the connection has failed, with errno; gpsd->is_open tells when it is made. */
static inline bool gpsd_connect(struct source *source) {
    struct gpsd *gpsd = source->state;
    const struct addrinfo *to = gpsd->address;
    if (source->fd < 0) {
        source->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (source->fd < 0) return false;
        source->events = POLLOUT;
        source->due_ms = -1;
        if (connect(source->fd, to->ai_addr, to->ai_addrlen) != 0) return errno == EINPROGRESS;
    }
    struct pollfd ready = { source->fd, POLLOUT, 0 };
    if (poll(&ready, 1, 0) == 0) return true; /* not yet */
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        /* The first bytes of a new connection: the kernel always has room for them. */
        if (send(source->fd, GPSD_WATCH, strlen(GPSD_WATCH), MSG_NOSIGNAL) == (ssize_t)strlen(GPSD_WATCH)) {
            gpsd->is_open = true;
            source->events = POLLIN;
            return true;
        }
        error = errno;
    }
    errno = error;
    return false;
}

static inline enum found gpsd_step(struct source *source, int64_t now, struct fix *fix) {
    struct gpsd *gpsd = source->state;
    const char *line;
    size_t size;
    if (!gpsd->is_open) {
        if (source->fd < 0 && now < source->due_ms) return FOUND_NOTHING;
        if (!gpsd_connect(source)) return gpsd_lost(source, "no connection", errno, now);
        if (!gpsd->is_open) return FOUND_NOTHING;
    }
    for (;;) {
        while ((line = next_line(&gpsd->lines, &size))) {
            enum gpsd_report report = gpsd_read(line, size, fix);
            if (report == GPSD_OTHER) continue;
            bool was_lost = gpsd->was_lost;
            gpsd->was_lost = report == GPSD_NO_FIX;
            if (report == GPSD_FIX) return FOUND_FIX;
            snprintf(source->why, sizeof source->why, "gpsd at %s: the receiver has no fix", gpsd->name);
            if (!was_lost) return FOUND_LOST;
        }
        enum reading reading = read_lines(source->fd, &gpsd->lines);
        if (reading == READ_LATER) return FOUND_NOTHING;
        if (reading == READ_END) return gpsd_lost(source, "it has closed the connection", errno, now);
    }
}

/* Resolves HOST:PORT, [IPV6]:PORT or HOST. Returns NULL, or what is wrong. */
static inline const char *gpsd_source(struct source *source, struct gpsd *gpsd, const char *where) {
    static char host[256];
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    const char *port = "2947", *from = where, *to = where + strlen(where), *colon = strrchr(where, ':');
    if (*where == '[') {
        from = where + 1;
        to = strchr(from, ']');
        if (!to || (to[1] && to[1] != ':')) return "is not [ADDRESS]:PORT";
        if (to[1]) port = to + 2;
    } else if (colon && colon == strchr(where, ':')) {
        to = colon;
        port = colon + 1;
    }
    if (to == from || (size_t)(to - from) >= sizeof host) return "is not HOST:PORT";
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    int error = getaddrinfo(host, port, &hints, &gpsd->addresses);
    if (error) return gai_strerror(error);
    gpsd->name = where;
    gpsd->address = gpsd->addresses;
    source->fd = -1;
    source->due_ms = 0;
    source->step = gpsd_step;
    source->state = gpsd;
    return NULL;
}

#endif
