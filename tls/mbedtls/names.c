/*
 * Whom a certificate is for: its subjectAltName, as RFC 9525, section 6 has it.
 *
 * mbedTLS 2.28 knows no addresses, and takes the Common Name if there is no name. So this replaces its check, in 3.6 too.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "parts.h"

/* The kinds of GeneralName (RFC 5280, section 4.2.1.6): what the tag says below its class. */
enum {
    TAG_MASK = 0x1F,
    DNS_NAME = 2,
    IP_ADDRESS = 7
};

static bool equal(const char *name, size_t name_size, const unsigned char *other, size_t other_size) {
    return name_size == other_size && strncasecmp(name, (const char *)other, name_size) == 0;
}

/* A wildcard is the whole leftmost label, stands for exactly one, and not for the one of a top-level domain (section 6.3). */
static bool matches(const char *name, const mbedtls_x509_buf *pattern) {
    size_t size = strlen(name);
    if (equal(name, size, pattern->p, pattern->len)) return !memchr(pattern->p, 0, pattern->len);
    if (pattern->len < 3 || pattern->p[0] != '*' || pattern->p[1] != '.') return false;
    const char *rest = strchr(name, '.');
    if (!rest || rest == name || !strchr(rest + 1, '.')) return false;
    return equal(rest, size - (size_t)(rest - name), pattern->p + 1, pattern->len - 1);
}

bool smq_mbedtls_is_for(const mbedtls_x509_crt *certificate, const connection *own) {
    for (const mbedtls_x509_sequence *at = &certificate->subject_alt_names; at; at = at->next) {
        int kind = at->buf.tag & TAG_MASK;
        if (!at->buf.p) continue;
        if (own->address_size > 0) {
            if (kind == IP_ADDRESS && at->buf.len == own->address_size &&
                memcmp(at->buf.p, own->address, own->address_size) == 0)
                return true;
        } else if (kind == DNS_NAME && matches(own->name, &at->buf)) {
            return true;
        }
    }
    return false;
}

void smq_mbedtls_list_names(const mbedtls_x509_crt *certificate, char *to, size_t size) {
    size_t used = 0;
    to[0] = 0;
    for (const mbedtls_x509_sequence *at = &certificate->subject_alt_names; at; at = at->next) {
        char address[INET6_ADDRSTRLEN] = "";
        int kind = at->buf.tag & TAG_MASK, length = 0;
        const char *text = address;
        if (!at->buf.p) continue;
        if (kind == DNS_NAME && at->buf.len < size && !memchr(at->buf.p, 0, at->buf.len)) {
            text = (const char *)at->buf.p;
            length = (int)at->buf.len;
        } else if (kind == IP_ADDRESS && (at->buf.len == 4 || at->buf.len == 16)) {
            inet_ntop(at->buf.len == 4 ? AF_INET : AF_INET6, at->buf.p, address, sizeof address);
            length = (int)strlen(address);
        } else {
            continue;
        }
        int told = snprintf(to + used, size - used, "%s%.*s", used ? ", " : "", length, text);
        if (told < 0 || (size_t)told >= size - used) {
            to[used] = 0;
            return;
        }
        used += (size_t)told;
    }
}
