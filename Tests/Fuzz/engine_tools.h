/* A client with SMQ_OPTION_OWN_TRANSPORT in a block of memory, as far as the small targets need one. */
#ifndef FUZZ_ENGINE_TOOLS_H
#define FUZZ_ENGINE_TOOLS_H

#include <sanitizer/asan_interface.h>

#include "fuzz.h"

/* Makes the client, connects, and takes events up to SMQ_EVENT_OPEN. */
static inline smq_client *tool_client(void *block, size_t size, const smq_options *options, smq_event *event) {
    smq_client *client = NULL;
    int32_t status = smq_client_init(block, size, options, &client);
    if (status != SMQ_OK) BROKEN("smq_client_init: %s", smq_status_name(status));
    smq_engine_timed_out(client, 0);
    if (smq_connect(client) != SMQ_OK) BROKEN("smq_connect");
    *event = (smq_event)SMQ_EVENT_INIT;
    while (smq_next_event(client, event) == 1 && event->type != SMQ_EVENT_OPEN)
        if (event->type == SMQ_EVENT_CREDENTIALS) smq_credentials(client, event->attempt, NULL, NULL);
    if (event->type != SMQ_EVENT_OPEN) BROKEN("no connection is wanted");
    return client;
}

/* What is to be sent: all of it, at most capacity bytes. */
static inline size_t tool_sent(smq_client *client, uint8_t *target, size_t capacity) {
    size_t sent = 0;
    for (;;) {
        const void *bytes;
        size_t size;
        if (smq_engine_transmit(client, 0, &bytes, &size) != SMQ_OK) BROKEN("smq_engine_transmit");
        if (size == 0) return sent;
        if (size > capacity - sent) BROKEN("too much to be sent");
        memcpy(target + sent, bytes, size);
        sent += size;
        if (smq_engine_transmitted(client, size, 0) != SMQ_OK) BROKEN("smq_engine_transmitted");
    }
}

static inline void tool_close(smq_client *client, void *block, size_t size) {
    if (smq_client_close(client) != SMQ_OK) BROKEN("smq_client_close");
    __asan_unpoison_memory_region(block, size);
}

#endif
