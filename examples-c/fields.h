/*
 * Reads fields of a JSON object in place, without memory, recursion or reads beyond the text. Other fields are
 * only skipped, so a value there that is not JSON may go unnoticed.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <string.h>
#include <swiftmqtt.h>

static inline const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Returns the end of the string that begins here; NULL if it has none. */
static inline const char *skip_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++; /* the escaped character is not the closing quote */
    }
    return NULL;
}

/* Returns the end of the value that begins here, also of a whole object or array; NULL if it has none. */
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
    return NULL; /* of a number, too: an object has to end after it */
}

/*
 * Looks up a field. Returns 1 if the object has it: value is its text, for a string the part between the quotes,
 * without unescaping. Returns 0 if the object does not have it, and -1 if the text, as far as it was read, is
 * not an object.
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
