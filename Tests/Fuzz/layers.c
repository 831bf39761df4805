/*
 * The layers between the network and MQTT, through the bare engine: SOCKS5, HTTP CONNECT, WebSocket, alone and upon one another,
 * with an engine for TLS that only masks bytes. An input is a byte that says which, and then what the network brings: a byte
 * with a size and what to do besides, and so many bytes.
 *
 * Whatever comes, the client says at most once that a connection has ended, and why; it asks for room that it has, and offers
 * bytes that are there.
 */
#include "engine_tools.h"

enum {
    MASK = 0x5A,
    ROOM = 96
};

static _Alignas(8) uint8_t block[1 << 16];

/* ---- What went out, in plain, of which the key of the WebSocket is needed: no input could have its answer */

static uint8_t sent[1024];
static size_t sent_size;

static void keep_sent(const void *data, size_t size) {
    if (size > sizeof sent - sent_size) size = sizeof sent - sent_size;
    memcpy(sent + sent_size, data, size);
    sent_size += size;
}

/* RFC 3174, for a text below 120 bytes. */
static void sha1(const uint8_t *text, size_t size, uint8_t digest[20]) {
    uint32_t h[5] = { 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0 };
    uint8_t padded[128] = { 0 };
    memcpy(padded, text, size);
    padded[size] = 0x80;
    size_t total = size < 56 ? 64 : 128;
    padded[total - 2] = (uint8_t)(size * 8 >> 8);
    padded[total - 1] = (uint8_t)(size * 8);
    for (size_t block_at = 0; block_at < total; block_at += 64) {
        uint32_t w[80], v[5];
        for (int i = 0; i < 80; i++) {
            const uint8_t *p = padded + block_at + 4 * i;
            uint32_t x = i < 16 ? 0 : w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];
            w[i] = i < 16 ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : x << 1 | x >> 31;
        }
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 80; i++) {
            uint32_t f = i < 20   ? ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5A827999
                         : i < 40 ? (v[1] ^ v[2] ^ v[3]) + 0x6ED9EBA1
                         : i < 60 ? ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) + 0x8F1BBCDC
                                  : (v[1] ^ v[2] ^ v[3]) + 0xCA62C1D6;
            uint32_t next = (v[0] << 5 | v[0] >> 27) + f + v[4] + w[i];
            v[4] = v[3], v[3] = v[2], v[2] = v[1] << 30 | v[1] >> 2, v[1] = v[0], v[0] = next;
        }
        for (int i = 0; i < 5; i++) h[i] += v[i];
    }
    for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
}

/* The answer to the request that went out; 0: there was none. */
static size_t good_answer(char *to, size_t room) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char name[] = "Sec-WebSocket-Key: ";
    const uint8_t *key = memmem(sent, sent_size, name, strlen(name));
    if (!key || sent + sent_size - key < (ptrdiff_t)strlen(name) + 24) return 0;
    uint8_t text[60], digest[21] = { 0 };
    memcpy(text, key + strlen(name), 24);
    memcpy(text + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    sha1(text, sizeof text, digest);
    char accept[29] = { 0 };
    for (int i = 0; i < 28; i++) {
        uint32_t word =
            (uint32_t)digest[i / 4 * 3] << 16 | (uint32_t)digest[i / 4 * 3 + 1] << 8 | digest[i / 4 * 3 + 2];
        accept[i] = digits[word >> (18 - i % 4 * 6) & 63];
    }
    accept[27] = '=';
    return (size_t)snprintf(
        to, room, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
        accept);
}

/* ---- TLS: the first byte of each side is 0x16, the rest is masked; 0x15 masked is its end, 0xFF a failure */

struct masked {
    uint8_t in[ROOM], out[ROOM];
    size_t in_size, out_size;
    bool is_open, is_over;
};

static size_t masked_bytes(const void *settings) {
    (void)settings;
    return sizeof(struct masked);
}

static int32_t fail(smq_tls_failure *failure) {
    failure->cause = SMQ_TLS_PEER;
    failure->alert = 10;
    memcpy(failure->text, "masked", 7);
    return -1;
}

static int32_t masked_begin(const void *settings, void *memory, size_t size, const smq_tls_target *target,
                            smq_tls_failure *failure) {
    (void)settings, (void)failure;
    struct masked *m = memory;
    if (size != sizeof *m || target->name_size == 0 || target->name[target->name_size] != 0) BROKEN("begin");
    for (size_t i = 0; i < size; i++)
        if (((uint8_t *)memory)[i] != 0) BROKEN("memory that is not zeroed");
    m->out[0] = 0x16;
    m->out_size = 1;
    return 0;
}

