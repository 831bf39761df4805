/*
 * stomp_load PEER WAY N PORT: one run of a C client of STOMP. PEER: swiftstomp, or raw, which is no library. WAY: send, receive, or
 * clients, which connects N of them. Prints a line of JSON: n, wall_ns and cpu_ns from CONNECTED to the end, rss_bytes and client_bytes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftstomp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY = 64,
    FLUSH_EVERY = 64
};

static const char body[BODY + 1] = "0123456789012345678901234567890123456789012345678901234567890123";
static unsigned long count;
static uint16_t port;
static uint64_t wall_begin, cpu_begin, client_bytes, rss_begin;

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static uint64_t wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t cpu(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
           ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000;
}

static uint64_t rss(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1) fail("statm");
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void begin(void) {
    rss_begin = rss();
    wall_begin = wall();
    cpu_begin = cpu();
}

static void end(void) {
    uint64_t cpu_ns = cpu() - cpu_begin, wall_ns = wall() - wall_begin, more = rss() - rss_begin;
    printf("{\"n\": %lu, \"wall_ns\": %llu, \"cpu_ns\": %llu, \"rss_bytes\": %llu, \"client_bytes\": %llu}\n", count,
           (unsigned long long)wall_ns, (unsigned long long)cpu_ns, (unsigned long long)more,
           (unsigned long long)client_bytes);
}

/* ---- The library */

static sst_client *connected(void) {
    sst_options options = SST_OPTIONS_INIT;
    sst_client *client;
    sst_event event = SST_EVENT_INIT;
    options.host = sst_string("127.0.0.1");
    options.port = port;
    client_bytes = sst_client_size(&options);
    if (sst_client_init(aligned_alloc(SST_MEMORY_ALIGNMENT, (client_bytes + 63) / 64 * 64), client_bytes, &options,
                        &client) != SST_OK)
        fail("client");
    sst_connect(client);
    while (sst_client_state(client) != SST_STATE_CONNECTED) {
        sst_wait(client, 1000);
        while (sst_next_event(client, &event) == 1)
            if (event.type == SST_EVENT_DISCONNECTED) fail("disconnected");
    }
    return client;
}

static void leave(sst_client *client) {
    sst_event event = SST_EVENT_INIT;
    sst_disconnect(client, 60000);
    while (sst_client_state(client) != SST_STATE_DISCONNECTED) {
        sst_wait(client, 1000);
        while (sst_next_event(client, &event) == 1)
            if (event.type == SST_EVENT_COMPLETED && event.status) fail("a message failed");
    }
    if (event.status != 0) fail("DISCONNECT");
}

static void send_with_library(void) {
    sst_client *client = connected();
    sst_event event = SST_EVENT_INIT;
    sst_frame frame = SST_FRAME_INIT;
    frame.destination = sst_string("/queue/bench");
    frame.body = (sst_bytes){ body, BODY };
    frame.flags = SST_SEND_QUIET;
    begin();
    for (unsigned long i = 0; i < count;) {
        if (sst_send(client, &frame) == SST_OK) {
            if (++i % FLUSH_EVERY == 0) sst_wait(client, 0);
            continue;
        }
        sst_wait(client, -1);
        while (sst_next_event(client, &event) == 1)
            if (event.type != SST_EVENT_ROOM) fail("send");
    }
    leave(client);
    end();
}

static void receive_with_library(void) {
    sst_client *client = connected();
    sst_event event = SST_EVENT_INIT;
    uint8_t room[64];
    char number[24];
    sst_headers headers = { room, sizeof(room), 0 };
    snprintf(number, sizeof(number), "%lu", count);
    sst_bytes name = sst_string("count"), value = sst_string(number);
    sst_header_put(&headers, &name, &value);
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    subscription.destination = sst_string("/queue/bench");
    subscription.headers = sst_header_list(&headers);
    begin();
    if (sst_subscribe(client, &subscription) != 0) fail("subscribe");
    for (unsigned long i = 0; i < count;) {
        sst_wait(client, -1);
        while (sst_next_event(client, &event) == 1) {
            if (event.type == SST_EVENT_DISCONNECTED) fail("disconnected");
            if (event.type == SST_EVENT_MESSAGE && event.body.size == BODY) i++;
        }
    }
    leave(client);
    end();
}

