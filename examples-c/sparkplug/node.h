/* An Edge Node: its topics, and its messages in their sequence. */
#ifndef NODE_H
#define NODE_H

#include <swiftmqtt.h>

#include "../why.h"
#include "board.h"

#define DEVICE "board"

struct node {
    char group[65], name[65];
    const char *host;       /* the Primary Host Application; NULL: there is none */
    const char *bdseq_file; /* keeps bdSeq; NULL: nothing does */
    unsigned bdseq;         /* of this connection: 0 to 255 */
    unsigned seq;           /* of the next message: 0 to 255 */
    unsigned server;        /* of the URL: with which the next connection begins */
    unsigned servers;       /* how many the URL has */
    int has_begun;          /* there was a connection, or an attempt */
    int wait_ms;            /* before the next connection, if this one comes to no birth */
    struct metrics own, device;
    smq_client *client;
    void *memory;
};

typedef char node_topic[320];

/* Sets an id that is a level of topics (section 4.1); ends the program if it is none. */
static inline void set_id(char id[65], const char *flag, const char *text) {
    if (!*text || strlen(text) > 64 || strpbrk(text, "/+#"))
        refuse("sparkplugd", flag, "takes 1 to 64 bytes without /, + and #");
    memcpy(id, text, strlen(text) + 1);
}

static inline smq_bytes topic_of(const struct node *node, const char *type, const char *device, node_topic topic) {
    snprintf(topic, sizeof(node_topic), "spBv1.0/%s/%s/%s%s%s", node->group, type, node->name, device ? "/" : "",
             device ? device : "");
    return smq_string(topic);
}

static inline int publish(struct node *node, const char *type, const char *device, const spb_Payload *payload,
                          uint8_t qos) {
    uint8_t bytes[PAYLOAD_SIZE];
    node_topic topic;
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = topic_of(node, type, device, topic);
    message.payload = (smq_bytes){ bytes, encode_payload(payload, bytes) };
    message.qos = qos;
    return message.payload.size > 0 && smq_publish(node->client, &message) == SMQ_OK;
}

/* Publishes the next message of the sequence. */
static inline int publish_next(struct node *node, const char *type, const char *device, spb_Payload *payload) {
    payload->has_seq = true;
    payload->seq = node->seq;
    if (!publish(node, type, device, payload, 0)) return 0;
    node->seq = (node->seq + 1) % 256;
    return 1;
}

/* The payload of NDEATH has no sequence number: when the server publishes it, nobody knows which one is next. */
static inline spb_Payload death(const struct node *node) {
    spb_Payload payload = payload_of_now();
    spb_Metric bdseq = number_metric("bdSeq", 0, TYPE_INT64, node->bdseq);
    add_metric(&payload, &bdseq);
    return payload;
}

static inline int send_ndeath(struct node *node) {
    spb_Payload payload = death(node);
    return publish(node, "NDEATH", NULL, &payload, 1);
}

/* A birth has everything that was and will be told. */
static inline int send_birth(struct node *node, const char *type, const char *device, spb_Payload *payload,
                             struct metrics *metrics) {
    for (int index = 0; index < metrics->count; index++) add_metric(payload, &metrics->list[index]);
    if (!publish_next(node, type, device, payload)) return 0;
    memset(metrics->changed, 0, sizeof metrics->changed);
    return 1;
}

static inline int send_nbirth(struct node *node) {
    spb_Payload payload = death(node);
    spb_Metric rebirth = boolean_metric("Node Control/Rebirth", 0, false);
    spb_Metric software = text_metric("Properties/Software", "sparkplugd");
    add_metric(&payload, &rebirth);
    add_metric(&payload, &software);
    node->seq = 0;
    return send_birth(node, "NBIRTH", NULL, &payload, &node->own);
}

static inline int send_dbirth(struct node *node) {
    spb_Payload payload = payload_of_now();
    return send_birth(node, "DBIRTH", DEVICE, &payload, &node->device);
}

/* Reports by exception: only what has changed. What has no room in the outbox is told with the next change. */
static inline void send_data(struct node *node, const char *type, const char *device, struct metrics *metrics) {
    spb_Payload payload = payload_of_now();
    for (int index = 0; index < metrics->count; index++)
        if (metrics->changed[index]) add_change(&payload, &metrics->list[index]);
    if (payload.metrics_count > 0 && publish_next(node, type, device, &payload))
        memset(metrics->changed, 0, sizeof metrics->changed);
}

static inline int send_ddeath(struct node *node) {
    spb_Payload payload = payload_of_now();
    return publish_next(node, "DDEATH", DEVICE, &payload);
}

static inline bool is_rebirth(const spb_Metric *command) {
    spb_Metric rebirth = boolean_metric("Node Control/Rebirth", 0, false);
    return means(command, &rebirth) && command->which_value == spb_Metric_boolean_value_tag &&
           command->value.boolean_value;
}

#endif
