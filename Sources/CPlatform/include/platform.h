/*
 * Every call to Linux that libswiftmqtt makes, reduced to what the library needs to know. EINTR, errno and
 * the names of libc do not leave these functions. They have no state and allocate nothing. programs.h has
 * what only the drop-in for libmosquitto and smq need besides.
 *
 * Descriptors are non-blocking, closed on exec, and never raise SIGPIPE.
 */
#ifndef SWIFTMQTT_PLATFORM_H
#define SWIFTMQTT_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* ---- errors ---- */

/*
 * The errors that the library reports itself. The Swift compiler reads this header without a libc, so they
 * are numbers here, and errors.c compares them with those of Linux.
 */
enum {
    PLATFORM_EAI_NONAME = -2,
    PLATFORM_ENOENT = 2,
    PLATFORM_EINTR = 4,
    PLATFORM_EWOULDBLOCK = 11,
    PLATFORM_ENOMEM = 12,
    PLATFORM_EINVAL = 22,
    PLATFORM_EPIPE = 32,
    PLATFORM_ENAMETOOLONG = 36,
    PLATFORM_EOPNOTSUPP = 95,
    PLATFORM_ECONNRESET = 104,
    PLATFORM_ETIMEDOUT = 110
};

/* Sets errno, for a program to read. */
void platform_set_error(int32_t error);

/* ---- time and random numbers ---- */

/* Milliseconds of CLOCK_MONOTONIC, wrapping after 49 days. */
uint32_t platform_now_ms(void);

/* Seconds of CLOCK_REALTIME since 1970. */
int64_t platform_wall_clock_s(void);

/* Microseconds of CLOCK_REALTIME since 1970, age_ms ago: the low half, then the high one. */
void platform_wall_clock_us(uint32_t age_ms, uint32_t halves[2]);

/* A random number from the kernel, as good as the kernel can make it at this moment. Never waits. */
uint32_t platform_random(void);

/* Fills at most 256 bytes in the same way. */
void platform_random_bytes(void *bytes, size_t count);

/* ---- waiting ---- */

/* What a descriptor is ready for, or what to wait for. Bits. */
enum {
    PLATFORM_READABLE = 1,
    PLATFORM_WRITABLE = 2,
    PLATFORM_ONCE = 4 /* only to wait for: what comes is told once, whether it is taken or not */
};

/* A result of platform_wait(): a signal handler ran. */
enum {
    PLATFORM_INTERRUPTED = 4
};

/* platform_wait() reports channels with numbers below this. */
enum {
    PLATFORM_MAX_CHANNELS = 8
};

/* Opens the one descriptor that waits for all others. Returns it, or -errno. */
int32_t platform_poller_open(void);

/* Begins to watch fd as this channel (add), or changes what it is watched for. Returns 0 or -errno. */
int32_t platform_poller_set(int32_t poller, int32_t fd, uint32_t channel, int32_t ready_for, int32_t add);

/* Stops watching fd. Call it before fd is closed, because a forked child may hold it open. */
void platform_poller_remove(int32_t poller, int32_t fd);

/*
 * Waits until a channel is ready or timeout_ms is over (-1: without limit). *ready, which has to be 0, gets
 * two bits for each channel: what it is ready for (an error on it counts as both). For the first busy_us, at
 * most 1,000,000, it asks again and again instead of sleeping. Returns 0, PLATFORM_INTERRUPTED, or -errno.
 */
int32_t platform_wait(int32_t poller, int32_t timeout_ms, uint32_t busy_us, uint32_t *ready);

/*
 * Waits on a poller whose channels are any numbers. Returns how many of them it has put at channels, at most
 * capacity or PLATFORM_MAX_READY; or -errno, which is -PLATFORM_EINTR if a signal handler ran.
 */
int32_t platform_wait_many(int32_t poller, int32_t timeout_ms, uint32_t *channels, int32_t capacity);

enum {
    PLATFORM_MAX_READY = 32
};

void platform_close(int32_t fd);

/*
 * Opens a descriptor, watched by the poller as this channel, with which any thread can end a platform_wait().
 * The poller reports each platform_wake() once. Returns the descriptor, or -errno.
 */
int32_t platform_wake_open(int32_t poller, uint32_t channel);

/* One system call that does not wait. A signal handler may make it, because errno stays as it is. */
void platform_wake(int32_t fd);

