/*
 * Fields of a JSON object, where they stand: no memory, no recursion, and never a look beyond the text. What is not asked for is only
 * skipped, so that a value that is no JSON may go unnoticed there.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <string.h>
#include <swiftmqtt.h>

static inline const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Behind the string that begins here; NULL if it has no end. */
static inline const char *skip_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++; /* whatever it escapes is no quote */
    }
    return NULL;
}

/* Behind the value that begins here, objects and arrays with all that is in them; NULL if it has no end. */
static inline const char *skip_value(const char *at, const char *end) {
    const char *start = at;
    size_t depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            if (depth == 0) return at > start ? at : NULL;
            depth--;
            at++;
        } else if (depth == 0 && (*at == ',' || *at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
            return at > start ? at : NULL;
        } else {
            at++;
            continue;
        }
        if (depth == 0) return at; /* a string, or the end of an object or an array */
    }
    return NULL; /* of numbers, too: an object ends behind them */
}

/*
 * Looks a field up. Returns 1 if the object has it: value is its text, of a string what is between its quotes, as it stands there; 0 if
 * it does not have it; -1 if the text is no object as far as was looked.
 */
static inline int json_field(smq_bytes object, const char *name, smq_bytes *value) {
    const char *at = object.data, *end = at ? at + object.size : at;
    at = skip_space(at, end);
    if (at == end || *at != '{') return -1;
    at = skip_space(at + 1, end);
    if (at < end && *at == '}') return 0;
    while (at < end && *at == '"') {
        const char *key = at + 1, *key_end = skip_string(at, end);
        if (!key_end) return -1;
        at = skip_space(key_end, end);
        if (at == end || *at != ':') return -1;
        at = skip_space(at + 1, end);
        const char *value_end = at < end ? skip_value(at, end) : NULL;
        if (!value_end) return -1;
        size_t length = (size_t)(key_end - 1 - key);
        if (length == strlen(name) && memcmp(key, name, length) == 0) {
            int quoted = *at == '"';
            value->data = at + quoted;
            value->size = (size_t)(value_end - at) - (quoted ? 2 : 0);
            return 1;
        }
        at = skip_space(value_end, end);
        if (at < end && *at == '}') return 0;
        if (at == end || *at != ',') return -1;
        at = skip_space(at + 1, end);
    }
    return -1;
}

#endif
