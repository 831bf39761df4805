/* Asks the sink, and compares what it has with what was sent. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "parts.h"

static int control = -1;

void request(uint32_t what, uint64_t count, uint64_t acknowledged) {
    struct sink_request text = { what,  settings.qos, settings.window, (uint32_t)settings.payload_bytes,
                                 count, acknowledged };
    if (send(control, &text, sizeof(text), MSG_NOSIGNAL) < 0) load_fail("the sink is gone");
}

bool take_counts(struct sink_counts *counts, int flags) {
    ssize_t size = recv(control, counts, sizeof(*counts), flags);
    if (size < 0 && errno == EAGAIN && !(flags & MSG_DONTWAIT)) load_fail("the sink has not got all");
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size != sizeof(*counts)) load_fail("the sink is gone");
    if (counts->mistakes) load_fail("%llu mistakes, says the sink", (unsigned long long)counts->mistakes);
    return true;
}

struct sink_counts ask(uint32_t what, uint64_t count) {
    struct sink_counts counts;
    request(what, count, 0);
    while (!take_counts(&counts, 0)) continue;
    return counts;
}

void open_control(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { PATIENCE_S, 0 };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(control, (struct sockaddr *)&address, sizeof(address)) < 0) load_fail("no sink at %s", path);
    setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

bool has_sink(void) { return control >= 0; }

/* What a PUBLISH takes on the wire. */
static uint64_t packet_bytes(void) {
    uint64_t rest = 2 + sizeof(topic) - 1 + (settings.qos ? 2 : 0) + (settings.protocol == 5) + settings.payload_bytes;
    return 1 + (rest < 128 ? 1 : rest < 16384 ? 2 : 3) + rest;
}

void compare(const struct sink_counts *counts, uint64_t expected) {
    if (counts->messages == expected && counts->message_bytes == expected * packet_bytes()) return;
    load_fail("published %llu messages of %llu bytes; the sink has %llu messages, %llu bytes",
              (unsigned long long)expected, (unsigned long long)packet_bytes(), (unsigned long long)counts->messages,
              (unsigned long long)counts->message_bytes);
}
