/* The client that is explored: its block, the smallest that a scene can do with, and chance, which always says the same. */
#include <string.h>
#include <sys/random.h>

#include "explore.h"

_Alignas(SST_MEMORY_ALIGNMENT) uint8_t block[BLOCK_BYTES];
size_t block_size;
int block_changed;
static sst_client *client; /* always the same address, as the block never moves */

/* In place of libc's: the jitter's seed is part of the block. */
ssize_t getrandom(void *buffer, size_t size, unsigned int flags) {
    (void)flags;
    memset(buffer, 0x5A, size);
    return (ssize_t)size;
}

sst_client *engine(void) {
    block_changed = 1;
    return client;
}

const sst_client *seen(void) { return client; }

/* No deadline but those for reconnecting and for leaving: other times are no part of the question. */
int make_client(void) {
    sst_options options = SST_OPTIONS_INIT;
    uint32_t urgent = 0, submitted = 0;
    for (int i = 0; i < sends(); i++) {
        urgent += (scene->sends[i] & URGENT) != 0;
        submitted += (scene->sends[i] & SUBMITTED) != 0;
    }
    options.host = sst_string("127.0.0.1");
    options.flags = SST_OPTION_OWN_TRANSPORT;
    options.oldest = SST_STOMP_1_2;
    options.outbox_bytes = 256;
    /* BEGIN and COMMIT have places of their own. */
    options.outbox_frames = scene->outbox_frames ? scene->outbox_frames : (uint32_t)sends() + 3;
    options.receive_bytes = 96;
    options.control_bytes = 128;
    options.subscriptions = 1;
    options.subscription_bytes = 96;
    options.held_messages = scene->held ? scene->held : MESSAGES;
    options.held_bytes = 16;
    options.transactions = 1;
    options.addresses = 1;
    options.urgent_frames = urgent;
    options.urgent_bytes = urgent ? 96 : 0;
    options.submit_frames = submitted;
    options.submit_bytes = submitted ? 16 : 0;
    options.heart_beat_send_ms = options.heart_beat_receive_ms = SST_OFF;
    options.connect_timeout_ms = options.receipt_timeout_ms = SST_OFF;
    options.reconnect_min_ms = options.reconnect_max_ms = WAIT_MS;
    options.jitter = SST_JITTER_NONE;
    memset(&world, 0, sizeof world);
    memset(block, 0, sizeof block);
    block_size = (sst_client_size(&options) + 7) / 8 * 8;
    return block_size > 0 && block_size <= sizeof block &&
           sst_client_init(block, block_size, &options, &client) == SST_OK &&
           sst_engine_timed_out(engine(), world.now) >= 0 && sst_connect(engine()) == SST_OK;
}
