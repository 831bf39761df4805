/*
 * What the drop-in for libmosquitto and the command line smq need of Linux besides platform.h. The library
 * calls none of these, and the linker leaves them out of it.
 */
#ifndef SWIFTMQTT_PROGRAMS_H
#define SWIFTMQTT_PROGRAMS_H

#include "platform.h"

/* ---- errors ---- */

/* errors.c compares these, too, with the numbers of Linux. */
enum {
    PLATFORM_EAGAIN = 11,
    PLATFORM_EPROTOTYPE = 91
};

/* The text that libc has for an errno. */
const char *platform_error_text(int32_t error);

/* ---- time ---- */

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t platform_now_ns(void);

/* ---- waiting ---- */

/* Nobody is at the other end any more: a bit of platform_watch.found. */
enum {
    PLATFORM_BROKEN = 4
};

enum {
    PLATFORM_MAX_WATCHES = 8
};

/* A descriptor to wait for. */
struct platform_watch {
    int32_t fd;     /* below 0: none */
    int32_t wanted; /* PLATFORM_READABLE, which the end of the input counts as, and PLATFORM_WRITABLE */
    int32_t found;  /* out: those of wanted that hold, and PLATFORM_BROKEN */
};

/*
 * Waits until one of the descriptors is ready, at most timeout_ms (below 0: without limit). Returns how many
 * are ready, 0 if the time is over, or -errno, which is -EINTR after a signal. errno itself does not change.
 */
int32_t platform_poll(struct platform_watch *list, int32_t count, int32_t timeout_ms);

/* A descriptor that platform_wake() makes readable, until platform_event_clear(). Returns it, or -errno. */
int32_t platform_event_open(void);

/* errno stays as it is. */
void platform_event_clear(int32_t fd);

/* ---- a thread ---- */

/* Nobody will join the thread: its resources are freed when it ends. */
void platform_thread_detach(uintptr_t thread);

/* ---- addresses and sockets ---- */

/* Writes the numeric form of an address, with a zero behind it. Returns its length; 0 if it does not fit. */
size_t platform_address_text(const struct platform_address *address, char *text, size_t capacity);

/* ---- the process ---- */

/* The value of an environment variable, or NULL. */
const char *platform_environment(const char *name);

#endif
