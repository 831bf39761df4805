/* What must hold: looks at each frame that leaves the client, and at each event. */
#include <string.h>

#include "explore.h"

struct world world;

enum {
    WELL = 1,
    UNKNOWN = 2,
    DROPPED = 3,
    REFUSED = 4
};

static int plan(int message) { return scene->sends[message]; }

/* ---- Frames that leave the client */

static void send_left(const struct frame_in *frame) {
    int message = body_of(frame), how = plan(message);
    if (world.left_here[message]) violation("sent twice on one connection");
    if (world.ever_left[message] && !(how & AGAIN)) violation("sent again, and was not to be");
    if (world.ended[message]) violation("sent after its end was told");
    if ((*header(frame, "receipt") != 0) != ((how & RECEIPT) != 0))
        violation("a receipt that was not asked for, or none");
    if ((*header(frame, "transaction") != 0) != ((how & INSIDE) != 0)) violation("in a transaction or not");
    for (int before = 0; before < message; before++) /* those that may be dropped are told later */
        if (((plan(before) ^ how) & (URGENT | SUBMITTED)) == 0 && !(plan(before) & OLDEST) && !world.ended[before] &&
            !world.left_here[before] && !(world.ever_left[before] && !(plan(before) & AGAIN)))
            violation("one that was sent later goes first");
    world.ever_left[message] = world.left_here[message] = 1;
}

void frame_left(const struct frame_in *frame) {
    if (world.has_left) violation("a frame behind DISCONNECT");
    if (is(frame, "SEND")) send_left(frame);
    if (is(frame, "DISCONNECT")) {
        if (!world.is_leaving) violation("DISCONNECT, and the program has not asked for it");
        world.has_left = 1;
    }
    if (is(frame, "NACK") || is(frame, "ABORT")) violation("a frame that the program has not asked for");
}

/* ---- Events */

static void send_ended(int message, int32_t status) {
    int how = plan(message);
    if (message >= world.sent || world.ended[message]) violation("told twice, or before it was sent");
    switch (status) {
    case SST_OK:
        if (!world.ever_left[message]) violation("complete, and not sent");
        if ((how & RECEIPT) && !world.delivered[message]) violation("confirmed, and the server does not have it");
        world.ended[message] = WELL;
        return;
    case SST_ERR_UNKNOWN:
        if (!(how & RECEIPT) || (how & AGAIN) || !world.ever_left[message]) violation("unknown, and should not be");
        world.ended[message] = UNKNOWN;
        return;
    case SST_ERR_DROPPED:
        if (!(how & (OLDEST | INSIDE)) || world.ever_left[message]) violation("dropped, and should not be");
        world.ended[message] = DROPPED;
        return;
    case SST_ERR_REFUSED:
        if (!(how & RECEIPT) || !world.refused) violation("refused, and should not be");
        world.ended[message] = REFUSED;
        return;
    default:
        violation("an end that cannot be");
    }
}

static void completed(const sst_event *event) {
    switch (event->completed) {
    case SST_COMPLETED_SEND:
        send_ended((int)event->cookie - 1, event->status);
        return;
    case SST_COMPLETED_SUBSCRIBE:
        if (event->cookie != COOKIE_SUBSCRIBE || event->status != SST_OK || world.subscribe_told++ || world.unasked)
            violation("the end of SUBSCRIBE");
        return;
    case SST_COMPLETED_UNSUBSCRIBE:
        if (event->cookie != COOKIE_UNSUBSCRIBE || !world.unasked || world.unsubscribe_told++)
            violation("the end of UNSUBSCRIBE");
        if (event->status != SST_OK && !(event->status == SST_ERR_UNKNOWN && scene->durable))
            violation("UNSUBSCRIBE failed");
        return;
    case SST_COMPLETED_COMMIT:
        if (event->cookie != COOKIE_COMMIT || !world.committed || world.commit_told++) violation("the end of COMMIT");
        for (int message = 0; event->status == SST_OK && message < sends(); message++)
            if ((plan(message) & INSIDE) && world.ended[message] != DROPPED && !world.delivered[message])
                violation("committed, and the server does not have all");
        if (event->status != SST_OK && event->status != SST_ERR_UNKNOWN && event->status != SST_ERR_DROPPED)
            violation("COMMIT failed");
        return;
    default:
        violation("the end of what was not begun");
    }
}

