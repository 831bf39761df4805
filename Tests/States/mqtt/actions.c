/* What can happen: each action is tried in each state. */
#include <string.h>

#include "explore.h"

struct world world;
struct action actions[ACTIONS];
int action_count;

/* ---- The program */

static int publish(int unused) {
    (void)unused;
    if (world.published >= sends()) return 0;
    uint8_t number = world.published, plan = scene->sends[number];
    uint8_t payload[2] = { number, number ^ 0x5A };
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string("t");
    message.payload.data = payload;
    message.payload.size = sizeof payload;
    message.qos = plan & 3;
    message.urgent = (plan & URGENT) != 0;
    message.overflow = plan & LATEST ? SMQ_OVERFLOW_LATEST : plan & OLDEST ? SMQ_OVERFLOW_DROP_OLDEST : 0;
    message.expiry_s = (plan & EXPIRES) != 0;
    message.cookie = number + 1u;
    int32_t status = plan & SUBMITTED ? smq_submit(engine(), &message) : smq_publish(engine(), &message);
    if (status == SMQ_OK) {
        world.published++;
        if (scene->crashes && message.qos > 0) note_position(number);
    } else if (status != SMQ_ERR_FULL)
        violation("a message that is not taken");
    return 1; /* with SMQ_ERR_FULL, too: from now on the client has to tell when there is room */
}

static int subscribe(int unused) {
    (void)unused;
    if (world.asked) return 0;
    smq_subscription one = { smq_string("s"), 1, 0, 0, 0, 0 };
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 1;
    subscriptions.list = &one;
    subscriptions.cookie = COOKIE_SUBSCRIBE;
    if (smq_subscribe(engine(), &subscriptions) != SMQ_OK) violation("a subscription that is not taken");
    world.asked = 1;
    return 1;
}

/* Without a next event the call still releases the last one: not a step that may be left out. */
static int take_event(int unused) {
    (void)unused;
    smq_event event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event_released();
    int32_t status = smq_next_event(engine(), &event);
    if (status < 0) violation("smq_next_event() refused");
    if (status == 1) event_came(&event);
    return 1;
}

static int acknowledge(int message) {
    if (!world.held[message]) return 0;
    if (scene->holds_long && world.down_size > 0) return 0;
    int32_t status = smq_ack(engine(), world.token[message], SMQ_REASON_SUCCESS, NULL);
    if (status != (world.stale[message] ? SMQ_ERR_TOKEN : SMQ_OK)) violation("smq_ack() says something else");
    world.held[message] = world.stale[message] = 0;
    world.token[message] = 0;
    world.released[message] = 1;
    return 1;
}

static int ask_number(int message) {
    if (!world.held[message] || world.stale[message]) return 0;
    take_number(message);
    return 1;
}

static int turn(int unused) {
    (void)unused;
    event_released();
    if (smq_engine_timed_out(engine(), world.now) < 0) violation("smq_engine_timed_out() refused");
    return 1;
}

/* To the next deadline. */
static int time_passes(int is_waiting) {
    if ((smq_client_state(seen()) == SMQ_STATE_WAITING) != is_waiting) return 0;
    int32_t wait = smq_engine_next_timeout_ms(engine(), world.now);
    if (wait < 0) return 0;
    world.now += (uint32_t)wait;
    return turn(0);
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
    struct packet packet;
    size_t size;
    if (world.link != LINK_OPEN) return 0;
    if (smq_engine_transmit(engine(), world.now, &bytes, &size) != SMQ_OK) violation("smq_engine_transmit() refused");
    size = part(size, how);
    if (size == 0 || world.up_size + size > LINK_BYTES) return 0;
    memcpy(world.up + world.up_size, bytes, size);
    world.up_size += (uint8_t)size;
    if (smq_engine_transmitted(engine(), size, world.now) != SMQ_OK) violation("smq_engine_transmitted() refused");
    while (parse_packet(world.up + world.up_whole, (size_t)(world.up_size - world.up_whole), &packet)) {
        packet_left(&packet);
        world.up_whole += packet.whole;
    }
    return 1;
}

static void drop_first_down(void) {
    struct packet packet;
    while (parse_packet(world.down, world.down_given, &packet)) {
        packet_came(&packet);
        size_t rest = (size_t)(world.down_size - packet.whole);
        memmove(world.down, world.down + packet.whole, rest);
        memset(world.down + rest, 0, LINK_BYTES - rest);
        world.down_size = (uint8_t)rest;
        world.down_given -= packet.whole;
    }
}

static int receive(int how) {
    struct packet packet;
    void *space;
    size_t room, size = (size_t)(world.down_size - world.down_given);
    if (size == 0 || world.link != LINK_OPEN) return 0;
    if (how != SEVERAL_PACKETS) {
        if (!parse_packet(world.down, world.down_size, &packet)) violation("half a packet of the server");
        size_t rest = (size_t)(packet.whole - world.down_given);
        if (how == 0 || size > rest) size = part(rest, how);
    } else if (parse_packet(world.down, world.down_size, &packet) && packet.whole == world.down_size) {
        return 0; /* it is only one */
    }
    if (smq_engine_receive_buffer(engine(), &space, &room) != SMQ_OK) violation("smq_engine_receive_buffer() refused");
    if (size > room) size = room;
    if (size == 0) return 0;
    memcpy(space, world.down + world.down_given, size);
    if (smq_engine_received(engine(), size, world.now) != SMQ_OK) violation("smq_engine_received() refused");
    world.down_given += (uint8_t)size;
    drop_first_down();
    return 1;
}

