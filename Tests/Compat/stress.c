/*
 * stress [-s SECONDS] [-p MICROSECONDS] [-r] HOST PORT
 *
 * What programs with threads rely on: 4 threads publish, subscribe, unsubscribe, reconnect and disconnect on 3 clients
 * with a thread each (mosquitto_loop_start), and begin and end clients of their own; a fifth has a client with a loop of
 * its own, the witness. They pause after each call.
 *
 * All sessions are kept, so whatever mosquitto_publish() took with QoS 1 or 2 has to arrive, also when the server is
 * restarted meanwhile, if it keeps what it has. Who restarts it says so (-r): Mosquitto 2.0.11 sends a message of QoS 2
 * whose PUBREL was the last it said once more as PUBLISH. Prints memory and what it has counted; fails if something was
 * lost, told twice, doubled with QoS 2, or damaged.
 *
 * Compiled twice: against the library as shipped, and by Package.swift, with the thread sanitizer.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <mosquitto_abi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

#define CLIENTS 3
#define THREADS 4
#define MESSAGES (1u << 22) /* of a thread; in a run of ten minutes there are some 600,000 */

struct client {
    struct mosquitto *mosq;
    pthread_mutex_t life;
    atomic_uchar unsure[65536], certain[65536],
        told[65536]; /* by message id: of QoS 0, of 1 and 2, and by on_publish */
};

static struct client clients[CLIENTS];
static struct mosquitto *witness;
/* By thread and number, the QoS with which it was taken, and how often it arrived: 2 bits each. */
static atomic_uchar taken[THREADS][MESSAGES / 4], arrived[THREADS][MESSAGES / 4];
static atomic_ulong published, refused, received, damaged, reconnects, farewells, lives;
static atomic_bool is_over, is_settled;
static unsigned seconds = 10, pause_us = 500;
static bool is_restarted;
static const char *host;
static int port;

struct payload {
    uint32_t thread, number, qos, size, sum;
    uint8_t filling[];
};

static unsigned get(const atomic_uchar *bits, uint32_t number) { return bits[number / 4] >> number % 4 * 2 & 3; }

/* By one thread only. */
static void set(atomic_uchar *bits, uint32_t number, unsigned value) {
    bits[number / 4] = (unsigned char)((bits[number / 4] & ~(3u << number % 4 * 2)) | value << number % 4 * 2);
}

static uint32_t sum(const struct payload *payload) {
    uint32_t result = payload->thread ^ payload->number * 2654435761u ^ payload->qos << 30 ^ payload->size;
    for (size_t index = 0; index < payload->size - sizeof *payload; index++)
        result = result * 31 + payload->filling[index];
    return result;
}

/* ---- callbacks ---- */

static void on_publish(struct mosquitto *mosq, void *user, int mid) {
    struct client *client = user;
    (void)mosq;
    atomic_fetch_add(&client->told[mid], 1);
}

static void on_log(struct mosquitto *mosq, void *user, int level, const char *text) {
    (void)mosq, (void)user, (void)level;
    if (!strstr(text, "Client ")) damaged++;
}

static void on_noise(struct mosquitto *mosq, void *user, const struct mosquitto_message *message) {
    struct client *client = user;
    int mid = 0;
    if (message->payloadlen != 5 || memcmp(message->payload, "noise", 6) != 0) damaged++;
    if (message->qos == 1 && mosquitto_publish(mosq, &mid, "echo", 4, "echo", 0, false) == MOSQ_ERR_SUCCESS)
        atomic_fetch_add(&client->unsure[mid], 1);
}

static void on_message(struct mosquitto *mosq, void *user, const struct mosquitto_message *message) {
    const struct payload *payload = message->payload;
    (void)mosq, (void)user;
    if (message->payloadlen < (int)sizeof *payload || payload->size != (uint32_t)message->payloadlen ||
        payload->thread >= THREADS || payload->number >= MESSAGES || payload->sum != sum(payload) ||
        (int)payload->qos != message->qos) {
        damaged++;
        return;
    }
    unsigned count = get(arrived[payload->thread], payload->number);
    if (count < 3) set(arrived[payload->thread], payload->number, count + 1);
    received++;
}

