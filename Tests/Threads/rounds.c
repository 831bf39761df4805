/*
 * rounds [-n ROUNDS] [-r] URL
 *
 * In each round two threads submit five messages, and the owner, which has slept, has to have completed all of them before
 * the next one begins. There is no Keep Alive, nor anything else that would wake it up: a message that lies there has been
 * forgotten. The owner is a thread in smq_wait(), or with -r a runner. Prints the number of rounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 2,
    MESSAGES = 5,
    PATIENCE_S = 30
};

static smq_client *client;
static unsigned long rounds = 10000;
static unsigned long completed; /* the owner's */
static sem_t begin[THREADS], end;

static void fail(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s\n", what, smq_status_name(status));
    exit(EXIT_FAILURE);
}

static void *submit_all(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    for (unsigned long round = 0; round < rounds; round++) {
        while (sem_wait(&begin[thread]) < 0) continue;
        for (unsigned number = thread; number < MESSAGES; number += THREADS) {
            smq_message message = SMQ_MESSAGE_INIT;
            message.topic = smq_string("rounds");
            int32_t status = smq_submit(client, &message);
            if (status != SMQ_OK) fail("smq_submit", status);
        }
    }
    return NULL;
}

static void on_event(void *user, smq_client *owned, const smq_event *event) {
    (void)user;
    (void)owned;
    switch (event->type) {
    case SMQ_EVENT_CONNECTED:
        sem_post(&end);
        break;
    case SMQ_EVENT_COMPLETED:
        if (event->status != SMQ_OK) fail("SMQ_EVENT_COMPLETED", event->status);
        if (++completed % MESSAGES == 0) sem_post(&end);
        break;
    case SMQ_EVENT_DISCONNECTED:
        if (event->status != SMQ_OK) fail("SMQ_EVENT_DISCONNECTED", event->status);
    }
}

static void *own(void *argument) {
    (void)argument;
    smq_event event = SMQ_EVENT_INIT;
    int is_leaving = 0;
    while (!is_leaving || smq_client_state(client) != SMQ_STATE_DISCONNECTED) {
        int32_t result = smq_wait(client, -1);
        if (result < 0) fail("smq_wait", result);
        while (smq_next_event(client, &event) == 1) on_event(NULL, client, &event);
        if (is_leaving || completed < rounds * MESSAGES) continue;
        is_leaving = 1;
        result = smq_disconnect(client, 0);
        if (result < 0) fail("smq_disconnect", result);
    }
    return NULL;
}

static int has_ended(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (sem_timedwait(&end, &until) < 0)
        if (errno != EINTR) return 0;
    return 1;
}

int main(int argc, char **argv) {
    int has_runner = 0, option;
    while ((option = getopt(argc, argv, "n:r")) != -1) {
        switch (option) {
        case 'n':
            rounds = strtoul(optarg, NULL, 10);
            break;
        case 'r':
            has_runner = 1;
            break;
        default:
            return EXIT_FAILURE;
        }
    }
    if (optind != argc - 1) return EXIT_FAILURE;
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[optind]);
    options.keep_alive_s = SMQ_OFF;
    options.submit_messages = 8;
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status != SMQ_OK) fail("smq_client_init", status);
    for (unsigned thread = 0; thread < THREADS; thread++) sem_init(&begin[thread], 0, 0);
    sem_init(&end, 0, 0);

    smq_runner runner = SMQ_RUNNER_INIT;
    smq_runner_options how = SMQ_RUNNER_OPTIONS_INIT;
    how.on_event = on_event;
    pthread_t owner, submitters[THREADS];
    status = has_runner ? smq_runner_start(&runner, client, &how) : smq_connect(client);
    if (status != SMQ_OK) fail("start", status);
    if (!has_runner && pthread_create(&owner, NULL, own, NULL) != 0) return EXIT_FAILURE;
    if (!has_ended()) fail("connecting", SMQ_ERR_TIMEOUT);
    for (unsigned thread = 0; thread < THREADS; thread++)
        if (pthread_create(&submitters[thread], NULL, submit_all, (void *)(uintptr_t)thread) != 0) return EXIT_FAILURE;
    for (unsigned long round = 0; round < rounds; round++) {
        for (unsigned thread = 0; thread < THREADS; thread++) sem_post(&begin[thread]);
        if (has_ended()) continue;
        printf("round %lu: a message lies there, and nobody takes it\n", round);
        return EXIT_FAILURE;
    }
    for (unsigned thread = 0; thread < THREADS; thread++) pthread_join(submitters[thread], NULL);
    if (!has_runner) pthread_join(owner, NULL);
    if (has_runner && (status = smq_runner_stop(&runner, 10000)) != SMQ_OK) fail("smq_runner_stop", status);
    printf("%lu rounds\n", rounds);
    smq_client_close(client);
    free(memory);
    return EXIT_SUCCESS;
}
