/*
 * libswiftstomp's engine through the C ABI: an input is options, then a list of steps. A step is a byte that says which, one
 * that says how long its data is, and the data. What is checked, whatever the server says:
 *
 * - what is sent is frames of a client, each with the headers that it has to have, and with receipts that were not used;
 * - each frame that was accepted, and is to be told, is told once; in the end all of them are;
 * - a call that is wrong changes no byte of the client;
 * - pointers of events lie in the client's block, and headers can be walked;
 * - a MESSAGE of the server's own making arrives as it was, whole or in parts.
 */
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swiftstomp.h"

#define BROKEN(...) (fputs("\nBROKEN PROMISE: ", stderr), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

enum {
    MOST = 512
};

static _Alignas(8) uint8_t block[1 << 16];
static size_t block_size;
static sst_client *client;
static sst_event event;
static uint32_t now;
static bool has_event, is_open, is_named;
static char connected[] = "CONNECTED\nversion:1.0\n\n"; /* with the newest version that is offered */

/* What waits to be told, by cookie. */
static uint8_t owed[MOST];
static int accepted;
static uint64_t tokens[64];
static int token_count;
static int transactions[8], transaction_count;
static uint64_t subscribed[3]; /* the cookie of each subscription */

/* What was sent on this connection, as far as it is no whole frame; and what the server owes. */
static uint8_t sent[1 << 16];
static size_t sent_size;
static bool has_connect, has_disconnect;
static char receipts[MOST][8];
static int receipt_count, receipt_taken;

/* The body of the message that the server has made last, which arrives whole or in parts. */
static uint8_t expected[300];
static size_t expected_size, expected_at;
static bool expects;

struct input {
    const uint8_t *next, *end;
};

static uint8_t byte(struct input *input) { return input->next < input->end ? *input->next++ : 0; }

/* ---- Calls that fail change nothing */

__attribute__((no_sanitize("address"))) static uint64_t hash_of_block(void) {
    const uint64_t *words = (const uint64_t *)(const void *)block;
    uint64_t hash = 0;
    for (size_t i = 0; i < block_size / 8; i++) hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return hash;
}

