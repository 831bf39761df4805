/* FNV-1a: a hash for names and texts, not for secrets. */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xCBF29CE484222325)

static inline uint64_t hash(uint64_t so_far, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) so_far = (so_far ^ bytes[i]) * UINT64_C(0x100000001B3);
    return so_far;
}

#endif
