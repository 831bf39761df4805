/* The functions of libmosquitto that stress.c calls, without libmosquitto-dev. */
#ifndef STRESS_H
#define STRESS_H

#include <mosquitto_abi.h>

int mosquitto_lib_init(void);
int mosquitto_lib_cleanup(void);
struct mosquitto *mosquitto_new(const char *id, bool clean_session, void *user);
void mosquitto_destroy(struct mosquitto *mosq);
int mosquitto_connect(struct mosquitto *mosq, const char *host, int port, int keepalive);
int mosquitto_connect_async(struct mosquitto *mosq, const char *host, int port, int keepalive);
int mosquitto_reconnect(struct mosquitto *mosq);
int mosquitto_disconnect(struct mosquitto *mosq);
int mosquitto_publish(struct mosquitto *mosq, int *mid, const char *topic, int size, const void *payload, int qos,
                      bool retain);
int mosquitto_subscribe(struct mosquitto *mosq, int *mid, const char *filter, int qos);
int mosquitto_unsubscribe(struct mosquitto *mosq, int *mid, const char *filter);
int mosquitto_loop(struct mosquitto *mosq, int timeout, int max_packets);
int mosquitto_loop_start(struct mosquitto *mosq);
int mosquitto_loop_stop(struct mosquitto *mosq, bool force);
int mosquitto_reconnect_delay_set(struct mosquitto *mosq, unsigned delay, unsigned maximum, bool exponential);
void mosquitto_connect_callback_set(struct mosquitto *mosq, mosq_on_connect function);
void mosquitto_publish_callback_set(struct mosquitto *mosq, mosq_on_publish function);
void mosquitto_message_callback_set(struct mosquitto *mosq, mosq_on_message function);
void mosquitto_log_callback_set(struct mosquitto *mosq, mosq_on_log function);

#endif
