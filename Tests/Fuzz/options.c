/* smq_options: which are taken, how much memory they need, and the CONNECT that is made of them. */
#include "engine_tools.h"

#include <stddef.h>

static _Alignas(8) uint8_t block[1 << 17];

struct reader {
    const uint8_t *at, *end;
};

static uint8_t next(struct reader *reader) { return reader->at < reader->end ? *reader->at++ : 0; }

static smq_bytes next_bytes(struct reader *reader) {
    size_t size = next(reader) % 64, left = (size_t)(reader->end - reader->at);
    if (size > left) size = left;
    smq_bytes bytes = { size ? exact_copy(reader->at, size) : NULL, size };
    reader->at += size;
    return bytes;
}

/* Values at which something changes, and any. */
static uint32_t next_number(struct reader *reader) {
    static const uint32_t values[] = { 0,         1,       2,         3,         5,         20,
                                       31,        32,      63,        64,        65,        128,
                                       255,       256,     512,       1024,      1025,      4096,
                                       65023,     65024,   65535,     65536,     65537,     86400000,
                                       86400001,  1048576, 268435455, 268435460, 268435461, UINT32_MAX - 1,
                                       UINT32_MAX };
    uint8_t which = next(reader);
    if (which < sizeof values / sizeof values[0]) return values[which];
    if (which < 128) return next(reader);
    return (uint32_t)next(reader) << 8 | next(reader);
}

static bool is_same(smq_bytes bytes, struct view view) {
    return bytes.size == view.size && (view.size == 0 || memcmp(bytes.data, view.data, view.size) == 0);
}

