"""A loop of the program's own, with select(), and one with loop()."""

import select
import sys
import time

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def on_connect(client, userdata, flags, reason_code, properties):
    print("connected", reason_code)
    client.subscribe(level)


def on_subscribe(client, userdata, mid, reason_codes, properties):
    print("subscribed")
    client.publish(level, "x" * 100_000)


def on_message(client, userdata, message):
    print("message", len(message.payload))
    client.disconnect()


def make():
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message
    client.on_socket_open = lambda c, u, s: print("open", s.fileno() > 0)
    client.on_socket_close = lambda c, u, s: print("close", s.fileno() > 0)
    client.on_disconnect = lambda c, u, f, code, p: print("left", code)
    return client


client = make()
print(client.socket(), client.loop_read(), client.loop_write(), client.loop_misc(), client.loop(), client.want_write())
client.connect(host, port)
deadline = time.monotonic() + 20
while client.socket() is not None and time.monotonic() < deadline:
    sock = client.socket()
    readable, writable, _ = select.select([sock], [sock] if client.want_write() else [], [], 0.5)
    if readable:
        client.loop_read()
    if writable:
        client.loop_write()
    client.loop_misc()
print(client.socket())

client = make()
client.connect(host, port)
while client.loop(0.1) == mqtt.MQTT_ERR_SUCCESS and time.monotonic() < deadline:
    pass
print(client.loop(), client.is_connected())