/* ---- a thread ---- */

struct platform_thread {
    char name[16];         /* zero-terminated; "": that of its creator */
    int32_t priority;      /* 0: that of its creator; else SCHED_FIFO with this one */
    uint32_t stack_bytes;  /* 0: libc's own */
    int32_t is_detached;   /* nobody joins it: *thread is not written */
    int32_t takes_signals; /* as its creator does; otherwise they are left to the program's own threads */
};

/* Starts a thread. Returns 0, or an errno. */
int32_t platform_thread_start(const struct platform_thread *wanted, void *(*body)(void *), void *argument,
                              uintptr_t *thread);

/* Waits for its end. */
void platform_thread_join(uintptr_t thread);

uintptr_t platform_thread_self(void);

/* ---- addresses ---- */

enum {
    PLATFORM_MAX_ADDRESSES = 8
};

/* A part of every client, and therefore as small as it can be. */
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

/*
 * Adds a numeric IPv4 or IPv6 address, zero-terminated. Returns 1, or 0 if it is none, or the list is full.
 */
int32_t platform_parse_address(const char *host, uint16_t port, struct platform_addresses *addresses);

/*
 * Starts to look up a host name, in a thread of its own that shares no memory with its creator: the question
 * and the answer pass through a socket. host is zero-terminated and has at most 253 bytes. Returns a
 * descriptor that turns readable with the answer, and may be closed at any time; or -errno.
 */
int32_t platform_resolve(const char *host, uint16_t port);

/* Results of platform_resolved() that are not "not yet" (0) or "here they are" (1). */
enum {
    PLATFORM_NO_ADDRESS = -1, /* *error is an EAI_… value */
    PLATFORM_NO_LOOK_UP = -2  /* *error is an errno */
};

/* Reads the answer. Returns 0 if it has not come, 1 if addresses holds at least one, or one of the above. */
int32_t platform_resolved(int32_t fd, struct platform_addresses *addresses, int32_t *error);

/* ---- sockets ---- */

/* What the program wants of its sockets; zero: as the system has it. */
struct platform_socket_options {
    uint32_t user_timeout_ms; /* TCP_USER_TIMEOUT */
    uint32_t keep_alive_s;    /* SO_KEEPALIVE, TCP_KEEPIDLE and TCP_KEEPINTVL */
    uint32_t dscp;            /* 0 to 63 */
    uint32_t busy_poll_us;    /* SO_BUSY_POLL */
    char device[16];          /* SO_BINDTODEVICE; zero-terminated */
    uint32_t has_source;      /* 1: connect from this address */
    struct platform_address source;
};

/*
 * Opens a socket and starts to connect it to this address and port. It sets TCP_NODELAY, because the library
 * batches packets itself, and what the options say; NULL: nothing. Returns the descriptor, which turns writable
 * when the result is known; or -errno.
 */
int32_t platform_tcp_connect(const struct platform_address *wanted, uint16_t port,
                             const struct platform_socket_options *options);

/* The same for a socket in the file system. path is zero-terminated. */
int32_t platform_unix_connect(const char *path);

/* Returns 0 if the socket is connected, else the errno that says why not. */
int32_t platform_connect_error(int32_t fd);

/* Results of the two below that are not a number of bytes. */
enum {
    PLATFORM_WOULD_BLOCK = 0,
    PLATFORM_CLOSED = INT32_MIN
};

/* Each returns how many bytes it transferred, PLATFORM_WOULD_BLOCK, PLATFORM_CLOSED, or -errno. */
int32_t platform_send(int32_t fd, const uint8_t *bytes, size_t count);
/* Sends bytes that are in two places, the payload behind the others. */
int32_t platform_send_both(int32_t fd, const uint8_t *bytes, size_t count, const uint8_t *payload, size_t size);
int32_t platform_receive(int32_t fd, uint8_t *bytes, size_t count);

/* Tells the peer that nothing more will be sent. What is on its way still arrives. */
void platform_shutdown_write(int32_t fd);

/* Discards what was received. Returns PLATFORM_WOULD_BLOCK, PLATFORM_CLOSED, or -errno. */
int32_t platform_discard(int32_t fd);

/* ---- a socket in the file system that listens, of datagrams in order (SOCK_SEQPACKET) ---- */

/* Which file a path led to. */
struct platform_file {
    uint64_t device;
    uint64_t inode;
};

