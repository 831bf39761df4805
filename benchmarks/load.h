/*
 * What a load asks of a client library, and may be told by it. Each peer_*.c defines `peer` and is linked with load.c into a
 * program of its own. One client at a time; a call that fails ends the program with load_fail().
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
    uint16_t port; /* of 127.0.0.1 */
    int protocol;  /* 4: 3.1.1, 5: 5.0 */
    unsigned keep_alive_s;
    unsigned qos;         /* of what is published or received */
    unsigned window;      /* QoS 1 and 2: unacknowledged messages at a time */
    unsigned flush_every; /* messages */
    size_t payload_bytes;
    const char *client_id;
    const char *variant; /* of the peer's own */
};

struct peer {
    const char *name;
    bool has_threads; /* it reads and writes in threads of its own: no turn() is needed */
    bool tells_qos_0; /* load_completed() for QoS 0 too: its queue has no end, so the load limits what is in it */
    void (*version)(char *text, size_t size);
    void (*open)(const struct settings *settings);       /* returns after CONNACK; a new session */
    void (*subscribe)(const char *filter, unsigned qos); /* returns after SUBACK */
    void (*prepare)(const char *topic, unsigned qos);    /* what publish() is to publish from now on */
    bool (*publish)(const void *payload, size_t size);   /* false: no room before the next turn() */
    void (*flush)(void);          /* hands what was published to the kernel, as far as that takes it; */
    bool (*is_sent)(void);        /* and whether it has taken all */
    void (*turn)(int timeout_ms); /* a turn of its loop: flushes, waits for something to come, takes it */
    void (*close)(void);          /* DISCONNECT, and everything given back */
};

extern const struct peer peer;

/* Called by the peer, from any of its threads: */
void load_completed(unsigned messages); /* published ones whose handshake is over */
void load_arrived(size_t topic_size, const void *payload, size_t size);
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
