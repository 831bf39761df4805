/*
 * submit_calls: submits messages to a client that nobody runs, between calls of getppid(), for strace to show what else
 * there is: 100 messages; 100 that expire; one more after the owner has had a turn; one that finds no room.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <unistd.h>

static smq_client *client;

static void submit(int count, uint32_t expiry_s, int32_t expected) {
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string("a/b");
    message.expiry_s = expiry_s;
    int32_t status = SMQ_OK;
    errno = 77;
    getppid();
    for (int number = 0; number < count && status == SMQ_OK; number++) status = smq_submit(client, &message);
    getppid();
    if (status != expected || errno != 77) {
        fprintf(stderr, "%s, errno %d\n", smq_status_name(status), errno);
        exit(EXIT_FAILURE);
    }
}

int main(void) {
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("127.0.0.1");
    options.submit_messages = 256;
    size_t size = smq_client_size(&options);
    if (smq_client_init(malloc(size), size, &options, &client) != SMQ_OK) return EXIT_FAILURE;
    submit(100, 0, SMQ_OK);
    submit(100, 60, SMQ_OK);
    smq_service(client);
    submit(1, 0, SMQ_OK);
    submit(255, 0, SMQ_OK);
    submit(1, 0, SMQ_ERR_FULL);
    smq_client_close(client);
    return EXIT_SUCCESS;
}
