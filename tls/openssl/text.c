/* What a certificate says, as text and numbers. Texts are cut at the border of a character, and always end in a zero. */
#include "parts.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* How much of `size` bytes of UTF-8 is left if the last character is not whole. */
static size_t whole(const char *text, size_t size) {
    size_t start = size;
    for (int back = 0; back < 4 && start > 0; back++) {
        unsigned char byte = (unsigned char)text[--start];
        if (byte < 0x80) return size;
        if (byte < 0xc0) continue;
        size_t length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        return size - start < length ? start : size;
    }
    return size;
}

static void text_put(char *to, size_t size, const char *from, size_t from_size) {
    size_t count = from_size < size ? from_size : whole(from, size - 1);
    memcpy(to, from, count);
    to[count] = 0;
}

void text_copy(char *to, size_t size, const char *from) {
    if (!from) from = "";
    text_put(to, size, from, strlen(from));
}

void text_of_name(const X509_NAME *name, char *to, size_t size) {
    to[0] = 0;
    BIO *memory = BIO_new(BIO_s_mem());
    if (!memory) return;
    char *text = NULL;
    /* As RFC 4514 escapes it, but for letters outside ASCII, which stay UTF-8. */
    if (X509_NAME_print_ex(memory, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB & ~XN_FLAG_SPC_EQ) >= 0) {
        long count = BIO_get_mem_data(memory, &text);
        if (count > 0 && text) text_put(to, size, text, (size_t)count);
    }
    BIO_free(memory);
}

/* Appends a name, if it fits as a whole. Of what is not a letter of a host name there is a question mark: the text goes to
   logs. */
static int append(char *to, size_t size, size_t *used, const unsigned char *name, size_t name_size) {
    size_t separator = *used > 0 ? 2 : 0;
    if (*used + separator + name_size >= size) return 0;
    memcpy(to + *used, ", ", separator);
    *used += separator;
    for (size_t i = 0; i < name_size; i++)
        to[(*used)++] = (char)(name[i] > 0x20 && name[i] < 0x7f && name[i] != ',' ? name[i] : '?');
    to[*used] = 0;
    return 1;
}

static size_t address_text(const unsigned char *address, int size, char text[64]) {
    if (size == 4) return (size_t)snprintf(text, 64, "%u.%u.%u.%u", address[0], address[1], address[2], address[3]);
    if (size != 16) return (size_t)snprintf(text, 64, "?");
    size_t used = 0;
    for (int i = 0; i < 16; i += 2)
        used += (size_t)snprintf(text + used, 64 - used, "%s%x", i ? ":" : "", address[i] << 8 | address[i + 1]);
    return used;
}

int text_of_names(const X509 *certificate, char *to, size_t size) {
    to[0] = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    int fits = 1;
    for (int i = 0; fits && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *each = sk_GENERAL_NAME_value(names, i);
        char address[64];
        if (each->type == GEN_DNS) {
            fits = append(to, size, &used, ASN1_STRING_get0_data(each->d.dNSName),
                          (size_t)ASN1_STRING_length(each->d.dNSName));
        } else if (each->type == GEN_IPADD) {
            size_t length =
                address_text(ASN1_STRING_get0_data(each->d.iPAddress), ASN1_STRING_length(each->d.iPAddress), address);
            fits = append(to, size, &used, (unsigned char *)address, length);
        }
    }
    GENERAL_NAMES_free(names);
    return fits;
}

static const struct {
    const char *openssl, *usual;
} curves[] = { { "prime256v1", "P-256" }, { "secp384r1", "P-384" }, { "secp521r1", "P-521" } };

void text_of_key(const X509 *certificate, char *to, size_t size) {
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    char group[48];
    to[0] = 0;
    if (!key) return;
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, NULL)) {
        for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
            if (strcmp(group, curves[i].openssl) == 0) text_copy(group, sizeof group, curves[i].usual);
        text_copy(to, size, group);
    } else {
        const char *kind = EVP_PKEY_get0_type_name(key);
        /* The name of an Edwards curve says its size. */
        if (kind && strncmp(kind, "ED", 2) == 0) {
            snprintf(to, size, "Ed%s", kind + 2);
        } else {
            snprintf(to, size, "%s %d", kind ? kind : "?", EVP_PKEY_get_bits(key));
        }
    }
}

/* Not mktime(): time_t may have 32 bits, and there are certificates that end in 9999. */
int64_t seconds_of(const ASN1_TIME *time) {
    struct tm t;
    if (!time || !ASN1_TIME_to_tm(time, &t)) return 0;
    int64_t year = (int64_t)t.tm_year + 1900, month = t.tm_mon + 1;
    if (month <= 2) year--, month += 12; /* a year that begins in March ends with its leap day */
    int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + t.tm_mday - 719469;
    return ((days * 24 + t.tm_hour) * 60 + t.tm_min) * 60 + t.tm_sec;
}

int spki_digest(const X509 *certificate, uint8_t digest[DIGEST_BYTES]) {
    unsigned char *der = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    if (size <= 0) return 0;
    int done = EVP_Digest(der, (size_t)size, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(der);
    return done;
}
