"""User name and password; a Will, which its client's end publishes. Each version of MQTT."""

import os
import subprocess
import sys
import threading

import paho.mqtt.client as mqtt

host, port, level, *vanish = sys.argv[1:]
V2 = mqtt.CallbackAPIVersion.VERSION2


def make(protocol):
    client = mqtt.Client(V2, client_id=f"{level}-{protocol}-{len(vanish)}"[-23:], protocol=protocol)
    client.username_pw_set("somebody", "right")
    client.will_set(f"{level}/will", f"of {int(protocol)}", qos=1, retain=True)
    return client


if vanish:
    client = make(int(vanish[0]))
    client.on_connect = lambda *_: os._exit(0)
    client.connect(host, int(port))
    client.loop_forever()


def on_connect(client, userdata, flags, reason_code, properties):
    print(client.username, client.password, client.will_topic == f"{level}/will", client.will_payload, reason_code)
    client.subscribe(f"{level}/will", 1)


def on_message(client, userdata, message):
    if message.payload and not message.retain:
        print(message.payload, message.qos)
        came.set()


for protocol in (mqtt.MQTTv31, mqtt.MQTTv311, mqtt.MQTTv5):
    came, subscribed = threading.Event(), threading.Event()
    client = make(protocol)
    client.on_connect, client.on_message = on_connect, on_message
    client.on_subscribe = lambda *_: subscribed.set()
    client.connect(host, int(port))
    client.loop_start()
    assert subscribed.wait(10)
    subprocess.run([sys.executable, __file__, host, port, level, str(int(protocol))], check=True)
    print(came.wait(10))
    client.will_clear()
    client.publish(f"{level}/will", retain=True, qos=1).wait_for_publish(10)
    client.disconnect()
    client.loop_stop()
