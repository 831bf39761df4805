/*
 * load WORKLOAD OPTION…: one workload, once, with the client library this program is linked with. Prints one line of JSON: what
 * was measured. Ends with status 1 and a line that says why if anything went wrong, such as a message that the sink has not got.
 *
 *     publish   as many messages as -n says          ack     how long from publish() to PUBACK
 *     receive   the same in the other direction      echo    how long until an own message is back (no sink: a real broker)
 *     connect   connects and disconnects             start   from exec to the first PUBLISH at the sink
 *     idle      does nothing for -t seconds          take    the other end of `publish`, which without -c goes to a real broker
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parts.h"

enum {
    QOS_0_OUTSTANDING = 1000 /* see peer.tells_qos_0 */
};

struct settings settings = { .protocol = 4, .keep_alive_s = 60, .window = 20, .flush_every = 64, .payload_bytes = 64 };
char topic[] = SINK_TOPIC;
static uint64_t messages = 10000;
static unsigned seconds = 60;
static char **arguments;
static uint8_t payload[1 << 20];

/* ---- Workloads */

static void flush_all(void) {
    peer.flush();
    while (!peer.is_sent()) turn(1);
}

static void publish(void) {
    while (!peer.publish(payload, settings.payload_bytes)) turn(1000);
}

static void run_publish(void) {
    peer.open(&settings);
    peer.prepare(topic, settings.qos);
    if (has_sink()) ask(SINK_RESET, 0);
    unsigned limit = settings.qos ? settings.window : peer.tells_qos_0 ? QOS_0_OUTSTANDING : 0, unflushed = 0;
    /* To wake up for each of a thread's completions would be costly, and no use. */
    uint64_t batch = peer.has_threads ? (limit + 1) / 2 : 1;
    struct account begin = account(RUSAGE_SELF);
    for (uint64_t sent = 0; sent < messages; sent++) {
        if (limit && sent - value(&completed) >= limit) {
            unflushed = 0;
            await(&completed, sent - limit + batch);
        }
        publish();
        if (++unflushed == settings.flush_every) {
            peer.flush();
            unflushed = 0;
        }
    }
    flush_all();
    if (limit) await(&completed, messages);
    struct sink_counts counts = { 0 };
    if (has_sink()) counts = ask(SINK_COUNT, messages);
    struct account end = account(RUSAGE_SELF);
    if (has_sink()) compare(&counts, messages);
    if (limit && value(&completed) != messages) load_fail("completed more than was published");
    report(&begin, &end, messages);
    printf(", \"pieces\": %llu}\n", (unsigned long long)counts.reads);
    peer.close();
}

static void run_receive(void) {
    struct sink_counts counts;
    peer.open(&settings);
    peer.subscribe(topic, settings.qos);
    ask(SINK_RESET, 0);
    struct account begin = account(RUSAGE_SELF);
    ask(SINK_BLAST, messages);
    await(&arrived, messages);
    flush_all();
    request(SINK_COUNT, 0, settings.qos ? messages : 0);
    if (settings.qos && !peer.has_threads)
        while (!take_counts(&counts, MSG_DONTWAIT)) peer.turn(1);
    else
        while (!take_counts(&counts, 0)) continue;
    struct account end = account(RUSAGE_SELF);
    if (value(&arrived) != messages || (settings.qos && counts.acknowledged != messages))
        load_fail("not as many as were sent");
    report(&begin, &end, messages);
    printf("}\n");
    peer.close();
}

/* The other end of `publish` through a broker, which knows no sink: what arrives here is counted, and no more may. */
static void run_take(void) {
    peer.open(&settings);
    peer.subscribe(topic, settings.qos);
    struct account begin = account(RUSAGE_SELF);
    puts("subscribed");
    fflush(stdout);
    await(&arrived, messages);
    struct account end = account(RUSAGE_SELF);
    flush_all();
    for (int i = 0; i < 5; i++) turn(10); /* the last handshakes; and perhaps what nobody sent */
    if (value(&arrived) != messages) load_fail("more arrived than was published");
    report(&begin, &end, messages);
    printf("}\n");
    peer.close();
}

/* One message after the other, at most for `seconds`. */
static void run_latency(bool is_echo) {
    enum {
        WARM_UP = 20
    };
    uint64_t *times = calloc(messages, sizeof(*times)), count = 0;
    uint64_t done = 0;
    peer.open(&settings);
    if (is_echo) {
        snprintf(topic, sizeof(topic), "echo/%011d", (int)getpid());
        peer.subscribe(topic, settings.qos);
    } else {
        ask(SINK_RESET, 0);
    }
    peer.prepare(topic, settings.qos);
    struct account begin = account(RUSAGE_SELF);
    for (uint64_t i = 0; i < messages + WARM_UP && count < messages; i++) {
        if (i == WARM_UP) begin = account(RUSAGE_SELF);
        uint64_t since = monotonic_ns();
        publish();
        done++;
        if (is_echo)
            await(&arrived, done);
        else
            await(&completed, done);
        uint64_t now = monotonic_ns();
        if (i >= WARM_UP) times[count++] = now - since;
        if (is_echo) await(&completed, done);
        if (now - begin.wall_ns > seconds * 1000000000ull && count >= WARM_UP) break;
    }
    struct account end = account(RUSAGE_SELF);
    if (!is_echo) {
        struct sink_counts counts = ask(SINK_COUNT, done);
        compare(&counts, done);
    }
    report(&begin, &end, count);
    report_times(times, count);
    printf("}\n");
    peer.close();
    free(times);
}

