/* STOMP 1.2, to be explored: what the files of this folder share. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "swiftstomp.h"

enum {
    MESSAGES = 4,     /* at most, in each direction */
    LINK_BYTES = 240, /* on their way, in each direction */
    WAIT_MS = 10,     /* before the next attempt to connect */
    COOKIE_SUBSCRIBE = 100,
    COOKIE_UNSUBSCRIBE = 101,
    COOKIE_COMMIT = 102
};

/* ---- Scenes (scenes.c): what happens, and how often */

/* One message of a plan, and how it is sent. 0 is the end. */
enum {
    PLAIN = 0x80,
    RECEIPT = 1,
    AGAIN = 2, /* SST_SEND_AGAIN */
    URGENT = 4,
    SUBMITTED = 8, /* by sst_submit() */
    OLDEST = 16,   /* SST_OVERFLOW_DROP_OLDEST */
    INSIDE = 32    /* in a transaction, which is committed afterwards */
};

/* How many of the bytes that are offered the transport takes, or brings, beside all of them. */
enum {
    ONE_BYTE = 1,
    HALF = 2,
    ALL_BUT_ONE = 4
};

struct scene {
    const char *name, *about;
    uint8_t size, bits; /* see explore.h */
    uint16_t depth;
    const char *must_find;
    uint8_t sends[MESSAGES + 1]; /* what the program sends */
    uint8_t gets;                /* how many messages the server has for it */
    uint8_t ack;                 /* SST_ACK_… */
    uint8_t held;                /* sst_options.held_messages; 0: as many as there are */
    uint8_t unsubscribes;
    uint8_t durable;             /* and says so, in UNSUBSCRIBE */
    uint8_t refuses;             /* how many messages the server answers with ERROR */
    uint8_t cuts;                /* how often the link breaks */
    uint8_t leaves;              /* the program disconnects, at any time, and connects again */
    uint8_t outbox_frames;       /* sst_options; 0: as many as are sent */
    uint8_t transmits, receives; /* HALF and so on */
    uint8_t any_order;           /* the server sends its receipts in any order */
    uint8_t is_forgetful;        /* a broken server: it forgets what was acknowledged */
    uint8_t is_silent;           /* a broken server: it sends no receipts */
};

int sends(void); /* how many messages */

/* ---- The world: all that is not the client. What is free is 0: states that differ in nothing must be the same bytes, on every
 *      machine. */

enum {
    LINK_NONE = 0,
    LINK_OPEN = 1,
    LINK_BROKEN = 2
};

struct world {
    uint64_t token[MESSAGES]; /* of messages that wait for sst_ack() */
    uint32_t now;
    uint32_t transaction;
    uint8_t up[LINK_BYTES], down[LINK_BYTES];
    uint8_t up_size, up_whole;     /* all of it, and without the frame that is not whole yet */
    uint8_t down_size, down_given; /* all of it, and what the client has of the first frame */
    uint8_t link, cuts, refused, left;
    uint8_t is_leaving, has_left; /* the program has asked to; DISCONNECT went out on this connection */
    /* The server. */
    uint8_t is_connected, is_subscribed, closes;
    uint8_t owes[8][12];         /* receipts, with scene.any_order */
    uint8_t inside[MESSAGES];    /* came in a transaction that is not committed */
    uint8_t delivered[MESSAGES]; /* how often it has taken what the client sent */
    uint8_t out_here[MESSAGES];  /* was sent on this connection */
    uint8_t consumed[MESSAGES];  /* the program has acknowledged it, and the server knows */
    /* The ledger: what the client did, and what the program was told. */
    uint8_t sent, asked, unasked; /* how many messages; whether it has subscribed, and unsubscribed */
    uint8_t told[MESSAGES], subscribe_told, unsubscribe_told;
    uint8_t begun, committed, commit_told, transaction_lost;
    uint8_t ever_left[MESSAGES]; /* whole, on any connection */
    uint8_t left_here[MESSAGES];
    uint8_t ended[MESSAGES]; /* 1: well; 2: unknown; 3: dropped; 4: refused */
    uint8_t handed[MESSAGES], handed_here[MESSAGES];
    uint8_t held[MESSAGES];  /* its token is due */
    uint8_t acked[MESSAGES]; /* the program has acknowledged it on this connection */
};

/* ---- The client (client.c) */

sst_client *engine(void);     /* for a call: the block may change */
const sst_client *seen(void); /* for a question: it does not */

/* ---- Frames (frames.c) */

struct frame_in {
    const char *command;
    const uint8_t *start;
    size_t size; /* with the zero; 0: it is not whole yet */
};

struct frame_in first_frame(const uint8_t *bytes, size_t size);
/* The value of a header, with a zero behind it; empty: it is not there. */
const char *header(const struct frame_in *frame, const char *name);
int body_of(const struct frame_in *frame); /* the number in it */
int is(const struct frame_in *frame, const char *command);
int has_room_down(void);
void put_down(const char *text, size_t size); /* on its way to the client */
void put_receipt(const char *id);

/* ---- The server (server.c) */

void serve(void);                 /* takes the first frame that is on its way */
int server_delivers(int message); /* sends it, if it may */
int server_owes(int which);       /* sends a receipt that it owes */
int server_refuses(int unused);   /* answers the first SEND with ERROR */
void server_loses_connection(void);

/* ---- The ledger (ledger.c): what must hold */

void frame_left(const struct frame_in *frame); /* the client has sent it, whole */
void event_came(const sst_event *event);
void connection_ended(void);

#endif
