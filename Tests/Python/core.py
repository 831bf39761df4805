"""What has to work under every version of Python: core.py URL LEVEL. Each client publishes, and gets it back."""

import asyncio
import platform
import sys
import threading

import swiftmqtt
import swiftmqtt.aio
import swiftmqtt.paho.client
import swiftmqtt.paho.publish
import swiftmqtt.paho.subscribe

READING = {"temperature": 21.5, "unit": "°C"}
url, level = sys.argv[1:]


def synchronous():
    with swiftmqtt.Client(url) as client:
        client.subscribe(f"{level}/+", qos=2).wait(10)
        for qos in (0, 1, 2):
            client.publish(f"{level}/{qos}", READING, qos=qos).wait(10)
            message = client.receive(10)
            assert (message.topic, message.qos, message.json()) == (f"{level}/{qos}", qos, READING)
            assert message.properties.content_type == "application/json"
        future = client.submit(f"{level}/any-thread", "text", qos=1)
        assert client.receive(10).text() == "text"
        client.run(0.05)
        assert future.result(10).reason_code == 0


def refused():
    for wrong in (lambda: swiftmqtt.Client("http://here"), lambda: swiftmqtt.topic_name_check("a/#")):
        try:
            wrong()
        except swiftmqtt.ArgumentError:
            continue
        raise AssertionError("that is no URL, and no Topic Name")


async def asynchronous():
    async with swiftmqtt.aio.Client(url) as client:
        await client.subscribe(f"{level}/asyncio", qos=1)
        await asyncio.gather(*(client.publish(f"{level}/asyncio", number, qos=1) for number in range(100)))
        came = []
        async for message in client.messages:
            came.append(message.json())
            if len(came) == 100:
                break
        assert came == list(range(100))
        try:
            await asyncio.wait_for(client.receive(), 0.05)
        except asyncio.TimeoutError:
            pass


def paho():
    mqtt = swiftmqtt.paho.client
    came, done = [], threading.Event()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)

    def on_message(client, userdata, message):
        came.append((message.topic, message.payload, message.properties.ContentType))
        done.set()

    def on_subscribe(client, userdata, mid, codes, properties):
        sent = swiftmqtt.paho.Properties(swiftmqtt.paho.PacketTypes.PUBLISH)
        sent.ContentType = "text/plain"
        client.publish(f"{level}/paho", "by callback", 1, properties=sent)

    client.on_connect = lambda client, userdata, flags, code, properties: client.subscribe(f"{level}/paho", 1)
    client.on_subscribe, client.on_message = on_subscribe, on_message
    host, port = url[len("mqtt://") :].rsplit(":", 1)
    client.connect(host, int(port))
    client.loop_start()
    assert done.wait(10)
    client.disconnect()
    client.loop_stop()
    assert came == [(f"{level}/paho", b"by callback", "text/plain")]
    swiftmqtt.paho.publish.single(f"{level}/kept", "kept", 1, True, host, int(port))
    assert swiftmqtt.paho.subscribe.simple(f"{level}/kept", hostname=host, port=int(port)).payload == b"kept"


synchronous()
refused()
asyncio.run(asynchronous())
paho()
print("all well with", platform.python_version())
