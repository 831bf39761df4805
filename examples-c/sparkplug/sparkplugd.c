/*
 * sparkplugd is an Edge Node of Sparkplug 3.0, with the board that it runs on as its device. It is born when
 * its subscriptions are confirmed and, with --host, the Primary Host Application is online.
 */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <poll.h>
#include <swiftmqtt.h>

#include "../daemon.h"
#include "../fields.h"
#include "../why.h"
#include "connection.h"

#define USAGE                                                                                                          \
    "sparkplugd [--url mqtt://HOST[:PORT]] [--group ID] [--node ID] [--host ID] [--period-ms N] [--bdseq FILE]\n"      \
    "           [--root DIR]\n"                                                                                        \
    "Publishes load, memory and a light of this machine to spBv1.0/GROUP/…/NODE, until SIGTERM.\n"                   \
    "  --host ID      of the Primary Host Application: births wait until it is online\n"                               \
    "  --bdseq FILE   keeps bdSeq from one run to the next\n"                                                          \
    "  --root DIR     where /proc is"

#define LEAVE_MS 5000
#define LONGEST_SLEEP_MS 1000
#define BETWEEN_BIRTHS_MS 1000

static struct node node = { .group = "plant", .name = "gateway" };
static uint64_t host_time;  /* of the last STATE that counts */
static int64_t next_births; /* not before */
static int is_subscribed, is_host_online, is_device_alive;
static int wants_births; /* they are due; no data until then */
static int is_announced; /* an NBIRTH was sent, so an NDEATH has to follow */
static int is_born;      /* all births were sent */
static int was_born;     /* on this connection */
static int walks;        /* the next connection begins with the next server */
static int must_break;   /* the connection has to end without a DISCONNECT */

/* What has no room in the outbox is tried again, from the NBIRTH on. */
static void send_births(int64_t now) {
    next_births = now + BETWEEN_BIRTHS_MS;
    read_node(&node.own);
    is_device_alive = read_device(&node.device);
    if (!send_nbirth(&node)) return;
    is_announced = 1;
    if (is_device_alive && !send_dbirth(&node)) return;
    printf(was_born ? "born again, as a command wants it, bdSeq %u\n" : "born, bdSeq %u\n", node.bdseq);
    is_born = was_born = 1;
    wants_births = 0;
}

static void send_what_changed(void) {
    send_data(&node, "NDATA", NULL, &node.own);
    if (is_device_alive) send_data(&node, "DDATA", DEVICE, &node.device);
}

static void measure(void) {
    int is_alive = read_device(&node.device);
    read_node(&node.own);
    if (is_alive && !is_device_alive) is_device_alive = send_dbirth(&node);
    if (!is_alive && is_device_alive) is_device_alive = !send_ddeath(&node);
    send_what_changed();
}

/* Without room for the NDEATH the connection just ends, and the server publishes the Will. */
static void leave(void) {
    int is_sent = !is_announced || send_ndeath(&node);
    is_announced = is_born = wants_births = 0;
    if (is_sent)
        smq_disconnect(node.client, LEAVE_MS);
    else
        must_break = 1;
}

/* STATE is {"online": true, "timestamp": 1700000000000}. What is older than what is known does not count. */
static void take_state(const smq_event *event) {
    smq_bytes online, timestamp;
    uint64_t time = 0;
    if (json_field(event->payload, "online", &online) != 1) return;
    if (json_field(event->payload, "timestamp", &timestamp) != 1) return;
    if (timestamp.size == 0 || timestamp.size > 15) return;
    for (size_t index = 0; index < timestamp.size; index++) {
        char digit = ((const char *)timestamp.data)[index];
        if (digit < '0' || digit > '9') return;
        time = time * 10 + (uint64_t)(digit - '0');
    }
    if (time < host_time) return;
    host_time = time;
    is_host_online = online.size == 4 && memcmp(online.data, "true", 4) == 0;
    if (is_host_online && is_subscribed && !is_announced) wants_births = 1;
    if (is_host_online) return;
    wants_births = 0;
    /* Where there are several servers, the host may be at another one ("multiple-servers-walk"). */
    if (is_announced || node.servers > 1) walks = 1, leave();
}

