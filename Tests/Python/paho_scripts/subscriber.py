"""Several filters in one SUBSCRIBE, three messages, UNSUBSCRIBE, leave: every version of the callbacks and of MQTT."""

import sys
import warnings

import paho.mqtt.client as mqtt

warnings.simplefilter("ignore")
host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def run(version, protocol):
    print("----", version, protocol.name)
    told = []  # what has no order: acknowledgements and messages cross

    def on_connect(client, userdata, flags, code, *properties):
        print("on_connect", flags, code, *properties and ["properties"])
        print(client.subscribe([(f"{level}/a", 0), (f"{level}/b", 1), (f"{level}/c", 2)]))

    def on_subscribe(client, userdata, mid, codes, *properties):
        print("on_subscribe", mid, [str(code) for code in codes], *map(str, properties))
        for qos, name in enumerate("abc"):
            info = client.publish(f"{level}/{name}", f"with {qos}", qos)
            print("publish", info.rc, info.mid, info[0], info[1], *info)

    def on_publish(client, userdata, mid, *more):
        told.append(("on_publish", mid, *map(str, more)))
        done(client)

    def on_message(client, userdata, message):
        told.append(("on_message", message.payload, message.qos))
        done(client)

    def done(client):
        if len(told) == 6:
            print(*sorted(told), sep="\n")
            print(client.unsubscribe([f"{level}/a", f"{level}/never"]))

    def on_unsubscribe(client, userdata, mid, *more):
        shown = [[str(code) for code in item] if isinstance(item, list) else str(item) for item in more]
        print("on_unsubscribe", mid, *shown)
        print("disconnect", client.disconnect())

    def on_disconnect(client, userdata, *more):
        print("on_disconnect", *map(str, more))

    client = mqtt.Client(version, protocol=protocol)
    client.on_connect, client.on_subscribe, client.on_publish = on_connect, on_subscribe, on_publish
    client.on_message, client.on_unsubscribe, client.on_disconnect = on_message, on_unsubscribe, on_disconnect
    client.connect(host, port)
    client.loop_forever()


for version in (mqtt.CallbackAPIVersion.VERSION1, mqtt.CallbackAPIVersion.VERSION2):
    for protocol in (mqtt.MQTTv31, mqtt.MQTTv311, mqtt.MQTTv5):
        run(version, protocol)