static void message_came(const sst_event *event) {
    int message = event->body.size == 1 ? *(const uint8_t *)event->body.data - '0' : -1;
    /* One that came before the link broke may be taken afterwards, and before the client has noticed. */
    int is_here = world.link == LINK_OPEN;
    int has_token = scene->ack != SST_ACK_AUTO && !world.unasked && !world.is_leaving;
    if (message < 0 || message >= scene->gets) violation("another message than was delivered");
    if (world.handed_here[message]) violation("handed out twice on one connection");
    if (scene->ack != SST_ACK_AUTO && world.acked[message] && world.out_here[message] && world.handed[message] > 1 &&
        scene->is_forgetful)
        violation("acknowledged, and handed out again");
    if (is_here && event->token == 0 && has_token) violation("no token");
    if (is_here && event->token != 0 && !has_token) violation("a token for what cannot be acknowledged");
    world.handed[message] = world.handed[message] < 3 ? world.handed[message] + 1 : 3;
    world.handed_here[message] = (uint8_t)is_here;
    world.held[message] = is_here && event->token != 0;
    world.token[message] = is_here ? event->token : 0;
}

void event_came(const sst_event *event) {
    switch (event->type) {
    case SST_EVENT_COMPLETED:
        completed(event);
        return;
    case SST_EVENT_MESSAGE:
        message_came(event);
        return;
    case SST_EVENT_OPEN:
        if (sst_engine_opened(engine(), world.now) != SST_OK) violation("sst_engine_opened() refused");
        world.link = LINK_OPEN;
        return;
    case SST_EVENT_CONNECTED:
    case SST_EVENT_ROOM:
        return;
    case SST_EVENT_TRANSACTIONS_LOST:
        if (event->cookie != 1 || !world.begun || world.committed) violation("a transaction that was lost");
        world.transaction_lost = 1;
        world.transaction = 0;
        return;
    case SST_EVENT_DISCONNECTED:
        if (event->status == SST_ERR_MALFORMED) violation("the server's frames are malformed");
        if (world.link == LINK_OPEN) connection_ended();
        world.link = LINK_NONE;
        world.is_leaving = 0;
        return;
    default:
        violation("an event that cannot be");
    }
}

void connection_ended(void) {
    server_loses_connection();
    memset(world.up, 0, sizeof world.up);
    memset(world.down, 0, sizeof world.down);
    world.up_size = world.up_whole = world.down_size = world.down_given = world.has_left = 0;
    memset(world.left_here, 0, sizeof world.left_here);
    memset(world.handed_here, 0, sizeof world.handed_here);
    memset(world.held, 0, sizeof world.held);
    memset(world.token, 0, sizeof world.token);
    world.link = LINK_BROKEN;
}

/* ---- The end */

int is_complete(const struct world *now) {
    if (now->sent < sends() || now->up_size || now->down_size || now->is_leaving) return 0;
    for (int message = 0; message < sends(); message++)
        if (!now->ended[message]) return 0;
    if (now->begun && !now->committed && !now->transaction_lost) return 0;
    if (now->committed && !now->commit_told) return 0;
    if (scene->gets == 0) return 1;
    if (scene->unsubscribes) return now->unsubscribe_told;
    if (!now->subscribe_told) return 0;
    for (int message = 0; message < scene->gets; message++)
        if (!now->consumed[message] || !now->handed[message]) {
            /* What a server forgets that does not wait for an ACK is lost with the connection. */
            if (scene->ack != SST_ACK_AUTO || !now->consumed[message]) return 0;
        }
    return 1;
}

const char *left_behind(void) {
    sst_stats stats = SST_STATS_INIT;
    if (sst_client_stats(seen(), &stats) != SST_OK) return "sst_client_stats() refused";
    if (stats.outbox_frames || stats.urgent_frames) return "a frame stays in the outbox";
    if (stats.receipts_due && scene->gets == 0) return "a receipt is due"; /* SUBSCRIBE may go out again */
    if (stats.submit_waiting) return "what was submitted waits";
    return NULL;
}
