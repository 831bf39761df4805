/* Reads the CA that BearSSL is to trust from a PEM file. BearSSL wants its name and its key, which stay where they were decoded. */
#ifndef TRUST_ANCHOR_H
#define TRUST_ANCHOR_H

#include <bearssl.h>
#include <stdio.h>
#include <string.h>

#include "why.h"

typedef struct {
    br_x509_decoder_context decoder;
    br_x509_trust_anchor anchor;
    unsigned char name[1024];
    size_t name_size;
} trust_anchor;

static void add_name(void *to, const void *data, size_t size) {
    trust_anchor *own = to;
    if (size > sizeof own->name - own->name_size) refuse("tls_bearssl", "the CA's name", "is too long");
    memcpy(own->name + own->name_size, data, size);
    own->name_size += size;
}

static void add_der(void *decoder, const void *data, size_t size) { br_x509_decoder_push(decoder, data, size); }

/* The first certificate of the file; ends the program if it is none. */
static void read_ca(const char *path, trust_anchor *ca) {
    unsigned char text[8192];
    FILE *file = fopen(path, "rb");
    if (!file) refuse("tls_bearssl", path, "cannot be read");
    size_t size = fread(text, 1, sizeof text, file), used = 0;
    fclose(file);
    br_x509_decoder_init(&ca->decoder, add_name, ca);
    br_pem_decoder_context pem;
    br_pem_decoder_init(&pem);
    int event = 0;
    while (used < size && event != BR_PEM_END_OBJ) {
        used += br_pem_decoder_push(&pem, text + used, size - used);
        event = br_pem_decoder_event(&pem);
        if (event == BR_PEM_BEGIN_OBJ) br_pem_decoder_setdest(&pem, add_der, &ca->decoder);
    }
    br_x509_pkey *key = br_x509_decoder_get_pkey(&ca->decoder);
    if (!key) refuse("tls_bearssl", path, "does not begin with a certificate that BearSSL can read");
    ca->anchor = (br_x509_trust_anchor){ { ca->name, ca->name_size }, BR_X509_TA_CA, *key };
}

#endif
