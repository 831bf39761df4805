/* What must hold: looks at each packet that leaves the client or reaches it, and at each event. */
#include <string.h>

#include "explore.h"

static int qos_sent(int message) { return scene->sends[message] & 3; }

static int qos_got(int message) { return scene->gets[message] & 3; }

/* ---- Packets that leave the client */

/* PUBLISH packets that are sent again keep their order, across lanes, too; new ones that of their lane. */
static void check_order(const struct publish *publish) {
    int message = publish->message;
    if (world.crashes) return; /* what was sent before the crash nobody knows */
    if (publish->duplicate) {
        if (world.sent_as[message] < world.resent) violation("sent again in another order [MQTT-4.6.0-1]");
        world.resent = world.sent_as[message];
        return;
    }
    int way = scene->sends[message] & ~3;
    if (way & (LATEST | OLDEST | EXPIRES)) return;   /* some are not sent at all, which is told later */
    for (int before = 0; before < message; before++) /* QoS 2 of a lost session is not sent again */
        if ((scene->sends[before] & ~3) == way && !world.told[before] &&
            !(qos_sent(before) == 2 ? world.ever_sent[before] : world.sent_as[before]))
            violation("one that was published later is sent first");
}

/* The window is counted as a server does that remembers, across connections, which QoS 2 messages it has. */
static void check_window(void) {
    int in_flight = 0, window = is_v5() ? scene->server_takes : 0;
    for (int message = 0; message < sends(); message++) in_flight += world.in_flight[message];
    if (scene->in_flight_maximum && (!window || scene->in_flight_maximum < window)) window = scene->in_flight_maximum;
    if (window > 0 && in_flight > window) violation("more is in flight than the server takes [MQTT-3.3.4-7]");
}

static void publish_left(const struct packet *packet) {
    struct publish publish = parse_publish(packet, 't', world.published);
    int message = publish.message;
    if (publish.qos != qos_sent(message)) violation("another QoS than was published");
    if (world.told[message] && !world.in_doubt[message]) violation("sent after its end was told");
    if (world.sent_here[message]) violation("sent twice on one connection");
    if (publish.qos == 0) {
        if (world.ever_sent[message]) violation("QoS 0 sent twice");
        if (publish.duplicate) violation("DUP with QoS 0 [MQTT-3.3.1-2]");
    } else {
        if (publish.duplicate && !world.sent_as[message] && !world.survivor[message])
            violation("DUP on what this session has not had");
        if (!publish.duplicate && world.sent_as[message] && !world.survivor[message])
            violation("sent again without DUP [MQTT-3.3.1-1]");
        for (int other = 0; other < sends(); other++)
            if (other != message && world.in_flight[other] && world.in_identifier[other] == publish.identifier)
                violation("a Packet Identifier that is in use [MQTT-2.2.1-3]");
        world.in_identifier[message] = publish.identifier;
        world.in_flight[message] = 1;
        check_window();
    }
    check_order(&publish);
    if (!world.sent_as[message]) world.sent_as[message] = ++world.sent_count;
    world.ever_sent[message] = world.sent_here[message] = 1;
}

void packet_left(const struct packet *packet) {
    static const uint8_t flags[16] = { [6] = 2, [8] = 2 };
    if (packet->type != 3 && packet->flags != flags[packet->type]) violation("reserved flags [MQTT-2.1.3-1]");
    switch (packet->type) {
    case 3:
        publish_left(packet);
        break;
    case 4:
    case 5: {
        int message = message_of(identifier_of(packet));
        if (message < 0 || !world.released[message]) violation("acknowledged before the program was done with it");
        if (packet->type == 4) world.finished = 1;
        break;
    }
    case 12: /* asks whether the server has no more to say */
    case 14:
        if (!scene->may_leave_unanswered) violation("PINGREQ without Keep Alive, or DISCONNECT");
        break;
    case 1:
    case 6:
    case 7:
    case 8:
        break;
    default:
        violation("a packet that a client may not send here");
    }
}

/* ---- Packets that reach the client */

static void session_is_new(void) {
    if (world.lost_sessions < 255) world.lost_sessions++; /* the first one, which is not lost, included */
    for (int message = 0; message < MESSAGES; message++) {
        world.in_flight[message] = 0;
        if (message < sends() && qos_sent(message) > 0) world.sent_as[message] = 0;
        world.stale[message] = world.held[message];
    }
}

