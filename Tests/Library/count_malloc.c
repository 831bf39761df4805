/*
 * Preloaded: counts the calls of the allocator, whoever makes them, and passes them on to libc.
 * allocator_calls() tells the count; the program that wants to know declares it weak.
 */
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static unsigned long calls; /* atomic: libc's resolver runs in a thread of its own */

static void count(void) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); }

unsigned long allocator_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t members, size_t size) {
    count();
    return __libc_calloc(members, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void free(void *block) {
    count();
    __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