static void take_command(const smq_event *event) {
    spb_Payload payload;
    if (!decode_payload(event->payload.data, event->payload.size, &payload)) {
        fprintf(stderr, "sparkplugd: a command cannot be read, or is too large\n");
        return;
    }
    for (pb_size_t index = 0; index < payload.metrics_count; index++) {
        const spb_Metric *command = &payload.metrics[index];
        int is_rebirth_command = event->subscription == NODE_COMMAND && is_rebirth(command);
        if (is_rebirth_command && is_announced) wants_births = 1, is_born = 0;
        if (is_rebirth_command || (event->subscription == DEVICE_COMMAND && write_device(&node.device, command)))
            continue;
        fprintf(stderr, "sparkplugd: a command is not for a metric that can be written, or of another type\n");
    }
    if (is_born) send_what_changed();
}

static void take(const smq_event *event) {
    if (event->type == SMQ_EVENT_CONNECTED && !subscribe_node(&node)) smq_disconnect(node.client, 0);
    if (event->type == SMQ_EVENT_MESSAGE && event->subscription == HOST_STATE) take_state(event);
    if (event->type == SMQ_EVENT_MESSAGE && event->subscription != HOST_STATE) take_command(event);
    if (event->type != SMQ_EVENT_COMPLETED || event->completed != SMQ_COMPLETED_SUBSCRIBE) return;
    is_subscribed = event->status == SMQ_OK;
    if (is_subscribed && (!node.host || is_host_online)) wants_births = 1;
    if (is_subscribed) return;
    print_why(stderr, node.client, event);
    leave();
}

/* Runs until the connection ends. Returns the library's own delay before the next one, in milliseconds; 0 or -1: none. */
static int32_t run_connection(uint32_t period_ms) {
    int64_t next_reading = 0;
    int is_leaving = 0;
    smq_event event = SMQ_EVENT_INIT;
    walks = is_born = was_born = is_announced = wants_births = must_break = is_subscribed = is_host_online = 0;
    host_time = 0;
    next_births = 0;
    for (;;) {
        int64_t now = now_ms(), until = now + LONGEST_SLEEP_MS;
        if (stop && !is_leaving) {
            is_leaving = 1;
            leave();
            if (smq_client_state(node.client) == SMQ_STATE_DISCONNECTED) return 0;
        }
        if (must_break) return 0;
        if (wants_births && now >= next_births) send_births(now);
        if (now >= next_reading) {
            if (is_born) measure();
            next_reading = now + period_ms;
        }
        if (wants_births && next_births < until) until = next_births;
        if (next_reading < until) until = next_reading;
        smq_wait(node.client, (int32_t)(until - now));
        while (smq_next_event(node.client, &event) == 1) {
            take(&event);
            if (event.type != SMQ_EVENT_DISCONNECTED) continue;
            if (event.status != SMQ_OK) print_why(stderr, node.client, &event);
            if (!is_leaving && !was_connect_sent(event.stage)) continue;
            node.server = (node.server + event.server + (walks ? 1 : 0)) % node.servers;
            return event.retry_ms;
        }
    }
}

int main(int argc, char **argv) {
    static const struct option flags[] = { { "url", 1, 0, 'u' },  { "group", 1, 0, 'g' },     { "node", 1, 0, 'n' },
                                           { "host", 1, 0, 'h' }, { "period-ms", 1, 0, 'p' }, { "bdseq", 1, 0, 'b' },
                                           { "root", 1, 0, 'r' }, { "help", 0, 0, 'H' },      { 0, 0, 0, 0 } };
    uint32_t period_ms = 1000;
    const char *url = "mqtt://127.0.0.1";
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'u') url = optarg;
        if (flag == 'g') set_id(node.group, "--group", optarg);
        if (flag == 'n') set_id(node.name, "--node", optarg);
        if (flag == 'h') set_id((char[65]){ 0 }, "--host", node.host = optarg);
        if (flag == 'p') period_ms = number("sparkplugd", "--period-ms", optarg, 1, 86400000);
        if (flag == 'b') node.bdseq_file = optarg;
        if (flag == 'r') board_root = optarg;
        if (flag == 'H') return puts(USAGE) < 0;
        if (flag == '?') return 2; /* getopt_long() has named it */
    }
    if (optind < argc) refuse("sparkplugd", argv[optind], "is not a flag");
    stop_on_signals();
    setvbuf(stdout, NULL, _IOLBF, 0);
    board_init(&node.own, &node.device);
    read_bdseq(&node);
    node.servers = count_servers(url);
    while (!stop) {
        if (!begin_connection(&node, url)) return 2;
        int32_t retry_ms = run_connection(period_ms);
        int wait = end_connection(&node, retry_ms, was_born);
        if (!stop && wait > 0) poll(NULL, 0, wait);
    }
    free(node.memory);
    return 0;
}
