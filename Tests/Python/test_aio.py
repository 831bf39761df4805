"""The client for asyncio."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import swiftmqtt
from Support.servers import free_port
from swiftmqtt import State, Status
from swiftmqtt.aio import Client

from .conftest import descriptors


def asynchronous(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test in a loop of its own, in which nobody may complain."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        complaints: list[dict[str, Any]] = []

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            await asyncio.wait_for(test(*arguments, **named), 50)

        asyncio.run(main())
        assert complaints == []

    return run


@pytest.mark.parametrize("qos", [0, 1, 2])
@asynchronous
async def test_there_and_back(server, level, qos):
    async with Client(server.url) as client:
        assert client.connected is not None and client.is_connected
        assert (await client.subscribe(f"{level}/#", qos)).reason_codes == (qos,)
        await client.publish(f"{level}/a", {"n": 1}, qos=qos)
        async for message in client.messages:
            assert (message.topic, message.decode(), message.qos) == (f"{level}/a", {"n": 1}, qos)
            break
        assert (await client.unsubscribe(f"{level}/#")).reason_codes == (0,)
    assert client.closed


@asynchronous
async def test_no_thread_and_no_turns_for_nothing(server):
    loop = asyncio.get_running_loop()
    async with Client(server.url, keep_alive_s=1000) as client:
        await client.publish("a", qos=1)
        turns = 0
        ready = client._ready

        def counted() -> None:
            nonlocal turns
            turns += 1
            ready()

        client._ready = counted
        loop.remove_reader(client.fileno())
        loop.add_reader(client.fileno(), counted)
        await asyncio.sleep(0.5)
        assert turns <= 1 and threading.active_count() == 1


@asynchronous
async def test_what_is_published_in_one_turn_goes_out_together(server, level):
    async with Client(server.url) as client:
        before = client.stats
        await asyncio.gather(*(client.publish(level, b"x", qos=0) for _ in range(500)))
        after = client.stats
        assert after["packets_sent"] - before["packets_sent"] == 500
        assert after["send_calls"] - before["send_calls"] < 10


@asynchronous
async def test_many_at_once(server, level):
    async with Client(server.url, outbox_messages=50, outbox_bytes=4000) as client:
        await client.subscribe(level, 1)

        async def take() -> list[int]:
            return [(await client.receive()).json() for _ in range(2000)]

        taking = asyncio.ensure_future(take())
        await asyncio.gather(*(client.publish(level, number, qos=1) for number in range(2000)))
        # Who comes first has room first, so the order is kept.
        assert await taking == list(range(2000))


@asynchronous
async def test_the_server_has_to_wait_for_a_program_that_does_not_take_its_messages(server, level):
    async with Client(server.url, inbox_maximum=10) as client, Client(server.url) as other:
        await client.subscribe(level)
        for number in range(500):
            other.publish_soon(level, number)
        await other.publish(level, "last", qos=1)
        await asyncio.sleep(0.3)
        assert len(client.messages) == 10
        # What is awaited comes behind the messages: they are taken, then.
        await asyncio.wait_for(client.publish("a", qos=1), 5)
        assert len(client.messages) > 10
        assert [(await client.receive()).json() for _ in range(500)] == list(range(500))
        assert (await client.receive()).text() == "last"


@asynchronous
async def test_keeping_alive_while_nobody_takes_messages(server, level):
    async with Client(server.url, inbox_maximum=1, keep_alive_s=2) as client, Client(server.url) as other:
        await client.subscribe(level)
        for number in range(10):
            await other.publish(level, number)
        await asyncio.sleep(4)
        assert client.is_connected and client.stats["connections"] == 1
        assert [(await client.receive()).json() for _ in range(10)] == list(range(10))


@asynchronous
async def test_publishing_from_within_the_iteration(server, level):
    """The answers come behind messages that nobody takes meanwhile."""
    async with Client(server.url, inbox_maximum=5, receive_maximum=5) as client, Client(server.url) as other:
        await client.subscribe(f"{level}/in", 1)
        for number in range(100):
            other.publish_soon(f"{level}/in", number, qos=1)
        count = 0
        async for message in client.messages:
            await client.publish(f"{level}/out", message.payload, qos=1)
            count += 1
            if count == 100:
                break


@asynchronous
async def test_cancelling_loses_nothing(server, level):
    async with Client(server.url) as client:
        await client.subscribe(level, 1)
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.receive(), 0.02)
        publishing = asyncio.ensure_future(client.publish(level, "delivered all the same", qos=1))
        await asyncio.sleep(0)
        publishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await publishing
        assert (await client.receive()).text() == "delivered all the same"
        # A message that comes for a task that is cancelled in the same moment goes to the next one.
        first, second = asyncio.ensure_future(client.receive()), asyncio.ensure_future(client.receive())
        await asyncio.sleep(0)
        await client.publish(level, "one")
        while not first.done() and not len(client.messages):
            await asyncio.sleep(0)
        first.cancel()
        got = await asyncio.gather(first, return_exceptions=True)
        if isinstance(got[0], asyncio.CancelledError):
            assert (await asyncio.wait_for(second, 5)).text() == "one"
        second.cancel()


@asynchronous
async def test_a_request_that_is_cancelled(server, level):
    """Whenever that is; before Python 3.12 asyncio.wait_for() forgets it at times."""
    async with Client(server.url) as client:
        await client._own_replies()  # is subscribed to once
        for turns in range(8):
            request = asyncio.ensure_future(client.request(level, timeout=30))
            for _ in range(turns):
                await asyncio.sleep(0)
            request.cancel()
            await asyncio.wait({request}, timeout=10)
            assert request.cancelled()


@pytest.mark.parametrize("wrong", [None, "many", 1.5, -1])
def test_an_inbox_of_no_size(wrong):
    with pytest.raises(swiftmqtt.ArgumentError, match="inbox_maximum"):
        Client("mqtt://127.0.0.1", inbox_maximum=wrong)


@asynchronous
async def test_cancelled_while_it_waits_for_room():
    client = Client(f"mqtt://127.0.0.1:{free_port()}", outbox_messages=1)
    client.publish_soon("a").add_done_callback(lambda future: future.exception())
    waiting = [asyncio.ensure_future(client.publish("a")) for _ in range(3)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    await asyncio.sleep(0.01)
    assert [task.done() for task in waiting] == [True, False, False]
    with pytest.raises(swiftmqtt.NoRoomError):
        client.publish_soon("a")
    client.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(r, (swiftmqtt.ClosedError, asyncio.CancelledError)) for r in results)


@asynchronous
async def test_connecting_that_fails(start_mosquitto):
    with pytest.raises(swiftmqtt.TransportError):
        async with Client(f"mqtt://127.0.0.1:{free_port()}"):
            pass
    client = Client(f"mqtt://127.0.0.1:{free_port()}", reconnect_min_ms=10)
    with pytest.raises(TimeoutError):
        await client.connect(0.2, retry=True)
    assert client.state == State.DISCONNECTED
    connecting = asyncio.ensure_future(client.connect(retry=True))
    await asyncio.sleep(0.05)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert client.state == State.DISCONNECTED
    client.close()
    with pytest.raises(swiftmqtt.ClosedError):
        await client.connect()


@asynchronous
async def test_reconnecting(start_mosquitto, level):
    server = start_mosquitto()
    async with Client(server.url, reconnect_min_ms=10, reconnect_max_ms=100) as client:
        went, back = asyncio.Event(), asyncio.Event()
        client.on_disconnected, client.on_connected = lambda _: went.set(), lambda _: back.set()
        await client.subscribe(level, 1)
        server.kill()
        await went.wait()
        publishing = asyncio.ensure_future(client.publish(level, "kept", qos=1))
        server.start()
        await back.wait()
        await publishing
        assert (await client.receive()).text() == "kept"


@asynchronous
async def test_iteration_ends_when_the_client_leaves(server, level):
    async with Client(server.url) as client:
        await client.subscribe(level)

        async def everything() -> list[bytes]:
            return [message.payload async for message in client.messages]

        taking = asyncio.ensure_future(everything())
        await client.publish(level, b"1", qos=1)
        await client.disconnect()
        assert await asyncio.wait_for(taking, 5) == [b"1"]
    assert await everything() == []


@asynchronous
async def test_leaving_delivers_what_there_is(server, level):
    async with Client(server.url) as witness:
        await witness.subscribe(level, 1)
        async with Client(server.url) as client:
            futures = [client.publish_soon(level, number, qos=1) for number in range(100)]
        assert all(future.result().reason_code == 0 for future in futures)
        assert [(await witness.receive()).json() for _ in range(100)] == list(range(100))


@asynchronous
async def test_an_exception_leaves_at_once(server):
    with pytest.raises(ZeroDivisionError):
        async with Client(server.url) as client:
            raise ZeroDivisionError
    assert client.closed


@asynchronous
async def test_request_and_response(server, level):
    async with Client(server.url) as asks, Client(server.url) as answers:
        await answers.subscribe(level)

        async def serve() -> None:
            async for question in answers.messages:
                await question.reply({"double": 2 * question.json()})

        serving = asyncio.ensure_future(serve())
        found = await asyncio.gather(*(asks.request(level, number) for number in range(100)))
        assert [message.json()["double"] for message in found] == [2 * n for n in range(100)]
        serving.cancel()
        with pytest.raises(swiftmqtt.TransportError) as told:
            await asks.request(f"{level}/nobody", timeout=0.05)
        assert told.value.status == Status.TIMEOUT


@asynchronous
async def test_streaming(server, level):
    async with Client(server.url) as client:
        await client.subscribe(level)
        payload = bytes(range(256)) * 1000
        await asyncio.gather(client.publish_stream(level, payload), client.publish_stream(level, payload[::-1]))
        assert [(await client.receive()).payload for _ in range(2)] == [payload, payload[::-1]]


@asynchronous
async def test_credentials_that_are_none_end_the_attempt(server):
    """The loop hears of the hook's mistake, and who connects at once that there were none."""
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    client = Client(server.url, credentials=lambda attempt: ("name",))
    with pytest.raises(swiftmqtt.TransportError) as failed:
        await client.connect(5)
    assert failed.value.status == Status.CREDENTIALS and isinstance(told[0], ValueError)
    client.close()