static void run_ack(void) { run_latency(false); }

static void run_echo(void) { run_latency(true); }

static void run_connect(void) {
    ask(SINK_RESET, 0);
    struct account begin = account(RUSAGE_SELF);
    for (uint64_t i = 0; i < messages; i++) {
        peer.open(&settings);
        peer.close();
    }
    struct account end = account(RUSAGE_SELF);
    /* What was sent last may still be on its way. */
    struct sink_counts counts = ask(SINK_COUNT, 0);
    for (int tries = 0; tries < 1000 && counts.farewells < messages; tries++) {
        poll(NULL, 0, 1);
        counts = ask(SINK_COUNT, 0);
    }
    if (counts.connections != messages || counts.farewells != messages)
        load_fail("%llu CONNECT, %llu DISCONNECT at the sink", (unsigned long long)counts.connections,
                  (unsigned long long)counts.farewells);
    report(&begin, &end, messages);
    printf("}\n");
}

/* The process that `start` starts. */
static void run_first(void) {
    peer.open(&settings);
    peer.prepare(topic, settings.qos);
    publish();
    flush_all();
    ask(SINK_COUNT, 1);
    peer.close();
}

static void run_start(void) {
    uint64_t *times = calloc(messages, sizeof(*times));
    volatile uint64_t *since = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arguments[1] = "first";
    struct account begin = account(RUSAGE_CHILDREN);
    for (uint64_t i = 0; i < messages; i++) {
        int status = 0;
        ask(SINK_RESET, 0);
        pid_t child = fork();
        if (child == 0) {
            *since = monotonic_ns();
            execv("/proc/self/exe", arguments);
            _exit(1);
        }
        if (waitpid(child, &status, 0) != child || status != 0) load_fail("the process that was started failed");
        struct sink_counts counts = ask(SINK_COUNT, 1);
        compare(&counts, 1);
        times[i] = counts.first_ns - *since;
    }
    struct account end = account(RUSAGE_CHILDREN);
    end.allocations = begin.allocations; /* are in other processes */
    report(&begin, &end, messages);
    report_times(times, messages);
    printf("}\n");
    free(times);
}

static void run_idle(void) {
    peer.open(&settings);
    for (int i = 0; i < 20; i++) turn(10); /* what comes after connecting */
    struct account begin = account(RUSAGE_SELF);
    uint64_t end_ns = begin.wall_ns + seconds * 1000000000ull;
    for (uint64_t now = begin.wall_ns; now < end_ns; now = monotonic_ns()) turn((int)((end_ns - now) / 1000000) + 1);
    struct account end = account(RUSAGE_SELF);
    report(&begin, &end, 1);
    printf(", \"pings\": %llu}\n", (unsigned long long)ask(SINK_COUNT, 0).pings);
    peer.close();
}

/* ---- The command line */

static void run(const char *workload) {
    static const struct {
        const char *name;
        void (*run)(void);
    } workloads[] = { { "publish", run_publish }, { "receive", run_receive }, { "take", run_take },
                      { "ack", run_ack },         { "echo", run_echo },       { "connect", run_connect },
                      { "first", run_first },     { "start", run_start },     { "idle", run_idle } };
    for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++) {
        if (strcmp(workloads[i].name, workload)) continue;
        workloads[i].run();
        return;
    }
    load_fail("no workload %s", workload);
}

int main(int argc, char **argv) {
    char id[24];
    if (argc < 2) load_fail("usage: load WORKLOAD [-p PORT] [-c CONTROL] [-n MESSAGES] [-s BYTES] …");
    arguments = argv;
    snprintf(id, sizeof(id), "load%d", (int)getpid());
    settings.client_id = id;
    settings.variant = "";
    optind = 2;
    for (int option; (option = getopt(argc, argv, "p:c:n:s:q:w:f:v:k:t:x:")) != -1;) {
        unsigned number = (unsigned)strtoul(optarg ? optarg : "0", NULL, 10);
        switch (option) {
        case 'p':
            settings.port = (uint16_t)number;
            break;
        case 'c':
            open_control(optarg);
            break;
        case 'n':
            messages = number;
            break;
        case 's':
            settings.payload_bytes = number;
            break;
        case 'q':
            settings.qos = number;
            break;
        case 'w':
            settings.window = number;
            break;
        case 'f':
            settings.flush_every = number;
            break;
        case 'v':
            settings.protocol = (int)number;
            break;
        case 'k':
            settings.keep_alive_s = number;
            break;
        case 't':
            seconds = number;
            break;
        case 'x':
            settings.variant = optarg;
            break;
        default:
            return 2;
        }
    }
    if (settings.payload_bytes < 1 || settings.payload_bytes > sizeof(payload)) load_fail("-s is out of range");
    memset(payload, 'x', sizeof(payload));
    run(argv[1]);
    return 0;
}
