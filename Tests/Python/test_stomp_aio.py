"""swiftmqtt.stomp.aio.Client: with CoilMQ, and with a scripted server for what a real one does not do."""

from __future__ import annotations

import asyncio
import time
import uuid

import pytest

from swiftmqtt import stomp
from swiftmqtt.stomp import Completes, State, Status
from swiftmqtt.stomp.aio import Client

from .stomp_servers import Connection, Scripted
from Support.waiting import PATIENCE


@pytest.fixture
def queue() -> str:
    """A queue of this test's own."""
    return f"/queue/{uuid.uuid4()}"


def serve(connection: Connection) -> None:
    connection.accept()
    connection.serve()


def test_with_a_real_server(coilmq, queue):
    async def main() -> None:
        async with Client(coilmq.url, virtual_host=coilmq.virtual_host) as client:
            assert client.is_connected and client.version == stomp.Version.STOMP_1_2
            number = await client.subscribe(queue)
            await client.send(queue, "hällo", content_type="text/plain", headers={"a": 1}, receipt=True)
            message = await client.receive(PATIENCE)
            assert message.text() == "hällo" and message.subscription == number and message.headers["a"] == "1"
            async with client.transaction() as transaction:
                await transaction.send(queue, "in it")
            assert (await client.receive(PATIENCE)).text() == "in it"
            with pytest.raises(ZeroDivisionError):
                async with client.transaction() as transaction:
                    await transaction.send(queue, "never")
                    1 / 0
            await client.unsubscribe(number)
            with pytest.raises(TimeoutError):
                await client.receive(0.05)
        assert client.closed
        with pytest.raises(stomp.ClosedError):
            await client.send(queue)

    asyncio.run(main())


def test_acknowledgements(coilmq, queue):
    async def main() -> None:
        async with Client(coilmq.url, virtual_host=coilmq.virtual_host, newest=stomp.Version.STOMP_1_1) as client:
            await client.subscribe(queue, "client-individual")
            for number in range(20):
                await client.send(queue, str(number), receipt=True)
            at = 0
            async for message in client.messages:
                assert message.text() == str(at)
                message.ack()
                at += 1
                if at == 20:
                    break

    asyncio.run(main())


