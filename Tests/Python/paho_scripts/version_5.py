"""MQTT 5.0: properties of every kind, subscription options, reason codes."""

import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import MQTTException, Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

host, port, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def on_connect(client, userdata, flags, reason_code, properties):
    print("connected", flags, reason_code, hasattr(properties, "ReceiveMaximum"))
    asked = Properties(PacketTypes.SUBSCRIBE)
    asked.SubscriptionIdentifier = 7
    asked.UserProperty = ("why", "test")
    never = SubscribeOptions.RETAIN_DO_NOT_SEND
    options = SubscribeOptions(qos=2, noLocal=False, retainAsPublished=True, retainHandling=never)
    print(options, options.pack(), options.json())
    client.subscribe(level, options=options, properties=asked)
    client.subscribe((f"{level}/no-local", SubscribeOptions(noLocal=True)))


def on_subscribe(client, userdata, mid, reason_codes, properties):
    print("subscribed", mid, reason_codes, properties)
    if mid == 2:
        given = Properties(PacketTypes.PUBLISH)
        given.PayloadFormatIndicator = 1
        given.ContentType = "text/plain"
        given.MessageExpiryInterval = 1000
        given.ResponseTopic = f"{level}/answer"
        given.CorrelationData = b"\0\1\2"
        given.UserProperty = ("a", "1")
        given.UserProperty = [("b", "2"), ("a", "3")]
        client.publish(f"{level}/no-local", "nobody gets this")
        client.publish(level, "payload", 1, retain=True, properties=given)


def on_message(client, userdata, message):
    print(message.topic == level, message.payload, message.retain)
    message.properties.ResponseTopic = message.properties.ResponseTopic[len(level) :]
    print(message.properties)
    print(message.properties.json())
    print(message.properties.UserProperty, message.properties.SubscriptionIdentifier, message.properties.isEmpty())
    client.publish(level, b"", retain=True) if message.payload else client.disconnect(
        ReasonCode(PacketTypes.DISCONNECT, "Disconnect with will message"), properties=goodbye
    )


goodbye = Properties(PacketTypes.DISCONNECT)
goodbye.SessionExpiryInterval = 0
goodbye.ReasonString = "enough"


def on_message_empty(client, userdata, message):
    if message.payload:
        on_message(client, userdata, message)
    else:
        print("cleared", message.properties)
        print(client.disconnect(ReasonCode(PacketTypes.DISCONNECT, "Disconnect with will message"), properties=goodbye))


will = Properties(PacketTypes.WILLMESSAGE)
will.WillDelayInterval = 0
will.UserProperty = ("last", "words")
connecting = Properties(PacketTypes.CONNECT)
connecting.SessionExpiryInterval = 30
connecting.RequestProblemInformation = 1
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=level, protocol=mqtt.MQTTv5)
client.will_set(f"{level}/will", "gone", 1, properties=will)
client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message_empty
client.on_disconnect = lambda c, u, flags, code, properties: print("left", flags, code, properties)
client.connect(host, port, clean_start=True, properties=connecting)
client.loop_forever()

for wrong in ("NoSuchThing", "ReasonString"):
    try:
        setattr(Properties(PacketTypes.PUBLISH), wrong, "x")
    except MQTTException as error:
        print(type(error).__name__, wrong)
for name, value in (("TopicAlias", 0), ("SubscriptionIdentifier", 0), ("PayloadFormatIndicator", 2)):
    try:
        setattr(Properties(PacketTypes.PUBLISH), name, value)
    except MQTTException as error:
        print(error)
packed = will.pack()
print(packed, Properties(PacketTypes.WILLMESSAGE).unpack(packed)[1])
for code in (ReasonCode(PacketTypes.SUBACK, identifier=2), ReasonCode(PacketTypes.CONNACK, "Not authorized")):
    print(code, repr(code), code.value, code == code.value, code == str(code), code > 1, code.is_failure, code.pack())
for wrong in (lambda: ReasonCode(PacketTypes.SUBACK, "Success"), lambda: ReasonCode(PacketTypes.PUBACK, identifier=4)):
    try:
        wrong()
    except (KeyError, ValueError) as error:
        print("no such reason code")
try:
    SubscribeOptions(qos=3)
except AssertionError:
    print("QoS 3")
