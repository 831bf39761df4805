"""A server that lets nobody in: what on_connect and on_disconnect get, and that the loop tries again."""

import sys
import warnings

import paho.mqtt.client as mqtt

warnings.simplefilter("ignore")
host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def run(version, protocol):
    print("----", version, protocol.name)
    count = []

    def on_connect(client, userdata, flags, code, *properties):
        print("on_connect", flags, code, str(code) if version.value == 2 else "")
        count.append(1)
        if len(count) == 2:
            client.disconnect()

    def on_disconnect(client, userdata, *more):
        print("on_disconnect", *map(str, more[:2]))

    client = mqtt.Client(version, protocol=protocol)
    client.on_connect, client.on_disconnect = on_connect, on_disconnect
    client.username_pw_set("somebody", "wrong")
    client.reconnect_delay_set(min_delay=1, max_delay=1)
    client.connect(host, port)
    client.loop_forever()


for version in (mqtt.CallbackAPIVersion.VERSION1, mqtt.CallbackAPIVersion.VERSION2):
    for protocol in (mqtt.MQTTv311, mqtt.MQTTv5):
        run(version, protocol)
