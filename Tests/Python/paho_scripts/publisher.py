"""A thread for the loop, and messages that are waited for."""

import sys
import threading

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
published = []
got = threading.Event()
messages = []


def on_message(client, userdata, message):
    messages.append(message.payload)
    if len(messages) == 400:
        got.set()


def on_publish(client, userdata, mid, reason_code, properties):
    userdata.append(mid)


subscribed = threading.Event()
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, userdata=published)
client.on_publish, client.on_message = on_publish, on_message
client.on_subscribe = lambda *_: subscribed.set()
print(client.loop_stop())  # none runs
client.connect(host, port)
print(client.loop_start(), client.loop_start())
while client.subscribe(level, 1)[0] != mqtt.MQTT_ERR_SUCCESS:
    pass
print(subscribed.wait(10))
infos = [client.publish(level, number, qos=1) for number in range(100)]
for info in infos:
    info.wait_for_publish()
print(all(info.is_published() for info in infos), {info.rc for info in infos})


def publish(number):
    for count in range(100):
        client.publish(level, f"{number}/{count}", qos=count % 2).wait_for_publish(10)


threads = [threading.Thread(target=publish, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(got.wait(10), len(messages), messages[:3])
for number in range(3):
    mine = [m for m in messages if m.startswith(b"%d/" % number)]
    print(number, mine == [b"%d/%d" % (number, count) for count in range(100)])
client.disconnect()
client.loop_stop()  # or has the thread ended by itself?
print(client.loop_stop(), len(published))
info = client.publish(level, "too late")
print(info.rc, mqtt.error_string(info.rc))
