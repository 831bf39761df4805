/*
 * What only the command lines need of Linux and libc; CPlatform has the rest. The prototypes are plain,
 * with fixed-width integers, because the Swift compiler reads this without a libc (the cross targets' triples
 * have none).
 *
 * Paths and names are zero-terminated. An errno that is returned is positive, or negative where a result is.
 */
#ifndef SWIFTMQTT_TOOL_H
#define SWIFTMQTT_TOOL_H

#include <stddef.h>
#include <stdint.h>

#include "swiftmqtt-tls.h"

/* ---- Time (time.c) */

/* The time of day. */
void tool_wall(int64_t *seconds, int32_t *nanoseconds);

/*
 * strftime() with one conversion, such as 'H', in local time. Returns the bytes written; 0 if they do not
 * fit.
 */
size_t tool_time_text(int64_t seconds, uint8_t conversion, void *buffer, size_t capacity);

/* "2026-11-27T13:45:00", in UTC. Returns the bytes written; 0 if they do not fit. */
size_t tool_utc_text(int64_t seconds, void *buffer, size_t capacity);

/* ---- Numbers (time.c) */

/* The shortest decimal text that is the same double when it is read again. Returns its size. */
size_t tool_double_text(double value, void *buffer, size_t capacity);

/*
 * Writes a number of a JSON text, size bytes, as mosquitto_sub prints it: an int whole, else with 15 digits,
 * or with 17 if 15 are not exact. Returns the number of bytes written to the 32 at buffer; 0 if the text as a
 * whole is not a number.
 */
size_t tool_json_number(const void *text, size_t size, void *buffer);

/*
 * A decimal fraction, size bytes, times scale, rounded down. Returns 0 if the text is not one, or exceeds
 * int64_t.
 */
int32_t tool_decimal(const void *text, size_t size, int64_t scale, int64_t *value);

/* ---- Files (files.c) */

/* What a file was when it was opened. */
typedef struct tool_file {
    int64_t size; /* -1: its size is not known, as with a pipe */
    int64_t changed_s, changed_ns;
} tool_file;

tool_file tool_file_state(int32_t fd);

/*
 * Reads size bytes at an offset of a file. Returns 0; or -1 if they cannot be read, or the file has changed.
 */
int32_t tool_read_at(int32_t fd, const tool_file *was, int64_t offset, void *buffer, size_t size);

/* Opens a file for reading. Returns a descriptor, or -errno. */
int32_t tool_open(const void *path);

/* Opens a file for writing, and makes it, with mode 0600, or empties it. Returns a descriptor, or -errno. */
int32_t tool_create(const void *path);
int32_t tool_create_new(const void *path);

/* Returns 0 or an errno. */
int32_t tool_rename(const void *old, const void *name);

enum {
    TOOL_ELOOP = 40 /* files.c compares it with Linux's */
};

/*
 * Opens a file for reading, without a lock, and never another one that a symbolic link names: that is -TOOL_ELOOP. Nothing
 * waits, whatever it is. Returns a descriptor, or -errno.
 */
int32_t tool_open_itself(const void *path);

/*
 * Reads size bytes at an offset of a file that may change meanwhile. Returns how many; less than size: it ends
 * there; or -errno.
 */
int64_t tool_read_part(int32_t fd, int64_t offset, void *buffer, size_t size);

/* Reads at most size bytes. Returns how many; 0: the end; -errno. A signal that was caught is -EINTR. */
int64_t tool_read(int32_t fd, void *buffer, size_t size);

/*
 * Writes all of it. Returns 0, or an errno: EPIPE if the reader is gone, EINTR if a signal was caught
 * meanwhile.
 */
int32_t tool_write(int32_t fd, const void *data, size_t size);

/* 1 if it is a terminal, else 0. */
int32_t tool_is_terminal(int32_t fd);

/*
 * Returns 1 if 0, 1 and 2 are open; else 0, after it has opened something unusable in place of the missing
 * ones.
 */
int32_t tool_standard_descriptors(void);

/*
 * From now on a write to a pipe that nobody reads fails with an error, as with /dev/full, and raises no
 * signal.
 */
void tool_ignore_broken_pipes(void);

/* ---- Sockets (sockets.c) */

/* Listens at a port of the loopback, 0: any, and writes which one it is. Returns a descriptor, or -errno. */
int32_t tool_listen(uint16_t port, uint16_t *bound);

/* Connects by TCP to a name or an address, and waits. Returns a descriptor that does not block, or -errno. */
int32_t tool_connect(const void *host, uint16_t port);

/* Takes the next connection; the descriptor does not block. Returns it, or -errno. */
int32_t tool_accept(int32_t fd);

/* ---- The terminal (terminal.c) */

/*
 * From now on, what is typed comes key by key and is not shown; Ctrl-C and the like are signals as before. What
 * it was before comes back with tool_terminal_restore(), and at the end of the process. Returns 0 or an errno.
 */
int32_t tool_terminal_keys(int32_t fd);
void tool_terminal_restore(void);

/* Lines and columns; 24 and 80 if it does not say. */
void tool_terminal_size(int32_t fd, int32_t *rows, int32_t *columns);

/* ---- The process (process.c) */

/*
 * From now on the first SIGINT and the first SIGTERM are caught. The second of each has its default effect.
 * Returns a descriptor that turns readable when a signal was caught, or -errno.
 */
int32_t tool_catch_signals(void);

/* The last signal that was caught; 0: none. */
int32_t tool_caught_signal(void);

/* The text that libc has for an EAI_… value; EAI_INPROGRESS: the time was up. */
const char *tool_resolve_text(int32_t error);

int32_t tool_process_id(void);

/* errno, right after a call. */
int32_t tool_error(void);

/*
 * Raises the number of descriptors that the process may have to wanted, if it is allowed to. Returns the
 * limit.
 */
int64_t tool_allow_descriptors(int64_t wanted);

/* ---- Names (resolve.c) */

/*
 * Looks up a name, and writes its addresses, with blanks between them, as far as there is room. Waits at most
 * timeout_ms, and ends early when a signal was caught. Returns the number of bytes written, or an EAI_… value,
 * which is negative.
 */
int32_t tool_resolve(const void *host, void *buffer, size_t capacity, int64_t timeout_ms);

/*
 * Writes the address and the port of the connection that an epoll descriptor watches, as "127.0.0.1 port 1883". Of
 * several it is the first that is connected. Returns the number of bytes written; 0 if there is none, if it has no
 * port, or if the kernel does not say what is watched.
 */
int32_t tool_peer(int32_t epoll, void *buffer, size_t capacity);

/* ---- TLS (tls.c) */

enum {
    TOOL_TLS_MISSING = 1 /* libswiftmqtt-tls cannot be loaded */
};

/* A smq_tls_failure: Swift finds that one in several modules, and takes it only from those that a file imports. */
typedef struct tool_tls_failure {
    int32_t cause; /* SMQ_TLS_... */
    char text[sizeof(((smq_tls_failure *)0)->text)];
} tool_tls_failure;

/*
 * Loads libswiftmqtt-tls, and opens settings, which live as long as the process. The password of an encrypted key
 * is asked for on the terminal. Returns what smq_tls_open() does; or TOOL_TLS_MISSING, and why->text is the
 * loader's.
 */
int32_t tool_tls_open(const smq_tls_options *options, const smq_tls_engine **engine, smq_tls **settings,
                      tool_tls_failure *why);

#endif
