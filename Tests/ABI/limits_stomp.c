/*
 * Arguments of libswiftstomp at and beyond their limits, as limits.c has those of libswiftmqtt: on a 32-bit processor sizes near
 * 2^31 and 2^32 are where it goes wrong. Prints what was answered; the test compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftstomp.h>

static int wrong;

static void expect(const char *what, int64_t answer, int64_t expected) {
    if (answer == expected) return;
    printf("%s: %lld, not %lld\n", what, (long long)answer, (long long)expected);
    wrong = 1;
}

/* What an option takes, and more than that. */
static void options_beyond(void) {
    static const struct {
        size_t offset;
        uint32_t most;
    } fields[] = {
        { offsetof(sst_options, outbox_bytes), 268435456 },
        { offsetof(sst_options, outbox_frames), 65535 },
        { offsetof(sst_options, receive_bytes), 268435456 },
        { offsetof(sst_options, control_bytes), 1048576 },
        { offsetof(sst_options, subscriptions), 1024 },
        { offsetof(sst_options, subscription_bytes), 65535 },
        { offsetof(sst_options, held_messages), 65535 },
        { offsetof(sst_options, held_bytes), 65535 },
        { offsetof(sst_options, transactions), 256 },
        { offsetof(sst_options, heart_beat_send_ms), 86400000 },
        { offsetof(sst_options, connect_timeout_ms), 86400000 },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        sst_options options = SST_OPTIONS_INIT;
        options.host = sst_string("127.0.0.1");
        uint32_t *field = (uint32_t *)(void *)((char *)&options + fields[i].offset);
        *field = fields[i].most;
        expect("at the limit", sst_options_check(&options, NULL), SST_OK);
        expect("and a size", sst_client_size(&options) > 0, 1);
        static const uint32_t more[] = { 1, 0x7fffffff, 0x80000000, 0xfffffffe };
        for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
            *field = k == 0 ? fields[i].most + 1 : more[k];
            expect("beyond the limit", sst_options_check(&options, NULL), SST_ERR_OPTION);
            expect("and no size", (int64_t)sst_client_size(&options), 0);
        }
    }
}

int main(void) {
    static const size_t sizes[] = { 65536,      268435455,  268435456,  0x7fff0000,   0x7ffffff0, 0x7fffffff,
                                    0x80000000, 0xfffffff0, 0xffffffff, SIZE_MAX - 1, SIZE_MAX };
    sst_options options = SST_OPTIONS_INIT;
    options.host = sst_string("127.0.0.1");
    size_t size = sst_client_size(&options);
    char *memory = malloc(size + SST_MEMORY_ALIGNMENT);
    sst_client *client = NULL;
    expect("size", sst_client_init(memory, size - 1, &options, &client), SST_ERR_MEMORY_SIZE);
    expect("alignment", sst_client_init(memory + 1, size, &options, &client), SST_ERR_MEMORY_ALIGNMENT);
    expect("untouched", client != NULL, 0);
    expect("init", sst_client_init(memory, size, &options, &client), SST_OK);

    sst_bytes queue = sst_string("/queue/a");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sst_bytes much = { memory, sizes[i] };
        sst_frame frame = SST_FRAME_INIT;
        frame.destination = queue;
        frame.body = much;
        expect("body", sst_send(client, &frame), SST_ERR_TOO_LARGE);
        /* A text is not read that fits nowhere. */
        if (sizes[i] >= 268435456) {
            frame.destination = much;
            frame.body = sst_string("b");
            expect("destination", sst_send(client, &frame), SST_ERR_TOO_LARGE);
            frame.destination = queue;
            frame.content_type = much;
            expect("content type", sst_send(client, &frame), SST_ERR_TOO_LARGE);
            frame.content_type = sst_string("");
            frame.headers = much;
            expect("headers", sst_send(client, &frame), SST_ERR_TOO_LARGE);
            sst_subscription wanted = SST_SUBSCRIPTION_INIT;
            wanted.destination = much;
            expect("subscription", sst_subscribe(client, &wanted), SST_ERR_TOO_LARGE);
            wanted.destination = queue;
            wanted.headers = much;
            expect("headers of it", sst_subscribe(client, &wanted), SST_ERR_TOO_LARGE);
        }
        char room[16];
        sst_headers list = { room, sizeof room, 0 };
        sst_bytes name = sst_string("a");
        expect("value", sst_header_put(&list, &name, &much), SST_ERR_HEADER);
        expect("name", sst_header_put(&list, &much, &name), SST_ERR_HEADER);
        expect("list", (int64_t)list.size, 0);
        list.size = sizes[i]; /* behind the end of its room */
        expect("used", sst_header_put(&list, &name, &name), SST_ERR_FULL);
        sst_options larger = options;
        larger.login = much;
        expect("login", sst_options_check(&larger, NULL), SST_ERR_OPTION);
        expect("credentials", sst_credentials(client, 0, &much, &name) < 0, 1);
        sst_event event = SST_EVENT_INIT;
        size_t position = sizes[i];
        sst_bytes found;
        expect("beyond", sst_header_next(&event, &position, &found, &found), 0);
        expect("describe", sst_describe_event(&event, NULL, sizes[i]) > 0, 1);
        if (sizes[i] <= UINT32_MAX) {
            expect("unsubscribe", sst_unsubscribe(client, (uint32_t)sizes[i], 0), SST_ERR_SUBSCRIPTION);
            expect("with headers", sst_unsubscribe_with(client, (uint32_t)sizes[i], &much, 0) < 0, 1);
            expect("ack with headers", sst_ack_with(client, sizes[i], &much, 0) < 0, 1);
            expect("nack with headers", sst_nack_with(client, 1, &much, (uint32_t)sizes[i]) < 0, 1);
            expect("commit", sst_commit(client, (uint32_t)sizes[i], 0) < 0, 1);
        }
    }
    sst_event event = SST_EVENT_INIT;
    expect("nothing happened", sst_next_event(client, &event), 0);
    expect("token", sst_ack(client, UINT64_MAX, 0) < 0, 1);
    sst_frame frame = SST_FRAME_INIT;
    frame.destination = queue;
    expect("fits", sst_send(client, &frame), SST_OK);
    frame.size = 0;
    expect("struct", sst_send(client, &frame), SST_ERR_STRUCT_SIZE);
    expect("null", sst_send(client, NULL), SST_ERR_NULL);
    options_beyond();

    options.outbox_bytes = options.receive_bytes = 268435456;
    expect("largest", sst_client_size(&options) > 2 * (size_t)268435456, 1);
    expect("two buffers", sst_options_check(&options, NULL), SST_OK);
    /* Each is allowed, and both together are more than a block may have: 4,294,836,225 bytes. */
    options.held_messages = options.held_bytes = 65535;
    expect("held", sst_options_check(&options, NULL), SST_ERR_OPTION);
    options.held_messages = 4096;
    expect("held that fit", sst_options_check(&options, NULL), SST_OK);
    options.held_messages = options.held_bytes = UINT32_MAX;
    expect("the product", sst_options_check(&options, NULL), SST_ERR_OPTION);
    options.held_messages = options.held_bytes = 0;
    options.subscriptions = options.subscription_bytes = UINT32_MAX;
    expect("another product", sst_options_check(&options, NULL), SST_ERR_OPTION);

    expect("wait", sst_wait(client, -2), SST_ERR_OPTION);
    expect("for ever", sst_wait(client, -1), SST_ERR_STATE);
    expect("close", sst_client_close(client), SST_OK);
    expect("again", sst_client_close(client), SST_ERR_CLIENT);
    free(memory);
    if (!wrong) puts("as they should be");
    return wrong;
}
