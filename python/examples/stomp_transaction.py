#!/usr/bin/env python3
"""Answers requests: stomp_transaction.py [URL [QUEUE [COUNT]]]. An answer and the ack of its request take effect together, so
that no request is answered twice, or never, whenever the connection breaks."""

from __future__ import annotations

import sys

from swiftmqtt import stomp


def main(url: str = "stomp://guest:guest@127.0.0.1", queue: str = "/queue/requests", count: str = "1") -> None:
    with stomp.Client(url) as client:
        client.subscribe(queue, ack="client-individual")
        print("ready", flush=True)
        answered = 0
        while answered < int(count):
            request = client.receive()
            if "reply-to" not in request.headers:
                request.ack()  # nobody waits for an answer; refused, RabbitMQ would deliver it again at once
                continue
            try:
                answer(client, request)
                answered += 1
            except stomp.Error as error:
                # The transaction ended with its connection. The server delivers the request again.
                print("not answered:", error, flush=True)


def answer(client: stomp.Client, request: stomp.Message) -> None:
    with client.transaction() as transaction:  # COMMIT at its end, ABORT after an exception
        text = request.text()
        headers = {"correlation-id": request.headers.get("correlation-id", "")}
        transaction.send(request.headers["reply-to"], text.upper(), content_type="text/plain", headers=headers)
        transaction.ack(request)
    print("answered", text, flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (stomp.Error, ValueError, TimeoutError) as error:
        sys.exit(f"stomp_transaction.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
