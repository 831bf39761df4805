/* The structs of swiftmqtt-tls-engine.h that the client fills in: the Swift code relies on their having no padding. */
#include "swiftmqtt-tls-engine.h"

#include <assert.h>

static_assert(offsetof(smq_tls_failure, subject) == 40, "as on every processor");
static_assert(sizeof(smq_tls_failure) == 296, "as on every processor");
