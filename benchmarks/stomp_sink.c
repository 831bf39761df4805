/*
 * Stands in for a server of STOMP, for any number of clients, one thread: prints its port, and a line for each connection that has
 * ended with DISCONNECT: how many SENDs there were, and the bytes of their bodies.
 *
 * SEND is counted, and thrown away. SUBSCRIBE with the header "count" gets so many MESSAGEs of 64 bytes, as fast as they are taken;
 * without it none. A frame with a receipt gets it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS = 256,
    BODY = 64,
    ROOM = 1 << 17
};

static struct client {
    char in[ROOM], out[ROOM];
    size_t in_size, out_size;
    uint64_t sends, bytes, wanted, number;
    char subscription[64];
} * clients[CLIENTS];
static struct pollfd polled[1 + CLIENTS];

/* The value of a header, up to the end of its line; NULL: there is none before `end`. */
static const char *header(const char *frame, const char *end, const char *name, size_t *size) {
    size_t length = strlen(name);
    for (const char *line = frame; (line = memchr(line, '\n', (size_t)(end - line))) && ++line < end;) {
        if ((size_t)(end - line) <= length || memcmp(line, name, length) != 0 || line[length] != ':') continue;
        const char *value = line + length + 1, *stop = memchr(value, '\n', (size_t)(end - value));
        *size = (size_t)((stop ? stop : end) - value);
        return value;
    }
    return NULL;
}

static void put(struct client *it, const char *bytes, size_t size) {
    if (it->out_size + size > ROOM) exit(EXIT_FAILURE);
    memcpy(it->out + it->out_size, bytes, size);
    it->out_size += size;
}

static void take(struct client *it, const char *frame, const char *end, size_t body) {
    char line[256];
    size_t size;
    const char *value;
    if (memcmp(frame, "SEND\n", 5) == 0) {
        it->sends++;
        it->bytes += body;
    } else if (memcmp(frame, "CONNECT\n", 8) == 0 || memcmp(frame, "STOMP\n", 6) == 0) {
        put(it, line, (size_t)snprintf(line, sizeof(line), "CONNECTED\nversion:1.2\n\n") + 1);
        return;
    } else if (memcmp(frame, "SUBSCRIBE\n", 10) == 0) {
        if ((value = header(frame, end, "id", &size)))
            snprintf(it->subscription, sizeof(it->subscription), "%.*s", (int)size, value);
        if ((value = header(frame, end, "count", &size))) it->wanted = strtoull(value, NULL, 10);
    }
    if ((value = header(frame, end, "receipt", &size)))
        put(it, line, (size_t)snprintf(line, sizeof(line), "RECEIPT\nreceipt-id:%.*s\n\n", (int)size, value) + 1);
    if (memcmp(frame, "DISCONNECT\n", 11) == 0) {
        printf("%llu %llu\n", (unsigned long long)it->sends, (unsigned long long)it->bytes);
        fflush(stdout);
    }
}

/* The frames that are there. */
static void parse(struct client *it) {
    char *from = it->in, *stop = it->in + it->in_size;
    for (;;) {
        while (from < stop && (*from == '\n' || *from == '\r')) from++;
        char *end = memmem(from, (size_t)(stop - from), "\n\n", 2);
        if (!end) break;
        size_t size, body;
        const char *length = header(from, end + 1, "content-length", &size);
        char *zero;
        if (length) {
            body = strtoul(length, NULL, 10);
            if ((size_t)(stop - end) < 2 + body + 1) break;
            zero = end + 2 + body;
        } else {
            zero = memchr(end + 2, 0, (size_t)(stop - end - 2));
            if (!zero) break;
            body = (size_t)(zero - end - 2);
        }
        take(it, from, end + 1, body);
        from = zero + 1;
    }
    it->in_size = (size_t)(stop - from);
    memmove(it->in, from, it->in_size);
}

static void fill(struct client *it) {
    static const char body[BODY] = "0123456789012345678901234567890123456789012345678901234567890123";
    char head[256];
    while (it->wanted > 0 && it->out_size + sizeof(head) + BODY + 1 <= ROOM) {
        int size =
            snprintf(head, sizeof(head),
                     "MESSAGE\nsubscription:%s\nmessage-id:%llu\ndestination:/queue/bench\ncontent-length:%d\n\n",
                     it->subscription, (unsigned long long)it->number++, BODY);
        put(it, head, (size_t)size);
        put(it, body, BODY);
        put(it, "", 1);
        it->wanted--;
    }
}

int main(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return EXIT_FAILURE;
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    polled[0] = (struct pollfd){ listener, POLLIN, 0 };
    for (int i = 0; i < CLIENTS; i++) polled[1 + i].fd = -1;
    for (int idle = 0;;) {
        /* It does not sleep while it is busy, so that no client pays for waking it up. */
        int ready = poll(polled, 1 + CLIENTS, idle > 2000 ? 100 : 0);
        idle = ready > 0 ? 0 : idle + 1;
        if (ready <= 0) continue;
        for (int i = 0; i < CLIENTS; i++) {
            struct client *it = clients[i];
            short told = polled[1 + i].revents;
            if (polled[1 + i].fd < 0 || !told) continue;
            int fd = polled[1 + i].fd;
            if (told & (POLLIN | POLLHUP | POLLERR)) {
                ssize_t came = recv(fd, it->in + it->in_size, ROOM - it->in_size, MSG_DONTWAIT);
                if (came == 0 || (came < 0 && errno != EAGAIN)) {
                    close(fd);
                    free(it);
                    clients[i] = NULL;
                    polled[1 + i].fd = -1;
                    continue;
                }
                it->in_size += came > 0 ? (size_t)came : 0;
                parse(it);
            }
            fill(it);
            ssize_t went = it->out_size ? send(fd, it->out, it->out_size, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
            if (went > 0) {
                it->out_size -= (size_t)went;
                memmove(it->out, it->out + went, it->out_size);
            }
            polled[1 + i].events = it->out_size || it->wanted ? POLLIN | POLLOUT : POLLIN;
        }
        if (polled[0].revents) {
            int fd = accept(listener, NULL, NULL), i = 0;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            while (i < CLIENTS && polled[1 + i].fd >= 0) i++;
            if (i == CLIENTS || !(clients[i] = calloc(1, sizeof(struct client)))) return EXIT_FAILURE;
            polled[1 + i] = (struct pollfd){ fd, POLLIN, 0 };
        }
    }
}
