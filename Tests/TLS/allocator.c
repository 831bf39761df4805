/*
 * Preloaded: counts what is asked of the allocator, and can refuse it. pump.c declares both functions weak.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static unsigned long calls, refused_from, refused_to;
static size_t used, most_used;

unsigned long allocator_calls(void) { return calls; }

/* From the `first`-th call on, counted from now, so many calls get no memory; 0: all do. */
void allocator_refuse(unsigned long first, unsigned long count) {
    refused_from = calls + first;
    refused_to = refused_from + count;
}

/* No more than `bytes` beside what is allocated now, as in a block of that size; 0: as much as there is. */
void allocator_limit(size_t bytes) { most_used = bytes ? used + bytes : 0; }

static int is_refused(size_t size) {
    calls++;
    if ((calls < refused_from || calls >= refused_to) && (!most_used || used + size <= most_used)) return 0;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *block) {
    used += malloc_usable_size(block);
    return block;
}

void *malloc(size_t size) { return is_refused(size) ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t members, size_t size) {
    return is_refused(members * size) ? NULL : counted(__libc_calloc(members, size));
}

void *realloc(void *block, size_t size) {
    if (is_refused(size)) return NULL;
    used -= malloc_usable_size(block);
    return counted(__libc_realloc(block, size));
}

void free(void *block) {
    used -= malloc_usable_size(block);
    __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
    return is_refused(size) ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
