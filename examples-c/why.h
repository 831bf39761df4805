/* Says in words why a connection ended, or a message or request failed. */
#ifndef WHY_H
#define WHY_H

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <swiftmqtt.h>

static void print_why(FILE *file, const smq_event *event) {
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

#endif
