/*
 * What it takes to have messages on the disk: journal WAY FILE BATCH BATCHES. Each batch is of so many messages of 128 bytes
 * under a topic of 16, and is durable before the next one begins. Prints nanoseconds, and the bytes that were written.
 *
 *   bare     one pwrite() and one fdatasync() for each batch, of topics and payloads alone, in a file that is there
 *   smq      libswiftmqtt: smq_publish() with QoS 1 and a journal, then smq_sync(); no server is there
 *   sqlite   an INSERT for each message, in a transaction for each batch; WAL, synchronous=FULL
 *   lmdb     a put for each message, in a transaction for each batch, synced at its end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAYLOAD = 128,
    TOPIC = 16,
    BLOCK = 4096
};

static char payload[PAYLOAD];
static const char topic[] = "plant/7/meter/42";

static void check(int is_fine, const char *what) {
    if (is_fine) return;
    fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* How many bytes the process has handed to the kernel so far, to be written. */
static long long written(void) {
    FILE *file = fopen("/proc/self/io", "r");
    char line[80];
    long long bytes = -1;
    while (file && fgets(line, sizeof line, file)) sscanf(line, "wchar: %lld", &bytes);
    if (file) fclose(file);
    return bytes;
}

/* ---- Each way: begins, does a batch, ends. ---- */

static int file;
static char *batch_bytes;
static off_t end;

static void bare_begin(const char *path, unsigned batch, unsigned batches) {
    size_t size = (size_t)batch * (PAYLOAD + TOPIC);
    batch_bytes = calloc(1, size);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(file >= 0 && batch_bytes, path);
    char zeros[BLOCK] = { 0 };
    for (size_t offset = 0; offset < size * batches; offset += BLOCK)
        check(pwrite(file, zeros, BLOCK, (off_t)offset) == BLOCK, "pwrite");
    check(fsync(file) == 0, "fsync");
}

static void bare_do(unsigned batch) {
    for (unsigned index = 0; index < batch; index++) {
        char *message = batch_bytes + (size_t)index * (PAYLOAD + TOPIC);
        memcpy(message, topic, TOPIC);
        memcpy(message + TOPIC, payload, PAYLOAD);
    }
    ssize_t size = (ssize_t)batch * (PAYLOAD + TOPIC);
    check(pwrite(file, batch_bytes, (size_t)size, end) == size, "pwrite");
    check(fdatasync(file) == 0, "fdatasync");
    end += size;
}

static void bare_end(void) { close(file); }

static smq_client *client;

static void smq_begin(const char *path, unsigned batch, unsigned batches) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string("mqtt://127.0.0.1:1");
    options.client_id = smq_string("bench");
    options.flags = SMQ_OPTION_KEEP_SESSION;
    options.outbox_messages = batch * batches;
    options.outbox_bytes = batch * batches * (PAYLOAD + TOPIC + 16);
    options.journal = smq_string(path);
    options.journal_batch_bytes = batch * (PAYLOAD + TOPIC + 64) + BLOCK;
    options.journal_delay_ms = 60000; /* smq_sync() decides when */
    size_t size = smq_client_size(&options);
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    check(size > 0 && memory && smq_client_init(memory, size, &options, &client) == SMQ_OK, "smq_client_init");
}

static void smq_do(unsigned batch) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = (smq_bytes){ topic, TOPIC };
    message.payload = (smq_bytes){ payload, PAYLOAD };
    message.qos = 1;
    for (unsigned index = 0; index < batch; index++) check(smq_publish(client, &message) == SMQ_OK, "smq_publish");
    check(smq_sync(client, -1) == 1, "smq_sync");
}

static void smq_end(void) { smq_client_close(client); }

static sqlite3 *database;
static sqlite3_stmt *insert;

static void sqlite_run(const char *text) { check(sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK, text); }

