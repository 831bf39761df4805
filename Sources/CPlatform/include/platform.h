/*
 * Every call to Linux that libswiftmqtt makes, reduced to what the library wants to know. EINTR is
 * dealt with here and nowhere else; so are errno and the names of libc. No state, no allocation.
 *
 * Descriptors are non-blocking, closed on exec, and never raise SIGPIPE.
 */
#ifndef SWIFTMQTT_PLATFORM_H
#define SWIFTMQTT_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* ---- errors ---- */

/* Those that the library says itself, by Linux's numbers, which errors.c compares: this header is read without a libc. */
enum {
    PLATFORM_EAI_NONAME = -2,
    PLATFORM_ENOMEM = 12,
    PLATFORM_EINVAL = 22,
    PLATFORM_EPIPE = 32,
    PLATFORM_EOPNOTSUPP = 95,
    PLATFORM_ECONNRESET = 104,
    PLATFORM_ETIMEDOUT = 110,
    PLATFORM_ECONNREFUSED = 111
};

/* ---- time and chance ---- */

/* Milliseconds of CLOCK_MONOTONIC, wrapping after 49 days. */
uint32_t platform_now_ms(void);

/* A random number: the kernel's, as good as it has one at this moment. Never waits. */
uint32_t platform_random(void);

/* ---- waiting ---- */

/* What a descriptor is ready for, or is to be waited for. Bits. */
enum {
    PLATFORM_READABLE = 1,
    PLATFORM_WRITABLE = 2
};

/* A result of platform_wait(): a signal handler ran. */
enum {
    PLATFORM_INTERRUPTED = 4
};

/* Channels are told apart by a number below this. */
enum {
    PLATFORM_MAX_CHANNELS = 8
};

/* One descriptor to wait on for all others. Returns it, or -errno. */
int32_t platform_poller_open(void);

/* Waits for fd, as this channel, from now on (add), or changes what it is waited for. Returns 0 or -errno. */
int32_t platform_poller_set(int32_t poller, int32_t fd, uint32_t channel, int32_t ready_for, int32_t add);

/* Waits for fd no longer. To be called before it is closed: a forked child may hold it open. */
void platform_poller_remove(int32_t poller, int32_t fd);

/*
 * Waits until a channel is ready or timeout_ms is over (-1: for ever). *ready, which has to be 0, gets two bits for each
 * channel: what it is ready for (an error on it counts as both). Returns 0, PLATFORM_INTERRUPTED, or -errno.
 */
int32_t platform_wait(int32_t poller, int32_t timeout_ms, uint32_t *ready);

void platform_close(int32_t fd);

/*
 * A descriptor, watched by the poller as this channel, with which any thread can end a platform_wait(): each
 * platform_wake() is told once. Returns it, or -errno.
 */
int32_t platform_wake_open(int32_t poller, uint32_t channel);

/* One system call that does not wait; for a signal handler too. errno stays as it is. */
void platform_wake(int32_t fd);

/* ---- a thread ---- */

struct platform_thread {
    char name[16];        /* zero-terminated */
    int32_t priority;     /* 0: that of its creator; else SCHED_FIFO with this one */
    uint32_t stack_bytes; /* 0: libc's own */
};

/* Starts a thread that takes no signals. Returns 0, or an errno. */
int32_t platform_thread_start(const struct platform_thread *wanted, void *(*body)(void *), void *argument,
                              uintptr_t *thread);

/* Waits for its end. */
void platform_thread_join(uintptr_t thread);

uintptr_t platform_thread_self(void);

/* ---- addresses ---- */

enum {
    PLATFORM_MAX_ADDRESSES = 8
};

/* A part of every client: as small as it can be. */
struct platform_address {
    uint8_t bytes[16]; /* IPv6; an IPv4 address is mapped (RFC 4291 2.5.5.2) */
    uint32_t scope;    /* of a link-local one: the interface */
};

struct platform_addresses {
    uint16_t count;
    uint16_t port; /* of all of them */
    struct platform_address list[PLATFORM_MAX_ADDRESSES];
};

/* Writes an IPv4 address, four bytes in network order. */
void platform_map_address(const void *v4, struct platform_address *address);

/* Adds a numeric IPv4 or IPv6 address, zero-terminated. Returns 1, or 0 if it is none, or one too many. */
int32_t platform_parse_address(const char *host, uint16_t port, struct platform_addresses *addresses);

/*
 * Starts looking a host name up, in a thread of its own that shares no memory with its creator: the
 * question and the answer pass through a socket. host is zero-terminated, at most 253 bytes.
 * Returns a descriptor that turns readable with the answer, and may be closed at any time; or -errno.
 */
int32_t platform_resolve(const char *host, uint16_t port);

/* Results of platform_resolved() that are not "not yet" (0) or "here they are" (1). */
enum {
    PLATFORM_NO_ADDRESS = -1, /* *error is an EAI_… value */
    PLATFORM_NO_LOOK_UP = -2  /* *error is an errno */
};

/* Reads the answer: 0 if it has not come, 1 if addresses holds at least one, or one of the above. */
int32_t platform_resolved(int32_t fd, struct platform_addresses *addresses, int32_t *error);

/* ---- sockets ---- */

/*
 * Opens a socket and starts to connect it to this address and port. TCP_NODELAY is set: the library coalesces by itself;
 * TCP_USER_TIMEOUT if user_timeout_ms is not 0. Returns the descriptor, which turns writable when the outcome is known; or
 * -errno.
 */
int32_t platform_tcp_connect(const struct platform_address *wanted, uint16_t port, uint32_t user_timeout_ms);

/* The same for a socket in the file system; path is zero-terminated. */
int32_t platform_unix_connect(const char *path);

/* Why it could not connect: 0 if it is connected, else the errno. */
int32_t platform_connect_error(int32_t fd);

/* Results of the two below that are not a number of bytes. */
enum {
    PLATFORM_WOULD_BLOCK = 0,
    PLATFORM_CLOSED = INT32_MIN
};

/* Each returns how many bytes it transferred, PLATFORM_WOULD_BLOCK, PLATFORM_CLOSED, or -errno. */
int32_t platform_send(int32_t fd, const uint8_t *bytes, size_t count);
int32_t platform_receive(int32_t fd, uint8_t *bytes, size_t count);

/* Says that nothing more will be sent: what is on its way still arrives. */
void platform_shutdown_write(int32_t fd);

/* Throws away what was received. Returns PLATFORM_WOULD_BLOCK, PLATFORM_CLOSED, or -errno. */
int32_t platform_discard(int32_t fd);

#endif
