/*
 * What stack.c and stack_stomp.c share: the stack below the caller is painted, the function called, and looked at how far down the
 * paint is gone. What a function has room for and does not write to is not seen, nor is what its threads take.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    AREA = 64 << 10, /* bytes that are painted */
    WORDS = AREA / sizeof(uint64_t)
};
static const uint64_t PAINT = 0xA5C396E1B4D2870F;

#if defined(__x86_64__)
#define STACK_POINTER(pointer) __asm__ volatile("mov %%rsp, %0" : "=r"(pointer))
#elif defined(__riscv)
#define STACK_POINTER(pointer) __asm__ volatile("mv %0, sp" : "=r"(pointer))
#else
#define STACK_POINTER(pointer) __asm__ volatile("mov %0, sp" : "=r"(pointer))
#endif

/* A call. Between the painting and the look nothing else may use the stack below this function's frame. */
#define CALL(result, function, arguments)                                                                              \
    do {                                                                                                               \
        volatile uint64_t *top_;                                                                                       \
        STACK_POINTER(top_);                                                                                           \
        for (long i_ = 1; i_ <= WORDS; i_++) top_[-i_] = PAINT;                                                        \
        result = function arguments;                                                                                   \
        __asm__ volatile("" ::: "memory");                                                                             \
        long deep_ = WORDS;                                                                                            \
        while (deep_ > 0 && top_[-deep_] == PAINT) deep_--;                                                            \
        note(#function, (size_t)deep_ * sizeof(uint64_t));                                                             \
    } while (0)

/* A call that has to answer this. */
#define EXPECT(answer, function, arguments)                                                                            \
    do {                                                                                                               \
        int64_t result_;                                                                                               \
        CALL(result_, function, arguments);                                                                            \
        expect(#function, result_, answer);                                                                            \
    } while (0)

/* A call whose answer does not matter. */
#define RUN(function, arguments)                                                                                       \
    do {                                                                                                               \
        int64_t result_;                                                                                               \
        CALL(result_, function, arguments);                                                                            \
        (void)result_;                                                                                                 \
    } while (0)

static const char *use = "";

static struct {
    const char *function, *use;
    size_t bytes;
} deepest[100];

static void __attribute__((noinline)) note(const char *function, size_t bytes) {
    size_t i = 0;
    while (deepest[i].function && strcmp(deepest[i].function, function) != 0) i++;
    if (deepest[i].function && deepest[i].bytes >= bytes) return;
    deepest[i].function = function;
    deepest[i].use = use;
    deepest[i].bytes = bytes;
}

static void __attribute__((noinline)) expect(const char *what, int64_t answer, int64_t expected) {
    if (answer == expected) return;
    fprintf(stderr, "%s, %s: %lld, not %lld\n", what, use, (long long)answer, (long long)expected);
    exit(EXIT_FAILURE);
}

/* Prints function, bytes and use of the deepest call of each, tab between them. */
static void print_deepest(void) {
    for (size_t i = 0; deepest[i].function; i++)
        printf("%s\t%zu\t%s\n", deepest[i].function, deepest[i].bytes, deepest[i].use);
}

/* ---- Over the loopback device */

static int listener, peer = -1;
static uint16_t port;
static int has_loop; /* of its own: …_service(), not …_wait() */

/* Does what a server has to do now. */
static void attend(void);

static void listen_at_loopback(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        expect("listen", -1, 0);
    port = ntohs(address.sin_port);
}

/* ---- The thread of a runner */

static volatile uint64_t *painted; /* from here on, in the runner's thread */
static long runner_deepest;
static int runner_events;

/* In on_event: looks at what the thread took since the last event, with all that libc keeps at its top. How many events there
   have been. */
static inline __attribute__((always_inline)) int look_at_thread(void) {
    volatile uint64_t *top;
    STACK_POINTER(top);
    if (painted) {
        pthread_attr_t attributes;
        void *lowest;
        size_t size;
        while (painted < top && *painted == PAINT) painted++;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &lowest, &size);
        pthread_attr_destroy(&attributes);
        long deep = (long)((uint8_t *)lowest + size - (uint8_t *)painted);
        if (deep > runner_deepest) runner_deepest = deep;
    }
    painted = top - WORDS;
    for (long i = 1; i <= WORDS; i++) top[-i] = PAINT;
    return __atomic_add_fetch(&runner_events, 1, __ATOMIC_RELEASE);
}

static void attend_until(int events) {
    for (unsigned i = 0; i < 5000 && __atomic_load_n(&runner_events, __ATOMIC_ACQUIRE) < events; i++) {
        attend();
        poll(NULL, 0, 1);
    }
    expect("the runner's events", __atomic_load_n(&runner_events, __ATOMIC_ACQUIRE) >= events, 1);
}
