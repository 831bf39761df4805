/*
 * cycles URL COUNT EVERY: connects and disconnects COUNT times, with one client and with a new one each time in turn, and
 * prints after every EVERY times how many descriptors the process has and how many KB of memory are its own.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>
#include <time.h>
#include <unistd.h>

static _Alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[2][65536];

static int fail(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s\n", what, smq_status_name(status));
    return 1;
}

static unsigned descriptors(void) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count;
}

/* Without what is shared with the files it was loaded from. Counted page by page: what status says is an estimate. */
static unsigned long kilobytes(void) {
    unsigned long value = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Anonymous: %lu", &value) == 1) break;
    if (file) fclose(file);
    return value;
}

/* Takes events until the one that is wanted. */
static int32_t await(smq_client *client, int32_t wanted, smq_event *event) {
    for (;;) {
        int32_t got = smq_wait(client, 10000);
        if (got != 1) return got ? got : SMQ_ERR_TIMEOUT;
        while (smq_next_event(client, event) == 1)
            if (event->type == wanted) return event->status;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return fail("usage: cycles URL COUNT EVERY", 0);
    unsigned long count = strtoul(argv[2], NULL, 10), every = strtoul(argv[3], NULL, 10);
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[1]);
    options.outbox_bytes = 4096;
    options.outbox_messages = 16;
    options.client_id = smq_string("cycles");
    smq_event event = SMQ_EVENT_INIT;
    smq_client *lasting = NULL, *fresh = NULL;
    int32_t status = smq_client_init(memory[0], sizeof memory[0], &options, &lasting);
    if (status) return fail("smq_client_init", status);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned long cycle = 1; cycle <= count; cycle++) {
        smq_client *client = lasting;
        if (cycle % 2) {
            status = smq_client_init(memory[1], sizeof memory[1], &options, &fresh);
            if (status) return fail("smq_client_init", status);
            client = fresh;
        }
        status = smq_connect(client);
        if (!status) status = await(client, SMQ_EVENT_CONNECTED, &event);
        if (status) return fail("connect", status);
        /* Every fourth of the new ones is closed without a farewell. */
        if (cycle % 8 != 1) {
            status = smq_disconnect(client, 0);
            if (!status) status = await(client, SMQ_EVENT_DISCONNECTED, &event);
            if (status) return fail("disconnect", status);
        }
        if (client == fresh) smq_client_close(client);
        if (cycle % every == 0) printf("cycle %lu descriptors %u kilobytes %lu\n", cycle, descriptors(), kilobytes());
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    smq_client_close(lasting);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("descriptors %u seconds %.2f\n", descriptors(), seconds);
    return 0;
}
