/*
 * A logger for a link that is down for hours: logger [URL [PERIOD_MS [ROOM [JOURNAL]]]]. Each period it publishes the load of
 * this machine to log/load: number, time, load. Without a connection at most ROOM records wait, then the oldest are
 * dropped. When the link is back, the waiting records are delivered in order, and log/lost says how many were lost so
 * far. A record may arrive twice. Waiting records are in memory and end with the program; in the file JOURNAL, if it is
 * given, they survive that, and a power cut. On SIGTERM the logger delivers what it can, and disconnects.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "daemon.h"
#include "why.h"

enum {
    RECORD_BYTES = 64, /* the largest record with its topic, as a packet */
    LEAVE_MS = 5000
};

static smq_client *client;

/* How many records were dropped so far. Nothing else is dropped here: log/lost is only replaced by a later one. */
static uint64_t dropped(void) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    return stats.messages_dropped;
}

static void publish(const char *topic, const char *text, uint8_t overflow, uint8_t urgent) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1; /* waits until the server has it */
    message.quiet = 1;
    message.overflow = overflow;
    message.urgent = urgent;
    message.topic = smq_string(topic);
    message.payload = smq_string(text);
    int32_t status = smq_publish(client, &message);
    if (status < 0) fprintf(stderr, "%s: %s: %s\n", topic, smq_status_name(status), text);
}

static void record(void) {
    static unsigned long count = 0;
    char text[40];
    double load = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file && fscanf(file, "%lf", &load) != 1) load = 0;
    if (file) fclose(file);
    snprintf(text, sizeof text, "%lu %lld %.2f", ++count, (long long)time(NULL), load);
    publish("log/load", text, SMQ_OVERFLOW_DROP_OLDEST, 0);
}

/* On each connection, and again when the number has grown. It is urgent: sent first, with room of its own. */
static void tell_lost(void) {
    static uint64_t told = 0;
    uint64_t lost = dropped();
    char text[32];
    if (lost == told || smq_client_state(client) != SMQ_STATE_CONNECTED) return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)lost);
    publish("log/lost", text, SMQ_OVERFLOW_LATEST, 1);
    told = lost;
}

static void take_events(void) {
    smq_event event = SMQ_EVENT_INIT;
    while (smq_next_event(client, &event) == 1) {
        if (event.type == SMQ_EVENT_CONNECTED) fprintf(stderr, "connected\n");
        if (event.completed == SMQ_JOURNAL_RECOVERED)
            fprintf(stderr, "records of an earlier logger: %llu\n", (unsigned long long)event.cookie);
        if (event.status) print_why(stderr, client, &event);
    }
    tell_lost();
}

int main(int argc, char **argv) {
    if (argc > 5) refuse("logger", argv[5], "is one argument too many");
    uint32_t period_ms = argc > 2 ? number("logger", "PERIOD_MS", argv[2], 1, 86400000) : 1000;
    uint32_t room = argc > 3 ? number("logger", "ROOM", argv[3], 1, 65000) : 1000;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.outbox_messages = room;
    options.outbox_bytes = room * RECORD_BYTES;
    options.urgent_messages = 2; /* one in flight, and one that waits */
    options.reconnect_max_ms = 60000;
    if (argc > 4) {
        options.journal = smq_string(argv[4]);
        options.client_id = smq_string("logger");
        options.flags = SMQ_OPTION_KEEP_SESSION;
    }
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return 2;
    }
    fprintf(stderr, "%zu bytes for %u records\n", size, (unsigned)room);
    stop_on_signals();
    int64_t next = now_ms();
    while (!stop) {
        int64_t wait = next - now_ms();
        if (wait <= 0) {
            record();
            next = wait < -(int64_t)period_ms ? now_ms() + period_ms : next + period_ms; /* no catching up */
        }
        smq_wait(client, wait <= 0 ? 0 : wait < 1000 ? (int32_t)wait : 1000); /* a signal is seen within a second */
        take_events();
    }
    smq_disconnect(client, LEAVE_MS);
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        smq_wait(client, 1000);
        take_events();
    }
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    if (argc > 4 && smq_sync(client, LEAVE_MS) != 1) fprintf(stderr, "%s: not all of it is stored\n", argv[4]);
    if (stats.outbox_messages) fprintf(stderr, "records not delivered: %u\n", (unsigned)stats.outbox_messages);
    smq_client_close(client);
    free(memory);
    return stats.outbox_messages > 0;
}
