"""trace(): the last packets that went over a client's connections."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

import swiftmqtt
from Support.servers import Mosquitto
from swiftmqtt.aio import Client as AsyncClient
from swiftmqtt.constants import Status


def test_a_trace(server: Mosquitto, level: str) -> None:
    url = f"mqtt://user:secret@127.0.0.1:{server.port}"
    with swiftmqtt.Client(url, trace_bytes=4096) as client:
        client.publish(level, b"payload", qos=1).wait(10)
        packets = client.trace()
        assert [str(packet).split(",")[0] for packet in packets] == [
            "sent CONNECT", "received CONNACK", "sent PUBLISH", "received PUBACK",
        ]
        assert packets[2].data.endswith(b"payload") and packets[2].length == len(packets[2].data)
        assert b"user" in packets[0].data and b"secret" not in packets[0].data
        assert 0 <= int(time.monotonic() * 1000) % 2**32 - packets[2].time_ms < 60_000
        client.clear_trace()
        assert client.trace() == []


def test_asyncio(server: Mosquitto, level: str) -> None:
    async def run() -> list[str]:
        async with AsyncClient(f"mqtt://127.0.0.1:{server.port}", trace_bytes=4096) as client:
            await client.publish(level, "x", qos=1)
            return [packet.name for packet in client.trace()]

    assert asyncio.run(run()) == ["CONNECT", "CONNACK", "PUBLISH", "PUBACK"]


def test_without_a_trace() -> None:
    with contextlib.closing(swiftmqtt.Client("mqtt://127.0.0.1:1")) as client:
        for call in (client.trace, client.clear_trace):
            with pytest.raises(swiftmqtt.ArgumentError) as refused:
                call()
            assert refused.value.status == Status.NOT_SUPPORTED
    with pytest.raises(swiftmqtt.ArgumentError):
        swiftmqtt.Client("mqtt://127.0.0.1:1", trace_packet_bytes=5)
