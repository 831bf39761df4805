/*
 * pump.c's settings for the engine on OpenSSL: ca= crl= certificate= key= identity= psk= (text) flags= minimum= maximum=.
 */
#include "pump.h"

#include <swiftmqtt-tls.h>

const smq_tls_engine *pump_engine(void) { return smq_tls_openssl(); }

static smq_bytes text(const char *name) { return smq_string(argument(name)); }

int32_t pump_open(void **settings, smq_tls_failure *why) {
    smq_tls_options options = SMQ_TLS_OPTIONS_INIT;
    options.ca_file = text("ca");
    options.crl_file = text("crl");
    options.certificate_file = text("certificate");
    options.key_file = text("key");
    options.psk_identity = text("identity");
    options.psk = text("psk");
    options.flags = (uint32_t)number_of("flags", 0);
    options.minimum = (uint32_t)number_of("minimum", 0);
    options.maximum = (uint32_t)number_of("maximum", 0);
    return smq_tls_open(&options, (smq_tls **)settings, why);
}

void pump_close(void *settings) { smq_tls_close(settings); }
