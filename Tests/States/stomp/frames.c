/* Frames, as far as the server and the ledger need them. */
#include <stdio.h>
#include <string.h>

#include "explore.h"

static const char *const commands[] = {
    "CONNECT", "SEND",   "SUBSCRIBE",  "UNSUBSCRIBE", "ACK",     "NACK",    "BEGIN",
    "ABORT",   "COMMIT", "DISCONNECT", "CONNECTED",   "RECEIPT", "MESSAGE", "ERROR"
};

struct frame_in first_frame(const uint8_t *bytes, size_t size) {
    struct frame_in frame = { NULL, bytes, 0 };
    const uint8_t *end = size ? memchr(bytes, 0, size) : NULL, *line;
    if (!end) return frame;
    frame.size = (size_t)(end - bytes) + 1;
    line = memchr(bytes, '\n', frame.size);
    for (size_t i = 0; line && i < sizeof commands / sizeof *commands; i++)
        if (strlen(commands[i]) == (size_t)(line - bytes) && memcmp(bytes, commands[i], (size_t)(line - bytes)) == 0)
            frame.command = commands[i];
    if (!frame.command) violation("no frame");
    return frame;
}

int is(const struct frame_in *frame, const char *command) { return strcmp(frame->command, command) == 0; }

const char *header(const struct frame_in *frame, const char *name) {
    static char value[40];
    size_t length = strlen(name);
    const uint8_t *line = frame->start, *end = frame->start + frame->size;
    value[0] = 0;
    while ((line = memchr(line, '\n', (size_t)(end - line))) && ++line < end && *line != '\n') {
        if ((size_t)(end - line) <= length || memcmp(line, name, length) != 0 || line[length] != ':') continue;
        const uint8_t *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)(stop - line) - length - 1;
        if (size >= sizeof value) violation("a header that is too long");
        memcpy(value, line + length + 1, size);
        value[size] = 0;
        break;
    }
    return value;
}

int body_of(const struct frame_in *frame) {
    if (frame->size < 3 || frame->start[frame->size - 3] != '\n') violation("another body than was sent");
    int number = frame->start[frame->size - 2] - '0';
    if (number < 0 || number >= world.sent) violation("another body than was sent");
    return number;
}

/* For the longest that the server may say at once. */
int has_room_down(void) { return world.down_size + 80 <= LINK_BYTES; }

void put_down(const char *text, size_t size) {
    if (world.down_size + size > LINK_BYTES) violation("no room on the way down");
    memcpy(world.down + world.down_size, text, size);
    world.down_size += (uint8_t)size;
}

void put_receipt(const char *id) {
    char text[48];
    int size = snprintf(text, sizeof text, "RECEIPT\nreceipt-id:%s\n\n", id);
    put_down(text, (size_t)size + 1);
}
