/*
 * topics SEED COUNT: asks both libraries about COUNT random pairs of a Topic Filter and a Topic Name: is each of them one, is it
 * UTF-8, do they match. Prints how often each known difference was seen, and every answer that differs in no known way, which
 * makes the exit status 1.
 */
#include <inttypes.h>
#include <mosquitto.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>

enum {
    LONGEST = 1200
};

typedef struct {
    char bytes[LONGEST + 1]; /* with a zero behind it */
    size_t size;
} text;

/* ---- Chance ---- */

static uint64_t state;

/* SplitMix64: every seed will do. */
static uint64_t next(void) {
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static unsigned below(unsigned bound) { return (unsigned)(next() % bound); }

/* ---- Texts ---- */

static void add(text *target, const char *bytes, size_t size) {
    if (target->size + size > LONGEST) return;
    memcpy(target->bytes + target->size, bytes, size);
    target->size += size;
    target->bytes[target->size] = 0;
}

static void add_string(text *target, const char *string) { add(target, string, strlen(string)); }

/* What a level of a topic may be, and, less often, what is none. Few letters, so that levels are often equal. */
static void add_level(text *target) {
    static const char *const usual[] = { "a", "b", "ab", "", "\xC3\xA4", "\xF0\x9D\x84\x9E", "$", "$SYS", " " };
    static const char *const unusual[] = { "\x01",         "\x7F",         "\xC2\x85",
                                           "\xEF\xB7\x90", "\xEF\xBF\xBF", "\xF0\x9F\xBF\xBE",
                                           "\xC3",         "\x80",         "\xED\xA0\x80",
                                           "\xC0\xAF",     "\xE0\x80\xAF", "\xF4\x90\x80\x80",
                                           "\xFF",         "\xEF\xBB\xBF", "\xF5\x80\x80\x80" };
    if (below(60))
        add_string(target, usual[below(sizeof(usual) / sizeof(*usual))]);
    else
        add_string(target, unusual[below(sizeof(unusual) / sizeof(*unusual))]);
    if (!below(4000)) add(target, "\0", 1);
}

static void make_topic(text *topic) {
    unsigned levels = below(500) ? 1 + below(6) : 195 + below(12);
    topic->size = 0;
    topic->bytes[0] = 0;
    if (!below(8)) add_string(topic, below(2) ? "$" : "/");
    for (unsigned level = 0; level < levels; level++) {
        if (level) add(topic, "/", 1);
        add_level(topic);
    }
    if (!below(100)) add_string(topic, below(2) ? "+" : "#");
}

/* A filter that has much in common with the topic: levels of it are replaced, and the end is cut off. */
static void make_filter(text *filter, const text *topic) {
    static const char *const shares[] = { "$share/s/",  "$share/", "$share//", "$share/+/",
                                          "$share/s#/", "$share",  "$share/s" };
    filter->size = 0;
    filter->bytes[0] = 0;
    if (!below(12)) add_string(filter, shares[below(sizeof(shares) / sizeof(*shares))]);
    for (size_t at = 0; at <= topic->size;) {
        size_t end = at;
        while (end < topic->size && topic->bytes[end] != '/') end++;
        if (at) add(filter, "/", 1);
        switch (below(9)) {
        case 0:
        case 1:
            add(filter, "+", 1);
            break;
        case 2:
            add(filter, "#", 1);
            return;
        case 3:
            add_level(filter);
            break;
        case 4:
            add(filter, topic->bytes + at, end - at);
            if (!below(12)) add_string(filter, below(2) ? "+" : "#");
            if (!below(3)) return;
            break;
        default:
            add(filter, topic->bytes + at, end - at);
        }
        at = end + 1;
    }
    if (!below(8)) add_string(filter, below(2) ? "/#" : "/+");
}

/* Anything, of the bytes that mean something. */
static void make_noise(text *any) {
    static const char bytes[] = "//++##$ab";
    any->size = 0;
    any->bytes[0] = 0;
    for (unsigned count = below(10); count; count--) add(any, &bytes[below(sizeof(bytes) - 1)], 1);
}

/* ---- What is known to differ ---- */

static struct {
    const char *name;
    uint64_t count;
} known[] = {
    { "discouraged-characters", 0 }, { "empty-topic-check", 0 },   { "share-matching", 0 }, { "share-check", 0 },
    { "match-of-invalid", 0 },       { "no-match-of-invalid", 0 },
};
enum {
    DISCOURAGED,
    EMPTY,
    SHARE_MATCHES,
    SHARE_CHECK,
    INVALID_MATCH,
    INVALID_NO_MATCH
};

static uint64_t unknown;

static void report(const char *question, const text *filter, const text *topic, int theirs, int ours) {
    if (unknown++ > 20) return;
    printf("%s: libmosquitto %d, libswiftmqtt %d:", question, theirs, ours);
    for (const text *one = filter; one; one = one == filter ? topic : NULL) {
        printf(" \"");
        for (size_t i = 0; i < one->size && i < 100; i++) {
            unsigned char byte = (unsigned char)one->bytes[i];
            printf(byte < 0x20 || byte > 0x7E ? "\\x%02X" : "%c", byte);
        }
        printf("\"");
        if (!topic) break;
    }
    printf("\n");
}

/* Section 1.5.4: characters that a text should not have, in well-formed UTF-8: controls, and what is no character. */
static bool is_discouraged(const text *t) {
    for (size_t i = 0; i < t->size;) {
        unsigned char first = (unsigned char)t->bytes[i++];
        unsigned more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        uint32_t code = more == 0 ? first : first & (0x3Fu >> more);
        for (; more && i < t->size; more--) code = code << 6 | ((unsigned char)t->bytes[i++] & 0x3Fu);
        if (code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0xFDD0 && code <= 0xFDEF) ||
            (code & 0xFFFE) == 0xFFFE)
            return true;
    }
    return false;
}

