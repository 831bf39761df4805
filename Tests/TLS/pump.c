/*
 * Drives an engine of swiftmqtt-tls-engine.h over a socket, as its contract says, and speaks MQTT 3.1.1 with what answers:
 * CONNECT, SUBSCRIBE, COUNT messages of SIZE bytes that come back, DISCONNECT.
 *
 * Arguments are NAME=VALUE:
 *   port=        of 127.0.0.1, or of ::1 with ipv6=1
 *   name=        whom the certificate is to be for (localhost); a numeric address, too
 *   alpn= now=   as in smq_tls_target
 *   count= size= messages of QoS 1 and the bytes of each (0, 64); qos=0: QoS 0
 *   repeat=      so many connections with the same settings
 *   in= out=     at most so many bytes for each recv() and send()
 *   lazy=1       read only when the engine takes no more, or the network is silent
 *   cut=STEP     give up behind each STEP-th byte received, until a connection has come to its end
 *   flip=STEP    the same, but change a bit of that byte
 *   short=STEP   the same, but from that allocation on there is no memory for the next misses= (all)
 *   room=STEP    the same, but no more than n bytes can be allocated at a time
 *   steps=       at most so many
 * and what pump_ENGINE.c reads. It prints lines of NAME VALUE, then an empty line, for each connection. Exit status 0: each came
 * to an end that it tells; 2: wrong arguments; 3: the engine broke its contract.
 */
#define _GNU_SOURCE
#include "pump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Of allocator.c, if it is preloaded. */
extern unsigned long allocator_calls(void) __attribute__((weak));
extern void allocator_refuse(unsigned long first, unsigned long count) __attribute__((weak));
extern void allocator_limit(size_t bytes) __attribute__((weak));

#define must(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("broken %s:%d %s\n", __FILE__, __LINE__, #condition);                                               \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum {
    WINDOW = 50,
    PACKET_MAXIMUM = 70000,
    SILENCE_MS = 10000,
    FLIPPED_SILENCE_MS = 300,
    LAZY_MS = 20
};

static char **arguments;
static const smq_tls_engine *engine;

/* A connection. `received` counts bytes of the network. */
static struct {
    int descriptor;
    void *tls;
    bool is_open, is_blocked, peer_ended, was_notified, has_failed, was_silent;
    long received, stop_at, flip_at;
    smq_tls_failure failure;
    uint8_t input[PACKET_MAXIMUM], output[2 * PACKET_MAXIMUM];
    size_t input_size, output_size;
    long connack, suback, acknowledged, echoed, published, wrong;
} at;

const char *argument(const char *name) {
    size_t size = strlen(name);
    for (char **argument = arguments; *argument; argument++)
        if (strncmp(*argument, name, size) == 0 && (*argument)[size] == '=') return *argument + size + 1;
    return NULL;
}

long number_of(const char *name, long otherwise) {
    const char *text = argument(name);
    return text ? strtol(text, NULL, 0) : otherwise;
}

static unsigned long allocations(void) { return allocator_calls ? allocator_calls() : 0; }

static bool is_over(void) { return at.peer_ended || at.was_notified || at.has_failed || at.was_silent; }

/* ---- MQTT */

static void put(const void *data, size_t size) {
    must(at.output_size + size <= sizeof at.output);
    memcpy(at.output + at.output_size, data, size);
    at.output_size += size;
}

static void put_header(uint8_t type, size_t rest) {
    uint8_t bytes[5] = { type };
    size_t used = 1;
    do {
        bytes[used++] = (uint8_t)(rest & 127) | (rest > 127 ? 128 : 0);
        rest >>= 7;
    } while (rest > 0);
    put(bytes, used);
}

/* Message `number` has bytes that none of its neighbours has. */
static uint8_t byte_of(long number, size_t offset) { return (uint8_t)(number * 31 + (long)offset * 7); }

static void topic_of(char topic[32]) { snprintf(topic, 32, "pump/%ld", (long)getpid()); }

static void publish(long number, size_t size, bool acknowledged) {
    char topic[32];
    static uint8_t payload[PACKET_MAXIMUM];
    topic_of(topic);
    size_t length = strlen(topic);
    put_header(acknowledged ? 0x32 : 0x30, 2 + length + (acknowledged ? 2 : 0) + size);
    put((uint8_t[]){ 0, (uint8_t)length }, 2);
    put(topic, length);
    uint16_t identifier = (uint16_t)(number % 60000 + 1);
    if (acknowledged) put((uint8_t[]){ (uint8_t)(identifier >> 8), (uint8_t)identifier }, 2);
    for (size_t i = 0; i < size; i++) payload[i] = byte_of(number, i);
    put(payload, size);
}