static void masked_receive_buffer(void *connection, void **data, size_t *size) {
    struct masked *m = connection;
    *data = m->in + m->in_size;
    *size = ROOM - m->in_size;
}

static void masked_received(void *connection, size_t size) {
    struct masked *m = connection;
    if (size == 0 || size > ROOM - m->in_size) BROKEN("received");
    m->in_size += size;
}

static void remove_first(struct masked *m, size_t size) {
    m->in_size -= size;
    memmove(m->in, m->in + size, m->in_size);
}

static int32_t masked_handshake(void *connection, smq_tls_failure *failure) {
    struct masked *m = connection;
    if (m->is_open) BROKEN("handshake after its end");
    if (m->in_size == 0) return 0;
    if (m->in[0] != 0x16) return fail(failure);
    remove_first(m, 1);
    m->is_open = true;
    return 1;
}

static int32_t masked_read(void *connection, void *data, size_t size, smq_tls_failure *failure) {
    struct masked *m = connection;
    if (!m->is_open || size == 0) BROKEN("read");
    if (m->in_size == 0) return 0;
    if (m->in[0] == 0xFF) return fail(failure);
    size_t count = 0;
    while (count < size && count < m->in_size && m->in[count] != 0xFF && m->in[count] != (0x15 ^ MASK)) count++;
    if (count == 0) return SMQ_TLS_END;
    for (size_t i = 0; i < count; i++) ((uint8_t *)data)[i] = m->in[i] ^ MASK;
    remove_first(m, count);
    return (int32_t)count;
}

static int32_t masked_write(void *connection, const void *data, size_t size, smq_tls_failure *failure) {
    (void)failure;
    struct masked *m = connection;
    if (!m->is_open || m->is_over || size == 0) BROKEN("write");
    size_t count = size < ROOM - m->out_size ? size : ROOM - m->out_size;
    keep_sent(data, count);
    for (size_t i = 0; i < count; i++) m->out[m->out_size + i] = ((const uint8_t *)data)[i] ^ MASK;
    m->out_size += count;
    return (int32_t)count;
}

static void masked_transmit(void *connection, const void **data, size_t *size) {
    struct masked *m = connection;
    *data = m->out;
    *size = m->out_size;
}

static void masked_transmitted(void *connection, size_t size) {
    struct masked *m = connection;
    if (size == 0 || size > m->out_size) BROKEN("transmitted");
    m->out_size -= size;
    memmove(m->out, m->out + size, m->out_size);
}

static void masked_finish(void *connection) {
    struct masked *m = connection;
    if (m->is_over) BROKEN("finish twice");
    m->is_over = true;
}

static void masked_end(void *connection) { (void)connection; }

static const smq_tls_engine masked = {
    .size = sizeof masked,
    .flags = SMQ_TLS_ENGINE_NO_HEAP,
    .name = "masked",
    .connection_bytes = masked_bytes,
    .begin = masked_begin,
    .receive_buffer = masked_receive_buffer,
    .received = masked_received,
    .handshake = masked_handshake,
    .read = masked_read,
    .write = masked_write,
    .transmit = masked_transmit,
    .transmitted = masked_transmitted,
    .finish = masked_finish,
    .end = masked_end,
};

/* ---- The client */

static smq_client *client;
static uint32_t now;
static int ends, connections;
static bool is_masked;

static void take_events(void) {
    smq_event event = SMQ_EVENT_INIT;
    /* A message has a byte at least, and each was received. */
    for (int i = 0; i < 5000; i++) {
        if (smq_next_event(client, &event) != 1) return;
        if (event.type == SMQ_EVENT_CONNECTED) connections++;
        if (event.type != SMQ_EVENT_DISCONNECTED) continue;
        ends++;
        smq_failure failure = SMQ_FAILURE_INIT;
        if (smq_last_failure(client, &failure) != SMQ_OK) BROKEN("smq_last_failure");
        if (failure.status != event.status || failure.stage != event.stage) BROKEN("a failure of something else");
        if (failure.text.size > 128 || (failure.text.size && !failure.text.data)) BROKEN("a text of a failure");
        for (size_t j = 0; j < failure.text.size; j++)
            if (((const volatile uint8_t *)failure.text.data)[j] == 0xA5 && failure.tls_cause)
                BROKEN("a text from nowhere");
    }
    BROKEN("events without end");
}

