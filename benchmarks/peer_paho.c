/*
 * Paho C with its asynchronous interface, which is the quicker of the two: MQTTAsync_send() puts a message into a queue, threads
 * of the library write and read.
 */
#include <MQTTAsync.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "load.h"

static MQTTAsync client;
static const char *topic;
static unsigned message_qos;
static bool is_5_0;
static sem_t answered;

static void check(int status, const char *what) {
    if (status != MQTTASYNC_SUCCESS) load_fail("%s: %s", what, MQTTAsync_strerror(status));
}

static void on_success(void *context, MQTTAsync_successData *data) {
    (void)context, (void)data;
    sem_post(&answered);
}

static void on_success_5_0(void *context, MQTTAsync_successData5 *data) {
    (void)context, (void)data;
    sem_post(&answered);
}

static void on_failure(void *context, MQTTAsync_failureData *data) {
    load_fail("%s failed: %d", (const char *)context, data ? data->code : 0);
}

static void on_failure_5_0(void *context, MQTTAsync_failureData5 *data) {
    load_fail("%s failed: %d", (const char *)context, data ? data->code : 0);
}

static void on_sent(void *context, MQTTAsync_successData *data) {
    (void)context, (void)data;
    load_completed(1);
}

static void on_sent_5_0(void *context, MQTTAsync_successData5 *data) {
    (void)context, (void)data;
    load_completed(1);
}

static void on_delivered(void *context, MQTTAsync_token token) {
    (void)context, (void)token;
    load_completed(1);
}

static int on_message(void *context, char *name, int name_size, MQTTAsync_message *message) {
    (void)context;
    load_arrived(name_size ? (size_t)name_size : strlen(name), message->payload, (size_t)message->payloadlen);
    MQTTAsync_freeMessage(&message);
    MQTTAsync_free(name);
    return 1;
}

static void await_answer(const char *what) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    if (sem_timedwait(&answered, &until) < 0) load_fail("%s: no answer", what);
}

static MQTTAsync_responseOptions answer_to(char *what) {
    MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
    options.context = what;
    if (is_5_0) {
        options.onSuccess5 = on_success_5_0;
        options.onFailure5 = on_failure_5_0;
    } else {
        options.onSuccess = on_success;
        options.onFailure = on_failure;
    }
    return options;
}

static void paho_open(const struct settings *settings) {
    static char what[] = "MQTTAsync_connect";
    char uri[40];
    MQTTAsync_createOptions create_5_0 = MQTTAsync_createOptions_initializer5;
    MQTTAsync_connectOptions connect_3_1_1 = MQTTAsync_connectOptions_initializer;
    MQTTAsync_connectOptions connect_5_0 = MQTTAsync_connectOptions_initializer5;
    MQTTAsync_connectOptions *options = settings->protocol == 5 ? &connect_5_0 : &connect_3_1_1;
    sem_init(&answered, 0, 0);
    is_5_0 = settings->protocol == 5;
    create_5_0.maxBufferedMessages = 65535; /* with 3.1.1 there is no bound */
    snprintf(uri, sizeof(uri), "tcp://127.0.0.1:%u", settings->port);
    check(MQTTAsync_createWithOptions(&client, uri, settings->client_id, MQTTCLIENT_PERSISTENCE_NONE, NULL,
                                      is_5_0 ? &create_5_0 : NULL),
          "MQTTAsync_create");
    check(MQTTAsync_setCallbacks(client, NULL, NULL, on_message, on_delivered), "MQTTAsync_setCallbacks");
    options->keepAliveInterval = (int)settings->keep_alive_s;
    options->maxInflight = 65535;
    options->context = what;
    if (is_5_0) {
        options->cleanstart = 1;
        options->onSuccess5 = on_success_5_0;
        options->onFailure5 = on_failure_5_0;
    } else {
        options->cleansession = 1;
        options->MQTTVersion = MQTTVERSION_3_1_1;
        options->onSuccess = on_success;
        options->onFailure = on_failure;
    }
    check(MQTTAsync_connect(client, options), what);
    await_answer(what);
}

static void paho_subscribe(const char *filter, unsigned qos) {
    static char what[] = "MQTTAsync_subscribe";
    MQTTAsync_responseOptions options = answer_to(what);
    check(MQTTAsync_subscribe(client, filter, (int)qos, &options), what);
    await_answer(what);
}

static void paho_prepare(const char *name, unsigned qos) {
    topic = name;
    message_qos = qos;
}

static bool paho_publish(const void *payload, size_t size) {
    MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
    if (is_5_0)
        options.onSuccess5 = on_sent_5_0;
    else
        options.onSuccess = on_sent;
    check(MQTTAsync_send(client, topic, (int)size, payload, (int)message_qos, 0, message_qos ? NULL : &options),
          "MQTTAsync_send");
    return true;
}

static void paho_flush(void) {} /* its threads see to it; */

static bool paho_is_sent(void) { return true; } /* and tell by load_completed() */

static void paho_close(void) {
    static char what[] = "MQTTAsync_disconnect";
    MQTTAsync_disconnectOptions options = MQTTAsync_disconnectOptions_initializer;
    MQTTAsync_disconnectOptions options_5_0 = MQTTAsync_disconnectOptions_initializer5;
    options.context = options_5_0.context = what;
    options.timeout = options_5_0.timeout = 1000;
    options.onSuccess = on_success;
    options_5_0.onSuccess5 = on_success_5_0;
    options.onFailure = on_failure;
    options_5_0.onFailure5 = on_failure_5_0;
    check(MQTTAsync_disconnect(client, is_5_0 ? &options_5_0 : &options), what);
    await_answer(what);
    MQTTAsync_destroy(&client);
    sem_destroy(&answered);
}

static void paho_version(char *text, size_t size) {
    for (MQTTAsync_nameValue *about = MQTTAsync_getVersionInfo(); about->name; about++)
        if (!strcmp(about->name, "Version")) snprintf(text, size, "%s", about->value);
}

const struct peer peer = {
    .name = "paho",
    .has_threads = true,
    .tells_qos_0 = true,
    .version = paho_version,
    .open = paho_open,
    .subscribe = paho_subscribe,
    .prepare = paho_prepare,
    .publish = paho_publish,
    .flush = paho_flush,
    .is_sent = paho_is_sent,
    .close = paho_close,
};
