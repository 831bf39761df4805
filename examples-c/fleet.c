/*
 * Runs a thousand clients in one epoll loop: fleet [URL [DEVICES [PERIOD_S]]]. It is a gateway whose devices each have
 * a connection, so that the server can distinguish them. Each device publishes "online" to fleet/N/status and, once a
 * period, the uptime of this machine to fleet/N/uptime; its Will is "offline". SIGTERM disconnects all of them.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "daemon.h"
#include "why.h"

#define READY 64      /* epoll's answers taken at a time */
#define CONNECTING 50 /* attempts at a time: what a server's queue of new connections has room for */

static struct device {
    smq_client *client;
    int64_t due;       /* when to call smq_service() even if its descriptor is silent */
    int64_t reading;   /* when to publish next; INT64_MAX without a connection */
    int is_connecting; /* for the first time; later attempts follow by themselves */
} * devices;
static uint32_t count = 1000, period_s = 10, connected, connecting, started;

static void publish(struct device *device, const char *level, const char *text, uint8_t retain) {
    char topic[32];
    snprintf(topic, sizeof topic, "fleet/%u/%s", (unsigned)(device - devices), level);
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1;
    message.retain = retain;
    message.quiet = 1;
    message.overflow = SMQ_OVERFLOW_LATEST;
    message.topic = smq_string(topic);
    message.payload = smq_string(text);
    int32_t status = smq_publish(device->client, &message);
    if (status < 0) fprintf(stderr, "%s: %s\n", topic, smq_status_name(status));
}

static void take(struct device *device, const smq_event *event, int64_t now) {
    if (event->type == SMQ_EVENT_CONNECTED) {
        connected++;
        device->reading = now + INT64_C(1000) * period_s * (device - devices) / count; /* not all at once */
        publish(device, "status", "online", 1);
    }
    if (event->type == SMQ_EVENT_DISCONNECTED) {
        connected -= device->reading != INT64_MAX;
        device->reading = INT64_MAX;
        if (event->status) fprintf(stderr, "device %u: ", (unsigned)(device - devices));
    }
    if (event->type <= SMQ_EVENT_DISCONNECTED) {
        if (connected % 100 == 0 || connected == count) printf("%u connected\n", (unsigned)connected);
        connecting -= (uint32_t)device->is_connecting;
        device->is_connecting = 0;
    }
    if (event->status) print_why(stderr, device->client, event);
}

static void serve(struct device *device, int64_t now) {
    smq_event event = SMQ_EVENT_INIT;
    char text[24];
    if (now >= device->reading && !stop) {
        snprintf(text, sizeof text, "%lld", (long long)now / 1000);
        publish(device, "uptime", text, 0);
        device->reading = now + INT64_C(1000) * period_s;
    }
    smq_service(device->client);
    while (smq_next_event(device->client, &event) == 1) take(device, &event, now);
    int32_t timeout = smq_next_timeout_ms(device->client);
    device->due = timeout < 0 ? INT64_MAX : now + timeout;
    if (device->due > device->reading && !stop) device->due = device->reading;
}

static int32_t make(struct device *device, const char *url, int epoll) {
    char id[32], topic[32];
    smq_message will = SMQ_MESSAGE_INIT;
    snprintf(id, sizeof id, "fleet-%u", (unsigned)(device - devices));
    snprintf(topic, sizeof topic, "fleet/%u/status", (unsigned)(device - devices));
    will.qos = 1;
    will.retain = 1;
    will.topic = smq_string(topic);
    will.payload = smq_string("offline");
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(url);
    options.client_id = smq_string(id);
    options.will = &will;
    options.outbox_bytes = 512;
    options.outbox_messages = 8;
    options.receive_bytes = 256;
    options.receive_maximum = options.unreleased_maximum = 1;
    size_t size = smq_client_size(&options);
    int32_t status = smq_client_init(malloc(size), size, &options, &device->client); /* until the program ends */
    if (status != SMQ_OK) print_options_error(stderr, &options, status);
    struct epoll_event interest = { .events = EPOLLIN, .data.ptr = device };
    if (status == SMQ_OK) epoll_ctl(epoll, EPOLL_CTL_ADD, smq_fd(device->client), &interest);
    device->due = device->reading = INT64_MAX;
    return status;
}

int main(int argc, char **argv) {
    if (argc > 4) refuse("fleet", argv[4], "is one argument too many");
    const char *url = argc > 1 ? argv[1] : "mqtt://127.0.0.1";
    if (argc > 2) count = number("fleet", "DEVICES", argv[2], 1, 1000000);
    if (argc > 3) period_s = number("fleet", "PERIOD_S", argv[3], 1, 86400);
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct rlimit limit; /* as many descriptors as the system allows: two for each client */
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    devices = calloc(count, sizeof *devices);
    if (epoll < 0 || !devices) refuse("fleet", "cannot begin:", strerror(errno));
    for (uint32_t i = 0; i < count; i++)
        if (make(&devices[i], url, epoll) != SMQ_OK) return EXIT_FAILURE;

    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before); /* except while it waits */
    stop_on_signals();
    struct epoll_event ready[READY];
    for (int is_leaving = 0;;) {
        int64_t now = now_ms(), next = INT64_MAX;
        for (; !stop && started < count && connecting < CONNECTING; connecting++) {
            smq_connect(devices[started].client);
            devices[started].is_connecting = 1;
            devices[started++].due = now;
        }
        for (uint32_t i = 0; stop && !is_leaving && i < count; i++) {
            devices[i].due = 0;
            publish(&devices[i], "status", "offline", 1);
            smq_disconnect(devices[i].client, 2000);
        }
        is_leaving = stop;
        uint32_t left = 0;
        for (uint32_t i = 0; i < count; i++) { /* a look at a thousand numbers costs less than a system call */
            if (devices[i].due <= now) serve(&devices[i], now);
            if (devices[i].due < next) next = devices[i].due;
            left += smq_client_state(devices[i].client) != SMQ_STATE_DISCONNECTED;
        }
        if (!left) return EXIT_SUCCESS;
        int wait = next == INT64_MAX ? -1 : next > now ? (int)(next - now) : 0;
        int found = epoll_pwait(epoll, ready, READY, wait, &before);
        for (int i = 0; i < found; i++) ((struct device *)ready[i].data.ptr)->due = 0;
    }
}
