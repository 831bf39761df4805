/*
 * How much stack each function of libswiftstomp takes. Each is used in an ordinary way and in the deepest that is known.
 *
 * With one argument, or with two, what is done first over the loopback device is something else.
 *
 * With a bare engine this program is the server; then over the loopback device.
 */
#define _GNU_SOURCE
#include <swiftstomp.h>
#include <unistd.h>

#include "stack.h"

/* ---- The server */

static char heard[65536], answer[65536];
static size_t heard_size, answer_size;
static int refuses, falls_silent;
static unsigned messages;

static void say(const char *bytes, size_t size) {
    memcpy(answer + answer_size, bytes, size);
    answer_size += size;
}

static void say_text(const char *line) { say(line, strlen(line)); }

/* A line of a frame, without its end. */
static const char *header(const char *frame, const char *name, char *value, size_t room) {
    const char *found = strstr(frame, name);
    if (!found) return NULL;
    found += strlen(name);
    size_t size = strcspn(found, "\n");
    if (size >= room) size = room - 1;
    memcpy(value, found, size);
    value[size] = 0;
    return value;
}

static void say_message(size_t body) {
    char line[256];
    static const char text[6000] = "b";
    snprintf(line, sizeof(line),
             "MESSAGE\nsubscription:0\nmessage-id:m-%u\nack:a-%u\ndestination:/queue/a\nx\\cy:1\\\\2\n"
             "content-type:text/plain\ncontent-length:%zu\n\n",
             messages, messages, body);
    messages++;
    say_text(line);
    say(text, body);
    say("", 1);
}

static void serve_one(const char *frame) {
    char value[128], line[256];
    if (falls_silent) return;
    if (strncmp(frame, "CONNECT\n", 8) == 0) {
        if (refuses)
            say("ERROR\nmessage:no\n\nwhy\n", 22);
        else
            say_text("CONNECTED\nversion:1.2\nsession:s\nserver:test\nheart-beat:1000,1000\n\n");
        say("", 1);
        return;
    }
    if (header(frame, "\nreceipt:", value, sizeof(value))) {
        snprintf(line, sizeof(line), "RECEIPT\nreceipt-id:%s\n\n", value);
        say_text(line);
        say("", 1);
    }
    if (strncmp(frame, "SEND\n", 5) == 0 && strstr(frame, "destination:/queue/a\n") && !strstr(frame, "transaction:"))
        say_message(20);
}

/* Bodies have no zero here. */
static void serve(const void *bytes, size_t size) {
    memcpy(heard + heard_size, bytes, size);
    heard_size += size;
    char *from = heard, *end;
    while ((end = memchr(from, 0, heard_size - (size_t)(from - heard)))) {
        while (*from == '\n') from++;
        serve_one(from);
        from = end + 1;
    }
    heard_size -= (size_t)(from - heard);
    memmove(heard, from, heard_size);
}

/* ---- A client that is a bare engine */

static _Alignas(SST_MEMORY_ALIGNMENT) uint8_t memory[2 << 20];
static sst_client *client;
static sst_event event = SST_EVENT_INIT;
static uint32_t now = 1000;
static unsigned seen; /* which events there have been, a bit each */
static uint64_t token;
static sst_bytes more, plain; /* headers of a frame; those of CONNECT, which has no escapes */

static sst_bytes text(const char *string) { return sst_string(string); }

static void look_at_it(void *user, const sst_observed *frame) {
    (void)user;
    (void)frame;
}

static void log_it(void *user, int32_t level, int32_t what, int32_t number, int32_t other) {
    (void)user, (void)level, (void)what, (void)number, (void)other;
}

static const char *const event_uses[] = {
    "no event", "CONNECTED", "DISCONNECTED", "COMPLETED", "ROOM", "MESSAGE", "TRANSACTIONS_LOST", "", "",
    "",         "",          "CREDENTIALS",  "ADDRESSES", "OPEN"
};

/* Names the call by what came of it: known only afterwards, so it is noted with the last event's name and mended here. */
static int take_event(void) {
    int64_t result;
    const char *before = use;
    use = NULL;
    CALL(result, sst_next_event, (client, &event));
    use = before;
    for (size_t i = 0; deepest[i].function; i++)
        if (!deepest[i].use) deepest[i].use = event_uses[event.type];
    seen |= 1u << event.type;
    return result == 1;
}

