"""What is refused, and with which exception."""

import os
import sys
import warnings

import paho.mqtt.client as mqtt

warnings.simplefilter("ignore")
host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
V2 = mqtt.CallbackAPIVersion.VERSION2
old, new = mqtt.Client(V2), mqtt.Client(V2, protocol=mqtt.MQTTv5)
info = mqtt.MQTTMessageInfo(3)
info.rc = mqtt.MQTT_ERR_QUEUE_SIZE


def tell(*calls):
    for number, call in enumerate(calls):
        try:
            print(number, call())
        except Exception as error:
            print(number, next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"))


tell(
    lambda: mqtt.Client(V2, clean_session=False),
    lambda: mqtt.Client(V2, clean_session=True, protocol=mqtt.MQTTv5),
    lambda: mqtt.Client(V2, transport="pigeon"),
    lambda: old.connect(""),
    lambda: old.connect(host, 0),
    lambda: old.connect(host, port, -1),
    lambda: old.connect(host, port, clean_start=True),
    lambda: mqtt.Client(V2).reconnect(),
    lambda: old.publish(""),
    lambda: old.publish("a/#"),
    lambda: old.publish("a", qos=3),
    lambda: old.publish("a", object()),
    lambda: old.publish("a" * 70_000),
    lambda: old.subscribe(""),
    lambda: old.subscribe(None),
    lambda: old.subscribe([]),
    lambda: old.subscribe("a", 3),
    lambda: old.subscribe("a/#/b"),
    lambda: old.subscribe([("a", 3)]),
    lambda: new.subscribe(("a", 1)),
    lambda: new.subscribe("a", 1, options=mqtt.SubscribeOptions(1)),
    lambda: old.unsubscribe(None),
    lambda: old.unsubscribe(""),
    lambda: old.will_set("", "x"),
    lambda: old.will_set("a", "x", 3),
    lambda: old.will_set("a", object()),
    lambda: old.max_inflight_messages_set(-1),
    lambda: old.max_queued_messages_set(-1),
    lambda: old.max_queued_messages_set(5) is old,
    lambda: old.loop(-1),
    lambda: info.wait_for_publish(),
    lambda: info.is_published(),
    lambda: mqtt.topic_matches_sub("a/+", "a/b"),
    lambda: mqtt.topic_matches_sub("a/#", "a"),
    lambda: mqtt.topic_matches_sub("#", "$SYS/x"),
    lambda: mqtt.topic_matches_sub("a/+/c", "a/b/d"),
    lambda: [mqtt.error_string(number) for number in range(18)],
    lambda: [mqtt.connack_string(number) for number in range(7)],
    lambda: [str(mqtt.convert_connack_rc_to_reason_code(number)) for number in range(7)],
    lambda: [mqtt.MQTTv31, mqtt.MQTTv311, mqtt.MQTTv5, mqtt.CONNECT, mqtt.AUTH, mqtt.MQTT_LOG_DEBUG],
    lambda: (old.host, old.keepalive, old.username, old.will_topic, old.protocol, old.transport),
)
# Before the first connection only what has QoS 1 or 2 is kept, as far as max_queued_messages allows.
print([old.publish("a", "x", qos).rc for qos in (0, 1, 2, 1, 1, 1, 1)])
# That these are lost is told at the end of a script, which is otherwise than with paho-mqtt.
sys.stdout.flush()
os._exit(0)
