/*
 * A gateway in its own poll() loop: gateway [URL]. It publishes each "TOPIC VALUE" from standard input; while the link
 * is down, only the latest value of each topic. "!TOPIC TEXT" is an alarm, which is sent before everything else and
 * never dropped: if there is no room for it, the gateway says so. At the end of the input it disconnects as soon as
 * the server has everything, at the latest after 5 seconds, with status 1 if anything was refused or is left.
 */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <swiftmqtt.h>
#include <time.h>
#include <unistd.h>

#include "why.h"

#define OUTBOX_BYTES 16384
#define OUTBOX_MESSAGES 128
#define URGENT_MESSAGES 16
#define LEAVE_MS 5000

/* There is no heap: the linker knows how much memory this program needs. */
static alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[SMQ_CLIENT_BYTES(OUTBOX_BYTES, OUTBOX_MESSAGES, 1024,
                                                                           256 + 500 + URGENT_MESSAGES * (40 + 128))];

static int has_failed = 0;

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
    if (status < 0) {
        fprintf(stderr, "%s%s: %s\n", message.urgent ? "alarm lost: " : "", line, smq_status_name(status));
        has_failed = 1;
    }
}

/* Reads what is available and publishes all complete lines, at the end also the last one. Returns 0 at the end. */
static int read_lines(smq_client *client) {
    static char text[1024];
    static size_t size = 0;
    ssize_t count = read(STDIN_FILENO, text + size, sizeof text - size);
    if (count <= 0) {
        text[size] = '\0'; /* there is room: a full buffer is discarded below */
        if (size > 0) publish(client, text);
        return 0;
    }
    size += (size_t)count;
    char *line = text, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - text)))) {
        *end = '\0';
        if (*line) publish(client, line);
        line = end + 1;
    }
    size -= (size_t)(line - text);
    if (size == sizeof text) { /* no line is that long */
        fprintf(stderr, "%zu bytes without an end of line are discarded\n", size);
        has_failed = 1;
        size = 0;
    }
    memmove(text, line, size);
    return 1;
}

/* The header describes the two numbers: "ended 8 2" is a network that failed, at SMQ_STAGE_CONNECT. */
static void log_line(void *user, int32_t level, int32_t what, int32_t number, int32_t other) {
    (void)user;
    fprintf(stderr, "%s%s %d %d\n", level == SMQ_LOG_WARNING ? "warning: " : "", smq_log_name(what), (int)number,
            (int)other);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* How many messages the server does not have yet. */
static unsigned waiting(const smq_client *client) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    return stats.outbox_messages + stats.urgent_messages;
}

int main(int argc, char **argv) {
    if (argc > 2) refuse("gateway", argv[2], "is one argument too many");
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
        print_options_error(stderr, &options, status);
        return 1;
    }
    struct pollfd fds[] = { { smq_fd(client), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
    smq_event event = SMQ_EVENT_INIT;
    int64_t end = 0; /* when to disconnect at the latest, once the input has ended */
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        int timeout = smq_next_timeout_ms(client);
        int64_t rest = end ? end - now_ms() : INT_MAX;
        if (timeout < 0 || timeout > rest) timeout = rest > 0 ? (int)rest : 0;
        poll(fds, 2, timeout);
        if (fds[1].revents && !read_lines(client)) {
            fds[1].fd = -1;
            end = now_ms() + LEAVE_MS;
        }
        smq_service(client);
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_COMPLETED && event.status) has_failed = 1;
            if (event.status) print_why(stderr, client, &event);
        }
        /* Not at once: before CONNACK smq_disconnect() gives up the attempt, and waiting messages are not sent. */
        if (end && (waiting(client) == 0 || now_ms() >= end)) smq_disconnect(client, 0);
    }
    unsigned left = waiting(client);
    if (left > 0) fprintf(stderr, "messages not delivered: %u\n", left);
    smq_client_close(client);
    return has_failed || left > 0;
}