static void connect_with_library(void) {
    begin();
    for (unsigned long i = 0; i < count; i++) connected();
    end();
}

/* ---- No library */

static int fd;
static char got[1 << 16];

static void put_all(const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t went = send(fd, bytes, size, MSG_NOSIGNAL);
        if (went <= 0) fail("send");
        bytes += went, size -= (size_t)went;
    }
}

/* Until a frame with these bytes has ended; nothing else comes. */
static void until(const char *what) {
    size_t size = 0;
    while (!memmem(got, size, what, strlen(what)) || got[size - 1] != 0) {
        ssize_t came = recv(fd, got + size, sizeof(got) - size, 0);
        if (came <= 0) fail("recv");
        size += (size_t)came;
    }
}

static void connect_raw(void) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    static const char frame[] = "CONNECT\naccept-version:1.2\nhost:/\n\n";
    put_all(frame, sizeof(frame));
    until("CONNECTED");
}

static void leave_raw(void) {
    static const char frame[] = "DISCONNECT\nreceipt:bye\n\n";
    put_all(frame, sizeof(frame));
    until("receipt-id:bye");
    close(fd);
}

static void send_raw(void) {
    static char out[FLUSH_EVERY * 256];
    size_t size = 0;
    connect_raw();
    begin();
    for (unsigned long i = 1; i <= count; i++) {
        static const char head[] = "SEND\ndestination:/queue/bench\ncontent-length:64\n\n";
        memcpy(out + size, head, sizeof(head) - 1);
        memcpy(out + size + sizeof(head) - 1, body, BODY + 1); /* with the zero */
        size += sizeof(head) - 1 + BODY + 1;
        if (i % FLUSH_EVERY == 0 || i == count) {
            put_all(out, size);
            size = 0;
        }
    }
    leave_raw();
    end();
}

/* Looks for the empty line and content-length of each frame, and at nothing else. */
static void receive_raw(void) {
    char frame[128];
    size_t size = 0;
    connect_raw();
    begin();
    put_all(frame,
            (size_t)snprintf(frame, sizeof(frame), "SUBSCRIBE\nid:0\ndestination:/queue/bench\ncount:%lu\n\n", count) +
                1);
    for (unsigned long i = 0; i < count;) {
        ssize_t came = recv(fd, got + size, sizeof(got) - size, 0);
        if (came <= 0) fail("recv");
        size += (size_t)came;
        char *from = got, *stop = got + size, *blank;
        while ((blank = memmem(from, (size_t)(stop - from), "\n\n", 2))) {
            char *length = memmem(from, (size_t)(blank - from), "\ncontent-length:", 16);
            if (!length) fail("content-length");
            char *next = blank + 2 + strtoul(length + 16, NULL, 10) + 1;
            if (next > stop) break;
            i++;
            from = next;
        }
        size = (size_t)(stop - from);
        memmove(got, from, size);
    }
    leave_raw();
    end();
}

int main(int argument_count, char **arguments) {
    if (argument_count != 5) fail("stomp_load swiftstomp|raw send|receive|clients N PORT");
    int is_raw = strcmp(arguments[1], "raw") == 0;
    count = strtoul(arguments[3], NULL, 10);
    port = (uint16_t)atoi(arguments[4]);
    if (strcmp(arguments[2], "clients") == 0)
        connect_with_library();
    else if (strcmp(arguments[2], "send") == 0)
        is_raw ? send_raw() : send_with_library();
    else
        is_raw ? receive_raw() : receive_with_library();
    return EXIT_SUCCESS;
}
