"""Payloads by reference: publish_reference()."""

from __future__ import annotations

import array
import asyncio
import gc
import mmap
import subprocess
import sys
import warnings
import weakref

import pytest
import swiftmqtt
from swiftmqtt import Client, Status, aio

LARGE = bytes(range(256)) * 20_000  # larger than the outbox


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_they_arrive(server, level, qos, tmp_path):
    (tmp_path / "file").write_bytes(LARGE)
    with open(tmp_path / "file", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        with Client(server.url) as client:
            client.subscribe(level, qos).wait(5)
            for buffer in (LARGE, bytearray(LARGE), memoryview(LARGE)[7:], mapped, array.array("I", LARGE), b""):
                client.publish_reference(level, buffer, qos=qos).wait(20)
                assert client.receive(20).payload == bytes(buffer)
    # It was closed: nothing has it any more.


def test_the_buffer_is_kept_and_given_back(server, level):
    payload = bytearray(LARGE)
    with Client(server.url) as client:
        token = client.publish_reference(level, payload, qos=1)
        token.wait(20)
        payload += b"x"
        gone = weakref.ref(given := array.array("B", LARGE))
        token = client.publish_reference(level, given, qos=1)
        del given
        token.wait(20)
        gc.collect()
        assert gone() is None
    client = Client(server.url)  # not connected
    token = client.publish_reference(level, payload, qos=1)
    with pytest.raises(BufferError):
        payload += b"x"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
        client.close()
    assert isinstance(token.error, swiftmqtt.ClosedError)
    payload += b"x"


def test_it_is_sent_again_on_the_next_connection(level, tmp_path):
    from Support.servers import Mosquitto

    server = Mosquitto(tmp_path)
    server.start()
    try:
        with Client(server.url, reconnect_min_ms=10, reconnect_max_ms=50) as client:
            token = client.publish_reference(level, LARGE, qos=1, retain=True)
            server.stop()
            server.start()
            token.wait(20)
            client.subscribe(level, 1).wait(10)
            assert client.receive(10).payload == LARGE
    finally:
        server.stop()


def test_there_are_so_many_at_a_time(level):
    payload = bytearray(b"payload")
    client = Client("mqtt://127.0.0.1:1", references=2)
    for _ in range(2):
        client.publish_reference(level, b"payload")
    with pytest.raises(swiftmqtt.NoRoomError):
        client.publish_reference(level, payload)
    payload += b"it was given back"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
        client.close()


def test_what_is_refused(level):
    payload = bytearray(b"payload")
    client = Client("mqtt://127.0.0.1:1", references=0)
    with pytest.raises(swiftmqtt.ArgumentError, match="needs the option references, which is 0"):
        client.publish_reference(level, payload)
    client.close()
    client = Client("mqtt://127.0.0.1:1")
    for wrong in ("text", 5, None, {}, memoryview(b"payload")[::2]):
        with pytest.raises(swiftmqtt.ArgumentError, match="a payload by reference is bytes"):
            client.publish_reference(level, wrong)
    for more in ({"quiet": True}, {"urgent": True}, {"overflow": swiftmqtt.Overflow.LATEST}):
        with pytest.raises(swiftmqtt.ArgumentError):
            client.publish_reference(level, payload, **more)
    with mmap.mmap(-1, 268_435_456) as large, pytest.raises(swiftmqtt.ArgumentError) as told:
        client.publish_reference(level, large)
    assert told.value.status == Status.TOO_LARGE
    assert "268,435,456 bytes, and a message of MQTT has at most 268,435,455" in str(told.value)
    payload += b"it was given back"
    client.close()
    with pytest.raises(swiftmqtt.ClosedError):
        client.publish_reference(level, payload)


def test_asyncio(server, level):
    async def main() -> None:
        payload = bytearray(LARGE)
        async with aio.Client(server.url, references=1) as client:
            await client.subscribe(level, 1)
            answers = await asyncio.gather(*(client.publish_reference(level, payload, qos=1) for _ in range(3)))
            assert [answer.reason_code for answer in answers] == [0, 0, 0]
            for _ in range(3):
                assert (await client.receive()).payload == payload
            task = asyncio.ensure_future(client.publish_reference(level, payload, qos=1))
            await asyncio.sleep(0)
            task.cancel()
            assert (await client.receive()).payload == payload  # it was on its way
        payload += b"x"

    asyncio.run(main())


def test_no_copy_is_made(server, level, environment):
    """The pages of this payload are all the kernel's page of zeros, so that only a copy would take memory."""
    code = f"""
import mmap, resource, swiftmqtt
payload = mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
with swiftmqtt.Client({server.url!r}) as client:
    client.publish({level!r}, qos=1).wait(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    client.publish_reference({level!r}, payload, qos=1).wait(30)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 4_000  # kilobytes
