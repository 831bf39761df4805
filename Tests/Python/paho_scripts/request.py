"""Request and response with MQTT 5.0: one client adds up what another one asks it to."""

import json
import sys
import threading

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
V2 = mqtt.CallbackAPIVersion.VERSION2


def adder_on_message(client, userdata, message):
    print("asked", message.payload, message.properties.CorrelationData)
    answering = Properties(PacketTypes.PUBLISH)
    answering.CorrelationData = message.properties.CorrelationData
    client.publish(message.properties.ResponseTopic, sum(json.loads(message.payload)), 1, properties=answering)


def asker_on_message(client, userdata, message):
    userdata[message.properties.CorrelationData].append(message.payload)
    answered.release()


def begin(topic, on_message, userdata=None):
    subscribed = threading.Event()
    client = mqtt.Client(V2, userdata=userdata, protocol=mqtt.MQTTv5)
    client.on_connect = lambda client, *_: client.subscribe(topic, 1)
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = on_message
    client.connect(host, port, clean_start=mqtt.MQTT_CLEAN_START_FIRST_ONLY)
    client.loop_start()
    assert subscribed.wait(10)
    return client


answered, answers = threading.Semaphore(0), {b"0": [], b"1": [], b"2": []}
adder = begin(f"{level}/add", adder_on_message)
asker = begin(f"{level}/sums", asker_on_message, answers)
for number, correlation in enumerate(answers):
    asking = Properties(PacketTypes.PUBLISH)
    asking.ResponseTopic, asking.CorrelationData = f"{level}/sums", correlation
    info = asker.publish(f"{level}/add", json.dumps([number, 20]), 1, properties=asking)
    print(answered.acquire(timeout=10), info.rc)
print(answers)
for client in (asker, adder):
    client.disconnect()
    client.loop_stop()
