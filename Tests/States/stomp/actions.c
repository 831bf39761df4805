/* What can happen: each action is tried in each state. */
#include <string.h>

#include "explore.h"

struct action actions[ACTIONS];
int action_count;

/* ---- The program */

static int send(int unused) {
    (void)unused;
    if (world.sent >= sends() || world.is_leaving) return 0;
    uint8_t number = world.sent, how = scene->sends[number], letter = (uint8_t)('0' + number);
    if ((how & INSIDE) && !world.transaction && !world.transaction_lost) return 0;
    if ((how & INSIDE) && world.transaction_lost) { /* what is left of it is not sent */
        world.ended[number] = 3;
        world.sent++;
        return 1;
    }
    sst_frame frame = SST_FRAME_INIT;
    frame.destination = sst_string("q");
    frame.body.data = &letter;
    frame.body.size = 1;
    frame.cookie = number + 1u;
    frame.transaction = how & INSIDE ? world.transaction : 0;
    frame.overflow = how & OLDEST ? SST_OVERFLOW_DROP_OLDEST : SST_OVERFLOW_REFUSE;
    frame.flags = (how & RECEIPT ? SST_SEND_RECEIPT : 0u) | (how & AGAIN ? SST_SEND_AGAIN : 0u) |
                  (how & URGENT ? SST_SEND_URGENT : 0u);
    int32_t status = how & SUBMITTED ? sst_submit(engine(), &frame) : sst_send(engine(), &frame);
    if (status == SST_OK)
        world.sent++;
    else if (status == SST_ERR_TRANSACTION && (how & INSIDE))
        return 0; /* it is lost, and that is told soon */
    else if (status != SST_ERR_FULL)
        violation("a message that is not taken");
    return 1; /* with SST_ERR_FULL, too: from now on the client has to tell when there is room */
}

static int begin(int unused) {
    (void)unused;
    if (world.begun || world.is_leaving || sst_client_state(seen()) != SST_STATE_CONNECTED) return 0;
    int32_t number = sst_begin(engine());
    if (number == SST_ERR_STATE) return 0; /* CONNECTED was not taken */
    if (number <= 0) violation("a transaction that is not begun");
    world.transaction = (uint32_t)number;
    world.begun = 1;
    return 1;
}

static int commit(int unused) {
    (void)unused;
    if (!world.transaction || world.committed || world.is_leaving || world.sent < sends()) return 0;
    int32_t status = sst_commit(engine(), world.transaction, COOKIE_COMMIT);
    if (status == SST_ERR_TRANSACTION || status == SST_ERR_STATE) return 0;
    if (status != SST_OK) violation("COMMIT is not taken");
    world.committed = 1;
    world.transaction = 0;
    return 1;
}

static int subscribe(int unused) {
    (void)unused;
    if (world.asked || world.is_leaving) return 0;
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    subscription.destination = sst_string("q");
    subscription.ack = scene->ack;
    subscription.cookie = COOKIE_SUBSCRIBE;
    if (sst_subscribe(engine(), &subscription) != 0) violation("a subscription that is not taken");
    world.asked = 1;
    return 1;
}

static int unsubscribe(int unused) {
    (void)unused;
    uint8_t bytes[16];
    sst_headers list = { bytes, sizeof bytes, 0 };
    sst_bytes name = sst_string("d"), value = sst_string("y");
    if (!world.asked || world.unasked || world.is_leaving) return 0;
    if (scene->durable) sst_header_put(&list, &name, &value);
    sst_bytes headers = sst_header_list(&list);
    int32_t status = sst_unsubscribe_with(engine(), 0, &headers, COOKIE_UNSUBSCRIBE);
    if (status == SST_ERR_STATE) return 0; /* its SUBSCRIBE was sent in part */
    if (status != SST_OK) violation("UNSUBSCRIBE is not taken");
    world.unasked = 1;
    memset(world.held, 0, sizeof world.held);
    memset(world.token, 0, sizeof world.token);
    return 1;
}

