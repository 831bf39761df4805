#!/usr/bin/env python3
"""What crosses the link: IP packets and bytes, both directions, of each thing a client does.

Between libswiftmqtt (build/native) and a private Mosquitto on the loopback, IPv4, counted where the packets pass, TCP's
acknowledgements included. Needs root or CAP_NET_RAW. docs/recipes/lte.md has the table this prints."""

from __future__ import annotations

import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests"))
from Support import smq  # noqa: E402
from Support.servers import Mosquitto  # noqa: E402

IPV4 = 0x0800
QUIET_S = 0.3  # a delayed acknowledgement comes after 40 ms


class Tap:
    """Counts the packets of a TCP port."""

    def __init__(self, port: int):
        self.port, self.packets, self.bytes = port, 0, 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(IPV4))
        self.socket.bind(("lo", IPV4))
        threading.Thread(target=self.count, daemon=True).start()

    def count(self) -> None:
        while True:
            data = self.socket.recv(65536)  # as they come in: on their way out only ETH_P_ALL sees them
            header = (data[0] & 15) * 4
            if self.port in struct.unpack_from("!HH", data, header):
                self.packets += 1
                self.bytes += int.from_bytes(data[2:4], "big")

    def of(self, what: str, act: object, client: smq.Client) -> None:
        packets, size, before = self.packets, self.bytes, client.stats
        act()
        client.run(QUIET_S)
        after = client.stats
        mqtt = after.bytes_sent - before.bytes_sent + after.bytes_received - before.bytes_received
        print(f"| {what} | {mqtt} | {self.packets - packets} | {self.bytes - size} |", flush=True)


def measure(tap: Tap, url: str, version: str, more: dict[str, object]) -> None:
    client = smq.Client(url=url, client_id="meter-000042", **more)
    topic, payload = "meters/000042/wh", b"x" * 64

    def publish(qos: int, count: int = 1) -> None:
        for _ in range(count):
            assert client.publish(topic, payload, qos=qos, quiet=1) == smq.OK
        client.run(QUIET_S)

    tap.of(f"connect, {version}", client.connected, client)
    for qos in (0, 1, 2):
        tap.of(f"64 bytes to a topic of 16, QoS {qos}", lambda: publish(qos), client)
    tap.of("ten of these in one piece, QoS 1", lambda: publish(1, 10), client)
    tap.of("PINGREQ and PINGRESP", lambda: client.hint_network(1), client)
    tap.of("leave", lambda: client.disconnect(0), client)
    client.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        broker = Mosquitto(Path(directory), log_type="error", set_tcp_nodelay="false")
        broker.start()
        try:
            tap = Tap(broker.port)
            print("| what | bytes of MQTT | IP packets | bytes of IP |\n|---|--:|--:|--:|")
            measure(tap, broker.url, "3.1.1", {})
            aliases = dict(protocol=smq.PROTOCOL_5_0, topic_aliases_out=4)
            measure(tap, broker.url, "5.0, a Topic Alias for the topic", aliases)
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
