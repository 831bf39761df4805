"""stomp_core.py URL HOST QUEUE: what each version of Python must be able to do with swiftmqtt.stomp."""

import asyncio
import platform
import sys

from swiftmqtt import stomp
from swiftmqtt.stomp import aio, stomppy

URL, HOST, QUEUE = sys.argv[1:]


def synchronous() -> None:
    with stomp.Client(URL, virtual_host=HOST) as client:
        client.subscribe(QUEUE)
        client.send(QUEUE, "one", headers={"a": 1}, receipt=True, wait=True)
        message = client.receive(30)
        assert (message.text(), message.headers["a"]) == ("one", "1"), message
        with client.transaction() as transaction:
            transaction.send(QUEUE, "two")
        assert next(iter(client)).text() == "two"
    try:
        stomp.Client(URL, outbox_bytes=1)
    except stomp.ArgumentError as error:
        assert "outbox_bytes=1" in str(error)


async def asynchronous() -> None:
    async with aio.Client(URL, virtual_host=HOST) as client:
        await client.subscribe(QUEUE)
        await client.send(QUEUE, "three", receipt=True)
        async for message in client.messages:
            assert message.text() == "three"
            break
        try:
            await client.receive(0.01)
        except TimeoutError:
            pass


def as_stomp_py() -> None:
    connection = stomppy.Connection([("127.0.0.1", int(URL.rpartition(":")[2]))], vhost=HOST)
    connection.connect(wait=True)
    connection.send(QUEUE, "four", receipt="r")
    connection.disconnect()


synchronous()
asyncio.run(asynchronous())
as_stomp_py()
print(f"all well with {platform.python_version()}")
