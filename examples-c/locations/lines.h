/* Lines from a descriptor, as they arrive. */
#ifndef LINES_H
#define LINES_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct lines {
    size_t size;   /* bytes in data */
    size_t taken;  /* of them, those before the next line */
    bool skipping; /* the line was too long: the rest of it is dropped */
    char data[16384];
};

enum reading {
    READ_SOME,
    READ_LATER, /* there is nothing now */
    READ_END    /* the other side has closed, or errno says what failed */
};

/* Reads what is there, once. */
static inline enum reading read_lines(int fd, struct lines *lines) {
    memmove(lines->data, lines->data + lines->taken, lines->size - lines->taken);
    lines->size -= lines->taken;
    lines->taken = 0;
    if (lines->size == sizeof lines->data) {
        lines->size = 0;
        lines->skipping = true;
    }
    errno = 0;
    ssize_t got = read(fd, lines->data + lines->size, sizeof lines->data - lines->size);
    if (got > 0) {
        lines->size += (size_t)got;
        return READ_SOME;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? READ_LATER : READ_END;
}

/* The next whole line, without its end, until the next read_lines(); NULL if there is none. */
static inline const char *next_line(struct lines *lines, size_t *size) {
    for (;;) {
        char *line = lines->data + lines->taken, *end = memchr(line, '\n', lines->size - lines->taken);
        if (!end) return NULL;
        lines->taken += (size_t)(end - line) + 1;
        if (lines->skipping) {
            lines->skipping = false;
            continue;
        }
        *size = (size_t)(end - line);
        if (*size > 0 && line[*size - 1] == '\r') --*size;
        return line;
    }
}

#endif
