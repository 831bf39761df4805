/* What the writers of swiftmqtt-payload.h share. Nothing of it is seen outside of the library that they are linked into. */
#ifndef PAYLOAD_PARTS_H
#define PAYLOAD_PARTS_H

#include "swiftmqtt-payload.h"

#if defined(__GNUC__)
#define HIDDEN __attribute__((visibility("hidden")))
#else
#define HIDDEN
#endif

#define LONGEST_DECIMAL 24 /* "-2.2250738585072014e-308" */
#define MOST_DIGITS 17     /* of a double that reads back as the same (IEEE 754-2008, section 5.12.2) */

/*
 * Where a token of so many bytes goes; NULL if it does not fit, as after the first one that did not. Counts it in any
 * case. The length stops at the largest number, beyond which there is no buffer.
 */
static inline uint8_t *smq_payload_claim(uint8_t *buffer, size_t size, size_t *length, size_t bytes) {
    size_t begin = *length;
    int fits = begin <= size && bytes <= size - begin;
    *length = bytes > SIZE_MAX - begin ? SIZE_MAX : begin + bytes;
    return fits && bytes ? buffer + begin : NULL;
}

/* Whether the bytes are well-formed UTF-8 (RFC 3629); U+0000 is. */
HIDDEN int smq_payload_is_utf8(const uint8_t *bytes, size_t size);

/* Writes a whole number in decimal, at most 20 digits, without a zero behind it. Returns how many. */
HIDDEN size_t smq_payload_uint(char *text, uint64_t value);

/*
 * The digits of the shortest decimal that reads back as mantissa * 2^exponent, the nearest of them: 0.DIGITS * 10^point.
 * mantissa is not 0 and below 2^53, exponent -1074 to 971. is_lowest: the number below it is only half as far away as the
 * one above. is_float: it is that of a float. Returns how many digits there are, 1 to MOST_DIGITS.
 */
HIDDEN size_t smq_payload_digits(char *digits, int *point, uint64_t mantissa, int exponent, int is_lowest,
                                 int is_float);

/* Writes the text of a finite number, from the bits of a double, or of a float if is_float: at most LONGEST_DECIMAL. */
HIDDEN size_t smq_payload_number(char *text, uint64_t bits, int is_float);

#endif
