/*
 * Moves messages from one queue to another, each in a transaction with its acknowledgement, so that none is lost and none
 * is there twice: transaction [URL [FROM [TO]]]. Ctrl-C ends it.
 */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

/* The message that is sent, the acknowledgement and COMMIT leave in this order. */
static int32_t move(sst_client *client, const sst_event *message, const char *to) {
    int32_t transaction = sst_begin(client);
    if (transaction < 0) return transaction;
    sst_frame frame = SST_FRAME_INIT;
    frame.flags = SST_SEND_QUIET;
    frame.destination = sst_string(to);
    frame.content_type = message->content_type;
    frame.body = message->body;
    frame.transaction = (uint32_t)transaction;
    int32_t status = sst_send(client, &frame);
    if (status == SST_OK) status = sst_ack(client, message->token, frame.transaction);
    if (status == SST_OK) return sst_commit(client, frame.transaction, 0);
    sst_abort(client, frame.transaction, 0); /* the message stays unacknowledged */
    return status;
}

int main(int argc, char **argv) {
    sst_options options = SST_OPTIONS_INIT;
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    options.url = sst_string(argc > 1 ? argv[1] : "stomp://guest:guest@127.0.0.1");
    subscription.destination = sst_string(argc > 2 ? argv[2] : "/queue/in");
    subscription.ack = SST_ACK_CLIENT_INDIVIDUAL;
    const char *to = argc > 3 ? argv[3] : "/queue/out";
    options.receive_bytes = 1 << 20; /* the body of a message has to be there at once */
    options.outbox_bytes = 1 << 21;

    sst_client *client = NULL;
    void *memory = NULL;
    sst_event event = SST_EVENT_INIT;
    int32_t status = start(&client, &memory, &options), result = EXIT_SUCCESS;
    if (status == SST_OK) status = sst_subscribe(client, &subscription);
    if (status < 0) return failed("transaction", status);
    stop_on_signals();
    while (sst_client_state(client) != SST_STATE_DISCONNECTED) {
        if (stop) sst_disconnect(client, 5000);
        sst_wait(client, 1000);
        while (sst_next_event(client, &event) == 1) {
            if (event.type == SST_EVENT_MESSAGE && (event.status || event.part != (SST_PART_FIRST | SST_PART_LAST))) {
                print_event(stderr, &event); /* it is larger than receive_bytes, and stays in its queue */
                result = EXIT_FAILURE;
                stop = 1;
            } else if (event.type == SST_EVENT_MESSAGE && event.token) {
                status = move(client, &event, to);
                if (status != SST_OK) failed("moving", status);
            } else if (event.type != SST_EVENT_COMPLETED || event.status) {
                print_event(stderr, &event);
            }
        }
    }
    end(client, memory);
    return result;
}
