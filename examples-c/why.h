/* Prints why a connection ended, a message or request failed, a client was not created, or an argument is wrong. */
#ifndef WHY_H
#define WHY_H

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <swiftmqtt.h>

/* A line with what proxy, TLS and WebSocket know of the end of an attempt, or of a connection. */
static inline void print_failure(FILE *file, const smq_client *client) {
    smq_failure failure = SMQ_FAILURE_INIT;
    if (smq_last_failure(client, &failure) != SMQ_OK) return;
    const char *comma = "";
    if (failure.tls_cause) fprintf(file, "%s", smq_tls_cause_name(failure.tls_cause)), comma = ", ";
    if (failure.tls_alert >= 0) fprintf(file, "%salert %d", comma, (int)failure.tls_alert), comma = ", ";
    if (failure.http_status) fprintf(file, "%sHTTP status %d", comma, (int)failure.http_status), comma = ", ";
    if (failure.socks_reply >= 0) fprintf(file, "%sSOCKS reply %d", comma, (int)failure.socks_reply), comma = ", ";
    if (failure.close_code) fprintf(file, "%sclose code %d", comma, (int)failure.close_code), comma = ", ";
    if (failure.tls_subject.size > 0)
        fprintf(file, "%scertificate of %.*s", comma, (int)failure.tls_subject.size,
                (const char *)failure.tls_subject.data);
    if (failure.text.size > 0) {
        fprintf(file, "%s", *comma ? ": \"" : "\"");
        /* A server may send anything, also what controls a terminal. */
        for (size_t i = 0; i < failure.text.size; i++) {
            unsigned char byte = ((const unsigned char *)failure.text.data)[i];
            fputc(byte < 0x20 || byte == 0x7F ? '?' : byte, file);
        }
        fputc('"', file);
    }
    if (*comma || failure.text.size > 0) fputc('\n', file);
}

static inline void print_why(FILE *file, const smq_client *client, const smq_event *event) {
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
    if (event->type == SMQ_EVENT_DISCONNECTED) print_failure(file, client);
}

static inline int has_scheme(const smq_options *options, const char *scheme) {
    size_t size = strlen(scheme);
    return options->url.size > size && strncasecmp((const char *)options->url.data, scheme, size) == 0;
}

/* Prints an error of smq_client_init(), but not the URL itself: it may contain a password. */
static inline void print_options_error(FILE *file, const smq_options *options, int32_t status) {
    size_t offset = 0;
    fprintf(file, "%s", smq_status_name(status));
    if (status == SMQ_ERR_MEMORY_SIZE) fprintf(file, ": %zu bytes are needed", smq_client_size(options));
    if (status == SMQ_ERR_OPTION && options->url.size + options->host.size == 0) fprintf(file, ": the URL is empty");
    int wants_tls = has_scheme(options, "mqtts:") || has_scheme(options, "wss:");
    if (status == SMQ_ERR_NOT_SUPPORTED && wants_tls && !options->tls)
        fprintf(file, ": mqtts:// and wss:// need smq_options.tls, as examples-c/tls.c sets it: see docs/tls.md");
    else if (status == SMQ_ERR_OPTION && options->tls && (has_scheme(options, "mqtt:") || has_scheme(options, "ws:")))
        fprintf(file, ": smq_options.tls is for mqtts:// and wss://");
    else if ((status == SMQ_ERR_URL || status == SMQ_ERR_NOT_SUPPORTED) && options->url.size > 0 &&
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
