/*
 * load WORKLOAD OPTION…: one workload, once, with the client library this program is linked with. Prints one line of JSON: what
 * was measured. Ends with status 1 and a line that says why if anything went wrong, such as a message that the sink has not got.
 *
 *     publish   as many messages as -n says          ack     how long from publish() to PUBACK
 *     receive   the same in the other direction      echo    how long until an own message is back (no sink: a real broker)
 *     connect   connects and disconnects             start   from exec to the first PUBLISH at the sink
 *     idle      does nothing for -t seconds
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"
#include "sink.h"

enum {
    PATIENCE_S = 30,         /* nothing happens for so long: it never will */
    QOS_0_OUTSTANDING = 1000 /* see peer.tells_qos_0 */
};

static struct settings settings = {
    .protocol = 4, .keep_alive_s = 60, .window = 20, .flush_every = 64, .payload_bytes = 64
};
static uint64_t messages = 10000;
static unsigned seconds = 60;
static int control = -1;
static char **arguments;
static char topic[] = SINK_TOPIC;
static uint8_t payload[16 << 10];

/* ---- What the peer tells */

static atomic_uint_fast64_t completed, arrived;
static atomic_uint_fast64_t completed_wanted = UINT64_MAX, arrived_wanted = UINT64_MAX;
static atomic_bool is_asleep;
static sem_t wake_up;

/* Without threads there is nobody to be atomic for. */
static uint64_t add(atomic_uint_fast64_t *counter, uint64_t count) {
    if (peer.has_threads) return atomic_fetch_add(counter, count) + count;
    uint64_t sum = atomic_load_explicit(counter, memory_order_relaxed) + count;
    atomic_store_explicit(counter, sum, memory_order_relaxed);
    return sum;
}

static uint64_t value(atomic_uint_fast64_t *counter) { return atomic_load_explicit(counter, memory_order_acquire); }

void load_completed(unsigned count) {
    uint64_t sum = add(&completed, count);
    if (peer.has_threads && sum >= completed_wanted && atomic_exchange(&is_asleep, false)) sem_post(&wake_up);
}

void load_arrived(size_t topic_size, const void *bytes, size_t size) {
    const uint8_t *byte = bytes;
    if (topic_size != sizeof(topic) - 1 || size != settings.payload_bytes) load_fail("a message that was not sent");
    if (byte[0] != 'x' || byte[size - 1] != 'x') load_fail("a message with other bytes than were sent");
    uint64_t sum = add(&arrived, 1);
    if (peer.has_threads && sum >= arrived_wanted && atomic_exchange(&is_asleep, false)) sem_post(&wake_up);
}

void load_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", peer.name);
    vfprintf(stderr, format, list);
    fprintf(stderr, " (%llu completed, %llu arrived)\n", (unsigned long long)completed, (unsigned long long)arrived);
    va_end(list);
    _exit(1);
}

/* ---- Turns of the loop */

static void sleep_for(int milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    sem_timedwait(&wake_up, &until);
}

static void turn(int milliseconds) {
    if (!peer.has_threads) {
        peer.turn(milliseconds);
        return;
    }
    atomic_store(&is_asleep, true);
    if (completed < completed_wanted && arrived < arrived_wanted) sleep_for(milliseconds);
    atomic_store(&is_asleep, false);
}

/* Until a counter has come so far. */
static void await(atomic_uint_fast64_t *counter, atomic_uint_fast64_t *wanted, uint64_t target) {
    uint64_t since = 0, last = value(counter);
    atomic_store(wanted, target);
    while (value(counter) < target) {
        turn(1000);
        if (value(counter) != last) {
            last = value(counter);
            since = 0;
        } else if (!since) {
            since = monotonic_ns();
        } else if (monotonic_ns() - since > PATIENCE_S * 1000000000ull) {
            load_fail("waited in vain for %llu", (unsigned long long)target);
        }
    }
    atomic_store(wanted, UINT64_MAX);
}

static void flush_all(void) {
    peer.flush();
    while (!peer.is_sent()) turn(1);
}

static void publish(void) {
    while (!peer.publish(payload, settings.payload_bytes)) turn(1000);
}

/* ---- The sink */

static void request(uint32_t what, uint64_t count, uint64_t acknowledged) {
    struct sink_request text = { what,  settings.qos, settings.window, (uint32_t)settings.payload_bytes,
                                 count, acknowledged };
    if (send(control, &text, sizeof(text), MSG_NOSIGNAL) < 0) load_fail("the sink is gone");
}

static bool take_counts(struct sink_counts *counts, int flags) {
    ssize_t size = recv(control, counts, sizeof(*counts), flags);
    if (size < 0 && errno == EAGAIN && !(flags & MSG_DONTWAIT)) load_fail("the sink has not got all");
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size != sizeof(*counts)) load_fail("the sink is gone");
    if (counts->mistakes) load_fail("%llu mistakes, says the sink", (unsigned long long)counts->mistakes);
    return true;
}