/* The link breaks. What is on its way up has arrived or not, what is on its way down is lost. */
static int cut(int arrives) {
    if (world.link != LINK_OPEN || world.cuts >= scene->cuts || (arrives && world.up_whole == 0)) return 0;
    while (arrives && world.up_whole > 0 && has_room_down()) serve();
    if (smq_engine_closed(engine(), 0, world.now) != SMQ_OK) return 0;
    connection_ended();
    world.cuts++;
    world.link = LINK_BROKEN;
    return 1;
}

/* ---- The server */

static int server_takes(int unused) {
    (void)unused;
    if (world.up_whole == 0 || !has_room_down()) return 0;
    serve();
    while (scene->is_eager && server_delivers()) {
    }
    return 1;
}

static int server_sends(int unused) {
    (void)unused;
    return server_delivers();
}

static int server_loses(int unused) {
    (void)unused;
    if (world.link == LINK_OPEN || !world.has_session || world.forgets >= scene->forgets) return 0;
    world.forgets++;
    server_forgets();
    return 1;
}

/* ---- The list */

static void add(const char *name, int (*take)(int), int argument, int is_trouble) {
    actions[action_count++] = (struct action){ name, take, argument, is_trouble };
}

/* What leads on comes first: paths are shorter then. */
void list_actions(void) {
    static const char *const acks[MESSAGES] = { "smq_ack() for message 0", "smq_ack() for message 1",
                                                "smq_ack() for message 2", "smq_ack() for message 3",
                                                "smq_ack() for message 4", "smq_ack() for message 5" };
    static const char *const asks[MESSAGES] = { "its number, of message 0", "its number, of message 1",
                                                "its number, of message 2", "its number, of message 3",
                                                "its number, of message 4", "its number, of message 5" };
    static const struct {
        int how;
        const char *sent, *received;
    } parts[] = { { ONE_BYTE, "one byte is sent", "the client receives one byte" },
                  { HALF, "half of it is sent", "the client receives half a packet" },
                  { ALL_BUT_ONE, "all but one byte is sent", "the client receives all but one byte of a packet" },
                  { SEVERAL_PACKETS, "", "the client receives all that is on its way" } };
    static const struct {
        int how;
        const char *name;
    } crashes[] = { { LOST, "crash" },
                    { ARRIVED, "crash, the commit arrived" },
                    { TORN, "crash, a part of the commit arrived" },
                    { LOST | ARRIVES, "crash, what was on its way arrived" },
                    { ARRIVED | ARRIVES, "crash, the commit and what was on its way arrived" },
                    { TORN | ARRIVES, "crash, a part of the commit and what was on its way arrived" } };
    int submits = 0, expires = 0, delivers = gets() > 0;
    for (int message = 0; message < sends(); message++) {
        submits |= scene->sends[message] & SUBMITTED;
        expires |= scene->sends[message] & EXPIRES;
    }
    action_count = 0;
    if (sends()) add("publish", publish, 0, 0);
    if (scene->subscribes) add("subscribe", subscribe, 0, 0);
    for (int message = 0; scene->holds && message < gets(); message++) add(acks[message], acknowledge, message, 0);
    for (int message = 0; scene->numbers && message < gets(); message++) add(asks[message], ask_number, message, 0);
    add("next event", take_event, 0, 0);
    add("all that is offered is sent", transmit, 0, 0);
    add("the server takes a packet", server_takes, 0, 0);
    if (delivers && !scene->is_eager) add("the server sends a packet", server_sends, 0, 0);
    add("the client receives a packet", receive, 0, 0);
    if (submits) add("smq_engine_timed_out()", turn, 0, 0);
    add("time to reconnect", time_passes, 1, 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (scene->transmits & parts[i].how) add(parts[i].sent, transmit, parts[i].how, 0);
        if (scene->receives & parts[i].how) add(parts[i].received, receive, parts[i].how, 0);
    }
    if (scene->crashes) add("a commit begins", commit_begins, 0, 0);
    if (scene->crashes) add("the commit is durable", commit_ends, 0, 0);
    if (scene->failures) add("the sync fails, and nothing arrived", commit_fails, LOST, 1);
    if (scene->failures) add("the sync fails, and all arrived", commit_fails, ARRIVED, 1);
    if (scene->failures) add("the sync fails, and a part arrived", commit_fails, TORN, 1);
    if (expires) add("a second passes", time_passes, 0, 1);
    if (scene->cuts) add("cut, what was on its way is lost", cut, 0, 1);
    if (scene->cuts) add("cut, what was on its way arrived", cut, 1, 1);
    for (size_t i = 0; scene->crashes && i < sizeof crashes / sizeof crashes[0]; i++)
        add(crashes[i].name, crash, crashes[i].how, 1);
    if (scene->forgets) add("the server loses the session", server_loses, 0, 1);
}
