/*
 * sensord publishes the measurements of a gateway board, as JSON or SenML, to gateway/<id>/<kind>/<name>.
 * gateway/<id>/status (retained) is "online" while it runs, and "offline" once it has disconnected
 * or was lost: then the server publishes its Will.
 */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <inttypes.h>
#include <swiftmqtt.h>
#include <unistd.h>

#include "daemon.h"
#include "figures.h"
#include "sensors.h"
#include "why.h"

#define USAGE                                                                                                          \
    "sensord [--url mqtt://HOST[:PORT]] [--id ID] [--period-ms N] [--count N] [--root DIR] [--format F] [--verbose]\n" \
    "Publishes this machine's sensors to gateway/ID/KIND/NAME each period, until SIGTERM.\n"                           \
    "  --count N    leave after N periods, once they are delivered; 0: never\n"                                        \
    "  --format F   of the payloads: json, senml or senml-cbor\n"                                                      \
    "  --root DIR   where /sys and /proc are\n"                                                                        \
    "  --verbose    a line for each message published and for each completion"

#define LEAVE_MS 5000
#define LONGEST_WAIT_MS 1000

static char id[65] = "gateway", status_topic[80];
static smq_message status = SMQ_MESSAGE_INIT;
static enum reading_format format = READING_JSON;
static smq_client *client;
static uint64_t cookie, dropped;
static int verbose, greeted; /* greeted: "online" was published on this connection */

static int publish(smq_message *message, int in_hex) {
    message->cookie = cookie + 1;
    if (smq_publish(client, message) != SMQ_OK) return 0;
    cookie++;
    if (verbose) print_published(message, in_hex);
    return 1;
}

static int publish_status(const char *text) {
    smq_message message = status; /* as the Will */
    message.payload = smq_string(text);
    return publish(&message, 0);
}

/* A reading for which the outbox has no room is dropped: newer ones follow. */
static void publish_reading(const void *context, const char *name, const struct reading *reading) {
    const struct sensor_kind *kind = context;
    struct reading_space space;
    smq_message message = SMQ_MESSAGE_INIT;
    snprintf(space.topic, sizeof space.topic, "gateway/%s/%s/%s", id, kind->name, name);
    message.qos = (uint8_t)kind->qos;
    int made = reading_message(reading, format, &space, &message) == SMQ_OK;
    if (!made || !publish(&message, format == READING_SENML_CBOR)) dropped++;
}

/* Runs the client until a time, a signal or an event, and takes the events. */
static void step(int64_t until) {
    int64_t wait = until - now_ms();
    if (wait < 0) wait = 0;
    if (wait > LONGEST_WAIT_MS) wait = LONGEST_WAIT_MS; /* a signal just before smq_wait() is noticed in time */
    smq_wait(client, (int32_t)wait);
    smq_event event = SMQ_EVENT_INIT;
    while (smq_next_event(client, &event) == 1) {
        if (event.type == SMQ_EVENT_DISCONNECTED) {
            greeted = 0;
            if (event.status != SMQ_OK) fprintf(stderr, "sensord: next attempt in %d ms; ", (int)event.retry_ms);
            if (event.status != SMQ_OK) print_why(stderr, client, &event);
        }
        if (event.type == SMQ_EVENT_COMPLETED && (verbose || event.status != SMQ_OK))
            printf("completed %" PRIu64 " %s\n", event.cookie, smq_status_name(event.status));
    }
}

static void run(uint32_t period_ms, uint32_t count) {
    uint32_t periods = 0;
    int64_t next_reading = 0;
    while (!stop && !(count && periods == count && greeted)) {
        int64_t now = now_ms();
        if (now >= next_reading) {
            for (const struct sensor_kind *kind = sensor_kinds; kind->name; kind++) kind->read(publish_reading, kind);
            periods++;
            next_reading = periods == count ? INT64_MAX : now + period_ms;
        }
        if (!greeted && smq_client_state(client) == SMQ_STATE_CONNECTED) greeted = publish_status("online");
        step(next_reading);
    }
    if (publish_status("offline")) smq_disconnect(client, LEAVE_MS); /* no room: the Will says so */
    while (smq_client_state(client) == SMQ_STATE_DISCONNECTING) step(INT64_MAX);
}

int main(int argc, char **argv) {
    static const struct option flags[] = { { "url", 1, 0, 'u' },     { "id", 1, 0, 'i' },   { "period-ms", 1, 0, 'p' },
                                           { "count", 1, 0, 'c' },   { "root", 1, 0, 'r' }, { "format", 1, 0, 'f' },
                                           { "verbose", 0, 0, 'v' }, { "help", 0, 0, 'h' }, { 0, 0, 0, 0 } };
    uint32_t period_ms = 1000, count = 0;
    const char *url = "mqtt://127.0.0.1";
    gethostname(id, sizeof id - 1);
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'u') url = optarg;
        if (flag == 'i' && snprintf(id, sizeof id, "%s", optarg) >= (int)sizeof id)
            refuse("sensord", "--id", "is too long");
        if (flag == 'p') period_ms = number("sensord", "--period-ms", optarg, 1, 86400000);
        if (flag == 'c') count = number("sensord", "--count", optarg, 0, 86400000);
        if (flag == 'r') sensor_root = optarg;
        if (flag == 'f') format = reading_format("sensord", "--format", optarg);
        if (flag == 'v') verbose = 1;
        if (flag == 'h') return puts(USAGE) < 0;
        if (flag == '?') return 2; /* getopt_long() has named it */
    }
    if (optind < argc) refuse("sensord", argv[optind], "is not a flag");
    if (format != READING_JSON && !is_senml_name(id)) refuse("sensord", "--id", "has letters that SenML does not");
    snprintf(status_topic, sizeof status_topic, "gateway/%s/status", id);

    status.qos = 1;
    status.retain = 1;
    status.topic = smq_string(status_topic);
    status.payload = smq_string("offline");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(url);
    options.protocol = SMQ_PROTOCOL_5_0;
    options.client_id = smq_string(id);
    options.will = &status;
    options.flags = SMQ_OPTION_KEEP_SESSION; /* what is in flight when the link breaks is resent */
    options.session_expiry_s = 3600;
    options.reconnect_min_ms = 250;
    options.reconnect_max_ms = 30000;
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t error = smq_client_init(memory, size, &options, &client);
    int bad_id = error == SMQ_ERR_TOPIC_NAME || error == SMQ_ERR_UTF8 || error == SMQ_ERR_CLIENT_ID;
    if (error != SMQ_OK) {
        fprintf(stderr, "sensord: %s ", bad_id ? "--id" : "--url");
        print_options_error(stderr, &options, error);
        return 2;
    }

    stop_on_signals();
    setvbuf(stdout, NULL, _IOLBF, 0);
    smq_connect(client);
    run(period_ms, count);
    int is_delivered = print_figures(client, dropped);
    smq_client_close(client);
    free(memory);
    return dropped || !is_delivered;
}
