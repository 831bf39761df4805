"""A script that never runs a loop."""

import sys

import paho.mqtt.client as mqtt
import paho.mqtt.subscribe as subscribe

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
print(client.publish("a", "not connected").rc, client.subscribe("a"), client.unsubscribe("a"), client.disconnect())
client.connect(host, port)
info = client.publish(level, "kept", retain=True)
print(info.rc)
info.wait_for_publish()
print(info.is_published(), client.disconnect())
print(subscribe.simple(level, hostname=host, port=port).payload)
client.connect(host, port)
client.publish(level, None, retain=True)
client.disconnect()
