/* The client that is explored: its block, the smallest that a scene can do with, and chance, which always says the same. */
#include <string.h>
#include <sys/random.h>

#include "explore.h"

_Alignas(SMQ_MEMORY_ALIGNMENT) uint8_t block[BLOCK_BYTES];
size_t block_size;
int block_changed;
static smq_client *client; /* always the same address, as the block never moves */

/* In place of libc's: the jitter's seed is part of the block. */
ssize_t getrandom(void *buffer, size_t size, unsigned int flags) {
    (void)flags;
    memset(buffer, 0x5A, size);
    return (ssize_t)size;
}

smq_client *engine(void) {
    block_changed = 1;
    return client;
}

const smq_client *seen(void) { return client; }

static uint32_t or_at_least(uint32_t value, uint32_t otherwise, uint32_t least) {
    if (value == 0) value = otherwise;
    return value < least ? least : value;
}

static smq_options options;

/* A block of zeros becomes a client that connects. */
int restart_client(void) {
    memset(block, 0, sizeof block);
    return smq_client_init(block, block_size, &options, &client) == SMQ_OK && (!scene->crashes || take_up_journal()) &&
           smq_engine_timed_out(engine(), world.now) >= 0 && smq_connect(engine()) == SMQ_OK;
}

/* No deadline but that for reconnecting, and the expiry of messages: other times are no part of the question. */
int make_client(void) {
    options = (smq_options)SMQ_OPTIONS_INIT;
    int urgent = 0, submitted = 0;
    for (int i = 0; i < sends(); i++) {
        urgent += (scene->sends[i] & URGENT) != 0;
        submitted += (scene->sends[i] & SUBMITTED) != 0;
    }
    options.host = smq_string("127.0.0.1");
    options.client_id = smq_string("z");
    options.protocol = scene->protocol;
    options.flags = SMQ_OPTION_OWN_TRANSPORT;
    if (!scene->clean) options.flags |= SMQ_OPTION_KEEP_SESSION;
    if (scene->holds) options.flags |= SMQ_OPTION_HOLD;
    options.outbox_bytes = 64;
    options.outbox_messages = or_at_least(scene->outbox_messages, (uint32_t)(sends() - urgent), 1);
    options.receive_bytes = 64;
    options.control_bytes = 32;
    options.in_flight_maximum = scene->in_flight_maximum;
    options.receive_maximum = or_at_least(scene->receive_maximum, (uint32_t)gets(), 1);
    options.unreleased_maximum = or_at_least(scene->unreleased_maximum, (uint32_t)gets(), 1);
    options.requests = 1;
    options.request_bytes = 32;
    options.subscriptions = 1;
    options.subscription_bytes = 8;
    options.addresses = 1;
    options.urgent_messages = (uint32_t)urgent;
    options.urgent_bytes = urgent ? 64 : 0;
    options.submit_messages = (uint32_t)submitted;
    options.submit_bytes = submitted ? 16 : 0;
    options.keep_alive_s = SMQ_OFF;
    options.answer_timeout_ms = SMQ_OFF;
    options.connect_timeout_ms = SMQ_OFF;
    options.reconnect_min_ms = options.reconnect_max_ms = WAIT_MS;
    options.jitter = SMQ_JITTER_NONE;
    if (scene->crashes) {
        options.journal_bytes = (STORED_BLOCKS + 2) * 4096;
        options.journal_batch_bytes = 4096;
        options.journal_flags = scene->numbers ? SMQ_JOURNAL_NUMBERS : 0;
    }
    memset(&world, 0, sizeof world);
    forget_superblock();
    block_size = (smq_client_size(&options) + 7) / 8 * 8;
    return block_size > 0 && block_size <= sizeof block && restart_client();
}
