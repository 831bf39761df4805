/*
 * What the target "engine" knows of a client from outside: the program that calls it, the server at the other end, and the
 * promises of include/swiftmqtt.h and of the specification that hold between them. A promise that is broken ends the process.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "swiftmqtt.h"
#include "wire.h"

enum {
    MESSAGES = 96,
    ARRIVALS = 256,
    DOWN_MESSAGES = 128,
    LINK_BYTES = 16384,
    PENDING = 128,
    IDENTIFIERS = 65536
};

/* What the program has asked for, and what became of it. Its index is in the cookie, and in the first bytes of the payload. */
struct asked {
    enum {
        A_MESSAGE,
        A_REQUEST,
        A_SUBSCRIBE,
        A_UNSUBSCRIBE
    } kind;
    uint8_t qos, retain, overflow;
    bool quiet, urgent, submitted, keeps_order;
    uint8_t topic[64];
    size_t topic_size, payload_size;
    bool is_accepted, is_done;
    int whole;        /* times it came to the server whole */
    int deliveries;   /* times the server passed it on */
    bool is_answered; /* by the packet that ends its exchange */
    uint8_t answer;
};

/* A message of the server's: its serial is in its payload. */
struct down {
    uint16_t id;
    uint8_t qos, retain, topic, payload_size;
    bool is_reply;
    uint8_t correlation[8];
    int arrivals, handed_out;
    int connection; /* on which it was sent first */
    int last_arrival;
    bool is_released;            /* by the program, that is acknowledged */
    bool is_refused, is_dropped; /* by the program; by a server that forgot the session */
    enum {
        D_NONE,
        D_SENT,
        D_RECEIVED,
        D_DONE
    } state; /* the server's: sent; PUBREC came; over */
};

/* What the server has to do with a Packet Identifier of the client's. */
enum {
    FREE = 0,
    QOS_1,
    QOS_2,
    QOS_2_RECEIVED,
    REQUESTED
};

struct world {
    smq_client *client;
    size_t block_size;
    smq_options options;
    uint32_t now;
    bool is_finishing;
    bool is_time_read; /* by the call: it may have noted that */

    struct asked asked[MESSAGES];
    uint8_t lent[MESSAGES][1024]; /* the payloads of smq_publish_reference() */
    uint8_t into[1024];           /* what smq_receive_into() was given; */
    size_t into_size;             /* and how many bytes of it may be written to */
    int asked_count;
    int last_first_sent; /* the youngest message that was sent, of those that keep their order */
    int reserved;        /* index of the message that is reserved; -1: none */
    void *reserved_payload;
    int streamed; /* index; -1 */
    uint8_t pull_mode;

    int batch; /* as many events are taken in one call */
    /* Of the server's messages that were taken in one call with the last event, and are released with it. */
    int batch_serials[8];
    int batch_count;
    /* The event that was taken last. */
    smq_event event;
    bool has_event;
    int event_serial; /* of the server's message; -1 */
    bool is_held;
    uint64_t held_tokens[64];
    int held_serials[64];
    int held_count;

    /* The link. */
    bool is_open, is_wanted, is_over; /* is_over: SMQ_EVENT_DISCONNECTED was taken, nothing may be sent */
    bool is_attempt_told;             /* this attempt's CONNECTED or DISCONNECTED */
    bool is_connected_told;
    uint8_t up[LINK_BYTES]; /* from the client, not yet a whole packet */
    size_t up_size;
    bool was_begun;           /* the packet that came has been begun before */
    uint8_t down[LINK_BYTES]; /* to the client, not yet taken */
    uint8_t down_raw[LINK_BYTES];
    size_t down_size;
    uint8_t arrived[LINK_BYTES]; /* what it has taken, not yet a whole packet */
    size_t arrived_size;
    bool arrived_is_raw;
    size_t to_skip; /* of a packet that is larger */
    bool is_broken; /* the server has sent what is no MQTT */

    /* The connection, as the server sees it. */
    int version;
    bool has_connect, has_connack, has_left, was_cut, asked_clean, has_method, was_refused;
    uint32_t server_receive_maximum, server_packet, server_aliases, server_qos;
    bool server_retain;
    uint32_t client_receive_maximum, client_packet, client_aliases;
    uint32_t in_flight; /* of the client's messages, on this connection */
    struct view alias[8];
    uint8_t alias_text[8][64];
    int32_t alias_out[8]; /* of the server's: topic + 1 */

    /* The session, as the server sees it. */
    uint8_t state[IDENTIFIERS];
    int16_t owner[IDENTIFIERS];
    uint8_t count[IDENTIFIERS]; /* filters */
    uint8_t here[IDENTIFIERS];  /* sent on this connection */
    uint8_t pubrec_unknown[IDENTIFIERS];
    uint8_t was_sent[IDENTIFIERS]; /* in this session or one that was lost */
    uint8_t came[IDENTIFIERS];     /* the server's PUBLISH with this identifier came on this connection */
    uint8_t releases[IDENTIFIERS]; /* its PUBRELs that have no PUBCOMP */
    uint16_t touched[4096];
    int touched_count;
    int answers; /* SUBACK and UNSUBACK that came, less those that were told */
    int connections;
    bool is_raw; /* the server's messages are not all ours in this session: nothing is known of them */

    struct pending {
        int type;
        uint16_t id;
    } pending[PENDING]; /* packets of the client's that wait for an answer */
    int pending_count;

    struct down downs[DOWN_MESSAGES];
    int down_count;
    uint16_t next_id;
    int arrivals[ARRIVALS]; /* serials of those with QoS 1 and 2 in the order of their arrival on this connection */
    int arrival_first, arrival_count;
    int arrival_clock, last_handed;
    uint8_t request_correlation[8];
    bool has_request;
};

extern struct world world;
extern uint8_t block[1 << 17];

/* With FUZZ_TRACE in the environment: what happens, line by line. */
extern int is_traced;
#define trace(...)                                                                                                     \
    do {                                                                                                               \
        if (is_traced) fprintf(stderr, __VA_ARGS__), fputc('\n', stderr);                                              \
    } while (0)

_Noreturn void broken(const char *promise, ...) __attribute__((format(printf, 1, 2)));

/* ledger.c: what the program sees */
void ledger_event(const smq_event *event);
void ledger_release(void);
void ledger_keep(void);
void ledger_finished(void);
void ledger_payload(int index, uint8_t *payload, size_t size);

/* server.c: the other end */
void server_reset(void);
void server_connection_opened(void);
void server_connection_closed(void);
void server_received(const uint8_t *bytes, size_t size);                      /* from the client */
void server_delivered(const uint8_t *bytes, const uint8_t *raw, size_t size); /* to the client */
void server_send(const void *bytes, size_t size, bool is_raw);
bool server_answer(int which, uint8_t reason);
void server_connack(const uint8_t *data, size_t size);
void server_publish(uint8_t how, uint8_t topic, uint8_t size);
void server_release(int which);
int server_message(struct view payload);

#define TOPICS 8
extern const char *const topics[TOPICS];

#endif
