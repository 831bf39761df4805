/* The lines that libmosquitto logs: programs show them, and scripts look for them. */
#include <stdio.h>
#include <string.h>

#include "shim.h"

static const char *const formats[] = {
    [SHIM_SENDING_CONNECT] = "Client %s sending CONNECT",
    [SHIM_RECEIVED_CONNACK] = "Client %s received CONNACK (%d)",
    [SHIM_SENDING_DISCONNECT] = "Client %s sending DISCONNECT",
    [SHIM_RECEIVED_DISCONNECT] = "Client %s received DISCONNECT (%d)",
    [SHIM_SENDING_PUBACK] = "Client %s sending PUBACK (m%d, rc%d)",
    [SHIM_SENDING_PUBREC] = "Client %s sending PUBREC (m%d, rc%d)",
    [SHIM_SENDING_PUBREL] = "Client %s sending PUBREL (m%d)",
    [SHIM_SENDING_PUBCOMP] = "Client %s sending PUBCOMP (m%d)",
    [SHIM_RECEIVED_PUBACK] = "Client %s received PUBACK (Mid: %d, RC:%d)",
    [SHIM_RECEIVED_PUBREC] = "Client %s received PUBREC (Mid: %d)",
    [SHIM_RECEIVED_PUBREL] = "Client %s received PUBREL (Mid: %d)",
    [SHIM_RECEIVED_PUBCOMP] = "Client %s received PUBCOMP (Mid: %d, RC:%d)",
    [SHIM_RECEIVED_SUBACK] = "Client %s received SUBACK",
    [SHIM_RECEIVED_UNSUBACK] = "Client %s received UNSUBACK",
    [SHIM_JOURNAL_RECOVERED] = "Client %s has %d messages of an earlier process in its journal",
    [SHIM_JOURNAL_HEALED] = "Client %s has everything in its journal again",
};

const char *shim_line(char *line, size_t size, int32_t kind, const char *id, int32_t first, int32_t second) {
    if (kind < 0 || (size_t)kind >= sizeof(formats) / sizeof(formats[0]) || !formats[kind]) return "";
    snprintf(line, size, formats[kind], id ? id : "(null)", first, second);
    return line;
}

const char *shim_line_refused(char *line, size_t size, const char *id, const char *path, int32_t reason,
                              int32_t number) {
    static const char *const reasons[] = {
        [SHIM_JOURNAL_LOCKED] = "another process, or another client, has it open",
        [SHIM_JOURNAL_CORRUPT] = "it is damaged, or no journal",
        [SHIM_JOURNAL_OTHER] = "it belongs to another client id, or a newer library has written it",
        [SHIM_JOURNAL_SIZE] = "it has more than this client has room for (MOSQUITTO_OUTBOX_BYTES, _MESSAGES)",
        [SHIM_JOURNAL_NAME] = "its path would be too long",
    };
    /* The reason comes before the path, and the id is cut, because the line may be too short for both. */
    snprintf(line, size, "Client %.100s cannot use its journal: %s: %s", id ? id : "(null)",
             reason == SHIM_JOURNAL_SYSTEM ? strerror(number) : reasons[reason], path ? path : "");
    return line;
}

const char *shim_line_unwritten(char *line, size_t size, const char *id, int32_t number) {
    snprintf(line, size, "Client %.100s cannot write its journal: %s", id ? id : "(null)", strerror(number));
    return line;
}

const char *shim_line_unseen(char *line, size_t size, const char *id, const char *path, int32_t number) {
    snprintf(line, size, "Client %.100s has no inspection socket: %s: %s", id ? id : "(null)", strerror(number), path);
    return line;
}

const char *shim_line_publish(char *line, size_t size, const char *id, const struct shim_publish *publish) {
    snprintf(line, size, "Client %s %s PUBLISH (d%d, q%d, r%d, m%d, '%.*s', ... (%ld bytes))", id ? id : "(null)",
             publish->is_received ? "received" : "sending", publish->duplicate, publish->qos, publish->retain,
             publish->mid, (int)publish->topic_size, publish->topic, (long)publish->payload_size);
    return line;
}

const char *shim_line_subscribe(char *line, size_t size, const char *id, int32_t mid, const char *filter,
                                int32_t options) {
    if (options < 0)
        snprintf(line, size, "Client %s sending UNSUBSCRIBE (Mid: %d, Topic: %s)", id ? id : "(null)", mid, filter);
    else
        snprintf(line, size, "Client %s sending SUBSCRIBE (Mid: %d, Topic: %s, QoS: %d, Options: 0x%02x)",
                 id ? id : "(null)", mid, filter, options & 3, options & 0xfc);
    return line;
}