static bool is_share(const text *t) { return t->size >= 7 && !memcmp(t->bytes, "$share/", 7); }

static smq_bytes view(const text *t) {
    smq_bytes bytes = { t->bytes, t->size };
    return bytes;
}

/* ---- The questions ---- */

/* Whether both take it for well-formed UTF-8; the rest is asked only then. */
static bool compare_utf8(const text *t) {
    smq_bytes bytes = view(t);
    bool theirs = mosquitto_validate_utf8(t->bytes, (int)t->size) == MOSQ_ERR_SUCCESS;
    bool ours = smq_topic_name_check(&bytes) != SMQ_ERR_UTF8;
    if (t->size == 0) return true; /* they say no to that, too, but it is no matter of UTF-8 */
    if (theirs == ours) return theirs;
    if (ours && is_discouraged(t))
        known[DISCOURAGED].count++;
    else
        report("UTF-8", t, NULL, theirs, ours);
    return false;
}

static bool compare_name(const text *t) {
    smq_bytes bytes = view(t);
    bool theirs = mosquitto_pub_topic_check2(t->bytes, t->size) == MOSQ_ERR_SUCCESS;
    bool ours = smq_topic_name_check(&bytes) == SMQ_OK;
    if (theirs == ours) return ours;
    if (theirs && t->size == 0)
        known[EMPTY].count++;
    else
        report("Topic Name", t, NULL, theirs, ours);
    return false;
}

static bool compare_filter(const text *t) {
    smq_bytes bytes = view(t);
    bool theirs = mosquitto_sub_topic_check2(t->bytes, t->size) == MOSQ_ERR_SUCCESS;
    bool ours = smq_topic_filter_check(&bytes) == SMQ_OK;
    if (theirs == ours) return ours;
    if (theirs && t->size == 0)
        known[EMPTY].count++;
    else if (theirs && is_share(t))
        known[SHARE_CHECK].count++;
    else
        report("Topic Filter", t, NULL, theirs, ours);
    return false;
}

static void compare_match(const text *filter, const text *topic, bool valid) {
    smq_bytes a = view(filter), b = view(topic);
    bool theirs = false;
    int status = mosquitto_topic_matches_sub2(filter->bytes, filter->size, topic->bytes, topic->size, &theirs);
    int32_t ours = smq_topic_matches(&a, &b);
    if (status != MOSQ_ERR_SUCCESS ? ours < 0 : ours == (int32_t)theirs) return;
    if (valid && is_share(filter))
        known[SHARE_MATCHES].count++;
    else if (!valid && ours < 0)
        known[theirs ? INVALID_MATCH : INVALID_NO_MATCH].count++;
    else
        report("match", filter, topic, status ? -status : theirs, ours);
}

int main(int count, char **arguments) {
    static text filter, topic;
    if (count != 3) return 2;
    state = strtoull(arguments[1], NULL, 0);
    uint64_t pairs = strtoull(arguments[2], NULL, 0), matches = 0;
    for (uint64_t pair = 0; pair < pairs; pair++) {
        make_topic(&topic);
        if (below(10))
            make_filter(&filter, &topic);
        else
            make_noise(&filter);
        if (!below(20)) make_noise(&topic);
        bool readable = compare_utf8(&filter) & compare_utf8(&topic);
        if (!readable) continue;
        bool valid = compare_filter(&filter) & compare_name(&topic);
        compare_match(&filter, &topic, valid);
        smq_bytes a = view(&filter), b = view(&topic);
        matches += smq_topic_matches(&a, &b) == 1;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        printf("difference %s %" PRIu64 "\n", known[i].name, known[i].count);
    printf("%" PRIu64 " pairs, %" PRIu64 " match, %" PRIu64 " unknown\n", pairs, matches, unknown);
    return unknown != 0;
}
