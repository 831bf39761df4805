/* Publishes how long it has run, each second, in an epoll loop with a timer and signals: uptime [URL]. Ctrl-C leaves. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "why.h"

static void watch(int epoll, int fd) {
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    options.flags = SMQ_OPTION_QOS_0_CONNECTED; /* of no use later */
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client = NULL;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) {
        print_options_error(stderr, &options, status);
        return EXIT_FAILURE;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec each_second = { { 1, 0 }, { 1, 0 } };
    timerfd_settime(timer_fd, 0, &each_second, NULL);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, smq_fd(client));
    watch(epoll, signal_fd);
    watch(epoll, timer_fd);

    unsigned long long seconds = 0;
    smq_event event = SMQ_EVENT_INIT;
    while (smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        struct epoll_event ready[3];
        int count = epoll_wait(epoll, ready, 3, smq_next_timeout_ms(client));
        for (int i = 0; i < count; i++) {
            unsigned long long passed;
            struct signalfd_siginfo signal;
            if (ready[i].data.fd == timer_fd && read(timer_fd, &passed, sizeof passed) > 0) {
                char text[32];
                seconds += passed;
                snprintf(text, sizeof text, "%llu", seconds);
                smq_message message = SMQ_MESSAGE_INIT;
                message.quiet = 1;
                message.topic = smq_string("uptime");
                message.payload = smq_string(text);
                smq_publish(client, &message);
            }
            if (ready[i].data.fd == signal_fd && read(signal_fd, &signal, sizeof signal) > 0)
                smq_disconnect(client, 1000);
        }
        smq_service(client);
        while (smq_next_event(client, &event) == 1)
            if (event.status) print_why(stderr, &event);
    }
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
