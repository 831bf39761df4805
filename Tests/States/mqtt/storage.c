/* The storage of a journal, commits, and what a crash leaves: of the client nothing, of the storage what was durable. */
#include <string.h>

#include "explore.h"

enum {
    WHOLE = 4096,
    FIRST = 2, /* the superblock, twice, comes before the ring */
    OTHER_ERROR = 5
};

/* The same in each state, as chance always says the same. */
static uint8_t superblock[WHOLE];

static int ask(smq_storage *storage) {
    *storage = (smq_storage)SMQ_STORAGE_INIT;
    int32_t status = smq_engine_storage(engine(), world.now, 0, storage);
    if (status < 0) violation("smq_engine_storage() refused");
    return status;
}

static int32_t report(int32_t error) { return smq_engine_storage_done(engine(), error, world.now); }

static void read_block(uint32_t number, uint8_t *to) {
    memset(to, 0, WHOLE);
    if (number < FIRST)
        memcpy(to, superblock, WHOLE);
    else
        memcpy(to, world.durable[number - FIRST], STORED_BYTES);
}

/* Only what is not zero is kept. */
static void write_block(uint32_t number, const uint8_t *from) {
    if (number < FIRST) {
        memcpy(superblock, from, WHOLE);
        return;
    }
    for (int i = STORED_BYTES; i < WHOLE; i++)
        if (from[i] != 0) violation("a commit is larger than the test takes: STORED_BYTES");
    if (world.writes) violation("a second commit, before the first one is durable");
    world.writes = (uint8_t)(number - FIRST + 1);
    memcpy(world.written, from, STORED_BYTES);
}

/* After smq_client_init(). 0: what is durable is refused. */
int take_up_journal(void) {
    smq_journal_info info = SMQ_JOURNAL_INFO_INIT;
    smq_storage storage;
    while (smq_journal_state(engine(), &info) == SMQ_ERR_STATE) {
        if (!ask(&storage)) return 0;
        uint32_t number = (uint32_t)(storage.offset / WHOLE);
        for (size_t i = 0; i < storage.byte_count / WHOLE; i++) {
            uint8_t *data = (uint8_t *)storage.data + i * WHOLE;
            if (storage.operation == SMQ_STORAGE_READ)
                read_block(number + (uint32_t)i, data);
            else
                write_block(number + (uint32_t)i, data);
        }
        if (report(0) != SMQ_OK) return 0;
    }
    return 1;
}

void forget_superblock(void) { memset(superblock, 0, sizeof superblock); }

static void note_what_is_stored(void) {
    smq_journal_info info = SMQ_JOURNAL_INFO_INIT;
    if (smq_journal_state(engine(), &info) != SMQ_OK) violation("smq_journal_state() refused");
    /* Positions go on where those of the process before ended; all of this one's come behind. */
    for (int message = 0; message < world.published; message++)
        if (world.position[message] && world.position[message] <= info.stored) world.stored[message] = 1;
}

/* The position of a message that was published right now. */
void note_position(int message) {
    smq_journal_info info = SMQ_JOURNAL_INFO_INIT;
    if (smq_journal_state(engine(), &info) != SMQ_OK) violation("smq_journal_state() refused");
    world.position[message] = (uint8_t)info.accepted;
}

/* ---- Actions */

int commit_begins(int unused) {
    (void)unused;
    smq_storage storage;
    if (world.writes) return 0;
    int32_t due = smq_engine_next_timeout_ms(engine(), world.now);
    if (smq_sync(engine(), 0) < 0 && !world.failures) violation("smq_sync() refused"); /* without delay */
    if (!ask(&storage)) {
        /* It has looked at what is new, and that is nothing. */
        if (due == 0 && smq_engine_next_timeout_ms(engine(), world.now) != 0) return 1;
        if (!world.failures) return 0;
        /* After a failure it waits. */
        int32_t wait = smq_engine_next_timeout_ms(engine(), world.now);
        if (wait <= 0) return 0;
        world.now += (uint32_t)wait;
        if (!ask(&storage)) return 0;
    }
    if (storage.operation != SMQ_STORAGE_WRITE || storage.byte_count != WHOLE)
        violation("not the one block of a commit");
    write_block((uint32_t)(storage.offset / WHOLE), storage.data);
    if (report(0) != SMQ_OK) violation("smq_engine_storage_done() refused");
    if (!ask(&storage) || storage.operation != SMQ_STORAGE_SYNC) violation("a commit without a sync");
    return 1;
}

/* The parts of a crash, and of a sync that fails. */
static void arrive(int how) {
    if (!world.writes) return;
    uint8_t *block = world.durable[world.writes - 1];
    if (how == TORN) world.written[STORED_BYTES / 3] ^= 1;
    if (how != LOST) memcpy(block, world.written, STORED_BYTES);
    memset(world.written, 0, STORED_BYTES);
    world.writes = 0;
}

int commit_ends(int unused) {
    (void)unused;
    if (!world.writes) return 0;
    arrive(scene->storage_lies ? LOST : ARRIVED);
    if (report(0) != SMQ_OK) violation("smq_engine_storage_done() refused");
    note_what_is_stored();
    return 1;
}

int commit_fails(int how) {
    if (!world.writes || world.failures >= scene->failures) return 0;
    world.failures++;
    arrive(how);
    if (report(OTHER_ERROR) != SMQ_OK) violation("smq_engine_storage_done() refused");
    return 1;
}

/* What was on its way to the server has arrived or not; what the client was about to write, too. */
int crash(int how) {
    if (world.crashes >= scene->crashes) return 0;
    /* The server does not keep a session that the journal has not heard of: no client could know it from the old one. */
    if (world.forgets && smq_sync(engine(), 0) != 1) server_forgets();
    int commit = how & 3, arrives = how & ARRIVES;
    if (commit != LOST && !world.writes) return 0;
    if (arrives && (world.link != LINK_OPEN || world.up_whole == 0)) return 0;
    while (arrives && world.up_whole > 0 && has_room_down()) serve();
    world.crashes++;
    arrive(commit);
    connection_ended();
    world.link = LINK_NONE;
    process_ended();
    if (!restart_client()) violation("what is durable is not taken up");
    return 1;
}