static void transmit(size_t most) {
    for (int i = 0; i < 20000; i++) {
        const void *data;
        size_t size;
        if (smq_engine_transmit(client, now, &data, &size) != SMQ_OK) BROKEN("smq_engine_transmit");
        if (size == 0) return;
        free(exact_copy(data, size)); /* all of it can be read */
        if (size > most) size = most;
        if (!is_masked) keep_sent(data, size);
        if (smq_engine_transmitted(client, size, now) != SMQ_OK) BROKEN("smq_engine_transmitted");
    }
    BROKEN("bytes without end");
}

static void bring(const uint8_t *data, size_t size) {
    while (size > 0) {
        void *room;
        size_t count;
        if (smq_engine_receive_buffer(client, &room, &count) != SMQ_OK) BROKEN("smq_engine_receive_buffer");
        if (count == 0) return; /* an event is to be taken first, or the connection has ended */
        if (count > size) count = size;
        memcpy(room, data, count);
        if (smq_engine_received(client, count, now) != SMQ_OK) BROKEN("smq_engine_received");
        data += count;
        size -= count;
        take_events();
    }
}

/* What a good web server says to the request. */
static void answer(void) {
    char text[256];
    transmit(SIZE_MAX);
    size_t size = good_answer(text, sizeof text);
    for (size_t i = 0; i < size && is_masked; i++) text[i] ^= MASK;
    bring((const uint8_t *)text, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2 || size > 4096) return 0;
    smq_options options = SMQ_OPTIONS_INIT;
    uint8_t choice = input[0];
    options.host = smq_string(choice & 1 ? "10.1.2.3" : "server.example");
    options.flags = SMQ_OPTION_OWN_TRANSPORT | SMQ_OPTION_NO_RECONNECT | (choice & 2 ? SMQ_OPTION_WEBSOCKET : 0);
    if (choice & 4) options.tls = &masked;
    static const char *const proxies[] = { "", "socks5://proxy", "socks5://u:p@proxy", "http://u:p@proxy" };
    options.proxy = smq_string(proxies[choice >> 3 & 3]);
    options.outbox_bytes = options.receive_bytes = 64;
    options.outbox_messages = options.subscriptions = 2;
    options.protocol = choice & 32 ? SMQ_PROTOCOL_5_0 : SMQ_PROTOCOL_3_1_1;
    options.websocket_bytes = choice & 2 ? 256 : 0;
    size_t bytes = smq_client_size(&options);
    if (bytes == 0 || bytes > sizeof block) BROKEN("smq_client_size");
    memset(block, 0xA5, bytes);
    smq_event event;
    client = tool_client(block, bytes, &options, &event);
    ends = connections = 0;
    sent_size = 0;
    is_masked = options.tls != NULL;
    now = 0;
    if (smq_engine_opened(client, now) != SMQ_OK) BROKEN("smq_engine_opened");
    take_events();
    bool is_told_end = false;
    for (size_t at = 1; at < size && !is_told_end;) {
        uint8_t step = input[at++];
        size_t count = step & 31;
        if (count > size - at) count = size - at;
        uint8_t *copy = exact_copy(input + at, count);
        bring(copy, count);
        free(copy);
        at += count;
        switch (step >> 5) {
        case 0:
            break;
        case 1:
            transmit(SIZE_MAX);
            break;
        case 2:
            transmit(1);
            break;
        case 3:
            smq_publish_text(client, "a", "0123456789", 1, 0);
            break;
        case 4:
            smq_engine_timed_out(client, now += 700);
            break;
        case 5:
            smq_disconnect(client, 100);
            break;
        case 6:
            smq_engine_closed(client, step & 1 ? 104 : 0, now);
            is_told_end = true;
            break;
        case 7:
            answer();
            break;
        }
        take_events();
    }
    smq_disconnect(client, 100);
    for (int i = 0; i < 200 && smq_client_state(client) != SMQ_STATE_DISCONNECTED; i++) {
        transmit(SIZE_MAX);
        smq_engine_timed_out(client, now += 1000);
        take_events();
    }
    take_events();
    if (smq_client_state(client) != SMQ_STATE_DISCONNECTED || ends != 1 || connections > 1) BROKEN("%d ends", ends);
    tool_close(client, block, bytes);
    return 0;
}
