/* The bare engine without a network: simulates a day of Keep Alive in an instant, and prints what is sent. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>

#include "why.h"

static uint32_t now = 0; /* a clock of our own */

static void give(smq_client *client, const char *bytes, size_t size) {
    void *space;
    size_t room;
    if (smq_engine_receive_buffer(client, &space, &room) != SMQ_OK || room < size) return;
    memcpy(space, bytes, size);
    smq_engine_received(client, size, now);
}

/* Answers as a server would; returns how many bytes were sent. */
static size_t take(smq_client *client) {
    const void *bytes;
    size_t size, total = 0;
    while (smq_engine_transmit(client, now, &bytes, &size) == SMQ_OK && size > 0) {
        unsigned char first = *(const unsigned char *)bytes;
        if (now < 60000) {
            printf("%5u ms: %3zu bytes, first 0x%02x\n", (unsigned)now, size, first);
        }
        smq_engine_transmitted(client, size, now);
        if (first == 0x10) give(client, "\x20\x02\0\0", 4); /* CONNECT: CONNACK */
        if (first == 0xC0) give(client, "\xD0\0", 2);       /* PINGREQ: PINGRESP */
        total += size;
    }
    return total;
}

int main(void) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    options.host = smq_string("nowhere");
    options.keep_alive_s = 10;
    size_t size = smq_client_size(&options), total = 0;
    void *memory = malloc(size);
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_engine_timed_out(client, now); /* from here on the client knows the time */
    if (status == SMQ_OK) status = smq_connect(client);
    if (status < 0) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    while (now < 86400000) {
        while (smq_next_event(client, &event) == 1)
            if (event.type == SMQ_EVENT_OPEN) smq_engine_opened(client, now);
        total += take(client);
        int32_t timeout = smq_engine_next_timeout_ms(client, now);
        if (timeout < 0) break;
        now += (uint32_t)timeout;
        smq_engine_timed_out(client, now);
    }
    printf("in a day: %zu bytes, %s\n", total,
           smq_client_state(client) == SMQ_STATE_CONNECTED ? "still connected" : "not connected any more");
    flush_output("dry");
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