static void take_events(void) {
    sst_bytes login = text("user"), passcode = text("secret"), name = text("x:y"), found_name, value;
    sst_bytes addresses[2] = { text("127.0.0.1"), text("::1") };
    char line[64];
    while (take_event()) {
        size_t described, position = 0;
        int64_t result;
        CALL(described, sst_describe_event, (&event, line, sizeof(line)));
        expect("line", described > 0, 1);
        switch (event.type) {
        case SST_EVENT_OPEN:
            EXPECT(SST_OK, sst_engine_opened, (client, now));
            break;
        case SST_EVENT_CREDENTIALS:
            EXPECT(SST_OK, sst_credentials, (client, event.attempt, &login, &passcode));
            break;
        case SST_EVENT_ADDRESSES:
            EXPECT(SST_OK, sst_addresses, (client, event.attempt, addresses, 2));
            break;
        case SST_EVENT_MESSAGE:
            if (event.token) token = event.token;
            EXPECT(1, sst_header_find, (&event, &name, &value));
            do CALL(result, sst_header_next, (&event, &position, &found_name, &value));
            while (result == 1);
            expect("headers", result, 0);
            break;
        case SST_EVENT_DISCONNECTED: {
            sst_failure failure = SST_FAILURE_INIT;
            EXPECT(SST_OK, sst_last_failure, (client, &failure));
            smq_tls_info info = { .size = sizeof info };
            EXPECT(SST_ERR_STATE, sst_tls_describe, (client, &info));
            smq_tls_certificate certificate = { .size = sizeof certificate };
            EXPECT(SST_ERR_STATE, sst_tls_describe_certificate, (client, 0, &certificate));
            break;
        }
        default:
            break;
        }
    }
}

static size_t transmit(void) {
    size_t total = 0;
    for (;;) {
        const void *bytes;
        size_t size;
        EXPECT(SST_OK, sst_engine_transmit, (client, now, &bytes, &size));
        if (size == 0) return total;
        serve(bytes, size);
        EXPECT(SST_OK, sst_engine_transmitted, (client, size, now));
        total += size;
    }
}

static void receive(void) {
    for (size_t given = 0; given < answer_size;) {
        void *space;
        size_t room;
        EXPECT(SST_OK, sst_engine_receive_buffer, (client, &space, &room));
        if (room == 0) {
            take_events();
            sst_engine_timed_out(client, now);
            sst_engine_receive_buffer(client, &space, &room);
        }
        if (room == 0) break; /* there is no connection any more */
        if (room > answer_size - given) room = answer_size - given;
        memcpy(space, answer + given, room);
        given += room;
        EXPECT(SST_OK, sst_engine_received, (client, room, now));
    }
    answer_size = 0;
}

static void converse(void) {
    for (int i = 0; i < 20; i++) {
        if (transmit() == 0 && answer_size == 0 && i > 0) return;
        receive();
        take_events();
    }
}

/* Time passes until something is due. */
static void wait_for_it(void) {
    int64_t wait;
    CALL(wait, sst_engine_next_timeout_ms, (client, now));
    if (wait > 0) now += (uint32_t)wait;
    RUN(sst_engine_timed_out, (client, now));
    take_events();
    converse();
}

static sst_options full(void) {
    sst_options options = SST_OPTIONS_INIT;
    options.virtual_host = text("greenhouse");
    options.login = text("user");
    options.passcode = text("secret");
    options.headers = plain;
    options.receive_bytes = 2048;
    options.outbox_bytes = 16384;
    options.submit_frames = 16;
    options.submit_bytes = 512;
    options.jitter = SST_JITTER_NONE;
    return options;
}

static void make(const sst_options *options) {
    size_t size;
    EXPECT(SST_OK, sst_options_check, (options, NULL));
    CALL(size, sst_client_size, (options));
    char names[300];
    size_t named;
    sst_options wrong = *options;
    wrong.dscp = 99;
    CALL(named, sst_options_fault, (&wrong, names, sizeof(names)));
    expect("named", named, strlen("dscp"));
    expect("room", size > 0 && size <= sizeof(memory), 1);
    EXPECT(SST_OK, sst_client_init, (memory, sizeof(memory), options, &client));
    EXPECT(SST_OK, sst_set_log, (client, SST_LOG_DEBUG, log_it, NULL));
    EXPECT(SST_OK, sst_set_tap, (client, 0, look_at_it, NULL));
}

static sst_frame frame_to(const char *destination) {
    sst_frame frame = SST_FRAME_INIT;
    frame.destination = text(destination);
    frame.content_type = text("text/plain");
    frame.body = text("21.5");
    frame.headers = more;
    return frame;
}

