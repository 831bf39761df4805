"""A client with a journal: what was published is there again in the next client."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

import swiftmqtt
from Support.journal import Journal
from Support.servers import Mosquitto, free_port
from swiftmqtt import JournalError, JournalFlag, JournalNews, Status
from swiftmqtt.aio import Client as AsyncClient


def options(path: Path, **more: object) -> dict[str, object]:
    return {"journal": str(path / "out.journal"), "client_id": "board", "keep_session": True, **more}


def nowhere() -> str:
    return f"mqtt://127.0.0.1:{free_port()}"


def test_messages_outlive_the_process(server: Mosquitto, tmp_path: Path, level: str) -> None:
    url = f"mqtt://127.0.0.1:{server.port}"
    client = swiftmqtt.Client(nowhere(), **options(tmp_path))
    for number in range(3):
        client.publish(level, str(number), qos=number % 2 + 1)
    client.sync(10)
    state = client.journal
    assert state["accepted"] == state["stored"] == 3
    assert state["failures"] == 0
    client.close()

    news: list[tuple[int, int, object]] = []
    with swiftmqtt.Client(url, client_id=f"{level}-s") as listener:
        listener.subscribe(level, qos=2).wait(10)
        again = swiftmqtt.Client(url, **options(tmp_path))
        again.on_journal = lambda *what: news.append(what)
        with again:
            assert {listener.receive(10).text() for _ in range(3)} == {"0", "1", "2"}
    assert news == [(JournalNews.RECOVERED, 3, None)]


def test_told_when_stored(tmp_path: Path) -> None:
    news: list[tuple[int, int, object]] = []
    client = swiftmqtt.Client(nowhere(), **options(tmp_path, journal_flags=JournalFlag.TELL))
    client.on_journal = lambda *what: news.append(what)
    client.connect(wait=False)
    client.publish("a", "text", qos=1)
    client.sync(10)
    client.run(0.05)
    assert news == [(JournalNews.STORED, 1, None)]
    client.close()


def test_a_message_that_is_not_stored(tmp_path: Path) -> None:
    client = swiftmqtt.Client(nowhere(), **options(tmp_path))
    client.publish("a", "1", qos=1, stored=False)
    client.publish("a", "2", qos=1)
    client.sync(10)
    assert client.journal["accepted"] == 1
    with pytest.raises(swiftmqtt.ArgumentError):
        client.publish("a", "3", qos=2, stored=False)
    client.close()


def test_the_number_of_a_message(server: Mosquitto, tmp_path: Path, level: str) -> None:
    url = f"mqtt://127.0.0.1:{server.port}"
    found = []
    for _ in range(2):
        more = options(tmp_path, manual_ack=True, journal_flags=JournalFlag.NUMBERS)
        with swiftmqtt.Client(url, **more) as client:
            if not found:
                client.subscribe(level, qos=2).wait(10)
                client.publish(level, "1", qos=2).wait(10)
            message = client.receive(10)
            found.append(message.delivery_number())
            client.sync(10)
    assert found == [1, 1]
    with swiftmqtt.Client(url, client_id=level, manual_ack=True) as plain:
        plain.subscribe(level, qos=2).wait(10)
        plain.publish(level, "2", qos=2).wait(10)
        with pytest.raises(swiftmqtt.ArgumentError):
            plain.receive(10).delivery_number()


def test_two_clients_and_one_file(tmp_path: Path) -> None:
    with contextlib.closing(swiftmqtt.Client(nowhere(), **options(tmp_path))):
        with pytest.raises(JournalError) as refused:
            swiftmqtt.Client(nowhere(), **options(tmp_path))
        assert refused.value.status == Status.JOURNAL_LOCKED


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as refused:
        swiftmqtt.Client(nowhere(), **options(tmp_path / "none"))
    assert refused.value.status == Status.JOURNAL
    assert refused.value.os_error == 2


def test_without_a_journal() -> None:
    with contextlib.closing(swiftmqtt.Client(nowhere())) as client:
        for call in (lambda: client.sync(0), lambda: client.journal):
            with pytest.raises(swiftmqtt.ArgumentError) as refused:
                call()
            assert refused.value.status == Status.NOT_SUPPORTED
    with pytest.raises(swiftmqtt.ArgumentError):
        swiftmqtt.Client(nowhere(), journal_delay_ms=5)


def test_asyncio(server: Mosquitto, tmp_path: Path, level: str) -> None:
    url = f"mqtt://127.0.0.1:{server.port}"

    async def store() -> None:
        client = AsyncClient(nowhere(), **options(tmp_path))
        sent = asyncio.ensure_future(client.publish(level, "kept", qos=2))
        await asyncio.sleep(0)
        await asyncio.wait_for(client.sync(), 10)
        assert client.journal["stored"] == 1
        sent.cancel()
        client.close()

    async def send() -> str | None:
        came: list[tuple[int, int, object]] = []
        async with AsyncClient(url, client_id=f"{level}-s") as listener:
            await listener.subscribe(level, qos=2)
            again = AsyncClient(url, **options(tmp_path))
            again.on_journal = lambda *what: came.append(what)
            async with again:
                text = (await asyncio.wait_for(listener.receive(), 10)).text()
        assert came == [(JournalNews.RECOVERED, 1, None)]
        return text

    asyncio.run(store())
    assert asyncio.run(send()) == "kept"


def test_cookies_of_two_processes_differ(tmp_path: Path) -> None:
    """The end of a message of the first one is not taken for that of another."""
    for _ in range(2):
        with contextlib.closing(swiftmqtt.Client(nowhere(), **options(tmp_path))) as client:
            client.publish("a", "x", qos=1)
            client.sync(10)
    cookies = [message.cookie for message in Journal((tmp_path / "out.journal").read_bytes()).waiting()]
    assert len(set(cookies)) == 2


def test_what_an_earlier_process_left_and_failed(start_mosquitto, tmp_path: Path, level: str) -> None:
    """The end of a block says so, as for its own messages."""
    with contextlib.closing(swiftmqtt.Client(nowhere(), protocol=5, **options(tmp_path))) as client:
        client.publish(level, "x", qos=1)
        client.sync(10)
    server = start_mosquitto(max_qos="0")
    with pytest.raises(swiftmqtt.UndeliveredError, match="of an earlier process"):
        with swiftmqtt.Client(f"mqtt://127.0.0.1:{server.port}", protocol=5, **options(tmp_path)):
            pass
