/*
 * What only the drop-in needs of libc; CPlatform has the rest. It needs memory, because libmosquitto's
 * contract hands some to the caller, errno, a mutex, and lines of log.
 */
#ifndef SWIFTMQTT_SHIM_H
#define SWIFTMQTT_SHIM_H

#include "mosquitto_abi.h"

/* ---- memory ---- */

/* It comes from malloc(), because programs free() some of it themselves. Zeroed; NULL: there is none. */
void *shim_allocate(size_t size);
void *shim_resize(void *memory, size_t size);
void shim_free(void *memory);
/* Overwrites credentials with zeros before it frees them. */
void shim_forget(void *memory, size_t size);

/* A copy of size bytes with a zero behind them; NULL: there is no memory. */
char *shim_copy(const void *bytes, size_t size);

size_t shim_length(const char *text);
bool shim_is_equal(const char *first, const char *second);

/* ---- errno ---- */

void shim_set_errno(int32_t number);
int32_t shim_errno(void);
/* What libmosquitto says of TLS that failed. */
int32_t shim_protocol_error(void);

/* The number in an environment variable, if it is one from minimum to maximum; else fallback. */
uint32_t shim_environment(const char *name, uint32_t minimum, uint32_t maximum, uint32_t fallback);

/* ---- the mutex ---- */

/*
 * The journal of a client with this id, as DIRECTORY/ID.journal: the directory is what MOSQUITTO_JOURNAL says, and bytes of the
 * id that are no letter, digit, - or _ are %XX. It is the caller's to free. NULL: there is to be none, or no memory.
 */
char *shim_journal_path(const char *id);
bool shim_has_journals(void);

/*
 * The inspection socket of a client, as DIRECTORY/ID.sock: the directory is what MOSQUITTO_INSPECT says; without an id,
 * PROGRAM.PID.sock. It is the caller's to free. NULL: there is to be none, or no memory.
 */
char *shim_inspect_path(const char *id);

/* Why a journal cannot be used. */
enum {
    SHIM_JOURNAL_SYSTEM = 0,  /* the system's number says it */
    SHIM_JOURNAL_LOCKED = 1,  /* EWOULDBLOCK: another process has it */
    SHIM_JOURNAL_CORRUPT = 2, /* EBADMSG: it is damaged, or no journal */
    SHIM_JOURNAL_OTHER = 3,   /* EPERM: it is another client's, or a newer library's */
    SHIM_JOURNAL_SIZE = 4,    /* EFBIG: it has more than there is room for */
    SHIM_JOURNAL_NAME = 5     /* ENAMETOOLONG */
};
int32_t shim_journal_errno(int32_t reason, int32_t number);

/* A thread locks a mutex once, and holds no second one at the same time. NULL: there is no memory. */
void *shim_mutex(void);
void shim_mutex_free(void *mutex);
void shim_lock(void *mutex);
void shim_unlock(void *mutex);
/* Whether the calling thread has locked it, or is about to. If so, the caller is a signal handler. */
bool shim_holds(const void *mutex);

/* ---- lines of log ---- */

#define SHIM_SENDING_CONNECT 0
#define SHIM_RECEIVED_CONNACK 1
#define SHIM_SENDING_DISCONNECT 2
#define SHIM_RECEIVED_DISCONNECT 3
#define SHIM_SENDING_PUBACK 4
#define SHIM_SENDING_PUBREC 5
#define SHIM_SENDING_PUBREL 6
#define SHIM_SENDING_PUBCOMP 7
#define SHIM_RECEIVED_PUBACK 8
#define SHIM_RECEIVED_PUBREC 9
#define SHIM_RECEIVED_PUBREL 10
#define SHIM_RECEIVED_PUBCOMP 11
#define SHIM_RECEIVED_SUBACK 12
#define SHIM_RECEIVED_UNSUBACK 13
#define SHIM_JOURNAL_RECOVERED 14
#define SHIM_JOURNAL_HEALED 15

struct shim_publish {
    int32_t is_received, duplicate, qos, retain, mid;
    const uint8_t *topic;
    size_t topic_size, payload_size;
};

/* Each of these writes a line of at most size bytes, its zero included, and returns it. */
const char *shim_line(char *line, size_t size, int32_t kind, const char *id, int32_t first, int32_t second);

/* The inspection socket cannot be made; number: the system's. */
const char *shim_line_unseen(char *line, size_t size, const char *id, const char *path, int32_t number);
/* The journal at this path cannot be used; number: the system's, for SHIM_JOURNAL_SYSTEM. */
const char *shim_line_refused(char *line, size_t size, const char *id, const char *path, int32_t reason,
                              int32_t number);
/* The journal cannot be written. */
const char *shim_line_unwritten(char *line, size_t size, const char *id, int32_t number);
const char *shim_line_publish(char *line, size_t size, const char *id, const struct shim_publish *publish);
/* options: Subscription Options; -1: it is UNSUBSCRIBE. */
const char *shim_line_subscribe(char *line, size_t size, const char *id, int32_t mid, const char *filter,
                                int32_t options);

#endif