static void sqlite_begin(const char *path, unsigned batch, unsigned batches) {
    (void)batch, (void)batches;
    check(sqlite3_open(path, &database) == SQLITE_OK, path);
    sqlite_run("PRAGMA journal_mode=WAL");
    sqlite_run("PRAGMA synchronous=FULL");
    sqlite_run("CREATE TABLE outbox(id INTEGER PRIMARY KEY, topic TEXT, payload BLOB)");
    check(sqlite3_prepare_v2(database, "INSERT INTO outbox(topic, payload) VALUES(?, ?)", -1, &insert, NULL) ==
              SQLITE_OK,
          "prepare");
}

static void sqlite_do(unsigned batch) {
    sqlite_run("BEGIN");
    for (unsigned index = 0; index < batch; index++) {
        sqlite3_bind_text(insert, 1, topic, TOPIC, SQLITE_STATIC);
        sqlite3_bind_blob(insert, 2, payload, PAYLOAD, SQLITE_STATIC);
        check(sqlite3_step(insert) == SQLITE_DONE, "INSERT");
        sqlite3_reset(insert);
    }
    sqlite_run("COMMIT");
}

static void sqlite_end(void) {
    sqlite3_finalize(insert);
    sqlite3_close(database);
}

static MDB_env *environment;
static MDB_dbi table;
static uint64_t next_key;

static void lmdb_begin(const char *path, unsigned batch, unsigned batches) {
    (void)batch, (void)batches;
    MDB_txn *transaction;
    check(mdb_env_create(&environment) == 0 && mdb_env_set_mapsize(environment, (size_t)1 << 28) == 0,
          "mdb_env_create");
    check(mdb_env_open(environment, path, MDB_NOSUBDIR, 0600) == 0, path);
    check(mdb_txn_begin(environment, NULL, 0, &transaction) == 0, "mdb_txn_begin");
    check(mdb_dbi_open(transaction, NULL, MDB_INTEGERKEY, &table) == 0, "mdb_dbi_open");
    check(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
}

static void lmdb_do(unsigned batch) {
    MDB_txn *transaction;
    char record[TOPIC + PAYLOAD];
    check(mdb_txn_begin(environment, NULL, 0, &transaction) == 0, "mdb_txn_begin");
    for (unsigned index = 0; index < batch; index++, next_key++) {
        memcpy(record, topic, TOPIC);
        memcpy(record + TOPIC, payload, PAYLOAD);
        MDB_val key = { sizeof next_key, &next_key }, value = { sizeof record, record };
        check(mdb_put(transaction, table, &key, &value, MDB_APPEND) == 0, "mdb_put");
    }
    check(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
}

static void lmdb_end(void) { mdb_env_close(environment); }

static const struct way {
    const char *name;
    void (*begin)(const char *path, unsigned batch, unsigned batches);
    void (*batch)(unsigned batch);
    void (*end)(void);
} ways[] = {
    { "bare", bare_begin, bare_do, bare_end },
    { "smq", smq_begin, smq_do, smq_end },
    { "sqlite", sqlite_begin, sqlite_do, sqlite_end },
    { "lmdb", lmdb_begin, lmdb_do, lmdb_end },
};

int main(int argc, char **argv) {
    if (argc != 5) {
        fputs("usage: journal bare|smq|sqlite|lmdb FILE BATCH BATCHES\n", stderr);
        return 2;
    }
    unsigned batch = (unsigned)strtoul(argv[3], NULL, 10), batches = (unsigned)strtoul(argv[4], NULL, 10);
    for (size_t index = 0; index < sizeof ways / sizeof *ways; index++) {
        const struct way *way = &ways[index];
        if (strcmp(way->name, argv[1]) != 0) continue;
        way->begin(argv[2], batch, batches);
        long long before = written();
        int64_t begin = now_ns();
        for (unsigned count = 0; count < batches; count++) {
            memset(payload, (int)count, sizeof payload);
            way->batch(batch);
        }
        int64_t ns = now_ns() - begin;
        printf("%lld %lld\n", (long long)ns, written() - before);
        way->end();
        return 0;
    }
    fprintf(stderr, "journal: %s is none of the ways\n", argv[1]);
    return 2;
}
