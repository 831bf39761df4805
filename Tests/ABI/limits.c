/*
 * Arguments at and beyond their limits, as a C program sees them on the processor it runs on: sizes near
 * 2^31 and 2^32 are where a 32-bit library goes wrong. Prints what was answered; the test compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>

static int wrong;

static void expect(const char *what, int64_t answer, int64_t expected) {
    if (answer == expected) return;
    printf("%s: %lld, not %lld\n", what, (long long)answer, (long long)expected);
    wrong = 1;
}

static uint32_t published(const smq_client *client) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    return (uint32_t)stats.messages_published + stats.outbox_bytes + stats.outbox_messages;
}

static int32_t no_bytes(void *user, uint32_t offset, void *buffer, size_t size) {
    (void)user, (void)offset, (void)buffer, (void)size;
    return 0;
}

/* Numbers in a payload: big-endian on every processor, at any address. */
static void numbers(void) {
    unsigned char bytes[9];
    for (int offset = 0; offset < 2; offset++) {
        unsigned char *at = bytes + offset;
        smq_put_uint16(at, 0x89AB);
        expect("uint16", at[0] == 0x89 && at[1] == 0xAB && smq_get_uint16(at) == 0x89AB, 1);
        smq_put_uint32(at, 0x89ABCDEF);
        expect("uint32", at[0] == 0x89 && at[3] == 0xEF && smq_get_uint32(at) == 0x89ABCDEF, 1);
        smq_put_uint64(at, 0x89ABCDEF01234567);
        expect("uint64", at[0] == 0x89 && at[7] == 0x67 && smq_get_uint64(at) == 0x89ABCDEF01234567, 1);
        smq_put_float(at, -1.5f);
        expect("float", at[0] == 0xBF && at[1] == 0xC0 && smq_get_float(at) == -1.5f, 1);
        smq_put_double(at, -1.5);
        expect("double", at[0] == 0xBF && at[1] == 0xF8 && at[7] == 0 && smq_get_double(at) == -1.5, 1);
    }
}

static void count_calls(void *user, smq_client *client, const smq_event *event) {
    if (client && event->type == SMQ_EVENT_MESSAGE) ++*(int *)user;
}

/* The library never calls a handler; smq_dispatch() does, if there is one. */
static void handlers(smq_client *client) {
    int calls = 0;
    smq_event event = SMQ_EVENT_INIT;
    event.type = SMQ_EVENT_MESSAGE;
    expect("no handler", smq_dispatch(client, &event), 0);
    event.handler = count_calls;
    event.user = &calls;
    expect("handler", smq_dispatch(client, &event), 1);
    expect("called", calls, 1);
    smq_server server = SMQ_SERVER_INIT;
    expect("no server", smq_client_server(client, &server), SMQ_ERR_STATE);
}