static void on_connect(struct mosquitto *mosq, void *user, int code) {
    (void)user;
    if (code == 0) mosquitto_subscribe(mosq, NULL, "data/#", 2);
}

/* ---- what the threads do ---- */

static void publish(unsigned thread, uint32_t number, struct client *client, unsigned *seed) {
    char room[2048], topic[32];
    struct payload *payload = (struct payload *)room;
    int mid = 0, qos = (int)(rand_r(seed) % 3);
    payload->thread = thread;
    payload->number = number;
    payload->qos = (uint32_t)qos;
    payload->size = (uint32_t)sizeof *payload + (uint32_t)rand_r(seed) % (sizeof room - sizeof *payload);
    memset(payload->filling, (int)number, payload->size - sizeof *payload);
    payload->sum = sum(payload);
    snprintf(topic, sizeof topic, "data/%u", thread);
    int result = mosquitto_publish(client->mosq, &mid, topic, (int)payload->size, payload, qos, false);
    if (result != MOSQ_ERR_SUCCESS && (result != MOSQ_ERR_NO_CONN || qos == 0)) {
        refused++;
        return;
    }
    published++;
    if (qos > 0) set(taken[thread], number, (unsigned)qos);
    atomic_fetch_add(qos > 0 ? &client->certain[mid] : &client->unsure[mid], 1);
}

static void subscribe(struct client *client, unsigned *seed) {
    char topic[32];
    snprintf(topic, sizeof topic, "noise/%d", rand_r(seed) % 4);
    if (rand_r(seed) % 2) {
        mosquitto_subscribe(client->mosq, NULL, topic, rand_r(seed) % 3);
        int mid = 0;
        if (mosquitto_publish(client->mosq, &mid, topic, 5, "noise", rand_r(seed) % 2, false) != MOSQ_ERR_INVAL)
            atomic_fetch_add(&client->unsure[mid], 1);
    } else {
        mosquitto_unsubscribe(client->mosq, NULL, topic);
    }
}

/* The thread ends with the connection, and begins with the next one. */
static void leave_and_come_back(struct client *client, bool is_forced) {
    pthread_mutex_lock(&client->life);
    if (!is_forced) mosquitto_disconnect(client->mosq);
    mosquitto_loop_stop(client->mosq, is_forced);
    mosquitto_connect_async(client->mosq, host, port, 60);
    mosquitto_loop_start(client->mosq);
    pthread_mutex_unlock(&client->life);
    farewells++;
}

static void live_shortly(unsigned *seed) {
    unsigned how = (unsigned)rand_r(seed);
    struct mosquitto *mosq = mosquitto_new(NULL, true, NULL);
    mosquitto_log_callback_set(mosq, on_log);
    if (how & 1) mosquitto_loop_start(mosq);
    if (how & 2) mosquitto_publish(mosq, NULL, "early", 5, "early", 1, false);
    if (how & 4)
        mosquitto_connect_async(mosq, host, port, 60);
    else
        mosquitto_connect(mosq, host, port, 60);
    if (!(how & 1) && how & 8) mosquitto_loop_start(mosq);
    if (how & 16) usleep((unsigned)rand_r(seed) % 3000);
    if (how & 32) mosquitto_publish(mosq, NULL, "late", 4, "late", 2, false);
    if (how & 64) mosquitto_disconnect(mosq);
    if (how & 128) mosquitto_loop_stop(mosq, true);
    mosquitto_destroy(mosq);
    lives++;
}

static void *work(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument, seed = thread + 1;
    for (uint32_t number = 0; !is_over && number < MESSAGES;) {
        struct client *client = &clients[rand_r(&seed) % CLIENTS];
        int what = rand_r(&seed) % 1000;
        if (what < 900) {
            if (published < received + 2000 + published / 3) publish(thread, number++, client, &seed);
        } else if (what < 990) {
            subscribe(client, &seed);
        } else if (what < 994) {
            /* Between mosquitto_disconnect() and the thread's end it would keep the thread. */
            pthread_mutex_lock(&client->life);
            mosquitto_reconnect(client->mosq);
            pthread_mutex_unlock(&client->life);
            reconnects++;
        } else if (what < 996) {
            leave_and_come_back(client, what == 995);
        } else {
            live_shortly(&seed);
        }
        usleep(pause_us);
    }
    return NULL;
}

