/* MQTT, to be explored: what the files of this folder share. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "swiftmqtt.h"

enum {
    MESSAGES = 6,       /* at most, in each direction */
    LINK_BYTES = 160,   /* on their way, in each direction */
    STORED_BLOCKS = 20, /* of the ring */
    STORED_BYTES = 256, /* of a block, at most, are not zero */
    WAIT_MS = 10,       /* before the next attempt to connect */
    COOKIE_SUBSCRIBE = 100
};

/* ---- Scenes (scenes.c): what happens, and how often */

/* One message of a plan: its QoS, and how it is published. 0 is the end. */
enum {
    Q0 = 0x80,
    Q1 = 0x81,
    Q2 = 0x82,
    URGENT = 4,
    SUBMITTED = 8, /* by smq_submit() */
    LATEST = 16,   /* SMQ_OVERFLOW_LATEST */
    OLDEST = 32,   /* SMQ_OVERFLOW_DROP_OLDEST */
    EXPIRES = 64   /* after a second */
};

/* How many of the bytes that are offered the transport takes, or brings, beside all of them. */
enum {
    ONE_BYTE = 1,
    HALF = 2,
    ALL_BUT_ONE = 4,
    SEVERAL_PACKETS = 8 /* received at once */
};

struct scene {
    const char *name, *about;
    uint8_t size;                /* SMALL, USUAL, LARGE */
    uint8_t bits;                /* the table has room for 2 to the power of so many states */
    uint8_t sends[MESSAGES + 1]; /* what the program publishes */
    uint8_t gets[MESSAGES + 1];  /* what the server delivers */
    uint8_t protocol;            /* SMQ_PROTOCOL_…; 0: 3.1.1 */
    uint8_t cuts;                /* how often the link breaks */
    uint8_t forgets;             /* how often the server loses the session, between connections */
    uint8_t clean;               /* without SMQ_OPTION_KEEP_SESSION */
    uint8_t holds;               /* each message waits for smq_ack(), which comes in any order; */
    uint8_t holds_long;          /* and only when nothing more is on its way */
    uint8_t subscribes;
    uint8_t transmits, receives; /* HALF and so on */
    uint8_t in_flight_maximum;   /* smq_options */
    uint8_t receive_maximum;     /* smq_options; 0: as many as the server delivers */
    uint8_t unreleased_maximum;  /* smq_options; 0: as many */
    uint8_t outbox_messages;     /* smq_options; 0: as many as are published */
    uint8_t server_takes;        /* 5.0: the Receive Maximum that CONNACK says; 0: none */
    uint8_t server_sends;        /* how many incomplete messages the server has on their way at most; 0: all */
    uint8_t is_eager;            /* the server sends all it may at once, as Mosquitto does, and not when it likes */
    /*
     * The client may leave a QoS 2 message unanswered for want of a place, and end the connection so that it comes again; but
     * not a connection on which no handshake was finished.
     */
    uint8_t may_leave_unanswered;
    uint8_t crashes;       /* how often the process ends in the middle; the client has a journal then */
    uint8_t failures;      /* how often a sync fails */
    uint8_t numbers;       /* smq_delivery_number() of what is held, at any time */
    uint8_t storage_lies;  /* a broken storage: what it calls durable is not */
    uint8_t is_forgetful;  /* a broken server: it forgets the identifiers of QoS 2 */
    uint8_t is_endless;    /* a broken server: after a cut it answers PUBREL with PUBREC */
    uint16_t depth;        /* the longest path; 0: LONGEST */
    const char *must_find; /* this violation, or the checker is blind */
};

int sends(void); /* how many messages */
int gets(void);

/* ---- The world: all that is not the client. Only numbers of fixed width, all in order of their size, and what is free is 0:
 *      states that differ in nothing must be the same bytes, on every machine. */

enum {
    LINK_NONE = 0,
    LINK_OPEN = 1,
    LINK_BROKEN = 2
};
/* A message that the server delivers. */
enum {
    OUT_NEW = 0,
    OUT_SENT = 1,
    OUT_RELEASED = 2,
    OUT_DONE = 3,
    OUT_LOST = 4
};

