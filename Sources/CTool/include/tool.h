/*
 * What the command line smq needs of Linux and libc. Plain prototypes with fixed-width integers: the Swift compiler
 * reads this without a libc (the cross targets' triples have none).
 *
 * Paths and names are zero-terminated. An "errno" that is returned is positive, or negative where a result is.
 */
#ifndef SWIFTMQTT_TOOL_H
#define SWIFTMQTT_TOOL_H

#include <stddef.h>
#include <stdint.h>

/* ---- Time (time.c) */

/* The monotonic clock, in nanoseconds. */
int64_t tool_now_ns(void);

/* The time of day. */
void tool_wall(int64_t *seconds, int32_t *nanoseconds);

/* strftime() with one conversion, such as 'H', in local time. Returns the bytes written; 0 if they do not fit. */
size_t tool_time_text(int64_t seconds, uint8_t conversion, void *buffer, size_t capacity);

/* ---- Numbers (time.c) */

/* A number of a JSON text, size bytes, as mosquitto_sub prints it: an int whole, else with 15 digits, or 17 if it takes
 * as many. Returns the bytes written to the 32 at buffer; 0 if these bytes are no number as a whole. */
size_t tool_json_number(const void *text, size_t size, void *buffer);

/* A decimal fraction, size bytes, times scale, rounded down. Returns 0 if the text is none, or out of int64_t. */
int32_t tool_decimal(const void *text, size_t size, int64_t scale, int64_t *value);

/* ---- Files (files.c) */

/* What a file was when it was opened. */
typedef struct tool_file {
    int64_t size; /* -1: it is none whose size is known, such as a pipe */
    int64_t changed_s, changed_ns;
} tool_file;

tool_file tool_file_state(int32_t fd);

/* Reads size bytes at an offset of a file. Returns 0; or -1 if it cannot be, or the file is not what it was. */
int32_t tool_read_at(int32_t fd, const tool_file *was, int64_t offset, void *buffer, size_t size);

/* Opens a file for reading. Returns a descriptor, or -errno. */
int32_t tool_open(const void *path);

/* Reads at most size bytes. Returns how many; 0: the end; -errno. A signal that was caught is -EINTR. */
int64_t tool_read(int32_t fd, void *buffer, size_t size);

/* Writes all of it. Returns 0, or an errno: EPIPE if nobody reads, EINTR if a signal was caught while nobody does. */
int32_t tool_write(int32_t fd, const void *data, size_t size);

void tool_close(int32_t fd);

/* 1 if it is a terminal, else 0. */
int32_t tool_is_terminal(int32_t fd);

/* 1 if 0, 1 and 2 are open; else 0, after opening in place of those that are not what cannot be used. */
int32_t tool_standard_descriptors(void);

/* From now on a pipe that nobody reads is an error of what writes, as /dev/full is, and no signal. */
void tool_ignore_broken_pipes(void);

/* ---- The process (process.c) */

/* SIGINT and SIGTERM are caught from now on, the first of each; the second does what it always did.
 * Returns a descriptor that turns readable when one was caught, or -errno. */
int32_t tool_catch_signals(void);

/* The last of them that was caught; 0: none. */
int32_t tool_caught_signal(void);

/* Why it failed, in libc's words. */
const char *tool_error_text(int32_t error);

/* The same for an EAI_… value. EAI_INPROGRESS: the time was up. */
const char *tool_resolve_text(int32_t error);

/* NULL if there is none. */
const char *tool_environment(const void *name);

int32_t tool_process_id(void);

/* Random bytes. */
void tool_random(void *buffer, size_t size);

/* Raises the number of descriptors the process may have to wanted, as far as it may. Returns how many there may be. */
int64_t tool_allow_descriptors(int64_t wanted);

/* ---- Waiting (wait.c) */

enum {
    TOOL_READABLE = 1, /* or its end was reached */
    TOOL_BROKEN = 2,   /* nobody is at the other end any more */
    TOOL_WRITABLE = 4
};

/* A descriptor to wait for. */
typedef struct tool_watch {
    int32_t fd;     /* below 0: none */
    int32_t wanted; /* TOOL_READABLE and TOOL_WRITABLE, added up; 0 to hear of TOOL_BROKEN only */
    int32_t found;  /* out */
} tool_watch;

/* Waits for one of them, at most timeout_ms; below 0: as long as it takes. Returns how many there are; 0 also if a
 * signal was caught. */
int32_t tool_poll(tool_watch *list, int32_t count, int64_t timeout_ms);

/* A set of many descriptors to wait for. Returns a descriptor that is one of its own, or -errno. */
int32_t tool_set_open(void);

/* Adds one, with a number to know it by. Returns 0 or an errno. */
int32_t tool_set_add(int32_t set, int32_t fd, uint32_t number);

/* Waits for those that are readable, at most timeout_ms. Returns how many numbers it put at numbers, at most capacity. */
int32_t tool_set_wait(int32_t set, uint32_t *numbers, int32_t capacity, int64_t timeout_ms);

/* ---- Transports of our own, for what the library's has not (transport.c) */

/* Looks up host and opens a connection to it, from the local address bound_to ("" for any), or, if path is not "", to
 * that socket in the file system. Waits at most timeout_ms, and ends early when a signal was caught. Returns a
 * descriptor that does not block; -errno; or -1000 + an EAI_… value if a name has no address. */
int32_t tool_connect(const void *host, uint32_t port, const void *bound_to, const void *path, int64_t timeout_ms);

/* Looks up a name, and writes its addresses, with blanks between them, as far as there is room. Waits as tool_connect()
 * does. Returns the bytes written, or an EAI_… value, which is negative. */
int32_t tool_resolve(const void *host, void *buffer, size_t capacity, int64_t timeout_ms);

/* Sends what the kernel takes. Returns how many bytes, 0: none now, or -errno. */
int64_t tool_send(int32_t fd, const void *data, size_t size);

/* Receives what is there. Returns how many bytes; 0: the end; -EAGAIN: none now; -errno. */
int64_t tool_receive(int32_t fd, void *buffer, size_t size);

enum {
    TOOL_EAGAIN = 11,
    TOOL_EINTR = 4,
    TOOL_EPIPE = 32,
    TOOL_EADDRNOTAVAIL = 99,
    TOOL_ETIMEDOUT = 110
};

#endif
