/*
 * A list of properties: walked, put together anew, and handed to each call that takes one. What each of them accepts is what a
 * decoder of our own accepts there.
 */
#include "fuzz.h"

static _Alignas(8) uint8_t block[1 << 16];
static smq_client *client;

/* The list that smq_property_put_…() makes of what smq_property_next() finds is the same. */
static void walk(smq_bytes list) {
    uint8_t buffer[4096];
    smq_properties again = { buffer, sizeof buffer, 0 };
    smq_property property = SMQ_PROPERTY_INIT;
    size_t position = 0;
    for (;;) {
        size_t before = position;
        int32_t more = smq_property_next(&list, &position, &property);
        if (more == 0 && position != list.size) BROKEN("the end is not at the end");
        if (more == 0) break;
        if (more != 1) {
            if (more != SMQ_ERR_PROPERTY) BROKEN("smq_property_next: %d", more);
            break;
        }
        if (position <= before || position > list.size) BROKEN("a position that goes nowhere");
        int32_t status;
        if (property.identifier == SMQ_PROPERTY_USER_PROPERTY)
            status = smq_property_put_pair(&again, &property.name, &property.value);
        else if ((status = smq_property_put_number(&again, property.identifier, property.number)) == SMQ_ERR_PROPERTY)
            status = smq_property_put_bytes(&again, property.identifier, &property.value);
        if (status != SMQ_OK) BROKEN("property %u was found, and cannot be put: %d", property.identifier, status);
        if (again.size != position ||
            memcmp(buffer + before, (const uint8_t *)list.data + before, position - before) != 0)
            BROKEN("property %u is put in another way than it was found", property.identifier);
    }
    /* No room: nothing is written. */
    smq_properties small = { buffer, again.size > 0 ? again.size - 1 : 0, again.size > 0 ? again.size - 1 : 0 };
    smq_bytes empty = { NULL, 0 };
    if (smq_property_put_pair(&small, &empty, &empty) != SMQ_ERR_FULL) BROKEN("a property where there is no room");
}

static void compare(const char *what, bool is_expected, int32_t status) {
    bool is_accepted = status == SMQ_OK;
    if (is_accepted != is_expected)
        BROKEN("%s: %s, and it should be %s", what, smq_status_name(status), is_expected ? "taken" : "refused");
    if (!is_accepted && status != SMQ_ERR_PROPERTY) BROKEN("%s: %s", what, smq_status_name(status));
}

static uint64_t bit(int identifier) { return (uint64_t)1 << identifier; }

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size > 1024) return 0;
    if (!client) {
        smq_options options = SMQ_OPTIONS_INIT;
        options.host = smq_string("h");
        options.flags = SMQ_OPTION_OWN_TRANSPORT;
        options.protocol = SMQ_PROTOCOL_5_0;
        options.outbox_bytes = 4096;
        options.outbox_messages = 2;
        if (smq_client_init(block, sizeof block, &options, &client) != SMQ_OK) BROKEN("smq_client_init");
    }
    uint8_t *copy = exact_copy(input, size);
    smq_bytes list = { copy, size };
    walk(list);
    struct properties found;
    smq_options options = SMQ_OPTIONS_INIT;
    options.host = smq_string("h");
    options.protocol = SMQ_PROTOCOL_5_0;
    options.properties = list;
    bool is_right = wire_properties(copy, size, CONNECT, true, &found) == NULL;
    uint64_t own = bit(0x15) | bit(0x16) | bit(0x17) | bit(0x19) | bit(0x26);
    compare("properties of CONNECT", is_right && (found.seen & ~own) == 0, smq_options_check(&options, NULL));
    options.properties.size = 0;
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string("t");
    message.properties = list;
    options.will = &message;
    is_right = wire_properties(copy, size, 0, true, &found) == NULL;
    compare("properties of the Will", is_right, smq_options_check(&options, NULL));
    is_right = wire_properties(copy, size, PUBLISH, true, &found) == NULL && (found.seen & bit(0x23)) == 0;
    void *payload;
    int32_t status = smq_publish_reserve(client, &message, &payload);
    compare("properties of PUBLISH", is_right, status);
    if (status == SMQ_OK && smq_publish_abort(client) != SMQ_OK) BROKEN("smq_publish_abort");
    smq_subscription subscription;
    memset(&subscription, 0, sizeof subscription);
    subscription.filter = smq_string("t");
    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;
    subscriptions.count = 1;
    subscriptions.list = &subscription;
    subscriptions.properties = list;
    is_right = wire_properties(copy, size, UNSUBSCRIBE, true, &found) == NULL;
    if (!is_right) compare("properties of UNSUBSCRIBE", false, smq_unsubscribe(client, &subscriptions));
    free(copy);
    return 0;
}
