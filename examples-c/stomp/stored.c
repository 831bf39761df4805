/*
 * A meter that keeps its readings over a power cut: stored [URL [FILE [DESTINATION]]]. Each line of standard input is a
 * reading. It is in the journal FILE, and on the disk, before the next one is read, and the server gets it when there is
 * a connection: at least once. The header read-at is another one for each reading, so a consumer knows a repetition.
 */
#define _POSIX_C_SOURCE 200809L
#include "client.h"
#include <poll.h>
#include <time.h>
#include <unistd.h>

/* Takes what the client reports; only what fails is of interest. */
static void take_events(sst_client *client) {
    sst_event event = SST_EVENT_INIT;
    while (sst_next_event(client, &event) == 1)
        if (event.type == SST_EVENT_JOURNAL || event.status != SST_OK) print_event(stderr, &event);
}

/* Keeps a reading. Returns SST_OK when it is on the disk. */
static int32_t keep(sst_client *client, const char *destination, const char *reading) {
    struct timespec now;
    char time[40], list[80];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(time, sizeof time, "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
    sst_headers headers = { list, sizeof list, 0 };
    sst_bytes name = sst_string("read-at"), value = sst_string(time);
    sst_header_put(&headers, &name, &value);

    sst_frame frame = SST_FRAME_INIT;
    frame.flags = SST_SEND_STORE;
    frame.destination = sst_string(destination);
    frame.headers = (sst_bytes){ list, headers.size };
    frame.body = sst_string(reading);
    int32_t status;
    while ((status = sst_send(client, &frame)) == SST_ERR_FULL && !stop) { /* the server has been away for long */
        sst_wait(client, 1000);
        take_events(client);
    }
    if (status != SST_OK) return status;
    status = sst_sync(client, -1);
    return status == 1 ? SST_OK : status == 0 ? SST_ERR_JOURNAL : status;
}

int main(int argc, char **argv) {
    sst_options options = SST_OPTIONS_INIT;
    options.url = sst_string(argc > 1 ? argv[1] : "stomp://guest:guest@127.0.0.1");
    options.journal = sst_string(argc > 2 ? argv[2] : "readings.journal");
    options.outbox_bytes = 65536;
    options.outbox_frames = 1024;
    const char *destination = argc > 3 ? argv[3] : "/queue/readings";

    sst_client *client = NULL;
    void *memory = NULL;
    char line[256];
    stop_on_signals();
    setvbuf(stdin, NULL, _IONBF, 0); /* poll() tells of what was not read yet */
    int32_t status = start(&client, &memory, &options);
    while (status == SST_OK && !stop) {
        struct pollfd wanted[] = { { sst_fd(client), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
        poll(wanted, 2, sst_next_timeout_ms(client));
        sst_service(client);
        take_events(client);
        if (!wanted[1].revents) continue;
        if (!fgets(line, sizeof line, stdin)) break;
        line[strcspn(line, "\n")] = '\0';
        status = keep(client, destination, line);
        if (status == SST_OK) printf("stored: %s\n", line);
        fflush(stdout);
    }
    if (status != SST_OK) failed("stored", status);
    if (client && sst_client_state(client) == SST_STATE_CONNECTED) {
        sst_disconnect(client, 5000); /* for the receipts that are due */
        while (sst_client_state(client) != SST_STATE_DISCONNECTED && sst_wait(client, -1) >= 0) take_events(client);
    }
    if (client) {
        sst_stats stats = SST_STATS_INIT;
        sst_client_stats(client, &stats);
        printf("for the next run: %u\n", (unsigned)stats.outbox_frames);
        sst_sync(client, 1000); /* the journal knows what the server has: it is not sent again */
    }
    end(client, memory);
    return status == SST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