static void subscribe(void) {
    char topic[32];
    topic_of(topic);
    size_t length = strlen(topic);
    put_header(0x82, 2 + 2 + length + 1);
    put((uint8_t[]){ 0, 1, 0, (uint8_t)length }, 4);
    put(topic, length);
    put("\0", 1);
}

static void take_packet(const uint8_t *body, size_t size, uint8_t type) {
    switch (type >> 4) {
    case 2:
        at.connack = size == 2 ? body[1] : 255;
        subscribe();
        break;
    case 9:
        at.suback = 1;
        break;
    case 4:
        at.acknowledged++;
        break;
    case 3: {
        size_t header = 2 + ((size_t)body[0] << 8 | body[1]);
        if (header > size || size - header != (size_t)number_of("size", 64)) at.wrong++;
        for (size_t i = 0; header <= size && i < size - header; i++)
            if (body[header + i] != byte_of(at.echoed, i)) {
                at.wrong++;
                break;
            }
        at.echoed++;
        break;
    }
    default:
        at.wrong++;
    }
}

static void take_packets(void) {
    size_t begin = 0;
    for (;;) {
        size_t rest = 0, used = begin + 1, shift = 0;
        while (used < at.input_size && at.input[used] & 128 && shift < 21) {
            rest |= (size_t)(at.input[used++] & 127) << shift;
            shift += 7;
        }
        if (used >= at.input_size) break;
        rest |= (size_t)at.input[used++] << shift;
        must(rest < PACKET_MAXIMUM - 5);
        if (used + rest > at.input_size) break;
        take_packet(at.input + used, rest, at.input[begin]);
        begin = used + rest;
    }
    at.input_size -= begin;
    memmove(at.input, at.input + begin, at.input_size);
}

/* ---- The network */

static void flush(void) {
    at.is_blocked = false;
    for (;;) {
        const void *data;
        size_t size, most = (size_t)number_of("out", 1 << 20);
        engine->transmit(at.tls, &data, &size);
        if (size == 0) return;
        must(data != NULL);
        ssize_t sent = send(at.descriptor, data, size < most ? size : most, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EAGAIN)
                at.is_blocked = true;
            else
                at.peer_ended = true;
            return;
        }
        engine->transmitted(at.tls, (size_t)sent);
    }
}

/* Returns whether bytes came. */
static bool receive(void) {
    void *data;
    size_t room, most = (size_t)number_of("in", 1 << 20);
    engine->receive_buffer(at.tls, &data, &room);
    if (room == 0) return false;
    if (at.stop_at > 0 && at.received >= at.stop_at) {
        at.peer_ended = true;
        return false;
    }
    if (room > most) room = most;
    if (at.stop_at > 0 && room > (size_t)(at.stop_at - at.received)) room = (size_t)(at.stop_at - at.received);
    ssize_t came = recv(at.descriptor, data, room, 0);
    if (came == 0 || (came < 0 && errno != EAGAIN)) at.peer_ended = true;
    if (came <= 0) return false;
    if (at.flip_at > at.received && at.flip_at <= at.received + came)
        ((uint8_t *)data)[at.flip_at - at.received - 1] ^= 0x10;
    at.received += came;
    engine->received(at.tls, (size_t)came);
    return true;
}

static bool wait_for(int ms) {
    struct pollfd wanted = { at.descriptor, (short)(POLLIN | (at.is_blocked ? POLLOUT : 0)), 0 };
    return poll(&wanted, 1, ms) > 0;
}

static void read_all(void) {
    while (!at.has_failed && !at.was_notified) {
        size_t room = sizeof at.input - at.input_size;
        must(room > 0);
        int32_t count = engine->read(at.tls, at.input + at.input_size, room, &at.failure);
        must(count <= (int32_t)room);
        if (count == SMQ_TLS_END)
            at.was_notified = true;
        else if (count < 0)
            at.has_failed = true;
        if (count <= 0) return;
        at.input_size += (size_t)count;
        take_packets();
    }
}

