/*
 * A gateway in a poll() loop of its own: "TOPIC VALUE" from standard input is published, of each topic only the latest value
 * while the link is away; "!TOPIC TEXT" is an alarm, which goes ahead of everything and is never dropped. gateway [URL]
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <swiftmqtt.h>
#include <unistd.h>

#include "why.h"

#define OUTBOX_BYTES 16384
#define OUTBOX_MESSAGES 128
#define URGENT_MESSAGES 16

/* Nothing is taken from a heap: the linker knows how much memory this program needs. */
static alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[SMQ_CLIENT_BYTES(OUTBOX_BYTES, OUTBOX_MESSAGES, 1024,
                                                                           256 + URGENT_MESSAGES * (40 + 128))];

static void publish(smq_client *client, char *line) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1;
    if (*line == '!') {
        message.urgent = 1;
        line++;
    } else {
        message.quiet = 1;
        message.overflow = SMQ_OVERFLOW_LATEST;
    }
    char *value = strchr(line, ' ');
    if (value) *value++ = '\0';
    message.topic = smq_string(line);
    message.payload = smq_string(value);
    int32_t status = smq_publish(client, &message);
    if (status < 0) fprintf(stderr, "%s: %s\n", line, smq_status_name(status));
}

/* Reads what is there, and publishes the lines that are whole. Returns 0 at the end of the input. */
static int read_lines(smq_client *client) {
    static char text[1024];
    static size_t size = 0;
    ssize_t count = read(STDIN_FILENO, text + size, sizeof text - size);
    if (count <= 0) return 0;
    size += (size_t)count;
    char *line = text, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - text)))) {
        *end = '\0';
        if (*line) publish(client, line);
        line = end + 1;
    }
    size -= (size_t)(line - text);
    if (size == sizeof text) size = 0; /* no line is that long */
    memmove(text, line, size);
    return 1;
}

static void log_line(void *user, int32_t level, int32_t what, int32_t number, int32_t other) {
    (void)user;
    fprintf(stderr, "%s%s %d %d\n", level == SMQ_LOG_WARNING ? "warning: " : "", smq_log_name(what), (int)number,
            (int)other);
}

int main(int argc, char **argv) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.outbox_bytes = OUTBOX_BYTES;
    options.outbox_messages = OUTBOX_MESSAGES;
    options.receive_bytes = 1024;
    options.urgent_messages = URGENT_MESSAGES;
    smq_client *client = NULL;
    int32_t status = smq_client_init(memory, sizeof memory, &options, &client);
    if (status == SMQ_OK) status = smq_set_log(client, SMQ_LOG_INFO, log_line, NULL);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        fprintf(stderr, "%s\n", smq_status_name(status));
        return 1;
    }
    struct pollfd fds[] = { { smq_fd(client), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
    smq_event event = SMQ_EVENT_INIT;
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        poll(fds, 2, smq_next_timeout_ms(client));
        if (fds[1].revents && !read_lines(client)) {
            fds[1].fd = -1;
            smq_disconnect(client, 5000);
        }
        smq_service(client);
        while (smq_next_event(client, &event) == 1)
            if (event.status) print_why(stderr, &event);
    }
    return smq_client_close(client) != SMQ_OK;
}
