/* What a load and the sink say to each other beside MQTT: requests on a Unix socket (SOCK_SEQPACKET), each answered by counts. */
#ifndef SINK_H
#define SINK_H

#include <stdint.h>
#include <time.h>

/* The sink sends to the last subscriber, with this topic (16 bytes). */
#define SINK_TOPIC "plant/line/03/mV"

enum {
    SINK_RESET = 1, /* all counts begin at 0 again */
    SINK_BLAST = 2, /* sends `messages` of `size` bytes, at most `window` of them unacknowledged */
    SINK_COUNT = 3  /* answers as soon as so many messages were received, and so many sent ones acknowledged */
};

struct sink_request {
    uint32_t what;
    uint32_t qos;
    uint32_t window;
    uint32_t size;
    uint64_t messages;
    uint64_t acknowledged;
};

struct sink_counts {
    uint64_t messages;      /* PUBLISH packets received */
    uint64_t message_bytes; /* and their bytes on the wire */
    uint64_t acknowledged;  /* messages sent whose handshake is over */
    uint64_t connections;   /* CONNECTs */
    uint64_t farewells;     /* DISCONNECTs */
    uint64_t pings;
    uint64_t mistakes; /* acknowledgements nobody waited for, or in the wrong order */
    uint64_t reads;    /* recv() calls that brought something: how many pieces the stream came in */
    uint64_t first_ns; /* CLOCK_MONOTONIC when the first PUBLISH was there */
    uint64_t last_ns;  /* and the last one so far */
};

static inline uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