static void *watch(void *argument) {
    (void)argument;
    while (!is_settled) {
        if (mosquitto_loop(witness, 100, 1) == MOSQ_ERR_SUCCESS) continue;
        usleep(100000);
        mosquitto_reconnect(witness);
    }
    return NULL;
}

/* ---- the books ---- */

static bool is_complete(void) {
    for (unsigned index = 0; index < CLIENTS; index++)
        for (unsigned mid = 1; mid < 65536; mid++)
            if ((uint8_t)(clients[index].told[mid] - clients[index].certain[mid]) > clients[index].unsure[mid])
                return false;
    return true;
}

static unsigned long count(bool is_doubled) {
    unsigned long result = 0;
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (uint32_t number = 0; number < MESSAGES; number++) {
            unsigned qos = get(taken[thread], number), times = get(arrived[thread], number);
            result += is_doubled ? qos == 2 && times > 1 : qos > 0 && times == 0;
        }
    return result;
}

static long resident_kb(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct mosquitto *begin(const char *id, void *user) {
    struct mosquitto *mosq = mosquitto_new(id, false, user);
    mosquitto_reconnect_delay_set(mosq, 1, 1, false);
    mosquitto_log_callback_set(mosq, on_log);
    return mosq;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS], watcher;
    int option;
    while ((option = getopt(argc, argv, "s:p:r")) != -1) {
        if (option == 's') seconds = (unsigned)strtoul(optarg, NULL, 10);
        if (option == 'p') pause_us = (unsigned)strtoul(optarg, NULL, 10);
        if (option == 'r') is_restarted = true;
    }
    if (argc - optind != 2) return 2;
    host = argv[optind];
    port = atoi(argv[optind + 1]);
    memset((void *)taken, 0, sizeof taken); /* now, so that memory does not grow later */
    memset((void *)arrived, 0, sizeof arrived);
    memset((void *)clients, 0, sizeof clients);

    mosquitto_lib_init();
    witness = begin("stress-witness", NULL);
    mosquitto_connect_callback_set(witness, on_connect);
    mosquitto_message_callback_set(witness, on_message);
    if (mosquitto_connect(witness, host, port, 60) != MOSQ_ERR_SUCCESS) return 2;
    pthread_create(&watcher, NULL, watch, NULL);
    sleep(1);
    for (unsigned index = 0; index < CLIENTS; index++) {
        char id[16];
        snprintf(id, sizeof id, "stress-%u", index);
        pthread_mutex_init(&clients[index].life, NULL);
        clients[index].mosq = begin(id, &clients[index]);
        mosquitto_publish_callback_set(clients[index].mosq, on_publish);
        mosquitto_message_callback_set(clients[index].mosq, on_noise);
        mosquitto_loop_start(clients[index].mosq);
        mosquitto_connect_async(clients[index].mosq, host, port, 60);
    }
    for (uintptr_t index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, work, (void *)index);
    for (unsigned second = 0; second < seconds; second++) {
        sleep(1);
        if (seconds < 60 || second % 10 == 9)
            printf("%u s: %ld kB, %lu published\n", second + 1, resident_kb(), published);
        fflush(stdout);
    }
    is_over = true;
    for (unsigned index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
    for (unsigned second = 0; second < 200 && (!is_complete() || count(false) > 0); second++) usleep(100000);
    is_settled = true;
    pthread_join(watcher, NULL);
    bool has_told = is_complete();
    for (unsigned index = 0; index < CLIENTS; index++) mosquitto_destroy(clients[index].mosq);
    mosquitto_disconnect(witness);
    mosquitto_destroy(witness);
    mosquitto_lib_cleanup();

    unsigned long lost = count(false), doubled = count(true);
    printf("published %lu refused %lu received %lu reconnects %lu farewells %lu lives %lu\n", published, refused,
           received, reconnects, farewells, lives);
    printf("lost %lu doubled %lu damaged %lu told %s\n", lost, doubled, damaged, has_told ? "once" : "wrongly");
    return lost || (doubled && !is_restarted) || damaged || !has_told;
}