static int acknowledge(int message) {
    if (!world.held[message] || world.is_leaving) return 0;
    int32_t status = sst_ack(engine(), world.token[message], 0);
    if (status == SST_ERR_FULL) return 1;
    if (status != SST_OK && sst_client_state(seen()) == SST_STATE_CONNECTED) violation("ACK is not taken");
    if (status != SST_OK) return 0;
    for (int other = 0; other <= message; other++) {
        if (other != message && scene->ack != SST_ACK_CLIENT) continue;
        world.held[other] = 0;
        world.token[other] = 0;
        world.acked[other] = 1;
    }
    return 1;
}

/* Without a next event the call still releases the last one: not a step that may be left out. */
static int take_event(int unused) {
    (void)unused;
    sst_event event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    int32_t status = sst_next_event(engine(), &event);
    if (status < 0) violation("sst_next_event() refused");
    if (status == 1) event_came(&event);
    return 1;
}

static int disconnect(int unused) {
    (void)unused;
    if (world.left >= scene->leaves || world.is_leaving || sst_client_state(seen()) != SST_STATE_CONNECTED) return 0;
    if (sst_disconnect(engine(), 0) != SST_OK) violation("sst_disconnect() refused");
    world.left++;
    world.is_leaving = 1;
    return 1;
}

static int connect(int unused) {
    (void)unused;
    if (!world.left || world.is_leaving || sst_client_state(seen()) != SST_STATE_DISCONNECTED) return 0;
    return sst_connect(engine()) == SST_OK;
}

static int turn(int unused) {
    (void)unused;
    if (sst_engine_timed_out(engine(), world.now) < 0) violation("sst_engine_timed_out() refused");
    return 1;
}

/* To the next attempt to connect. */
static int time_passes(int unused) {
    if (sst_client_state(seen()) != SST_STATE_WAITING) return 0;
    int32_t wait = sst_engine_next_timeout_ms(engine(), world.now);
    if (wait < 0) return 0;
    world.now += (uint32_t)wait;
    return turn(unused);
}

/* ---- The link */

static size_t part(size_t size, int how) {
    switch (how) {
    case ONE_BYTE:
        return size > 1 ? 1 : 0;
    case HALF:
        return size > 3 ? size / 2 : 0;
    case ALL_BUT_ONE:
        return size > 2 ? size - 1 : 0;
    default:
        return size;
    }
}

static int transmit(int how) {
    const void *bytes;
    size_t size;
    if (world.link != LINK_OPEN || world.closes) return 0;
    if (sst_engine_transmit(engine(), world.now, &bytes, &size) != SST_OK) violation("sst_engine_transmit() refused");
    size = part(size, how);
    if (size == 0 || world.up_size + size > LINK_BYTES) return 0;
    memcpy(world.up + world.up_size, bytes, size);
    world.up_size += (uint8_t)size;
    if (sst_engine_transmitted(engine(), size, world.now) != SST_OK) violation("sst_engine_transmitted() refused");
    for (;;) {
        struct frame_in frame = first_frame(world.up + world.up_whole, (size_t)(world.up_size - world.up_whole));
        if (frame.size == 0) return 1;
        frame_left(&frame);
        world.up_whole += (uint8_t)frame.size;
    }
}

static int receive(int how) {
    void *space;
    size_t room, size = (size_t)(world.down_size - world.down_given);
    if (size == 0 || world.link != LINK_OPEN) return 0;
    struct frame_in frame = first_frame(world.down, world.down_size);
    size = part(frame.size - world.down_given, how);
    if (sst_engine_receive_buffer(engine(), &space, &room) != SST_OK) violation("sst_engine_receive_buffer() refused");
    if (size > room) size = room;
    if (size == 0) return 0;
    memcpy(space, world.down + world.down_given, size);
    if (sst_engine_received(engine(), size, world.now) != SST_OK) violation("sst_engine_received() refused");
    world.down_given += (uint8_t)size;
    if (world.down_given < frame.size) return 1;
    memmove(world.down, world.down + frame.size, world.down_size - frame.size);
    memset(world.down + world.down_size - frame.size, 0, frame.size);
    world.down_size -= (uint8_t)frame.size;
    world.down_given = 0;
    return 1;
}

