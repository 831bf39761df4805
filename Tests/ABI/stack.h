/*
 * What stack.c and stack_stomp.c share: the stack below the caller is painted, the function called, and looked at how far down the
 * paint is gone. What a function has room for and does not write to is not seen, nor is what its threads take.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
