"""Connect, subscribe in on_connect, print what arrives, leave."""

import sys

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def on_connect(client, userdata, flags, reason_code, properties):
    print("connected", reason_code, reason_code == 0, reason_code.is_failure, flags.session_present)
    client.subscribe(f"{level}/#")
    client.publish(f"{level}/hello", "world")


def on_message(client, userdata, message):
    print(message.topic[len(level) :], message.payload, message.qos, message.retain, message.dup, message.properties)
    client.disconnect()


def on_disconnect(client, userdata, flags, reason_code, properties):
    print("left", flags.is_disconnect_packet_from_server, reason_code, reason_code.value, properties)


client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_connect = on_connect
client.on_message = on_message
client.on_disconnect = on_disconnect
print(client.is_connected())
print(client.connect(host, port, 60))
client.loop_forever()
print(client.is_connected())
