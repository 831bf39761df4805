/*
 * The shortest decimal of a floating-point number, by exact arithmetic: the free-format algorithm of Steele and White in
 * the form of Burger and Dybvig ("Printing Floating-Point Numbers Quickly and Accurately", 1996). It needs no table, and
 * integers of 1,152 bits on the stack.
 */
#include "parts.h"

/* The largest is below 10 * 2^1076, the denominator of the smallest number, or 10^309 * 2^2. */
#define WORDS 36

typedef struct whole {
    uint32_t words[WORDS]; /* from the lowest */
    int used;              /* those above are 0 and not set */
} whole;

static void set(whole *number, uint64_t value, int shift) {
    int skipped = shift / 32, bits = shift % 32;
    uint64_t low = value << bits, high = bits ? value >> (64 - bits) : 0;
    memset(number->words, 0, sizeof number->words);
    number->words[skipped] = (uint32_t)low;
    number->words[skipped + 1] = (uint32_t)(low >> 32);
    if (high) number->words[skipped + 2] = (uint32_t)high;
    number->used = skipped + (high ? 3 : 2);
    while (number->used > 0 && number->words[number->used - 1] == 0) number->used--;
}

static void multiply(whole *number, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < number->used; i++) {
        carry += (uint64_t)number->words[i] * factor;
        number->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) number->words[number->used++] = (uint32_t)carry;
}

static void multiply_by_power_of_10(whole *number, int power) {
    for (; power >= 9; power -= 9) multiply(number, 1000000000);
    for (; power > 0; power--) multiply(number, 10);
}

static uint32_t word(const whole *number, int index) { return index < number->used ? number->words[index] : 0; }

/* Below 0, 0 or above 0: how a + b compares with c. */
static int compare_sum(const whole *a, const whole *b, const whole *c) {
    int top = a->used > b->used ? a->used : b->used;
    if (c->used > top) top = c->used;
    /* From the top: what c has more than a and b so far. Once that is 2 or more, no lower word makes up for it. */
    int64_t more = 0;
    for (int i = top - 1; i >= 0; i--) {
        more = more * ((int64_t)1 << 32) + word(c, i) - word(a, i) - word(b, i);
        if (more >= 2) return -1;
        if (more < 0) return 1;
    }
    return more > 0 ? -1 : 0;
}

static int compare(const whole *a, const whole *b) {
    static const whole nothing = { { 0 }, 0 };
    return compare_sum(a, &nothing, b);
}

/* a - b, which is not negative. */
static void subtract(whole *a, const whole *b) {
    uint32_t borrowed = 0;
    for (int i = 0; i < a->used; i++) {
        uint64_t taken = (uint64_t)word(b, i) + borrowed;
        borrowed = a->words[i] < taken;
        a->words[i] = (uint32_t)(a->words[i] - taken);
    }
    while (a->used > 0 && a->words[a->used - 1] == 0) a->used--;
}

static int bits_of(uint64_t value) {
    int bits = 0;
    while (value >> bits > 1) bits++;
    return bits + 1;
}

size_t smq_payload_digits(char *digits, int *point, uint64_t mantissa, int exponent, int is_lowest, int is_float) {
    /* The number is rest / scale; below and above are half the way to its neighbours, over the same scale. */
    whole rest, scale, below, above;
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0, more = is_lowest ? 2 : 1;
    int takes_ends = mantissa % 2 == 0; /* a reader rounds half to even */
    /*
     * A reader that takes a float for a double first rounds twice: what is nearer to an end than 2^-29 of the way becomes
     * that end, and then the even neighbour. So an odd float keeps as far away from its ends, and 7.038531e-26 is not one.
     */
    int spared = is_float && !takes_ends ? 29 : 0;
    uint64_t way = ((uint64_t)1 << spared) - (spared > 0);
    set(&rest, mantissa, up + more + spared);
    set(&scale, 1, down + more + spared);
    set(&below, way, up);
    set(&above, way, up + more - 1);

    /* 78913 / 2^18 is log10(2); the number is from 2^n on and below 2^(n + 1), and so this is right, or one too low. */
    int n = exponent + bits_of(mantissa) - 1;
    int power = (int)(n >= 0 ? (int64_t)n * 78913 / 262144 : -(((int64_t)-n * 78913 + 262143) / 262144)) + 1;
    multiply_by_power_of_10(&scale, power);
    multiply_by_power_of_10(&rest, -power);
    multiply_by_power_of_10(&below, -power);
    multiply_by_power_of_10(&above, -power);
    if (compare_sum(&rest, &above, &scale) >= !takes_ends) {
        multiply(&scale, 10);
        power++;
    }
    *point = power;

    for (size_t count = 0;;) {
        multiply(&rest, 10);
        multiply(&below, 10);
        multiply(&above, 10);
        int digit = 0;
        for (; digit < 9 && compare(&rest, &scale) >= 0; digit++) subtract(&rest, &scale);
        int may_end = compare(&rest, &below) < takes_ends,
            may_round_up = compare_sum(&rest, &above, &scale) >= !takes_ends;
        int ends = may_end || may_round_up || count + 1 == MOST_DIGITS;
        int half = compare_sum(&rest, &rest, &scale);
        /* The nearer of the two; of two that are as near, the even one. */
        if (ends && may_round_up && (!may_end || half > 0 || (half == 0 && digit % 2))) digit++;
        digits[count++] = (char)('0' + digit);
        if (ends) return count;
    }
}
