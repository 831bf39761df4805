/*
 * Fixes from a GPX file: the points of its tracks and routes, in their order. One without a time is a second after the
 * one before it. It knows as much of XML as GPX needs, and skips comments, CDATA and points that have no place.
 */
#ifndef GPX_H
#define GPX_H

#include <stdio.h>
#include <stdlib.h>

#include "replay.h"

#define GPX_MOST_BYTES (64 << 20)

struct gpx {
    char *text;
    size_t size, at;
    int64_t last_ms;
    bool any;
};

/* The first place of `what` in [from, to); NULL if it is not there. */
static inline const char *find_text(const char *from, const char *to, const char *what) {
    size_t size = strlen(what);
    for (; from && (size_t)(to - from) >= size; from++) {
        from = memchr(from, what[0], (size_t)(to - from) - size + 1);
        if (!from) return NULL;
        if (memcmp(from, what, size) == 0) return from;
    }
    return NULL;
}

/* Where the markup that begins with the < at `at` ends: behind its >. NULL: it does not. */
static inline const char *end_of_markup(const char *at, const char *end) {
    static const struct {
        const char *from, *to;
    } kinds[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" } };
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(kinds[i].from);
        if ((size_t)(end - at) < size || memcmp(at, kinds[i].from, size) != 0) continue;
        const char *last = find_text(at + size, end, kinds[i].to);
        return last ? last + strlen(kinds[i].to) : NULL;
    }
    char quote = 0;
    for (; at < end; at++) {
        if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? 0 : *at;
        else if (!quote && *at == '>')
            return at + 1;
    }
    return NULL;
}

static inline bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* Whether the tag in [tag, end) has this name: <name …>, <name>, </name>. */
static inline bool is_tag(const char *tag, const char *end, const char *name) {
    size_t size = strlen(name);
    return (size_t)(end - tag) > size + 1 && memcmp(tag + 1, name, size) == 0 &&
           (is_space(tag[size + 1]) || tag[size + 1] == '>' || tag[size + 1] == '/');
}

/* The number of an attribute of a tag. */
static inline bool gpx_attribute(const char *tag, const char *end, const char *name, double most, double *value) {
    size_t size = strlen(name);
    for (const char *at = tag; (at = find_text(at, end, name)); at++) {
        const char *is = at + size;
        if (!is_space(at[-1])) continue;
        while (is < end && is_space(*is)) is++;
        if (is == end || *is != '=') continue;
        for (is++; is < end && is_space(*is);) is++;
        if (is == end || (*is != '"' && *is != '\'')) return false;
        const char *last = memchr(is + 1, *is, (size_t)(end - is) - 1);
        return last && read_decimal(is + 1, (size_t)(last - is) - 1, -most, most, value);
    }
    return false;
}

static inline bool gpx_next(struct replay *replay, struct fix *fix) {
    struct gpx *gpx = replay->track;
    const char *end = gpx->text + gpx->size, *tag = gpx->text + gpx->at, *after;
    bool has_place = false, has_time = false;
    while (tag < end && (tag = memchr(tag, '<', (size_t)(end - tag))) && (after = end_of_markup(tag, end))) {
        bool begins = is_tag(tag, after, "trkpt") || is_tag(tag, after, "rtept");
        bool ends = is_tag(tag, after, "/trkpt") || is_tag(tag, after, "/rtept") || (begins && after[-2] == '/');
        if (begins) {
            has_time = false;
            has_place = gpx_attribute(tag, after, "lat", 90, &fix->latitude) &&
                        gpx_attribute(tag, after, "lon", 180, &fix->longitude);
        } else if (has_place && is_tag(tag, after, "time")) {
            const char *last = memchr(after, '<', (size_t)(end - after));
            while (last && after < last && is_space(*after)) after++;
            const char *until = last;
            while (until && until > after && is_space(until[-1])) until--;
            has_time = last && read_iso8601(after, (size_t)(until - after), &fix->utc_ms);
        }
        tag = after;
        if (!ends || !has_place) continue;
        if (!has_time) fix->utc_ms = gpx->any ? gpx->last_ms + 1000 : 0;
        gpx->any = true;
        gpx->last_ms = fix->utc_ms;
        gpx->at = (size_t)(tag - gpx->text);
        return true;
    }
    return false;
}

static inline void gpx_rewind(struct replay *replay) {
    struct gpx *gpx = replay->track;
    gpx->at = 0;
    gpx->any = false;
}

/* Reads the whole file, before the loop begins. Returns false with errno set. */
static inline bool gpx_open(struct replay *replay, struct gpx *gpx, const char *path) {
    FILE *file = fopen(path, "re");
    long size = -1;
    if (!file) return false;
    if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size > GPX_MOST_BYTES) errno = EFBIG;
    if (size >= 0 && size <= GPX_MOST_BYTES) gpx->text = malloc((size_t)size + 1);
    if (gpx->text) {
        rewind(file);
        gpx->size = fread(gpx->text, 1, (size_t)size, file);
        gpx->text[gpx->size] = '\0';
    }
    fclose(file);
    replay->track = gpx;
    replay->next = gpx_next;
    replay->rewind = gpx_rewind;
    return gpx->text != NULL;
}

#endif
