/*
 * many_clients PORT COUNT SECONDS KEEP_ALIVE: that many clients in one group. They connect, publish a message each, are idle
 * for so many seconds, and disconnect. Prints what happened and what it took.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static smq_group *group;
static unsigned connected, completed, disconnected, wrong, handed_out;

static void check(int32_t status, const char *what) {
    if (status >= 0) return;
    fprintf(stderr, "%s: %s\n", what, smq_status_name(status));
    exit(EXIT_FAILURE);
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void take(smq_client *client) {
    smq_event event = SMQ_EVENT_INIT;
    int32_t count = 0;
    while (smq_next_event(client, &event) == 1) {
        count++;
        connected += event.type == SMQ_EVENT_CONNECTED;
        completed += event.type == SMQ_EVENT_COMPLETED && event.status == SMQ_OK;
        disconnected += event.type == SMQ_EVENT_DISCONNECTED && event.status == SMQ_OK;
        wrong += event.status != SMQ_OK;
    }
    handed_out++;
    if (count == 0) {
        fprintf(stderr, "a client without an event was handed out\n");
        exit(EXIT_FAILURE);
    }
}

static void run(const unsigned *counter, unsigned count) {
    double end = now(CLOCK_MONOTONIC) + 60;
    while (*counter < count && now(CLOCK_MONOTONIC) < end) {
        smq_client *client;
        check(smq_group_wait(group, 1000), "smq_group_wait");
        while (smq_group_next_ready(group, &client) == 1) take(client);
    }
}

static void *block(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(EXIT_FAILURE);
    return memory;
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 5) return EXIT_FAILURE;
    unsigned count = (unsigned)atoi(arguments[2]);
    double seconds = atof(arguments[3]);
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("127.0.0.1");
    options.port = (uint32_t)atoi(arguments[1]);
    options.keep_alive_s = (uint32_t)atoi(arguments[4]);
    options.client_id = smq_string("%%%%%%%%");
    options.outbox_bytes = options.receive_bytes = 512;
    options.outbox_messages = 4;
    options.answer_timeout_ms = options.connect_timeout_ms = 60000;

    size_t size = (smq_client_size(&options) + 63) & ~(size_t)63;
    uint8_t *memory = block(size * count);
    smq_client **clients = block(count * sizeof(*clients));
    size_t group_size = smq_group_size(count);
    check(smq_group_init(block(group_size), group_size, count, &group), "smq_group_init");
    for (unsigned index = 0; index < count; index++) {
        check(smq_client_init(memory + index * size, size, &options, &clients[index]), "smq_client_init");
        check(smq_group_add(group, clients[index]), "smq_group_add");
        check(smq_connect(clients[index]), "smq_connect");
        /* A burst would overflow the peer's backlog. */
        if (index % 64 == 0) check(smq_group_service(group), "smq_group_service");
    }
    run(&connected, count);
    for (unsigned index = 0; index < count; index++)
        check(smq_publish_text(clients[index], "a", "text", 1, 0), "smq_publish_text");
    run(&completed, count);

    struct rusage before, after;
    double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    unsigned waits = 0, handed_out_before = handed_out;
    getrusage(RUSAGE_SELF, &before);
    for (double left; (left = begin + seconds - now(CLOCK_MONOTONIC)) > 0; waits++)
        if (smq_group_wait(group, (int32_t)(left * 1000) + 1) == 1) break;
    getrusage(RUSAGE_SELF, &after);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("group_bytes %zu client_bytes %zu connected %u completed %u waits %u handed_out %u sleeps %ld cpu_us %.0f\n",
           group_size, size, connected, completed, waits, handed_out - handed_out_before,
           after.ru_nvcsw - before.ru_nvcsw, cpu * 1e6);
    fflush(stdout);

    for (unsigned index = 0; index < count; index++) check(smq_disconnect(clients[index], 5000), "smq_disconnect");
    run(&disconnected, count);
    printf("disconnected %u wrong %u\n", disconnected, wrong);
    /* Half of them close while they are members. */
    for (unsigned index = 0; index < count; index += 2) check(smq_client_close(clients[index]), "smq_client_close");
    check(smq_group_close(group), "smq_group_close");
    for (unsigned index = 1; index < count; index += 2) check(smq_client_close(clients[index]), "smq_client_close");
    return EXIT_SUCCESS;
}
