/* What a client has sent, as the last line of a daemon's output. */
#ifndef FIGURES_H
#define FIGURES_H

#include <inttypes.h>
#include <stdio.h>
#include <swiftmqtt.h>

/* dropped: what the program did not publish. Returns whether all that it published is acknowledged. */
static inline int print_figures(const smq_client *client, uint64_t dropped) {
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    printf("%" PRIu64 " messages, %" PRIu64 " acknowledged, %" PRIu64 " failed, %" PRIu64 " dropped, %" PRIu64
           " bytes, %" PRIu64 " packets, %" PRIu64 " send calls, %.1f packets per send call\n",
           stats.messages_published, stats.messages_completed, stats.messages_failed, dropped, stats.bytes_sent,
           stats.packets_sent, stats.send_calls,
           stats.send_calls ? (double)stats.packets_sent / (double)stats.send_calls : 0);
    return stats.messages_completed >= stats.messages_published;
}

#endif
