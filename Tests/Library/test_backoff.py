"""The waits between attempts to connect, as a server sees them: exponential backoff with jitter."""

from __future__ import annotations

import select
import socket
import time

from Support import smq
from Support.listener import Listener
from Support.servers import free_port
from Support.waiting import PATIENCE

A_TENTH = dict(reconnect=True, reconnect_min_ms=100, reconnect_max_ms=6000, stable_ms=3000)
ENDED = smq.EVENT_DISCONNECTED
MINUTE = 6.0


def flapping(answer: bytes) -> Listener:
    """A server that answers each CONNECT with `answer`, and hangs up."""

    def serve(connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        connection.recv(1024)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1024)

    return Listener(serve)


def run_all(clients: list[smq.Client], seconds: float, meanwhile=lambda client: None) -> None:
    """Each in turn, as their descriptors and times ask for."""
    poll = select.poll()
    by_descriptor = {smq.library.smq_fd(client.handle): client for client in clients}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        dues = [smq.library.smq_next_timeout_ms(client.handle) for client in clients]
        poll.poll(min([due for due in dues if due >= 0] + [int(left * 1000) + 1, 50]))
        for client in clients:
            client.step(0)
            meanwhile(client)


def test_a_server_that_always_refuses(clients):
    """Waits become longer however the attempts fail: at servers that refuse, that hang up, and that accept and then hang up."""
    answers = {  # CONNACK
        "bad user name": (4, "20020004"),
        "not authorized": (4, "20020005"),
        "not authorized 5.0": (5, "2003008700"),
        "hangs up": (4, ""),
        "accepts and hangs up": (4, "20020000"),
    }
    fleet: dict[str, list[smq.Client]] = {}
    servers = []
    for name, (protocol, answer) in answers.items():
        servers.append(flapping(bytes.fromhex(answer)))
        fleet[name] = [clients(url=servers[-1].url, protocol=protocol, **A_TENTH) for _ in range(12)]
    everybody = [client for some in fleet.values() for client in some]
    for client in everybody:
        assert client.connect() == smq.OK
    run_all(everybody, MINUTE)
    for server in servers:
        server.close()
    for name, some in fleet.items():
        attempts = [client.of(ENDED)[-1].attempt for client in some]
        print(f"{name}: attempts a minute: {sum(attempts) / len(attempts):.1f}, {max(attempts)} at most")
        for client in some:
            waits = [event.retry_ms for event in client.of(ENDED)]
            assert all(50 <= wait <= min(6000, 100 << number) for number, wait in enumerate(waits)), waits
        assert sum(attempts) <= 15 * len(attempts)  # 7 or 8 are to be expected


def test_hints_do_not_shorten_the_shortest_wait(clients):
    """smq_hint_network() begins an attempt at once, but not within the shortest wait after the one before."""
    server = flapping(b"")
    fleet = [clients(url=server.url, **A_TENTH) for _ in range(5)]
    for client in fleet:
        assert client.connect() == smq.OK
    hints = 0

    def hint(client: smq.Client) -> None:
        nonlocal hints
        hints += 1
        assert client.hint_network(1) == smq.OK

    begin = time.monotonic()
    run_all(fleet, 3, hint)
    seconds = time.monotonic() - begin
    server.close()
    print(f"{hints} hints, {server.accepted} attempts of {len(fleet)} clients in {seconds:.2f} s, with 100 ms between")
    assert hints > server.accepted
    assert server.accepted <= len(fleet) * (2 + seconds / 0.1)


def test_clients_do_not_come_back_together(clients):
    """Jitter spreads the first attempts of a fleet."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    fleet = [clients(url=url, reconnect=True) for _ in range(30)]
    for client in fleet:
        assert client.connect() == smq.OK
        client.until(lambda client=client: client.of(ENDED))
    waits = {client.of(ENDED)[0].retry_ms for client in fleet}
    assert all(500 <= wait <= 1000 for wait in waits)
    assert len(waits) > 15


def test_the_longest_wait_is_the_longest(clients):
    """Waits double up to the maximum; without `reconnect` there is none."""
    options = dict(url=f"mqtt://127.0.0.1:{free_port()}", reconnect_min_ms=20, reconnect_max_ms=70)
    client = clients(reconnect=True, jitter=smq.JITTER_NONE, **options)
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) == 6)
    assert [event.retry_ms for event in client.of(ENDED)] == [20, 40, 70, 70, 70, 70]
    client = clients(**options)
    assert client.connect() == smq.OK
    assert client.disconnected().retry_ms == -1


def test_connecting_from_where_the_end_is_told(clients):
    """The client reconnects already, so a call from the program's handler is refused. Without reconnecting, it begins one
    attempt."""
    server = flapping(b"")
    client = clients(url=server.url, reconnect=True, reconnect_min_ms=100, jitter=smq.JITTER_NONE)
    answers: list[int] = []

    def again(event: smq.Event) -> None:
        if event.type == ENDED:
            answers.append(client.connect())

    client.on_event = again
    assert client.connect() == smq.OK
    client.run(1)
    assert set(answers) == {smq.ERR_STATE}
    assert server.accepted <= 5  # at 0, 100, 300, 700 ms
    client.close()

    before = server.accepted
    client = clients(url=server.url)
    answers.clear()
    client.on_event = lambda event: again(event) if len(answers) < 10 else None
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) == 11)
    assert answers == [smq.OK] * 10
    assert server.accepted - before == 11
    server.close()
