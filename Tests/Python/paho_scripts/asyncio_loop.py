"""In asyncio, by the callbacks for sockets."""

import asyncio
import sys

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


class Helper:
    def __init__(self, loop, client):
        self.loop, self.client, self.misc = loop, client, None
        client.on_socket_open, client.on_socket_close = self.on_socket_open, self.on_socket_close
        client.on_socket_register_write = lambda c, u, sock: loop.add_writer(sock, client.loop_write)
        client.on_socket_unregister_write = lambda c, u, sock: loop.remove_writer(sock)

    def on_socket_open(self, client, userdata, sock):
        self.loop.add_reader(sock, client.loop_read)
        self.misc = self.loop.create_task(self.misc_loop())

    def on_socket_close(self, client, userdata, sock):
        self.loop.remove_reader(sock)
        self.misc.cancel()

    async def misc_loop(self):
        while self.client.loop_misc() == mqtt.MQTT_ERR_SUCCESS:
            await asyncio.sleep(1)


async def main():
    loop = asyncio.get_running_loop()
    left, got, subscribed = loop.create_future(), loop.create_future(), loop.create_future()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_connect = lambda c, u, f, code, p: c.subscribe(level)
    client.on_subscribe = lambda c, u, mid, codes, p: subscribed.set_result(mid)
    client.on_message = lambda c, u, message: got.set_result(message.payload)
    client.on_disconnect = lambda c, u, f, code, p: left.set_result(str(code))
    Helper(loop, client)
    client.connect(host, port)
    print("subscribed", await asyncio.wait_for(subscribed, 10))
    client.publish(level, b"hello" * 20_000, qos=1)
    print("message", len(await asyncio.wait_for(got, 10)))
    client.disconnect()
    print("left:", await asyncio.wait_for(left, 10))


asyncio.run(main())