static void write_all(void) {
    while (at.output_size > 0 && !at.has_failed && !at.is_blocked) {
        int32_t count = engine->write(at.tls, at.output, at.output_size, &at.failure);
        must(count <= (int32_t)at.output_size);
        if (count < 0) at.has_failed = true;
        if (count <= 0) {
            const void *data;
            size_t size;
            engine->transmit(at.tls, &data, &size);
            must(count < 0 || size > 0); /* else nothing would ever make room */
            flush();
            continue;
        }
        at.output_size -= (size_t)count;
        memmove(at.output, at.output + count, at.output_size);
    }
    flush();
}

/* One turn: what came goes in, what is to go goes out. */
static void turn(void) {
    int silence = at.flip_at ? FLIPPED_SILENCE_MS : SILENCE_MS;
    bool came = receive();
    if (came && number_of("lazy", 0))
        while (wait_for(LAZY_MS) && receive()) {
        }
    if (!at.is_open) {
        int32_t done = engine->handshake(at.tls, &at.failure);
        if (done < 0) at.has_failed = true;
        at.is_open = done == 1;
        flush(); /* an alert, too */
    }
    if (at.is_open) {
        read_all();
        if (!at.was_notified) write_all();
    }
    if (is_over() || came) return;
    void *data;
    size_t room;
    engine->receive_buffer(at.tls, &data, &room);
    must(room > 0); /* neither handshake nor read wanted more bytes: so there is room */
    if (!wait_for(silence)) at.was_silent = true;
}

/* ---- A connection */

