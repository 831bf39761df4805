#ifndef SWIFTMQTT_LOOKUP_H
#define SWIFTMQTT_LOOKUP_H

#include <stdint.h>

struct addrinfo;

/* getaddrinfo() for streams, until a time of tool_now_ns() or a signal. Returns 0 or an EAI_… value: EAI_INPROGRESS if the
 * time was up, EAI_INTR if a signal was caught. */
int tool_lookup(const char *host, const char *service, int64_t deadline_ns, struct addrinfo **found);

#endif
