/*
 * Every call to libc that the drop-in for libmosquitto makes besides those of CPlatform: memory, because libmosquitto's
 * contract hands some to the caller, threads, and lines of log.
 */
#ifndef SWIFTMQTT_SHIM_H
#define SWIFTMQTT_SHIM_H

#include "mosquitto_abi.h"

/* ---- memory, as malloc() and free() have it: callers free() some of it themselves ---- */

/* Zeroed; NULL: there is none. */
void *shim_allocate(size_t size);
void *shim_resize(void *memory, size_t size);
void shim_free(void *memory);
/* Overwrites it with zeros before: it has said who a client is. */
void shim_forget(void *memory, size_t size);

/* size bytes and a zero behind them; NULL: there is no memory. */
char *shim_copy(const void *bytes, size_t size);

size_t shim_length(const char *text);
bool shim_is_equal(const char *first, const char *second);

/* ---- errno ---- */

void shim_set_errno(int32_t number);
int32_t shim_errno(void);

/* What libc has to say of it. */
const char *shim_error_text(int32_t number);

/* A number in the environment, from minimum to maximum; else fallback. */
uint32_t shim_environment(const char *name, uint32_t minimum, uint32_t maximum, uint32_t fallback);

/* ---- threads ---- */

/* A mutex, which a thread locks once and has no second one of beside. NULL: there is no memory. */
void *shim_mutex(void);
void shim_mutex_free(void *mutex);
void shim_lock(void *mutex);
void shim_unlock(void *mutex);
/* The calling thread has locked it, or is about to: then the caller is a signal handler. */
bool shim_holds(const void *mutex);

/* A number for the calling thread, the same each time, and no other living thread's; never 0. */
uintptr_t shim_self(void);

/* Starts a thread that runs body(argument). NULL or a handle for shim_join(), which waits for its end and frees it. */
void *shim_thread(void (*body)(void *), void *argument);
void shim_join(void *thread);
/* Frees the handle of a thread for whose end nobody is to wait. */
void shim_leave(void *thread);
/* It is the thread that calls. */
bool shim_is_self(const void *thread);

/* Waits until one of two descriptors (-1: none) is readable or timeout_ms is over, or a signal came. A bit for each. */
int32_t shim_poll(int32_t first, int32_t second, int32_t timeout_ms);

/* A descriptor that shim_wake() makes readable and shim_calm() unreadable again, or -errno. */
int32_t shim_event(void);
void shim_wake(int32_t event);
void shim_calm(int32_t event);
void shim_close(int32_t fd);

void shim_sleep_ms(uint32_t milliseconds);

/* ---- lines of log ---- */

#define SHIM_SENDING_CONNECT 0
#define SHIM_RECEIVED_CONNACK 1
#define SHIM_SENDING_DISCONNECT 2
#define SHIM_RECEIVED_DISCONNECT 3
#define SHIM_SENDING_PUBACK 4
#define SHIM_SENDING_PUBREC 5
#define SHIM_SENDING_PUBREL 6
#define SHIM_SENDING_PUBCOMP 7
#define SHIM_RECEIVED_PUBACK 8
#define SHIM_RECEIVED_PUBREC 9
#define SHIM_RECEIVED_PUBREL 10
#define SHIM_RECEIVED_PUBCOMP 11
#define SHIM_RECEIVED_SUBACK 12
#define SHIM_RECEIVED_UNSUBACK 13

struct shim_publish {
    int32_t is_received, duplicate, qos, retain, mid;
    const uint8_t *topic;
    size_t topic_size, payload_size;
};

/* Each writes a line of at most size bytes, its zero included, and returns it. */
const char *shim_line(char *line, size_t size, int32_t kind, const char *id, int32_t first, int32_t second);
const char *shim_line_publish(char *line, size_t size, const char *id, const struct shim_publish *publish);
/* options: Subscription Options; -1: it is UNSUBSCRIBE. */
const char *shim_line_subscribe(char *line, size_t size, const char *id, int32_t mid, const char *filter,
                                int32_t options);

#endif
