/* What the device is called. */
#ifndef DEVICE_H
#define DEVICE_H

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "hash.h"

#define DEVICE_ID_BYTES 65

/* The ID is a part of destinations and of JSON: letters, digits, - and _ need no escapes there, and brokers do not take
   them for wildcards or separators. */
static inline bool is_device_id(const char *text) {
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_') return false;
    return size > 0 && size < DEVICE_ID_BYTES;
}

/* An ID that stays the same: a hash of /etc/machine-id, which itself is not to be told to others (machine-id(5)), or else
   the host name. The hash keeps half of the bits; it is no protection against one who tries. Returns where it is from. */
static inline const char *default_device_id(char id[DEVICE_ID_BYTES]) {
    char line[64] = "";
    FILE *file = fopen("/etc/machine-id", "re");
    if (file) {
        if (!fgets(line, sizeof line, file)) line[0] = '\0';
        fclose(file);
    }
    size_t size = strcspn(line, "\n");
    if (size == 32) {
        snprintf(id, DEVICE_ID_BYTES, "%016llx",
                 (unsigned long long)hash(hash(HASH_START, "locationd", 9), line, size));
        return "/etc/machine-id";
    }
    if (gethostname(id, DEVICE_ID_BYTES) != 0) id[0] = '\0';
    id[DEVICE_ID_BYTES - 1] = '\0';
    id[strcspn(id, ".")] = '\0';
    return "the host name";
}

#endif
