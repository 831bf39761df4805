"""Callbacks that fail."""

import sys

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def on_connect(client, userdata, flags, reason_code, properties):
    print("connected")
    raise ZeroDivisionError("in on_connect")


def on_log(client, userdata, log_level, text):
    if text.startswith("Caught"):
        print(text)


client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_connect, client.on_log = on_connect, on_log
client.connect(host, port)
try:
    client.loop_forever()
except ZeroDivisionError as error:
    print("raised", error)
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_connect, client.on_log = on_connect, on_log
client.suppress_exceptions = True
client.on_subscribe = lambda c, *_: c.disconnect()
client.connect(host, port)
client.subscribe(level)
client.loop_forever()
