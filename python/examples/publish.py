#!/usr/bin/env python3
"""Publishes a reading every second: publish.py [URL [COUNT]]. It stays connected, and knows what was delivered."""

from __future__ import annotations

import random
import sys
import time

import swiftmqtt

TOPIC = "greenhouse/temperature"


def main(url: str = "mqtt://127.0.0.1", count: str = "10") -> None:
    farewell = swiftmqtt.Will("greenhouse/state", "vanished", qos=1, retain=True)
    with swiftmqtt.Client(url, will=farewell) as client:
        client.publish("greenhouse/state", "here", qos=1, retain=True)
        for number in range(int(count)):
            # A dict goes as JSON. When there is no room, because the link is away for long, the oldest reading gives
            # way.
            reading = {"celsius": round(random.gauss(21, 0.5), 1), "at": time.time()}
            token = client.publish(TOPIC, reading, qos=1, expiry_s=3600, overflow=swiftmqtt.Overflow.DROP_OLDEST)
            client.run(1 if number < int(count) - 1 else 0)  # sends it, waits, and stays alive meanwhile
            print("delivered" if token.done and not token.error else "on its way", reading)
        client.publish("greenhouse/state", "gone", qos=1, retain=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except swiftmqtt.Error as error:
        sys.exit(f"publish.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
