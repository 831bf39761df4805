/*
 * Texts for the device: each is shown, one after the other, and acknowledged or refused once that was decided by a person,
 * by a program, or by --confirm auto. Until then it is the broker's, which delivers it again if the device goes away.
 *
 * RabbitMQ delivers a text that was refused again at once, ActiveMQ moves it to its dead letter queue. A text that comes
 * back is shown again after a while only: otherwise a program that refuses it would be started without end.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include <stdio.h>
#include <swiftstomp.h>

#include "hash.h"
#include "hook.h"

#define TEXT_BYTES 4096
#define TEXTS 8 /* that wait: the broker is asked to send no more at a time (prefetch-count) */

enum decision {
    UNDECIDED,
    TAKEN,
    REFUSED
};

struct text {
    uint64_t token;
    int64_t show_ms; /* not before */
    uint64_t hash;
    enum decision decision;
    size_t size;
    char body[TEXT_BYTES];
};

struct texts {
    struct text list[TEXTS];
    size_t count;
    bool is_shown; /* the first one of the list */
    int64_t again_ms;
    struct {
        uint64_t hash;
        int64_t until_ms;
    } refused[16]; /* the last ones */
    size_t refusals;
};

/* Prints a text in one line. It may be from anybody: bytes that could control a terminal become question marks. */
static inline void print_text(const char *what, const char *body, size_t size) {
    printf("%s", what);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)body[i], next = i + 1 < size ? (unsigned char)body[i + 1] : 0;
        if (byte == 0xC2 && next >= 0x80 && next < 0xA0) { /* U+0080 to U+009F */
            putchar('?');
            i++;
        } else {
            putchar(byte < 0x20 || byte == 0x7F ? '?' : byte);
        }
    }
    putchar('\n');
    fflush(stdout);
}

/* Keeps a text that came. One that does not fit is acknowledged: refused, it would only come again. */
static inline void texts_add(struct texts *texts, sst_client *client, const sst_event *event, int64_t now) {
    bool whole = event->part == (SST_PART_FIRST | SST_PART_LAST) && event->status == SST_OK;
    if (!event->token) return; /* not the last part of a large one */
    if (!whole || event->body.size >= TEXT_BYTES || texts->count == TEXTS) {
        if (texts->count == TEXTS)
            fprintf(stderr, "locationd: a text is dropped: %d others wait\n", TEXTS);
        else
            fprintf(stderr, "locationd: a text of %u bytes is dropped: there is room for %d\n", event->body_total,
                    TEXT_BYTES - 1);
        sst_ack(client, event->token, 0);
        return;
    }
    struct text *text = &texts->list[texts->count++];
    text->token = event->token;
    text->size = event->body.size;
    text->decision = UNDECIDED;
    if (text->size > 0) memcpy(text->body, event->body.data, text->size);
    text->hash = hash(HASH_START, text->body, text->size);
    text->show_ms = now;
    for (size_t i = 0; i < sizeof texts->refused / sizeof *texts->refused; i++)
        if (texts->refused[i].until_ms > now && texts->refused[i].hash == text->hash)
            text->show_ms = texts->refused[i].until_ms;
}

/* The connection has ended, and the broker delivers again what was not acknowledged. */
static inline void texts_forget(struct texts *texts) {
    texts->count = 0;
    texts->is_shown = false;
}

/* The text that waits for its decision; NULL: there is none. */
static inline struct text *texts_shown(struct texts *texts) { return texts->is_shown ? &texts->list[0] : NULL; }

/* Shows the next text that is due, unless one is shown already. Returns it if there was one. */
static inline struct text *texts_show_next(struct texts *texts, int64_t now) {
    if (texts->is_shown) return NULL;
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->list[i].show_ms > now) continue;
        struct text due = texts->list[i];
        memmove(&texts->list[1], &texts->list[0], i * sizeof due);
        texts->list[0] = due;
        texts->is_shown = true;
        print_text("Text: ", due.body, due.size);
        return &texts->list[0];
    }
    return NULL;
}

/* Tells the broker what was decided, and removes the text. If there is no room for ACK, the next turn tries again. */
static inline void texts_settle(struct texts *texts, sst_client *client, int64_t now) {
    struct text *text = texts_shown(texts);
    if (!text || text->decision == UNDECIDED) return;
    bool taken = text->decision == TAKEN;
    int32_t status = taken ? sst_ack(client, text->token, 0) : sst_nack(client, text->token, 0);
    if (status == SST_ERR_FULL) return;
    if (status != SST_OK) fprintf(stderr, "locationd: answering a text: %s\n", sst_status_text(status));
    if (!taken) {
        size_t at = texts->refusals++ % (sizeof texts->refused / sizeof *texts->refused);
        texts->refused[at].hash = text->hash;
        texts->refused[at].until_ms = now + texts->again_ms;
    }
    if (status == SST_OK) print_text(taken ? "Acknowledged: " : "Refused: ", text->body, text->size);
    texts->is_shown = false;
    memmove(&texts->list[0], &texts->list[1], --texts->count * sizeof *text);
}

/* When the next text is due to be shown; -1: never. */
static inline int64_t texts_due_ms(const struct texts *texts) {
    int64_t due = -1;
    for (size_t i = 0; i < texts->count && !texts->is_shown; i++)
        if (due < 0 || texts->list[i].show_ms < due) due = texts->list[i].show_ms;
    return due;
}

#endif
