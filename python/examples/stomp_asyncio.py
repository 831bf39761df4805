#!/usr/bin/env python3
"""Sends and consumes at the same time: stomp_asyncio.py [URL [QUEUE [COUNT]]]. The loop keeps the connection alive."""

from __future__ import annotations

import asyncio
import sys

from swiftmqtt import stomp
from swiftmqtt.stomp import aio


async def send(client: aio.Client, queue: str, count: int) -> None:
    for number in range(count):
        # Waits for the receipt; other tasks run meanwhile.
        await client.send(queue, f"number {number}", content_type="text/plain", receipt=True)


async def consume(client: aio.Client, count: int) -> None:
    async for message in client.messages:
        print(message.text(), flush=True)
        message.ack()
        count -= 1
        if not count:
            return


async def main(url: str = "stomp://guest:guest@127.0.0.1", queue: str = "/queue/numbers", count: str = "3") -> None:
    async with aio.Client(url) as client:
        await client.subscribe(queue, ack="client-individual")
        await asyncio.gather(send(client, queue, int(count)), consume(client, int(count)))


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (stomp.Error, ValueError) as error:
        sys.exit(f"stomp_asyncio.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
