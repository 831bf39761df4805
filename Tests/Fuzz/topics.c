/* Topic Names and Topic Filters: what is one, and which match, against section 4.7 written anew; and templates. */
#include "fuzz.h"

struct levels {
    struct view text;
    bool is_over;
};

/* The next level, up to a slash. */
static struct view next_level(struct levels *levels) {
    struct view level = { levels->text.data, 0 };
    while (level.size < levels->text.size && level.data[level.size] != '/') level.size++;
    levels->is_over = level.size == levels->text.size;
    size_t used = level.size + !levels->is_over;
    levels->text = (struct view){ levels->text.data + used, levels->text.size - used };
    return level;
}

static bool is_text(struct view view, const char *text) {
    return view.size == strlen(text) && memcmp(view.data, text, view.size) == 0;
}

static bool matches(struct view filter, struct view topic) {
    if (filter.size >= 7 && memcmp(filter.data, "$share/", 7) == 0) {
        const uint8_t *slash = memchr(filter.data + 7, '/', filter.size - 7);
        filter = (struct view){ slash + 1, (size_t)(filter.data + filter.size - slash - 1) };
    }
    if (topic.data[0] == '$' && (filter.data[0] == '+' || filter.data[0] == '#')) return false;
    struct levels filters = { filter, false }, names = { topic, false };
    while (!filters.is_over) {
        struct view wanted = next_level(&filters);
        if (is_text(wanted, "#")) return true;
        if (names.is_over) return false;
        struct view level = next_level(&names);
        if (!is_text(wanted, "+") && (wanted.size != level.size || memcmp(wanted.data, level.data, level.size) != 0))
            return false;
        /* "a/#" matches "a", too. */
        if (names.is_over && !filters.is_over && is_text(filters.text, "#")) return true;
    }
    return names.is_over;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 1 || size > 1024) return 0;
    size_t split = input[0] % size;
    uint8_t *first = exact_copy(input + 1, split), *second = exact_copy(input + 1 + split, size - 1 - split);
    struct view filter = { first, split }, topic = { second, size - 1 - split };
    smq_bytes filter_bytes = { first, split }, topic_bytes = { second, topic.size };
    bool is_filter = wire_is_topic_filter(filter), is_topic = wire_is_topic_name(topic);
    int32_t of_filter = smq_topic_filter_check(&filter_bytes), of_topic = smq_topic_name_check(&topic_bytes);
    if ((of_filter == SMQ_OK) != is_filter) BROKEN("smq_topic_filter_check: %d", of_filter);
    if ((of_topic == SMQ_OK) != is_topic) BROKEN("smq_topic_name_check: %d", of_topic);
    if ((of_filter == SMQ_ERR_UTF8) != !wire_is_utf8(filter)) BROKEN("smq_topic_filter_check: %d and UTF-8", of_filter);
    if ((of_topic == SMQ_ERR_UTF8) != !wire_is_utf8(topic)) BROKEN("smq_topic_name_check: %d and UTF-8", of_topic);
    int32_t match = smq_topic_matches(&filter_bytes, &topic_bytes);
    if (is_filter && is_topic && match != matches(filter, topic)) BROKEN("smq_topic_matches: %d", match);
    if (!(is_filter && is_topic) && match >= 0) BROKEN("smq_topic_matches: %d of what are none", match);
    /* A template: as long as it is, and a byte more for each '%'. */
    size_t wanted = split;
    for (size_t i = 0; i < split; i++) wanted += first[i] == '%';
    uint8_t *text = malloc(wanted + 1);
    if (smq_expand_template(&filter_bytes, text, wanted) != (int32_t)wanted) BROKEN("a template of another size");
    if (wanted > 0 && smq_expand_template(&filter_bytes, text, wanted - 1) != SMQ_ERR_FULL)
        BROKEN("a template without room");
    size_t at = 0;
    for (size_t i = 0; i < split; i++) {
        bool is_literal = first[i] != '%';
        if (is_literal ? text[at] != first[i] : !strchr("0123456789ABCDEF", text[at]))
            BROKEN("a template with other words");
        at += is_literal ? 1 : 2;
    }
    free(text);
    free(first);
    free(second);
    return 0;
}
