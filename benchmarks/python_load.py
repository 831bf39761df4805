"""One run of a Python client against the sink: python_load.py PEER publish|receive QOS MESSAGES PORT CONTROL.

Prints what it measured as JSON. The sink counts what it has received, or what was acknowledged to it; a run that it
counts otherwise has failed. python_peers.py runs this."""

from __future__ import annotations

import asyncio
import json
import logging
import pathlib
import resource
import socket
import struct
import sys
import threading
import time

# As sink.h has them.
RESET, BLAST, COUNT = 1, 2, 3
TOPIC = "plant/line/03/mV"
#: Messages that the sink has unacknowledged, which is what Mosquitto has by default.
WINDOW = 20
PAYLOAD = b"x" * 64
PATIENCE_S = 120

HERE = pathlib.Path(__file__).resolve().parent


class Control:
    """What the sink is asked."""

    def __init__(self, path: str, qos: int):
        self.qos = qos
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE_S)

    def request(self, what: int, messages: int = 0, acknowledged: int = 0) -> None:
        self.socket.send(struct.pack("=IIIIQQ", what, self.qos, WINDOW, len(PAYLOAD), messages, acknowledged))

    def counts(self) -> dict[str, int]:
        names = ("messages", "message_bytes", "acknowledged", "connections", "farewells", "pings", "mistakes", "reads",
                 "first_ns", "last_ns")
        found = dict(zip(names, struct.unpack("=10Q", self.socket.recv(80))))
        if found["mistakes"]:
            raise SystemExit(f"{found['mistakes']} mistakes, says the sink")
        return found

    def ask(self, what: int, messages: int = 0, acknowledged: int = 0) -> dict[str, int]:
        self.request(what, messages, acknowledged)
        return self.counts()


class Clock:
    """Wall time and CPU time of this process, from begin() to end()."""

    def begin(self) -> None:
        self.wall, self.cpu = time.monotonic_ns(), cpu_ns()

    def end(self) -> dict[str, int]:
        return {"wall_ns": time.monotonic_ns() - self.wall, "cpu_ns": cpu_ns() - self.cpu}


def cpu_ns() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


# ---- The workloads: what is measured ends when the sink has all, and the program was told of all.


