/*
 * idle URL KEEP_ALIVE_S MILLISECONDS: connects (0: without Keep Alive), says "connected", and is idle so long in the loop that the header
 * recommends. Says "over" before it leaves. A test watches its system calls between the two.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>
#include <unistd.h>

static _Alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[1 << 18];

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[1]);
    options.keep_alive_s = (uint32_t)strtoul(argv[2], NULL, 10);
    if (!options.keep_alive_s) options.keep_alive_s = SMQ_OFF;
    int64_t last = strtol(argv[3], NULL, 10), until = -1;
    smq_event event = SMQ_EVENT_INIT;
    smq_client *client = NULL;
    if (smq_client_init(memory, sizeof memory, &options, &client) || smq_connect(client)) return 1;
    while (until < 0 || milliseconds() < until) {
        int32_t timeout = smq_next_timeout_ms(client);
        int64_t left = until < 0 ? 10000 : until - milliseconds();
        if (timeout < 0 || timeout > left) timeout = left < 0 ? 0 : (int32_t)left;
        struct pollfd fd = { smq_fd(client), POLLIN, 0 };
        poll(&fd, 1, timeout);
        smq_service(client);
        while (smq_next_event(client, &event) == 1) {
            if (event.type != SMQ_EVENT_CONNECTED) return 1;
            until = milliseconds() + last;
            if (write(1, "connected\n", 10) != 10) return 1;
        }
    }
    if (write(1, "over\n", 5) != 5) return 1;
    return 0;
}
