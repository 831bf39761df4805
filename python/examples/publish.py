#!/usr/bin/env python3
"""Publishes a reading every second: publish.py [URL [COUNT]]. It stays connected, and prints what was delivered."""

from __future__ import annotations

import random
import sys
import time

import swiftmqtt

TOPIC = "greenhouse/temperature"
WILL = swiftmqtt.Will("greenhouse/state", "vanished", qos=1, retain=True)


def main(url: str = "mqtt://127.0.0.1", count: str = "10") -> int:
    status = 0
    with swiftmqtt.Client(url, will=WILL) as client:
        # On each connection: when the last one was lost, the server has published the Will.
        client.on_connected = lambda _: tell(client, "here")
        tell(client, "here")
        try:
            publish_readings(client, int(count))
        except KeyboardInterrupt:
            status = 130
        tell(client, "gone")  # leaving the block waits until it is delivered
    return status


def publish_readings(client: swiftmqtt.Client, count: int) -> None:
    for number in range(count):
        # A dict goes as JSON. When there is no room, because the link is away for long, the oldest reading gives way.
        reading = {"celsius": round(random.gauss(21, 0.5), 1), "at": time.time()}
        token = client.publish(TOPIC, reading, qos=1, expiry_s=3600, overflow=swiftmqtt.Overflow.DROP_OLDEST)
        client.run(1 if number < count - 1 else 0)  # sends it, waits, and stays alive meanwhile
        print("delivered" if token.done and not token.error else "on its way", reading)


def tell(client: swiftmqtt.Client, text: str) -> None:
    client.publish(WILL.topic, text, qos=1, retain=True)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except swiftmqtt.Error as error:
        sys.exit(f"publish.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