static int32_t checked(int32_t result, uint64_t before, const char *name) {
    if (result > SST_ERR_NULL || result <= -200) return result;
    if (hash_of_block() != before)
        BROKEN("%s failed with %s, and has changed something", name, sst_status_name(result));
    return result;
}
#define CHECKED(call)                                                                                                  \
    __extension__({                                                                                                    \
        uint64_t before = hash_of_block();                                                                             \
        checked(call, before, #call);                                                                                  \
    })

/* ---- What is sent */

static bool is_value(const uint8_t *line, size_t size, const char *name, const uint8_t **value, size_t *value_size) {
    size_t length = strlen(name);
    if (size <= length || memcmp(line, name, length) != 0 || line[length] != ':') return false;
    *value = line + length + 1;
    *value_size = size - length - 1;
    return true;
}

static void take_frame(const uint8_t *frame, const uint8_t *head_end, size_t body_size) {
    static const char *const commands[] = { "CONNECT", "SEND",  "SUBSCRIBE", "UNSUBSCRIBE", "ACK",
                                            "NACK",    "BEGIN", "COMMIT",    "ABORT",       "DISCONNECT" };
    static const char *const needed[] = { NULL, "destination", "destination", "id",          NULL,
                                          NULL, "transaction", "transaction", "transaction", NULL };
    const uint8_t *line_end = memchr(frame, '\n', (size_t)(head_end + 1 - frame));
    size_t size = (size_t)(line_end - frame), which = 0;
    while (which < 10 && (strlen(commands[which]) != size || memcmp(frame, commands[which], size) != 0)) which++;
    if (which == 10) BROKEN("a command that no client has: %.*s", (int)size, (const char *)frame);
    if ((which == 0) != !has_connect) BROKEN("%s, first or not", commands[which]);
    if (has_disconnect) BROKEN("%s behind DISCONNECT", commands[which]);
    has_connect = true;
    has_disconnect = which == 9;
    if (body_size > 0 && which != 1) BROKEN("%s has a body", commands[which]);
    bool found = needed[which] == NULL;
    for (const uint8_t *line = line_end + 1; line < head_end; line = line_end + 1) {
        const uint8_t *value;
        size_t value_size;
        line_end = memchr(line, '\n', (size_t)(head_end + 1 - line));
        size_t line_size = (size_t)(line_end - line);
        const uint8_t *colon = memchr(line, ':', line_size);
        if (!colon || colon == line) BROKEN("a header line without a name");
        if (which != 0 && memchr(line, '\r', line_size)) BROKEN("a carriage return in a header");
        if (needed[which] && is_value(line, line_size, needed[which], &value, &value_size)) found = true;
        if (is_value(line, line_size, "receipt", &value, &value_size)) {
            if (value_size == 0 || value_size >= sizeof receipts[0]) BROKEN("a receipt of %zu bytes", value_size);
            if (receipt_count == MOST) receipt_count = receipt_taken = 0;
            memset(receipts[receipt_count], 0, sizeof receipts[0]);
            memcpy(receipts[receipt_count++], value, value_size);
        }
    }
    if (!found) BROKEN("%s without %s", commands[which], needed[which]);
}

/* The frames that are whole. */
static void take_frames(void) {
    size_t at = 0;
    for (;;) {
        while (at < sent_size && sent[at] == '\n') at++; /* heart-beats */
        const uint8_t *frame = sent + at, *head_end = NULL;
        for (size_t i = at; i + 1 < sent_size; i++)
            if (sent[i] == '\n' && sent[i + 1] == '\n') {
                head_end = sent + i;
                break;
            }
        if (!head_end) break;
        size_t body = (size_t)(head_end + 2 - sent), size = 0;
        bool has_length = false;
        for (const uint8_t *line = frame; line < head_end;) {
            const uint8_t *line_end = memchr(line, '\n', (size_t)(head_end + 1 - line)), *value;
            size_t value_size;
            if (!has_length && is_value(line, (size_t)(line_end - line), "content-length", &value, &value_size)) {
                has_length = true;
                for (size_t i = 0; i < value_size; i++) size = 10 * size + (size_t)(value[i] - '0');
            }
            line = line_end + 1;
        }
        if (!has_length) {
            const uint8_t *zero = memchr(sent + body, 0, sent_size - body);
            if (!zero) break;
            size = (size_t)(zero - sent) - body;
        }
        if (sent_size - body <= size) break;
        if (sent[body + size] != 0) BROKEN("no zero behind a body");
        take_frame(frame, head_end, size);
        at = body + size + 1;
    }
    memmove(sent, sent + at, sent_size - at);
    sent_size -= at;
}

static void transmit(size_t most) {
    const void *data;
    size_t size;
    if (!is_open) return;
    while (most > 0) {
        if (sst_engine_transmit(client, now, &data, &size) != SST_OK) BROKEN("sst_engine_transmit");
        if (size == 0) break;
        if ((const uint8_t *)data < block || (const uint8_t *)data + size > block + block_size) BROKEN("foreign bytes");
        if (size > most) size = most;
        if (size > sizeof sent - sent_size) size = sizeof sent - sent_size;
        memcpy(sent + sent_size, data, size);
        sent_size += size;
        most -= size;
        if (sst_engine_transmitted(client, size, now) != SST_OK) BROKEN("sst_engine_transmitted");
        take_frames();
    }
}

/* ---- What is received */

/* Returns how much the client took. */
static size_t say(const uint8_t *bytes, size_t size) {
    size_t said = 0;
    while (is_open && said < size) {
        void *space;
        size_t room;
        if (sst_engine_receive_buffer(client, &space, &room) != SST_OK) BROKEN("sst_engine_receive_buffer");
        if (room == 0) break;
        if (room > size - said) room = size - said;
        memcpy(space, bytes + said, room);
        said += room;
        if (sst_engine_received(client, room, now) != SST_OK) BROKEN("sst_engine_received");
    }
    return said;
}

static void say_text(const char *text) { say((const uint8_t *)text, strlen(text) + 1); }

/* ---- Events */

static void forget_connection(void) {
    is_open = false;
    sent_size = 0;
    has_connect = has_disconnect = false;
    receipt_count = receipt_taken = 0;
    token_count = transaction_count = 0;
    expects = false;
}

static void check_bytes(sst_bytes bytes, const char *what) {
    const uint8_t *data = bytes.data;
    if (bytes.size == 0) return;
    if (data < block || data + bytes.size > block + block_size) BROKEN("%s lies elsewhere", what);
}

static void check_event(void) {
    sst_bytes name, value;
    size_t position = 0;
    int headers = 0;
    char line[64];
    check_bytes(event.destination, "destination");
    check_bytes(event.content_type, "content_type");
    check_bytes(event.message_id, "message_id");
    check_bytes(event.headers, "headers");
    check_bytes(event.body, "body");
    check_bytes(event.text, "text");
    while (sst_header_next(&event, &position, &name, &value) == 1) {
        check_bytes(name, "a name");
        check_bytes(value, "a value");
        if (++headers > 70000) BROKEN("headers without an end");
    }
    if (sst_describe_event(&event, line, sizeof line) == 0) BROKEN("nothing to describe");
    if (!memchr(line, 0, sizeof line)) BROKEN("no zero behind a description");
}

static void take_message(void) {
    if (event.body_offset + event.body.size > event.body_total && event.status == SST_OK)
        BROKEN("a part beyond the whole");
    if (event.token && token_count < 64) tokens[token_count++] = event.token;
    if (!expects) return;
    if (event.status == SST_OK) {
        if (event.body_offset != expected_at || event.body_total != expected_size) BROKEN("a part in another place");
        if (memcmp(event.body.data ? event.body.data : "", expected + expected_at, event.body.size) != 0)
            BROKEN("another body");
        expected_at += event.body.size;
    }
    if (event.part & SST_PART_LAST) {
        if (event.status == SST_OK && expected_at != expected_size) BROKEN("a body that ends early");
        expects = false;
    }
}

/* False: there is none. */
static bool take_event(void) {
    event = (sst_event)SST_EVENT_INIT;
    int32_t result = sst_next_event(client, &event);
    has_event = result == 1;
    if (result < 0) BROKEN("sst_next_event: %s", sst_status_name(result));
    if (result == 0) return false;
    check_event();
    switch (event.type) {
    case SST_EVENT_COMPLETED:
        /* A subscription may be refused on a later connection, too. */
        if (event.completed == SST_COMPLETED_SUBSCRIBE && event.status == SST_ERR_REFUSED) owed[event.cookie] = 1;
        if (event.cookie >= MOST || owed[event.cookie] == 0)
            BROKEN("completed, and nobody waits: %d", (int)event.cookie);
        owed[event.cookie] = 0;
        break;
    case SST_EVENT_MESSAGE:
        take_message();
        break;
    case SST_EVENT_DISCONNECTED:
        forget_connection();
        break;
    case SST_EVENT_OPEN:
        forget_connection();
        if (sst_engine_opened(client, now) != SST_OK) BROKEN("sst_engine_opened");
        is_open = true;
        break;
    default:
        break;
    }
    return true;
}

static void take_events(int most) {
    for (int i = 0; i < most && take_event(); i++) {
    }
}

/* ---- Steps */

static uint64_t cookie(void) { return accepted < MOST ? (uint64_t)accepted : MOST - 1; }

static void promised(int32_t status, uint8_t waits) {
    if (status < 0) return;
    owed[cookie()] = waits;
    accepted++;
}

static void send_frame(const uint8_t *data, size_t size, bool submits) {
    static uint8_t list[256];
    sst_headers headers = { list, sizeof list, 0 };
    sst_frame frame = SST_FRAME_INIT;
    struct input input = { data, data + size };
    if (accepted >= MOST - 1) return;
    uint8_t how = byte(&input);
    frame.flags = how & 63;
    frame.overflow = how >> 6;
    uint8_t shape = byte(&input);
    frame.transaction = shape & 1 && transaction_count ? (uint32_t)transactions[transaction_count - 1]
                        : shape & 2                    ? 9
                                                       : 0;
    size_t left = (size_t)(input.end - input.next), name = shape >> 5 < left ? shape >> 5 : left;
    frame.destination = shape & 4 ? sst_string("/queue/a") : (sst_bytes){ input.next, name };
    if (shape & 8) {
        sst_bytes key = { input.next, name }, value = { input.next + name, left - name };
        sst_header_put(&headers, &key, &value);
        frame.headers = shape & 16 ? (sst_bytes){ input.next, left } : sst_header_list(&headers);
    }
    frame.body = (sst_bytes){ input.next, left };
    frame.cookie = cookie();
    bool is_told = !(frame.flags & SST_SEND_QUIET);
    /* A quiet one is only told if it fails. */
    if (submits)
        promised(sst_submit(client, &frame), is_told ? 1 : 2); /* a full queue counts that */
    else {
        int32_t status = CHECKED(sst_send(client, &frame));
        if (status == SST_DROPPED && frame.overflow != SST_OVERFLOW_DROP_NEWEST) BROKEN("dropped, and was not to be");
        if (status != SST_DROPPED) promised(status, is_told ? 1 : 2);
    }
}

static void subscribe(const uint8_t *data, size_t size) {
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    if (accepted >= MOST - 1 || size == 0) return;
    subscription.ack = data[0] & 3;
    subscription.destination = (sst_bytes){ data + 1, size - 1 };
    subscription.cookie = cookie();
    int32_t status = CHECKED(sst_subscribe(client, &subscription));
    if (status >= 3) BROKEN("subscription %d of 3", (int)status);
    if (status >= 0) subscribed[status] = cookie();
    promised(status, 1);
}

/* A message that is as it has to be, but for what the byte says. */
static void say_message(const uint8_t *data, size_t size) {
    uint8_t text[700];
    if (size == 0 || !is_open || has_event) return;
    size_t body = size - 1 < sizeof expected ? size - 1 : sizeof expected;
    bool has_length = data[0] & 1 || memchr(data + 1, 0, body);
    int head =
        snprintf((char *)text, sizeof text, "MESSAGE\nsubscription:%d\nmessage-id:%d\nack:a%d\ndestination:/q\\c%s\n",
                 data[0] >> 1 & 7, data[0], data[0], data[0] & 16 ? "\nodd\\\\:\\n\\r" : "");
    if (has_length) head += snprintf((char *)text + head, sizeof text - (size_t)head, "content-length:%zu\n", body);
    text[head++] = '\n';
    memcpy(text + head, data + 1, body);
    text[(size_t)head + body] = 0;
    size_t whole = (size_t)head + body + 1;
    memcpy(expected, data + 1, body);
    expected_size = body;
    expected_at = 0;
    take_events(1000);
    expects = is_named && sst_client_state(client) == SST_STATE_CONNECTED;
    size_t said = 0;
    for (int turn = 0; said < whole && turn < 2000 && is_open; turn++) {
        size_t took = say(text + said, whole - said);
        said += took;
        if (said < whole && took == 0) {
            if (!take_event()) break;
        }
    }
    take_events(1000);
    /* It has to wait until others are acknowledged, or was not heard to its end: what comes next is not judged. */
    if (expects) is_named = expects = false;
}

static void confirm(int count) {
    char text[64];
    for (; count > 0 && receipt_taken < receipt_count; count--) {
        snprintf(text, sizeof text, "RECEIPT\nreceipt-id:%s\n\n", receipts[receipt_taken++]);
        say_text(text);
        take_events(3);
    }
}

static void step(uint8_t kind, const uint8_t *data, size_t size) {
    uint8_t first = size ? data[0] : 0;
    switch (kind % 19) {
    case 0:
        is_named = false; /* whatever it says, the next message may not be understood */
        say(data, size);
        break;
    case 1:
        say_message(data, size);
        break;
    case 2:
        confirm(first);
        break;
    case 3:
        if (is_open && has_connect && sst_client_state(client) == SST_STATE_CONNECTING) {
            say_text(first & 1   ? "CONNECTED\nversion:1.2\nheart-beat:5000,5000\nsession:a\\b\n\n"
                     : first & 2 ? "CONNECTED\nversion:1.1\r\nserver:x\n\n"
                                 : "CONNECTED\n\n");
            take_events(2);
            is_named = first & 1;
        }
        break;
    case 4:
        send_frame(data, size, false);
        break;
    case 5:
        subscribe(data, size);
        break;
    case 6:
        if (accepted < MOST - 1) {
            uint32_t number = first & 15;
            sst_bytes list = { data + 1, first & 16 ? size - 1 : 0 }; /* with a bit, there is a byte */
            int32_t status = CHECKED(sst_unsubscribe_with(client, number, &list, cookie()));
            if (status == SST_OK) owed[subscribed[number]] = 0; /* its own end is the only one */
            promised(status, 1);
        }
        break;
    case 7:
        take_events(first + 1);
        break;
    case 8:
        transmit(first);
        break;
    case 9:
        transmit(1 << 16);
        break;
    case 10:
        now += first * 100u;
        if (sst_engine_timed_out(client, now) < 0) BROKEN("sst_engine_timed_out");
        has_event = false;
        break;
    case 11:
        if (is_open && sst_engine_closed(client, first & 1 ? 104 : 0, now) == SST_OK) forget_connection();
        is_named = false;
        break;
    case 12:
        if (token_count) {
            int which = first % token_count;
            uint64_t token = tokens[which];
            uint32_t transaction = first & 128 && transaction_count ? (uint32_t)transactions[0] : 0;
            sst_bytes list = { data + 1, first & 32 ? size - 1 : 0 }; /* with a bit, there is a byte */
            int32_t status =
                first & 32 ? CHECKED((first & 64 ? sst_nack_with : sst_ack_with)(client, token, &list, transaction))
                           : CHECKED((first & 64 ? sst_nack : sst_ack)(client, token, transaction));
            if (status == SST_OK) tokens[which] = tokens[--token_count];
        } else {
            CHECKED(sst_ack(client, first, 0));
        }
        break;
    case 13: {
        int32_t number = CHECKED(sst_begin(client));
        if (number > 0 && transaction_count < 8) transactions[transaction_count++] = number;
        break;
    }
    case 14:
        if (accepted < MOST - 1) {
            uint32_t number = transaction_count ? (uint32_t)transactions[transaction_count - 1] : first;
            int32_t status = CHECKED((first & 1 ? sst_abort : sst_commit)(client, number, cookie()));
            if (status == SST_OK && transaction_count) transaction_count--;
            promised(status, 1);
        }
        break;
    case 15:
        sst_disconnect(client, first * 10u);
        break;
    case 16:
        sst_connect(client);
        break;
    case 17:
        if (is_open) say_text(first & 1 ? "ERROR\nmessage:no\\cway\nreceipt-id:1\n\nwhy" : "ERROR\n\n");
        is_named = false;
        break;
    case 18:
        send_frame(data, size, true);
        break;
    }
}

/* ---- The end: a server that does all that it is asked for */

static void finish(void) {
    for (int turn = 0; turn < 3000; turn++) {
        take_events(1000);
        int32_t state = sst_client_state(client);
        if (state == SST_STATE_DISCONNECTED) sst_connect(client);
        if (state == SST_STATE_WAITING || state == SST_STATE_DISCONNECTING || turn % 50 == 49) {
            now += 6000;
            sst_engine_timed_out(client, now);
            has_event = false;
            if (is_open && turn % 50 == 49 && sst_engine_closed(client, 0, now) == SST_OK) forget_connection();
        }
        if (!is_open) continue;
        bool had_connect = has_connect;
        transmit(1 << 16);
        if (has_connect && !had_connect) say_text(connected);
        take_events(1000);
        confirm(MOST);
        bool is_owed = false;
        for (int i = 0; i < MOST; i++) is_owed |= owed[i] == 1;
        if (!is_owed && state == SST_STATE_CONNECTED) return;
    }
    for (int i = 0; i < MOST; i++)
        if (owed[i] == 1) BROKEN("cookie %d is never told", i);
    BROKEN("the client does not come to rest");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = { data, data + size };
    sst_options options = SST_OPTIONS_INIT;
    uint8_t flags = byte(&input), sizes = byte(&input);
    options.flags = SST_OPTION_OWN_TRANSPORT;
    options.host = sst_string("h");
    options.oldest = 10;
    options.newest = 10 + flags % 3;
    connected[20] = (char)('0' + flags % 3);
    options.receive_bytes = 64u << (sizes & 3);
    options.outbox_bytes = 64u << (sizes >> 2 & 3);
    options.outbox_frames = 1 + (sizes >> 4 & 7);
    options.control_bytes = 128;
    options.held_messages = 1 + (flags >> 2 & 3);
    options.held_bytes = 16;
    options.subscriptions = 3;
    options.subscription_bytes = 100;
    options.transactions = 2;
    options.urgent_frames = flags >> 4 & 2;
    options.submit_frames = 2;
    options.submit_bytes = 64;
    options.jitter = SST_JITTER_NONE;
    options.reconnect_min_ms = 1000;
    block_size = sst_client_size(&options);
    if (block_size == 0 || block_size > sizeof block) BROKEN("a client of %zu bytes", block_size);
    memset(block, 0xA5, sizeof block);
    memset(owed, 0, sizeof owed);
    accepted = token_count = transaction_count = 0;
    now = flags & 64 ? 0xFFFFF000u : 0; /* a clock that wraps */
    is_named = false;
    forget_connection();
    if (sst_client_init(block, block_size, &options, &client) != SST_OK) BROKEN("sst_client_init");
    sst_engine_timed_out(client, now);
    if (sst_connect(client) != SST_OK) BROKEN("sst_connect");
    take_events(4);
    if (flags & 128) { /* to where most of it happens */
        transmit(1 << 16);
        step(3, (const uint8_t *)"\1", 1);
    }
    while (input.next < input.end) {
        uint8_t kind = byte(&input), length = byte(&input);
        size_t left = (size_t)(input.end - input.next);
        if (length > left) length = (uint8_t)left;
        uint8_t *copy = malloc(length ? length : 1);
        memcpy(copy, input.next, length);
        step(kind, copy, length);
        free(copy);
        input.next += length;
    }
    finish();
    if (sst_client_close(client) != SST_OK) BROKEN("sst_client_close");
    __asan_unpoison_memory_region(block, block_size);
    return 0;
}