static bool dial(void) {
    bool six = number_of("ipv6", 0);
    uint16_t port = htons((uint16_t)number_of("port", 0));
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 sixth = { .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    at.descriptor = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (connect(at.descriptor, six ? (void *)&sixth : (void *)&four, six ? sizeof sixth : sizeof four)) {
        perror("connect");
        return false;
    }
    fcntl(at.descriptor, F_SETFL, O_NONBLOCK);
    return true;
}

static smq_tls_target target(void) {
    smq_tls_target whom = { .size = sizeof whom, .port = (uint16_t)number_of("port", 0) };
    whom.name = argument("name") ? argument("name") : "localhost";
    whom.name_size = strlen(whom.name);
    if (argument("alpn")) {
        whom.alpn = (const uint8_t *)argument("alpn");
        whom.alpn_size = strlen(argument("alpn"));
    }
    if (inet_pton(AF_INET, whom.name, whom.address) == 1)
        whom.address_size = 4;
    else if (inet_pton(AF_INET6, whom.name, whom.address) == 1)
        whom.address_size = 16;
    whom.now_valid = argument("now") != NULL;
    whom.now_s = number_of("now", 0);
    return whom;
}

static void tell_of_connection(void) {
    smq_tls_info info = { .size = sizeof info };
    smq_tls_certificate certificate = { .size = sizeof certificate };
    if (engine->info) {
        engine->info(at.tls, &info);
        printf("version %04x\nresumed %d\ncipher_id %04x\ncipher %s\nalpn %s\nlibrary %s\ncertificates %u\n",
               info.version, info.is_resumed, info.cipher_id, info.cipher, info.alpn, info.library, info.certificates);
    }
    if (engine->certificate && engine->certificate(at.tls, 0, &certificate) == 1) {
        printf("peer_subject %s\npeer_issuer %s\npeer_names %s\npeer_key %s\npeer_pin ", certificate.subject,
               certificate.issuer, certificate.names, certificate.key);
        for (size_t i = 0; i < sizeof certificate.spki_sha256; i++) printf("%02x", certificate.spki_sha256[i]);
        printf("\npeer_from %lld\npeer_to %lld\n", (long long)certificate.not_before_s,
               (long long)certificate.not_after_s);
    }
}

static void tell_of_end(void) {
    const char *end = at.has_failed ? "failure" : at.was_notified ? "notify" : at.was_silent ? "silence" : "closed";
    printf("open %d\nconnack %ld\nacknowledged %ld\nechoed %ld\nwrong %ld\nreceived %ld\nend %s\n", at.is_open,
           at.connack, at.acknowledged, at.echoed, at.wrong, at.received, end);
    printf("cause %d\nalert %d\ndepth %d\nnative %lld\nfrom %lld\nto %lld\nsubject %s\ntext %s\n", at.failure.cause,
           at.failure.alert, at.failure.depth, (long long)at.failure.native, (long long)at.failure.not_before_s,
           (long long)at.failure.not_after_s, at.failure.subject, at.failure.text);
}

static bool is_served(long count, bool acknowledged) {
    return at.suback && at.echoed == count && (!acknowledged || at.acknowledged == count);
}

/* From CONNECT to DISCONNECT, and until the server has closed. */
static void converse(void) {
    long count = number_of("count", 0);
    size_t size = (size_t)number_of("size", 64);
    bool acknowledged = number_of("qos", 1) == 1;
    unsigned long before = 0;
    put("\x10\x0c\0\4MQTT\4\2\0\0\0\0", 14);
    while (!is_over() && !is_served(count, acknowledged)) {
        while (at.suback && at.published < count && at.published - at.echoed < WINDOW &&
               sizeof at.output - at.output_size > size + 100) {
            if (at.published == WINDOW) before = allocations(); /* by then, the buffers are what they stay */
            publish(at.published++, size, acknowledged);
        }
        turn();
    }
    if (count > WINDOW) printf("steady_allocations %lu\n", allocations() - before);
    if (is_over()) return;
    put_header(0xE0, 0);
    while (!is_over() && at.output_size > 0) write_all();
    engine->finish(at.tls);
    const void *data;
    size_t left;
    engine->transmit(at.tls, &data, &left);
    must(left > 0 || at.is_blocked); /* close_notify */
    flush();
    while (!is_over()) turn();
}

/* Returns whether it came to the end that is wanted. */
static bool connect_once(void *settings, long stop_at, long flip_at, long fail_after, long room) {
    memset(&at, 0, sizeof at);
    at.stop_at = stop_at;
    at.flip_at = flip_at;
    at.connack = -1;
    at.failure = (smq_tls_failure){ .size = sizeof at.failure, .alert = -1, .depth = -1 };
    if (!dial()) exit(2);
    smq_tls_target whom = target();
    size_t size = engine->connection_bytes(settings);
    must(size > 0 && size == engine->connection_bytes(settings));
    size_t rounded = (size + SMQ_MEMORY_ALIGNMENT - 1) / SMQ_MEMORY_ALIGNMENT * SMQ_MEMORY_ALIGNMENT;
    at.tls = aligned_alloc(SMQ_MEMORY_ALIGNMENT, rounded);
    memset(at.tls, 0, rounded);
    printf("connection_bytes %zu\n", size);
    if (fail_after) allocator_refuse((unsigned long)fail_after, (unsigned long)number_of("misses", 1L << 40));
    if (room) allocator_limit((size_t)room);
    unsigned long before = allocations();
    bool has_begun = engine->begin(settings, at.tls, size, &whom, &at.failure) == 0;
    at.has_failed = !has_begun;
    while (!at.is_open && !is_over()) turn();
    printf("handshake_allocations %lu\n", allocations() - before);
    if (at.is_open && !is_over()) {
        if (!fail_after && !room) tell_of_connection();
        converse();
    }
    if (has_begun) {
        flush();
        engine->end(at.tls);
    }
    printf("allocations %lu\n", allocations() - before);
    if (fail_after) allocator_refuse(0, 0);
    if (room) allocator_limit(0);
    close(at.descriptor);
    free(at.tls);
    tell_of_end();
    must(at.has_failed == (at.failure.cause != SMQ_TLS_NONE));
    putchar('\n');
    return !at.has_failed && is_served(number_of("count", 0), number_of("qos", 1) == 1) && !at.was_silent;
}

int main(int count, char **values) {
    (void)count;
    arguments = values + 1;
    engine = pump_engine();
    smq_tls_failure why = { .size = sizeof why, .alert = -1, .depth = -1 };
    void *settings = NULL;
    int32_t status = pump_open(&settings, &why);
    if (status != SMQ_OK) {
        printf("opened %d\ncause %d\ntext %s\n", status, why.cause, why.text);
        return 0;
    }
    must(engine->size == sizeof *engine && engine->name != NULL);
    long cut = number_of("cut", 0), flip = number_of("flip", 0), scarce = number_of("short", 0),
         room = number_of("room", 0);
    long step = cut ? cut : flip ? flip : scarce ? scarce : room;
    for (long i = 0; i < number_of(step ? "steps" : "repeat", step ? 1 << 20 : 1); i++) {
        long where = step ? i * step + 1 : 0;
        bool is_whole = connect_once(settings, cut ? where : 0, flip ? where : 0, scarce ? where : 0, room ? where : 0);
        if (step && is_whole && !argument("misses")) break; /* one miss may be made good */
    }
    pump_close(settings);
    return 0;
}