enum {
    PLATFORM_MAX_SOCKET_PATH = 107 /* bytes, without the zero */
};

/*
 * Makes a socket with these permissions at path, which is zero-terminated, and listens. One that a process has left
 * there, and that nobody listens at any more, is replaced. Returns the descriptor, or -errno: EADDRINUSE if a process
 * listens there, or if the path is no socket.
 */
int32_t platform_listen(const char *path, uint32_t permissions, struct platform_file *file);

/* Connects to such a socket. Returns a descriptor, or -errno: EPROTOTYPE if it is a socket of another kind. */
int32_t platform_inspect(const char *path);

/* Removes the path if it still leads to that file. */
void platform_unlink_socket(const char *path, const struct platform_file *file);

/*
 * Takes a connection, with as much room for what its peer has not read as the system gives everybody. Returns the
 * descriptor, or -errno: EWOULDBLOCK if there is none.
 */
int32_t platform_accept(int32_t fd);

/* ---- a file of blocks, for a journal ---- */

enum {
    PLATFORM_BLOCK = 4096,
    PLATFORM_MAX_PATH = 1000 /* bytes, without the zero */
};

/*
 * Opens a file, and locks it for as long as it is open. What is read from it then is on the disk. Returns the
 * descriptor, or -errno: -PLATFORM_ENOENT if there is none, -PLATFORM_EWOULDBLOCK if another process, or another
 * client, has locked it.
 */
int32_t platform_store_open(const char *path);

/*
 * Makes a file of 2 + blocks blocks, which is to be at path: the one at block twice, then zeros, which are at block
 * afterwards. Until platform_store_name() it has the other name. Unless it replaces one, there must be no file at path:
 * -PLATFORM_EWOULDBLOCK. Returns the descriptor, or -errno; then there is no file that was begun.
 */
int32_t platform_store_create(const char *path, const char *name, int32_t replaces, uint8_t *block, uint32_t blocks);

/* Writes blocks of a file that does not have its name yet. Returns 0 or an errno. */
int32_t platform_store_put(int32_t fd, uint32_t block, uint32_t count, const uint8_t *bytes);

/*
 * Gives the file its name when all of it is durable; a file that has the name already is replaced. The name is durable
 * when this returns. Returns 0 or an errno. The text of name is changed and put back.
 */
int32_t platform_store_name(int32_t fd, const char *path, char *name);

/* Removes a file that did not get its name. */
void platform_store_discard(const char *name);

/* A result of platform_store_read() that is no errno: the file does not have these blocks. */
enum {
    PLATFORM_END_OF_FILE = -1
};

/* Reads blocks. Returns 0, PLATFORM_END_OF_FILE or an errno. */
int32_t platform_store_read(int32_t fd, uint32_t block, uint32_t count, uint8_t *bytes);

/* Blocks that go to one or two runs of the file. */
struct platform_commit {
    uint8_t *bytes;
    uint32_t first_block;
    uint32_t first_count;
    uint32_t second_block;
    uint32_t second_count; /* 0: there is no second run */
};

/* Writes them, and waits until they are durable. Returns 0 or an errno. */
int32_t platform_store_write(int32_t fd, const struct platform_commit *commit);

/* A thread that does the same. It lies where it stays. */
struct platform_writer {
    /* The caller sets these before platform_writer_start(). */
    int32_t file;
    void (*finish)(uint8_t *bytes, uint32_t blocks); /* called first: completes the blocks */
    /* And this before platform_writer_write(). bytes stay as they are until there is a result. */
    struct platform_commit commit;
    /* The rest is its own. */
    int32_t request;
    int32_t answer;
    int32_t state;
    int32_t is_stopping;
    int32_t process; /* whose thread it is */
    int32_t error;
    uintptr_t thread;
};

/* The channel turns readable when there is a result. poller -1: no thread; platform_writer_write() does it. Returns 0
   or an errno. */
int32_t platform_writer_start(struct platform_writer *writer, int32_t poller, uint32_t channel);

/* Lets the thread write the commit. There is a result of the one before. */
void platform_writer_write(struct platform_writer *writer);

/* The errno of the last write, 0 if all went well; -1: it has not ended, or its result was taken. */
int32_t platform_writer_result(struct platform_writer *writer);

/* Ends the thread, after what it writes, and closes the file. */
void platform_writer_stop(struct platform_writer *writer);

#endif
