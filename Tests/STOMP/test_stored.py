"""examples-c/stomp/stored.c: its readings outlive the process, and a consumer knows repetitions."""

from __future__ import annotations

import signal

from Python.stomp_servers import Connection, Scripted
from Support.servers import free_port
from Support.waiting import wait_for

from .peer import PATIENCE, Client


def feed(program, *readings: str) -> None:
    for reading in readings:
        program.stdin.write(reading + "\n")
        program.stdin.flush()
        program.says(f"stored: {reading}\n")


def test_readings_are_kept_over_a_crash(run, broker, queue, tmp_path):
    nowhere, journal = f"stomp://127.0.0.1:{free_port()}", str(tmp_path / "journal")
    first = run("stored", nowhere, journal, queue, host=broker.virtual_host)
    feed(first, "1", "2")
    first.send_signal(signal.SIGKILL)
    first.wait(PATIENCE)
    second = run("stored", nowhere, journal, queue, host=broker.virtual_host)
    feed(second, "3")
    assert second.end() == 0
    second.says("for the next run: 3\n")

    third = run("stored", broker.url, journal, queue, host=broker.virtual_host)
    third.complains("RECOVERED")
    client = Client(broker)
    client.subscribe(queue)
    messages = [client.expect("MESSAGE") for _ in range(3)]
    assert [message.body for message in messages] == [b"1", b"2", b"3"]
    assert len({message.headers["read-at"] for message in messages}) == 3
    client.close()
    third.stdin.close()
    assert third.wait(PATIENCE) == 0
    third.says("for the next run: 0\n")


def test_a_repetition_has_the_same_header(run, tmp_path):
    def cut(connection: Connection) -> None:
        connection.accept()
        connection.expect("SEND")
        connection.reset()

    def serve(connection: Connection) -> None:
        connection.accept()
        connection.serve()

    def sent() -> list[str]:
        return [frame.headers["read-at"] for frame in server.heard if frame.command == "SEND"]

    with Scripted(cut, serve) as server:
        program = run("stored", server.url, str(tmp_path / "journal"), "/queue/a")
        feed(program, "1")
        wait_for(lambda: len(sent()) == 2)
        program.stdin.close()
        assert program.wait(PATIENCE) == 0
    assert len(set(sent())) == 1
