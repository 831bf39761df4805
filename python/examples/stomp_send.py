#!/usr/bin/env python3
"""Sends readings to a queue: stomp_send.py [URL [QUEUE [COUNT]]]. It prints what the server has confirmed."""

from __future__ import annotations

import json
import random
import sys

from swiftmqtt import stomp


def main(url: str = "stomp://guest:guest@127.0.0.1", queue: str = "/queue/readings", count: str = "3") -> None:
    with stomp.Client(url) as client:
        for number in range(int(count)):
            reading = {"number": number, "celsius": round(random.gauss(21, 0.5), 1)}
            # wait=True returns when the server has confirmed it. RabbitMQ keeps it on its disk, because it is persistent.
            client.send(
                queue,
                json.dumps(reading),
                content_type="application/json",
                headers={"persistent": "true"},
                receipt=True,
                wait=True,
            )
            print("confirmed", reading, flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (stomp.Error, ValueError, TimeoutError) as error:
        sys.exit(f"stomp_send.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
