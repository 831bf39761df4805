/*
 * libmosquitto in one thread, which is its cheapest way: mosquitto_publish() writes at once. Reading goes on as long as
 * something comes, before it waits, which saves it a system call for each packet that mosquitto_loop() would make.
 */
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "load.h"

static struct mosquitto *client;
static const char *topic;
static unsigned message_qos;
static bool is_connected, is_subscribed;
static unsigned heard; /* callbacks so far */

static void check(int status, const char *what) {
    if (status != MOSQ_ERR_SUCCESS) load_fail("%s: %s", what, mosquitto_strerror(status));
}

static void on_connect(struct mosquitto *from, void *user, int reason) {
    (void)from, (void)user;
    if (reason) load_fail("refused: %d", reason);
    is_connected = true;
    heard++;
}

static void on_subscribe(struct mosquitto *from, void *user, int id, int count, const int *granted) {
    (void)from, (void)user, (void)id, (void)count, (void)granted;
    is_subscribed = true;
    heard++;
}

static void on_publish(struct mosquitto *from, void *user, int id) {
    (void)from, (void)user, (void)id;
    heard++;
    if (message_qos) load_completed(1);
}

static void on_message(struct mosquitto *from, void *user, const struct mosquitto_message *message) {
    (void)from, (void)user;
    heard++;
    load_arrived(strlen(message->topic), message->payload, (size_t)message->payloadlen);
}

static void mosquitto_turn(int timeout_ms) {
    /* The program has nothing to do for long: then the library, which knows when its next PINGREQ is due, may wait. */
    if (timeout_ms > 1000) {
        check(mosquitto_loop(client, timeout_ms, 1), "mosquitto_loop");
        return;
    }
    unsigned before = heard;
    check(mosquitto_loop_read(client, 1), "mosquitto_loop_read");
    if (heard != before) return;
    struct pollfd wanted = { .fd = mosquitto_socket(client), .events = POLLIN };
    if (mosquitto_want_write(client)) wanted.events |= POLLOUT;
    if (poll(&wanted, 1, timeout_ms) <= 0) {
        check(mosquitto_loop_misc(client), "mosquitto_loop_misc");
        return;
    }
    if (wanted.revents & POLLOUT) check(mosquitto_loop_write(client, 1), "mosquitto_loop_write");
    if (wanted.revents & ~POLLOUT) check(mosquitto_loop_read(client, 1), "mosquitto_loop_read");
}

static void mosquitto_open(const struct settings *settings) {
    int window = (int)settings->window;
    mosquitto_lib_init();
    client = mosquitto_new(settings->client_id, true, NULL);
    if (!client) load_fail("mosquitto_new failed");
    if (settings->protocol == 5)
        check(mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5), "5.0");
    check(mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, window), "SEND_MAXIMUM");
    check(mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, window), "RECEIVE_MAXIMUM");
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_publish_callback_set(client, on_publish);
    mosquitto_message_callback_set(client, on_message);
    check(mosquitto_connect(client, "127.0.0.1", settings->port, (int)settings->keep_alive_s), "mosquitto_connect");
    for (is_connected = false; !is_connected;) mosquitto_turn(1000);
}

static void mosquitto_subscribe_to(const char *filter, unsigned qos) {
    check(mosquitto_subscribe(client, NULL, filter, (int)qos), "mosquitto_subscribe");
    for (is_subscribed = false; !is_subscribed;) mosquitto_turn(1000);
}

static void mosquitto_prepare(const char *name, unsigned qos) {
    topic = name;
    message_qos = qos;
}

static bool mosquitto_publish_one(const void *payload, size_t size) {
    if (mosquitto_want_write(client)) return false; /* it would queue what the socket does not take, without end */
    check(mosquitto_publish(client, NULL, topic, (int)size, payload, (int)message_qos, false), "mosquitto_publish");
    return true;
}

static void mosquitto_flush(void) {} /* nothing is held back */

static bool mosquitto_is_sent(void) { return !mosquitto_want_write(client); }

static void mosquitto_close(void) {
    check(mosquitto_disconnect(client), "mosquitto_disconnect");
    mosquitto_destroy(client);
}

static void mosquitto_version(char *text, size_t size) {
    int major, minor, revision;
    mosquitto_lib_version(&major, &minor, &revision);
    snprintf(text, size, "%d.%d.%d", major, minor, revision);
}

const struct peer peer = {
    .name = "mosquitto",
    .version = mosquitto_version,
    .open = mosquitto_open,
    .subscribe = mosquitto_subscribe_to,
    .prepare = mosquitto_prepare,
    .publish = mosquitto_publish_one,
    .flush = mosquitto_flush,
    .is_sent = mosquitto_is_sent,
    .turn = mosquitto_turn,
    .close = mosquitto_close,
};
