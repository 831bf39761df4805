/* What the programs of this folder share: a client in memory from malloc(), and errors in words. */
#ifndef CLIENT_H
#define CLIENT_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftstomp.h>

static volatile sig_atomic_t stop = 0;

static inline void on_signal(int signal) { stop = signal; }

static inline void stop_on_signals(void) {
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* Prints an event in one line. */
static inline void print_event(FILE *file, const sst_event *event) {
    char line[512];
    sst_describe_event(event, line, sizeof line);
    fprintf(file, "%s\n", line);
}

/* Prints why a call failed, and returns the status of a program that fails. The URL may have a passcode: it is not
   printed. */
static inline int failed(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s: %s\n", what, sst_status_name(status), sst_status_text(status));
    return EXIT_FAILURE;
}

/* Makes a client, and begins to connect. Its block is *memory, to be released after sst_client_close(). The environment
   variable STOMP_HOST is the virtual host. */
static inline int32_t start(sst_client **client, void **memory, sst_options *options) {
    options->virtual_host = sst_string(getenv("STOMP_HOST"));
    size_t size = sst_client_size(options);
    int32_t status = sst_options_check(options, NULL);
    if (status == SST_OK) *memory = malloc(size);
    if (status == SST_OK) status = sst_client_init(*memory, size, options, client);
    return status == SST_OK ? sst_connect(*client) : status;
}

static inline void end(sst_client *client, void *memory) {
    if (client) sst_client_close(client);
    free(memory);
}

#endif