static void try_frames(void) {
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    subscription.destination = text("/queue/a");
    subscription.ack = SST_ACK_CLIENT_INDIVIDUAL;
    subscription.headers = more;
    use = "headers with escapes";
    EXPECT(0, sst_subscribe, (client, &subscription));
    converse();
    EXPECT(1, sst_subscribe, (client, &subscription));
    for (uint32_t flags = 0; flags < 16; flags++) {
        if ((flags & SST_SEND_AGAIN) && !(flags & SST_SEND_RECEIPT)) continue;
        sst_frame frame = frame_to("/queue/a");
        frame.flags = flags;
        EXPECT(SST_OK, sst_send, (client, &frame));
        converse();
        EXPECT(SST_OK, sst_ack, (client, token, 0));
    }
    EXPECT(SST_OK, sst_send,
           (client, &(sst_frame){ sizeof(sst_frame), 0, text("/queue/a"), text("x"), { 0 }, { 0 }, 1, 0, 0 }));
    converse();
    EXPECT(SST_OK, sst_nack, (client, token, 0));
    say_message(10);
    receive();
    take_events();
    EXPECT(SST_OK, sst_nack_with, (client, token, &more, 0));
    converse();
    use = "a large body, in parts";
    say_message(5500);
    receive();
    take_events();
    converse();
    for (int commits = 0; commits <= 1; commits++) {
        int64_t number;
        use = "a transaction";
        say_message(10);
        receive();
        take_events();
        CALL(number, sst_begin, (client));
        expect("a number", number > 0, 1);
        sst_frame frame = frame_to("/queue/b");
        frame.transaction = (uint32_t)number;
        EXPECT(SST_OK, sst_send, (client, &frame));
        EXPECT(SST_OK, sst_ack_with, (client, token, &more, (uint32_t)number));
        if (commits)
            EXPECT(SST_OK, sst_commit, (client, (uint32_t)number, 5));
        else
            EXPECT(SST_OK, sst_abort, (client, (uint32_t)number, 6));
        converse();
    }
    use = "until the outbox is full";
    sst_frame frame = frame_to("/queue/b");
    int64_t result = SST_OK;
    while (result == SST_OK) CALL(result, sst_send, (client, &frame));
    expect("full", result, SST_ERR_FULL);
    converse();
    result = SST_OK;
    use = "until the queue is full";
    while (result == SST_OK) CALL(result, sst_submit, (client, &frame));
    expect("full", result, SST_ERR_FULL);
    sst_engine_timed_out(client, now);
    converse();
    use = "";
    EXPECT(SST_OK, sst_unsubscribe, (client, 1, 9));
    converse();
    uint8_t more[32];
    sst_headers list = { more, sizeof(more), 0 };
    sst_bytes key = sst_string("durable"), value = sst_string("true");
    expect("header", sst_header_put(&list, &key, &value), SST_OK);
    sst_bytes headers = sst_header_list(&list);
    EXPECT(SST_OK, sst_unsubscribe_with, (client, 0, &headers, 9));
    converse();
}

/* The connection comes and goes, in every way. */
static void try_ends(void) {
    sst_frame frame = frame_to("/queue/b");
    use = "heart-beats";
    for (unsigned i = 0; i < 3; i++) wait_for_it();
    use = "something on its way, a transaction";
    frame.flags = SST_SEND_RECEIPT;
    sst_begin(client);
    EXPECT(SST_OK, sst_send, (client, &frame));
    falls_silent = 1;
    transmit();
    falls_silent = 0;
    EXPECT(SST_OK, sst_engine_closed, (client, 104, now));
    take_events();
    use = "the next attempt";
    for (unsigned i = 0; i < 6 && sst_client_state(client) != SST_STATE_CONNECTED; i++) wait_for_it();
    expect("connected again", sst_client_state(client), SST_STATE_CONNECTED);
    use = "malformed";
    say_text("NOTHING\na:b\n\n");
    say("", 1);
    receive();
    take_events();
    for (unsigned i = 0; i < 6 && sst_client_state(client) != SST_STATE_CONNECTED; i++) wait_for_it();
    use = "ERROR";
    say_text("ERROR\nmessage:no\nx\\cy:1\n\nwhy");
    say("", 1);
    receive();
    take_events();
    refuses = 1;
    for (unsigned i = 0; i < 6; i++) wait_for_it();
    refuses = 0;
    for (unsigned i = 0; i < 6 && sst_client_state(client) != SST_STATE_CONNECTED; i++) wait_for_it();
    use = "a server that falls silent";
    falls_silent = 1;
    for (unsigned i = 0; i < 12; i++) wait_for_it();
    falls_silent = 0;
    for (unsigned i = 0; i < 40 && sst_client_state(client) != SST_STATE_CONNECTED; i++) wait_for_it();
    expect("connected again", sst_client_state(client), SST_STATE_CONNECTED);
}

