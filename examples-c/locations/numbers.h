/* Numbers that other people write: taken only if all of the text is a number, and if it is in its range. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number such as -48.137 or 1.2e3. strtod() alone would also take spaces, "inf", "nan" and hexadecimal. */
static inline bool read_decimal(const char *text, size_t size, double least, double most, double *value) {
    char copy[48], *end;
    if (size == 0 || size >= sizeof copy) return false;
    for (size_t i = 0; i < size; i++)
        if (!strchr("0123456789+-.eE", text[i]) || !text[i]) return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *value = strtod(copy, &end);
    return *end == '\0' && *value >= least && *value <= most;
}

/* A whole number of exactly these digits, such as the 07 of a date. */
static inline bool read_digits(const char *text, size_t size, int *value) {
    if (size == 0 || size > 9) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *value = *value * 10 + (text[i] - '0');
    }
    return true;
}

#endif
