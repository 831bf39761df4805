"""publish.single, publish.multiple, subscribe.simple and subscribe.callback."""

import sys

import paho.mqtt.client as mqtt
import paho.mqtt.publish as publish
import paho.mqtt.subscribe as subscribe

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
where = {"hostname": host, "port": port}
publish.single(f"{level}/single", "payload", retain=True, **where)
publish.single(f"{level}/second", 21.5, qos=2, retain=True, client_id=level, protocol=mqtt.MQTTv5, **where)
publish.multiple(
    [{"topic": f"{level}/third", "payload": b"bytes", "qos": 1, "retain": True}, (f"{level}/fourth", None, 0, False)],
    will={"topic": f"{level}/will", "payload": "never sent"},
    **where,
)
message = subscribe.simple(f"{level}/single", **where)
print(message.topic[len(level) :], message.payload, message.retain, message.qos)
messages = subscribe.simple([f"{level}/single", f"{level}/second", f"{level}/third"], qos=1, msg_count=3, **where)
print(sorted((m.topic[len(level) :], m.payload, m.qos) for m in messages))


def on_message(client, userdata, message):
    print(userdata, message.payload)
    client.disconnect()


subscribe.callback(on_message, f"{level}/third", userdata="mine", protocol=mqtt.MQTTv311, **where)
for name in ("single", "second", "third"):
    publish.single(f"{level}/{name}", retain=True, **where)
for wrong in (
    lambda: publish.multiple([], **where),
    lambda: publish.multiple(3, **where),
    lambda: publish.single("a", auth={"password": "x"}, **where),
    lambda: publish.multiple(["text"], **where),
    lambda: subscribe.simple("a", msg_count=0, **where),
    lambda: subscribe.simple("a", qos=3, **where),
    lambda: publish.single("a/#", **where),
    lambda: publish.single("a", hostname=host, port=1),
):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
