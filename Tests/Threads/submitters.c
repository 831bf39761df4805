/*
 * submitters [-t THREADS] [-n COUNT] [-m SUBMIT_MESSAGES] [-p PRIORITY] [-r] [-s] URL
 *
 * THREADS threads submit COUNT messages each, to submit/<thread>, with their number as the payload and with QoS 0, 1 and
 * 2 thread by thread; a runner (-r) or the main thread owns the client. -p: the threads are SCHED_FIFO. -s: a signal
 * handler on the main thread submits too, to submit/signal. Prints what became of them.
 *
 * Compiled twice: against the library as shipped, and by Package.swift, with the thread sanitizer.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <sys/time.h>
#include <unistd.h>

static smq_client *client;
static unsigned long count = 1000;
static atomic_ulong completed, failed, signalled;
static atomic_int has_left;

static int fail(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s\n", what, smq_status_name(status));
    exit(EXIT_FAILURE);
}

static int32_t submit(const char *level, uint8_t qos, unsigned long number) {
    char topic[32], payload[32];
    snprintf(topic, sizeof topic, "submit/%s", level);
    snprintf(payload, sizeof payload, "%lu", number);
    smq_message message = SMQ_MESSAGE_INIT;
    message.qos = qos;
    message.topic = smq_string(topic);
    message.payload = smq_string(payload);
    message.cookie = number;
    return smq_submit(client, &message);
}

static void *submit_all(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    char level[16];
    snprintf(level, sizeof level, "%u", thread);
    for (unsigned long number = 0; number < count;) {
        int32_t status = submit(level, (uint8_t)(thread % 3), number);
        if (status == SMQ_OK)
            number++;
        else if (status == SMQ_ERR_FULL)
            usleep(100);
        else
            fail("smq_submit", status);
    }
    return NULL;
}

static void submit_last(void) {
    for (unsigned long number = 0; number < 10; number++)
        while (submit("last", 1, number) == SMQ_ERR_FULL) usleep(100);
}

/* smq_submit() may be called here; snprintf() with these formats touches nothing either in glibc. */
static void on_alarm(int signal) {
    (void)signal;
    unsigned long number = atomic_load(&signalled);
    if (number < count && submit("signal", 1, number) == SMQ_OK) atomic_store(&signalled, number + 1);
}

static void on_event(void *user, smq_client *owned, const smq_event *event) {
    (void)user;
    (void)owned;
    if (event->type == SMQ_EVENT_COMPLETED) atomic_fetch_add(event->status == SMQ_OK ? &completed : &failed, 1);
    if (event->type == SMQ_EVENT_DISCONNECTED) atomic_store(&has_left, 1);
}

static void take_events(int32_t timeout_ms) {
    smq_event event = SMQ_EVENT_INIT;
    smq_wait(client, timeout_ms);
    while (smq_next_event(client, &event) == 1) on_event(NULL, client, &event);
}

int main(int argc, char **argv) {
    unsigned threads = 4;
    int priority = 0, has_runner = 0, has_signals = 0, option;
    smq_options options = SMQ_OPTIONS_INIT;
    options.submit_messages = 64;
    options.client_id = smq_string("submitters");
    while ((option = getopt(argc, argv, "t:n:m:p:rs")) != -1) {
        switch (option) {
        case 't':
            threads = (unsigned)atoi(optarg);
            break;
        case 'n':
            count = strtoul(optarg, NULL, 10);
            break;
        case 'm':
            options.submit_messages = (uint32_t)atoi(optarg);
            break;
        case 'p':
            priority = atoi(optarg);
            break;
        case 'r':
            has_runner = 1;
            break;
        case 's':
            has_signals = 1;
            break;
        default:
            return EXIT_FAILURE;
        }
    }
    if (optind != argc - 1 || threads > 64) return EXIT_FAILURE;
    options.url = smq_string(argv[optind]);
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status != SMQ_OK) return fail("smq_client_init", status);

    smq_runner runner = SMQ_RUNNER_INIT;
    smq_runner_options how = SMQ_RUNNER_OPTIONS_INIT;
    how.on_event = on_event;
    status = has_runner ? smq_runner_start(&runner, client, &how) : smq_connect(client);
    if (status != SMQ_OK) return fail("start", status);

    pthread_t started[64];
    pthread_attr_t attributes;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* of the threads: inherited */
    pthread_attr_init(&attributes);
    if (priority > 0) {
        struct sched_param parameters = { .sched_priority = priority };
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &parameters);
    }
    for (unsigned thread = 0; thread < threads; thread++) {
        if (pthread_create(&started[thread], &attributes, submit_all, (void *)(uintptr_t)thread) != 0) {
            fprintf(stderr, "no thread of this priority\n");
            return 77;
        }
    }
    if (has_signals) {
        struct itimerval often = { { 0, 200 }, { 0, 200 } };
        signal(SIGALRM, on_alarm);
        pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    unsigned long all = threads * count + (has_signals ? count : 0);
    while (atomic_load(&completed) + atomic_load(&failed) < all)
        if (has_runner)
            usleep(1000);
        else
            take_events(10);
    for (unsigned thread = 0; thread < threads; thread++) pthread_join(started[thread], NULL);

    /* These are delivered before it leaves. */
    submit_last();
    status = has_runner ? smq_runner_stop(&runner, 10000) : smq_disconnect(client, 10000);
    if (status != SMQ_OK) return fail("stop", status);
    while (!atomic_load(&has_left)) take_events(100);

    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    printf("completed %lu failed %lu submitted %" PRIu64 " full %" PRIu64 " waiting %u peak %u outbox %u sends %" PRIu64
           "\n",
           atomic_load(&completed), atomic_load(&failed), stats.submitted, stats.submit_full, stats.submit_waiting,
           stats.submit_peak, stats.outbox_messages, stats.send_calls);
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
