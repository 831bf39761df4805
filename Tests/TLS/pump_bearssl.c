/* pump.c's settings for the engine of examples-c/tls_bearssl.c: ca=. */
#define main main_of_the_example
#include "../../examples-c/tls_bearssl.c"
#undef main

#include "pump.h"

const smq_tls_engine *pump_engine(void) { return &engine; }

int32_t pump_open(void **settings, smq_tls_failure *why) {
    static trust_anchor ca;
    (void)why;
    read_ca(argument("ca"), &ca);
    *settings = &ca;
    return SMQ_OK;
}

void pump_close(void *settings) { (void)settings; }
