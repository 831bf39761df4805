"""A class derived from Client, whose methods are the callbacks; user data; a logger."""

import logging
import sys

import paho.mqtt.client as mqtt

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


class Counter(logging.Handler):
    count = 0

    def emit(self, record):
        Counter.count += 1
        record.getMessage()


class Mine(mqtt.Client):
    def on_connect(self, client, userdata, flags, reason_code, properties):
        print("connected", client is self, reason_code)
        self.subscribe(level, 0)

    def on_connect_fail(self, client, userdata):
        print("failed")

    def on_subscribe(self, client, userdata, mid, reason_codes, properties):
        print("subscribed", mid, [code.value for code in reason_codes])
        self.publish(level, userdata)

    def on_message(self, client, userdata, message):
        print("message", message.payload)
        self.disconnect()

    def on_disconnect(self, client, userdata, flags, reason_code, properties):
        print("left", reason_code)


logger = logging.getLogger("mine")
logger.setLevel(logging.DEBUG)
logger.addHandler(Counter())
client = Mine(mqtt.CallbackAPIVersion.VERSION2)
client.enable_logger(logger)
client.user_data_set("mine")
print(client.user_data_get())
client.connect_async(host, port)
client.loop_forever()
print(Counter.count > 4)
client.disable_logger()
client.connect_async(host, 1)
try:
    client.loop_forever()
except ConnectionRefusedError:
    print("refused")
