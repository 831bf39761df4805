/*
 * A client that is a bare engine (chapter 13 of the header), and the program as its server, so there is no system call, no
 * clock and no chance in what is counted. Nothing here calls libc in an operation: copying is done by hand.
 * A program of these ends with status 1 and a line that says why if the library does anything else than expected.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <swiftmqtt.h>

enum {
    BATCH = 64 /* messages published before they are handed out to be sent */
};

extern const char *operation; /* its name, for fail() */
extern uint8_t payload[4096];
extern size_t to_client_size;
extern smq_options options;
extern smq_message message;
extern smq_event event;
extern smq_client *client;
extern uint32_t now;
extern uint64_t events;                                               /* of the operation's own kind */
extern int32_t subscription;                                          /* of the last one */
extern uint64_t token;                                                /* of the last one */
extern uint16_t server_aliases;                                       /* the Topic Alias Maximum of CONNACK */
extern uint8_t server_session;                                        /* its Session Present */
extern void (*server_sees_publish)(const uint8_t *body, size_t size); /* NULL, or called for each PUBLISH */

void fail(const char *what, long value);
void expect(const char *what, long value, long expected);

/* Bytes that the server says next, with receive(). */
void say(const void *bytes, size_t size);
void say_acknowledgement(uint8_t type, unsigned identifier);
/* Hands over what is to be sent, and lets the server answer if it is to. */
void transmit(int answers);
void receive(void);
/* Takes all events, which have to be of this type; counts them. */
void take_events(int32_t type);
/* Lets both sides say all that they have to say. */
void converse(int32_t type);

/* Sets options and message; then a client that is connected. */
void prepare(uint32_t protocol);
void make_client(void);

#endif