def test_another_loop_is_told_that_the_client_is_not_its_own(server):
    client = Client(server.url)
    asyncio.run(client.connect())
    for call in (client.publish("a"), client.receive(), client.disconnect()):
        with pytest.raises(swiftmqtt.ArgumentError, match="another loop"):
            asyncio.run(call)
    client.close()


@asynchronous
async def test_submitting_from_another_thread(server, level):
    async with Client(server.url) as client:
        await client.subscribe(level)
        thread = threading.Thread(target=client.submit, args=(level, "from a thread"))
        thread.start()
        assert (await client.receive()).text() == "from a thread"
        thread.join()


@asynchronous
async def test_a_hook_that_fails_is_the_loops_affair(server):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    client = Client(server.url)
    client.on_connected = broken
    await client.connect()
    await client.publish("a", qos=1)
    await client.disconnect()
    client.close()
    assert [type(error) for error in told] == [ZeroDivisionError]


@asynchronous
async def test_refused_by_the_server(start_mosquitto, tmp_path):
    acl = tmp_path / "acl"
    acl.write_text("topic readwrite open/#\n")
    acl.chmod(0o700)
    server = start_mosquitto(acl_file=str(acl))
    async with Client(server.url) as client:
        with pytest.raises(swiftmqtt.PeerError) as told:
            await client.publish("closed", qos=1)
        assert told.value.reason_code == 0x87


def test_nothing_is_left_of_clients_that_come_and_go(server):
    async def once(leave: bool) -> None:
        client = Client(server.url)
        await client.connect()
        await client.publish("a", qos=1)
        if leave:
            await client.disconnect()
        client.close()

    asyncio.run(once(True))
    before = descriptors()
    for number in range(30):
        asyncio.run(once(bool(number % 2)))
    assert descriptors() == before


def test_a_loop_that_was_closed_under_a_client(server):
    before = descriptors()

    async def begin() -> Client:
        client = Client(server.url)
        await client.connect()
        return client

    client = asyncio.run(begin())
    gone = weakref.ref(client)
    client.close()
    assert client.closed
    del client
    gc.collect()
    assert gone() is None and descriptors() == before