int main(void) {
    static const size_t sizes[] = { 65531,      65536,      268435455,  268435456,  0x7fff0000,   0x7ffffff0,
                                    0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, SIZE_MAX - 1, SIZE_MAX };
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("127.0.0.1");
    size_t size = smq_client_size(&options);
    char *memory = malloc(size + SMQ_MEMORY_ALIGNMENT);
    smq_client *client = NULL;
    expect("size", smq_client_init(memory, size - 1, &options, &client), SMQ_ERR_MEMORY_SIZE);
    expect("alignment", smq_client_init(memory + 1, size, &options, &client), SMQ_ERR_MEMORY_ALIGNMENT);
    expect("untouched", client != NULL, 0);
    expect("init", smq_client_init(memory, size, &options, &client), SMQ_OK);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        smq_message message = SMQ_MESSAGE_INIT;
        message.qos = (uint8_t)(i % 3);
        message.topic = smq_string("t");
        message.payload.data = memory;
        message.payload.size = sizes[i];
        uint32_t before = published(client);
        expect("payload", smq_publish(client, &message), SMQ_ERR_TOO_LARGE);
        message.topic = message.payload;
        message.payload = smq_string("p");
        expect("topic", smq_publish(client, &message), sizes[i] == 65531 ? SMQ_ERR_UTF8 : SMQ_ERR_TOPIC_NAME);
        expect("nothing changed", published(client), before);
        options.client_id.data = memory;
        options.client_id.size = sizes[i];
        int32_t status = smq_options_check(&options, NULL);
        expect("client id", status == SMQ_ERR_OPTION || (sizes[i] == 65531 && status == SMQ_ERR_UTF8), 1);
    }
    options.client_id = smq_string("");
    options.outbox_bytes = 268435456;
    options.receive_bytes = 268435456;
    options.outbox_messages = 65023;
    expect("largest", smq_client_size(&options) > 2 * (size_t)268435456, 1);
    options.outbox_bytes++;
    expect("too large", (int64_t)smq_client_size(&options), 0);
    for (uint32_t bytes = 64; bytes <= 4194304; bytes *= 4) {
        options = (smq_options)SMQ_OPTIONS_INIT;
        options.host = smq_string("127.0.0.1");
        options.client_id = smq_string("limits");
        options.flags = SMQ_OPTION_KEEP_SESSION;
        options.protocol = SMQ_PROTOCOL_5_0;
        options.outbox_bytes = bytes;
        options.outbox_messages = bytes / 200 + 1;
        options.receive_bytes = bytes;
        size_t enough = SMQ_CLIENT_BYTES(bytes, bytes / 200 + 1, bytes, 9 + 6);
        size_t needed = smq_client_size(&options);
        expect("static block", needed + 1024 <= enough && enough <= needed + 8192, 1);
    }
    options = (smq_options)SMQ_OPTIONS_INIT;
    options.host = smq_string("127.0.0.1");
    options.protocol = SMQ_PROTOCOL_5_0;
    options.request_bytes = 268435456;
    options.handlers = 65535;
    options.handler_bytes = UINT32_MAX; /* on a 32-bit processor more than there is */
    size_t most = smq_client_size(&options);
    expect("handler bytes", most == 0 || most >= options.handler_bytes, 1);
    options.handler_bytes = 0;
    options.topic_aliases_in = options.topic_aliases_out = 1024;
    options.topic_alias_bytes = 65535;
    options.receive_maximum = 65535;
    options.requests = 256;
    options.replies = 1024;
    options.control_bytes = options.stream_bytes = 1048576;
    expect("all at once", smq_client_size(&options) > 268435456 + 2 * 1024 * (size_t)65535, 1);

    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string("t");
    expect("fits", smq_publish(client, &message), SMQ_OK);
    message.qos = 3;
    expect("qos", smq_publish(client, &message), SMQ_ERR_QOS);
    message.qos = 0;
    message.size = 0;
    expect("struct", smq_publish(client, &message), SMQ_ERR_STRUCT_SIZE);
    expect("null", smq_publish(client, NULL), SMQ_ERR_NULL);
    message = (smq_message)SMQ_MESSAGE_INIT;
    message.topic = smq_string("t");
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t before = published(client);
        void *place = NULL;
        char room[4];
        smq_bytes much = { memory, sizes[i] };
        message.payload = much;
        expect("reserve", smq_publish_reserve(client, &message, &place), SMQ_ERR_TOO_LARGE);
        int32_t status = smq_publish_stream(client, &message, no_bytes, NULL);
        expect("stream", status == SMQ_ERR_NOT_SUPPORTED || status == SMQ_ERR_TOO_LARGE, 1);
        expect("no place", place != NULL, 0);
        expect("commit", smq_publish_commit(client, sizes[i]), SMQ_ERR_STATE);
        smq_subscription filter = { much, 0, 0, 0, 0, 0 };
        smq_subscriptions request = SMQ_SUBSCRIPTIONS_INIT;
        request.list = &filter;
        request.count = 1;
        expect("filter", smq_subscribe(client, &request), SMQ_ERR_TOPIC_FILTER);
        filter.filter = smq_string("t");
        request.count = (uint32_t)sizes[i];
        if (request.count > 65535) expect("count", smq_subscribe(client, &request), SMQ_ERR_OPTION);
        expect("handler", smq_handle(client, (uint32_t)sizes[i], &filter.filter, NULL, NULL), SMQ_ERR_OPTION);
        expect("match", smq_topic_matches(&much, &filter.filter), SMQ_ERR_TOPIC_FILTER);
        expect("name", smq_topic_name_check(&much), SMQ_ERR_TOPIC_NAME);
        smq_properties list = { room, 0, 0 };
        expect("property", smq_property_put_bytes(&list, SMQ_PROPERTY_CORRELATION_DATA, &much), SMQ_ERR_PROPERTY);
        expect("pair", smq_property_put_pair(&list, &much, &filter.filter), SMQ_ERR_PROPERTY);
        smq_property property = SMQ_PROPERTY_INIT;
        smq_bytes short_list = { memory, 1 };
        size_t beyond = sizes[i];
        int32_t next = smq_property_next(&short_list, &beyond, &property);
        expect("beyond", next == 0 || next == SMQ_ERR_PROPERTY, 1);
        expect("template", smq_expand_template(&filter.filter, room, sizes[i]), 1);
        expect("nothing changed", published(client), before);
    }
    expect("token", smq_ack(client, UINT64_MAX, 0, NULL), SMQ_ERR_TOKEN);
    expect("codes", smq_disconnect_with(client, 0, UINT32_MAX, NULL), SMQ_ERR_REASON_CODE);
    numbers();
    handlers(client);
    expect("drain", smq_disconnect(client, 86400001), SMQ_ERR_OPTION);
    expect("wait", smq_wait(client, -2), SMQ_ERR_OPTION);
    expect("for ever", smq_wait(client, -1), SMQ_ERR_STATE);
    expect("close", smq_client_close(client), SMQ_OK);
    expect("again", smq_client_close(client), SMQ_ERR_CLIENT);
    free(memory);
    if (!wrong) puts("as they should be");
    return wrong;
}
