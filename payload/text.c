/* Texts and numbers as text, without a locale. */
#include "parts.h"

/* Table 3-7 of the Unicode Standard: the second byte that may follow a lead byte; every byte after that is 80...BF. */
static const struct lead {
    uint8_t first, last;
    uint8_t following, second_first, second_last;
} leads[] = {
    { 0x00, 0x7F, 0, 0, 0 },       { 0xC2, 0xDF, 1, 0x80, 0xBF }, { 0xE0, 0xE0, 2, 0xA0, 0xBF },
    { 0xE1, 0xEC, 2, 0x80, 0xBF }, { 0xED, 0xED, 2, 0x80, 0x9F }, { 0xEE, 0xEF, 2, 0x80, 0xBF },
    { 0xF0, 0xF0, 3, 0x90, 0xBF }, { 0xF1, 0xF3, 3, 0x80, 0xBF }, { 0xF4, 0xF4, 3, 0x80, 0x8F },
};

static const struct lead *lead_of(uint8_t byte) {
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (byte >= leads[i].first && byte <= leads[i].last) return &leads[i];
    return NULL;
}

int smq_payload_is_utf8(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size;) {
        const struct lead *lead = lead_of(bytes[i++]);
        if (!lead || lead->following > size - i) return 0;
        if (lead->following && (bytes[i] < lead->second_first || bytes[i] > lead->second_last)) return 0;
        for (size_t next = 1; next < lead->following; next++)
            if ((bytes[i + next] & 0xC0) != 0x80) return 0;
        i += lead->following;
    }
    return 1;
}

size_t smq_payload_uint(char *text, uint64_t value) {
    char reversed[20];
    size_t count = 0;
    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (size_t i = 0; i < count; i++) text[i] = reversed[count - 1 - i];
    return count;
}

static size_t zeros(char *text, int count) {
    if (count <= 0) return 0;
    memset(text, '0', (size_t)count);
    return (size_t)count;
}

/* 0.DIGITS * 10^point: 0.00012, 1200, 12.5 or 1.25e16, as Python and JavaScript write it, but without a plus. */
static size_t place_point(char *text, const char *digits, size_t count, int point) {
    size_t length = 0, whole = count;
    int has_exponent = point <= -4 || point > 16;
    if (has_exponent) {
        whole = 1;
    } else if (point <= 0) {
        memcpy(text, "0.", 2);
        length = 2 + zeros(text + 2, -point);
    } else if ((size_t)point < count) {
        whole = (size_t)point;
    }
    memcpy(text + length, digits, whole);
    length += whole;
    if (!has_exponent && point > 0) length += zeros(text + length, point - (int)count);
    if (whole < count) {
        text[length++] = '.';
        memcpy(text + length, digits + whole, count - whole);
        length += count - whole;
    }
    if (!has_exponent) return length;
    int exponent = point - 1;
    text[length++] = 'e';
    if (exponent < 0) text[length++] = '-';
    return length + smq_payload_uint(text + length, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

size_t smq_payload_number(char *text, uint64_t bits, int is_float) {
    /* IEEE 754: the bits of the fraction, and what is to be taken from the exponent for a whole mantissa. */
    int fraction_bits = is_float ? 23 : 52, bias = is_float ? 127 + 23 : 1023 + 52, sign_bit = is_float ? 31 : 63;
    uint64_t hidden = (uint64_t)1 << fraction_bits, fraction = bits & (hidden - 1);
    int biased = (int)(bits >> fraction_bits) & (is_float ? 0xFF : 0x7FF);
    size_t length = 0;
    if (bits >> sign_bit) text[length++] = '-';
    if (biased == 0 && fraction == 0) {
        /* A reader takes -0 for a whole number, which has no sign. */
        memcpy(text + length, "0.0", 3);
        return length ? 4 : 1;
    }
    char digits[MOST_DIGITS];
    int point = 0;
    size_t count = smq_payload_digits(digits, &point, biased ? fraction | hidden : fraction,
                                      (biased ? biased : 1) - bias, biased > 1 && fraction == 0, is_float);
    return length + place_point(text + length, digits, count, point);
}
