/*
 * No library: what the socket, and one copy, cost. It checks nothing, keeps nothing, and answers what comes. Every message is
 * encoded into a buffer that one send() takes at a flush, or when 64 KiB are there; all answers to one recv() leave in one send().
 *
 * Variant "prepared": QoS 0 packets are encoded beforehand, not even copied.
 *
 * Variants "into" and "parts": a payload that is received goes to its place in memory. What came with the header is copied
 * there, and the rest is received there. This is what a program does that has a socket and no library.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "load.h"

enum {
    SEND_BYTES = 64 << 10,
    SLACK = 20 << 10, /* more than one packet */
    LARGE = 16 << 10, /* payloads above are not copied */
    PART_BYTES = 4096 /* the receive buffer of "into" and "parts" */
};

static uint8_t out[SEND_BYTES + SLACK], in[SEND_BYTES + SLACK], place[1 << 20];
static size_t place_size, place_left; /* of the payload in `place` */
static bool has_place;
static size_t out_size, in_size;
static bool is_5_0, is_prepared;
static int connection;
static unsigned answers; /* CONNACK, SUBACK */
static const char *topic;
static size_t topic_size, prepared_size;
static unsigned message_qos;
static uint16_t identifier;

static void send_all(const uint8_t *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(connection, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) load_fail("send: %s", strerror(errno));
        if (sent < 0) continue;
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void raw_flush(void) {
    if (out_size) send_all(out, out_size);
    out_size = 0;
}

static bool raw_is_sent(void) { return out_size == 0; }

static uint8_t *put_string(uint8_t *at, const char *text, size_t size) {
    *at++ = (uint8_t)(size >> 8);
    *at++ = (uint8_t)size;
    memcpy(at, text, size);
    return at + size;
}

/* Returns what is in front of the payload. */
static size_t encode_header(uint8_t *packet, size_t size) {
    uint8_t *at = packet;
    size_t rest = 2 + topic_size + (message_qos ? 2 : 0) + is_5_0 + size;
    *at++ = (uint8_t)(0x30 | message_qos << 1);
    for (; rest > 127; rest >>= 7) *at++ = (uint8_t)(rest | 128);
    *at++ = (uint8_t)rest;
    at = put_string(at, topic, topic_size);
    if (message_qos) {
        if (++identifier == 0) identifier = 1;
        *at++ = (uint8_t)(identifier >> 8);
        *at++ = (uint8_t)identifier;
    }
    if (is_5_0) *at++ = 0;
    return (size_t)(at - packet);
}

/* Returns what the packet takes. */
static size_t encode(uint8_t *packet, const void *payload, size_t size) {
    size_t header = encode_header(packet, size);
    memcpy(packet + header, payload, size);
    return header + size;
}

/* What waits, the header and the payload, in one call as far as the kernel takes them. */
static void send_large(const void *payload, size_t size) {
    out_size += encode_header(out + out_size, size);
    struct iovec parts[2] = { { out, out_size }, { (void *)(uintptr_t)payload, size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t sent;
    do sent = sendmsg(connection, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) load_fail("sendmsg: %s", strerror(errno));
    size_t header = (size_t)sent < out_size ? (size_t)sent : out_size, rest = (size_t)sent - header;
    send_all(out + header, out_size - header);
    send_all((const uint8_t *)payload + rest, size - rest);
    out_size = 0;
}

static bool raw_publish(const void *payload, size_t size) {
    if (size > LARGE) {
        send_large(payload, size);
    } else if (is_prepared && prepared_size) {
        out_size += prepared_size; /* it lies there since the last time */
    } else if (is_prepared) {
        prepared_size = encode(out, payload, size);
        for (size_t at = prepared_size; at + prepared_size <= sizeof(out); at += prepared_size)
            memcpy(out + at, out, prepared_size);
        out_size = prepared_size;
    } else {
        out_size += encode(out + out_size, payload, size);
    }
    if (out_size >= SEND_BYTES) raw_flush();
    return true;
}

static void answer(uint8_t first, const uint8_t *body) {
    uint8_t packet[] = { first, 2, body[0], body[1] };
    if (out_size + 4 > sizeof(out)) raw_flush();
    memcpy(out + out_size, packet, sizeof(packet));
    out_size += sizeof(packet);
}

static void take_message(const uint8_t *packet, const uint8_t *body, size_t size) {
    size_t name = (size_t)body[0] << 8 | body[1];
    const uint8_t *at = body + 2 + name;
    unsigned qos = packet[0] >> 1 & 3;
    if (qos) {
        answer(qos == 1 ? 0x40 : 0x50, at);
        at += 2;
    }
    if (is_5_0) at += 1 + *at;
    load_arrived(name, at, size - (size_t)(at - body));
}

/* The rest of a message whose payload is received where it stays. */
static void receive_payload(int timeout_ms) {
    ssize_t size = recv(connection, place + place_size - place_left, place_left, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) {
        struct pollfd wanted = { .fd = connection, .events = POLLIN };
        if (poll(&wanted, 1, timeout_ms) <= 0) return;
        size = recv(connection, place + place_size - place_left, place_left, MSG_DONTWAIT);
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) load_fail("recv: %s", size ? strerror(errno) : "closed");
    place_left -= (size_t)size;
    if (place_left == 0) load_arrived(topic_size, place, place_size);
}

/* QoS 0, and 3.1.1. */
static void begin_payload(const uint8_t *body, size_t size, size_t came) {
    topic_size = (size_t)body[0] << 8 | body[1];
    place_size = size - 2 - topic_size;
    came -= 2 + topic_size;
    memcpy(place, body + 2 + topic_size, came);
    place_left = place_size - came;
}

static void take_packets(void) {
    const uint8_t *at = in, *end = in + in_size;
    unsigned done = 0;
    while (end - at >= 2) {
        const uint8_t *body = at + 1;
        size_t size = 0;
        for (unsigned shift = 0; body < end; shift += 7) {
            size |= (size_t)(*body & 127) << shift;
            if (*body++ < 128) break;
        }
        if (has_place && at[0] >> 4 == 3 && body[-1] < 128 && end - body > 100 && (size_t)(end - body) < size) {
            begin_payload(body, size, (size_t)(end - body));
            at = end;
            break;
        }
        if (body[-1] >= 128 || (size_t)(end - body) < size) break;
        switch (at[0] >> 4) {
        case 2:
        case 9:
            answers++;
            break;
        case 3:
            take_message(at, body, size);
            break;
        case 4:
        case 7:
            done++;
            break;
        case 5:
            answer(0x62, body);
            break;
        case 6:
            answer(0x70, body);
            break;
        }
        at = body + size;
    }
    in_size = (size_t)(end - at);
    memmove(in, at, in_size);
    if (done) load_completed(done);
}

/* As any client would that has a deadline: it looks, and if nothing is there it waits. */
static void raw_turn(int timeout_ms) {
    raw_flush();
    if (place_left) {
        receive_payload(timeout_ms);
        return;
    }
    size_t room = (has_place ? PART_BYTES : sizeof(in)) - in_size;
    ssize_t size = recv(connection, in + in_size, room, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) {
        struct pollfd wanted = { .fd = connection, .events = POLLIN };
        if (poll(&wanted, 1, timeout_ms) <= 0) return;
        size = recv(connection, in + in_size, room, MSG_DONTWAIT);
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) load_fail("recv: %s", size ? strerror(errno) : "closed");
    in_size += (size_t)size;
    take_packets();
    raw_flush();
}

static void await_answer(void) {
    for (unsigned before = answers; answers == before;) raw_turn(1000);
}

static void raw_open(const struct settings *settings) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(settings->port) };
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_5_0 = settings->protocol == 5;
    is_prepared = !strcmp(settings->variant, "prepared");
    has_place = !strcmp(settings->variant, "into") || !strcmp(settings->variant, "parts");
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0)
        load_fail("connect: %s", strerror(errno));
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    uint8_t packet[100] = { 0x10 }, *at = put_string(packet + 2, "MQTT", 4);
    *at++ = (uint8_t)settings->protocol;
    *at++ = 2;
    *at++ = (uint8_t)(settings->keep_alive_s >> 8);
    *at++ = (uint8_t)settings->keep_alive_s;
    if (is_5_0) *at++ = 0;
    at = put_string(at, settings->client_id, strlen(settings->client_id));
    packet[1] = (uint8_t)(at - packet - 2);
    send_all(packet, (size_t)(at - packet));
    await_answer();
}

static void raw_subscribe(const char *filter, unsigned qos) {
    uint8_t packet[100] = { 0x82, 0, 0, 1 }, *at = packet + 4;
    if (is_5_0) *at++ = 0;
    at = put_string(at, filter, strlen(filter));
    *at++ = (uint8_t)qos;
    packet[1] = (uint8_t)(at - packet - 2);
    send_all(packet, (size_t)(at - packet));
    await_answer();
}

static void raw_prepare(const char *name, unsigned qos) {
    topic = name;
    topic_size = strlen(name);
    message_qos = qos;
}

static void raw_close(void) {
    send_all((const uint8_t *)"\xE0", 2);
    close(connection);
}

static void raw_version(char *text, size_t size) { snprintf(text, size, "no library"); }

const struct peer peer = {
    .name = "raw",
    .version = raw_version,
    .open = raw_open,
    .subscribe = raw_subscribe,
    .prepare = raw_prepare,
    .publish = raw_publish,
    .flush = raw_flush,
    .is_sent = raw_is_sent,
    .turn = raw_turn,
    .close = raw_close,
};