void packet_came(const struct packet *packet) {
    if (packet->type == 2) {
        world.is_news = 0;
        if (!(packet->body[0] & 1)) session_is_new();
    }
    if (packet->type == 6) world.finished = 1;
    if (packet->type != 4 && packet->type != 7) return;
    uint16_t identifier = identifier_of(packet);
    for (int message = 0; message < sends(); message++)
        if (world.in_identifier[message] == identifier) world.in_flight[message] = 0;
}

/* ---- Events */

static void completed(const smq_event *event) {
    if (event->cookie == COOKIE_SUBSCRIBE) {
        if (event->status != SMQ_OK) violation("a subscription failed");
        if (++world.subscribe_told > 1) violation("a subscription told twice");
        return;
    }
    int message = (int)event->cookie - 1;
    if (message < 0 || message >= world.published) violation("a cookie that was never given");
    int qos = qos_sent(message), plan = scene->sends[message];
    if (world.told[message] && world.in_doubt[message]) world.told[message] = 0;
    if (++world.told[message] > 1) violation("told twice");
    world.in_doubt[message] = 0;
    switch (event->status) {
    case SMQ_OK:
        if (qos > 0 ? !world.delivered[message] : !world.ever_sent[message]) violation("told, and not delivered");
        return;
    case SMQ_ERR_SESSION_LOST:
        if (qos == 2 && world.lost_sessions > 1 && (world.ever_sent[message] || world.survivor[message])) return;
        break;
    case SMQ_ERR_DROPPED:
    case SMQ_ERR_REPLACED:
        if (plan & (LATEST | OLDEST) && !world.delivered[message]) return;
        break;
    case SMQ_ERR_EXPIRED:
        if (plan & EXPIRES && (!world.delivered[message] || (qos == 1 && world.lost_sessions > 1))) return;
        break;
    default:
        break;
    }
    violation("a message failed");
}

/*
 * A message that comes again has the number that the program has noted, and no other message has it. The program notes one
 * when it is stored.
 */
void take_number(int message) {
    uint64_t number = 0;
    int32_t status = smq_delivery_number(engine(), world.token[message], &number);
    if (qos_got(message) == 1) {
        if (status != SMQ_ERR_QOS) violation("QoS 1 has a number");
        return;
    }
    if (status != SMQ_OK || number == 0) violation("smq_delivery_number() refused");
    if (world.number[message] && world.number[message] != number) violation("the number of a message has changed");
    for (int other = 0; other < gets(); other++)
        if (other != message && world.number[other] == number) violation("another message has had this number");
    if (smq_sync(engine(), 0) == 1) world.number[message] = number;
}

static void message_came(const smq_event *event) {
    const uint8_t *payload = event->payload.data;
    if (event->status != SMQ_OK || event->part != (SMQ_PART_FIRST | SMQ_PART_LAST) || event->payload.size != 2 ||
        event->topic.size != 1 || *(const char *)event->topic.data != 'r' || payload[1] != (payload[0] ^ 0x5A) ||
        payload[0] >= gets() || event->qos != qos_got(payload[0]))
        violation("another message than was delivered");
    int message = payload[0];
    if (++world.handed[message] > world.out_times[message]) violation("handed out more often than it was sent");
    if (event->qos == 2 && world.handed[message] > 1 + world.crashes) violation("QoS 2 handed out twice");
    if (world.held[message] && !world.stale[message]) violation("handed out again while it is held");
    if (world.handed[message] == 1 && !scene->may_leave_unanswered && !world.crashes)
        for (int later = message + 1; later < gets(); later++)
            if (world.handed[later]) violation("handed out in another order");
    if ((event->qos > 0) != (event->token != 0)) violation("a token too many, or too few");
    if (event->qos == 0) return;
    world.released[message] = 0;
    if (scene->holds) {
        world.held[message] = 1;
        world.stale[message] = 0;
        world.token[message] = event->token;
    } else {
        world.taken = (uint8_t)(message + 1);
    }
}

/* A connection that was not cut. A close with bytes unread is a reset: what was sent before is lost with it. */
static void ended_by_client(void) {
    if (!scene->may_leave_unanswered) violation("the client ended the connection");
    if (!world.finished) violation("the client ended a connection on which no handshake was finished");
    while (world.down_size == 0 && world.up_whole > 0) serve();
    connection_ended();
    world.link = LINK_NONE;
}

