"""Callbacks by Topic Filter, and the decorators."""

import sys

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)


@client.connect_callback()
def connected(client, userdata, flags, reason_code, properties):
    client.subscribe(f"{level}/#", 1)


@client.subscribe_callback()
def subscribed(client, userdata, mid, codes, properties):
    for topic in ("one", "one/two", "other", "one/three", "end"):
        client.publish(f"{level}/{topic}", topic, 1)


@client.topic_callback(f"{level}/one/+")
def below_one(client, userdata, message):
    print("below one", message.payload)


@client.topic_callback(f"{level}/#")
def everything(client, userdata, message):
    print("everything", message.payload)
    if message.payload == b"other":
        client.message_callback_remove(f"{level}/#")
        client.message_callback_remove("never added")


@client.message_callback()
def rest(client, userdata, message):
    print("the rest", message.payload)
    client.disconnect()


client.message_callback_add(f"{level}/one/two", lambda c, u, m: print("exactly", m.payload))
client.message_callback_add(f"{level}/+/two", lambda c, u, m: print("any two", m.payload))
for wrong in ((None, print), ("a", None)):
    try:
        client.message_callback_add(*wrong)
    except ValueError:
        print("ValueError")
client.connect(host, port)
client.loop_forever()
