/*
 * sink CONTROL: stands in for a broker, and costs far less than any client. It listens on a free port of 127.0.0.1, which it
 * prints, and at the path CONTROL for the requests of sink.h.
 *
 * It answers everything, routes nothing, and counts. One thread; after it had something to do it looks for more without sleeping
 * for a while, so that the client does not pay for waking it up.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sink.h"

enum {
    CONNECTIONS = 64,
    IN_BYTES = 1280 << 10,  /* more than the largest packet */
    OUT_BYTES = 1280 << 10, /* the same */
    SEND_BYTES = 256 << 10, /* at a time */
    AWAKE_NS = 300000
};

enum {
    CONNECT = 1,
    PUBLISH = 3,
    PUBACK = 4,
    PUBREC = 5,
    PUBREL = 6,
    PUBCOMP = 7,
    SUBSCRIBE = 8,
    PINGREQ = 12,
    DISCONNECT = 14
};

/* Messages being sent to a client. */
struct blast {
    uint64_t left; /* not yet in the buffer */
    uint32_t qos;
    uint32_t window;
    uint32_t open;       /* sent, handshake not over */
    uint16_t identifier; /* of the last one sent; */
    uint16_t expected;   /* and of the last one acknowledged */
    uint32_t packet_bytes;
    uint32_t identifier_at;
    uint64_t laid; /* QoS 0: so many of them lie in `out`, to be sent over and over */
    uint8_t packet[(1 << 20) + 64];
};

struct connection {
    int fd; /* -1: free */
    bool is_5_0;
    bool waits_for_room;
    size_t in_size; /* a packet that has not come whole yet */
    size_t out_begin, out_end;
    struct blast blast;
    uint8_t in[IN_BYTES];
    uint8_t out[OUT_BYTES];
};

static struct connection connections[CONNECTIONS];
static struct connection *subscriber;
static struct sink_counts counts;
static struct sink_request awaited; /* SINK_COUNT that is not answered yet */
static int awaiting = -1;           /* whose it is */
static int epoll;

static void die(const char *what) {
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- To the client */

static void close_connection(struct connection *c) {
    close(c->fd);
    c->fd = -1;
    if (subscriber == c) subscriber = NULL;
}

static void put(struct connection *c, const void *bytes, size_t size) {
    if (c->out_begin == c->out_end) c->out_begin = c->out_end = 0;
    if (c->out_end + size > OUT_BYTES) {
        memmove(c->out, c->out + c->out_begin, c->out_end - c->out_begin);
        c->out_end -= c->out_begin;
        c->out_begin = 0;
    }
    if (c->out_end + size > OUT_BYTES) {
        fprintf(stderr, "sink: the client takes no answers\n");
        exit(1);
    }
    memcpy(c->out + c->out_end, bytes, size);
    c->out_end += size;
    c->blast.laid = 0;
}

static void put_answer(struct connection *c, uint8_t first, const uint8_t *identifier) {
    uint8_t packet[] = { first, 2, identifier[0], identifier[1] };
    put(c, packet, sizeof(packet));
}

/* QoS 0: every packet is the same, so what was laid once is sent again. */
static void repeat_blast(struct connection *c) {
    struct blast *b = &c->blast;
    if (!b->left || c->out_begin != c->out_end) return;
    if (!b->laid) {
        uint64_t fit = b->packet_bytes < SEND_BYTES ? SEND_BYTES / b->packet_bytes : 1;
        for (c->out_end = 0; b->laid < fit; b->laid++, c->out_end += b->packet_bytes)
            memcpy(c->out + c->out_end, b->packet, b->packet_bytes);
    }
    uint64_t packets = b->left < b->laid ? b->left : b->laid;
    c->out_begin = 0;
    c->out_end = packets * b->packet_bytes;
    b->left -= packets;
}

static void put_blast(struct connection *c) {
    struct blast *b = &c->blast;
    if (b->qos == 0) {
        repeat_blast(c);
        return;
    }
    while (b->left && c->out_end - c->out_begin < SEND_BYTES && b->open < b->window) {
        if (++b->identifier == 0) b->identifier = 1;
        b->packet[b->identifier_at] = (uint8_t)(b->identifier >> 8);
        b->packet[b->identifier_at + 1] = (uint8_t)b->identifier;
        put(c, b->packet, b->packet_bytes);
        b->open++;
        b->left--;
    }
}

/* All that there is to send, as far as the kernel takes it. */
static void send_out(struct connection *c) {
    bool is_full = false;
    for (;;) {
        put_blast(c);
        if (c->out_begin == c->out_end) break;
        ssize_t sent = send(c->fd, c->out + c->out_begin, c->out_end - c->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                close_connection(c);
                return;
            }
            is_full = errno == EAGAIN;
            break;
        }
        c->out_begin += (size_t)sent;
    }
    if (is_full == c->waits_for_room) return;
    struct epoll_event interest = { .events = EPOLLIN | (is_full ? EPOLLOUT : 0), .data.ptr = c };
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &interest) < 0) die("epoll_ctl");
    c->waits_for_room = is_full;
}

