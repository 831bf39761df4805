/*
 * stomp NAME COUNT: does one operation of libswiftstomp COUNT times, and then as many times as it takes to end.
 * stomp --list: the names, each with what it does.
 *
 * As operations.c, for the other library: a bare engine, and the program as its server. Nothing in an operation calls libc:
 * copying is done by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftstomp.h>

enum {
    BATCH = 64 /* frames sent, or messages that come, at a time */
};

static const char *operation;
static _Alignas(64) uint8_t memory[400000], body[4096], said[65536], headers[512];
static size_t said_size;
static sst_client *client;
static sst_options options = SST_OPTIONS_INIT;
static sst_frame frame = SST_FRAME_INIT;
static sst_event event = SST_EVENT_INIT;
static uint32_t now, unsent;
static uint64_t events, sent_bytes;

static void expect(const char *what, long value, long expected) {
    if (value == expected) return;
    fprintf(stderr, "stomp: %s: %s is %ld, not %ld\n", operation, what, value, expected);
    exit(1);
}

/* ---- The server */

static void say_bytes(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) said[said_size++] = ((const uint8_t *)bytes)[i];
}

/* Text, and a zero behind it. */
static void say(const char *text) {
    while (*text) said[said_size++] = (uint8_t)*text++;
    said[said_size++] = 0;
}

static void receive(void) {
    size_t done = 0;
    while (done < said_size) {
        void *space;
        size_t size;
        sst_engine_receive_buffer(client, &space, &size);
        if (size == 0) break;
        if (size > said_size - done) size = said_size - done;
        for (size_t i = 0; i < size; i++) ((uint8_t *)space)[i] = said[done + i];
        sst_engine_received(client, size, now);
        done += size;
    }
    expect("bytes left", (long)(said_size - done), 0);
    said_size = 0;
}

static void transmit(void) {
    const void *data;
    size_t size;
    while (sst_engine_transmit(client, now, &data, &size) == SST_OK && size > 0) {
        sent_bytes += size;
        sst_engine_transmitted(client, size, now);
    }
}

static void take(int32_t type) {
    while (sst_next_event(client, &event) == 1) {
        expect("event", event.type, type);
        events++;
    }
}

/* ---- A client that is connected */

static void prepare(void) {
    options.flags = SST_OPTION_OWN_TRANSPORT;
    options.host = sst_string("h");
    options.receive_bytes = 16384;
    frame.destination = sst_string("/queue/gateway.01.power");
    frame.body.data = body;
    frame.body.size = 64;
    frame.flags = SST_SEND_QUIET;
}

static void connect_client(void) {
    expect("init", sst_client_init(memory, sizeof memory, &options, &client), SST_OK);
    sst_connect(client);
    take(SST_EVENT_OPEN);
    expect("opened", sst_engine_opened(client, now), SST_OK);
    transmit();
    say("CONNECTED\nversion:1.2\n\n");
    receive();
    take(SST_EVENT_CONNECTED);
    events = sent_bytes = 0;
}

static void begin(void) {
    prepare();
    connect_client();
}

static void begin_told(void) {
    prepare();
    frame.flags = 0;
    connect_client();
}

static void begin_4096(void) {
    prepare();
    frame.body.size = 4096;
    connect_client();
}

static void add(sst_headers *list, const char *name, const char *value) {
    sst_bytes a = sst_string(name), b = sst_string(value);
    expect("header", sst_header_put(list, &a, &b), SST_OK);
}

static void begin_headers(void) {
    sst_headers list = { headers, sizeof headers, 0 };
    prepare();
    frame.content_type = sst_string("application/json");
    add(&list, "persistent", "true");
    add(&list, "priority", "4");
    add(&list, "unit", "watt");
    add(&list, "odd", "a:b");
    frame.headers = sst_header_list(&list);
    connect_client();
}

static void begin_receipt(void) {
    prepare();
    frame.flags = SST_SEND_RECEIPT;
    connect_client();
}

/* ---- Sending */

static void send_one(void) {
    expect("send", sst_send(client, &frame), SST_OK);
    if (++unsent == BATCH) {
        transmit();
        unsent = 0;
    }
}

static void send_told(void) {
    send_one();
    if (unsent == 0) take(SST_EVENT_COMPLETED);
}

static void send_alone(void) {
    expect("send", sst_send(client, &frame), SST_OK);
    transmit();
}

