"""A client of swiftmqtt.stomp with a journal: what was sent with store=True is there again in the next client."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from Support.servers import free_port
from Support.waiting import PATIENCE
from swiftmqtt import stomp
from swiftmqtt.stomp import Client, JournalError, JournalEvent, JournalFlag, JournalNews, Status, aio

from .stomp_servers import Connection, Scripted

OUTBOX = {"outbox_bytes": 16_384, "outbox_frames": 16}


def options(path: Path, **more: object) -> dict[str, object]:
    return {"journal": path / "out.journal", "virtual_host": "/", **OUTBOX, **more}


def nowhere() -> str:
    return f"stomp://127.0.0.1:{free_port()}"


def serve(connection: Connection) -> None:
    connection.accept()
    connection.serve()


def sent(server: Scripted) -> list[bytes]:
    return [frame.body for frame in server.heard if frame.command == "SEND"]


def store(path: Path, *bodies: str, **more: object) -> None:
    """A process that had no connection, and ended."""
    with contextlib.closing(Client(nowhere(), **options(path, **more))) as client:
        for body in bodies:
            client.send("/queue/a", body, store=True)
        client.sync(PATIENCE)


def test_messages_outlive_the_process(tmp_path):
    client = Client(nowhere(), **options(tmp_path))
    for number in range(3):
        client.send("/queue/a", str(number), headers={"id-of-mine": number}, store=True)
    client.sync(PATIENCE)
    state = client.journal
    assert state["accepted"] == state["stored"] == 3 and state["failures"] == 0 and client.unfinished == 3
    client.close()

    with Scripted(serve) as server, Client(server.url, **options(tmp_path)) as again:
        assert again.next_event(0) == JournalEvent(JournalNews.RECOVERED, 3, None)
        assert again.unfinished == 0
        again.send("/queue/a", "new", store=True, wait=True, timeout=PATIENCE)
    assert sent(server) == [b"0", b"1", b"2", b"new"]
    assert [frame.headers.get("id-of-mine") for frame in server.heard if frame.command == "SEND"] == ["0", "1", "2", None]
    with contextlib.closing(Client(nowhere(), **options(tmp_path))) as empty:
        assert empty.next_event(0) is None


def test_the_cookies_that_they_had(tmp_path):
    with contextlib.closing(Client(nowhere(), **options(tmp_path))) as client:
        client.send("/queue/a", "1", cookie=7, store=True)
        client.sync(PATIENCE)
    with Scripted(serve) as server, Client(server.url, **options(tmp_path)) as again:
        done = next(event for event in again.events() if isinstance(event, stomp.Completed))
    assert (done.cookie, done.status) == (7, 0)


def test_only_what_asks_for_it_is_stored(tmp_path):
    with contextlib.closing(Client(nowhere(), **options(tmp_path))) as client:
        client.send("/queue/a", "1", receipt=True)
        client.send("/queue/a", "2", store=True)
        client.sync(PATIENCE)
        assert client.journal["accepted"] == 1
    with Scripted(serve) as server, Client(server.url, **options(tmp_path)):
        pass
    assert sent(server) == [b"2"]


def test_told_when_stored(tmp_path):
    with contextlib.closing(Client(nowhere(), **options(tmp_path, journal_flags=JournalFlag.TELL))) as client:
        client.connect(wait=False)
        for number in (1, 2, 3):
            client.send("/queue/a", "text", store=True)
            client.sync(PATIENCE)
            client.run(0.02)
        # One that nobody has taken makes place for the next.
        told = [event for event in iter(lambda: client.next_event(0), None) if isinstance(event, JournalEvent)]
        # Between the first and the others an attempt to connect has failed.
        assert told[-1] == JournalEvent(JournalNews.STORED, 3, None) and len(told) <= 2


def test_the_end_of_a_block(tmp_path):
    """What the journal has is not lost, and what is only in the outbox is."""

    def silent(connection: Connection) -> None:
        connection.accept()
        with contextlib.suppress(AssertionError):
            while connection.read().command != "DISCONNECT":
                pass
        connection.reset()

    with Scripted(silent, serve) as server:
        with Client(server.url, reconnect=False, **options(tmp_path)) as client:
            client.send("/queue/a", "kept", store=True)
            client.disconnect(0)
        with Client(server.url, **options(tmp_path)):
            pass
    assert sent(server) == [b"kept", b"kept"]
    with Scripted(silent) as server:
        with pytest.raises(stomp.UndeliveredError, match="1 message was not delivered"):
            with Client(server.url, reconnect=False, **options(tmp_path)) as client:
                client.send("/queue/a", "lost", receipt=True, again=True)
                client.send("/queue/a", "kept", store=True)
                client.disconnect(0)


def test_a_block_that_fails_keeps_them_too(tmp_path):
    with Scripted(lambda connection: connection.accept()) as server:
        with pytest.raises(ZeroDivisionError), Client(server.url, **options(tmp_path, journal_delay_ms=1000)) as client:
            client.send("/queue/a", "kept", store=True)
            raise ZeroDivisionError
    with contextlib.closing(Client(nowhere(), **options(tmp_path))) as again:
        assert again.next_event(0) == JournalEvent(JournalNews.RECOVERED, 1, None)


def test_one_of_an_earlier_process_that_the_server_refuses(tmp_path):
    store(tmp_path, "x")

    def refuse(connection: Connection) -> None:
        connection.accept()
        frame = connection.expect("SEND")
        connection.write("ERROR", receipt_id=frame.headers["receipt"], message="no")

    with Scripted(refuse) as server, pytest.raises(stomp.UndeliveredError, match="1 message was not delivered"):
        with Client(server.url, reconnect=False, **options(tmp_path)) as client:
            while client.state != stomp.State.DISCONNECTED:
                client.run(0.01)


def test_own_cookies_of_two_processes_differ(tmp_path):
    """The end of a message of the first one is not taken for that of another."""
    store(tmp_path, "1")

    def later(connection: Connection) -> None:
        connection.accept()
        first, second = connection.expect("SEND"), connection.expect("SEND")
        connection.receipt(first)
        connection.write("ERROR", receipt_id=second.headers["receipt"], message="no")

    with Scripted(later) as server, contextlib.closing(Client(server.url, reconnect=False, **options(tmp_path))) as client:
        client.connect()
        with pytest.raises(stomp.PeerError):
            client.send("/queue/a", "2", store=True, wait=True, timeout=PATIENCE)


def test_two_clients_and_one_file(tmp_path):
    with contextlib.closing(Client(nowhere(), **options(tmp_path))):
        with pytest.raises(JournalError) as refused:
            Client(nowhere(), **options(tmp_path))
        assert refused.value.status == Status.JOURNAL_LOCKED


def test_no_such_directory(tmp_path):
    with pytest.raises(JournalError, match="No such file") as refused:
        Client(nowhere(), **options(tmp_path / "none"))
    assert refused.value.status == Status.JOURNAL and refused.value.os_error == 2


def test_a_journal_of_mqtt(tmp_path):
    import swiftmqtt

    swiftmqtt.Client("mqtt://127.0.0.1", client_id="a", keep_session=True, journal=tmp_path / "out.journal").close()
    with pytest.raises(JournalError) as refused:
        Client(nowhere(), **options(tmp_path))
    assert refused.value.status == Status.JOURNAL_OTHER


def test_without_a_journal():
    with contextlib.closing(Client(nowhere())) as client:
        for call in (lambda: client.sync(0), lambda: client.journal):
            with pytest.raises(stomp.ArgumentError) as refused:
                call()
            assert refused.value.status == Status.NOT_SUPPORTED
        with pytest.raises(JournalError, match="store needs the option journal"):
            client.send("/queue/a", store=True)
    with pytest.raises(stomp.ArgumentError, match="journal_delay_ms=5"):
        Client(nowhere(), journal_delay_ms=5)


def test_what_cannot_be_stored(tmp_path):
    with contextlib.closing(Client(nowhere(), **options(tmp_path, urgent_frames=1))) as client:
        for more in ({"urgent": True}, {"overflow": stomp.Overflow.DROP_OLDEST}):
            with pytest.raises(stomp.ArgumentError, match="store is not for"):
                client.send("/queue/a", store=True, **more)
        with pytest.raises(stomp.ArgumentError):
            client.send("/queue/a", store=1.5)
        with pytest.raises(stomp.ArgumentError) as refused:
            client.send("/queue/a", b"x" * 16_300, store=True)
        assert refused.value.status == Status.TOO_LARGE


def test_asyncio(tmp_path):
    async def begin() -> None:
        client = aio.Client(nowhere(), **options(tmp_path))
        waiting = asyncio.ensure_future(client.send("/queue/a", "kept", store=True))
        await asyncio.sleep(0)
        client.send_soon("/queue/a", "too", store=True)
        await client.sync(PATIENCE)
        assert client.journal["stored"] == 2
        waiting.cancel()
        client.close()

    async def go_on(url: str) -> None:
        news = []
        client = aio.Client(url, **options(tmp_path))
        client.on_event = news.append
        async with client:
            with contextlib.suppress(TimeoutError):
                await client.receive(0.05)
            await client.send("/queue/a", "new", store=True)
        assert news == [JournalEvent(JournalNews.RECOVERED, 2, None)]

    asyncio.run(begin())
    with Scripted(serve) as server:
        asyncio.run(go_on(server.url))
    assert sent(server) == [b"kept", b"too", b"new"]
