#!/usr/bin/env python3
"""stomp_python_load.py PEER WAY N PORT: one run of a Python client of STOMP, as stomp_load.c is one of a C client. It prints the
same line of JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import threading
import time

BODY = b"0123456789012345678901234567890123456789012345678901234567890123"
QUEUE = "/queue/bench"
PORT = int(sys.argv[4]) if len(sys.argv) == 5 else 0


def cpu_ns() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def rss() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Measured:
    def __init__(self, count: int):
        self.count = count

    def __enter__(self) -> None:
        self.rss, self.wall, self.cpu = rss(), time.monotonic_ns(), cpu_ns()

    def __exit__(self, *_: object) -> None:
        cpu, wall = cpu_ns() - self.cpu, time.monotonic_ns() - self.wall
        print(json.dumps({"n": self.count, "wall_ns": wall, "cpu_ns": cpu, "rss_bytes": rss() - self.rss, "client_bytes": 0}))


def synchronous(way: str, count: int) -> None:
    from swiftmqtt.stomp import Client

    client = Client(f"stomp://127.0.0.1:{PORT}")
    if way == "clients":
        with Measured(count):
            clients = [Client(f"stomp://127.0.0.1:{PORT}") for _ in range(count)]
            for each in clients:
                each.connect(10)
        return
    client.connect(10)
    with Measured(count):
        if way == "send":
            for number in range(count):
                client.send(QUEUE, BODY, quiet=True)
                if number % 64 == 63:
                    client.service()
        else:
            client.subscribe(QUEUE, headers={"count": count}, wait=False)
            for _ in range(count):
                assert len(client.receive().body) == len(BODY)
        client.disconnect(drain_ms=60_000)


async def asynchronous(way: str, count: int) -> None:
    from swiftmqtt.stomp import aio

    client = aio.Client(f"stomp://127.0.0.1:{PORT}")
    await client.connect(10)
    with Measured(count):
        if way == "send":
            for number in range(count):
                await client.send(QUEUE, BODY)
        else:
            subscribing = asyncio.ensure_future(client.subscribe(QUEUE, headers={"count": count}))
            left = count
            async for message in client.messages:
                assert len(message.body) == len(BODY)
                left -= 1
                if not left:
                    break
            await subscribing
        await client.disconnect(drain_ms=60_000)


def as_stomp_py(stomp: object, way: str, count: int) -> None:
    done = threading.Event()

    class Listener(stomp.ConnectionListener):
        left = count

        def on_message(self, frame: object) -> None:
            assert len(frame.body) == len(BODY)
            self.left -= 1
            if not self.left:
                done.set()

        def on_receipt(self, frame: object) -> None:
            if frame.headers["receipt-id"] == "bye":
                ended.set()

    def connect() -> object:
        made = stomp.Connection12([("127.0.0.1", PORT)], auto_decode=False)
        made.set_listener("it", Listener())
        made.connect(wait=True)
        return made

    ended = threading.Event()
    if way == "clients":
        connect()
        with Measured(count):
            kept = [connect() for _ in range(count)]
        os._exit(0 if kept and not sys.stdout.flush() else 1)
    connection = connect()
    with Measured(count):
        if way == "send":
            for _ in range(count):
                connection.send(QUEUE, BODY)
        else:
            connection.subscribe(QUEUE, id="0", headers={"count": str(count)})
            done.wait()
        connection.disconnect(receipt="bye")
        ended.wait()


def main(peer: str, way: str, count: int) -> None:
    if peer == "swiftmqtt.stomp":
        synchronous(way, count)
    elif peer == "swiftmqtt.stomp.aio":
        asyncio.run(asynchronous(way, count))
    elif peer == "swiftmqtt.stomp.stomppy":
        from swiftmqtt.stomp import stomppy

        as_stomp_py(stomppy, way, count)
    else:
        import stomp

        as_stomp_py(stomp, way, count)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
