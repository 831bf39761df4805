/* The layout of the structs that programs and the library share, as the compiler of the library sees it. */
#include "../../include/swiftstomp.h"

#include <stddef.h>
#include <stdint.h>

#define STRUCT(type, fields) sizeof(type), fields
#define FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)

/* In the order of the header. What is added goes to the end of its struct, and a new struct to the end of the header. */
static const uint16_t layout[] = {
#include "rows.h"
    0,
};

const uint16_t *sst_abi_layout(void) { return layout; }
