/*
 * idle_clients PORT COUNT SECONDS KEEP_ALIVE_S [small]: so many clients in one thread and one epoll set. Each connects and
 * publishes a message with QoS 1; then all are idle for so long. Prints what a client takes, and what woke it up, as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 120000,
    BURST = 64 /* connections at a time: more would overflow the backlog of the server */
};

static smq_client **clients;
static int64_t *due; /* of each: when it is to be served, though nothing has arrived */
static unsigned long connected, completed, served;
static int poller;

static void check(int32_t status, const char *what) {
    if (status >= 0) return;
    fprintf(stderr, "idle_clients: %s: %s\n", what, smq_status_name(status));
    exit(1);
}

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void *zeros(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) return memory;
    perror("idle_clients: mmap");
    exit(1);
}

static void serve(unsigned long number) {
    smq_event event = SMQ_EVENT_INIT;
    check(smq_service(clients[number]), "smq_service");
    while (smq_next_event(clients[number], &event) == 1) {
        check(event.status, "an event");
        connected += event.type == SMQ_EVENT_CONNECTED;
        completed += event.type == SMQ_EVENT_COMPLETED;
    }
    int32_t timeout = smq_next_timeout_ms(clients[number]);
    due[number] = timeout < 0 ? INT64_MAX : milliseconds() + timeout;
    served++;
}

/* A turn of the loop. */
static void turn(unsigned long count, int64_t end) {
    struct epoll_event ready[256];
    int64_t now = milliseconds(), next = end;
    for (unsigned long n = 0; n < count; n++)
        if (due[n] < next) next = due[n];
    int got = epoll_wait(poller, ready, 256, next < now ? 0 : (int)(next - now));
    for (int i = 0; i < got; i++) serve(ready[i].data.u64);
    now = milliseconds();
    for (unsigned long n = 0; n < count; n++)
        if (due[n] <= now) serve(n);
}

static void await(const unsigned long *counter, unsigned long wanted, unsigned long count) {
    for (int64_t end = milliseconds() + PATIENCE_MS; *counter < wanted;) {
        if (milliseconds() > end) check(SMQ_ERR_TIMEOUT, "all clients");
        turn(count, end);
    }
}

static uint64_t bytes_sent(unsigned long count) {
    uint64_t sum = 0;
    for (unsigned long n = 0; n < count; n++) {
        smq_stats stats = SMQ_STATS_INIT;
        check(smq_client_stats(clients[n], &stats), "smq_client_stats");
        sum += stats.bytes_sent;
    }
    return sum;
}

static double resident_bytes(void) {
    unsigned long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2) exit(1);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_us(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e6 +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    if (argc != 5 && argc != 6) return 2;
    unsigned long count = strtoul(argv[2], NULL, 10);
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("127.0.0.1");
    options.port = (uint32_t)strtoul(argv[1], NULL, 10);
    options.keep_alive_s = (uint32_t)strtoul(argv[4], NULL, 10);
    options.client_id = smq_string("idle-%%%%%%%%");
    options.connect_timeout_ms = options.answer_timeout_ms = PATIENCE_MS;
    if (argc == 6) {
        options.outbox_bytes = options.receive_bytes = 512;
        options.outbox_messages = options.receive_maximum = 4;
        options.requests = options.subscriptions = 1;
        options.request_bytes = 64;
    }
    size_t size = smq_client_size(&options), step = (size + 63) / 64 * 64;
    clients = zeros(count * sizeof(*clients));
    due = zeros(count * sizeof(*due));
    uint8_t *memory = zeros(count * step);
    memset(clients, 1, count * sizeof(*clients));
    memset(due, 1, count * sizeof(*due)); /* what is ours is resident before */
    double before = resident_bytes();
    poller = epoll_create1(0);

    for (unsigned long n = 0; n < count; n++) {
        check(smq_client_init(memory + n * step, size, &options, &clients[n]), "smq_client_init");
        struct epoll_event interest = { EPOLLIN, { .u64 = n } };
        if (epoll_ctl(poller, EPOLL_CTL_ADD, smq_fd(clients[n]), &interest) < 0) {
            perror("idle_clients: epoll_ctl");
            return 1;
        }
        check(smq_connect(clients[n]), "smq_connect");
        serve(n);
        if (n % BURST == BURST - 1) await(&connected, n + 1, n + 1);
    }
    await(&connected, count, count);
    for (unsigned long n = 0; n < count; n++) {
        check(smq_publish_text(clients[n], "idle", "text", 1, 0), "smq_publish_text");
        serve(n);
    }
    await(&completed, count, count);

    uint64_t sent = bytes_sent(count);
    struct rusage begin, over;
    unsigned long turns = 0;
    served = 0;
    getrusage(RUSAGE_SELF, &begin);
    for (int64_t end = milliseconds() + strtol(argv[3], NULL, 10) * 1000; milliseconds() < end; turns++)
        turn(count, end);
    getrusage(RUSAGE_SELF, &over);
    /* PINGREQ has two bytes, and nothing else is sent. */
    printf("{\"clients\": %lu, \"bytes\": %zu, \"resident\": %.0f, \"pings\": %llu, \"served\": %lu, \"turns\": %lu, "
           "\"cpu_us\": %.0f}\n",
           count, size, (resident_bytes() - before) / (double)count, (unsigned long long)(bytes_sent(count) - sent) / 2,
           served, turns, cpu_us(&over) - cpu_us(&begin));
    for (unsigned long n = 0; n < count; n++) check(smq_client_close(clients[n]), "smq_client_close");
    return connected != count || completed != count;
}
