/* What the small targets share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swiftmqtt.h"
#include "wire.h"

#define BROKEN(...) (fputs("\nBROKEN PROMISE: ", stderr), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

/* A copy on the heap, of just this size: who reads behind it is seen. */
static inline uint8_t *exact_copy(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    return copy;
}

#endif
