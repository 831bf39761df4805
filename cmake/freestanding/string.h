/*
 * The part of <string.h> that the C headers of this project need, for the Swift compiler only. The
 * bare-metal triples, with which Swift builds for the cross targets, come without a libc; the C
 * compiler and the linker use the real one.
 */
#ifndef SWIFTMQTT_FREESTANDING_STRING_H
#define SWIFTMQTT_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *string);

#endif