void event_came(const smq_event *event) {
    switch (event->type) {
    case SMQ_EVENT_OPEN:
        if (world.link != LINK_NONE) violation("a connection is wanted while there is one");
        if (smq_engine_opened(engine(), world.now) != SMQ_OK) violation("smq_engine_opened() refused");
        world.link = LINK_OPEN;
        break;
    case SMQ_EVENT_CONNECTED:
        break;
    case SMQ_EVENT_COMPLETED:
        completed(event);
        break;
    case SMQ_EVENT_MESSAGE:
        message_came(event);
        break;
    case SMQ_EVENT_ROOM:
    case SMQ_EVENT_JOURNAL:
        break;
    case SMQ_EVENT_DISCONNECTED:
        if (world.link == LINK_OPEN) {
            ended_by_client();
        } else {
            if (event->status != SMQ_ERR_CLOSED && !scene->may_leave_unanswered)
                violation("another reason than that the connection was closed");
            world.link = LINK_NONE;
        }
        break;
    default:
        violation("an event that nothing leads to");
    }
}

void event_released(void) {
    if (!world.taken) return;
    world.released[world.taken - 1] = 1;
    world.taken = 0;
}

/*
 * A CONNACK that is lost can hide from a client that its session was: the next one says Session Present, and nothing in MQTT
 * tells it that this is another session. No client can do right then, so here a server does not keep a session of which
 * the client has not heard.
 */
static void forget_news(void) {
    if (!world.is_news) return;
    for (int message = 0; message < gets(); message++)
        if (world.out_state[message] == OUT_SENT) world.out_state[message] = OUT_NEW;
    server_forgets();
    world.is_news = 0;
}

/* What is on its way is gone, and what holds for one connection. What the server has of QoS 2 stays in flight. */
void connection_ended(void) {
    world.up_size = world.up_whole = world.down_size = world.down_given = 0;
    forget_news();
    memset(world.up, 0, sizeof world.up);
    memset(world.down, 0, sizeof world.down);
    memset(world.out_here, 0, sizeof world.out_here);
    memset(world.sent_here, 0, sizeof world.sent_here);
    memcpy(world.in_flight, world.known, sizeof world.in_flight);
    world.is_connected = world.answered = world.resent = world.finished = 0;
}

/*
 * A message that is stored is delivered by the next process, as if nothing had happened. Of one that is not, or was delivered, that
 * process may have heard or not: it tells its end or does not. A message that the program holds comes again.
 */
void process_ended(void) {
    world.taken = 0;
    for (int message = 0; message < world.published; message++) {
        if (!world.stored[message] || world.told[message] || world.delivered[message]) world.in_doubt[message] = 1;
        if (world.ever_sent[message] && world.forgets) world.in_doubt[message] = 1; /* SMQ_ERR_SESSION_LOST */
        world.survivor[message] = 1;
        world.position[message] = world.stored[message] = 0;
    }
    for (int message = 0; message < gets(); message++) {
        if (world.held[message]) world.handed[message] = 0;
        world.held[message] = world.stale[message] = 0;
        world.token[message] = 0;
    }
}

/* All that was promised has come true. */
int is_complete(const struct world *at) {
    if (at->published != sends() || (scene->subscribes && (!at->subscribe_told || !at->is_subscribed))) return 0;
    for (int message = 0; message < sends(); message++)
        if (!at->told[message] && !at->in_doubt[message]) return 0;
    for (int message = 0; message < gets(); message++) {
        uint8_t state = at->out_state[message];
        if (state != OUT_DONE && state != OUT_LOST) return 0;
        if (state == OUT_DONE && !at->handed[message] && (qos_got(message) > 0 || at->cuts == 0)) return 0;
        if (at->held[message]) return 0;
    }
    return 1;
}

/* Nothing is left in the client of what has come to its end. */
const char *left_behind(void) {
    smq_stats stats = SMQ_STATS_INIT;
    for (int message = 0; message < sends(); message++)
        if (world.in_doubt[message]) return NULL;
    if (smq_client_stats(seen(), &stats) != SMQ_OK) return "smq_client_stats() refused";
    if (stats.outbox_messages + stats.urgent_messages + stats.submit_waiting > 0)
        return "all is told, and something is left in the client";
    if (stats.in_flight > 0) return "all is told, and the window is not whole";
    return NULL;
}
