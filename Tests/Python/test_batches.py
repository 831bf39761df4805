"""Events come in batches: what a program sees of them is as if they came one by one. And a thread that waits runs the
client."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import warnings

import pytest
import swiftmqtt
import swiftmqtt.paho.client as mqtt
from swiftmqtt import Client, State, aio

MANY = 150  # more than a batch


def publish(server, level: str, qos: int, count: int = MANY) -> None:
    with Client(server.url) as other:
        tokens = [other.publish(level, str(number), qos=qos, timeout=None) for number in range(count)]
        for token in tokens:
            token.wait(10)


def test_fields_are_taken_from_where_the_structs_have_them():
    from swiftmqtt import _abi

    event = _abi.Event()
    event.type, event.status, event.cookie, event.token, event.part = 5, -402, 1 << 63, (1 << 64) - 1, 3
    event.topic.data, event.topic.size, event.payload.size, event.subscription_identifier = 0x1234, 7, 9, 11
    event.qos, event.retain, event.duplicate, event.payload_total = 2, 1, 0, 1 << 31
    (fields,) = _abi.EVENT_FIELDS.iter_unpack(bytes(event))
    assert fields == (5, -402, 1 << 63, 0, 0, 0x1234, 7, 0, 9, 1 << 31, 2, 1, 0, 3, (1 << 64) - 1, 11)
    ended = _abi.Completion()
    ended.cookie, ended.status, ended.reason_code, ended.latency_ms = 1, -303, 0x87, -1
    assert list(_abi.COMPLETION_FIELDS.iter_unpack(bytes(ended))) == [(1, -303, 0x87, -1)]


@pytest.mark.parametrize("run", [True, False])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_all_come_in_their_order(server, level, run, qos):
    with Client(server.url, run=run, receive_maximum=20) as client:
        client.subscribe(level, qos).wait(5)
        publish(server, level, qos)
        assert [client.receive(10).json() for _ in range(MANY)] == list(range(MANY))
        assert client._unacknowledged == 0


@pytest.mark.parametrize("maximum", [1, 2, 3, 5, 64])
def test_no_more_are_taken_than_may_be_unacknowledged(server, level, maximum):
    """Mosquitto 2.0.11 sends more than that at a time, so one too many would end the connection."""
    with Client(server.url, receive_maximum=maximum) as client:
        client.subscribe(level, 1).wait(5)
        tokens = [client.publish(level, str(number), qos=1, timeout=None) for number in range(MANY)]
        for token in tokens:
            token.wait(10)
        assert [client.receive(10).json() for _ in range(MANY)] == list(range(MANY))
        assert client.stats["connections"] == 1


def test_what_the_program_has_not_taken_is_not_acknowledged(server, level):
    with Client(server.url, receive_maximum=10) as client:
        client.subscribe(level, 1).wait(5)
        publish(server, level, 1, 9)
        for left in range(9, 0, -1):
            assert client.receive(10).qos == 1
            deadline = time.monotonic() + 10
            while client.stats["unacknowledged"] != left - 1 and time.monotonic() < deadline:
                time.sleep(0.001)
            assert client.stats["unacknowledged"] == left - 1


def test_closing_in_a_callback_amid_a_batch(server, level):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
        for after in (0, 1, 10):
            client = Client(server.url, run=False)
            client.connect(5)
            client.subscribe(level, 1).wait(5)
            tokens = [client.publish(level, str(number), qos=1) for number in range(20)]
            tokens[after].add_done_callback(lambda token, client=client: client.close())
            with pytest.raises(swiftmqtt.ClosedError):
                while True:
                    client.receive(10)
            for token in tokens:
                assert token.done


def test_waiting_in_a_callback_amid_a_batch(server, level):
    """Without a thread a callback may: it takes what comes, and nothing is lost or comes twice."""
    with Client(server.url, run=False) as client:
        client.subscribe(level, 1).wait(5)
        came: list[int] = []
        tokens = [client.publish(level, str(number), qos=1) for number in range(20)]
        tokens[3].add_done_callback(lambda _: came.append(client.receive(10).json()))
        tokens[4].add_done_callback(lambda _: client.publish(level, "20", qos=1).wait(10))
        while len(came) < 21:
            came.append(client.receive(10).json())
        assert sorted(came) == list(range(21)) and all(token.done for token in tokens)


def test_what_a_callback_raises_loses_nothing(server, level):
    with Client(server.url, run=False) as client:
        client.subscribe(level, 1).wait(5)
        seen: list[int] = []
        tokens = [client.publish(level, str(number), qos=1) for number in range(10)]

        def raises(token):
            seen.append(tokens.index(token))
            raise ZeroDivisionError

        for token in tokens:
            token.add_done_callback(raises)
        raised, came = 0, []
        while len(came) < 10 or raised < 10:
            try:
                came.append(client.receive(10).json())
            except ZeroDivisionError:
                raised += 1
            except TimeoutError:
                break
        assert (raised, came, sorted(seen)) == (10, list(range(10)), list(range(10)))


def test_what_is_raised_amid_a_batch_loses_nothing():
    from swiftmqtt._base import _whole_batch

    done: list[int] = []

    def do(batch):
        for number in batch:
            if number in (2, 5):
                raise (KeyboardInterrupt if number == 2 else ValueError)
            done.append(number)

    with pytest.raises(KeyboardInterrupt):
        _whole_batch(do, iter(range(8)))
    assert done == [0, 1, 3, 4, 6, 7]


def test_asyncio_closes_in_a_callback(server, level):
    async def main() -> None:
        client = aio.Client(server.url)
        await client.connect(5)
        await client.subscribe(level, 1)
        futures = [client.publish_soon(level, str(number), qos=1) for number in range(20)]
        futures[5].add_done_callback(lambda _: client.close())
        with pytest.raises(swiftmqtt.ClosedError):
            while True:
                await client.receive()
        await asyncio.gather(*futures, return_exceptions=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
        asyncio.run(main())


def test_asyncio_acknowledges_without_being_asked_again(server, level):
    """A program that takes one message, and then does something else, has acknowledged it."""

    async def main() -> None:
        async with aio.Client(server.url) as client:
            await client.subscribe(level, 1)
            async with aio.Client(server.url) as other:
                await other.publish(level, "x", qos=1)
            async for _ in client.messages:
                break
            deadline = time.monotonic() + 10
            while client.stats["unacknowledged"] and time.monotonic() < deadline:
                await asyncio.sleep(0.001)
            assert client.stats["unacknowledged"] == 0

    asyncio.run(main())


# ---- swiftmqtt.paho


def paho(server, level: str, qos: int = 1) -> mqtt.Client:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    subscribed: list[object] = []
    client.on_subscribe = lambda *_: subscribed.append(1)
    client.connect(server.host, server.port)
    client.on_connect = lambda *_: client.subscribe(level, qos)
    while not subscribed:
        client.loop(1)
    return client


def test_paho_acknowledges_when_the_callback_has_returned(server, level):
    client = paho(server, level)
    publish(server, level, 1, 10)
    came: list[int] = []

    def on_message(client, _, message):
        came.append(int(message.payload))
        acknowledged.append(client._link.stats["messages_received"] - client._link.stats["unacknowledged"])

    acknowledged: list[int] = []
    client.on_message = on_message
    while len(came) < 10:
        client.loop(1)
    assert came == list(range(10)) and acknowledged == list(range(10))
    client.disconnect()


def test_paho_raises_in_a_callback(server, level):
    client = paho(server, level)
    publish(server, level, 1, 10)
    came: list[int] = []

    def on_message(client, _, message):
        came.append(int(message.payload))
        if came[-1] in (3, 7):
            raise ZeroDivisionError

    client.on_message = on_message
    raised, deadline = 0, time.monotonic() + 10
    while len(came) < 10 and time.monotonic() < deadline:
        try:
            client.loop(1)
        except ZeroDivisionError:
            raised += 1
    assert (raised, came) == (2, list(range(10)))
    client.disconnect()


def test_paho_publishes_what_waits_for_room(server, level):
    """More than the library has room for at a time, from two threads, and each message is told of."""
    client = paho(server, level, 0)
    client.loop_start()
    published: list[int] = []
    client.on_publish = lambda client, _, mid, *more: published.append(mid)
    infos: list[mqtt.MQTTMessageInfo] = []

    def some() -> None:
        for number in range(6000):
            infos.append(client.publish(f"{level}/other", b"x" * 100, number % 2))

    threads = [threading.Thread(target=some) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for info in infos:
        info.wait_for_publish(30)
    deadline = time.monotonic() + 10
    while len(published) < len(infos) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(published) == sorted(info.mid for info in infos)
    client.disconnect()
    client.loop_stop()


# ---- A thread that waits runs the client


def test_others_call_while_a_thread_waits(server, level):
    """It waits for a message, and what the others do is not left until that comes."""
    with Client(server.url) as client:
        client.subscribe(level, 1).wait(5)
        came: list[object] = []
        waits = threading.Thread(target=lambda: came.append(client.receive(20).text()))
        waits.start()
        time.sleep(0.05)
        called = threading.Event()
        begin = time.monotonic()
        for _ in range(5):
            token = client.publish(f"{level}/other", qos=1)
            token.add_done_callback(lambda _: called.set())
            token.wait(10)
        assert called.wait(10)
        assert client.submit(f"{level}/other", qos=1).result(10).completed
        assert time.monotonic() - begin < 5 and waits.is_alive()
        client.publish(level, "at last")
        waits.join(10)
        assert came == ["at last"]


def test_many_threads_wait(server, level):
    with Client(server.url) as client:
        client.subscribe(level, 1).wait(5)
        came: list[int] = []

        def take() -> None:
            for message in client.messages(1):
                came.append(message.json())

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        publish(server, level, 1)
        for thread in threads:
            thread.join(20)
        assert sorted(came) == list(range(MANY))


def test_a_client_is_closed_while_a_thread_waits(server):
    for _ in range(10):
        client = Client(server.url)
        client.connect()
        ended: list[BaseException] = []

        def wait(client=client, ended=ended) -> None:
            try:
                client.receive(20)
            except BaseException as why:
                ended.append(why)

        threads = [threading.Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.01)
        client.close()
        for thread in threads:
            thread.join(10)
        assert [type(why) for why in ended] == [swiftmqtt.ClosedError] * 3


def test_the_clients_thread_goes_on_when_nobody_waits_any_more(server, level):
    """PINGREQ is sent, callbacks are called, and messages are received."""
    with Client(server.url, keep_alive_s=1) as client:
        client.subscribe(level, 1).wait(5)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                client.receive(0.02)
        ended: list[object] = []
        client.on_disconnected = ended.append
        publish(server, level, 1, 3)
        deadline = time.monotonic() + 10
        while len(client._waiting_messages) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(client._waiting_messages) == 3
        time.sleep(2.5)
        assert not ended and client.state == State.CONNECTED


def test_callbacks_run_in_the_clients_thread_while_another_waits(server, level):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        ran: list[str] = []
        token = client.publish(level, qos=1)
        token.add_done_callback(lambda _: ran.append(threading.current_thread().name))
        client.receive(10)
        token.wait(10)
        deadline = time.monotonic() + 10
        while not ran and time.monotonic() < deadline:
            time.sleep(0.001)
        assert ran == ["swiftmqtt"]


def test_a_signal_handler_publishes_while_its_thread_waits(server, level):
    """It is not what a handler should do, but it may as long as its thread is not in another call."""
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        previous = signal.signal(signal.SIGUSR1, lambda *_: client.publish(level, "from the handler"))
        try:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            assert client.receive(10).text() == "from the handler"
        finally:
            signal.signal(signal.SIGUSR1, previous)


def test_a_thread_waits_without_descriptors(server, level, monkeypatch):
    """Without any for a bell of its own it leaves the client to the client's thread."""
    with Client(server.url) as client:

        def none_left(fd):
            raise OSError(24, "too many open files")

        monkeypatch.setattr("swiftmqtt._runner.LeadersPoll", none_left)
        client._runner._spare.clear()
        client.subscribe(level, 1).wait(5)
        client.publish(level, "x", qos=1).wait(5)
        assert client.receive(5).text() == "x"
