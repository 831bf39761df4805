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

/* size bytes and a zero behind them; NULL: there is no memory. */
char *shim_copy(const void *bytes, size_t size);

size_t shim_length(const char *text);

/* ---- errno ---- */

void shim_set_errno(int32_t number);
int32_t shim_errno(void);

/* What libc has to say of it. */
const char *shim_error_text(int32_t number);

/* A number in the environment, from minimum to maximum; else fallback. */
uint32_t shim_environment(const char *name, uint32_t minimum, uint32_t maximum, uint32_t fallback);

/* ---- threads ---- */

/* A mutex that a thread may lock several times. NULL: there is no memory. */
void *shim_mutex(void);
void shim_mutex_free(void *mutex);
void shim_lock(void *mutex);
void shim_unlock(void *mutex);

/* A number for the calling thread, the same each time, and no other living thread's; never 0. */
uintptr_t shim_self(void);

/* Starts a thread that runs body(argument). NULL or a handle for shim_join(), which waits for its end and frees it. */
void *shim_thread(void (*body)(void *), void *argument);
void shim_join(void *thread);
void shim_cancel(void *thread);

/* Waits until one of two descriptors (-1: none) is readable or timeout_ms is over. A bit for each, or -errno. */
int32_t shim_poll(int32_t first, int32_t second, int32_t timeout_ms);

/* A descriptor that shim_wake() makes readable and shim_calm() unreadable again, or -errno. */
int32_t shim_event(void);
void shim_wake(int32_t event);
void shim_calm(int32_t event);
void shim_close(int32_t fd);

void shim_sleep_ms(uint32_t milliseconds);

#endif
