/*
 * many URL COUNT: COUNT clients in one thread and one epoll loop, their memory cut from one mapping with guards between.
 * Each subscribes to a topic of its own, publishes one message with QoS 1 to it, gets it back, and leaves. Prints what a
 * client takes, and what of all that was on the heap.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define GUARD 64

static smq_client **clients;
static int64_t *due;         /* for each: when smq_service() is to be called, or -1 */
static unsigned char *state; /* 0 begun, 1 subscribed, 2 acknowledged, 4 message came; 7: leaves */
static unsigned long connected, subscribed, acknowledged, received, left, failed;

static int fail(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s, errno %d\n", what, smq_status_name(status), errno);
    return 1;
}

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static size_t name(unsigned long number, char *buffer, size_t size) {
    return (size_t)snprintf(buffer, size, "many/%lu", number);
}

static void publish(unsigned long number) {
    char topic[32];
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = 1;
    message.topic = (smq_bytes){ topic, name(number, topic, sizeof topic) };
    message.payload = message.topic;
    message.cookie = 2;
    if (smq_publish(clients[number], &message)) failed++;
}

static void subscribe(unsigned long number) {
    char topic[32];
    smq_subscription one = { { topic, name(number, topic, sizeof topic) }, 1, 0, 0, 0, 0 };
    smq_subscriptions request = SMQ_SUBSCRIPTIONS_INIT;
    request.count = 1;
    request.list = &one;
    request.cookie = 1;
    if (smq_subscribe(clients[number], &request)) failed++;
}

static void handle(unsigned long number, const smq_event *event) {
    char topic[32];
    size_t size = name(number, topic, sizeof topic);
    if (event->type == SMQ_EVENT_CONNECTED) {
        connected++;
        subscribe(number);
    } else if (event->type == SMQ_EVENT_COMPLETED && event->status == SMQ_OK && event->cookie == 1) {
        subscribed++;
        state[number] |= 1;
        publish(number);
    } else if (event->type == SMQ_EVENT_COMPLETED && event->status == SMQ_OK && event->cookie == 2) {
        acknowledged++;
        state[number] |= 2;
    } else if (event->type == SMQ_EVENT_MESSAGE && event->payload.size == size &&
               !memcmp(event->payload.data, topic, size)) {
        received++;
        state[number] |= 4;
    } else if (event->type == SMQ_EVENT_DISCONNECTED && event->status == SMQ_OK && state[number] == 15) {
        left++;
    } else {
        failed++;
        fprintf(stderr, "client %lu: event %d, %s, stage %d, errno %d\n", number, event->type,
                smq_status_name(event->status), event->stage, event->os_error);
    }
}

static void serve(unsigned long number) {
    smq_event event = SMQ_EVENT_INIT;
    smq_service(clients[number]);
    while (smq_next_event(clients[number], &event) == 1) handle(number, &event);
    if (state[number] == 7) {
        state[number] = 15;
        smq_disconnect(clients[number], 1000);
    }
    int32_t timeout = smq_next_timeout_ms(clients[number]);
    due[number] = timeout < 0 ? -1 : milliseconds() + timeout;
}

int main(int argc, char **argv) {
    if (argc != 3) return fail("usage: many URL COUNT", 0);
    unsigned long count = strtoul(argv[2], NULL, 10);
    clients = calloc(count, sizeof *clients);
    due = calloc(count, sizeof *due);
    state = calloc(count, 1);
    struct epoll_event ready[256];
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[1]);
    options.client_id = smq_string("many-%%%%%%%%");
    options.outbox_bytes = 512;
    options.outbox_messages = 4;
    options.receive_bytes = 256;
    options.receive_maximum = 4;
    options.subscriptions = 1;
    options.requests = 1;
    options.request_bytes = 64;
    options.connect_timeout_ms = 60000;
    size_t size = smq_client_size(&options), step = (size + GUARD + 63) / 64 * 64;
    unsigned char *memory =
        mmap(NULL, count * step + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int poller = epoll_create1(0);
    if (memory == MAP_FAILED || poller < 0 || !clients || !due || !state) return fail("memory", 0);
    memset(memory, 0xA5, count * step + GUARD);
    struct mallinfo2 before = mallinfo2();

    for (unsigned long n = 0; n < count; n++) {
        int32_t status = smq_client_init(memory + GUARD + n * step, size, &options, &clients[n]);
        if (status) return fail("smq_client_init", status);
        struct epoll_event interest = { EPOLLIN, { .u64 = n } };
        if (epoll_ctl(poller, EPOLL_CTL_ADD, smq_fd(clients[n]), &interest)) return fail("epoll_ctl", 0);
        status = smq_connect(clients[n]);
        if (status) return fail("smq_connect", status);
        serve(n);
    }
    int64_t begin = milliseconds();
    while (left < count && !failed && milliseconds() < begin + 90000) {
        int64_t now = milliseconds(), next = now + 1000;
        for (unsigned long n = 0; n < count; n++)
            if (due[n] >= 0 && due[n] < next) next = due[n];
        int got = epoll_wait(poller, ready, 256, next < now ? 0 : (int)(next - now));
        for (int i = 0; i < got; i++) serve(ready[i].data.u64);
        now = milliseconds();
        for (unsigned long n = 0; n < count; n++)
            if (due[n] >= 0 && due[n] <= now) serve(n);
    }
    struct mallinfo2 after = mallinfo2();
    unsigned long touched = 0;
    for (unsigned long n = 0; n <= count; n++) {
        size_t from = n ? GUARD + (n - 1) * step + size : 0, to = n < count ? GUARD + n * step : count * step + GUARD;
        for (size_t at = from; at < to; at++) touched += memory[at] != 0xA5;
    }
    for (unsigned long n = 0; n < count; n++) smq_client_close(clients[n]);
    printf("clients %lu connected %lu subscribed %lu acknowledged %lu received %lu left %lu failed %lu\n", count,
           connected, subscribed, acknowledged, received, left, failed);
    printf("bytes %zu heap %zd mapped %zd touched %lu milliseconds %lld\n", size,
           (ssize_t)after.uordblks - (ssize_t)before.uordblks, (ssize_t)after.hblkhd - (ssize_t)before.hblkhd, touched,
           (long long)(milliseconds() - begin));
    return failed || left != count;
}