def test_acknowledgements_with_headers():
    def script(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        for number in range(3):
            connection.write("MESSAGE", b"m", subscription=0, message_id=number, ack=f"a{number}", destination="/q")
        assert connection.expect("NACK").headers == {"id": "a0", "requeue": "false"}
        assert connection.expect("ACK").headers == {"id": "a1", "x": "y"}
        assert connection.expect("BEGIN").headers == {"transaction": "1"}
        assert connection.expect("NACK").headers == {"id": "a2", "transaction": "1", "requeue": "false"}
        connection.serve()

    async def main(url: str) -> None:
        async with Client(url) as client:
            await client.subscribe("/q", "client-individual")
            client.nack(await client.receive(PATIENCE), headers={"requeue": "false"})
            (await client.receive(PATIENCE)).ack(headers={"x": "y"})
            last = await client.receive(PATIENCE)
            async with client.transaction() as transaction:
                transaction.nack(last, headers={"requeue": "false"})

    with Scripted(script) as server:
        asyncio.run(main(server.url))


def test_many_at_once():
    async def main(url: str) -> None:
        async with Client(url, outbox_bytes=20_000) as client:
            await asyncio.gather(*(client.send("/q", str(n) * 100, receipt=n % 2 == 0) for n in range(500)))
            assert client.unfinished == 0

    with Scripted(serve) as server:
        asyncio.run(main(server.url))
    bodies = [frame.body for frame in server.heard if frame.command == "SEND"]
    assert bodies == [str(n).encode() * 100 for n in range(500)]


def test_waiting_for_room_without_a_connection_takes_no_time():
    async def main(url: str) -> None:
        client = Client(url, outbox_bytes=2000)
        tasks = [asyncio.ensure_future(client.send("/q", b"x" * 1500)) for _ in range(20)]
        await asyncio.sleep(0.1)
        begun = time.process_time()
        await asyncio.sleep(0.5)
        assert time.process_time() - begun < 0.25
        assert not any(task.done() for task in tasks) and client.unfinished == 1
        await client.connect()
        await asyncio.gather(*tasks)
        await client.disconnect()
        client.close()

    with Scripted(serve) as server:
        asyncio.run(main(server.url))


def test_events():
    async def main(url: str) -> None:
        async with Client(url) as client:
            client.send_soon("/q", "a", cookie=5, receipt=True)
            event = await client.next_event(PATIENCE)
            assert event == stomp.Completed(Completes.SEND, Status.OK, 5, -1, None)
            client.send_soon("/q", "b", receipt=True)
            assert await client.next_event(0.05) is None
            taking = asyncio.ensure_future(anext_of(client.events))
            await asyncio.sleep(0.01)
            await client.disconnect()
            assert (await taking).status == 0  # Disconnected, as the program asked for it
            with pytest.raises(StopAsyncIteration):
                await anext_of(client.events)

    async def anext_of(events):
        return await events.__anext__()

    with Scripted(serve) as server:
        asyncio.run(main(server.url))


def test_it_reconnects():
    def first(connection: Connection) -> None:
        connection.accept()
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.reset()

    def second(connection: Connection) -> None:
        connection.accept()
        connection.expect("SUBSCRIBE")
        connection.write("MESSAGE", b"here", subscription=0, message_id=1, destination="/q")
        connection.serve()

    async def main(url: str) -> None:
        told = []
        async with Client(url, reconnect_min_ms=10) as client:
            client.on_event = told.append
            await client.subscribe("/q")
            async for message in client.messages:
                assert message.body == b"here"
                break
        assert [type(event) for event in told[:2]] == [stomp.Disconnected, stomp.Connected]

    with Scripted(first, second) as server:
        asyncio.run(main(server.url))


def test_what_fails():
    def refuses(connection: Connection) -> None:
        connection.expect("CONNECT")
        connection.write("ERROR", message="go away")

    def closes(connection: Connection) -> None:
        connection.accept()
        connection.expect("SUBSCRIBE")
        connection.write("ERROR", message="unknown destination")

    def resets(connection: Connection) -> None:
        connection.accept()
        while connection.read().command != "SEND":
            pass  # UNSUBSCRIBE, of the subscription that failed
        connection.reset()

    async def main(url: str) -> None:
        client = Client(url, reconnect=False)
        with pytest.raises(stomp.PeerError) as caught:
            await client.connect()
        assert caught.value.text == "go away" and client.state == State.DISCONNECTED
        await client.connect()
        with pytest.raises(stomp.PeerError) as caught:
            await client.subscribe("/q")
        assert caught.value.text == "unknown destination"
        await client.connect()
        with pytest.raises(stomp.PeerError) as caught:
            await client.send("/q", "x", receipt=True)
        assert caught.value.status == Status.UNKNOWN
        with pytest.raises(stomp.TransportError):
            async for _ in client.messages:
                pass
        client.close()

    with Scripted(refuses, closes, resets) as server:
        asyncio.run(main(server.url))


def test_close_wakes_all():
    async def main(url: str) -> None:
        client = Client(url)
        await client.connect()
        waits = [
            asyncio.ensure_future(client.receive()),
            asyncio.ensure_future(client.send("/q", "x", receipt=True)),
        ]
        ends = asyncio.ensure_future(client.next_event())
        await asyncio.sleep(0.05)
        client.close()
        for wait in waits:
            with pytest.raises(stomp.ClosedError):
                await wait
        assert await ends is None

    def script(connection: Connection) -> None:
        connection.accept()
        while True:
            connection.read()

    with Scripted(script) as server:
        asyncio.run(main(server.url))


def test_a_full_inbox_makes_the_server_wait():
    def script(connection: Connection) -> None:
        connection.accept(heart_beat="0,50")
        connection.receipt(connection.expect("SUBSCRIBE"))
        connection.expect("SEND")
        for number in range(1000):
            connection.write("MESSAGE", b"x" * 1000, subscription=0, message_id=number, destination="/q")
        connection.serve()

    async def main(url: str) -> None:
        async with Client(url, inbox_maximum=10, heart_beat_send_ms=50) as client:
            await client.subscribe("/q")
            client.send_soon("/q", "begin")
            while len(client._events) < 10:
                await asyncio.sleep(0.01)
            begun = time.process_time()
            await asyncio.sleep(0.3)
            assert len(client._events) == 10 and time.process_time() - begun < 0.2
            for number in range(1000):
                assert (await client.receive(PATIENCE)).message_id == str(number)

    with Scripted(script) as server:
        asyncio.run(main(server.url))


def test_cancelling(coilmq, queue):
    async def main() -> None:
        async with Client(coilmq.url, virtual_host=coilmq.virtual_host) as client:
            await client.subscribe(queue)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.receive(), 0.05)
            await client.send(queue, "x", receipt=True)
            assert (await client.receive(PATIENCE)).text() == "x"

    asyncio.run(main())


def test_the_wrong_statement():
    client = Client("stomp://127.0.0.1:1")
    with pytest.raises(TypeError, match="async with"):
        with client:
            pass
    with pytest.raises(TypeError, match="client.messages"):
        for _ in client:
            pass
    client.close()
    sync = stomp.Client("stomp://127.0.0.1:1")

    async def main() -> None:
        async with sync:
            pass

    with pytest.raises(TypeError, match="aio.Client"):
        asyncio.run(main())
    sync.close()