struct world {
    uint64_t token[MESSAGES];  /* of messages that the program holds */
    uint64_t number[MESSAGES]; /* of messages of the server, as the program has noted it */
    uint32_t now;
    uint16_t in_identifier[MESSAGES];  /* of what the client published, in this session */
    uint16_t out_identifier[MESSAGES]; /* of what the server delivers */
    uint8_t up[LINK_BYTES], down[LINK_BYTES];
    uint8_t up_size, up_whole;     /* all of it, and without the packet that is not whole yet */
    uint8_t down_size, down_given; /* all of it, and what the client has of the first packet */
    uint8_t link, cuts, forgets;
    /* The server. */
    uint8_t is_connected, has_session, is_subscribed;
    uint8_t is_news;             /* that the session is a new one: CONNACK has not reached the client */
    uint8_t known[MESSAGES];     /* QoS 2 of the client, not released */
    uint8_t delivered[MESSAGES]; /* how often it has passed on what the client published */
    uint8_t out_state[MESSAGES]; /* OUT_… */
    uint8_t out_here[MESSAGES];  /* PUBLISH, or PUBREL in OUT_RELEASED, was sent on this connection */
    uint8_t out_times[MESSAGES]; /* how often it was sent */
    uint8_t answered;            /* 1 + the last that the client has answered on this connection */
    /* The ledger: what the client did, and what the program was told. */
    uint8_t published, asked; /* how many; whether it has subscribed */
    uint8_t told[MESSAGES], subscribe_told;
    uint8_t ever_sent[MESSAGES]; /* whole, on any connection */
    uint8_t sent_here[MESSAGES]; /* on this one */
    uint8_t sent_as[MESSAGES];   /* when it was sent first in this session, counted */
    uint8_t sent_count, resent;  /* the last number; the number of the last that was sent again on this connection */
    uint8_t in_flight[MESSAGES]; /* QoS 1 and 2, sent and not complete, as the server counts */
    uint8_t handed[MESSAGES];    /* how often a message of the server was handed out */
    uint8_t released[MESSAGES];  /* the program is done with it */
    uint8_t held[MESSAGES], stale[MESSAGES]; /* its token is due; it is so no longer, as the session is lost */
    uint8_t taken;                           /* 1 + the message of the last event, which the next call releases */
    uint8_t lost_sessions;
    uint8_t finished; /* handshakes that ended on this connection */
    /* The journal. */
    uint8_t crashes, failures;
    uint8_t writes;             /* 1 + where the block goes whose sync has not ended */
    uint8_t position[MESSAGES]; /* of what this process has published, in the journal */
    uint8_t stored[MESSAGES];   /* the program could know that it is */
    uint8_t in_doubt[MESSAGES]; /* whether its end will be told: a crash came before that, or after it was delivered */
    uint8_t survivor[MESSAGES]; /* a process before this one has published it */
    uint8_t written[STORED_BYTES];
    uint8_t durable[STORED_BLOCKS][STORED_BYTES];
};

/* ---- The client (client.c) */

smq_client *engine(void);     /* for a call: the block may change */
const smq_client *seen(void); /* for a question: it does not */
int restart_client(void);     /* after a crash: the same from what the storage has */

/* ---- Packets (packets.c) */

struct packet {
    const uint8_t *body;
    uint8_t type, flags, size, whole; /* size of the body, and with its header */
};

struct publish {
    uint16_t identifier;
    uint8_t qos, duplicate, message;
};

int is_v5(void);
int parse_packet(const uint8_t *bytes, size_t size, struct packet *packet); /* 0: it is not whole yet */
uint16_t identifier_of(const struct packet *packet);
struct publish parse_publish(const struct packet *packet, char topic, int count);
void put_down(uint8_t type, const uint8_t *body, size_t size); /* on its way to the client */
void put_answer(uint8_t type, uint16_t identifier);
int has_room_down(void);

/* ---- The server (server.c) */

void serve(void);          /* takes the first packet that is on its way */
int server_delivers(void); /* sends what is next, if there is something */
void server_forgets(void);
int message_of(uint16_t identifier); /* that the server delivers; -1: none */

/* ---- The ledger (ledger.c): what must hold */

void packet_left(const struct packet *packet); /* the client has sent it, whole */
void packet_came(const struct packet *packet); /* the client gets it, whole */
void event_came(const smq_event *event);
void event_released(void);
void connection_ended(void);
void process_ended(void);
void take_number(int message);
/* ---- The storage of a journal (storage.c) */

/* What becomes of a block that was written, when a crash comes. */
enum {
    LOST = 0,
    ARRIVED = 1,
    TORN = 2,
    ARRIVES = 4 /* what was on its way to the server */
};

int take_up_journal(void);
void forget_superblock(void);
void note_position(int message);
int commit_begins(int unused);
int commit_ends(int unused);
int commit_fails(int how);
int crash(int how);

#endif
