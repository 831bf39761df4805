"""The fault injector and the books do what the other tests trust them to do."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from Support import smq
from Support.listener import Listener
from Support.proxy import DOWN, UP, Injector, Plan, always, first

from .audit import nothing_lost
from .test_exactly_once import cut_somewhere


class Echo(Listener):
    """Sends back what comes."""

    def __init__(self) -> None:
        self.received = 0
        super().__init__(self.echo)

    def echo(self, connection: socket.socket) -> None:
        while data := connection.recv(65536):
            self.received += len(data)
            connection.sendall(data)


@pytest.fixture
def echo() -> Iterator[Echo]:
    echo = Echo()
    yield echo
    echo.close()


def dial(injector: Injector) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", injector.port), 10)
    client.settimeout(10)
    return client


def read(client: socket.socket, size: int) -> bytes:
    """As much as comes of it."""
    data = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while len(data) < size and (more := client.recv(size - len(data))):
            data += more
    return data


def test_nothing_is_changed_without_a_plan(inject, echo):
    data = random.Random(1).randbytes(500_000)
    with dial(inject(echo)) as client:
        threading.Thread(target=client.sendall, args=(data,), daemon=True).start()
        assert read(client, len(data)) == data


@pytest.mark.parametrize("plan", [Plan(pieces=7), Plan(delay=0.1), Plan(rate_up=20_000, rate_down=20_000, pieces=900)])
def test_bytes_stay_as_they_are(inject, echo, plan):
    data = random.Random(2).randbytes(5_000)
    with dial(inject(echo, always(plan))) as client:
        client.sendall(data)
        assert read(client, len(data)) == data


def test_a_delay_is_for_each_direction(inject, echo):
    with dial(inject(echo, always(Plan(delay=0.3)))) as client:
        begin = time.monotonic()
        client.sendall(b"x")
        assert read(client, 1) == b"x"
        assert time.monotonic() - begin >= 0.6


def test_a_rate_is_kept(inject, echo):
    with dial(inject(echo, always(Plan(rate_down=10)))) as client:
        begin = time.monotonic()
        client.sendall(b"0123456789")
        assert read(client, 10) == b"0123456789"
        assert time.monotonic() - begin >= 0.9


@pytest.mark.parametrize("fault", ["reset", "close"])
@pytest.mark.parametrize("direction, at", [(DOWN, 1), (DOWN, 1234), (UP, 1234)])
def test_a_cut_is_at_its_byte(inject, echo, fault, direction, at):
    injector = inject(echo, first(Plan(fault=fault, direction=direction, at=at)))
    with dial(injector) as client:
        client.sendall(bytes(5000))
        got = read(client, 5000)
        if direction == DOWN and fault == "close":
            assert len(got) == at
        elif direction == DOWN:
            assert len(got) <= at  # what a reset finds unread is gone
        with contextlib.suppress(OSError):
            assert client.recv(1) == b""
    if direction == UP:
        assert echo.received <= at
    assert injector.struck == 1


@pytest.mark.parametrize("fault, read_on", [("black hole", True), ("half-open", False)])
def test_silence(inject, echo, fault, read_on):
    """A black hole takes everything; what is half-open takes what the kernel does."""
    with dial(inject(echo, first(Plan(fault=fault, at=3)))) as client:
        client.sendall(b"abcdef")
        assert read(client, 3) == b"abc"
        client.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 100_000_000:
                sent += client.send(bytes(1_000_000))
        assert (sent >= 100_000_000) == read_on
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_the_seed_is_all_there_is_to_chance():
    plans = [[cut_somewhere(n, random.Random(f"{seed}/{n}")) for n in range(1, 60)] for seed in (5, 5, 6)]
    assert plans[0] == plans[1] != plans[2]
    assert all(plan.fault for plan in plans[0][:50]) and not any(plan.fault for plan in plans[0][50:])


@pytest.mark.parametrize(
    "got, good",
    [
        ([(1, 0), (2, 1), (1, 2), (2, 3)], True),
        ([(1, 0), (2, 1), (1, 0), (1, 2), (2, 3)], True),  # QoS 1 may come twice
        ([(1, 0), (2, 1), (2, 1), (1, 2), (2, 3)], False),
        ([(1, 0), (1, 2), (2, 3)], False),
        ([(2, 1), (1, 2), (2, 3)], False),
        ([(1, 0), (2, 3), (1, 2), (2, 1)], False),
        ([(1, 2), (2, 1), (1, 0), (2, 3)], False),
    ],
    ids=["right", "QoS 1 twice", "QoS 2 twice", "QoS 2 lost", "QoS 1 lost", "QoS 2 order", "QoS 1 order"],
)
def test_the_books(got, good):
    publisher = SimpleNamespace(published=4, qos=[1, 2, 1, 2], completed=dict.fromkeys(range(4), smq.OK))
    witness = SimpleNamespace(collect=lambda: got)
    if good:
        nothing_lost(publisher, witness)
    else:
        with pytest.raises(AssertionError):
            nothing_lost(publisher, witness)
