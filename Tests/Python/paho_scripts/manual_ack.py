"""Messages that the program acknowledges itself; a session that is kept; QoS 1 before the connection."""

import sys
import threading

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
V2 = mqtt.CallbackAPIVersion.VERSION2


def on_connect(client, userdata, flags, reason_code, properties):
    print("session", flags.session_present)
    if not flags.session_present:
        client.subscribe(level, 1)


def on_message(client, userdata, message):
    print(message.payload, message.mid > 0, message.dup)
    if message.dup:  # what was not acknowledged comes again
        print("ack", client.ack(message.mid, message.qos))
    if message.payload == b"second":
        client.disconnect()


def run(client_id):
    client = mqtt.Client(V2, client_id=client_id, clean_session=False, manual_ack=True)
    client.on_connect, client.on_message = on_connect, on_message
    client.connect(host, port)
    return client


client = run(level)
other = mqtt.Client(V2)
print([other.publish(level, text, 1).rc for text in ("first", "second")])  # kept until there is a connection
delivered = threading.Semaphore(0)
other.on_publish = lambda *_: delivered.release()
client.on_subscribe = lambda *_: (other.connect(host, port), other.loop_start())
client.loop_forever()
print(delivered.acquire(timeout=10), delivered.acquire(timeout=10))
other.disconnect()
other.loop_stop()
run(level).loop_forever()
client = mqtt.Client(V2, client_id=level, clean_session=True)
client.connect(host, port)
client.on_connect = lambda c, *_: c.disconnect()
client.loop_forever()
