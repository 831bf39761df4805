/*
 * publish_many URL COUNT: publishes COUNT messages, QoS 0, 1 and 2 in turn, and prints how many calls
 * of the allocator count_malloc.c saw: "before" the first call of the library (two, which the program
 * makes to show that they are counted) and "during" all that follows up to smq_client_close().
 */
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>

extern unsigned long allocator_calls(void) __attribute__((weak));

static _Alignas(SMQ_MEMORY_ALIGNMENT) unsigned char memory[1 << 20];

static int fail(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s\n", what, smq_status_name(status));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3 || !allocator_calls) return fail("usage: LD_PRELOAD=count_malloc.so publish_many URL COUNT", 0);
    unsigned long count = strtoul(argv[2], NULL, 10), published = 0, completed = 0;
    unsigned long start = allocator_calls();
    void *volatile block = malloc(1);
    free(block);
    unsigned long before = allocator_calls();

    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[1]);
    options.client_id = smq_string("publish-many");
    options.flags = SMQ_OPTION_KEEP_SESSION;
    smq_client *client = NULL;
    int32_t status = smq_client_init(memory, sizeof memory, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status != SMQ_OK) return fail("start", status);
    smq_event event = SMQ_EVENT_INIT;
    while (event.type != SMQ_EVENT_DISCONNECTED) {
        smq_message message = SMQ_MESSAGE_INIT;
        message.topic = smq_string("many/messages");
        message.payload = smq_string("{\"value\":21.5,\"unit\":\"celsius\"}");
        while (published < count) {
            message.qos = (uint8_t)(published % 3);
            message.cookie = published;
            status = smq_publish(client, &message);
            if (status == SMQ_ERR_FULL) break;
            if (status != SMQ_OK) return fail("smq_publish", status);
            published++;
        }
        status = smq_wait(client, 10000);
        if (status != 1) return fail("smq_wait", status);
        while (smq_next_event(client, &event) == 1) {
            if (event.status != SMQ_OK) return fail("event", event.status);
            if (event.type == SMQ_EVENT_COMPLETED && ++completed == count) smq_disconnect(client, 1000);
            if (event.type == SMQ_EVENT_DISCONNECTED) break;
        }
    }
    smq_stats stats = SMQ_STATS_INIT;
    smq_client_stats(client, &stats);
    smq_client_close(client);
    unsigned long after = allocator_calls();
    printf("before %lu during %lu completed %lu packets %llu send_calls %llu\n", before - start, after - before,
           completed, (unsigned long long)stats.packets_sent, (unsigned long long)stats.send_calls);
    return 0;
}
