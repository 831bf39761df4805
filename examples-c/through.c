/*
 * The bare engine over a command: speaks MQTT through its standard input and output, and prints received messages.
 *
 *     through FILTER COMMAND [ARGUMENT]…        such as: through 'a/#' openssl s_client -quiet -connect host:8883
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "command.h"
#include "daemon.h"
#include "why.h"

/* The time that the engine is told: it may wrap. */
static uint32_t now(void) { return (uint32_t)now_ms(); }

/* Returns whether something arrived. */
static int receive(smq_client *client, int fd) {
    void *space;
    size_t size;
    if (smq_engine_receive_buffer(client, &space, &size) != SMQ_OK || size == 0) return 0;
    ssize_t count = recv(fd, space, size, MSG_DONTWAIT);
    if (count > 0)
        smq_engine_received(client, (size_t)count, now());
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
        smq_engine_closed(client, count == 0 ? 0 : errno, now());
    return count > 0;
}

/* Sends what is ready. Returns whether bytes are left because the command accepts no more now. */
static int transmit(smq_client *client, int fd) {
    const void *bytes;
    size_t size;
    while (fd >= 0 && smq_engine_transmit(client, now(), &bytes, &size) == SMQ_OK && size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) {
            int error = errno;
            while (receive(client, fd)) {
            } /* what it sent before it ended, if that can be received now */
            smq_engine_closed(client, error, now());
            return 0;
        }
        smq_engine_transmitted(client, sent > 0 ? (size_t)sent : 0, now());
        if (sent < (ssize_t)size) return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: through FILTER COMMAND [ARGUMENT]...\n");
        return 2;
    }
    smq_options options = SMQ_OPTIONS_INIT;
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    options.host = smq_string("command"); /* the command knows the real host */
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_engine_timed_out(client, now());
    if (status == SMQ_OK) status = smq_subscribe_to(client, argv[1], 1, 0);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    stop_on_signals();
    int fd = -1;
    pid_t child = 0;
    smq_event event = SMQ_EVENT_INIT;
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_OPEN) {
                end_command(&fd, &child);
                fd = start_command(argv + 2, &child);
                if (fd < 0)
                    smq_engine_closed(client, errno, now());
                else
                    smq_engine_opened(client, now());
            }
            if (event.type == SMQ_EVENT_DISCONNECTED) end_command(&fd, &child);
            if (event.type == SMQ_EVENT_MESSAGE && event.status == SMQ_OK) {
                printf("%.*s: %.*s\n", (int)event.topic.size, (const char *)event.topic.data, (int)event.payload.size,
                       (const char *)event.payload.data);
                flush_output("through");
            }
            if (event.status) print_why(stderr, client, &event);
        }
        if (stop) smq_disconnect(client, 0);
        int is_blocked = transmit(client, fd);
        struct pollfd poll_fd = { fd, is_blocked ? POLLIN | POLLOUT : POLLIN, 0 };
        int32_t timeout = smq_engine_next_timeout_ms(client, now());
        if (poll(&poll_fd, 1, timeout < 0 || timeout > 1000 ? 1000 : timeout) > 0) receive(client, fd);
        smq_engine_timed_out(client, now());
    }
    end_command(&fd, &child);
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