def swiftmqtt_publish(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    import swiftmqtt

    with swiftmqtt.Client(f"mqtt://127.0.0.1:{port}", outbox_bytes=1 << 20, outbox_messages=8192) as client:
        clock.begin()
        last = None
        for _ in range(n):
            last = client.publish(TOPIC, PAYLOAD, qos=qos, timeout=None)
        last.wait()
        control.ask(COUNT, n)


def swiftmqtt_receive(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    import swiftmqtt

    with swiftmqtt.Client(f"mqtt://127.0.0.1:{port}") as client:
        client.subscribe("#", qos=qos)
        clock.begin()
        control.request(BLAST, n)
        for _ in range(n):
            client.receive()
        control.counts()
        control.ask(COUNT, 0, n if qos else 0)


def asyncio_publish(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    import swiftmqtt
    from swiftmqtt import aio

    async def main() -> None:
        async with aio.Client(f"mqtt://127.0.0.1:{port}", outbox_bytes=1 << 20, outbox_messages=8192) as client:
            clock.begin()
            last = client.publish_soon(TOPIC, PAYLOAD, qos=qos)
            for _ in range(n - 1):
                try:
                    last = client.publish_soon(TOPIC, PAYLOAD, qos=qos)
                except swiftmqtt.NoRoomError:
                    last = asyncio.ensure_future(client.publish(TOPIC, PAYLOAD, qos=qos))
                    await last
            await last
            control.ask(COUNT, n)

    asyncio.run(main())


async def take_all(client, control: Control, qos: int, n: int, clock: Clock) -> None:
    """As swiftmqtt.aio and aiomqtt have it."""
    await client.subscribe("#", qos=qos)
    clock.begin()
    control.request(BLAST, n)
    left = n
    async for _ in client.messages:
        left -= 1
        if left == 0:
            break
    control.counts()
    await asyncio.get_running_loop().run_in_executor(None, control.ask, COUNT, 0, n if qos else 0)


def asyncio_receive(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    from swiftmqtt import aio

    async def main() -> None:
        async with aio.Client(f"mqtt://127.0.0.1:{port}") as client:
            await take_all(client, control, qos, n, clock)

    asyncio.run(main())


def aiomqtt_publish(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    """As many at a time as it has in flight: it has no call that does not wait."""
    import aiomqtt

    async def main() -> None:
        async with aiomqtt.Client("127.0.0.1", port) as client:
            clock.begin()
            for begin in range(0, n, WINDOW):
                count = min(WINDOW, n - begin)
                await asyncio.gather(*(client.publish(TOPIC, PAYLOAD, qos, timeout=PATIENCE_S) for _ in range(count)))
            control.ask(COUNT, n)

    logging.disable(logging.WARNING)  # that so many calls are pending
    asyncio.run(main())


def aiomqtt_receive(port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    import aiomqtt

    async def main() -> None:
        async with aiomqtt.Client("127.0.0.1", port) as client:
            await take_all(client, control, qos, n, clock)

    asyncio.run(main())


def paho_client(module, port: int):
    from importlib import import_module

    mqtt = import_module(module)
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    connected = threading.Event()
    client.on_connect = lambda *_: connected.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    if not connected.wait(10):
        raise SystemExit("not connected")
    return client


def paho_publish(module: str, port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    client = paho_client(module, port)
    published, left = threading.Event(), [n]

    def on_publish(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            published.set()

    client.on_publish = on_publish
    clock.begin()
    for _ in range(n):
        client.publish(TOPIC, PAYLOAD, qos)
    if not published.wait(PATIENCE_S):
        raise SystemExit(f"{left[0]} messages are not published")
    control.ask(COUNT, n)
    client.disconnect()
    client.loop_stop()


def paho_receive(module: str, port: int, control: Control, qos: int, n: int, clock: Clock) -> None:
    client = paho_client(module, port)
    subscribed, arrived, left = threading.Event(), threading.Event(), [n]

    def on_message(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            arrived.set()

    client.on_message = on_message
    client.on_subscribe = lambda *_: subscribed.set()
    client.subscribe("#", qos)
    if not subscribed.wait(10):
        raise SystemExit("not subscribed")
    clock.begin()
    control.request(BLAST, n)
    if not arrived.wait(PATIENCE_S):
        raise SystemExit(f"{left[0]} messages have not arrived")
    control.counts()
    control.ask(COUNT, 0, n if qos else 0)
    client.disconnect()
    client.loop_stop()


def of_paho(module: str, run):
    return lambda *arguments: run(module, *arguments)


PEERS = {
    "swiftmqtt": {"publish": swiftmqtt_publish, "receive": swiftmqtt_receive},
    "swiftmqtt.aio": {"publish": asyncio_publish, "receive": asyncio_receive},
    "aiomqtt": {"publish": aiomqtt_publish, "receive": aiomqtt_receive},
    **{
        name: {"publish": of_paho(module, paho_publish), "receive": of_paho(module, paho_receive)}
        for name, module in {"swiftmqtt.paho": "swiftmqtt.paho.client", "paho-mqtt": "paho.mqtt.client"}.items()
    },
}


def main() -> None:
    peer, workload, qos, n, port, path = sys.argv[1:]
    sys.path.insert(0, str(HERE.parent / "python"))
    control, clock = Control(path, int(qos)), Clock()
    control.ask(RESET)
    PEERS[peer][workload](int(port), control, int(qos), int(n), clock)
    counts = control.ask(COUNT)
    expected = int(n) if workload == "publish" else 0
    if counts["messages"] != expected:
        raise SystemExit(f"{counts['messages']} messages arrived, not {expected}")
    print(json.dumps({**clock.end(), "n": int(n)}))


if __name__ == "__main__":
    main()
