/* The scenes: what happens, and how often; and how large it gets. */
#include "explore.h"

const struct scene *scene;

int sends(void) {
    int count = 0;
    while (scene->sends[count]) count++;
    return count;
}

#define EACH .ack = SST_ACK_CLIENT_INDIVIDUAL

/* clang-format off */
const struct scene scenes[] = {
    /* ---- Small ones, of each kind: also under qemu-user, and for each mutant */
    { "stomp-send", "with a receipt, without, and one that goes again; two cuts", SMALL, 20,
      .sends = { RECEIPT, PLAIN, RECEIPT | AGAIN }, .cuts = 2 },
    { "stomp-order", "receipts come in any order", SMALL, 20,
      .sends = { RECEIPT, RECEIPT | AGAIN, RECEIPT }, .any_order = 1, .cuts = 1 },
    { "stomp-refuse", "ERROR answers a message", SMALL, 20,
      .sends = { RECEIPT, RECEIPT | AGAIN }, .refuses = 1, .cuts = 1 },
    { "stomp-parts", "the transport takes half, all but one byte", SMALL, 20,
      .sends = { RECEIPT | AGAIN }, .transmits = HALF | ALL_BUT_ONE, .cuts = 1 },
    { "stomp-get", "messages that are acknowledged by being sent", SMALL, 20,
      .gets = 2, .ack = SST_ACK_AUTO, .receives = ONE_BYTE | HALF },
    { "stomp-each", "each message waits for its own ACK, and there is room for one", SMALL, 20,
      .gets = 3, EACH, .held = 1, .cuts = 1 },
    { "stomp-any", "each message waits for its own ACK, in any order", SMALL, 20,
      .gets = 3, EACH, .held = 2, .cuts = 1 },
    { "stomp-client", "an ACK counts for all before it", SMALL, 20,
      .gets = 3, .ack = SST_ACK_CLIENT, .cuts = 1 },
    { "stomp-unsubscribe", "a subscription ends at any time", SMALL, 20,
      .gets = 2, EACH, .unsubscribes = 1, .cuts = 1 },
    { "stomp-durable", "a durable subscription ends at any time, also without a connection", SMALL, 20,
      .gets = 1, EACH, .unsubscribes = 1, .durable = 1, .cuts = 2 },
    { "stomp-transaction", "two messages in a transaction", SMALL, 20,
      .sends = { PLAIN | INSIDE, PLAIN | INSIDE }, .cuts = 1 },
    { "stomp-urgent", "an urgent message goes ahead, but not into a frame that was begun", SMALL, 20,
      .sends = { RECEIPT, RECEIPT | URGENT }, .transmits = HALF, .cuts = 1 },
    { "stomp-oldest", "the oldest make room", SMALL, 20,
      .sends = { PLAIN | OLDEST, RECEIPT | OLDEST, PLAIN | OLDEST }, .outbox_frames = 2, .cuts = 1 },
    { "stomp-submit", "messages are submitted, and sent, into an outbox of two places", SMALL, 20,
      .sends = { RECEIPT | SUBMITTED, PLAIN, PLAIN | SUBMITTED }, .outbox_frames = 2, .cuts = 1 },
    { "stomp-leave", "the program leaves at any time, and comes back", SMALL, 20,
      .sends = { RECEIPT, PLAIN }, .leaves = 1, .cuts = 1 },
    { "stomp-leave-held", "the program leaves while messages wait for their ACK", SMALL, 20,
      .gets = 2, EACH, .held = 1, .leaves = 1, .cuts = 1 },
    { "stomp-silent", "a broken server: it sends no receipts", SMALL, 20,
      .sends = { RECEIPT }, .is_silent = 1, .must_find = "nothing can happen, and not all has come to its end" },
    { "stomp-forgetful", "a broken server: it forgets what was acknowledged", SMALL, 20,
      .gets = 2, EACH, .cuts = 2, .is_forgetful = 1, .must_find = "acknowledged, and handed out again" },

    /* ---- For make test */
    { "stomp-bytes", "the transport takes one byte, half, all but one", USUAL, 24,
      .sends = { RECEIPT | AGAIN }, .transmits = ONE_BYTE | HALF | ALL_BUT_ONE, .cuts = 1 },
    { "stomp-oldest-half", "the oldest make room, but not one of which a part was sent", USUAL, 22,
      .sends = { PLAIN | OLDEST, RECEIPT | OLDEST, PLAIN | OLDEST }, .outbox_frames = 2, .transmits = HALF, .cuts = 1 },
    { "stomp-leave-half", "DISCONNECT goes out behind the frame that was begun", USUAL, 22,
      .sends = { RECEIPT, PLAIN }, .leaves = 1, .transmits = HALF, .cuts = 1 },
    { "stomp-send-4", "four messages, two cuts", USUAL, 23,
      .sends = { RECEIPT, RECEIPT | AGAIN, PLAIN, RECEIPT | AGAIN }, .cuts = 2 },
    { "stomp-both", "both directions", USUAL, 24,
      .sends = { RECEIPT, RECEIPT | AGAIN }, .gets = 2, EACH, .held = 1, .cuts = 1 },
    { "stomp-urgent-3", "both lanes, in halves", USUAL, 22,
      .sends = { RECEIPT, RECEIPT | URGENT, PLAIN }, .transmits = HALF, .cuts = 1 },
    { "stomp-leave-both", "the program leaves twice, with messages in both directions", USUAL, 24,
      .sends = { RECEIPT }, .gets = 2, EACH, .held = 1, .leaves = 2, .cuts = 1 },

    /* ---- By hand */
    { "stomp-urgent-4", "both lanes, in halves", LARGE, 24,
      .sends = { RECEIPT, RECEIPT | URGENT, PLAIN, PLAIN | URGENT }, .transmits = HALF, .cuts = 1 },
};
/* clang-format on */

const size_t scene_count = sizeof scenes / sizeof scenes[0];