/* ---- From the client */

static void acknowledged(struct connection *c, const uint8_t *body) {
    struct blast *b = &c->blast;
    if (++b->expected == 0) b->expected = 1;
    if (b->open == 0 || (body[0] << 8 | body[1]) != b->expected) counts.mistakes++;
    if (b->open) b->open--;
    counts.acknowledged++;
}

static void suback(struct connection *c, const uint8_t *body, size_t size) {
    /* One filter, and no properties: what a load asks for. */
    uint8_t packet[] = { 0x90, 3, body[0], body[1], body[size - 1] & 3, 0 };
    if (c->is_5_0) {
        packet[1] = 4;
        packet[5] = packet[4];
        packet[4] = 0;
    }
    put(c, packet, c->is_5_0 ? 6 : 5);
    subscriber = c;
}

static bool take_packet(struct connection *c, const uint8_t *packet, const uint8_t *body, size_t size) {
    switch (packet[0] >> 4) {
    case CONNECT: {
        size_t name = size > 2 ? (size_t)body[0] << 8 | body[1] : size;
        if (name + 3 > size) return false;
        c->is_5_0 = body[2 + name] == 5;
        counts.connections++;
        if (c->is_5_0)
            put(c, "\x20\x03\x00\x00\x00", 5);
        else
            put(c, "\x20\x02\x00\x00", 4);
        return true;
    }
    case PUBLISH:
        counts.messages++;
        counts.message_bytes += (size_t)(body - packet) + size;
        if (packet[0] & 6) {
            const uint8_t *identifier = body + 2 + (body[0] << 8 | body[1]);
            put_answer(c, packet[0] & 2 ? PUBACK << 4 : PUBREC << 4, identifier);
        }
        return true;
    case PUBACK:
        acknowledged(c, body);
        return true;
    case PUBREC:
        put_answer(c, PUBREL << 4 | 2, body);
        return true;
    case PUBREL:
        put_answer(c, PUBCOMP << 4, body);
        return true;
    case PUBCOMP:
        acknowledged(c, body);
        return true;
    case SUBSCRIBE:
        suback(c, body, size);
        return true;
    case PINGREQ:
        counts.pings++;
        put(c, "\xD0\x00", 2);
        return true;
    case DISCONNECT:
        counts.farewells++;
        return false;
    default:
        fprintf(stderr, "sink: packet type %d\n", packet[0] >> 4);
        counts.mistakes++;
        return false;
    }
}

/* Every packet that is there whole. False: it is over. */
static bool take_packets(struct connection *c) {
    const uint8_t *at = c->in, *end = c->in + c->in_size;
    while (end - at >= 2) {
        size_t size = 0;
        const uint8_t *body = at + 1;
        for (int shift = 0;; shift += 7) {
            if (body == end) goto incomplete;
            size |= (size_t)(*body & 127) << shift;
            if (*body++ < 128) break;
        }
        if ((size_t)(end - body) < size) break;
        if (!take_packet(c, at, body, size)) return false;
        at = body + size;
    }
incomplete:
    c->in_size = (size_t)(end - at);
    if (c->in_size == IN_BYTES) return false;
    memmove(c->in, at, c->in_size);
    return true;
}

static void receive(struct connection *c) {
    ssize_t size = recv(c->fd, c->in + c->in_size, IN_BYTES - c->in_size, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
        close_connection(c);
        return;
    }
    c->in_size += (size_t)size;
    counts.reads++;
    uint64_t before = counts.messages;
    bool goes_on = take_packets(c);
    if (counts.messages != before) {
        counts.last_ns = monotonic_ns();
        if (before == 0) counts.first_ns = counts.last_ns;
    }
    if (!goes_on) {
        close_connection(c);
        return;
    }
    if (awaiting >= 0) {
        /* The end of a run: without an ACK at once Nagle's algorithm would hold back the client's last bytes for 40 ms. */
        int yes = 1;
        setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes));
    }
    send_out(c);
}