static void send_receipt(void) {
    static uint32_t number = 0;
    char text[40] = "RECEIPT\nreceipt-id:", digits[10];
    int count = 0, at = 19;
    expect("send", sst_send(client, &frame), SST_OK);
    transmit();
    for (uint32_t rest = ++number; rest > 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
    while (count > 0) text[at++] = digits[--count];
    text[at++] = '\n';
    text[at++] = '\n';
    text[at] = 0;
    say(text);
    receive();
    take(SST_EVENT_COMPLETED);
}

static void nothing_end(uint64_t count) { (void)count; }
static void sent_end(uint64_t count) { expect("something was sent", sent_bytes >= count / BATCH * BATCH * 64, 1); }
static void events_end(uint64_t count) { expect("events", (long)events, (long)count); }

/* ---- Receiving */

static size_t body_size = 64;
static const char *more = "";
static sst_subscription subscription = SST_SUBSCRIPTION_INIT;
static uint32_t waiting;

static void subscribe(uint32_t ack) {
    begin();
    subscription.destination = frame.destination;
    subscription.ack = ack;
    expect("subscribe", sst_subscribe(client, &subscription), 0);
    transmit();
    say("RECEIPT\nreceipt-id:s0\n\n");
    receive();
    take(SST_EVENT_COMPLETED);
    events = sent_bytes = 0;
}

static void arrive_64(void) { subscribe(SST_ACK_AUTO); }
static void arrive_held(void) { subscribe(SST_ACK_CLIENT_INDIVIDUAL); }
static void arrive_4096(void) {
    body_size = 4096;
    subscribe(SST_ACK_AUTO);
}
static void arrive_headers(void) {
    more = "content-type:application/json\npersistent:true\npriority:4\nexpires:0\ntimestamp:1795826595927\n"
           "unit:watt\nodd:a\\cb\nredelivered:false\n";
    subscribe(SST_ACK_AUTO);
}

static void say_text(const char *text) {
    while (*text) said[said_size++] = (uint8_t)*text++;
}

static void say_message(void) {
    say_text("MESSAGE\nsubscription:0\nmessage-id:42\nack:42\ndestination:/queue/gateway.01.power\n");
    say_text(more);
    say_text(body_size == 64 ? "content-length:64\n\n" : "content-length:4096\n\n");
    say_bytes(body, body_size);
    said[said_size++] = 0;
}

static void arrive(void) {
    say_message();
    receive();
    take(SST_EVENT_MESSAGE);
}

static void arrive_many(void) {
    say_message();
    if (++waiting < BATCH) return;
    waiting = 0;
    receive();
    take(SST_EVENT_MESSAGE);
}

static void arrive_acknowledged(void) {
    say_message();
    receive();
    expect("message", sst_next_event(client, &event), 1);
    expect("ack", sst_ack(client, event.token, 0), SST_OK);
    events++;
    take(SST_EVENT_NONE);
    transmit();
}

static void find(void) {
    static sst_bytes name, value;
    if (name.size == 0) {
        say_message();
        receive();
        expect("message", sst_next_event(client, &event), 1);
        name = sst_string("redelivered");
    }
    expect("found", sst_header_find(&event, &name, &value), 1);
}

/* ---- Others */

static void reconnect(void) {
    connect_client();
    sst_disconnect(client, 0);
    transmit();
    say("RECEIPT\nreceipt-id:bye\n\n");
    receive();
    sst_engine_closed(client, 0, now);
    take(SST_EVENT_DISCONNECTED);
    sst_client_close(client);
}

static void idle(void) {
    sst_engine_timed_out(client, now);
    transmit();
    sst_engine_next_timeout_ms(client, now);
}

static void beat(void) {
    now += 8000;
    idle();
    say_text("\n");
    receive();
}

static void begin_beats(void) {
    prepare();
    expect("init", sst_client_init(memory, sizeof memory, &options, &client), SST_OK);
    sst_connect(client);
    take(SST_EVENT_OPEN);
    expect("opened", sst_engine_opened(client, now), SST_OK);
    transmit();
    say("CONNECTED\nversion:1.2\nheart-beat:10000,10000\n\n");
    receive();
    take(SST_EVENT_CONNECTED);
    sent_bytes = 0;
}

static void beats_end(uint64_t count) { expect("heart-beats", (long)sent_bytes, (long)count); }

static const struct operation {
    const char *name;
    unsigned count;
    void (*begin)(void);
    void (*once)(void);
    void (*end)(uint64_t count);
    const char *what;
} operations[] = {
    { "stomp-send", 1024, begin, send_one, sent_end, "SEND of 64 bytes, quiet, 64 handed out at a time" },
    { "stomp-send-told", 1024, begin_told, send_told, events_end, "the same, with its COMPLETED" },
    { "stomp-send-4k", 1024, begin_4096, send_alone, nothing_end, "SEND of 4,096 bytes, quiet, each handed out" },
    { "stomp-send-headers", 1024, begin_headers, send_one, sent_end, "with a content-type and four headers" },
    { "stomp-send-receipt", 1024, begin_receipt, send_receipt, events_end, "SEND, RECEIPT, COMPLETED" },
    { "stomp-receive", 1024, arrive_64, arrive, events_end, "a MESSAGE with 64 bytes" },
    { "stomp-receive-many", 1024, arrive_64, arrive_many, events_end, "the same, 64 at once" },
    { "stomp-receive-4k", 1024, arrive_4096, arrive, events_end, "a MESSAGE with 4,096 bytes" },
    { "stomp-receive-headers", 1024, arrive_headers, arrive, events_end,
      "with eight more headers, one with an escape" },
    { "stomp-receive-ack", 1024, arrive_held, arrive_acknowledged, events_end, "MESSAGE, ACK" },
    { "stomp-header-find", 1024, arrive_headers, find, nothing_end, "the last of 14 headers" },
    { "stomp-connect", 64, prepare, reconnect, nothing_end, "init, CONNECT, CONNECTED, DISCONNECT, RECEIPT, close" },
    { "stomp-heart-beat", 256, begin_beats, beat, beats_end, "a timeout, a heart-beat each way" },
    { "stomp-idle", 1024, begin, idle, nothing_end, "timed out, nothing to transmit, next timeout" },
};

int main(int argument_count, char **arguments) {
    size_t known = sizeof(operations) / sizeof(*operations);
    if (argument_count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < known; i++)
            printf("%s\t%u\t%s\n", operations[i].name, operations[i].count, operations[i].what);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; argument_count == 3 && i < known; i++) {
        const struct operation *it = &operations[i];
        if (strcmp(arguments[1], it->name) != 0) continue;
        operation = it->name;
        uint64_t count = strtoull(arguments[2], NULL, 10);
        it->begin();
        for (uint64_t done = 0; done < count; done++) it->once();
        it->end(count);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "usage: stomp --list | NAME COUNT\n");
    return 2;
}