static void try_engine(void) {
    sst_options options = full();
    options.host = text("server.example");
    options.flags = SST_OPTION_OWN_TRANSPORT | SST_OPTION_ASK_CREDENTIALS;
    options.login = options.passcode = text("");
    use = "a bare engine";
    make(&options);
    EXPECT(SST_OK, sst_connect, (client));
    for (unsigned i = 0; i < 4; i++) wait_for_it();
    EXPECT(SST_STATE_CONNECTED, sst_client_state, (client));
    try_frames();
    try_ends();
    sst_stats stats = SST_STATS_INIT;
    EXPECT(SST_OK, sst_client_stats, (client, &stats));
    use = "";
    EXPECT(SST_OK, sst_hint_network, (client));
    EXPECT(SST_OK, sst_disconnect, (client, 100));
    for (unsigned i = 0; i < 4; i++) wait_for_it();
    expect("disconnected", sst_client_state(client), SST_STATE_DISCONNECTED);
    EXPECT(SST_OK, sst_connect, (client));
    take_event();
    expect("credentials", event.type, SST_EVENT_CREDENTIALS);
    EXPECT(SST_OK, sst_withhold_credentials, (client, event.attempt, 1));
    take_events();
    EXPECT(SST_OK, sst_client_close, (client));
    const unsigned all = 1u << SST_EVENT_CONNECTED | 1u << SST_EVENT_DISCONNECTED | 1u << SST_EVENT_COMPLETED |
                         1u << SST_EVENT_ROOM | 1u << SST_EVENT_MESSAGE | 1u << SST_EVENT_TRANSACTIONS_LOST |
                         1u << SST_EVENT_CREDENTIALS | 1u << SST_EVENT_OPEN;
    expect("events", seen & all, all);
}

/* ---- Over the loopback device */

static void attend(void) {
    char bytes[4096];
    ssize_t size;
    if (peer < 0) peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (peer < 0) return;
    while ((size = read(peer, bytes, sizeof(bytes))) > 0) serve(bytes, (size_t)size);
    if (answer_size && write(peer, answer, answer_size) < 0) perror("write");
    answer_size = 0;
    if (size == 0) {
        close(peer);
        peer = -1;
    }
}

static void run_until(int32_t state) {
    for (unsigned i = 0; i < 5000 && sst_client_state(client) != state; i++) {
        if (has_loop) {
            RUN(sst_next_timeout_ms, (client));
            RUN(sst_service, (client));
            poll(NULL, 0, 1);
        } else {
            RUN(sst_wait, (client, 2));
        }
        attend();
        take_events();
    }
    EXPECT(state, sst_client_state, (client));
}

static void try_socket(const char *host, uint32_t flags, const char *what) {
    sst_options options = full();
    int scheme = strstr(host, "://") != NULL;
    if (scheme)
        options.url = text(host);
    else
        options.host = text(host), options.port = port;
    options.flags = flags;
    options.reconnect_min_ms = options.reconnect_max_ms = 10;
    use = what;
    make(&options);
    int64_t descriptor;
    CALL(descriptor, sst_fd, (client));
    expect("descriptor", descriptor >= 0, 1);
    EXPECT(SST_OK, sst_connect, (client));
    run_until(SST_STATE_CONNECTED);
    sst_frame frame = frame_to("/queue/b");
    EXPECT(SST_OK, sst_send, (client, &frame));
    RUN(sst_flush, (client));
    EXPECT(SST_OK, sst_submit, (client, &frame));
    close(peer);
    peer = -1;
    run_until(SST_STATE_WAITING);
    run_until(SST_STATE_CONNECTED);
    EXPECT(SST_OK, sst_disconnect, (client, 100));
    run_until(SST_STATE_DISCONNECTED);
    EXPECT(SST_OK, sst_client_close, (client));
    if (peer >= 0) close(peer);
    peer = -1;
}

static void try_websocket(void) {
    sst_options options = full();
    sst_bytes path = text("/another"), headers = text("Authorization: Bearer 1\r\n");
    char url[64];
    snprintf(url, sizeof(url), "ws://127.0.0.1:%u/ws", port);
    options.url = text(url);
    options.websocket_request_bytes = 256;
    use = "a WebSocket";
    make(&options);
    EXPECT(SST_OK, sst_websocket_request, (client, &path, &headers));
    EXPECT(SST_OK, sst_client_close, (client));
}

static void on_event(void *user, sst_client *it, const sst_event *what) {
    (void)user, (void)what;
    if (look_at_thread() == 4) sst_disconnect(it, 0);
}

