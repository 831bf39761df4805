"""Messages of 1 MB and 20 MB, from each library to each, byte for byte."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from Support.servers import need
from Support.waiting import wait_for

from .programs import Broker, environment

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("large"))
    yield broker
    broker.stop()


@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("way", ["real to ours", "ours to real", "ours to ours"])
def test_large(broker: Broker, our_path: Path, tmp_path: Path, size: int, qos: int, way: str):
    sender, receiver = (environment(library, our_path) for library in way.split(" to "))
    data = hashlib.shake_128(way.encode()).digest(size * MEGABYTE)
    file = tmp_path / "payload"
    file.write_bytes(data)
    since = broker.log.stat().st_size
    options = [*broker.address, "-q", str(qos), "-t", "large"]
    subscriber = subprocess.Popen(
        [need("mosquitto_sub"), *options, "-C", "1", "-N"], env=receiver,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: "Sending SUBACK" in "\n".join(broker.told(since)), "it has subscribed")
        sent = subprocess.run(
            [need("mosquitto_pub"), *options, "-f", file], env=sender, capture_output=True, timeout=30)
        assert (sent.returncode, sent.stdout, sent.stderr) == (0, b"", b"")
        got, said = subscriber.communicate(timeout=30)
    finally:
        subscriber.kill()
        subscriber.wait()
    assert (subscriber.returncode, said, len(got)) == (0, b"", len(data))
    assert got == data
