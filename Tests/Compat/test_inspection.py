"""MOSQUITTO_INSPECT: what a program that was written for libmosquitto does, unchanged, can be looked at."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from Support.inspection import Reader
from Support.servers import Mosquitto, need
from Support.waiting import wait_for


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    server = Mosquitto(tmp_path_factory.mktemp("broker"), persistence="false")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def subscriber(our_path: Path, server: Mosquitto, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts Debian's mosquitto_sub with the drop-in, and a directory for sockets."""
    started: list[subprocess.Popen] = []

    def start(*options: str, directory: Path = tmp_path) -> subprocess.Popen:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(our_path.parent), "MOSQUITTO_INSPECT": str(directory)}
        started.append(subprocess.Popen(
            [need("mosquitto_sub"), "-p", str(server.port), "-t", "inspected/#", *options], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def answered(reader: Reader) -> Reader:
    wait_for(reader.ask())
    return reader


def test_a_client_with_an_id(subscriber, server: Mosquitto, tmp_path: Path):
    process = subscriber("-i", "sub/one", "-C", "1")
    path = tmp_path / "sub%2Fone.sock"
    wait_for(path.exists)
    reader = Reader(str(path))
    # CONNACK and SUBACK: the drop-in counts no subscriptions.
    wait_for(lambda: answered(reader).numbers["packets_received"] == 2)
    assert reader.names == ["sub/one"] and reader.numbers["state"] == 2
    subprocess.run([need("mosquitto_pub"), "-p", str(server.port), "-t", "inspected/a", "-m", "seen"], check=True)
    assert process.communicate(timeout=20)[0] == b"seen\n"
    reader.read()
    assert [packet.data[-4:] for packet in reader.packets if packet.data[0] >> 4 == 3] == [b"seen"]
    reader.close()
    wait_for(lambda: not path.exists())


def test_a_client_without_an_id(subscriber, tmp_path: Path):
    process = subscriber()
    path = tmp_path / f"mosquitto_sub.{process.pid}.sock"
    wait_for(path.exists)
    reader = Reader(str(path))
    answered(reader)
    reader.close()


@pytest.mark.parametrize("id, directory", [("plain", "none"), ("i" * 200, "."), ("plain", "file")])
def test_a_socket_that_cannot_be_made_is_a_line_of_log(subscriber, server: Mosquitto, tmp_path: Path, id: str, directory: str):
    """The program does its work without it."""
    (tmp_path / "file").write_text("")
    process = subscriber("-i", id, "-d", "-W", "1", directory=tmp_path / directory)
    said = process.communicate(timeout=30)[0].decode()
    assert " has no inspection socket: " in said and "received SUBACK" in said
    assert not list(tmp_path.glob("*.sock"))


def test_an_empty_variable_is_none(our_path: Path, server: Mosquitto, tmp_path: Path):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(our_path.parent), "MOSQUITTO_INSPECT": ""}
    subprocess.run([need("mosquitto_pub"), "-p", str(server.port), "-t", "a", "-n", "-i", "empty"], check=True, env=environment, cwd=tmp_path)
    assert not list(tmp_path.iterdir())
