/* The scenes: which protocol, what happens, how often; and how large it gets. A message more makes it ten times as large. */
#include "explore.h"

#define V5 .protocol = SMQ_PROTOCOL_5_0
#define PARTS .transmits = ONE_BYTE | HALF | ALL_BUT_ONE
#define PIECES .receives = ONE_BYTE | HALF | SEVERAL_PACKETS

const struct scene *scene;

int sends(void) {
    int count = 0;
    while (scene->sends[count]) count++;
    return count;
}

int gets(void) {
    int count = 0;
    while (scene->gets[count]) count++;
    return count;
}

/* clang-format off */
const struct scene scenes[] = {
    /* ---- Small ones, of each kind: also under qemu-user, and for each mutant */
    { "publish", "QoS 2 and 1, two cuts", SMALL, 20,
      .sends = { Q2, Q1 }, .cuts = 2 },
    { "publish-5", "5.0: QoS 2, 1 and 0; the server takes one at a time, counted across connections", SMALL, 20,
      V5, .sends = { Q2, Q1, Q0 }, .server_takes = 1, .cuts = 1 },
    { "deliver", "the server delivers QoS 2, 1 and 0", SMALL, 20,
      .gets = { Q2, Q1, Q0 }, .cuts = 1 },
    { "deliver-5", "5.0: the client takes one at a time, QoS 1, 2 and 2", SMALL, 20,
      V5, .gets = { Q1, Q2, Q2 }, .receive_maximum = 1, .cuts = 2 },
    { "hold", "QoS 1 and 2 are held, and acknowledged in any order", SMALL, 20,
      .gets = { Q1, Q2 }, .holds = 1, .cuts = 1 },
    { "forget", "the server loses the session: QoS 2 and 1 on their way to it", SMALL, 20,
      .sends = { Q2, Q1 }, .cuts = 2, .forgets = 1 },
    { "forget-held", "the server loses the session: QoS 2 that is held", SMALL, 20,
      .gets = { Q2 }, .holds = 1, .cuts = 2, .forgets = 1 },
    { "forget-2", "the server loses the session: two QoS 2 with the same Packet Identifier", SMALL, 20,
      .gets = { Q2, Q2 }, .cuts = 1, .forgets = 1, .server_sends = 1 },
    { "clean", "no session is kept: QoS 2 and 1", SMALL, 20,
      .sends = { Q2, Q1 }, .clean = 1, .cuts = 2 },
    { "subscribe", "a subscription is made again when the session is lost", SMALL, 20,
      .subscribes = 1, .gets = { Q1 }, .cuts = 2, .forgets = 1 },
    { "parts", "the transport takes one byte, half, all but one: CONNECT and QoS 2", SMALL, 20,
      .sends = { Q2 }, PARTS, .cuts = 1 },
    { "pieces", "one byte comes, half a packet, several: QoS 2 and 1", SMALL, 20,
      .gets = { Q2, Q1 }, PIECES },
    { "urgent", "an urgent message goes ahead, but not into a packet that was begun", SMALL, 20,
      .sends = { Q1, Q2 | URGENT }, .transmits = HALF, .cuts = 1 },
    { "lanes", "QoS 1 on both lanes: what is sent again twice keeps the order in which it was sent", SMALL, 20,
      .sends = { Q1, Q1 | URGENT }, .cuts = 2 },
    { "submit", "QoS 2 and 0 are submitted, QoS 1 is published, into an outbox of one place", SMALL, 20,
      .sends = { Q2 | SUBMITTED, Q1, Q0 | SUBMITTED }, .outbox_messages = 1, .cuts = 1 },
    { "latest", "a later value takes the place of one that waits", SMALL, 20,
      .sends = { Q1 | LATEST, Q2 | LATEST }, .outbox_messages = 2, .transmits = HALF, .cuts = 1 },
    { "oldest", "the oldest make room", SMALL, 20,
      .sends = { Q1 | OLDEST, Q2 | OLDEST, Q1 | OLDEST }, .outbox_messages = 1, .cuts = 1 },
    { "expiry", "5.0: QoS 1 and 2 expire, also after the session was lost", SMALL, 20,
      V5, .sends = { Q1 | EXPIRES, Q2 | EXPIRES }, .cuts = 1, .forgets = 1 },
    { "held-backlog", "more is held than there is room for unreleased messages", SMALL, 21,
      .gets = { Q2, Q2, Q2 }, .holds = 1, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1 },
    { "backlog", "more unreleased messages come than there is room for", SMALL, 20,
      .gets = { Q2, Q2, Q2 }, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1 },
    { "forgetful", "a broken server: it forgets identifiers of QoS 2", SMALL, 20,
      .sends = { Q2 }, .cuts = 1, .is_forgetful = 1, .must_find = "QoS 2 delivered twice" },
    { "endless", "a broken server: after a cut it answers PUBREL with PUBREC", SMALL, 20,
      .sends = { Q2 }, .cuts = 1, .is_endless = 1, .depth = 150,
      .must_find = "too deep, and from here the end was not seen" },

    { "crash-2", "the process ends anywhere: QoS 2", SMALL, 22,
      .sends = { Q2 }, .crashes = 1 },
    { "crash-get", "the process ends anywhere: the server delivers QoS 2", SMALL, 22,
      .gets = { Q2 }, .crashes = 1 },
    { "crash-held", "the process ends anywhere: QoS 2 that is held", SMALL, 22,
      .gets = { Q2 }, .holds = 1, .crashes = 1 },
    { "crash-lie", "a broken storage: what it calls durable is not", SMALL, 22,
      .sends = { Q2 }, .crashes = 1, .storage_lies = 1, .must_find = "what is durable is not taken up" },

    /* ---- For make test */
    { "publish-210", "QoS 2, 1 and 0, two cuts", USUAL, 23,
      .sends = { Q2, Q1, Q0 }, .cuts = 2 },
    { "window-2", "5.0: QoS 2, 1 and 2; the server takes two at a time, counted across connections", USUAL, 23,
      V5, .sends = { Q2, Q1, Q2 }, .server_takes = 2, .cuts = 1 },
    { "in-flight-1", "3.1.1: QoS 2, 1 and 2, one in flight, two cuts", USUAL, 23,
      .sends = { Q2, Q1, Q2 }, .in_flight_maximum = 1, .cuts = 2 },
    { "deliver-21", "the server delivers QoS 2 and 1, two cuts", USUAL, 23,
      .gets = { Q2, Q1 }, .cuts = 2 },
    { "deliver-212", "5.0: the client takes two at a time, QoS 2, 1 and 2", USUAL, 24,
      V5, .gets = { Q2, Q1, Q2 }, .receive_maximum = 2, .cuts = 1 },
    { "both", "QoS 2 in both directions", USUAL, 23,
      .sends = { Q2 }, .gets = { Q2 }, .cuts = 1 },
    { "hold-3", "three are held, and acknowledged in any order", USUAL, 23,
      .gets = { Q1, Q2, Q1 }, .holds = 1 },
    { "hold-2", "two are held; two cuts", USUAL, 23,
      .gets = { Q2, Q1 }, .holds = 1, .cuts = 2 },
    { "forget-212", "the server loses the session twice", USUAL, 23,
      .sends = { Q2, Q1 }, .cuts = 3, .forgets = 2 },
    { "forget-get", "the server loses the session: QoS 2 and 1 that are held", USUAL, 23,
      .gets = { Q2, Q1 }, .holds = 1, .cuts = 2, .forgets = 1 },
    { "subscribe-2", "a subscription, a message in each direction; the session is lost", USUAL, 23,
      .subscribes = 1, .sends = { Q2 }, .cuts = 2, .forgets = 2 },
    { "parts-21", "the transport takes one byte, half, all but one: QoS 2 and 1", USUAL, 23,
      .sends = { Q2, Q1 }, PARTS, .cuts = 1 },
    { "pieces-21", "one byte comes, half a packet, several: QoS 2 and 1, and a cut", USUAL, 23,
      .gets = { Q2, Q1 }, PIECES, .cuts = 1 },
    { "urgent-121", "an urgent QoS 2 among QoS 1, halves", USUAL, 23,
      .sends = { Q1, Q2 | URGENT, Q1 }, .transmits = HALF, .cuts = 1 },
    { "lanes-3", "three of QoS 1 on both lanes: what is sent again twice keeps the order in which it was sent", USUAL, 23,
      .sends = { Q1, Q1 | URGENT, Q1 }, .cuts = 2 },
    { "submit-3", "three are submitted; two cuts", USUAL, 23,
      .sends = { Q2 | SUBMITTED, Q1 | SUBMITTED, Q1 | SUBMITTED }, .outbox_messages = 2, .cuts = 2 },
    { "backlog-cut", "three unreleased messages come, and there is room for two", USUAL, 23,
      .gets = { Q2, Q2, Q2 }, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1, .cuts = 1 },
    { "backlog-5", "5.0: three unreleased messages come and one of QoS 1, and there is room for two", USUAL, 23,
      V5, .gets = { Q2, Q2, Q2, Q1 }, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1 },

    { "crash-22", "QoS 2 and 2, one identifier after the other; the process ends twice", USUAL, 24,
      .sends = { Q2, Q2 }, .in_flight_maximum = 1, .crashes = 2 },
    { "crash-21-cut", "QoS 2 and 1; the process ends, and the link breaks", USUAL, 24,
      .sends = { Q2, Q1 }, .crashes = 1, .cuts = 1 },
    { "crash-get-22", "the server delivers QoS 2 twice with one identifier; the process ends twice", USUAL, 24,
      .gets = { Q2, Q2 }, .server_sends = 1, .crashes = 2 },
    { "crash-held-21", "QoS 2 and 1 that are held; the process ends, and the link breaks", USUAL, 24,
      .gets = { Q2, Q1 }, .holds = 1, .crashes = 1, .cuts = 1 },
    { "crash-number", "the numbers of QoS 2, twice with one identifier; the process ends", SMALL, 22,
      .gets = { Q2, Q2 }, .server_sends = 1, .holds = 1, .numbers = 1, .crashes = 1 },
    { "crash-number-fail", "the number of QoS 2; the process ends, and a sync fails", USUAL, 24,
      .gets = { Q2 }, .holds = 1, .numbers = 1, .crashes = 1, .failures = 1 },
    { "crash-both", "5.0: QoS 2 in both directions; the process ends", USUAL, 24,
      V5, .sends = { Q2 }, .gets = { Q2 }, .crashes = 1 },
    { "crash-forget", "the process ends, and the server loses the session", USUAL, 24,
      .sends = { Q2, Q1 }, .crashes = 1, .forgets = 1 },
    { "crash-forget-cut", "QoS 2; the link breaks, the server loses the session, the process ends", USUAL, 24,
      .sends = { Q2 }, .crashes = 1, .cuts = 1, .forgets = 1 },
    { "crash-forget-get", "the process ends, the server loses the session: QoS 2 with the same identifier", USUAL, 24,
      .gets = { Q2, Q2 }, .server_sends = 1, .crashes = 1, .forgets = 1 },
    { "crash-fail", "QoS 2; the process ends, and a sync fails", USUAL, 24,
      .sends = { Q2 }, .crashes = 1, .failures = 1 },
    { "crash-fail-get", "the server delivers QoS 2; the process ends, and two syncs fail", USUAL, 24,
      .gets = { Q2 }, .crashes = 1, .failures = 2 },
    { "crash-urgent", "an urgent QoS 2 after one that is not; the process ends", USUAL, 24,
      .sends = { Q2, Q2 | URGENT }, .crashes = 1 },

    /* ---- By hand */
    { "crash-number-2", "the numbers of two of QoS 2; the process ends", LARGE, 27,
      .gets = { Q2, Q2 }, .holds = 1, .numbers = 1, .crashes = 1 },
    { "publish-2121", "QoS 2, 1, 2 and 1, two cuts", LARGE, 25,
      .sends = { Q2, Q1, Q2, Q1 }, .cuts = 2 },
    { "publish-212", "QoS 2, 1 and 2, three cuts", LARGE, 24,
      .sends = { Q2, Q1, Q2 }, .cuts = 3 },
    { "publish-large", "QoS 2, 1, 2 and 1, three cuts", LARGE, 28,
      .sends = { Q2, Q1, Q2, Q1 }, .cuts = 3 },
    { "hold-large", "three are held, and acknowledged in any order, and a cut", LARGE, 27,
      .gets = { Q1, Q2, Q1 }, .holds = 1, .cuts = 1 },
    { "both-large", "5.0: QoS 2 and 1 in both directions; each takes one at a time", LARGE, 26,
      V5, .sends = { Q2, Q1 }, .gets = { Q2, Q1 }, .server_takes = 1, .receive_maximum = 1, .cuts = 1 },
    { "forget-large", "the server loses the session twice: QoS 2, 1 and 2", LARGE, 26,
      .sends = { Q2, Q1, Q2 }, .cuts = 3, .forgets = 2 },
    { "held-backlog-5", "five are held until nothing more comes, and there is room for two", LARGE, 28,
      .gets = { Q2, Q2, Q2, Q2, Q2 }, .holds = 1, .holds_long = 1, .unreleased_maximum = 1, .is_eager = 1,
      .may_leave_unanswered = 1 },
    { "backlog-4", "four unreleased messages come, and there is room for two", LARGE, 24,
      .gets = { Q2, Q2, Q2, Q2 }, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1, .cuts = 1 },
    { "backlog-2221", "three unreleased messages come and one of QoS 1, and there is room for two", LARGE, 24,
      .gets = { Q2, Q2, Q2, Q1 }, .unreleased_maximum = 1, .is_eager = 1, .may_leave_unanswered = 1, .cuts = 1 },
};
/* clang-format on */
const size_t scene_count = sizeof scenes / sizeof scenes[0];