static int close_link(void) {
    if (sst_engine_closed(engine(), 0, world.now) != SST_OK) return 0;
    connection_ended();
    return 1;
}

/* The link breaks. What is on its way up has arrived or not, what is on its way down is lost. */
static int cut(int arrives) {
    if (world.link != LINK_OPEN || world.cuts >= scene->cuts || (arrives && world.up_whole == 0)) return 0;
    while (arrives && world.up_whole > 0 && has_room_down() && !world.closes) serve();
    world.cuts++;
    return close_link();
}

/* ---- The server */

static int server_takes(int unused) {
    (void)unused;
    if (world.up_whole == 0 || world.closes || !has_room_down()) return 0;
    serve();
    return 1;
}

/* It has said its last word, and the client has it. */
static int server_closes(int unused) {
    (void)unused;
    return world.link == LINK_OPEN && world.closes && world.down_size == 0 && close_link();
}

/* ---- The list */

static void add(const char *name, int (*take)(int), int argument, int is_trouble) {
    actions[action_count++] = (struct action){ name, take, argument, is_trouble };
}

/* What leads on comes first: paths are shorter then. */
void list_actions(void) {
    static const char *const acks[MESSAGES] = { "sst_ack() for message 0", "sst_ack() for message 1",
                                                "sst_ack() for message 2", "sst_ack() for message 3" };
    static const char *const deliveries[MESSAGES] = { "the server delivers message 0", "the server delivers message 1",
                                                      "the server delivers message 2",
                                                      "the server delivers message 3" };
    static const struct {
        int how;
        const char *sent, *received;
    } parts[] = { { ONE_BYTE, "one byte is sent", "the client receives one byte" },
                  { HALF, "half of it is sent", "the client receives half a frame" },
                  { ALL_BUT_ONE, "all but one byte is sent", "the client receives all but one byte of a frame" } };
    int submits = 0, has_transaction = 0;
    for (int message = 0; message < sends(); message++) {
        submits |= scene->sends[message] & SUBMITTED;
        has_transaction |= scene->sends[message] & INSIDE;
    }
    action_count = 0;
    if (has_transaction) add("begin", begin, 0, 0);
    if (sends()) add("send", send, 0, 0);
    if (has_transaction) add("commit", commit, 0, 0);
    if (scene->gets) add("subscribe", subscribe, 0, 0);
    for (int message = 0; scene->ack && message < scene->gets; message++) add(acks[message], acknowledge, message, 0);
    if (scene->unsubscribes) add("unsubscribe", unsubscribe, 0, 0);
    add("next event", take_event, 0, 0);
    add("all that is offered is sent", transmit, 0, 0);
    add("the server takes a frame", server_takes, 0, 0);
    for (int which = 0; scene->any_order && which < 4; which++)
        add("the server sends a receipt", server_owes, which, 0);
    for (int message = 0; message < scene->gets; message++) add(deliveries[message], server_delivers, message, 0);
    add("the client receives a frame", receive, 0, 0);
    add("the server closes", server_closes, 0, 0);
    if (submits) add("sst_engine_timed_out()", turn, 0, 0);
    add("time to reconnect", time_passes, 0, 0);
    if (scene->leaves) add("connect again", connect, 0, 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (scene->transmits & parts[i].how) add(parts[i].sent, transmit, parts[i].how, 0);
        if (scene->receives & parts[i].how) add(parts[i].received, receive, parts[i].how, 0);
    }
    if (scene->leaves) add("disconnect", disconnect, 0, 1);
    if (scene->refuses) add("the server refuses a message", server_refuses, 0, 1);
    if (scene->cuts) add("cut, what was on its way is lost", cut, 0, 1);
    if (scene->cuts) add("cut, what was on its way arrived", cut, 1, 1);
}
