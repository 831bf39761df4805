/* Prints why a connection ended, a message or request failed, a client was not created, or an argument is wrong. */
#ifndef WHY_H
#define WHY_H

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftmqtt.h>

static inline void print_why(FILE *file, const smq_event *event) {
    fprintf(file, "%s", smq_status_name(event->status));
    if (event->stage != SMQ_STAGE_NONE) fprintf(file, ", stage %s", smq_stage_name(event->stage));
    if (event->status == SMQ_ERR_RESOLVE && event->os_error < 0)
        fprintf(file, ": %s", gai_strerror(event->os_error));
    else if (event->os_error > 0)
        fprintf(file, ": %s", strerror(event->os_error));
    if (event->reason_code > 0) fprintf(file, ": %s", smq_reason_code_name(event->protocol, event->reason_code));
    if (event->rule) fprintf(file, ": the rule is: %s", smq_rule_name(event->rule));
    if (event->reason_string.size > 0)
        fprintf(file, ": \"%.*s\"", (int)event->reason_string.size, (const char *)event->reason_string.data);
    fputc('\n', file);
}

/* Prints an error of smq_client_init(), but not the URL itself: it may contain a password. */
static inline void print_options_error(FILE *file, const smq_options *options, int32_t status) {
    size_t offset = 0;
    fprintf(file, "%s", smq_status_name(status));
    if (status == SMQ_ERR_MEMORY_SIZE) fprintf(file, ": %zu bytes are needed", smq_client_size(options));
    if (status == SMQ_ERR_OPTION && options->url.size + options->host.size == 0) fprintf(file, ": the URL is empty");
    if ((status == SMQ_ERR_URL || status == SMQ_ERR_NOT_SUPPORTED) && options->url.size > 0 &&
        smq_options_check(options, &offset) == status)
        fprintf(file, ": wrong at byte %zu; a URL is mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...", offset);
    fputc('\n', file);
}

static inline void refuse(const char *program, const char *flag, const char *why) {
    fprintf(stderr, "%s: %s %s\n", program, flag, why);
    exit(2);
}

/* The number of a flag or an argument; ends the program if it is not a number from least to most. */
static inline uint32_t number(const char *program, const char *flag, const char *text, uint32_t least, uint32_t most) {
    char *end, why[64];
    unsigned long long value = strtoull(text, &end, 10);
    snprintf(why, sizeof why, "takes a number from %lu to %lu", (unsigned long)least, (unsigned long)most);
    if (!isdigit((unsigned char)*text) || *end || value < least || value > most) refuse(program, flag, why);
    return (uint32_t)value;
}

/* Flushes standard output; ends the program if that fails. */
static inline void flush_output(const char *program) {
    if (fflush(stdout) != 0) refuse(program, "cannot print:", strerror(errno));
}

#endif
