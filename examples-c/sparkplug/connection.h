/*
 * The connections of an Edge Node. The Will of each CONNECT is the NDEATH of that connection, with a bdSeq of
 * its own, so each has a client of its own. What an earlier one had not sent is gone with its client, as it
 * has to be: a birth comes first.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <unistd.h>

#include "node.h"

#define SHORTEST_WAIT_MS 250
#define LONGEST_WAIT_MS 30000

enum {
    NODE_COMMAND,
    DEVICE_COMMAND,
    HOST_STATE,
    SUBSCRIPTIONS
};

/* The file has the bdSeq of the next CONNECT. */
static inline void read_bdseq(struct node *node) {
    FILE *file = node->bdseq_file ? fopen(node->bdseq_file, "r") : NULL;
    if (file && (fscanf(file, "%u", &node->bdseq) != 1 || node->bdseq > 255))
        refuse("sparkplugd", node->bdseq_file, "has no number from 0 to 255");
    if (file) fclose(file);
}

/* Before the CONNECT that uses the one before: whatever happens then, no other CONNECT has the same one. */
static inline int write_next_bdseq(const struct node *node) {
    char path[PATH_MAX];
    if (!node->bdseq_file) return 1;
    snprintf(path, sizeof path, "%s.new", node->bdseq_file);
    FILE *file = fopen(path, "w");
    int is_written =
        file && fprintf(file, "%u\n", (node->bdseq + 1) % 256) > 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0) is_written = 0;
    if (is_written && rename(path, node->bdseq_file) == 0) return 1;
    fprintf(stderr, "sparkplugd: %s: %s\n", node->bdseq_file, strerror(errno));
    return 0;
}

/* The hosts of a URL, between the login and the path, as an offset and a size. */
static inline size_t hosts_of(const char *url, size_t *size) {
    const char *start = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    size_t length = strcspn(start, "/");
    const char *login = memchr(start, '@', length);
    if (login) length -= (size_t)(login + 1 - start), start = login + 1;
    *size = length;
    return (size_t)(start - url);
}

static inline unsigned count_servers(const char *url) {
    size_t size, start = hosts_of(url, &size);
    unsigned count = 1;
    for (size_t index = 0; index < size; index++) count += url[start + index] == ',';
    return count;
}

/* The URL with its hosts turned, so that the one with this number comes first: a client begins with the first. */
static inline void turn_servers(const char *url, unsigned first, char turned[1025]) {
    size_t size, start = hosts_of(url, &size), place = start;
    for (; first > 0; first--) place += strcspn(url + place, ",") + 1;
    size_t rest = start + size - place;
    snprintf(turned, 1025, "%.*s%.*s%s%.*s%s", (int)start, url, (int)rest, url + place, place > start ? "," : "",
             place > start ? (int)(place - start - 1) : 0, url + start, url + start + size);
}

/* Begins a new, clean session (section 3.5). Returns false, and says why, if the options are wrong. */
static inline int begin_connection(struct node *node, const char *url) {
    char turned[1025];
    turn_servers(url, node->server, turned);
    uint8_t bytes[PAYLOAD_SIZE];
    node_topic topic;
    spb_Payload payload = death(node);
    smq_message will = SMQ_MESSAGE_INIT;
    will.topic = topic_of(node, "NDEATH", NULL, topic);
    will.payload = (smq_bytes){ bytes, encode_payload(&payload, bytes) };
    will.qos = 1;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(turned);
    options.will = &will;
    options.handlers = SUBSCRIPTIONS;
    options.handler_bytes = SUBSCRIPTIONS * sizeof topic;
    options.reconnect_min_ms = SHORTEST_WAIT_MS;
    options.reconnect_max_ms = LONGEST_WAIT_MS;
    size_t size = smq_client_size(&options);
    node->memory = realloc(node->memory, size ? size : 1);
    int32_t error = smq_client_init(node->memory, size, &options, &node->client);
    /* A wrong path is told at once; a full disk, years later, stops nothing. */
    if (error == SMQ_OK && !write_next_bdseq(node) && !node->has_begun) return 0;
    node->has_begun = 1;
    if (error == SMQ_OK) error = smq_connect(node->client);
    if (error != SMQ_OK) print_options_error(stderr, &options, error);
    return error == SMQ_OK;
}

/* Returns how many milliseconds the next one has to wait: twice as long after each that came to no birth. */
static inline int end_connection(struct node *node, int32_t retry_ms, int was_born) {
    smq_client_close(node->client);
    node->bdseq = (node->bdseq + 1) % 256;
    if (was_born) node->wait_ms = 0;
    int wait = retry_ms > node->wait_ms ? retry_ms : node->wait_ms;
    node->wait_ms = node->wait_ms < SHORTEST_WAIT_MS ? SHORTEST_WAIT_MS : 2 * node->wait_ms;
    if (node->wait_ms > LONGEST_WAIT_MS) node->wait_ms = LONGEST_WAIT_MS;
    return wait;
}

/* The client itself makes further attempts, with the same Will, as long as the server has not seen it. */
static inline int was_connect_sent(int32_t stage) {
    return stage != SMQ_STAGE_RESOLVE && stage != SMQ_STAGE_CONNECT && stage != SMQ_STAGE_PROXY &&
           stage != SMQ_STAGE_TLS && stage != SMQ_STAGE_WEBSOCKET;
}

static inline int subscribe_node(struct node *node) {
    node_topic topics[SUBSCRIPTIONS];
    smq_subscription list[SUBSCRIPTIONS] = { 0 };
    uint32_t count = node->host ? SUBSCRIPTIONS : HOST_STATE;
    snprintf(topics[HOST_STATE], sizeof topics[HOST_STATE], "spBv1.0/STATE/%s", node->host ? node->host : "");
    list[NODE_COMMAND].filter = topic_of(node, "NCMD", NULL, topics[NODE_COMMAND]);
    list[DEVICE_COMMAND].filter = topic_of(node, "DCMD", DEVICE, topics[DEVICE_COMMAND]);
    list[HOST_STATE].filter = smq_string(topics[HOST_STATE]);
    for (uint32_t index = 0; index < count; index++) {
        list[index].qos = 1;
        if (smq_handle(node->client, index, &list[index].filter, NULL, NULL) != SMQ_OK) return 0;
    }
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.list = list;
    subscriptions.count = count;
    return smq_subscribe(node->client, &subscriptions) == SMQ_OK;
}

#endif
