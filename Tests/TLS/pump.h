/* What pump.c needs of an engine, and gives to who opens its settings. */
#ifndef PUMP_H
#define PUMP_H

#include <swiftmqtt.h>

/* Of pump_ENGINE.c. pump_open() returns SMQ_OK, or what the engine's own function returned. */
const smq_tls_engine *pump_engine(void);
int32_t pump_open(void **settings, smq_tls_failure *why);
void pump_close(void *settings);

/* The value of NAME=VALUE among the arguments, or NULL. */
const char *argument(const char *name);
long number_of(const char *name, long otherwise);

#endif
