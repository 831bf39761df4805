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
    options.outbox_messages = 65535;
    expect("largest", smq_client_size(&options) > 2 * (size_t)268435456, 1);
    options.outbox_bytes++;
    expect("too large", (int64_t)smq_client_size(&options), 0);

    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string("t");
    expect("fits", smq_publish(client, &message), SMQ_OK);
    message.qos = 3;
    expect("qos", smq_publish(client, &message), SMQ_ERR_QOS);
    message.qos = 0;
    message.size = 0;
    expect("struct", smq_publish(client, &message), SMQ_ERR_STRUCT_SIZE);
    expect("null", smq_publish(client, NULL), SMQ_ERR_NULL);
    expect("drain", smq_disconnect(client, 86400001), SMQ_ERR_OPTION);
    expect("wait", smq_wait(client, -2), SMQ_ERR_OPTION);
    expect("for ever", smq_wait(client, -1), SMQ_ERR_STATE);
    expect("close", smq_client_close(client), SMQ_OK);
    expect("again", smq_client_close(client), SMQ_ERR_CLIENT);
    free(memory);
    if (!wrong) puts("as they should be");
    return wrong;
}