static void check_connect(const smq_options *options, const struct packet *packet) {
    bool keeps = options->flags & SMQ_OPTION_KEEP_SESSION, is_new = options->flags & SMQ_OPTION_NEW_SESSION;
    int version = options->protocol ? (int)options->protocol : 4;
    if (packet->version != version) BROKEN("CONNECT with another version");
    if (packet->clean != (!keeps || is_new)) BROKEN("CONNECT with another Clean Start");
    uint32_t keep_alive = options->keep_alive_s == 0         ? 60
                          : options->keep_alive_s == SMQ_OFF ? 0
                                                             : options->keep_alive_s;
    if (packet->keep_alive != keep_alive) BROKEN("CONNECT with another Keep Alive");
    /* A '%' is a random byte. */
    bool is_as_is = options->flags & SMQ_OPTION_CLIENT_ID_AS_IS || !options->client_id.size ||
                    !memchr(options->client_id.data, '%', options->client_id.size);
    if (is_as_is && !is_same(options->client_id, packet->client_id)) BROKEN("CONNECT with another Client Identifier");
    bool asks = options->flags & SMQ_OPTION_ASK_CREDENTIALS;
    if (!asks && !options->url.size &&
        (!is_same(options->user_name, packet->user) || !is_same(options->password, packet->password)))
        BROKEN("CONNECT with another user name or password");
    if (packet->has_will != (options->will != NULL)) BROKEN("CONNECT with or without the Will");
    if (options->will &&
        (!is_same(options->will->topic, packet->will_topic) || !is_same(options->will->payload, packet->will_payload) ||
         packet->will_qos != options->will->qos))
        BROKEN("CONNECT with another Will");
    if (version < 5) return;
    const struct properties *found = &packet->properties;
    bool is_usual = !(options->flags & SMQ_OPTION_SESSION_EXPIRY) && options->session_expiry_s == 0;
    uint32_t expiry = is_usual && keeps ? SMQ_FOREVER : options->session_expiry_s;
    if (wire_number(found, 0x11, 0) != expiry) BROKEN("CONNECT with another Session Expiry Interval");
    uint32_t receive_maximum = options->receive_maximum ? options->receive_maximum : 64;
    if (wire_number(found, 0x21, 65535) != receive_maximum) BROKEN("CONNECT with another Receive Maximum");
    if (wire_number(found, 0x22, 0) != options->topic_aliases_in) BROKEN("CONNECT with another Topic Alias Maximum");
    uint32_t usual = options->flags & SMQ_OPTION_PARTS ? 0 : options->receive_bytes ? options->receive_bytes : 4096;
    uint32_t packet_size = options->maximum_packet_bytes == SMQ_OFF ? 0
                           : options->maximum_packet_bytes          ? options->maximum_packet_bytes
                                                                    : usual;
    if (wire_number(found, 0x27, 0) != packet_size) BROKEN("CONNECT with another Maximum Packet Size");
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size > 1024) return 0;
    struct reader reader = { input, input + size };
    smq_options options = SMQ_OPTIONS_INIT;
    options.flags = SMQ_OPTION_OWN_TRANSPORT ^ ((uint32_t)next(&reader) << 8 | next(&reader));
    options.protocol = next(&reader) % 7;
    uint8_t what = next(&reader);
    if (what & 1)
        options.url = next_bytes(&reader);
    else
        options.host = smq_string("h");
    options.client_id = next_bytes(&reader);
    if (what & 2) options.user_name = next_bytes(&reader);
    if (what & 4) options.password = next_bytes(&reader);
    if (what & 8) options.properties = next_bytes(&reader);
    smq_message will = SMQ_MESSAGE_INIT;
    if (what & 16) {
        will.topic = next_bytes(&reader);
        will.payload = next_bytes(&reader);
        will.properties = next_bytes(&reader);
        will.qos = next(&reader);
        will.retain = next(&reader);
        will.expiry_s = next(&reader);
        options.will = &will;
    }
    if (what & 32) options.host = next_bytes(&reader);
    if (what & 64) options.size += next(&reader) - 4;
    /* Any of the numbers before the pointers of TLS, whichever there are. */
    static const size_t first = offsetof(smq_options, keep_alive_s);
    size_t fields = (offsetof(smq_options, tls) - first) / sizeof(uint32_t);
    while (reader.at < reader.end) {
        size_t field = next(&reader) % fields;
        uint32_t value = next_number(&reader);
        memcpy((uint8_t *)&options + first + field * sizeof value, &value, sizeof value);
    }
    smq_options *copy = malloc(options.size > sizeof options ? options.size : sizeof options);
    memset(copy, 0, options.size > sizeof options ? options.size : sizeof options);
    memcpy(copy, &options, sizeof options);
    size_t offset = SIZE_MAX;
    int32_t status = smq_options_check(copy, &offset);
    if (status > 0) BROKEN("smq_options_check: %d", status);
    size_t memory = smq_client_size(copy);
    if ((memory > 0) != (status == SMQ_OK))
        BROKEN("smq_client_size %zu and smq_options_check %s disagree", memory, smq_status_name(status));
    char names[300];
    size_t named = smq_options_fault(copy, names, sizeof names);
    if ((named > 0) != (status != SMQ_OK) || named >= sizeof names || strlen(names) != named)
        BROKEN("smq_options_fault: %zu bytes for %s", named, smq_status_name(status));
    smq_client *client = NULL;
    if (status != SMQ_OK && smq_client_init(block, sizeof block, copy, &client) != status)
        BROKEN("smq_client_init says another error");
    if (status == SMQ_OK && memory <= sizeof block && options.flags & SMQ_OPTION_OWN_TRANSPORT) {
        if (smq_client_init(block, memory - 1, copy, &client) != SMQ_ERR_MEMORY_SIZE)
            BROKEN("a block that is too small");
        smq_event event;
        client = tool_client(block, memory, copy, &event);
        static uint8_t sent[8192];
        struct packet packet;
        if (smq_engine_opened(client, 0) != SMQ_OK) BROKEN("smq_engine_opened");
        size_t count = tool_sent(client, sent, sizeof sent);
        const char *wrong = wire_decode(sent, count, 5, true, &packet);
        if (wrong || packet.type != CONNECT) BROKEN("CONNECT: %s", wrong ? wrong : "another packet");
        check_connect(&options, &packet);
        tool_close(client, block, memory);
    }
    free(copy);
    const smq_bytes *texts[] = { &options.url,        &options.client_id, &options.user_name, &options.password,
                                 &options.properties, &will.topic,        &will.payload,      &will.properties };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) free((void *)texts[i]->data);
    if (what & 32) free((void *)options.host.data);
    return 0;
}
