/* The URL of smq_options, against its grammar in include/swiftmqtt.h written anew; and what becomes of one that is right. */
#include "engine_tools.h"

#include <ctype.h>

static _Alignas(8) uint8_t block[1 << 17];

struct server {
    struct view host;
    uint32_t port;
};

struct url {
    struct server servers[16];
    int count;
    uint8_t user[1024], password[1024];
    size_t user_size, password_size;
    bool has_password;
};

static bool is_one_of(uint8_t byte, const char *others) {
    return byte != 0 && (isalnum(byte) || strchr(others, byte)) && byte < 128;
}

static int digit(uint8_t byte) {
    return byte < 128 && isxdigit(byte) ? (isdigit(byte) ? byte - '0' : (byte | 32) - 'a' + 10) : -1;
}

static bool parse_user(struct view text, struct url *url) {
    bool is_password = false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte == ':' && !is_password) {
            if (url->user_size == 0) return false;
            is_password = true;
            continue;
        }
        if (byte == '%') {
            if (text.size - i < 3 || digit(text.data[i + 1]) < 0 || digit(text.data[i + 2]) < 0) return false;
            byte = (uint8_t)(digit(text.data[i + 1]) << 4 | digit(text.data[i + 2]));
            if (byte == 0) return false;
            i += 2;
        } else if (!is_one_of(byte, "-._~!$&'()*+,;=:")) {
            return false;
        }
        if (is_password)
            url->password[url->password_size++] = byte;
        else
            url->user[url->user_size++] = byte;
    }
    return url->user_size > 0;
}

static bool parse_server(struct view text, struct url *url) {
    struct server *server = &url->servers[url->count++];
    size_t at = 0;
    if (text.size > 0 && text.data[0] == '[') {
        bool has_colon = false;
        for (at = 1; at < text.size && text.data[at] != ']'; at++) {
            has_colon |= text.data[at] == ':';
            if (digit(text.data[at]) < 0 && text.data[at] != ':' && text.data[at] != '.') return false;
        }
        if (at == text.size || !has_colon) return false;
        server->host = (struct view){ text.data + 1, at - 1 };
        at++;
    } else {
        while (at < text.size && is_one_of(text.data[at], "-._")) at++;
        server->host = (struct view){ text.data, at };
        if (at == 0) return false;
    }
    server->port = 1883;
    if (at == text.size) return server->host.size <= 253;
    if (text.data[at++] != ':' || at == text.size) return false;
    for (server->port = 0; at < text.size; at++) {
        if (text.data[at] < '0' || text.data[at] > '9') return false;
        server->port = server->port * 10 + text.data[at] - '0';
        if (server->port > 65535) return false;
    }
    return server->port > 0 && server->host.size <= 253;
}

static bool parse(struct view text, struct url *url) {
    memset(url, 0, sizeof *url);
    if (text.size > 1024 || text.size == 0) return false;
    size_t scheme = text.size >= 7 && strncasecmp((const char *)text.data, "mqtt://", 7) == 0 ? 7 : 0;
    struct view rest = { text.data + scheme, text.size - scheme };
    if (rest.size == 0) return false;
    if (rest.data[rest.size - 1] == '/') rest.size--;
    if (memchr(rest.data, '/', rest.size)) return false;
    const uint8_t *sign = memchr(rest.data, '@', rest.size);
    if (sign) {
        size_t size = (size_t)(sign - rest.data);
        if (!parse_user((struct view){ rest.data, size }, url)) return false;
        rest = (struct view){ sign + 1, rest.size - size - 1 };
    }
    for (;;) {
        const uint8_t *comma = memchr(rest.data, ',', rest.size);
        size_t size = comma ? (size_t)(comma - rest.data) : rest.size;
        if (url->count == 16 || !parse_server((struct view){ rest.data, size }, url)) return false;
        if (!comma) return true;
        rest = (struct view){ comma + 1, rest.size - size - 1 };
    }
}

static bool is_same(struct view view, const void *bytes, size_t size) {
    return view.size == size && (size == 0 || memcmp(view.data, bytes, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size > 1100) return 0;
    uint8_t *copy = exact_copy(input, size);
    struct url url;
    bool is_right = parse((struct view){ copy, size }, &url);
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = (smq_bytes){ copy, size };
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    options.protocol = SMQ_PROTOCOL_5_0;
    options.outbox_bytes = options.receive_bytes = 64;
    options.outbox_messages = options.subscriptions = 1;
    size_t offset = SIZE_MAX;
    int32_t status = smq_options_check(&options, &offset);
    bool tells_place = status == SMQ_ERR_URL || status == SMQ_ERR_NOT_SUPPORTED;
    if (tells_place ? offset > size : offset != SIZE_MAX)
        BROKEN("url_offset %zu with %s", offset, smq_status_name(status));
    /* A user name is UTF-8, which a URL need not be. */
    if (is_right && !wire_is_utf8((struct view){ url.user, url.user_size })) {
        if (status != SMQ_ERR_UTF8) BROKEN("a user name that is not UTF-8: %s", smq_status_name(status));
    } else if ((status == SMQ_OK) != is_right) {
        BROKEN("%s, and the URL is %s", smq_status_name(status), is_right ? "right" : "wrong");
    }
    if ((smq_client_size(&options) > 0) != (status == SMQ_OK)) BROKEN("smq_client_size and smq_options_check disagree");
    if (status == SMQ_OK) {
        smq_event event;
        size_t memory = smq_client_size(&options);
        smq_client *client = tool_client(block, memory, &options, &event);
        for (int i = 0; i < url.count; i++) {
            if (i > 0) {
                /* The next one follows at once. */
                if (smq_engine_closed(client, 0, 0) != SMQ_OK) BROKEN("smq_engine_closed");
                if (smq_next_event(client, &event) != 1 || event.type != SMQ_EVENT_DISCONNECTED) BROKEN("no end");
                smq_engine_timed_out(client, 0);
                if (smq_next_event(client, &event) != 1 || event.type != SMQ_EVENT_OPEN)
                    BROKEN("server %d is not tried", i);
            }
            if (!is_same(url.servers[i].host, event.server_reference.data, event.server_reference.size) ||
                event.port != url.servers[i].port || event.server != (uint32_t)i)
                BROKEN("server %d is another one", i);
        }
        uint8_t sent[4096];
        struct packet packet;
        if (smq_engine_opened(client, 0) != SMQ_OK) BROKEN("smq_engine_opened");
        size_t count = tool_sent(client, sent, sizeof sent);
        const char *wrong = wire_decode(sent, count, 5, true, &packet);
        if (wrong || packet.type != CONNECT) BROKEN("CONNECT: %s", wrong ? wrong : "another packet");
        if (!is_same(packet.user, url.user, url.user_size) ||
            !is_same(packet.password, url.password, url.password_size))
            BROKEN("CONNECT with another user name or password");
        tool_close(client, block, memory);
    }
    free(copy);
    return 0;
}