static struct sink_counts ask(uint32_t what, uint64_t count) {
    struct sink_counts counts;
    request(what, count, 0);
    while (!take_counts(&counts, 0)) continue;
    return counts;
}

static void open_control(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { PATIENCE_S, 0 };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(control, (struct sockaddr *)&address, sizeof(address)) < 0) load_fail("no sink at %s", path);
    setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* What a PUBLISH takes on the wire. */
static uint64_t packet_bytes(void) {
    uint64_t rest = 2 + sizeof(topic) - 1 + (settings.qos ? 2 : 0) + (settings.protocol == 5) + settings.payload_bytes;
    return 1 + (rest < 128 ? 1 : rest < 16384 ? 2 : 3) + rest;
}

static void compare(const struct sink_counts *counts, uint64_t expected) {
    if (counts->messages == expected && counts->message_bytes == expected * packet_bytes()) return;
    load_fail("published %llu messages of %llu bytes; the sink has %llu messages, %llu bytes",
              (unsigned long long)expected, (unsigned long long)packet_bytes(), (unsigned long long)counts->messages,
              (unsigned long long)counts->message_bytes);
}

/* ---- The measurement */

extern uint64_t heap_allocations(void) __attribute__((weak)); /* heap.c, if it is there */

struct account {
    uint64_t wall_ns, cpu_ns, wake_ups, allocations;
};

static struct account account(int who) {
    struct rusage usage;
    struct account now = { .allocations = heap_allocations ? heap_allocations() : 0 };
    getrusage(who, &usage);
    now.cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    now.wake_ups = (uint64_t)usage.ru_nvcsw;
    now.wall_ns = monotonic_ns();
    return now;
}

static void report(const struct account *begin, const struct account *end, uint64_t count) {
    char version[100] = "";
    peer.version(version, sizeof(version));
    printf(
        "{\"peer\": \"%s\", \"version\": \"%s\", \"n\": %llu, \"wall_ns\": %llu, \"cpu_ns\": %llu, \"wake_ups\": %llu",
        peer.name, version, (unsigned long long)count, (unsigned long long)(end->wall_ns - begin->wall_ns),
        (unsigned long long)(end->cpu_ns - begin->cpu_ns), (unsigned long long)(end->wake_ups - begin->wake_ups));
    if (heap_allocations)
        printf(", \"allocations\": %llu", (unsigned long long)(end->allocations - begin->allocations));
}

static int order(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void report_times(uint64_t *times, uint64_t count) {
    qsort(times, count, sizeof(*times), order);
    printf(", \"p50_ns\": %llu, \"p99_ns\": %llu, \"p999_ns\": %llu", (unsigned long long)times[count / 2],
           (unsigned long long)times[count * 99 / 100], (unsigned long long)times[count * 999 / 1000]);
}

/* ---- Workloads */

static void run_publish(void) {
    peer.open(&settings);
    peer.prepare(topic, settings.qos);
    ask(SINK_RESET, 0);
    unsigned limit = settings.qos ? settings.window : peer.tells_qos_0 ? QOS_0_OUTSTANDING : 0, unflushed = 0;
    /* To wake up for each of a thread's completions would be costly, and no use. */
    uint64_t batch = peer.has_threads ? (limit + 1) / 2 : 1;
    struct account begin = account(RUSAGE_SELF);
    for (uint64_t sent = 0; sent < messages; sent++) {
        if (limit && sent - value(&completed) >= limit) {
            unflushed = 0;
            await(&completed, &completed_wanted, sent - limit + batch);
        }
        publish();
        if (++unflushed == settings.flush_every) {
            peer.flush();
            unflushed = 0;
        }
    }
    flush_all();
    if (limit) await(&completed, &completed_wanted, messages);
    struct sink_counts counts = ask(SINK_COUNT, messages);
    struct account end = account(RUSAGE_SELF);
    compare(&counts, messages);
    if (limit && completed != messages) load_fail("completed more than was published");
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
    await(&arrived, &arrived_wanted, messages);
    flush_all();
    request(SINK_COUNT, 0, settings.qos ? messages : 0);
    if (settings.qos && !peer.has_threads)
        while (!take_counts(&counts, MSG_DONTWAIT)) peer.turn(1);
    else
        while (!take_counts(&counts, 0)) continue;
    struct account end = account(RUSAGE_SELF);
    if (arrived != messages || (settings.qos && counts.acknowledged != messages)) load_fail("not as many as were sent");
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
            await(&arrived, &arrived_wanted, done);
        else
            await(&completed, &completed_wanted, done);
        uint64_t now = monotonic_ns();
        if (i >= WARM_UP) times[count++] = now - since;
        if (is_echo) await(&completed, &completed_wanted, done);
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
    } workloads[] = { { "publish", run_publish }, { "receive", run_receive }, { "ack", run_ack },
                      { "echo", run_echo },       { "connect", run_connect }, { "first", run_first },
                      { "start", run_start },     { "idle", run_idle } };
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
    sem_init(&wake_up, 0, 0);
    run(argv[1]);
    return 0;
}
