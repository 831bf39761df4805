/*
 * sensord: publishes what a gateway board measures, as JSON, to gateway/<id>/<kind>/<name>.
 * gateway/<id>/status (retained) is "online" while it runs, and "offline" once it has left or was
 * lost: then the server publishes its Will.
 */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <swiftmqtt.h>
#include <unistd.h>

#include "sensors.h"
#include "why.h"

#define USAGE                                                                                                          \
    "sensord [--url mqtt://HOST[:PORT]] [--id ID] [--period-ms N] [--count N] [--root DIR] [--verbose]\n"              \
    "Publishes this machine's sensors to gateway/ID/KIND/NAME each period, until SIGTERM.\n"                           \
    "  --count N    leave after N periods, once they are delivered; 0: never\n"                                        \
    "  --root DIR   where /sys and /proc are\n"                                                                        \
    "  --verbose    a line for each message published and for each completion"

enum {
    LEAVE_MS = 5000,
    LONGEST_WAIT_MS = 1000,
    DAY_MS = 86400000
};

static const struct kind {
    const char *name;
    uint8_t qos;
    sensor_reader *read;
} kinds[] = {
    { "load", 0, read_load },     { "temperature", 1, read_thermal }, { "temperature", 1, read_hwmon },
    { "memory", 1, read_memory }, { "network", 1, read_network },     { "iio", 1, read_iio },
    { "uptime", 2, read_uptime },
};

static char id[65] = "gateway", status_topic[80];
static int verbose;
static smq_client *client;
static uint64_t cookie, dropped;
static int greeted; /* this connection has been told "online" */
static volatile sig_atomic_t stop;

static void on_signal(int signal) { stop = signal; }

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int publish(const char *topic, const char *payload, uint8_t qos, uint8_t retain) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = qos;
    message.retain = retain;
    message.topic = smq_string(topic);
    message.payload = smq_string(payload);
    message.cookie = cookie + 1;
    if (smq_publish(client, &message) != SMQ_OK) return 0;
    cookie++;
    if (verbose) printf("published %" PRIu64 " %d %s %s\n", cookie, qos, topic, payload);
    return 1;
}

/* A reading that finds no room in the outbox is dropped: newer ones follow. */
static void publish_reading(const void *context, const char *name, const char *json) {
    const struct kind *kind = context;
    char topic[256];
    snprintf(topic, sizeof topic, "gateway/%s/%s/%s", id, kind->name, name);
    if (!publish(topic, json, kind->qos, 0)) dropped++;
}

static void disconnected(const smq_event *event) {
    greeted = 0;
    if (event->status == SMQ_OK) return;
    fprintf(stderr, "sensord: next attempt in %d ms; ", (int)event->retry_ms);
    print_why(stderr, event);
}

/* Lets the client work until a time, a signal or an event, and takes the events. */
static void step(int64_t until) {
    int64_t wait = until - now_ms();
    if (wait < 0) wait = 0;
    if (wait > LONGEST_WAIT_MS) wait = LONGEST_WAIT_MS; /* a signal just before smq_wait() is then seen in time */
    smq_wait(client, (int32_t)wait);
    smq_event event = SMQ_EVENT_INIT;
    while (smq_next_event(client, &event) == 1) {
        if (event.type == SMQ_EVENT_DISCONNECTED) disconnected(&event);
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
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) kinds[i].read(publish_reading, &kinds[i]);
            periods++;
            next_reading = periods == count ? INT64_MAX : now + period_ms;
        }
        if (!greeted && smq_client_state(client) == SMQ_STATE_CONNECTED)
            greeted = publish(status_topic, "online", 1, 1);
        step(next_reading);
    }
    if (publish(status_topic, "offline", 1, 1)) smq_disconnect(client, LEAVE_MS); /* no room: the Will says it */
    while (smq_client_state(client) == SMQ_STATE_DISCONNECTING) step(INT64_MAX);
}

static void refuse(const char *flag, const char *why) {
    fprintf(stderr, "sensord: %s %s\n", flag, why);
    exit(2);
}

static uint32_t number(const char *flag, const char *text, unsigned long least) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || value < least || value > DAY_MS) refuse(flag, "takes a number");
    return (uint32_t)value;
}

int main(int argc, char **argv) {
    static const struct option flags[] = { { "url", 1, 0, 'u' },   { "id", 1, 0, 'i' },   { "period-ms", 1, 0, 'p' },
                                           { "count", 1, 0, 'c' }, { "root", 1, 0, 'r' }, { "verbose", 0, 0, 'v' },
                                           { "help", 0, 0, 'h' },  { 0, 0, 0, 0 } };
    uint32_t period_ms = 1000, count = 0;
    const char *url = "mqtt://127.0.0.1";
    gethostname(id, sizeof id - 1);
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'u') url = optarg;
        if (flag == 'i' && snprintf(id, sizeof id, "%s", optarg) >= (int)sizeof id) refuse("--id", "is too long");
        if (flag == 'p') period_ms = number("--period-ms", optarg, 1);
        if (flag == 'c') count = number("--count", optarg, 0);
        if (flag == 'r') sensor_root = optarg;
        if (flag == 'v') verbose = 1;
        if (flag == 'h') return puts(USAGE) < 0;
        if (flag == '?') return 2; /* getopt_long() has named it */
    }
    if (optind < argc) refuse(argv[optind], "is not a flag");
    snprintf(status_topic, sizeof status_topic, "gateway/%s/status", id);

    smq_message will = SMQ_MESSAGE_INIT;
    will.qos = 1;
    will.retain = 1;
    will.topic = smq_string(status_topic);
    will.payload = smq_string("offline");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(url);
    options.protocol = SMQ_PROTOCOL_5_0;
    options.client_id = smq_string(id);
    options.will = &will;
    options.flags = SMQ_OPTION_KEEP_SESSION; /* what is in flight when the link breaks is taken up again */
    options.session_expiry_s = 3600;
    options.reconnect_min_ms = 250;
    options.reconnect_max_ms = 30000;
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t status = smq_client_init(memory, size, &options, &client);
    int bad_id = status == SMQ_ERR_TOPIC_NAME || status == SMQ_ERR_UTF8 || status == SMQ_ERR_CLIENT_ID;
    if (status != SMQ_OK) {
        fprintf(stderr, "sensord: %s ", bad_id ? "--id" : "--url");
        print_options_error(stderr, &options, status);
        return 2;
    }

    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    smq_connect(client);
    run(period_ms, count);

    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    printf("%" PRIu64 " messages, %" PRIu64 " acknowledged, %" PRIu64 " failed, %" PRIu64 " dropped, %" PRIu64
           " bytes, %" PRIu64 " packets, %" PRIu64 " send calls, %.1f packets per send call\n",
           stats.messages_published, stats.messages_completed, stats.messages_failed, dropped, stats.bytes_sent,
           stats.packets_sent, stats.send_calls,
           stats.send_calls ? (double)stats.packets_sent / (double)stats.send_calls : 0);
    smq_client_close(client);
    free(memory);
    return dropped || stats.messages_completed < stats.messages_published;
}
