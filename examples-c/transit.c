/*
 * Shows the vehicles of a city: transit [URL [FILTER [SECONDS]]]. Reads a feed like Digitransit's, {"VP":{"desi":"550",
 * "lat":60.2,"long":24.9,"dl":-62,"hdg":196,…}} on /hfp/v2/journey/ongoing/vp/MODE/OPERATOR/VEHICLE/…, and keeps the
 * latest position of each vehicle in fixed memory. On a terminal it draws a table once a second; elsewhere it prints a
 * line for each vehicle that has moved. With SECONDS it prints each vehicle once after that time, and ends.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdalign.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon.h"
#include "fields.h"
#include "why.h"

enum {
    VEHICLES = 4096, /* a power of two */
    TOPIC_LEVEL = 7, /* where OPERATOR/VEHICLE begins, counted from 0 */
    SHOW_MS = 1000
};

static struct vehicle {
    char id[24], field[5][12];
    int has_moved;
} vehicles[VEHICLES];
static const char *const fields[5] = { "desi", "lat", "long", "dl", "hdg" };
static unsigned known, left_out, malformed;
static unsigned long long messages;
static alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[SMQ_CLIENT_BYTES(1024, 256, 16384, 1200)];

/* A text that fits its field, or "-". Other characters than printable ASCII could control the terminal. */
static void keep(char *field, size_t size, smq_bytes text) {
    const char *from = text.data;
    size_t length = text.size < size - 1 ? text.size : size - 1;
    if (!length || (length == 4 && memcmp(from, "null", 4) == 0)) from = "-", length = 1;
    for (size_t i = 0; i < length; i++) field[i] = from[i] > ' ' && from[i] < 127 ? from[i] : '?';
    field[length] = '\0';
}

/* OPERATOR/VEHICLE of a topic; empty if it has none. */
static smq_bytes vehicle_of(smq_bytes topic) {
    smq_bytes found = { NULL, 0 };
    const char *at = topic.data, *end = at + topic.size;
    for (int level = 0; at && level < TOPIC_LEVEL; level++) {
        at = memchr(at, '/', (size_t)(end - at));
        if (at) at++;
    }
    const char *slash = at ? memchr(at, '/', (size_t)(end - at)) : NULL;
    if (!slash) return found;
    const char *last = memchr(slash + 1, '/', (size_t)(end - slash - 1));
    found.data = at;
    found.size = (size_t)((last ? last : end) - at);
    return found;
}

/* The vehicle's place in the table; NULL if none is free. */
static struct vehicle *place_of(smq_bytes id) {
    char name[sizeof vehicles->id];
    uint32_t hash = 2166136261u; /* FNV-1a */
    keep(name, sizeof name, id);
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (uint32_t i = 0; i < VEHICLES; i++) {
        struct vehicle *vehicle = &vehicles[(hash + i) % VEHICLES];
        if (strcmp(vehicle->id, name) == 0) return vehicle;
        if (*vehicle->id) continue;
        memcpy(vehicle->id, name, sizeof name);
        known++;
        return vehicle;
    }
    return NULL;
}

static void take(const smq_event *event) {
    smq_bytes position, value[5], id = vehicle_of(event->topic);
    messages++;
    int is_good = event->status == SMQ_OK && id.size > 0 && json_field(event->payload, "VP", &position) == 1;
    for (int i = 0; i < 5 && is_good; i++) {
        value[i] = smq_string(NULL); /* a missing field is unknown */
        is_good = json_field(position, fields[i], &value[i]) >= 0;
    }
    struct vehicle *vehicle = is_good ? place_of(id) : NULL;
    malformed += !is_good;
    left_out += is_good && !vehicle;
    if (!vehicle) return;
    for (int i = 0; i < 5; i++) keep(vehicle->field[i], sizeof vehicle->field[i], value[i]);
    vehicle->has_moved = 1;
}

/* Prints the vehicles that have moved; on a terminal, as many as fit. */
static void show(int is_terminal) {
    struct winsize window = { .ws_row = 24 };
    if (is_terminal) ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
    unsigned rows = is_terminal && window.ws_row > 3 ? window.ws_row - 3u : VEHICLES;
    if (is_terminal)
        printf("\033[H\033[J%u vehicles, %llu messages\n%-24s%12s%12s%12s%12s%12s\n", known, messages, "vehicle",
               "line", "latitude", "longitude", "delay", "heading");
    for (struct vehicle *v = vehicles; v < vehicles + VEHICLES && rows > 0; v++) {
        if (!v->has_moved && !(is_terminal && *v->id)) continue;
        printf("%-24s", v->id);
        for (int i = 0; i < 5; i++) printf("%12s%s", v->field[i], i < 4 ? "" : "\n");
        v->has_moved = 0;
        rows--;
    }
    flush_output("transit");
}

int main(int argc, char **argv) {
    if (argc > 4) refuse("transit", argv[4], "is one argument too many");
    int64_t begin = now_ms(), next_show = begin + SHOW_MS;
    int64_t last = argc > 3 ? begin + 1000 * (int64_t)number("transit", "SECONDS", argv[3], 1, 86400) : INT64_MAX;
    int is_terminal = isatty(STDOUT_FILENO) && argc <= 3;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.outbox_bytes = 1024; /* nothing is published */
    options.receive_bytes = 16384;
    options.reconnect_min_ms = 100;
    options.reconnect_max_ms = 1000; /* missed positions are not sent again */
    const char *wanted = argc > 2 ? argv[2] : "/hfp/v2/journey/ongoing/vp/#";
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, sizeof memory, &options, &client);
    if (status == SMQ_OK) status = smq_subscribe_to(client, wanted, 0, 0); /* the client resubscribes by itself */
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return 2;
    }
    stop_on_signals();
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        int64_t now = now_ms();
        if (now >= next_show && last == INT64_MAX) show(is_terminal);
        if (now >= next_show) next_show = now + SHOW_MS;
        if (stop || now >= last) smq_disconnect(client, 0);
        smq_wait(client, (int32_t)(next_show - now));
        while (smq_next_event(client, &event) == 1) {
            if (event.type == SMQ_EVENT_MESSAGE) take(&event);
            if (event.type == SMQ_EVENT_COMPLETED && event.status) smq_disconnect(client, 0); /* not subscribed */
            if (event.type != SMQ_EVENT_MESSAGE && event.status) print_why(stderr, client, &event);
        }
    }
    show(is_terminal);
    fprintf(stderr, "%llu messages of %u vehicles, %u malformed, %u of vehicles there was no room for\n", messages,
            known, malformed, left_out);
    smq_client_close(client);
    return known == 0;
}
