#!/usr/bin/env python3
"""A thermostat: asyncio_client.py [URL]. One task publishes readings, another takes commands; "off" ends both."""

from __future__ import annotations

import asyncio
import random
import sys

import swiftmqtt
from swiftmqtt import aio


async def publish_readings(client: aio.Client) -> None:
    while True:
        # Waits until the server has it: without a connection, until there is one again.
        await client.publish("thermostat/temperature", round(random.gauss(21, 0.5), 1), qos=1)
        await asyncio.sleep(0.5)


async def take_commands(client: aio.Client) -> None:
    async for message in client.messages:
        command = message.text()
        print("command:", command, flush=True)
        if command == "off":
            return


async def main(url: str = "mqtt://127.0.0.1") -> None:
    async with aio.Client(url) as client:
        await client.subscribe("thermostat/set", qos=1)
        print("ready", flush=True)
        readings = asyncio.ensure_future(publish_readings(client))
        try:
            await take_commands(client)
        finally:
            readings.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (swiftmqtt.Error, ValueError) as error:
        sys.exit(f"asyncio_client.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
