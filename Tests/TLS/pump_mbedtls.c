/*
 * pump.c's settings for the engine on mbedTLS: ca= certificate= key= password= crl= pin= (hexadecimal) identity= psk=
 * (hexadecimal) flags= minimum= maximum= floor= time=. as_bytes=1: files are read here and handed over as bytes.
 */
#include "pump.h"

#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt-tls-mbedtls.h>

const smq_tls_engine *pump_engine(void) { return smq_mbedtls(); }

static smq_bytes text(const char *name) { return smq_string(argument(name)); }

static smq_bytes from_hexadecimal(const char *name, uint8_t *to, size_t most) {
    smq_bytes bytes = { to, 0 };
    const char *digits = argument(name);
    for (unsigned byte; digits && bytes.size < most && sscanf(digits, "%2x", &byte) == 1; digits += 2)
        to[bytes.size++] = (uint8_t)byte;
    return bytes;
}

static int32_t password(void *user, char *to, size_t size) {
    const char *known = user;
    if (!known || strlen(known) > size) return -1;
    memcpy(to, known, strlen(known));
    return (int32_t)strlen(known);
}

static smq_bytes contents(const char *name, char *to, size_t size) {
    smq_bytes bytes = { to, 0 };
    FILE *file = argument(name) ? fopen(argument(name), "rb") : NULL;
    if (!file) return bytes;
    bytes.size = fread(to, 1, size, file);
    fclose(file);
    return bytes;
}

int32_t pump_open(void **settings, smq_tls_failure *why) {
    static uint8_t pins[128], psk[64];
    static char files[4][16384];
    smq_mbedtls_options options = SMQ_MBEDTLS_OPTIONS_INIT;
    if (number_of("as_bytes", 0)) {
        options.ca = contents("ca", files[0], sizeof files[0]);
        options.certificate = contents("certificate", files[1], sizeof files[1]);
        options.key = contents("key", files[2], sizeof files[2]);
        options.crl = contents("crl", files[3], sizeof files[3]);
    } else {
        options.ca_file = text("ca");
        options.certificate_file = text("certificate");
        options.key_file = text("key");
        options.crl_file = text("crl");
    }
    options.pins = from_hexadecimal("pin", pins, sizeof pins);
    options.psk = from_hexadecimal("psk", psk, sizeof psk);
    options.psk_identity = text("identity");
    options.flags = (uint32_t)number_of("flags", 0);
    options.minimum = (uint32_t)number_of("minimum", 0);
    options.maximum = (uint32_t)number_of("maximum", 0);
    options.clock_floor_s = number_of("floor", 0);
    options.verify_time_s = number_of("time", 0);
    options.password = argument("password") ? password : NULL;
    options.password_user = (void *)argument("password");
    return smq_mbedtls_open(&options, (smq_mbedtls_settings **)settings, why);
}

void pump_close(void *settings) { smq_mbedtls_close(settings); }
