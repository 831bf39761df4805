/* The layout of the structs that programs and the library share, as the compiler of the library sees it. */
#include "swiftmqtt.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define STRUCT(type, fields) sizeof(type), fields
#define FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)

/* smq_publish() reads four one-byte fields of a message as one number, and what must be zero at its end as two
   (Exports+Publish.swift, MessageFlags). */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
static_assert(offsetof(smq_message, qos) == 4 && offsetof(smq_message, retain) == 5, "QoS, then retain");
static_assert(offsetof(smq_message, quiet) == 6 && offsetof(smq_message, overflow) == 7, "quiet, then overflow");
static_assert(offsetof(smq_message, expiry_s) == sizeof(smq_message) - 8, "expiry is the last but one");
static_assert(offsetof(smq_message, urgent) == sizeof(smq_message) - 4, "urgent and what is reserved are the last");

/* In the order of the header. What is added goes to the end of its struct, and a new struct to the end of the header. */
static const uint16_t layout[] = {
#include "rows.h"
    0,
};

const uint16_t *smq_abi_layout(void) { return layout; }