static void try_runner(void) {
    static sst_runner runner = SST_RUNNER_INIT;
    sst_runner_options how = SST_RUNNER_OPTIONS_INIT;
    sst_options options = full();
    options.host = text("localhost");
    options.port = port;
    options.reconnect_min_ms = options.reconnect_max_ms = 10;
    use = "a runner";
    make(&options);
    how.on_event = on_event;
    how.stack_bytes = 4 * AREA;
    EXPECT(SST_OK, sst_runner_start, (&runner, client, &how));
    attend_until(1); /* CONNECTED */
    sst_frame frame = frame_to("/queue/b");
    EXPECT(SST_OK, sst_submit, (client, &frame));
    attend_until(2); /* COMPLETED */
    close(peer);
    peer = -1;
    attend_until(5); /* DISCONNECTED, CONNECTED, and DISCONNECTED as it was asked for */
    EXPECT(SST_OK, sst_runner_stop, (&runner, 100));
    EXPECT(SST_OK, sst_client_close, (client));
    if (peer >= 0) close(peer);
    peer = -1;
    use = "a name, a connection that breaks";
    note("(the runner's thread)", (size_t)runner_deepest);
}

static void try_network(int first) {
    listen_at_loopback();
    /* The first thread that a program makes takes more than the others: once the call that does it is another. */
    if (first > 0) {
        char url[80];
        snprintf(url, sizeof(url), "stomp://127.0.0.1:1,localhost:%u", port);
        has_loop = first - 1;
        try_socket(url, 0, "the second server, a name");
    }
    for (has_loop = 0; has_loop <= 1; has_loop++) {
        try_socket("127.0.0.1", 0, "a numeric address");
        try_socket("localhost", 0, "a name");
        try_socket("server.example", SST_OPTION_ASK_ADDRESSES, "addresses are asked for");
    }
    try_websocket();
    try_runner();
}

static void try_helpers(void) {
    const char *name;
    uint32_t version;
    const uint16_t *layout;
    CALL(version, sst_version, ());
    CALL(layout, sst_abi_layout, ());
    expect("layout", layout[0] == sizeof(sst_bytes), 1);
    CALL(name, sst_status_name, (SST_ERR_CREDENTIALS));
    CALL(name, sst_status_text, (SST_ERR_CREDENTIALS));
    CALL(name, sst_stage_name, (SST_STAGE_CREDENTIALS));
    CALL(name, sst_rule_name, (SST_RULE_ORDER));
    CALL(name, sst_tls_cause_name, (1));
    CALL(name, sst_log_name, (SST_LOG_HINT));
    expect("names", version > 0 && name, 1);
}

static void try_journal(void) {
    char directory[] = "/tmp/sst-stack-XXXXXX", path[64];
    sst_options options = SST_OPTIONS_INIT;
    sst_journal_info info = SST_JOURNAL_INFO_INIT;
    if (!mkdtemp(directory)) exit(EXIT_FAILURE);
    snprintf(path, sizeof(path), "%s/journal", directory);
    options.url = text("stomp://127.0.0.1:1");
    options.outbox_bytes = 8192;
    options.outbox_frames = 16;
    options.journal = text(path);
    for (int turn = 0; turn < 2; turn++) {
        use = turn ? "a journal with frames" : "a new journal";
        EXPECT(SST_OK, sst_client_init, (memory, sizeof(memory), &options, &client));
        sst_frame frame = frame_to("/queue/gateway.01.state");
        frame.flags = SST_SEND_STORE;
        EXPECT(SST_OK, sst_send, (client, &frame));
        EXPECT(1, sst_sync, (client, 5000));
        EXPECT(SST_OK, sst_journal_state, (client, &info));
        EXPECT(SST_OK, sst_client_close, (client));
    }
    unlink(path);
    rmdir(directory);
}

int main(int argument_count, char **arguments) {
    (void)arguments;
    static uint8_t room[256], small[64];
    sst_headers headers = { room, sizeof(room), 0 }, few = { small, sizeof(small), 0 };
    sst_bytes name = text("x:y"), value = text("a\\b:c\nd");
    EXPECT(SST_OK, sst_header_put, (&headers, &name, &value));
    name = text("own"), value = text("value");
    EXPECT(SST_OK, sst_header_put, (&headers, &name, &value));
    more = sst_header_list(&headers);
    EXPECT(SST_OK, sst_header_put, (&few, &name, &value));
    plain = sst_header_list(&few);
    try_helpers();
    try_engine();
    try_network(argument_count - 1);
    try_journal();
    print_deepest();
    return EXIT_SUCCESS;
}
