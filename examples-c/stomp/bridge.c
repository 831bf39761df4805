/*
 * A bridge between MQTT and STOMP, in one thread with one poll(): bridge [MQTT-URL [FILTER [STOMP-URL [PREFIX]]]]. What is
 * published to FILTER, by default gateway/#, is sent to PREFIX and the topic with dots, /topic/gateway.7.status; what is
 * sent to /queue/to-mqtt with a header "topic" is published. Ctrl-C ends it.
 *
 * A message of MQTT is acknowledged when the other side has confirmed it, and the other way round: what was on its way
 * when the bridge ended comes again, perhaps twice.
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <swiftmqtt.h>

#include "client.h"

static const char *prefix = "/topic/";
static const char *queue = "/queue/to-mqtt";

/* MQTT to STOMP: the cookie is the token of the message. */
static void to_stomp(smq_client *mqtt, sst_client *stomp, const smq_event *message) {
    char destination[256];
    int size = snprintf(destination, sizeof destination, "%s%.*s", prefix, (int)message->topic.size,
                        (const char *)message->topic.data);
    if (size < 0 || (size_t)size >= sizeof destination) return; /* too long: it is acknowledged, and dropped */
    for (char *byte = destination + strlen(prefix); *byte; byte++)
        if (*byte == '/') *byte = '.';
    sst_frame frame = SST_FRAME_INIT;
    frame.flags = SST_SEND_RECEIPT | SST_SEND_AGAIN;
    frame.destination = sst_string(destination);
    frame.body.data = message->payload.data;
    frame.body.size = message->payload.size;
    frame.cookie = message->token;
    int32_t status = sst_send(stomp, &frame);
    if (status != SST_OK)
        failed("to STOMP", status);
    else if (message->token)
        smq_hold(mqtt); /* until the receipt came */
}

/* STOMP to MQTT, the same. */
static void to_mqtt(smq_client *mqtt, sst_client *stomp, const sst_event *event) {
    sst_bytes name = sst_string("topic"), topic;
    smq_message message = SMQ_MESSAGE_INIT;
    int is_whole = event->status == SST_OK && event->part == (SST_PART_FIRST | SST_PART_LAST);
    int32_t status = SMQ_ERR_TOPIC_NAME;
    if (is_whole && sst_header_find(event, &name, &topic) == 1) {
        message.qos = 1;
        message.topic.data = topic.data;
        message.topic.size = topic.size;
        message.payload.data = event->body.data;
        message.payload.size = event->body.size;
        message.cookie = event->token;
        status = smq_publish(mqtt, &message);
        if (status == SMQ_OK) return;
    }
    if (!event->token) return; /* a part, but not the last one */
    if (status == SMQ_ERR_FULL) {
        sst_nack(stomp, event->token, 0); /* later */
    } else {
        /* Refused, RabbitMQ would deliver it again at once, without end. */
        fprintf(stderr, "stomp: a message without a good topic, or too large, is dropped\n");
        sst_ack(stomp, event->token, 0);
    }
}

static void mqtt_events(smq_client *mqtt, sst_client *stomp) {
    smq_event event = SMQ_EVENT_INIT;
    char line[512];
    while (smq_next_event(mqtt, &event) == 1) {
        if (event.type == SMQ_EVENT_MESSAGE) {
            to_stomp(mqtt, stomp, &event);
        } else if (event.type == SMQ_EVENT_COMPLETED && event.completed == SMQ_COMPLETED_PUBLISH) {
            if (event.status == SMQ_OK) sst_ack(stomp, event.cookie, 0);
        } else {
            smq_describe_event(&event, line, sizeof line);
            fprintf(stderr, "mqtt: %s\n", line);
        }
    }
}

static void stomp_events(smq_client *mqtt, sst_client *stomp) {
    sst_event event = SST_EVENT_INIT;
    while (sst_next_event(stomp, &event) == 1) {
        if (event.type == SST_EVENT_MESSAGE) {
            to_mqtt(mqtt, stomp, &event);
        } else if (event.type == SST_EVENT_COMPLETED && event.completed == SST_COMPLETED_SEND) {
            if (event.status == SST_OK && event.cookie) smq_ack(mqtt, event.cookie, 0, NULL);
        } else {
            fprintf(stderr, "stomp: ");
            print_event(stderr, &event);
        }
    }
}

int main(int argc, char **argv) {
    smq_options mqtt_options = SMQ_OPTIONS_INIT;
    sst_options stomp_options = SST_OPTIONS_INIT;
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    mqtt_options.url = smq_string(argc > 1 ? argv[1] : "mqtt://127.0.0.1");
    mqtt_options.client_id = smq_string("stomp-bridge");
    mqtt_options.flags = SMQ_OPTION_KEEP_SESSION;
    const char *filter = argc > 2 ? argv[2] : "gateway/#";
    stomp_options.url = sst_string(argc > 3 ? argv[3] : "stomp://guest:guest@127.0.0.1");
    if (argc > 4) prefix = argv[4];
    subscription.destination = sst_string(queue);
    subscription.ack = SST_ACK_CLIENT_INDIVIDUAL;

    sst_client *stomp = NULL;
    void *stomp_memory = NULL;
    int32_t status = start(&stomp, &stomp_memory, &stomp_options);
    if (status == SST_OK) status = sst_subscribe(stomp, &subscription);
    if (status < 0) return failed("STOMP", status);
    smq_client *mqtt = NULL;
    size_t size = smq_client_size(&mqtt_options);
    void *mqtt_memory = malloc(size);
    status = smq_client_init(mqtt_memory, size, &mqtt_options, &mqtt);
    if (status == SMQ_OK) status = smq_subscribe_to(mqtt, filter, 1, 0);
    if (status == SMQ_OK) status = smq_connect(mqtt);
    if (status != SMQ_OK) {
        fprintf(stderr, "MQTT: %s: %s\n", smq_status_name(status), smq_status_text(status));
        return EXIT_FAILURE;
    }
    stop_on_signals();
    while (smq_client_state(mqtt) != SMQ_STATE_DISCONNECTED || sst_client_state(stomp) != SST_STATE_DISCONNECTED) {
        if (stop) {
            smq_disconnect(mqtt, 1000);
            sst_disconnect(stomp, 1000);
        }
        /* What one client has done may give the other something to do: both look at each turn. */
        int32_t mqtt_ms = smq_next_timeout_ms(mqtt), stomp_ms = sst_next_timeout_ms(stomp);
        int32_t least = mqtt_ms < 0 || (stomp_ms >= 0 && stomp_ms < mqtt_ms) ? stomp_ms : mqtt_ms;
        struct pollfd both[] = { { smq_fd(mqtt), POLLIN, 0 }, { sst_fd(stomp), POLLIN, 0 } };
        poll(both, 2, least < 0 || least > 1000 ? 1000 : least);
        smq_service(mqtt);
        mqtt_events(mqtt, stomp);
        sst_service(stomp);
        stomp_events(mqtt, stomp);
    }
    smq_client_close(mqtt);
    free(mqtt_memory);
    end(stomp, stomp_memory);
    return EXIT_SUCCESS;
}
