/* A server of STOMP 1.2 with one queue to the program, as RabbitMQ and ActiveMQ are in what matters here. */
#include <stdio.h>
#include <string.h>

#include "explore.h"

static void drop_first_up(size_t size) {
    memmove(world.up, world.up + size, world.up_size - size);
    memset(world.up + world.up_size - size, 0, size);
    world.up_size -= (uint8_t)size;
    world.up_whole -= (uint8_t)size;
}

static void owe(const struct frame_in *frame) {
    const char *id = header(frame, "receipt");
    if (!*id || scene->is_silent) return;
    if (!scene->any_order) {
        put_receipt(id);
        return;
    }
    for (size_t i = 0; i < sizeof world.owes / sizeof *world.owes; i++) {
        if (world.owes[i][0]) continue;
        if (strlen(id) >= sizeof *world.owes) violation("a receipt that is too long");
        memcpy(world.owes[i], id, strlen(id) + 1);
        return;
    }
    violation("the server owes too many receipts");
}

int server_owes(int which) {
    if (!world.owes[which][0] || !has_room_down()) return 0;
    put_receipt((const char *)world.owes[which]);
    memset(world.owes[which], 0, sizeof *world.owes);
    return 1;
}

/* "implicitly aborted if the connection fails" */
void server_loses_connection(void) {
    world.is_connected = world.is_subscribed = world.closes = 0;
    memset(world.inside, 0, sizeof world.inside);
    memset(world.owes, 0, sizeof world.owes);
    memset(world.out_here, 0, sizeof world.out_here);
    if (scene->is_forgetful) memset(world.consumed, 0, sizeof world.consumed);
}

static void acknowledged(int message) {
    if (message < 0 || message >= scene->gets || !world.out_here[message])
        violation("ACK for what was not delivered here");
    if (world.consumed[message]) violation("ACK for what is acknowledged");
    for (int other = 0; other <= message; other++)
        if (other == message || (scene->ack == SST_ACK_CLIENT && world.out_here[other])) world.consumed[other] = 1;
}

static void take_send(const struct frame_in *frame) {
    int message = body_of(frame);
    if (*header(frame, "transaction"))
        world.inside[message] = 1;
    else if (++world.delivered[message] > 1 && !(scene->sends[message] & AGAIN))
        violation("delivered twice");
}

void serve(void) {
    struct frame_in frame = first_frame(world.up, world.up_whole);
    if (is(&frame, "CONNECT")) {
        if (world.is_connected) violation("CONNECT twice");
        world.is_connected = 1;
        static const char connected[] = "CONNECTED\nversion:1.2\n\n";
        put_down(connected, sizeof connected);
    } else if (!world.is_connected) {
        violation("a frame before CONNECT");
    } else if (is(&frame, "SEND")) {
        take_send(&frame);
    } else if (is(&frame, "SUBSCRIBE")) {
        if (world.is_subscribed) violation("SUBSCRIBE twice on one connection");
        world.is_subscribed = 1;
    } else if (is(&frame, "UNSUBSCRIBE")) {
        if (!world.is_subscribed && !scene->durable) violation("UNSUBSCRIBE without SUBSCRIBE");
        world.is_subscribed = 0;
    } else if (is(&frame, "ACK")) {
        acknowledged(header(&frame, "id")[0] - '0');
    } else if (is(&frame, "COMMIT")) {
        for (int message = 0; message < MESSAGES; message++) {
            world.delivered[message] += world.inside[message];
            world.inside[message] = 0;
        }
    } else if (is(&frame, "DISCONNECT")) {
        world.closes = 1;
    }
    owe(&frame);
    drop_first_up(frame.size);
}

int server_delivers(int message) {
    char text[80];
    if (!world.is_subscribed || world.closes || world.consumed[message] || world.out_here[message] || !has_room_down())
        return 0;
    for (int before = 0; before < message; before++) /* in their order */
        if (!world.consumed[before] && !world.out_here[before]) return 0;
    int size = snprintf(text, sizeof text, "MESSAGE\nsubscription:0\nmessage-id:%d\nack:%d\ndestination:q\n\n%d",
                        message, message, message);
    put_down(text, (size_t)size + 1);
    world.out_here[message] = 1;
    if (scene->ack == SST_ACK_AUTO) world.consumed[message] = 1;
    return 1;
}

int server_refuses(int unused) {
    char text[48];
    (void)unused;
    if (world.up_whole == 0 || world.refused >= scene->refuses || !has_room_down()) return 0;
    struct frame_in frame = first_frame(world.up, world.up_whole);
    if (!is(&frame, "SEND") || !world.is_connected) return 0;
    int message = body_of(&frame);
    if (world.delivered[message]) return 0; /* what it has taken once it takes again */
    int size = snprintf(text, sizeof text, "ERROR\nreceipt-id:%s\n\n", header(&frame, "receipt"));
    put_down(text, (size_t)size + 1);
    world.refused++;
    world.closes = 1;
    memset(world.up, 0, sizeof world.up);
    world.up_size = world.up_whole = 0;
    return 1;
}