static void accept_client(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), yes = 1;
    if (fd < 0) return;
    struct connection *c = connections;
    while (c < connections + CONNECTIONS && c->fd >= 0) c++;
    if (c == connections + CONNECTIONS) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    c->fd = fd;
    c->waits_for_room = false;
    c->in_size = c->out_begin = c->out_end = 0;
    memset(&c->blast, 0, offsetof(struct blast, packet));
    struct epoll_event interest = { .events = EPOLLIN, .data.ptr = c };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest) < 0) die("epoll_ctl");
}

/* ---- Requests */

static bool begin_blast(const struct sink_request *request) {
    static const char topic[] = SINK_TOPIC;
    const size_t topic_size = sizeof(topic) - 1;
    struct connection *c = subscriber;
    if (!c || request->size > sizeof(c->blast.packet) - 64) return false;
    struct blast *b = &c->blast;
    memset(b, 0, offsetof(struct blast, packet));
    b->left = request->messages;
    b->qos = request->qos;
    b->window = request->window;
    uint8_t *p = b->packet;
    *p++ = (uint8_t)(PUBLISH << 4 | request->qos << 1);
    size_t rest = 2 + topic_size + (request->qos ? 2 : 0) + (c->is_5_0 ? 1 : 0) + request->size;
    for (; rest > 127; rest >>= 7) *p++ = (uint8_t)(rest | 128);
    *p++ = (uint8_t)rest;
    *p++ = 0;
    *p++ = (uint8_t)topic_size;
    memcpy(p, topic, topic_size);
    p += topic_size;
    b->identifier_at = (uint32_t)(p - b->packet);
    if (request->qos) p += 2;
    if (c->is_5_0) *p++ = 0;
    memset(p, 'x', request->size);
    b->packet_bytes = (uint32_t)(p - b->packet) + request->size;
    send_out(c);
    return true;
}

static void answer(int fd) {
    if (send(fd, &counts, sizeof(counts), MSG_NOSIGNAL) < 0) close(fd);
}

static void answer_awaited(void) {
    if (awaiting < 0 || counts.messages < awaited.messages || counts.acknowledged < awaited.acknowledged) return;
    answer(awaiting);
    awaiting = -1;
}

static void take_request(int fd) {
    struct sink_request request;
    if (recv(fd, &request, sizeof(request), 0) != sizeof(request)) {
        if (awaiting == fd) awaiting = -1;
        close(fd);
        return;
    }
    if (request.what == SINK_COUNT) {
        awaited = request;
        awaiting = fd;
        return;
    }
    if (request.what == SINK_RESET) memset(&counts, 0, sizeof(counts));
    if (request.what == SINK_BLAST && !begin_blast(&request)) counts.mistakes++;
    answer(fd);
}

/* ---- The loop */

static int listen_tcp(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 128) < 0) die("listen");
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) die("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    return fd;
}

static int listen_unix(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0) die(path);
    return fd;
}

/* Anything but a connection is marked by a small number: its descriptor. */
static void watch(int fd) {
    struct epoll_event interest = { .events = EPOLLIN, .data.u64 = (uint64_t)fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest) < 0) die("epoll_ctl");
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: sink CONTROL\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < CONNECTIONS; i++) connections[i].fd = -1;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int clients = listen_tcp(), requests = listen_unix(argv[1]);
    watch(clients);
    watch(requests);
    fflush(stdout);
    for (uint64_t last = 0;;) {
        struct epoll_event events[CONNECTIONS];
        int ready = epoll_wait(epoll, events, CONNECTIONS, monotonic_ns() - last < AWAKE_NS ? 0 : -1);
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        if (ready > 0) last = monotonic_ns();
        for (int i = 0; i < ready; i++) {
            uint64_t mark = events[i].data.u64;
            if (mark == (uint64_t)clients)
                accept_client(clients);
            else if (mark == (uint64_t)requests)
                watch(accept4(requests, NULL, NULL, SOCK_CLOEXEC));
            else if (mark < 4096)
                take_request((int)mark);
            else {
                struct connection *c = events[i].data.ptr;
                if (c->fd >= 0 && events[i].events & EPOLLOUT) send_out(c);
                if (c->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
            }
        }
        answer_awaited();
    }
}
