#!/usr/bin/env python3
"""A program for paho-mqtt with another import: paho_client.py [HOST [PORT]]."""

from __future__ import annotations

import sys
from typing import Any

import swiftmqtt.paho.client as mqtt  # was: import paho.mqtt.client as mqtt


def on_connect(client: mqtt.Client, userdata: Any, flags: Any, reason_code: Any, properties: Any) -> None:
    print("connected:", reason_code)
    # Here, so that a new connection subscribes again.
    client.subscribe("greenhouse/#", qos=1)


def on_subscribe(client: mqtt.Client, userdata: Any, mid: int, reason_codes: Any, properties: Any) -> None:
    client.publish("greenhouse/door", "open", qos=1)


def on_message(client: mqtt.Client, userdata: Any, message: mqtt.MQTTMessage) -> None:
    print(message.topic, message.payload.decode(errors="replace"), flush=True)
    if message.topic == "greenhouse/door":
        client.disconnect()


def main(host: str = "127.0.0.1", port: str = "1883") -> None:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message
    client.connect(host, int(port))
    client.loop_forever()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"paho_client.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
