#!/usr/bin/env python3
"""Consumes a queue: stomp_consume.py [URL [QUEUE]], until Ctrl-C. A message that is no JSON is refused."""

from __future__ import annotations

import sys

from swiftmqtt import stomp


def main(url: str = "stomp://guest:guest@127.0.0.1", queue: str = "/queue/readings") -> None:
    with stomp.Client(url) as client:
        # At most ten messages are on their way to this program before their acks: RabbitMQ has a header for that.
        client.subscribe(queue, ack="client-individual", headers={"prefetch-count": 10})
        print("subscribed", flush=True)
        for message in client:  # across reconnects
            try:
                print(message.destination, message.json(), flush=True)
            except ValueError:
                # What becomes of it is up to the server: ActiveMQ has a dead letter queue.
                print("refused", message.body, flush=True)
                message.nack()
            else:
                message.ack()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (stomp.Error, TimeoutError) as error:
        sys.exit(f"stomp_consume.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
